//! `store export` and `store import`: results in files.

use super::guarded_pattern::unguard_label;
use super::{Effect, Method};
use crate::code::Code;
use crate::desk::clock::current_seconds;
use crate::desk::output_file::{a_file, replaceable};
use crate::desk::{Desk, build};
use crate::failed::Failed;
use crate::render::{format_count, format_size, plural, printable};
use engine::build::query::Reach;
use engine::store::parcel::{self, FOREIGN, ParcelError};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use workbench::result_files::{self, Exported, Imported, ResultFileError};

/// Write results, with all their inputs, to a file for another store. The file contains no path and no time of this machine.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Export {
    /// Targets to export.
    #[arg(required = true, value_name = "PATTERN", value_parser = unguard_label)]
    patterns: Vec<String>,
    /// The file.
    #[arg(short, long, value_name = "FILE", value_parser = a_file)]
    out: PathBuf,
}

/// Import the results of a file from `store export`. Checks outputs by their digests; cannot check that a result belongs to its
/// key.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Import {
    /// The file.
    file: String,
    /// Also import paid results.
    #[arg(long)]
    #[serde(default)]
    paid: bool,
}

/// A written file of results.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExportedFile {
    /// Its path.
    path: PathBuf,
    #[serde(flatten)]
    done: Exported,
}

/// The results of a file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ImportedFile {
    /// Whether paid results were requested.
    paid: bool,
    #[serde(flatten)]
    done: Imported,
}

impl Method for Export {
    const NAME: &'static str = "store export";
    const EFFECT: Effect = Effect::Acts;
    const SERVED: bool = false;
    type Answer = ExportedFile;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<ExportedFile, Failed> {
        let patterns = build::patterns(&self.patterns)?;
        let context = desk.context;
        let workspace = context.workspace(Self::NAME)?;
        let mut session = workspace.session()?;
        let survey = session.survey(patterns.patterns(), Reach::Named)?;
        if !survey.refused.is_empty() {
            return Err(Failed {
                code: Code::Usage,
                diagnostics: survey.refused,
            });
        }
        let out = &self.out;
        replaceable(out, result_files::is_export)?;
        let done =
            result_files::export(&session, survey.targets.concat(), out).map_err(|error| result_file_failure(error, out, "written"))?;
        if done.actions == 0 {
            let why = Diagnostic::warning(
                ErrorCode::W_NOTHING,
                "none of these targets was built, so the file contains no result",
            );
            context.say(&[why.hint("build the targets first: export does not build them")]);
        }
        let path = out.clone();
        Ok(ExportedFile { path, done })
    }

    fn text(ExportedFile { path, done }: &ExportedFile) -> String {
        let missing = match done.missing {
            0 => String::new(),
            missing => format!(" {} on the way had no result.", plural(missing, "target")),
        };
        format!(
            "{} of {} in {}, {}.{missing}\n",
            plural(done.actions, "result"),
            plural(done.targets, "target"),
            printable(&path.display().to_string()),
            format_size(done.bytes)
        )
    }
}

impl Method for Import {
    const NAME: &'static str = "store import";
    const EFFECT: Effect = Effect::Acts;
    const SERVED: bool = false;
    type Answer = ImportedFile;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<ImportedFile, Failed> {
        let file = Path::new(&self.file);
        let why = |error| result_file_failure(error, file, "read");
        let parcel = parcel::open_parcel(file).map_err(|error| why(error.into()))?;
        // Creates the store if it does not exist: such files serve to fill an empty one.
        let workspace = desk.context.workspace(Self::NAME)?;
        let done = result_files::import(&*workspace.engine.store, parcel, self.paid, current_seconds()).map_err(why)?;
        Ok(ImportedFile { paid: self.paid, done })
    }

    fn text(ImportedFile { paid, done }: &ImportedFile) -> String {
        let refused = match done.refused {
            0 => String::new(),
            refused if *paid => format!("; skipped {} without their outputs", plural(refused, "result")),
            refused => format!("; skipped {} that were paid for, --paid imports them", plural(refused, "result")),
        };
        format!(
            "{} stored, {} already present{refused}\n",
            plural(done.actions, "result"),
            format_count(done.known)
        )
    }
}

/// Hint for a file that cannot be read or written.
const PATH: &str = "check the path, the disk and the permissions";

/// Builds the failure of a file of results; `verb` is `written` or `read`.
fn result_file_failure(error: ResultFileError, path: &Path, verb: &str) -> Failed {
    let path = path.display();
    match error {
        ResultFileError::Store(error) => error.into(),
        ResultFileError::Parcel(ParcelError::Io(error)) => {
            use std::io::ErrorKind::{NotFound, Other};
            // Do not name the temporary file, which the user did not choose.
            let (why, hint) = match error.kind() {
                NotFound if verb == "written" => (
                    "its folder does not exist".to_owned(),
                    "create the folder, or write the file elsewhere",
                ),
                NotFound => ("there is no such file".to_owned(), "check the path"),
                kind if kind != Other && error.raw_os_error().is_none() => (kind.to_string(), PATH),
                _ => (error.to_string(), PATH),
            };
            let why = Diagnostic::error(ErrorCode::E_IO, format!("{path} cannot be {verb}: {why}"));
            Failed::new(Code::Io, why.hint(hint))
        }
        ResultFileError::Parcel(error) => {
            let hint = match error {
                ParcelError::Form(FOREIGN) => "pass a file from `cortex store export`; nothing was imported",
                _ => "export it again with `cortex store export`; results imported before the damage are sound",
            };
            let why = Diagnostic::error(ErrorCode::E_NOT_RESULTS, format!("{path}: {error}"));
            Failed::new(Code::Usage, why.hint(hint))
        }
    }
}
