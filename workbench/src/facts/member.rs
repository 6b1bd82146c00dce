//! One member in comparable form: its key and everything a caller can see of it.

use super::written::{
    Aliases, canonical_tokens, is_name, join_tokens, mate, mate_back, path_start, simple, simple_text, split_at_commas, without_at_sign,
};
use producers::csharp::hashes::member_access;
use producers::csharp::model::{Member, MemberKind, TypeKind};

/// A member in comparable form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Canonical {
    /// Name, arity and parameter types, by which the compiler distinguishes overloads.
    pub(super) key: String,
    pub(super) access: String,
    pub(super) text: String,
    /// The key as a documentation identifier with types as written.
    pub(super) id: String,
}

/// Modifiers that the compiler stores for a member; the others concern its spelling only.
const MODIFIERS: [&str; 10] = [
    "abstract", "const", "extern", "override", "readonly", "required", "sealed", "static", "virtual", "volatile",
];

/// The parts of a signature.
#[derive(Default)]
struct Shape {
    result: String,
    generics: Vec<String>,
    parameters: Option<Vec<String>>,
    accessors: Vec<String>,
    constraints: Vec<String>,
}

/// Converts a member of a type (its documentation identifier without `T:`, its kind) into comparable form.
pub(super) fn canonical(member: &Member, of: &str, owner: TypeKind, aliases: &Aliases) -> Canonical {
    let tokens = without_block(canonical_tokens(&member.signature));
    let start = after_modifiers(&tokens, &member.modifiers);
    let shape = shape(member, &tokens[start.min(tokens.len())..], aliases);
    let name = member_name(&member.name, aliases);
    let access = match member.kind {
        MemberKind::Finalizer => "protected".to_owned(),
        _ => member_access(member, owner).as_csharp().to_owned(),
    };
    let arity = if member.kind == MemberKind::Method {
        shape.generics.len()
    } else {
        0
    };
    let mut key = name.clone();
    if arity > 0 {
        key.push_str(&format!("`{arity}"));
    }
    if let Some(parameters) = &shape.parameters {
        let bare: Vec<&str> = parameters.iter().map(|one| without_modifiers(one)).collect();
        key.push_str(&format!("({})", bare.join(",")));
    }
    if member.kind == MemberKind::Conversion {
        key.push_str("->");
        key.push_str(&shape.result);
    }
    Canonical {
        text: declaration_text(member, owner, &access, &name, &shape),
        id: identifier(member.kind, of, &key),
        key,
        access,
    }
}

fn declaration_text(member: &Member, owner: TypeKind, access: &str, name: &str, shape: &Shape) -> String {
    let mut parts: Vec<String> = vec![access.to_owned()];
    parts.extend(modifiers(member, owner));
    if member.kind == MemberKind::EnumMember {
        return format!("public {name}");
    }
    if !shape.result.is_empty() {
        parts.push(shape.result.clone());
    }
    let mut call = name.to_owned();
    if !shape.generics.is_empty() {
        call.push_str(&format!("<{}>", shape.generics.join(",")));
    }
    if let Some(parameters) = &shape.parameters {
        call.push_str(&format!("({})", parameters.join(",")));
    }
    parts.push(call);
    if !shape.accessors.is_empty() {
        parts.push(format!("{{{}}}", shape.accessors.join(";")));
    }
    // Overriding and explicitly implementing methods inherit constraints, whether they are repeated or not.
    if !member.modifiers.iter().any(|word| word == "override") && !name.contains('.') || name.starts_with('.') {
        parts.extend(shape.constraints.iter().cloned());
    }
    parts.join(" ")
}

/// Returns the modifiers to compare, sorted. Instance members of interfaces are implicitly abstract or virtual.
fn modifiers(member: &Member, owner: TypeKind) -> Vec<String> {
    let has = |word: &str| member.modifiers.iter().any(|other| other == word);
    let implied = owner == TypeKind::Interface && !has("static");
    let field = matches!(member.kind, MemberKind::Field | MemberKind::Constant);
    let mut found: Vec<String> = MODIFIERS
        .into_iter()
        .filter(|word| has(word))
        .filter(|word| !(implied && matches!(*word, "abstract" | "virtual" | "sealed" | "override")))
        .filter(|word| field || *word != "readonly")
        .filter(|word| !(*word == "static" && has("const")))
        .map(str::to_owned)
        .collect();
    found.sort();
    found
}

