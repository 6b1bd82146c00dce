//! Explanations as text for a terminal.

use super::explain_answer::{ChainStep, ExplainedTarget, TargetState};
use crate::render::line_diff::colour_diff;
use crate::render::result_facts::{describe_move, sandbox_note};
use crate::render::{Style, diagnostic, duration, format_size, moment, plural, printable, summary};
use engine::build::explanation_chain::Step;
use engine::build::input_changes::InputChange;
use engine::build::query::NodeState;
use engine::build::remote_costs::{LookUp, RemoteChoice};
use engine::values::digest::Digest;
use engine::values::event::Reason;
use unicode_width::UnicodeWidthStr;
use workbench::former_types::Former;

/// Limit of inputs and changes listed; the true count is always shown.
const SHOWN: usize = 12;

/// Limit of gates listed: the last ones, which imply those before them.
const GATES: usize = 3;

/// Limit of indentation of a chain's steps.
const DEEPEST: usize = 8;

/// Limit of lines shown of a file's diff.
const FILE_LINES: usize = 24;

pub fn format_explanation(target: &ExplainedTarget, style: Style) -> String {
    let mut page = Page {
        text: String::new(),
        style,
    };
    let state = match target.state {
        TargetState::Source if target.failure.is_some() => style.red("missing source"),
        TargetState::Source => style.green("source"),
        TargetState::Made(NodeState::Current) if target.is_filed() => {
            style.green("current (an earlier result, or one of another machine, is stored under its key)")
        }
        TargetState::Made(NodeState::Current) => style.green("current"),
        TargetState::Made(NodeState::Stale) => style.yellow("stale"),
        TargetState::Made(NodeState::MaybeStale) if target.only_if.is_empty() => {
            style.yellow("maybe stale, depending on what has to be built first")
        }
        TargetState::Made(NodeState::MaybeStale) => style.yellow("maybe stale, depending on what it reads"),
        TargetState::Made(NodeState::None) if target.failure.is_some() => style.yellow("not built here: the last attempt failed"),
        TargetState::Made(NodeState::None) => style.yellow("never built here"),
        TargetState::Made(NodeState::Pending) => match (&target.waits_for, &target.failure) {
            (Some(wait), Some(_)) => style.red(&printable(&format!("pending: {wait}"))),
            (Some(wait), None) => style.yellow(&printable(&format!("pending: {wait}"))),
            (None, Some(_)) => style.red("pending: the last attempt with its present inputs failed"),
            (None, None) => style.yellow("pending: the last build requested it and did not build it"),
        },
        TargetState::Made(NodeState::Generating) => style.yellow("generating"),
    };
    page.text = format!("{} {state}\n", style.bold(&printable(&target.label)));
    let stale = target.chain.iter().any(|step| step.step.reason.is_some());
    page.why_stale(target);
    if stale {
        page.change(target);
    }
    page.write_origin(target);
    page.why_it_was_found(target);
    page.why_it_ran(target);
    if !stale {
        page.change(target);
    }
    page.formerly(&target.former);
    page.text
}

struct Page {
    text: String,
    style: Style,
}

impl Page {
    fn add_fact(&mut self, name: &str, value: &str) {
        let name = format!("{name:<10}");
        self.text.push_str(&format!("  {} {value}\n", self.style.dim(&name)));
    }

    fn why_stale(&mut self, target: &ExplainedTarget) {
        let is_source = target.is_source();
        // The removal of a file is shown once, in its step.
        let removed = |step: &ChainStep| matches!(step.step.reason, Some(Reason::FileRemoved { .. }));
        let is_explained = is_source && target.chain.iter().any(removed);
        if let Some(failure) = target.failure.as_ref().filter(|_| !is_explained).map(diagnostic::from_json) {
            let past = match target.state {
                TargetState::Source | TargetState::Made(NodeState::Pending) => "",
                _ => " (with earlier inputs)",
            };
            let place = failure.place.as_ref().filter(|place| place.line > 0);
            let place = place.map_or_else(String::new, |place| format!(" at {place}"));
            let of = match (&target.waits_for, &failure.label) {
                (Some(_), Some(other)) => format!("{other}: "),
                _ => String::new(),
            };
            self.add_fact(
                "failed",
                &printable(&format!("{of}{}{place}: {}{past}", failure.code, failure.message)),
            );
            if let Some(found) = &failure.found {
                self.add_fact("", &printable(found));
            }
        }
        if target.state == TargetState::Made(NodeState::Current) {
            return;
        }
        self.moves("changed", &target.moved);
        // For a missing source, leave out steps without a reason or an input: they only say that it is as in the sources.
        let missing = is_source && target.failure.is_some();
        let is_shown = |step: &&ChainStep| !missing || step.step.reason.is_some() || step.step.input.is_some();
        let mut chain = target.chain.iter().filter(is_shown);
        if let Some(first) = chain.next() {
            self.steps("because", first);
            chain.for_each(|step| self.steps("", step));
        }
        if is_source {
            return;
        }
        let gates = &target.only_if;
        for (at, gate) in gates.iter().enumerate().skip(gates.len().saturating_sub(GATES)) {
            let name = if at == gates.len().saturating_sub(GATES) {
                "only if"
            } else {
                "and"
            };
            self.add_fact(name, &summary::gate(gate, self.style));
        }
        if !matches!(target.state, TargetState::Made(NodeState::None | NodeState::Pending)) && target.made.is_none() {
            self.add_fact("note", "the record of its last run was evicted, so its inputs are not known");
        }
        self.add_fact("next", &format!("cortex build '{}'", printable(&target.label)));
    }

