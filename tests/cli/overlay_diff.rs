//! Differences of an overlay from the workspace, and the code that they reach.

use crate::bench::{Bench, git};
use crate::overlay::{FILE, FROM, json, ok, put, ran, read};
use serde_json::Value;
use std::fs;

#[test]
fn a_diff_says_what_would_be_stale_before_anything_is_saved() {
    let bench = Bench::documents();
    ok(&bench, &["build", "//docs/...", "//index:total"]);
    ok(&bench, &["overlay", "open", "o"]);
    assert_eq!(put(&bench, "o", "docs/a.md", b"one two three four\n").code, 0);
    insta::assert_snapshot!(bench.run(&["overlay", "diff", "o", "--targets", "//index:total"]).all(), @"
    exit 0
    changed docs/a.md
    --- a/docs/a.md
    +++ b/docs/a.md
    @@ -1 +1 @@
    -one two three
    +one two three four
    1 target: 1 may be out of date
      will run //docs/docs/a.md:words
      may run  1 more
    ");
    assert_eq!(
        ran(&bench, &["build", "//docs/...", "//index:total"]),
        0,
        "nothing was run or saved"
    );
    insta::assert_snapshot!(bench.run(&["overlay", "build", "o", "//index:total"]).all(), @"
    exit 0
    1 target in overlay o: 2 ran
    ");
    let (_, told) = json(&bench, &["overlay", "diff", "o", "--targets", "//index:total"]);
    assert_eq!(
        (&told["targets"]["willRun"], &told["targets"]["mayRun"]),
        (&Value::from(Vec::<Value>::new()), &Value::from(0))
    );
    // Edits of the workspace and those of the overlay are distinguished.
    bench.write("docs/b.md", "six\n");
    bench.write("docs/a.md", "other\n");
    let (_, told) = json(&bench, &["overlay", "diff", "o", "--targets"]);
    assert_eq!(told["documents"][0]["file"], "conflict");
    let figure = |name: &str| told["targets"][name].as_u64().expect("a figure");
    assert!(figure("stale") >= figure("staleWithout") && figure("staleWithout") > 1, "{told}");
    insta::assert_snapshot!(bench.run(&["overlay", "list"]).all(), @"
    exit 0
    o  until WHEN WHEN UTC
      changed docs/a.md; the file changed in the workspace since, and a merge conflicts
    ");
    insta::assert_snapshot!(bench.run(&["overlay", "merge", "o"]).all(), @"
    exit 1
    docs/a.md:1: both sides changed these lines
      base 1
        one two three
      overlay 1
        one two three four
      workspace 1
        other
    nothing was written: 1 conflict; put documents that have both sides with --onto-now (ontoNow), or remove them with --drop (drop), and merge again
    ");
    assert_eq!(read(&bench, "docs/a.md"), "other\n");
}

#[test]
fn diffs_of_overlays_are_those_of_git() {
    let bench = Bench::documents();
    ok(&bench, &["overlay", "open", "first"]);
    git(&bench.root(), &["init", "-q"]);
    // Git ignores the files of cortex.
    let status = bench.shell("git status --short --untracked-files=all | grep cortex/ | cat");
    assert_eq!(status.out, "");
    let marked = "\u{feff}one\r\ntwo\r\n";
    for (before, after) in [
        (marked, "\u{feff}ONE\r\ntwo\r\n"),
        (marked, "one\r\ntwo\r\n"),
        ("one\ntwo\n", "\u{feff}one\ntwo\n"),
        ("one\ntwo", "\u{feff}one\n2"),
        ("m\rn\ro\n", "m\rN\ro\n"),
        ("a\n\u{c}b\nc\n", "a\n\u{c}b\nC\n"),
    ] {
        bench.write("docs/m.md", before);
        ok(&bench, &["overlay", "open", "o"]);
        put(&bench, "o", "docs/m.md", after.as_bytes());
        let diff = json(&bench, &["overlay", "diff", "o"]).1["diff"]
            .as_str()
            .expect("a diff")
            .to_owned();
        fs::write(bench.root().join("../x.patch"), &diff).expect("file");
        git(&bench.root(), &["apply", "../x.patch"]);
        assert_eq!(read(&bench, "docs/m.md"), after, "{diff}");
        bench.write("docs/m.md", before);
        ok(&bench, &["overlay", "discard", "o"]);
        if before.starts_with("m\r") {
            // Git treats these as one line; cortex's patches distinguish them.
            continue;
        }
        ok(&bench, &["overlay", "open", "o"]);
        let applied = ok(&bench, &["overlay", "apply", "o", "../x.patch"]);
        assert_eq!(applied, "patched docs/m.md\n", "{diff}");
        ok(&bench, &["overlay", "merge", "o"]);
        assert_eq!(read(&bench, "docs/m.md"), after, "{diff}");
    }
    // An added empty file, a deleted one, and a quoted name.
    bench.write("docs/gone.md", "");
    ok(&bench, &["overlay", "open", "o"]);
    put(&bench, "o", "docs/new.md", b"");
    put(&bench, "o", "docs/back\\slash.md", b"x\n");
    ok(&bench, &["overlay", "put", "o", "docs/gone.md", "--delete"]);
    let diff = json(&bench, &["overlay", "diff", "o"]).1["diff"]
        .as_str()
        .expect("a diff")
        .to_owned();
    fs::write(bench.root().join("../x.patch"), &diff).expect("file");
    ok(&bench, &["overlay", "discard", "o"]);
    git(&bench.root(), &["apply", "../x.patch"]);
    let now = ["new.md", "gone.md", "back\\slash.md"].map(|name| bench.root().join("docs").join(name).exists());
    assert_eq!(now, [true, false, true], "{diff}");
    bench.write("docs/m.md", "one\n");
    ok(&bench, &["overlay", "open", "o"]);
    put(&bench, "o", "docs/m.md", &[0xff, 0xfe, b'1', 0, b'\n', 0]);
    let actual = ok(&bench, &["overlay", "diff", "o"]);
    assert!(
        actual.contains("docs/m.md: it was UTF-8, and is UTF-16LE\n--- a/docs/m.md\n"),
        "{actual}"
    );
}

#[test]
fn impact_of_an_overlay_is_that_of_what_differs_in_it() {
    let bench = Bench::memotree();
    bench.write(
        "src/MemoTree.Core/Alpha.cs",
        "class Alpha { public int One() => 1; public int Two() => One(); }\n",
    );
    bench.write(
        "src/MemoTree.Core/Beta.cs",
        "class Beta { public int Three(Alpha a) => a.Two(); public int Four(Alpha a) => a.One(); }\n",
    );
    let none = bench.run(&["impact"]);
    assert!(none.code == 2 && none.err.contains("'symbol' is missing"), "{none:?}");
    assert_eq!(bench.run(&["overlay", "open", "try"]).code, 0);
    let same = bench.run(&["impact", "--overlay", "try"]);
    assert!(
        same.code == 0 && same.out.contains("no member differs from the workspace"),
        "{same:?}"
    );
    let text = "class Alpha { public int One() => 1;\n public int Two() => One() + 1; }\n";
    let new = bench.beside("new.cs");
    fs::write(&new, text).expect("written");
    let new = new.to_string_lossy().into_owned();
    assert_eq!(
        bench
            .run(&["overlay", "put", "try", "src/MemoTree.Core/Alpha.cs", "--from", &new])
            .code,
        0
    );
    let reach = bench.run(&["impact", "--overlay", "try", "--json"]).json();
    assert_eq!(reach["changed"], serde_json::json!(["Alpha#One()", "Alpha#Two()"]), "{reach}");
    let edit = ["edit", "open", "src/MemoTree.Core/Beta.cs", "--json"];
    let session = bench.run(&edit).json()["session"].as_str().expect("a handle").to_owned();
    let four = [
        "edit", "replace", "--session", &session, "--old-text", "Four(Alpha a)", "--new-text", "Four(Alpha b, Alpha a)",
    ];
    assert_eq!(bench.run(&four).code, 0);
    let reach = bench.run(&["impact", "--overlay", &session, "--json"]).json();
    assert_eq!(
        reach["changed"],
        serde_json::json!(["Beta#Four(Alpha,Alpha)", "Beta#Three(Alpha)"]),
        "{reach}"
    );
    let text = bench.run(&["impact", "--overlay", &session]).out;
    assert!(
        text.contains("note: 1 declaration no longer exists: Beta#Four(Alpha); no code was found that still names it"),
        "{text}"
    );
}

#[test]
fn targets_are_counted_by_whatever_name_they_have() {
    let bench = Bench::memotree();
    ran(&bench, &["build", "//types/...:outline"]);
    ok(&bench, &["outline", "NodeStore#*"]);
    ok(&bench, &["overlay", "open", "o"]);
    let edited = read(&bench, FILE).replace(FROM, "No");
    assert_eq!(put(&bench, "o", FILE, edited.as_bytes()).code, 0);
    let stale = |pattern: &str| {
        let actual = json(&bench, &["overlay", "diff", "o", "--targets", pattern]).1["targets"].clone();
        let figure = |name: &str| actual[name].as_u64().expect("a figure");
        (figure("asked"), figure("stale"))
    };
    assert_eq!(stale("//types/NodeStore:outline"), (1, 1));
    let (asked, all) = stale("//types/...:outline");
    assert!(asked >= all && all > 1, "{all} of {asked}");
}
