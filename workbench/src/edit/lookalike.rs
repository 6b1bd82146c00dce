//! Lookalike and invisible characters: texts that differ only in these look equal, so a message must name the characters.

use std::collections::BTreeSet;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Most characters that a message names per side.
const NAMED: usize = 3;

/// Whether a character is invisible: joiners, soft hyphens, the byte order mark.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// Whether a character is a space other than U+0020.
fn is_space(c: char) -> bool {
    !c.is_ascii() && c.is_whitespace() && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Normalizes a text to its appearance: composed accents, one kind of space, no invisible characters. Line ends stay.
pub(super) fn normalize_appearance(text: &str) -> String {
    let spaced = |c| if is_space(c) { ' ' } else { c };
    text.nfc().filter(|c| !is_unseen(*c)).map(spaced).collect()
}

/// Describes the lookalike characters in which two texts differ, as the end of a sentence.
pub(super) fn describe_lookalikes(held: &str, file: &str, wanted: &str) -> String {
    let odd = |text: &str| -> BTreeSet<char> {
        let is_odd = |c: &char| is_unseen(*c) || is_space(*c) || is_combining_mark(*c) || std::iter::once(*c).nfd().count() > 1;
        text.chars().filter(is_odd).collect()
    };
    let (in_file, in_wanted) = (odd(file), odd(wanted));
    let list = |own: &BTreeSet<char>, other: &BTreeSet<char>| -> String {
        let names: Vec<String> = own.difference(other).take(NAMED).map(|c| name_of_character(*c)).collect();
        names.join(", ")
    };
    match (list(&in_file, &in_wanted).as_str(), list(&in_wanted, &in_file).as_str()) {
        ("", "") => "they occur there in another order or number".to_owned(),
        (file, "") => format!("{held} has {file}, and oldText has not"),
        ("", wanted) => format!("oldText has {wanted}, and {held} has not"),
        (file, wanted) => format!("{held} has {file}, oldText has {wanted}"),
    }
}

fn name_of_character(c: char) -> String {
    let name = match c {
        '\u{a0}' => "no-break space",
        '\u{ad}' => "soft hyphen",
        '\u{200b}' => "zero-width space",
        '\u{202f}' => "narrow no-break space",
        '\u{3000}' => "wide space",
        '\u{feff}' => "byte order mark",
        _ if is_unseen(c) => "a joiner",
        _ if is_space(c) => "a space",
        _ if is_combining_mark(c) => "an accent of its own",
        _ => return format!("{c} as one character (U+{:04X})", u32::from(c)),
    };
    format!("U+{:04X} ({name})", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_look_equal_are_named() {
        assert_eq!(normalize_appearance("a\u{a0}b\u{200b}\n\u{feff}e\u{301}"), "a b\n\u{e9}");
        for (file, wanted, said) in [
            ("a\u{a0}b", "a b", "the file has U+00A0 (no-break space), and oldText has not"),
            ("a b", "\u{feff}a b", "oldText has U+FEFF (byte order mark), and the file has not"),
            (
                "\u{e9}",
                "e\u{301}",
                "the file has \u{e9} as one character (U+00E9), oldText has U+0301 (an accent of its own)",
            ),
            ("a\u{a0} b", "a \u{a0}b", "they occur there in another order or number"),
        ] {
            assert_eq!(normalize_appearance(file), normalize_appearance(wanted));
            assert_eq!(describe_lookalikes("the file", file, wanted), said);
        }
    }
}
