//! The properties that MSBuild and its common props and targets set around a user's files: names and values, by stage.
//!
//! Written from MSBuild's reserved properties and from `Microsoft.Common.props`, `NuGet.props` and `Microsoft.Common.targets`. The location of
//! the tools is no fact of a workspace: they have one folder, [`TOOLS`], which is empty.

use super::path::{ROOT, absolute, file_name, folder_of_path, rooted, stem_and_extension};
use super::properties::{Properties, Settings, strip_prefix_ignoring_case};
use super::tree::Tree;

/// Folder of the build tools as projects see it, outside of the workspace.
const TOOLS: &str = "/dotnet/sdk";

/// A file that MSBuild searches at and above the folder of a project.
#[derive(Clone, Copy, Debug)]
pub struct Directory {
    /// The common part of the properties' names: `_…File`, `_…BasePath`, `…Path`, `Import…`.
    stem: &'static str,
    /// File name, unless `_…File` sets another.
    file: &'static str,
    /// Whether `CustomBefore…` and `CustomAfter…` name files to read around it.
    pub surrounded: bool,
}

/// Read by `Microsoft.Common.props`.
pub const BUILD_PROPS: Directory = Directory {
    stem: "DirectoryBuildProps",
    file: "Directory.Build.props",
    surrounded: true,
};

/// Read by `NuGet.props`, which `Microsoft.Common.props` imports at its end.
pub const PACKAGES_PROPS: Directory = Directory {
    stem: "DirectoryPackagesProps",
    file: "Directory.Packages.props",
    surrounded: false,
};

/// Read by `Microsoft.Common.targets`.
pub const BUILD_TARGETS: Directory = Directory {
    stem: "DirectoryBuildTargets",
    file: "Directory.Build.targets",
    surrounded: true,
};

impl Directory {
    /// Sets the properties that locate the file; returns its absolute path, unless it is disabled or missing.
    pub fn locate(self, properties: &mut Properties, home: &str, tree: &Tree<'_>) -> Option<String> {
        let (switch, path) = (format!("Import{}", self.stem), format!("{}Path", self.stem));
        properties.default_to(&switch, "true");
        if !properties.is_true(&switch) {
            return None;
        }
        if properties.get(&path).is_empty() {
            let (file, base) = (format!("_{}File", self.stem), format!("_{}BasePath", self.stem));
            properties.default_to(&file, self.file);
            let above = tree.folder_of_file_above(home, properties.get(&file)).unwrap_or_default();
            properties.default_to(&base, &above);
            if !properties.get(&base).is_empty() {
                let joined = absolute(properties.get(&base), properties.get(&file));
                properties.set_property(&path, joined);
            }
        }
        Some(properties.get(&path))
            .filter(|path| !path.is_empty())
            .map(|path| absolute(home, path))
    }

    /// Returns the property that names files to read before or after it.
    pub fn custom(self, when: &str) -> String {
        format!("Custom{when}{}", self.stem)
    }
}

