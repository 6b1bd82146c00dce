//! Overlays for programs: methods of a service and MCP tools with the argument `overlay`; and edit sessions as overlays.

use crate::bench::Bench;
use crate::mcp::{Client as Model, text};
use crate::serve::Service;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::Stdio;

const FILE: &str = "src/MemoTree.Core/NodeStore.cs";
const FROM: &str = "Nodes cannot be moved yet";
const TO: &str = "Moving is for later";

fn edited(bench: &Bench) -> String {
    let text = fs::read_to_string(bench.root().join(FILE)).expect("file");
    format!("{}\npublic class Idea {{ }}\n", text.replace(FROM, TO))
}

#[test]
fn methods_of_a_service_are_asked_about_an_overlay() {
    let bench = Bench::memotree();
    let service = Service::start(&bench);
    let mut client = service.client();
    let summary = |told: &Value| told["semanticText"].as_str().expect("a text").to_owned();
    let mut about = |method: &str, params: Value| client.result(method, params);
    about("overlay.open", json!({"name": "w"}));
    about("overlay.put", json!({"name": "w", "path": FILE, "text": edited(&bench)}));
    // The service's memory of the workspace does not answer for the overlay, nor vice versa.
    for _ in 0..2 {
        let without = about("semantic", json!({"symbol": "NodeStore"}));
        assert!(summary(&without).contains(FROM), "{without}");
        let within = about("semantic", json!({"symbol": "NodeStore", "overlay": "w"}));
        assert!(summary(&within).contains(TO) && !summary(&within).contains(FROM), "{within}");
        assert_eq!(within["state"]["freshness"], "current");
        for (overlay, count) in [(None, 0), (Some("w"), 1)] {
            let found = about("resolve", json!({"symbol": "Idea", "overlay": overlay}));
            assert_eq!(found["total"], count, "{found}");
        }
    }
    let window = bench.root().join(".cortex/window.json");
    fs::remove_file(&window).expect("it was noted what was looked at");
    about("outline", json!({"symbols": "Idea", "overlay": "w"}));
    assert!(!window.exists(), "nothing of the checkout moves");
    for (method, params, why) in [
        ("outline", json!({"symbols": "Idea", "overlay": "v"}), "E_NO_OVERLAY"),
        ("outline", json!({"symbols": "Idea", "overlay": 5}), "'overlay' must be a string"),
        ("pack.list", json!({"overlay": "w"}), "there is no argument of this name"),
        (
            "overlay.put",
            json!({"name": "w", "path": FILE}),
            "one of three for a file: a text, `delete` or `drop`",
        ),
    ] {
        let refused = client.ask(method, params);
        assert!(refused["error"].to_string().contains(why), "{refused}");
    }
    client.result("overlay.discard", json!({"name": "w"}));
    let ended = client.ask("semantic", json!({"symbol": "NodeStore", "overlay": "w"}));
    assert!(ended["error"].to_string().contains("E_NO_OVERLAY"), "{ended}");
}

#[test]
fn overlays_are_one_tool() {
    let bench = Bench::memotree();
    let mut model = Model::structured(&bench, false);
    assert!(text(&model.call("semantic", json!({"symbol": "NodeStore"}))).contains(FROM));
    let mut overlay = |arguments: Value| {
        let answer = model.call("overlay", arguments);
        assert_eq!(answer["isError"], json!(false), "{answer}");
        answer
    };
    overlay(json!({"op": "open", "name": "w"}));
    overlay(json!({"op": "put", "name": "w", "path": FILE, "text": edited(&bench)}));
    let differs = overlay(json!({"op": "diff", "name": "w", "targets": "//types/...:semantic"}));
    assert!(
        differs["structuredContent"]["documents"][0]["path"] == FILE && text(&differs).contains(TO),
        "{differs}"
    );
    assert!(differs["structuredContent"]["targets"]["stale"].as_u64() > Some(0), "{differs}");
    overlay(json!({"op": "build", "name": "w", "patterns": ["//types/...:semantic"]}));
    let listed = overlay(json!({"op": "list"}));
    assert_eq!(listed["structuredContent"]["overlays"][0]["documents"][0]["path"], FILE);
    for (arguments, why) in [
        (json!({"op": "opn"}), "did you mean 'open'?"),
        (json!({"name": "w"}), "the argument 'op' is missing"),
        (json!({"op": "merge"}), "the argument 'name' is missing"),
        (
            json!({"op": "put", "name": "w", "path": FILE, "texxt": "x"}),
            "did you mean 'text'?",
        ),
    ] {
        let actual = model.failure("overlay", arguments);
        assert!(actual.contains(why), "{actual}");
    }
    let within = model.call("semantic", json!({"symbol": "NodeStore", "overlay": "w"}));
    assert!(text(&within).contains(TO), "{within}");
    assert!(model.read("cortex://method/overlay_put").contains("tool `overlay` with `op` `put`"));
    let merged = model.call("overlay", json!({"op": "merge", "name": "w"}));
    assert_eq!(merged["structuredContent"]["merged"], true);
    assert!(fs::read_to_string(bench.root().join(FILE)).expect("file").contains(TO));
}

