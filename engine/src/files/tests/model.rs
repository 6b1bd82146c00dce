//! Random file operations: after each refresh the tree equals a naive full scan.
//!
//! The naive scan is the `ignore` crate's own walker, which has its own rules for nested ignore files.

use super::{Bench, later, now, set};
use crate::values::digest::Digest;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;

#[derive(Clone, Debug)]
enum Edit {
    Write(String, u8),
    Remove(String),
    Rename(String, String),
    Ignore(String, Vec<&'static str>),
    Touch(String),
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "b-c", "obj"]), 0..3).prop_flat_map(|dirs| {
        prop::sample::select(vec!["x.cs", "y.cs", "n.md", "a"])
            .prop_map(move |name| dirs.iter().copied().chain([name]).collect::<Vec<_>>().join("/"))
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    let lines = prop::collection::vec(
        prop::sample::select(vec!["obj/", "*.md", "/a/", "x.cs", "!x.cs", "!obj/", "b*/", "a/b", "**/y.cs"]),
        0..4,
    );
    prop_oneof![
        6 => (path(), 0..4u8).prop_map(|(path, text)| Edit::Write(path, text)),
        2 => path().prop_map(Edit::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        2 => (prop::sample::select(vec![".gitignore", "a/.gitignore", "b/.ignore", ".git/info/exclude", "a/b/.gitignore"]), lines)
            .prop_map(|(file, lines)| Edit::Ignore(file.to_owned(), lines)),
        1 => path().prop_map(Edit::Touch),
    ]
}

/// Applies an edit if possible; a file in the way of a directory makes it fail, as for a user.
fn apply(bench: &Bench, edit: &Edit) {
    let make_room = |path: &std::path::Path| fs::create_dir_all(path.parent().unwrap());
    let _ = match edit {
        Edit::Write(path, text) => {
            let path = bench.path(path);
            make_room(&path).and_then(|()| fs::write(path, [*text]))
        }
        Edit::Remove(path) => {
            let path = bench.path(path);
            if path.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            }
        }
        Edit::Rename(from, to) => {
            let to = bench.path(to);
            make_room(&to).and_then(|()| fs::rename(bench.path(from), to))
        }
        Edit::Ignore(file, lines) => {
            let file = bench.path(file);
            make_room(&file).and_then(|()| fs::write(file, lines.join("\n")))
        }
        Edit::Touch(path) => fs::File::options()
            .write(true)
            .open(bench.path(path))
            .and_then(|file| file.set_modified(std::time::SystemTime::now())),
    };
}

fn naive(bench: &Bench, honour: bool, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, Option<Digest>> {
    let mut walk = ignore::WalkBuilder::new(&bench.root);
    walk.standard_filters(false)
        .parents(false)
        .require_git(false)
        .ignore(honour)
        .git_ignore(honour)
        .git_exclude(honour);
    walk.filter_entry(|entry| entry.file_name() != ".git");
    walk.build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(|entry| entry.path().strip_prefix(&bench.root).unwrap().to_str().unwrap().to_owned())
        .filter(|path| wanted(path))
        .map(|path| (path.clone(), Some(Digest::of(&fs::read(bench.path(&path)).unwrap()))))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn refresh_equals_a_naive_scan(rounds in prop::collection::vec((prop::collection::vec(edit(), 1..8), any::<bool>(), any::<bool>()), 1..8)) {
        let mut bench = Bench::new(vec![set(&["**/*.cs"], &["b/**"], true), set(&["a/**/*.md", "*.md"], &[], false)]);
        let mut rows = BTreeMap::new();
        let mut seen: BTreeMap<String, Option<Digest>> = BTreeMap::new();
        for (edits, settled, reload) in rounds {
            edits.iter().for_each(|edit| apply(&bench, edit));
            let old_sets = [bench.tree.set_paths(0), bench.tree.set_paths(1)];
            let refresh = bench.at(if settled { later() } else { now() });

            let cs = naive(&bench, true, |path| path.ends_with(".cs") && !path.starts_with("b/"));
            let md = naive(&bench, false, |path| path.ends_with(".md") && (path.starts_with("a/") || !path.contains('/')));
            prop_assert_eq!(bench.tree.set_paths(0), cs.keys().cloned().collect::<Vec<_>>());
            prop_assert_eq!(bench.tree.set_paths(1), md.keys().cloned().collect::<Vec<_>>());
            let all: BTreeMap<_, _> = cs.into_iter().chain(md).collect();
            prop_assert_eq!(bench.tree.files().into_iter().collect::<BTreeMap<_, _>>(), all.clone());

            for change in &refresh.changes {
                prop_assert_eq!(seen.get(&change.path).copied().flatten(), change.from);
                seen.insert(change.path.clone(), change.to);
            }
            seen.retain(|_, digest| digest.is_some());
            prop_assert_eq!(&seen, &all, "the changes lead from what was seen to what is there");
            for (index, old) in old_sets.iter().enumerate() {
                if *old != bench.tree.set_paths(index) {
                    prop_assert!(refresh.sets_changed.contains(&index));
                }
            }

            if reload {
                bench.reload(&mut rows);
            }
            if settled {
                bench.at(later());
                bench.tree.take_dirty_rows().into_iter().for_each(|(key, row)| { match row { Some(row) => rows.insert(key, row), None => rows.remove(&key) }; });
                let rest = bench.at(later());
                prop_assert_eq!((rest.hashed, rest.changes.len(), rest.sets_changed.len()), (0, 0, 0));
                prop_assert!(bench.tree.take_dirty_rows().is_empty(), "a look that finds nothing writes nothing");
            }
        }
    }
}
