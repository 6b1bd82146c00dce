//! Queries of several words: as declarations begin (`public sealed class Reader : IReader`), with a kind at the end (`Reader class`), or a member after
//! its type (`Reader Read`). The word of a kind restricts a search to that kind, and modifiers are left out. Names may contain such words (`event store` finds EventStore), so the better match decides.

use super::index::Symbols;
use super::outputs::SymbolError;
use super::search::{Matched, Query, search};

/// Words of kinds in declarations, with the kinds that they restrict to. Longer ones come first.
const WORDS: [(&str, &str); 18] = [
    ("record struct", "record struct"),
    ("record class", "record"),
    ("enum member", "enum member"),
    ("type", "type"),
    ("class", "class"),
    ("struct", "struct"),
    ("interface", "interface"),
    ("enum", "enum"),
    ("delegate", "delegate"),
    ("record", "record"),
    ("namespace", "namespace"),
    ("method", "method"),
    ("constructor", "constructor"),
    ("property", "property"),
    ("indexer", "indexer"),
    ("event", "event"),
    ("field", "field"),
    ("constant", "constant"),
];

/// Modifiers of declarations.
const MODIFIERS: [&str; 20] = [
    "public", "protected", "internal", "private", "file", "static", "abstract", "sealed", "virtual", "override", "partial", "readonly",
    "ref", "unsafe", "extern", "new", "required", "volatile", "async", "const",
];

/// Splits the words before the name from a query, or the kind after it (`Reader class`); returns the kind, and the name. `None` for a query without
/// such words.
fn split_kind(text: &str) -> Option<(Option<&'static str>, &str)> {
    let mut rest = text.trim();
    let mut kind = None;
    loop {
        let of_kind = || WORDS.iter().find_map(|(word, of)| Some((text_after(rest, word)?, *of)));
        if let Some(after) = MODIFIERS.iter().find_map(|word| text_after(rest, word)) {
            rest = after;
        } else if let Some((after, of)) = of_kind().filter(|_| kind.is_none()) {
            (rest, kind) = (after, Some(of));
        } else {
            break;
        }
    }
    if rest.len() == text.trim().len()
        && let Some((name, last)) = rest.rsplit_once(char::is_whitespace)
    {
        let of = WORDS.iter().find(|(word, _)| *word == last).map(|(_, of)| *of);
        return of.map(|of| (Some(of), name.trim_end()));
    }
    // The bases and the body of a declaration are no part of its name.
    let end = rest.find(['{', ';']).unwrap_or(rest.len());
    let name = &rest[..end];
    let is_single = |at: &usize| !name[at + 1..].starts_with(':') && !name[..*at].ends_with(':');
    let end = name.match_indices(':').map(|(at, _)| at).find(is_single);
    let name = &name[..end.unwrap_or(name.len())];
    let name = name.trim();
    (rest.len() < text.trim().len() && !name.is_empty()).then_some((kind, name))
}

/// Returns the text after a word and white space.
fn text_after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let after = text.strip_prefix(word)?;
    after.starts_with(char::is_whitespace).then(|| after.trim_start())
}

/// How a query is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadQuery<'q> {
    /// The text to search for.
    pub text: String,
    /// The kind to search for.
    pub kind: Option<&'q str>,
    /// The kind in the query's words, if nothing of this kind matches, and something of another kind does.
    pub other_than: Option<&'static str>,
}

