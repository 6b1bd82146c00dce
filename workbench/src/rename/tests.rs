//! Renames of small workspaces: complete, or refused with what is in the way.

use super::*;
use crate::symbols::resolve::{Options, resolve};
use crate::symbols::samples::Sample;
use engine::files::memory::MemoryWorld;

const SHOP: &str = "namespace N;

/// <summary>Sells; see <see cref=\"Price(int)\"/> and <see cref=\"Shop.Tax\"/>.</summary>
public interface IShop
{
    int Price(int count);
}

/// <summary>A <see cref=\"Shop\"/>.</summary>
public partial class Shop : IShop
{
    /// <seealso cref=\"Twice\"/> <seealso cref=\"Take(Shop, N.Shop[])\"/>
    public Shop(int size) { Tax = size; } void Take(Shop one, Shop[] more) { }
    public int Tax;
    public virtual int Price(int count) => Tax * count; public int Twice() => Price(1) + Price(2);
    public int Price(string name) => name.Length;
}
public partial class Shop { ~Shop() { } public static Shop Make() => new Shop(1); }
";
const USERS: &str = "using A = N.Shop;\r\nusing B = System.Collections.Generic.List<N.Shop>;\r\nusing static N.Shop;\r\nnamespace U;\r\nclass Market : N.Shop {\r\n    public Market() : base(1) { }\r\n    public override int Price(int count) => base.Price(count);\r\n}\r\nclass Go {\r\n    A shop; N.IShop other;\r\n    int Sum() => shop.Price(1) + other.Price(2) + shop.Price(\"x\") + new N.Shop(3).Tax; // Price\r\n    string S() => nameof(N.Shop) + $\"{shop.Price(4)}\";\r\n}\r\n";

fn files() -> Vec<(&'static str, &'static str)> {
    vec![("src/shop.cs", SHOP), ("src/users.cs", USERS)]
}

/// New texts by path.
type TextsAfter = Vec<(String, String)>;

/// Renames a symbol and verifies the result. Returns the new texts, or the obstacles.
fn renamed(files: &[(&str, &str)], symbol: &str, new: &str) -> Result<TextsAfter, Vec<String>> {
    renamed_beside(files, symbol, new, false).map(|(after, _)| after)
}

/// As [`renamed`], but possible uses may stay; returns those as well.
fn renamed_beside(files: &[(&str, &str)], symbol: &str, new: &str, leave_possible: bool) -> Result<(TextsAfter, Vec<String>), Vec<String>> {
    let mut sample = Sample::from_files(files);
    let symbols = sample.names();
    let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
    let candidate = found.candidate().expect("one").clone();
    let world = MemoryWorld::new();
    files.iter().for_each(|(path, text)| world.write_source(path, text.as_bytes()));
    let sources: Vec<SourceFile> = files.iter().map(|(path, _)| ((*path).to_owned(), None)).collect();
    let request = RenameRequest {
        candidate: &candidate,
        new,
        leave_possible,
        in_strings: false,
        gaps: &BTreeSet::new(),
        flawed: &BTreeSet::new(),
        sources: &sources,
        references: &ReferenceTexts::default(),
    };
    let answer = |way: Obstacles| way.0.into_iter().collect::<Vec<_>>();
    let plan = plan(&mut sample, &symbols, &world, request).expect("outputs").map_err(answer)?;
    let text = |(path, text): &(&str, &str)| {
        let file = plan.files.iter().find(|file| file.path == *path);
        (
            (*path).to_owned(),
            file.and_then(|file| file.after.as_deref()).unwrap_or(text).to_owned(),
        )
    };
    let after: TextsAfter = files.iter().map(text).collect();
    let given: Vec<(&str, &str)> = after.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut sample = Sample::from_files(&given);
    let symbols = sample.names();
    verify(&mut sample, &symbols, &plan, &BTreeSet::new())
        .expect("outputs")
        .map_err(answer)?;
    Ok((after, plan.left))
}

