//! Names of types that binding finds nothing for, or several things: what an edit must not add to.

use super::index::Symbols;
use super::outputs::{Outputs, SymbolError};
use crate::edit::lines::line_and_column;
use producers::csharp::deps::{Dependencies, dotnet};
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::types::symbol_of;
use std::collections::{BTreeMap, BTreeSet};

/// A name that a type uses, with the types that it may mean; none where nothing is known of it, as of what packages declare.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unbound {
    /// Key of the type.
    pub of: String,
    /// As written.
    pub name: String,
    /// Keys of the types that it may mean.
    pub meanings: Vec<String>,
}

/// What the names of all types mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Names without one meaning.
    pub unbound: BTreeSet<Unbound>,
    /// What each type names, by its key.
    named: BTreeMap<String, BTreeSet<String>>,
}

impl Bound {
    /// Of the workspace as it is.
    ///
    /// # Errors
    /// When outputs cannot be read.
    pub fn from_outputs<O: Outputs>(outputs: &mut O) -> Result<Self, O::Error> {
        let mut found = Self::default();
        for output in outputs.read(&["//types/...:deps".to_owned()])? {
            let Some(bytes) = output.bytes else { continue };
            let deps: Dependencies = serde_json::from_slice(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
            let own = deps.own;
            let (known, unknown): (Vec<String>, Vec<String>) = deps.external.into_iter().partition(|name| dotnet::get(name).is_some());
            let several = deps.ambiguous.into_iter().map(|one| (one.name, one.candidates));
            let unbound = unknown.into_iter().map(|name| (name, Vec::new())).chain(several);
            found.unbound.extend(unbound.map(|(name, meanings)| Unbound {
                of: own.clone(),
                name,
                meanings,
            }));
            found.named.insert(own, deps.evidence.into_keys().chain(known).collect());
        }
        Ok(found)
    }

    /// The types that name one of some types, given by their symbols.
    pub fn naming(&self, wanted: &BTreeSet<String>) -> BTreeSet<String> {
        let names = |named: &BTreeSet<String>| named.iter().any(|key| wanted.contains(symbol_of(key)));
        let of = self.named.iter().filter(|(_, named)| names(named));
        of.map(|(key, _)| key.clone()).collect()
    }

    /// What is unbound after an edit and was not before it, each with its place. A name that others have nothing known of either is one of a package.
    ///
    /// # Errors
    /// When the names of the workspace are damaged.
    pub fn lost(
        &self,
        before: &Self,
        symbols: &Symbols,
        mut read: impl FnMut(&str) -> Option<String>,
    ) -> Result<BTreeSet<String>, SymbolError> {
        let of_packages: BTreeSet<&str> = before
            .unbound
            .iter()
            .filter(|one| one.meanings.is_empty())
            .map(|one| one.name.as_str())
            .collect();
        let mut messages = BTreeSet::new();
        for one in self.unbound.difference(&before.unbound) {
            if one.meanings.is_empty() && of_packages.contains(one.name.as_str()) {
                continue;
            }
            let means = match one.meanings.is_empty() {
                true => "would mean nothing that is known".to_owned(),
                false => format!("could mean {}", one.meanings.join(" or ")),
            };
            messages.insert(format!("{}: {} {means}", spot(symbols, &one.of, &one.name, &mut read)?, one.name));
        }
        // A name without any of its former meanings means something else.
        for (key, named) in &self.named {
            let Some(was) = before.named.get(key) else { continue };
            let (gone, came): (Vec<&String>, Vec<&String>) = (was.difference(named).collect(), named.difference(was).collect());
            for old in gone {
                let last = |name: &str| name.rsplit(['.', '+']).next().map(str::to_owned);
                if let Some(new) = came.iter().find(|new| last(new) == last(old)) {
                    let name = last(old).unwrap_or_default();
                    messages.insert(format!(
                        "{}: {name} would refer to {new} instead of {old}",
                        spot(symbols, key, &name, &mut read)?
                    ));
                }
            }
        }
        Ok(messages)
    }
}

/// Where a type writes a name: file, line and column.
fn spot(symbols: &Symbols, key: &str, name: &str, read: &mut impl FnMut(&str) -> Option<String>) -> Result<String, SymbolError> {
    let Some(at) = symbols.find(key) else { return Ok(key.to_owned()) };
    let simple = name.rsplit(['.', ':', '+']).next().unwrap_or(name);
    let simple = simple.split(['`', '@']).next().unwrap_or(simple);
    for file in symbols.type_row(at)?.files {
        let Some(text) = read(&file) else { continue };
        let tokens = lex(&text).tokens;
        let names =
            |word: &str| word == simple || word.strip_suffix("Attribute") == Some(simple) || simple.strip_suffix("Attribute") == Some(word);
        if let Some(token) = tokens.iter().find(|token| token.kind == Kind::Word && names(token.text(&text))) {
            let (line, column) = line_and_column(&text, token.start as usize);
            return Ok(format!("{file}:{line}:{column}"));
        }
    }
    Ok(key.to_owned())
}
