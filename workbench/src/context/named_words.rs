//! Finds the words in a text that may name a file, a type or a member: cuts them out of prose, code, tables, links, stack traces and compiler
//! messages. Other modules resolve them.

use super::words::is_wide;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::ops::Range;

/// A word that may be a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'t> {
    pub text: &'t str,
    /// Whether the word is in backquotes.
    pub quoted: bool,
    /// Whether the word begins with the name of an existing file.
    pub is_file: bool,
}

/// Limit of bytes of a name.
const LONGEST: usize = 1024;
/// Limit of bytes of brackets that belong to a name: parameters, type arguments, a line and a column.
const IN_BRACKETS: usize = 200;
/// Bytes of the encoding of one byte in a link.
const ESCAPE: usize = 3;

/// Returns the words of a text, in order; `names` are the ranges of file names, which are one word whatever they contain.
pub fn split_words<'t>(text: &'t str, names: &[Range<usize>]) -> Vec<Word<'t>> {
    let mut found: Vec<(Range<usize>, bool, Option<usize>)> = Vec::new();
    for (base, stretch, quoted) in split_by_script(text, names) {
        let mut start = None;
        let mut behind = 0;
        // The end of the file name that begins the word.
        let mut name = None;
        for (at, c) in stretch.char_indices() {
            if at < behind {
                continue;
            }
            if let Ok(file) = names.binary_search_by_key(&(base + at), |file| file.start) {
                let file = &names[file];
                found.extend(start.map(|from| (base + from..base + at, quoted, name)));
                (start, name, behind) = (Some(at), Some(file.end), file.end - base);
                continue;
            }
            match start {
                Some(from) if separates(c) && !continues_after(&stretch[from..at], &stretch[at..]) => {
                    found.push((base + from..base + at, quoted, name));
                    (start, name) = (None, None);
                }
                Some(from) if may_open(&stretch[from..at], c) => {
                    behind = at + brackets(&stretch[at..]).unwrap_or_default();
                }
                None if !separates(c) => start = Some(at),
                _ => {}
            }
        }
        found.extend(start.map(|from| (base + from..base + stretch.len(), quoted, name)));
    }
    let words = found.into_iter().filter(|(word, ..)| word.len() <= LONGEST);
    let words = words.map(|(word, quoted, name)| Word {
        text: match name {
            Some(end) => with_lines(&text[word.clone()], end - word.start),
            None => trim_punctuation(&text[word]),
        },
        quoted,
        is_file: name.is_some(),
    });
    words.filter(|word| !word.text.is_empty()).collect()
}

/// Returns a file name of `name` bytes with the line numbers after it, without the punctuation of a sentence.
fn with_lines(word: &str, name: usize) -> &str {
    let ends = (name..=word.len()).rev().filter(|end| word.is_char_boundary(*end));
    let mut fits = ends.map(|end| &word[..end]).filter(|word| split_lines_suffix(word).0.len() == name);
    fits.next().unwrap_or(&word[..name])
}

/// Returns the names inside of a word that is not a name: `NodeStore` in `Task<NodeStore>`, and in Chinese text around it without spaces.
pub fn inside(word: Word<'_>) -> impl Iterator<Item = Word<'_>> {
    let divides = |c: char| matches!(c, '(' | ')' | '<' | '>' | ',' | ' ' | '&' | '?') || is_wide(c);
    let has = word.text.contains(divides);
    let parts = word
        .text
        .split(divides)
        .map(trim_punctuation)
        .filter(move |part| has && !part.is_empty());
    parts.map(move |text| Word { text, ..word })
}

/// Splits a text at backquotes, each part with its first byte and whether it is quoted. A backquote of an arity, as in `` Cache`2 ``, or in the name
/// of a file does not count.
fn split_by_script<'t>(text: &'t str, names: &[Range<usize>]) -> Vec<(usize, &'t str, bool)> {
    let (mut found, mut from, mut quoted) = (Vec::new(), 0, false);
    for (at, _) in text.match_indices('`') {
        let rest = &text[at + 1..];
        let is_arity = text[..at].ends_with(is_of_name) && rest.starts_with(|c: char| c.is_ascii_digit());
        let mut word = rest.bytes().take(IN_BRACKETS).take_while(|c| !c.is_ascii_whitespace());
        if is_arity && (!quoted || word.any(|c| c == b'`')) || names.iter().any(|name| name.contains(&at)) {
            continue;
        }
        found.push((from, &text[from..at], quoted));
        (from, quoted) = (at + 1, !quoted);
    }
    found.push((from, &text[from..], quoted));
    found
}

