//! Adds members to a type: after the last member of their name or kind, or as the first ones, with the needed lines and commas.

use super::meaning::find_declaration;
use super::symbol::{HeadPolicy, Refused, SymbolEdit, Where, edit_symbol};
use crate::code_text::declared::{Declared, encloses, list_declarations, parse_code};
use crate::code_text::lines::{Ends, line_start};
use producers::csharp::ids::{kind_word, member_key, member_kind_word};
use producers::csharp::lexer::lex;
use producers::csharp::model::{Member, MemberKind, Syntax, TypeDecl, TypeKind};
use producers::csharp::preprocess::blank;
use std::collections::BTreeSet;

/// A text with added members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    pub text: String,
    /// Keys of the new members inside their type.
    pub keys: BTreeSet<String>,
    /// Whether derived and implementing types must declare the member, too.
    pub is_owed: bool,
}

/// Adds members to a type declared in a text, compiled with these `#if` symbols. Fails when the text does not declare the type exactly
/// once, or the type cannot have the members.
pub fn with_member(text: &str, symbol: &str, new: &str, defines: &BTreeSet<String>) -> Result<Added, Refused> {
    let before = parse_code(text, defines);
    let all = list_declarations(text, &before);
    let of = find_declaration(&all, symbol)?;
    let Some(decl) = before.types.iter().find(|decl| of.owner.is_empty() && decl.symbol() == of.is.name) else {
        return Err(Refused::new(format!("{} is not a type", of.is.name), "name the type to add it to"));
    };
    if decl.kind == TypeKind::Delegate {
        return Err(Refused::new(
            format!("{} is a delegate, which has no members", of.is.name),
            "name another type",
        ));
    }
    let made = match declaration_before(text, &all, of, &kinds(decl, new, defines), defines) {
        Some(neighbour) => {
            let request = SymbolEdit {
                symbol: neighbour.is.name.clone(),
                at: Where::After,
                new: new.to_owned(),
                head: HeadPolicy::UnlessBrought,
                defines: Some(defines.clone()),
            };
            edit_symbol(text, &request)?.0
        }
        None => add_first_member(text, of, new, defines)?,
    };
    let after = parse_code(&made, defines);
    let own = |syntax: &Syntax| -> Vec<Member> {
        let parts = syntax.types.iter().filter(|other| other.symbol() == of.is.name);
        parts.flat_map(|decl| decl.members.clone()).collect()
    };
    let was: BTreeSet<String> = own(&before).iter().map(member_key).collect();
    let came: Vec<Member> = own(&after)
        .into_iter()
        .filter(|member| !was.contains(&member_key(member)))
        .collect();
    came.iter().try_for_each(|member| check_member(decl, member))?;
    Ok(Added {
        text: made,
        keys: came.iter().map(member_key).collect(),
        is_owed: came.iter().any(|member| is_owed(decl, member)),
    })
}

/// Returns kind and name of each member that a text declares inside the type.
fn kinds(decl: &TypeDecl, new: &str, defines: &BTreeSet<String>) -> Vec<(&'static str, String)> {
    let source = format!("{} {} {{\n{new}\n}}", kind_word(decl.kind), decl.name);
    let syntax = parse_code(&source, defines);
    let members = syntax.types.first().map_or(&[][..], |decl| decl.members.as_slice());
    members
        .iter()
        .map(|member| (member_kind_word(member.kind), member.name.clone()))
        .collect()
}

