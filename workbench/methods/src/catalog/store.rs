//! `store stats` and `store migrate`: a store in numbers, and its format.

use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::desk::request_context::RequestContext;
use crate::failed::Failed;
use crate::render::store_maintenance::{set_aside, things};
use crate::render::{duration, format_count, format_size, money, plural, printable};
use engine::store::disk::DiskStore;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::store_maintenance::{Share, Stats as StoreStats, stats};

/// Count the results: by producer, by family of labels, by checkout.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stats {}

/// Convert the store to the newest format.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Migrate {}

/// The format of a store.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct StoreFormat {
    /// Number of the format, the newest.
    format: u32,
    /// Names of the created tables.
    tables_made: Vec<String>,
}

fn open_existing_store(context: &RequestContext, purpose: &str) -> Result<DiskStore, Failed> {
    context.disk(purpose)?.ok_or_else(no_store)
}

/// Builds the failure of a workspace without a store.
pub(super) fn no_store() -> Failed {
    let why = Diagnostic::error(ErrorCode::E_NO_STORE, "there is no store yet");
    Failed::new(Code::Usage, why.hint("the first `cortex build` creates one"))
}

impl Method for Stats {
    const NAME: &'static str = "store stats";
    const EFFECT: Effect = Effect::Reads;
    const SERVED: bool = false;
    type Answer = StoreStats;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<StoreStats, Failed> {
        Ok(stats(&open_existing_store(desk.context, Self::NAME)?, current_seconds())?)
    }

    fn text(answer: &StoreStats) -> String {
        stats_text(answer)
    }
}

impl Method for Migrate {
    const NAME: &'static str = "store migrate";
    const EFFECT: Effect = Effect::Acts;
    const SERVED: bool = false;
    type Answer = StoreFormat;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<StoreFormat, Failed> {
        let (format, tables_made) = open_existing_store(desk.context, Self::NAME)?.migrate()?;
        Ok(StoreFormat { format, tables_made })
    }

    fn text(answer: &StoreFormat) -> String {
        let done = match answer.tables_made.is_empty() {
            true => "nothing to do".to_owned(),
            false => format!("created the tables {}", answer.tables_made.join(", ")),
        };
        format!("the store has format {}, the newest; {done}\n", answer.format)
    }
}

/// Formats the figures of a store.
fn stats_text(stats: &StoreStats) -> String {
    let usage = &stats.usage;
    let mut text = format!(
        "{} in a file of {}: {}, {} as stored; {}\n",
        things(usage.actions, usage.blobs),
        format_size(usage.file_bytes),
        format_size(stats.blob_raw_bytes),
        format_size(stats.blob_stored_bytes),
        plural(usage.history_versions, "version")
    );
    let mut table = |head: &str, rows: Vec<(&str, &Share)>| {
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(head.len());
        text.push_str(&format!(
            "\n{head:<width$}  {:>9}  {:>11}  {:>9}  {:>9}\n",
            "results", "bytes", "time", "cost"
        ));
        for (name, share) in rows {
            text.push_str(&format!(
                "{:<width$}  {:>9}  {:>11}  {:>9}  {:>9}\n",
                printable(name),
                format_count(share.actions),
                format_size(share.raw_bytes),
                duration(share.took_us),
                if share.micros > 0 {
                    money::amount(share.micros)
                } else {
                    "-".to_owned()
                }
            ));
        }
    };
    let mut producers: Vec<(&str, &Share)> = stats.producers.iter().map(|(name, share)| (&**name, share)).collect();
    producers.sort_by_key(|(name, share)| (std::cmp::Reverse(share.raw_bytes), *name));
    table("by producer", producers);
    table("by family", stats.families.iter().map(|(name, share)| (&**name, share)).collect());
    table("by class", vec![("free", &stats.classes.cheap), ("paid for", &stats.classes.paid)]);
    let depths: Vec<String> = stats
        .depths
        .iter()
        .map(|(depth, nodes)| format!("{} with {depth}", format_count(*nodes)))
        .collect();
    if !depths.is_empty() {
        text.push_str(&format!("\nversions of targets: {}\n", depths.join(", ")));
    }
    if let Some(rate) = stats.builds.rate() {
        text.push_str(&format!(
            "hit rate: {}.{} % in {} ({} cached or unchanged, {} ran)\n",
            rate / 10,
            rate % 10,
            plural(stats.builds.builds, "build"),
            format_count(stats.builds.hits),
            format_count(stats.builds.ran)
        ));
    }
    if stats.asked + stats.saved > 0 {
        text.push_str(&format!(
            "questions to models: {} asked, {} answered from the store\n",
            format_count(stats.asked),
            format_count(stats.saved)
        ));
    }
    push_checkouts(&mut text, stats);
    text + &set_aside(usage, &stats.folder)
}

fn push_checkouts(text: &mut String, stats: &StoreStats) {
    text.push_str("\ncheckouts\n");
    for checkout in &stats.checkouts {
        let root = checkout.root.as_ref().unwrap_or(&checkout.view);
        let used = checkout
            .used
            .map_or(String::new(), |used| format!(", used {} ago", age(stats.at.saturating_sub(used))));
        let there = if checkout.there == Some(false) { ", not there now" } else { "" };
        let pins = if checkout.pins > 0 {
            format!(", {}", plural(checkout.pins, "pin"))
        } else {
            String::new()
        };
        text.push_str(&format!(
            "  {}: {}{pins}{used}{there}\n",
            printable(root),
            plural(checkout.nodes, "node")
        ));
    }
}

/// Formats an age in the largest unit that fits: `3 days`.
fn age(seconds: u64) -> String {
    for (unit, name) in [(86_400, "day"), (3_600, "hour"), (60, "minute")] {
        if seconds >= unit {
            return plural(seconds / unit, name);
        }
    }
    plural(seconds, "second")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_formatted_from_their_json() {
        let counted = StoreStats {
            folder: "/store".to_owned(),
            depths: [(6, 2)].into(),
            ..StoreStats::default()
        };
        let document = serde_json::to_value(counted).expect("JSON");
        let text = Stats::text(&StoreStats::deserialize(&document).expect("an answer"));
        assert!(text.contains("\nversions of targets: 2 with 6\n"), "{text}");
    }
}
