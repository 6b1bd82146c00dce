//! Canonical text laid over the tokens of a file: where in the file each of its tokens stands.

use super::lexer::{Token, lex};

/// Tokens that must agree where the texts meet again.
const MEET: usize = 4;

/// Places where the texts may fail to meet before the rest is given up.
const MOST_FAILURES: usize = 32;

/// Canonical text laid over the tokens of a file.
pub(super) struct Laid<'t> {
    /// The canonical text.
    pub(super) body: &'t str,
    /// Its tokens.
    pub(super) tokens: Vec<Token>,
    /// Token of the file for each token of the text.
    pub(super) of_file: Vec<Option<Token>>,
    file: &'t str,
}

impl<'t> Laid<'t> {
    /// Lays `body` over these tokens of the text `file`.
    pub(super) fn new(body: &'t str, file: &'t str, range: &[Token]) -> Self {
        let tokens = lex(body).tokens;
        let mut of_file = vec![None; tokens.len()];
        let same = |a: usize, b: usize| tokens[a].text(body) == range[b].text(file);
        let (mut at, mut there, mut failures) = (0, 0, 0);
        while at < tokens.len() && failures < MOST_FAILURES {
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
            if there < range.len() && (at > 0 && same(at, there) || meets(there)) {
                of_file[at] = Some(range[there]);
                at += 1;
                there += 1;
            } else if at > 0 && is_end(there) {
                there = next_accessor(range, file, there);
            } else if let Some(next) = (there..range.len()).find(|next| meets(*next)) {
                there = next;
            } else {
                failures += 1;
                at += 1;
            }
        }
        Self {
            body,
            tokens,
            of_file,
            file,
        }
    }

    /// The token of the text at a place.
    pub(super) fn token_at(&self, place: u32) -> usize {
        self.tokens.partition_point(|token| token.end <= place)
    }

    /// The byte of the file for a place of the text.
    pub(super) fn byte(&self, place: u32) -> Option<u32> {
        let at = self.token_at(place);
        let (token, there) = (self.tokens.get(at)?, self.of_file.get(at).copied().flatten()?);
        let byte = there.start + place.saturating_sub(token.start);
        // What has no place of its own says 0.
        let word = |text: &str, start: u32| -> String {
            let rest = text.get(start as usize..).unwrap_or("");
            rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '@')).collect()
        };
        let sign = |text: &str, start: u32| text.get(start as usize..).and_then(|rest| rest.chars().next());
        let expected = word(self.body, place);
        let is_there = match expected.is_empty() {
            true => place > 0 && sign(self.body, place) == sign(self.file, byte),
            false => expected == word(self.file, byte),
        };
        is_there.then_some(byte)
    }
}

/// The token behind the semicolon at `at` and what may stand before the next accessor: canonical text has none of these.
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
