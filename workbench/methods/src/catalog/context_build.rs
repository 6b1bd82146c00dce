//! `context build`: selects the types of the workspace that a query needs.

use super::context_build_report::{ContextItem, ContextReport, LISTED, LeftOut};
use super::paging::default_number;
use super::symbols::lines_of_notes;
use super::window::root_of_workspace;
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::request_context::RequestContext;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::printable;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::llm::tokens::{load_o200k, o200k};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use workbench::checkout;
use workbench::context::attached::{Attached, WorkspaceFiles, attach, tails};
use workbench::context::comment_matches::mention_by_comments;
use workbench::context::compose_within_budget::{Material, compose};
use workbench::context::forms::Form;
use workbench::context::gather::{self, gather};
use workbench::context::index::Index;
use workbench::context::members;
use workbench::context::mentioned::{Mention, MentionedPart, mentions, mentions_among, query_words};
use workbench::context::names_with_spaces::possible_file_names;
use workbench::context::package::Package;
use workbench::context::quality::Quality;
use workbench::context::relevance_factors::{Factors, Log, WEIGHTS, figure};
use workbench::context::rounds::{ComparedQuery, Conversation, Inheritance, Round, ShownType};
use workbench::context::source_cache::IndexWithSources;
use workbench::context::stored_conversations::{Absent, Conversations, MOST};
use workbench::context::type_ranking::{Question, choose};
use workbench::context::withheld_files::WithheldFiles;
use workbench::context::withheld_files::never_send;
use workbench::symbols::answer_state::AnswerState;
use workbench::window::state::Window;

/// Show the types that a task needs, within a budget of tokens.
///
/// Members, types and files that the query names come first, then the types that fit best by words, earlier use, and nearness to chosen types and to
/// a package that the query names. In a conversation, a round takes over types from earlier rounds about the same subject. With --why each type has
/// its reason and the value of each factor.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Build {
    /// The query: a task or a question.
    // It may come from a file.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub query: String,
    /// The conversation: a handle continues it, "new" begins one and returns its handle.
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Limit of tokens of the text.
    #[arg(long, value_name = "TOKENS", default_value_t = USUAL)]
    #[serde(default = "default_number::<USUAL>")]
    pub budget: usize,
    /// Weights of factors, in place of bm25=0.4,access=0.25,recency=0.15,dependency=0.15,coverage=0.05, each from 0 to 1.
    #[arg(long, value_name = "NAME=NUMBER,…")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub weights: Option<String>,
    /// Explain why each type is shown, the value of each factor, and what is left out.
    #[arg(long)]
    #[serde(default)]
    pub why: bool,
}

/// Default budget, in tokens.
const USUAL: usize = 8_000;

/// Most omitted items that a text lists; it counts the rest.
const LEFT_OUT: usize = 10;
/// Approximate tokens of an answer around its text, without explanations.
const AROUND: usize = 60;
/// Least tokens by which the text of an over-long answer is shortened.
const LEAST_STEP: usize = 20;
/// Most drafts shortened by such steps, and most drafts in all.
const STEPS: usize = 4;
const TRIES: usize = 12;
/// After a step, a draft is good enough if at most this fraction of the budget is unused.
const GOOD: usize = 8;
/// A draft is good enough if at most this fraction of the budget is unused.
const NEAR: usize = 16;

/// Most bytes of a query.
const LONGEST: usize = 64 << 10;
/// Average tokens per chosen type: most of them are a line.
const EACH: usize = 40;
/// Minimum (if enough types match) and maximum number of chosen types.
const CHOSEN: (usize, usize) = (10, 250);

/// A context.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Built {
    /// The text, for a model to read.
    context_text: String,
    /// Shown items, the most important first. By MCP only with `why`, like the omitted and mentioned ones.
    items: Vec<ContextItem>,
    /// Number of shown types and files.
    #[serde(default)]
    shown: usize,
    /// Named or matching items that are not shown, the best first.
    left_out: Vec<LeftOut>,
    /// Total number of the omitted items.
    left_out_total: usize,
    /// Files, types and members that the query names.
    mentions: Vec<Mention>,
    /// Tokens of the text.
    tokens: usize,
    /// Maximum tokens of the text: the requested budget, or the limit of an answer.
    budget: usize,
    quality: Quality,
    /// Weights of the factors.
    weights: Factors,
    /// The conversation of this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<RoundOf>,
    /// Whether the text contains the reasons.
    #[serde(default, skip_serializing_if = "is_false")]
    explains: bool,
    state: AnswerState,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A round of a conversation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RoundOf {
    /// The handle to ask the next round with.
    id: String,
    /// The number of this round.
    round: u64,
    /// Least relevance, between 0 and 1, of an earlier round whose types were taken over.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    threshold: f32,
    /// Lifetime of the handle.
    lives: String,
}

