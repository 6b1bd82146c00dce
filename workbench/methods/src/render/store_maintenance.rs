//! Output of the commands that maintain a store, as text and as JSON.

use super::{duration, format_count, format_size, money, plural, printable};
use engine::store::Usage;
use engine::store::disk::sweep::Tally;
use engine::store::disk::verify::{DamageLocation, DamagedItem, Verified};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use workbench::garbage::{GarbageOptions, Report};
use workbench::result_files::{Exported, Imported};
use workbench::store_maintenance::{Share, Stats};

/// Formats counts: `3 results and 2 outputs`.
fn things(actions: u64, blobs: u64) -> String {
    format!("{} and {}", plural(actions, "result"), plural(blobs, "output"))
}

/// Formats the price of rebuilding: `; making them again would cost 0.12`.
fn price(tally: &Tally) -> String {
    match (tally.paid, tally.micros) {
        (0, _) => String::new(),
        (paid, 0) => format!(", {} of them paid for", format_count(paid)),
        (paid, micros) => format!(", {} of them paid for with {}", format_count(paid), money::amount(micros)),
    }
}

/// Formats a span of seconds: `7 days`.
pub fn span(seconds: u64) -> String {
    for (unit, name) in [(86_400, "day"), (3_600, "hour"), (60, "minute")] {
        if seconds >= unit && seconds.is_multiple_of(unit) {
            return plural(seconds / unit, name);
        }
    }
    plural(seconds, "second")
}

/// Formats the result of a gc for people.
pub fn gc_text(report: &Report, options: &GarbageOptions) -> String {
    let (before, after, removed) = (&report.before, &report.after, &report.taken);
    let contents = |usage: &Usage| format!("{} in {}", things(usage.actions, usage.blobs), format_size(usage.file_bytes));
    let mut text = format!(
        "The store {} {} of {}.\n",
        if options.dry_run { "holds" } else { "held" },
        contents(before),
        plural(report.held.len() as u64, "checkout")
    );
    let amount = format!(
        "{}, {} as stored{}",
        things(removed.actions, removed.blobs),
        format_size(removed.bytes),
        price(removed)
    );
    let amount = match (removed.actions == 0 && removed.blobs == 0, removed.versions) {
        (_, 0) => amount,
        (true, versions) => format!("{} of removed targets", plural(versions, "version")),
        (false, versions) => format!("{amount}, and {} of removed targets", plural(versions, "version")),
    };
    if removed.actions + removed.blobs + removed.versions == 0 {
        text.push_str("Nothing is garbage.\n");
    } else if options.dry_run {
        text.push_str(&format!("A collection would remove {amount}. Nothing was removed.\n"));
    } else {
        text.push_str(&format!("Removed {amount}.\n"));
    }
    for root in &report.forgotten {
        let verb = if options.dry_run { "Would forget" } else { "Forgot" };
        text.push_str(&format!(
            "{verb} the checkout {}, whose folder is missing.\n",
            printable(&root.display().to_string())
        ));
    }
    for root in &report.vanished {
        let root = printable(&root.display().to_string());
        text.push_str(&format!(
            "Kept: the checkout {root}, whose folder is missing; --forget-checkouts removes it from the store.\n"
        ));
    }
    if report.young.actions > 0 {
        text.push_str(&format!(
            "Kept: {} without references, used in the last {}.\n",
            plural(report.young.actions, "result"),
            span(options.older_than)
        ));
    }
    if report.paid.actions > 0 {
        text.push_str(&format!(
            "Kept: {} without references{}; --paid removes them.\n",
            plural(report.paid.actions, "result"),
            price(&report.paid)
        ));
    }
    if !options.dry_run && (report.compacted || before.file_bytes != after.file_bytes) {
        text.push_str(&format!(
            "File size: {} before, {} now.\n",
            format_size(before.file_bytes),
            format_size(after.file_bytes)
        ));
    }
    text
}

/// Describes the damaged files set aside in a store's folder, and how to remove them; empty if there are none.
pub fn set_aside(usage: &Usage, folder: &Path) -> String {
    if usage.set_aside_files == 0 {
        return String::new();
    }
    format!(
        "Set aside as damaged: {}, {}. The store has their sound contents; remove them yourself when you no longer need them: {}.\n",
        plural(usage.set_aside_files, "file"),
        format_size(usage.set_aside_bytes),
        printable(&folder.join("store.redb.damaged-*").display().to_string())
    )
}

