//! Names in place of labels, resolved in a workspace: a path is a source file, `NodeStore.Get` may be a member.

use super::build;
use crate::code::Code;
use crate::failed::Failed;
use engine::build::file_label;
use engine::build::query::Reach;
use engine::build::session::Session;
use engine::values::case_folding::{same, strip_end};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::pattern::Pattern;
use engine::values::suggest::nearest;
use std::borrow::Cow;
use std::collections::BTreeSet;
use workbench::short_names::{expand_short_name, is_path, split_short_name, with_arity};

/// As [`expand_short_name`], but accepts the path of a source file, and reads `Type.Member` as a member if no type has this name. Fails
/// when a text can only be a path, and no source has it.
pub fn label_or_source<'t>(session: &mut Session, text: &'t str) -> Result<Cow<'t, str>, Failed> {
    if session.sources.digest(text).is_some() {
        return Ok(Cow::Owned(file_label(text)));
    }
    if is_path(text) {
        return Err(no_file(session, text));
    }
    let of_type = expand_short_name(text);
    let marked = with_arity(text);
    let Some(((of, member), target)) = split_short_name(&marked).and_then(|(name, target)| Some((name.rsplit_once('.')?, target))) else {
        return Ok(of_type);
    };
    if of.contains('#') {
        return Ok(of_type);
    }
    let of_member = format!("//types/{of}#{member}:{target}");
    let is_member = !names_any(session, &of_type)? && names_any(session, &of_member)?;
    Ok(if is_member { Cow::Owned(of_member) } else { of_type })
}

/// Returns why an existing file that is in no source set cannot be shown; `None` for other paths.
pub fn unread_file(session: &Session, path: &str) -> Option<Failed> {
    let path = path.trim_start_matches("./");
    let world = &session.engine.world;
    let is_there = world.root().is_some_and(|root| root.join(path).is_file()) && world.read_at_most(path, 1).is_ok();
    if !is_there || session.sources.digest(path).is_some() {
        return None;
    }
    let why = Diagnostic::error(ErrorCode::E_NO_FILE, "this file is in no source set of the workspace").found(path);
    let hint = "cortex reads .cs files, and others with the rulesets typescript, python and scip; `cortex status` lists the source sets";
    Some(Failed::new(Code::Usage, why.hint(hint)))
}

/// Builds the failure of an unknown path, with similar paths as candidates.
pub fn no_file(session: &Session, path: &str) -> Failed {
    if let Some(why) = unread_file(session, path) {
        return why;
    }
    let files = session.sources.files();
    let paths = || files.iter().map(|(path, _)| path.as_str());
    let file_name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    let mut near = nearest(path, paths(), 5);
    if near.is_empty() {
        // The same file name in another folder.
        near.extend(paths().filter(|file| file_name(file) == file_name(path)).take(5).map(str::to_owned));
    }
    if near.is_empty() {
        near = near_folders(path, paths());
    }
    let found: String = path.chars().take(120).collect();
    let why = Diagnostic::error(ErrorCode::E_NO_FILE, "there is no such file in the workspace").found(found);
    let why = match near.first() {
        Some(best) if best.ends_with(path) => why.hint(format!("did you mean {best}? paths begin at the workspace's root")),
        Some(best) => why.hint(format!("did you mean {best}?")),
        None => why.hint("write its path from the workspace's root"),
    };
    Failed::new(Code::Usage, why.candidates(near))
}

/// Returns folders of files that a path may mean, each with a `/` at its end: those that end with the path in any case, otherwise similar ones.
fn near_folders<'p>(path: &str, files: impl Iterator<Item = &'p str>) -> Vec<String> {
    let wanted = path.replace('\\', "/");
    let wanted = wanted.trim_end_matches('/');
    // A name with an extension is that of a file.
    if wanted.rsplit('/').next().is_none_or(|last| last.is_empty() || last.contains('.')) {
        return Vec::new();
    }
    let mut folders = BTreeSet::new();
    for file in files {
        folders.extend(file.match_indices('/').map(|(at, _)| &file[..at]));
    }
    let ends = |folder: &&&str| same(folder, wanted) || strip_end(folder, wanted).is_some_and(|before| before.ends_with('/'));
    let mut near: Vec<String> = folders.iter().filter(ends).take(5).map(|folder| (*folder).to_owned()).collect();
    if near.is_empty() {
        near = nearest(wanted, folders.iter().copied(), 5);
    }
    near.into_iter().map(|folder| folder + "/").collect()
}

/// Returns the single label that a text names, as [`label_or_source`] reads it. `what` is the participle for errors (`shown`).
pub fn one_label(session: &mut Session, text: &str, what: &str) -> Result<String, Failed> {
    let text = label_or_source(session, text)?;
    let patterns = build::patterns(&[text.into_owned()])?;
    session.resolve_single_target(&patterns, what)?.map_err(|diagnostics| Failed {
        code: Code::Usage,
        diagnostics,
    })
}

/// Label of the table of all types.
pub const TYPES: &str = "//index:types";

/// Returns whether [`TYPES`] must be built to know whether a text names a type or a member.
pub fn needs_types(session: &mut Session, text: &str) -> Result<bool, Failed> {
    let is_dotted = split_short_name(text).is_some_and(|(name, _)| name.contains('.') && !name.contains('#'));
    let Ok(pattern) = Pattern::parse(&expand_short_name(text)) else {
        return Ok(false);
    };
    if !is_dotted || session.rules.find(TYPES).is_none() {
        return Ok(false);
    }
    Ok(!session.survey(&[pattern], Reach::Named)?.unknown.is_empty())
}

/// Returns whether a label names targets, or may do so once a set is built.
fn names_any(session: &mut Session, label: &str) -> Result<bool, Failed> {
    let Ok(pattern) = Pattern::parse(label) else { return Ok(false) };
    let survey = session.survey(&[pattern], Reach::Named)?;
    let is_nothing = !survey.refused.is_empty() && survey.refused.iter().all(|why| why.code == ErrorCode::E_NO_TARGET);
    Ok(!is_nothing)
}

#[cfg(test)]
mod tests {
    use super::near_folders;

    #[test]
    fn folders_are_suggested_for_folders() {
        let files = ["src/Core/Deep/a.cs", "src/Core/b.cs", "src/Storage/d.cs", "test/Core/c.cs"];
        let near = |path: &str| near_folders(path, files.into_iter()).join(" ");
        assert_eq!(near("src/core"), "src/Core/");
        assert_eq!(near("Core/"), "src/Core/ test/Core/");
        assert_eq!(near("deep"), "src/Core/Deep/");
        assert_eq!(near("src/Storag"), "src/Storage/");
        assert_eq!(near("src/Nope.cs"), "");
        assert_eq!(near(""), "");
    }
}
