//! Host of requests: answers them, and owns state that outlives them, such as the right to build, cached answers and figures.

use crate::answer_cache::Warm;
use crate::build_ahead::build_ahead;
use crate::call_figures::Meter;
use crate::process_memory::memory_mb;
use crate::running_work::RunningWork;
use engine::build::checkout_turn::CheckoutTurn;
use engine::build::graph_memory::GraphMemory;
use engine::build::watch_state::Moment;
use engine::files::disk::settled_stamp;
use engine::files::stamp::Stamp;
use engine::seams::producer::Cancel;
use engine::store::StoreError;
use engine::store::disk::DATABASE;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::{Event, Observer, Silent};
use methods::catalog::viewed_types::touch;
use methods::catalog::{Answered, Effect, METHODS, MethodEntry, find_method};
use methods::code::Code;
use methods::commands::relative_paths::without_root;
use methods::desk::automatic_gc;
use methods::desk::figures::Service;
use methods::desk::person::Person;
use methods::desk::request_context::{RequestContext, TRIES, Tell};
use methods::desk::settings::Settings;
use methods::desk::turn::{AcquiredTurn, Ticket, Turn};
use methods::desk::workspace_names::WorkspaceNames;
use methods::desk::{Desk, Serving};
use methods::failed::Failed;
use producers::llm::Hear;
use serde_json::Value;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use workbench::budget::Room;
use workbench::context::source_cache::IndexWithSources;
use workbench::locks::Hold;
use workbench::rename::ReferenceTexts;
use workbench::symbols::word_index::{WordIndex, WordSource};

/// Patience of a request that waits for its turn to build, before it fails as busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// A client without progress: it learns soon that the service is loading, and retries.
    Short,
    /// A client that would not retry by itself; it has its own time-out.
    Fair,
    /// A command, or a client that gets progress: waits as long as a command does without a service.
    Long,
}

/// The client side of a request.
pub struct Asker {
    pub patience: Patience,
    pub tell: Option<Tell>,
    /// Limit of the answer's length, if the client sets one.
    pub room: Option<Room>,
    /// Callback for a streamed model answer while it grows.
    pub hear: Option<Hear>,
}

impl Asker {
    /// Creates a client of that patience, without status, streaming or a limit of the answer's length.
    pub fn with_patience(patience: Patience) -> Self {
        Self {
            patience,
            tell: None,
            room: None,
            hear: None,
        }
    }
}

/// Cancels a request when its future is dropped, because no client waits for the answer.
pub struct CancelOnDrop(pub Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Wait of a client's request for the right to build.
const OF_CLIENTS: Duration = Duration::from_secs(10);

/// A build that takes longer counts as loading: many files were created or changed.
const LOADS: Duration = Duration::from_secs(2);

/// Time for a watch to stop building ahead, or for a build to release the store: neither counts as loading.
const TO_MAKE_WAY: Duration = Duration::from_millis(500);

/// Time-out for running work when the service ends.
const TO_END: Duration = Duration::from_secs(5);

/// Wait of a question for the right to build. Most questions are answered sooner; a longer holder builds or waits for another process.
const TO_READ: Duration = Duration::from_millis(100);

/// Limit of questions answered at once during a build of the checkout. Each loads the graph and builds the outputs that it reads.
const READERS: usize = 2;

/// A word index, and the moment of the watch at which it was true, if there is a watch.
pub type KnownWords = (Arc<WordIndex>, Option<Moment>);

/// The program that starts a host.
pub struct Owner {
    pub settings: Settings,
    /// Time that a command waits for other processes.
    pub patience: Duration,
    /// Creates the person who started the program.
    pub person: Box<dyn Fn() -> Box<dyn Person> + Send + Sync>,
    pub log_bug: fn(&Diagnostic),
}

/// Answers requests of any number of clients.
pub struct Host {
    owner: Owner,
    root: Option<PathBuf>,
    /// Database file of the store, if the workspace has one.
    store: Option<PathBuf>,
    /// The right to build.
    pub turn: Turn,
    /// The right to read while a build runs.
    beside: Turn,
    warm: Warm,
    names: Mutex<Option<(WorkspaceNames, Option<Moment>)>>,
    index: Mutex<Option<(Arc<IndexWithSources>, Moment)>>,
    words: Mutex<HashMap<WordSource, KnownWords>>,
    references: ReferenceTexts,
    /// Last graph that a request loaded.
    graphs: GraphMemory,
    meter: Meter,
    /// Progress of the current build.
    pub load: Arc<Load>,
    /// Running work that builds ahead.
    ahead: RunningWork,
    /// Requests that are being answered or wait.
    requests: RunningWork,
    traces: AtomicU64,
    began: Instant,
}

/// Progress of the current build, in targets.
#[derive(Debug, Default)]
pub struct Load {
    requested: AtomicU64,
    done: AtomicU64,
}

impl Load {
    /// Returns the progress in percent; `None` if no build runs.
    pub fn percent(&self) -> Option<u64> {
        let (requested, done) = (self.requested.load(Relaxed), self.done.load(Relaxed));
        (requested > 0).then(|| (done * 100 / requested).min(99))
    }

    fn clear(&self) {
        self.requested.store(0, Relaxed);
        self.done.store(0, Relaxed);
    }
}

impl Observer for Load {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Requested { targets } => {
                self.requested.fetch_add(*targets as u64, Relaxed);
            }
            Event::Ran { .. } | Event::Hit { .. } | Event::Verified { .. } | Event::Failed { .. } | Event::Skipped { .. } => {
                self.done.fetch_add(1, Relaxed);
            }
            _ => {}
        }
    }
}

