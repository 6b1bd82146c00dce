//! Summaries by an external model: a shell program replaces the model, counts its calls, and gives prepared answers.

use crate::bench::{Bench, Ran};
use crate::money::{ALL, workspace};

const SHELF: &str = "namespace N;\npublic class Shelf\n{\n    private int[] _kept = new int[4];\n    public int Get(int at) { return _kept[at]; }\n    public void Put(Item item) { _kept[0] = item.Weight; }\n}\n";
const ITEM: &str = "namespace N;\npublic class Item { public int Weight { get; set; } }\n";

/// Counts its calls in `calls`; answers patches with the file `patch`, others with every section.
const MODEL: &str = r#"question=$(cat); printf 'x' >> "$0/calls"; printf '%s' "$question" > "$0/asked"
case "$question" in
  *"Earlier answer about "*) cat "$0/patch" ;;
  *) cat "$0/full" ;;
esac"#;

const FULL: &str = "ROLE:\n- Keeps numbers. [Get]\n\nLIFECYCLE:\n- None.\n\nEDGE_CASES:\n- Throws beyond its end. [Get]\n\nLIMITATIONS:\n- Four at most. [_kept]\n\nRECOMMENDATIONS:\n- None.\n";

fn shelf() -> Bench {
    let bench = Bench::empty();
    let folder = bench.beside("model");
    std::fs::create_dir(&folder).expect("a folder");
    let argv = serde_json::json!(["sh", "-c", MODEL, folder]);
    bench.write(
        "cortex.toml",
        &format!(
            "[workspace]\nname = \"shelf\"\nrulesets = [\"csharp\"]\n\n[model.sim]\napi = \"command\"\nname = \"sim\"\ncommand = {argv}\n\
             price = {{ input = 1.0, output = 10.0 }}\n\n[producer.semantic]\nparams.model = \"sim\"\n"
        ),
    );
    bench.write("Shelf.cs", SHELF);
    bench.write("Item.cs", ITEM);
    say(&bench, "full", FULL);
    say(&bench, "patch", "NO CHANGE\n");
    bench
}

fn say(bench: &Bench, what: &str, text: &str) {
    std::fs::write(bench.beside("model").join(what), text).expect("a file");
}

/// Returns the number of calls since the last check.
fn calls(bench: &Bench) -> usize {
    let file = bench.beside("model").join("calls");
    let calls = std::fs::read(&file).unwrap_or_default().len();
    std::fs::write(&file, "").expect("a file");
    calls
}

fn spent(ran: &Ran, what: &str) -> u64 {
    ran.json()["tally"]["spent"][what].as_u64().unwrap_or_default()
}

const SEMANTIC: &str = "//types/N.Shelf:semantic";

#[test]
fn a_build_is_priced_before_it_is_made_and_paid_once() {
    let bench = shelf();
    let priced = bench.run(&["build", "--dry-run", SEMANTIC]);
    assert!(bench.run(&["log"]).out.contains(&format!("  build --dry-run {SEMANTIC}\n")));
    assert_eq!((priced.code, calls(&bench)), (0, 0), "{priced:?}");
    assert!(
        priced.err.contains("asks     1 new answer: 1 call, about ") && priced.err.contains(" USD"),
        "{}",
        priced.err
    );
    assert!(priced.err.contains("may ask  1 new answer: 1 call"), "{}", priced.err);
    let built = bench.run(&["--output", "json", "build", SEMANTIC]);
    assert_eq!((built.code, spent(&built, "calls"), calls(&bench)), (0, 2, 2), "{built:?}");
    assert_eq!(bench.run(&["build", SEMANTIC]).code, 0);
    let stands = bench.run(&["build", "--dry-run", SEMANTIC]);
    assert!(
        stands.err.contains("cached   1 answer is stored and costs nothing"),
        "{}",
        stands.err
    );
    let nothing = bench.run(&["--output", "json", "build", "--dry-run", SEMANTIC]);
    assert_eq!((nothing.json()["plans"].as_array().map(Vec::len), calls(&bench)), (Some(0), 0));
    // A comment and a blank line cause no model request.
    bench.write("Shelf.cs", &SHELF.replace("    public", "\n    // gets\n    public"));
    bench.run(&["build", SEMANTIC]);
    assert_eq!(calls(&bench), 0);
    let cost = bench.run(&["cost", "--json"]).json();
    assert_eq!(
        (&cost["by_outcome"]["full"]["times"], &cost["spent"]["spent"]["currency"]),
        (&2.into(), &"USD".into())
    );
    assert!(cost["spent"]["spent"]["micros"].as_u64().is_some_and(|micros| micros > 0), "{cost}");
}

