//! Packs from outside: built, shown, laid out; what edits do to them; and what is wrong with them.

use super::bench::Bench;
use std::collections::BTreeMap;

const PACK: &str = "//packs/storage:pack";
const FILE: &str = ".cortex/out/packs/storage.md";
const CODEC: &str = "src/MemoTree.Core/Storage/NodeCodec.cs";

/// What became of the targets of a build, by label.
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

/// Everything that packs come to in a store of its own.
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
        "//packs/storage:facts\n//packs/storage:pack\n//packs/storage:selection\n"
    );
    let index = bench.run(&["show", "//index:json"]).json();
    let pack = &index["packs"][0];
    assert_eq!(
        (index["packs"].as_array().map(Vec::len), pack["name"].as_str()),
        (Some(1), Some("storage"))
    );
    let told = format!("Tokens: about {} of 2500\n", pack["tokenEstimate"]);
    assert!(text.contains(&told), "{told}");
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
    assert_eq!(ran, ["//packs/other:facts", "//packs/other:pack", "//packs/other:selection"]);
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
fn what_is_wrong_is_told_at_its_place() {
    let bench = Bench::memotree();
    edit(&bench, "cortex.toml", "tag:storage and", "tag:storage &");
    let told = |bench: &Bench, parts: &[&str]| {
        let run = bench.run(&["build", PACK]);
        let all = run.all();
        assert!(run.code != 0 && parts.iter().all(|part| all.contains(part)), "{all}");
    };
    told(&bench, &["exit 1", "InvalidFilter", "filter:1:13", "this is no part of a filter"]);
    edit(&bench, "cortex.toml", "tag:storage &", "tag:storrage");
    told(
        &bench,
        &["exit 1", "InvalidFilter", "there is no tag of this name", "did you mean 'storage'?"],
    );
    edit(&bench, "cortex.toml", "budget = 2500", "bugdet = 2500");
    told(&bench, &["exit 2", "E_UNKNOWN_KEY", "cortex.toml:", "did you mean 'budget'?"]);
}

#[test]
fn packs_made_at_run_time_stand_beside_the_manifest() {
    let bench = Bench::memotree();
    let made = ".cortex/packs.toml";
    bench.write(made, "[pack.mine]\nfilter = \"type:NodeStore\"\nbudget = 10\n");
    let run = bench.run(&["build", "//packs/mine:pack"]);
    assert!(
        run.code == 0 && run.err.contains("the budget is too small for any type of the pack"),
        "{run:?}"
    );
    let small = bench.run(&["show", "//packs/mine:pack"]).out;
    assert!(small.starts_with("# Pack mine\nFilter: type:NodeStore\nTypes: 0 "), "{small}");
    bench.write(made, "[pack.mine]\nfilter = \"type:NodeStore\"\n");
    assert_ne!(bench.run(&["show", "//packs/mine:pack"]).out, small);
    assert_eq!(
        bench.run(&["show", "//packs/mine:pack"]).out,
        bench.run(&["show", "//packs/mine:pack", "--no-store"]).out
    );
    bench.write(made, "[pack.storage]\nfilter = \"type:Node\"\n[workspace]\nname = \"x\"\n");
    let wrong = bench.run(&["build", PACK]).all();
    let parts = [
        "exit 2",
        "E_DUPLICATE",
        ".cortex/packs.toml:1:7",
        "E_UNKNOWN_KEY",
        ".cortex/packs.toml:3:2",
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
