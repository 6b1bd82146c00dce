//! Usages of members with equal bodies, and of types in declarations.

use crate::bench::Bench;

/// Returns the lines and columns of usages.
fn usages(bench: &Bench, name: &str) -> Vec<String> {
    let answer = bench.run(&["usages", name]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let places = answer
        .out
        .lines()
        .filter_map(|line| line.split_once(": ").map(|(place, _)| place.to_owned()));
    places.filter(|place| place.starts_with("a.cs")).collect()
}

#[test]
fn overloads_with_equal_bodies_use_what_their_own_parameters_have() {
    let bench = Bench::empty();
    bench.write(
        "a.cs",
        "public class Na { public void Accept(Visitor v) { } }\n\
         public class Nb { public void Accept(Visitor v) { } }\n\
         public class Visitor\n{\n    public void On(Na n) { n.Accept(this); }\n    public void On(Nb n) { n.Accept(this); }\n}\n",
    );
    assert_eq!(bench.run(&["init"]).code, 0);
    assert_eq!(usages(&bench, "Na.Accept"), ["a.cs:5:30"]);
    assert_eq!(usages(&bench, "Nb.Accept"), ["a.cs:6:30"]);
}

#[test]
fn a_declared_name_is_no_use_and_a_qualifier_is_one() {
    let bench = Bench::empty();
    bench.write(
        "a.cs",
        "using System.Collections.Generic;\n\
         public class Foo\n{\n    public class In { }\n    public Foo() { }\n    public Foo Next(int a = 1, Foo other = null) => other;\n}\n\
         public class User : Foo.In\n{\n    public Foo Foo { get; set; }\n    private Foo.In x;\n    public List<Foo.In> All;\n    public (Foo a, int b) Pair(Foo Foo) => default;\n}\n",
    );
    assert_eq!(bench.run(&["init"]).code, 0);
    let expected = [
        "a.cs:6:12", "a.cs:6:32", "a.cs:8:21", "a.cs:10:12", "a.cs:11:13", "a.cs:12:17", "a.cs:13:13", "a.cs:13:32",
    ];
    let found = usages(&bench, "Foo");
    assert_eq!(found, expected);
    assert_eq!(usages(&bench, "Foo.In"), ["a.cs:8:25", "a.cs:11:17", "a.cs:12:21"]);
}
