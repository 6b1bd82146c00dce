//! `window show`, `window pin`, `window unpin`, `window dismiss`, `window set`: the prompt window of the checkout.

use super::symbols::{learns, resolve_one};
use super::{Effect, Method};
use crate::catalog::pack;
use crate::code::Code;
use crate::desk::Desk;
use crate::failed::Failed;
use crate::render::printable;
use engine::build::query::NodeState;
use engine::values::case_folding::strip_end;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use workbench::aliases;
use workbench::checkout;
use workbench::packs_file;
use workbench::symbols::answer_state::{AnswerState, Freshness};
use workbench::symbols::outputs::{Outputs, type_label};
use workbench::symbols::resolve::Resolved;
use workbench::window::OUT;
use workbench::window::compose::{Card, Composed, candidate_types, compose};
use workbench::window::state::{self, Window};
use workbench::window::window_size::Room;

/// Print the text of this checkout for a model, and write it to .cortex/out/prompt_window.md.
///
/// Pinned types come first, with at most three fifths of the budget, then recently used types, then the active pack. If pinned types do not fit,
/// sections of all of them are cut, the least important first (EDGE_CASES, RECOMMENDATIONS, LIMITATIONS, LIFECYCLE, ROLE); any other type that does
/// not fit loses its own sections. The text ends with a list of the cuts.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {}

/// The window.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowAnswer {
    /// The text.
    window_text: String,
    /// Types in it, in order.
    shown: Vec<String>,
    /// Parts cut or left out, with reasons.
    cut: Vec<String>,
    /// Number of characters.
    chars: usize,
    /// Limit of characters.
    max_chars: usize,
    /// Number of characters of pinned types.
    pinned_chars: usize,
    /// Limit of characters of pinned types.
    pinned_room: usize,
    /// Approximate number of tokens.
    tokens: usize,
    state: AnswerState,
}

/// Average bytes of a token.
const BYTES: f64 = 3.3;

impl Method for Show {
    const NAME: &'static str = "window show";
    const ALSO: &'static [&'static str] = &["GetPromptWindow"];
    const EFFECT: Effect = Effect::Reads;
    const DEPENDS_ON: Option<&'static [&'static str]> = Some(&[state::FILE, packs_file::FILE, aliases::FILE, OUT]);
    type Answer = WindowAnswer;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<WindowAnswer, Failed> {
        let root = root_of_workspace(desk)?;
        let mut window = Window::read_window(&root).map_err(|error| window_not_stored(&error))?;
        let renamed = present_names(desk, &window)?;
        renamed.iter().for_each(|(from, to)| window.rename(from, to));
        let mut gone = None;
        let pack = match &window.pack {
            None => Vec::new(),
            Some(name) => pack::types_of_pack(desk, name).or_else(|failed| match failed.diagnostics.first() {
                Some(why) if why.code == ErrorCode::E_NO_PACK => {
                    gone = Some(format!("the pack {name} no longer exists"));
                    Ok(Vec::new())
                }
                _ => Err(failed),
            })?,
        };
        let known = cards(desk, &window, &pack)?;
        let room = Room::from_window(&window, desk.open_to_read()?.0.text());
        let mut made = compose(&window, &known.cards, &pack, room);
        if let Err(error) = checkout::write_file(&root, OUT, made.text.as_bytes()) {
            // The answer still has the text.
            let failed = window_not_stored(&error);
            desk.context.say(&failed.diagnostics);
            desk.worsen(failed.code);
        }
        made.cut.extend(gone);
        let mut state = known.state_of_window(desk, &made)?;
        for (from, to) in renamed.iter().filter(|(_, to)| made.shown.contains(to)) {
            state = state.with_former_name(Some(from), to);
        }
        Ok(WindowAnswer {
            state,
            chars: made.text.chars().count(),
            tokens: (made.text.len() as f64 / BYTES).ceil() as usize,
            window_text: made.text,
            shown: made.shown,
            cut: made.cut,
            max_chars: room.max_chars,
            pinned_chars: made.pinned_chars,
            pinned_room: made.pinned_room,
        })
    }

    fn text(answer: &WindowAnswer) -> String {
        printable(&answer.window_text)
    }
}

