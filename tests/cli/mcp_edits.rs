//! Search and edits of a model with the tools of `cortex mcp`, and the configuration of clients.

use crate::bench::Bench;
use crate::mcp::{Client, text};
use serde_json::json;

#[test]
fn a_model_edits_by_the_one_tool() {
    let bench = Bench::memotree();
    let mut client = Client::structured(&bench, true);
    let file = "src/MemoTree.Core/NodeId.cs";
    let opened = client.call("edit", json!({"op": "open", "path": file}));
    let session = opened["structuredContent"]["session"].as_str().expect("a handle").to_owned();
    assert!(
        text(&opened).contains(&session),
        "who reads the text alone knows the handle: {opened}"
    );
    let several = client.call(
        "edit",
        json!({"op": "replace", "session": session, "old_text": "Value", "newText": "Number"}),
    );
    let answer = &several["structuredContent"];
    assert_eq!(
        (&answer["status"], &several["isError"]),
        (&json!("MultiMatch"), &json!(true)),
        "{several}"
    );
    assert_eq!(answer["candidates"].as_array().map(Vec::len), Some(5));
    assert_eq!(answer["exitCode"], 1);
    let chosen = client.call("edit", json!({"op": "replace_selection", "session": session, "selectionId": 2}));
    assert_eq!(chosen["structuredContent"]["workflow_state"], "PersistPending");
    let diff = client.call("edit", json!({"op": "diff", "session": session}));
    let lines = diff["structuredContent"]["detail"].as_str().unwrap_or_default();
    assert!(lines.contains("\n+") && lines.contains("Number"), "{diff}");
    let discarded = client.call("edit", json!({"op": "discard", "session": session}));
    assert_eq!(discarded["structuredContent"]["flags"], json!({"mask": 0, "names": []}));
    assert!(
        client
            .failure("edit", json!({"op": "replace", "session": session}))
            .contains("oldText")
    );
}

#[test]
fn an_edit_that_succeeds_is_told_in_one_line() {
    let bench = Bench::memotree();
    let mut client = Client::start(&bench, true);
    let file = "src/MemoTree.Core/NodeId.cs";
    let replace = json!({"op": "replace", "path": file, "oldText": "bool IsNone =>", "newText": "bool IsNothing =>"});
    let done = client.call("edit", replace.clone());
    let actual = text(&done);
    assert!(
        actual.starts_with(&format!("{file}:")) && actual.contains(", saved") && actual.trim_end().lines().count() == 1,
        "{actual}"
    );
    // The answer shows the undone change.
    let back = text(&client.call("edit", json!({"op": "undo"})));
    assert!(
        back.contains("-    public bool IsNothing") && back.contains("+    public bool IsNone"),
        "{back}"
    );
    let mut full = replace.clone();
    full["full"] = json!(true);
    let actual = text(&client.call("edit", full));
    assert!(
        actual.starts_with("status: `Success`") && actual.contains("+    public bool IsNothing"),
        "{actual}"
    );
    // It is an error if the command line would exit with another code than 0; so is an unused argument.
    assert_eq!(client.call("edit", replace)["isError"], json!(true));
    let unused = json!({"op": "replace", "path": file, "oldText": "a", "newText": "b", "symbol": "NodeId"});
    let why = client.failure("edit", unused);
    assert!(why.contains("replace has no use for 'symbol'"), "{why}");
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    bench.write("cortex.toml", &format!("{manifest}\n[edit]\nreplies = \"full\"\n"));
    let actual = text(&client.call("edit", json!({"op": "list"})));
    assert!(actual.starts_with("status: `Success`"), "{actual}");
    bench.write("cortex.toml", &format!("{manifest}\n[edit]\nreplies = \"loud\"\n"));
    let refused = bench.run(&["build", "//index:types"]);
    assert!(
        refused.code == 2 && refused.err.contains("'replies' is neither brief nor full"),
        "{}",
        refused.err
    );
}

