//! The terminal: its size, and the echo of control characters, which would move a progress bar out of its line on Ctrl-C.

use crate::handles::AsFd;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Returns columns and rows of a terminal, 0 if unknown; `None` if it is not a terminal.
pub fn terminal_size(terminal: impl AsFd) -> Option<(usize, usize)> {
    let size = tcgetwinsize(terminal).ok()?;
    Some((size.ws_col.into(), size.ws_row.into()))
}

/// Suppresses the echo of `^C` until it is restored. Does nothing if standard input is not a terminal.
#[derive(Clone)]
pub struct QuietControl {
    saved: Option<Termios>,
}

impl QuietControl {
    /// Turns the echo off if `wanted`.
    pub fn turn_echo_off(wanted: bool) -> Self {
        let saved = tcgetattr(std::io::stdin()).ok().filter(|_| wanted);
        if let Some(saved) = &saved {
            let mut quiet = saved.clone();
            quiet.local_modes.remove(LocalModes::ECHOCTL);
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet);
        }
        Self { saved }
    }

    pub fn restore(&self) {
        if let Some(saved) = &self.saved {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, saved);
        }
    }
}