/// Result of a request, with the diagnostics reported during it.
pub struct Outcome {
    /// The answer, or the reason for its absence.
    pub result: Result<Answered, Failed>,
    /// Diagnostics reported during the request.
    pub diagnostics: Vec<Diagnostic>,
}

impl Host {
    /// Creates the host of the workspace around the current folder.
    pub fn new(owner: Owner) -> Self {
        let context = RequestContext::of_request(owner.settings.clone(), Cancel::default(), Arc::new(Silent));
        Self {
            root: context.root_around(),
            store: context.store_folder().map(|folder| folder.join(DATABASE)),
            owner,
            turn: Turn::new(1),
            beside: Turn::new(READERS),
            warm: Warm::default(),
            names: Mutex::default(),
            index: Mutex::default(),
            words: Mutex::default(),
            references: ReferenceTexts::default(),
            graphs: GraphMemory::default(),
            meter: Meter::default(),
            load: Arc::new(Load::default()),
            ahead: RunningWork::default(),
            requests: RunningWork::default(),
            traces: AtomicU64::new(0),
            began: Instant::now(),
        }
    }

    /// Answers a client that would not retry by itself.
    pub fn call(self: &Arc<Self>, entry: &'static MethodEntry, arguments: Value, cancel: &Cancel) -> Outcome {
        self.call_with(entry, arguments, cancel, Asker::with_patience(Patience::Fair))
    }

    /// Answers a request of `Asker`, with status and streaming as it asks for.
    pub fn call_with(
        self: &Arc<Self>,
        entry: &'static MethodEntry,
        mut arguments: Value,
        cancel: &Cancel,
        Asker {
            patience,
            tell,
            room,
            hear,
        }: Asker,
    ) -> Outcome {
        let _request = self.requests.register(cancel);
        let start = Instant::now();
        if let Some(root) = &self.root {
            without_root(entry, &mut arguments, root);
        }
        let question = self.question(entry, &arguments);
        if let Some(answer) = question.as_deref().and_then(|question| self.warm.cached_answer(question)) {
            self.meter.count_call(entry.name, start.elapsed(), false, true);
            let answer = Value::clone(&answer);
            touch(self.root.as_deref(), entry, &answer);
            return Outcome {
                result: Ok(Answered {
                    answer,
                    code: Code::Ok,
                    remarks: Vec::new(),
                }),
                diagnostics: Vec::new(),
            };
        }
        let mut tries = if entry.may_be_tried_again() { TRIES } else { 1 };
        loop {
            tries -= 1;
            let context = RequestContext::of_request(self.owner.settings.clone(), cancel.clone(), self.load.clone())
                .sharing_graph(&self.graphs)
                .telling(tell.clone(), hear.clone())
                .in_room(room);
            context.try_again(tries > 0);
            let call = (entry, arguments.clone(), question.clone());
            let answering = AssertUnwindSafe(|| self.answer_method(call, &context, (cancel, patience)));
            let result = catch_unwind(answering).unwrap_or_else(|panic| Err(self.panic_failure(entry.name, &*panic)));
            let filed: Vec<Arc<Hold>> = context.acquired_locks().into_iter().filter(|hold| hold.filed().is_some()).collect();
            context.release_locks_to_reopen();
            let diagnostics = context.take_collected();
            let failed = result.as_ref().err().map_or(&[][..], |failed| &failed.diagnostics);
            let is_answered = result.is_ok() && entry.effect != Effect::Looks;
            let has_changed = !is_answered && failed.iter().chain(&diagnostics).any(|why| why.code == ErrorCode::E_CHANGED);
            if has_changed && tries > 0 && !cancel.is_cancelled() {
                continue;
            }
            self.meter.count_call(entry.name, start.elapsed(), result.is_err(), false);
            self.run_automatic_gc(filed);
            return Outcome { result, diagnostics };
        }
    }

