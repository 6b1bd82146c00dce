//! Conditional compilation before parsing: blanks directive lines and inactive code.
//!
//! Byte offsets, lines and columns stay valid: each blanked byte becomes one space, and line ends stay. A directive begins with `#` as the first
//! token of its line, outside comments and strings of active code; inactive lines are not lexed. A `#!` line at the very top and `#:` lines are
//! blanked, too. Unbalanced `#if`s are accepted: an `#if` still open at the end of the text ends there, with a fault.

use super::if_condition::{evaluate, symbols_of_condition};
use super::lexer::{comment_end, line_end, literal_end};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Maximum length of a mark; a longer one is truncated with an ellipsis. Keeps deeply nested `#if`s linear.
const LONGEST_MARK: usize = 200;

/// Maximum number of conditions examined for one section.
const MOST_CONDITIONS: usize = 32;

/// An open `#if`.
struct Branch {
    /// Byte of its `#if`.
    start: usize,
    /// Whether the enclosing code is active.
    outer: bool,
    /// Whether an earlier or the present branch is active.
    taken: bool,
    active: bool,
    /// Whether `#else` was found.
    closed: bool,
    section: usize,
}

/// One branch of an `#if`: from its directive to the next directive of the same level.
#[derive(Clone, Debug)]
struct Section<'t> {
    /// The condition as written, `None` for `#else`.
    condition: Option<&'t str>,
    around: Option<usize>,
    /// The preceding branch of the same `#if`.
    before: Option<usize>,
    active: bool,
}

/// A fault in the directives of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Byte of the directive.
    pub byte: usize,
    pub message: &'static str,
}

/// A text as the compiler sees it under some symbols.
#[derive(Clone, Debug)]
pub struct Active<'t> {
    /// The text with directives and inactive code blanked.
    pub text: Cow<'t, str>,
    /// Faults of its directives, in order.
    pub faults: Vec<Fault>,
    sections: Vec<Section<'t>>,
    /// Section in effect from each byte on.
    changes: Vec<(usize, Option<usize>)>,
    /// Lines of inactive sections.
    unused: Vec<&'t str>,
}

impl<'t> Active<'t> {
    /// Returns the names and keywords in inactive code, including its comments and strings.
    pub(crate) fn unused_words(&self) -> BTreeSet<String> {
        let lines = self.unused.iter();
        let words = lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
        words
            .filter(|word| word.starts_with(|c: char| !c.is_numeric()))
            .map(str::to_owned)
            .collect()
    }

    /// Returns the numbers, from 1, of the lines of `source` that are not compiled: directives and inactive code.
    pub(crate) fn excluded_lines(&self, source: &str) -> Vec<u32> {
        if let Cow::Borrowed(_) = self.text {
            return Vec::new();
        }
        let is_blank = |line: &str| line.trim().is_empty();
        let lines = source.split('\n').zip(self.text.split('\n')).zip(1..);
        let excluded = lines.filter(|((written, compiled), _)| is_blank(compiled) && !is_blank(written));
        excluded.map(|(_, number)| number).collect()
    }

    /// Returns the innermost section around a byte.
    pub(crate) fn section_around(&self, byte: usize) -> Option<usize> {
        let next = self.changes.partition_point(|(from, _)| *from <= byte);
        next.checked_sub(1).and_then(|at| self.changes[at].1)
    }

    /// Whether the code at a byte is compiled.
    pub fn is_compiled(&self, byte: usize) -> bool {
        self.section_around(byte).is_none_or(|section| self.sections[section].active)
    }

    /// Returns the inactive sections, in order.
    pub(crate) fn unused_sections(&self) -> impl Iterator<Item = usize> {
        let unused = self.sections.iter().enumerate().filter(|(_, section)| !section.active);
        unused.map(|(at, _)| at)
    }