impl Method for Build {
    const NAME: &'static str = "context build";
    const EFFECT: Effect = Effect::Acts;
    const TOOL: AsTool = AsTool::Operation;
    const WITHIN: bool = true;
    const FROM_FILE: Option<&'static str> = Some("query");
    type Answer = Built;

    /// The conversation's memory is a file with a lock of its own.
    fn reads(&self) -> bool {
        true
    }

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Built, Failed> {
        let weights = self.validated_weights()?;
        if let (Some(_), Some(_)) = (&self.conversation, desk.context.overlay()) {
            let why = Diagnostic::error(
                ErrorCode::E_OVERLAY,
                "only conversations about the workspace itself are stored, not those about an overlay",
            );
            return Err(Failed::new(Code::Usage, why.hint("leave --conversation or --overlay out")));
        }
        load_o200k();
        let names = desk.workspace_names()?;
        let known = desk.index(&names)?;
        let index = &known.index;
        let root = root_of_workspace(desk)?;
        let before = self.earlier_conversation(&root)?.unwrap_or_default();
        let (mut mentions, packages) = (self.mentions(desk, &root, index)?, Package::packages_in_text(&self.query));
        members::find_members(desk, &names.symbols, index, &mut mentions)?;
        let attached = attach_files(desk, &root, &mut mentions)?;
        mentions.iter_mut().for_each(|mention| withhold(&known, mention));
        let words = query_words(&self.query, &mentions);
        if mentions.is_empty() && !words.is_empty() && index.rank(&words).is_empty() {
            let (workspace, session) = desk.open_to_build()?;
            let world = workspace.engine.world.clone();
            let sources: Vec<String> = session.sources.files().into_iter().map(|(path, _)| path).collect();
            mentions.extend(mention_by_comments(desk, &names.symbols, &*world, &sources, &words)?);
        }
        let mut files: Vec<String> = mentions.iter().flat_map(|one| &one.files).cloned().collect();
        files.sort();
        files.dedup();
        let inheritance = before.inheritance(&ComparedQuery::new(&self.query, &files));
        let inputs = AnswerInputs {
            names,
            known,
            mentions,
            packages,
            attached,
            words,
            log: log(&root, &before),
            inheritance,
            weights,
        };
        let ComposedAnswer { mut answer, round } = self.in_room(desk, &inputs)?;
        if let Some(id) = &self.conversation {
            let (id, round) = write_round(&root, id, Round { files, ..round })?;
            answer.conversation = Some(RoundOf {
                id,
                round,
                threshold: inputs.inheritance.threshold,
                lives: format!("until {MOST} other conversations of this checkout were used after it"),
            });
        }
        Ok(answer)
    }

    fn text(answer: &Built) -> String {
        answer.whole_text(answer.explains)
    }
}

impl Built {
    /// Returns the whole answer as text, with or without reasons.
    fn whole_text(&self, explains: bool) -> String {
        let mut text = self.context_text.clone();
        if explains {
            text.push_str(&self.reasons());
        } else if self.left_out_total > 0 {
            text.push_str(&format!(
                "{} shown, {} left out: `why` (`--why`) gives the reasons\n",
                self.shown, self.left_out_total
            ));
        }
        if let Some(round) = &self.conversation {
            text.push_str(&format!(
                "conversation {}: round {}, lives {}\n",
                round.id, round.round, round.lives
            ));
        }
        printable(&format!("{text}{}", lines_of_notes(&self.state)))
    }

