//! The earlier answer of a type that was split off from another one: the answer about that type, as far as its evidence is in the new one. A model
//! patches it.
//!
//! A claim stays without being shown if its evidence is members that moved as they were. Sections with other claims, and ROLE, are shown and must be
//! written. A claim whose evidence is not in the new type is left out.

use super::answer::{Sections, Summaries};
use super::author::Author;
use super::changed_texts::ChangedTexts;
use super::churn_guard;
use super::corrections;
use super::document;
use super::evidence::{self, EvidenceNames, simple_member_name};
use super::parameters::ROLE;
use super::prompt_slots::{Slot, SlotKind, simple};
use super::prose::is_word;
use super::renames::Renames;
use super::shown_texts;
use super::splice::{self, Unshown};
use engine::seams::paid::{FindResult, Previous};
use engine::seams::producer::Inputs;
use engine::values::label::escape;
use std::collections::{BTreeMap, BTreeSet};

/// The note of an earlier answer that names the type from which its type was split off.
pub(super) const NOTE: &str = "split_off";

/// Limit of members that a question names.
const MOST_MEMBERS: usize = 40;

/// What a patch of the answer about an earlier type needs besides the differences.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SplitOff {
    /// Key of the earlier type.
    origin: String,
    /// Names of the members that come from it.
    members: BTreeSet<String>,
    /// Claims that stay without being shown.
    pub(super) kept: Unshown,
    /// Sections that must be written.
    pub(super) open: BTreeSet<String>,
}

impl SplitOff {
    /// Compares the new type `key` with its members' earlier texts, and sorts the claims of the earlier answer.
    pub(super) fn from_texts(origin: &str, key: &str, texts: [&[Slot]; 2], changes: &ChangedTexts, old: &Summaries) -> Self {
        let members = &member_names(texts[0], key) & &member_names(texts[1], key);
        let names = EvidenceNames::from_slots(texts[1]);
        let own = member_names(texts[1], key);
        let stays = |claim: &str| {
            let evidence = evidence::check_evidence(claim, key, &names).valid;
            let rests_on: BTreeSet<&str> = evidence.iter().map(|item| simple_member_name(item)).collect();
            let mut own = rests_on.iter().filter(|name| own.contains(**name)).peekable();
            own.peek().is_some()
                && own.all(|name| members.contains(*name))
                && !claim.split(|c| !is_word(c)).any(|word| word == simple(origin))
                && !churn_guard::is_near_changes(claim, key, changes, &names)
        };
        let mut split = Self {
            origin: origin.to_owned(),
            ..Self::default()
        };
        for (name, text) in old.get(key).into_iter().flatten() {
            let claims = splice::claims(text);
            let kept: BTreeSet<String> = claims
                .iter()
                .filter(|claim| stays(claim))
                .map(|claim| (*claim).to_owned())
                .collect();
            if name == ROLE || kept.len() < claims.len() {
                split.open.insert(name.clone());
            }
            if name != ROLE && !kept.is_empty() {
                split.kept.insert((key.to_owned(), name.clone()), kept);
            }
        }
        split.members = members.into_iter().map(str::to_owned).collect();
        split
    }

    /// Returns the sentences of a question about the new type.
    pub(super) fn describe_origin(&self, key: &str) -> String {
        let members: Vec<&str> = self.members.iter().map(String::as_str).take(MOST_MEMBERS).collect();
        let more = if self.members.len() > members.len() { ", …" } else { "" };
        let open: Vec<&str> = self.open.iter().map(String::as_str).collect();
        format!(
            "The earlier answer is about {}. {} was split off from it, with {}{more}. Write in any case: {}",
            simple(&self.origin),
            simple(key),
            members.join(", "),
            open.join(", ")
        )
    }
}

