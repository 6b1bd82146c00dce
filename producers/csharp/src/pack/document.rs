//! The text of a pack: its types in order, with their outlines and, if requested, their summaries; then files of other languages with their
//! outlines.
//!
//! The text contains no hash, line number or time, so edits of bodies, comments and layout leave it unchanged. The budget bounds the whole text.
//! The head lists the parts that exceed it, with the reason, and the parts that the filter excludes.

use super::budget::{Cut, choose_cut, tokens};
use super::select::{Selection, Why, file_key, path_of_key, read_selection};
use crate::outline::{api, or_none};
use crate::outline_info::{self, Info};
use engine::seams::producer::{Failure, Input, Inputs};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of names in a list at the head.
const MOST_NAMES: usize = 10;
/// Maximum number of readers listed for a dependency.
const MOST_READERS: usize = 3;

/// A pack.
pub struct Document<'i> {
    pub(super) name: &'i str,
    pub(super) selection: Selection,
    /// The parts that exceed the budget.
    pub(super) cut: Cut,
    /// Texts by type, and by [`file_key`].
    texts: BTreeMap<String, Texts>,
    /// Totals of the types and files without the `i` least ones, for every `i` from 0.
    remains: Vec<Remains>,
}

/// Shown text of a type or a file.
#[derive(Default)]
struct Texts {
    id: String,
    outline: String,
    summary: String,
}

/// Totals over some types and files.
#[derive(Clone, Copy, Default)]
struct Remains {
    files: usize,
    outlines: usize,
    summaries: usize,
    matched: usize,
}

impl<'i> Document<'i> {
    /// Reads the inputs `selection` and `outlines`, and the optional `semantics`, `files` and `indexed`.
    pub fn from_inputs(inputs: &'i Inputs<'_>) -> Result<Self, Failure> {
        let selection = read_selection(&inputs.single("selection")?.bytes)?;
        let mut texts = BTreeMap::new();
        for input in inputs.all("outlines") {
            let info = outline_info::decode_info(input)?;
            let why = selection.why.get(&*input.item).unwrap_or(&Why::Matched);
            let (outline, summary) = (outline(&info, why, selection.docs), String::new());
            let id = info.id;
            texts.insert(input.item.to_string(), Texts { id, outline, summary });
        }
        for input in inputs.all("files").iter().chain(inputs.all("indexed")) {
            let outline = format!("\n#{}", String::from_utf8_lossy(&input.bytes));
            texts.insert(
                file_key(&input.item),
                Texts {
                    outline,
                    ..Texts::default()
                },
            );
        }
        if let Some(missing) = selection.least.iter().find(|key| !texts.contains_key(*key)) {
            return Err(Failure::permanent(format!("there is no outline of {missing}")));
        }
        for input in inputs.all("semantics") {
            if let Some(texts) = texts.get_mut(&*input.item) {
                texts.summary = summary_sections(input);
            }
        }
        let mut document = Self {
            name: inputs.var("pack").unwrap_or_default(),
            remains: Vec::new(),
            selection,
            cut: Cut::default(),
            texts,
        };
        document.fit_to_budget();
        document.make_room();
        Ok(document)
    }

    /// Drops what exceeds the budget, the least important first, and fills the rest.
    fn fit_to_budget(&mut self) {
        self.remains = remains(&self.selection, &self.texts);
        let (count, has_summaries) = (self.selection.least.len(), !self.selection.semantic.is_empty());
        self.cut = choose_cut(count, has_summaries, self.selection.budget, |cut| self.size_with_cut(cut));
        self.fill_room();
    }

    /// Prevents a long outline from taking the room of many: if nothing fits, tries the shortest matched outline first; drops the longest outline
    /// before all others while that at least doubles the number of matched types.
    fn make_room(&mut self) {
        let count = self.selection.least.len();
        if self.cut.types == count {
            let is_matched = |at: &usize| self.selection.why.get(&self.selection.least[*at]) == Some(&Why::Matched);
            let length = |at: &usize| self.texts[&self.selection.least[*at]].outline.len();
            let Some(shortest) = (0..count).filter(is_matched).min_by_key(length) else {
                return;
            };
            self.selection.least[shortest..].rotate_left(1);
            self.fit_to_budget();
        }
        while self.cut.types > 0 {
            let (least, cut) = (self.selection.least.clone(), self.cut);
            let matched = self.remains[cut.types].matched;
            let length = |at: &usize| self.texts[&least[*at]].outline.len();
            let Some(longest) = (cut.types..count).max_by_key(length) else {
                return;
            };
            self.selection.least[..=longest].rotate_right(1);
            self.fit_to_budget();
            if self.remains[self.cut.types].matched < (2 * matched).max(1) {
                (self.selection.least, self.cut) = (least, cut);
                self.remains = remains(&self.selection, &self.texts);
                return;
            }
        }
    }

