//! What answers requests, and what of it outlives them: the right to build, answers that are known, figures.

use super::meter::{Figures, Meter};
use super::turn::Turn;
use super::warm::Warm;
use crate::cli::Global;
use crate::context::{Context, Failed};
use crate::desk::Desk;
use crate::exit::Code;
use crate::methods::{Answered, Effect, Entry};
use crate::render::diagnostic;
use engine::seams::producer::Cancel;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::{Event, Observer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long a request waits for its turn to build before it is told that others are being served.
const PATIENCE: Duration = Duration::from_secs(30);

/// Answers requests of any number of clients.
pub struct Host {
    global: Global,
    /// Whose turn it is to build.
    pub turn: Turn,
    warm: Warm,
    meter: Meter,
    /// What is being built just now.
    pub load: Arc<Load>,
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
        Self {
            global,
            turn: Turn::default(),
            warm: Warm::default(),
            meter: Meter::default(),
            load: Arc::new(Load::default()),
            traces: AtomicU64::new(0),
            began: Instant::now(),
        }
    }

    /// Answers.
    pub fn call(&self, entry: &'static Entry, arguments: Value, cancel: &Cancel) -> Outcome {
        let start = Instant::now();
        let question = (entry.effect == Effect::Looks).then(|| format!("{}\0{arguments}", entry.name));
        if let Some(answer) = question.as_deref().and_then(|question| self.warm.get(question)) {
            self.meter.count(entry.name, start.elapsed(), false, true);
            let answer = Value::clone(&answer);
            return Outcome {
                result: Ok(Answered { answer, code: Code::Ok }),
                said: Vec::new(),
            };
        }
        let context = Context::of_request(self.global.clone(), cancel.clone(), self.load.clone());
        let answering = AssertUnwindSafe(|| self.answer(entry, arguments, question, &context, cancel));
        let result = catch_unwind(answering).unwrap_or_else(|panic| Err(self.panicked(entry.name, &*panic)));
        context.close();
        self.meter.count(entry.name, start.elapsed(), result.is_err(), false);
        Outcome {
            result,
            said: context.take_said(),
        }
    }

    fn answer(
        &self,
        entry: &'static Entry,
        arguments: Value,
        question: Option<String>,
        context: &Context,
        cancel: &Cancel,
    ) -> Result<Answered, Failed> {
        let take = || {
            self.turn
                .take(entry.name, PATIENCE, cancel)
                .map_err(|holder| self.busy(holder, cancel))
        };
        let mut desk = Desk::new(context, entry.name).in_turn(Box::new(take));
        let answered = (entry.call)(&mut desk, arguments);
        // Nothing is read any more: other processes can have the checkout, and the next request its turn.
        context.let_go();
        self.load.clear();
        let answered = answered?;
        // What was said with an answer is part of it: those are not kept.
        if let (Some(question), Some(moment), Code::Ok, false) = (question, desk.moment(), answered.code, context.has_said()) {
            self.warm.put(question, &answered.answer, moment);
        }
        Ok(answered)
    }

    fn busy(&self, holder: &str, cancel: &Cancel) -> Failed {
        if cancel.is_cancelled() {
            let why = Diagnostic::error("E_CANCELLED", "the request was taken back");
            return Failed::new(Code::Interrupted, why);
        }
        let progress = self.load.percent().map(|percent| format!(", {percent} % done")).unwrap_or_default();
        let why = Diagnostic::error("Busy", format!("'{holder}' is being answered{progress}"));
        Failed::new(Code::Busy, why.hint("ask again in a moment"))
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
        eprintln!("{}", diagnostic::json(&Diagnostic::error("InternalError", why.as_str())));
        let why = Diagnostic::error("InternalError", why).found(trace);
        Failed::new(Code::Internal, why.hint("please report it with the request"))
    }

    /// The figures of each method.
    pub fn figures(&self) -> BTreeMap<String, Figures> {
        self.meter.figures()
    }

    /// Since when it answers.
    pub fn uptime(&self) -> Duration {
        self.began.elapsed()
    }
}
