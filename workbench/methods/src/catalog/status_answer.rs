//! Answer of `status`, and its text.

use crate::desk::figures::Service;
use crate::render::{Style, diagnostic, format_count, format_size, printable, summary};
use engine::build::outlook::RunForecast;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use workbench::edit::edit_counts::EditCounts;
use workbench::status::Counts;

/// Limit of files and diagnostics listed; the true count is always shown.
const SHOWN: usize = 10;

/// State of a workspace.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceStatus {
    /// `[workspace] name`.
    pub name: String,
    /// The folder of the manifest.
    pub root: String,
    /// The store, if there is one.
    pub store: Option<StoreFigures>,
    /// Number of source files.
    pub files: usize,
    /// Sources added, removed or changed since the last build.
    pub changed: Vec<String>,
    /// Whether the manifest, a ruleset or a producer's version changed since the last build.
    pub redefined: bool,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of nodes by target name and state.
    #[schemars(with = "Value")]
    pub targets: BTreeMap<String, Counts>,
    /// Expected work of a build of all targets.
    #[schemars(with = "Value")]
    pub outlook: RunForecast,
    /// Number of types by the state of their summary.
    #[schemars(with = "Value")]
    pub semantic: Counts,
    /// Failures of targets at their present inputs.
    pub failures: Vec<Value>,
    /// Diagnostics about current targets.
    pub diagnostics: Vec<Value>,
    /// Whether all notes are printed.
    #[serde(default)]
    pub notes: bool,
    /// Projects that could not be evaluated as a whole, in one sentence; `doctor` explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    /// Edits of the checkout so far.
    #[serde(default)]
    pub edits: EditCounts,
    /// The service, if it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
}

/// The store in numbers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct StoreFigures {
    /// Path of its folder.
    pub folder: String,
    /// Length of its file, in bytes.
    pub file_bytes: u64,
    /// Number of outputs in it.
    pub blobs: u64,
    /// Number of results in it.
    pub actions: u64,
    /// Number of versions in History.
    pub history_versions: u64,
    /// Number of files of damaged stores that were set aside beside it.
    #[serde(default)]
    pub set_aside_files: u64,
    /// Total length of these files, in bytes.
    #[serde(default)]
    pub set_aside_bytes: u64,
}

pub fn format_status(status: &WorkspaceStatus, style: Style) -> String {
    let mut text = format!("{} {}\n", style.bold(&printable(&status.name)), style.dim(&printable(&status.root)));
    let mut line = |name: &str, value: String| text.push_str(&format!("  {} {value}\n", style.dim(&format!("{name:<9}"))));
    for (name, value) in store_lines(status, style) {
        line(name, value);
    }
    let changed = match status.changed.len() {
        _ if status.targets.is_empty() => "nothing built from them yet".to_owned(),
        0 => "none changed since the last build".to_owned(),
        number => style.yellow(&format!("{} changed since the last build", format_count(number as u64))),
    };
    line("sources", format!("{} files, {changed}", format_count(status.files as u64)));
    let changed = if status.targets.is_empty() {
        &[]
    } else {
        status.changed.as_slice()
    };
    for path in changed.iter().take(SHOWN) {
        line("", printable(path));
    }
    if changed.len() > SHOWN {
        line(
            "",
            style.dim(&format!("… {} in all, --output json lists them", status.changed.len())),
        );
    }
    if status.redefined && !status.targets.is_empty() {
        line(
            "rules",
            style.yellow("the manifest, a ruleset or a producer's version changed since the last build"),
        );
    }
    line(
        "targets",
        if status.targets.is_empty() {
            "none yet; build some: cortex build '//...'".to_owned()
        } else {
            format!("{} nodes", format_count(status.nodes as u64))
        },
    );
    if !status.targets.is_empty() {
        text.push_str(&target_table(status, style));
    }
    text.push_str(&outlook_line(status, style));
    text.push_str(&summaries_and_service(status, style));
    let most = if status.notes { usize::MAX } else { SHOWN };
    for list in [&status.failures, &status.diagnostics] {
        let list: Vec<_> = list.iter().map(diagnostic::from_json).collect();
        let texts = diagnostic::texts(&list, style);
        for diagnostic in texts.iter().take(most) {
            text.push_str(diagnostic);
            text.push('\n');
        }
        if texts.len() > most {
            text.push_str(&style.dim(&format!("… {} in all, `cortex status --notes` prints them\n", texts.len())));
        }
    }
    text
}

