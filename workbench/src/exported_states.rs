//! States in exported files: `index.json` shows each type's `semanticState`, which is derived from the engine and so is in no blob
//! (DECISIONS: semanticState is derived; seed 000 §3.2).

use crate::status::semantic_state;
use engine::build::finish::{Finish, OutputToFinish};
use engine::build::query::NodeStatus;
use memchr::{memchr_iter, memmem};
use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

/// Writes `semanticState`, and `lastError` if it is pending, into the exported `index.json`.
#[derive(Default)]
pub struct States {
    /// Whether `generatedAt` says when the output was built.
    pub with_times: bool,
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
        let file = by_line(output.blob, states).or_else(|| by_value(output.blob, states))?;
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
    /// Finds the lines; `None` if the file has another layout.
    fn from_text(text: &str) -> Option<Self> {
        const NAME: &str = "      \"fqn\": ";
        const STATE: &str = "      \"semanticState\": \"";
        // The field that `lastError` comes before.
        const NEXT: &str = "      \"projectId\": ";
        let begin = memmem::find(text.as_bytes(), b"\n  \"types\": [\n")? + 1;
        let end = begin + memmem::find(&text.as_bytes()[begin..], b"\n  ]")?;
        let mut lines = Self::default();
        let mut start = begin;
        for stop in memchr_iter(b'\n', &text.as_bytes()[begin..end]).map(|at| begin + at).chain([end]) {
            let line = &text[start..stop];
            if let Some(name) = line.strip_prefix(NAME) {
                let name = serde_json::from_str::<String>(name.trim_end_matches(',')).ok()?;
                lines.labels.push(label_of_summary(&name));
            } else if line.starts_with("      \"key\": ") {
                return None;
            } else if line.starts_with(NEXT) {
                lines.errors.push(start);
            } else if let Some(state) = line.strip_prefix(STATE) {
                let from = start + STATE.len();
                lines.states.push(from..from + state.find('"')?);
            }
            start = stop + 1;
        }
        let (labels, errors, states) = (&lines.labels, &lines.errors, &lines.states);
        let is_complete = errors.len() == labels.len() && states.len() == labels.len();
        let order = || errors.iter().zip(states).flat_map(|(error, state)| [*error, state.start]);
        (is_complete && order().is_sorted()).then_some(lines)
    }
}

/// Fills the states into a file in the layout of the built-in rules: parses and rewrites only those lines.
fn by_line(blob: &[u8], states: &mut dyn FnMut(&[String]) -> Vec<NodeStatus>) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(blob).ok()?;
    let lines = StateLines::from_text(text)?;
    let states = states(&lines.labels);
    if states.len() != lines.labels.len() {
        return None;
    }
    let mut out = String::with_capacity(text.len() + lines.labels.len() * 4);
    let mut written = 0;
    for ((error_at, place), status) in lines.errors.into_iter().zip(lines.states).zip(states) {
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
    Some(out.into_bytes())
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
    use engine::build::query::NodeState;
    use engine::build::remarks::FailedTry;
    use engine::values::codes::ErrorCode;
    use engine::values::diagnostic::Diagnostic;
    use serde_json::json;

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
}
