//! The second pass, first half: converts item groups to a list of operations on items, with all properties expanded.
//!
//! Operations depend on the project alone, not on existing files: adding a source file changes no operation.

use super::evaluate::{Evaluation, Group};
use super::expression::{Scope, unescape};
use super::glob::{Glob, is_glob};
use super::path::{absolute, folder_of_path, in_workspace, rooted};
use super::properties::Settings;
use super::report::{Report, Spot};
use super::sdk;
use super::tree::Tree;
use super::xml::Element;
use engine::values::codes::ErrorCode;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Action of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Include,
    Remove,
    /// Changes metadata of items.
    Update,
}

/// Selects items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spec {
    /// One item by its text: for file items, a path relative to the workspace.
    Text(String),
    /// Files by a pattern relative to the workspace.
    Glob(String),
    /// The items of another type, each mapped through the optional text with `%(metadata)`.
    Items(String, Option<String>),
}

/// One operation on the items of one type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Type of the items, in lower case.
    pub items: String,
    pub action: Action,
    pub specs: Vec<Spec>,
    /// Items that an `Include` excludes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<Spec>,
    /// Metadata, names in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<(String, String)>,
    /// Metadata of the included items that have no other value: those of `ItemDefinitionGroup`s.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<(String, String)>,
}

/// Types whose items are files of the workspace.
const FILES: [&str; 2] = ["compile", "projectreference"];

/// Types whose items are plain texts.
pub const TEXTS: [&str; 4] = ["using", "internalsvisibleto", "assemblyattribute", "packagereference"];

/// Types whose items name assemblies that see internal types.
const FRIENDS: [&str; 2] = ["internalsvisibleto", "assemblyattribute"];

/// Metadata that facts depend on.
const METADATA: [&str; 14] = [
    "link", "linkbase", "alias", "aliases", "static", "referenceoutputassembly", "outputitemtype", "privateassets", "_parameter1",
    "_parameter1_isliteral", "key", "version", "excludeassets", "includeassets",
];

/// Attributes of items that are not metadata.
const RESERVED: [&str; 10] = [
    "include", "exclude", "remove", "update", "condition", "label", "keepmetadata", "removemetadata", "keepduplicates", "matchonmetadata",
];

/// Returns the operations on the item types of the facts, and on types that these refer to.
pub fn operations(evaluation: &Evaluation<'_>, project: &str, tree: &Tree<'_>, settings: &Settings, report: &Report) -> Vec<Operation> {
    let wanted = wanted_types(evaluation);
    let mut reader = Reader {
        evaluation,
        home: rooted(folder_of_path(project)),
        tree,
        settings,
        report,
        project,
        wanted,
        found: Vec::new(),
    };
    for group in &evaluation.groups {
        match group {
            Group::Sdk => reader.of_sdk(),
            Group::Written(element, file) => reader.group(element, file),
            Group::Target(..) | Group::Definitions(..) => {}
        }
    }
    // Targets run after all items are known.
    for group in &evaluation.groups {
        if let Group::Target(element, file) = group {
            reader.group_of_target(element, file);
        }
    }
    reader.add_defaults();
    reader.found
}

/// Returns the relevant item types: those of the facts, and those that their operations refer to.
fn wanted_types(evaluation: &Evaluation<'_>) -> BTreeSet<String> {
    let mut mentions: Vec<(String, String)> = Vec::new();
    for group in &evaluation.groups {
        let (Group::Written(element, _) | Group::Target(element, _)) = group else {
            continue;
        };
        for item in &element.children {
            let texts = ["Include", "Exclude", "Remove", "Update"]
                .iter()
                .filter_map(|name| item.attribute(name));
            for text in texts {
                for part in text.split("@(").skip(1).chain(text.split("%(").skip(1)) {
                    let end = part
                        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
                        .unwrap_or(part.len());
                    // In `@(Name->'…')`, the `-` belongs to the arrow.
                    let name = if part[end..].starts_with('>') {
                        part[..end].trim_end_matches('-')
                    } else {
                        &part[..end]
                    };
                    mentions.push((item.name.to_ascii_lowercase(), name.to_ascii_lowercase()));
                }
            }
        }
    }
    let mut wanted: BTreeSet<String> = FILES.iter().chain(&TEXTS).map(|name| (*name).to_owned()).collect();
    loop {
        let more: Vec<String> = mentions
            .iter()
            .filter(|(user, used)| wanted.contains(user) && !wanted.contains(used))
            .map(|(_, used)| used.clone())
            .collect();
        if more.is_empty() {
            return wanted;
        }
        wanted.extend(more);
    }
}

struct Reader<'r> {
    evaluation: &'r Evaluation<'r>,
    home: String,
    tree: &'r Tree<'r>,
    settings: &'r Settings,
    report: &'r Report,
    project: &'r str,
    wanted: BTreeSet<String>,
    found: Vec<Operation>,
}

