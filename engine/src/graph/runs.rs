//! Lists of node numbers as runs: nodes of one rule mostly have consecutive numbers.
//!
//! Each run is two numbers (LEB128): the distance of its first number from the end of the run before, modulo 2^32, sign in the lowest bit; and its
//! length.

use super::numbers::{Cursor, write_number};

/// Limit of numbers in a list, so that damage cannot request more memory.
const MOST: usize = 1 << 24;

pub fn to_bytes(numbers: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut end = 0_u32;
    for run in numbers.chunk_by(|one, next| one.checked_add(1) == Some(*next)) {
        let distance = run[0].wrapping_sub(end).cast_signed();
        write_number(&mut bytes, (distance << 1 ^ distance >> 31).cast_unsigned());
        write_number(&mut bytes, run.len() as u32);
        end = run[0].wrapping_add(run.len() as u32);
    }
    bytes
}

/// Decodes [`to_bytes`]; `None` if malformed.
pub fn from_bytes(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut cursor = Cursor(bytes);
    let (mut runs, mut total) = (Vec::new(), 0);
    let mut end = 0_u32;
    while !cursor.0.is_empty() {
        let distance = cursor.read_number()?;
        let first = end.wrapping_add(distance >> 1 ^ (distance & 1).wrapping_neg());
        let count = cursor.read_number()?;
        let last = first.checked_add(count.checked_sub(1)?)?;
        total += count as usize;
        if total > MOST {
            return None;
        }
        runs.push(first..=last);
        end = last.wrapping_add(1);
    }
    let mut numbers = Vec::with_capacity(total);
    runs.into_iter().for_each(|run| numbers.extend(run));
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn consecutive_numbers_take_two_short_numbers() {
        assert!(to_bytes(&[]).is_empty());
        assert_eq!(to_bytes(&[5, 6, 7, 3]), [10, 3, 9, 1]);
        let all: Vec<u32> = (0..200_000).collect();
        assert!(to_bytes(&all).len() < 8);
    }

    proptest! {
        #[test]
        fn lists_are_read_as_written(runs in proptest::collection::vec((any::<u32>(), 1u32..5), 0..40)) {
            let numbers: Vec<u32> = runs.iter().flat_map(|&(first, len)| (0..len).map(move |at| first.wrapping_add(at))).collect();
            prop_assert_eq!(from_bytes(&to_bytes(&numbers)), Some(numbers));
        }

        #[test]
        fn malformed_lists_are_refused(bytes in proptest::collection::vec(prop_oneof![0u8..8, any::<u8>()], 0..5)) {
            if let Some(numbers) = from_bytes(&bytes) {
                prop_assert!(numbers.len() <= MOST);
            }
        }
    }
}
