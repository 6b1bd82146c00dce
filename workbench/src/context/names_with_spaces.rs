//! File names that contain separators of words: `docs/My Notes.md`, `Query (old).sql`, `[id].tsx`, and Chinese names without spaces around them; also
//! as links encode them, `%5Bid%5D,old.tsx`. They are recognised by the existing files.

use super::named_words::{decode_path, decode_text, ending, is_of_name, separates, split_lines_suffix, split_words};
use super::words::is_wide;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// Quotes around names: opening and closing.
const QUOTES: [(char, char); 10] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('<', '>'),
    ('“', '”'),
    ('‘', '’'),
    ('«', '»'),
    ('「', '」'),
    ('『', '』'),
    ('【', '】'),
];
/// Limit of bytes of a name.
const LONGEST: usize = 1024;
/// Limit of words of an unquoted name, before its last.
const WORDS: usize = 8;
/// Limit of Chinese letters that may precede a name without spaces, with those that the name begins with.
const LETTERS: usize = 32;

/// Returns the ranges of such file names in a text, in order, as whole paths or their ends. Of those with the same beginning, the longest counts.
pub fn spans_of_file_names<'f>(text: &str, files: impl IntoIterator<Item = &'f str>) -> Vec<Range<usize>> {
    let plain = fold_separators(text);
    let links = decode_text(text).map(|(text, at)| (fold_separators(&text), at));
    let mut found: Vec<Range<usize>> = Vec::new();
    for file in files.into_iter().filter(|file| is_parted(file)) {
        let path = fold_separators(file);
        found.extend(ranges_of_path(&plain, &path));
        let in_links = links
            .iter()
            .flat_map(|(text, at)| ranges_of_path(text, &path).map(move |one| at[one.start]..at[one.end]));
        found.extend(in_links);
    }
    found.sort_by_key(|one| (one.start, usize::MAX - one.end));
    let mut behind = 0;
    found.retain(|one| {
        let is_apart = behind <= one.start;
        behind = if is_apart { one.end } else { behind };
        is_apart
    });
    found
}

/// Returns the ranges of a path in a text, both folded.
fn ranges_of_path(text: &str, path: &str) -> impl Iterator<Item = Range<usize>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = text.match_indices(name).map(|(at, _)| at + name.len());
    ends.filter_map(move |end| Some(start_of_name(text, end, path)?..end))
}

/// Returns the parts of a text that may name such a file, each within one line: quoted texts, and words up to one with a file extension or up to
/// Chinese text after an extension, also from each leading Chinese letter on; as written, and decoded as in links.
pub fn possible_file_names(text: &str) -> BTreeSet<Cow<'_, str>> {
    let words = split_words(text, &[]);
    let at = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();
    let ends = words.iter().enumerate().flat_map(|(last, word)| {
        let (path, _) = split_lines_suffix(word.text);
        let wide = path.char_indices().filter(|(_, c)| is_wide(*c)).map(|(end, _)| end);
        let ends = wide.chain([path.len()]).filter(|end| ending(&path[..*end]).is_some());
        ends.map(move |end| (last, at(path) + end)).collect::<Vec<_>>()
    });
    let runs = ends.flat_map(|(last, end)| {
        let first = &words[last.saturating_sub(WORDS)..=last];
        let starts = first
            .iter()
            .flat_map(|word| starts(word.text).map(move |start| at(word.text) + start));
        starts
            .filter(|start| *start < end)
            .map(|start| &text[start..end])
            .collect::<Vec<_>>()
    });
    let names = quoted_texts(text).into_iter().chain(runs);
    let names = names.filter(|name| name.len() <= LONGEST && !name.contains(['\n', '\r']));
    let both = names.flat_map(|name| [Some(Cow::Borrowed(name)), decode_path(name).map(Cow::Owned)]);
    both.flatten().filter(|name| is_parted(name)).collect()
}

/// Returns where a name may begin in a word: at its beginning, or within its leading Chinese letters.
fn starts(word: &str) -> impl Iterator<Item = usize> {
    let wide: Vec<usize> = word.char_indices().take_while(|(_, c)| is_wide(*c)).map(|(at, _)| at).collect();
    let within = wide[wide.len().saturating_sub(LETTERS)..].to_vec();
    std::iter::once(0).chain(within)
}

/// Returns the quoted texts, each within one line.
fn quoted_texts(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        for (open, close) in QUOTES {
            let mut rest = line;
            while let Some((_, behind)) = rest.split_once(open) {
                let Some((name, after)) = behind.split_once(close) else { break };
                rest = after;
                found.push(name);
            }
        }
    }
    found
}

/// Folds case and separators without changing the position of any byte.
fn fold_separators(text: &str) -> String {
    text.replace('\\', "/").to_ascii_lowercase()
}

/// Whether a path contains separators of words.
fn is_parted(path: &str) -> bool {
    // Check cheaply first: few of the many paths have any.
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'/' | b'.' | b'_' | b'-');
    !path.bytes().all(is_plain) && path.contains(|c: char| separates(c) || is_wide(c) || matches!(c, '(' | ')' | '<' | '>' | '`'))
}

