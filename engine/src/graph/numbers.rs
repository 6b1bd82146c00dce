//! Numbers in stored rows (LEB128): the low seven bits first, each byte but the last one with its highest bit set.

pub(super) fn write_number(body: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        body.push(number as u8 | 0x80);
        number >>= 7;
    }
    body.push(number as u8);
}

/// The unread rest of a row.
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    pub(super) fn next_bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.next_bytes(N)?.try_into().ok()
    }

    pub(super) fn read_number(&mut self) -> Option<u32> {
        // A build reads millions of them, most of two or three bytes: find the last byte of four without a loop.
        if let Some((head, _)) = self.0.split_first_chunk() {
            let word = u32::from_le_bytes(*head);
            let last_bytes = !word & 0x8080_8080;
            if last_bytes != 0 {
                let len = last_bytes.trailing_zeros() / 8 + 1;
                self.0 = &self.0[len as usize..];
                let word = word & u32::MAX >> (32 - 8 * len);
                return Some(word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000 | word >> 3 & 0xfe0_0000);
            }
        }
        self.read_number_by_byte()
    }

    fn read_number_by_byte(&mut self) -> Option<u32> {
        let mut number = 0u32;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            // The fifth byte has the last four bits.
            if shift == 28 && byte > 0x0f {
                return None;
            }
            number |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a count of items of at least one byte each, so that a damaged count cannot request more memory than the page has bytes.
    pub(super) fn read_count(&mut self) -> Option<usize> {
        self.read_number()
            .map(|count| count as usize)
            .filter(|count| *count <= self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fast_and_bytewise_number_readers_agree(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(0x80), Just(0xff)], 0..24)) {
            let (mut fast, mut slow) = (Cursor(&bytes), Cursor(&bytes));
            loop {
                let number = fast.read_number();
                prop_assert_eq!(number, slow.read_number_by_byte());
                if number.is_none() {
                    break;
                }
                prop_assert_eq!(fast.0, slow.0);
            }
        }

        #[test]
        fn numbers_are_read_as_written(shifted in proptest::collection::vec((any::<u32>(), 0u32..32), 0..20)) {
            let numbers: Vec<u32> = shifted.into_iter().map(|(number, shift)| number >> shift).collect();
            let mut body = Vec::new();
            numbers.iter().for_each(|&number| write_number(&mut body, number));
            let mut cursor = Cursor(&body);
            prop_assert_eq!(numbers.iter().map_while(|_| cursor.read_number()).collect::<Vec<_>>(), numbers);
            prop_assert!(cursor.0.is_empty());
        }
    }
}
