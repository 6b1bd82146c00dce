//! Outputs of settled nodes, as the request of a run reads them.

use super::{Run, RunError, source_nodes};
use crate::build::parallel_reads::map_together;
use crate::graph::NodeId;
use crate::values::digest::Digest;
use std::sync::Arc;

impl Run<'_> {
    /// Returns the output of a settled node as its readers see it; runs its producer again if a blob is missing.
    pub fn blob(&mut self, id: NodeId) -> Result<Option<Arc<[u8]>>, RunError> {
        let Some(digest) = self.output(id) else { return Ok(None) };
        let label = self.graph.node(id).label.clone();
        if let Some(source_nodes::Leaf::File(path)) = source_nodes::leaf(&label) {
            return Ok(self
                .context
                .shared
                .world
                .read(&path)
                .ok()
                .filter(|bytes| Digest::of(bytes) == digest)
                .map(Into::into));
        }
        if let Some(blob) = self.readable(&digest)? {
            return Ok(Some(blob));
        }
        if source_nodes::leaf(&label).is_some() {
            return Ok(self.context.leaves.set(&label));
        }
        if self.context.options.mode.is_dry() || self.is_stopped() {
            return Ok(None);
        }
        self.rebuild_lost_blob(id)?;
        self.work()?;
        match self.output(id) {
            Some(digest) => self.readable(&digest),
            None => Ok(None),
        }
    }

    /// Returns the outputs of settled nodes, as [`Self::blob`] does each; none once the run is stopped. Reads them at the same time.
    pub fn blobs(&mut self, ids: &[NodeId]) -> Result<Vec<Option<Arc<[u8]>>>, RunError> {
        let is_made = |id: &NodeId| source_nodes::leaf(&self.graph.node(*id).label).is_none();
        let outputs: Vec<Option<Digest>> = ids.iter().map(|id| self.output(*id).filter(|_| is_made(id))).collect();
        let shared = &self.context.shared;
        let read = |output: &Option<Digest>| match output {
            Some(output) if !shared.cancel.is_cancelled() => shared.blobs.readable_output(output),
            _ => Ok(None),
        };
        let stored: Vec<Option<Arc<[u8]>>> = match self.context.options.jobs > 1 && ids.len() > 1 {
            true => map_together(&outputs, read).into_iter().collect::<Result<_, _>>()?,
            false => vec![None; ids.len()],
        };
        let mut blobs = Vec::with_capacity(ids.len());
        for (&id, blob) in ids.iter().zip(stored) {
            blobs.push(match blob {
                Some(blob) => Some(blob),
                None if self.is_stopped() => None,
                None => self.blob(id)?,
            });
        }
        Ok(blobs)
    }
}
