//! The conversation of one node with its model: one question at a time, within the model's context; all spending is accounted for.

use super::answer::{self, ParsedSections, Sections, Summaries};
use super::answer_plan::{self, AnswerPlan, Base};
use super::carried_answers::Carry;
use super::changed_texts::{ChangedTexts, declarations_of_others};
use super::churn_guard;
use super::context_sizes::{LearntContextSizes, ModelContextSize};
use super::document::SummaryHead;
use super::evidence::EvidenceNames;
use super::parameters::{ROLE, Section, SummaryParameters};
use super::prompt::{self, Material};
use super::prompt_slots::Slot;
use super::shrink;
use super::splice::{self, Spliced};
use super::subject::type_key;
use super::template::Template;
use super::unspoken_changes;
use engine::seams::paid::{Rejected, Spent};
use engine::seams::producer::{Failure, Inputs};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use llm::{About, Ask, ModelReply, Question, Turn, Wants, joint_questions};
use std::collections::BTreeSet;

/// Estimated tokens of a whole answer about one type.
pub(super) const GUESSED_ANSWER: u64 = 400;

/// Estimated tokens of a patch.
pub(super) const GUESSED_PATCH: u64 = 120;

/// Estimated tokens of a section that a patch must write.
const GUESSED_SECTION: u64 = 80;

/// Returns the estimated tokens of a patch, with whole answers about types that are new in a group.
pub(super) fn guessed_patch(changes: &ChangedTexts) -> u64 {
    let open = changes.split_off.as_ref().map_or(0, |split| split.open.len() as u64);
    GUESSED_PATCH.max(GUESSED_SECTION * open) + GUESSED_ANSWER * changes.new_types.len() as u64
}

/// An answer that becomes an output.
pub(super) struct AnswerInProgress {
    pub(super) mode: &'static str,
    pub(super) why: String,
    pub(super) summaries: Summaries,
    /// Patches since the last whole answer, this one included.
    pub(super) chain: u64,
    /// Sections that the churn guard kept, with why.
    pub(super) kept_sentences: Vec<(String, &'static str)>,
    /// Sections that a model wrote in this run, as opposed to earlier ones.
    pub(super) answered: Option<BTreeSet<(String, String)>>,
}

impl AnswerInProgress {
    /// Returns the earlier answer, for which no model was asked.
    pub(super) fn free(mode: &'static str, why: String, base: Option<&Base>) -> Self {
        Self::new(mode, why, base.map(|base| base.summaries.clone()).unwrap_or_default())
    }

    /// Whether no model was asked.
    pub(super) fn is_free(&self) -> bool {
        matches!(self.mode, "unchanged" | "carried")
    }

    pub(super) fn new(mode: &'static str, why: String, summaries: Summaries) -> Self {
        Self {
            mode,
            why,
            summaries,
            chain: 0,
            kept_sentences: Vec::new(),
            answered: None,
        }
    }
}

/// Some types of a prompt that fits, after so many steps of [`shrink`].
pub(super) struct Fitting {
    pub(super) heads: Vec<SummaryHead>,
    pub(super) slots: Vec<Slot>,
    /// The texts before anything was left out.
    whole: Vec<Slot>,
    step: usize,
}

/// The conversation of one node with its model.
pub(super) struct ModelConversation<'a> {
    inputs: &'a Inputs<'a>,
    ask: &'a dyn Ask,
    rooms: &'a LearntContextSizes,
    parameters: &'a SummaryParameters,
    template: &'a Template,
    pub(super) spent: Option<Spent>,
    /// The part of it that paid for stored answers: not lost when a later one fails.
    filed: Spent,
    attempts: u32,
    /// Why it is asked, and whether for a patch only.
    why: String,
    patch: bool,
    pub(super) repaired: bool,
    /// The furthest step of [`shrink`] that was needed.
    pub(super) step: Option<usize>,
    /// The last answer, for people to look at when the node fails.
    raw: String,
    /// Remarks that the answers carried.
    pub(super) remarks: Vec<Diagnostic>,
}

