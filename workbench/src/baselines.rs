//! Baselines: what caches of files would have asked after the edits that the log of builds has.
//!
//! Questions of models are counted. The others are estimates, from sizes of present files, the average new answer in the ledger, and the types and
//! readers in the present graph. A file whose content was asked about before asks nothing, as it would hit a cache of files. First builds, builds that
//! planned everything anew, and builds after very many changes are not compared.

use crate::build_log::build_at;
use crate::paid::group_of;
use engine::build::file_label;
use engine::build::session::Session;
use engine::seams::paid::Spent;
use engine::store::builds::{Answers, BuildRecord};
use engine::store::ledger::{LedgerEntry, Outcome};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Bytes per token of a file's text, in tenths.
const TENTHS_OF_BYTES: u64 = 33;

/// Tokens of the instructions in each question, as in `scripts/bench-llm.sh`.
const INSTRUCTIONS: u64 = 170;

/// Calls and tokens, sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Questions {
    /// Calls of a model.
    pub calls: u64,
    /// Tokens sent and received.
    pub tokens: u64,
}

/// What models were asked for summaries after edits, and estimates of what caches of files would have asked after the same edits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baselines {
    /// What was asked, with the original cost of stored answers about edited code.
    pub asked: Questions,
    /// One question per changed file: its text in, summaries of its types out.
    pub files: Questions,
    /// New summaries of all types of changed files.
    pub types: Questions,
    /// New summaries of these types, and of all types in files with a direct or indirect reader of them.
    pub readers: Questions,
}

impl Questions {
    fn from_spent(spent: &Spent) -> Self {
        Self {
            calls: u64::from(spent.calls),
            tokens: spent.input_tokens.saturating_add(spent.output_tokens),
        }
    }

    fn add_questions(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens = self.tokens.saturating_add(other.tokens);
    }
}

impl Baselines {
    /// Adds the questions of another build.
    pub(crate) fn add_build(&mut self, other: &Self) {
        self.asked.add_questions(&other.asked);
        self.files.add_questions(&other.files);
        self.types.add_questions(&other.types);
        self.readers.add_questions(&other.readers);
    }
}

/// The types of the code, by the labels of their summaries, and files, by the labels of their parses.
pub(crate) trait TypeGraph {
    /// Returns the summaries of the types in a file.
    fn types_in(&self, file: &str) -> Vec<String>;

    /// Returns the files that declare a type.
    fn files_of(&self, summary: &str) -> Vec<String>;

    /// Returns the summaries that are written from a summary.
    fn summaries_from(&self, summary: &str) -> Vec<String>;

    /// Returns the target that asks for a summary: its own, or that of a group of types.
    fn question_of(&self, summary: &str) -> String;

    /// Returns the length of a file in bytes.
    fn bytes_of(&self, path: &str) -> Option<u64>;
}

/// Compares the builds of the log; returns the questions of each that asked, with its place in the log.
pub(crate) fn compare_builds(code: &dyn TypeGraph, builds: &[BuildRecord], entries: &[LedgerEntry]) -> Vec<(usize, Baselines)> {
    let Some(answers) = NewAnswers::from_entries(entries) else {
        return Vec::new();
    };
    let mut by_build: BTreeMap<usize, Vec<&LedgerEntry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| is_summary(&entry.label)) {
        if let Some(at) = build_at(builds, entry.at) {
            by_build.entry(at).or_default().push(entry);
        }
    }
    let mut edits = Edits::default();
    let mut reach = Reach::new(code);
    let mut edited: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    for (at, build) in builds.iter().enumerate() {
        let is_known = edits.add_changes(build);
        if build.answers == Answers::default() && build.saved.is_none() {
            continue;
        }
        let paths = edits.take_pending();
        if !is_known {
            continue;
        }
        let (mut counted, now) = estimate(&mut reach, &paths, &answers);
        for entry in by_build.get(&at).into_iter().flatten() {
            // Stored answers count if a cache of files would not have them, and new ones if they are not first answers about code as it was.
            let is_compared = match entry.outcome {
                Outcome::Saved => now.contains(&entry.label),
                Outcome::Full => now.contains(&entry.label) || edited.contains(&entry.label),
                Outcome::Patch | Outcome::Unchanged | Outcome::Rejected => true,
            };
            if is_compared {
                counted.asked.add_questions(&Questions::from_spent(&entry.spent));
            }
        }
        edited.extend(now);
        if counted != Baselines::default() {
            found.push((at, counted));
        }
    }
    found
}

