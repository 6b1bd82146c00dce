//! What the text of an edit by name brings: declarations with their documentation, attributes, comments and whole directives, and nothing else.

use super::conditional::readings;
use super::declared::{Declared, Place, declared, holds};
use super::directives::{Directive, directives, unpaired};
use super::lines::{body, split};
use super::miss::visible;
use super::symbol::{Refused, read};
use producers::csharp::lexer::lex;
use producers::csharp::preprocess::blank;
use std::collections::BTreeSet;
use std::ops::Range;

/// What stands in a place opens and closes of `#if` and `#region` what stood there did: nothing, where nothing did.
///
/// # Errors
/// When it does not, with the directive.
pub(super) fn keeps_directives(text: &str, made: &str, place: &Place, defines: &BTreeSet<String>) -> Result<(), Refused> {
    let (was, is) = (blank(text, defines), blank(made, defines));
    let (was, is) = (directives(text, &was), directives(made, &is));
    let (was, is) = (lasting(&was, &place.old), lasting(&is, &place.new));
    let meanings = |all: &[&Directive<'_>]| all.iter().map(|one| one.meaning()).collect::<Vec<_>>();
    if meanings(&was) == meanings(&is) {
        return Ok(());
    }
    let (told, one) = match (is.first(), was.first()) {
        (Some(one), None) => ("the text has", one),
        (_, Some(one)) => ("the text is not to change", one),
        (None, None) => return Ok(()),
    };
    Err(Refused::new(
        format!(
            "{told} `{}`, which is about more than the declaration; nothing was changed",
            visible(one.text)
        ),
        "a text has `#if` and `#region` with their ends or not at all; `append`, `replace` and `patch` take any text",
    ))
}

fn lasting<'d, 't>(all: &'d [Directive<'t>], place: &Range<usize>) -> Vec<&'d Directive<'t>> {
    unpaired(all.iter().filter(|one| place.contains(&one.at)))
}

/// What stands in a place declares something, and nothing stands beside that, in whatever branches the new text has.
///
/// # Errors
/// When it is not so, with what stands there.
pub(super) fn only_declares(made: &str, place: &Range<usize>, new: &str, defines: &BTreeSet<String>) -> Result<(), Refused> {
    // Where there are too many branches only those that are compiled are looked at.
    let branches = readings("", new, defines).unwrap_or_default();
    let mut declares = false;
    for defines in std::iter::once(defines).chain(&branches) {
        let all = declared(made, &read(made, defines));
        let own: Vec<&Declared> = all.iter().filter(|one| holds(place, one)).collect();
        declares |= !own.is_empty();
        if let Some(at) = beside(&blank(made, defines), place, &own) {
            let start = made[..at].rfind(['\n', '\r']).map_or(place.start, |end| (end + 1).max(place.start));
            let line = split(&made[start..place.end]).next().map_or("", body);
            return Err(Refused::new(
                format!(
                    "`{}` is no declaration of a type or a member; nothing was changed",
                    visible(line.trim())
                ),
                "give declarations with their documentation, attributes and comments alone; `append`, `replace` and `patch` take any text",
            ));
        }
    }
    match declares {
        true => Ok(()),
        false => Err(Refused::new(
            "the text declares nothing; nothing was changed",
            "give a type or a member; `append`, `replace` and `patch` take any text",
        )),
    }
}

/// The first byte in a place that belongs to none of these declarations. Commas part them in enumerations and records, a semicolon may stand behind
/// the brace of a type, and blocks of extensions stand around them.
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
