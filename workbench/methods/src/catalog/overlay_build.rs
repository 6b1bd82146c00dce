//! `overlay build`, `overlay diff`: builds targets with the documents of an overlay, and shows its changes.

use super::guarded_pattern::unguard_label;
use super::overlay::{self, Document, replaceable_files};
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::build::{build, code, default_request};
use crate::desk::clock::current_seconds;
use crate::failed::Failed;
use crate::render::summary::expected_cost;
use crate::render::{format_count, plural, printable};
use engine::build::BuildMode;
use engine::build::request::Report;
use engine::build::session::Session;
use engine::values::label::Label;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workbench::overlay::compare::compare;
use workbench::overlay::record::{is_session, note_use};

/// Build targets as they would be with the documents of an overlay.
///
/// Results are shared with the workspace and with other overlays. The checkout stays unchanged, and no file is laid out. `cortex build --overlay
/// NAME` does the same and has more flags.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Build {
    /// The overlay, or an edit session.
    pub name: String,
    /// The targets.
    #[schemars(extend("x-tool" = ""))]
    #[arg(required = true, value_name = "PATTERN", value_parser = unguard_label)]
    pub patterns: Vec<String>,
}

/// Result of a build.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Built {
    name: String,
    /// Whether it is an edit session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    session: bool,
    /// Number of requested targets.
    targets: usize,
    /// Number of producers that ran.
    ran: usize,
    /// Number of results that were stored already.
    cached: usize,
    /// Number of targets that failed, or depend on a failed one.
    failed: usize,
    /// Number of targets that wait for a model or an agent.
    waiting: usize,
}

impl Method for Build {
    const NAME: &'static str = "overlay build";
    const EFFECT: Effect = Effect::Acts;
    const ASKS: bool = true;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Built;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Built, Failed> {
        let request = default_request(&self.patterns)?;
        desk.context.use_overlay(&self.name);
        let context = desk.context;
        let (_, session) = desk.open_to_build()?;
        let report = build(context, session, &request)?;
        fail_if_nothing_matched(&report)?;
        desk.worsen(code(&report));
        let tally = &report.tally;
        Ok(Built {
            name: self.name.clone(),
            session: is_session(&replaceable_files(desk)?, &self.name)?,
            targets: report.targets,
            ran: tally.ran,
            cached: tally.cached,
            failed: tally.failed + tally.skipped,
            waiting: tally.deferred + tally.awaited + tally.limited,
        })
    }

    fn text(answer: &Built) -> String {
        let parts = [
            (answer.ran, "ran"),
            (answer.cached, "cached"),
            (answer.waiting, "wait for an answer"),
            (answer.failed, "failed or skipped"),
        ];
        let counts: Vec<String> = parts
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", many(*number)))
            .collect();
        let counts = if counts.is_empty() {
            "all up to date".to_owned()
        } else {
            counts.join(", ")
        };
        let within = if answer.session {
            "with the edits of session"
        } else {
            "in overlay"
        };
        printable(&format!("{} {within} {}: {counts}\n", count_targets(answer.targets), answer.name))
    }
}

fn many(number: usize) -> String {
    format_count(number as u64)
}

fn count_targets(number: usize) -> String {
    plural(number as u64, "target")
}

/// Fails for patterns without targets; the reason was reported before.
fn fail_if_nothing_matched(report: &Report) -> Result<(), Failed> {
    match report.refused.is_empty() {
        true => Ok(()),
        false => Err(Failed {
            code: Code::Usage,
            diagnostics: Vec::new(),
        }),
    }
}

/// Show the changes of an overlay as a unified diff; with --targets also what they would make stale, rebuild and cost.
///
/// The diff of each document is against its base, and reports whether the file changed in the workspace since. --targets runs nothing, except free
/// targets that prompts of models depend on.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Diff {
    /// The overlay, or an edit session.
    pub name: String,
    /// Also list those of these targets that the documents would make stale [default: all].
    #[schemars(extend("x-tool" = ""))]
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "//...", value_parser = unguard_label)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<String>,
}

