//! Solutions (`.sln`, `.slnx` and `.slnf`), limited to the list of their projects.

use super::path::{absolute, folder_of_path, in_workspace, rooted};
use super::xml::{self, Element};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use serde::Deserialize;

pub fn is_solution(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    [".sln", ".slnx", ".slnf"].iter().any(|extension| lower.ends_with(extension))
}

/// Parses a solution into an element `Solution` with a child `Project` (`Path`, relative to the workspace) for each of its projects.
/// Errors: a diagnostic with the reason why it cannot be read.
pub fn parse_solution(bytes: &[u8], path: &str) -> Result<Element, Box<Diagnostic>> {
    let lower = path.to_ascii_lowercase();
    let home = rooted(folder_of_path(path));
    let projects = if lower.ends_with(".slnx") {
        let mut found = Vec::new();
        collect_projects(&xml::parse_xml(bytes, path)?, &mut found);
        found.into_iter().map(|(target, line)| (absolute(&home, &target), line)).collect()
    } else if lower.ends_with(".slnf") {
        filter(bytes, path, &home)?
    } else {
        let (text, _) = text::decode(bytes, path);
        (1..)
            .zip(text.lines())
            .filter_map(|(line, text)| Some((absolute(&home, project_line(text)?), line)))
            .collect()
    };
    let children = projects.into_iter().filter_map(|(target, line): (String, u32)| {
        Some(Element {
            name: "Project".to_owned(),
            attributes: vec![("Path".to_owned(), in_workspace(&target)?.to_owned())],
            line,
            ..Element::default()
        })
    });
    Ok(Element {
        name: "Solution".to_owned(),
        children: children.collect(),
        line: 1,
        ..Element::default()
    })
}

/// Returns the path in `Project("{…}") = "name", "path", "{…}"`; the path of a solution folder does not end with `proj`.
fn project_line(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("Project(")?;
    let path = rest.split('"').nth(5)?;
    path.to_ascii_lowercase().ends_with("proj").then_some(path)
}

fn collect_projects(element: &Element, found: &mut Vec<(String, u32)>) {
    for child in &element.children {
        match child.attribute("Path") {
            Some(path) if child.is_named("Project") => found.push((path.to_owned(), child.line)),
            _ => collect_projects(child, found),
        }
    }
}

#[derive(Deserialize)]
struct Filter {
    solution: Filtered,
}

#[derive(Deserialize)]
struct Filtered {
    #[serde(default)]
    path: String,
    #[serde(default)]
    projects: Vec<String>,
}

fn filter(bytes: &[u8], path: &str, home: &str) -> Result<Vec<(String, u32)>, Box<Diagnostic>> {
    let (text, _) = text::decode(&bytes[..bytes.len().min(xml::LARGEST)], path);
    let filter: Filter = serde_json::from_str(&text).map_err(|error| {
        Box::new(
            Diagnostic::warning(ErrorCode::CS_PROJECT_XML, format!("the solution filter is not JSON: {error}"))
                .at(path, u32::try_from(error.line()).unwrap_or_default(), 0)
                .hint("the file counts as empty"),
        )
    })?;
    let solution = absolute(home, &filter.solution.path);
    let home = folder_of_path(&solution);
    Ok(filter
        .solution
        .projects
        .iter()
        .map(|project| (absolute(home, project), 0))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(bytes: &[u8], path: &str) -> Vec<String> {
        let element = parse_solution(bytes, path).expect("a solution");
        element
            .children
            .iter()
            .map(|child| format!("{}:{}", child.attribute("Path").expect("a path"), child.line))
            .collect()
    }

    #[test]
    fn three_forms() {
        let sln = "\u{feff}\r\nMicrosoft Visual Studio Solution File\r\nProject(\"{2150E333-8FDC-42A3-9474-1A3956D46DE8}\") = \"docs\", \"docs\", \"{1}\"\r\nEndProject\r\nProject(\"{9A19103F}\") = \"A, B\", \"src\\A\\A.csproj\", \"{2}\"\r\n";
        assert_eq!(paths(sln.as_bytes(), "x/All.sln"), ["x/src/A/A.csproj:5"]);
        let slnx = b"<Solution><Folder Name='/s/'>\n<Project Path='src/A/A.csproj'><BuildType/></Project></Folder><Project Path='..\\..\\out.csproj'/></Solution>";
        assert_eq!(paths(slnx, "x/All.slnx"), ["x/src/A/A.csproj:2"]);
        let slnf = br#"{"solution":{"path":"..\\All.sln","projects":["src\\A\\A.csproj"]}}"#;
        assert_eq!(paths(slnf, "x/f/Some.slnf"), ["x/src/A/A.csproj:0"]);
        assert!(parse_solution(b"{", "x/Some.slnf").is_err());
        assert_eq!(paths(b"Project(\"\n\0\xff", "x/All.sln"), [""; 0]);
    }
}
