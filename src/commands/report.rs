//! `cortex report`: one page of HTML about this checkout.

use super::output_file::{replaceable, write_atomically};
use super::show;
use crate::cli::ReportArgs;
use crate::command_context::CommandContext;
use methods::desk::{last_good, names};
use methods::failed::Outcome;
use methods::render::{format_count, format_size, report};
use std::io::Write;
use workbench::report::Report;

/// Runs `cortex report`.
pub fn run_report(context: &CommandContext, args: &ReportArgs) -> Outcome {
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
    let text = if context.prints_json() {
        let document = serde_json::json!({"path": path, "bytes": page.len(), "near": near, "drawn": nodes, "builds": found.builds.len(), "targets": found.targets.len()});
        format!("{document:#}\n")
    } else {
        let drawn = near.map(|near| format!(", {} nodes near {}", format_count(nodes as u64), methods::render::printable(&near)));
        format!("{path}: {}{}\n", format_size(page.len() as u64), drawn.unwrap_or_default())
    };
    show::outcome_of_write(write!(context.stdout(), "{text}"))
}
