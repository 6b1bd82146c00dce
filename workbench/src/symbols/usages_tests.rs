//! Certain and possible uses of symbols in small workspaces, and the reported gaps of the search.

use super::override_places::override_places;
use super::resolve::{Options, resolve};
use super::samples::Sample;
use super::usages::{Subject, Usages, usages};
use producers::csharp::usages::Place;
use std::collections::BTreeSet;

pub(super) fn find_usages(sample: &mut Sample, symbol: &str) -> (Subject, Usages) {
    let symbols = sample.names();
    let found = resolve(&symbols, sample, symbol, &Options::default()).expect("a resolution");
    let subject = Subject::from_resolution(&found).expect("a subject");
    let found = usages(sample, &symbols, &subject, &BTreeSet::new()).expect("places");
    (subject, found)
}

pub(super) fn certain(found: &Usages) -> Vec<String> {
    found.certain.iter().map(|place| format!("{}:{}", place.line, place.text)).collect()
}

pub(super) fn possible(found: &Usages) -> Vec<String> {
    found
        .possible
        .iter()
        .map(|(place, why)| format!("{}:{} {why}", place.line, place.text))
        .collect()
}

#[test]
fn certain_and_possible() {
    let mut sample = Sample::from_files(&[(
        "a.cs",
        "interface I { void Go(); }\nclass A : I { public void Go() { } }\nclass B : A { }\nclass C {\nvoid M(A a, I i, B b, dynamic d) {\na.Go();\ni.Go();\nb.Go();\nd.Go();\nd.Go(1);\n} }\n",
    )]);
    let (subject, found) = find_usages(&mut sample, "A.Go");
    assert_eq!(
        (subject.path.as_str(), certain(&found)),
        ("A#Go()", vec!["6:a.Go();".to_owned(), "8:b.Go();".to_owned()])
    );
    assert!(subject.member_id.is_some_and(|id| id.starts_with(&subject.type_id)));
    assert_eq!(
        possible(&found),
        [
            "7:i.Go(); through I#Go",
            "9:d.Go(); the type of the value is unknown, in code that names A"
        ]
    );
    let (_, of_type) = find_usages(&mut sample, "B");
    assert_eq!(certain(&of_type), ["5:void M(A a, I i, B b, dynamic d) {"]);
    // The base that declares it, and the interface that it implements, are what an heir's calls may mean.
    let (subject, inherited) = find_usages(&mut sample, "B.Go");
    assert_eq!(
        (subject.path.as_str(), inherited.certain.len(), inherited.possible.len()),
        ("A#Go()", 0, 4)
    );
    assert_eq!((found.unread, found.unseen), (Vec::<String>::new(), Vec::<String>::new()));
}

#[test]
fn values_whose_type_only_a_global_alias_names_are_bound() {
    let mut sample = Sample::from_files(&[
        ("g.cs", "global using Args = P.V[];\nglobal using Box = P.Map<P.V>;\n"),
        (
            "v.cs",
            "namespace P;\npublic class V { public void Foo() { } }\npublic static class X { public static void Ext(this V v) { } }\n",
        ),
        (
            "m.cs",
            "namespace P;\npublic class Map<T> { public T Get() => default; public void Clear() { } }\n",
        ),
        ("a.cs", "namespace P;\npublic class A { public Args F; }\n"),
        (
            "b.cs",
            "namespace P;\npublic class B { public Box M; void T(A a, Args b) {\na.F[0].Foo();\nb[0].Foo();\nM.Get().Foo();\nM.Clear();\na.F[0].Ext();\n} }\n",
        ),
    ]);
    let (_, found) = find_usages(&mut sample, "V.Foo");
    assert_eq!(certain(&found), ["3:a.F[0].Foo();", "4:b[0].Foo();", "5:M.Get().Foo();"]);
    assert_eq!(certain(&find_usages(&mut sample, "Map.Clear").1), ["6:M.Clear();"]);
    assert_eq!(certain(&find_usages(&mut sample, "X.Ext").1), ["7:a.F[0].Ext();"]);
}

#[test]
fn arms_behind_casts_of_constants_are_read() {
    let text = "enum Kind { Old }
class A { public A(int x) { }
A M(object o) => o is long c ? c switch {
(long)Kind.Old => new A(1),
(long)2 => new A(2),
(3) => new A(3),
(int x) => new A(4),
_ => new A(5) } : null; }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "A#.ctor(int)");
    let lines: Vec<u32> = found.certain.iter().map(|place| place.line).collect();
    assert_eq!(lines, [4, 5, 6, 7, 8]);
    assert_eq!(find_usages(&mut sample, "Kind#Old").1.certain.len(), 1);
}

