//! The searchable data of a type: the weighted words of its names, declarations, code and documentation, and the types that it uses. It is built from
//! `:structure`, `:impl`, `:xmldoc` and `:deps`, so it lacks comments inside bodies.

use super::vocabulary::Numbered;
use super::words::{TextPart, for_each_part, for_each_word_of};
use crate::other_languages::files::outline_text;
use crate::symbols::index::{namespace, simple_name};
use engine::values::digest::Digest;
use producers::csharp::deps::Dependencies;
use producers::languages::model::FileSymbols;
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::Arc;

/// Weight of a word in the name of a type.
const IN_NAME: u32 = 6;
/// Weight of a word in the name of a member.
const IN_MEMBER: u32 = 3;
/// Weight of a word in the path of a file, a namespace, a declaration, a body, documentation.
const ELSEWHERE: u32 = 1;
/// Average bytes of declarations, bodies and documentation per token of the source: they have no indentation and no comments.
const BYTES: f64 = 3.3;

/// A type, as the index finds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub key: String,
    pub files: Vec<String>,
    /// Names that refer to the type: its own; for a file of another language those of its first definitions.
    pub names: Vec<String>,
    /// The language of a file that is shown as a whole; `None` for a C# type.
    pub language: Option<String>,
    /// Whether all of it is generated code.
    pub is_generated: bool,
    /// Digest of all inputs of the document.
    pub digest: Digest,
    /// Numbers of the type's words in a vocabulary, sorted, each with its weight and whether it names the type or a member.
    pub words: Vec<(u32, u32, bool)>,
    /// Sum of the weights of the words.
    pub length: u32,
    /// Estimated tokens of the type's source, without nested types.
    pub size: usize,
    /// The types that this type uses, by key; the flag says whether by declarations.
    pub uses: Vec<(String, bool)>,
    /// The outline of a file of another language; that of a type is an output of its own.
    pub outline: Option<Arc<[u8]>>,
}

/// The outputs that a document is built from; `None` for a failed one.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    pub structure: Option<Arc<[u8]>>,
    /// `:impl`.
    pub code: Option<Arc<[u8]>>,
    /// `:xmldoc`.
    pub docs: Option<Arc<[u8]>>,
    pub deps: Option<Arc<[u8]>>,
}

/// Returns the digest of the outputs that a document is built from, and of the type's files.
pub fn inputs_digest(parts: &[Option<Digest>], files: &[String]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&part.map_or([0; 32], |digest| digest.0));
    }
    for file in files {
        hasher.update(&(file.len() as u64).to_le_bytes());
        hasher.update(file.as_bytes());
    }
    Digest(hasher.finalize().into())
}

/// The searched fields of a line of a structure or an implementation.
#[derive(Deserialize)]
struct SearchedLine<'l> {
    #[serde(borrow, default)]
    name: Cow<'l, str>,
    #[serde(borrow, default)]
    signature: Cow<'l, str>,
    #[serde(borrow, default)]
    body: Body<'l>,
}

/// Code: one text, or several in the line of the type itself.
#[derive(Deserialize)]
#[serde(untagged)]
enum Body<'l> {
    One(#[serde(borrow)] Cow<'l, str>),
    Several(Vec<String>),
}

impl Default for Body<'_> {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

/// Sums of weights by number, each with whether it names the type or a member.
#[derive(Default)]
struct Weights {
    by_number: Vec<(u32, bool)>,
    /// The numbers with a weight.
    touched: Vec<u32>,
}

impl Weights {
    fn add_weight(&mut self, number: u32, (counts, named): (u32, bool)) {
        let at = number as usize;
        if at >= self.by_number.len() {
            self.by_number.resize(at + 1, (0, false));
        }
        let known = &mut self.by_number[at];
        if known.0 == 0 {
            self.touched.push(number);
        }
        *known = (known.0 + counts, known.1 | named);
    }

    /// Removes all weights and returns them by number.
    fn take_weights(&mut self) -> Vec<(u32, u32, bool)> {
        self.touched.sort_unstable();
        let weight = |number: u32| {
            let (counts, named) = std::mem::take(&mut self.by_number[number as usize]);
            (number, counts, named)
        };
        self.touched.drain(..).map(weight).collect()
    }
}

/// Identifiers and words of one document after the other. Code names few things many times: an identifier is taken apart once.
#[derive(Default)]
pub struct Tally {
    identifiers: Numbered,
    /// By identifier the numbers of its words.
    words_of: Vec<Box<[u32]>>,
    words: Numbered,
    weights_of_identifiers: Weights,
    weights: Weights,
}