/// Estimates the questions about changed files; also returns the targets that ask for summaries of their types and of all readers.
fn estimate(reach: &mut Reach<'_>, paths: &BTreeSet<String>, answers: &NewAnswers) -> (Baselines, HashSet<String>) {
    let mut counted = Baselines::default();
    let mut changed = BTreeSet::new();
    for path in paths {
        let label = file_label(path);
        let file = format!("{}:syntax", label.strip_suffix(":bytes").unwrap_or(&label));
        let types = reach.types_in(&file);
        let Some(bytes) = reach.code.bytes_of(path).filter(|_| !types.is_empty()) else {
            continue;
        };
        let answer = answers.output_tokens.saturating_mul(types.len() as u64);
        counted.files.add_questions(&Questions {
            calls: 1,
            tokens: bytes * 10 / TENTHS_OF_BYTES + INSTRUCTIONS + answer,
        });
        changed.extend(types);
    }
    let (types, _) = reach.new_summaries(&changed, answers);
    let reached = reach.readers_of(&changed);
    let (readers, labels) = reach.new_summaries(&reached, answers);
    (Baselines { types, readers, ..counted }, labels)
}

/// Whether a label is that of a summary of a type or of a group of types.
fn is_summary(label: &str) -> bool {
    let package = label.strip_suffix(":semantic").unwrap_or_default();
    (package.starts_with("//types/") || package.starts_with("//groups/")) && !package.contains('#')
}

/// Changed files since the last build that asked.
#[derive(Default)]
struct Edits {
    /// Contents that a build had when it asked, by path.
    asked: HashSet<(String, u64)>,
    /// Last contents of the changed files, by path.
    pending: BTreeMap<String, u64>,
}

impl Edits {
    /// Adds the changes that a build found; returns whether the log has them.
    fn add_changes(&mut self, build: &BuildRecord) -> bool {
        for file in build.changed.iter().flatten() {
            let before = self.pending.insert(file.path.clone(), file.to);
            let from = file.from.filter(|_| before.is_none());
            self.asked.extend(from.map(|from| (file.path.clone(), from)));
        }
        build.changed.is_some()
    }

    /// Returns the changed files with a content that no build had before when it asked.
    fn take_pending(&mut self) -> BTreeSet<String> {
        let pending = std::mem::take(&mut self.pending).into_iter();
        let new = pending.filter(|(path, content)| self.asked.insert((path.clone(), *content)));
        new.map(|(path, _)| path).collect()
    }
}

/// Costs of new answers in the ledger.
struct NewAnswers {
    by_label: HashMap<String, Questions>,
    /// Average tokens of an answer about a type, sent and received.
    tokens: u64,
    /// Average tokens received.
    output_tokens: u64,
}

impl NewAnswers {
    /// Returns the costs; `None` if the ledger has no new answer about a single type.
    fn from_entries(entries: &[LedgerEntry]) -> Option<Self> {
        let is_new = |entry: &&LedgerEntry| {
            let is_whole = entry.outcome == Outcome::Full || entry.outcome == Outcome::Saved && entry.spent.whole_tokens == 0;
            is_whole && is_summary(&entry.label) && entry.spent.output_tokens > 0
        };
        let mut by_label = HashMap::new();
        let (mut number, mut tokens, mut output_tokens) = (0_u64, 0, 0);
        for entry in entries.iter().filter(is_new) {
            // Of questions in one call, one has the call.
            let mut cost = Questions::from_spent(&entry.spent);
            cost.calls = cost.calls.max(1);
            if entry.label.starts_with("//types/") {
                (number, tokens, output_tokens) = (number + 1, tokens + cost.tokens, output_tokens + entry.spent.output_tokens);
            }
            by_label.insert(entry.label.clone(), cost);
        }
        (number > 0).then(|| Self {
            by_label,
            tokens: tokens / number,
            output_tokens: output_tokens / number,
        })
    }
}

/// Walks from changed types to the types that a cache of files makes anew with them.
struct Reach<'c> {
    code: &'c dyn TypeGraph,
    numbers: HashMap<String, usize>,
    types: Vec<ReachedType>,
}

struct ReachedType {
    summary: String,
    question: String,
    /// Types in its files, and types whose summary is written from its own; `None` before the first walk.
    next: Option<Vec<usize>>,
}

