//! `cortex fmt`: formats `cortex.toml`.

use super::show;
use crate::cli::FmtArgs;
use crate::command_context::CommandContext;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::failed::{Failed, Outcome};
use std::io::Write as _;
use workbench::init::write_manifest;
use workbench::location::MANIFEST;
use workbench::manifest_format::format_manifest;

/// Runs `cortex fmt`. With `--check`, writes nothing and exits with 1 if the manifest is not formatted.
pub fn run_fmt(context: &CommandContext, args: &FmtArgs) -> Outcome {
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
    let text = match (context.prints_json(), is_same, args.check) {
        (true, ..) => serde_json::json!({"changed": !is_same, "written": !is_same && !args.check}).to_string(),
        (_, true, _) => "cortex.toml is formatted".to_owned(),
        (_, _, true) => "cortex.toml is not formatted: run cortex fmt".to_owned(),
        (_, _, false) => "formatted cortex.toml".to_owned(),
    };
    show::outcome_of_write(writeln!(context.stdout(), "{text}"))?;
    Ok(if args.check && !is_same { Code::TargetFailed } else { Code::Ok })
}
