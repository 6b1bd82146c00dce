//! A reply as the wire formats fill it while it arrives: text up to a limit, completeness, usage.

use super::{Question, Wants};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Limit of bytes of any answer.
const LONGEST: u64 = 1 << 20;

/// Tokens as counted by the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Usage {
    /// All sent tokens, cached or not.
    pub(super) input: u64,
    /// Sent tokens that the provider read from its cache.
    pub(super) cached: u64,
    /// Sent tokens that it wrote to its cache.
    pub(super) written: u64,
    /// All received tokens, including thoughts.
    pub(super) output: u64,
}

impl Usage {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            written: self.written.saturating_add(other.written),
            output: self.output.saturating_add(other.output),
        }
    }
}

/// A reply so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) text: String,
    /// Whether it was cut off because it grew too long.
    pub(super) cut: bool,
    /// Whether the provider marked it as complete.
    pub(super) whole: bool,
    /// Whether invalid bytes were replaced.
    pub(super) mended: bool,
    pub(super) usage: Option<Usage>,
    limit: usize,
}

/// An error as a provider reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Complaint {
    /// The status; in a stream, if there is one.
    pub(super) status: u16,
    /// The provider's name of the error.
    pub(super) kind: String,
    pub(super) message: String,
    /// Tokens asked for and tokens that fit, if reported separately.
    pub(super) numbers: Option<(u64, u64)>,
}

/// Returns the limit of bytes of an answer of so many tokens: no language needs more than sixteen per token.
pub(super) fn longest_text(max_tokens: u64) -> usize {
    usize::try_from(max_tokens.saturating_mul(16).min(LONGEST)).unwrap_or(usize::MAX)
}

impl Reply {
    pub(super) fn new(max_tokens: u64) -> Self {
        Self {
            limit: longest_text(max_tokens),
            ..Self::default()
        }
    }

    pub(super) fn to(question: &Question<'_>) -> Self {
        match question.wants {
            Wants::Text => Self::new(question.max_tokens),
            Wants::Vector => Self::new(LONGEST),
        }
    }

    /// Returns the limit of bytes of its text.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Appends text; returns `false` when it does not fit.
    pub(super) fn append_text(&mut self, text: &str) -> bool {
        let mut room = self.limit - self.text.len();
        if text.len() <= room {
            self.text.push_str(text);
            return true;
        }
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        self.text.push_str(&text[..room]);
        self.cut = true;
        false
    }

    /// Parses JSON from bytes; replaces invalid ones.
    pub(super) fn parse_json(&mut self, bytes: &[u8]) -> Result<Value, Complaint> {
        let text = String::from_utf8_lossy(bytes);
        self.mended |= matches!(text, std::borrow::Cow::Owned(_));
        serde_json::from_str(&text).map_err(|error| Complaint {
            kind: "not_json".to_owned(),
            message: format!("what came is not JSON: {error}"),
            ..Complaint::default()
        })
    }
}

impl Complaint {
    /// Reads the body of an error of any form.
    pub(super) fn from_body(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        match serde_json::from_str(&text) {
            Ok(value) => Self::of_json(status, &value),
            Err(_) => Self {
                status,
                message: text.into_owned(),
                ..Self::default()
            },
        }
    }

    /// Reads `{"error": {"type", "code", "message"}}` as both formats have it, or a similar form.
    pub(super) fn of_json(status: u16, value: &Value) -> Self {
        let error = value.get("error").unwrap_or(value);
        let word = |name: &str| error.get(name).and_then(Value::as_str);
        let number = |name: &str| error.get(name).and_then(Value::as_u64);
        let own = number("code")
            .and_then(|code| u16::try_from(code).ok())
            .filter(|code| (400..600).contains(code));
        let kind = [word("code"), word("type")].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let message = word("message").or(error.as_str()).map_or_else(|| error.to_string(), str::to_owned);
        Self {
            status: if status == 200 { own.unwrap_or(0) } else { status },
            kind,
            message,
            numbers: number("n_prompt_tokens").zip(number("n_ctx")),
        }
    }

    /// Returns the tokens asked for and those that fit (zeros if unknown), if the question was too long for the model.
    pub(super) fn context(&self) -> Option<(u64, u64)> {
        const KINDS: [&str; 3] = [
            "context_length_exceeded",
            "exceed_context_size_error",
            "model_context_window_exceeded",
        ];
        const WORDS: [&str; 8] = [
            "maximum context length",
            "context length of",
            "exceeds the available context",
            "context window",
            "prompt is too long",
            "exceed context limit",
            "input is too long",
            "exceeds the context",
        ];
        let message = self.message.to_ascii_lowercase();
        let is_stated = KINDS.iter().any(|kind| self.kind.contains(kind)) || WORDS.iter().any(|words| message.contains(words));
        if !is_stated || !matches!(self.status, 0 | 400 | 413 | 422 | 500) {
            return None;
        }
        Some(self.numbers.unwrap_or_else(|| context_numbers(&message)))
    }
}

/// Parses `A + B > FITS`, `A > FITS`, or a sentence that first names the tokens that fit and then those asked for.
fn context_numbers(message: &str) -> (u64, u64) {
    if let Some((requested, fits)) = message.split_once('>') {
        let (requested, fits) = (numbers(requested), numbers(fits));
        if let (false, Some(fits)) = (requested.is_empty(), fits.first()) {
            return (requested.iter().fold(0, |sum, number| u64::saturating_add(sum, *number)), *fits);
        }
    }
    match numbers(message).as_slice() {
        [fits, requested, ..] if requested > fits => (*requested, *fits),
        [one, other, ..] => (*one.max(other), *one.min(other)),
        [fits] => (0, *fits),
        [] => (0, 0),
    }
}

/// Returns the numbers of a text that may be counts of tokens; a comma between digits is part of a number.
fn numbers(text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    let mut digits = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let inside = c == ',' && !digits.is_empty() && rest.peek().is_some_and(char::is_ascii_digit);
        if c.is_ascii_digit() {
            digits.push(c);
        } else if !inside {
            found.extend(digits.parse::<u64>().ok());
            digits.clear();
        }
    }
    found.extend(digits.parse::<u64>().ok());
    // Smaller numbers are versions and the like.
    found.retain(|number| *number >= 32);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overfull_context_is_known_by_many_words() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens.","code":"context_length_exceeded"}}"#,
                (10_000, 8_192),
            ),
            (
                r#"{"error":{"message":"This model's maximum context length is 4097 tokens, however you requested 4,927 tokens (3927 in the messages, 1000 in the completion)."}}"#,
                (4_927, 4_097),
            ),
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":900,"n_ctx":256}}"#,
                (900, 256),
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
                (210_000, 200_000),
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease"}}"#,
                (210_000, 200_000),
            ),
            (r#"{"error":"the prompt is too long"}"#, (0, 0)),
        ] {
            assert_eq!(Complaint::from_body(400, body.as_bytes()).context(), Some(expected), "{body}");
        }
        assert_eq!(
            Complaint::from_body(400, b"{\"error\":{\"message\":\"bad temperature\"}}").context(),
            None
        );
        assert_eq!(Complaint::from_body(429, b"maximum context length per minute").context(), None);
    }

    #[test]
    fn text_is_cut_between_characters() {
        let mut reply = Reply::new(1);
        assert!(reply.append_text("123456789012345"));
        assert!(!reply.append_text("é"));
        assert_eq!((reply.text.len(), reply.cut), (15, true));
        assert_eq!(longest_text(u64::MAX), 1 << 20);
    }
}
