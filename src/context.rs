//! What every command starts from: the flags resolved, the workspace open, and one way to say that something is wrong.

mod saying;

use crate::cli::{AskingArgs, Global, OutputForm};
use crate::exit::Code;
pub use crate::failed::{Failed, Outcome};
use crate::render::{Style, printable};
use crate::sharing;
use engine::build::checkout_turn::CheckoutTurn;
use engine::build::engine::EngineError;
use engine::build::graph_memory::GraphMemory;
use engine::seams::producer::Cancel;
use engine::store::disk::{Claim, DiskOptions, DiskStore, OnWait};
use engine::store::{Store, StoreError};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::{Observer, Silent};
use producers::llm::{Hear, Limits};
use std::cell::{Cell, OnceCell, RefCell};
use std::io::StdoutLock;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use workbench::edit::diagnostics::Category;
use workbench::live::budget::Room;
use workbench::location::{StoreChoice, find_root, view};
use workbench::locks::Hold;
use workbench::trust::Trusting;
use workbench::workspace::{Access, Opening, WorkbenchError, Workspace};

/// What a reader needs to get the store from a build that lets go of it.
const MOMENT: Duration = Duration::from_millis(500);

/// Whom a command speaks to besides its answer.
enum Voice {
    /// People, on standard error.
    Terminal,
    /// Another program, which gets everything with the answer.
    Caller {
        /// What was said so far.
        said: RefCell<Vec<Diagnostic>>,
        /// Ends what is being built.
        cancel: Cancel,
        /// Told what happens meanwhile.
        observer: Arc<dyn Observer + Send + Sync>,
        /// Told how things go, in words for a person.
        tell: Option<Tell>,
        /// Hears a streamed answer of a model as it grows.
        hear: Option<Hear>,
        /// What fits in an answer to it, if it takes no longer ones.
        room: Option<Room>,
    },
}

/// Hears how things go, in words for a person.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// The resolved flags.
pub struct Context {
    voice: Voice,
    /// The flags.
    pub global: Global,
    /// Colours on standard output.
    pub out: Style,
    /// Colours on standard error.
    pub err: Style,
    /// What is kept from other processes.
    opened: RefCell<Vec<Arc<Hold>>>,
    /// The stores that were opened, for what they met.
    stores: RefCell<Vec<Arc<dyn Store>>>,
    /// Whether it was told that nothing can be filed.
    unfiled: Cell<bool>,
    /// The overlay that is looked at and built in.
    overlay: OnceCell<String>,
    /// How long other processes are waited for, if not as long as the flags say.
    patience: Cell<Option<Duration>>,
    /// Whether the workspace is read beside those who build the checkout.
    is_beside: Cell<bool>,
    /// The last graph that the service loaded, if one answers.
    graphs: Option<GraphMemory>,
    /// What is given back with the checkout while a model is waited for.
    turn: RefCell<Option<Arc<dyn CheckoutTurn>>>,
}

impl Context {
    /// Resolves the flags.
    pub fn new(mut global: Global) -> Self {
        if global.json && global.output == OutputForm::Text {
            global.output = OutputForm::Json;
        }
        let (out, err) = (Style::stdout(global.color), Style::stderr(global.color));
        let overlay = global.overlay.clone().map_or_else(OnceCell::new, OnceCell::from);
        Self {
            voice: Voice::Terminal,
            global,
            out,
            err,
            opened: RefCell::default(),
            stores: RefCell::default(),
            unfiled: Cell::default(),
            overlay,
            patience: Cell::default(),
            is_beside: Cell::default(),
            graphs: None,
            turn: RefCell::default(),
        }
    }

    /// For a request of another program, in the folder where this one stands: nothing is printed, what is said is kept for the answer.
    pub fn of_request(global: Global, cancel: Cancel, observer: Arc<dyn Observer + Send + Sync>) -> Self {
        Self {
            voice: Voice::Caller {
                said: RefCell::default(),
                cancel,
                observer,
                tell: None,
                hear: None,
                room: None,
            },
            ..Self::new(global)
        }
    }

    /// As one of several requests of this process, which share the last graph that one of them loaded.
    pub fn sharing_graph(self, graphs: &GraphMemory) -> Self {
        Self {
            graphs: Some(graphs.clone()),
            ..self
        }
    }

    /// Has a turn given back with the checkout from now on, while a model is waited for.
    pub fn gives_back(&self, turn: Arc<dyn CheckoutTurn>) {
        *self.turn.borrow_mut() = Some(turn);
    }

