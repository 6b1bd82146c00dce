//! Token counts of texts. Models with a public tokenizer are counted exactly; for all others a token is estimated at 3.3 bytes.
//!
//! The vocabularies are large: they are loaded when the first text is counted.

use super::{Count, Question};
use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};

/// Tokens that chat formats add around each turn, and once to begin the answer.
const PER_TURN: u64 = 4;
const PER_ANSWER: u64 = 3;

/// Counts the tokens of a text for the model of this name, which may have a gateway's prefix (`openai/gpt-5`).
pub(super) fn count_for_model(model: &str, text: &str) -> Count {
    let name = model.rsplit('/').next().unwrap_or(model);
    let tokenizer = match get_tokenizer(name) {
        // They differ only in marks that do not occur in texts.
        Some(Tokenizer::O200kBase | Tokenizer::O200kHarmony) => tiktoken_rs::o200k_base_singleton(),
        Some(Tokenizer::Cl100kBase) => tiktoken_rs::cl100k_base_singleton(),
        _ => {
            return Count {
                tokens: estimate(text.len() as u64),
                exact: false,
            };
        }
    };
    Count {
        tokens: tokenizer.encode_ordinary(text).len() as u64,
        exact: true,
    }
}

/// Counts the tokens of a text by the vocabulary of newer models (o200k), for any model.
pub fn o200k(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

/// Loads the vocabulary of [`o200k`] beside other work: that takes a tenth of a second.
pub fn load_o200k() {
    rayon::spawn(|| _ = tiktoken_rs::o200k_base_singleton());
}

/// Estimates the tokens of so many bytes: measured over code and prose, most vocabularies give fewer.
fn estimate(bytes: u64) -> u64 {
    bytes.saturating_mul(10).div_ceil(33)
}

/// Counts the tokens of a whole question.
pub(super) fn count_question(model: &str, question: &Question<'_>) -> Count {
    let mut sum = Count {
        tokens: PER_ANSWER,
        exact: true,
    };
    for turn in question.turns {
        sum.tokens += PER_TURN;
        for part in &turn.parts {
            let count = count_for_model(model, &part.text);
            sum.tokens += count.tokens;
            sum.exact &= count.exact;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_models_are_counted_and_others_estimated() {
        let text = "The quick brown fox jumps over the lazy dog.";
        for (model, tokens, exact) in [
            ("gpt-4o", 10, true),
            ("openai/gpt-5-mini", 10, true),
            ("gpt-4", 10, true),
            ("some-model", 14, false),
        ] {
            assert_eq!(count_for_model(model, text), Count { tokens, exact }, "{model}");
        }
        assert_eq!(count_for_model("gpt-4o", "<|endoftext|>").tokens, 7, "marks are text");
        assert_eq!(count_for_model("", ""), Count::default());
    }

    #[test]
    fn monotonous_texts_are_counted_in_time() {
        for unit in ["a", " ", "\n", "ab", "é", "=-"] {
            let text = unit.repeat(300_000);
            assert!(count_for_model("gpt-4o", &text).tokens > 0, "{unit:?}");
        }
    }
}
