//! The short identifiers of all types as a Bloom filter. It nearly always shows that no type has a new identifier, without reading their table.
//! `csharp/types` keeps it as its memo.

use std::sync::Arc;

/// Bits per identifier at first. With [`PROBES`], about one of 200 unknown identifiers may be contained.
const BITS: usize = 16;

/// Number of bits that an identifier sets.
const PROBES: u64 = 3;

/// Length of an identifier of the usual form.
const SHORT_ID: usize = "T_".len() + 8;

/// A set of identifiers that may contain further ones.
pub(super) struct ShortIds(Vec<u8>);

impl ShortIds {
    /// Creates the set of these identifiers.
    pub(super) fn of_ids<'a>(ids: impl ExactSizeIterator<Item = &'a [u8]>) -> Self {
        let mut set = Self(vec![0; (ids.len() * BITS / 8).next_power_of_two()]);
        ids.for_each(|id| set.add(id));
        set
    }

    /// Reads the memo of a table; `None` if it has none.
    pub(super) fn from_memo(memo: &[u8]) -> Option<Self> {
        memo.len().is_power_of_two().then(|| Self(memo.to_vec()))
    }

    /// Returns the set as a memo.
    pub(super) fn into_memo(self) -> Arc<[u8]> {
        self.0.into()
    }

    /// Adds an identifier.
    pub(super) fn add(&mut self, id: &[u8]) {
        for bit in self.bits_of(id) {
            self.0[bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Whether the set may contain an identifier.
    pub(super) fn may_contain(&self, id: &[u8]) -> bool {
        self.bits_of(id).into_iter().all(|bit| self.0[bit / 8] >> (bit % 8) & 1 == 1)
    }

    /// Returns the bits of an identifier. Stored, so they never change: 64-bit FNV-1a in two halves.
    fn bits_of(&self, id: &[u8]) -> [usize; PROBES as usize] {
        let hash = id.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let last = self.0.len() as u64 * 8 - 1;
        std::array::from_fn(|probe| ((hash >> 32).wrapping_add((hash | 1).wrapping_mul(probe as u64)) & last) as usize)
    }
}

/// Returns the start of the identifier in a row's bytes without decoding it: quotes within strings are escaped, so no string contains this field.
pub(super) fn id_in(row: &[u8]) -> Option<&[u8]> {
    const FIELD: &[u8] = br#""id":""#;
    let at = memchr::memmem::find(row, FIELD)? + FIELD.len();
    row.get(at..at + SHORT_ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_its_identifiers_and_few_others() {
        let id = |number: u32| format!("T_{number:08}").into_bytes();
        let ids: Vec<Vec<u8>> = (0..1_000).map(id).collect();
        let mut set = ShortIds::of_ids(ids.iter().map(Vec::as_slice));
        set.add(&id(1_000));
        let set = ShortIds::from_memo(&set.into_memo()).expect("a set");
        assert!((0..=1_000).all(|number| set.may_contain(&id(number))));
        let others = (2_000..12_000).filter(|&number| set.may_contain(&id(number))).count();
        assert!(others < 500, "{others} of 10,000");
        assert!(ShortIds::from_memo(&[]).is_none());
    }
}
