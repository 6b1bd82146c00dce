//! Case folding: names that differ only in case count as equal where a person types one.
//!
//! Works like .NET's `OrdinalIgnoreCase`: it maps each character to its upper-case form if that is one character, in any language.
//! Characters outside ASCII never become ASCII (`ı` is not `I`), and `ß` is not `SS`.

/// Returns the character that represents all its cases.
pub fn fold(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_uppercase();
    }
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) if one.is_ascii() => c,
        (Some(one), None) => one,
        // Greek letters with an iota below have one title-case form, but two characters in upper case. The lower-case form represents both.
        _ => {
            let mut lower = c.to_lowercase();
            lower.next().filter(|_| lower.next().is_none()).unwrap_or(c)
        }
    }
}

/// Folds every character of a text.
pub fn folded(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_ascii_uppercase(),
        false => text.chars().map(fold).collect(),
    }
}

/// Whether two texts differ at most in case.
pub fn same(one: &str, other: &str) -> bool {
    match one.is_ascii() && other.is_ascii() {
        true => one.eq_ignore_ascii_case(other),
        false => one.chars().map(fold).eq(other.chars().map(fold)),
    }
}

/// Strips `end` from a text, ignoring case; `None` if the text does not end so.
pub fn strip_end<'t>(text: &'t str, end: &str) -> Option<&'t str> {
    let mut rest = text.chars();
    let ends = end
        .chars()
        .rev()
        .all(|wanted| rest.next_back().is_some_and(|c| c == wanted || fold(c) == fold(wanted)));
    ends.then_some(rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn case_folding_equals_dotnet() {
        for (one, other, expected) in [
            ("NodeStore", "nodeSTORE", true),
            ("Größe", "GRÖßE", true),
            ("Größe", "GRÖSSE", false),
            ("ÉTAT", "état", true),
            ("ΣΊΣΥΦΟΣ", "σίσυφος", true),
            ("Дом", "дОМ", true),
            ("ᾀ", "ᾈ", true),
            ("ǆ", "ǅ", true),
            ("ⱥ", "Ⱥ", true),
            // The Turkish letters, the long s and the Kelvin sign are letters of their own.
            ("ı", "I", false),
            ("İ", "i", false),
            ("ſ", "S", false),
            ("\u{212a}", "k", false),
            ("ẞ", "ß", false),
            ("A", "AB", false),
        ] {
            assert_eq!(same(one, other), expected, "{one} {other}");
            assert_eq!(folded(one) == folded(other), expected, "{one} {other}");
        }
        assert_eq!(strip_end("Core.GRÖßE", "größe"), Some("Core."));
        assert_eq!((strip_end("ße", "xße"), strip_end("a", "")), (None, Some("a")));
    }

    proptest! {
        #[test]
        fn folding_is_idempotent(text in "\\PC{0,8}") {
            let once = folded(&text);
            prop_assert_eq!(folded(&once), once.clone());
            prop_assert!(same(&text, &once));
            prop_assert_eq!(strip_end(&text, &once), Some(""));
        }
    }
}
