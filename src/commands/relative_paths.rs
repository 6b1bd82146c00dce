//! Accepts paths relative to the current folder, as git and cargo do. Methods accept only paths from the workspace's root.

use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// Arguments of methods that are a path, or may begin with one.
const PATHS: [&str; 8] = ["symbol", "symbols", "path", "paths", "files", "documents", "from", "to"];

/// Replaces paths relative to the folder `here` by paths from the workspace's root. A path changes only if `here` has a file or folder of
/// that path, and the root has none or the path begins with `.` or `..`. Lines after a path, `a.cs:10-20`, stay.
pub fn from_root(arguments: &mut Value, root: &Path, here: &Path) {
    let Ok(below) = here.strip_prefix(root) else { return };
    if below.as_os_str().is_empty() {
        return;
    }
    for name in PATHS {
        match arguments.get_mut(name) {
            Some(Value::String(text)) => replace(text, root, below),
            Some(Value::Array(all)) => {
                for one in all {
                    if let Value::String(text) = one {
                        replace(text, root, below);
                    }
                }
            }
            _ => {}
        }
    }
}

fn replace(text: &mut String, root: &Path, below: &Path) {
    let end = text.find(':').unwrap_or(text.len());
    let (path, lines) = text.split_at(end);
    // A path that begins with `.` or `..` is always relative to the current folder.
    let is_below_here = path == "." || path.starts_with("./") || path.starts_with("..");
    if path.is_empty() || path.starts_with('/') || !is_below_here && root.join(path).exists() {
        return;
    }
    let Some(joined) = joined(below, Path::new(path)).filter(|joined| root.join(joined).exists()) else {
        return;
    };
    let parts = joined.iter().map(|part| part.to_str()).collect::<Option<Vec<&str>>>();
    if let Some(parts) = parts {
        *text = format!("{}{lines}", parts.join("/"));
    }
}

/// Joins two relative paths; `None` if the result leads out of the root.
fn joined(below: &Path, path: &Path) -> Option<PathBuf> {
    let mut joined = below.to_owned();
    for part in path.components() {
        match part {
            Component::Normal(name) => joined.push(name),
            Component::CurDir => {}
            Component::ParentDir if joined.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_in_the_current_folder_begin_at_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("src/sql")).unwrap();
        for file in ["top.cs", "src/a.cs", "src/sql/b.cs", "src/sql/top.cs"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        for (given, expected) in [
            ("b.cs", "src/sql/b.cs"),
            ("b.cs:1-2", "src/sql/b.cs:1-2"),
            ("../a.cs", "src/a.cs"),
            ("./b.cs", "src/sql/b.cs"),
            ("..", "src"),
            (".", "src/sql"),
            ("./top.cs", "src/sql/top.cs"),
            ("top.cs", "top.cs"),
            ("src/a.cs", "src/a.cs"),
            ("../../../a.cs", "../../../a.cs"),
            ("N.Type#M(int)", "N.Type#M(int)"),
            ("//files/b.cs:source", "//files/b.cs:source"),
        ] {
            let mut arguments = json!({"symbol": given, "paths": [given], "limit": 1});
            from_root(&mut arguments, root, &root.join("src/sql"));
            assert_eq!(arguments, json!({"symbol": expected, "paths": [expected], "limit": 1}));
            from_root(&mut arguments, root, root);
            assert_eq!(arguments["symbol"], expected);
        }
    }
}
