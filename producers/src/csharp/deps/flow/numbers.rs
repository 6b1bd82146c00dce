//! Types of numbers, and which of them become others by themselves.

use crate::csharp::deps::shape::Shape;

/// Whether a key is that of a type of numbers, characters included.
pub(super) fn numeric(key: &str) -> bool {
    WIDENINGS.iter().any(|(number, _)| *number == key)
}

/// Types of numbers, each with those that its values become by themselves (C# specification, Implicit numeric conversions).
const WIDENINGS: [(&str, &[&str]); 12] = [
    ("~System.Int32", &["Int64", "Single", "Double", "Decimal"]),
    ("~System.Int64", &["Single", "Double", "Decimal"]),
    ("~System.Double", &[]),
    ("~System.Single", &["Double"]),
    ("~System.Decimal", &[]),
    (
        "~System.Byte",
        &[
            "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Single", "Double", "Decimal",
        ],
    ),
    ("~System.Int16", &["Int32", "Int64", "Single", "Double", "Decimal"]),
    ("~System.UInt32", &["Int64", "UInt64", "Single", "Double", "Decimal"]),
    ("~System.UInt64", &["Single", "Double", "Decimal"]),
    (
        "~System.UInt16",
        &["Int32", "UInt32", "Int64", "UInt64", "Single", "Double", "Decimal"],
    ),
    ("~System.SByte", &["Int16", "Int32", "Int64", "Single", "Double", "Decimal"]),
    (
        "~System.Char",
        &["UInt16", "Int32", "UInt32", "Int64", "UInt64", "Single", "Double", "Decimal"],
    ),
];

/// Whether a variable of one type of numbers does not become one of another by itself; constants may.
pub(super) fn is_narrowing(from: &Shape, to: &Shape) -> bool {
    let Some((from, to)) = from.key().zip(to.key()).filter(|(from, to)| from != to && numeric(to)) else {
        return false;
    };
    let widened = WIDENINGS.iter().find(|(number, _)| *number == from);
    let name = to.trim_start_matches("~System.");
    widened.is_some_and(|(_, wider)| !wider.contains(&name))
}

/// The types of numbers that values of one become by themselves, nearest first; none of other types.
pub(super) fn wider(of: &Shape) -> impl Iterator<Item = Shape> {
    let names = of.key().and_then(|key| WIDENINGS.iter().find(|(number, _)| *number == key));
    let names = names.map_or(&[][..], |(_, wider)| *wider);
    names.iter().map(|name| Shape::of_key(&format!("~System.{name}")))
}
