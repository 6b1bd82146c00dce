//! `outline`: the outlines of types and members.

use super::resolved::{Resolved, resolved};
use super::symbols::of_symbol;
use super::{Effect, Method, one_or_many};
use crate::commands::build;
use crate::commands::last_good;
use crate::commands::show;
use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use crate::render::printable;
use engine::build::query::Reach;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Print the outlines of types and members, building them first.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Outline {
    /// Types by any unambiguous name (NodeStore, Core.NodeStore), their members (NodeStore#Get, 'NodeStore#*'), or labels.
    #[arg(required = true, value_name = "SYMBOL")]
    #[serde(
        alias = "symbol",
        alias = "path",
        alias = "typeId",
        alias = "memberPath",
        alias = "memberId",
        alias = "id",
        deserialize_with = "one_or_many"
    )]
    pub symbols: Vec<String>,
    /// Also as data: what //types/SYMBOL:outline-info holds.
    #[arg(long)]
    #[serde(default)]
    pub data: bool,
    /// The newest version that was made while all files of the type parsed. The program says where the present one may lack something.
    #[arg(long)]
    #[serde(default)]
    pub last_good: bool,
}

/// The outlines.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Outlines {
    #[serde(flatten)]
    first: One,
    /// Those of further symbols.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    more: Vec<One>,
}

/// One outline.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct One {
    resolved: Resolved,
    /// The outline as Markdown.
    outline_text: String,
    /// The outline as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl Method for Outline {
    const NAME: &'static str = "outline";
    const ALSO: &'static [&'static str] = &["GetOutline", "GetMemberOutline"];
    const EFFECT: Effect = Effect::Looks;
    type Answer = Outlines;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Outlines, Failed> {
        let mut shown: Vec<(String, Vec<u8>)> = Vec::new();
        let labels: Vec<String> = self.symbols.iter().map(|symbol| label(symbol)).collect();
        let context = desk.context;
        if self.last_good {
            let (_, session) = desk.open()?;
            for label in &labels {
                let found = last_good::find(context, session, Self::NAME, label)?;
                shown.push((found.label, found.bytes.to_vec()));
            }
        } else {
            self.all_meant(desk, &labels)?;
            let report = desk.outputs(&labels, true)?;
            let made = report.roots.iter().zip(&report.outputs);
            shown.extend(made.filter_map(|(root, bytes)| Some((root.label.to_string(), bytes.as_deref()?.to_vec()))));
            let (_, session) = desk.open()?;
            last_good::remark(context, session, Self::NAME, shown.iter().map(|(label, _)| label.as_str()))?;
        }
        let mut outlines = Vec::with_capacity(shown.len());
        for (label, bytes) in shown {
            let binary = || {
                let why = Diagnostic::error("E_BINARY", "the output is no text").label(&label);
                Failed::new(Code::Usage, why.hint("use `cortex show --raw`"))
            };
            outlines.push(One {
                resolved: resolved(desk, &label)?,
                data: if self.data { Some(data(desk, &label)?) } else { None },
                outline_text: String::from_utf8(bytes).map_err(|_| binary())?,
            });
        }
        let mut outlines = outlines.into_iter();
        let Some(first) = outlines.next() else {
            // Why there is none was said.
            return Err(Failed {
                code: desk.code(),
                diagnostics: Vec::new(),
            });
        };
        Ok(Outlines {
            first,
            more: outlines.collect(),
        })
    }

    fn text(answer: &Outlines) -> String {
        let all = std::iter::once(&answer.first).chain(&answer.more);
        printable(&all.map(|one| one.outline_text.as_str()).collect::<Vec<_>>().join("\n"))
    }
}

impl Outline {
    /// That every symbol means something, told of the symbols before anything is built for them.
    fn all_meant(&self, desk: &mut Desk<'_>, labels: &[String]) -> Result<(), Failed> {
        let context = desk.context;
        // Names are looked up among the types that there are.
        desk.output("//index:types")?;
        let (workspace, session) = desk.open()?;
        let patterns = build::patterns(labels)?;
        let survey = session.survey(patterns.patterns(), Reach::Named)?;
        if survey.refused.is_empty() {
            return Ok(());
        }
        for label in labels {
            last_good::remark_missing(context, workspace, session, Some(Self::NAME), label)?;
        }
        let asked = |why: &Diagnostic| labels.iter().position(|label| why.label.as_ref() == Some(label)).unwrap_or(0);
        let told = |why: Diagnostic| {
            let symbol = &self.symbols[asked(&why)];
            if symbol.starts_with("//") { why } else { of_symbol(why, symbol) }
        };
        Err(Failed {
            code: Code::Usage,
            diagnostics: survey.refused.into_iter().map(told).collect(),
        })
    }
}

/// The label that a symbol or label means.
fn label(symbol: &str) -> String {
    if symbol.starts_with("//") {
        symbol.to_owned()
    } else {
        format!("//types/{symbol}:outline")
    }
}

fn data(desk: &mut Desk<'_>, label: &str) -> Result<Value, Failed> {
    let package = label.rsplit_once(':').map_or(label, |(package, _)| package);
    Ok(show::json(&desk.output(&format!("{package}:outline-info"))?.bytes))
}
