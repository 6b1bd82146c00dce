//! Flags of commands that print built-in pages and lists.

use clap::{Args, Subcommand, ValueEnum};
use methods::commands::default_threads;
use std::path::PathBuf;

/// Print the help of a command, or a page of the book.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command (`build`, `store verify`) or a topic (`manifest`) [default: list them].
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
    /// The command.
    pub command: Option<String>,
}

/// Measurements for developers of cortex.
#[derive(Debug, Args)]
pub struct DevArgs {
    #[command(subcommand)]
    pub command: DevCommand,
}

/// Commands for developers.
#[derive(Debug, Subcommand)]
pub enum DevCommand {
    /// Print the facts about the C# code as JSON lines, in the form of the compiler's facts (scripts/oracle).
    Facts,
    /// Print the reference page of codes.
    Errors,
    /// Print the reference page of methods.
    Methods,
    /// Print the reference page of commands.
    Commands,
    /// Print the sandbox level of this machine, and why higher levels do not work, as JSON.
    Sandbox,
    /// Parse the C# files of a folder with the bare grammar and print the cost, as JSON.
    ParseOnly {
        /// The folder.
        folder: PathBuf,
        /// Threads.
        #[arg(short, long, value_name = "N", default_value_t = default_threads(), value_parser = clap::value_parser!(u16).range(1..=512))]
        jobs: u16,
    },
}
