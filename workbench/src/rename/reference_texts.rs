//! The texts of the references in documentation (`cref="…"`), by file. A service caches them, so that a rename reads only files that are new to it.

use crate::code_text::encoding::{LARGEST, decode};
use engine::seams::world::World;
use engine::values::digest::Digest;
use memchr::memmem::{Finder, find};
use producers::csharp::deps::crefs;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A source: its path, and its digest if it is known.
pub type SourceFile = (String, Option<Digest>);

type TextsByDigest = FxHashMap<Digest, Arc<str>>;

/// Cache of reference texts, shared by all its clones. A digest determines the text of a file, so a cached text is never outdated.
#[derive(Clone, Debug, Default)]
pub struct ReferenceTexts(Arc<Mutex<Arc<TextsByDigest>>>);

impl ReferenceTexts {
    /// Returns the C# files among `sources` with a reference that contains a word, in their order. Caches the texts of exactly these sources.
    pub(super) fn files_with(&self, world: &dyn World, sources: &[SourceFile], word: &str) -> Vec<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let read = |(path, digest): &SourceFile| match digest.and_then(|digest| known.get(&digest)) {
            Some(text) => (*digest, text.clone()),
            None => read_references(world, path, *digest),
        };
        let files: Vec<&SourceFile> = sources.iter().filter(|(path, _)| path.ends_with(".cs")).collect();
        let texts: Vec<(Option<Digest>, Arc<str>)> = files.par_iter().map(|file| read(file)).collect();
        let finder = Finder::new(word);
        let naming = files
            .iter()
            .zip(&texts)
            .filter(|(_, (_, text))| finder.find(text.as_bytes()).is_some());
        let naming = naming.map(|((path, _), _)| path.clone()).collect();
        if texts
            .iter()
            .any(|(digest, _)| digest.is_some_and(|digest| !known.contains_key(&digest)))
        {
            let texts = texts.into_iter().filter_map(|(digest, text)| Some((digest?, text)));
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(texts.collect());
        }
        naming
    }
}

/// Reads the references of a file, one a line; `""` for a file that is no text. Returns no digest if the file is not the listed one any more.
fn read_references(world: &dyn World, path: &str, digest: Option<Digest>) -> (Option<Digest>, Arc<str>) {
    let bytes = world.read_at_most(path, LARGEST).unwrap_or_default();
    let digest = digest.filter(|digest| *digest == Digest::of(&bytes));
    // `cref` has the same bytes in all encodings but UTF-16, whose texts contain zeros.
    let may_refer = bytes.contains(&0) || find(&bytes, b"cref").is_some();
    let text = may_refer
        .then(|| decode(&bytes).ok())
        .flatten()
        .map(|(text, _)| text)
        .unwrap_or_default();
    let references: Vec<&str> = crefs::references(&text).into_iter().map(|one| &text[one]).collect();
    (digest, references.join("\n").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::files::memory::MemoryWorld;

    #[test]
    fn only_files_of_unknown_digests_are_read() {
        let texts = [
            "/// <see cref=\"Store\"/>\nclass A { }",
            "class Store { } // cref",
            "/// <see cref='B.Store'/>\nclass C { }",
        ];
        let paths = ["a.cs", "b.cs", "c.md"];
        let world = MemoryWorld::new();
        paths
            .iter()
            .zip(texts)
            .for_each(|(path, text)| world.write_source(path, text.as_bytes()));
        let listed = |digest: &dyn Fn(&str) -> Option<Digest>| -> Vec<SourceFile> {
            paths
                .iter()
                .zip(texts)
                .map(|(path, text)| ((*path).to_owned(), digest(text)))
                .collect()
        };
        let known = listed(&|text| Some(Digest::of(text.as_bytes())));
        let cache = ReferenceTexts::default();
        assert_eq!(cache.files_with(&world, &known, "Store"), ["a.cs"]);
        // The cache answers for known digests, also through a clone.
        let nothing = MemoryWorld::new();
        assert_eq!(cache.clone().files_with(&nothing, &known, "Store"), ["a.cs"]);
        assert!(cache.files_with(&nothing, &known, "Other").is_empty());
        assert!(cache.files_with(&nothing, &listed(&|_| None), "Store").is_empty());
        assert_eq!(cache.files_with(&world, &listed(&|_| None), "Store"), ["a.cs"]);
    }

    #[test]
    fn a_text_that_is_not_the_listed_one_is_not_cached() {
        let (world, cache) = (MemoryWorld::new(), ReferenceTexts::default());
        world.write_source("a.cs", b"/// <see cref=\"New\"/>");
        let listed = [("a.cs".to_owned(), Some(Digest::of(b"/// <see cref=\"Old\"/>")))];
        assert_eq!(cache.files_with(&world, &listed, "New"), ["a.cs"]);
        world.write_source("a.cs", b"/// <see cref=\"Old\"/>");
        assert_eq!(cache.files_with(&world, &listed, "Old"), ["a.cs"]);
    }
}
