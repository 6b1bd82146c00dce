//! Learnt context sizes of models: a size that a server refused as too long is not tried again in this process, for any target.

use super::parameters::SummaryParameters;
use engine::seams::producer::Params;
use engine::values::diagnostic::Diagnostic;
use llm::Ask;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Tokens that fit, by model and address, as learnt from refusals.
#[derive(Debug, Default)]
pub(super) struct LearntContextSizes(Mutex<BTreeMap<String, u64>>);

/// A model, with the learnt sizes of all.
#[derive(Clone, Copy)]
pub(super) struct ModelContextSize<'a> {
    pub(super) rooms: &'a LearntContextSizes,
    pub(super) ask: &'a dyn Ask,
    pub(super) parameters: &'a SummaryParameters,
    pub(super) settings: &'a Params,
}

impl ModelContextSize<'_> {
    fn describe_room(&self) -> String {
        let model = serde_json::to_string(&self.parameters.model).expect("invariant: parameters have text keys");
        let address = self.settings.get("base_url").and_then(|address| address.as_str());
        format!("{model} {}", address.unwrap_or_default())
    }

    /// Returns the tokens of a question and an answer about so many types.
    fn tokens_needed(&self, text: &str, types: usize) -> u64 {
        let prompt_tokens = self.ask.count(&self.parameters.model, text).tokens;
        prompt_tokens.saturating_add(self.parameters.answer_tokens(types))
    }

    /// Checks whether a question and its answer fit; the error has the needed and the available tokens.
    pub(super) fn check_room(&self, text: &str, types: usize) -> Result<(), (u64, u64)> {
        let rooms = self.rooms.0.lock().unwrap_or_else(PoisonError::into_inner);
        let learnt = rooms.get(&self.describe_room()).copied();
        drop(rooms);
        let Some(limit) = self.parameters.context_tokens().into_iter().chain(learnt).min() else {
            return Ok(());
        };
        let needed = self.tokens_needed(text, types);
        if needed <= limit { Ok(()) } else { Err((needed, limit)) }
    }

    /// Records that a question was refused as too long. The server's limit is scaled by the ratio of its token count to ours; without a stated limit,
    /// only smaller questions are tried.
    pub(super) fn learn_limit(&self, text: &str, types: usize, refusal: &Diagnostic) {
        let needed = self.tokens_needed(text, types);
        let room = match parse_token_counts(&refusal.message) {
            Some((Some(requested), fits)) if requested > fits => {
                u64::try_from(u128::from(needed) * u128::from(fits) / u128::from(requested)).ok()
            }
            Some((_, fits)) => Some(fits),
            None => None,
        };
        let room = room.unwrap_or(u64::MAX).min(needed.saturating_sub(1));
        let mut rooms = self.rooms.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = rooms.entry(self.describe_room()).or_insert(room);
        *known = room.min(*known);
    }
}

/// Parses the tokens asked for and the tokens that fit at the end of a refusal: `… 4096 tokens fit`, `… 5000 tokens, and 4096 fit`.
fn parse_token_counts(message: &str) -> Option<(Option<u64>, u64)> {
    let head = message.strip_suffix(" fit")?;
    let (before, fits) = head.strip_suffix(" tokens").unwrap_or(head).rsplit_once(' ')?;
    let requested = before.strip_suffix(" tokens, and").and_then(|before| before.rsplit(' ').next());
    Some((requested.and_then(|requested| requested.parse().ok()), fits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_counts_in_the_message_of_a_server_are_read() {
        assert_eq!(
            parse_token_counts("the question is too long for m: 5000 tokens, and 4096 fit"),
            Some((Some(5000), 4096))
        );
        assert_eq!(
            parse_token_counts("the question is too long for m: 4096 tokens fit"),
            Some((None, 4096))
        );
        assert_eq!(parse_token_counts("the question is too long for m"), None);
    }
}
