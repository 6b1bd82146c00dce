//! Packs by the command line: build, show, output files, effects of edits, and errors.

use super::bench::Bench;
use std::collections::BTreeMap;

const PACK: &str = "//packs/storage:pack";
const FILE: &str = ".cortex/out/packs/storage.md";
const CODEC: &str = "src/MemoTree.Core/Storage/NodeCodec.cs";

/// Returns the results of a build's targets, by label.
fn built(bench: &Bench, pattern: &str) -> BTreeMap<String, String> {
    let report = bench.run(&["build", pattern, "--output", "json"]).json();
    let roots = report["roots"].as_array().expect("targets").iter();
    roots
        .map(|root| {
            (
                root["label"].as_str().expect("a label").to_owned(),
                root["how"].as_str().unwrap_or("none").to_owned(),
            )
        })
        .collect()
}

fn file(bench: &Bench, path: &str) -> String {
    std::fs::read_to_string(bench.root().join(path)).expect("a file")
}

fn edit(bench: &Bench, path: &str, from: &str, to: &str) {
    let text = file(bench, path);
    assert!(text.contains(from), "{path} holds no {from}");
    bench.write(path, &text.replacen(from, to, 1));
}

/// Returns all outputs of packs, built without a store.
fn clean(bench: &Bench) -> Vec<String> {
    let labels = ["//packs/storage:selection", PACK, "//packs/storage:facts", "//index:json"];
    labels.map(|label| bench.run(&["show", label, "--no-store"]).out).to_vec()
}

fn shown(bench: &Bench) -> Vec<String> {
    let labels = ["//packs/storage:selection", PACK, "//packs/storage:facts", "//index:json"];
    labels.map(|label| bench.run(&["show", label]).out).to_vec()
}

#[test]
fn a_pack_is_a_target_and_a_file() {
    let bench = Bench::memotree();
    let run = bench.run(&["build", PACK]);
    assert_eq!(run.code, 0, "{run:?}");
    let text = file(&bench, FILE);
    assert_eq!(bench.run(&["show", PACK]).out, text);
    assert!(
        text.starts_with("# Pack storage\nFilter: tag:storage and !type:Crc32\nTypes: "),
        "{text}"
    );
    assert_eq!(
        bench.run(&["query", "//packs/..."]).out,
        "//packs/storage:contents\n//packs/storage:facts\n//packs/storage:pack\n//packs/storage:selection\n"
    );
    let index = bench.run(&["show", "//index:json"]).json();
    let pack = &index["packs"][0];
    assert_eq!(
        (index["packs"].as_array().map(Vec::len), pack["name"].as_str()),
        (Some(1), Some("storage"))
    );
    let actual = format!("Tokens: about {} of 2500\n", pack["tokenEstimate"]);
    assert!(text.contains(&actual), "{actual}");
    assert_eq!(pack["tokenEstimate"], (text.len() as u64 * 10).div_ceil(33), "of the file as it is");
    let ids: Vec<&str> = pack["typeIds"]
        .as_array()
        .expect("types")
        .iter()
        .filter_map(|id| id.as_str())
        .collect();
    let headings: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("## "))
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    assert_eq!(ids, headings);
}

/// To change the format of packs, raise the version of `csharp/pack` and update the expectation:
/// `cortex -C fixtures/memotree show //packs/storage:pack > fixtures/memotree/expected-pack.md`
#[test]
fn the_pack_of_the_fixture_is_as_it_was() {
    let bench = Bench::memotree();
    let expected = file(&bench, "expected-pack.md");
    assert_eq!(bench.run(&["show", PACK]).out, expected);
    let built = bench.run(&["pack", "build", "storage", "--json"]).json();
    assert_eq!(built["packText"], expected.as_str());
    // The head names the first omitted type, the data all.
    let left_out = built["leftOut"].as_array().expect("a list");
    let first = left_out[0]["path"].as_str().expect("a type");
    assert!(expected.contains(&format!("Left out for the budget, {} types: {first}, ", left_out.len())));
    for out in left_out {
        assert_eq!(
            (&out["part"], &out["why"]),
            (&"type".into(), &"it does not fit the budget of 2500 tokens".into())
        );
        assert!(!expected.contains(&format!("\n## {} ", out["path"].as_str().expect("a type"))));
    }
}

