//! Explains why a text does not occur in a file: the most similar lines and their differences. It never chooses; the caller has to repeat the
//! request.

use super::lookalike;
use super::matching::find_occurrences;
use crate::code_text::lines::{Ends, body, fit, split};
use std::borrow::Cow;
use std::collections::HashMap;

/// Longest text, in bytes, that is searched for similar lines.
const LARGEST: usize = 8 << 20;
/// Lines of the needle used to find the similar place.
const MOST_LINES: usize = 200;
/// A line of the needle with more pairs of places in both texts is ignored as too common.
const MOST_VOTES: usize = 1 << 20;
/// Least number of character pairs; with fewer, any line is similar.
const SHORTEST: usize = 3;
/// Characters of a line that are shown.
const SHOWN: usize = 120;

/// Explanation of a failed search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The reason, as the middle of a sentence.
    pub why: String,
    /// The most similar lines, each with its number, for display.
    pub near: Vec<String>,
}

/// Explains a needle that does not occur in `text`. `held` names the text: the file, or the buffer.
pub fn explain(held: &str, text: &str, needle: &str) -> Miss {
    if needle.is_empty() {
        return miss_because(
            "oldText is empty: `append` puts a text at the beginning (^) or the end ($), `write` gives the file a whole new one",
        );
    }
    if text.is_empty() {
        return miss_because(&format!("{held} is empty"));
    }
    let ends = Ends::from_text(text);
    let fitted = fit(needle, "\n");
    let plain = fit(text, "\n");
    let places = find_occurrences(&plain, &fitted, 0, 1);
    if let Some(at) = places.at.first() {
        let line = 1 + plain[..*at].matches('\n').count();
        let why = format!(
            "only the line ends differ: {held} has {ends}, oldText has {} (line {line}); write the file's ends, or ask for them",
            Ends::from_text(needle)
        );
        return similar_miss(why, text, line, split(needle).count());
    }
    if let Some((bare, what)) = without_line_numbers(&fitted).filter(|(bare, _)| find_occurrences(&plain, bare, 0, 1).count > 0) {
        let at = find_occurrences(&plain, &bare, 0, 1).at[0];
        let line = 1 + plain[..at].matches('\n').count();
        return similar_miss(
            format!("{what}; without them it occurs at line {line}"),
            text,
            line,
            split(needle).count(),
        );
    }
    if text.len() > LARGEST {
        return miss_because(&format!(
            "it does not occur in {held}, which is too large to search for similar text"
        ));
    }
    find_lookalike(held, text, &plain, &fitted).unwrap_or_else(|| most_similar_lines(held, text, needle))
}

/// Finds text that only looks like the needle. Both `plain` and `fitted` have LF as line ends.
fn find_lookalike(held: &str, text: &str, plain: &str, fitted: &str) -> Option<Miss> {
    if plain.is_ascii() && fitted.is_ascii() {
        return None;
    }
    let (seen, wanted) = (lookalike::normalize_appearance(plain), lookalike::normalize_appearance(fitted));
    let at = *find_occurrences(&seen, &wanted, 0, 1).at.first()?;
    let line = 1 + seen[..at].matches('\n').count();
    let count = split(fitted).count();
    let there: String = split(plain).skip(line - 1).take(count).collect();
    let why = format!(
        "only characters that look alike, or like nothing, differ at line {line}: {}",
        lookalike::describe_lookalikes(held, &there, fitted)
    );
    Some(similar_miss(why, text, line, count))
}

fn miss_because(why: &str) -> Miss {
    Miss {
        why: why.to_owned(),
        near: Vec::new(),
    }
}

fn similar_miss(why: String, text: &str, line: usize, count: usize) -> Miss {
    let near = (1..).zip(split(text)).skip(line - 1).take(count.clamp(1, 5));
    Miss {
        why,
        near: near.map(|(number, line)| format!("{number}: {}", visible(body(line)))).collect(),
    }
}