/// Summarizes an automatic gc in one line.
pub fn summarize_limits(report: &Report, options: &GarbageOptions) -> String {
    format!(
        "the store grew beyond {}: removed {}; file size {} before, {} now",
        format_size(options.max_size.unwrap_or(0)),
        things(report.taken.actions, report.taken.blobs),
        format_size(report.before.file_bytes),
        format_size(report.after.file_bytes)
    )
}

/// Explains that a size was not reached.
pub fn not_reached(report: &Report, options: &GarbageOptions) -> String {
    let max = options.max_size.unwrap_or(0);
    if options.dry_run {
        return format!(
            "a collection would not bring the store's file of {} down to {}",
            format_size(report.before.file_bytes),
            format_size(max)
        );
    }
    format!(
        "the store's file still has {}, more than {}",
        format_size(report.after.file_bytes),
        format_size(max)
    )
}

/// Lists ways to reach the size.
pub fn list_ways_to_shrink(report: &Report, options: &GarbageOptions) -> String {
    let mut ways = Vec::new();
    if report.paid.actions > 0 && !options.paid {
        ways.push(format!(
            "--paid removes {} more without references",
            plural(report.paid.actions, "result")
        ));
    }
    if report.young.actions > 0 && options.older_than == 0 {
        ways.push(format!(
            "{} belong to a build that is under way: collect again when it has ended",
            plural(report.young.actions, "result")
        ));
    } else if report.young.actions > 0 {
        ways.push(format!(
            "a shorter --older-than removes some of {} that no checkout needs but that were used in the last {}",
            plural(report.young.actions, "result"),
            span(options.older_than)
        ));
    }
    let fewer = match options.keep_versions {
        1 => "",
        _ => ", or fewer --keep-versions",
    };
    ways.push(format!("the rest is in use, and needs a larger --max-size{fewer}"));
    ways.join("; ")
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "file_bytes": usage.file_bytes,
        "blobs": usage.blobs,
        "actions": usage.actions,
        "history_versions": usage.history_versions,
        "set_aside_files": usage.set_aside_files,
        "set_aside_bytes": usage.set_aside_bytes,
    })
}

fn tally_json(tally: &Tally) -> Value {
    json!({"actions": tally.actions, "blobs": tally.blobs, "bytes": tally.bytes, "versions": tally.versions, "paid": tally.paid, "paid_micros": tally.micros})
}

fn paid_tally_json(tally: &Tally) -> Value {
    json!({"actions": tally.actions, "paid": tally.paid, "paid_micros": tally.micros})
}

/// Formats the result of a gc for machines.
pub fn collected_json(report: &Report, options: &GarbageOptions) -> Value {
    json!({
        "dry_run": options.dry_run,
        "before": usage_json(&report.before),
        "after": usage_json(&report.after),
        "removed": tally_json(&report.taken),
        "kept_young": paid_tally_json(&report.young),
        "kept_paid": paid_tally_json(&report.paid),
        "checkouts": report.held.len(),
        "vanished": report.vanished,
        "forgotten": report.forgotten,
        "compacted": report.compacted,
        "max_size": options.max_size,
        "reached": report.reached,
    })
}

/// Limit of damaged items listed; all are counted.
const SHOWN: usize = 100;

/// Formats the result of a verification for people.
pub fn verification_text(found: &Verified, left: Option<&Verified>, took: Duration) -> String {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let mut text = format!(
        "Opened {} and hashed {} ({}) in {}: {}, {}.\n",
        plural(found.rows, "row"),
        plural(found.blobs, "output"),
        format_size(found.blob_bytes),
        duration(micros),
        plural(found.actions, "result"),
        plural(found.versions, "version")
    );
    if found.collected > 0 {
        text.push_str(&format!(
            "The results of {} are not here: collected, or not fetched yet.\n",
            plural(found.collected, "version")
        ));
    }
    for harm in found.damage.iter().take(SHOWN) {
        let paid = if harm.paid { " (it was paid for)" } else { "" };
        text.push_str(&format!(
            "  {}{paid}\n",
            printable(&format!("{}: {}", labels_of_damage(harm), harm.what))
        ));
    }
    if found.damage.len() > SHOWN {
        text.push_str(&format!(
            "  … {} in all, --json lists them\n",
            format_count(found.damage.len() as u64)
        ));
    }
    match left {
        _ if found.is_sound() => text.push_str("The store is sound.\n"),
        Some(left) if left.is_sound() => text.push_str("The damaged entries were removed; the next build rebuilds them.\n"),
        _ => {}
    }
    text
}

/// Limit of labels listed per damaged item; all are counted.
const NAMED: usize = 4;

