//! Random edits and builds, and the checks after every build.

use super::foretold::{comes_true, foretell};
use super::naive::Naive;
use super::shape::{RULES, Shape};
use crate::toys::bench::{Bench, Built, Entry, How};
use crate::toys::board::{Board, Latest};
use crate::toys::producers::{KINDS, registry};
use crate::toys::shelf::Shelf;
use engine::build::graph_memory::GraphMemory;
use engine::build::sharing::Sharing;
use engine::files::overlaid::Documents;
use engine::seams::remote::Prefer;
use engine::store::Store;
use engine::values::digest::Digest;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const PATHS: [&str; 5] = ["docs/a.txt", "docs/b.txt", "docs/c.txt", "docs/sub/d.txt", "docs/sub/e%1.txt"];
const SETTINGS: &str = "conf/settings.txt";
const LINES: [&str; 17] = [
    "x", "y", "# one", "# two", "alpha=1", "alpha=beta", "beta=alpha", "beta=gamma", "gamma=gamma", "gamma=2", "@docs/a.txt",
    "@docs/b.txt", "@docs/sub/d.txt", "@docs/gone.txt", "@[", "FAIL", "PANIC",
];
const PATTERNS: [&[&str]; 16] = [
    &["//..."],
    &["//...", "-//doc/...:safe"],
    &["//doc/...:upper"],
    &["//doc/...:join"],
    &["//doc/...:deep"],
    &["//doc/docs/a.txt:clean"],
    &["//doc/docs/b.txt"],
    &["//index:table"],
    &["//key/...:row"],
    &["//fixed:alpha"],
    &["//over:alpha", "//fixed:first"],
    &["//over:picked"],
    &["//doc/docs/a.txt:links"],
    &["//all:*"],
    &["//pick/..."],
    &["//doc/docs/sub/...", "//fixed:settings"],
];

/// A step on the workspace.
#[derive(Clone, Debug)]
pub enum Step {
    /// Write these lines to a file.
    Write(usize, Vec<usize>),
    /// Change a comment of a file.
    Comment(usize),
    /// Rewrite a file unchanged.
    Touch(usize),
    /// Delete a file.
    Delete(usize),
    /// Rename a file.
    Rename(usize, usize),
    /// Change a parameter of a producer.
    Prefix(usize, u8),
    /// Toggle whether a producer's outputs are kept.
    Keep(usize),
    /// Change the output path of a rule.
    Out(usize, u8),
    /// Change an input of a rule.
    Choice(usize, u8),
    /// Add or remove a rule.
    Toggle(usize),
    /// Change the version of a producer.
    Version(usize, u32),
    /// Delete the store.
    NewStore,
    /// Lose one of so many blobs in the store.
    Lose(usize),
    /// Edit or delete an output file from outside.
    Tamper(usize, bool),
    /// Build everything and offer it to other machines.
    Warm,
    /// Continue on a machine without a store that begins with the results and the graph of the last warmed tree.
    OtherMachine,
    /// Continue in another process, with the graph as that process last loaded it.
    OtherProcess,
    /// Build with documents in place of files, or without some files.
    WhatIf {
        documents: Vec<(usize, Option<Vec<usize>>)>,
        patterns: usize,
    },
    /// A build.
    Build {
        patterns: usize,
        outputs: bool,
        keep_going: bool,
        stop_after: Option<usize>,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let rule = || 0..RULES;
    let file = || 0..PATHS.len() + 1;
    let lines = proptest::collection::vec(0..LINES.len(), 0..5);
    prop_oneof![
        6 => (file(), lines).prop_map(|(file, lines)| Step::Write(file, lines)),
        2 => file().prop_map(Step::Comment),
        1 => file().prop_map(Step::Touch),
        2 => file().prop_map(Step::Delete),
        2 => (file(), file()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (rule(), 0u8..3).prop_map(|(rule, prefix)| Step::Prefix(rule, prefix)),
        1 => rule().prop_map(Step::Keep),
        1 => (rule(), 0u8..3).prop_map(|(rule, out)| Step::Out(rule, out)),
        1 => (rule(), 0u8..4).prop_map(|(rule, choice)| Step::Choice(rule, choice)),
        1 => rule().prop_map(Step::Toggle),
        1 => (0..KINDS.len(), 1u32..3).prop_map(|(kind, version)| Step::Version(kind, version)),
        1 => Just(Step::NewStore),
        2 => Just(Step::OtherProcess),
        2 => Just(Step::Warm),
        2 => Just(Step::OtherMachine),
        2 => (1usize..4).prop_map(Step::Lose),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(file, remove)| Step::Tamper(file, remove)),
        3 => (proptest::collection::vec((file(), proptest::option::weighted(0.8, proptest::collection::vec(0..LINES.len(), 0..5))), 0..4), 0..PATTERNS.len())
            .prop_map(|(documents, patterns)| Step::WhatIf { documents, patterns }),
        12 => (prop_oneof![2 => Just(0), 3 => 0..PATTERNS.len()], any::<bool>(), proptest::bool::weighted(0.9), proptest::option::weighted(0.15, 0usize..40))
            .prop_map(|(patterns, outputs, keep_going, stop_after)| Step::Build { patterns, outputs, keep_going, stop_after }),
    ]
}

/// The workspace and the model's state.
struct Workspace {
    bench: Bench,
    shape: Shape,
    versions: BTreeMap<&'static str, u32>,
    /// Descriptions of everything stored so far.
    filed: BTreeSet<String>,
    /// Output files of a deleted store, which no store owns.
    orphans: BTreeSet<String>,
    /// The cache of the other machines.
    board: Board,
    /// Graph in the memory of the other process.
    other_graph: GraphMemory,
    /// Number of comments so far, so that each is different.
    comments: usize,
}

fn path(file: usize) -> &'static str {
    PATHS.get(file).copied().unwrap_or(SETTINGS)
}