/// The changes of an overlay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Differs {
    name: String,
    /// Whether it is an edit session: its documents are unsaved, and `edit commit` merges them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    session: bool,
    /// Its documents.
    documents: Vec<Document>,
    /// A unified diff of all documents.
    diff: String,
    /// Effect on targets, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    targets: Option<Targets>,
}

/// Effect of an overlay on targets.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Targets {
    /// Number of requested targets.
    asked: usize,
    /// Number of requested targets that may be out of date.
    stale: usize,
    /// Number of these that may be out of date in the workspace, too.
    stale_without: usize,
    /// Targets that would certainly run.
    will_run: Vec<String>,
    /// Number of further targets that may run, depending on outputs of those.
    may_run: usize,
    /// The gate of most of those: none of them runs unless its output changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gate: Option<Gate>,
    /// Number of free targets that were built to know the questions to models.
    made: usize,
    /// Questions that models would certainly be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asks: Option<Asks>,
    /// Further questions, if the answers to those differ from the stored ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    may_ask: Option<Asks>,
}

/// Targets on whose outputs others depend.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Gate {
    /// The targets; the output of one of them has to change.
    labels: Vec<String>,
    /// Number of targets behind them.
    behind: usize,
}

/// Questions to models, in numbers.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Asks {
    calls: u32,
    input_tokens: u64,
    output_tokens: u64,
    /// Their cost, in millionths of the currency, if the model has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    micros: Option<u64>,
    /// The currency, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
}

impl Method for Diff {
    const NAME: &'static str = "overlay diff";
    const EFFECT: Effect = Effect::Reads;
    const TOOL: AsTool = AsTool::Operation;
    type Answer = Differs;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Differs, Failed> {
        let files = replaceable_files(desk)?;
        note_use(&files, &self.name, current_seconds())?;
        let compared = compare(&files, &self.name, current_seconds())?;
        let diff = compared.iter().map(|one| one.diff.as_str()).collect();
        let targets = self
            .targets
            .as_ref()
            .map(|pattern| prospect(desk, &self.name, pattern))
            .transpose()?;
        Ok(Differs {
            name: self.name.clone(),
            session: is_session(&files, &self.name)?,
            documents: compared.into_iter().map(Document::from).collect(),
            diff,
            targets,
        })
    }

    fn text(answer: &Differs) -> String {
        let mut text: String = answer
            .documents
            .iter()
            .map(|document| format!("{}\n", overlay::document_line(document, answer.session)))
            .collect();
        match (answer.documents.is_empty(), answer.session) {
            (false, _) => {}
            (true, false) => text = format!("overlay {} has no document\n", answer.name),
            (true, true) => text = format!("session {} has nothing that is not saved\n", answer.name),
        }
        text.push_str(&answer.diff);
        if printable(&text) != text {
            text.push_str("(signs that steer terminals are shown as \\u{…}; with --json the diff is exact)\n");
        }
        if let Some(targets) = &answer.targets {
            text.push_str(&targets_text(targets));
        }
        printable(&text)
    }
}