    /// Returns the key of a cached answer: the question, with stamps of the files besides the sources that decide the answer.
    /// Returns `None` if the answer depends on more, or a file could change again without a new stamp.
    fn question(&self, entry: &MethodEntry, arguments: &Value) -> Option<String> {
        let files = (entry.depends_on)(arguments)?;
        let mut question = format!("{}\0{arguments}", entry.name);
        if entry.effect != Effect::Looks {
            let paths = files.iter().filter_map(|file| Some(self.root.as_ref()?.join(file)));
            let stamps: Option<Vec<Stamp>> = paths.chain([self.store.clone()?]).map(|path| settled_stamp(&path)).collect();
            question.push_str(&format!("\0{:?}", stamps?));
        }
        Some(question)
    }

    fn answer_method(
        self: &Arc<Self>,
        (entry, arguments, question): (&'static MethodEntry, Value, Option<String>),
        context: &RequestContext,
        (cancel, patience): (&Cancel, Patience),
    ) -> Result<Answered, Failed> {
        let access = HostAccess {
            host: self,
            context,
            method: entry.name,
            cancel,
            patience,
        };
        let mut desk = Desk::new(context, entry.name).served_by(&access);
        let answered = (entry.call)(&mut desk, arguments);
        desk.part();
        // Only the answer is left: release the locks to other processes, and the turn to the next request.
        context.release_locks();
        if desk.has_turn() {
            self.load.clear();
        }
        let answered = answered.map_err(|failed| match patience {
            // The command line reports the error as the command itself would.
            Patience::Long => failed,
            Patience::Short | Patience::Fair => self.as_service_error(failed),
        })?;
        context.say(&answered.remarks);
        if context.overlay().is_none() {
            touch(self.root.as_deref(), entry, &answered.answer);
        }
        // Diagnostics belong to an answer; an answer with diagnostics is not cached.
        if let (Some(question), Some(moment), Code::Ok, false) = (question, desk.moment(), answered.code, context.has_collected()) {
            self.warm.remember(question, &answered.answer, moment);
        }
        Ok(answered)
    }

    /// Runs automatic gc of the stores into which a request stored results, as a command does after itself: in a turn to build, without
    /// delaying the answer.
    fn run_automatic_gc(self: &Arc<Self>, filed: Vec<Arc<Hold>>) {
        let due: Vec<Arc<Hold>> = filed.into_iter().filter(|hold| automatic_gc::is_due(hold)).collect();
        if due.is_empty() {
            return;
        }
        let host = self.clone();
        let collect = move || {
            let never = Duration::MAX;
            if let Ok(_turn) = host.turn.acquire_turn("gc", host.as_command(), never, &Cancel::default()) {
                automatic_gc::keep_within(&host.context_of_owner(), &due);
            }
        };
        // If the thread cannot start, the next request runs gc.
        let _ = std::thread::Builder::new().name("gc".to_owned()).spawn(collect);
    }

    /// Builds ahead until a request or another process wants the checkout. Returns whether it finished.
    pub fn build_ahead(&self) -> bool {
        let cancel = Cancel::default();
        let _ahead = self.ahead.register(&cancel);
        // A request is counted before it cancels building ahead; this check sees one that came before `register`.
        if self.requests.count() > 0 {
            return false;
        }
        let Ok(_turn) = self.turn.acquire_turn("build ahead", Duration::ZERO, Duration::MAX, &cancel) else {
            return false;
        };
        let context = RequestContext::of_request(self.owner.settings.clone(), cancel.clone(), Arc::new(Silent)).sharing_graph(&self.graphs);
        // A failed build ahead is reported to the requests that need its outputs.
        let _ = build_ahead(&context, &cancel, |_| {});
        context.release_locks_to_reopen();
        !cancel.is_cancelled()
    }

    /// Cancels building ahead, because a request or another process wants the checkout.
    pub fn end_build_ahead(&self) {
        self.ahead.cancel_all();
    }

    /// Ends the service: cancels running work and its programs, as a signal does to a command, and waits for them.
    pub fn end_all(&self) {
        self.end_build_ahead();
        self.requests.finish_within(TO_END);
        self.ahead.finish_within(TO_END);
    }

    /// Returns how long a command waits for other processes.
    fn as_command(&self) -> Duration {
        self.owner.patience
    }

    /// Returns the progress of the current build in percent; `None` if no request holds the right to build.
    pub fn percent(&self) -> Option<u64> {
        self.turn.holder().map(|_| self.load.percent().unwrap_or(0))
    }

    /// Returns the error of a request of that patience while the service is loading; `None` if the request waits or the service is not loading.
    pub fn loads(&self, patience: Patience) -> Option<Failed> {
        let (holder, since) = self.turn.holder()?;
        (patience == Patience::Short && since >= LOADS).then(|| self.busy(holder))
    }

    /// Returns whether another process builds the checkout, by the checkout lock. The progress of that build is unknown.
    pub fn is_built_elsewhere(&self) -> bool {
        self.context_of_owner().built_elsewhere().is_some()
    }

    /// Creates the context of a command of the person who started the program.
    fn context_of_owner(&self) -> RequestContext {
        RequestContext::of_person(self.owner.settings.clone(), (self.owner.person)())
    }

    fn busy(&self, holder: &str) -> Failed {
        let why = Diagnostic::error(ErrorCode::Busy, format!("'{holder}' is being answered"));
        let found = format!("{} % done", self.load.percent().unwrap_or(0));
        Failed::new(Code::Busy, why.found(found).hint("ask again in a moment"))
    }

    /// Rewrites busy errors about another process into those of the service.
    fn as_service_error(&self, mut failed: Failed) -> Failed {
        for why in failed.diagnostics.iter_mut().filter(|why| why.code == ErrorCode::E_BUSY) {
            // The progress of another process is unknown.
            let busy = Diagnostic::error(ErrorCode::Busy, why.message.as_str()).found("0 % done");
            *why = busy.hint("ask again in a moment");
        }
        failed
    }

    fn panic_failure(&self, method: &str, panic: &(dyn std::any::Any + Send)) -> Failed {
        let words = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        let trace = format!("{}-{}", std::process::id(), self.traces.fetch_add(1, Relaxed) + 1);
        let why = format!(
            "a bug of cortex in '{method}', trace {trace}: {}",
            words.unwrap_or("no reason given")
        );
        (self.owner.log_bug)(&Diagnostic::error(ErrorCode::InternalError, why.as_str()));
        let why = Diagnostic::error(ErrorCode::InternalError, why).found(trace);
        Failed::new(Code::Internal, why.hint("please report it with the request"))
    }

    pub fn figures(&self) -> Service {
        let methods = self.meter.figures();
        let (calls, warm) = METHODS
            .iter()
            .filter(|entry| entry.effect == Effect::Looks)
            .filter_map(|entry| methods.get(entry.name))
            .fold((0, 0), |(calls, warm), figures| (calls + figures.calls, warm + figures.warm));
        Service {
            pid: std::process::id(),
            uptime_sec: self.began.elapsed().as_secs(),
            memory_mb: memory_mb(),
            requests: self.requests.count(),
            p95_resolve_ms: methods.get("resolve").map_or(0.0, |figures| figures.p95_ms),
            hit_ratio: if calls > 0 { warm as f64 / calls as f64 } else { 0.0 },
            methods,
            ..Service::default()
        }
    }
}

/// Access of a request to the host.
struct HostAccess<'h> {
    host: &'h Arc<Host>,
    context: &'h RequestContext,
    method: &'static str,
    cancel: &'h Cancel,
    patience: Patience,
}

