//! Renames a type or a member everywhere: the symbols that change with it, their places, and a check that all uses keep their meaning.
//!
//! A plan is derived from the outputs of targets, and is refused if there are obstacles. Before it is saved, an overlay with the new texts is
//! checked: exactly the same places must use the symbol.

mod cref_overloads;
mod crefs;
mod deletion;
mod directives;
mod family;
mod inferred;
mod name_clashes;
mod places;
mod positional;
mod reference_texts;
mod signature;
mod strings;
mod verify;

pub use crate::edit::order::Rewritten;
use crate::symbols::contents::Layout;
use crate::symbols::index::Symbols;
use crate::symbols::meaning::Candidate;
use crate::symbols::outputs::Outputs;
use crate::symbols::unread_files;
pub use deletion::{advice_of_deletion, delete};
use engine::seams::world::World;
use family::Family;
use places::{ChangedPlaces, FileTexts};
use producers::csharp::generated::is_generated;
pub use reference_texts::{ReferenceTexts, SourceFile};
pub use signature::change_signature;
use std::collections::{BTreeMap, BTreeSet};
pub use verify::verify;

/// Returns a symbol by its path, with its files.
fn with_files(symbols: &Symbols, path: &str) -> Candidate {
    let row = symbols
        .find(Candidate::from_path(path, &[]).key())
        .and_then(|at| symbols.type_row(at).ok());
    Candidate::from_path(path, &row.map_or_else(Vec::new, |row| row.files))
}

/// Arguments of a rename.
#[derive(Clone, Copy)]
pub struct RenameRequest<'a> {
    /// The symbol.
    pub candidate: &'a Candidate,
    /// New name of the symbol.
    pub new: &'a str,
    /// Whether to leave possible uses unchanged instead of blocking the rename.
    pub leave_possible: bool,
    /// Whether to change string literals that contain the name.
    pub in_strings: bool,
    /// Projects whose references are not all known.
    pub gaps: &'a BTreeSet<String>,
    /// Files that could not be read as a whole.
    pub flawed: &'a BTreeSet<String>,
    /// All sources.
    pub sources: &'a [SourceFile],
    /// References in the documentation of files.
    pub references: &'a ReferenceTexts,
}

impl RenameRequest<'_> {
    /// Adds an obstacle if a file to be changed has syntax errors, or is generated.
    fn check_file(&self, file: &str, text: &str, layout: &Layout, way: &mut Obstacles) {
        if self.flawed.contains(file) {
            way.refuse_syntax_errors(file);
        }
        if layout.is_generated(file) || is_generated(file, text) {
            way.add_obstacle(format!("{file} is generated, and its next generation would undo the change"));
        }
    }
}

/// Words of the obstacle of a file with syntax errors.
const SYNTAX_ERRORS: &str = " has syntax errors";

/// Obstacles of a rename or another change, each with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Obstacles(pub BTreeSet<String>);

impl Obstacles {
    fn add_obstacle(&mut self, what: impl Into<String>) {
        self.0.insert(what.into());
    }

    /// Adds the obstacle of a file with syntax errors, once for each file.
    fn refuse_syntax_errors(&mut self, file: &str) {
        self.add_obstacle(format!("{file}{SYNTAX_ERRORS}, so it may contain uses that cortex does not see"));
    }

    /// Adds an obstacle if the requested type only inherits the member.
    fn refuse_inherited(&mut self, candidate: &Candidate) {
        if let Some(heir) = &candidate.inherited_by {
            self.add_obstacle(format!("{heir} inherits it: name {}, which declares it", candidate.path));
        }
    }

    fn result<T>(self, of: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(of) } else { Err(self) }
    }
}

/// A rename during planning: its request and the findings so far.
struct Planning<'a, O> {
    outputs: &'a mut O,
    symbols: &'a Symbols,
    request: RenameRequest<'a>,
    family: &'a Family,
    texts: FileTexts<'a>,
    change: ChangedPlaces,
    way: Obstacles,
}

/// A place: file, line and column in characters, both from 1.
type Spot = (String, u32, u32);

/// A rename without obstacles, ready to be verified and saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Paths of the renamed symbols, before and after.
    pub renamed: BTreeMap<String, String>,
    /// The changed files.
    pub files: Vec<Rewritten>,
    /// Number of changed places.
    pub places: usize,
    /// Places that may be uses and stay unchanged.
    pub left: Vec<String>,
    /// The places that must use the renamed symbols afterwards.
    expected: BTreeSet<Spot>,
}

/// Returns the changes of files as a unified diff.
pub fn diff(files: &[Rewritten]) -> String {
    files.iter().map(Rewritten::diff).collect()
}

/// Returns the lines that contain the name in files that cortex does not read.
fn unread_uses(world: &dyn World, candidate: &Candidate, family: &Family) -> Vec<String> {
    let beside = (candidate.accessibility == "private").then_some(candidate.files.as_slice());
    let paths = family.paths.iter().map(String::as_str);
    unread_files::find_unread_uses(world, paths, beside).places().collect()
}

/// Plans a rename.
///
/// # Errors
/// Outer: when outputs cannot be read; inner: the obstacles.
pub fn plan<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    world: &dyn World,
    request: RenameRequest<'_>,
) -> Result<Result<Plan, Obstacles>, O::Error> {
    let mut way = Obstacles::default();
    family::check_name(symbols, request, &mut way);
    if !way.0.is_empty() {
        return Ok(Err(way));
    }
    // Obstacles that are cheap to find refuse the rename before related members, and then uses, are searched.
    Family::of_symbol(request.candidate).check_clashes(outputs, symbols, request.new, &mut way)?;
    if !way.0.is_empty() {
        return Ok(Err(way));
    }
    let family = Family::from_symbol(outputs, symbols, request.candidate, &mut way)?;
    family.check_clashes(outputs, symbols, request.new, &mut way)?;
    if !way.0.is_empty() {
        return Ok(Err(way));
    }
    let mut planning = Planning {
        outputs,
        symbols,
        request,
        family: &family,
        texts: FileTexts::new(world),
        change: ChangedPlaces::default(),
        way,
    };
    places::find_declarations(&mut planning)?;
    let outside = places::find_uses(&mut planning)?;
    directives::rename_in_directives(&mut planning, &outside)?;
    crefs::rename_in_documentation(&mut planning)?;
    positional::check(&mut planning)?;
    if request.in_strings {
        strings::change_in_strings(&mut planning);
    }
    let Planning {
        outputs,
        texts,
        mut change,
        mut way,
        ..
    } = planning;
    if !family.is_type {
        inferred::check(&change, &family.old, &texts, &mut way);
    }
    let layout = Layout::from_outputs(outputs)?;
    let unread = unread_uses(world, request.candidate, &family);
    match request.leave_possible {
        true => change.left.extend(unread),
        false => unread.into_iter().for_each(|place| way.add_obstacle(place)),
    }
    for file in change.files() {
        request.check_file(file, texts.text_of(file).unwrap_or_default(), &layout, &mut way);
    }
    let expected = change.expected_spots(&family, request.new, &texts);
    let files = change.rewritten(&family, request.new, &texts, &mut way);
    let plan = Plan {
        renamed: family.new_paths(request.new),
        places: change.len(),
        left: change.left,
        expected,
        files,
    };
    Ok(way.result(plan))
}

#[cfg(test)]
mod deletion_tests;
#[cfg(test)]
mod tests;