/// Returns the beginning of a file name with this end: the whole path, also of another machine, or an end of it that has separators too.
fn start_of_name(text: &str, end: usize, path: &str) -> Option<usize> {
    let behind = &text[end..];
    let goes_on = |c: char| is_of_name(c) && !is_wide(c);
    if behind.starts_with(|c| goes_on(c) || c == '/') || behind.strip_prefix('.').is_some_and(|rest| rest.starts_with(goes_on)) {
        return None;
    }
    let parts = path.match_indices('/').map(|(at, _)| at + 1);
    let from = [0].into_iter().chain(parts).find(|from| text[..end].ends_with(&path[*from..]))?;
    let start = end - (path.len() - from);
    let before = text[..start].chars().next_back();
    let is_quoted = before.is_some_and(|open| QUOTES.iter().any(|(one, close)| open == *one && behind.starts_with(*close)));
    let name = &path[from..];
    if !is_parted(name) || !(is_quoted || name.contains('/') || ending(name).is_some()) {
        return None;
    }
    match before {
        Some('/') if from == 0 => {
            let rest = text[..start].trim_end_matches(|c: char| !separates(c) && !matches!(c, '(' | '<' | '`'));
            Some(rest.len())
        }
        Some(c) if goes_on(c) || matches!(c, '/' | '.') => None,
        _ => Some(start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILES: [&str; 11] = [
        "docs/My Notes.md", "docs/Notes.md", "src/My Box/Lid.cs", "src/Lid.cs", "app/[id]/page (old).tsx", "文档/说明.md", "LICENSE MIT",
        "a b/c d.md", "c d.md", "app/[id],old.tsx", "x%20y,z.md",
    ];

    fn spaced_words(text: &str) -> Vec<&str> {
        spans_of_file_names(text, FILES).into_iter().map(|one| &text[one]).collect()
    }

    #[test]
    fn names_are_found_whole_and_by_their_ends() {
        for (text, expected) in [
            ("see docs/My Notes.md.", vec!["docs/My Notes.md"]),
            ("My Notes.md:7, \"my notes.md\"", vec!["My Notes.md", "my notes.md"]),
            ("[x](<docs/My Notes.md>)", vec!["docs/My Notes.md"]),
            (".\\docs\\My Notes.md", vec![".\\docs\\My Notes.md"]),
            ("at /build/1/docs/My Notes.md", vec!["/build/1/docs/My Notes.md"]),
            ("other/My Notes.md, Dummy Notes.md, My Notes.md.bak, My Notes.mdx", vec![]),
            ("docs/Notes.md and Lid.cs", vec![]),
            ("My Box/Lid.cs(7,5)", vec!["My Box/Lid.cs"]),
            (
                "app/[id]/page (old).tsx, page (old).tsx",
                vec!["app/[id]/page (old).tsx", "page (old).tsx"],
            ),
            ("参见文档/说明.md。", vec!["文档/说明.md"]),
            ("看文档/说明.md的内容，「说明.md」", vec!["文档/说明.md", "说明.md"]),
            ("the license mit, the 'LICENSE MIT'", vec!["LICENSE MIT"]),
            ("a b/c d.md", vec!["a b/c d.md"]),
            (
                "[x](app/%5Bid%5D,old.tsx) or %5bid%5d,old.tsx:7",
                vec!["app/%5Bid%5D,old.tsx", "%5bid%5d,old.tsx"],
            ),
            (
                "[x](%E6%96%87%e6%a1%a3/%E8%AF%B4%E6%98%8E.md#L7)",
                vec!["%E6%96%87%e6%a1%a3/%E8%AF%B4%E6%98%8E.md"],
            ),
            (
                "50% of docs/My%20Notes.md, x%20y,z.md, %ff.md",
                vec!["docs/My%20Notes.md", "x%20y,z.md"],
            ),
        ] {
            assert_eq!(spaced_words(text), expected, "{text}");
        }
    }

    #[test]
    fn possible_file_names_are_quoted_or_end_like_one() {
        let text = "\"a b\" or 'c' `d (e)` \"f\ng <h i> “j k” it's";
        assert_eq!(Vec::from_iter(possible_file_names(text)), ["a b", "d (e)", "h i", "j k"]);
        let found = Vec::from_iter(possible_file_names("see a\nmy b (1).md:7, x"));
        assert_eq!(found, ["1).md", "b (1).md", "my b (1).md"]);
        let found = Vec::from_iter(possible_file_names("看文/a.md的x"));
        assert_eq!(found, ["文/a.md", "看文/a.md"]);
        let found = Vec::from_iter(possible_file_names("see\n[a](%5Bb%5D,c.md)"));
        assert_eq!(found, ["%5Bb%5D,c.md", "[b],c.md", "a](%5Bb%5D,c.md", "a]([b],c.md"]);
    }

    proptest! {
        #[test]
        fn stretches_are_apart_and_name_files(text in "( |%20|%|a b/|a%20b/|c d.md|x|/|\\.|\"|My |Notes.md|docs/|文档){0,12}") {
            let found = spans_of_file_names(&text, FILES);
            prop_assert!(found.windows(2).all(|two| two[0].end <= two[1].start));
            for one in found {
                let name = text[one].to_lowercase();
                let name = decode_path(&name).unwrap_or(name);
                let meant = FILES.iter().any(|file| file.to_lowercase().ends_with(&name) || name.ends_with(&file.to_lowercase()));
                prop_assert!(meant, "{}", name);
            }
        }
    }
}