impl HostAccess<'_> {
    fn wait_for_turn<'t>(&self, turn: &'t Turn) -> Result<AcquiredTurn<'t>, Failed> {
        let (patience, long) = match self.patience {
            Patience::Short => (OF_CLIENTS, LOADS),
            Patience::Fair => (OF_CLIENTS, Duration::MAX),
            Patience::Long => (self.host.as_command(), Duration::MAX),
        };
        turn.acquire_turn(self.method, patience, long, self.cancel)
            .map_err(|holder| match self.cancel.is_cancelled() {
                true => Failed::new(Code::Interrupted, Diagnostic::error(ErrorCode::E_CANCELLED, "request cancelled")),
                false => self.host.busy(holder),
            })
    }
}

/// A request's turn to build, or to read while a build runs; released while the request waits for a model or a program.
struct RequestTurn {
    host: Arc<Host>,
    ticket: Ticket,
    is_beside: bool,
}

impl RequestTurn {
    fn turn(&self) -> &Turn {
        if self.is_beside { &self.host.beside } else { &self.host.turn }
    }
}

impl CheckoutTurn for RequestTurn {
    fn release_checkout(&self) {
        self.turn().release_turn(self.ticket);
    }

    fn reacquire_checkout(&self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, StoreError> {
        match self.turn().enter_again(self.ticket, is_cancelled) {
            true => Ok(true),
            false => Err(StoreError::ViewBusy {
                holder: "another request".to_owned(),
            }),
        }
    }
}

impl HostAccess<'_> {
    /// Registers `acquired` to be released while the request waits: the right to build together with the checkout.
    fn giving_back<'t>(&self, acquired: AcquiredTurn<'t>, is_beside: bool) -> AcquiredTurn<'t> {
        self.context.gives_back(Arc::new(RequestTurn {
            host: self.host.clone(),
            ticket: acquired.ticket,
            is_beside,
        }));
        acquired
    }
}

