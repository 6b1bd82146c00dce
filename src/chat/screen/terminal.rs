//! The terminal: raw while a conversation runs, restored afterwards however the program ends.

use super::keys::{Key, key_of_event};
use crossterm::event;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io::{self, Write};

/// Enables bracketed paste, so that a pasted line end does not ask the question.
const BEGIN: &str = "\x1b[?2004h";
const END: &str = "\x1b[?2004l\x1b[?25h";

/// Raw mode of the terminal, until it is dropped.
pub struct Terminal(());

impl Terminal {
    /// Enters raw mode. Fails when standard input is not a terminal.
    pub fn enter_raw_mode() -> io::Result<Self> {
        enable_raw_mode()?;
        let terminal = Self(());
        write_to_terminal(BEGIN)?;
        Ok(terminal)
    }

    /// Returns columns and rows; 80 by 24 if unknown.
    pub fn size() -> (usize, usize) {
        // Of standard output: the controlling terminal may be a different one.
        let size = os::terminals::terminal_size(io::stdout()).filter(|(columns, rows)| *columns > 0 && *rows > 0);
        size.unwrap_or((80, 24))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

pub fn restore() {
    // The terminal may be gone.
    let _ = write_to_terminal(END);
    let _ = disable_raw_mode();
}

/// Writes bytes to the terminal. Fails when the terminal is gone.
pub fn write_to_terminal(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Passes each key to `take` until it returns false; `None` if the terminal is gone.
pub fn pass_keys(mut take: impl FnMut(Option<Key>) -> bool) {
    loop {
        let Ok(event) = event::read() else {
            take(None);
            return;
        };
        if let Some(key) = key_of_event(event)
            && !take(Some(key))
        {
            return;
        }
    }
}
