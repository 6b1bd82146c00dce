//! Determines which code can use a symbol: a project sees the projects that it references; internal symbols are visible only to friends of the
//! assembly (`InternalsVisibleTo`), and private members only within their outermost type.
//!
//! A file that no project compiles sees everything, and everything sees its declarations. The same applies to a project with unknown references.

use super::contents::Layout;
use super::index::Symbols;
use super::outputs::{Outputs, SymbolError};
use engine::values::table::Table;
use producers::csharp::deps::index::Globals;
use producers::csharp::hashes::Access;
use producers::csharp::types::symbol_of;
use std::collections::{BTreeMap, BTreeSet};

/// The table of references between projects.
const REFERENCES: &str = "//index:references";

/// Table whose rows with the prefix [`GLOBALS`] list the global usings of each project, and the projects whose internal types it sees.
const SYMBOLS: &str = "//index:symbols";
const GLOBALS: &str = "using:";

/// Visibility between projects.
#[derive(Debug, Default)]
pub struct Visibility {
    layout: Layout,
    /// Projects that each project sees, without itself; a project that is not listed has unknown references.
    references: BTreeMap<String, BTreeSet<String>>,
    /// Projects whose internal types each project sees, without itself.
    friends: BTreeMap<String, BTreeSet<String>>,
    /// Namespaces that global usings of each project open.
    opened: BTreeMap<String, BTreeSet<String>>,
}

/// The code that can use a symbol: that of the projects that compile it and, unless it is internal, of the projects that reference one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audience {
    /// Projects that compile the symbol; empty if a loose file declares it, because all code sees that.
    pub projects: BTreeSet<String>,
    /// Whether other projects need to be friends to see it.
    pub is_internal: bool,
}

impl Visibility {
    /// Reads the files, projects and references. `gaps`: projects whose references are not all known.
    pub fn from_outputs<O: Outputs>(outputs: &mut O, gaps: &BTreeSet<String>) -> Result<Self, O::Error> {
        let mut visibility = Self {
            layout: Layout::from_outputs(outputs)?,
            references: BTreeMap::new(),
            friends: BTreeMap::new(),
            opened: BTreeMap::new(),
        };
        for output in outputs.read(&[REFERENCES, SYMBOLS].map(str::to_owned))? {
            let Some(bytes) = output.bytes else { continue };
            let damaged = || SymbolError::damaged().at_label(&output.label);
            let table = Table::open(&bytes).ok_or_else(damaged)?;
            let read = match output.label == SYMBOLS {
                true => visibility.add_globals(&table),
                false => visibility.add_references(&table, gaps),
            };
            read.map_err(|_| damaged())?;
        }
        Ok(visibility)
    }

    fn add_references(&mut self, table: &Table<'_>, gaps: &BTreeSet<String>) -> Result<(), serde_json::Error> {
        for (project, row) in table.rows().filter(|(project, _)| !gaps.contains(*project)) {
            self.references.insert(project.to_owned(), serde_json::from_slice(row)?);
        }
        Ok(())
    }

    fn add_globals(&mut self, table: &Table<'_>) -> Result<(), serde_json::Error> {
        let rows = (table.first_at_least(GLOBALS)..table.len()).map(|at| table.row(at));
        for (_, row) in rows.take_while(|(key, _)| key.starts_with(GLOBALS)) {
            let row: Globals = serde_json::from_slice(row)?;
            if let Some(project) = row.project {
                let usings = row.usings.into_iter().filter(|using| using.alias.is_none() && !using.is_static);
                let opened = self.opened.entry(project.clone()).or_default();
                opened.extend(usings.map(|using| using.target));
                self.friends.entry(project).or_default().extend(row.friends);
            }
        }
        Ok(())
    }

    /// Returns the audience of a type, and of its members that are not internal themselves.
    pub fn audience_of(&self, symbols: &Symbols, key: &str) -> Result<Audience, SymbolError> {
        let Some(at) = symbols.find(key) else {
            return Ok(Audience::default());
        };
        let mut audience = Audience {
            is_internal: is_internal_type(symbols, key),
            ..Audience::default()
        };
        for file in &symbols.type_row(at)?.files {
            let mut projects = self.layout.projects_of(file).peekable();
            if projects.peek().is_none() {
                return Ok(Audience::default());
            }
            audience.projects.extend(projects.map(str::to_owned));
        }
        Ok(audience)
    }

    /// Whether a global using of a project opens a namespace.
    pub fn opens(&self, project: &str, namespace: &str) -> bool {
        self.opened.get(project).is_some_and(|opened| opened.contains(namespace))
    }

    /// Returns the projects that compile a file.
    pub fn projects_of_file(&self, file: &str) -> Vec<String> {
        self.layout.projects_of(file).map(str::to_owned).collect()
    }

    /// Whether a project of the audience compiles a file.
    pub fn is_compiled_with(&self, file: &str, audience: &Audience) -> bool {
        self.layout.projects_of(file).any(|project| audience.projects.contains(project))
    }

    /// Whether code in a file belongs to an audience.
    pub fn sees(&self, file: &str, audience: &Audience) -> bool {
        let projects = &audience.projects;
        let mut own = self.layout.projects_of(file).peekable();
        let sees = |project: &str| {
            let Some(references) = self.references.get(project) else {
                return true;
            };
            let known = match self.friends.get(project) {
                Some(friends) if audience.is_internal => friends,
                _ => references,
            };
            projects.contains(project) || projects.iter().any(|project| known.contains(project))
        };
        projects.is_empty() || own.peek().is_none() || own.any(sees)
    }
}

/// Whether an accessibility excludes other assemblies that are not friends.
pub fn is_internal(access: Access) -> bool {
    matches!(access, Access::Internal | Access::PrivateProtected | Access::File | Access::Private)
}

/// Whether a type, or a type around it, is internal.
fn is_internal_type(symbols: &Symbols, key: &str) -> bool {
    let (symbol, scope) = key.split_at(symbol_of(key).len());
    let ends = symbol.match_indices('+').map(|(at, _)| at).chain([symbol.len()]);
    let around = ends.filter_map(|end| {
        let outer = &symbol[..end];
        symbols.find(&format!("{outer}{scope}")).or_else(|| symbols.find(outer))
    });
    around.into_iter().any(|at| is_internal(symbols.brief(at).access))
}

/// Returns the type that declares the outermost private type among a type and the types around it. No code outside of it sees the type.
pub fn confining_type(symbols: &Symbols, key: &str) -> Option<String> {
    let (symbol, scope) = key.split_at(symbol_of(key).len());
    let ends: Vec<usize> = symbol.match_indices('+').map(|(at, _)| at).chain([symbol.len()]).collect();
    let is_private = |end: usize| {
        let own = &symbol[..end];
        let at = symbols.find(&format!("{own}{scope}")).or_else(|| symbols.find(own));
        at.is_some_and(|at| symbols.brief(at).access == Access::Private)
    };
    let pair = ends.windows(2).find(|pair| is_private(pair[1]))?;
    Some(format!("{}{scope}", &symbol[..pair[0]]))
}

/// Whether two types have one outermost type, so that each sees the private members of the other.
pub fn is_same_outermost(one: &str, other: &str) -> bool {
    let outermost = |key: &str| symbol_of(key).split('+').next().unwrap_or_default().to_owned();
    outermost(one) == outermost(other)
}
