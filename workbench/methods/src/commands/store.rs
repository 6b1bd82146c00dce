//! `cortex store`: verify, stats, export, import, migrate.

use super::CommandAnswer;
use super::output_file::a_file;
use super::output_file::replaceable;
use crate::catalog::guarded_pattern::unguard_label;
use crate::code::Code;
use crate::desk::build;
use crate::desk::clock::current_seconds;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::plural;
use crate::render::store_maintenance as figures;
use clap::{Args, Subcommand};
use engine::build::query::Reach;
use engine::store::StoreError;
use engine::store::disk::DiskStore;
use engine::store::parcel::{self, FOREIGN, ParcelError};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::path::Path;
use std::path::PathBuf;
use workbench::result_files::{self, ResultFileError};
use workbench::store_maintenance;

/// Verify, count, export and migrate the store.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// The command.
    #[command(subcommand)]
    pub command: StoreCommand,
}

/// Commands about the store.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Read every row, hash every output, follow every reference. Exit codes: 0 sound, or repaired; 3 damaged.
    Verify {
        /// Drop damaged parts; the next build rebuilds them.
        #[arg(long)]
        repair: bool,
    },
    /// Count the results: by producer, by family of labels, by checkout.
    Stats,
    /// Write results, with all their inputs, to a file for another store. The file contains no path and no time of this machine.
    Export {
        /// Targets to export.
        #[arg(required = true, value_name = "PATTERN", value_parser = unguard_label)]
        patterns: Vec<String>,
        /// The file.
        #[arg(short, long, value_name = "FILE", value_parser = a_file)]
        out: PathBuf,
    },
    /// Import the results of a file from `store export`. Checks outputs by their digests; cannot check that a result belongs to its
    /// key.
    Import {
        /// The file.
        file: PathBuf,
        /// Also import paid results.
        #[arg(long)]
        paid: bool,
    },
    /// Convert the store to the newest format.
    Migrate,
}

/// Runs `cortex store`.
///
/// # Errors
/// When the store or a file cannot be used.
pub fn run_store(context: &RequestContext, command: &StoreCommand) -> Result<CommandAnswer, Failed> {
    match command {
        StoreCommand::Verify { repair } => run_verify(context, *repair),
        StoreCommand::Stats => stats(context),
        StoreCommand::Export { patterns, out } => export(context, patterns, out),
        StoreCommand::Import { file, paid } => import(context, file, *paid),
        StoreCommand::Migrate => migrate(context),
    }
}

/// Opens the store, which must exist.
fn open_existing_store(context: &RequestContext, purpose: &str) -> Result<DiskStore, Failed> {
    context.disk(purpose)?.ok_or_else(none)
}

fn none() -> Failed {
    let why = Diagnostic::error(ErrorCode::E_NO_STORE, "there is no store yet");
    Failed::new(Code::Usage, why.hint("the first `cortex build` creates one"))
}

fn run_verify(context: &RequestContext, repair: bool) -> Result<CommandAnswer, Failed> {
    let open = || context.open_disk("store verify", repair)?.ok_or_else(none);
    let mut disk = open()?;
    let start = std::time::Instant::now();
    let (found, left) = match store_maintenance::verify_store(&disk, repair) {
        // The damage exceeds single rows. It is marked by now, so the next opening sets the file aside.
        Err(StoreError::Damaged { .. }) if repair => {
            drop(disk);
            disk = open()?;
            store_maintenance::verify_store(&disk, repair)?
        }
        done => done?,
    };
    let text = figures::verification_text(&found, left.as_ref(), start.elapsed());
    let answer = CommandAnswer::new(text, &figures::verified_json(&found, left.as_ref()));
    if found.is_sound() || left.as_ref().is_some_and(engine::store::disk::verify::Verified::is_sound) {
        return Ok(answer);
    }
    let hint = match left {
        None => "`cortex store verify --repair` drops damaged parts; the next build rebuilds them",
        Some(_) => "the rest cannot be repaired row by row: move the store's folder away; the next build creates a new one",
    };
    let count = left.as_ref().unwrap_or(&found).damage.len();
    let what = format!(
        "{} of the store {} damaged",
        plural(count as u64, "part"),
        if count == 1 { "is" } else { "are" }
    );
    Ok(answer.with_outcome(Err(Failed::new(
        Code::StoreDamaged,
        Diagnostic::error(ErrorCode::E_STORE_DAMAGED, what).hint(hint),
    ))))
}

fn stats(context: &RequestContext) -> Result<CommandAnswer, Failed> {
    let disk = open_existing_store(context, "store stats")?;
    let stats = store_maintenance::stats(&disk)?;
    let text = figures::stats(&stats, current_seconds()) + &figures::set_aside(&stats.usage, disk.folder());
    Ok(CommandAnswer::new(text, &figures::stats_json(&stats)))
}

fn migrate(context: &RequestContext) -> Result<CommandAnswer, Failed> {
    let disk = open_existing_store(context, "store migrate")?;
    let (format, made) = disk.migrate()?;
    let done = match made.is_empty() {
        true => "nothing to do".to_owned(),
        false => format!("created the tables {}", made.join(", ")),
    };
    let text = format!("the store has format {format}, the newest; {done}\n");
    Ok(CommandAnswer::new(
        text,
        &serde_json::json!({"format": format, "tables_made": made}),
    ))
}

fn export(context: &RequestContext, patterns: &[String], out: &Path) -> Result<CommandAnswer, Failed> {
    let patterns = build::patterns(patterns)?;
    let workspace = context.workspace("store export")?;
    let mut session = workspace.session()?;
    let survey = session.survey(patterns.patterns(), Reach::Named)?;
    if !survey.refused.is_empty() {
        return Err(Failed {
            code: Code::Usage,
            diagnostics: survey.refused,
        });
    }
    replaceable(out, result_files::is_export)?;
    let done = result_files::export(&session, survey.targets.concat(), out).map_err(|error| result_file_failure(error, out, "written"))?;
    if done.actions == 0 {
        let why = Diagnostic::warning(
            ErrorCode::W_NOTHING,
            "none of these targets was built, so the file contains no result",
        );
        context.say(&[why.hint("build the targets first: export does not build them")]);
    }
    Ok(CommandAnswer::new(figures::export_text(&done, out), &figures::exported_json(&done)))
}

fn import(context: &RequestContext, file: &Path, paid: bool) -> Result<CommandAnswer, Failed> {
    let why = |error| result_file_failure(error, file, "read");
    let parcel = parcel::open_parcel(file).map_err(|error| why(error.into()))?;
    // Creates the store if it does not exist: such files serve to fill an empty one.
    let workspace = context.workspace("store import")?;
    let done = result_files::import(&*workspace.engine.store, parcel, paid, current_seconds()).map_err(why)?;
    Ok(CommandAnswer::new(
        figures::import_text(&done, paid),
        &figures::imported_json(&done),
    ))
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
