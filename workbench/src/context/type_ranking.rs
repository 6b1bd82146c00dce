//! Ranks and chooses the types that answer a query: those that it names, then repeatedly the one that fits best together with the types
//! chosen so far.
//!
//! A type whose name the query says in words fits better, and one of tests less well if the query does not ask for tests. Among types that fit
//! about equally well, one related to a chosen type comes first, then one that can be shown whole. Pure: the same index, log and query give the same
//! choice.

use super::index::{Edge, Index};
use super::mentioned::Mention;
use super::package::{Grade, Package};
use super::relevance_factors::{Factors, Log};
use super::rounds::{Inheritance, Inherited};
use super::withheld_files::Secrets;
use super::words::for_each_word;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Number of types that are ranked by their words.
const RANKED: usize = 300;
/// Increase of a type's score if the query says its whole name, as a multiple of the score.
const BY_NAME: f32 = 1.0;
/// Factor on the score of tests and samples if the query does not ask for them.
const OF_TESTS: f32 = 0.7;
/// Number of best types whose neighbours are considered too.
const SEEDS: usize = 8;
/// Weights of an edge by declarations and of one by code alone.
const BY_DECLARATION: f32 = 0.6;
const BY_CODE: f32 = 0.35;
/// Scores that differ by less than this share count as equal.
const ABOUT: f32 = 0.05;
/// Least share of the best score: types below it are not chosen.
const LEAST: f32 = 0.09;

/// The share of its earlier score that a type inherits from an earlier round, at most: the present question weighs more.
const OF_ROUND: f32 = 0.5;

/// A query, with everything that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    pub index: &'q Index,
    /// The types that no model may see; they are never chosen.
    pub secrets: &'q Secrets,
    /// Words of the query, each once.
    pub words: &'q [String],
    /// Files and types that the query names.
    pub mentions: &'q [Mention],
    /// Packages that the query names.
    pub packages: &'q [Package],
    /// The log of earlier use.
    pub log: &'q Log,
    /// Scores inherited from earlier rounds.
    pub inheritance: &'q Inheritance,
    pub weights: &'q Factors,
}

/// A type that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Index of the type in [`Question::index`].
    pub at: usize,
    /// Factors of the type when it was chosen, each between 0 and 1.
    pub factors: Factors,
    /// Score that decided the type's rank: the weighted sum of the factors, or the inherited score if that is higher.
    pub score: f32,
    /// Words by which the query names the type.
    pub mention: Option<String>,
    /// Round from which the type is inherited.
    pub inherited: Option<Inherited>,
    /// A package that the query names, and how well the type belongs to it.
    pub package: Option<(String, Grade)>,
    /// Types chosen before this one that use it or that it uses, the nearest first.
    pub beside: Vec<usize>,
}

/// The chosen types, and the best of the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// The chosen types, in the order of their importance.
    pub chosen: Vec<Chosen>,
    /// The best types that were considered and not chosen, with their scores given all chosen ones.
    pub others: Vec<(usize, f32, Passed)>,
    /// The number of types that were considered and not chosen.
    pub others_total: usize,
    /// The number of types that match a word of the query and may not be shown.
    pub withheld: usize,
}

/// Reason why a type was not chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The limit of chosen types was reached.
    Full,
    /// The type's score is too low compared with the best.
    Little,
    /// The type's score is zero.
    Nothing,
}

/// A type that may be chosen.
struct Candidate {
    at: usize,
    factors: Factors,
    mention: Option<String>,
    inherited: Option<Inherited>,
    package: Option<(String, Grade)>,
    beside: Vec<(usize, f32)>,
}

impl Candidate {
    fn score(&self, weights: &Factors) -> f32 {
        let own = self.factors.by(weights).sum();
        let left = self.inherited.as_ref().map_or(0.0, |from| OF_ROUND * from.relevance * from.score);
        own.max(left)
    }
}

