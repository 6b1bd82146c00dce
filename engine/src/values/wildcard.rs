//! Wildcards: `*` matches any run of characters, `?` one. Everything else matches itself; separators have no special meaning.

/// A text with wildcards.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wildcard {
    text: Box<str>,
}

impl Wildcard {
    /// Creates the pattern of a text.
    pub fn new(text: &str) -> Self {
        Self { text: text.into() }
    }

    /// Returns the pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches only itself.
    pub fn is_plain(&self) -> bool {
        !self.text.contains(['*', '?'])
    }

    /// Whether it matches the whole text.
    ///
    /// Searches each run of text between two stars once, leftmost, and never again: a later star may match what an earlier one leaves.
    /// Takes linear time for runs without `?`, run length × text length otherwise.
    pub fn matches(&self, text: &str) -> bool {
        let Some((head, rest)) = self.text.split_once('*') else {
            return prefix_len(&self.text, text) == Some(text.len());
        };
        let Some(start) = prefix_len(head, text) else {
            return false;
        };
        let mut left = &text[start..];
        let (middle, tail) = rest.rsplit_once('*').map_or((None, rest), |(middle, tail)| (Some(middle), tail));
        for run in middle.unwrap_or_default().split('*').filter(|run| !run.is_empty()) {
            let Some(end) = find_run(run, left) else {
                return false;
            };
            left = &left[end..];
        }
        suffix_fits(tail, left)
    }
}

/// Returns the byte length of the prefix of `text` that `run` (with `?`) matches.
fn prefix_len(run: &str, text: &str) -> Option<usize> {
    let mut chars = text.chars();
    for wanted in run.chars() {
        let c = chars.next()?;
        if wanted != '?' && wanted != c {
            return None;
        }
    }
    Some(text.len() - chars.as_str().len())
}

/// Returns the end of the leftmost match of `run`.
fn find_run(run: &str, text: &str) -> Option<usize> {
    if !run.contains('?') {
        return text.find(run).map(|at| at + run.len());
    }
    text.char_indices()
        .find_map(|(at, _)| prefix_len(run, &text[at..]).map(|len| at + len))
}

fn suffix_fits(run: &str, text: &str) -> bool {
    let mut chars = text.chars().rev();
    run.chars()
        .rev()
        .all(|wanted| chars.next().is_some_and(|c| wanted == '?' || wanted == c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, computed literally.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|skip| naive(rest, &text[skip..])),
            Some((wanted, rest)) => text
                .split_first()
                .is_some_and(|(c, text)| (*wanted == '?' || wanted == c) && naive(rest, text)),
        }
    }

    proptest! {
        #[test]
        fn wildcards_mean_what_they_say(pattern in "[ab*?]{0,8}", text in "[abé]{0,8}") {
            let expected = naive(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>());
            prop_assert_eq!(Wildcard::new(&pattern).matches(&text), expected);
        }
    }
}
