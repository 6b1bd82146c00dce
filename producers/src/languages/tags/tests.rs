//! What is read of files of two languages, and that nothing makes reading fail.

use super::*;
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
    let read = read(language(name).expect("a language"), file, text).expect("read");
    assert_eq!((read.error, read.is_cut), (None, false));
    read.symbols
}

#[test]
fn every_query_fits_every_dialect_of_its_language() {
    for language in &LANGUAGES {
        for dialect in language.dialects {
            let file = format!("a.{}", dialect.endings[0]);
            assert!(read(language, &file, "").is_some(), "{file}");
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
                "14:11 method Store.get | async get(id: string, most = 3): Promise<T>",
                "15:18 function Store.get.inner | function inner()",
                "21:18 interface Listener | export interface Listener",
                "21:29 method changed | changed(of: string): void",
                "21:65 property name | readonly name: string",
                "22:13 enum Kind | export enum Kind",
                "22:20 enum member Old | Old",
                "22:25 enum member New | New = 2",
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
                .map(|Use(line, _, kind)| format!("{line} {kind}"))
                .collect::<Vec<_>>(),
            ["3 name", "11 name", "17 construct"]
        );
        assert_eq!(symbols.uses["größe"], [Use(15 + 1, 14, "write".to_owned())]);
        assert_eq!(symbols.uses["inner"], [Use(16, 33, "call".to_owned())]);
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
    assert_eq!(symbols.uses["fetch"], [Use(10, 16, "call".to_owned())]);
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
    let read = read(
        language("typescript").expect("it"),
        "a.ts",
        "class A { get() { return 1; } }\nclass B {{{ (((\n",
    )
    .expect("read");
    assert_eq!(read.symbols.definitions[0].path, "A");
    assert_eq!(read.error, Some(2));
}

proptest! {
    #[test]
    fn any_text_is_read_and_every_place_holds_its_name(text in "([a-zé{}();.=<>\n ]|class |function |const |/\\*|\\*/|'|`|\r)* {0,80}") {
        for (name, file) in [("typescript", "a.ts"), ("typescript", "a.tsx"), ("python", "a.py")] {
            let text = crate::text::decode(text.as_bytes(), "").0.into_owned();
            let Some(read) = read(language(name).expect("it"), file, &text) else { continue };
            let lines: Vec<&str> = text.split('\n').collect();
            let at = |line: u32, column: u32| lines[line as usize - 1].chars().skip(column as usize - 1).collect::<String>();
            for one in &read.symbols.definitions {
                prop_assert!(at(one.line, one.column).starts_with(&one.name), "{:?}", one);
                prop_assert!(one.start <= one.line && one.line <= one.end);
            }
            for (name, places) in &read.symbols.uses {
                places.iter().for_each(|Use(line, column, _)| assert!(at(*line, *column).starts_with(name.as_str())));
            }
        }
    }
}