/// Strips the line numbers before the needle's lines, if every line has one.
fn without_line_numbers(needle: &str) -> Option<(String, &'static str)> {
    let mut bare = String::new();
    for line in split(needle) {
        let rest = line.trim_start_matches([' ', '\t']);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return None;
        }
        let rest = &rest[digits..];
        let rest = ["  ", "\t", " | ", "|", "→", ": ", ":", " "]
            .iter()
            .find_map(|mark| rest.strip_prefix(mark))
            .unwrap_or(rest);
        bare.push_str(rest);
    }
    Some((bare, "oldText has line numbers before its lines"))
}

/// Finds the lines most similar to the needle.
fn most_similar_lines(held: &str, text: &str, needle: &str) -> Miss {
    let wanted: Vec<&str> = split(needle).map(body).take(MOST_LINES).collect();
    let lines: Vec<&str> = split(text).map(body).collect();
    let start = find_aligned(&lines, &wanted, trimmed_line)
        .or_else(|| find_aligned(&lines, &wanted, loosely))
        .or_else(|| most_similar_line(&lines, &wanted));
    let Some(start) = start else {
        return miss_because(&format!("it does not occur in {held}, and nothing there is similar"));
    };
    // The first and last lines of a needle may be parts of lines.
    let part = |at: usize, wanted_line: &str, line: &str| match (at == 0, at + 1 == wanted.len()) {
        (true, true) => line.contains(wanted_line),
        (true, false) => line.ends_with(wanted_line),
        (false, true) => line.starts_with(wanted_line),
        (false, false) => line == wanted_line,
    };
    let differs = (0..wanted.len()).find(|at| lines.get(start + at).is_none_or(|line| !part(*at, wanted[*at], line)));
    let Some(at) = differs else {
        return similar_miss(
            format!("it does not occur in {held} as written; line {} is similar", start + 1),
            text,
            start + 1,
            wanted.len(),
        );
    };
    let number = start + at + 1;
    let why = match lines.get(start + at) {
        None => format!(
            "{held} ends at line {} where oldText continues with `{}`",
            lines.len(),
            visible(wanted[at])
        ),
        Some(line) => {
            let what = difference(held, line, wanted[at]);
            let place = match at {
                0 => String::new(),
                1 => "; the line before it fits".to_owned(),
                _ => format!("; the {at} lines before it fit"),
            };
            format!(
                "line {number} differs{what}: {held} has `{}`, oldText has `{}`{place}",
                visible(line),
                visible(wanted[at])
            )
        }
    };
    similar_miss(why, text, start + 1, wanted.len())
}

/// Describes the difference of two lines, if it is simple.
fn difference(held: &str, line: &str, wanted: &str) -> Cow<'static, str> {
    if line != wanted && lookalike::normalize_appearance(line) == lookalike::normalize_appearance(wanted) {
        return format!(
            " in characters that look alike ({})",
            lookalike::describe_lookalikes(held, line, wanted)
        )
        .into();
    }
    difference_of_words(line, wanted).into()
}

fn difference_of_words(line: &str, wanted: &str) -> &'static str {
    let indent = |line: &str| line.len() - line.trim_start().len();
    if line.trim_end() == wanted.trim_end() {
        " in white space at its end"
    } else if line.trim() == wanted.trim() {
        let tabs = |line: &str| line[..indent(line)].contains('\t');
        if tabs(line) == tabs(wanted) {
            " in its indentation"
        } else {
            " in tabs and spaces of its indentation"
        }
    } else if squeeze_spaces(line) == squeeze_spaces(wanted) {
        " in white space"
    } else if line.trim().to_lowercase() == wanted.trim().to_lowercase() {
        " in upper and lower case"
    } else {
        ""
    }
}

fn trimmed_line(line: &str) -> String {
    line.trim_end().to_owned()
}

