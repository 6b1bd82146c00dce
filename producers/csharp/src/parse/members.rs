//! Parses one member declaration from its tokens: name, parameters, signature, body.
//!
//! The grammar provides only the form of the member and the token of its name; texts come from tokens.

use super::header::{
    Opening, attributed_or_plain, body_text, header_end, join_body, opening, parameters, signature, type_parameters, without_at_sign,
};
use super::tokens::Tokens;
use crate::keywords::is_reserved;
use crate::lexer::Token;
use crate::model::{Member, MemberKind};
use std::ops::Range;

/// Forms of member declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Field,
    EventField,
    Method,
    Constructor,
    Finalizer,
    Property,
    Indexer,
    Event,
    Operator,
    Conversion,
    EnumMember,
}

/// The receiver of an extension block, passed to each member inside.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// `extension<T>(List<T> source)`.
    pub(crate) header: String,
    /// `where` clauses, canonical; empty without constraints.
    pub(crate) constraints: String,
    /// Its type as written.
    pub(crate) kind: String,
    /// Type parameters of the block.
    pub(crate) type_parameters: Vec<String>,
}

impl Receiver {
    /// Returns a signature with the receiver before the member's name: `public bool extension(string s).IsBlank { get; }`.
    fn before(&self, signature: &str, before_name: &str) -> String {
        if signature.is_empty() {
            return String::new();
        }
        let name = signature.strip_prefix(before_name).unwrap_or(signature).trim_start();
        let mut text = String::new();
        for part in [before_name, &format!("{}.{name}", self.header), &self.constraints] {
            if !text.is_empty() && !part.is_empty() {
                text.push(' ');
            }
            text.push_str(part);
        }
        text
    }
}

/// Returns the members that a declaration declares: one, or one per declarator.
pub(crate) fn parse_members(
    tokens: &Tokens<'_>,
    form: Form,
    range: &Range<usize>,
    name: Option<usize>,
    receiver: Option<&Receiver>,
) -> Vec<Member> {
    let opening = opening(tokens, range);
    let start = opening.start;
    let mut members = match form {
        Form::Field | Form::EventField => declarators(tokens, form, range, opening),
        Form::EnumMember => name.map(|name| enum_member(tokens, range, name, opening)).into_iter().collect(),
        Form::Property | Form::Indexer | Form::Event => property(tokens, form, range, name, opening).into_iter().collect(),
        Form::Method | Form::Constructor | Form::Finalizer | Form::Operator | Form::Conversion => {
            callable(tokens, form, range, name, opening).into_iter().collect::<Vec<_>>()
        }
    };
    let before_name = name
        .or_else(|| tokens.find_outside_brackets(start..range.end, |at| matches!(tokens.text(at), "operator" | "this")))
        .filter(|name| *name > start)
        .map(|name| tokens.canonical(start..name));
    for member in &mut members {
        if let Some(receiver) = receiver {
            member.parameters.insert(0, receiver.kind.clone());
            for text in [&mut member.signature, &mut member.attributed] {
                *text = receiver.before(text, before_name.as_deref().unwrap_or_default());
            }
            member.type_parameters.extend(receiver.type_parameters.iter().cloned());
        }
        member.doc = tokens.doc(range.start);
    }
    members
}

/// Returns a member with the fields that all forms share.
fn blank(tokens: &Tokens<'_>, kind: MemberKind, range: &Range<usize>, opening: Opening) -> Member {
    let Opening {
        mut attributes,
        mut modifiers,
        ..
    } = opening;
    attributes.sort();
    modifiers.sort();
    Member {
        kind,
        name: String::new(),
        arity: 0,
        parameters: Vec::new(),
        modifiers,
        attributes,
        signature: String::new(),
        body: String::new(),
        doc: String::new(),
        span: tokens.span(range),
        names: Vec::new(),
        type_parameters: Vec::new(),
        has_value: false,
        condition: String::new(),
        attributed: String::new(),
    }
}