impl Workspace {
    fn new(shape: Shape, files: &[Vec<usize>], jobs: usize) -> Self {
        let mut bench = Bench::new(&shape.text());
        bench.jobs = jobs;
        for (file, lines) in files.iter().enumerate() {
            bench.put(path(file), &text(lines));
        }
        Self {
            bench,
            shape,
            versions: BTreeMap::new(),
            filed: BTreeSet::new(),
            orphans: BTreeSet::new(),
            board: Board::default(),
            other_graph: GraphMemory::default(),
            comments: 0,
        }
    }

    fn forget_store(&mut self) {
        self.bench.store = Arc::new(Shelf::new());
        self.filed.clear();
        self.orphans = self.bench.world.outputs().into_keys().collect();
    }

    fn redefine(&mut self) {
        self.bench.redefine(&self.shape.text());
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let world = self.bench.world.clone();
        let bytes = |file: usize| world.sources_now().get(path(file)).cloned();
        match step {
            Step::Write(file, lines) => world.write_source(path(*file), text(lines)),
            Step::Comment(file) => {
                self.comments += 1;
                if let Some(mut bytes) = bytes(*file) {
                    bytes.extend(format!("# comment {}\n", self.comments).bytes());
                    world.write_source(path(*file), bytes);
                }
            }
            Step::Touch(file) => {
                if let Some(bytes) = bytes(*file) {
                    world.write_source(path(*file), bytes);
                }
            }
            Step::Delete(file) => drop(world.delete(path(*file))),
            Step::Rename(from, to) => {
                if let Some(bytes) = bytes(*from) {
                    world.delete(path(*from));
                    world.write_source(path(*to), bytes);
                }
            }
            Step::Prefix(rule, prefix) => self.shape.prefix[*rule] = *prefix,
            Step::Keep(rule) => self.shape.keep ^= 1 << rule,
            Step::Out(rule, out) => self.shape.out[*rule] = *out,
            Step::Choice(rule, choice) => self.shape.choice[*rule] = *choice,
            Step::Toggle(rule) => self.shape.on ^= 1 << rule,
            Step::Version(kind, version) => {
                self.versions.insert(KINDS[*kind].1, *version);
                self.bench.registry = registry(&self.versions);
            }
            Step::NewStore => self.forget_store(),
            Step::Warm => {
                let built = self.bench.build(PATTERNS[0]);
                self.check(PATTERNS[0], &How::default(), &built, None, &BTreeSet::new())?;
                if !built.report.cancelled && built.report.refused.is_empty() {
                    self.board.warm(&self.bench, &built);
                }
            }
            Step::OtherMachine => {
                self.forget_store();
                self.bench.sharing = Some(Sharing {
                    cache: Arc::new(self.board.clone()),
                    farm: None,
                    nearby: Some(Arc::new(Latest)),
                    prefer: Prefer::Fetch,
                });
                let how = How::default();
                let built = self.bench.build_as(PATTERNS[0], &how);
                self.check(PATTERNS[0], &how, &built, None, &BTreeSet::new())?;
                self.bench.sharing = None;
            }
            Step::Lose(one_in) => {
                let session = self.bench.session();
                for (_, node) in session.graph.iter() {
                    if let Some(filed) = node.result
                        && usize::from(filed.output.0[0]) % one_in == 0
                    {
                        self.bench.store.lose(filed.output);
                    }
                }
            }
            Step::Tamper(file, remove) => {
                let outputs = world.outputs();
                if let Some(path) = outputs.keys().nth(file % outputs.len().max(1)) {
                    world.tamper(path, (!remove).then(|| b"edited by hand".to_vec()));
                }
            }
            Step::OtherProcess => std::mem::swap(&mut self.bench.graphs, &mut self.other_graph),
            Step::WhatIf { documents, patterns } => return self.what_if(documents, PATTERNS[*patterns]),
            Step::Build {
                patterns,
                outputs,
                keep_going,
                stop_after,
            } => {
                let how = How {
                    keep_going: *keep_going,
                    outputs: *outputs,
                    stop_after: *stop_after,
                    ..How::default()
                };
                return self.build(PATTERNS[*patterns], &how);
            }
        }
        if matches!(
            step,
            Step::Prefix(..) | Step::Keep(_) | Step::Out(..) | Step::Choice(..) | Step::Toggle(_)
        ) {
            self.redefine();
        }
        Ok(())
    }

