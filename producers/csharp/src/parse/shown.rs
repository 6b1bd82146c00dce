//! The text that the grammar parses: tokens without hidden parts and comments, with the original position of each byte.
//!
//! Names and texts are cut from the original tokens, so an edit can only hide code from the tree, never change names or texts.

use super::tokens::Tokens;
use std::ops::Range;

/// One edit: the grammar sees these bytes as the replacement.
pub(crate) struct Edit {
    pub(crate) bytes: Range<usize>,
    pub(crate) with: &'static str,
}

pub(crate) struct GrammarText {
    pub(crate) text: String,
    /// Bytes of the text whose original position does not follow from the preceding byte, with that position.
    jumps: Vec<(usize, usize)>,
}

impl GrammarText {
    /// Applies edits to the tokens; of overlapping edits the first wins.
    pub(crate) fn new<'e>(tokens: &Tokens<'_>, edits: impl IntoIterator<Item = &'e Edit>) -> Self {
        let mut order: Vec<&Edit> = edits.into_iter().collect();
        order.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end));
        let mut shown = Self {
            text: String::with_capacity(tokens.source.len() / 2),
            jumps: Vec::new(),
        };
        let (mut at, mut done) = (0, 0);
        for Edit { bytes, with } in order {
            if bytes.start >= done {
                shown.tokens(tokens, &mut at, done..bytes.start);
                shown.append_part(bytes.start, with);
                done = bytes.end;
            }
        }
        shown.tokens(tokens, &mut at, done..tokens.source.len());
        shown
    }

    /// Appends the parts of tokens within these bytes; `at` is a token not after the first of them.
    fn tokens(&mut self, tokens: &Tokens<'_>, at: &mut usize, bytes: Range<usize>) {
        while let Some(token) = tokens.all.get(*at) {
            let start = bytes.start.max(token.start as usize);
            let end = bytes.end.min(token.end as usize);
            if start < end {
                self.append_part(start, &tokens.source[start..end]);
            }
            if token.end as usize > bytes.end {
                return;
            }
            *at += 1;
        }
    }

    /// Appends text from `place` in the original, with a space before it unless the two are adjacent there.
    fn append_part(&mut self, place: usize, part: &str) {
        let next = self.original_byte(self.text.len());
        if place != next && !part.is_empty() {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.jumps.push((self.text.len(), place));
        }
        self.text.push_str(part);
    }

    /// Returns the original position of a byte of the text.
    fn original_byte(&self, byte: usize) -> usize {
        let next = self.jumps.partition_point(|(at, _)| *at <= byte);
        match next.checked_sub(1).and_then(|last| self.jumps.get(last)) {
            Some((at, place)) => place + (byte - at),
            None => byte,
        }
    }

    /// Returns the original bytes of a node of the tree.
    pub(crate) fn original(&self, bytes: Range<usize>) -> Range<usize> {
        let start = self.original_byte(bytes.start);
        let end = match bytes.end.checked_sub(1).filter(|last| *last >= bytes.start) {
            Some(last) => self.original_byte(last) + 1,
            None => start,
        };
        start..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;
    use proptest::prelude::*;

    #[test]
    fn comments_and_edits_are_left_out() {
        let text = "class /* c */ A{ int x =  1 ; } // end";
        let tokens = Tokens::new(text, lex(text));
        let value = text.find("=  1").expect("there");
        let edits = [Edit {
            bytes: value + 1..value + 4,
            with: "0",
        }];
        let shown = GrammarText::new(&tokens, &edits);
        assert_eq!(shown.text, "class A{ int x =0 ; }");
        assert_eq!(&text[shown.original(6..7)], "A");
        assert_eq!(&text[shown.original(9..12)], "int");
    }

    proptest! {
        #[test]
        fn every_byte_knows_its_place(parts in proptest::collection::vec(proptest::sample::select(vec!["ab", " ", "{", "}", "// c\n", "=", "\"s\"", "é", "\n"]), 0..40), cuts in proptest::collection::vec((0_usize..60, 0_usize..9), 0..4)) {
            let text = parts.concat();
            let tokens = Tokens::new(&text, lex(&text));
            let mut edits: Vec<Edit> = Vec::new();
            for bytes in cuts.iter().map(|(at, length)| *at..at + length) {
                let fits = bytes.end <= text.len() && text.is_char_boundary(bytes.start) && text.is_char_boundary(bytes.end);
                if fits && edits.iter().all(|other| other.bytes.end <= bytes.start || bytes.end <= other.bytes.start) {
                    edits.push(Edit { bytes, with: "" });
                }
            }
            let shown = GrammarText::new(&tokens, &edits);
            let hidden = |at: usize| edits.iter().any(|edit| edit.bytes.contains(&at));
            for (at, letter) in shown.text.char_indices().filter(|(_, letter)| *letter != ' ') {
                let bytes = shown.original(at..at + letter.len_utf8());
                prop_assert!(text[bytes.clone()].starts_with(letter));
                prop_assert!(!hidden(bytes.start));
            }
        }
    }
}
