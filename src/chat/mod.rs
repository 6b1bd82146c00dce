//! `cortex chat`: a conversation about the workspace (seed 003). The crate `chat` runs it; here are an editor and a screen
//! for a terminal.

mod plain;
mod screen;
mod session;

use crate::cli::ChatArgs;
use crate::command_context::CommandContext;
use chat::opening::{ConversationWish, open_conversation};
use methods::failed::Outcome;
use std::io::IsTerminal;

/// Runs `cortex chat`.
pub fn run_chat(context: &CommandContext, args: &ChatArgs) -> Outcome {
    let wish = ConversationWish {
        resume: args.resume.as_deref(),
        model: args.model.as_deref(),
        budget: args.budget,
        limits: args.limits(),
    };
    let mut conversation = open_conversation(context, context.host(), wish)?;
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_terminal && args.question.is_none() && !context.prints_json() {
        return session::run_conversation(context, conversation);
    }
    plain::answer_plainly(context, &mut conversation, args.question.as_deref())
}
