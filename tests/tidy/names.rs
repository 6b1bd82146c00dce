//! Words: codes, names of functions, and paths of machines.

use super::sources::{all, functions, is_test, objections, root};
use std::collections::{BTreeMap, BTreeSet};

/// Codes of messages are defined in one table (`engine/src/values/codes.rs`); other files use its variants.
#[test]
fn codes_are_of_the_table() {
    let is_code = |word: &str| {
        let is_of = |start: &str| word.strip_prefix(start).is_some_and(|rest| rest.len() > 1);
        let plain = word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' || c == '-');
        plain && (is_of("E_") || is_of("W_") || is_of("N_") || is_of("CS-"))
    };
    let literal = |name: &str, line: &str| name != "engine/src/values/codes.rs" && line.split('"').skip(1).step_by(2).any(is_code);
    assert_eq!(objections(literal), Vec::<String>::new(), "codes written as text");
}

/// A name says what a thing is or does (docs/glossary.md); each of these once had ten meanings or more.
#[test]
fn function_names_can_be_searched_for() {
    let vague = "about alone asked barred became because begin begun broken carried enter fits fresh further go_on goes happened hold holds keep kept list listen look meant moved named one own place put said shown sides state stays step strange stretches taken tell tells there together told twice under unkept unmade usual were what when which whole whose within word words wrong";
    let is_vague = |_: &str, line: &str| {
        let name = line
            .split_once("fn ")
            .map(|(_, rest)| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
        name.flatten().is_some_and(|name| vague.split(' ').any(|word| word == name))
    };
    assert_eq!(
        objections(is_vague),
        Vec::<String>::new(),
        "functions with a name that says too little"
    );
}

/// Names of functions in more than six modules, with their number when the check was written; a number only falls.
const HOMONYMS: [(&str, usize); 19] = [
    ("as_str", 8),
    ("digest", 7),
    ("find", 13),
    ("get", 14),
    ("is_empty", 19),
    ("key", 10),
    ("len", 9),
    ("matches", 7),
    ("members", 8),
    ("name", 14),
    ("of", 7),
    ("open", 12),
    ("parse", 13),
    ("path", 10),
    ("read", 13),
    ("remove", 9),
    ("text", 15),
    ("to_row", 7),
    ("write", 9),
];

/// A reader searches for a name: one of our own stands in few modules, unless a trait demands it.
#[test]
fn function_names_have_few_namesakes() {
    let mut modules: BTreeMap<String, usize> = BTreeMap::new();
    for (_, text) in all().iter().filter(|(name, _)| !is_test(name)) {
        let functions = functions(text).into_iter().filter(|function| !function.is_demanded);
        let names: BTreeSet<String> = functions.map(|function| function.name.to_owned()).collect();
        for name in names {
            *modules.entry(name).or_default() += 1;
        }
    }
    modules.retain(|name, modules| {
        let known = HOMONYMS.iter().find(|(known, _)| known == name).map_or(6, |(_, most)| *most);
        let is_idiom = ["new", "default"].contains(&name.as_str()) || name.starts_with("from");
        *modules > known && !is_idiom
    });
    assert!(
        modules.is_empty(),
        "names in more modules than before, or in more than six: {modules:?}"
    );
}

#[test]
fn no_machine_is_named() {
    let listed = std::process::Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output();
    let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else {
        // Outside of a git checkout there is no list of tracked files; only the sources are checked.
        all().iter().for_each(|(name, text)| check_places(name, text));
        return;
    };
    let names = String::from_utf8(listed.stdout).expect("UTF-8");
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        if let Ok(text) = std::fs::read_to_string(root().join(name)) {
            check_places(name, &text);
        }
    }
}

fn check_places(name: &str, text: &str) {
    for place in [["/ho", "me/"], ["/wo", "rk/"], ["/ro", "ot/"]].map(|pieces| pieces.concat()) {
        for (at, _) in text.match_indices(&place) {
            let before = text[..at].chars().next_back();
            let absolute = before.is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\'' | '(' | '=' | '`' | ':'));
            assert!(
                !absolute,
                "{name} names the absolute path {}",
                text[at..].chars().take(60).collect::<String>()
            );
        }
    }
}
