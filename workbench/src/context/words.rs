//! Words of texts and names, by which a query and the types that may answer it are compared.
//!
//! An identifier counts as a whole and by its humps: `HttpClient2Factory` is also `http`, `client`, `2` and `factory`. Letters are folded to lower
//! case, an English plural to its singular. Chinese, Japanese and Korean, which have no spaces, count by pairs of neighbouring characters. Words that
//! say nothing about a program are left out, and in code also the keywords of C#.

use std::borrow::Cow;

/// Limit of bytes of a word; longer ones are data.
const LONGEST: usize = 64;

/// Words that are left out: those of English prose and of requests.
const STOP: &[&str] = &[
    "about", "add", "added", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "before", "but", "by", "can",
    "change", "class", "could", "do", "does", "done", "else", "fix", "fixed", "for", "from", "get", "had", "has", "have", "how", "if",
    "improve", "in", "into", "is", "it", "its", "just", "like", "make", "may", "more", "most", "must", "need", "new", "no", "not", "now",
    "of", "on", "only", "or", "other", "our", "out", "please", "remove", "removed", "set", "should", "so", "some", "such", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "to", "update", "updated", "use", "used", "value", "was", "we",
    "were", "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "you", "your",
];

/// Keywords that nearly every C# file has. In code they are left out where they are alone; in a name of several words (`LevelOverrideMap`) and in a
/// query they carry meaning.
const KEYWORDS: &[&str] = &[
    "abstract", "async", "await", "base", "bool", "case", "catch", "const", "default", "int", "internal", "namespace", "null", "object",
    "override", "partial", "private", "protected", "public", "readonly", "return", "sealed", "static", "string", "struct", "throw", "try",
    "using", "var", "virtual", "void",
];

/// Length of the longest word of [`STOP`] and [`KEYWORDS`]: longer ones are not compared.
const LONGEST_LEFT_OUT: usize = 9;

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextContext {
    /// In code and its documentation.
    Code,
    Query,
}

/// A part of a text that has words.
pub enum TextPart<'t> {
    /// An identifier, a word of prose or a number: see [`for_each_word_of`].
    Identifier(&'t str),
    /// A word of a script without spaces.
    Word(&'t str),
}

/// Calls `each` for every word of code or documentation, in order.
pub fn for_each_word(text: &str, each: impl FnMut(&str)) {
    split(text, TextContext::Code, each);
}

/// Calls `each` for every word of an identifier in code or documentation.
pub fn for_each_word_of(identifier: &str, mut each: impl FnMut(&str)) {
    Humps::default().each_word(identifier, TextContext::Code, &mut each);
}

fn split(text: &str, place: TextContext, mut each: impl FnMut(&str)) {
    let mut humps = Humps::default();
    for_each_part(text, |part| match part {
        TextPart::Identifier(name) => humps.each_word(name, place, &mut each),
        TextPart::Word(word) => each(word),
    });
}

/// Calls `each` for every identifier and every word of a script without spaces, in order.
pub fn for_each_part(text: &str, mut each: impl FnMut(TextPart<'_>)) {
    let mut wide: Vec<char> = Vec::new();
    let mut start: Option<usize> = None;
    for (at, c) in text.char_indices() {
        let (is_wide, is_first) = (is_wide(c), start.is_none());
        let is_of_identifier = c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii() && c.is_alphanumeric();
        if is_wide || !is_of_identifier {
            start
                .take()
                .into_iter()
                .for_each(|start| each(TextPart::Identifier(&text[start..at])));
        }
        if is_wide {
            wide.push(c);
            continue;
        }
        if !wide.is_empty() {
            pairs(&mut wide, &mut each);
        }
        if is_of_identifier && is_first {
            start = Some(at);
        }
    }
    start.into_iter().for_each(|start| each(TextPart::Identifier(&text[start..])));
    pairs(&mut wide, &mut each);
}

/// Returns the words of a query, in order.
pub fn query_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    split(text, TextContext::Query, |word| found.push(word.to_owned()));
    found
}

/// Returns the words of a query once each, in the order of first occurrence.
pub fn distinct(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    split(text, TextContext::Query, |word| {
        if seen.insert(word.to_owned()) {
            found.push(word.to_owned());
        }
    });
    found
}

/// The humps of an identifier in lower case, one after the other.
#[derive(Default)]
struct Humps {
    letters: String,
    /// End of each hump in `letters`.
    ends: Vec<usize>,
}

impl Humps {
    /// Passes on the words of one identifier.
    fn each_word(&mut self, name: &str, place: TextContext, each: &mut impl FnMut(&str)) {
        self.read_name(name);
        let is_alone = self.ends.len() == 1;
        if self.ends.len() > 1 && self.letters.len() <= LONGEST {
            each(&self.letters);
        }
        let mut start = 0;
        for &end in &self.ends {
            let hump = &self.letters[std::mem::replace(&mut start, end)..end];
            // A single letter is a variable, a type parameter or the end of "it's".
            let is_letter = hump.len() <= 4 && hump.chars().nth(1).is_none() && !hump.starts_with(|c: char| c.is_ascii_digit());
            let says_nothing = |words: &[&str]| hump.len() <= LONGEST_LEFT_OUT && words.binary_search(&hump).is_ok();
            let is_left_out = is_letter || says_nothing(STOP) || place == TextContext::Code && is_alone && says_nothing(KEYWORDS);
            if !is_left_out && hump.len() <= LONGEST {
                each(&singular(hump));
            }
        }
    }

    /// Reads the humps of an identifier: they begin at capitals, after `_`, and between letters and digits; of several capitals before a small letter
    /// the last one begins a hump (`XMLReader`).
    fn read_name(&mut self, name: &str) {
        self.letters.clear();
        self.ends.clear();
        let mut before: Option<char> = None;
        let mut chars = name.chars().peekable();
        while let Some(c) = chars.next() {
            let begins = before.is_some_and(|before| {
                let small_follows = chars.peek().is_some_and(|next| next.is_lowercase());
                c.is_uppercase() && (!before.is_uppercase() || small_follows) || c.is_numeric() != before.is_numeric()
            });
            before = Some(c);
            if begins || c == '_' {
                self.end_hump();
            }
            match c {
                '_' => {}
                _ if c.is_ascii() => self.letters.push(c.to_ascii_lowercase()),
                _ => self.letters.extend(c.to_lowercase()),
            }
        }
        self.end_hump();
    }

    fn end_hump(&mut self) {
        if self.letters.len() > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(self.letters.len());
        }
    }
}

