//! A search index of the workspace's types: their words for Okapi BM25, their dependencies in both directions, their files.
//!
//! An index is built once from the outputs of all types and then queried any number of times. After a change, unchanged types are taken over.

use super::document::{Document, Parts, Tally, inputs_digest};
use super::vocabulary::{Numbered, Vocabulary};
use super::words::for_each_word;
use crate::other_languages::names::OtherNames;
use crate::symbols::index::{Symbols, simple_name};
use crate::symbols::outputs::{Outputs, SymbolError, file_label};
use engine::values::digest::Digest;
use engine::values::label::{escape, halves};
use producers::csharp::types::{TypeRow, symbol_of};
use producers::languages::model::FileSymbols;
use producers::text::decode;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// BM25 parameter: how soon further occurrences of a word count less.
const K1: f32 = 1.2;
/// BM25 parameter: how strongly longer types are normalised.
const B: f32 = 0.6;

/// The targets that are read of all types; each gives a part of a document.
const TARGETS: [&str; 4] = ["structure", "impl", "xmldoc", "deps"];
/// Outputs are read by pattern if more than one type in this many changed, otherwise by label.
const ALL_IF_ONE_IN: usize = 4;
/// Number of groups of documents per thread; each group reads an identifier once.
const CHUNKS_A_THREAD: usize = 8;
/// Documents are saved if more than one in this many was built.
const SAVED_IF_ONE_IN: usize = 64;

/// An edge from a type to another one that it uses, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The other type.
    pub to: usize,
    /// Whether declarations use the type, and not only code.
    pub structure: bool,
}

/// All types of a workspace.
#[derive(Debug, Default)]
pub struct Index {
    /// Types in the order of their keys.
    documents: Vec<Arc<Document>>,
    vocabulary: Arc<Vocabulary>,
    postings: Postings,
    uses: Vec<Vec<Edge>>,
    users: Vec<Vec<Edge>>,
    files: FxHashMap<String, Vec<usize>>,
    names: FxHashMap<String, Vec<usize>>,
    sizes: Vec<usize>,
    mean: f32,
    /// Labels of outputs that are missing.
    pub unread: Vec<String>,
    /// Number of documents that were built, not taken over.
    built: usize,
}

/// The types that contain each word, with its weight there.
#[derive(Debug, Default)]
struct Postings {
    /// Start in `all` of each word's types, by number of the word; at the end, the end of the last word's types.
    starts: Vec<u32>,
    /// Numbers of types, in their order, and weights; word after word.
    all: Vec<(u32, u32)>,
}

impl Postings {
    fn new(documents: &[Arc<Document>]) -> Self {
        // Skip generated code, which is found only by its name.
        let words = || {
            let searched = (0_u32..).zip(documents).filter(|(_, document)| !document.is_generated);
            searched.flat_map(|(own, document)| document.words.iter().map(move |(word, counts, _)| (*word as usize, own, *counts)))
        };
        let bound = words().map(|(word, ..)| word + 1).max().unwrap_or(0);
        // Prefix sums, shifted by one slot, give the start of each word's postings.
        let mut starts = vec![0_u32; bound + 2];
        words().for_each(|(word, ..)| starts[word + 2] += 1);
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut all = vec![(0, 0); starts[starts.len() - 1] as usize];
        for (word, own, counts) in words() {
            // Position of its next type; finally the start of the next word's types.
            let next = &mut starts[word + 1];
            all[*next as usize] = (own, counts);
            *next += 1;
        }
        starts.pop();
        Self { starts, all }
    }

    fn of_word(&self, word: u32) -> &[(u32, u32)] {
        let word = word as usize;
        match self.starts.get(word..word + 2) {
            Some(&[start, end]) => &self.all[start as usize..end as usize],
            _ => &[],
        }
    }
}

/// Returns the package of a type's target, and its number in [`TARGETS`].
fn package_and_target(label: &str) -> Option<(&str, usize)> {
    let (package, target) = label.strip_prefix("//types/")?.rsplit_once(':')?;
    Some((package, TARGETS.iter().position(|one| *one == target)?))
}