impl Tally {
    fn count_words(&mut self, text: &str, counts: u32) {
        let weight = (counts, counts > ELSEWHERE);
        for_each_part(text, |part| match part {
            TextPart::Identifier(name) => {
                let (number, is_new) = self.identifiers.number(name);
                if is_new {
                    let mut words = Vec::new();
                    for_each_word_of(name, |word| words.push(self.words.number(word).0));
                    self.words_of.push(words.into());
                }
                self.weights_of_identifiers.add_weight(number, weight);
            }
            TextPart::Word(word) => self.weights.add_weight(self.words.number(word).0, weight),
        });
    }

    /// Removes the words of a document and returns them by number.
    fn take_words(&mut self) -> Vec<(u32, u32, bool)> {
        for (identifier, counts, named) in self.weights_of_identifiers.take_weights() {
            for word in &*self.words_of[identifier as usize] {
                self.weights.add_weight(*word, (counts, named));
            }
        }
        self.weights.take_weights()
    }

    pub fn into_words(self) -> Numbered {
        self.words
    }

    /// Adds the words of lines, and returns the bytes of their code.
    fn lines(&mut self, bytes: &[u8]) -> usize {
        // A malformed line has no words; showing the type reports it.
        let lines = bytes
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<SearchedLine<'_>>(line).ok());
        let mut length = 0;
        for line in lines {
            self.count_words(&line.name, IN_MEMBER);
            let body: Vec<&str> = match &line.body {
                Body::One(text) => vec![text],
                Body::Several(texts) => texts.iter().map(String::as_str).collect(),
            };
            for text in body.into_iter().chain([&*line.signature]) {
                self.count_words(text, ELSEWHERE);
                length += text.len();
            }
        }
        length
    }
}

impl Document {
    /// Creates the document of a type in these files. `digest` is that of its inputs. Its words have the numbers of the tally.
    pub fn new(tally: &mut Tally, key: &str, files: &[String], parts: &Parts, digest: Digest) -> Self {
        tally.count_words(simple_name(key), IN_NAME);
        tally.count_words(namespace(key), ELSEWHERE);
        // For a nested type also the enclosing type.
        if let Some((around, _)) = key.rsplit_once('+') {
            tally.count_words(simple_name(around), IN_MEMBER);
        }
        files
            .iter()
            .for_each(|file| tally.count_words(file.trim_end_matches(".cs"), ELSEWHERE));
        let mut bytes = tally.lines(parts.structure.as_deref().unwrap_or_default());
        bytes += tally.lines(parts.code.as_deref().unwrap_or_default());
        let docs = docs(parts.docs.as_deref().unwrap_or_default());
        for xml in &docs {
            tally.count_words(&prose(xml), ELSEWHERE);
            bytes += xml.len();
        }
        let words = tally.take_words();
        Self {
            key: key.to_owned(),
            files: files.to_vec(),
            names: vec![simple_name(key).to_owned()],
            language: None,
            is_generated: false,
            digest,
            length: words.iter().map(|(_, counts, _)| counts).sum(),
            words,
            size: (bytes as f64 / BYTES).ceil() as usize,
            uses: read_uses(key, parts.deps.as_deref().unwrap_or_default()),
            outline: None,
        }
    }

    /// Creates the document of a file of another language from its definitions, as in its outline, and its text. Its words have the numbers of the
    /// tally.
    pub fn of_other(tally: &mut Tally, file: &str, symbols: &FileSymbols, text: &str, digest: Digest) -> Self {
        let name = file.rsplit('/').next().unwrap_or(file);
        tally.count_words(name.rsplit_once('.').map_or(name, |(stem, _)| stem), IN_NAME);
        tally.count_words(file, ELSEWHERE);
        symbols.definitions.iter().for_each(|one| tally.count_words(&one.name, IN_MEMBER));
        tally.count_words(text, ELSEWHERE);
        let words = tally.take_words();
        let first = symbols.definitions.iter().filter(|one| one.path == one.name);
        Self {
            key: file.to_owned(),
            files: vec![file.to_owned()],
            names: first.map(|one| one.name.clone()).collect(),
            language: Some(symbols.language.clone()),
            is_generated: false,
            digest,
            length: words.iter().map(|(_, counts, _)| counts).sum(),
            words,
            size: (text.len() as f64 / BYTES).ceil() as usize,
            uses: Vec::new(),
            outline: Some(outline_text(file, symbols, None).into_bytes().into()),
        }
    }

    /// Replaces the numbers of the document's words by `numbers`, which is indexed by the old ones.
    pub fn renumber(&mut self, numbers: &[u32]) {
        self.words.iter_mut().for_each(|word| word.0 = numbers[word.0 as usize]);
        self.words.sort_unstable();
    }

    /// Returns the weight of a word, and whether it names the type or a member.
    pub fn weight(&self, word: u32) -> Option<(u32, bool)> {
        let at = self.words.binary_search_by_key(&word, |(number, ..)| *number).ok()?;
        Some((self.words[at].1, self.words[at].2))
    }
}

