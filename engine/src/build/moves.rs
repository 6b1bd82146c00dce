//! Changes of inputs between two versions of a node, or since its last one.

use super::run::dry_run::InputNow;
use crate::store::records::InputRecord;
use crate::values::digest::Digest;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What became of one input between two looks at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Role in the rule.
    pub role: Arc<str>,
    /// The input.
    pub label: Arc<str>,
    /// What became of it.
    #[serde(flatten)]
    pub how: Moved,
}

/// How an input moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "moved", rename_all = "snake_case")]
pub enum Moved {
    /// It gives something else.
    Changed {
        /// What it gave.
        from: Digest,
        /// What it gives.
        to: Digest,
    },
    /// It has to be built before one can tell.
    Open {
        /// What it gave.
        from: Digest,
    },
    /// It is a source that is not there any more.
    Missing {
        /// What it gave.
        from: Digest,
    },
    /// It was no input before.
    Added {
        /// What it gives, if that is known.
        to: Option<Digest>,
    },
    /// It is no input any more.
    Dropped {
        /// What it gave.
        from: Digest,
    },
}

/// What changed between the inputs of a record and those of now.
pub(super) fn moves_between(then: &[InputRecord], now: &[InputNow]) -> Vec<Move> {
    let inputs: Vec<(Arc<str>, Arc<str>, Option<Digest>)> = now
        .iter()
        .map(|input| (input.role.clone(), input.label.clone(), input.digest))
        .collect();
    let missing: FxHashSet<&str> = now.iter().filter(|input| input.missing).map(|input| &*input.label).collect();
    let mut moves = moves(then, &inputs);
    for one in &mut moves {
        if let Moved::Open { from } = one.how
            && missing.contains(&*one.label)
        {
            one.how = Moved::Missing { from };
        }
    }
    // What is certain comes first.
    moves.sort_by_key(|one| matches!(one.how, Moved::Open { .. }));
    moves
}

/// What moved between the inputs of two records.
pub(super) fn between(then: &[InputRecord], now: &[InputRecord]) -> Vec<Move> {
    let now: Vec<(Arc<str>, Arc<str>, Option<Digest>)> = now
        .iter()
        .map(|input| (input.role.clone(), input.label.clone(), Some(input.digest)))
        .collect();
    moves(then, &now)
}

/// What moved between two lists of inputs, by role and label; certain moves first.
fn moves(then: &[InputRecord], now: &[(Arc<str>, Arc<str>, Option<Digest>)]) -> Vec<Move> {
    let mut old: BTreeMap<(Arc<str>, Arc<str>), Digest> = then
        .iter()
        .map(|input| ((input.role.clone(), input.label.clone()), input.digest))
        .collect();
    let mut found = Vec::new();
    for (role, label, to) in now {
        let how = match (old.remove(&(role.clone(), label.clone())), *to) {
            (Some(from), Some(to)) if from == to => continue,
            (Some(from), Some(to)) => Moved::Changed { from, to },
            (Some(from), None) => Moved::Open { from },
            (None, to) => Moved::Added { to },
        };
        found.push(Move {
            role: role.clone(),
            label: label.clone(),
            how,
        });
    }
    found.extend(old.into_iter().map(|((role, label), from)| Move {
        role,
        label,
        how: Moved::Dropped { from },
    }));
    found.sort_by_key(|one| matches!(one.how, Moved::Open { .. }));
    found
}
