//! Adds stubs for the members that a type's bases require, with the using directives that their types need.

use super::adding_members::with_member;
use super::adding_usings::with_using;
use super::symbol::Refused;
use crate::code_text::declared::parse_code;
use crate::code_text::member_head::ACCESSIBILITIES;
use crate::symbols::index::is_within;
use crate::symbols::unimplemented::RequiredMember;
use producers::csharp::ids::member_key;
use producers::csharp::lexer::lex;
use producers::csharp::model::{MemberKind, NamePlace, Syntax, Using};
use std::collections::BTreeSet;

/// A text with stubs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implemented {
    pub text: String,
    /// Keys of the new members.
    pub keys: BTreeSet<String>,
    /// Namespaces of new using directives.
    pub usings: Vec<String>,
}

/// Lookup of type names.
pub struct TypeNames<'k> {
    /// Whether a namespace has a type, with this number of type parameters if given.
    pub has_type: &'k dyn Fn(&str, &str, Option<u32>) -> bool,
    /// Whether a namespace belongs to the workspace or to .NET.
    pub is_namespace: &'k dyn Fn(&str) -> bool,
}

/// Adds stubs to the declaration of a type in a text, compiled with these `#if` symbols. Fails when the text does not declare the type
/// exactly once, or the type cannot have the members.
pub fn with_stubs(
    text: &str,
    symbol: &str,
    required: &[RequiredMember],
    defines: &BTreeSet<String>,
    known: &TypeNames<'_>,
) -> Result<Implemented, Refused> {
    let syntax = parse_code(text, defines);
    let decl = syntax.types.iter().find(|decl| decl.symbol() == symbol);
    let namespace = decl.map_or("", |decl| &decl.namespace);
    let mut usings: Vec<String> = Vec::new();
    for using in required.iter().flat_map(|one| missing_namespaces(one, &syntax, namespace, known)) {
        if !usings.contains(&using) {
            usings.push(using);
        }
    }
    let has_system = usings.iter().any(|one| one == "System") || is_visible("System", &syntax, namespace);
    let exception = if has_system {
        "NotImplementedException"
    } else {
        "System.NotImplementedException"
    };
    let throw = format!("throw new {exception}()");
    let unit = super::indent::unit(text);
    let mut taken: BTreeSet<String> = decl.into_iter().flat_map(|decl| &decl.members).map(member_key).collect();
    let mut written: Vec<String> = Vec::new();
    for one in required {
        let plain = stub(one, &throw, &unit, false);
        if written.contains(&plain) {
            continue;
        }
        let key = key_of(&plain);
        // Methods and indexers of one name are overloads; other members of one name exclude each other.
        let simple = |key: &str| key.split(['`', '(']).next().map(str::to_owned);
        let excludes = |other: &String| simple(other) == simple(&key) && (!other.contains('(') || !key.contains('('));
        let is_free = !one.is_of_interface || !taken.iter().any(excludes) && !taken.contains(&key);
        taken.insert(key);
        written.push(if is_free { plain } else { stub(one, &throw, &unit, true) });
    }
    let end = crate::code_text::lines::Ends::from_text(text).most_frequent();
    let stubs = crate::code_text::lines::fit(&written.join("\n\n"), end);
    let added = with_member(text, symbol, &stubs, defines)?;
    let mut made = added.text;
    for using in &usings {
        made = with_using(&made, using, defines)?.unwrap_or(made);
    }
    Ok(Implemented {
        text: made,
        keys: added.keys,
        usings,
    })
}

/// Returns the key of a member's declaration inside a type.
fn key_of(declaration: &str) -> String {
    let syntax = parse_code(&format!("class C__ {{\n{declaration}\n}}"), &BTreeSet::new());
    let member = syntax.types.first().and_then(|decl| decl.members.first());
    member.map_or_else(|| declaration.to_owned(), member_key)
}

/// Returns one stub, as an explicit implementation or by name.
fn stub(required: &RequiredMember, throw: &str, unit: &str, is_explicit: bool) -> String {
    let head = &required.head;
    let mut made = String::new();
    let mut word = |word: &str| {
        made.push_str(word);
        made.push(' ');
    };
    match (required.is_of_interface, is_explicit) {
        (true, true) => {}
        (true, false) => word("public"),
        (false, _) => head
            .modifiers
            .iter()
            .filter(|one| ACCESSIBILITIES.contains(&one.as_str()))
            .for_each(|one| word(one)),
    }
    if head.has("static") {
        word("static");
    }
    if !required.is_of_interface {
        word("override");
    }
    if head.has("unsafe") {
        word("unsafe");
    }
    // Overrides and explicit implementations inherit the constraints of the base.
    let text = match is_explicit || !required.is_of_interface {
        true => without_constraints(&head.text),
        false => &head.text,
    };
    match is_explicit {
        true => {
            let at = name_begins(text);
            made.push_str(&format!("{}{}.{}", &text[..at], required.base, &text[at..]));
        }
        false => made.push_str(text),
    }
    let accessors: Vec<String> = match required.kind {
        MemberKind::Event if is_explicit => vec![format!("add => {throw};"), format!("remove => {throw};")],
        MemberKind::Event => return made + ";",
        _ => head
            .accessors
            .iter()
            .map(|one| format!("{}{} => {throw};", one.accessibility, one.name))
            .collect(),
    };
    match (accessors.as_slice(), head.accessors.as_slice()) {
        ([], _) => format!("{made}\n{{\n{unit}{throw};\n}}"),
        ([_], [one]) if one.name == "get" => format!("{made} => {throw};"),
        (several, _) => format!("{made}\n{{\n{unit}{}\n}}", several.join(&format!("\n{unit}"))),
    }
}

