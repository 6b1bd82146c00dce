//! Flags of commands that print built-in pages and lists.

use super::default_jobs;
use clap::{Args, Subcommand, ValueEnum};
use methods::table::guarded_pattern::unguarded;
use std::path::PathBuf;

/// List or print the built-in rulesets.
#[derive(Debug, Args)]
pub struct RulesArgs {
    #[command(subcommand)]
    pub command: Option<RulesCommand>,
}

/// What to do with rulesets.
#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    /// Name the built-in rulesets.
    List,
    /// Print one: a manifest like any other.
    Show {
        /// Which.
        name: String,
    },
}

/// List targets: those of a pattern or a type, or what kinds there are. Runs nothing.
#[derive(Debug, Args)]
pub struct LsArgs {
    /// A pattern, or the name of a type [default: the kinds of targets, with how many there are of each].
    #[arg(value_name = "PATTERN", value_parser = unguarded)]
    pub pattern: Option<String>,
}

/// Check `cortex.toml`: say whether it can be used, and all that is wrong with it. Builds nothing.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Print the JSON Schema of `cortex.toml` instead, for an editor.
    #[arg(long)]
    pub schema: bool,
}

/// Format `cortex.toml`: spaces and blank lines. Comments and the order of keys stay.
#[derive(Debug, Args)]
pub struct FmtArgs {
    /// Write nothing; exit with 1 when the form is another.
    #[arg(long)]
    pub check: bool,
}

/// Print the help of a command, or a page of the book.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command (`build`, `store verify`) or a topic (`manifest`); none: all of them.
    #[arg(value_name = "COMMAND or TOPIC")]
    pub topic: Vec<String>,
}

/// Print the script that completes commands, flags, labels, targets and names in a shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: Shell,
}

/// A shell that can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Elvish,
    Fish,
    Nushell,
    Powershell,
    Zsh,
}

/// Print the manual page (roff), of cortex or of one of its commands.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Which command.
    pub command: Option<String>,
}

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
    /// Print the reference page of commands.
    Commands,
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
