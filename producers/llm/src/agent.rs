//! Questions for agents: no model is called. A question waits until an agent requests it; its answer is found by a digest of the prompt.
//!
//! Waiting questions are not stored: every build finds them again, so that no question is older than the sources. [`Notes`] store only facts that
//! cannot be found again: leases and answers.

use super::agent_note::{ID_DIGITS, Notes, Refused};
use super::prepared_question::{FailedTryUsage, PreparedQuestion};
use super::replay::digest_of_turns;
use super::reply::Reply;
use super::{Count, ModelReply, Question, Turn};
use engine::seams::producer::Failure;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A question that waits for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its id: a digest of the prompt and the target.
    pub id: String,
    pub label: String,
    /// Whether the question asks for a patch only.
    pub patch: bool,
    /// The reason for the question, in one sentence.
    pub why: String,
    pub system: String,
    pub user: String,
    /// Limit of tokens of the answer.
    pub max_tokens: u64,
    /// Tokens of the question.
    pub tokens: Count,
}

/// The questions to agents in a run.
pub struct Agents {
    notes: Notes,
    waiting: Mutex<Vec<Waiting>>,
    used: Mutex<BTreeSet<String>>,
}

impl Agents {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            notes: Notes::new(root),
            waiting: Mutex::default(),
            used: Mutex::default(),
        }
    }

    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Takes the questions without an answer, in order, that were asked since the last call.
    pub fn take_waiting(&self) -> Vec<Waiting> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the ids of questions whose answers were used since the last call.
    pub fn take_used(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the answer that was handed in; otherwise the question waits. Faults of an answer create no new question: the first question waits for
    /// a better answer.
    pub(super) fn answer_or_wait(&self, prepared: &PreparedQuestion<'_>) -> Result<ModelReply, Failure> {
        let question = prepared.question;
        if question.about.label.is_empty() {
            let message = format!(
                "model '{}' is an agent, and agents are asked about targets of the graph only",
                prepared.reach.label
            );
            let why = Diagnostic::error(ErrorCode::E_AGENT, message);
            return Err(Failure::Permanent(Box::new(
                why.hint("let params.model of this producer be another model"),
            )));
        }
        let turns = match question.about.faults {
            [] => question.turns,
            _ => &question.turns[..question.turns.len().saturating_sub(2)],
        };
        let id = id_of_question(question, turns);
        let note = self.notes.read_note(&id).map_err(|error| disk(&error))?;
        if let Some(mut note) = note {
            match (note.answer.take(), question.about.faults) {
                (None, _) => {}
                (Some(given), []) => {
                    self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
                    let mut reply = Reply::new(question.max_tokens);
                    reply.append_text(&given.text);
                    reply.whole = true;
                    let usage = prepared.usage(&reply);
                    let mut answer = prepared.answer_from_reply(reply, usage, FailedTryUsage::default(), false);
                    answer.spent.agent = Some(given.agent);
                    return Ok(answer);
                }
                (Some(given), faults) => {
                    note.refused = Some(Refused {
                        times: note.refused.map_or(0, |refused| refused.times) + 1,
                        why: faults.to_vec(),
                        given,
                    });
                    self.notes.note_question(&id, &note).map_err(|error| disk(&error))?;
                }
            }
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.iter().all(|other| other.id != id) {
            let (system, user): (Vec<&Turn>, Vec<&Turn>) = turns.iter().partition(|turn| turn.role == super::Role::System);
            let all = |turns: Vec<&Turn>| turns.into_iter().map(Turn::text).collect::<Vec<_>>().join("\n\n");
            waiting.push(Waiting {
                id,
                label: question.about.label.to_owned(),
                patch: question.about.patch,
                why: question.about.why.to_owned(),
                system: all(system),
                user: all(user),
                max_tokens: question.max_tokens,
                tokens: prepared.input,
            });
        }
        Err(Failure::Awaited)
    }
}

/// Returns the id of a question. The same prompt about the same target has the same id: an answer belongs to its prompt.
fn id_of_question(question: &Question<'_>, turns: &[Turn]) -> String {
    let model = serde_json::to_string(question.model).expect("invariant: parameters have text keys");
    let text = format!(
        "cortex-question-1\0{}\0{model}\0{}\0{}",
        question.about.label,
        question.max_tokens,
        digest_of_turns(turns)
    );
    let mut id = Digest::of(text.as_bytes()).to_string();
    id.truncate(ID_DIGITS);
    id
}

fn disk(error: &std::io::Error) -> Failure {
    let message = format!("the notes of questions for agents in .cortex/work cannot be used: {error}");
    Failure::Transient(Box::new(
        Diagnostic::error(ErrorCode::E_WORK, message).hint("check the folder's permissions and the disk"),
    ))
}
