//! The context of a request: settings, access to the workspace and the store, and one way to report diagnostics.

mod saying;

use super::damage::describe_damage;
use super::model_limits::AskingArgs;
use super::person::{Person, report_waiting};
use super::settings::Settings;
use crate::code::Code;
use crate::failed::Failed;
use crate::render::Style;
use engine::build::checkout_turn::CheckoutTurn;
use engine::build::engine::EngineError;
use engine::build::graph_memory::GraphMemory;
use engine::seams::producer::Cancel;
use engine::store::disk::{CheckoutLock, DiskOptions, DiskStore};
use engine::store::{Store, StoreError};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::{Observer, Silent};
use producers::llm::{Hear, Limits};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use workbench::budget::Room;
use workbench::error::WorkbenchError;
use workbench::location::{StoreChoice, find_root, view};
use workbench::locks::{Access, Hold};
use workbench::workspace::{Opening, Workspace};

/// Minimum time that a reader waits for the store: long enough for a build to release it between two steps.
const MOMENT: Duration = Duration::from_millis(500);

/// Most tries of a question whose sources change while it is answered.
pub const TRIES: usize = 5;

/// Receiver of status, diagnostics and events, besides the answer.
enum Voice {
    /// The person whose command it is.
    Person(Box<dyn Person>),
    /// Another program, which gets all diagnostics with the answer.
    Caller {
        /// Diagnostics reported so far.
        collected: RefCell<Vec<Diagnostic>>,
        cancel: Cancel,
        /// Receives the events of the build.
        observer: Arc<dyn Observer + Send + Sync>,
        /// Receives status in words for a person.
        tell: Option<Tell>,
        /// Receives a streamed model answer while it grows.
        hear: Option<Hear>,
        /// Limit of an answer's length, if the program sets one.
        room: Option<Room>,
    },
}

/// Callback that receives status in words for a person.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Settings and state of one command or request.
pub struct RequestContext {
    voice: Voice,
    settings: Settings,
    /// Store and checkout locks that this command acquired.
    opened: RefCell<Vec<Arc<Hold>>>,
    /// Opened stores, for the damage that they found.
    stores: RefCell<Vec<Arc<dyn Store>>>,
    /// Whether the notice that no result can be stored was already reported.
    is_unwritable_reported: Cell<bool>,
    /// The diagnostics about sources that were reported.
    reported_sources: RefCell<BTreeSet<Diagnostic>>,
    /// Overlay that the command reads and builds in.
    overlay: OnceCell<String>,
    /// Wait for other processes, if it differs from the flags.
    patience: Cell<Option<Duration>>,
    /// Whether the workspace is read while another build of the checkout runs.
    is_beside: Cell<bool>,
    /// Whether a build that meets a changed source ends the request, because it is tried again.
    is_tried_again: Cell<bool>,
    /// Last graph that the service loaded; `None` outside a service.
    graphs: Option<GraphMemory>,
    /// Turn that is released with the checkout while a request waits for a model.
    turn: RefCell<Option<Arc<dyn CheckoutTurn>>>,
}

impl RequestContext {
    /// Creates the context of a person's command.
    pub fn of_person(settings: Settings, person: Box<dyn Person>) -> Self {
        Self::with_voice(settings, Voice::Person(person))
    }

    /// Creates the context of another program's request, in the current folder. Prints nothing; keeps diagnostics for the answer.
    pub fn of_request(settings: Settings, cancel: Cancel, observer: Arc<dyn Observer + Send + Sync>) -> Self {
        let voice = Voice::Caller {
            collected: RefCell::default(),
            cancel,
            observer,
            tell: None,
            hear: None,
            room: None,
        };
        Self::with_voice(settings, voice)
    }

    fn with_voice(settings: Settings, voice: Voice) -> Self {
        let overlay = settings.overlay.clone().map_or_else(OnceCell::new, OnceCell::from);
        Self {
            voice,
            settings,
            opened: RefCell::default(),
            stores: RefCell::default(),
            is_unwritable_reported: Cell::default(),
            reported_sources: RefCell::default(),
            overlay,
            patience: Cell::default(),
            is_beside: Cell::default(),
            is_tried_again: Cell::default(),
            graphs: None,
            turn: RefCell::default(),
        }
    }

    /// Returns the settings, for another request of the same program.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Shares the last loaded graph with the other requests of this process.
    pub fn sharing_graph(self, graphs: &GraphMemory) -> Self {
        Self {
            graphs: Some(graphs.clone()),
            ..self
        }
    }

    /// Shares the last loaded graph with the context of the request that this one is a part of.
    pub fn sharing_graph_of(self, whole: &Self) -> Self {
        Self {
            graphs: whole.graphs.clone(),
            ..self
        }
    }

