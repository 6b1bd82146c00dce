//! Why a use is possible and not certain.

use std::fmt;

/// Why a place may be a use and may not, the likeliest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// A framework uses it for the present text: how.
    Wired(String),
    /// The arguments also fit these overloads.
    Overloads(Vec<String>),
    /// The arguments may mean an overload that another type declares.
    Elsewhere,
    /// It is a use of the member of a base or an heir.
    Through(String),
    /// The overloads are named without a call.
    Named,
    /// The arguments fit no overload that is known.
    NoneFits,
    /// The type of the value is not known, and the code names this type, which declares the member.
    UnknownValueNear(String),
    /// The type of the value is not known.
    UnknownValue,
    /// It bears the name, and nothing binds the names of its language.
    ByName,
    /// It bears the name in an attribute of an assembly or in a using directive, where nothing binds names.
    OutsideTypes,
    /// It bears the name in code that `#if` excludes.
    Excluded,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wired(how) => write!(f, "wired: {how}"),
            Self::Through(path) => write!(f, "through {path}"),
            Self::UnknownValueNear(name) => write!(f, "the type of the value is unknown, in code that names {name}"),
            Self::UnknownValue => f.write_str("the type of the value is unknown"),
            Self::ByName => f.write_str("the name is the same; cortex does not bind names in this language"),
            Self::OutsideTypes => f.write_str("the name is the same; cortex does not bind names outside of types"),
            Self::Excluded => f.write_str("in code that #if excludes, which cortex does not bind"),
            Self::Overloads(others) => match others.as_slice() {
                [other] => write!(f, "the arguments also fit {other}"),
                several => write!(f, "the arguments also fit {} overloads", several.len()),
            },
            Self::Named => f.write_str("the code names the method without calling it, and does not say which overload it means"),
            Self::NoneFits => f.write_str("the arguments fit no known overload"),
            Self::Elsewhere => f.write_str("the arguments also fit an overload that another type declares"),
        }
    }
}
