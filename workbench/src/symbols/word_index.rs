//! Index of words over the outputs of one target of all types or files. It finds the types whose uses may include those of a symbol, without opening
//! the outputs of all others.
//!
//! An index is built once and queried any number of times. After a change, the rows of unchanged outputs are reused.

use super::outputs::{Output, SymbolError};
use engine::values::digest::Digest;
use engine::values::label::unescape;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The target whose outputs an index contains, and their words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordSource {
    /// `//types/T:mentions`: names that the code of a type uses, and `ns:N` of namespaces that it opens.
    Mentions,
    /// `//types/T:deps`: keys of the types that a type uses, and its own.
    Dependencies,
    /// `//types/T:reach`: keys of declarations that conversions in a type's code are searched in.
    Reach,
    /// `//files/F:variants`: words of code that belongs to no type as it is compiled.
    Variants,
}

/// A word, without a copy if the text has no escapes.
#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

impl WordSource {
    pub fn pattern(self) -> String {
        match self {
            Self::Variants => format!("//files/...:{}", self.target()),
            _ => format!("//types/...:{}", self.target()),
        }
    }

    pub fn target(self) -> &'static str {
        match self {
            Self::Mentions => "mentions",
            Self::Dependencies => "deps",
            Self::Reach => "reach",
            Self::Variants => "variants",
        }
    }

    /// Returns the words of an output. The words of a type whose output has another form are unknown: none.
    fn words_in_output(self, bytes: &[u8]) -> Result<Vec<Cow<'_, str>>, serde_json::Error> {
        #[derive(Deserialize)]
        struct Keys<'a> {
            #[serde(borrow)]
            keys: Vec<Word<'a>>,
        }
        #[derive(Deserialize)]
        struct Dependencies<'a> {
            #[serde(borrow)]
            evidence: BTreeMap<Word<'a>, serde::de::IgnoredAny>,
            #[serde(borrow, rename = "type")]
            own: Cow<'a, str>,
        }
        #[derive(Deserialize)]
        struct Variants<'a> {
            #[serde(borrow, default)]
            outside: Vec<Word<'a>>,
            #[serde(borrow)]
            words: Vec<Word<'a>>,
        }
        Ok(match self {
            Self::Mentions | Self::Reach => {
                let read = serde_json::from_slice::<Keys<'_>>(bytes);
                read.map_or_else(|_| Vec::new(), |read| read.keys.into_iter().map(|word| word.0).collect())
            }
            Self::Dependencies => match serde_json::from_slice::<Dependencies<'_>>(bytes) {
                Ok(read) => read.evidence.into_keys().map(|word| word.0).chain([read.own]).collect(),
                Err(_) => Vec::new(),
            },
            Self::Variants => {
                let read: Variants<'_> = serde_json::from_slice(bytes)?;
                read.words.into_iter().chain(read.outside).map(|word| word.0).collect()
            }
        })
    }
}

impl Ord for Word<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Word<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The words of one type or file.
#[derive(Clone, Debug)]
struct WordRow {
    label: Arc<str>,
    /// Digest of the output; `None` if the target could not be built.
    output: Option<Digest>,
    /// Numbers of its words, sorted.
    words: Arc<[u32]>,
}

/// The words of all types or files.
#[derive(Debug)]
pub struct WordIndex {
    source: WordSource,
    /// Sorted by label.
    rows: Vec<WordRow>,
    numbers: Arc<FxHashMap<Box<str>, u32>>,
    /// Start of each word's holders in `holders`, and the end of the last one's.
    starts: Vec<u32>,
    /// Rows that have a word, in their order, word after word.
    holders: Vec<u32>,
}

impl WordIndex {
    /// Builds the index of the outputs of a source.
    pub fn from_outputs(source: WordSource, outputs: Vec<Output>) -> Result<Self, SymbolError> {
        let listed = outputs.iter().map(|output| {
            let digest = output.bytes.as_deref().map(Digest::of);
            (Arc::from(output.label.as_str()), digest)
        });
        let listed = listed.collect();
        Self::update(source, listed, None, |_| Ok(outputs))
    }

