//! Defaults of the SDKs: properties, items, implicit usings. Written from their documentation, not read from disk.

use super::framework::{Family, Framework};
use super::path::ROOT;
use super::properties::Properties;
use super::tree::Tree;

/// Effect of an SDK on a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Compiles C# files by default globs.
    Compiles,
    /// Compiles nothing (`Microsoft.Build.Traversal`, `Microsoft.Build.NoTargets`).
    Nothing,
    /// Extends another SDK.
    Addition,
    /// An unknown SDK; it is assumed to compile.
    Unknown,
}

/// Returns the kind of an SDK by its name, ignoring a version after `/`.
pub fn kind_of_sdk(name: &str) -> Kind {
    let name = name.split('/').next().unwrap_or(name).trim().to_ascii_lowercase();
    match name.as_str() {
        "microsoft.build.traversal" | "microsoft.build.notargets" => Kind::Nothing,
        "microsoft.build.centralpackageversions"
        | "microsoft.build.copyonwrite"
        | "microsoft.build.artifacts"
        | "microsoft.build.runvstest"
        | "aspire.apphost.sdk"
        | ARCADE => Kind::Addition,
        "mstest.sdk" | "godot.net.sdk" | "uno.sdk" | "msbuild.sdk.extras" | "microsoft.net.sdk" => Kind::Compiles,
        _ if name.starts_with("microsoft.net.sdk.") => Kind::Compiles,
        _ => Kind::Unknown,
    }
}

/// Sets the properties that mark the used SDKs, before all others.
pub fn properties_of_name(properties: &mut Properties, sdks: &[String]) {
    properties.set_property("UsingMicrosoftNETSdk", "true");
    for (sdk, mark) in [
        ("Microsoft.NET.Sdk.Web", "UsingMicrosoftNETSdkWeb"),
        ("Microsoft.NET.Sdk.Web", "UsingMicrosoftNETSdkRazor"),
        ("Microsoft.NET.Sdk.Razor", "UsingMicrosoftNETSdkRazor"),
        ("Microsoft.NET.Sdk.Worker", "UsingMicrosoftNETSdkWorker"),
        ("Microsoft.NET.Sdk.BlazorWebAssembly", "UsingMicrosoftNETSdkBlazorWebAssembly"),
        ("Microsoft.NET.Sdk.BlazorWebAssembly", "UsingMicrosoftNETSdkRazor"),
        ("MSTest.Sdk", "UsingMSTestSdk"),
    ] {
        if sdks.iter().any(|used| used.eq_ignore_ascii_case(sdk)) {
            properties.set_property(mark, "true");
        }
    }
}

/// Sets the properties before the project's own.
pub fn properties_before(properties: &mut Properties) {
    let name = properties.get("MSBuildProjectName").to_owned();
    let debug = properties.get("Configuration").is_empty() || properties.get("Configuration").eq_ignore_ascii_case("Debug");
    for (name, value) in [
        ("AssemblyName", name.as_str()),
        ("RootNamespace", &name.replace(' ', "_")),
        ("OutputType", "Library"),
        ("Configurations", "Debug;Release"),
        ("Platforms", "AnyCPU"),
        ("Configuration", "Debug"),
        ("Platform", "AnyCPU"),
        ("DebugSymbols", if debug { "true" } else { "false" }),
        ("DebugType", "portable"),
        ("Optimize", if debug { "false" } else { "true" }),
        ("Deterministic", "true"),
        ("AllowUnsafeBlocks", "false"),
        ("TreatWarningsAsErrors", "false"),
        ("SignAssembly", "false"),
        ("GeneratePackageOnBuild", "false"),
        ("CheckForOverflowUnderflow", "false"),
        ("NoWarn", "1701;1702"),
        ("EnableDefaultItems", "true"),
        ("EnableDefaultCompileItems", "true"),
        ("DefaultLanguageSourceExtension", ".cs"),
        ("Language", "C#"),
    ] {
        properties.default_to(name, value);
    }
    let excludes = "**/*.user;**/*.*proj;**/*.sln;**/*.slnx;**/*.vssscc;**/.DS_Store";
    append(properties, "DefaultItemExcludes", excludes);
    append(properties, "DefaultExcludesInProjectFolder", "**/.*/**");
    append(properties, "DefineConstants", "TRACE");
}

