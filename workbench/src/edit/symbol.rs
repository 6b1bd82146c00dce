//! Edits of a type or a member by name. A parse of the buffer finds the declaration; after the edit the text is parsed again, and must still declare
//! that symbol once, and every other one with its documentation, attributes and kind, or nothing is changed. Such an edit neither renames nor removes
//! a symbol; a member with other parameters is the same member, and a type with other members the same type.

pub use super::conditional::declares;
use super::conditional::edit_same_under_all_symbols;
use super::declarations_only::{keeps_directives, only_declares};
use super::directive_settings::around;
pub use super::head::HeadPolicy;
use super::head::{Replaced, keep_missing_head_parts};
use super::kept_declarations::{EditRange, check_kept_declarations};
use super::meaning::find_declaration;
use super::replacing::{DeclarationSpan, place_declaration};
use crate::code_text::declared::{list_declarations, parse_code};
use producers::csharp::lexer::lex;
use producers::csharp::model::{Syntax, Tier};
use producers::csharp::preprocess::blank;
use std::collections::BTreeSet;

/// Position of the new text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// In place of the symbol.
    Replace,
    /// Before the symbol.
    Before,
    /// After the symbol.
    After,
}

/// An edit by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolEdit {
    /// A type or a member: `NodeStore`, `Core.NodeStore`, `NodeStore#Get`, `NodeStore.Get(int)`.
    pub symbol: String,
    /// Position of the new text.
    pub at: Where,
    pub new: String,
    /// Treatment of the documentation and attributes of a replaced symbol.
    pub head: HeadPolicy,
    /// The `#if` symbols of the file's compilation, if known.
    pub defines: Option<BTreeSet<String>>,
}

/// Reason why an edit is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Reason, as the end of a sentence.
    pub why: String,
    /// Next step for the caller.
    pub hint: String,
    pub candidates: Vec<String>,
}

impl Refused {
    pub(super) fn new(why: impl Into<String>, hint: &str) -> Self {
        Self {
            why: why.into(),
            hint: hint.to_owned(),
            candidates: Vec::new(),
        }
    }
}

/// Refuses a file that is not C#; the parser would accept its text. Fails when its name has another extension.
pub fn requires_csharp(path: &str) -> Result<(), Refused> {
    match path.ends_with(".cs") {
        true => Ok(()),
        false => Err(Refused::new(
            "it is not a C# file; only these can be edited by symbols",
            "use `replace` with oldText, or with a selector",
        )),
    }
}

/// Returns the edited text and a description of the edit. Fails when the symbol is not declared exactly once, or the result is not allowed.
pub fn edit_symbol(text: &str, request: &SymbolEdit) -> Result<(String, String), Refused> {
    if request.at != Where::Replace {
        refuse_joining_insertion(request)?;
    }
    let EditedText { made, what, place } = match &request.defines {
        Some(defines) => edit_under_defines(text, request, defines)?,
        None => edit_same_under_all_symbols(text, request, |defines| edit_under_defines(text, request, defines))?,
    };
    let defines = request.defines.clone().unwrap_or_default();
    only_declares(text, &made, &place, &request.new, &defines)?;
    Ok((made, what))
}

/// An edit under some `#if` symbols: the new text, a description, and the place.
#[derive(PartialEq)]
struct EditedText {
    made: String,
    what: String,
    place: EditRange,
}

impl AsRef<str> for EditedText {
    fn as_ref(&self) -> &str {
        &self.made
    }
}

