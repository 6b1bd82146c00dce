//! Every place that uses a type or a member, what is certain apart from what is possible.
//!
//! Types that mention the word of the symbol are looked at (`//types/T:mentions`), the places come from their `//types/T:usages`. An
//! inherited member is looked for under the type that was named: its uses are those of the base that declares it, and possible.

use super::index::simple_name;
use super::outputs::{Output, Outputs, SymbolError, Trouble};
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use engine::values::table::Table;
use producers::csharp::deps::index::dotted;
use producers::csharp::types::symbol_of;
use producers::csharp::usages::{Place, declaring, members_of, related};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Names offered when a symbol means nothing.
const SUGGESTIONS: usize = 5;

/// What is looked for: a type, and maybe a member of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Key of the type.
    pub key: String,
    /// Name of the member.
    pub member: Option<String>,
}

impl Wanted {
    /// Its path.
    pub fn path(&self) -> String {
        match &self.member {
            Some(member) => format!("{}#{member}", self.key),
            None => self.key.clone(),
        }
    }
}

/// The places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usages {
    /// Path of the type or `key#Member`.
    pub symbol: String,
    /// Places that use it.
    pub certain: BTreeSet<Place>,
    /// Places that may use it: through a base or an heir, or on a value of unknown type.
    pub possible: BTreeSet<Place>,
    /// Labels of the targets that could not be made: what they would tell is missing.
    #[serde(skip)]
    pub unread: Vec<String>,
}

/// Finds the places that use what a symbol means.
///
/// # Errors
/// When it means nothing or several types, and when outputs cannot be read.
pub fn usages<O: Outputs>(outputs: &mut O, symbol: &str) -> Result<Usages, O::Error> {
    let types = whole(outputs, "//index:types")?;
    let members = whole(outputs, "//index:members")?;
    let (Some(types), Some(members)) = (types, members) else {
        return Ok(Usages {
            symbol: symbol.to_owned(),
            unread: vec!["//index:members".to_owned()],
            ..Usages::default()
        });
    };
    let wanted = wanted(&types, &members, symbol)?;
    let word = match &wanted.member {
        Some(member) => member.as_str(),
        None => simple_name(&wanted.key),
    };
    let mut found = Usages {
        symbol: wanted.path(),
        ..Usages::default()
    };
    let mut mentioning: Vec<String> = Vec::new();
    for (label, bytes) in made(outputs.read(&["//types/...:mentions".to_owned()])?, &mut found.unread) {
        if let Some(package) = label.strip_suffix(":mentions").filter(|_| mentions(&bytes, word)) {
            mentioning.push(format!("{package}:usages"));
        }
    }
    let related = match &wanted.member {
        Some(member) => related(&members, &wanted.key, member).map_err(|_| SymbolError::damaged())?,
        None => BTreeSet::new(),
    };
    if !mentioning.is_empty() {
        for (label, bytes) in made(outputs.read(&mentioning)?, &mut found.unread) {
            take(&wanted, &related, &bytes, &mut found).map_err(|error| error.at_label(&label))?;
        }
    }
    found.possible.retain(|place| !found.certain.contains(place));
    if let Some(member) = &wanted.member
        && found.certain.is_empty()
        && found.possible.is_empty()
        && found.unread.is_empty()
        && !members_of(&members, std::slice::from_ref(&wanted.key))
            .map_err(|_| SymbolError::damaged())?
            .contains(member)
    {
        let named = symbol.split('(').next().unwrap_or_default();
        let named = named.rfind(['#', '.']).map_or("", |at| &named[..=at]);
        return Err(no_member(&members, std::slice::from_ref(&wanted.key), member, named, symbol)?.into());
    }
    Ok(found)
}

fn whole<O: Outputs>(outputs: &mut O, label: &str) -> Result<Option<Arc<[u8]>>, O::Error> {
    super::outputs::read_one(outputs, label.to_owned())
}

