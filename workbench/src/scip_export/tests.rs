//! Reads indexes back with the bindings of the protocol's own project, not with the messages that wrote them.

use super::*;
use crate::symbols::samples::Sample;
use protobuf::Message as _;
use scip::symbol::{format_symbol, parse_symbol};
use scip::types::{self as bindings, SymbolRole};
use std::collections::BTreeMap;

const STORE: &str = "namespace Box;\n\n/// <summary>Keeps things.</summary>\npublic partial class Store : IStore {\n    public string Größe = \"é\"; public Store Next => this;\n    /// <summary>A thing.</summary>\n    public string Get(int id) => Größe + Get(\"x\");\n    public string Get(string name) { Größe = name; return Größe; }\n    public string this[int at] => Get(at);\n}\n";

const OTHERS: &str = "namespace Box {\n  public interface IStore { string Get(int id); }\n  public partial class Store { class Entry<T> { } }\n  class Big : Store { static string Use(IStore of, dynamic any) { new Big(); any.Get(1); return of.Get(1); } }\n}\nfile class Hidden { }\n";

fn exported(files: &[(&str, &str)]) -> Vec<u8> {
    let mut sample = Sample::from_files(files);
    let symbols = sample.names();
    let found = export(&mut sample, &symbols, "file:///", "0").expect("an index");
    assert_eq!(found.unread, Vec::<String>::new());
    found.bytes
}

fn sample() -> (BTreeMap<String, &'static str>, bindings::Index) {
    let files = [("src/Store.cs", STORE), ("src/Others.cs", OTHERS)];
    let index = bindings::Index::parse_from_bytes(&exported(&files)).expect("an index");
    (files.map(|(path, text)| (path.to_owned(), text)).into(), index)
}

/// Returns the text of a range.
fn text_at<'t>(text: &'t str, range: &[i32]) -> &'t str {
    let [line, from, to] = range else {
        panic!("a range on one line: {range:?}")
    };
    let line = text.lines().nth(*line as usize).expect("the line");
    &line[*from as usize..*to as usize]
}

/// Returns `symbol text`, with the kind of use, of all occurrences whose symbol has this ending.
fn places(ending: &str) -> Vec<String> {
    let (texts, index) = sample();
    let mut found = Vec::new();
    for document in &index.documents {
        for at in document.occurrences.iter().filter(|at| at.symbol.ends_with(ending)) {
            let place = &document.relative_path;
            found.push(format!(
                "{place}:{} {} {}",
                at.range[0] + 1,
                text_at(texts[place], &at.range),
                at.symbol_roles
            ));
        }
    }
    found
}

#[test]
fn every_symbol_is_well_formed_and_every_definition_is_described() {
    let (texts, index) = sample();
    assert_eq!(index.metadata.project_root, "file:///");
    assert_eq!(index.documents.len(), texts.len());
    for document in &index.documents {
        assert_eq!(
            document.position_encoding.value(),
            bindings::PositionEncoding::UTF8CodeUnitOffsetFromLineStart as i32
        );
        let described: BTreeSet<&str> = document.symbols.iter().map(|one| one.symbol.as_str()).collect();
        assert_eq!(described.len(), document.symbols.len(), "described once each");
        let is_definition = |at: &&bindings::Occurrence| at.symbol_roles & SymbolRole::Definition as i32 != 0;
        let defined: BTreeSet<&str> = document
            .occurrences
            .iter()
            .filter(is_definition)
            .map(|at| at.symbol.as_str())
            .collect();
        assert_eq!(described, defined, "{}", document.relative_path);
        for at in &document.occurrences {
            let parsed = parse_symbol(&at.symbol).unwrap_or_else(|error| panic!("{}: {error:?}", at.symbol));
            assert_eq!(format_symbol(parsed), at.symbol);
            assert!(!text_at(texts[&document.relative_path], &at.range).trim().is_empty(), "{at:?}");
        }
        let known: BTreeSet<&str> = index
            .documents
            .iter()
            .flat_map(|one| &one.symbols)
            .map(|one| one.symbol.as_str())
            .collect();
        let related = document.symbols.iter().flat_map(|one| &one.relationships);
        related.for_each(|one| assert!(known.contains(one.symbol.as_str()), "{}", one.symbol));
    }
}

#[test]
fn places_are_counted_in_bytes_and_say_what_is_done() {
    assert_eq!(
        places("Store#`Größe`."),
        [
            "src/Store.cs:5 Größe 1", "src/Store.cs:7 Größe 8", "src/Store.cs:8 Größe 4", "src/Store.cs:8 Größe 8"
        ]
    );
    assert_eq!(
        places("Box/Store#"),
        [
            "src/Others.cs:3 Store 1", "src/Others.cs:4 Store 0", "src/Store.cs:4 Store 1", "src/Store.cs:5 Store 0"
        ]
    );
    // The arguments distinguish the overloads; a call on a value of unknown type is left out.
    assert_eq!(places("/Store#Get()."), ["src/Store.cs:7 Get 1", "src/Store.cs:9 Get 0"]);
    assert_eq!(places("/Store#Get(+1)."), ["src/Store.cs:7 Get 0", "src/Store.cs:8 Get 1"]);
    assert_eq!(places("/IStore#Get()."), ["src/Others.cs:2 Get 1", "src/Others.cs:4 Get 0"]);
}

#[test]
fn declarations_say_what_they_are_and_carry_on() {
    let (_, index) = sample();
    let of = |ending: &str| {
        let mut all = index.documents.iter().flat_map(|one| &one.symbols);
        all.find(|one| one.symbol.ends_with(ending)).unwrap_or_else(|| panic!("{ending}"))
    };
    let related = |ending: &str| {
        let related = of(ending).relationships.iter();
        let shown = related.map(|one| {
            let marks = [(one.is_reference, "r"), (one.is_implementation, "i"), (one.is_type_definition, "t")];
            let marks: String = marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark).collect();
            format!("{marks} {}", one.symbol.rsplit(' ').next().unwrap_or_default())
        });
        shown.collect::<Vec<_>>()
    };
    assert_eq!(related("Box/Store#"), ["i Box/IStore#"]);
    assert_eq!(related("Box/Big#"), ["i Box/IStore#", "i Box/Store#"]);
    assert_eq!(related("/Store#Get()."), ["ri Box/IStore#Get()."]);
    assert_eq!(related("/Store#Get(+1)."), Vec::<String>::new());
    assert_eq!(related("/Store#Next."), ["t Box/Store#"]);
    let get = of("/Store#Get().");
    assert_eq!((get.documentation.join("\n").as_str(), get.kind.value()), ("A thing.", 26));
    assert_eq!(get.signature_documentation.text, "public string Get(int id)");
    assert_eq!(of("Box/Store#`Entry``1`#").display_name, "Entry");
    assert_eq!(of("Hidden#").symbol, "cortex . . . Hidden#");
}

#[test]
fn the_same_sources_give_the_same_bytes() {
    let files = [("src/Store.cs", STORE), ("src/Others.cs", OTHERS)];
    assert_eq!(exported(&files), exported(&files));
    let empty = bindings::Index::parse_from_bytes(&exported(&[("a.txt", "")])).expect("an index");
    assert_eq!((empty.documents.len(), empty.metadata.tool_info.name.as_str()), (0, "cortex"));
}
