//! Lines of a file, each with its own end: CR, LF, CR LF, or none for the last.

use std::fmt;

/// Returns the lines of a text with their ends.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = match memchr::memchr2(b'\r', b'\n', rest.as_bytes()) {
            _ if rest.is_empty() => return None,
            None => rest.len(),
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
        };
        let (line, behind) = rest.split_at(end);
        rest = behind;
        Some(line)
    })
}

/// Returns the start of the line that contains a byte.
pub fn line_start(text: &str, at: usize) -> usize {
    memchr::memrchr2(b'\r', b'\n', &text.as_bytes()[..at]).map_or(0, |end| end + 1)
}

/// Returns a line without its end.
pub fn body(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

/// Returns the end of a line; empty for a last line without end.
pub fn line_end(line: &str) -> &str {
    &line[body(line).len()..]
}

/// Number of lines of a text by line end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub lf: usize,
    pub crlf: usize,
    pub cr: usize,
}

impl Ends {
    /// Counts the line ends of a text.
    pub fn from_text(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut ends = Self::default();
        let mut last = None;
        for at in memchr::memchr2_iter(b'\r', b'\n', bytes) {
            match bytes[at] {
                b'\r' => ends.cr += 1,
                _ if last.is_some_and(|before| before + 1 == at && bytes[before] == b'\r') => {
                    ends.cr -= 1;
                    ends.crlf += 1;
                }
                _ => ends.lf += 1,
            }
            last = Some(at);
        }
        ends
    }

    /// Whether the text has several kinds of line ends.
    pub fn are_mixed(&self) -> bool {
        [self.lf, self.crlf, self.cr].iter().filter(|count| **count > 0).count() > 1
    }

    /// Returns the most frequent line end; LF if there is none.
    pub fn most_frequent(&self) -> &'static str {
        let Self { lf, crlf, cr } = *self;
        if crlf > lf && crlf >= cr {
            "\r\n"
        } else if cr > lf {
            "\r"
        } else {
            "\n"
        }
    }
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [(self.lf, "LF"), (self.crlf, "CRLF"), (self.cr, "CR")];
        let mut found = kinds.iter().filter(|(count, _)| *count > 0);
        match (found.next(), found.next()) {
            (None, _) => f.write_str("no line end"),
            (Some((_, only)), None) => f.write_str(only),
            _ => {
                let all: Vec<String> = kinds
                    .iter()
                    .filter(|(count, _)| *count > 0)
                    .map(|(count, name)| format!("{count} {name}"))
                    .collect();
                write!(f, "mixed line ends ({})", all.join(", "))
            }
        }
    }
}

/// Replaces all line ends of a text with `end`.
pub fn fit(text: &str, end: &str) -> String {
    let mut fitted = String::with_capacity(text.len());
    for line in split(text) {
        let body = body(line);
        fitted.push_str(body);
        if body.len() < line.len() {
            fitted.push_str(end);
        }
    }
    fitted
}

/// Returns line and column of a byte, from 1; columns count characters.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let ends = Ends::from_text(before);
    let mut line = 1 + ends.lf + ends.crlf + ends.cr;
    let mut start = line_start(text, at);
    // Between CR and LF the line is not finished.
    if before.ends_with('\r') && text[at..].starts_with('\n') {
        line -= 1;
        start = line_start(text, at - 1);
    }
    (line, before[start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_are_counted_and_named() {
        let named = |text: &str| Ends::from_text(text).to_string();
        assert_eq!(named("a\nb"), "LF");
        assert_eq!(named("a\r\nb\r\n"), "CRLF");
        assert_eq!(named("a\rb"), "CR");
        assert_eq!(named(""), "no line end");
        assert_eq!(named("\r\n\r\r\n\n"), "mixed line ends (1 LF, 2 CRLF, 1 CR)");
        let usual = |text: &str| Ends::from_text(text).most_frequent();
        assert_eq!([usual("a"), usual("a\r\nb\n\r\n"), usual("\r\r\n\r")], ["\n", "\r\n", "\r"]);
    }

    #[test]
    fn several_ends_are_mixed() {
        let mixed = |text: &str| Ends::from_text(text).are_mixed();
        assert_eq!(
            [mixed("a"), mixed("a\r\nb\r\n"), mixed("a\nb\r\n"), mixed("\r\n\r")],
            [false, false, true, true]
        );
    }

    #[test]
    fn places_are_of_lines_with_any_end() {
        let text = "é\r\nb\rc\nd";
        let at = |needle: &str| line_and_column(text, text.find(needle).expect("it is there"));
        assert_eq!(
            [at("é"), at("\n"), at("b"), at("c"), at("d")],
            [(1, 1), (1, 3), (2, 1), (3, 1), (4, 1)]
        );
    }

    proptest! {
        #[test]
        fn lines_are_the_text(text in "[ab\r\n]{0,12}") {
            prop_assert_eq!(split(&text).collect::<String>(), text.clone());
            let ends = Ends::from_text(&text);
            let open = split(&text).filter(|line| line_end(line).is_empty()).count();
            prop_assert_eq!(split(&text).count(), ends.lf + ends.crlf + ends.cr + open);
            prop_assert_eq!(fit(&fit(&text, "\r\n"), "\n"), text.replace("\r\n", "\n").replace('\r', "\n"));
            for (at, _) in text.char_indices() {
                let lines: Vec<&str> = split(&text[..at]).collect();
                let (line, _) = line_and_column(&text, at);
                let whole = split(&text).scan(0, |sum, line| { *sum += line.len(); Some(*sum) }).take_while(|end| *end <= at).count();
                prop_assert_eq!(line, whole + 1, "{:?} {}", lines, at);
            }
        }
    }
}
