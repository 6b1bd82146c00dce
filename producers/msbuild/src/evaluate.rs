//! The first pass over a project: properties in document order, imports inline; item groups are collected for the second pass.
//!
//! The order is MSBuild's: `Directory.Build.props`, `Directory.Packages.props`, the SDK's defaults, the project with its imports, the SDK's
//! inferred properties, `Directory.Build.targets`. A project without SDK imports these itself, under their traditional names.

use super::expression::{Scope, unescape};
use super::glob::{Glob, is_glob};
use super::path::{absolute, file_name, folder_of_path, in_workspace, rooted};
use super::properties::{Files, Properties, Settings};
use super::report::{Report, Spot};
use super::sdk::{self, Kind};
use super::tree::Tree;
use super::well_known_properties::{self, BUILD_PROPS, BUILD_TARGETS, Directory, PACKAGES_PROPS};
use super::xml::Element;
use engine::values::codes::ErrorCode;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Maximum depth of nested imports.
const DEEPEST: usize = 64;

/// Maximum number of imports of one project.
const MOST_IMPORTS: usize = 2000;

/// Maximum total bytes of property values of one project.
const MOST_BYTES: usize = 32 << 20;

/// A group of items, in evaluation order.
#[derive(Clone, Copy, Debug)]
pub enum Group<'a> {
    /// The default items of the SDK.
    Sdk,
    /// An `ItemGroup` and its file.
    Written(&'a Element, &'a str),
    /// A group in a target, which runs during the build, and its file.
    Target(&'a Element, &'a str),
    /// An `ItemDefinitionGroup` and its file.
    Definitions(&'a Element, &'a str),
}

/// Result of the first pass.
#[derive(Debug, Default)]
pub struct Evaluation<'a> {
    pub properties: Properties,
    pub groups: Vec<Group<'a>>,
    /// Files that were read, the project first.
    pub read: Vec<String>,
    /// The SDKs as written, joined by `;`; empty without SDK.
    pub sdk: String,
    /// Whether the project compiles C#.
    pub compiles: bool,
}

/// Evaluates the properties of a project for given global properties.
pub fn evaluate<'a>(project: &'a str, files: &'a Files<'a>, tree: &Tree<'_>, settings: &Settings, report: &Report) -> Evaluation<'a> {
    let mut pass = Pass {
        project,
        files,
        tree,
        settings,
        report,
        globals: settings.globals.keys().map(|name| name.to_ascii_lowercase()).collect(),
        imported: BTreeSet::new(),
        open: Vec::new(),
        sdks: Vec::new(),
        made: 0,
        began: false,
        ended: false,
        found: Evaluation {
            compiles: true,
            ..Evaluation::default()
        },
    };
    well_known_properties::set_reserved(&mut pass.found.properties, project, settings);
    pass.evaluate_project();
    pass.found
}

struct Pass<'a, 'x> {
    project: &'a str,
    files: &'a Files<'a>,
    tree: &'x Tree<'x>,
    settings: &'x Settings,
    report: &'x Report,
    globals: FxHashSet<String>,
    imported: BTreeSet<&'a str>,
    /// Files whose import is in progress.
    open: Vec<&'a str>,
    sdks: Vec<String>,
    /// Total bytes of values so far.
    made: usize,
    /// Whether the SDK's properties before the project's text are set.
    began: bool,
    /// Whether the SDK's properties after the project's text are set.
    ended: bool,
    found: Evaluation<'a>,
}

