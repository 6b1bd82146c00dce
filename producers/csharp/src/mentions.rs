//! `csharp/mentions`: the names that a type uses and their context; most body edits stop at this node.
//!
//! `keys` lists the rows of `//index:symbols` that decide the meaning of the names:
//! - every simple name on a path, and its `…Attribute` form for attributes;
//! - every word of bodies, and every name in references of documentation;
//! - `ns:` rows for the namespaces of using directives;
//! - `using:` rows for every directory above a part (the index knows which of them has a project);
//! - `using:` rows for the project after `@` in the type's key;
//! - the type's own name.

use super::code;
use super::collection_builder::collection_builder;
use super::complete::{self, Complete, Part, PlacedMember};
use super::defaults;
use super::deps::crefs;
use super::deps::flow::is_explicit_disposal;
use super::flags::{check_flags, flag};
use super::mention_model::{Declared, MentionName, MentionPart, MentionUsing, Mentions, Place};
use super::model::{MemberKind, NameUse, TypeKind};
use super::namespaces::{join_path, levels, segments};
use super::own_constants::OwnConstants;
use super::priority::priority;
use super::project_ownership::ancestors;
use super::types::scope_of;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Sees};
use engine::values::json;
use std::collections::BTreeSet;

/// Words that name built-in types or take the position of a type, and are never declared.
const BUILT_IN: [&str; 23] = [
    "bool", "byte", "sbyte", "short", "ushort", "int", "uint", "long", "ulong", "nint", "nuint", "char", "float", "double", "decimal",
    "string", "object", "void", "dynamic", "var", "this", "base", "nameof",
];

/// The producer `csharp/mentions`.
#[derive(Debug)]
pub struct MentionsOf;

impl Producer for MentionsOf {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/mentions", 18)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &["bodies"])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let whole = complete::decode_complete(inputs.single("complete")?)?;
        let scope = inputs.var("type").and_then(scope_of).unwrap_or_default();
        Ok(Output::new(json::encode(&mentions(
            &whole,
            scope,
            flag(inputs.params, "bodies", true),
        ))))
    }
}

/// Returns the mentions of a type's declarations; with `bodies`, the keys include words of code and of references in documentation.
fn mentions(whole: &Complete, scope: &str, bodies: bool) -> Mentions {
    let parts: Vec<MentionPart> = whole
        .parts
        .iter()
        .enumerate()
        .map(|(at, part)| mention_part(whole, part, at))
        .collect();
    let mut keys = BTreeSet::new();
    if !scope.is_empty() {
        keys.insert(format!("using:@{scope}"));
    }
    for part in &parts {
        part_keys(part, &whole.namespace, &mut keys);
    }
    let docs = || std::iter::once(&whole.doc).chain(whole.members.iter().map(|placed| &placed.member.doc));
    let mut references = BTreeSet::new();
    if bodies {
        keys.extend(body_words(whole).into_iter().map(str::to_owned));
        keys.extend(attributes_in_bodies(whole));
        for xml in docs() {
            keys.extend(crefs::names_in_documentation(xml).filter(|word| !BUILT_IN.contains(&word.as_str())));
            references.extend(crefs::references(xml).into_iter().map(|range| xml[range].to_owned()));
        }
    }
    let constants = OwnConstants::from_type(whole);
    let declared = whole.members.iter().filter_map(|placed| declared_member(placed, &constants));
    let declared: Vec<Declared> = declared.chain(header_constructor(whole)).collect();
    let origins = declared.iter().filter_map(|declared| declared.origin.rsplit_once('.'));
    keys.extend(origins.flat_map(|(owner, _)| owner.split('.')).map(str::to_owned));
    Mentions {
        symbol: whole.symbol.clone(),
        scope: scope.to_owned(),
        namespace: whole.namespace.clone(),
        kind: kind_letter(whole),
        partial: whole.modifiers.iter().any(|word| word == "partial"),
        keys: keys.into_iter().collect(),
        bases: whole.bases.clone(),
        constraints: whole.constraints.clone(),
        inherits_docs: docs().any(|xml| xml.contains("<inheritdoc")),
        references,
        builder: collection_builder(&whole.attributes),
        declared,
        parts,
    }
}

/// Returns all words of bodies, initializers and attribute arguments, and the names that loops, `using` and indexes use implicitly.
fn body_words(whole: &Complete) -> Vec<&str> {
    let of_members = whole
        .members
        .iter()
        .flat_map(|placed| std::iter::once(&placed.member.body).chain(&placed.member.attributes));
    // Only attributes are code within a header.
    let headers = whole
        .members
        .iter()
        .map(|placed| &placed.member.attributed)
        .chain([&whole.attributed]);
    let headers = headers.filter(|header| !code::attributes_in_header(header).is_empty());
    let texts = of_members
        .chain(&whole.bodies)
        .chain(&whole.attributes)
        .chain(headers)
        .map(String::as_str);
    let mut words = code::distinct_names(texts.clone());
    if texts.clone().any(|text| text.contains("foreach")) {
        words.extend(["Current", "GetEnumerator"]);
    }
    if texts.clone().any(|text| text.contains("using")) {
        words.extend(["Dispose", "DisposeAsync"]);
    }
    if texts.clone().any(|text| text.contains('[')) {
        words.push("this[]");
    }
    if texts.clone().any(|text| text.contains('^')) {
        words.push("Index");
    }
    words
}

