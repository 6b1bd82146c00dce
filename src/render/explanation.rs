//! Explanations as text that fits a terminal, and as JSON.

use super::versions::confined;
use super::{Style, duration, moment, printable, size};
use engine::build::chain::Step;
use engine::build::explain::Explanation;
use engine::build::moves::{Move, Moved};
use engine::build::query::NodeState;
use engine::planning::key::KeyField;
use engine::values::digest::Digest;
use engine::values::event::Reason;
use unicode_width::UnicodeWidthStr;
use workbench::aliases::Former;
use workbench::builds::FileChange;
use workbench::versions::Version;

/// Inputs and moves listed; the true count is always said.
const SHOWN: usize = 12;

/// Gates listed: the last ones, which imply those before them.
const GATES: usize = 3;

/// Steps of a way that are each indented further than the one before.
const DEEPEST: usize = 8;

/// So many lines of the difference of a file are shown.
const FILE_LINES: usize = 24;

/// What is known beyond the explanation itself of where things come from.
pub struct Origin {
    /// The present version, when it was found under its key.
    pub found: Option<Version>,
    /// The change of the file that the way ends at, where both its sides are still to be had.
    pub change: Option<FileChange>,
}

/// The explanation for people.
pub fn text(explanation: &Explanation, origin: &Origin, former: &[Former], style: Style) -> String {
    let mut page = Page {
        text: String::new(),
        style,
    };
    let standing = match explanation.standing {
        _ if explanation.leaf && explanation.failure.is_some() => style.red("source that is not there"),
        _ if explanation.leaf => style.green("source"),
        NodeState::Current if explanation.filed => style.green("current (a result made elsewhere or earlier is filed under its key)"),
        NodeState::Current => style.green("current"),
        NodeState::Stale => style.yellow("stale"),
        NodeState::MaybeStale if explanation.gates.is_empty() => style.yellow("maybe stale, depending on what has to be built first"),
        NodeState::MaybeStale => style.yellow("maybe stale, depending on what it reads"),
        NodeState::None if explanation.failure.is_some() => style.yellow("not made here: the last try failed"),
        NodeState::None => style.yellow("never made here"),
        NodeState::Pending => style.red("pending: the last try at its present inputs failed"),
        NodeState::Generating => style.yellow("generating"),
    };
    page.text = format!("{} {standing}\n", style.bold(&printable(&explanation.label)));
    let stale = explanation.chain.iter().any(|step| step.reason.is_some());
    page.why_stale(explanation);
    if stale {
        page.change(origin);
    }
    page.made(explanation);
    page.why_it_was_found(origin);
    page.why_it_ran(explanation, !former.is_empty());
    if !stale {
        page.change(origin);
    }
    page.formerly(former);
    page.text
}

struct Page {
    text: String,
    style: Style,
}

impl Page {
    fn line(&mut self, name: &str, value: &str) {
        let name = format!("{name:<10}");
        self.text.push_str(&format!("  {} {value}\n", self.style.dim(&name)));
    }

    fn why_stale(&mut self, explanation: &Explanation) {
        // That a file was removed is told once: by what happened to it.
        let removed = |step: &Step| matches!(step.reason, Some(Reason::FileRemoved { .. }));
        let told = explanation.leaf && explanation.chain.iter().any(removed);
        if let Some(failure) = explanation.failure.as_ref().filter(|_| !told) {
            let past = if explanation.standing == NodeState::Pending {
                ""
            } else {
                ", at other inputs than now"
            };
            let place = failure.place.as_ref().filter(|place| place.line > 0);
            let place = place.map_or_else(String::new, |place| format!(" at {place}"));
            self.line("failed", &printable(&format!("{}{place}: {}{past}", failure.code, failure.message)));
            if let Some(found) = &failure.found {
                self.line("", &printable(found));
            }
        }
        if explanation.standing == NodeState::Current && !explanation.leaf {
            return;
        }
        self.moves("moved", &explanation.moves);
        // Of a source that is not there, nothing is what it is in the sources.
        let missing = explanation.leaf && explanation.failure.is_some();
        let said = |step: &&Step| !missing || step.reason.is_some() || step.input.is_some();
        let mut chain = explanation.chain.iter().filter(said);
        if let Some(first) = chain.next() {
            self.steps("because", first);
            chain.for_each(|step| self.steps("", step));
        }
        if explanation.leaf {
            return;
        }
        let gates = &explanation.gates;
        for (at, gate) in gates.iter().enumerate().skip(gates.len().saturating_sub(GATES)) {
            let name = if at == gates.len().saturating_sub(GATES) {
                "only if"
            } else {
                "and"
            };
            self.line(name, &super::summary::gate(gate, self.style));
        }
        if !matches!(explanation.standing, NodeState::None | NodeState::Pending) && explanation.record.is_none() {
            self.line("note", "the record of its last run is gone, so what it was made of is not known");
        }
        self.line("next", &format!("cortex build '{}'", printable(&explanation.label)));
    }

