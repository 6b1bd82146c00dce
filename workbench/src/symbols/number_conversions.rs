//! Implicit conversions between C# numbers, and which of two is the better target (C# standard, 10.2.3, 10.2.11, 12.6.4.7). Types are keys of .NET,
//! `~System.Int32`; other types convert to nothing.

pub use producers::csharp::deps::flow::widens;

/// Further types to which a constant of a type converts, if its value fits.
const CONSTANTS: [(&str, &[&str]); 2] = [
    ("Int32", &["SByte", "Byte", "Int16", "UInt16", "UInt32", "UInt64"]),
    ("Int64", &["UInt64"]),
];

/// Signed types, and the unsigned types over which each is preferred.
const SIGNED: [(&str, &[&str]); 4] = [
    ("SByte", &["Byte", "UInt16", "UInt32", "UInt64"]),
    ("Int16", &["UInt16", "UInt32", "UInt64"]),
    ("Int32", &["UInt32", "UInt64"]),
    ("Int64", &["UInt64"]),
];

/// Whether a literal of type `from` may convert to `to`, whatever its value.
pub fn converts_literal(from: &str, to: &str) -> bool {
    from == to || widens(from, to) || table_has(&CONSTANTS, from, to)
}

/// Whether `one` is the better conversion target.
pub fn is_nearer(one: &str, other: &str) -> bool {
    widens(one, other) || table_has(&SIGNED, one, other)
}

fn table_has(table: &[(&str, &[&str])], from: &str, to: &str) -> bool {
    let (Some(from), Some(to)) = (from.strip_prefix("~System."), to.strip_prefix("~System.")) else {
        return false;
    };
    table.iter().any(|(one, others)| *one == from && others.contains(&to))
}