    fn steps(&mut self, name: &str, step: &ChainStep) {
        let step = &step.step;
        if step.redefined.is_empty() {
            return self.add_fact(name, &self.step_text(step));
        }
        let label = self.style.cyan(&printable(&step.label));
        for (at, redefined) in step.redefined.iter().take(SHOWN).enumerate() {
            let name = if at == 0 { name } else { "" };
            self.add_fact(name, &format!("{label}: {}", printable(&redefined.to_string())));
        }
        self.rest(step.redefined.len());
    }

    fn step_text(&self, step: &Step) -> String {
        let label = self.style.cyan(&printable(&step.label));
        match (&step.input, &step.reason) {
            (_, Some(reason)) => format!("{label}: {}", printable(&reason.to_string())),
            (Some(input), None) => format!("{label}: {} {}", printable(&input.role), describe_move(&input.how)),
            (None, None) => format!("{label} comes straight from the sources"),
        }
    }

    fn moves(&mut self, name: &str, moves: &[InputChange]) {
        let width = moves.iter().take(SHOWN).map(|one| one.role.width()).max().unwrap_or(0);
        for (at, one) in moves.iter().take(SHOWN).enumerate() {
            let role = format!("{:<width$}", printable(&one.role));
            let text = format!("{role} {} {}", self.style.cyan(&printable(&one.label)), describe_move(&one.how));
            self.add_fact(if at == 0 { name } else { "" }, &text);
        }
        self.rest(moves.len());
    }

    fn rest(&mut self, count: usize) {
        if count > SHOWN {
            self.add_fact("", &self.style.dim(&format!("… {count} in all, --json lists them")));
        }
    }

    /// Writes how the remote cache looks up the target, and where its output comes from.
    fn remote(&mut self, remote: &RemoteChoice) {
        let question = remote
            .round_trip_us
            .map_or_else(String::new, |way| format!(" (a round trip takes {})", duration(way)));
        let looked_up = match remote.look_up {
            LookUp::Dear => "looked up individually: a model or a program computes it".to_owned(),
            LookUp::Single => "looked up individually: it is the only target of its rule".to_owned(),
            LookUp::Slow => format!("looked up individually: building it takes longer than a lookup{question}"),
            LookUp::Bundled => format!("looked up only as part of a whole tree: building it takes less time than a lookup{question}"),
        };
        self.add_fact("remote", &looked_up);
        let Some(volume) = &remote.volume else { return };
        let (fetching, making) = (duration(volume.fetch_us), duration(volume.build_us));
        let verb = if remote.is_fetched { "fetched" } else { "built" };
        let of = format_size(volume.bytes);
        let all = if volume.is_of_new_tree {
            "building the whole tree about"
        } else {
            "building all in it"
        };
        self.add_fact(
            "",
            &format!("its output is {verb} when it is read: fetching its volume of {of} takes about {fetching}, {all} {making}"),
        );
    }

    fn write_origin(&mut self, target: &ExplainedTarget) {
        if let Some(output) = &target.output {
            let length = target
                .made
                .as_ref()
                .map(|made| format!(", {}", format_size(made.bytes)))
                .unwrap_or_default();
            self.add_fact("output", &format!("{}{length}", output.short()));
        }
        if let Some(key) = &target.key {
            self.add_fact("key", &key.short());
        }
        if let Some(made) = &target.made {
            let confined = sandbox_note(made.sandbox.as_deref()).map_or(String::new(), |how| format!(", {}", printable(&how)));
            self.add_fact(
                "made",
                &format!(
                    "{} by {} in {}{confined}",
                    moment(made.at),
                    printable(&made.producer),
                    duration(made.took_us)
                ),
            );
            if made.label != target.label {
                self.add_fact("", &format!("first for {}", self.style.cyan(&printable(&made.label))));
            }
        }
        if let Some(remote) = &target.remote {
            self.remote(remote);
        }
        for (name, value) in settings(&target.fields) {
            self.add_fact(name, &printable(&value));
        }
        let width = target.inputs.iter().take(SHOWN).map(|input| input.role.width()).max().unwrap_or(0);
        for (at, input) in target.inputs.iter().take(SHOWN).enumerate() {
            let unknown = || self.style.yellow(if input.missing { "not there" } else { "to be built" });
            let digest = input.digest.as_ref().map_or_else(unknown, Digest::short);
            let role = format!("{:<width$}", printable(&input.role));
            let text = format!("{role} {digest} {}", self.style.cyan(&printable(&input.label)));
            self.add_fact(if at == 0 { "inputs" } else { "" }, &text);
        }
        self.rest(target.inputs.len());
        if !target.inputs_known {
            self.add_fact(
                "",
                &self.style.dim("as far as known: what decides the inputs has to be built first"),
            );
        }
        if let Some(made) = &target.made {
            for said in made.diagnostics.iter().map(diagnostic::from_json) {
                self.add_fact("said", &printable(&format!("{}: {}", said.code, said.message)));
            }
        }
    }

