//! Maintenance of a store: verification, statistics, pinned versions.

use crate::damaged_labels::Labels;
use engine::graph::pages::each_result;
use engine::store::disk::DiskStore;
use engine::store::disk::verify::{DamagedItem, Verified};
use engine::store::ledger::{LedgerEntry, Outcome};
use engine::store::pins::{Pin, row_key};
use engine::store::records::{ActionRecord, Class, HistoryRecord};
use engine::store::{Commit, Inventory, Part, Store, StoreError, Usage, ViewId};
use engine::values::label::Label;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Verifies everything in a store; with `repair` drops damaged data and verifies again. Returns the findings, and after a repair the rest.
pub fn verify_store(disk: &DiskStore, repair: bool) -> Result<(Verified, Option<Verified>), StoreError> {
    // A repair needs the store unchanged since the check, so no other process may open it.
    let found = if repair {
        check_graphs(disk, disk.verify_everything()?)?
    } else {
        check_graphs(disk, disk.verify_among_others()?)?
    };
    if !repair || found.is_sound() {
        return Ok((found, None));
    }
    disk.repair(&found.damage)?;
    for view in disk.views_with_rows()? {
        if graph_harm(disk, view)?.is_some() {
            // The next build plans the graph again and finds all results under their keys.
            disk.clear(view, &[Part::Nodes, Part::Links, Part::State, Part::Requests])?;
        }
    }
    let mut left = check_graphs(disk, disk.verify_everything()?)?;
    // A copy of everything reachable and sound corrects wrong counts and drops rows that no search finds. Incomplete entries are then dropped.
    if !left.is_sound() {
        disk.compact_reachable()?;
        left = check_graphs(disk, disk.verify_everything()?)?;
    }
    if !left.is_sound() {
        disk.repair(&left.damage)?;
        left = check_graphs(disk, disk.verify_everything()?)?;
    }
    Ok((found, Some(left)))
}

/// Adds faults of graphs to the findings, and labels to the damaged entries.
fn check_graphs(disk: &DiskStore, mut found: Verified) -> Result<Verified, StoreError> {
    for view in disk.views_with_rows()? {
        found.damage.extend(graph_harm(disk, view)?.map(DamagedItem::of_graph));
    }
    if !found.is_sound() {
        let labels = Labels::from_store(disk)?;
        for harm in &mut found.damage {
            labels.name_damaged_entry(disk, harm)?;
        }
    }
    // Discard the damage noted during the check: the findings include it.
    disk.damage();
    Ok(found)
}

/// Returns the fault of a view's graph beyond single rows: records that cannot be decoded.
fn graph_harm(disk: &DiskStore, view: ViewId) -> Result<Option<String>, StoreError> {
    for (key, page) in disk.rows(view, Part::Nodes)? {
        if each_result(&page, |_, _| {}).is_none() {
            let number = key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            return Ok(Some(format!(
                "the graph of checkout {:016x} has an unreadable row {number}; the next build plans it again",
                view.0
            )));
        }
    }
    Ok(None)
}

/// Totals of results of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Number of results.
    pub actions: u64,
    /// Length of the results' outputs in bytes; an output that several results share counts for each.
    pub raw_bytes: u64,
    /// Time of the results' producers, in microseconds.
    pub took_us: u64,
    /// Cost of the results, in millionths of the currency, as far as known.
    pub micros: u64,
}

impl Share {
    fn add_record(&mut self, record: &ActionRecord) {
        self.actions += 1;
        self.raw_bytes += record.len;
        self.took_us = self.took_us.saturating_add(record.took_us);
        self.micros = self
            .micros
            .saturating_add(record.spent.as_ref().and_then(|spent| spent.micros).unwrap_or(0));
    }
}

/// A checkout that the store knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checkout {
    /// Number of the checkout's view, in hexadecimal.
    pub view: String,
    /// Folder of the checkout, if the store knows it.
    pub root: Option<String>,
    /// Whether the folder exists now.
    pub there: Option<bool>,
    /// Seconds since 1970 of the checkout's last use, give or take an hour.
    pub used: Option<u64>,
    /// Nodes with a result.
    pub nodes: u64,
    /// Pinned versions.
    pub pins: u64,
}

/// Totals of builds, from their records in the log. Builds with nothing to do have no record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Builds {
    /// Number of builds.
    pub builds: u64,
    /// Targets that needed no run: found under their keys, or unchanged.
    pub hits: u64,
    /// Targets whose producers ran.
    pub ran: u64,
}

impl Builds {
    /// Returns the share of targets that needed no run, in thousandths; `None` when there were no targets.
    pub fn rate(&self) -> Option<u64> {
        (self.hits * 1_000).checked_div(self.hits + self.ran)
    }
}

