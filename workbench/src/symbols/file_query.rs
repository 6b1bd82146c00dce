//! Queries that name files or folders instead of symbols: `CsvReader.cs`, `Core/CsvReader.cs:120`, `src/Core/`.

use super::index::Symbols;
use super::outputs::SymbolError;
use super::search::{Hit, Matched, NameMatch, hit_of_symbol};
use engine::values::case_folding::{same, strip_end};
use std::collections::BTreeSet;

/// What a query names among the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedSources {
    /// Files with this path, or whose paths end so.
    Files(Vec<String>),
    /// Folders with this path, or whose paths end so; each ends with a `/`.
    Folders(Vec<String>),
    /// A path of no source.
    Nothing,
}

/// Returns the path in a query, without the lines after it; `None` if the query cannot be a path.
pub fn path_in_query(text: &str) -> Option<String> {
    let mut path = text.trim();
    while let Some((before, lines)) = path.rsplit_once(':')
        && !lines.is_empty()
        && lines.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    {
        path = before;
    }
    let path = path.replace('\\', "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    // A file's name may contain a `#` or brackets: `Snapshots/Test.Get#A.g.cs`.
    let is_member = !path.ends_with(".cs") && path.contains(['(', '#']);
    let is_path = path.contains(['.', '/']) && !path.starts_with('/') && !path.contains(['*', '?', '<', ':']) && !is_member;
    is_path.then(|| path.to_owned())
}

/// Finds the sources that a path names, by the whole path or by its end; `None` if the text may be a name as well.
pub fn find_sources(path: &str, sources: &[String]) -> Option<NamedSources> {
    let is_named = |source: &&String| same(source, path) || strip_end(source, path).is_some_and(|before| before.ends_with('/'));
    let whole: Vec<String> = sources.iter().filter(|source| same(source, path)).cloned().collect();
    if !whole.is_empty() {
        return Some(NamedSources::Files(whole));
    }
    let files: Vec<String> = sources.iter().filter(is_named).cloned().collect();
    if !files.is_empty() {
        return Some(NamedSources::Files(files));
    }
    if path.contains('/') {
        let inside = format!("{}/", path.trim_end_matches('/'));
        let folder_of = |source: &String| {
            let starts = source.match_indices(&inside).map(|(at, _)| at);
            let mut starts = starts.filter(|at| *at == 0 || source[..*at].ends_with('/'));
            starts.next().map(|at| source[..at + inside.len()].to_owned())
        };
        let folders: BTreeSet<String> = sources.iter().filter_map(folder_of).collect();
        return Some(match folders.is_empty() {
            // Words with a slash are no path: `read/write lock`.
            true if path.contains(char::is_whitespace) && !path.ends_with(".cs") => return None,
            true => NamedSources::Nothing,
            false => NamedSources::Folders(folders.into_iter().collect()),
        });
    }
    (path.ends_with(".cs") || path.ends_with(".csproj")).then_some(NamedSources::Nothing)
}

/// Returns the types that files declare, those of one file together, each once.
pub fn types_of_files(symbols: &Symbols, files: &[String]) -> Result<Vec<Hit>, SymbolError> {
    let mut seen = BTreeSet::new();
    let keys = files.iter().flat_map(|file| symbols.types_of_file(file));
    let types = keys.filter_map(|key| symbols.find(key)).filter(|at| seen.insert(*at));
    types
        .map(|at| hit_of_symbol(symbols, Matched::File, &NameMatch::Type(at)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn a_query_may_be_a_path_with_lines() {
        for (text, path) in [
            ("Reader.cs", Some("Reader.cs")),
            (" src\\Core\\Reader.cs:12 ", Some("src/Core/Reader.cs")),
            ("./src/Reader.cs:12:5", Some("src/Reader.cs")),
            ("src/Reader.cs:10-40", Some("src/Reader.cs")),
            ("src/Core/", Some("src/Core/")),
            ("Store.Get", Some("Store.Get")),
            ("Reader", None),
            ("Store.Get(int)", None),
            ("global::N.A", None),
            ("N.A#M", None),
            ("src/Test.Get#A (1).cs:7", Some("src/Test.Get#A (1).cs")),
            ("//types/A:outline", None),
        ] {
            assert_eq!(path_in_query(text).as_deref(), path, "{text}");
        }
    }

    #[test]
    fn sources_are_found_by_whole_paths_and_by_ends() {
        let sources = ["Core/a.cs", "lib/Core/a.cs", "lib/Core/b.cs", "lib/Core/Deep/c.cs"].map(str::to_owned);
        let found = |path: &str| find_sources(path, &sources);
        let files = |paths: &[&str]| Some(NamedSources::Files(paths.iter().map(|path| (*path).to_owned()).collect()));
        let folders = |paths: &[&str]| Some(NamedSources::Folders(paths.iter().map(|path| (*path).to_owned()).collect()));
        assert_eq!(found("Core/a.cs"), files(&["Core/a.cs"]));
        assert_eq!(found("a.cs"), files(&["Core/a.cs", "lib/Core/a.cs"]));
        assert_eq!(found("core/B.cs"), files(&["lib/Core/b.cs"]));
        assert_eq!(found("ore/b.cs"), Some(NamedSources::Nothing));
        assert_eq!(found("lib/Core/"), folders(&["lib/Core/"]));
        assert_eq!(found("Core/"), folders(&["Core/", "lib/Core/"]));
        assert_eq!(found("Core/Deep"), folders(&["lib/Core/Deep/"]));
        assert_eq!(found("d.cs"), Some(NamedSources::Nothing));
        assert_eq!(found("Store.Get"), None);
        assert_eq!(found("read/write lock"), None);
        assert_eq!(found("My Core/x.cs"), Some(NamedSources::Nothing));
    }

    #[test]
    fn types_of_several_files_are_listed_once() {
        let mut sample = Sample::from_files(&[
            ("a.cs", "namespace N; partial class A { class B { } }"),
            ("b.cs", "namespace N; partial class A { } enum C { }"),
            ("c.cs", "class D { }"),
        ]);
        let symbols = sample.names();
        let files = ["a.cs", "b.cs"].map(str::to_owned);
        let hits = types_of_files(&symbols, &files).expect("hits");
        let paths: Vec<&str> = hits.iter().map(|hit| hit.path.as_str()).collect();
        assert_eq!(paths, ["N.A", "N.A+B", "N.C"]);
        assert!(hits.iter().all(|hit| hit.matched == Matched::File));
    }
}
