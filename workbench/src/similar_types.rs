//! Neighbours among the vectors of types: types near a text, and types that are nearly the same.
//!
//! Compares all vectors: for a repository of 13,000 types that takes some milliseconds, is exact, needs no index and follows every edit
//! (docs/embeddings.md compares approximate indexes). The mean of all vectors is subtracted first, because features of all code distinguish nothing.

use engine::values::table::Table;
use producers::embedding::vector::Vector;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The vectors of types, prepared for comparison.
pub struct Vectors<'b> {
    rows: Vec<VectorRow<'b>>,
    mean: Vec<f32>,
    left_out: LeftOut,
}

/// The numbers of vectors that are not compared, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LeftOut {
    /// Vectors without numbers: their files are not sent to a model.
    withheld: usize,
    /// Vectors of zeros.
    zero: usize,
    /// Vectors whose length differs from that of most.
    other_length: usize,
}

/// Advice for rebuilding all vectors with the present model.
pub const REMAKE: &str =
    "`cortex invalidate '//types/...:embedding'` and then `cortex build //index:vectors` rebuild all vectors with the present model";

struct VectorRow<'b> {
    key: &'b str,
    bytes: &'b [u8],
    /// Reciprocal of the vector's length.
    scale: f32,
    /// Reciprocal of the vector's length after the mean is subtracted.
    centred_scale: f32,
}

/// Two types that are nearly the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair<'b> {
    /// Cosine of the types' vectors, at most 1.
    pub likeness: f32,
    /// Key of the first type by name.
    pub one: &'b str,
    /// Key of the other type.
    pub other: &'b str,
}

/// Weight of the prior: this number of vectors without a common part is added, because the common part of a few types is their subject.
const TYPES_OF_PRIOR: f32 = 20.0;
/// Bits that two signatures must share in one of their parts to be compared, and the number of parts.
const BITS: usize = 10;
const PARTS: usize = 24;
/// Limit of types of one side that a type is compared with.
const MOST_COMPARED: usize = 500;

impl<'b> Vectors<'b> {
    /// Opens the vectors in the table `//index:vectors` of the types for which `is_meant` holds. If their lengths differ, as for a while after a
    /// change of the model, the most frequent length counts; [`Vectors::notes`] reports the excluded ones. `None` when the bytes are not a table.
    pub fn from_table(table: &'b [u8], is_meant: impl Fn(&str) -> bool) -> Option<Self> {
        let all: Vec<(&str, &[u8])> = Table::open(table)?.rows().filter(|(key, _)| is_meant(key)).collect();
        let mut left_out = LeftOut::default();
        let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
        for (_, bytes) in &all {
            match bytes.iter().any(|byte| *byte != 0) {
                true => *lengths.entry(bytes.len()).or_default() += 1,
                false if bytes.is_empty() => left_out.withheld += 1,
                false => left_out.zero += 1,
            }
        }
        let length = lengths.into_iter().max_by_key(|(_, count)| *count).map_or(0, |(length, _)| length);
        let mut rows: Vec<VectorRow<'b>> = all
            .iter()
            .filter(|(_, bytes)| bytes.len() == length && bytes.iter().any(|byte| *byte != 0))
            .map(|(key, bytes)| VectorRow {
                key,
                bytes,
                scale: 1.0 / dot(bytes, bytes).sqrt(),
                centred_scale: 0.0,
            })
            .collect();
        left_out.other_length = all.len() - rows.len() - left_out.withheld - left_out.zero;
        let mut mean = vec![0.0; length];
        for row in &rows {
            mean.iter_mut()
                .zip(row.bytes)
                .for_each(|(sum, byte)| *sum += number_of_byte(*byte) * row.scale);
        }
        mean.iter_mut().for_each(|sum| *sum /= rows.len() as f32 + TYPES_OF_PRIOR);
        let mean_square: f32 = mean.iter().map(|number| number * number).sum();
        for row in &mut rows {
            // |u - m|² of a vector u of length 1.
            let square = 1.0 - 2.0 * row.scale * against(row.bytes, &mean) + mean_square;
            row.centred_scale = if square > 1e-6 { 1.0 / square.sqrt() } else { 0.0 };
        }
        Some(Self { rows, mean, left_out })
    }

