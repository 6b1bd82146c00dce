//! Read-only commands execute nothing: query, explain, status.

use crate::bench::Bench;

#[test]
fn a_workspace_never_built_is_answered_as_far_as_it_is_known() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["query", "deps(//index:total)"]).all(), @"
    exit 0
    //docs/docs/a.md:words
    //docs/docs/b.md:words
    //files/docs/a.md:bytes
    //files/docs/b.md:bytes
    //globs/docs|%2A.md:files
    //index:total
    ");
    insta::assert_snapshot!(bench.run(&["explain", "//docs/docs/a.md:words"]).all(), @r#"
    exit 0
    //docs/docs/a.md:words never built here
      next       cortex build '//docs/docs/a.md:words'
      param      argv = ["wc","-w","{in.text}"]
      inputs     text DIGEST //files/docs/a.md:bytes
    "#);
    assert_eq!(bench.run(&["status"]).code, 0);
    let run = bench.run(&["build", "//docs/...", "--output", "json"]).json();
    assert_eq!(run["tally"]["ran"], 2, "looking ran nothing");

    let code = Bench::memotree();
    insta::assert_snapshot!(code.run(&["query", "//types/...:outline"]).all(), @"
    exit 0
    note[N_UNKNOWN_SET]: the set //index:types has no output, so its targets are not known
      help: `cortex build //...` makes it known; `cortex explain` says what it needs
    ");
    assert_eq!(
        code.run(&["query", "//files/...:names"]).out.lines().count(),
        code.run(&["query", "//files/...:bytes ^ deps(//files/...:names)"])
            .out
            .lines()
            // The declarations of a file depend on its project's files, too.
            .filter(|line| line.ends_with(".cs:bytes"))
            .count()
    );
}

#[test]
fn query_forms() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["query", "//docs/... + //index:total - //docs/docs/b.md:words"]).out, @"
    //docs/docs/a.md:words
    //index:total
    ");
    insta::assert_snapshot!(bench.run(&["query", "rdeps(//files/docs/a.md:bytes, 1)"]).out, @"
    //docs/docs/a.md:words
    //files/docs/a.md:bytes
    //index:broken
    ");
    insta::assert_snapshot!(bench.run(&["query", "somepath(//index:total, //files/docs/b.md:bytes)"]).out, @"
    //index:total
    //docs/docs/b.md:words
    //files/docs/b.md:bytes
    ");
    insta::assert_snapshot!(bench.run(&["query", "kind(sou*, deps(//index:total))"]).out, @"
    //files/docs/a.md:bytes
    //files/docs/b.md:bytes
    //globs/docs|%2A.md:files
    ");
    insta::assert_snapshot!(bench.run(&["query", "--output", "mermaid", "deps(//docs/docs/a.md:words)"]).out, @r#"
    flowchart LR
      n0["//docs/docs/a.md:words"]
      n1["//files/docs/a.md:bytes"]
      n0 --> n1
    "#);
    insta::assert_snapshot!(bench.run(&["query", "--output", "dot", "deps(//docs/docs/a.md:words)"]).out, @r#"
    digraph cortex {
      rankdir = LR;
      node [shape = box];
      "//docs/docs/a.md:words";
      "//files/docs/a.md:bytes";
      "//docs/docs/a.md:words" -> "//files/docs/a.md:bytes";
    }
    "#);
    let json = bench.run(&["--output", "json", "query", "deps(//index:total, 1)"]).json();
    assert_eq!(json["edges"].as_array().map(Vec::len), Some(3), "{json}");
}

#[test]
fn explanations_go_down_to_the_file() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    insta::assert_snapshot!(bench.run(&["explain", "//index:total"]).all(), @r#"
    exit 0
    //index:total current
      output     DIGEST, 14 bytes
      key        DIGEST
      made       WHEN WHEN UTC by command@4 in TIME, ran without a sandbox
      param      argv = ["cat","{in.words}"]
      inputs     words DIGEST //docs/docs/a.md:words
                 words DIGEST //docs/docs/b.md:words
      last ran   for the first time in this checkout
    "#);
    bench.write("docs/a.md", "uno due tre quattro\n");
    insta::assert_snapshot!(bench.run(&["explain", "//index:total"]).all(), @"
    exit 0
    //index:total maybe stale, depending on what it reads
      changed    words //docs/docs/a.md:words DIGEST → has to be built first
      because    //index:total: words DIGEST → has to be built first
                 //docs/docs/a.md:words: text DIGEST → DIGEST
                 //files/docs/a.md:bytes: docs/a.md changed (DIGEST → DIGEST)
      only if    the output of //docs/docs/a.md:words changes
      next       cortex build '//index:total'
      output     DIGEST, 14 bytes
      key        DIGEST
      made       WHEN WHEN UTC by command@4 in TIME, ran without a sandbox
      inputs     words to be built //docs/docs/a.md:words
                 words DIGEST //docs/docs/b.md:words
      last ran   for the first time in this checkout
    ");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    insta::assert_snapshot!(bench.run(&["explain", "//index:total"]).all(), @r#"
    exit 0
    //index:total current
      output     DIGEST, 14 bytes
      key        DIGEST
      made       WHEN WHEN UTC by command@4 in TIME, ran without a sandbox
      param      argv = ["cat","{in.words}"]
      inputs     words DIGEST //docs/docs/a.md:words
                 words DIGEST //docs/docs/b.md:words
      last ran   words //docs/docs/a.md:words DIGEST → DIGEST
      because    //files/docs/a.md:bytes DIGEST → DIGEST
      history    2 versions
    "#);
    let json = bench.run(&["explain", "--json", "//index:total"]).json();
    assert_eq!(
        (&json["state"], &json["last_moved"][0]["label"]),
        (&"current".into(), &"//docs/docs/a.md:words".into()),
        "{json}"
    );
}

#[test]
fn status_counts() {
    let bench = Bench::memotree();
    insta::assert_snapshot!(bench.run(&["status", "--no-store"]).all(), @"
    exit 0
    memotree TEMP/ws
      store     none
      sources   59 files, nothing built from them yet
      targets   none yet; build some: cortex build '//...'
    ");
    assert_eq!(bench.run(&["build", "//types/NodeStore:semantic", "//types/...:outline"]).code, 0);
    bench.write("src/MemoTree.Core/Extra.cs", "namespace MemoTree.Core; public class Extra { }\n");
    let json = bench.run(&["status", "--output", "json"]).json();
    assert_eq!(json["changed"], serde_json::json!(["src/MemoTree.Core/Extra.cs"]));
    let text = bench.run(&["status"]);
    assert!(
        text.out.contains("1 changed since the last build") && text.out.contains("summaries"),
        "{text:?}"
    );
    // Targets of a deleted file have not failed: the next build removes them.
    std::fs::remove_file(bench.root().join("src/MemoTree.Core/NodeStore.cs")).expect("removed");
    let json = bench.run(&["status", "--output", "json"]).json();
    let targets = json["targets"].as_object().expect("targets");
    assert!(targets.values().all(|counts| counts["pending"] == 0), "{json}");
    assert_eq!(
        (&json["targets"]["syntax"]["stale"], &json["failures"]),
        (&1.into(), &serde_json::json!([])),
        "{json}"
    );
}

#[test]
fn outlines_of_several_symbols() {
    let bench = Bench::memotree();
    let text = bench.run(&["outline", "NodeStore", "//types/MemoTree.Core.NodeId:outline"]);
    assert_eq!(text.code, 0, "{text:?}");
    assert!(
        text.out.starts_with("# MemoTree.Core.NodeStore ") && text.out.contains("\n\n# MemoTree.Core.NodeId "),
        "{}",
        text.out
    );
    let one = bench.run(&["outline", "--json", "NodeStore"]).json();
    assert_eq!(one["resolved"]["path"], "MemoTree.Core.NodeStore");
    assert!(
        one["outlineText"]
            .as_str()
            .is_some_and(|text| text.starts_with("# MemoTree.Core.NodeStore "))
    );
    assert_eq!(one.as_object().map(serde_json::Map::len), Some(3));
    assert_eq!(one["state"]["complete"], true);
    let two = bench.run(&["outline", "--json", "--data", "NodeStore", "NodeId"]).json();
    assert_eq!(two["more"][0]["data"]["fqn"], "MemoTree.Core.NodeId");
    let some = bench.run(&["outline", "Nope9", "NodeId"]);
    assert!(
        some.code == 2
            && some.out.starts_with("# MemoTree.Core.NodeId ")
            && some
                .out
                .contains("error[SymbolNotFound] Nope9: no type or member of this name is known"),
        "{some:?}"
    );
    let some = bench.run(&["outline", "--json", "Nope9", "NodeId"]).json();
    assert_eq!(
        (&some["failed"][0]["asked"], &some["state"]["complete"]),
        (&"Nope9".into(), &false.into()),
        "{some}"
    );
    let none = bench.run(&["outline", "Nope9", "Nope8"]);
    assert!(none.code == 2 && none.out.is_empty() && none.err.contains("Nope8"), "{none:?}");
    insta::assert_snapshot!(bench.run(&["outline", "NodeStroe"]).all(), @"
    exit 2
    error[SymbolNotFound]: no type or member of this name is known
      found: NodeStroe
      could be:
        MemoTree.Core.NodeStore
        MemoTree.Core.NodeTree
        MemoTree.Core.INodeStore
      help: did you mean MemoTree.Core.NodeStore?
    ");
}

#[test]
fn usages_of_types_and_members() {
    let bench = Bench::memotree();
    let inherited = bench.run(&["usages", "NodeStore.Get"]);
    assert_eq!(inherited.code, 0, "{inherited:?}");
    assert!(
        inherited
            .out
            .contains("src/MemoTree.Core/NodeStore.cs:71:16: get => Get(id).Content;"),
        "{}",
        inherited.out
    );
    let json = bench.run(&["usages", "--json", "NodeStore#Get"]).json();
    let through_interface = json["possible"]
        .as_array()
        .expect("an array")
        .iter()
        .any(|place| place["line"] == 60);
    assert!(through_interface, "{json}");
    let in_attribute = bench.run(&["usages", "Node#Parent"]);
    let line = "src/MemoTree.Core/Node.cs:35:38: [MemberNotNullWhen(false, nameof(Parent))]";
    assert!(in_attribute.out.contains(line), "{}", in_attribute.out);
    let unknown = bench.run(&["usages", "Nope"]);
    assert!(unknown.code == 2 && unknown.all().contains("SymbolNotFound"), "{unknown:?}");
    insta::assert_snapshot!(bench.run(&["usages", "NodeStore.Gte"]).all(), @"
    exit 2
    error[SymbolNotFound]: MemoTree.Core.NodeStore has no member of this name
      found: NodeStore.Gte
      could be:
        MemoTree.Core.NodeStore#Get(NodeId)
        MemoTree.Core.IRepository`2#Get(TKey)
      help: did you mean MemoTree.Core.NodeStore#Get(NodeId)?
    ");
    insta::assert_snapshot!(bench.run(&["usages", "NodeStore#Gte(System.Int32)"]).all(), @"
    exit 2
    error[SymbolNotFound]: MemoTree.Core.NodeStore has no member of this name
      found: NodeStore#Gte(System.Int32)
      could be:
        MemoTree.Core.NodeStore#Get(NodeId)
        MemoTree.Core.IRepository`2#Get(TKey)
      help: did you mean MemoTree.Core.NodeStore#Get(NodeId)?
    ");
    insta::assert_snapshot!(bench.run(&["usages", "NodeStore.Qqqqqqqqqqqq"]).all(), @"
    exit 2
    error[SymbolNotFound]: MemoTree.Core.NodeStore has no member of this name
      found: NodeStore.Qqqqqqqqqqqq
      help: `cortex outline MemoTree.Core.NodeStore` lists its members
    ");
    // A member without uses is not an error.
    assert_eq!(bench.run(&["usages", "NodeStore#Dispose"]).code, 0);
}

#[test]
fn colours_only_when_wanted() {
    let bench = Bench::documents();
    assert!(!bench.run(&["status"]).out.contains('\u{1b}'));
    assert!(bench.run(&["--color", "always", "status"]).out.contains('\u{1b}'));
    let quiet = bench.ran(bench.command(&["status"]).env("NO_COLOR", "1").output().expect("starts"));
    assert!(!quiet.out.contains('\u{1b}'));
}

/// Returns the labels of events of one kind.
pub fn labels(bench: &Bench, kind: &str, args: &[&str]) -> std::collections::BTreeSet<String> {
    let log = bench.beside("events.jsonl");
    let args: Vec<&str> = args.iter().copied().chain(["--events", log.to_str().expect("text")]).collect();
    assert_eq!(bench.run(&args).code, 0);
    let text = std::fs::read_to_string(&log).expect("log");
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    events
        .filter(|event| event["event"] == *kind || event["certain"] == *kind)
        .map(|event| event["label"].as_str().expect("a label").to_owned())
        .collect()
}

#[test]
fn a_dry_run_after_an_edit_says_what_runs_and_what_that_depends_on() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    let path = "src/MemoTree.Core/NodeStore.cs";
    let text = std::fs::read_to_string(bench.root().join(path)).expect("file");
    bench.write(path, &text.replace("Nodes cannot be moved yet", "Moving is for later"));
    insta::assert_snapshot!(bench.run(&["build", "--dry-run", "//..."]).all(), @"
    exit 0
    1,489 targets: 2 will run, 1,172 more may run (TIME)
      will run //files/src/MemoTree.Core/NodeStore.cs:defines
               //files/src/MemoTree.Core/NodeStore.cs:source
      may run  1,167 of the others, only if the output of //files/src/MemoTree.Core/NodeStore.cs:syntax changes
    ");
    let status = bench.run(&["status"]);
    assert!(status.out.contains("2 to run, 1,172 more may run"), "{}", status.out);
    let text = bench.run(&["explain", "//types/NodeId:outline"]);
    assert!(
        text.out
            .contains("the output of //files/src/MemoTree.Core/NodeStore.cs:syntax changes"),
        "{}",
        text.out
    );
    let json = bench.run(&["build", "--dry-run", "//...", "--output", "json"]).json();
    let actual = labels(&bench, "would_run", &["build", "--dry-run", "//..."]);
    assert_eq!(actual.len(), 1_174);
    let ran = labels(&bench, "ran", &["build", "//..."]);
    assert_eq!(ran.len(), 21);
    // Texts are not stored: the `:source` of an unchanged file runs again when a reader needs its bytes.
    let untold: Vec<&String> = ran.difference(&actual).filter(|label| !label.ends_with(":source")).collect();
    assert!(untold.is_empty(), "{untold:?} ran without having been told");
    for label in json["outlook"]["will_run"].as_array().expect("labels") {
        assert!(ran.contains(label.as_str().expect("a label")), "{label} was said to run");
    }
}

#[test]
fn a_dry_run_of_what_was_never_built_says_what_is_known() {
    let bench = Bench::memotree();
    insta::assert_snapshot!(bench.run(&["build", "--dry-run", "//types/...:outline"]).all(), @"
    exit 0
    note[N_UNKNOWN_SET]: the set //index:types has no output, so its targets are not known
      help: `cortex build //...` makes it known; `cortex explain` says what it needs
    0 targets known so far: 4 will run, 6 more may run (TIME)
      will run //projects/MemoTree.sln:xml
               //projects/MemoTree.slnx:xml
               //projects/src/MemoTree.Cli/MemoTree.Cli.csproj:xml
               //projects/src/MemoTree.Core/MemoTree.Core.csproj:xml
    ");
}

#[test]
fn nodes_of_one_key_run_once_and_are_told_once() {
    let bench = Bench::documents();
    bench.write("docs/b.md", "one two three\n");
    let actual = bench.run(&["build", "--dry-run", "//docs/...", "--output", "json"]).json();
    let ran = bench.run(&["build", "//docs/...", "--output", "json"]).json();
    assert_eq!(actual["tally"]["would_run"], ran["tally"]["ran"], "{actual} {ran}");
}

#[test]
fn kinds_are_target_names_or_implementations() {
    let bench = Bench::memotree();
    let by_name = bench.run(&["query", "kind(names, //files/...)"]);
    assert_eq!(by_name.out.lines().count(), 49, "{by_name:?}");
    assert_eq!(bench.run(&["query", "kind(csharp/names, //files/...)"]).out, by_name.out);
}

#[test]
fn json_is_honoured_or_refused() {
    let bench = Bench::empty();
    assert_eq!(
        bench.run(&["rules", "--output", "json"]).json(),
        serde_json::json!(["csharp", "embeddings", "grammars", "python", "scip", "typescript"])
    );
    let ruleset = bench.run(&["rules", "show", "csharp", "--output", "json"]).json();
    assert!(ruleset["text"].as_str().is_some_and(|text| text.contains("[[rule]]")));
    insta::assert_snapshot!(bench.run(&["man", "--output", "json"]).all(), @r#"
    exit 2
    {"code":"E_NO_JSON","hint":"omit --output json","message":"manual pages are roff and have no JSON form","severity":"error"}
    "#);
    assert_eq!(bench.run(&["completions", "bash", "--output", "json"]).code, 2);
}

/// Returns the reason that `explain` gives for a stale target.
fn because(bench: &Bench, label: &str) -> String {
    let stdout = bench.run(&["explain", label]).out;
    let lines = stdout.lines().skip_while(|line| !line.starts_with("  because"));
    let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("  next")).map(str::trim).collect();
    lines.join("\n")
}

#[test]
fn explanations_name_the_parameter_that_moved() {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    bench.write("cortex.toml", &manifest.replace("\"-w\"", "\"-c\""));
    insta::assert_snapshot!(because(&bench, "//index:total"), @r#"
    because    //index:total: words DIGEST → has to be built first
    //docs/docs/a.md:words: parameter argv of producer count: ["wc","-w","{in.text}"] → ["wc","-c","{in.text}"]
    "#);
    let json = bench.run(&["explain", "--json", "//docs/docs/a.md:words"]).json();
    assert_eq!(json["chain"][0]["redefined"][0]["name"], "argv", "{json}");
    bench.write(
        "cortex.toml",
        &manifest
            .replace("text = \"//files", "page = \"//files")
            .replace("{in.text}", "{in.page}"),
    );
    insta::assert_snapshot!(because(&bench, "//docs/docs/b.md:words"), @r#"
    because    //docs/docs/b.md:words: parameter argv of producer count: ["wc","-w","{in.text}"] → ["wc","-w","{in.page}"]
    //docs/docs/b.md:words: input page of the rule: none → //files/{doc}:bytes
    //docs/docs/b.md:words: input text of the rule: //files/{doc}:bytes → none
    "#);
    // A build of another target replaces the stored manifest: the answer has less detail, but nothing wrong.
    assert_eq!(bench.run(&["build", "//docs/docs/a.md:words"]).code, 0);
    bench.write("cortex.toml", &manifest.replace("\"-w\"", "\"-c\""));
    assert_eq!(bench.run(&["build", "//docs/docs/a.md:words"]).code, 0);
    insta::assert_snapshot!(because(&bench, "//docs/docs/b.md:words"), @"because    //docs/docs/b.md:words: its parameters or its rule changed before the last build, which did not request it");
    // After the build the reason is still known, even if a comment changed since.
    assert_eq!(bench.run(&["build", "//docs/docs/b.md:words"]).code, 0);
    bench.write("cortex.toml", &manifest);
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    bench.write("cortex.toml", &manifest.replace("\"-w\"", "\"-m\""));
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    bench.write(
        "cortex.toml",
        &manifest
            .replace("\"-w\"", "\"-m\"")
            .replace("[workspace]", "# a comment\n[workspace]"),
    );
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    let text = bench.run(&["explain", "//docs/docs/b.md:words"]).out;
    assert!(
        text.contains("  last ran   with the same inputs: parameter argv of producer count: [\"wc\",\"-w\",\"{in.text}\"] → [\"wc\",\"-m\",\"{in.text}\"]\n"),
        "{text}"
    );
    bench.write("cortex.toml", &manifest);
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    // The target's own definition did not change.
    bench.write("cortex.toml", &format!("{manifest}# a comment\n"));
    assert_eq!(because(&bench, "//docs/docs/b.md:words"), "");
}

#[test]
fn a_removed_source_is_told_once() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    std::fs::remove_file(bench.root().join("docs/b.md")).expect("removed");
    insta::assert_snapshot!(bench.run(&["explain", "//files/docs/b.md:bytes"]).all(), @r"
    exit 0
    //files/docs/b.md:bytes missing source
      because    //files/docs/b.md:bytes: docs/b.md was removed
      output     DIGEST
    ");
    let total = bench.run(&["explain", "//index:total"]).out;
    assert_eq!(total.matches("was removed").count(), 1, "{total}");
    assert!(!total.contains("E_NO_FILE"), "{total}");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    insta::assert_snapshot!(bench.run(&["explain", "//files/docs/b.md:bytes"]).all(), @r"
    exit 0
    //files/docs/b.md:bytes missing source
      failed     E_NO_FILE: the file docs/b.md does not exist or cannot be read; the set //globs/docs|%2A.md:files would contain it
    ");
    // The next build removes its targets, whose history remains known.
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let gone = bench.run(&["explain", "//docs/docs/b.md:words"]);
    assert!(
        gone.code == 2
            && gone
                .err
                .contains("note[N_GONE] //docs/docs/b.md:words: it is gone since build 2, WHEN WHEN UTC: docs/b.md was removed\n"),
        "{gone:?}"
    );
}
