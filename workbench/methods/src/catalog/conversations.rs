//! `context end` records the files that an answer used; `context conversations` lists the conversations.

use super::context_build::{absent, conversation_not_stored};
use super::window::root_of_workspace;
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::{plural, printable};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use workbench::context::rounds::Conversation;
use workbench::context::stored_conversations::Conversations;
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;

/// End a round of a conversation, with the files that the answer used.
///
/// A later question that names one of these files has the same subject as the round.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct End {
    /// The handle of the conversation.
    #[arg(long, value_name = "ID")]
    pub conversation: String,
    /// The round [default: the last].
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = false))]
    pub round: Option<u64>,
    /// Files that the answer used.
    #[schemars(extend("x-tool" = ""))]
    #[arg(value_name = "FILE", required = true)]
    #[serde(default, deserialize_with = "super::arguments::one_or_many")]
    pub files: Vec<String>,
}

/// A round that has ended.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    conversation: String,
    round: u64,
    /// Files that the round names now.
    files: Vec<String>,
}

impl Method for End {
    const NAME: &'static str = "context end";
    const EFFECT: Effect = Effect::Acts;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Ended;

    fn reads(&self) -> bool {
        true
    }

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Ended, Failed> {
        let (id, root) = (&self.conversation, root_of_workspace(desk)?);
        let used = existing_files(&root, &self.files)?;
        let ended = Conversations::change(&root, |all| {
            let found = all.continue_conversation(id)?;
            let number = self
                .round
                .or_else(|| found.rounds.last().map(|last| last.number))
                .unwrap_or_default();
            found.end_round(number, &[], &used);
            let round = found.rounds.iter().find(|round| round.number == number);
            Ok(round.map(|round| (number, round.files.clone())))
        });
        let (round, files) = ended
            .map_err(|error| conversation_not_stored(&error))?
            .map_err(|why| absent(id, why))?
            .ok_or_else(|| {
                let why = Diagnostic::error(ErrorCode::E_CONVERSATION, "the conversation no longer has this round").found(id.clone());
                Failed::new(Code::Usage, why.hint("`context conversations` lists the rounds"))
            })?;
        Ok(Ended {
            conversation: id.clone(),
            round,
            files,
        })
    }

    fn text(answer: &Ended) -> String {
        let files = answer.files.join(", ");
        printable(&format!("round {} of {} names {files}\n", answer.round, answer.conversation))
    }
}

/// Returns the paths below the workspace of files that an answer used. Fails when none is named, or the workspace does not have one of
/// them: a round that names it would never be found by it.
fn existing_files(root: &Path, given: &[String]) -> Result<Vec<String>, Failed> {
    let refused = |why: Diagnostic, hint: &str| Failed::new(Code::Usage, why.hint(hint));
    if given.is_empty() {
        let why = Diagnostic::error(ErrorCode::E_PARAM, "the argument 'files' is missing");
        return Err(refused(why, "name the files that the answer used"));
    }
    let disk = Disk::new(root);
    let existing = |path: &String| {
        let found = |why: String| Diagnostic::error(ErrorCode::E_PARAM, why).found(path.clone());
        let resolved = disk.resolve(path).map_err(|why| refused(found(why.to_string()), why.hint()))?;
        match root.join(&resolved).is_file() {
            true => Ok(resolved),
            false => Err(refused(
                found("the workspace has no such file".to_owned()),
                "paths are relative to the workspace's root; no file of this call was recorded",
            )),
        }
    };
    given.iter().map(existing).collect()
}

/// List the conversations of this checkout with their last questions, or drop one.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct List {
    /// Drop the conversation with this handle.
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-tool" = ""))]
    pub drop: Option<String>,
}

/// The conversations.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// Conversations, last used first.
    conversations: Vec<ConversationRow>,
    /// Handle of the dropped conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dropped: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ConversationRow {
    id: String,
    /// Number of its rounds.
    rounds: u64,
    /// The last question.
    query: String,
}

impl ConversationRow {
    fn from_conversation(one: &Conversation) -> Self {
        Self {
            id: one.id.clone(),
            rounds: one.count,
            query: one.rounds.last().map(|last| last.query.clone()).unwrap_or_default(),
        }
    }
}

impl Method for List {
    const NAME: &'static str = "context conversations";
    const EFFECT: Effect = Effect::Acts;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Listed;

    fn reads(&self) -> bool {
        true
    }

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Listed, Failed> {
        let root = root_of_workspace(desk)?;
        if let Some(id) = &self.drop {
            let dropped = Conversations::change(&root, |all| {
                all.find(id)?;
                all.open.retain(|one| one.id != *id);
                Ok(())
            });
            dropped
                .map_err(|error| conversation_not_stored(&error))?
                .map_err(|why| absent(id, why))?;
        }
        let mut open = Conversations::from_file(&root)
            .map_err(|error| conversation_not_stored(&error))?
            .open;
        open.sort_by_key(|one| std::cmp::Reverse(one.used));
        Ok(Listed {
            conversations: open.iter().map(ConversationRow::from_conversation).collect(),
            dropped: self.drop.clone(),
        })
    }

    fn text(answer: &Listed) -> String {
        let mut text = answer.dropped.as_ref().map_or_else(String::new, |id| format!("{id} is dropped\n"));
        for one in &answer.conversations {
            let query: String = one
                .query
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .chars()
                .take(100)
                .collect();
            text.push_str(&format!("{}  {}  {query}\n", one.id, plural(one.rounds, "round")));
        }
        if answer.conversations.is_empty() {
            text.push_str("there are no conversations\n");
        }
        printable(&text)
    }
}
