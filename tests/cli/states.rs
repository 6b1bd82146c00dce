//! States of summaries as files and commands tell them.

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
        (index["types"][0]["semanticState"].as_str().expect("a word").to_owned(), counted)
    };
    let alone = |word: &str, (told, counted): (String, serde_json::Value)| {
        assert_eq!((told.as_str(), &counted[word]), (word, &1.into()), "{counted}");
    };
    assert_eq!(bench.run(&["build", "//index:json"]).code, 0);
    alone("none", states());
    assert_eq!(bench.run(&["build", "//..."]).code, 1);
    alone("pending", states());
    // It is the last try that counts, not the last build.
    assert_eq!(bench.run(&["build", "//index:json"]).code, 0);
    alone("pending", states());
    // An earlier summary does not hide that the next one failed.
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
    // What moved since may let the next try succeed.
    bench.write("A.cs", "namespace N;\npublic class A { public void Run() { Run(); } }\n");
    assert_eq!(bench.run(&["build", "//index:types"]).code, 0);
    assert_eq!(bench.run(&["status", "--output", "json"]).json()["semantic"]["stale"], 1);
}
