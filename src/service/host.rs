//! What answers requests, and what of it outlives them: the right to build, answers that are known, figures.

use super::build_ahead::build_ahead;
use super::figures::{Service, memory_mb};
use super::meter::Meter;
use super::running::Running;
use super::turn::{Held, Ticket, Turn};
use super::warm::Warm;
use crate::cli::Global;
use crate::commands::gc;
use crate::context::{Context, Failed, Tell};
use crate::desk::{Desk, Serving};
use crate::exit::Code;
use crate::methods::symbols::Names;
use crate::methods::touch::touch;
use crate::methods::{Answered, Effect, Entry, METHODS, find};
use crate::render::diagnostic;
use engine::build::checkout_turn::CheckoutTurn;
use engine::build::graph_memory::GraphMemory;
use engine::build::watched::Moment;
use engine::files::disk::settled_stamp;
use engine::files::stamp::Stamp;
use engine::seams::producer::Cancel;
use engine::store::StoreError;
use engine::store::disk::DATABASE;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::{Event, Observer, Silent};
use producers::llm::Hear;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use workbench::context::shelf::IndexWithSources;
use workbench::live::budget::Room;
use workbench::locks::Hold;

/// How long a request waits for its turn to build before it is told that others are being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// A client that hears nothing meanwhile: it learns soon that the service loads, and asks again.
    Short,
    /// A client that would not ask again by itself; it has a time-out of its own.
    Fair,
    /// A command, and a client that is told how far things are: they wait as long as a command would without a service.
    Long,
}

/// Who asks.
pub struct Asker {
    /// How long he waits.
    pub patience: Patience,
    /// Told how things go.
    pub tell: Option<Tell>,
    /// What fits in an answer, if he takes no longer ones.
    pub room: Option<Room>,
    /// Hears a streamed answer of a model as it grows.
    pub hear: Option<Hear>,
}

impl Asker {
    /// Somebody of that patience who wants an answer of any length, and nothing besides.
    pub fn of(patience: Patience) -> Self {
        Self {
            patience,
            tell: None,
            room: None,
            hear: None,
        }
    }
}

/// How long a client's request waits.
const OF_CLIENTS: Duration = Duration::from_secs(10);

/// Whoever builds for longer than this loads: many files came to be, or moved.
const LOADS: Duration = Duration::from_secs(2);

/// What a watch that builds ahead needs to make way, and a build to let others have the store: neither is loading.
const TO_MAKE_WAY: Duration = Duration::from_millis(500);

/// How long a service that ends waits for what it was at.
const TO_END: Duration = Duration::from_secs(5);

/// How long a question waits for the right to build. Most questions are answered sooner; who has had it for longer builds, or waits for others.
const TO_READ: Duration = Duration::from_millis(100);

/// So many questions are answered at once while the checkout is built: each loads the graph, and makes what is not current of what it reads.
const READERS: usize = 2;

/// So often a question is answered anew whose sources moved while it was answered.
const TRIES: usize = 5;

/// Answers requests of any number of clients.
pub struct Host {
    global: Global,
    root: Option<PathBuf>,
    /// The file of the store, if there is a store.
    store: Option<PathBuf>,
    /// Whose turn it is to build.
    pub turn: Turn,
    /// Whose turn it is to read beside who builds.
    beside: Turn,
    warm: Warm,
    names: Mutex<Option<(Names, Moment)>>,
    index: Mutex<Option<(Arc<IndexWithSources>, Moment)>>,
    /// The last graph that a request loaded.
    graphs: GraphMemory,
    meter: Meter,
    /// What is being built just now.
    pub load: Arc<Load>,
    /// What is being built ahead.
    ahead: Running,
    /// Requests that are being answered, or wait.
    requests: Running,
    traces: AtomicU64,
    began: Instant,
}

/// How far what is being built has come.
#[derive(Debug, Default)]
pub struct Load {
    asked: AtomicU64,
    done: AtomicU64,
}

impl Load {
    /// How far, in percent; `None` when nothing is being built.
    pub fn percent(&self) -> Option<u64> {
        let (asked, done) = (self.asked.load(Relaxed), self.done.load(Relaxed));
        (asked > 0).then(|| (done * 100 / asked).min(99))
    }

    fn clear(&self) {
        self.asked.store(0, Relaxed);
        self.done.store(0, Relaxed);
    }
}

