//! A pack as it is written: its types in order with what outlines tell of them and, where it asks for them, their summaries.
//!
//! The text holds no hash, no line number and no time: edits of bodies, comments and layout leave it as it is. What does not fit the budget,
//! which bounds the whole text, is named at its head, with the reason; so is what the filter keeps out.

use super::budget::{Cut, tokens, what_to_give_up};
use super::select::{Selection, Why, read_selection};
use crate::csharp::outline::{api, or_none};
use crate::csharp::outline_info::{self, Info};
use engine::seams::producer::{Failure, Input, Inputs};
use std::collections::{BTreeMap, BTreeSet};

/// How many names a list at the head holds.
const MOST_NAMES: usize = 10;
/// How many of the types that name a dependency are told.
const MOST_READERS: usize = 3;

/// A pack.
pub struct Document<'i> {
    pub(super) name: &'i str,
    pub(super) selection: Selection,
    /// What does not fit.
    pub(super) cut: Cut,
    texts: BTreeMap<String, Texts>,
    /// Of the types from the least on: what remains without the first of them, without the second, and so on to nothing.
    remains: Vec<Remains>,
}

/// What is shown of a type.
struct Texts {
    id: String,
    outline: String,
    summary: String,
}

/// What some types come to.
#[derive(Clone, Copy, Default)]
struct Remains {
    outlines: usize,
    summaries: usize,
    matched: usize,
}

impl<'i> Document<'i> {
    /// Reads the inputs `selection`, `outlines` and, where there are any, `semantics`.
    ///
    /// # Errors
    /// When one is missing or not of our making.
    pub fn read(inputs: &'i Inputs<'_>) -> Result<Self, Failure> {
        let selection = read_selection(&inputs.single("selection")?.bytes)?;
        let mut texts = BTreeMap::new();
        for input in inputs.all("outlines") {
            let info = outline_info::read(input)?;
            let why = selection.why.get(&*input.item).unwrap_or(&Why::Matched);
            let (outline, summary) = (outline(&info, why, selection.docs), String::new());
            let id = info.id;
            texts.insert(input.item.to_string(), Texts { id, outline, summary });
        }
        if let Some(missing) = selection.types.iter().find(|key| !texts.contains_key(*key)) {
            return Err(Failure::permanent(format!("there is no outline of {missing}")));
        }
        for input in inputs.all("semantics") {
            if let Some(texts) = texts.get_mut(&*input.item) {
                texts.summary = summary(input);
            }
        }
        let mut document = Self {
            name: inputs.var("pack").unwrap_or_default(),
            remains: remains(&selection, &texts),
            selection,
            cut: Cut::default(),
            texts,
        };
        let Selection {
            budget, least, semantic, ..
        } = &document.selection;
        document.cut = what_to_give_up(least.len(), !semantic.is_empty(), *budget, |cut| document.size(cut));
        Ok(document)
    }

    /// The fewest tokens with which there is a type in it; `None` where one is, or there are none.
    pub(super) fn needed(&self) -> Option<u64> {
        let last = self.selection.least.len().checked_sub(1)?;
        if self.cut.types <= last {
            return None;
        }
        let summaries = if self.selection.semantic.is_empty() { last } else { last + 1 };
        let cut = Cut { types: last, summaries };
        let mut needed = 0;
        loop {
            // The text names its budget: a larger number is no shorter, so that this ends.
            match tokens(self.size_within(cut, Some(needed))) {
                fits if fits <= needed => return Some(needed),
                more => needed = more,
            }
        }
    }

    /// The types that go.
    pub(super) fn types_cut(&self) -> &[String] {
        &self.selection.least[..self.cut.types]
    }

    /// The types that stay without the summary that was asked for.
    pub(super) fn summaries_cut(&self) -> &[String] {
        match self.selection.semantic.is_empty() {
            true => &[],
            false => &self.selection.least[self.cut.types..self.cut.summaries],
        }
    }

    /// The types that stay, in the order of the pack.
    pub(super) fn remaining_types(&self) -> impl Iterator<Item = &String> {
        let gone: BTreeSet<&String> = self.types_cut().iter().collect();
        self.selection.types.iter().filter(move |key| !gone.contains(key))
    }

