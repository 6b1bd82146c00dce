//! The output of `csharp/syntax` as a table with one row per type, so that an edit of one type changes only that type's row.
//!
//! Symbol → [`Declared`]; [`USINGS`] → the using directives; [`FILE`] → facts about the whole file; [`PLACES`] → the start of each declaration;
//! [`EXCLUDED`] → lines that no project compiles.
//! Spans in rows are relative to the start of their declaration, so edits above it do not change them.

use super::hashes::after_modifiers;
use super::model::{Span, Syntax, Tier, TypeDecl, TypeKind, Using};
use engine::seams::producer::{Failure, Input};
use engine::values::cbor;
use engine::values::table::{Table, write_table};
use minicbor::{Decode, Encode};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Key of the using directives. No symbol begins with `:`.
pub const USINGS: &str = ":usings";

/// Key of the facts about the whole file, such as the [`Tier`].
pub const FILE: &str = ":file";

/// Key of the list of [`Start`]s, in source order.
pub const PLACES: &str = ":places";

/// Key of the numbers of lines that no project compiles; absent if there are none.
pub const EXCLUDED: &str = ":excluded";

/// One type's declarations in a file: a row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Declared {
    /// Its declarations in source order, with spans relative to the start of each.
    #[n(0)]
    pub parts: Vec<TypeDecl>,
    /// Enclosing types, outermost first.
    #[n(1)]
    pub enclosing: Vec<Enclosing>,
    /// Heads of the types directly inside it, in source order.
    #[n(2)]
    pub nested: Vec<Nested>,
}

/// The head of a nested type, its parts merged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Nested {
    /// Simple name with its arity mark.
    #[n(0)]
    pub name: String,
    /// Kind.
    #[n(1)]
    pub kind: TypeKind,
    /// Accessibility in effect.
    #[n(2)]
    pub access: String,
    /// Union of the modifiers of its parts, sorted.
    #[n(3)]
    pub modifiers: Vec<String>,
    /// Header without leading modifiers, from the part with the longest header.
    #[n(4)]
    pub header: String,
}

/// An enclosing type of a part.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Enclosing {
    /// Symbol path without namespace.
    #[n(0)]
    pub path: String,
    /// Its type parameters.
    #[n(1)]
    pub type_parameters: Vec<String>,
    /// Its kind.
    #[n(2)]
    pub kind: TypeKind,
}

/// Start of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Start {
    #[n(0)]
    pub symbol: String,
    /// Line, from 1.
    #[n(1)]
    pub line: u32,
    /// Byte offset within the line.
    #[n(2)]
    pub from: u32,
}

impl Span {
    /// Returns the span relative to another start.
    pub fn relative_to(self, line: u32, from: u32) -> Self {
        let column = |at: u32, of: u32| if at == line { of.saturating_sub(from) } else { of };
        Self {
            first: self.first.saturating_sub(line) + 1,
            from: column(self.first, self.from),
            last: self.last.saturating_sub(line) + 1,
            to: column(self.last, self.to),
        }
    }

    /// Returns a relative span as an absolute span in the file.
    pub fn placed(self, line: u32, from: u32) -> Self {
        let column = |at: u32, of: u32| if at == 1 { of + from } else { of };
        Self {
            first: self.first + line - 1,
            from: column(self.first, self.from),
            last: self.last + line - 1,
            to: column(self.last, self.to),
        }
    }
}

fn move_spans(decl: &mut TypeDecl, to: impl Fn(Span) -> Span) {
    decl.span = to(decl.span);
    decl.members.iter_mut().for_each(|member| member.span = to(member.span));
}

pub fn encode_syntax(syntax: &Syntax) -> Vec<u8> {
    let symbols: Vec<String> = syntax.types.iter().map(TypeDecl::symbol).collect();
    let mut first: FxHashMap<(&str, &str), &TypeDecl> = FxHashMap::default();
    for decl in &syntax.types {
        first.entry((&decl.namespace, &decl.path)).or_insert(decl);
    }
    let mut types: FxHashMap<&str, Declared> = FxHashMap::default();
    let mut starts = Vec::with_capacity(symbols.len());
    for (decl, symbol) in syntax.types.iter().zip(&symbols) {
        let row = types.entry(symbol).or_default();
        if row.parts.is_empty() {
            row.enclosing = enclosing(decl, &first);
        }
        let (line, from) = (decl.span.first, decl.span.from);
        let mut part = decl.clone();
        move_spans(&mut part, |span| span.relative_to(line, from));
        row.parts.push(part);
        starts.push(Start {
            symbol: symbol.clone(),
            line,
            from,
        });
        if let Some((outer, name)) = decl.path.rsplit_once('+')
            && first.contains_key(&(decl.namespace.as_str(), outer))
            && let Some(row) = types.get_mut(&symbol[..symbol.len() - name.len() - 1])
        {
            row.nested.push(Nested {
                name: name.to_owned(),
                kind: decl.kind,
                access: String::new(),
                modifiers: decl.modifiers.clone(),
                header: after_modifiers(&decl.signature, &decl.modifiers).to_owned(),
            });
        }
    }
    let mut rows: BTreeMap<&str, Vec<u8>> = types.iter().map(|(symbol, row)| (*symbol, cbor::encode(row))).collect();
    rows.insert(USINGS, cbor::encode(&syntax.usings));
    rows.insert(
        FILE,
        cbor::encode(&(syntax.tier, syntax.top_level, syntax.is_app, syntax.is_generated, &syntax.friends)),
    );
    rows.insert(PLACES, cbor::encode(&starts));
    if !syntax.excluded.is_empty() {
        rows.insert(EXCLUDED, cbor::encode(&syntax.excluded));
    }
    write_table(&rows)
}

