//! Tests of what types owe to their bases.

use super::samples::Sample;
use super::unimplemented::{RequiredMember, missing_members};

fn missing(text: &str, key: &str) -> (Vec<String>, Vec<String>) {
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let symbols = sample.names();
    let disk = sample.world();
    let found = missing_members(&mut sample, &symbols, &*disk, key).expect("outputs");
    let line = |one: &RequiredMember| format!("{}: {} [{}]", one.path, one.head.of_interface(), one.base);
    let beside = found.of_dotnet.into_iter().chain(found.unknown).collect();
    (found.members.iter().map(line).collect(), beside)
}

#[test]
fn members_of_interfaces_and_abstract_ones_are_owed() {
    let text = "using System;
interface I<T> : J { T Get(T id, int most = 3); int Count { get; set; } void Free() { } static abstract T Make(); int this[T at] { get; } event Action E; }
interface J { void Go(int x); void Stop(); }
abstract class B<K> { protected abstract void M(K one); public abstract string N { get; } public void Go(int x) { } }
class A : B<string>, I<int> { void J.Stop() { } public int Count { get; set; } public override string N => null; }
class C : A { }
abstract class D : B<int>, J { public abstract void Stop(); }
record R(int Count) : IEquatable<R>, IDisposable, IAsyncDisposable;
class P : Package.Base, J { }
class L : System.Collections.Generic.List<int> { }
";
    assert_eq!(
        missing(text, "A"),
        (
            [
                "B`1#M(K): void M(string one); [B<string>]",
                "I`1#Get(T,int): int Get(int id, int most = 3); [I<int>]",
                "I`1#Make(): int Make(); [I<int>]",
                "I`1#this[](T): int this[int at] { get; } [I<int>]",
                "I`1#E: event Action E; [I<int>]"
            ]
            .map(str::to_owned)
            .to_vec(),
            Vec::new()
        )
    );
    assert_eq!(missing(text, "D"), Default::default());
    assert_eq!(
        missing(text, "R"),
        (
            vec![
                "System.IDisposable#Dispose(): void Dispose(); [IDisposable]".to_owned(),
                "System.IAsyncDisposable#DisposeAsync(): ValueTask DisposeAsync(); [IAsyncDisposable]".to_owned()
            ],
            Vec::new()
        )
    );
    assert_eq!(missing(text, "L"), Default::default());
    let (found, unknown) = missing(text, "P");
    assert_eq!(found.len(), 2);
    assert_eq!(unknown, ["its base `Package.Base` is not known"]);
}

#[test]
fn a_member_of_another_kind_or_result_implements_nothing() {
    let text = "interface I { int Val { get; } int Run(); event System.Action E; }
class Fields : I { public int Val; public System.Func<int> Run; public System.Action E; }
class Results : I { public string Val => null; public string Run() => null; public event System.Action E; }
class Method : I { public int Val() => 1; public int Run() => 1; public event System.Action E; }
record Good(int Val) : I { public int Run() => 1; public event System.Action E; }
interface IOf<T> { T Get(); }
class Base<T> { public T Get() => default; }
class Heir : Base<int>, IOf<int> { }
class Same<T> : IOf<T> { public T Get() => default; }
class OtherBase : Base<string>, IOf<int> { }
class OtherResult<T> : IOf<T> { public string Get() => null; }
class Written : IOf<int> { public string Get() => null; }
interface IRef { int Val { get; } ref int One(ref int x); ref readonly int Other { get; } }
class Values : IRef { public int Val => 1; public int One(ref int x) => 1; public ref int Other => throw null; }
class References : IRef { public ref int Val => throw null; public ref int One(ref int x) => ref x; public ref readonly int Other => throw null; }
";
    let missing = |key: &str| missing(text, key).0.len();
    assert_eq!(
        [
            "Fields", "Results", "Method", "Good", "Heir", "Same`1", "OtherBase", "OtherResult`1", "Written", "Values", "References"
        ]
        .map(missing),
        [3, 2, 1, 0, 0, 0, 1, 1, 1, 2, 1]
    );
}

#[test]
fn members_that_dotnet_asks_for_are_owed() {
    let text = "using System; using System.Collections; using System.Collections.Generic; using System.IO; using System.Data.Common;
class Row : IEnumerable<int>, IComparable<Row>, IEquatable<Row>, IDisposable { public void Dispose() { } public bool Equals(Row other) => true; }
class Half : IEnumerable<int> { public IEnumerator<int> GetEnumerator() => null; }
class Whole : IEnumerable<int> { public IEnumerator<int> GetEnumerator() => null; IEnumerator IEnumerable.GetEnumerator() => null; }
class Other : IEnumerable<int> { IEnumerator<int> IEnumerable<int>.GetEnumerator() => null; public IEnumerator GetEnumerator() => null; }
class Wide : List<int>, IReadOnlyList<int>, IHasCount { }
interface IHasCount { int Count { get; } }
class Flow : Stream { public override bool CanRead => true; public override void Flush() { } }
class Text : StringWriter { }
class Link : DbConnection { }
class Failed : Exception { }
class Set<T> : IReadOnlyCollection<T> where T : class { public IEnumerator<T> GetEnumerator() => null; IEnumerator IEnumerable.GetEnumerator() => null; }
class Odd : IAsyncResult, IConvertible { public bool IsCompleted => true; }
";
    let missing = |key: &str| missing(text, key).0.join(" | ");
    assert_eq!(
        missing("Row"),
        "System.Collections.Generic.IEnumerable`1#GetEnumerator(): IEnumerator<int> GetEnumerator(); [IEnumerable<int>] | System.IComparable`1#CompareTo(T): int CompareTo(Row other); [IComparable<Row>] | System.Collections.IEnumerable#GetEnumerator(): IEnumerator GetEnumerator(); [System.Collections.IEnumerable]"
    );
    assert_eq!(
        missing("Half"),
        "System.Collections.IEnumerable#GetEnumerator(): IEnumerator GetEnumerator(); [System.Collections.IEnumerable]"
    );
    assert_eq!(
        missing("Set`1"),
        "System.Collections.Generic.IReadOnlyCollection`1#Count: int Count { get; } [IReadOnlyCollection<T>]"
    );
    assert_eq!(missing("Flow").matches("System.IO.Stream#").count(), 8, "{}", missing("Flow"));
    assert_eq!(missing("Odd").matches("System.IAsyncResult#").count(), 3, "{}", missing("Odd"));
    for none in ["Whole", "Other", "Wide", "Text", "Link", "Failed"] {
        assert_eq!(missing(none), "", "{none}");
    }
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let (symbols, disk) = (sample.names(), sample.world());
    let mut beside = |key: &str| {
        let found = missing_members(&mut sample, &symbols, &*disk, key).expect("outputs");
        (found.undescribed.into_iter().collect::<Vec<_>>().join(" "), found.of_dotnet.len())
    };
    assert_eq!(beside("Link"), ("System.Data.Common.DbConnection".to_owned(), 0));
    assert_eq!(beside("Failed"), (String::new(), 0));
    assert!(beside("Odd").1 > 10, "members of IConvertible are named");
}
