//! The five factors of how well a type fits a query, and their weights.
//!
//! Every factor is between 0 and 1: how well its words fit (BM25, relative to the best), how often and how recently it was shown or viewed, how near
//! it is to chosen types or to a package that the query names, and the share of the query that names it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// The five factors, or their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Factors {
    /// Words of the query in names, code and documentation.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub bm25: f32,
    /// How often it was shown or viewed.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub access: f32,
    /// How recently it was shown or viewed.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub recency: f32,
    /// Nearness to chosen types, or to a package that the query names.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub dependency: f32,
    /// The share of the query's words that appear in its names and those of its members.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub coverage: f32,
}

/// Serializes a figure with three decimals: further digits add no information and cost tokens. Errors: errors of the serializer.
pub fn figure<S: Serializer>(figure: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((f64::from(*figure) * 1000.0).round() / 1000.0)
}

/// The default weights.
pub const WEIGHTS: Factors = Factors {
    bm25: 0.40,
    access: 0.25,
    recency: 0.15,
    dependency: 0.15,
    coverage: 0.05,
};

/// The share of their weights that access and recency contribute at most.
const OF_USE: f32 = 0.2;

impl Factors {
    pub const NAMES: [&'static str; 5] = ["bm25", "access", "recency", "dependency", "coverage"];

    /// Returns the factors in the order of [`Self::NAMES`].
    pub fn all(&self) -> [f32; 5] {
        [self.bm25, self.access, self.recency, self.dependency, self.coverage]
    }

    /// Multiplies the factors by weights. Earlier use says little about a query: it contributes [`OF_USE`] of its weight, multiplied by how well the
    /// words fit, so that it decides among types that fit about equally.
    #[must_use]
    pub fn by(&self, weights: &Self) -> Self {
        let [bm25, access, recency, dependency, coverage] = std::array::from_fn(|at| self.all()[at] * weights.all()[at]);
        let of_use = OF_USE * self.bm25;
        Self {
            bm25,
            access: access * of_use,
            recency: recency * of_use,
            dependency,
            coverage,
        }
    }

    pub fn sum(&self) -> f32 {
        self.all().iter().sum()
    }

    /// Parses weights such as `bm25=0.6,access=0`; factors that are not named have their default weight. Errors: the fault of the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut weights = WEIGHTS;
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (name, number) = part
                .split_once('=')
                .ok_or_else(|| format!("'{}' is not NAME=NUMBER", part.trim()))?;
            let number: f32 = number
                .trim()
                .parse()
                .ok()
                .filter(|number| (0.0..=1.0).contains(number))
                .ok_or_else(|| format!("'{}' is not a number from 0 to 1", number.trim()))?;
            let place = match name.trim() {
                "bm25" => &mut weights.bm25,
                "access" => &mut weights.access,
                "recency" => &mut weights.recency,
                "dependency" => &mut weights.dependency,
                "coverage" => &mut weights.coverage,
                other => return Err(format!("there is no factor '{other}'; there are {}", Self::NAMES.join(", "))),
            };
            // Turns -0 into 0, which prints without a minus.
            *place = number + 0.0;
        }
        match weights.sum() > 0.0 {
            true => Ok(weights),
            false => Err("all are 0, and nothing would fit better than anything else".to_owned()),
        }
    }
}

/// Uses of types before a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    seen: BTreeMap<String, (u32, f32)>,
    most: u32,
}

/// Number of later views after which a view counts half as recent.
const HALF: f32 = 8.0;
/// Number of later rounds after which a showing counts half as recent.
const HALF_ROUNDS: f32 = 2.0;

impl Log {
    /// Records that a type was the `place`-th to be viewed, counted back from 0 for the last.
    pub fn record_view(&mut self, path: &str, place: usize) {
        self.note(path, 1, 0.5_f32.powf(place as f32 / HALF));
    }

    /// Records that a type was shown or named `times` times, the last time `ago` rounds ago.
    pub fn record_shown(&mut self, path: &str, times: u32, ago: u64) {
        self.note(path, times, 0.5_f32.powf(ago as f32 / HALF_ROUNDS));
    }

    fn note(&mut self, path: &str, times: u32, recency: f32) {
        let seen = self.seen.entry(path.to_owned()).or_default();
        *seen = (seen.0.saturating_add(times), seen.1.max(recency));
        self.most = self.most.max(seen.0);
    }

    /// Returns how often a type was used, relative to the most used one, and how recently.
    pub fn use_of(&self, path: &str) -> (f32, f32) {
        let Some((times, recency)) = self.seen.get(path) else {
            return (0.0, 0.0);
        };
        let share = (*times as f32).ln_1p() / (self.most.max(1) as f32).ln_1p();
        (share, *recency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_add_up_and_can_be_told() {
        assert!((WEIGHTS.sum() - 1.0).abs() < 1e-6);
        assert_eq!(WEIGHTS.all(), [0.40, 0.25, 0.15, 0.15, 0.05]);
        let factors = Factors::parse("bm25=0.9, access=0").expect("weights");
        assert_eq!((factors.bm25, factors.access, factors.recency), (0.9, 0.0, WEIGHTS.recency));
        assert_eq!(Factors::parse(""), Ok(WEIGHTS));
        assert!(Factors::parse("bm25=-0").is_ok_and(|factors| factors.bm25.is_sign_positive()));
        for (wrong, why) in [
            ("bm25", "'bm25' is not NAME=NUMBER"),
            ("bm25=2", "'2' is not a number from 0 to 1"),
            (
                "bm25=0,access=0,recency=0,dependency=0,coverage=0",
                "all are 0, and nothing would fit better than anything else",
            ),
            ("bm25=NaN", "'NaN' is not a number from 0 to 1"),
            (
                "tfidf=1",
                "there is no factor 'tfidf'; there are bm25, access, recency, dependency, coverage",
            ),
        ] {
            assert_eq!(Factors::parse(wrong).expect_err("wrong"), why);
        }
        let given = Factors {
            bm25: 0.5,
            access: 1.0,
            ..Factors::default()
        }
        .by(&WEIGHTS);
        assert_eq!((given.bm25, given.access), (0.2, 0.025));
        assert_eq!(
            Factors { bm25: 0.0, ..given }.by(&WEIGHTS).access,
            0.0,
            "what does not fit gains nothing by use"
        );
    }

    #[test]
    fn uses_count_by_number_and_by_time() {
        let mut log = Log::default();
        log.record_view("A", 0);
        log.record_view("B", 8);
        log.record_shown("B", 3, 2);
        assert_eq!(log.use_of("B"), (1.0, 0.5));
        let (access, recency) = log.use_of("A");
        assert!(access > 0.4 && access < 0.5 && recency == 1.0, "{access}");
        assert_eq!(log.use_of("C"), (0.0, 0.0));
    }
}
