//! References in documentation: `cref="…"`. Only their names decide, because they are not code. A reference to the symbol changes; one that may refer
//! to another symbol stays and is reported.

use super::Planning;
use super::cref_overloads::{overloads_of, parameters_behind};
use super::family::Family;
use crate::code_text::lines::line_and_column;
use crate::symbols::index::{Symbols, simple_name};
use crate::symbols::outputs::Outputs;
use crate::symbols::source::enclosing_lines;
use engine::values::label::halves;
use producers::csharp::deps::crefs;
use std::collections::BTreeSet;
use std::ops::Range;

/// Renames the references to members of the family.
pub(super) fn rename_in_documentation<O: Outputs>(planning: &mut Planning<'_, O>) -> Result<(), O::Error> {
    let Planning {
        outputs,
        symbols,
        family,
        request,
        texts,
        change,
        ..
    } = planning;
    let outputs = &mut **outputs;
    let carriers = Carriers::from_family(symbols, family);
    for file in &request.references.files_with(texts.world, request.sources, &family.old) {
        let Some(text) = texts.read_text(file).map(str::to_owned) else {
            continue;
        };
        for reference in crefs::references_in_code(&text) {
            for at in offsets_of_name(&text, &reference, family) {
                let line = u32::try_from(line_and_column(&text, at).0).unwrap_or(u32::MAX);
                let written = &text[reference.clone()];
                // Words of a reference of several lines have comment marks between them.
                let is_meant = match written.contains('\n') {
                    true => None,
                    false => means(outputs, symbols, (family, &carriers), (file, line), written, at - reference.start)?,
                };
                match is_meant {
                    Some(true) => change.add_place(file, at, false),
                    Some(false) => {}
                    None => change.left.push(format!("{file}:{line}: documentation may mean it: {written}")),
                }
            }
        }
    }
    Ok(())
}

/// Returns the offsets of the name in a reference: for a member, the last word before the parameters; for a type, any word.
fn offsets_of_name(text: &str, reference: &Range<usize>, family: &Family) -> Vec<usize> {
    let (whole, name) = (&text[reference.clone()], family.old.as_str());
    let head = match family.is_type {
        true => whole,
        false => &whole[..whole.find('(').unwrap_or(whole.len())],
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let found = head
        .match_indices(name)
        .map(|(at, _)| at)
        .filter(|at| !head[..*at].ends_with(is_word) && !head[at + name.len()..].starts_with(is_word));
    let found: Vec<usize> = found.map(|at| reference.start + at).collect();
    if family.is_type {
        return found;
    }
    found.last().copied().into_iter().collect()
}

/// The types that declare or inherit a member of the family. A name qualified with another type never refers to it.
#[derive(Default)]
struct Carriers {
    /// Keys of the types, without project marks.
    keys: BTreeSet<String>,
    /// Simple names of the types.
    names: BTreeSet<String>,
}

impl Carriers {
    fn from_family(symbols: &Symbols, family: &Family) -> Self {
        let owners = family.paths.iter().filter_map(|path| halves(path)).map(|(owner, _)| owner);
        let mut todo: Vec<&str> = owners.collect();
        let mut seen: BTreeSet<&str> = todo.iter().copied().collect();
        while let Some(key) = todo.pop() {
            todo.extend(symbols.heirs(key).filter(|heir| seen.insert(heir)));
        }
        Self {
            keys: seen.iter().map(|key| key.split('@').next().unwrap_or(key).to_owned()).collect(),
            names: seen.iter().map(|key| simple_name(key).to_owned()).collect(),
        }
    }
}

/// Whether the word at `at` of a reference refers to the family; `None` if undecided.
fn means<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    (family, carriers): (&Family, &Carriers),
    (file, line): (&String, u32),
    reference: &str,
    at: usize,
) -> Result<Option<bool>, O::Error> {
    let end = at + family.old.len();
    let head = &reference[dotted_name_start(reference, end)..end];
    let is_member_part = !family.is_type && reference[at + family.old.len()..].starts_with('.');
    if is_member_part {
        return Ok(Some(false));
    }
    let plain: String = without_arguments(head);
    let mut wanted = vec![plain.clone()];
    if !family.is_type && !plain.contains('.') {
        let around = enclosing_lines(outputs, file, line)?;
        let may = around
            .into_iter()
            .filter(|key| symbols.find(key).is_none() || carriers.keys.contains(key));
        wanted = may.map(|key| format!("{key}#{plain}")).collect();
    } else if let (false, Some((of, _))) = (family.is_type, plain.rsplit_once('.')) {
        wanted.retain(|_| carriers.names.contains(simple_name(of)));
    }
    let parameters = if family.is_type {
        String::new()
    } else {
        parameters_behind(&reference[end..])
    };
    let mut may = false;
    for name in wanted {
        let found = overloads_of(outputs, symbols, &name, &parameters)?;
        let paths: Vec<&str> = found.candidates.iter().map(|one| one.path.as_str()).collect();
        let own = |path: &&&str| family.paths.contains(**path);
        match paths.iter().filter(own).count() {
            0 => {}
            all if all == paths.len() => return Ok(Some(true)),
            _ => may = true,
        }
    }
    Ok(if may { None } else { Some(false) })
}

/// Returns the start of the dotted name that ends at an offset, with type arguments in braces and without `M:` or `global::`.
fn dotted_name_start(reference: &str, end: usize) -> usize {
    let mut depth = 0_usize;
    let mut start = end;
    for (at, c) in reference[..end].char_indices().rev() {
        match c {
            '}' => depth += 1,
            '{' if depth == 0 => break,
            '{' => depth -= 1,
            _ if depth > 0 || c.is_alphanumeric() || matches!(c, '_' | '.') => {}
            _ => break,
        }
        start = at;
    }
    start
}

/// Removes type arguments in braces from a dotted name.
fn without_arguments(text: &str) -> String {
    let mut depth = 0_usize;
    let kept = text.chars().filter(|c| match c {
        '{' => {
            depth += 1;
            false
        }
        '}' => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dotted_name_has_its_type_arguments() {
        for (reference, name) in [
            ("RuleBase{T, TProperty, TValue}.Mode", "RuleBase{T, TProperty, TValue}.Mode"),
            ("M:N.A.Mode", "N.A.Mode"),
            ("A{Mode", "Mode"),
            ("A.Go(int, N.Mode", "N.Mode"),
        ] {
            assert_eq!(&reference[dotted_name_start(reference, reference.len())..], name);
        }
    }
}
