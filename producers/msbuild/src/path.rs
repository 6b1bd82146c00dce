//! Paths in project files. Projects see the workspace under one fixed root, so no machine's folder appears in a fact.

/// Root of the workspace as projects see it (deterministic builds map sources to the same root).
pub const ROOT: &str = "/_";

/// Resolves a path against a folder: `/` for `\`, no `.` or `..` (never above `/`), a drive letter as a first segment.
pub fn absolute(folder: &str, path: &str) -> String {
    let path = path.replace('\\', "/");
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    let mut segments: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') || drive { "" } else { folder };
    for segment in base.split('/').chain(path.split('/')) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    let mut text = String::with_capacity(path.len() + base.len() + 1);
    for segment in segments {
        text.push('/');
        text.push_str(segment);
    }
    if text.is_empty() { "/".to_owned() } else { text }
}

/// Returns the path relative to the workspace; `""` for its root, `None` outside. The path must be absolute and resolved.
pub fn in_workspace(path: &str) -> Option<&str> {
    match path.strip_prefix(ROOT)? {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

/// Returns the absolute form of a path relative to the workspace.
pub fn rooted(path: &str) -> String {
    if path.is_empty() {
        ROOT.to_owned()
    } else {
        format!("{ROOT}/{path}")
    }
}

/// Returns the folder of a path; `""` at the root.
pub fn folder_of_path(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..slash])
}

/// Returns the last segment.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the last segment without its extension, and the extension with its dot.
pub fn stem_and_extension(path: &str) -> (&str, &str) {
    let name = file_name(path);
    name.rfind('.').map_or((name, ""), |dot| name.split_at(dot))
}

/// Returns the relative path from a folder to a path, both absolute and resolved.
pub fn relative(folder: &str, path: &str) -> String {
    let parts = |text: &str| -> Vec<String> { text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect() };
    let (from, to) = (parts(folder), parts(path));
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut way = vec!["..".to_owned(); from.len() - same];
    way.extend_from_slice(&to[same..]);
    way.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn written_paths() {
        for (path, expected) in [
            (r"..\Core\Core.csproj", Some("src/Core/Core.csproj")),
            (r".\a//b.cs", Some("src/App/a/b.cs")),
            ("../..", Some("")),
            ("../../../x", None),
            ("/_/a", Some("a")),
            ("/_x/a", None),
            (r"C:\a", None),
            ("", Some("src/App")),
        ] {
            assert_eq!(in_workspace(&absolute("/_/src/App", path)), expected, "{path}");
        }
    }

    proptest! {
        #[test]
        fn the_way_there_leads_there(from in "(/[ab]){0,4}", to in "(/[ab]){1,4}") {
            prop_assert_eq!(absolute(&from, &relative(&from, &to)), to);
        }
    }
}
