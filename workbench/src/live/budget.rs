//! How much may be shown, and what a text takes of it.

/// About how many tokens a text is: 3.3 bytes each.
pub fn tokens(text: &str) -> usize {
    text.len().saturating_mul(10).div_ceil(33)
}

/// About how many bytes so many tokens are.
pub(super) fn bytes(tokens: usize) -> usize {
    tokens.saturating_mul(33) / 10
}

/// The room of an answer that is counted in another way.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// How much fits, in whatever it counts.
    pub most: usize,
    /// What a text takes of it.
    pub taken: fn(&str) -> usize,
    /// Whether the answer is sent as data, and not as text.
    pub sends_data: bool,
}

/// Tokens at most, and where the answer has a room, not more than fits there.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    tokens: usize,
    room: Option<Room>,
}

impl Budget {
    /// So many tokens, and no more than the room has.
    pub fn of_tokens(tokens: usize, room: Option<Room>) -> Self {
        let tokens = room.map_or(tokens, |room| tokens.min(room.most));
        Self { tokens, room }
    }

    /// Tokens at most.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// What a text takes of the budget, in tokens of it: a text that fills the room takes all of them.
    pub fn cost(&self, text: &str) -> usize {
        let plain = tokens(text);
        match self.room {
            // What is counted exactly takes long to count.
            Some(room) if plain <= self.tokens => {
                let taken = (room.taken)(text).saturating_mul(self.tokens);
                plain.max(taken.div_ceil(room.most.max(1)))
            }
            _ => plain,
        }
    }
}
