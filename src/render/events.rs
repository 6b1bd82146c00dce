//! The event log of `build --events FILE`: one JSON object a line, in the order things happened, as `engine::values::event` writes them.

use crate::context::Failed;
use crate::exit::Code;
use engine::values::diagnostic::Diagnostic;
use engine::values::event::{Event, Observer};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A file that events are written to. The first error is kept and told at the end: a full disk does not stop a build.
pub struct EventLog {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    file: BufWriter<File>,
    error: Option<std::io::Error>,
}

impl EventLog {
    /// Makes or empties the file.
    pub fn create(path: &Path) -> Result<Self, Failed> {
        let file = File::create(path).map_err(|error| failed(path, &error))?;
        Ok(Self {
            path: path.to_path_buf(),
            state: Mutex::new(State {
                file: BufWriter::new(file),
                error: None,
            }),
        })
    }

    /// Writes what is left.
    pub fn end(self) -> Result<(), Failed> {
        let mut state = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let ended = match state.error.take() {
            Some(error) => Err(error),
            None => state.file.flush(),
        };
        ended.map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failed {
    let why = Diagnostic::error("E_WRITE", format!("the event log {} cannot be written: {error}", path.display()));
    Failed::new(Code::Io, why.hint("check the path, its permissions and the space on the disk"))
}

impl Observer for EventLog {
    fn event(&self, event: &Event<'_>) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if state.error.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut state.file, event)
            .map_err(std::io::Error::from)
            .and_then(|()| state.file.write_all(b"\n"));
        state.error = written.err();
    }
}

/// Tells two observers.
pub struct Both<'a>(pub &'a dyn Observer, pub &'a dyn Observer);

impl Observer for Both<'_> {
    fn event(&self, event: &Event<'_>) {
        self.0.event(event);
        self.1.event(event);
    }
}
