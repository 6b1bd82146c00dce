//! `node builds`: the log of the builds of this checkout.

use super::{AsTool, Effect, Method};
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{Style, builds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// List the builds of this checkout with work, duration and cost, as `cortex log`.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Builds {
    /// Number of builds to list, from the newest.
    #[arg(short = 'n', long, value_name = "N", default_value_t = default_limit_of_node_builds())]
    #[serde(default = "default_limit_of_node_builds")]
    pub count: usize,
}

/// The builds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// The log as text.
    text: String,
    /// The log as data, as `cortex log --output json` prints it.
    document: Value,
}

fn default_limit_of_node_builds() -> usize {
    20
}

impl Method for Builds {
    const NAME: &'static str = "node builds";
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::None;
    type Answer = Listed;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Listed, Failed> {
        let workspace = desk.context.workspace("node builds")?;
        let mut found = workbench::builds::log(&*workspace.engine.store, workspace.engine.view)?;
        found.drain(..found.len().saturating_sub(self.count));
        Ok(Listed {
            text: builds::log(&found, Style::plain()),
            document: builds::log_json(&found),
        })
    }

    fn text(answer: &Listed) -> String {
        answer.text.clone()
    }
}
