//! Compiler settings that directives change for the lines below, until the next change: `#nullable`, `#pragma warning` and `#line` (C# language
//! reference, "Preprocessor directives"). Such lines may belong to one declaration.

use super::directives::{Directive, directives};
use super::replacing::{comma, tail};
use super::symbol::{SymbolEdit, Where};
use producers::csharp::preprocess::{active, blank};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A compiler setting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Setting {
    /// Whether reference types without `?` are non-nullable.
    Annotations,
    /// Whether the compiler warns about possible nulls.
    NullWarnings,
    /// All warnings without a setting of their own.
    Warnings,
    Warning(String),
    /// File and line numbers in messages.
    Lines,
}

/// Settings at a place, each with value and directive.
#[derive(Clone, Debug, Default)]
pub(super) struct DirectiveSettings<'t>(BTreeMap<Setting, (&'t str, Directive<'t>)>);

/// Value of a setting without any directive.
const USUAL: &str = "";

impl<'t> DirectiveSettings<'t> {
    pub(super) fn with_directives<'d>(&self, directives: impl IntoIterator<Item = &'d Directive<'t>>) -> Self
    where
        't: 'd,
    {
        let mut set = self.clone();
        for one in directives {
            for (setting, value) in sets(one) {
                if setting == Setting::Warnings {
                    set.0.retain(|other, _| !matches!(other, Setting::Warning(_)));
                }
                set.0.insert(setting, (value, *one));
            }
        }
        set
    }

    fn directive_of(&self, setting: &Setting) -> Option<&(&'t str, Directive<'t>)> {
        let every = || self.0.get(&Setting::Warnings).filter(|_| matches!(setting, Setting::Warning(_)));
        self.0.get(setting).or_else(every)
    }

    /// Returns the directives of settings that differ from `other`, in their order.
    pub(super) fn unlike(&self, other: &Self) -> Vec<Directive<'t>> {
        let all: BTreeSet<&Setting> = self.0.keys().chain(other.0.keys()).collect();
        let value = |set: &Self, setting| set.directive_of(setting).map_or(USUAL, |(value, _)| *value);
        let differ = all.into_iter().filter(|setting| value(self, setting) != value(other, setting));
        let by: BTreeMap<usize, Directive<'t>> = differ
            .filter_map(|setting| self.directive_of(setting))
            .map(|(_, directive)| (directive.at, *directive))
            .collect();
        by.into_values().collect()
    }
}

/// Returns the settings that a directive changes.
fn sets<'t>(directive: &Directive<'t>) -> Vec<(Setting, &'t str)> {
    let (word, rest) = directive.parts();
    let plain = rest.split("//").next().unwrap_or_default();
    let (first, behind) = plain.trim().split_once(char::is_whitespace).unwrap_or((plain.trim(), ""));
    let value = |state: &'t str| {
        if matches!(state, "restore" | "default") { USUAL } else { state }
    };
    match (word, first) {
        ("nullable", state) => match behind.trim() {
            "annotations" => vec![(Setting::Annotations, value(state))],
            "warnings" => vec![(Setting::NullWarnings, value(state))],
            _ => vec![(Setting::Annotations, value(state)), (Setting::NullWarnings, value(state))],
        },
        ("pragma", "warning") => {
            let (state, names) = behind.trim().split_once(char::is_whitespace).unwrap_or((behind.trim(), ""));
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            let named: Vec<_> = names.map(|name| (Setting::Warning(warning(name)), value(state))).collect();
            if named.is_empty() {
                vec![(Setting::Warnings, value(state))]
            } else {
                named
            }
        }
        ("line", _) => vec![(Setting::Lines, value(rest.trim()))],
        _ => Vec::new(),
    }
}

/// Returns the full name of a warning: a number is one of the compiler's own.
fn warning(name: &str) -> String {
    name.parse::<u32>()
        .map_or_else(|_| name.to_owned(), |number| format!("CS{number:04}"))
}

/// Directives around one declaration only: those directly before it, and those directly after it that restore the old values.
#[derive(Clone, Debug)]
struct Around<'t> {
    /// Bytes of the declaration with the directives.
    range: Range<usize>,
    /// Directives before the declaration; empty if they are inside it.
    above: Vec<Directive<'t>>,
    /// Directives after the declaration.
    below: Vec<Directive<'t>>,
}

