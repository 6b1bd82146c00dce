//! Searches text in sources line by line, as ripgrep does; each hit reports the type or member around it.

use super::call_graph::path_of;
use super::index::Symbols;
use super::outputs::{Outputs, SymbolError, Trouble};
use super::source::enclosing;
use crate::code_text::encoding::{LARGEST, decode};
use engine::seams::world::World;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::UTF8;
use grep_searcher::{Searcher, SearcherBuilder};
use producers::csharp::usages::Place;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Characters of a line that are shown around a hit.
const SHOWN: usize = 160;

/// A text search.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// A regular expression, or literal text.
    pub pattern: &'q str,
    /// Whether the pattern is literal text.
    pub fixed: bool,
    pub ignore_case: bool,
    /// Whether only whole words match.
    pub word: bool,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct Hit {
    /// Path of the file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column of its first match, in characters, from 1.
    pub column: u32,
    /// The line without surrounding white space; `…` where it is cut.
    pub text: String,
    /// The enclosing type or member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// Result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Matching lines in the order of files and lines, without the enclosing symbols.
    pub hits: Vec<Hit>,
    /// Number of files that are not text.
    pub unread: usize,
}

impl Query<'_> {
    /// Returns the matcher of the query. Fails when the pattern is empty or not a regular expression.
    pub fn matcher(&self) -> Result<RegexMatcher, SymbolError> {
        let wrong = |why: String, hint: &str| {
            let found: String = self.pattern.chars().take(120).collect();
            SymbolError::new(Trouble::Asked, Diagnostic::error(ErrorCode::E_PATTERN, why).found(found).hint(hint))
        };
        if self.pattern.is_empty() {
            return Err(wrong(
                "the pattern is empty".to_owned(),
                "give a regular expression, or a text with fixed",
            ));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder.case_insensitive(self.ignore_case).word(self.word).fixed_strings(self.fixed);
        builder.line_terminator(Some(b'\n')).ban_byte(None);
        builder.build(self.pattern).map_err(|error| {
            let why = error
                .to_string()
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned();
            wrong(
                format!("this is not a regular expression of one line: {why}"),
                "escape it, or search for plain text with `fixed` (`--fixed`)",
            )
        })
    }
}

/// Returns the matching lines of files. `world` supplies the current text, including unsaved documents.
pub fn grep(world: &dyn World, files: &[String], matcher: &RegexMatcher) -> Hits {
    let of_file = |file: &String| -> Option<Vec<Hit>> {
        let bytes = world.read_at_most(file, LARGEST).ok()?;
        let (text, _) = decode(&bytes).ok()?;
        Some(in_text(file, &text, matcher))
    };
    let found: Vec<Option<Vec<Hit>>> = files.par_iter().map(of_file).collect();
    let unread = found.iter().filter(|hits| hits.is_none()).count();
    Hits {
        hits: found.into_iter().flatten().flatten().collect(),
        unread,
    }
}

fn in_text(file: &str, text: &str, matcher: &RegexMatcher) -> Vec<Hit> {
    let mut hits = Vec::new();
    // Split lines as C# does, also at a lone CR.
    let plain = match text.contains('\r') {
        true => std::borrow::Cow::Owned(crate::code_text::lines::fit(text, "\n")),
        false => std::borrow::Cow::Borrowed(text),
    };
    let mut searcher: Searcher = SearcherBuilder::new().line_number(true).build();
    let sink = UTF8(|number, line| {
        let line = line.trim_end_matches('\n');
        let at = matcher.find(line.as_bytes()).ok().flatten().map_or(0, |found| found.start());
        hits.push(Hit {
            file: file.to_owned(),
            line: u32::try_from(number).unwrap_or(u32::MAX),
            column: u32::try_from(line.get(..at).unwrap_or_default().trim_start_matches('\u{feff}').chars().count() + 1)
                .unwrap_or(u32::MAX),
            text: excerpt(line, at),
            within: None,
        });
        Ok(true)
    });
    // Searching a text in memory cannot fail.
    let _ = searcher.search_slice(matcher, plain.as_bytes(), sink);
    hits
}

/// Returns the part of a line around a match.
fn excerpt(line: &str, at: usize) -> String {
    let line_start = line.len() - line.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
    let trimmed = line[line_start..].trim_end();
    if trimmed.chars().count() <= SHOWN {
        return trimmed.to_owned();
    }
    let before = line.get(line_start..at.max(line_start)).unwrap_or_default().chars().count();
    let from = before.saturating_sub(SHOWN / 4);
    let cut: String = trimmed.chars().skip(from).take(SHOWN).collect();
    let start = if from > 0 { "…" } else { "" };
    format!("{start}{cut}…")
}