    /// Builds the index of the listed labels and digests of their outputs. Takes over the rows of `before` with the same digest; `read` returns the
    /// other outputs, in the order of the labels. Fails when an output cannot be read, or one with required words is damaged.
    pub fn update<E: From<SymbolError>>(
        source: WordSource,
        listed: Vec<(Arc<str>, Option<Digest>)>,
        before: Option<&Self>,
        read: impl FnOnce(&[String]) -> Result<Vec<Output>, E>,
    ) -> Result<Self, E> {
        let mut rows: Vec<WordRow> = Vec::with_capacity(listed.len());
        let mut unread: Vec<usize> = Vec::new();
        for (label, output) in listed {
            let known = before
                .and_then(|before| before.row_of_label(&label))
                .filter(|known| known.output == output);
            match known {
                Some(known) => rows.push(known.clone()),
                None => {
                    unread.extend(output.is_some().then_some(rows.len()));
                    let words = Arc::from([]);
                    rows.push(WordRow { label, output, words });
                }
            }
        }
        let mut numbers = before.map(|before| before.numbers.clone()).unwrap_or_default();
        if !unread.is_empty() {
            let labels: Vec<String> = unread.iter().map(|at| rows[*at].label.to_string()).collect();
            let by_label: FxHashMap<String, Option<Arc<[u8]>>> =
                read(&labels)?.into_iter().map(|output| (output.label, output.bytes)).collect();
            let numbers = Arc::make_mut(&mut numbers);
            for (at, label) in unread.into_iter().zip(&labels) {
                let Some(Some(bytes)) = by_label.get(label) else {
                    rows[at].output = None;
                    continue;
                };
                let words = source.words_in_output(bytes).map_err(|_| SymbolError::damaged().at_label(label))?;
                let mut of_row: Vec<u32> = words.iter().map(|word| number(numbers, word)).collect();
                of_row.sort_unstable();
                of_row.dedup();
                rows[at].words = of_row.into();
            }
        }
        rows.sort_by(|one, other| one.label.cmp(&other.label));
        Ok(Self::over(source, rows, numbers))
    }

