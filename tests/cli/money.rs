//! Invariants of paid requests: a received answer is kept, none is requested twice, and none without a user's request.

use crate::bench::Bench;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;

/// Writes the prompt to its own file, runs `act`, and answers with every section of every requested type.
const MODEL: &str = r#"question=$(cat); printf 'x' >> "$0/calls"
printf '%s' "$question" > "$0/asked.$(printf '%s' "$question" | cksum | tr ' ' -)"
[ -f "$0/act" ] && . "$0/act"
cat "$0/full""#;

pub const FULL: &str =
    "ROLE:\n- Holds.\n\nLIFECYCLE:\n- None.\n\nEDGE_CASES:\n- None.\n\nLIMITATIONS:\n- None.\n\nRECOMMENDATIONS:\n- None.\n";

/// Returns a workspace of these types, one per file, summarised by the scripted model.
pub fn workspace(types: &[(&str, &str)]) -> Bench {
    let bench = Bench::empty();
    std::fs::create_dir(bench.beside("model")).expect("a folder");
    manifest(&bench, "", "");
    for (name, code) in types {
        bench.write(&format!("{name}.cs"), &format!("namespace N;\n{code}\n"));
    }
    write_model_file(&bench, "full", FULL);
    bench
}

pub fn manifest(bench: &Bench, model: &str, producer: &str) {
    let argv = serde_json::json!(["sh", "-c", MODEL, bench.beside("model")]);
    bench.write(
        "cortex.toml",
        &format!(
            "[workspace]\nname = \"money\"\nrulesets = [\"csharp\"]\n\n[model.sim]\napi = \"command\"\nname = \"sim\"\ncommand = {argv}\n{model}\n\
             [producer.semantic]\nparams.model = \"sim\"\n{producer}\n"
        ),
    );
}

pub fn write_model_file(bench: &Bench, file: &str, text: &str) {
    std::fs::write(bench.beside("model").join(file), text).expect("a file");
}

/// Returns the number of calls since the last check.
pub fn calls(bench: &Bench) -> usize {
    let file = bench.beside("model").join("calls");
    let calls = std::fs::read(&file).unwrap_or_default().len();
    std::fs::write(&file, "").expect("a file");
    calls
}

pub const PAIR: [(&str, &str); 2] = [
    ("A", "public class A { public int Get() { return 1; } }"),
    ("B", "public class B { public int Put() { return 2; } }"),
];
pub const ALL: &str = "//types/...:semantic";
/// Shell condition: from the second call on.
const SECOND: &str = "[ \"$(wc -c < \"$0/calls\")\" -ge 2 ] &&";

#[test]
fn an_interrupted_build_keeps_what_was_answered() {
    let bench = workspace(&PAIR);
    write_model_file(&bench, "act", &format!("{SECOND} {{ kill -INT $PPID; exec sleep 600; }}"));
    let stopped = bench.run(&["build", "--llm-jobs", "1", ALL]);
    assert_eq!((stopped.code, calls(&bench)), (130, 2), "{stopped:?}");
    assert!(stopped.err.contains("1 file written, 1 left"), "{}", stopped.err);
    write_model_file(&bench, "act", "");
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    assert_eq!(calls(&bench), 1, "only what had not come is asked for again");
    let cost = bench.run(&["cost", "--json"]).json();
    assert_eq!(cost["spent"]["spent"]["calls"], 2, "{cost}");
    for (by, name) in [("producer", "semantic"), ("commit", "unknown"), ("author", "unknown")] {
        let groups = bench.run(&["cost", "--by", by, "--json"]).json()["groups"].clone();
        assert_eq!(
            (&groups[0]["name"], &groups[0]["spent"]["spent"]["calls"]),
            (&name.into(), &2.into()),
            "{groups}"
        );
    }
    let months = bench.run(&["cost", "--by", "month"]).out;
    assert!(months.contains("2 × unknown (no price is set)"), "{months}");
    assert_eq!(bench.run(&["cost", "--by", "week"]).code, 2);
}

