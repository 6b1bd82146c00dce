//! Prices of tokens.

use super::reply::Usage;
use engine::seams::producer::Params;
use serde_json::Value;

/// Prices of a million tokens in units of a currency, which equal millionths per token.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Price {
    input: f64,
    cached: f64,
    written: f64,
    output: f64,
    pub(super) currency: String,
}

impl Price {
    /// Reads the price in a model's settings, if any.
    pub(super) fn from_settings(settings: &Params) -> Option<Self> {
        let price = settings.get("price")?.as_object()?;
        let number = |name: &str| {
            price
                .get(name)
                .and_then(Value::as_f64)
                .filter(|number| number.is_finite() && *number >= 0.0)
        };
        let input = number("input")?;
        Some(Self {
            input,
            cached: number("cached").unwrap_or(input),
            written: number("cache_write").unwrap_or(input),
            output: number("output")?,
            currency: price.get("currency").and_then(Value::as_str).unwrap_or("USD").to_owned(),
        })
    }

    /// Returns the cost in millionths of the currency, rounded up. A batch costs half.
    pub(super) fn micros(&self, usage: Usage, batch: bool) -> u64 {
        let cached = usage.cached.min(usage.input);
        let written = usage.written.min(usage.input - cached);
        let fresh = usage.input - cached - written;
        let parts = [
            (fresh, self.input),
            (cached, self.cached),
            (written, self.written),
            (usage.output, self.output),
        ];
        #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2⁵³")]
        let sum: f64 = parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum();
        to_whole_micros(if batch { sum / 2.0 } else { sum })
    }

    /// Returns the most that a call may cost: with nothing cached and the longest answer.
    pub(super) fn most(&self, input: u64, output: u64, batch: bool) -> u64 {
        let dearest = self.written.max(self.input);
        let price = Self {
            input: dearest,
            ..self.clone()
        };
        price.micros(
            Usage {
                input,
                output,
                ..Usage::default()
            },
            batch,
        )
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is not negative, and a cast to an integer saturates"
)]
fn to_whole_micros(micros: f64) -> u64 {
    // Sums of decimal fractions are slightly inexact; that must not add a millionth.
    (micros - 1e-6).ceil() as u64
}

/// Formats millionths as an amount of money.
pub(super) fn money(micros: u64, currency: &str) -> String {
    let (units, rest) = (micros / 1_000_000, micros % 1_000_000);
    let digits = format!("{rest:06}");
    let digits = digits.trim_end_matches('0');
    format!("{units}.{digits:0<2} {currency}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_have_their_price() {
        let settings = json!({"price": {"input": 0.25, "cached": 0.025, "output": 2.0}});
        let price = Price::from_settings(settings.as_object().expect("object")).expect("a price");
        let usage = Usage {
            input: 1_000_000,
            cached: 400_000,
            written: 0,
            output: 100_000,
        };
        assert_eq!(price.micros(usage, false), 150_000 + 10_000 + 200_000);
        assert_eq!(price.micros(usage, true), 180_000);
        assert_eq!(
            price.micros(
                Usage {
                    input: 1,
                    ..Usage::default()
                },
                false
            ),
            1,
            "rounded up"
        );
        assert_eq!(price.micros(Usage::default(), false), 0);
        assert_eq!(price.most(1_000_000, 0, false), 250_000);
        assert_eq!(price.currency, "USD");
        assert_eq!(
            Price::from_settings(json!({"price": {"input": 1}}).as_object().expect("object")),
            None
        );
        assert_eq!(money(1_234_500, "EUR"), "1.2345 EUR");
        assert_eq!(money(2_000_000, "EUR"), "2.00 EUR");
    }

    #[test]
    fn writing_to_a_providers_cache_may_cost_more() {
        let settings = json!({"price": {"input": 4, "cached": 0.4, "cache_write": 5, "output": 20, "currency": "EUR"}});
        let price = Price::from_settings(settings.as_object().expect("object")).expect("a price");
        let usage = Usage {
            input: 1_000,
            cached: 500,
            written: 300,
            output: 10,
        };
        assert_eq!(price.micros(usage, false), 200 * 4 + 200 + 300 * 5 + 200);
        assert_eq!(price.most(1_000, 10, false), 5_200);
    }
}
