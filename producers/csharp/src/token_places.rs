//! Aligns canonical text with the tokens of a file, to find the file position of each of its tokens.

use super::lexer::{Kind, Token, lex};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, OnceCell};

/// Number of equal tokens required to resume the alignment.
const MEET: usize = 4;

/// Budget of the search for a resumption, in tokens of the file per token of either text; when it is spent, the rest stays unaligned.
const LOOKS_A_TOKEN: usize = 64;

/// Canonical text aligned with the tokens of a file.
pub(super) struct AlignedText<'t> {
    pub(super) body: &'t str,
    pub(super) tokens: Vec<Token>,
    /// The file's token for each token of the text, if aligned.
    pub(super) of_file: Vec<Option<Token>>,
    file: &'t str,
    /// The file's tokens that the alignment skipped: the byte of each, by text.
    skipped: OnceCell<FxHashMap<&'t str, Vec<u32>>>,
    range: &'t [Token],
}

impl<'t> AlignedText<'t> {
    /// Aligns `body` with these tokens of the text `file`.
    pub(super) fn new(body: &'t str, file: &'t str, range: &'t [Token]) -> Self {
        let tokens = lex(body).tokens;
        let mut of_file = vec![None; tokens.len()];
        let same = |a: usize, b: usize| tokens[a].text(body) == range[b].text(file);
        let of_word = || {
            let mut places: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
            for (at, token) in range.iter().enumerate() {
                places.entry(token.text(file)).or_default().push(at);
            }
            places
        };
        let places = OnceCell::new();
        let looks = Cell::new(LOOKS_A_TOKEN * (tokens.len() + range.len()));
        let (mut at, mut there, mut in_head) = (0, 0, true);
        while at < tokens.len() && looks.get() > 0 {
            let is_end = |there: usize| range.get(there).is_some_and(|token| token.text(file) == ";");
            let meets = |mut there: usize| {
                let length = MEET.min(tokens.len() - at);
                (0..length).all(|by| {
                    if by > 0 && is_end(there) && !same(at + by, there) {
                        there = next_accessor(range, file, there);
                    }
                    there += 1;
                    there <= range.len() && same(at + by, there - 1)
                })
            };
            // Positions of a word in the file, from the present one on.
            let ahead = |word: &str| {
                let all = places.get_or_init(of_word).get(word).map_or(&[][..], Vec::as_slice);
                let ahead = &all[all.partition_point(|place| *place < there)..];
                ahead.iter().copied().take_while(|_| {
                    looks.set(looks.get().saturating_sub(1));
                    looks.get() > 0
                })
            };
            // The rest of the text needs as many tokens of the file, so the search ends where fewer are left.
            let word = tokens[at].text(body);
            in_head &= !matches!(word, "{" | "=>");
            if in_head && let Some(name) = default_at(&tokens, body, at) {
                // Canonical text omits the parameters between two default values, so align these by their names.
                if let Some(next) = ahead(name)
                    .chain(ahead(&format!("@{name}")))
                    .find(|next| is_default(range, file, *next))
                {
                    of_file[at] = Some(range[next]);
                    of_file[at + 1] = Some(range[next + 1]);
                    there = next + 2;
                }
                at += 2;
            } else if there < range.len() && (at > 0 && same(at, there) || meets(there)) {
                of_file[at] = Some(range[there]);
                at += 1;
                there += 1;
            } else if at > 0 && is_end(there) {
                there = next_accessor(range, file, there);
            } else if let Some(next) = ahead(word).find(|next| range.len() - next >= tokens.len() - at && meets(*next)) {
                there = next;
            } else {
                at += 1;
            }
        }
        Self {
            body,
            tokens,
            of_file,
            file,
            skipped: OnceCell::new(),
            range,
        }
    }