fn squeeze_spaces(line: &str) -> String {
    line.split_whitespace().collect()
}

fn loosely(line: &str) -> String {
    squeeze_spaces(line).to_lowercase()
}

/// Returns the line at which the needle starts if most of its lines that occur in the text are to align; the first such place. Lines that occur too
/// often are ignored.
fn find_aligned(lines: &[&str], wanted: &[&str], key: fn(&str) -> String) -> Option<usize> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    // For each line of the needle: its places in the needle, and in the text.
    let mut places: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for (at, line) in wanted.iter().enumerate() {
        let key = key(line);
        // Lines with brackets only are ignored.
        if key.chars().any(char::is_alphanumeric) {
            let number = *numbers.entry(key).or_insert(places.len());
            if number == places.len() {
                places.push(Default::default());
            }
            places[number].0.push(at);
        }
    }
    for (at, line) in lines.iter().enumerate() {
        if let Some(number) = numbers.get(&key(line)) {
            places[*number].1.push(at);
        }
    }
    let mut votes = vec![0_usize; lines.len()];
    for (wanted, found) in places.iter().filter(|(wanted, found)| wanted.len() * found.len() <= MOST_VOTES) {
        for at in found {
            for start in wanted.iter().filter_map(|wanted| at.checked_sub(*wanted)) {
                votes[start] += 1;
            }
        }
    }
    let best = votes
        .iter()
        .enumerate()
        .max_by_key(|(start, votes)| (**votes, usize::MAX - start))?;
    (*best.1 > 0).then_some(best.0)
}

/// Returns the line that shares most character pairs with the needle's longest line; `None` when it shares few.
fn most_similar_line(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (at, longest) = wanted
        .iter()
        .enumerate()
        .max_by_key(|(at, line)| (line.trim().len(), usize::MAX - at))?;
    let pairs = |line: &str| -> Vec<(char, char)> {
        let chars: Vec<char> = line
            .trim()
            .chars()
            .flat_map(char::to_lowercase)
            .filter(|c| !c.is_whitespace())
            .take(400)
            .collect();
        let mut pairs: Vec<_> = chars.windows(2).map(|pair| (pair[0], pair[1])).collect();
        pairs.sort_unstable();
        pairs
    };
    let own = pairs(longest);
    let score = |line: &str| {
        let other = pairs(line);
        let (mut a, mut b, mut common) = (0, 0, 0);
        while let (Some(left), Some(right)) = (own.get(a), other.get(b)) {
            match left.cmp(right) {
                std::cmp::Ordering::Less => a += 1,
                std::cmp::Ordering::Greater => b += 1,
                std::cmp::Ordering::Equal => {
                    common += 1;
                    a += 1;
                    b += 1;
                }
            }
        }
        // Per mille: of the needle, which may be a part of the line; then of both together.
        (1000 * common / own.len().max(1), 2000 * common / (own.len() + other.len()).max(1))
    };
    let best = lines
        .iter()
        .enumerate()
        .map(|(number, line)| (score(line), usize::MAX - number))
        .max()?;
    let number = usize::MAX - best.1;
    (own.len() >= SHORTEST && (best.0.0 >= 600 || best.0.1 >= 500)).then(|| number.saturating_sub(at))
}

