//! Members as targets of commands, and the last good knowledge of files that stop parsing.

use crate::bench::Bench;
use std::collections::BTreeSet;

const SHELF: &str = "namespace N;\n/// <summary>Keeps things.</summary>\npublic class Shelf\n{\n    public int Size { get; set; }\n    public int Get(int at) { return at; }\n    public int Get(int? at, string name) { return 0; }\n    public static Shelf operator /(Shelf a, Shelf b) => a;\n}\n";

fn shelf() -> Bench {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"shelf\"\nrulesets = [\"csharp\"]\n");
    bench.write("Shelf.cs", SHELF);
    bench.write("Other.cs", "namespace N;\npublic class Other { public void Run() { } }\n");
    bench
}

/// Returns the labels of members that a build runs again.
fn ran(bench: &Bench, patterns: &[&str]) -> BTreeSet<String> {
    let text = bench.run(&[&["build", "-v", "-j1"], patterns].concat()).err;
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("ran "));
    let labels = lines.map(|line| line.trim().split(" (").next().unwrap_or_default().to_owned());
    labels.filter(|label| label.contains('#')).collect()
}

#[test]
fn up_to_five_symbols_of_one_name_are_shown_together() {
    let bench = Bench::memotree();
    let both = ["MemoTree.Core.NodeStore+Journal+Entry", "MemoTree.Core.Caching.LruCache`2+Entry"];
    for method in ["outline", "usages"] {
        let answer = bench.run(&[method, "Entry", "--json"]).json();
        let mut paths = vec![&answer["resolved"]["path"]];
        paths.extend(answer["more"].as_array().into_iter().flatten().map(|one| &one["resolved"]["path"]));
        assert_eq!(paths, both, "{method}: {answer}");
    }
    for method in ["outline", "usages", "source"] {
        let ran = bench.run(&[method, "Entry"]);
        assert_eq!(ran.code, 0, "{method}: {ran:?}");
        for path in both {
            assert!(ran.out.contains(path), "{method} names {path}: {}", ran.out);
        }
    }
    let members = bench.run(&["outline", "Get", "--json"]).json();
    assert_eq!(members["more"].as_array().map(Vec::len), Some(1), "{members}");
}