/// Chooses at most `most` types, but `most` of each thing that the query names. `whole` is the size up to which a type can be shown whole; at most
/// `most_others` of the others are listed.
pub fn choose(question: &Question<'_>, most: usize, whole: usize, most_others: usize) -> Choice {
    let mut choice = Choice::default();
    let mut open = candidates(question, &mut choice.withheld);
    // Types that the query names come first, in its order.
    let named = question.mentions.iter().flat_map(|one| one.types.iter().take(most));
    for at in named.filter_map(|key| question.index.find(key)) {
        if let Some(candidate) = open.remove(&at) {
            choose_type(question, candidate, &mut open, &mut choice);
        }
    }
    let mut best_of_all: f32 = 0.0;
    while choice.chosen.len() < most {
        let best = open.values().map(|one| one.score(question.weights)).fold(0.0, f32::max);
        best_of_all = best_of_all.max(best);
        if best <= 0.0 || best < best_of_all * LEAST {
            break;
        }
        let fits = |one: &Candidate| (!one.beside.is_empty(), question.index.size(one.at) <= whole);
        let about = open.values().filter(|one| one.score(question.weights) >= best * (1.0 - ABOUT));
        let next = about.max_by(|one, other| {
            let by_score = one.score(question.weights).total_cmp(&other.score(question.weights));
            fits(one).cmp(&fits(other)).then(by_score).then(other.at.cmp(&one.at))
        });
        let Some(candidate) = next.map(|one| one.at).and_then(|at| open.remove(&at)) else {
            break;
        };
        choose_type(question, candidate, &mut open, &mut choice);
    }
    let best = open.values().map(|one| one.score(question.weights)).fold(best_of_all, f32::max);
    choice.others_total = open.len();
    let passed = |score: f32| match score {
        score if score <= 0.0 => Passed::Nothing,
        score if score < best * LEAST => Passed::Little,
        _ => Passed::Full,
    };
    let other = |one: &Candidate| {
        let score = one.score(question.weights);
        (one.at, score, passed(score))
    };
    choice.others = open.values().map(other).collect();
    choice
        .others
        .sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    choice.others.truncate(most_others);
    choice
}

/// Returns all types that may be chosen, with the factors that do not depend on the choice; counts matching types that may not be shown.
fn candidates(question: &Question<'_>, withheld: &mut usize) -> BTreeMap<usize, Candidate> {
    let index = question.index;
    let mut scores = index.rank(question.words);
    let mut fitting: Vec<(usize, f32)> = scores.iter().map(|(at, score)| (*at, *score)).collect();
    let by_score = |one: &(usize, f32), other: &(usize, f32)| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0));
    fitting.sort_by(by_score);
    fitting.truncate(2 * RANKED);
    let asks_for_tests = question.words.iter().any(|word| is_test_word(word));
    let mut folders: FxHashMap<&str, bool> = FxHashMap::default();
    for (at, score) in &mut fitting {
        *score *= 1.0 + BY_NAME * index.share_of_name(*at, question.words);
        if !asks_for_tests && is_of_tests(index, *at, &mut folders) {
            *score *= OF_TESTS;
        }
        scores.insert(*at, *score);
    }
    fitting.sort_by(by_score);
    let is_secret = |at: usize| question.secrets.reason_to_hide(index, at).is_some();
    fitting.truncate(RANKED);
    let all = fitting.len();
    let ranked: Vec<(usize, f32)> = fitting.into_iter().filter(|(at, _)| !is_secret(*at)).collect();
    *withheld = all - ranked.len();
    let best = ranked.first().map_or(1.0, |(_, score)| *score);
    let mut wanted: BTreeSet<usize> = ranked.iter().map(|(at, _)| *at).collect();
    let mut mentioned: BTreeMap<usize, String> = BTreeMap::new();
    for mention in question.mentions {
        for at in mention.types.iter().filter_map(|key| index.find(key)) {
            mentioned.entry(at).or_insert_with(|| mention.text.clone());
        }
    }
    wanted.extend(mentioned.keys());
    let mut inherited: BTreeMap<usize, &Inherited> = BTreeMap::new();
    for (key, from) in &question.inheritance.types {
        inherited.extend(index.find(key).map(|at| (at, from)));
    }
    wanted.extend(inherited.keys());
    let seeds: Vec<usize> = ranked
        .iter()
        .take(SEEDS)
        .map(|(at, _)| *at)
        .chain(mentioned.keys().copied())
        .collect();
    for at in seeds {
        let near = index.uses(at).iter().chain(index.users(at).iter().take(RANKED));
        wanted.extend(near.map(|edge| edge.to));
    }
    wanted.retain(|at| !is_secret(*at));
    let mut places: FxHashMap<String, Option<(String, Grade)>> = FxHashMap::default();
    wanted
        .into_iter()
        .map(|at| {
            let key = index.key(at);
            let (access, recency) = question.log.use_of(key);
            let package = package(question, at, &mut places);
            let factors = Factors {
                bm25: scores.get(&at).map_or(0.0, |score| score / best),
                access,
                recency,
                dependency: package.as_ref().map_or(0.0, |(_, grade)| grade.counts()),
                coverage: index.coverage(at, question.words),
            };
            let candidate = Candidate {
                at,
                factors,
                mention: mentioned.get(&at).cloned(),
                inherited: inherited.get(&at).copied().cloned(),
                package,
                beside: Vec::new(),
            };
            (at, candidate)
        })
        .collect()
}

