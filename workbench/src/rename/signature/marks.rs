//! Marks at the changing places of a text: each change shifts the others, and calls may be nested in arguments of calls. Changes are applied from the
//! last place to the first.

use super::SignatureChange;
use super::arguments::{Passed, Reordering};
use super::declarations::{Declaration, Replacements};
use super::wanted::WantedParameter;
use crate::code_text::lists;
use crate::code_text::lists::{ListKind, list_at, tokens_behind, type_arguments_end};
use producers::csharp::lexer::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// Kind of a place, which decides how it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceKind {
    /// A call of the member.
    Call {
        /// Whether the call is of an extension method on a value.
        is_on_value: bool,
    },
    /// A declaration of the member.
    Declaration,
    /// A reference to the member in documentation.
    Reference,
    /// A use of the member that stays unchanged.
    Stays,
}

/// The marks of files, by the offsets of names.
#[derive(Default)]
pub(super) struct Marked {
    pub(super) files: BTreeMap<String, BTreeMap<usize, Vec<PlaceKind>>>,
}

impl Marked {
    pub(super) fn mark_place(&mut self, file: &str, at: usize, mark: PlaceKind) {
        let marks = self.files.entry(file.to_owned()).or_default().entry(at).or_default();
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
}

/// A text with all places changed. Places are offsets in the old text.
#[derive(Default)]
pub(super) struct Rewrite {
    pub(super) text: String,
    /// Offsets of the member's uses in the new text.
    pub(super) uses: Vec<usize>,
    /// Places that cannot change, with reasons.
    pub(super) refused: Vec<(usize, String)>,
    /// Arguments that are no longer passed.
    pub(super) dropped: Vec<(usize, String)>,
    /// Number of changed places.
    pub(super) changed: usize,
}

/// The character before each marked name while the text changes; no code contains it.
const MARK: char = '\u{e000}';

/// Changes all marked places of a text.
pub(super) fn rewrite(
    before: &str,
    marks: &BTreeMap<usize, Vec<PlaceKind>>,
    change: &SignatureChange,
    names: &[BTreeSet<String>],
) -> Rewrite {
    let mut made = Rewrite {
        text: before.to_owned(),
        ..Rewrite::default()
    };
    if before.contains(MARK) {
        made.refused
            .push((0, "the file has a character that code does not have (U+E000)".to_owned()));
        return made;
    }
    for at in marks.keys().rev() {
        made.text.insert(*at, MARK);
    }
    let own: Vec<&str> = change.own.iter().map(|one| one.name.as_str()).collect();
    // Go through the names of the old text from the last one, with the present offset of each mark: the text after it has changed already.
    let mut remaining = marks.len();
    for (at, all) in marks.iter().rev() {
        remaining -= 1;
        let Some((mark_at, _)) = made.text.match_indices(MARK).nth(remaining) else {
            continue;
        };
        let name = mark_at + MARK.len_utf8();
        for mark in all {
            let found = match mark {
                PlaceKind::Stays => Ok((Vec::new(), Vec::new())),
                PlaceKind::Declaration => {
                    let declaration = Declaration {
                        own: &own,
                        wanted: &change.wanted,
                    };
                    declaration.replacements(&made.text, name).map(|changes| (changes, Vec::new()))
                }
                PlaceKind::Reference => Ok((reference(&made.text, name, change), Vec::new())),
                PlaceKind::Call { is_on_value } => call(&made.text, name, *is_on_value, change, names),
            };
            match found {
                Ok((changes, dropped)) => {
                    made.changed += usize::from(!changes.is_empty());
                    made.dropped.extend(dropped.into_iter().map(|argument| (*at, argument)));
                    replace_all(&mut made.text, changes);
                }
                Err(why) => made.refused.push((*at, why)),
            }
        }
    }
    let is_use = |all: &Vec<PlaceKind>| all.iter().any(|mark| matches!(mark, PlaceKind::Call { .. } | PlaceKind::Stays));
    let positions: Vec<usize> = made.text.match_indices(MARK).map(|(at, _)| at).collect();
    // If a mark is missing, it was in a deleted part, and the others cannot be matched.
    if positions.len() == marks.len() {
        let shift = |number: usize, at: usize| at - number * MARK.len_utf8();
        let all = positions.iter().enumerate().zip(marks.values());
        made.uses = all
            .filter(|(_, all)| is_use(all))
            .map(|((number, at), _)| shift(number, *at))
            .collect();
    }
    made.text.retain(|c| c != MARK);
    for (_, argument) in &mut made.dropped {
        argument.retain(|c| c != MARK);
    }
    made
}

fn replace_all(text: &mut String, mut changes: Replacements) {
    changes.sort_by_key(|(range, _)| range.start);
    for (range, new) in changes.into_iter().rev() {
        text.replace_range(range, &new);
    }
}

/// Returns the replacements in a call, and the arguments that are no longer passed.
fn call(
    text: &str,
    name: usize,
    is_on_value: bool,
    change: &SignatureChange,
    names: &[BTreeSet<String>],
) -> Result<(Replacements, Vec<String>), String> {
    let reordering = Reordering {
        own: &change.own,
        wanted: &change.wanted,
        names,
        is_attribute: change.is_constructor && is_attribute(text, name),
    };
    let Some(open) = arguments_open(text, name) else {
        return Err("its arguments are not found here".to_owned());
    };
    let list = match open {
        Open::At(open) => list_at(text, open, ListKind::Arguments).ok_or("its arguments do not end")?,
        Open::Nowhere(end) => lists::List {
            inside: end..end,
            pieces: Vec::new(),
        },
    };
    let is_receiver = change.own.first().is_some_and(|one| one.this) && is_on_value;
    let Passed { text: made, dropped } = reordering.passed(text, &list, is_receiver)?;
    let Some(made) = made else { return Ok((Vec::new(), dropped)) };
    let made = match open {
        Open::At(_) => made,
        Open::Nowhere(_) => format!("({made})"),
    };
    Ok((vec![(list.inside, made)], dropped))
}

/// Whether a constructor's name belongs to an attribute: neither `new` nor the `:` of a constructor initialiser precedes it.
fn is_attribute(text: &str, name: usize) -> bool {
    let (rest, tokens) = tokens_behind(text, name);
    if tokens
        .first()
        .is_none_or(|first| matches!(first.text(rest), "new" | "base" | "this"))
    {
        return false;
    }
    let is_in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | MARK);
    let head = text[..name].trim_end_matches(is_in_name);
    let head = head
        .strip_suffix("::")
        .map_or(head, |head| head.trim_end_matches(is_in_name))
        .trim_end();
    head.ends_with(['[', ',', ':', ']'])
}

