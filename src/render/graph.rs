//! Answers to queries as labels, Graphviz, Mermaid and JSON. Labels are data: each form escapes them in its own way.

use super::printable;
use crate::cli::GraphForm;
use workbench::query::Answer;

/// The answer as text, ending with a line break unless it is empty.
pub fn text(answer: &Answer, form: GraphForm) -> String {
    match form {
        GraphForm::Label => answer.nodes.iter().map(|node| format!("{}\n", printable(&node.label))).collect(),
        GraphForm::Dot => dot(answer),
        GraphForm::Mermaid => mermaid(answer),
        GraphForm::Json => format!("{}\n", json(answer)),
    }
}

fn dot(answer: &Answer) -> String {
    let quoted = |text: &str| format!("\"{}\"", printable(text).replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = String::from("digraph cortex {\n  rankdir = LR;\n  node [shape = box];\n");
    for node in &answer.nodes {
        text.push_str(&format!("  {};\n", quoted(&node.label)));
    }
    for &(from, to) in &answer.edges {
        text.push_str(&format!(
            "  {} -> {};\n",
            quoted(&answer.nodes[from].label),
            quoted(&answer.nodes[to].label)
        ));
    }
    text.push_str("}\n");
    text
}

fn mermaid(answer: &Answer) -> String {
    let mut text = String::from("flowchart LR\n");
    for (at, node) in answer.nodes.iter().enumerate() {
        text.push_str(&format!("  n{at}[\"{}\"]\n", entities(&node.label)));
    }
    for (from, to) in &answer.edges {
        text.push_str(&format!("  n{from} --> n{to}\n"));
    }
    text
}

/// Mermaid's numbered entities for everything that means something inside a quoted text.
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

/// The answer as one JSON document; edges run from the reader to what it reads.
pub fn json(answer: &Answer) -> serde_json::Value {
    let label = |at: usize| &*answer.nodes[at].label;
    let nodes: Vec<serde_json::Value> = answer
        .nodes
        .iter()
        .map(|node| serde_json::json!({"label": &*node.label, "kind": node.kind}))
        .collect();
    let edges: Vec<serde_json::Value> = answer
        .edges
        .iter()
        .map(|&(from, to)| serde_json::json!([label(from), label(to)]))
        .collect();
    let unknown: Vec<serde_json::Value> = answer.unknown.iter().map(super::diagnostic::json).collect();
    serde_json::json!({"nodes": nodes, "edges": edges, "unknown": unknown, "unsure": answer.unsure})
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::graph::NodeId;
    use workbench::query::Node;

    #[test]
    fn labels_are_escaped() {
        let node = |label: &str| Node {
            id: NodeId(0),
            label: label.into(),
            kind: "command".into(),
        };
        let answer = Answer {
            nodes: vec![node("//a/q\"\\x:t"), node("//a/<b>#c`1:t")],
            edges: vec![(0, 1)],
            ..Answer::default()
        };
        insta::assert_snapshot!(text(&answer, GraphForm::Dot), @r#"
        digraph cortex {
          rankdir = LR;
          node [shape = box];
          "//a/q\"\\x:t";
          "//a/<b>#c`1:t";
          "//a/q\"\\x:t" -> "//a/<b>#c`1:t";
        }
        "#);
        insta::assert_snapshot!(text(&answer, GraphForm::Mermaid), @r##"
        flowchart LR
          n0["//a/q#34;#92;x:t"]
          n1["//a/#60;b#62;#35;c#96;1:t"]
          n0 --> n1
        "##);
    }
}
