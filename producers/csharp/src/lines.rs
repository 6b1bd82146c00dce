//! `csharp/lines`: the source lines of the types in a file with their positions. Producers of uses look up places in them.
//!
//! A table: symbol → [`Lines`]. A row contains the lines of the type's headers and members, without nested types. So an edit of one type that
//! keeps the number of lines changes only the row of that type.

use super::lexer::{Token, lex};
use super::model::{Span, TypeDecl};
use super::{preprocess, syntax_table};
use engine::seams::producer::{Failure, Inputs, Output, Producer, ProducerId};
use engine::values::cbor;
use engine::values::table::write_table;
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a line kept on each side of a declaration: a line of any length may contain any number of types.
const AROUND: usize = 1_000;

/// The lines of one type in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Lines {
    /// Starts of its declarations, in source order.
    #[n(0)]
    pub parts: Vec<PartStart>,
    /// The lines, concatenated.
    #[n(1)]
    pub text: String,
    /// Positions of these lines, ascending.
    #[n(2)]
    pub lines: Vec<Line>,
}

impl Lines {
    /// The text as compiled: excluded lines are blank.
    pub fn compiled(&self) -> String {
        let starts = self.lines.iter().map(|line| line.start as usize);
        let ends = starts.clone().skip(1).chain([self.text.len()]);
        let ranges = self.lines.iter().zip(starts.zip(ends));
        let excluded: Vec<(usize, usize)> = ranges.filter(|(line, _)| line.excluded).map(|(_, range)| range).collect();
        preprocess::blanked(&self.text, &excluded)
    }
}

/// Start of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PartStart {
    /// Line, from 1.
    #[n(0)]
    pub line: u32,
    /// Byte offset within the line.
    #[n(1)]
    pub from: u32,
    /// Span from the start to its members.
    #[n(2)]
    pub header: Span,
}

/// A line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Line {
    /// Line number, from 1.
    #[n(0)]
    pub number: u32,
    /// Start in [`Lines::text`].
    #[n(1)]
    pub start: u32,
    /// Omitted bytes at its beginning.
    #[n(2)]
    pub bytes: u32,
    /// Characters in the omitted bytes.
    #[n(3)]
    pub characters: u32,
    /// Whether it has no code of the declarations: it is a directive, or `#if` excludes it.
    #[n(4)]
    pub excluded: bool,
}

/// The producer `csharp/lines`.
#[derive(Debug)]
pub struct LinesOf;

impl Producer for LinesOf {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/lines", 3)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let syntax = syntax_table::decode(&inputs.single("syntax")?.bytes)?;
        let source = inputs.single("source")?;
        let text = std::str::from_utf8(&source.bytes).map_err(|_| Failure::permanent("the source is not text"))?;
        let file = File::new(text, &syntax.excluded);
        let mut types: BTreeMap<String, Vec<&TypeDecl>> = BTreeMap::new();
        for decl in &syntax.types {
            types.entry(decl.symbol()).or_default().push(decl);
        }
        let rows: BTreeMap<String, Vec<u8>> = types
            .into_iter()
            .map(|(symbol, parts)| {
                let row = cbor::encode(&file.lines_of(&parts));
                (symbol, row)
            })
            .collect();
        Ok(Output::new(write_table(&rows)))
    }
}

/// A file's text.
struct File<'t> {
    text: &'t str,
    /// Numbers of the lines without code of the declarations, ascending.
    excluded: &'t [u32],
    tokens: Vec<Token>,
    /// Start of each line.
    starts: Vec<usize>,
}

impl<'t> File<'t> {
    fn new(text: &'t str, excluded: &'t [u32]) -> Self {
        let starts = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        let mut file = Self {
            text,
            excluded,
            tokens: Vec::new(),
            starts: std::iter::once(0).chain(starts).collect(),
        };
        let ranges: Vec<(usize, usize)> = excluded.iter().map(|line| (file.byte(*line, 0), file.byte(line + 1, 0))).collect();
        file.tokens = lex(&preprocess::blanked(text, &ranges)).tokens;
        file
    }

