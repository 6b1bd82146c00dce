//! Definitions and uses of one file of a language other than C#: the output of `tags` and of `scip/file`, as JSON.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything about one file. Fields are in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileSymbols {
    /// The definitions, in the order of their positions.
    pub definitions: Vec<Definition>,
    /// Documentation of the file, as readable text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
    /// The first line that does not parse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<u32>,
    /// The language, as its ruleset or the index names it.
    pub language: String,
    /// Number of an index's definitions that are not found any more: the file changed since.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub moved: usize,
    /// Number of an index's definitions that were found on other lines.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shifted: usize,
    /// Source of the facts: `tree-sitter`, or an indexer with its version.
    pub source: String,
    /// The reason why the file was not read; empty if it was read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unread: String,
    /// Uses by name; those that an index bound, by [`Definition::symbol`].
    pub uses: BTreeMap<String, Vec<TagUse>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// Column of its name in characters, from 1.
    pub column: u32,
    /// Its documentation as readable text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
    /// Its last line.
    pub end: u32,
    /// `class`, `function` …
    pub kind: String,
    /// Line of its name, from 1.
    pub line: u32,
    pub name: String,
    /// Its name after those of the enclosing definitions: `Client.get`.
    pub path: String,
    /// Symbols of other definitions that it implements, derives from or overrides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<String>,
    /// Its declaration in one line, without its body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// Its first line.
    pub start: u32,
    /// Its symbol in an index; empty where names are not bound.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub symbol: String,
}

/// A use: line and column in characters, from 1, and its kind: `call`, `construct`, `name`, `read`, `write`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TagUse(pub u32, pub u32, pub String);

impl FileSymbols {
    pub fn to_json(&self) -> Vec<u8> {
        engine::values::json::encode(self)
    }

    /// Parses JSON that [`FileSymbols::to_json`] wrote; `None` otherwise.
    pub fn from_json(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
