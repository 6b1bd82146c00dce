//! The output of `csharp/mentions`: the names that a type uses and their context.

use super::code::integer_range::IntegerRange;
use super::collection_builder::CollectionBuilder;
use super::model::NamePlace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The facts about one type that binding needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mentions {
    /// Namespace and path.
    pub symbol: String,
    /// Text after `@` in the type's key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// Namespace.
    pub namespace: String,
    /// Kind letter: `c` class, `t` static class, `s` struct, `i` interface, `e` enum, `d` delegate.
    pub kind: char,
    /// Whether the type is partial, so that a source generator may add members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Rows of the symbol index and of the member index that binding reads, sorted.
    pub keys: Vec<String>,
    /// Bases as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<String>,
    /// Constraints of its type parameters as written, a `where` clause each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// Whether any of its documentation contains `<inheritdoc`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inherits_docs: bool,
    /// The method that creates it from a collection expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builder: Option<CollectionBuilder>,
    /// Members that other code can name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<Declared>,
    /// Distinct references in its documentation, `cref="…"`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub references: BTreeSet<String>,
    /// Parts in order.
    pub parts: Vec<MentionPart>,
}

/// A member as other code sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    /// Index into [`Mentions::parts`].
    pub part: u32,
    /// Simple name, `this[]`, `.ctor`; of an explicit implementation that `using` calls also its interface.
    pub name: String,
    /// `m` method, `x` extension method, `c` constructor, `i` indexer, `p` other member with a value, `e` enum member, `h` constructor in a type's
    /// header, `d` signature of a delegate; followed by `s` if static.
    pub flags: String,
    /// Own type parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub type_parameters: Vec<String>,
    /// Its header.
    pub signature: String,
    /// Number of parameters with a default value, which the header omits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: u32,
    /// Value of `[OverloadResolutionPriority]`; 0 without it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// The range of the value of an `int` or `long` constant, as far as it does not depend on other types.
    #[serde(default, skip_serializing_if = "is_default")]
    pub range: Option<IntegerRange>,
    /// The path of the other type's constant whose value an `int` or `long` constant has; empty without one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub origin: String,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One part and its names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MentionPart {
    /// Its file.
    pub file: String,
    /// Using directives in effect for its namespace.
    pub usings: Vec<MentionUsing>,
    /// Symbols of the enclosing types, outermost first, the type itself last.
    pub enclosing: Vec<String>,
    /// Type parameters of the enclosing types and its own, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub type_parameters: Vec<String>,
    /// Names in declarations, distinct per place; without type parameters.
    pub names: Vec<MentionName>,
    /// Path of the project that compiles the part, if the file's owner does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
}

/// A using directive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MentionUsing {
    /// Alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Namespace or type.
    pub target: String,
    /// `using static`.
    #[serde(default, rename = "static", skip_serializing_if = "std::ops::Not::not")]
    pub is_static: bool,
    /// Namespace level of the directive.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub level: String,
}

/// A name in one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MentionName {
    /// Dotted path.
    pub path: String,
    /// Type arguments of its last segment.
    pub arity: u32,
    /// Its place.
    pub place: Place,
    /// Whether it is certainly a type.
    pub certain: bool,
}

/// [`NamePlace`] in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Base list.
    Base,
    /// Signature or constraint.
    Signature,
    /// Attribute.
    Attribute,
    /// Argument of an attribute.
    Argument,
    /// Named in a body.
    Body,
    /// Used in a body without being named: the type of a value, or the type that declares a used member.
    Inferred,
}

impl From<NamePlace> for Place {
    fn from(place: NamePlace) -> Self {
        match place {
            NamePlace::Base => Self::Base,
            NamePlace::Signature => Self::Signature,
            NamePlace::Attribute => Self::Attribute,
            NamePlace::Argument => Self::Argument,
        }
    }
}

impl Place {
    /// Returns the place as evidence of a dependency: an attribute's argument counts as an attribute.
    pub fn as_evidence(self) -> Self {
        match self {
            Self::Argument => Self::Attribute,
            place => place,
        }
    }
}
