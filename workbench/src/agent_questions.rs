//! Work for agents: the targets that agents answer for, the order of the questions, their leases, and the state of each answer.

use engine::build::engine::EngineError;
use engine::build::session::Session;
use engine::manifest::model::{Manifest, ProducerDef};
use engine::manifest::template::Piece;
use engine::seams::priority::Priority;
use engine::values::label::{escape, unescape};
use engine::values::table::Table;
use producers::csharp::graph::GraphRow;
use producers::llm::{Lease, Note, Notes, Refused, SubmittedAnswer, Waiting};
use similar::TextDiff;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

/// Longest lease of a question, in seconds.
pub const LONGEST_LEASE: u64 = 86_400;

/// The table of dependencies between types.
const GRAPH: &str = "//index:graph";

/// Limit of lines shown of the changes in a question.
const MOVED_LINES: usize = 20;

/// Returns patterns of the targets that agents answer for, most of them sets; empty when no producer asks an agent.
pub fn agent_patterns(manifest: &Manifest) -> BTreeSet<String> {
    let rules = manifest.rules.iter();
    let asked = rules.filter(|rule| rule.inner.is_none() && asks_agent(&manifest.producers[rule.producer as usize]));
    asked
        .filter_map(|rule| match rule.target.pieces.last()? {
            Piece::Text(text) => Some(format!("//...:{}", text.rsplit_once(':')?.1)),
            Piece::Var(_) => None,
        })
        .collect()
}

/// Whether an agent answers for a target.
pub fn is_answered_by_agent(session: &Session, label: &str) -> bool {
    let Some(found) = session.rules.find(label) else { return false };
    let manifest = session.rules.manifest();
    asks_agent(&manifest.producers[session.rules.rule(found.rule).producer as usize])
}

fn asks_agent(producer: &ProducerDef) -> bool {
    let api = producer.params.get("model").and_then(|model| model.get("api"));
    api.is_some_and(|api| api == "agent")
}

/// Orders the questions of a build: summaries that most types depend on come first.
pub struct References;

impl Priority for References {
    fn source(&self) -> &str {
        GRAPH
    }

    fn weights(&self, output: &[u8]) -> HashMap<String, f64> {
        TypeGraph::from_table(output).weights()
    }
}

/// The types of the workspace and their dependencies, as far as they are known.
#[derive(Default)]
pub struct TypeGraph {
    rows: BTreeMap<String, GraphRow>,
}

impl TypeGraph {
    /// Reads the graph of the last build.
    pub fn from_session(session: &Session) -> Result<Self, EngineError> {
        let blob = match session.last(GRAPH)? {
            Some(last) => session.engine.store.output(&last.result.output)?,
            None => None,
        };
        Ok(blob.as_deref().map(Self::from_table).unwrap_or_default())
    }

    fn from_table(blob: &[u8]) -> Self {
        let table = Table::open(blob);
        let rows = table.iter().flat_map(|table| table.rows());
        let rows = rows.filter_map(|(key, row)| Some((key.to_owned(), serde_json::from_slice(row).ok()?)));
        Self { rows: rows.collect() }
    }

    /// Returns, by label, how much depends on each summary (seed 000 §7: references by depth).
    fn weights(&self) -> HashMap<String, f64> {
        let of = |references: f64, depth: u32| references / f64::from(1 + depth);
        let mut groups: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
        let mut weights = HashMap::new();
        for (key, row) in &self.rows {
            weights.insert(
                format!("//types/{}:semantic", escape(key)),
                of(f64::from(row.references), row.depth),
            );
            if let Some(group) = &row.group {
                let (references, depth) = groups.entry(group).or_insert((0.0, row.depth));
                *references += f64::from(row.references);
                *depth = row.depth.min(*depth);
            }
        }
        let groups = groups.into_iter();
        weights.extend(groups.map(|(group, (references, depth))| (format!("//groups/{}:semantic", escape(group)), of(references, depth))));
        weights
    }

    /// Sorts the questions by weight, highest first; equal weights by label.
    pub fn sort(&self, waiting: &mut [Waiting]) {
        let weights = self.weights();
        let weight = |label: &str| weights.get(label).copied().unwrap_or_default();
        waiting.sort_by(|a, b| weight(&b.label).total_cmp(&weight(&a.label)).then_with(|| a.label.cmp(&b.label)));
    }