/// Answers paid for before `[remote]` named a cache, one of them for code that no longer exists.
#[test]
fn answers_of_any_tree_are_offered_to_a_cache() {
    let bench = workspace(&PAIR);
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    let first = std::fs::read_to_string(bench.root().join("A.cs")).expect("a file");
    bench.write("A.cs", "namespace N;\npublic class A { public int Get() { return 3; } }\n");
    assert_eq!((bench.run(&["build", ALL]).code, calls(&bench)), (0, 3));
    manifest(
        &bench,
        "",
        &format!(
            "[remote]\nendpoint = \"dir:{}\"\nwrite = \"always\"",
            bench.beside("share").display()
        ),
    );
    for (offered, known) in [(3, 0), (0, 3)] {
        let warm = bench.run(&["warm", "--paid", "--json"]);
        assert_eq!((warm.code, calls(&bench)), (0, 0), "{warm:?}");
        let paid = &warm.json()["paid"];
        assert_eq!(
            (&paid["offered"], &paid["known"], &paid["left_out"]),
            (&offered.into(), &known.into(), &0.into())
        );
    }
    // Another machine with the earlier tree asks no model.
    bench.write("A.cs", &first);
    let store = bench.beside("other");
    assert_eq!(bench.run(&["--store", store.to_str().expect("text"), "build", ALL]).code, 0);
    assert_eq!(calls(&bench), 0);
}

#[test]
fn a_killed_build_asks_for_no_answer_twice() {
    let bench = workspace(&PAIR);
    write_model_file(&bench, "act", &format!("{SECOND} {{ kill -KILL $PPID; exit 1; }}"));
    assert_eq!(bench.run(&["build", "--llm-jobs", "1", ALL]).code, -1);
    assert_eq!(calls(&bench), 2);
    write_model_file(&bench, "act", "");
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    assert_eq!(calls(&bench), 1);
    let cost = bench.run(&["cost", "--json"]).json();
    assert_eq!(
        cost["spent"]["spent"]["calls"], 2,
        "the answer before the kill is in the ledger: {cost}"
    );
}

#[test]
fn an_answer_of_no_use_before_an_interruption_is_in_the_ledger() {
    let bench = workspace(&PAIR[..1]);
    write_model_file(&bench, "full", "Nothing to say.\n");
    write_model_file(&bench, "act", &format!("{SECOND} {{ kill -INT $PPID; exec sleep 600; }}"));
    let stopped = bench.run(&["build", ALL]);
    assert_eq!((stopped.code, calls(&bench)), (130, 2), "{stopped:?}");
    let cost = bench.run(&["cost", "--json"]).json();
    assert_eq!(cost["by_outcome"]["rejected"]["spent"]["calls"], 1, "{cost}");
}

#[test]
fn a_limit_before_the_repair_is_told_as_a_limit_and_loses_nothing() {
    let bench = workspace(&PAIR[..1]);
    write_model_file(&bench, "full", "Nothing to say.\n");
    let stopped = bench.run(&["build", "--max-calls", "1", ALL]);
    assert_eq!((stopped.code, calls(&bench)), (9, 1), "{stopped:?}");
    assert!(stopped.err.contains("E_LIMIT"), "{}", stopped.err);
    let cost = bench.run(&["cost", "--json"]).json();
    assert_eq!(cost["by_outcome"]["rejected"]["spent"]["calls"], 1, "{cost}");
    assert!(
        bench
            .run(&["show", "--rejected", "//types/N.A:semantic"])
            .out
            .contains("Nothing to say.")
    );
}

