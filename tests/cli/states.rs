//! States of summaries as reported by files and commands.

use crate::bench::Bench;

#[test]
fn a_summary_that_failed_is_pending_in_the_index() {
    let bench = Bench::empty();
    let manifest = |tell: &str| {
        let head = "[workspace]\nname = \"p\"\nrulesets = [\"csharp\"]\n[producer.semantic]\nparams.model = \"own\"\n[model.own]\napi = \"command\"\n";
        bench.write(
            "cortex.toml",
            &format!("{head}command = [\"sh\", \"-c\", \"cat >/dev/null; {tell}\"]\n"),
        );
    };
    manifest("exit 1");
    bench.write("A.cs", "namespace N;\npublic class A { public void Run() { } }\n");
    let states = || {
        let text = std::fs::read_to_string(bench.root().join(".cortex/out/index.json")).expect("laid out");
        let index: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let counted = bench.run(&["--output", "json", "status"]).json()["semantic"].clone();
        (index["types"][0].clone(), counted)
    };
    let alone = |word: &str, (told, counted): (serde_json::Value, serde_json::Value)| {
        assert_eq!(
            (&told["semanticState"], &counted[status_word(word)]),
            (&word.into(), &1.into()),
            "{counted}"
        );
        assert_eq!(told["lastError"].is_string(), word == "pending", "{told}");
    };
    assert_eq!(bench.run(&["build", "//index:json"]).code, 0);
    alone("none", states());
    assert_eq!(bench.run(&["build", "//..."]).code, 1);
    alone("pending", states());
    // The last try decides, not the last build.
    assert_eq!(bench.run(&["build", "//index:json"]).code, 0);
    alone("pending", states());
    // An earlier summary does not hide a failed next one.
    let answer = "printf 'ROLE:\\\\n- Runs.\\\\nLIFECYCLE:\\\\n- None.\\\\nEDGE_CASES:\\\\n- None.\\\\nLIMITATIONS:\\\\n- None.\\\\nRECOMMENDATIONS:\\\\n- None.\\\\n'";
    manifest(answer);
    let built = bench.run(&["build", "//..."]);
    assert_eq!(built.code, 0, "{built:?}");
    alone("cached", states());
    manifest("exit 1");
    bench.write(
        "A.cs",
        "namespace N;\npublic class A { public void Run() { throw new System.Exception(); } }\n",
    );
    assert_eq!(bench.run(&["build", "//index:json"]).code, 0);
    alone("stale", states());
    assert_eq!(bench.run(&["build", "//..."]).code, 1);
    alone("pending", states());
    // After a change, the next try may succeed.
    bench.write("A.cs", "namespace N;\npublic class A { public void Run() { Run(); } }\n");
    assert_eq!(bench.run(&["build", "//index:types"]).code, 0);
    assert_eq!(bench.run(&["status", "--output", "json"]).json()["semantic"]["maybe_stale"], 1);
}

/// Returns `status`'s word for a state of `index.json`.
fn status_word(state: &str) -> &str {
    match state {
        "cached" => "current",
        "maybeStale" => "maybe_stale",
        state => state,
    }
}

#[test]
fn states_in_the_index_are_those_at_the_end_of_every_build() {
    let bench = Bench::memotree();
    // Counts types by word: in the file, in `status`, and in a query for stale ones.
    let result_of = || {
        let text = std::fs::read_to_string(bench.root().join(".cortex/out/index.json")).expect("laid out");
        let index: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let types = index["types"].as_array().expect("a list").iter();
        let count = |word: &str| types.clone().filter(|entry| entry["semanticState"] == word).count();
        let counted = bench.run(&["--output", "json", "status"]).json()["semantic"].clone();
        let words = ["none", "pending", "cached", "stale", "maybeStale"];
        assert_eq!(
            words.map(|word| counted[status_word(word)].as_u64().expect("a number") as usize),
            words.map(count)
        );
        let stale = bench.run(&["query", "stale(//types/...:semantic)"]).out.lines().count();
        let (stale_or_maybe, none) = (count("stale") + count("maybeStale"), count("none"));
        assert_eq!(stale, stale_or_maybe + none, "what was never made counts as stale there");
        (count("cached"), stale_or_maybe, none)
    };
    let build = |what: &str| assert_eq!(bench.run(&["build", what]).code, 0, "{what}");
    build("//index:json");
    assert_eq!(result_of(), (0, 0, 67));
    // A build without the file as a target.
    build("//types/...:semantic");
    assert_eq!(result_of(), (67, 0, 0));
    let codec = "src/MemoTree.Core/Storage/NodeCodec.cs";
    let before = std::fs::read_to_string(bench.root().join(codec)).expect("a file");
    bench.change(codec, "return tree", "System.GC.Collect(); return tree");
    build("//index:json");
    assert_eq!(result_of(), (66, 1, 0));
    // A marked target is not stale if its inputs are unchanged.
    bench.write(codec, &before);
    build("//index:json");
    assert_eq!(result_of(), (67, 0, 0));
    bench.change(codec, "return tree", "System.GC.Collect(); return tree");
    let index = || std::fs::read(bench.root().join(".cortex/out/index.json")).expect("laid out");
    let whole = index();
    build("//index:types");
    build("//types/MemoTree.Core.Storage.NodeCodec:impl");
    assert_eq!(index(), whole, "states of now would stand beside hashes of before");
    build("//index:json");
    assert_eq!(result_of(), (66, 1, 0));
    build("//types/MemoTree.Core.Storage.NodeCodec:semantic");
    assert_eq!(result_of(), (67, 0, 0));
    build("//index:json");
    assert_eq!(result_of(), (67, 0, 0));
    assert!(bench.run(&["build", "//index:json"]).err.contains("up to date"));
}

