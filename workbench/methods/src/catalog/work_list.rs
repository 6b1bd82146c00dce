//! `work list`: progress of the agents.

use super::work::{self, Scope, kind_of_question, or_note_failure};
use super::{Effect, Method};
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{format_count, plural, printable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workbench::agent_questions::holder;
use workbench::symbols::answer_state::AnswerState;

/// Most questions listed.
const LISTED: usize = 100;

/// List the questions for agents, their leases, and the progress.
#[derive(Debug, Default, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct List {
    /// Only what these types, labels or patterns need.
    #[command(flatten)]
    #[schemars(with = "Vec<String>")]
    pub scope: Scope,
}

/// Progress of the agents.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Number of requested targets.
    targets: usize,
    /// Number of requested targets that are answered and current.
    done: usize,
    /// Number of requested targets that wait for other answers.
    later: usize,
    /// Number of questions that can be answered now.
    waiting: usize,
    /// Number of waiting questions that agents lease.
    taken: usize,
    /// The first hundred questions.
    questions: Vec<QuestionLine>,
    state: AnswerState,
}

/// A question.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct QuestionLine {
    id: String,
    label: String,
    /// `new` or `patch`.
    kind: String,
    /// Name of the agent that leases it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Number of refused answers.
    refused: u32,
}

impl Method for List {
    const NAME: &'static str = "work list";
    const EFFECT: Effect = Effect::Reads;
    type Answer = Listed;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Listed, Failed> {
        let round = work::round_of_scope(desk, &self.scope.0)?;
        let (workspace, session) = desk.open_to_build()?;
        let notes = workspace.asking.agents().notes();
        let now = session.engine.world.now_secs();
        let roots = &round.report.roots;
        let labels: BTreeSet<&str> = round.waiting.iter().map(|question| question.label.as_str()).collect();
        let open = roots.iter().filter(|root| root.output.is_none());
        let mut listed = Listed {
            targets: roots.len(),
            done: roots.iter().filter(|root| root.output.is_some()).count(),
            later: open.filter(|root| !labels.contains(&*root.label)).count(),
            waiting: round.waiting.len(),
            taken: 0,
            questions: Vec::new(),
            state: AnswerState::default(),
        };
        for question in &round.waiting {
            let note = or_note_failure(notes.read_note(&question.id))?;
            let lease = note.as_ref().and_then(|note| holder(note, now));
            listed.taken += usize::from(lease.is_some());
            if listed.questions.len() < LISTED {
                listed.questions.push(QuestionLine {
                    id: question.id.clone(),
                    label: question.label.clone(),
                    kind: kind_of_question(question.patch).to_owned(),
                    agent: lease.map(|lease| lease.agent.clone()),
                    refused: work::refusals(note.as_ref()).0,
                });
            }
        }
        if roots.is_empty() {
            listed
                .state
                .notes
                .push("the scope means no target that an agent answers".to_owned());
        }
        let (shown, waiting) = (listed.questions.len(), listed.waiting);
        listed.state = listed
            .state
            .of_workspace(&*desk.flaws()?)
            .cut(shown, waiting, "narrow the scope, or answer these first");
        Ok(listed)
    }

    fn text(answer: &Listed) -> String {
        let number = |number: usize| format_count(number as u64);
        let taken = match answer.taken {
            0 => String::new(),
            taken => format!(" ({} of them with an agent)", number(taken)),
        };
        let mut text = format!(
            "{}: {} answered, {} wait{taken}, {} later\n",
            plural(answer.targets as u64, "target"),
            number(answer.done),
            number(answer.waiting),
            number(answer.later)
        );
        for line in &answer.questions {
            let agent = match line.agent.as_deref() {
                None => String::new(),
                Some("") => ", taken".to_owned(),
                Some(agent) => format!(", with {agent}"),
            };
            let refused = match line.refused {
                0 => String::new(),
                times => format!(", {times} refused"),
            };
            text.push_str(&format!("  {} {} {}{agent}{refused}\n", line.id, line.kind, line.label));
        }
        if answer.waiting > answer.questions.len() {
            text.push_str(&format!("  … {} more\n", number(answer.waiting - answer.questions.len())));
        }
        printable(&text)
    }
}
