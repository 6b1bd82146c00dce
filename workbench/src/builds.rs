//! Builds: the log of them, and what became of outputs between two, by what caused it down to source files.
//!
//! What stood after a build is told by History: the newest version that a build up to it brought. Versions that no build brought
//! (corrections) count by their time. A target that a build took away stands no more until one brings a version again. Versions that History
//! no longer has, and targets that the log does not name, are counted.

use crate::git;
use engine::build::engine::EngineError;
use engine::build::file_path;
use engine::build::session::Session;
use engine::seams::world::World;
use engine::store::builds::BuildRecord;
use engine::store::records::{ActionRecord, HistoryRecord, InputRecord};
use engine::store::{Part, Store, StoreError, ViewId};
use engine::values::digest::Digest;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The builds of a view that the log still has, the oldest first.
///
/// # Errors
/// When the store cannot be read.
pub fn log(store: &dyn Store, view: ViewId) -> Result<Vec<BuildRecord>, StoreError> {
    Ok(store.rows(view, Part::Builds)?.iter().filter_map(BuildRecord::from_row).collect())
}

/// What two builds differ in.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// The one.
    pub from: BuildRecord,
    /// The other.
    pub to: BuildRecord,
    /// How many nodes have another output, or one after only one of the builds.
    pub changed: usize,
    /// How many of these had none after the one.
    pub new: usize,
    /// How many had none after the other.
    pub gone: usize,
    /// Why, the causes that moved most first. A node stands under each of its causes.
    pub causes: Vec<Cause>,
    /// Nodes of which History no longer has what stood after one of the builds.
    pub forgotten: usize,
    /// Targets that went between the two and that the log counts but does not name.
    pub unnamed: u64,
}

/// A cause and what it moved.
#[derive(Debug, Serialize)]
pub struct Cause {
    /// The cause.
    #[serde(flatten)]
    pub why: Why,
    /// What it moved, by label.
    pub moved: Vec<Changed>,
}

/// Why outputs differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Why {
    /// A source file was read with other content, or by only one of them.
    File {
        /// Its path.
        path: String,
        /// What the one read.
        from: Option<Digest>,
        /// What the other read.
        to: Option<Digest>,
    },
    /// Other files belong to a set.
    Set {
        /// Its label.
        label: String,
    },
    /// The producer is another, or another version.
    Producer {
        /// That of the one.
        from: String,
        /// That of the other.
        to: String,
    },
    /// The inputs are the same: a parameter, the rule, or a person's correction differs, or the model was asked anew.
    SameInputs,
    /// It was made by one of them first.
    New,
    /// An input moved of which nothing more is known: its node is gone, or History is too short.
    Input {
        /// The input.
        label: String,
    },
    /// More causes than are told apart.
    Many,
}

/// A node with another output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Changed {
    /// The node.
    pub label: Arc<str>,
    /// Its output after the one.
    pub from: Option<Digest>,
    /// Its output after the other.
    pub to: Option<Digest>,
}

/// Beyond so many causes a node is said to have many.
const CAUSES: usize = 64;

