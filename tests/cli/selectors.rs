//! `edit replace --selector`: replaces syntax nodes (seed 004 §18.4).

use crate::bench::Bench;
use serde_json::Value;
use std::fs;

const BEFORE: &str = "class A {\r\n  void M() {\r\n    Log(\"Log(0)\");\r\n    Log(Log(2));\r\n  }\r\n}\r\n";
const CALLS: &str = "(invocation_expression function: (identifier) @f (#eq? @f \"Log\")) @target";

fn replace(bench: &Bench, selector: &str, new: &str, more: &[&str]) -> (i32, Value) {
    let mut all = vec!["edit", "replace", "A.cs", "--json", "--selector", selector, "--new-text", new];
    all.extend(more);
    let ran = bench.run(&all);
    (ran.code, ran.json())
}

#[test]
fn nodes_of_a_selector_are_replaced_and_nothing_else() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"p\"\nrulesets = [\"csharp\"]\n");
    bench.write("A.cs", BEFORE);
    let text = || fs::read_to_string(bench.root().join("A.cs")).expect("file");
    let (code, several) = replace(&bench, CALLS, "Trace()", &[]);
    assert!(code != 0 && several["status"] == "MultiMatch", "{several}");
    assert!(several.to_string().contains("line 4: Log(Log(2))"), "{several}");
    assert_eq!(text(), BEFORE);
    // Only the outermost of nested nodes; strings contain no calls.
    let (code, done) = replace(&bench, CALLS, "Trace(\n)", &["--all"]);
    assert_eq!(code, 0, "{done}");
    let after = BEFORE
        .replace("Log(\"Log(0)\")", "Trace(\r\n)")
        .replace("Log(Log(2))", "Trace(\r\n)");
    assert_eq!(text(), after);
    assert_eq!(bench.run(&["edit", "undo"]).code, 0);
    assert_eq!(text(), BEFORE);
    let (code, done) = replace(&bench, CALLS, "Trace()", &["--old-text", "Log(2)"]);
    assert_eq!(code, 0, "{done}");
    assert_eq!(text(), BEFORE.replace("Log(2)", "Trace()"));
    for (selector, status, words) in [
        ("(lambda_expression)", "NoMatch", "matches no node"),
        ("(no_such_node)", "Exception", "line 1, column 2"),
        ("(identifier) @a (block) @b", "Exception", "2 captures"),
        (
            "(identifier) @target (#eq? @target \"N\")",
            "Exception",
            "outside of its pattern: (#eq? @target",
        ),
        (
            "((identifier) @target (#equals? @target \"N\"))",
            "Exception",
            "not evaluated: #equals?",
        ),
    ] {
        let (code, refused) = replace(&bench, selector, "x", &["--all"]);
        assert!(
            code != 0 && refused["status"] == status && refused.to_string().contains(words),
            "{selector}: {refused}"
        );
    }
    assert_eq!(text(), BEFORE.replace("Log(2)", "Trace()"));
}