    /// Returns the conditions that decide a section: its own and those around it must hold, those of preceding branches must not. Above the limit,
    /// only the innermost conditions.
    fn conditions(&self, section: usize) -> Vec<(&'t str, bool)> {
        let mut found = Vec::new();
        let mut section = Some(section);
        while let Some(at) = section.filter(|_| found.len() < MOST_CONDITIONS) {
            found.extend(self.sections[at].condition.map(|condition| (condition, true)));
            let mut before = self.sections[at].before;
            while let Some(other) = before.filter(|_| found.len() < MOST_CONDITIONS) {
                found.extend(self.sections[other].condition.map(|condition| (condition, false)));
                before = self.sections[other].before;
            }
            section = self.sections[at].around;
        }
        found
    }

    /// Returns the symbols that decide whether a section is compiled.
    pub(crate) fn symbols_of_section(&self, section: usize) -> BTreeSet<&'t str> {
        self.conditions(section)
            .into_iter()
            .flat_map(|(condition, _)| symbols_of_condition(condition))
            .collect()
    }

    pub(crate) fn is_compiled_under(&self, section: usize, symbols: &BTreeSet<String>) -> bool {
        let defined: BTreeSet<&str> = symbols.iter().map(String::as_str).collect();
        self.conditions(section)
            .into_iter()
            .all(|(condition, holds)| evaluate(condition, &defined).is_some_and(|value| value == holds))
    }

    /// Returns the innermost section around both bytes.
    pub(crate) fn common(&self, first: usize, last: usize) -> Option<usize> {
        if self.sections.is_empty() {
            return None;
        }
        let (mut first, mut last) = (self.section_around(first), self.section_around(last));
        // A section's number is greater than that of its enclosing section.
        while first != last {
            let deeper = if first > last { &mut first } else { &mut last };
            *deeper = deeper.and_then(|section| self.sections[section].around);
        }
        first
    }

    /// Returns the condition under which code at a byte is compiled; `""` if unconditional.
    pub fn condition(&self, byte: usize) -> String {
        self.condition_of(self.section_around(byte))
    }

    /// Returns the condition of a section: conditions of nested `#if`s joined by `&&`, those of preceding branches negated.
    pub(crate) fn condition_of(&self, section: Option<usize>) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut length = 0;
        let mut section = section;
        while let Some(at) = section {
            let mut own = Vec::new();
            own.extend(self.sections[at].condition.map(|written| (written, true)));
            let mut before = self.sections[at].before;
            while let Some(other) = before.filter(|_| length < LONGEST_MARK) {
                if let Some(written) = self.sections[other].condition {
                    own.push((written, false));
                    length += written.len();
                }
                before = self.sections[other].before;
            }
            for (written, holds) in own {
                length += written.len();
                parts.push(operand(written, holds));
            }
            section = self.sections[at].around.filter(|_| length < LONGEST_MARK);
        }
        parts.reverse();
        let mut seen = BTreeSet::new();
        parts.retain(|part| seen.insert(part.clone()));
        let mut mark = match parts.as_slice() {
            [only] => only
                .strip_prefix('(')
                .and_then(|inner| inner.strip_suffix(')'))
                .filter(|inner| !inner.contains(['(', ')']))
                .unwrap_or(only)
                .to_owned(),
            _ => parts.join(" && "),
        };
        if mark.len() > LONGEST_MARK {
            mark.truncate(mark.floor_char_boundary(LONGEST_MARK));
            mark.push('…');
        }
        mark
    }
}

/// Returns a condition as an operand of `&&`, negated unless `is_true`.
fn operand(written: &str, is_true: bool) -> String {
    let text = super::hashes::one_line(written);
    let simple = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
    match (is_true, text.strip_prefix('!').filter(|rest| simple(rest))) {
        (true, Some(_)) => text,
        (false, Some(rest)) => rest.to_owned(),
        (true, None) if simple(&text) => text,
        (false, None) if simple(&text) => format!("!{text}"),
        (true, None) => format!("({text})"),
        (false, None) => format!("!({text})"),
    }
}