fn without_constraints(text: &str) -> &str {
    let mut tokens = lex(text).tokens.into_iter();
    let found = tokens.find(|token| token.text(text) == "where");
    found.map_or(text, |token| text[..token.start as usize].trim_end())
}

/// Returns the offset of a member's name in its head.
fn name_begins(text: &str) -> usize {
    let tokens = lex(text).tokens;
    let word = |at: usize| tokens[at].text(text);
    let mut depth = 0_usize;
    let mut last = 0;
    for at in 0..tokens.len() {
        match word(at) {
            "(" | "[" if depth == 0 && at > 0 && last > 0 && is_name_before(&tokens, text, at) => break,
            "<" | "(" | "[" => depth += 1,
            ">" | ")" | "]" => depth = depth.saturating_sub(1),
            _ if depth == 0 && word(at) != "?" && word(at) != "." => last = at,
            _ => {}
        }
    }
    tokens.get(last).map_or(0, |token| token.start as usize)
}

/// Whether a bracket opens the parameters of a member, and not a tuple or an array type before its name.
fn is_name_before(tokens: &[producers::csharp::lexer::Token], text: &str, open: usize) -> bool {
    let before = tokens[open - 1].text(text);
    before == "this" || text[tokens[open].start as usize..].starts_with('(') && before != ","
}

/// Returns the namespaces that the types of a member need, and that the target file does not import yet.
fn missing_namespaces(required: &RequiredMember, target: &Syntax, namespace: &str, known: &TypeNames<'_>) -> Vec<String> {
    let plain = |one: &&Using| one.alias.is_none() && !one.is_static;
    let mut sources: Vec<&str> = ancestors(&required.namespace);
    sources.extend(
        required
            .usings
            .iter()
            .filter(plain)
            .map(|one| one.target.trim_start_matches("global::")),
    );
    let mut needed = Vec::new();
    for name in &required.names {
        let (first, arity) = match name.path.split_once('.') {
            Some((first, _)) => (first.split('`').next().unwrap_or(first), None),
            None => (name.path.as_str(), Some(name.arity)),
        };
        // An attribute of a parameter may omit the ending of its name.
        let whole = (name.place == NamePlace::Attribute).then(|| format!("{first}Attribute"));
        let declares = |source: &str| {
            (known.has_type)(source, first, arity) || whole.as_ref().is_some_and(|whole| (known.has_type)(source, whole, arity))
        };
        let mut providers = sources.iter().filter(|source| declares(source)).peekable();
        match providers.peek() {
            Some(first) => {
                let first = (**first).to_owned();
                if !providers.any(|source| is_visible(source, target, namespace)) {
                    needed.push(first);
                }
            }
            // A package may declare the type.
            None => needed.extend(
                sources
                    .iter()
                    .filter(|source| !(known.is_namespace)(source) && !is_visible(source, target, namespace))
                    .map(|source| (*source).to_owned()),
            ),
        }
    }
    needed
}

/// Whether code in a namespace of a file sees the types of another namespace by their simple names.
fn is_visible(source: &str, target: &Syntax, namespace: &str) -> bool {
    let plain = |one: &Using| one.alias.is_none() && !one.is_static && one.target.trim_start_matches("global::") == source;
    is_within(namespace, source) || target.usings.iter().any(plain)
}