/// Parses fields, constants and field-like events.
fn declarators(tokens: &Tokens<'_>, form: Form, range: &Range<usize>, opening: Opening) -> Vec<Member> {
    let end = if tokens.is(range.end - 1, ";") { range.end - 1 } else { range.end };
    let constant = opening.modifiers.iter().any(|modifier| modifier == "const");
    let kind = match form {
        Form::EventField => MemberKind::Event,
        _ if constant => MemberKind::Constant,
        _ => MemberKind::Field,
    };
    let parts = declarations(tokens, opening.after..end.max(opening.after));
    let mut members = Vec::with_capacity(parts.len());
    let Some(first) = parts.first() else { return members };
    let Some(head) = declarator_name(tokens, first) else {
        return members;
    };
    let shared: Vec<Token> = tokens.all[opening.start..head].to_vec();
    let (mut attributes, mut modifiers) = (opening.attributes, opening.modifiers);
    attributes.sort();
    modifiers.sort();
    for (index, part) in parts.iter().enumerate() {
        let name = if index == 0 { head } else { part.start };
        let value = tokens
            .find_outside_brackets(name..part.end, |at| tokens.is(at, "="))
            .unwrap_or(part.end);
        let mut member = blank(
            tokens,
            kind,
            range,
            Opening {
                attributes: attributes.clone(),
                modifiers: modifiers.clone(),
                start: 0,
                after: 0,
            },
        );
        member.name = without_at_sign(tokens.text(name)).to_owned();
        member.signature = signature(tokens, &[&shared, &tokens.all[name..value]]);
        member.body = if value < part.end {
            tokens.canonical(value + 1..part.end)
        } else {
            String::new()
        };
        member.has_value = value < part.end;
        members.push(member);
    }
    members
}

/// Splits a list of declarators; a query extends to the end.
fn declarations(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = tokens.split_range(range.clone());
    let queries = |part: &Range<usize>| {
        let value = tokens.find_outside_brackets(part.clone(), |at| tokens.is(at, "="));
        value.is_some_and(|value| super::hidden_code::is_query(tokens, value + 1))
    };
    if let Some(query) = parts.iter().position(queries) {
        parts.truncate(query + 1);
        parts[query].end = range.end;
    }
    parts
}

/// Returns the name in the first declarator of `type name [= value]` (`fixed byte name[16]`).
fn declarator_name(tokens: &Tokens<'_>, part: &Range<usize>) -> Option<usize> {
    let mut end = tokens
        .find_outside_brackets(part.clone(), |at| tokens.is(at, "="))
        .unwrap_or(part.end);
    if end > part.start
        && tokens.is(end - 1, "]")
        && let Some(open) = tokens.mate(end - 1)
    {
        end = open;
    }
    let name = end.checked_sub(1).filter(|name| *name >= part.start)?;
    (tokens.is_word(name) && !is_reserved(tokens.text(name))).then_some(name)
}

fn enum_member(tokens: &Tokens<'_>, range: &Range<usize>, name: usize, opening: Opening) -> Member {
    let mut member = blank(tokens, MemberKind::EnumMember, range, opening);
    member.name = without_at_sign(tokens.text(name)).to_owned();
    member.signature = tokens.canonical(name..name + 1);
    if tokens.is(name + 1, "=") {
        member.body = tokens.canonical(name + 2..range.end);
        member.has_value = true;
    }
    member
}

/// Parses methods, constructors, finalizers, operators and conversions.
fn callable(tokens: &Tokens<'_>, form: Form, range: &Range<usize>, name: Option<usize>, opening: Opening) -> Option<Member> {
    let (kind, at) = match form {
        Form::Operator => (
            MemberKind::Operator,
            tokens.find_outside_brackets(opening.after..range.end, |at| tokens.is(at, "operator"))?,
        ),
        Form::Conversion => (
            MemberKind::Conversion,
            tokens.find_outside_brackets(opening.after..range.end, |at| tokens.is(at, "operator"))?,
        ),
        Form::Constructor => (MemberKind::Constructor, name?),
        Form::Finalizer => (MemberKind::Finalizer, name?),
        _ => (MemberKind::Method, name?),
    };
    let is_static = opening.modifiers.iter().any(|modifier| modifier == "static");
    let start = opening.start;
    let mut member = blank(tokens, kind, range, opening);
    let after_name = match form {
        // The parameter list is the first round bracket after the operator's symbol. The type of a conversion may contain a tuple, so there it is
        // the last round bracket before the body.
        Form::Operator => tokens.find_outside_brackets(at + 1..range.end, |at| tokens.is(at, "("))?,
        Form::Conversion => conversion_parameters(tokens, at, range.end)?,
        _ => at + 1,
    };
    let (generics, open) = type_parameters(tokens, after_name, range.end);
    let close = tokens
        .is(open, "(")
        .then(|| tokens.mate(open))
        .flatten()
        .filter(|close| *close < range.end)?;
    let list = parameters(tokens, open, close);
    let header_end = header_end(tokens, close + 1..range.end);
    // `: base(…)` belongs to the constructor's implementation.
    let readable = match form {
        Form::Constructor => close + 1,
        _ => header_end,
    };
    let prefix = explicit_prefix(tokens, start, at);
    member.name = match form {
        Form::Constructor => if is_static { ".cctor" } else { ".ctor" }.to_owned(),
        Form::Finalizer => "Finalize".to_owned(),
        Form::Operator => format!("{prefix}{}", operator_name(tokens, at + 1, open, list.types.len())),
        Form::Conversion => format!("{prefix}{}", conversion_name(tokens, at)),
        _ => format!("{prefix}{}", without_at_sign(tokens.text(at))),
    };
    member.arity = generics.names.len() as u32;
    let head = if generics.signature.is_empty() {
        &tokens.all[start..open]
    } else {
        &tokens.all[start..after_name]
    };
    let tail = &tokens.all[close + 1..readable];
    member.signature = signature(tokens, &[head, &generics.signature, &list.signature, tail]);
    if !(generics.attributed.is_empty() && list.attributed.is_empty()) {
        let generics = attributed_or_plain(&generics.attributed, &generics.signature);
        member.attributed = signature(
            tokens,
            &[head, generics, attributed_or_plain(&list.attributed, &list.signature), tail],
        );
    }
    member.type_parameters = generics.names;
    member.parameters = list.types;
    let mut parts = list.defaults;
    parts.push(body_text(tokens, readable..range.end));
    member.body = join_body(&parts);
    Some(member)
}

