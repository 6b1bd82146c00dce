//! `pack build`, `pack list`, `pack remove`: bundles of knowledge about chosen types.

use super::access::is_outside;
use super::symbols::{lines_of_notes, resolution};
use super::{Effect, Method};
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::printable;
use engine::build::query::NodeState;
use engine::build::session::Session;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::label::escape;
use engine::values::suggest::nearest;
use producers::csharp::pack::filter::{self, Field};
use producers::csharp::pack::form::Contents;
use producers::csharp::pack::glob::Glob;
use producers::csharp::pack::select::Selection;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workbench::packs::{self, Pack, PackError, PackRow};
use workbench::symbols::answer_state::{AnswerState, Freshness};

/// Build the text of a pack: outlines of the types that a filter selects and of those that their declarations name, within a budget of tokens.
///
/// A filter consists of namespace:, type:, access:, tag:, depends: and file: with * and ?, joined by AND, OR, ! and parentheses; file: also selects
/// files of other languages. A filter creates or replaces the pack; without one, the pack of that name in cortex.toml or of an earlier call is built.
/// The text is also in .cortex/out/packs/NAME.md.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Build {
    /// Its name.
    pub name: String,
    /// The types to select, such as 'namespace:MemoTree.Core.* AND !type:*Tests'.
    #[arg(long, value_name = "FILTER")]
    #[serde(default, alias = "filterSpec", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Limit of tokens of its text.
    #[arg(long, value_name = "TOKENS", requires = "filter")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// Include summaries; missing ones are requested from a model, which may cost money.
    #[arg(long, requires = "filter")]
    #[serde(default)]
    pub semantic: bool,
    /// Include only the types that the filter selects.
    #[arg(long, requires = "filter")]
    #[serde(default)]
    #[schemars(extend("x-tool" = false))]
    pub alone: bool,
}

/// A built pack.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Built {
    name: String,
    /// Its text.
    pack_text: String,
    /// Types in it, in the order of the text.
    types: Vec<String>,
    /// Files of other languages in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// Omitted types, with reasons.
    left_out: Vec<LeftOut>,
    /// Approximate number of tokens of the text.
    token_estimate: u64,
    /// Path of the file with the text.
    path: String,
    state: AnswerState,
}

/// An item that the text of a pack omits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct LeftOut {
    /// `type`, `file`, or `summary` of a type that is in it.
    part: String,
    /// The type or the file.
    path: String,
    /// The reason, in a sentence: the budget, or the `!` of the filter.
    why: String,
}

impl Method for Build {
    const NAME: &'static str = "pack build";
    const ALSO: &'static [&'static str] = &["BuildPack"];
    const EFFECT: Effect = Effect::Sets;
    const ASKS: bool = true;
    type Answer = Built;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Built, Failed> {
        if let Some(filter) = &self.filter {
            let row = PackRow {
                filter: filter.clone(),
                budget: self.budget,
                dependencies: self.alone.then_some(false),
                docs: None,
                semantic: self.semantic.then_some(true),
            };
            packs::write_pack(desk.redefine()?, &self.name, &row)?;
        }
        let chosen = types_of_pack(desk, &self.name)?;
        let shown = desk.output_of_label(&pack_label(&self.name, "pack"))?;
        let contents = desk.output_of_label(&pack_label(&self.name, "contents"))?;
        let contents: Contents = serde_json::from_slice(&contents.bytes).map_err(|error| Failed::bug(&error))?;
        let left_out: Vec<LeftOut> = contents.left_out.iter().cloned().map(LeftOut::from).collect();
        let state = AnswerState::default().of_workspace(&*desk.flaws()?);
        let state = note_former_names(desk, &self.name, state)?;
        Ok(Built {
            name: self.name.clone(),
            token_estimate: contents.token_estimate,
            pack_text: String::from_utf8_lossy(&shown.bytes).into_owned(),
            state: with_omissions(state, &chosen, &contents, &left_out),
            types: contents.types,
            files: contents.files,
            left_out,
            path: format!(".cortex/out/packs/{}.md", self.name),
        })
    }

    fn text(answer: &Built) -> String {
        printable(&answer.pack_text) + &lines_of_notes(&answer.state)
    }
}

