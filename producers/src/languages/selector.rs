//! Selectors: the nodes of a text's syntax that a query of tree-sitter selects (seed 004 §18.4).

use super::grammar::{Dialect, LANGUAGES};
use ::csharp::parse::grammar as csharp;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;
use tree_sitter::{Query, QueryCursor, StreamingIterator};

/// The capture that names the selected node. A selector with one capture needs no such name, and one with none selects its whole pattern.
pub const TARGET: &str = "target";

/// Limit of a query's matches in progress; tree-sitter drops more, which is reported. At each node it compares all of them with each other: the limit
/// bounds the time of a query such as `(block (_) @a (_) @b (_) @target)`.
const IN_PROGRESS: u32 = 256;

/// Limit of nested brackets of a query: tree-sitter parses them by recursion.
const DEEPEST: usize = 64;

/// The reason why nothing was selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The extension of the file belongs to no grammar.
    #[error("no grammar is built in for {file}: selectors work in C#, TypeScript, JavaScript and Python")]
    NoGrammar { file: String },
    /// The text took more parser steps than its length allows.
    #[error("the text could not be parsed within its budget of parser steps")]
    Unparsed,
    #[error("the selector is not a tree-sitter query: line {line}, column {column}: {why}")]
    Query {
        /// Line of the selector, from 1.
        line: usize,
        /// Column of that line, from 1.
        column: usize,
        why: String,
    },
    /// Brackets are nested deeper than [`DEEPEST`].
    #[error("the selector nests brackets deeper than {DEEPEST} levels")]
    TooDeep,
    /// Several captures, none of them [`TARGET`].
    #[error("the selector has {count} captures, and none of them is @{TARGET}")]
    NoTarget { count: usize },
    /// A predicate outside of any pattern, which would apply to none.
    #[error("a predicate of the selector is outside of its pattern: {predicate}")]
    Outside { predicate: String },
    /// A predicate that is not evaluated.
    #[error("the selector has a predicate that is not evaluated: #{name}")]
    Unevaluated { name: String },
    /// More matches were in progress at once than are followed.
    #[error("the selector has too many matches in progress at once")]
    TooMany,
}

/// A selector, compiled for the grammar of a language.
pub struct Selector {
    grammar: Grammar,
    query: Query,
    target: usize,
}

impl Selector {
    /// Compiles a selector for files that end as `file` does. Fails when the file's language has no grammar, or the selector is wrong.
    pub fn compile(file: &str, selector: &str) -> Result<Self, SelectorError> {
        if is_too_deep(selector) {
            return Err(SelectorError::TooDeep);
        }
        let grammar = Grammar::of_file(file)?;
        let language = match grammar {
            Grammar::CSharp => csharp::language(),
            Grammar::Other(dialect) => dialect.grammar(),
        };
        let compiled = |selector: &str| {
            Query::new(&language, selector).map_err(|error| SelectorError::Query {
                line: error.row + 1,
                column: error.column + 1,
                why: error.message.lines().next().unwrap_or_default().to_owned(),
            })
        };
        let mut query = compiled(selector)?;
        evaluates_all(&query, selector)?;
        if query.capture_names().is_empty() {
            query = compiled(&format!("{} @{TARGET}", selector.trim_end()))?;
        }
        let target = match query.capture_names() {
            [_] => 0,
            names => names
                .iter()
                .position(|name| *name == TARGET)
                .ok_or(SelectorError::NoTarget { count: names.len() })?,
        };
        Ok(Self { grammar, query, target })
    }

    /// Returns the nodes that it matches in a text, as byte ranges in the order of their beginnings, outer ones before inner ones. Fails
    /// when the text cannot be parsed, or too much matches.
    pub fn select(&self, text: &str) -> Result<Vec<Range<usize>>, SelectorError> {
        let tree = match self.grammar {
            Grammar::CSharp => csharp::parse_tree(text),
            Grammar::Other(dialect) => dialect.parse_tree(text),
        };
        let tree = tree.ok_or(SelectorError::Unparsed)?;
        let mut found = BTreeSet::new();
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(IN_PROGRESS);
        let mut matches = cursor.matches(&self.query, tree.root_node(), text.as_bytes());
        while let Some(one) = matches.next() {
            let nodes = one.captures().iter().filter(|capture| capture.index as usize == self.target);
            found.extend(nodes.map(|capture| (capture.node.start_byte(), Reverse(capture.node.end_byte()))));
        }
        if cursor.did_exceed_match_limit() {
            return Err(SelectorError::TooMany);
        }
        Ok(found.into_iter().map(|(start, Reverse(end))| start..end).collect())
    }
}

