//! Accepts paths relative to the current folder, as git and cargo do, and absolute paths below the workspace's root. Methods accept only paths from the
//! workspace's root.

use crate::catalog::MethodEntry;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// Arguments of methods that are paths.
const PATHS: [&str; 4] = ["path", "paths", "file", "files"];

/// Arguments that may begin with a path.
const SYMBOLS: [&str; 2] = ["symbol", "symbols"];

/// Replaces paths relative to the folder `here` by paths from the workspace's root. A path changes if it begins with `.` or `..`, or if `here` has a
/// file or folder of that path and the root has none. Lines after a path, `a.cs:10-20`, stay. The target of a moved file is relative if its
/// path is. A file to create is relative unless its first folder exists at the root alone.
pub fn from_root(arguments: &mut Value, root: &Path, here: &Path) {
    let Ok(below) = here.strip_prefix(root) else { return };
    if below.as_os_str().is_empty() {
        return;
    }
    let mut is_changed = false;
    if let Some(Value::String(new)) = new_file(arguments, root, here) {
        replace_new(new, root, below);
    }
    for name in PATHS.into_iter().chain(SYMBOLS) {
        // A name may be that of a folder, too.
        let may_be_path = |text: &str| PATHS.contains(&name) || text.contains('/') || text.contains(".cs") || text.starts_with('.');
        match arguments.get_mut(name) {
            Some(Value::String(text)) if may_be_path(text) => is_changed |= replace(text, root, below, false),
            Some(Value::Array(all)) => {
                for one in all {
                    if let Value::String(text) = one
                        && may_be_path(text)
                    {
                        is_changed |= replace(text, root, below, false);
                    }
                }
            }
            _ => {}
        }
    }
    if is_changed
        && arguments["op"] == "move"
        && let Some(Value::String(target)) = arguments.get_mut("newText")
    {
        replace(target, root, below, true);
    }
}

