//! `search --semantic` and `duplicates`: what vectors of types are for.

use crate::bench::Bench;
use serde_json::json;

/// Three types, two of which are nearly the same.
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
    // An edit moves one vector, and the answer with it.
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

/// A model is asked for vectors by a build; a search asks it for its own text only.
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
