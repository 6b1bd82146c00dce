//! The text of a vector: the words of a type, a member or a question, weighted by significance.

use super::QUERY;
use engine::seams::producer::{Failure, Inputs};
use serde_json::Value;

/// Keys of the inputs' JSON whose values are words; the other values repeat them or name kinds.
const SAID: [&str; 4] = ["symbol", "signature", "body", "type"];

/// The texts of one subject.
pub(super) struct Described {
    /// The name of the type.
    name: String,
    documentation: String,
    declarations: String,
    code: String,
}

impl Described {
    /// Reads the inputs of the producer.
    pub(super) fn from_inputs(inputs: &Inputs<'_>) -> Result<Self, Failure> {
        let text = |role: &str| -> Result<String, Failure> {
            let blobs = inputs.all(role).iter();
            let texts = blobs.map(|blob| std::str::from_utf8(&blob.bytes).map_err(|_| Failure::permanent(format!("{role} is not text"))));
            Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
        };
        let structure = text("structure")?;
        let symbol = structure.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
        let symbol = symbol
            .and_then(|value| value["symbol"].as_str().map(str::to_owned))
            .unwrap_or_default();
        Ok(Self {
            name: symbol.rsplit(['.', '+']).next().unwrap_or_default().to_owned(),
            documentation: format!("{}{}", without_tags(&words_of_lines(&text("xmldoc")?, true)), text(QUERY)?),
            declarations: words_of_lines(&structure, false),
            code: format!("{}{}", words_of_lines(&text("impl")?, false), text("code")?),
        })
    }

    pub(super) fn weighted(&self) -> [(f32, &str); 4] {
        [
            (4.0, &self.name),
            (2.0, &self.documentation),
            (2.0, &self.declarations),
            (1.0, &self.code),
        ]
    }

    /// Returns all texts, the most significant first: models weight the beginning.
    pub(super) fn text(&self) -> String {
        let parts = [&self.name, &self.documentation, &self.declarations, &self.code];
        parts
            .into_iter()
            .filter(|part| !part.trim().is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Returns the words in lines of JSON; `all` of its texts, or those under [`SAID`].
fn words_of_lines(lines: &str, all: bool) -> String {
    let mut found = String::new();
    for value in lines.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        gather(&value, all, &mut found);
    }
    found
}

fn gather(value: &Value, all: bool, found: &mut String) {
    match value {
        Value::String(text) if all => {
            found.push_str(text);
            found.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, all, found)),
        Value::Object(fields) => {
            for (key, inner) in fields {
                gather(inner, all || SAID.contains(&key.as_str()), found);
            }
        }
        _ => {}
    }
}

/// Returns documentation without its tags; the names in references stay.
fn without_tags(xml: &str) -> String {
    let mut text = String::with_capacity(xml.len());
    for piece in xml.split('<') {
        let Some((tag, after)) = piece.split_once('>') else {
            text.push_str(piece);
            continue;
        };
        text.push_str(tag.split('"').nth(1).unwrap_or(" "));
        text.push_str(after);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_loses_its_tags_and_keeps_what_they_name() {
        assert_eq!(
            without_tags("<summary>Reads <see cref=\"Node\"/> once.</summary>"),
            " Reads Node once. "
        );
        assert_eq!(without_tags("a < b"), "a  b");
    }

    #[test]
    fn only_words_are_taken_from_declarations() {
        let line = "{\"symbol\":\"A.B\",\"kind\":\"class\",\"signature\":\"public class B\",\"bases\":[\"C\"]}";
        assert_eq!(words_of_lines(line, false), "public class B\nA.B\n");
    }
}