/// Returns an English word without its plural ending.
fn singular(word: &str) -> Cow<'_, str> {
    let ends = |ending: &str, least: usize| word.len() >= least && word.ends_with(ending);
    if ends("ies", 5) {
        return format!("{}y", &word[..word.len() - 3]).into();
    }
    if ["xes", "sses", "shes", "tches"].iter().any(|ending| ends(ending, 5)) {
        return word[..word.len() - 2].into();
    }
    if ends("s", 4) && !["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) {
        return word[..word.len() - 1].into();
    }
    word.into()
}

/// Passes on pairs of neighbours of a run of characters without spaces; a single one is passed on alone.
fn pairs(run: &mut Vec<char>, each: &mut impl FnMut(TextPart<'_>)) {
    if let [one] = run.as_slice() {
        each(TextPart::Word(one.encode_utf8(&mut [0; 4])));
    }
    for two in run.windows(2) {
        each(TextPart::Word(&two.iter().collect::<String>()));
    }
    run.clear();
}

/// Whether a character belongs to a script without spaces between words.
pub(super) fn is_wide(c: char) -> bool {
    c >= '\u{3040}'
        && matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn identifiers_count_as_a_whole_and_by_humps() {
        for (text, expected) in [
            ("NodeStore", "nodestore node store"),
            ("XMLReader2Factory", "xmlreader2factory xml reader 2 factory"),
            ("_saveFailed, MAX_SIZE", "savefailed save failed maxsize max size"),
            ("Utf8", "utf8 utf 8"),
            ("the stores of policies, a class of it's", "store policy"),
            ("status address analysis", "status address analysis"),
            ("Boxes indexes matches caches", "box index match cache"),
            ("Größe ÄnderungsListe", "größe änderungsliste änderung liste"),
            ("缓存淘汰策略 LRU 键", "缓存 存淘 淘汰 汰策 策略 lru 键"),
            ("读NodeStore写", "读 nodestore node store 写"),
            ("🎉 --- ", ""),
        ] {
            assert_eq!(query_words(text).join(" "), expected, "{text}");
        }
        assert_eq!(distinct("store Store stores"), ["store"]);
        assert_eq!(query_words(&"a1".repeat(200)).iter().filter(|word| word.len() > LONGEST).count(), 0);
    }

    #[test]
    fn stop_words_can_be_searched() {
        assert!(STOP.is_sorted() && KEYWORDS.is_sorted(), "binary search wants order");
        assert!(STOP.len() > 50 && KEYWORDS.len() > 20);
        let lengths = STOP.iter().chain(KEYWORDS).map(|word| word.len());
        assert_eq!(lengths.max(), Some(LONGEST_LEFT_OUT));
    }

    #[test]
    fn keywords_are_words_of_names_and_of_queries() {
        let mut of_code = Vec::new();
        for_each_word("public override string LevelOverrideMap() => default;", |word| {
            of_code.push(word.to_owned())
        });
        assert_eq!(of_code.join(" "), "leveloverridemap level override map");
        assert_eq!(query_words("the override of a default").join(" "), "override default");
    }

    proptest! {
        #[test]
        fn any_text_has_words(text in any::<String>()) {
            for word in query_words(&text) {
                prop_assert!(!word.is_empty() && word.len() <= LONGEST + 2, "{word}");
            }
        }

        #[test]
        fn words_do_not_depend_on_what_stands_around_them(left in "[A-Za-z0-9_]{1,12}", right in "[a-z0-9\u{4e00}-\u{4e10}]{1,6}") {
            let mut both = query_words(&left);
            both.extend(query_words(&right));
            prop_assert_eq!(query_words(&format!("{left} {right}")), both);
        }
    }
}
