//! `node get`: the output of any target of the graph.

use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::model_limits::AskingArgs;
use crate::desk::{build, names, one_output};
use crate::failed::Failed;
use crate::render::printable;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::build::query::{NodeState, Reach};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::table::{Table, to_json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workbench::status::target_status;

/// The requested version of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Freshness {
    /// The output of the present sources, built if necessary.
    Strong,
    /// The last output, with its state.
    Any,
}

/// Print the output of a target, built first if necessary.
///
/// `--param` changes a parameter of its producer for this request: parameters are part of the key, and the checkout stays unchanged.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Get {
    /// A label, as in `//types/NodeStore:outline`.
    pub label: String,
    /// `strong`: of the present sources; `any`: the last one [default: any for outputs of models, else strong].
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
    /// `current`, `stale`, `maybe_stale`, `pending`, `generating` or `none`.
    node_state: String,
    /// Digest of the output.
    digest: String,
    /// The output: text, a table as an object, or bytes in base64 (`encoding` says so).
    output: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
}

impl Output {
    fn new(shown: &one_output::LabelledOutput, state: NodeState) -> Self {
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
    state.as_str().replace(' ', "_")
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
        desk.limit_models(self.asking.clone());
        let patterns = build::patterns(std::slice::from_ref(&self.label))?;
        // The targets of a set are known only after its build.
        if !desk
            .open_to_build()?
            .1
            .survey(patterns.patterns(), Reach::Named)?
            .unknown
            .is_empty()
        {
            desk.settle_free(&self.label)?;
        }
        let (workspace, session) = desk.open_to_build()?;
        if !self.params.is_empty() {
            let params = self
                .params
                .iter()
                .map(|text| parse_node_parameter(text))
                .collect::<Result<_, _>>()?;
            let label = names::one_label(session, &self.label, "given")?;
            let mut other = workspace.session_with(session, &label, params)?.map_err(|diagnostics| Failed {
                code: Code::Usage,
                diagnostics,
            })?;
            let (shown, code) = one_output::make_output(context, &mut other, &label)?;
            desk.worsen(code);
            return Ok(Output::new(&shown, NodeState::Current));
        }
        let label = names::one_label(session, &self.label, "given")?;
        let usual = match workbench::paid::is_paid(session, &label) {
            true => Freshness::Any,
            false => Freshness::Strong,
        };
        if self.freshness.unwrap_or(usual) == Freshness::Any
            && let Some((shown, _)) = one_output::read_stored_output(context, session, &label, self.freshness == Some(Freshness::Any))?
        {
            let state = target_status(&workspace.root, session, &label)?.state;
            return Ok(Output::new(&shown, state));
        }
        let shown = desk.output_of_label(&label)?;
        Ok(Output::new(&shown, NodeState::Current))
    }

    fn text(answer: &Output) -> String {
        match &answer.output {
            Value::String(text) => printable(text),
            other => format!("{other:#}\n"),
        }
    }
}

fn parse_node_parameter(text: &str) -> Result<(String, Value), Failed> {
    let wrong = || {
        let why = Diagnostic::error(ErrorCode::E_PARAM, "a parameter is written NAME=VALUE").found(text);
        Failed::new(Code::Usage, why.hint("as in --param length=3"))
    };
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_parameter_is_json_or_text() {
        let read = |text: &str| parse_node_parameter(text).ok();
        assert_eq!(read("length=3"), Some(("length".to_owned(), json!(3))));
        assert_eq!(read("name=a=b"), Some(("name".to_owned(), json!("a=b"))));
        assert_eq!(read("docs=true"), Some(("docs".to_owned(), json!(true))));
        assert_eq!(read("=3"), None);
        assert_eq!(read("length"), None);
    }
}
