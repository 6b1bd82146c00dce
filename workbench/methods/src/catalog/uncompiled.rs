//! Notes about names that only code excluded by `#if` declares: such code is for another target framework, or for symbols that nothing sets.

use crate::desk::Desk;
use crate::failed::Failed;
use workbench::symbols::outputs::{Outputs, SymbolError, file_label};
use workbench::symbols::resolve::SHOWN;
use workbench::symbols::uncompiled::{UncompiledDeclaration, find_uncompiled, types_that_name, uncompiled_in_file};

/// Explains which code is read.
const READ: &str = "cortex reads each project under the symbols of one target framework; `tfm` and `defines` in the manifest choose others";

/// Explains in the error for an unknown name where excluded code declares it, or which code contains it.
pub fn explain_unknown(desk: &mut Desk<'_>, name: &str, error: &mut SymbolError) -> Result<(), Failed> {
    let found = find_uncompiled(desk, name)?;
    if !found.is_empty() {
        let diagnostic = &mut error.diagnostic;
        diagnostic.message = "only code that `#if` excludes declares this name".to_owned();
        diagnostic.hint = Some(format!("{}; {READ}", describe(&found)));
        diagnostic.candidates.clear();
        return Ok(());
    }
    let users = types_that_name(desk, name)?;
    if !users.is_empty() {
        let shown = users[..users.len().min(SHOWN)].join(", ");
        let more = users.len().saturating_sub(SHOWN);
        let shown = if more == 0 { shown } else { format!("{shown} and {more} more") };
        let diagnostic = &mut error.diagnostic;
        let known = diagnostic.hint.take().filter(|_| !diagnostic.candidates.is_empty());
        let known = known.map_or_else(String::new, |hint| format!("{hint} "));
        diagnostic.hint = Some(format!(
            "{known}The code of {shown} contains the name: a package, a source generator or a local declares it; `grep` lists the places"
        ));
    }
    Ok(())
}

/// Returns the note for a name that only excluded code declares.
pub fn note_of_name(desk: &mut Desk<'_>, name: &str) -> Result<Option<String>, Failed> {
    let found = find_uncompiled(desk, name)?;
    Ok((!found.is_empty()).then(|| format!("{}; {READ}", describe(&found))))
}

/// Returns the note for what a file declares in excluded code only.
pub fn note_of_file(desk: &mut Desk<'_>, file: &str) -> Result<Option<String>, Failed> {
    if !file.ends_with(".cs") {
        return Ok(None);
    }
    let found = desk.read(&[file_label(file, "variants")])?;
    let Some(bytes) = found.into_iter().next().and_then(|output| output.bytes) else {
        return Ok(None);
    };
    let found = uncompiled_in_file(file, &bytes)?;
    Ok((!found.is_empty()).then(|| format!("{}; {READ}", describe(&found))))
}

/// The first declarations, and how many there are besides.
fn describe(found: &[UncompiledDeclaration]) -> String {
    let shown: Vec<String> = found.iter().take(SHOWN).map(ToString::to_string).collect();
    match found.len() - shown.len() {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
}
