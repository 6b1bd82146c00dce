//! Files of other languages: by their grammar, by an index of another program, and C# as an index.

use crate::bench::Bench;
use producers::scip::messages::{Document, Index, Metadata, Occurrence, ToolInfo, role};

const API: &str = "/** Talks to the server. */\nexport class Client {\n  async get(id: string) { return id; }\n}\n";
const APP: &str =
    "import { Client } from \"./api\";\n\nexport async function start(client: Client) {\n  return await client.get(\"1\");\n}\n";

fn bench(rulesets: &str) -> Bench {
    let bench = Bench::empty();
    bench.write("cortex.toml", &format!("[workspace]\nname = \"mixed\"\nrulesets = {rulesets}\n"));
    bench.write(
        "src/Store.cs",
        "namespace Box;\n/// <summary>Keeps things.</summary>\npublic class Store { public int Get(int id) => id; int Two() => Get(2); }\n",
    );
    bench.write("web/api.ts", API);
    bench.write("web/app.ts", APP);
    bench
}

/// Returns an index of the two files, as an indexer of their language writes it.
fn index() -> Vec<u8> {
    let symbol = |name: &str| format!("scip-typescript npm web 1.0.0 `api.ts`/{name}");
    let at = |line: i32, from: i32, to: i32, name: &str, symbol_roles: i32| Occurrence {
        range: vec![line, from, to],
        symbol: symbol(name),
        symbol_roles,
        ..Occurrence::default()
    };
    let document = |path: &str, occurrences: Vec<Occurrence>| Document {
        relative_path: path.to_owned(),
        language: "TypeScript".to_owned(),
        occurrences,
        ..Document::default()
    };
    let index = Index {
        metadata: Some(Metadata {
            tool_info: Some(ToolInfo {
                name: "scip-typescript".to_owned(),
                version: "0.4.0".to_owned(),
                arguments: Vec::new(),
            }),
            ..Metadata::default()
        }),
        documents: vec![
            document("made.ts", vec![at(0, 4, 10, "Client#`<constructor>`().", 0)]),
            document(
                "api.ts",
                vec![
                    at(1, 13, 19, "Client#", role::DEFINITION),
                    at(2, 8, 11, "Client#get().", role::DEFINITION),
                ],
            ),
            document("app.ts", vec![at(2, 36, 42, "Client#", 0), at(3, 22, 25, "Client#get().", 0)]),
            document("../../outside.ts", vec![at(0, 0, 1, "Client#", 0)]),
        ],
        external_symbols: Vec::new(),
    };
    index.to_bytes()
}

#[test]
fn a_grammar_answers_beside_csharp_and_says_that_names_are_not_bound() {
    let bench = bench("[\"csharp\", \"typescript\"]");
    let search = bench.run(&["search", "get"]);
    assert_eq!(search.code, 0, "{search:?}");
    assert!(
        search
            .out
            .starts_with("Box.Store#Get(int)  public method  src/Store.cs:3\nweb/api.ts#Client.get  method  web/api.ts\n"),
        "{}",
        search.out
    );
    let outline = bench.run(&["outline", "web/api.ts"]);
    assert_eq!(
        outline.out,
        "# web/api.ts\nLanguage: typescript | Told by: tree-sitter\n\n  + [class] export class Client  // Talks to the server.\n  +   [method] async get(id: string)\nnote: web/api.ts: read by the grammar of typescript; uses are found by name\n"
    );
    let usages = bench.run(&["usages", "Client.get"]);
    assert!(
        usages.out.starts_with(
            "# web/api.ts#Client.get\npossible, the name is the same; cortex does not bind names in this language:\nweb/app.ts:4:23: return await client.get(\"1\");\n"
        ),
        "{usages:?}"
    );
    let source = bench.run(&["source", "api.ts#Client.get"]);
    assert_eq!(
        source.out, "// web/api.ts#Client.get  web/api.ts:3-3\n3    async get(id: string) { return id; }\n",
        "{source:?}"
    );
    assert!(
        bench.run(&["usages", "Store.Get"]).out.contains("\nsrc/Store.cs:3:"),
        "C# means what it meant"
    );
    assert!(bench.run(&["resolve", "start"]).out.starts_with("web/app.ts#start"));
    let context = bench.run(&["context", "build", "--query", "how does the client talk to the server"]);
    assert!(
        context.out.contains("## web/api.ts\n") && context.out.contains("```typescript\n"),
        "{context:?}"
    );
    let summary = bench.run(&["semantic", "web/api.ts"]);
    assert!(summary.out.contains("Defines class Client. Talks to the server."), "{summary:?}");
    // Pages of both languages form one list.
    let page = |more: &[&str]| bench.run(&[&["search", "get", "--limit", "1", "--json"], more].concat()).json();
    let first = page(&[]);
    let second = page(&["--cursor", first["next"].as_str().expect("a cursor")]);
    let paths = [&first, &second].map(|page| page["hits"][0]["path"].as_str().unwrap_or_default().to_owned());
    assert_eq!(paths, ["Box.Store#Get(int)", "web/api.ts#Client.get"], "{second}");
    assert_eq!(
        (&first["total"], &second["total"], second["next"].is_null()),
        (&2.into(), &2.into(), true)
    );
    // Names follow changes of the files.
    bench.write("web/api.ts", &API.replace("Client", "Server"));
    assert!(bench.run(&["search", "Server"]).out.starts_with("web/api.ts#Server  class"));
    assert_eq!(bench.run(&["outline", "Client"]).code, 2);
}

