//! `invalidate`: has targets made again although their results are filed under their present keys.

use super::{AsTool, Effect, Method};
use crate::commands::{build, names};
use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use crate::render::{count, printable};
use engine::build::query::Reach;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mark targets for making again, although their results are filed under their present keys. Says what that costs; makes nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Invalidate {
    /// A label, a pattern, the name of a type or member, or a source file: what reads it.
    pub label: String,
}

/// What was marked.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invalidated {
    /// Labels whose producers run when they are next asked for.
    labels: Vec<String>,
    /// Targets that read them and run if they come out different, at most.
    readers: usize,
    /// Of the labels, those that a model makes.
    paid: usize,
    /// What asking for those would cost, in a line.
    price: String,
}

impl Method for Invalidate {
    const NAME: &'static str = "invalidate";
    const EFFECT: Effect = Effect::Sets;
    const TOOL: AsTool = AsTool::Under("node");
    type Answer = Invalidated;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Invalidated, Failed> {
        let context = desk.context;
        let (_, session) = desk.open()?;
        let text = names::label(session, &self.label)?.into_owned();
        let patterns = build::patterns(std::slice::from_ref(&text))?;
        let survey = session.survey(patterns.patterns(), Reach::Named)?;
        if !survey.refused.is_empty() {
            return Err(Failed {
                code: Code::Usage,
                diagnostics: survey.refused,
            });
        }
        let labels = session.invalidate(&patterns, &survey.meant.concat())?;
        if labels.is_empty() {
            let why = Diagnostic::error(ErrorCode::E_NO_OUTPUT, "it was never made").label(&text);
            return Err(Failed::new(Code::Usage, why.hint("the next build that needs it makes it")));
        }
        let nodes: Vec<_> = labels.iter().filter_map(|label| session.graph.find(label)).collect();
        let (_, outlook) = session.standings(&nodes)?;
        let paid: Vec<String> = labels
            .iter()
            .filter(|label| workbench::paid::is_paid(session, label))
            .cloned()
            .collect();
        let price = match paid.is_empty() {
            true => "nothing: no model makes any of them".to_owned(),
            false => build::price(context, session, &paid)?,
        };
        Ok(Invalidated {
            readers: outlook.may_run,
            paid: paid.len(),
            price,
            labels,
        })
    }

    fn text(answer: &Invalidated) -> String {
        /// Labels shown.
        const SHOWN: usize = 20;
        let number = |number: usize| count(number as u64);
        let plural = if answer.labels.len() == 1 { "" } else { "s" };
        let mut text = format!(
            "{} target{plural} will be made again when next asked for\n",
            number(answer.labels.len())
        );
        for label in answer.labels.iter().take(SHOWN) {
            text.push_str(&format!("  {label}\n"));
        }
        if answer.labels.len() > SHOWN {
            text.push_str(&format!("  … {} in all\n", number(answer.labels.len())));
        }
        text.push_str(&format!(
            "up to {} readers run if they come out different\n",
            number(answer.readers)
        ));
        text.push_str(&format!("costs {}\n", answer.price));
        printable(&text)
    }
}