#[test]
fn attributes_that_begin_alike_are_told_apart() {
    let text = "class K { public const int Most = 1; }
class CaseAttribute : System.Attribute { public CaseAttribute(int x) { } }
class T {
[Case(K.Most)]
[Case(K.Most / 2)]
[Case(K.Most + 1), Case(K.Most + 1)]
void M() { } }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "K.Most");
    let lines: Vec<u32> = found.certain.iter().map(|place| place.line).collect();
    assert_eq!((lines, possible(&found)), (vec![4, 5, 6, 6], Vec::new()));
}

#[test]
fn statements_at_the_top_use_members() {
    let program = "using System;
var a = new A();
a.Go(args.Length);
foreach (var one in a.All) { one.Go(1); }
int Twice(A other) { other.Go(2); return 2; }
await a.Later();
return Twice(a);
partial class Program { static void Help(A a) => a.Go(3); }
";
    let library = "class A { public void Go(int x) { } public A[] All; public System.Threading.Tasks.Task Later() => null; }
class Length { public int Length; }
";
    let mut sample = Sample::from_files(&[("program.cs", program), ("a.cs", library)]);
    let (_, found) = find_usages(&mut sample, "A.Go");
    let lines: Vec<u32> = found.certain.iter().map(|place| place.line).collect();
    assert_eq!((lines, possible(&found)), (vec![3, 4, 5, 8], Vec::new()));
    let (_, found) = find_usages(&mut sample, "A.Later");
    assert_eq!(certain(&found), ["6:await a.Later();"]);
    assert_eq!(certain(&find_usages(&mut sample, "A.All").1).len(), 1);
    let (_, found) = find_usages(&mut sample, "Length#Length");
    assert_eq!((certain(&found), possible(&found)), (Vec::new(), Vec::new()));
}

#[test]
fn references_in_documentation_are_uses() {
    let text = "namespace N;
/// <summary>As <see cref=\"A.Go(int)\"/> and <see cref=\"B\"/>.</summary>
class A {
/// <see cref=\"Go\"/>, <see cref='N.A.Go(int)'/>, <see cref=\"T:N.A\"/>, <see cref=\"Missing\"/>
public void Go(int x) { }
/// <see cref=\"A(string)\"/>
public A(string s) { } }
class B { void M(A a) {
// cref=\"A\"
a.Go(1); } }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let answer = |sample: &mut Sample, symbol: &str| {
        let (_, found) = find_usages(sample, symbol);
        let place = |place: &Place| format!("{}:{} {}", place.line, place.column, place.kind.as_str());
        let in_code = found.clone().in_code().certain.len();
        (found.certain.iter().map(place).collect::<Vec<_>>(), in_code)
    };
    let (places, in_code) = answer(&mut sample, "A.Go");
    assert_eq!(
        (places, in_code),
        (
            vec!["2:30 cref", "4:16 cref", "4:38 cref", "10:3 call"]
                .into_iter()
                .map(str::to_owned)
                .collect(),
            1
        )
    );
    assert_eq!(answer(&mut sample, "B").0, ["2:56 cref"]);
    assert_eq!(answer(&mut sample, "A").0, ["2:28 cref", "4:36 cref", "6:16 cref", "8:18 name"]);
    assert_eq!(answer(&mut sample, "A#.ctor").0, ["6:16 cref"]);
}

