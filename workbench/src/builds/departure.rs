//! Why a target is gone: the build that took it away, and the source files behind that. It reads the log, History and records of results.

use super::log;
use engine::build::file_path;
use engine::build::session::Session;
use engine::store::StoreError;
use engine::values::digest::Digest;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// What took a target away.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Departure {
    /// The build that did, as far as the log names it.
    pub build: Option<u64>,
    /// When that ended, seconds since 1970.
    pub at: Option<u64>,
    /// When the last version was made, seconds since 1970.
    pub made: u64,
    /// Source files that it was made of and that are not there any more.
    pub removed: Vec<String>,
    /// If there are none of these, the source files that have other content now.
    pub changed: Vec<String>,
}

/// Results followed from a target down to its files.
const STEPS: usize = 400;

/// Why there is no target of that label any more; `None` when History has nothing of it, or it is there.
///
/// # Errors
/// When the store cannot be read.
pub fn departure(session: &Session, label: &str) -> Result<Option<Departure>, StoreError> {
    let (store, view) = (&*session.engine.store, session.engine.view);
    let Some(last) = store.history(view, label)?.pop().filter(|_| session.graph.find(label).is_none()) else {
        return Ok(None);
    };
    let builds = log(store, view)?;
    let mut departure = Departure {
        made: last.at,
        ..Departure::default()
    };
    if let Some(build) = builds.iter().rev().find(|build| build.gone.labels.iter().any(|gone| gone == label)) {
        (departure.build, departure.at) = (Some(build.number), Some(build.ended()));
    }
    let (mut removed, mut changed) = (BTreeSet::new(), BTreeSet::new());
    let mut seen: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut next = VecDeque::from([last.key]);
    for _ in 0..STEPS {
        let Some(key) = next.pop_front() else { break };
        let Some(record) = store.action(&key)? else { continue };
        // What went along leads on; else what gives something else now.
        let mut inputs: Vec<(Arc<str>, Digest)> = record.inputs.into_iter().map(|input| (input.label, input.digest)).collect();
        if inputs.iter().any(|(input, _)| session.graph.find(input).is_none()) {
            inputs.retain(|(input, _)| session.graph.find(input).is_none());
        }
        for (input, digest) in inputs {
            let now = session.graph.find(&input).and_then(|id| session.graph.node(id).result);
            if now.is_some_and(|filed| filed.output == digest) || !seen.insert(input.clone()) {
                continue;
            }
            if let Some(path) = file_path(&input) {
                match now {
                    None => removed.insert(path),
                    Some(_) => changed.insert(path),
                };
                continue;
            }
            let history = store.history(view, &input)?;
            next.extend(
                history
                    .iter()
                    .rev()
                    .find(|version| version.output == digest)
                    .map(|version| version.key),
            );
        }
    }
    departure.removed = removed.into_iter().collect();
    if departure.removed.is_empty() {
        departure.changed = changed.into_iter().collect();
    }
    Ok(Some(departure))
}