    /// Returns the reasons for each type, and the omitted ones.
    fn reasons(&self) -> String {
        let mut text = "── why ──\n".to_owned();
        for item in &self.items {
            let gave = Factors::NAMES.iter().zip(item.gave.all()).filter(|(_, gave)| *gave > 0.0);
            let gave: Vec<String> = gave.map(|(name, gave)| format!("{name} {gave:.2}")).collect();
            let gave = if gave.is_empty() {
                String::new()
            } else {
                format!(" ({})", gave.join(", "))
            };
            text.push_str(&format!("{:.2} {}: {}{gave}\n", item.score, item.path, item.why));
        }
        for left in self.left_out.iter().take(LEFT_OUT) {
            text.push_str(&format!("left out {:.2} {}: {}\n", left.score, left.path, left.why));
        }
        let more = self.left_out_total - self.left_out.len().min(LEFT_OUT);
        if more > 0 {
            text.push_str(&format!("left out: {more} more; --json lists them\n"));
        }
        text
    }

    /// Returns the tokens of the sent answer. A program that requests data without a budget passes only the context's text to a model.
    fn tokens_sent(&self, context: &RequestContext) -> Result<usize, Failed> {
        let room = context.room();
        match room.is_some_and(|room| room.sends_data) {
            true => serde_json::to_string(self)
                .map(|data| o200k(&data))
                .map_err(|error| Failed::bug(&error)),
            false => {
                // The reasons for a person do not count: the context is the same with and without.
                Ok(o200k(&self.whole_text(self.explains && room.is_some())))
            }
        }
    }

    /// Drops the parts that only explain.
    fn without_reasons(mut self) -> Self {
        self.items.clear();
        self.left_out.clear();
        self.mentions.clear();
        self
    }
}

impl Build {
    /// Validates the arguments; returns the weights of the factors.
    fn validated_weights(&self) -> Result<Factors, Failed> {
        let wrong = |message: &str, hint: &str| Failed::new(Code::Usage, Diagnostic::error(ErrorCode::E_PARAM, message).hint(hint));
        if self.query.trim().is_empty() {
            return Err(wrong(
                "the query is empty",
                "describe what you want to know or do with --query, or in a file with --file",
            ));
        }
        if self.query.len() > LONGEST {
            return Err(wrong(
                "the query is longer than 64 KiB",
                "give the task in fewer words; files can be named in it",
            ));
        }
        let Some(text) = &self.weights else { return Ok(WEIGHTS) };
        Factors::parse(text).map_err(|why| wrong(&format!("weights: {why}"), "write weights as bm25=0.6,access=0"))
    }

    /// Returns the mentions of the query. Opens the workspace only if a mention may be a file without types.
    fn mentions(&self, desk: &mut Desk<'_>, root: &Path, index: &Index) -> Result<Vec<Mention>, Failed> {
        let found = mentions(&self.query, index);
        if !found.iter().any(Mention::may_be_file) {
            return Ok(found);
        }
        let (_, session) = desk.open_to_build()?;
        let sources: Vec<String> = session.sources.files().into_iter().map(|(path, _)| path).collect();
        let names = possible_file_names(&self.query).into_iter().map(|name| name.replace('\\', "/"));
        let is_there = |name: String| Some(tails(&name).find(|tail| root.join(tail).is_file())?.to_owned());
        let others: Vec<String> = names.filter_map(is_there).collect();
        let there = sources.iter().chain(&others).map(String::as_str);
        Ok(mentions_among(&self.query, index, there))
    }

    /// Returns the conversation so far; `None` for none or a new one.
    fn earlier_conversation(&self, root: &Path) -> Result<Option<Conversation>, Failed> {
        match self.conversation.as_deref() {
            None | Some(NEW) => Ok(None),
            Some(id) => {
                let all = Conversations::from_file(root).map_err(|error| conversation_not_stored(&error))?;
                Ok(Some(all.find(id).map_err(|why| absent(id, why))?.clone()))
            }
        }
    }