/// Returns the documentation of the type and of its members.
fn docs(bytes: &[u8]) -> Vec<String> {
    let docs = serde_json::from_slice::<producers::csharp::xmldoc::Docs>(bytes);
    docs.map_or_else(
        |_| Vec::new(),
        |docs| std::iter::once(docs.own).chain(docs.members.into_values()).collect(),
    )
}

/// Returns the words of documentation, without its tags. Names that it refers to are attributes of tags.
fn prose(xml: &str) -> String {
    let (mut prose, mut rest) = (String::new(), xml);
    while let Some((text, behind)) = rest.split_once('<') {
        prose.push_str(text);
        prose.push(' ');
        let (tag, behind) = behind.split_once('>').unwrap_or((behind, ""));
        if let Some((_, name)) = tag.split_once("cref=\"") {
            prose.push_str(name.split('"').next().unwrap_or_default());
            prose.push(' ');
        }
        rest = behind;
    }
    prose.push_str(rest);
    prose
}

/// Returns the uses in `:deps`, without the type itself.
fn read_uses(key: &str, bytes: &[u8]) -> Vec<(String, bool)> {
    let Ok(deps) = serde_json::from_slice::<Dependencies>(bytes) else {
        return Vec::new();
    };
    let structure = deps.structure.into_iter().map(|to| (to, true));
    let body = deps.body.into_iter().map(|to| (to, false));
    let mut uses: Vec<(String, bool)> = structure.chain(body).filter(|(to, _)| to != key).collect();
    // A use by declarations is sorted first and kept.
    uses.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(&one.1)));
    uses.dedup_by(|one, other| one.0 == other.0);
    uses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Option<Arc<[u8]>> {
        Some(text.as_bytes().into())
    }

    #[test]
    fn names_count_more_than_code_and_prose() {
        let parts = Parts {
            structure: bytes(
                "{\"symbol\":\"A.Box\",\"signature\":\"public class Box\"}\n{\"name\":\"Fill\",\"signature\":\"void Fill(Lid lid)\"}",
            ),
            code: bytes("{\"modifiers\":[],\"body\":[\"lid: 5\"]}\n{\"name\":\"Fill\",\"body\":\"{ Say(\\\"overflow\\\"); }\"}"),
            docs: bytes("{\"members\":{\"Fill\":\"<summary>Pours <see cref=\\\"Water\\\"/> in.</summary>\"},\"type\":\"\"}"),
            ..Parts::default()
        };
        let mut tally = Tally::default();
        // Nothing of one document is counted in the next.
        let other = Document::new(&mut tally, "A.Lid", &[], &parts, Digest::of(b""));
        let document = Document::new(&mut tally, "A.Box", &["src/Boxes/Box.cs".to_owned()], &parts, Digest::of(b""));
        assert!(other.length > 0);
        let mut words = tally.into_words();
        let mut counts = |document: &Document, word: &str| document.weight(words.number(word).0);
        assert_eq!(
            counts(&document, "box"),
            Some((IN_NAME + 3, true)),
            "its name, its declaration, its folder and its file"
        );
        assert_eq!(counts(&document, "fill"), Some((2 * IN_MEMBER + 1, true)));
        assert_eq!(counts(&document, "lid"), Some((3, false)));
        assert_eq!(counts(&document, "overflow"), Some((1, false)));
        assert_eq!(counts(&document, "water"), Some((1, false)));
        assert_eq!(counts(&document, "summary"), None);
        // Declarations, bodies and documentation.
        assert_eq!(document.size, 33);
        assert_eq!(document.length, document.words.iter().map(|(_, counts, _)| counts).sum::<u32>());
    }

    #[test]
    fn an_unreadable_document_has_no_words() {
        let parts = Parts {
            structure: bytes("not JSON {"),
            code: bytes("\u{0}"),
            docs: bytes("[1"),
            deps: bytes("{}"),
        };
        let document = Document::new(&mut Tally::default(), "A.Lid", &[], &parts, Digest::of(b""));
        assert_eq!((document.words.len(), document.uses.len()), (1, 0), "{document:?}");
    }

    #[test]
    fn edges_by_declarations_count_as_such() {
        let deps = Dependencies {
            structure: vec!["B".to_owned(), "A".to_owned()],
            body: vec!["A".to_owned(), "C".to_owned(), "Own".to_owned()],
            own: "Own".to_owned(),
            ..Dependencies::default()
        };
        let bytes = serde_json::to_vec(&deps).expect("JSON");
        let expected = [("A", true), ("B", true), ("C", false)].map(|(key, structure)| (key.to_owned(), structure));
        assert_eq!(read_uses("Own", &bytes), expected);
    }
}
