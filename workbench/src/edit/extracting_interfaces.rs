//! Extracts an interface from the public members of a type into a file of its own, and adds it to the bases of the type.

use super::meaning::find_declaration;
use super::moving_types::{file_beside, leading_directives};
use super::symbol::{Refused, worse};
use crate::code_text::declared::{list_declarations, parse_code};
use crate::code_text::lines::{Ends, line_start};
use crate::code_text::member_head::MemberHead;
use producers::csharp::ids::member_key;
use producers::csharp::keywords::is_reserved;
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::model::{Member, MemberKind, Tier, TypeDecl, TypeKind};
use producers::csharp::preprocess::blank;
use std::collections::BTreeSet;
use std::ops::Range;

/// A type with its new interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// New text of the type's file; the type implements the interface.
    pub text: String,
    /// Text of the interface's file.
    pub own: String,
    pub symbol: String,
    /// Keys of the interface's members.
    pub members: Vec<String>,
}

/// A requested interface: `IShop: Price, Count`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedInterface {
    pub name: String,
    /// Names of its members, with or without parameter types; empty for all that an interface can have.
    pub members: Vec<String>,
}

impl RequestedInterface {
    /// Parses `NAME` or `NAME: MEMBER, MEMBER(int)`. Fails when the name is not an identifier.
    pub fn from_text(given: &str) -> Result<Self, Refused> {
        let (name, members) = given.split_once(':').unwrap_or((given, ""));
        let name = name.trim();
        let tokens = lex(name).tokens;
        let is_name = tokens.len() == 1 && tokens[0].kind == Kind::Word && tokens[0].text(name) == name && !is_reserved(name);
        if !is_name {
            return Err(Refused::new(
                format!("`{name}` is not the name of an interface"),
                "give NAME, or NAME: MEMBER, MEMBER",
            ));
        }
        let mut request = Self {
            name: name.to_owned(),
            members: Vec::new(),
        };
        let (mut depth, mut one) = (0_usize, String::new());
        for c in members.chars().chain([',']) {
            match c {
                '(' | '<' | '[' => depth += 1,
                ')' | '>' | ']' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    let member = std::mem::take(&mut one);
                    request
                        .members
                        .extend(Some(member.trim().to_owned()).filter(|member| !member.is_empty()));
                    continue;
                }
                _ => {}
            }
            one.push(c);
        }
        Ok(request)
    }
}

const OTHERWISE: &str = "nothing was changed; name members that an interface can have, or write it with `create`";

