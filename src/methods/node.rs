//! `node`: any target of the graph, whatever rule makes it: its output, why it stands as it does, what it was, what it costs.

use super::{AsTool, Effect, Method};
use crate::cli::{AskingArgs, GraphForm, Since};
use crate::commands::{build, cost, diff, explain, history, query, show};
use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use crate::render::{Style, explanation, graph, printable, versions};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::build::query::{NodeState, Reach};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::table::{Table, to_json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which version of an output is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Freshness {
    /// The present one, made first if need be.
    Strong,
    /// The last one, with its state.
    Any,
}

/// Give the output of a target, made first if need be.
///
/// With `--param` its producer has other parameters for this request: they are part of the key, and nothing of the checkout changes.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Get {
    /// A label, as in `//types/NodeStore:outline`.
    pub label: String,
    /// `strong`: as the sources are now; `any`: as last made [default: any for what a model makes, else strong].
    #[arg(long, value_name = "FRESHNESS")]
    #[schemars(extend("x-tool" = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<Freshness>,
    /// A parameter of its producer, NAME=VALUE; VALUE is JSON, or else text.
    #[arg(long = "param", value_name = "NAME=VALUE")]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub params: Vec<String>,
    #[command(flatten)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub asking: AskingArgs,
}

/// An output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    label: String,
    /// `current`, `stale`, `maybe_stale`, `pending` or `none`.
    node_state: String,
    /// Digest of the output.
    digest: String,
    /// The output: text, a table as an object, or bytes in base64 (`encoding` says so).
    output: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
}

impl Output {
    fn new(shown: &show::Shown, state: NodeState) -> Self {
        let is_text = Table::is_table(&shown.bytes) || std::str::from_utf8(&shown.bytes).is_ok();
        Self {
            label: shown.label.clone(),
            node_state: state_word(state),
            digest: shown.digest.to_string(),
            output: match is_text {
                true => to_json(&shown.bytes),
                false => STANDARD.encode(&shown.bytes).into(),
            },
            encoding: (!is_text).then(|| "base64".to_owned()),
        }
    }
}

fn state_word(state: NodeState) -> String {
    state.word().replace(' ', "_")
}

impl Method for Get {
    const NAME: &'static str = "node get";
    const ALSO: &'static [&'static str] = &["GetOrBuild"];
    const EFFECT: Effect = Effect::Reads;
    const ASKS: bool = true;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Output;

    fn reads(&self) -> bool {
        self.freshness != Some(Freshness::Strong)
    }

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Output, Failed> {
        let context = desk.context;
        desk.ask(self.asking.clone());
        let patterns = build::patterns(std::slice::from_ref(&self.label))?;
        // Which targets there are of a set is known once that was built.
        if !desk.open()?.1.survey(patterns.patterns(), Reach::Named)?.unknown.is_empty() {
            desk.settle_free(&self.label)?;
        }
        let (workspace, session) = desk.open()?;
        if !self.params.is_empty() {
            let params = self.params.iter().map(|text| parameter(text)).collect::<Result<_, _>>()?;
            let label = history::meant(session, &self.label, "given")?;
            let mut other = workspace.session_with(session, &label, params)?.map_err(|diagnostics| Failed {
                code: Code::Usage,
                diagnostics,
            })?;
            let (shown, code) = show::made(context, &mut other, &label)?;
            desk.worsen(code);
            return Ok(Output::new(&shown, NodeState::Current));
        }
        let label = history::meant(session, &self.label, "given")?;
        let usual = match workbench::paid::is_paid(session, &label) {
            true => Freshness::Any,
            false => Freshness::Strong,
        };
        if self.freshness.unwrap_or(usual) == Freshness::Any
            && let Some(shown) = show::as_it_is(context, session, &label, self.freshness == Some(Freshness::Any))?
        {
            let state = session.standing(&label)?.unwrap_or(NodeState::None);
            return Ok(Output::new(&shown, state));
        }
        let shown = desk.output(&label)?;
        Ok(Output::new(&shown, NodeState::Current))
    }

    fn text(answer: &Output) -> String {
        match &answer.output {
            Value::String(text) => printable(text),
            other => format!("{other:#}\n"),
        }
    }
}

fn parameter(text: &str) -> Result<(String, Value), Failed> {
    let wrong = || {
        let why = Diagnostic::error(ErrorCode::E_PARAM, "a parameter is written NAME=VALUE").found(text);
        Failed::new(Code::Usage, why.hint("as in --param length=3"))
    };
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((name.to_owned(), value))
}

/// What is known of a target: the same for people and for programs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// For people and models.
    pub text: String,
    /// For programs: the document of the command with --output json.
    pub document: Value,
}

/// Say why a target stands as it does: its state, which input changed, down to a file. Makes nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Why {
    /// A label.
    pub label: String,
}

