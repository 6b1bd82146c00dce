//! Names that C# infers from a member: `new { p.Size }` and `new { p?.Size }` have a property `Size`, and `(p.Size, 1)` an element `Size`. Code that uses the inferred
//! name would not follow a rename.

use super::Obstacles;
use super::places::{ChangedPlaces, FileTexts};
use crate::code_text::lines::split;
use producers::languages::selector::Selector;
use std::ops::Range;
use std::sync::LazyLock;

static OBJECTS: LazyLock<Selector> = LazyLock::new(|| {
    selector("(anonymous_object_creation_expression [(member_access_expression) (conditional_access_expression) (identifier)] @target)")
});
static TUPLES: LazyLock<Selector> = LazyLock::new(|| {
    selector("(tuple_expression (argument [(member_access_expression) (conditional_access_expression) (identifier)] @target))")
});

fn selector(text: &str) -> Selector {
    Selector::compile(".cs", text).expect("invariant: the grammar has these nodes")
}

/// Adds an obstacle for each changed place from which a name is inferred. A tuple counts only if its file also uses an unchanged member of that name.
pub(super) fn check(change: &ChangedPlaces, old: &str, texts: &FileTexts<'_>, way: &mut Obstacles) {
    for file in change.files() {
        // What follows the last name of an element, or a comment or directive in between. Other files need not be parsed.
        let may_end_element = |text: &&str| change.is_followed_by(file, text, old, &[',', '}', ')', '/', '#']);
        let Some(text) = texts.text_of(file).filter(may_end_element) else {
            continue;
        };
        let changed = |element: &Range<usize>| {
            let is_inferred = !text[..element.start].trim_end().ends_with(['=', ':']) && !text[element.end..].trim_start().starts_with('=');
            is_inferred && element.end.checked_sub(old.len()).is_some_and(|at| change.has(file, at))
        };
        let mut found: Vec<Range<usize>> = Vec::new();
        if text.contains("new") {
            found.extend(OBJECTS.select(text).unwrap_or_default());
        }
        if uses_other_member(change, file, text, old) {
            found.extend(TUPLES.select(text).unwrap_or_default());
        }
        for element in found.into_iter().filter(changed) {
            let line = split(&text[..element.end]).count();
            way.add_obstacle(format!(
                "{file}:{line}: the name {old} of a property or tuple element is inferred from `{}`; write it out first (`{old} = …`, `{old}: …`)",
                &text[element]
            ));
        }
    }
}

/// Whether a file has a member access with that name that the rename leaves unchanged.
fn uses_other_member(change: &ChangedPlaces, file: &str, text: &str, old: &str) -> bool {
    let dotted = format!(".{old}");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&dotted)
        .any(|(at, _)| !change.has(file, at + 1) && !text[at + dotted.len()..].starts_with(is_word))
}
