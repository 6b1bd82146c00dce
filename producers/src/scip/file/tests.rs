//! Tests of reading a document against the text of its file: as it was, and after an edit.

use super::super::messages::{Relationship, Signature};
use super::*;
use crate::languages::names::name_of_use;
use proptest::prelude::*;

const TEXT: &str = "export class Client {\n  größe = 0; é(\"😀\", Client);\n  constructor(url) { this.größe = 1; }\n}\nnew Client();\n";

fn occurrence(range: &[i32], symbol: &str, symbol_roles: i32) -> Occurrence {
    Occurrence {
        range: range.to_vec(),
        symbol: format!("scip-typescript npm web 1.0.0 src/`api.ts`/{symbol}"),
        symbol_roles,
        ..Occurrence::default()
    }
}

fn document() -> Document {
    let described = |symbol: &str, documentation: &str| SymbolInformation {
        symbol: format!("scip-typescript npm web 1.0.0 src/`api.ts`/{symbol}"),
        documentation: vec![documentation.to_owned()],
        relationships: vec![Relationship {
            symbol: "other".to_owned(),
            is_implementation: true,
            ..Relationship::default()
        }],
        ..SymbolInformation::default()
    };
    let mut whole = occurrence(&[0, 13, 19], "Client#", role::DEFINITION);
    whole.enclosing_range = vec![0, 7, 3, 1];
    Document {
        occurrences: vec![
            occurrence(&[0, 0, 0], "", role::DEFINITION),
            whole,
            occurrence(&[1, 2, 7], "Client#`größe`.", role::DEFINITION),
            // After a character of two UTF-16 units.
            occurrence(&[1, 21, 27], "Client#", 0),
            occurrence(&[2, 2, 13], "Client#`<constructor>`().", role::DEFINITION),
            occurrence(&[2, 14, 17], "Client#`<constructor>`().(url)", role::DEFINITION),
            occurrence(&[2, 26, 31], "Client#`größe`.", role::WRITE),
            occurrence(&[4, 4, 10], "Client#", 0),
        ],
        symbols: vec![
            described("Client#", "```ts\nclass Client\n```"),
            described("Client#`größe`.", "```ts\n(property) größe: number\n```\nHow many."),
        ],
        ..Document::default()
    }
}

fn describe_symbols(symbols: &FileSymbols) -> Vec<String> {
    let definitions = symbols.definitions.iter();
    let shown = definitions.map(|one| {
        format!(
            "{}:{} {}-{} {} {} | {} | {}",
            one.line, one.column, one.start, one.end, one.kind, one.path, one.signature, one.doc
        )
    });
    shown.collect()
}

#[test]
fn a_document_is_read_as_its_file_stands() {
    let symbols = facts_of_document(&document(), "api.ts", "scip-typescript 0.4.0", TEXT);
    assert_eq!(
        describe_symbols(&symbols),
        [
            "1:14 1-4 class Client | class Client | ",
            "2:3 2-2 property Client.größe | größe: number | How many.",
            "3:3 3-3 method Client.constructor |  | ",
        ]
    );
    assert_eq!((symbols.moved, symbols.language.as_str()), (0, "typescript"));
    assert_eq!(symbols.definitions[0].relations, ["other"]);
    let uses: Vec<(String, &Vec<TagUse>)> = symbols.uses.iter().map(|(key, uses)| (name_of_use(key), uses)).collect();
    assert_eq!(
        uses,
        [
            (
                "Client".to_owned(),
                &vec![TagUse(2, 21, "name".to_owned()), TagUse(5, 5, "name".to_owned())]
            ),
            ("größe".to_owned(), &vec![TagUse(3, 27, "write".to_owned())]),
        ]
    );
}

#[test]
fn definitions_that_an_edit_moved_are_found_again_or_counted() {
    let edited = TEXT
        .replace("  größe = 0", "  count = 0")
        .replace("new Client", "const x = new Client");
    let symbols = facts_of_document(&document(), "", "", &edited);
    let paths = |symbols: &FileSymbols| {
        let definitions = symbols.definitions.iter();
        definitions
            .map(|one| format!("{} {}-{}", one.path, one.start, one.end))
            .collect::<Vec<_>>()
    };
    assert_eq!(paths(&symbols), ["Client 1-4", "Client.constructor 3-3"]);
    assert_eq!((symbols.moved, symbols.shifted), (1, 0));
    // The range now covers a part of a word.
    assert_eq!(symbols.uses.values().map(Vec::len).sum::<usize>(), 2);
    let below = TEXT.replace("  größe", "\n\n  größe");
    let symbols = facts_of_document(&document(), "", "", &format!("// A license.\n{below}"));
    assert_eq!(paths(&symbols), ["Client 2-5", "Client.größe 5-5", "Client.constructor 6-6"]);
    assert_eq!((symbols.moved, symbols.shifted), (0, 3));
    let lines: Vec<u32> = symbols.uses.values().flatten().map(|one| one.0).collect();
    assert_eq!(lines, [5, 8, 6]);
    let none = facts_of_document(&document(), "", "", "");
    assert_eq!((none.definitions.len(), none.uses.len(), none.moved), (0, 0, 3));
}