/// Lists the labels of a damaged item: `//a:x, //b:x and 12 more`.
fn labels_of_damage(harm: &DamagedItem) -> String {
    let named = harm.labels.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match (harm.labels.len().saturating_sub(NAMED), harm.location()) {
        (0, DamageLocation::Row(..) | DamageLocation::Other) if named.is_empty() => "of no label".to_owned(),
        (0, _) if named.is_empty() => "of no label".to_owned(),
        (0, _) => named,
        (more, _) => format!("{named} and {} more", format_count(more as u64)),
    }
}

fn harm_json(verified: &Verified) -> Vec<Value> {
    let one = |harm: &DamagedItem| json!({"labels": harm.labels, "what": harm.what, "paid": harm.paid});
    verified.damage.iter().map(one).collect()
}

/// Formats the result of a verification for machines.
pub fn verified_json(found: &Verified, left: Option<&Verified>) -> Value {
    json!({
        "rows": found.rows,
        "blobs": found.blobs,
        "blob_bytes": found.blob_bytes,
        "actions": found.actions,
        "without_output": found.without_output,
        "versions": found.versions,
        "collected": found.collected,
        "damaged": harm_json(found),
        "repaired": left.is_some(),
        "left": left.map(harm_json),
    })
}

/// Formats the figures of a store for people.
pub fn stats(stats: &Stats, now: u64) -> String {
    let usage = &stats.usage;
    let mut text = format!(
        "{} in a file of {}: {}, {} as stored; {}\n",
        things(usage.actions, usage.blobs),
        format_size(usage.file_bytes),
        format_size(stats.blob_bytes.raw),
        format_size(stats.blob_bytes.stored),
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
    table("by class", vec![("free", &stats.cheap), ("paid for", &stats.paid)]);
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
    push_checkouts(&mut text, stats, now);
    text
}

/// Adds the checkouts of a store.
fn push_checkouts(text: &mut String, stats: &Stats, now: u64) {
    text.push_str("\ncheckouts\n");
    for checkout in &stats.checkouts {
        let root = checkout
            .root
            .as_ref()
            .map_or_else(|| checkout.view.clone(), |root| root.display().to_string());
        let used = checkout
            .used
            .map_or(String::new(), |used| format!(", used {} ago", age(now.saturating_sub(used))));
        let there = if checkout.there == Some(false) { ", not there now" } else { "" };
        let pins = if checkout.pins > 0 {
            format!(", {}", plural(checkout.pins, "pin"))
        } else {
            String::new()
        };
        text.push_str(&format!(
            "  {}: {}{pins}{used}{there}\n",
            printable(&root),
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

/// Formats the figures of a store for machines.
pub fn stats_json(stats: &Stats) -> Value {
    json!({
        "usage": usage_json(&stats.usage),
        "blob_raw_bytes": stats.blob_bytes.raw,
        "blob_stored_bytes": stats.blob_bytes.stored,
        "producers": stats.producers,
        "families": stats.families,
        "classes": {"cheap": stats.cheap, "paid": stats.paid},
        "depths": stats.depths,
        "builds": stats.builds,
        "asked": stats.asked,
        "saved": stats.saved,
        "checkouts": stats.checkouts,
    })
}

/// Formats the result of an export for people.
pub fn export_text(done: &Exported, out: &Path) -> String {
    let missing = match done.missing {
        0 => String::new(),
        missing => format!(" {} on the way had no result.", plural(missing, "target")),
    };
    format!(
        "{} of {} in {}, {}.{missing}\n",
        plural(done.actions, "result"),
        plural(done.targets, "target"),
        printable(&out.display().to_string()),
        format_size(done.bytes)
    )
}

/// Formats the result of an export for machines.
pub fn exported_json(done: &Exported) -> Value {
    json!({"targets": done.targets, "actions": done.actions, "paid": done.paid, "missing": done.missing, "bytes": done.bytes})
}

/// Formats the result of an import for people.
pub fn import_text(done: &Imported, paid: bool) -> String {
    let refused = match done.refused {
        0 => String::new(),
        refused if paid => format!("; skipped {} without their outputs", plural(refused, "result")),
        refused => format!("; skipped {} that were paid for, --paid imports them", plural(refused, "result")),
    };
    format!(
        "{} stored, {} already present{refused}\n",
        plural(done.actions, "result"),
        format_count(done.known)
    )
}

/// Formats the result of an import for machines.
pub fn imported_json(done: &Imported) -> Value {
    json!({"actions": done.actions, "known": done.known, "refused": done.refused})
}
