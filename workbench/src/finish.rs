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
        by_line(blob, states).or_else(|| by_value(blob, states))
    }
}

fn summary(type_key: &str) -> String {
    format!("//types/{}:semantic", engine::values::label::escape(type_key))
}

fn word(state: NodeState) -> &'static str {
    match state {
        NodeState::None => "none",
        NodeState::Pending => "pending",
        NodeState::Stale => "stale",
        NodeState::Current => "cached",
    }
}

/// The file with its states, when it is laid out as the built-in rules lay it out: nothing but those lines is read or written anew.
fn by_line(blob: &[u8], states: &mut dyn FnMut(&[String]) -> Vec<NodeState>) -> Option<Vec<u8>> {
    const NAME: &str = "      \"fqn\": ";
    const STATE: &str = "      \"semanticState\": ";
    let text = std::str::from_utf8(blob).ok()?;
    let begin = text.find("\n  \"types\": [\n")?;
    let end = begin + text[begin..].find("\n  ]")?;
    let lines = || text[begin..end].split_inclusive('\n');
    let value = |line: &'_ str, head: &str| line.strip_prefix(head).map(|value| value.trim_end_matches(['\n', ',']).to_owned());
    let names = lines().filter_map(|line| value(line, NAME));
    let labels: Vec<String> = names
        .map(|name| Some(summary(&serde_json::from_str::<String>(&name).ok()?)))
        .collect::<Option<_>>()?;
    let is_odd =
        lines().any(|line| line.starts_with("      \"key\": ")) || lines().filter(|line| line.starts_with(STATE)).count() != labels.len();
    if is_odd {
        return None;
    }
    let mut states = states(&labels).into_iter();
    let mut out = String::with_capacity(text.len() + labels.len() * 4);
    out.push_str(&text[..begin]);
    for line in lines() {
        match line.strip_prefix(STATE) {
            Some(rest) => {
                let after = rest
                    .strip_prefix('"')
                    .and_then(|rest| rest.split_once('"'))
                    .map(|(_, after)| after)?;
                out.push_str(STATE);
                out.push_str(&format!("\"{}\"{after}", word(states.next()?)));
            }
            None => out.push_str(line),
        }
    }
    out.push_str(&text[end..]);
    Some(out.into_bytes())
}

/// The same for any JSON of that shape.
fn by_value(blob: &[u8], states: &mut dyn FnMut(&[String]) -> Vec<NodeState>) -> Option<Vec<u8>> {
    let mut index: serde_json::Value = serde_json::from_slice(blob).ok()?;
    let types = index.get_mut("types")?.as_array_mut()?;
    let label = |entry: &serde_json::Value| Some(summary(entry.get("key").or_else(|| entry.get("fqn"))?.as_str()?));
    let labels: Vec<String> = types.iter().map(label).collect::<Option<_>>()?;
    for (entry, state) in types.iter_mut().zip(states(&labels)) {
        entry.as_object_mut()?.insert("semanticState".to_owned(), word(state).into());
    }
    let mut bytes = serde_json::to_vec_pretty(&index).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_and_values_come_to_the_same() {
        let entry = |name: &str| json!({"fqn": name, "kind": "class", "semanticState": "none", "z": ["  ]", "semanticState"]});
        for names in [vec![], vec!["A.B"], vec!["A.\"quoted\\", "N.Généric`1", "A\nB"]] {
            let types: Vec<_> = names.iter().map(|name| entry(name)).collect();
            let mut blob = serde_json::to_vec_pretty(&json!({"projects": [{"fqn": "x"}], "types": types, "packs": []})).unwrap();
            blob.push(b'\n');
            let order = [NodeState::Current, NodeState::Stale, NodeState::Pending];
            let mut asked = Vec::new();
            let mut states = |labels: &[String]| {
                asked.push(labels.to_vec());
                order[..labels.len()].to_vec()
            };
            let expected = by_value(&blob, &mut states);
            assert_eq!(States.finish(INDEX, &blob, &mut states), expected);
            assert_eq!(
                by_line(&blob, &mut states).is_some(),
                !names.is_empty(),
                "an empty list has no lines"
            );
            assert!(asked.iter().all(|labels| *labels == asked[0]));
        }
    }
}
