//! `source`: the source text of types, members and files.

use super::access::as_access_denied;
use super::paging::default_number;
use super::symbols::{lines_of_notes, namesakes};
use super::window::root_of_workspace;
use super::{AsTool, Effect, Method, arguments, other_languages};
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::names::no_file;
use crate::failed::Failed;
use crate::render::{diagnostic, printable};
use engine::seams::world::World;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use workbench::budget::Room;
use workbench::editable_paths::Refused;
use workbench::symbols::answer_state::AnswerState;
use workbench::symbols::file::{ENDINGS, FileRequest, lines};
use workbench::symbols::resolve::{Candidate, Resolved};
use workbench::symbols::source::{Source, USUAL_LINES, sources};
use workbench::symbols::source_budget::fit;

/// Print the source of types, members and files, exactly, with line numbers.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceOf {
    /// Types or members, by name; the name of a method (Type.Method) means all its overloads, a shared name up to five symbols; files by path,
    /// optionally with lines (src/A.cs:10-40).
    #[arg(required = true, value_name = "SYMBOL")]
    #[serde(alias = "symbol", alias = "path", alias = "id", deserialize_with = "arguments::symbols_argument")]
    #[schemars(extend("x-tool" = "Names, or files with lines: src/A.cs:10-40"))]
    pub symbols: Vec<String>,
    /// Limit of lines of each symbol or file.
    #[arg(long, value_name = "N", default_value_t = USUAL_LINES)]
    #[serde(default = "default_number::<USUAL_LINES>")]
    #[schemars(extend("x-tool" = false))]
    pub lines: usize,
}

/// The texts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceTexts {
    /// The first symbol.
    resolved: Option<Resolved>,
    /// The parts of each symbol, each a range of a file. `text` contains whole lines of the file; `start`, `startColumn`, `end` and `endColumn` give
    /// the range of the symbol with its documentation, in lines and characters (Unicode code points) from 1; `endColumn` is after the last.
    /// `encoding` is given if the file is not UTF-8, `leftOut` is the number of lines over the limit.
    sources: Vec<Source>,
    /// Requested symbols that cannot be shown, as errors with `asked`; only if others can be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Value>,
    state: AnswerState,
}

/// A resolved request: the symbols of a name, with the former name if that was requested, or a part of a file.
enum Meant {
    Symbols(Vec<Candidate>, Option<String>),
    File(Source),
}

impl Method for SourceOf {
    const NAME: &'static str = "source";
    const EFFECT: Effect = Effect::Looks;
    const TOOL: AsTool = AsTool::Own;
    const WITHIN: bool = true;
    type Answer = SourceTexts;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<SourceTexts, Failed> {
        let (sources_found, failed) = self.resolve_places(desk)?;
        let symbols: Vec<&Candidate> = sources_found.iter().flat_map(Meant::symbols).collect();
        let mut state = match symbols.is_empty() {
            true => AnswerState::default(),
            false => desk
                .workspace_names()?
                .state_of_symbols(symbols.iter().flat_map(|symbol| &symbol.files)),
        };
        let mut of_symbols = sources(desk, &symbols, self.lines)?.into_iter();
        let resolved = symbols.first().map(|one| Resolved::from(*one));
        let mut sources = Vec::with_capacity(sources_found.len());
        for one in sources_found {
            match one {
                Meant::File(source) => sources.push(source),
                Meant::Symbols(found, former) => {
                    if let [found] = found.as_slice() {
                        state = state.with_former_name(former.as_deref(), &found.path);
                    }
                    sources.extend(of_symbols.by_ref().take(found.len()));
                }
            }
        }
        if let Some(room) = desk.context.room() {
            let room = remaining_room(room, &sources, &failed);
            fit(&mut sources, room);
        }
        for source in &sources {
            state = state.lacking(&source.notes);
        }
        if !failed.is_empty() {
            state = state.cut(sources.len(), self.symbols.len(), "see failed");
        }
        Ok(SourceTexts {
            resolved,
            sources,
            failed,
            state,
        })
    }

    fn text(answer: &SourceTexts) -> String {
        let mut text = sources_text(&answer.sources);
        answer.failed.iter().for_each(|failed| text.push_str(&failure_text(failed)));
        printable(&format!("{text}{}", lines_of_notes(&answer.state)))
    }
}

