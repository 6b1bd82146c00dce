//! States in exported files: `index.json` shows each type's `semanticState`, which is derived from the engine and so is in no blob
//! (DECISIONS: semanticState is derived; seed 000 §3.2).

use engine::build::layout::{Finish, NodeState};

/// Writes `semanticState` into the exported `index.json`.
pub struct States;

const INDEX: &str = "//index:json";

impl Finish for States {
    fn labels(&self) -> &[&str] {
        &[INDEX]
    }

    fn followed(&self) -> &[&str] {
        // `aliases.json`, and words that people wrote, go by the names of types.
        &["//index:types"]
    }

    fn finish(&self, _: &str, blob: &[u8], states: &mut dyn FnMut(&[String]) -> Vec<NodeState>) -> Option<Vec<u8>> {
        let mut index: serde_json::Value = serde_json::from_slice(blob).ok()?;
        let types = index.get_mut("types")?.as_array_mut()?;
        let summary = |entry: &serde_json::Value| {
            let key = entry.get("key").or_else(|| entry.get("fqn"))?.as_str()?;
            Some(format!("//types/{}:semantic", engine::values::label::escape(key)))
        };
        let labels: Vec<String> = types.iter().map(summary).collect::<Option<_>>()?;
        for (entry, state) in types.iter_mut().zip(states(&labels)) {
            let word = match state {
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
}