impl<'c> Reach<'c> {
    fn new(code: &'c dyn TypeGraph) -> Self {
        Self {
            code,
            numbers: HashMap::new(),
            types: Vec::new(),
        }
    }

    fn number_of(&mut self, summary: String) -> usize {
        if let Some(number) = self.numbers.get(&summary) {
            return *number;
        }
        let number = self.types.len();
        self.types.push(ReachedType {
            question: self.code.question_of(&summary),
            summary: summary.clone(),
            next: None,
        });
        self.numbers.insert(summary, number);
        number
    }

    fn types_in(&mut self, file: &str) -> Vec<usize> {
        let types = self.code.types_in(file);
        types.into_iter().map(|summary| self.number_of(summary)).collect()
    }

    fn next_of(&mut self, number: usize) -> Vec<usize> {
        if let Some(next) = &self.types[number].next {
            return next.clone();
        }
        let summary = self.types[number].summary.clone();
        let mut next = Vec::new();
        for file in self.code.files_of(&summary) {
            next.extend(self.types_in(&file));
        }
        for reader in self.code.summaries_from(&summary) {
            next.push(self.number_of(reader));
        }
        next.sort_unstable();
        next.dedup();
        self.types[number].next = Some(next.clone());
        next
    }

    /// Returns these types and all that a cache of files makes anew with them.
    fn readers_of(&mut self, changed: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut reached = changed.clone();
        let mut open: Vec<usize> = changed.iter().copied().collect();
        while let Some(number) = open.pop() {
            for next in self.next_of(number) {
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
        reached
    }

    /// Returns the cost of new summaries of these types, and the targets that ask for them.
    fn new_summaries(&self, numbers: &BTreeSet<usize>, answers: &NewAnswers) -> (Questions, HashSet<String>) {
        let mut members: HashMap<&str, u64> = HashMap::new();
        for number in numbers {
            *members.entry(&self.types[*number].question).or_default() += 1;
        }
        let mut cost = Questions::default();
        for (question, members) in &members {
            let average = Questions {
                calls: 1,
                tokens: answers.tokens.saturating_mul(*members),
            };
            cost.add_questions(answers.by_label.get(*question).unwrap_or(&average));
        }
        (cost, members.into_keys().map(str::to_owned).collect())
    }
}

/// Returns the label of a type's summary, from that of another target of the type.
fn summary_label(label: &str, target: &str) -> Option<String> {
    let package = label.strip_suffix(target).filter(|package| package.starts_with("//types/"))?;
    Some(format!("{package}:semantic"))
}

/// Returns the labels of the readers of a node.
fn labels_of_readers<'s>(session: &'s Session, label: &str) -> impl Iterator<Item = &'s str> {
    let readers = session.graph.find(label).into_iter().flat_map(move |id| session.links.readers(id));
    readers.filter_map(move |id| session.graph.get(id)).map(|node| &*node.label)
}

impl TypeGraph for Session {
    fn types_in(&self, file: &str) -> Vec<String> {
        let types: BTreeSet<String> = labels_of_readers(self, file)
            .filter_map(|label| summary_label(label, ":complete"))
            .collect();
        types.into_iter().filter(|summary| self.graph.find(summary).is_some()).collect()
    }

    fn files_of(&self, summary: &str) -> Vec<String> {
        let complete = summary.strip_suffix(":semantic").map(|package| format!("{package}:complete"));
        let node = complete.and_then(|label| self.graph.find(&label)).and_then(|id| self.graph.get(id));
        let labels: BTreeSet<String> = node
            .into_iter()
            .flat_map(|node| node.reads())
            .filter_map(|id| self.graph.get(id))
            .map(|node| node.label.to_string())
            .filter(|label| label.starts_with("//files/") && label.ends_with(":syntax"))
            .collect();
        labels.into_iter().collect()
    }

    fn summaries_from(&self, summary: &str) -> Vec<String> {
        let role = summary.strip_suffix(":semantic").map(|package| format!("{package}:role"));
        let mut summaries = Vec::new();
        for reader in role.iter().flat_map(|role| labels_of_readers(self, role)) {
            if reader.starts_with("//groups/") {
                summaries.extend(labels_of_readers(self, reader).filter_map(|label| summary_label(label, ":semantic")));
            } else {
                summaries.extend(summary_label(reader, ":semantic"));
            }
        }
        summaries
    }

    fn question_of(&self, summary: &str) -> String {
        group_of(self, summary).unwrap_or_else(|| summary.to_owned())
    }

