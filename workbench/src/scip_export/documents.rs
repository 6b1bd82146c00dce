//! The documents of an index under construction: converts lines and characters to ranges in lines and UTF-8 bytes.

use crate::symbols::locations::SourceLocation;
use crate::symbols::outputs::{Outputs, file_label};
use crate::symbols::source::FileRange;
use engine::values::label::unescape;
use producers::scip::messages::{Document, Occurrence, SymbolInformation, columns, role};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

/// The name of C# in SCIP.
pub(super) const CSHARP: &str = "CSharp";

/// A range in a file: first line, byte in it, last line, byte in it; all from 0.
type Range = (i32, i32, i32, i32);

/// A document under construction.
#[derive(Default)]
struct Open {
    /// By range and symbol: its roles, and the whole range of a definition.
    occurrences: BTreeMap<(Range, Rc<str>), (i32, Option<Range>)>,
    defined: BTreeSet<Rc<str>>,
}

/// The documents of the files of a workspace.
pub(super) struct Documents {
    texts: BTreeMap<String, Text>,
    open: BTreeMap<String, Open>,
}

/// The text of a file.
struct Text {
    bytes: Arc<[u8]>,
    /// The byte at which each line begins.
    starts: Vec<usize>,
}

impl Text {
    fn new(bytes: Arc<[u8]>) -> Self {
        let starts = memchr::memchr_iter(b'\n', &bytes).map(|at| at + 1);
        Self {
            starts: std::iter::once(0).chain(starts).collect(),
            bytes,
        }
    }

    /// Returns a line, by its number from 1, without its end.
    fn line(&self, number: u32) -> Option<&str> {
        let at = number.checked_sub(1)? as usize;
        let start = *self.starts.get(at)?;
        let end = self.starts.get(at + 1).map_or(self.bytes.len(), |next| next - 1);
        std::str::from_utf8(&self.bytes[start..end.max(start)]).ok()
    }

    /// Returns the byte of a column, which counts characters from 1.
    fn byte(&self, line: u32, column: u32) -> Option<usize> {
        let text = self.line(line)?;
        let nth = text.char_indices().nth(column.checked_sub(1)? as usize);
        Some(nth.map_or(text.len(), |(byte, _)| byte))
    }

    /// Returns the range of the name, operator or bracket at a position.
    fn token_range(&self, line: u32, column: u32) -> Option<Range> {
        let start = self.byte(line, column)?;
        let rest = &self.line(line)?[start..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '@';
        let is_operator = |c: char| "+-*/%&|^!~=<>?".contains(c);
        let length = match rest.chars().next()? {
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c if is_operator(c) => rest.find(|c| !is_operator(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let line = i32::try_from(line).ok()? - 1;
        Some((line, i32::try_from(start).ok()?, line, i32::try_from(start + length).ok()?))
    }

    fn part_range(&self, part: &FileRange) -> Option<Range> {
        let place = |line: u32, column: u32| Some((i32::try_from(line).ok()? - 1, i32::try_from(self.byte(line, column)?).ok()?));
        let ((first, from), (last, to)) = (place(part.start, part.start_column)?, place(part.end, part.end_column)?);
        Some((first, from, last, to))
    }
}

impl Documents {
    /// Reads the files; adds the labels of missing ones to `unread`.
    pub(super) fn from_outputs<O: Outputs>(outputs: &mut O, files: &BTreeSet<&String>, unread: &mut Vec<String>) -> Result<Self, O::Error> {
        let labels: Vec<String> = files.iter().map(|file| file_label(file, "source")).collect();
        let mut texts = BTreeMap::new();
        for output in outputs.read(&labels)? {
            let file = output.label.strip_prefix("//files/").and_then(|rest| rest.strip_suffix(":source"));
            match (file, output.bytes) {
                (Some(file), Some(bytes)) => _ = texts.insert(unescape(file), Text::new(bytes)),
                _ => unread.push(output.label),
            }
        }
        Ok(Self {
            open: texts.keys().map(|file| (file.clone(), Open::default())).collect(),
            texts,
        })
    }

    /// Adds a declaration of a symbol.
    pub(super) fn define(&mut self, symbol: &Rc<str>, at: &SourceLocation, part: &FileRange, roles: i32) {
        let (Some(text), Some(open)) = (self.texts.get(&part.file), self.open.get_mut(&part.file)) else {
            return;
        };
        let Some(range) = text.token_range(at.line, at.column) else {
            return;
        };
        open.defined.insert(symbol.clone());
        open.occurrences
            .insert((range, symbol.clone()), (roles | role::DEFINITION, text.part_range(part)));
    }

    /// Adds a use of a symbol, unless a declaration has the same range.
    pub(super) fn refer(&mut self, symbol: &Rc<str>, at: &SourceLocation, roles: i32) {
        let (Some(text), Some(open)) = (self.texts.get(&at.file), self.open.get_mut(&at.file)) else {
            return;
        };
        let Some(range) = text.token_range(at.line, at.column) else {
            return;
        };
        let known = open.occurrences.entry((range, symbol.clone())).or_insert((roles, None));
        if known.0 & role::DEFINITION == 0 {
            known.0 |= roles;
        }
    }

    /// Returns the documents, by path; `describe` returns the information about a defined symbol.
    pub(super) fn into_documents(self, describe: impl Fn(&str) -> Option<SymbolInformation>) -> Vec<Document> {
        let documents = self.open.into_iter().map(|(path, open)| Document {
            relative_path: path,
            language: CSHARP.to_owned(),
            position_encoding: columns::UTF8,
            text: String::new(),
            symbols: open.defined.iter().filter_map(|symbol| describe(symbol)).collect(),
            occurrences: open
                .occurrences
                .into_iter()
                .map(|((range, symbol), (symbol_roles, whole))| Occurrence {
                    range: scip_range(range),
                    symbol: symbol.to_string(),
                    symbol_roles,
                    enclosing_range: whole.map(scip_range).unwrap_or_default(),
                    ..Occurrence::default()
                })
                .collect(),
        });
        documents.collect()
    }
}

/// Returns a range in the form of SCIP.
fn scip_range((first, from, last, to): Range) -> Vec<i32> {
    match first == last {
        true => vec![first, from, to],
        false => vec![first, from, last, to],
    }
}
