//! Methods as commands: help and flags are generated from the table, and the answer is printed.

use super::touch::touch;
use super::{Answered, Entry, FileForm, METHODS};
use crate::cli::USUAL_TIMEOUT;
use crate::commands::show::outcome_of_write;
use crate::context::{Context, Failed, Outcome};
use crate::desk::Desk;
use crate::exit::Code;
use crate::service::client::{self, Reply, ServiceReply};
use clap::{Arg, ArgMatches, Command, FromArgMatches, Subcommand};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use workbench::edit::encoding::decode;
use workbench::editor::{self, EditError};
use workbench::overlay::put::MOST_BYTES;

/// A method with its arguments from the command line.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its index in the table.
    at: usize,
    arguments: Value,
    /// File from which one of the arguments is read.
    file: Option<PathBuf>,
}

impl Subcommand for Call {
    fn augment_subcommands(mut command: Command) -> Command {
        for entry in METHODS {
            let (group, own) = entry.group_and_word();
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

/// Returns the description of a group of methods.
pub fn about(group: &str) -> &'static str {
    match group {
        "context" => "Show what belongs to a task, or how one document stands",
        "node" => "Give the output of any target of the graph",
        "overlay" => "Try edits beside the workspace: build with them, compare, merge or drop them",
        "pack" => "Bundle what is known of chosen types in one text",
        "window" => "Keep the text that a model is shown of this checkout",
        "work" => "Answer as the language model: take prompts, hand in summaries",
        _ => "",
    }
}

/// Name of the flag for a file with an argument.
pub(super) const FILE: &str = "file";

/// Bytes of the longest argument.
const LONGEST: u64 = 4 << 20;

/// Returns that flag, in place of an argument.
pub(super) fn file_argument((argument, form): (&'static str, FileForm)) -> Arg {
    let file = Arg::new(FILE).value_name("FILE").value_parser(clap::value_parser!(PathBuf));
    let named = argument.to_uppercase();
    match form {
        FileForm::Instead => file
            .long(FILE)
            .conflicts_with(argument)
            .help(format!("Read {named} from a file, - for standard input")),
        FileForm::InPlace => file
            .required(true)
            .help(format!("The file of the {argument}, - for standard input")),
        FileForm::AsItIs => file
            .long("from")
            .help(format!("The file that holds the {argument}, - for standard input")),
    }
}

/// Returns the arguments, including the one from a file.
fn read_arguments(call: &Call, entry: &Entry) -> Result<Value, Failed> {
    let mut arguments = call.arguments.clone();
    let (Some((name, form)), Some(file)) = (entry.from_file, &call.file) else {
        return Ok(arguments);
    };
    let unread = |error: EditError| {
        let why = Diagnostic::error(ErrorCode::E_READ, error.to_string());
        Failed::new(Code::Io, why.hint("give a text file, or - for standard input"))
    };
    let most = if form == FileForm::AsItIs { MOST_BYTES as u64 } else { LONGEST };
    let bytes = editor::read_bytes(file, most + 1).map_err(unread)?;
    // A cut text would be a different one.
    if bytes.len() as u64 > most {
        let why = Diagnostic::error(
            ErrorCode::E_TOO_LARGE,
            format!("{} is larger than {} MiB", file.display(), most >> 20),
        );
        return Err(Failed::new(Code::Usage, why.hint("give a shorter text")));
    }
    if form != FileForm::AsItIs {
        // Line ends in a patch are those of its files.
        let is_patch = name == "patch" || arguments["op"] == "patch";
        let text = if is_patch { editor::exact } else { editor::decode_document };
        arguments[name] = text(bytes, file).map_err(unread)?.into();
        return Ok(arguments);
    }
    let (text, encoding) = decode(&bytes).map_err(|why| {
        let why = Diagnostic::error(ErrorCode::E_ENCODING, format!("{} cannot be taken: {why}", file.display()));
        Failed::new(Code::Usage, why.hint("give a text file, or - for standard input"))
    })?;
    arguments[name] = text.into();
    arguments["encoding"] = serde_json::to_value(encoding).expect("invariant: an encoding is a plain value");
    Ok(arguments)
}

/// Runs a method, here or in the service of the checkout, and prints its answer.
pub fn run_method(context: &Context, call: &Call) -> Outcome {
    let entry = &METHODS[call.at];
    if context.overlay().is_some() && !entry.within {
        return Err(not_within());
    }
    if context.global.output.drawing().is_some() && entry.drawn.is_none() {
        return Err(not_drawn());
    }
    let arguments = read_arguments(call, entry)?;
    let Answered { answer, code } = match ask_service(context, entry, &arguments)? {
        Some(reply) => {
            context.say(&reply.diagnostics);
            reply.result.map_err(|(code, diagnostics)| Failed { code, diagnostics })?
        }
        None => {
            let mut desk = Desk::new(context, entry.name);
            let answered = (entry.call)(&mut desk, arguments);
            desk.part();
            answered?
        }
    };
    let mut out = context.stdout();
    if context.overlay().is_none() {
        touch(context.root_around().as_deref(), entry, &answer);
    }
    if context.prints_json() {
        outcome_of_write(writeln!(out, "{answer:#}"))?;
        return Ok(code);
    }
    let text = match (context.global.output.drawing(), entry.drawn) {
        (Some(drawing), Some(drawn)) => drawn(&answer, drawing),
        _ => (entry.text)(&answer, context.out),
    };
    let text = text.map_err(|error| Failed::bug(&error))?;
    outcome_of_write(write!(out, "{text}"))?;
    Ok(code)
}

/// Returns the failure for an answer that cannot be drawn as a graph.
pub fn not_drawn() -> Failed {
    let message = "only answers of `cortex query` can be drawn with --output dot or mermaid";
    let why = Diagnostic::error(ErrorCode::E_USAGE, message);
    Failed::new(Code::Usage, why.hint("use --output text or --output json"))
}

/// Returns the failure for a command that does not support overlays.
pub fn not_within() -> Failed {
    let why = Diagnostic::error(ErrorCode::E_OVERLAY, "this command is about the workspace itself, and no overlay");
    Failed::new(
        Code::Usage,
        why.hint("leave --overlay out; build, show, query, explain and the methods that only read know overlays"),
    )
}

/// Requests the answer from the service. The service has its own flags and no time limit: with other flags, or a limit, this process answers.
fn ask_service(context: &Context, entry: &Entry, arguments: &Value) -> Result<Option<ServiceReply>, Failed> {
    let global = &context.global;
    // The service keeps no overlays in memory.
    if global.overlay.is_some()
        || entry.name.starts_with("overlay ")
        || global.offline
        || global.no_wait
        || global.lock_timeout != USUAL_TIMEOUT
    {
        return Ok(None);
    }
    let waits = || {
        note_line!(
            "{}",
            context
                .err
                .dim("waiting for the service of this checkout, which answers others or builds")
        )
    };
    let hear = |words: &str| context.print_status(words);
    let Some(socket) = context.service() else {
        return Ok(None);
    };
    match client::request_method(&socket, entry, arguments, waits, hear) {
        Reply::Told(reply) => Ok(Some(reply)),
        Reply::Nobody => Ok(None),
        Reply::Unanswering { pid, asked } => {
            let who = pid.map_or_else(String::new, |pid| format!(", pid {pid},"));
            let message = format!("the service of this checkout{who} does not answer; it is stopped, or hangs");
            if asked {
                let why = Diagnostic::error(
                    ErrorCode::E_BUSY,
                    format!("{message}, and has this request: it may still carry it out"),
                );
                let hint = "let it go on (kill -CONT) or end it (kill -KILL), then look what was done before running this again";
                return Err(Failed::new(Code::Busy, why.hint(hint)));
            }
            let why = Diagnostic::warning(ErrorCode::W_SERVICE, message + "; this is answered without it");
            context.say(&[why.hint("let it go on (kill -CONT), or end it with `cortex serve --stop`")]);
            Ok(None)
        }
    }
}