#[test]
fn the_index_says_when_it_was_made_if_asked() {
    let bench = Bench::memotree();
    let time = || {
        let text = std::fs::read_to_string(bench.root().join(".cortex/out/index.json")).expect("laid out");
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["generatedAt"].clone()
    };
    assert_eq!(bench.run(&["build", "//index:json"]).code, 0);
    assert_eq!(time(), serde_json::Value::Null);
    let dated = ["build", "--with-times", "//index:json"];
    assert_eq!(bench.run(&dated).code, 0);
    let first = time();
    assert!(first.as_str().expect("a time").ends_with('Z'), "{first}");
    assert!(bench.run(&dated).err.contains("all up to date"));
    assert_eq!(time(), first);
    bench.change("src/MemoTree.Core/NodeId.cs", "public ", "internal ");
    assert_eq!(bench.run(&["build", "//index:json"]).code, 0);
    assert_eq!(time(), serde_json::Value::Null);
}

/// Returns the state of an answer: freshness, completeness and notes.
fn state(bench: &Bench, args: &[&str]) -> (String, bool, String) {
    let ran = bench.run(&[args, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let state = &ran.json()["state"];
    let notes: Vec<String> = serde_json::from_value(state["notes"].clone()).expect("notes");
    let freshness = state["freshness"].as_str().expect("a word").to_owned();
    (freshness, state["complete"] == true, notes.join("; "))
}

fn current(notes: &str) -> (String, bool, String) {
    ("current".to_owned(), true, notes.to_owned())
}

#[test]
fn a_window_says_how_fresh_and_how_complete_it_is() {
    let bench = Bench::empty();
    let answer =
        "printf 'ROLE:\\n- Runs.\\nLIFECYCLE:\\n- None.\\nEDGE_CASES:\\n- None.\\nLIMITATIONS:\\n- None.\\nRECOMMENDATIONS:\\n- None.\\n'";
    bench.write(
        "cortex.toml",
        &format!(
            "[workspace]\nname = \"p\"\nrulesets = [\"csharp\"]\n[producer.semantic]\nparams.model = \"own\"\n[model.own]\napi = \"command\"\n\
             command = [\"sh\", \"-c\", \"cat >/dev/null; {answer}\"]\n"
        ),
    );
    bench.write("A.cs", "namespace N;\npublic class A { public void Run() { } }\n");
    let show = ["window", "show"];
    assert_eq!(
        state(&bench, &show),
        current("nothing is pinned, nothing was looked at and no pack is active")
    );
    assert_eq!(state(&bench, &["window", "pin", "A"]), current(""));
    let (freshness, complete, notes) = state(&bench, &show);
    assert!(
        freshness == "current" && !complete && notes.starts_with("1 type has no summary yet"),
        "{notes}"
    );
    assert_eq!(bench.run(&["semantic", "A", "--refresh"]).code, 0);
    assert_eq!(state(&bench, &show), current(""));
    bench.write(
        "A.cs",
        "namespace N;\npublic class A { public void Run() { throw new System.Exception(); } }\n",
    );
    let (freshness, complete, notes) = state(&bench, &show);
    assert!(
        freshness == "stale" && complete && notes.starts_with("1 summary is of an earlier version"),
        "{notes}"
    );
    bench.write("A.cs", "namespace N;\npublic class A { void M( { } class }\n");
    let (_, complete, notes) = state(&bench, &show);
    assert!(
        !complete && notes.contains("A.cs:2") && notes.contains("declarations of it may be missing here"),
        "{notes}"
    );
    std::fs::remove_file(bench.root().join("A.cs")).expect("removed");
    let (freshness, complete, notes) = state(&bench, &show);
    assert!(
        freshness == "current" && !complete && notes.contains("'cut' says what is not"),
        "{notes}"
    );
    assert_eq!(state(&bench, &["window", "unpin", "N.A"]), current(""));
}

#[test]
fn an_investigation_says_how_fresh_and_how_complete_what_it_saw_is() {
    let bench = Bench::memotree();
    let ask = [
        "investigate",
        "Where are blobs kept in storage?",
        "--scope",
        "MemoTree.Core.Storage",
    ];
    assert_eq!(state(&bench, &ask), current(""));
    let (freshness, complete, notes) = state(&bench, &[&ask[..], &["--budget", "400"]].concat());
    assert!(
        freshness == "current" && !complete && notes.contains("types of the scope do not fit the budget"),
        "{notes}"
    );
    assert_eq!(bench.run(&["semantic", "NodeCodec"]).code, 0);
    assert_eq!(state(&bench, &ask), current(""));
    let codec = "src/MemoTree.Core/Storage/NodeCodec.cs";
    let text = std::fs::read_to_string(bench.root().join(codec)).expect("a file");
    let at = text.find("return ").expect("a body");
    bench.write(codec, &format!("{}throw null!; {}", &text[..at], &text[at..]));
    let (freshness, complete, notes) = state(&bench, &ask);
    assert!(
        freshness == "stale" && complete && notes.starts_with("1 summaries that were shown are of earlier versions"),
        "{notes}"
    );
    bench.write("src/MemoTree.Core/Bad.cs", "class Bad { void M( { } class }\n");
    let (_, complete, notes) = state(&bench, &[&ask[..], &["--fresh"]].concat());
    assert!(!complete && notes.contains("Bad.cs:1"), "{notes}");
}

#[test]
fn only_summaries_are_told_as_summaries() {
    let bench = Bench::memotree();
    for (label, hint) in [
        ("//index:types", "a label that ends with :semantic"),
        ("//files/src/MemoTree.Core/Node.cs:syntax", "a label that ends with :semantic"),
        (
            "//types/MemoTree.Core.Node:outline",
            "the summary is //types/MemoTree.Core.Node:semantic",
        ),
    ] {
        let ran = bench.run(&["semantic", label]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        let parts = ["SymbolNotFound", hint, &format!("`cortex show '{label}'`")];
        assert!(parts.iter().all(|part| ran.err.contains(part)), "{}", ran.err);
    }
    assert_eq!(bench.run(&["semantic", "//types/Node:semantic"]).code, 0);
}

#[test]
fn a_summary_that_is_not_there_is_missing() {
    let bench = Bench::empty();
    let manifest = "[workspace]\nname = \"p\"\nrulesets = [\"csharp\"]\n[producer.semantic]\nparams.model = \"own\"\n\
                    [model.own]\napi = \"command\"\ncommand = [\"false\"]\n";
    bench.write("cortex.toml", manifest);
    bench.write("A.cs", "public class A { }\n");
    let (freshness, complete, notes) = state(&bench, &["semantic", "A"]);
    assert_eq!((freshness.as_str(), complete), ("stale", false), "{notes}");
    let stdout = bench.run(&["semantic", "A"]).out;
    assert!(
        stdout.starts_with("there is no summary of A yet\n") && stdout.contains("--refresh"),
        "{stdout}"
    );
}

/// Returns the words for one summary: of `semantic`, `index.json` and `status`.
fn words(bench: &Bench, name: &str) -> (String, usize, usize) {
    let said = bench.run(&["semantic", name, "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let counted = bench.run(&["--output", "json", "status"]).json()["semantic"].clone();
    let count = |word: &str| counted[word].as_u64().expect("a number") as usize;
    let word = said.json()["semanticState"].as_str().expect("a word").to_owned();
    (word, count("stale") + count("maybe_stale"), count("pending"))
}

#[test]
fn stale_is_said_of_what_has_to_be_asked_for_again_only() {
    let bench = Bench::empty();
    let answer =
        "printf 'ROLE:\\n- Runs.\\nLIFECYCLE:\\n- None.\\nEDGE_CASES:\\n- None.\\nLIMITATIONS:\\n- None.\\nRECOMMENDATIONS:\\n- None.\\n'";
    bench.write(
        "cortex.toml",
        &format!(
            "[workspace]\nname = \"p\"\nrulesets = [\"csharp\"]\n[producer.semantic]\nparams.model = \"own\"\n[model.own]\napi = \"command\"\n\
             command = [\"sh\", \"-c\", \"cat >/dev/null; {answer}\"]\n"
        ),
    );
    bench.write("A.cs", "namespace N;\npublic class A { public void Run() { } }\n");
    bench.write("B.cs", "namespace N;\npublic class B { public void Run() { } }\n");
    bench.write("C.cs", "namespace N;\npublic class C { public A Get() { return null; } }\n");
    // A dry run requests nothing.
    assert_eq!(bench.run(&["build", "--dry-run", "//types/...:semantic"]).code, 0);
    assert_eq!(words(&bench, "A"), ("none".to_owned(), 0, 0));
    assert_eq!(bench.run(&["build", "//types/...:semantic"]).code, 0);
    // A comment: no request is needed, as is found without one.
    bench.write("A.cs", "// A comment.\nnamespace N;\npublic class A { public void Run() { } }\n");
    assert_eq!(words(&bench, "A").0, "cached");
    assert_eq!(words(&bench, "C").0, "cached");
    // A body: its own summary, and perhaps that of its reader.
    bench.write("A.cs", "namespace N;\npublic class A { public void Run() { Run(); } }\n");
    assert_eq!(words(&bench, "B").0, "cached");
    assert_eq!(words(&bench, "C").0, "maybeStale");
    assert_eq!(words(&bench, "A"), ("stale".to_owned(), 2, 0));
}

#[test]
fn a_summary_that_a_model_is_asked_for_is_generating() {
    let bench = Bench::empty();
    let answer = "ROLE:\\n- Runs.\\nLIFECYCLE:\\n- None.\\nEDGE_CASES:\\n- None.\\nLIMITATIONS:\\n- None.\\nRECOMMENDATIONS:\\n- None.\\n";
    let (begun, go_on) = (bench.beside("begun"), bench.beside("go-on"));
    for pipe in [&begun, &go_on] {
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().expect("mkfifo").success());
    }
    bench.write(
        "cortex.toml",
        &format!(
            "[workspace]\nname = \"p\"\nrulesets = [\"csharp\"]\n[producer.semantic]\nparams.model = \"own\"\n[model.own]\napi = \"command\"\n\
             command = [\"sh\", \"-c\", \"cat >/dev/null; echo > {}; cat {} >/dev/null; printf '{answer}'\"]\n",
            begun.display(),
            go_on.display()
        ),
    );
    bench.write("A.cs", "namespace N;\npublic class A { public void Run() { } }\n");
    assert_eq!(bench.run(&["build", "//index:types"]).code, 0);
    std::thread::scope(|scope| {
        let build = scope.spawn(|| bench.run(&["build", "//types/...:semantic"]));
        // The model is running.
        std::fs::read(&begun).expect("the model says so");
        let status = bench.run(&["--output", "json", "status"]).json();
        let said = bench.run(&["semantic", "A", "--json"]).json();
        let why = bench.run(&["explain", "A:semantic", "--json"]).json();
        std::fs::write(&go_on, "\n").expect("the model reads");
        assert_eq!(build.join().expect("no panic").code, 0);
        assert_eq!(status["semantic"]["generating"], 1, "{status}");
        assert_eq!(said["semanticState"], "generating", "{said}");
        assert_eq!(why["state"], "generating", "{why}");
    });
    let status = bench.run(&["--output", "json", "status"]).json();
    assert_eq!(
        (&status["semantic"]["generating"], &status["semantic"]["current"]),
        (&0.into(), &1.into())
    );
}

#[test]
fn types_that_are_gone_are_not_counted_as_never_summarised() {
    let bench = Bench::empty();
    let command = r#"command = ["sh", "-c", "cat >/dev/null; printf 'ROLE:\\n- Runs.\\nLIFECYCLE:\\n- None.\\nEDGE_CASES:\\n- None.\\nLIMITATIONS:\\n- None.\\nRECOMMENDATIONS:\\n- None.\\n'"]"#;
    let head =
        "[workspace]\nname = \"p\"\nrulesets = [\"csharp\"]\n[producer.semantic]\nparams.model = \"own\"\n[model.own]\napi = \"command\"\n";
    bench.write("cortex.toml", &format!("{head}{command}\n"));
    for project in ["a", "b"] {
        bench.write(
            &format!("{project}/{project}.csproj"),
            "<Project Sdk=\"Microsoft.NET.Sdk\"></Project>",
        );
        bench.write(
            &format!("{project}/X.cs"),
            "namespace N;\npublic class X { public void Run() { } }\n",
        );
    }
    let build = || assert_eq!(bench.run(&["build", "//types/...:semantic", "//index:json"]).code, 0);
    build();
    std::fs::remove_file(bench.root().join("b/b.csproj")).expect("removed");
    // A query by name reads the types, before a build removes the deleted one.
    bench.run(&["semantic", "N.X"]);
    build();
    let semantic = bench.run(&["status", "--json"]).json()["semantic"].clone();
    assert_eq!((&semantic["current"], &semantic["none"]), (&2.into(), &0.into()), "{semantic}");
}
