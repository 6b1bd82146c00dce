//! `deps` and `rdeps`: the types that a type uses, and those that use it.

use super::paging::{ROWS, default_number};
use super::symbols::{lines_of_notes, resolve_one, state_of_page, unread_uses};
use super::{AsTool, Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::printable;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workbench::health::Health;
use workbench::symbols::answer_state::{AnswerState, Empty};
use workbench::symbols::contents::Layout;
use workbench::symbols::matching::others_of_name;
use workbench::symbols::relations::{Edges, Graph, Relations, WalkDirection};
use workbench::symbols::resolve::{Candidate, Resolved};

/// List the types that a type depends on; with --reverse those that depend on it.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deps {
    #[command(flatten)]
    #[serde(flatten)]
    of: TypeQuery,
    /// List the types that depend on it instead.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub reverse: bool,
}

/// List the types that depend on a type.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rdeps {
    #[command(flatten)]
    #[serde(flatten)]
    of: TypeQuery,
}

/// Arguments of both methods: the type, and the limits of the search.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TypeQuery {
    /// A type, by any unambiguous name.
    #[serde(alias = "path", alias = "id", alias = "typeId")]
    symbol: String,
    /// Limit of steps; 0 for no limit.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[serde(default = "default_depth")]
    depth: u32,
    /// Count only dependencies by declarations: bases, signatures, attributes.
    #[arg(long, conflicts_with = "body")]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    structure: bool,
    /// Count only dependencies by code.
    #[arg(long)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    body: bool,
    /// Limit of types, the nearest first; all are counted.
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    #[serde(default = "default_number::<ROWS>")]
    #[schemars(extend("x-tool" = false))]
    limit: usize,
    /// Types to skip: those on earlier pages.
    #[arg(long, value_name = "N", default_value_t)]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    offset: usize,
}

/// The paginated list.
const PAGES: &[&str] = &["types"];

fn default_depth() -> u32 {
    1
}

/// The types.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Related {
    resolved: Resolved,
    #[serde(flatten)]
    relations: Relations,
    /// Number of types.
    total: usize,
    state: AnswerState,
}

impl TypeQuery {
    /// Returns the health of the projects of a type.
    fn health_of(&self, desk: &mut Desk<'_>, found: &Candidate) -> Result<Health, Failed> {
        let mut health = desk.health()?;
        if health.line().is_some() {
            let layout = Layout::from_outputs(desk)?;
            let own: BTreeSet<&str> = found.files.iter().flat_map(|file| layout.projects_of(file)).collect();
            health.retain_projects(|project| own.contains(project));
        }
        Ok(health)
    }

    fn answer_relations(&self, desk: &mut Desk<'_>, way: WalkDirection) -> Result<Related, Failed> {
        // Arguments from JSON were not checked by the command line.
        if self.structure && self.body {
            let why = Diagnostic::error(ErrorCode::E_PARAM, "structure and body cannot go together");
            return Err(Failed::new(Code::Usage, why.hint("leave both out for all edges")));
        }
        let names = desk.workspace_names()?;
        let (found, former) = resolve_one(desk, &names, &self.symbol)?;
        if found.member().is_some() {
            let why = Diagnostic::error(ErrorCode::E_PARAM, "this is a member; types depend on types").found(self.symbol.clone());
            return Err(Failed::new(Code::Usage, why.hint("`usages` lists the places that use a member")));
        }
        let edges = match (self.structure, self.body) {
            (true, _) => Edges::Structure,
            (_, true) => Edges::Body,
            _ => Edges::All,
        };
        let depth = if self.depth == 0 { u32::MAX } else { self.depth };
        let mut relations = Graph::around(desk, &names.symbols, found.key(), way, depth)?.relations(found.key(), way, edges, depth);
        let total = relations.types.len();
        relations.types = relations.types.into_iter().skip(self.offset).take(self.limit).collect();
        relations.locate(desk, &names.symbols)?;
        let mut state = match way {
            WalkDirection::Deps => names
                .state_of_symbols(found.files.iter())
                .of_projects(&self.health_of(desk, &found)?),
            // The uses of an unreadable file are unknown.
            WalkDirection::Rdeps => AnswerState::default().of_workspace(&names.flaws).of_projects(&desk.health()?),
        };
        state = state.with_former_name(former.as_deref(), &found.path).unread(&relations.unread);
        if total == 0 {
            state = state.empty(Empty::None);
        }
        if matches!(way, WalkDirection::Rdeps) {
            state = state.beside_unread(&unread_uses(desk, &[&found.path])?);
        }
        state.note_namesakes(&others_of_name(&names.symbols, &self.symbol, &[&found.path]));
        Ok(Related {
            resolved: Resolved {
                path: found.path,
                type_id: found.type_id,
                member_id: None,
            },
            state: state_of_page(state, (self.offset, relations.types.len()), total),
            relations,
            total,
        })
    }
}

fn relations_text(answer: &Related) -> String {
    let mut text = String::new();
    for related in &answer.relations.types {
        let by = if related.structure { "declaration" } else { "code" };
        text.push_str(&format!("{}  {by}", related.path));
        if related.distance > 1 {
            text.push_str(&format!(", {} steps", related.distance));
        }
        if let Some(place) = &related.place {
            text.push_str(&format!("  {}:{}", place.file, place.line));
        }
        text.push('\n');
    }
    if !answer.relations.external.is_empty() {
        text.push_str(&format!("not of this workspace: {}\n", answer.relations.external.join(", ")));
    }
    printable(&format!("{text}{}", lines_of_notes(&answer.state)))
}

impl Method for Deps {
    const NAME: &'static str = "deps";
    const EFFECT: Effect = Effect::Looks;
    const TOOL: AsTool = AsTool::Under("usages");
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = PAGES;
    type Answer = Related;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Related, Failed> {
        self.of
            .answer_relations(desk, if self.reverse { WalkDirection::Rdeps } else { WalkDirection::Deps })
    }

    fn text(answer: &Related) -> String {
        relations_text(answer)
    }
}

impl Method for Rdeps {
    const NAME: &'static str = "rdeps";
    const EFFECT: Effect = Effect::Looks;
    const WITHIN: bool = true;
    const PAGES: &'static [&'static str] = PAGES;
    const TOOL: AsTool = AsTool::Under("usages");
    type Answer = Related;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Related, Failed> {
        self.of.answer_relations(desk, WalkDirection::Rdeps)
    }

    fn text(answer: &Related) -> String {
        relations_text(answer)
    }
}
