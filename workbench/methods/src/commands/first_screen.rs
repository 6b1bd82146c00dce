//! `cortex` without a command: the state of the workspace, and what to do next. Runs nothing.

use super::CommandAnswer;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::{Style, format_count, moment, plural, printable};
use engine::build::session::Session;
use producers::command::Trust;
use std::fmt::Write as _;
use workbench::build_log::read_build_log;
use workbench::example_symbol;
use workbench::trust::{Trusted, waiting};
use workbench::workspace::Workspace;

/// A command to try, and its purpose.
struct NextCommand {
    command: String,
    why: String,
}

impl NextCommand {
    fn new(command: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            why: why.into(),
        }
    }
}

/// Facts about the workspace that the first screen shows.
struct WorkspaceFacts {
    root: Option<String>,
    sentence: String,
    steps: Vec<NextCommand>,
}

/// Runs `cortex` without a command.
pub fn run_next(context: &RequestContext) -> Result<CommandAnswer, Failed> {
    let place = match context.root_around() {
        Some(_) => workspace(context)?,
        None => nowhere(),
    };
    let steps = steps_text(&place.steps, "next", context.answer_style());
    let text = format!("{}\n\n{steps}", printable(&place.sentence));
    let steps = place.steps.iter();
    let steps: Vec<_> = steps
        .map(|step| serde_json::json!({"command": step.command, "why": step.why}))
        .collect();
    let document = serde_json::json!({"root": place.root, "state": place.sentence, "next": steps});
    Ok(CommandAnswer::new(text, &document))
}

fn nowhere() -> WorkspaceFacts {
    WorkspaceFacts {
        root: None,
        sentence: "There is no workspace here: no cortex.toml in this folder or in one above it.".to_owned(),
        steps: vec![
            NextCommand::new("cortex init", "write one for the code in this folder"),
            NextCommand::new("cortex help tour", "see what cortex does, in twenty minutes"),
            NextCommand::new("cortex help", "list all commands and topics"),
        ],
    }
}

fn workspace(context: &RequestContext) -> Result<WorkspaceFacts, Failed> {
    let workspace = context.workspace("cortex")?;
    let mut session = workspace.session()?;
    context.say_of_manifest(&workspace);
    let builds = read_build_log(&*workspace.engine.store, workspace.engine.view)?;
    let (files, changed) = (session.sources.files().len() as u64, session.refresh.changes.len() as u64);
    let state = match builds.last() {
        None => "nothing built yet".to_owned(),
        Some(last) if changed == 0 => format!("unchanged since the build of {}", moment(last.at)),
        Some(last) => format!("{} changed since the build of {}", format_count(changed), moment(last.at)),
    };
    let name = &session.rules.manifest().name;
    let sentence = format!("{name}: {}, {state}.", plural(files, "source file"));
    let mut steps = Vec::new();
    let waits = count_untrusted(context, &workspace)?;
    if waits > 0 {
        let what = match waits {
            1 => "a command, key or address that needs trust".to_owned(),
            waits => format!("{waits} commands, keys or addresses that need trust"),
        };
        steps.push(NextCommand::new(
            "cortex trust --list",
            format!("list {what}; `cortex trust` trusts them"),
        ));
    }
    match builds.is_empty() {
        true => steps.push(NextCommand::new("cortex build", "build outlines and the index")),
        false if changed > 0 => steps.push(NextCommand::new("cortex build", "bring outlines and the index up to date")),
        false => {}
    }
    if let Some(symbol) = example_symbol::find_example(&mut session)? {
        steps.extend(tries(&symbol));
    }
    steps.push(NextCommand::new("cortex status", "show the state of all targets"));
    steps.push(NextCommand::new("cortex help agents", "connect a coding agent"));
    steps.push(NextCommand::new("cortex help", "list all commands and topics"));
    Ok(WorkspaceFacts {
        root: Some(workspace.root.display().to_string()),
        sentence,
        steps,
    })
}

/// Returns how many programs and destinations of a workspace wait for `cortex trust`.
fn count_untrusted(context: &RequestContext, workspace: &Workspace) -> Result<usize, Failed> {
    let trusted = Trusted::in_repository(context.settings().trust.clone(), &workspace.root);
    let manifest = workspace.manifest()?;
    let waits = waiting(&manifest);
    Ok(waits.iter().filter(|one| !trusted.trusts(&one.definition)).count())
}

/// Prints questions to try after the first build.
pub(super) fn after_first(context: &RequestContext, session: &mut Session) -> Result<(), Failed> {
    if let Some(symbol) = example_symbol::find_example(session)? {
        context.print_text(steps_text(&tries(&symbol), "try", context.style()).trim_end());
    }
    Ok(())
}

fn tries(symbol: &str) -> Vec<NextCommand> {
    vec![
        NextCommand::new(format!("cortex outline {symbol}"), "what it offers"),
        NextCommand::new(format!("cortex usages {symbol}"), "who uses it"),
        NextCommand::new(format!("cortex context build --query {symbol} --budget 2000"), "what belongs to it"),
    ]
}

/// Length of a command up to which the reasons are aligned.
const ALIGNED: usize = 55;

fn steps_text(steps: &[NextCommand], head: &str, style: Style) -> String {
    let lengths = steps.iter().map(|step| step.command.chars().count());
    let width = lengths.filter(|len| *len <= ALIGNED).max().unwrap_or(0);
    let mut text = String::new();
    for (at, step) in steps.iter().enumerate() {
        let head = if at == 0 { head } else { "" };
        let command = format!("{:width$}", printable(&step.command));
        let _ = writeln!(text, "{head:<5} {}  {}", style.bold(&command), style.dim(&printable(&step.why)));
    }
    text
}