    /// Builds, compares with the naive builder, and checks that a second build does nothing.
    fn build(&mut self, patterns: &[&str], how: &How) -> Result<(), TestCaseError> {
        let known = self.bench.known(patterns);
        let had_blob = self.blobs_of_all();
        let foretold = foretell(&self.bench, patterns, how)?;
        let built = self.bench.build_as(patterns, how);
        let whole = how.keep_going && !built.report.cancelled;
        self.check(patterns, how, &built, known, &had_blob)?;
        if !whole {
            return Ok(());
        }
        let (manifest, versions) = (self.bench.manifest.clone(), self.versions.clone());
        comes_true(
            &foretold,
            &built,
            &mut Naive::new(&manifest, self.bench.world.sources_now(), &versions),
        )?;
        let known = self.bench.known(patterns);
        let clean = built.report.failures.is_empty() && built.report.refused.is_empty();
        prop_assert_eq!(
            known,
            clean.then_some(built.report.roots.len() as u64),
            "a whole build is known to be current"
        );
        let had_blob = self.blobs_of_all();
        let again = self.bench.build_as(patterns, how);
        self.check(patterns, how, &again, known, &had_blob)?;
        for label in again.ran() {
            prop_assert!(!had_blob.contains(label), "{} ran again although its output was kept", label);
        }
        prop_assert_eq!(again.report.written, 0, "a second build lays nothing out");
        if clean {
            prop_assert_eq!(again.marked(), Vec::<&str>::new());
        }
        if clean && how.outputs {
            self.rebuild(&again)?;
        }
        Ok(())
    }

    /// Runs the targets of a build again to compare: it ends, with the same outputs.
    fn rebuild(&mut self, built: &Built) -> Result<(), TestCaseError> {
        let labels: Vec<&str> = built.report.roots.iter().map(|root| &*root.label).collect();
        if labels.is_empty() {
            return Ok(());
        }
        let how = How {
            rebuilt: true,
            ..How::default()
        };
        let again = self.bench.build_as(&labels, &how);
        prop_assert_eq!(&again.report.failures, &Vec::new(), "made again");
        prop_assert_eq!(again.outputs(), built.outputs(), "made again");
        Ok(())
    }

