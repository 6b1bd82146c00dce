//! Parameters of positional records: named arguments and positional patterns use the property's name, because the parameter has the same name.

use super::Planning;
use crate::code_text::lines::split;
use crate::symbols::outputs::Outputs;
use crate::symbols::resolve::{Options, resolve};
use crate::symbols::usages::{Subject, usages};
use engine::values::label::halves;
use producers::languages::selector::Selector;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

static PARAMETERS: LazyLock<Selector> = LazyLock::new(|| {
    let text = "(record_declaration (parameter_list (parameter name: (identifier) @target)))";
    Selector::compile(".cs", text).expect("invariant: the grammar has these nodes")
});

/// Adds an obstacle for each place that may name the parameter of a renamed property: `new R(First: 1)`, `is R(First: 1)`.
pub(super) fn check<O: Outputs>(planning: &mut Planning<'_, O>) -> Result<(), O::Error> {
    if planning.family.is_type || !renames_parameter(planning) {
        return Ok(());
    }
    let mut files: BTreeSet<String> = planning.change.files().cloned().collect();
    for path in &planning.family.paths {
        let key = halves(path).map_or(path.as_str(), |(key, _)| key);
        let found = resolve(planning.symbols, planning.outputs, key, &Options::default())?;
        let Ok(subject) = Subject::from_resolution(&found) else { continue };
        let found = usages(planning.outputs, planning.symbols, &subject, planning.request.gaps)?;
        files.extend(found.certain.into_iter().map(|place| place.file));
        files.extend(found.possible.into_keys().map(|place| place.file));
    }
    let old = planning.family.old.as_str();
    for file in files {
        let Some(text) = planning.texts.read_text(&file) else { continue };
        let named: Vec<usize> = text
            .match_indices(old)
            .map(|(at, _)| at)
            .filter(|at| is_name_of_argument(text, *at, old))
            .collect();
        let lines: Vec<usize> = named
            .into_iter()
            .filter(|at| !planning.change.has(&file, *at))
            .map(|at| split(&text[..at + old.len()]).count())
            .collect();
        for line in lines {
            planning.way.add_obstacle(format!(
                "{file}:{line}: `{old}:` may name the parameter of the record; write it without the name first"
            ));
        }
    }
    Ok(())
}

/// Whether a changed place is a parameter of a positional record.
fn renames_parameter<O: Outputs>(planning: &Planning<'_, O>) -> bool {
    let mut parameters: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    planning.change.places().any(|(file, at)| {
        let of_file = parameters.entry(file).or_insert_with(|| {
            // What follows the name of a parameter, or a comment or directive in between.
            let signs = [',', ')', '=', '/', '#'];
            let may_declare =
                |text: &&str| text.contains("record") && planning.change.is_followed_by(file, text, &planning.family.old, &signs);
            let text = planning.texts.text_of(file).filter(may_declare);
            let found = text.map(|text| PARAMETERS.select(text).unwrap_or_default());
            found.unwrap_or_default().into_iter().map(|name| name.start).collect()
        });
        of_file.contains(&at)
    })
}

/// Whether a word is the name of an argument or of a subpattern: `(First: 1`, `, First: 2`.
fn is_name_of_argument(text: &str, at: usize, old: &str) -> bool {
    let (before, after) = (text[..at].trim_end(), text[at + old.len()..].trim_start());
    before.ends_with(['(', ',']) && after.starts_with(':') && !after.starts_with("::")
}
