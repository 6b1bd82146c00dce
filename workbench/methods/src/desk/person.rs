//! The messages of a running request to the person whose command it is. The program implements this for its terminal.

use engine::seams::producer::Cancel;
use engine::store::disk::OnWait;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::Observer;
use std::sync::{Arc, Mutex, PoisonError};

/// The person whose command runs.
pub trait Person {
    /// Prints diagnostics.
    fn print_diagnostics(&self, diagnostics: &[Diagnostic]);
    /// Prints status.
    fn print_status(&self, words: &str);
    /// Returns a printer for sentences about what the command waits for.
    fn waiting_printer(&self) -> OnWait;
    /// Returns the cancellation that the person triggers.
    fn cancel(&self) -> Cancel;
    /// Starts to show a build.
    fn display_build(&self) -> Box<dyn BuildDisplay>;
}

/// A build that a person is shown. Dropping it ends the display.
pub trait BuildDisplay {
    /// Returns the observer that shows the build.
    fn observer(&self) -> &dyn Observer;
    /// Returns the cancellation of the build, which the person triggers.
    fn cancel(&self) -> &Cancel;
}

/// Reports each process that holds the lock once, however often the command waits for it.
pub(super) fn report_waiting_once(what: &'static str, print: OnWait) -> OnWait {
    let before = Mutex::new(String::new());
    Arc::new(move |holder: &str| {
        let who = holder.split(',').next().unwrap_or(holder);
        let mut before = before.lock().unwrap_or_else(PoisonError::into_inner);
        if *before != who {
            who.clone_into(&mut before);
            print(&format!("{what} {holder}"));
        }
    })
}
