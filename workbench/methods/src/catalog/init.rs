//! `init`: writes a manifest for the current folder.

use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{format_count, printable};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use workbench::code_survey::CodeSurvey;
use workbench::init::{InitError, Initialised, init};

/// Write a manifest for this folder.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Init {
    /// Replace an existing manifest, or create a workspace inside another one.
    #[arg(long)]
    #[serde(default)]
    force: bool,
}

impl Method for Init {
    const NAME: &'static str = "init";
    const EFFECT: Effect = Effect::Writes;
    const SERVED: bool = false;
    type Answer = Initialised;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Initialised, Failed> {
        init(&desk.context.settings().directory, self.force).map_err(|error| {
            let (code, name, hint) = match &error {
                InitError::Exists(_) => (Code::Usage, ErrorCode::E_EXISTS, "edit it, or replace it with --force"),
                InitError::Within(_) => (
                    Code::Usage,
                    ErrorCode::E_EXISTS,
                    "commands work here without another manifest; --force creates a workspace inside the other",
                ),
                InitError::Io { .. } => (Code::Io, ErrorCode::E_WRITE, "check the folder's permissions"),
            };
            Failed::new(code, Diagnostic::error(name, error.to_string()).hint(hint))
        })
    }

    fn text(answer: &Initialised) -> String {
        let code = describe_code(&answer.code);
        format!("wrote cortex.toml for '{}' ({})\n{code}", answer.name, answer.basis)
    }
}

/// Describes the code found, the parts of the manifest that may be removed, and the next step.
fn describe_code(code: &CodeSurvey) -> String {
    if code.files == 0 {
        return "no C# files were found, so no targets exist yet; next: write rules of your own (the file ends with an example), or add \
                rulesets = [\"csharp\"] once there is C#\n"
            .to_owned();
    }
    let number = |count: usize, one: &str, many: &str| format!("{} {}", format_count(count as u64), if count == 1 { one } else { many });
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
            .map(|(count, what)| format!("{} {what}", format_count(*count as u64))),
    );
    let mut text = format!("found  {}\n", parts.join(", "));
    for one in &code.foreign {
        let files = number(one.files, "file", "files");
        let _ = writeln!(
            text,
            "maybe  exclude {}/** ({files}): cortex.toml has the line to uncomment",
            printable(&one.folder)
        );
    }
    text.push_str("next   cortex build\n");
    text
}
