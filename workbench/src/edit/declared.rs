//! What a text declares, and whether an edit of one declaration leaves all others what they were.

use super::symbol::{Asked, Refused, Where};
use producers::csharp::ids::{kind_word, member_key, member_kind_word};
use producers::csharp::model::{Span, Syntax, TypeDecl};
use std::collections::{BTreeMap, BTreeSet};

/// A declaration of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    /// What it is to stay.
    pub(super) is: Is,
    /// Where it stands, with its documentation.
    pub(super) span: Span,
    /// Type that it is a member of; empty for a type.
    owner: String,
    /// Its name without what it is in and without parameters.
    simple: String,
    /// Types of its parameters; of a property in an extension block the receiver.
    parameters: Vec<String>,
    /// Whether other parts of it may stand beside it.
    is_partial: bool,
    /// Under which `#if` its type is; empty for a type, which has its own.
    condition_of_owner: String,
}

/// What a declaration is to stay while others are edited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Is {
    /// `Namespace.Type` or `Namespace.Type#Member(int)`; with the kind it makes the identifier.
    pub(super) name: String,
    kind: &'static str,
    doc: String,
    attributes: Vec<String>,
    /// Under which `#if` it is.
    condition: String,
}

/// All declarations of a text, types before their members.
pub(super) fn declared(syntax: &Syntax) -> Vec<Declared> {
    let of = |decl: &TypeDecl| {
        let own = decl.symbol();
        let members = decl.members.iter().map(|member| Declared {
            is: Is {
                name: format!("{own}#{}", member_key(member)),
                kind: member_kind_word(member.kind),
                doc: member.doc.clone(),
                attributes: member.attributes.clone(),
                condition: member.condition.clone(),
            },
            span: member.span,
            owner: own.clone(),
            simple: member.name.clone(),
            parameters: member.parameters.clone(),
            is_partial: is_partial(&member.modifiers),
            condition_of_owner: decl.condition.clone(),
        });
        let members: Vec<Declared> = members.collect();
        let own = Declared {
            is: Is {
                name: own.clone(),
                kind: kind_word(decl.kind),
                doc: decl.doc.clone(),
                attributes: decl.attributes.clone(),
                condition: decl.condition.clone(),
            },
            span: decl.span,
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

fn is_partial(modifiers: &[String]) -> bool {
    modifiers.iter().any(|modifier| modifier == "partial")
}

impl Declared {
    /// Whether it cannot stand beside another one: it declares the same, or a name that only members with parameters can share.
    fn clashes(&self, other: &Self) -> bool {
        let meets = |one: &str, other: &str| one == other || one.is_empty() || other.is_empty();
        if !meets(&self.is.condition, &other.is.condition) || !meets(&self.condition_of_owner, &other.condition_of_owner) {
            return false;
        }
        let is_same = (&self.is.name, &self.parameters) == (&other.is.name, &other.parameters);
        let are_parts = self.is_partial && other.is_partial && self.is.kind == other.is.kind;
        // What an extension block gives to another type has a receiver, and is no name of its own type.
        let takes_name = |one: &Self| !one.overloads() && one.parameters.is_empty();
        let shares_name = (&self.owner, &self.simple) == (&other.owner, &other.simple) && takes_name(self) != takes_name(other);
        is_same && !are_parts || shares_name && self.overloads() != other.overloads()
    }

    /// Whether others may have its name, with other parameters.
    fn overloads(&self) -> bool {
        !matches!(self.is.kind, "field" | "constant" | "enum member" | "property" | "event")
    }
}

fn counted(all: &[Declared]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for one in all {
        *counts.entry(one.is.name.as_str()).or_default() += 1;
    }
    counts
}

/// Every declaration is after the edit what it was before, but for the one that is replaced: that is the same symbol still.
///
/// # Errors
/// When it is not, with what would be otherwise.
pub(super) fn stays(all: &[Declared], found: &Declared, made: &[Declared], asked: &Asked) -> Result<(), Refused> {
    let own = &found.is.name;
    let replaced = asked.at == Where::Replace;
    let within = |one: &Declared| one.is.name.starts_with(&format!("{own}#")) || one.is.name.starts_with(&format!("{own}+"));
    let is_other = |one: &&Declared| !replaced || *one != found && !within(one);
    let mut left: BTreeMap<&Is, usize> = BTreeMap::new();
    for one in made {
        *left.entry(&one.is).or_default() += 1;
    }
    let names = counted(made);
    let (mut gone, mut changed) = (BTreeSet::new(), BTreeSet::new());
    for one in all.iter().filter(is_other) {
        match left.get_mut(&one.is).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None if names.contains_key(one.is.name.as_str()) => drop(changed.insert(one.is.name.as_str())),
            None => drop(gone.insert(one.is.name.as_str())),
        }
    }
    let before = counted(all);
    let is_lost = |one: &&Declared| names.get(one.is.name.as_str()) < before.get(one.is.name.as_str());
    let lost = all.iter().filter(|one| replaced && within(one)).filter(is_lost);
    gone.extend(lost.map(|one| one.is.name.as_str()));
    let list = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    if !gone.is_empty() {
        return Err(Refused::new(
            format!("after it {} would be gone; nothing was changed", list(&gone)),
            "rename and remove with `replace` or `patch`",
        ));
    }
    if !changed.is_empty() {
        return Err(Refused::new(
            format!(
                "it would change documentation, attributes or kind of {}; nothing was changed",
                list(&changed)
            ),
            "give whole declarations, and what belongs to others not at all",
        ));
    }
    let mut is_new = |one: &&Declared| match left.get_mut(&one.is) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    if !replaced {
        let came: Vec<&Declared> = made.iter().filter(|one| is_new(one)).collect();
        let clashing = |one: &Declared| made.iter().find(|other| !std::ptr::eq(*other, one) && one.clashes(other));
        return match came.iter().find_map(|one| clashing(one)) {
            Some(other) => Err(Refused::new(
                format!("there is a {} already; nothing was changed", other.is.name),
                "edit the one that is there, or give another name or other parameters",
            )),
            None => Ok(()),
        };
    }
    let came: Vec<&Declared> = made.iter().filter(|one| !within(one)).filter(|one| is_new(one)).collect();
    let is_same = |one: &Declared| (&one.owner, &one.simple, one.is.kind) == (&found.owner, &found.simple, found.is.kind);
    let Some(same) = came.iter().find(|one| one.is == found.is).or(came.iter().find(|one| is_same(one))) else {
        let came: Vec<String> = came.iter().map(|one| format!("the {} {}", one.is.kind, one.is.name)).collect();
        let instead = if came.is_empty() {
            String::new()
        } else {
            format!(", and {} there", came.join(", "))
        };
        return Err(Refused::new(
            format!("after it the {} {own} would be gone{instead}; nothing was changed", found.is.kind),
            "a symbol keeps its name and kind here: rename, remove and remake with `replace` or `patch`",
        ));
    };
    let more: Vec<&str> = came.iter().filter(|one| one != &same).map(|one| one.is.name.as_str()).collect();
    if !more.is_empty() {
        return Err(Refused::new(
            format!("it would also declare {}; nothing was changed", more.join(", ")),
            "give the one declaration, and insert others before or after it",
        ));
    }
    if same.is.name != *own && before.contains_key(same.is.name.as_str()) {
        return Err(Refused::new(
            format!("there is a {} already; nothing was changed", same.is.name),
            "give it other parameters, or edit the one that is there",
        ));
    }
    if asked.bare && (&same.is.doc, &same.is.attributes) != (&found.is.doc, &found.is.attributes) {
        return Err(Refused::new(
            format!("without its documentation and attributes {own} is replaced, and the text brings some; nothing was changed"),
            "leave them out of the text, or bare",
        ));
    }
    Ok(())
}
