//! Implicit conversions between C# numbers, and which of two is the better target (C# standard, 10.2.3, 10.2.11, 12.6.4.7). Types are keys of .NET,
//! `~System.Int32`; other types convert to nothing.

use producers::csharp::code::integer_range::IntegerRange;
use producers::csharp::deps::flow::{is_signed_over, widens};

/// Whether a literal of type `from` converts to `to`. `range`: that of its value if the type is `int`. A literal of the type `long` may convert.
pub fn converts_literal(from: &str, range: IntegerRange, to: &str) -> bool {
    let converts_value = || match from {
        "~System.Int32" => range.converts_to(to),
        _ => from == "~System.Int64" && to == "~System.UInt64",
    };
    from == to || widens(from, to) || converts_value()
}

/// Whether `one` is the better conversion target.
pub fn is_nearer(one: &str, other: &str) -> bool {
    widens(one, other) || is_signed_over(one, other)
}