#[test]
fn languages_are_read_beside_each_other() {
    let bench = bench("[\"csharp\", \"typescript\", \"python\"]");
    bench.write("py/store.py", "\"\"\"Keeps notes.\"\"\"\n\ndef load(path):\n    return get(path)\n");
    let search = bench.run(&["search", "load"]);
    assert!(search.out.starts_with("py/store.py#load  function  py/store.py\n"), "{search:?}");
    assert!(bench.run(&["search", "Client"]).out.starts_with("web/api.ts#Client  class"));
    let usages = bench.run(&["usages", "Client.get"]).out;
    assert!(
        usages.contains("web/app.ts:4:23:") && usages.contains("py/store.py:4:12:"),
        "{usages}"
    );
    let outline = bench.run(&["outline", "py/store.py"]).out;
    assert!(
        outline.starts_with("# py/store.py\nLanguage: python | Told by: tree-sitter\n\nKeeps notes.\n\n  + [function] def load(path)\n"),
        "{outline}"
    );
    let summary = bench.run(&["semantic", "py/store.py"]);
    assert!(summary.out.contains("Defines function load. Keeps notes."), "{summary:?}");
    let build = bench.run(&["build"]);
    assert_eq!(build.code, 0, "{build:?}");
}

#[test]
fn symbols_of_other_languages_are_not_called_unknown() {
    let bench = bench("[\"csharp\", \"typescript\"]");
    for asked in [
        &["callers", "Client.get"][..],
        &["deps", "web/api.ts#Client"],
        &["implementations", "Client"],
        &["impact", "start"],
        &["rename", "Client.get", "fetch"],
    ] {
        let ran = bench.run(asked);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("this is known of C# alone, and web/"), "{asked:?}: {ran:?}");
    }
    let folder = bench.run(&["outline", "./web/"]).out;
    assert_eq!(
        folder,
        "# folder web: 2 files of other languages\nweb/api.ts: Client\nweb/app.ts: start\n"
    );
    // A file without definitions is still known, and one that does not parse is reported.
    bench.write("web/empty.ts", "");
    let empty = bench.run(&["outline", "web/empty.ts"]);
    assert!(empty.out.contains("It defines nothing that is known.\n"), "{empty:?}");
    bench.write("web/broken.ts", "class Broken {{{ (((\n");
    let broken = bench.run(&["outline", "web/broken.ts"]).out;
    assert!(
        broken.contains("Not whole: some text does not parse") && broken.contains("line 1 does not parse"),
        "{broken}"
    );
    // A file named by the end of its path is shown once.
    let context = bench.run(&["context", "build", "--query", "where does Client fetch in api.ts"]).out;
    assert_eq!(context.matches("## web/api.ts\n").count(), 1, "{context}");
}

#[test]
fn overloads_and_accessors_are_shown_together() {
    let bench = bench("[\"typescript\"]");
    bench.write(
        "web/over.ts",
        "function over(a: string): void;\nfunction over(a: any) { }\nclass Box {\n  get size() { return 1; }\n  one() {}\n  set size(v) { }\n}\n",
    );
    let over = bench.run(&["source", "over"]).out;
    assert!(over.starts_with("// web/over.ts#over  web/over.ts:1-2\n"), "{over}");
    let size = bench.run(&["source", "Box.size"]).out;
    assert!(size.contains("web/over.ts:4-4\n") && size.contains("web/over.ts:6-6\n"), "{size}");
}

#[test]
fn a_pack_holds_types_and_files_of_other_languages() {
    let bench = bench("[\"csharp\", \"scip\", \"typescript\"]");
    std::fs::write(bench.root().join("web/index.scip"), index()).expect("written");
    bench.change(
        "cortex.toml",
        "[workspace]",
        "[scip.web]\nindex = \"web/index.scip\"\n[pack.all]\nfilter = \"file:web/* or type:Store\"\n[workspace]",
    );
    bench.write("web/more.ts", "export class More {}\n");
    let built = bench.run(&["pack", "build", "all", "--json"]).json();
    assert_eq!(
        (&built["types"], &built["files"]),
        (
            &serde_json::json!(["Box.Store"]),
            &serde_json::json!(["web/api.ts", "web/app.ts", "web/more.ts"])
        ),
        "{built}"
    );
    let text = built["packText"].as_str().expect("text");
    assert!(
        text.contains("## web/api.ts\nLanguage: typescript | Told by: scip-typescript 0.4.0\n"),
        "{text}"
    );
    assert!(
        text.contains("## web/more.ts\nLanguage: typescript | Told by: tree-sitter\n\n  + [class] export class More"),
        "{text}"
    );
    // An edit of a body does not affect it; a definition in the index that the file lacks does, with a note.
    bench.write("web/more.ts", "export class More { /* nothing */ }\n");
    bench.write("web/api.ts", &API.replace("get", "fetch"));
    let moved = bench.run(&["pack", "build", "all"]).out;
    assert!(
        moved.contains("Told by: scip-typescript 0.4.0 | Older than the file: 1 definitions are no longer found\n"),
        "{moved}"
    );
    assert!(moved.contains("[class] export class More"), "{moved}");
    let list = bench.run(&["pack", "list"]).out;
    assert!(list.starts_with("all  1 type, 3 files, about "), "{list}");
    // Without other languages, `file:` selects files of C#.
    let plain = bench.run(&["pack", "build", "own", "--filter", "file:src/*", "--json"]).json();
    assert_eq!(plain["types"], serde_json::json!(["Box.Store"]), "{plain}");
}

