//! `csharp/xmldoc`: the documentation of a type and its members as raw XML; its digest is xmlDocHash (seed 000 §3.3).
//!
//! White space is normalized: runs become one space, with none next to the tags of sections, paragraphs and lists. Lines within `<code>` stay,
//! without trailing space and common indentation, because they are shown verbatim. The code interprets no other XML; broken XML passes through.

use super::complete::{self, Complete};
use super::hashes::one_line;
use super::ids::member_key;
use engine::seams::producer::{Failure, Input, Inputs, Output, Producer, ProducerId};
use engine::values::json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Documentation of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Docs {
    /// By member key, without undocumented members.
    pub members: BTreeMap<String, String>,
    /// Documentation of the type itself.
    #[serde(rename = "type")]
    pub own: String,
}

/// The producer `csharp/xmldoc`.
#[derive(Debug)]
pub struct XmlDoc;

impl Producer for XmlDoc {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/xmldoc", 2)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        Ok(Output::new(encode_docs(&docs(&complete::decode_complete(
            inputs.single("complete")?,
        )?))))
    }
}

/// Returns the documentation of a type.
pub fn docs(whole: &Complete) -> Docs {
    let mut docs = Docs {
        members: BTreeMap::new(),
        own: normal(&whole.doc),
    };
    for placed in &whole.members {
        let text = normal(&placed.member.doc);
        if !text.is_empty() {
            docs.members.insert(member_key(&placed.member), text);
        }
    }
    docs
}

/// Returns the blob of [`XmlDoc`]; its digest is xmlDocHash (seed 000 §3.3).
pub fn encode_docs(docs: &Docs) -> Vec<u8> {
    json::encode(docs)
}

/// Reads the blob of [`XmlDoc`]. Fails if the blob is no output of [`XmlDoc`].
pub fn decode_docs(input: &Input) -> Result<Docs, Failure> {
    serde_json::from_slice(&input.bytes).map_err(|error| Failure::permanent(format!("documentation cannot be read: {error}")))
}

/// Normalizes white space, keeping `<code>` blocks.
pub fn normal(xml: &str) -> String {
    let mut text = String::with_capacity(xml.len());
    let mut rest = xml;
    while let Some(start) = rest.find("<code") {
        let Some(open_len) = rest[start..].find('>') else { break };
        let inner = start + open_len + 1;
        let Some(len) = rest[inner..].find("</code>") else { break };
        join(&mut text, &without_margins(&one_line(&rest[..inner])));
        text.push_str(&code_lines(&rest[inner..inner + len]));
        text.push_str("</code>");
        rest = &rest[inner + len + "</code>".len()..];
    }
    join(&mut text, &without_margins(&one_line(rest)));
    text
}

/// Tags next to which white space is layout.
const BLOCKS: [&str; 14] = [
    "description", "example", "exception", "inheritdoc", "item", "list", "listheader", "para", "param", "remarks", "returns", "summary",
    "typeparam", "value",
];

/// Returns a line without the spaces next to block tags.
fn without_margins(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let inner = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
        let name = &inner[..inner.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(inner.len())];
        let end = rest[1..]
            .find(['<', '>'])
            .map(|at| at + 1)
            .filter(|at| rest[*at..].starts_with('>'));
        match end {
            Some(end) if BLOCKS.contains(&name) => {
                text.truncate(text.trim_end().len());
                text.push_str(&rest[..=end]);
                rest = rest[end + 1..].trim_start();
            }
            _ => {
                text.push('<');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}

fn code_lines(code: &str) -> String {
    let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
    let indent = lines
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let cut: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect();
    cut.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_normalised_outside_code() {
        assert_eq!(
            normal("<summary>\n  a\t b\n</summary>\n<code>\n    if (x)\n        y();  \n</code>  c"),
            "<summary>a b</summary><code>if (x)\n    y();</code> c"
        );
        assert_eq!(
            normal("<summary>\n one\n <see cref=\"X\"/> two </summary>\n <param name=\"a\"> b < c </param>"),
            "<summary>one <see cref=\"X\"/> two</summary><param name=\"a\">b < c</param>"
        );
        assert_eq!(normal("a <code"), "a <code");
        assert_eq!(normal("<code> never   closed"), "<code> never closed");
    }
}
