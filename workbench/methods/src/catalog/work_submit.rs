//! `work submit`: takes the answer of an agent.

use super::work::{self, Round, kind_of_question, or_note_failure};
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::printable;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::llm::{Note, SubmittedAnswer, Waiting, is_id};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::agent_questions::{Handed, TypeGraph, changed_lines, hand_in};

/// Longest answer, in bytes.
const LONGEST: usize = 1 << 20;

/// Submit the answer to a prompt of `work next`.
///
/// The answer is checked like that of a model: faults are reported, and the question waits for a better answer.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Submit {
    /// Name of the question.
    pub id: String,
    /// The answer.
    #[serde(default)]
    #[arg(default_value = "", hide_default_value = true)]
    pub answer: String,
    /// The agent: your name, for the history.
    #[arg(long, value_name = "NAME", default_value = "")]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub agent: String,
}

/// Result of submitting an answer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubmitResult {
    id: String,
    label: String,
    /// `filed`; `before` if the target already had an answer; `part` if the target has more questions.
    status: String,
    /// Questions that this answer made possible.
    next: Vec<Possible>,
}

/// A question that became possible.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Possible {
    id: String,
    label: String,
    /// `new` or `patch`.
    kind: String,
}

impl Method for Submit {
    const NAME: &'static str = "work submit";
    const EFFECT: Effect = Effect::Acts;
    const TOOL: AsTool = AsTool::Own;
    const FROM_FILE: Option<&'static str> = Some("answer");
    type Answer = SubmitResult;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<SubmitResult, Failed> {
        let agent = work::checked_agent_name(&self.agent)?;
        let wrong = |why: &str, hint: &str| Failed::new(Code::Usage, Diagnostic::error(ErrorCode::E_PARAM, why).hint(hint));
        if self.answer.trim().is_empty() {
            let hint = "give it as the second argument, or with --file FILE (- for standard input)";
            return Err(wrong("there is no answer", hint));
        }
        if self.answer.len() > LONGEST {
            return Err(wrong(
                "the answer is longer than 1 MiB",
                "keep to the tokens that the question allows",
            ));
        }
        if !is_id(&self.id) {
            return Err(wrong(
                "this is not the name of a question",
                "`cortex work next` names questions: 16 hexadecimal digits",
            ));
        }
        work::open_for_agents(desk)?;
        let (workspace, session) = desk.open_to_build()?;
        let notes = workspace.asking.agents().notes();
        let given = SubmittedAnswer {
            agent: agent.to_owned(),
            at: session.engine.world.now_secs(),
            text: self.answer.clone(),
        };
        let (note, ours) = match or_note_failure(hand_in(notes, &self.id, given))? {
            Handed::Unknown => {
                let why = Diagnostic::error(ErrorCode::E_NO_QUESTION, format!("no question {} was handed out here", self.id));
                return Err(Failed::new(Code::Usage, why.hint("`cortex work next` gives one that waits now")));
            }
            Handed::Noted(note) => (note, true),
            Handed::Before(note) => (note, false),
        };
        let round = work::round(desk, std::slice::from_ref(&note.label))?;
        self.outcome_of_submission(desk, &note, ours, round)
    }

    fn text(answer: &SubmitResult) -> String {
        let mut text = match answer.status.as_str() {
            "before" => format!("{} had an answer already\n", answer.label),
            "part" => format!("{}: taken; there is more to answer about it\n", answer.label),
            _ => format!("{}: filed\n", answer.label),
        };
        for one in &answer.next {
            text.push_str(&format!("waits now: {} {} {}\n", one.id, one.kind, one.label));
        }
        printable(&text)
    }
}

impl Submit {
    fn outcome_of_submission(&self, desk: &mut Desk<'_>, note: &Note, ours: bool, round: Round) -> Result<SubmitResult, Failed> {
        let label = note.label.clone();
        let about = |code: ErrorCode, why: String| Diagnostic::error(code, why).label(&label);
        let (workspace, _) = desk.open_to_build()?;
        let notes = workspace.asking.agents().notes();
        let now = or_note_failure(notes.read_note(&self.id))?;
        let (refused, faults) = work::refusals(now.as_ref());
        if refused > work::refusals(Some(note)).0 {
            let why = about(ErrorCode::E_ANSWER, format!("the answer cannot be used: {}", faults.join("; ")));
            let hint = format!(
                "the question waits: submit a better answer under {} ({refused} refused so far)",
                self.id
            );
            return Err(Failed::new(Code::TargetFailed, why.hint(hint)));
        }
        let used = round.used.contains(&self.id);
        let more = round.waiting.iter().find(|other| other.label == label);
        if let (true, true, Some(whole)) = (used, note.patch, more.filter(|more| !more.patch)) {
            let why = about(ErrorCode::E_ANSWER, whole.why.clone());
            let hint = format!(
                "a whole answer is wanted now, under {}: `cortex work next --scope '{label}'`",
                whole.id
            );
            return Err(Failed::new(Code::TargetFailed, why.hint(hint)));
        }
        let status = match (used, more.is_some()) {
            (true, false) if round.has_output(&label) && ours => "filed",
            (true, true) => "part",
            (_, false) if round.has_output(&label) => "before",
            _ => return Err(self.stale(note, &round)),
        };
        Ok(SubmitResult {
            id: self.id.clone(),
            status: status.to_owned(),
            next: self.opened_questions(desk, &label)?,
            label,
        })
    }

    /// Returns the failure for a question that is no longer open.
    fn stale(&self, note: &Note, round: &Round) -> Failed {
        let label = &note.label;
        let (why, found) = match round.waiting.iter().find(|other| other.label == *label) {
            Some(other) => {
                let why = format!("the question changed while it was answered; its id is now {}", other.id);
                (why, Some(changed_lines(&note.asked, &other.user)))
            }
            None if !round.report.refused.is_empty() => ("this target no longer exists".to_owned(), None),
            None if round.report.tally.skipped > 0 => (
                "a question that it depends on changed and has to be answered first".to_owned(),
                None,
            ),
            None => ("it is no longer asked".to_owned(), None),
        };
        let mut why = Diagnostic::error(ErrorCode::E_MOVED, why).label(label);
        why.found = found;
        Failed::new(
            Code::TargetFailed,
            why.hint(
                "the answer is kept in .cortex/work and used if the same question is asked again; `cortex work next` gives the present question",
            ),
        )
    }

    /// Returns the questions that open because a target has its answer.
    fn opened_questions(&self, desk: &mut Desk<'_>, label: &str) -> Result<Vec<Possible>, Failed> {
        let (_, session) = desk.open_to_build()?;
        let readers: Vec<String> = TypeGraph::from_session(session)?.readers(label).into_iter().collect();
        let round = work::round(desk, &readers)?;
        let possible = |question: Waiting| Possible {
            kind: kind_of_question(question.patch).to_owned(),
            id: question.id,
            label: question.label,
        };
        Ok(round
            .waiting
            .into_iter()
            .filter(|question| readers.contains(&question.label))
            .map(possible)
            .collect())
    }
}