impl Index {
    /// Creates an index of documents whose words have the numbers of a vocabulary.
    pub fn new(mut documents: Vec<Arc<Document>>, vocabulary: Arc<Vocabulary>) -> Self {
        documents.sort_by(|one, other| one.key.cmp(&other.key));
        let at: FxHashMap<&str, usize> = documents.iter().enumerate().map(|(at, one)| (one.key.as_str(), at)).collect();
        let mut index = Self {
            uses: vec![Vec::new(); documents.len()],
            users: vec![Vec::new(); documents.len()],
            vocabulary,
            ..Self::default()
        };
        for (own, document) in documents.iter().enumerate() {
            for (key, structure) in &document.uses {
                let Some(&to) = at.get(key.as_str()) else { continue };
                let structure = *structure;
                index.uses[own].push(Edge { to, structure });
                index.users[to].push(Edge { to: own, structure });
            }
            for name in &document.names {
                index.names.entry(name.clone()).or_default().push(own);
            }
            for file in &document.files {
                index.files.entry(file.clone()).or_default().push(own);
            }
        }
        index.postings = Postings::new(&documents);
        index.sizes = documents.iter().map(|document| document.size).collect();
        for document in documents.iter().filter(|one| one.language.is_none()) {
            // The source of a type contains its nested types.
            let mut key = document.key.clone();
            while let Some(around) = enclosing_type(&key) {
                if let Some(&at) = at.get(around.as_str()) {
                    index.sizes[at] += document.size;
                }
                key = around;
            }
        }
        let total: f32 = documents.iter().map(|document| document.length as f32).sum();
        index.mean = (total / documents.len().max(1) as f32).max(1.0);
        index.documents = documents;
        index
    }

    /// Builds the index from the workspace's outputs; `known` returns the document of a type or file that was built before, and is taken over where
    /// its inputs are the same. `vocabulary` has the words of these.
    pub fn from_outputs<O: Outputs>(
        outputs: &mut O,
        symbols: &Symbols,
        others: &OtherNames,
        known: impl Fn(&str) -> Option<Arc<Document>>,
        vocabulary: Arc<Vocabulary>,
    ) -> Result<Self, O::Error> {
        let mut unread = others.unread.clone();
        let patterns = TARGETS.map(|target| format!("//types/...:{target}"));
        let listed = match symbols.is_empty() {
            true => Vec::new(),
            false => outputs.list_digests(&patterns)?,
        };
        let mut digests: FxHashMap<&str, [Option<Digest>; TARGETS.len()]> = FxHashMap::default();
        for (label, digest) in &listed {
            let Some((package, target)) = package_and_target(label) else {
                continue;
            };
            match digest {
                Some(_) => digests.entry(package).or_default()[target] = *digest,
                None => unread.push(label.to_string()),
            }
        }
        let (mut documents, mut changed) = (Vec::with_capacity(symbols.len()), Vec::new());
        for (at, key) in symbols.keys().enumerate() {
            let row = symbols.type_row(at)?;
            let package = escape(key);
            let digests = digests.get(&*package).copied().unwrap_or_default();
            let digest = inputs_digest(&digests, &row.files);
            match known(key).filter(|known| known.digest == digest && known.is_generated == row.generated) {
                Some(known) => documents.push(known),
                None => changed.push((key, package, row, digests, digest)),
            }
        }
        let labels: Vec<String> = match changed.len() * ALL_IF_ONE_IN > symbols.len() {
            true => patterns.to_vec(),
            false => {
                let of_type = |(_, package, _, digests, _): &(_, String, _, [Option<Digest>; 4], _)| {
                    let built = TARGETS.iter().zip(*digests).filter(|(_, digest)| digest.is_some());
                    built.map(|(target, _)| format!("//types/{package}:{target}")).collect::<Vec<_>>()
                };
                changed.iter().flat_map(of_type).collect()
            }
        };
        let mut parts: FxHashMap<String, Parts> = FxHashMap::default();
        let read = if labels.is_empty() { Vec::new() } else { outputs.read(&labels)? };
        for output in read {
            let Some((package, target)) = package_and_target(&output.label) else {
                continue;
            };
            let of = parts.entry(package.to_owned()).or_default();
            *[&mut of.structure, &mut of.code, &mut of.docs, &mut of.deps][target] = output.bytes;
        }
        let built = changed.len();
        let of_chunk = |chunk: &[(&str, String, TypeRow, _, Digest)]| {
            let (mut tally, none) = (Tally::default(), Parts::default());
            let new = |(key, package, row, _, digest): &(&str, String, TypeRow, _, Digest)| Document {
                is_generated: row.generated,
                ..Document::new(&mut tally, key, &row.files, parts.get(package).unwrap_or(&none), *digest)
            };
            let new: Vec<Document> = chunk.iter().map(new).collect();
            (new, tally.into_words())
        };
        let size = built.div_ceil(rayon::current_num_threads() * CHUNKS_A_THREAD).max(1);
        let chunks: Vec<(Vec<Document>, Numbered)> = changed.par_chunks(size).map(of_chunk).collect();
        for (mut new, words) in chunks {
            let numbers = vocabulary.number_all(&words);
            new.par_iter_mut().for_each(|document| document.renumber(&numbers));
            documents.extend(new.into_iter().map(Arc::new));
        }
        let (other, built_other) = other_documents(outputs, others, known, (&vocabulary, &mut unread))?;
        documents.extend(other);
        Ok(Self {
            unread,
            built: built + built_other,
            ..Self::new(documents, vocabulary)
        })
    }