    /// Builds with documents in place of files: the results equal those of such files, and the workspace stays unchanged.
    fn what_if(&mut self, documents: &[(usize, Option<Vec<usize>>)], patterns: &[&str]) -> Result<(), TestCaseError> {
        let mut sources = self.bench.world.sources_now();
        let documents: Documents = documents
            .iter()
            .map(|(file, lines)| (path(*file).to_owned(), lines.as_ref().map(|lines| text(lines).into_bytes().into())))
            .collect();
        for (path, document) in &documents {
            match document {
                Some(bytes) => drop(sources.insert(path.clone(), bytes.to_vec())),
                None => drop(sources.remove(path)),
            }
        }
        let (known, outputs) = (self.bench.known(patterns), self.bench.world.outputs());
        let stale = |bench: &Bench| bench.session().marked().len();
        let marked = stale(&self.bench);
        self.bench.documents = Some(documents);
        let foretold = foretell(&self.bench, patterns, &How::default())?;
        let built = self.bench.build(patterns);
        let had_blob = self.blobs_with(sources.clone());
        let again = self.bench.build(patterns);
        self.bench.documents = None;
        let (manifest, versions) = (self.bench.manifest.clone(), self.versions.clone());
        let mut naive = Naive::new(&manifest, sources, &versions);
        let expected = naive.roots(&self.bench.request(patterns, &How::default()).patterns);
        prop_assert_eq!(
            !built.report.refused.is_empty(),
            expected.is_none(),
            "refused: {:?}",
            built.report.refused
        );
        if let Some(expected) = expected {
            let roots: Vec<String> = built.report.roots.iter().map(|root| root.label.to_string()).collect();
            prop_assert_eq!(roots, expected);
        }
        self.check_outputs(&mut naive, &built, true)?;
        comes_true(&foretold, &built, &mut naive)?;
        for label in again.ran() {
            prop_assert!(!had_blob.contains(label), "{} ran again although its result was filed", label);
        }
        // A later build of such files finds the stored results.
        let ran = built.ran().into_iter().chain(again.ran());
        self.filed.extend(ran.filter_map(|label| Some(naive.eval(label)?.tuple.clone())));
        prop_assert_eq!(self.bench.known(patterns), known, "what is known of the files themselves");
        prop_assert_eq!(self.bench.world.outputs(), outputs, "files laid out");
        prop_assert_eq!(stale(&self.bench), marked, "marks");
        Ok(())
    }

    /// Returns the labels whose present output (by the naive builder) is in the store.
    fn blobs_of_all(&self) -> BTreeSet<String> {
        self.blobs_with(self.bench.world.sources_now())
    }

    fn blobs_with(&self, sources: BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
        let session = self.bench.session();
        let mut naive = Naive::new(&self.bench.manifest, sources, &self.versions);
        let labels = session.graph.iter().map(|(_, node)| node.label.to_string());
        labels
            .filter(|label| {
                naive
                    .eval(label)
                    .is_some_and(|made| self.bench.store.blob(&Digest::of(&made.bytes)).expect("a store").is_some())
            })
            .collect()
    }

    fn check(
        &mut self,
        patterns: &[&str],
        how: &How,
        built: &Built,
        known: Option<u64>,
        had_blob: &BTreeSet<String>,
    ) -> Result<(), TestCaseError> {
        let manifest = self.bench.manifest.clone();
        let versions = self.versions.clone();
        let mut naive = Naive::new(&manifest, self.bench.world.sources_now(), &versions);
        let expected = naive.roots(&self.bench.request(patterns, how).patterns);
        let whole = how.keep_going && !built.report.cancelled;
        if whole {
            prop_assert_eq!(
                !built.report.refused.is_empty(),
                expected.is_none(),
                "refused: {:?}",
                built.report.refused
            );
            prop_assert!(
                known.is_none() || known == expected.as_ref().map(|roots| roots.len() as u64),
                "known {:?} of {:?}",
                known,
                expected
            );
        }
        let roots: Vec<String> = built.report.roots.iter().map(|root| root.label.to_string()).collect();
        if let (Some(expected), true) = (&expected, whole) {
            prop_assert_eq!(&roots, expected);
        }
        self.check_outputs(&mut naive, built, whole)?;
        if whole && !naive.cyclic {
            let failed: BTreeSet<String> = built.report.failures.iter().filter_map(|why| why.label.clone()).collect();
            prop_assert_eq!(&failed, &naive.failed, "failures");
            prop_assert!(known.is_none() || failed.is_empty(), "known to be current, but {:?} fail", failed);
        }
        self.check_what_ran(&mut naive, built, had_blob)?;
        if whole {
            self.check_layout(&mut naive, &roots)?;
        }
        if let (&["//..."], true, true) = (patterns, whole, built.report.failures.is_empty() && built.report.refused.is_empty()) {
            let expected: BTreeMap<String, Vec<u8>> = roots
                .iter()
                .filter_map(|label| Some((naive.out(label)?, naive.eval(label)?.bytes.clone())))
                .collect();
            let mut outputs = self.bench.world.outputs();
            outputs.retain(|path, _| expected.contains_key(path) || !self.orphans.contains(path));
            prop_assert_eq!(
                outputs.keys().collect::<Vec<_>>(),
                expected.keys().collect::<Vec<_>>(),
                "files laid out"
            );
        }
        Ok(())
    }

