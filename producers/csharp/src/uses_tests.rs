//! Compares uses of members in the fixtures with those of the C# compiler (`fixtures/csharp/uses`, made by `scripts/oracle.sh golden`): no use is
//! lost silently, and no use reported as certain belongs to another member.

use super::fixture::World;
use super::usages::Place;
use engine::values::table::Table;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A name that the compiler binds to a member of the sources.
#[derive(Deserialize)]
struct Bound {
    #[serde(rename = "l")]
    line: u32,
    #[serde(rename = "c")]
    column: u32,
    #[serde(rename = "t")]
    name: String,
    to: String,
    #[serde(rename = "u")]
    does: String,
}

impl Bound {
    /// Whether the golden file lists the same use again, at the name or the value itself. This entry is then at the cast of a method's
    /// name, at the bracket of a converted value, or at the type after `new`.
    fn is_told_at_its_name(&self, all: &[Self]) -> bool {
        let is_new = |one: &&Self| (one.name.as_str(), one.line, one.column + 4) == ("new", self.line, self.column) && one.to == self.to;
        let is_type_of_new = || self.does == "convert" && all.iter().any(|one| is_new(&one));
        self.name == "(" && self.does == "call" && !self.to.contains(".op_")
            || self.name == "[" && self.to.contains(".op_")
            || is_type_of_new()
    }

    /// Returns the type and the name of the member: `N.Outer.Inner`, `Get` of `M:N.Outer.Inner.Get(System.Int32)`.
    fn member(&self) -> (&str, &str) {
        let path = self.to[2..].split('(').next().unwrap_or_default();
        let (owner, name) = path.rsplit_once('.').unwrap_or(("", path));
        let name = name.split("``").next().unwrap_or(name);
        (
            owner,
            match name {
                "#ctor" => ".ctor",
                "Item" if matches!(self.name.as_str(), "[" | "this") => "this[]",
                // An explicit implementation: `System#IDisposable#Dispose`.
                name => name.rsplit('#').next().unwrap_or(name),
            },
        )
    }
}