/// A cache of files would ask about the edited file, its type, and the reader of that.
#[test]
fn costs_after_edits_are_compared_with_caches_of_files() {
    let bench = workspace(&[
        ("A", "public class A { public int Get() { return 1; } }"),
        ("B", "public class B { public int Put(A a) { return a.Get(); } }"),
    ]);
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    bench.write("A.cs", "namespace N;\npublic class A { public int Get() { return 3; } }\n");
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    let cost = bench.run(&["cost", "--by", "producer", "--json"]).json();
    for (way, calls) in [("files", 1), ("types", 1), ("readers", 2)] {
        assert_eq!(cost["groups"][0]["baselines"][way]["calls"], calls, "{way}: {cost}");
    }
    let months = bench.run(&["cost", "--by", "month"]).out;
    assert!(months.contains("one question a file"), "{months}");
}

#[test]
fn limits_stop_before_they_are_passed() {
    let bench = shelf();
    for limit in [["--max-calls", "1"], ["--max-tokens", "20"], ["--max-cost", "0.000001"]] {
        let stopped = bench.run(&[&["build", "--llm-jobs", "1"], &limit[..], &[SEMANTIC]].concat());
        assert_eq!(stopped.code, 9, "{stopped:?}");
        assert!(stopped.err.contains("E_LIMIT") && stopped.err.contains(limit[0]), "{}", stopped.err);
    }
    assert_eq!(
        calls(&bench),
        1,
        "what was within the first limit was asked, and is not asked again"
    );
    let offline = bench.run(&["--offline", "build", SEMANTIC]);
    assert_eq!((offline.code, calls(&bench)), (1, 0));
    assert!(offline.err.contains("E_OFFLINE"), "{}", offline.err);
    assert_eq!(bench.run(&["build", SEMANTIC]).code, 0);
    assert_eq!(calls(&bench), 1);
}