    fn byte(&self, line: u32, within: u32) -> usize {
        let start = (line as usize).checked_sub(1).and_then(|line| self.starts.get(line));
        start.map_or(self.text.len(), |start| (start + within as usize).min(self.text.len()))
    }

    fn bytes_of_span(&self, span: Span) -> Range<usize> {
        let start = self.byte(span.first, span.from);
        start..self.byte(span.last, span.to).max(start)
    }

    /// Returns the range from a declaration's start through the token that opens its members or ends it.
    fn header(&self, decl: &TypeDecl) -> Range<usize> {
        let bytes = self.bytes_of_span(decl.span);
        let first = self.tokens.partition_point(|token| (token.start as usize) < bytes.start);
        let own = &self.tokens[first..];
        let own = &own[..own.partition_point(|token| (token.start as usize) < bytes.end)];
        bytes.start..end_of_header(own, self.text).map_or(bytes.end, |at| own[at].end as usize)
    }

    fn line_at(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte) - 1
    }

    fn lines_of(&self, parts: &[&TypeDecl]) -> Lines {
        let mut row = Lines::default();
        let mut pieces: Vec<Range<usize>> = Vec::new();
        for decl in parts {
            let header = self.header(decl);
            let last = self.line_at(header.end.saturating_sub(1).max(header.start));
            row.parts.push(PartStart {
                line: decl.span.first,
                from: decl.span.from,
                header: Span {
                    last: last as u32 + 1,
                    to: (header.end - self.starts[last]) as u32,
                    ..decl.span
                }
                .relative_to(decl.span.first, decl.span.from),
            });
            pieces.push(header);
            pieces.extend(decl.members.iter().map(|member| self.bytes_of_span(member.span)));
        }
        pieces.sort_by_key(|piece| (piece.start, piece.end));
        // The bytes of each line that contain a part of the type.
        let mut line_ranges: Vec<(usize, Range<usize>)> = Vec::new();
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            for line in self.line_at(piece.start)..=self.line_at(piece.end - 1) {
                let whole = self.starts[line]..self.starts.get(line + 1).copied().unwrap_or(self.text.len());
                let (start, end) = (piece.start.max(whole.start), piece.end.min(whole.end));
                let start = self.text.floor_char_boundary(start.saturating_sub(AROUND).max(whole.start));
                let end = self.text.floor_char_boundary(end.saturating_add(AROUND).min(whole.end));
                match line_ranges.last_mut().filter(|(last, _)| *last == line) {
                    Some((_, range)) => range.end = range.end.max(end),
                    None => line_ranges.push((line, start..end)),
                }
            }
        }
        for (line, range) in line_ranges {
            let before = &self.text[self.starts[line]..range.start];
            row.lines.push(Line {
                number: line as u32 + 1,
                start: row.text.len() as u32,
                bytes: before.len() as u32,
                characters: before.chars().count() as u32,
                excluded: self.excluded.binary_search(&(line as u32 + 1)).is_ok(),
            });
            row.text.push_str(&self.text[range]);
        }
        row
    }
}

/// Reads the row of a type in a slice of the table; `None` if it has no row. Errors: a permanent failure if the bytes are no such table.
pub fn read(bytes: &[u8], symbol: &str) -> Result<Option<Lines>, Failure> {
    let foreign = |what: &dyn std::fmt::Display| Failure::permanent(format!("the input is no output of csharp/lines: {what}"));
    let table = engine::values::table::Table::open(bytes).ok_or_else(|| foreign(&"it is no table"))?;
    table
        .get(symbol)
        .map(|row| minicbor::decode(row).map_err(|error| foreign(&error)))
        .transpose()
}

/// Returns the token that opens the members of a declaration or ends it; arguments for the base's constructor may hold braces.
pub(super) fn end_of_header(tokens: &[Token], text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().position(|token| {
        match token.text(text) {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "{" | ";" => return depth == 0,
            _ => {}
        }
        false
    })
}