/// The outputs that there are; the labels of the others are noted.
fn made(outputs: Vec<Output>, unread: &mut Vec<String>) -> Vec<(String, Arc<[u8]>)> {
    let mut found = Vec::with_capacity(outputs.len());
    for Output { label, bytes } in outputs {
        match bytes {
            Some(bytes) => found.push((label, bytes)),
            None => unread.push(label),
        }
    }
    found
}

/// Takes the places of one type's table.
fn take(wanted: &Wanted, related: &BTreeSet<String>, bytes: &[u8], found: &mut Usages) -> Result<(), SymbolError> {
    let table = Table::open(bytes).ok_or_else(SymbolError::damaged)?;
    let places = |key: &str| -> Result<Vec<Place>, SymbolError> {
        let row = table.get(key).map(serde_json::from_slice);
        row.transpose().map(Option::unwrap_or_default).map_err(|_| SymbolError::damaged())
    };
    let Some(member) = &wanted.member else {
        found.certain.extend(places(&wanted.key)?);
        return Ok(());
    };
    found.certain.extend(places(&wanted.path())?);
    for other in related.iter().map(String::as_str).chain(["?"]) {
        found.possible.extend(places(&format!("{other}#{member}"))?);
    }
    Ok(())
}

fn mentions(bytes: &[u8], word: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Keys {
        keys: Vec<String>,
    }
    serde_json::from_slice::<Keys>(bytes).is_ok_and(|mentions| mentions.keys.iter().any(|key| key == word))
}

fn keys(types: &[u8]) -> impl Iterator<Item = &str> {
    Table::open(types).into_iter().flat_map(Table::keys)
}

/// The type or member that a symbol means, over the outputs of `//index:types` and `//index:members`.
///
/// # Errors
/// When it means nothing, or several types.
pub fn wanted(types: &[u8], members: &[u8], symbol: &str) -> Result<Wanted, SymbolError> {
    let damaged = |_| SymbolError::damaged();
    let (named, member) = match symbol.split_once('#') {
        Some((named, member)) => (named, Some(member.split('(').next().unwrap_or(member))),
        None => (symbol, None),
    };
    let found = matching(types, named);
    if found.is_empty()
        && member.is_none()
        && let Some((outer, last)) = named.rsplit_once('.')
    {
        let last = last.split('(').next().unwrap_or(last);
        let declared = declaring(members, last).map_err(damaged)?;
        let named = matching(types, outer);
        let mut owners: Vec<String> = named.iter().filter(|key| declared.contains(*key)).cloned().collect();
        if owners.is_empty() {
            // An inherited member: its uses are those of the base that declares it.
            for key in &named {
                if !related(members, key, last).map_err(damaged)?.is_empty() {
                    owners.push(key.clone());
                }
            }
        }
        if owners.is_empty() && !named.is_empty() {
            return Err(no_member(members, &named, last, &format!("{outer}."), symbol)?);
        }
        return one(owners, symbol, types).map(|key| Wanted {
            key,
            member: Some(last.to_owned()),
        });
    }
    one(found, symbol, types).map(|key| Wanted {
        key,
        member: member.map(str::to_owned),
    })
}

/// The error that types have no such member, with those that are spelled alike. `named`: what was written before the member.
fn no_member(members: &[u8], types: &[String], member: &str, named: &str, symbol: &str) -> Result<SymbolError, SymbolError> {
    let known = members_of(members, types).map_err(|_| SymbolError::damaged())?;
    let near = nearest(member, known.iter().map(String::as_str), SUGGESTIONS);
    let near: Vec<String> = near.iter().map(|name| format!("{named}{name}")).collect();
    let hint = match near.first() {
        Some(first) => format!("did you mean {first}?"),
        None => format!("`cortex outline '{}'` lists its members", named.trim_end_matches(['#', '.'])),
    };
    let why = Diagnostic::error("SymbolNotFound", "the type has no member of this name").found(symbol);
    Ok(SymbolError::new(Trouble::NotFound, why.hint(hint).candidates(near)))
}

