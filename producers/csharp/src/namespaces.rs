//! Namespaces and paths of names.

/// Returns the simple names on a path, without `global` and arity marks.
pub fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split(['.', ':', '+'])
        .map(|segment| segment.split('`').next().unwrap_or(segment))
        .filter(|segment| !segment.is_empty() && *segment != "global")
}

/// Returns a namespace and its outer namespaces, innermost first, `""` last.
pub fn levels(namespace: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(namespace), |inner| {
        (!inner.is_empty()).then(|| inner.rfind('.').map_or("", |dot| &inner[..dot]))
    })
}

/// Returns `namespace.name`, or `name` in the global namespace.
pub fn join_path(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}.{name}")
    }
}
