//! `cortex explain`: is it current, what moved, and who moved that.

use super::{build, last_good, show};
use crate::cli::ExplainArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::builds as pages;
use crate::render::explanation::{self, Origin};
use engine::build::explain::{Explanation, Moved};
use engine::build::file_path;
use engine::build::session::Session;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::event::Reason;
use std::io::Write;
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
    let patterns = build::patterns(&[label.to_owned()])?;
    let workspace = context.workspace("explain")?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let explained = match session.explain(&patterns)? {
        Ok(mut explained) => {
            let failure = explained.failure.take();
            explained.failure = failure.and_then(|why| context.placed(&[why]).pop());
            explained
        }
        Err(diagnostics) => {
            last_good::remark_missing(context, &workspace, &session, None, label)?;
            let code = Code::Usage;
            return Err(Failed { code, diagnostics });
        }
    };
    let former = workbench::aliases::former(&workspace.root, &session, &explained.label)?;
    let origin = Origin {
        found: found(&session, &explained)?,
        change: change(&workspace, &session, &explained)?,
    };
    let text = if context.json() {
        let mut document = explanation::json(&explained, &origin);
        if !former.is_empty() {
            document["former"] = serde_json::json!(former);
        }
        format!("{document:#}\n")
    } else {
        explanation::text(&explained, &origin, &former, context.out)
    };
    show::written(write!(context.stdout(), "{text}"))
}

/// The present version, when it was found under its key and not made for this target at that time.
fn found(session: &Session, explained: &Explanation) -> Result<Option<Version>, Failed> {
    let mut versions = versions(session, &explained.label)?;
    let Some(at) = versions.iter().rposition(|version| version.present) else {
        return Ok(None);
    };
    let present = versions.swap_remove(at);
    let Some(record) = &present.record else { return Ok(None) };
    // A result made within one second of being found again is told by the version that it was made for. A version from before it was made had
    // another result under this key, which was collected.
    let made_for = |earlier: &Version| earlier.record.as_ref() == Some(record) && earlier.at >= record.made_at;
    let before = versions[..at].iter().any(made_for);
    let found = before || record.made_at < present.at || *record.label != *explained.label;
    Ok(found.then_some(present))
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
            let why = Diagnostic::error("E_NO_BUILD", format!("the log has no build {}", numbers.join(" and no build ")));
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