impl Serving for HostAccess<'_> {
    fn turn(&self) -> Result<AcquiredTurn<'_>, Failed> {
        self.host.end_build_ahead();
        self.wait_for_turn(&self.host.turn)
            .map(|acquired| self.giving_back(acquired, false))
    }

    fn turn_to_read(&self) -> Result<(AcquiredTurn<'_>, bool), Failed> {
        self.host.end_build_ahead();
        match self.host.turn.acquire_turn(self.method, TO_READ, TO_READ, self.cancel) {
            Ok(acquired) => Ok((self.giving_back(acquired, false), true)),
            Err(_) => Ok((self.giving_back(self.wait_for_turn(&self.host.beside)?, true), false)),
        }
    }

    fn patience(&self) -> Duration {
        match self.patience {
            Patience::Short => {
                let built = self.context.built_elsewhere().unwrap_or_default();
                LOADS.saturating_sub(built).max(TO_MAKE_WAY)
            }
            Patience::Fair => OF_CLIENTS,
            Patience::Long => self.host.as_command(),
        }
    }

    fn later(&self, method: &'static str, arguments: Value) {
        let host = self.host.clone();
        if let Some(entry) = find_method(method) {
            // If the thread cannot start, the operation stays at its beginning and shows that.
            let _ = std::thread::Builder::new().name(method.to_owned()).spawn(move || {
                host.call_with(entry, arguments, &Cancel::default(), Asker::with_patience(Patience::Long));
            });
        }
    }

    fn figures(&self) -> Service {
        self.host.figures()
    }

    fn names(&self) -> Option<(WorkspaceNames, Option<Moment>)> {
        self.host.names.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember_names(&self, names: &WorkspaceNames, moment: Option<Moment>) {
        *self.host.names.lock().unwrap_or_else(PoisonError::into_inner) = Some((names.clone(), moment));
    }

    fn index(&self) -> Option<(Arc<IndexWithSources>, Moment)> {
        self.host.index.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep_index(&self, index: &Arc<IndexWithSources>, moment: Moment) {
        *self.host.index.lock().unwrap_or_else(PoisonError::into_inner) = Some((index.clone(), moment));
    }
    fn word_index(&self, source: WordSource) -> Option<KnownWords> {
        let words = self.host.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.get(&source).cloned()
    }

    fn keep_words(&self, source: WordSource, index: &Arc<WordIndex>, moment: Option<Moment>) {
        let mut words = self.host.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.insert(source, (index.clone(), moment));
    }

    fn references(&self) -> ReferenceTexts {
        self.host.references.clone()
    }
}
