//! States in exported files: `index.json` shows each type's `semanticState`, which is derived from the engine and so is in no blob
//! (DECISIONS: semanticState is derived; seed 000 §3.2).

use engine::build::finish::{Finish, LastFile, OutputToFinish};
use engine::build::query::{NodeState, NodeStatus};
use memchr::{memchr, memchr_iter, memmem};
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

/// Writes `semanticState`, and `lastError` if it is pending, into the exported `index.json`.
#[derive(Default)]
pub struct States {
    /// Whether `generatedAt` says when the output was built.
    pub with_times: bool,
}

/// Returns the word for the state of a summary (seed 000 §3.2).
pub fn semantic_state(state: NodeState) -> &'static str {
    match state {
        NodeState::Current => "cached",
        NodeState::MaybeStale => "maybeStale",
        state => state.as_str(),
    }
}

const INDEX: &str = "//index:json";

impl Finish for States {
    fn labels(&self) -> &[&str] {
        &[INDEX]
    }

    fn shows(&self, label: &str) -> bool {
        label.starts_with("//types/") && label.ends_with(":semantic")
    }

    fn shows_times(&self) -> bool {
        self.with_times
    }

    fn name_sources(&self) -> &[&str] {
        // `aliases.json`, and corrections, depend on the names of types.
        &["//index:types"]
    }

    fn finish(&self, output: &OutputToFinish<'_>, states: &mut dyn FnMut(&[String]) -> Vec<NodeStatus>) -> Option<Vec<u8>> {
        let file = output.last.as_ref().and_then(|last| between_differences(output.blob, last, states));
        let file = file
            .or_else(|| by_line(output.blob, states))
            .or_else(|| by_value(output.blob, states))?;
        Some(match output.made_at.filter(|_| self.with_times) {
            Some(made_at) => with_build_time(file, made_at),
            None => file,
        })
    }
}

/// Adds the time at which its output was built as the first field of a file.
fn with_build_time(file: Vec<u8>, made_at: u64) -> Vec<u8> {
    let time = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(made_at));
    match file.strip_prefix(b"{\n") {
        Some(rest) => [format!("{{\n  \"generatedAt\": \"{time}\",\n").as_bytes(), rest].concat(),
        None => file,
    }
}

fn label_of_summary(type_key: &str) -> String {
    format!("//types/{}:semantic", engine::values::label::escape(type_key))
}

/// The lines of a file that its states change, in the layout of the built-in rules.
#[derive(Default)]
struct StateLines {
    /// By type: the label of its summary.
    labels: Vec<String>,
    /// By type: where a line with `lastError` belongs.
    errors: Vec<usize>,
    /// By type: the place of its state.
    states: Vec<Range<usize>>,
}

impl StateLines {
    /// Finds the lines of the list of types in a text; `None` if the file has another layout.
    fn from_text(text: &str) -> Option<Self> {
        let begin = memmem::find(text.as_bytes(), b"\n  \"types\": [\n")? + 1;
        let end = begin + memmem::find(&text.as_bytes()[begin..], LIST_END)?;
        Self::from_lines(text, begin..end)
    }

    /// Finds the lines in a part of a text, which may begin and end within a line of an entry.
    fn from_lines(text: &str, part: Range<usize>) -> Option<Self> {
        const NAME: &str = "      \"fqn\": ";
        // The field that `lastError` comes before.
        const NEXT: &str = "      \"projectId\": ";
        let mut lines = Self::default();
        let mut start = part.start;
        let ends = memchr_iter(b'\n', &text.as_bytes()[part.clone()]).map(|at| part.start + at);
        for stop in ends.chain([part.end]) {
            let line = &text[start..stop];
            if let Some(name) = line.strip_prefix(NAME) {
                let name = serde_json::from_str::<String>(name.trim_end_matches(',')).ok()?;
                lines.labels.push(label_of_summary(&name));
            } else if line.starts_with("      \"key\": ") {
                return None;
            } else if line.starts_with(NEXT) {
                lines.errors.push(start);
            } else if let Some(state) = line.strip_prefix(&STATE[1..]) {
                let from = start + STATE.len() - 1;
                lines.states.push(from..from + state.find('"')?);
            }
            start = stop + 1;
        }
        let (labels, errors, states) = (&lines.labels, &lines.errors, &lines.states);
        let is_complete = errors.len() == labels.len() && states.len() == labels.len();
        let order = || errors.iter().zip(states).flat_map(|(error, state)| [*error, state.start]);
        (is_complete && order().is_sorted()).then_some(lines)
    }

