//! Type names that bind to nothing or to several types; an edit must not add such names.

use super::index::{Symbols, is_within, namespace};
use super::lost_usings::GlobalUsings;
use super::outputs::{Outputs, SymbolError, file_label};
use crate::code_text::lines::line_and_column;
use producers::csharp::deps::{Dependencies, dotnet};
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::syntax;
use producers::csharp::types::symbol_of;
use std::collections::{BTreeMap, BTreeSet};

/// An unbound name in a type, with the types that it may refer to; none if nothing is known, as for types of packages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unbound {
    /// Key of the type that contains the name.
    pub of: String,
    pub name: String,
    /// Keys of the types that it may refer to.
    pub meanings: Vec<String>,
}

impl Unbound {
    /// Whether the name may have meant a type that edits removed: it contains a namespace, or stands where that of the type is open.
    pub(super) fn may_have_meant<O: Outputs>(
        &self,
        gone: &str,
        outputs: &mut O,
        symbols: &Symbols,
        globals: &GlobalUsings,
    ) -> Result<bool, O::Error> {
        let space = namespace(gone);
        if self.name.contains(['.', ':']) || gone.contains('+') || space.is_empty() || is_within(namespace(&self.of), space) {
            return Ok(true);
        }
        let Some(at) = symbols.find(&self.of) else { return Ok(true) };
        let files = symbols.type_row(at)?.files;
        let labels: Vec<String> = files.iter().map(|file| file_label(file, "syntax")).collect();
        for (file, output) in files.iter().zip(outputs.read(&labels)?) {
            let Some(bytes) = output.bytes else { return Ok(true) };
            let tree = syntax::decode(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
            let own = tree.usings.iter().map(|using| using.target.as_str());
            let mut opened = own.chain(globals.of_file(file)).map(|target| target.trim_start_matches("global::"));
            // In a namespace, a directive may name the rest of a namespace in it.
            if opened.any(|target| {
                space
                    .strip_suffix(target)
                    .is_some_and(|outer| outer.is_empty() || outer.ends_with('.'))
            }) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The bindings of the names of all types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Names that do not bind to exactly one type.
    pub unbound: BTreeSet<Unbound>,
    /// By key of a type, the types that it names.
    named: BTreeMap<String, BTreeSet<String>>,
}

impl Bound {
    /// Reads the bindings of the workspace.
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

    /// Returns the types that name one of some types, which are given by their symbols.
    pub fn naming(&self, wanted: &BTreeSet<String>) -> BTreeSet<String> {
        let names = |named: &BTreeSet<String>| named.iter().any(|key| wanted.contains(symbol_of(key)));
        let of = self.named.iter().filter(|(_, named)| names(named));
        of.map(|(key, _)| key.clone()).collect()
    }

    /// Describes names that are unbound after an edit and were not before, with their places. A name that is unknown in other types, too, belongs to
    /// a package.
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
                true => "would refer to nothing known".to_owned(),
                false => format!("could mean {}", one.meanings.join(" or ")),
            };
            messages.insert(format!(
                "{}: {} {means}",
                first_spot(symbols, &one.of, &one.name, &mut read)?,
                one.name
            ));
        }
        // A name whose former type is replaced by another type of that name has changed its meaning.
        for (key, named) in &self.named {
            let Some(was) = before.named.get(key) else { continue };
            let (gone, came): (Vec<&String>, Vec<&String>) = (was.difference(named).collect(), named.difference(was).collect());
            for old in gone {
                let last = |name: &str| name.rsplit(['.', '+']).next().map(str::to_owned);
                if let Some(new) = came.iter().find(|new| last(new) == last(old)) {
                    let name = last(old).unwrap_or_default();
                    messages.insert(format!(
                        "{}: {name} would refer to {new} instead of {old}",
                        first_spot(symbols, key, &name, &mut read)?
                    ));
                }
            }
        }
        Ok(messages)
    }
}

/// Returns the place where a type writes a name: file, line and column.
fn first_spot(symbols: &Symbols, key: &str, name: &str, read: &mut impl FnMut(&str) -> Option<String>) -> Result<String, SymbolError> {
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

#[cfg(test)]
mod tests {
    use super::super::edited_file::EditedFile;
    use super::super::lost_names::lost_names;
    use super::super::samples::Sample;

    #[test]
    fn a_name_that_never_meant_the_removed_type_is_not_lost() {
        let lost_by_removal = |usings: &str, gone: &str| {
            let user = format!("{usings}\nclass Go {{ Id one; }}\n");
            let mut sample = Sample::from_files(&[("go.cs", user.as_str())]);
            let symbols = sample.names();
            let file = EditedFile {
                path: "id.cs".to_owned(),
                before: format!("namespace {gone};\npublic class Id {{ }}\n"),
                after: String::new(),
            };
            let disk = sample.world();
            lost_names(&mut sample, &symbols, &*disk, &[file]).expect("outputs").lost
        };
        let lost = ["M.Go names Id, which no longer exists"];
        assert_eq!(lost_by_removal("using Package;\nnamespace M;", "N"), [""; 0]);
        assert_eq!(lost_by_removal("using N;\nnamespace M;", "N"), lost);
        assert_eq!(lost_by_removal("namespace M;\nusing N;", "M.N"), lost);
    }
}
