//! The check that an edit of one declaration leaves all others unchanged and in place.

use super::symbol::Refused;
use crate::code_text::declared::{DeclarationProperties, Declared, encloses};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Byte range of an edit in the text before (empty for an insertion) and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditRange {
    /// Range in the old text.
    pub(super) old: Range<usize>,
    /// Range in the new text.
    pub(super) new: Range<usize>,
}

impl EditRange {
    /// Maps a range of the old text next to or around the place to the new text.
    fn range_after_edit(&self, range: &Range<usize>) -> Range<usize> {
        let behind = |at: usize| at - self.old.end + self.new.end;
        let start = if range.start >= self.old.end {
            behind(range.start)
        } else {
            range.start
        };
        let end = if range.end > self.old.start { behind(range.end) } else { range.end };
        start..end
    }
}

/// Joins names for a sentence, sorted and without duplicates.
fn join_names<'d>(names: impl IntoIterator<Item = &'d str>) -> String {
    let names: BTreeSet<&str> = names.into_iter().collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Checks an edit: every declaration next to or around its place keeps its properties and position, a replaced symbol remains the same
/// symbol, and no new declaration clashes with another one. Fails when the edit would do otherwise; names the declarations concerned.
pub(super) fn check_kept_declarations(
    all: &[Declared],
    replaced: Option<&Declared>,
    made: &[Declared],
    place: &EditRange,
) -> Result<(), Refused> {
    let (held, beside): (Vec<&Declared>, Vec<&Declared>) = all.iter().partition(|one| encloses(&place.old, one));
    let (inside, outside): (Vec<&Declared>, Vec<&Declared>) = made.iter().partition(|one| encloses(&place.new, one));
    // `with`: declared by the same text as the replaced one, as the fields of `int A, B;` are.
    let (own, with): (Vec<&Declared>, Vec<&Declared>) = held.iter().partition(|one| replaced.is_some_and(|found| found.has(one)));
    let names: BTreeSet<&str> = made.iter().map(|one| one.is.name.as_str()).collect();
    let gone = beside
        .iter()
        .chain(&with)
        .map(|one| one.is.name.as_str())
        .filter(|name| !names.contains(name));
    let gone = join_names(gone);
    if !gone.is_empty() {
        return Err(Refused::new(
            format!("it would remove {gone}; nothing was changed"),
            "rename and remove declarations with `replace` or `patch`",
        ));
    }
    let stood: BTreeSet<(&DeclarationProperties, usize, usize)> = beside
        .iter()
        .map(|one| (&one.is, place.range_after_edit(&one.range)))
        .map(|(is, range)| (is, range.start, range.end))
        .collect();
    let stand: BTreeSet<(&DeclarationProperties, usize, usize)> =
        outside.iter().map(|one| (&one.is, one.range.start, one.range.end)).collect();
    let is_kept = |one: &&&Declared| inside.iter().any(|other| other.is == one.is);
    let changed = stood.symmetric_difference(&stand).map(|(is, ..)| is.name.as_str());
    let changed = join_names(changed.chain(with.iter().filter(|one| !is_kept(one)).map(|one| one.is.name.as_str())));
    if !changed.is_empty() {
        return Err(Refused::new(
            format!("it would change documentation, attributes, modifiers or kind of {changed}; nothing was changed"),
            "give whole declarations, without parts of others",
        ));
    }
    if let Some(found) = replaced {
        is_same(found, &inside, &with)?;
    }
    let mut known: BTreeMap<&DeclarationProperties, usize> = BTreeMap::new();
    for one in own.iter().chain(&with) {
        *known.entry(&one.is).or_default() += 1;
    }
    let is_new = |one: &&&Declared| match known.get_mut(&one.is) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let came: Vec<&&Declared> = inside.iter().filter(is_new).collect();
    let clashing = |one: &Declared| made.iter().find(|other| !std::ptr::eq(*other, one) && one.clashes(other));
    match came.into_iter().find_map(|one| clashing(one)) {
        Some(other) => Err(Refused::new(
            format!("there is a {} already; nothing was changed", other.is.name),
            "edit the one that is there, or give another name or other parameters",
        )),
        None => Ok(()),
    }
}

/// Checks that the replacement declares the symbol, and nothing else but what the old text declared `with` it.
fn is_same(found: &Declared, inside: &[&Declared], with: &[&Declared]) -> Result<(), Refused> {
    let is_it = |one: &&&Declared| (&one.owner, &one.simple, one.is.kind) == (&found.owner, &found.simple, found.is.kind);
    let same = inside.iter().find(|one| one.is == found.is).or(inside.iter().find(is_it));
    let beside = |one: &&&Declared| !with.iter().any(|other| other.is == one.is);
    let Some(same) = same else {
        let outermost = |one: &&&Declared| !inside.iter().any(|other| !std::ptr::eq(*other, **one) && other.has(one));
        let came = inside.iter().filter(beside).filter(outermost);
        let came: Vec<String> = came.map(|one| format!("the {} {}", one.is.kind, one.is.name)).collect();
        let instead = if came.is_empty() {
            String::new()
        } else {
            format!(", and add {}", came.join(", "))
        };
        return Err(Refused::new(
            format!(
                "it would remove the {} {}{instead}; nothing was changed",
                found.is.kind, found.is.name
            ),
            "a symbol keeps its name and kind here: rename, remove and remake with `replace` or `patch`",
        ));
    };
    let more = inside.iter().filter(beside).filter(|one| !same.has(one));
    let more = join_names(more.map(|one| one.is.name.as_str()));
    if !more.is_empty() {
        return Err(Refused::new(
            format!("it would also declare {more}; nothing was changed"),
            "give the one declaration, and insert others before or after it",
        ));
    }
    Ok(())
}
