//! `cortex fmt`: formats `cortex.toml`.

use super::CommandAnswer;
use crate::code::Code;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use clap::Args;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use workbench::init::write_manifest;
use workbench::location::MANIFEST;
use workbench::manifest_format::format_manifest;

/// Format `cortex.toml`: spaces and blank lines. Comments and the order of keys stay.
#[derive(Debug, Args)]
pub struct FmtArgs {
    /// Write nothing; exit with 1 if the file is not formatted.
    #[arg(long)]
    pub check: bool,
}

/// Runs `cortex fmt`. With `--check`, writes nothing and exits with 1 if the manifest is not formatted.
///
/// # Errors
/// When the manifest is wrong, or cannot be written.
pub fn run_fmt(context: &RequestContext, args: &FmtArgs) -> Result<CommandAnswer, Failed> {
    let workspace = context.workspace("fmt")?;
    // Report errors of the manifest as a build does; an unusable manifest is not changed.
    workspace.manifest()?;
    let text = workspace.text();
    let formatted = format_manifest(text).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_SYNTAX, error.message().to_owned());
        Failed::new(Code::Usage, why.hint("run cortex check"))
    })?;
    let is_same = formatted == text;
    if !is_same && !args.check {
        write_manifest(&workspace.root.join(MANIFEST), &formatted).map_err(|error| {
            let why = Diagnostic::error(ErrorCode::E_WRITE, format!("cortex.toml cannot be written: {error}"));
            Failed::new(Code::Io, why.hint("check the permissions of the folder"))
        })?;
    }
    let text = match (is_same, args.check) {
        (true, _) => "cortex.toml is formatted",
        (_, true) => "cortex.toml is not formatted: run cortex fmt",
        (_, false) => "formatted cortex.toml",
    };
    let document = serde_json::json!({"changed": !is_same, "written": !is_same && !args.check});
    let code = if args.check && !is_same { Code::TargetFailed } else { Code::Ok };
    Ok(CommandAnswer::of_line(text, &document).with_outcome(Ok(code)))
}
