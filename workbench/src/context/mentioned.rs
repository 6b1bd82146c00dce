//! Files and types that a query names outright: `src/Core/NodeStore.cs:12`, `NodeStore.cs`, `NodeStore`, `NodeStore.Get`, `NodeStore#Get(NodeId)`.
//!
//! A word of prose names a type only if it looks like a name of a program: by a capital inside, by a dot or `#`, or by backquotes around it.

use super::index::Index;
use super::words::distinct;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::LazyCell;
use std::collections::BTreeMap;

/// A file or a type that a query names.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Mention {
    /// As written.
    pub text: String,
    /// The files that are meant; none when the index has no such file.
    pub files: Vec<String>,
    /// The types that are meant: of that name, or in those files.
    pub types: Vec<String>,
}

/// Of a name that means more than so many, none is meant.
const AMBIGUOUS: usize = 4;
/// Mentions of one query that are looked at.
const MOST: usize = 32;

/// All mentions of a text, in its order, each once.
pub fn mentions(text: &str, index: &Index) -> Vec<Mention> {
    // Most queries name no file.
    let files = LazyCell::new(|| Files::of(index));
    let mut found: Vec<Mention> = Vec::new();
    for (word, quoted) in candidates(text) {
        if found.len() == MOST {
            break;
        }
        if found.iter().any(|known| known.text == word) {
            continue;
        }
        let mention = if is_path(word) {
            files.meant(word, index)
        } else {
            named(word, quoted, index)
        };
        found.extend(mention);
    }
    found
}

/// The words of a query, each once, without those of paths that it names: a path means its file and says nothing about others.
pub fn asked(query: &str, mentions: &[Mention]) -> Vec<String> {
    let paths = mentions
        .iter()
        .filter(|mention| is_path(&mention.text) && !mention.files.is_empty());
    distinct(&paths.fold(query.to_owned(), |query, mention| query.replace(&mention.text, " ")))
}

/// The words of a text that may be names, and whether backquotes stand around them.
fn candidates(text: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    for (at, stretch) in text.split('`').enumerate() {
        let separates = |c: char| {
            c.is_whitespace()
                || matches!(
                    c,
                    '"' | '\'' | ',' | ';' | '[' | ']' | '{' | '}' | '=' | '|' | '，' | '。' | '、' | '；'
                )
        };
        for word in stretch.split(separates) {
            let word = word.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '*' | '-' | '@'));
            // "(see NodeStore)", but NodeStore#Get(NodeId) keeps its parentheses.
            let word = if word.matches('(').count() == word.matches(')').count() && !word.starts_with('(') {
                word
            } else {
                word.trim_matches(['(', ')'])
            };
            if !word.is_empty() {
                found.push((word, at % 2 == 1));
            }
        }
    }
    found
}

/// Whether a word is a file's, not a symbol's.
fn is_path(word: &str) -> bool {
    let word = without_line(word);
    word.contains(['/', '\\']) && !word.contains("//") || word.to_lowercase().ends_with(".cs")
}

/// `Store.cs:12:5` without the place in it.
fn without_line(word: &str) -> &str {
    let mut rest = word;
    while let Some((front, number)) = rest.rsplit_once(':') {
        if number.is_empty() || !number.bytes().all(|c| c.is_ascii_digit() || c == b'-') {
            break;
        }
        rest = front;
    }
    rest
}

/// The files of an index by what ends their paths.
struct Files<'i>(BTreeMap<String, Vec<&'i str>>);

impl<'i> Files<'i> {
    fn of(index: &'i Index) -> Self {
        let mut files: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for file in index.files() {
            let name = file.rsplit('/').next().unwrap_or(file);
            files.entry(name.to_lowercase()).or_default().push(file);
        }
        files.values_mut().for_each(|paths| paths.sort_unstable());
        Self(files)
    }

    /// What a path means: the file of that path, or those whose paths end with it. A path that means none is a mention all the same.
    fn meant(&self, word: &str, index: &Index) -> Option<Mention> {
        let path = without_line(word).replace('\\', "/").to_lowercase();
        let path = path.trim_start_matches("./").trim_matches('/');
        let name = path.rsplit('/').next().unwrap_or(path);
        let files: Vec<&str> = self.0.get(name).map_or(&[][..], Vec::as_slice).to_vec();
        let ends = |file: &&str| {
            let file = file.to_lowercase();
            file == path || file.ends_with(&format!("/{path}"))
        };
        let files: Vec<&str> = files.into_iter().filter(ends).collect();
        // A folder is a package, and no file.
        if files.is_empty() && !path.ends_with(".cs") || files.len() > AMBIGUOUS {
            return None;
        }
        let types = files
            .iter()
            .flat_map(|file| index.in_file(file))
            .map(|at| index.key(*at).to_owned());
        Some(Mention {
            text: word.to_owned(),
            types: types.collect(),
            files: files.into_iter().map(str::to_owned).collect(),
        })
    }
}

