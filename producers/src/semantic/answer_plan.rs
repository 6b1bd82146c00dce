//! Decides how a node gets its answer, and why: the earlier one as it is, a patch of it, or a new one.

use super::answer::{self, Summaries};
use super::carried_answers::{self, Carry};
use super::changed_texts::{ChangedTexts, compare_slots};
use super::document;
use super::parameters::SummaryParameters;
use super::prompt::Material;
use super::prompt_slots::{Slot, SlotKind, past};
use super::renames::Renames;
use super::shown_texts;
use super::spelling::with_present_spelling;
use super::split_off::{self, SplitOff};
use super::subject::{Subject, note_digest};
use engine::seams::paid::{Notes, Previous};
use engine::seams::producer::{Failure, Inputs};
use std::collections::BTreeSet;

/// An earlier answer.
pub(super) struct Base {
    pub(super) summaries: Summaries,
    pub(super) notes: Notes,
    pub(super) digest: String,
    /// Patches since the last whole answer.
    pub(super) chain: u64,
    /// Sections that a person wrote, by key of the type.
    pub(super) corrected: BTreeSet<(String, String)>,
    /// Texts of its prompt under present names, if some changed: as long as it remains valid, the next question is compared with them.
    pub(super) shown: Option<Vec<Slot>>,
}

impl Base {
    /// Reads an earlier result; `None` when neither a model nor a person wrote it.
    pub(super) fn from_previous(previous: &Previous, subject: &Subject, material: &Material<'_>, renames: &Renames) -> Option<Self> {
        let notes = previous.notes.clone();
        notes.get("mode").filter(|mode| *mode != "withheld")?;
        let text = std::str::from_utf8(&previous.output).ok()?;
        let heads = document::heads_then(text, &subject.heads, |key| renames.present_key(key));
        let mut summaries = document::parse_sections(text, &heads, &material.parameters.sections);
        subject.theirs.insert_into(&mut summaries);
        Some(Self {
            corrected: subject.theirs.places(),
            chain: notes.get("chain").and_then(|chain| chain.parse().ok()).unwrap_or(0),
            digest: previous.digest.to_string(),
            summaries,
            notes,
            shown: None,
        })
    }
}

/// The way to get an answer.
pub(super) enum AnswerPlan {
    /// The earlier answer is kept.
    Unchanged(String),
    /// The earlier answer is kept under present names: only names changed, or no sentence rests on the change.
    Carried(String),
    /// The earlier answer is patched.
    Patch(Box<ChangedTexts>, String),
    /// A new answer; with the changes since the earlier one, whose correct words are kept.
    Full(String, Option<Box<ChangedTexts>>),
}

/// Decides, with the present full prompt. Renames the types in the earlier answer, as far as only names differ.
///
/// # Errors
/// When an earlier input is malformed.
pub(super) fn decide(
    inputs: &Inputs<'_>,
    subject: &Subject,
    material: &Material<'_>,
    base: Option<&mut Base>,
    prompt: &str,
    renames: &Renames,
) -> Result<AnswerPlan, Failure> {
    let full = |why: &str| Ok(AnswerPlan::Full(why.to_owned(), None));
    if inputs.fresh {
        return full("a new answer was requested");
    }
    let (Some(base), Some(previous)) = (base, &inputs.previous) else {
        return full(match &inputs.previous {
            None => "there is no earlier answer",
            Some(_) => "the earlier summary is not a model's",
        });
    };
    let is_part = base.notes.get("mode").is_some_and(|mode| mode == "part");
    if is_part && !base.notes.contains_key("rules") {
        return full("it was part of a group's answer before");
    }
    let edited = base.notes.get("mode").is_some_and(|mode| mode == "edited");
    let rules = base.notes.get("rules");
    if rules.map_or(!edited, |rules| *rules != material.rules()) {
        return full("the model, the template or the sections changed");
    }
    let about: Vec<(&str, &str)> = material.heads.iter().map(|head| (head.key.as_str(), head.id.as_str())).collect();
    // Types that joined a group have no earlier answer.
    let (known, new): (Vec<_>, Vec<_>) = about.iter().copied().partition(|(key, _)| base.summaries.contains_key(*key));
    if known.is_empty() || !answer::missing_sections(&base.summaries, &known, &material.parameters.sections).is_empty() {
        return full("the earlier answer lacks sections that are wanted");
    }
    if base.notes.get("prompt").is_some_and(|then| *then == note_digest(prompt)) {
        return Ok(AnswerPlan::Unchanged("nothing that a model is shown changed".to_owned()));
    }
    let Some(then) = shown_then(inputs, subject, previous, renames)? else {
        return full("the inputs of the earlier answer are not in the store");
    };
    let carried = renames.carry(&then, material.slots, &base.summaries);
    base.summaries = renames.summaries(&base.summaries, &carried.words, &base.corrected);
    let parameters = material.parameters;
    let (then, is_respelled) = match parameters.carry {
        Carry::Never => (carried.slots, false),
        Carry::Safe | Carry::Likely => with_present_spelling(&carried.slots, material.slots),
    };
    let mut changes = compare_slots(&then, material.slots);
    if let (Some(origin), [head]) = (base.notes.get(split_off::NOTE), material.heads) {
        let split = SplitOff::from_texts(origin, &head.key, [&then, material.slots], &changes, &base.summaries);
        changes.split_off = Some(Box::new(split));
        return Ok(AnswerPlan::Patch(Box::new(changes), format!("it was split off from {origin}")));
    }
    if new.iter().any(|(key, _)| !changes.new_types.contains(*key)) {
        return full("the earlier answer lacks types that it was asked about");
    }
    if changes.is_empty() {
        return Ok(match (is_renamed(previous, renames), carried.words.is_empty()) {
            (false, true) if is_respelled => AnswerPlan::Carried("only the spelling of code changed".to_owned()),
            (false, true) => AnswerPlan::Unchanged("nothing that a model is shown changed".to_owned()),
            (true, _) => AnswerPlan::Carried("it was renamed".to_owned()),
            (false, false) => AnswerPlan::Carried(format!("renamed: {}", join_names(carried.words.values().map(String::as_str)))),
        });
    }
    let then = base.shown.insert(then);
    if !changes.own && !changes.used {
        let why = format!(
            "nothing that it uses changed, only {}",
            join_names(changes.dependencies.iter().map(String::as_str))
        );
        return Ok(AnswerPlan::Unchanged(why));
    }
    if let Some(why) = carried_answers::reason(parameters.carry, &changes, then, material.slots, &base.summaries) {
        return Ok(AnswerPlan::Carried(why));
    }
    Ok(full_or_patch(changes, base.chain, parameters))
}

