//! The methods as commands: the help and the flags are made from the table, and the answer is printed.

use super::touch::touch;
use super::{Answered, Entry, METHODS};
use crate::cli::USUAL_TIMEOUT;
use crate::commands::show::written;
use crate::context::{Context, Failed, Outcome};
use crate::desk::Desk;
use crate::exit::Code;
use crate::service::client::{self, Told};
use clap::{Arg, ArgMatches, Command, FromArgMatches, Subcommand};
use engine::values::diagnostic::Diagnostic;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use workbench::editor;

/// A method with its arguments, as they stood on the command line.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its place in the table.
    at: usize,
    arguments: Value,
    /// The file that one of them is read from.
    file: Option<PathBuf>,
}

impl Subcommand for Call {
    fn augment_subcommands(mut command: Command) -> Command {
        for entry in METHODS {
            let (group, own) = words(entry);
            let method = (entry.command)(Command::new(own));
            command = match group {
                None => command.subcommand(method),
                Some(group) if command.find_subcommand(group).is_some() => command.mut_subcommand(group, |group| group.subcommand(method)),
                Some(group) => command.subcommand(Command::new(group).about(about(group)).subcommand_required(true).subcommand(method)),
            };
        }
        command
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        METHODS.iter().any(|entry| entry.name.split(' ').next() == Some(name))
    }
}

impl FromArgMatches for Call {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let (name, matches) = match METHODS.iter().any(|entry| entry.name == name) {
            true => (name.to_owned(), matches),
            false => {
                let (own, matches) = matches.subcommand().ok_or_else(missing)?;
                (format!("{name} {own}"), matches)
            }
        };
        let at = METHODS.iter().position(|entry| entry.name == name).ok_or_else(missing)?;
        Ok(Self {
            at,
            arguments: (METHODS[at].parse)(matches)?,
            file: METHODS[at].from_file.and_then(|_| {
                let own = matches.subcommand().map_or(matches, |(_, own)| own);
                own.get_one::<PathBuf>(FILE).cloned()
            }),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn words(entry: &Entry) -> (Option<&'static str>, &'static str) {
    match entry.name.split_once(' ') {
        Some((group, own)) => (Some(group), own),
        None => (None, entry.name),
    }
}

/// What a group of methods is about.
fn about(group: &str) -> &'static str {
    match group {
        "context" => "Show what belongs to a task, or how one document stands",
        "pack" => "Bundle what is known of chosen types in one text",
        "window" => "Keep the text that a model is shown of this checkout",
        "work" => "Answer as the language model: take prompts, hand in summaries",
        _ => "",
    }
}

/// The flag that names a file to read an argument from.
pub(super) const FILE: &str = "file";

/// No argument is longer than this.
const LONGEST: u64 = 4 << 20;

/// That flag, in the place of an argument.
pub(super) fn file(instead: &'static str) -> Arg {
    let file = Arg::new(FILE)
        .long(FILE)
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf));
    file.conflicts_with(instead)
        .help(format!("Read {} from a file, - for standard input", instead.to_uppercase()))
}

/// The arguments, with the one that stands in a file.
fn whole(call: &Call, entry: &Entry) -> Result<Value, Failed> {
    let mut arguments = call.arguments.clone();
    if let (Some(name), Some(file)) = (entry.from_file, &call.file) {
        let text = editor::read(file, LONGEST).map_err(|error| {
            let why = Diagnostic::error("E_READ", error.to_string());
            Failed::new(Code::Io, why.hint("give a text file, or - for standard input"))
        })?;
        arguments[name] = text.into();
    }
    Ok(arguments)
}

/// Runs a method, or has the service of the checkout run it, and prints its answer.
pub fn run(context: &Context, call: &Call) -> Outcome {
    let entry = &METHODS[call.at];
    let arguments = whole(call, entry)?;
    let Answered { answer, code } = match asked(context, entry, &arguments) {
        Some(told) => {
            context.say(&told.said);
            told.result.map_err(|(code, diagnostics)| Failed { code, diagnostics })?
        }
        None => {
            let mut desk = Desk::new(context, entry.name);
            let answered = (entry.call)(&mut desk, arguments);
            desk.part();
            answered?
        }
    };
    let mut out = context.stdout();
    touch(context.root().as_deref(), entry, &answer);
    if context.json() {
        written(writeln!(out, "{answer:#}"))?;
        return Ok(code);
    }
    let text = (entry.text)(&answer, context.out).map_err(|error| Failed::bug(&error))?;
    written(write!(out, "{text}"))?;
    Ok(code)
}

/// What the service answers. It has flags of its own, and takes the time it needs: whoever wants others, or sets a limit, is answered here.
fn asked(context: &Context, entry: &Entry, arguments: &Value) -> Option<Told> {
    let global = &context.global;
    if global.offline || global.no_wait || global.lock_timeout != USUAL_TIMEOUT {
        return None;
    }
    let waits = || {
        eprintln!(
            "{}",
            context
                .err
                .dim("waiting for the service of this checkout, which answers others or builds")
        )
    };
    client::ask(&context.service()?, entry, arguments, waits)
}