/// Extracts an interface from a type of a text, compiled with these `#if` symbols. Fails when the type cannot have an interface, or a named
/// member cannot be in one.
pub fn extract(text: &str, symbol: &str, request: &RequestedInterface, defines: &BTreeSet<String>) -> Result<Extracted, Refused> {
    let before = parse_code(text, defines);
    if !matches!(before.tier, Tier::Whole | Tier::Repaired) {
        return Err(Refused::new("the file does not parse", "fix its syntax first"));
    }
    let all = list_declarations(text, &before);
    let found = find_declaration(&all, symbol)?;
    let parts = before
        .types
        .iter()
        .filter(|decl| found.owner.is_empty() && decl.symbol() == found.is.name);
    let parts: Vec<&TypeDecl> = parts.collect();
    let [decl] = parts.as_slice() else {
        return Err(Refused::new(format!("{} is not a type", found.is.name), "name a class or a struct"));
    };
    check_type(decl)?;
    let compiled = blank(text, defines);
    let head = |member: &Member| -> Option<MemberHead> {
        let name = format!("{}#{}", found.is.name, member_key(member));
        let mut places = all.iter().filter(|one| one.is.name == name);
        let place = places.next().filter(|_| places.next().is_none())?;
        // A parameter of a record has no declaration of its own.
        let own = &compiled[place.range.clone()];
        own.ends_with([';', '}']).then(|| MemberHead::from_declaration(own))
    };
    let chosen = choose(decl, request, head)?;
    let parameters: Vec<&String> = decl
        .type_parameters
        .iter()
        .filter(|parameter| chosen.iter().any(|(_, head)| has_word(&head.text, parameter)))
        .collect();
    let arguments = match parameters.is_empty() {
        true => String::new(),
        false => format!("<{}>", parameters.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", ")),
    };
    let constraints: String = decl
        .constraints
        .iter()
        .filter(|clause| parameters.iter().any(|one| clause.split_whitespace().nth(1) == Some(one.as_str())))
        .map(|clause| format!(" {clause}"))
        .collect();
    let end = Ends::from_text(text).most_frequent();
    let line = line_start(text, found.range.start);
    let outer: String = text[line..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    let unit = super::indent::unit(text);
    let accessibility = match decl.modifiers.iter().find(|one| matches!(one.as_str(), "public" | "internal")) {
        Some(word) => format!("{word} "),
        None => String::new(),
    };
    let mut declaration = format!(
        "{outer}{accessibility}interface {}{arguments}{constraints}{end}{outer}{{{end}",
        request.name
    );
    for (at, (_, head)) in chosen.iter().enumerate() {
        if at > 0 {
            declaration.push_str(end);
        }
        declaration.push_str(&format!("{outer}{unit}{}{end}", head.of_interface()));
    }
    declaration.push_str(&format!("{outer}}}"));
    let directives = leading_directives(text, &compiled, None)?;
    let made = with_base(text, &compiled, &found.range, &format!("{}{arguments}", request.name));
    let own = file_beside(text, &compiled, found.range.start, &directives, &declaration);
    let (after, new) = (parse_code(&made, defines), parse_code(&own, defines));
    let is = |text: &str, syntax| list_declarations(text, syntax).into_iter().map(|one| one.is).collect::<Vec<_>>();
    let bases = |syntax: &producers::csharp::model::Syntax| syntax.types.iter().map(|decl| decl.bases.len()).sum::<usize>();
    let is_sound = !worse(&before, &after) && is(text, &before) == is(&made, &after) && bases(&after) == bases(&before) + 1;
    let interface = new
        .types
        .first()
        .filter(|one| one.members.len() == chosen.len() && new.types.len() == 1);
    match (is_sound && !worse(&before, &new), interface) {
        (true, Some(interface)) => Ok(Extracted {
            symbol: interface.symbol(),
            members: chosen.into_iter().map(|(key, _)| key).collect(),
            text: made,
            own,
        }),
        _ => Err(Refused::new(
            format!("the interface of {} would not be read as C#", found.is.name),
            OTHERWISE,
        )),
    }
}

fn check_type(decl: &TypeDecl) -> Result<(), Refused> {
    let is = |modifier: &str| decl.modifiers.iter().any(|one| one == modifier);
    let is_kind = matches!(
        decl.kind,
        TypeKind::Class | TypeKind::Struct | TypeKind::Record | TypeKind::RecordStruct
    );
    let why = match () {
        () if !is_kind => "is neither a class nor a struct",
        () if is("static") => "is static, and implements nothing",
        () if is("file") => "is seen in its own file alone (`file`)",
        () if decl.path.contains('+') => "is in another type, whose type parameters and names the interface would not see",
        () if !decl.condition.is_empty() => "is compiled under an `#if` alone",
        () => return Ok(()),
    };
    Err(Refused::new(format!("{} {why}", decl.symbol()), "name another type"))
}

/// Keys of members, with their heads.
type Chosen = Vec<(String, MemberHead)>;