/// Whether names in programs consist of such characters.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a bracket after a name may belong to it; after type arguments those of parameters may.
fn may_open(word: &str, bracket: char) -> bool {
    match bracket {
        '(' => word.ends_with(|c| is_of_name(c) || c == '>') || operator(word).is_some(),
        '<' => word.ends_with(is_of_name),
        '[' => true,
        _ => false,
    }
}

/// Whether a character separates words.
pub(super) fn separates(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\''
                | ','
                | ';'
                | '['
                | ']'
                | '{'
                | '}'
                | '='
                | '|'
                | '，'
                | '。'
                | '、'
                | '；'
                | '：'
                | '（'
                | '）'
                | '《'
                | '》'
                | '？'
                | '！'
                | '“'
                | '”'
                | '„'
                | '‘'
                | '’'
                | '‚'
                | '«'
                | '»'
                | '‹'
                | '›'
                | '「'
                | '」'
                | '『'
                | '』'
                | '【'
                | '】'
        )
}

/// Characters of operators.
const OPERATORS: [char; 13] = ['+', '-', '!', '~', '*', '/', '%', '&', '|', '^', '<', '>', '='];

/// Splits an operator such as `Store.operator +` into its type and the text after the word.
pub(super) fn operator(name: &str) -> Option<(&str, &str)> {
    let (owner, behind) = name.split_once("operator ")?;
    Some((owner.strip_suffix(['.', '#'])?, behind)).filter(|(owner, _)| owner.ends_with(|c| is_of_name(c) || c == '>'))
}

/// Whether a word continues after a separator: `Store.cs:line 12`, as in stack traces of .NET, `Store.this[int]` and `Store.operator ==`.
fn continues_after(word: &str, rest: &str) -> bool {
    let behind = rest.strip_prefix(' ');
    let is_line = word.ends_with(":line") && behind.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_indexer = (word.ends_with(".this") || word.ends_with("#this")) && rest.starts_with('[') && brackets(rest).is_some();
    let is_operator = match operator(word) {
        Some((_, symbol)) => symbol.chars().all(|c| OPERATORS.contains(&c)) && rest.starts_with(OPERATORS),
        None => behind.is_some_and(|behind| behind.starts_with(OPERATORS)) && operator(&format!("{word} ")).is_some(),
    };
    is_line || is_indexer || is_operator
}

/// Returns the end of an operator's name, with its parameters.
fn end_of_operator(word: &str) -> Option<usize> {
    let (_, behind) = operator(word)?;
    let parameters = behind.trim_start_matches(OPERATORS);
    let length = if parameters.starts_with('(') { brackets(parameters) } else { None };
    Some(word.len() - parameters.len() + length.unwrap_or_default())
}

/// Returns the length of the brackets at the beginning of a text, if they are closed soon and contain only characters of names.
fn brackets(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < IN_BRACKETS) {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth = depth.checked_sub(1)?,
            ' ' | ',' | '.' | '?' | '&' | '*' | ':' | '@' | '`' | '=' => {}
            c if is_of_name(c) => {}
            _ => return None,
        }
        if depth == 0 {
            return Some(at + c.len_utf8());
        }
    }
    None
}

