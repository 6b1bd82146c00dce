//! A method as a command: it runs here or in the service of the checkout, and its answer is printed.

use crate::cli::{Call, OutputForm, USUAL_TIMEOUT};
use crate::command_context::CommandContext;
use crate::service::client::{self, Reply, ServiceReply};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::catalog::viewed_types::touch;
use methods::catalog::{Answered, FileForm, MethodEntry};
use methods::code::Code;
use methods::commands::relative_paths;
use methods::desk::Desk;
use methods::desk::request_context::TRIES;
use methods::failed::{Failed, Outcome, outcome_of_write};
use serde_json::Value;
use std::io::Write;
use workbench::code_text::encoding::decode;
use workbench::editor::{self, EditError};
use workbench::overlay::put::MOST_BYTES;

/// Limit of an argument, in bytes.
const LONGEST: u64 = 4 << 20;

/// Returns the arguments, including the one from a file.
fn read_arguments(call: &Call, entry: &MethodEntry) -> Result<Value, Failed> {
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
    // A truncated text would be a different one.
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
        let why = Diagnostic::error(ErrorCode::E_ENCODING, format!("{} cannot be used: {why}", file.display()));
        Failed::new(Code::Usage, why.hint("give a text file, or - for standard input"))
    })?;
    arguments[name] = text.into();
    arguments["encoding"] = serde_json::to_value(encoding).expect("invariant: an encoding is a plain value");
    Ok(arguments)
}

/// Runs a method, here or in the service of the checkout, and prints its answer.
pub fn run_method(context: &CommandContext, call: &Call) -> Outcome {
    let entry = call.entry();
    if context.overlay().is_some() && !entry.within {
        return Err(not_within());
    }
    if context.global.output.drawing().is_some() && entry.drawn.is_none() {
        return Err(not_drawn());
    }
    let mut arguments = read_arguments(call, entry)?;
    // Paths of other methods are relative to the current folder.
    if entry.served
        && let (Some(root), Ok(here)) = (context.root_around(), context.global.directory.canonicalize())
    {
        relative_paths::without_root(entry, &mut arguments, &root);
        relative_paths::from_root(&mut arguments, &root, &here);
    }
    if let Some(edges) = arguments.get_mut("edges") {
        // Text lists labels alone; drawings and JSON show the edges between them.
        *edges = (context.global.output != OutputForm::Text).into();
    }
    let Answered { mut answer, code, remarks } = match ask_service(context, entry, &arguments)? {
        Some(reply) => {
            context.say(&reply.diagnostics);
            reply.result.map_err(|(code, diagnostics)| Failed { code, diagnostics })?
        }
        None => answer_here(context, entry, &arguments)?,
    };
    let mut out = context.stdout();
    if context.overlay().is_none() {
        touch(context.root_around().as_deref(), entry, &answer);
    }
    let text = if context.prints_json() {
        format!("{answer:#}\n")
    } else {
        if entry.name == "edit" {
            spell_options(&mut answer);
        }
        let text = match (context.global.output.drawing(), entry.drawn) {
            (Some(drawing), Some(drawn)) => drawn(&answer, drawing),
            _ => (entry.text)(&answer, context.out),
        };
        spell_page_options(text.map_err(|error| Failed::bug(&error))?)
    };
    outcome_of_write(write!(out, "{text}"))?;
    context.say(&remarks);
    Ok(code)
}

/// Answers in this process. A question whose sources change while it is answered is asked again, about the new sources.
fn answer_here(context: &CommandContext, entry: &MethodEntry, arguments: &Value) -> Result<Answered, Failed> {
    let tries = if entry.may_be_tried_again() { TRIES } else { 1 };
    try_while_changed(tries, |is_tried_again| {
        context.release_locks_to_reopen();
        context.try_again(is_tried_again);
        let mut desk = Desk::new(context, entry.name);
        let answered = (entry.call)(&mut desk, arguments.clone());
        desk.part();
        answered
    })
}

/// Answers up to `tries` times, until the failure is not that a source changed. `answer` gets whether another try may follow.
fn try_while_changed<T>(tries: usize, mut answer: impl FnMut(bool) -> Result<T, Failed>) -> Result<T, Failed> {
    let mut left = tries.saturating_sub(1);
    loop {
        let answered = answer(left > 0);
        let failed = answered.as_ref().err().map_or(&[][..], |failed| &failed.diagnostics);
        let has_changed = failed.iter().any(|why| why.code == ErrorCode::E_CHANGED);
        if left == 0 || !has_changed {
            return answered;
        }
        left -= 1;
    }
}

