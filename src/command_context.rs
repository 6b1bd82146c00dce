//! The context of a command: its flags, the terminal that it prints to, and the request that it makes.

mod failure_output;

use crate::cli::{Global, OutputForm};
use crate::terminal::Terminal;
use methods::commands::CommandAnswer;
use methods::desk::request_context::RequestContext;
use methods::failed::{Failed, Outcome, outcome_of_write};
use methods::render::{Style, diagnostic};
use serve::Host;
use serve::host::Owner;
use std::io::{StdoutLock, Write};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// Flags and output of a command. It is a [`RequestContext`] for all that does not print.
pub struct CommandContext {
    request: RequestContext,
    pub global: Global,
    /// Colours of standard output.
    pub out: Style,
    /// Colours of standard error.
    pub err: Style,
}

impl Deref for CommandContext {
    type Target = RequestContext;

    fn deref(&self) -> &RequestContext {
        &self.request
    }
}

impl CommandContext {
    pub fn new(mut global: Global) -> Self {
        if global.json && global.output == OutputForm::Text {
            global.output = OutputForm::Json;
        }
        let terminal = Terminal::from_flags(&global);
        let (out, err) = (terminal.answer_style, terminal.style);
        Self {
            request: RequestContext::of_person(global.settings(), Box::new(terminal)),
            global,
            out,
            err,
        }
    }

    /// Creates the host of a program that serves several clients.
    pub fn host(&self) -> Arc<Host> {
        let global = self.global.clone();
        Arc::new(Host::new(Owner {
            settings: self.settings().clone(),
            patience: Duration::from_secs(global.lock_timeout),
            person: Box::new(move || Box::new(Terminal::from_flags(&global))),
            log_bug: |why| note_line!("{}", diagnostic::diagnostic_json(why)),
        }))
    }

    /// Returns standard output for the answer. Releases the locks first, because the program that reads the output may be slow.
    pub fn stdout(&self) -> StdoutLock<'static> {
        self.release_locks();
        std::io::stdout().lock()
    }

    /// Prints the answer of a command. Returns how the command ends.
    pub fn print_answer(&self, answer: Result<CommandAnswer, Failed>) -> Outcome {
        let answer = answer?;
        let bytes = if self.prints_json() { &answer.document } else { &answer.text };
        outcome_of_write(self.stdout().write_all(bytes))?;
        answer.outcome
    }
}
