//! What the SDKs bring along: default properties, default items, implicit usings. Written from their documentation, not read from disk.

use super::expression::Properties;
use super::framework::{Family, Framework};

/// What an SDK makes of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It compiles C# by default globs.
    Compiles,
    /// It compiles nothing (`Microsoft.Build.Traversal`, `Microsoft.Build.NoTargets`).
    Nothing,
    /// It adds to another SDK.
    Addition,
    /// Nobody here knows it; it is taken to compile.
    Unknown,
}

/// The kind of an SDK by its name, a version behind `/` cut.
pub fn kind(name: &str) -> Kind {
    let name = name.split('/').next().unwrap_or(name).trim().to_ascii_lowercase();
    match name.as_str() {
        "microsoft.build.traversal" | "microsoft.build.notargets" => Kind::Nothing,
        "microsoft.build.centralpackageversions"
        | "microsoft.build.copyonwrite"
        | "microsoft.build.artifacts"
        | "microsoft.build.runvstest"
        | "aspire.apphost.sdk" => Kind::Addition,
        "mstest.sdk" | "godot.net.sdk" | "uno.sdk" | "msbuild.sdk.extras" | "microsoft.net.sdk" => Kind::Compiles,
        _ if name.starts_with("microsoft.net.sdk.") => Kind::Compiles,
        _ => Kind::Unknown,
    }
}

/// Properties that stand before the project's own.
pub fn properties_before(properties: &mut Properties) {
    properties.set("UsingMicrosoftNETSdk", "true");
    for (name, value) in [
        ("OutputType", "Library"),
        ("Configuration", "Debug"),
        ("Platform", "AnyCPU"),
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

/// Properties that stand behind the project's own, before `Directory.Build.targets`.
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
    let framework = Framework::parse(properties.get("TargetFramework")).filter(|_| !properties.is_true("DisableImplicitFrameworkDefines"));
    if let Some(framework) = framework {
        let symbols = framework.symbols().join(";");
        append(properties, "DefineConstants", &symbols);
    }
}

/// `TargetFrameworkIdentifier` and its kin, from `TargetFramework`.
fn framework_properties(properties: &mut Properties) {
    let Some(framework) = Framework::parse(properties.get("TargetFramework")) else {
        return;
    };
    properties.default_to("TargetFrameworkIdentifier", framework.identifier());
    properties.default_to("TargetFrameworkVersion", &format!("v{}", framework.version_text()));
    properties.default_to("TargetPlatformIdentifier", &framework.platform);
    properties.default_to("TargetPlatformVersion", &framework.platform_version);
}

fn append(properties: &mut Properties, name: &str, more: &str) {
    let value = match properties.get(name) {
        "" => more.to_owned(),
        value => format!("{value};{more}"),
    };
    properties.set(name, value);
}

/// The namespaces that `ImplicitUsings` opens.
pub fn implicit_usings(sdk: &str, properties: &Properties) -> Vec<&'static str> {
    if !properties.is_true("ImplicitUsings") {
        return Vec::new();
    }
    let sdk = sdk.to_ascii_lowercase();
    let has = |name: &str| sdk.split(';').any(|one| one.split('/').next() == Some(name));
    let mut usings = vec!["System", "System.Collections.Generic", "System.IO", "System.Linq"];
    let framework = Framework::parse(properties.get("TargetFramework"));
    if framework.is_none_or(|framework| framework.family != Family::Framework) {
        usings.push("System.Net.Http");
    }
    usings.extend(["System.Threading", "System.Threading.Tasks"]);
    if has("microsoft.net.sdk.web") {
        usings.extend([
            "System.Net.Http.Json",
            "Microsoft.AspNetCore.Builder",
            "Microsoft.AspNetCore.Hosting",
            "Microsoft.AspNetCore.Http",
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