/// Applies the edit under these `#if` symbols.
fn edit_under_defines(text: &str, request: &SymbolEdit, defines: &BTreeSet<String>) -> Result<EditedText, Refused> {
    let before = parse_code(text, defines);
    let all = list_declarations(text, &before);
    let found = find_declaration(&all, &request.symbol)?;
    let around = around(text, &found.range, request, defines);
    let Replaced { own, new, kept } = match (request.at, request.head, &around) {
        (Where::Replace, HeadPolicy::UnlessBrought, None) => {
            keep_missing_head_parts(text, &blank(text, defines), &found.range, &request.new)
        }
        _ => Replaced {
            own: found.range.clone(),
            new: request.new.clone(),
            kept: None,
        },
    };
    let span = DeclarationSpan {
        own: &own,
        around: around.as_ref().unwrap_or(&own),
    };
    let (made, old) = place_declaration(text, &span, request.at, &new, defines);
    let replaced = (request.at == Where::Replace).then_some(found);
    let old = replaced.map_or(old.clone(), |found| old.start.min(found.range.start)..old.end);
    let place = EditRange {
        new: old.start..made.len() - (text.len() - old.end),
        old,
    };
    keeps_directives(text, &made, &place, defines)?;
    let after = parse_code(&made, defines);
    if worse(&before, &after) {
        let what = match request.at {
            Where::Replace => format!("{} was not changed", found.is.name),
            Where::Before | Where::After => "nothing was inserted".to_owned(),
        };
        let why = format!("with this text the file would no longer parse as C#, so {what}");
        return Err(Refused::new(why, "give a whole declaration with all its brackets"));
    }
    if after.top_level && !before.top_level {
        let why = "it would be statements outside of every type; nothing was changed";
        return Err(Refused::new(why, "give a whole declaration"));
    }
    check_kept_declarations(&all, replaced, &list_declarations(&made, &after), &place)?;
    let what = match request.at {
        Where::Replace => match kept {
            Some(kept) => format!("replaced {}, except {kept}", found.is.name),
            None => format!("replaced {}", found.is.name),
        },
        Where::Before => format!("put the text before {}", found.is.name),
        Where::After => format!("put the text behind {}", found.is.name),
    };
    Ok(EditedText { made, what, place })
}

/// Refuses an insertion that would join the adjacent symbol, or take a part of it.
fn refuse_joining_insertion(request: &SymbolEdit) -> Result<(), Refused> {
    let lexed = lex(&request.new);
    let last = lexed.tokens.last();
    let ends = if last.is_some_and(|token| token.text(&request.new) == "]") {
        "an attribute"
    } else if lexed.docs.last().is_some_and(|doc| last.is_none_or(|token| doc.0 >= token.end)) {
        "documentation"
    } else {
        return Ok(());
    };
    Err(Refused::new(
        format!("the text ends in {ends}, which would belong to whatever is declared behind it; nothing was changed"),
        "give whole declarations; `replace_symbol` gives a symbol other documentation and attributes",
    ))
}

