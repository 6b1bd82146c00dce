//! `work next`: gives questions to an agent.

use super::work::{self, Scope, form, kind_of_question, or_note_failure};
use super::{AsTool, Effect, Method};
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{format_count, printable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::agent_questions::{LONGEST_LEASE, LeaseRequest, LeasedQuestion, holder, lease_questions};
use workbench::symbols::answer_state::AnswerState;

/// Most questions per call.
const MOST: u64 = 100;

/// Lease the next prompts that wait for an agent.
///
/// Free targets are brought up to date first. The agent leases the prompts for a while; `work submit` takes the answers.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Next {
    /// Number of prompts, up to 100.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=MOST))]
    pub count: u64,
    /// The scope: only what these types, labels or patterns need.
    #[command(flatten)]
    #[schemars(with = "Vec<String>")]
    #[schemars(extend("x-tool" = false))]
    pub scope: Scope,
    /// Your name. Other agents do not get the questions that you lease, and you get them again.
    #[arg(long, value_name = "NAME", default_value = "")]
    #[schemars(extend("x-tool" = false))]
    pub agent: String,
    /// Duration of the lease, in minutes.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=LONGEST_LEASE / 60))]
    #[schemars(extend("x-tool" = false))]
    pub minutes: u64,
}

impl Default for Next {
    fn default() -> Self {
        Self {
            count: 1,
            scope: Scope::default(),
            agent: String::new(),
            minutes: 30,
        }
    }
}

/// Leased questions, and the numbers of the others.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Questions {
    questions: Vec<Question>,
    /// Number of questions that wait for an answer, including these.
    waiting: usize,
    /// Number of waiting questions that other agents lease.
    taken: usize,
    state: AnswerState,
}

/// A question.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Question {
    /// Its name, for `work submit`.
    id: String,
    /// Label of the target that the answer belongs to.
    label: String,
    /// `new`, or `patch` if only the changes of an earlier answer are requested.
    kind: String,
    /// The reason for the question.
    why: String,
    /// The system prompt.
    system: String,
    /// The prompt.
    user: String,
    /// Required form of the answer.
    form: String,
    /// Approximate number of tokens of the prompt.
    tokens: u64,
    /// Maximum tokens of the answer.
    max_tokens: u64,
    /// End of your lease, in seconds since 1970.
    until: u64,
    /// Number of refused answers.
    refused: u32,
    /// Faults of the last refused answer.
    faults: Vec<String>,
}

impl Method for Next {
    const NAME: &'static str = "work next";
    const EFFECT: Effect = Effect::Acts;
    const TOOL: AsTool = AsTool::Own;
    type Answer = Questions;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Questions, Failed> {
        let agent = work::checked_agent_name(&self.agent)?;
        work::check_range("count", self.count, MOST)?;
        work::check_range("minutes", self.minutes, LONGEST_LEASE / 60)?;
        let round = work::round_of_scope(desk, &self.scope.0)?;
        let (workspace, session) = desk.open_to_build()?;
        let notes = workspace.asking.agents().notes();
        let now = session.engine.world.now_secs();
        or_note_failure(notes.prune(std::time::UNIX_EPOCH + std::time::Duration::from_secs(now)))?;
        let request = LeaseRequest {
            agent,
            count: usize::try_from(self.count).unwrap_or(1),
            seconds: self.minutes * 60,
            now,
        };
        let given = or_note_failure(lease_questions(notes, &round.waiting, request))?;
        let mut taken = 0;
        for other in &round.waiting {
            let is_given = given.iter().any(|given| given.question.id == other.id);
            let note = or_note_failure(notes.read_note(&other.id))?;
            taken += usize::from(!is_given && note.is_some_and(|note| holder(&note, now).is_some()));
        }
        // A prompt about a file that does not parse may be incomplete.
        let mut state = AnswerState::default().of_workspace(&*desk.flaws()?);
        if given.is_empty() {
            state.notes.push(match round.waiting.len() {
                0 => "no question of the scope waits for an answer".to_owned(),
                _ => "all waiting questions are leased to other agents".to_owned(),
            });
        }
        Ok(Questions {
            questions: given.into_iter().map(question).collect(),
            waiting: round.waiting.len(),
            taken,
            state,
        })
    }

    fn text(answer: &Questions) -> String {
        let mut text = String::new();
        for one in &answer.questions {
            text.push_str(&format!("question {} {} {} ({})\n", one.id, one.kind, one.label, one.why));
            text.push_str(&format!("answer   {}; then: cortex work submit {} --file FILE\n", one.form, one.id));
            if one.refused > 0 {
                text.push_str(&format!(
                    "refused  {} before, the last because: {}\n",
                    one.refused,
                    one.faults.join("; ")
                ));
            }
            text.push_str(&format!("── system ──\n{}\n\n── user ──\n{}\n\n", one.system, one.user.trim_end()));
        }
        let waiting = match answer.waiting {
            0 => "nothing waits for an answer".to_owned(),
            1 => "1 question waits".to_owned(),
            number => format!("{} questions wait", format_count(number as u64)),
        };
        let taken = match answer.taken {
            0 => String::new(),
            taken => format!(", {} of them with others", format_count(taken as u64)),
        };
        printable(&(text + &format!("{waiting}{taken}\n")))
    }
}

fn question(taken: LeasedQuestion) -> Question {
    let LeasedQuestion { question, until, refused } = taken;
    Question {
        form: form(&question),
        kind: kind_of_question(question.patch).to_owned(),
        id: question.id,
        label: question.label,
        why: question.why,
        system: question.system,
        user: question.user,
        tokens: question.tokens.tokens,
        max_tokens: question.max_tokens,
        until,
        refused: refused.as_ref().map_or(0, |refused| refused.times),
        faults: refused.map(|refused| refused.why).unwrap_or_default(),
    }
}
