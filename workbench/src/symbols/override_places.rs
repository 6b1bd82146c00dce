//! Declarations that override or implement a member; they count as uses of their own kind.

use super::hierarchy::{Relation, implementations};
use super::index::Symbols;
use super::locations::declaration_lines;
use super::outputs::Outputs;
use super::resolve::Candidate;
use super::usages::Subject;
use producers::csharp::usages::{LONGEST_LINE, Place, UseKind};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the places of members that override or implement the subject, in all derived types; none for a type.
pub fn override_places<O: Outputs>(outputs: &mut O, symbols: &Symbols, subject: &Subject) -> Result<BTreeSet<Place>, O::Error> {
    let mut kinds = BTreeMap::new();
    for path in subject.paths.iter().filter(|_| subject.is_member()) {
        for one in implementations(outputs, symbols, &Candidate::from_path(path, &[]), true)? {
            let kind = match one.relation {
                Relation::Overrides => UseKind::Override,
                Relation::Implements | Relation::Derives => UseKind::Implement,
            };
            kinds.insert(one.path, kind);
        }
    }
    let mut candidates = Vec::with_capacity(kinds.len());
    for path in kinds.keys() {
        let found = symbols.find(Candidate::from_path(path, &[]).key());
        let files = found.map(|at| symbols.type_row(at)).transpose()?.map(|row| row.files);
        candidates.push(Candidate::from_path(path, &files.unwrap_or_default()));
    }
    let lines = declaration_lines(outputs, &candidates.iter().collect::<Vec<_>>())?;
    let place = |(kind, found): (&UseKind, Option<_>)| {
        let (at, line): (super::locations::SourceLocation, String) = found?;
        let text = line.trim();
        Some(Place {
            file: at.file,
            line: at.line,
            column: at.column,
            text: text[..text.floor_char_boundary(LONGEST_LINE)].to_owned(),
            kind: *kind,
            ..Place::default()
        })
    };
    Ok(kinds.values().zip(lines).filter_map(place).collect())
}
