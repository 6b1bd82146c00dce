//! Producer `csharp/project`: the facts of one `.csproj` that readers and the name binder need, as JSON.
//!
//! A first, simple reader: properties and items are taken as written in this file. Imports, conditions that are not about
//! `$(TargetFramework)` presence, and property functions are not evaluated; a value that still holds `$(` counts as unset.

use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId, Registry};
use engine::values::diagnostic::Diagnostic;
use roxmltree::{Document, Node};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Raised whenever the same bytes may give other facts.
pub const VERSION: u32 = 1;

/// Largest project file that is read.
const LARGEST: usize = 4 << 20;

/// Deepest nesting of elements; real projects stay below ten.
const DEEPEST: usize = 200;

/// The facts of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// File name without extension.
    pub name: String,
    /// Path relative to the workspace.
    pub path: String,
    /// The newest target framework, as written.
    pub tfm: Option<String>,
    /// `AssemblyName`, else the name.
    pub assembly: String,
    /// `RootNamespace`, else the name with spaces as `_`.
    pub root_namespace: String,
    /// Paths of referenced projects relative to the workspace, sorted; those outside it are left out.
    pub references: Vec<String>,
    /// Whether `ImplicitUsings` is on.
    pub implicit_usings: bool,
    /// `DefineConstants`, sorted.
    pub defines: Vec<String>,
    /// `<Using Include="…"/>` items that are plain namespaces, sorted.
    pub usings: Vec<String>,
}

/// Reads a project file. Bad XML gives the defaults and a diagnostic.
pub fn read(bytes: &[u8], path: &str) -> (Project, Option<Diagnostic>) {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let mut project = Project {
        assembly: name.clone(),
        root_namespace: name.replace(' ', "_"),
        name,
        path: path.to_owned(),
        ..Project::default()
    };
    let broken = |message: String, line: u32, column: u32| {
        Some(
            Diagnostic::warning("CS-PROJECT", message)
                .at(path, line, column)
                .hint("the project's name and path are used, nothing else"),
        )
    };
    if bytes.len() > LARGEST {
        return (
            project,
            broken(
                format!("the project file is larger than {} MiB and was not read", LARGEST >> 20),
                0,
                0,
            ),
        );
    }
    let (text, _) = crate::text::decode(bytes, path);
    if text.contains("<!DOCTYPE") || depth(&text) > DEEPEST {
        return (
            project,
            broken(
                "the project file has a DTD or is nested too deeply, and was not read".to_owned(),
                0,
                0,
            ),
        );
    }
    let document = match Document::parse(&text) {
        Ok(document) => document,
        Err(error) => {
            let place = error.pos();
            return (
                project,
                broken(format!("the project file is not well-formed XML: {error}"), place.row, place.col),
            );
        }
    };
    facts(&document, &mut project);
    (project, None)
}

/// Nesting of elements, before a recursive reader sees the text. Text that is no XML gets some number.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        rest = &rest[open..];
        let section = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]
            .into_iter()
            .find(|(start, _)| rest.starts_with(start));
        if let Some((start, end)) = section {
            rest = rest[start.len()..].find(end).map_or("", |at| &rest[start.len() + at + end.len()..]);
            continue;
        }
        let end = tag_end(rest);
        let tag = &rest[..end];
        if tag.starts_with("</") {
            depth = depth.saturating_sub(1);
        } else if !tag.ends_with('/') {
            depth += 1;
            deepest = deepest.max(depth);
        }
        rest = &rest[end..];
    }
    deepest
}

/// Where the `>` of the tag stands that begins the text, quotes respected.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    text.len()
}

fn facts(document: &Document<'_>, project: &mut Project) {
    let mut defines = BTreeSet::new();
    let mut usings = BTreeSet::new();
    let mut references = BTreeSet::new();
    let groups = |name: &'static str| {
        document
            .root_element()
            .children()
            .filter(move |node| node.tag_name().name() == name)
    };
    for property in groups("PropertyGroup").flat_map(|group| group.children()).filter(Node::is_element) {
        let value = property.text().unwrap_or_default().trim();
        let known = (!value.is_empty() && !value.contains("$(")).then(|| value.to_owned());
        match property.tag_name().name() {
            "TargetFramework" => project.tfm = known.or(project.tfm.take()),
            "TargetFrameworks" => project.tfm = newest(value).or(project.tfm.take()),
            "AssemblyName" => project.assembly = known.unwrap_or_else(|| std::mem::take(&mut project.assembly)),
            "RootNamespace" => project.root_namespace = known.unwrap_or_else(|| std::mem::take(&mut project.root_namespace)),
            "ImplicitUsings" => project.implicit_usings = ["enable", "true"].iter().any(|on| value.eq_ignore_ascii_case(on)),
            "DefineConstants" => defines.extend(
                value
                    .split([';', ','])
                    .map(str::trim)
                    .filter(|symbol| !symbol.is_empty() && !symbol.contains("$("))
                    .map(str::to_owned),
            ),
            _ => {}
        }
    }
    for item in groups("ItemGroup").flat_map(|group| group.children()).filter(Node::is_element) {
        let include = item.attribute("Include").unwrap_or_default();
        match item.tag_name().name() {
            "Using" if !item.has_attribute("Alias") && !item.has_attribute("Static") && !include.is_empty() => {
                usings.insert(include.to_owned());
            }
            "Using" => {
                if let Some(removed) = item.attribute("Remove") {
                    usings.remove(removed);
                }
            }
            "ProjectReference" => references.extend(include.split(';').filter_map(|target| relative(&project.path, target.trim()))),
            _ => {}
        }
    }
    project.defines = defines.into_iter().collect();
    project.usings = usings.into_iter().collect();
    project.references = references.into_iter().collect();
}

