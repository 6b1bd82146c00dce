//! Completes search hits with facts from the outputs of their types.

use super::locations::declarations;
use super::outputs::Outputs;
use super::overloads;
use super::resolve::Candidate;
use super::search::{Hit, Page};
use engine::values::label::halves;
use std::collections::BTreeSet;

/// Adds the facts of `//types/T:members` to hits that are members: one hit per overload, with identifier, accessibility and file. Members declared in
/// the header of their type (a primary constructor, a delegate's `Invoke`) get the path of the type.
pub fn describe<O: Outputs>(outputs: &mut O, hits: Vec<Hit>) -> Result<Vec<Hit>, O::Error> {
    let keys: BTreeSet<String> = hits.iter().filter_map(|hit| Some(halves(&hit.path)?.0.to_owned())).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let rows = overloads::read_overloads(outputs, &keys)?;
    let mut described = Vec::with_capacity(hits.len());
    for hit in hits {
        let Some((key, name)) = halves(&hit.path) else {
            described.push(hit);
            continue;
        };
        let rows = keys.binary_search(&key).map_or(&[][..], |at| &rows[at]);
        let before = described.len();
        for member in rows.iter().filter(|member| member.name == name) {
            described.push(Hit {
                path: format!("{key}#{}", member.key),
                type_id: hit.type_id.clone(),
                member_id: Some(format!("{}_{}", hit.type_id, member.id)),
                kind: member.kind.clone(),
                accessibility: member.accessibility.clone(),
                files: member.files.clone(),
                matched: hit.matched,
                former: None,
                likeness: None,
                place: None,
            });
        }
        if described.len() == before {
            let path = key.to_owned();
            described.push(Hit { path, ..hit });
        }
    }
    Ok(described)
}

/// Adds the places of their declarations to the hits that a text lists; namespaces have none.
pub fn locate_hits<O: Outputs>(outputs: &mut O, page: &mut Page) -> Result<(), O::Error> {
    let shown: BTreeSet<String> = page.rows().0.into_iter().map(|hit| hit.path.clone()).collect();
    let is_shown = |hit: &&mut Hit| shown.contains(&hit.path) && !hit.files.is_empty();
    let mut hits: Vec<&mut Hit> = page.hits.iter_mut().filter(is_shown).collect();
    let candidates: Vec<Candidate> = hits.iter().map(|hit| Candidate::from_path(&hit.path, &hit.files)).collect();
    let places = declarations(outputs, &candidates.iter().collect::<Vec<_>>())?;
    for (hit, place) in hits.iter_mut().zip(places) {
        hit.place = place;
    }
    Ok(())
}