/// Returns the symbols in the conditions of a text; a superset, since it includes directives in strings and comments.
pub fn mentioned(source: &str) -> BTreeSet<&str> {
    let mut symbols = BTreeSet::new();
    if !source.contains('#') {
        return symbols;
    }
    for line in source.split(['\n', '\r']) {
        let Some(rest) = line.trim_start_matches([' ', '\t']).strip_prefix('#') else {
            continue;
        };
        if let ("if" | "elif", condition) = directive(rest) {
            symbols.extend(symbols_of_condition(condition));
        }
    }
    symbols
}

/// Returns the text with directives and inactive code blanked.
pub fn blank<'t>(source: &'t str, defines: &BTreeSet<String>) -> Cow<'t, str> {
    active(source, defines).text
}

/// Returns the text as compiled under these symbols.
pub fn active<'t>(source: &'t str, defines: &BTreeSet<String>) -> Active<'t> {
    let bytes = source.as_bytes();
    let mut run = Run {
        faults: Vec::new(),
        sections: Vec::new(),
        changes: Vec::new(),
        unused: Vec::new(),
        branches: Vec::new(),
        active: true,
        defined: defines.iter().map(String::as_str).collect(),
    };
    if !bytes.contains(&b'#') {
        return run.into_active(Cow::Borrowed(source));
    }
    let mut blanks: Vec<(usize, usize)> = Vec::new();
    let mut line_start = true;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\n' | b'\r' => {
                line_start = true;
                at += 1;
            }
            b' ' | b'\t' => at += 1,
            b'#' if line_start => {
                let end = line_end(bytes, at);
                let (word, rest) = directive(&source[at + 1..end]);
                run.apply_directive(word, rest, at);
                blanks.push((at, end));
                at = end;
            }
            _ if !run.active => {
                let end = line_end(bytes, at);
                blanks.push((at, end));
                run.unused.push(&source[at..end]);
                at = end;
            }
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                line_start = false;
                at = comment_end(bytes, at);
            }
            b'"' | b'\'' | b'$' | b'@' => {
                line_start = false;
                at = literal_end(source, at).map_or(at + 1, |(end, _)| end.max(at + 1));
            }
            _ => {
                line_start = false;
                at += 1;
            }
        }
    }
    let open = run.branches.iter().map(|branch| Fault {
        byte: branch.start,
        message: "this '#if' has no '#endif'",
    });
    run.faults.extend(open);
    run.faults.sort_by_key(|fault| fault.byte);
    run.into_active(Cow::Owned(blanked(source, &blanks)))
}

/// Blanks byte ranges of a text, except line ends. Ranges are ordered and begin and end at character boundaries.
pub fn blanked(source: &str, ranges: &[(usize, usize)]) -> String {
    let mut text = String::with_capacity(source.len());
    let mut done = 0;
    for &(start, end) in ranges {
        let start = start.max(done);
        if end <= start {
            continue;
        }
        text.push_str(&source[done..start]);
        text.extend(
            source[start..end]
                .bytes()
                .map(|byte| if matches!(byte, b'\n' | b'\r') { byte as char } else { ' ' }),
        );
        done = end;
    }
    text.push_str(&source[done..]);
    text
}

fn directive(line: &str) -> (&str, &str) {
    let line = line.trim_start_matches([' ', '\t']);
    let end = line.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(line.len());
    let rest = &line[end..];
    (&line[..end], rest.find("//").map_or(rest, |comment| &rest[..comment]))
}

/// State after the directives read so far.
struct Run<'t, 'd> {
    faults: Vec<Fault>,
    sections: Vec<Section<'t>>,
    changes: Vec<(usize, Option<usize>)>,
    unused: Vec<&'t str>,
    branches: Vec<Branch>,
    active: bool,
    defined: BTreeSet<&'d str>,
}