/// Whether a word of a query or a folder means code that tests or shows other code.
fn is_test_word(word: &str) -> bool {
    ["test", "testing", "unittest", "benchmark", "sample", "example"].contains(&word)
}

/// Whether all files of a type are in folders of tests or samples.
fn is_of_tests<'q>(index: &'q Index, at: usize, known: &mut FxHashMap<&'q str, bool>) -> bool {
    let files = index.document(at).map_or(&[][..], |document| &document.files);
    !files.is_empty()
        && files.iter().all(|file| {
            let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
            *known.entry(folder).or_insert_with(|| {
                let mut found = false;
                for_each_word(folder, |word| found |= is_test_word(word));
                found
            })
        })
}

/// Returns the package that a type belongs to best, by its namespace or the folder of one of its files.
fn package(question: &Question<'_>, at: usize, known: &mut FxHashMap<String, Option<(String, Grade)>>) -> Option<(String, Grade)> {
    let document = question.index.document(at).filter(|_| !question.packages.is_empty())?;
    let folders = document.files.iter().filter_map(|file| Some(file.rsplit_once('/')?.0));
    let places = std::iter::once(crate::symbols::index::namespace(&document.key)).chain(folders);
    let graded = places.filter_map(|place| {
        if let Some(known) = known.get(place) {
            return known.clone();
        }
        let grades = question
            .packages
            .iter()
            .filter_map(|one| Some((one.text.clone(), one.grade(place)?)));
        let best = grades.max_by_key(|(_, grade)| *grade);
        known.insert(place.to_owned(), best.clone());
        best
    });
    graded.max_by_key(|(_, grade)| *grade)
}

/// Chooses one type and raises the scores of its neighbours.
fn choose_type(question: &Question<'_>, candidate: Candidate, open: &mut BTreeMap<usize, Candidate>, choice: &mut Choice) {
    let index = question.index;
    let at = candidate.at;
    let strength = if candidate.mention.is_some() { 1.0 } else { candidate.factors.bm25 };
    let mut pull = |edges: &[Edge], users: &dyn Fn(usize) -> usize| {
        for edge in edges {
            let Some(other) = open.get_mut(&edge.to) else { continue };
            let counts = if edge.structure { BY_DECLARATION } else { BY_CODE };
            // A type that most types use does not characterise its users.
            let counts = strength * counts / (std::f32::consts::E + users(edge.to) as f32).ln();
            let dependency = &mut other.factors.dependency;
            *dependency = 1.0 - (1.0 - *dependency) * (1.0 - counts);
            other.beside.push((at, counts));
        }
    };
    pull(index.uses(at), &|to| index.users(to).len());
    let own = index.users(at).len();
    pull(index.users(at), &|_| own);
    let mut beside = candidate.beside.clone();
    beside.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    beside.dedup_by_key(|(at, _)| *at);
    choice.chosen.push(Chosen {
        at,
        score: candidate.score(question.weights),
        factors: candidate.factors,
        mention: candidate.mention,
        inherited: candidate.inherited,
        package: candidate.package,
        beside: beside.into_iter().map(|(at, _)| at).collect(),
    });
}

#[cfg(test)]
pub mod samples {
    //! Sample choices for tests of composing.

    use super::*;

