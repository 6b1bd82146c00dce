//! A question without a terminal: read completely, answered once, printed plainly. The answer goes to standard output, the rest to standard error.

use super::screen::cells::printable_clusters;
use crate::command_context::CommandContext;
use chat::chat_methods::Fault;
use chat::conversation::{ChatConversation, Event, Tell};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::failed::{Failed, Outcome, outcome_of_write};
use methods::render::{Style, diagnostic, printable};
use serde_json::json;
use std::io::{Read, Write};
use std::sync::Arc;

/// Limit of a question, in bytes: that of a context's query.
const LONGEST: u64 = 64 << 10;

/// Answers `question`, or the one on standard input.
pub fn answer_plainly(context: &CommandContext, conversation: &mut ChatConversation, question: Option<&str>) -> Outcome {
    let question = match question {
        Some(question) => question.to_owned(),
        None => read_line()?,
    };
    let question = question.trim();
    if question.is_empty() {
        let why = Diagnostic::error(ErrorCode::E_PARAM, "there is no question");
        return Err(Failed::new(
            Code::Usage,
            why.hint("ask one: cortex chat \"How are batches saved?\", or pipe it in"),
        ));
    }
    let (style, quiet) = (context.err, context.prints_json());
    let tell: Tell = Arc::new(move |event| {
        if quiet {
            return;
        }
        match event {
            Event::Context(line) => note_line!("{}", style.dim(line.trim_end_matches("; /why"))),
            Event::Looks(line) => note_line!("{}", style.dim(&format!("looks at {}", printable(&line)))),
            Event::Note(line) => note_line!("{}", style.dim(&printable(&line))),
            Event::Preview(diff) => note_line!("{}", printable(diff.trim_end())),
            Event::Failed(why) => note_line!("{}", format_fault(&why, style)),
            Event::Growing(_) | Event::Said(_) | Event::Proposal(_) => {}
        }
    });
    let cancel = context.cancel();
    let code = conversation.ask_and_report(question, &cancel, &tell);
    let last = conversation
        .transcript
        .exchanges
        .last()
        .filter(|_| !conversation.transcript.id.is_empty());
    let answer = last.map_or("", |last| last.answer.as_str());
    let mut out = context.stdout();
    if context.prints_json() {
        let document = json!({
            "conversation": conversation.transcript.id,
            "question": question,
            "answer": answer,
            "state": last.map(|last| last.state),
            "model": conversation.model,
            "spent": conversation.used,
            "proposal": conversation.transcript.proposal,
        });
        outcome_of_write(writeln!(out, "{document:#}"))?;
        return Ok(code);
    }
    if !answer.is_empty() {
        outcome_of_write(writeln!(out, "{}", printable_clusters(answer)))?;
    }
    if let Some(session) = &conversation.transcript.proposal {
        let diff = conversation.proposal(&cancel).unwrap_or_default();
        outcome_of_write(writeln!(out, "\n{}", printable(&diff)))?;
        note_line!(
            "{}",
            style.dim(&format!(
                "nothing is saved: `cortex edit commit --session {session}` does, `edit discard` drops it"
            ))
        );
    }
    Ok(code)
}

fn read_line() -> Result<String, Failed> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_READ, format!("standard input cannot be read: {error}"));
        Failed::new(Code::Io, why.hint("give the question as an argument"))
    })?;
    if bytes.len() as u64 > LONGEST {
        let why = Diagnostic::error(ErrorCode::E_TOO_LARGE, "the question is longer than 64 KiB");
        return Err(Failed::new(
            Code::Usage,
            why.hint("ask in fewer words; files can be named in it as @path"),
        ));
    }
    String::from_utf8(bytes).map_err(|_| {
        let why = Diagnostic::error(ErrorCode::E_ENCODING, "the question is not UTF-8");
        Failed::new(Code::Usage, why.hint("give text"))
    })
}

/// Formats a fault like a diagnostic.
pub fn format_fault(why: &Fault, style: Style) -> String {
    let diagnostic = Diagnostic {
        code: why.code.clone(),
        hint: why.hint.clone(),
        ..Diagnostic::error(ErrorCode::InternalError, why.message.as_str())
    };
    diagnostic::format_diagnostic(&diagnostic, style)
}
