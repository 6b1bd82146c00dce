//! The rounds of a conversation: what was asked, what was named, what was shown for it. Pure; where conversations are kept is [`super::kept`].

use super::relevance::figure;
use super::words::distinct;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds that are remembered whole; of earlier ones it is known which types were shown.
pub const REMEMBERED: usize = 20;
/// Types whose showing is remembered.
const SEEN: usize = 512;

/// How much of a round's relevance to a query comes from the words that both have.
const WORDS: f32 = 0.5;
/// And from the files that both name.
const FILES: f32 = 0.3;
/// And from how lately it was.
const TIME: f32 = 0.2;
/// What is left of the time's share after each further round.
const FADES: f32 = 0.8;
/// Rounds below this relevance leave nothing to inherit.
const THRESHOLD: f32 = 0.4;
/// The last rounds that move the threshold, and the relevance that they need on average to lower it, and how far.
const RECENT: usize = 3;
const LOWERED: [(f32, f32); 2] = [(0.6, 0.3), (0.5, 0.35)];
/// Types that are inherited at most.
pub const MOST_INHERITED: usize = 20;

/// A type that was shown, and how well it fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownType {
    /// Its key.
    pub path: String,
    /// Its score, as it was told.
    pub score: f32,
}

/// A round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Round {
    /// Its number, from 1.
    pub number: u64,
    /// What was asked.
    pub query: String,
    /// Files that the query names, or its answer.
    pub files: Vec<String>,
    /// Types that the query names, or its answer.
    pub types: Vec<String>,
    /// Types that were shown because an earlier round had them.
    pub inherited: Vec<ShownType>,
    /// Types that were shown for the query itself.
    pub new: Vec<ShownType>,
}

/// How often a type was shown or named, and in which round last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// How often.
    pub times: u32,
    /// The number of the last round with it.
    pub last: u64,
}

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conversation {
    /// Its handle.
    pub id: String,
    /// Which use of any conversation of the checkout the last one of it was.
    pub used: u64,
    /// Its rounds so far, those that are forgotten included.
    pub count: u64,
    /// The last rounds, oldest first.
    pub rounds: Vec<Round>,
    /// Types that were shown or named.
    pub seen: BTreeMap<String, Seen>,
}

/// A type that an earlier round leaves to this one.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Inherited {
    /// The number of the round.
    pub round: u64,
    /// How relevant that round is to this query.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub relevance: f32,
    /// What the type scored there.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub score: f32,
}

/// What a query inherits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inheritance {
    /// From which relevance on a round counted.
    pub threshold: f32,
    /// The types, by key.
    pub types: BTreeMap<String, Inherited>,
}

/// What of a query rounds are compared by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedQuery {
    words: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl ComparedQuery {
    /// A query that names these files.
    pub fn new(query: &str, files: &[String]) -> Self {
        Self {
            words: distinct(query).into_iter().collect(),
            files: files.iter().cloned().collect(),
        }
    }

    /// How relevant a round is to it, `ago` rounds back (1 for the last one).
    fn relevance(&self, round: &Round, ago: usize) -> f32 {
        let before = Self::new(&round.query, &round.files);
        let time = FADES.powi(i32::try_from(ago.saturating_sub(1)).unwrap_or(i32::MAX));
        WORDS * overlap(&self.words, &before.words) + FILES * overlap(&self.files, &before.files) + TIME * time
    }
}

/// What two sets have in common, of all that they have.
fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f32 {
    let both = one.intersection(other).count();
    let all = one.len() + other.len() - both;
    if all == 0 { 0.0 } else { both as f32 / all as f32 }
}

impl Conversation {
    /// What a query inherits from the rounds so far.
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

    /// Adds a round; its number is given to it.
    pub fn add(&mut self, mut round: Round) -> u64 {
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

    /// Ends a round with what its answer names: a later query that names the same files is about the same.
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
    fn what_is_inherited_depends_on_the_threshold() {
        let mut conversation = Conversation::default();
        assert_eq!(inherited(&conversation, "anything", &[]), (0.4, vec![]));
        conversation.add(round("cache eviction order", &[], &[("A", 0.9), ("B", 0.5)]));
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
        conversation.add(round("render markdown", &[], &[("C", 0.9)]));
        let (threshold, types) = inherited(&conversation, "cache eviction order", &[]);
        // The rounds have 0.66 and 0.2 now.
        assert_eq!((threshold, types), (THRESHOLD, vec!["A".to_owned(), "B".to_owned()]));
    }

    #[test]
    fn what_an_answer_names_makes_its_round_relevant() {
        let mut conversation = Conversation::default();
        let number = conversation.add(round("cache eviction", &[], &[("A", 0.9)]));
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
        conversation.add(round("same", &[], &shown));
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
                let number = conversation.add(round(query, &[], &shown));
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
