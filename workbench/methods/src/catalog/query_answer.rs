//! Answer of `query`, and its forms: labels, Graphviz and Mermaid. Labels are data: each form escapes them in its own way.

use crate::render::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;

/// The nodes that answer a query.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueryAnswer {
    /// Nodes in the order of labels; those of a path in its order.
    pub nodes: Vec<AnswerNode>,
    /// Pairs of labels: a reader, and its input.
    pub edges: Vec<(String, String)>,
    /// Sets that have to be built before all nodes are known.
    pub unknown: Vec<Value>,
    /// Number of nodes whose inputs are known only as of the last build, or only in part.
    pub unsure: usize,
}

/// A node.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AnswerNode {
    /// Its label.
    pub label: String,
    /// Its implementation; `source` for files and sets.
    pub kind: String,
}

/// Format of a drawn graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    Dot,
    Mermaid,
}

/// Formats labels, one per line.
pub fn labels(found: &QueryAnswer) -> String {
    found.nodes.iter().map(|node| format!("{}\n", printable(&node.label))).collect()
}

/// Formats the nodes and their edges.
pub fn drawn(found: &QueryAnswer, drawing: Drawing) -> String {
    match drawing {
        Drawing::Dot => dot(found),
        Drawing::Mermaid => mermaid(found),
    }
}

fn dot(found: &QueryAnswer) -> String {
    let quoted = |text: &str| format!("\"{}\"", printable(text).replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = String::from("digraph cortex {\n  rankdir = LR;\n  node [shape = box];\n");
    for node in &found.nodes {
        text.push_str(&format!("  {};\n", quoted(&node.label)));
    }
    for (reader, read) in &found.edges {
        text.push_str(&format!("  {} -> {};\n", quoted(reader), quoted(read)));
    }
    text.push_str("}\n");
    text
}

fn mermaid(found: &QueryAnswer) -> String {
    let mut text = String::from("flowchart LR\n");
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (at, node) in found.nodes.iter().enumerate() {
        numbers.insert(&node.label, at);
        text.push_str(&format!("  n{at}[\"{}\"]\n", entities(&node.label)));
    }
    for (reader, read) in &found.edges {
        if let (Some(from), Some(to)) = (numbers.get(&**reader), numbers.get(&**read)) {
            text.push_str(&format!("  n{from} --> n{to}\n"));
        }
    }
    text
}

/// Escapes all characters with a meaning in a quoted text as Mermaid's numbered entities.
fn entities(label: &str) -> String {
    let mut text = String::new();
    for c in printable(label).chars() {
        match c {
            '"' | '#' | '<' | '>' | '&' | '`' | '\\' | ';' => text.push_str(&format!("#{};", c as u32)),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let node = |label: &str| AnswerNode {
            label: label.into(),
            kind: "command".into(),
        };
        let (one, other) = ("//a/q\"\\x:t", "//a/<b>#c`1:t");
        let found = QueryAnswer {
            nodes: vec![node(one), node(other)],
            edges: vec![(one.to_owned(), other.to_owned())],
            unknown: Vec::new(),
            unsure: 0,
        };
        insta::assert_snapshot!(drawn(&found, Drawing::Dot), @r#"
        digraph cortex {
          rankdir = LR;
          node [shape = box];
          "//a/q\"\\x:t";
          "//a/<b>#c`1:t";
          "//a/q\"\\x:t" -> "//a/<b>#c`1:t";
        }
        "#);
        insta::assert_snapshot!(drawn(&found, Drawing::Mermaid), @r##"
        flowchart LR
          n0["//a/q#34;#92;x:t"]
          n1["//a/#60;b#62;#35;c#96;1:t"]
          n0 --> n1
        "##);
    }
}