    /// Whether enough documents were built to be worth saving for the next process.
    pub fn is_worth_saving(&self) -> bool {
        self.built * SAVED_IF_ONE_IN > self.len()
    }

    /// Returns the documents, in the order of their keys.
    pub fn documents(&self) -> &[Arc<Document>] {
        &self.documents
    }

    /// Returns the number of types.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there are no types.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub fn document(&self, at: usize) -> Option<&Arc<Document>> {
        self.documents.get(at)
    }

    /// Returns the key of the type at an index.
    ///
    /// # Panics
    /// If the index has no such type.
    pub fn key(&self, at: usize) -> &str {
        &self.documents[at].key
    }

    /// Returns the index of a type, by its key; for a member that of its type.
    pub fn find(&self, path: &str) -> Option<usize> {
        let key = halves(path).map_or(path, |(key, _)| key);
        self.documents.binary_search_by(|one| one.key.as_str().cmp(key)).ok()
    }

    /// Estimates the tokens of the source of the type at an index, including its nested types.
    ///
    /// # Panics
    /// If the index has no such type.
    pub fn size(&self, at: usize) -> usize {
        self.sizes[at]
    }

    /// Returns the types that the type at an index uses.
    pub fn uses(&self, at: usize) -> &[Edge] {
        &self.uses[at]
    }

    /// Returns the users of the type at an index.
    pub fn users(&self, at: usize) -> &[Edge] {
        &self.users[at]
    }

    /// Returns all files that contain types.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    pub fn in_file(&self, file: &str) -> &[usize] {
        self.files.get(file).map_or(&[], Vec::as_slice)
    }

    pub fn types_named(&self, simple: &str) -> &[usize] {
        self.names.get(simple).map_or(&[], Vec::as_slice)
    }

    /// Returns the vocabulary, which has the words of the documents and perhaps others.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Whether the type at an index contains a word.
    pub fn has_word(&self, at: usize, word: &str) -> bool {
        let number = self.vocabulary.number_of(word);
        number.is_some_and(|number| self.documents[at].weight(number).is_some())
    }

    /// Returns the types that contain a word, with its weight there.
    fn holders(&self, word: &str) -> &[(u32, u32)] {
        self.vocabulary.number_of(word).map_or(&[], |word| self.postings.of_word(word))
    }

    /// Returns the BM25 score of each type for words; types without any of them are left out.
    pub fn rank(&self, words: &[String]) -> FxHashMap<usize, f32> {
        let mut scores: FxHashMap<usize, f32> = FxHashMap::default();
        let all = self.documents.len() as f32;
        for word in words {
            let list = self.holders(word);
            if list.is_empty() {
                continue;
            }
            let have = list.len() as f32;
            let rarity = (1.0 + (all - have + 0.5) / (have + 0.5)).ln();
            for &(at, counts) in list {
                let at = at as usize;
                let counts = counts as f32;
                let length = self.documents[at].length as f32 / self.mean;
                let score = rarity * counts * (K1 + 1.0) / (counts + K1 * (1.0 - B + B * length));
                *scores.entry(at).or_default() += score;
            }
        }
        scores
    }

    /// Returns the rarity of a word: the natural logarithm of the number of types per type that has it, 0 for an unknown word.
    pub fn rarity(&self, word: &str) -> f32 {
        let have = self.holders(word).len();
        if have == 0 {
            0.0
        } else {
            (1.0 + self.documents.len() as f32 / have as f32).ln()
        }
    }

    /// Returns the rarity of a word that only one type has.
    pub fn rarest(&self) -> f32 {
        (1.0 + self.documents.len() as f32).ln()
    }

    /// Returns the share of the words in the name of the type at an index that are among words; rare words count more.
    pub fn share_of_name(&self, at: usize, words: &[String]) -> f32 {
        let document = &self.documents[at];
        let mut own: Vec<String> = Vec::new();
        if document.language.is_none() {
            for_each_word(simple_name(&document.key), |word| own.push(word.to_owned()));
        }
        let is_said = |word: &String| words.contains(word);
        // The whole name comes before its humps.
        let humps = match own.split_first() {
            Some((whole, _)) if is_said(whole) => return 1.0,
            Some((_, humps)) if !humps.is_empty() => humps,
            _ => return 0.0,
        };
        let all: f32 = humps.iter().map(|word| self.rarity(word)).sum();
        let said: f32 = humps.iter().filter(|word| is_said(word)).map(|word| self.rarity(word)).sum();
        if all > 0.0 { said / all } else { 0.0 }
    }

    /// Returns the share of words that name the type at an index or a member of it; rare words count more.
    pub fn coverage(&self, at: usize, words: &[String]) -> f32 {
        let document = &self.documents[at];
        let (mut named, mut all) = (0.0, 0.0);
        for word in words {
            let counts = self.rarity(word);
            all += counts;
            let found = self.vocabulary.number_of(word).and_then(|word| document.weight(word));
            if found.is_some_and(|(_, named)| named) {
                named += counts;
            }
        }
        if all > 0.0 { named / all } else { 0.0 }
    }
}

