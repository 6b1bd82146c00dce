//! The earlier answer of a group that gained or lost types, put together from the last answers about the types that it has now: of the group that they
//! were in, or of each alone. It has the form of an earlier answer about a group; types without one are new.

use super::corrections;
use super::document;
use super::prompt_slots::{Slot, SlotKind};
use super::renames::Renames;
use super::shown_texts;
use super::subject::type_rows_of_inputs;
use engine::seams::paid::{FindResult, Notes, Previous};
use engine::seams::producer::Inputs;
use engine::values::label::escape;
use std::collections::{BTreeMap, BTreeSet};

/// An earlier answer about some types of a group.
struct Source {
    answer: Previous,
    /// Texts that its prompt showed, under present keys.
    slots: Vec<Slot>,
    /// Present keys of types of the group that it is about.
    types: BTreeSet<String>,
}

/// Returns the earlier answer of a group; `None` of other subjects, and without any answer about its types.
pub(super) fn assemble_previous(inputs: &Inputs<'_>, newest: &FindResult<'_>) -> Option<Previous> {
    if !inputs.label.starts_with("//groups/") {
        return None;
    }
    let rows = type_rows_of_inputs(inputs).ok()?;
    let keys: BTreeSet<&str> = rows.iter().map(|(key, _)| key.as_str()).collect();
    let renames = Renames::from_former(inputs.former);
    let mut sources: BTreeMap<String, Source> = BTreeMap::new();
    for key in &keys {
        let former = inputs.former.get(*key).into_iter().flatten().filter(|name| !name.is_origin);
        let former = former.map(|name| name.item.as_str());
        let Some((label, answer)) = [*key].into_iter().chain(former).find_map(|key| last_answer(key, newest)) else {
            continue;
        };
        let source = sources.entry(label).or_insert_with(|| Source {
            slots: shown_texts::decode_slots(&answer.memo, |key| renames.present_key(key), &BTreeSet::new(), &BTreeSet::new())
                .unwrap_or_default(),
            answer,
            types: BTreeSet::new(),
        });
        if source.slots.iter().any(|slot| slot.kind == SlotKind::Structure && slot.key == *key) {
            source.types.insert((*key).to_owned());
        }
    }
    join_sources(sources.into_values().collect(), &keys, &renames)
}

/// Returns the last answer about a type, stored with the texts that its model was shown: the type's own answer, or that of its group, with the label.
fn last_answer(key: &str, newest: &FindResult<'_>) -> Option<(String, Previous)> {
    let last = |label: &str| newest(label, &|_| true);
    let label = format!("//types/{}:semantic", escape(key));
    let answer = last(&label)?;
    if answer.notes.get("mode").is_none_or(|mode| mode != "part") {
        return Some((label, answer));
    }
    let group = answer.inputs.iter().find(|input| &*input.role == "group")?;
    Some((group.label.to_string(), last(&group.label)?))
}

/// Joins the answers that follow the same rules as the one about most types.
fn join_sources(mut sources: Vec<Source>, keys: &BTreeSet<&str>, renames: &Renames) -> Option<Previous> {
    sources.sort_by_key(|source| std::cmp::Reverse(source.types.len()));
    let first = sources.first().filter(|source| !source.types.is_empty())?;
    let (digest, mut notes) = (first.answer.digest, first.answer.notes.clone());
    let rules = notes.get("rules").cloned();
    sources.retain(|source| source.answer.notes.get("rules") == rules.as_ref());
    let mut text = String::from("# Semantic: group\n");
    let mut slots: Vec<Slot> = Vec::new();
    let mut corrected = Vec::new();
    for source in &sources {
        let output = String::from_utf8_lossy(&source.answer.output);
        for key in &source.types {
            let Some((part, id)) = document::part_under_heading(&output, |then| renames.present_key(then) == *key) else {
                continue;
            };
            text.push_str(&format!("\n{part}"));
            slots.extend(source.slots.iter().filter(|slot| slot.kind.is_own() && slot.key == *key).cloned());
            let names = corrections::section_names(&source.answer.notes).filter(|name| name.split('/').next() == Some(id));
            corrected.extend(names.map(str::to_owned));
        }
        for slot in source
            .slots
            .iter()
            .filter(|slot| !slot.kind.is_own() && !keys.contains(slot.key.as_str()))
        {
            if !slots.iter().any(|other| (other.kind, &other.key) == (slot.kind, &slot.key)) {
                slots.push(slot.clone());
            }
        }
    }
    let chain = |notes: &Notes| notes.get("chain").and_then(|chain| chain.parse::<u64>().ok());
    let longest = sources.iter().filter_map(|source| chain(&source.answer.notes)).max();
    notes.insert("chain".to_owned(), longest.unwrap_or(0).to_string());
    notes.remove("prompt");
    notes.insert(corrections::NOTE.to_owned(), corrected.join(","));
    Some(Previous {
        output: text.into_bytes().into(),
        digest,
        notes,
        inputs: Vec::new(),
        memo: shown_texts::encode_slots(&slots),
    })
}