impl Method for Why {
    const NAME: &'static str = "node why";
    const ALSO: &'static [&'static str] = &["explain"];
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Page;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Page, Failed> {
        let context = desk.context;
        let (workspace, session) = desk.look()?;
        let found = explain::explain_target(context, workspace, session, &self.label)?;
        Ok(Page {
            text: explanation::text(&found.explanation, &found.origin, &found.former, Style::plain()),
            document: found.json(),
        })
    }

    fn text(answer: &Page) -> String {
        answer.text.clone()
    }
}

/// Ask the graph: patterns, `deps(…)`, `rdeps(…)`, `stale(…)`, joined by + - ^. Makes nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Query {
    /// The query, as of `cortex query`.
    pub expr: String,
}

impl Method for Query {
    const NAME: &'static str = "node query";
    const ALSO: &'static [&'static str] = &["query"];
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Page;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Page, Failed> {
        let context = desk.context;
        let (_, session) = desk.look()?;
        let found = query::answer_query(context, session, &self.expr, true)?;
        Ok(Page {
            text: graph::text(&found, GraphForm::Label),
            document: graph::json(&found),
        })
    }

    fn text(answer: &Page) -> String {
        answer.text.clone()
    }
}

/// List the versions of a target: when each came to be, of what, and what it cost.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct History {
    /// A label.
    pub label: String,
}

impl Method for History {
    const NAME: &'static str = "node history";
    const ALSO: &'static [&'static str] = &["history"];
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Page;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Page, Failed> {
        let context = desk.context;
        let (workspace, session) = desk.look()?;
        let (label, found) = history::of(context, workspace, session, &self.label)?;
        Ok(Page {
            text: versions::list(&label, &found, Style::plain()),
            document: versions::json(&label, &found),
        })
    }

    fn text(answer: &Page) -> String {
        answer.text.clone()
    }
}

/// Show what two versions of a target, and their inputs, differ in.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Diff {
    /// A label.
    pub label: String,
    /// The older version, by its number in the history [default: the one before the other].
    #[arg(long, value_name = "VERSION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub from: Option<i64>,
    /// The newer version [default: the last].
    #[arg(long, value_name = "VERSION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub to: Option<i64>,
}

impl Method for Diff {
    const NAME: &'static str = "node diff";
    const ALSO: &'static [&'static str] = &["diff"];
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Page;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Page, Failed> {
        let context = desk.context;
        let (workspace, session) = desk.look()?;
        diff::compare_versions(context, workspace, session, (&self.label, self.from, self.to), |difference| Page {
            text: versions::difference(difference, Style::plain()),
            document: versions::difference_json(difference),
        })
    }

    fn text(answer: &Page) -> String {
        answer.text.clone()
    }
}

/// Say what models cost this checkout, and what filed answers saved.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cost {
    /// From when on: a day (year-month-day), or a span (`7d`, `12h`).
    #[arg(long, value_name = "WHEN")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub since: Option<String>,
}

impl Method for Cost {
    const NAME: &'static str = "node cost";
    const ALSO: &'static [&'static str] = &["cost"];
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Page;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Page, Failed> {
        let since = self.since.as_deref().map(Since::parse).transpose();
        let since =
            since.map_err(|hint| Failed::new(Code::Usage, Diagnostic::error(ErrorCode::E_PARAM, "'since' is no time").hint(hint)))?;
        let (text, document) = cost::pages(desk.look()?.1, since, Style::plain())?;
        Ok(Page { text, document })
    }

    fn text(answer: &Page) -> String {
        answer.text.clone()
    }
}

/// Mark targets for making again, although their results are filed under their present keys. Says what that costs; makes nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Invalidate {
    /// A label, a pattern, or a source file: what reads it.
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
    const NAME: &'static str = "node invalidate";
    const ALSO: &'static [&'static str] = &["invalidate"];
    const EFFECT: Effect = Effect::Sets;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Invalidated;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Invalidated, Failed> {
        let context = desk.context;
        let text = match self.label.starts_with("//") {
            true => self.label.clone(),
            false => engine::build::file_label(&self.label),
        };
        let patterns = build::patterns(std::slice::from_ref(&text))?;
        let (_, session) = desk.open()?;
        let survey = session.survey(patterns.patterns(), Reach::Named)?;
        if !survey.refused.is_empty() {
            return Err(Failed {
                code: Code::Usage,
                diagnostics: survey.refused,
            });
        }
        let labels = session.invalidate(&patterns, &survey.meant.concat())?;
        if labels.is_empty() {
            let why = Diagnostic::error(ErrorCode::E_NO_OUTPUT, "nothing that it means was ever made").found(&self.label);
            return Err(Failed::new(
                Code::Usage,
                why.hint("what was never made is made when it is asked for"),
            ));
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
        let number = |number: usize| crate::render::count(number as u64);
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_parameter_is_json_or_text() {
        let read = |text: &str| parameter(text).ok();
        assert_eq!(read("length=3"), Some(("length".to_owned(), json!(3))));
        assert_eq!(read("name=a=b"), Some(("name".to_owned(), json!("a=b"))));
        assert_eq!(read("docs=true"), Some(("docs".to_owned(), json!(true))));
        assert_eq!(read("=3"), None);
        assert_eq!(read("length"), None);
    }
}