impl<'a> ModelConversation<'a> {
    pub(super) fn new(
        inputs: &'a Inputs<'a>,
        ask: &'a dyn Ask,
        rooms: &'a LearntContextSizes,
        parameters: &'a SummaryParameters,
        template: &'a Template,
    ) -> Self {
        Self {
            inputs,
            ask,
            rooms,
            parameters,
            template,
            spent: None,
            filed: Spent::default(),
            attempts: 0,
            why: String::new(),
            patch: false,
            repaired: false,
            step: None,
            raw: String::new(),
            remarks: Vec::new(),
        }
    }

    pub(super) fn material<'m>(&'m self, heads: &'m [SummaryHead], slots: &'m [Slot]) -> Material<'m> {
        Material {
            template: self.template,
            parameters: self.parameters,
            heads,
            slots,
        }
    }

    /// Asks once. A failure includes the cost of earlier answers.
    fn question(&mut self, turns: &[Turn], types: usize, faults: &[String]) -> Result<ModelReply, Failure> {
        let question = Question {
            model: &self.parameters.model,
            settings: self.inputs.settings,
            key: self.inputs.key,
            attempt: self.attempts,
            turns,
            max_tokens: self.parameters.answer_tokens(types),
            wants: Wants::Text,
            about: About {
                label: self.inputs.label,
                patch: self.patch,
                why: &self.why,
                faults,
            },
        };
        if self.attempts == 0 && self.ask.answers_at_once(&self.parameters.model) {
            self.inputs.question_lock.acquire()?;
        }
        self.attempts += 1;
        let answer = joint_questions::ask_together(
            self.ask, &question, self.inputs.job_group, self.parameters.together, self.inputs.cancel,
        )
        .map_err(|failure| {
            if let Failure::Permanent(diagnostic) = &failure
                && diagnostic.code == ErrorCode::E_CONTEXT
            {
                self.context_size()
                    .learn_limit(&prompt::conversation_text(turns), types, diagnostic);
            }
            self.in_vain(failure)
        })?;
        self.spent.get_or_insert_default().add(&answer.spent);
        self.raw.clone_from(&answer.text);
        self.remarks.extend(answer.remarks.iter().cloned());
        Ok(answer)
    }

    /// Adds the cost of earlier answers to a failure. The failure of a question that is too long remains unchanged: it leads to a smaller question.
    fn in_vain(&self, failure: Failure) -> Failure {
        match &failure {
            Failure::Permanent(why) if why.code == ErrorCode::E_CONTEXT => failure,
            _ => failure.after_spending(self.in_vain_so_far().as_ref(), &self.raw),
        }
    }

    /// Returns the cost of answers that are lost if the node fails.
    fn in_vain_so_far(&self) -> Option<Spent> {
        let spent = self.spent.as_ref()?.less(&self.filed);
        (spent.calls > 0 || spent.input_tokens > 0).then_some(spent)
    }

    fn rejected(&self, why: Diagnostic) -> Failure {
        Failure::Rejected(Box::new(Rejected {
            why,
            raw: self.raw.clone().into_bytes(),
            spent: self.in_vain_so_far(),
        }))
    }

    /// Checks whether a conversation and its answer fit; the error has the needed and the available tokens.
    fn check_room(&self, turns: &[Turn], types: usize) -> Result<(), (u64, u64)> {
        self.context_size().check_room(&prompt::conversation_text(turns), types)
    }

    fn context_size(&self) -> ModelContextSize<'_> {
        ModelContextSize {
            rooms: self.rooms,
            ask: self.ask,
            parameters: self.parameters,
            settings: self.inputs.settings,
        }
    }

    /// Returns prompts that fit, about all of these types, beginning at a step of [`shrink`].
    pub(super) fn parts(&self, heads: &[SummaryHead], slots: &[Slot], from: usize) -> Result<Vec<Fitting>, Failure> {
        let mut last = (0, 0);
        for step in from..=shrink::LAST {
            if step > shrink::BEFORE_SPLIT && heads.len() > 1 {
                let (one, other) = heads.split_at(heads.len() / 2);
                let half = |heads: &[SummaryHead]| {
                    let about: BTreeSet<&str> = heads.iter().map(|head| type_key(&head.key)).collect();
                    self.parts(heads, &declarations_of_others(slots, &about), 0)
                };
                let mut parts = half(one)?;
                parts.extend(half(other)?);
                return Ok(parts);
            }
            let left = shrink::shrunk(slots, step);
            match self.check_room(&self.material(heads, &left).full(), heads.len()) {
                Ok(()) => {
                    return Ok(vec![Fitting {
                        heads: heads.to_vec(),
                        slots: left,
                        whole: slots.to_vec(),
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
        Err(Failure::Permanent(Box::new(
            Diagnostic::error(ErrorCode::E_CONTEXT, message).hint(hint),
        )))
    }

    /// Asks for a whole answer, in parts when it does not fit otherwise.
    pub(super) fn full(&mut self, heads: &[SummaryHead], slots: &[Slot], why: String) -> Result<AnswerInProgress, Failure> {
        (self.why, self.patch) = (why.clone(), false);
        let mut made = AnswerInProgress::new("full", why, Summaries::new());
        let lost =
            |failure: Failure, conversation: &Self| failure.after_spending(conversation.in_vain_so_far().as_ref(), &conversation.raw);
        let mut open = self.parts(heads, slots, 0).map_err(|failure| lost(failure, self))?;
        open.reverse();
        while let Some(part) = open.pop() {
            self.step = self.step.max(Some(part.step));
            let whole = part.heads.len() == heads.len();
            match if whole {
                self.one_part(&part)
            } else {
                self.filed_part(&part, open.is_empty())
            } {
                Ok(summaries) => made.summaries.extend(summaries),
                // The model has a smaller context than configured.
                Err(Failure::Permanent(diagnostic)) if diagnostic.code == ErrorCode::E_CONTEXT => {
                    let parts = self.parts(&part.heads, &part.whole, part.step + 1);
                    let mut parts = parts.map_err(|_| lost(Failure::Permanent(diagnostic), self))?;
                    parts.reverse();
                    open.extend(parts);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(made)
    }

    /// Returns the answer about some of several types: stored by an earlier try, or a new one, which is stored unless it is the last.
    fn filed_part(&mut self, part: &Fitting, last: bool) -> Result<Summaries, Failure> {
        let about: Vec<(&str, &str)> = part.heads.iter().map(|head| (head.key.as_str(), head.id.as_str())).collect();
        let name = Digest::of(prompt::conversation_text(&self.material(&part.heads, &part.slots).full()).as_bytes());
        if let Some((answer, spent)) = self.inputs.parts.find(&name) {
            let read = answer::parse_summary_answer(&String::from_utf8_lossy(&answer), &about, &self.parameters.sections);
            if read.faults.is_empty() && answer::missing_sections(&read.summaries, &about, &self.parameters.sections).is_empty() {
                self.spent.get_or_insert_default().add(&spent);
                self.filed.add(&spent);
                return Ok(read.summaries);
            }
        }
        let before = self.spent.clone().unwrap_or_default();
        let summaries = self.one_part(part)?;
        if !last {
            let spent = self.spent.clone().unwrap_or_default().less(&before);
            self.inputs.parts.store_part(&name, self.raw.as_bytes(), &spent)?;
            self.filed.add(&spent);
        }
        Ok(summaries)
    }

    /// Asks about some types, and once more if the answer is invalid.
    fn one_part(&mut self, part: &Fitting) -> Result<Summaries, Failure> {
        let turns = self.material(&part.heads, &part.slots).full();
        let about: Vec<(&str, &str)> = part.heads.iter().map(|head| (head.key.as_str(), head.id.as_str())).collect();
        let first = self.question(&turns, about.len(), &[])?;
        let faults = match self.check_answer(&first, &about) {
            Ok(summaries) => return Ok(summaries),
            Err(faults) => faults,
        };
        self.repaired = true;
        let again = self.question(
            &prompt::repair(&turns, &super::prompt_slots::cut_to_bytes(&first.text, 40_000), &faults),
            about.len(),
            &faults,
        )?;
        self.check_answer(&again, &about).map_err(|faults| {
            let shown: Vec<&str> = faults.iter().take(5).map(String::as_str).collect();
            let types: Vec<&str> = about.iter().take(5).map(|(key, _)| *key).collect();
            let more = if about.len() > types.len() { ", …" } else { "" };
            let message = format!("neither of the model's two answers is a summary of {}{more}", types.join(", "));
            let why = Diagnostic::error(ErrorCode::E_ANSWER, message)
                .found(super::prompt_slots::cut_to_bytes(&shown.join("; "), 400))
                .hint(format!(
                    "`cortex show --rejected '{}'` shows the answer; try another model, a larger max_tokens, or a clearer template",
                    self.inputs.label
                ));
            self.rejected(why)
        })
    }

    fn check_answer(&self, answer: &ModelReply, about: &[(&str, &str)]) -> Result<Summaries, Vec<String>> {
        let read = answer::parse_summary_answer(&answer.text, about, &self.parameters.sections);
        let mut faults = read.faults;
        faults.extend(answer::missing_sections(&read.summaries, about, &self.parameters.sections));
        if answer.cut {
            let most = self.parameters.answer_tokens(about.len());
            faults.insert(0, format!("it was cut off at {most} tokens; be briefer"));
        }
        if faults.is_empty() { Ok(read.summaries) } else { Err(faults) }
    }

    /// Returns a new answer that keeps the sections of the earlier one which are still right.
    pub(super) fn keep_words(
        &self,
        material: &Material<'_>,
        base: &Base,
        changes: &ChangedTexts,
        made: AnswerInProgress,
    ) -> AnswerInProgress {
        if changes.split_off.is_some() {
            return made;
        }
        let spliced = self.splice_patch(material, base, changes, &made.summaries, None);
        let same = |key: &str, name: &str| spliced.summaries.get(key).and_then(|sections| sections.get(name));
        let written = |(key, sections): (&String, &Sections)| -> Vec<(String, String)> {
            let written = sections.iter().filter(|(name, text)| same(key, name) == Some(*text));
            written.map(|(name, _)| (key.clone(), name.clone())).collect()
        };
        let answered = made.summaries.iter().flat_map(written).collect();
        let mut summaries = made.summaries;
        for (key, sections) in spliced.summaries {
            if let Some(place) = summaries.get_mut(&key) {
                place.extend(sections);
            }
        }
        AnswerInProgress {
            summaries,
            kept_sentences: spliced.kept_sentences,
            answered: Some(answered),
            ..made
        }
    }

    /// Inserts the answered sections into the earlier answer, except those that are needless. For a patch (its sections as written, and the claims
    /// that its prompt shows), the shown claims of a section are compared with its written text.
    fn splice_patch(
        &self,
        material: &Material<'_>,
        base: &Base,
        changes: &ChangedTexts,
        answered: &Summaries,
        patch: Option<(&Summaries, &Summaries)>,
    ) -> Spliced {
        let names = EvidenceNames::from_slots(material.slots);
        splice::splice(&base.summaries, answered, |key, name, old, new| {
            if base.corrected.contains(&(key.to_owned(), name.to_owned())) {
                return Some("a person wrote it");
            }
            if old == new {
                return Some("nothing is different");
            }
            if changes.split_off.is_some() {
                return None;
            }
            let shown = patch.and_then(|(_, shown)| shown.get(key)?.get(name));
            let old = shown.map_or(old, String::as_str);
            let written = patch.and_then(|(written, _)| written.get(key)?.get(name));
            let new = written.map_or(new, String::as_str);
            // A type's role follows from its declarations; summaries of its readers depend on these words.
            let is_for = name == ROLE && changes.own && !changes.whole.contains(type_key(key)) && !changes.declared.contains(type_key(key));
            let stays = || is_for && !churn_guard::rests_on_changes(old, type_key(key), changes, &names);
            // Rewording ROLE affects every reader; for other sections, only what the change reaches was asked.
            let needless = churn_guard::needless(old, new, type_key(key), changes, &names);
            let needless = needless.filter(|why| patch.is_none() || name == ROLE || *why != churn_guard::REWORDED);
            needless.or_else(|| stays().then_some("no declaration changed"))
        })
    }

    /// Replaces a patch by the earlier answer if it could change nothing, and by a whole new answer if that is cheaper.
    pub(super) fn cheapest(&self, material: &Material<'_>, base: Option<&Base>, way: AnswerPlan) -> AnswerPlan {
        match (way, base) {
            (AnswerPlan::Patch(changes, _), Some(base)) if changes.split_off.is_none() && self.is_unspoken(material, base, &changes) => {
                let what = changes.members.iter().chain(&changes.dependencies);
                let what = answer_plan::join_names(what.map(String::as_str));
                AnswerPlan::Carried(format!("no sentence rests on the change: {what}"))
            }
            (AnswerPlan::Patch(changes, _), Some(base)) if self.is_dearer(material, base, &changes) => {
                AnswerPlan::Full("a patch would be dearer than a new answer".to_owned(), Some(changes))
            }
            (way, _) => way,
        }
    }

    /// Whether a patch could change nothing.
    fn is_unspoken(&self, material: &Material<'_>, base: &Base, changes: &ChangedTexts) -> bool {
        let then = base.shown.as_deref().filter(|_| self.parameters.carry != Carry::Never);
        then.is_some_and(|then| unspoken_changes::are_unspoken(material, &base.summaries, changes, then))
    }

    /// Whether a patch would cost more than a new answer.
    fn is_dearer(&self, material: &Material<'_>, base: &Base, changes: &ChangedTexts) -> bool {
        let cost = |turns: &[Turn], output: u64| {
            let input = self.ask.count(&self.parameters.model, &prompt::conversation_text(turns)).tokens;
            let price = self.ask.price(self.inputs.settings, input, 0, output);
            // Without a price, a token of an answer counts as four tokens of a question.
            price.unwrap_or(input + 4 * output)
        };
        let types = material.heads.len() as u64;
        let patch = cost(
            &material.patch(&base.summaries, changes, &names_of_corrections(&base.corrected)),
            guessed_patch(changes),
        );
        let full = cost(
            &material.full(),
            (GUESSED_ANSWER * types).min(self.parameters.answer_tokens(material.heads.len())),
        );
        patch > full
    }

    /// Asks for a patch, and once more if it is invalid; the inner error describes the faults of the second one.
    fn read_patch(
        &mut self,
        heads: &[&SummaryHead],
        changes: &ChangedTexts,
        shown: &Summaries,
        turns: &[Turn],
    ) -> Result<Result<Option<ParsedSections>, String>, Failure> {
        let about: Vec<(&str, &str)> = heads.iter().map(|head| (head.key.as_str(), head.id.as_str())).collect();
        let split = changes.split_off.as_ref();
        let is_new = |key: &str| split.is_some() || changes.new_types.contains(key);
        let new: Vec<(&str, &str)> = about.iter().copied().filter(|(key, _)| is_new(key)).collect();
        let sections = &self.parameters.sections;
        let must = |section: &&Section| split.is_none_or(|split| split.open.contains(&section.name));
        let needed: Vec<Section> = sections.iter().filter(must).cloned().collect();
        let most = self.parameters.answer_tokens(about.len());
        let does_not_fit = || Ok(Err("the patch does not fit into the model's context".to_owned()));
        let first = match self.question(turns, about.len(), &[]) {
            Err(Failure::Permanent(diagnostic)) if diagnostic.code == ErrorCode::E_CONTEXT => return does_not_fit(),
            answer => answer?,
        };
        let faults = match patch_of(&first, (&about, &new), shown, (sections, &needed), most) {
            Ok(read) => return Ok(Ok(read)),
            Err(faults) => faults,
        };
        self.repaired = true;
        let turns = prompt::repair_patch(turns, &super::prompt_slots::cut_to_bytes(&first.text, 10_000), &faults);
        if self.check_room(&turns, about.len()).is_err() {
            return does_not_fit();
        }
        let again = match self.question(&turns, about.len(), &faults) {
            Err(Failure::Permanent(diagnostic)) if diagnostic.code == ErrorCode::E_CONTEXT => return does_not_fit(),
            answer => answer?,
        };
        let read = patch_of(&again, (&about, &new), shown, (sections, &needed), most);
        Ok(read.map_err(|faults| format!("the patch could not be put in: {}", faults.first().map_or("", String::as_str))))
    }

    /// Asks for a patch; the inner error says why a whole answer is needed instead.
    pub(super) fn patch(
        &mut self,
        material: &Material<'_>,
        base: &Base,
        changes: &ChangedTexts,
        why: String,
    ) -> Result<Result<AnswerInProgress, String>, Failure> {
        let turns = material.patch(&base.summaries, changes, &names_of_corrections(&base.corrected));
        if self.check_room(&turns, material.heads.len()).is_err() {
            return Ok(Err("the patch does not fit into the model's context".to_owned()));
        }
        (self.why, self.patch) = (why.clone(), true);
        let made = |why, summaries| AnswerInProgress {
            chain: base.chain,
            answered: Some(BTreeSet::new()),
            ..AnswerInProgress::new("patch", why, summaries)
        };
        let unshown = material.unshown(&base.summaries, changes);
        let shown = splice::without_unshown(&base.summaries, &unshown);
        let concerned = material.concerned_heads(&shown, changes);
        let read = match self.read_patch(&concerned, changes, &shown, &turns)? {
            Ok(read) => read,
            Err(why) => return Ok(Err(why)),
        };
        let Some(read) = read else {
            return Ok(Ok(made(format!("{why}; the model changes nothing"), base.summaries.clone())));
        };
        let answered = splice::with_unshown(&base.summaries, &read.summaries, &unshown);
        let mut spliced = self.splice_patch(material, base, changes, &answered, Some((&read.summaries, &shown)));
        let new = read.summaries.iter().filter(|(key, _)| changes.new_types.contains(*key));
        spliced.summaries.extend(new.map(|(key, sections)| (key.clone(), sections.clone())));
        let changed = !spliced.changed.is_empty();
        let written = read
            .summaries
            .iter()
            .flat_map(|(key, sections)| sections.keys().map(move |name| (key.clone(), name.clone())));
        Ok(Ok(AnswerInProgress {
            chain: base.chain + u64::from(changed),
            kept_sentences: spliced.kept_sentences,
            answered: Some(written.collect()),
            ..made(why, spliced.summaries)
        }))
    }
}

/// Types of a question: key and name.
type NamedTypes<'a> = &'a [(&'a str, &'a str)];

/// Parses the sections of a patch of `shown` claims. `about`: the types that it covers; `new`: those that need every section of `needed`. Returns `None`
/// if the answer changes nothing. The error lists the faults, in sentences for the model.
fn patch_of(
    answer: &ModelReply,
    (about, new): (NamedTypes<'_>, NamedTypes<'_>),
    shown: &Summaries,
    (wanted, needed): (&[Section], &[Section]),
    most: u64,
) -> Result<Option<ParsedSections>, Vec<String>> {
    if answer.cut {
        return Err(vec![format!("it was cut off at {most} tokens; be briefer")]);
    }
    if answer::is_no_change(&answer.text) && new.is_empty() {
        return Ok(None);
    }
    let mut read = answer::parse_summary_answer(&answer.text, about, wanted);
    read.faults.extend(answer::missing_sections(&read.summaries, new, needed));
    for (key, sections) in &mut read.summaries {
        for (name, text) in sections {
            let shown = shown.get(key).and_then(|sections| sections.get(name));
            match splice::expand_claims(text, shown.map_or("", String::as_str)) {
                Ok(whole) => *text = whole,
                Err(fault) => read.faults.push(fault),
            }
        }
    }
    if !read.faults.is_empty() {
        return Err(read.faults);
    }
    let mut sections = read.summaries.values().flat_map(Sections::values).peekable();
    if sections.peek().is_none() || sections.any(String::is_empty) {
        return Err(vec!["it has no section, or an empty one".to_owned()]);
    }
    Ok(Some(read))
}

/// Returns the sections that a person wrote, as prompts name them.
pub(super) fn names_of_corrections(corrected: &BTreeSet<(String, String)>) -> Vec<String> {
    corrected.iter().map(|(key, name)| format!("{name} of {key}")).collect()
}
