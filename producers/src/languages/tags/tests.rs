//! Tests of reading files of two languages, and that no text makes reading fail.

use super::*;
use crate::languages::grammar::LANGUAGES;
use crate::languages::outline;
use proptest::prelude::*;

const STORE: &str = r#"// A license.

import { Entry } from "./entry";

/** Keeps notes, and tells who listens.
 *  Not thread-safe. */
export class Store<T> extends Base implements Listener {
    private größe = 0; // how many
    #secret: string;

    constructor(private readonly of: Entry) { super(); }

    // Finds one.
    async get(id: string, most = 3): Promise<T> {
        function inner() { return id; }
        this.größe = this.count(inner());
        return new Entry(id) as any;
    }
}

export interface Listener { changed(of: string): void; readonly name: string }
export enum Kind { Old, New = 2 }
export type Id = string | number;
export const make = (id: Id) => new Store(id);
const limit = 5;
"#;

fn symbols(name: &str, file: &str, text: &str) -> FileSymbols {
    let read = parse_tags(language(name).expect("a language"), file, text).expect("read");
    assert_eq!((read.symbols.error, read.is_cut), (None, false));
    read.symbols
}

#[test]
fn every_query_fits_every_dialect_of_its_language() {
    for language in &LANGUAGES {
        for dialect in language.dialects {
            let file = format!("a.{}", dialect.endings[0]);
            assert!(parse_tags(language, &file, "").is_some(), "{file}");
        }
    }
}

#[test]
fn definitions_of_typescript_are_told_with_their_declarations() {
    for file in ["src/store.ts", "src/store.tsx"] {
        let symbols = symbols("typescript", file, STORE);
        let shown: Vec<String> = symbols
            .definitions
            .iter()
            .map(|one| format!("{}:{} {} {} | {}", one.line, one.column, one.kind, one.path, one.signature))
            .collect();
        assert_eq!(
            shown,
            [
                "7:14 class Store | export class Store<T> extends Base implements Listener",
                "8:13 field Store.größe | private größe = 0",
                "9:5 field Store.#secret | #secret: string",
                "11:5 method Store.constructor | constructor(private readonly of: Entry)",
                "11:34 field Store.of | private readonly of: Entry",
                "14:11 method Store.get | async get(id: string, most = 3): Promise<T>",
                "15:18 function Store.get.inner | function inner()",
                "21:18 interface Listener | export interface Listener",
                "21:29 method Listener.changed | changed(of: string): void",
                "21:65 property Listener.name | readonly name: string",
                "22:13 enum Kind | export enum Kind",
                "22:20 enum member Kind.Old | Old",
                "22:25 enum member Kind.New | New = 2",
                "23:13 type alias Id | export type Id = string | number",
                "24:14 function make | export const make = (id: Id)",
                "25:7 variable limit | const limit = 5",
            ],
            "{file}"
        );
        let doc = |path: &str| symbols.definitions.iter().find(|one| one.path == path).map(|one| one.doc.as_str());
        assert_eq!(doc("Store"), Some("Keeps notes, and tells who listens.\nNot thread-safe."));
        assert_eq!(
            (doc("Store.get"), doc("Store.constructor"), doc("Kind")),
            (Some("Finds one."), Some(""), Some(""))
        );
        assert_eq!(
            symbols.uses["Entry"]
                .iter()
                .map(|TagUse(line, _, kind)| format!("{line} {kind}"))
                .collect::<Vec<_>>(),
            ["3 name", "11 name", "17 construct"]
        );
        assert_eq!(symbols.uses["größe"], [TagUse(15 + 1, 14, "write".to_owned())]);
        assert_eq!(symbols.uses["inner"], [TagUse(16, 33, "call".to_owned())]);
    }
}

#[test]
fn another_language_needs_its_query_alone() {
    let text = "LIMIT = 3\n\n# About it.\n@dataclass\nclass Store(Base):\n    \"\"\"Keeps notes.\"\"\"\n    size: int = 0\n\n    def get(self, id: str) -> str:\n        return fetch(id)\n\ndef fetch(id):\n    '''Fetches.'''\n    return id\n";
    let symbols = symbols("python", "a.py", text);
    let shown: Vec<String> = symbols
        .definitions
        .iter()
        .map(|one| format!("{} {} {} | {} | {}", one.line, one.kind, one.path, one.signature, one.doc))
        .collect();
    assert_eq!(
        shown,
        [
            "1 variable LIMIT | LIMIT = 3 | ",
            "5 class Store | class Store(Base) | Keeps notes.",
            "7 field Store.size | size: int = 0 | ",
            "9 method Store.get | def get(self, id: str) -> str | ",
            "12 function fetch | def fetch(id) | Fetches.",
        ]
    );
    assert_eq!(symbols.uses["fetch"], [TagUse(10, 16, "call".to_owned())]);
}

fn describe_definitions(name: &str, file: &str, text: &str) -> Vec<String> {
    let symbols = symbols(name, file, text);
    symbols
        .definitions
        .iter()
        .map(|one| format!("{} {} | {}", one.kind, one.path, one.signature))
        .collect()
}

