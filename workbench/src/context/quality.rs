//! Figures about a context, computed from its contents.

use super::compose_within_budget::Composed;
use super::forms::TypeTexts;
use super::index::Index;
use super::relevance_factors::{Log, figure};
use super::type_ranking::Chosen;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Quality of a context, in figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    /// Of the types that shown declarations refer to, the share that is shown too.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub dependency_coverage: f32,
    /// Tokens of the text per estimated token of the shown types' sources.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub compression_ratio: f32,
    /// The share of shown types that were shown or viewed before.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub hit_rate: f32,
    /// The share of the query that appears in names, code or documentation of shown types; rare words count more, and an unknown word counts as much
    /// as one of a single type.
    #[serde(serialize_with = "figure")]
    #[schemars(with = "f32")]
    pub word_coverage: f32,
}

impl Quality {
    /// Computes the figures of a composed text.
    pub fn from_composed(index: &Index, words: &[String], log: &Log, chosen: &[Chosen], texts: &[TypeTexts], made: &Composed) -> Self {
        let shown: BTreeSet<usize> = made.placed.iter().map(|one| chosen[one.at].at).collect();
        let needed: BTreeSet<usize> = shown
            .iter()
            .flat_map(|at| index.uses(*at))
            .filter(|edge| edge.structure)
            .map(|edge| edge.to)
            .collect();
        let known = shown.iter().filter(|at| log.use_of(index.key(**at)).0 > 0.0).count();
        let of_files: usize = made.files.iter().map(|(_, file)| file.tokens).sum();
        let size: usize = made.placed.iter().map(|one| texts[one.at].size).sum();
        let (mut said, mut all) = (0.0, 0.0);
        for word in words {
            let counts = match index.rarity(word) {
                0.0 => index.rarest(),
                rarity => rarity,
            };
            all += counts;
            let says = |at: &usize| index.has_word(*at, word);
            if shown.iter().any(says) {
                said += counts;
            }
        }
        Self {
            dependency_coverage: share(needed.intersection(&shown).count() as f32, needed.len() as f32, 1.0),
            compression_ratio: share((made.tokens - of_files) as f32, size as f32, 0.0),
            hit_rate: share(known as f32, shown.len() as f32, 0.0),
            word_coverage: share(said, all, 0.0),
        }
    }
}

/// Returns a share rounded to three decimals, or `of_nothing` if the whole is zero.
fn share(part: f32, whole: f32, of_nothing: f32) -> f32 {
    let share = if whole > 0.0 { part / whole } else { of_nothing };
    (share * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::super::compose_within_budget::{Material, compose};
    use super::super::index::samples::{document, index_of};
    use super::super::relevance_factors::WEIGHTS;
    use super::super::rounds::Inheritance;
    use super::super::type_ranking::{Question, choose};
    use super::super::withheld_files::Secrets;
    use super::*;

    #[test]
    fn figures_are_those_of_what_is_shown() {
        let index = index_of(vec![
            document("A.Pump", "pump water", &["A.Pipe", "A.Valve"]),
            document("A.Pipe", "", &[]),
            document("A.Valve", "", &[]),
        ]);
        let words = ["pump".to_owned(), "valve".to_owned(), "nowhere".to_owned()];
        let mut log = Log::default();
        log.record_view("A.Pump", 0);
        let inheritance = Inheritance::default();
        let question = Question {
            index: &index,
            secrets: &Secrets::default(),
            words: &words,
            mentions: &[],
            packages: &[],
            log: &log,
            inheritance: &inheritance,
            weights: &WEIGHTS,
        };
        let choice = choose(&question, 2, 1000, 0);
        let texts: Vec<TypeTexts> = choice
            .chosen
            .iter()
            .map(|one| TypeTexts {
                key: index.key(one.at).to_owned(),
                size: 10,
                ..TypeTexts::default()
            })
            .collect();
        let material = Material {
            chosen: &choice.chosen,
            texts: &texts,
            files: &[],
            others: &[],
        };
        let made = compose("pump valve", material, 1000, &|text| text.split_whitespace().count());
        assert_eq!(made.placed.len(), 2, "{made:?}");
        let quality = Quality::from_composed(&index, &words, &log, &choice.chosen, &texts, &made);
        assert_eq!((quality.dependency_coverage, quality.hit_rate), (0.5, 0.5));
        let said = index.rarity("pump") + index.rarity("valve");
        assert_eq!(quality.word_coverage, share(said, said + index.rarest(), 0.0));
        let known = Quality::from_composed(&index, &words[..2], &log, &choice.chosen, &texts, &made);
        assert_eq!((known.word_coverage, index.rarest()), (1.0, 4.0_f32.ln()));
        assert_eq!(quality.compression_ratio, made.tokens as f32 / 20.0);
        let nothing = Quality::from_composed(&index, &words, &log, &[], &[], &Composed::default());
        assert_eq!(nothing.dependency_coverage, 1.0);
        assert_eq!(
            (nothing.hit_rate, nothing.word_coverage, nothing.compression_ratio),
            (0.0, 0.0, 0.0)
        );
    }
}
