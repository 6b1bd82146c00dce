//! `cortex ls`: lists targets. Builds nothing.

use super::CommandAnswer;
use crate::catalog::guarded_pattern::unguard_label;
use crate::catalog::query::find_nodes;
use crate::catalog::query_answer;
use crate::desk::names;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::{Style, format_count};
use clap::Args;
use engine::build::redefinition::template_text;
use engine::build::session::Session;
use std::fmt::Write as _;

/// List targets of a pattern or a type, or the kinds of targets. Runs nothing.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// A pattern, or the name of a type [default: the kinds of targets, with the number of each].
    #[arg(value_name = "PATTERN", value_parser = unguard_label)]
    pub pattern: Option<String>,
}

/// Runs `cortex ls`.
///
/// # Errors
/// When the pattern is wrong, or the workspace cannot be read.
pub fn run_ls(context: &RequestContext, args: &LsArgs) -> Result<CommandAnswer, Failed> {
    let workspace = context.workspace("ls")?;
    let mut session = workspace.session()?;
    context.say_of_manifest(&workspace);
    match &args.pattern {
        Some(pattern) => {
            // A bare name means all targets of the type.
            let label = names::label_or_source(&mut session, pattern)?;
            let is_whole = label != pattern.as_str() && !pattern.contains(':');
            let package = label.rsplit_once(':').map_or(&*label, |(package, _)| package);
            let wanted = if is_whole { package } else { &label };
            let found = find_nodes(context, &mut session, wanted, context.prints_json())?;
            Ok(CommandAnswer::new(query_answer::labels(&found), &serde_json::json!(found)))
        }
        None => Ok(kinds(context, &session)),
    }
}

/// Targets of one rule.
struct RuleTargets {
    target: String,
    known: usize,
    out: Option<String>,
}

fn kinds(context: &RequestContext, session: &Session) -> CommandAnswer {
    let rules = &session.rules;
    let mut known = vec![0_usize; rules.manifest().rules.len()];
    session.graph.each_label(|_, label| {
        if let Some(found) = rules.find(label) {
            known[found.rule as usize] += 1;
        }
    });
    let mut kinds: Vec<RuleTargets> = rules
        .manifest()
        .rules
        .iter()
        .zip(known)
        .map(|(rule, known)| RuleTargets {
            target: template_text(&rule.target),
            known,
            out: rule.out.as_ref().map(|out| format!(".cortex/out/{}", template_text(&out.path))),
        })
        .collect();
    kinds.sort_by(|one, other| one.target.cmp(&other.target));
    let rows: Vec<_> = kinds
        .iter()
        .map(|kind| serde_json::json!({"target": kind.target, "known": kind.known, "out": kind.out}))
        .collect();
    CommandAnswer::new(kinds_text(&kinds, context.answer_style()), &serde_json::json!({ "kinds": rows }))
}

fn kinds_text(kinds: &[RuleTargets], style: Style) -> String {
    let width = kinds.iter().map(|kind| kind.target.chars().count()).max().unwrap_or(0);
    let head = format!("{:width$}  {:>7}  file", "kind of target", "known");
    let mut text = format!("{}\n", style.dim(&head));
    for kind in kinds {
        let out = kind.out.as_deref().unwrap_or_default();
        let line = format!("{:width$}  {:>7}  {}", kind.target, format_count(kind.known as u64), style.dim(out));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
