//! Inputs of a job: blobs of nodes, and source files as they were when the key was computed.

use super::blobs::Unavailable;
use super::job::{Done, Fetch, JobContext, JobInput, Load, Settled};
use super::parallel_reads::map_together;
use crate::seams::producer::Failure;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use crate::values::tree::{self, File};
use std::collections::BTreeMap;
use std::sync::Arc;

type Files = Arc<BTreeMap<String, File>>;

/// Returns a node's blob as its readers see it: a table in one page; for a tree also its files. A source file is never treated as either.
pub(super) fn load_pieces(shared: &JobContext, node: &Settled, blob: Arc<[u8]>) -> Result<(Arc<[u8]>, Option<Files>), Unavailable> {
    if !matches!(node.fetch, Fetch::Stored) {
        return Ok((blob, None));
    }
    if tree::is_tree(&blob) {
        let files = shared.blobs.tree(&blob)?;
        return Ok((blob, Some(Arc::new(files))));
    }
    Ok((shared.blobs.readable(&blob)?, None))
}

/// Minimum number of inputs that a job loads with several threads.
const LOADED_TOGETHER: usize = 1_000;

/// Loads the blobs of many inputs in parallel. The job loads the inputs that are `None` here one by one with [`load`], which returns the reasons.
pub(super) fn load_together(shared: &JobContext, inputs: &[JobInput]) -> Vec<Option<Arc<[u8]>>> {
    if inputs.len() < LOADED_TOGETHER {
        return Vec::new();
    }
    let load = |input: &JobInput| match &input.load {
        Load::Node(node) if matches!(node.fetch, Fetch::Stored) && !shared.cancel.is_cancelled() => {
            shared.blobs.get(&node.digest).ok().flatten()
        }
        _ => None,
    };
    map_together(inputs, load)
}

/// Loads a job's input. Of a source file longer than `most` bytes, loads `most + 1`: the producer refuses that length.
pub(super) fn load(shared: &JobContext, node: &Settled, most: usize) -> Result<Option<Arc<[u8]>>, Done> {
    match &node.fetch {
        Fetch::Stored => shared.blobs.get(&node.digest).map_err(Done::Broken),
        Fetch::Paths(paths) => Ok(Some(paths.clone())),
        // Several producers may read one file.
        Fetch::File(_) if let Some(bytes) = shared.blobs.held_blob(&node.digest) => Ok(Some(bytes)),
        Fetch::File(path) => match shared.world.read_at_most(path, most + 1) {
            // The prefix does not have the file's digest.
            Ok(bytes) if bytes.len() > most => Ok(Some(bytes.into())),
            Ok(bytes) if Digest::of(&bytes) == node.digest => {
                let bytes: Arc<[u8]> = bytes.into();
                shared.blobs.remember(node.digest, &bytes);
                Ok(Some(bytes))
            }
            Ok(_) => Err(Done::of_failure(Failure::Transient(Box::new(
                Diagnostic::error(ErrorCode::E_CHANGED, format!("{path} changed during the build"))
                    .at(&**path, 0, 0)
                    .hint("run the same command again"),
            )))),
            Err(error) if error.is_missing() => Err(Done::of_failure(Failure::Transient(Box::new(
                Diagnostic::error(ErrorCode::E_CHANGED, format!("{path} was removed during the build"))
                    .at(&**path, 0, 0)
                    .hint("build again: the next build starts without the file"),
            )))),
            Err(error) => Err(Done::of_failure(Failure::Transient(Box::new(
                Diagnostic::error(ErrorCode::E_READ, error.to_string())
                    .at(&**path, 0, 0)
                    .hint("make the file readable or exclude it from its source set"),
            )))),
        },
    }
}