    /// The identifier of a type.
    pub(super) fn id(&self, key: &str) -> &str {
        self.texts.get(key).map_or("", |texts| &texts.id)
    }

    /// About how many tokens the text is.
    pub(super) fn tokens(&self) -> u64 {
        tokens(self.size(self.cut))
    }

    fn size(&self, cut: Cut) -> usize {
        self.size_within(cut, self.selection.budget)
    }

    fn size_within(&self, cut: Cut, budget: Option<u64>) -> usize {
        let (types, summaries) = (self.remains[cut.types], self.remains[cut.summaries]);
        let body = types.outlines + summaries.summaries;
        body + self.head(cut, budget, body).len()
    }

    /// The text.
    pub(super) fn markdown(&self) -> String {
        let without: BTreeSet<&String> = self.summaries_cut().iter().collect();
        let mut body = String::new();
        for key in self.remaining_types() {
            let texts = &self.texts[key];
            body.push_str(&texts.outline);
            if !without.contains(key) {
                body.push_str(&texts.summary);
            }
        }
        self.head(self.cut, self.selection.budget, body.len()) + &body
    }

    /// The head of a text with a body of so many bytes. It counts itself.
    fn head(&self, cut: Cut, budget: Option<u64>, body: usize) -> String {
        let mut count = 0;
        loop {
            let head = self.head_of(cut, budget, count);
            // A larger number is no shorter, so that this ends.
            match tokens(head.len() + body) {
                same if same == count => return head,
                other => count = other,
            }
        }
    }

    fn head_of(&self, cut: Cut, budget: Option<u64>, tokens: u64) -> String {
        let Selection {
            filter,
            least,
            semantic,
            excluded,
            ..
        } = &self.selection;
        let (kept, matched) = (least.len() - cut.types, self.remains[cut.types].matched);
        let budget = budget.map_or_else(String::new, |budget| format!(" of {budget}"));
        let of = match cut.types {
            0 => String::new(),
            _ => format!(" of {}", least.len()),
        };
        let mut text = format!("# Pack {}\nFilter: {}\n", self.name, or_none(filter));
        text.push_str(&format!(
            "Types: {kept}{of} ({matched} matched, {} as dependencies) | Tokens: about {tokens}{budget}\n",
            kept - matched
        ));
        let types = &least[..cut.types];
        let summaries = if semantic.is_empty() {
            &[]
        } else {
            &least[cut.types..cut.summaries]
        };
        for (one, what, names) in [("summary of", "summaries of", summaries), ("type", "types", types)] {
            let what = if names.len() == 1 { one } else { what };
            if !names.is_empty() {
                let count = names.len();
                text.push_str(&format!(
                    "Left out for the budget, {count} {what}: {}\n",
                    first_names(names.iter(), MOST_NAMES)
                ));
            }
        }
        if !(types.is_empty() && summaries.is_empty()) {
            text.push_str("(dependencies first, then what the fewest types name, then the deepest; summaries before types)\n");
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

fn remains(selection: &Selection, texts: &BTreeMap<String, Texts>) -> Vec<Remains> {
    let mut below = Remains::default();
    let mut remains = vec![below];
    for key in selection.least.iter().rev() {
        let texts = texts.get(key);
        below.outlines += texts.map_or(0, |texts| texts.outline.len());
        below.summaries += texts.map_or(0, |texts| texts.summary.len());
        below.matched += usize::from(selection.why.get(key) == Some(&Why::Matched));
        remains.push(below);
    }
    remains.reverse();
    remains
}

/// The first names of a list, and how many more there are.
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

/// The sections of a summary, without its head of hashes, and where they come from.
fn summary(input: &Input) -> String {
    let text = String::from_utf8_lossy(&input.bytes);
    let (head, sections) = text.split_once("\n\n").unwrap_or(("", &text));
    let source = head
        .lines()
        .find_map(|line| line.strip_prefix("Source: "))
        .map_or_else(String::new, |source| format!(" ({source})"));
    format!("\n### Semantic{source}\n\n{}\n", sections.trim_end())
}
