//! `clean`: deletes the files below `.cortex/out`.

use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{format_size, plural};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::clean::Removed;

/// Delete the files below `.cortex/out`. Their results stay in the store: the next build writes the files again.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clean {}

impl Method for Clean {
    const NAME: &'static str = "clean";
    const EFFECT: Effect = Effect::Sets;
    const SERVED: bool = false;
    type Answer = Removed;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Removed, Failed> {
        // Locks the checkout, so that no build writes these files at the same time.
        let workspace = desk.context.building(Self::NAME)?;
        workbench::clean::clean(&workspace.root).map_err(|error| {
            let why = Diagnostic::error(ErrorCode::E_WRITE, format!(".cortex/out cannot be deleted: {error}"));
            Failed::new(Code::Io, why.hint("check the permissions of the folder, or delete it by hand"))
        })
    }

    fn text(removed: &Removed) -> String {
        let (files, bytes) = (plural(removed.files, "file"), format_size(removed.bytes));
        format!("deleted {files} ({bytes}) below .cortex/out; the results stay in the store\n")
    }
}
