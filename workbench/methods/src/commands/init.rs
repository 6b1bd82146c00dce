//! `cortex init`: writes a manifest for the current folder.

use super::CommandAnswer;
use crate::code::Code;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::printable;
use clap::Args;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::fmt::Write as _;
use workbench::code_survey::CodeSurvey;
use workbench::init::{InitError, init};

/// Write a manifest for this folder.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Replace an existing manifest, or create a workspace inside another one.
    #[arg(long)]
    pub force: bool,
}

/// Runs `cortex init`.
///
/// # Errors
/// When there is a manifest already, or it cannot be written.
pub fn run_init(context: &RequestContext, args: &InitArgs) -> Result<CommandAnswer, Failed> {
    let found = init(&context.settings().directory, args.force).map_err(|error| match &error {
        InitError::Exists(_) => Failed::new(
            Code::Usage,
            Diagnostic::error(ErrorCode::E_EXISTS, error.to_string()).hint("edit it, or replace it with --force"),
        ),
        InitError::Within(_) => Failed::new(
            Code::Usage,
            Diagnostic::error(ErrorCode::E_EXISTS, error.to_string())
                .hint("commands work here without another manifest; --force creates a workspace inside the other"),
        ),
        InitError::Io { .. } => Failed::new(
            Code::Io,
            Diagnostic::error(ErrorCode::E_WRITE, error.to_string()).hint("check the folder's permissions"),
        ),
    })?;
    let code = &found.code;
    let foreign = code.foreign.iter();
    let foreign: Vec<_> = foreign
        .map(|(folder, files)| serde_json::json!({"folder": folder, "files": files}))
        .collect();
    let written = serde_json::json!({
        "written": "cortex.toml", "name": found.name, "basis": found.basis, "files": code.files, "projects": code.projects,
        "generated": code.generated, "tests": code.tests, "copies": code.copies, "foreign": foreign,
    });
    let text = format!("wrote cortex.toml for '{}' ({})\n{}", found.name, found.basis, describe_code(code));
    Ok(CommandAnswer::of_line(text.trim_end_matches('\n'), &written))
}

/// Describes the code found, the parts of the manifest that may be removed, and the next step.
fn describe_code(code: &CodeSurvey) -> String {
    if code.files == 0 {
        return "no C# files were found, so no targets exist yet; next: write rules of your own (the file ends with an example), or add \
                rulesets = [\"csharp\"] once there is C#\n"
            .to_owned();
    }
    let number = |count: usize, one: &str, many: &str| {
        format!(
            "{} {}",
            crate::render::format_count(count as u64),
            if count == 1 { one } else { many }
        )
    };
    let mut parts = vec![
        number(code.files, "C# file", "C# files"),
        number(code.projects, "project", "projects"),
    ];
    let further = [
        (code.tests, "in folders of tests"),
        (code.generated, "generated"),
        (code.copies, "with the bytes of another file"),
    ];
    parts.extend(
        further
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", crate::render::format_count(*count as u64))),
    );
    let mut text = format!("found  {}\n", parts.join(", "));
    for (folder, files) in &code.foreign {
        let files = number(*files, "file", "files");
        let _ = writeln!(
            text,
            "maybe  exclude {}/** ({files}): cortex.toml has the line to uncomment",
            printable(folder)
        );
    }
    text.push_str("next   cortex build\n");
    text
}