/// Returns the tokens of a member without its extension block: `extension<T>(…).` before its name and the block's constraints after it. The compiler
/// reports those with the block.
fn without_block(mut tokens: Vec<&str>) -> Vec<&str> {
    let block = |at: usize| tokens[at] == "extension" && matches!(tokens.get(at + 1), Some(&("(" | "<")));
    let Some(start) = (0..tokens.len()).find(|at| block(*at)) else {
        return tokens;
    };
    let generic = tokens[start + 1] == "<";
    let open = if generic {
        mate(&tokens, start + 1).map_or(start + 1, |close| close + 1)
    } else {
        start + 1
    };
    let Some(close) = mate(&tokens, open).filter(|close| tokens.get(close + 1) == Some(&".")) else {
        return tokens;
    };
    let own: Vec<String> = tokens[start + 1..open].iter().map(|word| (*word).to_owned()).collect();
    tokens.drain(start..close + 2);
    // Clauses about the block's own type parameters.
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "where" && tokens.get(at + 2) == Some(&":") && own.iter().any(|name| name == tokens[at + 1]) {
            let end = (at + 1..tokens.len()).find(|end| tokens[*end] == "where").unwrap_or(tokens.len());
            tokens.drain(at..end);
        } else {
            at += 1;
        }
    }
    tokens
}

fn after_modifiers(tokens: &[&str], modifiers: &[String]) -> usize {
    let mut at = 0;
    while at < tokens.len() && tokens[at] != "ref" && modifiers.iter().any(|word| word == tokens[at]) {
        at += 1;
    }
    if tokens.get(at) == Some(&"scoped") && tokens.get(at + 1) == Some(&"ref") {
        at += 1;
    }
    at
}

fn shape(member: &Member, tokens: &[&str], aliases: &Aliases) -> Shape {
    match member.kind {
        MemberKind::EnumMember => Shape::default(),
        MemberKind::Field | MemberKind::Constant => Shape {
            result: simple(&tokens[..field_name(tokens, &member.name)], aliases),
            ..Shape::default()
        },
        MemberKind::Event => {
            let tokens = tokens.strip_prefix(&["event"]).unwrap_or(tokens);
            Shape {
                result: simple(&tokens[..path_start(tokens, tokens.len())], aliases),
                ..Shape::default()
            }
        }
        MemberKind::Property | MemberKind::Indexer => property(member.kind, tokens, aliases),
        _ => callable(member.kind, tokens, aliases),
    }
}

/// Returns the index of the declared name: the last one outside of brackets (`fixed byte name[16]`).
fn field_name(tokens: &[&str], name: &str) -> usize {
    tokens
        .iter()
        .rposition(|word| without_at_sign(word) == name)
        .unwrap_or(tokens.len())
}

fn property(kind: MemberKind, tokens: &[&str], aliases: &Aliases) -> Shape {
    let body = tokens.iter().position(|word| *word == "{").unwrap_or(tokens.len());
    let mut shape = Shape::default();
    let mut end = body;
    if kind == MemberKind::Indexer
        && let Some(this) = tokens[..body].iter().position(|word| *word == "this")
    {
        let close = mate(tokens, this + 1).unwrap_or(body);
        shape.parameters = Some(parameters(tokens.get(this + 2..close).unwrap_or_default(), aliases));
        end = this + 1;
    }
    shape.result = simple(&tokens[..path_start(&tokens[..end], end)], aliases);
    let mut accessors: Vec<String> = tokens[body..]
        .split(|word| *word == ";")
        .map(|words| {
            let kept: Vec<&str> = words.iter().copied().filter(|word| is_name(word) && *word != "readonly").collect();
            kept.join(" ")
        })
        .filter(|words| !words.is_empty())
        .collect();
    accessors.sort_by_key(|words| !words.ends_with("get"));
    shape.accessors = accessors;
    shape
}

