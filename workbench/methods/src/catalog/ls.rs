//! `ls`: lists targets. Builds nothing.

use super::guarded_pattern::unguard_label;
use super::query::find_nodes;
use super::query_answer::{self, QueryAnswer};
use super::{Effect, Method};
use crate::desk::{Desk, names};
use crate::failed::Failed;
use crate::render::{Style, format_count};
use engine::build::redefinition::template_text;
use engine::build::session::Session;
use engine::manifest::model::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// List targets of a pattern or a type, or the kinds of targets. Runs nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ls {
    /// A pattern, or the name of a type [default: the kinds of targets, with the number of each].
    #[arg(value_name = "PATTERN", value_parser = unguard_label)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    /// Also list the edges between targets.
    #[arg(skip)]
    #[serde(default)]
    edges: bool,
}

/// Targets, or the kinds of targets.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Listing {
    /// Targets of a pattern.
    Targets(QueryAnswer),
    /// The kinds of targets.
    Kinds {
        /// The kinds of targets: `target`, `known` (number of targets), `out` (its file).
        kinds: Vec<KindOfTargets>,
    },
}

/// Targets of one rule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct KindOfTargets {
    /// The label, with the variables of the rule.
    target: String,
    /// Number of known targets.
    known: usize,
    /// The file that a target is written to.
    out: Option<String>,
}

impl Method for Ls {
    const NAME: &'static str = "ls";
    const EFFECT: Effect = Effect::Reads;
    type Answer = Listing;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Listing, Failed> {
        let context = desk.context;
        let (_, session) = desk.open_to_read()?;
        let Some(pattern) = &self.pattern else {
            return Ok(Listing::Kinds { kinds: kinds(session) });
        };
        // A bare name means all targets of the type.
        let label = names::label_or_source(session, pattern)?;
        let is_whole = label != pattern.as_str() && !pattern.contains(':');
        let package = label.rsplit_once(':').map_or(&*label, |(package, _)| package);
        let wanted = if is_whole { package } else { &label };
        find_nodes(context, session, wanted, self.edges).map(Listing::Targets)
    }

    fn text(answer: &Listing) -> String {
        Self::styled(answer, Style::plain())
    }

    fn styled(answer: &Listing, style: Style) -> String {
        match answer {
            Listing::Targets(found) => query_answer::labels(found),
            Listing::Kinds { kinds } => kinds_text(kinds, style),
        }
    }
}

fn kinds(session: &Session) -> Vec<KindOfTargets> {
    let rules = &session.rules;
    let mut known = vec![0_usize; rules.manifest().rules.len()];
    session.graph.each_label(|_, label| {
        if let Some(found) = rules.find(label) {
            known[found.rule as usize] += 1;
        }
    });
    let kind = |(rule, known): (&Rule, usize)| KindOfTargets {
        target: template_text(&rule.target),
        known,
        out: rule.out.as_ref().map(|out| format!(".cortex/out/{}", template_text(&out.path))),
    };
    let mut kinds: Vec<KindOfTargets> = rules.manifest().rules.iter().zip(known).map(kind).collect();
    kinds.sort_by(|one, other| one.target.cmp(&other.target));
    kinds
}

fn kinds_text(kinds: &[KindOfTargets], style: Style) -> String {
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
