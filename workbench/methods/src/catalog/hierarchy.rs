//! `hierarchy`: the bases and the heirs of a type or member.

use super::implementations::relative_line;
use super::paging::{ROWS, default_number};
use super::symbols::{OfNamesakes, OfSymbol, answer_each, lines_of_notes, state_of_page};
use super::{AsTool, Effect, Method};
use crate::desk::Desk;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::printable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::symbols::ancestors::ancestors;
use workbench::symbols::answer_state::{AnswerState, Empty};
use workbench::symbols::hierarchy::{Implementation, implementations, locate};
use workbench::symbols::resolve::{Candidate, Resolved};

/// List what a type or member derives from, implements or overrides, and its heirs.
///
/// Each row has the relation, the number of steps and the place. A symbol outside of the workspace has a name but no place; the bases of types in
/// packages are unknown.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HierarchyOf {
    /// A type or member, by name; the name of a method means all its overloads, a shared name up to five symbols.
    #[serde(alias = "path", alias = "id")]
    symbol: String,
    /// Limit of heirs, the nearest first; all are counted.
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    #[serde(default = "default_number::<ROWS>")]
    #[schemars(extend("x-tool" = false))]
    limit: usize,
    /// Heirs to skip: those on earlier pages.
    #[arg(long, value_name = "N", default_value_t)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    offset: usize,
}

/// The bases and heirs of a symbol.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hierarchy {
    resolved: Resolved,
    /// The types or members that it derives from, implements or overrides, nearest first.
    bases: Vec<Implementation>,
    /// The types or members that derive from, implement or override it, nearest first.
    heirs: Vec<Implementation>,
    /// Number of heirs.
    total: usize,
    state: AnswerState,
}

impl OfSymbol for Hierarchy {
    fn state_of_answer(&mut self) -> &mut AnswerState {
        &mut self.state
    }
}

impl Method for HierarchyOf {
    const NAME: &'static str = "hierarchy";
    const EFFECT: Effect = Effect::Looks;
    const TOOL: AsTool = AsTool::Under("usages");
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = &["heirs"];
    type Answer = OfNamesakes<Hierarchy>;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<OfNamesakes<Hierarchy>, Failed> {
        let names = desk.workspace_names()?;
        answer_each(desk, &names, &self.symbol, |desk, group, former| {
            self.hierarchy_of(desk, &names, group, former)
        })
    }

    fn text(answer: &OfNamesakes<Hierarchy>) -> String {
        let all = std::iter::once(&answer.first).chain(&answer.more);
        all.map(hierarchy_text).collect::<Vec<_>>().join("\n")
    }
}

/// Formats one symbol with its bases and heirs.
fn hierarchy_text(answer: &Hierarchy) -> String {
    let mut text = format!("{}\n", answer.resolved.path);
    for (title, rows) in [("bases", &answer.bases), ("heirs", &answer.heirs)] {
        if !rows.is_empty() {
            text.push_str(&format!("{title}:\n"));
            text.extend(rows.iter().map(|one| format!("  {}", relative_line(one))));
        }
    }
    printable(&format!("{text}{}", lines_of_notes(&answer.state)))
}

impl HierarchyOf {
    /// Answers about one symbol, or about all overloads of one name in one type.
    fn hierarchy_of(
        &self,
        desk: &mut Desk<'_>,
        names: &WorkspaceNames,
        group: &[Candidate],
        former: Option<&str>,
    ) -> Result<Hierarchy, Failed> {
        let (mut bases, mut heirs) = (Vec::new(), Vec::new());
        for one in group {
            bases.extend(ancestors(desk, &names.symbols, one)?);
            heirs.extend(implementations(desk, &names.symbols, one, true)?);
        }
        for rows in [&mut bases, &mut heirs] {
            rows.sort();
            rows.dedup();
        }
        let total = heirs.len();
        let mut heirs: Vec<Implementation> = heirs.into_iter().skip(self.offset).take(self.limit).collect();
        for rows in [&mut bases, &mut heirs] {
            locate(desk, &names.symbols, rows)?;
        }
        let resolved = Resolved::of_group(group);
        let state = AnswerState::default().of_workspace(&names.flaws).of_projects(&desk.health()?);
        let mut state = state.with_former_name(former, &resolved.path);
        if total == 0 && bases.is_empty() {
            state = state.empty(Empty::None);
        }
        Ok(Hierarchy {
            resolved,
            state: state_of_page(state, (self.offset, heirs.len()), total),
            bases,
            heirs,
            total,
        })
    }
}
