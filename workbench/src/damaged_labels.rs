//! Names damaged entries of a store: derives their labels from its sound parts.

use engine::graph::pages::{LINKS, RECORDS, each_link, each_result, short_hash};
use engine::store::disk::DiskStore;
use engine::store::disk::verify::{DamageLocation, DamagedItem, label_hash};
use engine::store::{Part, Store, StoreError, ViewId, corrections, pins};
use engine::values::digest::{ActionKey, Digest};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// The labels in a store.
pub struct Labels {
    /// By the hash in the keys of versions.
    by_hash: HashMap<[u8; 16], String>,
    /// By the hash in rows of links; several labels may share one.
    by_short: HashMap<u32, Vec<String>>,
    /// Result key to the hash of its label.
    by_key: HashMap<ActionKey, [u8; 16]>,
    by_output: HashMap<Digest, [u8; 16]>,
}

impl Labels {
    /// Collects the labels from graphs, results and versions.
    pub fn from_store(disk: &DiskStore) -> Result<Self, StoreError> {
        let mut labels = Self {
            by_hash: HashMap::new(),
            by_short: HashMap::new(),
            by_key: HashMap::new(),
            by_output: HashMap::new(),
        };
        for view in disk.views_with_rows()? {
            for (_, page) in disk.rows(view, Part::Nodes)? {
                let _ = each_result(&page, |label, filed| {
                    let hash = labels.add_label(label);
                    labels.by_key.insert(filed.key, hash);
                    labels.by_output.insert(filed.output, hash);
                });
            }
        }
        disk.each_action(|_, record| {
            let hash = labels.add_label(&record.label);
            labels.by_output.insert(record.output, hash);
            for input in &record.inputs {
                labels.add_label(&input.label);
            }
        })?;
        disk.each_version(|hash, version| {
            labels.by_key.entry(version.key).or_insert(hash);
            labels.by_output.entry(version.output).or_insert(hash);
        })?;
        for label in labels.by_hash.values() {
            labels.by_short.entry(short_hash(label)).or_default().push(label.clone());
        }
        Ok(labels)
    }

    fn add_label(&mut self, label: &str) -> [u8; 16] {
        let hash = label_hash(label);
        self.by_hash.entry(hash).or_insert_with(|| label.to_owned());
        hash
    }

    /// Adds the labels of a damaged entry, unless it has some.
    pub fn name_damaged_entry(&self, disk: &DiskStore, harm: &mut DamagedItem) -> Result<(), StoreError> {
        if harm.labels.is_empty() {
            let of_hash = |hash: Option<&[u8; 16]>| hash.and_then(|hash| self.by_hash.get(hash)).cloned().into_iter().collect();
            harm.labels = match harm.location() {
                DamageLocation::Result(key) => of_hash(self.by_key.get(&key)),
                DamageLocation::Output(digest) => of_hash(self.by_output.get(&digest)),
                DamageLocation::Version(hash) => of_hash(Some(&hash)),
                DamageLocation::Row(view, part, key) => self.of_row(disk, view, part, key)?,
                DamageLocation::Other => Vec::new(),
            };
        }
        Ok(())
    }

    /// Returns the labels of the nodes of a row; none for a row about a checkout, its files or its builds.
    fn of_row(&self, disk: &DiskStore, view: ViewId, part: Part, key: &[u8]) -> Result<Vec<String>, StoreError> {
        let text = |label: Option<&str>| label.map(str::to_owned).into_iter().collect();
        let page = |size: u32| {
            let first = u32::from_be_bytes(key.try_into().ok()?).checked_mul(size)?;
            Some(first..first.checked_add(size)?)
        };
        Ok(match part {
            Part::Remarks => text(std::str::from_utf8(key).ok()),
            Part::Pins => text(pins::of_key(key).map(|(label, _)| label)),
            Part::Corrections => text(corrections::label_of(key)),
            Part::Nodes => match page(RECORDS) {
                Some(numbers) => self.by_links(disk, view, &numbers)?,
                None => Vec::new(),
            },
            Part::Links | Part::Exports => match page(LINKS) {
                Some(numbers) => by_records(disk, view, &numbers)?,
                None => Vec::new(),
            },
            _ => Vec::new(),
        })
    }

    /// Returns the labels of the nodes with these numbers, by their row of links.
    fn by_links(&self, disk: &DiskStore, view: ViewId, numbers: &Range<u32>) -> Result<Vec<String>, StoreError> {
        let page = numbers.start / LINKS;
        let mut labels = BTreeSet::new();
        if let Some(row) = disk.row(view, Part::Links, &page.to_be_bytes())? {
            let _ = each_link(&row, |slot, short| {
                if numbers.contains(&(page * LINKS + u32::from(slot))) {
                    labels.extend(self.by_short.get(&short).into_iter().flatten().cloned());
                }
            });
        }
        Ok(labels.into_iter().collect())
    }
}

/// Returns the labels of the nodes with these numbers that have a result, by their records.
fn by_records(disk: &DiskStore, view: ViewId, numbers: &Range<u32>) -> Result<Vec<String>, StoreError> {
    let mut labels = BTreeSet::new();
    for page in numbers.start / RECORDS..numbers.end.div_ceil(RECORDS) {
        if let Some(row) = disk.row(view, Part::Nodes, &page.to_be_bytes())? {
            let _ = each_result(&row, |label, _| {
                labels.insert(label.to_owned());
            });
        }
    }
    Ok(labels.into_iter().collect())
}
