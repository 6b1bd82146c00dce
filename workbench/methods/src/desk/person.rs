//! The messages of a running request to the person whose command it is. The program implements this for its terminal.

use crate::render::Style;
use engine::seams::producer::Cancel;
use engine::store::disk::OnWait;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::Observer;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The person whose command runs.
pub trait Person {
    fn print_diagnostics(&self, diagnostics: &[Diagnostic]);
    /// Returns whether a program reads the messages and the answer: both are JSON, and there is no status.
    fn prints_json(&self) -> bool;
    fn style(&self) -> Style;
    fn answer_style(&self) -> Style;
    /// Prints formatted text next to the answer, unless a program reads it.
    fn print_text(&self, text: &str);
    fn print_status(&self, words: &str);
    /// Returns a printer for sentences about what the command waits for.
    fn waiting_printer(&self) -> OnWait;
    /// Returns the cancellation that the person triggers.
    fn cancel(&self) -> Cancel;
    /// Starts to show a build; with `verbose`, each of its nodes.
    fn display_build(&self, verbose: bool) -> Box<dyn BuildDisplay>;
}

/// A build that a person is shown. Dropping it ends the display.
pub trait BuildDisplay {
    /// Returns the observer that shows the build.
    fn observer(&self) -> &dyn Observer;
    /// Returns the cancellation of the build, which the person triggers.
    fn cancel(&self) -> &Cancel;
}

/// Least time between reports of two processes: many short commands that hold the lock in turn give one line, not one each.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Reports a process that holds the lock, once however often the command waits for it, and other holders at most every `interval`.
fn report_waiting_every(interval: Duration, what: &'static str, print: OnWait) -> OnWait {
    let before: Mutex<Option<(String, Instant)>> = Mutex::new(None);
    Arc::new(move |holder: &str| {
        let who = holder.split(',').next().unwrap_or(holder);
        let mut before = before.lock().unwrap_or_else(PoisonError::into_inner);
        let is_quiet = |(known, at): &(String, Instant)| known == who || at.elapsed() < interval;
        if !before.as_ref().is_some_and(is_quiet) {
            *before = Some((who.to_owned(), Instant::now()));
            print(&format!("{what} {holder}"));
        }
    })
}

/// Reports the processes that hold the lock, at most one in [`REPORT_INTERVAL`].
pub(super) fn report_waiting(what: &'static str, print: OnWait) -> OnWait {
    report_waiting_every(REPORT_INTERVAL, what, print)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_in_quick_succession_are_reported_once() {
        let reports = |interval: Duration| {
            let lines: Arc<Mutex<Vec<String>>> = Arc::default();
            let printed = Arc::clone(&lines);
            let print: OnWait = Arc::new(move |line: &str| printed.lock().unwrap().push(line.to_owned()));
            let report = report_waiting_every(interval, "held by", print);
            for holder in ["pid 1 (a, 1 s)", "pid 1 (a, 2 s)", "pid 2 (b, 0 s)", "pid 3 (c, 0 s)"] {
                report(holder);
            }
            lines.lock().unwrap().clone()
        };
        assert_eq!(reports(Duration::from_secs(3600)), ["held by pid 1 (a, 1 s)"]);
        let each = ["held by pid 1 (a, 1 s)", "held by pid 2 (b, 0 s)", "held by pid 3 (c, 0 s)"];
        assert_eq!(reports(Duration::ZERO), each);
    }
}