/// Returns a word without punctuation and emphasis around it. The beginning of a path stays: `./a`, `../a`, `.editorconfig`.
fn trim_punctuation(word: &str) -> &str {
    let marks = |c: char| matches!(c, ':' | '!' | '?' | '*' | '-' | '@');
    let ends =
        |word: &'_ str, open: char, close: char| word.matches(open).count() == word.matches(close).count() && !word.starts_with(open);
    let mut word = word;
    loop {
        let before = word;
        word = word.trim_start_matches(marks).trim_start_matches('#');
        word = word.strip_prefix("~~").unwrap_or(word);
        if let Some(end) = end_of_operator(word) {
            return word[..end].trim_start_matches(['(', '<']);
        }
        word = word.strip_suffix("~~").unwrap_or(word);
        word = word.strip_prefix('_').and_then(|word| word.strip_suffix('_')).unwrap_or(word);
        while !is_open(word) && word.ends_with(|c| marks(c) || c == '.') {
            word = &word[..word.len() - 1];
        }
        // "(see NodeStore)" loses its brackets, but NodeStore#Get(NodeId) keeps them.
        for (open, close) in [('(', ')'), ('<', '>')] {
            if !ends(word, open, close) {
                word = word.trim_matches([open, close]);
            }
        }
        if word == before {
            break;
        }
    }
    let path = word.trim_start_matches('.');
    match word.len() - path.len() {
        1 if path.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '\\')) => word,
        2 if path.starts_with(['/', '\\']) => word,
        _ => path,
    }
}

/// Whether a word ends with lines up to the end of a file: `A.cs:12-`.
fn is_open(word: &str) -> bool {
    let line = word.strip_suffix('-').and_then(|word| word.rsplit_once(':'));
    line.is_some_and(|(_, line)| !line.is_empty() && line.bytes().all(|c| c.is_ascii_digit()))
}

/// First and last line.
pub type Lines = (u64, u64);

/// Splits a path and the lines after it: `:12`, `:12:5`, `:12-20`, `:12-`, `:line 12`, `:L12-L20`, `(12,5)`, `#L12-L20`.
pub fn split_lines_suffix(word: &str) -> (&str, Option<Lines>) {
    let number = |text: &str| -> Option<u64> {
        let text = text.strip_prefix('L').unwrap_or(text);
        let is_number = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    if let Some((path, inner)) = word.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        let numbers: Option<Vec<u64>> = inner.split([',', '-']).map(|part| number(part.trim())).collect();
        return match numbers.as_deref() {
            Some([from] | [from, _]) => (path, Some((*from, *from))),
            Some([from, _, to, _]) => (path, Some((*from, (*to).max(*from)))),
            _ => (word, None),
        };
    }
    if let Some((path, lines)) = word.rsplit_once("#L") {
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        let to = to.strip_prefix('L').unwrap_or(to);
        // GitHub writes columns too: #L12C5-L20C9.
        let line = |text: &str| number(text.split('C').next().unwrap_or(text));
        if let (Some(from), Some(to)) = (line(from), line(to)) {
            return (path, Some((from.min(to), from.max(to))));
        }
    }
    let (mut path, mut lines) = (word, None);
    while let Some((front, range)) = path.rsplit_once(':') {
        let range = range.strip_prefix("line ").unwrap_or(range);
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let Some(from) = number(from) else { break };
        let to = if to.is_empty() { Some(u64::MAX) } else { number(to) };
        let Some(to) = to else { break };
        // The number next to the path is the line, the one after it a column.
        (path, lines) = (front, Some((from.min(to), from.max(to))));
    }
    (path, lines)
}

/// Returns the path of an address: `github.com/o/r/blob/main/a.md` of one of the web.
pub fn local(path: &str) -> &str {
    path.split_once("://").map_or(path, |(_, path)| path)
}

/// Decodes a path of a link, such as `My%20Notes.md`; `None` when it has no encoded character.
pub fn decode_path(path: &str) -> Option<String> {
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    (decoded != path).then(|| decoded.into_owned())
}

