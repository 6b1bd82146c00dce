//! Flags of commands that ask models, and of commands that show their answers.

use clap::Args;
use methods::desk::asking::AskingArgs;
use std::path::PathBuf;

/// Print what a model would be asked for a target. Nothing is sent.
#[derive(Debug, Args)]
pub struct PromptArgs {
    /// Which target.
    pub label: String,
    /// The prompt of a whole new answer, even where the earlier one would be patched or still stands.
    #[arg(long)]
    pub full: bool,
}

/// Ask for a new answer although one is filed.
///
/// The earlier ones stay in the target's history.
#[derive(Debug, Args)]
pub struct RegenerateArgs {
    /// Which targets.
    #[arg(required = true, value_name = "LABEL")]
    pub labels: Vec<String>,
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// Correct an output of a model by hand.
///
/// What you change is marked as yours, stands until you let it go, and later answers start from it.
#[derive(Debug, Args)]
pub struct EditOutputArgs {
    /// Which target.
    pub label: String,
    /// Take the text from FILE (- for standard input) instead of opening an editor ($VISUAL, $EDITOR).
    #[arg(long, value_name = "FILE", conflicts_with = "version")]
    pub file: Option<PathBuf>,
    /// Put an earlier version, by its number in `cortex history`, in its place.
    #[arg(long, value_name = "N")]
    pub version: Option<u32>,
    /// Let your corrections go: the text stays until it is next made, and then nothing of it is yours.
    #[arg(long, conflicts_with_all = ["file", "version"])]
    pub release: bool,
}
