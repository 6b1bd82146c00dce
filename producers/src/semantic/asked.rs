//! Summaries that a language model writes: from inputs to an output, with as few questions as will do.
//!
//! A node asks at most for a patch, a whole answer and one repair of that; of a group that does not fit, for each part. Whatever an answer
//! cost is told, also when nothing comes of it.

use super::answer::{self, Sections, Summaries};
use super::churn;
use super::decide::{self, Base, Way};
use super::document::{self, Head};
use super::evidence::{self, Names};
use super::moved::Moved;
use super::prompt::{self, Material};
use super::shrink;
use super::slots::{Slot, WITHHELD};
use super::splice;
use super::subject::{self, Subject, short, type_key};
use super::template::Template;
use super::wishes::Wishes;
use crate::llm::{Answer, Ask, Question, Turn};
use engine::seams::paid::{Notes, Plan, Rejected, Spent};
use engine::seams::producer::{Failure, Inputs, Output};
use engine::values::diagnostic::{Diagnostic, Severity};
use std::collections::{BTreeMap, BTreeSet};

/// Tokens that a ROLE which is not known yet may have.
const GUESSED_ROLE: u64 = 60;

/// Tokens that a whole answer about one type is guessed to have, and one of a patch.
const GUESSED_ANSWERS: (u64, u64) = (400, 120);

/// Makes the summary.
///
/// # Errors
/// When there is none; see [`Failure`].
pub(super) fn produce(inputs: &Inputs<'_>, ask: &dyn Ask) -> Result<Output, Failure> {
    let wishes = Wishes::read(inputs.params, inputs.settings);
    let subject = Subject::read(inputs, &wishes)?;
    if !inputs.all("grouped").is_empty() {
        return part_of_group(inputs, &subject, &wishes);
    }
    if subject.shown().is_empty() {
        return Ok(withheld(&subject, &wishes));
    }
    let template = subject::template(inputs, &wishes)?;
    let heads = subject.shown();
    let slots = subject.slots(&subject.blobs)?;
    let material = Material {
        template: &template,
        wishes: &wishes,
        heads: &heads,
        slots: &slots,
    };
    let prompt = decide::full_prompt(&material);
    let base = inputs
        .previous
        .as_ref()
        .and_then(|previous| Base::read(previous, &subject, &material));
    let mut talk = Talk::new(inputs, ask, &wishes, &template);
    let mut made = match decide::decide(inputs, &subject, &material, base.as_ref(), &prompt)? {
        Way::Unchanged(why) => Made::of(
            "unchanged",
            why,
            base.as_ref().map(|base| base.summaries.clone()).unwrap_or_default(),
        ),
        Way::Full(why) => talk.full(&heads, &slots, why)?,
        Way::Patch(moved, why) => {
            let base = base.as_ref().expect("invariant: a patch has a base");
            match talk.patch(&material, base, &moved, why)? {
                Ok(made) => made,
                Err(fallback) => talk.full(&heads, &slots, fallback)?,
            }
        }
    };
    let mut diagnostics = Vec::new();
    let mut notes = finish(&mut made, &subject, &slots, &wishes, base.as_ref(), &mut diagnostics);
    notes.insert("prompt".to_owned(), short(&prompt));
    notes.insert("rules".to_owned(), material.rules());
    if talk.repaired {
        notes.insert("repaired".to_owned(), "1".to_owned());
    }
    if let Some(step) = talk.step.filter(|step| *step > 0) {
        let left_out = shrink::name(step);
        notes.insert("left_out".to_owned(), left_out.to_owned());
        let message = format!("the prompt did not fit into the model's context; it was asked without {left_out}");
        diagnostics.push(Diagnostic::warning("W_CONTEXT", message).hint("raise context_tokens of the model, or use a model with more"));
    }
    Ok(Output {
        bytes: write(&subject, &made.summaries, &wishes).into_bytes(),
        diagnostics,
        spent: talk.spent,
        notes,
    })
}