#[test]
fn clients_are_configured() {
    let bench = Bench::memotree();
    let run = |arguments: &[&str]| bench.run(&[&["mcp", "install"], arguments].concat());
    // Without a terminal, no confirmation is possible.
    let asked = run(&["claude"]);
    assert!(
        asked.code == 2 && asked.out.contains("+++ .mcp.json") && !bench.root().join(".mcp.json").exists(),
        "{}",
        asked.out
    );
    let unsaid = run(&["claude", "--json"]);
    assert_eq!((unsaid.code, &unsaid.json()["written"]), (2, &json!(false)), "{unsaid:?}");
    let actual = run(&["claude", "--json", "--yes"]);
    let (answer, path) = (actual.json(), bench.root().join(".mcp.json"));
    assert_eq!((actual.code, &answer["changes"][0]["path"]), (0, &json!(".mcp.json")), "{actual:?}");
    assert!(answer["changes"][0]["session"].is_string() && path.exists(), "{answer}");
    let done = run(&["vscode", "--yes", "--agents-md"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let read = |path: &str| std::fs::read_to_string(bench.root().join(path)).expect("a file");
    assert!(read(".vscode/mcp.json").contains("${workspaceFolder}") && read("AGENTS.md").contains("`usages`"));
    let again = run(&["vscode", "--yes", "--agents-md"]);
    assert!(again.code == 0 && again.out.contains("already"), "{}", again.out);
    bench.write(".cursor/mcp.json", "{ // broken\n");
    assert_eq!(run(&["cursor", "--yes"]).code, 2);
    assert_eq!(read(".cursor/mcp.json"), "{ // broken\n");
}

#[test]
fn text_is_found_with_its_member() {
    let bench = Bench::memotree();
    bench.write(
        "src/MemoTree.Core/Found.cs",
        "namespace F;\nclass Found\n{\n    int Needle9() => 1;\n}\n",
    );
    let mut client = Client::start(&bench, false);
    let actual = text(&client.call("search", json!({"op": "grep", "query": "needle\\d", "ignoreCase": true})));
    assert_eq!(actual, "src/MemoTree.Core/Found.cs  F.Found#Needle9()\n4: int Needle9() => 1;\n");
    assert_eq!(bench.run(&["grep", "-i", "needle\\d", "--path", "src/*/Found.cs"]).out, actual);
    let none = bench.run(&["grep", "Needle9", "--path", "nowhere"]);
    assert!(none.code == 0 && none.out.contains("no source is in nowhere"), "{}", none.out);
    assert_eq!(bench.run(&["grep", "("]).code, 2);
    // A search also finds unsaved documents.
    assert_eq!(bench.run(&["overlay", "open", "w"]).code, 0);
    bench.write("new.txt", "namespace F;\nclass Found { int Other8; }\n");
    let from = bench.root().join("new.txt").display().to_string();
    assert_eq!(
        bench
            .run(&["overlay", "put", "w", "src/MemoTree.Core/Found.cs", "--from", &from])
            .code,
        0
    );
    let within = bench.run(&["grep", "Other8", "--overlay", "w"]).out;
    assert!(within.contains("F.Found#Other8"), "{within}");
}

#[test]
fn a_rename_is_saved_everywhere_or_nowhere() {
    let bench = Bench::memotree();
    let sources = || bench.run(&["grep", "IsNone|IsNothing", "--limit", "1000"]).out;
    let before = sources();
    let dry = bench.run(&["rename", "NodeId#IsNone", "IsNothing", "--dry-run"]);
    assert!(
        dry.code == 0 && dry.out.contains("+++ src/MemoTree.Core/NodeId.cs"),
        "{}{}",
        dry.out,
        dry.err
    );
    assert_eq!(sources(), before);
    for (new, why) in [("class", "does not allow the name"), ("Value", "already has Value")] {
        let refused = bench.run(&["rename", "NodeId#IsNone", new]);
        assert!(refused.code == 2 && refused.err.contains(why), "{}", refused.err);
        assert_eq!(sources(), before);
    }
    let mut client = Client::start(&bench, false);
    let done = text(&client.call("rename", json!({"symbol": "NodeId#IsNone", "new": "IsNothing"})));
    assert!(
        done.contains("MemoTree.Core.NodeId#IsNone → MemoTree.Core.NodeId#IsNothing"),
        "{done}"
    );
    assert!(!sources().contains("IsNone") && sources().contains("IsNothing"));
    let back = bench.run(&["edit", "undo"]);
    assert!(back.code == 0 && sources() == before, "{}{}", back.out, back.err);
    let again = bench.run(&["rename", "NodeId", "NodeKey"]);
    assert!(again.code == 0, "{}{}", again.out, again.err);
    assert!(bench.run(&["outline", "NodeKey"]).out.contains("IsNone"));
    // A read-only file.
    let file = bench.root().join("src/MemoTree.Core/NodeId.cs");
    let mut mode = std::fs::metadata(&file).expect("a file").permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&file, mode).expect("set");
    let refused = bench.run(&["rename", "NodeKey", "NodeName"]);
    assert!(refused.code == 2 && refused.err.contains("it is read-only"), "{}", refused.err);
}

#[test]
fn an_edit_that_breaks_the_syntax_says_so() {
    let bench = Bench::memotree();
    let path = "src/MemoTree.Core/Small.cs";
    bench.write(path, "class Small\n{\n    int One() => 1;\n}\n");
    let edit = |old: &str, new: &str| bench.run(&["edit", "replace", path, "--old-text", old, "--new-text", new]);
    let broken = edit("One() => 1;", "One( => 1;");
    assert!(broken.code == 0 && broken.out.contains("Small.cs:3:"), "{broken:?}");
    assert!(broken.out.contains("the file no longer parses"), "{broken:?}");
    // It was broken before, and then it is mended.
    assert!(!edit("1;", "2;").out.contains("does not parse"));
    assert!(!edit("One( =>", "One() =>").out.contains("does not parse"));
}

#[test]
fn generated_files_are_refused_by_edits_of_symbols() {
    let bench = Bench::memotree();
    let path = "src/MemoTree.Core/Made.g.cs";
    let text = "// <auto-generated/>\nnamespace MemoTree.Core;\npublic class Made { }\n";
    bench.write(path, text);
    for operation in [
        vec!["add_using", path, "--new-text", "System.Linq"],
        vec!["add_member", "--symbol", "Made", "--new-text", "public int Count;"],
    ] {
        let refused = bench.run(&[&["edit"], operation.as_slice()].concat());
        assert!(
            refused.code == 2 && refused.err.contains("is generated, and"),
            "{operation:?}: {refused:?}"
        );
    }
    assert_eq!(std::fs::read_to_string(bench.root().join(path)).expect("a file"), text);
}

#[test]
fn edits_by_symbol_are_looked_at_before_they_are_saved() {
    let bench = Bench::memotree();
    let path = "src/MemoTree.Core/Extra.cs";
    let before = "\u{feff}using Left;\r\n\r\nnamespace MemoTree.Core;\r\n\r\npublic class Extra\r\n{\r\n\tpublic int Used() => 1;\r\n\tpublic int Calls() => Used();\r\n\r\n\tTwin Spare;\r\n}\r\n";
    bench.write(path, before);
    bench.write(
        "src/MemoTree.Core/Twins.cs",
        "namespace Left { public class Twin { } }\nnamespace Right { public class Twin { } }\nnamespace MemoTree.Core { public interface IExtra { }\npublic class HasIt : IExtra { } }\n",
    );
    let read = || std::fs::read_to_string(bench.root().join(path)).expect("a file");
    let mut client = Client::start(&bench, false);
    let used = bench.run(&["edit", "safe_delete", "--symbol", "Extra#Used"]);
    assert!(
        used.code == 2 && used.err.contains("src/MemoTree.Core/Extra.cs:8:24: it is used here"),
        "{}{}",
        used.out,
        used.err
    );
    for (space, why) in [
        ("Right", "could mean"),
        ("MemoTree.Nowhere", "declares no MemoTree.Nowhere"),
        ("1", "is not a using directive"),
    ] {
        let refused = bench.run(&["edit", "add_using", path, "--new-text", space]);
        assert!(refused.code == 2 && refused.err.contains(why), "{}{}", refused.out, refused.err);
    }
    assert_eq!(read(), before);
    let gone = before.replace("\r\n\tTwin Spare;\r\n", "");
    let done = text(&client.call("edit", json!({"op": "safe_delete", "symbol": "Extra#Spare"})));
    assert!(done.contains("deleted MemoTree.Core.Extra#Spare"), "{done}");
    assert_eq!(read(), gone);
    assert_eq!(bench.run(&["edit", "undo"]).code, 0);
    assert_eq!(read(), before);
    let added = before.replace("using Left;", "using System.Linq;\r\nusing Left;");
    let done = text(&client.call("edit", json!({"op": "add_using", "path": path, "newText": "System.Linq"})));
    assert!(done.contains("added `using System.Linq`"), "{done}");
    assert_eq!(read(), added);
    let aliased = bench.run(&["edit", "add_using", path, "--new-text", "Text = System.String", "--dry-run"]);
    assert!(
        aliased.out.contains("added `using Text = System.String`"),
        "{}{}",
        aliased.out,
        aliased.err
    );
    let again = bench.run(&["edit", "add_using", path, "--new-text", "System.Linq"]);
    assert!(
        again.code == 0 && again.out.contains("has it already"),
        "{}{}",
        again.out,
        again.err
    );
    assert_eq!(read(), added);
    assert_eq!(bench.run(&["edit", "undo"]).code, 0);
    assert_eq!(read(), before);
    for (of, new, why) in [
        (
            "Extra",
            "Nowhere Lost() => null;",
            "Extra.cs:10:2: Nowhere would refer to nothing known",
        ),
        ("Extra", "public int Used() => 2;", "there is a MemoTree.Core.Extra#Used() already"),
        (
            "IExtra",
            "int Owed();",
            "Twins.cs:4:14: MemoTree.Core.HasIt would have to declare it, too",
        ),
    ] {
        let refused = bench.run(&["edit", "add_member", "--symbol", of, "--new-text", new]);
        assert!(refused.code == 2 && refused.err.contains(why), "{}{}", refused.out, refused.err);
    }
    let added = before.replace("Used();\r\n", "Used();\r\n\r\n\tpublic Twin New() => Spare;\r\n");
    let call = json!({"op": "add_member", "symbol": "Extra", "newText": "public Twin New() => Spare;"});
    let done = text(&client.call("edit", call));
    assert!(done.contains("added New() to MemoTree.Core.Extra"), "{done}");
    assert_eq!(read(), added);
    assert_eq!(bench.run(&["edit", "undo"]).code, 0);
    assert_eq!(read(), before);
}

#[test]
fn rounds_of_a_conversation_end_by_the_tool_of_contexts() {
    let bench = Bench::memotree();
    let mut client = Client::start(&bench, true);
    let query = json!({"op": "build", "query": "NodeCodec", "conversation": "new", "budget": 500});
    assert_eq!(client.call("context", query)["isError"], json!(false));
    let file = "src/MemoTree.Core/Storage/NodeCodec.cs";
    let ended = client.call("context", json!({"op": "end", "conversation": "c1", "files": file}));
    assert_eq!(text(&ended), format!("round 1 of c1 names {file}\n"));
    for (files, why) in [
        (json!(["src/Nothing.cs"]), "the workspace has no such file"),
        (json!([]), "'files' is missing"),
        (json!(["../away.cs"]), "leads out"),
    ] {
        let failed = client.failure("context", json!({"op": "end", "conversation": "c1", "files": files}));
        assert!(failed.contains(why), "{failed}");
    }
    let listed = client.call("context", json!({"op": "conversations"}));
    assert_eq!(text(&listed), "c1  1 round  NodeCodec\n");
}

#[test]
fn messages_name_tools_and_arguments() {
    let bench = Bench::memotree();
    let mut client = Client::start(&bench, false);
    let refused = client.failure("overlay", json!({"op": "diff", "name": "none"}));
    assert!(
        refused.contains("`overlay` with op = \"open\", name = \"NAME\" opens one") && !refused.contains("cortex overlay"),
        "{refused}"
    );
    let path = bench.root().join("src/MemoTree.Core/NodeId.cs").display().to_string();
    let outline = text(&client.call("outline", json!({"symbols": [path]})));
    assert!(outline.starts_with("# file src/MemoTree.Core/NodeId.cs: "), "{outline}");
    let folder = bench.root().join("src").display().to_string();
    let found = text(&client.call("search", json!({"op": "grep", "pattern": "record struct NodeId", "path": folder})));
    assert!(found.starts_with("src/MemoTree.Core/NodeId.cs"), "{found}");
}
