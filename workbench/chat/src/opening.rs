//! Begins a conversation, or continues one.

use crate::conversation::ChatConversation;
use engine::manifest::model::Manifest;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::code::Code;
use methods::desk::model_limits::AskingArgs;
use methods::desk::request_context::RequestContext;
use methods::failed::Failed;
use serve::Host;
use std::path::Path;
use std::sync::Arc;
use workbench::chat::transcript::{Transcript, latest};
use workbench::checkout::{self, FolderLock};
use workbench::context::withheld_files::never_send_of;

/// The wanted conversation.
pub struct ConversationWish<'w> {
    /// Handle of the conversation to continue; empty for the last one, `None` for a new one.
    pub resume: Option<&'w str>,
    /// Name of the model that answers, if it is not the default.
    pub model: Option<&'w str>,
    /// Limit of a context, in tokens.
    pub budget: usize,
    /// Limits of all questions together.
    pub limits: AskingArgs,
}

/// Opens a conversation. Reports errors of manifest and store at once. Fails when the workspace cannot be read, or there is no such
/// conversation or model.
pub fn open_conversation(context: &RequestContext, host: Arc<Host>, wish: ConversationWish<'_>) -> Result<ChatConversation, Failed> {
    let workspace = context.workspace("chat")?;
    let manifest = workspace.manifest()?;
    let root = workspace.root.clone();
    drop(workspace);
    context.release_locks_to_reopen();
    let (transcript, lock) = match wish.resume {
        None => (Transcript::default(), None),
        Some(id) => resume_conversation(&root, id)?,
    };
    let mut conversation = ChatConversation {
        host,
        root,
        transcript,
        transcript_lock: lock,
        model: None,
        models: models(&manifest),
        budget: wish.budget,
        never_send: never_send_of(&manifest),
        limits: wish.limits,
        used: Default::default(),
    };
    match wish.model {
        Some(name) => conversation.choose_model(name)?,
        None => conversation.model = default_model(&manifest, &conversation.models),
    }
    Ok(conversation)
}

/// Returns the models that answer at once.
fn models(manifest: &Manifest) -> Vec<String> {
    let answers = |api: Option<&str>| matches!(api, Some("openai" | "anthropic" | "command" | "replay"));
    let models = manifest.models.iter();
    let models = models.filter(|(_, model)| answers(model.get("api").and_then(|api| api.as_str())));
    models.map(|(name, _)| name.clone()).collect()
}

/// Returns the default model: that of the summaries, or the only one. With several there is no default, because their prices differ.
fn default_model(manifest: &Manifest, models: &[String]) -> Option<String> {
    let summaries = manifest.producers.iter().find(|producer| producer.uses == "semantic");
    let of_summaries = summaries
        .and_then(|producer| producer.settings.get("model"))
        .and_then(|model| model.as_str());
    let of_summaries = of_summaries.filter(|name| models.iter().any(|model| model == name));
    of_summaries.map(str::to_owned).or_else(|| match models {
        [only] => Some(only.clone()),
        _ => None,
    })
}

/// Returns the transcript of a conversation, or of the last one, and the lock that keeps other processes from it.
fn resume_conversation(root: &Path, id: &str) -> Result<(Transcript, Option<FolderLock>), Failed> {
    let unread = |error: std::io::Error| {
        let damaged = "check .cortex; a damaged file can be moved away";
        Failed::new(Code::Io, checkout::trouble("the conversation", &error, damaged))
    };
    let last = latest(root).map_err(unread)?;
    let id = match id {
        "" => last,
        id => Some(id.to_owned()),
    };
    let read = |id: &str| Transcript::read_transcript(root, id).map_err(unread);
    let found = id.as_deref().map(read).transpose()?;
    let Some(found) = found.filter(|transcript| !transcript.exchanges.is_empty()) else {
        let why = Diagnostic::error(ErrorCode::E_CONVERSATION, "there is no such conversation to continue");
        let why = match id {
            Some(id) => why.found(id.chars().take(80).collect::<String>()),
            None => why,
        };
        return Err(Failed::new(Code::Usage, why.hint("begin one with `cortex chat`")));
    };
    let Some(lock) = Transcript::lock_conversation(root, &found.id).map_err(unread)? else {
        let why = Diagnostic::error(ErrorCode::E_CONVERSATION, "another `cortex chat` has this conversation open");
        let why = why.found(found.id.as_str());
        return Err(Failed::new(
            Code::Busy,
            why.hint("continue there, or end it there first; `cortex chat` begins another one"),
        ));
    };
    // Another process may have added to it before the lock was acquired.
    Ok((read(&found.id)?, Some(lock)))
}
