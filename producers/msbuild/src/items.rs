//! The second pass, second half: runs operations over the existing files.
//!
//! Patterns are compiled once per operation and searched only below their base folder; items named by text are found by hash. A limit on
//! pattern work per project bounds the cost of any project file.

use super::glob::Glob;
use super::operation::{Action, Operation, Spec, TEXTS};
use super::path::{ROOT, absolute, file_name, folder_of_path, in_workspace, relative, rooted, stem_and_extension};
use super::tree::Tree;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of comparisons of a path with a pattern.
const MOST_LOOKS: usize = 20_000_000;

/// Maximum number of items of one type.
const MOST_ITEMS: usize = 200_000;

/// Cost of copying an item, in comparisons.
const COPY: usize = 50;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Path relative to the workspace, or text.
    pub text: String,
    /// Metadata by lower-cased name.
    pub metadata: BTreeMap<String, String>,
    /// The folders that `**` matched.
    recursive: String,
}

impl Item {
    /// Returns a metadata value; `""` if unset.
    pub fn get(&self, name: &str) -> &str {
        self.metadata.get(name).map_or("", String::as_str)
    }

    /// Returns the text of the item as a project in folder `home` writes it: relative to that folder.
    fn written(&self, home: &str) -> String {
        relative(&rooted(home), &rooted(&self.text))
    }

    /// Replaces `%(…)` for a project in folder `home`. Of the well-known metadata, supports only those that follow from the path.
    pub fn expand_metadata(&self, text: &str, home: &str) -> String {
        self.expand(text, &self.written(home))
    }

    /// Replaces `%(…)` in a text. `identity`: the item as the project writes it.
    fn expand(&self, text: &str, identity: &str) -> String {
        let mut seen = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("%(") {
            seen.push_str(&rest[..start]);
            rest = &rest[start..];
            let Some(end) = rest.find(')') else { break };
            let name = rest[2..end].trim().to_ascii_lowercase();
            let name = name.rsplit('.').next().unwrap_or(&name);
            let (stem, extension) = stem_and_extension(&self.text);
            match name {
                "identity" => seen.push_str(identity),
                "fullpath" => seen.push_str(&rooted(&self.text)),
                "filename" => seen.push_str(stem),
                "extension" => seen.push_str(extension),
                "recursivedir" => seen.push_str(&self.recursive),
                "relativedir" => seen.push_str(&identity[..identity.rfind('/').map_or(0, |slash| slash + 1)]),
                // The absolute folder is `%(RootDir)%(Directory)`.
                "rootdir" => seen.push('/'),
                "directory" => {
                    seen.push_str(rooted(folder_of_path(&self.text)).trim_start_matches('/'));
                    seen.push('/');
                }
                other => seen.push_str(self.get(other)),
            }
            rest = &rest[end + 1..];
        }
        seen.push_str(rest);
        seen
    }

    /// Returns the displayed path of the item in a project in folder `home`; `None` for an unlinked file below the project.
    pub fn link(&self, home: &str) -> Option<String> {
        let inside =
            home.is_empty() || self.text.get(..home.len()).is_some_and(|head| head == home) && self.text[home.len()..].starts_with('/');
        let written = self.expand_metadata(self.get("link"), home).replace('\\', "/");
        if inside && written.is_empty() {
            return None;
        }
        if !written.is_empty() {
            return Some(written);
        }
        let base = self.expand_metadata(self.get("linkbase"), home).replace('\\', "/");
        let base = base.trim_matches('/');
        let base = if base.is_empty() { String::new() } else { format!("{base}/") };
        Some(format!("{base}{}{}", self.recursive, file_name(&self.text)))
    }
}

/// Items of one type, in order.
#[derive(Debug, Default)]
struct List {
    items: Vec<Option<Item>>,
    by_text: FxHashMap<String, Vec<usize>>,
}

