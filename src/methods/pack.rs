//! `pack build`, `pack list`, `pack remove`: bundles of what is known of chosen types.

use super::{Effect, Method};
use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use crate::render::printable;
use engine::values::diagnostic::Diagnostic;
use engine::values::label::escape;
use engine::values::suggest::nearest;
use producers::csharp::pack::select::Selection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::packs::{self, Pack, PackError, PackRow};

/// Make the text of a pack: outlines of the types that a filter means and of those that their declarations name, within a budget of tokens.
///
/// A filter is made of namespace:, type:, access:, tag: and depends: with * and ?, joined by AND, OR, ! and parentheses. With one the pack is
/// made, or replaced; without, the pack of that name in cortex.toml or made before is meant. The text is also .cortex/out/packs/NAME.md.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Build {
    /// Its name.
    pub name: String,
    /// Which types, such as 'namespace:MemoTree.Core.* AND !type:*Tests'.
    #[arg(long, value_name = "FILTER")]
    #[serde(default, alias = "filterSpec", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Tokens of its text at most.
    #[arg(long, value_name = "TOKENS", requires = "filter")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// Also summaries; those that a model makes are asked for, which may cost money.
    #[arg(long, requires = "filter")]
    #[serde(default)]
    pub semantic: bool,
    /// Only the types that the filter means.
    #[arg(long, requires = "filter")]
    #[serde(default)]
    pub alone: bool,
}

/// A pack made.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Built {
    name: String,
    /// Its text.
    pack_text: String,
    /// Types that the filter means and those that come with them, in the order of the text; some may be cut.
    types: Vec<String>,
    /// About how many tokens the text is.
    token_estimate: usize,
    /// Where the text is laid out.
    path: String,
}

/// Bytes of a token, about.
const BYTES: f64 = 3.3;

impl Method for Build {
    const NAME: &'static str = "pack build";
    const ALSO: &'static [&'static str] = &["BuildPack"];
    const EFFECT: Effect = Effect::Sets;
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
            packs::put(desk.redefine()?, &self.name, &row)?;
        }
        let types = types(desk, &self.name)?;
        let shown = desk.output(&label(&self.name, "pack"))?;
        let text = String::from_utf8_lossy(&shown.bytes).into_owned();
        Ok(Built {
            name: self.name.clone(),
            token_estimate: (text.len() as f64 / BYTES).ceil() as usize,
            pack_text: text,
            types,
            path: format!(".cortex/out/packs/{}.md", self.name),
        })
    }

    fn text(answer: &Built) -> String {
        printable(&answer.pack_text)
    }
}

/// The types of a pack, in its order.
///
/// # Errors
/// When there is no pack of that name, with those that there are.
pub fn types(desk: &mut Desk<'_>, name: &str) -> Result<Vec<String>, Failed> {
    let known = packs::list(desk.open()?.0)?;
    if !known.iter().any(|pack| pack.name == name) {
        let near = nearest(name, known.iter().map(|pack| pack.name.as_str()), 5);
        let hint = match near.first() {
            Some(first) => format!("did you mean {first}?"),
            None => "make it with --filter, or write [pack.NAME] in cortex.toml".to_owned(),
        };
        let why = Diagnostic::error("E_NO_PACK", "there is no pack of this name").found(name.chars().take(120).collect::<String>());
        return Err(Failed::new(Code::Usage, why.hint(hint).candidates(near)));
    }
    let shown = desk.output(&label(name, "selection"))?;
    let selection: Selection = serde_json::from_slice(&shown.bytes).map_err(|error| Failed::bug(&error))?;
    Ok(selection.types)
}

fn label(name: &str, target: &str) -> String {
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
}

/// A pack.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Info {
    name: String,
    filter: String,
    /// Tokens of its text at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<u64>,
    /// Whether it was made by `pack build`; the others stand in cortex.toml.
    made: bool,
    /// Types in it, as it was last built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    types: Option<usize>,
}

impl Method for List {
    const NAME: &'static str = "pack list";
    const ALSO: &'static [&'static str] = &["ListPacks"];
    const EFFECT: Effect = Effect::Reads;
    const TOOL: bool = false;
    type Answer = Packs;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Packs, Failed> {
        let (workspace, session) = desk.look()?;
        let known = packs::list(workspace)?;
        let mut infos = Vec::with_capacity(known.len());
        for Pack { name, row, made } in known {
            let last = session.last(&label(&name, "selection"))?;
            let blob = last
                .map(|last| session.engine.store.blob(&last.filed.output))
                .transpose()?
                .flatten();
            let selection = blob.and_then(|bytes| serde_json::from_slice::<Selection>(&bytes).ok());
            infos.push(Info {
                filter: row.filter,
                budget: row.budget,
                made,
                types: selection.map(|selection| selection.types.len()),
                name,
            });
        }
        Ok(Packs { packs: infos })
    }

    fn text(answer: &Packs) -> String {
        let line = |pack: &Info| {
            let types = pack.types.map_or("not built".to_owned(), |types| format!("{types} types"));
            let place = if pack.made { "made here" } else { "cortex.toml" };
            format!("{}  {types}, {place}  {}\n", pack.name, pack.filter)
        };
        let lines: String = answer.packs.iter().map(line).collect();
        let none = "there is no pack; make one: cortex pack build NAME --filter FILTER\n".to_owned();
        printable(if lines.is_empty() { &none } else { &lines })
    }
}

/// Remove a pack that was made by `pack build`.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Its name.
    pub name: String,
}

/// Whether it was there.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    success: bool,
}

impl Method for Remove {
    const NAME: &'static str = "pack remove";
    const EFFECT: Effect = Effect::Sets;
    const TOOL: bool = false;
    type Answer = Removed;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Removed, Failed> {
        let success = packs::remove(desk.redefine()?, &self.name)?;
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
