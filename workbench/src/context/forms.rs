//! The forms in which a type can be shown: its source, its outline, or in brief; named members come first in all forms but the source.

use super::members::MemberText;
use super::words::for_each_word;
use crate::symbols::index::simple_name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Limit of lines of members in a brief form.
const BRIEF_LINES: usize = 4;

/// The form of a type or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Lines of a file that contains no type.
    File,
    /// Its name and its files, in one line.
    Line,
    /// Its name, and the lines of its outline with a word of the query; answering members are shown there too.
    Brief,
    /// Its outline.
    Outline,
    /// Its source.
    Code,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypeTexts {
    pub key: String,
    /// Language of the file, if it is not C#.
    pub language: Option<String>,
    /// Positions of the type: `FILE:START-END`, or files alone.
    pub places: Vec<String>,
    /// Outline of the type; empty if it is missing.
    pub outline: String,
    /// Source of the type; `None` if it was not read: a named type far larger than the budget, or another type beyond the first ones.
    pub code: Option<String>,
    /// Members: those that the query names, then those that may answer it.
    pub members: Vec<MemberText>,
    /// Number of `members` that the query names.
    pub named: usize,
    /// Estimated tokens of the source: by its bytes if it was read, else by the type's outputs.
    pub size: usize,
}

/// Renders a type in a form, with the sources of `members` unless all of its source is shown; `None` when the form has no text. The brief form
/// includes the lines with words of `asked`; without `asked` it is only its name and position.
pub fn section(text: &TypeTexts, form: Form, members: &[&MemberText], asked: Option<&BTreeSet<String>>) -> Option<String> {
    let places = text.places.join(", ");
    let mut head = format!("## {}\n{places}\n", text.key);
    if form != Form::Code {
        for member in members {
            let fenced = fence_text("csharp", &member.text);
            head.push_str(&format!("{} at {}\n{fenced}", member.member(), member.places.join(", ")));
        }
    }
    match form {
        Form::Code => {
            let code = text.code.as_deref()?;
            let language = text.language.as_deref().unwrap_or("csharp");
            Some(format!("{head}{}\n", fence_text(language, code)))
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

/// Returns a text between fences that no line of it closes.
pub fn fence_text(language: &str, text: &str) -> String {
    let fence = fence(text);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// Returns a fence that is longer than any run of backquotes in a text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(3.max(longest + 1))
}

/// Returns an outline without its title and the line of hashes, which are of no use to a reader here.
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

/// Returns a type's purpose and the members that match most words of the query, except words of the type's name and members whose code is shown.
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
            ["", "a", "a\n"].map(|text| fence_text("", text)),
            ["```\n```\n", "```\na\n```\n", "```\na\n```\n"]
        );
    }
}
