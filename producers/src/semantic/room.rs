//! How much room models turn out to have: what a server refused as too long is not tried again in this process, for any target.

use super::parameters::Wishes;
use crate::llm::Ask;
use engine::seams::producer::Params;
use engine::values::diagnostic::Diagnostic;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Tokens that fit, by model and address, as far as refusals told.
#[derive(Debug, Default)]
pub(super) struct Rooms(Mutex<BTreeMap<String, u64>>);

/// A model, and the rooms of all.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    pub(super) rooms: &'a Rooms,
    pub(super) ask: &'a dyn Ask,
    pub(super) wishes: &'a Wishes,
    pub(super) settings: &'a Params,
}

impl Room<'_> {
    fn name(&self) -> String {
        let model = serde_json::to_string(&self.wishes.model).expect("invariant: parameters have text keys");
        let address = self.settings.get("base_url").and_then(|address| address.as_str());
        format!("{model} {}", address.unwrap_or_default())
    }

    /// Tokens that a question and an answer about so many types take.
    fn needed(&self, text: &str, types: usize) -> u64 {
        let asked = self.ask.count(&self.wishes.model, text).tokens;
        asked.saturating_add(self.wishes.answer_tokens(types))
    }

    /// Whether a question and its answer fit: else what they need and what there is.
    pub(super) fn check_room(&self, text: &str, types: usize) -> Result<(), (u64, u64)> {
        let rooms = self.rooms.0.lock().unwrap_or_else(PoisonError::into_inner);
        let learnt = rooms.get(&self.name()).copied();
        drop(rooms);
        let Some(limit) = self.wishes.context_tokens().into_iter().chain(learnt).min() else {
            return Ok(());
        };
        let needed = self.needed(text, types);
        if needed <= limit { Ok(()) } else { Err((needed, limit)) }
    }

    /// Remembers that a question was refused as too long. What the server states counts, in the measure in which it counts otherwise than is
    /// counted here; where it states nothing, only less than this is tried.
    pub(super) fn learn_limit(&self, text: &str, types: usize, told: &Diagnostic) {
        let needed = self.needed(text, types);
        let room = match stated(&told.message) {
            Some((Some(asked), fits)) if asked > fits => u64::try_from(u128::from(needed) * u128::from(fits) / u128::from(asked)).ok(),
            Some((_, fits)) => Some(fits),
            None => None,
        };
        let room = room.unwrap_or(u64::MAX).min(needed.saturating_sub(1));
        let mut rooms = self.rooms.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = rooms.entry(self.name()).or_insert(room);
        *known = room.min(*known);
    }
}

/// How many tokens were asked and how many fit, as the end of a refusal says: `… 4096 tokens fit`, `… 5000 tokens, and 4096 fit`.
fn stated(message: &str) -> Option<(Option<u64>, u64)> {
    let head = message.strip_suffix(" fit")?;
    let (before, fits) = head.strip_suffix(" tokens").unwrap_or(head).rsplit_once(' ')?;
    let asked = before.strip_suffix(" tokens, and").and_then(|before| before.rsplit(' ').next());
    Some((asked.and_then(|asked| asked.parse().ok()), fits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_states_is_read() {
        assert_eq!(
            stated("the question is too long for m: 5000 tokens, and 4096 fit"),
            Some((Some(5000), 4096))
        );
        assert_eq!(stated("the question is too long for m: 4096 tokens fit"), Some((None, 4096)));
        assert_eq!(stated("the question is too long for m"), None);
    }
}
