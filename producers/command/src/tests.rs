//! Programs that misbehave, and their diagnostics.

use super::*;
use engine::manifest::template::Vars;
use engine::seams::producer::{Cancel, Input};
use engine::values::digest::Digest;
use std::sync::Arc;

fn run(argv: &[&str], timeout: u64, inputs: &[(&str, &str, &str)], cancel: &Cancel) -> Result<Output, Failure> {
    let params: Params = serde_json::json!({"argv": argv, "timeout": timeout})
        .as_object()
        .cloned()
        .expect("object");
    let producer = CommandProducer { trust: Arc::new(All) };
    producer.check(&params).expect("good parameters");
    let mut roles: BTreeMap<Arc<str>, Vec<Input>> = BTreeMap::new();
    for (role, item, text) in inputs {
        let input = Input::of(item, text.as_bytes());
        roles.entry((*role).into()).or_default().push(input);
    }
    let vars = Vars::new();
    let bound = producer.bind(&params, &BTreeMap::new());
    let mut inputs = Inputs::bare("//a:b", &bound.params, &roles, &vars, cancel);
    inputs.settings = &bound.settings;
    producer.produce(&inputs)
}

#[test]
fn inputs_are_files_and_standard_output_is_the_output() {
    let output = run(
        &["sh", "-c", "cat {in.a}; echo {label} $HOME; ls; pwd | grep -c cortex-"],
        10,
        &[("a", "", "hello\n")],
        &Cancel::default(),
    );
    assert_eq!(
        String::from_utf8(output.expect("runs").bytes).expect("text"),
        "hello\n//a:b\na\n1\n"
    );
    let output = run(
        &["cat", "{in.list}"],
        10,
        &[("list", "x", "1"), ("list", "y", "2")],
        &Cancel::default(),
    );
    assert_eq!(output.expect("runs").bytes, b"12");
    let output = run(&["echo", "a", "{in.none}", "{in.none}b"], 10, &[], &Cancel::default());
    assert_eq!(output.expect("runs").bytes, b"a b\n");
}

#[test]
fn the_variable_holds_the_label_where_it_or_the_label_is_named() {
    let output_of = |script: &str| {
        let output = run(&["sh", "-c", script], 10, &[], &Cancel::default());
        String::from_utf8(output.expect("runs").bytes).expect("text")
    };
    assert_eq!(output_of("echo $CORTEX_LABEL"), "//a:b\n");
    assert_eq!(output_of("echo {label} $CORTEX_LABEL"), "//a:b //a:b\n");
    assert_eq!(output_of("env | grep -c CORTEX || true"), "0\n", "what names no label has none");
    let sees = |shell: &str| {
        let params: Params = serde_json::from_value(serde_json::json!({ "shell": shell })).expect("an object");
        CommandProducer { trust: Arc::new(All) }.sees(&params).label
    };
    assert!(sees("./run $CORTEX_LABEL") && sees("./run {label}") && !sees("./run"));
}

#[test]
fn failures_say_what_happened() {
    let message = |failure: Result<Output, Failure>| match failure {
        Err(Failure::Permanent(why) | Failure::Transient(why)) => format!("{} {}", why.message, why.found.unwrap_or_default()),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        message(run(&["sh", "-c", "echo no >&2; exit 3"], 10, &[], &Cancel::default())),
        "'sh' failed: exit status: 3 no"
    );
    assert!(message(run(&["/no/such/program"], 10, &[], &Cancel::default())).contains("cannot be started"));
    assert!(message(run(&["sh", "-c", "sleep 100 & sleep 100"], 1, &[], &Cancel::default())).contains("within 1 s"));
}

#[test]
fn a_program_that_closes_its_streams_and_runs_on_is_ended_in_time() {
    let closes = ["sh", "-c", "exec >&- 2>&-; sleep 100"];
    let Err(Failure::Permanent(why) | Failure::Transient(why)) = run(&closes, 1, &[], &Cancel::default()) else {
        panic!("it did not fail");
    };
    assert!(why.message.contains("within 1 s"), "{why:?}");
    let ends = ["sh", "-c", "echo early; exec >&- 2>&-; sleep 0.2; exit 0"];
    assert_eq!(run(&ends, u64::MAX, &[], &Cancel::default()).expect("it ends").bytes, b"early\n");
}

#[test]
fn a_cancelled_program_is_ended() {
    let cancel = Cancel::default();
    cancel.cancel();
    assert_eq!(run(&["sleep", "100"], 200, &[], &cancel), Err(Failure::Cancelled));
}

#[test]
fn a_tool_is_what_was_declared() {
    let params = |tools: serde_json::Value| -> Params {
        serde_json::json!({"argv": ["cat", "{in.a}"], "tools": tools})
            .as_object()
            .cloned()
            .expect("object")
    };
    let producer = CommandProducer { trust: Arc::new(All) };
    let run = |tools: serde_json::Value| {
        let (vars, cancel) = (Vars::new(), Cancel::default());
        let roles = BTreeMap::from([("a".into(), vec![Input::of("", b"hello".as_slice())])]);
        let bound = producer.bind(&params(tools), &BTreeMap::new());
        assert!(bound.params.contains_key("tools"), "in the key");
        producer.produce(&Inputs::bare("//a:b", &bound.params, &roles, &vars, &cancel))
    };
    let cat = Digest::of(&std::fs::read(find::find_program("cat", Path::new("/")).expect("in PATH")).expect("a program"));
    assert_eq!(
        run(serde_json::json!({"cat": format!("blake3:{cat}"), "sh": "1.2"}))
            .expect("runs")
            .bytes,
        b"hello"
    );
    for tools in [
        serde_json::json!({"cat": format!("blake3:{}", Digest::of(b"other"))}),
        serde_json::json!({"no-such-tool": format!("blake3:{cat}")}),
        serde_json::json!({"no-such-tool": "1.2"}),
        serde_json::json!({"/usr": "1.2"}),
    ] {
        match run(tools) {
            Err(Failure::Permanent(why)) => assert_eq!(why.code, "E_TOOL"),
            other => panic!("{other:?}"),
        }
    }
    for tools in [
        serde_json::json!("cat"),
        serde_json::json!({"cat": 1}),
        serde_json::json!({"cat": ""}),
        serde_json::json!({"cat": "blake3:12"}),
        serde_json::json!({"bin/cat": "1"}),
    ] {
        assert_eq!(producer.check(&params(tools)).expect_err("refused").len(), 1);
    }
}
