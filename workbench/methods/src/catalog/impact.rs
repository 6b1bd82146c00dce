//! `impact`: the members, types and tests that a change reaches.

use super::paging::{PLACES_FOR_CLIENTS, ROWS, default_number};
use super::symbols::{lines_of_notes, namesakes, state_of_page, unread_uses};
use super::window::root_of_workspace;
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::clock::current_seconds;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::{plural, printable};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workbench::changed_lines::{Differences, differences_from_commit, differences_of_overlay};
use workbench::edit::disk::Disk;
use workbench::edit::files::Files;
use workbench::overlay::build::documents;
use workbench::symbols::answer_state::{AnswerState, Empty};
use workbench::symbols::impact::{Affected, Reached, at_lines, impact_with_users};
use workbench::symbols::matching::others_of_name;
use workbench::symbols::removed_uses::{RemovedUses, uses_of_removed};
use workbench::symbols::unread_files::word_of;

/// List what a change of a member reaches: its users over several steps, its heirs, and the tests among these.
///
/// With --diff, the changed members are those that differ from the checked-out commit; with --overlay and no symbol, those that differ between the
/// workspace and the overlay or edit session. Code that still names a declaration which these changes removed is one step away. Certain uses are
/// followed, and those through a base or an interface. A row that is not certain, or is reached only through such a row, says "possible" with the
/// reason; other possible uses are not followed. If the last step has further users, a note gives their number, and the answer is not complete. Tests
/// are methods with the attributes of xUnit, NUnit or MSTest.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImpactOf {
    /// A type or member, by name; the name of a method means all its overloads, a shared name up to five symbols.
    #[arg(conflicts_with = "diff")]
    #[serde(default, alias = "path", alias = "id", skip_serializing_if = "Option::is_none")]
    symbol: Option<String>,
    /// Start from all members that differ from the checked-out commit.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = "impact: of what differs from the commit"))]
    diff: bool,
    /// List only tests.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    tests: bool,
    /// Print a filter for `dotnet test --filter` that selects the tests; possible gaps are reported on standard error.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = "impact: a filter for dotnet test"))]
    filter: bool,
    /// Print the graph in the language of Graphviz (DOT); possible gaps are reported on standard error.
    #[arg(long, conflicts_with = "filter")]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    dot: bool,
    /// Steps to follow from what changed: users are one step away, their users two.
    #[arg(long, value_name = "N", default_value_t = USUAL_DEPTH, value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1))]
    depth: u32,
    /// Limit of rows, the nearest first; all are counted.
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    #[serde(default = "default_number::<PLACES_FOR_CLIENTS>", alias = "maxResults")]
    #[schemars(extend("x-tool" = false))]
    limit: usize,
    /// Rows to skip: those on earlier pages.
    #[arg(long, value_name = "N", default_value_t)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    offset: usize,
}

/// Default number of steps.
const USUAL_DEPTH: u32 = 5;

fn default_depth() -> u32 {
    USUAL_DEPTH
}

/// The members and types that a change reaches.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reach {
    /// The members and types that changed.
    changed: Vec<String>,
    /// The members and types reached, the nearest first.
    affected: Vec<Affected>,
    /// Number of rows.
    total: usize,
    /// Number of rows that are not certain.
    #[serde(default)]
    possible: usize,
    /// Number of tests reached, including possible ones.
    tests: usize,
    /// Number of tests that are not certain.
    #[serde(default)]
    possible_tests: usize,
    /// Number of members and types that one more step would reach.
    #[serde(default)]
    beyond: usize,
    /// The filter for `dotnet test --filter`, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
    /// The graph in the language of Graphviz, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dot: Option<String>,
    state: AnswerState,
}

