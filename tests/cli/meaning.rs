//! `search --semantic` and `duplicates`, which use the vectors of types.

use crate::bench::Bench;
use serde_json::json;

/// Returns a bench with three types, two of which are nearly the same.
fn bench() -> Bench {
    let bench = Bench::empty();
    bench.write(
        "cortex.toml",
        "[workspace]\nname = \"meaning\"\nrulesets = [\"csharp\", \"embeddings\"]\n",
    );
    let sender = |name: &str| {
        format!(
            "namespace N;\n/// <summary>Sends a message to every subscriber.</summary>\npublic class {name}\n{{\n    public void Publish(string message) {{ }}\n    public void Subscribe(string subscriber) {{ }}\n}}\n"
        )
    };
    bench.write("Sender.cs", &sender("MessageSender"));
    bench.write("Copy.cs", &sender("MessageSenderCopy"));
    bench.write(
        "Clock.cs",
        "namespace N;\n/// <summary>Says what time it is.</summary>\npublic class Clock { public long Ticks => 0; }\n",
    );
    bench
}

#[test]
fn types_are_found_by_what_they_are_about() {
    let bench = bench();
    let found = bench.run(&["search", "--semantic", "notify subscribers", "--json"]).json();
    assert_eq!(found["hits"][0]["path"], "N.MessageSender", "{found}");
    assert_eq!(found["hits"][0]["matched"], "semantic");
    assert_eq!(
        bench.run(&["search", "--semantic", "the time", "--limit", "1", "--json"]).json()["hits"][0]["path"],
        "N.Clock"
    );
    // An edit changes one vector, and the answer with it.
    bench.write(
        "Clock.cs",
        "namespace N;\n/// <summary>Compresses bytes.</summary>\npublic class Zip { public int Level => 0; }\n",
    );
    let found = bench
        .run(&["search", "--semantic", "compresses bytes", "--limit", "1", "--json"])
        .json();
    assert_eq!(found["hits"][0]["path"], "N.Zip", "{found}");
    let alike = bench.run(&["duplicates", "--least", "0.7", "--json"]).json();
    assert_eq!(
        alike["pairs"][0]["types"],
        json!(["N.MessageSender", "N.MessageSenderCopy"]),
        "{alike}"
    );
    assert_eq!((alike["total"].clone(), alike["types"].clone()), (json!(1), json!(3)));
}

#[test]
fn without_the_ruleset_it_says_what_to_write() {
    let bench = Bench::memotree();
    for args in [&["search", "--semantic", "x"][..], &["duplicates"]] {
        let ran = bench.run(args);
        assert!(ran.code == 2 && ran.err.contains("add \"embeddings\" to 'rulesets'"), "{ran:?}");
    }
    assert_eq!(bench.run(&["duplicates", "--least", "2"]).code, 2);
}

/// A build asks the model for the types' vectors; a search only for the vector of its own text.
#[test]
fn a_program_makes_the_vectors_and_a_search_buys_none_of_them() {
    let bench = bench();
    let manifest = "[workspace]\nname = \"meaning\"\nrulesets = [\"csharp\", \"embeddings\"]\n[producer.embedding]\nparams.model = \"own\"\n[model.own]\napi = \"command\"\ncommand = [\"sh\", \"own.sh\"]\n";
    bench.write("cortex.toml", manifest);
    let script = "echo asked >> asked; if grep -q time; then echo '[1, 0.5]'; else echo '[0.5, 1]'; fi\n";
    bench.write("own.sh", script);
    let calls = || std::fs::read_to_string(bench.root().join("asked")).map_or(0, |text| text.lines().count());
    let ran = bench.run(&["search", "--semantic", "what time"]);
    assert!(ran.code == 2 && ran.err.contains("cortex build '//index:vectors'"), "{ran:?}");
    assert_eq!(calls(), 0);
    assert_eq!(bench.run(&["build", "//index:vectors"]).code, 0);
    assert_eq!(calls(), 3);
    let found = bench.run(&["search", "--semantic", "what time", "--json"]).json();
    assert_eq!(found["hits"][0]["path"], "N.Clock", "{found}");
    assert_eq!(calls(), 4);
    assert_eq!(bench.run(&["search", "--semantic", "what time"]).code, 0);
    assert_eq!(calls(), 4, "the same text is asked about once");
    let cost = bench.run(&["cost"]);
    assert!(
        cost.out.contains("//types/N.Clock:embedding"),
        "what was asked is counted: {cost:?}"
    );
}

const OWN: &str = "[workspace]\nname = \"meaning\"\nrulesets = [\"csharp\", \"embeddings\"]\n[producer.embedding]\nparams.model = \"own\"\n[model.own]\napi = \"command\"\ncommand = [\"sh\", \"own.sh\"]\n";