    /// Turns rows into lists of holders by word.
    fn over(source: WordSource, rows: Vec<WordRow>, numbers: Arc<FxHashMap<Box<str>, u32>>) -> Self {
        let mut starts = vec![0_u32; numbers.len() + 1];
        for word in rows.iter().flat_map(|row| row.words.iter()) {
            starts[*word as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut holders = vec![0_u32; starts.last().map_or(0, |end| *end as usize)];
        for (at, row) in (0_u32..).zip(&rows) {
            for word in &*row.words {
                let place = &mut next[*word as usize];
                holders[*place as usize] = at;
                *place += 1;
            }
        }
        Self {
            source,
            rows,
            numbers,
            starts,
            holders,
        }
    }

    fn row_of_label(&self, label: &str) -> Option<&WordRow> {
        let at = self.rows.binary_search_by(|row| (*row.label).cmp(label)).ok()?;
        self.rows.get(at)
    }

    fn rows_with_word(&self, word: &str) -> &[u32] {
        let Some(number) = self.numbers.get(word) else { return &[] };
        let number = *number as usize;
        &self.holders[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    /// Returns the holders of a word, each with whether it has a second word, too.
    pub fn holders<'s>(&'s self, word: &str, other: &str) -> impl Iterator<Item = (Holder<'s>, bool)> {
        let other = self.numbers.get(other).copied();
        self.rows_with_word(word).iter().map(move |at| {
            let row = &self.rows[*at as usize];
            let has_other = other.is_some_and(|other| row.words.binary_search(&other).is_ok());
            (Holder { row, source: self.source }, has_other)
        })
    }

    /// Returns the labels of the targets that could not be built.
    pub fn unread(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter(|row| row.output.is_none()).map(|row| &*row.label)
    }
}

/// A type or file that has a word.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'s> {
    row: &'s WordRow,
    source: WordSource,
}

impl<'s> Holder<'s> {
    /// Returns the label of another target of the type or file.
    pub fn label(&self, target: &str) -> String {
        let package = self.row.label.strip_suffix(self.source.target()).unwrap_or(&self.row.label);
        format!("{package}{target}")
    }

    /// Returns the key of the type, or the path of the file.
    pub fn name(&self) -> String {
        let rest = self
            .row
            .label
            .strip_prefix("//types/")
            .or_else(|| self.row.label.strip_prefix("//files/"));
        let name = rest.and_then(|rest| rest.strip_suffix(self.source.target())?.strip_suffix(':'));
        unescape(name.unwrap_or_default())
    }
}

/// Returns the number of a word; a new word gets the next one.
fn number(numbers: &mut FxHashMap<Box<str>, u32>, word: &str) -> u32 {
    if let Some(known) = numbers.get(word) {
        return *known;
    }
    let next = u32::try_from(numbers.len()).expect("invariant: a workspace has fewer words than that");
    numbers.insert(word.into(), next);
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentions(label: &str, words: &str) -> Output {
        let keys: Vec<&str> = words.split(' ').collect();
        Output {
            label: format!("//types/{label}:mentions"),
            bytes: Some(serde_json::json!({ "keys": keys }).to_string().into_bytes().into()),
        }
    }

    fn listed(outputs: &[Output]) -> Vec<(Arc<str>, Option<Digest>)> {
        let listed = |output: &Output| (output.label.as_str().into(), output.bytes.as_deref().map(Digest::of));
        outputs.iter().map(listed).collect()
    }

    fn holders(index: &WordIndex, word: &str, other: &str) -> Vec<(String, bool)> {
        index.holders(word, other).map(|(holder, has)| (holder.name(), has)).collect()
    }

    #[test]
    fn holders_of_words_follow_changes() {
        let first = [mentions("N.B", "Get Set"), mentions("N.A", "Get Größe"), mentions("N.C", "Set")];
        let index = WordIndex::from_outputs(WordSource::Mentions, first.to_vec()).expect("sound outputs");
        assert_eq!(holders(&index, "Get", "Set"), [("N.A".to_owned(), false), ("N.B".to_owned(), true)]);
        assert_eq!(holders(&index, "Nothing", "Get"), []);
        let changed = [mentions("N.A", "Set"), mentions("N.B", "Get Set"), mentions("N.D", "New")];
        let read = |labels: &[String]| {
            assert_eq!(labels, ["//types/N.A:mentions", "//types/N.D:mentions"]);
            Ok::<_, SymbolError>(vec![
                changed[0].clone(),
                Output {
                    bytes: None,
                    ..changed[2].clone()
                },
            ])
        };
        let index = WordIndex::update(WordSource::Mentions, listed(&changed), Some(&index), read).expect("sound outputs");
        assert_eq!(holders(&index, "Get", "Set"), [("N.B".to_owned(), true)]);
        assert_eq!(holders(&index, "Set", "Get"), [("N.A".to_owned(), false), ("N.B".to_owned(), true)]);
        assert_eq!(holders(&index, "Größe", "Get"), []);
        assert_eq!(index.unread().collect::<Vec<_>>(), ["//types/N.D:mentions"]);
        // An output that could not be read is read again.
        let read = |labels: &[String]| {
            assert_eq!(labels, ["//types/N.D:mentions"]);
            Ok::<_, SymbolError>(vec![changed[2].clone()])
        };
        let index = WordIndex::update(WordSource::Mentions, listed(&changed), Some(&index), read).expect("sound outputs");
        assert_eq!(holders(&index, "New", "New"), [("N.D".to_owned(), true)]);
        let (holder, _) = index.holders("New", "").next().expect("a holder");
        assert_eq!(holder.label("usages"), "//types/N.D:usages");
    }

    #[test]
    fn words_of_each_source() {
        let words = |source: WordSource, text: &str| -> Vec<String> {
            let words = source.words_in_output(text.as_bytes()).expect("sound");
            words.into_iter().map(Cow::into_owned).collect()
        };
        let deps = r#"{"evidence":{"A":{},"B\u0041":{}},"type":"N.C"}"#;
        assert_eq!(words(WordSource::Dependencies, deps), ["A", "BA", "N.C"]);
        let variants = r#"{"declared":[],"outside":["X"],"words":["Y"]}"#;
        assert_eq!(words(WordSource::Variants, variants), ["Y", "X"]);
        assert_eq!(words(WordSource::Mentions, "{"), Vec::<String>::new());
        assert!(WordSource::Variants.words_in_output(b"{").is_err());
        assert_eq!(WordSource::Variants.pattern(), "//files/...:variants");
    }
}