/// Arguments that the answer of an edit names, with their options on the command line.
const OPTIONS: [(&str, &str); 3] = [
    ("oldText", "--old-text"),
    ("newText", "--new-text"),
    ("selectionId", "--selection-id"),
];

/// Spells arguments in the sentences of an edit's answer as options of the command line.
fn spell_options(answer: &mut Value) {
    for field in ["summary", "guidance"] {
        if let Some(Value::String(text)) = answer.get_mut(field) {
            *text = with_options(text);
        }
    }
}

/// Spells the arguments in the notes of pages as options of the command line.
fn spell_page_options(text: String) -> String {
    if !text.contains(" are shown: ") {
        return text;
    }
    let spell = |line: &str| match line.split_once(" are shown: ") {
        Some((page, more)) if page.starts_with("note: ") => {
            let arguments = ["limit", "possible", "offset"].into_iter();
            let more = arguments.fold(more.to_owned(), |more, name| {
                more.replace(&format!("`{name}`"), &format!("--{name}"))
            });
            format!("{page} are shown: {more}")
        }
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').map(spell).collect()
}

/// Replaces the names of arguments in a sentence. Code between backticks stays as it is.
fn with_options(text: &str) -> String {
    let spell = |part: &str| {
        OPTIONS
            .iter()
            .fold(part.to_owned(), |part, (name, option)| part.replace(name, option))
    };
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| if at % 2 == 0 { spell(part) } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
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
fn ask_service(context: &CommandContext, entry: &MethodEntry, arguments: &Value) -> Result<Option<ServiceReply>, Failed> {
    let global = &context.global;
    // The service keeps no overlays in memory.
    if !entry.served
        || global.overlay.is_some()
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
                    format!("{message}; it has this request and may still carry it out"),
                );
                let hint = "resume it (kill -CONT) or end it (kill -KILL); then check what it did before you run this again";
                return Err(Failed::new(Code::Busy, why.hint(hint)));
            }
            let why = Diagnostic::warning(ErrorCode::W_SERVICE, message + "; answering without it");
            context.say(&[why.hint("resume it (kill -CONT), or end it with `cortex serve --stop`")]);
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_again_while_sources_change() {
        let failure = |code| Failed::new(Code::TargetFailed, Diagnostic::error(code, "no answer"));
        let tried = |failures: &[ErrorCode], tries| {
            let mut asked = Vec::new();
            let answered = try_while_changed(tries, |is_tried_again| {
                let failed = failures.get(asked.len()).map(|code| failure(*code));
                asked.push(is_tried_again);
                failed.map_or(Ok(()), Err)
            });
            (answered.is_ok(), asked)
        };
        let changed = [ErrorCode::E_CHANGED; 9];
        assert_eq!(tried(&[], 3), (true, vec![true]));
        assert_eq!(tried(&changed[..1], 3), (true, vec![true, true]));
        assert_eq!(tried(&changed, 3), (false, vec![true, true, false]));
        assert_eq!(tried(&changed, 1), (false, vec![false]));
        assert_eq!(tried(&[ErrorCode::E_PARAM], 3), (false, vec![true]));
    }

    #[test]
    fn notes_of_pages_name_options() {
        let text = "`limit` are shown: `limit`\nnote: 1 to 2 of 9 are shown: raise `limit` and `possible`, or continue with `offset` 2\n";
        let told = "`limit` are shown: `limit`\nnote: 1 to 2 of 9 are shown: raise --limit and --possible, or continue with --offset 2\n";
        assert_eq!(spell_page_options(text.to_owned()), told);
    }

    #[test]
    fn the_command_line_names_options_and_not_arguments() {
        let mut answer = serde_json::json!({
            "summary": "line 3 differs: the file has `oldText;`, oldText has `old`",
            "guidance": "call `replace_selection` with selectionId, or `replace` with a longer oldText",
            "detail": "oldText",
        });
        spell_options(&mut answer);
        assert_eq!(
            answer,
            serde_json::json!({
                "summary": "line 3 differs: the file has `oldText;`, --old-text has `old`",
                "guidance": "call `replace_selection` with --selection-id, or `replace` with a longer --old-text",
                "detail": "oldText",
            })
        );
    }
}
