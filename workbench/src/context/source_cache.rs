//! Sources of recently shown types, kept with their index; after a change both are replaced. The source shown longest ago is evicted first.

use super::index::Index;
use super::members::MemberText;
use super::withheld_files::{Secrets, WithheldFiles};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Limit of types whose source is kept.
const MOST: usize = 512;

/// The source of a type, and its position.
#[derive(Debug, Default, PartialEq)]
pub struct Code {
    /// Lines of the type, those of its parts in succession; `None` if none of its files could be read.
    pub text: Option<String>,
    /// `FILE:START-END` of each part, or files alone.
    pub places: Vec<String>,
    /// Members of the type, in the order of its files; their fit is not set yet.
    pub members: Vec<MemberText>,
}

/// An index with the sources that were read for it.
#[derive(Debug, Default)]
pub struct IndexWithSources {
    pub index: Index,
    pub sources: SourceCache,
    /// The types that no model may see.
    pub secrets: Secrets,
}

impl IndexWithSources {
    /// Creates an index with an empty cache, and the files that no model may see.
    pub fn new(index: Index, withheld: WithheldFiles) -> Self {
        Self {
            index,
            sources: SourceCache::default(),
            secrets: Secrets::new(withheld),
        }
    }

    /// Returns the types that no model may see.
    pub fn withheld_types(&self) -> Vec<String> {
        let types = (0..self.index.len()).filter(|at| self.secrets.reason_to_hide(&self.index, *at).is_some());
        types.map(|at| self.index.key(at).to_owned()).collect()
    }
}

/// The sources that were read last.
#[derive(Debug, Default)]
pub struct SourceCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    now: u64,
    codes: FxHashMap<usize, (u64, Arc<Code>)>,
    outlines: FxHashMap<usize, Arc<[u8]>>,
}

impl SourceCache {
    /// Returns the source of the type at an index, if it is kept.
    pub fn get(&self, at: usize) -> Option<Arc<Code>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.now += 1;
        let now = kept.now;
        let (used, code) = kept.codes.get_mut(&at)?;
        *used = now;
        Some(code.clone())
    }

    /// Returns the outline of the type at an index, if it was read. Outlines are small, and kept as long as the index.
    pub fn outline(&self, at: usize) -> Option<Arc<[u8]>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.outlines.get(&at).cloned()
    }

    pub fn insert_outline(&self, at: usize, outline: Arc<[u8]>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.outlines.insert(at, outline);
    }

    pub fn insert_source(&self, at: usize, code: Arc<Code>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.now += 1;
        let now = kept.now;
        kept.codes.insert(at, (now, code));
        if kept.codes.len() > MOST {
            let oldest = kept.codes.iter().min_by_key(|(_, (used, _))| *used).map(|(at, _)| *at);
            oldest.map(|at| kept.codes.remove(&at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_source_is_dropped_first() {
        let cache = SourceCache::default();
        for at in 0..MOST {
            cache.insert_source(at, Arc::default());
        }
        assert!(cache.get(0).is_some());
        cache.insert_source(MOST, Arc::default());
        assert_eq!(
            (cache.get(0).is_some(), cache.get(1).is_some(), cache.get(MOST).is_some()),
            (true, false, true)
        );
        let code = Code {
            text: Some("new".to_owned()),
            ..Code::default()
        };
        cache.insert_source(0, Arc::new(code));
        assert_eq!(cache.get(0).and_then(|code| code.text.clone()).as_deref(), Some("new"));
    }
}