impl Observer for Load {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Requested { targets } => {
                self.asked.fetch_add(*targets as u64, Relaxed);
            }
            Event::Ran { .. } | Event::Hit { .. } | Event::Verified { .. } | Event::Failed { .. } | Event::Skipped { .. } => {
                self.done.fetch_add(1, Relaxed);
            }
            _ => {}
        }
    }
}

/// What a request came to, with what was said meanwhile.
pub struct Outcome {
    /// The answer, or why there is none.
    pub result: Result<Answered, Failed>,
    /// What was said.
    pub said: Vec<Diagnostic>,
}

impl Host {
    /// For the workspace in which the process stands.
    pub fn new(global: Global) -> Self {
        let context = Context::new(global.clone());
        Self {
            root: context.root(),
            store: context.store_folder().map(|folder| folder.join(DATABASE)),
            global,
            turn: Turn::of(1),
            beside: Turn::of(READERS),
            warm: Warm::default(),
            names: Mutex::default(),
            index: Mutex::default(),
            graphs: GraphMemory::default(),
            meter: Meter::default(),
            load: Arc::new(Load::default()),
            ahead: Running::default(),
            requests: Running::default(),
            traces: AtomicU64::new(0),
            began: Instant::now(),
        }
    }

    /// Answers a client that would not ask again by itself.
    pub fn call(self: &Arc<Self>, entry: &'static Entry, arguments: Value, cancel: &Cancel) -> Outcome {
        self.call_with(entry, arguments, cancel, Asker::of(Patience::Fair))
    }

    /// Answers whoever asks, and tells him how things go if he wants to hear it.
    pub fn call_with(
        self: &Arc<Self>,
        entry: &'static Entry,
        arguments: Value,
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
        let question = self.question(entry, &arguments);
        if let Some(answer) = question.as_deref().and_then(|question| self.warm.get(question)) {
            self.meter.count(entry.name, start.elapsed(), false, true);
            let answer = Value::clone(&answer);
            touch(self.root.as_deref(), entry, &answer);
            return Outcome {
                result: Ok(Answered { answer, code: Code::Ok }),
                said: Vec::new(),
            };
        }
        let mut tries = match entry.effect {
            Effect::Looks => TRIES,
            _ => 1,
        };
        loop {
            tries -= 1;
            let context = Context::of_request(self.global.clone(), cancel.clone(), self.load.clone())
                .sharing_graph(&self.graphs)
                .telling(tell.clone(), hear.clone())
                .in_room(room);
            let asked = (entry, arguments.clone(), question.clone());
            let answering = AssertUnwindSafe(|| self.answer(asked, &context, (cancel, patience)));
            let result = catch_unwind(answering).unwrap_or_else(|panic| Err(self.panicked(entry.name, &*panic)));
            let filed: Vec<Arc<Hold>> = context.locks_held().into_iter().filter(|hold| hold.filed().is_some()).collect();
            context.close();
            let said = context.take_said();
            let failed = result.as_ref().err().map_or(&[][..], |failed| &failed.diagnostics);
            let moved = failed.iter().chain(&said).any(|why| why.code == ErrorCode::E_CHANGED);
            if moved && tries > 0 && !cancel.is_cancelled() {
                continue;
            }
            self.meter.count(entry.name, start.elapsed(), result.is_err(), false);
            self.collect(filed);
            return Outcome { result, said };
        }
    }

    /// The name under which an answer is remembered: the question, with the stamps of the files that decide the answer besides the sources.
    /// `None` where more counts, or where a file could change again without its stamp changing.
    fn question(&self, entry: &Entry, arguments: &Value) -> Option<String> {
        let files = (entry.depends_on)(arguments)?;
        let mut question = format!("{}\0{arguments}", entry.name);
        if entry.effect != Effect::Looks {
            let paths = files.iter().filter_map(|file| Some(self.root.as_ref()?.join(file)));
            let stamps: Option<Vec<Stamp>> = paths.chain([self.store.clone()?]).map(|path| settled_stamp(&path)).collect();
            question.push_str(&format!("\0{:?}", stamps?));
        }
        Some(question)
    }

