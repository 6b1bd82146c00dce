//! States in exported files: `index.json` shows each type's `semanticState`, which is derived from the engine and so is in no blob
//! (DECISIONS: semanticState is derived; seed 000 §3.2).

use engine::build::layout::{Finish, NodeState};

/// Writes `semanticState` into the exported `index.json`.
pub struct States;

const INDEX: &str = "//index:json";

impl Finish for States {
    fn finish(&self, label: &str, blob: &[u8], state: &dyn Fn(&str) -> NodeState) -> Option<Vec<u8>> {
        if label != INDEX {
            return None;
        }
        with_states(blob, state)
    }

    fn finishes(&self, label: &str) -> bool {
        label == INDEX
    }
}

/// `index.json` with the states of the summaries.
pub fn with_states(blob: &[u8], state: &dyn Fn(&str) -> NodeState) -> Option<Vec<u8>> {
    let mut index: serde_json::Value = serde_json::from_slice(blob).ok()?;
    for entry in index.get_mut("types")?.as_array_mut()? {
        let key = entry.get("key").or_else(|| entry.get("fqn"))?.as_str()?;
        let label = format!("//types/{}:semantic", engine::values::label::escape(key));
        let word = match state(&label) {
            NodeState::None => "none",
            NodeState::Pending => "pending",
            NodeState::Stale => "stale",
            NodeState::Current => "cached",
        };
        entry.as_object_mut()?.insert("semanticState".to_owned(), word.into());
    }
    let mut bytes = serde_json::to_vec_pretty(&index).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}
