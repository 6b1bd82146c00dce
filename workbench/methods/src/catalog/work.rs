//! Shared parts of the methods for agents' work: a build in which unanswered questions wait and can be given to agents.

use super::arguments::one_or_many;
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::build;
use crate::desk::model_limits::AskingArgs;
use crate::failed::Failed;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use engine::build::Options;
use engine::build::request::{Report, Request};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use producers::llm::{Note, Waiting};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workbench::agent_questions::{TypeGraph, agent_patterns};

/// Longest name of an agent, in characters.
const LONGEST_NAME: usize = 64;

/// Result of a build for agents.
pub struct Round {
    pub report: Report,
    /// Questions without an answer, those with the most dependents first.
    pub waiting: Vec<Waiting>,
    /// Names of questions whose answers the build used.
    pub used: BTreeSet<String>,
}

/// Opens the workspace for agents' work: calls no paid model. Fails when no model of the workspace is an agent, or answers cannot be
/// stored.
pub fn open_for_agents(desk: &mut Desk<'_>) -> Result<BTreeSet<String>, Failed> {
    desk.limit_models(AskingArgs {
        max_calls: Some(0),
        ..AskingArgs::default()
    });
    if desk.context.settings().has_no_store() {
        let why = Diagnostic::error(ErrorCode::E_WORK, "without a store no answer can be stored");
        return Err(Failed::new(Code::Usage, why.hint("leave out --no-store")));
    }
    let (workspace, _) = desk.open_to_build()?;
    let manifest = workspace.manifest()?;
    let targets = agent_patterns(&manifest);
    if targets.is_empty() {
        let why = Diagnostic::error(ErrorCode::E_NO_AGENT, "no model of this workspace is an agent");
        let hint = "write [model.agent] api = \"agent\" and [producer.semantic] params.model = \"agent\" into cortex.toml";
        return Err(Failed::new(Code::Usage, why.hint(hint)));
    }
    Ok(targets)
}

/// Types, labels or patterns, by position or each with `--scope`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scope(#[serde(deserialize_with = "one_or_many")] pub Vec<String>);

/// Names of the positional argument and of the flag.
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

/// Builds the targets of a scope; without one, all that agents answer for. Errors: as [`open_for_agents`] and [`round`], and when a pattern
/// matches nothing.
pub fn round_of_scope(desk: &mut Desk<'_>, scope: &[String]) -> Result<Round, Failed> {
    let all = open_for_agents(desk)?;
    let label = |text: &String| match text.starts_with("//") || text.starts_with("-//") {
        true => text.clone(),
        false => format!("//types/{text}:semantic"),
    };
    let patterns: Vec<String> = match scope {
        [] => all.into_iter().collect(),
        scope => scope.iter().map(label).collect(),
    };
    let round = round(desk, &patterns)?;
    // The build reported the reason.
    match round.report.refused.is_empty() {
        true => Ok(round),
        false => Err(Failed {
            code: Code::Usage,
            diagnostics: Vec::new(),
        }),
    }
}

/// Builds, and collects the waiting questions. All questions refer to the present sources. Fails when a pattern is invalid, or the store
/// fails.
pub fn round(desk: &mut Desk<'_>, patterns: &[String]) -> Result<Round, Failed> {
    let context = desk.context;
    let (workspace, session) = desk.open_to_build()?;
    let agents = workspace.asking.agents();
    let anew = or_note_failure(agents.notes().anew())?;
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
    TypeGraph::from_session(session)?.sort(&mut waiting);
    let round = Round {
        report,
        waiting,
        used: agents.take_used(),
    };
    for label in anew.iter().filter(|label| round.has_output(label)) {
        or_note_failure(agents.notes().answered_anew(label))?;
    }
    Ok(round)
}

impl Round {
    pub fn has_output(&self, label: &str) -> bool {
        self.report.roots.iter().any(|root| *root.label == *label && root.output.is_some())
    }
}

/// Converts a disk error of the notes to a failure.
pub fn or_note_failure<T>(result: std::io::Result<T>) -> Result<T, Failed> {
    result.map_err(|error| disk(&error))
}

fn disk(error: &std::io::Error) -> Failed {
    let why = Diagnostic::error(ErrorCode::E_WORK, format!("the notes in .cortex/work cannot be used: {error}"));
    Failed::new(Code::Io, why.hint("check the folder's permissions and the disk"))
}

/// Checks and trims the name of an agent. Fails when it cannot be displayed on one line.
pub fn checked_agent_name(agent: &str) -> Result<&str, Failed> {
    let name = agent.trim();
    if name.chars().count() <= LONGEST_NAME && !name.chars().any(|c| c.is_control() || c == '\u{fffd}') {
        return Ok(name);
    }
    let why = Diagnostic::error(ErrorCode::E_PARAM, "the name of an agent has up to 64 plain characters");
    Err(Failed::new(Code::Usage, why.hint("give a short name of your own with --agent")))
}

/// Checks that a number is within 1 and `most`, as the command line does. Fails when it is not.
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

/// Returns the required form of an answer.
pub fn form(question: &Waiting) -> String {
    let form = match question.patch {
        true => "only the sections that change, each with its name and a colon on a line of its own, or NO CHANGE",
        false => "every section that the prompt lists, each with its name and a colon on a line of its own, and nothing around them",
    };
    format!("plain text: {form}; at most {} tokens", question.max_tokens)
}

/// Returns the word for the kind of question.
pub fn kind_of_question(patch: bool) -> &'static str {
    if patch { "patch" } else { "new" }
}

/// Returns the number of refused answers, and the reasons of the last refusal.
pub fn refusals(note: Option<&Note>) -> (u32, Vec<String>) {
    let refused = note.and_then(|note| note.refused.as_ref());
    refused.map_or((0, Vec::new()), |refused| (refused.times, refused.why.clone()))
}