/// Notes the present names of types that the filter calls by former names, which match nothing.
fn note_former_names(desk: &mut Desk<'_>, name: &str, mut state: AnswerState) -> Result<AnswerState, Failed> {
    let packs = packs::list_packs(desk.open_to_build()?.0)?;
    let Some(Ok(filter)) = packs
        .iter()
        .find(|pack| pack.name == name)
        .map(|pack| filter::parse_filter(&pack.row.filter))
    else {
        return Ok(state);
    };
    let tags = packs::tags(desk.open_to_build()?.0)?;
    let names = desk.workspace_names()?;
    let called: BTreeSet<&str> = filter
        .primaries
        .iter()
        .flat_map(|one| match one.field {
            Field::Type | Field::Depends => vec![one.token.as_str()],
            Field::Tag => {
                let named = tags.iter().filter(|(tag, _)| one.glob.matches(tag));
                named.flat_map(|(_, patterns)| patterns.iter().map(String::as_str)).collect()
            }
            _ => Vec::new(),
        })
        // Filters do not support identifiers.
        .filter(|name| Glob::new(name).is_plain() && !name.starts_with("T_"))
        .collect();
    for name in called {
        let found = resolution(desk, &names, name, 1)?;
        if let (Some(former), [now]) = (&found.former, &found.candidates[..]) {
            state = state.with_former_name(Some(former), &now.path);
        }
    }
    Ok(state)
}

/// Notes the omitted types of those that are `meant`, and why the text is empty.
fn with_omissions(mut state: AnswerState, chosen: &[String], contents: &Contents, left_out: &[LeftOut]) -> AnswerState {
    let shown = &contents.types;
    let left = |part: &str| left_out.iter().filter(|out| out.part == part).count();
    let (summaries, files) = (left("summary"), left("file"));
    let crowded = match contents.needed {
        Some(needed) => format!(
            "no type fits the budget, see leftOut; the text without types takes {} tokens, and one type fits from {needed} on",
            contents.token_estimate
        ),
        None => "types do not fit the budget, see leftOut".to_owned(),
    };
    state = state.cut(shown.len(), chosen.len(), &crowded);
    if summaries > 0 {
        state = state.cut(shown.len() - summaries, shown.len(), "summaries do not fit the budget, see leftOut");
    }
    if files > 0 {
        let all = contents.files.len() + files;
        state = state.cut(contents.files.len(), all, "files do not fit the budget, see leftOut");
    }
    let excluded = left_out.len() - summaries - files - (chosen.len() - shown.len());
    if excluded > 0 {
        let types = match excluded {
            1 => "1 type that others name is".to_owned(),
            _ => format!("{excluded} types that others name are"),
        };
        state.notes.push(format!("{types} excluded by the filter, see leftOut"));
    }
    if chosen.is_empty() && contents.files.len() + files == 0 {
        let why = "the filter selects none of the types that there are; files that the manifest's sources leave out are not indexed";
        state.notes.push(why.to_owned());
    }
    state
}

impl From<producers::csharp::pack::form::LeftOut> for LeftOut {
    fn from(out: producers::csharp::pack::form::LeftOut) -> Self {
        Self {
            part: out.part,
            path: out.path,
            why: out.why,
        }
    }
}

/// Returns the types that a pack's filter selects, in its order and regardless of its budget. Fails when no pack has the name; the error
/// lists similar ones.
pub fn types_of_pack(desk: &mut Desk<'_>, name: &str) -> Result<Vec<String>, Failed> {
    let known = packs::list_packs(desk.open_to_build()?.0)?;
    if !known.iter().any(|pack| pack.name == name) {
        let near = nearest(name, known.iter().map(|pack| pack.name.as_str()), 5);
        let hint = match near.first() {
            Some(first) => format!("did you mean {first}?"),
            None => "make it with --filter, or write [pack.NAME] in cortex.toml".to_owned(),
        };
        return Err(Failed::new(Code::Usage, unknown_pack(name).hint(hint).candidates(near)));
    }
    let shown = desk.output_of_label(&pack_label(name, "selection"))?;
    let selection: Selection = serde_json::from_slice(&shown.bytes).map_err(|error| Failed::bug(&error))?;
    Ok(selection.types)
}

fn unknown_pack(name: &str) -> Diagnostic {
    let why = Diagnostic::error(ErrorCode::E_NO_PACK, "there is no pack of this name");
    why.found(name.chars().take(120).collect::<String>())
}

fn pack_label(name: &str, target: &str) -> String {
    format!("//packs/{}:{target}", escape(name))
}

/// List the packs: those of cortex.toml and those made before.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

/// The packs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Packs {
    packs: Vec<Info>,
    state: AnswerState,
}

/// A pack.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Info {
    name: String,
    filter: String,
    /// Maximum tokens of its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<u64>,
    /// Whether `pack build` created it; the others are in cortex.toml.
    made: bool,
    /// Number of types that it selects, with those that their declarations name, as last built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    meant: Option<usize>,
    /// Number of types in its text, as last built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    types: Option<usize>,
    /// Number of files of other languages in its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    /// Approximate number of tokens of its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_estimate: Option<u64>,
}

