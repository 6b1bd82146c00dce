//! Flags of commands that ask models, and of commands that show their answers.

use clap::Args;
use methods::desk::model_limits::AskingArgs;
use std::path::PathBuf;

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
