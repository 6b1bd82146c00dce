//! Tests of parsing: compact dumps of snippets, the feature files, layout, hostile input, and the golden output for the present version.

use super::repair::repairs;
use super::shown::GrammarText;
use super::tokens::Tokens;
use super::{grammar, read};
use crate::lexer::lex;
use crate::model::{NamePlace, NameUse, Span, Syntax, Tier};
use crate::syntax;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

fn parsed(text: &str) -> Syntax {
    read(text, &BTreeSet::new(), "f.cs").0
}

fn names(names: &[NameUse]) -> String {
    let one = |name: &NameUse| {
        let place = match name.place {
            NamePlace::Base => "b",
            NamePlace::Signature => "s",
            NamePlace::Attribute => "a",
            NamePlace::Argument => "v",
        };
        let arity = if name.arity == 0 {
            String::new()
        } else {
            format!("`{}", name.arity)
        };
        format!("{}{arity}{}{place}", name.path, if name.certain { "!" } else { "?" })
    };
    names.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Returns one line for each type and member: path, signature, and all other parts that are not empty.
fn dump(text: &str) -> String {
    let mut out = String::new();
    let list = |label: &str, items: &[String]| {
        if items.is_empty() {
            String::new()
        } else {
            format!(" {label}[{}]", items.join("; "))
        }
    };
    let some = |text: &'_ String| -> Vec<String> { Some(text.clone()).filter(|text| !text.is_empty()).into_iter().collect() };
    for decl in parsed(text).types {
        let space = if decl.namespace.is_empty() {
            String::new()
        } else {
            format!("{}.", decl.namespace)
        };
        let _ = write!(
            out,
            "{space}{} | {}{}{}{}{}",
            decl.path,
            decl.signature,
            list("bases", &decl.bases),
            list("where", &decl.constraints),
            list("attr", &decl.attributes),
            list("in place", &some(&decl.attributed))
        );
        let _ = writeln!(
            out,
            "{}{}",
            list(
                "body",
                std::slice::from_ref(&decl.body)
                    .iter()
                    .filter(|b| !b.is_empty())
                    .cloned()
                    .collect::<Vec<_>>()
                    .as_slice()
            ),
            list(
                "names",
                &decl.names.is_empty().then(Vec::new).unwrap_or_else(|| vec![names(&decl.names)])
            )
        );
        for member in decl.members {
            let body = if member.body.is_empty() {
                String::new()
            } else {
                format!(" = {}", member.body)
            };
            let used = if member.names.is_empty() {
                String::new()
            } else {
                format!(" <- {}", names(&member.names))
            };
            let _ = writeln!(
                out,
                "  {:?} {}({}) | {}{}{}{body}{used}",
                member.kind,
                member.name,
                member.parameters.join("; "),
                member.signature,
                list("attr", &member.attributes),
                list("in place", &some(&member.attributed))
            );
        }
    }
    out
}

#[test]
fn snippets() {
    for (text, expected) in [
        (
            "namespace A { namespace B.C { public partial class Outer<T> : Base<T>, I where T : IX { class Inner<U, V> { } } } }",
            "A.B.C.Outer`1 | public partial class Outer<T> bases[Base<T>; I] where[where T : IX] names[Base`1!b I!b IX!s]\nA.B.C.Outer`1+Inner`2 | class Inner<U, V>\n",
        ),
        (
            "class A { int x = 1, y; const string S = \"s\"; }",
            "A | class A\n  Field x() | int x = 1\n  Field y() | int y\n  Constant S() | const string S = \"s\"\n",
        ),
        (
            "enum E : byte { A = 1, [Old] B }",
            "E | enum E bases[byte]\n  EnumMember A() | A = 1\n  EnumMember B() | B attr[Old] <- Old!a\n",
        ),
        (
            "public delegate T D<in T>(T x, int y = 3);",
            "D`1 | public delegate T D<in T>(T x, int y) body[y = 3]\n",
        ),
        (
            "record R([property: J] Foo X, int Y = 2) : B(X) { public int Y { get; } = Y; }",
            "R | record R(Foo X, int Y) bases[B] in place[record R([property: J] Foo X, int Y)] body[Y = 2\n(X)] names[B!b Foo!s J!a]\n  Property X() | public Foo X { get; init; } attr[J] <- Foo!s\n  Property Y() | public int Y { get; } = = Y\n",
        ),
        (
            "record struct S(int X); ",
            "S | record struct S(int X)\n  Property X() | public int X { get; set; }\n",
        ),
        (
            "class A { [X] public async Task<List<Foo>> M<T>([Y] ref T a, params string[] b, Foo c = null, this int d) where T : new() { var q = new Bar<Foo>(); Util.Go(); q.Go(); } }",
            "A | class A\n  Method M(ref T; string[]; Foo; int) | public async Task<List<Foo>> M<T>(ref T a, params string[] b, Foo c, this int d) where T : new() attr[X] in place[public async Task<List<Foo>> M<T>([Y] ref T a, params string[] b, Foo c, this int d) where T : new()] = c = null\n{ var q = new Bar<Foo>(); Util.Go(); q.Go(); } <- Foo!s List`1!s Task`1!s X!a Y!a\n",
        ),
        (
            "class A { public int P { get => f; private set { f = value; } } event E X { add { } remove { } } int this[int i] => i; }",
            "A | class A\n  Property P() | public int P { get; private set; } = get => f\nset { f = value; }\n  Event X() | event E X = add { }\nremove { } <- E!s\n  Indexer this[](int) | int this[int i] { get; } = => i\n",
        ),
        (
            "class A { static A() { } A(B b) : base(new C()) { } ~A() { } public static A operator -(A a) => a; public static implicit operator (int, B)(A a) => default; }",
            "A | class A\n  Constructor .cctor() | static A() = { }\n  Constructor .ctor(B) | A(B b) = : base(new C()) { } <- B!s\n  Finalizer Finalize() | ~A() = { }\n  Operator op_UnaryNegation(A) | public static A operator -(A a) = => a <- A!s\n  Conversion op_Implicit(A) | public static implicit operator (int, B)(A a) = => default <- A!s B!s\n",
        ),
        (
            "class A : I<B.C> { void I<B.C>.M() { if (x is D d && d.E is F or G) throw new H.J(typeof(K)); catch1(nameof(L), (N)y, z as O); } }",
            "A | class A bases[I<B.C>] names[B.C!b I`1!b]\n  Method I<B.C>.M() | void I<B.C>.M() = { if (x is D d && d.E is F or G) throw new H.J(typeof(K)); catch1(nameof(L), (N) y, z as O); } <- B.C!s I`1!s\n",
        ),
    ] {
        assert_eq!(dump(text), expected, "{text}");
    }
}

#[test]
fn documentation_belongs_to_what_follows() {
    let syntax = parsed(
        "/// <summary>A</summary>\n/// more\n[X] class A {\n /** <summary>\n  * M\n  */\n void M() { }\n // no\n int x; /// stray\n }",
    );
    let decl = &syntax.types[0];
    assert_eq!(decl.doc, "<summary>A</summary>\nmore");
    assert_eq!((decl.members[0].doc.as_str(), decl.members[1].doc.as_str()), ("<summary>\nM", ""));
    assert_eq!(
        [decl.span, decl.members[0].span, decl.members[1].span].map(|span| ((span.first, span.from), (span.last, span.to))),
        [((1, 0), (10, 2)), ((4, 1), (7, 13)), ((9, 1), (9, 7))]
    );
}

#[test]
fn usings() {
    let syntax = parsed("global using static System.Math; using A = B.C<int>; namespace N { using @X . Y; class Z { } }");
    let shown: Vec<String> = syntax
        .usings
        .iter()
        .map(|using| {
            format!(
                "{}{}{:?} {} {}",
                using.is_global, using.is_static, using.alias, using.target, using.namespace
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "truetrueNone System.Math ",
            "falsefalseSome(\"A\") B.C<int> ",
            "falsefalseNone X.Y N"
        ]
    );
}

#[test]
fn top_level_statements_make_a_program() {
    let syntax = parsed("using System;\nConsole.WriteLine(1);\nclass A { }");
    assert!(syntax.top_level);
    let program = &syntax.types[1];
    assert_eq!(
        (program.path.as_str(), program.members[0].body.as_str()),
        ("Program", "Console.WriteLine(1);")
    );
}

#[test]
fn extension_blocks_give_their_members_the_receiver() {
    let found = dump(
        "static class E { extension<T>(List<T> source) where T : class { public bool Empty => false; public int Go(int x) { return 1; } } }",
    );
    assert_eq!(
        found,
        "E | static class E\n  Property Empty(List<T>) | public bool extension<T>(List<T> source).Empty { get; } where T : class = => false <- List`1!s\n  Method Go(List<T>; int) | public int extension<T>(List<T> source).Go(int x) where T : class = { return 1; } <- List`1!s\n"
    );
}

#[test]
fn the_same_declarations_with_and_without_a_broken_body() {
    let (whole, none) = read(
        "namespace N; class A { int F = 1; int P { get; set; } = 2; void M(B b) { new C(); } extension(B b) { public int Q => 1; } enum E { X = 1 << 4, Y } }",
        &BTreeSet::new(),
        "f.cs",
    );
    let (partial, some) = read(
        "namespace N; class A { int F = 1; int P { get; set; } = 2; void M(B b) { new C(); ][ } extension(B b) { public int Q => 1; } enum E { X = 1 << 4, Y } }",
        &BTreeSet::new(),
        "f.cs",
    );
    assert_eq!((whole.tier, partial.tier, none.len()), (Tier::Whole, Tier::Skeleton, 0));
    assert_eq!(
        some[0].place.as_ref().map(|place| (place.file.as_str(), place.line)),
        Some(("f.cs", 1))
    );
    let shown = |syntax: &Syntax| -> Vec<String> {
        syntax
            .types
            .iter()
            .flat_map(|decl| {
                decl.members.iter().map(|member| {
                    format!(
                        "{} {} {} {}",
                        decl.path,
                        member.signature,
                        if member.name == "M" { "" } else { &member.body },
                        names(&member.names)
                    )
                })
            })
            .collect()
    };
    assert_eq!(shown(&whole), shown(&partial));
}

/// Returns tier, code and line of the first diagnostic, and the names of all members.
fn first_problem(text: &str) -> (Tier, String, String) {
    let (syntax, diagnostics) = read(text, &BTreeSet::new(), "f.cs");
    let message = diagnostics.first().map_or_else(String::new, |first| {
        let line = first.place.as_ref().map_or(0, |place| place.line);
        format!("{}:{line} {}", first.code, first.message)
    });
    let members = syntax
        .types
        .iter()
        .flat_map(|decl| decl.members.iter().map(move |member| format!("{}.{}", decl.path, member.name)));
    (syntax.tier, message, members.collect::<Vec<_>>().join(" "))
}

#[test]
fn a_broken_literal_is_named_and_its_neighbours_kept() {
    let literal = "CS-PARSE-PARTIAL:3 a string or character literal is not closed; declarations behind it may be missing";
    for line in [
        "string s = \"broken;",
        "string s = \"broken",
        "string s = $\"broken {x;",
        "char s = 'x;",
        "void s() { Go(\"broken); }",
        "string s => \"broken;",
        "void s(string t = \"broken) { }",
    ] {
        let (tier, message, members) = first_problem(&format!(
            "class A {{\nint before;\n{line}\nvoid After() {{ }}\nint Last {{ get; }}\n}}\nclass B {{ int x; }}"
        ));
        assert_eq!((tier, message.as_str()), (Tier::Partial, literal), "{line}");
        assert!(
            members.starts_with("A.before") && members.ends_with("A.After A.Last B.x"),
            "{line}: {members}"
        );
    }
    let comment = first_problem("class A {\nint before;\n/* never closed\nvoid After() { }\n}");
    assert_eq!(comment.0, Tier::Partial);
    assert_eq!(
        (comment.1.as_str(), comment.2.as_str()),
        (
            "CS-PARSE-PARTIAL:3 a comment is not closed; what stands behind it was not read",
            "A.before"
        )
    );
}

#[test]
fn bodies_with_errors_are_told_and_keep_their_declarations() {
    let text = "class A { void M(B b) { new C(); ][ } void N() { if (x is D d) { } } }\nclass B { }";
    let (tier, message, members) = first_problem(text);
    assert_eq!(
        (tier, message.as_str(), members.as_str()),
        (
            Tier::Skeleton,
            "CS-PARSE-PARTIAL:1 one body could not be parsed; all declarations were read",
            "A.M A.N"
        )
    );
}

#[test]
fn brackets_that_do_not_match_are_never_whole() {
    for text in [
        "class A { void M() { } } }\nclass B { int x; }",
        "class A { void M() { }\nclass B { int x; }",
        "class A { int M( { } int y; }",
    ] {
        let (tier, message, members) = first_problem(text);
        assert_eq!(tier, Tier::Partial, "{text}");
        assert!(message.contains("declarations may be missing"), "{text}: {message}");
        assert!(members.contains("A."), "{text}: {members}");
    }
}

#[test]
fn the_grammar_takes_repaired_bodies() {
    for body in [
        "p->X = *(int*)&z; F(*(B*)&v);",
        "V and = F(or); G(and, not);",
        "a?.b.c = new C(); a?[0] += 1;",
        "U.Add<T>(ref a, 1) = new D(); F() ??= 2; G(x) >>= 3;",
        "var s = $\"{{{x}}}\"; var t = $@\"a \"\"{y}\"\"\"; new E();",
        "if (a is [1, .. var rest]) { new G(); }",
        "D d = (ref x, out y) => new H();",
    ] {
        let text = format!("class A {{ void M() {{ {body} }} }}");
        let (syntax, diagnostics) = read(&text, &BTreeSet::new(), "f.cs");
        assert_eq!((syntax.tier, diagnostics.len()), (Tier::Whole, 0), "{body}");
        let tokens = Tokens::new(&text, lex(&text));
        let mut edits = Vec::new();
        repairs(&tokens, &mut edits);
        let tree = grammar::parse_tree(&GrammarText::new(&tokens, &edits).text).expect("a tree");
        assert!(!tree.root_node().has_error(), "{body}");
    }
}

#[test]
fn directives_without_partner_are_told() {
    for (text, expected) in [
        ("class A {\n#if X\nint a;\n}", "CS-PREPROCESSOR:2 this '#if' has no '#endif'"),
        ("class A {\n#endif\nint a;\n}", "CS-PREPROCESSOR:2 this '#endif' has no '#if'"),
        ("class A {\nstring s = \"\"\"\n#endif\n\"\"\";\nint a; }", ""),
    ] {
        assert_eq!(first_problem(text).1, expected, "{text}");
    }
}

#[test]
fn declarations_carry_their_conditions() {
    let text = "#if NET\nclass A {\nint a;\n#if !X\n[Y]\nvoid b() { }\n#else\nvoid c() { }\n#endif\nvoid d() {\n#if NET\n#endif\n}\n}\n#endif\nclass B {\n#if NET\n[Y]\n#endif\nint e;\n}";
    let (syntax, diagnostics) = read(text, &BTreeSet::from(["NET".to_owned()]), "f.cs");
    assert_eq!(diagnostics, []);
    let shown: Vec<String> = syntax
        .types
        .iter()
        .flat_map(|decl| {
            let members = decl.members.iter().map(|member| format!("{} {:?}", member.name, member.condition));
            std::iter::once(format!("{} {:?}", decl.path, decl.condition)).chain(members)
        })
        .collect();
    assert_eq!(shown, ["A \"NET\"", "a \"\"", "b \"NET && !X\"", "d \"\"", "B \"\"", "e \"\""]);
}

#[test]
fn attributes_stand_where_they_belong() {
    assert_eq!(
        dump(
            "class A { [X] bool Try<[P] T>(string k, [NotNullWhen(true)] out T v) => true; int this[[Q] int i] { [R] get => 1; } [return: S] int F() => 1; }"
        ),
        "A | class A\n  Method Try`1".replace("`1", "")
            + "(string; out T) | bool Try<T>(string k, out T v) attr[X] in place[bool Try<[P] T>(string k, [NotNullWhen(true)] out T v)] = => true <- NotNullWhen!a P!a X!a\n  Indexer this[](int) | int this[int i] { get; } in place[int this[[Q] int i] { [R] get; }] = get => 1 <- Q!a R!a\n  Method F() | int F() attr[return: S] = => 1 <- S!a\n"
    );
}

fn features() -> Vec<(String, String)> {
    files_of("csharp/features")
}

/// Returns names and texts of the C# files in a fixture's folder.
pub(super) fn files_of(folder: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder);
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("the fixtures are part of the repository")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cs"))
        .map(|path| {
            let name = path.file_stem().expect("named").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("text"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn feature_files_keep_their_declarations() {
    let files = features();
    assert_eq!(files.len(), 94);
    let mut repaired = Vec::new();
    let mut shown = String::new();
    for (name, text) in &files {
        let (syntax, diagnostics) = read(text, &BTreeSet::new(), name);
        assert_eq!(diagnostics, [], "{name}");
        match syntax.tier {
            Tier::Whole => {}
            Tier::Repaired => repaired.push(name.as_str()),
            other => panic!("{name}: {other:?}"),
        }
        let types: Vec<String> = syntax
            .types
            .iter()
            .map(|decl| format!("{}:{}", decl.path, decl.members.len()))
            .collect();
        let _ = writeln!(shown, "{name} {}", types.join(" "));
    }
    assert_eq!(repaired, ["allows_ref_struct", "compound_op", "ref_partial_struct"]);
    insta::assert_snapshot!(shown);
}

/// Returns the file's tokens with other white space and comments between them.
fn relaid(text: &str, choices: &[u8]) -> String {
    let lexed = lex(text);
    let mut out = String::new();
    for (index, token) in lexed.tokens.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).map(|before| lexed.tokens[before]) {
            // `>>` and `>=` are operators only without a space.
            let joined = before.end == token.start && before.text(text) == ">" && matches!(token.text(text), ">" | "=");
            if !joined {
                let gap = [" ", "\n", "\t ", " /* c */ ", " // c\n", "\n\n  "];
                out.push_str(gap[usize::from(choices[index % choices.len()]) % gap.len()]);
            }
        }
        out.push_str(token.text(text));
    }
    out
}

fn without_layout(mut syntax: Syntax) -> Syntax {
    for decl in &mut syntax.types {
        decl.span = Span::default();
        decl.doc.clear();
        for member in &mut decl.members {
            member.span = Span::default();
            member.doc.clear();
        }
    }
    syntax
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn layout_does_not_matter(choices in proptest::collection::vec(any::<u8>(), 1..40), file in 0_usize..65) {
        let (name, text) = &features()[file];
        prop_assume!(!text.contains('#'));
        let other = relaid(text, &choices);
        prop_assert_eq!(without_layout(parsed(text)), without_layout(parsed(&other)), "{}: {}", name, other);
    }

    #[test]
    fn truncated_files(file in 0_usize..65, share in 0.0_f64..1.0) {
        let (_, text) = &features()[file];
        let mut end = (text.len() as f64 * share) as usize;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        parsed(&text[..end]);
    }

    #[test]
    fn anything_at_all(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        parsed(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn shuffled_code(words in proptest::collection::vec(proptest::sample::select(vec![
        "class", "A", "{", "}", "(", ")", "<", ">", "=", ";", ",", "=>", "[", "]", "int", "operator", "==", "this", ":", "where", "record", "enum", "?", ".", "event", "~",
        "extension", "namespace", "using", "static", "new", "\"s", "$\"{", "/*", "#if X\n", "delegate", "implicit", "async", "get", "params",
    ]), 0..60)) {
        parsed(&words.join(" "));
        parsed(&words.concat());
    }
}

#[test]
fn a_declaration_inside_what_the_lexer_takes_for_a_string_is_none() {
    assert!(parsed("$\"{class]classclass;").types.is_empty());
}

#[test]
fn hostile_input_ends() {
    let many = 100_000;
    let cases = [
        format!(
            "class A {{ int x = {}1{}; void After() {{ }} }}",
            "(".repeat(many),
            ")".repeat(many)
        ),
        format!(
            "class A {{ void M() {{ {} {} }} void After() {{ }} }}",
            "{".repeat(many),
            "}".repeat(many)
        ),
        format!("class A {{ int x={}1; void After() {{ }} }}", "a<".repeat(many)),
        format!("class A {{ int x={}1; void After() {{ }} }}", "a<b,".repeat(many / 4)),
        format!("class A {{ int x={}1; void After() {{ }} }}", "a.b().".repeat(many / 4)),
        format!("class A {{ int x={}1; void After() {{ }} }}", "a+".repeat(many)),
        format!("class A {{ int x={}1; void After() {{ }} }}", "-".repeat(many)),
        format!(
            "class A {{ string s = {}1{}; void After() {{ }} }}",
            "$\"{".repeat(many),
            "}\"".repeat(many)
        ),
    ];
    for text in &cases {
        let syntax = parsed(text);
        let last = syntax
            .types
            .first()
            .and_then(|decl| decl.members.last())
            .map(|member| member.name.as_str());
        assert_eq!(last, Some("After"), "{:.40}", text);
    }
    for text in [
        "class A { ".repeat(many),
        "namespace A { ".repeat(many),
        "[".repeat(many),
        "}".repeat(many),
        "class A<".repeat(many),
        "class A : B<".to_owned() + &"A<".repeat(many),
        "$".repeat(many),
        "\"".repeat(many),
        "@$\"{".repeat(many),
        "$\"{\n".repeat(many),
        "#if A\n".repeat(many),
        "/*".repeat(many),
        "class A { string s = \"unterminated\n; string t = @\"to the end".to_owned(),
        "class A { /* to the end".to_owned(),
    ] {
        parsed(&text);
    }
}

#[test]
fn twenty_thousand_members_and_odd_names() {
    let mut text = String::from("class Many {");
    for number in 0..20_000 {
        let _ = write!(text, "int f{number}; void M{number}(int x) {{ F(f{number}); }}");
    }
    text.push_str("} class Next { }");
    let syntax = parsed(&text);
    assert_eq!(
        (syntax.tier, syntax.types[0].members.len(), syntax.types.len()),
        (Tier::Whole, 40_000, 2)
    );
    let odd = parsed("namespace @namespace . B\n.\n@as { class @class : @in\n.\nBase { int @int; void @void(@in.\n X @params) { } } }");
    let decl = &odd.types[0];
    assert_eq!(
        (decl.symbol().as_str(), decl.bases.join(";")),
        ("namespace.B.as.class", "@in.Base".to_owned())
    );
    let members: Vec<&str> = decl.members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(
        (members, decl.members[1].parameters.join(";")),
        (vec!["int", "void"], "@in.X".to_owned())
    );
}

/// If this digest changes, increment `csharp::syntax::VERSION` and write the new digest here.
#[test]
fn golden_output_is_tied_to_the_version() {
    let text = include_str!("../../../../fixtures/csharp/golden.cs");
    let digest = blake3::hash(&syntax::encode_syntax(&parsed(text))).to_hex();
    assert_eq!((syntax::VERSION, &digest[..16]), (19, "8010ffaa9bbba132"));
}
