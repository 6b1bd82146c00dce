//! `cortex init`: writes a manifest for the current folder.

use super::show;
use crate::cli::InitArgs;
use crate::command_context::CommandContext;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::failed::{Failed, Outcome};
use methods::render::printable;
use std::fmt::Write as _;
use std::io::Write as _;
use workbench::code_survey::CodeSurvey;
use workbench::init::{InitError, init};

/// Runs `cortex init`.
pub fn run_init(context: &CommandContext, args: &InitArgs) -> Outcome {
    let found = init(&context.global.directory, args.force).map_err(|error| match &error {
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
    if context.prints_json() {
        let foreign: Vec<_> = code
            .foreign
            .iter()
            .map(|(folder, files)| serde_json::json!({"folder": folder, "files": files}))
            .collect();
        let written = serde_json::json!({
            "written": "cortex.toml", "name": found.name, "basis": found.basis, "files": code.files, "projects": code.projects,
            "generated": code.generated, "tests": code.tests, "copies": code.copies, "foreign": foreign,
        });
        return show::outcome_of_write(writeln!(context.stdout(), "{written}"));
    }
    show::outcome_of_write(write!(
        context.stdout(),
        "wrote cortex.toml for '{}' ({})\n{}",
        found.name,
        found.basis,
        describe_code(code)
    ))
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
            methods::render::format_count(count as u64),
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
            .map(|(count, what)| format!("{} {what}", methods::render::format_count(*count as u64))),
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
