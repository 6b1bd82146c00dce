//! Methods that only conversations use: the next turn of a model, completion of a reference, and the end of a round. They run like other methods.

use engine::build::ad_hoc::AdHocRequest;
use engine::seams::paid::Spent;
use engine::seams::producer::{Failure, Input, Params};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::catalog::{Effect, Method, MethodEntry, entry};
use methods::desk::Desk;
use methods::desk::model_limits::AskingArgs;
use methods::failed::Failed;
use producers::converse::{self, ConversationTurn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use workbench::chat::complete;
use workbench::context::mentioned::{Mention, mentions};
use workbench::context::stored_conversations::Conversations;

/// Method that returns the next turn.
pub static TURN: MethodEntry = entry::<Turn>();
pub static END_ROUND: MethodEntry = entry::<EndRound>();
/// Method that lists the types that no model may see.
pub static WITHHELD_TYPES: MethodEntry = entry::<WithheldTypes>();
/// Method that completes a reference.
pub static COMPLETE: MethodEntry = entry::<Complete>();

/// Ask a model for the next turn of a conversation.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Turn {
    /// The handle of the conversation.
    pub conversation: String,
    /// Name of the model.
    pub model: String,
    /// The turns so far.
    #[arg(skip)]
    #[schemars(with = "Vec<Value>")]
    pub turns: Vec<ConversationTurn>,
    /// Limits of costs.
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// A turn, complete or partial.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turned {
    /// The text of the answer; after a failure, the part received by then.
    pub text: String,
    /// Whether the answer to the same question was cached, so that it is free.
    pub cached: bool,
    /// Cost of this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    pub spent: Option<Spent>,
    /// Why the turn is incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    pub failed: Option<Fault>,
}

/// Reason why a turn is incomplete.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fault {
    pub code: String,
    /// The reason, as a sentence.
    pub message: String,
    /// The person's next step.
    pub hint: Option<String>,
}

impl Fault {
    pub fn from_diagnostic(why: &Diagnostic) -> Self {
        Self {
            code: why.code.clone(),
            message: match &why.found {
                Some(found) => format!("{} ({found})", why.message),
                None => why.message.clone(),
            },
            hint: why.hint.clone(),
        }
    }
}

impl Method for Turn {
    const NAME: &'static str = "chat";
    const EFFECT: Effect = Effect::Acts;
    const ASKS: bool = true;
    type Answer = Turned;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Turned, Failed> {
        desk.limit_models(self.asking.clone());
        let cancel = desk.context.cancel();
        let label = format!("//conversations/{}:answer", self.conversation);
        let (_, session) = desk.open_to_build()?;
        let mut params = Params::new();
        params.insert("model".to_owned(), self.model.as_str().into());
        let turns = Input::of("turns", converse::encode_turns(&self.turns));
        let roles = BTreeMap::from([(Arc::from(converse::TURNS), vec![turns])]);
        let wanted = AdHocRequest {
            label: &label,
            uses: converse::NAME,
            params: &params,
            roles: &roles,
            fresh: false,
        };
        let made = match session.produce_ad_hoc(&wanted, &cancel)? {
            Ok(made) => made,
            Err(failure) => return Ok(failed_turn(failure)),
        };
        desk.context.say(&made.diagnostics);
        Ok(Turned {
            text: String::from_utf8_lossy(&made.bytes).into_owned(),
            cached: made.cached,
            spent: made.spent.filter(|_| !made.cached),
            failed: None,
        })
    }

    fn text(answer: &Turned) -> String {
        answer.text.clone()
    }
}

