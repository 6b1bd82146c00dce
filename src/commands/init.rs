//! `cortex init`: writes a manifest for the folder it stands in.

use super::show;
use crate::cli::InitArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use engine::values::diagnostic::Diagnostic;
use std::io::Write;
use workbench::init::{InitError, init};

/// Runs it.
pub fn run(context: &Context, args: &InitArgs) -> Outcome {
    let found = init(&context.global.directory, args.force).map_err(|error| match &error {
        InitError::Exists(_) => Failed::new(
            Code::Usage,
            Diagnostic::error("E_EXISTS", error.to_string()).hint("edit it, or replace it with --force"),
        ),
        InitError::Io { .. } => Failed::new(
            Code::Io,
            Diagnostic::error("E_WRITE", error.to_string()).hint("check the folder's permissions"),
        ),
    })?;
    if context.json() {
        let written = serde_json::json!({"written": "cortex.toml", "name": found.name, "basis": found.basis, "files": found.files});
        return show::written(writeln!(context.stdout(), "{written}"));
    }
    let next = match found.files {
        0 => "no C# files were found, so no targets exist yet; next: write rules of your own (the file ends with an example), or \
              add rulesets = [\"csharp\"] once there is C#"
            .to_owned(),
        number => format!(
            "{} C# {}; next: cortex build '//types/...:outline'",
            crate::render::count(number as u64),
            if number == 1 { "file" } else { "files" }
        ),
    };
    show::written(writeln!(
        context.stdout(),
        "wrote cortex.toml for '{}' ({})\n{next}",
        found.name,
        found.basis
    ))
}