#[test]
fn an_obstacle_to_all_questions_is_reported_once() {
    let bench = workspace(&PAIR);
    for (args, code, exit) in [
        (&["--offline", "build", ALL][..], "E_OFFLINE", 1),
        (&["build", "--max-cost", "1", ALL], "E_PRICE", 1),
        (&["build", "--max-tokens", "20", ALL], "E_LIMIT", 9),
    ] {
        let stopped = bench.run(args);
        assert_eq!((stopped.code, calls(&bench)), (exit, 0), "{stopped:?}");
        assert_eq!(stopped.err.matches(code).count(), 1, "{}", stopped.err);
        assert!(stopped.err.contains("2 blocked: see above"), "{}", stopped.err);
    }
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    let cost = bench.run(&["cost"]).out;
    assert!(cost.starts_with("spent unknown (no price is set)\n"), "{cost}");
}

/// Returns the files of a folder with their content, by path.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
                found.push((name, std::fs::read(&path).expect("a file")));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn without_a_model_nothing_is_sent_and_offline_changes_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("set");
    let proxy = format!("http://{}", listener.local_addr().expect("an address"));
    let made = |offline: bool| {
        let bench = Bench::memotree();
        let mut command = bench.command(&["build", "//..."]);
        command.envs(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"].map(|name| (name, &proxy)));
        if offline {
            command.arg("--offline");
        }
        let built = bench.ran(command.output().expect("the program starts"));
        assert_eq!(built.code, 0, "{built:?}");
        let out = files(&bench.root().join(".cortex/out"));
        assert!(out.iter().any(|(name, _)| name.ends_with(".semantic.md")));
        assert_eq!(bench.run(&["cost", "--json"]).json()["spent"]["times"], 0);
        out
    };
    assert!(made(false) == made(true), "the same files");
    assert!(listener.accept().is_err(), "somebody was called");
}

/// Values of `[model.sim]` and `[producer.semantic]`, and whether each changes the question.
#[test]
fn only_settings_that_may_change_an_answer_change_its_key() {
    let bench = workspace(&PAIR[..1]);
    bench.write("own.md", "%% system\nBe brief.\n{{sections}}\n%% full\n{{structure}}\n{{impl}}\n");
    bench.write(
        "other.md",
        "%% system\nBe very brief.\n{{sections}}\n%% full\n{{structure}}\n{{impl}}\n",
    );
    let key = || {
        // Not `Bench::run`, which hides digests.
        let output = bench
            .command(&["explain", "--json", "//types/N.A:semantic"])
            .output()
            .expect("the program starts");
        let explained: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(explained["state"], "current", "{explained}");
        explained["key"].clone()
    };
    let build = |model: &str, producer: &str| {
        manifest(&bench, model, producer);
        let built = bench.run(&["build", "//types/N.A:semantic"]);
        assert_eq!(built.code, 0, "{model} {producer}: {built:?}");
        key()
    };
    let first = build("", "");
    for same in [
        "timeout_seconds = 77",
        "price = { input = 1.0, output = 2.0 }",
        "retries = 2",
        "requests_per_minute = 60000",
        "tokens_per_minute = 90000000",
        "record = \"answers.jsonl\"",
    ] {
        assert_eq!(build(same, ""), first, "{same}");
    }
    for same in ["params.max_patches = 3", "params.max_diff = 0.2"] {
        assert_eq!(build("", same), first, "{same}");
    }
    let mut keys = BTreeSet::from([first.to_string()]);
    for other in [
        ("temperature = 0.5", ""),
        ("max_tokens = 900", ""),
        ("context_tokens = 30000", ""),
        ("params = { seed = 7 }", ""),
        ("", "params.template = \"own.md\""),
        ("", "params.template = \"other.md\""),
        ("", "params.docs = true"),
        ("", "params.evidence = false"),
        ("", "params.max_tokens = 800"),
        ("", "params.structures = false"),
        ("", "params.sections = [{ name = \"MORE\", about = \"anything\" }]"),
    ] {
        if other.1.contains("MORE") {
            write_model_file(&bench, "full", &format!("{FULL}\nMORE:\n- None.\n"));
        }
        assert!(keys.insert(build(other.0, other.1).to_string()), "{other:?}");
    }
    write_model_file(&bench, "full", FULL);
    // Back to the start: the answer is stored.
    calls(&bench);
    assert_eq!(build("", ""), first);
    assert_eq!(calls(&bench), 0);
}

