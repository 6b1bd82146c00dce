//! Saves a search index while its request computes the answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use workbench::context::saved_documents::save_documents;
use workbench::context::source_cache::IndexWithSources;

/// The thread that saves the documents of a search index. Dropping it waits for its end.
#[derive(Default)]
pub(super) struct SavingThread(Option<JoinHandle<()>>);

impl SavingThread {
    /// Starts to save the index of the workspace at `root`.
    pub(super) fn start_saving(root: PathBuf, index: Arc<IndexWithSources>) -> Self {
        // Without the file the next process builds the documents again.
        Self(Some(std::thread::spawn(move || _ = save_documents(&root, &index.index))))
    }
}

impl Drop for SavingThread {
    fn drop(&mut self) {
        // A failure to save does not fail the request.
        self.0.take().map(JoinHandle::join);
    }
}
