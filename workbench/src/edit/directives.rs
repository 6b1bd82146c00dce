//! Directives of a text: those that open or close a range beyond it, and the symbols that decide together which text is compiled.

use crate::code_text::lines::{body, split};
use producers::csharp::preprocess::mentioned;
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directive<'t> {
    /// Offset of the directive's `#`.
    pub(super) at: usize,
    /// Text from the `#` to the end of its line.
    pub(super) text: &'t str,
}

impl<'t> Directive<'t> {
    /// Returns the end of the directive's line.
    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Splits off the directive's keyword; returns keyword and rest.
    pub(super) fn parts(&self) -> (&'t str, &'t str) {
        let rest = self.text[1..].trim_start_matches([' ', '\t']);
        rest.split_at(rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len()))
    }

    fn keyword(&self) -> &'t str {
        self.parts().0
    }

    /// Whether the compiler reports the directive as a message.
    pub(super) fn is_said(&self) -> bool {
        matches!(self.keyword(), "error" | "warning")
    }

    /// Returns the normalized text of the directive: names of regions, comments and spaces are removed. A file name may contain `//`.
    pub(super) fn meaning(&self) -> String {
        let text = match self.keyword() {
            word @ ("region" | "endregion" | "else" | "endif") => word,
            "line" | "error" | "warning" => self.text,
            _ => self.text.split("//").next().unwrap_or_default(),
        };
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }
}

/// Returns the directives of a text. `compiled` is the text after `blank`, which removes directives but keeps a `#` in comments and strings.
pub(super) fn directives<'t>(text: &'t str, compiled: &str) -> Vec<Directive<'t>> {
    let mut from = 0;
    let mut found = Vec::new();
    for line in split(text) {
        let own = body(line).trim_start_matches([' ', '\t']);
        let at = from + body(line).len() - own.len();
        if own.starts_with('#') && compiled.as_bytes().get(at) == Some(&b' ') {
            found.push(Directive { at, text: own.trim_end() });
        }
        from += line.len();
    }
    found
}

/// Returns the directives whose other end is missing, with their branches, and definitions, which apply to the end of the file.
pub(super) fn unpaired_directives<'d, 't>(directives: impl IntoIterator<Item = &'d Directive<'t>>) -> Vec<&'d Directive<'t>>
where
    't: 'd,
{
    let mut open: Vec<&Directive<'_>> = Vec::new();
    for one in directives {
        let begin = open.iter().rposition(|other| !matches!(other.keyword(), "elif" | "else"));
        let begin = begin.filter(|at| open[*at].keyword() == "if");
        match (open.last().map_or("", |last| last.keyword()), one.keyword(), begin) {
            ("region", "endregion", _) => drop(open.pop()),
            (_, "endif", Some(begin)) => open.truncate(begin),
            (_, "if" | "elif" | "else" | "endif" | "region" | "endregion" | "define" | "undef", _) => open.push(one),
            _ => {}
        }
    }
    open
}

/// Returns for each branch the symbols that decide it: from its condition, earlier branches and outer conditions.
pub(super) fn deciding<'t>(directives: &[Directive<'t>]) -> BTreeSet<BTreeSet<&'t str>> {
    let mut open: Vec<BTreeSet<&str>> = Vec::new();
    let mut all = BTreeSet::new();
    for one in directives {
        match one.keyword() {
            "if" => open.push(open.last().cloned().unwrap_or_default()),
            "elif" => {}
            "endif" => drop(open.pop()),
            _ => continue,
        }
        if let Some(own) = open.last_mut().filter(|_| one.keyword() != "endif") {
            own.extend(mentioned(one.text));
            all.insert(own.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use producers::csharp::preprocess::blank;

    fn of<'t>(text: &'t str) -> Vec<Directive<'t>> {
        directives(text, &blank(text, &BTreeSet::new()))
    }

    #[test]
    fn unpaired_directives_are_found() {
        let left = |text: &str| {
            let all = of(text);
            unpaired_directives(&all)
                .iter()
                .map(|one| one.meaning())
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (text, found) in [
            (
                "#if A\n#region R\nx\r\n# endregion R\r#elif B // b\n#else\n #endif\n#pragma warning disable",
                "",
            ),
            ("var a = @\"\n#if X\n\"; /*\n#region\n*/", ""),
            ("#region R", "region"),
            ("#if A && B // b\n#region\n#endif", "#ifA&&B region endif"),
            ("#endif\n#if !A", "endif #if!A"),
            ("#else\n#endif", "else endif"),
            ("#if A\n#if B\n#elif C\n#else\n#endif\n#else", "#ifA else"),
            ("#define A // a", "#defineA"),
        ] {
            assert_eq!(left(text), found, "{text}");
        }
    }

    #[test]
    fn symbols_that_decide_together_are_told_by_branch() {
        let text = "#if A\n#if B && C\n#endif\n#elif D\n#else\n#endif\n#if E\n#endif\n";
        let found: Vec<Vec<&str>> = deciding(&of(text)).into_iter().map(|one| one.into_iter().collect()).collect();
        assert_eq!(found, [vec!["A"], vec!["A", "B", "C"], vec!["A", "D"], vec!["E"]]);
    }
}