/// Start of the arguments of a call.
enum Open {
    /// Offset of the opening bracket.
    At(usize),
    /// Offset where the missing brackets belong: `new T { … }`.
    Nowhere(usize),
}

fn arguments_open(text: &str, name: usize) -> Option<Open> {
    let (rest, tokens) = tokens_behind(text, name);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(rest));
    let is_new = word(0) == "new";
    let mut at = 1;
    if is_new && word(1) != "(" {
        // Skip the name of the type.
        while tokens
            .get(at)
            .is_some_and(|token| token.kind == Kind::Word || token.kind == Kind::Unknown)
            || matches!(word(at), "." | "::")
        {
            at += 1;
        }
    }
    if word(at) == "<" {
        at = type_arguments_end(rest, &tokens, at, false)? + 1;
    }
    match word(at) {
        "(" => Some(Open::At(name + tokens[at].start as usize)),
        "{" => Some(Open::Nowhere(name + tokens.get(at.checked_sub(1)?)?.end as usize)),
        _ => None,
    }
}

/// Returns the replacements of the parameter types in a reference of documentation.
fn reference(text: &str, name: usize, change: &SignatureChange) -> Replacements {
    let rest = &text[name..];
    let end = rest.find(['"', '\'', '\n']).unwrap_or(rest.len());
    let Some(open) = rest[..end].find('(') else { return Vec::new() };
    let Some(list) = list_at(text, name + open, ListKind::Parameters).filter(|list| list.pieces.len() == change.own.len()) else {
        return Vec::new();
    };
    let entries: Vec<lists::ListItem> = change
        .wanted
        .iter()
        .map(|one| match one {
            WantedParameter::Kept { from, .. } => (Some(*from), text[lists::trim_item(text, &list.pieces[*from])].to_owned()),
            WantedParameter::Added(added) => (None, added.kind.replace('<', "{").replace('>', "}")),
        })
        .collect();
    let made = lists::rewrite_list(text, &list, &entries);
    match made == text[list.inside.clone()] {
        true => Vec::new(),
        false => vec![(list.inside, made)],
    }
}
