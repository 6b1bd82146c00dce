//! `csharp/mentions`: which names a type uses and what surrounds them; most body edits stop here.
//!
//! `keys` lists the rows of `//index:symbols` that decide what the names mean: every simple name on a path, its `…Attribute` form for
//! attributes, `ns:` rows for the namespaces of using directives, `using:` rows for every directory above a part (which of them has a
//! project is for the index to say) and the type's own name.

use super::complete::{self, Complete, Part};
use super::layout::ancestors;
use super::model::{NamePlace, NameUse};
use super::structure::check_flags;
use super::types::json;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// All that binding needs to know of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mentions {
    /// Namespace and path.
    pub symbol: String,
    /// Namespace.
    pub namespace: String,
    /// Rows of the symbol index that the binder looks at, sorted.
    pub keys: Vec<String>,
    /// Parts in their order.
    pub parts: Vec<MentionPart>,
}

/// One part and its names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MentionPart {
    /// Its file.
    pub file: String,
    /// Using directives in effect for its namespace.
    pub usings: Vec<MentionUsing>,
    /// Symbols of the types around it, outermost first, itself last.
    pub enclosing: Vec<String>,
    /// Names used, each once per place; type parameters left out.
    pub names: Vec<MentionName>,
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
    /// Namespace level it stands at.
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
    /// Where it stands.
    pub place: Place,
    /// Whether it is a type for sure.
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
    /// Body.
    Body,
}

impl From<NamePlace> for Place {
    fn from(place: NamePlace) -> Self {
        match place {
            NamePlace::Base => Self::Base,
            NamePlace::Signature => Self::Signature,
            NamePlace::Attribute => Self::Attribute,
            NamePlace::Body => Self::Body,
        }
    }
}

/// Words that name built-in types or stand where a type stands, and are never declared.
const BUILT_IN: [&str; 24] = [
    "bool", "byte", "sbyte", "short", "ushort", "int", "uint", "long", "ulong", "nint", "nuint", "char", "float", "double", "decimal",
    "string", "object", "void", "dynamic", "var", "this", "base", "_", "nameof",
];

/// The producer `csharp/mentions`.
#[derive(Debug)]
pub struct MentionsOf;

impl Producer for MentionsOf {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/mentions", 2)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        Ok(Output::new(json(&mentions(&complete::read(inputs.one("complete")?)?))))
    }
}

fn mentions(whole: &Complete) -> Mentions {
    let parts: Vec<MentionPart> = whole
        .parts
        .iter()
        .enumerate()
        .map(|(at, part)| mention_part(whole, part, at))
        .collect();
    let mut keys = BTreeSet::new();
    for part in &parts {
        part_keys(part, &whole.namespace, &mut keys);
    }
    Mentions {
        symbol: whole.symbol.clone(),
        namespace: whole.namespace.clone(),
        keys: keys.into_iter().collect(),
        parts,
    }
}

fn mention_part(whole: &Complete, part: &Part, at: usize) -> MentionPart {
    let in_effect = |level: &str| {
        level.is_empty() || whole.namespace == level || whole.namespace.strip_prefix(level).is_some_and(|rest| rest.starts_with('.'))
    };
    let usings = part.usings.iter().filter(|using| in_effect(&using.namespace));
    let usings = usings.map(|using| MentionUsing {
        alias: using.alias.clone(),
        target: using.target.clone(),
        is_static: using.is_static,
        level: using.namespace.clone(),
    });
    let prefix = |path: &str| {
        if whole.namespace.is_empty() {
            path.to_owned()
        } else {
            format!("{}.{path}", whole.namespace)
        }
    };
    let mut enclosing: Vec<String> = part.enclosing.iter().map(|outer| prefix(&outer.path)).collect();
    enclosing.push(whole.symbol.clone());

    let outer: BTreeSet<&str> = part
        .enclosing
        .iter()
        .flat_map(|outer| &outer.type_parameters)
        .chain(&whole.type_parameters)
        .map(String::as_str)
        .collect();
    let members: BTreeSet<&str> = whole.members.iter().map(|placed| placed.member.name.as_str()).collect();
    let mut names = BTreeSet::new();
    let mut take = |used: &NameUse, own: &[String]| {
        let path = used.path.as_str();
        let parameter = used.arity == 0 && (outer.contains(path) || own.iter().any(|name| name == path));
        let first = path.split(['.', ':']).next().unwrap_or(path);
        let member = !used.certain && members.contains(first);
        if !parameter && !member && !BUILT_IN.contains(&path) && !path.is_empty() {
            names.insert(MentionName {
                path: path.to_owned(),
                arity: used.arity,
                place: used.place.into(),
                certain: used.certain,
            });
        }
    };
    part.names.iter().for_each(|used| take(used, &[]));
    for placed in whole.members.iter().filter(|placed| placed.part as usize == at) {
        placed
            .member
            .names
            .iter()
            .for_each(|used| take(used, &placed.member.type_parameters));
    }
    MentionPart {
        file: part.file.clone(),
        usings: usings.collect(),
        enclosing,
        names: names.into_iter().collect(),
    }
}

fn part_keys(part: &MentionPart, namespace: &str, keys: &mut BTreeSet<String>) {
    let path_keys = |path: &str, keys: &mut BTreeSet<String>| {
        for segment in segments(path) {
            keys.insert(segment.to_owned());
        }
    };
    for name in &part.names {
        path_keys(&name.path, keys);
        if name.place == Place::Attribute {
            let last = name.path.rsplit(['.', ':']).next().unwrap_or(&name.path);
            keys.insert(format!("{last}Attribute"));
        }
    }
    for using in &part.usings {
        if using.alias.is_some() || using.is_static {
            path_keys(&using.target, keys);
        } else {
            for level in levels(&using.level) {
                keys.insert(format!("ns:{}", join_path(level, &using.target)));
            }
        }
    }
    for around in &part.enclosing {
        path_keys(around.strip_prefix(namespace).unwrap_or(around), keys);
    }
    // A file that another project owns than the nearest has a row of its own.
    keys.insert(format!("using:{}", part.file));
    for above in ancestors(&part.file) {
        keys.insert(format!("using:{above}"));
    }
    keys.insert("using:?".to_owned());
}

/// The simple names on a path, `global` left out and arity marks cut.
pub fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split(['.', ':', '+'])
        .map(|segment| segment.split('`').next().unwrap_or(segment))
        .filter(|segment| !segment.is_empty() && *segment != "global")
}

/// A namespace and those around it, innermost first, `""` last.
pub fn levels(namespace: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(namespace), |inner| {
        (!inner.is_empty()).then(|| inner.rfind('.').map_or("", |dot| &inner[..dot]))
    })
}

/// `namespace.name`, or `name` in the global namespace.
pub fn join_path(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}.{name}")
    }
}
