//! Numeric types, and the implicit conversions between them.

use crate::csharp::deps::shape::Shape;

/// Whether a key is that of a numeric type, `char` included.
pub(super) fn numeric(key: &str) -> bool {
    WIDENINGS.iter().any(|(number, _)| *number == key)
}

/// Numeric types, each with those to which its values convert implicitly (C# specification, Implicit numeric conversions).
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

/// Whether a variable of one numeric type does not convert to another one implicitly; a constant may.
pub(super) fn is_narrowing(from: &Shape, to: &Shape) -> bool {
    let Some((from, to)) = from.key().zip(to.key()).filter(|(from, to)| from != to && numeric(to)) else {
        return false;
    };
    let widened = WIDENINGS.iter().find(|(number, _)| *number == from);
    let name = to.trim_start_matches("~System.");
    widened.is_some_and(|(_, wider)| !wider.contains(&name))
}

/// Returns the numeric types to which values of a numeric type convert implicitly, nearest first; none for other types.
pub(super) fn wider(of: &Shape) -> impl Iterator<Item = Shape> {
    let names = of.key().and_then(|key| WIDENINGS.iter().find(|(number, _)| *number == key));
    let names = names.map_or(&[][..], |(_, wider)| *wider);
    names.iter().map(|name| Shape::of_key(&format!("~System.{name}")))
}