    /// From now on, releases `turn` together with the checkout while a request waits for a model.
    pub fn gives_back(&self, turn: Arc<dyn CheckoutTurn>) {
        *self.turn.borrow_mut() = Some(turn);
    }

    /// Sets the receivers of status and of a streamed model answer.
    pub fn telling(mut self, teller: Option<Tell>, listener: Option<Hear>) -> Self {
        if let Voice::Caller { tell, hear, .. } = &mut self.voice {
            (*tell, *hear) = (teller, listener);
        }
        self
    }

    /// Limits the length of an answer.
    pub fn in_room(mut self, most: Option<Room>) -> Self {
        if let Voice::Caller { room, .. } = &mut self.voice {
            *room = most;
        }
        self
    }

    /// Returns the limit of an answer's length. Answers that are cached for other requests do not depend on it.
    pub fn room(&self) -> Option<Room> {
        match &self.voice {
            Voice::Person(_) => None,
            Voice::Caller { room, .. } => *room,
        }
    }

    /// Returns the cancellation of this command: by the person, or by the program that sent the request.
    pub fn cancel(&self) -> Cancel {
        match &self.voice {
            Voice::Person(person) => person.cancel(),
            Voice::Caller { cancel, .. } => cancel.clone(),
        }
    }

    /// Runs a build under the observer and the cancellation of the person whose command it is, or of the calling program.
    pub fn run_observed<T>(&self, build: impl FnOnce(&dyn Observer, &Cancel) -> T) -> T {
        self.run_displayed(false, build)
    }

    /// As [`Self::run_observed`]; with `verbose`, shows each node of the build.
    pub fn run_displayed<T>(&self, verbose: bool, build: impl FnOnce(&dyn Observer, &Cancel) -> T) -> T {
        match &self.voice {
            Voice::Person(person) => {
                let display = person.display_build(verbose);
                build(display.observer(), display.cancel())
            }
            // The observer gets events only of builds in the request's turn, not of reads while another build runs.
            Voice::Caller { cancel, .. } if self.is_beside.get() => build(&Silent, cancel),
            Voice::Caller { cancel, observer, .. } => build(&**observer, cancel),
        }
    }

    /// Returns whether a program reads the messages and the answer.
    pub fn prints_json(&self) -> bool {
        match &self.voice {
            Voice::Person(person) => person.prints_json(),
            Voice::Caller { .. } => true,
        }
    }

    pub fn style(&self) -> Style {
        match &self.voice {
            Voice::Person(person) => person.style(),
            Voice::Caller { .. } => Style::plain(),
        }
    }

    pub fn answer_style(&self) -> Style {
        match &self.voice {
            Voice::Person(person) => person.answer_style(),
            Voice::Caller { .. } => Style::plain(),
        }
    }

    /// Prints formatted text for the person whose command it is.
    pub fn print_text(&self, text: &str) {
        if let Voice::Person(person) = &self.voice {
            person.print_text(text);
        }
    }

    /// Reports status to a person.
    pub fn print_status(&self, words: &str) {
        match &self.voice {
            Voice::Person(person) => person.print_status(words),
            Voice::Caller { tell, .. } => tell.iter().for_each(|tell| tell(words)),
        }
    }

    /// Returns the overlay that the command reads and builds in, if any.
    pub fn overlay(&self) -> Option<&str> {
        self.overlay.get().map(String::as_str)
    }

    /// Reads and builds in `overlay` from now on, unless an overlay is already set.
    pub fn use_overlay(&self, overlay: &str) {
        let _ = self.overlay.set(overlay.to_owned());
    }

    /// Returns whether network access is disabled.
    pub fn is_offline(&self) -> bool {
        self.settings.offline
    }

    /// Opens the workspace to build and to ask models, within the limits of `asking`.
    pub fn asking(&self, purpose: &str, asking: &AskingArgs) -> Result<Workspace, Failed> {
        self.open_workspace(purpose, asking, Access::Build)
    }

    pub fn building(&self, purpose: &str) -> Result<Workspace, Failed> {
        self.open_workspace(purpose, &AskingArgs::default(), Access::Build)
    }

    /// Opens the workspace to read. Other processes that wait for the store report `purpose`.
    pub fn workspace(&self, purpose: &str) -> Result<Workspace, Failed> {
        self.open_workspace(purpose, &AskingArgs::default(), Access::Look)
    }

    /// Opens the workspace for a question: builds the outputs that it reads if they are not current, and does not wait for another build of the
    /// checkout. `may_build` is false if another build is known to run.
    pub fn reading(&self, purpose: &str, asking: &AskingArgs, may_build: bool) -> Result<Workspace, Failed> {
        self.open_workspace(purpose, asking, if may_build { Access::Read } else { Access::Beside })
    }

