//! Words of texts and names: what a query and the types that may answer it are compared by.
//!
//! An identifier counts as a whole and by its humps: `HttpClient2Factory` is also `http`, `client`, `2` and `factory`. Letters are folded to lower
//! case, an English plural to its singular. Chinese, Japanese and Korean, which set no spaces, count by pairs of neighbouring characters. Words
//! that say nothing about a program, and the keywords of C#, are left out.

/// Longest word; what is longer is data.
const LONGEST: usize = 64;

/// Words that are left out: those of English prose and of requests, and keywords that nearly every C# file has.
const STOP: &[&str] = &[
    "about",
    "abstract",
    "add",
    "added",
    "after",
    "all",
    "also",
    "an",
    "and",
    "any",
    "are",
    "as",
    "async",
    "at",
    "await",
    "base",
    "be",
    "been",
    "before",
    "bool",
    "but",
    "by",
    "can",
    "case",
    "catch",
    "change",
    "class",
    "const",
    "could",
    "default",
    "do",
    "does",
    "done",
    "else",
    "fix",
    "fixed",
    "for",
    "from",
    "get",
    "had",
    "has",
    "have",
    "how",
    "if",
    "improve",
    "in",
    "int",
    "internal",
    "into",
    "is",
    "it",
    "its",
    "just",
    "like",
    "make",
    "may",
    "more",
    "most",
    "must",
    "namespace",
    "need",
    "new",
    "no",
    "not",
    "now",
    "null",
    "object",
    "of",
    "on",
    "only",
    "or",
    "other",
    "our",
    "out",
    "override",
    "partial",
    "please",
    "private",
    "protected",
    "public",
    "readonly",
    "remove",
    "removed",
    "return",
    "sealed",
    "set",
    "should",
    "so",
    "some",
    "static",
    "string",
    "struct",
    "such",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "throw",
    "to",
    "try",
    "update",
    "updated",
    "use",
    "used",
    "using",
    "value",
    "var",
    "virtual",
    "void",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "why",
    "will",
    "with",
    "would",
    "you",
    "your",
];

/// Calls `each` for every word of a text, in its order.
pub fn words(text: &str, mut each: impl FnMut(&str)) {
    let mut run = String::new();
    let mut wide: Vec<char> = Vec::new();
    for c in text.chars().chain([' ']) {
        if is_wide(c) {
            identifier(&std::mem::take(&mut run), &mut each);
            wide.push(c);
            continue;
        }
        pairs(&mut wide, &mut each);
        if c.is_alphanumeric() || c == '_' {
            run.push(c);
        } else if !run.is_empty() {
            identifier(&run, &mut each);
            run.clear();
        }
    }
}

/// The words of a text, in its order.
pub fn list(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    words(text, |word| found.push(word.to_owned()));
    found
}

/// The words of a text once each, in the order of their first places.
pub fn distinct(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    words(text, |word| {
        if seen.insert(word.to_owned()) {
            found.push(word.to_owned());
        }
    });
    found
}

/// The words of one identifier.
fn identifier(name: &str, each: &mut impl FnMut(&str)) {
    let mut humps = humps(name);
    if humps.len() > 1 {
        let whole: String = humps.concat();
        if whole.len() <= LONGEST {
            each(&whole);
        }
    }
    humps.retain(|hump| hump.len() <= LONGEST);
    for hump in humps {
        // One letter is a variable, a type parameter or the end of "it's".
        let is_letter = hump.chars().count() == 1 && !hump.starts_with(|c: char| c.is_ascii_digit());
        if is_letter || STOP.binary_search(&hump.as_str()).is_ok() {
            continue;
        }
        each(singular(&hump).as_str());
    }
}

/// The humps of an identifier in lower case: they begin at capitals, behind `_`, and between letters and digits; of several capitals before a small
/// letter the last one begins one (`XMLReader`).
fn humps(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut humps: Vec<String> = Vec::new();
    let mut hump = String::new();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let begins = before.is_some_and(|before| {
            let small_follows = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
            c.is_uppercase() && (!before.is_uppercase() || small_follows) || c.is_numeric() != before.is_numeric()
        });
        if (begins || c == '_') && !hump.is_empty() {
            humps.push(std::mem::take(&mut hump));
        }
        if c != '_' {
            hump.extend(c.to_lowercase());
        }
    }
    if !hump.is_empty() {
        humps.push(hump);
    }
    humps
}

/// An English word without the ending of its plural.
fn singular(word: &str) -> String {
    let ends = |ending: &str, least: usize| word.len() >= least && word.ends_with(ending);
    if ends("ies", 5) {
        return format!("{}y", &word[..word.len() - 3]);
    }
    if ["xes", "sses", "shes", "tches"].iter().any(|ending| ends(ending, 5)) {
        return word[..word.len() - 2].to_owned();
    }
    if ends("s", 4) && !["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) {
        return word[..word.len() - 1].to_owned();
    }
    word.to_owned()
}

/// Neighbours of a run of characters without spaces; a single one stands for itself.
fn pairs(run: &mut Vec<char>, each: &mut impl FnMut(&str)) {
    if let [one] = run.as_slice() {
        each(one.encode_utf8(&mut [0; 4]));
    }
    for two in run.windows(2) {
        each(&two.iter().collect::<String>());
    }
    run.clear();
}

/// Whether a character belongs to a script that sets no spaces between words.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
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
            assert_eq!(list(text).join(" "), expected, "{text}");
        }
        assert_eq!(distinct("store Store stores"), ["store"]);
        assert_eq!(list(&"a1".repeat(200)).iter().filter(|word| word.len() > LONGEST).count(), 0);
    }

    #[test]
    fn stop_words_can_be_searched() {
        assert!(STOP.is_sorted(), "binary search wants order");
        assert!(STOP.len() > 50);
    }

    proptest! {
        #[test]
        fn any_text_has_words(text in any::<String>()) {
            for word in list(&text) {
                prop_assert!(!word.is_empty() && word.len() <= LONGEST + 2, "{word}");
            }
        }

        #[test]
        fn words_do_not_depend_on_what_stands_around_them(left in "[A-Za-z0-9_]{1,12}", right in "[a-z0-9\u{4e00}-\u{4e10}]{1,6}") {
            let mut both = list(&left);
            both.extend(list(&right));
            prop_assert_eq!(list(&format!("{left} {right}")), both);
        }
    }
}