/// Returns the declaration after which to insert: the last of the name, of the kind, or of all inside the type's own braces.
fn declaration_before<'d>(
    text: &str,
    all: &'d [Declared],
    of: &Declared,
    new: &[(&'static str, String)],
    defines: &BTreeSet<String>,
) -> Option<&'d Declared> {
    let compiled = blank(text, defines);
    let tokens = lex(&compiled).tokens;
    let depth = |at: usize| {
        let within = tokens.iter().filter(|token| (of.range.start..at).contains(&(token.start as usize)));
        within.fold(0_i32, |depth, token| match token.text(&compiled) {
            "{" => depth + 1,
            "}" => depth - 1,
            _ => depth,
        })
    };
    let is_once = |one: &Declared| all.iter().filter(|other| other.is.name == one.is.name).count() == 1;
    let nested = format!("{}+", of.is.name);
    let is_own = |one: &&Declared| {
        let is_member = one.owner == of.is.name || one.owner.is_empty() && one.is.name.starts_with(&nested);
        is_member && one.range != of.range && encloses(&of.range, one) && is_once(one) && depth(one.range.start) == 1
    };
    let mut own: Vec<&Declared> = all.iter().filter(is_own).collect();
    own.sort_by_key(|one| one.range.end);
    let last = |is: &dyn Fn(&Declared) -> bool| own.iter().rfind(|one| is(one)).copied();
    let kind = new.first();
    let named = kind.and_then(|(kind, name)| last(&|one| one.is.kind == *kind && one.simple == *name));
    let alike = kind.and_then(|(kind, _)| last(&|one| one.is.kind == *kind && !one.owner.is_empty()));
    named.or(alike).or_else(|| last(&|_| true))
}

