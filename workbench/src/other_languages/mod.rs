//! Files of other languages than C#: what they define and use, as the rulesets of languages (`//files/F:tags`) and of indexes
//! (`//files/F:scip`) tell it.
//!
//! A definition is named by its file and its path in it: `web/src/api.ts#Client.get`. Every answer says who told: a grammar, which finds uses by
//! name alone, or an indexer, whose index may be older than the file. Of a file that both speak of, the index counts.

pub mod files;
pub mod names;
pub mod search;
pub mod usages;
