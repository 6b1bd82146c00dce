//! Finds the tokens that spell given attributes.

use super::lexer::{Token, lex};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Returns, for each text, the token ranges within `range` that spell it, in file order; an empty list if none does. Time is proportional to
/// the length of the range times the number of distinct token counts of the texts.
pub fn find<'t>(texts: &'t [String], tokens: &[Token], source: &str, range: &Range<usize>) -> BTreeMap<&'t str, Vec<Range<usize>>> {
    if texts.is_empty() {
        return BTreeMap::new();
    }
    let mut by_length: BTreeMap<usize, FxHashMap<Vec<&str>, &'t str>> = BTreeMap::new();
    for text in texts.iter().collect::<BTreeSet<_>>() {
        let spelled: Vec<&str> = lex(text).tokens.iter().map(|token| token.text(text)).collect();
        by_length.entry(spelled.len()).or_default().insert(spelled, text);
    }
    let mut found: BTreeMap<&str, Vec<Range<usize>>> = texts.iter().map(|text| (text.as_str(), Vec::new())).collect();
    let written: Vec<&str> = tokens[range.clone()].iter().map(|token| token.text(source)).collect();
    for (length, spelled) in by_length.iter().filter(|(length, _)| **length > 0) {
        for (at, window) in written.windows(*length).enumerate() {
            if let Some(text) = spelled.get(window) {
                let first = range.start + at;
                found.entry(text).or_default().push(first..first + length);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_begin_alike_are_told_apart_and_repeated_ones_all_found() {
        let source = "int x; [A(1)] [A(2), A(1)] [B] void M();";
        let tokens = lex(source).tokens;
        let texts = ["A(1)", "A(2)", "A(1)", "C"].map(str::to_owned);
        let spelled = |range: &Range<usize>| tokens[range.clone()].iter().map(|token| token.text(source)).collect::<String>();
        let found = find(&texts, &tokens, source, &(3..tokens.len()));
        let found: Vec<(&str, Vec<String>)> = found
            .iter()
            .map(|(text, places)| (*text, places.iter().map(spelled).collect()))
            .collect();
        let twice = vec!["A(1)".to_owned(); 2];
        assert_eq!(found, [("A(1)", twice), ("A(2)", vec!["A(2)".to_owned()]), ("C", Vec::new())]);
    }
}