impl List {
    /// Adds an item; returns whether the limit allowed it.
    fn add_item(&mut self, item: Item) -> bool {
        let has_room = self.items.len() < MOST_ITEMS;
        if has_room {
            self.by_text.entry(item.text.to_lowercase()).or_default().push(self.items.len());
            self.items.push(Some(item));
        }
        has_room
    }

    fn live(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().flatten()
    }
}

/// Result of running operations.
#[derive(Debug, Default)]
pub struct ItemLists {
    lists: FxHashMap<String, List>,
    looks: usize,
    /// Texts of `Include` without a file in the tree.
    pub missing: BTreeSet<String>,
    /// Whether a limit (of pattern work or of items) was reached, so items are missing.
    pub cut: bool,
}

impl ItemLists {
    /// Returns the remaining items of a type, in order.
    pub fn items(&self, name: &str) -> impl Iterator<Item = &Item> {
        self.lists.get(name).into_iter().flat_map(List::live)
    }
}

/// Runs the operations of a project in folder `home` over the files of a tree. Items of the types in `files` that are included by text or
/// from other items are looked up in the tree.
pub fn run_operations(operations: &[Operation], home: &str, tree: &Tree<'_>, files: &[&str]) -> ItemLists {
    let mut run = ItemLists::default();
    for operation in operations {
        match operation.action {
            Action::Include => include(&mut run, operation, home, tree, files.contains(&operation.items.as_str())),
            Action::Remove => change_items(&mut run, operation, home, tree, |slot, _| *slot = None),
            Action::Update => change_items(&mut run, operation, home, tree, |slot, metadata| {
                if let Some(item) = slot {
                    item.metadata.extend(metadata.iter().cloned());
                }
            }),
        }
    }
    run
}

/// A set of items for comparison.
#[derive(Default)]
struct Set {
    texts: FxHashSet<String>,
    globs: Vec<Glob>,
}

impl Set {
    /// Returns the set that specs of an operation name. Its texts have the form of the operation's items.
    fn from_specs(specs: &[Spec], run: &ItemLists, operation: &Operation, home: &str) -> Self {
        let mut set = Self::default();
        for spec in specs {
            match spec {
                Spec::Text(text) => drop(set.texts.insert(text.to_lowercase())),
                Spec::Glob(pattern) => set.globs.extend(Glob::new(ROOT, pattern)),
                Spec::Items(name, transform) => {
                    let seen = run
                        .items(name)
                        .filter_map(|item| seen_through(item, name, transform.as_deref(), operation, home));
                    set.texts.extend(seen.map(|text| text.to_lowercase()));
                }
            }
        }
        set
    }

    fn has_item(&self, text: &str) -> bool {
        self.texts.contains(&text.to_lowercase()) || self.globs.iter().any(|glob| glob.matches(text))
    }
}

/// Returns the text that an item of the type `name` gets as an item of the operation's type; `None` if it becomes a path outside of the
/// workspace. Items of [`TEXTS`] keep their texts; paths are relative to the project's folder.
fn seen_through(item: &Item, name: &str, transform: Option<&str>, operation: &Operation, home: &str) -> Option<String> {
    let is_text = |items: &str| TEXTS.contains(&items);
    let written = match transform {
        None if is_text(name) == is_text(&operation.items) => return Some(item.text.clone()),
        None => item.written(home),
        Some(transform) if is_text(name) => item.expand(transform, &item.text),
        Some(transform) => item.expand_metadata(transform, home),
    };
    if is_text(&operation.items) {
        return Some(written);
    }
    in_workspace(&absolute(&rooted(home), &written)).map(str::to_owned)
}