    /// Adds the versions of the target under its type's former names.
    fn formerly(&mut self, former: &[Former]) {
        for (at, former) in former.iter().enumerate() {
            let text = format!(
                "{}, {}",
                self.style.cyan(&printable(&former.label)),
                plural(former.versions as u64, "version")
            );
            self.add_fact(if at == 0 { "formerly" } else { "" }, &text);
            for past in former.history.iter().rev().take(SHOWN) {
                self.add_fact("", &format!("  {} {}", moment(past.at), past.output.short()));
            }
            self.rest(former.versions);
        }
    }

    fn why_it_was_found(&mut self, target: &ExplainedTarget) {
        let Some(found) = &target.found else { return };
        let build = found
            .build
            .map_or_else(|| "an earlier build".to_owned(), |build| format!("build {build}"));
        let text = format!(
            "by {build}, {}, under its key: that result had the same producer, parameters and inputs",
            moment(found.at)
        );
        self.add_fact("found", &text);
    }

    /// Adds the changed lines of the file at the end of the chain.
    fn change(&mut self, target: &ExplainedTarget) {
        let Some(file) = &target.file else { return };
        self.add_fact("diff", &self.style.bold(&printable(&file.path)));
        let shown = colour_diff(&file.diff, FILE_LINES, self.style);
        shown.lines().for_each(|line| self.add_fact("", line));
    }

    fn why_it_ran(&mut self, target: &ExplainedTarget) {
        if target.is_source() || target.made.is_none() {
            return;
        }
        let version = target.versions;
        match target.last_moved.as_slice() {
            _ if version <= 1 && !target.former.is_empty() => self.add_fact("last ran", "for the first time under this name"),
            _ if version <= 1 && target.found.is_some() => self.add_fact("last ran", "never in this checkout"),
            _ if version <= 1 => self.add_fact("last ran", "for the first time in this checkout"),
            [] if target.before_collected => {
                self.add_fact(
                    "last ran",
                    "against a result that is not in this store, so its changed inputs are not known",
                );
            }
            [] if !target.last_redefined.is_empty() => {
                for (at, redefined) in target.last_redefined.iter().take(SHOWN).enumerate() {
                    let name = if at == 0 { "last ran" } else { "" };
                    self.add_fact(name, &format!("with the same inputs: {}", printable(&redefined.to_string())));
                }
                self.rest(target.last_redefined.len());
            }
            [] => {
                let why = target
                    .producer_before
                    .as_ref()
                    .map(|before| format!("after {} became another version", printable(before)));
                self.add_fact(
                    "last ran",
                    &why.unwrap_or_else(|| "with the same inputs: parameters, the rule or its variables had changed".to_owned()),
                );
            }
            moves => {
                let moves = moves.to_vec();
                self.moves("last ran", &moves);
                for (depth, one) in target.last_chain.iter().enumerate() {
                    let indent = "  ".repeat(depth.min(DEEPEST));
                    let text = format!("{indent}{} {}", self.style.cyan(&printable(&one.label)), describe_move(&one.how));
                    self.add_fact(if depth == 0 { "because" } else { "" }, &text);
                }
                if let Some(before) = &target.producer_before {
                    self.add_fact("", &format!("and after {} became another version", printable(before)));
                }
            }
        }
        if version > 1 {
            self.add_fact("history", &format!("{version} versions"));
        }
    }
}

/// Returns parameters, variables and label of a key; producer, version and inputs are elsewhere on the page.
fn settings(fields: &[(String, String)]) -> Vec<(&str, String)> {
    let mut settings = Vec::new();
    let mut fields = fields.iter();
    while let Some((name, value)) = fields.next() {
        match name.as_str() {
            "param" | "var" => {
                let given = fields.next().map(|(_, given)| given.as_str()).unwrap_or_default();
                settings.push((name.as_str(), format!("{value} = {given}")));
            }
            "label" if !value.starts_with('[') => settings.push(("label", value.clone())),
            _ => {}
        }
    }
    settings
}
