//! Exports whose rows are read on first use, because most requests read outputs that are not laid out.

use crate::seams::world::{ExportOutcome, Exports, RowEdits, World, WorldError};
use crate::store::{Part, Store, StoreError, ViewId};
use crate::values::digest::Digest;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Exports of a view, read on first use.
pub(super) struct LazyExports {
    world: Arc<dyn World>,
    store: Arc<dyn Store>,
    view: ViewId,
    loaded: OnceLock<Box<dyn Exports>>,
    /// Reason why the rows could not be read; then no file is known, and nothing of this build may be committed.
    trouble: Mutex<Option<StoreError>>,
}

impl LazyExports {
    pub fn new(world: Arc<dyn World>, store: Arc<dyn Store>, view: ViewId) -> Self {
        Self {
            world,
            store,
            view,
            loaded: OnceLock::new(),
            trouble: Mutex::default(),
        }
    }

    /// Fails if the rows could not be read.
    pub fn check(&self) -> Result<(), StoreError> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
        trouble.map_or(Ok(()), Err)
    }

    fn load(&self) -> &dyn Exports {
        let loaded = self.loaded.get_or_init(|| {
            let rows = self.store.rows(self.view, Part::Exports).unwrap_or_else(|error| {
                *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Default::default()
            });
            self.world.exports(rows)
        });
        &**loaded
    }
}

impl Exports for LazyExports {
    fn verify(&self, nodes: &[u32]) -> Vec<u32> {
        match nodes.is_empty() {
            true => Vec::new(),
            false => self.load().verify(nodes),
        }
    }

    fn write(&self, node: u32, path: &str, digest: Digest, bytes: &[u8]) -> Result<ExportOutcome, WorldError> {
        self.load().write(node, path, digest, bytes)
    }

    fn remove(&self, node: u32) -> Result<(), WorldError> {
        self.load().remove(node)
    }

    fn path(&self, node: u32) -> Option<String> {
        self.load().path(node)
    }

    fn digest(&self, node: u32) -> Option<Digest> {
        self.load().digest(node)
    }

    fn read(&self, node: u32) -> Option<Vec<u8>> {
        self.load().read(node)
    }

    fn take_dirty_rows(&self) -> RowEdits {
        self.loaded.get().map(|loaded| loaded.take_dirty_rows()).unwrap_or_default()
    }
}
