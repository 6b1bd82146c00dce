//! Which code can use a symbol at all: projects see what they reference, and private members are of their outermost type alone.
//!
//! A file that no project compiles sees everything, and everything sees what it declares. So does a project whose references are not all known.

use super::contents::Layout;
use super::index::Symbols;
use super::outputs::{Outputs, SymbolError, read_one};
use engine::values::table::Table;
use producers::csharp::types::symbol_of;
use std::collections::{BTreeMap, BTreeSet};

/// The table of references between projects.
const REFERENCES: &str = "//index:references";

/// Which projects see which.
#[derive(Debug, Default)]
pub struct Visibility {
    layout: Layout,
    /// What each project sees, itself left out; of those that are not listed nothing is known.
    references: BTreeMap<String, BTreeSet<String>>,
}

impl Visibility {
    /// Reads which files and projects there are. `gaps`: projects whose references are not all known.
    ///
    /// # Errors
    /// When the outputs cannot be read or are not of our making.
    pub fn read<O: Outputs>(outputs: &mut O, gaps: &BTreeSet<String>) -> Result<Self, O::Error> {
        let mut visibility = Self {
            layout: Layout::read(outputs)?,
            references: BTreeMap::new(),
        };
        let damaged = || SymbolError::damaged().at_label(REFERENCES);
        if let Some(bytes) = read_one(outputs, REFERENCES.to_owned())? {
            for (project, row) in Table::open(&bytes).ok_or_else(damaged)?.rows() {
                if !gaps.contains(project) {
                    let row = serde_json::from_slice(row).map_err(|_| damaged())?;
                    visibility.references.insert(project.to_owned(), row);
                }
            }
        }
        Ok(visibility)
    }

    /// The projects that compile a type; none of a type that a loose file declares, too.
    pub fn projects_of(&self, symbols: &Symbols, key: &str) -> Result<BTreeSet<String>, SymbolError> {
        let Some(at) = symbols.find(key) else {
            return Ok(BTreeSet::new());
        };
        let mut found = BTreeSet::new();
        for file in &symbols.row(at)?.files {
            let mut projects = self.layout.projects_of(file).peekable();
            if projects.peek().is_none() {
                return Ok(BTreeSet::new());
            }
            found.extend(projects.map(str::to_owned));
        }
        Ok(found)
    }

    /// Whether code in a file can use what these projects compile.
    pub fn sees(&self, file: &str, projects: &BTreeSet<String>) -> bool {
        let mut own = self.layout.projects_of(file).peekable();
        let sees = |project: &str| {
            let Some(known) = self.references.get(project) else { return true };
            projects.contains(project) || projects.iter().any(|project| known.contains(project))
        };
        projects.is_empty() || own.peek().is_none() || own.any(sees)
    }
}

/// Whether two types lie in one outermost type, so that each sees the other's private members.
pub fn is_same_outermost(one: &str, other: &str) -> bool {
    let outermost = |key: &str| symbol_of(key).split('+').next().unwrap_or_default().to_owned();
    outermost(one) == outermost(other)
}