#[test]
fn builds_in_overlays_run_beside_one_of_the_checkout() {
    let (bench, pipe) = Bench::waits();
    for name in ["a", "b"] {
        assert_eq!(bench.run(&["overlay", "open", name]).code, 0);
    }
    let mut build = bench.command(&["build", "//index:waits"]);
    let mut build = build.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    // Opening the pipe for writing blocks until the command reads it: the checkout is being built.
    let mut held = fs::File::options().write(true).open(&pipe).expect("the command reads");
    for name in ["a", "b"] {
        // Waiting for that build would be a deadlock.
        let built = bench.run(&["overlay", "build", name, "//types/NodeStore:outline"]);
        assert_eq!(built.code, 0, "{built:?}");
    }
    assert!(build.try_wait().expect("a child").is_none(), "it went on meanwhile");
    held.write_all(b"x").expect("written");
    drop(held);
    assert!(build.wait().expect("it ends").success());
}

#[test]
fn unsaved_edits_of_a_session_act_as_an_overlay() {
    let bench = Bench::memotree();
    let run = |args: &[&str]| bench.run(args);
    let opened = run(&["edit", "open", FILE, "--json"]).json();
    let session = opened["session"].as_str().expect("a handle");
    let shown = |overlay: &[&str]| run(&[&["show", "//types/NodeStore:semantic"], overlay].concat()).out;
    let saved = shown(&[]);
    let nothing = run(&["overlay", "diff", session, "--json"]).json();
    assert_eq!(nothing["documents"], json!([]), "{nothing}");
    let nothing = run(&["overlay", "diff", session]).out;
    assert_eq!(nothing, format!("session {session} has nothing that is not saved\n"));
    let edit = ["edit", "replace", "--session", session, "--old-text", FROM, "--new-text", TO];
    assert_eq!(run(&edit).code, 0);
    let foretold = shown(&["--overlay", session]);
    assert!(foretold.contains(TO) && !foretold.contains(FROM), "{foretold}");
    assert_eq!(shown(&[]), saved, "nothing of the checkout moves");
    let differs = run(&["overlay", "diff", session, "--targets", "--json"]).json();
    assert_eq!(
        (&differs["documents"][0]["path"], &differs["documents"][0]["kind"]),
        (&json!(FILE), &json!("changed"))
    );
    assert!(differs["targets"]["stale"].as_u64() > Some(0), "{differs}");
    assert_eq!(run(&["overlay", "build", session, "//..."]).code, 0);
    // Its results stay as long as the session, and another overlay's end does not remove them.
    assert_eq!(run(&["overlay", "open", "other"]).code, 0);
    assert_eq!(run(&["overlay", "discard", "other"]).code, 0);
    assert_eq!(run(&["gc", "--older-than", "0", "--keep-versions", "0"]).code, 0);
    assert_eq!(run(&["overlay", "build", session, "//...", "--json"]).json()["ran"], 0);
    // Only session operations change and save it.
    for refused in [
        &["overlay", "put", session, FILE, "--delete"][..],
        &["overlay", "merge", session],
        &["overlay", "discard", session],
    ] {
        let actual = run(refused);
        assert_eq!(actual.code, 2, "{actual:?}");
        assert!(
            actual.err.contains(&format!("cortex edit commit --session {session}")),
            "{actual:?}"
        );
    }
    assert_eq!(run(&["edit", "commit", "--session", session]).code, 0);
    let built = run(&["build", "//...", "--json"]).json();
    assert_eq!((&built["tally"]["ran"], shown(&[])), (&json!(0), foretold), "{built}");
    assert_eq!(run(&["edit", "close", "--session", session]).code, 0);
    let gone = run(&["show", "//types/NodeStore:semantic", "--overlay", session]);
    assert!(gone.err.contains("E_NO_OVERLAY"), "{gone:?}");
}