fn choose(decl: &TypeDecl, request: &RequestedInterface, head: impl Fn(&Member) -> Option<MemberHead>) -> Result<Chosen, Refused> {
    let plain = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
    let is_named = |name: &str, member: &Member| {
        let key = member_key(member);
        let indexed = key.strip_prefix("this[](").and_then(|rest| rest.strip_suffix(')'));
        let indexer = indexed.map(|parameters| format!("this[{parameters}]"));
        let of_indexer = indexer.iter().flat_map(|one| ["this", one.as_str()]);
        let mut names = [member.name.as_str(), &key].into_iter().chain(of_indexer);
        names.any(|one| plain(one) == plain(name))
    };
    let mut chosen = Vec::new();
    for name in &request.members {
        if !decl.members.iter().any(|member| is_named(name, member)) {
            return Err(Refused::new(
                format!("{} declares no {name} in this file", decl.symbol()),
                "name members that it declares, with upper and lower case as declared",
            ));
        }
    }
    for member in &decl.members {
        let is_asked = request.members.iter().any(|name| is_named(name, member));
        if !request.members.is_empty() && !is_asked {
            continue;
        }
        let found = head(member);
        match why_not(decl, member, found.as_ref(), is_asked) {
            None => chosen.extend(found.map(|head| (member_key(member), head))),
            Some(why) if is_asked => {
                return Err(Refused::new(format!("{}#{} {why}", decl.symbol(), member_key(member)), OTHERWISE));
            }
            Some(_) => {}
        }
    }
    match chosen.is_empty() {
        true => Err(Refused::new(
            format!(
                "{} declares no public member in this file that an interface can have",
                decl.symbol()
            ),
            OTHERWISE,
        )),
        false => Ok(chosen),
    }
}

/// Returns why an interface cannot have a member, or omits it unless the request names it.
fn why_not(decl: &TypeDecl, member: &Member, head: Option<&MemberHead>, is_asked: bool) -> Option<&'static str> {
    let is_kind = matches!(
        member.kind,
        MemberKind::Method | MemberKind::Property | MemberKind::Indexer | MemberKind::Event
    );
    match head {
        _ if !is_kind => Some("is nothing that an interface asks for"),
        None => Some("is declared in no place of its own"),
        Some(head) if head.has("static") => Some("is static"),
        Some(head) if !head.has("public") => Some("is not public"),
        Some(_) if member.condition != decl.condition && !member.condition.is_empty() => Some("is compiled under an `#if` alone"),
        Some(head) if head.has("override") && !is_asked => Some("overrides a member of a base"),
        Some(head)
            if matches!(member.kind, MemberKind::Property | MemberKind::Indexer)
                && !head.accessors.iter().any(|one| one.accessibility.is_empty()) =>
        {
            Some("has no public accessor")
        }
        Some(_) => None,
    }
}

fn has_word(text: &str, word: &str) -> bool {
    lex(text).tokens.iter().any(|token| token.text(text) == word)
}

