//! One row of the member index, read by halves: lines of types first, then members, both sorted by key.
//!
//! A row such as that of `Id` has a part of thousands of types, and a type that mentions the word wants the lines of a few of them. What
//! is not text reads as nothing.

/// A row: its lines as [`super::member_index`] writes them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row<'a> {
    /// Lines of types.
    pub types: &'a [u8],
    members: &'a [u8],
}

impl<'a> Row<'a> {
    /// The row in these bytes.
    pub fn of(bytes: &'a [u8]) -> Self {
        let (types, members) = bytes.split_at(first_line(bytes, |line| line.starts_with(b"=")));
        Self { types, members }
    }

    /// What stands behind the key in the line of a type.
    pub fn type_line(&self, key: &str) -> Option<&'a str> {
        lines_of(self.types, key).next().map(|(_, rest)| rest)
    }

    /// What stands behind the key in the lines of a type's members, or of its constructors.
    pub fn members_of(&self, key: &str, constructors: bool) -> impl Iterator<Item = &'a str> + use<'a> {
        lines_of(self.members, key)
            .filter(move |(line, _)| line.starts_with(b".") == constructors)
            .map(|(_, rest)| rest)
    }

    /// Keys and lines of all members that are no constructors.
    pub fn members(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        lines(self.members)
            .filter(|line| !line.starts_with(b"."))
            .filter_map(|line| std::str::from_utf8(line).ok()?.split_once('\t'))
    }

    /// Keys and lines of its extension methods.
    pub fn extensions(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let members = self.members;
        memchr::memmem::find_iter(members, b"\tx").filter_map(move |tab| {
            let start = line_start(members, 0, tab);
            let line = &members[start..line_end(members, tab)];
            // A later field of another member may begin with the letter, too.
            let (key, rest) = std::str::from_utf8(line).ok()?.split_once('\t')?;
            (start + key.len() == tab && !key.starts_with('.')).then_some((key, rest))
        })
    }
}

/// The key that a line begins with, behind its mark.
fn key(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(b"=").or_else(|| line.strip_prefix(b".")).unwrap_or(line);
    &line[..memchr::memchr(b'\t', line).unwrap_or(line.len())]
}

/// Lines with a key, and what stands behind it.
fn lines_of<'a>(text: &'a [u8], wanted: &str) -> impl Iterator<Item = (&'a [u8], &'a str)> + use<'a> {
    let start = first_line(text, |line| key(line) < wanted.as_bytes());
    let length = wanted.len();
    let same = lines(&text[start..]).take_while({
        let wanted = wanted.to_owned();
        move |line| key(line) == wanted.as_bytes()
    });
    same.filter_map(move |line| {
        let mark = usize::from(line.starts_with(b"=") || line.starts_with(b"."));
        Some((line, std::str::from_utf8(line.get(mark + length + 1..)?).ok()?))
    })
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (line, behind) = rest.split_at_checked(line_end(rest, 0)).filter(|_| !rest.is_empty())?;
        rest = behind.strip_prefix(b"\n").unwrap_or(behind);
        Some(line)
    })
}

/// Where the first line begins of which `before` does not hold; it must hold of all lines up to one and of none from there.
fn first_line(text: &[u8], before: impl Fn(&[u8]) -> bool) -> usize {
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let (start, end) = (line_start(text, low, middle), line_end(text, middle));
        if before(&text[start..end]) {
            low = (end + 1).min(high);
        } else {
            high = start;
        }
    }
    low
}

/// Where the line with the byte at `at` begins, `low` or later.
fn line_start(text: &[u8], low: usize, at: usize) -> usize {
    memchr::memrchr(b'\n', &text[low..at]).map_or(low, |newline| low + newline + 1)
}

fn line_end(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const TEXT: &str =
        "=N.A\tc\tN\tid\t\n=N.Z\ti\tN\tid2\tN.A\n.N.A\tm\t0\t?\t\nN.A\tp\t0\t~System.Int32\t\nN.A`1\tp\t0\tx.Y\t\nN.E\txs\t0\t?\tN.A\n";

    #[test]
    fn lines_are_found_by_their_key() {
        let row = Row::of(TEXT.as_bytes());
        assert_eq!(row.type_line("N.Z"), Some("i\tN\tid2\tN.A"));
        assert_eq!((row.type_line("N.E"), row.type_line("N")), (None, None));
        let of = |key: &str, constructors| row.members_of(key, constructors).collect::<Vec<_>>();
        assert_eq!(of("N.A", false), ["p\t0\t~System.Int32\t"]);
        assert_eq!(of("N.A", true), ["m\t0\t?\t"]);
        assert_eq!(of("N.A`1", false), ["p\t0\tx.Y\t"]);
        assert!(of("N.A`", false).is_empty());
        assert_eq!(row.extensions().collect::<Vec<_>>(), [("N.E", "xs\t0\t?\tN.A")]);
        assert_eq!(row.members().map(|(key, _)| key).collect::<Vec<_>>(), ["N.A", "N.A`1", "N.E"]);
    }

    proptest! {
        #[test]
        fn any_row_reads_as_line_by_line(types: BTreeSet<String>, members in prop::collection::btree_map("[a-cx]{1,3}", prop::collection::vec("[mxp]\t[x\t]{0,2}", 1..3), 0..20)) {
            let types: BTreeSet<String> = types.into_iter().filter(|key| !key.contains(['\n', '\t', '='])).collect();
            let mut text: String = types.iter().map(|key| format!("={key}\tc {key}\n")).collect();
            for (key, rests) in &members {
                for (at, rest) in rests.iter().enumerate() {
                    text.push_str(&format!("{}{key}\t{rest}\n", if at == 1 { "." } else { "" }));
                }
            }
            let row = Row::of(text.as_bytes());
            for key in &types {
                let expected = format!("c {key}");
                prop_assert_eq!(row.type_line(key), Some(expected.as_str()));
            }
            let mut extensions = BTreeMap::new();
            for (key, rests) in &members {
                prop_assert_eq!(row.members_of(key, false).collect::<Vec<_>>(), [rests[0].as_str()]);
                prop_assert_eq!(row.members_of(key, true).collect::<Vec<_>>(), rests.get(1).map(String::as_str).into_iter().collect::<Vec<_>>());
                if rests[0].starts_with('x') {
                    extensions.insert(key.as_str(), rests[0].as_str());
                }
            }
            prop_assert_eq!(row.extensions().collect::<BTreeMap<_, _>>(), extensions);
        }

        #[test]
        fn any_bytes_are_a_row(bytes: Vec<u8>, key: String) {
            let row = Row::of(&bytes);
            row.type_line(&key);
            let _ = (row.members_of(&key, true).count(), row.members().count(), row.extensions().count());
        }
    }
}
