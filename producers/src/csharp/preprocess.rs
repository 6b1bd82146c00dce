//! Conditional compilation before parsing: directive lines and inactive code become blanks.
//!
//! Byte offsets, lines and columns stay true: every blanked byte becomes one space, line ends stay. A directive is `#` first on its
//! line and not inside a comment or string of active code; inactive lines are not lexed at all. A `#!` line at the very top and
//! `#:` lines go the same way. Unbalanced `#if`s are taken as they come: what is open at the end of the text is closed there.

use super::lexer::{comment_end, line_end, literal_end};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Deepest nesting of `!` and parentheses in a condition; deeper conditions are false.
const CONDITION_DEPTH: u32 = 64;

/// One `#if` that is open.
struct Branch {
    /// Whether the code around it is active.
    outer: bool,
    /// Whether a branch of it was taken already.
    taken: bool,
    /// Whether the present branch is active.
    active: bool,
}

/// The text with directives and inactive code blanked.
pub fn blank<'t>(source: &'t str, defines: &BTreeSet<String>) -> Cow<'t, str> {
    let bytes = source.as_bytes();
    if !bytes.contains(&b'#') {
        return Cow::Borrowed(source);
    }
    let mut defined: BTreeSet<&str> = defines.iter().map(String::as_str).collect();
    let mut blanks: Vec<(usize, usize)> = Vec::new();
    let mut branches: Vec<Branch> = Vec::new();
    let mut active = true;
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
                step(word, rest, &mut branches, &mut active, &mut defined);
                blanks.push((at, end));
                at = end;
            }
            _ if !active => {
                let end = line_end(bytes, at);
                blanks.push((at, end));
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
    Cow::Owned(blanked(source, &blanks))
}

/// The text with those byte ranges blanked, line ends kept. Ranges begin and end at characters and are ordered.
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

fn step<'t>(word: &str, rest: &'t str, branches: &mut Vec<Branch>, active: &mut bool, defined: &mut BTreeSet<&'t str>) {
    match word {
        "if" => {
            let condition = *active && evaluate(rest, defined);
            branches.push(Branch {
                outer: *active,
                taken: condition,
                active: condition,
            });
        }
        "elif" => {
            if let Some(branch) = branches.last_mut() {
                branch.active = branch.outer && !branch.taken && evaluate(rest, defined);
                branch.taken |= branch.active;
            }
        }
        "else" => {
            if let Some(branch) = branches.last_mut() {
                branch.active = branch.outer && !branch.taken;
                branch.taken = true;
            }
        }
        "endif" => {
            if let Some(branch) = branches.pop() {
                *active = branch.outer;
                return;
            }
        }
        "define" if *active => {
            defined.insert(rest.trim());
        }
        "undef" if *active => {
            defined.remove(rest.trim());
        }
        _ => {}
    }
    if let Some(branch) = branches.last() {
        *active = branch.active;
    }
}

/// Value of a condition; what is not a condition is false, as after a compiler error.
fn evaluate(text: &str, defined: &BTreeSet<&str>) -> bool {
    let mut condition = Condition {
        text,
        at: 0,
        defined,
        sound: true,
    };
    let value = condition.or(0);
    condition.blanks();
    value && condition.sound && condition.at == text.len()
}

struct Condition<'t, 'd> {
    text: &'t str,
    at: usize,
    defined: &'d BTreeSet<&'t str>,
    sound: bool,
}

impl Condition<'_, '_> {
    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn accept(&mut self, operator: &str) -> bool {
        self.blanks();
        let found = self.text[self.at..].starts_with(operator);
        if found {
            self.at += operator.len();
        }
        found
    }

    fn or(&mut self, depth: u32) -> bool {
        let mut value = self.and(depth);
        while self.accept("||") {
            value |= self.and(depth);
        }
        value
    }

    fn and(&mut self, depth: u32) -> bool {
        let mut value = self.equality(depth);
        while self.accept("&&") {
            value &= self.equality(depth);
        }
        value
    }

    fn equality(&mut self, depth: u32) -> bool {
        let mut value = self.unary(depth);
        loop {
            if self.accept("==") {
                value = value == self.unary(depth);
            } else if self.accept("!=") {
                value = value != self.unary(depth);
            } else {
                return value;
            }
        }
    }

    fn unary(&mut self, depth: u32) -> bool {
        if depth > CONDITION_DEPTH {
            self.sound = false;
            return false;
        }
        if self.accept("!") {
            return !self.unary(depth + 1);
        }
        if self.accept("(") {
            let value = self.or(depth + 1);
            self.sound &= self.accept(")");
            return value;
        }
        self.blanks();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += end;
        match &rest[..end] {
            "" => {
                self.sound = false;
                false
            }
            "true" => true,
            "false" => false,
            symbol => self.defined.contains(symbol),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined(symbols: &[&str]) -> BTreeSet<String> {
        symbols.iter().map(|symbol| (*symbol).to_owned()).collect()
    }

    fn active(source: &str, symbols: &[&str]) -> String {
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
                active(&format!("#if {condition}\nyes\n#endif"), &["A"]) == "yes",
                expected,
                "{condition}"
            );
        }
    }

    #[test]
    fn branches() {
        assert_eq!(active("#if A\na\n#elif B\nb\n#else\nc\n#endif\nd", &["B"]), "b d");
        assert_eq!(active("#if A\na\n#elif B\nb\n#else\nc\n#endif\nd", &[]), "c d");
        assert_eq!(active("#if A\n#if B\nb\n#else\nnb\n#endif\n#else\nc\n#endif", &["B"]), "c");
        assert_eq!(active("#define X\n#if X\nx\n#undef X\n#endif\n#if X\ny\n#endif", &[]), "x");
        assert_eq!(active("# if A\na\n# endif\n#region r\nb\n#endregion\n#endif\n#else\nc", &[]), "b c");
    }

    #[test]
    fn strings_and_comments_hide_directives_in_active_code_only() {
        assert_eq!(active("a = @\"\n#if X\n\"; b", &[]), "a = @\" #if X \"; b");
        assert_eq!(active("a = $\"\"\"\n#if X\n{1}\n\"\"\"; b", &[]), "a = $\"\"\" #if X {1} \"\"\"; b");
        assert_eq!(active("/*\n#if X\n*/ b", &[]), "/* #if X */ b");
        assert_eq!(active("#if X\n/* \" @\"\n#endif\nb", &[]), "b");
        assert_eq!(active("x = '\"';\n#if X\na\n#endif", &[]), "x = '\"';");
        assert_eq!(active("#!/usr/bin/env dotnet\n#:package A@1\nc", &[]), "c");
    }

    #[test]
    fn deep_conditions_are_false_and_end() {
        let deep = format!("#if {}A{}\nyes\n#endif", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(active(&deep, &["A"]), "");
        assert_eq!(active(&format!("#if {}A\nyes\n#endif", "!".repeat(100_000)), &["A"]), "");
    }
}
