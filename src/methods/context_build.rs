//! `context build`: what a reader should see of the workspace to answer a query.

use super::investigate::never_send;
use super::symbols::{Names, notes};
use super::window::root;
use super::{AsTool, Effect, Method};
use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use crate::render::printable;
use engine::values::diagnostic::Diagnostic;
use producers::llm::tokens::o200k;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use workbench::checkout;
use workbench::context::attached::{Attached, Fitted, Place, attach, tails};
use workbench::context::choose::{Choice, Chosen, Question, choose};
use workbench::context::compose::{Composed, Material, Placed, compose};
use workbench::context::forms::{Form, Texts};
use workbench::context::gather::gather;
use workbench::context::index::Index;
use workbench::context::kept::{Absent, Conversations, MOST};
use workbench::context::members;
use workbench::context::mentioned::{Mention, Wanted, asked, mentions, mentions_among};
use workbench::context::package::{Grade, Package};
use workbench::context::quality::Quality;
use workbench::context::relevance::{Factors, Log, WEIGHTS};
use workbench::context::rounds::{Asked, Conversation, Inheritance, Inherited, Round, Shown};
use workbench::context::spaced::possible;
use workbench::symbols::state::State;
use workbench::window::state::Window;

/// Show the types that belong to a task, within a budget of tokens.
///
/// Members, types and files that the query names come first, then what fits best by words, by earlier use, by nearness to what is chosen and
/// to a package that the query names. In a conversation earlier rounds leave types to later ones that ask about the same. Each type says why
/// it is there and what each factor gave.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Build {
    /// The query: a task or a question.
    // It may come from a file.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub query: String,
    /// The conversation: its handle goes on with it, "new" begins one and is given a handle.
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Tokens of the text at most.
    #[arg(long, value_name = "TOKENS", default_value_t = USUAL)]
    #[serde(default = "usual")]
    pub budget: usize,
    /// Factors: other ones than bm25=0.4,access=0.25,recency=0.15,dependency=0.15,coverage=0.05, each from 0 to 1.
    #[arg(long, value_name = "NAME=NUMBER,…")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub weights: Option<String>,
}

/// Tokens unless told.
const USUAL: usize = 8_000;

fn usual() -> usize {
    USUAL
}

/// Bytes of a query.
const LONGEST: usize = 64 << 10;
/// Tokens that a type should have on average, for there to be a use in choosing one more.
const EACH: usize = 120;
/// Types that are chosen at least, if they fit the query, and at most.
const CHOSEN: (usize, usize) = (4, 80);
/// Types that are told as left out.
const TOLD: usize = 20;
/// Words of the query that a reason names.
const NAMED: usize = 4;

/// A context.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Built {
    /// The text, for a model to read.
    context_text: String,
    /// What it shows, the most important first.
    items: Vec<Item>,
    /// What the query names and what fits it too, and is not shown, the best first.
    left_out: Vec<LeftOut>,
    /// How many those are in all.
    left_out_total: usize,
    /// Files, types and members that the query names.
    mentions: Vec<Mention>,
    /// Tokens of the text.
    tokens: usize,
    /// How many it may have.
    budget: usize,
    quality: Quality,
    /// What the factors counted.
    weights: Factors,
    /// The conversation that this is a round of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<RoundOf>,
    state: State,
}

/// A round of a conversation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RoundOf {
    /// The handle to ask the next round with.
    id: String,
    /// The number of this round.
    round: u64,
    /// From which relevance on, between 0 and 1, an earlier round left something.
    threshold: f32,
    /// How long the handle lives.
    lives: String,
}

/// A type or a file that is shown.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Item {
    path: String,
    files: Vec<String>,
    form: Form,
    /// Members that the query names and that stand there in full.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    members: Vec<String>,
    /// Tokens that it takes.
    tokens: usize,
    /// What decided its place.
    score: f32,
    /// Why it is there.
    why: String,
    /// The factors, each between 0 and 1.
    factors: Factors,
    /// What each gave.
    gave: Factors,
    /// The round that left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inherited: Option<Inherited>,
}

