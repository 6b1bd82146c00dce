//! `csharp/signatures`: the members of one type with their types bound, for all code that may use them.
//!
//! Text: first a line for the type (key, kind letter and `p` if it is partial, namespace, identifier, direct bases; for a class with
//! extension methods also the projects that compile it). Then follows a line for each member, indented by a tab: name, flags, number of own
//! type parameters, result and parameters. A member that is called with arguments also has the names of its parameters, the constraints of
//! its type parameters, and its priority among overloads. In place of the names, a constant whose value is that of another type's constant has
//! `KEY#NAME` of that one. The last lines are for the bounds of the type's own type parameters, and for
//! the builder of a collection type. Shapes are as in
//! [`super::shape`]. Of the value of an `int` or `long` constant the text contains the range; it contains no bodies, comments or attributes.

use super::declarations::member_key;
use super::index::NameIndex;
use super::modifiers::Modifiers;
use super::resolve::{Meaning, Resolver, TypeParameter};
use super::shape::Shape;
use super::world::{BOUNDS, BUILDER};
use super::{OWN, Subject, surroundings};
use crate::code::ast::{Parameter, TypeRef};
use crate::code::{self, Signature};
use crate::mention_model::{Declared, MentionPart, Mentions, Place};
use crate::model::MemberKind;
use engine::seams::producer::{Failure, Inputs, Output, Params, Producer, ProducerId, Sees};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::rc::Rc;

/// The producer `csharp/signatures`.
#[derive(Debug)]
pub struct Signatures;

impl Producer for Signatures {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/signatures", 23)
    }

    fn sees(&self, _: &Params) -> Sees {
        OWN
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let Subject { own, mentions, index } = Subject::read(inputs)?;
        Ok(Output::new(member_lines(own, &mentions, &index)))
    }
}

/// Returns the resolver of each part. `constraints`: those of the type's own type parameters.
fn resolvers<'i>(mentions: &'i Mentions, index: &'i NameIndex, constraints: &[(String, TypeRef)]) -> Vec<Resolver<'i>> {
    let is_value = |name: &str| {
        let mut limits = constraints.iter().filter(|(own, _)| own == name);
        limits.any(|(_, limit)| matches!(limit, TypeRef::Predefined(word) if word == "struct"))
    };
    let resolver = |part: &'i MentionPart| {
        let mut resolver = Resolver::new(surroundings(part, mentions, index), index, &part.type_parameters, true);
        for own in &mut resolver.own {
            own.is_value = is_value(&own.name);
        }
        resolver
    };
    mentions.parts.iter().map(resolver).collect()
}

fn member_lines(own: &str, mentions: &Mentions, index: &NameIndex) -> String {
    let constraints = code::header_parameters(&mentions.constraints.join(" "), false).constraints;
    let parts = resolvers(mentions, index, &constraints);
    let id = index.by_key(own).map_or("", |entry| entry.id.as_str());
    let partial = if mentions.partial { "p" } else { "" };
    let mut text = format!("{own}\t{}{partial}\t{}\t{id}\t", mentions.kind, mentions.namespace);
    let mut first = true;
    for base in &mentions.bases {
        let Some(written) = code::type_ref(base) else { continue };
        if let shape @ Shape::Named(..) = shape_of_parts(&parts, &written, Place::Base) {
            if !std::mem::take(&mut first) {
                text.push(' ');
            }
            shape.write(&mut text);
        }
    }
    // The projects that compile its extension methods.
    if mentions.declared.iter().any(|declared| declared.flags.starts_with('x'))
        && let Some(entry) = index.by_key(own)
    {
        text.push('\t');
        text.push_str(
            &entry
                .project
                .iter()
                .chain(&entry.also)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join("|"),
        );
    }
    text.push('\n');
    // A positional parameter declares no property if a base has one of its name. Only readers of all types know the base, so the line gets a mark.
    let records = mentions
        .declared
        .iter()
        .filter(|declared| declared.flags == "h" && declared.signature.starts_with("record"));
    let positional: BTreeSet<String> = records
        .flat_map(|declared| code::header_parameters(&declared.signature, false).parameters)
        .map(|parameter| parameter.name)
        .collect();
    let mut lines: Vec<String> = Vec::with_capacity(mentions.declared.len());
    for declared in &mentions.declared {
        if let Some(resolver) = parts.get(declared.part as usize) {
            let mark = if mentions.kind == 'i' {
                "i"
            } else if declared.flags == "p" && positional.contains(&declared.name) {
                "r"
            } else {
                ""
            };
            lines.push(member_line(own, declared, resolver, mark));
        }
    }
    lines.sort_unstable();
    lines.dedup();
    for line in lines {
        text.push_str(&line);
    }
    text.push_str(&bounds_line(&constraints, &parts));
    text.push_str(&builder_line(mentions, &parts));
    text
}