/// Decodes the encoded characters of a text, with the original position of each byte and of the end; `None` if no character is encoded.
pub fn decode_text(text: &str) -> Option<(String, Vec<usize>)> {
    let (mut plain, mut places, mut at) = (String::new(), Vec::new(), 0);
    while at < text.len() {
        let run = escapes(&text[at..]);
        let end = if run > 0 { at + run } else { text.ceil_char_boundary(at + 1) };
        let piece = &text[at..end];
        let decoded = percent_decode_str(piece).decode_utf8().unwrap_or(Cow::Borrowed(piece));
        let step = if decoded == piece { 1 } else { ESCAPE };
        plain.push_str(&decoded);
        places.extend((at..end).step_by(step));
        at = end;
    }
    places.push(at);
    (plain != text).then_some((plain, places))
}

/// Returns the number of bytes of encoded characters at the beginning of a text: `%20%5B`.
fn escapes(text: &str) -> usize {
    let is_one = |three: &&[u8]| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit);
    text.as_bytes().chunks_exact(ESCAPE).take_while(is_one).count() * ESCAPE
}

/// Returns the extension of a path: the kind of file. Names in programs look similar, but begin with a capital.
pub fn ending(path: &str) -> Option<&str> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.')?;
    let is_one = (1..=12).contains(&ending.len())
        && ending.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_')
        && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_hidden = stem.is_empty();
    (is_one || is_hidden).then_some(ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut_text(text: &str) -> String {
        let words = split_words(text, &[]).into_iter().map(|word| {
            if word.quoted {
                format!("`{}`", word.text)
            } else {
                word.text.to_owned()
            }
        });
        words.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn names_keep_their_brackets_and_sentences_theirs() {
        for (text, expected) in [
            ("Why (see Core.Node), then?", "Why | see | Core.Node | then"),
            ("NodeStore#Get(NodeId) fails.", "NodeStore#Get(NodeId) | fails"),
            ("`Cache<K, V>.Get(int, string)`!", "`Cache<K, V>.Get(int, string)`"),
            ("if (a < b) Fill(a); b > c", "if | a | b | Fill(a) | b | c"),
            ("Fill(\"x\", y)", "Fill | x | y"),
            ("of N.Cache`2, `N.Cache`2` and `A`", "of | N.Cache`2 | `N.Cache`2` | and | `A`"),
            ("[Store](src/Store.cs#L7)", "Store | src/Store.cs#L7"),
            ("at A.B() in /x/B.cs:line 12\n at", "at | A.B() | in | /x/B.cs:line 12 | at"),
            ("B.cs(12,5): error", "B.cs(12,5) | error"),
            ("./a ../b .c ...d", "./a | ../b | .c | d"),
            ("修复（NodeStore）、Node。", "修复 | NodeStore | Node"),
            (
                "Log.Write<T>(Level level, T value) of Task<B>(x)",
                "Log.Write<T>(Level level, T value) | of | Task<B>(x)",
            ),
            ("B.cs:12- and B.cs:12-. A-: b-", "B.cs:12- | and | B.cs:12- | A | b"),
            ("“A.B”‘C’「d/e.md」『F』【G】«H»", "A.B | C | d/e.md | F | G | H"),
            ("_A_, __B.C__ ~~D~~ #E, _f _ ~/g F#", "A | B.C | D | E | _f | _ | ~/g | F#"),
            ("A.this[int] and A.this [x, A.this[", "A.this[int] | and | A.this | x | A.this"),
            (
                "(A.operator +) A.operator ==(A a, A b). `A.operator -`, the operator + and A.operator",
                "A.operator + | A.operator ==(A a, A b) | `A.operator -` | the | operator | + | and | A.operator",
            ),
            ("A.~A()", "A.~A()"),
            ("-- ** ()", ""),
            (&format!("a {}b", "B.".repeat(LONGEST)), "a"),
        ] {
            assert_eq!(cut_text(text), expected, "{text}");
        }
    }

    #[test]
    fn names_of_files_are_one_word_with_their_lines() {
        for (text, name, expected) in [
            ("see My Notes.md:10-20), or", "My Notes.md", "see | My Notes.md:10-20 | or"),
            ("`My Notes.md`: no", "My Notes.md", "`My Notes.md` | no"),
            ("at My Box/A.cs:line 12. No", "My Box/A.cs", "at | My Box/A.cs:line 12 | No"),
            ("[a](<My Box/A.cs(12,5)>)", "My Box/A.cs", "a | My Box/A.cs(12,5)"),
            ("看文档/说明.md#L7。好", "文档/说明.md", "看 | 文档/说明.md#L7 | 好"),
            ("a`b c.md and `d`", "a`b c.md", "a`b c.md | and | `d`"),
        ] {
            let at = text.find(name).expect("it stands there");
            let place = at..at + name.len();
            let words = split_words(text, std::slice::from_ref(&place));
            assert!(words.iter().all(|word| word.is_file == word.text.starts_with(name)), "{words:?}");
            let found = words.iter().map(|word| {
                if word.quoted {
                    format!("`{}`", word.text)
                } else {
                    word.text.to_owned()
                }
            });
            assert_eq!(found.collect::<Vec<_>>().join(" | "), expected, "{text}");
        }
    }

    #[test]
    fn links_write_what_is_no_letter_by_its_number() {
        let found = ["a%20b.md", "%e6%96%87.md", "a.md", "50%", "a%ff"].map(decode_path);
        assert_eq!(found, [Some("a b.md".to_owned()), Some("文.md".to_owned()), None, None, None]);
        let found = ["a%20b", "%41%ff%42", "文%e6%96%87%"].map(decode_text);
        let found = found
            .each_ref()
            .map(|one| one.as_ref().map(|(text, places)| (text.as_str(), places.as_slice())));
        assert_eq!(
            found,
            [
                Some(("a b", [0, 1, 4, 5].as_slice())),
                None,
                Some(("文文%", [0, 1, 2, 3, 6, 9, 12, 13].as_slice())),
            ]
        );
    }

    #[test]
    fn lines_stand_behind_paths_in_many_ways() {
        for (word, expected) in [
            ("B.cs", ("B.cs", None)),
            ("B.cs:12", ("B.cs", Some((12, 12)))),
            ("B.cs:12:5", ("B.cs", Some((12, 12)))),
            ("B.cs:12-20", ("B.cs", Some((12, 20)))),
            ("B.cs:20-12", ("B.cs", Some((12, 20)))),
            ("B.cs:12-", ("B.cs", Some((12, u64::MAX)))),
            ("B.cs:line 12", ("B.cs", Some((12, 12)))),
            ("B.cs:L12-L20", ("B.cs", Some((12, 20)))),
            ("B.cs(12)", ("B.cs", Some((12, 12)))),
            ("B.cs(12,5)", ("B.cs", Some((12, 12)))),
            ("B.cs(12,5,14,9)", ("B.cs", Some((12, 14)))),
            ("B.cs#L12", ("B.cs", Some((12, 12)))),
            ("B.cs#L12C3-L20C9", ("B.cs", Some((12, 20)))),
            ("C:\\a\\B.cs:12", ("C:\\a\\B.cs", Some((12, 12)))),
            ("a:99999999999999999999", ("a", Some((u64::MAX, u64::MAX)))),
            ("a:-1", ("a:-1", None)),
            ("a(b)", ("a(b)", None)),
        ] {
            assert_eq!(split_lines_suffix(word), expected, "{word}");
        }
    }

    #[test]
    fn endings_tell_kinds_of_files() {
        let found = ["README.md", "a/b.cs", ".gitignore", "e.g", "3.1.2", "A", "a.b/c"].map(ending);
        assert_eq!(found, [Some("md"), Some("cs"), Some("gitignore"), Some("g"), None, None, None]);
    }

    proptest! {
        #[test]
        fn any_text_is_cut(text in "[a-cA-C0-9`<>(),.:;# \u{4e00}/\\\\-]{0,60}|\\PC{0,40}") {
            for word in split_words(&text, &[]) {
                prop_assert!(text.contains(word.text) && !word.text.is_empty());
                let (path, _) = split_lines_suffix(word.text);
                prop_assert!(word.text.starts_with(path));
                prop_assert!(inside(word).all(|part| word.text.contains(part.text) && part.text.len() < word.text.len()));
            }
        }
    }
}