/// The newest of a list of target frameworks: modern .NET by number before .NET Standard before .NET Framework.
fn newest(list: &str) -> Option<String> {
    let rank = |tfm: &str| {
        let digits = |text: &str| -> Vec<u32> { text.split(['.', '-']).map_while(|part| part.parse().ok()).collect() };
        match tfm {
            _ if tfm.starts_with("netstandard") => (1, digits(&tfm[11..])),
            _ if tfm.starts_with("netcoreapp") => (2, digits(&tfm[10..])),
            _ if tfm.starts_with("net") && tfm.contains('.') => (3, digits(&tfm[3..])),
            _ => (0, digits(tfm.strip_prefix("net").unwrap_or_default())),
        }
    };
    // Of equals the first: `net8.0` before `net8.0-windows`.
    let mut best: Option<&str> = None;
    for tfm in list.split(';').map(str::trim).filter(|tfm| !tfm.is_empty() && !tfm.contains("$(")) {
        if best.is_none_or(|best| rank(tfm) > rank(best)) {
            best = Some(tfm);
        }
    }
    best.map(str::to_owned)
}

/// A path written in a project as a path from the workspace; `None` if it leaves the workspace or is not literal.
fn relative(project: &str, target: &str) -> Option<String> {
    let target = target.replace('\\', "/");
    if target.is_empty() || target.starts_with('/') || target.contains([':', '$', '*', '?', '%']) {
        return None;
    }
    let mut segments: Vec<&str> = project.split('/').collect();
    segments.pop();
    for segment in target.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            name => segments.push(name),
        }
    }
    Some(segments.join("/"))
}

/// Adds the producer.
pub fn register(registry: &mut Registry) {
    registry.add(ProjectProducer);
}

struct ProjectProducer;

impl Producer for ProjectProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/project", VERSION)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let (project, diagnostic) = read(&inputs.one("bytes")?.bytes, inputs.var("project").unwrap_or_default());
        let bytes = serde_json::to_vec(&project).expect("invariant: strings and lists of strings are JSON");
        Ok(Output {
            bytes,
            diagnostics: diagnostic.into_iter().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_a_project() {
        let xml = br#"<Project Sdk="Microsoft.NET.Sdk">
          <PropertyGroup><TargetFrameworks>netstandard2.0;net8.0;net10.0;net10.0-windows;net472</TargetFrameworks><ImplicitUsings>enable</ImplicitUsings>
            <RootNamespace>$(X).Y</RootNamespace><DefineConstants>$(DefineConstants);FEATURE_A;B</DefineConstants></PropertyGroup>
          <ItemGroup><ProjectReference Include="..\Core\Core.csproj" /><ProjectReference Include="..\..\..\out.csproj" /><Using Include="System.Text" /><Using Include="A.B" Alias="C" /></ItemGroup>
        </Project>"#;
        let (project, diagnostic) = read(xml, "src/App/My App.csproj");
        assert_eq!(diagnostic, None);
        assert_eq!(
            serde_json::to_string(&project).expect("json"),
            r#"{"name":"My App","path":"src/App/My App.csproj","tfm":"net10.0","assembly":"My App","root_namespace":"My_App","references":["src/Core/Core.csproj"],"implicit_usings":true,"defines":["B","FEATURE_A"],"usings":["System.Text"]}"#
        );
    }

    #[test]
    fn bad_projects_give_defaults_and_a_place() {
        let deep = "<a>".repeat(100_000);
        for (xml, line) in [
            ("<Project>\n<PropertyGroup></Project>", 2),
            ("", 1),
            ("<!DOCTYPE x [<!ENTITY a \"b\">]><Project/>", 0),
            (deep.as_str(), 0),
        ] {
            let (project, diagnostic) = read(xml.as_bytes(), "a/P.csproj");
            assert_eq!((project.name.as_str(), project.assembly.as_str(), project.tfm), ("P", "P", None));
            let place = diagnostic.and_then(|diagnostic| diagnostic.place).expect("a place");
            assert_eq!((place.file.as_str(), place.line), ("a/P.csproj", line), "{xml:.40}");
        }
    }
}
