//! `callers` and `callees`: the members that use a member, and those that it uses, over several steps.

use super::paging::{ROWS, default_number};
use super::symbols::{OfNamesakes, OfSymbol, answer_each, lines_of_notes, state_of_page, unread_uses};
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::printable;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::symbols::answer_state::{AnswerState, Empty};
use workbench::symbols::call_graph::{Edge, Relation, WalkEdges, callees, callers};
use workbench::symbols::resolve::{Candidate, Resolved};
use workbench::symbols::usages::Subject;

/// List the members that use a member, with the places of these uses.
///
/// With --depth 2, the users of these members are listed, too, and so on; only certain uses are followed. A row that is not certain gives the reason.
/// Calls through an interface or a base are uses of that member: list its callers, too.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Callers {
    #[command(flatten)]
    #[serde(flatten)]
    of: CallQuery,
}

/// List the members that a member uses, with the places of these uses.
///
/// With --depth 2, the members that these use are listed, too, and so on; only certain uses are followed. A row that is not certain gives the reason.
/// Only members of the workspace are listed; for a member of an interface, `implementations` lists what may run.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Callees {
    #[command(flatten)]
    #[serde(flatten)]
    of: CallQuery,
}

/// Arguments of both methods: the member, and the limits of the search.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallQuery {
    /// A member, by name; the name of a method means all its overloads, a shared name up to five symbols.
    #[serde(alias = "path", alias = "id")]
    symbol: String,
    /// Limit of steps.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1))]
    depth: u32,
    /// Limit of places, the nearest first; all are counted.
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    #[serde(default = "default_number::<ROWS>")]
    #[schemars(extend("x-tool" = false))]
    limit: usize,
    /// Places to skip: those on earlier pages.
    #[arg(long, value_name = "N", default_value_t)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    offset: usize,
}

/// The paginated list.
const PAGES: &[&str] = &["places"];

fn default_depth() -> u32 {
    1
}

/// Answer of both methods: places where one member uses another.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    resolved: Resolved,
    /// Places where one member uses another.
    places: Vec<Edge>,
    /// Total number.
    total: usize,
    state: AnswerState,
}

impl OfSymbol for Calls {
    fn state_of_answer(&mut self) -> &mut AnswerState {
        &mut self.state
    }
}

impl CallQuery {
    fn answer_calls(&self, desk: &mut Desk<'_>, walks_up: bool) -> Result<OfNamesakes<Calls>, Failed> {
        if self.depth == 0 {
            let why = Diagnostic::error(ErrorCode::E_PARAM, "a depth is at least 1");
            return Err(Failed::new(Code::Usage, why));
        }
        let names = desk.workspace_names()?;
        answer_each(desk, &names, &self.symbol, |desk, group, former| {
            self.calls_of(desk, &names, group, former, walks_up)
        })
    }

    /// Answers about one member, or about all overloads of one name in one type.
    fn calls_of(
        &self,
        desk: &mut Desk<'_>,
        names: &WorkspaceNames,
        group: &[Candidate],
        former: Option<&str>,
        walks_up: bool,
    ) -> Result<Calls, Failed> {
        let resolved = Resolved::of_group(group);
        if group.iter().any(|one| one.member().is_none()) {
            let why = Diagnostic::error(ErrorCode::E_PARAM, "this is a type; members call members").found(self.symbol.clone());
            return Err(Failed::new(
                Code::Usage,
                why.hint("`usages` lists the places that use a type, `deps` and `rdeps` its neighbours"),
            ));
        }
        let health = desk.health()?;
        let walk = match walks_up {
            true => callers(desk, &names.symbols, Subject::of_group(group), self.depth, &health.gaps())?,
            false => callees(desk, &names.symbols, group, self.depth)?,
        };
        let WalkEdges { edges, unread, unseen } = walk;
        let total = edges.len();
        let places: Vec<Edge> = edges.into_iter().skip(self.offset).take(self.limit).collect();
        let state = match walks_up {
            true => AnswerState::default().of_workspace(&names.flaws).of_projects(&health),
            false => names.state_of_symbols(group.iter().flat_map(|one| &one.files)),
        };
        let unread: Vec<String> = unread.into_iter().collect();
        let unseen: Vec<String> = unseen.into_iter().collect();
        let mut state = state.unread(&unread).lacking(&unseen).with_former_name(former, &resolved.path);
        if total == 0 {
            state = state.empty(Empty::None);
        }
        if walks_up {
            state = state.beside_unread(&unread_uses(desk, &[&resolved.path])?);
        }
        Ok(Calls {
            resolved,
            state: state_of_page(state, (self.offset, places.len()), total),
            places,
            total,
        })
    }
}

/// Formats a row per place: location, then step, relation and certainty.
fn calls_text(answer: &Calls) -> String {
    let mut text = String::new();
    for edge in &answer.places {
        let relation = match edge.relation {
            Relation::Calls => "calls",
            Relation::Uses => "uses",
        };
        let (file, line, column) = (&edge.file, edge.line, edge.column);
        text.push_str(&format!("{file}:{line}:{column}: {} {relation} {}", edge.from, edge.to));
        if edge.distance > 1 {
            text.push_str(&format!(", {} steps", edge.distance));
        }
        if let Some(why) = &edge.why {
            text.push_str(&format!(", possible: {why}"));
        }
        text.push('\n');
    }
    printable(&format!("{text}{}", lines_of_notes(&answer.state)))
}

impl Method for Callers {
    const NAME: &'static str = "callers";
    const EFFECT: Effect = Effect::Looks;
    const TOOL: AsTool = AsTool::Under("usages");
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = PAGES;
    type Answer = OfNamesakes<Calls>;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<OfNamesakes<Calls>, Failed> {
        self.of.answer_calls(desk, true)
    }

    fn text(answer: &OfNamesakes<Calls>) -> String {
        answer.join_texts(|one| one.resolved.path.as_str(), calls_text)
    }
}

impl Method for Callees {
    const NAME: &'static str = "callees";
    const EFFECT: Effect = Effect::Looks;
    const TOOL: AsTool = AsTool::Under("usages");
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = PAGES;
    type Answer = OfNamesakes<Calls>;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<OfNamesakes<Calls>, Failed> {
        self.of.answer_calls(desk, false)
    }

    fn text(answer: &OfNamesakes<Calls>) -> String {
        answer.join_texts(|one| one.resolved.path.as_str(), calls_text)
    }
}