/// Returns the documents of files of other languages, and how many of them were built.
fn other_documents<O: Outputs>(
    outputs: &mut O,
    others: &OtherNames,
    known: impl Fn(&str) -> Option<Arc<Document>>,
    (vocabulary, unread): (&Vocabulary, &mut Vec<String>),
) -> Result<(Vec<Arc<Document>>, usize), O::Error> {
    let files: Vec<(&str, &str)> = others.files().filter_map(|file| Some((file, others.target(file)?))).collect();
    let labels: Vec<String> = files.iter().map(|(file, target)| file_label(file, target)).collect();
    let texts: Vec<String> = files.iter().map(|(file, _)| file_label(file, "bytes")).collect();
    if files.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let names = outputs.read(&labels)?.into_iter().zip(outputs.read(&texts)?);
    let mut documents = Vec::with_capacity(files.len());
    let (mut tally, mut new) = (Tally::default(), Vec::new());
    for ((file, _), (names, text)) in files.into_iter().zip(names) {
        let (Some(bytes), Some(text)) = (names.bytes, text.bytes) else {
            unread.push(names.label);
            continue;
        };
        let digest = Digest::of([Digest::of(&bytes).0, Digest::of(&text).0].as_flattened());
        match known(file).filter(|known| known.digest == digest) {
            Some(known) => documents.push(known),
            None => {
                let symbols = FileSymbols::from_json(&bytes).ok_or_else(|| SymbolError::damaged().at_label(&names.label))?;
                new.push(Document::of_other(&mut tally, file, &symbols, &decode(&text, file).0, digest));
            }
        }
    }
    let built = new.len();
    let numbers = vocabulary.number_all(&tally.into_words());
    new.iter_mut().for_each(|document| document.renumber(&numbers));
    documents.extend(new.into_iter().map(Arc::new));
    Ok((documents, built))
}

/// Returns the key of the type around a nested one: `A+B@Tests` of `A+B+C@Tests`.
fn enclosing_type(key: &str) -> Option<String> {
    let symbol = symbol_of(key);
    let (around, _) = symbol.rsplit_once('+')?;
    Some(format!("{around}{}", &key[symbol.len()..]))
}