/// What would be asked.
///
/// # Errors
/// As [`produce`], without asking.
pub(super) fn plan(inputs: &Inputs<'_>, ask: &dyn Ask) -> Result<Plan, Failure> {
    let wishes = Wishes::read(inputs.params, inputs.settings);
    let subject = Subject::read(inputs, &wishes)?;
    let free = |mode: &str, why: &str| Plan {
        mode: mode.to_owned(),
        why: why.to_owned(),
        prompt: String::new(),
        cost: Spent {
            model: wishes.model_name().to_owned(),
            micros: ask.price(inputs.settings, 0, 0, 0),
            ..Spent::default()
        },
    };
    if !inputs.all("grouped").is_empty() {
        return Ok(free("part", "its group is asked about as one"));
    }
    let heads = subject.shown();
    if heads.is_empty() {
        return Ok(free("withheld", "its source is never sent"));
    }
    let template = subject::template(inputs, &wishes)?;
    let slots = subject.slots(&subject.blobs)?;
    let material = Material {
        template: &template,
        wishes: &wishes,
        heads: &heads,
        slots: &slots,
    };
    let prompt = decide::full_prompt(&material);
    let base = inputs
        .previous
        .as_ref()
        .and_then(|previous| Base::read(previous, &subject, &material));
    let talk = Talk::new(inputs, ask, &wishes, &template);
    let (mode, why, questions, guess) = match decide::decide(inputs, &subject, &material, base.as_ref(), &prompt)? {
        Way::Unchanged(why) => {
            return Ok(Plan {
                why,
                ..free("unchanged", "")
            });
        }
        Way::Patch(moved, why) => {
            let base = base.as_ref().expect("invariant: a patch has a base");
            let turns = material.patch(&base.summaries, &moved, &names_of(&base.corrected));
            ("patch", why, vec![turns], GUESSED_ANSWERS.1)
        }
        Way::Full(why) => {
            let parts = talk.parts(&heads, &slots, 0)?;
            let questions = parts.iter().map(|part| talk.material(&part.heads, &part.slots).full()).collect();
            ("full", why, questions, GUESSED_ANSWERS.0)
        }
    };
    let mut cost = Spent {
        model: wishes.model_name().to_owned(),
        calls: u32::try_from(questions.len()).unwrap_or(u32::MAX),
        ..Spent::default()
    };
    let mut shown = String::new();
    for turns in &questions {
        let text = prompt::text(turns);
        let count = ask.count(&wishes.model, &text);
        cost.input_tokens += count.tokens;
        cost.estimated |= !count.exact || inputs.unknown > 0;
        shown.push_str(&text);
    }
    cost.input_tokens += inputs.unknown as u64 * GUESSED_ROLE;
    let each = if mode == "full" { guess * heads.len() as u64 } else { guess };
    cost.output_tokens = each.min(wishes.answer_tokens(heads.len()));
    cost.micros = ask.price(inputs.settings, cost.input_tokens, 0, cost.output_tokens);
    Ok(Plan {
        mode: mode.to_owned(),
        why,
        prompt: format!("{}\n", shown.trim_end()),
        cost,
    })
}

/// An answer on its way to an output.
struct Made {
    mode: &'static str,
    why: String,
    summaries: Summaries,
    /// Patches since the last whole answer, this one included.
    chain: u64,
    /// Sections that the churn guard kept, with why.
    kept: Vec<(String, &'static str)>,
    /// Sections that a model wrote just now, as opposed to those that were there.
    answered: Option<BTreeSet<(String, String)>>,
}

impl Made {
    fn of(mode: &'static str, why: String, summaries: Summaries) -> Self {
        Self {
            mode,
            why,
            summaries,
            chain: 0,
            kept: Vec::new(),
            answered: None,
        }
    }
}

/// Some types of a prompt that fits, after so many steps of [`shrink`].
struct Fitting {
    heads: Vec<Head>,
    slots: Vec<Slot>,
    step: usize,
}

/// The conversation of one node with its model.
struct Talk<'a> {
    inputs: &'a Inputs<'a>,
    ask: &'a dyn Ask,
    wishes: &'a Wishes,
    template: &'a Template,
    spent: Option<Spent>,
    asked: u32,
    repaired: bool,
    step: Option<usize>,
    /// The last answer, for people to look at when nothing comes of it.
    raw: String,
}

impl<'a> Talk<'a> {
    fn new(inputs: &'a Inputs<'a>, ask: &'a dyn Ask, wishes: &'a Wishes, template: &'a Template) -> Self {
        Self {
            inputs,
            ask,
            wishes,
            template,
            spent: None,
            asked: 0,
            repaired: false,
            step: None,
            raw: String::new(),
        }
    }

