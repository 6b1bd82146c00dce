//! Settings that a program gives to its requests. The program reads them from flags and from the environment.

use std::path::PathBuf;
use std::time::Duration;
use workbench::edit::edit_log::Category;
use workbench::location::StoreChoice;
use workbench::trust::Trusting;
use workbench::workspace::Connect;

/// Settings of a request.
#[derive(Clone)]
pub struct Settings {
    /// A folder of the workspace.
    pub directory: PathBuf,
    /// Choice of the store; `None` if nothing names a folder for it.
    pub store: Option<StoreChoice>,
    /// Overlay that the request reads and builds in, if any.
    pub overlay: Option<String>,
    /// Whether network access is disabled.
    pub offline: bool,
    /// Time that the request waits for other processes.
    pub lock_timeout: Duration,
    /// The programs that may run.
    pub trust: Trusting,
    pub logs: Vec<Category>,
    /// Connects builds to the remote cache of their manifest; `None` in a program without remote caches.
    pub connect: Option<Connect>,
}

impl Settings {
    /// Returns whether the request uses no store.
    pub fn has_no_store(&self) -> bool {
        self.store == Some(StoreChoice::None)
    }
}