/// Returns the type that one of the parts writes, as the part reads it that knows most of its names.
fn shape_of_parts(parts: &[Resolver<'_>], written: &TypeRef, place: Place) -> Shape {
    let shapes = parts.iter().map(|part| part.shape_in(written, &[], place, &mut |_, _| {}));
    let undeclared = |shape: &Shape| {
        let mut count = if shape.is_known() { 0 } else { usize::MAX };
        shape.keys(&mut |key| count += usize::from(key.starts_with('^')));
        count
    };
    shapes.min_by_key(undeclared).unwrap_or_default()
}

/// Returns the line for the bounds of the type's own type parameters; empty without one.
fn bounds_line(constraints: &[(String, TypeRef)], parts: &[Resolver<'_>]) -> String {
    let Some(resolver) = parts.first() else { return String::new() };
    let bounds = constraints.iter().filter(|(_, bound)| matches!(bound, TypeRef::Named(_)));
    let bounds = bounds.filter_map(|(name, bound)| {
        let mut text = format!("{} ", resolver.own.iter().rposition(|own| *own.name == *name)?);
        shape_of_parts(parts, bound, Place::Signature).write(&mut text);
        Some(text)
    });
    let bounds: Vec<String> = bounds.collect();
    match bounds.is_empty() {
        true => String::new(),
        false => format!("\t{BOUNDS}\tb\t0\t\t\t\t{}\n", bounds.join(";")),
    }
}

/// Returns the line for the builder of a collection type; empty without one.
fn builder_line(mentions: &Mentions, parts: &[Resolver<'_>]) -> String {
    let builder = mentions.builder.as_ref();
    let Some((builder, written)) = builder.and_then(|builder| Some((builder, code::type_ref(&builder.owner)?))) else {
        return String::new();
    };
    let shapes = parts
        .iter()
        .map(|part| part.shape_in(&written, &[], Place::Argument, &mut |_, _| {}));
    let shape = shapes.reduce(|first, next| if is_declared(&first) { first } else { next });
    let mut text = format!("\t{BUILDER}\tb\t0\t");
    shape.unwrap_or_default().write(&mut text);
    text.push_str(&format!("\t\t{}\n", builder.method));
    text
}

/// Whether the workspace or .NET declares a type.
fn is_declared(shape: &Shape) -> bool {
    shape.key().is_some_and(|key| !key.starts_with('^'))
}

/// Returns the letter of a member with a value: `f` field, `k` constant, `v` event, `e` member of an enum; empty for properties and indexers.
fn value_kind(letter: char, signature: &str) -> &'static str {
    let is_modified = |word: &str| {
        let declaration = signature.split(['{', '<', '(', '[']).next().unwrap_or_default();
        declaration.split(' ').any(|own| own == word)
    };
    match letter {
        'e' => "e",
        'i' => "",
        _ if is_modified("event") => "v",
        _ if signature.ends_with('}') => "",
        _ if is_modified("const") => "k",
        _ => "f",
    }
}

/// Returns the letter of a member's accessibility: `z` its type, `q` also its heirs, `n` its project and friends; empty if all code sees it.
fn access_mark(signature: &str) -> &'static str {
    let declaration = signature.split(['(', '<', '{', '[']).next().unwrap_or_default();
    let has = |word: &str| declaration.split(' ').any(|own| own == word);
    match (has("private"), has("protected"), has("internal")) {
        _ if has("public") => "",
        (true, true, _) | (false, true, false) => "q",
        (_, true, true) => "",
        (_, false, true) => "n",
        _ => "z",
    }
}

/// Reads the signature of a member of this kind.
fn signature_of(letter: char, declared: &Declared) -> Signature {
    let kind = match letter {
        'x' if declared.flags.contains('p') => MemberKind::Property,
        'm' | 'x' => MemberKind::Method,
        'c' => MemberKind::Constructor,
        'o' if declared.flags == "oc" => MemberKind::Conversion,
        'o' => MemberKind::Operator,
        'i' => MemberKind::Indexer,
        'e' => MemberKind::EnumMember,
        _ => MemberKind::Property,
    };
    match letter {
        'h' => code::header_parameters(&declared.signature, false),
        'd' => code::header_parameters(&declared.signature, true),
        _ => code::signature(kind, &declared.signature),
    }
}

/// Writes the types of parameters, each after its modifiers.
fn write_parameters(text: &mut String, parameters: &[Parameter], declared: &Declared, shape: &dyn Fn(&TypeRef) -> Shape) {
    for (at, parameter) in parameters.iter().enumerate() {
        if at > 0 {
            text.push(';');
        }
        let many = parameters.last().is_some_and(|last| last.many);
        let optional = at + usize::from(many) + declared.optional as usize >= parameters.len();
        let modifiers = Modifiers {
            passing: parameter.passing,
            many: parameter.many,
            optional: optional && declared.optional > 0 && !parameter.many,
        };
        text.push_str(&modifiers.written_before_type());
        match &parameter.kind {
            Some(written) => shape(written).write(text),
            None => text.push('?'),
        }
    }
}

fn member_line(own: &str, declared: &Declared, resolver: &Resolver<'_>, mark: &str) -> String {
    let letter = declared.flags.chars().next().unwrap_or('p');
    let Signature {
        result,
        parameters,
        constraints,
        ..
    } = signature_of(letter, declared);
    let numbered = declared.type_parameters.iter().enumerate();
    let methods: Vec<TypeParameter> = numbered
        .map(|(at, name)| TypeParameter::new(name, Shape::Method(at as u32), &constraints))
        .collect();
    let shape = |written: &TypeRef| resolver.shape_in(written, &methods, Place::Signature, &mut |_, _| {});
    let result = match (letter, &result) {
        ('e', _) => Shape::Named(own.into(), Rc::from([])),
        (_, Some(written)) => shape(written),
        _ => Shape::Unknown,
    };
    let seen_by = match letter {
        'i' | 'p' | 'm' if mark.is_empty() => access_mark(&declared.signature),
        _ => "",
    };
    let flags = match letter {
        'i' | 'e' | 'p' => format!(
            "p{seen_by}{}{}{}",
            declared.flags.replace(['i', 'e', 'p'], ""),
            value_kind(letter, &declared.signature),
            declared.range.map(|range| range.digit().to_string()).unwrap_or_default()
        ),
        'c' | 'h' | 'd' => "m".to_owned(),
        'o' => "os".to_owned(),
        'm' => declared.flags.replacen('m', &format!("m{seen_by}"), 1),
        _ => declared.flags.clone(),
    };
    let mut text = format!("\t{}\t{flags}{mark}\t{}\t", declared.name, declared.type_parameters.len());
    result.write(&mut text);
    text.push('\t');
    write_parameters(&mut text, &parameters, declared, &shape);
    if matches!(letter, 'm' | 'x' | 'c' | 'h') && !parameters.is_empty() {
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.trim_start_matches('@')).collect();
        text.push('\t');
        text.push_str(&names.join(";"));
        let limits = limits(declared, &constraints, &shape);
        if !limits.is_empty() || declared.priority != 0 {
            text.push('\t');
            text.push_str(&limits.join(";"));
        }
        if declared.priority != 0 {
            _ = write!(text, "\t{}", declared.priority);
        }
    }
    if let Some(origin) = origin_key(&declared.origin, resolver) {
        text.push('\t');
        text.push_str(&origin);
    }
    text.push('\n');
    text
}

