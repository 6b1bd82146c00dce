//! `store verify`: reads a store, and drops damaged parts.

use super::store::no_store;
use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{duration, format_count, format_size, plural, printable};
use engine::store::StoreError;
use engine::store::disk::verify::{DamagedItem, Verified};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use workbench::store_maintenance::verify_store;

/// Read every row, hash every output, follow every reference. Exit codes: 0 sound, or repaired; 3 damaged.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verify {
    /// Drop damaged parts; the next build rebuilds them.
    #[arg(long)]
    #[serde(default)]
    repair: bool,
}

/// Result of a verification.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// Number of opened rows.
    rows: u64,
    /// Number of hashed outputs.
    blobs: u64,
    /// Their total length.
    blob_bytes: u64,
    /// Number of results.
    actions: u64,
    /// Number of results without their output, which is rebuilt when needed.
    without_output: u64,
    /// Number of versions.
    versions: u64,
    /// Number of versions whose results were evicted, or are not fetched yet.
    collected: u64,
    /// Damaged parts: `labels` of their targets, `what`, `paid`.
    damaged: Vec<DamagedPart>,
    /// Whether damaged parts were dropped.
    repaired: bool,
    /// Parts that are damaged after a repair.
    left: Option<Vec<DamagedPart>>,
    /// Duration in microseconds.
    took_us: u64,
}

/// A damaged part of a store.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DamagedPart {
    /// Labels of the targets that it belongs to, as far as known.
    labels: Vec<String>,
    /// The damage.
    what: String,
    /// Whether a paid result is lost.
    paid: bool,
}

impl Verification {
    fn new(found: Verified, left: Option<Verified>, took: Duration) -> Self {
        Self {
            rows: found.rows,
            blobs: found.blobs,
            blob_bytes: found.blob_bytes,
            actions: found.actions,
            without_output: found.without_output,
            versions: found.versions,
            collected: found.collected,
            damaged: damaged_parts(found),
            repaired: left.is_some(),
            left: left.map(damaged_parts),
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        }
    }

    /// Returns the failure if parts of the store are damaged now.
    fn failure(&self) -> Option<Failed> {
        let count = self.left.as_ref().unwrap_or(&self.damaged).len() as u64;
        let hint = match self.left {
            None => "`cortex store verify --repair` drops damaged parts; the next build rebuilds them",
            Some(_) => "the rest cannot be repaired row by row: move the store's folder away; the next build creates a new one",
        };
        let are = if count == 1 { "is" } else { "are" };
        let what = format!("{} of the store {are} damaged", plural(count, "part"));
        let why = Diagnostic::error(ErrorCode::E_STORE_DAMAGED, what).hint(hint);
        (count > 0).then(|| Failed::new(Code::StoreDamaged, why))
    }
}

fn damaged_parts(verified: Verified) -> Vec<DamagedPart> {
    let part = |harm: DamagedItem| DamagedPart {
        labels: harm.labels,
        what: harm.what,
        paid: harm.paid,
    };
    verified.damage.into_iter().map(part).collect()
}

impl Method for Verify {
    const NAME: &'static str = "store verify";
    const EFFECT: Effect = Effect::Acts;
    const SERVED: bool = false;
    type Answer = Verification;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Verification, Failed> {
        let context = desk.context;
        let open = || context.open_disk(Self::NAME, self.repair)?.ok_or_else(no_store);
        let mut disk = open()?;
        let start = Instant::now();
        let (found, left) = match verify_store(&disk, self.repair) {
            // The damage exceeds single rows. It is marked by now, so the next opening sets the file aside.
            Err(StoreError::Damaged { .. }) if self.repair => {
                drop(disk);
                disk = open()?;
                verify_store(&disk, self.repair)?
            }
            done => done?,
        };
        let answer = Verification::new(found, left, start.elapsed());
        if let Some(failed) = answer.failure() {
            desk.conclude(failed);
        }
        Ok(answer)
    }

    fn text(answer: &Verification) -> String {
        verification_text(answer)
    }
}

/// Limit of damaged items listed; all are counted.
const SHOWN: usize = 100;

/// Formats the result of a verification.
fn verification_text(found: &Verification) -> String {
    let mut text = format!(
        "Opened {} and hashed {} ({}) in {}: {}, {}.\n",
        plural(found.rows, "row"),
        plural(found.blobs, "output"),
        format_size(found.blob_bytes),
        duration(found.took_us),
        plural(found.actions, "result"),
        plural(found.versions, "version")
    );
    if found.collected > 0 {
        text.push_str(&format!(
            "The results of {} are not here: collected, or not fetched yet.\n",
            plural(found.collected, "version")
        ));
    }
    for harm in found.damaged.iter().take(SHOWN) {
        let paid = if harm.paid { " (it was paid for)" } else { "" };
        text.push_str(&format!(
            "  {}{paid}\n",
            printable(&format!("{}: {}", labels_of_damage(harm), harm.what))
        ));
    }
    if found.damaged.len() > SHOWN {
        text.push_str(&format!(
            "  … {} in all, --json lists them\n",
            format_count(found.damaged.len() as u64)
        ));
    }
    match &found.left {
        _ if found.damaged.is_empty() => text.push_str("The store is sound.\n"),
        Some(left) if left.is_empty() => text.push_str("The damaged entries were removed; the next build rebuilds them.\n"),
        _ => {}
    }
    text
}

/// Limit of labels listed per damaged item; all are counted.
const NAMED: usize = 4;

/// Lists the labels of a damaged item: `//a:x, //b:x and 12 more`.
fn labels_of_damage(harm: &DamagedPart) -> String {
    let named = harm.labels.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match harm.labels.len().saturating_sub(NAMED) {
        0 if named.is_empty() => "of no label".to_owned(),
        0 => named,
        more => format!("{named} and {} more", format_count(more as u64)),
    }
}