/// The grammar of a file.
enum Grammar {
    CSharp,
    Other(&'static Dialect),
}

impl Grammar {
    fn of_file(file: &str) -> Result<Self, SelectorError> {
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        let mut dialects = LANGUAGES.iter().flat_map(|language| language.dialects);
        match dialects.find(|dialect| dialect.endings.contains(&ending)) {
            Some(dialect) => Ok(Self::Other(dialect)),
            None if ending == "cs" => Ok(Self::CSharp),
            None => Err(SelectorError::NoGrammar { file: file.to_owned() }),
        }
    }
}

/// Refuses a query with a predicate that tree-sitter ignores: the query would select more nodes than the user asked for.
fn evaluates_all(query: &Query, selector: &str) -> Result<(), SelectorError> {
    for pattern in 0..query.pattern_count() {
        let text = selector.get(query.start_byte_for_pattern(pattern)..query.end_byte_for_pattern(pattern));
        let text = text.unwrap_or_default().trim_end();
        if without_comments(text.trim_start_matches('(')).starts_with('#') {
            return Err(SelectorError::Outside {
                predicate: text.to_owned(),
            });
        }
        let general = query
            .general_predicates(pattern)
            .iter()
            .map(|predicate| predicate.operator.to_string());
        let properties = query.property_predicates(pattern).iter();
        let properties = properties.map(|(_, is)| if *is { "is?" } else { "is-not?" }.to_owned());
        let settings = query.property_settings(pattern).iter().map(|_| "set!".to_owned());
        if let Some(name) = general.chain(properties).chain(settings).next() {
            return Err(SelectorError::Unevaluated { name });
        }
    }
    Ok(())
}

/// Returns the text after blanks and comments of a query.
fn without_comments(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix(';') {
        Some(comment) => without_comments(comment.split_once('\n').map_or("", |(_, rest)| rest)),
        None => text,
    }
}

/// Brackets in strings and comments of the query count as well: few queries have [`DEEPEST`] of them.
fn is_too_deep(selector: &str) -> bool {
    let mut depth = 0usize;
    selector.bytes().any(|byte| {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEPEST
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_csharp(selector: &str) -> Selector {
        Selector::compile("A.cs", selector).expect("a plain query")
    }

    fn texts(file: &str, text: &str, selector: &str) -> Result<Vec<String>, String> {
        let compiled = Selector::compile(file, selector).map_err(|error| error.to_string())?;
        let found = compiled.select(text).map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(|range| text[range].to_owned()).collect())
    }

    #[test]
    fn nodes_are_selected_by_their_syntax() {
        let csharp = "class A { void M() { Log(\"Log(1)\"); /* Log(2) */ Log(Log(3)); } }";
        let calls = "(invocation_expression function: (identifier) @f (#eq? @f \"Log\")) @target";
        let found = ["Log(\"Log(1)\")", "Log(Log(3))", "Log(3)"];
        assert_eq!(texts("A.cs", csharp, calls).as_deref(), Ok(&found.map(str::to_owned)[..]));
        assert_eq!(texts("A.cs", csharp, "(comment)").as_deref(), Ok(&["/* Log(2) */".to_owned()][..]));
        for (file, text) in [("a.ts", "const é = f(1);"), ("a.tsx", "const é = f(1);"), ("a.js", "f(1)")] {
            assert_eq!(
                texts(file, text, "(call_expression)").as_deref(),
                Ok(&["f(1)".to_owned()][..]),
                "{file}"
            );
        }
        assert_eq!(texts("a.py", "f(1)", "(call) @it").as_deref(), Ok(&["f(1)".to_owned()][..]));
        assert_eq!(texts("a.py", "f(1)", "(lambda)").as_deref(), Ok(&[][..]));
    }

    #[test]
    fn a_query_that_tries_all_ways_is_refused() {
        let text = format!("class A {{ void M() {{ {} }} }}", "f(); ".repeat(400));
        // Any three statements of the 400.
        let refused = of_csharp("(block (_) @a (_) @b (_) @target)").select(&text);
        assert_eq!(refused, Err(SelectorError::TooMany));
        let calls = of_csharp("(invocation_expression)").select(&text).expect("a plain query");
        assert_eq!(calls.len(), 400);
    }

    #[test]
    fn a_predicate_that_is_not_evaluated_is_refused() {
        let refused = |selector: &str| texts("A.cs", "class A { B b; }", selector).expect_err("refused");
        for outside in ["(#eq? @target \"N\")", "(; why\n #eq? @target \"N\")", "( #match? @target \"N\")"] {
            let why = refused(&format!("(identifier) @target {outside} (class_declaration)"));
            assert!(why.contains("outside of its pattern") && why.contains(outside), "{why}");
        }
        for (predicate, name) in [
            ("#equals? @target \"N\"", "#equals?"),
            ("#is-not? local", "#is-not?"),
            ("#is? local", "#is?"),
            ("#set! a b", "#set!"),
        ] {
            let why = refused(&format!("((identifier) @target ({predicate}))"));
            assert!(why.ends_with(name), "{why}");
        }
        let found = texts("A.cs", "class A { B b; }", "((identifier) @target (#any-of? @target \"A\" \"b\"))");
        assert_eq!(found, Ok(vec!["A".to_owned(), "b".to_owned()]));
        let found = texts("A.cs", "class A { B b; }", "(identifier) @target ; (#eq? @target \"N\")");
        assert_eq!(found.map(|found| found.len()), Ok(3));
    }

    #[test]
    fn errors_in_a_selector_are_explained() {
        let why = |file: &str, selector: &str| texts(file, "class A { }", selector).expect_err("refused");
        assert!(why("a.md", "(x)").contains("no grammar is built in for a.md"));
        assert!(
            why("A.cs", "\n(no_such_node)").contains("line 2, column 2"),
            "{}",
            why("A.cs", "\n(no_such_node)")
        );
        for deep in ["(", "[", "((a) "] {
            assert!(why("A.cs", &deep.repeat(100_000)).contains("deeper than 64 levels"));
        }
        assert!(why("A.cs", "(class_declaration").contains("not a tree-sitter query"));
        assert!(why("A.cs", "(class_declaration name: (_) @a) @b").contains("2 captures"));
    }
}
