//! Digests of source files and sets that targets read at either of two builds. They distinguish an added or removed leaf from one that a target began
//! or ceased to read.

use engine::store::records::InputRecord;
use engine::values::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The digests of leaves at the first and at the second build.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    wanted: BTreeMap<Arc<str>, Sides>,
    /// Sides of which the inputs of some targets are unknown.
    short: [bool; 2],
}

/// A target last built long before a build may have read an older digest of a leaf, so that a leaf may have several.
#[derive(Debug, Default)]
struct Sides {
    before: BTreeSet<Digest>,
    after: BTreeSet<Digest>,
}

/// One of two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The first build.
    Before,
    /// The second build.
    After,
}

impl Leaves {
    /// Creates an empty record for these leaves.
    pub(super) fn new(wanted: BTreeSet<Arc<str>>) -> Self {
        let wanted = wanted.into_iter().map(|label| (label, Sides::default())).collect();
        Self { wanted, ..Self::default() }
    }

    /// Whether there are no leaves to look up.
    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Adds the inputs of a target that existed after a build.
    pub(super) fn learn(&mut self, side: Side, inputs: &[InputRecord]) {
        for input in inputs {
            if let Some(sides) = self.wanted.get_mut(&input.label) {
                sides.of_mut(side).insert(input.digest);
            }
        }
    }

    /// Notes that the inputs of a target that existed after a build are unknown.
    pub(super) fn fall_short(&mut self, side: Side) {
        self.short[side as usize] = true;
    }

    /// Returns the digest of a leaf on the side where a target did not read it; the other side has `digest`. Prefers `digest` if it was read there
    /// too or if that is unknown; `None` when no target read the leaf there.
    pub(super) fn gave(&self, side: Side, label: &str, digest: Digest) -> Option<Digest> {
        let given = self.wanted.get(label)?.digests_on(side);
        let unknown = self.short[side as usize].then_some(&digest);
        given.get(&digest).or_else(|| given.first()).or(unknown).copied()
    }
}

impl Sides {
    fn digests_on(&self, side: Side) -> &BTreeSet<Digest> {
        match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        }
    }

    fn of_mut(&mut self, side: Side) -> &mut BTreeSet<Digest> {
        match side {
            Side::Before => &mut self.before,
            Side::After => &mut self.after,
        }
    }
}
