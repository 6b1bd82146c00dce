//! `//index:projects`: all projects, and the project files that each reads.

use super::facts::reads;
use super::params::ProjectParams;
use super::properties::Files;
use super::report::{Report, Spot};
use super::solution::is_solution;
use super::tree::Tree;
use super::xml::Element;
use engine::values::codes::ErrorCode;
use engine::values::suggest::nearest;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One row, by path of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRow {
    /// Project files that its evaluation reads, its own included, sorted.
    pub files: Vec<String>,
    /// The solution that lists it; of several, the one with the shortest path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solution: Option<String>,
}

/// Whether a path is a C# project.
pub fn is_project(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".csproj")
}

/// Returns the rows of all projects of the tree, or of one solution.
pub fn project_rows(files: &Files<'_>, paths: &[&str], params: &ProjectParams, report: &Report) -> BTreeMap<String, ProjectRow> {
    let tree = Tree::new(paths.iter().copied());
    let listed = solutions_of_projects(files, &tree, report);
    let only = params.solution.as_deref();
    if let Some(solution) = only.filter(|solution| !paths.contains(solution)) {
        let message = "the workspace has no such solution (params.solution of producer.project); using all projects";
        report.warn(ErrorCode::CS_SOLUTION, Spot { file: solution, line: 0 }, message, solution);
    }
    let only = only.filter(|solution| paths.contains(solution));
    let chosen: Vec<&str> = paths
        .iter()
        .copied()
        .filter(|path| is_project(path))
        .filter(|path| only.is_none_or(|only| listed.get(path).is_some_and(|solutions| solutions.contains(only))))
        .collect();
    let evaluated: Vec<(&str, ProjectRow, Report)> = chosen
        .par_iter()
        .map(|path| {
            // Trees cache lookups in cells, so each thread has its own.
            let tree = Tree::new(paths.iter().copied());
            let solution = only.or_else(|| {
                let around = listed.get(path).into_iter().flatten().copied();
                around
                    .filter(|solution| !solution.ends_with(".slnf"))
                    .min_by_key(|solution| (solution.len(), *solution))
            });
            let solution = solution.map(str::to_owned);
            let report = Report::default();
            let files = reads(path, files, &tree, &params.settings(solution.clone()), params, &report);
            (*path, ProjectRow { files, solution }, report)
        })
        .collect();
    let mut rows = BTreeMap::new();
    for (path, row, found) in evaluated {
        rows.insert(path.to_owned(), row);
        report.merge(found);
    }
    report.warn_of_unset(files);
    for path in params.projects.keys().filter(|path| !rows.contains_key(*path)) {
        let near = nearest(path, rows.keys().map(String::as_str), 1);
        let near = near.first().map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let message = format!("params.projects of producer.project names no project of the workspace; ignored it{near}");
        report.warn(
            ErrorCode::CS_PROJECT_PARAMS,
            Spot {
                file: "cortex.toml",
                line: 0,
            },
            message,
            path,
        );
    }
    rows
}

/// Returns the solutions that list each project. Reports listed projects that do not exist.
fn solutions_of_projects<'a>(files: &Files<'a>, tree: &Tree<'a>, report: &Report) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut listed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (&solution, &element) in files.iter().filter(|(path, _)| is_solution(path)) {
        for (path, line) in projects(element) {
            match tree.path_index(path) {
                Some(at) => drop(listed.entry(tree.paths()[at]).or_default().insert(solution)),
                None if is_project(path) => {
                    let message = "the solution names a project that is not in the workspace";
                    report.add_note(ErrorCode::CS_SOLUTION, Spot { file: solution, line }, message, path);
                }
                None => {}
            }
        }
    }
    listed
}

fn projects(element: &Element) -> impl Iterator<Item = (&str, u32)> {
    element
        .children
        .iter()
        .filter_map(|child| Some((child.attribute("Path")?, child.line)))
}
