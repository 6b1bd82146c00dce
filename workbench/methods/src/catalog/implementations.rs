//! `implementations`: the types or members that implement, derive from or override another one.

use super::paging::{ROWS, default_number};
use super::symbols::{OfNamesakes, OfSymbol, answer_each, lines_of_notes, state_of_page};
use super::{AsTool, Effect, Method};
use crate::desk::Desk;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workbench::symbols::answer_state::{AnswerState, Empty};
use workbench::symbols::hierarchy::{Implementation, implementations, locate};
use workbench::symbols::meaning::Candidate;
use workbench::symbols::resolve::Resolved;

/// List the types that implement or derive from a type, or the members that implement or override a member.
///
/// Lists only direct ones; with --all, also indirect ones. A member that a class inherits may implement a member of an interface: then "through"
/// names the class.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImplementationsOf {
    /// A type or member, by name; the name of a method means all its overloads, a shared name up to five symbols.
    #[serde(alias = "path", alias = "id")]
    symbol: String,
    /// Include indirect ones, at any number of steps.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    all: bool,
    /// Limit of rows, the nearest first; all are counted.
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    #[serde(default = "default_number::<ROWS>")]
    #[schemars(extend("x-tool" = false))]
    limit: usize,
    /// Rows to skip: those on earlier pages.
    #[arg(long, value_name = "N", default_value_t)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    offset: usize,
}

/// Answer of `implementations`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Implementations {
    resolved: Resolved,
    /// Its heirs.
    implementations: Vec<Implementation>,
    /// Total number.
    total: usize,
    state: AnswerState,
}

impl OfSymbol for Implementations {
    fn state_of_answer(&mut self) -> &mut AnswerState {
        &mut self.state
    }
}

impl Method for ImplementationsOf {
    const NAME: &'static str = "implementations";
    const EFFECT: Effect = Effect::Looks;
    const TOOL: AsTool = AsTool::Under("usages");
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = &["implementations"];
    type Answer = OfNamesakes<Implementations>;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<OfNamesakes<Implementations>, Failed> {
        let names = desk.workspace_names()?;
        answer_each(desk, &names, &self.symbol, |desk, group, former| {
            self.implementations_of(desk, &names, group, former)
        })
    }

    fn text(answer: &OfNamesakes<Implementations>) -> String {
        let format = |one: &Implementations| {
            let text: String = one.implementations.iter().map(relative_line).collect();
            printable(&format!("{text}{}", lines_of_notes(&one.state)))
        };
        answer.join_texts(|one| one.resolved.path.as_str(), format)
    }
}

impl ImplementationsOf {
    /// Answers about one symbol, or about all overloads of one name in one type.
    fn implementations_of(
        &self,
        desk: &mut Desk<'_>,
        names: &WorkspaceNames,
        group: &[Candidate],
        former: Option<&str>,
    ) -> Result<Implementations, Failed> {
        let mut found: Vec<Implementation> = Vec::new();
        for one in group {
            found.extend(implementations(desk, &names.symbols, one, self.all)?);
        }
        found.sort();
        found.dedup();
        let further = if self.all {
            None
        } else {
            note_further(desk, names, group, &found)?
        };
        let total = found.len();
        let mut found: Vec<Implementation> = found.into_iter().skip(self.offset).take(self.limit).collect();
        locate(desk, &names.symbols, &mut found)?;
        let resolved = Resolved::of_group(group);
        // An unreadable file may declare more.
        let state = AnswerState::default().of_workspace(&names.flaws).of_projects(&desk.health()?);
        let mut state = state.with_former_name(former, &resolved.path);
        if total == 0 {
            state = state.empty(Empty::None);
        }
        state.notes.extend(further);
        Ok(Implementations {
            resolved,
            state: state_of_page(state, (self.offset, found.len()), total),
            implementations: found,
            total,
        })
    }
}

/// Formats a row: the place, how the symbol is related, and over how many steps.
pub(super) fn relative_line(one: &Implementation) -> String {
    let place = one.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
    let through = one.through.as_ref().map_or_else(String::new, |heir| format!(", through {heir}"));
    let steps = match one.distance {
        0 | 1 => String::new(),
        steps => format!(", {steps} steps"),
    };
    format!("{place}{} {}{through}{steps}\n", one.relation.as_str(), one.path)
}

/// Returns a note about implementations more than one step away.
fn note_further(
    desk: &mut Desk<'_>,
    names: &WorkspaceNames,
    of: &[Candidate],
    direct: &[Implementation],
) -> Result<Option<String>, Failed> {
    let mut more: BTreeSet<Implementation> = BTreeSet::new();
    for one in of {
        more.extend(implementations(desk, &names.symbols, one, true)?);
    }
    more.retain(|one| direct.iter().all(|known| known.path != one.path));
    let steps: BTreeSet<u32> = more.iter().map(|one| one.distance).collect();
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Ok(None);
    };
    let steps = match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    };
    Ok(Some(format!("{} more at {steps} steps: --all", more.len())))
}
