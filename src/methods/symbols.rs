//! What the methods about symbols share: the names of the workspace, and what a symbol means among them.

use crate::context::Failed;
use crate::desk::Desk;
use crate::exit::Code;
use engine::values::diagnostic::Diagnostic;
use engine::values::label::unescape;
use std::sync::Arc;
use workbench::last_good::parts;
use workbench::symbols::index::Symbols;
use workbench::symbols::outputs::{SymbolError, Trouble};
use workbench::symbols::resolve::{Candidate, Options, Resolution, resolve};
use workbench::symbols::state::{Flaws, State};

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
    let root = desk.context.root().unwrap_or_default();
    let aliases = workbench::aliases::read(&root);
    let options = Options {
        most,
        aliases: Some(&aliases),
        ..Options::default()
    };
    resolve(&names.symbols, desk, symbol, &options)
}

/// The one type or member that a symbol means.
pub fn meant(desk: &mut Desk<'_>, names: &Names, symbol: &str) -> Result<(Candidate, Option<String>), Failed> {
    let found = resolution(desk, names, symbol, workbench::symbols::resolve::SHOWN)?;
    Ok((found.meant()?.clone(), found.former))
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

/// Why the label of a type or member means nothing, or too much, said of the symbol that was asked for.
pub fn of_symbol(why: Diagnostic, symbol: &str) -> Diagnostic {
    let code = match why.code.as_str() {
        "E_NO_TARGET" => "SymbolNotFound",
        "E_AMBIGUOUS" => "AmbiguousSymbol",
        _ => return why,
    };
    let paths: Vec<String> = why.candidates.iter().map(|label| path_of(label)).collect();
    let hint = match paths.first() {
        Some(first) if code == "SymbolNotFound" => format!("did you mean {first}?"),
        None if code == "SymbolNotFound" => "`cortex search` finds names by their parts".to_owned(),
        _ => "write enough of the name for one of them to be meant".to_owned(),
    };
    let message = match code {
        "SymbolNotFound" => "no type or member of this name is known".to_owned(),
        _ => format!("{} types or members have this name", paths.len()),
    };
    let found: String = symbol.chars().take(120).collect();
    Diagnostic::error(code, message).found(found).hint(hint).candidates(paths)
}

/// The symbol path in a label.
fn path_of(label: &str) -> String {
    let Some((key, rest)) = parts(label) else { return label.to_owned() };
    let member = rest.strip_prefix('#').and_then(|rest| rest.rsplit_once(':'));
    match member {
        Some((member, _)) => format!("{key}#{}", unescape(member)),
        None => key,
    }
}

/// The notes of a state, as lines below an answer.
pub fn notes(state: &State) -> String {
    state.notes.iter().map(|note| format!("note: {note}\n")).collect()
}