    /// With someone who tells a person how things go, and someone who hears a streamed answer of a model as it grows.
    pub fn telling(mut self, teller: Option<Tell>, listener: Option<Hear>) -> Self {
        if let Voice::Caller { tell, hear, .. } = &mut self.voice {
            (*tell, *hear) = (teller, listener);
        }
        self
    }

    /// For someone who takes no answer that is longer.
    pub fn in_room(mut self, most: Option<Room>) -> Self {
        if let Voice::Caller { room, .. } = &mut self.voice {
            *room = most;
        }
        self
    }

    /// What fits in an answer. Answers that are kept for others do not depend on it.
    pub fn room(&self) -> Option<Room> {
        match &self.voice {
            Voice::Terminal => None,
            Voice::Caller { room, .. } => *room,
        }
    }

    /// What ends a build that another program asked for, and who is told of it; `None` when a person did.
    pub fn caller(&self) -> Option<(&Cancel, &(dyn Observer + Send + Sync))> {
        match &self.voice {
            Voice::Terminal => None,
            // It hears of what is built in its turn, not of what is read beside that.
            Voice::Caller { cancel, .. } if self.is_beside.get() => Some((cancel, &Silent)),
            Voice::Caller { cancel, observer, .. } => Some((cancel, &**observer)),
        }
    }

    /// What ends the work of this command: a signal, or the program that asked.
    pub fn cancel(&self) -> Cancel {
        if let Some((cancel, _)) = self.caller() {
            return cancel.clone();
        }
        let cancel = Cancel::default();
        let ends = cancel.clone();
        crate::exit::on_signal(move || ends.cancel(), || {});
        cancel
    }

    /// Tells a person how things go.
    pub fn print_status(&self, words: &str) {
        match &self.voice {
            Voice::Terminal if self.json() => {}
            Voice::Terminal => note_line!("{}", self.err.dim(&printable(words))),
            Voice::Caller { tell, .. } => tell.iter().for_each(|tell| tell(words)),
        }
    }

    /// The overlay that is looked at and built in, if one is.
    pub fn overlay(&self) -> Option<&str> {
        self.overlay.get().map(String::as_str)
    }

    /// Looks and builds in an overlay from now on; one that was named before stays.
    pub fn use_overlay(&self, overlay: &str) {
        let _ = self.overlay.set(overlay.to_owned());
    }