#[test]
fn a_member_is_a_target_of_its_own() {
    let bench = shelf();
    assert_eq!(
        bench.run(&["show", "//types/N.Shelf#Get(int):code"]).out,
        "public int Get(int at) { return at; }\n"
    );
    assert_eq!(
        bench.run(&["show", "//types/Shelf#Get(int?,string):code"]).out.lines().count(),
        1,
        "a question mark is itself first"
    );
    assert_eq!(
        bench.run(&["show", "//types/Shelf#op_Div*:code"]).out,
        "public static Shelf operator /(Shelf a, Shelf b) => a\n"
    );
    assert!(bench.run(&["outline", "Shelf#Size"]).out.starts_with("# N.Shelf#Size "));
    let answer = bench.run(&["outline", "--json", "--data", "Shelf#Size"]).json();
    let info = &answer["data"];
    assert_eq!(answer["resolved"]["path"], "N.Shelf#Size");
    assert_eq!(
        (&info["type"], &info["key"], &info["kind"]),
        (&"N.Shelf".into(), &"Size".into(), &"property".into())
    );
    insta::assert_snapshot!(bench.run(&["show", "//types/Shelf#Get:code"]).all(), @"
    exit 2
    error[E_AMBIGUOUS] //types/N.Shelf#Get:code: 'Get' matches 2 targets
      could be:
        //types/N.Shelf#Get(int):code
        //types/N.Shelf#Get(int%3F,string):code
      help: write the full name, such as N.Shelf#Get(int)
    ");
    insta::assert_snapshot!(bench.run(&["show", "//types/Shelf#Gte(int):code"]).all(), @"
    exit 2
    error[E_NO_TARGET] //types/Shelf#Gte(int):code: no target matches //types/Shelf#Gte(int):code
      could be:
        //types/N.Shelf#Get(int):code
        //types/N.Shelf#Get(int%3F,string):code
      help: did you mean //types/N.Shelf#Get(int):code?
    ");
    insta::assert_snapshot!(bench.run(&["show", "//types/Shlf#Size:code"]).all(), @"
    exit 2
    error[E_NO_TARGET] //types/Shlf#Size:code: no target matches //types/Shlf#Size:code
      help: did you mean //types/N.Shelf#Size:code?
    ");
}

#[test]
fn member_targets_are_built_only_for_patterns_with_the_mark() {
    let bench = shelf();
    let all = bench.run(&["query", "//types/...:outline"]);
    assert_eq!(
        bench.run(&["build", "//types/...:outline", "--output", "json"]).json()["targets"],
        2,
        "{all:?}"
    );
    assert_eq!(ran(&bench, &["//..."]), BTreeSet::new());
    let every = bench.run(&["build", "//types/N.*#*:outline", "--output", "json"]).json();
    assert_eq!((&every["targets"], &every["tally"]["ran"]), (&5.into(), &5.into()));
    // Even after they are built, a pattern without the mark does not match them.
    let again = bench.run(&["build", "//types/...:outline", "--output", "json"]).json();
    assert_eq!((&again["targets"], &again["tally"]["ran"]), (&2.into(), &0.into()));
    assert_eq!(bench.run(&["query", "//types/...:outline"]).out.lines().count(), 2);
    assert_eq!(bench.run(&["query", "//types/Shelf#*:outline"]).out.lines().count(), 4);
}

#[test]
fn an_edit_names_its_members() {
    let bench = shelf();
    let all = ["//types/Shelf#*:outline", "//types/Shelf#*:code"];
    assert_eq!(ran(&bench, &all).len(), 8);
    bench.write("Shelf.cs", &SHELF.replace("return at;", "return -at;"));
    let both = [
        "//types/N.Shelf#Get(int):code".to_owned(),
        "//types/N.Shelf#Get(int):outline".to_owned(),
    ];
    assert_eq!(ran(&bench, &all), BTreeSet::from(both));
    let explained = bench.run(&["explain", "//types/Shelf#Get(int):code"]).out;
    assert!(
        explained.contains("last ran   row //types/N.Shelf:members DIGEST → DIGEST"),
        "{explained}"
    );
    let explained = bench.run(&["explain", "//types/Shelf#Size:code"]).out;
    assert!(explained.contains("last ran   for the first time"), "{explained}");
    // The targets of a removed member are removed, those of an added one are added; the others stay.
    bench.write("Shelf.cs", &SHELF.replace("Size", "Length"));
    let two = [
        "//types/N.Shelf#Length:code".to_owned(),
        "//types/N.Shelf#Length:outline".to_owned(),
    ];
    assert!(ran(&bench, &all).is_superset(&BTreeSet::from(two)));
    assert_eq!(bench.run(&["show", "//types/N.Shelf#Size:code"]).code, 2);
    assert_eq!(
        bench
            .run(&["query", "//types/Shelf#*:code"])
            .out
            .lines()
            .filter(|label| label.contains("Size"))
            .count(),
        0
    );
}

#[test]
fn the_last_good_knowledge_is_kept_and_marked() {
    let bench = shelf();
    assert_eq!(bench.run(&["build", "//...", "//types/*#*"]).code, 0);
    let good = bench.run(&["outline", "Shelf"]);
    assert_eq!(good.err, "", "what parses is not remarked on");
    let code = bench.run(&["show", "//types/Shelf#Get(int):code"]).out;
    // The parser still sees the class, but not its members.
    bench.write(
        "Shelf.cs",
        &SHELF.replace("public int Size", "public string Open = \"; /*\n    public int Size"),
    );
    let now = bench.run(&["outline", "Shelf"]);
    assert_ne!(now.out, good.out);
    insta::assert_snapshot!(now.err.lines().skip_while(|line| !line.starts_with("note")).collect::<Vec<_>>().join("\n"), @"
    note[N_NOT_WHOLE] Shelf.cs:5:26: Shelf.cs does not parse; this is what can be read of it now
      help: `cortex outline --last-good '//types/N.Shelf:outline'` shows the last version from before
    ");
    let kept = bench.run(&["outline", "--last-good", "Shelf"]);
    assert_eq!((&kept.out, kept.code), (&good.out, 0));
    assert!(
        kept.err
            .contains("note[N_LAST_GOOD] //types/N.Shelf:outline: this is the version of"),
        "{kept:?}"
    );
    assert_eq!(bench.run(&["show", "--last-good", "//types/Shelf#Get(int):code"]).out, code);
    assert_eq!(bench.run(&["outline", "Other"]).err, "", "other files parse");
    // The parser sees nothing: the type is gone, and its last output is still available.
    bench.write("Shelf.cs", "\0");
    let gone = bench.run(&["outline", "Shelf"]);
    assert_eq!(gone.code, 2);
    assert!(
        gone.err
            .contains("note[N_NOT_WHOLE] Shelf.cs: Shelf.cs does not parse; N.Shelf was read from it before"),
        "{gone:?}"
    );
    assert_eq!(bench.run(&["outline", "--last-good", "Shelf"]).out, good.out);
    assert_eq!(bench.run(&["show", "--last-good", "//types/Shelf#Get(int):code"]).out, code);
    // Once the file parses, the present knowledge is used, even if it was never built before.
    bench.write("Shelf.cs", &SHELF.replace("Keeps", "Holds"));
    let mended = bench.run(&["outline", "--last-good", "Shelf"]);
    assert_eq!(
        (mended.out.as_str(), mended.err.as_str()),
        (bench.run(&["outline", "Shelf"]).out.as_str(), "")
    );
    assert_eq!(bench.run(&["show", "--last-good", "//index:types"]).code, 2);
    assert_eq!(bench.run(&["outline", "--last-good", "Nothing"]).code, 2);
}

#[test]
fn a_renamed_type_keeps_its_history_under_the_new_name() {
    let bench = shelf();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    let aliases = || -> serde_json::Value {
        let text = std::fs::read_to_string(bench.root().join(".cortex/out/aliases.json")).expect("laid out");
        serde_json::from_str(&text).expect("JSON")
    };
    let id = |key: &str| {
        bench.run(&["show", "//index:types", "--json"]).json()["output"][key]["id"]
            .as_str()
            .expect("a type")
            .to_owned()
    };
    let old = id("N.Shelf");
    let before = bench.run(&["explain", "--json", "//types/Shelf:outline"]).json();
    assert_eq!(aliases()["aliases"], serde_json::json!({}));
    bench.write("Shelf.cs", &SHELF.replace("Shelf", "Rack"));
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    assert_eq!(aliases()["aliases"], serde_json::json!({ &old: id("N.Rack") }));
    assert_eq!(aliases()["names"], serde_json::json!({ &old: "N.Shelf" }));
    let explained = bench.run(&["explain", "//types/Rack:outline"]).out;
    assert!(
        explained.contains("  last ran   for the first time under this name\n  formerly   //types/N.Shelf:outline, 1 version\n               WHEN WHEN UTC DIGEST\n"),
        "{explained}"
    );
    let json = bench.run(&["explain", "--json", "//types/Rack:outline"]).json();
    let former = &json["former"][0];
    assert_eq!(
        (&former["label"], &former["versions"], &former["history"][0]["output"]),
        (&"//types/N.Shelf:outline".into(), &1.into(), &before["output"]),
        "{json}"
    );
    let missing = bench.run(&["outline", "Shelf"]);
    assert!(
        missing.code == 0
            && missing.out.starts_with("# N.Rack ")
            && missing.err.contains("note[N_RENAMED]: the type Shelf was renamed to N.Rack\n"),
        "{missing:?}"
    );
    let other = bench.run(&["outline", "shelf"]);
    assert_eq!((other.code, &other.out), (0, &missing.out), "{other:?}");
    let found = bench.run(&["search", "shel", "--json"]).json();
    assert_eq!(
        (&found["hits"][0]["path"], &found["hits"][0]["matched"], &found["hits"][0]["former"]),
        (&"N.Rack".into(), &"former".into(), &"N.Shelf".into()),
        "{found}"
    );
    assert_eq!(
        found["state"]["notes"],
        serde_json::json!(["the type N.Shelf was renamed to N.Rack"])
    );
    assert_eq!(
        bench.run(&["search", "N.Shelf", "--kind", "interface", "--json"]).json()["filtered"],
        1
    );
    // By its present name it is found as usual.
    let found = bench.run(&["search", "Rack", "--json"]).json();
    assert_eq!(
        (&found["total"], &found["hits"][0]["matched"]),
        (&1.into(), &"exact".into()),
        "{found}"
    );
    // A filter matches present names, and a note explains a former one.
    let pack = bench.run(&["pack", "build", "old", "--filter", "type:Shelf", "--json"]).json();
    assert_eq!(
        (&pack["types"], &pack["state"]["notes"][0]),
        (&serde_json::json!([]), &"the type Shelf was renamed to N.Rack".into()),
        "{pack}"
    );
    // Versions under the former name follow the present ones, and can be compared with them.
    let listed = bench.run(&["history", "//types/Rack:outline"]).out;
    insta::assert_snapshot!(listed.lines().filter(|line| !line.contains("csharp/")).collect::<Vec<_>>().join("\n"), @"
    //types/N.Rack:outline
        1  WHEN WHEN UTC  DIGEST present
        0  WHEN WHEN UTC  DIGEST  as //types/N.Shelf:outline
    ");
    let versions = bench.run(&["history", "--json", "//types/Rack:outline"]).json();
    let versions = versions["versions"].as_array().expect("a list").clone();
    assert_eq!(versions.len(), 2);
    assert_eq!(
        (&versions[0]["version"], &versions[0]["former"], &versions[0]["output"]),
        (&0.into(), &"//types/N.Shelf:outline".into(), &before["output"])
    );
    assert_eq!(
        (&versions[1]["version"], &versions[1]["former"]),
        (&1.into(), &serde_json::Value::Null)
    );
    let compared = bench.run(&["diff", "//types/Rack:outline"]);
    assert!(
        compared.out.contains("--- //types/N.Shelf:outline version 0")
            && compared.out.contains("\n-# N.Shelf ")
            && compared.out.contains("\n+# N.Rack "),
        "{compared:?}"
    );
    assert!(
        compared.out.contains("input complete //types/N.Rack:complete DIGEST → DIGEST"),
        "{compared:?}"
    );
    assert_eq!(bench.run(&["diff", "//types/Rack:outline", "0", "1"]).out, compared.out);
    let none = bench.run(&["diff", "//types/Rack:outline", "-7"]);
    assert!(none.code == 2 && none.err.contains("there are 0, 1"), "{none:?}");
    // Requested by the former name.
    let asked = bench.run(&["history", "//types/N.Shelf:outline"]);
    assert!(
        asked.code == 0 && asked.err.contains("note[N_RENAMED]: the type N.Shelf was renamed to N.Rack\n"),
        "{asked:?}"
    );
    for asked in [["history", "//types/Shelf:outline"], ["explain", "//types/Shelf:outline"]] {
        let missing = bench.run(&asked);
        assert!(
            missing.code == 2 && missing.err.contains("note[N_RENAMED]: the type Shelf was renamed to N.Rack\n"),
            "{missing:?}"
        );
    }
    // Moved to another namespace: both former names resolve to the present one.
    bench.write("Shelf.cs", &SHELF.replace("Shelf", "Rack").replace("namespace N", "namespace M.O"));
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    assert_eq!(aliases()["aliases"].as_object().expect("an object").len(), 2);
    assert_eq!(aliases()["aliases"][&old], serde_json::json!(id("M.O.Rack")));
    // Moved back: a present name is not a former one, and the outputs are those of the first build.
    bench.write("Shelf.cs", SHELF);
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    assert_eq!(aliases()["aliases"].get(&old), None);
    // The file is not an output: after its deletion, the History restores its entries.
    std::fs::remove_file(bench.root().join(".cortex/out/aliases.json")).expect("there");
    bench.write("Other.cs", "namespace N;\npublic class Another { }\n");
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    assert_eq!(aliases()["aliases"].get(&old), None);
    assert_eq!(aliases()["aliases"].as_object().expect("an object").len(), 2);
}

#[test]
fn a_renamed_type_is_found_without_a_build() {
    let bench = shelf();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    for (old, new) in [("Shelf", "Rack"), ("Rack", "Case")] {
        bench.write("Shelf.cs", &SHELF.replace("Shelf", new));
        let found = bench.run(&["resolve", old]);
        let text = format!("note: the type {old} was renamed to N.{new}\n");
        assert!(found.code == 0 && found.out.ends_with(&text), "{found:?}");
    }
    bench.write("Shelf.cs", &SHELF.replace("Shelf", "Chest"));
    let found = bench.run(&["search", "Rack"]);
    assert!(
        found.out.starts_with("N.Chest ") && found.out.ends_with("note: the type N.Rack was renamed to N.Chest\n"),
        "{found:?}"
    );
    // An unknown name stays unknown without another update.
    assert_eq!(bench.run(&["resolve", "Nowhere9"]).code, 2);
    let file = bench.root().join(".cortex/out/aliases.json");
    let before = std::fs::read(&file).expect("laid out");
    assert_eq!(bench.run(&["resolve", "Nowhere9"]).code, 2);
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    assert_eq!(std::fs::read(&file).expect("laid out"), before);
    // Former names in a tag are reported like those in the filter.
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    bench.write("cortex.toml", &format!("{manifest}[tags]\nhot = [\"Rack\", \"Chest\"]\n"));
    let pack = bench.run(&["pack", "build", "hot", "--filter", "tag:hot", "--json"]);
    assert!(pack.err.contains("'Rack' of tag:hot selects no type"), "{pack:?}");
    let pack = pack.json();
    assert_eq!(pack["types"][0], "N.Chest", "{pack}");
    assert_eq!(pack["state"]["notes"][0], "the type Rack was renamed to N.Chest", "{pack}");
}

#[test]
fn a_type_that_is_gone_was_there() {
    let bench = shelf();
    bench.write("Shelf.cs", &SHELF.replace("Shelf", "Box"));
    bench.write("Other.cs", "namespace N;\npublic interface Plain { string Say(); }\n");
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    std::fs::remove_file(bench.root().join("Shelf.cs")).expect("there");
    // Before the build: a deleted input is not reported as still to be built.
    let stale = bench.run(&["explain", "//types/Box:complete"]);
    assert!(
        stale.out.contains("//files/Shelf.cs:syntax: bytes DIGEST → gone\n")
            && stale.out.contains("//files/Shelf.cs:bytes: Shelf.cs was removed\n"),
        "{stale:?}"
    );
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    for command in ["explain", "outline", "history"] {
        let gone = bench.run(&[command, "//types/Box:outline"]);
        assert_eq!(gone.code, 2);
        assert!(
            gone.err
                .contains("note[N_GONE]: N.Box is gone since build 2, WHEN WHEN UTC: Shelf.cs was removed\n  help: `cortex history '//types/N.Box:outline'` lists its versions"),
            "{gone:?}"
        );
    }
    let whole = bench.run(&["explain", "//types/N.Box"]);
    assert!(
        whole
            .err
            .contains("N.Box is gone since build 2, WHEN WHEN UTC: Shelf.cs was removed\n"),
        "{whole:?}"
    );
    let kept = bench.run(&["history", "--json", "//types/N.Box:outline"]).json();
    assert_eq!(kept["versions"].as_array().map(Vec::len), Some(1), "{kept}");
    let never = bench.run(&["explain", "//types/Bag:outline"]);
    assert!(never.code == 2 && !never.err.contains("N_GONE"), "{never:?}");
    // The file exists, but no longer declares it.
    bench.write("Other.cs", "namespace N;\npublic interface Other { string Say(); }\n");
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    bench.write("Other.cs", "namespace N;\npublic interface Third { int Heard(); }\n");
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    let gone = bench.run(&["explain", "//types/N.Other:outline"]);
    assert!(
        gone.err
            .contains("N.Other is gone since build 4, WHEN WHEN UTC: Other.cs was changed\n"),
        "{gone:?}"
    );
}

#[test]
fn a_build_stands_when_its_aliases_cannot_be_written() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//types/...:outline"]).code, 0);
    let file = bench.root().join(".cortex/out/aliases.json");
    std::fs::remove_file(&file).expect("written by the build");
    std::fs::create_dir(&file).expect("a folder in its way");
    bench.write("src/MemoTree.Core/Added.cs", "namespace MemoTree.Core; public class Added { }\n");
    let ran = bench.run(&["build", "//types/...:outline"]);
    assert!(
        ran.code == 0 && ran.all().contains("W_ALIASES") && ran.all().contains("68 targets"),
        "{ran:?}"
    );
}

#[test]
fn a_project_removed_between_commands_causes_no_error() {
    let bench = Bench::memotree();
    bench.run(&["build", "//..."]);
    bench.write("p2/p2.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"/>");
    bench.write("p2/D.cs", "namespace Z { class Zed { } }");
    assert_eq!(bench.run(&["usages", "NodeId"]).code, 0);
    std::fs::remove_dir_all(bench.root().join("p2")).expect("removed");
    let again = bench.run(&["usages", "NodeId"]);
    assert_eq!((again.code, again.err.as_str()), (0, ""));
}

#[test]
fn symbols_are_meant_by_identifiers_and_as_resolve_knows_them() {
    let bench = Bench::memotree();
    let path = |args: &[&str]| {
        let ran = bench.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.json()["resolved"]["path"].as_str().map(str::to_owned)
    };
    let get = Some("MemoTree.Core.NodeStore#Get(NodeId)".to_owned());
    for symbol in ["NodeStore.Get", "NodeStore#Get", "T_9zinsy3j_wg2t9t", "core.nodestore.get(nodeid)"] {
        for method in ["resolve", "outline", "source"] {
            assert_eq!(path(&[method, symbol, "--json"]), get, "{method} {symbol}");
        }
    }
    assert_eq!(
        path(&["semantic", "T_9zinsy3j", "--json"]).as_deref(),
        Some("MemoTree.Core.NodeStore")
    );
    let several = bench.run(&["implementations", "Get", "--json"]).json();
    assert_eq!(several["more"].as_array().map(Vec::len), Some(1), "{several}");
    bench.write(
        "src/MemoTree.Core/Broken.cs",
        "namespace MemoTree.Core; public class Broken { public int A; }\nclass ] {\n",
    );
    let answer = bench.run(&["outline", "Broken", "--json"]).json();
    assert_eq!(answer["state"]["complete"], false, "{answer}");
    assert_eq!(bench.run(&["rdeps", "NodeId", "--json"]).json()["state"]["complete"], false);
}

#[test]
fn overloads_are_told_apart_and_sources_are_exact() {
    let bench = Bench::empty();
    let text = "\u{feff}class A\r\n{\r\n    public void Get(int x) { }\r\n    public void Get(string x) { }\r\n    void Use(A a) { a.Get(1); }\r\n#if OLD\r\n    void Old(A a) { a.Get(2); }\r\n#endif\r\n}\r\n";
    bench.write("a.cs", text);
    assert_eq!(bench.run(&["init"]).code, 0);
    insta::assert_snapshot!(bench.run(&["usages", "A#Get(int)"]).all(), @"
    exit 0
    # A#Get(int)
    a.cs:5:23: void Use(A a) { a.Get(1); }
    possible, in code that #if excludes, which cortex does not bind:
    a.cs:7:23: void Old(A a) { a.Get(2); }
    ");
    let answer = bench.run(&["usages", "A#Get(string)", "--json"]).json();
    let id = bench.run(&["resolve", "A#Get(string)", "--json"]).json()["resolved"]["memberId"].clone();
    assert_eq!(
        (&answer["total"], &answer["state"]["complete"], &answer["resolved"]["memberId"]),
        (&1.into(), &true.into(), &id)
    );
    let found = bench.run(&["search", "get", "--kind", "Method", "--json"]).json();
    let paths: Vec<&str> = found["hits"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|hit| hit["path"].as_str())
        .collect();
    assert_eq!((paths, &found["total"]), (vec!["A#Get(int)", "A#Get(string)"], &1.into()));
    assert_eq!(found["hits"][1]["memberId"], id);
    let whole = bench.run(&["source", "A", "--json"]).json();
    let part = &whole["sources"][0]["parts"][0];
    assert_eq!(part["text"], text);
    assert_eq!(
        (&part["start"], &part["startColumn"], &part["end"], &part["endColumn"]),
        (&1.into(), &1.into(), &9.into(), &2.into())
    );
    insta::assert_snapshot!(bench.run(&["source", "A#Get(int)"]).all(), @"
    exit 0
    // A#Get(int)  a.cs:3-3
    3      public void Get(int x) { }
    ");
}

#[test]
fn a_name_is_looked_up_after_files_came_and_went() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"w\"\nrulesets = [\"csharp\"]\n");
    let reader = |name: &str| {
        format!(
            "namespace A; public class {name} {{ public void M(X x) {{ x.F(1); }} public void F(int a) {{}} public void F(string a) {{}} }}\n"
        )
    };
    bench.write(
        "src/X.cs",
        "namespace A; public class X { public void F(int a) {} public void F(string a) {} }\n",
    );
    bench.write("src/W.cs", &reader("W"));
    assert_eq!(bench.run(&["usages", "X.F"]).code, 0);
    std::fs::remove_file(bench.root().join("src/W.cs")).expect("removed");
    bench.write("src/V.cs", &reader("V"));
    // One command sends several requests: labels that the first removes must not break the next.
    let found = bench.run(&["resolve", "V.F"]);
    assert!(found.code == 0 && found.out.contains("A.V#F(int)"), "{found:?}");
    assert_eq!(bench.run(&["usages", "V#F(int)"]).code, 0);
}

#[test]
fn paths_and_labels_are_refused_as_symbol_names() {
    let bench = Bench::memotree();
    for (symbol, code, help) in [
        ("/etc/passwd", "AccessDenied", "inside the workspace"),
        ("../../x", "AccessDenied", "inside the workspace"),
        ("//files/../x:bytes", "AccessDenied", "inside the workspace"),
        ("//index:types", "E_SYMBOL", "`cortex show` prints the output of a label"),
        ("//types/NodeId:outline", "E_SYMBOL", "write NodeId"),
    ] {
        for method in ["resolve", "source", "usages"] {
            let ran = bench.run(&[method, symbol]);
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{method} {symbol}");
            assert!(
                ran.err.contains(&format!("error[{code}]")) && ran.err.contains(help),
                "{method} {symbol}: {}",
                ran.err
            );
        }
    }
    let alike = bench.run(&["resolve", "NodeStroe"]);
    assert!(
        alike.code == 2 && alike.out.starts_with("similar names:\nMemoTree.Core.NodeStore "),
        "{alike:?}"
    );
    let unknown = bench.run(&["resolve", "Nowhere9"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.out.starts_with("note: no type or member has this name"), "{}", unknown.out);
}

#[test]
fn a_limit_of_none_lists_none_and_counts_all() {
    let bench = Bench::memotree();
    for (method, symbol, list) in [
        ("resolve", "Node*", "candidates"),
        ("search", "Node", "hits"),
        ("rdeps", "NodeTree", "types"),
        ("usages", "NodeStore.Get", "certain"),
        ("implementations", "INodeExporter", "implementations"),
        ("callers", "NodeStore.Get", "places"),
        ("callees", "NodeStore.Render", "places"),
    ] {
        let answer = bench.run(&[method, symbol, "--limit", "0", "--json"]).json();
        let (listed, total) = (answer[list].as_array().map(Vec::len), answer["total"].as_u64());
        assert!(listed == Some(0) && total > Some(1), "{method}: {answer}");
        assert_eq!(answer["state"]["complete"], false, "{method}: {answer}");
        assert!(
            answer["state"]["notes"]
                .to_string()
                .contains(&format!("0 of {} are shown", total.unwrap_or_default()))
        );
    }
    let source = bench.run(&["source", "NodeId", "--lines", "0", "--json"]).json();
    assert_eq!(
        (&source["sources"][0]["parts"], &source["state"]["complete"]),
        (&serde_json::json!([]), &false.into())
    );
}
