//! `invalidate`: marks targets to run again although their results are stored under their present keys.

use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::{build, names};
use crate::failed::Failed;
use crate::render::{format_count, plural, printable};
use engine::build::query::Reach;
use engine::build::session::Session;
use engine::graph::NodeId;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Mark targets for rebuilding, although results are stored under their present keys. Prints the price; builds nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Invalidate {
    /// A label, a pattern, the name of a type or member, or a source file, for its readers.
    pub label: String,
}

/// The marked targets.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invalidated {
    /// Labels whose producers run in the next build that needs them.
    labels: Vec<String>,
    /// Number of direct and indirect readers, which run if their inputs change.
    readers: usize,
    /// Number of the labels that a model builds.
    paid: usize,
    /// Number of the readers that a model builds.
    #[serde(default)]
    paid_readers: usize,
    /// Price of asking models for all of these, in sentences.
    price: String,
}

impl Method for Invalidate {
    const NAME: &'static str = "invalidate";
    const EFFECT: Effect = Effect::Sets;
    const TOOL: AsTool = AsTool::Under("node");
    type Answer = Invalidated;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Invalidated, Failed> {
        let context = desk.context;
        let (_, session) = desk.open_to_build()?;
        let text = names::label_or_source(session, &self.label)?.into_owned();
        let patterns = build::patterns(std::slice::from_ref(&text))?;
        let survey = session.survey(patterns.patterns(), Reach::Named)?;
        if !survey.refused.is_empty() {
            return Err(Failed {
                code: Code::Usage,
                diagnostics: survey.refused,
            });
        }
        let labels = session.invalidate(&patterns, &survey.targets.concat())?;
        if labels.is_empty() {
            let why = Diagnostic::error(ErrorCode::E_NO_OUTPUT, "it was never built").label(&text);
            return Err(Failed::new(Code::Usage, why.hint("the next build that needs it builds it")));
        }
        let readers = list_readers(session, &labels);
        let is_paid = |label: &&String| workbench::paid::is_paid(session, label);
        let mut paid: Vec<String> = labels.iter().filter(is_paid).cloned().collect();
        let by_readers: Vec<String> = readers.iter().filter(is_paid).cloned().collect();
        let (paid_labels, paid_readers) = (paid.len(), by_readers.len());
        let price = match (paid_labels, paid_readers) {
            (0, 0) => "It costs nothing: no model is asked for them or their readers.".to_owned(),
            // An exact answer would need the new results of the invalidated targets.
            (0, _) => "It costs nothing by itself. Models are asked for readers only if a rebuilt output differs.".to_owned(),
            _ => {
                paid.extend(by_readers);
                build::price(context, session, &paid)?
            }
        };
        Ok(Invalidated {
            readers: readers.len(),
            paid: paid_labels,
            paid_readers,
            price,
            labels,
        })
    }

    fn text(answer: &Invalidated) -> String {
        /// Most labels shown.
        const SHOWN: usize = 20;
        let number = |number: usize| format_count(number as u64);
        let mut text = format!(
            "{} will be rebuilt by the next build that needs it\n",
            plural(answer.labels.len() as u64, "target")
        );
        for label in answer.labels.iter().take(SHOWN) {
            text.push_str(&format!("  {label}\n"));
        }
        if answer.labels.len() > SHOWN {
            text.push_str(&format!("  … {} in all\n", number(answer.labels.len())));
        }
        let of_models = match answer.paid_readers {
            0 => String::new(),
            paid => format!(" ({} of them by a model)", number(paid)),
        };
        text.push_str(&match answer.readers {
            0 => "nothing reads them\n".to_owned(),
            1 => format!("1 reader runs if an output changes{of_models}\n"),
            readers => format!("up to {} readers run if an output changes{of_models}\n", number(readers)),
        });
        text.push_str(&format!("{}\n", answer.price));
        printable(&text)
    }
}

/// Returns the targets that read any of these, directly or through others.
fn list_readers(session: &Session, labels: &[String]) -> Vec<String> {
    let mut todo: Vec<NodeId> = labels.iter().filter_map(|label| session.graph.find(label)).collect();
    let mut seen: BTreeSet<NodeId> = todo.iter().copied().collect();
    let mut readers = Vec::new();
    while let Some(id) = todo.pop() {
        for reader in session.links.readers(id).filter(|reader| seen.insert(*reader)) {
            todo.push(reader);
            if session.graph.has_result(reader) {
                readers.push(session.graph.node(reader).label.to_string());
            }
        }
    }
    readers
}