/// What is not shown: a type, a member, or what the query names.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct LeftOut {
    path: String,
    score: f32,
    /// The budget, how little it fits, or what is wrong with it.
    why: String,
}

impl Method for Build {
    const NAME: &'static str = "context build";
    const EFFECT: Effect = Effect::Acts;
    const TOOL: AsTool = AsTool::Operation;
    const WITHIN: bool = true;
    const FROM_FILE: Option<&'static str> = Some("query");
    type Answer = Built;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Built, Failed> {
        let weights = self.checked()?;
        if let (Some(_), Some(_)) = (&self.conversation, desk.context.overlay()) {
            let why = Diagnostic::error(
                "E_OVERLAY",
                "rounds of a conversation are kept of the workspace itself, and of no overlay",
            );
            return Err(Failed::new(Code::Usage, why.hint("leave --conversation or --overlay out")));
        }
        let names = desk.names()?;
        let known = desk.index(&names)?;
        let index = &known.index;
        let root = root(desk)?;
        let before = self.before(&root)?;
        let (mut mentions, packages) = (self.mentions(desk, &root, index)?, Package::named(&self.query));
        members::find(desk, &names.symbols, index, &mut mentions)?;
        let attached = attached(desk, &root, &mut mentions)?;
        let words = asked(&self.query, &mentions);
        let mut files: Vec<String> = mentions.iter().flat_map(|one| &one.files).cloned().collect();
        files.sort();
        files.dedup();
        let inheritance = before
            .as_ref()
            .map_or_else(Inheritance::default, |one| one.inheritance(&Asked::new(&self.query, &files)));
        let log = log(&root, before.as_ref());
        let question = Question {
            index,
            words: &words,
            mentions: &mentions,
            packages: &packages,
            log: &log,
            inheritance: &inheritance,
            weights: &weights,
        };
        let most = (self.budget / EACH).clamp(CHOSEN.0, CHOSEN.1);
        let choice = choose(&question, most, self.budget / 4, TOLD);
        let texts = gather(desk, &known, &choice.chosen, &mentions, self.budget)?;
        let others: Vec<String> = choice.others.iter().map(|(at, _)| index.key(*at).to_owned()).collect();
        let material = Material {
            chosen: &choice.chosen,
            texts: &texts,
            files: &attached,
            others: &others,
        };
        let made = compose(&self.query, material, self.budget, &o200k);
        let quality = Quality::of(index, &words, &log, &choice.chosen, &texts, &made);
        let conversation = self
            .conversation
            .as_deref()
            .map(|id| kept(&root, id, self.round(index, &choice, &made, &mentions, files)));
        let conversation = conversation.transpose()?.map(|(id, round)| RoundOf {
            id,
            round,
            threshold: inheritance.threshold,
            lives: format!("until {MOST} other conversations of this checkout were used after it"),
        });
        let files = made.files.iter().map(|(at, fitted)| of_file(&attached[*at], fitted));
        let types = made.placed.iter().map(|placed| {
            let chosen = &choice.chosen[placed.at];
            let text = &texts[placed.at];
            Item {
                path: text.key.clone(),
                files: index.document(chosen.at).map(|one| one.files.clone()).unwrap_or_default(),
                form: placed.form,
                members: placed.members.iter().map(|at| text.named[*at].path.clone()).collect(),
                tokens: placed.tokens,
                score: chosen.score,
                why: why(index, chosen, &words, text, placed),
                factors: chosen.factors,
                gave: chosen.factors.by(&weights),
                inherited: chosen.inherited.clone(),
            }
        });
        let items: Vec<Item> = files.chain(types).collect();
        let unshown = unshown(&mentions, &attached, &texts, &made);
        let (left_out, left_out_total) = left_out(index, &choice, &made, unshown);
        Ok(Built {
            state: state(&names, index, &items, &mentions, left_out_total, &made),
            context_text: made.text,
            items,
            left_out,
            left_out_total,
            mentions,
            tokens: made.tokens,
            budget: self.budget,
            quality,
            weights,
            conversation,
        })
    }

