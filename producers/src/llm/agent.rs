//! Questions for agents: nobody is called. A question waits until an agent comes for it; its answer is found by the words that were asked.
//!
//! What waits is not written down: every build finds it anew, so that no question is older than the sources. Only what cannot be found anew
//! is noted ([`Notes`]): who works at a question, and what was answered.

use super::agent_note::{Notes, Refused};
use super::replay::digest;
use super::reply::Reply;
use super::runtime::{PreparedQuestion, Vain};
use super::{Answer, Count, Question, Turn};
use engine::seams::producer::Failure;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Hex digits of a question's name.
pub const ID_DIGITS: usize = 16;

/// A question that waits for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Names it: a digest of what is asked about which target.
    pub id: String,
    /// The target.
    pub label: String,
    /// Whether only what changes is asked for.
    pub patch: bool,
    /// Why it is asked, one sentence.
    pub why: String,
    /// The rules.
    pub system: String,
    /// What is asked.
    pub user: String,
    /// Most tokens that the answer may have.
    pub max_tokens: u64,
    /// Tokens of the question.
    pub tokens: Count,
}

/// What agents are asked in a run.
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

    /// What is noted of questions.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// What was asked since this was last called and has no answer, in the order of asking.
    pub fn take_waiting(&self) -> Vec<Waiting> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Names of questions whose answers were used since this was last called.
    pub fn take_used(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The answer that was handed in; else the question waits. What is wrong with an answer makes no question of its own: the first one waits
    /// for a better answer.
    pub(super) fn ask(&self, asked: &PreparedQuestion<'_>) -> Result<Answer, Failure> {
        let question = asked.question;
        if question.about.label.is_empty() {
            let message = format!(
                "model '{}' is an agent, and agents are asked about targets of the graph only",
                asked.reach.label
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
        let id = id(question, turns);
        let note = self.notes.read(&id).map_err(|error| disk(&error))?;
        if let Some(mut note) = note {
            match (note.answer.take(), question.about.faults) {
                (None, _) => {}
                (Some(given), []) => {
                    self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
                    let mut reply = Reply::new(question.max_tokens);
                    reply.push(&given.text);
                    reply.whole = true;
                    let usage = asked.usage(&reply);
                    let mut answer = asked.answer(reply, usage, Vain::default(), false);
                    answer.spent.agent = Some(given.agent);
                    return Ok(answer);
                }
                (Some(given), faults) => {
                    note.refused = Some(Refused {
                        times: note.refused.map_or(0, |refused| refused.times) + 1,
                        why: faults.to_vec(),
                        given,
                    });
                    self.notes.write(&id, &note).map_err(|error| disk(&error))?;
                }
            }
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.iter().all(|other| other.id != id) {
            let said = |turn: &Turn| turn.parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n");
            let (system, user): (Vec<&Turn>, Vec<&Turn>) = turns.iter().partition(|turn| turn.role == super::Role::System);
            let all = |turns: Vec<&Turn>| turns.into_iter().map(said).collect::<Vec<_>>().join("\n\n");
            waiting.push(Waiting {
                id,
                label: question.about.label.to_owned(),
                patch: question.about.patch,
                why: question.about.why.to_owned(),
                system: all(system),
                user: all(user),
                max_tokens: question.max_tokens,
                tokens: asked.input,
            });
        }
        Err(Failure::Awaited)
    }
}

/// The same words about the same target have the same name, whatever else moved: an answer is to what was asked.
fn id(question: &Question<'_>, turns: &[Turn]) -> String {
    let model = serde_json::to_string(question.model).expect("invariant: parameters have text keys");
    let text = format!(
        "cortex-question-1\0{}\0{model}\0{}\0{}",
        question.about.label,
        question.max_tokens,
        digest(turns)
    );
    let mut id = Digest::of(text.as_bytes()).to_string();
    id.truncate(ID_DIGITS);
    id
}

fn disk(error: &std::io::Error) -> Failure {
    let message = format!("the notes of questions for agents in .cortex/work cannot be used: {error}");
    Failure::Transient(Box::new(
        Diagnostic::error(ErrorCode::E_WORK, message).hint("look at the folder's rights and the disk"),
    ))
}
