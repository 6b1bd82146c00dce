//! `cortex report`: one page of HTML about this checkout.

use super::CommandAnswer;
use super::output_file::a_file;
use super::output_file::{replaceable, write_atomically};
use crate::desk::request_context::RequestContext;
use crate::desk::{last_good, names};
use crate::failed::Failed;
use crate::render::{format_count, format_size, printable, report};
use clap::Args;
use std::path::PathBuf;
use workbench::report::Report;

/// Write one page of HTML about this checkout: builds, graph, versions, targets. Runs nothing.
///
/// The page needs no network and no other file. It contains labels, paths, and lines of outputs and sources.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The file to write; an existing file is replaced.
    #[arg(value_name = "OUT.html", value_parser = a_file)]
    pub out: PathBuf,
    /// Draw the graph near this target [default: the one whose output changed most often].
    #[arg(long, value_name = "LABEL")]
    pub near: Option<String>,
}

/// Runs `cortex report`.
///
/// # Errors
/// When the workspace cannot be read, or the file cannot be written.
pub fn run_report(context: &RequestContext, args: &ReportArgs) -> Result<CommandAnswer, Failed> {
    let workspace = context.workspace("report")?;
    let near = args
        .near
        .as_deref()
        .map(|near| {
            let mut session = workspace.session()?;
            names::one_label(&mut session, near, "drawn near").or_else(|failed| {
                last_good::remark_missing(context, &workspace, &session, None, near)?;
                Err(failed)
            })
        })
        .transpose()?;
    let found = Report::gather(&workspace, near.as_deref())?;
    context.say_of_manifest(&workspace);
    // Release the store while the page is rendered and written.
    context.release_locks();
    let page = report::report_page(&found);
    replaceable(&args.out, |head| head.starts_with(b"<!doctype html>"))?;
    write_atomically(&args.out, page.as_bytes())?;
    let nodes = found.near.as_ref().map_or(0, |near| near.nodes.len());
    let near = found.near.as_ref().map(|near| found.targets[near.nodes[0].target].label.clone());
    let path = args.out.display().to_string();
    let document = serde_json::json!({"path": path, "bytes": page.len(), "near": near, "drawn": nodes, "builds": found.builds.len(), "targets": found.targets.len()});
    let drawn = near.map(|near| format!(", {} nodes near {}", format_count(nodes as u64), printable(&near)));
    let text = format!("{path}: {}{}\n", format_size(page.len() as u64), drawn.unwrap_or_default());
    Ok(CommandAnswer::new(text, &document))
}
