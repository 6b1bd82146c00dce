//! Orders the chosen types by best evidence: the reciprocal-rank fusion of the order in which they were chosen and of how well their sources fit.
//!
//! The two orders err differently. Choosing weighs names and puts tests last; the source as it is written, with its comments, its path and with tests
//! as good as all else, is what a reader who searches for lines would go by. Pure.

use super::answers::LOOKED_AT;
use super::choose::Chosen;
use super::forms::Texts;
use super::index::Index;
use super::words::for_each_word;
use rustc_hash::FxHashMap;

/// Softens the lead of the first ranks; the value of Cormack, Clarke and Büttcher (2009).
const SOFTENED_BY: f32 = 60.0;
/// Parameters of Okapi BM25.
const K1: f32 = 1.2;
const B: f32 = 0.6;

/// Orders chosen types and their texts. A type that the query names was chosen first and so stands near the front; it stays where it is if the query
/// names members of it, or if its source was not read.
pub fn order_by_evidence(index: &Index, words: &[String], chosen: &mut Vec<Chosen>, texts: &mut Vec<Texts>) {
    let is_open = |one: &Chosen, text: &Texts| text.named == 0 && (one.mention.is_none() || text.code.is_some());
    let open: Vec<usize> = (0..chosen.len().min(texts.len()))
        .filter(|at| is_open(&chosen[*at], &texts[*at]))
        .take(LOOKED_AT)
        .collect();
    let fits = fits(index, words, open.iter().map(|at| &texts[*at]));
    let mut by_fit: Vec<usize> = (0..open.len()).collect();
    by_fit.sort_by(|one, other| fits[*other].total_cmp(&fits[*one]));
    let mut fused: Vec<f32> = (0..open.len()).map(|rank| 1.0 / (SOFTENED_BY + rank as f32)).collect();
    for (rank, place) in by_fit.into_iter().enumerate() {
        fused[place] += 1.0 / (SOFTENED_BY + rank as f32);
    }
    let mut order: Vec<usize> = (0..open.len()).collect();
    order.sort_by(|one, other| fused[*other].total_cmp(&fused[*one]));
    let moved: Vec<(Chosen, Texts)> = order
        .into_iter()
        .map(|place| (chosen[open[place]].clone(), texts[open[place]].clone()))
        .collect();
    for (at, (one, text)) in open.into_iter().zip(moved) {
        chosen[at] = one;
        texts[at] = text;
    }
}

/// Returns how well each source fits words: Okapi BM25 over its text and its path, 0 for one that was not read.
fn fits<'t>(index: &Index, words: &[String], texts: impl Iterator<Item = &'t Texts>) -> Vec<f32> {
    let rarity: FxHashMap<&str, f32> = words.iter().map(|word| (word.as_str(), index.rarity(word))).collect();
    let counted: Vec<(FxHashMap<&str, f32>, f32)> = texts
        .map(|text| {
            let (mut counts, mut length) = (FxHashMap::default(), 0.0);
            let written = text.code.iter().map(String::as_str);
            // A source that was not read has no words, not even those of its path.
            let places = text
                .places
                .iter()
                .map(String::as_str)
                .take(if text.code.is_some() { usize::MAX } else { 0 });
            for part in written.chain(places) {
                for_each_word(part, |word| {
                    length += 1.0;
                    if let Some((word, _)) = rarity.get_key_value(word) {
                        *counts.entry(*word).or_default() += 1.0;
                    }
                });
            }
            (counts, length)
        })
        .collect();
    let total: f32 = counted.iter().map(|(_, length)| length).sum();
    let mean = (total / counted.len().max(1) as f32).max(1.0);
    let fit = |(counts, length): &(FxHashMap<&str, f32>, f32)| {
        let norm = K1 * (1.0 - B + B * length / mean);
        // In the order of the query, so that sums are the same each time.
        let said = words
            .iter()
            .filter_map(|word| Some((rarity[word.as_str()], *counts.get(word.as_str())?)));
        said.map(|(rarity, count)| rarity * count * (K1 + 1.0) / (count + norm)).sum()
    };
    counted.iter().map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::super::choose::samples::chosen;
    use super::super::index::samples::document;
    use super::super::words::distinct;
    use super::*;

    /// Returns the keys in order of evidence for a query; `sources` are keys with their sources, in the order in which they were chosen.
    fn ordered(query: &str, named: &[&str], sources: &[(&str, Option<&str>)]) -> Vec<String> {
        let index = Index::new(
            sources
                .iter()
                .map(|(key, source)| document(key, source.unwrap_or_default(), &[]))
                .collect(),
        );
        let mut texts: Vec<Texts> = sources
            .iter()
            .map(|(key, source)| Texts {
                key: (*key).to_owned(),
                code: source.map(str::to_owned),
                ..Texts::default()
            })
            .collect();
        let mut order: Vec<Chosen> = sources
            .iter()
            .enumerate()
            .map(|(at, (key, _))| Chosen {
                mention: named.contains(key).then(|| (*key).to_owned()),
                ..chosen(at, 0.5)
            })
            .collect();
        order_by_evidence(&index, &distinct(query), &mut order, &mut texts);
        let keys: Vec<String> = order.iter().map(|one| sources[one.at].0.to_owned()).collect();
        assert!(texts.iter().map(|text| &text.key).eq(&keys), "types keep their texts");
        keys
    }

    #[test]
    fn a_test_that_says_it_most_comes_near_the_front() {
        let sources = [
            ("N.Lease", Some("renew it late")),
            ("N.Clock", Some("now")),
            ("N.Lock", Some("take it")),
            ("N.LeaseTests", Some("renew a lease, renew the lease of a lock")),
        ];
        let found = ordered("renew lease of lock", &[], &sources);
        assert_eq!(found, ["N.Lease", "N.LeaseTests", "N.Clock", "N.Lock"]);
    }

    #[test]
    fn what_is_named_stays_near_the_front_and_what_is_not_read_gains_nothing() {
        let sources = [("N.Clock", Some("now")), ("N.Unread", None), ("N.Lock", Some("renew the lease"))];
        assert_eq!(ordered("renew lease", &["N.Unread"], &sources), ["N.Clock", "N.Unread", "N.Lock"]);
        assert_eq!(ordered("renew lease", &[], &sources), ["N.Clock", "N.Lock", "N.Unread"]);
        assert_eq!(ordered("nothing of that", &[], &sources), ["N.Clock", "N.Unread", "N.Lock"]);
    }
}
