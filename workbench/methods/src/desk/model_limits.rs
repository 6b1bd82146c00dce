//! Limits of a request that asks models.

use clap::Args;
use producers::llm::Used;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits and ways of asking models.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AskingArgs {
    /// Calls to models at the same time [default: half the cores, at most 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_jobs: Option<u16>,
    /// Spend at most this amount in total, in each currency.
    #[arg(long, value_name = "AMOUNT", value_parser = parse_amount)]
    #[serde(with = "money", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub max_cost: Option<u64>,
    /// Make at most N calls.
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    /// Send and receive at most N tokens.
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Send questions to the provider's batch interface, at half the price; a later build collects the answers.
    #[arg(long)]
    pub batch: bool,
    /// Earlier costs under these limits.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Used::is_nothing")]
    #[schemars(skip)]
    pub used: Used,
}

impl AskingArgs {
    /// Returns the limit of simultaneous calls: half the cores but at most 4, unless a flag sets it (seed 000 §5.3).
    pub fn jobs(&self) -> usize {
        let half = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4));
        self.llm_jobs.map_or(half, usize::from)
    }
}

/// Serialization of an amount of money as a number of whole units.
mod money {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(micros: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        let units = micros.map(|micros| micros as f64 / 1e6);
        match units {
            Some(units) => to.serialize_f64(units),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let units = Option::<f64>::deserialize(from)?;
        let micros = |units: f64| match units {
            0.0..=1e12 => Ok((units * 1e6).round() as u64),
            _ => Err(serde::de::Error::custom("an amount is a number from 0")),
        };
        units.map(micros).transpose()
    }
}

/// Parses an amount of money into millionths.
pub fn parse_amount(text: &str) -> Result<u64, String> {
    let wrong = || "write an amount such as 2.50".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 6 || whole.is_empty() || !text.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = format!("{part:0<6}").parse().map_err(|_| wrong())?;
    whole
        .checked_mul(1_000_000)
        .and_then(|whole| whole.checked_add(part))
        .ok_or_else(wrong)
}