    /// Returns the targets that may become ready for a question once `label` is answered, itself included.
    pub fn readers(&self, label: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::from([label.to_owned()]);
        let own = |key: &str, row: &GraphRow| match subject(label) {
            Some(Subject::Type(own)) => own == key,
            Some(Subject::Group(id)) => row.group.as_deref() == Some(&*id),
            None => false,
        };
        let own: BTreeSet<&String> = self.rows.iter().filter(|(key, row)| own(key, row)).map(|(key, _)| key).collect();
        for (key, row) in &self.rows {
            if row
                .dependencies
                .iter()
                .chain(&row.outside)
                .any(|dependency| own.contains(dependency))
            {
                found.insert(match &row.group {
                    Some(group) => format!("//groups/{}:semantic", escape(group)),
                    None => format!("//types/{}:semantic", escape(key)),
                });
            }
        }
        found
    }
}

enum Subject {
    Type(String),
    Group(String),
}

/// Returns the type or group that a summary describes.
fn subject(label: &str) -> Option<Subject> {
    let package = label.strip_suffix(":semantic")?;
    if let Some(key) = package.strip_prefix("//types/") {
        return (!key.contains('#')).then(|| Subject::Type(unescape(key)));
    }
    Some(Subject::Group(unescape(package.strip_prefix("//groups/")?)))
}

/// A question leased to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedQuestion {
    pub question: Waiting,
    /// End of the lease, in seconds since 1970.
    pub until: u64,
    /// The last answer that was refused.
    pub refused: Option<Refused>,
}

/// A request of an agent for questions.
#[derive(Clone, Copy, Debug)]
pub struct LeaseRequest<'a> {
    /// Name of the agent; empty when it gives none. A named agent first gets again the questions that it has leased.
    pub agent: &'a str,
    /// Most questions to hand out.
    pub count: usize,
    /// Length of the lease, in seconds.
    pub seconds: u64,
    /// Seconds since 1970.
    pub now: u64,
}

/// Leases the first questions that no other agent has leased. Fails when a lease cannot be noted; leases noted before stay.
pub fn lease_questions(notes: &Notes, waiting: &[Waiting], request: LeaseRequest<'_>) -> io::Result<Vec<LeasedQuestion>> {
    let mut found = Vec::new();
    for question in waiting {
        let note = notes.read_note(&question.id)?.unwrap_or_default();
        match holder(&note, request.now) {
            Some(lease) if request.agent.is_empty() || lease.agent != request.agent => {}
            holder => found.push((holder.is_none(), question, note)),
        }
    }
    // Questions that the agent has leased already come first; the others keep their order.
    found.sort_by_key(|(new, _, _)| *new);
    let until = request.now.saturating_add(request.seconds.min(LONGEST_LEASE));
    let mut taken = Vec::new();
    for (_, question, note) in found.into_iter().take(request.count) {
        let note = Note {
            label: question.label.clone(),
            patch: question.patch,
            asked: question.user.clone(),
            lease: Some(Lease {
                agent: request.agent.to_owned(),
                until,
            }),
            ..note
        };
        notes.note_question(&question.id, &note)?;
        taken.push(LeasedQuestion {
            question: question.clone(),
            until,
            refused: note.refused,
        });
    }
    Ok(taken)
}

/// Returns the valid lease of a question. A lease that ends too late was written under another clock and does not count.
pub fn holder(note: &Note, now: u64) -> Option<&Lease> {
    let lease = note.lease.as_ref()?;
    (lease.until > now && lease.until - now <= LONGEST_LEASE).then_some(lease)
}

/// Result of handing in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handed {
    /// The answer is noted, durably; the next build of the target finds it.
    Noted(Note),
    /// The question already has an answer.
    Before(Note),
    /// No such question was leased.
    Unknown,
}

pub fn hand_in(notes: &Notes, id: &str, given: SubmittedAnswer) -> io::Result<Handed> {
    let Some(mut note) = notes.read_note(id)? else {
        return Ok(Handed::Unknown);
    };
    if note.answer.is_some() {
        return Ok(Handed::Before(note));
    }
    note.answer = Some(given);
    note.lease = None;
    notes.note_question(id, &note)?;
    Ok(Handed::Noted(note))
}

