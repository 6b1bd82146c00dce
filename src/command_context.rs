//! The context of a command: its flags, the terminal that it prints to, and the request that it makes.

mod failure_output;

use crate::cli::{Global, OutputForm};
use crate::terminal::{Terminal, stderr_style, stdout_style};
use methods::desk::request_context::RequestContext;
use methods::render::{Style, diagnostic};
use serve::Host;
use serve::host::Owner;
use std::io::StdoutLock;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// Flags and output of a command. It is a [`RequestContext`] for all that does not print.
pub struct CommandContext {
    request: RequestContext,
    /// Resolved flags.
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
    /// Resolves the flags.
    pub fn new(mut global: Global) -> Self {
        if global.json && global.output == OutputForm::Text {
            global.output = OutputForm::Json;
        }
        let (out, err) = (stdout_style(global.color), stderr_style(global.color));
        let terminal = terminal_of(&global, err);
        Self {
            request: RequestContext::of_person(global.settings(), Box::new(terminal)),
            global,
            out,
            err,
        }
    }

    /// Returns the terminal of the command.
    pub fn terminal(&self) -> Terminal {
        terminal_of(&self.global, self.err)
    }

    /// Creates the host of a program that serves several clients.
    pub fn host(&self) -> Arc<Host> {
        let (global, style) = (self.global.clone(), self.err);
        Arc::new(Host::new(Owner {
            settings: self.settings().clone(),
            patience: Duration::from_secs(global.lock_timeout),
            person: Box::new(move || Box::new(terminal_of(&global, style))),
            log_bug: |why| note_line!("{}", diagnostic::diagnostic_json(why)),
        }))
    }

    /// Returns whether to print JSON.
    pub fn prints_json(&self) -> bool {
        self.global.output == OutputForm::Json
    }

    /// Returns standard output for the answer. Releases the locks first, because the program that reads the output may be slow.
    pub fn stdout(&self) -> StdoutLock<'static> {
        self.release_locks();
        std::io::stdout().lock()
    }
}

fn terminal_of(global: &Global, style: Style) -> Terminal {
    Terminal {
        style,
        is_json: global.output == OutputForm::Json,
    }
}
