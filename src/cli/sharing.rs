//! Flags of commands that share results with other machines.

use clap::{Args, Subcommand};
use methods::catalog::since::Since;
use std::path::PathBuf;

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
