//! `report`: one page of HTML about this checkout.

use super::{Effect, Method};
use crate::desk::output_file::{a_file, replaceable, write_atomically};
use crate::desk::{Desk, last_good, names};
use crate::failed::Failed;
use crate::render::{format_count, format_size, printable, report};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use workbench::report::Report;

/// Write one page of HTML about this checkout: builds, graph, versions, targets. Runs nothing.
///
/// The page needs no network and no other file. It contains labels, paths, and lines of outputs and sources.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteReport {
    /// The file to write; an existing file is replaced.
    #[arg(value_name = "OUT.html", value_parser = a_file)]
    out: PathBuf,
    /// Draw the graph near this target [default: the one whose output changed most often].
    #[arg(long, value_name = "LABEL")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    near: Option<String>,
}

/// The written page.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct WrittenPage {
    /// Its path.
    path: String,
    /// Its length.
    bytes: u64,
    /// Label of the target in the middle of the graph, if there is one.
    near: Option<String>,
    /// Number of drawn nodes.
    drawn: u64,
    /// Number of builds.
    builds: usize,
    /// Number of rows in the table of targets.
    targets: usize,
}

impl Method for WriteReport {
    const NAME: &'static str = "report";
    const EFFECT: Effect = Effect::Acts;
    const SERVED: bool = false;
    type Answer = WrittenPage;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<WrittenPage, Failed> {
        let context = desk.context;
        let workspace = context.workspace(Self::NAME)?;
        let near = self.near.as_deref().map(|near| {
            let mut session = workspace.session()?;
            names::one_label(&mut session, near, "drawn near").or_else(|failed| {
                last_good::remark_missing(context, &workspace, &session, None, near)?;
                Err(failed)
            })
        });
        let found = Report::gather(&workspace, near.transpose()?.as_deref())?;
        context.say_of_manifest(&workspace);
        // Release the store while the page is rendered and written.
        context.release_locks();
        let page = report::report_page(&found);
        replaceable(&self.out, |head| head.starts_with(b"<!doctype html>"))?;
        write_atomically(&self.out, page.as_bytes())?;
        let near = found.near.as_ref();
        Ok(WrittenPage {
            path: self.out.display().to_string(),
            bytes: page.len() as u64,
            near: near.map(|near| found.targets[near.nodes[0].target].label.to_string()),
            drawn: near.map_or(0, |near| near.nodes.len() as u64),
            builds: found.builds.len(),
            targets: found.targets.len(),
        })
    }

    fn text(answer: &WrittenPage) -> String {
        let drawn = |near: &String| format!(", {} nodes near {}", format_count(answer.drawn), printable(near));
        let drawn = answer.near.as_ref().map(drawn).unwrap_or_default();
        format!("{}: {}{drawn}\n", answer.path, format_size(answer.bytes))
    }
}
