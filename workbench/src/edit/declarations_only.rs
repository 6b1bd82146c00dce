//! Checks that the text of an edit by name contains only declarations with their documentation, attributes, comments and whole directives.

use super::conditional::readings;
use super::directive_settings::DirectiveSettings;
use super::directives::{Directive, directives, unpaired_directives};
use super::head::Parts;
use super::kept_declarations::EditRange;
use super::match_failure::visible;
use super::symbol::Refused;
use crate::code_text::declared::{Declared, encloses, list_declarations, parse_code};
use crate::code_text::lines::{body, split};
use producers::csharp::lexer::lex;
use producers::csharp::preprocess::{active, blank};
use std::collections::BTreeSet;
use std::ops::Range;

/// Checks that the new text of a place opens and closes the same `#if` and `#region` blocks as the old one, and sets the same state for the lines
/// below. Fails when a directive differs, with that directive.
pub(super) fn keeps_directives(text: &str, made: &str, place: &EditRange, defines: &BTreeSet<String>) -> Result<(), Refused> {
    let was = lasting(text, &place.old, defines);
    let is = lasting(made, &place.new, defines);
    let same = was
        .iter()
        .zip(&is)
        .take_while(|(one, other)| one.meaning() == other.meaning())
        .count();
    let (difference, hint) = match (was.get(same), is.get(same)) {
        (Some(one), _) => {
            let line = split(&text[..one.at]).count() + 1;
            (
                format!("the text must not change `{}` at line {line}", visible(one.text)),
                "keep that line unchanged in the text; `append`, `replace` and `patch` accept any text",
            )
        }
        (None, Some(one)) => (
            format!("the text has `{}`", visible(one.text)),
            "a text must close each `#if` and `#region` that it opens, and restore each setting of the compiler; `append`, `replace` and `patch` accept any text",
        ),
        (None, None) => return Ok(()),
    };
    let why = format!("{difference}, which concerns more than the declaration; nothing was changed");
    Err(Refused::new(why, hint))
}

/// Returns the directives of a place with effects outside it: the other end is elsewhere, they set state for the lines below, or they precede the
/// declaration.
fn lasting<'t>(text: &'t str, place: &Range<usize>, defines: &BTreeSet<String>) -> Vec<Directive<'t>> {
    let active = active(text, defines);
    let all = directives(text, &active.text);
    let (before, within): (Vec<_>, Vec<_>) = all.iter().filter(|one| one.at < place.end).partition(|one| one.at < place.start);
    let compiled = |some: &[&Directive<'t>]| -> Vec<Directive<'t>> {
        let some = some.iter().filter(|one| active.is_compiled(one.at));
        some.map(|one| **one).collect()
    };
    let (above, own) = (compiled(&before), compiled(&within));
    let was = DirectiveSettings::default().with_directives(&above);
    let head = place.start + Parts::from_declaration(&active.text[place.clone()]).itself;
    let said = own.iter().filter(|one| one.is_said() && one.at < head);
    let set = was.with_directives(&own).unlike(&was);
    let mut lasting: Vec<Directive<'t>> = unpaired_directives(within).into_iter().chain(said).copied().chain(set).collect();
    lasting.sort_by_key(|one| one.at);
    lasting
}

/// Checks that a place contains declarations and nothing else, in every branch of the new text. A declaration may continue past the place, as a
/// method whose body is missing in one branch, if one ended there before. Fails when there is other text, with that text.
pub(super) fn only_declares(text: &str, made: &str, place: &EditRange, new: &str, defines: &BTreeSet<String>) -> Result<(), Refused> {
    // With too many branches, only the compiled ones are checked.
    let branches = readings("", new, defines).unwrap_or_default();
    let mut declares = false;
    for defines in std::iter::once(defines).chain(&branches) {
        let all = list_declarations(made, &parse_code(made, defines));
        let went_on = beyond(text, &place.old, &list_declarations(text, &parse_code(text, defines)));
        let goes_on = |one: &Declared| place.new.contains(&one.range.start) && went_on.contains(&(made.len() - one.range.end));
        let own: Vec<&Declared> = all.iter().filter(|one| encloses(&place.new, one) || goes_on(one)).collect();
        declares |= !own.is_empty();
        if let Some(at) = beside(&blank(made, defines), &place.new, &own) {
            let start = made[..at]
                .rfind(['\n', '\r'])
                .map_or(place.new.start, |end| (end + 1).max(place.new.start));
            let line = split(&made[start..place.new.end]).next().map_or("", body);
            return Err(Refused::new(
                format!(
                    "`{}` is not a declaration of a type or a member; nothing was changed",
                    visible(line.trim())
                ),
                "give declarations with their documentation, attributes and comments alone; `append`, `replace` and `patch` accept any text",
            ));
        }
    }
    match declares {
        true => Ok(()),
        false => Err(Refused::new(
            "the text declares nothing; nothing was changed",
            "give a type or a member; `append`, `replace` and `patch` accept any text",
        )),
    }
}

/// Returns the ends of declarations that start in a place and continue past it, in bytes before the end of the text.
fn beyond(text: &str, place: &Range<usize>, all: &[Declared]) -> BTreeSet<usize> {
    let goes_on = |one: &&Declared| place.contains(&one.range.start) && one.range.end > place.end;
    all.iter().filter(goes_on).map(|one| text.len() - one.range.end).collect()
}

/// Returns the first byte in a place outside these declarations. Allows commas of enumerations and records, a semicolon after the brace of a type,
/// and extension blocks around declarations.
fn beside(compiled: &str, place: &Range<usize>, own: &[&Declared]) -> Option<usize> {
    let text = &compiled[place.clone()];
    let tokens = lex(text).tokens;
    let is_own = |at: usize| own.iter().any(|one| one.range.contains(&at));
    let (mut open, mut is_head, mut last) = (Vec::new(), false, "");
    for token in &tokens {
        let (at, word) = (token.start as usize + place.start, token.text(text));
        let ended = std::mem::replace(&mut last, if is_own(at) { word } else { "" });
        match word {
            _ if is_own(at) => {}
            _ if is_head => is_head = word != "{",
            "," => {}
            ";" if ended == "}" => {}
            "extension" => {
                is_head = true;
                open.push(at);
            }
            "}" if open.pop().is_some() => {}
            _ => return Some(at),
        }
    }
    open.pop()
}