/// Facts about the types that the window may show.
#[derive(Default)]
struct KnownTypes {
    cards: BTreeMap<String, Card>,
    /// Labels of outlines that could not be built.
    unread: Vec<String>,
    /// Types whose summary needs a paid request that was never made.
    unasked: BTreeSet<String>,
}

impl KnownTypes {
    /// Returns freshness and completeness of a window composed of them.
    fn state_of_window(&self, desk: &mut Desk<'_>, made: &Composed) -> Result<AnswerState, Failed> {
        let names = desk.workspace_names()?;
        let mut files = Vec::new();
        let (mut stale, mut unasked) = (0, 0);
        for path in &made.shown {
            if let Some(at) = names.symbols.find(path) {
                files.extend(names.symbols.type_row(at)?.files);
            }
            stale += usize::from(self.cards.get(path).is_some_and(|card| card.remark.is_some()));
            unasked += usize::from(self.unasked.contains(path));
        }
        let mut state = names.state_of_symbols(files.iter()).unread(&self.unread);
        if !made.cut.is_empty() {
            state = state.lacking(&["not everything is shown; 'cut' says what is not, and why".to_owned()]);
        }
        if unasked > 0 {
            let types = if unasked == 1 { "type has" } else { "types have" };
            let why = format!("{unasked} {types} no summary yet: a model makes it, `semantic` with --refresh asks");
            state = state.lacking(&[why]);
        }
        if stale > 0 {
            let summaries = match stale {
                1 => "1 summary is of an earlier version".to_owned(),
                _ => format!("{stale} summaries are of earlier versions"),
            };
            let why = format!("{summaries}: `semantic` with --refresh requests new ones");
            state = state.as_of(Freshness::Stale, why);
        }
        if made.shown.is_empty() && made.cut.is_empty() {
            state
                .notes
                .push("nothing is pinned, nothing was looked at and no pack is active".to_owned());
        }
        Ok(state)
    }
}

/// Reads the facts about the window's types. Paid summaries are read as stored; none is requested.
fn cards(desk: &mut Desk<'_>, window: &Window, pack: &[String]) -> Result<KnownTypes, Failed> {
    let names = desk.workspace_names()?;
    let keys: Vec<String> = candidate_types(window, pack)
        .into_iter()
        .filter(|key| names.symbols.find(key).is_some())
        .collect();
    if keys.is_empty() {
        return Ok(KnownTypes::default());
    }
    let labels: Vec<String> = keys.iter().map(|key| type_label(key, "outline")).collect();
    let outlines: BTreeMap<String, Arc<[u8]>> = read_outputs(desk, &labels)?;
    let mut summaries = BTreeMap::new();
    let mut free = Vec::new();
    let mut remarks = BTreeMap::new();
    let mut unasked = BTreeSet::new();
    let (_, session) = desk.open_to_build()?;
    for key in &keys {
        let label = type_label(key, "semantic");
        if !workbench::paid::is_paid(session, &label) {
            free.push(label);
            continue;
        }
        let Some(last) = session.last(&label)? else {
            unasked.insert(key.clone());
            continue;
        };
        if let Some(bytes) = session.engine.store.output(&last.result.output)? {
            if session.status_of(&label)?.state != NodeState::Current {
                remarks.insert(label.clone(), "the summary is of an earlier version".to_owned());
            }
            summaries.insert(label, bytes);
        }
    }
    if !free.is_empty() {
        summaries.extend(read_outputs(desk, &free)?);
    }
    let text = |bytes: &Arc<[u8]>| String::from_utf8_lossy(bytes).into_owned();
    let card = |key: &String| {
        let outline = outlines.get(&type_label(key, "outline")).map(text)?;
        let label = type_label(key, "semantic");
        let summary = summaries.get(&label).map(text);
        let card = Card::from_outline(&outline, summary.as_deref());
        Some(Card {
            remark: remarks.get(&label).cloned(),
            ..card
        })
    };
    Ok(KnownTypes {
        cards: keys.iter().filter_map(|key| Some((key.clone(), card(key)?))).collect(),
        unread: labels.into_iter().filter(|label| !outlines.contains_key(label)).collect(),
        unasked,
    })
}

