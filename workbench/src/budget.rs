//! Budgets of tokens, and the cost of texts.

/// Estimates the tokens of a text: 3.3 bytes each.
pub fn tokens(text: &str) -> usize {
    text.len().saturating_mul(10).div_ceil(33)
}

/// Estimates the bytes of a number of tokens.
pub(crate) fn estimate_bytes(tokens: usize) -> usize {
    tokens.saturating_mul(33) / 10
}

/// The size limit of an answer in another unit.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The limit, in that unit.
    pub most: usize,
    /// Returns the size of a text in that unit.
    pub taken: fn(&str) -> usize,
    /// Whether the answer is sent as data, and not as text.
    pub sends_data: bool,
}

/// A limit of tokens, and optionally the room of the answer.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    tokens: usize,
    room: Option<Room>,
}

impl Budget {
    /// Creates a budget with a limit of tokens, lowered to that of the room.
    pub fn of_tokens(tokens: usize, room: Option<Room>) -> Self {
        let tokens = room.map_or(tokens, |room| tokens.min(room.most));
        Self { tokens, room }
    }

    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Returns the cost of a text in tokens of the budget: a text that fills the room costs all of them.
    pub fn cost(&self, text: &str) -> usize {
        let plain = tokens(text);
        match self.room {
            // Exact counting is slow, so it is skipped for texts that do not fit anyway.
            Some(room) if plain <= self.tokens => {
                let taken = (room.taken)(text).saturating_mul(self.tokens);
                plain.max(taken.div_ceil(room.most.max(1)))
            }
            _ => plain,
        }
    }
}