/// Returns the enclosing types of a declaration, outermost first.
fn enclosing(decl: &TypeDecl, first: &FxHashMap<(&str, &str), &TypeDecl>) -> Vec<Enclosing> {
    let outer = decl
        .path
        .match_indices('+')
        .filter_map(|(at, _)| first.get(&(decl.namespace.as_str(), &decl.path[..at])));
    outer
        .map(|outer| Enclosing {
            path: outer.path.clone(),
            type_parameters: outer.type_parameters.clone(),
            kind: outer.kind,
        })
        .collect()
}

fn foreign(error: impl std::fmt::Display) -> Failure {
    Failure::permanent(format!("the input is no output of csharp/syntax: {error}"))
}

fn decode_row_of<'b, T: Decode<'b, ()>>(table: &Table<'b>, key: &str) -> Result<Option<T>, Failure> {
    table.get(key).map(|row| minicbor::decode(row).map_err(foreign)).transpose()
}

/// Reads a whole table. Errors: a permanent failure if the bytes are no such table.
pub fn decode(bytes: &[u8]) -> Result<Syntax, Failure> {
    let table = Table::open(bytes).ok_or_else(|| foreign("it is no table"))?;
    let lacks = |what: &str| foreign(format!("it has no row {what}"));
    type Of = (Tier, bool, bool, bool, Vec<String>);
    let (tier, top_level, is_app, is_generated, friends): Of = decode_row_of(&table, FILE)?.ok_or_else(|| lacks(FILE))?;
    let starts: Vec<Start> = decode_row_of(&table, PLACES)?.ok_or_else(|| lacks(PLACES))?;
    let mut parts: FxHashMap<&str, std::vec::IntoIter<TypeDecl>> = FxHashMap::default();
    for (key, row) in table.rows().filter(|(key, _)| !key.starts_with(':')) {
        let row: Declared = minicbor::decode(row).map_err(foreign)?;
        parts.insert(key, row.parts.into_iter());
    }
    let mut types = Vec::with_capacity(starts.len());
    for start in &starts {
        let part = parts.get_mut(start.symbol.as_str()).and_then(Iterator::next);
        let mut part = part.ok_or_else(|| lacks(&start.symbol))?;
        move_spans(&mut part, |span| span.placed(start.line, start.from));
        types.push(part);
    }
    Ok(Syntax {
        tier,
        usings: decode_row_of(&table, USINGS)?.unwrap_or_default(),
        types,
        top_level,
        is_app,
        is_generated,
        friends,
        excluded: decode_row_of(&table, EXCLUDED)?.unwrap_or_default(),
    })
}

/// Returns the row of a type in a table or a slice of it; `None` if it has no row. Errors: a permanent failure if the input is no such
/// table.
pub fn declared(input: &Input, symbol: &str) -> Result<Option<Declared>, Failure> {
    let table = Table::open(&input.bytes).ok_or_else(|| foreign("it is no table"))?;
    decode_row_of(&table, symbol)
}

/// Returns the using directives in a table or a slice of it. Errors: a permanent failure if the input is no such table.
pub fn usings(input: &Input) -> Result<Vec<Using>, Failure> {
    let table = Table::open(&input.bytes).ok_or_else(|| foreign("it is no table"))?;
    Ok(decode_row_of(&table, USINGS)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::read as parse;
    use std::collections::BTreeSet;

    fn syntax(text: &str) -> Syntax {
        parse(text, &BTreeSet::new(), "f.cs").0
    }

    fn row(text: &str, symbol: &str) -> Vec<u8> {
        let table = encode_syntax(&syntax(text));
        Table::open(&table).expect("a table").get(symbol).expect("a row").to_vec()
    }

    #[test]
    fn a_table_reads_as_what_it_was_made_of() {
        for text in [
            "",
            "using A; namespace N { class B { int x; class C { void F() { } } enum D { E } } partial class B { int y; } }",
            "/// doc\nclass A { }  class B {\n int y;\n}\npartial class A { }",
            "System.Console.WriteLine(); class A { } partial class Program { }",
            "class Broken { void F( { } class Next { }",
        ] {
            let syntax = syntax(text);
            assert_eq!(decode(&encode_syntax(&syntax)), Ok(syntax), "{text}");
        }
    }

    #[test]
    fn edits_above_a_type_do_not_change_its_row() {
        let below = "namespace N;\nclass A { int x; }\nclass B {\n  int y; void F() { }\n  class C { } }";
        let moved =
            "namespace N;\n\nclass A {\n int x;\n\n void G() { } } class New { }  class B {\n  int y; void F() { }\n  class C { } }";
        for symbol in ["N.B", "N.B+C"] {
            assert_eq!(row(below, symbol), row(moved, symbol), "{symbol}");
        }
        assert_ne!(row(below, "N.A"), row(moved, "N.A"));
    }

    #[test]
    fn a_row_holds_what_stands_around_and_inside() {
        let text = "class Outer<T> { class Mid { class In { } class Other { } } } class Far { }";
        let table = Input::of("f.cs", encode_syntax(&syntax(text)));
        let row = declared(&table, "Outer`1+Mid").expect("a table").expect("a row");
        let paths: Vec<&str> = row.enclosing.iter().map(|outer| outer.path.as_str()).collect();
        let names: Vec<&str> = row.nested.iter().map(|nested| nested.name.as_str()).collect();
        assert_eq!((paths, names), (vec!["Outer`1"], vec!["In", "Other"]));
    }

    #[test]
    fn garbage_is_a_failure() {
        assert!(decode(b"garbage").is_err());
        assert!(declared(&Input::of("f.cs", vec![0x9f, 0xff]), "A").is_err());
    }
}
