//! A program at a pseudo-terminal, with the screen that a person would see.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longest wait for a screen.
const PATIENCE: Duration = Duration::from_secs(300);

/// A terminal with a program.
pub struct PseudoTerminal {
    main: File,
    bytes: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// The program.
    pub child: Child,
}

impl PseudoTerminal {
    /// Starts a program at a terminal of a size.
    pub fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&main).expect("granted");
        unlockpt(&main).expect("unlocked");
        let name = ptsname(&main, Vec::new()).expect("a name");
        let main = File::from(main);
        let side = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name.to_str().expect("text"))
            .expect("its other side");
        let end = || Stdio::from(side.try_clone().expect("a copy"));
        command
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .env("TERM", "xterm-256color")
            .env("NO_COLOR", "1");
        resize(&main, columns, rows);
        let child = command.spawn().expect("the program starts");
        let (sender, bytes) = channel();
        let mut reader = main.try_clone().expect("a copy");
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(len @ 1..) = reader.read(&mut piece) {
                if sender.send(piece[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            main,
            bytes,
            screen: vt100::Parser::new(rows, columns, 0),
            child,
        }
    }

    /// Sends keys.
    pub fn send(&mut self, keys: &str) {
        self.main.write_all(keys.as_bytes()).expect("sent");
    }

    /// Resizes the terminal, and signals the program as a terminal does.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.screen.screen_mut().set_size(rows, columns);
        resize(&self.main, columns, rows);
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::WINCH).expect("told");
    }

    /// Returns the screen once `wanted` accepts it; panics with the screen after [`PATIENCE`].
    pub fn until(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        self.wait(what, |terminal| wanted(&terminal.screen_text()));
        self.screen_text()
    }

    /// Waits until the cursor is in this column of a row that contains a text.
    pub fn until_cursor(&mut self, text: &str, column: u16) {
        self.wait(&format!("the cursor at {column} of '{text}'"), |terminal| {
            let at = terminal.screen.screen().cursor_position();
            let shown = terminal.screen_text();
            let row = shown.lines().nth(at.0.into()).unwrap_or_default();
            row.contains(text) && at.1 == column
        });
    }

    fn wait(&mut self, what: &str, wanted: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !wanted(self) {
            let left = end.saturating_duration_since(Instant::now());
            match self.bytes.recv_timeout(left) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) => panic!("{what} was not seen:\n{}", self.screen_text()),
            }
        }
    }

    /// Returns the screen once it shows a text.
    pub fn until_shown(&mut self, text: &str) -> String {
        self.until(text, |shown| shown.contains(text))
    }

    /// Returns the rows of the screen, without trailing white space.
    pub fn screen_text(&self) -> String {
        let (_, columns) = self.screen.screen().size();
        let rows: Vec<String> = self.screen.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Waits for the program's end; returns its exit code.
    pub fn code(mut self) -> i32 {
        // Drain the remaining output, so that the program can end.
        while self.bytes.recv_timeout(PATIENCE).is_ok() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.code().unwrap_or(-1);
            }
        }
        self.child.wait().expect("ended").code().unwrap_or(-1)
    }
}

impl Drop for PseudoTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(main: &File, columns: u16, rows: u16) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(main, size).expect("resized");
}