#[test]
fn an_edit_is_answered_by_a_patch() {
    let bench = shelf();
    bench.run(&["build", SEMANTIC]);
    calls(&bench);
    bench.write("Shelf.cs", &SHELF.replace("return _kept[at];", "return _kept[at % 4];"));
    // Until the next request for it, the old summary is shown and marked as such.
    let old = bench.run(&["show", SEMANTIC]);
    assert!(
        old.code == 0 && old.out.contains("Throws beyond its end.") && old.err.contains("N_STALE"),
        "{old:?}"
    );
    let prompt = bench.run(&["prompt", SEMANTIC]);
    assert!(
        prompt.out.contains("+return _kept[at % 4];") && prompt.err.starts_with("patch ("),
        "{prompt:?}"
    );
    let whole = bench.run(&["prompt", "--full", SEMANTIC]);
    assert!(!whole.out.contains("+return") && whole.err.starts_with("full ("), "{whole:?}");
    assert_eq!(calls(&bench), 0);
    say(&bench, "patch", "EDGE_CASES:\n- Wraps around beyond its end. [Get]\n");
    let shown = bench.run(&["show", "--refresh", SEMANTIC]);
    assert!(
        shown.out.contains("Wraps around") && shown.out.contains("Four at most."),
        "{shown:?}"
    );
    assert_eq!(calls(&bench), 1);
    let asked = std::fs::read_to_string(bench.beside("model").join("asked")).expect("a question");
    let stdout = prompt.out.trim_end();
    assert!(
        stdout.ends_with(asked.trim_end().rsplit("\n\n").next().expect("a paragraph")),
        "what was shown is what was sent"
    );
    let history = bench.run(&["history", "--json", SEMANTIC]).json();
    let modes: Vec<&str> = history["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|version| version["notes"]["mode"].as_str())
        .collect();
    assert_eq!(modes, ["full", "patch"]);
    let diff = bench.run(&["diff", SEMANTIC]);
    assert!(diff.out.contains("+- Wraps around") && diff.out.contains("input impl"), "{diff:?}");
    // "No change" is an answer.
    say(&bench, "patch", "NO CHANGE\n");
    bench.write("Shelf.cs", &SHELF.replace("return _kept[at];", "return _kept[at & 3];"));
    assert_eq!(bench.run(&["build", SEMANTIC]).code, 0);
    assert!(bench.run(&["show", SEMANTIC]).out.contains("Wraps around"));
    assert_eq!(calls(&bench), 1);
    // The log assigns answers to builds, however close together they were.
    let log = bench.run(&["log", "--json"]).json();
    let builds = log["builds"].as_array().expect("builds");
    let answers = |build: &serde_json::Value| (build["answers"]["full"].as_u64(), build["answers"]["patches"].as_u64());
    let answers: Vec<_> = builds.iter().filter(|build| !build["spent"].is_null()).map(answers).collect();
    assert_eq!(answers, [(Some(2), Some(0)), (Some(0), Some(1)), (Some(0), Some(1))], "{log}");
    let log = bench.run(&["log"]).out;
    let times = ["; 2 new answers", "; 1 patch"].map(|words| log.matches(words).count());
    assert_eq!(times, [1, 2], "{log}");
}

#[test]
fn a_person_has_the_last_word() {
    let bench = shelf();
    bench.run(&["build", SEMANTIC]);
    calls(&bench);
    let text = bench.run(&["show", "--raw", SEMANTIC]).out;
    std::fs::write(bench.beside("mine.md"), text.replace("Four at most.", "Four, by contract.")).expect("a file");
    let file = bench.beside("mine.md").to_string_lossy().into_owned();
    let edited = bench.run(&["edit-output", SEMANTIC, "--file", &file]);
    assert!(edited.code == 0 && edited.err.contains("yours now: LIMITATIONS"), "{edited:?}");
    assert!(bench.run(&["show", SEMANTIC]).out.contains("Four, by contract."));
    // A later patch, and even a whole new answer, leave the correction unchanged, with a note.
    bench.write("Shelf.cs", &SHELF.replace("return _kept[at];", "return _kept[at % 4];"));
    say(
        &bench,
        "patch",
        "EDGE_CASES:\n- Wraps around. [Get]\nLIMITATIONS:\n- None at all.\n",
    );
    let built = bench.run(&["build", SEMANTIC]);
    assert!(built.err.contains("W_CORRECTED"), "{built:?}");
    let patched = bench.run(&["show", SEMANTIC]).out;
    assert!(
        patched.contains("Wraps around.") && patched.contains("Four, by contract."),
        "{patched}"
    );
    let anew = bench.run(&["regenerate", SEMANTIC]);
    assert_eq!(anew.code, 0, "{anew:?}");
    assert!(bench.run(&["show", SEMANTIC]).out.contains("Four, by contract."));
    // After a release, the model writes it again.
    assert_eq!(bench.run(&["edit-output", SEMANTIC, "--release"]).code, 0);
    assert_eq!(bench.run(&["regenerate", SEMANTIC]).code, 0);
    assert!(bench.run(&["show", SEMANTIC]).out.contains("Four at most."));
    // An earlier version can be restored.
    assert_eq!(bench.run(&["edit-output", SEMANTIC, "--version", "1"]).code, 0);
    let missing = bench.run(&["edit-output", SEMANTIC, "--file", "/dev/null"]);
    assert!(missing.code == 2 && missing.err.contains("E_CORRECTION"), "{missing:?}");
}

#[test]
fn an_answer_of_no_use_is_repaired_once_and_then_kept_to_be_looked_at() {
    let bench = shelf();
    say(&bench, "full", "I would rather talk about the weather.\u{1b}[31m\n");
    let failed = bench.run(&["build", "--keep-going", SEMANTIC, "//types/N.Shelf:outline"]);
    assert_eq!((failed.code, calls(&bench)), (1, 2), "{failed:?}");
    let log = bench.run(&["log"]).out;
    assert!(log.contains("; 1 unusable answer"), "{log}");
    assert!(bench.run(&["show", "//types/N.Shelf:outline"]).code == 0, "other targets are there");
    let raw = bench.run(&["show", "--rejected", "//types/N.Item:semantic"]);
    assert!(
        raw.code == 0 && raw.out.contains("weather") && !raw.out.contains('\u{1b}'),
        "{raw:?}"
    );
    let cost = bench.run(&["cost", "--json"]).json();
    assert_eq!(cost["by_outcome"]["rejected"]["spent"]["calls"], 2, "{cost}");
    let status = bench.run(&["status"]);
    assert!(status.out.contains("E_ANSWER"), "{status:?}");
    let raw = bench.run(&["show", "--raw", "//types/N.Item:semantic"]);
    assert!(raw.code == 1 && raw.out.contains("weather"), "{raw:?}");
    say(&bench, "full", FULL);
    assert_eq!(bench.run(&["build", SEMANTIC]).code, 0);
}

#[test]
fn a_question_over_unchanged_code_is_free() {
    let bench = shelf();
    say(
        &bench,
        "full",
        "CONCLUSION:\nIt keeps four.\nEVIDENCE:\n- [N.Shelf.Get] reads them\n- [N.Gone] nothing\nPATHS:\n- None\n",
    );
    let ask = ["investigate", "How many numbers are kept?", "--scope", "N", "--json"];
    let first = bench.run(&ask).json();
    assert_eq!(
        (&first["cached"], &first["answer"]["conclusion"]),
        (&false.into(), &"It keeps four.".into())
    );
    assert_eq!(
        (&first["answer"]["dropped"], &first["answer"]["evidence"][0]["member"]),
        (&1.into(), &"Get".into())
    );
    let second = bench.run(&ask).json();
    assert_eq!((&second["cached"], calls(&bench)), (&true.into(), 1));
    let mut operations = std::fs::read_dir(bench.root().join(".cortex/out/ops")).expect("a folder");
    let operation = operations.next().expect("an operation").expect("a file").path();
    assert!(operations.next().is_none(), "the same question is the same operation");
    let operation = std::fs::read_to_string(operation).expect("a file");
    let operation: serde_json::Value = serde_json::from_str(&operation).expect("JSON");
    assert_eq!(
        (&operation["state"], &operation["result"]["conclusion"]),
        (&"done".into(), &"It keeps four.".into())
    );
    bench.write("Shelf.cs", &SHELF.replace("public int Get", "public long Get"));
    assert_eq!(bench.run(&ask).json()["cached"], false);
    assert_eq!(calls(&bench), 1);
    // A scope is resolved like other names: a misspelt one differs from a namespace without types, and a former name resolves.
    let ask = |scope: &'static str| bench.run(&["investigate", "How many numbers are kept?", "--scope", scope]);
    let wrong = ask("Shelff");
    assert!(wrong.code == 2 && wrong.err.contains("did you mean N.Shelf?"), "{wrong:?}");
    assert_eq!(bench.run(&["build", "//types/...:structure", "//types/...:impl"]).code, 0);
    let renamed = SHELF.replace("public int Get", "public long Get").replace("Shelf", "Rack");
    bench.write("Shelf.cs", &renamed);
    let renamed = ask("N.Shelf");
    assert!(
        renamed.code == 0 && renamed.err.contains("note[N_RENAMED]: the type N.Shelf was renamed to N.Rack\n"),
        "{renamed:?}"
    );
}

#[test]
fn an_investigation_shows_nothing_secret_and_loses_no_money() {
    let bench = shelf();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    bench.write("cortex.toml", &format!("{manifest}params.never_send = [\"Item.cs\"]\n"));
    let code = SHELF.replace(
        "public int Get",
        "public const string ApiKey = \"sk-0123456789abcdefghij\"; public int Get",
    );
    bench.write("Shelf.cs", &code);
    let ask = ["investigate", "How many numbers are kept?", "--scope", "N"];
    say(&bench, "full", "I do not know.\n");
    let limited = bench.run(&[&ask[..], &["--max-calls", "1"]].concat());
    assert_eq!((limited.code, calls(&bench)), (9, 1), "{limited:?}");
    assert!(
        limited.err.contains("E_LIMIT") && limited.err.contains("1 are in files that are never sent"),
        "{}",
        limited.err
    );
    let cost = bench.run(&["cost", "--json"]).json();
    assert_eq!(cost["by_outcome"]["rejected"]["spent"]["calls"], 1, "{cost}");
    let asked = std::fs::read_to_string(bench.beside("model").join("asked")).expect("a question");
    assert!(
        asked.contains("Shelf") && !asked.contains("Weight") && !asked.contains("0123456789abcdefghij"),
        "{asked}"
    );
    // Summaries by the built-in model and a question to another one: the globs apply there, too.
    bench.write(
        "cortex.toml",
        &format!(
            "{}params.never_send = [\"Item.cs\"]\n",
            manifest.replace("params.model = \"sim\"", "params.model = \"extractive\"")
        ),
    );
    let odd = [&b"CONCLUSION:\nIt keeps \xff four.\nEVIDENCE:\n- [N.Shelf] it\n"[..]].concat();
    std::fs::write(bench.beside("model").join("full"), odd).expect("a file");
    let ran = bench.run(&[&ask[..], &["--model", "sim"]].concat());
    assert!(ran.code == 0 && ran.err.contains("W_ENCODING"), "{ran:?}");
    let asked = std::fs::read_to_string(bench.beside("model").join("asked")).expect("a question");
    assert!(!asked.contains("Weight"), "{asked}");
}

#[test]
fn a_correction_that_could_not_be_read_back_is_refused() {
    let bench = shelf();
    bench.run(&["build", SEMANTIC]);
    let text = bench.run(&["show", "--raw", SEMANTIC]).out;
    let edit = |text: &str| {
        std::fs::write(bench.beside("mine.md"), text).expect("a file");
        bench.run(&["edit-output", SEMANTIC, "--file", &bench.beside("mine.md").to_string_lossy()])
    };
    for (wrong, why) in [
        (format!("{text}\nMYOWN:\n- x\n"), "there is no section MYOWN"),
        (text.replace("- Four at most.", "## Four"), "begins with '#'"),
        (text.replace("Four at most.", &"x".repeat(9_000)), "8000 are the most"),
    ] {
        let refused = edit(&wrong);
        assert!(refused.code == 2 && refused.err.contains(why), "{refused:?}");
    }
    // The head is always cortex's own.
    let head = text.lines().next().expect("a head");
    let edited = edit(
        &text
            .replace(head, "# Semantic: Other T_x")
            .replace("Four at most.", "Four, by contract."),
    );
    assert_eq!(edited.code, 0, "{edited:?}");
    let shown = bench.run(&["show", SEMANTIC]).out;
    assert!(shown.starts_with(head) && shown.contains("Four, by contract."), "{shown}");
    bench.write("Shelf.cs", &SHELF.replace("return _kept[at];", "return _kept[at % 4];"));
    let built = bench.run(&["build", SEMANTIC]);
    assert!(built.code == 0 && built.err.contains("W_CORRECTED"), "{built:?}");
    assert!(bench.run(&["show", SEMANTIC]).out.contains("Four, by contract."));
    // After a rename the correction still applies, and the cost of each version stays known.
    bench.write("Shelf.cs", &SHELF.replace("class Shelf", "class Rack"));
    let renamed = bench.run(&["build", "//types/...:semantic"]);
    assert!(
        renamed.code == 0 && renamed.err.contains("when the type was named N.Shelf"),
        "{renamed:?}"
    );
    let file = bench.run(&["show", "--raw", "//types/N.Rack:semantic"]).out;
    assert!(file.contains("Four, by contract.") && file.contains("N.Rack T_"), "{file}");
    bench.write("Shelf.cs", &SHELF.replace("class Shelf", "class Rack").replace("[at]", "[at % 3]"));
    bench.run(&["build", "//types/...:semantic"]);
    assert!(bench.run(&["show", "//types/N.Rack:semantic"]).out.contains("Four, by contract."));
    let history = bench.run(&["history", "--json", "//types/N.Rack:semantic"]).json();
    let known = |version: &serde_json::Value| version["producer"].is_string();
    assert!(
        history["versions"]
            .as_array()
            .is_some_and(|all| all.len() > 3 && all.iter().all(known)),
        "{history:#}"
    );
}

#[test]
fn to_look_at_a_rejected_answer_costs_nothing() {
    let bench = shelf();
    bench.write(
        "Item.cs",
        "namespace N;\npublic class Item { public Shelf On { get; set; } public int Weight { get; set; } }\n",
    );
    say(&bench, "full", "I would rather talk about the weather.\n");
    for _ in 0..3 {
        assert_eq!(bench.run(&["build", SEMANTIC]).code, 1);
    }
    assert_eq!(calls(&bench), 6);
    let raw = bench.run(&["show", "--raw", SEMANTIC]);
    assert!(raw.code == 1 && raw.out.contains("weather"), "{raw:?}");
    let rejected = bench.run(&["show", "--rejected", SEMANTIC]);
    assert!(rejected.code == 0 && rejected.out.contains("weather"), "{rejected:?}");
    let prompt = bench.run(&["prompt", SEMANTIC]);
    assert!(prompt.code == 0 && prompt.out.contains("class Shelf"), "{prompt:?}");
    assert_eq!(calls(&bench), 0);
    // A question with nothing to show, or an empty one, is not asked; a useless answer is stored.
    let ask = |question: &str, more: &[&str]| bench.run(&[&["investigate", question, "--scope", "N"], more].concat());
    let nothing = ask("How?", &["--budget", "10"]);
    assert!(
        nothing.code == 2 && nothing.err.contains("E_NOTHING_SHOWN") && nothing.err.contains("--budget"),
        "{nothing:?}"
    );
    let empty = ask(" ", &[]);
    assert!(empty.code == 2 && empty.err.contains("there is no question"), "{empty:?}");
    assert_eq!(calls(&bench), 0);
    let failed = ask("How many?", &[]);
    assert_eq!((failed.code, calls(&bench)), (1, 2), "{failed:?}");
    let label = failed
        .err
        .split("//investigations/")
        .nth(1)
        .and_then(|rest| rest.split(':').next())
        .expect("a label");
    let kept = bench.run(&["show", "--rejected", &format!("//investigations/{label}:answer")]);
    assert!(kept.code == 0 && kept.out.contains("weather"), "{kept:?}");
}

#[test]
fn readers_of_answers_requested_together_are_built_again() {
    let bench = super::money::workspace(&[
        ("A", "public class A { public int Get() { return 1; } }"),
        ("B", "public class B { public int Put(A a) { return a.Get(); } }"),
    ]);
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    super::money::write_model_file(&bench, "full", &super::money::FULL.replace("Holds", "Keeps"));
    assert_eq!(bench.run(&["regenerate", "N.A", "N.B"]).code, 0);
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    let role = bench.run(&["show", "//types/N.A:role"]).out;
    assert!(role.contains("Keeps"), "{role}");
    let prompt = bench.run(&["prompt", "--full", "//types/N.B:semantic"]).out;
    assert!(prompt.contains("Keeps") && !prompt.contains("Holds"), "{prompt}");
}
