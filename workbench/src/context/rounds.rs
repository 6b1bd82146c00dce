//! The rounds of a conversation: query, named files and types, shown types. Pure; [`super::stored_conversations`] stores conversations.

use super::relevance_factors::figure;
use super::words::distinct;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Number of rounds that are kept whole; of earlier ones only the shown types are known.
pub const REMEMBERED: usize = 20;
/// Limit of types whose showing is recorded.
const SEEN: usize = 512;

/// Weight of the words that a round and a query share, in the round's relevance.
const WORDS: f32 = 0.5;
/// Weight of the files that both name.
const FILES: f32 = 0.3;
/// Weight of the round's recency.
const TIME: f32 = 0.2;
/// Factor by which the recency fades with each further round.
const FADES: f32 = 0.8;
/// Rounds below this relevance leave nothing to inherit.
const THRESHOLD: f32 = 0.4;
/// Number of last rounds that can lower the threshold, and the average relevance needed with the lowered threshold.
const RECENT: usize = 3;
const LOWERED: [(f32, f32); 2] = [(0.6, 0.3), (0.5, 0.35)];
/// Limit of inherited types.
pub const MOST_INHERITED: usize = 20;

/// A type that was shown, with its score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownType {
    pub path: String,
    /// Score of the type, as reported.
    pub score: f32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Round {
    /// Number of the round, from 1.
    pub number: u64,
    pub query: String,
    /// Files that the query or its answer names.
    pub files: Vec<String>,
    /// Types that the query or its answer names.
    pub types: Vec<String>,
    /// Types that were inherited from an earlier round.
    pub inherited: Vec<ShownType>,
    /// Types that were shown for the query itself.
    pub new: Vec<ShownType>,
}

/// Record of a type that was shown or named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenType {
    /// Number of times that the type was shown or named.
    pub times: u32,
    /// Number of the last round that showed or named the type.
    pub last: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conversation {
    pub id: String,
    /// Number of the conversation's last use, among the uses of all conversations of the checkout.
    pub used: u64,
    /// Number of rounds so far, dropped ones included.
    pub count: u64,
    /// The last rounds, oldest first.
    pub rounds: Vec<Round>,
    /// Types that were shown or named.
    pub seen: BTreeMap<String, SeenType>,
}

/// A type that is inherited from an earlier round.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Inherited {
    /// The number of the round.
    pub round: u64,
    /// Relevance of that round to this query.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub relevance: f32,
    /// Score of the type there.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub score: f32,
}

/// The types that a query inherits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inheritance {
    /// The least relevance of a round that counted.
    pub threshold: f32,
    /// The types, by key.
    pub types: BTreeMap<String, Inherited>,
}

/// The parts of a query by which rounds are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedQuery {
    words: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl ComparedQuery {
    /// Creates the parts of a query that names these files.
    pub fn new(query: &str, files: &[String]) -> Self {
        Self {
            words: distinct(query).into_iter().collect(),
            files: files.iter().cloned().collect(),
        }
    }

    /// Returns the relevance of a round, `ago` rounds back (1 for the last one).
    fn relevance(&self, round: &Round, ago: usize) -> f32 {
        let before = Self::new(&round.query, &round.files);
        let time = FADES.powi(i32::try_from(ago.saturating_sub(1)).unwrap_or(i32::MAX));
        WORDS * overlap(&self.words, &before.words) + FILES * overlap(&self.files, &before.files) + TIME * time
    }
}

/// Returns the share of common elements of two sets in their union.
fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f32 {
    let both = one.intersection(other).count();
    let all = one.len() + other.len() - both;
    if all == 0 { 0.0 } else { both as f32 / all as f32 }
}

