//! Shared parts of the methods about symbols: the symbol index of the workspace, and resolution in it.

use super::named_sources::explain_file;
use super::uncompiled::explain_unknown;
use crate::code::Code;
use crate::desk::Desk;
use crate::desk::last_good;
use crate::desk::workspace_names::WorkspaceNames;
use crate::failed::Failed;
use crate::render::printable;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workbench::aliases;
use workbench::error::WorkbenchError;
use workbench::former_types;
use workbench::symbols::answer_state::AnswerState;
use workbench::symbols::matching::{differs_in_case, others_of_name};
use workbench::symbols::outputs::{SymbolError, Trouble};
use workbench::symbols::resolve::{Candidate, How, Options, Resolution, resolve};
use workbench::symbols::unread_files::{self, UnreadUses};

pub fn resolution(desk: &mut Desk<'_>, names: &WorkspaceNames, symbol: &str, most: usize) -> Result<Resolution, Failed> {
    if symbol.starts_with("//") {
        return Err(label_for_name(symbol));
    }
    let root = desk.context.root_around().unwrap_or_default();
    loop {
        let aliases = aliases::read_aliases(&root);
        let options = Options {
            most,
            aliases: Some(&aliases),
            ..Options::default()
        };
        let found = resolve(&names.symbols, desk, symbol, &options)?;
        let known = !matches!(found.how, None | Some(How::Fuzzy));
        if known || !learns(desk)? {
            return Ok(found);
        }
    }
}

/// Updates the former names of types; returns whether there are new ones. Called only for unknown names, because nothing else needs them.
pub fn learns(desk: &mut Desk<'_>) -> Result<bool, Failed> {
    let context = desk.context;
    let (workspace, session) = desk.open_to_build()?;
    // The update would be stored for the workspace.
    if context.leaves_checkout() {
        return Ok(false);
    }
    let root = workspace.root.clone();
    let wanted = former_types::required_targets(&root, session)?;
    if !wanted.is_empty() {
        desk.outputs_of_labels(&wanted, true)?;
    }
    match former_types::update(&root, desk.open_to_build()?.1) {
        // Builds report an obstacle in its place.
        Err(WorkbenchError::Path { .. }) => Ok(false),
        learnt => Ok(learnt?),
    }
}

/// Resolves a symbol, allowing several of one name ([`Resolution::namesakes`]); returns also the former name.
pub fn namesakes(desk: &mut Desk<'_>, names: &WorkspaceNames, symbol: &str) -> Result<(Vec<Candidate>, Option<String>), Failed> {
    let found = resolution(desk, names, symbol, MOST)?;
    let all = symbol_or_error(desk, None, symbol, "outline", found.namesakes())?;
    Ok((all.into_iter().flatten().collect(), found.former))
}

/// The answers about all symbols of a name.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OfNamesakes<T> {
    #[serde(flatten)]
    pub(super) first: T,
    /// Answers about further symbols with the name.
    #[serde(default = "Vec::<T>::new", skip_serializing_if = "Vec::is_empty")]
    pub(super) more: Vec<T>,
}

impl<T> OfNamesakes<T> {
    /// Returns the answer about the only symbol.
    pub fn of_one(first: T) -> Self {
        Self { first, more: Vec::new() }
    }

    /// Formats the answers; if there are several, each is below the path of its symbol.
    pub fn join_texts(&self, path: impl Fn(&T) -> &str, format: impl Fn(&T) -> String) -> String {
        if self.more.is_empty() {
            return format(&self.first);
        }
        let all = std::iter::once(&self.first).chain(&self.more);
        let headed = all.map(|one| format!("# {}\n{}", printable(path(one)), format(one)));
        headed.collect::<Vec<_>>().join("\n")
    }
}

/// An answer about one symbol.
pub trait OfSymbol {
    /// Returns its state, to add notes.
    fn state_of_answer(&mut self) -> &mut AnswerState;
}

/// Resolves a symbol, and answers about each one of the name ([`Resolution::namesakes`]): `answer` gets the overloads of one name in one type, or one
/// symbol, and the former name.
pub fn answer_each<'c, T: OfSymbol>(
    desk: &mut Desk<'c>,
    names: &WorkspaceNames,
    symbol: &str,
    mut answer: impl FnMut(&mut Desk<'c>, &[Candidate], Option<&str>) -> Result<T, Failed>,
) -> Result<OfNamesakes<T>, Failed> {
    let found = resolution(desk, names, symbol, MOST)?;
    let groups = symbol_or_error(desk, None, symbol, "outline", found.namesakes())?;
    let mut answers = Vec::with_capacity(groups.len());
    for group in &groups {
        answers.push(answer(desk, group, found.former.as_deref())?);
    }
    if let (Some(last), Some(How::Exact | How::Suffix)) = (answers.last_mut(), found.how) {
        let shown: Vec<&str> = groups.iter().flatten().map(|one| one.path.as_str()).collect();
        last.state_of_answer()
            .note_namesakes(&others_of_name(&names.symbols, symbol, &shown));
    }
    let mut answers = answers.into_iter();
    let first = answers.next().ok_or_else(|| Failed::bug(&"a name means nothing"))?;
    Ok(OfNamesakes {
        first,
        more: answers.collect(),
    })
}

/// Resolves a symbol to one type or member.
pub fn resolve_one(desk: &mut Desk<'_>, names: &WorkspaceNames, symbol: &str) -> Result<(Candidate, Option<String>), Failed> {
    let found = resolution(desk, names, symbol, workbench::symbols::resolve::SHOWN)?;
    let one = symbol_or_error(desk, None, symbol, "outline", found.candidate().cloned())?;
    Ok((one, found.former))
}

