//! Text of collections of a store.

use super::{format_count, format_size, money, plural, printable};
use engine::store::Usage;
use engine::store::disk::sweep::Tally;
use workbench::garbage::{GarbageOptions, Report};

/// Formats counts: `3 results and 2 outputs`.
pub fn things(actions: u64, blobs: u64) -> String {
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
        plural(report.checkouts as u64, "checkout")
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
        text.push_str(&format!("{verb} the checkout {}, whose folder is missing.\n", printable(root)));
    }
    for root in &report.vanished {
        let root = printable(root);
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
pub fn set_aside(usage: &Usage, folder: &str) -> String {
    if usage.set_aside_files == 0 {
        return String::new();
    }
    format!(
        "Set aside as damaged: {}, {}. The store has their sound contents; remove them yourself when you no longer need them: {}.\n",
        plural(usage.set_aside_files, "file"),
        format_size(usage.set_aside_bytes),
        printable(&format!("{folder}/store.redb.damaged-*"))
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