    /// Adds dropped types and files again while they fit into the rest of the budget, the most important first. Adds none if all were
    /// dropped.
    fn fill_room(&mut self) {
        let is_empty = self.cut.types == self.selection.least.len();
        let Some(budget) = self.selection.budget.filter(|_| !is_empty) else {
            return;
        };
        for at in (0..self.cut.types).rev() {
            let (key, size) = (&self.selection.least[at], tokens(self.size_with_cut(self.cut)));
            if tokens(self.texts[key].outline.len()) > budget.saturating_sub(size) {
                continue;
            }
            let (types, cut) = (self.cut.types - 1, self.cut);
            self.selection.least[at..=types].rotate_left(1);
            self.remains = remains(&self.selection, &self.texts);
            let summaries = if self.selection.semantic.is_empty() { types } else { cut.summaries };
            self.cut = Cut { types, summaries };
            if tokens(self.size_with_cut(self.cut)) > budget {
                self.selection.least[at..=types].rotate_right(1);
                self.remains = remains(&self.selection, &self.texts);
                self.cut = cut;
            }
        }
    }

    /// Returns the fewest tokens with which the pack contains a type; `None` if it contains one already or selects none.
    pub(super) fn needed(&self) -> Option<u64> {
        let last = self.selection.least.len().checked_sub(1)?;
        if self.cut.types <= last {
            return None;
        }
        let summaries = if self.selection.semantic.is_empty() { last } else { last + 1 };
        let cut = Cut { types: last, summaries };
        let mut needed = 0;
        loop {
            // The text names its budget, and a larger number is never shorter, so the loop ends.
            match tokens(self.size_within(cut, Some(needed))) {
                fits if fits <= needed => return Some(needed),
                more => needed = more,
            }
        }
    }

    pub(super) fn types_cut(&self) -> Vec<&str> {
        types_of(&self.selection.least[..self.cut.types])
    }

    pub(super) fn files_cut(&self) -> Vec<&str> {
        files_of(&self.selection.least[..self.cut.types])
    }

    /// Returns the remaining types whose requested summary is dropped.
    pub(super) fn summaries_cut(&self) -> Vec<&str> {
        self.summaries_without(self.cut)
    }

    fn summaries_without(&self, cut: Cut) -> Vec<&str> {
        match self.selection.semantic.is_empty() {
            true => Vec::new(),
            false => types_of(&self.selection.least[cut.types..cut.summaries]),
        }
    }

    /// Returns the remaining types, in the order of the pack.
    pub(super) fn remaining_types(&self) -> impl Iterator<Item = &String> {
        let gone: BTreeSet<&String> = self.selection.least[..self.cut.types].iter().collect();
        self.selection.types.iter().filter(move |key| !gone.contains(key))
    }

    pub(super) fn remaining_files(&self) -> Vec<&str> {
        let mut files = files_of(&self.selection.least[self.cut.types..]);
        files.sort_unstable();
        files
    }

    /// Returns the identifier of a type.
    pub(super) fn id(&self, key: &str) -> &str {
        self.texts.get(key).map_or("", |texts| &texts.id)
    }

    /// Estimates the tokens of the text.
    pub(super) fn tokens(&self) -> u64 {
        tokens(self.size_with_cut(self.cut))
    }

    fn size_with_cut(&self, cut: Cut) -> usize {
        self.size_within(cut, self.selection.budget)
    }

    fn size_within(&self, cut: Cut, budget: Option<u64>) -> usize {
        let (types, summaries) = (self.remains[cut.types], self.remains[cut.summaries]);
        let body = types.outlines + summaries.summaries;
        body + self.head(cut, budget, body).len()
    }

    pub(super) fn markdown(&self) -> String {
        let without: BTreeSet<&str> = self.summaries_cut().into_iter().collect();
        let mut body = String::new();
        for key in self.remaining_types() {
            let texts = &self.texts[key];
            body.push_str(&texts.outline);
            if !without.contains(key.as_str()) {
                body.push_str(&texts.summary);
            }
        }
        for path in self.remaining_files() {
            body.push_str(&self.texts[&file_key(path)].outline);
        }
        self.head(self.cut, self.selection.budget, body.len()) + &body
    }

    /// Returns the head of a text whose body has `body` bytes. The head counts itself.
    fn head(&self, cut: Cut, budget: Option<u64>, body: usize) -> String {
        let mut count = 0;
        loop {
            let head = self.head_of(cut, budget, count);
            // A larger number is never shorter, so the loop ends.
            match tokens(head.len() + body) {
                same if same == count => return head,
                other => count = other,
            }
        }
    }

