//! `cortex store`: verify, stats, export, import, migrate.

use super::{gc, show};
use crate::cli::StoreCommand;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::care as told;
use engine::store::disk::DiskStore;
use engine::values::diagnostic::Diagnostic;
use std::io::Write;
use workbench::care;

/// Runs it.
pub fn run(context: &Context, command: &StoreCommand) -> Outcome {
    match command {
        StoreCommand::Verify { repair, json } => verify(context, *repair, *json || context.json()),
        StoreCommand::Stats { json } => stats(context, *json || context.json()),
        StoreCommand::Migrate => migrate(context),
    }
}

/// The store, which must be there.
fn opened(context: &Context, purpose: &str) -> Result<DiskStore, Failed> {
    context.disk(purpose)?.ok_or_else(|| {
        let why = Diagnostic::error("E_NO_STORE", "there is no store yet");
        Failed::new(Code::Usage, why.hint("a first `cortex build` makes one"))
    })
}

fn print(text: &str) -> Outcome {
    show::written(write!(std::io::stdout().lock(), "{text}"))
}

fn verify(context: &Context, repair: bool, json: bool) -> Outcome {
    let disk = opened(context, "store verify")?;
    let start = std::time::Instant::now();
    let (found, left) = care::verify(&disk, repair)?;
    let text = match json {
        true => format!("{:#}\n", told::verified_json(&found, left.as_ref())),
        false => told::verified(&found, left.as_ref(), start.elapsed()),
    };
    print(&text)?;
    if found.is_sound() || left.as_ref().is_some_and(engine::store::disk::verify::Verified::is_sound) {
        return Ok(Code::Ok);
    }
    let hint = match left {
        None => "`cortex store verify --repair` drops what is damaged; the next build makes it again",
        Some(_) => "what is left cannot be mended row by row: move the store's folder away; the next build begins a new one",
    };
    let count = left.as_ref().unwrap_or(&found).harm.len();
    let what = format!(
        "{count} thing{} in the store {} damaged",
        if count == 1 { "" } else { "s" },
        if count == 1 { "is" } else { "are" }
    );
    Err(Failed::new(
        Code::StoreDamaged,
        Diagnostic::error("E_STORE_DAMAGED", what).hint(hint),
    ))
}

fn stats(context: &Context, json: bool) -> Outcome {
    let disk = opened(context, "store stats")?;
    let stats = care::stats(&disk)?;
    print(&match json {
        true => format!("{:#}\n", told::stats_json(&stats)),
        false => told::stats(&stats, gc::now()),
    })
}

fn migrate(context: &Context) -> Outcome {
    let disk = opened(context, "store migrate")?;
    let (format, made) = disk.migrate()?;
    print(&match context.json() {
        true => format!("{:#}\n", serde_json::json!({"format": format, "tables_made": made})),
        false if made.is_empty() => format!("the store is of format {format}, the newest there is; nothing to do\n"),
        false => format!(
            "the store is of format {format}, the newest there is; made the tables {}\n",
            made.join(", ")
        ),
    })
}