/// Returns `KEY#NAME` of the constant that a path such as `Limits.Most` means.
fn origin_key(path: &str, resolver: &Resolver<'_>) -> Option<String> {
    let (owner, name) = path.rsplit_once('.')?;
    let Some(TypeRef::Named(names)) = code::type_ref(owner) else {
        return None;
    };
    match resolver.meaning(&names, 0, Place::Signature) {
        Meaning::Type(key, 0) => Some(member_key(&key, name)),
        _ => None,
    }
}

/// Returns the constraints of type parameters: the number of each, and `class`, `struct` or a base.
fn limits(declared: &Declared, types: &[(String, TypeRef)], shape: &dyn Fn(&TypeRef) -> Shape) -> Vec<String> {
    let own = |name: &str| declared.type_parameters.iter().position(|own| own == name);
    let mut limits: Vec<String> = Vec::new();
    for (name, written) in types {
        let is_word = matches!(written, TypeRef::Named(segments) if matches!(segments.as_slice(), [only] if only.word.text == "notnull"));
        let Some(at) = own(name).filter(|_| !is_word) else { continue };
        let mut text = format!("{at} ");
        match written {
            TypeRef::Predefined(word) => text.push_str(word),
            written => shape(written).write(&mut text),
        }
        limits.push(text);
    }
    limits
}