/// Formats each part: a line with its place, then its numbered lines.
fn sources_text(sources: &[Source]) -> String {
    let mut text = String::new();
    for source in sources {
        for part in &source.parts {
            let of = if source.path == part.file {
                String::new()
            } else {
                format!("{}  ", source.path)
            };
            text.push_str(&format!("// {of}{}:{}-{}\n{}", part.file, part.start, part.end, part.numbered()));
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
    }
    text
}

/// Returns the budget that the rest of the answer leaves for texts.
fn remaining_room(room: Room, sources: &[Source], failed: &[Value]) -> Room {
    let mut bare = sources.to_vec();
    bare.iter_mut()
        .flat_map(|source| &mut source.parts)
        .for_each(|part| part.text.clear());
    let all = match room.sends_data {
        true => json!({"sources": bare, "failed": failed}).to_string(),
        false => sources_text(&bare) + &failed.iter().map(failure_text).collect::<String>(),
    };
    Room {
        most: room.most.saturating_sub((room.taken)(&all)),
        ..room
    }
}

impl Meant {
    fn symbols(&self) -> &[Candidate] {
        match self {
            Self::Symbols(found, _) => found,
            Self::File(_) => &[],
        }
    }
}

impl SourceOf {
    /// Resolves the requests; returns also those that cannot be shown. A single request, or requests without any result, fail with an error.
    fn resolve_places(&self, desk: &mut Desk<'_>) -> Result<(Vec<Meant>, Vec<Value>), Failed> {
        let root = root_of_workspace(desk)?;
        let store = desk.context.store_folder();
        let requests: Vec<FileRequest> = self.symbols.iter().map(|text| FileRequest::among(text, &root)).collect();
        let places: Vec<_> = requests.iter().map(|one| one.path_in_workspace(&root, store.as_deref())).collect();
        // Files can be shown during a build; names may need one.
        let (workspace, _) = match places.iter().all(|place| matches!(place, Ok((_, true)))) {
            true => desk.open_to_read()?,
            false => desk.open_to_build()?,
        };
        let world = workspace.engine.world.clone();
        let (mut resolved, mut failed) = (Vec::new(), Vec::new());
        let mut last = None;
        for ((text, request), place) in self.symbols.iter().zip(&requests).zip(places) {
            let is_file = matches!(place, Ok((_, true)));
            if !is_file && let Some(sources) = self.of_other_language(desk, &*world, &root, text)? {
                resolved.extend(sources.into_iter().map(Meant::File));
                continue;
            }
            let one = match place {
                // An overlay's new document does not exist on the disk.
                Ok((path, is_there)) if is_there || world.read(&path).is_ok() => lines(&*world, &root, &path, request, self.lines)
                    .map(Meant::File)
                    .map_err(|why| Failed::new(Code::Usage, *why)),
                Ok(_) if request.is_path() => Err(no_file(desk.open_to_read()?.1, &request.path)),
                Err(refused) if request.is_path() => Err(not_shown(&refused)),
                Ok(_) | Err(_) => {
                    let names = desk.workspace_names()?;
                    match namesakes(desk, &names, text) {
                        Err(why) if why.code == Code::Usage && is_of_file(desk, request)? => {
                            Err(no_file(desk.open_to_read()?.1, &request.path))
                        }
                        found => found.map(|(found, former)| Meant::Symbols(found, former)),
                    }
                }
            };
            match one {
                Ok(one) => resolved.push(one),
                Err(why) if why.code == Code::Usage && self.symbols.len() > 1 => {
                    let why = as_access_denied(why, desk);
                    failed.extend(failure_of(&why, text));
                    last = Some(why);
                }
                Err(why) => return Err(why),
            }
        }
        match last {
            Some(why) if resolved.is_empty() => Err(why),
            Some(why) => {
                desk.worsen(why.code);
                Ok((resolved, failed))
            }
            None => Ok((resolved, failed)),
        }
    }
}

impl SourceOf {
    /// Returns the lines of a definition in a file of another language, with its overloads, if the text resolves to one.
    fn of_other_language(&self, desk: &mut Desk<'_>, world: &dyn World, root: &Path, text: &str) -> Result<Option<Vec<Source>>, Failed> {
        let Some(one) = other_languages::resolve_other(desk, text)? else {
            return Ok(None);
        };
        let symbols = one.file_symbols(desk)?;
        let requests = one.line_ranges(&symbols);
        if requests.is_empty() {
            return Ok(None);
        }
        let read = requests.iter().map(|request| {
            let source = lines(world, root, &request.path, request, self.lines).map_err(|why| Failed::new(Code::Usage, *why))?;
            Ok(Source {
                path: one.symbol.path_in_requests(),
                ..source
            })
        });
        read.collect::<Result<_, Failed>>().map(Some)
    }
}

/// Converts the failure of one of several requested symbols to an item of `failed`.
pub(super) fn failure_of(why: &Failed, asked: &str) -> Option<Value> {
    let why = why.diagnostics.first()?;
    let mut failure = diagnostic::diagnostic_json(why);
    failure["asked"] = asked.into();
    Some(failure)
}

/// Formats an item that cannot be shown like an error.
pub(super) fn failure_text(failed: &Value) -> String {
    let field = |name: &str| failed[name].as_str().unwrap_or_default();
    let mut text = format!("error[{}] {}: {}\n", field("code"), field("asked"), field("message"));
    for (label, name) in [("found", "found"), ("help", "hint")] {
        if !field(name).is_empty() {
            text.push_str(&format!("  {label}: {}\n", field(name)));
        }
    }
    let candidates = failed["candidates"].as_array().into_iter().flatten().filter_map(Value::as_str);
    candidates.for_each(|one| text.push_str(&format!("    {one}\n")));
    text
}

/// Whether an unknown name is that of a file.
fn is_of_file(desk: &mut Desk<'_>, request: &FileRequest) -> Result<bool, Failed> {
    let Some((_, ending)) = request.path.rsplit_once('.').filter(|(name, _)| !name.is_empty()) else {
        return Ok(false);
    };
    if ENDINGS.contains(&ending) {
        return Ok(true);
    }
    let (_, session) = desk.open_to_read()?;
    let of_file = |path: &str| path.rsplit_once('.').is_some_and(|(_, own)| own == ending);
    Ok(session.sources.files().iter().any(|(path, _)| of_file(path)))
}

fn not_shown(refused: &Refused) -> Failed {
    let why = Diagnostic::error(ErrorCode::E_PATH, format!("this is not shown: {refused}"));
    let hint = match refused {
        Refused::NoFile(_) | Refused::BelowFile(_) => "name a file, a type or a member",
        _ => "what is shown stays inside the workspace",
    };
    let why = match refused {
        Refused::Outside(path) => why.found(path.as_str()),
        _ => why,
    };
    Failed::new(Code::Usage, why.hint(hint))
}