/// Keys of the types that a name means: all of it, or its end at a dot.
fn matching(types: &[u8], named: &str) -> Vec<String> {
    let ends = |whole: &str| {
        whole
            .strip_suffix(named)
            .is_some_and(|before| before.is_empty() || before.ends_with(['.', '+']))
    };
    let fits = |key: &&str| ends(key) || ends(symbol_of(key)) || ends(&dotted(symbol_of(key)));
    let exact: Vec<String> = keys(types)
        .filter(|key| *key == named || symbol_of(key) == named)
        .map(str::to_owned)
        .collect();
    if exact.is_empty() {
        keys(types).filter(fits).map(str::to_owned).collect()
    } else {
        exact
    }
}

fn one(mut found: Vec<String>, symbol: &str, types: &[u8]) -> Result<String, SymbolError> {
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let (named, member) = symbol.split_at(symbol.find('#').unwrap_or(symbol.len()));
            let near = if matching(types, named).is_empty() {
                nearest(named, keys(types).map(symbol_of), SUGGESTIONS)
            } else {
                Vec::new()
            };
            let hint = match near.first() {
                Some(first) => format!("did you mean {first}{member}?"),
                None => "write Type, Namespace.Type, Type.Member or Type#Member".to_owned(),
            };
            let why = Diagnostic::error("SymbolNotFound", "no type or member of this name is known").found(symbol);
            Err(SymbolError::new(Trouble::NotFound, why.hint(hint).candidates(near)))
        }
        _ => {
            let why = Diagnostic::error("AmbiguousSymbol", "several types have this name").found(symbol);
            let hint = "write enough of the name for one of them to be meant";
            Err(SymbolError::new(Trouble::Ambiguous, why.hint(hint).candidates(found)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;

    fn places(places: &BTreeSet<Place>) -> Vec<String> {
        places.iter().map(|place| format!("{}:{}", place.line, place.text)).collect()
    }

    #[test]
    fn certain_and_possible() {
        let mut sample = Sample::of(&[(
            "a.cs",
            "interface I { void Go(); }\nclass A : I { public void Go() { } }\nclass B : A { }\nclass C {\nvoid M(A a, I i, B b) {\na.Go();\ni.Go();\nb.Go();\n} }\n",
        )]);
        let found = usages(&mut sample, "A.Go").expect("places");
        assert_eq!(
            (found.symbol.as_str(), places(&found.certain)),
            ("A#Go", vec!["6:a.Go();".to_owned(), "8:b.Go();".to_owned()])
        );
        assert_eq!(places(&found.possible), ["7:i.Go();"]);
        let of_type = usages(&mut sample, "B").expect("places");
        assert_eq!(places(&of_type.certain), ["5:void M(A a, I i, B b) {"]);
        // The base that declares it, and the interface that it implements, are what an heir's calls may mean.
        let inherited = usages(&mut sample, "B.Go").expect("places");
        assert_eq!(
            (inherited.certain.len(), places(&inherited.possible)),
            (0, vec!["6:a.Go();".to_owned(), "7:i.Go();".to_owned(), "8:b.Go();".to_owned()])
        );
        assert!(found.unread.is_empty());
    }

    #[test]
    fn what_means_nothing_or_several() {
        let mut sample = Sample::default();
        for (symbol, trouble, code, hint) in [
            (
                "Nope",
                Trouble::NotFound,
                "SymbolNotFound",
                "write Type, Namespace.Type, Type.Member or Type#Member",
            ),
            ("BigStroe", Trouble::NotFound, "SymbolNotFound", "did you mean Box.BigStore?"),
            (
                "BigStore#Twcie",
                Trouble::NotFound,
                "SymbolNotFound",
                "did you mean BigStore#Twice?",
            ),
            (
                "BigStore.Twcie(int)",
                Trouble::NotFound,
                "SymbolNotFound",
                "did you mean BigStore.Twice?",
            ),
            (
                "Store",
                Trouble::Ambiguous,
                "AmbiguousSymbol",
                "write enough of the name for one of them to be meant",
            ),
        ] {
            let error = usages(&mut sample, symbol).expect_err("no symbol");
            assert_eq!((error.trouble, error.diagnostic.code.as_str()), (trouble, code), "{symbol}");
            assert_eq!(error.diagnostic.hint.as_deref(), Some(hint), "{symbol}");
        }
    }
}
