//! `[prompt_window]`: length of the prompt window (seed 000 §8). The reader checks this table like every other; only the composer of the
//! window uses it.

use super::fields::{Fields, Item};
use super::report::Report;
use std::ops::RangeInclusive;

/// Range of a window's length, in characters.
const CHARS: RangeInclusive<i64> = 1_000..=10_000_000;
/// Range of the pinned percentage of the window.
const PERCENT: RangeInclusive<i64> = 1..=100;

pub(super) fn check_window_table(report: &mut Report<'_>, fields: Fields<'_, '_>) {
    fields.report_unknown_keys(report, &["max_chars", "pinned_percent"]);
    for (key, bounds) in [("max_chars", CHARS), ("pinned_percent", PERCENT)] {
        if let Some(item) = fields.get(key) {
            whole_number(report, item, key, &bounds);
        }
    }
}

pub(super) fn whole_number(report: &mut Report<'_>, item: Item<'_, '_>, key: &str, bounds: &RangeInclusive<i64>) {
    let integer = item.value.as_integer();
    let number = integer.and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok());
    if number.is_none_or(|number| !bounds.contains(&number)) {
        let wanted = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        item.report_wrong_type(report, &format!("'{key}'"), &wanted);
    }
}
