//! Money and tokens as text.

use super::format_count;
use engine::seams::paid::{Notes, Spent};

/// Formats millionths of a currency: `0.0213`, `12.50`.
pub fn amount(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    match part {
        _ if whole > 0 => format!("{}.{:02}", format_count(whole), part / 10_000),
        0 => "0".to_owned(),
        // Small amounts need six digits.
        1..100 => format!("0.{part:06}"),
        _ => format!("0.{:04}", part / 100),
    }
}

/// Formats a cost: `3 calls, 12,345 tokens in (2,000 cached), 678 out, cost 0.0213 EUR`.
pub fn spent(spent: &Spent) -> String {
    let calls = match spent.calls {
        1 => "1 call".to_owned(),
        calls => format!("{} calls", format_count(u64::from(calls))),
    };
    let cached = match spent.cached_tokens {
        0 => String::new(),
        cached => format!(" ({} cached)", format_count(cached)),
    };
    let about = if spent.estimated { "about " } else { "" };
    let money = spent.micros.map_or(String::new(), |micros| {
        format!(", cost {} {}", amount(micros), spent.currency).trim_end().to_owned()
    });
    let calls = match spent.agent.as_deref() {
        Some("") => "answered by an agent".to_owned(),
        Some(agent) => format!("answered by agent {agent}"),
        None => calls,
    };
    format!(
        "{calls}, {about}{} tokens in{cached}, {} out{money}",
        format_count(spent.input_tokens),
        format_count(spent.output_tokens)
    )
}

/// Formats a producer's notes for people: `patch of 3f2a… (2nd in a row): impl moved`.
pub fn format_notes(notes: &Notes) -> Option<String> {
    let mode = notes.get("mode")?;
    let (mut text, joins) = match mode.as_str() {
        "carried" => ("carried over".to_owned(), "from"),
        other => (other.to_owned(), "of"),
    };
    if let Some(base) = notes.get("base") {
        text.push_str(&format!(" {joins} {}", base.get(..12).unwrap_or(base)));
    }
    if let Some(why) = notes.get("why") {
        text.push_str(&format!(" ({why})"));
    }
    if let Some(corrected) = notes.get("corrected").filter(|corrected| !corrected.is_empty()) {
        text.push_str(&format!(", by hand: {corrected}"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_names_its_currency() {
        let cost = Spent {
            calls: 1,
            input_tokens: 1_200,
            output_tokens: 3,
            micros: Some(41_400),
            currency: "EUR".to_owned(),
            ..Spent::default()
        };
        assert_eq!(spent(&cost), "1 call, 1,200 tokens in, 3 out, cost 0.0414 EUR");
        let plan = Spent {
            currency: String::new(),
            ..cost
        };
        assert_eq!(spent(&plan), "1 call, 1,200 tokens in, 3 out, cost 0.0414");
    }

    #[test]
    fn amounts_keep_the_digits_that_count() {
        for (micros, text) in [
            (0, "0"),
            (7, "0.000007"),
            (21_300, "0.0213"),
            (2_500_000, "2.50"),
            (1_234_567_890, "1,234.56"),
        ] {
            assert_eq!(amount(micros), text);
        }
    }
}