fn callable(kind: MemberKind, tokens: &[&str], aliases: &Aliases) -> Shape {
    let operator = tokens.iter().position(|word| *word == "operator");
    let from = operator.filter(|_| kind == MemberKind::Operator).map_or(0, |at| at + 1);
    let Some(open) = parameter_list_start(kind, tokens, from) else {
        return Shape::default();
    };
    let close = mate(tokens, open).unwrap_or(tokens.len() - 1);
    let mut shape = Shape {
        parameters: Some(parameters(&tokens[open + 1..close.max(open + 1)], aliases)),
        constraints: constraints(&tokens[close + 1..], aliases),
        ..Shape::default()
    };
    match (kind, operator) {
        (MemberKind::Conversion, Some(at)) => {
            let checked = usize::from(tokens.get(at + 1) == Some(&"checked"));
            shape.result = simple(tokens.get(at + 1 + checked..open).unwrap_or_default(), aliases);
        }
        (MemberKind::Operator, Some(at)) => {
            let end = if at > 1 && tokens[at - 1] == "." {
                path_start(tokens, at - 1)
            } else {
                at
            };
            shape.result = simple(&tokens[..end], aliases);
        }
        (MemberKind::Method, _) => {
            let mut name = open;
            if open > 1
                && tokens[open - 1] == ">"
                && let Some(angle) = mate_back(tokens, open - 1)
            {
                let generics = split_at_commas(&tokens[angle + 1..open - 1]);
                shape.generics = generics
                    .iter()
                    .filter_map(|one| one.last())
                    .map(|one| without_at_sign(one).to_owned())
                    .collect();
                name = angle;
            }
            shape.result = simple(&tokens[..path_start(tokens, name)], aliases);
        }
        _ => {}
    }
    shape
}

/// Returns the index of the parameter list: the first round bracket outside of brackets after a name; for a conversion the last one.
fn parameter_list_start(kind: MemberKind, tokens: &[&str], from: usize) -> Option<usize> {
    let mut at = from;
    let mut found = None;
    while at < tokens.len() {
        match tokens[at] {
            "where" => break,
            "(" if kind == MemberKind::Conversion => {
                found = Some(at);
                at = mate(tokens, at)?;
            }
            "(" => {
                let named =
                    at > from && (is_name(tokens[at - 1]) && !matches!(tokens[at - 1], "ref" | "readonly") || tokens[at - 1] == ">");
                if named || kind == MemberKind::Operator {
                    return Some(at);
                }
                at = mate(tokens, at)?;
            }
            // The operators `<` and `>` are not brackets.
            "<" | "[" if kind != MemberKind::Operator => at = mate(tokens, at)?,
            _ => {}
        }
        at += 1;
    }
    found
}

/// Returns the parameters of a list: passing mode and type.
pub(super) fn parameters(tokens: &[&str], aliases: &Aliases) -> Vec<String> {
    split_at_commas(tokens)
        .into_iter()
        .map(|one| parameter_text(one, aliases))
        .collect()
}

fn parameter_text(tokens: &[&str], aliases: &Aliases) -> String {
    let named = tokens.len() > 1 && tokens.last().is_some_and(|word| is_name(word));
    let tokens = if named { &tokens[..tokens.len() - 1] } else { tokens };
    let how = |word: &str| matches!(word, "this" | "params" | "scoped" | "ref" | "out" | "in" | "readonly");
    let from = tokens.iter().position(|word| !how(word)).unwrap_or(tokens.len());
    let mut words: Vec<&str> = ["this", "params", "ref", "out", "in", "readonly"]
        .into_iter()
        .filter(|word| tokens[..from].contains(word))
        .collect();
    let kind = simple(&tokens[from..], aliases);
    words.push(&kind);
    words.join(" ")
}

/// Returns a parameter without the words that do not distinguish overloads.
pub(super) fn without_modifiers(parameter: &str) -> &str {
    ["this ", "params "]
        .iter()
        .fold(parameter, |rest, word| rest.strip_prefix(word).unwrap_or(rest))
}