    fn steps(&mut self, name: &str, step: &Step) {
        if step.redefined.is_empty() {
            return self.line(name, &self.step(step));
        }
        let label = self.style.cyan(&printable(&step.label));
        for (at, redefined) in step.redefined.iter().take(SHOWN).enumerate() {
            let name = if at == 0 { name } else { "" };
            self.line(name, &format!("{label}: {}", printable(&redefined.to_string())));
        }
        self.rest(step.redefined.len());
    }

    fn step(&self, step: &Step) -> String {
        let label = self.style.cyan(&printable(&step.label));
        match (&step.input, &step.reason) {
            (_, Some(reason)) => format!("{label}: {}", printable(&reason.to_string())),
            (Some(input), None) => format!("{label}: {} {}", printable(&input.role), how(&input.how)),
            (None, None) => format!("{label} is what it is in the sources now"),
        }
    }

    fn moves(&mut self, name: &str, moves: &[Move]) {
        let width = moves.iter().take(SHOWN).map(|one| one.role.width()).max().unwrap_or(0);
        for (at, one) in moves.iter().take(SHOWN).enumerate() {
            let role = format!("{:<width$}", printable(&one.role));
            let text = format!("{role} {} {}", self.style.cyan(&printable(&one.label)), how(&one.how));
            self.line(if at == 0 { name } else { "" }, &text);
        }
        self.rest(moves.len());
    }

    fn rest(&mut self, count: usize) {
        if count > SHOWN {
            self.line("", &self.style.dim(&format!("… {count} in all, --json lists them")));
        }
    }

    fn made(&mut self, explanation: &Explanation) {
        if let Some(output) = &explanation.output {
            let length = explanation
                .record
                .as_ref()
                .map(|record| format!(", {}", size(record.len)))
                .unwrap_or_default();
            self.line("output", &format!("{}{length}", output.short()));
        }
        if let Some(key) = &explanation.key {
            self.line("key", &key.0.short());
        }
        if let Some(record) = &explanation.record {
            let confined = confined(&record.notes).map_or(String::new(), |how| format!(", {}", printable(&how)));
            self.line(
                "made",
                &format!(
                    "{} by {} in {}{confined}",
                    moment(record.made_at),
                    printable(&record.producer),
                    duration(record.took_us)
                ),
            );
            if record.label != *explanation.label {
                self.line("", &format!("first for {}", self.style.cyan(&printable(&record.label))));
            }
        }
        for (name, value) in settings(&explanation.fields) {
            self.line(name, &printable(&value));
        }
        let width = explanation
            .inputs
            .iter()
            .take(SHOWN)
            .map(|input| input.role.width())
            .max()
            .unwrap_or(0);
        for (at, input) in explanation.inputs.iter().take(SHOWN).enumerate() {
            let unknown = || self.style.yellow(if input.missing { "not there" } else { "to be built" });
            let digest = input.digest.as_ref().map_or_else(unknown, Digest::short);
            let role = format!("{:<width$}", printable(&input.role));
            let text = format!("{role} {digest} {}", self.style.cyan(&printable(&input.label)));
            self.line(if at == 0 { "inputs" } else { "" }, &text);
        }
        self.rest(explanation.inputs.len());
        if !explanation.inputs_known {
            self.line(
                "",
                &self.style.dim("as far as known: what decides the inputs has to be built first"),
            );
        }
        if let Some(record) = &explanation.record {
            for said in &record.diagnostics {
                self.line("said", &printable(&format!("{}: {}", said.code, said.message)));
            }
        }
    }

    /// The versions of the target from when its type had other names.
    fn formerly(&mut self, former: &[Former]) {
        for (at, former) in former.iter().enumerate() {
            let plural = if former.versions == 1 { "" } else { "s" };
            let text = format!(
                "{}, {} version{plural}",
                self.style.cyan(&printable(&former.label)),
                former.versions
            );
            self.line(if at == 0 { "formerly" } else { "" }, &text);
            for past in former.history.iter().rev().take(SHOWN) {
                self.line("", &format!("  {} {}", moment(past.at), past.output.short()));
            }
            self.rest(former.versions);
        }
    }

    fn why_it_was_found(&mut self, origin: &Origin) {
        let Some(found) = &origin.found else { return };
        let build = found
            .build
            .map_or_else(|| "an earlier build".to_owned(), |build| format!("build {build}"));
        let text = format!(
            "by {build}, {}, under its key: that result had the same producer, parameters and inputs",
            moment(found.at)
        );
        self.line("found", &text);
    }

    /// The lines that the file at the end of the way changed in.
    fn change(&mut self, origin: &Origin) {
        let Some(change) = &origin.change else { return };
        let lines = super::builds::lines(change);
        self.line("diff", &self.style.bold(&printable(&change.path)));
        let shown = super::versions::coloured(&lines, FILE_LINES, self.style);
        shown.lines().for_each(|line| self.line("", line));
    }