#[cfg(test)]
pub mod samples {
    //! Small workspaces for tests of ranking.

    use super::*;
    use std::sync::LazyLock;

    /// Returns the vocabulary of all documents of tests.
    fn vocabulary() -> Arc<Vocabulary> {
        static ALL: LazyLock<Arc<Vocabulary>> = LazyLock::new(Arc::default);
        ALL.clone()
    }

    pub fn index_of(documents: Vec<Arc<Document>>) -> Index {
        Index::new(documents, vocabulary())
    }

    /// Returns a type with the words of a text in its code, and its uses by declarations.
    pub fn document(key: &str, text: &str, uses: &[&str]) -> Arc<Document> {
        let code = serde_json::json!({"name": "", "body": text}).to_string();
        let parts = Parts {
            code: Some(code.into_bytes().into()),
            ..Parts::default()
        };
        let file = format!("src/{}.cs", key.replace('.', "/"));
        let mut tally = Tally::default();
        let mut document = Document::new(&mut tally, key, &[file], &parts, Digest::of(b""));
        document.renumber(&vocabulary().number_all(&tally.into_words()));
        document.uses = uses.iter().map(|to| ((*to).to_owned(), true)).collect();
        Arc::new(document)
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{document, index_of};
    use super::*;
    use crate::context::words::query_words;

    fn best(index: &Index, query: &str) -> Vec<String> {
        let mut ranked: Vec<(usize, f32)> = index.rank(&query_words(query)).into_iter().collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        ranked.into_iter().map(|(at, _)| index.key(at).to_owned()).collect()
    }

    #[test]
    fn rare_words_and_names_lead() {
        let index = index_of(vec![
            document("N.Reader", "buffer stream", &[]),
            document("N.Writer", "buffer stream stream stream", &[]),
            document("N.Journal", "buffer stream", &["N.Writer"]),
            document("N.Checksum", "buffer", &[]),
        ]);
        assert_eq!(best(&index, "journal of a stream")[0], "N.Journal");
        assert_eq!(best(&index, "streams")[0], "N.Writer");
        assert_eq!(best(&index, "checksum buffer")[0], "N.Checksum");
        assert_eq!(best(&index, "nothing of that"), [""; 0]);
        assert!(index.rarity("checksum") > index.rarity("buffer") && index.rarity("buffer") > 0.0);
        assert_eq!(index.rarity("absent"), 0.0);
    }

    #[test]
    fn edges_go_both_ways_and_only_to_what_is_there() {
        let index = index_of(vec![document("B", "", &["A", "Gone"]), document("A", "", &[])]);
        let (a, b) = (index.find("A").expect("A"), index.find("B#M()").expect("B"));
        assert_eq!(index.uses(b), [Edge { to: a, structure: true }]);
        assert_eq!(index.users(a), [Edge { to: b, structure: true }]);
        assert_eq!(index.in_file("src/A.cs"), [a]);
    }

    #[test]
    fn a_type_is_as_long_as_it_is_with_those_nested_in_it() {
        let text = "x ".repeat(330);
        let index = index_of(vec![
            document("N.A", &text, &[]),
            document("N.A+B", &text, &[]),
            document("N.A+B+C", &text, &[]),
            document("N.A+B@Tests", &text, &[]),
            document("N.Ab", &text, &[]),
        ]);
        let size = |key: &str| index.size(index.find(key).expect("a type"));
        assert_eq!(
            ["N.A", "N.A+B", "N.A+B+C", "N.A+B@Tests", "N.Ab"].map(size),
            [600, 400, 200, 200, 200]
        );
    }

    #[test]
    fn coverage_counts_names_alone() {
        let index = index_of(vec![document("N.LogSink", "archive", &[]), document("N.Archive", "", &[])]);
        let at = |key: &str| index.find(key).expect("a type");
        assert_eq!(index.coverage(at("N.LogSink"), &query_words("log sink")), 1.0);
        let half = index.coverage(at("N.LogSink"), &query_words("sink archive"));
        assert!(half > 0.5 && half < 1.0, "the rarer word counts more: {half}");
        assert_eq!(index.coverage(at("N.Archive"), &query_words("elsewhere")), 0.0);
    }
}