/// Returns the present names of renamed types in the window.
fn present_names(desk: &mut Desk<'_>, window: &Window) -> Result<BTreeMap<String, String>, Failed> {
    let wanted = candidate_types(window, &[]);
    if wanted.is_empty() {
        return Ok(BTreeMap::new());
    }
    let symbols = desk.workspace_names()?.symbols;
    let gone: Vec<String> = wanted.into_iter().filter(|path| symbols.find(path).is_none()).collect();
    if gone.is_empty() {
        return Ok(BTreeMap::new());
    }
    learns(desk)?;
    let aliases = aliases::read_aliases(&root_of_workspace(desk)?);
    let now = |path: String| {
        let [id] = aliases.ids_of_name(&path)[..] else { return None };
        let at = symbols.with_id(id)?;
        Some((path, symbols.key(at).to_owned()))
    };
    Ok(gone.into_iter().filter_map(now).collect())
}

fn read_outputs(desk: &mut Desk<'_>, labels: &[String]) -> Result<BTreeMap<String, Arc<[u8]>>, Failed> {
    let outputs = Outputs::read(desk, labels)?;
    Ok(outputs
        .into_iter()
        .filter_map(|output| Some((output.label, output.bytes?)))
        .collect())
}

pub fn root_of_workspace(desk: &Desk<'_>) -> Result<PathBuf, Failed> {
    desk.context.root_around().ok_or_else(|| {
        let why = Diagnostic::error(ErrorCode::E_NO_WORKSPACE, "there is no cortex.toml here or in any folder above");
        Failed::new(Code::Usage, why.hint("go to a workspace, or name one with -C DIR"))
    })
}

fn window_not_stored(error: &std::io::Error) -> Failed {
    let damaged = "check .cortex; a damaged window.json can be fixed by hand or moved away";
    Failed::new(Code::Io, checkout::trouble("the window", error, damaged))
}

/// A type to pin, unpin or dismiss.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    resolved: Resolved,
    /// Whether anything changed.
    success: bool,
    /// Pinned types, in order.
    pinned: Vec<String>,
    state: AnswerState,
}

/// Pin a type in the prompt window.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// A type, by any unambiguous name.
    #[serde(alias = "path", alias = "id", alias = "typeId")]
    pub symbol: String,
}

/// Unpin a type from the prompt window.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unpin {
    /// A type, by any unambiguous name or as `window show` prints it.
    #[serde(alias = "path", alias = "id", alias = "typeId")]
    pub symbol: String,
}

/// Drop a type from the recent part of the prompt window until its next use; pinned types stay.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dismiss {
    /// A type, by any unambiguous name or as `window show` prints it.
    #[serde(alias = "path", alias = "id", alias = "typeId")]
    pub symbol: String,
}

/// Changes the window by the type of a symbol. A deleted type can be removed by its former name, or the end of it.
fn change(desk: &mut Desk<'_>, symbol: &str, gone: bool, change: impl Fn(&mut Window, &str) -> bool) -> Result<Changed, Failed> {
    let root = root_of_workspace(desk)?;
    let mut before = Window::read_window(&root).map_err(|error| window_not_stored(&error))?;
    let renamed = present_names(desk, &before)?;
    renamed.iter().for_each(|(from, to)| before.rename(from, to));
    let known = before
        .pinned
        .iter()
        .map(|pin| &pin.path)
        .chain(before.recent.iter().map(|recent| &recent.path));
    let (resolved, state) = if gone && known.clone().any(|path| path == symbol) {
        // Use the name in the window; a present type of that name was not viewed.
        (Resolved::gone(symbol), AnswerState::default())
    } else {
        let names = desk.workspace_names()?;
        let is_gone = |path: &str| {
            let before = strip_end(path, symbol);
            before.is_some_and(|before| before.ends_with(['.', '+'])) && names.symbols.find(path).is_none()
        };
        let ends_so: BTreeSet<&String> = known.filter(|path| gone && is_gone(path)).collect();
        match (resolve_one(desk, &names, symbol), ends_so.first()) {
            (Err(_), Some(path)) if ends_so.len() == 1 => (Resolved::gone(path), AnswerState::default()),
            (resolution, _) => {
                let (found, former) = resolution?;
                let state = names
                    .state_of_symbols(found.files.iter())
                    .with_former_name(former.as_deref(), found.key());
                let resolved = Resolved {
                    path: found.key().to_owned(),
                    type_id: found.type_id,
                    member_id: None,
                };
                (resolved, state)
            }
        }
    };
    let (success, pinned) = Window::change_window(&root, |window| {
        renamed.iter().for_each(|(from, to)| window.rename(from, to));
        let success = change(window, &resolved.path);
        (success, window.pinned.iter().map(|pin| pin.path.clone()).collect())
    })
    .map_err(|error| window_not_stored(&error))?;
    Ok(Changed {
        resolved,
        success,
        pinned,
        state,
    })
}