impl<'t> Around<'t> {
    /// Finds the directives of a declaration among the compiled ones of a text; `None` if it has none.
    fn from_text(text: &str, compiled: &[Directive<'t>], own: &Range<usize>) -> Option<Self> {
        let all: Vec<Directive<'t>> = compiled.iter().filter(|one| !sets(one).is_empty()).copied().collect();
        let is_free = |from: usize, to: usize| text[from..to].trim().is_empty();
        let (above, below) = (
            all.partition_point(|one| one.at < own.start),
            all.partition_point(|one| one.at < own.end),
        );
        let mut top = above;
        while top > 0 && is_free(all[top - 1].end(), all.get(top).map_or(own.start, |next| next.at.min(own.start))) {
            top -= 1;
        }
        let mut bottom = below;
        let mut end = own.end + tail_of_item(&text[own.end..])?;
        while all.get(bottom).is_some_and(|next| is_free(end, next.at)) {
            end = all[bottom].end();
            bottom += 1;
        }
        let set = |until: usize| DirectiveSettings::default().with_directives(&all[..until]);
        (top..=above).find_map(|top| {
            let was = set(top);
            let last = (below..bottom).find(|last| set(last + 1).unlike(&was).is_empty())?;
            let above = all[top..above].to_vec();
            Some(Self {
                range: above.first().map_or(own.start, |first| first.at)..all[last].end(),
                above,
                below: all[below..=last].to_vec(),
            })
        })
    }

    /// Whether a replacement has these directives itself, at its start and its end.
    fn is_in(&self, new: &str, directives: &[Directive<'_>]) -> bool {
        let meanings = |some: &[Directive<'_>]| some.iter().map(Directive::meaning).collect::<Vec<_>>();
        let all = meanings(directives);
        let is_at_start = self.above.is_empty() || directives.first().is_some_and(|one| new[..one.at].trim().is_empty());
        let is_at_end = directives.last().is_some_and(|one| new[one.end()..].trim().is_empty());
        is_at_start && is_at_end && all.starts_with(&meanings(&self.above)) && all.ends_with(&meanings(&self.below))
    }
}

/// Returns the range of a declaration with its directives, if an edit includes them: an insertion goes outside of them, and a text with the same
/// directives replaces them.
pub(super) fn around(text: &str, own: &Range<usize>, request: &SymbolEdit, defines: &BTreeSet<String>) -> Option<Range<usize>> {
    let active = active(text, defines);
    let mut compiled = directives(text, &active.text);
    compiled.retain(|one| active.is_compiled(one.at));
    let around = Around::from_text(text, &compiled, own)?;
    let is_meant = match request.at {
        Where::Replace => around.is_in(&request.new, &directives(&request.new, &blank(&request.new, defines))),
        Where::Before | Where::After => true,
    };
    is_meant.then_some(around.range)
}

/// Returns the length of the text after a declaration that belongs to it: a comma, comments and the line end.
fn tail_of_item(rest: &str) -> Option<usize> {
    let comma = comma(rest).unwrap_or(0);
    tail(&rest[comma..]).map(|tail| comma + tail)
}

#[cfg(test)]
mod tests {
    use super::super::symbol::{HeadPolicy, edit_symbol};
    use super::*;

    fn edit(text: &str, symbol: &str, at: Where, new: &str) -> Result<String, String> {
        let request = SymbolEdit {
            symbol: symbol.to_owned(),
            at,
            new: new.to_owned(),
            head: HeadPolicy::Replaced,
            defines: None,
        };
        edit_symbol(text, &request).map(|(made, _)| made).map_err(|refused| refused.why)
    }

    fn setting_as_written(line: &str, number: usize) -> Result<String, String> {
        Err(format!(
            "the text must not change `{line}` at line {number}, which concerns more than the declaration; nothing was changed"
        ))
    }

    #[test]
    fn directives_that_apply_to_later_code_stay_in_an_edit() {
        for (line, other) in [
            ("#nullable disable", "#nullable restore"),
            ("#nullable enable annotations", "#nullable enable warnings"),
            ("#pragma warning disable CS1591, 168", "#pragma warning disable CS1591, 169"),
            ("#pragma warning disable", "#pragma warning disable CS1591"),
            ("#line 7 \"http://a\"", "#line 7 \"http://b\""),
            ("# line hidden", "#line default"),
            ("#warning To do", "#warning Done"),
            ("#error No", "#warning No"),
        ] {
            let text = format!("class A {{\n    /// <summary>M.</summary>\n{line}\n    int M;\n    int N;\n}}\n");
            assert_eq!(edit(&text, "A.M", Where::Replace, "    long M;"), setting_as_written(line, 3));
            let with = |line: &str| format!("    /// <summary>Other.</summary>\n{line}\n    long M;");
            assert_eq!(edit(&text, "A.M", Where::Replace, &with(other)), setting_as_written(line, 3));
            let made = text.replace("M.<", "Other.<").replace("int M", "long M");
            assert_eq!(edit(&text, "A.M", Where::Replace, &with(line)), Ok(made));
            // A directive above documentation is not part of the declaration.
            let above = format!("class A {{\n{line}\n    /// <summary>M.</summary>\n    int M;\n    int N;\n}}\n");
            let made = above.replace("/// <summary>M.</summary>\n    int M", "long M");
            assert_eq!(edit(&above, "A.M", Where::Replace, "    long M;"), Ok(made));
            let made = above.replace("    /// <summary>M", "    int B;\n    /// <summary>M");
            assert_eq!(edit(&above, "A.M", Where::Before, "    int B;"), Ok(made));
        }
    }

    #[test]
    fn directives_restored_in_a_declaration_belong_to_it() {
        let class = |above: &str, inside: &str| format!("{above}class A {{\n    void M() {{\n{inside}\n    }}\n    int N;\n}}\n");
        for (above, inside) in [
            ("", "#nullable disable\n#nullable restore"),
            ("", "#nullable disable warnings\n#nullable enable annotations\n#nullable restore"),
            ("#nullable enable\n", "#nullable disable\n#nullable enable"),
            (
                "",
                "#pragma warning disable CS0168, X1\n#pragma warning restore X1 // x\n#pragma warning restore 168",
            ),
            ("", "#pragma warning disable CS0168\n#pragma warning restore"),
            (
                "#pragma warning disable\n",
                "#pragma warning restore CS1\n#pragma warning disable CS1",
            ),
            ("", "#line 3 \"a\"\n#line hidden\n#line default"),
            ("#line hidden\n", "#line (1, 2) - (3, 4) \"a\"\n#line hidden"),
            ("", "#if X\n#nullable disable\n#nullable restore\n#endif"),
            ("", "#warning To do"),
            ("#nullable enable\n", "#nullable enable"),
        ] {
            let (text, new) = (class(above, inside), "    void M() { }");
            let old = format!("    void M() {{\n{inside}\n    }}");
            assert_eq!(edit(&text, "A.M", Where::Replace, new), Ok(text.replace(&old, new)));
            assert_eq!(edit(&text.replace(&old, new), "A.M", Where::Replace, &old), Ok(text), "{old}");
        }
        for (above, inside, line) in [
            ("", "#nullable disable\n#nullable enable", 4),
            ("#nullable disable\n", "#nullable restore", 4),
            ("", "#pragma warning disable CS0168, X1\n#pragma warning restore X1", 3),
            ("#pragma warning disable CS1\n", "#pragma warning restore", 4),
            ("", "#line hidden", 3),
        ] {
            let text = class(above, inside);
            let written = text.lines().nth(line - 1).expect("a line");
            assert_eq!(
                edit(&text, "A.M", Where::Replace, "void M() { }"),
                setting_as_written(written, line)
            );
            let brought = edit(&text, "A.M", Where::Before, &format!("{inside}\nint Z;"));
            let has = brought.expect_err("it goes on below");
            assert!(has.starts_with("the text has `#") && has.contains("which concerns more"), "{has}");
        }
    }

    #[test]
    fn lines_around_one_declaration_stay_around_it() {
        let text = "class A {\n    int L;\n#pragma warning disable X\n#nullable disable\n    /// <summary>M.</summary>\n    void M() { } // m\n#nullable restore\n\n    #pragma warning restore X\n    int N;\n}\n";
        let replaced = edit(text, "A.M", Where::Replace, "    void M() => N();");
        assert_eq!(
            replaced,
            Ok(text.replace("/// <summary>M.</summary>\n    void M() { }", "void M() => N();"))
        );
        let new = "    int B;\n";
        let before = edit(text, "A.M", Where::Before, new);
        assert_eq!(
            before,
            Ok(text.replace("#pragma warning disable X\n", "    int B;\n#pragma warning disable X\n"))
        );
        let after = edit(text, "A.M", Where::After, new);
        assert_eq!(after, Ok(text.replace("restore X\n", "restore X\n    int B;\n")));
        // A replacement with the directives replaces them.
        let own = "#pragma warning disable X\n#nullable disable\n    void M() => N();\n#nullable restore\n#pragma warning restore X\n";
        let (start, end) = (text.find("#pragma").expect("there"), text.find("    int N").expect("there"));
        let made = [&text[..start], own, &text[end..]].concat();
        assert_eq!(edit(text, "A.M", Where::Replace, own).as_deref(), Ok(made.as_str()));
        assert_eq!(edit(&made, "A.M", Where::Replace, own), Ok(made));
        let half = "#pragma warning disable X\n    void M() => N();\n#pragma warning restore X\n";
        assert!(edit(text, "A.M", Where::Replace, half).is_err_and(|why| why.starts_with("the text has `#pragma warning restore X")));
        let inside = "    void M() {\n#pragma warning disable Y\n#pragma warning restore Y\n    }";
        let made = text.replace("    /// <summary>M.</summary>\n    void M() { }", inside);
        assert_eq!(edit(text, "A.M", Where::Replace, inside), Ok(made));
        // Documentation may precede them; directives around several declarations belong to none.
        let documented = "class A {\n    /// <summary>M.</summary>\n#pragma warning disable X\n    int M;\n#pragma warning restore X\n}";
        let own = "    /// <summary>M.</summary>\n#pragma warning disable X\n    long M;\n#pragma warning restore X";
        assert_eq!(
            edit(documented, "A.M", Where::Replace, own),
            Ok(documented.replace("int M", "long M"))
        );
        assert_eq!(
            edit(documented, "A.M", Where::Replace, "    long M;"),
            setting_as_written("#pragma warning disable X", 3)
        );
        let both = "class A {\n#nullable disable\n    int M;\n    int N;\n#nullable restore\n}";
        assert_eq!(
            edit(both, "A.M", Where::Before, new),
            Ok(both.replace("    int M", "    int B;\n    int M"))
        );
        assert_eq!(
            edit(both, "A.N", Where::After, new),
            Ok(both.replace("#nullable r", "    int B;\n#nullable r"))
        );
    }
}