#[test]
fn calls_through_an_interface_of_dotnet_are_possible() {
    let text = "using System; using System.Collections.Generic;
class Log : IDisposable { public void Dispose() { } public override string ToString() => null; }
class Hidden : IDisposable { void IDisposable.Dispose() { } }
class C { void M(IDisposable d, Log log, object o, Hidden hidden, List<int> all) {
d.Dispose();
using (d) { }
using var mine = log;
using var other = hidden;
o.ToString();
all.ToString();
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "Log.Dispose");
    assert_eq!(certain(&found), ["7:using var mine = log;"]);
    let through = "through System.IDisposable#Dispose";
    let expected = [format!("5:d.Dispose(); {through}"), format!("6:using (d) {{ }} {through}")];
    assert_eq!((possible(&found), found.unseen), (expected.to_vec(), Vec::new()));
    let (_, found) = find_usages(&mut sample, "Hidden#IDisposable.Dispose");
    assert_eq!(certain(&found), ["8:using var other = hidden;"]);
    assert_eq!(possible(&found), expected);
    let (_, found) = find_usages(&mut sample, "Log.ToString");
    let said = "calls through System.Object, which declares it too, are not looked for";
    assert_eq!((possible(&found), found.unseen), (Vec::new(), vec![said.to_owned()]));
}

#[test]
fn declarations_that_implement_or_override_are_uses() {
    let text = "interface I { void Go(); }
class A : I { public virtual void Go() { } }
class B : A {
public override void Go() { } }
class C : I { void I.Go() { } }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let mut answer = |symbol: &str| {
        let (subject, _) = find_usages(&mut sample, symbol);
        let symbols = sample.names();
        let found = override_places(&mut sample, &symbols, &subject).expect("places");
        let line = |place: &Place| format!("{}:{} {} {}", place.line, place.column, place.kind.as_str(), place.text);
        found.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(
        answer("I.Go"),
        [
            "2:35 implement class A : I { public virtual void Go() { } }",
            "4:22 override public override void Go() { } }",
            "5:22 implement class C : I { void I.Go() { } }"
        ]
    );
    assert_eq!(answer("A.Go"), ["4:22 override public override void Go() { } }"]);
    assert_eq!((answer("B.Go"), answer("I")), (Vec::new(), Vec::new()));
}

#[test]
fn a_value_type_and_its_nullable_have_the_nullable_as_common_type() {
    let text = "struct S { public string Value; public int Mod; }
class U { void T(System.Collections.Generic.List<S> l, bool b, S s, S? n) {
var a = b ? l[0] : (S?) null; _ = a.Value.Mod;
var c = b ? s : n; _ = c.Value.Mod;
var d = b switch { true => s, _ => (S?) null }; _ = d.Value.Mod;
var e = new[] { s, n }; _ = e[0].Value.Mod;
var f = n ?? s; _ = f.Mod;
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let lines = |found: &Usages| found.certain.iter().map(|place| place.line).collect::<Vec<u32>>();
    assert_eq!(lines(&find_usages(&mut sample, "S#Mod").1), [3, 4, 5, 6, 7]);
    let (_, found) = find_usages(&mut sample, "S#Value");
    assert_eq!((lines(&found), found.possible.len()), (Vec::new(), 0));
}

#[test]
fn members_that_share_a_line_use_each_what_stands_in_them() {
    let text = "class A { public void F() { } }\nclass B { void G(A a) { a.F(); } void H(A a) { a.F(); } [Tag] int x; [Tag] int y; }\nclass TagAttribute : System.Attribute { }\n";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let mut columns = |symbol: &str| {
        let (_, found) = find_usages(&mut sample, symbol);
        found.certain.iter().map(|place| (place.line, place.column)).collect::<Vec<_>>()
    };
    assert_eq!(columns("A.F"), [(2, 27), (2, 50)]);
    assert_eq!(columns("TagAttribute"), [(2, 58), (2, 71)]);
    assert_eq!(columns("A"), [(2, 18), (2, 41)]);
}

#[test]
fn attributes_name_a_type_once() {
    let text = "static class K { public const string Name = \"\"; }\nclass TagAttribute : System.Attribute { public TagAttribute(string name) { } }\n[Tag(K.Name)]\nclass A {\n[Tag(nameof(K.Name))]\npublic int One;\n}\n";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let columns = |found: &Usages| found.certain.iter().map(|place| (place.line, place.column)).collect::<Vec<_>>();
    assert_eq!(columns(&find_usages(&mut sample, "K").1), [(3, 6), (5, 13)]);
    assert_eq!(columns(&find_usages(&mut sample, "K.Name").1), [(3, 8), (5, 15)]);
    assert_eq!(columns(&find_usages(&mut sample, "TagAttribute").1), [(3, 2), (5, 2)]);
}

#[test]
fn constructors_are_used_by_new_base_this_and_attributes() {
    let text = "class A {
public A(int x) { }
public A(string s) : this(s.Length) { }
}
class B : A {
public B() : base(1) { }
public B(int x) : base(\"\") { }
}
class C(int y) : A(y) {
A one = new(2);
A two = new A(3);
static A Make(A a) => a;
object o = Make(new(\"x\"));
}
class TagAttribute : System.Attribute { public TagAttribute() { } }
[Tag] class D { [Tag()] int x; }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let mut places = |symbol: &str| {
        let (_, found) = find_usages(&mut sample, symbol);
        let of = |place: &Place| (place.line, place.column);
        let certain: Vec<(u32, u32)> = found.certain.iter().map(of).collect();
        let possible: Vec<(u32, u32)> = found.possible.keys().map(of).collect();
        (certain, possible)
    };
    let in_header = (9, 18);
    assert_eq!(places("A#.ctor(int)"), (vec![(3, 22), (6, 14), (10, 9), (11, 13)], vec![in_header]));
    assert_eq!(places("A#.ctor(string)"), (vec![(7, 19), (13, 17)], vec![in_header]));
    assert_eq!(places("TagAttribute#.ctor()"), (vec![(16, 2), (16, 18)], Vec::new()));
}

#[test]
fn uses_of_unknown_types_are_possible() {
    let text = "using Lost; class A { public int Go; public void Run() { } public static int One; }
class B : Gone<A> {
void M(dynamic d, Nowhere n) {
d.Go();
Item.Go = 1;
n.Find().Go = 2;
Run();
n.Go();
new A { Go = One };
var t = (Go: 1, 2); t.Go.ToString(); new { Go = 1 }.Go.ToString();
int Run2 = 1;
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let mut lines = |symbol: &str| {
        let (_, found) = find_usages(&mut sample, symbol);
        let certain: Vec<u32> = found.certain.iter().map(|place| place.line).collect();
        let possible: Vec<u32> = found.possible.keys().map(|place| place.line).collect();
        (certain, possible)
    };
    assert_eq!(lines("A.Go"), (vec![9], vec![4, 5, 6]));
    assert_eq!(lines("A.Run"), (vec![], vec![7]));
    assert_eq!(lines("A.One"), (vec![], vec![9]));
}

#[test]
fn uses_that_bear_no_name_are_found() {
    let text = "struct A : System.IDisposable {
public int this[int x] { get => 1; set { } }
public static A operator +(A a, A b) => a;
public static A operator +(A a, int b) => a;
public static explicit operator int(A a) => 1;
public void Dispose() { }
}
class B { void M(A a, System.Collections.Generic.List<A> all) {
a[1] = a[2];
var two = a + a + 3;
var three = (int)a;
using var four = a;
foreach (var one in all) { }
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let mut places = |symbol: &str| {
        let (_, found) = find_usages(&mut sample, symbol);
        assert!(found.possible.is_empty(), "{symbol}: {:?}", found.possible);
        let certain = found.certain.iter();
        certain
            .map(|place| format!("{}:{} {}", place.line, place.column, place.kind.as_str()))
            .collect::<Vec<_>>()
    };
    assert_eq!(places("A#this[int]"), ["9:2 write", "9:9 read"]);
    assert_eq!(places("A#op_Addition"), ["10:13 call", "10:17 call"]);
    assert_eq!(places("A#op_Explicit"), ["11:13 call"]);
    assert_eq!(places("A.Dispose"), ["12:1 call"]);
}

#[test]
fn implicit_conversions_are_uses_of_the_operator() {
    let text = "class Id {\npublic static implicit operator Id(int value) => null;\n}\nclass A {\npublic Id Own;\n}\n";
    let other = "class B {\nvoid M(A a) {\na.Own = 1;\na.Own = unknown();\na.Own = null;\n} }\nclass C { void M(A a) { a = null; } }\n";
    let mut sample = Sample::from_files(&[("a.cs", text), ("b.cs", other)]);
    let (_, found) = find_usages(&mut sample, "Id#op_Implicit");
    let shown = |place: &Place| format!("{}:{} {}", place.line, place.column, place.kind.as_str());
    assert_eq!(found.certain.iter().map(shown).collect::<Vec<_>>(), ["3:9 convert"]);
    let possible = found.possible.iter().map(|(place, why)| format!("{} {why}", shown(place)));
    assert_eq!(possible.collect::<Vec<_>>(), ["4:9 convert the type of the value is unknown"]);
    // A value of `Deconstruct` is converted at the `=`; a conversion of `null` is only possible.
    let text = "struct Id { public static implicit operator Id(string text) => default; }\nclass Pair { public void Deconstruct(out string a, out int b) => throw null; }\n";
    let other = "class B { void M(Pair pair) {\nId own; int n;\n(own, n) = pair;\n(Id other, n) = pair;\nown = null;\n} }\n";
    let mut sample = Sample::from_files(&[("a.cs", text), ("b.cs", other)]);
    let (_, found) = find_usages(&mut sample, "Id#op_Implicit");
    assert_eq!(
        found.certain.iter().map(shown).collect::<Vec<_>>(),
        ["3:10 convert", "4:15 convert"]
    );
    assert_eq!(found.possible.keys().map(shown).collect::<Vec<_>>(), ["5:7 convert"]);
}

#[test]
fn uses_that_are_not_searched_are_reported() {
    let text = "class A : System.IDisposable {\npublic A(int x) { }\npublic void Dispose() { }\npublic void Go() { }\npublic int this[int x] => 1;\npublic static explicit operator int(A a) => 1;\npublic override string ToString() => null;\n}\n";
    let other = "class B {\n#if OLD\nvoid M(A a) { a.Go(); }\n#endif\n}\n";
    let mut sample = Sample::from_files(&[("a.cs", text), ("b.cs", other)]);
    let mut unseen = |symbol: &str| find_usages(&mut sample, symbol).1.unseen;
    assert_eq!(
        unseen("A.ToString"),
        ["calls through System.Object, which declares it too, are not looked for"]
    );
    assert_eq!((unseen("A.Dispose"), unseen("A#this[int]")), (Vec::new(), Vec::new()));
    assert_eq!(unseen("A#op_Explicit"), Vec::<String>::new());
    assert_eq!(unseen("A#.ctor(int)"), Vec::<String>::new());
    assert_eq!(unseen("B"), Vec::<String>::new());
}

#[test]
fn unknown_and_ambiguous_symbols_are_refused_with_a_hint() {
    let mut sample = Sample::default();
    let symbols = sample.names();
    for (symbol, code, hint) in [
        ("Nope", "SymbolNotFound", "write Type, Namespace.Type, Type.Member or Type#Member"),
        ("BigStroe", "SymbolNotFound", "did you mean Box.BigStore?"),
        ("BigStore#Twcie", "SymbolNotFound", "did you mean Box.BigStore#Twice()?"),
        ("BigStroe#Twice", "SymbolNotFound", "did you mean Box.BigStore#Twice()?"),
        ("Box.Deep", "SymbolNotFound", "`cortex outline Box.Deep` lists its contents"),
        ("Store", "AmbiguousSymbol", "write one of these names"),
    ] {
        let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let error = Subject::from_resolution(&found).expect_err("no symbol");
        assert_eq!(
            (error.diagnostic.code.as_str(), error.diagnostic.hint.as_deref()),
            (code, Some(hint)),
            "{symbol}"
        );
    }
}

#[test]
fn code_that_cannot_see_a_member_does_not_use_it() {
    let project = |items: &str| {
        let properties = "<PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>";
        format!("<Project Sdk=\"Microsoft.NET.Sdk\">{properties}<ItemGroup>{items}</ItemGroup></Project>")
    };
    let declared = "public class T { public void Go() { } private void Own() { } void U(dynamic d) { d.Own(); }
class In { void V(dynamic d) { d.Own(); } } }";
    let mut sample = Sample::from_files(&[
        ("A/A.csproj", &project("")),
        ("A/a.cs", declared),
        ("B/B.csproj", &project("<ProjectReference Include=\"../A/A.csproj\" />")),
        ("B/b.cs", "class C { void M(dynamic d) { d.Go(); d.Own(); } }"),
        ("C/C.csproj", &project("")),
        ("C/c.cs", "class D { void M(dynamic d) { d.Go(); } }"),
        ("loose.cs", "class L { void M(dynamic d) { d.Go(); } }"),
    ]);
    let symbols = sample.names();
    let mut found = |symbol: &str, gaps: &[&str]| {
        let meaning = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let subject = Subject::from_resolution(&meaning).expect("a subject");
        let gaps: BTreeSet<String> = gaps.iter().map(|gap| (*gap).to_owned()).collect();
        let found = usages(&mut sample, &symbols, &subject, &gaps).expect("places");
        let files: Vec<String> = found
            .possible
            .keys()
            .map(|place| format!("{}:{}", place.file, place.line))
            .collect();
        (files, found.impossible)
    };
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
    assert_eq!(found("T.Go", &[]), (lines(&["B/b.cs:1", "loose.cs:1"]), 1));
    assert_eq!(found("T.Own", &[]), (lines(&["A/a.cs:1", "A/a.cs:2"]), 1));
    // Of a project that lost references it is not known what it sees.
    assert_eq!(found("T.Go", &["C/C.csproj"]), (lines(&["B/b.cs:1", "C/c.cs:1", "loose.cs:1"]), 0));
}

#[test]
fn code_of_partial_members_in_another_file_than_their_first_declaration() {
    let declared =
        "public partial class Widget { public int Foo() => 1; partial void OnX(int q); [A(Other.Name)] public partial int P(); }\n";
    let implemented = "using Deep;
public partial class Widget {
partial void OnX(int q) { Foo(); Helper.Run(); }
public partial int P() => Foo();
}
namespace Deep { static class Helper { public static void Run() { } } }
class A : System.Attribute { public A(string name) { } }
static class Other { public const string Name = \"\"; }
";
    for (first, second) in [("a.cs", "b.cs"), ("b.cs", "a.cs")] {
        let mut sample = Sample::from_files(&[(first, declared), (second, implemented)]);
        let expected = [("Widget.Foo", vec![3, 4]), ("Deep.Helper#Run", vec![3]), ("Other#Name", vec![1])];
        for (symbol, lines) in expected {
            let (_, found) = find_usages(&mut sample, symbol);
            let told: Vec<u32> = found.certain.iter().map(|place| place.line).collect();
            assert_eq!((symbol, told), (symbol, lines));
        }
    }
}

#[test]
fn type_parameters_of_an_override_have_the_bounds_of_the_overridden_method() {
    let text = "interface I { int Id { get; } }
abstract class B<S> { public abstract void Go<T>(in T x, S y) where T : struct, I; }
class H : B<int> {
public override void Go<T>(in T x, int y) { var a =
x.Id;
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    assert_eq!(certain(&find_usages(&mut sample, "I.Id").1), ["5:x.Id;"]);
}

#[test]
fn a_member_of_a_base_may_implement_an_interface_of_an_heir() {
    let text = "interface IGo<T> { void Do(T t); }
class Base<T> { public void Do(T t) { } public void Dispose() { } }
class Heir : Base<int>, IGo<int>, System.IDisposable { }
class User {
void T(IGo<int> go, System.IDisposable used) {
go.Do(1);
used.Dispose();
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "Base.Do");
    assert_eq!(possible(&found), ["6:go.Do(1); through IGo`1#Do"]);
    let (_, found) = find_usages(&mut sample, "Base.Dispose");
    assert_eq!(possible(&found), ["7:used.Dispose(); through System.IDisposable#Dispose"]);
}

#[test]
fn compound_assignments_call_their_own_operators_or_the_binary_ones() {
    let text = "class Num {
public void operator +=(int x) { }
public void operator --() { }
public static Num operator +(Num a, Num b) => a; }
class User {
void T(Num a, Num b) {
a += 5;
a--;
a += b;
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    for (symbol, line) in [
        ("Num.op_AdditionAssignment", "7:a += 5;"),
        ("Num.op_DecrementAssignment", "8:a--;"),
        ("Num.op_Addition", "9:a += b;"),
    ] {
        let (_, found) = find_usages(&mut sample, symbol);
        assert_eq!((certain(&found), possible(&found)), (vec![line.to_owned()], Vec::new()), "{symbol}");
    }
}

#[test]
fn a_missing_member_of_a_dotnet_type_may_only_be_an_extension() {
    let mut sample = Sample::from_files(&[(
        "a.cs",
        "static class E { public static int Twice(this int x) => x; }\nclass A { public int Twice() => 1; }\nclass C {\nvoid M(string s) {\ns.Twice();\n} }\n",
    )]);
    let (_, extension) = find_usages(&mut sample, "E.Twice");
    assert_eq!(
        possible(&extension),
        ["5:s.Twice(); the value is of a .NET type without this member; an extension method may take it"]
    );
    let (_, other) = find_usages(&mut sample, "A.Twice");
    assert_eq!((certain(&other), possible(&other)), (Vec::new(), Vec::new()));
}

#[test]
fn collection_expressions_use_the_builder_that_no_code_names() {
    let text = "using System; using System.Collections.Generic; using System.Runtime.CompilerServices;
[CollectionBuilder(typeof(Bags), nameof(Bags.Make))] class Bag<T> { public IEnumerator<T> GetEnumerator() => null; }
static class Bags { public static Bag<T> Make<T>(ReadOnlySpan<T> all) => null; }
class U {
Bag<int> M() => [1, 2]; }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    assert!(certain(&find_usages(&mut sample, "Bags.Make").1).contains(&"5:Bag<int> M() => [1, 2]; }".to_owned()));
}