impl Method for ImpactOf {
    const NAME: &'static str = "impact";
    const EFFECT: Effect = Effect::Looks;
    const TOOL: AsTool = AsTool::Under("usages");
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = &["affected"];
    type Answer = Reach;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Reach, Failed> {
        let names = desk.workspace_names()?;
        let Start {
            changed,
            former,
            removed,
            users,
        } = self.changed_symbols(desk, &names)?;
        let health = desk.health()?;
        let notes = notes_of_removed(&removed, &users);
        let found = impact_with_users(desk, &names.symbols, &changed, users.users, self.depth, &health.gaps())?;
        let unread: Vec<String> = found.unread.iter().cloned().collect();
        let unseen: Vec<String> = found.unseen.iter().cloned().collect();
        let mut state = AnswerState::default()
            .of_workspace(&names.flaws)
            .of_projects(&health)
            .unread(&unread)
            .lacking(&unseen);
        if let (Some(former), Some(first)) = (&former, changed.first()) {
            state = state.with_former_name(Some(former), first);
        }
        let filter = self.filter.then(|| found.filter());
        let (tests, possible_tests) = count_affected(found.affected.iter().filter(|one| one.test));
        let is_wanted = |one: &Affected| one.how != Reached::Changed && (one.test || !self.tests);
        let rows: Vec<Affected> = found.affected.into_iter().filter(is_wanted).collect();
        let dot = self.dot.then(|| draw_reach(&changed, &rows));
        let (total, possible) = count_affected(rows.iter());
        state = state.lacking(&notes);
        if changed.is_empty() {
            let other = if self.diff {
                "the commit that is checked out"
            } else {
                "the workspace"
            };
            let is_equal = removed.is_empty();
            state.notes.extend(is_equal.then(|| format!("no member differs from {other}")));
        } else if total == 0 && self.tests {
            state
                .notes
                .push(format!("no test is reached within {}", plural(u64::from(self.depth), "step")));
        } else if total == 0 && removed.is_empty() {
            state = state.empty(Empty::None);
        }
        state = state.lacking(self.note_users_beyond(found.beyond).as_slice());
        let paths: Vec<&str> = changed.iter().map(String::as_str).collect();
        state = state.beside_unread(&unread_uses(desk, &paths)?);
        if let Some(symbol) = &self.symbol {
            state.note_namesakes(&others_of_name(&names.symbols, symbol, &paths));
        }
        if filter.is_some() || dot.is_some() {
            // Standard output has the requested form and nothing else. It covers all rows, so no note is about a page.
            let said = state
                .notes
                .iter()
                .map(|note| Diagnostic::new(Severity::Note, ErrorCode::N_INCOMPLETE, note.as_str()));
            desk.context.say(&said.collect::<Vec<_>>());
        }
        let affected: Vec<Affected> = rows.into_iter().skip(self.offset).take(self.limit).collect();
        let state = state_of_page(state, (self.offset, affected.len()), total);
        Ok(Reach {
            changed: changed.into_iter().collect(),
            state,
            affected,
            total,
            possible,
            tests,
            possible_tests,
            beyond: found.beyond,
            filter,
            dot,
        })
    }

    fn text(answer: &Reach) -> String {
        if let Some(filter) = &answer.filter {
            return printable(&format!("{filter}\n"));
        }
        if let Some(dot) = &answer.dot {
            return dot.clone();
        }
        let mut text = String::new();
        if !answer.changed.is_empty() {
            text.push_str(&format!("changed: {}\n", answer.changed.join(", ")));
        }
        for one in &answer.affected {
            let mut line = format!("{} ", one.distance);
            if let (Some(file), Some(at)) = (&one.file, one.line) {
                line.push_str(&format!("{file}:{at} "));
            }
            if one.test {
                line.push_str("test ");
            }
            line.push_str(&one.path);
            if one.how != Reached::Uses {
                line.push_str(&format!(", {} {}", one.how.as_str(), one.by.as_deref().unwrap_or_default()));
            }
            if let Some(why) = &one.why {
                let kind = if why.starts_with("wired: ") { "" } else { "possible: " };
                line.push_str(&format!(" ({kind}{why})"));
            }
            text.push_str(&line);
            text.push('\n');
        }
        if answer.total > 0 {
            let of = |possible: usize| {
                if possible > 0 {
                    format!(" ({possible} possible)")
                } else {
                    String::new()
                }
            };
            let (rows, tests) = (plural(answer.total as u64, "row"), plural(answer.tests as u64, "test"));
            text.push_str(&format!("{rows}{}, {tests}{}\n", of(answer.possible), of(answer.possible_tests)));
        }
        printable(&format!("{text}{}", lines_of_notes(&answer.state)))
    }
}

/// Draws the changed and the reached symbols, with an arrow per row; possible rows are dashed, tests are ellipses.
fn draw_reach<'c>(changed: impl IntoIterator<Item = &'c String>, rows: &[Affected]) -> String {
    let quoted = |text: &str| format!("\"{}\"", printable(text).replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = String::from("digraph impact {\n  rankdir = LR;\n  node [shape = box];\n");
    for path in changed {
        text.push_str(&format!("  {} [style = bold];\n", quoted(path)));
    }
    let tests: BTreeSet<&str> = rows.iter().filter(|one| one.test).map(|one| one.path.as_str()).collect();
    for path in tests {
        text.push_str(&format!("  {} [shape = ellipse];\n", quoted(path)));
    }
    for one in rows {
        let from = one.by.as_deref().unwrap_or_default();
        let style = if one.why.is_some() { " [style = dashed]" } else { "" };
        text.push_str(&format!("  {} -> {}{style};\n", quoted(from), quoted(&one.path)));
    }
    text.push_str("}\n");
    text
}

/// Returns the number of rows, and of those that are not certain.
fn count_affected<'a>(rows: impl Iterator<Item = &'a Affected>) -> (usize, usize) {
    rows.fold((0, 0), |(all, possible), one| (all + 1, possible + usize::from(one.why.is_some())))
}

/// Where the walk starts.
#[derive(Default)]
struct Start {
    /// Changed members and types.
    changed: BTreeSet<String>,
    /// Former name of a requested symbol.
    former: Option<String>,
    /// Members and types that no longer exist.
    removed: BTreeSet<String>,
    /// The code that still names them.
    users: RemovedUses,
}