    fn check_outputs(&self, naive: &mut Naive<'_>, built: &Built, whole: bool) -> Result<(), TestCaseError> {
        for (at, root) in built.report.roots.iter().enumerate() {
            let made = naive.eval(&root.label);
            if let Some(output) = root.output {
                prop_assert!(made.is_some(), "{} has an output, naively it has none", root.label);
                let bytes = &made.as_ref().expect("checked").bytes;
                let given = built
                    .report
                    .outputs
                    .get(at)
                    .map(|given| given.as_ref().map(|given| String::from_utf8_lossy(given).into_owned()));
                prop_assert_eq!(
                    output,
                    Digest::of(bytes),
                    "{} is {:?}, naively {:?}",
                    root.label,
                    given,
                    String::from_utf8_lossy(bytes)
                );
                if let Some(Some(given)) = built.report.outputs.get(at) {
                    prop_assert_eq!(&**given, bytes.as_slice());
                }
            } else {
                prop_assert!(
                    !whole || made.is_none(),
                    "{} has no output: {:?}",
                    root.label,
                    built.report.failures
                );
            }
            if whole && !built.report.outputs.is_empty() {
                prop_assert_eq!(built.report.outputs[at].is_some(), made.is_some(), "{}", root.label);
            }
        }
        Ok(())
    }

    /// Checks that nothing ran twice, and nothing whose result was stored, unless its blob is lost.
    fn check_what_ran(&mut self, naive: &mut Naive<'_>, built: &Built, had_blob: &BTreeSet<String>) -> Result<(), TestCaseError> {
        let mut now = BTreeSet::new();
        for entry in &built.log {
            let Entry::Ran(label, output) = entry else { continue };
            let Some(made) = naive.eval(label) else {
                return Err(TestCaseError::fail(format!("{label} ran and made something, naively it cannot")));
            };
            prop_assert_eq!(*output, Digest::of(&made.bytes), "{}", label);
            prop_assert!(now.insert(made.tuple.clone()), "{} ran twice, or two nodes of one key ran", label);
            prop_assert!(
                !self.filed.contains(&made.tuple) || !had_blob.contains(label),
                "{} ran although its result was filed",
                label
            );
        }
        self.filed.extend(now);
        Ok(())
    }

    fn check_layout(&self, naive: &mut Naive<'_>, roots: &[String]) -> Result<(), TestCaseError> {
        let outputs = self.bench.world.outputs();
        for label in roots {
            if let (Some(path), Some(made)) = (naive.out(label), naive.eval(label)) {
                prop_assert!(
                    outputs.get(&path) == Some(&made.bytes),
                    "{} is not laid out at {}: {:?}",
                    label,
                    path,
                    outputs.keys()
                );
            }
        }
        Ok(())
    }
}

fn text(lines: &[usize]) -> String {
    lines.iter().map(|&line| format!("{}\n", LINES[line])).collect()
}

/// 240 cases have some 2,900 steps: even the two rarest kinds of steps are expected to follow each other once.
#[allow(clippy::disallowed_methods, reason = "a longer run is asked for by the environment")]
fn cases() -> u32 {
    std::env::var("CORTEX_MODEL_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(240)
}

proptest! {
    #![proptest_config(Config { cases: cases(), max_shrink_iters: 4_000, failure_persistence: None, ..Config::default() })]

    #[test]
    fn incremental_builds_equal_clean_builds(
        shape in Shape::any(),
        files in proptest::collection::vec(proptest::collection::vec(0..LINES.len(), 0..5), 0..=PATHS.len() + 1),
        steps in proptest::collection::vec(step(), 1..24),
        jobs in 1usize..4,
    ) {
        let mut workspace = Workspace::new(shape, &files, jobs);
        for step in steps.iter().chain([&Step::Build { patterns: 0, outputs: true, keep_going: true, stop_after: None }]) {
            workspace.step(step).map_err(|error| TestCaseError::fail(format!("{error}, at {step:?}")))?;
        }
    }
}