/// What two builds differ in; the numbers that the log does not have are given back.
///
/// # Errors
/// When the store cannot be read.
pub fn difference(session: &Session, from: u64, to: u64) -> Result<Result<Difference, Vec<u64>>, EngineError> {
    let (store, view) = (&*session.engine.store, session.engine.view);
    let builds = log(store, view)?;
    let find = |number: u64| builds.iter().find(|build| build.number == number).cloned();
    let (Some(one), Some(other)) = (find(from), find(to)) else {
        let numbers = [from, to].into_iter().filter(|number| find(*number).is_none()).collect();
        return Ok(Err(numbers));
    };
    let mut forgotten = 0;
    let mut moved: BTreeMap<Arc<str>, Between> = BTreeMap::new();
    let departures = departures(&builds);
    let mut labels: BTreeSet<Arc<str>> = session.graph.iter().map(|(_, node)| node.label.clone()).collect();
    labels.extend(departures.keys().map(|label| Arc::from(*label)));
    for label in labels {
        let history = store.history(view, &label)?;
        let gone = departures.get(&*label).map_or(&[][..], Vec::as_slice);
        let (Ok(before), Ok(after)) = (after(&history, gone, &one), after(&history, gone, &other)) else {
            forgotten += 1;
            continue;
        };
        if before.map(|version| version.output) == after.map(|version| version.output) {
            continue;
        }
        let record = |version: Option<&HistoryRecord>| version.map(|version| store.action(&version.key)).transpose();
        let between = Between {
            from: before.map(|version| version.output),
            to: after.map(|version| version.output),
            before: record(before)?.flatten(),
            after: record(after)?.flatten(),
        };
        moved.insert(label, between);
    }
    let is_made = |label: &str| session.rules.find(label).is_some() && file_path(label).is_none();
    let causes = causes(&moved, &is_made);
    let (first, last) = (one.number.min(other.number), one.number.max(other.number));
    let since = builds.iter().filter(|build| build.number > first && build.number <= last);
    let unnamed = since
        .map(|build| build.gone.count.saturating_sub(build.gone.labels.len() as u64))
        .sum();
    Ok(Ok(Difference {
        changed: moved.len(),
        new: moved.values().filter(|between| between.from.is_none()).count(),
        gone: moved.values().filter(|between| between.to.is_none()).count(),
        from: one,
        to: other,
        causes,
        forgotten,
        unnamed,
    }))
}

/// The builds that took each target away, by label, the oldest first.
fn departures(builds: &[BuildRecord]) -> BTreeMap<&str, Vec<&BuildRecord>> {
    let mut departures: BTreeMap<&str, Vec<&BuildRecord>> = BTreeMap::new();
    for build in builds {
        for label in &build.gone.labels {
            departures.entry(label).or_default().push(build);
        }
    }
    departures
}

/// The version that stood after a build, if its target had not been taken away since by one of those in `gone`; `Err` when History no
/// longer reaches back that far.
fn after<'h>(history: &'h [HistoryRecord], gone: &[&BuildRecord], build: &BuildRecord) -> Result<Option<&'h HistoryRecord>, ()> {
    let stood = |version: &&HistoryRecord| match version.build {
        Some(number) => number <= build.number,
        None => version.at <= build.ended(),
    };
    let left = gone.iter().rev().find(|left| left.number <= build.number);
    let is_gone = |version: &HistoryRecord| {
        left.is_some_and(|left| match version.build {
            Some(number) => number < left.number,
            None => version.at <= left.ended(),
        })
    };
    match history.iter().rev().find(stood) {
        Some(version) if is_gone(version) => Ok(None),
        Some(version) => Ok(Some(version)),
        None if history.first().is_some_and(|oldest| oldest.version > 1) => Err(()),
        None => Ok(None),
    }
}

/// A node that moved.
struct Between {
    from: Option<Digest>,
    to: Option<Digest>,
    before: Option<ActionRecord>,
    after: Option<ActionRecord>,
}