#[test]
fn answers_say_how_fresh_and_how_complete_they_are() {
    let bench = Bench::memotree();
    let state = |args: &[&str]| {
        let answer = bench.run(&[args, &["--json"]].concat()).json();
        let state = &answer["state"];
        let notes: Vec<String> = serde_json::from_value(state["notes"].clone()).expect("notes");
        (
            state["freshness"].as_str().expect("a word").to_owned(),
            state["complete"] == true,
            notes.join("; "),
        )
    };
    let current = |complete: bool, notes: &str| ("current".to_owned(), complete, notes.to_owned());
    assert_eq!(state(&["pack", "list"]), current(true, ""));
    let views = ["pack", "build", "views", "--filter", "namespace:MemoTree.Core.Views"];
    assert_eq!(state(&views), current(true, ""));
    assert_eq!(state(&["pack", "list"]), current(true, ""));
    let listed = bench.run(&["pack", "list", "--json"]).json();
    let built = bench.run(&[&views[..], &["--json"]].concat()).json();
    assert_eq!(listed["packs"][1]["tokenEstimate"], built["tokenEstimate"]);
    assert_eq!(
        built["tokenEstimate"],
        (built["packText"].as_str().expect("a text").len() as u64 * 10).div_ceil(33)
    );
    // The notes say why it is empty or incomplete.
    let (_, complete, notes) = state(&["pack", "build", "none", "--filter", "type:Nowhere9"]);
    assert!(complete && notes.starts_with("the filter selects none of the types"), "{notes}");
    let (_, complete, notes) = state(&[&views[..], &["--budget", "1"]].concat());
    assert!(
        !complete && notes.starts_with("0 of ") && notes.contains("no type fits the budget"),
        "{notes}"
    );
    let needed = notes
        .rsplit("from ")
        .next()
        .and_then(|rest| rest.split(' ').next())
        .expect("a number");
    let (_, _, enough) = state(&[&views[..], &["--budget", needed]].concat());
    assert!(enough.starts_with("1 of "), "{needed}: {enough}");
    let small = [&views[..], &["--semantic", "--budget", "1500"]].concat();
    let (_, complete, notes) = state(&small);
    assert!(!complete && notes.contains("summaries do not fit the budget"), "{notes}");
    let (_, complete, notes) = state(&[&views[..4], &["type:LodView and !type:NodeId"]].concat());
    assert!(
        complete && notes.starts_with("1 type that others name is excluded by the filter"),
        "{notes}"
    );
    // A list reports the last build, which may be of earlier sources.
    bench.write(
        "src/MemoTree.Core/Views/More.cs",
        "namespace MemoTree.Core.Views; public class More { }\n",
    );
    let (freshness, complete, notes) = state(&["pack", "list"]);
    assert!(
        freshness == "stale" && complete && notes.starts_with("the facts about none, views are of the last build"),
        "{notes}"
    );
    // An unreadable file may contain selected types.
    bench.write(
        "src/MemoTree.Core/Views/Bad.cs",
        "namespace MemoTree.Core.Views; public class Bad { void M( { } class }\n",
    );
    let (freshness, complete, notes) = state(&views);
    assert!(freshness == "current" && !complete && notes.contains("Views/Bad.cs:1"), "{notes}");
}

#[test]
fn edits_reach_a_pack_only_where_they_concern_it() {
    let bench = Bench::memotree();
    assert_eq!(built(&bench, "//packs/...")[PACK], "ran");
    edit(&bench, CODEC, "{", "{ // a remark");
    assert_ne!(built(&bench, PACK)[PACK], "ran", "a comment");
    bench.write(
        "src/MemoTree.Core/Extra.cs",
        "namespace MemoTree.Core; public class Extra { public NodeStore In; }\n",
    );
    let how = built(&bench, "//packs/...");
    assert_eq!(
        (how["//packs/storage:selection"].as_str(), how[PACK] == "ran"),
        ("ran", false),
        "a type that is not meant"
    );
    assert_eq!(shown(&bench), clean(&bench));
    bench.write(
        "src/MemoTree.Core/Storage/Extra.cs",
        "namespace MemoTree.Core.Storage; public class More { }\n",
    );
    assert_eq!(built(&bench, PACK)[PACK], "ran", "a type that is meant");
    assert!(file(&bench, FILE).contains("\n## MemoTree.Core.Storage.More T_"));
    assert_eq!(shown(&bench), clean(&bench));
}

