//! Flags of commands that share results with other machines.

use super::default_jobs;
use clap::{Args, Subcommand};
use methods::catalog::guarded_pattern::unguard_label;
use methods::catalog::since::Since;
use methods::desk::model_limits::AskingArgs;
use std::path::PathBuf;

/// Build targets and store them in the remote cache, for other machines.
///
/// It stores the targets with all their inputs, waits until they are sent, and does not send again what an earlier bundle contains. A fresh
/// checkout of the same files then builds them without running anything. A branch that edits some files runs only the affected targets. Exit codes:
/// as `build`; 7 the remote cache did not store everything; 8 a verified sample differed, and no bundle was stored.
#[derive(Debug, Args)]
pub struct WarmArgs {
    /// Targets: labels or patterns such as //types/...:outline; a leading - excludes.
    #[arg(required_unless_present = "paid", value_name = "PATTERN", value_parser = unguard_label)]
    pub patterns: Vec<String>,
    /// Offer all paid results of the store, from any tree; without a pattern, build nothing.
    #[arg(long)]
    pub paid: bool,
    /// Continue the bundle of the commit at which this branch left the main line, and no other: for jobs of pull requests.
    #[arg(long)]
    pub from_merge_base: bool,
    /// Worker threads.
    #[arg(short, long, value_name = "N", default_value_t = default_jobs(), value_parser = clap::value_parser!(u16).range(1..=512))]
    pub jobs: u16,
    /// Before storing results, rebuild N % of them on this machine and compare, those of other machines first. Asks no model.
    #[arg(long, value_name = "N%", value_parser = percent)]
    pub verify_sample: Option<f64>,
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// Parses `5%` or `5`.
fn percent(text: &str) -> Result<f64, &'static str> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let fits = number.filter(|number| (0.0..=100.0).contains(number));
    fits.ok_or("not a percentage from 0 to 100; write 5% or 0.5%")
}

/// Check the remote cache of cortex.toml, or show its use.
#[derive(Debug, Args)]
pub struct RemoteArgs {
    #[command(subcommand)]
    pub command: RemoteCommand,
}

/// Commands about the remote cache.
#[derive(Debug, Subcommand)]
pub enum RemoteCommand {
    /// Print the features of the remote cache, and measure a round trip. Exit codes: 0 it answers, 7 it cannot be used.
    Ping,
    /// Sum up this checkout's use of the remote cache.
    Stats {
        /// Count only since a day (2026-11-01) or within a span (7d, 12h).
        #[arg(long, value_name = "WHEN", value_parser = Since::parse_since)]
        since: Option<Since>,
    },
}

/// Compute the targets of a shard: the command of workers. Reads one file and writes one.
#[derive(Debug, Args)]
pub struct ProduceShardArgs {
    /// The shard.
    #[arg(value_name = "IN")]
    pub shard: PathBuf,
    /// The file for the results.
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
}
