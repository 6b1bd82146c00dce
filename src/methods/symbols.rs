//! What the methods about symbols share: the names of the workspace, and what a symbol means among them.

use crate::commands::last_good;
use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::sync::Arc;
use workbench::aliases;
use workbench::symbols::index::Symbols;
use workbench::symbols::outputs::{SymbolError, Trouble};
use workbench::symbols::resolve::{Candidate, How, Options, Resolution, resolve};
use workbench::symbols::state::{Flaws, State};
use workbench::unread_files::{self, UnreadUses};
use workbench::workspace::WorkbenchError;

/// The names of the workspace, and which files they may lack something of.
#[derive(Clone)]
pub struct Names {
    /// All types and members.
    pub symbols: Arc<Symbols>,
    /// Files that do not parse.
    pub flaws: Arc<Flaws>,
}

impl Names {
    /// The state of an answer about symbols that stand in these files.
    pub fn state<'f>(&self, files: impl Iterator<Item = &'f String>) -> State {
        State::default().of_files(&self.flaws, files)
    }
}

/// What a symbol may mean.
pub fn resolution(desk: &mut Desk<'_>, names: &Names, symbol: &str, most: usize) -> Result<Resolution, Failed> {
    if symbol.starts_with("//") {
        return Err(label_for_name(symbol));
    }
    let root = desk.context.root().unwrap_or_default();
    loop {
        let aliases = aliases::read(&root);
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

/// Whether more is known now of what types were called before: asked where a name means nothing, because until then nobody needs to know.
pub fn learns(desk: &mut Desk<'_>) -> Result<bool, Failed> {
    let context = desk.context;
    let (workspace, session) = desk.open()?;
    // It would be written down for the workspace.
    if context.leaves_checkout() {
        return Ok(false);
    }
    let root = workspace.root.clone();
    let wanted = aliases::required_targets(&root, session)?;
    if !wanted.is_empty() {
        desk.outputs(&wanted, true)?;
    }
    match aliases::update(&root, desk.open()?.1) {
        // What stands in its way is told by builds.
        Err(WorkbenchError::Path { .. }) => Ok(false),
        learnt => Ok(learnt?),
    }
}

/// What a symbol means where several of one name can be shown ([`Resolution::namesakes`]), and what it was called before.
pub fn namesakes(desk: &mut Desk<'_>, names: &Names, symbol: &str) -> Result<(Vec<Candidate>, Option<String>), Failed> {
    let found = resolution(desk, names, symbol, MOST)?;
    let all = symbol_or_error(desk, None, symbol, "outline", found.namesakes())?;
    Ok((all.into_iter().flatten().collect(), found.former))
}

/// The type or member that a symbol means, or all overloads of a name, and what it was called before.
pub fn meant_with_overloads(desk: &mut Desk<'_>, names: &Names, symbol: &str) -> Result<(Vec<Candidate>, Option<String>), Failed> {
    let found = resolution(desk, names, symbol, MOST)?;
    let all = symbol_or_error(desk, None, symbol, "outline", found.meant_with_overloads().map(<[_]>::to_vec))?;
    Ok((all, found.former))
}

/// The one type or member that a symbol means.
pub fn resolve_one(desk: &mut Desk<'_>, names: &Names, symbol: &str) -> Result<(Candidate, Option<String>), Failed> {
    let found = resolution(desk, names, symbol, workbench::symbols::resolve::SHOWN)?;
    let one = symbol_or_error(desk, None, symbol, "outline", found.candidate().cloned())?;
    Ok((one, found.former))
}

/// What a symbol means. Of one that means nothing it is said whether it was there once, as the subject of a target; `command` is who asks, if it
/// has a `--last-good`.
pub fn symbol_or_error<T>(
    desk: &mut Desk<'_>,
    command: Option<&str>,
    symbol: &str,
    target: &str,
    meant: Result<T, SymbolError>,
) -> Result<T, Failed> {
    if let Err(SymbolError {
        trouble: Trouble::NotFound,
        ..
    }) = &meant
    {
        let context = desk.context;
        let (workspace, session) = desk.open()?;
        // A member may be written behind a dot.
        let member = symbol.rsplit_once('.').map(|(of, member)| format!("{of}#{member}"));
        for name in [Some(symbol.to_owned()), member].into_iter().flatten() {
            let label = format!("//types/{name}:{target}");
            if last_good::remark_missing(context, workspace, session, command, &label)? {
                break;
            }
        }
    }
    Ok(meant?)
}

/// A label stands where a name is wanted.
fn label_for_name(label: &str) -> Failed {
    let found: String = label.chars().take(120).collect();
    let why = Diagnostic::error(ErrorCode::E_SYMBOL, "this is a label, and the name of a type or member is wanted").found(found);
    let named = label
        .strip_prefix("//types/")
        .map(|rest| rest.rsplit_once(':').map_or(rest, |(name, _)| name));
    let hint = match named {
        Some(name) => format!("write {}", name.chars().take(120).collect::<String>()),
        None => "write Type, Namespace.Type, Type.Member or Type#Member; `cortex show` prints what a label stands for".to_owned(),
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

/// The labels of a target of what a symbol means, by all names that there are: namesakes with their overloads, or those of a pattern. `command` is
/// who asks, if it has a `--last-good`.
pub fn found_by_name(desk: &mut Desk<'_>, command: &str, symbol: &str, target: &str) -> Result<Vec<String>, Failed> {
    let names = desk.names()?;
    let found = resolution(desk, &names, symbol, MOST)?;
    if found.how == Some(How::Wildcard) {
        return Ok(found.candidates.iter().map(|one| one.label(target)).collect());
    }
    let all = symbol_or_error(desk, Some(command), symbol, target, found.namesakes())?;
    remark_renamed(desk, symbol, target, &found)?;
    Ok(all.iter().flatten().map(|one| one.label(target)).collect())
}

/// The label of a target of the one type or member that a symbol means; a pattern that fits several means none. Else as [`found_by_name`].
pub fn one_by_name(desk: &mut Desk<'_>, command: &str, symbol: &str, target: &str) -> Result<String, Failed> {
    let names = desk.names()?;
    let found = resolution(desk, &names, symbol, MOST)?;
    let one = symbol_or_error(desk, Some(command), symbol, target, found.candidate().cloned())?;
    remark_renamed(desk, symbol, target, &found)?;
    Ok(one.label(target))
}

/// Says that a symbol is found by a name of before.
fn remark_renamed(desk: &mut Desk<'_>, symbol: &str, target: &str, found: &Resolution) -> Result<(), Failed> {
    if found.former.is_some() {
        let context = desk.context;
        let (workspace, session) = desk.open()?;
        last_good::remark_renamed(context, workspace, session, &format!("//types/{symbol}:{target}"))?;
    }
    Ok(())
}

/// Of a pattern no more symbols are meant.
pub const MOST: usize = 1000;

/// What files that cortex does not read may use of symbols, by their paths.
pub fn unread_uses(desk: &mut Desk<'_>, paths: &[&str]) -> Result<UnreadUses, Failed> {
    let world = desk.open()?.0.engine.world.clone();
    Ok(unread_files::uses(&*world, paths.iter().copied(), None))
}

/// The notes of a state, as lines below an answer.
pub fn notes(state: &State) -> String {
    state.notes.iter().map(|note| format!("note: {note}\n")).collect()
}

/// The state of a page: behind the first so many, and how many, of all.
pub fn page(state: State, (offset, shown): (usize, usize), total: usize) -> State {
    let more = match shown {
        0 => "raise the limit".to_owned(),
        shown => format!("raise the limit, or go on with `offset` {}", offset + shown),
    };
    state.page(offset, shown, total, &more)
}