/// Sets the properties after the project's own, before `Directory.Build.targets`.
pub fn properties_after(properties: &mut Properties, web: bool) {
    let name = properties.get("MSBuildProjectName").to_owned();
    properties.default_to("AssemblyName", &name);
    properties.default_to("RootNamespace", &name.replace(' ', "_"));
    properties.default_to("BaseOutputPath", "bin/");
    properties.default_to("BaseIntermediateOutputPath", "obj/");
    for folder in ["BaseOutputPath", "BaseIntermediateOutputPath"] {
        let folder = properties.get(folder).trim_end_matches(['/', '\\']).to_owned();
        append(properties, "DefaultItemExcludes", &format!("{folder}/**"));
    }
    if web {
        append(
            properties,
            "DefaultItemExcludes",
            "**/node_modules/**;**/jspm_packages/**;**/bower_components/**",
        );
    }
    framework_properties(properties);
    if !properties.is_true("DisableImplicitConfigurationDefines") {
        let configuration = properties.get("Configuration").to_ascii_uppercase().replace(['-', '.', ' '], "_");
        append(properties, "DefineConstants", &configuration);
    }
    let framework =
        Framework::from_moniker(properties.get("TargetFramework")).filter(|_| !properties.is_true("DisableImplicitFrameworkDefines"));
    if let Some(framework) = framework {
        let symbols = framework.symbols().join(";");
        append(properties, "DefineConstants", &symbols);
    }
}

/// Sets the properties of NuGet's targets, which the SDK imports last. Conditions of items see them, because items are evaluated after all
/// properties.
pub fn properties_of_packing(properties: &mut Properties) {
    let is_test = properties.is_true("IsTestProject");
    properties.default_to("IsPackable", if is_test { "false" } else { "true" });
}

/// Sets `TargetFrameworkIdentifier` and related properties from `TargetFramework`.
fn framework_properties(properties: &mut Properties) {
    let Some(framework) = Framework::from_moniker(properties.get("TargetFramework")) else {
        return;
    };
    properties.default_to("TargetFrameworkIdentifier", framework.identifier());
    properties.default_to("TargetFrameworkVersion", &format!("v{}", framework.version_text()));
    properties.default_to("TargetPlatformIdentifier", &framework.platform);
    properties.default_to("TargetPlatformVersion", &framework.platform_version);
    let version = properties.get("TargetFrameworkVersion").trim_start_matches(['v', 'V']).to_owned();
    properties.set_property("_TargetFrameworkVersionWithoutV", version);
    let platform = properties.get("TargetPlatformVersion").to_owned();
    properties.set_property("EffectiveTargetPlatformVersion", platform);
    if framework.family != Family::Framework {
        properties.set_property("_IsNETCoreOrNETStandard", "true");
    }
}

/// The SDK that the repositories of .NET itself share.
const ARCADE: &str = "microsoft.dotnet.arcade.sdk";

