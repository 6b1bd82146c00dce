//! Flags of `cortex chat`.

use clap::Args;
use methods::desk::model_limits::AskingArgs;
use methods::desk::model_limits::parse_amount;

/// Talk about the code of the workspace with a model, in the terminal.
///
/// Without a terminal it answers one question: QUESTION, or standard input. It builds a context for each question within the budget. A model of
/// `cortex.toml` (`[model.NAME]`) answers from the context, and may read more with the tools of MCP. It proposes edits, and cortex saves them only
/// when you accept them. Without a model the answer quotes the context.
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// Answer this question, and exit.
    pub question: Option<String>,
    /// Continue the last conversation, or that of the handle ID.
    #[arg(long = "continue", value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub resume: Option<String>,
    /// The model that answers [default: that of the summaries, or the only one].
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Maximum tokens of a question's context.
    #[arg(long, value_name = "TOKENS", default_value_t = 6_000)]
    pub budget: usize,
    /// Spend at most this amount in total, in each currency.
    #[arg(long, value_name = "AMOUNT", value_parser = parse_amount)]
    pub max_cost: Option<u64>,
    /// Make at most N calls.
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Send and receive at most N tokens.
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
}

impl ChatArgs {
    /// Returns the limits of all questions together.
    pub fn limits(&self) -> AskingArgs {
        AskingArgs {
            max_cost: self.max_cost,
            max_calls: self.max_calls,
            max_tokens: self.max_tokens,
            ..AskingArgs::default()
        }
    }
}
