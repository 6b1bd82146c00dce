//! Ranges of the values of `int` and `long` constants.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// The range of an integer constant's value, which decides to which other integer types it converts (C# specification, Implicit constant expression
/// conversions). A new value in the same range changes nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cbor(index_only)]
pub enum IntegerRange {
    /// 0 to 127.
    #[n(0)]
    SByte,
    /// 128 to 255.
    #[n(1)]
    Byte,
    /// 256 to 32,767.
    #[n(2)]
    Short,
    /// 32,768 to 65,535.
    #[n(3)]
    UShort,
    /// From 65,536.
    #[n(4)]
    Int,
    /// -128 to -1.
    #[n(5)]
    NegativeSByte,
    /// -32,768 to -129.
    #[n(6)]
    NegativeShort,
    /// Up to -32,769.
    #[n(7)]
    NegativeInt,
    /// A `long` that is not negative.
    #[n(8)]
    Long,
    #[n(9)]
    NegativeLong,
}

impl IntegerRange {
    const ALL: [Self; 10] = [
        Self::SByte,
        Self::Byte,
        Self::Short,
        Self::UShort,
        Self::Int,
        Self::NegativeSByte,
        Self::NegativeShort,
        Self::NegativeInt,
        Self::Long,
        Self::NegativeLong,
    ];

    /// Returns the range of an `int`.
    pub fn of_value(value: i64) -> Self {
        match value {
            0..=0x7f => Self::SByte,
            0x80..=0xff => Self::Byte,
            0x100..=0x7fff => Self::Short,
            0x8000..=0xffff => Self::UShort,
            -0x80..=-1 => Self::NegativeSByte,
            -0x8000..=-0x81 => Self::NegativeShort,
            value if value < 0 => Self::NegativeInt,
            _ => Self::Int,
        }
    }

    /// Returns the digit for the range in the flags of a constant.
    pub fn digit(self) -> char {
        let at = Self::ALL.iter().position(|range| *range == self);
        at.and_then(|at| char::from_digit(at as u32, 10)).unwrap_or('0')
    }

    pub fn from_digit(digit: char) -> Option<Self> {
        Self::ALL.get(digit.to_digit(10)? as usize).copied()
    }

    pub fn is_negative(self) -> bool {
        matches!(
            self,
            Self::NegativeSByte | Self::NegativeShort | Self::NegativeInt | Self::NegativeLong
        )
    }

    /// Whether the constant converts to an integer type that does not take every value of its own type. `key`: `~System.Byte`.
    pub fn converts_to(self, key: &str) -> bool {
        let taken: &[&str] = match self {
            Self::SByte => &["SByte", "Byte", "Int16", "UInt16", "UInt32", "UInt64"],
            Self::Byte => &["Byte", "Int16", "UInt16", "UInt32", "UInt64"],
            Self::Short => &["Int16", "UInt16", "UInt32", "UInt64"],
            Self::UShort => &["UInt16", "UInt32", "UInt64"],
            Self::Int => &["UInt32", "UInt64"],
            Self::NegativeSByte => &["SByte", "Int16"],
            Self::NegativeShort => &["Int16"],
            Self::Long => &["UInt64"],
            Self::NegativeInt | Self::NegativeLong => &[],
        };
        key.strip_prefix("~System.").is_some_and(|name| taken.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_has_its_digit() {
        for range in IntegerRange::ALL {
            assert_eq!(IntegerRange::from_digit(range.digit()), Some(range));
        }
    }

    #[test]
    fn a_value_converts_to_the_types_that_hold_it() {
        let bounds: [(&str, i64, i64); 6] = [
            ("SByte", i8::MIN.into(), i8::MAX.into()),
            ("Byte", 0, u8::MAX.into()),
            ("Int16", i16::MIN.into(), i16::MAX.into()),
            ("UInt16", 0, u16::MAX.into()),
            ("UInt32", 0, u32::MAX.into()),
            ("UInt64", 0, i64::MAX),
        ];
        let edges = [0, 0x7f, 0xff, 0x7fff, 0xffff, i64::from(i32::MAX)];
        let values = edges.into_iter().flat_map(|edge| [edge, edge + 1, -edge, -edge - 1, -edge - 2]);
        for value in values.filter(|value| i32::try_from(*value).is_ok()) {
            let range = IntegerRange::of_value(value);
            assert_eq!(range.is_negative(), value < 0, "{value}");
            for (name, least, most) in bounds {
                let holds = (least..=most).contains(&value);
                assert_eq!(range.converts_to(&format!("~System.{name}")), holds, "{value} to {name}");
            }
        }
    }
}