impl Reader<'_> {
    fn scope<'s>(&'s self, spot: Spot<'s>) -> Scope<'s> {
        Scope {
            properties: &self.evaluation.properties,
            tree: self.tree,
            spot,
            report: self.report,
            os: &self.settings.os,
            home: folder_of_path(self.project),
        }
    }

    /// Adds the default items of the SDK.
    fn of_sdk(&mut self) {
        let properties = &self.evaluation.properties;
        let spot = Spot::first_line(self.project);
        let on = |name: &str| properties.get(name).trim().eq_ignore_ascii_case("true");
        if self.evaluation.compiles && on("EnableDefaultItems") && on("EnableDefaultCompileItems") {
            let excludes = format!(
                "{};{}",
                properties.get("DefaultItemExcludes"),
                properties.get("DefaultExcludesInProjectFolder")
            );
            let extension = properties.get("DefaultLanguageSourceExtension");
            self.found.push(Operation {
                items: "compile".to_owned(),
                action: Action::Include,
                specs: self.specs("compile", &format!("**/*{extension}"), spot),
                exclude: self.specs("compile", &excludes, spot),
                metadata: Vec::new(),
                defaults: Vec::new(),
            });
        }
        let usings = sdk::implicit_usings(&self.evaluation.sdk, properties);
        if !usings.is_empty() {
            self.found.push(Operation {
                items: "using".to_owned(),
                action: Action::Include,
                specs: usings.iter().map(|using| Spec::Text((*using).to_owned())).collect(),
                exclude: Vec::new(),
                metadata: Vec::new(),
                defaults: Vec::new(),
            });
        }
    }

    fn condition_is_true(&self, element: &Element, file: &str) -> bool {
        self.scope(Spot { file, line: element.line }).condition_is_true(element)
    }

    fn group(&mut self, group: &Element, file: &str) {
        if !group
            .children
            .iter()
            .any(|item| self.wanted.contains(&item.name.to_ascii_lowercase()))
            || !self.condition_is_true(group, file)
        {
            return;
        }
        for item in &group.children {
            let items = item.name.to_ascii_lowercase();
            if !self.wanted.contains(&items) || !self.condition_is_true(item, file) {
                continue;
            }
            let spot = Spot { file, line: item.line };
            let written = [("Include", Action::Include), ("Remove", Action::Remove), ("Update", Action::Update)];
            let Some((text, action)) = written.into_iter().find_map(|(name, action)| Some((item.attribute(name)?, action))) else {
                continue;
            };
            if let Some(other) = item.attribute("MatchOnMetadata") {
                self.report.warn(
                    ErrorCode::CS_PROJECT_ITEM,
                    spot,
                    "MatchOnMetadata cannot be evaluated here; skipped the item",
                    other,
                );
                continue;
            }
            let operation = Operation {
                action,
                specs: self.specs(&items, text, spot),
                exclude: item
                    .attribute("Exclude")
                    .map(|text| self.specs(&items, text, spot))
                    .unwrap_or_default(),
                metadata: self.metadata(item, file),
                defaults: Vec::new(),
                items,
            };
            self.found.push(operation);
        }
    }

    /// Adds the default metadata to the operations that include items. Definitions are evaluated before items, wherever they are written.
    fn add_defaults(&mut self) {
        let mut defaults: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for group in &self.evaluation.groups {
            let Group::Definitions(element, file) = group else { continue };
            if !self.condition_is_true(element, file) {
                continue;
            }
            for item in element.children.iter().filter(|item| self.condition_is_true(item, file)) {
                let items = item.name.to_ascii_lowercase();
                if self.wanted.contains(&items) {
                    defaults.entry(items).or_default().extend(self.metadata(item, file));
                }
            }
        }
        for operation in self.found.iter_mut().filter(|operation| operation.action == Action::Include) {
            operation.defaults = defaults
                .get(&operation.items)
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
        }
    }

    /// Adds the assemblies that a group in a target lets see internal types; other effects of a target are unknown before it runs. Conditions on
    /// items count as true: they test for the presence of items.
    fn group_of_target(&mut self, group: &Element, file: &str) {
        let may_hold = |element: &Element| {
            let of_items = element
                .attribute("Condition")
                .is_some_and(|text| text.contains("@(") || text.contains("%("));
            of_items || self.condition_is_true(element, file)
        };
        let is_friend = |item: &&Element| FRIENDS.contains(&item.name.to_ascii_lowercase().as_str()) && may_hold(item);
        if !may_hold(group) {
            return;
        }
        let mut found = Vec::new();
        for item in group.children.iter().filter(is_friend) {
            let (items, spot) = (item.name.to_ascii_lowercase(), Spot { file, line: item.line });
            // `%(Name.Identity)` expands to each item of that type.
            let each = |text: &str| Some(text.strip_prefix("%(")?.split(['.', ')']).next()?.to_ascii_lowercase());
            let Some(text) = item.attribute("Include") else { continue };
            found.push(Operation {
                action: Action::Include,
                specs: match each(text.trim()) {
                    Some(name) => vec![Spec::Items(name, None)],
                    None => self.specs(&items, text, spot),
                },
                exclude: Vec::new(),
                metadata: self.metadata(item, file),
                defaults: Vec::new(),
                items,
            });
        }
        self.found.extend(found);
    }

    /// Returns the metadata of an item that facts depend on, or that a transform names. Items to which only other items refer keep all metadata.
    fn metadata(&self, item: &Element, file: &str) -> Vec<(String, String)> {
        let items = item.name.to_ascii_lowercase();
        let is_helper = !FILES.contains(&items.as_str()) && !TEXTS.contains(&items.as_str());
        let attributes = item
            .attributes
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.as_str(), item.line));
        let children = item.children.iter().filter(|child| self.condition_is_true(child, file));
        let children = children.map(|child| (child.name.to_ascii_lowercase(), child.text.trim(), child.line));
        attributes
            .chain(children)
            .filter(|(name, ..)| {
                let is_kept = is_helper || self.wanted.contains(name);
                METADATA.contains(&name.as_str()) || is_kept && !RESERVED.contains(&name.as_str())
            })
            .map(|(name, value, line)| (name, unescape(&self.scope(Spot { file, line }).expand(value))))
            .collect()
    }

    /// Parses a `;` list into specs.
    fn specs(&self, items: &str, text: &str, spot: Spot<'_>) -> Vec<Spec> {
        let expanded = self.scope(spot).expand(text);
        let mut specs = Vec::new();
        for part in split_list(&expanded) {
            if let Some(inner) = part.strip_prefix("@(").and_then(|inner| inner.strip_suffix(')')) {
                specs.extend(self.reference(inner, spot));
            } else if part.contains("@(") || part.contains("%(") {
                self.report.warn(
                    ErrorCode::CS_PROJECT_ITEM,
                    spot,
                    "the item cannot be evaluated here; skipped it",
                    part,
                );
            } else if TEXTS.contains(&items) {
                specs.push(Spec::Text(unescape(part)));
            } else {
                specs.extend(self.parse_spec(items, part, spot));
            }
        }
        specs
    }

    /// Parses the text inside `@(…)`.
    fn reference(&self, inner: &str, spot: Spot<'_>) -> Option<Spec> {
        let (name, transform) = inner
            .split_once("->")
            .map_or((inner, None), |(name, transform)| (name, Some(transform.trim())));
        let transform = match transform {
            None => None,
            Some("Distinct()") => None,
            Some(quoted)
                if quoted.len() >= 2
                    && quoted.starts_with('\'')
                    && quoted.ends_with('\'')
                    && !quoted[1..quoted.len() - 1].contains('\'') =>
            {
                Some(quoted[1..quoted.len() - 1].to_owned())
            }
            Some(other) => {
                let message = "the item function cannot be evaluated here; skipped its items";
                self.report.warn(ErrorCode::CS_PROJECT_ITEM, spot, message, other);
                return None;
            }
        };
        Some(Spec::Items(name.trim().to_ascii_lowercase(), transform))
    }

    /// Parses a path or pattern, relative to the workspace.
    fn parse_spec(&self, items: &str, part: &str, spot: Spot<'_>) -> Option<Spec> {
        let outside = || {
            if FILES.contains(&items) {
                self.report.add_note(
                    ErrorCode::CS_PROJECT_OUTSIDE,
                    spot,
                    "the path leads out of the workspace; skipped it",
                    part,
                );
            }
        };
        if !is_glob(part) {
            let path = absolute(&self.home, &unescape(part));
            let inside = in_workspace(&path);
            if inside.is_none() {
                outside();
            }
            return inside.map(|inside| Spec::Text(inside.to_owned()));
        }
        let part = part.replace('\\', "/");
        let first = part.find(['*', '?']).unwrap_or(part.len());
        let cut = part[..first].rfind('/').map_or(0, |slash| slash + 1);
        let base = absolute(&self.home, if cut == 1 { "/" } else { &part[..cut] });
        let Some(base) = in_workspace(&base) else {
            outside();
            return None;
        };
        let pattern = if base.is_empty() {
            part[cut..].to_owned()
        } else {
            format!("{base}/{}", &part[cut..])
        };
        // Drop a pattern that cannot match, such as `a**`.
        Glob::new(super::path::ROOT, &pattern).map(|_| Spec::Glob(pattern))
    }
}

/// Splits a list at `;` outside `@(…)`; trims the parts and omits empty ones.
fn split_list(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b';' if depth == 0 || !text[start..at].contains("@(") => {
                parts.push(&text[start..at]);
                start = at + 1;
                depth = 0;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}