impl<'t: 'd, 'd> Run<'t, 'd> {
    fn into_active(self, text: Cow<'t, str>) -> Active<'t> {
        Active {
            text,
            faults: self.faults,
            sections: self.sections,
            changes: self.changes,
            unused: self.unused,
        }
    }

    fn fault(&mut self, byte: usize, message: &'static str) {
        self.faults.push(Fault { byte, message });
    }

    /// Opens a section of the innermost `#if`; `before` is the preceding branch.
    fn open_section(&mut self, byte: usize, condition: Option<&'t str>, around: Option<usize>, before: Option<usize>) -> usize {
        self.sections.push(Section {
            condition,
            around,
            before,
            active: false,
        });
        let section = self.sections.len() - 1;
        self.changes.push((byte, Some(section)));
        section
    }

    /// Evaluates a condition; an unreadable one is false, as after a compiler error.
    fn is_true(&mut self, byte: usize, condition: &str) -> bool {
        evaluate(condition, &self.defined).unwrap_or_else(|| {
            self.fault(byte, "the condition of this directive cannot be read and counts as false");
            false
        })
    }

    fn apply_directive(&mut self, word: &str, rest: &'t str, byte: usize) {
        match word {
            "if" => {
                let outer = self.active;
                let condition = outer && self.is_true(byte, rest);
                let around = self.branches.last().map(|branch| branch.section);
                let section = self.open_section(byte, Some(rest), around, None);
                self.sections[section].active = condition;
                self.branches.push(Branch {
                    start: byte,
                    outer,
                    taken: condition,
                    active: condition,
                    closed: false,
                    section,
                });
            }
            "elif" | "else" => self.apply_elif_or_else(word, rest, byte),
            "endif" => match self.branches.pop() {
                Some(branch) => {
                    self.changes.push((byte, self.sections[branch.section].around));
                    self.active = branch.outer;
                    return;
                }
                None => self.fault(byte, "this '#endif' has no '#if'"),
            },
            "define" if self.active => {
                self.defined.insert(rest.trim());
            }
            "undef" if self.active => {
                self.defined.remove(rest.trim());
            }
            _ => {}
        }
        if let Some(branch) = self.branches.last() {
            self.active = branch.active;
        }
    }

    fn apply_elif_or_else(&mut self, word: &str, rest: &'t str, byte: usize) {
        let Some(branch) = self.branches.last() else {
            let message = if word == "else" {
                "this '#else' has no '#if'"
            } else {
                "this '#elif' has no '#if'"
            };
            return self.fault(byte, message);
        };
        let (outer, taken, closed, section) = (branch.outer, branch.taken, branch.closed, branch.section);
        if closed {
            self.fault(byte, "this branch follows an '#else'");
        }
        let condition = (word == "elif").then_some(rest);
        let active = outer && !taken && condition.is_none_or(|condition| self.is_true(byte, condition));
        let around = self.sections[section].around;
        let section = self.open_section(byte, condition, around, Some(section));
        self.sections[section].active = active;
        if let Some(branch) = self.branches.last_mut() {
            branch.active = active;
            branch.taken |= active || word == "else";
            branch.closed |= word == "else";
            branch.section = section;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined(symbols: &[&str]) -> BTreeSet<String> {
        symbols.iter().map(|symbol| (*symbol).to_owned()).collect()
    }

    fn compiled(source: &str, symbols: &[&str]) -> String {
        let blanked = blank(source, &defined(symbols));
        assert_eq!(blanked.len(), source.len(), "offsets stay");
        blanked.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn conditions() {
        for (condition, expected) in [
            ("A", true),
            ("B", false),
            ("!B", true),
            ("A && B", false),
            ("A || B", true),
            ("A == true", true),
            ("A != B", true),
            ("(A || B) && !(B)", true),
            ("A // comment", true),
            ("A &&", false),
            ("(A", false),
            ("", false),
            ("Framework == 'net8.0'", false),
        ] {
            assert_eq!(
                compiled(&format!("#if {condition}\nyes\n#endif"), &["A"]) == "yes",
                expected,
                "{condition}"
            );
        }
    }

    #[test]
    fn branches() {
        assert_eq!(compiled("#if A\na\n#elif B\nb\n#else\nc\n#endif\nd", &["B"]), "b d");
        assert_eq!(compiled("#if A\na\n#elif B\nb\n#else\nc\n#endif\nd", &[]), "c d");
        assert_eq!(compiled("#if A\n#if B\nb\n#else\nnb\n#endif\n#else\nc\n#endif", &["B"]), "c");
        assert_eq!(compiled("#define X\n#if X\nx\n#undef X\n#endif\n#if X\ny\n#endif", &[]), "x");
        assert_eq!(
            compiled("# if A\na\n# endif\n#region r\nb\n#endregion\n#endif\n#else\nc", &[]),
            "b c"
        );
    }

    #[test]
    fn strings_and_comments_hide_directives_in_active_code_only() {
        assert_eq!(compiled("a = @\"\n#if X\n\"; b", &[]), "a = @\" #if X \"; b");
        assert_eq!(
            compiled("a = $\"\"\"\n#if X\n{1}\n\"\"\"; b", &[]),
            "a = $\"\"\" #if X {1} \"\"\"; b"
        );
        assert_eq!(compiled("/*\n#if X\n*/ b", &[]), "/* #if X */ b");
        assert_eq!(compiled("#if X\n/* \" @\"\n#endif\nb", &[]), "b");
        assert_eq!(compiled("x = '\"';\n#if X\na\n#endif", &[]), "x = '\"';");
        assert_eq!(compiled("#!/usr/bin/env dotnet\n#:package A@1\nc", &[]), "c");
    }

    #[test]
    fn deep_conditions_are_false_and_end() {
        let deep = format!("#if {}A{}\nyes\n#endif", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(compiled(&deep, &["A"]), "");
        assert_eq!(compiled(&format!("#if {}A\nyes\n#endif", "!".repeat(100_000)), &["A"]), "");
    }

    fn faults(source: &str) -> Vec<(usize, &'static str)> {
        let found = active(source, &defined(&["A"])).faults;
        found.iter().map(|fault| (fault.byte, fault.message)).collect()
    }

    #[test]
    fn unbalanced_directives_are_told() {
        assert_eq!(faults("#if A\n#if B\n#endif\n"), [(0, "this '#if' has no '#endif'")]);
        assert_eq!(
            faults("x\n#endif\n#else\n"),
            [(2, "this '#endif' has no '#if'"), (9, "this '#else' has no '#if'")]
        );
        assert_eq!(faults("#if A\n#else\n#elif B\n#endif"), [(12, "this branch follows an '#else'")]);
        assert_eq!(faults("#if A &&\n#endif").len(), 1);
        assert_eq!(faults("#if A\na = \"\"\"\n#endif\n\"\"\";\n/*\n#endif\n*/\n#endif"), []);
    }

    #[test]
    fn each_byte_is_known_to_be_compiled_or_not() {
        let source = "a\n#if A\nb\n#if B\nc\n#endif\n#else\nd\n#if A\ne\n#endif\n#endif\nf";
        let run = active(source, &defined(&["A"]));
        let compiled: String = "abcdef"
            .chars()
            .filter(|letter| run.is_compiled(source.find(&format!("{letter}\n")).unwrap_or(source.len() - 1)))
            .collect();
        assert_eq!(compiled, "abf");
    }

    #[test]
    fn marks() {
        let source = "a\n#if A\nb\n#if !B || C\nc\n#endif\n#elif D\nd\n#else\ne\n#endif\nf";
        let run = active(source, &defined(&["A"]));
        for (letter, expected) in [
            ("\nb", "A"),
            ("\nc", "A && (!B || C)"),
            ("\nd", "!A && D"),
            ("\ne", "!A && !D"),
            ("\nf", ""),
        ] {
            assert_eq!(run.condition(source.find(letter).expect("there") + 1), expected, "{letter}");
        }
        assert_eq!(run.condition(0), "");
        let deep = "#if ABCDEFGH\n".repeat(20_000);
        assert!(active(&deep, &defined(&[])).condition(deep.len()).len() < 300);
    }

    #[test]
    fn symbols_mentioned() {
        assert!(mentioned("class A { }").is_empty());
        let found = mentioned("#define Z\n # if (A && !B) || true // C\n#elif D\n#endif\n#region E");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["A", "B", "D"]);
    }
}