fn conversion_parameters(tokens: &Tokens<'_>, operator: usize, limit: usize) -> Option<usize> {
    let end = header_end(tokens, operator..limit);
    let mut found = None;
    let mut at = operator + 1;
    while let Some(open) = tokens.find_outside_brackets(at..end, |at| tokens.is(at, "(")) {
        found = Some(open);
        at = tokens.next_after_group(open);
    }
    found
}

fn conversion_name(tokens: &Tokens<'_>, operator: usize) -> &'static str {
    let mut at = operator;
    while at > 0 && !matches!(tokens.text(at), "implicit" | "explicit" | ";" | "}" | "{") {
        at -= 1;
    }
    match (tokens.text(at), tokens.text(operator + 1)) {
        ("implicit", _) => "op_Implicit",
        (_, "checked") => "op_CheckedExplicit",
        _ => "op_Explicit",
    }
}

fn operator_name(tokens: &Tokens<'_>, start: usize, open: usize, operands: usize) -> String {
    let checked = tokens.is(start, "checked");
    let symbol: String = (start + usize::from(checked)..open).map(|at| tokens.text(at)).collect();
    let name = match (symbol.as_str(), operands) {
        ("+", 1) => "UnaryPlus",
        ("-", 1) => "UnaryNegation",
        ("+", _) => "Addition",
        ("-", _) => "Subtraction",
        ("*", _) => "Multiply",
        ("/", _) => "Division",
        ("%", _) => "Modulus",
        ("&", _) => "BitwiseAnd",
        ("|", _) => "BitwiseOr",
        ("^", _) => "ExclusiveOr",
        ("!", _) => "LogicalNot",
        ("~", _) => "OnesComplement",
        ("++", 0) => "IncrementAssignment",
        ("--", 0) => "DecrementAssignment",
        ("++", _) => "Increment",
        ("--", _) => "Decrement",
        ("true", _) => "True",
        ("false", _) => "False",
        ("==", _) => "Equality",
        ("!=", _) => "Inequality",
        ("<", _) => "LessThan",
        (">", _) => "GreaterThan",
        ("<=", _) => "LessThanOrEqual",
        (">=", _) => "GreaterThanOrEqual",
        ("<<", _) => "LeftShift",
        (">>", _) => "RightShift",
        (">>>", _) => "UnsignedRightShift",
        ("+=", _) => "AdditionAssignment",
        ("-=", _) => "SubtractionAssignment",
        ("*=", _) => "MultiplicationAssignment",
        ("/=", _) => "DivisionAssignment",
        ("%=", _) => "ModulusAssignment",
        ("&=", _) => "BitwiseAndAssignment",
        ("|=", _) => "BitwiseOrAssignment",
        ("^=", _) => "ExclusiveOrAssignment",
        ("<<=", _) => "LeftShiftAssignment",
        (">>=", _) => "RightShiftAssignment",
        (">>>=", _) => "UnsignedRightShiftAssignment",
        (other, _) => other,
    };
    format!("op_{}{name}", if checked { "Checked" } else { "" })
}

/// Returns `IFoo<int>.` before an explicitly implemented member's name at `name`, canonical; empty without a prefix.
fn explicit_prefix(tokens: &Tokens<'_>, start: usize, name: usize) -> String {
    let mut first = name;
    while first > start + 1 && matches!(tokens.text(first - 1), "." | "::") {
        let mut at = first - 2;
        if tokens.is(at, ">") && tokens.is_angle(at) {
            let mut depth = 1;
            while depth > 0 && at > start {
                at -= 1;
                if tokens.is_angle(at) {
                    depth += if tokens.is(at, ">") { 1 } else { -1 };
                }
            }
            if at == start {
                break;
            }
            at -= 1;
        }
        if !tokens.is_word(at) || at < start {
            break;
        }
        first = at;
    }
    if first == name {
        String::new()
    } else {
        tokens.canonical(first..name)
    }
}

/// Parses properties, indexers and events with accessors.
fn property(tokens: &Tokens<'_>, form: Form, range: &Range<usize>, name: Option<usize>, opening: Opening) -> Option<Member> {
    let start = opening.start;
    let mut at = match form {
        Form::Indexer => tokens.find_outside_brackets(opening.after..range.end, |at| tokens.is(at, "this"))?,
        _ => name?,
    };
    let kind = match form {
        Form::Indexer => MemberKind::Indexer,
        Form::Event => MemberKind::Event,
        _ => MemberKind::Property,
    };
    let mut member = blank(tokens, kind, range, opening);
    let prefix = explicit_prefix(tokens, start, at);
    member.name = format!(
        "{prefix}{}",
        if form == Form::Indexer {
            "this[]"
        } else {
            without_at_sign(tokens.text(at))
        }
    );
    let mut defaults = Vec::new();
    let header = if form == Form::Indexer {
        let open = at + 1;
        let close = tokens
            .is(open, "[")
            .then(|| tokens.mate(open))
            .flatten()
            .filter(|close| *close < range.end)?;
        let list = parameters(tokens, open, close);
        member.parameters = list.types;
        defaults = list.defaults;
        at = close;
        let head = &tokens.all[start..open];
        if !list.attributed.is_empty() {
            member.attributed = signature(tokens, &[head, &list.attributed]);
        }
        signature(tokens, &[head, &list.signature])
    } else {
        tokens.canonical(start..at + 1)
    };
    let accessors = accessors(tokens, at + 1..range.end);
    member.has_value = accessors.has_value;
    if form == Form::Event {
        member.signature = header;
    } else {
        if accessors.attributed != accessors.summary && member.attributed.is_empty() {
            member.attributed.clone_from(&header);
        }
        if !member.attributed.is_empty() {
            member.attributed = format!("{} {}", member.attributed, accessors.attributed);
        }
        member.signature = format!("{header} {}", accessors.summary);
    }
    defaults.extend(accessors.bodies);
    member.body = join_body(&defaults);
    Some(member)
}

struct Accessors {
    /// `{ get; private set; }`.
    summary: String,
    /// `summary` with attributes.
    attributed: String,
    bodies: Vec<String>,
    has_value: bool,
}

fn accessors(tokens: &Tokens<'_>, range: Range<usize>) -> Accessors {
    let mut found = Accessors {
        summary: "{ get; }".to_owned(),
        attributed: "{ get; }".to_owned(),
        bodies: Vec::new(),
        has_value: false,
    };
    if tokens.is(range.start, "=>") {
        found.bodies.push(body_text(tokens, range));
        return found;
    }
    let Some(close) = tokens
        .is(range.start, "{")
        .then(|| tokens.mate(range.start))
        .flatten()
        .filter(|close| *close < range.end)
    else {
        return found;
    };
    let mut words: Vec<String> = Vec::new();
    let mut attributed: Vec<String> = Vec::new();
    let mut at = range.start + 1;
    while at < close {
        let end = header_end(tokens, at..close);
        let first = super::header::attributes(tokens, at..end, &mut Vec::new());
        let name = if end > first { tokens.text(end - 1) } else { "" };
        if end > first {
            words.push(format!("{};", tokens.canonical(first..end)));
            attributed.push(format!("{};", tokens.canonical(at..end)));
        }
        let after = match tokens.text(end) {
            "{" => tokens.next_after_group(end),
            "=>" => tokens
                .find_outside_brackets(end..close, |at| tokens.is(at, ";"))
                .map_or(close, |semicolon| semicolon + 1),
            _ => end + 1,
        };
        if !tokens.is(end, ";") && end < close {
            found.bodies.push(format!("{name} {}", body_text(tokens, end..after.min(close))));
        }
        at = after;
    }
    found.summary = format!("{{ {} }}", words.join(" "));
    found.attributed = format!("{{ {} }}", attributed.join(" "));
    if tokens.is(close + 1, "=") && close + 1 < range.end {
        found.has_value = true;
        found.bodies.push(format!("= {}", body_text(tokens, close + 2..range.end)));
    }
    found
}