/// Fills in the enclosing type or member of each hit in a C# file.
pub fn locate<O: Outputs>(outputs: &mut O, symbols: &Symbols, hits: &mut [Hit]) -> Result<(), O::Error> {
    let is_csharp = |hit: &Hit| hit.file.ends_with(".cs");
    let place = |hit: &Hit| Place {
        file: hit.file.clone(),
        line: hit.line,
        column: hit.column,
        text: String::new(),
        ..Place::default()
    };
    let places: Vec<Place> = hits.iter().filter(|hit| is_csharp(hit)).map(place).collect();
    let around = enclosing(outputs, &places.iter().collect::<Vec<_>>())?;
    for (hit, around) in hits.iter_mut().filter(|hit| is_csharp(hit)).zip(around) {
        hit.within = around.map(|around| path_of(symbols, &hit.file, Some(around)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;
    use engine::files::memory::MemoryWorld;
    use proptest::prelude::*;

    fn query(pattern: &str) -> Query<'_> {
        Query {
            pattern,
            fixed: false,
            ignore_case: false,
            word: false,
        }
    }

    fn lines_found(text: &str, query: Query<'_>) -> Vec<String> {
        let matcher = query.matcher().expect("a pattern");
        let found = |hit: &Hit| format!("{}:{} {}", hit.line, hit.column, hit.text);
        in_text("a.cs", text, &matcher).iter().map(found).collect()
    }

    #[test]
    fn lines_are_found_whatever_their_ends() {
        assert_eq!(lines_found("\u{feff}a\r\n\té b\rb a\n", query("b")), ["2:4 é b", "3:1 b a"]);
        assert_eq!(
            lines_found(
                "ab\nAB.\n",
                Query {
                    ignore_case: true,
                    ..query("ab")
                }
            ),
            ["1:1 ab", "2:1 AB."]
        );
        assert_eq!(
            lines_found(
                "a.c\nabc\n",
                Query {
                    fixed: true,
                    ..query("a.c")
                }
            ),
            ["1:1 a.c"]
        );
        assert_eq!(lines_found("ab\na b\n", Query { word: true, ..query("a") }), ["2:1 a b"]);
        let long = format!("{}needle{}", "x ".repeat(300), "y".repeat(300));
        let message = lines_found(&long, query("needle")).remove(0);
        assert!(
            message.starts_with("1:601 …") && message.contains("needle") && message.ends_with('…'),
            "{message}"
        );
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for pattern in ["", "(", "a\\nb", "a\nb"] {
            assert!(query(pattern).matcher().is_err(), "{pattern}");
        }
    }

    #[test]
    fn hits_stand_in_members() {
        let text = "using System; // needle\nnamespace N {\nclass A { // needle\n  int needle;\n  void M() { /* needle */ }\n  class B { string S => \"needle\"; }\n}\n}\n";
        let files = [("a.cs", text), ("b.txt", "needle")];
        let mut sample = Sample::from_files(&files);
        let symbols = sample.names();
        let world = MemoryWorld::new();
        for (path, text) in files {
            world.write_source(path, text.as_bytes());
        }
        world.write_source("c.bin", b"\0\x01needle".as_slice());
        let files: Vec<String> = ["a.cs", "b.txt", "c.bin"].map(str::to_owned).into();
        let mut found = grep(&world, &files, &query("needle").matcher().expect("a pattern"));
        locate(&mut sample, &symbols, &mut found.hits).expect("located");
        let answer = |hit: &Hit| format!("{}:{} {}", hit.file, hit.line, hit.within.as_deref().unwrap_or("-"));
        let answer: Vec<String> = found.hits.iter().map(answer).collect();
        assert_eq!(
            answer,
            [
                "a.cs:1 -", "a.cs:3 N.A", "a.cs:4 N.A#needle", "a.cs:5 N.A#M()", "a.cs:6 N.A+B#S", "b.txt:1 -"
            ]
        );
        assert_eq!(found.unread, 1);
    }

    proptest! {
        #[test]
        fn as_a_naive_search(text in "[ab é\t]{0,6}(\n|\r\n|\r)[ab é]{0,6}(\n)?", pattern in "[ab]{1,2}") {
            let plain = text.replace("\r\n", "\n").replace('\r', "\n");
            let naive: Vec<usize> = plain.split('\n').enumerate().filter(|(_, line)| line.contains(&pattern)).map(|(at, _)| at + 1).collect();
            let found = in_text("a", &text, &query(&pattern).matcher().expect("a pattern"));
            prop_assert_eq!(found.iter().map(|hit| hit.line as usize).collect::<Vec<_>>(), naive);
        }
    }
}
