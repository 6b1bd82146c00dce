//! Verifies a renamed workspace: the uses of the symbols are the same as before.

use super::{Obstacles, Plan, Spot};
use crate::symbols::index::Symbols;
use crate::symbols::outputs::Outputs;
use crate::symbols::resolve::{Options, resolve};
use crate::symbols::usages::{Subject, Usages, UseDoubt, usages_of_all};
use engine::values::label::halves;
use std::collections::BTreeSet;

/// Checks that the workspace with a plan's texts in place of its files has exactly the expected uses. Errors: outer: when outputs cannot be
/// read; inner: the uses that changed.
pub fn verify<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    plan: &Plan,
    gaps: &BTreeSet<String>,
) -> Result<Result<(), Obstacles>, O::Error> {
    let mut way = Obstacles::default();
    let mut uses: BTreeSet<Spot> = BTreeSet::new();
    let mut possible: Vec<(Spot, UseDoubt)> = Vec::new();
    let keys: BTreeSet<&str> = plan.renamed.values().filter_map(|path| Some(halves(path)?.0)).collect();
    let mut subjects: Vec<Subject> = Vec::new();
    for path in plan.renamed.values() {
        match Subject::from_resolution(&resolve(symbols, outputs, path, &Options::default())?) {
            Ok(subject) if subject.path == *path => subjects.push(subject),
            _ => way.add_obstacle(format!("after the rename no type or member would have the name {path} alone")),
        }
    }
    for found in usages_of_all(outputs, symbols, &subjects, gaps)?.into_iter().map(Usages::in_code) {
        let spot = |place: &producers::csharp::usages::Place| (place.file.clone(), place.line, place.column);
        uses.extend(found.certain.iter().map(spot));
        possible.extend(found.possible.iter().map(|(place, why)| (spot(place), why.clone())));
    }
    for (file, line, _) in plan.expected.difference(&uses) {
        way.add_obstacle(format!("{file}:{line}: this use would refer to something else after the rename"));
    }
    for (file, line, _) in uses.difference(&plan.expected) {
        way.add_obstacle(format!(
            "{file}:{line}: this code refers to something else now, and would refer to the renamed symbol"
        ));
    }
    for ((file, line, column), why) in possible {
        let is_known = plan.expected.contains(&(file.clone(), line, column));
        let is_other = match &why {
            // Code that already contained the new name refers to something else.
            UseDoubt::UnknownValue | UseDoubt::UnknownValueNear(_) | UseDoubt::Extension | UseDoubt::OutsideTypes | UseDoubt::Excluded => {
                true
            }
            UseDoubt::Through(path) => !keys.contains(halves(path).map_or(path.as_str(), |(key, _)| key)),
            UseDoubt::ByName | UseDoubt::Wired(_) | UseDoubt::Overloads(_) | UseDoubt::Elsewhere | UseDoubt::Named | UseDoubt::NoneFits => {
                false
            }
        };
        if !is_known && !is_other {
            way.add_obstacle(format!(
                "{file}:{line}: this code may refer to the renamed symbol after the rename ({why})"
            ));
        }
    }
    Ok(way.result(()))
}
