//! The flags of `cortex dev`.

use super::default_jobs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Measurements for those who work on cortex.
#[derive(Debug, Args)]
pub struct DevArgs {
    #[command(subcommand)]
    pub command: DevCommand,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum DevCommand {
    /// Print what is known of the C# code as JSON lines, in the form of the compiler's facts (scripts/oracle).
    Facts,
    /// Print the reference page of codes.
    Errors,
    /// Print the reference page of methods.
    Methods,
    /// Fill a store with many results and time what takes care of it; as JSON.
    StoreBench {
        /// Where; it must not hold a store.
        folder: PathBuf,
        /// How many results.
        #[arg(long, default_value_t = 100_000)]
        blobs: u64,
        /// Bytes of each output.
        #[arg(long, default_value_t = 1_024)]
        size: usize,
    },
    /// Resolve and search the names of a workspace that is made up, and time it; as JSON.
    SymbolsBench {
        /// How many types.
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        types: u32,
    },
    /// The level at which this machine can confine programs, and why not more, as JSON.
    Sandbox,
    /// Parse the C# files of a folder with the bare grammar and print what that costs, as JSON.
    ParseOnly {
        /// The folder.
        folder: PathBuf,
        /// Threads.
        #[arg(short, long, value_name = "N", default_value_t = default_jobs(), value_parser = clap::value_parser!(u16).range(1..=512))]
        jobs: u16,
    },
}
