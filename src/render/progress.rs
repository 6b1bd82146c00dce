//! Progress while a build runs: bars on a terminal, nothing when piped; with `--verbose` one line for every node.

use super::{Style, count, duration, printable};
use engine::values::event::{Event, Observer};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Shows what happens on standard error.
pub struct Progress {
    bar: ProgressBar,
    style: Style,
    verbose: bool,
    ran: AtomicU64,
    cached: AtomicU64,
    failed: AtomicU64,
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
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
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
            Event::Scanned { files, hashed, changed } => {
                self.line(&style.dim(&format!(
                    "{} source files, {} hashed, {} changed",
                    count(*files as u64),
                    count(*hashed as u64),
                    count(*changed as u64)
                )));
            }
            Event::Marked { label, reason } => {
                self.line(&style.dim(&format!("  stale   {} ({})", printable(label), printable(&reason.to_string()))))
            }
            Event::Ran { label, took, changed, .. } => {
                let cutoff = if *changed { "" } else { ", same output" };
                let took = duration(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
                self.line(&format!(
                    "  {} {} {}",
                    style.green("ran    "),
                    printable(label),
                    style.dim(&format!("({took}{cutoff})"))
                ));
            }
            Event::Hit { label, .. } => self.line(&format!("  {} {}", style.cyan("cached "), printable(label))),
            Event::Verified { label } => self.line(&style.dim(&format!("  same    {}", printable(label)))),
            Event::Failed { label, .. } => self.line(&format!("  {} {}", style.red("failed "), printable(label))),
            Event::Skipped { label, because } => self.line(&format!(
                "  {} {} ({} has no output)",
                style.yellow("skipped"),
                printable(label),
                printable(because)
            )),
            Event::WouldRun { label, certain } => {
                let word = if *certain { "would run" } else { "may run  " };
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