    /// Creates an empty set.
    pub fn none() -> Self {
        Self {
            rows: Vec::new(),
            mean: Vec::new(),
            left_out: LeftOut::default(),
        }
    }

    /// Describes the types that are not compared: one sentence per reason.
    pub fn describe_uncompared(&self) -> Vec<String> {
        let LeftOut {
            withheld,
            zero,
            other_length,
        } = self.left_out;
        let length = self.mean.len();
        let notes = [
            (withheld, "a file that is not sent to a model".to_owned()),
            (zero, format!("a vector of zeros alone; {REMAKE}")),
            (
                other_length,
                format!("a vector that has not {length} numbers, as most have; {REMAKE}"),
            ),
        ];
        let counted = notes.into_iter().filter(|(count, _)| *count > 0);
        counted
            .map(|(count, why)| match count {
                1 => format!("1 type is left out because of {why}"),
                count => format!("{count} types are left out because of {why}"),
            })
            .collect()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the types by their nearness to a text's vector, nearest first, with the cosine; equal ones by name. `None` when the vector's length
    /// differs: another model computed it.
    pub fn types_by_nearness(&self, query: &Vector) -> Option<Vec<(f32, &'b str)>> {
        let numbers: Vec<f32> = query.numbers().iter().map(|number| f32::from(*number)).collect();
        if numbers.len() != self.mean.len() {
            return self.is_empty().then(Vec::new);
        }
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        if length == 0.0 {
            return Some(Vec::new());
        }
        let direction: Vec<f32> = numbers.iter().map(|number| number / length).collect();
        let of_mean: f32 = direction.iter().zip(&self.mean).map(|(one, other)| one * other).sum();
        let near = |row: &VectorRow<'b>| (against(row.bytes, &direction) * row.scale - of_mean) * row.centred_scale;
        let mut found: Vec<(f32, &str)> = self.rows.par_iter().map(|row| (near(row), row.key)).collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
        Some(found)
    }

    /// Returns the pairs of types with a cosine of at least `least`, most similar first. Only types on the same sides of the same planes are compared
    /// (random hyperplanes: Charikar 2002), so a rare pair near the bound may be missed. Of types with equal vectors, each is paired with the first
    /// one only, and a type is compared with [`MOST_COMPARED`] others of its side: a thousand copies do not give half a million pairs.
    pub fn pairs(&self, least: f32) -> Vec<Pair<'b>> {
        let planes = planes(self.mean.len());
        let centred: Vec<Vec<f32>> = self.rows.par_iter().map(|row| self.centred(row)).collect();
        let parts: Vec<Vec<u32>> = centred.par_iter().map(|vector| signature(vector, &planes)).collect();
        let mut firsts: BTreeMap<&[u8], usize> = BTreeMap::new();
        let first: Vec<usize> = (0..)
            .zip(&self.rows)
            .map(|(at, row)| *firsts.entry(row.bytes).or_insert(at))
            .collect();
        let copies = first.iter().copied().zip(0..).filter(|(first, at)| first != at);
        let compared: BTreeSet<(usize, usize)> = (0..PARTS)
            .into_par_iter()
            .map(|part| {
                let mut same: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
                parts
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| first[*at] == *at)
                    .for_each(|(at, signature)| same.entry(signature[part]).or_default().push(at));
                let mut near = BTreeSet::new();
                for group in same.values() {
                    for (at, one) in group.iter().enumerate() {
                        near.extend(
                            group[at + 1..]
                                .iter()
                                .take(MOST_COMPARED)
                                .filter(|other| cosine(&centred[*one], &centred[**other]) >= least)
                                .map(|other| (*one, *other)),
                        );
                    }
                }
                near
            })
            .reduce(BTreeSet::new, |mut all, more| {
                all.extend(more);
                all
            });
        let mut pairs: Vec<Pair<'b>> = compared
            .into_iter()
            .chain(copies)
            .map(|(one, other)| Pair {
                likeness: cosine(&centred[one], &centred[other]).min(1.0),
                one: self.rows[one].key,
                other: self.rows[other].key,
            })
            .collect();
        pairs.sort_by(|one, other| {
            other
                .likeness
                .total_cmp(&one.likeness)
                .then((one.one, one.other).cmp(&(other.one, other.other)))
        });
        pairs
    }

    fn centred(&self, row: &VectorRow<'b>) -> Vec<f32> {
        let numbers = row.bytes.iter().zip(&self.mean);
        numbers
            .map(|(byte, mean)| (number_of_byte(*byte) * row.scale - mean) * row.centred_scale)
            .collect()
    }
}