fn changed_text(answer: &Changed, did: &str, did_not: &str) -> String {
    let what = if answer.success { did } else { did_not };
    printable(&format!("{} {what}\n", answer.resolved.path))
}

impl Method for Pin {
    const NAME: &'static str = "window pin";
    const ALSO: &'static [&'static str] = &["Pin"];
    const EFFECT: Effect = Effect::Sets;
    type Answer = Changed;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Changed, Failed> {
        change(desk, &self.symbol, false, Window::pin)
    }

    fn text(answer: &Changed) -> String {
        changed_text(answer, "is pinned", "was pinned already")
    }
}

impl Method for Unpin {
    const NAME: &'static str = "window unpin";
    const ALSO: &'static [&'static str] = &["Unpin"];
    const EFFECT: Effect = Effect::Sets;
    type Answer = Changed;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Changed, Failed> {
        change(desk, &self.symbol, true, Window::unpin)
    }

    fn text(answer: &Changed) -> String {
        changed_text(answer, "is pinned no longer", "was not pinned")
    }
}

impl Method for Dismiss {
    const NAME: &'static str = "window dismiss";
    const ALSO: &'static [&'static str] = &["Dismiss"];
    const EFFECT: Effect = Effect::Sets;
    type Answer = Changed;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Changed, Failed> {
        change(desk, &self.symbol, true, Window::dismiss)
    }

    fn text(answer: &Changed) -> String {
        changed_text(answer, "is no longer among those looked at", "was not looked at")
    }
}

/// Set the budget and the active pack of the prompt window.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Set {
    /// Limit of characters, at least 1,000; 0 restores that of `[prompt_window]` in the manifest, or 40,000.
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
    /// The active pack: its types are preferred, and fill the remaining room.
    #[arg(long, value_name = "NAME", conflicts_with = "no_pack")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<String>,
    /// Use no active pack.
    #[arg(long)]
    #[serde(default)]
    pub no_pack: bool,
}

/// Settings of the window.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowSettings {
    /// Limit of characters.
    max_chars: usize,
    /// The active pack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pack: Option<String>,
}

/// Fewest useful characters of a window.
const FEWEST: usize = 1000;
/// Limit above the context of any model.
const MOST: usize = 10_000_000;

impl Method for Set {
    const NAME: &'static str = "window set";
    const EFFECT: Effect = Effect::Sets;
    type Answer = WindowSettings;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<WindowSettings, Failed> {
        // Arguments from JSON were not checked by the command line.
        if self.pack.is_some() && self.no_pack {
            let why = Diagnostic::error(ErrorCode::E_PARAM, "pack and noPack cannot go together");
            return Err(Failed::new(Code::Usage, why.hint("leave noPack out for the pack to be active")));
        }
        let root = root_of_workspace(desk)?;
        if let Some(name) = &self.pack {
            pack::types_of_pack(desk, name)?;
        }
        if self.max_chars.is_some_and(|chars| chars != 0 && !(FEWEST..=MOST).contains(&chars)) {
            let why = Diagnostic::error(ErrorCode::E_PARAM, format!("a window has {FEWEST} to {MOST} characters"));
            return Err(Failed::new(Code::Usage, why.hint("0 means the usual budget")));
        }
        let changed = Window::change_window(&root, |window| {
            if let Some(chars) = self.max_chars {
                window.max_chars = Some(chars).filter(|chars| *chars > 0);
            }
            if self.pack.is_some() || self.no_pack {
                window.pack.clone_from(&self.pack);
            }
            window.clone()
        });
        let window = changed.map_err(|error| window_not_stored(&error))?;
        Ok(WindowSettings {
            max_chars: Room::from_window(&window, desk.open_to_read()?.0.text()).max_chars,
            pack: window.pack,
        })
    }

    fn text(answer: &WindowSettings) -> String {
        let pack = answer.pack.as_deref().unwrap_or("none");
        printable(&format!("{} characters, active pack: {pack}\n", answer.max_chars))
    }
}
