//! Aliases of references (`<Aliases>`). Code sees the types of a reference with aliases only behind one of them (`extern alias A;` and `A::N.T`),
//! unless `global` is among them.

use super::binder::Surroundings;
use super::index::Entry;

/// The alias of what code sees without an alias.
const GLOBAL: &str = "global";

/// Returns the alias at the root of a path, if a reference of the project has it.
pub(super) fn reference_alias<'p>(around: &Surroundings<'_>, path: &'p str) -> Option<&'p str> {
    let (root, _) = path.split_once("::").filter(|(root, _)| *root != GLOBAL)?;
    let mut aliases = around.globals?.aliases.values().flatten();
    aliases.any(|alias| alias == root).then_some(root)
}

/// Whether code sees a type behind an alias of a reference, or without an alias (`None`).
pub(super) fn is_behind(around: &Surroundings<'_>, entry: &Entry, alias: Option<&str>) -> bool {
    let Some(globals) = around.globals.filter(|globals| !globals.aliases.is_empty()) else {
        return alias.is_none();
    };
    let compilers = entry.project.iter().chain(&entry.also);
    let mut referenced = compilers.filter(|path| globals.references.contains(path)).peekable();
    if entry.is_of(around.project) || referenced.peek().is_none() {
        return alias.is_none();
    }
    referenced.any(|path| match globals.aliases.get(path) {
        Some(aliases) => aliases.iter().any(|own| own == alias.unwrap_or(GLOBAL)),
        None => alias.is_none(),
    })
}
