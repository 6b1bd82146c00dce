//! Detects types that were renamed or moved between two states of a workspace, for the seed's `aliases.json` (000 §3).
//!
//! A removed type and an added type are the same type if their texts without names are equal. A match counts only if it pairs exactly one
//! old and one new type. The comparisons run in this order:
//! - structure and implementation, with an equal name within the namespace (another namespace);
//! - structure and implementation;
//! - the implementation alone (a new base or attribute);
//! - the structure alone (a new body);
//! - the implementation without names of members.
//!
//! A nested type follows its enclosing type. A type too small to compare matches by its files, too: by equal text in files without another
//! removed or added type, or by its name in its files. Last, types of one name match if half of their lines are equal. Pure: the caller
//! provides the two states.

use super::types::{TypeRow, symbol_of};
use engine::values::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Digests by which a type is recognized when its names change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub id: String,
    /// Digest of the implementation without names; `None` if the text is too short to identify a type.
    pub implementation: Option<String>,
    /// Digest of the structure without names; `None` if the text is too short.
    pub structure: Option<String>,
    /// Digest of files, kind, structure and implementation without names, for a type that is the only removed or added one in its files; `None`
    /// for other types and for types without members.
    pub place: Option<String>,
    /// Name within its namespace.
    pub name: String,
    /// Digest of structure and implementation without names, also of a short text.
    pub text: String,
    /// Digest of the implementation without names of the type and of its members; `None` if the text is too short.
    pub members: Option<String>,
    /// Paths of its files, one per line.
    pub files: String,
    /// Digests of the lines of structure and implementation without names.
    pub lines: BTreeSet<String>,
}

/// Minimum bytes of a text that identifies a type.
const LEAST: usize = 120;

/// Returns the identity of the type `key` from the outputs of `csharp/structure` and `csharp/impl`.
pub fn identity(key: &str, row: &TypeRow, structure: &[u8], implementation: &[u8]) -> Identity {
    let texts = [structure, implementation].map(|text| nameless(&String::from_utf8_lossy(text), symbol_of(key)));
    let digest = |text: &str| (text.len() >= LEAST && text.lines().count() > 1).then(|| Digest::of(text.as_bytes()).to_string());
    Identity {
        id: row.id.clone(),
        implementation: digest(&texts[1]),
        structure: digest(&texts[0]),
        place: None,
        name: symbol_of(key).rsplit('.').next().unwrap_or(key).to_owned(),
        text: Digest::of(format!("{}\n{}{}", texts[0].len(), texts[0], texts[1]).as_bytes()).to_string(),
        members: digest(&memberless(&texts)),
        files: row.files.join("\n"),
        lines: texts
            .iter()
            .flat_map(|text| text.lines())
            .map(|line| Digest::of(line.as_bytes()).short())
            .collect(),
    }
}

/// Returns [`Identity::place`] of a lone removed or added type of its files, from the outputs of `csharp/structure` and `csharp/impl`.
pub fn fingerprint(key: &str, row: &TypeRow, structure: &[u8], implementation: &[u8]) -> Option<String> {
    let [structure, implementation] = [structure, implementation].map(|text| nameless(&String::from_utf8_lossy(text), symbol_of(key)));
    let members = structure.lines().count().max(implementation.lines().count()) > 1;
    let files = row.files.join("\n");
    let text = [&files, &row.kind, &row.assembly, &structure, &implementation].map(|part| format!("{}\n{part}", part.len()));
    members.then(|| Digest::of(text.concat().as_bytes()).to_string())
}

/// Returns the types of `changed` that share no file with another type of `changed`.
pub fn types_with_own_file<'r>(changed: &BTreeMap<&'r str, &TypeRow>) -> BTreeSet<&'r str> {
    let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
    for file in changed.values().flat_map(|row| &row.files) {
        *by_file.entry(file).or_default() += 1;
    }
    let alone = |row: &TypeRow| !row.files.is_empty() && row.files.iter().all(|file| by_file.get(file.as_str()) == Some(&1));
    changed.iter().filter(|(_, row)| alone(row)).map(|(key, _)| *key).collect()
}

/// Returns the text without member identifiers (which contain the type's name) and with `_` for the type's own name.
fn nameless(text: &str, symbol: &str) -> String {
    let simple = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
    let simple = simple.split('`').next().unwrap_or(simple);
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line = match (line.find("\"id\":\""), line.starts_with("{\"symbol\":\"")) {
            (_, true) => line.split_once("\",").map_or("", |(_, rest)| rest).to_owned(),
            (Some(at), _) => {
                let value = at + "\"id\":\"".len();
                let end = line[value..].find('"').map_or(line.len(), |end| value + end);
                format!("{}{}", &line[..value], &line[end..])
            }
            _ => line.to_owned(),
        };
        out.push_str(&masked(&line, |word| word == simple));
        out.push('\n');
    }
    out
}