/// Resolves a symbol that is to be edited: its letters count as they are.
pub fn resolve_for_edit(desk: &mut Desk<'_>, names: &WorkspaceNames, symbol: &str) -> Result<(Candidate, Option<String>), Failed> {
    let (one, former) = resolve_one(desk, names, symbol)?;
    if !differs_in_case(symbol, &one.path) {
        return Ok((one, former));
    }
    let mut why = Diagnostic::error(
        ErrorCode::E_SYMBOL,
        format!("edits distinguish upper and lower case, and nothing is named {symbol}"),
    );
    why.candidates = vec![one.path.clone()];
    Err(Failed::new(Code::Usage, why.hint(format!("name {}", one.path))))
}

/// Unwraps a resolution. For an unknown symbol, reports whether it existed once as the subject of a target; `command` is the requesting command if it
/// has a `--last-good`.
pub fn symbol_or_error<T>(
    desk: &mut Desk<'_>,
    command: Option<&str>,
    symbol: &str,
    target: &str,
    mut result: Result<T, SymbolError>,
) -> Result<T, Failed> {
    if let Err(
        error @ SymbolError {
            trouble: Trouble::NotFound,
            ..
        },
    ) = &mut result
    {
        explain_unknown(desk, symbol, error)?;
        explain_file(desk, symbol, &mut error.diagnostic)?;
        let context = desk.context;
        let (workspace, session) = desk.open_to_build()?;
        // A dot may precede the member.
        let member = symbol.rsplit_once('.').map(|(of, member)| format!("{of}#{member}"));
        for name in [Some(symbol.to_owned()), member].into_iter().flatten() {
            let label = format!("//types/{name}:{target}");
            if last_good::remark_missing(context, workspace, session, command, &label)? {
                break;
            }
        }
    }
    Ok(result?)
}

/// Returns the failure for a label in place of a name.
fn label_for_name(label: &str) -> Failed {
    let found: String = label.chars().take(120).collect();
    let why = Diagnostic::error(ErrorCode::E_SYMBOL, "this is a label, and the name of a type or member is wanted").found(found);
    let named = label
        .strip_prefix("//types/")
        .map(|rest| rest.rsplit_once(':').map_or(rest, |(name, _)| name));
    let hint = match named {
        Some(name) => format!("write {}", name.chars().take(120).collect::<String>()),
        None => "write Type, Namespace.Type, Type.Member or Type#Member; `cortex show` prints the output of a label".to_owned(),
    };
    Failed::new(Code::Usage, why.hint(hint))
}

impl From<SymbolError> for Failed {
    fn from(error: SymbolError) -> Self {
        let code = match error.trouble {
            Trouble::Damaged => Code::StoreDamaged,
            Trouble::Asked | Trouble::NotFound | Trouble::Ambiguous => Code::Usage,
        };
        Self::new(code, *error.diagnostic)
    }
}

/// Returns labels of the target for all matches of a symbol: namesakes with their overloads, or the matches of a pattern. `command` is the requesting
/// command if it has a `--last-good`.
pub fn found_by_name(desk: &mut Desk<'_>, command: &str, symbol: &str, target: &str) -> Result<Vec<String>, Failed> {
    let names = desk.workspace_names()?;
    let found = resolution(desk, &names, symbol, MOST)?;
    if found.how == Some(How::Wildcard) {
        return Ok(found.candidates.iter().map(|one| one.label(target)).collect());
    }
    let all = symbol_or_error(desk, Some(command), symbol, target, found.namesakes())?;
    remark_renamed(desk, symbol, target, &found)?;
    Ok(all.iter().flatten().map(|one| one.label(target)).collect())
}

/// Returns the label of the target for one type or member; a pattern with several matches is refused. Otherwise as [`found_by_name`].
pub fn one_by_name(desk: &mut Desk<'_>, command: &str, symbol: &str, target: &str) -> Result<String, Failed> {
    let names = desk.workspace_names()?;
    let found = resolution(desk, &names, symbol, MOST)?;
    let one = symbol_or_error(desk, Some(command), symbol, target, found.candidate().cloned())?;
    remark_renamed(desk, symbol, target, &found)?;
    Ok(one.label(target))
}

/// Reports that a symbol was found by a former name.
fn remark_renamed(desk: &mut Desk<'_>, symbol: &str, target: &str, found: &Resolution) -> Result<(), Failed> {
    if found.former.is_some() {
        let context = desk.context;
        let (workspace, session) = desk.open_to_build()?;
        last_good::remark_renamed(context, workspace, session, &format!("//types/{symbol}:{target}"))?;
    }
    Ok(())
}

/// Most matches of a pattern.
pub const MOST: usize = 1000;

/// Returns the possible uses of symbols, by path, in files that cortex does not parse.
pub fn unread_uses(desk: &mut Desk<'_>, paths: &[&str]) -> Result<UnreadUses, Failed> {
    let world = desk.open_to_build()?.0.engine.world.clone();
    Ok(unread_files::find_unread_uses(&*world, paths.iter().copied(), None))
}

/// Formats the notes of a state as lines below an answer.
pub fn lines_of_notes(state: &AnswerState) -> String {
    state.notes.iter().map(|note| format!("note: {note}\n")).collect()
}

/// Returns the state of a page with offset and number of shown entries, out of all.
pub fn state_of_page(state: AnswerState, (offset, shown): (usize, usize), total: usize) -> AnswerState {
    let more = match shown {
        0 => "raise `limit`".to_owned(),
        shown => format!("raise `limit`, or continue with `offset` {}", offset + shown),
    };
    state.page(offset, shown, total, &more)
}
