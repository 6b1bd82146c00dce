//! Records viewed types for the prompt window.

use super::MethodEntry;
use serde_json::Value;
use std::path::Path;
use workbench::window::state::Window;

/// Methods whose answer is about one type.
const LOOK_AT_ONE: [&str; 5] = ["outline", "source", "usages", "deps", "semantic"];

/// Records the type of an answer. A failed write does not change the answer.
pub fn touch(root: Option<&Path>, entry: &MethodEntry, answer: &Value) {
    let path = answer["resolved"]["path"].as_str().filter(|_| LOOK_AT_ONE.contains(&entry.name));
    if let (Some(root), Some(path)) = (root, path) {
        let key = path.split('#').next().unwrap_or(path);
        let _ = Window::change_window(root, |window| window.touch(key));
    }
}
