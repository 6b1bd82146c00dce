//! Uses on values of generic types.

use super::samples::Sample;
use super::usages_tests::{certain, find_usages, possible};

#[test]
fn a_generic_type_is_bound_after_a_reference_to_it_in_its_documentation() {
    let text = "interface I { bool Wait(int at); }\n/// <see cref=\"Move\"/>\nclass S<T> where T : struct, I { T of; public bool Move() => of.Wait(1); }\n";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "I.Wait");
    assert_eq!((certain(&found).len(), possible(&found).len()), (1, 0));
}

#[test]
fn nested_types_of_generic_bases_have_the_arguments_of_the_base() {
    let text = "class Root<E> { public class Channel { public E Top; } }
class Env : Root<Env> { int writer; class Own : Channel { int A() => Top.writer; } }
class Two<A> : Root<Other> { class N : Channel { void M(Two<A> of) { Top.Run(); } } }
class Other { public void Run() { } }
class Held : Root<Held> { int count; Channel channel; public class Made : Channel { public Held It() => Top; } int B(Made made) => made.It().count + channel.Top.count; }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    for (symbol, uses) in [("Env.writer", 1), ("Other.Run", 1), ("Held.count", 2)] {
        assert_eq!(find_usages(&mut sample, symbol).1.certain.len(), uses, "{symbol}");
    }
}

#[test]
fn a_base_is_read_by_the_part_that_knows_its_type_arguments() {
    let mut sample = Sample::from_files(&[
        ("a.cs", "namespace N { partial class Made { } class Box<T> { public T Of; } }"),
        (
            "b.cs",
            "using M; namespace N { partial class Made : Box<Kept> { void Q(Made of) { of.Of.Go(); } } }",
        ),
        ("c.cs", "namespace M { public class Kept { public void Go() { } } }"),
    ]);
    assert_eq!(find_usages(&mut sample, "Kept.Go").1.certain.len(), 1);
}

#[test]
fn a_generic_method_group_determines_type_parameters() {
    let text = "using System.Collections.Generic; using System.Linq;
class A { public void Go() { } void M(List<A> one, List<A> two) { foreach (var pair in one.Zip(two, System.Tuple.Create)) pair.Item1.Go(); } }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    assert_eq!(find_usages(&mut sample, "A.Go").1.certain.len(), 1);
}

#[test]
fn a_span_converts_to_a_read_only_span() {
    let text = "using System;
class A { public void Go(int at) { } void M(Span<char> of, Memory<int> all) {
this.Go(of);
this.Go(all);
} }
static class More { public static void Go(this A one, ReadOnlySpan<char> of) { } public static void Go(this A one, ReadOnlyMemory<int> of) { } }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    assert_eq!(
        certain(&find_usages(&mut sample, "More.Go").1),
        ["3:this.Go(of);", "4:this.Go(all);"]
    );
}

#[test]
fn groups_of_queries_have_keys_and_elements() {
    let text = "using System.Collections.Generic; using System.Linq;
class A { public int F; public A Next; void M(List<A> one, List<A> two) {
var all = from x in one join y in two on x equals y into ys from z in ys
select z.F;
var groups = from x in one group x.F by new { x.Next } into g
select g.Key.Next.F;
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    assert_eq!(
        certain(&find_usages(&mut sample, "A.F").1),
        [
            "4:select z.F;",
            "5:var groups = from x in one group x.F by new { x.Next } into g",
            "6:select g.Key.Next.F;"
        ]
    );
}

#[test]
fn an_async_lambda_determines_a_task() {
    let text = "using System.Collections.Generic; using System.Linq; using System.Threading.Tasks;
class A { public int F; public A Next; void M(List<A> all) {
all.Select(async x => { await Task.Yield(); return x.Next; }).First().Result.F = 1;
Task.WhenAll(all.Select(async x => { await Task.Yield(); return x.Next; })).Result[0].F = 2;
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    assert_eq!(find_usages(&mut sample, "A.F").1.certain.len(), 2);
}

#[test]
fn an_async_lambda_without_a_value_determines_a_plain_task() {
    let text = "using System.Collections.Generic; using System.Linq; using System.Threading.Tasks;
class A { public void Go() { } void M(List<A> all) { all.Select(async x => x.Go()).First().Log(); } }
static class One { public static void Log<T>(this Task<T> of) { } }
static class Two { public static void Log(this Task of) { } }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    assert_eq!(find_usages(&mut sample, "Two.Log").1.certain.len(), 1);
    assert_eq!(find_usages(&mut sample, "One.Log").1.certain.len(), 0);
}

#[test]
fn a_local_function_hides_no_method_with_other_type_arguments() {
    let text =
        "class A { static T Fetch<T>(int at) => default; void M() {\nint Fetch(string of) => Fetch<int>(of.Length);\nFetch(\"\"); } }\n";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "A.Fetch");
    assert_eq!(certain(&found), ["2:int Fetch(string of) => Fetch<int>(of.Length);"]);
}

#[test]
fn nested_types_know_the_constraints_of_enclosing_types() {
    let text = "class Root<S> where S : Root<S>.State { public class State { public void Go() { } } static class Map { static void M(S state) => state.Go(); } }
static class More { public static T Go<T>(this T of, int a = 0) where T : System.Exception => of; }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (_, found) = find_usages(&mut sample, "State.Go");
    assert_eq!((certain(&found).len(), find_usages(&mut sample, "More.Go").1.certain.len()), (1, 0));
}

#[test]
fn a_nullable_value_parameter_of_a_type_takes_a_nullable_value() {
    let text = "using System.Collections.Generic; using System.Linq;
abstract class Box<T> : IEnumerable<T?> where T : unmanaged { public void Append(T? value) { } }
class User { void M(Box<int> box, int? value) {
box.Append(value);
} }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    assert_eq!(certain(&find_usages(&mut sample, "Box.Append").1), ["4:box.Append(value);"]);
}
