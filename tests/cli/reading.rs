//! Files and symbols read together.

use crate::bench::Bench;
use serde_json::json;

fn bench() -> Bench {
    let bench = Bench::empty();
    bench.write(
        "cortex.toml",
        "[workspace]\nname = \"w\"\nrulesets = [\"csharp\"]\n\n[sources.csharp]\ninclude = [\"*.cs\"]\n",
    );
    bench.write("A.cs", "namespace N;\npublic class A\n{\n    public int Get() => 1;\n}\n");
    bench.write("docs/plan.txt", "one\ntwo\r\nthree\nfour");
    bench
}

#[test]
fn several_files_and_symbols_in_one_answer() {
    let bench = bench();
    let read = bench.run(&["source", "docs/plan.txt:2-3", "A#Get", "docs/plan.txt:9-99", "A.cs:2"]);
    assert_eq!(read.code, 0, "{read:?}");
    insta::assert_snapshot!(read.out, @"
    // docs/plan.txt:2-3
    2  two
    3  three
    // N.A#Get()  A.cs:4-4
    4      public int Get() => 1;
    // docs/plan.txt:4-4
    4  four
    // A.cs:2-2
    2  public class A
    note: docs/plan.txt: lines 9-99 were requested; the file has 4 lines, and 4-4 are shown
    ");
    let whole = bench.run(&["source", "docs/plan.txt", "--lines", "3", "--json"]).json();
    let part = &whole["sources"][0]["parts"][0];
    assert_eq!(
        (&part["text"], &part["leftOut"]),
        (&"one\ntwo\r\nthree\n".into(), &json!([4, 4])),
        "{whole}"
    );
    assert_eq!(whole["state"]["complete"], false);
}

#[test]
fn source_reports_each_file_that_it_cannot_show() {
    let bench = bench();
    std::fs::write(bench.root().join("image.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").expect("written");
    std::fs::write(bench.root().join("wide.txt"), b"\xff\xfe\0\0a\0\0\0").expect("written");
    bench.write("empty.txt", "");
    let wanted = [
        "image.png", "wide.txt", "docs/plam.txt", "../out.txt", ".git/config", ".cortex/x", "Nothing", "docs/plan.txt:1", "empty.txt",
    ];
    let read = bench.run(&[&["source", "--json"], &wanted[..]].concat());
    assert_eq!(read.code, 2, "{read:?}");
    let read = read.json();
    let result_of = |field: &str| -> Vec<String> {
        let failed = read["failed"].as_array().expect("a list").iter();
        failed.map(|one| one[field].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(result_of("asked"), wanted[..7]);
    assert_eq!(
        result_of("code"),
        [
            "E_BINARY", "E_ENCODING", "E_NO_FILE", "AccessDenied", "AccessDenied", "AccessDenied", "SymbolNotFound"
        ]
    );
    assert_eq!(result_of("message")[0], "image.png is not shown: it is binary: byte 8 is NUL");
    assert!(result_of("message")[3].contains("leads out of the workspace"), "{read}");
    assert_eq!(read["sources"][0]["parts"][0]["text"], "one\n");
    assert_eq!(read["sources"][1]["notes"], json!(["empty.txt is empty"]));
    assert_eq!(read["state"]["complete"], false);
    // Alone it is an error.
    let alone = bench.run(&["source", "A.sc/"]);
    assert!(
        alone.code == 2 && alone.err.contains("error[E_NO_FILE]") && alone.out.is_empty(),
        "{alone:?}"
    );
    let out = bench.run(&["source", "A.cs", "../x", "--json"]).json();
    assert_eq!(out["failed"][0]["code"], "AccessDenied", "{out}");
    let none = bench.run(&["source", "image.png", "Nothing"]);
    assert!(none.code == 2 && none.out.is_empty() && none.err.contains("error["), "{none:?}");
}

#[test]
fn a_file_is_read_as_it_is_now_while_nothing_can_be_built() {
    let bench = bench();
    bench.write("A.cs", "\u{feff}class Größe { }\r\n");
    let read = bench.run(&["source", "A.cs", "--json"]).json();
    let part = &read["sources"][0]["parts"][0];
    assert_eq!(
        (&part["text"], &part["endColumn"]),
        (&"\u{feff}class Größe { }\r\n".into(), &16.into()),
        "{read}"
    );
    assert_eq!(bench.run(&["log", "--json"]).json()["builds"].as_array().map_or(0, Vec::len), 0);
}

#[test]
fn names_and_numbers_that_look_like_lines() {
    let bench = bench();
    bench.write("docs/odd.txt:2", "odd\n");
    let read = |symbol: &str| bench.run(&["source", symbol]);
    assert_eq!(read("docs/odd.txt:2").out, "// docs/odd.txt:2:1-1\n1  odd\n");
    let far = read("A.cs:99999999999999999999");
    let actual = "line 18446744073709551615 or more was requested; the file has 5 lines, and 5-5 are shown";
    assert!(far.code == 0 && far.out.contains(actual), "{far:?}");
}

#[test]
fn a_file_that_an_overlay_removed_is_not_there() {
    let bench = bench();
    bench.write("B.cs", "namespace N;\npublic class B { }\n");
    assert_eq!(bench.run(&["overlay", "open", "ov"]).code, 0);
    let removed = bench.run(&["overlay", "put", "ov", "B.cs", "--delete"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    let gone = bench.run(&["source", "B.cs", "--overlay", "ov"]);
    assert!(
        gone.code == 2 && gone.err.contains("'B.cs' is removed by the overlay") && gone.err.contains("ask without the overlay"),
        "{gone:?}"
    );
}

#[test]
fn the_nodes_built_for_a_question_are_one_build_in_the_log() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["impact", "NodeStore.Get"]).code, 0);
    let builds = bench.run(&["log", "--json"]).json()["builds"].clone();
    let [build] = builds.as_array().map_or(&[][..], Vec::as_slice) else {
        panic!("{builds}")
    };
    let command = build["command"].as_str().unwrap_or_default();
    assert!(
        command.starts_with("impact //index:declarations //index:members //index:types "),
        "{build}"
    );
    let ran = |build: &serde_json::Value| build["counts"]["ran"].as_u64().unwrap_or(0);
    let of_producers = build["producers"].as_array().into_iter().flatten();
    assert_eq!(ran(build), of_producers.filter_map(|of| of["ran"].as_u64()).sum::<u64>(), "{build}");
    // The next request is another one, and nothing has to be built for it.
    assert_eq!(bench.run(&["impact", "NodeStore.Get"]).code, 0);
    assert_eq!(bench.run(&["build", "//types/MemoTree.Core.NodeStore:outline"]).code, 0);
    assert_eq!(bench.run(&["log", "--json"]).json()["builds"].as_array().map_or(0, Vec::len), 2);
}

#[test]
fn impact_says_what_lies_behind_its_last_step() {
    let bench = Bench::empty();
    let steps: String = (1..=6).map(|at| format!("    public int M{at}() => M{}();\n", at - 1)).collect();
    let text = format!(
        "public class A {{\n    public int M0() => 0;\n{steps}}}\npublic class T {{\n    [Fact] public void Far() => new A().M6();\n}}\n"
    );
    bench.write("a.cs", &text);
    assert_eq!(bench.run(&["init"]).code, 0);
    let stopped = "note: impact stopped after 5 steps; 1 more member uses what these steps reach: follow them with a depth of 10\n";
    let tests = bench.run(&["impact", "A.M0", "--tests"]);
    assert_eq!(
        tests.out,
        format!("changed: A#M0()\nnote: no test is reached within 5 steps\n{stopped}")
    );
    let answer = bench.run(&["impact", "A.M0", "--json"]).json();
    assert_eq!(
        (&answer["state"]["complete"], &answer["beyond"], &answer["total"]),
        (&false.into(), &1.into(), &5.into())
    );
    let dot = bench.run(&["impact", "A.M0", "--dot"]).out;
    assert!(
        dot.starts_with("digraph impact {\n") && dot.contains("\"A#M0()\" -> \"A#M1()\";\n"),
        "{dot}"
    );
    let short = bench.run(&["impact", "A.M0", "--dot", "--limit", "1"]);
    assert!(short.out == dot && !short.err.contains("are shown"), "{short:?}");
    let filter = bench.run(&["impact", "A.M0", "--filter"]);
    assert!(
        filter.out == "\n" && filter.err.contains("note[N_INCOMPLETE]: impact stopped after 5 steps"),
        "{filter:?}"
    );
    let far = bench.run(&["impact", "A.M0", "--tests", "--depth", "10"]);
    assert_eq!(far.out, "changed: A#M0()\n7 a.cs:11 test T#Far()\n1 row, 1 test\n");
    let whole = bench.run(&["impact", "A.M0", "--depth", "7", "--json"]).json();
    assert_eq!(
        (&whole["state"]["complete"], &whole["beyond"]),
        (&true.into(), &0.into()),
        "{whole}"
    );
}