impl Conversation {
    /// Returns the types that a query inherits from the rounds so far.
    pub fn inheritance(&self, asked: &ComparedQuery) -> Inheritance {
        let rounds: Vec<(&Round, f32)> = self
            .rounds
            .iter()
            .rev()
            .zip(1..)
            .map(|(round, ago)| (round, asked.relevance(round, ago)))
            .collect();
        let recent = &rounds[..rounds.len().min(RECENT)];
        let mean = recent.iter().map(|(_, relevance)| relevance).sum::<f32>() / recent.len().max(1) as f32;
        let threshold = LOWERED
            .iter()
            .find(|(least, _)| mean >= *least)
            .map_or(THRESHOLD, |(_, lowered)| *lowered);
        let mut left: BTreeMap<&str, Inherited> = BTreeMap::new();
        for (round, relevance) in rounds.into_iter().filter(|(_, relevance)| *relevance >= threshold) {
            for shown in round.new.iter().chain(&round.inherited) {
                let inherited = Inherited {
                    round: round.number,
                    relevance,
                    score: shown.score,
                };
                let known = left.entry(&shown.path).or_insert_with(|| inherited.clone());
                if inherited.relevance * inherited.score > known.relevance * known.score {
                    *known = inherited;
                }
            }
        }
        let mut types: Vec<(&str, Inherited)> = left.into_iter().collect();
        types.sort_by(|(one, first), (other, second)| {
            let by_worth = (second.relevance * second.score).total_cmp(&(first.relevance * first.score));
            by_worth.then(one.cmp(other))
        });
        types.truncate(MOST_INHERITED);
        Inheritance {
            threshold,
            types: types.into_iter().map(|(path, from)| (path.to_owned(), from)).collect(),
        }
    }

    /// Adds a round and returns its new number.
    pub fn add_round(&mut self, mut round: Round) -> u64 {
        self.count += 1;
        round.number = self.count;
        let shown = round.new.iter().chain(&round.inherited).map(|shown| &shown.path);
        for path in shown.chain(&round.types) {
            let seen = self.seen.entry(path.clone()).or_default();
            seen.times = seen.times.saturating_add(1);
            seen.last = self.count;
        }
        if self.seen.len() > SEEN {
            let mut lasts: Vec<u64> = self.seen.values().map(|seen| seen.last).collect();
            lasts.sort_unstable_by(|one, other| other.cmp(one));
            let oldest = lasts[SEEN - 1];
            self.seen.retain(|_, seen| seen.last >= oldest);
        }
        self.rounds.push(round);
        let forgotten = self.rounds.len().saturating_sub(REMEMBERED);
        self.rounds.drain(..forgotten);
        self.count
    }

