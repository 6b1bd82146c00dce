//! `context build`, by the command line and by a service.

use crate::bench::Bench;
use crate::structure_edits::run_successfully;
use serde_json::Value;

fn built(bench: &Bench, args: &[&str]) -> Value {
    let ran = bench.run(&[&["context", "build", "--json"], args].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

fn paths(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().expect("a list");
    items
        .iter()
        .map(|item| {
            item["path"]
                .as_str()
                .expect("a path")
                .trim_start_matches("MemoTree.Core.")
                .to_owned()
        })
        .collect()
}

#[test]
fn a_query_is_answered_within_its_budget_and_says_why() {
    let bench = Bench::memotree();
    let query = "Why does the cache of rendered nodes evict the wrong entry? See src/MemoTree.Core/NodeStore.cs";
    let answer = built(&bench, &["--query", query, "--budget", "2000"]);
    let shown = paths(&answer);
    assert_eq!(shown[0], "NodeStore", "the query names its file: {shown:?}");
    assert!(shown[1..4].contains(&"Caching.LruCache`2".to_owned()), "{shown:?}");
    assert_eq!(answer["mentions"][0]["text"], "src/MemoTree.Core/NodeStore.cs");
    assert!(answer["tokens"].as_u64().expect("tokens") <= 2000);
    for item in answer["items"].as_array().expect("a list") {
        let path = item["path"].as_str().expect("a path");
        let text = answer["contextText"].as_str().expect("a text");
        let is_shown = match item["form"].as_str() {
            Some("line") => text
                .lines()
                .any(|line| line.starts_with("- ") && line.contains(item["files"][0].as_str().expect("a file"))),
            _ => text.contains(&format!("## {path}\n")),
        };
        assert!(is_shown, "{path}: {text}");
        assert!(!item["why"].as_str().expect("a reason").is_empty(), "{item}");
        let gave: f64 = item["gave"]
            .as_object()
            .expect("factors")
            .values()
            .map(|gave| gave.as_f64().expect("a number"))
            .sum();
        assert!((gave - item["score"].as_f64().expect("a score")).abs() < 4e-3, "{item}");
    }
    let quality = &answer["quality"];
    assert!(
        quality["dependencyCoverage"].as_f64() > Some(0.0) && quality["compressionRatio"].as_f64() < Some(1.0),
        "{quality}"
    );
    // The same log, query and sources: the same context.
    assert_eq!(built(&bench, &["--query", query, "--budget", "2000"]), answer);
    let text = bench.run(&["context", "build", "--query", query, "--budget", "2000"]).out;
    assert!(text.starts_with(answer["contextText"].as_str().expect("a text")), "{text}");
    assert!(
        !text.contains("── why ──") && text.contains(" left out: `why` (`--why`) gives the reasons\n"),
        "{text}"
    );
    let text = bench.run(&["context", "build", "--query", query, "--budget", "2000", "--why"]).out;
    assert!(text.contains("── why ──\n") && text.contains("\nleft out "), "{text}");
    // Reasons do not count toward the budget: the context is the same.
    assert!(text.starts_with(answer["contextText"].as_str().expect("a text")), "{text}");
    // Other weights give another order.
    let named = built(&bench, &["--query", query, "--budget", "2000", "--weights", "bm25=0,coverage=1"]);
    assert_ne!(paths(&named), shown);
    assert_eq!(named["weights"]["bm25"], 0.0);
}

#[test]
fn rounds_of_a_conversation_leave_types_to_later_ones() {
    let bench = Bench::memotree();
    let first = built(
        &bench,
        &[
            "--query",
            "how is the tree encoded by NodeCodec",
            "--conversation",
            "new",
            "--budget",
            "1500",
        ],
    );
    assert_eq!(
        (&first["conversation"]["id"], &first["conversation"]["round"]),
        (&"c1".into(), &1.into())
    );
    let second = built(
        &bench,
        &[
            "--query",
            "is the tree encoded by NodeCodec twice",
            "--conversation",
            "c1",
            "--budget",
            "1500",
        ],
    );
    assert_eq!(second["conversation"]["round"], 2);
    let inherited = |answer: &Value| {
        let items = answer["items"].as_array().expect("a list");
        items.iter().filter(|item| item["inherited"].is_object()).count()
    };
    assert!(inherited(&first) == 0 && inherited(&second) > 0, "{second}");
    assert!(second["quality"]["hitRate"].as_f64() > Some(0.0));
    let third = built(
        &bench,
        &["--query", "colours of the command line", "--conversation", "c1", "--budget", "1500"],
    );
    assert_eq!(inherited(&third), 0, "another topic");
    // A later question about a file that an answer used has the same subject.
    let file = "src/MemoTree.Core/Storage/NodeCodec.cs";
    let ended = run_successfully(&bench, &["context", "end", "--conversation", "c1", file]);
    assert_eq!(ended, format!("round 3 of c1 names {file}\n"));
    assert_eq!(bench.run(&["context", "end", "--conversation", "c1", "--round", "9", file]).code, 2);
    let unknown = bench.run(&["context", "end", "--conversation", "c1", "src/Nothing.cs"]);
    assert!(
        unknown.code == 2 && unknown.all().contains("the workspace has no such file"),
        "{unknown:?}"
    );
    let listed = run_successfully(&bench, &["context", "conversations"]);
    assert_eq!(listed, "c1  3 rounds  colours of the command line\n");
    // A conversation is not in the store.
    std::fs::remove_dir_all(bench.store()).expect("removed");
    assert_eq!(
        built(&bench, &["--query", "NodeCodec", "--conversation", "c1"])["conversation"]["round"],
        4
    );
    let dropped = run_successfully(&bench, &["context", "conversations", "--drop", "c1"]);
    assert_eq!(dropped, "c1 is dropped\nthere are no conversations\n");
    assert_eq!(bench.run(&["context", "conversations", "--drop", "c1"]).code, 2);
}

#[test]
fn a_named_member_stands_first_in_full() {
    let bench = Bench::memotree();
    let get = "        lock (_gate)\n        {\n            return Tree[id];\n        }\n";
    for (query, member) in [
        ("NodeStore.Get is slow", "#Get(NodeId)"),
        (
            "at MemoTree.Core.NodeStore.Get(NodeId id) in /build/src/MemoTree.Core/NodeStore.cs:line 84",
            "#Get(NodeId)",
        ),
        ("src\\MemoTree.Core\\NodeStore.cs:84", "#Get(NodeId)"),
        ("see NodeStore.cs(82,9): error", "#Get(NodeId)"),
    ] {
        let answer = built(&bench, &["--query", query, "--budget", "300"]);
        let item = &answer["items"][0];
        assert_eq!(item["path"], "MemoTree.Core.NodeStore", "{query}: {answer}");
        assert_eq!(item["members"][0], format!("MemoTree.Core.NodeStore{member}"), "{query}");
        assert!(
            item["why"].as_str().is_some_and(|why| why.contains("Get(NodeId) in full")),
            "{item}"
        );
        assert!(
            answer["contextText"].as_str().is_some_and(|text| text.contains(get)),
            "{query}: {answer}"
        );
        assert!(answer["tokens"].as_u64() <= Some(300));
    }
    let text = bench
        .run(&[
            "context",
            "build",
            "--query",
            "NodeStore.Nope, NodeStore.Get",
            "--budget",
            "60",
            "--why",
        ])
        .out;
    assert!(
        text.contains("left out 0.00 NodeStore.Nope: its type has no such member\n"),
        "{text}"
    );
    assert!(
        text.contains("left out 0.00 MemoTree.Core.NodeStore#Get(NodeId): there is no room for it in the budget\n"),
        "{text}"
    );
}

#[test]
fn a_query_may_stand_in_a_file() {
    let bench = Bench::memotree();
    let file = bench.beside("query.txt");
    let build = |args: &[&str]| bench.run(&[&["context", "build", "--budget", "300"], args].concat());
    let from_file = |text: &str| {
        std::fs::write(&file, text).expect("written");
        build(&["--file", &file.to_string_lossy()])
    };
    let query = "节点存储的NodeStore.Get的错误";
    let ran = from_file(query);
    assert_eq!((ran.code, &ran.out), (0, &build(&["--query", query]).out), "{ran:?}");
    assert!(ran.out.contains("Get(NodeId) at "), "{ran:?}");
    // Extreme inputs are answered quickly.
    for (text, code) in [
        ("NodeStore ".repeat(100_000), 2),
        ("NodeStore.Get(".repeat(4_600), 0),
        ("Foo<".repeat(16_000), 0),
        ("`a`1".repeat(16_000), 0),
        ("`".repeat(65_000), 0),
        ("src/x%.md Foo.Bar ".repeat(3_500), 0),
        ("a.".repeat(32_000), 0),
        ("a.cs".to_owned() + &":1".repeat(30_000), 0),
        ("NodeStore#L1#L".repeat(4_000), 0),
        ("/".repeat(65_000), 0),
        ("the of get set and a".to_owned(), 0),
    ] {
        let ran = from_file(&text);
        let actual: String = ran.all().chars().take(300).collect();
        assert!(ran.code == code && ran.all().len() < 50_000, "{}: {actual}", &text[..20]);
    }
    assert_eq!(build(&[]).code, 2);
}

#[test]
fn files_that_are_no_code_are_shown_or_say_why_not() {
    let bench = Bench::memotree();
    bench.write("README.md", "# The kaleidoscope\n");
    bench.write("build/ci.yml", "one\ntwo\nthree\n");
    bench.write("logo.png", "\u{0}\u{1}PNG");
    bench.write(".env", "KEY=hunter2\n");
    let query = "NodeStore by README.md and build/ci.yml:2, cortex.toml:2-3, logo.png, .env, gone.md, .git/config, and/or";
    let answer = built(&bench, &["--query", query, "--budget", "1500"]);
    assert_eq!(
        paths(&answer)[..4],
        ["README.md", "build/ci.yml", "cortex.toml", "NodeStore"],
        "{answer}"
    );
    let text = answer["contextText"].as_str().expect("a text");
    assert!(
        text.contains("## README.md\nREADME.md:1-1\n```md\n# The kaleidoscope\n```\n"),
        "{text}"
    );
    assert!(text.contains("## build/ci.yml\nbuild/ci.yml:2-2\n```yml\ntwo\n```\n"), "{text}");
    assert!(!text.contains("hunter2"));
    let left = |at: usize, field: &str| answer["leftOut"][at][field].as_str().expect("a text");
    let lines: Vec<String> = (0..4).map(|at| format!("{}: {}", left(at, "path"), left(at, "why"))).collect();
    assert!(lines[0].starts_with("logo.png: it is binary"), "{lines:?}");
    assert_eq!(
        lines[1..],
        [
            ".env: .env is hidden from models by **/.env",
            "gone.md: there is no such file in the root, and no source has this name",
            ".git/config: .git/config belongs to git",
        ]
    );
    assert_eq!(answer["state"]["complete"], false);
    assert_eq!(
        built(&bench, &["--query", query, "--budget", "1500"]),
        answer,
        "it is the same again"
    );
    // A query that names nothing else has the whole budget for the file.
    let long: String = (0..2000).map(|line| format!("line {line}\n")).collect();
    bench.write("NOTES.md", &long);
    let alone = built(&bench, &["--query", "NOTES.md", "--budget", "1000"]);
    assert_eq!(
        (paths(&alone), alone["items"][0]["form"].as_str()),
        (vec!["NOTES.md".to_owned()], Some("file"))
    );
    assert!(alone["tokens"].as_u64() > Some(800), "{alone}");
    let why = alone["items"][0]["why"].as_str().expect("a reason");
    assert!(why.ends_with("-2000 have no room in the budget"), "{why}");
}

#[test]
fn names_with_spaces_are_found_as_they_are_written() {
    let bench = Bench::memotree();
    bench.write("docs/My Notes.md", "# The kaleidoscope\n");
    bench.write("src/My Box/Lid [1].cs", "namespace Boxes;\nclass Lid { }\n");
    bench.write("scratch pad/own.txt", "mine\n");
    bench.write("docs/[id],old.md", "# An old one\n");
    bench.write("scratch pad/[a],b.txt", "mine, too\n");
    bench.write(".gitignore", "scratch pad/\n");
    for (query, expected) in [
        ("why does docs/My Notes.md say so?", "docs/My Notes.md"),
        ("\"My Notes.md\" is wrong", "docs/My Notes.md"),
        ("see `docs\\my notes.md`:1", "docs/My Notes.md"),
        ("[notes](docs/My%20Notes.md#L1)", "docs/My Notes.md"),
        ("[notes](<docs/My Notes.md>)", "docs/My Notes.md"),
        ("/ci/1/docs/My Notes.md:1: spelling", "docs/My Notes.md"),
        ("what is in 'scratch pad/own.txt'", "scratch pad/own.txt"),
        ("what is in scratch pad/own.txt:1?", "scratch pad/own.txt"),
        ("diff:\n--- a/scratch pad/own.txt\n+++ b/scratch pad/own.txt", "scratch pad/own.txt"),
        ("src/My Box/Lid [1].cs(2,7): error", "Boxes.Lid"),
        ("[lid](src/My%20Box/Lid%20%5B1%5D.cs)", "Boxes.Lid"),
        ("[old](docs/%5Bid%5D,old.md#L1)", "docs/[id],old.md"),
        ("[old](docs/%5Bid%5D%2Cold.md)", "docs/[id],old.md"),
        ("[own](scratch%20pad/%5Ba%5D,b.txt)", "scratch pad/[a],b.txt"),
    ] {
        let answer = built(&bench, &["--query", query, "--budget", "600"]);
        assert_eq!(paths(&answer)[0], expected, "{query}: {answer}");
        let mentions = answer["mentions"].as_array().expect("mentions");
        assert!(mentions.iter().all(|one| one["notShown"].is_null()), "{query}: {answer}");
    }
    let gone = built(&bench, &["--query", "\"docs/Other Notes.md\"", "--budget", "300"]);
    assert_eq!(gone["leftOut"][0]["path"], "Notes.md", "{gone}");
}

#[test]
fn lines_of_code_in_which_no_type_stands_are_shown() {
    let bench = Bench::memotree();
    let file = "src/MemoTree.Core/Top.cs";
    let text =
        "using System;\nusing static System.Math;\n\n[assembly: CLSCompliant(true)]\n\nnamespace Tops\n{\n    class Top\n    {\n    }\n}\n";
    bench.write(file, text);
    let shown = |lines: &str| {
        let answer = built(&bench, &["--query", &format!("{file}:{lines}"), "--budget", "600"]);
        assert!(answer["mentions"][0]["notShown"].is_null(), "{answer}");
        let text = answer["contextText"].as_str().expect("a text");
        let fence = text.split_once("```cs\n").and_then(|(_, rest)| rest.split_once("```"));
        fence.map(|(lines, _)| lines.to_owned())
    };
    assert_eq!(shown("1-2").as_deref(), Some("using System;\nusing static System.Math;\n"));
    assert_eq!(shown("4").as_deref(), Some("[assembly: CLSCompliant(true)]\n"));
    let before = "[assembly: CLSCompliant(true)]\n\nnamespace Tops\n{\n";
    assert_eq!(shown("4-10").as_deref(), Some(before), "and the type");
    assert_eq!((shown("7-10"), shown("8"), shown("9-99")), (None, None, None));
    assert_eq!(shown("11").as_deref(), Some("}\n"));
    assert_eq!(shown("50-60").as_deref(), Some("}\n"), "the nearest line that there is");
}

#[test]
fn an_invalid_query_is_refused() {
    let bench = Bench::memotree();
    for (args, code, says) in [
        (vec!["--query", " "], 2, "the query is empty"),
        (
            vec!["--query", "x", "--weights", "bm25=7"],
            2,
            "weights: '7' is not a number from 0 to 1",
        ),
        (
            vec!["--query", "x", "--conversation", "c7"],
            2,
            "there is no conversation of this handle",
        ),
        (
            vec!["--query", "x", "--conversation", "../c7"],
            2,
            "there is no conversation of this handle",
        ),
        (
            vec!["--query", "Gone.cs is slow", "--why"],
            0,
            "left out 0.00 Gone.cs: there is no such file in the root, and no source has this name",
        ),
        (
            vec!["--query", "quux zzyzx"],
            0,
            "no type of the workspace contains a word of the query",
        ),
        (
            vec!["--query", "node store", "--budget", "50"],
            0,
            "not shown because of the budget",
        ),
        (
            vec!["--query", "node store", "--budget", "5"],
            2,
            "a budget of 5 tokens is too small: without any code, the answer has ",
        ),
    ] {
        let ran = bench.run(&[&["context", "build"], args.as_slice()].concat());
        assert!(ran.code == code && ran.all().contains(says), "{args:?}: {ran:?}");
    }
    let folder = bench.root().join(".cortex");
    std::fs::write(folder.join("conversations.json"), "[").expect("file");
    let ran = bench.run(&["context", "build", "--query", "x", "--conversation", "new"]);
    assert!(ran.code == 5 && ran.all().contains("conversations.json"), "{ran:?}");
    assert_eq!(std::fs::read(folder.join("conversations.json")).expect("file"), b"[");
}

#[test]
fn an_edit_is_seen_by_the_next_query() {
    let bench = Bench::memotree();
    let query = ["--query", "the kaleidoscope", "--budget", "1000"];
    assert_eq!(paths(&built(&bench, &query)), [""; 0]);
    let file = bench.root().join("src/MemoTree.Core/Storage/Crc32.cs");
    let text = std::fs::read_to_string(&file).expect("text");
    std::fs::write(&file, text.replacen("Compute", "Kaleidoscope", 1)).expect("written");
    assert_eq!(paths(&built(&bench, &query))[0], "Storage.Crc32");
}

#[test]
fn types_hidden_from_models_are_left_out_and_reported() {
    let bench = Bench::memotree();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    let secret = "\n[producer.semantic]\nuses = \"semantic\"\nparams.never_send = [\"src/MemoTree.Core/NodeId.cs\"]\n";
    let query = "`NodeId` and NodeId#IsNone, src/MemoTree.Core/NodeId.cs:16, the id of a node";
    let ask = ["--query", query, "--budget", "6000"];
    assert!(paths(&built(&bench, &ask)).contains(&"NodeId".to_owned()));
    bench.write("cortex.toml", &format!("{manifest}{secret}"));
    let answer = built(&bench, &ask);
    assert!(
        !paths(&answer).contains(&"NodeId".to_owned()) && paths(&answer).len() > 3,
        "{answer}"
    );
    let text = answer["contextText"].as_str().expect("a text");
    assert!(!text.contains("struct NodeId") && !text.contains("IsNone =>"), "{text}");
    let why = "src/MemoTree.Core/NodeId.cs is hidden from models by src/MemoTree.Core/NodeId.cs";
    for (at, named) in ["NodeId", "NodeId#IsNone", "src/MemoTree.Core/NodeId.cs:16"].iter().enumerate() {
        assert_eq!(answer["mentions"][at]["types"], serde_json::json!([]), "{named}");
        assert_eq!(
            (&answer["leftOut"][at]["path"], &answer["leftOut"][at]["why"]),
            (&(*named).into(), &why.into())
        );
    }
    let notes = answer["state"]["notes"].to_string();
    assert!(
        answer["state"]["complete"] == false
            && notes.contains("1 type that contains a word of the query is in a file that is never sent, and not shown"),
        "{notes}"
    );
}

#[test]
fn each_omitted_type_has_its_true_reason() {
    let bench = Bench::memotree();
    let reasons = |args: &[&str]| -> (Value, Vec<String>) {
        let answer = built(&bench, &[&["--query", "node store", "--budget", "600"], args].concat());
        let left = answer["leftOut"].as_array().expect("a list");
        let why = left.iter().map(|left| left["why"].as_str().expect("a reason").to_owned()).collect();
        (answer, why)
    };
    let (answer, why) = reasons(&[]);
    assert!(paths(&answer).len() > 5, "{answer}");
    let full = "the budget allows 15 types, and better ones were chosen";
    let passed = why.iter().position(|why| why == full).expect("more types fit");
    assert!(answer["leftOut"][passed]["score"].as_f64() > Some(0.0), "{answer}");
    let no_room = "there is no room for it in the budget";
    assert!(why[..passed].iter().all(|why| why == no_room), "{why:?}");
    let (answer, why) = reasons(&["--weights", "access=1,bm25=0,recency=0,dependency=0,coverage=0"]);
    assert!(paths(&answer).is_empty() && !why.is_empty(), "{answer}");
    assert!(why.iter().all(|why| why == "no counted factor favours it"), "{why:?}");
    let notes = answer["state"]["notes"].to_string();
    assert!(
        notes.contains("no type is chosen: no type that contains a word of the query scores"),
        "{notes}"
    );
}

#[test]
fn a_named_type_is_shown_as_code_as_soon_as_it_fits() {
    let bench = Bench::memotree();
    let ask = |budget: u64| built(&bench, &["--query", "`NodeStore`", "--budget", &budget.to_string()]);
    let all = ask(u64::MAX);
    let items = all["items"].as_array().expect("a list");
    let ratio = all["quality"]["compressionRatio"].as_f64().expect("a figure");
    assert!(
        items.len() > 20 && items.iter().take(20).all(|item| item["form"] == "code") && (0.9..1.3).contains(&ratio),
        "{ratio}"
    );
    let code = items[0]["tokens"].as_u64().expect("tokens");
    // Besides it there are a line or two for the others, the heading, and the omitted items.
    let budget = code + 40 * items.len() as u64 + 100;
    assert_eq!(ask(budget)["items"][0]["form"], "code", "{code} of {budget}");
}

#[test]
fn a_named_type_comes_first_and_reports_which_forms_have_no_room() {
    let bench = Bench::memotree();
    let ask = |budget: u64| built(&bench, &["--query", "`NodeStore` writes", "--budget", &budget.to_string()]);
    let why = |answer: &Value| answer["items"][0]["why"].as_str().expect("a reason").to_owned();
    let whole = ask(u64::MAX);
    assert!(whole["items"][0]["form"] == "code" && !why(&whole).contains("no room"), "{whole}");
    let code = whole["items"][0]["tokens"].as_u64().expect("tokens");
    let short = ask(code);
    let outline = short["items"][0]["tokens"].as_u64().expect("tokens");
    assert_eq!(short["items"][0]["form"], "outline", "{short}");
    assert!(why(&short).contains(" tokens) has no room in the budget"), "{short}");
    // The same holds if others have hardly a line beside it.
    let close = ask(outline * 8 / 7 + 25);
    assert_eq!(close["items"][0]["form"], "outline", "{close}");
    let brief = ask(outline);
    assert_eq!(brief["items"][0]["form"], "brief", "{brief}");
    assert!(
        why(&brief).contains(" tokens) and its outline have no room in the budget"),
        "{brief}"
    );
}

#[test]
fn all_types_that_are_named_are_shown_or_left_out_for_their_true_reason() {
    let bench = Bench::memotree();
    let named = "FileBlobStorage FindCommand FlagPredicate IBlobStorage ICommand ILodPolicy INodeExporter INodePredicate INodeStore IRepository \
        JsonExporter KindPredicate LodView MarkdownExporter MarkdownImporter MemoryBlobStorage NodeChange NodeCodec NodeContent NodeExtensions \
        NodeFlags NodeQuery NodeStore NodeStoreOptions NodeVisitor";
    for budget in ["100", "400", "1500"] {
        let answer = built(&bench, &["--query", named, "--budget", budget]);
        let shown = paths(&answer);
        let left = answer["leftOut"].as_array().expect("a list");
        let mentions = answer["mentions"].as_array().expect("mentions");
        assert_eq!(mentions.len(), 25, "{answer}");
        for path in mentions.iter().flat_map(|one| one["types"].as_array().expect("types")) {
            let reason = left.iter().find(|left| left["path"] == *path).map(|left| &left["why"]);
            let is_shown = shown.iter().any(|shown| path.as_str().is_some_and(|path| path.ends_with(shown)));
            assert!(
                is_shown || reason.is_some_and(|why| why == "there is no room for it in the budget"),
                "{budget}: {path}: {answer}"
            );
        }
    }
}

#[test]
fn rounds_tell_their_threshold_and_handles_are_what_they_are() {
    let bench = Bench::memotree();
    let first = built(&bench, &["--query", "NodeCodec", "--conversation", "new"]);
    assert_eq!(first["conversation"]["threshold"], 0.4);
    for id in ["c01", "c+1", "c2"] {
        let ran = bench.run(&["context", "build", "--query", "NodeCodec", "--conversation", id]);
        assert!(
            ran.code == 2 && ran.err.contains("there is no conversation of this handle"),
            "{ran:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_mentioned_path_outside_the_workspace_is_reported() {
    let bench = Bench::memotree();
    let outside = bench.beside("outside");
    std::fs::write(&outside, "the kaleidoscope").expect("written");
    std::os::unix::fs::symlink(&outside, bench.root().join("link")).expect("a link");
    let query = format!("NodeStore by `link` and {}, at /api/nodes", outside.display());
    let answer = built(&bench, &["--query", &query, "--budget", "1000"]);
    for (at, path) in ["link", "TEMP/outside"].into_iter().enumerate() {
        let left = &answer["leftOut"][at];
        let why = format!("{path} leads out of the workspace");
        assert_eq!((&left["path"], &left["why"]), (&path.into(), &why.into()), "{answer}");
    }
    let mentions = answer["mentions"].as_array().expect("a list");
    assert!(mentions.iter().all(|one| one["text"] != "/api/nodes"), "what is no file is none");
}
