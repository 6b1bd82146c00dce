//! `overlay put`, `overlay apply`: documents of overlays.

use super::overlay::replaceable_files;
use super::{AsTool, Effect, FileForm, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::failed::Failed;
use crate::render::{plural, printable};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::code_text::encoding::{Encoding, Form};
use workbench::overlay::patch::{self, Patched};
use workbench::overlay::put::{self, PutEffect};

/// Put a document into an overlay, in place of a file.
///
/// The base of a merge is the file as it was when the overlay was opened. If the file was changed, added or removed since, --onto-now is needed.
/// --delete removes the file, --drop removes the document from the overlay.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Put {
    /// The overlay.
    pub name: String,
    /// The file, from the workspace's root.
    #[schemars(extend("x-tool" = ""))]
    pub path: String,
    /// Text of the document, with its line ends.
    #[schemars(extend("x-tool" = ""))]
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Encoding of the text [default: that of the file; UTF-8 for a new file].
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<WrittenAs>,
    /// Remove the file.
    #[arg(long, conflicts_with = "drop")]
    #[serde(default)]
    pub delete: bool,
    /// Remove the document, so that the overlay shows the file again.
    #[arg(long)]
    #[serde(default)]
    pub drop: bool,
    /// The document is based on the present file, not on the file as it was when the overlay was opened or the document last put.
    #[arg(long, conflicts_with = "drop")]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub onto_now: bool,
}

/// Encoding of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenAs {
    /// Character encoding: `utf8`, `utf16-le`, `utf16-be`, `windows1252`.
    #[schemars(with = "String")]
    form: Form,
    /// Whether the file begins with a byte order mark.
    mark: bool,
}

/// Result of putting a document.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    name: String,
    /// Path of the real file.
    path: String,
    /// `changed`, `added`, `removed`, `dropped`, or `same` as before.
    status: String,
    /// Number of documents in the overlay.
    documents: usize,
}

impl Method for Put {
    const NAME: &'static str = "overlay put";
    const EFFECT: Effect = Effect::Sets;
    const TOOL: AsTool = AsTool::Operation;
    const FROM_FILE: Option<&'static str> = Some("text");
    const FILE: FileForm = FileForm::AsItIs;
    type Answer = Done;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Done, Failed> {
        let what = match (&self.text, self.delete, self.drop) {
            (Some(text), false, false) => {
                let encoding = self.encoding.map(|WrittenAs { form, mark }| Encoding { form, mark });
                put::Put::Text(text.clone(), encoding)
            }
            (None, true, false) => put::Put::Delete,
            (None, false, true) => put::Put::Drop,
            _ => {
                let why = Diagnostic::error(
                    ErrorCode::E_PARAM,
                    "an overlay has one of three for a file: a text, `delete` or `drop`",
                );
                return Err(Failed::new(
                    Code::Usage,
                    why.hint("say what to do with the file: a text (`--from FILE`, - for standard input), `delete` (`--delete`) or `drop` (`--drop`)"),
                ));
            }
        };
        let (path, effect, overlay) = put::write_over(
            &replaceable_files(desk)?,
            &self.name,
            &self.path,
            &what,
            self.onto_now,
            current_seconds(),
        )?;
        Ok(Done {
            name: self.name.clone(),
            path,
            status: match effect {
                PutEffect::Changed => "changed",
                PutEffect::Added => "added",
                PutEffect::Removed => "removed",
                PutEffect::Dropped => "dropped",
                PutEffect::Same => "same",
            }
            .to_owned(),
            documents: overlay.documents.len(),
        })
    }

    fn text(answer: &Done) -> String {
        printable(&format!(
            "{:<8}{}  (overlay {}, {})\n",
            answer.status,
            answer.path,
            answer.name,
            plural(answer.documents as u64, "document")
        ))
    }
}

/// Apply a patch to the documents and files that an overlay shows: a unified diff, or `*** Begin Patch`.
///
/// Applies all of the patch or nothing: a hunk that fits nowhere, or in several places, is reported with its line. To delete a file that changed
/// since the overlay was opened (`*** Delete File`), --onto-now is needed.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Apply {
    /// The overlay.
    pub name: String,
    /// The patch.
    #[arg(skip)]
    pub patch: String,
    /// Files of `*** Delete File` were read as they are now, not as they were when the overlay was opened.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub onto_now: bool,
}

/// A patch that was applied.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    name: String,
    /// The files that it changed.
    files: Vec<String>,
    /// Files that it did not change, because they were equal already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    same: Vec<String>,
}

impl Method for Apply {
    const NAME: &'static str = "overlay apply";
    const EFFECT: Effect = Effect::Acts;
    const TOOL: AsTool = AsTool::Operation;
    const FROM_FILE: Option<&'static str> = Some("patch");
    const FILE: FileForm = FileForm::InPlace;
    type Answer = Applied;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Applied, Failed> {
        let (changed, same) = match patch::apply_over(&replaceable_files(desk)?, &self.name, &self.patch, self.onto_now, current_seconds())?
        {
            Patched::Changed(paths) => (paths, Vec::new()),
            Patched::Same(paths) => (Vec::new(), paths),
        };
        Ok(Applied {
            name: self.name.clone(),
            files: changed,
            same,
        })
    }

    fn text(answer: &Applied) -> String {
        let changed = answer.files.iter().map(|path| format!("patched {path}\n"));
        let same = answer.same.iter().map(|path| format!("same    {path}\n"));
        printable(&changed.chain(same).collect::<String>())
    }
}