/// Adds a base to the type declared in a range.
fn with_base(text: &str, compiled: &str, range: &Range<usize>, base: &str) -> String {
    let own = &compiled[range.clone()];
    let tokens = lex(own).tokens;
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(own));
    let (mut depth, mut angles, mut at, mut has_bases) = (0_usize, 0_usize, 0, false);
    let is_keyword = |at: &usize| matches!(word(*at), "class" | "struct" | "record");
    // Skip attributes, which may contain these keywords in brackets.
    while at < tokens.len() && !(depth == 0 && is_keyword(&at)) {
        match word(at) {
            "[" | "(" => depth += 1,
            "]" | ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    while at < tokens.len() {
        match word(at) {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "<" if depth == 0 => angles += 1,
            ">" if depth == 0 => angles = angles.saturating_sub(1),
            ":" if depth == 0 && angles == 0 => has_bases = true,
            "{" | ";" | "where" if depth == 0 && angles == 0 => break,
            _ => {}
        }
        at += 1;
    }
    let behind = at
        .checked_sub(1)
        .and_then(|at| tokens.get(at))
        .map_or(0, |token| token.end as usize);
    let behind = range.start + behind;
    let comma = if has_bases { ", " } else { " : " };
    [&text[..behind], comma, base, &text[behind..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extracted(text: &str, symbol: &str, request: &str) -> Result<Extracted, String> {
        let request = RequestedInterface::from_text(request).map_err(|refused| refused.why)?;
        extract(text, symbol, &request, &BTreeSet::new()).map_err(|refused| refused.why)
    }

    const SHOP: &str = "// Licence.\n#nullable enable\nusing System;\n\nnamespace Trade;\n\n/// <summary>It.</summary>\n[Old]\npublic sealed class Shop<T, U>(int size) : Base<U>(size), IDisposable where T : class\n{\n    public int Count { get; private set; }\n    public T? Find(string name, int most = 3) { return null; }\n    public T? Find(int at) => null;\n    public static Shop<T, U> Make() => null!;\n    internal void Hidden() { }\n    public override string ToString() => \"\";\n    public void Dispose() { }\n    private int x;\n}\n\nclass Other { }\n";

    #[test]
    fn public_members_become_an_interface() {
        let done = extracted(SHOP, "Shop", "IShop").expect("extracted");
        assert_eq!(
            done.own,
            "// Licence.\n\n#nullable enable\n\nusing System;\n\nnamespace Trade;\n\npublic interface IShop<T> where T : class\n{\n    int Count { get; }\n\n    T? Find(string name, int most = 3);\n\n    T? Find(int at);\n\n    void Dispose();\n}\n"
        );
        assert_eq!(done.text, SHOP.replace("IDisposable where", "IDisposable, IShop<T> where"));
        let one = extracted(SHOP, "Shop", "ICount: Count").expect("extracted");
        assert!(
            one.own.ends_with("public interface ICount\n{\n    int Count { get; }\n}\n"),
            "{}",
            one.own
        );
        let found = extracted(SHOP, "Shop", "IFind: Find(string, int), ToString").expect("extracted");
        assert_eq!(found.members, ["Find(string,int)", "ToString()"]);
        for name in ["this", "this[int]", "this[](int)"] {
            let indexer = extracted("class A { public int this[int at] => at; }\n", "A", &format!("I: {name}")).expect("extracted");
            assert_eq!(indexer.members, ["this[](int)"]);
        }
        let block = "namespace N\n{\n\tstruct S { public void M() { } }\n}\n";
        let done = extracted(block, "S", "I").expect("extracted");
        assert_eq!(done.own, "namespace N\n{\n\tinterface I\n\t{\n\t\tvoid M();\n\t}\n}\n");
        assert_eq!(done.text, block.replace("struct S {", "struct S : I {"));
        let record = extracted("public record R(int P) { public int Q => 1; }\n", "R", "I").expect("extracted");
        assert_eq!(
            (record.members, record.text.as_str()),
            (vec!["Q".to_owned()], "public record R(int P) : I { public int Q => 1; }\n")
        );
    }

    #[test]
    fn types_and_members_unfit_for_an_interface_are_refused() {
        for (text, symbol, request, why) in [
            (SHOP, "Shop", "IShop: Hidden", "is not public"),
            (SHOP, "Shop", "IShop: Make", "is static"),
            (SHOP, "Shop", "IShop: count", "declares no count"),
            (SHOP, "Shop", "class", "is not the name"),
            (SHOP, "Shop", "I Shop", "is not the name"),
            (SHOP, "Shop", "", "is not the name"),
            (SHOP, "Other", "IOther", "declares no public member"),
            ("static class A { public static void M() { } }", "A", "I", "is static"),
            ("interface A { void M(); }", "A", "I", "neither a class nor a struct"),
            (
                "class A { public class B { public void M() { } } }",
                "A.B",
                "I",
                "is in another type",
            ),
            ("class A { public void M() { }", "A", "I", "does not parse"),
        ] {
            let message = extracted(text, symbol, request).expect_err(request);
            assert!(message.contains(why), "{request}: {message}");
        }
    }
}