/// Returns a namespace and its outer namespaces, innermost first.
fn ancestors(namespace: &str) -> Vec<&str> {
    let (mut found, mut next) = (Vec::new(), Some(namespace).filter(|one| !one.is_empty()));
    while let Some(one) = next {
        found.push(one);
        next = one.rsplit_once('.').map(|(outer, _)| outer);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::samples::Sample;
    use crate::symbols::unimplemented::missing_members;

    fn implemented(base: &str, text: &str, key: &str) -> Implemented {
        let mut sample = Sample::from_files(&[("a.cs", text), ("base.cs", base)]);
        let symbols = sample.names();
        let disk = sample.world();
        let found = missing_members(&mut sample, &symbols, &*disk, key).expect("outputs");
        let has_type = |space: &str, name: &str, arity: Option<u32>| {
            let key = match arity {
                Some(arity) if arity > 0 => format!("{space}.{name}`{arity}"),
                _ => format!("{space}.{name}"),
            };
            symbols.find(&key).is_some() || producers::csharp::deps::dotnet::known(&key).is_some()
        };
        let known = TypeNames {
            has_type: &has_type,
            is_namespace: &|space| space == "N" || producers::csharp::deps::dotnet::has_namespace(space),
        };
        with_stubs(
            text,
            producers::csharp::types::symbol_of(key),
            &found.members,
            &BTreeSet::new(),
            &known,
        )
        .expect("stubs")
    }

    #[test]
    fn stubs_are_written_as_their_bases_ask() {
        let base = "using System;\nusing System.Collections.Generic;\nusing Package;\nnamespace N;\npublic interface I<T>\n{\n    List<T> All(T id, int most = 3);\n    int Count { get; }\n    T this[int at] { get; set; }\n    event Action E;\n    static abstract I<T> Make();\n    Thing Of(int x);\n}\npublic interface J { string Of(int y); R M<R>() where R : class; }\npublic abstract class B { protected abstract R Do<R>(R one) where R : class; public abstract int P { get; protected set; } }\n";
        let text = "namespace N.M;\n\npublic class A : B, I<string>, J\n{\n}\n";
        let done = implemented(base, text, "N.M.A");
        assert_eq!(
            done.text,
            "using System;\nusing System.Collections.Generic;\nusing Package;\n\nnamespace N.M;\n\npublic class A : B, I<string>, J\n{\n    protected override R Do<R>(R one)\n    {\n        throw new NotImplementedException();\n    }\n\n    public override int P\n    {\n        get => throw new NotImplementedException();\n        protected set => throw new NotImplementedException();\n    }\n\n    public List<string> All(string id, int most = 3)\n    {\n        throw new NotImplementedException();\n    }\n\n    public int Count => throw new NotImplementedException();\n\n    public string this[int at]\n    {\n        get => throw new NotImplementedException();\n        set => throw new NotImplementedException();\n    }\n\n    public event Action E;\n\n    public static I<string> Make()\n    {\n        throw new NotImplementedException();\n    }\n\n    public Thing Of(int x)\n    {\n        throw new NotImplementedException();\n    }\n\n    string J.Of(int y)\n    {\n        throw new NotImplementedException();\n    }\n\n    public R M<R>() where R : class\n    {\n        throw new NotImplementedException();\n    }\n}\n"
        );
        let plain = implemented(
            "namespace N;\npublic interface K { void M(); }\n",
            "namespace N\n{\n\tstruct S : K\n\t{\n\t\tint x;\n\t}\n}\n",
            "N.S",
        );
        assert_eq!(
            plain.text,
            "namespace N\n{\n\tstruct S : K\n\t{\n\t\tint x;\n\n\t\tpublic void M()\n\t\t{\n\t\t\tthrow new System.NotImplementedException();\n\t\t}\n\t}\n}\n"
        );
        assert!(plain.usings.is_empty());
    }

    #[test]
    fn stubs_beside_another_member_of_their_name_are_explicit() {
        let base = "namespace N;\npublic interface I { int Val { get; } int Run(); int Go(int a); }\n";
        let text = "namespace N;\nclass A : I { public int Val; public int Run; public int Go() => 1; }\n";
        let made = implemented(base, text, "N.A").text;
        assert!(made.contains("int I.Val => "), "{made}");
        assert!(made.contains("int I.Run()\n"), "{made}");
        assert!(made.contains("public int Go(int a)\n"), "{made}");
    }

    #[test]
    fn attributes_of_parameters_get_their_using_directives() {
        let base =
            "using System.Diagnostics.CodeAnalysis;\nnamespace N;\npublic interface I { bool Try([NotNullWhen(true)] out string? one); }\n";
        let done = implemented(base, "namespace N;\npublic class A : I\n{\n}\n", "N.A");
        assert_eq!(done.usings, ["System.Diagnostics.CodeAnalysis"]);
    }

    #[test]
    fn stubs_of_what_dotnet_asks_for_are_explicit_where_two_ask_for_one_name() {
        let text =
            "using System.Collections.Generic;\nnamespace N;\n\npublic class Row : IEnumerable<int>, System.IComparable<Row>\n{\n}\n";
        let stub = |head: &str| format!("    {head}\n    {{\n        throw new System.NotImplementedException();\n    }}\n");
        let stubs = [
            "public IEnumerator<int> GetEnumerator()",
            "public int CompareTo(Row other)",
            "IEnumerator System.Collections.IEnumerable.GetEnumerator()",
        ];
        let expected = format!(
            "using System.Collections;\n{}{}}}\n",
            text.trim_end_matches("}\n"),
            stubs.map(stub).join("\n")
        );
        assert_eq!(implemented("", text, "N.Row").text, expected);
    }

    #[test]
    fn names_are_found_behind_all_kinds_of_types() {
        for (text, name) in [
            ("void M()", "M"),
            ("(int, string) M<T>(int a)", "M"),
            ("int[] P", "P"),
            ("A.B<C>? Get(int a = F(1))", "Get"),
            ("int this[int at]", "this"),
            ("Dictionary<int, (int, int)> P", "P"),
            ("event Action<int> E", "E"),
        ] {
            assert!(
                text[name_begins(text)..].starts_with(name),
                "{text}: {}",
                &text[name_begins(text)..]
            );
        }
    }
}
