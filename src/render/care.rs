//! What the commands that take care of a store have to say, as text and as JSON.

use super::{count, money, printable, size};
use engine::store::Usage;
use engine::store::disk::sweep::Tally;
use serde_json::{Value, json};
use workbench::garbage::{Options, Report};

fn plural(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

/// `3 results and 2 outputs`.
fn things(actions: u64, blobs: u64) -> String {
    format!("{} and {}", plural(actions, "result"), plural(blobs, "output"))
}

/// `; making them again would cost 0.12`.
fn price(tally: &Tally) -> String {
    match (tally.paid, tally.micros) {
        (0, _) => String::new(),
        (paid, 0) => format!(", {} of them paid for", count(paid)),
        (paid, micros) => format!(", {} of them paid for with {}", count(paid), money::amount(micros)),
    }
}

/// A span of seconds: `7 days`.
pub fn span(seconds: u64) -> String {
    for (unit, name) in [(86_400, "day"), (3_600, "hour"), (60, "minute")] {
        if seconds >= unit && seconds.is_multiple_of(unit) {
            return plural(seconds / unit, name);
        }
    }
    plural(seconds, "second")
}

/// What a collection came to, for people.
pub fn collected(report: &Report, options: &Options) -> String {
    let (before, after, taken) = (&report.before, &report.after, &report.taken);
    let holds = |usage: &Usage| format!("{} in {}", things(usage.actions, usage.blobs), size(usage.file_bytes));
    let mut text = format!(
        "The store {} {} of {}.\n",
        if options.dry_run { "holds" } else { "held" },
        holds(before),
        plural(report.checkouts, "checkout")
    );
    let amount = format!(
        "{}, {} as stored{}",
        things(taken.actions, taken.blobs),
        size(taken.bytes),
        price(taken)
    );
    if taken.actions == 0 && taken.blobs == 0 {
        text.push_str("Nothing is garbage.\n");
    } else if options.dry_run {
        text.push_str(&format!("A collection would remove {amount}. Nothing was removed.\n"));
    } else {
        text.push_str(&format!("Removed {amount}.\n"));
    }
    for root in &report.forgotten {
        let verb = if options.dry_run { "Would forget" } else { "Forgot" };
        text.push_str(&format!(
            "{verb} the checkout {}, which is not there.\n",
            printable(&root.display().to_string())
        ));
    }
    for root in &report.vanished {
        let root = printable(&root.display().to_string());
        text.push_str(&format!(
            "Kept: the checkout {root}, which is not there now; --forget-checkouts forgets it.\n"
        ));
    }
    if report.young.actions > 0 {
        text.push_str(&format!(
            "Kept: {} that nothing else holds, used in the last {}.\n",
            plural(report.young.actions, "result"),
            span(options.older_than)
        ));
    }
    if report.paid.actions > 0 {
        text.push_str(&format!(
            "Kept: {} that nothing holds{}; --paid takes what was paid for.\n",
            plural(report.paid.actions, "result"),
            price(&report.paid)
        ));
    }
    if !options.dry_run && (report.compacted || before.file_bytes != after.file_bytes) {
        text.push_str(&format!(
            "The file went from {} to {}.\n",
            size(before.file_bytes),
            size(after.file_bytes)
        ));
    }
    text
}

/// Why a size was not reached.
pub fn not_reached(report: &Report, options: &Options) -> String {
    let max = options.max_size.unwrap_or(0);
    if options.dry_run {
        return format!(
            "a collection would not bring the store's file of {} down to {}",
            size(report.before.file_bytes),
            size(max)
        );
    }
    format!(
        "the store's file still has {}, more than {}",
        size(report.after.file_bytes),
        size(max)
    )
}

/// What could be done about it; empty if nothing is known.
pub fn in_the_way(report: &Report, options: &Options) -> String {
    let mut ways = Vec::new();
    if report.paid.actions > 0 && !options.paid {
        ways.push(format!(
            "--paid takes {} more that nothing holds",
            plural(report.paid.actions, "result")
        ));
    }
    if report.young.actions > 0 {
        ways.push(format!(
            "a shorter --older-than takes some of {} used in the last {}",
            plural(report.young.actions, "result"),
            span(options.older_than)
        ));
    }
    ways.join("; ")
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "file_bytes": usage.file_bytes,
        "blobs": usage.blobs,
        "blob_raw_bytes": usage.blob_raw_bytes,
        "blob_stored_bytes": usage.blob_stored_bytes,
        "actions": usage.actions,
        "history_versions": usage.history_versions,
    })
}

fn tally_json(tally: &Tally) -> Value {
    json!({"actions": tally.actions, "blobs": tally.blobs, "bytes": tally.bytes, "paid": tally.paid, "paid_micros": tally.micros})
}

fn kept_json(tally: &Tally) -> Value {
    json!({"actions": tally.actions, "paid": tally.paid, "paid_micros": tally.micros})
}

/// What a collection came to, for machines.
pub fn collected_json(report: &Report, options: &Options) -> Value {
    json!({
        "dry_run": options.dry_run,
        "before": usage_json(&report.before),
        "after": usage_json(&report.after),
        "removed": tally_json(&report.taken),
        "kept_young": kept_json(&report.young),
        "kept_paid": kept_json(&report.paid),
        "checkouts": report.checkouts,
        "vanished": report.vanished,
        "forgotten": report.forgotten,
        "compacted": report.compacted,
        "max_size": options.max_size,
        "reached": report.reached,
    })
}