#[test]
fn a_build_is_told_what_vectors_of_a_model_cost() {
    let bench = bench();
    bench.write("cortex.toml", &format!("{OWN}price = {{ input = 1.0, output = 1.0 }}\n"));
    bench.write("own.sh", "echo asked >> asked; echo '[1, 0.5]'\n");
    let priced = bench.run(&["build", "--dry-run", "//index:vectors"]);
    assert!(
        priced.err.contains("asks     3 new answers: 3 calls, about ") && priced.err.contains(" USD"),
        "{priced:?}"
    );
    let prompt = bench.run(&["prompt", "//types/N.Clock:embedding"]);
    assert!(prompt.code == 0 && prompt.out.contains("Says what time it is"), "{prompt:?}");
    assert!(!bench.root().join("asked").exists());
}

#[test]
fn a_semantic_search_reports_omitted_types_and_its_freshness() {
    let bench = bench();
    bench.write("cortex.toml", OWN);
    // The model returns longer vectors for messages, and a zero vector for time.
    let mixed = "text=$(cat); case \"$text\" in *time*) echo '[0, 0]' ;; *Copy*) echo '[1, 0, 0]' ;; *) echo '[1, 0.5]' ;; esac\n";
    bench.write("own.sh", mixed);
    for name in ["Other", "Third"] {
        bench.write(
            &format!("{name}.cs"),
            &format!("namespace N;\npublic class {name} {{ public int Value => 0; }}\n"),
        );
    }
    assert_eq!(bench.run(&["build", "//index:vectors"]).code, 0);
    let found = bench.run(&["search", "--semantic", "message", "--json"]).json();
    let notes = found["state"]["notes"].to_string();
    assert!(
        notes.contains("1 type is left out because of a vector of zeros alone")
            && notes.contains("1 type is left out because of a vector that has not 2 numbers"),
        "{found}"
    );
    assert_eq!(
        (&found["state"]["freshness"], &found["state"]["complete"]),
        (&json!("current"), &json!(false))
    );
    assert!(found["hits"][0]["likeness"].is_number(), "{found}");
    let alike = bench.run(&["duplicates", "--json"]).json();
    assert_eq!(
        (&alike["types"], alike["state"]["notes"].as_array().map(Vec::len)),
        (&json!(3), Some(2))
    );
    // A type is deleted; the vectors are the old ones.
    std::fs::remove_file(bench.root().join("Other.cs")).expect("removed");
    for args in [
        &["search", "--semantic", "message", "--json"][..],
        &["duplicates", "--least", "0.5", "--json"],
    ] {
        let actual = bench.run(args).json();
        assert_eq!(actual["state"]["freshness"], "stale", "{actual}");
        assert!(!actual.to_string().contains("N.Other"), "{actual}");
    }
}

#[test]
fn vectors_of_another_model_are_made_anew_as_the_error_says() {
    let bench = bench();
    bench.write("cortex.toml", OWN);
    bench.write("own.sh", "cat > asked; echo '[1, 0.5]'\n");
    assert_eq!(bench.run(&["build", "//index:vectors"]).code, 0);
    assert_eq!(bench.run(&["search", "--semantic", "message"]).code, 0);
    bench.write("own.sh", "cat > asked; echo '[1, 0.5, 0]'\n");
    let other = bench.run(&["search", "--semantic", "another"]);
    assert!(
        other.code == 2 && other.err.contains("cortex invalidate '//types/...:embedding'"),
        "{other:?}"
    );
    assert_eq!(bench.run(&["invalidate", "//types/...:embedding"]).code, 0);
    assert_eq!(bench.run(&["build", "//index:vectors"]).code, 0);
    // The stored vector of an earlier query comes from the former model.
    for text in ["another", "message"] {
        let ran = bench.run(&["search", "--semantic", text]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

#[test]
fn a_search_by_meaning_finds_types_alone() {
    let ran = bench().run(&["search", "--semantic", "time", "--kind", "method"]);
    assert!(ran.code == 2 && ran.err.contains("finds types alone"), "{ran:?}");
    // All pairs are counted, although none is listed.
    let bench = bench();
    let counted = bench.run(&["duplicates", "--least", "0.7", "--limit", "0"]);
    assert!(
        !counted.out.contains("is so like another") && counted.out.contains("0 of 1 are shown"),
        "{counted:?}"
    );
    assert_eq!(bench.run(&["overlay", "open", "o"]).code, 0);
    assert_eq!(bench.run(&["duplicates", "--overlay", "o"]).code, 0);
}