    fn material<'m>(&'m self, heads: &'m [Head], slots: &'m [Slot]) -> Material<'m> {
        Material {
            template: self.template,
            wishes: self.wishes,
            heads,
            slots,
        }
    }

    /// Asks once. What was spent before is not lost when this fails.
    fn question(&mut self, turns: &[Turn], types: usize) -> Result<Answer, Failure> {
        let question = Question {
            model: &self.wishes.model,
            settings: self.inputs.settings,
            key: self.inputs.key,
            attempt: self.asked,
            turns,
            max_tokens: self.wishes.answer_tokens(types),
        };
        self.asked += 1;
        let answer = self
            .ask
            .ask(&question, self.inputs.cancel)
            .map_err(|failure| self.in_vain(failure))?;
        self.spent.get_or_insert_default().add(&answer.spent);
        self.raw.clone_from(&answer.text);
        Ok(answer)
    }

    /// A failure after answers that cost something: it carries what they cost.
    fn in_vain(&self, failure: Failure) -> Failure {
        if self.spent.is_none() {
            return failure;
        }
        match failure {
            Failure::Permanent(why) | Failure::Transient(why) | Failure::Limit(why) if why.code != "E_CONTEXT" => self.rejected(*why),
            Failure::Rejected(mut rejected) => {
                let mut spent = self.spent.clone().unwrap_or_default();
                rejected.spent.iter().for_each(|more| spent.add(more));
                rejected.spent = Some(spent);
                Failure::Rejected(rejected)
            }
            other => other,
        }
    }

    fn rejected(&self, why: Diagnostic) -> Failure {
        Failure::Rejected(Box::new(Rejected {
            why,
            raw: self.raw.clone().into_bytes(),
            spent: self.spent.clone(),
        }))
    }

    /// Whether a conversation and its answer fit: else what they need and what there is.
    fn fits(&self, turns: &[Turn], types: usize) -> Result<(), (u64, u64)> {
        let Some(limit) = self.wishes.context_tokens() else { return Ok(()) };
        let needed = self.ask.count(&self.wishes.model, &prompt::text(turns)).tokens + self.wishes.answer_tokens(types);
        if needed <= limit { Ok(()) } else { Err((needed, limit)) }
    }

    /// Prompts that fit, about all of these types, beginning at a step of [`shrink`].
    fn parts(&self, heads: &[Head], slots: &[Slot], from: usize) -> Result<Vec<Fitting>, Failure> {
        let mut last = (0, 0);
        for step in from..=shrink::LAST {
            if step > shrink::BEFORE_SPLIT && heads.len() > 1 {
                let (one, other) = heads.split_at(heads.len() / 2);
                let half = |heads: &[Head]| {
                    let about: BTreeSet<&str> = heads.iter().map(|head| type_key(&head.key)).collect();
                    self.parts(heads, &decide::around(slots, &about), 0)
                };
                let mut parts = half(one)?;
                parts.extend(half(other)?);
                return Ok(parts);
            }
            let slots = shrink::shrunk(slots, step);
            match self.fits(&self.material(heads, &slots).full(), heads.len()) {
                Ok(()) => {
                    return Ok(vec![Fitting {
                        heads: heads.to_vec(),
                        slots,
                        step,
                    }]);
                }
                Err(numbers) => last = numbers,
            }
        }
        let (needed, limit) = last;
        let names: Vec<&str> = heads.iter().map(|head| head.key.as_str()).collect();
        let message = if limit == 0 {
            format!("the model has no room for {}, even without bodies", names.join(", "))
        } else {
            format!(
                "question and answer about {} take {needed} tokens even without bodies; the model has room for {limit}",
                names.join(", ")
            )
        };
        let hint = "use a model with more context_tokens, or a smaller max_tokens of the producer";
        Err(Failure::Permanent(Box::new(Diagnostic::error("E_CONTEXT", message).hint(hint))))
    }

    /// Asks for a whole answer, in parts when it does not fit otherwise.
    fn full(&mut self, heads: &[Head], slots: &[Slot], why: String) -> Result<Made, Failure> {
        let mut made = Made::of("full", why, Summaries::new());
        let mut open = self.parts(heads, slots, 0)?;
        open.reverse();
        while let Some(part) = open.pop() {
            self.step = self.step.max(Some(part.step));
            match self.one_part(&part) {
                Ok(summaries) => made.summaries.extend(summaries),
                // The model has less room than it was thought to have.
                Err(Failure::Permanent(told)) if told.code == "E_CONTEXT" => {
                    let parts = self.parts(&part.heads, &part.slots, part.step + 1);
                    let mut parts = parts.map_err(|_| self.in_vain(Failure::Permanent(told)))?;
                    parts.reverse();
                    open.extend(parts);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(made)
    }

    /// Asks about some types, and once more when the answer is none.
    fn one_part(&mut self, part: &Fitting) -> Result<Summaries, Failure> {
        let turns = self.material(&part.heads, &part.slots).full();
        let about: Vec<(&str, &str)> = part.heads.iter().map(|head| (head.key.as_str(), head.id.as_str())).collect();
        let first = self.question(&turns, about.len())?;
        let faults = match self.check(&first, &about) {
            Ok(summaries) => return Ok(summaries),
            Err(faults) => faults,
        };
        self.repaired = true;
        let again = self.question(
            &prompt::repair(&turns, &super::slots::cut(&first.text, 40_000), &faults),
            about.len(),
        )?;
        self.check(&again, &about).map_err(|faults| {
            let shown: Vec<&str> = faults.iter().take(5).map(String::as_str).collect();
            let why = Diagnostic::error("E_ANSWER", "the model's answer is no summary, nor is its second one")
                .found(super::slots::cut(&shown.join("; "), 400))
                .hint("'cortex show LABEL --raw' shows the answer; try another model, a larger max_tokens, or a clearer template");
            self.rejected(why)
        })
    }

    fn check(&self, answer: &Answer, about: &[(&str, &str)]) -> Result<Summaries, Vec<String>> {
        let read = answer::read(&answer.text, about, &self.wishes.sections);
        let mut faults = read.faults;
        faults.extend(answer::missing(&read.summaries, about, &self.wishes.sections));
        if answer.cut {
            let most = self.wishes.answer_tokens(about.len());
            faults.insert(0, format!("it was cut off at {most} tokens; be briefer"));
        }
        if faults.is_empty() { Ok(read.summaries) } else { Err(faults) }
    }

    /// Asks for a patch; the inner error says why a whole answer is needed instead.
    fn patch(&mut self, material: &Material<'_>, base: &Base, moved: &Moved, why: String) -> Result<Result<Made, String>, Failure> {
        let turns = material.patch(&base.summaries, moved, &names_of(&base.corrected));
        if self.fits(&turns, material.heads.len()).is_err() {
            return Ok(Err("the patch does not fit into the model's context".to_owned()));
        }
        let answer = match self.question(&turns, material.heads.len()) {
            Err(Failure::Permanent(told)) if told.code == "E_CONTEXT" => {
                return Ok(Err("the patch does not fit into the model's context".to_owned()));
            }
            answer => answer?,
        };
        let made = |why, summaries| Made {
            chain: base.chain,
            answered: Some(BTreeSet::new()),
            ..Made::of("patch", why, summaries)
        };
        if answer.cut {
            return Ok(Err("the patch was cut off".to_owned()));
        }
        if answer::is_no_change(&answer.text) {
            return Ok(Ok(made(format!("{why}; the model changes nothing"), base.summaries.clone())));
        }
        let about: Vec<(&str, &str)> = material.heads.iter().map(|head| (head.key.as_str(), head.id.as_str())).collect();
        let read = answer::read(&answer.text, &about, &self.wishes.sections);
        let empty = read.summaries.values().flat_map(Sections::values).any(String::is_empty);
        if let Some(fault) = read.faults.first() {
            return Ok(Err(format!("the patch could not be put in: {fault}")));
        }
        if empty || read.summaries.values().all(Sections::is_empty) {
            return Ok(Err("the patch could not be put in: it has no section, or an empty one".to_owned()));
        }
        let names = Names::of(material.slots);
        let spliced = splice::splice(&base.summaries, &read.summaries, |key, name, old, new| {
            if base.corrected.contains(&(key.to_owned(), name.to_owned())) {
                return Some("a person wrote it");
            }
            churn::needless(old, new, type_key(key), moved, &names)
        });
        let changed = !spliced.changed.is_empty();
        let written = read
            .summaries
            .iter()
            .flat_map(|(key, sections)| sections.keys().map(move |name| (key.clone(), name.clone())));
        Ok(Ok(Made {
            chain: base.chain + u64::from(changed),
            kept: spliced.kept,
            answered: Some(written.collect()),
            ..made(why, spliced.summaries)
        }))
    }
}

fn names_of(corrected: &BTreeSet<(String, String)>) -> Vec<String> {
    corrected.iter().map(|(key, name)| format!("{name} of {key}")).collect()
}

/// Drops evidence of nothing, puts a person's words back, and writes down how it all came about.
fn finish(
    made: &mut Made,
    subject: &Subject,
    slots: &[Slot],
    wishes: &Wishes,
    base: Option<&Base>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Notes {
    let mut notes = Notes::new();
    let corrected = base.map(|base| base.corrected.clone()).unwrap_or_default();
    if wishes.evidence && made.mode != "unchanged" {
        let names = Names::of(slots);
        let (mut kept, mut dropped) = (0, 0);
        for (key, sections) in &mut made.summaries {
            for (name, text) in sections {
                let place = (key.clone(), name.clone());
                if corrected.contains(&place) || made.answered.as_ref().is_some_and(|answered| !answered.contains(&place)) {
                    continue;
                }
                let checked = evidence::check(text, type_key(key), &names);
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
            diagnostics.push(Diagnostic::new(Severity::Note, "N_EVIDENCE", message));
        }
    }
    if let Some(base) = base {
        notes.insert("base".to_owned(), base.digest.clone());
        splice::overlay(&mut made.summaries, &base.summaries, &corrected);
        if let Some(names) = base.notes.get("corrected").filter(|names| !names.is_empty()) {
            notes.insert("corrected".to_owned(), names.clone());
            if made.mode != "unchanged" {
                let message = format!("a person wrote {}, and the code moved since", names.replace(',', ", "));
                let hint = "read it again: 'cortex diff LABEL' shows what moved, 'cortex edit-output LABEL' changes it";
                diagnostics.push(Diagnostic::warning("W_CORRECTED", message).hint(hint));
            }
        }
    }
    if made.mode == "unchanged" {
        made.chain = base.map_or(0, |base| base.chain);
        // How the words came about is how they came about before.
        for name in ["evidence", "repaired", "left_out"] {
            if let Some(value) = base.and_then(|base| base.notes.get(name)) {
                notes.insert(name.to_owned(), value.clone());
            }
        }
    }
    for key in subject.withheld.keys() {
        let none = wishes.sections.iter().map(|section| (section.name.clone(), WITHHELD.to_owned()));
        made.summaries.insert(key.clone(), none.collect());
    }
    if !made.kept.is_empty() {
        let kept: Vec<String> = made.kept.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        notes.insert("kept".to_owned(), kept.join("; "));
    }
    notes.extend([
        ("mode".to_owned(), made.mode.to_owned()),
        ("chain".to_owned(), made.chain.to_string()),
        ("why".to_owned(), std::mem::take(&mut made.why)),
        ("model".to_owned(), wishes.model_name().to_owned()),
    ]);
    notes
}

fn write(subject: &Subject, summaries: &Summaries, wishes: &Wishes) -> String {
    let source = wishes.model_name().replace(|c: char| c.is_control(), " ");
    match &subject.group {
        Some(id) => document::write_group(id, &subject.heads, &source, summaries, &wishes.sections),
        None => {
            let none = Sections::new();
            let head = &subject.heads[0];
            document::write(head, &source, summaries.get(&head.key).unwrap_or(&none), &wishes.sections)
        }
    }
}

/// The summary of what no model may see: it says so, and nothing else.
fn withheld(subject: &Subject, wishes: &Wishes) -> Output {
    let sections: Sections = wishes
        .sections
        .iter()
        .map(|section| (section.name.clone(), WITHHELD.to_owned()))
        .collect();
    let summaries = subject.heads.iter().map(|head| (head.key.clone(), sections.clone())).collect();
    let glob = subject.withheld.values().next().cloned().unwrap_or_default();
    let text = match &subject.group {
        Some(id) => document::write_group(id, &subject.heads, "withheld", &summaries, &wishes.sections),
        None => document::write(&subject.heads[0], "withheld", &sections, &wishes.sections),
    };
    let why = format!("its source matches '{glob}' and is never sent");
    Output {
        notes: BTreeMap::from([("mode".to_owned(), "withheld".to_owned()), ("why".to_owned(), why)]),
        ..Output::new(text)
    }
}

/// The summary of a type in a group: its part of the group's.
fn part_of_group(inputs: &Inputs<'_>, subject: &Subject, wishes: &Wishes) -> Result<Output, Failure> {
    let group = inputs.one("group")?;
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
    // A person may have corrected the part; the group does not know.
    if let Some(previous) = &inputs.previous
        && let Some(names) = previous.notes.get("corrected").filter(|names| !names.is_empty())
        && let Ok(theirs) = std::str::from_utf8(&previous.output)
    {
        let heads = std::slice::from_ref(head);
        let mut summaries = document::read(&part, heads, &wishes.sections);
        let theirs = document::read(theirs, heads, &wishes.sections);
        splice::overlay(&mut summaries, &theirs, &decide::corrected(&previous.notes, subject));
        let sections = summaries.remove(&head.key).unwrap_or_default();
        output.bytes = document::write(head, wishes.model_name(), &sections, &wishes.sections).into_bytes();
        output.notes.insert("corrected".to_owned(), names.clone());
        let message = format!("a person wrote {}, and the code moved since", names.replace(',', ", "));
        output
            .diagnostics
            .push(Diagnostic::warning("W_CORRECTED", message).hint("read it again: 'cortex diff LABEL' shows what moved"));
    }
    Ok(output)
}
