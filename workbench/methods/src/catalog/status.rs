//! `status`: the state of the workspace and its service.

use super::status_answer::{StoreFigures, WorkspaceStatus, format_status};
use super::{AsTool, Effect, Method};
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{Style, diagnostic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Show the state of the workspace: sources, targets, summaries, store, service. Runs nothing.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Print every note and warning about current targets. A build prints only the first ones.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub notes: bool,
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
