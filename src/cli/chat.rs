//! Flags of `cortex chat`.

use super::AskingArgs;
use clap::Args;
use methods::desk::asking::parse_amount;

/// Talk about the code of the workspace with a model, in the terminal.
///
/// Where there is no terminal one question is answered. A question is QUESTION, or what is written or piped in. A context is built for each within the budget; a model of `cortex.toml`
/// (`[model.NAME]`) answers from it and may look further with the tools of MCP. Edits are proposed, and saved only when you accept them.
/// Without a model the answer is quoted from the context.
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// Answer this, and end.
    pub question: Option<String>,
    /// Go on with the last conversation, or with that of the handle ID.
    #[arg(long = "continue", value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub resume: Option<String>,
    /// Which model answers [default: that of the summaries, or the only one there is].
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Tokens of the context of a question at most.
    #[arg(long, value_name = "TOKENS", default_value_t = 6_000)]
    pub budget: usize,
    /// Ask no model for more than this in all, of each currency of a price.
    #[arg(long, value_name = "AMOUNT", value_parser = parse_amount)]
    pub max_cost: Option<u64>,
    /// Make at most so many calls.
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Send and receive at most so many tokens.
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