/// Sets the properties of the shared SDK of .NET's own repositories, at its import in `Directory.Build.props`: the repository's folders and
/// current frameworks. Returns the path of `eng/Versions.props`, which the SDK then reads.
pub fn properties_of_arcade(name: &str, properties: &mut Properties, tree: &Tree<'_>) -> Option<String> {
    if !name.eq_ignore_ascii_case(ARCADE) {
        return None;
    }
    // The SDK searches for `global.json`, which is no project file; use the folder that contains `eng/Versions.props`.
    let home = properties.get("MSBuildProjectDirectory").to_owned();
    let root = tree
        .folder_of_file_above(&home, "eng/Versions.props")
        .unwrap_or_else(|| ROOT.to_owned());
    properties.default_to("RepoRoot", &format!("{root}/"));
    let root = properties.get("RepoRoot").to_owned();
    let versions = format!("{root}eng/Versions.props");
    let test = |ends: &[&str]| {
        ends.iter()
            .any(|end| properties.get("MSBuildProjectName").ends_with(end))
            .to_string()
    };
    let (unit, integration, performance) = (
        test(&[".UnitTests", ".Tests"]),
        test(&[".IntegrationTests"]),
        test(&[".PerformanceTests"]),
    );
    for (name, value) in [
        ("Configuration", "Debug"),
        ("Platform", "AnyCPU"),
        ("PlatformName", "AnyCPU"),
        ("RepositoryEngineeringDir", &format!("{root}eng/")),
        ("RepositoryToolsDir", &format!("{root}.tools/")),
        ("VersionsPropsPath", &versions),
        ("ArtifactsDir", &format!("{root}artifacts/")),
        ("ArtifactsObjDir", &format!("{root}artifacts/obj/")),
        ("ArtifactsBinDir", &format!("{root}artifacts/bin/")),
        ("Language", "C#"),
        ("NetCurrent", "net10.0"),
        ("NetPrevious", "net9.0"),
        ("NetMinimum", "net8.0"),
        ("NetToolCurrent", "net9.0"),
        ("NetToolMinimum", "net8.0"),
        ("NetFrameworkCurrent", "net481"),
        ("NetFrameworkMinimum", "net462"),
        ("NetFrameworkToolCurrent", "net472"),
        ("IsUnitTestProject", &unit),
        ("IsIntegrationTestProject", &integration),
        ("IsPerformanceTestProject", &performance),
    ] {
        properties.default_to(name, value);
    }
    let test = ["IsUnitTestProject", "IsIntegrationTestProject", "IsPerformanceTestProject"]
        .iter()
        .any(|name| properties.is_true(name));
    properties.default_to("IsTestProject", &test.to_string());
    Some(versions)
}

fn append(properties: &mut Properties, name: &str, more: &str) {
    let value = match properties.get(name) {
        "" => more.to_owned(),
        value => format!("{value};{more}"),
    };
    properties.set_property(name, value);
}

/// Returns the namespaces that `ImplicitUsings` opens.
pub fn implicit_usings(sdk: &str, properties: &Properties) -> Vec<&'static str> {
    if !properties.is_true("ImplicitUsings") {
        return Vec::new();
    }
    let sdk = sdk.to_ascii_lowercase();
    let has = |name: &str| sdk.split(';').any(|one| one.split('/').next() == Some(name));
    let mut usings = vec!["System", "System.Collections.Generic", "System.IO", "System.Linq"];
    let framework = Framework::from_moniker(properties.get("TargetFramework"));
    if framework.is_none_or(|framework| framework.family != Family::Framework) {
        usings.push("System.Net.Http");
    }
    usings.extend(["System.Threading", "System.Threading.Tasks"]);
    if has("microsoft.net.sdk.web") {
        usings.extend([
            "System.Net.Http.Json", "Microsoft.AspNetCore.Builder", "Microsoft.AspNetCore.Hosting", "Microsoft.AspNetCore.Http",
            "Microsoft.AspNetCore.Routing",
        ]);
    }
    if has("microsoft.net.sdk.web") || has("microsoft.net.sdk.worker") {
        usings.extend([
            "Microsoft.Extensions.Configuration",
            "Microsoft.Extensions.DependencyInjection",
            "Microsoft.Extensions.Hosting",
            "Microsoft.Extensions.Logging",
        ]);
    }
    if has("mstest.sdk") {
        usings.push("Microsoft.VisualStudio.TestTools.UnitTesting");
    }
    if properties.is_true("UseWindowsForms") {
        usings.extend(["System.Drawing", "System.Windows.Forms"]);
    }
    if properties.is_true("UseWPF") {
        usings.retain(|using| !["System.IO", "System.Net.Http"].contains(using));
    }
    usings
}