    /// Adds the types and files that the answer names to a round: a later query that names them is about the same.
    pub fn end_round(&mut self, number: u64, types: &[String], files: &[String]) {
        let Some(round) = self.rounds.iter_mut().find(|round| round.number == number) else {
            return;
        };
        for (known, named) in [(&mut round.types, types), (&mut round.files, files)] {
            known.extend_from_slice(named);
            known.sort();
            known.dedup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round(query: &str, files: &[&str], shown: &[(&str, f32)]) -> Round {
        Round {
            query: query.to_owned(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            new: shown
                .iter()
                .map(|(path, score)| ShownType {
                    path: (*path).to_owned(),
                    score: *score,
                })
                .collect(),
            ..Round::default()
        }
    }

    fn inherited(conversation: &Conversation, query: &str, files: &[&str]) -> (f32, Vec<String>) {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let found = conversation.inheritance(&ComparedQuery::new(query, &files));
        (found.threshold, found.types.into_keys().collect())
    }

    #[test]
    fn a_round_is_relevant_by_words_files_and_time() {
        let before = round("evict cache entries", &["src/Cache.cs"], &[]);
        let relevance = |query: &str, files: &[&str], ago| {
            let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
            ComparedQuery::new(query, &files).relevance(&before, ago)
        };
        let near = |one: f32, other: f32| assert!((one - other).abs() < 1e-6, "{one} {other}");
        near(relevance("evict cache entries", &["src/Cache.cs"], 1), 1.0);
        near(relevance("evict cache entries", &[], 1), 0.7);
        near(relevance("quite another matter", &["src/Cache.cs"], 1), 0.5);
        near(relevance("quite another matter", &[], 1), 0.2);
        near(relevance("quite another matter", &[], 3), 0.128);
        near(relevance("evict nodes", &[], 1), 0.5 / 4.0 + 0.2);
    }

    #[test]
    fn inherited_types_depend_on_the_threshold() {
        let mut conversation = Conversation::default();
        assert_eq!(inherited(&conversation, "anything", &[]), (0.4, vec![]));
        conversation.add_round(round("cache eviction order", &[], &[("A", 0.9), ("B", 0.5)]));
        assert_eq!(
            inherited(&conversation, "render markdown", &[]),
            (THRESHOLD, vec![]),
            "another topic"
        );
        // Two of four words: 0.25 + 0.2.
        assert_eq!(inherited(&conversation, "cache eviction tests", &[]).1, ["A", "B"]);
        // One of three: 0.17 + 0.2.
        assert_eq!(inherited(&conversation, "cache", &[]), (0.4, vec![]));
        // 0.7 on average lowers the threshold.
        assert_eq!(inherited(&conversation, "cache eviction order", &[]).0, 0.3);
        conversation.add_round(round("render markdown", &[], &[("C", 0.9)]));
        let (threshold, types) = inherited(&conversation, "cache eviction order", &[]);
        // The rounds have 0.66 and 0.2 now.
        assert_eq!((threshold, types), (THRESHOLD, vec!["A".to_owned(), "B".to_owned()]));
    }

    #[test]
    fn files_that_an_answer_names_make_its_round_relevant() {
        let mut conversation = Conversation::default();
        let number = conversation.add_round(round("cache eviction", &[], &[("A", 0.9)]));
        assert_eq!(inherited(&conversation, "other words", &["src/Cache.cs"]).1, Vec::<String>::new());
        let files = ["src/Cache.cs".to_owned()];
        conversation.end_round(number, &[], &files);
        conversation.end_round(number, &[], &files);
        conversation.end_round(9, &[], &files);
        assert_eq!(conversation.rounds[0].files, files);
        assert_eq!(inherited(&conversation, "other words", &["src/Cache.cs"]).1, ["A"]);
    }

    #[test]
    fn no_more_than_twenty_are_inherited_and_the_best_of_them() {
        let names: Vec<String> = (0..40).map(|number| format!("T{number:02}")).collect();
        let shown: Vec<(&str, f32)> = names
            .iter()
            .zip(1_u8..)
            .map(|(name, score)| (name.as_str(), f32::from(score) / 40.0))
            .collect();
        let mut conversation = Conversation::default();
        conversation.add_round(round("same", &[], &shown));
        let (_, types) = inherited(&conversation, "same", &[]);
        assert_eq!((types.len(), types[0].as_str()), (MOST_INHERITED, "T20"));
    }

    proptest! {
        #[test]
        fn a_conversation_stays_small(queries in proptest::collection::vec("[a-c ]{0,6}", 1..60)) {
            let mut conversation = Conversation::default();
            for (at, query) in queries.iter().enumerate() {
                let paths: Vec<String> = (0..30).map(|number| format!("T{}", at * 30 + number)).collect();
                let shown: Vec<(&str, f32)> = paths.iter().map(|path| (path.as_str(), 0.5)).collect();
                let number = conversation.add_round(round(query, &[], &shown));
                prop_assert_eq!(number, at as u64 + 1);
                let last = conversation.rounds.last().expect("a round");
                prop_assert_eq!(last.number, number);
            }
            prop_assert!(conversation.rounds.len() <= REMEMBERED);
            prop_assert!(conversation.seen.len() < SEEN + 30, "a round is forgotten whole");
            let found = conversation.inheritance(&ComparedQuery::new("a b", &[]));
            prop_assert!(found.types.len() <= MOST_INHERITED);
            prop_assert!(found.types.values().all(|from| from.relevance >= found.threshold));
        }
    }
}
