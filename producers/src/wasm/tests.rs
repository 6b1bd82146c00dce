//! Modules that behave well, and modules that do not.

use super::*;
use engine::manifest::template::Vars;
use engine::seams::producer::Input;
use engine::values::table::write_table;
use serde_json::json;
use std::sync::Arc;

/// The beginning of every module here.
const IMPORTS: &str = r#"
    (import "cortex" "count" (func $count (param i32 i32) (result i32)))
    (import "cortex" "item" (func $item (param i32 i32 i32 i32 i32) (result i32)))
    (import "cortex" "read" (func $read (param i32 i32 i32 i32 i32) (result i32)))
    (import "cortex" "params" (func $params (param i32 i32) (result i32)))
    (import "cortex" "output" (func $output (param i32 i32)))
    (import "cortex" "warn" (func $warn (param i32 i32)))
    (import "cortex" "fail" (func $fail (param i32 i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "list")
"#;

fn module(run: &str) -> String {
    format!("(module {IMPORTS} (func (export \"run\") {run}))")
}

fn produce(module: &str, params: &Value, cancel: &Cancel) -> Result<Output, Failure> {
    let producer = WasmProducer::default();
    let params = params.as_object().cloned().expect("an object");
    producer.check(&params).expect("good parameters");
    let bound = producer.bind(&params, &BTreeMap::new());
    let table = write_table(&BTreeMap::from([("row", b"{\"a\":1}")]));
    let list = [("x", b"one".to_vec()), ("y", table)].map(|(item, bytes)| Input::of(item, bytes));
    // A module that is not in the text format is passed on unchanged.
    let module = wat::parse_str(module).unwrap_or_else(|_| module.as_bytes().to_vec());
    let roles = BTreeMap::from([(Arc::from(MODULE), vec![Input::of("", module)]), (Arc::from("list"), list.into())]);
    let vars = Vars::new();
    let mut inputs = Inputs::bare("//a:b", &bound.params, &roles, &vars, cancel);
    inputs.settings = &bound.settings;
    producer.produce(&inputs)
}

fn run(text: &str, params: &Value) -> Result<Output, Failure> {
    produce(&module(text), params, &Cancel::default())
}

fn why(made: Result<Output, Failure>) -> Diagnostic {
    match made {
        Err(Failure::Permanent(why)) => *why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_module_sees_its_inputs_and_parameters() {
    // The number of inputs, then each one's name and bytes, then the parameters.
    let text = r#"
        (local $n i32)
        (i32.store8 (i32.const 100) (i32.add (i32.const 48) (call $count (i32.const 0) (i32.const 4))))
        (call $output (i32.const 100) (i32.const 1))
        (loop $next
            (call $output (i32.const 200) (call $item (i32.const 0) (i32.const 4) (local.get $n) (i32.const 200) (i32.const 99)))
            (call $output (i32.const 200) (call $read (i32.const 0) (i32.const 4) (local.get $n) (i32.const 200) (i32.const 999)))
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $n) (i32.const 2))))
        (call $output (i32.const 200) (call $params (i32.const 200) (i32.const 999)))
        (call $warn (i32.const 0) (i32.const 4))
    "#;
    let made = run(text, &json!({"depth": 3, "fuel": 1_000_000_000, "memory": "1 MB"})).expect("runs");
    assert_eq!(
        String::from_utf8_lossy(&made.bytes),
        "2xoney{\n  \"row\": {\n    \"a\": 1\n  }\n}\n{\"depth\":3}"
    );
    assert_eq!(
        (made.diagnostics[0].code.as_str(), &*made.diagnostics[0].message),
        ("W_MODULE", "list")
    );
    let cut = run(
        "(call $output (i32.const 200) (call $read (i32.const 0) (i32.const 4) (i32.const 0) (i32.const 200) (i32.const 2)))",
        &json!({}),
    );
    assert_eq!(cut.expect("runs").bytes, b"on\0", "three bytes there are, two had room");
}

#[test]
fn a_module_that_fails_says_why() {
    assert_eq!(
        why(run("(call $fail (i32.const 0) (i32.const 4))", &json!({}))).message,
        "the module failed: list"
    );
    let trapped = why(run("unreachable", &json!({})));
    assert_eq!(trapped.message, "the module trapped");
    assert!(trapped.found.expect("the trap").contains("unreachable"));
}

#[test]
fn a_module_is_bounded() {
    let fuel = json!({"fuel": 30_000_000});
    let message_of = |text: &str, params: &Value| why(run(text, params)).message;
    assert_eq!(message_of("(loop $again (br $again))", &fuel), "the module used up its fuel");
    // Work of the host burns fuel too.
    let copying = "(loop $again (call $output (i32.const 0) (i32.const 65536)) (br $again))";
    assert_eq!(
        message_of(copying, &json!({"fuel": 30_000_000, "memory": "1 GB"})),
        "the module used up its fuel"
    );
    assert_eq!(
        message_of(copying, &json!({"memory": "1 MB"})),
        "the module wants more memory than it may have"
    );
    let growing = "(drop (memory.grow (i32.const 1000)))";
    assert_eq!(
        message_of(growing, &json!({"memory": "1 MB"})),
        "the module wants more memory than it may have"
    );
    for outside in [
        "(call $output (i32.const 65530) (i32.const 100))",
        "(call $output (i32.const -1) (i32.const -1))",
        "(drop (call $params (i32.const 65535) (i32.const 10)))",
        "(drop (call $read (i32.const 0) (i32.const 4) (i32.const 2) (i32.const 0) (i32.const 0)))",
        "(drop (call $item (i32.const 0) (i32.const 4) (i32.const -1) (i32.const 0) (i32.const 0)))",
        "(drop (call $count (i32.const 0) (i32.const 65000)))",
    ] {
        assert_eq!(
            message_of(outside, &json!({})),
            "the module named bytes outside of its memory",
            "{outside}"
        );
    }
    let deep = "(module (memory (export \"memory\") 1) (func $down (call $down)) (func (export \"run\") (call $down)))";
    assert_eq!(why(produce(deep, &json!({}), &Cancel::default())).message, "the module trapped");
}

#[test]
fn a_module_that_is_none_is_refused() {
    for (text, expected) in [
        ("no module", "its input 'module' is no WebAssembly module"),
        ("(module)", "the module cannot be run"),
        ("(module (func (export \"run\") (param i32)))", "the module cannot be run"),
        (
            "(module (import \"wasi_snapshot_preview1\" \"random_get\" (func (param i32 i32) (result i32))) (func (export \"run\")))",
            "the module imports what there is not",
        ),
        (
            "(module (import \"cortex\" \"output\" (func (param i32 i32))) (func (export \"run\") (call 0 (i32.const 0) (i32.const 1))))",
            "the module named bytes outside of its memory",
        ),
    ] {
        assert_eq!(why(produce(text, &json!({}), &Cancel::default())).message, expected, "{text}");
    }
}

#[test]
fn a_module_stops_when_told() {
    let cancel = Cancel::default();
    cancel.cancel();
    let made = produce(&module("(loop $again (br $again))"), &json!({}), &cancel);
    assert!(matches!(made, Err(Failure::Cancelled)));
}

#[test]
fn floats_have_one_form() {
    // The bits of 0/0 differ between processors.
    let text = r#"
        (f64.store (i32.const 100) (f64.div (f64.const 0) (f64.const 0)))
        (call $output (i32.const 100) (i32.const 8))
    "#;
    assert_eq!(run(text, &json!({})).expect("runs").bytes, 0x7ff8_0000_0000_0000_u64.to_le_bytes());
}

#[test]
fn wrong_bounds_are_told() {
    let producer = WasmProducer::default();
    for params in [
        json!({"fuel": 0}),
        json!({"fuel": "much"}),
        json!({"memory": 5}),
        json!({"memory": "some"}),
    ] {
        let errors = producer.check(params.as_object().expect("an object")).expect_err("refused");
        assert_eq!(errors.len(), 1, "{params}");
    }
}