/// Replaces absolute paths of files below the workspace's root by paths from the root, in all arguments that may be paths.
pub fn without_root(entry: &MethodEntry, arguments: &mut Value, root: &Path) {
    let Some(root) = root.to_str().map(|root| format!("{}/", root.trim_end_matches('/'))) else {
        return;
    };
    let strip = |text: &mut String| {
        if let Some(below) = text.strip_prefix(root.as_str()) {
            *text = if below.is_empty() { "." } else { below }.to_owned();
        }
    };
    // The query of a search may name a file.
    let query = (entry.name == "search").then_some("query");
    for name in PATHS.into_iter().chain(SYMBOLS).chain(query) {
        match arguments.get_mut(name) {
            Some(Value::String(text)) => strip(text),
            Some(Value::Array(all)) => {
                for one in all {
                    if let Value::String(text) = one {
                        strip(text);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the argument that is the path of a file to create, if the operation of an edit has one.
fn new_file<'a>(arguments: &'a mut Value, root: &Path, here: &Path) -> Option<&'a mut Value> {
    match arguments["op"].as_str()? {
        "create" => arguments.get_mut("path"),
        // A file that exists is replaced.
        "write" => {
            let path = arguments["path"].as_str()?;
            let exists = root.join(path).exists() || here.join(path).exists();
            if exists { None } else { arguments.get_mut("path") }
        }
        "persist_as" | "move_type" => arguments.get_mut("newText"),
        _ => None,
    }
}

/// Replaces the path of a file to create, unless its first folder exists at the root and not in the current folder.
fn replace_new(text: &mut String, root: &Path, below: &Path) {
    let mut parts = Path::new(&*text).components();
    let is_from_root = match (parts.next(), parts.next()) {
        (Some(Component::Normal(folder)), Some(_)) => root.join(folder).is_dir() && !root.join(below).join(folder).is_dir(),
        (None | Some(Component::RootDir | Component::Prefix(_)), _) => true,
        _ => false,
    };
    if is_from_root {
        return;
    }
    let Some(joined) = joined(below, Path::new(&*text)) else { return };
    let parts = joined.iter().map(|part| part.to_str()).collect::<Option<Vec<&str>>>();
    if let Some(parts) = parts {
        *text = parts.join("/");
    }
}

/// Replaces a path; `is_new`: the file may not exist yet. Returns whether it changed.
fn replace(text: &mut String, root: &Path, below: &Path, is_new: bool) -> bool {
    let end = text.find(':').unwrap_or(text.len());
    let (path, lines) = text.split_at(end);
    // A path that begins with `.` or `..` is always relative to the current folder.
    let is_below_here = path == "." || path.starts_with("./") || path.starts_with("..");
    if path.is_empty() || path.starts_with('/') || !is_below_here && root.join(path).exists() {
        return false;
    }
    let may_be = |joined: &PathBuf| is_new || is_below_here || root.join(joined).exists();
    let Some(joined) = joined(below, Path::new(path)).filter(may_be) else {
        return false;
    };
    let parts = joined.iter().map(|part| part.to_str()).collect::<Option<Vec<&str>>>();
    let Some(parts) = parts else { return false };
    *text = format!("{}{lines}", parts.join("/"));
    true
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
    fn absolute_paths_below_the_root_begin_at_the_root() {
        let method = |name: &str| crate::catalog::find_method(name).expect("a method");
        for (name, given, expected) in [
            (
                "outline",
                json!({"symbols": ["/w/p/src/a.cs", "A"]}),
                json!({"symbols": ["src/a.cs", "A"]}),
            ),
            ("outline", json!({"path": "/w/p/src/a.cs:1-2"}), json!({"path": "src/a.cs:1-2"})),
            (
                "grep",
                json!({"query": "/w/p/x", "path": "/w/p/src"}),
                json!({"query": "/w/p/x", "path": "src"}),
            ),
            ("search", json!({"query": "/w/p/src/a.cs"}), json!({"query": "src/a.cs"})),
            (
                "outline",
                json!({"symbols": ["/w/part/a.cs", "/w/p/"]}),
                json!({"symbols": ["/w/part/a.cs", "."]}),
            ),
        ] {
            let mut arguments = given;
            without_root(method(name), &mut arguments, Path::new("/w/p"));
            assert_eq!(arguments, expected);
        }
    }

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
        for (path, target, expected) in [
            ("b.cs", "c.cs", ("src/sql/b.cs", "src/sql/c.cs")),
            ("b.cs", "../c.cs", ("src/sql/b.cs", "src/c.cs")),
            ("src/a.cs", "c.cs", ("src/a.cs", "c.cs")),
        ] {
            let mut arguments = json!({"op": "move", "path": path, "newText": target});
            from_root(&mut arguments, root, &root.join("src/sql"));
            assert_eq!(
                (&arguments["path"], &arguments["newText"]),
                (&json!(expected.0), &json!(expected.1))
            );
        }
        for (op, name, given, expected) in [
            ("create", "path", "New.cs", "src/sql/New.cs"),
            ("create", "path", "top.cs", "src/sql/top.cs"),
            ("create", "path", "sub/New.cs", "src/sql/sub/New.cs"),
            ("create", "path", "src/sql/New.cs", "src/sql/New.cs"),
            ("create", "path", "../New.cs", "src/New.cs"),
            ("create", "path", "./src/New.cs", "src/sql/src/New.cs"),
            ("create", "path", "../../../New.cs", "../../../New.cs"),
            ("write", "path", "New.cs", "src/sql/New.cs"),
            ("write", "path", "b.cs", "src/sql/b.cs"),
            ("write", "path", "src/a.cs", "src/a.cs"),
            ("persist_as", "newText", "New.cs", "src/sql/New.cs"),
            ("move_type", "newText", "New.cs", "src/sql/New.cs"),
            ("replace", "newText", "New.cs", "New.cs"),
        ] {
            let mut arguments = json!({"op": op, name: given});
            from_root(&mut arguments, root, &root.join("src/sql"));
            assert_eq!(arguments[name], expected, "{op} {given}");
        }
        // A type may have the name of a folder.
        let mut arguments = json!({"symbol": "sql"});
        from_root(&mut arguments, root, &root.join("src"));
        assert_eq!(arguments["symbol"], "sql");
    }
}
