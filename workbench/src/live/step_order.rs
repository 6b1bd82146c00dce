//! Orders the steps of several sessions on a file. Times are whole seconds: within a second the order follows from the text that each save replaced.

use super::journal::{Journal, Version, operation};
use super::names::DocumentNames;
use crate::edit::session::{Content, EditSession};
use std::collections::{BTreeMap, BTreeSet};

/// A step, or a failed try, of a session.
#[derive(Clone, Debug)]
pub(super) struct SessionStep {
    /// Time in seconds since 1970.
    pub at: u64,
    /// The operation: its session and its number there.
    pub id: String,
    /// The kind of operation.
    pub what: String,
    /// Effect of the step on the file.
    pub did: Did,
}

/// The effect of a step on a file.
#[derive(Clone, Debug)]
pub(super) enum Did {
    /// The session saved the file, over the earlier content if there was a file.
    Saved { over: Content, to: Content },
    /// The operation failed, for this reason, and left the file unchanged.
    Failed(String),
}

/// Returns the steps of sessions on a document, under any of its names, that its journal has not recorded, by seconds.
pub(super) fn steps(sessions: &[EditSession], names: &DocumentNames, journal: &Journal) -> Vec<SessionStep> {
    let mut steps = Vec::new();
    for session in sessions {
        let saved = session.trail.iter().filter(|step| step.saved && names.has_path(&step.path));
        steps.extend(saved.map(|step| SessionStep {
            at: step.at,
            id: step.id.clone(),
            what: step.operation.clone(),
            did: Did::Saved {
                over: step.over.clone(),
                to: step.to.clone(),
            },
        }));
        let failed = session.failed.iter().filter(|failed| names.has_path(&failed.path));
        steps.extend(failed.map(|failed| SessionStep {
            at: failed.at,
            id: failed.id.clone(),
            what: failed.operation.clone(),
            did: Did::Failed(failed.why.clone()),
        }));
    }
    steps.retain(|step| !journal.knows(&step.id));
    steps.sort_by(|a, b| (a.at, operation(&a.id)).cmp(&(b.at, operation(&b.id))));
    steps
}

/// Orders steps, which are sorted by seconds, starting from the document's current version. Steps of a session keep their order, and a save over a
/// text comes after that text.
pub(super) fn in_order(
    mut steps: Vec<SessionStep>,
    current: Option<&Version>,
    digest_of: impl Fn(&Content) -> Option<String>,
) -> Vec<SessionStep> {
    let mut digests: BTreeMap<Content, Option<String>> = BTreeMap::new();
    let mut digest_of = move |content: &Content| digests.entry(content.clone()).or_insert_with(|| digest_of(content)).clone();
    let mut last: Option<Content> = None;
    let mut ordered = Vec::new();
    while !steps.is_empty() {
        let second = steps.iter().take_while(|step| step.at == steps[0].at).count();
        let mut seen = BTreeSet::new();
        let heads = (0..second).filter(|at| seen.insert(operation(&steps[*at].id).0));
        let heads: Vec<usize> = heads.collect();
        let first = if heads.len() == 1 {
            0
        } else {
            let now = match &last {
                Some(content) => digest_of(content),
                None => current.map(|version| version.digest.clone()),
            };
            let made: Vec<(&str, Option<String>)> = steps[..second]
                .iter()
                .filter_map(|step| Some((operation(&step.id).0, digest_of(step.to()?))))
                .collect();
            let fits = |at: &usize| {
                let Did::Saved { over, .. } = &steps[*at].did else { return 1 };
                let (own, over) = (operation(&steps[*at].id).0, digest_of(over));
                let by_others = || made.iter().any(|(session, made)| *session != own && *made == over);
                if over == now { 0 } else { 1 + usize::from(by_others()) }
            };
            heads.into_iter().min_by_key(fits).unwrap_or_default()
        };
        let step = steps.remove(first);
        last = step.to().cloned().or(last);
        ordered.push(step);
    }
    ordered
}

impl SessionStep {
    /// Returns the content of the file after the step, if it was written.
    fn to(&self) -> Option<&Content> {
        match &self.did {
            Did::Saved { to, .. } => Some(to),
            Did::Failed(_) => None,
        }
    }
}
