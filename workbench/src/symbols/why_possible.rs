//! The reasons why a use is possible and not certain.

use std::fmt;

/// The reason why a place may or may not be a use; the most likely uses come first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UseDoubt {
    /// A framework uses the member, as this text explains.
    Wired(String),
    /// The arguments also fit these overloads.
    Overloads(Vec<String>),
    /// The arguments may fit an overload that another type declares.
    Elsewhere,
    /// The place is a use of this member of a base or an heir.
    Through(String),
    /// The place names several overloads without a call.
    Named,
    /// The arguments fit no known overload.
    NoneFits,
    /// .NET declares the value's type without this member, and no extension method of the workspace seems to take the value.
    Extension,
    /// The value's type is unknown, and the code names this type, which declares the member.
    UnknownValueNear(String),
    /// The value's type is unknown.
    UnknownValue,
    /// The place has the name, in a language whose names are not bound.
    ByName,
    /// The place has the name, in an attribute of an assembly or in a using directive, where names are not bound.
    OutsideTypes,
    /// The place has the name, in code that `#if` excludes.
    Excluded,
}

impl fmt::Display for UseDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wired(how) => write!(f, "wired: {how}"),
            Self::Through(path) => write!(f, "through {path}"),
            Self::UnknownValueNear(name) => write!(f, "the type of the value is unknown, in code that names {name}"),
            Self::UnknownValue => f.write_str("the type of the value is unknown"),
            Self::Extension => f.write_str("the value is of a .NET type without this member; an extension method may take it"),
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