/// Returns the `where` clauses, sorted; leaves out those that only repeat an inherited one (`default`).
pub(super) fn constraints(tokens: &[&str], aliases: &Aliases) -> Vec<String> {
    let opens = |at: usize| tokens[at] == "where" && tokens.get(at + 2) == Some(&":");
    let starts: Vec<usize> = (0..tokens.len()).filter(|at| opens(*at)).collect();
    let mut found: Vec<String> = starts
        .iter()
        .enumerate()
        .map(|(index, start)| {
            let end = starts.get(index + 1).copied().unwrap_or(tokens.len());
            let list: Vec<String> = split_at_commas(&tokens[start + 3..end])
                .into_iter()
                .filter(|one| *one != ["default"])
                .map(|one| {
                    if one.first() == Some(&"allows") {
                        join_tokens(one)
                    } else {
                        simple(one, aliases)
                    }
                })
                .collect();
            (without_at_sign(tokens[start + 1]), list)
        })
        .filter(|(_, list)| !list.is_empty())
        .map(|(name, list)| format!("where {name}:{}", list.join(",")))
        .collect();
    found.sort();
    found
}

/// Returns a member's name with the simple name of the interface that it implements explicitly.
fn member_name(written: &str, aliases: &Aliases) -> String {
    if written.starts_with('.') {
        return written.to_owned();
    }
    let (own, tokens) = match written.strip_suffix("this[]") {
        Some(rest) => ("this[]", canonical_tokens(rest)),
        None => ("", canonical_tokens(written)),
    };
    let (own, before) = match (own, tokens.split_last()) {
        ("", Some((last, before))) => (without_at_sign(last), before),
        ("", None) => ("", &tokens[..]),
        (own, _) => (own, &tokens[..]),
    };
    match before.split_last() {
        Some((&("." | "::"), interface)) => format!("{}.{own}", simple(interface, aliases)),
        _ => own.to_owned(),
    }
}

/// Returns the documentation identifier, as far as written types allow.
fn identifier(kind: MemberKind, of: &str, key: &str) -> String {
    let letter = match kind {
        MemberKind::Field | MemberKind::Constant | MemberKind::EnumMember => 'F',
        MemberKind::Property | MemberKind::Indexer => 'P',
        MemberKind::Event => 'E',
        _ => 'M',
    };
    let (name, rest) = key.split_at(key.find(['(', '`']).unwrap_or(key.len()));
    let name = name.replace("this[]", "Item").replace('.', "#");
    let rest = rest
        .replace('`', "``")
        .replace("()", "")
        .replace('<', "{")
        .replace("->", "~")
        .replace('>', "}");
    format!("{letter}:{of}.{name}{rest}")
}

/// Returns the parts of a type's header after its name: type parameters with their variance; for a delegate the whole signature.
pub(super) fn header_parts(kind: TypeKind, header: &str, clauses: &[String], aliases: &Aliases) -> String {
    let tokens = canonical_tokens(header);
    let mut constraints: Vec<String> = clauses
        .iter()
        .flat_map(|clause| self::constraints(&canonical_tokens(clause), aliases))
        .collect();
    constraints.sort();
    let mut out = String::new();
    if kind == TypeKind::Delegate {
        let tokens = tokens.strip_prefix(&["delegate"]).unwrap_or(&tokens);
        if let Some(open) = parameter_list_start(MemberKind::Method, tokens, 0) {
            let shape = callable(MemberKind::Method, tokens, aliases);
            let close = mate(tokens, open).unwrap_or(open);
            let generics = generics(&tokens[..open]);
            out = format!(
                "{} {generics}({})",
                shape.result,
                parameters(&tokens[open + 1..close], aliases).join(",")
            );
        }
    } else {
        let list = tokens.iter().position(|word| *word == "(").unwrap_or(tokens.len());
        out.push_str(&generics(&tokens[..list]));
    }
    for clause in constraints {
        out.push(' ');
        out.push_str(&clause);
    }
    out.trim().to_owned()
}

/// Returns the type parameter list at the end of the tokens.
fn generics(tokens: &[&str]) -> String {
    let open = tokens.iter().position(|word| *word == "<" && tokens.last() == Some(&">"));
    let open = open.and_then(|first| (first..tokens.len()).find(|at| tokens[*at] == "<" && mate(tokens, *at) == Some(tokens.len() - 1)));
    open.map_or_else(String::new, |open| join_tokens(&tokens[open..]))
}

/// Returns the parameters of the constructor that a primary parameter list declares.
pub(super) fn primary(header: &str, aliases: &Aliases) -> Option<Vec<String>> {
    let tokens = canonical_tokens(header);
    let open = tokens.iter().position(|word| *word == "(")?;
    let close = mate(&tokens, open)?;
    Some(parameters(&tokens[open + 1..close], aliases))
}

