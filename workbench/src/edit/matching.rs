//! Exact substring search; overlapping occurrences count. Time is linear in the lengths for any input.

use memchr::memmem;

/// Occurrences to search for one by one, which is fast for a few; after them, a search by the needle's own repetitions takes over.
const ONE_BY_ONE: usize = 256;

/// Occurrences of a needle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occurrences {
    pub count: usize,
    /// Offsets of the requested ones, in bytes.
    pub at: Vec<usize>,
}

/// Counts all occurrences and returns the offsets of `most` of them from number `from` (from 0) on. An empty needle never occurs.
pub fn find_occurrences(text: &str, needle: &str, from: usize, most: usize) -> Occurrences {
    let mut found = Occurrences::default();
    if needle.is_empty() {
        return found;
    }
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    let mut note = |at: usize| {
        if found.count >= from && found.at.len() < most {
            found.at.push(at);
        }
        found.count += 1;
    };
    let finder = memmem::Finder::new(needle);
    let mut start = 0;
    for _ in 0..ONE_BY_ONE {
        match finder.find(&text[start..]) {
            None => return found,
            Some(at) => {
                note(start + at);
                start += at + 1;
            }
        }
    }
    repetitions(&text[start..], needle, |at| note(start + at));
    found
}

/// Knuth-Morris-Pratt search; calls `seen` for every occurrence.
fn repetitions(text: &[u8], needle: &[u8], mut seen: impl FnMut(usize)) {
    // borders[i]: length of the longest proper border of needle[..=i]. Files are far smaller than 4 GiB.
    let mut borders = vec![0_u32; needle.len()];
    let mut length = 0_usize;
    for at in 1..needle.len() {
        while length > 0 && needle[at] != needle[length] {
            length = borders[length - 1] as usize;
        }
        length += usize::from(needle[at] == needle[length]);
        borders[at] = u32::try_from(length).unwrap_or(u32::MAX);
    }
    let mut length = 0;
    for (at, byte) in text.iter().enumerate() {
        while length > 0 && (length == needle.len() || *byte != needle[length]) {
            length = borders[length - 1] as usize;
        }
        length += usize::from(*byte == needle[length]);
        if length == needle.len() {
            seen(at + 1 - length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_in_a_needle_is_special() {
        for needle in ["$&", "a.*b", "\\n", "[[SEL#1]]", "日本", "😀\t|`", "^"] {
            let text = format!("é日😀 {needle} and {needle}");
            assert_eq!(find_occurrences(&text, needle, 0, 9).count, 2, "{needle}");
        }
        assert_eq!(find_occurrences("abc", "", 0, 9), Occurrences::default());
        assert_eq!(find_occurrences("abc", "abc", 0, 9).at, [0]);
    }

    #[test]
    fn long_repetitions_take_no_square_of_time() {
        let (text, needle) = ("a".repeat(4 << 20), "a".repeat(2 << 20));
        let found = find_occurrences(&text, &needle, 5, 2);
        assert_eq!((found.count, found.at), ((2 << 20) + 1, vec![5, 6]));
    }

    proptest! {
        #[test]
        fn as_a_naive_search(text in "[ab]{0,700}", needle in "[ab]{1,3}", from in 0_usize..400) {
            let naive: Vec<usize> = (0..text.len()).filter(|at| text[*at..].starts_with(&needle)).collect();
            let found = find_occurrences(&text, &needle, from, 7);
            prop_assert_eq!(found.count, naive.len());
            prop_assert_eq!(found.at, naive.into_iter().skip(from).take(7).collect::<Vec<_>>());
        }
    }
}