/// Formats the store: names of lines with their values.
fn store_lines(status: &WorkspaceStatus, style: Style) -> Vec<(&'static str, String)> {
    let Some(usage) = &status.store else {
        return vec![("store", "none".to_owned())];
    };
    let counts = format!(
        "{} outputs, {} results, {} versions",
        format_count(usage.blobs),
        format_count(usage.actions),
        format_count(usage.history_versions)
    );
    let file = format!("{} in {}", format_size(usage.file_bytes), printable(&usage.folder));
    let mut lines = vec![("store", file), ("", counts)];
    if usage.set_aside_files > 0 {
        let aside = format!(
            "{} damaged set aside there as store.redb.damaged-*",
            format_size(usage.set_aside_bytes)
        );
        lines.push(("", style.yellow(&format!("{aside}; `cortex store stats` says more"))));
    }
    lines
}

/// Formats what the next build runs.
fn outlook_line(status: &WorkspaceStatus, style: Style) -> String {
    if status.outlook.will_run.is_empty() && status.outlook.may_run == 0 {
        return String::new();
    }
    let outlook = summary::outlook(&status.outlook, "--json", style);
    let numbers = format!(
        "{} to run, {} more may run{}",
        format_count(status.outlook.will_run.len() as u64),
        format_count(status.outlook.may_run as u64),
        outlook.replace('\n', "\n            ")
    );
    format!("  {} {numbers}\n", style.dim("to build "))
}

/// Formats the states of summaries, the service, and what is wrong with projects.
fn summaries_and_service(status: &WorkspaceStatus, style: Style) -> String {
    let mut text = String::new();
    let semantic = &status.semantic;
    let states = [
        ("current", semantic.current),
        ("stale", semantic.stale),
        ("maybe stale", semantic.maybe_stale),
        ("generating", semantic.generating),
        ("pending", semantic.pending),
        ("none", semantic.none),
    ];
    if states.iter().any(|(_, number)| *number > 0) {
        let states: Vec<String> = states
            .iter()
            .filter(|(_, number)| *number > 0)
            .map(|(name, number)| format!("{} {name}", format_count(*number as u64)))
            .collect();
        text.push_str(&format!("  {} {}\n", style.dim("summaries"), states.join(", ")));
    }
    if let Some(service) = &status.service {
        let figures = format!(
            "pid {} since {} s, {} MB, {} % of answers known",
            service.pid,
            service.uptime_sec,
            service.memory_mb,
            (service.hit_ratio * 100.0).round()
        );
        text.push_str(&format!("  {} {figures}\n", style.dim("service  ")));
        for alarm in &service.alarms {
            text.push_str(&format!("            {}\n", style.yellow(&printable(alarm))));
        }
    }
    if status.edits != EditCounts::default() {
        text.push_str(&format!("  {} {}\n", style.dim("edits    "), status.edits));
    }
    if let Some(health) = &status.health {
        let health = style.yellow(&format!("{health}; `cortex doctor` explains"));
        text.push_str(&format!("  {} {health}\n", style.dim("projects ")));
    }
    text
}

fn target_table(status: &WorkspaceStatus, style: Style) -> String {
    let width = status.targets.keys().map(String::len).max().unwrap_or(0).max(6);
    let failed = status.targets.values().any(|counts| counts.pending > 0);
    let mut table = style.dim(&format!(
        "    {:<width$} {:>9} {:>9} {:>9} {:>9}{}",
        "",
        "current",
        "stale",
        "maybe",
        "not made",
        if failed { format!(" {:>9}", "pending") } else { String::new() }
    ));
    table.push('\n');
    for (name, counts) in &status.targets {
        let stale = format!("{:>9}", format_count(counts.stale as u64));
        let stale = if counts.stale > 0 { style.yellow(&stale) } else { stale };
        table.push_str(&format!(
            "    {name:<width$} {:>9} {stale} {:>9} {:>9}",
            format_count(counts.current as u64),
            format_count(counts.maybe_stale as u64),
            format_count(counts.none as u64)
        ));
        if failed {
            let number = format!(" {:>9}", format_count(counts.pending as u64));
            table.push_str(&if counts.pending > 0 { style.red(&number) } else { number });
        }
        table.push('\n');
    }
    if status.targets.values().any(|counts| counts.maybe_stale > 0) {
        table.push_str(&style.dim("    maybe: cortex builds an input first; the target is stale only if that input changes\n"));
    }
    table
}