impl<'a> Pass<'a, '_> {
    fn evaluate_project(&mut self) {
        let Some((&path, &root)) = self.files.get_key_value(self.project) else {
            // The project is no XML, so only the SDK's defaults apply.
            self.found.read.push(self.project.to_owned());
            self.sdks.push("Microsoft.NET.Sdk".to_owned());
            self.evaluate_before_project();
            self.evaluate_behind();
            self.found.sdk = self.sdks.join(";");
            return;
        };
        self.imported.insert(path);
        self.found.read.push(path.to_owned());
        let named = root
            .children
            .iter()
            .filter(|child| child.is_named("Sdk"))
            .filter_map(|child| child.attribute("Name"));
        let sdks: Vec<String> = root
            .attribute("Sdk")
            .into_iter()
            .flat_map(|list| list.split(';'))
            .chain(named)
            .map(|sdk| sdk.trim().to_owned())
            .collect();
        // A lone addition in the attribute implies the SDK that it extends.
        let implied = root.attribute("Sdk").is_some() || sdks.iter().any(|sdk| sdk::kind_of_sdk(sdk) != Kind::Addition);
        for sdk in sdks {
            self.register_sdk(
                &sdk,
                Spot {
                    file: path,
                    line: root.line,
                },
            );
        }
        if implied {
            (self.began, self.ended) = (true, true);
            self.evaluate_before_project();
        }
        self.open.push(path);
        self.elements(root, path);
        self.open.pop();
        if implied {
            self.evaluate_behind();
        } else if self.sdks.is_empty() {
            self.old_style();
        }
        self.found.sdk = self.sdks.join(";");
    }

    fn register_sdk(&mut self, name: &str, spot: Spot<'_>) {
        let name = name.split('/').next().unwrap_or(name).to_owned();
        if name.is_empty() || self.sdks.contains(&name) {
            return;
        }
        match sdk::kind_of_sdk(&name) {
            Kind::Nothing => self.found.compiles = false,
            Kind::Unknown if spot.file != self.project || self.sdks.iter().any(|known| sdk::kind_of_sdk(known) == Kind::Compiles) => {
                let message = "this SDK is unknown; its settings are missing";
                self.report.add_note(ErrorCode::CS_PROJECT_SDK, spot, message, &name);
            }
            Kind::Unknown => {
                let message = "this SDK is unknown; assuming Microsoft.NET.Sdk, without its other settings";
                self.report.warn(ErrorCode::CS_PROJECT_SDK, spot, message, &name);
            }
            Kind::Compiles | Kind::Addition => {}
        }
        self.sdks.push(name);
    }

    /// Evaluates the parts before the project's own text.
    fn evaluate_before_project(&mut self) {
        sdk::properties_of_name(&mut self.found.properties, &self.sdks);
        self.common_props();
        sdk::properties_before(&mut self.found.properties);
        self.reset_globals();
        self.found.groups.push(Group::Sdk);
    }

    /// Evaluates `Microsoft.Common.props`.
    fn common_props(&mut self) {
        self.import_nearest(BUILD_PROPS);
        well_known_properties::set_between_props(&mut self.found.properties);
        self.reset_globals();
        self.import_nearest(PACKAGES_PROPS);
    }

    /// Evaluates the parts after the project's own text.
    fn evaluate_behind(&mut self) {
        let web = self.sdks.iter().any(|sdk| sdk.eq_ignore_ascii_case("Microsoft.NET.Sdk.Web"));
        sdk::properties_after(&mut self.found.properties, web);
        self.common_targets();
        sdk::properties_of_packing(&mut self.found.properties);
    }

    /// Evaluates `Microsoft.Common.targets`.
    fn common_targets(&mut self) {
        well_known_properties::set_before_targets(&mut self.found.properties);
        self.reset_globals();
        self.import_nearest(BUILD_TARGETS);
    }

    /// Sets the defaults of a project without SDK.
    fn old_style(&mut self) {
        let properties = &mut self.found.properties;
        let name = properties.get("MSBuildProjectName").to_owned();
        for (property, value) in [
            ("AssemblyName", name.as_str()),
            ("RootNamespace", &name),
            ("Configuration", "Debug"),
            ("Platform", "AnyCPU"),
            ("OutputType", "Library"),
            ("Language", "C#"),
            ("DefaultLanguageSourceExtension", ".cs"),
        ] {
            properties.default_to(property, value);
        }
        let version = properties.get("TargetFrameworkVersion").trim_start_matches('v').replace('.', "");
        if !version.is_empty() && properties.get("TargetFrameworkIdentifier").is_empty() {
            properties.default_to("TargetFramework", &format!("net{version}"));
        }
    }

    /// Sets global properties again, because they override those of an SDK.
    fn reset_globals(&mut self) {
        for (name, value) in &self.settings.globals {
            self.found.properties.set_property(name, value.as_str());
        }
    }

    /// Imports a file searched at and above the project, unless a property disables it or names another file.
    fn import_nearest(&mut self, directory: Directory) {
        let home = rooted(folder_of_path(self.project));
        let found = directory.locate(&mut self.found.properties, &home, self.tree);
        if directory.surrounded {
            self.custom(&directory.custom("Before"));
        }
        if let Some(file) = found.and_then(|path| self.tree.existing_file(&path)) {
            self.import(file, Spot::first_line(self.project));
        }
        if directory.surrounded {
            self.custom(&directory.custom("After"));
        }
    }

    /// Imports the file that a property names.
    fn custom(&mut self, property: &str) {
        let named = self.found.properties.get(property);
        if let Some(file) = self
            .tree
            .existing_file(&absolute(&rooted(folder_of_path(self.project)), named))
            .filter(|_| !named.is_empty())
        {
            self.import(file, Spot::first_line(self.project));
        }
    }

    fn scope<'s>(&'s self, spot: Spot<'s>) -> Scope<'s> {
        Scope {
            properties: &self.found.properties,
            tree: self.tree,
            spot,
            report: self.report,
            os: &self.settings.os,
            home: folder_of_path(self.project),
        }
    }

    fn condition_is_true(&self, element: &Element, file: &str) -> bool {
        self.scope(Spot { file, line: element.line }).condition_is_true(element)
    }

    /// Evaluates the condition of an import, relative to the folder of its file.
    fn imports(&self, element: &Element, file: &str) -> bool {
        let spot = Spot { file, line: element.line };
        let scope = Scope {
            home: folder_of_path(file),
            ..self.scope(spot)
        };
        scope.condition_is_true(element)
    }

    fn elements(&mut self, parent: &'a Element, file: &'a str) {
        for child in &parent.children {
            let spot = Spot { file, line: child.line };
            match child.name.to_ascii_lowercase().as_str() {
                "propertygroup" if self.condition_is_true(child, file) => self.property_group(child, file),
                "importgroup" if self.imports(child, file) => self.elements(child, file),
                "import" if self.imports(child, file) => self.written_import(child, spot),
                "target" => {
                    let groups = child.children.iter().filter(|group| group.is_named("ItemGroup"));
                    self.found.groups.extend(groups.map(|group| Group::Target(group, file)));
                }
                "itemgroup" => self.found.groups.push(Group::Written(child, file)),
                "itemdefinitiongroup" => self.found.groups.push(Group::Definitions(child, file)),
                "choose" => {
                    let branches = child.children.iter().filter(|branch| branch.is_named("When"));
                    let chosen = branches.into_iter().find(|branch| self.condition_is_true(branch, file));
                    if let Some(branch) = chosen.or_else(|| child.children.iter().find(|branch| branch.is_named("Otherwise"))) {
                        self.elements(branch, file);
                    }
                }
                "propertygroup" | "importgroup" | "import" | "usingtask" | "projectextensions" | "sdk" => {}
                _ => self.report.warn(
                    ErrorCode::CS_PROJECT_ELEMENT,
                    spot,
                    "this element is unknown; skipped it",
                    &child.name,
                ),
            }
        }
    }

    fn property_group(&mut self, group: &Element, file: &str) {
        for property in &group.children {
            if self.globals.contains(&property.name.to_ascii_lowercase()) || !self.condition_is_true(property, file) {
                continue;
            }
            if self.made > MOST_BYTES {
                let message = format!("the project's values exceed {} MiB in total; skipped the rest", MOST_BYTES >> 20);
                self.report
                    .warn(ErrorCode::CS_PROJECT_LIMIT, Spot { file, line: property.line }, message, "");
                return;
            }
            let own = Report::default();
            let scope = Scope {
                report: &own,
                ..self.scope(Spot { file, line: property.line })
            };
            let value = scope.expand(property.text.trim());
            self.report.take_over_of_property(own, &property.name);
            self.made += value.len();
            self.found.properties.set_property(&property.name, value);
        }
    }

    fn written_import(&mut self, import: &'a Element, spot: Spot<'a>) {
        let written = import.attribute("Project").unwrap_or_default();
        if let Some(sdk) = import.attribute("Sdk") {
            self.sdk_import(sdk, written, spot);
            return;
        }
        self.scope(spot).note_unset(written);
        let path = unescape(&self.scope(spot).expand(written));
        for path in path.split(';').map(str::trim).filter(|path| !path.is_empty()) {
            self.import_path(path, written, import, spot);
        }
    }

    fn import_path(&mut self, path: &str, written: &str, import: &Element, spot: Spot<'a>) {
        let home = rooted(folder_of_path(spot.file));
        let target = absolute(&home, path);
        if is_glob(path) {
            let found = Glob::new(&home, path).map(|glob| self.tree.matching(&glob).0).unwrap_or_default();
            for at in found {
                let file = self.tree.paths()[at];
                self.import(file, spot);
            }
            return;
        }
        if let Some(file) = self.tree.existing_file(&target) {
            self.import(file, spot);
            return;
        }
        match file_name(&target).to_ascii_lowercase().as_str() {
            "microsoft.common.props" => return self.common_props(),
            "microsoft.csharp.targets" | "microsoft.common.targets" => {
                // The common targets import the common props if the project did not.
                if !self.found.properties.is_true("MicrosoftCommonPropsHasBeenImported") {
                    self.common_props();
                }
                self.old_style();
                return self.common_targets();
            }
            _ => {}
        }
        // If the condition is true without the file, it tests something else. Skip the import, because MSBuild's own properties
        // (`$(MSBuildExtensionsPath)`) are empty here.
        let outside = in_workspace(&target).is_none();
        let of_tools = ["$(MSBuild", "$(VSToolsPath", "$(NuGet", "$(DevEnvDir", "$(FSharp"]
            .iter()
            .any(|name| written.contains(name))
            && !written.contains("$(MSBuildThisFile")
            && !written.contains("$(MSBuildProject")
            && outside;
        if of_tools {
            let message = "this import is part of the build tools, outside of the workspace; its settings are missing";
            self.report.add_note(ErrorCode::CS_PROJECT_IMPORT, spot, message, written);
        } else if outside {
            let message = "this import leads out of the workspace; skipped it";
            self.report.warn(ErrorCode::CS_PROJECT_IMPORT, spot, message, written);
        } else if import.attribute("Condition").is_none() || !written.contains("$(") {
            let message = "the workspace has no project file at this path; skipped the import";
            self.report.warn(ErrorCode::CS_PROJECT_IMPORT, spot, message, written);
        } else {
            self.report
                .add_note(ErrorCode::CS_PROJECT_IMPORT, spot, "the imported file does not exist", written);
        }
    }

    /// Evaluates `<Import Project="Sdk.props" Sdk="…"/>`; in files such as `Directory.Build.props` it extends the project's own SDK.
    fn sdk_import(&mut self, sdk: &str, written: &str, spot: Spot<'_>) {
        let sdk = self.scope(spot).expand(sdk);
        self.register_sdk(&sdk, spot);
        if written.eq_ignore_ascii_case("Sdk.props")
            && let Some(versions) = sdk::properties_of_arcade(&sdk, &mut self.found.properties, self.tree)
            && let Some(file) = self.tree.existing_file(&versions)
        {
            self.reset_globals();
            self.import(file, spot);
        }
        if spot.file != self.project || sdk::kind_of_sdk(&sdk) == Kind::Addition {
            return;
        }
        if written.eq_ignore_ascii_case("Sdk.props") && !std::mem::replace(&mut self.began, true) {
            self.evaluate_before_project();
        } else if written.eq_ignore_ascii_case("Sdk.targets") && !std::mem::replace(&mut self.ended, true) {
            self.evaluate_behind();
        }
    }

    fn import(&mut self, path: &str, spot: Spot<'_>) {
        let Some((&path, &root)) = self.files.get_key_value(path) else {
            // The file is no XML (its own node reports that) or no input. List it as read, so that it becomes an input.
            if !self.found.read.iter().any(|known| known == path) {
                self.found.read.push(path.to_owned());
            }
            return;
        };
        if self.open.contains(&path) {
            self.report.warn(
                ErrorCode::CS_PROJECT_IMPORT,
                spot,
                "this import is part of a cycle; skipped it",
                path,
            );
            return;
        }
        if self.open.len() >= DEEPEST || self.imported.len() >= MOST_IMPORTS {
            self.report.warn(
                ErrorCode::CS_PROJECT_LIMIT,
                spot,
                "there are too many imports; skipped this one",
                path,
            );
            return;
        }
        // Like MSBuild, ignore a second import of the same file.
        if !self.imported.insert(path) {
            return;
        }
        self.found.read.push(path.to_owned());
        self.open.push(path);
        self.elements(root, path);
        self.open.pop();
    }
}