/// Returns the comparable name of an attribute: simple, without `Attribute` and arguments; `None` if it applies to something else than the
/// declaration (`return: X`).
pub(super) fn comparable_attribute(written: &str) -> Option<String> {
    let tokens = canonical_tokens(written);
    if tokens.get(1) == Some(&":") {
        return None;
    }
    let end = tokens.iter().position(|word| matches!(*word, "(" | "<")).unwrap_or(tokens.len());
    let name = simple_text(&tokens[..end].concat(), &Aliases::new());
    Some(
        name.strip_suffix("Attribute")
            .filter(|rest| !rest.is_empty())
            .unwrap_or(&name)
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use producers::csharp::model::Span;

    fn member(kind: MemberKind, name: &str, modifiers: &[&str], signature: &str) -> Member {
        Member {
            kind,
            name: name.to_owned(),
            arity: 0,
            parameters: Vec::new(),
            modifiers: modifiers.iter().map(|word| (*word).to_owned()).collect(),
            attributes: Vec::new(),
            signature: signature.to_owned(),
            body: String::new(),
            doc: String::new(),
            span: Span::default(),
            names: Vec::new(),
            type_parameters: Vec::new(),
            has_value: false,
            condition: String::new(),
            attributed: String::new(),
        }
    }

    #[test]
    fn members_in_comparable_form() {
        use MemberKind::*;
        for (kind, name, modifiers, signature, key, text) in [
            (
                Method,
                "Get",
                &["public", "static"][..],
                "public static Task<(int, A.B)> Get<T, U>(this ref List<T> a, params U[] rest) where U : class, new()",
                "Get`2(ref List<T>,U[])",
                "public static Task<(int,B)> Get<T,U>(this ref List<T>,params U[]) where U:class,new()",
            ),
            (
                Method,
                "IFoo<X.Y>.Bar",
                &[],
                "(int, int) IFoo<X.Y>.Bar<T>()",
                "IFoo<Y>.Bar`1()",
                "private (int,int) IFoo<Y>.Bar<T>()",
            ),
            (
                Operator,
                "op_LessThan",
                &["public", "static"],
                "public static bool operator <(A.B x, B y)",
                "op_LessThan(B,B)",
                "public static bool op_LessThan(B,B)",
            ),
            (
                Conversion,
                "op_Implicit",
                &["public", "static"],
                "public static implicit operator (int, int)(B x)",
                "op_Implicit(B)->(int,int)",
                "public static (int,int) op_Implicit(B)",
            ),
            (
                Indexer,
                "N.IList.this[]",
                &[],
                "object N.IList.this[int index] { readonly get; private set; }",
                "IList.this[](int)",
                "private object IList.this[](int) {get;private set}",
            ),
            (
                Field,
                "b",
                &["public", "readonly"],
                "public readonly System.Int32? b",
                "b",
                "public readonly int? b",
            ),
            (
                Event,
                "E",
                &["public"],
                "public event EventHandler<A> E",
                "E",
                "public EventHandler<A> E",
            ),
            (
                Constructor,
                ".cctor",
                &["static"],
                "static A()",
                ".cctor()",
                "private static .cctor()",
            ),
        ] {
            let found = canonical(&member(kind, name, modifiers, signature), "N.A", TypeKind::Class, &Aliases::new());
            assert_eq!((found.key.as_str(), found.text.as_str()), (key, text));
        }
    }

    #[test]
    fn heads_of_types() {
        let none = Aliases::new();
        assert_eq!(
            header_parts(
                TypeKind::Delegate,
                "delegate ref A.B Do<in T>(out int x)",
                &["where T : A.C".to_owned()],
                &none
            ),
            "ref B <in T>(out int) where T:C"
        );
        assert_eq!(header_parts(TypeKind::Record, "record R<T>(List<T> Items)", &[], &none), "<T>");
        assert_eq!(
            primary("record R<T>(List<T> Items, in int b)", &none),
            Some(vec!["List<T>".to_owned(), "in int".to_owned()])
        );
        assert_eq!(comparable_attribute("A.FooAttribute<int>(1)"), Some("Foo".to_owned()));
        assert_eq!(comparable_attribute("return: A"), None);
    }
}
