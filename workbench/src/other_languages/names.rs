//! The definitions of other languages by name, read from the tables `//index/LANGUAGE:names`.

use crate::symbols::outputs::{Outputs, SymbolError, read_one};
use engine::values::case_folding::folded;
use engine::values::table::Table;
use producers::languages::names::Definitions;
use std::collections::{BTreeMap, BTreeSet};

/// The tables of names of all languages and indexes.
pub const TABLES: &str = "//index/...:names";

/// A definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherSymbol {
    pub file: String,
    /// Path in the file: `Client.get`.
    pub within: String,
    pub name: String,
    /// `class`, `function` …
    pub kind: String,
}

impl OtherSymbol {
    /// Returns the definition's name in requests: `FILE#PATH`.
    pub fn path_in_requests(&self) -> String {
        format!("{}#{}", self.file, self.within)
    }
}

/// All definitions.
#[derive(Clone, Debug, Default)]
pub struct OtherNames {
    /// By file, path, name and kind.
    all: Vec<OtherSymbol>,
    /// The target that describes each file: `tags` or `scip`.
    targets: BTreeMap<String, &'static str>,
    /// Files that a grammar reads, also those without definitions.
    grammar_files: BTreeSet<String>,
    /// Labels of missing tables.
    pub unread: Vec<String>,
}

/// The table of definitions by grammars, and that of the files that they read.
const GRAMMARS: &str = "//index/grammars:names";
const GRAMMAR_FILES: &str = "//index/grammars:files";

/// The index whose tables are bound.
const SCIP: &str = "//index/scip:names";

impl OtherNames {
    /// Reads the tables.
    pub fn from_outputs<O: Outputs>(outputs: &mut O) -> Result<Self, O::Error> {
        let mut names = Self::default();
        let mut read = outputs.read(&[TABLES.to_owned()])?;
        // An index takes precedence over a grammar for the same file.
        read.sort_by_key(|output| output.label != SCIP);
        if read.iter().any(|output| output.label == GRAMMARS)
            && let Some(bytes) = read_one(outputs, GRAMMAR_FILES.to_owned())?
        {
            let table = Table::open(&bytes).ok_or_else(|| SymbolError::damaged().at_label(GRAMMAR_FILES))?;
            names.grammar_files = table.keys().map(str::to_owned).collect();
        }
        for output in read {
            let target = if output.label == SCIP { "scip" } else { "tags" };
            let Some(bytes) = output.bytes else {
                names.unread.push(output.label);
                continue;
            };
            let damaged = || SymbolError::damaged().at_label(&output.label);
            for (name, row) in Table::open(&bytes).ok_or_else(damaged)?.rows() {
                let files: Definitions = serde_json::from_slice(row).map_err(|_| damaged())?;
                for (file, defined) in files {
                    if *names.targets.entry(file.clone()).or_insert(target) != target {
                        continue;
                    }
                    names.all.extend(defined.into_iter().map(|one| OtherSymbol {
                        file: file.clone(),
                        within: one.0,
                        name: name.to_owned(),
                        kind: one.1,
                    }));
                }
            }
        }
        names.all.sort();
        Ok(names)
    }

    /// Whether there are no definitions.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns all definitions, in order.
    pub fn iter(&self) -> impl Iterator<Item = &OtherSymbol> {
        self.all.iter()
    }

    /// Returns the target that describes a file; `None` for one without definitions.
    pub fn target(&self, file: &str) -> Option<&'static str> {
        self.targets.get(file).copied()
    }

    /// Returns the target that can describe a file, also one without definitions.
    pub fn teller(&self, file: &str) -> Option<&'static str> {
        self.target(file).or_else(|| self.grammar_files.contains(file).then_some("tags"))
    }

    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.targets.keys().map(String::as_str)
    }

    /// Resolves a text to definitions: `FILE#PATH`, or the end of a path (`Client.get`, `get`), optionally after the end of a file's path
    /// (`api.ts#Client`). Ignores case if there is no exact match.
    pub fn resolve_definitions(&self, text: &str) -> Vec<&OtherSymbol> {
        let (file, path) = match text.split_once('#') {
            Some((file, path)) => (Some(file), path),
            None => (None, text),
        };
        if path.is_empty() {
            return Vec::new();
        }
        let in_file = |one: &&OtherSymbol| file.is_none_or(|file| ends_with_mark(&one.file, file, '/'));
        let exact: Vec<&OtherSymbol> = self
            .all
            .iter()
            .filter(in_file)
            .filter(|one| ends_with_mark(&one.within, path, '.'))
            .collect();
        let whole: Vec<&OtherSymbol> = exact.iter().copied().filter(|one| one.within == path).collect();
        if !whole.is_empty() {
            return whole;
        }
        if !exact.is_empty() {
            return exact;
        }
        let path = folded(path);
        let in_any_case = |one: &&OtherSymbol| ends_with_mark(&folded(&one.within), &path, '.');
        self.all.iter().filter(in_file).filter(in_any_case).collect()
    }

    /// Resolves a path to a known file.
    pub fn known_file(&self, path: &str) -> Option<&str> {
        let path = path.replace('\\', "/");
        let path = path.trim_start_matches("./");
        let defines = self.targets.get_key_value(path).map(|(file, _)| file);
        defines.or_else(|| self.grammar_files.get(path)).map(String::as_str)
    }
}

/// Whether a text equals `end` or ends with it after a mark.
fn ends_with_mark(text: &str, end: &str, mark: char) -> bool {
    text.strip_suffix(end)
        .is_some_and(|before| before.is_empty() || before.ends_with(mark))
}
