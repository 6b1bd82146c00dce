//! What the methods of work share: a build in which the questions that nobody has answered wait, so that they can be handed out.

use super::arguments::one_or_many;
use crate::cli::AskingArgs;
use crate::commands::build;
use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use engine::build::Options;
use engine::build::request::{Report, Request};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use producers::llm::{Note, Waiting};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workbench::work::{TypeGraph, targets};

/// Longest name of an agent, in characters.
const LONGEST_NAME: usize = 64;

/// What a build for agents came to.
pub struct Round {
    /// The build.
    pub report: Report,
    /// What waits for an answer, what most waits for first.
    pub waiting: Vec<Waiting>,
    /// Names of questions whose answers it used.
    pub used: BTreeSet<String>,
}

/// Opens the workspace for agents' work: nobody else is asked anything that costs money.
///
/// # Errors
/// When no model of the workspace is an agent, or answers cannot be kept.
pub fn open(desk: &mut Desk<'_>) -> Result<BTreeSet<String>, Failed> {
    desk.ask(AskingArgs {
        max_calls: Some(0),
        ..AskingArgs::default()
    });
    if desk.context.global.no_store {
        let why = Diagnostic::error(ErrorCode::E_WORK, "without a store no answer can be kept");
        return Err(Failed::new(Code::Usage, why.hint("leave out --no-store")));
    }
    let (workspace, _) = desk.open()?;
    let manifest = workspace.manifest()?;
    let targets = targets(&manifest);
    if targets.is_empty() {
        let why = Diagnostic::error(ErrorCode::E_NO_AGENT, "no model of this workspace is an agent");
        let hint = "write [model.agent] api = \"agent\" and [producer.semantic] params.model = \"agent\" into cortex.toml";
        return Err(Failed::new(Code::Usage, why.hint(hint)));
    }
    Ok(targets)
}

/// Types, labels or patterns: by position, or each behind `--scope`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scope(#[serde(deserialize_with = "one_or_many")] pub Vec<String>);

/// Its argument by position, and the one that is a flag.
const PLACES: [&str; 2] = ["scope", "scope_flag"];

impl Args for Scope {
    fn augment_args(command: Command) -> Command {
        const HELP: &str = "Only what these types, labels or patterns need";
        let [by_position, flag] = PLACES.map(|name| Arg::new(name).value_name("PATTERN").action(ArgAction::Append));
        let by_position = by_position.num_args(0..).help(HELP);
        command.arg(by_position).arg(flag.long("scope").help("The same as PATTERN"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Scope {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = PLACES.iter().filter_map(|name| matches.get_many::<String>(name));
        Ok(Self(given.flatten().cloned().collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Builds the targets of a scope, all that agents answer for if there is none.
///
/// # Errors
/// As [`open`] and [`round`], and when a pattern means nothing.
pub fn scoped(desk: &mut Desk<'_>, scope: &[String]) -> Result<Round, Failed> {
    let all = open(desk)?;
    let label = |text: &String| match text.starts_with("//") || text.starts_with("-//") {
        true => text.clone(),
        false => format!("//types/{text}:semantic"),
    };
    let patterns: Vec<String> = match scope {
        [] => all.into_iter().collect(),
        scope => scope.iter().map(label).collect(),
    };
    let round = round(desk, &patterns)?;
    // Why was said by the build.
    match round.report.refused.is_empty() {
        true => Ok(round),
        false => Err(Failed {
            code: Code::Usage,
            diagnostics: Vec::new(),
        }),
    }
}

/// Builds, and gathers what waits. Whatever is asked is asked of the sources as they are now.
///
/// # Errors
/// When a pattern is wrong, or the store breaks.
pub fn round(desk: &mut Desk<'_>, patterns: &[String]) -> Result<Round, Failed> {
    let context = desk.context;
    let (workspace, session) = desk.open()?;
    let agents = workspace.asking.agents();
    let anew = noted(agents.notes().anew())?;
    let request = Request {
        patterns: build::patterns(patterns)?,
        digest: Digest::of(format!("work\0{}", patterns.join("\0")).as_bytes()),
        options: Options {
            jobs: build::default_jobs(),
            keep_going: true,
            fresh: anew.clone(),
            ..Options::default()
        },
        list: true,
        outputs: false,
    };
    let report = build::build(context, session, &request)?;
    if report.cancelled {
        return Err(Failed {
            code: build::code(&report),
            diagnostics: Vec::new(),
        });
    }
    let mut waiting = agents.take_waiting();
    TypeGraph::of(session)?.sort(&mut waiting);
    let round = Round {
        report,
        waiting,
        used: agents.take_used(),
    };
    for label in anew.iter().filter(|label| round.has(label)) {
        noted(agents.notes().answered_anew(label))?;
    }
    Ok(round)
}

impl Round {
    /// Whether a target has its output.
    pub fn has(&self, label: &str) -> bool {
        self.report.roots.iter().any(|root| *root.label == *label && root.output.is_some())
    }
}

/// The notes, with an error of the disk told as one.
pub fn noted<T>(result: std::io::Result<T>) -> Result<T, Failed> {
    result.map_err(|error| disk(&error))
}

fn disk(error: &std::io::Error) -> Failed {
    let why = Diagnostic::error(ErrorCode::E_WORK, format!("the notes in .cortex/work cannot be used: {error}"));
    Failed::new(Code::Io, why.hint("look at the folder's rights and the disk"))
}

/// The name of an agent as it is written down.
///
/// # Errors
/// When it cannot be shown in a line.
pub fn name(agent: &str) -> Result<&str, Failed> {
    let name = agent.trim();
    if name.chars().count() <= LONGEST_NAME && !name.chars().any(|c| c.is_control() || c == '\u{fffd}') {
        return Ok(name);
    }
    let why = Diagnostic::error(ErrorCode::E_PARAM, "the name of an agent has up to 64 plain characters");
    Err(Failed::new(Code::Usage, why.hint("give a short name of your own with --agent")))
}

/// Whether a number is one that an argument may have, from 1 on, as the command line has it.
///
/// # Errors
/// When it is not.
pub fn check_range(argument: &str, number: u64, most: u64) -> Result<(), Failed> {
    if (1..=most).contains(&number) {
        return Ok(());
    }
    let why = Diagnostic::error(ErrorCode::E_PARAM, format!("{argument}: {number} is not in 1..={most}"));
    Err(Failed::new(
        Code::Usage,
        why.hint("the reference of methods lists the arguments of each"),
    ))
}

/// What an answer has to look like.
pub fn form(question: &Waiting) -> String {
    let form = match question.patch {
        true => "only the sections that change, each with its name and a colon on a line of its own, or NO CHANGE",
        false => "every section that the prompt lists, each with its name and a colon on a line of its own, and nothing around them",
    };
    format!("plain text: {form}; at most {} tokens", question.max_tokens)
}

/// The word for a question.
pub fn kind(patch: bool) -> &'static str {
    if patch { "patch" } else { "new" }
}

/// How often answers to it were refused, and why the last one was.
pub fn refusals(note: Option<&Note>) -> (u32, Vec<String>) {
    let refused = note.and_then(|note| note.refused.as_ref());
    refused.map_or((0, Vec::new()), |refused| (refused.times, refused.why.clone()))
}