/// The causes of what moved. Inputs that moved themselves hand their causes on.
fn causes(moved: &BTreeMap<Arc<str>, Between>, is_made: &dyn Fn(&str) -> bool) -> Vec<Cause> {
    let mut known: BTreeMap<&Arc<str>, BTreeSet<Why>> = BTreeMap::new();
    let mut begun: BTreeSet<&Arc<str>> = BTreeSet::new();
    for start in moved.keys() {
        // Depth first with a stack of its own: a node is settled once its inputs are.
        let mut stack = vec![start];
        while let Some(&label) = stack.last() {
            if known.contains_key(label) {
                stack.pop();
                continue;
            }
            let inputs = differing(&moved[label]);
            let waiting: Vec<&Arc<str>> = inputs
                .keys()
                .filter_map(|input| moved.get_key_value(input).map(|(label, _)| label))
                .filter(|input| !known.contains_key(*input))
                .collect();
            // Records of other times may name each other; what has begun is not waited for again.
            if begun.insert(label) && !waiting.is_empty() {
                stack.extend(waiting.into_iter().filter(|input| !begun.contains(*input)));
                continue;
            }
            let found = own_causes(&moved[label], &inputs, &known, moved, is_made);
            known.insert(label, found);
            stack.pop();
        }
    }
    let mut by_cause: BTreeMap<Why, Vec<Changed>> = BTreeMap::new();
    for (label, whys) in known {
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
    let mut causes: Vec<Cause> = by_cause.into_iter().map(|(why, moved)| Cause { why, moved }).collect();
    causes.sort_by(|a, b| b.moved.len().cmp(&a.moved.len()).then_with(|| a.why.cmp(&b.why)));
    causes
}

type Inputs = BTreeMap<Arc<str>, (Option<Digest>, Option<Digest>)>;

/// The inputs that gave other things, by label.
fn differing(between: &Between) -> Inputs {
    let mut inputs = Inputs::new();
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

fn own_causes(
    between: &Between,
    inputs: &Inputs,
    known: &BTreeMap<&Arc<str>, BTreeSet<Why>>,
    moved: &BTreeMap<Arc<str>, Between>,
    is_made: &dyn Fn(&str) -> bool,
) -> BTreeSet<Why> {
    let mut whys = BTreeSet::new();
    for (label, &(from, to)) in inputs {
        match (file_path(label), known.get(label)) {
            (Some(path), _) => {
                whys.insert(Why::File { path, from, to });
            }
            (None, Some(others)) => whys.extend(others.iter().cloned()),
            (None, None) if moved.contains_key(label) => {}
            (None, None) if !is_made(label) => {
                whys.insert(Why::Set { label: label.to_string() });
            }
            // It reads what it did not read before, which is as it was.
            (None, None) if from.is_none() || to.is_none() => {}
            (None, None) => {
                whys.insert(Why::Input { label: label.to_string() });
            }
        }
        if whys.len() > CAUSES {
            return [Why::Many].into();
        }
    }
    if let (Some(before), Some(after)) = (&between.before, &between.after)
        && before.producer != after.producer
    {
        let (from, to) = (before.producer.clone(), after.producer.clone());
        whys.insert(Why::Producer { from, to });
    }
    if whys.is_empty() {
        let first = between.from.is_none() || between.to.is_none();
        whys.insert(if first { Why::New } else { Why::SameInputs });
    }
    whys
}

/// What a source file was and is, where both are still to be had.
#[derive(Clone, Debug)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// Its bytes before.
    pub from: Arc<[u8]>,
    /// Its bytes after.
    pub to: Arc<[u8]>,
}

/// Finds what files were: in the store, in the workspace, or in git's commits that are at hand. Only bytes with the wanted digest count.
pub struct Past<'a> {
    root: &'a Path,
    store: &'a dyn Store,
    world: &'a dyn World,
    commits: Vec<String>,
}

/// So many commits are looked into for one file.
const COMMITS: usize = 8;

