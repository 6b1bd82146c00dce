//! `outline`: the outlines of types and members.

use super::resolved::{Resolved, resolved};
use super::symbols::found_by_name;
use super::{Effect, Method, arguments};
use crate::commands::build;
use crate::commands::last_good;
use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use crate::render::printable;
use engine::build::query::Reach;
use engine::values::diagnostic::Diagnostic;
use engine::values::table::to_json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workbench::symbols::state::{Freshness, State};

/// Print the outlines of types and members, building them first.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Outline {
    /// Types, by any unambiguous name (NodeStore, Core.NodeStore; NodeStore@Project where several projects have one, @loose where none compiles
    /// it), their members (NodeStore#Get, 'NodeStore#*'), or labels.
    #[arg(required = true, value_name = "SYMBOL")]
    #[serde(
        alias = "symbol",
        alias = "path",
        alias = "typeId",
        alias = "memberPath",
        alias = "memberId",
        alias = "id",
        deserialize_with = "arguments::symbols"
    )]
    pub symbols: Vec<String>,
    /// Also as data: what //types/SYMBOL:outline-info holds.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
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
    state: State,
}

impl Method for Outline {
    const NAME: &'static str = "outline";
    const ALSO: &'static [&'static str] = &["GetOutline", "GetMemberOutline"];
    const EFFECT: Effect = Effect::Looks;
    const WITHIN: bool = true;
    type Answer = Outlines;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Outlines, Failed> {
        let mut shown: Vec<(String, Vec<u8>)> = Vec::new();
        let context = desk.context;
        if self.last_good {
            let labels: Vec<String> = self.symbols.iter().map(|symbol| label(symbol)).collect();
            let (_, session) = desk.open()?;
            for label in &labels {
                let found = last_good::find(context, session, Self::NAME, label)?;
                shown.push((found.label, found.bytes.to_vec()));
            }
        } else {
            let labels = self.meant(desk)?;
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
            let (resolved, files) = resolved(desk, &label)?;
            let state = State::default().of_files(&*desk.flaws()?, files.iter());
            outlines.push(One {
                state: if self.last_good {
                    state.as_of(Freshness::LastGood, "files of it may have moved since")
                } else {
                    state
                },
                resolved,
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
    /// The labels that the symbols mean. What the engine does not know by such a label is looked for among all names.
    fn meant(&self, desk: &mut Desk<'_>) -> Result<Vec<String>, Failed> {
        // Names are looked up among the types that there are.
        desk.output("//index:types")?;
        let mut labels = Vec::with_capacity(self.symbols.len());
        for symbol in &self.symbols {
            let label = label(symbol);
            let known = match build::patterns(std::slice::from_ref(&label)) {
                Ok(patterns) => desk.open()?.1.survey(patterns.patterns(), Reach::Named)?.refused.is_empty(),
                Err(failed) if symbol.starts_with("//") => return Err(failed),
                Err(_) => false,
            };
            if !known && symbol.starts_with("//") {
                let context = desk.context;
                let (workspace, session) = desk.open()?;
                last_good::remark_missing(context, workspace, session, Some(Self::NAME), &label)?;
            }
            match known || symbol.starts_with("//") {
                true => labels.push(label),
                false => labels.extend(found_by_name(desk, Self::NAME, symbol, "outline")?),
            }
        }
        Ok(labels)
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
    Ok(to_json(&desk.output(&format!("{package}:outline-info"))?.bytes))
}
