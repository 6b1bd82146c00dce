//! Which code names what is looked for: `//types/T:mentions`, `//types/T:deps`.

use super::index::simple_name;
use super::outputs::{Output, Outputs};
use super::unreferenced::{Naming, names};
use super::usages::{IMPLIED, Subject, Usages, is_nameless};
use producers::csharp::deps::declarations::member_key;
use producers::csharp::deps::flow::IMPLICIT;
use std::collections::{BTreeMap, HashMap, HashSet};

/// By subject the labels of the usages of types, and whether the code of each names the subject's type.
pub(super) type Mentioning = Vec<BTreeMap<String, bool>>;

/// By subject the labels of the usages of the types whose code may use it, and whether that code names its type; then the types whose code has its
/// words.
pub(super) fn mentioning<O: Outputs>(
    outputs: &mut O,
    subjects: &[Subject],
    found: &mut [Usages],
) -> Result<(Mentioning, Naming), O::Error> {
    let mut mentioning: Mentioning = vec![BTreeMap::new(); subjects.len()];
    let mut naming: Naming = vec![BTreeMap::new(); subjects.len()];
    for by in ["deps", "mentions", "reach"] {
        let told = |subject: &Subject| match (by, subject.name_in_uses()) {
            ("reach", word) => word == IMPLICIT,
            ("deps", word) => is_nameless(word) || IMPLIED.contains(&word),
            (_, word) => !is_nameless(word),
        };
        if !subjects.iter().any(told) {
            continue;
        }
        for Output { label, bytes } in outputs.read(&[format!("//types/...:{by}")])? {
            let usages = label.strip_suffix(by).map(|package| format!("{package}usages"));
            let named = bytes.map(|bytes| Named::read(by, &bytes));
            if let Some(Named::Words(words)) = &named {
                let user = label.strip_prefix("//types/").and_then(|rest| rest.strip_suffix(":mentions"));
                let user = user.map(engine::values::label::unescape).unwrap_or_default();
                for (subject, naming) in subjects.iter().zip(&mut naming) {
                    naming.extend(names(words, subject).map(|opens| (user.clone(), opens)));
                }
            }
            for ((subject, mentioning), found) in subjects.iter().zip(&mut mentioning).zip(&mut *found) {
                match (&named, &usages) {
                    _ if !told(subject) => {}
                    (None, _) => found.unread.push(label.clone()),
                    (Some(named), Some(usages)) if named.may_use(subject) => {
                        *mentioning.entry(usages.clone()).or_default() |= named.names_type_of(subject);
                    }
                    _ => {}
                }
            }
        }
    }
    Ok((mentioning, naming))
}

/// What the code of a type names.
enum Named {
    /// Words.
    Words(HashSet<String>),
    /// Keys of types, its own included.
    Types(HashSet<String>),
    /// Keys of declarations that its code was looked through for: a conversion may be used where nothing names its type.
    Declarations(HashSet<String>),
}

impl Named {
    /// Reads the `deps` or `mentions` of a type; of none that cannot be read it is known what they name.
    fn read(by: &str, bytes: &[u8]) -> Self {
        #[derive(serde::Deserialize)]
        struct Mentions {
            keys: HashSet<String>,
        }
        #[derive(serde::Deserialize)]
        struct Dependencies {
            evidence: HashMap<String, serde::de::IgnoredAny>,
            #[serde(rename = "type")]
            own: String,
        }
        match by {
            "reach" => Self::Declarations(serde_json::from_slice::<Mentions>(bytes).map_or_else(|_| HashSet::new(), |found| found.keys)),
            "deps" => {
                let read = serde_json::from_slice::<Dependencies>(bytes);
                Self::Types(read.map_or_else(|_| HashSet::new(), |found| found.evidence.into_keys().chain([found.own]).collect()))
            }
            _ => Self::Words(serde_json::from_slice::<Mentions>(bytes).map_or_else(|_| HashSet::new(), |found| found.keys)),
        }
    }

    fn may_use(&self, subject: &Subject) -> bool {
        match self {
            Self::Words(words) => words.contains(subject.name_in_uses()),
            Self::Types(keys) => keys.contains(&subject.key),
            Self::Declarations(keys) => keys.contains(&member_key(&subject.key, subject.name_in_uses())),
        }
    }

    fn names_type_of(&self, subject: &Subject) -> bool {
        match self {
            Self::Words(words) => words.contains(simple_name(&subject.key)),
            Self::Types(_) => true,
            Self::Declarations(_) => false,
        }
    }
}