impl Start {
    fn from_differences(desk: &mut Desk<'_>, names: &WorkspaceNames, found: Differences) -> Result<Self, Failed> {
        Ok(Self {
            changed: at_lines(desk, &names.symbols, &found.lines)?,
            former: None,
            users: uses_of_removed(desk, &names.symbols, &found.removed, &found.lines.keys().cloned().collect())?,
            removed: found.removed,
        })
    }
}

/// Limit of removed symbols that a note names.
const NAMED: usize = 5;

/// Returns notes about removed symbols. Names that still bind, or that cortex does not bind, are not among their users.
fn notes_of_removed(removed: &BTreeSet<String>, users: &RemovedUses) -> Vec<String> {
    let Some(first) = removed.first() else { return Vec::new() };
    let shown: Vec<&str> = removed.iter().take(NAMED).map(String::as_str).collect();
    let more = if removed.len() > NAMED { ", …" } else { "" };
    let name = word_of(first).unwrap_or_default();
    let (verb, whom) = if removed.len() == 1 { ("exists", "it") } else { ("exist", "them") };
    let found = match users.users.len() {
        0 => format!("no code was found that still names {whom}"),
        1 => format!("1 row still names {whom}"),
        count => format!("{count} rows still name {whom}"),
    };
    let mut notes = vec![format!(
        "{} no longer {verb}: {}{more}; {found}; values of unknown type were not searched: `cortex grep '{name}'`",
        plural(removed.len() as u64, "declaration"),
        shown.join(", ")
    )];
    if users.left_out > 0 {
        notes.push(format!(
            "{} that may name them were not searched",
            plural(users.left_out as u64, "type")
        ));
    }
    notes
}

/// Returns where the walk over the changes of an overlay or edit session starts.
fn changed_by_overlay(desk: &mut Desk<'_>, names: &WorkspaceNames, overlay: &str) -> Result<Start, Failed> {
    let root = root_of_workspace(desk)?;
    let disk = Disk::new(&root);
    let mut documents = documents(&disk, overlay, current_seconds())?;
    let (_, session) = desk.open_to_build()?;
    let sources: BTreeSet<String> = session.sources.files().into_iter().map(|(path, _)| path).collect();
    documents.retain(|path, document| document.is_none() || sources.contains(path));
    let found = differences_of_overlay(&documents, |path| Some(disk.read(path).ok()??.bytes));
    Start::from_differences(desk, names, found)
}

impl ImpactOf {
    /// Returns a note about the users beyond the last step.
    fn note_users_beyond(&self, beyond: usize) -> Option<String> {
        let further = match beyond {
            0 => return None,
            1 => "1 more member uses what these steps reach".to_owned(),
            beyond => format!("{beyond} more members use what these steps reach"),
        };
        let steps = plural(u64::from(self.depth), "step");
        Some(format!(
            "impact stopped after {steps}; {further}: follow them with a depth of {}",
            self.depth.saturating_mul(2)
        ))
    }

    fn changed_symbols(&self, desk: &mut Desk<'_>, names: &WorkspaceNames) -> Result<Start, Failed> {
        let wrong = |message: &str, hint: &str| Failed::new(Code::Usage, Diagnostic::error(ErrorCode::E_PARAM, message).hint(hint));
        match (&self.symbol, self.diff) {
            (Some(_), true) => Err(wrong("symbol and diff cannot go together", "leave one of them out")),
            (None, false) => match desk.context.overlay().map(str::to_owned) {
                Some(overlay) => changed_by_overlay(desk, names, &overlay),
                None => Err(wrong(
                    "the argument 'symbol' is missing",
                    "name a type or member, or ask with diff or with an overlay",
                )),
            },
            (Some(symbol), false) => {
                let (found, former) = namesakes(desk, names, symbol)?;
                Ok(Start {
                    changed: found.into_iter().map(|one| one.path).collect(),
                    former,
                    ..Start::default()
                })
            }
            (None, true) => {
                let root = root_of_workspace(desk)?;
                let (workspace, session) = desk.open_to_build()?;
                let world = workspace.engine.world.clone();
                let sources: Vec<String> = session.sources.files().into_iter().map(|(path, _)| path).collect();
                let found = differences_from_commit(&root, &*world, &sources);
                let found = found.ok_or_else(|| wrong("git knows no commit of this workspace", "name a type or member instead"))?;
                Start::from_differences(desk, names, found)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, FromArgMatches as _};

    #[test]
    fn a_client_that_sets_no_limit_gets_as_many_rows_as_of_usages() {
        let read = |arguments: serde_json::Value| serde_json::from_value::<ImpactOf>(arguments).unwrap().limit;
        assert_eq!(read(serde_json::json!({"symbol": "A"})), 100);
        assert_eq!(read(serde_json::json!({"symbol": "A", "limit": 7})), 7);
        assert_eq!(read(serde_json::json!({"symbol": "A", "maxResults": 8})), 8);
        let command = ImpactOf::augment_args(clap::Command::new("impact"));
        let asked = ImpactOf::from_arg_matches(&command.get_matches_from(["impact", "A"])).unwrap();
        assert_eq!(asked.limit, ROWS);
    }
}