#[test]
fn definitions_are_nested_by_what_holds_them_and_not_by_lines() {
    let text = "class A {\n} function f() {}\nconst a = [\n1,\n], b = 2;\nclass Old { run() { /* x */ } }\nexport const obj = { a: 1, method() { return 1; } }\n";
    assert_eq!(
        describe_definitions("typescript", "a.ts", text),
        [
            "class A | class A",
            "function f | function f()",
            "variable a | const a = [ 1, ]",
            "variable b | const b = 2",
            "class Old | class Old",
            "method Old.run | run()",
            "variable obj | export const obj",
            "method obj.method | method()",
        ]
    );
    let deep = "namespace n {".repeat(3_000) + &"}".repeat(3_000);
    let read = parse_tags(language("typescript").expect("it"), "a.ts", &deep).expect("read");
    assert_eq!(read.symbols.definitions.len(), 3_000);
    assert!(read.symbols.to_json().len() < 1 << 20, "{}", read.symbols.to_json().len());
}

#[test]
fn names_of_all_kinds_of_statements_are_found() {
    let text = "var a = 1; declare var b: number;\nconst { c, d: e, ...f } = g, [h] = i;\nnamespace A.B { export const c = 1; }\nclass C { constructor(private x: number, readonly y = 2, z = 3) {} 'quo-ted'() {} }\n";
    let paths = |name: &str, file: &str, text: &str| -> String {
        let symbols = symbols(name, file, text);
        let all: Vec<&str> = symbols.definitions.iter().map(|one| one.path.as_str()).collect();
        all.join(" ")
    };
    assert_eq!(
        paths("typescript", "a.ts", text),
        "a b c e f h A.B A.B.c C C.constructor C.x C.y C.quo-ted"
    );
    let text = "exports.one = function () {};\nmodule.exports.two = 2;\nStore.prototype.get = function (id) { return id; };\n";
    assert_eq!(paths("typescript", "a.js", text), "one two Store.get");
    let text = "a, b = 1, 2\nB = C = 3\ntype D = int\nclass E:\n    def __init__(self):\n        self.x = 1\n        self.x = 2\n";
    assert_eq!(paths("python", "a.py", text), "a b B C D E E.__init__ E.x");
}

#[test]
fn documentation_of_a_file_and_comments_before_a_function_are_read() {
    let text = "#!/usr/bin/env python\n\"\"\"Keeps notes.\"\"\"\n\n# About it.\n@cached\n@other(1)\ndef get(key: str) -> str: # reads\n    return key\n";
    let symbols = symbols("python", "a.py", text);
    let one = &symbols.definitions[0];
    assert_eq!(
        (symbols.doc.as_str(), one.signature.as_str(), one.doc.as_str(), one.start),
        ("Keeps notes.", "def get(key: str) -> str", "About it.", 5)
    );
}

#[test]
fn reading_takes_as_long_as_a_text_is_long() {
    let took = |text: &str| {
        let begin = std::time::Instant::now();
        parse_tags(language("typescript").expect("it"), "a.ts", text).expect("read");
        begin.elapsed()
    };
    // These texts took a minute when a node was asked for its neighbours, or when a column was counted from the start of its line.
    let comments = "//a\n".repeat(60_000) + &"function f() {}\n".repeat(1_000);
    let one_line = "var a = b;".repeat(60_000);
    for text in [comments, one_line] {
        let took = took(&text);
        assert!(took.as_secs() < 30, "{took:?}");
    }
}

#[test]
fn an_edit_of_a_body_does_not_reach_the_outline() {
    let of = |text: &str| outline::render("src/store.ts", &symbols("typescript", "src/store.ts", text));
    let edited = STORE.replace("return new Entry(id) as any;", "\n\n        return new Entry(id + \"x\") as any;");
    assert_eq!(of(STORE), of(&edited));
    assert_ne!(of(STORE), of(&STORE.replace("most = 3", "most = 4")));
}

#[test]
fn broken_text_gives_what_can_be_had_and_its_line() {
    let read = parse_tags(
        language("typescript").expect("it"),
        "a.ts",
        "class A { get() { return 1; } }\nclass B {{{ (((\n",
    )
    .expect("read");
    assert_eq!(read.symbols.definitions[0].path, "A");
    assert_eq!(read.symbols.error, Some(2));
    assert!(outline::render("a.ts", &read.symbols).contains("\nNot whole: some text does not parse; definitions may be missing\n"));
}

proptest! {
    #[test]
    fn any_text_is_read_and_every_place_holds_its_name(text in "([a-zé{}();.=<>\n ]|class |function |const |/\\*|\\*/|'|`|\r)* {0,80}") {
        for (name, file) in [("typescript", "a.ts"), ("typescript", "a.tsx"), ("python", "a.py")] {
            let text = text::decode(text.as_bytes(), "").0.into_owned();
            let Some(read) = parse_tags(language(name).expect("it"), file, &text) else { continue };
            let lines: Vec<&str> = text.split('\n').collect();
            let at = |line: u32, column: u32| lines[line as usize - 1].chars().skip(column as usize - 1).collect::<String>();
            for one in &read.symbols.definitions {
                prop_assert!(at(one.line, one.column).starts_with(&one.name), "{:?}", one);
                prop_assert!(one.start <= one.line && one.line <= one.end);
            }
            for (name, places) in &read.symbols.uses {
                places.iter().for_each(|TagUse(line, column, _)| assert!(at(*line, *column).starts_with(name.as_str())));
            }
        }
    }
}