#[test]
fn a_rename_of_a_type_or_of_its_namespace_costs_nothing() {
    let store = "public class Store { readonly Gate gate = new(); public int Get(int n) { gate.Wait(n); return n + 1; } }";
    let gate = "public class Gate { public void Wait(int n) { while (n > 0) { n--; } } public Mode Mode { get; set; } }";
    let bench = workspace(&[("Store", store), ("Gate", gate), ("Mode", "public enum Mode { Open, Shut }")]);
    write_model_file(
        &bench,
        "full",
        &FULL.replace("- Holds.", "- Holds Store, `Gate` and N.Mode [Gate]."),
    );
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    assert_eq!(calls(&bench), 3);
    let rename = |from: &str, to: &str| {
        for name in ["Store", "Gate", "Mode"] {
            let file = format!("{name}.cs");
            let text = std::fs::read_to_string(bench.root().join(&file)).expect("a source");
            bench.write(&file, &text.replace(from, to));
        }
        let planned = bench.run(&["build", "--dry-run", ALL]).err;
        assert!(
            planned.contains("0 to ask a model for") && planned.contains("carried over: 0 calls"),
            "{planned}"
        );
        let built = bench.run(&["build", ALL]);
        assert_eq!((built.code, calls(&bench)), (0, 0), "{from}: {built:?}");
    };
    rename("Gate", "Door");
    let shown = bench.run(&["show", "//types/N.Store:semantic"]).out;
    assert!(shown.contains("- Holds Store, `Door` and N.Mode [Door]."), "{shown}");
    let history = bench.run(&["history", "//types/N.Door:semantic"]).out;
    assert!(
        history.contains("carried over from") && history.contains("(it was renamed)"),
        "{history}"
    );
    rename("namespace N", "namespace Other.Deep");
    let shown = bench.run(&["show", "//types/Other.Deep.Mode:semantic"]).out;
    assert!(
        shown.contains("# Semantic: Other.Deep.Mode ") && shown.contains("and Other.Deep.Mode."),
        "{shown}"
    );
    // Later questions are patches of the answer that was carried over.
    bench.change(
        "Gate.cs",
        "n--",
        "n--; if (n == 7) { throw new System.InvalidOperationException(); }",
    );
    let prompt = bench.run(&["prompt", "//types/Other.Deep.Door:semantic"]).out;
    assert!(
        prompt.contains("Earlier answer about ") && prompt.contains("InvalidOperationException"),
        "{prompt}"
    );
}

#[test]
fn a_rename_of_a_member_costs_its_readers_nothing() {
    let gate = "public class Gate { public int Wait(int n) { while (n > 0) { n -= 2; } return n; } }";
    let user =
        |name: &str| format!("public class {name} {{ readonly Gate gate = new(); public int Go(int n) {{ return gate.Wait(n) + 1; }} }}");
    let (one, two) = (user("One"), user("Two"));
    let bench = workspace(&[("Gate", gate), ("One", &one), ("Two", &two)]);
    write_model_file(&bench, "full", &FULL.replace("- Holds.", "- Its Wait counts down [Gate.Wait]."));
    assert_eq!((bench.run(&["build", ALL]).code, calls(&bench)), (0, 3));
    let rename = |pairs: &[(&str, &str)]| {
        for file in ["Gate.cs", "One.cs", "Two.cs"] {
            let text = std::fs::read_to_string(bench.root().join(file)).expect("a source");
            bench.write(file, &pairs.iter().fold(text, |text, (from, to)| text.replace(from, to)));
        }
        let built = bench.run(&["build", ALL]);
        assert_eq!((built.code, calls(&bench)), (0, 0), "{pairs:?}: {built:?}");
    };
    rename(&[("Wait", "Pause")]);
    let shown = bench.run(&["show", "//types/N.One:semantic"]).out;
    assert!(shown.contains("- Its Pause counts down [Gate.Pause]."), "{shown}");
    rename(&[("Gate", "Door"), ("Pause", "Stay")]);
    rename(&[("namespace N", "namespace M"), ("Door", "Portal"), ("Stay", "Hold")]);
    let shown = bench.run(&["show", "//types/M.One:semantic"]).out;
    assert!(shown.contains("- Its Hold counts down [Portal.Hold]."), "{shown}");
}