/// Returns the lines that differ between a question as it was leased and as it is now.
pub fn changed_lines(then: &str, now: &str) -> String {
    let diff = TextDiff::from_lines(then, now);
    let lines: Vec<String> = diff
        .iter_all_changes()
        .filter_map(|change| match change.tag() {
            similar::ChangeTag::Equal => None,
            tag => Some(format!("{tag}{}", change.value().trim_end())),
        })
        .collect();
    let more = lines.len().saturating_sub(MOVED_LINES);
    let mut text = lines.into_iter().take(MOVED_LINES).collect::<Vec<_>>().join("\n");
    if more > 0 {
        text.push_str(&format!("\n… {more} lines more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use producers::llm::{Count, Limits, Runtime};

    fn question(id: u8, label: &str) -> Waiting {
        Waiting {
            id: format!("{id:016x}"),
            label: label.to_owned(),
            patch: false,
            why: String::new(),
            system: String::new(),
            user: "line one\nline two\n".to_owned(),
            max_tokens: 9,
            tokens: Count::default(),
        }
    }

    fn ids(taken: &[LeasedQuestion]) -> Vec<&str> {
        taken.iter().map(|taken| taken.question.id.trim_start_matches('0')).collect()
    }

    #[test]
    fn a_leased_question_is_not_given_out_until_the_lease_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = Runtime::new(Limits::default(), folder.path());
        let notes = runtime.agents().notes();
        let waiting: Vec<Waiting> = (1..=4).map(|id| question(id, "//types/A:semantic")).collect();
        let come = |agent: &str, count: usize, now: u64| {
            let request = LeaseRequest {
                agent,
                count,
                seconds: 60,
                now,
            };
            lease_questions(notes, &waiting, request).expect("noted")
        };
        assert_eq!(ids(&come("ann", 2, 100)), ["1", "2"]);
        assert_eq!(ids(&come("bob", 1, 110)), ["3"]);
        assert_eq!(ids(&come("ann", 1, 120)), ["1"], "who comes again gets what he has");
        assert_eq!(ids(&come("", 1, 120)), ["4"]);
        assert_eq!(ids(&come("", 1, 120)), [""; 0], "who has no name has nothing of his own");
        assert_eq!(ids(&come("bob", 9, 161)), ["3", "2"], "his own, and what nobody has any more");
        assert_eq!(ids(&come("eve", 9, 500_000)), ["1", "2", "3", "4"]);
        assert_eq!(
            ids(&come("bob", 9, 100)),
            ["1", "2", "3", "4"],
            "a clock that went back by days holds nothing"
        );
    }

    #[test]
    fn the_first_answer_counts_and_what_was_never_asked_has_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = Runtime::new(Limits::default(), folder.path());
        let notes = runtime.agents().notes();
        let given = |agent: &str| SubmittedAnswer {
            agent: agent.to_owned(),
            at: 1,
            text: "t".to_owned(),
        };
        let asked = question(7, "//types/A:semantic");
        assert_eq!(hand_in(notes, &asked.id, given("ann")).expect("read"), Handed::Unknown);
        let request = LeaseRequest {
            agent: "ann",
            count: 1,
            seconds: 60,
            now: 1,
        };
        lease_questions(notes, std::slice::from_ref(&asked), request).expect("noted");
        assert!(matches!(hand_in(notes, &asked.id, given("ann")).expect("noted"), Handed::Noted(note) if note.lease.is_none()));
        let before = hand_in(notes, &asked.id, given("bob")).expect("read");
        assert!(matches!(before, Handed::Before(note) if note.answer == Some(given("ann"))));
    }

    #[test]
    fn questions_with_most_readers_come_first() {
        let row = |references, depth, group: Option<&str>, dependencies: &[&str]| GraphRow {
            references,
            depth,
            group: group.map(str::to_owned),
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            ..GraphRow::default()
        };
        let mut grouped = row(2, 1, Some("G_1"), &[]);
        grouped.outside = vec!["N.A".to_owned()];
        let known = TypeGraph {
            rows: BTreeMap::from([
                ("N.A".to_owned(), row(3, 0, None, &[])),
                ("N.B".to_owned(), row(9, 3, None, &["N.A"])),
                ("N.C".to_owned(), grouped.clone()),
                ("N.D".to_owned(), grouped),
                ("N.E".to_owned(), row(0, 2, None, &["N.C"])),
            ]),
        };
        let labels = ["//x:y", "//types/N.B:semantic", "//types/N.A:semantic", "//groups/G_1:semantic"];
        let mut waiting: Vec<Waiting> = labels.iter().zip(1..).map(|(label, id)| question(id, label)).collect();
        known.sort(&mut waiting);
        let order: Vec<&str> = waiting.iter().map(|waiting| waiting.label.as_str()).collect();
        // 3/1, (2 + 2)/2, 9/4.
        assert_eq!(order, [labels[2], labels[1], labels[3], labels[0]]);
        let readers = |label: &str| known.readers(label).into_iter().collect::<Vec<_>>();
        assert_eq!(readers(labels[2]), [labels[3], labels[2], labels[1]]);
        assert_eq!(readers(labels[3]), [labels[3], "//types/N.E:semantic"]);
        assert_eq!(readers("//x:y"), ["//x:y"]);
    }

    #[test]
    fn changed_lines_are_shown_up_to_a_limit() {
        assert_eq!(changed_lines("a\nb\n", "a\nc\n"), "-b\n+c");
        let long: String = (0..100).map(|line| format!("{line}\n")).collect();
        assert!(changed_lines(&long, "").ends_with("-19\n… 80 lines more"));
    }
}