    fn answer(
        self: &Arc<Self>,
        (entry, arguments, question): (&'static Entry, Value, Option<String>),
        context: &Context,
        (cancel, patience): (&Cancel, Patience),
    ) -> Result<Answered, Failed> {
        let seat = Seat {
            host: self,
            context,
            method: entry.name,
            cancel,
            patience,
        };
        let mut desk = Desk::new(context, entry.name).served_by(&seat);
        let answered = (entry.call)(&mut desk, arguments);
        desk.part();
        // Nothing is read any more: other processes can have the checkout, and the next request its turn.
        context.let_go();
        if desk.has_turn() {
            self.load.clear();
        }
        let answered = answered.map_err(|failed| match patience {
            // A command tells what it would have met by itself.
            Patience::Long => failed,
            Patience::Short | Patience::Fair => self.elsewhere(failed),
        })?;
        if context.overlay().is_none() {
            touch(self.root.as_deref(), entry, &answered.answer);
        }
        // What was said with an answer is part of it: those are not kept.
        if let (Some(question), Some(moment), Code::Ok, false) = (question, desk.moment(), answered.code, context.has_said()) {
            self.warm.remember(question, &answered.answer, moment);
        }
        Ok(answered)
    }

    /// Keeps the stores in which a request filed something within the size that the manifest allows, as a command does after itself: when
    /// nobody builds, and without keeping the answer back.
    fn collect(self: &Arc<Self>, filed: Vec<Arc<Hold>>) {
        let due: Vec<Arc<Hold>> = filed.into_iter().filter(|hold| gc::is_due(hold)).collect();
        if due.is_empty() {
            return;
        }
        let host = self.clone();
        let collect = move || {
            let never = Duration::MAX;
            if let Ok(_turn) = host.turn.take("gc", host.as_command(), never, &Cancel::default()) {
                gc::keep_within(&Context::new(host.global.clone()), &due);
            }
        };
        // What cannot be begun now is done after the next request.
        let _ = std::thread::Builder::new().name("gc".to_owned()).spawn(collect);
    }

    /// Builds ahead until a request, or another process, wants the checkout. Whether it got to the end.
    pub fn build_ahead(&self) -> bool {
        let cancel = Cancel::default();
        let _ahead = self.ahead.register(&cancel);
        // Requests are counted before they end what is built ahead: one that came too early for that is seen here.
        if self.requests.count() > 0 {
            return false;
        }
        let Ok(_turn) = self.turn.take("build ahead", Duration::ZERO, Duration::MAX, &cancel) else {
            return false;
        };
        let context = Context::of_request(self.global.clone(), cancel.clone(), Arc::new(Silent)).sharing_graph(&self.graphs);
        // What goes wrong is told to those who ask for it.
        let _ = build_ahead(&context, &cancel, |_| {});
        context.close();
        !cancel.is_cancelled()
    }

    /// Others want the checkout: what is built ahead ends.
    pub fn end_build_ahead(&self) {
        self.ahead.cancel_all();
    }

    /// The service ends: what it is at ends as a command does that is told to, with its programs, and is waited for.
    pub fn end_all(&self) {
        self.end_build_ahead();
        self.requests.finish_within(TO_END);
        self.ahead.finish_within(TO_END);
    }

    /// How long a command waits for others.
    fn as_command(&self) -> Duration {
        Duration::from_secs(self.global.lock_timeout)
    }

    /// How far what is being built has come, in percent; `None` when nothing is being built.
    pub fn percent(&self) -> Option<u64> {
        self.turn.holder().map(|_| self.load.percent().unwrap_or(0))
    }

    /// What somebody of that patience is told while the service loads; `None` when he waits, or it does not.
    pub fn loads(&self, patience: Patience) -> Option<Failed> {
        let (holder, since) = self.turn.holder()?;
        (patience == Patience::Short && since >= LOADS).then(|| self.busy(holder))
    }

    /// Whether another process builds the checkout: the lock of the checkout tells it, and nothing tells how far it has come.
    #[cfg(feature = "http")]
    pub fn is_built_elsewhere(&self) -> bool {
        Context::new(self.global.clone()).built_elsewhere().is_some()
    }

    fn busy(&self, holder: &str) -> Failed {
        let why = Diagnostic::error(ErrorCode::Busy, format!("'{holder}' is being answered"));
        let found = format!("{} % done", self.load.percent().unwrap_or(0));
        Failed::new(Code::Busy, why.found(found).hint("ask again in a moment"))
    }

    /// That another process builds the checkout, as those are told it who ask the service.
    fn elsewhere(&self, mut failed: Failed) -> Failed {
        for why in failed.diagnostics.iter_mut().filter(|why| why.code == ErrorCode::E_BUSY) {
            // How far another process has come is not known.
            let busy = Diagnostic::error(ErrorCode::Busy, why.message.as_str()).found("0 % done");
            *why = busy.hint("ask again in a moment");
        }
        failed
    }

    fn panicked(&self, method: &str, panic: &(dyn std::any::Any + Send)) -> Failed {
        let words = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        let trace = format!("{}-{}", std::process::id(), self.traces.fetch_add(1, Relaxed) + 1);
        let why = format!(
            "a bug of cortex in '{method}', trace {trace}: {}",
            words.unwrap_or("no reason given")
        );
        note_line!("{}", diagnostic::json(&Diagnostic::error(ErrorCode::InternalError, why.as_str())));
        let why = Diagnostic::error(ErrorCode::InternalError, why).found(trace);
        Failed::new(Code::Internal, why.hint("please report it with the request"))
    }

    /// What it can tell of itself.
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

/// One request's place among the others.
struct Seat<'h> {
    host: &'h Arc<Host>,
    context: &'h Context,
    method: &'static str,
    cancel: &'h Cancel,
    patience: Patience,
}

impl Seat<'_> {
    fn wait_in<'t>(&self, turn: &'t Turn) -> Result<Held<'t>, Failed> {
        let (patience, long) = match self.patience {
            Patience::Short => (OF_CLIENTS, LOADS),
            Patience::Fair => (OF_CLIENTS, Duration::MAX),
            Patience::Long => (self.host.as_command(), Duration::MAX),
        };
        turn.take(self.method, patience, long, self.cancel)
            .map_err(|holder| match self.cancel.is_cancelled() {
                true => Failed::new(
                    Code::Interrupted,
                    Diagnostic::error(ErrorCode::E_CANCELLED, "the request was taken back"),
                ),
                false => self.host.busy(holder),
            })
    }
}

