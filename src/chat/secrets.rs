//! What of calls and their answers no model may see: files that are kept from models, links to them, and types that stand in them. Entries of an
//! answer that are about these are left out; a call that asks for one is refused.

use serde_json::Value;
use std::collections::BTreeSet;
use workbench::context::secret::WithheldFiles;

/// Fields that hold texts of files or of people, and name no place.
const TEXTS: [&str; 8] = ["text", "contextText", "oldText", "newText", "detail", "line", "query", "pattern"];
/// Longest word that may be the name of a file.
const LONGEST_NAME: usize = 300;
/// What stands before a type in the label of a target, and before a file.
const TYPES: &str = "//types/";
const FILES: &str = "//files/";

/// What no model may see.
pub struct ChatSecrets {
    /// The files.
    pub files: WithheldFiles,
    /// The types, by key.
    pub types: BTreeSet<String>,
}

impl ChatSecrets {
    /// Refuses arguments that ask for something that no model may see, however it is named.
    ///
    /// # Errors
    /// Why they are refused.
    pub fn refuse_arguments(&self, value: &Value) -> Result<(), String> {
        self.refuse(value, &|word| self.is_withheld(word) || self.is_end_of_type(word))
    }

    /// Refuses an answer that is about something that no model may see.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn refuse_answer(&self, value: &Value) -> Result<(), String> {
        self.refuse(value, &|word| self.is_withheld(word))
    }

    fn refuse(&self, value: &Value, is_withheld: &dyn Fn(&str) -> bool) -> Result<(), String> {
        match find_withheld(value, true, is_withheld) {
            Some(name) if self.files.by(&name).is_some() => Err(format!("'{name}' is a file that no model may see")),
            Some(name) => Err(format!("'{name}' stands in a file that no model may see")),
            None => Ok(()),
        }
    }

    /// Takes the entries of lists out that are about something that no model may see. How many they are.
    pub fn leave_out(&self, value: &mut Value) -> usize {
        let is_withheld = |word: &str| self.is_withheld(word);
        match value {
            Value::Array(values) => {
                let before = values.len();
                values.retain(|value| find_withheld(value, false, &is_withheld).is_none());
                before - values.len() + values.iter_mut().map(|value| self.leave_out(value)).sum::<usize>()
            }
            Value::Object(fields) => {
                let lists = fields.iter_mut().filter(|(name, _)| !TEXTS.contains(&name.as_str()));
                lists.map(|(_, value)| self.leave_out(value)).sum()
            }
            _ => 0,
        }
    }

    fn is_withheld(&self, word: &str) -> bool {
        self.files.by(word).is_some() || self.types.contains(type_of(word))
    }

    /// Whether the name of a type that is withheld ends so: `NodeStore`, `Core.NodeStore`.
    fn is_end_of_type(&self, word: &str) -> bool {
        let name = type_of(word);
        let ends = |key: &String| key.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
        name.starts_with(char::is_alphabetic) && self.types.iter().any(ends)
    }
}

/// The type of a member, or a type itself.
fn type_of(word: &str) -> &str {
    word.split('#').next().unwrap_or_default()
}

/// The first name in a value of what no model may see; with `all` also in lists of entries in it.
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

/// The same of a field. Of text of several lines those lines count that say what something is and where it stands.
fn find_withheld_in(text: &str, is_withheld: &dyn Fn(&str) -> bool) -> Option<String> {
    let is_text = text.trim_end().contains('\n');
    let lines = text
        .lines()
        .filter(|line| !is_text || line.contains("File: ") || line.starts_with("# "));
    // Places are written behind a colon, changed files with their status in front.
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
        assert_eq!(secrets().leave_out(&mut answer), 4);
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
    fn what_asks_for_a_secret_is_refused_however_it_is_named() {
        for name in [
            "src/Key.cs",
            "src/Key.cs:3",
            "//files/src/Key.cs:bytes",
            "//types/N.Key:outline",
            "N.Key#Get(int)",
            "Key",
            ".env",
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