/// Type and member that a place uses, whether another type is possible, and the kind of use.
type FoundUse = (String, String, bool, &'static str);

fn fixtures() -> BTreeMap<String, (PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/csharp");
    let golden = std::fs::read_dir(root.join("uses")).expect("golden files");
    let names = golden.map(|file| file.expect("a file").path());
    let pairs = names.map(|golden| {
        let name = golden.file_stem().expect("a name").to_string_lossy().into_owned();
        let source = ["features", "rules"].map(|part| root.join(part).join(format!("{name}.cs")));
        let source = source.into_iter().find(|file| file.exists()).expect("the source of a golden file");
        (name, (source, golden))
    });
    pairs.collect()
}

#[test]
fn no_use_of_a_member_is_lost() {
    let mut differences = Vec::new();
    let (mut certain, mut all) = (0, 0);
    for (name, (source, golden)) in fixtures() {
        let text = std::fs::read_to_string(&source).expect("text");
        let golden = std::fs::read_to_string(&golden).expect("text");
        let bound: Vec<Bound> = golden.lines().map(|line| serde_json::from_str(line).expect("JSON lines")).collect();
        let world = World::of_texts(&[("a.cs", text.as_str())]);
        let mut places: BTreeMap<(u32, u32), BTreeSet<FoundUse>> = BTreeMap::new();
        for key in world.keys() {
            let table = world.output("usages", &key).bytes;
            let table = Table::open(&table).expect("a table");
            for (row, value) in table.rows() {
                let Some((owner, member)) = row.split_once('#') else { continue };
                let found: Vec<Place> = serde_json::from_slice(value).expect("places");
                let explicit = member.rsplit_once('.').filter(|(interface, _)| !interface.is_empty());
                let member = explicit.map_or(member, |(_, name)| name);
                for place in found {
                    let owner = owner.replace('+', ".");
                    let known = (owner, member.to_owned(), place.elsewhere, place.kind.as_str());
                    places.entry((place.line, place.column)).or_default().insert(known);
                }
            }
        }
        let types: BTreeSet<String> = world.keys().iter().map(|key| key.replace('+', ".")).collect();
        for use_ in bound
            .iter()
            .filter(|use_| !use_.to.starts_with("T:") && types.contains(use_.member().0) && !use_.is_told_at_its_name(&bound))
        {
            all += 1;
            let (owner, member) = use_.member();
            let at = places.get(&(use_.line, use_.column));
            let is = |(found, name, elsewhere, _): &&FoundUse| name == member && found == owner && !elsewhere;
            let may =
                |(found, name, elsewhere, _): &&FoundUse| name == member && (found.starts_with(['?', '~']) || *elsewhere || found == owner);
            let place = format!("{name}:{}:{} {}", use_.line, use_.column, use_.to);
            match at {
                Some(at) if at.iter().any(|found| is(&found)) => {
                    certain += 1;
                    let kinds: BTreeSet<&str> = at.iter().filter(is).map(|(.., does)| *does).collect();
                    if !kinds.contains(use_.does.as_str()) {
                        differences.push(format!("{kinds:?}, not {} {place}", use_.does));
                    }
                }
                Some(at) if at.iter().any(|found| may(&found)) => differences.push(format!("possible {place}")),
                _ => differences.push(format!("lost {place}")),
            }
            // An implicit conversion has the place of the converted value's name.
            let named = at.into_iter().flatten().filter(|_| member == use_.name);
            let wrong = named
                .filter(|(found, name, elsewhere, _)| !found.starts_with(['?', '~']) && !elsewhere && name == &use_.name && found != owner);
            differences.extend(wrong.map(|(found, ..)| format!("wrong {place}: {found}")));
        }
    }
    assert!(all > 90, "only {all} uses were compared");
    insta::assert_snapshot!(format!("{certain} of {all}\n{}", differences.join("\n")));
}

#[test]
fn a_namespace_around_comes_before_types_that_using_directives_open() {
    let world = World::of_texts(&[
        (
            "A.cs",
            "namespace Sp.Console; public class Spin { public static class Known { public static int D = 1; } public static Spin Make() => new(); }",
        ),
        (
            "B.cs",
            "using System; namespace Sp.Console; class U { int A() => Console.Spin.Known.D; Spin B() => Console.Spin.Make(); }",
        ),
        (
            "C.cs",
            "using System; namespace Sp.Other; class V { void A() => Console.WriteLine(Sp.Console.Spin.Make()); }",
        ),
    ]);
    for (key, member) in [
        ("Sp.Console.U", "Sp.Console.Spin+Known#D"),
        ("Sp.Console.U", "Sp.Console.Spin#Make"),
        ("Sp.Other.V", "Sp.Console.Spin#Make"),
    ] {
        let usages = world.output("usages", key).bytes;
        let usages = Table::open(&usages).expect("a table");
        assert!(
            usages.get(member).is_some(),
            "{key} {member}: {:?}",
            usages.keys().collect::<Vec<_>>()
        );
    }
}

/// Returns line and column of the uses of a member in a type's code, with the kind of use; `?` marks a use that may be of another member.
fn places_of(world: &World, key: &str, member: &str) -> Vec<String> {
    let usages = world.output("usages", key).bytes;
    let usages = Table::open(&usages).expect("a table");
    let places: Vec<Place> = usages
        .get(member)
        .map(|row| serde_json::from_slice(row).expect("places"))
        .unwrap_or_default();
    let shown = places.iter().map(|place| {
        let mark = if place.elsewhere { "?" } else { "" };
        format!("{}:{} {}{mark}", place.line, place.column, place.kind.as_str())
    });
    shown.collect()
}

#[test]
fn operators_of_extension_blocks_are_used() {
    let world = World::of_texts(&[
        (
            "A.cs",
            "namespace Lib; public struct V { public int X; }
public static class Ops {
  extension(V) { public static V operator +(V a, V b) => a; public static V operator -(V a) => a; }
  extension(V v) { public void operator *=(int n) { } }
  extension<T>(T[] all) { public static T[] operator *(T[] a, int n) => a; } }",
        ),
        (
            "B.cs",
            "using Lib; class U { int M(V a, V b, V[] c) { b = -a; a *= 2; var e = c * 2; return (a + b).X + e[0].X; } }",
        ),
        ("C.cs", "namespace N; class U { int M(int a, int b) => a + b; }"),
    ]);
    let places = |member: &str| places_of(&world, "U", &format!("Lib.Ops#{member}"));
    assert_eq!(places("op_Addition"), ["1:88 call"]);
    assert_eq!(places("op_UnaryNegation"), ["1:51 call"]);
    assert_eq!(places("op_MultiplicationAssignment"), ["1:57 call"]);
    assert_eq!(places("op_Multiply"), ["1:73 call"]);
    assert_eq!(places_of(&world, "U", "Lib.V#X"), ["1:93 read", "1:102 read"]);
}

#[test]
fn conversions_of_values_of_unknown_type_are_possible() {
    let world = World::of_texts(&[(
        "A.cs",
        "class L { public static implicit operator L(string s) => null; public static implicit operator int(L l) => 1; }
class U { L one = unknown(); L two = \"a\"; L three = new L(); object four = new L(); L five = null; }",
    )]);
    assert_eq!(places_of(&world, "U", "L#op_Implicit"), ["2:19 convert?", "2:38 convert"]);
}

#[test]
fn of_overloads_that_can_be_called_those_with_the_highest_priority_count() {
    let world = World::of_texts(&[
        (
            "A.cs",
            "using System.Runtime.CompilerServices; using System.Collections.Generic; public class Old { public int X; } public class New { public int X; }
public class Base { } public class Heir : Base { }
public class L {
  public Old Make(string s) => null;
  [OverloadResolutionPriority(1)] public New Make(object o) => null;
  public Old Take(Heir h) => null;
  [OverloadResolutionPriorityAttribute(priority: 2)] public New Take(Base b) => null;
  [OverloadResolutionPriority(-1)] public Old Last(int n) => null;
  public New Last(long n) => null;
  [OverloadResolutionPriority(1)] public New Only(List<int> all) => null;
  public Old Only(int[] all) => null; }",
        ),
        (
            "B.cs",
            "class U { int M(L l, Heir h, int[] a) =>
l.Make(\"s\").X + l.Take(h).X
+ l.Last(1).X
+ l.Only(a).X; }",
        ),
    ]);
    assert_eq!(places_of(&world, "U", "New#X"), ["2:13 read", "2:27 read", "3:13 read"]);
    assert_eq!(places_of(&world, "U", "Old#X"), ["4:13 read"]);
}

#[test]
fn an_overload_of_higher_priority_does_not_take_a_lambda_that_does_not_compile() {
    let world = World::of_texts(&[
        (
            "A.cs",
            "using System; using System.Runtime.CompilerServices; public class Old { public int X; public Old Next; } public class New { public int Y; }
public class L {
  [OverloadResolutionPriority(1)] public New Make(Func<New, int> of) => null;
  public Old Make(Func<Old, int> of) => null; }",
        ),
        ("B.cs", "class U { int M(L l) => l.Make(o => o.Next.X).X\n+ l.Make(o => o.Y).Y\n+ l.Make(o => 1).Y; }"),
    ]);
    assert_eq!(places_of(&world, "U", "Old#X"), ["1:44 read", "1:47 read"]);
    assert_eq!(places_of(&world, "U", "New#Y"), ["2:17 read", "2:20 read", "3:18 read"]);
}

#[test]
fn deconstructions_of_values_of_other_types_use_extensions_or_may_use_any_method() {
    let world = World::of_texts(&[
        (
            "A.cs",
            "using System; using System.Collections.Generic; namespace Lib;
public class P { public void Deconstruct(out int a, out M b) { } }
public struct M { public static implicit operator int(M m) => 1; }
public static class Ops {
  public static void Deconstruct<K, V>(this KeyValuePair<K, V> pair, out K key, out V value) { }
  public static void Deconstruct(this Uri uri, out string host, out P port) { } }",
        ),
        (
            "B.cs",
            "using System; using System.Collections.Generic; using Lib; class U {
  void A(Dictionary<int, P> all) { foreach (var (key, (a, b)) in all) { int n = b; } }
  void B(Uri uri) { var (host, (a, b)) = uri; int n = b; }
  void C() { foreach (var (a, b) in unknown()) { } }
  void D((M, P) pair) { (int, P) other = pair; (M one, P two) = pair; int n = one; } }",
        ),
    ]);
    let places = |member: &str| places_of(&world, "U", member);
    assert_eq!(places("Lib.Ops#Deconstruct"), ["2:36 call?", "3:40 call"]);
    assert_eq!(places("Lib.P#Deconstruct"), ["2:36 call", "3:40 call"]);
    assert_eq!(places("?#Deconstruct"), ["4:14 call"]);
    assert_eq!(
        places("Lib.M#op_Implicit"),
        ["2:81 convert", "3:55 convert", "5:42 convert", "5:79 convert"]
    );
}

#[test]
fn messages_that_methods_of_packages_are_given_have_their_types() {
    let world = World::of_texts(&[(
        "A.cs",
        "record Order(int Count); class U { Package.IMediator mediator; void A(Order given, int n) {
  var order = new Order(1); mediator.Send(order, default); mediator.SendAsync<int>(given); Bus.Publish(order); Log(order); mediator.Send(n); } }",
    )]);
    assert_eq!(places_of(&world, "U", "~>#Send"), ["2:38 call"]);
    assert_eq!(places_of(&world, "U", "~>#SendAsync"), ["2:69 call"]);
    assert_eq!(places_of(&world, "U", "~>#Publish"), ["2:96 call"]);
    assert!(places_of(&world, "U", "~>#Log").is_empty());
}

