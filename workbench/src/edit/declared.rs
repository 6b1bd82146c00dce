//! Declarations of a text, and the check that an edit of one declaration leaves all others unchanged and in place.

use super::lines::split;
use super::symbol::Refused;
use producers::csharp::ids::{kind_word, member_key, member_kind_word};
use producers::csharp::model::{Span, Syntax, TypeDecl};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A declaration of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    /// Properties that edits of other declarations must not change.
    pub(crate) is: DeclarationProperties,
    /// First line, from 1.
    pub(crate) line: u32,
    /// Byte range in the text, with its documentation.
    pub(crate) range: Range<usize>,
    /// Containing type; empty for a type.
    pub(crate) owner: String,
    /// Name of a member without its type and parameters; full name of a type.
    pub(crate) simple: String,
    /// Parameter types; for a property in an extension block, the receiver.
    parameters: Vec<String>,
    /// Whether the declaration is `partial`, so that other parts may exist.
    is_partial: bool,
    /// `#if` condition of the containing type; empty for a type.
    condition_of_owner: String,
}

/// Properties of a declaration that edits of others must not change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeclarationProperties {
    /// `Namespace.Type` or `Namespace.Type#Member(int)`; together with the kind, the identifier.
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    doc: String,
    attributes: Vec<String>,
    /// `#if` condition of the declaration.
    condition: String,
}

/// Returns the names of all declarations of a text, compiled without `#if` symbols: `Namespace.Type` and `Namespace.Type#Member(int)`.
pub(crate) fn declared_names(text: &str) -> BTreeSet<String> {
    let syntax = super::symbol::parse_code(text, &BTreeSet::new());
    list_declarations(text, &syntax).into_iter().map(|one| one.is.name).collect()
}

/// Returns all declarations of a parsed text; each type precedes its members.
pub(crate) fn list_declarations(text: &str, syntax: &Syntax) -> Vec<Declared> {
    let lines = starts(text);
    // Spans count bytes within lines, so normalized line ends do not shift them.
    let bytes = |span: &Span| {
        let line = |number: u32| lines.get((number as usize).wrapping_sub(1)).copied().unwrap_or(text.len());
        let end = (line(span.last) + span.to as usize).min(text.len());
        (line(span.first) + span.from as usize).min(end)..end
    };
    let of = |decl: &TypeDecl| {
        let own = decl.symbol();
        let members = decl.members.iter().map(|member| Declared {
            is: DeclarationProperties {
                name: format!("{own}#{}", member_key(member)),
                kind: member_kind_word(member.kind),
                doc: member.doc.clone(),
                attributes: member.attributes.clone(),
                condition: member.condition.clone(),
            },
            line: member.span.first,
            range: bytes(&member.span),
            owner: own.clone(),
            simple: member.name.clone(),
            parameters: member.parameters.clone(),
            is_partial: is_partial(&member.modifiers),
            condition_of_owner: decl.condition.clone(),
        });
        let members: Vec<Declared> = members.collect();
        let own = Declared {
            is: DeclarationProperties {
                name: own.clone(),
                kind: kind_word(decl.kind),
                doc: decl.doc.clone(),
                attributes: decl.attributes.clone(),
                condition: decl.condition.clone(),
            },
            line: decl.span.first,
            range: bytes(&decl.span),
            owner: String::new(),
            simple: own,
            parameters: Vec::new(),
            is_partial: is_partial(&decl.modifiers),
            condition_of_owner: String::new(),
        };
        std::iter::once(own).chain(members)
    };
    syntax.types.iter().flat_map(of).collect()
}

/// Returns the offsets at which lines start.
fn starts(text: &str) -> Vec<usize> {
    let begin = |at: &mut usize, line: &str| {
        let start = *at;
        *at += line.len();
        Some(start)
    };
    split(text).scan(0, begin).collect()
}

fn is_partial(modifiers: &[String]) -> bool {
    modifiers.iter().any(|modifier| modifier == "partial")
}

impl Declared {
    /// Whether two declarations cannot coexist: same name and parameters, or a shared name that one of them cannot overload.
    pub(crate) fn clashes(&self, other: &Self) -> bool {
        let meets = |one: &str, other: &str| one == other || one.is_empty() || other.is_empty();
        if !meets(&self.is.condition, &other.is.condition) || !meets(&self.condition_of_owner, &other.condition_of_owner) {
            return false;
        }
        let is_same = (&self.is.name, &self.parameters) == (&other.is.name, &other.parameters);
        let are_parts = self.is_partial && other.is_partial && self.is.kind == other.is.kind;
        // A member of an extension block has a receiver, and does not take a name in its own type.
        let takes_name = |one: &Self| !one.overloads() && one.parameters.is_empty();
        let shares_name = (&self.owner, &self.simple) == (&other.owner, &other.simple) && takes_name(self) != takes_name(other);
        is_same && !are_parts || shares_name && self.overloads() != other.overloads()
    }

    /// Whether `other` is this declaration or inside this type.
    fn has(&self, other: &Self) -> bool {
        self == other || self.owner.is_empty() && encloses(&self.range, other)
    }

    /// Whether members with the same name and other parameters are allowed.
    fn overloads(&self) -> bool {
        !matches!(self.is.kind, "field" | "constant" | "enum member" | "property" | "event")
    }
}

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

/// Whether a range contains a whole declaration.
pub(super) fn encloses(outer: &Range<usize>, inner: &Declared) -> bool {
    outer.start <= inner.range.start && inner.range.end <= outer.end
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