    /// Inserts the states into the text; `None` if there is not one for each type.
    fn insert_states(self, text: &str, states: Vec<NodeStatus>) -> Option<String> {
        if states.len() != self.labels.len() {
            return None;
        }
        let mut out = String::with_capacity(text.len() + self.labels.len() * 4);
        let mut written = 0;
        for ((error_at, place), status) in self.errors.into_iter().zip(self.states).zip(states) {
            if let Some(error) = status.error_message() {
                out.push_str(&text[written..error_at]);
                out.push_str(&format!("      \"lastError\": {},\n", serde_json::Value::from(error)));
                written = error_at;
            }
            out.push_str(&text[written..place.start]);
            out.push_str(semantic_state(status.state));
            written = place.end;
        }
        out.push_str(&text[written..]);
        Some(out)
    }
}

/// Fills the states into a file in the layout of the built-in rules: parses and rewrites only those lines.
fn by_line(blob: &[u8], states: &mut dyn FnMut(&[String]) -> Vec<NodeStatus>) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(blob).ok()?;
    let lines = StateLines::from_text(text)?;
    let states = states(&lines.labels);
    Some(lines.insert_states(text, states)?.into_bytes())
}

/// What comes before a state, and cannot be within a text.
const STATE: &str = "\n      \"semanticState\": \"";
/// The end of the list of types.
const LIST_END: &[u8] = b"\n  ]";

/// As [`by_line`], parses only the lines between the first and the last difference from the last file, whose other states are still right. `None` if
/// one of them is not.
fn between_differences(blob: &[u8], last: &LastFile<'_>, states: &mut dyn FnMut(&[String]) -> Vec<NodeStatus>) -> Option<Vec<u8>> {
    let head = equal_head(blob, last.bytes);
    let tail = equal_tail(blob, last.bytes, head);
    let text = std::str::from_utf8(&blob[head.0..tail.0]).ok()?;
    let begin = match head.0 {
        0 => memmem::find(text.as_bytes(), b"\n  \"types\": [\n")? + 1,
        _ => 0,
    };
    let end = match tail.0 == blob.len() {
        true => begin + memmem::find(&text.as_bytes()[begin..], LIST_END)?,
        false => text.len(),
    };
    let lines = StateLines::from_lines(text, begin..end)?;
    let labels: FxHashSet<&str> = lines.labels.iter().map(String::as_str).collect();
    if !last.changed.iter().all(|changed| labels.contains(&**changed)) {
        return None;
    }
    let states = if lines.labels.is_empty() {
        Vec::new()
    } else {
        states(&lines.labels)
    };
    let filled = lines.insert_states(text, states)?;
    Some([&last.bytes[..head.1], filled.as_bytes(), &last.bytes[tail.1..]].concat())
}

/// Returns the end of the longest parts at the beginning of an output and of a file that differ only in states. They end after a state, or are empty.
fn equal_head(blob: &[u8], file: &[u8]) -> (usize, usize) {
    let finder = memmem::Finder::new(STATE);
    let state_after = |text: &[u8], from: usize| {
        let start = from + finder.find(&text[from..])? + STATE.len();
        Some(start..start + memchr(b'"', &text[start..])?)
    };
    let mut head = (0, 0);
    while let (Some(of_blob), Some(of_file)) = (state_after(blob, head.0), state_after(file, head.1)) {
        if blob[head.0..of_blob.start] != file[head.1..of_file.start] {
            break;
        }
        head = (of_blob.end + 1, of_file.end + 1);
    }
    head
}

/// Returns the start of the longest parts at the end of an output and of a file, behind `head`, that differ only in states. They begin after a state,
/// or are empty.
fn equal_tail(blob: &[u8], file: &[u8], head: (usize, usize)) -> (usize, usize) {
    let finder = memmem::FinderRev::new(STATE);
    let state_before = |text: &[u8], from: usize, to: usize| {
        let start = from + finder.rfind(&text[from..to])? + STATE.len();
        Some(start..start + memchr(b'"', &text[start..to])?)
    };
    let (mut tail, mut rest) = ((blob.len(), file.len()), (blob.len(), file.len()));
    while let (Some(of_blob), Some(of_file)) = (state_before(blob, head.0, rest.0), state_before(file, head.1, rest.1)) {
        if blob[of_blob.end + 1..rest.0] != file[of_file.end + 1..rest.1] {
            break;
        }
        tail = (of_blob.end + 1, of_file.end + 1);
        rest = (of_blob.start - STATE.len(), of_file.start - STATE.len());
    }
    tail
}