    fn head_of(&self, cut: Cut, budget: Option<u64>, tokens: u64) -> String {
        let Selection {
            filter, least, excluded, ..
        } = &self.selection;
        let Remains { matched, files, .. } = self.remains[cut.types];
        let (gone, all_files) = (&least[..cut.types], self.remains[0].files);
        let kept = least.len() - cut.types - files;
        let budget = budget.map_or_else(String::new, |budget| format!(" of {budget}"));
        let of = |kept: usize, all: usize| if kept == all { String::new() } else { format!(" of {all}") };
        let mut text = format!("# Pack {}\nFilter: {}\n", self.name, or_none(filter));
        text.push_str(&format!(
            "Types: {kept}{} ({matched} matched, {} as dependencies)",
            of(kept, least.len() - all_files),
            kept - matched
        ));
        if all_files > 0 {
            text.push_str(&format!(" | Files: {files}{}", of(files, all_files)));
        }
        text.push_str(&format!(" | Tokens: about {tokens}{budget}\n"));
        let (types, paths, summaries) = (types_of(gone), files_of(gone), self.summaries_without(cut));
        for (one, what, names) in [
            ("summary of", "summaries of", &summaries),
            ("type", "types", &types),
            ("file", "files", &paths),
        ] {
            let what = if names.len() == 1 { one } else { what };
            if !names.is_empty() {
                let count = names.len();
                text.push_str(&format!(
                    "Left out for the budget, {count} {what}: {}\n",
                    first_names(names.iter(), MOST_NAMES)
                ));
            }
        }
        if !(gone.is_empty() && summaries.is_empty()) {
            text.push_str(
                "(dependencies first, then what the fewest types name, then the deepest; summaries before types; what still fits stays)\n",
            );
        }
        if !excluded.is_empty() {
            let count = excluded.len();
            let names = excluded.iter().map(|(key, by)| format!("{key} ({by})"));
            text.push_str(&format!(
                "Left out by the filter, {count} dependencies: {}\n",
                first_names(names, MOST_NAMES)
            ));
        }
        text
    }
}

/// Returns the types among keys of types and files.
fn types_of(keys: &[String]) -> Vec<&str> {
    keys.iter().map(String::as_str).filter(|key| path_of_key(key).is_none()).collect()
}

/// Returns the paths of the files among keys of types and files.
fn files_of(keys: &[String]) -> Vec<&str> {
    keys.iter().filter_map(|key| path_of_key(key)).collect()
}

fn remains(selection: &Selection, texts: &BTreeMap<String, Texts>) -> Vec<Remains> {
    let mut below = Remains::default();
    let mut remains = vec![below];
    for key in selection.least.iter().rev() {
        let texts = texts.get(key);
        below.outlines += texts.map_or(0, |texts| texts.outline.len());
        below.summaries += texts.map_or(0, |texts| texts.summary.len());
        below.matched += usize::from(selection.why.get(key) == Some(&Why::Matched));
        below.files += usize::from(path_of_key(key).is_some());
        remains.push(below);
    }
    remains.reverse();
    remains
}

/// Returns the first names of a list, and the number of the remaining ones.
fn first_names(names: impl ExactSizeIterator<Item = impl AsRef<str>>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let shown: Vec<_> = names.take(most).collect();
    let shown = shown.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match more {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

fn outline(info: &Info, why: &Why, docs: bool) -> String {
    let mut text = format!(
        "\n## {} {}\nKind: {} | File: {} | Assembly: {}\n",
        info.fqn,
        info.id,
        info.kind,
        or_none(&info.files.join(", ")),
        or_none(&info.assembly)
    );
    if let Why::DependencyOf(readers) = why {
        text.push_str(&format!(
            "In the pack as a dependency of {}\n",
            first_names(readers.iter(), MOST_READERS)
        ));
    }
    if docs && !info.summary.is_empty() {
        text.push_str(&format!("XMLDOC: {}\n", info.summary));
    }
    text.push_str(&api(info, docs));
    text
}

/// Returns the sections of a summary, without its head of hashes, and their source.
fn summary_sections(input: &Input) -> String {
    let text = String::from_utf8_lossy(&input.bytes);
    let (head, sections) = text.split_once("\n\n").unwrap_or(("", &text));
    let source = head
        .lines()
        .find_map(|line| line.strip_prefix("Source: "))
        .map_or_else(String::new, |source| format!(" ({source})"));
    format!("\n### Semantic{source}\n\n{}\n", sections.trim_end())
}
