//! Agents in place of a language model: `work next` gives questions, `work submit` takes answers, and nothing else is called.

use crate::bench::{Bench, Ran};
use crate::serve::Service;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Instant;

const ALL: &str = "//types/...:semantic";
const AGENT: &str = "\n[model.agent]\napi = \"agent\"\n\n[producer.semantic]\nparams.model = \"agent\"\n";

/// `B` names `A`, so its question follows A's.
pub fn pair() -> Bench {
    let bench = Bench::empty();
    bench.write(
        "cortex.toml",
        &format!("[workspace]\nname = \"w\"\nrulesets = [\"csharp\"]\n{AGENT}"),
    );
    bench.write("A.cs", "namespace N;\npublic class A { public int Get() { return 1; } }\n");
    bench.write("B.cs", "namespace N;\npublic class B { public A Own() { return null; } }\n");
    bench
}

fn next(bench: &Bench, agent: &str, count: &str) -> Value {
    let ran = bench.run(&["--offline", "work", "next", "--agent", agent, "--count", count, "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

/// Returns the only question.
fn one(bench: &Bench, agent: &str) -> Value {
    let given = next(bench, agent, "1");
    assert_eq!(given["questions"].as_array().expect("a list").len(), 1, "{given}");
    given["questions"][0].clone()
}

fn id(question: &Value) -> &str {
    question["id"].as_str().expect("a name")
}

fn submit(bench: &Bench, agent: &str, id: &str, answer: &str) -> Ran {
    bench.run(&["--offline", "work", "submit", id, answer, "--agent", agent, "--json"])
}

/// Returns an answer with every section about every type that the prompt names, or "no change" for a patch.
pub fn answer(question: &Value) -> String {
    if question["kind"] == "patch" {
        return "NO CHANGE".to_owned();
    }
    let user = question["user"].as_str().expect("a prompt");
    let listed = user
        .lines()
        .skip_while(|line| !line.starts_with("- "))
        .take_while(|line| line.starts_with("- "));
    let types: Vec<&str> = listed
        .filter_map(|line| line[2..].rsplit_once(" ("))
        .map(|(name, _)| name)
        .collect();
    assert!(!types.is_empty(), "{user}");
    let mut text = String::new();
    for name in &types {
        if types.len() > 1 {
            text.push_str(&format!("# TYPE: {name}\n"));
        }
        text.push_str(&full(&format!("Is {name}.")));
    }
    text
}

fn full(role: &str) -> String {
    format!("ROLE:\n- {role}\n\nLIFECYCLE:\n- None.\n\nEDGE_CASES:\n- None.\n\nLIMITATIONS:\n- None.\n\nRECOMMENDATIONS:\n- None.\n\n")
}

#[test]
fn a_member_has_a_summary_where_a_model_writes_them() {
    let bench = pair();
    // Nothing is built yet.
    insta::assert_snapshot!(bench.run(&["semantic", "A#Get"]).all(), @r"
    exit 0
    there is no summary of N.A#Get() yet
    note: an agent answers for it: `cortex work next` gives the question, `cortex work submit` takes the answer
    ");
    let again = bench.run(&["--no-store", "semantic", "//types/N.A#Get():semantic"]);
    assert!(again.code == 0 && again.out.contains("no summary of N.A#Get() yet"), "{again:?}");
    bench.change("cortex.toml", AGENT, "");
    for name in ["A#Get", "//types/A#Get:semantic"] {
        let ran = bench.run(&["semantic", name]).all();
        assert!(
            ran.contains("exit 2\nerror[E_NO_TARGET]") && ran.contains(": summaries of members are written by a language model only"),
            "{ran}"
        );
        assert!(
            ran.contains("`cortex semantic '") && ran.contains("params.model names a model"),
            "{ran}"
        );
    }
    assert!(bench.run(&["semantic", "A#Gte"]).all().contains("SymbolNotFound"));
}

#[test]
fn a_scope_stands_anywhere() {
    let bench = pair();
    for scope in [&["A"][..], &["--scope", "A"], &["--scope", "A", "A"]] {
        let list = bench.run(&[&["work", "list"], scope].concat()).out;
        assert!(list.starts_with("1 target: 0 answered, 1 wait"), "{list}");
        let given = bench.run(&[&["work", "next", "--agent", "ann", "--json"], scope].concat()).json();
        assert_eq!(given["questions"][0]["label"], "//types/N.A:semantic", "{given}");
    }
    assert!(bench.run(&["work", "list"]).out.starts_with("2 targets: "));
}

#[test]
fn agents_fill_all_summaries_and_patch_what_moves() {
    let bench = Bench::memotree();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("text");
    bench.write("cortex.toml", &format!("{manifest}{AGENT}"));
    let first = bench.run(&["build", ALL]);
    assert_eq!(first.code, 0, "{first:?}");
    assert!(
        first.err.contains("wait for an agent") && first.err.contains("cortex work next"),
        "{}",
        first.err
    );
    let (mut answered, mut possible) = (0, Vec::new());
    loop {
        let given = next(&bench, "ann", "100");
        let questions = given["questions"].as_array().expect("a list");
        if questions.is_empty() {
            assert_eq!((given["waiting"].as_u64(), given["taken"].as_u64()), (Some(0), Some(0)));
            break;
        }
        for question in questions {
            let ran = submit(&bench, "ann", id(question), &answer(question));
            let became = ran.json();
            assert_eq!((ran.code, &became["status"]), (0, &"filed".into()), "{ran:?}");
            let next = became["next"].as_array().expect("a list");
            possible.extend(next.iter().map(|next| id(next).to_owned()));
            answered += 1;
        }
        // Every question from the second round on was announced as possible.
        let after = next(&bench, "ann", "100");
        for question in after["questions"].as_array().expect("a list") {
            assert!(possible.iter().any(|known| known == id(question)), "{question}");
        }
    }
    assert!(answered > 40, "{answered}");
    let built = bench.run(&["build", ALL]);
    assert_eq!(built.code, 0);
    assert!(built.err.contains("all up to date"), "{}", built.err);
    let listed = bench.run(&["work", "list", "--json"]).json();
    assert_eq!((&listed["done"], &listed["later"]), (&listed["targets"], &0.into()), "{listed}");
    let history = bench.run(&["history", "//types/NodeStore:semantic"]);
    assert!(history.out.contains("answered by agent ann"), "{history:?}");
    let cost = bench.run(&["cost"]);
    assert!(cost.out.starts_with("spent no money"), "{cost:?}");
    let store = "src/MemoTree.Core/NodeStore.cs";
    let code = std::fs::read_to_string(bench.root().join(store)).expect("code");
    bench.write(store, &code.replace("Nodes cannot be moved yet", "Moving is for later"));
    let given = next(&bench, "bob", "100");
    assert_eq!(given["waiting"], 1, "{given}");
    let patch = &given["questions"][0];
    assert_eq!(
        (patch["kind"].as_str(), patch["label"].as_str()),
        (Some("patch"), Some("//types/MemoTree.Core.NodeStore:semantic"))
    );
    assert!(patch["user"].as_str().expect("a prompt").contains("Moving is for later"), "{patch}");
    let became = submit(&bench, "bob", id(patch), "NO CHANGE").json();
    assert_eq!((&became["status"], &became["next"]), (&"filed".into(), &serde_json::json!([])));
    let history = bench.run(&["history", "//types/NodeStore:semantic"]);
    assert!(history.out.contains("answered by agent bob"), "{history:?}");
}

#[test]
fn a_summary_that_waits_for_an_agent_is_no_failure_of_the_store() {
    let bench = pair();
    for args in [&["show", "--refresh", "//types/N.A:semantic"][..], &["semantic", "A", "--refresh"]] {
        let shown = bench.run(args);
        assert_eq!(shown.code, 1, "{shown:?}");
        assert!(
            shown.err.contains("it waits for an agent's answer") && shown.err.contains("work next"),
            "{shown:?}"
        );
    }
}

#[test]
fn a_refused_answer_is_told_with_reasons_and_the_question_waits() {
    let bench = pair();
    let asked = one(&bench, "ann");
    assert_eq!(
        (asked["label"].as_str(), asked["kind"].as_str()),
        (Some("//types/N.A:semantic"), Some("new"))
    );
    for times in 1..=4 {
        let ran = submit(&bench, "ann", id(&asked), "It holds a number.");
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(
            ran.err.contains("E_ANSWER") && ran.err.contains(&format!("{times} refused")),
            "{}",
            ran.err
        );
    }
    let again = one(&bench, "ann");
    assert_eq!((id(&again), &again["refused"]), (id(&asked), &4.into()), "{again}");
    assert!(!again["faults"].as_array().expect("a list").is_empty(), "{again}");
    assert!(
        bench
            .run(&["work", "list"])
            .out
            .contains("new //types/N.A:semantic, with ann, 4 refused")
    );
    let became = submit(&bench, "ann", id(&asked), &full("Holds a number.")).json();
    assert_eq!(became["next"][0]["label"], "//types/N.B:semantic", "{became}");
    assert!(bench.run(&["show", "//types/A:semantic"]).out.contains("- Holds a number."));
}

#[test]
fn a_patch_that_cannot_be_put_in_waits_for_a_better_one() {
    let bench = pair();
    let asked = one(&bench, "ann");
    assert_eq!(submit(&bench, "ann", id(&asked), &full("Holds a number.")).code, 0);
    bench.write("A.cs", "namespace N;\npublic class A { public int Get() { return 12345; } }\n");
    let given = bench.run(&["work", "next", "--scope", "A", "--json"]).json();
    let patch = &given["questions"][0];
    assert_eq!(patch["kind"], "patch", "{given}");
    let ran = submit(&bench, "ann", id(patch), "WORDS of no section");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("it has no section, or an empty one"), "{}", ran.err);
    let given = bench.run(&["work", "next", "--scope", "A", "--json"]).json();
    assert_eq!(
        (id(&given["questions"][0]), &given["questions"][0]["refused"]),
        (id(patch), &1.into()),
        "{given}"
    );
    let ran = submit(&bench, "ann", id(patch), "EDGE_CASES:\n- Gives a large number [Get].\n");
    assert_eq!(ran.json()["status"], "filed", "{ran:?}");
    assert!(
        bench
            .run(&["show", "//types/A:semantic"])
            .out
            .contains("- Gives a large number [Get].")
    );
}

#[test]
fn an_answer_to_what_moved_is_refused_with_what_moved_and_kept() {
    let bench = pair();
    let before = std::fs::read_to_string(bench.root().join("A.cs")).expect("code");
    let asked = one(&bench, "ann");
    bench.write("A.cs", &before.replace("return 1", "return 2"));
    let ran = submit(&bench, "ann", id(&asked), &full("Gives one."));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.err.contains("E_MOVED") && ran.err.contains("return 1") && ran.err.contains("return 2"),
        "{}",
        ran.err
    );
    let moved = one(&bench, "ann");
    assert_ne!(id(&moved), id(&asked), "the question of now has a name of its own");
    assert_ne!(
        bench.run(&["show", "--allow-stale", "//types/A:semantic"]).code,
        0,
        "nothing was filed"
    );
    // The same question is asked again: the answer is stored.
    bench.write("A.cs", &before);
    let built = bench.run(&["build", "//types/A:semantic"]);
    assert!(built.code == 0 && built.err.contains("1 file written"), "{built:?}");
    assert!(bench.run(&["show", "//types/A:semantic"]).out.contains("- Gives one."));
    let gone = one(&bench, "ann");
    assert_eq!(gone["label"], "//types/N.B:semantic");
    std::fs::remove_file(bench.root().join("B.cs")).expect("removed");
    let ran = submit(&bench, "ann", id(&gone), &full("Owns."));
    assert!(ran.code == 1 && ran.err.contains("this target no longer exists"), "{ran:?}");
}

#[test]
fn a_question_whose_dependency_moved_waits_for_it() {
    let bench = pair();
    let asked = one(&bench, "ann");
    assert_eq!(submit(&bench, "ann", id(&asked), &full("Holds.")).code, 0);
    let later = one(&bench, "ann");
    assert_eq!(later["label"], "//types/N.B:semantic");
    bench.write("A.cs", "namespace N;\npublic class A { public int Get() { return 77; } }\n");
    let ran = submit(&bench, "ann", id(&later), &full("Owns."));
    assert!(ran.code == 1 && ran.err.contains("has to be answered first"), "{ran:?}");
    // The patch changes nothing, so the question about B stays the same: its answer is used.
    let patch = one(&bench, "ann");
    assert_eq!(
        (patch["label"].as_str(), patch["kind"].as_str()),
        (Some("//types/N.A:semantic"), Some("patch"))
    );
    assert_eq!(submit(&bench, "ann", id(&patch), "NO CHANGE").code, 0);
    assert!(bench.run(&["build", ALL]).err.contains("up to date"));
    assert!(bench.run(&["show", "//types/B:semantic"]).out.contains("- Owns."));
}

#[test]
fn two_agents_get_different_questions_also_at_the_same_moment() {
    let bench = Bench::empty();
    bench.write(
        "cortex.toml",
        &format!("[workspace]\nname = \"w\"\nrulesets = [\"csharp\"]\n{AGENT}"),
    );
    for name in ["A", "B", "C", "D"] {
        bench.write(&format!("{name}.cs"), &format!("namespace N;\npublic class {name} {{ }}\n"));
    }
    let agents: Vec<_> = ["ann", "bob", "eve"]
        .map(|agent| {
            let mut command = bench.command(&["work", "next", "--agent", agent, "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        })
        .into_iter()
        .map(|child| bench.ran(child.wait_with_output().expect("it ends")).json())
        .collect();
    let mut ids: Vec<&str> = agents.iter().map(|given| id(&given["questions"][0])).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3, "{agents:?}");
    let mine = one(&bench, "ann");
    assert_eq!(id(&mine), id(&agents[0]["questions"][0]), "who comes again gets what he has");
    let rest = next(&bench, "", "100");
    assert_eq!(
        (rest["questions"].as_array().map(Vec::len), &rest["taken"]),
        (Some(1), &3.into()),
        "{rest}"
    );
    // The lease expired: another agent gets the question, and the late answer is not needed.
    let note = bench.root().join(format!(".cortex/work/{}.json", id(&mine)));
    let mut noted: Value = serde_json::from_str(&std::fs::read_to_string(&note).expect("a note")).expect("JSON");
    noted["lease"]["until"] = 1.into();
    std::fs::write(&note, noted.to_string()).expect("written");
    assert!(
        next(&bench, "bob", "100")["questions"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|one| id(one) == id(&mine))
    );
    assert_eq!(submit(&bench, "bob", id(&mine), &full("By bob.")).json()["status"], "filed");
    let late = submit(&bench, "ann", id(&mine), &full("By ann."));
    assert_eq!((late.code, &late.json()["status"]), (0, &"before".into()), "{late:?}");
    let shown = bench.run(&["show", mine["label"].as_str().expect("a label")]).out;
    assert!(shown.contains("By bob.") && !shown.contains("By ann."), "{shown}");
}

#[test]
fn an_answer_submitted_before_a_kill_is_used_by_the_next_build() {
    let bench = pair();
    let asked = one(&bench, "ann");
    // The state after a kill between the note and the build.
    let note = bench.root().join(format!(".cortex/work/{}.json", id(&asked)));
    let mut noted: Value = serde_json::from_str(&std::fs::read_to_string(&note).expect("a note")).expect("JSON");
    noted["answer"] = serde_json::json!({"agent": "ann", "at": 1, "text": full("Survives.")});
    std::fs::write(&note, noted.to_string()).expect("written");
    assert_eq!(one(&bench, "ann")["label"], "//types/N.B:semantic", "A has its answer");
    assert!(bench.run(&["show", "//types/A:semantic"]).out.contains("- Survives."));
    // A torn note is ignored: the question is given again.
    let asked = one(&bench, "ann");
    let note = bench.root().join(format!(".cortex/work/{}.json", id(&asked)));
    std::fs::write(&note, "{\"label\": \"//ty").expect("written");
    assert_eq!(id(&one(&bench, "bob")), id(&asked));
    assert_eq!(submit(&bench, "bob", id(&asked), &full("Owns.")).code, 0);
}

#[test]
fn killed_while_handing_in() {
    const TIMES: u32 = 12;
    let bench = pair();
    std::fs::remove_file(bench.root().join("B.cs")).expect("removed");
    for number in 0..TIMES {
        bench.write(&format!("T{number}.cs"), &format!("namespace N;\npublic class T{number} {{ }}\n"));
    }
    let asked = one(&bench, "ann");
    let start = Instant::now();
    assert_eq!(submit(&bench, "ann", id(&asked), &full("Measured.")).code, 0);
    let length = start.elapsed();
    let mut killed = 0;
    for number in 0..TIMES {
        let asked = one(&bench, "ann");
        let text = full(&format!("Answer {number}."));
        let mut command = bench.command(&["--offline", "work", "submit", id(&asked), &text, "--agent", "ann"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut out = child.stdout.take().expect("piped");
        let (send, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = out.read_to_end(&mut Vec::new());
            send.send(())
        });
        killed += u32::from(ended.recv_timeout(length * number / TIMES).is_err());
        // A process that has ended cannot be killed.
        let _ = child.kill();
        child.wait().expect("an end");
        // Whatever was done of it, a repetition has the same result.
        let again = submit(&bench, "ann", id(&asked), &text);
        let status = again.json()["status"].clone();
        assert!(again.code == 0 && (status == "filed" || status == "before"), "{number}: {again:?}");
        let shown = bench.run(&["show", asked["label"].as_str().expect("a label")]);
        assert!(shown.out.contains(&format!("- Answer {number}.")), "{number}: {shown:?}");
    }
    assert!(killed >= TIMES / 4, "hardly any of them ended early: {killed}");
    assert_eq!(next(&bench, "ann", "9")["waiting"], 0);
    assert!(
        bench.run(&["build", ALL]).err.contains("up to date"),
        "nothing that was filed is lost"
    );
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
}

#[test]
fn questions_and_answers_go_through_a_service() {
    let bench = pair();
    let service = Service::start(&bench);
    let given = bench.run(&["work", "next", "--agent", "ann", "--json"]).json();
    let asked = &given["questions"][0];
    assert_eq!(asked["label"], "//types/N.A:semantic", "{given}");
    let refused = bench.run(&["work", "submit", id(asked), "It holds a number.", "--agent", "ann"]);
    assert!(refused.code == 1 && refused.err.contains("E_ANSWER"), "{refused:?}");
    let became = bench
        .run(&["work", "submit", id(asked), &full("Holds."), "--agent", "ann", "--json"])
        .json();
    assert_eq!(became["next"][0]["label"], "//types/N.B:semantic", "{became}");
    let mut client = service.client();
    let given = client.result("work.next", json!({"agent": "bob"}));
    let asked = &given["questions"][0];
    assert_eq!(asked["label"], "//types/N.B:semantic", "{given}");
    let became = client.result("work.submit", json!({"id": id(asked), "answer": full("Owns."), "agent": "bob"}));
    assert_eq!(became["status"], "filed", "{became}");
    assert!(bench.run(&["show", "//types/B:semantic"]).out.contains("- Owns."));
    let methods = client.result("cortex.about", json!({}))["methods"].clone();
    let calls = |method: &str| (methods[method]["calls"].clone(), methods[method]["failed"].clone());
    assert_eq!(calls("work next"), (json!(2), json!(0)), "{methods}");
    assert_eq!(calls("work submit"), (json!(3), json!(1)), "{methods}");
}

#[test]
fn regenerate_has_an_agent_answer_anew() {
    let bench = pair();
    let asked = one(&bench, "ann");
    assert_eq!(submit(&bench, "ann", id(&asked), &full("First.")).code, 0);
    let wanted = bench.run(&["regenerate", "//types/A:semantic"]);
    assert!(wanted.code == 0 && wanted.err.contains("wait for an agent"), "{wanted:?}");
    let given = bench.run(&["work", "next", "--scope", "A", "--json"]).json();
    assert_eq!(given["questions"][0]["why"], "a new answer was requested", "{given}");
    let ran = submit(&bench, "bob", id(&given["questions"][0]), &full("Second."));
    assert_eq!(ran.json()["status"], "filed", "{ran:?}");
    assert!(bench.run(&["show", "//types/A:semantic"]).out.contains("- Second."));
    let given = bench.run(&["work", "next", "--scope", "A", "--json"]).json();
    assert_eq!(given["waiting"], 0, "{given}");
}

#[test]
fn an_answer_may_stand_in_a_file_or_come_on_standard_input() {
    let bench = pair();
    let asked = one(&bench, "ann");
    bench.write("answer.md", &full("From a file."));
    assert_eq!(bench.run(&["work", "submit", id(&asked), "--file", "answer.md"]).code, 0);
    assert!(bench.run(&["history", "//types/A:semantic"]).out.contains("answered by an agent"));
    let asked = one(&bench, "ann");
    let mut command = bench.command(&["work", "submit", id(&asked), "--file", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(full("From a pipe.").as_bytes())
        .expect("written");
    let ran = bench.ran(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(bench.run(&["show", "//types/B:semantic"]).out.contains("- From a pipe."));
}

#[test]
fn an_invalid_submission_is_refused_with_the_reason() {
    let bench = pair();
    let asked = one(&bench, "ann");
    let wrong = |args: &[&str], code: i32, word: &str| {
        let ran = bench.run(args);
        assert!(ran.code == code && ran.err.contains(word), "{args:?}: {ran:?}");
    };
    wrong(&["work", "submit", "../../../../etc/x", "x"], 2, "not the name of a question");
    wrong(&["work", "submit", "0123456789abcdef", "x"], 2, "E_NO_QUESTION");
    wrong(&["work", "submit", id(&asked), " \n"], 2, "there is no answer");
    wrong(&["work", "submit", id(&asked), "--file", "none.md"], 5, "none.md");
    wrong(
        &["work", "submit", id(&asked), "x", "--agent", "a\u{1b}[31m"],
        2,
        "plain characters",
    );
    wrong(&["work", "next", "--count", "0"], 2, "--count");
    wrong(&["work", "next", "--scope", "Nothing"], 2, "E_NO_TARGET");
    wrong(&["--no-store", "work", "next"], 2, "--no-store");
    std::fs::write(bench.root().join("long.md"), "x".repeat((1 << 20) + 1)).expect("written");
    wrong(&["work", "submit", id(&asked), "--file", "long.md"], 2, "1 MiB");
    assert_eq!(id(&one(&bench, "ann")), id(&asked), "none of it counts");
    let folder = bench.root().join(".cortex/work");
    std::fs::remove_dir_all(&folder).expect("removed");
    std::os::unix::fs::symlink(bench.beside("elsewhere"), &folder).expect("a link");
    std::fs::create_dir(bench.beside("elsewhere")).expect("a folder");
    wrong(&["work", "next"], 5, "E_WORK");
    assert_eq!(std::fs::read_dir(bench.beside("elsewhere")).expect("a folder").count(), 0);
}

#[test]
fn without_an_agent_the_answer_says_how_to_get_one() {
    let bench = pair();
    bench.write("cortex.toml", "[workspace]\nname = \"w\"\nrulesets = [\"csharp\"]\n");
    let ran = bench.run(&["work", "next"]);
    assert!(
        ran.code == 2 && ran.err.contains("E_NO_AGENT") && ran.err.contains("api = \"agent\""),
        "{ran:?}"
    );
    bench.write(
        "cortex.toml",
        "[workspace]\nname = \"w\"\nrulesets = [\"csharp\"]\n[model.agent]\napi = \"agent\"\nbase_url = \"http://x\"\nretries = 2\n",
    );
    let ran = bench.run(&["work", "next"]);
    assert_eq!((ran.code, ran.err.matches("has no effect on an agent").count()), (2, 2), "{ran:?}");
}