/// Sets MSBuild's reserved properties; global properties override all others in this file.
pub fn set_reserved(properties: &mut Properties, project: &str, settings: &Settings) {
    let path = rooted(project);
    let home = folder_of_path(&path);
    let (name, extension) = stem_and_extension(&path);
    for (property, value) in [
        ("MSBuildProjectDirectory", home),
        ("MSBuildProjectDirectoryNoRoot", home.trim_start_matches('/')),
        ("MSBuildProjectFile", file_name(&path)),
        ("MSBuildProjectFullPath", path.as_str()),
        ("MSBuildProjectName", name),
        ("MSBuildProjectExtension", extension),
        ("MSBuildStartupDirectory", ROOT),
        ("MSBuildToolsVersion", "Current"),
        ("MSBuildRuntimeType", "Core"),
        ("MSBuildVersion", "17.14.0"),
        ("MSBuildSemanticVersion", "17.14.0"),
        ("MSBuildFileVersion", "17.14.0.0"),
        ("MSBuildAssemblyVersion", "15.1"),
        ("VisualStudioVersion", "17.0"),
        ("MSBuildNodeCount", "1"),
        ("MSBuildBinPath", TOOLS),
        ("MSBuildToolsPath", TOOLS),
        ("MSBuildToolsPath32", TOOLS),
        ("MSBuildToolsPath64", TOOLS),
        ("MSBuildFrameworkToolsRoot", TOOLS),
        ("RoslynTargetsPath", "/dotnet/sdk/Roslyn"),
        ("MSBuildSDKsPath", "/dotnet/sdk/Sdks"),
        ("MSBuildExtensionsPath", "/dotnet/sdk/"),
        ("MSBuildExtensionsPath32", "/dotnet/sdk/"),
        ("MSBuildExtensionsPath64", "/dotnet/sdk/"),
        ("MSBuildUserExtensionsPath", "/dotnet/user"),
        ("DOTNET_HOST_PATH", "/dotnet/dotnet"),
        ("NetCoreRoot", "/dotnet/"),
        ("NetCoreTargetingPackRoot", "/dotnet/packs"),
        ("NETCoreSdkVersion", "10.0.100"),
        ("BundledNETCoreAppTargetFrameworkVersion", "10.0"),
        ("NETCoreAppMaximumVersion", "10.0"),
        ("OS", if settings.os == "windows" { "Windows_NT" } else { "Unix" }),
    ] {
        properties.set_property(property, value);
    }
    set_solution(properties, settings.solution.as_deref());
    for (name, value) in &settings.globals {
        properties.set_property(name, value.as_str());
    }
}

fn set_solution(properties: &mut Properties, solution: Option<&str>) {
    let Some(solution) = solution.map(rooted) else {
        properties.set_property("SolutionDir", "*Undefined*");
        return;
    };
    let (name, extension) = stem_and_extension(&solution);
    properties.set_property("SolutionName", name);
    properties.set_property("SolutionExt", extension);
    properties.set_property("SolutionFileName", file_name(&solution));
    properties.set_property("SolutionDir", format!("{}/", folder_of_path(&solution)));
    properties.set_property("SolutionPath", solution);
}

/// Sets the properties of `Microsoft.Common.props` between `Directory.Build.props` and `Directory.Packages.props`.
pub fn set_between_props(properties: &mut Properties) {
    default_folder(properties, "BaseIntermediateOutputPath", "obj/");
    let intermediate = properties.get("BaseIntermediateOutputPath").to_owned();
    properties.set_property("_InitialBaseIntermediateOutputPath", intermediate.as_str());
    let extensions = match properties.get("MSBuildProjectExtensionsPath") {
        "" => intermediate,
        set => set.to_owned(),
    };
    let extensions = format!("{}/", absolute(properties.get("MSBuildProjectDirectory"), &extensions));
    properties.set_property("_InitialMSBuildProjectExtensionsPath", extensions.as_str());
    properties.set_property("MSBuildProjectExtensionsPath", extensions);
    properties.default_to("ImportProjectExtensionProps", "true");
    properties.set_property("MicrosoftCommonPropsHasBeenImported", "true");
    for (name, default) in [
        ("Configuration", "DefaultProjectConfiguration"),
        ("Platform", "DefaultProjectPlatform"),
    ] {
        let default = properties.get(default).to_owned();
        properties.default_to(name, &default);
    }
    properties.default_to("NuGetPropsFile", &format!("{TOOLS}/NuGet.props"));
}

