//! The built-in model: words of identifiers and prose, and the runs of letters in them, hashed into a vector of fixed length.
//!
//! Each word, and each run of 3 to 5 letters of `<word>`, adds to four numbers with signs, both chosen by its hash: a sparse random projection of the
//! bag of words (Achlioptas 2003; subwords as in fastText, Bojanowski et al. 2017). Words with common letters have similar directions, so
//! `serialize`, `Serializer` and `serialization` are near; synonyms are not, because there is no training. A frequent word counts less than in
//! proportion.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

/// Words of C# and of English prose that say nothing about the subject of code.
static COMMON: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "a abstract all an and are as at async await base be bool break by byte can case catch char class const continue default do double else enum
     event false float for foreach from get has how if in init int interface internal is it its long namespace new not null object of on or out
     override partial private protected public readonly record ref return sealed set static string struct switch system that the this throw to
     true try typeof uint ulong using value var virtual void what when where which while with"
        .split_whitespace()
        .collect()
});
/// Letters in a run.
const RUNS: std::ops::RangeInclusive<usize> = 3..=5;
/// Numbers of the vector that one feature adds to.
const PLACES: usize = 4;
/// Weight of all runs of a word together, relative to the word.
const SHARE_OF_RUNS: f32 = 1.0;

/// Returns the vector of weighted texts; its length is 1, or 0 if they have no word.
pub fn embed(texts: &[(f32, &str)], dimensions: usize) -> Vec<f32> {
    let mut counts: BTreeMap<String, f32> = BTreeMap::new();
    for (times, text) in texts {
        for_each_word(text, |word| *counts.entry(word).or_default() += times);
    }
    let mut sum = vec![0.0_f32; dimensions];
    for (word, count) in &counts {
        // A square root is rounded the same on every machine.
        let weight = count.sqrt();
        add_feature(&mut sum, word.as_bytes(), weight);
        let letters: Vec<char> = std::iter::once('<').chain(word.chars()).chain(std::iter::once('>')).collect();
        let runs: Vec<String> = RUNS
            .flat_map(|length| letters.windows(length).map(|run| run.iter().collect()))
            .collect();
        let each = weight * SHARE_OF_RUNS / (runs.len().max(1) as f32).sqrt();
        runs.iter().for_each(|run| add_feature(&mut sum, run.as_bytes(), each));
    }
    let length = sum.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        sum.iter_mut().for_each(|number| *number /= length);
    }
    sum
}

/// Passes on the words of a text in lower case: runs of letters and digits, cut where capitals begin (`NodeStoreIO` is node, store, io). Scripts
/// without spaces between words give pairs of characters.
fn for_each_word(text: &str, mut visit: impl FnMut(String)) {
    let is_dense = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    for piece in text.split(|c: char| !c.is_alphanumeric()).filter(|piece| !piece.is_empty()) {
        let letters: Vec<char> = piece.chars().collect();
        if letters.iter().copied().any(is_dense) {
            letters.windows(2).for_each(|pair| visit(pair.iter().collect()));
            continue;
        }
        let begins = |at: usize| {
            let (before, now, after) = (letters[at - 1], letters[at], letters.get(at + 1));
            now.is_uppercase() && (!before.is_uppercase() || after.is_some_and(|after| after.is_lowercase()))
                || now.is_numeric() != before.is_numeric()
        };
        let mut start = 0;
        for end in 1..=letters.len() {
            if end == letters.len() || begins(end) {
                let word: String = letters[start..end].iter().flat_map(|c| c.to_lowercase()).collect();
                if word.chars().nth(1).is_some() && !word.chars().all(char::is_numeric) && !COMMON.contains(word.as_str()) {
                    visit(word);
                }
                start = end;
            }
        }
    }
}

/// Adds a feature at the positions that its hash chooses.
fn add_feature(sum: &mut [f32], feature: &[u8], weight: f32) {
    // FNV-1a; the same on every machine.
    let mut hash = feature.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    for _ in 0..PLACES {
        // SplitMix64 derives further numbers.
        hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let place = usize::try_from(mixed >> 1).unwrap_or_default() % sum.len();
        sum[place] += if mixed & 1 == 0 { weight } else { -weight };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each_word(text, |word| found.push(word));
        found
    }

    fn cosine(one: &str, other: &str) -> f32 {
        let (one, other) = (embed(&[(1.0, one)], 256), embed(&[(1.0, other)], 256));
        one.iter().zip(&other).map(|(one, other)| one * other).sum()
    }

    #[test]
    fn identifiers_are_cut_into_words() {
        assert_eq!(
            all("NodeStoreIO.ReadUTF8Text _count x 42"),
            ["node", "store", "io", "read", "utf", "text", "count"]
        );
        assert_eq!(all("public string Name"), ["name"]);
        assert_eq!(all("节点存储"), ["节点", "点存", "存储"]);
    }

    #[test]
    fn words_that_share_letters_are_near() {
        assert!(cosine("serialize", "Serializer") > cosine("serialize", "Connection") + 0.2);
        assert!((cosine("read the file", "ReadFile") - 1.0).abs() < 1e-5);
        assert!(embed(&[(1.0, "if")], 32).iter().all(|number| *number == 0.0));
    }

    /// Other numbers would change every stored vector.
    #[test]
    fn the_numbers_are_the_same_everywhere() {
        let vector = super::super::vector::Vector::from_numbers(&embed(&[(2.0, "NodeStore"), (1.0, "keeps nodes")], 16));
        assert_eq!(
            vector.numbers(),
            [-120, -25, -17, 12, 30, -5, 76, 38, -32, -21, 42, -1, -28, 127, 13, 63]
        );
    }
}
