//! The settings of a command's requests, from its flags and the environment.

use super::Global;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::desk::settings::Settings;
use methods::failed::Failed;
use std::path::PathBuf;
use std::time::Duration;
use workbench::edit::edit_log::Category;
use workbench::location::StoreChoice;
use workbench::trust::Trusting;
use workbench::workspace::Connect;

impl Global {
    /// Changes to the folder of `-C`, against which all relative paths are resolved.
    pub fn change_directory(&mut self) -> Result<(), Failed> {
        let folder = std::mem::replace(&mut self.directory, PathBuf::from("."));
        // The current folder may have been removed; the first read of it reports that.
        if folder == self.directory {
            return Ok(());
        }
        std::env::set_current_dir(&folder).map_err(|error| {
            let (message, hint) = match error.kind() {
                std::io::ErrorKind::NotFound => ("does not exist".to_owned(), "make the folder, or check the path given with -C"),
                std::io::ErrorKind::NotADirectory => ("is not a folder".to_owned(), "give a folder with -C"),
                _ => (format!("cannot be entered: {error}"), "check the folder's permissions"),
            };
            Failed::new(
                Code::Io,
                Diagnostic::error(ErrorCode::E_READ, format!("{} {message}", folder.display())).hint(hint),
            )
        })
    }

    /// Returns the settings of the command's requests.
    pub fn settings(&self) -> Settings {
        Settings {
            directory: self.directory.clone(),
            store: self.store_choice(),
            overlay: self.overlay.clone(),
            offline: self.offline,
            lock_timeout: match self.no_wait {
                true => Duration::ZERO,
                false => Duration::from_secs(self.lock_timeout),
            },
            trust: trusting(),
            logs: Category::parse_list(&std::env::var("CORTEX_DEBUG_CATEGORIES").unwrap_or_default()),
            connect: connect(),
        }
    }

    /// Returns the store of `--store`, of `CORTEX_STORE`, or in the user's cache folder.
    fn store_choice(&self) -> Option<StoreChoice> {
        if self.no_store {
            return Some(StoreChoice::None);
        }
        // An empty variable counts as unset.
        let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(folder) = self.store.clone().or_else(|| from("CORTEX_STORE")) {
            return Some(StoreChoice::Folder(folder));
        }
        let cache = from("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| from("HOME").map(|home| home.join(".cache")));
        cache.map(StoreChoice::Cache)
    }
}

/// Returns which programs may run: those that this user trusts, or all if `CORTEX_TRUST` is `all`.
fn trusting() -> Trusting {
    if std::env::var_os("CORTEX_TRUST").is_some_and(|value| value == "all") {
        return Trusting::Everything;
    }
    let from = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = from("XDG_STATE_HOME").or_else(|| from("HOME").map(|home| home.join(".local/state")));
    state.map_or(Trusting::Nothing, |state| Trusting::Listed(state.join("cortex")))
}

/// Returns the client of remote caches; `None` in a program without the feature `remote`.
fn connect() -> Option<Connect> {
    #[cfg(feature = "remote")]
    return Some(crate::remote_client::connect());
    #[cfg(not(feature = "remote"))]
    None
}
