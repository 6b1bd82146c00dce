//! Symbols of SCIP as text: a scheme, a package of three words, and descriptors, each with the mark of its kind.
//!
//! `cortex nuget MemoTree.Core . MemoTree/Core/NodeStore#Get().`: a type (`#`) in two namespaces (`/`) and its method (`().`). Names with characters
//! other than `_+-$` and ASCII letters and digits are put between backticks, in which a backtick is doubled; a space in the first four words is
//! doubled. `local 3` is valid in its document only.

use std::fmt::Write;

/// The kind of a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// `name/`
    Namespace,
    /// `name#`
    Type,
    /// `name.`
    Term,
    /// `name(disambiguator).`
    Method(String),
    /// `[name]`
    TypeParameter,
    /// `(name)`
    Parameter,
    /// `name:`
    Meta,
    /// `name!`
    Macro,
}

/// One step of the path to a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub name: String,
    pub suffix: Suffix,
}

/// Returns the name that code writes: indexers prefix the names of accessors.
pub fn name_in_code(last: &Descriptor) -> &str {
    let name = last.name.as_str();
    name.strip_prefix("<get>").or(name.strip_prefix("<set>")).unwrap_or(name)
}

/// Whether it constructs its type, by whose name code calls it.
pub fn is_constructor(last: &Descriptor) -> bool {
    matches!(last.name.as_str(), "<constructor>" | "<init>" | "__init__")
}

/// Returns the beginning of a symbol: its scheme and package; an empty word is written `.`.
pub fn package(scheme: &str, manager: &str, name: &str, version: &str) -> String {
    let words = [scheme, manager, name, version].map(|word| match word {
        "" => ".".to_owned(),
        word => word.replace(' ', "  "),
    });
    words.join(" ") + " "
}

pub fn append_descriptor(symbol: &mut String, name: &str, suffix: &Suffix) {
    let name = escape_name(name);
    let written = match suffix {
        Suffix::Namespace => write!(symbol, "{name}/"),
        Suffix::Type => write!(symbol, "{name}#"),
        Suffix::Term => write!(symbol, "{name}."),
        Suffix::Method(disambiguator) => write!(symbol, "{name}({disambiguator})."),
        Suffix::TypeParameter => write!(symbol, "[{name}]"),
        Suffix::Parameter => write!(symbol, "({name})"),
        Suffix::Meta => write!(symbol, "{name}:"),
        Suffix::Macro => write!(symbol, "{name}!"),
    };
    written.expect("invariant: writing to memory cannot fail");
}

fn is_simple(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-' | '$')
}

fn escape_name(name: &str) -> String {
    match !name.is_empty() && name.chars().all(is_simple) {
        true => name.to_owned(),
        false => format!("`{}`", name.replace('`', "``")),
    }
}

/// Returns the descriptors of a global symbol; `None` for a local or an invalid one.
pub fn descriptors(symbol: &str) -> Option<Vec<Descriptor>> {
    let mut rest = symbol;
    if rest.starts_with("local ") {
        return None;
    }
    for _ in 0..4 {
        rest = behind_word(rest)?;
    }
    let mut found = Vec::new();
    while !rest.is_empty() {
        let descriptor;
        (descriptor, rest) = descriptor_of(rest)?;
        found.push(descriptor);
    }
    (!found.is_empty()).then_some(found)
}

/// Returns the text after a word and the single space that ends it.
fn behind_word(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b' ', Some(b' ')) => at += 2,
            (b' ', _) => return (at > 0).then(|| &text[at + 1..]),
            _ => at += 1,
        }
    }
    None
}

fn descriptor_of(text: &str) -> Option<(Descriptor, &str)> {
    let of = |name: String, suffix, rest| Some((Descriptor { name, suffix }, rest));
    for (open, close, suffix) in [('[', ']', Suffix::TypeParameter), ('(', ')', Suffix::Parameter)] {
        if let Some(rest) = text.strip_prefix(open) {
            let (name, rest) = name_of(rest)?;
            return of(name, suffix, rest.strip_prefix(close)?);
        }
    }
    let (name, rest) = name_of(text)?;
    let mark = rest.chars().next()?;
    let behind = &rest[mark.len_utf8()..];
    match mark {
        '/' => of(name, Suffix::Namespace, behind),
        '#' => of(name, Suffix::Type, behind),
        '.' => of(name, Suffix::Term, behind),
        ':' => of(name, Suffix::Meta, behind),
        '!' => of(name, Suffix::Macro, behind),
        '(' => {
            let (disambiguator, rest) = behind.split_once(')')?;
            of(name, Suffix::Method(disambiguator.to_owned()), rest.strip_prefix('.')?)
        }
        _ => None,
    }
}

fn name_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('`') else {
        // Indexers also write names of other letters without backticks.
        let end = text.find(|c: char| !is_simple(c) && !c.is_alphanumeric()).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let (mut name, mut rest) = (String::new(), quoted);
    loop {
        let end = rest.find('`')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('`') {
            Some(behind) => {
                name.push('`');
                rest = behind;
            }
            None => return Some((name, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn suffix() -> impl Strategy<Value = Suffix> {
        prop_oneof![
            Just(Suffix::Namespace),
            Just(Suffix::Type),
            Just(Suffix::Term),
            "[+0-9]{0,3}".prop_map(Suffix::Method),
            Just(Suffix::TypeParameter),
            Just(Suffix::Parameter),
            Just(Suffix::Meta),
            Just(Suffix::Macro),
        ]
    }

    proptest! {
        #[test]
        fn written_symbols_are_read_back(
            words in proptest::array::uniform4("[a-z ]{0,4}[a-z]|"),
            parts in proptest::collection::vec(("[`a-zé.#(/ ]{1,6}", suffix()), 1..5),
        ) {
            prop_assume!(words[0] != "local" && !words.iter().any(|word| word.starts_with(' ')));
            let mut symbol = package(&words[0], &words[1], &words[2], &words[3]);
            parts.iter().for_each(|(name, suffix)| append_descriptor(&mut symbol, name, suffix));
            let read = descriptors(&symbol).expect("descriptors");
            let expected: Vec<Descriptor> = parts.into_iter().map(|(name, suffix)| Descriptor { name, suffix }).collect();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn nothing_makes_reading_fail(text in "\\PC{0,40}") {
            let _ = descriptors(&text);
            let _ = descriptors(&format!("a b c d {text}"));
        }
    }

    #[test]
    fn symbols_of_other_indexers_are_read() {
        let names = |symbol: &str| descriptors(symbol).map(|all| all.into_iter().map(|one| one.name).collect::<Vec<_>>().join(" "));
        let typescript = "scip-typescript npm web 1.0.0 src/`api.ts`/Client#get().(id)";
        assert_eq!(names(typescript).as_deref(), Some("src api.ts Client get id"));
        let rust = "rust-analyzer cargo web 0.1.0 api/impl#[Client][Display]fmt().";
        assert_eq!(names(rust).as_deref(), Some("api impl Client Display fmt"));
        assert_eq!((names("local 7"), names("a b c"), names("a b c d e")), (None, None, None));
    }
}
