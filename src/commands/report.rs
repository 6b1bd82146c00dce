//! `cortex report`: one page of HTML about this checkout.

use super::replaceable::replaceable;
use super::{last_good, names, show};
use crate::cli::ReportArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::{count, report, size};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use workbench::report::Report;

/// Runs it.
pub fn run(context: &Context, args: &ReportArgs) -> Outcome {
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
    context.say(workspace.warnings());
    // Others may have the store while the page is made and written.
    context.let_go();
    let page = report::page(&found);
    replaceable(&args.out, |head| head.starts_with(b"<!doctype html>"))?;
    write(&args.out, page.as_bytes())?;
    let nodes = found.near.as_ref().map_or(0, |near| near.nodes.len());
    let near = found.near.as_ref().map(|near| found.targets[near.nodes[0].target].label.clone());
    let path = args.out.display().to_string();
    let text = if context.json() {
        let document = serde_json::json!({"path": path, "bytes": page.len(), "near": near, "drawn": nodes, "builds": found.builds.len(), "targets": found.targets.len()});
        format!("{document:#}\n")
    } else {
        let drawn = near.map(|near| format!(", {} nodes near {}", count(nodes as u64), crate::render::printable(&near)));
        format!("{path}: {}{}\n", size(page.len() as u64), drawn.unwrap_or_default())
    };
    show::written(write!(context.stdout(), "{text}"))
}

/// Writes the page beside its place and puts it there whole; what is no file, as a pipe, is written to as it is.
fn write(path: &Path, page: &[u8]) -> Result<(), Failed> {
    let failed = |error: std::io::Error| {
        let why = Diagnostic::error(ErrorCode::E_WRITE, format!("{} cannot be written: {error}", path.display()));
        Failed::new(
            Code::Io,
            why.hint("check the folder and its permissions, or write the report elsewhere"),
        )
    };
    // A link is followed, so that what it points to is replaced and not the link.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let other = fs::metadata(&place).is_ok_and(|found| !found.is_file());
    let (Some(name), false) = (place.file_name(), other) else {
        return fs::write(&place, page).map_err(failed);
    };
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.new", std::process::id()));
    let beside: PathBuf = place.with_file_name(beside);
    let written = fs::write(&beside, page).and_then(|()| fs::rename(&beside, &place));
    if written.is_err() {
        // What is left of it is of no use; that it could not be written is told already.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(failed)
}