#[test]
fn a_workspace_without_csharp_is_answered() {
    let bench = bench("[\"typescript\"]");
    assert!(
        bench
            .run(&["search", "Client"])
            .out
            .starts_with("web/api.ts#Client  class  web/api.ts\n")
    );
    assert!(bench.run(&["outline", "Client.get"]).out.starts_with("# web/api.ts#Client.get\n"));
    let build = bench.run(&["build"]);
    assert_eq!(build.code, 0, "{build:?}");
}

#[test]
fn an_index_binds_names_until_the_files_move() {
    let bench = bench("[\"csharp\", \"scip\"]");
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    bench.write("cortex.toml", &format!("{manifest}[scip.web]\nindex = \"web/index.scip\"\n"));
    std::fs::write(bench.root().join("web/index.scip"), index()).expect("written");
    bench.change("cortex.toml", "\"web/index.scip\"", "\"web/../web/index.scip\"");
    let astray = bench.run(&["check"]);
    assert!(astray.code != 0 && astray.err.contains("E_PATH"), "{astray:?}");
    bench.change("cortex.toml", "\"web/../web/index.scip\"", "\"web/index.scip\"");
    let usages = bench.run(&["usages", "Client.get"]);
    assert_eq!(
        usages.out,
        "# web/api.ts#Client.get\nweb/app.ts:4:23: return await client.get(\"1\");\nnote: web/api.ts: from an index of scip-typescript 0.4.0\n",
        "{usages:?}"
    );
    bench.write("web/made.ts", "new Client();\n");
    let made = bench.run(&["usages", "api.ts#Client"]).out;
    assert!(
        made.contains("web/app.ts:3:37:") && made.contains("web/made.ts:1:5: new Client();"),
        "{made}"
    );
    bench.write("web/app.ts", &APP.replace("client.get", "client.put"));
    assert_eq!(bench.run(&["usages", "Client.get"]).out.matches("web/app.ts").count(), 0);
    bench.write("web/app.ts", APP);
    bench.write("web/api.ts", &API.replace("get(", "fetch("));
    let outline = bench.run(&["outline", "web/api.ts"]);
    assert!(
        outline
            .out
            .contains("of its definitions 0 were found on other lines, and 1 are no longer found"),
        "{outline:?}"
    );
    assert!(!outline.out.contains("fetch"), "{outline:?}");
    bench.write("web/api.ts", &format!("// A license.\n{API}"));
    let shifted = bench.run(&["outline", "web/api.ts"]);
    assert!(
        shifted.out.contains("of its definitions 2 were found on other lines"),
        "{shifted:?}"
    );
    // An invalid index is one error with a hint, and C# is answered all the same.
    bench.write("web/index.scip", "no index");
    let broken = bench.run(&["search", "Store"]);
    assert!(broken.out.starts_with("Box.Store  public class  src/Store.cs:3\n"), "{broken:?}");
    assert_eq!(broken.err.matches("error[E_SCIP]").count(), 1, "{broken:?}");
    assert!(broken.err.contains("scip-typescript index"), "{broken:?}");
}

#[test]
fn csharp_is_written_as_an_index_that_only_an_index_is_replaced_by() {
    let bench = bench("[\"csharp\"]");
    let first = bench.run(&["export", "scip", "--json"]);
    assert_eq!(first.code, 0, "{first:?}");
    let actual = first.json();
    assert_eq!(
        (&actual["documents"], &actual["symbols"], &actual["path"]),
        (&1.into(), &3.into(), &"index.scip".into()),
        "{actual}"
    );
    let bytes = || std::fs::read(bench.root().join("index.scip")).expect("an index");
    let before = bytes();
    assert!(
        !String::from_utf8_lossy(&before).contains(&*bench.root().to_string_lossy()),
        "no path of the machine"
    );
    assert_eq!(bench.run(&["export", "scip"]).code, 0);
    assert_eq!(bytes(), before);
    let other = bench.run(&["export", "scip", "--out", "src/Store.cs"]);
    assert!(other.code == 2 && other.err.contains("E_EXISTS"), "{other:?}");
    assert_eq!(bench.run(&["export", "scip", "--project-root", "here"]).code, 2);
}
