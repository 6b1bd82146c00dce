//! Flags of commands that ask models, and of commands that show their answers.

use clap::Args;
use producers::llm::Used;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// Limits and ways of asking models.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AskingArgs {
    /// Calls to models at the same time [default: half the cores, at most 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_jobs: Option<u16>,
    /// Spend at most this amount in total, in each currency.
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
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
pub(super) fn amount(text: &str) -> Result<u64, String> {
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

/// Print the prompt for a target without sending it.
#[derive(Debug, Args)]
pub struct PromptArgs {
    /// The target.
    pub label: String,
    /// Print the prompt for a whole new answer, even if the earlier one would be patched or is still valid.
    #[arg(long)]
    pub full: bool,
}

/// Get a new answer although one is cached.
///
/// The earlier ones stay in the target's history.
#[derive(Debug, Args)]
pub struct RegenerateArgs {
    /// The targets.
    #[arg(required = true, value_name = "LABEL")]
    pub labels: Vec<String>,
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// Correct an output of a model by hand.
///
/// cortex marks your changes and keeps them until you release them. Later answers start from them.
#[derive(Debug, Args)]
pub struct EditOutputArgs {
    /// The target.
    pub label: String,
    /// Read the text from FILE (- for standard input) instead of opening an editor ($VISUAL, $EDITOR).
    #[arg(long, value_name = "FILE", conflicts_with = "version")]
    pub file: Option<PathBuf>,
    /// Restore an earlier version, by its number in `cortex history`.
    #[arg(long, value_name = "N")]
    pub version: Option<u32>,
    /// Release your corrections: the text stays until it is next built, and then contains none of them.
    #[arg(long, conflicts_with_all = ["file", "version"])]
    pub release: bool,
}

/// A point in time, or a span before now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Seconds since 1970.
    At(u64),
    /// Seconds before now.
    Before(u64),
}

impl Since {
    /// Returns the point in time in seconds since 1970.
    pub fn seconds_since_1970_at(self, now: u64) -> u64 {
        match self {
            Self::At(at) => at,
            Self::Before(span) => now.saturating_sub(span),
        }
    }

    /// Parses a date, a point in time or a span.
    ///
    /// # Errors
    /// How it is written.
    pub fn parse_since(text: &str) -> Result<Self, String> {
        let day = humantime::parse_rfc3339_weak(&format!("{text} 00:00:00"));
        let at = day.ok().and_then(|day| day.duration_since(UNIX_EPOCH).ok());
        if let Some(at) = at {
            return Ok(Self::At(at.as_secs()));
        }
        humantime::parse_duration(text)
            .map(|span| Self::Before(span.as_secs()))
            .map_err(|_| "write a day such as 2026-11-01, or a span such as 12h, 7d or 4w".to_owned())
    }
}