impl<'a> Past<'a> {
    /// One that looks into the commits of these builds first, then into the one checked out, then into those of the newest builds.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn new(root: &'a Path, session: &'a Session, first: &[&BuildRecord]) -> Result<Self, StoreError> {
        let log = log(&*session.engine.store, session.engine.view)?;
        let present = git::revision(root).map(|revision| revision.commit);
        let of = |build: &BuildRecord| build.commit.clone();
        let candidates = first
            .iter()
            .filter_map(|build| of(build))
            .chain(present)
            .chain(log.iter().rev().filter_map(of));
        let mut commits: Vec<String> = Vec::new();
        for commit in candidates {
            if commits.len() < COMMITS && !commits.contains(&commit) {
                commits.push(commit);
            }
        }
        Ok(Self {
            root,
            store: &*session.engine.store,
            world: &*session.engine.world,
            commits,
        })
    }

    /// The file before and after; `None` when one of the two is nowhere.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn change(&self, path: &str, from: &Digest, to: &Digest) -> Result<Option<FileChange>, StoreError> {
        let (Some(to), Some(from)) = (self.bytes(path, to)?, self.bytes(path, from)?) else {
            return Ok(None);
        };
        let path = path.to_owned();
        Ok(Some(FileChange { path, from, to }))
    }

    fn bytes(&self, path: &str, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        if let Some(blob) = self.store.blob(digest)? {
            return Ok(Some(blob));
        }
        let present = std::iter::once_with(|| self.world.read(path).ok());
        let past = self.commits.iter().map(|commit| git::file_at(self.root, commit, path));
        let mut found = present.chain(past).flatten().filter(|bytes| Digest::of(bytes) == *digest);
        Ok(found.next().map(Into::into))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::store::records::Class;
    use engine::values::digest::ActionKey;

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

    fn told(moved: &[(&str, Between)]) -> Vec<(Why, Vec<String>)> {
        let moved = moved.iter().map(|(label, between)| {
            let Between { from, to, before, after } = between;
            let (from, to, before, after) = (*from, *to, before.clone(), after.clone());
            (Arc::from(*label), Between { from, to, before, after })
        });
        let causes = causes(&moved.collect(), &|label| !label.starts_with("//sources/"));
        let labels = |cause: &Cause| cause.moved.iter().map(|changed| changed.label.to_string()).collect();
        causes.iter().map(|cause| (cause.why.clone(), labels(cause))).collect()
    }

    #[test]
    fn causes_go_down_to_files_and_sets() {
        let file = |path: &str, from: Option<&str>, to: &str| Why::File {
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
            told(&moved),
            [
                (file("a", Some("1"), "2"), labels(&["//a:x", "//all:x"])),
                (file("b", None, "1"), labels(&["//all:x", "//b:x"])),
                (
                    Why::Set {
                        label: "//sources/s:files".to_owned()
                    },
                    labels(&["//count:x"])
                ),
                (Why::SameInputs, labels(&["//param:x"])),
                (
                    Why::Input {
                        label: "//k:gone".to_owned()
                    },
                    labels(&["//gone:x"])
                ),
            ]
        );
    }

    #[test]
    fn rings_and_long_chains_end() {
        let ring = [
            ("//a:x", between(Some(&[("//b:x", "1")]), &[("//b:x", "2")])),
            ("//b:x", between(Some(&[("//a:x", "1")]), &[("//a:x", "2")])),
        ];
        assert_eq!(told(&ring).len(), 1);
        let labels: Vec<String> = (0..50_000).map(|n| format!("//n/{n}:x")).collect();
        let chain: Vec<(&str, Between)> = labels
            .iter()
            .zip(labels.iter().skip(1).map(String::as_str).chain(["//files/f:bytes"]))
            .map(|(label, input)| (label.as_str(), between(Some(&[(input, "1")]), &[(input, "2")])))
            .collect();
        let told = told(&chain);
        assert_eq!((told.len(), told[0].1.len()), (1, 50_000));
    }

    #[test]
    fn what_stood_after_a_build() {
        let version = |version, build, at| HistoryRecord {
            version,
            key: ActionKey(digest("k")),
            output: digest(&format!("{version}")),
            at,
            build,
        };
        let build = |number, at| BuildRecord {
            number,
            at,
            ..BuildRecord::default()
        };
        let history = [version(1, Some(2), 20), version(2, None, 35), version(3, Some(4), 40)];
        let number =
            |history: &[HistoryRecord], number, at| after(history, &[], &build(number, at)).map(|found| found.map(|found| found.version));
        assert_eq!(number(&history, 1, 10), Ok(None));
        assert_eq!(number(&history, 2, 20), Ok(Some(1)));
        assert_eq!(number(&history, 3, 30), Ok(Some(1)));
        assert_eq!(number(&history, 4, 40), Ok(Some(3)));
        assert_eq!(number(&history[1..], 4, 40), Ok(Some(3)));
        assert_eq!(number(&history[1..], 2, 20), Err(()), "trimmed");
        assert_eq!(number(&history[..2], 5, 50), Ok(Some(2)), "a correction counts by its time");
        // Taken away by the third, brought again by the fourth, taken away for good by the sixth.
        let left = [build(3, 37), build(6, 60)];
        let left: Vec<&BuildRecord> = left.iter().collect();
        let number = |number, at| after(&history, &left, &build(number, at)).map(|found| found.map(|found| found.version));
        let stood = [(2, 20), (3, 37), (4, 40), (5, 50), (6, 60), (7, 70)].map(|(build, at)| number(build, at));
        assert_eq!(stood, [Ok(Some(1)), Ok(None), Ok(Some(3)), Ok(Some(3)), Ok(None), Ok(None)]);
    }
}
