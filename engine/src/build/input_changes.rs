//! Changes of inputs between two versions of a node, or since its last one.

use super::run::dry_run::InputNow;
use crate::store::records::InputRecord;
use crate::values::digest::Digest;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Change of one input of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputChange {
    pub role: Arc<str>,
    pub label: Arc<str>,
    #[serde(flatten)]
    pub how: InputChangeKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "moved", rename_all = "snake_case")]
pub enum InputChangeKind {
    Changed {
        /// Its former output.
        from: Digest,
        to: Digest,
    },
    /// It must be built before its output is known.
    Open {
        /// Its former output.
        from: Digest,
    },
    /// It is a source that no longer exists.
    Missing {
        /// Its former digest.
        from: Digest,
    },
    Added {
        /// Its output, if known.
        to: Option<Digest>,
    },
    /// It is no longer an input.
    Dropped {
        /// Its former output.
        from: Digest,
    },
}

/// Compares the inputs of a record with the present ones.
pub(super) fn changes_since_record(then: &[InputRecord], now: &[InputNow]) -> Vec<InputChange> {
    let inputs: Vec<(Arc<str>, Arc<str>, Option<Digest>)> = now
        .iter()
        .map(|input| (input.role.clone(), input.label.clone(), input.digest))
        .collect();
    let missing: FxHashSet<&str> = now.iter().filter(|input| input.missing).map(|input| &*input.label).collect();
    let mut changes = compare_inputs(then, &inputs);
    for one in &mut changes {
        if let InputChangeKind::Open { from } = one.how
            && missing.contains(&*one.label)
        {
            one.how = InputChangeKind::Missing { from };
        }
    }
    // Certain changes first.
    changes.sort_by_key(|one| matches!(one.how, InputChangeKind::Open { .. }));
    changes
}

/// Compares the inputs of two records.
pub(super) fn changes_between_records(then: &[InputRecord], now: &[InputRecord]) -> Vec<InputChange> {
    let now: Vec<(Arc<str>, Arc<str>, Option<Digest>)> = now
        .iter()
        .map(|input| (input.role.clone(), input.label.clone(), Some(input.digest)))
        .collect();
    compare_inputs(then, &now)
}

/// Compares two lists of inputs, by role and label; certain changes first.
fn compare_inputs(then: &[InputRecord], now: &[(Arc<str>, Arc<str>, Option<Digest>)]) -> Vec<InputChange> {
    let mut old: BTreeMap<(Arc<str>, Arc<str>), Digest> = then
        .iter()
        .map(|input| ((input.role.clone(), input.label.clone()), input.digest))
        .collect();
    let mut found = Vec::new();
    for (role, label, to) in now {
        let how = match (old.remove(&(role.clone(), label.clone())), *to) {
            (Some(from), Some(to)) if from == to => continue,
            (Some(from), Some(to)) => InputChangeKind::Changed { from, to },
            (Some(from), None) => InputChangeKind::Open { from },
            (None, to) => InputChangeKind::Added { to },
        };
        found.push(InputChange {
            role: role.clone(),
            label: label.clone(),
            how,
        });
    }
    found.extend(old.into_iter().map(|((role, label), from)| InputChange {
        role,
        label,
        how: InputChangeKind::Dropped { from },
    }));
    found.sort_by_key(|one| matches!(one.how, InputChangeKind::Open { .. }));
    found
}