    fn bytes_of(&self, path: &str) -> Option<u64> {
        Some(self.engine.world.read(path).ok()?.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::store::builds::ChangedFile;

    /// `A.cs` declares A and A2; `B.cs` declares B, whose summary is written from that of A.
    struct ThreeTypes;

    impl TypeGraph for ThreeTypes {
        fn types_in(&self, file: &str) -> Vec<String> {
            match file {
                "//files/A.cs:syntax" => vec![summary("A"), summary("A2")],
                "//files/B.cs:syntax" => vec![summary("B")],
                _ => Vec::new(),
            }
        }

        fn files_of(&self, of: &str) -> Vec<String> {
            let file = if of == summary("B") { "B" } else { "A" };
            vec![format!("//files/{file}.cs:syntax")]
        }

        fn summaries_from(&self, of: &str) -> Vec<String> {
            if of == summary("A") { vec![summary("B")] } else { Vec::new() }
        }

        fn question_of(&self, of: &str) -> String {
            of.to_owned()
        }

        fn bytes_of(&self, _: &str) -> Option<u64> {
            Some(330)
        }
    }

    fn summary(name: &str) -> String {
        format!("//types/{name}:semantic")
    }

    fn entry(at: u64, name: &str, outcome: Outcome, tokens: u64) -> LedgerEntry {
        LedgerEntry {
            at,
            label: summary(name),
            outcome,
            spent: Spent {
                calls: 1,
                input_tokens: tokens,
                output_tokens: 10,
                ..Spent::default()
            },
            took_us: 1,
        }
    }

    fn build(at: u64, changed: Option<Vec<ChangedFile>>, asks: bool) -> BuildRecord {
        let answers = Answers {
            full: u64::from(asks),
            ..Answers::default()
        };
        BuildRecord {
            number: at,
            at,
            spent: asks.then(Spent::default),
            answers,
            changed,
            ..BuildRecord::default()
        }
    }

    fn change(path: &str, from: u64, to: u64) -> Option<Vec<ChangedFile>> {
        Some(vec![ChangedFile {
            path: path.to_owned(),
            from: Some(from),
            to,
        }])
    }

    #[test]
    fn an_edit_is_compared_with_its_file_its_types_and_their_readers() {
        let builds = [
            build(1, None, true),
            build(2, change("A.cs", 1, 2), false),
            build(3, Some(Vec::new()), true),
        ];
        let entries = [
            entry(1, "A", Outcome::Full, 90),
            entry(1, "B", Outcome::Full, 190),
            entry(3, "A", Outcome::Patch, 20),
            // First answer about a type that no edit reaches.
            entry(3, "C", Outcome::Full, 90),
        ];
        let found = compare_builds(&ThreeTypes, &builds, &entries);
        let questions = |calls, tokens| Questions { calls, tokens };
        let expected = Baselines {
            asked: questions(1, 30),
            files: questions(1, 100 + INSTRUCTIONS + 2 * 10),
            // A2 has no new answer and costs the average of A, B and C.
            types: questions(2, 100 + 133),
            readers: questions(3, 100 + 133 + 200),
        };
        assert_eq!(found, [(2, expected)]);
    }

    #[test]
    fn content_that_was_seen_before_asks_nothing() {
        let builds = [
            build(1, None, true),
            build(2, change("B.cs", 1, 2), true),
            build(3, change("B.cs", 2, 1), true),
            build(4, change("none.cs", 1, 2), true),
            // An edit that is taken back before anything is asked, and its content once more.
            build(5, change("B.cs", 1, 3), false),
            build(6, change("B.cs", 3, 1), false),
            build(7, Some(Vec::new()), true),
            build(8, change("B.cs", 1, 3), true),
            // A build that is not compared asks about the edit before it.
            build(9, change("B.cs", 3, 4), false),
            build(10, None, true),
            build(11, Some(Vec::new()), true),
        ];
        let entries = [entry(1, "B", Outcome::Full, 90), entry(3, "B", Outcome::Saved, 90)];
        let found = compare_builds(&ThreeTypes, &builds, &entries);
        let files: Vec<(usize, u64)> = found.iter().map(|(at, counted)| (*at, counted.files.calls)).collect();
        assert_eq!(files, [(1, 1), (7, 1)]);
        assert!(compare_builds(&ThreeTypes, &builds, &[]).is_empty());
    }
}
