//! Short names for labels: `NodeStore` is the outline of a type, `NodeStore:semantic` another target of it. Needs no workspace.

use std::borrow::Cow;

/// The default target of a name.
const USUAL: &str = "outline";

/// Splits a text that is neither a label nor a path into name and target.
pub fn split_short_name(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix("global::").unwrap_or(text);
    let (name, target) = text.rsplit_once(':').unwrap_or((text, USUAL));
    let begins = name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '@'));
    // A file name is not a short name.
    let is_name = begins
        && !name.ends_with(".cs")
        && !target.is_empty()
        && !name.contains(['/', '*', '?', ':'])
        && !name.contains(char::is_whitespace);
    is_name.then_some((name, target))
}

/// Returns the label of a short name; other texts unchanged.
pub fn expand_short_name(text: &str) -> Cow<'_, str> {
    match split_short_name(&with_arity(text)) {
        Some((name, target)) => Cow::Owned(format!("//types/{name}:{target}")),
        None => Cow::Borrowed(text),
    }
}

/// Returns a name with arity marks instead of C# type arguments before a member: `Map<K, List<V>>.Entry` as ``Map`2.Entry``.
pub fn with_arity(text: &str) -> Cow<'_, str> {
    let end = text.find(['#', '(']).unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    if !head.contains('<') || head.starts_with(['/', '-']) {
        return Cow::Borrowed(text);
    }
    let (mut marked, mut depth, mut count) = (String::with_capacity(text.len()), 0_usize, 1);
    for c in head.chars() {
        match c {
            '<' => depth += 1,
            '>' if depth == 0 => return Cow::Borrowed(text),
            '>' if depth == 1 => {
                marked.push_str(&format!("`{count}"));
                (depth, count) = (0, 1);
            }
            '>' => depth -= 1,
            ',' if depth == 1 => count += 1,
            c if depth == 0 => marked.push(c),
            _ => {}
        }
    }
    match depth {
        0 => Cow::Owned(marked + rest),
        _ => Cow::Borrowed(text),
    }
}

/// Whether a text that is not a label is written like a path.
pub fn is_path(text: &str) -> bool {
    let is_label = text.starts_with(['-', ':']) || text.starts_with("//");
    !is_label
        && split_short_name(&with_arity(text)).is_none()
        && text.contains(['/', '.'])
        && !text.contains(['*', '?', '#', '(', ':', '<', '@'])
}

/// Adds a target to a name without one: commands about summaries refer to the summary of a type.
pub fn with_target<'t>(text: &'t str, target: &str) -> Cow<'t, str> {
    let plain = text.strip_prefix("global::").unwrap_or(text);
    match split_short_name(text) {
        Some(_) if !plain.contains(':') => Cow::Owned(format!("{plain}:{target}")),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{expand_short_name, is_path, with_target};

    #[test]
    fn paths_are_told_from_names_and_labels() {
        for path in ["src/Nope.cs", "Nope.cs", "docs/", "./x", "src/a b.cs"] {
            assert!(is_path(path), "{path}");
        }
        for other in [
            "NodeStore", "A.B", "//types/A", "-//types/A", "a b", "src/*.cs", "A.op /(A)", "", "types/A:outline",
        ] {
            assert!(!is_path(other), "{other}");
        }
    }

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
            ("Map<K, List<V>>.Entry", "//types/Map`2.Entry:outline"),
            ("Builder<TResult>:code", "//types/Builder`1:code"),
            ("Map<K>#Get<T>(List<T>)", "//types/Map`1#Get<T>(List<T>):outline"),
            ("A<B", "//types/A<B:outline"),
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
            assert_eq!(expand_short_name(text), label);
        }
    }
}
