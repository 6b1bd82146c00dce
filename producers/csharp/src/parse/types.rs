//! Parses the header of one type declaration from its tokens: type parameters, primary constructor, bases, constraints.

use super::header::{
    Opening, attributed_or_plain, constraints, is_where, join_body, opening, parameters, signature, type_parameters, without_at_sign,
};
use super::tokens::Tokens;
use crate::model::{Member, MemberKind, TypeDecl, TypeKind};
use std::ops::Range;

/// A type declaration without its members, and the properties that its positional parameters declare.
pub(crate) struct Header {
    /// The declaration; the caller sets `namespace` and `path`.
    pub(crate) decl: TypeDecl,
    /// Each property with the tokens of its type.
    pub(crate) positional: Vec<(Member, Range<usize>)>,
}

/// Parses the declaration in `range` with its simple name at `name`. `members` is the first token of the member list, if any. `None` if the
/// name does not follow the modifiers, because grammar and lexer disagree.
pub(crate) fn parse_type_header(
    tokens: &Tokens<'_>,
    kind: TypeKind,
    range: &Range<usize>,
    name: usize,
    members: Option<usize>,
) -> Option<Header> {
    let Opening {
        mut attributes,
        mut modifiers,
        start,
        after,
    } = opening(tokens, range);
    if !(after..range.end).contains(&name) || !tokens.is_word(name) {
        return None;
    }
    attributes.sort();
    let kind = record_kind(tokens, kind, start, name);
    let mut end = members.unwrap_or(range.end).min(range.end);
    if members.is_none() && end > name && tokens.is(end - 1, ";") {
        end -= 1;
    }
    let (generics, mut at) = type_parameters(tokens, name + 1, end);
    let mut list = Default::default();
    if tokens.is(at, "(")
        && let Some(close) = tokens.mate(at).filter(|close| *close < end)
    {
        list = parameters(tokens, at, close);
        at = close + 1;
    }
    let super::header::Parameters {
        each,
        attributed,
        defaults,
        signature: parameter_text,
        ..
    } = list;
    let head = &tokens.all[start..name + 1];
    let attributed = if attributed.is_empty() && generics.attributed.is_empty() {
        String::new()
    } else {
        let generics = attributed_or_plain(&generics.attributed, &generics.signature);
        self::signature(tokens, &[head, generics, attributed_or_plain(&attributed, &parameter_text)])
    };
    let signature = signature(tokens, &[head, &generics.signature, &parameter_text]);
    let is_readonly = modifiers.iter().any(|modifier| modifier == "readonly");
    modifiers.sort();
    let clauses = tokens.find_outside_brackets(at..end, |at| is_where(tokens, at)).unwrap_or(end);
    let (bases, arguments) = bases(tokens, at..clauses);
    let mut parts = defaults;
    parts.extend(arguments);
    let accessors = accessors_of_positional(kind, is_readonly);
    let positional = accessors.map_or_else(Vec::new, |accessors| {
        each.iter().map(|parameter| positional(tokens, parameter, accessors)).collect()
    });
    let decl = TypeDecl {
        of: Vec::new(),
        not_of: Vec::new(),
        namespace: String::new(),
        path: String::new(),
        name: without_at_sign(tokens.text(name)).to_owned(),
        kind,
        type_parameters: generics.names,
        modifiers,
        attributes,
        signature,
        bases,
        constraints: constraints(tokens, clauses..end),
        body: join_body(&parts),
        doc: tokens.doc(range.start),
        span: tokens.span(range),
        names: Vec::new(),
        members: Vec::new(),
        condition: String::new(),
        attributed,
    };
    Some(Header { decl, positional })
}

/// Returns the accessors of properties that parameters declare; `None` if they declare none.
fn accessors_of_positional(kind: TypeKind, is_readonly: bool) -> Option<&'static str> {
    match kind {
        TypeKind::RecordStruct if !is_readonly => Some("{ get; set; }"),
        TypeKind::Record | TypeKind::RecordStruct => Some("{ get; init; }"),
        _ => None,
    }
}

fn record_kind(tokens: &Tokens<'_>, kind: TypeKind, start: usize, name: usize) -> TypeKind {
    let is_struct = (start..name).any(|at| tokens.is(at, "struct"));
    if kind == TypeKind::Record && is_struct {
        TypeKind::RecordStruct
    } else {
        kind
    }
}

/// Returns the entries of a base list, and the arguments of a base constructor.
fn bases(tokens: &Tokens<'_>, range: Range<usize>) -> (Vec<String>, Vec<String>) {
    let mut bases = Vec::new();
    let mut arguments = Vec::new();
    if !tokens.is(range.start, ":") {
        return (bases, arguments);
    }
    for part in tokens.split_range(range.start + 1..range.end) {
        let call = if tokens.is(part.start, "(") {
            part.end
        } else {
            tokens
                .find_outside_brackets(part.clone(), |at| tokens.is(at, "("))
                .unwrap_or(part.end)
        };
        bases.push(tokens.canonical(part.start..call));
        arguments.push(tokens.canonical(call..part.end));
    }
    (bases, arguments)
}

/// Returns the property that a record's positional parameter declares.
fn positional(tokens: &Tokens<'_>, parameter: &super::header::Parameter, accessors: &str) -> (Member, Range<usize>) {
    let kind = tokens.canonical(parameter.kind.clone());
    let mut attributes: Vec<String> = parameter
        .attributes
        .iter()
        .filter_map(|attribute| attribute.strip_prefix("property: ").map(str::to_owned))
        .collect();
    attributes.sort();
    let member = Member {
        kind: MemberKind::Property,
        name: parameter.name.clone(),
        arity: 0,
        parameters: Vec::new(),
        modifiers: vec!["public".to_owned()],
        attributes,
        signature: format!("public {kind} {} {accessors}", parameter.name),
        body: String::new(),
        doc: String::new(),
        span: tokens.span(&parameter.range),
        names: Vec::new(),
        type_parameters: Vec::new(),
        has_value: false,
        condition: String::new(),
        attributed: String::new(),
    };
    (member, parameter.kind.clone())
}