/// Whether the parser understands less of a text than before.
pub(super) fn worse(before: &Syntax, after: &Syntax) -> bool {
    let rank = |tier: Tier| match tier {
        Tier::Whole | Tier::Repaired => 0,
        Tier::Skeleton => 1,
        Tier::Partial => 2,
        Tier::Nothing => 3,
    };
    rank(after.tier) > rank(before.tier)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "namespace N;\r\n\r\n/// <summary>A.</summary>\r\n[Obsolete]\r\npublic class A\r\n{\r\n    /// <summary>Gets.</summary>\r\n    [Pure(\"]\")] // why\r\n    public int Get(int id) => id;\r\n    public int Get(string id) => 0;\r\n    int X; int Y;\r\n}\r\n";

    fn replace_symbol(symbol: &str, at: Where, new: &str, bare: bool) -> Result<String, Refused> {
        let request = SymbolEdit {
            symbol: symbol.to_owned(),
            at,
            new: new.to_owned(),
            head: if bare { HeadPolicy::UnlessBrought } else { HeadPolicy::Replaced },
            defines: Some(BTreeSet::new()),
        };
        edit_symbol(TEXT, &request).map(|(text, _)| text)
    }

    #[test]
    fn a_member_is_replaced_with_its_documentation_or_without() {
        let whole = replace_symbol("A#Get(int)", Where::Replace, "    public int Get(int id) => -id;\r\n", false).expect("edited");
        assert_eq!(
            whole,
            TEXT.replace(
                "    /// <summary>Gets.</summary>\r\n    [Pure(\"]\")] // why\r\n    public int Get(int id) => id;",
                "    public int Get(int id) => -id;"
            )
        );
        let bare = replace_symbol("N.A.Get(int)", Where::Replace, "public int Get(int id) => -id;", true).expect("edited");
        assert_eq!(bare, TEXT.replace("=> id;", "=> -id;"));
        let class = replace_symbol(
            "A",
            Where::Replace,
            "public class A { public int Get(int id) => 1; public int Get(string id) => 2; int X; int Y; int Z; }",
            true,
        )
        .expect("a member more");
        assert!(class.contains("[Obsolete]\r\npublic class A { public"));
    }

    #[test]
    fn documentation_and_attributes_absent_from_the_new_text_stay() {
        let get = |new: &str| replace_symbol("A#Get(int)", Where::Replace, new, true).expect("edited");
        let before = "    /// <summary>Gets.</summary>\r\n    [Pure(\"]\")] // why\r\n    public int Get(int id) => id;";
        let instead = |new: &str| TEXT.replace(before, new);
        let (docs, attributes) = ("    /// <summary>New.</summary>\r\n", "    [New]\r\n");
        let plain = "    public int Get(int id) => 1;";
        assert_eq!(get(plain), instead(&before.replace("=> id", "=> 1")));
        assert_eq!(get("public int Get(int id) => 1;"), instead(&before.replace("=> id", "=> 1")));
        let documented = format!("{docs}    [Pure(\"]\")] // why\r\n{plain}");
        assert_eq!(get(&format!("{docs}{plain}")), instead(&documented));
        let attributed = format!("    /// <summary>Gets.</summary>\r\n{attributes}{plain}");
        assert_eq!(get(&format!("{attributes}{plain}")), instead(&attributed));
        let whole = format!("{docs}{attributes}{plain}");
        assert_eq!(get(&whole), instead(&whole));
    }

    #[test]
    fn members_of_a_replaced_type_are_the_edits_to_change() {
        let text = "class O {\n    class A { int X; class I { int J; } }\n    int A2, B2;\n}\nrecord R(int P);\n";
        let replace = |symbol: &str, new: &str| {
            let request = SymbolEdit {
                symbol: symbol.to_owned(),
                at: Where::Replace,
                new: new.to_owned(),
                head: HeadPolicy::Replaced,
                defines: Some(BTreeSet::new()),
            };
            edit_symbol(text, &request).map(|(text, _)| text).map_err(|refused| refused.why)
        };
        for (symbol, old, new) in [
            ("O.A", "class A { int X; class I { int J; } }", "class A { }"),
            (
                "O.A",
                "class A { int X; class I { int J; } }",
                "partial class A { void Y() { } enum E { F } }",
            ),
            ("A+I", "class I { int J; }", "class I { long J, K; }"),
            (
                "O",
                "class A { int X; class I { int J; } }\n    int A2, B2;",
                "/// <summary>B.</summary>\n    int B2;",
            ),
            ("R", "record R(int P);", "record R(string Q, long P) { int S; }"),
            ("O.A2", "int A2, B2;", "long A2, B2;"),
        ] {
            let made = text.replacen(old, new, 1);
            let new = if symbol == "O" {
                made.split("record").next().unwrap_or_default()
            } else {
                new
            };
            assert_eq!(replace(symbol, new), Ok(made), "{symbol}");
        }
        for (symbol, new, why) in [
            ("O.A", "class A { } class C { int D; }", "it would also declare O+C, O+C#D"),
            ("O.A", "class A { } int B2;", "it would also declare O#B2"),
            ("O.A", "class A<T> { }", "it would remove the class O+A, and add the class O+A`1"),
            ("O.A", "class A { int X; } } class Q {", "it would remove O#A2, O#B2"),
            ("O.A", "class A { int X; int X; }", "there is a O+A#X already"),
            ("O.A2", "int A2;", "it would remove O#B2"),
            (
                "O.A2",
                "int A2; /** Two. */ int B2;",
                "it would change documentation, attributes, modifiers or kind of O#B2",
            ),
            (
                "O.A",
                "class A { } public",
                "it would change documentation, attributes, modifiers or kind of O#A2, O#B2",
            ),
        ] {
            let message = replace(symbol, new).expect_err(new);
            assert!(
                message.starts_with(why) && message.ends_with("nothing was changed"),
                "{new}: {message}"
            );
        }
    }

    #[test]
    fn texts_get_lines_of_their_own_before_and_behind() {
        let before = replace_symbol("A.Get(string)", Where::Before, "    int B;", false).expect("edited");
        assert_eq!(
            before,
            TEXT.replace("    public int Get(string", "    int B;\r\n    public int Get(string")
        );
        let after = replace_symbol("A.Get(string)", Where::After, "    int B;\r\n", false).expect("edited");
        assert_eq!(after, TEXT.replace("=> 0;\r\n", "=> 0;\r\n    int B;\r\n"));
        let shared = replace_symbol("A.X", Where::After, "int B;", false).expect("edited");
        assert_eq!(shared, TEXT.replace("int X;", "int X; int B;"));
        let last = replace_symbol("N.A", Where::After, "class B { }", false).expect("edited");
        assert_eq!(last, format!("{TEXT}\r\nclass B {{ }}\r\n"));
    }

    #[test]
    fn a_comment_behind_a_declaration_on_its_line_is_its_own() {
        let behind = |text: &str, symbol: &str, new: &str| {
            let request = SymbolEdit {
                symbol: symbol.to_owned(),
                at: Where::After,
                new: new.to_owned(),
                head: HeadPolicy::Replaced,
                defines: Some(BTreeSet::new()),
            };
            edit_symbol(text, &request).map(|(text, _)| text).map_err(|refused| refused.why)
        };
        for (tail, rest) in [
            (" // note", "\n    int Z;\n}\n"),
            ("\t/* one */ /* two\n lines */ // three ", "\n}\n"),
            (" //// no documentation", "\r\n    int Z;\r\n}"),
            (" /**/ /*** */", "\r\n}"),
        ] {
            let (start, end) = (
                format!("class A {{\n    int X;{tail}"),
                if rest.starts_with('\r') { "\r\n" } else { "\n" },
            );
            let new = format!("    int B;{end}");
            let made = format!("{start}{end}{new}{}", &rest[end.len()..]);
            assert_eq!(behind(&format!("{start}{rest}"), "A.X", &new), Ok(made));
        }
        for end in ["} // end of A", "} // end of A\n", "} /* A */\n// of others\nclass C { }\n"] {
            let text = format!("class A {{\n{end}");
            let (own, others) = end.split_once('\n').unwrap_or((end, ""));
            let made = format!("class A {{\n{own}\nclass B {{ }}\n{others}");
            let made = if end.contains('\n') { made.as_str() } else { made.trim_end() };
            assert_eq!(behind(&text, "A", "class B { }").as_deref(), Ok(made));
        }
        for (text, new, made) in [
            ("enum E { A, B }\n", "C,", "enum E { A, C, B }\n"),
            (
                "enum E\n{\n    A = 1, // one\n    B\n}\n",
                "    C,",
                "enum E\n{\n    A = 1, // one\n    C,\n    B\n}\n",
            ),
            (
                "record E(\n    int A, // one\n    int B);\n",
                "    int C,",
                "record E(\n    int A, // one\n    int C,\n    int B);\n",
            ),
        ] {
            assert_eq!(behind(text, "E.A", new).as_deref(), Ok(made));
        }
        // Text of other declarations on the line stays theirs.
        for rest in ["int Y; // of Y", "/** <summary>Y.</summary> */ int Y;", "/* of X */ int Y;"] {
            let text = format!("class A {{\n    int X; {rest}\n}}\n");
            let made = text.replacen(rest, &format!("int B; {rest}"), 1);
            assert_eq!(behind(&text, "A.X", "int B;"), Ok(made));
        }
    }

    #[test]
    fn a_symbol_with_another_signature_is_the_same_one() {
        let made = replace_symbol("A.Get(int)", Where::Replace, "public long Get(long id, int more) => id;", true).expect("edited");
        assert_eq!(
            made,
            TEXT.replace("public int Get(int id) => id;", "public long Get(long id, int more) => id;")
        );
        let documented = "/// <summary>X.</summary>\n    [Pure] int X;";
        assert!(replace_symbol("A.X", Where::Replace, documented, false).is_ok());
        assert!(replace_symbol("A.X", Where::Replace, documented, true).is_ok());
    }

    #[test]
    fn documentation_and_attributes_stay_with_their_symbol() {
        for at in [Where::Before, Where::After] {
            let why = |new: &str| replace_symbol("A#Get(int)", at, new, false).expect_err("refused").why;
            for new in ["int B;\n    [Pure]", "[Pure]", "int B; [Pure] // why"] {
                assert!(why(new).starts_with("the text ends in an attribute"), "{new}");
            }
            for new in ["    /// <summary>New.</summary>", "int B;\n    /** New. */"] {
                assert!(why(new).starts_with("the text ends in documentation"), "{new}");
            }
        }
        for ends in ["[Pure]", "/// <summary>New.</summary>"] {
            let new = format!("public int Get(int id) => 1;\n    {ends}");
            assert_eq!(
                replace_symbol("A#Get(int)", Where::Replace, &new, false).expect_err("refused").why,
                "it would change documentation, attributes, modifiers or kind of N.A#Get(string); nothing was changed"
            );
        }
        let before = replace_symbol("A#Get(int)", Where::Before, "    int B;\r\n", false).expect("edited");
        assert_eq!(before, TEXT.replace("    /// <summary>Gets", "    int B;\r\n    /// <summary>Gets"));
    }

    #[test]
    fn text_that_is_not_only_declarations_is_refused() {
        let why = |symbol: &str, at: Where, new: &str| replace_symbol(symbol, at, new, false).expect_err(new).why;
        for at in [Where::Before, Where::After] {
            for new in ["    // a note\r\n", "/* a note */", "    #region R\r\n    #endregion", "", "\r\n"] {
                assert_eq!(
                    why("A#Get(int)", at, new),
                    "the text declares nothing; nothing was changed",
                    "{new}"
                );
            }
            for (symbol, new, message) in [
                ("A", "using System;", "using System;"),
                ("A", "class B { }\r\nusing System; // now", "using System; // now"),
                ("A", "[assembly: Pure] class B { }", "[assembly: Pure] class B { }"),
                ("A", "namespace M { class B { } }", "namespace M { class B { } }"),
                (
                    "A",
                    "    /// <summary>B.</summary>\r\n    class B { }\r\n    #if X\r\n    using System;\r\n    #endif",
                    "using System;",
                ),
            ] {
                assert_eq!(
                    why(symbol, at, new),
                    format!("`{message}` is not a declaration of a type or a member; nothing was changed")
                );
            }
            for (new, message) in [
                ("    #region R\r\n    int B;", "#region R"),
                ("    int B;\r\n    #endregion", "#endregion"),
                ("#if NEVER\r\n", "#if NEVER"),
                ("    int B;\r\n    #if X", "#if X"),
                ("    #endif\r\n    int B;\r\n    #if X", "#endif"),
                ("#define X\r\nint B;", "#define X"),
                ("#pragma warning disable", "#pragma warning disable"),
                ("#nullable enable\r\nint B;", "#nullable enable"),
            ] {
                let message = format!("the text has `{message}`, which concerns more than the declaration; nothing was changed");
                assert_eq!(why("A#Get(int)", at, new), message);
            }
            for new in [
                "    #region R\r\n    // one\r\n    [Pure] /* two */ int B; // three\r\n    #endregion\r\n    // four",
                "    #if X\r\n    int B;\r\n    #else\r\n    // none\r\n    #endif",
                "    #pragma warning disable CS1\r\n    int B, C;\r\n    #pragma warning restore CS1",
                "    int B() {\r\n#if X\r\n        return 1;\r\n#endif\r\n    }",
                "    class B { };",
            ] {
                assert!(
                    replace_symbol("A#Get(int)", at, new, false).is_ok(),
                    "{new}: {}",
                    why("A#Get(int)", at, new)
                );
            }
        }
        for new in ["using System;\r\npublic class A { }", "public class A { }\r\nusing System;"] {
            assert!(
                why("A", Where::Replace, new).starts_with("`using System;` is not a declaration"),
                "{new}"
            );
        }
        let opened = why("A.X", Where::Replace, "#region R\r\nint X;");
        assert!(opened.starts_with("the text has `#region R`"), "{opened}");
        let text = "class A {\n    /// <summary>M.</summary>\n#if X\n    int M;\n#else\n    long M;\n#endif\n}\n";
        let replace = |new: &str| {
            let request = SymbolEdit {
                symbol: "A.M".to_owned(),
                at: Where::Replace,
                new: new.to_owned(),
                head: HeadPolicy::Replaced,
                defines: Some(BTreeSet::from(["X".to_owned()])),
            };
            edit_symbol(text, &request).map(|(made, _)| made).map_err(|refused| refused.why)
        };
        assert_eq!(
            replace("    byte M;").expect_err("its branch would be open"),
            "the text must not change `#if X` at line 3, which concerns more than the declaration; nothing was changed"
        );
        assert_eq!(
            replace("    // M\n#if X\n    byte M;"),
            Ok(text.replace("/// <summary>M.</summary>", "// M").replace("int M", "byte M"))
        );
    }

    #[test]
    fn edits_that_would_change_other_symbols_are_refused() {
        let why = |symbol: &str, at: Where, new: &str| replace_symbol(symbol, at, new, false).expect_err("refused").why;
        for (symbol, new, message) in [
            ("B", "x", "nothing in the file is named B"),
            ("A.Get", "x", "2 declarations in the file are called A.Get"),
            (
                "A.Get(int)",
                "public int Got(int id) => id;",
                "it would remove the method N.A#Get(int), and add the method N.A#Got(int); nothing was changed",
            ),
            (
                "A.Get(int)",
                "public int Get => 1;",
                "it would remove the method N.A#Get(int), and add the property N.A#Get; nothing was changed",
            ),
            (
                "A.Get(int)",
                "public long Get(string other) => 1;",
                "there is a N.A#Get(string) already; nothing was changed",
            ),
            ("A.X", "", "it would remove the field N.A#X; nothing was changed"),
            (
                "A",
                "public struct A { int X; }",
                "it would remove the class N.A, and add the struct N.A; nothing was changed",
            ),
            ("A.X", "int X; int Z;", "it would also declare N.A#Z; nothing was changed"),
        ] {
            assert_eq!(why(symbol, Where::Replace, new), message);
        }
        assert!(
            why("A.X", Where::Replace, "int X; }").contains("gone") || why("A.X", Where::Replace, "int X; }").contains("no longer parse")
        );
        assert!(why("A.X", Where::Before, "int B {").contains("parse as C#") || why("A.X", Where::Before, "int B {").contains("gone"));
        let two = replace_symbol("A.Get", Where::Before, "x", false).expect_err("refused");
        assert_eq!(two.candidates, ["N.A#Get(int) at line 7", "N.A#Get(string) at line 10"]);
    }

    #[test]
    fn a_symbol_that_exists_is_not_declared_again() {
        let insert = |text: &str, symbol: &str, at: Where, new: &str| {
            let request = SymbolEdit {
                symbol: symbol.to_owned(),
                at,
                new: new.to_owned(),
                head: HeadPolicy::Replaced,
                defines: Some(BTreeSet::new()),
            };
            edit_symbol(text, &request).map(drop).map_err(|refused| refused.why)
        };
        let text = "namespace N;\npartial class P { int A => 1; partial void M(); }\nclass Q<T> {\n    int B { get; }\n    void C() { }\n    int this[int at] => 1;\n    #if !X\n    void D() { }\n    #endif\n    public static implicit operator int(Q<T> q) => 1;\n}\nstatic class E { extension(string s) { public bool Is => true; } }\n";
        for at in [Where::Before, Where::After] {
            for (symbol, new, there) in [
                ("Q`1", "class Q<U> { }", "N.Q`1"),
                ("Q`1", "partial class Q<U> { }", "N.Q`1"),
                ("P", "partial struct P { }", "N.P"),
                ("P", "partial class P { int A; }", "N.P#A"),
                ("Q`1", "enum Z { } enum Z { }", "N.Z"),
                ("Q`1.C", "    /// <summary>Other.</summary>\n    long B => 2;", "N.Q`1#B"),
                ("Q`1.C", "    int B;", "N.Q`1#B"),
                ("Q`1.C", "    int B() => 1;", "N.Q`1#B"),
                ("Q`1.C", "    event E C;", "N.Q`1#C()"),
                ("Q`1.C", "    int C() => 1;", "N.Q`1#C()"),
                ("Q`1.C", "    void D() { }", "N.Q`1#D()"),
                ("Q`1.C", "    long this[int at] => 1;", "N.Q`1#this[](int)"),
            ] {
                let why = insert(text, symbol, at, new).expect_err(new);
                assert_eq!(why, format!("there is a {there} already; nothing was changed"), "{new}");
            }
            for (symbol, new) in [
                ("P", "partial class P { int B; }"),
                ("P", "class Q { } class Q<A, B> { }"),
                ("P.A", "partial void M() { }"),
                ("Q`1.C", "    void C(int a) { } void C<U>() { }"),
                ("Q`1.C", "    int I.B => 1;\n    int J.B => 1;"),
                ("Q`1.C", "    int this[long at] => 1;"),
                ("Q`1.C", "    #if X\n    void D() { }\n    #endif\n"),
                ("Q`1.C", "    public static implicit operator long(Q<T> q) => 1;"),
                ("E", "static class F { static bool Is; }"),
            ] {
                assert_eq!(insert(text, symbol, at, new), Ok(()), "{new}");
            }
        }
        let receiver = "extension(int s) { public bool Is => true; }";
        let extended = "static class E { int A; extension(string s) { public bool Is => true; } }\n";
        assert_eq!(insert(extended, "E.A", Where::After, receiver), Ok(()));
        // A duplicate that existed before does not block the edit.
        assert_eq!(insert("class A { int X; int X; int Y; }", "A.Y", Where::After, "int Z;"), Ok(()));
        let types = "#if X\nclass A { int Y; }\n#else\nclass A {\n    int Z;\n}\n#endif\n";
        assert_eq!(insert(types, "A.Z", Where::After, "    int Y;"), Ok(()));
    }
}
