//! Names in place of labels: `NodeStore` is the outline of a type, `NodeStore:semantic` another target of it, `NodeStore.Get` a member.

use crate::context::Failed;
use engine::build::query::Reach;
use engine::build::session::Session;
use engine::values::pattern::Pattern;
use std::borrow::Cow;

/// The target of a name that names none.
const USUAL: &str = "outline";

/// The name and the target of what is no label and no path.
fn name(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix("global::").unwrap_or(text);
    let (name, target) = text.rsplit_once(':').unwrap_or((text, USUAL));
    let begins = name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '@'));
    let is_name = begins && !target.is_empty() && !name.contains(['/', '*', '?', ':']) && !name.contains(char::is_whitespace);
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

/// [`expanded`], where `Type.Member` may also be a member: if no type has this name.
pub fn label<'t>(session: &mut Session, text: &'t str) -> Result<Cow<'t, str>, Failed> {
    let of_type = expanded(text);
    let Some(((of, member), target)) = name(text).and_then(|(name, target)| Some((name.rsplit_once('.')?, target))) else {
        return Ok(of_type);
    };
    if of.contains('#') {
        return Ok(of_type);
    }
    let of_member = format!("//types/{of}#{member}:{target}");
    let is_member = !names_any(session, &of_type)? && names_any(session, &of_member)?;
    Ok(if is_member { Cow::Owned(of_member) } else { of_type })
}

/// The table of all types.
pub const TYPES: &str = "//index:types";

/// Whether [`TYPES`] has to be built before it is known whether a text is the name of a type or of a member.
pub fn needs_types(session: &mut Session, text: &str) -> Result<bool, Failed> {
    let is_dotted = name(text).is_some_and(|(name, _)| name.contains('.') && !name.contains('#'));
    let Ok(pattern) = Pattern::parse(&expanded(text)) else {
        return Ok(false);
    };
    if !is_dotted || session.rules.find(TYPES).is_none() {
        return Ok(false);
    }
    Ok(!session.survey(&[pattern], Reach::Named)?.unknown.is_empty())
}

/// Whether a label names a target, or several, or may do so once a set is built.
fn names_any(session: &mut Session, label: &str) -> Result<bool, Failed> {
    let Ok(pattern) = Pattern::parse(label) else { return Ok(false) };
    let survey = session.survey(&[pattern], Reach::Named)?;
    let is_nothing = !survey.refused.is_empty() && survey.refused.iter().all(|why| why.code == "E_NO_TARGET");
    Ok(!is_nothing)
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
            ("a b", "a b"),
            ("-//types/A:outline", "-//types/A:outline"),
            ("A:", "A:"),
            ("", ""),
        ] {
            assert_eq!(expanded(text), label);
        }
    }
}
