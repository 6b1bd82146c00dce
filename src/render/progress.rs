//! Progress while a build runs: bars on a terminal, nothing in a pipe; with `--verbose`, one line per node.

use engine::values::event::{Event, Observer, Reason};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use methods::render::{Style, duration, format_count, printable};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Shows the events of a build on standard error.
pub struct Progress {
    bar: ProgressBar,
    style: Style,
    verbose: bool,
    counts: Mutex<Counts>,
    /// First input that changed, by the label of its reader.
    first_changed: Mutex<HashMap<String, String>>,
}

impl Progress {
    /// Creates the observer; with a bar if `terminal`.
    pub fn new(style: Style, verbose: bool, terminal: bool) -> Self {
        let bar = if terminal {
            ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(10))
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(
            ProgressStyle::with_template("{spinner} {bar:20} {pos}/{len} {elapsed} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self {
            bar,
            style,
            verbose,
            counts: Mutex::default(),
            first_changed: Mutex::default(),
        }
    }

    pub fn remove_bar(&self) {
        self.bar.finish_and_clear();
    }

    fn print_line(&self, text: &str) {
        self.bar.suspend(|| note_line!("{text}"));
    }

    /// Prints a change of a source at once; keeps a changed input for the line of its reader's action.
    fn print_change(&self, label: &str, reason: &Reason) {
        match reason {
            Reason::InputMoved { label: input } => {
                let mut changed = self.first_changed.lock().unwrap_or_else(PoisonError::into_inner);
                changed.entry(label.to_owned()).or_insert_with(|| input.clone());
            }
            reason => self.print_line(
                &self
                    .style
                    .dim(&format!("  stale   {} ({})", printable(label), printable(&reason.to_string()))),
            ),
        }
    }

    /// Returns the input that caused a node to be checked again; empty without one, as in a first build.
    fn cause_of(&self, label: &str) -> String {
        let changed = self.first_changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed
            .get(label)
            .map_or_else(String::new, |input| format!("; {} changed", printable(input)))
    }

    fn count_progress(&self, event: &Event<'_>) {
        if self.bar.is_hidden() {
            return;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if !counts.count_event(event) {
            return;
        }
        let Counts {
            ran,
            cached,
            failed,
            total,
            ..
        } = &*counts;
        self.bar.set_length(*total);
        self.bar.set_position(counts.finished());
        if *total == 1 {
            // Start the bar with the first action, so that a build without work shows nothing.
            self.bar.enable_steady_tick(Duration::from_millis(120));
        }
        if counts.finished() == 0 {
            return;
        }
        let failed = if *failed > 0 {
            self.style.red(&format!(", {} failed", format_count(*failed)))
        } else {
            String::new()
        };
        self.bar
            .set_message(format!("{} ran, {} cached{failed}", format_count(*ran), format_count(*cached)));
    }

    fn show_event(&self, event: &Event<'_>) {
        let style = self.style;
        match event {
            Event::Scanned {
                files, hashed, changed, ..
            } => {
                self.print_line(&style.dim(&format!(
                    "{} source files, {} hashed, {} changed",
                    format_count(*files as u64),
                    format_count(*hashed as u64),
                    format_count(*changed as u64)
                )));
            }
            Event::Marked { label, reason } => self.print_change(label, reason),
            Event::Ran { label, took, changed, .. } => {
                let cutoff = if *changed { "" } else { ", same output" };
                let took = duration(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
                let why = style.dim(&format!("({took}{cutoff}{})", self.cause_of(label)));
                self.print_line(&format!("  {} {} {why}", style.green("ran    "), printable(label)));
            }
            Event::Hit { label, saved, .. } => {
                let took = duration(u64::try_from(saved.as_micros()).unwrap_or(u64::MAX));
                let why = style.dim(&format!("({took} saved{})", self.cause_of(label)));
                self.print_line(&format!("  {} {} {why}", style.cyan("cached "), printable(label)));
            }
            Event::Verified { label } => self.print_line(&style.dim(&format!("  same    {}", printable(label)))),
            Event::Failed { label, .. } => self.print_line(&format!("  {} {}", style.red("failed "), printable(label))),
            Event::Skipped { label, because } => self.print_line(&format!(
                "  {} {} ({} has no output)",
                style.yellow("skipped"),
                printable(label),
                printable(because)
            )),
            Event::WouldRun { label, certain } => {
                let word = if *certain { "will run" } else { "may run " };
                self.print_line(&format!("  {} {}", style.yellow(word), printable(label)));
            }
            Event::Exported { path } => self.print_line(&style.dim(&format!("  wrote   .cortex/out/{}", printable(path)))),
            Event::Requested { .. } | Event::Started { .. } | Event::Committed { .. } => {}
        }
    }
}

impl Observer for Progress {
    fn event(&self, event: &Event<'_>) {
        if self.verbose {
            self.show_event(event);
        }
        self.count_progress(event);
    }

    fn laying_out(&self, done: usize, files: usize) {
        self.bar.set_length(files as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(writing(done, files));
    }
}

fn writing(done: usize, files: usize) -> String {
    format!("writing files {} of {}", format_count(done as u64), format_count(files as u64))
}

/// Counters of the bar. Each action counts in the total before it counts as done.
#[derive(Default)]
struct Counts {
    ran: u64,
    cached: u64,
    failed: u64,
    total: u64,
    /// Targets whose producer has started and not ended.
    running: HashSet<String>,
}

impl Counts {
    fn finished(&self) -> u64 {
        self.ran + self.cached + self.failed
    }

    /// Adds an event; returns whether it changed a counter. A hit, or a failure before the producer started, also grows the total.
    fn count_event(&mut self, event: &Event<'_>) -> bool {
        let (label, number) = match event {
            Event::Started { label, .. } => {
                let is_new = self.running.insert((*label).to_owned());
                self.total += u64::from(is_new);
                return is_new;
            }
            Event::Ran { label, .. } => (label, &mut self.ran),
            Event::Hit { label, .. } => (label, &mut self.cached),
            Event::Failed { label, .. } => (label, &mut self.failed),
            _ => return false,
        };
        *number += 1;
        self.total += u64::from(!self.running.remove(*label));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::digest::Digest;

    #[test]
    fn the_bar_never_says_more_done_than_there_are() {
        let labels = ["//a:b", "//c:d", "//e:f"];
        let mut counts = Counts::default();
        for number in 0..200_usize {
            let label = labels[number * 7 % 3];
            let hit = Event::Hit {
                label,
                output: Digest([0; 32]),
                saved: Duration::ZERO,
            };
            counts.count_event(&if number * 5 % 4 == 0 {
                Event::Started { label, paid: false }
            } else {
                hit
            });
            assert!(counts.finished() <= counts.total, "{} of {}", counts.finished(), counts.total);
        }
        assert!(counts.finished() > 100);
        assert_eq!(writing(3_120, 11_058), "writing files 3,120 of 11,058");
    }
}
