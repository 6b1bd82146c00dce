//! Files of other languages than C#: their definitions and uses, from the rulesets of languages (`//files/F:tags`) and of indexes (`//files/F:scip`).
//!
//! A definition is named by its file and its path in it: `web/src/api.ts#Client.get`. Every answer names its source: a grammar, which finds uses by
//! name only, or an indexer, whose index may be older than the file. For a file that both describe, the index counts.

pub mod files;
pub mod names;
pub mod search;
pub mod usages;