#[test]
fn a_template_that_is_wrong_is_told_once_and_asks_nothing() {
    let bench = workspace(&PAIR);
    manifest(&bench, "", "params.template = \"own.md\"");
    bench.write("own.md", "{{structure}}\n{{impl}}\n{{sections}}\n{{dependancies}}\n");
    let failed = bench.run(&["build", ALL, "//types/...:outline"]);
    assert_eq!((failed.code, calls(&bench)), (1, 0), "{failed:?}");
    assert_eq!(failed.err.matches("dependancies").count(), 1, "told once: {}", failed.err);
    assert!(
        failed.err.contains("own.md:4:1") && failed.err.contains("{{dependencies}}"),
        "{}",
        failed.err
    );
    assert!(
        bench.run(&["show", "//types/N.B:outline"]).out.contains("Put"),
        "other targets go on"
    );
    let priced = bench.run(&["build", "--dry-run", ALL]);
    assert_eq!((priced.code, calls(&bench)), (1, 0), "{priced:?}");
    bench.write("own.md", "{{structure}}\n{{impl}}\n{{sections}}\n");
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    assert_eq!(calls(&bench), 2);
}

#[test]
fn prompts_are_the_same_on_any_machine() {
    let asked = |settings: &[(&str, &str)], jobs: &str, calls: &str| {
        let bench = Bench::memotree();
        std::fs::create_dir(bench.beside("model")).expect("a folder");
        write_model_file(&bench, "full", FULL);
        let argv = serde_json::json!(["sh", "-c", MODEL, bench.beside("model")]);
        let own = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
        let model = format!("{own}\n[model.sim]\napi = \"command\"\ncommand = {argv}\n[producer.semantic]\nparams.model = \"sim\"\n");
        bench.write("cortex.toml", &model);
        let mut command = bench.command(&[
            "build", "-j", jobs, "--llm-jobs", calls, "--keep-going", "//types/MemoTree.*:semantic",
        ]);
        command.envs(settings.iter().copied());
        bench.ran(command.output().expect("the program starts"));
        let asked = files(&bench.beside("model"))
            .into_iter()
            .filter(|(name, _)| name.starts_with("asked."));
        let asked: Vec<(String, String)> = asked
            .map(|(name, text)| (name, String::from_utf8_lossy(&text).into_owned()))
            .collect();
        let folder = bench.root().to_string_lossy().into_owned();
        assert!(asked.iter().all(|(_, text)| !text.contains(&folder)), "no path of this machine");
        asked
    };
    let first = asked(&[], "1", "1");
    assert!(first.len() > 20, "{}", first.len());
    let second = asked(
        &[("TZ", "Pacific/Kiritimati"), ("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8")],
        "8",
        "4",
    );
    assert_eq!(first, second);
}

#[test]
fn a_model_that_closes_its_output_and_stays_is_given_up() {
    let bench = workspace(&PAIR[..1]);
    manifest(&bench, "timeout_seconds = 0.3", "");
    write_model_file(&bench, "act", "exec >&- 2>&-; exec sleep 600");
    let built = bench.run(&["build", ALL]);
    assert_eq!((built.code, calls(&bench)), (1, 1), "{built:?}");
    assert!(
        built.err.contains("E_COMMAND") && built.err.contains("did not end in time"),
        "{}",
        built.err
    );
}