#[test]
fn a_row_reaches_its_own_pack() {
    let bench = Bench::memotree();
    edit(
        &bench,
        "cortex.toml",
        "[pack.storage]",
        "[pack.other]\nfilter = \"type:Node\"\n\n[pack.storage]",
    );
    built(&bench, "//packs/...");
    edit(&bench, "cortex.toml", "type:Node\"", "type:NodeId\"");
    let ran: Vec<String> = built(&bench, "//packs/...")
        .into_iter()
        .filter(|(_, how)| how == "ran")
        .map(|(label, _)| label)
        .collect();
    let all = ["contents", "facts", "pack", "selection"].map(|target| format!("//packs/other:{target}"));
    assert_eq!(ran, all);
    assert!(file(&bench, ".cortex/out/packs/other.md").starts_with("# Pack other\nFilter: type:NodeId\n"));
    edit(&bench, "cortex.toml", "[pack.other]\nfilter = \"type:NodeId\"\n", "");
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    assert!(!bench.root().join(".cortex/out/packs/other.md").exists());
    assert_eq!(shown(&bench), clean(&bench));
}

#[test]
fn a_pack_with_summaries_asks_for_those_of_its_types_only() {
    let bench = Bench::memotree();
    edit(&bench, "cortex.toml", "budget = 2500", "semantic = true");
    bench.run(&["build", PACK]);
    let text = file(&bench, FILE);
    assert_eq!(
        text.matches("\n## ").count(),
        text.matches("\n### Semantic (extracted from code, no model)\n\nROLE:\n").count(),
        "{text}"
    );
    let made = bench.run(&["status", "--output", "json"]).json();
    assert!(made.to_string().contains("semantic"), "{made}");
    assert_eq!(bench.run(&["build", "//packs/storage:facts", "//index:json"]).code, 0);
}

#[test]
fn errors_of_a_pack_have_their_place_in_the_manifest() {
    let bench = Bench::memotree();
    edit(&bench, "cortex.toml", "tag:storage and", "tag:storage &");
    let result_of = |bench: &Bench, parts: &[&str]| {
        let run = bench.run(&["build", PACK]);
        let all = run.all();
        assert!(run.code != 0 && parts.iter().all(|part| all.contains(part)), "{all}");
    };
    let text = file(&bench, "cortex.toml");
    let line = text.lines().position(|line| line.starts_with("filter = ")).expect("the filter") + 1;
    let place = |column: usize| format!("cortex.toml:{line}:{column}");
    result_of(
        &bench,
        &[
            "exit 2",
            "InvalidFilter",
            &place(23),
            "this is not part of a filter",
            "filter = \"tag:storage & ",
        ],
    );
    edit(&bench, "cortex.toml", "tag:storage &", "tag:storrage");
    result_of(
        &bench,
        &[
            "exit 2",
            "InvalidFilter",
            &place(15),
            "there is no tag of this name",
            "did you mean 'storage'?",
        ],
    );
    // JSON and later commands report it, too; an added line above shifts the place.
    edit(&bench, "cortex.toml", "[pack.storage]", "# more\n[pack.storage]");
    let wrong = bench.run(&["pack", "build", "storage", "--output", "json"]);
    let why = wrong.err.lines().find(|line| line.contains("InvalidFilter")).expect("a line");
    let why: serde_json::Value = serde_json::from_str(why).expect("JSON");
    assert_eq!(wrong.code, 2, "{wrong:?}");
    let explained = bench.run(&["explain", "//packs/storage:selection"]).out;
    let failed = format!("InvalidFilter at cortex.toml:{}:15: there is no tag", line + 1);
    assert!(explained.contains(&failed), "{explained}");
    let at = |why: &serde_json::Value| format!("{}:{}:{}", why["file"].as_str().unwrap_or_default(), why["line"], why["column"]);
    assert_eq!(at(&why), format!("cortex.toml:{}:15", line + 1), "{wrong:?}");
    let status = bench.run(&["status", "--json"]).json();
    assert_eq!(at(&status["failures"][0]), format!("cortex.toml:{}:15", line + 1), "{status}");
    edit(&bench, "cortex.toml", "budget = 2500", "bugdet = 2500");
    result_of(&bench, &["exit 2", "E_UNKNOWN_KEY", "cortex.toml:", "did you mean 'budget'?"]);
}