    /// Returns whether the workspace is read while another build of the checkout runs.
    pub fn is_beside(&self) -> bool {
        self.is_beside.get()
    }

    /// Sets whether the request is tried again if a source changes while it builds. Such a build then ends the request, and reports nothing.
    pub fn try_again(&self, is_tried_again: bool) {
        self.is_tried_again.set(is_tried_again);
    }

    /// Returns whether the request is tried again if a source changes while it builds.
    pub fn is_tried_again(&self) -> bool {
        self.is_tried_again.get()
    }

    /// Returns whether this command leaves the checkout unchanged: it uses an overlay, or another process builds the checkout.
    pub fn leaves_checkout(&self) -> bool {
        self.overlay().is_some() || self.is_beside.get()
    }

    /// Releases the store and checkout locks; call once only printing is left.
    pub fn release_locks(&self) {
        self.opened.borrow().iter().for_each(|hold| hold.release_locks());
    }

    /// Releases the locks of a command that will open the workspace again.
    pub fn release_locks_to_reopen(&self) {
        self.release_locks();
        self.opened.borrow_mut().clear();
    }

    /// Opens the workspace for a watch: to build, or to read if another process keeps the checkout. Returns whether it may build.
    pub fn watching(&self, purpose: &str, asking: &AskingArgs) -> Result<(Workspace, bool), Failed> {
        let limits = Limits {
            max_calls: asking.max_calls,
            offline: self.settings.offline,
            ..Limits::default()
        };
        let opened = Workspace::open(Opening {
            from: &self.settings.directory,
            store: self.store()?,
            options: DiskOptions {
                purpose: format!("cortex {purpose}"),
                lock_timeout: Duration::from_secs(2),
                ..DiskOptions::default()
            },
            limits,
            trust: self.settings.trust.clone(),
            on_wait: Arc::new(|_: &str| {}),
            hear: None,
            access: Access::Build,
            interrupts: false,
            connect: None,
            overlay: None,
            graphs: None,
            turn: None,
        });
        match opened {
            Ok(workspace) => {
                self.opened.borrow_mut().extend(workspace.hold.clone());
                Ok((workspace, true))
            }
            Err(WorkbenchError::Engine(EngineError::Store(StoreError::ViewBusy { .. } | StoreError::Busy { .. }))) => {
                Ok((self.workspace(purpose)?, false))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reports the damage that the stores found since the last call.
    pub fn say_damage(&self) {
        let met: Vec<String> = self.stores.take().iter().flat_map(|store| store.damage()).collect();
        self.say(&describe_damage(met));
    }

    /// Returns the locks that this command acquired.
    pub fn acquired_locks(&self) -> Vec<Arc<Hold>> {
        self.opened.borrow().clone()
    }

    /// Notes that the build may have written files into the output folder.
    pub fn built(&self) {
        if self.leaves_checkout() {
            return;
        }
        self.opened.borrow().iter().for_each(|hold| hold.built());
    }

    /// Returns the root of the workspace around the current folder, if any.
    pub fn root_around(&self) -> Option<PathBuf> {
        find_root(&self.settings.directory.canonicalize().ok()?)
    }

    pub fn store_folder(&self) -> Option<PathBuf> {
        self.store().ok()?.store_folder(&self.root_around()?)
    }

    /// Returns the socket path of this checkout's service, running or not; `None` without a workspace or a store.
    pub fn service(&self) -> Option<PathBuf> {
        let root = self.root_around()?;
        let store = self.store_folder()?;
        Some(workbench::location::service_socket(&store, view(&root)))
    }

    /// Opens only the store: of `--store`, of `CORTEX_STORE`, or of the workspace. Returns `None` if the workspace has no store yet. Refuses a named
    /// folder that is no store, and creates nothing in it.
    pub fn disk(&self, purpose: &str) -> Result<Option<DiskStore>, Failed> {
        self.open_disk(purpose, false)
    }

    /// As [`Self::disk`]; with `sets_aside`, renames a store file that cannot be opened and starts an empty store.
    pub fn open_disk(&self, purpose: &str, sets_aside: bool) -> Result<Option<DiskStore>, Failed> {
        let Some(folder) = self.disk_folder(purpose)? else {
            return Ok(None);
        };
        let options = DiskOptions {
            yields_lock: true,
            sets_aside,
            ..self.options(purpose)
        };
        let (disk, notices) = DiskStore::open(&folder, options)?;
        self.say(&notices);
        Ok(Some(disk))
    }

    /// Returns the folder of the store that [`Self::disk`] opens.
    pub fn disk_folder(&self, purpose: &str) -> Result<Option<PathBuf>, Failed> {
        if self.settings.has_no_store() {
            let why = Diagnostic::error(
                ErrorCode::E_USAGE,
                format!("`cortex {purpose}` is about a store, and --no-store asks for none"),
            );
            return Err(Failed::new(
                Code::Usage,
                why.hint("leave --no-store out, or name a store with --store"),
            ));
        }
        let choice = self.store()?;
        let folder = match &choice {
            StoreChoice::Folder(folder) => Some(folder.clone()),
            choice => {
                let here = self
                    .settings
                    .directory
                    .canonicalize()
                    .unwrap_or_else(|_| self.settings.directory.clone());
                let root = find_root(&here).ok_or(WorkbenchError::NoManifest(here))?;
                choice.store_folder(&root)
            }
        };
        let Some(folder) = folder.filter(|folder| matches!(choice, StoreChoice::Folder(_)) || DiskStore::is_at(folder)) else {
            return Ok(None);
        };
        if !DiskStore::is_at(&folder) {
            let why = Diagnostic::error(
                ErrorCode::E_NO_STORE,
                format!("{} is not a store of cortex; nothing was changed", folder.display()),
            );
            return Err(Failed::new(
                Code::Usage,
                why.hint("name the folder that holds store.redb; `cortex status` prints a workspace's store"),
            ));
        }
        Ok(Some(folder))
    }

    /// Limits the wait for other processes to `patience` from now on.
    pub fn wait_for(&self, patience: Duration) {
        self.patience.set(Some(patience.min(self.settings.lock_timeout)));
    }

    /// Returns how long another process has been building this checkout, if one does.
    pub fn built_elsewhere(&self) -> Option<Duration> {
        let (folder, view) = (self.store_folder()?, view(&self.root_around()?));
        // If the locks cannot be read, acquiring the checkout reports the holder.
        let locked = CheckoutLock::locked_checkouts(&folder).unwrap_or_default();
        locked.into_iter().find(|locked| locked.is_of(view) && !locked.is_own)?.age()
    }

    /// Returns the options to open the store with.
    fn options(&self, purpose: &str) -> DiskOptions {
        let waits = |what: &'static str| match &self.voice {
            Voice::Person(person) => Some(report_waiting(what, person.waiting_printer())),
            Voice::Caller { .. } => None,
        };
        DiskOptions {
            purpose: format!("cortex {purpose}"),
            lock_timeout: self.patience.get().unwrap_or(self.settings.lock_timeout),
            on_wait: waits("waiting for the store, held by"),
            on_wait_view: waits("waiting for another build of this checkout,"),
            on_wait_result: waits("waiting for a result that is being made already, by"),
            ..DiskOptions::default()
        }
    }

    fn open_workspace(&self, purpose: &str, asking: &AskingArgs, access: Access) -> Result<Workspace, Failed> {
        let mut options = self.options(purpose);
        if access != Access::Build {
            // A build releases the store to readers between two steps; this short wait is not reported as waiting.
            options.lock_timeout = options.lock_timeout.max(MOMENT);
        }
        options.sets_aside &= access != Access::Look;
        let workspace = Workspace::open(Opening {
            from: &self.settings.directory,
            store: self.store()?,
            options,
            limits: Limits {
                max_cost_micros: asking.max_cost,
                max_calls: asking.max_calls,
                max_tokens: asking.max_tokens,
                offline: self.settings.offline,
                batch: asking.batch,
                used: asking.used,
            },
            trust: self.settings.trust.clone(),
            on_wait: match &self.voice {
                Voice::Person(person) => person.waiting_printer(),
                Voice::Caller { .. } => Arc::new(|_: &str| {}),
            },
            hear: match &self.voice {
                Voice::Person(_) => None,
                Voice::Caller { hear, .. } => hear.clone(),
            },
            access,
            interrupts: true,
            connect: self
                .settings
                .connect
                .clone()
                .filter(|_| access != Access::Look && !self.settings.offline),
            overlay: self.overlay(),
            graphs: self.graphs.clone(),
            turn: self.turn.borrow().clone(),
        })?;
        self.is_beside.set(workspace.is_beside || access == Access::Beside);
        self.opened.borrow_mut().extend(workspace.hold.clone());
        self.stores.borrow_mut().push(workspace.engine.store.clone());
        self.say(&workspace.notices);
        Ok(workspace)
    }

    fn store(&self) -> Result<StoreChoice, Failed> {
        let nowhere = || {
            let why = Diagnostic::error(
                ErrorCode::E_STORE_PLACE,
                "there is no place for the store: neither HOME nor XDG_CACHE_HOME is set",
            );
            Failed::new(
                Code::Usage,
                why.hint("give one with --store DIR or CORTEX_STORE, or use --no-store"),
            )
        };
        self.settings.store.clone().ok_or_else(nowhere)
    }
}