/// Shows tabs and trailing white space of a line, and cuts it.
pub fn visible(line: &str) -> String {
    let rest = line.trim_end_matches([' ', '\t']);
    let mut seen: String = rest.replace('\t', "→");
    seen.extend(line[rest.len()..].chars().map(|c| if c == '\t' { '→' } else { '·' }));
    let seen: String = seen.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    match seen.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &seen[..at]),
        None => seen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "class A\n{\n\tint Get(int id)\n\t{\n\t\treturn items[id];\n\t}\n}\n";

    fn why(text: &str, needle: &str) -> String {
        assert_eq!(find_occurrences(text, needle, 0, 1).count, 0);
        explain("the file", text, needle).why
    }

    #[test]
    fn a_miss_explains_itself() {
        insta::assert_snapshot!(why(TEXT, ""), @"oldText is empty: `append` puts a text at the beginning (^) or the end ($), `write` gives the file a whole new one");
        insta::assert_snapshot!(why("", "a"), @"the file is empty");
        insta::assert_snapshot!(
            why(&TEXT.replace('\n', "\r\n"), "{\n\tint Get(int id)\n"),
            @"only the line ends differ: the file has CRLF, oldText has LF (line 2); write the file's ends, or ask for them"
        );
        insta::assert_snapshot!(
            why(TEXT, "    int Get(int id)\n"),
            @"line 3 differs in tabs and spaces of its indentation: the file has `→int Get(int id)`, oldText has `    int Get(int id)`"
        );
        insta::assert_snapshot!(
            why(TEXT, "\tint Get(int id)\n\t{\n\t\treturn item[id];\n"),
            @"line 5 differs: the file has `→→return items[id];`, oldText has `→→return item[id];`; the 2 lines before it fit"
        );
        insta::assert_snapshot!(
            why(TEXT, "\tint Get(int id) \n\t{"),
            @"line 3 differs in white space at its end: the file has `→int Get(int id)`, oldText has `→int Get(int id)·`"
        );
        insta::assert_snapshot!(
            why(TEXT, "RETURN items[id];"),
            @"line 5 differs in upper and lower case: the file has `→→return items[id];`, oldText has `RETURN items[id];`"
        );
        insta::assert_snapshot!(
            why(TEXT, "3  \tint Get(int id)\n4  \t{\n"),
            @"oldText has line numbers before its lines; without them it occurs at line 3"
        );
        insta::assert_snapshot!(why(TEXT, "int Gett(int idd)"), @"line 3 differs: the file has `→int Get(int id)`, oldText has `int Gett(int idd)`");
        insta::assert_snapshot!(
            why("class A\n\tint\u{a0}X;\n", "int X;"),
            @"only characters that look alike, or like nothing, differ at line 2: the file has U+00A0 (no-break space), and oldText has not"
        );
        let accents = why("a\nint Gr\u{f6}\u{df}e;\nb\n", "int Gro\u{308}\u{df}e;\nc\n");
        let named = "(the file has \u{f6} as one character (U+00F6), oldText has U+0308 (an accent of its own))";
        assert!(
            accents.starts_with(&format!("line 2 differs in characters that look alike {named}: ")),
            "{accents}"
        );
        insta::assert_snapshot!(why(TEXT, "zzzzzzzz qqqqqq"), @"it does not occur in the file, and nothing there is similar");
        insta::assert_snapshot!(
            why("a\nlast line here", "last line here\nand more"),
            @"the file ends at line 2 where oldText continues with `and more`"
        );
    }

    #[test]
    fn lines_that_stand_everywhere_are_not_counted_for_long() {
        let text = format!("{}here\n{0}", "a\n".repeat(20_000));
        let lines: Vec<&str> = split(&text).map(body).collect();
        let wanted = [vec!["a"; 198], vec!["here", "b"]].concat();
        assert_eq!(
            find_aligned(&lines, &wanted, trimmed_line),
            Some(20_000 - 198),
            "the one that is telling"
        );
        assert_eq!(find_aligned(&lines, &["a"; 199], trimmed_line), None);
        assert_eq!(find_aligned(&lines, &["a", "b"], trimmed_line), Some(0));
    }

    #[test]
    fn the_nearest_lines_are_shown_with_their_numbers() {
        let miss = explain("the file", TEXT, "\tint Get(int id)\n\t{\n\t\treturn item[id];\n");
        assert_eq!(miss.near, ["3: →int Get(int id)", "4: →{", "5: →→return items[id];"]);
        assert_eq!(visible(&"x".repeat(200)).chars().count(), SHOWN + 1);
    }
}