#[test]
fn a_list_is_a_row_for_each_pack() {
    let bench = Bench::memotree();
    assert_eq!(
        bench.run(&["pack", "list"]).out,
        "storage  not built, cortex.toml  tag:storage and !type:Crc32\n"
    );
    let build = |args: &[&str]| bench.run(&[&["pack", "build"], args].concat());
    assert_eq!(
        build(&["one", "--filter", "type:NodeId\n  and\n\taccess:public", "--alone"]).code,
        0
    );
    assert_eq!(build(&["none", "--filter", "type:NodeId", "--budget", "3", "--alone"]).code, 0);
    let listed = bench.run(&["pack", "list"]).out;
    let rows: Vec<&str> = listed.lines().collect();
    assert!(
        rows[0].starts_with("none  0 of 1 types, about ") && rows[0].ends_with(" tokens, created here  type:NodeId"),
        "{listed}"
    );
    assert!(
        rows[1].starts_with("one  1 type, about ") && rows[1].ends_with("  type:NodeId and access:public"),
        "{listed}"
    );
    assert_eq!(rows.len(), 3, "{listed}");
    // A filter from the command line is in no file.
    let wrong = build(&["a b", "--filter", "type:NodeId"]);
    assert_eq!(wrong.code, 2);
    let actual = "error[E_NAME]: this cannot be the name of a pack\n  found: a b\n";
    assert!(wrong.err.starts_with(actual), "{}", wrong.err);
    let wrong = build(&["two", "--filter", "type:NodeId\n & x"]);
    assert!(
        wrong.code == 2 && wrong.err.contains("InvalidFilter] filter:1:14: "),
        "{}",
        wrong.err
    );
}

#[test]
fn packs_made_at_run_time_stand_beside_the_manifest() {
    let bench = Bench::memotree();
    let made = ".cortex/packs.toml";
    bench.write(made, "[pack.mine]\nfilter = \"type:NodeStore\"\nbudget = 10\n");
    let run = bench.run(&["build", "//packs/mine:pack"]);
    assert!(
        run.code == 0
            && run
                .err
                .contains("the budget of 10 tokens is too small for any type of the pack, and its head alone takes "),
        "{run:?}"
    );
    let small = bench.run(&["show", "//packs/mine:pack"]).out;
    assert!(small.starts_with("# Pack mine\nFilter: type:NodeStore\nTypes: 0 of "), "{small}");
    bench.write(made, "[pack.mine]\nfilter = \"type:NodeStore\"\n");
    assert_ne!(bench.run(&["show", "//packs/mine:pack"]).out, small);
    assert_eq!(
        bench.run(&["show", "//packs/mine:pack"]).out,
        bench.run(&["show", "//packs/mine:pack", "--no-store"]).out
    );
    bench.write(made, "[pack.storage]\nfilter = \"type:Node\"\n[workspace]\nname = \"x\"\n");
    let wrong = bench.run(&["build", PACK]).all();
    let parts = [
        "exit 2", "E_DUPLICATE", ".cortex/packs.toml:1:7", "E_UNKNOWN_KEY", ".cortex/packs.toml:3:2",
    ];
    assert!(parts.iter().all(|part| wrong.contains(part)), "{wrong}");
    std::fs::remove_file(bench.root().join(made)).expect("removed");
    std::os::unix::fs::symlink(bench.root().join("cortex.toml"), bench.root().join(made)).expect("a link");
    let link = bench.run(&["build", PACK]).all();
    let parts = ["exit 2", "E_PATH", ".cortex/packs.toml", "links are not followed here"];
    assert!(parts.iter().all(|part| link.contains(part)), "{link}");
    std::fs::remove_file(bench.root().join(made)).expect("removed");
    assert_eq!(bench.run(&["build", PACK]).code, 0);
    assert_eq!(bench.run(&["build", "//packs/mine:pack"]).code, 2);
}
