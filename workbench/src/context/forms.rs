//! What can be shown of a type, and how: its source, its outline, or in brief; before all but the source stand the members of it that the query names.

use super::members::Stretch;
use super::words::for_each_word;
use crate::symbols::index::simple_name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Lines of members that a brief form shows.
const BRIEF_LINES: usize = 4;

/// How a type or a file is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Lines of a file that no type stands in.
    File,
    /// Its name and its files, in one line.
    Line,
    /// Its name, and the lines of its outline that say a word of the query; members that answer stand there, too.
    Brief,
    /// Its outline.
    Outline,
    /// Its source.
    Code,
}

/// What can be shown of a type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    /// Its key.
    pub key: String,
    /// Its language, where it is a file of another one than C#.
    pub language: Option<String>,
    /// Where it stands: `FILE:START-END`, or files alone.
    pub places: Vec<String>,
    /// Its outline; empty when it could not be made.
    pub outline: String,
    /// Its source; `None` when it was not read, because it is larger than the whole budget.
    pub code: Option<String>,
    /// Members of it: those that the query names, then those that may answer it.
    pub members: Vec<Stretch>,
    /// How many of them the query names.
    pub named: usize,
    /// About how many tokens its source is: nearly so where it was read, else as far as what was built of it tells.
    pub size: usize,
}

/// A type in a form, with the sources of `members` of it unless all of its source is shown; `None` when there is nothing to show it by. In brief it
/// comes with the lines that say a word of what is `asked`; its shortest form, without anything asked, is its name and place.
pub fn section(text: &Texts, form: Form, members: &[&Stretch], asked: Option<&BTreeSet<String>>) -> Option<String> {
    let places = text.places.join(", ");
    let mut head = format!("## {}\n{places}\n", text.key);
    if form != Form::Code {
        for member in members {
            let fenced = fenced("csharp", &member.text);
            head.push_str(&format!("{} at {}\n{fenced}", member.member(), member.places.join(", ")));
        }
    }
    match form {
        Form::Code => {
            let code = text.code.as_deref()?;
            let language = text.language.as_deref().unwrap_or("csharp");
            Some(format!("{head}{}\n", fenced(language, code)))
        }
        Form::Outline => {
            let body = outline_body(&text.outline)?;
            Some(format!("{head}{}\n\n", body.trim_end()))
        }
        Form::File => None,
        Form::Line if text.language.is_some() => Some(format!("- {places}\n")),
        Form::Line => Some(format!("- {} {places}\n", simple_name(&text.key))),
        Form::Brief => {
            let shown: Vec<&str> = members.iter().map(|member| member.name()).collect();
            let lines = asked.map(|asked| brief(&text.key, &text.outline, asked, &shown));
            Some(format!("{head}{}\n", lines.unwrap_or_default()))
        }
    }
}

/// A text between fences that no line of it ends.
pub fn fenced(language: &str, text: &str) -> String {
    let fence = fence(text);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// A fence: longer than any run of backquotes in a text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(3.max(longest + 1))
}

/// An outline without its title and the line of hashes, which say nothing to a reader here.
fn outline_body(outline: &str) -> Option<String> {
    let lines: Vec<&str> = outline
        .lines()
        .filter(|line| !(line.starts_with("# ") || line.starts_with("XmlDocHash:")))
        .map(|line| {
            if line.starts_with("Kind: ") {
                line.split(" | ").next().unwrap_or(line)
            } else {
                line
            }
        })
        .collect();
    let body = lines.join("\n");
    (!body.trim().is_empty()).then_some(body)
}

/// What a type is for and its members that say most words of the query, beside those that its own name says and those whose code is shown.
fn brief(key: &str, outline: &str, asked: &BTreeSet<String>, shown: &[&str]) -> String {
    let own: BTreeSet<String> = super::words::query_words(key).into_iter().collect();
    let said = |line: &str| {
        let mut said = BTreeSet::new();
        for_each_word(line, |word| {
            if asked.contains(word) && !own.contains(word) {
                said.insert(word.to_owned());
            }
        });
        said.len()
    };
    let is_shown = |line: &str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| shown.contains(&word))
    };
    let members = outline
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with("  + ") && !is_shown(line));
    let mut members: Vec<(usize, usize, &str)> = members
        .map(|(at, line)| (said(line), at, line))
        .filter(|(said, ..)| *said > 0)
        .collect();
    members.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    members.truncate(BRIEF_LINES);
    members.sort_by_key(|(_, at, _)| *at);
    let purpose = outline
        .lines()
        .filter(|line| line.starts_with("XMLDOC:") && *line != "XMLDOC: none")
        .take(1);
    purpose
        .chain(members.into_iter().map(|(.., line)| line))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_ends_its_fence() {
        for (text, expected) in [("plain", "```"), ("a ``` b", "````"), ("`````\n``", "``````"), ("", "```")] {
            assert_eq!(fence(text), expected, "{text}");
        }
        assert_eq!(
            ["", "a", "a\n"].map(|text| fenced("", text)),
            ["```\n```\n", "```\na\n```\n", "```\na\n```\n"]
        );
    }
}
