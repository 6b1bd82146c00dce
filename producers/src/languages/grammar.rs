//! The languages with a grammar, and parsing with it.

use csharp::parse::grammar::parse_within_budget;
use std::sync::OnceLock;
use tree_sitter::{Parser, Query, Tree};

pub struct Language {
    /// Its name in rulesets and in the names of its files.
    pub name: &'static str,
    pub dialects: &'static [Dialect],
    /// Its query for definitions and uses: captures `definition.KIND` and `reference` (`reference.call` …), with the name captured as `name`.
    pub tags: &'static str,
}

/// A grammar of a language, for files with certain extensions.
pub struct Dialect {
    /// Extensions of files, without the dot.
    pub endings: &'static [&'static str],
    grammar: fn() -> tree_sitter::Language,
    query: OnceLock<Query>,
}

impl Dialect {
    const fn new(endings: &'static [&'static str], grammar: fn() -> tree_sitter::Language) -> Self {
        Self {
            endings,
            grammar,
            query: OnceLock::new(),
        }
    }
}

static TYPESCRIPT: [Dialect; 2] = [
    Dialect::new(&["ts", "mts", "cts"], || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()),
    Dialect::new(&["tsx", "js", "jsx", "mjs", "cjs"], || tree_sitter_typescript::LANGUAGE_TSX.into()),
];

static PYTHON: [Dialect; 1] = [Dialect::new(&["py", "pyi"], || tree_sitter_python::LANGUAGE.into())];

/// All languages, by name.
pub static LANGUAGES: [Language; 2] = [
    Language {
        name: "python",
        dialects: &PYTHON,
        tags: include_str!("python/tags.scm"),
    },
    Language {
        name: "typescript",
        dialects: &TYPESCRIPT,
        tags: include_str!("typescript/tags.scm"),
    },
];

pub fn language(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == name)
}

/// Returns the language of a file, by its extension.
pub fn of_file(file: &str) -> Option<&'static Language> {
    let (_, ending) = file.rsplit_once('.')?;
    let has = |language: &&Language| language.dialects.iter().any(|dialect| dialect.endings.contains(&ending));
    LANGUAGES.iter().find(has)
}

/// Returns the name of a code block of a file in Markdown.
pub fn fence_name(file: &str) -> &'static str {
    of_file(file).map_or("", |language| language.name)
}

impl Language {
    /// Returns the dialect of a file; the first one for an unknown extension.
    pub fn dialect(&self, file: &str) -> &Dialect {
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        let of = self.dialects.iter().find(|dialect| dialect.endings.contains(&ending));
        of.unwrap_or(&self.dialects[0])
    }

    /// Returns the query of a dialect, compiled once.
    pub(super) fn query<'d>(&self, dialect: &'d Dialect) -> &'d Query {
        dialect
            .query
            .get_or_init(|| Query::new(&(dialect.grammar)(), self.tags).expect("invariant: a test compiles the query of every dialect"))
    }
}

impl Dialect {
    pub(super) fn grammar(&self) -> tree_sitter::Language {
        (self.grammar)()
    }

    /// Parses a text; `None` when it takes more steps than allowed for its length.
    pub(super) fn parse_tree(&self, text: &str) -> Option<Tree> {
        let mut parser = Parser::new();
        parser
            .set_language(&(self.grammar)())
            .expect("invariant: the grammar crate is built for this tree-sitter");
        parse_within_budget(&mut parser, text)
    }
}
