//! `operation`: progress of an investigation.

use super::{Effect, Method, investigate};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{Style, diagnostic, printable};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use producers::investigate::Findings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workbench::investigation;

/// Show the progress of a background operation.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationOf {
    /// Its identifier.
    #[serde(alias = "id")]
    pub op_id: String,
    /// Number of events to skip from the first.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[serde(default)]
    pub since: usize,
}

/// Progress of an operation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    op_id: String,
    /// `gathering`, `asking`, `done` or `failed`.
    state: String,
    /// Events, one sentence each.
    events: Vec<String>,
    /// Whether the operation has ended.
    finished: bool,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// The reason of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

impl Method for OperationOf {
    const NAME: &'static str = "operation";
    const ALSO: &'static [&'static str] = &["StreamOp"];
    const EFFECT: Effect = Effect::Reads;
    type Answer = Progress;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Progress, Failed> {
        let unknown = || {
            let why = Diagnostic::error(ErrorCode::E_NO_OPERATION, "there is no operation of this identifier").found(self.op_id.clone());
            Failed::new(Code::Usage, why.hint("`investigate` gives the identifier"))
        };
        let root = desk.context.root_around().ok_or_else(unknown)?;
        let operation = investigation::read_operation(&root, &self.op_id).ok_or_else(unknown)?;
        let text = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
        let events = operation["events"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let state = text("state");
        Ok(Progress {
            op_id: text("opId"),
            events: events.skip(self.since).map(str::to_owned).collect(),
            finished: matches!(state.as_str(), "done" | "failed"),
            state,
            result: operation.get("result").cloned(),
            error: operation.get("error").cloned(),
        })
    }

    fn text(answer: &Progress) -> String {
        let mut text = format!("{}: {}\n", answer.op_id, answer.state);
        for event in &answer.events {
            text.push_str(&format!("  {event}\n"));
        }
        let findings = answer.result.as_ref().and_then(|result| Findings::deserialize(result).ok());
        if let Some(findings) = findings {
            text.push_str(&format!("\n{}", investigate::format_findings(&findings, &[], Style::plain())));
        }
        if let Some(error) = &answer.error {
            text.push_str(&format!(
                "\n{}\n",
                diagnostic::format_diagnostic(&diagnostic::from_json(error), Style::plain())
            ));
        }
        printable(&text)
    }
}
