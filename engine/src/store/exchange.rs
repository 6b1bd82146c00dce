//! Traffic of a checkout with its remote cache, by day, for `cortex remote stats`. The newest [`KEEP_DAYS`] are kept.
//!
//! Encoded with minicbor in `Part::Exchange`. Row key: days since 1970 (u64, big-endian).

use super::{Commit, Part, Row, RowChange, Store, StoreError, ViewId};
use crate::seams::remote::RemoteSummary;
use crate::values::cbor;
use minicbor::{Decode, Encode};
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of days that are kept.
pub const KEEP_DAYS: u64 = 400;
const DAY: u64 = 24 * 60 * 60;

/// Traffic with a remote cache on one day, or on several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Encode, Decode)]
#[cbor(map)]
pub struct Exchanged {
    /// Results, or bundles of them, found.
    #[n(0)]
    pub hits: u64,
    /// Results requested but not found.
    #[n(1)]
    pub misses: u64,
    #[n(2)]
    pub blobs_down: u64,
    /// Their bytes as transferred.
    #[n(3)]
    pub bytes_down: u64,
    /// Results that the cache accepted.
    #[n(4)]
    pub stored: u64,
    /// Results that it did not accept.
    #[n(5)]
    pub not_stored: u64,
    #[n(6)]
    pub blobs_up: u64,
    /// Their bytes as transferred.
    #[n(7)]
    pub bytes_up: u64,
    /// Wrong answers, by kind.
    #[n(8)]
    pub lies: BTreeMap<String, u64>,
    /// Shards of work sent to workers.
    #[n(9)]
    #[cbor(default)]
    pub shards: u64,
    /// Targets that workers built.
    #[n(10)]
    #[cbor(default)]
    pub executed: u64,
    /// Targets that workers were asked to build but did not.
    #[n(11)]
    #[cbor(default)]
    pub unmade: u64,
    /// Duration of an answered request, as last measured, in microseconds.
    #[n(12)]
    pub round_trip_us: Option<u64>,
    /// Download speed, as last measured.
    #[n(13)]
    pub bytes_per_second: Option<u64>,
}

impl Exchanged {
    pub fn from_summary(run: &RemoteSummary) -> Self {
        Self {
            hits: run.hits,
            misses: run.misses,
            blobs_down: run.blobs_down,
            bytes_down: run.bytes_down,
            stored: run.stored,
            not_stored: run.not_stored,
            blobs_up: run.blobs_up,
            bytes_up: run.bytes_up,
            shards: run.shards,
            executed: run.executed,
            unmade: run.unmade,
            round_trip_us: run.round_trip_us,
            bytes_per_second: run.bytes_per_second,
            lies: run.lies.iter().map(|(lie, times)| (lie.to_string(), *times)).collect(),
        }
    }

    pub fn add_exchange(&mut self, other: &Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.blobs_down += other.blobs_down;
        self.bytes_down += other.bytes_down;
        self.stored += other.stored;
        self.not_stored += other.not_stored;
        self.blobs_up += other.blobs_up;
        self.bytes_up += other.bytes_up;
        self.shards += other.shards;
        self.executed += other.executed;
        self.unmade += other.unmade;
        self.round_trip_us = other.round_trip_us.or(self.round_trip_us);
        self.bytes_per_second = other.bytes_per_second.or(self.bytes_per_second);
        for (lie, times) in &other.lies {
            *self.lies.entry(lie.clone()).or_default() += times;
        }
    }
}

fn key_of_day(day: u64) -> Vec<u8> {
    day.to_be_bytes().to_vec()
}

fn day((key, body): &Row) -> Option<(u64, Exchanged)> {
    Some((u64::from_be_bytes(key.as_slice().try_into().ok()?), minicbor::decode(body).ok()?))
}

/// Adds the counts of a run to those of the day of `now` (seconds since 1970).
pub fn record_day(store: &dyn Store, view: ViewId, now: u64, run: &Exchanged) -> Result<(), StoreError> {
    if *run == Exchanged::default() {
        return Ok(());
    }
    let today = now / DAY;
    let mut figures = store
        .row(view, Part::Exchange, &key_of_day(today))?
        .and_then(|body| day(&(key_of_day(today), body)))
        .map_or_else(Exchanged::default, |(_, figures)| figures);
    figures.add_exchange(run);
    let body = cbor::encode(&figures);
    let outdated = store.rows(view, Part::Exchange)?.into_iter().map(|(key, _)| key);
    let outdated = outdated.filter(|old| *old < key_of_day(today.saturating_sub(KEEP_DAYS)));
    let drop: Vec<RowChange> = outdated.map(|old| (Part::Exchange, old, None)).collect();
    let rows = drop.into_iter().chain([(Part::Exchange, key_of_day(today), Some(body))]).collect();
    store.commit(view, Commit { rows, ..Commit::default() })
}

/// Reads the counts of all days since `since` (seconds since 1970), in order: days since 1970, counts.
pub fn days(store: &dyn Store, view: ViewId, since: u64) -> Result<Vec<(u64, Exchanged)>, StoreError> {
    let rows = store.rows(view, Part::Exchange)?;
    Ok(rows.iter().filter_map(day).filter(|(day, _)| *day >= since / DAY).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::remote::WrongRemoteAnswer;
    use crate::store::memory::MemoryStore;

    #[test]
    fn runs_add_up_by_day_and_old_days_go() {
        let (store, view) = (MemoryStore::default(), ViewId(1));
        let run = Exchanged::from_summary(&RemoteSummary {
            hits: 2,
            bytes_down: 10,
            lies: [(WrongRemoteAnswer::WrongBytes, 1)].into(),
            ..RemoteSummary::default()
        });
        for now in [5, DAY, DAY + 1] {
            record_day(&store, view, now, &run).expect("noted");
        }
        record_day(&store, view, DAY, &Exchanged::default()).expect("nothing to note");
        let found = days(&store, view, 0).expect("read");
        assert_eq!(
            found
                .iter()
                .map(|(day, of)| (*day, of.hits, of.lies["wrong bytes"]))
                .collect::<Vec<_>>(),
            [(0, 2, 1), (1, 4, 2)]
        );
        assert_eq!(days(&store, view, DAY).expect("read").len(), 1);
        record_day(&store, view, (KEEP_DAYS + 1) * DAY, &run).expect("noted");
        let left: Vec<u64> = days(&store, view, 0).expect("read").iter().map(|(day, _)| *day).collect();
        assert_eq!(left, [1, KEEP_DAYS + 1]);
        assert_eq!(days(&store, ViewId(2), 0).expect("read").len(), 0);
    }
}