    /// Finds the longest answer whose sent form fits the budget and the answer's limit.
    fn in_room(&self, desk: &mut Desk<'_>, inputs: &AnswerInputs) -> Result<ComposedAnswer, Failed> {
        let room = desk.context.room();
        let most = room.map_or(self.budget, |room| room.most.min(self.budget));
        let mut within = |budget: usize| -> Result<(ComposedAnswer, usize), Failed> {
            let mut draft = self.compose_answer(desk, inputs, budget)?;
            if most < self.budget {
                let why = format!(
                    "the budget is cut from {} to {most} tokens: an answer here has no room for more",
                    self.budget
                );
                draft.answer.state = draft.answer.state.lacking(&[why]);
            }
            if room.is_some_and(|room| room.sends_data) && !self.why {
                draft.answer = draft.answer.without_reasons();
            }
            draft.answer.budget = most;
            let sent = draft.answer.tokens_sent(desk.context)?;
            Ok((draft, sent))
        };
        // The answer's other parts are about equally long for any text, so one step back mostly suffices. If they grow, because a shorter text omits
        // more, bisect.
        let mut budget = most - AROUND.min(most / 8);
        let (mut best, mut least, mut over) = (None, 0, budget + 1);
        for at in 0..TRIES {
            let (draft, sent) = within(budget)?;
            if sent <= most {
                (best, least) = (Some(draft), budget);
            } else {
                over = budget;
            }
            let is_good = at < STEPS && sent <= most && sent >= most - most / GOOD;
            if is_good || over - least <= LEAST_STEP.max(most / NEAR) {
                break;
            }
            // Explanations of what is shown may be longer than the text: a step is at most three quarters.
            budget = match best.is_none() && at < STEPS - 1 {
                true => budget.saturating_sub((sent - most).max(LEAST_STEP)).max(budget / 4),
                false => usize::midpoint(least, over),
            };
        }
        match best {
            Some(draft) => Ok(draft),
            // The named items alone are too long: nothing is shown, nor recorded as shown.
            None => match within(0)? {
                (draft, sent) if sent <= most => Ok(draft),
                (_, sent) => {
                    let message = format!("a budget of {most} tokens is too small: without any code, the answer has {sent}");
                    let why = Diagnostic::error(ErrorCode::E_PARAM, message);
                    Err(Failed::new(Code::Usage, why.hint("ask with a budget of some thousand tokens")))
                }
            },
        }
    }

    /// Composes the answer for a budget, and its round; stores nothing.
    fn compose_answer(&self, desk: &mut Desk<'_>, inputs: &AnswerInputs, budget: usize) -> Result<ComposedAnswer, Failed> {
        let index = &inputs.known.index;
        let question = inputs.question();
        let most = (self.budget / EACH).clamp(CHOSEN.0, CHOSEN.1);
        let choice = choose(&question, most, budget / 4, LISTED);
        let wanted = gather::GatherRequest {
            chosen: &choice.chosen,
            mentions: &inputs.mentions,
            words: &inputs.words,
        };
        let texts = gather(desk, &inputs.known, wanted, budget)?;
        let others: Vec<String> = choice.others.iter().map(|(at, ..)| index.key(*at).to_owned()).collect();
        let material = Material {
            chosen: &choice.chosen,
            texts: &texts,
            files: &inputs.attached,
            others: &others,
        };
        let made = compose(&self.query, material, budget, &o200k);
        let quality = Quality::from_composed(index, &inputs.words, &inputs.log, &choice.chosen, &texts, &made);
        let report = ContextReport {
            question: &question,
            choice: &choice,
            texts: &texts,
            attached: &inputs.attached,
            made: &made,
            budget,
        };
        let items = report.items();
        let (left_out, left_out_total) = report.left_out(most);
        let state = report.completeness(&inputs.names, &items, left_out_total);
        let round = self.round(&report);
        let answer = Built {
            state,
            shown: items.len(),
            explains: self.why,
            items,
            left_out,
            left_out_total,
            mentions: inputs.mentions.clone(),
            tokens: made.tokens,
            context_text: made.text,
            budget,
            quality,
            weights: inputs.weights,
            conversation: None,
        };
        Ok(ComposedAnswer { answer, round })
    }

    fn round(&self, report: &ContextReport<'_>) -> Round {
        let (mut inherited, mut new) = (Vec::new(), Vec::new());
        // A line is only a pointer and does not count as shown.
        for placed in report.made.placed.iter().filter(|placed| placed.form != Form::Line) {
            let chosen = &report.choice.chosen[placed.at];
            let shown = ShownType {
                path: report.question.index.key(chosen.at).to_owned(),
                score: chosen.score,
            };
            if chosen.inherited.is_some() {
                inherited.push(shown)
            } else {
                new.push(shown)
            }
        }
        Round {
            query: self.query.clone(),
            types: report.question.mentions.iter().flat_map(|one| one.types.clone()).collect(),
            inherited,
            new,
            ..Round::default()
        }
    }
}

