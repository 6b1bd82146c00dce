//! `csharp/pack`: a pack as Markdown, its types in order with what outlines tell of them and, where it asks for them, their summaries.
//!
//! It holds no hash, no line number and no time: edits of bodies, comments and layout leave it as it is. What does not fit the budget is
//! named at its head, with the reason.

use super::budget::{Cut, Weight, cut, tokens};
use super::select::{Selection, Why, read_selection};
use crate::csharp::outline::{api, or_none};
use crate::csharp::outline_info::{self, Info};
use crate::csharp::structure::check_flags;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Sees};
use engine::values::diagnostic::Diagnostic;
use std::collections::BTreeMap;

/// How many names a list at the head holds.
const MOST_NAMES: usize = 10;
/// How many of the types that name a dependency are told.
const MOST_READERS: usize = 3;

/// The producer `csharp/pack`.
#[derive(Debug)]
pub struct Pack;

impl Producer for Pack {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/pack", 1)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let selection = read_selection(&inputs.one("selection")?.bytes)?;
        let parts = parts(inputs, &selection)?;
        let cut = parts.cut(&selection);
        let mut diagnostics = Vec::new();
        if cut.types.len() == selection.types.len() && !selection.types.is_empty() {
            let message = "the budget is too small for any type of the pack";
            let smallest = parts
                .outlines
                .values()
                .map(|(_, text)| tokens(text.len()))
                .min()
                .unwrap_or_default();
            let diagnostic = Diagnostic::warning("CS-PACK-BUDGET", message);
            diagnostics.push(diagnostic.hint(format!("the smallest of them is {smallest} tokens")));
        }
        Ok(Output {
            bytes: parts
                .markdown(inputs.var("pack").unwrap_or_default(), &selection, &cut)
                .into_bytes(),
            diagnostics,
            ..Output::default()
        })
    }
}

/// What is shown of each type, by its key.
pub(super) struct Parts {
    pub(super) outlines: BTreeMap<String, (Info, String)>,
    summaries: BTreeMap<String, String>,
}

/// Reads the inputs `outlines` and, where there are any, `semantics`.
pub(super) fn parts(inputs: &Inputs<'_>, selection: &Selection) -> Result<Parts, Failure> {
    let mut outlines = BTreeMap::new();
    for input in inputs.all("outlines") {
        let info = outline_info::read(input)?;
        let why = selection.why.get(&*input.item).unwrap_or(&Why::Matched);
        let text = outline(&info, why, selection.docs);
        outlines.insert(input.item.to_string(), (info, text));
    }
    if let Some(missing) = selection.types.iter().find(|key| !outlines.contains_key(*key)) {
        return Err(Failure::permanent(format!("there is no outline of {missing}")));
    }
    let summary = |input: &engine::seams::producer::Input| {
        let text = String::from_utf8_lossy(&input.bytes);
        (input.item.to_string(), summary(&text))
    };
    let summaries = inputs.all("semantics").iter().map(summary).collect();
    Ok(Parts { outlines, summaries })
}

impl Parts {
    /// What does not fit.
    pub(super) fn cut<'s>(&self, selection: &'s Selection) -> Cut<'s> {
        let weight = |key: &'s String| Weight {
            of: key,
            outline: self.outlines.get(key).map_or(0, |(_, text)| text.len()),
            summary: self.summaries.get(key).map_or(0, String::len),
        };
        let weights: Vec<Weight<'_>> = selection.least.iter().map(weight).collect();
        cut(&weights, selection.budget)
    }

    fn markdown(&self, pack: &str, selection: &Selection, cut: &Cut<'_>) -> String {
        let kept: Vec<&String> = selection.types.iter().filter(|key| !cut.types.contains(&key.as_str())).collect();
        let matched = kept.iter().filter(|key| selection.why.get(**key) == Some(&Why::Matched)).count();
        let budget = selection.budget.map_or_else(String::new, |budget| format!(" of {budget}"));
        let mut text = format!("# Pack {pack}\nFilter: {}\n", or_none(&selection.filter));
        text.push_str(&format!(
            "Types: {} ({matched} matched, {} as dependencies) | Tokens: about {}{budget}\n",
            kept.len(),
            kept.len() - matched,
            tokens(cut.bytes)
        ));
        for (what, names) in [("summaries of", &cut.summaries), ("types", &cut.types)] {
            if !names.is_empty() {
                let count = names.len();
                text.push_str(&format!("Left out for the budget, {count} {what}: {}\n", listed(names, MOST_NAMES)));
            }
        }
        if !cut.summaries.is_empty() || !cut.types.is_empty() {
            text.push_str("(dependencies first, then what the fewest types name, then the deepest; summaries before types)\n");
        }
        for key in kept {
            text.push_str(&self.outlines[key].1);
            if let Some(summary) = self.summaries.get(key).filter(|_| !cut.summaries.contains(&key.as_str())) {
                text.push_str(summary);
            }
        }
        text
    }
}

/// The first names of a list, and how many more there are.
fn listed(names: &[&str], most: usize) -> String {
    let shown = names[..names.len().min(most)].join(", ");
    match names.len().saturating_sub(most) {
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
        let readers: Vec<&str> = readers.iter().map(String::as_str).collect();
        text.push_str(&format!("In the pack as a dependency of {}\n", listed(&readers, MOST_READERS)));
    }
    if docs && !info.summary.is_empty() {
        text.push_str(&format!("XMLDOC: {}\n", info.summary));
    }
    text.push_str(&api(info, docs));
    text
}

/// The sections of a summary, without its head of hashes, and where they come from.
fn summary(text: &str) -> String {
    let (head, sections) = text.split_once("\n\n").unwrap_or(("", text));
    let source = head
        .lines()
        .find_map(|line| line.strip_prefix("Source: "))
        .map_or_else(String::new, |source| format!(" ({source})"));
    format!("\n### Semantic{source}\n\n{}\n", sections.trim_end())
}
