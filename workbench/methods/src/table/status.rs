//! `status`: the state of the workspace and its service.

use super::status_text::format_status;
use super::{AsTool, Effect, Method};
use crate::desk::Desk;
use crate::desk::figures::Service;
use crate::failed::Failed;
use crate::render::{Style, diagnostic};
use engine::build::outlook::Outlook;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use workbench::edit::counts::EditCounts;
use workbench::status::Counts;

/// Show how the workspace stands: sources, targets, summaries, store, service. Runs nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Print every note and warning about current targets. A build prints only the first ones.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub notes: bool,
}

/// How it stands.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceStatus {
    /// `[workspace] name`.
    pub name: String,
    /// The folder of the manifest.
    pub root: String,
    /// The store, if there is one.
    pub store: Option<StoreFigures>,
    /// Source files.
    pub files: usize,
    /// Those that came, went or changed since the last build.
    pub changed: Vec<String>,
    /// Whether the manifest, a ruleset or a producer's version changed since the last build.
    pub redefined: bool,
    /// Nodes known.
    pub nodes: usize,
    /// Nodes by target name and state.
    #[schemars(with = "Value")]
    pub targets: BTreeMap<String, Counts>,
    /// What building all of them would run.
    #[schemars(with = "Value")]
    pub outlook: Outlook,
    /// Types by the state of their summary.
    #[schemars(with = "Value")]
    pub semantic: Counts,
    /// Why targets failed at their present inputs.
    pub failures: Vec<Value>,
    /// What producers said of what is current.
    pub diagnostics: Vec<Value>,
    /// Whether all of that is printed.
    #[serde(default)]
    pub notes: bool,
    /// Projects that could not be evaluated as a whole, in one sentence; `doctor` explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    /// Edits of the checkout so far.
    #[serde(default)]
    pub edits: EditCounts,
    /// The service, when it is what answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
}

/// The store in numbers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct StoreFigures {
    /// Where it is.
    pub folder: String,
    /// Length of its file.
    pub file_bytes: u64,
    /// Outputs in it.
    pub blobs: u64,
    /// Results.
    pub actions: u64,
    /// Versions in History.
    pub history_versions: u64,
    /// Files of damaged stores that were set aside beside it.
    #[serde(default)]
    pub set_aside_files: u64,
    /// Their length.
    #[serde(default)]
    pub set_aside_bytes: u64,
}

impl Method for Status {
    const NAME: &'static str = "status";
    const ALSO: &'static [&'static str] = &["Status"];
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Under("status");
    type Answer = WorkspaceStatus;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<WorkspaceStatus, Failed> {
        let (service, context) = (desk.service(), desk.context);
        let (workspace, session) = desk.open_to_read()?;
        let found = workbench::status::status(workspace, session)?;
        let folder = workspace.store_folder.as_ref();
        let store = found.usage.as_ref().zip(folder).map(|(usage, folder)| StoreFigures {
            folder: folder.display().to_string(),
            file_bytes: usage.file_bytes,
            blobs: usage.blobs,
            actions: usage.actions,
            history_versions: usage.history_versions,
            set_aside_files: usage.set_aside_files,
            set_aside_bytes: usage.set_aside_bytes,
        });
        Ok(WorkspaceStatus {
            root: workspace.root.display().to_string(),
            store,
            service: service.map(|service| service.with_status(&found)),
            edits: found.edits,
            name: found.name,
            files: found.files,
            changed: found.changed,
            redefined: found.redefined,
            nodes: found.nodes,
            targets: found.targets,
            outlook: found.outlook,
            semantic: found.semantic,
            notes: self.notes,
            health: found.health.line(),
            failures: context.placed(&found.failures).iter().map(diagnostic::diagnostic_json).collect(),
            diagnostics: found.diagnostics.iter().map(diagnostic::diagnostic_json).collect(),
        })
    }

    fn text(answer: &WorkspaceStatus) -> String {
        format_status(answer, Style::plain())
    }

    fn styled(answer: &WorkspaceStatus, style: Style) -> String {
        format_status(answer, style)
    }
}
