//! `cortex explain`: is it current, what moved, and who moved that.

use super::{build, last_good, names, show};
use crate::cli::ExplainArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::builds as pages;
use crate::render::explanation::{self, Origin};
use engine::build::explain::Explanation;
use engine::build::file_path;
use engine::build::moves::Moved;
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::Reason;
use std::io::Write;
use workbench::aliases::Former;
use workbench::builds::{self, FileChange, Past, Why};
use workbench::versions::{Version, versions};
use workbench::workspace::Workspace;

/// Lines are shown of the files among so many causes.
const FILES: usize = 50;

/// Runs it.
pub fn run(context: &Context, args: &ExplainArgs) -> Outcome {
    let label = match (&args.diff, &args.label) {
        (Some(builds), _) => return diff(context, builds),
        // Flags without either are refused by their parser.
        (None, label) => label.as_deref().unwrap_or_default(),
    };
    let workspace = context.workspace("explain")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let found = explain_target(context, &workspace, &mut session, label)?;
    let text = match context.json() {
        true => format!("{:#}\n", found.json()),
        false => explanation::text(&found.explanation, &found.origin, &found.former, context.out),
    };
    show::written(write!(context.stdout(), "{text}"))
}

/// An explanation with what the workspace adds to it.
pub struct Explained {
    /// What the engine says.
    pub explanation: Explanation,
    /// Where the present version comes from.
    pub origin: Origin,
    /// The versions under earlier names.
    pub former: Vec<Former>,
}

impl Explained {
    /// As one JSON document.
    pub fn json(&self) -> serde_json::Value {
        let mut document = explanation::json(&self.explanation, &self.origin);
        if !self.former.is_empty() {
            document["former"] = serde_json::json!(self.former);
        }
        document
    }
}

/// Explains the one target that a label means.
pub fn explain_target(context: &Context, workspace: &Workspace, session: &mut Session, label: &str) -> Result<Explained, Failed> {
    let label = &*names::label(session, label)?;
    let patterns = build::patterns(&[label.to_owned()])?;
    let mut explanation = match session.explain(&patterns)? {
        Ok(explained) => explained,
        Err(diagnostics) => {
            last_good::remark_missing(context, workspace, session, None, label)?;
            let code = Code::Usage;
            return Err(Failed { code, diagnostics });
        }
    };
    let failure = explanation.failure.take();
    explanation.failure = failure.and_then(|why| context.placed(&[why]).pop());
    Ok(Explained {
        former: workbench::aliases::former(&workspace.root, session, &explanation.label)?,
        origin: Origin {
            found: found(session, &explanation)?,
            change: change(workspace, session, &explanation)?,
        },
        explanation,
    })
}

/// The present version, when it was found under its key and not made for this target at that time.
fn found(session: &Session, explained: &Explanation) -> Result<Option<Version>, Failed> {
    let mut versions = versions(session, &explained.label)?;
    let Some(at) = versions.iter().rposition(|version| version.present) else {
        return Ok(None);
    };
    let present = versions.swap_remove(at);
    let Some(record) = &present.record else { return Ok(None) };
    let same = versions[..at].iter().filter(|earlier| earlier.record.as_ref() == Some(record));
    let found = *record.label != *explained.label || was_there(record.made_at, present.at, same.map(|earlier| earlier.at));
    Ok(found.then_some(present))
}

/// Whether a result that was made at one time was there already when a version of it came to be. One that was made within the same second is told
/// by the versions `before` of the same key: a version older than the result had another, which was collected.
fn was_there(made: u64, version: u64, mut before: impl Iterator<Item = u64>) -> bool {
    made < version || before.any(|earlier| earlier >= made)
}

/// The change of the file that the way ends at.
fn change(workspace: &Workspace, session: &Session, explained: &Explanation) -> Result<Option<FileChange>, Failed> {
    let reason = explained.chain.last().and_then(|step| step.reason.as_ref());
    let last = explained.last_chain.last().or(explained.last_moves.first());
    let (path, from, to): (String, Digest, Digest) = match (reason, last.map(|last| (file_path(&last.label), &last.how))) {
        (Some(Reason::FileChanged { path, from, to }), _) => (path.clone(), *from, *to),
        (None, Some((Some(path), Moved::Changed { from, to }))) => (path, *from, *to),
        _ => return Ok(None),
    };
    Ok(Past::new(&workspace.root, session, &[])?.change(&path, &from, &to)?)
}

/// What two builds differ in.
fn diff(context: &Context, builds: &[u64]) -> Outcome {
    let &[from, to] = builds else { return Ok(Code::Usage) };
    let workspace = context.workspace("explain")?;
    let session = workspace.session()?;
    context.say(workspace.warnings());
    let difference = match builds::difference(&session, from, to)? {
        Ok(difference) => difference,
        Err(unknown) => {
            let numbers: Vec<String> = unknown.iter().map(ToString::to_string).collect();
            let why = Diagnostic::error(
                ErrorCode::E_NO_BUILD,
                format!("the log has no build {}", numbers.join(" and no build ")),
            );
            return Err(Failed::new(Code::Usage, why.hint("`cortex log` lists what there is")));
        }
    };
    let past = Past::new(&workspace.root, &session, &[&difference.from, &difference.to])?;
    let mut files = Vec::new();
    for cause in &difference.causes {
        files.push(match &cause.why {
            Why::File {
                path,
                from: Some(from),
                to: Some(to),
            } if files.len() < FILES => past.change(path, from, to)?,
            _ => None,
        });
    }
    let text = if context.json() {
        format!("{:#}\n", pages::difference_json(&difference, &files))
    } else {
        pages::difference(&difference, &files, context.out)
    };
    show::written(write!(context.stdout(), "{text}"))
}

#[cfg(test)]
mod tests {
    use super::was_there;

    #[test]
    fn what_was_collected_and_made_again_was_not_there() {
        assert!(was_there(5, 9, [].into_iter()), "an older result");
        assert!(was_there(5, 5, [5].into_iter()), "made and found within one second");
        assert!(!was_there(5, 5, [].into_iter()), "made for it");
        assert!(
            !was_there(5, 5, [3].into_iter()),
            "made again: that of the version before was collected"
        );
    }
}
