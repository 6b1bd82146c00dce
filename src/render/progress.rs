//! Progress while a build runs: bars on a terminal, nothing when piped; with `--verbose` one line for every node.

use super::{Style, count, duration, printable};
use engine::values::event::{Event, Observer, Reason};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Shows what happens on standard error.
pub struct Progress {
    bar: ProgressBar,
    style: Style,
    verbose: bool,
    ran: AtomicU64,
    cached: AtomicU64,
    failed: AtomicU64,
    /// By label: the first input that was found to have moved.
    moved: Mutex<HashMap<String, String>>,
}

impl Progress {
    /// A bar when `terminal`, none otherwise.
    pub fn new(style: Style, verbose: bool, terminal: bool) -> Self {
        let bar = if terminal {
            ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(10))
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(
            ProgressStyle::with_template("{spinner} {bar:20} {pos}/{len} {elapsed} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        if terminal {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self {
            bar,
            style,
            verbose,
            ran: AtomicU64::new(0),
            cached: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            moved: Mutex::default(),
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| note_line!("{text}"));
    }

    /// What moved in the sources is told at once, what that leads to with the action it leads to.
    fn marked(&self, label: &str, reason: &Reason) {
        match reason {
            Reason::InputMoved { label: input } => {
                let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
                moved.entry(label.to_owned()).or_insert_with(|| input.clone());
            }
            reason => self.line(
                &self
                    .style
                    .dim(&format!("  stale   {} ({})", printable(label), printable(&reason.to_string()))),
            ),
        }
    }

    /// The input that made a node be looked at again; nothing when there was none, as on a first build.
    fn why(&self, label: &str) -> String {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved
            .get(label)
            .map_or_else(String::new, |input| format!("; {} moved", printable(input)))
    }

    fn count(&self, which: &AtomicU64) {
        which.fetch_add(1, Ordering::Relaxed);
        self.bar.inc(1);
        let [ran, cached, failed] = [&self.ran, &self.cached, &self.failed].map(|number| number.load(Ordering::Relaxed));
        let failed = if failed > 0 {
            self.style.red(&format!(", {} failed", count(failed)))
        } else {
            String::new()
        };
        self.bar
            .set_message(format!("{} ran, {} cached{failed}", count(ran), count(cached)));
    }

    fn tell(&self, event: &Event<'_>) {
        let style = self.style;
        match event {
            Event::Scanned {
                files, hashed, changed, ..
            } => {
                self.line(&style.dim(&format!(
                    "{} source files, {} hashed, {} changed",
                    count(*files as u64),
                    count(*hashed as u64),
                    count(*changed as u64)
                )));
            }
            Event::Marked { label, reason } => self.marked(label, reason),
            Event::Ran { label, took, changed, .. } => {
                let cutoff = if *changed { "" } else { ", same output" };
                let took = duration(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
                let why = style.dim(&format!("({took}{cutoff}{})", self.why(label)));
                self.line(&format!("  {} {} {why}", style.green("ran    "), printable(label)));
            }
            Event::Hit { label, saved, .. } => {
                let took = duration(u64::try_from(saved.as_micros()).unwrap_or(u64::MAX));
                let why = style.dim(&format!("({took} saved{})", self.why(label)));
                self.line(&format!("  {} {} {why}", style.cyan("cached "), printable(label)));
            }
            Event::Verified { label } => self.line(&style.dim(&format!("  same    {}", printable(label)))),
            Event::Failed { label, .. } => self.line(&format!("  {} {}", style.red("failed "), printable(label))),
            Event::Skipped { label, because } => self.line(&format!(
                "  {} {} ({} has no output)",
                style.yellow("skipped"),
                printable(label),
                printable(because)
            )),
            Event::WouldRun { label, certain } => {
                let word = if *certain { "will run" } else { "may run " };
                self.line(&format!("  {} {}", style.yellow(word), printable(label)));
            }
            Event::Exported { path } => self.line(&style.dim(&format!("  wrote   .cortex/out/{}", printable(path)))),
            Event::Requested { .. } | Event::Started { .. } | Event::Committed { .. } => {}
        }
    }
}

impl Observer for Progress {
    fn event(&self, event: &Event<'_>) {
        if self.verbose {
            self.tell(event);
        }
        match event {
            Event::Started { .. } => self.bar.inc_length(1),
            Event::Ran { .. } => self.count(&self.ran),
            Event::Hit { .. } => self.count(&self.cached),
            Event::Failed { .. } => self.count(&self.failed),
            _ => {}
        }
    }
}