/// Returns a text with `_` in place of some words.
pub(super) fn masked(text: &str, is_masked: impl Fn(&str) -> bool) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(|c| !is_word(c)) {
        let word = part.trim_end_matches(|c| !is_word(c));
        let is_replaced = !word.is_empty() && is_masked(word);
        out.push_str(if is_replaced { "_" } else { word });
        out.push_str(&part[word.len()..]);
    }
    out
}

/// Returns an implementation with `_` for the names of its members, its lines sorted.
fn memberless([structure, implementation]: &[String; 2]) -> String {
    let field = |line: &str, name: &str| -> Option<String> {
        let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
        Some(rest.split('"').next()?.to_owned())
    };
    let all = structure.lines().chain(implementation.lines());
    let names: BTreeSet<String> = all.filter_map(|line| field(line, "name")).collect();
    let mut lines: Vec<String> = implementation
        .lines()
        .map(|line| masked(line, |word| names.contains(word)))
        .collect();
    lines.sort_unstable();
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// Maps the identifiers of removed types to those of the types that replace them. Both states are keyed as in `//index:types`.
pub fn aliases(before: &BTreeMap<String, Identity>, after: &BTreeMap<String, Identity>) -> BTreeMap<String, String> {
    let mut gone: Vec<&Identity> = before
        .iter()
        .filter(|(key, _)| !after.contains_key(*key))
        .map(|(_, identity)| identity)
        .collect();
    let mut come: Vec<&Identity> = after
        .iter()
        .filter(|(key, _)| !before.contains_key(*key))
        .map(|(_, identity)| identity)
        .collect();
    let mut found = BTreeMap::new();
    type Print = fn(&Identity) -> Option<(Option<String>, Option<String>)>;
    let prints: [Print; 8] = [
        |identity| Some((Some(format!("{}\n{}", identity.name, identity.files)), Some(identity.text.clone()))),
        |identity| Some((Some(identity.name.clone()), Some(identity.text.clone()))),
        |identity| {
            let known = identity.structure.is_some() || identity.implementation.is_some();
            known.then(|| (identity.structure.clone(), identity.implementation.clone()))
        },
        |identity| identity.implementation.clone().map(|digest| (None, Some(digest))),
        |identity| identity.structure.clone().map(|digest| (Some(digest), None)),
        |identity| identity.members.clone().map(|digest| (None, Some(digest))),
        |identity| identity.place.clone().map(|digest| (Some(digest), None)),
        |identity| Some((Some(identity.name.clone()), Some(identity.files.clone()))),
    ];
    for print in prints {
        let mut by_print: BTreeMap<_, (Vec<&Identity>, Vec<&Identity>)> = BTreeMap::new();
        for identity in &gone {
            if let Some(print) = print(identity) {
                by_print.entry(print).or_default().0.push(identity);
            }
        }
        for identity in &come {
            if let Some(print) = print(identity) {
                by_print.entry(print).or_default().1.push(identity);
            }
        }
        for (old, new) in by_print.into_values() {
            if let ([old], [new]) = (old.as_slice(), new.as_slice())
                && old.id != new.id
            {
                found.insert(old.id.clone(), new.id.clone());
            }
        }
        gone.retain(|identity| !found.contains_key(&identity.id));
        come.retain(|identity| !found.values().any(|id| *id == identity.id));
    }
    found.extend(nested(before, after, &found));
    found.extend(similar(before, after, &found));
    found
}

/// Pairs the only removed and the only added type of a name, whatever its type parameters, if half of their lines are equal.
fn similar(
    before: &BTreeMap<String, Identity>,
    after: &BTreeMap<String, Identity>,
    found: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let known: BTreeSet<&String> = found.values().collect();
    let by_name = |these: &BTreeMap<String, Identity>, others: &BTreeMap<String, Identity>| {
        let mut names: BTreeMap<String, Vec<Identity>> = BTreeMap::new();
        for (key, identity) in these.iter().filter(|(key, _)| !others.contains_key(*key)) {
            let is_open = !found.contains_key(&identity.id) && !known.contains(&identity.id);
            let bare = identity.name.split('`').next().unwrap_or(key).to_owned();
            names.entry(bare).or_default().extend(is_open.then(|| identity.clone()));
        }
        names
    };
    let added = by_name(after, before);
    let pair = |(name, removed): (String, Vec<Identity>)| {
        let ([old], [new]) = (removed.as_slice(), added.get(&name)?.as_slice()) else {
            return None;
        };
        let shared = old.lines.intersection(&new.lines).count();
        (shared * 2 >= old.lines.len().max(new.lines.len())).then(|| (old.id.clone(), new.id.clone()))
    };
    by_name(before, after).into_iter().filter_map(pair).collect()
}

/// Pairs nested types whose enclosing type was renamed and whose text without names is unchanged.
fn nested(
    before: &BTreeMap<String, Identity>,
    after: &BTreeMap<String, Identity>,
    found: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let keys: BTreeMap<&str, &str> = after.iter().map(|(key, identity)| (identity.id.as_str(), key.as_str())).collect();
    let known: BTreeSet<&String> = found.values().collect();
    let inner = |(key, old): (&String, &Identity)| {
        let (at, _) = key.char_indices().rfind(|(_, c)| *c == '+')?;
        let outer = keys.get(found.get(&before.get(&key[..at])?.id)?.as_str())?;
        let new = after.get(&format!("{outer}{}", &key[at..]))?;
        let is_open = !found.contains_key(&old.id) && !known.contains(&new.id) && !before.contains_key(&format!("{outer}{}", &key[at..]));
        (is_open && old.text == new.text).then(|| (old.id.clone(), new.id.clone()))
    };
    before
        .iter()
        .filter(|(key, _)| !after.contains_key(*key))
        .filter_map(inner)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::World;
    use super::*;

    fn state(text: &str) -> BTreeMap<String, Identity> {
        let (syntax, _) = super::super::parse::read(text, &BTreeSet::new(), "a.cs");
        let world = World::new(&[("a.cs", syntax)], &[]);
        let one = |key: String| {
            let [structure, implementation] = ["structure", "impl"].map(|name| world.output(name, &key).bytes);
            let identity = identity(&key, &world.row(&key), &structure, &implementation);
            (key, identity)
        };
        world.keys().into_iter().map(one).collect()
    }

    /// Compares the states of two texts; a type that is the only removed or added one in its files gets a place.
    fn small(before: &str, after: &str) -> Vec<(String, String)> {
        let states = [before, after].map(|text| {
            let (syntax, _) = super::super::parse::read(text, &BTreeSet::new(), "a.cs");
            let world = World::new(&[("a.cs", syntax)], &[]);
            let rows: BTreeMap<String, TypeRow> = world.keys().into_iter().map(|key| (key.clone(), world.row(&key))).collect();
            (world, rows)
        });
        let [from, to] = [(&states[0], &states[1].1), (&states[1], &states[0].1)].map(|((world, rows), others)| {
            let changed = rows.iter().filter(|(key, _)| !others.contains_key(*key));
            let changed: BTreeMap<&str, &TypeRow> = changed.map(|(key, row)| (key.as_str(), row)).collect();
            let alone = types_with_own_file(&changed);
            let one = |(key, row): (&&str, &&TypeRow)| {
                let [structure, implementation] = ["structure", "impl"].map(|name| world.output(name, key).bytes);
                let mut found = identity(key, row, &structure, &implementation);
                found.place = alone
                    .contains(key)
                    .then(|| fingerprint(key, row, &structure, &implementation))
                    .flatten();
                ((*key).to_owned(), found)
            };
            changed.iter().map(one).collect::<BTreeMap<_, _>>()
        });
        let name = |state: &BTreeMap<String, Identity>, id: &str| {
            let found = state.iter().find(|(_, identity)| identity.id == id);
            found.map_or_else(String::new, |(key, _)| key.clone())
        };
        aliases(&from, &to)
            .iter()
            .map(|(old, new)| (name(&from, old), name(&to, new)))
            .collect()
    }

    #[test]
    fn a_small_type_is_recognised_by_its_place_and_by_nothing_less() {
        let small_type = "namespace N; class Keep { } class Small { int a; }";
        let with = |from: &str, to: &str| small_type.replace(from, to);
        assert_eq!(small(small_type, &with("Small", "Tiny")), pair("N.Small", "N.Tiny"));
        let code = "namespace N; enum Color { Red }";
        assert_eq!(small(code, &code.replace("Color", "Hue")), pair("N.Color", "N.Hue"));
        // Another text: a changed body, member or kind.
        assert_eq!(small(small_type, &with("Small { int a", "Tiny { int a = 2")), []);
        assert_eq!(small(small_type, &with("Small { int a", "Tiny { int b")), []);
        assert_eq!(small(small_type, &with("class Small", "struct Tiny")), []);
        // Not alone: two types removed, or two added.
        assert_eq!(small(small_type, &with("Small", "Tiny").replace("class Keep { }", "")), []);
        assert_eq!(small(small_type, &format!("{} class More {{ }}", with("Small", "Tiny"))), []);
        // Too little text to recognize, and no change at all.
        assert_eq!(small(small_type, &with("Keep", "Kept")), []);
        assert_eq!(small(small_type, small_type), []);
    }

    const BEFORE: &str = "namespace N; public class Store : IStore { readonly Dictionary<string, Node> nodes = new(); public Store(int size) { Size = size; } public int Size { get; } public Store Copy(Store other) { return new Store(other.Size + Size); } } public class Other { public void Run(string text) { Console.WriteLine(text + text); Console.WriteLine(text.Length); } }";

    fn renamed(after: &str) -> Vec<(String, String)> {
        let (before, after) = (state(BEFORE), state(after));
        let name = |state: &BTreeMap<String, Identity>, id: &str| {
            let found = state.iter().find(|(_, identity)| identity.id == id);
            found.map_or_else(String::new, |(key, _)| key.clone())
        };
        let pairs = aliases(&before, &after);
        pairs.iter().map(|(old, new)| (name(&before, old), name(&after, new))).collect()
    }

    fn pair(old: &str, new: &str) -> Vec<(String, String)> {
        vec![(old.to_owned(), new.to_owned())]
    }

    #[test]
    fn renamed_and_moved_types_are_recognised() {
        assert_eq!(renamed(BEFORE), []);
        assert_eq!(
            renamed(&BEFORE.replace("Store", "Shelf").replace("IShelf", "IStore")),
            pair("N.Store", "N.Shelf")
        );
        let moved: BTreeSet<(String, String)> = renamed(&BEFORE.replace("namespace N;", "namespace M.O;")).into_iter().collect();
        let expected = [pair("N.Other", "M.O.Other"), pair("N.Store", "M.O.Store")].concat();
        assert_eq!(moved, expected.into_iter().collect());
        let shelf = BEFORE.replace("Store", "Shelf").replace("IShelf", "IStore");
        assert_eq!(renamed(&shelf.replace(": IStore", ": IStore, IMore")), pair("N.Store", "N.Shelf"));
        assert_eq!(renamed(&shelf.replace("+ Size", "- Size")), pair("N.Store", "N.Shelf"));
        assert_eq!(renamed(&shelf.replace("+ Size", "- Size").replace(": IStore", "")), []);
    }

    #[test]
    fn small_types_move_with_their_namespace_and_with_the_type_around_them() {
        let code = "namespace N; enum A { X } class B { class In { int a; } } delegate void D();";
        let moved: BTreeSet<(String, String)> = small(code, &code.replace("namespace N", "namespace M.O")).into_iter().collect();
        let all = ["A", "B", "B+In", "D"].map(|name| (format!("N.{name}"), format!("M.O.{name}")));
        assert_eq!(moved, all.into_iter().collect());
        let outer = "namespace N; class B { class In { int a; } int some; int more; string text; int Sum() { return some + more; } void Run() { Sum(); } }";
        let moved: BTreeSet<(String, String)> = small(outer, &outer.replace("class B", "class Around")).into_iter().collect();
        let both = ["", "+In"].map(|name| (format!("N.B{name}"), format!("N.Around{name}")));
        assert_eq!(moved, both.into_iter().collect());
    }

    #[test]
    fn a_type_is_recognised_when_its_members_change_too() {
        let members = |text: &str| text.replace("Copy", "Clone").replace("Size", "Length");
        let shelf = members(&BEFORE.replace("Store", "Shelf").replace("IShelf", "IStore"));
        assert_eq!(renamed(&shelf), pair("N.Store", "N.Shelf"));
        let moved: BTreeSet<(String, String)> = renamed(&members(BEFORE).replace("namespace N;", "namespace M;"))
            .into_iter()
            .collect();
        let both = [pair("N.Other", "M.Other"), pair("N.Store", "M.Store")].concat();
        assert_eq!(moved, both.into_iter().collect());
        let generic = BEFORE.replace("class Other", "class Other<T>").replace("text + text", "text");
        assert_eq!(renamed(&generic), pair("N.Other", "N.Other`1"));
    }

    #[test]
    fn a_rename_with_two_possible_successors_is_not_recognized() {
        assert_eq!(renamed(&BEFORE.replace("Other", "One")), pair("N.Other", "N.One"));
        let other = &BEFORE[BEFORE.find("public class Other").expect("there")..];
        let two = format!(
            "{}{}",
            BEFORE.replace("class Other", "class One"),
            other.replace("class Other", "class Two")
        );
        assert_eq!(renamed(&two), []);
        assert_eq!(aliases(&state("class A { }"), &state("class B { }")), BTreeMap::new());
    }
}
