//! Explains why outputs differ between two builds: the causes of each, inherited from inputs that differ themselves, down to source files.
//!
//! All inputs of a new (or removed) node count as new (or no longer read). Its cause is the one among them that is new itself: the added file, not a
//! file that other nodes read before.

use super::leaves::{Leaves, Side};
use engine::build::file_path;
use engine::store::records::{ActionRecord, InputRecord};
use engine::values::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A cause and its effects.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cause {
    #[serde(flatten)]
    pub why: DiffReason,
    /// The changed nodes, by label.
    pub moved: Vec<Changed>,
    /// The changed lines of a file, where both versions were requested and are still stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// The reason why outputs differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum DiffReason {
    /// A source file was read with other content, or by only one of the builds.
    File {
        path: String,
        /// Digest that the first build read.
        from: Option<Digest>,
        /// Digest that the second build read.
        to: Option<Digest>,
    },
    /// The files of a set differ.
    Set { label: String },
    /// The producer or its version differs.
    Producer {
        /// The producer of the first build.
        from: String,
        /// The producer of the second build.
        to: String,
    },
    /// The inputs are the same: a parameter, the rule, or a person's correction differs, or the model was asked again.
    SameInputs,
    /// The inputs are others, none of which changed: the rule or a deciding node differs.
    OtherInputs,
    /// Only the second build has the node.
    New,
    /// Only the first build has the node, for reasons that no record shows.
    Gone,
    /// The inputs of one of the node's results are unknown: that result was evicted.
    Collected,
    /// An input changed without a known cause: its node is gone, or History is too short.
    Input { label: String },
    /// More causes than are listed.
    Many,
}

/// A node with another output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Changed {
    pub label: Arc<str>,
    /// Digest of the output after the first build.
    pub from: Option<Digest>,
    /// Digest of the output after the second build.
    pub to: Option<Digest>,
}

/// Limit of causes of a node; above it the cause is [`DiffReason::Many`].
const CAUSES: usize = 64;

/// A changed node.
pub(super) struct Between {
    pub(super) from: Option<Digest>,
    pub(super) to: Option<Digest>,
    pub(super) before: Option<ActionRecord>,
    pub(super) after: Option<ActionRecord>,
}

impl Between {
    /// Returns the side on which a new or removed node has no output.
    fn missing_side(&self) -> Option<Side> {
        side_without(self.from, self.to)
    }

    /// Whether one of the node's results was evicted.
    pub(super) fn is_collected(&self) -> bool {
        (self.from.is_some() && self.before.is_none()) || (self.to.is_some() && self.after.is_none())
    }
}

/// Returns the side without a digest, if only the other one has it.
fn side_without(from: Option<Digest>, to: Option<Digest>) -> Option<Side> {
    match (from, to) {
        (None, Some(_)) => Some(Side::Before),
        (Some(_), None) => Some(Side::After),
        _ => None,
    }
}

/// Returns the files and sets that only one of the two records of a node names.
pub(super) fn one_sided_leaves(moved: &BTreeMap<Arc<str>, Between>, is_made: &dyn Fn(&str) -> bool) -> BTreeSet<Arc<str>> {
    let inputs = moved.values().flat_map(differing);
    let of_one = inputs.filter(|(label, (from, to))| side_without(*from, *to).is_some() && !is_made(label));
    of_one.map(|(label, _)| label).collect()
}

/// Returns the causes of the changed nodes. A changed input passes its causes on.
pub(super) fn causes(moved: &BTreeMap<Arc<str>, Between>, leaves: &Leaves, is_made: &dyn Fn(&str) -> bool) -> Vec<Cause> {
    let mut finder = Finder {
        moved,
        leaves,
        is_made,
        known: BTreeMap::new(),
    };
    let mut begun: BTreeSet<&Arc<str>> = BTreeSet::new();
    for start in moved.keys() {
        // Depth first with an explicit stack: a node is done once its inputs are.
        let mut stack = vec![start];
        while let Some(&label) = stack.last() {
            if finder.known.contains_key(label) {
                stack.pop();
                continue;
            }
            let inputs = finder.inputs(&moved[label]);
            let waiting: Vec<&Arc<str>> = inputs
                .keys()
                .filter_map(|input| moved.get_key_value(input).map(|(label, _)| label))
                .filter(|input| !finder.known.contains_key(*input))
                .collect();
            // Records of different times may form a cycle; do not wait for a node that was begun.
            if begun.insert(label) && !waiting.is_empty() {
                stack.extend(waiting.into_iter().filter(|input| !begun.contains(*input)));
                continue;
            }
            let found = finder.own_causes(&moved[label], &inputs);
            finder.known.insert(label, found);
            stack.pop();
        }
    }
    let mut by_cause: BTreeMap<DiffReason, Vec<Changed>> = BTreeMap::new();
    for (label, whys) in finder.known {
        let between = &moved[label];
        let changed = Changed {
            label: label.clone(),
            from: between.from,
            to: between.to,
        };
        for why in whys {
            by_cause.entry(why).or_default().push(changed.clone());
        }
    }
    let mut causes: Vec<Cause> = by_cause.into_iter().map(|(why, moved)| Cause { why, moved, diff: None }).collect();
    causes.sort_by(|a, b| b.moved.len().cmp(&a.moved.len()).then_with(|| a.why.cmp(&b.why)));
    causes
}

