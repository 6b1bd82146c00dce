//! Summaries by a language model: from inputs to an output, with as few questions as possible.
//!
//! A node asks for a patch, a whole answer and one repair of it at most; for a group that does not fit, for each part. The cost of every answer is
//! reported, also when the node fails.

use super::answer::{self, Sections, Summaries};
use super::answer_plan::{AnswerPlan, Base};
use super::author::{Author, SummaryCase};
use super::context_sizes::LearntContextSizes;
use super::conversation::{AnswerInProgress, ModelConversation};
use super::document;
use super::evidence::{self, EvidenceNames};
use super::parameters::SummaryParameters;
use super::prompt::Material;
use super::prompt_slots::Slot;
use super::shown_texts;
use super::shrink;
use super::subject::{self, Subject, Withholding, note_digest, type_key};
use engine::seams::paid::{Notes, Spent};
use engine::seams::producer::{Failure, Inputs, Output};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use llm::Ask;
use std::collections::BTreeMap;

/// Writes the summary. Fails when there is no summary; see [`Failure`].
pub(super) fn produce(inputs: &Inputs<'_>, ask: &dyn Ask, rooms: &LearntContextSizes) -> Result<Output, Failure> {
    let case = match Author::from_inputs(inputs)? {
        Author::PartOfGroup(subject, parameters) => return part_of_group(inputs, &subject, &parameters),
        Author::Withheld(subject, parameters) => return Ok(withheld_summary(&subject, &parameters)),
        Author::Asked(case) => case,
    };
    let SummaryCase {
        parameters,
        subject,
        template,
        heads,
        slots,
    } = &*case;
    let mut base = case.base(inputs);
    let (way, prompt) = case.plan_answer(inputs, base.as_mut())?;
    let mut conversation = ModelConversation::new(inputs, ask, rooms, parameters, template);
    let mut made = match conversation.cheapest(&case.material(), base.as_ref(), way) {
        AnswerPlan::Unchanged(why) => AnswerInProgress::free("unchanged", why, base.as_ref()),
        AnswerPlan::Carried(why) => AnswerInProgress::free("carried", why, base.as_ref()),
        AnswerPlan::Full(why, None) => conversation.full(heads, slots, why)?,
        AnswerPlan::Full(why, Some(changes)) => {
            let base = base.as_ref().expect("invariant: an earlier answer has known changes");
            let made = conversation.full(heads, slots, why)?;
            conversation.keep_words(&case.material(), base, &changes, made)
        }
        AnswerPlan::Patch(changes, why) => {
            let base = base.as_ref().expect("invariant: a patch has a base");
            match conversation.patch(&case.material(), base, &changes, why)? {
                Ok(made) => made,
                Err(fallback) => {
                    let made = conversation.full(heads, slots, fallback)?;
                    conversation.keep_words(&case.material(), base, &changes, made)
                }
            }
        }
    };
    let mut diagnostics = std::mem::take(&mut conversation.remarks);
    let mut notes = finish_answer(&mut made, subject, slots, parameters, base.as_ref(), &mut diagnostics);
    notes.insert("prompt".to_owned(), note_digest(&prompt));
    notes.insert("rules".to_owned(), case.material().rules());
    if conversation.repaired {
        notes.insert("repaired".to_owned(), "1".to_owned());
    }
    if let Some(step) = conversation.step.filter(|step| *step > 0) {
        let left_out = shrink::describe_step(step);
        notes.insert("left_out".to_owned(), left_out.to_owned());
        let message = format!("the prompt did not fit into the model's context; it was asked without {left_out}");
        diagnostics
            .push(Diagnostic::warning(ErrorCode::W_CONTEXT, message).hint("raise context_tokens of the model, or use a model with more"));
    }
    // The next question is compared with what a model saw last.
    let seen = base.as_ref().filter(|_| made.is_free()).and_then(|base| base.shown.as_deref());
    let text = write_model_answer(subject, &made.summaries, parameters);
    let whole_tokens = [&prompt, &text].map(|text| ask.count(&parameters.model, text).tokens).iter().sum();
    let spent = conversation.spent.unwrap_or_else(|| Spent {
        model: parameters.model_name().to_owned(),
        ..Spent::default()
    });
    Ok(Output {
        diagnostics,
        spent: Some(Spent { whole_tokens, ..spent }),
        notes,
        memo: shown_texts::encode_slots(seen.unwrap_or(slots)),
        ..Output::new(text)
    })
}