/// Predicts the effect of an overlay's documents on targets.
fn prospect(desk: &mut Desk<'_>, name: &str, pattern: &str) -> Result<Targets, Failed> {
    let mut request = default_request(&[pattern.to_owned()])?;
    request.options.keep_going = true;
    desk.context.use_overlay(name);
    let context = desk.context;
    let (workspace, session) = desk.open_to_build()?;
    let asks = workbench::paid::asks_any_model(&workspace.manifest_definition()?.manifest, &workspace.engine.registry);
    request.options.mode = if asks { BuildMode::Price } else { BuildMode::DryRun };
    request.list = true;
    let (now, before) = (possibly_stale(session), possibly_stale(&workspace.session_beneath()?));
    let currency = workbench::paid::currency(session);
    let report = build(context, session, &request)?;
    fail_if_nothing_matched(&report)?;
    desk.worsen(code(&report));
    let outlook = report.outlook.unwrap_or_default();
    // The last gate is behind all others; a gate of targets that certainly run is not worth reporting.
    let gate = outlook.gates.last();
    let gate = gate.filter(|gate| gate.labels.iter().any(|label| !outlook.will_run.contains(label)));
    let gate = gate.map(|gate| Gate {
        labels: gate.labels.iter().map(ToString::to_string).collect(),
        behind: gate.behind,
    });
    let asks = |certain: bool| {
        let cost = expected_cost(&report.plans, certain);
        (cost.calls > 0).then(|| Asks {
            calls: cost.calls,
            input_tokens: cost.input_tokens,
            output_tokens: cost.output_tokens,
            currency: cost.micros.and(currency.clone()),
            micros: cost.micros,
        })
    };
    let roots: BTreeSet<&str> = report.roots.iter().map(|root| &*root.label).collect();
    // If a set has to be built first, its targets of the last build count, too.
    let is_asked = |label: &&String| {
        let is_meant = || Label::parse(label).is_ok_and(|label| request.patterns.matches(label.package(), label.target()));
        roots.contains(label.as_str()) || !report.unknown.is_empty() && !label.contains('#') && is_meant()
    };
    let stale: Vec<&String> = now.iter().filter(is_asked).collect();
    Ok(Targets {
        asked: report.targets,
        stale: stale.len(),
        stale_without: stale.iter().filter(|label| before.contains(**label)).count(),
        will_run: outlook.will_run.iter().map(ToString::to_string).collect(),
        may_run: outlook.may_run,
        gate,
        made: report.tally.ran,
        asks: asks(true),
        may_ask: asks(false),
    })
}

/// Returns the labels of possibly stale nodes; a file only under its own name.
fn possibly_stale(session: &Session) -> BTreeSet<String> {
    let labels = session
        .marked()
        .into_iter()
        .map(|one| session.graph.node(one.node).label.to_string());
    labels
        .filter(|label| !label.starts_with("//files/") || !label.ends_with(":bytes"))
        .collect()
}

/// Most labels that are listed; the true count is always shown.
const SHOWN: usize = 5;

fn targets_text(targets_answer: &Targets) -> String {
    let mut text = format!(
        "{}: {} may be out of date",
        count_targets(targets_answer.asked),
        many(targets_answer.stale)
    );
    if targets_answer.stale_without > 0 {
        text.push_str(&format!(", {} of them in the workspace, too", many(targets_answer.stale_without)));
    }
    text.push('\n');
    let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:<8} {value}\n"));
    for (at, label) in targets_answer.will_run.iter().take(SHOWN).enumerate() {
        line(if at == 0 { "will run" } else { "" }, label);
    }
    if targets_answer.will_run.len() > SHOWN {
        line("", &format!("… {} in all", many(targets_answer.will_run.len())));
    }
    if targets_answer.may_run > 0 {
        line("may run", &format!("{} more", many(targets_answer.may_run)));
    }
    if let Some(Gate { labels, behind }) = &targets_answer.gate {
        let first = labels.first().map_or("", String::as_str);
        let others = match labels.len() {
            0 | 1 => String::new(),
            number => format!(", or of another of {},", many(number)),
        };
        line(
            "",
            &format!("{} of them, only if the output of {first}{others} changes", many(*behind)),
        );
    }
    if targets_answer.made > 0 {
        line(
            "made",
            &format!("{} that are free, to know what would be asked", many(targets_answer.made)),
        );
    }
    for (name, asks) in [("asks", &targets_answer.asks), ("may ask", &targets_answer.may_ask)] {
        if let Some(asks) = asks {
            line(name, &asks_text(asks));
        }
    }
    let is_idle = targets_answer.will_run.is_empty() && targets_answer.may_run == 0 && targets_answer.made == 0;
    if is_idle && targets_answer.asks.is_none() && targets_answer.may_ask.is_none() {
        line("", "every result exists: nothing would run");
    }
    text
}

fn asks_text(asks: &Asks) -> String {
    let currency = asks.currency.as_ref().map_or(String::new(), |currency| format!(" {currency}"));
    let cost = asks
        .micros
        .map_or(String::new(), |micros| format!(", {:.4}{currency}", micros as f64 / 1e6));
    format!(
        "{}, about {} tokens in, {} out{cost}",
        plural(u64::from(asks.calls), "call"),
        format_count(asks.input_tokens),
        format_count(asks.output_tokens)
    )
}
