//! Names in place of labels: `NodeStore` is the outline of a type, `NodeStore:semantic` another target of it. It knows no workspace.

use std::borrow::Cow;

/// The target of a name that names none.
const USUAL: &str = "outline";

/// The name and the target of what is no label and no path.
pub fn name(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix("global::").unwrap_or(text);
    let (name, target) = text.rsplit_once(':').unwrap_or((text, USUAL));
    let begins = name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '@'));
    // A file is none.
    let is_name = begins
        && !name.ends_with(".cs")
        && !target.is_empty()
        && !name.contains(['/', '*', '?', ':'])
        && !name.contains(char::is_whitespace);
    is_name.then_some((name, target))
}

/// The label that a name is short for; other texts as they are.
pub fn expanded(text: &str) -> Cow<'_, str> {
    match name(text) {
        Some((name, target)) => Cow::Owned(format!("//types/{name}:{target}")),
        None => Cow::Borrowed(text),
    }
}

/// The text, with a target if it is a name without one: commands about summaries mean the summary of a type.
pub fn with_target<'t>(text: &'t str, target: &str) -> Cow<'t, str> {
    let plain = text.strip_prefix("global::").unwrap_or(text);
    match name(text) {
        Some(_) if !plain.contains(':') => Cow::Owned(format!("{plain}:{target}")),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{expanded, with_target};

    #[test]
    fn a_name_without_a_target_gets_one() {
        for (text, with) in [
            ("NodeStore", "NodeStore:semantic"),
            ("global::A.B", "A.B:semantic"),
            ("NodeStore:role", "NodeStore:role"),
            ("//types/A:outline", "//types/A:outline"),
        ] {
            assert_eq!(with_target(text, "semantic"), with);
        }
    }

    #[test]
    fn names_are_short_for_labels_of_types() {
        for (text, label) in [
            ("NodeStore", "//types/NodeStore:outline"),
            ("Core.NodeStore:semantic", "//types/Core.NodeStore:semantic"),
            ("NodeStore#Get(NodeId):code", "//types/NodeStore#Get(NodeId):code"),
            ("global::A.B", "//types/A.B:outline"),
            ("//types/A:outline", "//types/A:outline"),
            ("//...", "//..."),
            ("types/A:outline", "types/A:outline"),
            ("Node*", "Node*"),
            ("Node.cs", "Node.cs"),
            ("a b", "a b"),
            ("-//types/A:outline", "-//types/A:outline"),
            ("A:", "A:"),
            ("", ""),
        ] {
            assert_eq!(expanded(text), label);
        }
    }
}
