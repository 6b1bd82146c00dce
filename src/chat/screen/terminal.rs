//! The terminal: raw while a conversation runs, as it was afterwards, whatever ends the program.

use super::keys::{Key, key};
use crossterm::event;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io::{self, Write};

/// Marks what is pasted, so that a line end in it asks nothing.
const BEGIN: &str = "\x1b[?2004h";
const END: &str = "\x1b[?2004l\x1b[?25h";

/// A terminal in raw mode while it lives.
pub struct Terminal(());

impl Terminal {
    /// Takes it over.
    ///
    /// # Errors
    /// When standard input is none.
    pub fn enter_raw_mode() -> io::Result<Self> {
        enable_raw_mode()?;
        let terminal = Self(());
        write(BEGIN)?;
        Ok(terminal)
    }

    /// Columns and rows; those of an old terminal where none are known.
    pub fn size() -> (usize, usize) {
        // Of standard output itself: another terminal may control the process.
        let size = os::terminals::size(io::stdout()).filter(|(columns, rows)| *columns > 0 && *rows > 0);
        size.unwrap_or((80, 24))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Puts it back as it was.
pub fn restore() {
    // It may be gone.
    let _ = write(END);
    let _ = disable_raw_mode();
}

/// Sends bytes to it.
///
/// # Errors
/// When it is gone.
pub fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Hands every key to `take` until it wants no more; `None` when the terminal is gone.
pub fn read(mut take: impl FnMut(Option<Key>) -> bool) {
    loop {
        let Ok(event) = event::read() else {
            take(None);
            return;
        };
        if let Some(key) = key(event)
            && !take(Some(key))
        {
            return;
        }
    }
}
