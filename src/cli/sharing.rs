//! Flags of commands that share results with other machines.

use super::default_jobs;
use clap::{Args, Subcommand};
use methods::desk::asking::AskingArgs;
use methods::table::guarded_pattern::unguarded;
use methods::table::since::Since;
use std::path::PathBuf;

/// Build targets and fill the remote cache with them, for other machines.
///
/// All they are made of is filed with them, and waited for; what an earlier bundle holds is not sent again. A fresh checkout of the same files then builds them without
/// running anything, and one of a branch that edits some of them runs what these reach. Exit codes: as `build`; 7 the remote cache did not take all of it; 8 what is looked at again came out different, and nothing was filed together.
#[derive(Debug, Args)]
pub struct WarmArgs {
    /// Which targets: labels or patterns such as //types/...:outline; a leading - takes away.
    #[arg(required_unless_present = "paid", value_name = "PATTERN", value_parser = unguarded)]
    pub patterns: Vec<String>,
    /// Offer all results of the store that were paid for, whatever tree they are of; without a pattern nothing is built.
    #[arg(long)]
    pub paid: bool,
    /// Continue the bundle of the commit at which this branch left the main line, and no other: for jobs of pull requests.
    #[arg(long)]
    pub from_merge_base: bool,
    /// Worker threads.
    #[arg(short, long, value_name = "N", default_value_t = default_jobs(), value_parser = clap::value_parser!(u16).range(1..=512))]
    pub jobs: u16,
    /// Make N % of it again on this machine before it is filed, what other machines made first, and compare. No model is asked.
    #[arg(long, value_name = "N%", value_parser = percent)]
    pub verify_sample: Option<f64>,
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// Parses `5%` or `5`.
fn percent(text: &str) -> Result<f64, &'static str> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let fits = number.filter(|number| (0.0..=100.0).contains(number));
    fits.ok_or("a share is written as 5% or 0.5%")
}

/// Ask the remote cache that cortex.toml names.
#[derive(Debug, Args)]
pub struct RemoteArgs {
    #[command(subcommand)]
    pub command: RemoteCommand,
}

/// What to ask the remote cache.
#[derive(Debug, Subcommand)]
pub enum RemoteCommand {
    /// Ask it what it can do, and measure a round trip. Exit codes: 0 it answers, 7 it cannot be used.
    Ping,
    /// Sum up what this checkout had of it.
    Stats {
        /// Only what was since then: a day (2026-11-01) or a span (7d, 12h).
        #[arg(long, value_name = "WHEN", value_parser = Since::parse_since)]
        since: Option<Since>,
    },
}

/// Make what a shard asks for: what workers are told to do. Reads one file and writes one.
#[derive(Debug, Args)]
pub struct ProduceShardArgs {
    /// The shard.
    #[arg(value_name = "IN")]
    pub shard: PathBuf,
    /// Where to write what was made.
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
}
