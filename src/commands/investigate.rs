//! `cortex investigate`: a question about the code, answered from outlines and summaries.

use super::outputs::outputs;
use super::{build, show};
use crate::cli::InvestigateArgs;
use crate::context::{Context, Failed, Outcome};
use crate::exit::{self, Code};
use crate::render::{diagnostic, money, printable};
use engine::build::loose::Loose;
use engine::build::query::Reach;
use engine::build::session::Session;
use engine::seams::producer::{Cancel, Failure, Params};
use engine::values::diagnostic::{Diagnostic, Severity};
use producers::investigate::Findings;
use std::io::Write;
use workbench::investigation::{Candidate, Operation, State, gather};
use workbench::workspace::Workspace;

/// Runs it.
pub fn run(context: &Context, args: &InvestigateArgs) -> Outcome {
    let workspace = context.asking("investigate", &args.asking)?;
    let mut session = workspace.session()?;
    context.say(workspace.warnings());
    let question = args.question.trim();
    let mut operation = Operation::begin(question, &args.scope);
    let step = |operation: &mut Operation, state: State, event: String| {
        if !context.json() {
            eprintln!("{}", context.err.dim(&printable(&format!("{}: {event}", operation.op_id))));
        }
        operation.state = state;
        operation.events.push(event);
        note(context, &workspace, operation);
    };
    step(
        &mut operation,
        State::Gathering,
        format!("gathers what is in {}", args.scope.join(" ")),
    );
    // Names are looked up among the types that there are.
    outputs(context, &mut session, "investigate", &["//index:types".to_owned()], true)?;
    let mut patterns = Vec::new();
    for scope in &args.scope {
        patterns.push(pattern(&mut session, scope)?);
    }
    let (report, _) = outputs(context, &mut session, "investigate", &patterns, true)?;
    let candidates: Vec<Candidate> = report
        .roots
        .iter()
        .zip(&report.outputs)
        .filter_map(|(root, bytes)| {
            Some(Candidate {
                label: root.label.clone(),
                bytes: bytes.clone()?,
            })
        })
        .filter(|candidate| candidate.label.starts_with("//types/"))
        .collect();
    let material = gather(&session, question, candidates, args.budget, &never_send(&session))?;
    let params = params(question, args, &session);
    step(
        &mut operation,
        State::Asking,
        format!(
            "shows {} types, about {} tokens; {} more did not fit{}",
            material.shown,
            material.tokens,
            material.left_out.len(),
            match material.withheld.len() {
                0 => String::new(),
                number => format!(", {number} lie in files that are never sent"),
            }
        ),
    );
    let label = operation.label.clone();
    let wanted = Loose {
        label: &label,
        uses: "investigate",
        params: &params,
        roles: &material.roles,
        fresh: args.fresh,
    };
    let cancel = Cancel::default();
    let stop = cancel.clone();
    exit::on_signal(move || stop.cancel(), || {});
    let made = match session.make_loose(&wanted, &cancel)? {
        Ok(made) => made,
        Err(failure) => {
            let (code, why) = told(failure, &label);
            operation.error = Some(diagnostic::json(&why));
            step(&mut operation, State::Failed, why.message.clone());
            return Err(Failed::new(code, why));
        }
    };
    context.say(&made.diagnostics.iter().cloned().map(|said| said.label(&label)).collect::<Vec<_>>());
    let mut findings: Findings = serde_json::from_slice(&made.bytes).map_err(|error| {
        let why = Diagnostic::error("E_ANSWER", format!("the filed answer cannot be read: {error}")).label(&label);
        Failed::new(Code::TargetFailed, why.hint("ask again with --fresh"))
    })?;
    findings.left_out = material.left_out;
    operation.result = Some(serde_json::json!(findings));
    let cost = match (&made.spent, made.cached) {
        (_, true) => "was asked before about the same code: free".to_owned(),
        (Some(spent), false) => money::spent(spent),
        (None, false) => "asked no model".to_owned(),
    };
    step(&mut operation, State::Done, cost);
    let text = if args.json || context.json() {
        let document = serde_json::json!({
            "opId": operation.op_id, "label": label, "cached": made.cached, "spent": made.spent, "answer": findings,
        });
        format!("{document:#}\n")
    } else {
        text(context, &findings)
    };
    show::written(write!(context.stdout(), "{text}"))
}

