//! Primary constructors: they are no members, and are named and used like constructors.

use super::resolve::{Options, resolve};
use super::samples::Sample;
use super::usages_tests::find_usages;

#[test]
fn primary_constructors_are_told_apart_from_others() {
    let text = "namespace P; public record Prim(int X, string Y = \"\");
public class Cls(int a) { public int A => a; public Cls() : this(1) { } }
class Go { object M() => new object[] { new Prim(1), new Prim(2, \"x\"), new Cls(3), new Cls() }; }
";
    let mut sample = Sample::from_files(&[("a.cs", text)]);
    let symbols = sample.names();
    for (symbol, paths) in [
        ("P.Prim#.ctor", vec!["P.Prim#.ctor(int,string)"]),
        ("Prim.Prim(int, string)", vec!["P.Prim#.ctor(int,string)"]),
        ("P.Cls#.ctor", vec!["P.Cls#.ctor()", "P.Cls#.ctor(int)"]),
        ("Cls#.ctor(int)", vec!["P.Cls#.ctor(int)"]),
        ("Cls#.ctor()", vec!["P.Cls#.ctor()"]),
    ] {
        let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
        let found: Vec<&str> = found.candidates.iter().map(|one| one.path.as_str()).collect();
        assert_eq!((symbol, found), (symbol, paths));
    }
    for (symbol, columns) in [("P.Prim#.ctor(int,string)", 2), ("P.Cls#.ctor()", 1), ("P.Cls#.ctor(int)", 2)] {
        let (_, found) = find_usages(&mut sample, symbol);
        assert_eq!((symbol, found.certain.len(), found.possible.len()), (symbol, columns, 0));
    }
}
