//! What was read of source files and sets at either of two builds, by any target that stood then. It tells what came or went from what one
//! target began or ceased to read.

use engine::store::records::InputRecord;
use engine::values::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What leaves gave, at the one build and at the other.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    wanted: BTreeMap<Arc<str>, Sides>,
    /// The sides of which what some targets were made of is not known any more.
    short: [bool; 2],
}

/// A target that was last made long before a build may have read what a leaf gave then, so that it may have given several things.
#[derive(Debug, Default)]
struct Sides {
    before: BTreeSet<Digest>,
    after: BTreeSet<Digest>,
}

/// One of two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The one.
    Before,
    /// The other.
    After,
}

impl Leaves {
    /// Nothing is known yet of these.
    pub(super) fn of(wanted: BTreeSet<Arc<str>>) -> Self {
        let wanted = wanted.into_iter().map(|label| (label, Sides::default())).collect();
        Self { wanted, ..Self::default() }
    }

    /// Whether anything is to be learnt.
    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Learns from what a target that stood after a build was made of.
    pub(super) fn learn(&mut self, side: Side, inputs: &[InputRecord]) {
        for input in inputs {
            if let Some(sides) = self.wanted.get_mut(&input.label) {
                sides.of_mut(side).insert(input.digest);
            }
        }
    }

    /// What a target that stood after a build was made of is not known any more.
    pub(super) fn fall_short(&mut self, side: Side) {
        self.short[side as usize] = true;
    }

    /// What a leaf gave on the side on which a target did not read it, which on the other read `digest`: that same, if it was given
    /// there too, or if that cannot be told; `None` when nothing read it there.
    pub(super) fn gave(&self, side: Side, label: &str, digest: Digest) -> Option<Digest> {
        let given = self.wanted.get(label)?.of(side);
        let unknown = self.short[side as usize].then_some(&digest);
        given.get(&digest).or_else(|| given.first()).or(unknown).copied()
    }
}

impl Sides {
    fn of(&self, side: Side) -> &BTreeSet<Digest> {
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