/// Decides whether a change is small enough for a patch.
fn full_or_patch(changes: ChangedTexts, chain: u64, parameters: &SummaryParameters) -> AnswerPlan {
    if chain >= parameters.max_patches {
        let why = format!("{} patches in a row are the most (max_patches)", parameters.max_patches);
        return AnswerPlan::Full(why, None);
    }
    if changes.share > parameters.max_diff {
        let why = format!(
            "{:.0} % of what a model is shown changed, more than {:.0} % (max_diff)",
            changes.share * 100.0,
            parameters.max_diff * 100.0
        );
        return AnswerPlan::Full(why, Some(Box::new(changes)));
    }
    let why = patch_reason(&changes);
    AnswerPlan::Patch(Box::new(changes), why)
}

/// Describes what changed since the earlier answer.
fn patch_reason(changes: &ChangedTexts) -> String {
    match (changes.members.as_slice(), changes.own) {
        ([], false) => format!(
            "its dependencies changed: {}",
            join_names(changes.dependencies.iter().map(String::as_str))
        ),
        ([], true) if changes.code => "its code changed".to_owned(),
        ([], true) => "its head or its documentation changed".to_owned(),
        (members, _) => format!("members changed: {}", join_names(members.iter().map(String::as_str))),
    }
}

/// Returns the texts that the earlier answer was based on, under present keys: as stored with it, else from its inputs.
fn shown_then(inputs: &Inputs<'_>, subject: &Subject, previous: &Previous, renames: &Renames) -> Result<Option<Vec<Slot>>, Failure> {
    let now = |key: &str| renames.present_key(key);
    let mut then = match shown_texts::decode_slots(&previous.memo, now, &subject.unseen(), &subject.hidden) {
        Some(then) => subject.without_hidden_code(then),
        None => match past(previous, now) {
            Some(blobs) => subject.slots(&blobs)?,
            None => return Ok(None),
        },
    };
    if inputs.unknown > 0 {
        // In a plan, roles that are not known yet count as unchanged.
        let is_known = |role: &str, key: &str| subject.blobs.get(role).is_some_and(|now| now.contains_key(key));
        then.retain(|slot| match slot.kind {
            SlotKind::Role => is_known("roles", &slot.key),
            SlotKind::Signatures => is_known("dependencies", &slot.key),
            SlotKind::Structure | SlotKind::Code | SlotKind::Docs => true,
        });
    }
    Ok(Some(then))
}

/// Whether an earlier answer is about a type that was renamed since.
fn is_renamed(previous: &Previous, renames: &Renames) -> bool {
    let text = String::from_utf8_lossy(&previous.output);
    let headings = text
        .lines()
        .filter_map(|line| line.strip_prefix("# Semantic: ").or_else(|| line.strip_prefix("## ")));
    headings
        .filter_map(|heading| heading.rsplit_once(' '))
        .any(|(key, _)| renames.is_former(key))
}

pub(super) fn join_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(5).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(5) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns the text of a prompt, whose digest is noted: equal texts have the same answer.
pub(super) fn full_prompt(material: &Material<'_>) -> String {
    super::prompt::conversation_text(&material.full())
}
