//! Answers to "why": the log of builds, differences between builds, earlier contents of files, profiles and events.

use crate::bench::{Bench, git};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Masks commits, which differ from run to run.
fn plain(text: &str) -> String {
    let commit = |word: &str| word.len() == 10 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) && word != "WHEN";
    let words = text.split_inclusive([' ', '\n']).map(|piece| {
        let word = piece.trim_end();
        if commit(word) {
            piece.replace(word, "COMMIT")
        } else {
            piece.to_owned()
        }
    });
    words.collect()
}

/// Returns documents in a git checkout that ignores cortex's files.
fn checkout() -> Bench {
    let bench = Bench::documents();
    bench.write(".gitignore", ".cortex/\n");
    git(&bench.root(), &["init"]);
    git(&bench.root(), &["add", "."]);
    git(&bench.root(), &["commit", "-m", "one"]);
    bench
}

#[test]
fn builds_are_listed_with_their_commit() {
    let bench = checkout();
    insta::assert_snapshot!(bench.run(&["log"]).all(), @r"
    exit 0
    no build of this checkout has run anything yet
    ");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0, "nothing to do, and not listed");
    bench.write("docs/a.md", "uno due\n");
    assert_eq!(bench.run(&["build", "//index:total", "//docs/..."]).code, 0);
    assert_eq!(bench.run(&["build", "//index:broken"]).code, 1);
    insta::assert_snapshot!(plain(&bench.run(&["log"]).all()), @r"
    exit 0
        3  WHEN WHEN UTC  failed  build //index:broken
           1 target: 1 failed (TIME); at COMMIT with changes
        2  WHEN WHEN UTC  ok  build //index:total //docs/...
           3 targets: 2 ran (TIME); at COMMIT with changes
        1  WHEN WHEN UTC  ok  build //index:total
           1 target: 3 ran (TIME); at COMMIT
    ");
    assert_eq!(bench.run(&["log", "-n", "1"]).out.lines().count(), 2);
    let builds = bench.run(&["log", "--json"]).json();
    let first = &builds["builds"][0];
    assert_eq!(
        (&first["dirty"], &first["outcome"], &first["counts"]["ran"]),
        (&false.into(), &"ok".into(), &3.into()),
        "{first}"
    );
    let producer = &first["producers"][0];
    assert_eq!((&producer["uses"], &producer["ran"]), (&"command".into(), &3.into()), "{first}");
    assert_eq!(first["slowest"].as_array().map(Vec::len), Some(3), "{first}");

    let history = plain(&bench.run(&["history", "//index:total"]).all());
    assert!(history.contains("build 2 at COMMIT with changes, command@4"), "{history}");
    let versions = bench.run(&["history", "--json", "//index:total"]).json();
    let of = |at: usize| (versions["versions"][at]["build"].clone(), versions["versions"][at]["dirty"].clone());
    assert_eq!((of(0), of(1)), ((1.into(), false.into()), (2.into(), true.into())), "{versions}");
}

#[test]
fn two_builds_differ_by_their_files() {
    let bench = checkout();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    bench.write("docs/a.md", "one two three four\n");
    bench.write("docs/c.md", "six\n");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    insta::assert_snapshot!(bench.run(&["explain", "--diff", "1", "2"]).all(), @r"
    exit 0
    build 1  WHEN WHEN UTC  build //index:total
    build 2  WHEN WHEN UTC  build //index:total
    3 outputs differ, 1 new

    docs/a.md changed (DIGEST → DIGEST)
      //docs/docs/a.md:words DIGEST → DIGEST
      //index:total DIGEST → DIGEST
    @@ -1 +1 @@
    -one two three
    +one two three four

    docs/c.md was not read before
      //docs/docs/c.md:words nothing → DIGEST
      //index:total DIGEST → DIGEST
    ");
    let json = bench.run(&["explain", "--diff", "2", "1", "--json"]).json();
    assert_eq!(json["changed"], 3, "{json}");
    assert_eq!(
        json["causes"][0]["diff"], "@@ -1 +1 @@\n-one two three four\n+one two three\n",
        "{json}"
    );
    let same = bench.run(&["explain", "--diff", "2", "2"]);
    assert!(same.out.contains("0 outputs differ"), "{same:?}");
    insta::assert_snapshot!(bench.run(&["explain", "--diff", "1", "7"]).all(), @r"
    exit 2
    error[E_NO_BUILD]: the log has no build 7
      help: `cortex log` lists what there is
    ");
    assert_eq!(bench.run(&["explain", "--diff", "1"]).code, 2);
    assert_eq!(bench.run(&["explain"]).code, 2);
}

/// A new target also reads older inputs; they are not the reason for it.
#[test]
fn a_new_target_is_explained_by_its_new_file() {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    let shared = "inputs = { text = \"//files/{doc}:bytes\", style = \"//files/style.txt:bytes\" }";
    bench.write(
        "cortex.toml",
        &manifest.replace("inputs = { text = \"//files/{doc}:bytes\" }", shared),
    );
    bench.write("style.txt", "plain\n");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    bench.write("docs/c.md", "six\n");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    insta::assert_snapshot!(bench.run(&["explain", "--diff", "1", "2"]).all(), @r"
    exit 0
    build 1  WHEN WHEN UTC  build //index:total
    build 2  WHEN WHEN UTC  build //index:total
    2 outputs differ, 1 new

    docs/c.md was not read before
      //docs/docs/c.md:words nothing → DIGEST
      //index:total DIGEST → DIGEST
    ");
    std::fs::remove_file(bench.root().join("docs/c.md")).expect("removed");
    bench.write("style.txt", "bold\n");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let json = bench.run(&["explain", "--diff", "2", "3", "--json"]).json();
    let causes: Vec<_> = json["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|cause| (&cause["path"], &cause["to"]))
        .collect();
    assert_eq!(causes, [(&"docs/c.md".into(), &Value::Null)], "{json}");
}

/// Versions missing from History cannot be compared; the count is then marked as incomplete.
#[test]
fn versions_missing_from_history_are_reported_as_not_counted() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    for round in 1..=17 {
        bench.write("docs/a.md", &"word ".repeat(round + 3));
        assert_eq!(bench.run(&["build", "//docs/docs/a.md:words"]).code, 0);
    }
    bench.write("docs/b.md", "four five six\n");
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    let stdout = bench.run(&["explain", "--diff", "1", "19"]).out;
    assert!(stdout.contains("\nat least 1 output differs\n"), "{stdout}");
    assert!(
        stdout.ends_with("\nnot counted: 1 more, because History no longer has their results of that time\n"),
        "{stdout}"
    );
}

/// A failure is not an output, and is reported beside the differences. Of the targets deleted since, the log names the first.
#[test]
fn differences_say_what_failed_and_what_they_cannot_look_at() {
    let bench = Bench::documents();
    for n in 0..300 {
        bench.write(&format!("docs/n{n}.md"), "one\n");
    }
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    bench.write("docs/a.md", "uno\n");
    assert_eq!(bench.run(&["build", "//index:total", "//index:broken"]).code, 1);
    insta::assert_snapshot!(bench.run(&["explain", "--diff", "1", "2"]).all(), @r"
    exit 0
    build 1  WHEN WHEN UTC  build //index:total
    build 2  WHEN WHEN UTC  build //index:total //index:broken
      failed //index:broken E_COMMAND: 'sh' failed: exit status: 3
    2 outputs differ

    docs/a.md changed (DIGEST → DIGEST)
      //docs/docs/a.md:words DIGEST → DIGEST
      //index:total DIGEST → DIGEST
    ");
    for n in 0..300 {
        std::fs::remove_file(bench.root().join(format!("docs/n{n}.md"))).expect("removed");
    }
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let stdout = bench.run(&["explain", "--diff", "1", "2"]).out;
    assert!(stdout.contains("\nat least 2 outputs differ\n"), "{stdout}");
    let unnamed = "\nnot compared: 44 targets removed by later builds, because the log does not name them\n";
    assert!(stdout.ends_with(unnamed), "{stdout}");
    let json = bench.run(&["explain", "--diff", "1", "2", "--json"]).json();
    let counts = (&json["unnamed"], &json["unnamed_since"], &json["to"]["failures"][0]["code"]);
    assert_eq!(counts, (&0.into(), &44.into(), &"E_COMMAND".into()), "{json}");
}

/// A deleted target has no node; History has its output, and the log the build that removed it.
#[test]
fn targets_that_are_gone_are_named() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    std::fs::remove_file(bench.root().join("docs/b.md")).expect("removed");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let log = bench.run(&["log", "--json"]).json();
    let gone = serde_json::json!({"count": 1, "labels": ["//docs/docs/b.md:words"]});
    assert_eq!(log["builds"][1]["gone"], gone, "{log}");
    assert!(bench.run(&["log"]).out.contains(", 1 gone ("));
    insta::assert_snapshot!(bench.run(&["explain", "--diff", "1", "2"]).all(), @r"
    exit 0
    build 1  WHEN WHEN UTC  build //index:total
    build 2  WHEN WHEN UTC  build //index:total
    2 outputs differ, 1 gone

    docs/b.md is no longer read
      //docs/docs/b.md:words DIGEST → nothing
      //index:total DIGEST → DIGEST
    ");
    let json = bench.run(&["explain", "--diff", "2", "1", "--json"]).json();
    assert_eq!(
        (&json["new"], &json["gone"], &json["unnamed"]),
        (&1.into(), &0.into(), &0.into()),
        "{json}"
    );
    // It is restored unchanged, under the same key.
    bench.write("docs/b.md", "four five\n");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let back = bench.run(&["explain", "--diff", "1", "3"]);
    assert!(back.out.contains("0 outputs differ\n"), "{back:?}");
    let back = bench.run(&["explain", "--diff", "2", "3"]);
    assert!(back.out.contains("2 outputs differ, 1 new\n"), "{back:?}");
}

#[test]
fn explanations_show_the_lines_of_the_file() {
    let bench = checkout();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    bench.write("docs/a.md", "uno due tre quattro\n");
    let stale = bench.run(&["explain", "//index:total"]).all();
    let lines = "  diff       docs/a.md\n             @@ -1 +1 @@\n             -one two three\n             +uno due tre quattro\n";
    assert!(stale.contains(lines), "{stale}");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let ran = bench.run(&["explain", "//index:total"]).all();
    assert!(ran.contains(lines) && ran.contains("last ran"), "{ran}");
    let json = bench.run(&["explain", "--json", "//index:total"]).json();
    assert_eq!(json["file"]["path"], "docs/a.md", "{json}");

    // Reverted: the result is found, and explain says so.
    bench.write("docs/a.md", "one two three\n");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let found = bench.run(&["explain", "//docs/docs/a.md:words"]).all();
    assert!(found.contains("found      by build 3, WHEN WHEN UTC, under its key"), "{found}");
    let json = bench.run(&["explain", "--json", "//index:total"]).json();
    assert_eq!(json["found"]["build"], 3, "{json}");
}

#[test]
fn a_profile_is_a_trace_with_lanes_and_a_critical_path() {
    let bench = Bench::documents();
    let file = bench.beside("trace.json");
    let file = file.to_string_lossy();
    assert_eq!(bench.run(&["build", "//index:total", "--profile", &file]).code, 0);
    let text = std::fs::read_to_string(&*file).expect("the profile");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let lanes: BTreeMap<u64, &str> = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| {
            (
                event["tid"].as_u64().expect("a lane"),
                event["args"]["name"].as_str().expect("a name"),
            )
        })
        .collect();
    assert_eq!((lanes[&1], lanes[&2]), ("phases", "critical path"));
    let slices: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    let number = |event: &Value, field: &str| event[field].as_u64().expect("a number");
    // Within a lane, slices are disjoint or nested.
    for (at, one) in slices.iter().enumerate() {
        assert!(lanes.contains_key(&number(one, "tid")), "{one}");
        for other in slices[at + 1..].iter().filter(|other| other["tid"] == one["tid"]) {
            let (a, b) = (number(one, "ts"), number(one, "ts") + number(one, "dur"));
            let (c, d) = (number(other, "ts"), number(other, "ts") + number(other, "dur"));
            assert!(b <= c || d <= a || (a <= c && d <= b) || (c <= a && b <= d), "{one} {other}");
        }
    }
    let names = |lane: u64| -> Vec<&str> {
        let of = slices.iter().filter(|slice| number(slice, "tid") == lane);
        of.map(|slice| slice["name"].as_str().expect("a name")).collect()
    };
    assert_eq!(names(1), ["look", "load", "plan", "make", "lay out", "commit"]);
    assert_eq!(names(2).last(), Some(&"//index:total"), "what ended last ends the path");
    let critical: Vec<u64> = slices
        .iter()
        .filter(|slice| number(slice, "tid") == 2)
        .map(|slice| number(slice, "ts"))
        .collect();
    assert!(critical.is_sorted() && critical.len() >= 2, "{critical:?}");
    let made = |event: &&&Value| event["cat"].as_str().is_some_and(|cat| cat.starts_with("produce")) && number(event, "tid") > 2;
    let made: BTreeSet<&str> = slices
        .iter()
        .filter(made)
        .map(|slice| slice["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(made, ["//docs/docs/a.md:words", "//docs/docs/b.md:words", "//index:total"].into());
    assert_eq!(events.iter().filter(|event| event["ph"] == "s").count(), critical.len() - 1);

    // A build with nothing to do has a profile, too; an unwritable path is reported.
    assert_eq!(bench.run(&["build", "//index:total", "--profile", &file]).code, 0);
    let nowhere = bench.run(&["build", "//index:total", "--profile", "no/such/folder/trace.json"]);
    assert!(nowhere.code == 5 && nowhere.err.contains("E_WRITE"), "{nowhere:?}");
}

#[test]
fn drawings_are_for_queries() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["--output", "mermaid", "query", "deps(//docs/docs/a.md:words)"]).out, @r#"
    flowchart LR
      n0["//docs/docs/a.md:words"]
      n1["//files/docs/a.md:bytes"]
      n0 --> n1
    "#);
    insta::assert_snapshot!(bench.run(&["--output", "dot", "status"]).all(), @r"
    exit 2
    error[E_USAGE]: only answers of `cortex query` can be drawn with --output dot or mermaid
      help: use --output text or --output json
    ");
}

#[test]
fn questions_about_attributes_and_staleness() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    bench.write("docs/a.md", "uno\n");
    let lines = |query: &str| -> Vec<String> {
        let run = bench.run(&["query", query]);
        assert_eq!(run.code, 0, "{run:?}");
        run.out.lines().map(str::to_owned).collect()
    };
    assert_eq!(lines("stale(deps(//index:total))"), ["//docs/docs/a.md:words", "//index:total"]);
    assert_eq!(lines("attr(producer, ^join$, //...)"), ["//index:total"]);
    assert_eq!(lines("attr(param.argv, exit, //...)"), ["//index:broken"]);
    assert_eq!(lines("attr(var.doc, '^docs/b', //...)"), ["//docs/docs/b.md:words"]);
    assert_eq!(
        lines("attr(out, total, //...) + attr(rule, doc, filter(b.md, //...))"),
        ["//docs/docs/b.md:words", "//index:total"]
    );
    assert_eq!(lines("attr(paid, true, //...)"), Vec::<String>::new());
    assert_eq!(lines("attr(version, '^command@4$', //...)").len(), 4);
    assert_eq!(lines("kind('^sou', deps(//index:total))").len(), 3);
    assert_eq!(
        lines("let a = //files/docs/a.md:bytes in allpaths(//index:total, $a)"),
        ["//docs/docs/a.md:words", "//files/docs/a.md:bytes", "//index:total"]
    );
    // Without a universe, the broken target reads it, too; within the other's universe it does not.
    assert_eq!(
        lines("rdeps(//index:total, //files/docs/a.md:bytes, 1)"),
        ["//docs/docs/a.md:words", "//files/docs/a.md:bytes"]
    );
    // An empty answer is an answer, and is reported as such.
    let nothing = "exit 0\nnote[N_EMPTY]: nothing answers the query\n";
    assert_eq!(bench.run(&["query", "attr(paid, true, //...)"]).all(), nothing);
    let no_way = "exit 0\nnote[N_EMPTY]: there is no way from the one to the other\n";
    for query in [
        "somepath(//docs/docs/a.md:words, //index:total)",
        "let a = //docs/docs/a.md:words in allpaths($a, //docs/docs/b.md:words)",
    ] {
        assert_eq!(bench.run(&["query", query]).all(), no_way);
    }
    let json = bench.run(&["--output", "json", "query", "somepath(//docs/docs/a.md:words, //index:total)"]);
    assert_eq!((json.code, &json.json()["nodes"]), (0, &serde_json::json!([])), "{json:?}");
    assert!(json.err.contains("N_EMPTY"), "{json:?}");
    assert_eq!(bench.run(&["query", "somepath(//index:total, //docs/docs/a.md:words)"]).err, "");
    insta::assert_snapshot!(bench.run(&["query", "attr(produser, x, //...)"]).all(), @r"
    exit 2
    error[E_QUERY] query:1:6: there is no attribute 'produser'
       |
     1 | attr(produser, x, //...)
       |      ^^^^^^^^
      help: did you mean producer?
    ");
}

#[test]
fn a_collected_result_is_not_explained_as_a_change_of_parameters() {
    let bench = Bench::memotree();
    let label = "//types/NodeStore:semantic";
    bench.run(&["build", label]);
    let path = "src/MemoTree.Core/NodeStore.cs";
    let text = std::fs::read_to_string(bench.root().join(path)).expect("file");
    bench.write(path, &text.replace("Nodes cannot be moved yet", "Moving is for later"));
    bench.run(&["build", label]);
    assert!(
        bench.run(&["explain", label]).out.contains("last ran   impl "),
        "{:?}",
        bench.run(&["explain", label])
    );
    bench.run(&["gc", "--older-than", "0", "--keep-versions", "1"]);
    let after = bench.run(&["explain", label]);
    assert!(
        after.out.contains("last ran   against a result that is not in this store"),
        "{after:?}"
    );
    let stdout = bench.run(&["diff", label, "1", "2"]).out;
    let output = "the output of version 1 (WHEN WHEN UTC, collected) is no longer in the store, so the two cannot be compared\n";
    let record = "\nwhat version 1 (WHEN WHEN UTC, collected) had as inputs is no longer recorded\n";
    assert_eq!(stdout, format!("{output}{record}"));
}

/// The inputs of a collected result are unknown: parameters, rules and files are not reported.
#[test]
fn differences_say_what_was_collected() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    bench.write("docs/a.md", "uno due\n");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    assert_eq!(bench.run(&["gc", "--older-than", "0", "--keep-versions", "1"]).code, 0);
    insta::assert_snapshot!(bench.run(&["explain", "--diff", "1", "2"]).all(), @r"
    exit 0
    build 1  WHEN WHEN UTC  build //index:total
    build 2  WHEN WHEN UTC  build //index:total
    2 outputs differ, 2 collected

    the results were evicted: their inputs are no longer known
      //docs/docs/a.md:words DIGEST → DIGEST
      //index:total DIGEST → DIGEST
    ");
    std::fs::remove_file(bench.root().join("docs/b.md")).expect("removed");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    assert_eq!(bench.run(&["gc", "--older-than", "0", "--keep-versions", "0"]).code, 0);
    insta::assert_snapshot!(bench.run(&["explain", "--diff", "2", "3"]).all(), @r"
    exit 0
    build 2  WHEN WHEN UTC  build //index:total
    build 3  WHEN WHEN UTC  build //index:total
    at least 1 output differs, 1 collected

    the results were evicted: their inputs are no longer known
      //index:total DIGEST → DIGEST

    not counted: 1 more, because History no longer has their results of that time
    ");
    let json = bench.run(&["explain", "--diff", "2", "3", "--json"]).json();
    assert_eq!(
        (&json["collected"], &json["causes"][0]["cause"]),
        (&1.into(), &"collected".into()),
        "{json}"
    );
}

/// Files with equal bytes share one result, whose record names the first of them.
#[test]
fn a_renamed_file_went_and_another_came() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let path = |name: &str| bench.root().join("docs").join(name);
    std::fs::rename(path("b.md"), path("c.md")).expect("renamed");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    insta::assert_snapshot!(bench.run(&["explain", "--diff", "1", "2"]).all(), @r"
    exit 0
    build 1  WHEN WHEN UTC  build //index:total
    build 2  WHEN WHEN UTC  build //index:total
    2 outputs differ, 1 new, 1 gone

    docs/b.md is no longer read
      //docs/docs/b.md:words DIGEST → nothing

    docs/c.md was not read before
      //docs/docs/c.md:words nothing → DIGEST
    ");
    std::fs::remove_file(path("c.md")).expect("removed");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let gone = bench.run(&["explain", "//docs/docs/c.md:words"]).err;
    assert!(
        gone.contains("is gone since build 3, WHEN WHEN UTC: docs/c.md was removed\n"),
        "{gone}"
    );
}

/// Returns the answer of `explain` about a deleted target.
fn gone(bench: &Bench, label: &str) -> String {
    let ran = bench.run(&["explain", label]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let line = ran.err.lines().find(|line| line.contains("N_GONE")).unwrap_or_default();
    line.rsplit_once(" UTC").map(|(_, why)| why.to_owned()).unwrap_or(ran.err.clone())
}

#[test]
fn a_file_that_is_still_there_was_not_removed() {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    let (label, build) = ("//docs/docs/b.md:words", || {
        assert_eq!(bench.run(&["build", "//index:total"]).code, 0)
    });
    build();
    bench.write("cortex.toml", &manifest.replace("docs/*.md", "docs/a*.md"));
    build();
    assert_eq!(gone(&bench, label), ": docs/b.md is no longer read");
    bench.write("cortex.toml", &manifest);
    build();
    bench.write(".gitignore", "b.md\n");
    build();
    assert_eq!(gone(&bench, label), ": docs/b.md is no longer read");
    std::fs::remove_file(bench.root().join(".gitignore")).expect("removed");
    build();
    // Without its rule, while another target reads the file.
    let (head, rest) = manifest.split_once("[[rule]]\ntarget = \"//docs/").expect("a rule");
    let (_, rest) = rest.split_once("[[rule]]").expect("another rule");
    let without = format!("{head}[[rule]]{rest}").replace("//docs/{item}:words", "//files/{item}:bytes");
    bench.write("cortex.toml", &without);
    build();
    assert_eq!(gone(&bench, label), ": no rule declares it (cortex.toml changed)");
    std::fs::remove_file(bench.root().join("docs/b.md")).expect("removed");
    build();
    let both = ": docs/b.md was removed; no rule declares it (cortex.toml changed)";
    assert_eq!(gone(&bench, label), both);
}

#[test]
fn a_pack_is_gone_from_where_packs_are_declared() {
    let bench = Bench::memotree();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    bench.write("cortex.toml", &format!("{manifest}\n[pack.gone]\nfilter = \"type:NodeStore\"\n"));
    let label = "//packs/gone:selection";
    assert_eq!(bench.run(&["build", label]).code, 0);
    bench.write("cortex.toml", &manifest);
    let path = "src/MemoTree.Core/NodeStore.cs";
    let text = std::fs::read_to_string(bench.root().join(path)).expect("file");
    bench.write(path, &text.replace("class NodeStore", "class NodeShelf"));
    assert_eq!(bench.run(&["build", "//packs/..."]).code, 0);
    assert_eq!(
        gone(&bench, label),
        ": no rule declares it (cortex.toml or .cortex/packs.toml changed)"
    );
}

#[test]
fn a_failure_after_a_change_of_its_rule_counts_as_requested() {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    let label = "//docs/docs/a.md:words";
    assert_eq!(bench.run(&["build", label]).code, 0);
    bench.write("cortex.toml", &manifest.replace("\"wc\", \"-w\"", "\"false\""));
    assert_eq!(bench.run(&["build", label]).code, 1);
    let moved = "  because    //docs/docs/a.md:words: parameter argv of producer count: [\"wc\",\"-w\",\"{in.text}\"] → [\"false\",\"{in.text}\"]\n";
    let failed =
        "//docs/docs/a.md:words: its parameters or its rule changed before the last build that requested it, which failed to build it\n";
    let stdout = bench.run(&["explain", label]).out;
    assert!(stdout.contains(moved) && stdout.contains(failed), "{stdout}");
    assert!(!stdout.contains("did not ask"), "{stdout}");
    let json = bench.run(&["explain", "--json", label]).json();
    let (step, last) = (&json["chain"][0], &json["chain"][0]["redefined"][1]["redefined"]);
    assert_eq!(
        (&step["reason"]["reason"], last),
        (&"definition_changed".into(), &"failed".into()),
        "{json}"
    );
    // The answer is the same after an irrelevant change.
    bench.write(
        "cortex.toml",
        &manifest
            .replace("\"wc\", \"-w\"", "\"false\"")
            .replace("[workspace]", "# one\n[workspace]"),
    );
    let stdout = bench.run(&["explain", label]).out;
    assert!(stdout.contains(moved) && stdout.contains(failed), "{stdout}");
    // After a second change, the rule of the last output is unknown.
    bench.write("cortex.toml", &manifest.replace("\"wc\", \"-w\"", "\"false\", \"-x\""));
    assert_eq!(bench.run(&["build", label]).code, 1);
    let stdout = bench.run(&["explain", label]).out;
    assert!(stdout.contains(&format!("  because    {failed}")), "{stdout}");
}
