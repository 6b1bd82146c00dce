//! The prompt window and packs by the command line.

use crate::bench::Bench;

fn window(bench: &Bench) -> serde_json::Value {
    let ran = bench.run(&["window", "show", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

fn shown(bench: &Bench) -> Vec<String> {
    let window = window(bench);
    let shown = window["shown"].as_array().expect("a list");
    shown.iter().map(|path| path.as_str().expect("a path").to_owned()).collect()
}

#[test]
fn the_window_shows_pinned_types_and_those_looked_at() {
    let bench = Bench::memotree();
    assert_eq!(shown(&bench), [""; 0]);
    assert_eq!(
        bench.run(&["window", "pin", "NodeStore"]).out,
        "MemoTree.Core.NodeStore is pinned\n"
    );
    assert_eq!(
        bench.run(&["window", "pin", "Core.NodeStore"]).out,
        "MemoTree.Core.NodeStore was pinned already\n"
    );
    bench.run(&["outline", "NodeId"]);
    bench.run(&["source", "NodeTree#Find"]);
    bench.run(&["usages", "NodeId"]);
    let core = |name: &str| format!("MemoTree.Core.{name}");
    assert_eq!(shown(&bench), [core("NodeStore"), core("NodeId"), core("NodeTree")]);
    let laid = std::fs::read_to_string(bench.root().join(".cortex/out/prompt_window.md")).expect("the text");
    assert_eq!(window(&bench)["windowText"], laid.as_str());
    assert!(
        laid.contains("ROLE:\n") && laid.starts_with("# Prompt window\n\n## Pinned\n\n# MemoTree.Core.NodeStore "),
        "{laid}"
    );
    assert_eq!(
        bench.run(&["window", "dismiss", "NodeId"]).out,
        "MemoTree.Core.NodeId is no longer among those looked at\n"
    );
    assert_eq!(shown(&bench), [core("NodeStore"), core("NodeTree")]);
    bench.run(&["outline", "NodeId"]);
    assert_eq!(shown(&bench).len(), 3);
    // Deleting the store keeps the pinned types.
    std::fs::remove_dir_all(bench.store()).expect("removed");
    assert_eq!(shown(&bench)[0], core("NodeStore"));
    assert_eq!(bench.run(&["window", "unpin", "NodeStore"]).code, 0);
    assert_eq!(
        bench.run(&["window", "unpin", "NodeStore"]).out,
        "MemoTree.Core.NodeStore was not pinned\n"
    );
}

#[test]
fn the_budget_cuts_and_says_what() {
    let bench = Bench::memotree();
    bench.run(&["window", "pin", "NodeStore"]);
    bench.run(&["outline", "NodeId"]);
    let whole = window(&bench);
    assert_eq!(whole["cut"].as_array().map(Vec::len), Some(0));
    for budget in ["1000", "4000", "6000"] {
        bench.run(&["window", "set", "--max-chars", budget]);
        let cut = window(&bench);
        assert!(
            cut["chars"].as_u64() <= budget.parse().ok() && !cut["cut"].as_array().expect("a list").is_empty(),
            "{cut}"
        );
    }
    assert_eq!(bench.run(&["window", "set", "--max-chars", "5"]).code, 2);
    bench.run(&["window", "set", "--max-chars", "0"]);
    assert_eq!(window(&bench)["windowText"], whole["windowText"]);
}

#[test]
fn packs_are_made_listed_used_and_removed() {
    let bench = Bench::memotree();
    let made = bench
        .run(&[
            "pack",
            "build",
            "views",
            "--filter",
            "namespace:MemoTree.Core.Views",
            "--alone",
            "--json",
        ])
        .json();
    assert!(
        made["types"]
            .as_array()
            .is_some_and(|types| types.iter().all(|path| path.as_str().is_some_and(|path| path.contains(".Views.")))),
        "{made}"
    );
    let laid = std::fs::read_to_string(bench.root().join(".cortex/out/packs/views.md")).expect("the text");
    assert_eq!(made["packText"], laid.as_str());
    assert_eq!(bench.run(&["pack", "build", "views"]).out, laid);
    let listed = bench.run(&["pack", "list"]).out;
    assert!(
        listed.contains("views  ") && listed.contains("storage  not built, cortex.toml"),
        "{listed}"
    );
    let refused = bench.run(&["pack", "build", "bad", "--filter", "(", "--output", "json"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("InvalidFilter") && !bench.run(&["pack", "list"]).out.contains("bad"));
    assert_eq!(
        bench.run(&["pack", "build", "storage", "--filter", "type:*"]).code,
        2,
        "it stands in cortex.toml"
    );
    assert_eq!(bench.run(&["window", "set", "--pack", "nothing"]).code, 2);
    bench.run(&["window", "set", "--pack", "views"]);
    assert!(shown(&bench).contains(&"MemoTree.Core.Views.LodView".to_owned()));
    assert_eq!(bench.run(&["pack", "remove", "views"]).out, "removed\n");
    assert_eq!(window(&bench)["cut"][0], "the pack views no longer exists");
    assert_eq!(bench.run(&["pack", "remove", "views"]).out, "there was none of that name\n");
}

#[test]
fn a_pin_follows_its_type_to_another_name() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"shelf\"\nrulesets = [\"csharp\"]\n");
    let shelf = "namespace N;\npublic class Shelf { public int Size { get; set; } public int Get(int at) { return at; } }\n";
    bench.write("Shelf.cs", shelf);
    assert_eq!(bench.run(&["window", "pin", "Shelf"]).code, 0);
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    bench.write("Shelf.cs", &shelf.replace("Shelf", "Rack"));
    let window = window(&bench);
    assert_eq!(
        (&window["shown"], &window["cut"], &window["state"]["notes"]),
        (
            &serde_json::json!(["N.Rack"]),
            &serde_json::json!([]),
            &serde_json::json!(["the type N.Shelf was renamed to N.Rack"])
        )
    );
    let before = std::fs::read(bench.root().join(".cortex/window.json")).expect("kept");
    for name in ["Rack", "N.Shelf", "Shelf"] {
        std::fs::write(bench.root().join(".cortex/window.json"), &before).expect("put back");
        let again = bench.run(&["window", "pin", name]);
        assert_eq!(again.out, "N.Rack was pinned already\n", "{again:?}");
        std::fs::write(bench.root().join(".cortex/window.json"), &before).expect("put back");
        let gone = bench.run(&["window", "unpin", name]);
        assert_eq!(gone.out, "N.Rack is pinned no longer\n", "{gone:?}");
    }
    // The note about a member names its type.
    let member = bench.run(&["resolve", "Shelf.Size"]);
    assert!(member.out.ends_with("note: the type Shelf was renamed to N.Rack\n"), "{member:?}");
}

#[test]
fn a_type_that_is_gone_is_let_go_by_the_end_of_its_name() {
    let bench = Bench::memotree();
    bench.write("src/MemoTree.Core/Shelf.cs", "namespace N;\npublic class Shelf { }\n");
    assert_eq!(bench.run(&["window", "pin", "Shelf"]).code, 0);
    std::fs::remove_file(bench.root().join("src/MemoTree.Core/Shelf.cs")).expect("removed");
    assert_eq!(bench.run(&["window", "pin", "Shelf"]).code, 2);
    assert_eq!(bench.run(&["window", "unpin", "helf"]).code, 2);
    assert_eq!(bench.run(&["window", "unpin", "shelf"]).out, "N.Shelf is pinned no longer\n");
}

#[test]
fn a_summary_is_of_one_type() {
    let bench = Bench::memotree();
    for pattern in ["I*", "*Exporter"] {
        let several = bench.run(&["semantic", pattern, "--json"]);
        assert_eq!(several.code, 2, "{several:?}");
        assert!(
            several.out.is_empty() && several.err.contains("AmbiguousSymbol") && several.err.contains("candidates"),
            "{several:?}"
        );
    }
    // A pattern with exactly one match resolves.
    assert_eq!(bench.run(&["semantic", "NodeSto?e"]).out, bench.run(&["semantic", "NodeStore"]).out);
}