    /// Returns the bytes where an unaligned word of the text may be: every skipped token of that word.
    pub(super) fn possible_bytes(&self, place: u32) -> &[u32] {
        let at = self.token_at(place);
        let Some(token) = self
            .tokens
            .get(at)
            .filter(|token| token.kind == Kind::Word && self.of_file[at].is_none())
        else {
            return &[];
        };
        let skipped = self.skipped.get_or_init(|| {
            let aligned: FxHashSet<u32> = self.of_file.iter().flatten().map(|token| token.start).collect();
            let mut skipped: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
            for token in self.range.iter().filter(|token| !aligned.contains(&token.start)) {
                skipped.entry(token.text(self.file)).or_default().push(token.start);
            }
            skipped
        });
        skipped.get(token.text(self.body)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn token_at(&self, place: u32) -> usize {
        self.tokens.partition_point(|token| token.end <= place)
    }

    /// Returns the byte of the file for a place of the text.
    pub(super) fn byte(&self, place: u32) -> Option<u32> {
        let at = self.token_at(place);
        let (token, there) = (self.tokens.get(at)?, self.of_file.get(at).copied().flatten()?);
        let byte = there.start + place.saturating_sub(token.start);
        // Words without a place get place 0.
        let word = |text: &str, start: u32| -> String {
            let rest = text.get(start as usize..).unwrap_or("");
            rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '@')).collect()
        };
        let sign = |text: &str, start: u32| text.get(start as usize..).and_then(|rest| rest.chars().next());
        let expected = word(self.body, place);
        let is_there = match expected.is_empty() {
            // An initializer may begin with a string, a sign, a cast or a collection.
            true => {
                (place > 0 || token.kind == Kind::Text || matches!(token.text(self.body), "-" | "+" | "!" | "~" | "++" | "--" | "(" | "["))
                    && sign(self.body, place) == sign(self.file, byte)
            }
            false => expected == word(self.file, byte),
        };
        is_there.then_some(byte)
    }
}

/// Returns the name of the parameter whose default value begins at the token `at` of a canonical text: `name = value`, one per line.
fn default_at<'t>(tokens: &[Token], body: &'t str, at: usize) -> Option<&'t str> {
    let token = tokens[at];
    let before = at.checked_sub(1).map_or(0, |before| tokens[before].end as usize);
    let begins_line = at == 0 || body[before..token.start as usize].contains('\n');
    let name = token.text(body);
    let is_default = begins_line && token.kind == Kind::Word && tokens.get(at + 1)?.text(body) == "=";
    is_default.then_some(name.strip_prefix('@').unwrap_or(name))
}

/// Whether the name at `at` is that of a parameter with a default value: `Type name = value`.
fn is_default(range: &[Token], file: &str, at: usize) -> bool {
    let text = |at: usize| range.get(at).map_or("", |token| token.text(file));
    text(at + 1) == "=" && at > 0 && !matches!(text(at - 1), "(" | "," | "." | ";" | "{")
}

/// Returns the token after the semicolon at `at` and after modifiers and attributes of the next accessor, which canonical text omits.
fn next_accessor(tokens: &[Token], file: &str, mut at: usize) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text(file));
    at += 1;
    loop {
        match text(at) {
            "public" | "private" | "protected" | "internal" | "readonly" => at += 1,
            "[" => {
                let mut depth = 0_usize;
                let close = (at..tokens.len()).find(|at| {
                    match text(*at) {
                        "[" => depth += 1,
                        "]" => depth -= 1,
                        _ => {}
                    }
                    depth == 0
                });
                match close {
                    Some(close) => at = close + 1,
                    None => return at,
                }
            }
            _ => return at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns, for each word `x` of the text, the line of the file with which it is aligned, from 1.
    fn lines_of_x(body: &str, file: &str) -> Vec<usize> {
        let tokens = lex(file).tokens;
        let laid = AlignedText::new(body, file, &tokens);
        let words = laid.tokens.iter().filter(|token| token.text(body) == "x");
        words
            .map(|token| match laid.byte(token.start) {
                Some(byte) => 1 + file[..byte as usize].matches('\n').count(),
                None => 0,
            })
            .collect()
    }

    #[test]
    fn code_of_another_branch_is_skipped() {
        // A later block begins like the body.
        let file = "{\n throw f();\n if (v is null) { x(); }\n void l() {\n if (v is string) { x(); } }\n}";
        let body = "{ if (v is null) { x(); } void l() { if (v is string) { x(); } } }";
        assert_eq!(lines_of_x(body, file), [3, 5]);
    }

    #[test]
    fn words_that_are_not_aligned_may_stand_at_each_of_their_kind() {
        let (body, file) = ("{ a = x.b; }", "{ c(x, y);\n x(d); }");
        let tokens = lex(file).tokens;
        let laid = AlignedText::new(body, file, &tokens);
        let place = body.find('x').expect("a word") as u32;
        assert_eq!(laid.byte(place), None);
        assert_eq!(laid.possible_bytes(place).len(), 2);
    }
}