    fn why_it_ran(&mut self, explanation: &Explanation, renamed: bool) {
        if explanation.leaf || explanation.record.is_none() {
            return;
        }
        let version = explanation.versions;
        match explanation.last_moves.as_slice() {
            _ if version <= 1 && renamed => self.line("last ran", "for the first time under this name"),
            _ if version <= 1 => self.line("last ran", "for the first time in this checkout"),
            [] if explanation.before_collected => {
                self.line(
                    "last ran",
                    "against a result that was collected since: what had moved is not known any more",
                );
            }
            [] if !explanation.last_redefined.is_empty() => {
                for (at, redefined) in explanation.last_redefined.iter().take(SHOWN).enumerate() {
                    let name = if at == 0 { "last ran" } else { "" };
                    self.line(name, &format!("with the same inputs: {}", printable(&redefined.to_string())));
                }
                self.rest(explanation.last_redefined.len());
            }
            [] => {
                let why = explanation
                    .producer_before
                    .as_ref()
                    .map(|before| format!("after {} became another version", printable(before)));
                self.line(
                    "last ran",
                    &why.unwrap_or_else(|| "with the same inputs: parameters, the rule or its variables had changed".to_owned()),
                );
            }
            moves => {
                let moves = moves.to_vec();
                self.moves("last ran", &moves);
                for (depth, one) in explanation.last_chain.iter().enumerate() {
                    let indent = "  ".repeat(depth.min(DEEPEST));
                    let text = format!("{indent}{} {}", self.style.cyan(&printable(&one.label)), how(&one.how));
                    self.line(if depth == 0 { "because" } else { "" }, &text);
                }
                if let Some(before) = &explanation.producer_before {
                    self.line("", &format!("and after {} became another version", printable(before)));
                }
            }
        }
        if version > 1 {
            self.line("history", &format!("{version} versions"));
        }
    }
}

pub(super) fn how(moved: &Moved) -> String {
    match moved {
        Moved::Changed { from, to } => format!("{} → {}", from.short(), to.short()),
        Moved::Open { from } => format!("{} → has to be built first", from.short()),
        Moved::Missing { from } => format!("{} → not there any more", from.short()),
        Moved::Added { to: Some(to) } => format!("new: {}", to.short()),
        Moved::Added { to: None } => "new: has to be built first".to_owned(),
        Moved::Dropped { from } => format!("{} → no input any more", from.short()),
    }
}

/// Parameters, variables and label of a key; producer, version and inputs are told elsewhere on the page.
fn settings(fields: &[KeyField]) -> Vec<(&'static str, String)> {
    let mut settings = Vec::new();
    let mut fields = fields.iter().peekable();
    while let Some(field) = fields.next() {
        match field.name {
            "param" | "var" => {
                let value = fields.next().map(|value| value.value.clone()).unwrap_or_default();
                settings.push((field.name, format!("{} = {value}", field.value)));
            }
            "label" if !field.value.starts_with('[') => settings.push(("label", field.value.clone())),
            _ => {}
        }
    }
    settings
}

/// Where the present result comes from, if there is one: this node's last run, or one of another node, checkout or time that had the same key.
fn result_from(explanation: &Explanation) -> Option<&'static str> {
    let current = explanation.standing == NodeState::Current && !explanation.leaf;
    current.then_some(if explanation.filed { "same_key" } else { "last_run" })
}

/// The explanation as one JSON document.
pub fn json(explanation: &Explanation, origin: &Origin) -> serde_json::Value {
    let made = explanation.record.as_ref().map(|record| {
        serde_json::json!({
            "label": record.label,
            "producer": record.producer,
            "at": record.made_at,
            "took_us": record.took_us,
            "bytes": record.len,
            "sandbox": record.notes.get("sandbox"),
            "diagnostics": record.diagnostics.iter().map(super::diagnostic::json).collect::<Vec<_>>(),
        })
    });
    let fields: Vec<serde_json::Value> = explanation
        .fields
        .iter()
        .map(|field| serde_json::json!([field.name, field.value]))
        .collect();
    let chain: Vec<serde_json::Value> = explanation
        .chain
        .iter()
        .map(|step| serde_json::json!({"label": &*step.label, "input": step.input, "reason": step.reason, "redefined": step.redefined, "text": step.reason.as_ref().map(ToString::to_string)}))
        .collect();
    serde_json::json!({
        "label": &*explanation.label,
        "state": if explanation.leaf { serde_json::json!("source") } else { serde_json::json!(explanation.standing) },
        "result_from": result_from(explanation),
        "found": origin.found.as_ref().map(|found| serde_json::json!({"build": found.build, "at": found.at})),
        "file": origin.change.as_ref().map(|change| serde_json::json!({"path": change.path, "diff": super::builds::lines(change).concat()})),
        "output": explanation.output,
        "key": explanation.key.map(|key| key.to_string()),
        "made": made,
        "fields": fields,
        "inputs": explanation.inputs,
        "inputs_known": explanation.inputs_known,
        "moved": explanation.moves,
        "chain": chain,
        "only_if": explanation.gates,
        "versions": explanation.versions,
        "last_moved": explanation.last_moves,
        "last_chain": explanation.last_chain,
        "last_redefined": explanation.last_redefined,
        "before_collected": explanation.before_collected,
        "producer_before": explanation.producer_before,
        "failure": explanation.failure.as_ref().map(super::diagnostic::json),
    })
}