/// A request's turn to build, or to read beside who builds, which it leaves to others while it waits for a model or a program.
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
    fn give_back(&self) {
        self.turn().leave(self.ticket);
    }

    fn take_again(&self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, StoreError> {
        match self.turn().enter_again(self.ticket, is_cancelled) {
            true => Ok(true),
            false => Err(StoreError::ViewBusy {
                holder: "another request".to_owned(),
            }),
        }
    }
}

impl Seat<'_> {
    /// Has a right given back while the request waits; the right to build with the checkout.
    fn giving_back<'t>(&self, held: Held<'t>, is_beside: bool) -> Held<'t> {
        self.context.gives_back(Arc::new(RequestTurn {
            host: self.host.clone(),
            ticket: held.ticket,
            is_beside,
        }));
        held
    }
}

impl Serving for Seat<'_> {
    fn turn(&self) -> Result<Held<'_>, Failed> {
        self.host.end_build_ahead();
        self.wait_in(&self.host.turn).map(|held| self.giving_back(held, false))
    }

    fn turn_to_read(&self) -> Result<(Held<'_>, bool), Failed> {
        self.host.end_build_ahead();
        match self.host.turn.take(self.method, TO_READ, TO_READ, self.cancel) {
            Ok(held) => Ok((self.giving_back(held, false), true)),
            Err(_) => Ok((self.giving_back(self.wait_in(&self.host.beside)?, true), false)),
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
        if let Some(entry) = find(method) {
            // What cannot be begun is told by the operation, which stays at its beginning.
            let _ = std::thread::Builder::new().name(method.to_owned()).spawn(move || {
                host.call_with(entry, arguments, &Cancel::default(), Asker::of(Patience::Long));
            });
        }
    }

    fn figures(&self) -> Service {
        self.host.figures()
    }

    fn names(&self) -> Option<(Names, Moment)> {
        let known = self.host.names.lock().unwrap_or_else(PoisonError::into_inner).clone();
        known.filter(|(_, moment)| moment.stands())
    }

    fn remember_names(&self, names: &Names, moment: Moment) {
        *self.host.names.lock().unwrap_or_else(PoisonError::into_inner) = Some((names.clone(), moment));
    }

    fn index(&self) -> Option<(Arc<IndexWithSources>, Moment)> {
        self.host.index.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep_index(&self, index: &Arc<IndexWithSources>, moment: Moment) {
        *self.host.index.lock().unwrap_or_else(PoisonError::into_inner) = Some((index.clone(), moment));
    }
}
