//! A position in the tokens of a body, with the look-ahead that parsing C# needs. It knows brackets and words, not grammar.

use super::ast::{Name, Word};
use crate::brackets::{self, NO_MATE};
use crate::canonical;
use crate::keywords::{is_infix, is_reserved};
use crate::lexer::{self, Kind, Token};

/// Maximum nesting of expressions and statements; deeper groups are skipped.
pub(super) const DEEPEST: u32 = 64;

/// A parser's position in a text.
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: Vec<Token>,
    angles: Vec<bool>,
    mates: Vec<u32>,
    pub(super) at: usize,
    /// Index of the token at which reading ends.
    pub(super) end: usize,
    pub(super) depth: u32,
    /// Whether a lambda may begin here: not in the `when` of an arm of a `switch` expression, which ends at `=>`.
    pub(super) may_be_lambda: bool,
    /// Whether a clause of a query is read, outside brackets: the words of queries are no names there.
    pub(super) in_query: bool,
    /// Offset of `text` in the text to which places refer; `None` if places are not requested.
    pub(super) base: Option<u32>,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, base: Option<u32>, depth: u32) -> Self {
        let tokens = lexer::lex(text).tokens;
        let angles = canonical::find_type_argument_brackets(text, &tokens);
        let (mates, _) = brackets::mates(text, &tokens);
        let end = tokens.len();
        Self {
            text,
            tokens,
            angles,
            mates,
            at: 0,
            end,
            depth,
            may_be_lambda: true,
            in_query: false,
            base,
        }
    }

    pub(super) fn text_at(&self, index: usize) -> &'t str {
        if index < self.end { self.tokens[index].text(self.text) } else { "" }
    }

    pub(super) fn peek(&self) -> &'t str {
        self.text_at(self.at)
    }

    pub(super) fn ahead(&self, by: usize) -> &'t str {
        self.text_at(self.at + by)
    }

    pub(super) fn kind_of_token(&self) -> Option<Kind> {
        (self.at < self.end).then(|| self.tokens[self.at].kind)
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.peek() == text
    }

    pub(super) fn done(&self) -> bool {
        self.at >= self.end
    }

    /// Consumes the token if it is `text`.
    pub(super) fn consume_token(&mut self, text: &str) -> bool {
        let found = self.is(text);
        self.at += usize::from(found);
        found
    }

    pub(super) fn is_word_at(&self, index: usize) -> bool {
        index < self.end && self.tokens[index].kind == Kind::Word
    }

    /// Whether the token at `index` is an identifier: a word that is no reserved keyword.
    pub(super) fn is_identifier_at(&self, index: usize) -> bool {
        self.is_word_at(index) && !is_reserved(self.text_at(index))
    }

    pub(super) fn is_identifier(&self) -> bool {
        self.is_identifier_at(self.at)
    }

    /// Whether the token at `index` is the name of a local that is declared there. A word that joins values is a name only before a token that
    /// follows names.
    pub(super) fn is_new_name_at(&self, index: usize) -> bool {
        let ends = || {
            matches!(
                self.text_at(index + 1),
                "" | ")" | "]" | "}" | "," | ";" | ":" | "?" | "=>" | "=" | "==" | "!=" | "&&" | "||" | "|" | "when"
            )
        };
        self.is_identifier_at(index)
            && match self.text_at(index) {
                "and" | "or" | "when" => false,
                word => !is_infix(word) || !self.in_query && ends(),
            }
    }

    pub(super) fn is_angle(&self, index: usize) -> bool {
        index < self.end && self.angles[index]
    }

    /// Returns the bracket that closes the one at `index`; `None` for any other token.
    pub(super) fn mate(&self, index: usize) -> Option<usize> {
        let mate = *self.mates.get(index)?;
        (mate != NO_MATE && (index + 1..self.end).contains(&(mate as usize))).then_some(mate as usize)
    }

    /// Returns the index after the group or token at `index`.
    pub(super) fn next_after_group(&self, index: usize) -> usize {
        match self.text_at(index) {
            "(" | "[" | "{" => self.mate(index).map_or(index, |mate| mate.max(index)) + 1,
            _ => index + 1,
        }
    }

    pub(super) fn skip_group(&mut self) {
        self.at = self.next_after_group(self.at).min(self.end.max(self.at + 1));
    }

    /// Returns the place of a token; 0 if places are not requested.
    pub(super) fn byte_of_token(&self, index: usize) -> u32 {
        match (self.base, self.tokens.get(index)) {
            (Some(base), Some(token)) => base + token.start,
            _ => 0,
        }
    }

    /// Returns the place of the present token.
    pub(super) fn present_place(&self) -> u32 {
        self.byte_of_token(self.at)
    }

    /// Consumes `length` tokens as one word.
    pub(super) fn sign(&mut self, length: usize) -> Word {
        let sign = Word {
            text: (self.at..self.at + length).map(|at| self.text_at(at)).collect(),
            place: self.byte_of_token(self.at),
        };
        self.at += length;
        sign
    }

    /// Consumes the keyword at the cursor; the word is `await` if the keyword follows `await`.
    pub(super) fn awaited_keyword(&mut self) -> Word {
        let awaited = self.at.checked_sub(1).is_some_and(|before| self.text_at(before) == "await");
        let mut keyword = self.sign(1);
        if awaited {
            "await".clone_into(&mut keyword.text);
        }
        keyword
    }

    /// Consumes the present token as a word.
    pub(super) fn take_word(&mut self) -> Word {
        let text = self.peek();
        let word = Word {
            text: text.strip_prefix('@').unwrap_or(text).to_owned(),
            place: self.byte_of_token(self.at),
        };
        self.at += 1;
        word
    }

    pub(super) fn parse_name(&mut self) -> Name {
        Name {
            word: self.take_word(),
            args: Vec::new(),
        }
    }

    /// Runs `read` between the bracket at the cursor and its mate, then moves past the mate. Without a mate, skips one token and returns `None`.
    pub(super) fn inside<R>(&mut self, read: impl FnOnce(&mut Self) -> R) -> Option<R> {
        let Some(close) = self.mate(self.at) else {
            self.at += 1;
            return None;
        };
        let end = std::mem::replace(&mut self.end, close);
        let outer = (self.may_be_lambda, self.in_query);
        (self.may_be_lambda, self.in_query) = (true, false);
        self.at += 1;
        let result = read(self);
        self.end = end;
        (self.may_be_lambda, self.in_query) = outer;
        self.at = close + 1;
        Some(result)
    }

    /// Reads parts between top-level commas until the end; `read` must not consume a comma.
    pub(super) fn read_list<R>(&mut self, mut read: impl FnMut(&mut Self) -> R) -> Vec<R> {
        let mut parts = Vec::new();
        while !self.done() {
            let before = self.at;
            parts.push(read(self));
            self.skip_to(",");
            self.consume_token(",");
            if self.at == before {
                self.skip_group();
            }
        }
        parts
    }

    /// Advances to the next `text` outside brackets, or to the end.
    pub(super) fn skip_to(&mut self, text: &str) {
        while !self.done() && !self.is(text) {
            self.skip_group();
        }
        self.at = self.at.min(self.end);
    }

    /// Runs `read` one level deeper; at the maximum depth, skips a token group and returns `otherwise`.
    pub(super) fn deeper<R>(&mut self, otherwise: R, read: impl FnOnce(&mut Self) -> R) -> R {
        if self.depth >= DEEPEST {
            self.skip_group();
            return otherwise;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}
