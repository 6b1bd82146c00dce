//! `cortex ls`: lists targets. Builds nothing.

use super::show;
use crate::cli::LsArgs;
use crate::command_context::CommandContext;
use engine::build::redefinition::template_text;
use engine::build::session::Session;
use methods::catalog::query::find_nodes;
use methods::catalog::query_answer;
use methods::desk::names;
use methods::failed::{Failed, Outcome};
use methods::render::{Style, format_count};
use std::fmt::Write as _;
use std::io::Write as _;

/// Runs `cortex ls`.
pub fn run_ls(context: &CommandContext, args: &LsArgs) -> Outcome {
    let workspace = context.workspace("ls")?;
    let mut session = workspace.session()?;
    context.say_of_manifest(&workspace);
    let text = match &args.pattern {
        Some(pattern) => {
            // A bare name means all targets of the type.
            let label = names::label_or_source(&mut session, pattern)?;
            let is_whole = label != pattern.as_str() && !pattern.contains(':');
            let package = label.rsplit_once(':').map_or(&*label, |(package, _)| package);
            let wanted = if is_whole { package } else { &label };
            let found = find_nodes(context, &mut session, wanted, context.prints_json())?;
            match context.prints_json() {
                true => format!("{:#}\n", serde_json::json!(found)),
                false => query_answer::labels(&found),
            }
        }
        None => kinds(context, &session)?,
    };
    show::outcome_of_write(write!(context.stdout(), "{text}"))
}

/// Targets of one rule.
struct RuleTargets {
    target: String,
    known: usize,
    out: Option<String>,
}

fn kinds(context: &CommandContext, session: &Session) -> Result<String, Failed> {
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
    if context.prints_json() {
        let rows: Vec<_> = kinds
            .iter()
            .map(|kind| serde_json::json!({"target": kind.target, "known": kind.known, "out": kind.out}))
            .collect();
        return Ok(format!("{:#}\n", serde_json::json!({ "kinds": rows })));
    }
    Ok(kinds_text(&kinds, context.out))
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