type Inputs = BTreeMap<Arc<str>, (Option<Digest>, Option<Digest>)>;

/// Returns the inputs whose digests differ, by label; empty if the inputs of one side are unknown.
fn differing(between: &Between) -> Inputs {
    let mut inputs = Inputs::new();
    if between.is_collected() {
        return inputs;
    }
    let of =
        |record: &Option<ActionRecord>| -> Vec<InputRecord> { record.as_ref().map(|record| record.inputs.clone()).unwrap_or_default() };
    for input in of(&between.before) {
        inputs.entry(input.label).or_default().0 = Some(input.digest);
    }
    for input in of(&between.after) {
        inputs.entry(input.label).or_default().1 = Some(input.digest);
    }
    inputs.retain(|_, (from, to)| from != to);
    inputs
}

struct Finder<'a> {
    moved: &'a BTreeMap<Arc<str>, Between>,
    leaves: &'a Leaves,
    is_made: &'a dyn Fn(&str) -> bool,
    /// The causes of the nodes that are done.
    known: BTreeMap<&'a Arc<str>, BTreeSet<DiffReason>>,
}

impl Finder<'_> {
    /// Returns the inputs that may be why a node changed: those whose digests differ. A leaf that only one of its records names is compared with its
    /// digest in other nodes' records of that time, and ignored if equal. For a new or removed node, only inputs that are new or removed too count,
    /// if there are any.
    fn inputs(&self, between: &Between) -> Inputs {
        let mut inputs = differing(between);
        for (label, (from, to)) in &mut inputs {
            match (side_without(*from, *to), from.or(*to)) {
                (Some(Side::Before), Some(digest)) if !(self.is_made)(label) => *from = self.leaves.gave(Side::Before, label, digest),
                (Some(Side::After), Some(digest)) if !(self.is_made)(label) => *to = self.leaves.gave(Side::After, label, digest),
                _ => {}
            }
        }
        inputs.retain(|_, (from, to)| from != to);
        if let Some(side) = between.missing_side() {
            let came_along = |label: &Arc<str>, from: Option<Digest>, to: Option<Digest>| match self.moved.get(label) {
                Some(input) => input.missing_side() == Some(side),
                None => !(self.is_made)(label) && side_without(from, to) == Some(side),
            };
            if inputs.iter().any(|(label, (from, to))| came_along(label, *from, *to)) {
                inputs.retain(|label, (from, to)| came_along(label, *from, *to));
            }
        }
        inputs
    }

    fn own_causes(&self, between: &Between, inputs: &Inputs) -> BTreeSet<DiffReason> {
        if between.is_collected() {
            return [DiffReason::Collected].into();
        }
        let mut whys = BTreeSet::new();
        for (label, &(from, to)) in inputs {
            match (file_path(label), self.known.get(label)) {
                (Some(path), _) => {
                    whys.insert(DiffReason::File { path, from, to });
                }
                (None, Some(others)) => whys.extend(others.iter().cloned()),
                (None, None) if self.moved.contains_key(label) => {}
                (None, None) if !(self.is_made)(label) => {
                    whys.insert(DiffReason::Set { label: label.to_string() });
                }
                // The node newly reads an input that has not changed.
                (None, None) if side_without(from, to).is_some() => {}
                (None, None) => {
                    whys.insert(DiffReason::Input { label: label.to_string() });
                }
            }
            if whys.len() > CAUSES {
                return [DiffReason::Many].into();
            }
        }
        if let (Some(before), Some(after)) = (&between.before, &between.after)
            && before.producer != after.producer
        {
            let (from, to) = (before.producer.clone(), after.producer.clone());
            whys.insert(DiffReason::Producer { from, to });
        }
        // An added or removed file already explains the change of its set.
        if let Some(side) = between.missing_side()
            && whys
                .iter()
                .any(|why| matches!(why, DiffReason::File { from, to, .. } if side_without(*from, *to) == Some(side)))
        {
            whys.retain(|why| !matches!(why, DiffReason::Set { .. }));
        }
        if whys.is_empty() {
            whys.insert(match between.missing_side() {
                Some(Side::Before) => DiffReason::New,
                Some(Side::After) => DiffReason::Gone,
                None if !differing(between).is_empty() => DiffReason::OtherInputs,
                None => DiffReason::SameInputs,
            });
        }
        whys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::store::records::Class;

    fn digest(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    fn record(inputs: &[(&str, &str)]) -> ActionRecord {
        let input = |(label, content): &(&str, &str)| InputRecord {
            role: "in".into(),
            label: (*label).into(),
            digest: digest(content),
        };
        ActionRecord {
            output: digest(""),
            len: 0,
            label: String::new(),
            producer: "p@1".to_owned(),
            made_at: 0,
            took_us: 0,
            inputs: inputs.iter().map(input).collect(),
            diagnostics: Vec::new(),
            class: Class::Cheap,
            spent: None,
            notes: Default::default(),
            parts: Vec::new(),
            memo: Default::default(),
        }
    }

    fn between(before: Option<&[(&str, &str)]>, after: &[(&str, &str)]) -> Between {
        Between {
            from: before.map(|_| digest("old")),
            to: Some(digest("new")),
            before: before.map(record),
            after: Some(record(after)),
        }
    }

    type ReadSide<'a> = (Side, &'a [(&'a str, &'a str)]);

    fn reasons_of(moved: &[(&str, Between)]) -> Vec<(DiffReason, Vec<String>)> {
        told_among(moved, &[])
    }

    /// `standing`: the leaves that other nodes read in each build.
    fn told_among(moved: &[(&str, Between)], standing: &[ReadSide<'_>]) -> Vec<(DiffReason, Vec<String>)> {
        let moved = moved.iter().map(|(label, between)| {
            let Between { from, to, before, after } = between;
            let (from, to, before, after) = (*from, *to, before.clone(), after.clone());
            (Arc::from(*label), Between { from, to, before, after })
        });
        let is_made = |label: &str| !label.starts_with("//sources/") && file_path(label).is_none();
        let moved = moved.collect();
        let mut leaves = Leaves::new(one_sided_leaves(&moved, &is_made));
        for (side, inputs) in standing {
            leaves.learn(*side, &record(inputs).inputs);
        }
        let causes = causes(&moved, &leaves, &is_made);
        let labels = |cause: &Cause| cause.moved.iter().map(|changed| changed.label.to_string()).collect();
        causes.iter().map(|cause| (cause.why.clone(), labels(cause))).collect()
    }

    #[test]
    fn causes_go_down_to_files_and_sets() {
        let file = |path: &str, from: Option<&str>, to: &str| DiffReason::File {
            path: path.to_owned(),
            from: from.map(digest),
            to: Some(digest(to)),
        };
        let moved = [
            (
                "//a:x",
                between(
                    Some(&[("//files/a:bytes", "1"), ("//k:k", "same")]),
                    &[("//files/a:bytes", "2"), ("//k:k", "same")],
                ),
            ),
            ("//b:x", between(None, &[("//files/b:bytes", "1")])),
            ("//all:x", between(Some(&[("//a:x", "old")]), &[("//a:x", "new"), ("//b:x", "new")])),
            (
                "//count:x",
                between(Some(&[("//sources/s:files", "1")]), &[("//sources/s:files", "2")]),
            ),
            ("//param:x", between(Some(&[("//k:k", "same")]), &[("//k:k", "same")])),
            ("//gone:x", between(Some(&[("//k:gone", "1")]), &[("//k:gone", "2")])),
        ];
        let labels = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            reasons_of(&moved),
            [
                (file("a", Some("1"), "2"), labels(&["//a:x", "//all:x"])),
                (file("b", None, "1"), labels(&["//all:x", "//b:x"])),
                (
                    DiffReason::Set {
                        label: "//sources/s:files".to_owned()
                    },
                    labels(&["//count:x"])
                ),
                (DiffReason::SameInputs, labels(&["//param:x"])),
                (
                    DiffReason::Input {
                        label: "//k:gone".to_owned()
                    },
                    labels(&["//gone:x"])
                ),
            ]
        );
    }

    #[test]
    fn new_nodes_are_due_to_their_new_file() {
        let came = [
            // Every target of the family reads the properties, which existed before.
            ("//b:x", between(None, &[("//files/b:bytes", "1"), ("//files/props:bytes", "p")])),
            // The node that reads all names changed because of another file too; new nodes of the new file are due to that file.
            ("//all:x", between(Some(&[("//a:x", "old")]), &[("//a:x", "new"), ("//b:x", "new")])),
            ("//a:x", between(Some(&[("//files/a:bytes", "1")]), &[("//files/a:bytes", "2")])),
            (
                "//b:y",
                between(
                    None,
                    &[("//b:x", "new"), ("//all:x", "new"), ("//sources/s:files", "2"), ("//k:k", "same")],
                ),
            ),
            // A new declaration in an old file.
            ("//c:y", between(None, &[("//a:x", "new"), ("//files/props:bytes", "p")])),
            // Requested for the first time.
            ("//d:y", between(None, &[("//files/props:bytes", "p")])),
            // Its rule now reads the properties.
            (
                "//e:y",
                between(Some(&[("//k:k", "same")]), &[("//k:k", "same"), ("//files/props:bytes", "p")]),
            ),
        ];
        let standing: [ReadSide<'_>; 3] = [
            (Side::Before, &[("//files/props:bytes", "p"), ("//sources/s:files", "1")]),
            (Side::After, &[("//files/props:bytes", "p"), ("//sources/s:files", "2")]),
            (Side::After, &[("//files/b:bytes", "1")]),
        ];
        let causes = |moved: &[(&str, Between)], standing: &[ReadSide<'_>]| -> Vec<(String, Vec<String>)> {
            let reasons = told_among(moved, standing).into_iter();
            reasons
                .map(|(why, labels)| match why {
                    DiffReason::File { path, from, to } => (format!("{path} {} {}", from.is_some(), to.is_some()), labels),
                    other => (format!("{other:?}"), labels),
                })
                .collect()
        };
        let row = |why: &str, labels: &[&str]| (why.to_owned(), labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            causes(&came, &standing),
            [
                row("a true true", &["//a:x", "//all:x", "//c:y"]),
                row("b false true", &["//all:x", "//b:x", "//b:y"]),
                row("OtherInputs", &["//e:y"]),
                row("New", &["//d:y"]),
            ]
        );
        // Other nodes read these files with other content before: that is the cause.
        let props: [ReadSide<'_>; 1] = [(Side::Before, &[("//files/props:bytes", "older")])];
        assert_eq!(causes(&came[5..6], &props), [row("props true true", &["//d:y"])]);
        // Reversed, they were removed.
        let went = came.map(|(label, between)| {
            let Between { from, to, before, after } = between;
            let (from, to, before, after) = (to, from, after, before);
            (label, Between { from, to, before, after })
        });
        let standing = standing.map(|(side, read)| (if side == Side::Before { Side::After } else { Side::Before }, read));
        assert_eq!(
            causes(&went, &standing),
            [
                row("a true true", &["//a:x", "//all:x", "//c:y"]),
                row("b true false", &["//all:x", "//b:x", "//b:y"]),
                row("OtherInputs", &["//e:y"]),
                row("Gone", &["//d:y"]),
            ]
        );
    }

    #[test]
    fn rings_and_long_chains_end() {
        let ring = [
            ("//a:x", between(Some(&[("//b:x", "1")]), &[("//b:x", "2")])),
            ("//b:x", between(Some(&[("//a:x", "1")]), &[("//a:x", "2")])),
        ];
        assert_eq!(reasons_of(&ring).len(), 1);
        let labels: Vec<String> = (0..50_000).map(|n| format!("//n/{n}:x")).collect();
        let chain: Vec<(&str, Between)> = labels
            .iter()
            .zip(labels.iter().skip(1).map(String::as_str).chain(["//files/f:bytes"]))
            .map(|(label, input)| (label.as_str(), between(Some(&[(input, "1")]), &[(input, "2")])))
            .collect();
        let reasons = reasons_of(&chain);
        assert_eq!((reasons.len(), reasons[0].1.len()), (1, 50_000));
    }
}