impl Method for List {
    const NAME: &'static str = "pack list";
    const ALSO: &'static [&'static str] = &["ListPacks"];
    const EFFECT: Effect = Effect::Reads;
    type Answer = Packs;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Packs, Failed> {
        let (workspace, session) = desk.open_to_read()?;
        let known = packs::list_packs(workspace)?;
        let mut infos = Vec::with_capacity(known.len());
        let mut state = AnswerState::default();
        let mut changed = Vec::new();
        for Pack { name, row, made } in known {
            let selection = last_built::<Selection>(session, &pack_label(&name, "selection"))?;
            let contents = last_built::<Contents>(session, &pack_label(&name, "contents"))?;
            if selection.is_stale || contents.is_stale {
                changed.push(name.clone());
            }
            infos.push(Info {
                filter: row.filter,
                budget: row.budget,
                made,
                meant: selection.value.map(|selection| selection.types.len()),
                types: contents.value.as_ref().map(|contents| contents.types.len()),
                files: contents
                    .value
                    .as_ref()
                    .map(|contents| contents.files.len())
                    .filter(|count| *count > 0),
                token_estimate: contents.value.map(|contents| contents.token_estimate),
                name,
            });
        }
        if !changed.is_empty() {
            let why = format!(
                "the facts about {} are of the last build: `pack build` updates them",
                changed.join(", ")
            );
            state = state.as_of(Freshness::Stale, why);
        }
        if infos.is_empty() {
            state.notes.push("cortex.toml has no pack, and none was created".to_owned());
        }
        Ok(Packs { packs: infos, state })
    }

    fn text(answer: &Packs) -> String {
        let line = |pack: &Info| {
            let tokens = pack
                .token_estimate
                .map_or_else(String::new, |tokens| format!(", about {tokens} tokens"));
            let types = match (pack.types, pack.meant) {
                (Some(types), Some(chosen)) if types != chosen => format!("{types} of {chosen} types"),
                (Some(1), _) => "1 type".to_owned(),
                (Some(types), _) => format!("{types} types"),
                (None, _) => "not built".to_owned(),
            };
            let files = match pack.files {
                None => String::new(),
                Some(1) => ", 1 file".to_owned(),
                Some(count) => format!(", {count} files"),
            };
            let place = if pack.made { "created here" } else { "cortex.toml" };
            // A filter of several lines is printed on one.
            let filter: Vec<&str> = pack.filter.split_whitespace().collect();
            format!("{}  {types}{files}{tokens}, {place}  {}\n", pack.name, filter.join(" "))
        };
        let lines: String = answer.packs.iter().map(line).collect();
        if lines.is_empty() {
            return "there is no pack; make one: cortex pack build NAME --filter FILTER\n".to_owned();
        }
        printable(&format!("{lines}{}", lines_of_notes(&answer.state)))
    }
}

/// Last built output of a target.
struct Last<T> {
    value: Option<T>,
    /// Whether it may be out of date.
    is_stale: bool,
}

fn last_built<T: DeserializeOwned>(session: &mut Session, label: &str) -> Result<Last<T>, Failed> {
    let Some(last) = session.last(label)? else {
        return Ok(Last {
            value: None,
            is_stale: false,
        });
    };
    let blob = session.engine.store.output(&last.result.output)?;
    Ok(Last {
        value: blob.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        is_stale: session.status_of(label)?.state != NodeState::Current,
    })
}

/// Remove a pack that was made by `pack build`.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Its name.
    pub name: String,
}

/// Result of removing a pack.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    success: bool,
}

impl Method for Remove {
    const NAME: &'static str = "pack remove";
    const EFFECT: Effect = Effect::Sets;
    type Answer = Removed;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Removed, Failed> {
        let success = packs::remove_pack(desk.redefine()?, &self.name)?;
        if !success && is_outside(&self.name) {
            return Err(Failed::new(Code::Usage, unknown_pack(&self.name)));
        }
        Ok(Removed { success })
    }

    fn text(answer: &Removed) -> String {
        if answer.success {
            "removed\n"
        } else {
            "there was none of that name\n"
        }
        .to_owned()
    }
}

impl From<PackError> for Failed {
    fn from(error: PackError) -> Self {
        match error {
            PackError::Refused(why) => Self::new(Code::Usage, *why),
            PackError::Workbench(error) => error.into(),
        }
    }
}
