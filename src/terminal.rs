//! The terminal of a command: its colours and width, and what it shows while the command runs.

use crate::cli::{Global, OutputForm, When};
use crate::render::progress::Progress;
use crate::signals;
use engine::seams::producer::Cancel;
use engine::store::disk::OnWait;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::Observer;
use methods::desk::person::{BuildDisplay, Person};
use methods::render::{Style, diagnostic, printable};
use os::terminals::QuietControl;
use std::io::IsTerminal;
use std::sync::Arc;

/// Returns the style of standard output.
pub fn stdout_style(when: When) -> Style {
    style_of_stream(when, std::io::stdout().is_terminal(), columns(std::io::stdout()))
}

/// Returns the style of standard error.
pub fn stderr_style(when: When) -> Style {
    style_of_stream(when, std::io::stderr().is_terminal(), columns(std::io::stderr()))
}

fn style_of_stream(when: When, is_terminal: bool, columns: Option<usize>) -> Style {
    let wanted =
        std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let coloured = match when {
        When::Always => true,
        When::Never => false,
        When::Auto => is_terminal && wanted,
    };
    Style::new(coloured, columns.filter(|_| is_terminal))
}

fn columns(terminal: impl os::handles::AsFd) -> Option<usize> {
    let (columns, _) = os::terminals::terminal_size(terminal)?;
    Some(columns).filter(|columns| *columns > 0)
}

/// The person at the terminal, reached by standard error.
pub struct Terminal {
    /// Colours of standard error.
    pub style: Style,
    /// Colours of standard output.
    pub answer_style: Style,
    /// Whether to print only diagnostics, as JSON lines.
    pub is_json: bool,
}

impl Terminal {
    /// Creates the terminal of a command.
    pub fn from_flags(global: &Global) -> Self {
        Self {
            style: stderr_style(global.color),
            answer_style: stdout_style(global.color),
            is_json: global.output == OutputForm::Json,
        }
    }
}

impl Person for Terminal {
    fn print_diagnostics(&self, diagnostics: &[Diagnostic]) {
        if self.is_json {
            for one in diagnostics {
                note_line!("{}", diagnostic::diagnostic_json(one));
            }
            return;
        }
        for text in diagnostic::brief_texts(diagnostics, self.style) {
            note_line!("{text}");
        }
    }

    fn prints_json(&self) -> bool {
        self.is_json
    }

    fn style(&self) -> Style {
        self.style
    }

    fn answer_style(&self) -> Style {
        self.answer_style
    }

    fn print_text(&self, text: &str) {
        if !self.is_json {
            note_line!("{text}");
        }
    }

    fn print_status(&self, words: &str) {
        if !self.is_json {
            note_line!("{}", self.style.dim(&printable(words)));
        }
    }

    fn waiting_printer(&self) -> OnWait {
        let style = self.style;
        Arc::new(move |words: &str| note_line!("{}", style.dim(words)))
    }

    fn cancel(&self) -> Cancel {
        let cancel = Cancel::default();
        let ends = cancel.clone();
        signals::on_signal(move || ends.cancel(), || {});
        cancel
    }

    fn display_build(&self, verbose: bool) -> Box<dyn BuildDisplay> {
        Box::new(DisplayedBuild::begin_display(self, verbose))
    }
}

/// A build with its progress on the terminal. Ctrl-C and SIGTERM cancel it cleanly.
struct DisplayedBuild {
    progress: Progress,
    quiet: QuietControl,
    cancel: Cancel,
}

impl DisplayedBuild {
    /// Starts to show a build; with `verbose`, each of its nodes.
    fn begin_display(terminal: &Terminal, verbose: bool) -> Self {
        let cancel = Cancel::default();
        let bar = std::io::stderr().is_terminal() && !terminal.is_json;
        let quiet = QuietControl::turn_echo_off(bar);
        let (stop, restore) = (cancel.clone(), quiet.clone());
        signals::on_signal(move || stop.cancel(), move || restore.restore());
        let progress = Progress::new(terminal.style, verbose && !terminal.is_json, bar);
        Self { progress, quiet, cancel }
    }
}

impl BuildDisplay for DisplayedBuild {
    fn observer(&self) -> &dyn Observer {
        &self.progress
    }

    fn cancel(&self) -> &Cancel {
        &self.cancel
    }
}

impl Drop for DisplayedBuild {
    fn drop(&mut self) {
        self.progress.remove_bar();
        self.quiet.restore();
    }
}