#[test]
fn a_group_is_priced_and_shown_as_the_one_question_it_is() {
    let bench = workspace(&[
        (
            "Left",
            "public class Left { public Right Other { get; set; } public int Odd() { return 1; } }",
        ),
        (
            "Right",
            "public class Right { public Left Other { get; set; } public int Even() { return 2; } }",
        ),
    ]);
    let priced = bench.run(&["build", "--dry-run", ALL]);
    assert!(
        priced.err.contains("1 to ask a model for, ") || priced.err.contains("1 to ask a model for ("),
        "{}",
        priced.err
    );
    assert!(
        priced.err.contains("asks     1 new answer: 1 call") && !priced.err.contains("may ask"),
        "{}",
        priced.err
    );
    assert!(!priced.err.contains("depend on what it says"), "{}", priced.err);
    let prompt = bench.run(&["prompt", "//types/N.Left:semantic"]);
    assert!(prompt.out.contains("Odd") && prompt.out.contains("Even"), "{prompt:?}");
    assert!(prompt.err.contains("N_GROUP") && prompt.err.contains("//groups/"), "{}", prompt.err);
    assert_eq!(calls(&bench), 0);
    write_model_file(&bench, "full", &format!("# TYPE: N.Left\n{FULL}\n# TYPE: N.Right\n{FULL}"));
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    assert_eq!(calls(&bench), 1);
    // A new request for one of its types is one for the whole group.
    let whole = bench.run(&["prompt", "--full", "//types/N.Left:semantic"]);
    assert!(whole.out.contains("Odd") && whole.out.contains("Even"), "{whole:?}");
    assert_eq!(bench.run(&["regenerate", "//types/N.Left:semantic"]).code, 0);
    assert_eq!(calls(&bench), 1);
}

#[test]
fn a_limit_buys_first_what_most_is_waiting_for() {
    let readers = ["B", "C", "D"].map(|name| (name, format!("public class {name} {{ public Z Get() {{ return null; }} }}")));
    let mut types: Vec<(&str, &str)> = vec![
        ("A", "public class A { public int Get() { return 1; } }"),
        ("Z", "public class Z { public int Put() { return 2; } }"),
    ];
    types.extend(readers.iter().map(|(name, code)| (*name, code.as_str())));
    let bench = workspace(&types);
    // A is first by name, but no type refers to it.
    let limited = bench.run(&["build", "--max-calls", "1", ALL]);
    assert_eq!((limited.code, calls(&bench)), (9, 1), "{limited:?}");
    let state = |name: &str| bench.run(&["semantic", name, "--json"]).json()["semanticState"].clone();
    assert_eq!((state("Z"), state("A")), ("cached".into(), "pending".into()));
    // An earlier summary must not hide that a new one was requested and not bought.
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    bench.change("A.cs", "return 1", "return 3");
    assert_eq!(state("A"), "stale");
    assert_eq!(bench.run(&["build", "--max-calls", "0", ALL]).code, 9);
    assert_eq!(state("A"), "pending");
    let status = bench.run(&["status", "--json"]).json()["semantic"].clone();
    assert_eq!((&status["pending"], &status["stale"]), (&1.into(), &0.into()), "{status}");
    bench.change("A.cs", "return 3", "return 1");
    assert_eq!(state("A"), "cached");
}

const LEFT: &str = "public class Left { public Right Other { get; set; } }";
const RIGHT: &str = "public class Right { public Left Other { get; set; } }";