/// What a scope means: a pattern as it is, a name as the type or the types of the namespace of that name.
fn pattern(session: &mut Session, scope: &str) -> Result<String, Failed> {
    if scope.starts_with("//") || scope.starts_with("-//") {
        let last = scope.rsplit('/').next().unwrap_or_default();
        return Ok(if last.contains(':') {
            scope.to_owned()
        } else {
            format!("{scope}:outline")
        });
    }
    let below = format!("//types/{scope}.*:outline");
    let patterns = build::patterns(std::slice::from_ref(&below))?;
    let namespace = !session.survey(patterns.patterns(), Reach::Named)?.meant.concat().is_empty();
    Ok(if namespace { below } else { format!("//types/{scope}:outline") })
}

fn params(question: &str, args: &InvestigateArgs, session: &Session) -> Params {
    let mut params = Params::new();
    params.insert("question".to_owned(), question.into());
    let manifest = session.rules.manifest();
    let summaries = manifest.producers.iter().find(|producer| producer.uses == "semantic");
    let model = summaries
        .and_then(|producer| producer.settings.get("model"))
        .and_then(|model| model.as_str());
    if let Some(model) = args.model.as_deref().or(model) {
        params.insert("model".to_owned(), model.into());
    }
    params
}

/// Globs of files that no model sees, as the producer of summaries has them.
fn never_send(session: &Session) -> Vec<String> {
    let summaries = session
        .rules
        .manifest()
        .producers
        .iter()
        .filter(|producer| producer.uses == "semantic");
    let globs = summaries.flat_map(|producer| [&producer.params, &producer.settings]);
    let globs = globs.filter_map(|params| params.get("never_send")?.as_array());
    globs.flatten().filter_map(|glob| glob.as_str().map(str::to_owned)).collect()
}

fn note(context: &Context, workspace: &Workspace, operation: &Operation) {
    if let Err(error) = operation.write(&workspace.root) {
        let why = format!("the operation cannot be written down: {error}");
        context.say(&[Diagnostic::warning("W_OPERATION", why).label(&operation.label)]);
    }
}

fn told(failure: Failure, label: &str) -> (Code, Diagnostic) {
    let (code, why) = match failure {
        Failure::Permanent(why) | Failure::Transient(why) => (Code::TargetFailed, *why),
        Failure::Rejected(rejected) => match rejected.why.code.as_str() {
            "E_LIMIT" => (Code::Limit, rejected.why),
            "E_CANCELLED" => (Code::stopped(), rejected.why),
            _ => (Code::TargetFailed, rejected.why),
        },
        Failure::Limit(why) if why.code == "E_LIMIT" => (Code::Limit, *why),
        Failure::Limit(why) => (Code::TargetFailed, *why),
        Failure::Deferred => {
            let why = Diagnostic::new(Severity::Note, "N_DEFERRED", "it was handed to the provider's batch interface");
            (Code::Ok, why.hint("ask the same again later"))
        }
        Failure::Cancelled => (Code::stopped(), Diagnostic::error("E_CANCELLED", "it was stopped")),
    };
    (code, why.label(label))
}

/// Types named that did not fit.
const LEFT_OUT: usize = 5;

fn text(context: &Context, findings: &Findings) -> String {
    let style = context.out;
    let mut text = format!("{}\n", printable(&findings.conclusion));
    if !findings.evidence.is_empty() {
        text.push_str(&format!("\n{}\n", style.bold("Evidence")));
    }
    for evidence in &findings.evidence {
        let member = evidence.member.as_ref().map_or(String::new(), |member| format!(".{member}"));
        let name = style.cyan(&printable(&format!("{}{member}", evidence.key)));
        text.push_str(&format!("  {name} {}\n", printable(&evidence.text)));
    }
    if !findings.paths.is_empty() {
        text.push_str(&format!("\n{}\n", style.bold("Paths")));
    }
    for path in &findings.paths {
        text.push_str(&format!("  {}\n", printable(path)));
    }
    let mut remarks = Vec::new();
    if findings.dropped > 0 {
        remarks.push(format!(
            "{} pieces of evidence named nothing that was shown, and were dropped",
            findings.dropped
        ));
    }
    if !findings.left_out.is_empty() {
        let names = findings
            .left_out
            .iter()
            .take(LEFT_OUT)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let more = findings.left_out.len().saturating_sub(LEFT_OUT);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        remarks.push(format!(
            "not shown to it, for lack of room: {names}{more}; raise --budget or narrow --scope"
        ));
    }
    for remark in remarks {
        text.push_str(&format!("\n{}\n", style.dim(&printable(&remark))));
    }
    text
}