#[test]
fn a_name_that_means_several_types_may_use_each() {
    let world = World::of_texts(&[
        (
            "A.cs",
            "namespace A { public class X { public static int N; } } namespace B { public class X { public static int N; } }",
        ),
        (
            "B.cs",
            "using A; using B;
/// <see cref=\"X\"/>
class U { void M() {
var made = new X();
X other = null;
X.N = 1; } }",
        ),
    ]);
    for owner in ["A.X", "B.X"] {
        assert_eq!(
            places_of(&world, "U", owner),
            ["2:16 cref?", "4:16 name?", "5:1 name?", "6:1 name?"],
            "{owner}"
        );
        assert_eq!(places_of(&world, "U", &format!("{owner}#.ctor")), ["4:16 construct?"]);
    }
    assert!(!places_of(&world, "U", "?#N").is_empty());
}

#[test]
fn a_conversion_for_a_possible_overload_is_a_possible_use() {
    let world = World::of_texts(&[(
        "A.cs",
        "class L { public static implicit operator L(string s) => null; }
class U { void F(L l, int n) { } void F(string s, string t) { }
void G(L l, int n) { } void G(string s, int n) { } void G(L l) { } U(L l) { } U(object o) { }
void M(int n) {
F(\"a\", unknown());
G(\"a\", n);
G(\"a\");
new U(\"a\"); } }",
    )]);
    assert_eq!(
        places_of(&world, "U", "L#op_Implicit"),
        ["5:3 convert?", "7:3 convert", "8:7 convert"]
    );
}

#[test]
fn values_that_convert_to_each_other_may_be_compared_as_either() {
    let world = World::of_texts(&[(
        "A.cs",
        "record struct R { public static implicit operator string(R r) => null; public static implicit operator R(string s) => default; }
class U { bool M(R r, string s) => r
== s; }",
    )]);
    assert_eq!(places_of(&world, "U", "R#op_Implicit"), ["2:36 convert?", "3:4 convert?"]);
}

#[test]
fn default_values_and_code_of_a_partial_method_may_be_in_two_files() {
    let defining = "class K { public const int N = 1; } partial class U {\npartial void M(int c = K.N); }";
    let code = "partial class U {\n\n int f; partial void M(int c) { f = c; Go(); } void Go() { } }";
    for files in [[("A.cs", defining), ("B.cs", code)], [("A.cs", code), ("B.cs", defining)]] {
        let world = World::of_texts(&files);
        assert_eq!(places_of(&world, "U", "K#N"), ["2:26 read"]);
        assert_eq!(places_of(&world, "U", "U#f"), ["3:33 write"]);
        assert_eq!(places_of(&world, "U", "U#Go"), ["3:40 call"]);
    }
}

#[test]
fn fixed_statements_pin_a_value_by_its_method() {
    let world = World::of_texts(&[
        (
            "A.cs",
            "namespace Lib { public class Buffer { public ref byte GetPinnableReference() => throw null; }
public class Heir : Buffer { } public class Plain { public byte Field; } }
namespace Lib.Ext { public static class Pins { public static ref int GetPinnableReference(this Lib.Plain plain) => throw null; } }",
        ),
        (
            "B.cs",
            "using Lib; using Lib.Ext; unsafe class U { byte[] all; Buffer own;
void M(Heir heir, Plain plain, Buffer buffer, string text) {
fixed (byte* p = heir, q = buffer) { }
fixed (int* p = plain) { }
fixed (byte* p = &plain.Field, q = all) fixed (char* c = text) { }
fixed (Buffer* p = &own) { }
fixed (byte* p = unknown()) { } } }",
        ),
    ]);
    let places = |member: &str| places_of(&world, "U", member);
    assert_eq!(places("Lib.Buffer#GetPinnableReference"), ["3:1 call"]);
    assert_eq!(places("Lib.Ext.Pins#GetPinnableReference"), ["4:1 call"]);
    assert_eq!(places("?#GetPinnableReference"), ["7:1 call"]);
    assert_eq!(places("Lib.Plain#Field"), ["5:25 read"]);
}

#[test]
fn a_collection_expression_calls_the_builder_that_its_type_names() {
    let world = World::of_texts(&[
        (
            "A.cs",
            "using System; using System.Collections.Generic; using System.Runtime.CompilerServices; namespace Lib;
[CollectionBuilder(typeof(Bags), nameof(Bags.Make))] public class Bag<T> { public IEnumerator<T> GetEnumerator() => null; public void Add(T item) { } }
[CollectionBuilderAttribute(typeof(Names), \"Of\")] public struct Names { public static Names Of(ReadOnlySpan<string> all) => default; public IEnumerator<string> GetEnumerator() => null; }
public static class Bags { public static Bag<T> Make<T>(ReadOnlySpan<T> all) => null; public static Bag<T> Make<T>() => null; }
public class Plain<T> { public IEnumerator<T> GetEnumerator() => null; public void Add(T item) { } }
public class Item { public static implicit operator Item(string s) => null; }",
        ),
        (
            "B.cs",
            "using Lib; class U { Bag<int> one = [1, 2];
Names M(Names? given) { Bag<string> none = []; Take([\"a\"]); return [\"a\", \"b\"]; }
void Take(Bag<string> bag) { } Names N() => [];
Plain<int> P() => [3]; Bag<Item> Q() => [\"c\"]; }",
        ),
    ]);
    let places = |member: &str| places_of(&world, "U", member);
    assert_eq!(places("Lib.Bags#Make"), ["1:37 call", "2:44 call", "2:53 call", "4:41 call"]);
    assert_eq!(places("Lib.Names#Of"), ["2:68 call", "3:45 call"]);
    assert_eq!(places("Lib.Bag`1#Add"), [""; 0]);
    assert_eq!(places("Lib.Plain`1#Add"), ["4:20 call"]);
    assert_eq!(places("Lib.Item#op_Implicit"), ["4:42 convert"]);
}

#[test]
fn a_member_that_no_bound_of_a_type_parameter_has_is_missing_in_each() {
    let world = World::of_texts(&[(
        "A.cs",
        "interface IOne { int First { get; } } interface ITwo { int Second { get; } }
class U { int M<T>(T both) where T : IOne, ITwo => both.First + both.Second + both.Third; }",
    )]);
    let third = ["2:84 name"];
    assert_eq!(places_of(&world, "U", "~!IOne#Third"), third);
    assert_eq!(places_of(&world, "U", "~!ITwo#Third"), third);
    assert_eq!(places_of(&world, "U", "ITwo#Second"), ["2:70 read"]);
}

#[test]
fn the_project_decides_whether_operators_are_checked() {
    let text = "struct Count { public static Count operator +(Count a, Count b) => a; public static Count operator checked +(Count a, Count b) => a; }
class U { Count M(Count a, Count b) {
a = a + b;
a = unchecked(a + b);
return checked(a + b); } }";
    for (facts, plain, checked) in [
        (None, vec!["3:7 call?", "4:17 call"], vec!["3:7 call?", "5:18 call"]),
        (Some("{}"), vec!["3:7 call", "4:17 call"], vec!["5:18 call"]),
        (Some(r#"{"checked":true}"#), vec!["4:17 call"], vec!["3:7 call", "5:18 call"]),
    ] {
        let projects: Vec<(&str, &str)> = facts.iter().map(|facts| ("A.csproj", *facts)).collect();
        let world = World::of_projects(&[("A.cs", text)], &projects);
        assert_eq!(places_of(&world, "U", "Count#op_Addition"), plain, "{facts:?}");
        assert_eq!(places_of(&world, "U", "Count#op_CheckedAddition"), checked, "{facts:?}");
    }
}

#[test]
fn the_value_of_a_constant_of_another_file_decides_between_overloads() {
    let world = World::of_texts(&[
        (
            "A.cs",
            "namespace Lib; public static class Limits { public const int Small = 5, Large = 2 * 200; public const int Open = Small + One.Most; }
public class One { public int OfByte; public const int Most = 1; } public class Two { public int OfLong; }",
        ),
        (
            "B.cs",
            "using Lib; using static Lib.Limits; class U { One F(byte b) => null; Two F(long l) => null; void M() {
int a = F(Limits.Small).OfByte;
int b = F(Lib.Limits.Large).OfLong;
int c = F(Small).OfByte;
int d = F(Limits.Open).OfByte; } }",
        ),
    ]);
    assert_eq!(places_of(&world, "U", "Lib.One#OfByte"), ["2:25 read", "4:18 read"]);
    assert_eq!(places_of(&world, "U", "Lib.Two#OfLong"), ["3:29 read"]);
    assert_eq!(places_of(&world, "U", "?#OfByte"), ["5:24 read"]);
}