fn include(run: &mut ItemLists, operation: &Operation, home: &str, tree: &Tree<'_>, files: bool) {
    let exclude = Set::from_specs(&operation.exclude, run, operation, home);
    run.looks += COPY * exclude.texts.len();
    let metadata: BTreeMap<String, String> = operation.metadata.iter().cloned().collect();
    let mut added: Vec<Item> = Vec::new();
    for spec in &operation.specs {
        match spec {
            Spec::Text(text) => {
                let text = match tree.path_index(text) {
                    Some(at) => tree.paths()[at],
                    None if files => {
                        run.missing.insert(text.clone());
                        continue;
                    }
                    None => text,
                };
                added.push(Item {
                    text: text.to_owned(),
                    ..Item::default()
                });
            }
            Spec::Glob(pattern) => {
                let Some(glob) = Glob::new(ROOT, pattern) else { continue };
                if run.looks > MOST_LOOKS {
                    run.cut = true;
                    continue;
                }
                let (found, looked) = tree.matching(&glob);
                run.looks += looked + found.len() * exclude.globs.len();
                added.extend(found.into_iter().map(|at| Item {
                    text: tree.paths()[at].to_owned(),
                    recursive: glob.recursive(tree.paths()[at]).to_owned(),
                    ..Item::default()
                }));
            }
            Spec::Items(name, transform) => {
                if run.looks > MOST_LOOKS {
                    run.cut = true;
                    continue;
                }
                let before = added.len();
                let mut missing = Vec::new();
                for item in run.items(name) {
                    let Some(text) = seen_through(item, name, transform.as_deref(), operation, home) else {
                        continue;
                    };
                    let text = match tree.path_index(&text) {
                        _ if !files => text,
                        Some(at) => tree.paths()[at].to_owned(),
                        None => {
                            missing.push(text);
                            continue;
                        }
                    };
                    added.push(Item { text, ..item.clone() });
                }
                run.looks += COPY * (added.len() - before + missing.len());
                run.missing.extend(missing);
            }
        }
    }
    added.retain(|item| !exclude.has_item(&item.text));
    let list = run.lists.entry(operation.items.clone()).or_default();
    for mut item in added {
        for (name, value) in &operation.defaults {
            item.metadata.entry(name.clone()).or_insert_with(|| value.clone());
        }
        item.metadata
            .extend(metadata.iter().map(|(name, value)| (name.clone(), value.clone())));
        run.cut |= !list.add_item(item);
    }
}

/// Changes the items that the specs name.
fn change_items(
    run: &mut ItemLists,
    operation: &Operation,
    home: &str,
    tree: &Tree<'_>,
    change: impl Fn(&mut Option<Item>, &[(String, String)]),
) {
    if run.looks > MOST_LOOKS {
        run.cut = true;
        return;
    }
    let set = Set::from_specs(&operation.specs, run, operation, home);
    run.looks += COPY * set.texts.len();
    let Some(list) = run.lists.get_mut(&operation.items) else { return };
    for text in &set.texts {
        for &at in list.by_text.get(text).map_or(&[][..], Vec::as_slice) {
            change(&mut list.items[at], &operation.metadata);
        }
    }
    for glob in &set.globs {
        if run.looks > MOST_LOOKS {
            run.cut = true;
            return;
        }
        run.looks += list.items.len().min(tree.range_below(&glob.base).len() + 1);
        for text in tree.matching(glob).0.into_iter().map(|at| tree.paths()[at].to_lowercase()) {
            for &at in list.by_text.get(&text).map_or(&[][..], Vec::as_slice) {
                change(&mut list.items[at], &operation.metadata);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_that_is_not_closed_stays_as_written() {
        let item = Item {
            text: "src/A.cs".to_owned(),
            metadata: BTreeMap::new(),
            recursive: String::new(),
        };
        assert_eq!(item.expand_metadata("x%(Filename)y%(b", ""), "xAy%(b");
    }

    #[test]
    fn items_without_room_are_told() {
        let include = |count: usize| Operation {
            items: "compile".into(),
            action: Action::Include,
            specs: (0..count).map(|number| Spec::Text(number.to_string())).collect(),
            exclude: Vec::new(),
            metadata: Vec::new(),
            defaults: Vec::new(),
        };
        let cut = |count| run_operations(&[include(count)], "", &Tree::new([]), &[]).cut;
        assert_eq!((cut(MOST_ITEMS), cut(MOST_ITEMS + 1)), (false, true));
    }
}
