//! `cortex regenerate`: asks a model again although an answer is stored.

use super::CommandAnswer;
use super::build::conclude_build;
use super::sharing::{self, Used};
use crate::code::Code;
use crate::desk::model_limits::AskingArgs;
use crate::desk::request_context::RequestContext;
use crate::desk::{build, names};
use crate::failed::Failed;
use clap::Args;
use engine::build::Options;
use engine::build::request::Request;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use std::collections::BTreeSet;
use std::time::Instant;
use workbench::agent_questions::is_answered_by_agent;
use workbench::short_names::with_target;

/// Get a new answer although one is cached.
///
/// The earlier ones stay in the target's history.
#[derive(Debug, Args)]
pub struct RegenerateArgs {
    /// The targets.
    #[arg(required = true, value_name = "LABEL")]
    pub labels: Vec<String>,
    /// Limits of costs.
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// Runs `cortex regenerate`. Fails when no model answers a target, or the workspace cannot be used.
pub fn run_regenerate(context: &RequestContext, args: &RegenerateArgs) -> Result<CommandAnswer, Failed> {
    let start = Instant::now();
    let workspace = context.asking("regenerate", &args.asking)?;
    let mut session = workspace.session()?;
    context.say_of_manifest(&workspace);
    let mut labels = Vec::new();
    for text in &args.labels {
        let text = with_target(text, "semantic");
        labels.push(names::one_label(&mut session, &text, "regenerated at a time")?);
    }
    if let Some(free) = labels.iter().find(|label| !workbench::paid::is_paid(&session, label)) {
        let why = Diagnostic::error(ErrorCode::E_NOT_PAID, "no model writes it, so a rebuild gives the same output").label(free);
        return Err(Failed::new(
            Code::Usage,
            why.hint("set params.model of its producer in cortex.toml, or use `cortex build`"),
        ));
    }
    let fresh: BTreeSet<String> = labels
        .iter()
        .flat_map(|label| workbench::paid::group_of(&session, label).into_iter().chain([label.clone()]))
        .collect();
    // An agent fetches its work later, so the request is stored for it.
    let of_agents = fresh
        .iter()
        .filter(|label| is_answered_by_agent(&session, label))
        .cloned()
        .collect();
    workspace.asking.agents().notes().want_anew(&of_agents).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_WORK, format!("the notes in .cortex/work cannot be used: {error}"));
        Failed::new(Code::Io, why.hint("check the folder's permissions and the disk"))
    })?;
    let request = Request {
        patterns: build::patterns(&labels)?,
        digest: Digest::of(format!("regenerate\0{}", labels.join("\0")).as_bytes()),
        options: Options {
            jobs: build::default_jobs(),
            paid_jobs: args.asking.jobs(),
            fresh,
            ..Options::default()
        },
        list: true,
        outputs: false,
    };
    let report = build::build(context, &mut session, &request)?;
    let answer = conclude_build(context, &report, start);
    context.release_locks();
    let used = sharing::finish_sharing(context, &workspace, Some(sharing::PATIENCE))?;
    context.say(&used.as_ref().map(Used::diagnostics).unwrap_or_default());
    Ok(answer.with_outcome(Ok(build::code(&report))))
}