/// Returns the full names of the classes whose suffix `Attribute` the attributes inside bodies may omit.
fn attributes_in_bodies(whole: &Complete) -> BTreeSet<String> {
    let bodies = whole.members.iter().map(|placed| placed.member.body.as_str());
    let texts = bodies.chain(whole.bodies.iter().map(String::as_str));
    let attributes = texts.flat_map(code::attributes_in_body);
    attributes.map(|name| format!("{name}Attribute")).collect()
}

fn kind_letter(whole: &Complete) -> char {
    match whole.kind {
        TypeKind::Class | TypeKind::Record if whole.modifiers.iter().any(|word| word == "static") => 't',
        TypeKind::Class | TypeKind::Record => 'c',
        TypeKind::Struct | TypeKind::RecordStruct => 's',
        TypeKind::Interface => 'i',
        TypeKind::Enum => 'e',
        TypeKind::Delegate => 'd',
    }
}

fn declared_member(placed: &PlacedMember, constants: &OwnConstants<'_>) -> Option<Declared> {
    let member = &placed.member;
    let is_static = member.modifiers.iter().any(|word| word == "static") || member.kind == MemberKind::Constant;
    let of_block = is_of_block(&member.signature, &member.name);
    let letter = match member.kind {
        MemberKind::Method | MemberKind::Property | MemberKind::Operator if of_block => "x",
        MemberKind::Method if is_extension(&member.signature) => "x",
        MemberKind::Method => "m",
        MemberKind::Constructor if is_static => return None,
        MemberKind::Constructor => "c",
        MemberKind::Indexer => "i",
        MemberKind::EnumMember => "e",
        MemberKind::Field | MemberKind::Constant | MemberKind::Property | MemberKind::Event => "p",
        MemberKind::Operator | MemberKind::Conversion => "o",
        MemberKind::Finalizer => return None,
    };
    if member.name.contains('.') && member.kind != MemberKind::Constructor && !is_explicit_disposal(&member.name) {
        // Code calls an explicit implementation through the interface's member, except with `using`.
        return None;
    }
    Some(Declared {
        part: placed.part,
        name: member.name.clone(),
        flags: match (letter, member.kind) {
            ("x", MemberKind::Property) if is_static => "xspt".to_owned(),
            ("x", MemberKind::Property) => "xsp".to_owned(),
            ("x", MemberKind::Operator) => format!("xo{}", if is_static { "s" } else { "" }),
            ("x", _) if of_block && is_static => "xst".to_owned(),
            ("o", MemberKind::Conversion) => "oc".to_owned(),
            ("e" | "x", _) => format!("{letter}s"),
            _ => format!("{letter}{}", if is_static { "s" } else { "" }),
        },
        type_parameters: member.type_parameters.clone(),
        signature: member.signature.clone(),
        optional: defaults::count_defaults(&member.body),
        priority: priority(&member.attributes),
        range: constants.range_of(member),
        origin: constants.path_of_origin(member).unwrap_or_default(),
    })
}

fn is_extension(signature: &str) -> bool {
    // `ref this T`, `[A] this T`: in a method's signature, `this` can only be the modifier.
    signature.contains("(this ") || signature.contains(" this ")
}

/// Whether a member belongs to an extension block: `bool extension(string s).IsBlank()`, `V extension(V).operator +(V a, V b)`.
fn is_of_block(signature: &str, name: &str) -> bool {
    let is_named = signature.contains(&format!(").{name}")) || name.starts_with("op_") && signature.contains(").operator");
    is_named && (signature.contains(" extension(") || signature.contains(" extension<"))
}

/// Returns the constructor, or the delegate signature, that a type's header declares.
fn header_constructor(whole: &Complete) -> Option<Declared> {
    let delegate = whole.kind == TypeKind::Delegate;
    (delegate || whole.header.contains('(') && !matches!(whole.kind, TypeKind::Enum)).then(|| Declared {
        part: 0,
        name: if delegate { "Invoke" } else { ".ctor" }.to_owned(),
        flags: if delegate { "d" } else { "h" }.to_owned(),
        type_parameters: Vec::new(),
        signature: whole.header.clone(),
        optional: whole.bodies.iter().map(|body| defaults::count_defaults(body)).max().unwrap_or(0),
        priority: 0,
        range: None,
        origin: String::new(),
    })
}