/// Returns the answer about the type from which the subject was split off, as an earlier answer about the subject; `None` of other subjects.
pub(super) fn assemble_previous(inputs: &Inputs<'_>, newest: &FindResult<'_>) -> Option<Previous> {
    if !inputs.former.values().flatten().any(|name| name.is_origin) {
        return None;
    }
    let Author::Asked(case) = Author::from_inputs(inputs).ok()? else {
        return None;
    };
    let (subject, [head]) = (&case.subject, &case.heads[..]) else {
        return None;
    };
    let origin = &inputs.former.get(&head.key)?.iter().find(|name| name.is_origin)?.item;
    if subject.group.is_some() {
        return None;
    }
    let renames = Renames::from_former(inputs.former);
    let present_key = |key: &str| match key == origin {
        true => head.key.clone(),
        false => renames.present_key(key),
    };
    let then = |answer: &Previous| shown_texts::decode_slots(&answer.memo, present_key, &subject.unseen(), &subject.hidden);
    let has_members = |answer: &Previous| then(answer).is_some_and(|then| has_most_code(&then, &case.slots, &head.key));
    let answer = newest(&format!("//types/{}:semantic", escape(origin)), &has_members)?;
    let output = String::from_utf8_lossy(&answer.output);
    let heads = document::heads_then(&output, &case.heads, present_key);
    let wanted = &case.parameters.sections;
    let mut sections = document::parse_sections(&output, &heads, wanted).remove(&head.key)?;
    keep_present_evidence(&mut sections, origin, &head.key, &case.slots);
    let mut notes = answer.notes.clone();
    notes.retain(|name, _| name != "prompt" && name != corrections::NOTE);
    notes.insert(NOTE.to_owned(), origin.clone());
    Some(Previous {
        output: document::write_summary(head, "", &sections, wanted).into_bytes().into(),
        digest: answer.digest,
        notes,
        inputs: Vec::new(),
        memo: shown_texts::encode_slots(&texts_of_members(&then(&answer)?, &case.slots, origin, &head.key)),
    })
}

/// Returns the simple names of a type's members in these texts, without constructors.
fn member_names<'s>(slots: &'s [Slot], key: &str) -> BTreeSet<&'s str> {
    let own = slots.iter().filter(|slot| slot.kind.is_own() && slot.key == key);
    let names = own.flat_map(|slot| &slot.pieces).map(|(name, _)| simple_member_name(name));
    names.filter(|name| !name.is_empty() && *name != ".ctor").collect()
}

/// Whether earlier texts have most members with code of a type.
fn has_most_code(then: &[Slot], now: &[Slot], key: &str) -> bool {
    let with_code = |slots: &[Slot]| -> BTreeSet<String> {
        let code: Vec<Slot> = slots.iter().filter(|slot| slot.kind == SlotKind::Code).cloned().collect();
        member_names(&code, key).into_iter().map(str::to_owned).collect()
    };
    let (then, now) = (with_code(then), with_code(now));
    then.intersection(&now).count() * 2 > now.len()
}

/// Removes claims with evidence that is not in the new type. Evidence that names members by the earlier type names the new one.
fn keep_present_evidence(sections: &mut Sections, origin: &str, key: &str, now: &[Slot]) {
    let of_others: Vec<Slot> = now.iter().filter(|slot| slot.key != origin).cloned().collect();
    let names = EvidenceNames::from_slots(&of_others);
    let mut renames = Renames::default();
    renames.add_rename(origin, key);
    let words = BTreeMap::from([(simple(origin).to_owned(), simple(key).to_owned())]);
    let is_present = |claim: &str| {
        let checked = evidence::check_evidence(claim, key, &names);
        checked.dropped == 0
            && !checked
                .valid
                .iter()
                .any(|item| evidence::is_lines(item) || item == key || item == simple(key))
    };
    let with_present_names = |claim: &str| match claim.rsplit_once(" [") {
        Some((words_of_claim, evidence)) => format!("{words_of_claim} [{}", renames.renamed_text(evidence, &words)),
        None => claim.to_owned(),
    };
    for text in sections.values_mut() {
        let claims = splice::claims(text).into_iter().map(with_present_names);
        let kept: Vec<String> = claims.filter(|claim| is_present(claim)).collect();
        *text = if kept.is_empty() {
            splice::NOTHING.to_owned()
        } else {
            kept.join("\n")
        };
    }
}

/// Returns the earlier texts of the members that a type has now, and of what it uses: under its own name, except the head of the earlier type.
fn texts_of_members(then: &[Slot], now: &[Slot], origin: &str, key: &str) -> Vec<Slot> {
    let of_now = |slot: &Slot| {
        let same = now.iter().find(|other| (other.kind, &other.key) == (slot.kind, &slot.key))?;
        Some(slot.only(|name| same.pieces.iter().any(|(other, _)| other == name)))
    };
    let then: Vec<Slot> = then.iter().filter_map(of_now).collect();
    let head_of = |slots: &[Slot]| -> Option<String> {
        let own = slots.iter().find(|slot| slot.kind == SlotKind::Structure && slot.key == key)?;
        Some(own.text_of_member(""))
    };
    let mut renames = Renames::default();
    renames.add_rename(origin, key);
    let mut slots = renames.carry(&then, now, &Summaries::new()).slots;
    let own = slots.iter_mut().filter(|slot| slot.kind == SlotKind::Structure && slot.key == key);
    for (name, text) in own.flat_map(|slot| &mut slot.pieces) {
        if let (true, Some(head)) = (name.is_empty(), head_of(&then)) {
            *text = head;
        }
    }
    slots
}