fn number_of_byte(byte: u8) -> f32 {
    f32::from(i8::from_le_bytes([byte]))
}

fn dot(one: &[u8], other: &[u8]) -> f32 {
    one.iter()
        .zip(other)
        .map(|(one, other)| number_of_byte(*one) * number_of_byte(*other))
        .sum()
}

fn against(bytes: &[u8], direction: &[f32]) -> f32 {
    bytes.iter().zip(direction).map(|(byte, other)| number_of_byte(*byte) * other).sum()
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Rounds a likeness for display.
pub fn to_two_digits(likeness: f32) -> f64 {
    (f64::from(likeness) * 100.0).round() / 100.0
}

/// Returns planes through the origin, the same for every workspace: a row of signs each.
fn planes(length: usize) -> Vec<Vec<bool>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bit = || {
        // Xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state & (1 << 40) != 0
    };
    (0..BITS * PARTS).map(|_| (0..length).map(|_| bit()).collect()).collect()
}

/// Returns the side of each plane that a vector is on, [`BITS`] per part.
fn signature(vector: &[f32], planes: &[Vec<bool>]) -> Vec<u32> {
    let side = |plane: &Vec<bool>| {
        vector
            .iter()
            .zip(plane)
            .map(|(number, sign)| if *sign { *number } else { -number })
            .sum::<f32>()
            >= 0.0
    };
    planes
        .chunks(BITS)
        .map(|part| part.iter().fold(0, |bits, plane| bits << 1 | u32::from(side(plane))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::values::table::write_table;
    use producers::embedding::subwords::embed;
    use proptest::prelude::*;

    fn table(texts: &[(&str, &str)]) -> Vec<u8> {
        let rows: BTreeMap<&str, Vec<u8>> = texts
            .iter()
            .map(|(key, text)| (*key, Vector::from_numbers(&embed(&[(1.0, text)], 256)).to_bytes()))
            .collect();
        write_table(&rows)
    }

    const TEXTS: [(&str, &str); 5] = [
        ("A.Cache", "keeps what was computed and evicts what is old"),
        ("A.Http", "sends requests over the network and reads responses"),
        ("A.Json", "serializes objects to text and parses them"),
        ("A.JsonCopy", "serializes objects to text and parses it"),
        ("A.Queue", "work waits here until a thread takes it"),
    ];

    #[test]
    fn types_that_share_words_are_nearest() {
        let table = table(&TEXTS);
        let vectors = Vectors::from_table(&table, |_| true).unwrap();
        let near = vectors
            .types_by_nearness(&Vector::from_numbers(&embed(&[(1.0, "network request")], 256)))
            .unwrap();
        assert_eq!(near[0].1, "A.Http");
        assert_eq!(near.len(), 5);
        assert_eq!(vectors.types_by_nearness(&Vector::from_numbers(&[1.0, 2.0])), None, "another model");
        assert_eq!(vectors.types_by_nearness(&Vector::from_numbers(&[0.0; 256])), Some(Vec::new()));
    }

    #[test]
    fn types_that_are_nearly_the_same_are_a_pair() {
        let table = table(&TEXTS);
        let pairs = Vectors::from_table(&table, |_| true).unwrap().pairs(0.8);
        assert_eq!(
            pairs.iter().map(|pair| (pair.one, pair.other)).collect::<Vec<_>>(),
            [("A.Json", "A.JsonCopy")]
        );
    }

    #[test]
    fn copies_are_pairs_with_the_first_of_them() {
        let table = table(&[("A", "sends mail"), ("B", "sends mail"), ("C", "sends mail"), ("D", "draws lines")]);
        let pairs = Vectors::from_table(&table, |_| true).unwrap().pairs(0.9);
        assert_eq!(
            pairs.iter().map(|pair| (pair.one, pair.other)).collect::<Vec<_>>(),
            [("A", "B"), ("A", "C")]
        );
        assert!(
            Vectors::from_table(&table, |key| key != "A" && key != "B")
                .unwrap()
                .pairs(0.9)
                .is_empty()
        );
    }

    #[test]
    fn vectors_that_are_not_compared_are_counted() {
        let vector = |numbers: &[f32]| Vector::from_numbers(numbers).to_bytes();
        let rows = BTreeMap::from([
            ("A", vector(&[1.0, 0.5])),
            ("B", vector(&[0.5, 1.0])),
            ("C", vector(&[1.0, 1.0, 1.0])),
            ("D", vector(&[])),
            ("E", vector(&[0.0, 0.0])),
            ("F", vector(&[0.0, 0.0, 0.0])),
        ]);
        let table = write_table(&rows);
        let vectors = Vectors::from_table(&table, |_| true).unwrap();
        let left_out = LeftOut {
            withheld: 1,
            zero: 2,
            other_length: 1,
        };
        assert_eq!((vectors.len(), vectors.left_out), (2, left_out));
        let notes = vectors.describe_uncompared().join("\n");
        for part in [
            "1 type is left out because of a file",
            "2 types are left out because of a vector of zeros",
            "has not 2 numbers",
        ] {
            assert!(notes.contains(part), "{notes}");
        }
        assert!(
            Vectors::from_table(&table, |key| key < "C")
                .unwrap()
                .describe_uncompared()
                .is_empty()
        );
    }

    #[test]
    fn none_and_nothing_are_near_nothing() {
        let empty = write_table(&BTreeMap::<&str, Vec<u8>>::new());
        let vectors = Vectors::from_table(&empty, |_| true).unwrap();
        assert!(vectors.is_empty() && vectors.pairs(0.5).is_empty());
        assert_eq!(vectors.types_by_nearness(&Vector::from_numbers(&[1.0])), Some(Vec::new()));
        assert!(Vectors::from_table(b"no table", |_| true).is_none());
    }

    proptest! {
        /// Comparing the bytes gives the textbook cosine of the centred vectors.
        #[test]
        fn nearness_is_the_cosine_of_what_is_left_without_the_mean(rows in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 8), 2..8), query in prop::collection::vec(-1.0_f32..1.0, 8)) {
            let vectors: Vec<Vector> = rows.iter().map(|row| Vector::from_numbers(row)).collect();
            let table = write_table(&vectors.iter().enumerate().map(|(at, vector)| (format!("T{at}"), vector.to_bytes())).collect());
            let unit = |vector: &Vector| {
                let length = vector.numbers().iter().map(|n| f64::from(*n).powi(2)).sum::<f64>().sqrt();
                vector.numbers().iter().map(|n| f64::from(*n) / length).collect::<Vec<f64>>()
            };
            let units: Vec<Vec<f64>> = vectors.iter().map(unit).collect();
            let query = Vector::from_numbers(&query);
            prop_assume!(query.numbers().iter().any(|n| *n != 0) && units.iter().flatten().all(|n| n.is_finite()));
            let mean: Vec<f64> = (0..8).map(|d| units.iter().map(|u| u[d]).sum::<f64>() / (units.len() as f64 + 20.0)).collect();
            let near = Vectors::from_table(&table, |_| true).unwrap().types_by_nearness(&query).unwrap();
            for (cosine, key) in near {
                let at: usize = key[1..].parse().unwrap();
                let centred: Vec<f64> = units[at].iter().zip(&mean).map(|(u, m)| u - m).collect();
                let length = centred.iter().map(|n| n * n).sum::<f64>().sqrt();
                prop_assume!(length > 0.05);
                let expected = centred.iter().zip(unit(&query)).map(|(one, other)| one * other).sum::<f64>() / length;
                prop_assert!((expected - f64::from(cosine)).abs() < 1e-3, "{} {}", expected, cosine);
            }
        }
    }
}
