//! The state of a view between builds: the inputs of the stored graph and source stamps, and the requests known to be current.
//!
//! Encoded with minicbor in `Part::State` (key `state`) and `Part::Requests` (key: digest of the request).

use crate::seams::world::{SetDef, World};
use crate::values::digest::Digest;
use minicbor::{Decode, Encode};

/// Key of the main row of `Part::State`.
pub const STATE_KEY: &[u8] = b"state";

/// The state to which the stored graph belongs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct State {
    /// Incremented by every commit that changes the graph, the stale set or the known sources.
    #[n(0)]
    pub generation: u64,
    /// Digest of the manifest and ruleset texts.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub manifest: Vec<u8>,
    /// Digest of all producers' names and versions.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub registry: Vec<u8>,
    /// The manifest's source sets and globs.
    #[n(3)]
    pub sets: Vec<Set>,
    #[cbor(n(4), with = "minicbor::bytes")]
    pub stale: Vec<u8>,
    #[n(5)]
    pub nodes: u64,
    /// Number of the last build in the log; `None` if none was logged yet, or by an earlier cortex.
    #[n(6)]
    pub builds: Option<u64>,
    /// Number of the last build before the last loss of the graph: equal versions up to that build are not pushed again.
    #[n(7)]
    pub lost: Option<u64>,
    /// Whether this checkout has requested a bundle from a remote cache.
    #[n(8)]
    pub bundle_asked: Option<bool>,
    /// Digest that identifies the link rows of the stored graph; see [`super::graph_memory`]. `None` in the state of an earlier cortex.
    #[n(9)]
    pub links: Option<minicbor::bytes::ByteVec>,
}

/// A source set or glob.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Set {
    /// Label of its list of paths.
    #[n(0)]
    pub label: String,
    #[n(1)]
    pub include: Vec<String>,
    #[n(2)]
    pub exclude: Vec<String>,
    /// Whether `.gitignore` is honoured.
    #[n(3)]
    pub gitignore: bool,
}

/// A request that was found current.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct CurrentRequest {
    #[n(0)]
    pub generation: u64,
    #[n(1)]
    pub targets: u64,
    /// Its nodes that are laid out as files.
    #[cbor(n(10), encode_with = "node_runs::write_runs", decode_with = "node_runs::read_runs")]
    pub exported: Vec<u32>,
    /// Its nodes, in the order of a visit to all items.
    #[cbor(n(11), encode_with = "node_runs::write_runs", decode_with = "node_runs::read_runs")]
    pub roots: Vec<u32>,
    /// The sets from which its nodes come: node and output.
    #[n(4)]
    pub sets: Vec<KnownSet>,
    /// The nodes of `exported` whose file contains more than the blob.
    #[n(5)]
    pub finished: Vec<u32>,
    /// Number of current warnings in the view.
    #[n(6)]
    pub warnings: u64,
    /// The watcher's token of a moment before its files were last found in place.
    #[n(7)]
    pub watched: Option<minicbor::bytes::ByteVec>,
    /// Its patterns; empty for a request of cortex itself.
    #[n(8)]
    pub patterns: Vec<String>,
    /// Time at which it was found current, in seconds since 1970.
    #[n(9)]
    pub at: u64,
}

/// Node numbers as one byte string of [`crate::graph::runs`], because a request may have a hundred thousand.
mod node_runs {
    use crate::graph::runs;
    use minicbor::decode::{Decoder, Error};
    use minicbor::encode::{self, Encoder, Write};

    pub(super) fn write_runs<C, W: Write>(numbers: &[u32], encoder: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        encoder.bytes(&runs::to_bytes(numbers))?.ok()
    }

    pub(super) fn read_runs<C>(decoder: &mut Decoder<'_>, _: &mut C) -> Result<Vec<u32>, Error> {
        runs::from_bytes(decoder.bytes()?).ok_or_else(|| Error::message("malformed runs of node numbers"))
    }
}

/// A set, as of when a request was found current.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct KnownSet {
    #[n(0)]
    pub node: u32,
    #[cbor(n(1), with = "minicbor::bytes")]
    pub output: Vec<u8>,
}

/// A request found current again within this many seconds is not written again.
const SAME_MOMENT_SECS: u64 = 60;

impl CurrentRequest {
    /// Whether a later record needs no commit: it differs only slightly in time, or in the watcher's token without laid-out files.
    pub(super) fn says_the_same(mut self, later: &Self) -> bool {
        if later.at.abs_diff(self.at) >= SAME_MOMENT_SECS {
            return false;
        }
        self.at = later.at;
        if later.exported.is_empty() {
            self.watched.clone_from(&later.watched);
        }
        self == *later
    }

    /// Whether a watcher saw no change in the output folder since the files of this request were found in place.
    pub(super) fn outputs_are_unchanged(&self, world: &dyn World, sets: &[SetDef]) -> bool {
        let Some(moment) = self.watched.as_deref() else {
            return false;
        };
        let watched = world.watched(sets, Some(moment));
        watched.is_some_and(|watched| !watched.outputs_changed)
    }
}

impl State {
    /// Returns the digest that identifies the stored link rows, if it is known.
    pub(super) fn links_digest(&self) -> Option<Digest> {
        let bytes = self.links.as_ref()?;
        Some(Digest(bytes.as_slice().try_into().ok()?))
    }

    /// Sets the digest that identifies the link rows.
    pub(super) fn set_links_digest(&mut self, digest: Option<Digest>) {
        self.links = digest.map(|digest| digest.0.to_vec().into());
    }

    /// Whether it belongs to this manifest and these producers.
    pub fn belongs_to(&self, manifest: &Digest, registry: &Digest) -> bool {
        self.manifest == manifest.0 && self.registry == registry.0
    }

    /// Returns the sets in the form for the world.
    pub fn set_defs(&self) -> Vec<SetDef> {
        self.sets.iter().map(Set::def).collect()
    }
}

impl Set {
    /// Returns the set in the form for the sources.
    pub(super) fn def(&self) -> SetDef {
        SetDef {
            name: self.label.clone(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            gitignore: self.gitignore,
        }
    }
}
