//! The terminal: its size, and the echo of control characters, which would otherwise push a progress bar out of its line when Ctrl-C is pressed.

use crate::handles::AsFd;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Columns and rows of a terminal, 0 where it does not know; `None` when it is none.
pub fn size(terminal: impl AsFd) -> Option<(usize, usize)> {
    let size = tcgetwinsize(terminal).ok()?;
    Some((size.ws_col.into(), size.ws_row.into()))
}

/// While this lives, `^C` is not echoed. Nothing happens when standard input is no terminal.
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

    /// Puts the terminal back as it was.
    pub fn restore(&self) {
        if let Some(saved) = &self.saved {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, saved);
        }
    }
}