/// Totals of results by their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Classes {
    /// Results that cost only time.
    pub cheap: Share,
    /// Results that were paid for.
    pub paid: Share,
}

/// A store in numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Folder of the store.
    pub folder: String,
    /// Time of the count, in seconds since 1970.
    pub at: u64,
    /// The whole store: `file_bytes`, `blobs`, `actions`, `history_versions`, `set_aside_files`, `set_aside_bytes`.
    #[schemars(with = "Value")]
    pub usage: Usage,
    /// Length of all outputs.
    pub blob_raw_bytes: u64,
    /// Length of all outputs as stored.
    pub blob_stored_bytes: u64,
    /// Results by producer, without its version: `actions`, `raw_bytes`, `took_us`, `micros`.
    pub producers: BTreeMap<String, Share>,
    /// Results by the family of their label.
    pub families: BTreeMap<String, Share>,
    /// Results that cost only time (`cheap`), and those that were paid for (`paid`).
    pub classes: Classes,
    /// Targets by their number of versions.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub depths: BTreeMap<u64, u64>,
    /// Totals of the builds in the logs of all checkouts: `builds`, `hits` (checked targets that did not run), `ran`.
    pub builds: Builds,
    /// Number of questions that models were asked.
    pub asked: u64,
    /// Number of questions that a stored answer saved.
    pub saved: u64,
    /// The checkouts.
    pub checkouts: Vec<Checkout>,
}

/// Counts everything, at `now`.
pub fn stats(disk: &DiskStore, now: u64) -> Result<Stats, StoreError> {
    let blob_bytes = disk.blob_bytes()?;
    let mut stats = Stats {
        folder: disk.folder().display().to_string(),
        at: now,
        usage: disk.usage()?,
        blob_raw_bytes: blob_bytes.raw,
        blob_stored_bytes: blob_bytes.stored,
        ..Stats::default()
    };
    disk.each_action(|_, record| {
        let producer = record.producer.split('@').next().unwrap_or_default();
        stats.producers.entry(producer.to_owned()).or_default().add_record(record);
        let family = Label::parse(&record.label).map_or_else(|_| "?".to_owned(), |label| format!("//{}", label.family()));
        stats.families.entry(family).or_default().add_record(record);
        match record.class {
            Class::Cheap => stats.classes.cheap.add_record(record),
            Class::Paid => stats.classes.paid.add_record(record),
        }
    })?;
    stats.depths = disk.depths()?;
    let known: BTreeMap<ViewId, _> = disk.views()?.into_iter().collect();
    for view in disk.views_with_rows()? {
        let mut nodes = 0;
        for (_, page) in disk.rows(view, Part::Nodes)? {
            let _ = each_result(&page, |_, _| nodes += 1);
        }
        let record = known.get(&view);
        stats.checkouts.push(Checkout {
            view: format!("{:016x}", view.0),
            root: record.map(|record| record.root().display().to_string()),
            there: record.map(crate::garbage::is_there),
            used: record.map(|record| record.used),
            nodes,
            pins: disk.rows(view, Part::Pins)?.len() as u64,
        });
        for build in crate::build_log::read_build_log(disk, view)? {
            stats.builds.builds += 1;
            stats.builds.hits += build.counts.hits();
            stats.builds.ran += build.counts.ran;
        }
        for row in disk.rows(view, Part::Ledger)? {
            match LedgerEntry::from_row(&row).map(|entry| entry.outcome) {
                Some(Outcome::Saved) => stats.saved += 1,
                Some(_) => stats.asked += 1,
                None => {}
            }
        }
    }
    Ok(stats)
}

/// Returns the pinned versions of a view, by label and version.
pub fn pins(store: &dyn Store, view: ViewId) -> Result<Vec<Pin>, StoreError> {
    Ok(store.rows(view, Part::Pins)?.iter().filter_map(Pin::from_row).collect())
}

pub fn pin(
    store: &dyn Store,
    view: ViewId,
    label: &str,
    version: &HistoryRecord,
    now: u64,
    note: Option<String>,
) -> Result<(), StoreError> {
    let pin = Pin {
        label: label.to_owned(),
        version: version.version,
        key: version.key,
        output: version.output,
        at: now,
        note,
    };
    let commit = Commit {
        rows: vec![pin.to_row()],
        // Notify a running collection that a pin refers to this result.
        used: vec![(version.key, now)],
        ..Commit::default()
    };
    store.commit(view, commit)
}

pub fn unpin(store: &dyn Store, view: ViewId, pins: &[Pin]) -> Result<(), StoreError> {
    let row = |pin: &Pin| (Part::Pins, row_key(&pin.label, pin.version), None);
    store.commit(
        view,
        Commit {
            rows: pins.iter().map(row).collect(),
            ..Commit::default()
        },
    )
}