fn mention_part(whole: &Complete, part: &Part, at: usize) -> MentionPart {
    let in_effect = |level: &str| {
        level.is_empty() || whole.namespace == level || whole.namespace.strip_prefix(level).is_some_and(|rest| rest.starts_with('.'))
    };
    let usings = part.usings.iter().filter(|using| in_effect(&using.namespace));
    let usings = usings.map(|using| MentionUsing {
        alias: using.alias.clone(),
        target: using.target.clone(),
        is_static: using.is_static,
        level: using.namespace.clone(),
    });
    let prefix = |path: &str| {
        if whole.namespace.is_empty() {
            path.to_owned()
        } else {
            format!("{}.{path}", whole.namespace)
        }
    };
    let mut enclosing: Vec<String> = part.enclosing.iter().map(|outer| prefix(&outer.path)).collect();
    enclosing.push(whole.symbol.clone());

    let outer: BTreeSet<&str> = part
        .enclosing
        .iter()
        .flat_map(|outer| &outer.type_parameters)
        .chain(&whole.type_parameters)
        .map(String::as_str)
        .collect();
    let members: BTreeSet<&str> = whole.members.iter().map(|placed| placed.member.name.as_str()).collect();
    let mut names = BTreeSet::new();
    let mut take = |used: &NameUse, own: &[String]| {
        let path = used.path.as_str();
        let parameter = used.arity == 0 && (outer.contains(path) || own.iter().any(|name| name == path));
        let first = path.split(['.', ':', '`']).next().unwrap_or(path);
        let member = !used.certain && members.contains(first);
        if !parameter && !member && !BUILT_IN.contains(&path) && !path.is_empty() {
            names.insert(MentionName {
                path: path.to_owned(),
                arity: used.arity,
                place: used.place.into(),
                certain: used.certain,
            });
        }
    };
    part.names.iter().for_each(|used| take(used, &[]));
    for placed in whole.members.iter().filter(|placed| placed.part as usize == at) {
        placed
            .member
            .names
            .iter()
            .for_each(|used| take(used, &placed.member.type_parameters));
    }
    MentionPart {
        file: part.file.clone(),
        usings: usings.collect(),
        enclosing,
        type_parameters: part
            .enclosing
            .iter()
            .flat_map(|outer| &outer.type_parameters)
            .chain(&whole.type_parameters)
            .cloned()
            .collect(),
        names: names.into_iter().collect(),
        of: part.of.clone(),
    }
}

fn part_keys(part: &MentionPart, namespace: &str, keys: &mut BTreeSet<String>) {
    let path_keys = |path: &str, keys: &mut BTreeSet<String>| {
        for segment in segments(path) {
            keys.insert(segment.to_owned());
        }
    };
    for name in &part.names {
        path_keys(&name.path, keys);
        if name.place == Place::Attribute {
            let last = name.path.rsplit(['.', ':']).next().unwrap_or(&name.path);
            keys.insert(format!("{last}Attribute"));
        }
    }
    for using in &part.usings {
        if using.alias.is_some() || using.is_static {
            keys.extend(
                code::distinct_names(std::iter::once(using.target.as_str()))
                    .into_iter()
                    .map(str::to_owned),
            );
        } else {
            for level in levels(&using.level) {
                keys.insert(format!("ns:{}", join_path(level, &using.target)));
            }
        }
    }
    for around in &part.enclosing {
        path_keys(around.strip_prefix(namespace).unwrap_or(around), keys);
    }
    keys.extend(part.of.iter().map(|project| format!("using:@{project}")));
    // A file owned by another project than the nearest has a row of its own.
    keys.insert(format!("using:{}", part.file));
    for above in ancestors(&part.file) {
        keys.insert(format!("using:{above}"));
    }
    keys.insert("using:?".to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::member;

    #[test]
    fn extension_methods_old_and_new() {
        let flags = |signature: &str, modifiers: &[&str]| {
            let mut method = member(MemberKind::Method, "Go", signature, "{ }");
            method.modifiers = modifiers.iter().map(|word| (*word).to_owned()).collect();
            let placed = PlacedMember {
                part: 0,
                member: method,
                others: None,
            };
            declared_member(&placed, &OwnConstants::default()).map(|declared| declared.flags)
        };
        assert_eq!(flags("static void Go(this string s)", &["static"]).as_deref(), Some("xs"));
        for modifiers in ["ref this", "in this", "this ref", "this in", "ref readonly this", "scoped ref this"] {
            let signature = format!("static void Go({modifiers} S s)");
            assert_eq!(flags(&signature, &["static"]).as_deref(), Some("xs"), "{signature}");
        }
        assert_eq!(flags("void extension(string s).Go()", &[]).as_deref(), Some("xs"));
        assert_eq!(
            flags("void extension<T>(List<T> s).Go(int x) where T : class", &[]).as_deref(),
            Some("xs")
        );
        assert_eq!(flags("static void extension(string).Go()", &["static"]).as_deref(), Some("xst"));
        assert_eq!(flags("void Go(int extension)", &[]).as_deref(), Some("m"));
    }
}
