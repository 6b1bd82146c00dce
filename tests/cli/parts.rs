//! `//files/F#T:part`: a type's part of one file (seed 001, `FilePart`).

use crate::bench::Bench;
use std::collections::BTreeSet;

#[test]
fn a_part_of_a_file_has_another_output_only_when_its_own_lines_change() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"p\"\nrulesets = [\"csharp\"]\n");
    let text = |above: &str, a: &str, b: &str| format!("namespace N;\n{above}public partial class A {{\n  {a}\n}}\nclass B {{ {b} }}\n");
    let part = "//files/A.cs#N.A:part";
    // Counts distinct outputs: a version may repeat an earlier one, and readers run again only for another output.
    let outputs = || {
        // Unfiltered output, because the bench masks digests.
        let printed = bench.command(&["history", part, "--json"]).output().expect("it runs").stdout;
        let printed = String::from_utf8(printed).expect("text");
        let lines = printed.lines().filter(|line| line.contains("\"output\":"));
        lines.map(str::to_owned).collect::<BTreeSet<_>>().len()
    };
    bench.write("A.cs", &text("", "int one;", "int two;"));
    bench.write("Other.cs", "namespace N;\npublic partial class A { int three; }\n");
    assert_eq!(bench.run(&["show", part]).out, "public partial class A {\n  int one;\n");
    for pattern in ["//files/*#*:part", "//files/...#*:part"] {
        let listed = bench.run(&["build", pattern, "--json"]);
        assert_eq!((listed.code, &listed.json()["targets"]), (0, &3.into()), "{listed:?}");
    }
    for (label, hint) in [
        ("//files/A.cs#Nothing:part", "`cortex query '//files/A.cs#*'` lists them"),
        ("//files/A.cs#N.AA:part", "did you mean //files/A.cs#N.A:part?"),
        ("//files/A.cs#N.A:prt", "did you mean //files/A.cs#N.A:part?"),
        ("//types/N.A#nothing:outline", "`cortex query '//types/N.A#*'` lists them"),
    ] {
        let ran = bench.run(&["show", label]);
        assert!(ran.code == 2 && ran.err.contains(hint), "{label}: {}", ran.err);
    }
    for (what, after, expected) in [
        ("another type", text("", "int one;", "long two;"), 1),
        ("lines above", text("// a\n// b\n", "int one;", "long two;"), 1),
        ("its own line", text("// a\n// b\n", "long one;", "long two;"), 2),
    ] {
        bench.write("A.cs", &after);
        assert_eq!(bench.run(&["build", part]).code, 0, "{what}");
        assert_eq!(outputs(), expected, "{what}");
    }
    assert_eq!(bench.run(&["show", part]).out, "public partial class A {\n  long one;\n");
    bench.write("A.cs", "namespace N;\n");
    assert_eq!(bench.run(&["show", part]).code, 2);
}
