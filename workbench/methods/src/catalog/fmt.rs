//! `fmt`: formats `cortex.toml`.

use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::init::write_manifest;
use workbench::location::MANIFEST;
use workbench::manifest_format::format_manifest;

/// Format `cortex.toml`: spaces and blank lines. Comments and the order of keys stay.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fmt {
    /// Write nothing; exit with 1 if the file is not formatted.
    #[arg(long)]
    #[serde(default)]
    check: bool,
}

/// Whether the manifest was formatted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FormatChange {
    /// Whether the formatting differs.
    changed: bool,
    /// Whether the file was written.
    written: bool,
}

impl Method for Fmt {
    const NAME: &'static str = "fmt";
    const EFFECT: Effect = Effect::Writes;
    const SERVED: bool = false;
    type Answer = FormatChange;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<FormatChange, Failed> {
        let workspace = desk.context.workspace(Self::NAME)?;
        // Report errors of the manifest as a build does; an unusable manifest is not changed.
        workspace.manifest()?;
        let formatted = format_manifest(workspace.text()).map_err(|error| {
            let why = Diagnostic::error(ErrorCode::E_SYNTAX, error.message().to_owned());
            Failed::new(Code::Usage, why.hint("run cortex check"))
        })?;
        let changed = formatted != workspace.text();
        let written = changed && !self.check;
        if written {
            write_manifest(&workspace.root.join(MANIFEST), &formatted).map_err(|error| {
                let why = Diagnostic::error(ErrorCode::E_WRITE, format!("cortex.toml cannot be written: {error}"));
                Failed::new(Code::Io, why.hint("check the permissions of the folder"))
            })?;
        } else if changed {
            desk.worsen(Code::TargetFailed);
        }
        Ok(FormatChange { changed, written })
    }

    fn text(answer: &FormatChange) -> String {
        let text = match (answer.changed, answer.written) {
            (false, _) => "cortex.toml is formatted\n",
            (true, false) => "cortex.toml is not formatted: run cortex fmt\n",
            (true, true) => "formatted cortex.toml\n",
        };
        text.to_owned()
    }
}