#[test]
fn no_overlay_stands_over_a_manifest_that_a_session_edits() {
    let bench = Bench::memotree();
    let args = ["edit", "open", "cortex.toml", "--manifest", "--json"];
    let opened = bench.run(&args).json();
    let session = opened["session"].as_str().expect("a handle");
    let edit = [
        "edit", "append", "--manifest", "--session", session, "--anchor", "$", "--new-text", "# more\n",
    ];
    assert_eq!(bench.run(&edit).code, 0);
    let ran = bench.run(&["overlay", "build", session, "//..."]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.err.contains(&format!("cortex edit commit cortex.toml --session {session}")),
        "{ran:?}"
    );
}

#[test]
fn a_session_shows_what_saving_it_would_come_to() {
    let bench = Bench::memotree();
    let run = |args: &[&str]| bench.run(args);
    let write = |text: &str| fs::write(bench.root().join(FILE), text).expect("written");
    let text = fs::read_to_string(bench.root().join(FILE)).expect("file");
    let opened = run(&["edit", "open", FILE, "--json"]).json();
    let session = opened["session"].as_str().expect("a handle");
    assert_eq!(
        run(&["edit", "replace", "--session", session, "--old-text", FROM, "--new-text", TO]).code,
        0
    );
    // Foreign writes elsewhere in the file are part of the text to save.
    write(&format!("{text}public class Theirs {{ }}\n"));
    let found = run(&["resolve", "Theirs", "--overlay", session]);
    assert_eq!(found.code, 0, "{found:?}");
    assert!(run(&["show", "//types/NodeStore:semantic", "--overlay", session]).out.contains(TO));
    // A conflict would prevent the save.
    write(&text.replace(FROM, "Not now"));
    for refused in [
        &["overlay", "build", session, "//..."][..],
        &["resolve", "NodeStore", "--overlay", session],
    ] {
        let stdout = run(refused);
        assert_eq!(stdout.code, 2, "{stdout:?}");
        assert!(
            stdout.err.contains(&format!("{FILE} is OutOfSync in the session {session}")),
            "{stdout:?}"
        );
    }
    let differs = run(&["overlay", "diff", session, "--json"]).json();
    assert_eq!(differs["documents"][0]["file"], "conflict", "{differs}");
    // A session is saved, not merged.
    let stdout = run(&["overlay", "diff", session]).out;
    assert!(
        stdout.starts_with(&format!(
            "changed {FILE}; the file changed in the workspace since, and saving conflicts\n"
        )),
        "{stdout}"
    );
    fs::remove_file(bench.root().join(FILE)).expect("removed");
    fs::create_dir(bench.root().join(FILE)).expect("folder");
    let stdout = run(&["overlay", "diff", session]).out;
    assert!(
        stdout.contains(&format!("; nothing can be saved there: {FILE} is not a regular file\n")),
        "{stdout}"
    );
    fs::remove_dir(bench.root().join(FILE)).expect("removed");
    write(&text);
    // A session cannot change which files are sources, nor the name of an overlay.
    let rules = run(&["edit", "create", ".ignore", "--mode", "manual", "--new-text", "docs/\n", "--json"]).json();
    let rules = rules["session"].as_str().expect("a handle");
    let stdout = run(&["overlay", "build", rules, "//..."]);
    assert!(
        stdout.err.contains(&format!("cortex edit commit .ignore --session {rules}")),
        "{stdout:?}"
    );
    assert!(run(&["overlay", "open", session]).err.contains("is an edit session"));
}
