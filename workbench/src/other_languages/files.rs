//! Facts about one file of another language, read from its target, and their source.

use super::names::{OtherNames, OtherSymbol};
use crate::symbols::outputs::{Outputs, SymbolError, file_label, read_one};
use producers::languages::model::{Definition, FileSymbols};
use producers::languages::{outline, tags};

/// Returns the definitions and uses of a file; `None` if no target describes it.
pub fn symbols_of_file<O: Outputs>(outputs: &mut O, names: &OtherNames, file: &str) -> Result<Option<FileSymbols>, O::Error> {
    let Some(target) = names.teller(file) else { return Ok(None) };
    let label = file_label(file, target);
    let Some(bytes) = read_one(outputs, label.clone())? else {
        return Ok(None);
    };
    let symbols = FileSymbols::from_json(&bytes).ok_or_else(|| SymbolError::damaged().at_label(&label))?;
    Ok(Some(symbols))
}

/// Returns the outline of a file, or of one definition in it.
pub fn outline_text(file: &str, symbols: &FileSymbols, within: Option<&str>) -> String {
    match within {
        Some(within) => outline::render_one(file, symbols, within),
        None => outline::render(file, symbols),
    }
}

/// Returns the definitions of a symbol in its file: overloads and accessors, which share a path, are all returned.
pub fn definitions<'s>(symbols: &'s FileSymbols, symbol: &'s OtherSymbol) -> impl Iterator<Item = &'s Definition> {
    symbols.definitions.iter().filter(|one| one.path == symbol.within)
}

/// Returns the source of the facts about a file, and its consequences for an answer: sentences for its notes.
pub fn provenance(file: &str, symbols: &FileSymbols) -> Vec<String> {
    if symbols.source == tags::SOURCE {
        let language = &symbols.language;
        let mut said = vec![format!("{file}: read by the grammar of {language}; uses are found by name")];
        said.extend(
            symbols
                .error
                .map(|line| format!("{file}: line {line} does not parse; definitions may be missing")),
        );
        return said;
    }
    let mut said = vec![format!("{file}: from an index of {}", symbols.source)];
    if symbols.moved + symbols.shifted > 0 {
        said.push(format!(
            "{file}: changed since it was indexed; of its definitions {} were found on other lines, and {} are no longer found",
            symbols.shifted, symbols.moved
        ));
    }
    said
}
