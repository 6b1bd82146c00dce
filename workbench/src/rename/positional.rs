//! Parameters of positional records: the property has the name of the parameter, so named arguments and positional patterns name it, too.

use super::Planning;
use crate::edit::lines::split;
use crate::symbols::outputs::Outputs;
use crate::symbols::resolve::{Options, resolve};
use crate::symbols::usages::{Subject, usages};
use engine::values::label::halves;
use producers::languages::selector::select;
use std::collections::BTreeSet;

const PARAMETERS: &str = "(record_declaration (parameter_list (parameter name: (identifier) @target)))";

/// Reports each place that may name the parameter of a renamed property: `new R(First: 1)`, `is R(First: 1)`.
pub(super) fn check<O: Outputs>(planning: &mut Planning<'_, O>) -> Result<(), O::Error> {
    let is_parameter = |(file, at): (&String, usize)| {
        let text = planning.texts.of(file).filter(|text| text.contains("record"));
        text.is_some_and(|text| {
            let parameters = select(file, text, PARAMETERS).unwrap_or_default();
            parameters.iter().any(|name| name.start == at)
        })
    };
    if planning.family.is_type || !planning.change.places().any(is_parameter) {
        return Ok(());
    }
    let mut files: BTreeSet<String> = planning.change.files().cloned().collect();
    for path in &planning.family.paths {
        let key = halves(path).map_or(path.as_str(), |(key, _)| key);
        let found = resolve(planning.symbols, planning.outputs, key, &Options::default())?;
        let Ok(subject) = Subject::of(&found) else { continue };
        let found = usages(planning.outputs, planning.symbols, &subject, planning.request.gaps)?;
        files.extend(found.certain.into_iter().map(|place| place.file));
        files.extend(found.possible.into_keys().map(|place| place.file));
    }
    let old = planning.family.old.as_str();
    for file in files {
        let Some(text) = planning.texts.read(&file) else { continue };
        let named: Vec<usize> = text
            .match_indices(old)
            .map(|(at, _)| at)
            .filter(|at| is_named(text, *at, old))
            .collect();
        let lines: Vec<usize> = named
            .into_iter()
            .filter(|at| !planning.change.has(&file, *at))
            .map(|at| split(&text[..at + old.len()]).count())
            .collect();
        for line in lines {
            planning.way.add(format!(
                "{file}:{line}: `{old}:` may name the parameter of the record; write it without the name first"
            ));
        }
    }
    Ok(())
}

/// Whether a word stands as the name of an argument or of a part of a pattern: `(First: 1`, `, First: 2`.
fn is_named(text: &str, at: usize, old: &str) -> bool {
    let (before, after) = (text[..at].trim_end(), text[at + old.len()..].trim_start());
    before.ends_with(['(', ',']) && after.starts_with(':') && !after.starts_with("::")
}