    /// Returns a type that was chosen by its score alone.
    pub fn chosen(at: usize, score: f32) -> Chosen {
        Chosen {
            at,
            factors: Factors::default(),
            score,
            mention: None,
            inherited: None,
            package: None,
            beside: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::samples::{document, index_of};
    use super::super::mentioned::mentions;
    use super::super::relevance_factors::WEIGHTS;
    use super::super::words::distinct;
    use super::*;
    use proptest::prelude::*;

    fn index() -> Index {
        index_of(vec![
            document("Net.Retry", "retry a call with backoff and jitter", &["Net.Delay", "Net.Log"]),
            document("Net.Delay", "span of time", &["Net.Log"]),
            document("Net.Log", "write a line", &[]),
            document("Net.Client", "call a server and retry it", &["Net.Log", "Net.Retry"]),
            document("Ui.Window", "draw jitter", &["Net.Log"]),
            document("Ui.Button", "draw", &["Ui.Window"]),
        ])
    }

    fn choose_for_query(index: &Index, query: &str, log: &Log, inheritance: &Inheritance, most: usize) -> Choice {
        let (words, mentions, packages) = (distinct(query), mentions(query, index), Package::packages_in_text(query));
        let question = Question {
            index,
            secrets: &Secrets::default(),
            words: &words,
            mentions: &mentions,
            packages: &packages,
            log,
            inheritance,
            weights: &WEIGHTS,
        };
        choose(&question, most, 1000, 3)
    }

    fn keys(index: &Index, choice: &Choice) -> Vec<String> {
        choice.chosen.iter().map(|one| index.key(one.at).to_owned()).collect()
    }

    fn choose_plain(query: &str, most: usize) -> (Index, Choice) {
        let index = index();
        let choice = choose_for_query(&index, query, &Log::default(), &Inheritance::default(), most);
        (index, choice)
    }

    #[test]
    fn names_lead_and_tests_follow_unless_they_are_asked_for() {
        let index = index_of(vec![
            document("Net.Tests.Socket", "send command over connection connection command", &[]),
            document("Net.Connection", "send command over connection", &[]),
            document("Net.Other", "send command over connection connection command", &[]),
        ]);
        let first = |query: &str| {
            let choice = choose_for_query(&index, query, &Log::default(), &Inheritance::default(), 3);
            let keys: Vec<&str> = choice.chosen.iter().map(|one| index.key(one.at)).collect();
            keys.join(" ")
        };
        assert_eq!(
            first("how are commands sent over the connection, send"),
            "Net.Connection Net.Other Net.Tests.Socket"
        );
        assert!(first("how do tests send a command over the connection").starts_with("Net.Tests.Socket"));
    }

    #[test]
    fn types_that_the_best_one_uses_are_chosen_with_it() {
        let (index, choice) = choose_plain("retry backoff", 10);
        let keys = keys(&index, &choice);
        assert_eq!(keys[..3], ["Net.Retry", "Net.Client", "Net.Delay"], "{choice:?}");
        let delay = &choice.chosen[2];
        assert_eq!(delay.factors.bm25, 0.0);
        assert!(delay.factors.dependency > 0.0 && delay.beside == [index.find("Net.Retry").expect("a type")]);
        let log = choice.chosen.iter().find(|one| index.key(one.at) == "Net.Log");
        assert!(
            log.is_none_or(|log| log.factors.dependency < delay.factors.dependency * 1.6),
            "everybody uses it"
        );
    }

    #[test]
    fn named_types_come_first_whatever_their_scores() {
        let (index, choice) = choose_plain("retry backoff, seen from `Button`", 2);
        assert_eq!(keys(&index, &choice), ["Ui.Button", "Net.Retry"]);
        assert_eq!(choice.chosen[0].mention.as_deref(), Some("Button"));
        assert!(choice.others_total > 0 && choice.others.len() <= 3);
        assert!(choice.others.is_sorted_by(|one, other| one.1 >= other.1));
    }

    #[test]
    fn all_that_is_named_is_chosen_and_of_many_in_one_file_as_many_as_are_wanted() {
        let (index, choice) = choose_plain("`Button`, `Window`, `Log` and `Delay`: retry", 1);
        assert_eq!(keys(&index, &choice), ["Ui.Button", "Ui.Window", "Net.Log", "Net.Delay"]);
        let index = self::index();
        let words = distinct("Net.cs");
        let file = Mention {
            text: "Net.cs".to_owned(),
            types: ["Net.Log", "Net.Delay", "Net.Client"].map(str::to_owned).into(),
            ..Mention::default()
        };
        let question = Question {
            index: &index,
            secrets: &Secrets::default(),
            words: &words,
            mentions: &[file],
            packages: &[],
            log: &Log::default(),
            inheritance: &Inheritance::default(),
            weights: &WEIGHTS,
        };
        let choice = choose(&question, 2, 1000, 3);
        assert_eq!(keys(&index, &choice), ["Net.Log", "Net.Delay"]);
        assert_eq!(choice.others[0].2, Passed::Full);
    }

    #[test]
    fn types_that_are_not_chosen_have_a_reason() {
        let index = index();
        let passed = |most, weights: &Factors| -> Vec<Passed> {
            let words = distinct("retry backoff jitter");
            let question = Question {
                index: &index,
                secrets: &Secrets::default(),
                words: &words,
                mentions: &[],
                packages: &[],
                log: &Log::default(),
                inheritance: &Inheritance::default(),
                weights,
            };
            let choice = choose(&question, most, 1000, 9);
            assert_eq!(choice.others_total, choice.others.len());
            choice.others.into_iter().map(|(.., why)| why).collect()
        };
        let full = passed(1, &WEIGHTS);
        assert_eq!(full, [Passed::Full, Passed::Full, Passed::Full, Passed::Full, Passed::Nothing]);
        assert!(!passed(100, &WEIGHTS).contains(&Passed::Full));
        let nothing = passed(
            100,
            &Factors::parse("access=1,bm25=0,recency=0,dependency=0,coverage=0").expect("weights"),
        );
        assert!(
            nothing.len() > 2 && nothing.iter().all(|why| *why == Passed::Nothing),
            "{nothing:?}"
        );
    }

    #[test]
    fn packages_logs_and_inheritance_move_types_up() {
        let (index, choice) = choose_plain("jitter", 2);
        assert_eq!(keys(&index, &choice), ["Ui.Window", "Net.Retry"], "{choice:?}");
        let choice = choose_for_query(&index, "jitter in src/Net", &Log::default(), &Inheritance::default(), 1);
        assert_eq!(keys(&index, &choice), ["Net.Retry"], "{choice:?}");
        assert_eq!(choice.chosen[0].package, Some(("src/Net".to_owned(), Grade::Exact)));
        let mut log = Log::default();
        log.record_view("Net.Retry", 0);
        let choice = choose_for_query(&index, "jitter", &log, &Inheritance::default(), 2);
        assert_eq!(keys(&index, &choice), ["Net.Retry", "Ui.Window"]);
        let left = Inherited {
            round: 3,
            relevance: 0.9,
            score: 0.8,
        };
        let inheritance = Inheritance {
            threshold: 0.4,
            types: BTreeMap::from([("Ui.Button".to_owned(), left.clone()), ("Gone".to_owned(), left.clone())]),
        };
        let choice = choose_for_query(&index, "jitter", &Log::default(), &inheritance, 3);
        let expected = ["Ui.Window", "Net.Retry", "Ui.Button"];
        assert_eq!(keys(&index, &choice), expected, "what is asked now comes first");
        assert_eq!(choice.chosen[2].inherited, Some(left));
    }

    #[test]
    fn a_query_without_a_known_word_chooses_nothing() {
        let (_, choice) = choose_plain("quux", 5);
        assert_eq!(choice, Choice::default());
        let empty = index_of(Vec::new());
        assert_eq!(
            choose_for_query(&empty, "retry `Button` in A.B", &Log::default(), &Inheritance::default(), 5),
            Choice::default()
        );
    }

    proptest! {
        #[test]
        fn choices_are_sound(query in "[a-zA-Z.` ]{0,40}", most in 0_usize..8) {
            let (index, choice) = choose_plain(&query, most);
            let all: BTreeSet<usize> = choice.chosen.iter().map(|one| one.at).collect();
            let named = choice.chosen.iter().filter(|one| one.mention.is_some()).count();
            prop_assert!(all.len() == choice.chosen.len() && all.len() <= most.max(named));
            for one in &choice.chosen {
                prop_assert!(one.factors.all().iter().all(|factor| (0.0..=1.0).contains(factor)), "{:?}", one);
                prop_assert!(one.beside.iter().all(|at| all.contains(at)));
            }
            prop_assert_eq!(&choose_plain(&query, most).1, &choice);
            prop_assert!(keys(&index, &choice).iter().all(|key| index.find(key).is_some()));
        }
    }
}