    fn text(answer: &Built) -> String {
        let mut text = answer.context_text.clone();
        text.push_str("── why ──\n");
        for item in &answer.items {
            let gave = Factors::NAMES.iter().zip(item.gave.all()).filter(|(_, gave)| *gave > 0.0);
            let gave: Vec<String> = gave.map(|(name, gave)| format!("{name} {gave:.2}")).collect();
            let gave = if gave.is_empty() {
                String::new()
            } else {
                format!(" ({})", gave.join(", "))
            };
            text.push_str(&format!("{:.2} {}: {}{gave}\n", item.score, item.path, item.why));
        }
        for left in &answer.left_out {
            text.push_str(&format!("left out {:.2} {}: {}\n", left.score, left.path, left.why));
        }
        let more = answer.left_out_total - answer.left_out.len();
        if more > 0 {
            text.push_str(&format!("left out: {more} more\n"));
        }
        if let Some(round) = &answer.conversation {
            text.push_str(&format!(
                "conversation {}: round {}, lives {}\n",
                round.id, round.round, round.lives
            ));
        }
        printable(&format!("{text}{}", notes(&answer.state)))
    }
}

impl Build {
    /// What the factors count; arguments that cannot be answered are refused.
    fn checked(&self) -> Result<Factors, Failed> {
        let wrong = |message: &str, hint: &str| Failed::new(Code::Usage, Diagnostic::error("E_PARAM", message).hint(hint));
        if self.query.trim().is_empty() {
            return Err(wrong(
                "the query is empty",
                "say in words what you want to know or do, with --query or in a file with --file",
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

    /// What the query names. The workspace is opened only if it may name files that no type stands in.
    fn mentions(&self, desk: &mut Desk<'_>, root: &Path, index: &Index) -> Result<Vec<Mention>, Failed> {
        let found = mentions(&self.query, index);
        if !found.iter().any(Mention::may_be_file) {
            return Ok(found);
        }
        let (_, session) = desk.open()?;
        let sources: Vec<String> = session.sources.files().into_iter().map(|(path, _)| path).collect();
        let names = possible(&self.query).into_iter().map(|name| name.replace('\\', "/"));
        let is_there = |name: String| Some(tails(&name).find(|tail| root.join(tail).is_file())?.to_owned());
        let others: Vec<String> = names.filter_map(is_there).collect();
        let there = sources.iter().chain(&others).map(String::as_str);
        Ok(mentions_among(&self.query, index, there))
    }

    /// The conversation as it stands; `None` without one, and for a new one.
    fn before(&self, root: &Path) -> Result<Option<Conversation>, Failed> {
        match self.conversation.as_deref() {
            None | Some(NEW) => Ok(None),
            Some(id) => {
                let all = Conversations::read(root).map_err(|error| unkept(&error))?;
                Ok(Some(all.find(id).map_err(|why| absent(id, why))?.clone()))
            }
        }
    }

    fn round(&self, index: &Index, choice: &Choice, made: &Composed, mentions: &[Mention], files: Vec<String>) -> Round {
        let (mut inherited, mut new) = (Vec::new(), Vec::new());
        for placed in &made.placed {
            let chosen = &choice.chosen[placed.at];
            let shown = Shown {
                path: index.key(chosen.at).to_owned(),
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
            files,
            types: mentions.iter().flat_map(|one| one.types.clone()).collect(),
            inherited,
            new,
            ..Round::default()
        }
    }
}

/// What opens a conversation.
const NEW: &str = "new";

/// Keeps a round. The handle and the number of the round.
fn kept(root: &Path, id: &str, round: Round) -> Result<(String, u64), Failed> {
    let added = Conversations::change(root, |all| {
        let conversation = if id == NEW { all.begin() } else { all.go_on(id)? };
        let number = conversation.add(round);
        Ok((conversation.id.clone(), number))
    });
    added.map_err(|error| unkept(&error))?.map_err(|why| absent(id, why))
}

fn absent(id: &str, why: Absent) -> Failed {
    let message = match why {
        Absent::Unknown => "there is no conversation of this handle".to_owned(),
        Absent::Expired => format!("this conversation has expired: {MOST} others were used since"),
    };
    let why = Diagnostic::error("E_CONVERSATION", message).found(id.chars().take(120).collect::<String>());
    Failed::new(
        Code::Usage,
        why.hint("begin one with --conversation new, and go on with the handle that it is given"),
    )
}

fn unkept(error: &std::io::Error) -> Failed {
    let damaged = "check .cortex; a damaged conversations.json can be moved away, or ask without --conversation";
    Failed::new(Code::Io, checkout::trouble("the conversation", error, damaged))
}

/// What was used before: in this conversation, and looked at in the checkout.
fn log(root: &Path, conversation: Option<&Conversation>) -> Log {
    let mut log = Log::default();
    // A window that cannot be read is told by `window show`.
    let window = Window::read(root).unwrap_or_default();
    for (place, recent) in window.recent.iter().enumerate() {
        log.looked_at(&recent.path, place);
    }
    for (path, seen) in conversation.iter().flat_map(|one| &one.seen) {
        let ago = conversation.map_or(0, |one| one.count.saturating_sub(seen.last));
        log.shown(path, seen.times, ago);
    }
    log
}

/// The files that the query names and that no type stands in, and lines of others in which none does.
fn attached(desk: &mut Desk<'_>, root: &Path, mentions: &mut Vec<Mention>) -> Result<Vec<Attached>, Failed> {
    let names_some = |mention: &Mention| matches!(mention.wanted, Wanted::File(_)) || !mention.outside.is_empty();
    if !mentions.iter().any(names_some) {
        return Ok(Vec::new());
    }
    let store = desk.context.store_folder();
    let (workspace, session) = desk.open()?;
    let place = Place {
        root,
        store: store.as_deref(),
        world: &*workspace.engine.world,
        never_send: &never_send(session),
        sources: &|| session.sources.files().into_iter().map(|(path, _)| path).collect(),
    };
    Ok(attach(mentions, place))
}

/// A file as it is shown.
fn of_file(file: &Attached, fitted: &Fitted) -> Item {
    let mut why = format!("the query names {}", file.mention);
    file.notes.iter().for_each(|note| why.push_str(&format!("; {note}")));
    if let Some((from, to)) = fitted.left_out {
        why.push_str(&format!("; lines {from}-{to} have no room in the budget"));
    }
    Item {
        path: file.path.clone(),
        files: vec![file.path.clone()],
        form: Form::File,
        members: Vec::new(),
        tokens: fitted.tokens,
        score: 0.0,
        why,
        factors: Factors::default(),
        gave: Factors::default(),
        inherited: None,
    }
}

/// What the query names and the text does not show, and why.
fn unshown(mentions: &[Mention], attached: &[Attached], texts: &[Texts], made: &Composed) -> Vec<LeftOut> {
    let left = |path: &str, why: &str| LeftOut {
        path: path.to_owned(),
        score: 0.0,
        why: why.to_owned(),
    };
    let not_there = mentions
        .iter()
        .filter_map(|mention| Some(left(&mention.text, mention.not_shown.as_deref()?)));
    let is_shown = |at: &usize| made.files.iter().any(|(shown, _)| shown == at);
    let files = attached.iter().enumerate().filter(|(at, _)| !is_shown(at));
    let files = files.map(|(_, file)| left(&file.path, NO_ROOM));
    let members = texts.iter().enumerate().flat_map(|(at, text)| {
        let placed = made.placed.iter().find(|placed| placed.at == at);
        let is_shown = move |member: &usize| placed.is_some_and(|placed| placed.members.contains(member));
        text.named.iter().enumerate().filter(move |(member, _)| !is_shown(member))
    });
    let members = members.map(|(_, member)| left(&member.path, NO_ROOM));
    not_there.chain(files).chain(members).collect()
}

/// Why what is wanted is left out.
const NO_ROOM: &str = "there is no room for it in the budget";

/// Why a type was chosen, in words.
fn why(index: &Index, chosen: &Chosen, words: &[String], text: &Texts, placed: &Placed) -> String {
    let mut reasons = Vec::new();
    reasons.extend(chosen.mention.as_ref().map(|text| format!("the query names {text}")));
    let members = placed.members.iter().map(|at| text.named[*at].member());
    let members: Vec<&str> = members.take(NAMED).collect();
    if !members.is_empty() {
        reasons.push(format!("{} in full", members.join(", ")));
    }
    if let Some(from) = &chosen.inherited {
        reasons.push(format!("round {} had it and is {:.2} relevant", from.round, from.relevance));
    }
    if let Some(document) = index.document(chosen.at) {
        let mut said: Vec<&String> = words.iter().filter(|word| document.has(word)).collect();
        said.sort_by(|one, other| index.rarity(other).total_cmp(&index.rarity(one)));
        let said: Vec<&str> = said.into_iter().take(NAMED).map(String::as_str).collect();
        if !said.is_empty() {
            reasons.push(format!("says {}", said.join(", ")));
        }
    }
    if let Some((package, grade)) = &chosen.package {
        let how = match grade {
            Grade::Exact => "is of",
            Grade::Whole => "is within",
            Grade::Part => "is near",
        };
        reasons.push(format!("{how} package {package}"));
    }
    if let Some(near) = chosen.beside.first() {
        let uses = index.uses(chosen.at).iter().any(|edge| edge.to == *near);
        reasons.push(format!("{} {}", if uses { "uses" } else { "is used by" }, index.key(*near)));
    }
    if chosen.factors.access > 0.0 {
        reasons.push("was shown or looked at before".to_owned());
    }
    reasons.join("; ")
}

/// What is not shown, what is named before what fits best, and how many those are in all.
fn left_out(index: &Index, choice: &Choice, made: &Composed, named: Vec<LeftOut>) -> (Vec<LeftOut>, usize) {
    let total = named.len() + made.left_out.len() + choice.others_total;
    let no_room = made.left_out.iter().map(|at| {
        let chosen = &choice.chosen[*at];
        (chosen.at, chosen.score, NO_ROOM)
    });
    let last = choice.chosen.last().map_or(0.0, |one| one.score);
    let others = choice.others.iter().map(|(at, score)| {
        let why = if *score >= last / 2.0 {
            "others fit better, and the budget is for those"
        } else {
            "it fits too little"
        };
        (*at, *score, why)
    });
    let types = no_room.chain(others).map(|(at, score, why)| LeftOut {
        path: index.key(at).to_owned(),
        score,
        why: why.to_owned(),
    });
    (named.into_iter().chain(types).take(TOLD).collect(), total)
}

fn state(names: &Names, index: &Index, items: &[Item], mentions: &[Mention], left_out: usize, made: &Composed) -> State {
    let no_room = made.left_out.len();
    let cut = made.files.iter().filter(|(_, fitted)| fitted.left_out.is_some()).count();
    let mut state = names.state(items.iter().flat_map(|item| &item.files)).unread(&index.unread);
    if no_room > 0 {
        let types = if no_room == 1 {
            "1 chosen type is".to_owned()
        } else {
            format!("{no_room} chosen types are")
        };
        state = state.lacking(&[format!("{types} not shown for want of budget")]);
    }
    let not_shown = mentions
        .iter()
        .filter(|mention| mention.not_shown.is_some())
        .map(|mention| mention.text.as_str());
    let not_shown: Vec<&str> = not_shown.collect();
    if !not_shown.is_empty() {
        let named = not_shown[..not_shown.len().min(NAMED)].join(", ");
        let all = if not_shown.len() > NAMED { " and more" } else { "" };
        state = state.lacking(&[format!(
            "of what the query names {named}{all} cannot be shown: see what is left out"
        )]);
    }
    if cut > 0 {
        let files = if cut == 1 {
            "1 file is".to_owned()
        } else {
            format!("{cut} files are")
        };
        state = state.lacking(&[format!("{files} shown in part for want of budget")]);
    }
    if items.is_empty() && left_out == 0 {
        state.notes.push("no type of the workspace says a word of the query".to_owned());
    }
    state
}