/// Adds the first member to a type without members.
fn add_first_member(text: &str, of: &Declared, new: &str, defines: &BTreeSet<String>) -> Result<String, Refused> {
    let whole = &text[of.range.clone()];
    let line = line_start(text, of.range.start);
    let outer: String = text[line..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    let unit = super::indent::unit(text);
    let usual = Ends::from_text(text).most_frequent();
    let inner = super::indent::set_indent(new.trim_matches(['\n', '\r']), &format!("{outer}{unit}"));
    let compiled = blank(whole, defines);
    let mut depth = 0_i32;
    let tokens = lex(&compiled).tokens;
    let open = tokens.iter().find(|token| {
        let word = token.text(&compiled);
        depth += i32::from(matches!(word, "(" | "[")) - i32::from(matches!(word, ")" | "]"));
        depth == 0 && word == "{"
    });
    let own = match open {
        Some(open) => {
            let (head, rest) = whole.split_at(open.end as usize);
            // The brace of an empty body stands on its own line if the file has such lines.
            let has_own_line = rest.trim_start().starts_with('}') && text.lines().any(|line| line.trim() == "{");
            let head = match head.strip_suffix('{').filter(|_| has_own_line) {
                Some(before) => [before.trim_end(), usual, &outer, "{"].concat(),
                None => head.to_owned(),
            };
            let starts_line = rest.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
            let (end, rest) = match starts_line {
                true => (String::new(), rest.trim_start_matches([' ', '\t'])),
                false => (format!("{usual}{outer}"), rest.trim_start_matches([' ', '\t'])),
            };
            [head.as_str(), usual, &inner, &end, rest].concat()
        }
        None => match whole.strip_suffix(';') {
            Some(head) => [head, usual, &outer, "{", usual, &inner, usual, &outer, "}"].concat(),
            None => return Err(Refused::new(format!("{} has no braces", of.is.name), "edit it with `replace`")),
        },
    };
    let made = [&text[..of.range.start], &own, &text[of.range.end..]].concat();
    let (was, is) = (
        list_declarations(text, &parse_code(text, defines)),
        list_declarations(&made, &parse_code(&made, defines)),
    );
    let came = is.iter().filter(|one| !was.iter().any(|other| other.is == one.is));
    let belongs = |one: &Declared| one.owner == of.is.name || one.is.name.starts_with(&format!("{}+", of.is.name));
    let stays = was.iter().all(|one| is.iter().any(|other| other.is == one.is));
    match stays && is.len() > was.len() && came.into_iter().all(belongs) {
        true => Ok(made),
        false => Err(Refused::new(
            "the text is not a declaration of a member; nothing was changed",
            "give a whole declaration with all its brackets",
        )),
    }
}

/// Refuses a member that the type cannot have.
fn check_member(decl: &TypeDecl, member: &Member) -> Result<(), Refused> {
    let has = |modifier: &str| member.modifiers.iter().any(|one| one == modifier);
    let of = |modifier: &str| decl.modifiers.iter().any(|one| one == modifier);
    let is_constant = matches!(member.kind, MemberKind::Constant);
    let is_method = member.kind == MemberKind::Method;
    let is_interface = decl.kind == TypeKind::Interface;
    let why = match () {
        () if of("static") && !has("static") && !is_constant => "a static type has static members alone",
        () if has("abstract") && !is_interface && !of("abstract") => "a type that is not abstract has no abstract members",
        () if is_method && !is_interface && member.body.is_empty() && !["abstract", "extern", "partial"].into_iter().any(has) => {
            "a method without a body is abstract, extern or partial"
        }
        () if member.name == decl.name && decl.kind != TypeKind::Enum => "a member cannot have the name of its type",
        () => return Ok(()),
    };
    Err(Refused::new(
        format!("{}: {why}; nothing was changed", member.name),
        "give it other modifiers, or a body",
    ))
}

/// Whether derived types must declare the member.
fn is_owed(decl: &TypeDecl, member: &Member) -> bool {
    let is_abstract = member.modifiers.iter().any(|one| one == "abstract");
    let is_free = member.modifiers.iter().any(|one| matches!(one.as_str(), "static" | "private"));
    is_abstract || decl.kind == TypeKind::Interface && member.body.is_empty() && !is_free
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with(text: &str, symbol: &str, new: &str) -> Result<String, String> {
        let made = with_member(text, symbol, new, &BTreeSet::new());
        made.map(|added| added.text).map_err(|refused| refused.why)
    }

    #[test]
    fn a_member_stands_with_those_of_its_kind() {
        let class = "namespace N;\r\n\r\nclass A\r\n{\r\n\tint x; // x\r\n\r\n\tvoid M() { }\r\n\r\n\tint P => 1;\r\n}\r\n";
        for (text, symbol, new, made) in [
            (class, "A", "int y;\r\n", class.replace("// x\r\n", "// x\r\n\r\n\tint y;\r\n")),
            (
                class,
                "N.A",
                "void M(int a) { }",
                class.replace("{ }\r\n", "{ }\r\n\r\n\tvoid M(int a) { }\r\n"),
            ),
            (
                class,
                "A",
                "event Action E;",
                class.replace("=> 1;\r\n", "=> 1;\r\n\r\n\tevent Action E;\r\n"),
            ),
            ("class A { }\n", "A", "int x;", "class A {\n    int x;\n}\n".to_owned()),
            (
                "class B\n{\n}\nclass A { }\n",
                "A",
                "int x;",
                "class B\n{\n}\nclass A\n{\n    int x;\n}\n".to_owned(),
            ),
            (
                "  class A\n  {\n  }\n",
                "A",
                "int x;",
                "  class A\n  {\n    int x;\n  }\n".to_owned(),
            ),
            (
                "record R(int P);\n",
                "R",
                "int x;",
                "record R(int P)\n{\n    int x;\n}\n".to_owned(),
            ),
            (
                "namespace N\n{\n  class A\n  {\n  }\n}\n",
                "A",
                "void M()\n{\n  x();\n}",
                "namespace N\n{\n  class A\n  {\n    void M()\n    {\n      x();\n    }\n  }\n}\n".to_owned(),
            ),
            ("enum E { A, B }", "E", "C", "enum E { A, B, C }".to_owned()),
            (
                "class O { class I<T> { } }",
                "O.I",
                "T x;",
                "class O { class I<T> {\n    T x;\n} }".to_owned(),
            ),
        ] {
            assert_eq!(with(text, symbol, new), Ok(made), "{text}{new}");
        }
    }

    #[test]
    fn members_that_a_type_cannot_have_are_refused() {
        for (text, new, why) in [
            ("class A { int x; }", "int x;", "there is a A#x already"),
            ("class A { int x; }", "int y; } class B { int z;", ""),
            ("class A { }", "int y; } class B {", "not a declaration of a member"),
            ("class A { }", "x y z", ""),
            ("static class A { }", "int y;", "static members alone"),
            ("class A { }", "abstract void M();", "no abstract members"),
            ("class A { }", "void M();", "without a body"),
            ("class A { }", "void A() { }", "the name of its type"),
            ("delegate void A();", "int x;", "is a delegate"),
            ("enum A { B }", "int x;", ""),
        ] {
            let message = with(text, "A", new).expect_err(new);
            assert!(message.contains(why), "{new}: {message}");
        }
    }

    #[test]
    fn added_members_that_heirs_must_implement_are_recognized() {
        let owed = |text: &str, new: &str| with_member(text, "A", new, &BTreeSet::new()).expect("added").is_owed;
        assert!(owed("interface A { }", "int P { get; }") && owed("abstract class A { }", "protected abstract void M();"));
        assert!(!owed("interface A { }", "int P => 1;") && !owed("class A { }", "void M() { }"));
    }

    proptest! {
        /// Every byte outside the member stays, and the text declares one more member.
        #[test]
        fn all_else_stays_byte_for_byte(
            members in proptest::collection::vec(0_usize..5, 0..5),
            new in 0_usize..4,
            form in 0_usize..4,
            crlf in any::<bool>(),
            tabs in any::<bool>(),
        ) {
            let indent = if tabs { "\t" } else { "    " };
            let member = |(number, form): (usize, &usize)| match form {
                0 => format!("{indent}int M{number}; // it\n"),
                1 => format!("{indent}/// <summary>It.</summary>\n{indent}[Old(\"]}}\")]\n{indent}void M{number}() {{ if (true) {{ }} }}\n\n"),
                2 => format!("\n{indent}public int M{number} => 1;\n"),
                3 => format!("{indent}class M{number}<T> where T : class {{ T X; }}\n"),
                _ => format!("#region R\n{indent}string M{number} = @\"a\n}} b\";\n#endregion\n"),
            };
            let body: String = members.iter().enumerate().map(member).collect();
            let text = match form {
                0 => format!("namespace N;\n\nclass A\n{{\n{body}}}\n"),
                1 => format!("namespace N {{\nclass A {{\n{body}}} }}"),
                2 => format!("using System;\n\nnamespace N {{ partial struct A<T>\n{{\n{body}\n}}\n}}\n"),
                _ => format!("namespace N; class O {{ }} record A(int P) {{\n{body}\n}} // end"),
            };
            let new = ["int New;", "/// <summary>New.</summary>\n[Old]\npublic void New(int a)\n{\n    a++;\n}", "class New { int X; }", "int New { get; set; }"][new];
            let (text, new) = match crlf {
                true => (text.replace('\n', "\r\n"), new.replace('\n', "\r\n")),
                false => (text, new.to_owned()),
            };
            let made = with_member(&text, "N.A", &new, &BTreeSet::new()).expect("added").text;
            let same = text.bytes().zip(made.bytes()).take_while(|(one, other)| one == other).count();
            let behind = text.bytes().rev().zip(made.bytes().rev()).take_while(|(one, other)| one == other).count();
            // White space in braces without a member may change.
            prop_assert!(same + behind >= text.len() || text[same..text.len() - behind].trim().is_empty());
            let names = |text: &str| list_declarations(text, &parse_code(text, &BTreeSet::new())).into_iter().map(|one| one.is).collect::<Vec<_>>();
            let (was, is) = (names(&text), names(&made));
            prop_assert!(was.iter().all(|one| is.contains(one)));
            prop_assert!(is.iter().any(|one| one.name.contains("New")));
            if crlf {
                prop_assert!(!made.replace("\r\n", "").contains('\n'));
            }
        }
    }
}