/// What the name of a type or a member means.
fn named(word: &str, quoted: bool, index: &Index) -> Option<Mention> {
    let name = word.split(['(', '<']).next().unwrap_or(word);
    let has_hump = name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase);
    if !(quoted || has_hump || name.contains(['.', '#'])) {
        return None;
    }
    let names: Vec<&str> = name.split(['.', '#', '+']).filter(|part| !part.is_empty()).collect();
    // The type itself, or one whose member stands behind the dot.
    for end in [names.len(), names.len().saturating_sub(1)] {
        let Some((simple, around)) = names.get(..end).and_then(<[&str]>::split_last) else {
            continue;
        };
        let fits = |at: &&usize| {
            let key = index.key(**at);
            let before = key.split('`').next().unwrap_or(key);
            around.is_empty() || before.replace('+', ".").ends_with(&format!("{}.{simple}", around.join(".")))
        };
        let types: Vec<usize> = index.named(simple).iter().filter(fits).copied().collect();
        if !types.is_empty() && types.len() <= AMBIGUOUS {
            let mut files: Vec<String> = types
                .iter()
                .filter_map(|at| index.document(*at))
                .flat_map(|one| one.files.clone())
                .collect();
            files.sort();
            files.dedup();
            return Some(Mention {
                text: word.to_owned(),
                files,
                types: types.into_iter().map(|at| index.key(at).to_owned()).collect(),
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::index::samples::document;
    use super::*;
    use proptest::prelude::*;

    fn index() -> Index {
        let keys = [
            "Memo.Core.NodeStore",
            "Memo.Core.Node",
            "Memo.Io.Node",
            "Memo.Io.Cache`2",
            "Memo.Core.NodeStore+Entry",
        ];
        Index::new(keys.iter().map(|key| document(key, "", &[])).collect())
    }

    fn said(text: &str) -> Vec<String> {
        let found = mentions(text, &index());
        found.iter().map(|one| format!("{} = {}", one.text, one.types.join(" "))).collect()
    }

    #[test]
    fn files_and_types_are_found_in_prose() {
        for (text, expected) in [
            ("Why is NodeStore slow?", vec!["NodeStore = Memo.Core.NodeStore"]),
            ("a Node and a node", vec![]),
            ("a `Node`", vec!["Node = Memo.Core.Node Memo.Io.Node"]),
            ("(see Core.Node, Core.Node)", vec!["Core.Node = Memo.Core.Node"]),
            ("NodeStore#Get(NodeId) fails", vec!["NodeStore#Get(NodeId) = Memo.Core.NodeStore"]),
            (
                "NodeStore.Entry of NodeStore.Get",
                vec!["NodeStore.Entry = Memo.Core.NodeStore+Entry", "NodeStore.Get = Memo.Core.NodeStore"],
            ),
            ("`Cache<K, V>` evicts", vec!["Cache<K = Memo.Io.Cache`2"]),
            (
                "src/Memo/Core/Node.cs:12:4: error",
                vec!["src/Memo/Core/Node.cs:12:4 = Memo.Core.Node"],
            ),
            (
                "node.cs, .\\core\\node.cs",
                vec!["node.cs = Memo.Core.Node Memo.Io.Node", "\\core\\node.cs = Memo.Core.Node"],
            ),
            ("Gone.cs and README.md and http://example.com/NodeStore", vec!["Gone.cs = "]),
            ("修复NodeStore。", vec![]),
            ("修复 NodeStore。", vec!["NodeStore = Memo.Core.NodeStore"]),
        ] {
            assert_eq!(said(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_say_nothing_about_other_files() {
        let query = "store of src/Memo/Core/Node.cs:12 and Gone.cs and `Core.Node`";
        let words = asked(query, &mentions(query, &index()));
        assert_eq!(words, ["store", "gone", "cs", "core", "node"]);
    }

    proptest! {
        #[test]
        fn any_text_is_looked_through(text in any::<String>()) {
            prop_assert!(mentions(&text, &index()).len() <= MOST);
        }
    }
}