/// Drops invalid evidence, restores a person's corrections, and records how the answer was obtained.
fn finish_answer(
    made: &mut AnswerInProgress,
    subject: &Subject,
    slots: &[Slot],
    parameters: &SummaryParameters,
    base: Option<&Base>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Notes {
    let mut notes = Notes::new();
    let corrected = subject.theirs.places();
    if parameters.evidence && !made.is_free() {
        let names = EvidenceNames::from_slots(slots);
        let (mut kept, mut dropped) = (0, 0);
        for (key, sections) in &mut made.summaries {
            for (name, text) in sections {
                let place = (key.clone(), name.clone());
                if corrected.contains(&place) || made.answered.as_ref().is_some_and(|answered| !answered.contains(&place)) {
                    continue;
                }
                let checked = evidence::check_evidence(text, type_key(key), &names);
                (kept, dropped) = (kept + checked.count, dropped + checked.dropped);
                *text = answer::canonical(&checked.text);
                if text.is_empty() {
                    "- None.".clone_into(text);
                }
            }
        }
        notes.insert("evidence".to_owned(), format!("{kept} kept, {dropped} dropped"));
        if dropped > 0 {
            let message = format!(
                "{dropped} of {} pieces of evidence named nothing in the code and were dropped",
                kept + dropped
            );
            diagnostics.push(Diagnostic::new(Severity::Note, ErrorCode::N_EVIDENCE, message));
        }
    }
    if let Some(base) = base {
        notes.insert("base".to_owned(), base.digest.clone());
    }
    subject.theirs.insert_into(&mut made.summaries);
    subject.theirs.report_sections(!made.is_free(), &mut notes, diagnostics);
    if made.is_free() {
        made.chain = base.map_or(0, |base| base.chain);
        // An unchanged text keeps the notes on its origin.
        for name in ["evidence", "repaired", "left_out"] {
            if let Some(value) = base.and_then(|base| base.notes.get(name)) {
                notes.insert(name.to_owned(), value.clone());
            }
        }
    }
    for (key, withholding) in &subject.withheld {
        let summary = withholding.summary();
        let none = parameters.sections.iter().map(|section| (section.name.clone(), summary.to_owned()));
        made.summaries.insert(key.clone(), none.collect());
    }
    if !made.kept_sentences.is_empty() {
        let kept: Vec<String> = made.kept_sentences.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        notes.insert("kept".to_owned(), kept.join("; "));
    }
    notes.extend([
        ("mode".to_owned(), made.mode.to_owned()),
        ("chain".to_owned(), made.chain.to_string()),
        ("why".to_owned(), std::mem::take(&mut made.why)),
        ("model".to_owned(), parameters.model_name().to_owned()),
    ]);
    notes
}

fn write_model_answer(subject: &Subject, summaries: &Summaries, parameters: &SummaryParameters) -> String {
    let source = parameters.model_name().replace(|c: char| c.is_control(), " ");
    match &subject.group {
        Some(id) => document::write_group(id, &subject.heads, &source, summaries, &parameters.sections),
        None => {
            let none = Sections::new();
            let head = &subject.heads[0];
            document::write_summary(head, &source, summaries.get(&head.key).unwrap_or(&none), &parameters.sections)
        }
    }
}

/// Returns the summary of a subject about which no model is asked; it only states the reason.
fn withheld_summary(subject: &Subject, parameters: &SummaryParameters) -> Output {
    let sections = |withholding: &Withholding| -> Sections {
        let summary = withholding.summary();
        parameters
            .sections
            .iter()
            .map(|section| (section.name.clone(), summary.to_owned()))
            .collect()
    };
    let all = subject.heads.iter().zip(subject.withheld.values());
    let summaries: Summaries = all.map(|(head, withholding)| (head.key.clone(), sections(withholding))).collect();
    let text = match &subject.group {
        Some(id) => document::write_group(id, &subject.heads, "withheld", &summaries, &parameters.sections),
        None => document::write_summary(
            &subject.heads[0],
            "withheld",
            &summaries[&subject.heads[0].key],
            &parameters.sections,
        ),
    };
    let why = subject.withheld.values().next().map(Withholding::reason).unwrap_or_default();
    let mut diagnostics = Vec::new();
    if !subject.theirs.is_empty() {
        let (message, hint) = match subject.withheld.values().max() {
            Some(Withholding::Secret(_)) => (
                "what a person wrote of it is left out: its source is never sent to a model, nor is anything about it",
                "it is back when the glob in never_send is gone",
            ),
            Some(Withholding::Generated) => (
                "what a person wrote of it is left out: it is generated code",
                "it is back with params.generated = true",
            ),
            Some(Withholding::Declaration) | None => (
                "what a person wrote of it is left out: it is a declaration without code",
                "it is back when the member has code",
            ),
        };
        diagnostics.push(Diagnostic::warning(ErrorCode::W_CORRECTED, message).hint(hint));
    }
    Output {
        diagnostics,
        notes: BTreeMap::from([("mode".to_owned(), "withheld".to_owned()), ("why".to_owned(), why)]),
        ..Output::new(text)
    }
}

/// Returns the summary of a type in a group: its part of the group's.
fn part_of_group(inputs: &Inputs<'_>, subject: &Subject, parameters: &SummaryParameters) -> Result<Output, Failure> {
    let group = inputs.single("group")?;
    let text = std::str::from_utf8(&group.bytes).map_err(|_| Failure::permanent("input 'group' is not UTF-8 text"))?;
    let head = &subject.heads[0];
    let part = document::part_of(text, &head.id)
        .ok_or_else(|| Failure::permanent(format!("the summary of its group has no part about {}", head.key)))?;
    let mut output = Output::new(part.clone());
    output.notes = BTreeMap::from([
        ("mode".to_owned(), "part".to_owned()),
        ("base".to_owned(), group.digest.to_string()),
        ("why".to_owned(), "its group was asked about as one".to_owned()),
    ]);
    // Once the type leaves the group, its next question is compared with these texts.
    if subject.withheld.is_empty() {
        let (template, slots) = (subject::template(inputs, parameters)?, subject.slots(&subject.blobs)?);
        let material = Material {
            template: &template,
            parameters,
            heads: &[],
            slots: &[],
        };
        output.notes.insert("rules".to_owned(), material.rules());
        output.memo = shown_texts::encode_slots(&slots);
    }
    // A person may have corrected the part; the group does not contain that.
    if !subject.theirs.is_empty() {
        let heads = std::slice::from_ref(head);
        let mut summaries = document::parse_sections(&part, heads, &parameters.sections);
        subject.theirs.insert_into(&mut summaries);
        let sections = summaries.remove(&head.key).unwrap_or_default();
        output.bytes = document::write_summary(head, parameters.model_name(), &sections, &parameters.sections).into_bytes();
    }
    subject.theirs.report_sections(true, &mut output.notes, &mut output.diagnostics);
    Ok(output)
}