/// Inputs of an answer that do not depend on its length.
struct AnswerInputs {
    names: WorkspaceNames,
    known: Arc<IndexWithSources>,
    mentions: Vec<Mention>,
    packages: Vec<Package>,
    attached: Vec<Attached>,
    words: Vec<String>,
    log: Log,
    inheritance: Inheritance,
    weights: Factors,
}

impl AnswerInputs {
    fn question(&self) -> Question<'_> {
        Question {
            index: &self.known.index,
            secrets: &self.known.secrets,
            words: &self.words,
            mentions: &self.mentions,
            packages: &self.packages,
            log: &self.log,
            inheritance: &self.inheritance,
            weights: &self.weights,
        }
    }
}

/// An answer, and its round to store if it is sent.
struct ComposedAnswer {
    answer: Built,
    round: Round,
}

/// Removes from a mention the types that must not be sent to a model, with the reason.
fn withhold(known: &IndexWithSources, mention: &mut Mention) {
    let why = |path: &str| known.secrets.reason_to_hide(&known.index, known.index.find(path)?);
    let secret = mention.types.iter().find_map(|key| why(key));
    if let Some(secret) = secret {
        mention.types.retain(|key| why(key).is_none());
        mention.members.retain(|path| why(path).is_none());
        mention.not_shown = Some(secret.to_string());
    }
}

/// Name that starts a conversation.
const NEW: &str = "new";

/// Stores a round; returns the handle and the number of the round.
fn write_round(root: &Path, id: &str, round: Round) -> Result<(String, u64), Failed> {
    let added = Conversations::change(root, |all| {
        let conversation = if id == NEW {
            all.start_conversation()
        } else {
            all.continue_conversation(id)?
        };
        let number = conversation.add_round(round);
        Ok((conversation.id.clone(), number))
    });
    added
        .map_err(|error| conversation_not_stored(&error))?
        .map_err(|why| absent(id, why))
}

pub(super) fn absent(id: &str, why: Absent) -> Failed {
    let message = match why {
        Absent::Unknown => "there is no conversation of this handle".to_owned(),
        Absent::Expired => format!("this conversation has expired: {MOST} others were used since"),
    };
    let why = Diagnostic::error(ErrorCode::E_CONVERSATION, message).found(id.chars().take(120).collect::<String>());
    Failed::new(
        Code::Usage,
        why.hint("start one with `conversation` new (`--conversation new`), and continue with its handle"),
    )
}

pub(super) fn conversation_not_stored(error: &std::io::Error) -> Failed {
    let damaged = "check .cortex; a damaged conversations.json can be moved away, or ask without --conversation";
    Failed::new(Code::Io, checkout::trouble("the conversation", error, damaged))
}

/// Returns the usage log: this conversation, and the recent views in the checkout.
fn log(root: &Path, conversation: &Conversation) -> Log {
    let mut log = Log::default();
    // `window show` reports an unreadable window.
    let window = Window::read_window(root).unwrap_or_default();
    for (place, recent) in window.recent.iter().enumerate() {
        log.record_view(&recent.path, place);
    }
    for (path, seen) in &conversation.seen {
        let ago = conversation.count.saturating_sub(seen.last);
        log.record_shown(path, seen.times, ago);
    }
    log
}

/// Returns the named files without types, and named lines outside of every type.
fn attach_files(desk: &mut Desk<'_>, root: &Path, mentions: &mut Vec<Mention>) -> Result<Vec<Attached>, Failed> {
    let names_some = |mention: &Mention| matches!(mention.wanted, MentionedPart::File(_)) || !mention.outside.is_empty();
    if !mentions.iter().any(names_some) {
        return Ok(Vec::new());
    }
    let store = desk.context.store_folder();
    let (workspace, session) = desk.open_to_build()?;
    let place = WorkspaceFiles {
        root,
        store: store.as_deref(),
        world: &*workspace.engine.world,
        withheld: &WithheldFiles::new(root, &never_send(session)),
        sources: &|| session.sources.files().into_iter().map(|(path, _)| path).collect(),
    };
    Ok(attach(mentions, place))
}
