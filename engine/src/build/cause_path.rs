//! Cause paths: from the changed inputs of a target's last build down to the changed source file, as far as History and the records of results
//! reach. Files appear and disappear, and targets with them, so a path may also lead through added and removed nodes.

use super::engine::EngineError;
use super::input_changes::{InputChange, InputChangeKind, changes_between_records};
use super::run::file_path;
use super::session::Session;
use super::shared_records;
use crate::store::records::{ActionRecord, HistoryRecord};
use crate::values::digest::{ActionKey, Digest};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Maximum number of results read along the paths.
const STEPS: usize = 400;

/// The builds that pushed the version before a change, and the one after it, as far as known.
pub(super) type Span = (Option<u64>, Option<u64>);

/// A change, and the one that it explains.
struct PathStep {
    one: InputChange,
    span: Span,
    above: Option<usize>,
    depth: usize,
}

/// Returns the shortest path from one of `changes`, which lie between two builds, to a source file, without that change, and puts it first among them.
/// If no path leads to a file, takes the longest one along changed inputs.
pub(super) fn find_cause_path(session: &Session, changes: &mut [InputChange], span: Span) -> Result<Vec<InputChange>, EngineError> {
    let certain = |one: &&InputChange| matches!(one.how, InputChangeKind::Changed { .. });
    let (changed, others): (Vec<&InputChange>, Vec<&InputChange>) = changes.iter().partition(certain);
    let mut steps: Vec<PathStep> = Vec::new();
    let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
    let mut add = |steps: &mut Vec<PathStep>, one: InputChange, span: Span, above: Option<usize>| {
        if seen.insert(one.label.clone()) {
            let depth = above.map_or(0, |above: usize| steps[above].depth + 1);
            steps.push(PathStep { one, span, above, depth });
        }
    };
    for one in changed.into_iter().chain(others) {
        add(&mut steps, one.clone(), span, None);
    }
    let mut at = 0;
    let file = loop {
        let Some(step) = steps.get(at).filter(|_| at < STEPS) else {
            break None;
        };
        if file_path(&step.one.label).is_some() {
            break Some(at);
        }
        let (inputs, span) = changes_behind(session, &step.one, step.span)?;
        for one in inputs {
            add(&mut steps, one, span, Some(at));
        }
        at += 1;
    };
    let deepest = || {
        let changed = steps.iter().enumerate().filter(|(_, step)| certain(&&step.one));
        let deepest = changed.max_by_key(|(at, step)| (step.depth, std::cmp::Reverse(*at)));
        deepest.map(|(at, _)| at)
    };
    let mut path = Vec::new();
    let mut next = file.or_else(deepest);
    while let Some(at) = next {
        path.push(steps[at].one.clone());
        next = steps[at].above;
    }
    if let Some(first) = path.pop()
        && let Some(at) = changes.iter().position(|one| one.label == first.label)
    {
        changes[..=at].rotate_right(1);
    }
    path.reverse();
    Ok(path)
}

/// Returns the version of an input that a reader built in `build` read: the last with the digest read. A reader of rows records their digest, not
/// the table's; then returns the version present at that build.
pub fn version_read(history: &[HistoryRecord], read: Digest, build: Option<u64>) -> Option<usize> {
    let there_was = || {
        let build = build?;
        history.iter().rposition(|version| version.build.is_some_and(|of| of <= build))
    };
    history.iter().rposition(|version| version.output == read).or_else(there_was)
}

/// Returns the changed inputs of a changed node, and the builds between which they changed.
fn changes_behind(session: &Session, one: &InputChange, span: Span) -> Result<(Vec<InputChange>, Span), EngineError> {
    let history = session.engine.store.history(session.engine.view, &one.label)?;
    let last = |history: &[HistoryRecord], output: Digest| history.iter().rposition(|version| version.output == output);
    let record = |key: &ActionKey| -> Result<Option<ActionRecord>, EngineError> {
        let record = session.engine.store.action(key)?;
        Ok(record.map(|record| shared_records::record_for(&session.rules, &one.label, record)))
    };
    let nothing = (Vec::new(), span);
    match one.how {
        InputChangeKind::Changed { from, to } => {
            // The version that was read, and the last earlier one with the former output.
            let Some(made) = version_read(&history, to, span.1) else {
                return Ok(nothing);
            };
            let before = &history[..made];
            let Some(earlier) = version_read(before, from, span.0) else {
                return Ok(nothing);
            };
            let (Some(then), Some(now)) = (record(&history[earlier].key)?, record(&history[made].key)?) else {
                return Ok(nothing);
            };
            Ok((
                changes_between_records(&then.inputs, &now.inputs),
                (history[earlier].build, history[made].build),
            ))
        }
        InputChangeKind::Dropped { from } | InputChangeKind::Missing { from } => {
            // A removed node has no later version.
            let made = last(&history, from).or_else(|| history.len().checked_sub(1));
            let Some(made) = made.filter(|_| session.graph.find(&one.label).is_none()) else {
                return Ok(nothing);
            };
            let inputs = record(&history[made].key)?.map(|record| record.inputs).unwrap_or_default();
            let gone = |label: &str| match file_path(label) {
                Some(path) => session.sources.digest(&path).is_none(),
                None => session.graph.find(label).is_none(),
            };
            let gone = inputs.into_iter().filter(|input| gone(&input.label));
            let changes = gone.map(|input| InputChange {
                role: input.role,
                label: input.label,
                how: InputChangeKind::Missing { from: input.digest },
            });
            Ok((changes.collect(), span))
        }
        InputChangeKind::Added { to: Some(to) } => {
            let Some(made) = last(&history, to) else { return Ok(nothing) };
            let changes = changes_with_new_node(session, history[made].build, record(&history[made].key)?)?;
            Ok((changes, span))
        }
        InputChangeKind::Added { to: None } | InputChangeKind::Open { .. } => Ok(nothing),
    }
}

/// Returns the inputs that appeared or changed with a node that was new in a build: those of its record with a version of that build; if none, its
/// source files.
fn changes_with_new_node(session: &Session, build: Option<u64>, record: Option<ActionRecord>) -> Result<Vec<InputChange>, EngineError> {
    let (mut found, mut files) = (Vec::new(), Vec::new());
    for input in record.map(|record| record.inputs).unwrap_or_default() {
        let to = input.digest;
        let change = |how| InputChange {
            role: input.role.clone(),
            label: input.label.clone(),
            how,
        };
        if file_path(&input.label).is_some() {
            files.push(change(InputChangeKind::Added { to: Some(to) }));
            continue;
        }
        let history = session.engine.store.history(session.engine.view, &input.label)?;
        // The digest of rows is no output.
        let is_output = history.iter().any(|version| version.output == to);
        let of_build = |version: &HistoryRecord| (version.output == to || !is_output) && version.build.is_some() && version.build == build;
        if let Some(at) = history.iter().rposition(of_build) {
            let to = history[at].output;
            // If a node was removed and added again unchanged, that output is there twice in a row.
            found.push(
                match history[..at].last().map(|before| before.output).filter(|before| *before != to) {
                    Some(from) => change(InputChangeKind::Changed { from, to }),
                    None => change(InputChangeKind::Added { to: Some(to) }),
                },
            );
        }
    }
    Ok(if found.is_empty() { files } else { found })
}