    /// Goes to the folder of `-C`, from which all relative paths are meant.
    pub fn change_directory(&mut self) -> Result<(), Failed> {
        let folder = std::mem::replace(&mut self.global.directory, PathBuf::from("."));
        // Where the program stands already may be a folder that was removed: that is told by who reads it.
        if folder == self.global.directory {
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

    /// Whether to print JSON.
    pub fn json(&self) -> bool {
        self.global.output == OutputForm::Json
    }

    /// Whether nothing may leave this machine.
    pub fn is_offline(&self) -> bool {
        self.global.offline
    }

    /// Opens the workspace to build and to ask models, within limits.
    pub fn asking(&self, purpose: &str, asking: &AskingArgs) -> Result<Workspace, Failed> {
        self.open(purpose, asking, Access::Build)
    }

    /// Opens the workspace to build.
    pub fn building(&self, purpose: &str) -> Result<Workspace, Failed> {
        self.open(purpose, &AskingArgs::default(), Access::Build)
    }

    /// Opens the workspace to read. `purpose` is what other processes are told while they wait for the store.
    pub fn workspace(&self, purpose: &str) -> Result<Workspace, Failed> {
        self.open(purpose, &AskingArgs::default(), Access::Look)
    }

    /// Opens the workspace for a question: what is not current of what it reads is made, and who builds the checkout is not waited for. Without
    /// `may_build` others are known to build it.
    pub fn reading(&self, purpose: &str, asking: &AskingArgs, may_build: bool) -> Result<Workspace, Failed> {
        self.open(purpose, asking, if may_build { Access::Read } else { Access::Beside })
    }

    /// Whether the workspace is read beside those who build the checkout.
    pub fn is_beside(&self) -> bool {
        self.is_beside.get()
    }

    /// Whether the checkout stays as it is: an overlay is looked at, or others build it.
    pub fn leaves_checkout(&self) -> bool {
        self.overlay().is_some() || self.is_beside.get()
    }

    /// Standard output, for the answer. Whoever reads it may take his time: others can have the store and the checkout meanwhile.
    pub fn stdout(&self) -> StdoutLock<'static> {
        self.let_go();
        std::io::stdout().lock()
    }

    /// Nothing is read or written any more: others can have the store and the checkout.
    pub fn let_go(&self) {
        self.opened.borrow().iter().for_each(|hold| hold.let_go());
    }

    /// The same for a command that goes on and will open the workspace again.
    pub fn close(&self) {
        self.let_go();
        self.opened.borrow_mut().clear();
    }

    /// Opens the workspace for a watch: to build if nobody else has the checkout for long, else to read. Which of them it is comes with it.
    pub fn watching(&self, purpose: &str, asking: &AskingArgs) -> Result<(Workspace, bool), Failed> {
        let limits = Limits {
            max_calls: asking.max_calls,
            offline: self.global.offline,
            ..Limits::default()
        };
        let opened = Workspace::open(Opening {
            from: &self.global.directory,
            store: self.store()?,
            options: DiskOptions {
                purpose: format!("cortex {purpose}"),
                lock_timeout: Duration::from_secs(2),
                ..DiskOptions::default()
            },
            limits,
            trust: self.trusting(),
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

    /// Tells what damage the stores met that nobody told of yet.
    pub fn say_damage(&self) {
        let met: Vec<String> = self.stores.take().iter().flat_map(|store| store.damage()).collect();
        self.say(&crate::commands::build::damaged(met));
    }

    /// What this command has kept from other processes.
    pub fn locks_held(&self) -> Vec<Arc<Hold>> {
        self.opened.borrow().clone()
    }

    /// Files may have been laid out.
    pub fn built(&self) {
        if self.leaves_checkout() {
            return;
        }
        self.opened.borrow().iter().for_each(|hold| hold.built());
    }

    /// The root of the workspace that the command runs in, if it runs in one.
    pub fn root(&self) -> Option<PathBuf> {
        find_root(&self.global.directory.canonicalize().ok()?)
    }

    /// The store's folder, if there is one.
    pub fn store_folder(&self) -> Option<PathBuf> {
        self.store().ok()?.folder(&self.root()?)
    }

    /// The logs of edits that are wanted.
    pub fn logs(&self) -> Vec<Category> {
        let wanted = std::env::var("CORTEX_DEBUG_CATEGORIES").unwrap_or_default();
        Category::parse_list(&wanted)
    }

    /// Where the service of this checkout is asked, whether or not there is one; `None` without a workspace or a store.
    pub fn service(&self) -> Option<PathBuf> {
        let root = self.root()?;
        let store = self.store_folder()?;
        Some(workbench::watch::service(&store, view(&root)))
    }

    /// Opens the store alone: that of `--store` or `CORTEX_STORE`, or of the workspace. `None` when the workspace has none yet. A folder that is
    /// named and is no store is refused, and nothing made in it.
    pub fn disk(&self, purpose: &str) -> Result<Option<DiskStore>, Failed> {
        self.disk_that(purpose, false)
    }

    /// As [`Self::disk`]; `sets_aside`: a file that cannot be opened is set aside, and an empty store begun.
    pub fn disk_that(&self, purpose: &str, sets_aside: bool) -> Result<Option<DiskStore>, Failed> {
        let Some(folder) = self.disk_folder(purpose)? else {
            return Ok(None);
        };
        let options = DiskOptions {
            gives_way: true,
            sets_aside,
            ..self.options(purpose)
        };
        let (disk, notices) = DiskStore::open(&folder, options)?;
        self.say(&notices);
        Ok(Some(disk))
    }

    /// The folder of the store that [`Self::disk`] opens.
    pub fn disk_folder(&self, purpose: &str) -> Result<Option<PathBuf>, Failed> {
        if self.global.no_store {
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
                    .global
                    .directory
                    .canonicalize()
                    .unwrap_or_else(|_| self.global.directory.clone());
                let root = find_root(&here).ok_or(WorkbenchError::NoManifest(here))?;
                choice.folder(&root)
            }
        };
        let Some(folder) = folder.filter(|folder| matches!(choice, StoreChoice::Folder(_)) || DiskStore::is_at(folder)) else {
            return Ok(None);
        };
        if !DiskStore::is_at(&folder) {
            let why = Diagnostic::error(
                ErrorCode::E_NO_STORE,
                format!("{} is not a store of cortex; nothing was touched", folder.display()),
            );
            return Err(Failed::new(
                Code::Usage,
                why.hint("name the folder that holds store.redb; `cortex status` prints a workspace's store"),
            ));
        }
        Ok(Some(folder))
    }

    /// How long other processes are waited for by the flags.
    pub fn as_flagged(&self) -> Duration {
        match self.global.no_wait {
            true => Duration::ZERO,
            false => Duration::from_secs(self.global.lock_timeout),
        }
    }

    /// Waits for other processes no longer than that from now on.
    pub fn wait_for(&self, patience: Duration) {
        self.patience.set(Some(patience.min(self.as_flagged())));
    }

    /// Since when another process builds this checkout, if one does.
    pub fn built_elsewhere(&self) -> Option<Duration> {
        let (folder, view) = (self.store_folder()?, view(&self.root()?));
        // Who cannot be seen is met when the checkout is wanted.
        let held = Claim::held(&folder).unwrap_or_default();
        held.into_iter().find(|held| held.is_of(view) && !held.is_own)?.age()
    }

    /// How the store is opened.
    fn options(&self, purpose: &str) -> DiskOptions {
        let waits = |what: &'static str| self.caller().is_none().then(|| report_waiting_once(what, self.err));
        DiskOptions {
            purpose: format!("cortex {purpose}"),
            lock_timeout: self.patience.get().unwrap_or_else(|| self.as_flagged()),
            on_wait: waits("waiting for the store, held by"),
            on_wait_view: waits("waiting for another build of this checkout,"),
            on_wait_result: waits("waiting for a result that is being made already, by"),
            ..DiskOptions::default()
        }
    }

    fn open(&self, purpose: &str, asking: &AskingArgs, access: Access) -> Result<Workspace, Failed> {
        let mut options = self.options(purpose);
        if access != Access::Build {
            // A build lets readers have the store between two steps: that is no waiting.
            options.lock_timeout = options.lock_timeout.max(MOMENT);
        }
        options.sets_aside &= access != Access::Look;
        let style = self.err;
        let workspace = Workspace::open(Opening {
            from: &self.global.directory,
            store: self.store()?,
            options,
            limits: Limits {
                max_cost_micros: asking.max_cost,
                max_calls: asking.max_calls,
                max_tokens: asking.max_tokens,
                offline: self.global.offline,
                batch: asking.batch,
                used: asking.used,
            },
            trust: self.trusting(),
            on_wait: match self.caller() {
                None => Arc::new(move |words: &str| note_line!("{}", style.dim(words))),
                Some(_) => Arc::new(|_: &str| {}),
            },
            hear: match &self.voice {
                Voice::Terminal => None,
                Voice::Caller { hear, .. } => hear.clone(),
            },
            access,
            interrupts: true,
            connect: (access != Access::Look && !self.global.offline).then(sharing::connect).flatten(),
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

    /// Whose programs are run: those that this user let run, or everyone's where `CORTEX_TRUST` says so.
    pub fn trusting(&self) -> Trusting {
        if std::env::var_os("CORTEX_TRUST").is_some_and(|value| value == "all") {
            return Trusting::Everything;
        }
        let from = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = from("XDG_STATE_HOME").or_else(|| from("HOME").map(|home| home.join(".local/state")));
        state.map_or(Trusting::Nothing, |state| Trusting::Listed(state.join("cortex")))
    }

    fn store(&self) -> Result<StoreChoice, Failed> {
        if self.global.no_store {
            return Ok(StoreChoice::None);
        }
        // A variable that is empty counts as unset.
        let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(folder) = self.global.store.clone().or_else(|| from("CORTEX_STORE")) {
            return Ok(StoreChoice::Folder(folder));
        }
        let cache = from("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| from("HOME").map(|home| home.join(".cache")));
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
        cache.map(StoreChoice::Cache).ok_or_else(nowhere)
    }
}

/// Tells once of each process that is waited for, however often it has to be.
fn report_waiting_once(what: &'static str, style: Style) -> OnWait {
    let before = Mutex::new(String::new());
    Arc::new(move |holder: &str| {
        let who = holder.split(',').next().unwrap_or(holder);
        let mut before = before.lock().unwrap_or_else(PoisonError::into_inner);
        if *before != who {
            who.clone_into(&mut before);
            note_line!("{}", style.dim(&format!("{what} {holder}")));
        }
    })
}