#[test]
fn types_that_differ_by_type_parameters_are_told_apart() {
    let text = "namespace N; interface I { } interface I<T> : I { }\nclass C<A> : I, I<A> { I one; I<A> Go(I a, I<I> b, I<I<A>> c) => null; I @in() { I x = null; I<int> y; return x; } }\n";
    let (_, after) = &renamed(&[("a.cs", text)], "N.I", "J").expect("renamed")[0];
    let expected = text
        .replace("interface I {", "interface J {")
        .replace(": I {", ": J {")
        .replace(": I,", ": J,");
    let expected = expected
        .replace("{ I one", "{ J one")
        .replace("(I a", "(J a")
        .replace("I<I> b", "I<J> b");
    assert_eq!(*after, expected.replace("I @in() { I x", "J @in() { J x"));
}

#[test]
fn a_type_that_is_marked_with_its_project_is_renamed() {
    const PROJECT: &str =
        r#"<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup></Project>"#;
    let text = "namespace N; public class Shop { public static int Size; int M() => Shop.Size; }";
    let files = [
        ("N.Shop/N.Shop.csproj", PROJECT),
        ("N.Shop/a.cs", text),
        ("B/B.csproj", PROJECT),
        ("B/b.cs", text),
    ];
    let after = renamed(&files, "N.Shop@N.Shop", "Store").expect("renamed");
    assert_eq!(after[1].1, text.replace("Shop", "Store"));
    assert_eq!(after[3].1, text);
    let after = renamed(&files, "N.Shop@B#Size", "Length").expect("renamed");
    assert_eq!((after[1].1.as_str(), after[3].1.clone()), (text, text.replace("Size", "Length")));
}

#[test]
fn generated_files_are_not_changed() {
    let project = "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><EmitCompilerGeneratedFiles>true</EmitCompilerGeneratedFiles>\
        <CompilerGeneratedFilesOutputPath>Out</CompilerGeneratedFilesOutputPath><TargetFramework>net8.0</TargetFramework></PropertyGroup></Project>";
    let files = [
        ("P/P.csproj", project),
        ("P/a.cs", "partial class A { }"),
        ("P/Out/b.cs", "partial class A { }"),
    ];
    let message = renamed(&files, "A", "B").expect_err("refused");
    assert_eq!(message, ["P/Out/b.cs is generated, and its next generation would undo the change"]);
}

#[test]
fn names_written_with_an_at_sign_keep_it() {
    let text =
        "public class @event { public static int Size; public @event() { } } class B { @event e = new @event(); int M() => @event.Size; }";
    let after = renamed(&[("a.cs", text)], "event", "Happening").expect("renamed");
    assert_eq!(after[0].1, text.replace("event", "Happening"));
}

#[test]
fn possible_uses_behind_if_may_stay_unrenamed() {
    let text = "class A { public int X; }\n#if NEVER\nclass B { int M() => Other.X; }\n#endif\n";
    let message = renamed(&[("a.cs", text)], "A#X", "Y").expect_err("refused");
    assert_eq!(message.len(), 1, "{message:?}");
    assert!(
        message[0].starts_with("a.cs:3: possible use, in code that #if excludes, which cortex does not bind: "),
        "{message:?}"
    );
    let (after, left) = renamed_beside(&[("a.cs", text)], "A#X", "Y", true).expect("renamed");
    assert_eq!(after[0].1, text.replace("public int X", "public int Y"));
    assert_eq!(left.into_iter().collect::<BTreeSet<_>>(), message.into_iter().collect());
}