/// Creates a failed turn with its cost, because the limits of the conversation count that, too.
fn failed_turn(failure: Failure) -> Turned {
    let (why, text, spent) = match failure {
        Failure::Permanent(why) | Failure::Transient(why) | Failure::Limit(why) => (*why, String::new(), None),
        Failure::Rejected(rejected) => (rejected.why, String::from_utf8_lossy(&rejected.raw).into_owned(), rejected.spent),
        Failure::Cancelled => (Diagnostic::error(ErrorCode::E_CANCELLED, "it was stopped"), String::new(), None),
        Failure::Deferred | Failure::Awaited => {
            let why = Diagnostic::error(ErrorCode::E_MODEL, "this model answers later, which is too late for a conversation");
            (why.hint("choose another with /model or --model"), String::new(), None)
        }
    };
    Turned {
        text,
        cached: false,
        spent,
        failed: Some(Fault::from_diagnostic(&why)),
    }
}

/// Record in a round the types and files that its answer names: rounds that name the same files have the same subject.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
pub struct EndRound {
    /// The handle of the conversation.
    pub conversation: String,
    /// The number of the round.
    pub round: u64,
    /// The answer.
    pub answer: String,
}

/// The types and files that an answer names.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// Types, by key.
    pub types: Vec<String>,
    /// Files.
    pub files: Vec<String>,
}

impl Method for EndRound {
    const NAME: &'static str = "end round";
    const EFFECT: Effect = Effect::Sets;
    type Answer = Named;

    /// A conversation is a file with its own lock, so the checkout is not needed.
    fn reads(&self) -> bool {
        true
    }

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Named, Failed> {
        let names = desk.workspace_names()?;
        let known = desk.index(&names)?;
        let root = desk.open_to_build()?.0.root.clone();
        let found = mentions(&self.answer, &known.index);
        let named = |of: fn(&Mention) -> &Vec<String>| -> Vec<String> {
            let all: BTreeSet<&String> = found.iter().flat_map(of).collect();
            all.into_iter().cloned().collect()
        };
        let named = Named {
            types: named(|mention| &mention.types),
            files: named(|mention| &mention.files),
        };
        // Another process may have deleted the conversation; then no later round needs these names.
        let _ = Conversations::change(&root, |all| {
            all.continue_conversation(&self.conversation)
                .map(|found| found.end_round(self.round, &named.types, &named.files))
        });
        Ok(named)
    }

    fn text(answer: &Named) -> String {
        answer.types.join("\n")
    }
}

/// Complete a partly typed reference.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
pub struct Complete {
    /// Whether the reference is to a file, not to a symbol.
    pub file: bool,
    /// The typed part.
    pub typed: String,
}

/// Completions of a reference.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Completed {
    /// The candidates, the nearest first.
    pub candidates: Vec<String>,
}

impl Method for Complete {
    const NAME: &'static str = "complete";
    const EFFECT: Effect = Effect::Looks;
    type Answer = Completed;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Completed, Failed> {
        let candidates = match self.file {
            false => complete::complete_symbols(&desk.workspace_names()?.symbols, &self.typed),
            true => {
                let (_, session) = desk.open_to_build()?;
                let files: Vec<String> = session.sources.files().into_iter().map(|(path, _)| path).collect();
                complete::complete_files(files.iter().map(String::as_str), &self.typed)
            }
        };
        Ok(Completed { candidates })
    }

    fn text(answer: &Completed) -> String {
        answer.candidates.join("\n")
    }
}

/// List the types that no model may see.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
pub struct WithheldTypes {}

/// Keys of types.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TypeKeys {
    /// The keys, in the order of the index.
    pub types: Vec<String>,
}

impl Method for WithheldTypes {
    const NAME: &'static str = "withheld types";
    const EFFECT: Effect = Effect::Looks;
    type Answer = TypeKeys;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<TypeKeys, Failed> {
        let names = desk.workspace_names()?;
        let types = desk.index(&names)?.withheld_types();
        Ok(TypeKeys { types })
    }

    fn text(answer: &TypeKeys) -> String {
        answer.types.join("\n")
    }
}

/// Returns the failure of a conversation's request as one fault.
pub fn fault_of_request(failed: &Failed) -> Fault {
    match failed.diagnostics.first() {
        Some(why) => Fault::from_diagnostic(why),
        None => Fault {
            code: String::new(),
            message: format!("it failed with exit code {}", failed.code.number()),
            hint: None,
        },
    }
}
