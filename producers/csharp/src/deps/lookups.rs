//! The declarations that binding looks up, as code sees them; each row is read once.

use elsa::FrozenMap;
use engine::seams::producer::{Failure, RowSource};
use engine::values::table::Table;
use std::cell::RefCell;
use std::sync::Arc;

/// Rows of a table in memory.
pub struct TableRows<'a>(Table<'a>);

impl<'a> TableRows<'a> {
    /// Reads a table of [declarations](super::declarations), or some of its rows.
    ///
    /// # Errors
    /// When it is no table.
    pub fn read(blob: &'a [u8]) -> Result<Self, Failure> {
        let table = Table::open(blob).ok_or_else(|| Failure::permanent("the declarations are not a table"))?;
        Ok(Self(table))
    }
}

impl RowSource for TableRows<'_> {
    fn get(&self, key: &str) -> Option<Arc<[u8]>> {
        self.0.get(key).map(Arc::from)
    }
}

/// The rows that were looked up, each read once.
pub struct Lookups<'r> {
    rows: &'r dyn RowSource,
    /// Text after `@` in keys of the types in sight.
    scopes: Vec<String>,
    /// The texts of the rows that were read; that of an absent row is empty.
    found: FrozenMap<String, Arc<str>>,
    /// Keys of the existing rows among these.
    there: RefCell<Vec<String>>,
}

impl<'r> Lookups<'r> {
    /// Creates lookups that return the rows unchanged.
    pub fn new(rows: &'r dyn RowSource) -> Self {
        Self::seen_from(rows, &[])
    }

    /// Creates lookups that return the rows as code sees them. `scopes`: the text after `@` in keys of types in sight, nearest first.
    pub fn seen_from(rows: &'r dyn RowSource, scopes: &[String]) -> Self {
        Self {
            rows,
            scopes: scopes.to_vec(),
            found: FrozenMap::new(),
            there: RefCell::default(),
        }
    }

    /// Returns the keys of the existing rows that were looked up, sorted.
    pub fn keys(&self) -> Vec<String> {
        let mut keys = self.there.borrow().clone();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Returns a row's text as code sees it. Types of projects out of sight are replaced by types in sight with the same symbol, because a
    /// declaration that several projects compile names the types of the project that owns its file.
    fn as_seen(&self, text: &str) -> String {
        let mut seen = String::with_capacity(text.len());
        for token in text.split_inclusive(is_between_keys) {
            let key = token.trim_end_matches(is_between_keys);
            let replaced = key.split_once('@').filter(|(_, scope)| !self.scopes.iter().any(|own| own == scope));
            let replaced = replaced.and_then(|(symbol, _)| {
                let mut others = self.scopes.iter().map(|scope| format!("{symbol}@{scope}"));
                others.find(|other| !symbol.is_empty() && self.is_there(other))
            });
            seen.push_str(replaced.as_deref().unwrap_or(key));
            seen.push_str(&token[key.len()..]);
        }
        seen
    }

    fn is_there(&self, key: &str) -> bool {
        let is_there = self.rows.get(key).is_some_and(|row| !row.is_empty());
        if is_there {
            self.there.borrow_mut().push(key.to_owned());
        }
        is_there
    }

    /// Returns the text of a row, `""` if there is none or if it is not text.
    pub(super) fn row_text(&self, key: &str) -> &str {
        if let Some(text) = self.found.get(key) {
            return text;
        }
        let row = self.rows.get(key).unwrap_or_default();
        if !row.is_empty() {
            self.there.borrow_mut().push(key.to_owned());
        }
        let text = std::str::from_utf8(&row).unwrap_or_default();
        // The types in sight determine which type declares an extension method.
        let is_mixed = !self.scopes.is_empty() && !key.starts_with('.') && text.contains('@');
        let text: Arc<str> = if is_mixed { self.as_seen(text).into() } else { text.into() };
        self.found.insert(key.to_owned(), text)
    }
}

/// Whether a character separates keys of types in a row.
fn is_between_keys(c: char) -> bool {
    "{}(),;[]*?: \t\n".contains(c)
}