/// Reads the words of kinds and the modifiers around a name, and `Store Get` as `Store.Get`. A name that contains all words goes first if it matches
/// better. Fails as [`search`] does.
pub fn read_kind_words<'q>(symbols: &Symbols, query: Query<'q>) -> Result<ReadQuery<'q>, SymbolError> {
    let read = |text: &str, kind: Option<&'q str>| ReadQuery {
        text: text.to_owned(),
        kind,
        other_than: None,
    };
    let best = |text: &str, kind: Option<&str>| -> Result<Option<Matched>, SymbolError> {
        let first = Query {
            text,
            kind,
            limit: 1,
            cursor: None,
            aliases: None,
            ..query
        };
        let matched = search(symbols, &first)?.hits.first().map(|hit| hit.matched);
        Ok(matched.filter(|matched| *matched != Matched::Fuzzy))
    };
    let text = query.text.trim();
    if !text.contains(char::is_whitespace) {
        return Ok(read(text, query.kind));
    }
    let joined = best(text, query.kind)?;
    let Some((kind, name)) = split_kind(text) else {
        let member = text.rsplit_once(char::is_whitespace).map(|(of, name)| format!("{of}.{name}"));
        return Ok(match member {
            Some(member) if joined.is_none() && best(&member, query.kind)?.is_some() => read(&member, query.kind),
            _ => read(text, query.kind),
        });
    };
    let of_kind = query.kind.or(kind);
    let found = best(name, of_kind)?;
    // Modifiers restrict nothing, so they are left out only if nothing has them in its name.
    if joined.is_some_and(|joined| kind.is_none() || found.is_none_or(|found| joined < found)) {
        return Ok(read(text, query.kind));
    }
    if found.is_none() && query.kind.is_none() && kind.is_some() && best(name, None)?.is_some() {
        return Ok(ReadQuery {
            other_than: kind,
            ..read(name, None)
        });
    }
    Ok(read(name, of_kind))
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn words_before_a_name_are_kinds_and_modifiers() {
        for (text, expected) in [
            ("class Reader", Some((Some("class"), "Reader"))),
            ("public sealed class Reader<T> : IReader { }", Some((Some("class"), "Reader<T>"))),
            (" readonly record struct  Id", Some((Some("record struct"), "Id"))),
            ("record Id(int Value);", Some((Some("record"), "Id(int Value)"))),
            ("static Reader", Some((None, "Reader"))),
            ("Csv Reader  constructor", Some((Some("constructor"), "Csv Reader"))),
            ("namespace N.M", Some((Some("namespace"), "N.M"))),
            ("class", None),
            ("classReader", None),
            ("Class Reader", None),
            ("big store", None),
            ("class global::N.A", Some((Some("class"), "global::N.A"))),
            ("class global::N.A : B", Some((Some("class"), "global::N.A"))),
        ] {
            assert_eq!(split_kind(text), expected, "{text}");
        }
    }

    #[test]
    fn the_word_of_a_kind_restricts_a_search_unless_names_contain_it() {
        let text = "namespace N; interface IReader { void Read(); } class CsvReader { int Read; } class EventStore { } record Reader; class RecordReader { }";
        let symbols = Sample::from_files(&[("a.cs", text)]).symbols();
        let found = |text: &str| {
            let read = read_kind_words(&symbols, Query::new(text)).expect("an answer");
            let asked = Query {
                text: &read.text,
                kind: read.kind,
                ..Query::new("")
            };
            let page = search(&symbols, &asked).expect("an answer");
            let paths: Vec<String> = page.hits.into_iter().map(|hit| hit.path).collect();
            (paths.join(" "), read.other_than)
        };
        for (query, paths, other_than) in [
            ("interface IReader", "N.IReader", None),
            ("class IReader", "N.IReader", Some("class")),
            ("public interface IReader : IDisposable", "N.IReader", None),
            ("method Read", "N.IReader#Read", None),
            ("field Read", "N.CsvReader#Read", None),
            ("event store", "N.EventStore", None),
            ("public EventStore", "N.EventStore", None),
            ("record Reader", "N.Reader", None),
            ("enum Qqqqqq", "", None),
            ("IReader interface", "N.IReader", None),
            ("csv reader read", "N.CsvReader#Read", None),
            ("how is it read", "", None),
        ] {
            assert_eq!(found(query), (paths.to_owned(), other_than), "{query}");
        }
    }
}
