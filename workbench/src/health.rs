//! The health of a workspace: projects that could not be fully evaluated, so that answers across them may be incomplete.
//!
//! A project *lost* references if one of them leads nowhere; it is read *in part* if an import, a condition or an item of it could not be evaluated,
//! as that may contain references too, and *mixed* if it references projects of other languages. Answers about users of a symbol report all kinds of
//! gaps. This module only reads the store.

use engine::build::session::Session;
use engine::store::StoreError;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use engine::values::label::unescape;
use engine::values::quantity::plural;
use engine::values::table::Table;
use producers::msbuild::index::ProjectRow;
use std::collections::{BTreeMap, BTreeSet};

/// The table of projects.
const PROJECTS: &str = "//index:projects";

/// The state of a workspace's projects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Number of projects, as last counted; 0 if nothing is wrong.
    pub projects: usize,
    /// Projects that lost references.
    pub lost: BTreeSet<String>,
    /// Projects that were read in part.
    pub partial: BTreeSet<String>,
    /// Projects that reference projects of other languages.
    pub mixed: BTreeSet<String>,
    /// Diagnostics about the projects.
    pub said: Vec<Diagnostic>,
}

impl Health {
    /// Reads the health. Reads no output if nothing is wrong.
    pub fn from_session(session: &Session) -> Result<Self, StoreError> {
        let mut warnings: Vec<(Option<String>, Diagnostic)> = Vec::new();
        for (label, remark) in session.remarks()? {
            let project = project_of(&label);
            // A diagnostic of a removed project is obsolete. One about the XML of a file concerns the projects that read the file.
            if project.is_none() && label != PROJECTS && !is_xml(&label) || session.graph.find(&label).is_none() {
                continue;
            }
            let said = remark.diagnostics.into_iter().filter(|said| said.severity >= Severity::Warning);
            warnings.extend(said.map(|said| (project.clone(), said)));
        }
        let mut health = Self::default();
        if warnings.is_empty() {
            return Ok(health);
        }
        let rows = projects(session)?;
        health.projects = rows.len();
        for (project, said) in warnings {
            let file = said.place.as_ref().map_or("", |place| &place.file);
            let reads = |path: &str, row: &ProjectRow| path == file || row.files.iter().any(|read| read == file);
            let meant: Vec<String> = match project {
                Some(project) if rows.contains_key(&project) => vec![project],
                Some(_) => continue,
                None => rows
                    .iter()
                    .filter(|(path, row)| reads(path, row))
                    .map(|(path, _)| path.clone())
                    .collect(),
            };
            let into = if said.code == ErrorCode::CS_PROJECT_REFERENCE {
                &mut health.lost
            } else if said.code == ErrorCode::CS_PROJECT_LANGUAGE {
                &mut health.mixed
            } else {
                &mut health.partial
            };
            into.extend(meant);
            health.said.push(said);
        }
        health.partial.retain(|project| !health.lost.contains(project));
        health
            .mixed
            .retain(|project| !health.lost.contains(project) && !health.partial.contains(project));
        health.said.sort();
        health.said.dedup();
        Ok(health)
    }

    /// Returns the projects whose references may not all be known.
    pub fn gaps(&self) -> BTreeSet<String> {
        [&self.lost, &self.partial, &self.mixed].into_iter().flatten().cloned().collect()
    }

    /// Leaves gaps of other projects out.
    pub fn retain_projects(&mut self, is_meant: impl Fn(&str) -> bool) {
        for projects in [&mut self.lost, &mut self.partial, &mut self.mixed] {
            projects.retain(|project| is_meant(project));
        }
    }

    /// Describes the gaps in one sentence, if there are any.
    pub fn line(&self) -> Option<String> {
        let gaps = [
            (&self.lost, "lost references"),
            (&self.partial, "could not be evaluated as a whole"),
            (&self.mixed, "reference projects of other languages"),
        ];
        let mut line = String::new();
        for (projects, what) in gaps.into_iter().filter(|(projects, _)| !projects.is_empty()) {
            let count = projects.len();
            line.push_str(&match line.is_empty() {
                true => format!("{count} of {} {what}", plural(self.projects, "project")),
                false => format!(", and {count} more {what}"),
            });
        }
        Some(line).filter(|line| !line.is_empty())
    }
}

/// Whether a label is that of the elements of a project file or an imported file.
fn is_xml(label: &str) -> bool {
    label.starts_with("//projects/") && label.ends_with(":xml")
}

/// Returns the project that a label of its evaluation or its files belongs to.
pub(crate) fn project_of(label: &str) -> Option<String> {
    let rest = label.strip_prefix("//projects/")?;
    let project = rest.strip_suffix(":evaluation").or_else(|| rest.strip_suffix(":files"))?;
    Some(unescape(project))
}

/// Returns the projects as last found.
fn projects(session: &Session) -> Result<BTreeMap<String, ProjectRow>, StoreError> {
    let filed = session.graph.find(PROJECTS).and_then(|id| session.graph.node(id).result);
    let Some(filed) = filed else { return Ok(BTreeMap::new()) };
    let bytes = session.engine.store.output(&filed.output)?;
    let table = bytes.as_deref().and_then(Table::open);
    let rows = table.into_iter().flat_map(Table::rows);
    let read = rows.filter_map(|(path, row)| Some((path.to_owned(), serde_json::from_slice(row).ok()?)));
    Ok(read.collect())
}