#[test]
fn other_indexers_say_more_of_a_symbol() {
    let mut one = occurrence(&[0, 7, 10], "", role::DEFINITION);
    one.symbol = "rust-analyzer cargo web 0.1.0 api/impl#[Client][Display]fmt().".to_owned();
    one.range = Vec::new();
    one.single_line_range = Some(SingleLineRange {
        line: 0,
        start_character: 7,
        end_character: 10,
    });
    let document = Document {
        symbols: vec![SymbolInformation {
            symbol: one.symbol.clone(),
            kind: 26,
            signature_documentation: Some(Signature {
                language: "rust".to_owned(),
                text: "fn fmt(&self)".to_owned(),
            }),
            documentation: vec!["Shows it.".to_owned()],
            ..SymbolInformation::default()
        }],
        occurrences: vec![one],
        position_encoding: columns::UTF8,
        ..Document::default()
    };
    assert_eq!(
        describe_symbols(&facts_of_document(&document, "", "", "    fn fmt(&self) {}\n")),
        ["1:8 1-1 method Client.fmt | fn fmt(&self) | Shows it."]
    );
}

#[test]
fn a_use_whose_text_changed_is_none_whatever_its_line() {
    let text = "import { limit as lim } from './a';\nlim; client.get(); new Client(); x.size; this;\n";
    let document = Document {
        occurrences: vec![
            occurrence(&[0, 9, 14], "limit.", 0),
            occurrence(&[1, 0, 3], "limit.", 0),
            occurrence(&[1, 12, 15], "Client#get().", 0),
            occurrence(&[1, 23, 29], "Client#`<constructor>`().", 0),
            occurrence(&[1, 35, 39], "Client#`<get>size`().", 0),
            occurrence(&[1, 41, 45], "Client#", 0),
        ],
        ..Document::default()
    };
    let found = |text: &str| -> Vec<String> {
        let symbols = facts_of_document(&document, "b.ts", "", text);
        let counts = symbols
            .uses
            .iter()
            .map(|(key, uses)| format!("{} {}", name_of_use(key), uses.len()));
        counts.collect()
    };
    assert_eq!(found(text), ["Client 1", "Client 1", "size 1", "get 1", "limit 2"]);
    let edited = text
        .replace("get", "put")
        .replace("size", "sise")
        .replace("new Client", "new Server")
        .replace(" as lim", "");
    assert_eq!(found(&edited), ["Client 1", "limit 1"]);
}

#[test]
fn members_of_namespaces_and_enums_have_their_kinds() {
    let text = "namespace Geo { dist }\nenum Color { Red }\n@decorated\nclass Dec {}\nLIMIT = 5\n";
    let all = [
        (&[0, 10, 13], "Geo/", ""),
        (&[0, 16, 20], "Geo/dist().", "function dist(a: number): number"),
        (&[1, 5, 10], "Color#", "enum Color"),
        (&[1, 13, 16], "Color#Red.", "(enum member) Red = 0"),
        (&[3, 6, 9], "Dec#", "@decorated class Dec"),
        (&[4, 0, 5], "LIMIT.", "builtins.int"),
    ];
    let document = Document {
        occurrences: all
            .iter()
            .map(|(range, symbol, _)| occurrence(*range, symbol, role::DEFINITION))
            .collect(),
        symbols: all
            .iter()
            .map(|(_, symbol, signature)| SymbolInformation {
                symbol: occurrence(&[], symbol, 0).symbol,
                documentation: vec![format!("```ts\n{signature}\n```")],
                ..SymbolInformation::default()
            })
            .collect(),
        ..Document::default()
    };
    let shown = |one: &Definition| format!("{} {} | {}", one.kind, one.path, one.signature);
    let symbols = facts_of_document(&document, "src/api.ts", "", text);
    assert_eq!(
        symbols.definitions.iter().map(shown).collect::<Vec<_>>(),
        [
            "namespace Geo | ",
            "function Geo.dist | function dist(a: number): number",
            "enum Color | enum Color",
            "enum member Color.Red | Red = 0",
            "class Dec | @decorated class Dec",
            "variable LIMIT | LIMIT: builtins.int",
        ]
    );
}

proptest! {
    #[test]
    fn any_ranges_over_any_text_are_read(ranges in proptest::collection::vec((proptest::collection::vec(-2_i32..9, 0..5), any::<bool>()), 0..12), text in "[aé😀 \n]{0,30}", encoding in 0..4) {
        let document = Document {
            occurrences: ranges.iter().map(|(range, defines)| occurrence(range, "a.", i32::from(*defines))).collect(),
            position_encoding: encoding,
            ..Document::default()
        };
        let symbols = facts_of_document(&document, "", "", &text);
        let lines: Vec<&str> = text.split('\n').collect();
        for TagUse(line, column, _) in symbols.uses.values().flatten() {
            prop_assert!((*column as usize) <= lines[*line as usize - 1].chars().count());
        }
        for one in &symbols.definitions {
            prop_assert!(one.start <= one.line && one.line <= one.end);
        }
    }
}
