//! Names in place of labels, where a workspace tells what they mean: a path is a source file, `NodeStore.Get` may be a member.

use super::build;
use crate::context::Failed;
use crate::exit::Code;
use engine::build::file_label;
use engine::build::query::Reach;
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::pattern::Pattern;
use std::borrow::Cow;
use workbench::short_names::name;
pub use workbench::short_names::{expanded, with_target};

/// [`expanded`], where a text may also be the path of a source, and `Type.Member` a member: if no type has this name.
pub fn label<'t>(session: &mut Session, text: &'t str) -> Result<Cow<'t, str>, Failed> {
    if session.sources.digest(text).is_some() {
        return Ok(Cow::Owned(file_label(text)));
    }
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

/// The one label that a text means, as [`label`] reads it. `what` is what is done with it (`shown`).
pub fn one_label(session: &mut Session, text: &str, what: &str) -> Result<String, Failed> {
    let text = label(session, text)?;
    let patterns = build::patterns(&[text.into_owned()])?;
    session.the_one(&patterns, what)?.map_err(|diagnostics| Failed {
        code: Code::Usage,
        diagnostics,
    })
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
    let is_nothing = !survey.refused.is_empty() && survey.refused.iter().all(|why| why.code == ErrorCode::E_NO_TARGET);
    Ok(!is_nothing)
}
