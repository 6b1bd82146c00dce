//! `[store]`: limits of the store's size. A manifest does not contain its location.

use super::fields::{Fields, Item, Text};
use super::report::Report;
use crate::manifest::model::StoreLimits;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::quantity;

const KEYS: [&str; 3] = ["max_size", "keep_versions", "older_than"];
/// Maximum number of versions: History keeps no more.
const MOST_VERSIONS: i64 = crate::store::KEEP_VERSIONS as i64;
/// Keys that would contain a store's location or grant access.
const PERSONAL: [&str; 7] = ["path", "dir", "folder", "url", "remote", "token", "key"];

/// Reads the table over earlier values.
pub(super) fn read_store_limits(report: &mut Report<'_>, fields: Fields<'_, '_>, store: &mut StoreLimits) {
    for (key, item) in fields.entries() {
        match key.text {
            "max_size" => store.max_size = quantity(report, item, "max_size", quantity::parse_bytes).or(store.max_size),
            "older_than" => store.older_than = quantity(report, item, "older_than", quantity::seconds).or(store.older_than),
            "keep_versions" => store.keep_versions = versions(report, item).or(store.keep_versions),
            name if PERSONAL.contains(&name) => personal(report, key),
            _ => fields.unknown_key(report, key, &KEYS),
        }
    }
}

fn quantity(report: &mut Report<'_>, item: Item<'_, '_>, key: &str, read: fn(&str) -> Result<u64, String>) -> Option<u64> {
    let text = item.text(report, &format!("'{key}'"))?;
    let value = read(text.text);
    if let Err(hint) = &value {
        report.error(
            text.span,
            Diagnostic::error(ErrorCode::E_VALUE, format!("'{key}' cannot be read")).hint(hint),
        );
    }
    value.ok()
}

fn versions(report: &mut Report<'_>, item: Item<'_, '_>) -> Option<u32> {
    let number = item
        .value
        .as_integer()
        .and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok());
    let number = number.filter(|number| (0..=MOST_VERSIONS).contains(number));
    if number.is_none() {
        item.report_wrong_type(report, "'keep_versions'", &format!("a whole number up to {MOST_VERSIONS}"));
    }
    number.and_then(|number| u32::try_from(number).ok())
}

fn personal(report: &mut Report<'_>, key: Text<'_>) {
    report.error(
        key.span,
        Diagnostic::error(ErrorCode::E_PERSONAL, "a manifest must not set the location of stores and secrets")
            .hint("set it in your own configuration, with --store or CORTEX_STORE; a manifest is shared with others"),
    );
}
