//! The way back: from what had moved when a target was last made down to the source file that had, by what History and the records of
//! results still hold. Files come and go, and targets with them, so a way also leads through what is new and what is no more.

use super::engine::EngineError;
use super::moves::{Move, Moved, between};
use super::run::file_path;
use super::session::Session;
use super::shared_records;
use crate::store::records::{ActionRecord, HistoryRecord};
use crate::values::digest::{ActionKey, Digest};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// So many results are looked at on the way.
const STEPS: usize = 400;

/// The builds that brought the version before a move, and the one after it, as far as they are known.
pub(super) type Span = (Option<u64>, Option<u64>);

/// A move, and the one that it explains.
struct Stop {
    one: Move,
    span: Span,
    above: Option<usize>,
    depth: usize,
}

/// The shortest way from one of `moves`, which lie between two builds, to a source file, without that move itself, which is put first among them. If none leads to a file it
/// is the longest one along inputs that gave something else.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn back(session: &Session, moves: &mut [Move], span: Span) -> Result<Vec<Move>, EngineError> {
    let certain = |one: &&Move| matches!(one.how, Moved::Changed { .. });
    let (changed, others): (Vec<&Move>, Vec<&Move>) = moves.iter().partition(certain);
    let mut stops: Vec<Stop> = Vec::new();
    let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
    let mut add = |stops: &mut Vec<Stop>, one: Move, span: Span, above: Option<usize>| {
        if seen.insert(one.label.clone()) {
            let depth = above.map_or(0, |above: usize| stops[above].depth + 1);
            stops.push(Stop { one, span, above, depth });
        }
    };
    for one in changed.into_iter().chain(others) {
        add(&mut stops, one.clone(), span, None);
    }
    let mut at = 0;
    let file = loop {
        let Some(stop) = stops.get(at).filter(|_| at < STEPS) else {
            break None;
        };
        if file_path(&stop.one.label).is_some() {
            break Some(at);
        }
        let (inputs, span) = behind(session, &stop.one, stop.span)?;
        for one in inputs {
            add(&mut stops, one, span, Some(at));
        }
        at += 1;
    };
    let deepest = || {
        let changed = stops.iter().enumerate().filter(|(_, stop)| certain(&&stop.one));
        let deepest = changed.max_by_key(|(at, stop)| (stop.depth, std::cmp::Reverse(*at)));
        deepest.map(|(at, _)| at)
    };
    let mut way = Vec::new();
    let mut next = file.or_else(deepest);
    while let Some(at) = next {
        way.push(stops[at].one.clone());
        next = stops[at].above;
    }
    if let Some(first) = way.pop()
        && let Some(at) = moves.iter().position(|one| one.label == first.label)
    {
        moves[..=at].rotate_right(1);
    }
    way.reverse();
    Ok(way)
}

/// The version of an input that a reader read which was made in `build`: the last that gave what it read. Who reads rows of a table names their
/// digest, not that of the table; then the version that there was is meant.
pub fn version_read(history: &[HistoryRecord], read: Digest, build: Option<u64>) -> Option<usize> {
    let there_was = || {
        let build = build?;
        history.iter().rposition(|version| version.build.is_some_and(|of| of <= build))
    };
    history.iter().rposition(|version| version.output == read).or_else(there_was)
}

/// What had moved of what a moved node is made of, and between which builds.
fn behind(session: &Session, one: &Move, span: Span) -> Result<(Vec<Move>, Span), EngineError> {
    let history = session.engine.store.history(session.engine.view, &one.label)?;
    let last = |history: &[HistoryRecord], output: Digest| history.iter().rposition(|version| version.output == output);
    let record = |key: &ActionKey| -> Result<Option<ActionRecord>, EngineError> {
        let record = session.engine.store.action(key)?;
        Ok(record.map(|record| shared_records::record_for(&session.rules, &one.label, record)))
    };
    let nothing = (Vec::new(), span);
    match one.how {
        Moved::Changed { from, to } => {
            // The version that was read, and the last one before it that gave what was read before.
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
            Ok((between(&then.inputs, &now.inputs), (history[earlier].build, history[made].build)))
        }
        Moved::Dropped { from } | Moved::Missing { from } => {
            // What is no more has no later version.
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
            let moves = gone.map(|input| Move {
                role: input.role,
                label: input.label,
                how: Moved::Missing { from: input.digest },
            });
            Ok((moves.collect(), span))
        }
        Moved::Added { to: Some(to) } => {
            let Some(made) = last(&history, to) else { return Ok(nothing) };
            let moves = came_with(session, history[made].build, record(&history[made].key)?)?;
            Ok((moves, span))
        }
        Moved::Added { to: None } | Moved::Open { .. } => Ok(nothing),
    }
}

/// What came or moved with a node that was new in a build: the inputs of its record that have a version of that build; if there are none, the
/// files that it was made of.
fn came_with(session: &Session, build: Option<u64>, record: Option<ActionRecord>) -> Result<Vec<Move>, EngineError> {
    let (mut came, mut files) = (Vec::new(), Vec::new());
    for input in record.map(|record| record.inputs).unwrap_or_default() {
        let to = input.digest;
        let moved = |how| Move {
            role: input.role.clone(),
            label: input.label.clone(),
            how,
        };
        if file_path(&input.label).is_some() {
            files.push(moved(Moved::Added { to: Some(to) }));
            continue;
        }
        let history = session.engine.store.history(session.engine.view, &input.label)?;
        // Of rows of a table the digest is no output.
        let is_output = history.iter().any(|version| version.output == to);
        let of_build = |version: &HistoryRecord| (version.output == to || !is_output) && version.build.is_some() && version.build == build;
        if let Some(at) = history.iter().rposition(of_build) {
            let to = history[at].output;
            // What was taken away and came back as it was has that output twice in a row.
            came.push(
                match history[..at].last().map(|before| before.output).filter(|before| *before != to) {
                    Some(from) => moved(Moved::Changed { from, to }),
                    None => moved(Moved::Added { to: Some(to) }),
                },
            );
        }
    }
    Ok(if came.is_empty() { files } else { came })
}