#[test]
fn the_file_of_a_group_comes_and_goes_with_its_types() {
    let bench = workspace(&[("Left", LEFT), ("Right", RIGHT)]);
    write_model_file(&bench, "full", &format!("# TYPE: N.Left\n{FULL}\n# TYPE: N.Right\n{FULL}"));
    let folder = bench.root().join(".cortex/out/semantic");
    let files = || std::fs::read_dir(&folder).map_or(0, |files| files.count());
    assert_eq!((bench.run(&["build", ALL]).code, files()), (0, 1));
    // A deleted file is restored, too.
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!((bench.run(&["build", ALL]).code, files()), (0, 1));
    bench.write("Left.cs", &format!("namespace N;\n{}\n", LEFT.replace("Right", "Left")));
    write_model_file(&bench, "full", FULL);
    // An empty set is not an error beside others.
    let built = bench.run(&["build", ALL, "//groups/...:semantic"]);
    assert_eq!((built.code, files()), (0, 0), "{built:?}");
    let alone = bench.run(&["build", "//groups/...:semantic"]);
    assert!(alone.code == 2 && alone.err.contains("E_NO_TARGET"), "{alone:?}");
}

#[test]
fn types_of_a_group_say_why_its_question_failed() {
    let bench = workspace(&[("Left", LEFT), ("Right", RIGHT)]);
    write_model_file(&bench, "act", "echo 'no room' >&2; exit 3");
    assert_eq!(bench.run(&["build", ALL, "//index:json"]).code, 1);
    let index = std::fs::read_to_string(bench.root().join(".cortex/out/index.json")).expect("index.json");
    assert_eq!(index.matches("\"lastError\"").count(), 2, "{index}");
    let summary = bench.run(&["semantic", "N.Left", "--json"]).json();
    assert_eq!(summary["semanticState"], "pending", "{summary}");
    assert!(
        summary["lastError"].as_str().is_some_and(|why| why.contains("exit status: 3")),
        "{summary}"
    );
    let why = bench.run(&["explain", "//types/N.Left:semantic", "--json"]).json()["failure"].clone();
    assert!(why["label"].as_str().is_some_and(|label| label.starts_with("//groups/")), "{why}");
}

#[test]
fn a_summary_that_waits_says_for_what_and_what_asking_anew_may_cost() {
    let bench = workspace(&[
        ("A", "public class A { public int Get() { return 1; } }"),
        ("B", "public class B { public A Get() { return new A(); } }"),
        ("C", "public class C { public B Get() { return new B(); } }"),
    ]);
    let explained = |name: &str| bench.run(&["explain", &format!("{name}:semantic")]).out;
    let blocked = "the last build did not try it: the one call that --max-calls allows is made";
    let waits = "it waits for //types/N.B:semantic, which has no output";
    assert_eq!(bench.run(&["build", "--max-calls", "1", ALL]).code, 9);
    for (name, why) in [("B", blocked), ("C", waits)] {
        let actual = explained(name);
        assert!(
            actual.contains(&format!("pending: {why}")) && !actual.contains("failed"),
            "{actual}"
        );
        let actual = bench.run(&["semantic", name, "--json"]).json();
        assert!(
            actual.to_string().contains(&format!("{why}; --refresh requests it again")),
            "{actual}"
        );
    }
    // A failure is reported for its own target only.
    write_model_file(&bench, "act", "exit 3");
    assert_eq!(bench.run(&["build", ALL]).code, 1);
    let (own, other) = (explained("B"), explained("C"));
    assert!(own.contains("pending: the last attempt with its present inputs failed"), "{own}");
    assert!(other.contains(&format!("pending: {waits}")), "{other}");
    assert!(other.contains("//types/N.B:semantic: E_"), "{other}");
    let error = |name: &str| {
        let actual = bench.run(&["semantic", name, "--json"]).json();
        actual["lastError"].as_str().expect("an error").to_owned()
    };
    assert_eq!(error("C"), format!("//types/N.B:semantic failed: {}", error("B")));
    write_model_file(&bench, "act", "");
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    let marked = bench.run(&["invalidate", "A:semantic", "--json"]).json();
    assert_eq!((&marked["paid"], &marked["paidReaders"]), (&1.into(), &2.into()), "{marked}");
    let price = marked["price"].as_str().expect("a text");
    assert!(
        price.starts_with("Asks 1 new answer: ") && price.contains(". May ask 2 "),
        "{price}"
    );
}
