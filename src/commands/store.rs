//! `cortex store`: verify, stats, export, import, migrate.

use super::output_file::replaceable;
use super::show;
use crate::cli::StoreCommand;
use crate::command_context::CommandContext;
use engine::build::query::Reach;
use engine::store::StoreError;
use engine::store::disk::DiskStore;
use engine::store::parcel::{self, FOREIGN, ParcelError};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::desk::build;
use methods::desk::clock::current_seconds;
use methods::failed::{Failed, Outcome};
use methods::render::plural;
use methods::render::store_maintenance as figures;
use std::io::Write;
use std::path::Path;
use workbench::result_files::{self, ResultFileError};
use workbench::store_maintenance;

/// Runs `cortex store`.
pub fn run_store(context: &CommandContext, command: &StoreCommand) -> Outcome {
    match command {
        StoreCommand::Verify { repair } => run_verify(context, *repair),
        StoreCommand::Stats => stats(context),
        StoreCommand::Export { patterns, out } => export(context, patterns, out),
        StoreCommand::Import { file, paid } => import(context, file, *paid),
        StoreCommand::Migrate => migrate(context),
    }
}

/// Opens the store, which must exist.
fn open_existing_store(context: &CommandContext, purpose: &str) -> Result<DiskStore, Failed> {
    context.disk(purpose)?.ok_or_else(none)
}

fn none() -> Failed {
    let why = Diagnostic::error(ErrorCode::E_NO_STORE, "there is no store yet");
    Failed::new(Code::Usage, why.hint("the first `cortex build` creates one"))
}

fn print(context: &CommandContext, text: &str) -> Outcome {
    show::outcome_of_write(write!(context.stdout(), "{text}"))
}

fn run_verify(context: &CommandContext, repair: bool) -> Outcome {
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
    let text = match context.prints_json() {
        true => format!("{:#}\n", figures::verified_json(&found, left.as_ref())),
        false => figures::verification_text(&found, left.as_ref(), start.elapsed()),
    };
    print(context, &text)?;
    if found.is_sound() || left.as_ref().is_some_and(engine::store::disk::verify::Verified::is_sound) {
        return Ok(Code::Ok);
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
    Err(Failed::new(
        Code::StoreDamaged,
        Diagnostic::error(ErrorCode::E_STORE_DAMAGED, what).hint(hint),
    ))
}

fn stats(context: &CommandContext) -> Outcome {
    let disk = open_existing_store(context, "store stats")?;
    let stats = store_maintenance::stats(&disk)?;
    print(
        context,
        &match context.prints_json() {
            true => format!("{:#}\n", figures::stats_json(&stats)),
            false => figures::stats(&stats, current_seconds()) + &figures::set_aside(&stats.usage, disk.folder()),
        },
    )
}

fn migrate(context: &CommandContext) -> Outcome {
    let disk = open_existing_store(context, "store migrate")?;
    let (format, made) = disk.migrate()?;
    print(
        context,
        &match context.prints_json() {
            true => format!("{:#}\n", serde_json::json!({"format": format, "tables_made": made})),
            false if made.is_empty() => format!("the store has format {format}, the newest; nothing to do\n"),
            false => format!(
                "the store has format {format}, the newest; created the tables {}\n",
                made.join(", ")
            ),
        },
    )
}

fn export(context: &CommandContext, patterns: &[String], out: &Path) -> Outcome {
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
    print(
        context,
        &match context.prints_json() {
            true => format!("{:#}\n", figures::exported_json(&done)),
            false => figures::export_text(&done, out),
        },
    )
}

fn import(context: &CommandContext, file: &Path, paid: bool) -> Outcome {
    let why = |error| result_file_failure(error, file, "read");
    let parcel = parcel::open_parcel(file).map_err(|error| why(error.into()))?;
    // Creates the store if it does not exist: such files serve to fill an empty one.
    let workspace = context.workspace("store import")?;
    let done = result_files::import(&*workspace.engine.store, parcel, paid, current_seconds()).map_err(why)?;
    print(
        context,
        &match context.prints_json() {
            true => format!("{:#}\n", figures::imported_json(&done)),
            false => figures::import_text(&done, paid),
        },
    )
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
