//! `query`: queries over the graph.

use super::guarded_pattern::unguard_label;
use super::query_answer::{self, AnswerNode, Drawing, QueryAnswer};
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::build::unknown_set;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::{diagnostic, format_count};
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Excerpt, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::query::{QueryError, answer, parse};

/// Query the graph. Runs nothing.
///
/// EXPR consists of patterns (//types/...:semantic), the operators + - ^ (union, except, intersect, from left to right), parentheses,
/// let NAME = EXPR in EXPR (used as $NAME), and of
/// deps(EXPR[, DEPTH]): its inputs;
/// rdeps([UNIVERSE,] EXPR[, DEPTH]): its readers, of all nodes or within deps(UNIVERSE);
/// somepath(FROM, TO), allpaths(FROM, TO): a shortest path, and all nodes on any path;
/// kind(NAME, EXPR): by target name (outline) or implementation (csharp/outline), with * for any run of characters and ? for one, or a regular expression in quotes;
/// attr(ATTRIBUTE, REGEX, EXPR): by package, target, uses, producer, version, rule, out, paid, param.NAME, var.NAME;
/// filter(REGEX, EXPR): by label;
/// stale(EXPR): nodes that are not current.
/// Source files are :bytes, source sets :files. Sets that must be built first are reported on standard error.
/// --output dot, mermaid and json also list the edges.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Query {
    /// The query, as in `stale(//types/...:semantic)`.
    #[arg(value_name = "EXPR", value_parser = unguard_label)]
    pub expr: String,
    /// Also list the edges between them.
    #[arg(skip)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub edges: bool,
}

impl Method for Query {
    const NAME: &'static str = "query";
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Under("node");
    const WITHIN: bool = true;
    const DRAWN: Option<fn(&QueryAnswer, Drawing) -> String> = Some(query_answer::drawn);
    type Answer = QueryAnswer;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<QueryAnswer, Failed> {
        let context = desk.context;
        find_nodes(context, desk.open_to_read()?.1, &self.expr, self.edges)
    }

    fn text(answer: &QueryAnswer) -> String {
        query_answer::labels(answer)
    }
}

/// Answers a query with nodes, and reports unknown parts. `edges`: with the edges between them.
pub fn find_nodes(context: &RequestContext, session: &mut Session, expr: &str, edges: bool) -> Result<QueryAnswer, Failed> {
    let query = parse(expr).map_err(|error| Failed::new(Code::Usage, query_diagnostic(expr, &error)))?;
    let answer = answer(session, &query, edges)?;
    if !answer.refused.is_empty() {
        return Err(Failed {
            code: Code::Usage,
            diagnostics: answer.refused,
        });
    }
    let notes: Vec<Diagnostic> = answer.unknown.iter().map(unknown_set).collect();
    context.say(&notes);
    // An unknown set would explain an empty answer.
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
        let number = format_count(answer.unsure as u64);
        let sentence = format!("the inputs of {number} {what} {are} known only as of the last build, or only in part");
        context.say(&[Diagnostic::new(Severity::Note, ErrorCode::N_UNSURE, sentence).hint("build them, and ask again")]);
    }
    let label = |at: usize| answer.nodes[at].label.to_string();
    Ok(QueryAnswer {
        edges: answer.edges.iter().map(|&(reader, read)| (label(reader), label(read))).collect(),
        unknown: answer.unknown.iter().map(diagnostic::diagnostic_json).collect(),
        unsure: answer.unsure,
        nodes: answer
            .nodes
            .into_iter()
            .map(|node| AnswerNode {
                label: node.label.to_string(),
                kind: node.kind,
            })
            .collect(),
    })
}

fn query_diagnostic(text: &str, error: &QueryError) -> Diagnostic {
    let (excerpt, column) = excerpt(text, error);
    Diagnostic {
        excerpt: Some(excerpt),
        ..Diagnostic::error(ErrorCode::E_QUERY, error.message.clone())
    }
    .at("query", 1, column)
    .hint(error.hint.clone())
}

/// Returns the part of the query around the error, on one line.
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