/// As [`by_line`], for any JSON of that shape.
fn by_value(blob: &[u8], states: &mut dyn FnMut(&[String]) -> Vec<NodeStatus>) -> Option<Vec<u8>> {
    let mut index: serde_json::Value = serde_json::from_slice(blob).ok()?;
    let types = index.get_mut("types")?.as_array_mut()?;
    let label = |entry: &serde_json::Value| Some(label_of_summary(entry.get("key").or_else(|| entry.get("fqn"))?.as_str()?));
    let labels: Vec<String> = types.iter().map(label).collect::<Option<_>>()?;
    for (entry, status) in types.iter_mut().zip(states(&labels)) {
        let entry = entry.as_object_mut()?;
        entry.insert("semanticState".to_owned(), semantic_state(status.state).into());
        if let Some(error) = status.error_message() {
            entry.insert("lastError".to_owned(), error.into());
        }
    }
    let mut bytes = serde_json::to_vec_pretty(&index).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::build::remarks::FailedTry;
    use engine::values::codes::ErrorCode;
    use engine::values::diagnostic::Diagnostic;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn lines_and_values_come_to_the_same() {
        let entry =
            |name: &str| json!({"fqn": name, "kind": "class", "projectId": "p", "semanticState": "none", "z": ["  ]", "semanticState"]});
        for names in [vec![], vec!["A.B"], vec!["A.\"quoted\\", "N.Généric`1", "A\nB"]] {
            let types: Vec<_> = names.iter().map(|name| entry(name)).collect();
            let mut blob = serde_json::to_vec_pretty(&json!({"projects": [{"fqn": "x"}], "types": types, "packs": []})).unwrap();
            blob.push(b'\n');
            let status = |state, error: Option<&str>| NodeStatus {
                state,
                last_error: error.map(|error| Box::new(FailedTry::once(Diagnostic::error(ErrorCode::E_REFUSED, error)))),
                ..NodeStatus::NONE
            };
            let order = [
                status(NodeState::Current, None),
                status(NodeState::MaybeStale, None),
                status(NodeState::Pending, Some("no \"answer\"\n")),
            ];
            let mut asked = Vec::new();
            let mut states = |labels: &[String]| {
                asked.push(labels.to_vec());
                order[..labels.len()].to_vec()
            };
            let expected = by_value(&blob, &mut states);
            let mut finish = |with_times| {
                let output = OutputToFinish {
                    label: INDEX,
                    blob: &blob,
                    made_at: Some(0),
                    last: None,
                };
                States { with_times }.finish(&output, &mut states)
            };
            assert_eq!(finish(false), expected);
            let dated: serde_json::Value = serde_json::from_slice(&finish(true).unwrap()).unwrap();
            let mut plain: serde_json::Value = serde_json::from_slice(&expected.unwrap()).unwrap();
            plain["generatedAt"] = "1970-01-01T00:00:00Z".into();
            assert_eq!(dated, plain);
            assert_eq!(
                by_line(&blob, &mut states).is_some(),
                !names.is_empty(),
                "an empty list has no lines"
            );
            assert!(asked.iter().all(|labels| *labels == asked[0]));
        }
    }

    #[test]
    fn a_file_is_completed_from_the_last_one_between_their_differences() {
        let entry =
            |(name, hash): &(&str, u32)| json!({"fqn": name, "hash": hash, "projectId": "p", "semanticState": "none", "z": hash % 2});
        let blob = |types: &[(&str, u32)]| {
            let types: Vec<_> = types.iter().map(entry).collect();
            let index = json!({"projects": [{"id": "p"}], "types": types, "zz": []});
            format!("{}\n", serde_json::to_string_pretty(&index).unwrap()).into_bytes()
        };
        let state = |label: &String| NodeStatus {
            state: if label.contains('B') {
                NodeState::Current
            } else {
                NodeState::MaybeStale
            },
            ..NodeStatus::NONE
        };
        let before = [("A", 0), ("B", 1), ("C", 2), ("D", 3)];
        let others: [&[(&str, u32)]; 9] = [
            &[("A", 8), ("B", 1), ("C", 2), ("D", 3)],
            &[("A", 0), ("B", 1), ("C", 8), ("D", 3)],
            &[("A", 0), ("B", 1), ("C", 2), ("D", 9)],
            &before,
            &[("A", 0), ("B", 1), ("BB", 2), ("C", 2), ("D", 3)],
            &[("A", 0), ("B", 1), ("D", 3)],
            &[("B", 1), ("C", 2)],
            &[("B0", 1), ("B", 1), ("C", 2), ("D", 3), ("E", 3), ("EB", 3)],
            &[("X", 7)],
        ];
        let file = by_line(&blob(&before), &mut |labels| labels.iter().map(state).collect()).unwrap();
        let complete = |after: &[(&str, u32)], changed: &[Arc<str>]| {
            let mut asked = 0;
            let mut states = |labels: &[String]| {
                asked += labels.len();
                labels.iter().map(state).collect()
            };
            let last = LastFile { bytes: &file, changed };
            (between_differences(&blob(after), &last, &mut states), asked)
        };
        for after in others {
            let expected = by_line(&blob(after), &mut |labels| labels.iter().map(state).collect());
            assert_eq!(complete(after, &[]).0, expected, "{after:?}");
        }
        assert_eq!([0, 1, 2, 3].map(|at| complete(others[at], &[]).1), [1, 1, 1, 0]);
        let changed: [Arc<str>; 1] = ["//types/C:semantic".into()];
        assert_eq!(complete(others[0], &changed).0, None, "C may have another state");
        assert!(complete(others[1], &changed).0.is_some());
    }
}