#[test]
fn names_outside_of_types_block_a_rename_unless_they_cannot_mean_the_symbol() {
    let text = "using N.Size;\nnamespace N.Size { public class A { public int Size; } }\n";
    let after = renamed(&[("a.cs", text)], "A#Size", "Length").expect("renamed");
    assert_eq!(after[0].1, text.replace("int Size", "int Length"));
    let text = "[assembly: Marked]\npublic class MarkedAttribute : System.Attribute { }\n";
    assert_eq!(
        renamed(&[("a.cs", text)], "MarkedAttribute", "SeenAttribute").expect_err("refused"),
        ["a.cs:1: possible use: Marked is outside of every type"]
    );
    let text = "using M = N.Mark;\n[assembly: Mark(typeof(N.Mark))]\nnamespace N { public class Mark { } }\n";
    let (after, left) = renamed_beside(&[("a.cs", text)], "N.Mark", "Sign", true).expect("renamed");
    assert_eq!(
        after[0].1,
        text.replace("M = N.Mark", "M = N.Sign").replace("class Mark", "class Sign")
    );
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn documentation_is_renamed_wherever_it_stands() {
    let kept = "class B { string s = \"cref='\"; void M() { /// <see cref=\"N.Widget\"/>\n void Local() { } } }\n";
    let text = format!("/// <see cref=\"N.Widget\"/>\nnamespace N.Empty {{ }}\n{kept}/// <see cref=\"T:N.Widget\"/>\nclass C {{ }}\n");
    let declared = "namespace N { public class Widget { } }\n";
    let after = renamed(&[("a.cs", declared), ("b.cs", &text)], "N.Widget", "Gadget").expect("renamed");
    assert_eq!(after[1].1, text.replace("Widget", "Gadget"));
}

#[test]
fn a_short_name_is_no_attribute_in_a_using_directive() {
    let text =
        "using S = N.Size;\nnamespace N { public class Size { } public class SizeAttribute : System.Attribute { } [Size] class A { } }\n";
    let after = renamed(&[("a.cs", text)], "N.SizeAttribute", "LengthAttribute");
    assert!(
        after.as_ref().is_ok_and(|after| after[0].1.contains("using S = N.Size;")),
        "{after:?}"
    );
    let text =
        "using W = N.Outer<int>.Widget;\nnamespace N { public class Outer<T> { public class Widget { } } public class Widget { } }\n";
    let message = renamed(&[("a.cs", text)], "N.Widget", "Gadget").expect_err("refused");
    assert_eq!(
        message,
        ["a.cs:1: possible use: cortex does not know what this using directive names"]
    );
}

#[test]
fn a_type_is_renamed_in_all_its_parts_and_uses() {
    let after = renamed(&files(), "N.Shop", "Store").expect("renamed");
    for ((_, before), (_, after)) in files().iter().zip(&after) {
        assert_eq!(
            *after,
            before.replace("IShop", "I_").replace("Shop", "Store").replace("I_", "IShop")
        );
    }
    let longer = renamed(&files(), "N.IShop", "ISellManyThings").expect("renamed");
    assert_eq!(longer[1].1, USERS.replace("IShop", "ISellManyThings"));
}

#[test]
fn a_member_is_renamed_with_what_carries_it_on() {
    let after = renamed(&files(), "N.Shop#Price(int)", "Cost").expect("renamed");
    let shop = SHOP
        .replace("int Price(int", "int Cost(int")
        .replace("Price(1) + Price(2)", "Cost(1) + Cost(2)")
        .replace("cref=\"Price(int)\"", "cref=\"Cost(int)\"");
    assert_eq!(after[0].1, shop);
    let users = USERS
        .replace("int Price(int", "int Cost(int")
        .replace("base.Price", "base.Cost")
        .replace("shop.Price(1) + other.Price(2)", "shop.Cost(1) + other.Cost(2)")
        .replace("shop.Price(4)", "shop.Cost(4)");
    assert_eq!(after[1].1, users);
    let field = renamed(&files(), "N.Shop#Tax", "Rate").expect("renamed");
    assert_eq!(field[0].1, SHOP.replace("Tax", "Rate"));
    assert_eq!(field[1].1, USERS.replace("Tax", "Rate"));
}

#[test]
fn obstacles_of_a_rename_are_named() {
    let refused = |symbol: &str, new: &str| renamed(&files(), symbol, new).expect_err(new).join("\n");
    for (symbol, new, why) in [
        ("N.Shop", "class", "does not allow the name"),
        ("N.Shop", "1a", "does not allow the name"),
        ("N.Shop", "a b", "does not allow the name"),
        ("N.Shop", "A; int B", "does not allow the name"),
        ("N.Shop", "", "does not allow the name"),
        ("N.Shop", "Shop", "already"),
        ("N.Shop", "IShop", "there is a N.IShop already"),
        ("N.Shop", "Twice", "has a member Twice"),
        ("N.Shop#Tax", "Twice", "already has Twice"),
        ("N.Shop#Tax", "Shop", "the name of its type"),
        ("N.Shop#Tax", "ToString", "System.Object"),
        ("N.Shop#.ctor(int)", "Make2", "no name of its own"),
    ] {
        let message = refused(symbol, new);
        assert!(message.contains(why), "{symbol} {new}: {message}");
    }
}

#[test]
fn a_taken_name_is_refused_before_uses_are_searched() {
    let mut sample = Sample::from_files(&files());
    let symbols = sample.names();
    let sources: Vec<SourceFile> = Vec::new();
    let mut asked_for = |symbol: &str, new: &str| {
        let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let candidate = found.candidate().expect("one").clone();
        let request = RenameRequest {
            candidate: &candidate,
            new,
            leave_possible: false,
            in_strings: false,
            gaps: &BTreeSet::new(),
            flawed: &BTreeSet::new(),
            sources: &sources,
            references: &ReferenceTexts::default(),
        };
        sample.asked.clear();
        let planned = plan(&mut sample, &symbols, &MemoryWorld::new(), request).expect("outputs");
        assert!(planned.is_err(), "{symbol} {new}");
        sample.asked.clone()
    };
    for (symbol, new) in [
        ("N.Shop", "IShop"),
        ("N.Shop#Tax", "Twice"),
        ("N.Shop#Tax", "ToString"),
        ("N.Shop#Tax", "class"),
    ] {
        let asked = asked_for(symbol, new);
        assert!(!asked.iter().any(|label| label.ends_with(":usages")), "{symbol} {new}: {asked:?}");
    }
}

#[test]
fn the_type_that_declares_an_inherited_member_is_named() {
    let text = "namespace N; class Base { public void Go() { } } class Heir : Base { }";
    assert_eq!(
        renamed(&[("a.cs", text)], "Heir.Go", "Run"),
        Err(vec!["N.Heir inherits it: name N.Base#Go(), which declares it".to_owned()])
    );
}

#[test]
fn a_rename_that_changes_a_meaning_is_refused() {
    let refused = |text: &str, symbol: &str, new: &str| renamed(&[("a.cs", text)], symbol, new).expect_err(text).join("\n");
    // A local of that name hides it.
    let message = refused("class A { int X; int M() { int Y = 1; return X + Y; } }", "A#X", "Y");
    assert!(
        message.contains("this use would refer to something else after the rename"),
        "{message}"
    );
    // A value whose type is not known may be of it.
    let message = refused("class A { public int X; } class B { int M(dynamic d) => d.X; }", "A#X", "Y");
    assert!(message.contains("possible use"), "{message}");
    // A base that is not known may declare it.
    let message = refused("class A : Some.Handler { public void Handle() { } }", "A#Handle", "Run");
    assert!(message.contains("not known"), "{message}");
    let message = refused("class A { public override string ToString() => \"\"; }", "A#ToString()", "Text");
    assert!(message.contains("System.Object"), "{message}");
    let message = refused("class A : System.IDisposable { public void Dispose() { } }", "A#Dispose()", "End");
    assert!(message.contains("System.IDisposable"), "{message}");
    // Code that `#if` excludes is not bound.
    let message = refused("class A { int X;\n#if NEVER\nint M() => X;\n#endif\n}", "A#X", "Y");
    assert!(message.contains("#if"), "{message}");
    // A loop calls it without its name.
    let message = refused(
        "class A { public E GetEnumerator() => null; } class E { public int Current => 1; public bool MoveNext() => false; } class B { void M(A a) { foreach (var x in a) { } } }",
        "E#MoveNext()",
        "Go",
    );
    assert!(!message.is_empty());
    let message = refused("// <auto-generated/>\nclass A { int X; }", "A#X", "Y");
    assert!(message.contains("generated"), "{message}");
}

#[test]
fn attributes_lose_and_keep_their_ending() {
    let text = "class MarkAttribute : System.Attribute { } [Mark] class B { [MarkAttribute] int X; }";
    let after = renamed(&[("a.cs", text)], "MarkAttribute", "NoteAttribute").expect("renamed");
    assert_eq!(after[0].1, text.replace("Mark", "Note"));
    let message = renamed(&[("a.cs", text)], "MarkAttribute", "Note").expect_err("refused");
    assert!(message.iter().any(|why| why.contains("[Mark]")), "{message:?}");
}

#[test]
fn names_that_are_inferred_from_a_member_are_in_the_way() {
    let refused = |body: &str| {
        let code = format!("class P {{ public int Val; int Go(P p) {{ {body} }} }}");
        renamed(&[("a.cs", &code)], "P#Val", "Size").err().unwrap_or_default()
    };
    for body in [
        "var a = new { p.Val }; return a.Val;",
        "var a = new { p?.Val }; return a.Val ?? 0;",
        "var t = (p?.Val, 1); return t.Val ?? 0;",
        "var a = new /* of it */ { p.Val }; return a.Val;",
        "var a = new { X = 1, Val }; return a.X;",
        "var t = (p.Val, 1); return t.Val;",
    ] {
        let message = refused(body);
        assert!(message.len() == 1 && message[0].contains("is inferred from"), "{body}: {message:?}");
    }
    for body in [
        "var a = new { Val = p.Val }; return a.Val;",
        "var a = new { Sum = p.Val + 1 }; return a.Sum;",
        "var t = (p.Val, 1); return t.Item1;",
        "var t = (Val: p.Val, 1); return t.Val;",
    ] {
        assert_eq!(refused(body), [""; 0], "{body}");
    }
}

#[test]
fn named_arguments_of_a_record_are_in_the_way() {
    let files = |use_of: &str| {
        let code = format!("class Go {{ bool Run(R r, bool First) => {use_of}; }}");
        [("r.cs", "public record R(int First, int Second);".to_owned()), ("go.cs", code)]
    };
    let refused = |use_of: &str| {
        let files = files(use_of);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        renamed(&files, "R#First", "Head").err().unwrap_or_default()
    };
    for use_of in ["new R(First: 1, Second: 2) != r", "r is R(First: 3, _)"] {
        let message = refused(use_of);
        assert!(
            message.iter().any(|message| message.starts_with("go.cs:1: `First:` may name")),
            "{use_of}: {message:?}"
        );
    }
    for use_of in ["new R(1, 2) != r && r.First > 0", "r is { First: 3 }", "r.Second > (First ? 1 : 0)"] {
        assert_eq!(refused(use_of), [""; 0], "{use_of}");
    }
}

#[test]
fn references_of_documentation_follow_the_overload_whose_parameters_they_write() {
    let text = "using System.Collections.Generic; using System.IO; using System.Threading;
/// <see cref=\"Copy(Stream, CancellationToken)\"/> <see cref=\"Copy(string)\"/> <see cref=\"A.Copy(Stream, CancellationToken)\"/>
public abstract class A {
    /// <see cref=\"Copy(System.IO.Stream,CancellationToken)\"/> <see cref=\"Copy{T}(Dictionary{T, List{T}}, ref T)\"/>
    public abstract void Copy(Stream to, CancellationToken cancel = default);
    public static A Copy(string text) => null;
    public void Copy<T>(Dictionary<T, List<T>> all, ref T one) { }
}
/// <see cref=\"A.Copy(Stream, CancellationToken)\"/> <see cref=\"Copy(Stream, CancellationToken)\"/>
public class B : A { public override void Copy(Stream to, CancellationToken cancel = default) { } }
";
    let after = renamed(&[("a.cs", text)], "A#Copy(Stream,CancellationToken)", "Move").expect("renamed");
    let expected = text.replace("Copy(Stream", "Move(Stream").replace("Copy(System", "Move(System");
    assert_eq!(after[0].1, expected);
    let after = renamed(&[("a.cs", text)], "A#Copy(string)", "Move").expect("renamed");
    assert_eq!(after[0].1, text.replace("Copy(string", "Move(string"));
    let after = renamed(&[("a.cs", text)], "A#Copy`1(Dictionary<T, List<T>>,ref T)", "Move").expect("renamed");
    assert_eq!(after[0].1, text.replace("Copy<", "Move<").replace("Copy{", "Move{"));
}

#[test]
fn names_with_a_meaning_of_their_own_and_namespaces_are_refused() {
    let text = "namespace N { class A { public int Count { get; } void Go() { } } } namespace N.Deep { class B { } }";
    for (symbol, new, why) in [
        ("N.A", "var", "'var' has a meaning of its own in C#"),
        ("N.A", "required", "'required' has a meaning of its own in C#"),
        ("N.A", "Deep", "there is a namespace N.Deep"),
        ("N.A#Go", "nameof", "'nameof' has a meaning of its own in C#"),
        ("N.A#Go", "get_Count", "get_Count is the name of an accessor of N.A#Count"),
    ] {
        assert_eq!(renamed(&[("a.cs", text)], symbol, new), Err(vec![why.to_owned()]), "{new}");
    }
}

#[test]
fn strings_change_on_request() {
    let text = "class Item { string S(Item Box) => \"Item Items {Item}\" + $\"Item {nameof(Box)} {{Item}} {1:Item} Item\" + @\"x.Item\" + \"an item\"; }";
    let after = "class Part { string S(Part Box) => \"Part Items {Part}\" + $\"Part {nameof(Box)} {{Part}} {1:Item} Part\" + @\"x.Part\" + \"an item\"; }";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let symbols = sample.names();
    let found = resolve(&symbols, &mut sample, "Item", &Options::default()).expect("a resolution");
    let candidate = found.candidate().expect("one").clone();
    let world = MemoryWorld::new();
    world.write_source("a.cs", text.as_bytes());
    let request = RenameRequest {
        candidate: &candidate,
        new: "Part",
        leave_possible: false,
        in_strings: true,
        gaps: &BTreeSet::new(),
        flawed: &BTreeSet::new(),
        sources: &[("a.cs".to_owned(), None)],
        references: &ReferenceTexts::default(),
    };
    let plan = plan(&mut sample, &symbols, &world, request)
        .expect("outputs")
        .expect("nothing in the way");
    assert_eq!(plan.files[0].after.as_deref(), Some(after));
}

#[test]
fn a_file_with_syntax_errors_is_one_obstacle() {
    let text = "class Item { Item Next; }\nclass Late { void Half( }\n";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let symbols = sample.names();
    let found = resolve(&symbols, &mut sample, "Item", &Options::default()).expect("a resolution");
    let candidate = found.candidate().expect("one").clone();
    let world = MemoryWorld::new();
    world.write_source("a.cs", text.as_bytes());
    let request = RenameRequest {
        candidate: &candidate,
        new: "Part",
        leave_possible: false,
        in_strings: false,
        gaps: &BTreeSet::new(),
        flawed: &BTreeSet::from(["a.cs".to_owned()]),
        sources: &[("a.cs".to_owned(), None)],
        references: &ReferenceTexts::default(),
    };
    let way = plan(&mut sample, &symbols, &world, request)
        .expect("outputs")
        .expect_err("an obstacle");
    let only = "a.cs has syntax errors, so it may contain uses that cortex does not see";
    assert_eq!(way.0, BTreeSet::from([only.to_owned()]));
}
