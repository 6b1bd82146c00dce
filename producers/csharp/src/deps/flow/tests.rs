//! Tests of uses in bodies, from C# text to dependencies.

use crate::deps::Dependencies;
use crate::fixture::World;
use crate::mention_model::Place;
use std::collections::BTreeSet;

/// Returns the types that the bodies of `N.T` use, and those among them that are not named there.
fn uses(text: &str) -> (Vec<String>, Vec<String>) {
    let (syntax, diagnostics) = crate::parse::read(text, &BTreeSet::new(), "a.cs");
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let world = World::new(&[("a.cs", syntax)], &[]);
    let found: Dependencies = serde_json::from_slice(&world.output("deps", "N.T").bytes).expect("dependencies");
    let of = |place: Place| {
        let places = found.evidence.iter().filter(|(_, places)| places.contains(&place));
        places.map(|(key, _)| key.strip_prefix("N.").unwrap_or(key).to_owned()).collect()
    };
    (of(Place::Body), of(Place::Inferred))
}

const WORLD: &str = "using System; using System.Collections.Generic; using System.Linq; using System.Threading.Tasks; namespace N {
    class A { public B Next; public List<B> Many; public static A Make() => null; public Task<B> Later() => null; public event Action<C> Done; public C this[int i] => null; }
    class B : Base { public C Deep { get; set; } public E Kind; }
    class Base { public D FromBase; public virtual void Run() { } }
    class C { public int Value; }
    class D { public void Do() { } public Dictionary<string, C> Map; }
    enum E { One, Two }
    class G<X> where X : Base { public X Item; public Y Pick<Y>(Func<X, Y> f) => default; }
    static class Ext { public static D ToD(this A a) => null; public static IEnumerable<Q> Each<Q>(this IEnumerable<Q> all) => all; }
    delegate C Maker(D d);
    record Rec(C First, D Second);
";

fn check(body: &str, named: &[&str], inferred: &[&str]) {
    let text = format!("{WORLD} class T {{ A a; A Prop => a; Maker maker; void M(A p, IEnumerable<A> all, object o) {{ {body} }} }} }}");
    let (found, through) = uses(&text);
    assert_eq!(found, named, "named in {body}");
    assert_eq!(through, inferred, "inferred in {body}");
}

#[test]
fn members_and_locals() {
    check("a.Next.Deep.Value = 1;", &[], &["A", "B", "C"]);
    check("var x = Prop; var y = x.Next; y.FromBase.Do();", &[], &["A", "B", "Base", "D"]);
    check("this.a.Next.Run();", &[], &["A", "Base"]);
    check("A.Make().Next.Kind = E.Two;", &["A", "E"], &["A", "B", "E"]);
    check("p[0].Value.ToString();", &[], &["A", "C"]);
    check("int a = 1; a.ToString();", &[], &[]);
    check("A q = new(); q.Next = new() { Deep = new C() };", &["A", "C"], &["A", "B"]);
}

#[test]
fn collections_lambdas_and_extensions() {
    check("foreach (var x in p.Many) x.Deep.Value++;", &[], &["A", "B", "C"]);
    check(
        "var z = all.Select(x => x.Next).Where(y => y.Kind == E.One).First();",
        &["E"],
        &["A", "B", "E"],
    );
    check("a.ToD().Map.TryGetValue(\"\", out var c); c.Value++;", &[], &["C", "D", "Ext"]);
    check("foreach (var q in all.Each()) q.Next = null;", &[], &["A", "Ext"]);
    check("maker(null).Value++;", &[], &["C"]);
    check("a.Done += c => c.Value++;", &[], &["A", "C"]);
    check(
        "var l = new G<B>().Pick(b => b.Deep); l.Value++;",
        &["B", "G`1"],
        &["B", "C", "G`1"],
    );
    check(
        "var y = from x in all let n = x.Next select n.Deep; y.First().Value++;",
        &[],
        &["A", "B", "C"],
    );
}

#[test]
fn patterns_tasks_and_tuples() {
    check("if (o is B { Deep: { Value: 1 } } b) b.Kind = 0;", &["B"], &["B", "C"]);
    check(
        "switch (o) { case A { Next.Deep: var d }: d.Value++; break; case E.One: break; }",
        &["A", "E"],
        &["A", "B", "C", "E"],
    );
    check("var (f, s) = ((Rec)o); s.Do(); (f, var u) = (a.Next, 1); ", &["Rec"], &["A", "D"]);
    check("(B b, int n) t = default; t.b.Deep = null;", &["B"], &["B"]);
    check("var r = o as D ?? new D(); r.Do();", &["D"], &["D"]);
    check(
        "Func<Task> f = async () => { var w = await a.Later(); w.Deep = null; };",
        &[],
        &["A", "B"],
    );
    check("C L(D d) => d.Map[\"\"]; L(null).Value++;", &["C", "D"], &["C", "D"]);
    check("var s = o switch { A k => k.Next, _ => null }; s.Deep = null;", &["A"], &["A", "B"]);
}

#[test]
fn a_member_of_an_unknown_type_refers_to_nothing() {
    check("dynamic d = o; d.Next.Deep = 1; Unknown.Next = 2; p.Missing.Next = 3;", &[], &[]);
}

#[test]
fn aliases_keep_their_arguments() {
    let text = "using L = System.Collections.Generic.List<N.C>; namespace N { class C { public int V; } class T { L l; void M() { l[0].V = 1; } } }";
    assert_eq!(uses(text).1, ["C"]);
}

#[test]
fn an_indexer_of_a_derived_type_precedes_overrides_of_inherited_ones() {
    let through = |body: &str| {
        let text = "class One { public int OfOne; } class Two { public int OfTwo; }
            class Base { public virtual One this[int at] => null; }
            class Late : Base { public override One this[int at] => null; public Two this[object key] => null; }
            class Early : Base { public Two this[object key] => null; public override One this[int at] => null; }
            class Below : Late { public override One this[int at] => null; }
            class Alone : Base { public override One this[int at] => null; public Two this[string name] => null; }
            class Hides : Base { public new Two this[int at] => null; public One this[object key] => null; }";
        let user = "void M(Base plain, Late late, Early early, Below below, Alone alone, Hides hides)";
        uses(&format!("namespace N {{ {text} class T {{ {user} {{ {body} }} }} }}")).1
    };
    assert_eq!(through("late[1].OfTwo++;"), ["Late", "Two"]);
    assert_eq!(through("early[1].OfTwo++;"), ["Early", "Two"]);
    assert_eq!(through("below[1].OfTwo++;"), ["Late", "Two"]);
    assert_eq!(through("alone[1].OfOne++;"), ["Alone", "One"]);
    assert_eq!(through("hides[1].OfTwo++;"), ["Hides", "Two"]);
    assert_eq!(through("plain[1].OfOne++;"), ["Base", "One"]);
}

#[test]
fn a_service_provider_returns_the_requested_service() {
    check(
        "IServiceProvider s = null; s.GetRequiredService<A>().Next.Run();",
        &["A"],
        &["A", "Base"],
    );
}
