//! Withholding from the model of a conversation: files that no model may see, links to them, and types declared in them. Entries of an answer
//! about these are removed; a call for one is refused.

use serde_json::Value;
use std::collections::BTreeSet;
use workbench::context::withheld_files::WithheldFiles;

/// Fields with texts of files or people, which name no place.
const TEXTS: [&str; 8] = ["text", "contextText", "oldText", "newText", "detail", "line", "query", "pattern"];
/// Limit of a word that may be a file name, in bytes.
const LONGEST_NAME: usize = 300;
/// Prefix of a type in the label of a target; below it, that of a file.
const TYPES: &str = "//types/";
const FILES: &str = "//files/";

/// Files and types that no model may see.
pub struct ChatSecrets {
    pub files: WithheldFiles,
    /// Withheld types, by key.
    pub types: BTreeSet<String>,
}

impl ChatSecrets {
    /// Refuses arguments that ask for a withheld file or type, however it is named. Errors: the reason for the refusal.
    pub fn refuse_arguments(&self, value: &Value) -> Result<(), String> {
        self.refuse(value, &|word| self.is_withheld(word) || self.is_end_of_type(word))
    }

    /// Refuses an answer about a withheld file or type. Errors: the reason for the refusal.
    pub fn refuse_answer(&self, value: &Value) -> Result<(), String> {
        self.refuse(value, &|word| self.is_withheld(word))
    }

    fn refuse(&self, value: &Value, is_withheld: &dyn Fn(&str) -> bool) -> Result<(), String> {
        match find_withheld(value, true, is_withheld) {
            Some(name) if self.files.by(&name).is_some() => Err(format!("'{name}' is a file that no model may see")),
            Some(name) => Err(format!("'{name}' is in a file that no model may see")),
            None => Ok(()),
        }
    }

    /// Removes the entries of lists that are about withheld files or types. Returns their number.
    pub fn remove_withheld(&self, value: &mut Value) -> usize {
        let is_withheld = |word: &str| self.is_withheld(word);
        match value {
            Value::Array(values) => {
                let before = values.len();
                values.retain(|value| find_withheld(value, false, &is_withheld).is_none());
                before - values.len() + values.iter_mut().map(|value| self.remove_withheld(value)).sum::<usize>()
            }
            Value::Object(fields) => {
                let lists = fields.iter_mut().filter(|(name, _)| !TEXTS.contains(&name.as_str()));
                lists.map(|(_, value)| self.remove_withheld(value)).sum()
            }
            _ => 0,
        }
    }

    fn is_withheld(&self, word: &str) -> bool {
        self.files.by(word).is_some() || self.types.contains(type_of(word))
    }

    /// Returns whether the name of a withheld type ends in `word`: `NodeStore`, `Core.NodeStore`.
    fn is_end_of_type(&self, word: &str) -> bool {
        let name = type_of(word);
        let ends = |key: &String| key.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
        name.starts_with(char::is_alphabetic) && self.types.iter().any(ends)
    }
}

/// Returns the type of a member, or the type itself.
fn type_of(word: &str) -> &str {
    word.split('#').next().unwrap_or_default()
}

/// Returns the first withheld name in a value; with `all`, also in nested list entries.
fn find_withheld(value: &Value, all: bool, is_withheld: &dyn Fn(&str) -> bool) -> Option<String> {
    match value {
        Value::String(text) => find_withheld_in(text, is_withheld),
        Value::Array(values) => {
            let mut counted = values.iter().filter(|value| all || value.is_string());
            counted.find_map(|value| find_withheld(value, all, is_withheld))
        }
        Value::Object(fields) => {
            let mut counted = fields.iter().filter(|(name, _)| !TEXTS.contains(&name.as_str()));
            counted.find_map(|(_, value)| find_withheld(value, all, is_withheld))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns the first withheld name in a field. In a text of several lines, only lines about the subject and its place count.
fn find_withheld_in(text: &str, is_withheld: &dyn Fn(&str) -> bool) -> Option<String> {
    let is_text = text.trim_end().contains('\n');
    let lines = text
        .lines()
        .filter(|line| !is_text || line.contains("File: ") || line.starts_with("# "));
    // A place follows a colon; a changed file follows its status.
    let words = lines.flat_map(|line| line.split(|c: char| c.is_whitespace() || ":,;|'\"".contains(c)));
    let names = words.map(|word| word.trim_start_matches(FILES).trim_start_matches(TYPES));
    let mut names = names.filter(|name| (1..=LONGEST_NAME).contains(&name.len()));
    names.find(|name| is_withheld(name)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn secrets() -> ChatSecrets {
        ChatSecrets {
            files: WithheldFiles::new(Path::new(""), &["src/Key.cs".to_owned()]),
            types: ["N.Key".to_owned()].into(),
        }
    }

    #[test]
    fn entries_of_secret_files_are_left_out_and_others_stay() {
        let mut answer = json!({
            "hits": [
                {"path": "N.Key", "files": ["src/Key.cs"]},
                {"path": "N.Open", "files": ["src/Open.cs"], "text": "reads .env"},
                {"file": "src/Open.cs", "within": "N.Key#Get()"},
            ],
            "sources": [{"parts": [{"file": "src/Key.cs", "text": "code"}, {"file": "src/Open.cs", "text": "code"}]}],
            "state": {"notes": ["one two three four five src/Key.cs: is stale", "it is whole"]},
        });
        assert_eq!(secrets().remove_withheld(&mut answer), 4);
        assert_eq!(
            answer,
            json!({
                "hits": [{"path": "N.Open", "files": ["src/Open.cs"], "text": "reads .env"}],
                "sources": [{"parts": [{"file": "src/Open.cs", "text": "code"}]}],
                "state": {"notes": ["it is whole"]},
            })
        );
        assert_eq!(secrets().refuse_answer(&answer), Ok(()));
    }

    #[test]
    fn a_request_for_a_secret_is_refused_under_any_name() {
        for name in [
            "src/Key.cs", "src/Key.cs:3", "//files/src/Key.cs:bytes", "//types/N.Key:outline", "N.Key#Get(int)", "Key", ".env",
        ] {
            assert!(secrets().refuse_arguments(&json!({"symbols": [name]})).is_err(), "{name}");
        }
        let outline = "# N.Key T_1\nKind: class | File: src/Open.cs, src/Key.cs | Assembly: A\n";
        assert!(secrets().refuse_answer(&json!({"outlineText": outline})).is_err());
        for name in ["src/Open.cs", "N.Keys", "Monkey", "//types/N.Open:outline", ""] {
            assert_eq!(secrets().refuse_arguments(&json!({"symbols": [name]})), Ok(()), "{name}");
        }
        assert_eq!(
            secrets().refuse_answer(&json!({"outlineText": "# N.Open T_2\nXMLDOC: see src/Key.cs\n"})),
            Ok(())
        );
    }
}
