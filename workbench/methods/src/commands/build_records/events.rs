//! The event log of `build --events FILE`: one JSON object per line, in order of time, in the form of `engine::values::event`.

use super::write_failure;
use crate::failed::Failed;
use engine::values::event::{Event, Observer};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A file for events. Keeps the first error and reports it at the end, so that a full disk does not stop a build.
pub struct EventLog {
    path: PathBuf,
    state: Mutex<EventFile>,
}

struct EventFile {
    file: BufWriter<File>,
    error: Option<std::io::Error>,
}

impl EventLog {
    /// Creates or truncates the file.
    pub fn create(path: &Path) -> Result<Self, Failed> {
        let file = File::create(path).map_err(|error| write_failure("event log", path, &error))?;
        Ok(Self {
            path: path.to_path_buf(),
            state: Mutex::new(EventFile {
                file: BufWriter::new(file),
                error: None,
            }),
        })
    }

    /// Writes the buffered rest.
    pub fn flush_rest(self) -> Result<(), Failed> {
        let mut state = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let ended = match state.error.take() {
            Some(error) => Err(error),
            None => state.file.flush(),
        };
        ended.map_err(|error| write_failure("event log", &self.path, &error))
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::diagnostic::Diagnostic;
    use engine::values::digest::Digest;
    use engine::values::event::Reason;
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    const REFERENCE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference.md"));

    fn quoted(text: &str) -> BTreeSet<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    fn section() -> &'static str {
        let start = REFERENCE.find("\n## Events\n").expect("the section");
        let rest = &REFERENCE[start + 1..];
        &rest[..rest[1..].find("\n## ").map_or(rest.len(), |end| end + 1)]
    }

    /// Returns one event of each kind; the match ensures that none is missing.
    fn events<'a>(why: &'a Diagnostic, reason: &'a Reason) -> Vec<Event<'a>> {
        let (label, output, took) = ("//a:b", Digest([0; 32]), Duration::ZERO);
        let all = vec![
            Event::Scanned {
                files: 1,
                hashed: 1,
                stated: 1,
                changed: 1,
            },
            Event::Requested { targets: 1 },
            Event::Marked { label, reason },
            Event::Started { label, paid: true },
            Event::Ran {
                label,
                output,
                took,
                changed: true,
            },
            Event::Hit {
                label,
                output,
                saved: took,
            },
            Event::Verified { label },
            Event::Failed { label, why },
            Event::Skipped { label, because: label },
            Event::WouldRun { label, certain: true },
            Event::Committed { results: 1 },
            Event::Exported { path: "a" },
        ];
        for event in &all {
            match event {
                Event::Scanned { .. }
                | Event::Requested { .. }
                | Event::Marked { .. }
                | Event::Started { .. }
                | Event::Ran { .. }
                | Event::Hit { .. }
                | Event::Verified { .. }
                | Event::Failed { .. }
                | Event::Skipped { .. }
                | Event::WouldRun { .. }
                | Event::Committed { .. }
                | Event::Exported { .. } => {}
            }
        }
        all
    }

    #[test]
    fn the_readme_lists_exactly_the_events_and_their_fields() {
        let (why, reason) = (Diagnostic::error("E_X", "x"), Reason::New);
        let written = events(&why, &reason).into_iter().map(|event| {
            let serde_json::Value::Object(mut fields) = serde_json::to_value(event).expect("JSON") else {
                panic!("an object")
            };
            let name = fields.remove("event").expect("a name");
            (name.as_str().expect("text").to_owned(), fields.keys().cloned().collect())
        });
        let documented = section().lines().filter_map(|line| {
            let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
            Some((name.to_owned(), quoted(rest.split(" | ").next()?)))
        });
        let written: BTreeMap<String, BTreeSet<String>> = written.collect();
        assert_eq!(documented.collect::<BTreeMap<_, _>>(), written);
    }

    #[test]
    fn the_readme_names_every_reason() {
        let path = || "a".to_owned();
        let digest = Digest([0; 32]);
        let all = [
            Reason::New,
            Reason::FileChanged {
                path: path(),
                from: digest,
                to: digest,
            },
            Reason::FileAdded { path: path() },
            Reason::FileRemoved { path: path() },
            Reason::SetChanged {
                label: path(),
                added: Vec::new(),
                removed: Vec::new(),
            },
            Reason::InputMoved { label: path() },
            Reason::DefinitionChanged,
            Reason::LeftStale,
            Reason::BuiltSince,
            Reason::Invalidated,
        ];
        let named = quoted(section().split_once("`reason` is an object").expect("the sentence").1);
        for reason in all {
            let value = serde_json::to_value(&reason).expect("JSON");
            for name in value
                .as_object()
                .expect("an object")
                .keys()
                .map(String::as_str)
                .chain(value["reason"].as_str())
            {
                assert!(named.contains(name) || name == "reason", "{name} is not documented");
            }
        }
    }
}
