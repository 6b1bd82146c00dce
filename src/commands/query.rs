//! `cortex query`: asks the graph.

use super::show;
use crate::cli::{GraphForm, OutputForm, QueryArgs};
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::{count, graph};
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Excerpt, Severity};
use std::io::Write;
use workbench::query::{Answer, QueryError, answer, parse};

/// Runs it.
pub fn run(context: &Context, args: &QueryArgs) -> Outcome {
    let form = args.format.unwrap_or(match context.global.output {
        OutputForm::Text => GraphForm::Label,
        OutputForm::Json => GraphForm::Json,
        OutputForm::Dot => GraphForm::Dot,
        OutputForm::Mermaid => GraphForm::Mermaid,
    });
    let workspace = context.workspace("query")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let answer = answer_query(context, &mut session, &args.expr, form != GraphForm::Label)?;
    show::written(write!(context.stdout(), "{}", graph::text(&answer, form)))
}

/// The answer to a query; what is not known of it is said. `edges`: with what reads what.
pub fn answer_query(context: &Context, session: &mut Session, expr: &str, edges: bool) -> Result<Answer, Failed> {
    let query = parse(expr).map_err(|error| Failed::new(Code::Usage, wrong(expr, &error)))?;
    let answer = answer(session, &query, edges)?;
    if !answer.refused.is_empty() {
        return Err(Failed {
            code: Code::Usage,
            diagnostics: answer.refused,
        });
    }
    let notes: Vec<Diagnostic> = answer.unknown.iter().map(note).collect();
    context.say(&notes);
    // Where sets are not known, that is why.
    if answer.nodes.is_empty() && answer.unknown.is_empty() {
        let why = if query.asks_for_ways() {
            "there is no way from the one to the other"
        } else {
            "nothing answers the query"
        };
        context.say(&[Diagnostic::new(Severity::Note, ErrorCode::N_EMPTY, why)]);
    }
    if answer.unsure > 0 {
        let (what, are) = if answer.unsure == 1 { ("target", "is") } else { ("targets", "are") };
        let number = count(answer.unsure as u64);
        let sentence = format!("the inputs of {number} {what} {are} known only as of the last build, or only in part");
        context.say(&[Diagnostic::new(Severity::Note, ErrorCode::N_UNSURE, sentence).hint("build them, and ask again")]);
    }
    Ok(answer)
}

/// A set that is not known is no error of those who only look: the answer is what is known.
pub fn note(unknown: &Diagnostic) -> Diagnostic {
    let hint = "`cortex build //...` makes it known; `cortex explain` says what it needs";
    Diagnostic {
        severity: Severity::Note,
        code: ErrorCode::N_UNKNOWN_SET.into(),
        ..unknown.clone()
    }
    .hint(hint)
}

/// Why other commands do not draw.
pub fn only_here() -> Failed {
    let why = Diagnostic::error(
        ErrorCode::E_USAGE,
        "only answers of `cortex query` can be drawn with --output dot or mermaid",
    );
    Failed::new(Code::Usage, why.hint("use --output text or --output json"))
}

fn wrong(text: &str, error: &QueryError) -> Diagnostic {
    let (excerpt, column) = excerpt(text, error);
    Diagnostic {
        excerpt: Some(excerpt),
        ..Diagnostic::error(ErrorCode::E_QUERY, error.message.clone())
    }
    .at("query", 1, column)
    .hint(error.hint.clone())
}

/// The part of the query round the mistake, on one line.
fn excerpt(text: &str, error: &QueryError) -> (Excerpt, u32) {
    const AROUND: usize = 50;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let at = text.floor_char_boundary(error.at.min(text.len()));
    let before = text[..at].chars().count();
    let from = before.saturating_sub(AROUND);
    let line: String = text
        .chars()
        .skip(from)
        .take(2 * AROUND)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let end = text.floor_char_boundary((at + error.len).min(text.len())).max(at);
    let len = text[at..end].chars().count().clamp(1, AROUND);
    (
        Excerpt {
            text: line,
            start: number(before - from),
            len: number(len),
        },
        number(before + 1),
    )
}