/// Sets the properties of the common targets before `Directory.Build.targets`: output paths and names.
pub fn set_before_targets(properties: &mut Properties) {
    let project = |properties: &Properties, what: &str| properties.get(&format!("MSBuildProject{what}")).to_owned();
    for (name, of) in [
        ("ProjectName", "Name"),
        ("ProjectFileName", "File"),
        ("ProjectExt", "Extension"),
        ("ProjectPath", "FullPath"),
    ] {
        let value = project(properties, of);
        properties.default_to(name, &value);
    }
    let home = format!("{}/", project(properties, "Directory"));
    properties.default_to("ProjectDir", &home);
    let (configuration, platform) = (properties.get("Configuration").to_owned(), properties.get("Platform").to_owned());
    properties.default_to("ConfigurationName", &configuration);
    properties.default_to("PlatformName", &platform);
    default_folder(properties, "BaseOutputPath", "bin/");
    default_folder(properties, "BaseIntermediateOutputPath", "obj/");
    let part = if platform.eq_ignore_ascii_case("AnyCPU") {
        format!("{configuration}/")
    } else {
        format!("{platform}/{configuration}/")
    };
    let framework = match properties.get("TargetFramework") {
        "" => String::new(),
        framework => format!("{}/", framework.to_lowercase()),
    };
    for (name, base, switch) in [
        ("OutputPath", "BaseOutputPath", "AppendTargetFrameworkToOutputPath"),
        (
            "IntermediateOutputPath",
            "BaseIntermediateOutputPath",
            "AppendTargetFrameworkToIntermediateOutputPath",
        ),
    ] {
        let own = if properties.get(name).is_empty() {
            format!("{}{part}", properties.get(base))
        } else {
            properties.get(name).to_owned()
        };
        let appended = properties.get("UsingMicrosoftNETSdk") == "true" && !properties.get(switch).eq_ignore_ascii_case("false");
        properties.set_property(name, if appended { own + &framework } else { own });
    }
    let out = properties.get("OutputPath").to_owned();
    properties.default_to("OutDir", &out);
    let (name, executable) = (
        properties.get("AssemblyName").to_owned(),
        ["exe", "winexe"]
            .iter()
            .any(|kind| properties.get("OutputType").eq_ignore_ascii_case(kind)),
    );
    properties.default_to("TargetName", &name);
    let dotnet = properties.get("TargetFrameworkIdentifier") != ".NETFramework";
    properties.default_to("TargetExt", if executable && !dotnet { ".exe" } else { ".dll" });
    let file = format!("{}{}", properties.get("TargetName"), properties.get("TargetExt"));
    properties.default_to("TargetFileName", &file);
    let target = format!("{}/", absolute(&home, properties.get("OutDir")));
    properties.default_to("TargetDir", &target);
    let path = format!("{}{}", properties.get("TargetDir"), properties.get("TargetFileName"));
    properties.default_to("TargetPath", &path);
    properties.default_to("TargetRuntime", "Managed");
    properties.default_to("AppDesignerFolder", "Properties");
    properties.default_to("ImportProjectExtensionTargets", "true");
    if executable {
        properties.set_property("_IsExecutable", "true");
    }
}

/// Sets the default of a folder property and normalizes its value: `/` for `\`, with a final slash.
fn default_folder(properties: &mut Properties, name: &str, default: &str) {
    properties.default_to(name, default);
    let value = properties.get(name).replace('\\', "/");
    let slash = if value.ends_with('/') { "" } else { "/" };
    properties.set_property(name, format!("{value}{slash}"));
}

/// Whether a property is internal to MSBuild or an SDK, so that a condition on its unset value lacks information: `_X` and `MSBuildX`,
/// except those that are empty in most builds.
pub fn is_inner(name: &str) -> bool {
    (name.starts_with('_') || strip_prefix_ignoring_case(name, "MSBuild").is_some())
        && !OFTEN_EMPTY.iter().any(|empty| empty.eq_ignore_ascii_case(name))
}

/// Switches of the command line, and of restore, pack, publish or Visual Studio.
const OFTEN_EMPTY: &[&str] = &[
    "_IsExecutable",
    "_IsPacking",
    "_IsPublishing",
    "_WpfTempProjectNuGetFilePathNoExt",
    "MSBuildAllProjects",
    "MSBuildDisableFeaturesFromVersion",
    "MSBuildInteractive",
    "MSBuildIsRestoring",
    "MSBuildLastTaskResult",
    "MSBuildLogVerboseTaskParameters",
    "MSBuildOverrideTasksPath",
    "MSBuildProgramFiles32",
    "MSBuildProjectDefaultTargets",
    "MSBuildRestoreSessionId",
    "MSBuildTreatWarningsAsErrors",
    "MSBuildWarningsAsErrors",
    "MSBuildWarningsAsMessages",
    "MSBuildWarningsNotAsErrors",
];
