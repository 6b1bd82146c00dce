//! `tags`: what one file defines and names, by the grammar and the query of its language, one parse a file.
//!
//! A definition is told with its declaration in one line, without its body, and its documentation: what the query captures as such, or the
//! comments directly before it. Edits of bodies move nothing but places.

use super::grammar::{LANGUAGES, Language, language};
use super::model::{Definition, FileSymbols, Use};
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId, Sees};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::collections::{BTreeMap, HashMap};
use tree_sitter::{Node, QueryCursor, StreamingIterator};

/// Longest file that is parsed, in bytes: longer ones are bundles that nobody wrote.
const LARGEST: usize = 4 << 20;
/// Definitions of a file.
const MOST_DEFINITIONS: usize = 20_000;
/// Uses of a file.
const MOST_USES: usize = 200_000;
/// Bytes of a declaration.
const LONGEST: usize = 200;
/// Bytes of documentation.
const LONGEST_DOC: usize = 4_000;
/// Steps from a definition down to its body.
const BODY_DEPTH: usize = 3;

/// Who tells: see [`FileSymbols::source`].
pub const SOURCE: &str = "tree-sitter";

/// The producer `tags`.
#[derive(Debug)]
pub struct Tags;

impl Producer for Tags {
    fn id(&self) -> ProducerId {
        ProducerId::new("tags", 1)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn reads_at_most(&self) -> usize {
        LARGEST
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let unknown = params.keys().filter(|name| *name != "language");
        let mut errors: Vec<ParamError> = unknown.map(|name| ParamError::unknown_parameter(name, &["language"])).collect();
        if params.get("language").and_then(|name| language(name.as_str()?)).is_none() {
            let names: Vec<&str> = LANGUAGES.iter().map(|language| language.name).collect();
            errors.push(ParamError {
                param: "language".to_owned(),
                message: "'language' must name a language that has a grammar".to_owned(),
                hint: Some(format!("there are {}", names.join(", "))),
                unknown: false,
            });
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let name = inputs.params.get("language").and_then(|name| name.as_str()).unwrap_or_default();
        let language = language(name).ok_or_else(|| Failure::permanent(format!("there is no grammar of '{name}'")))?;
        let file = inputs.var("file").unwrap_or_default();
        let bytes = &inputs.single("bytes")?.bytes;
        let partial = |message: String, line: u32, hint: &str| {
            Diagnostic::warning(ErrorCode::W_PARSE_PARTIAL, message)
                .at(file, line, 0)
                .hint(hint)
        };
        if bytes.len() > LARGEST {
            let why = partial(
                format!("the file is larger than {} MiB and was not parsed", LARGEST >> 20),
                0,
                "leave it out of the source set",
            );
            return Ok(output(&empty(language), vec![why]));
        }
        let (text, unread) = crate::text::decode(bytes, file);
        let mut diagnostics: Vec<Diagnostic> = unread.into_iter().collect();
        let Some(read) = read(language, file, &text) else {
            diagnostics.push(partial(
                "the file took too long to parse".to_owned(),
                0,
                "leave it out of the source set",
            ));
            return Ok(output(&empty(language), diagnostics));
        };
        if let Some(line) = read.error {
            diagnostics.push(partial("some text could not be parsed".to_owned(), line, "correct the line"));
        }
        if read.is_cut {
            diagnostics.push(partial(
                "the file defines or names more than is kept of one file".to_owned(),
                0,
                "split it",
            ));
        }
        Ok(output(&read.symbols, diagnostics))
    }
}

fn output(symbols: &FileSymbols, diagnostics: Vec<Diagnostic>) -> Output {
    Output {
        diagnostics,
        ..Output::new(symbols.write())
    }
}

fn empty(language: &Language) -> FileSymbols {
    FileSymbols {
        language: language.name.to_owned(),
        source: SOURCE.to_owned(),
        ..FileSymbols::default()
    }
}

/// What a text was read as.
pub struct Read {
    /// What it defines and names.
    pub symbols: FileSymbols,
    /// The first line with an error.
    pub error: Option<u32>,
    /// Whether something was left out because there is too much.
    pub is_cut: bool,
}

/// Reads a text; `None` when it could not be parsed within its budget.
pub fn read(language: &Language, file: &str, text: &str) -> Option<Read> {
    let dialect = language.dialect(file);
    let tree = dialect.parse(text)?;
    let query = language.query(dialect);
    let names = query.capture_names();
    let mut found = TagsByPlace::new(text);
    let mut cursor = QueryCursor::new();
    let mut matches = cursor.matches(query, tree.root_node(), text.as_bytes());
    while let Some(one) = matches.next() {
        let captured = |wanted: &str| {
            one.captures()
                .iter()
                .find(|capture| names[capture.index as usize] == wanted)
                .map(|capture| capture.node)
        };
        for capture in one.captures() {
            let name = names[capture.index as usize];
            if let Some(kind) = name.strip_prefix("definition.") {
                found.define(kind, one.pattern_index, capture.node, captured("name"));
            } else if let Some(kind) = name.strip_prefix("reference.") {
                found.refer(kind, one.pattern_index, capture.node);
            } else if name == "documented"
                && let Some(doc) = captured("doc")
            {
                found
                    .docs
                    .insert(capture.node.id(), readable(text.get(doc.byte_range()).unwrap_or_default()));
            }
        }
    }
    let error = tree.root_node().has_error().then(|| first_error(tree.root_node()));
    Some(found.close(language, error))
}

/// What was found so far: by place, with the number of the pattern that found it, of which the first counts.
struct TagsByPlace<'t> {
    text: &'t str,
    definitions: BTreeMap<(usize, usize), (usize, String, Node<'t>, Node<'t>)>,
    uses: BTreeMap<usize, (usize, String, Node<'t>)>,
    /// By node what is said of it.
    docs: HashMap<usize, String>,
    is_cut: bool,
}

impl<'t> TagsByPlace<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            definitions: BTreeMap::new(),
            uses: BTreeMap::new(),
            docs: HashMap::new(),
            is_cut: false,
        }
    }
}

impl<'t> TagsByPlace<'t> {
    fn define(&mut self, kind: &str, pattern: usize, whole: Node<'t>, name: Option<Node<'t>>) {
        let Some(name) = name else { return };
        let key = (name.start_byte(), name.end_byte());
        if self.definitions.len() >= MOST_DEFINITIONS {
            self.is_cut = true;
        } else if self.definitions.get(&key).is_none_or(|(known, ..)| pattern < *known) {
            self.definitions.insert(key, (pattern, kind.replace('_', " "), whole, name));
        }
    }

    fn refer(&mut self, kind: &str, pattern: usize, name: Node<'t>) {
        if self.uses.len() >= MOST_USES {
            self.is_cut = true;
        } else if self.uses.get(&name.start_byte()).is_none_or(|(known, ..)| pattern < *known) {
            self.uses.insert(name.start_byte(), (pattern, kind.to_owned(), name));
        }
    }

    fn close(mut self, language: &Language, error: Option<u32>) -> Read {
        let mut symbols = empty(language);
        for (start, _) in self.definitions.keys() {
            self.uses.remove(start);
        }
        for (_, kind, whole, name) in std::mem::take(&mut self.definitions).into_values() {
            let (line, column) = self.line_and_column(name);
            let doc = self.docs.get(&whole.id()).cloned().unwrap_or_else(|| self.comments_before(whole));
            symbols.definitions.push(Definition {
                line,
                column,
                doc: cut_to_bytes(&doc, LONGEST_DOC).to_owned(),
                start: number(outermost(whole).start_position().row),
                end: number(whole.end_position().row),
                kind,
                name: self.of(name).to_owned(),
                signature: self.signature(whole),
                ..Definition::default()
            });
        }
        for (_, kind, name) in std::mem::take(&mut self.uses).into_values() {
            let (line, column) = self.line_and_column(name);
            let places = symbols.uses.entry(self.of(name).to_owned()).or_default();
            places.push(Use(line, column, kind));
        }
        symbols.nest();
        Read {
            symbols,
            error,
            is_cut: self.is_cut,
        }
    }

    fn of(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Line and column in characters, from 1.
    fn line_and_column(&self, node: Node<'_>) -> (u32, u32) {
        let (start, at) = (node.start_position(), node.start_byte());
        let before = self.text.get(at.saturating_sub(start.column)..at).unwrap_or_default();
        (number(start.row), number(before.chars().count()))
    }

    /// The declaration in one line: what stands before the body, with the words before it on its line.
    fn signature(&self, whole: Node<'t>) -> String {
        let (start, line) = (whole.start_byte(), whole.start_byte() - whole.start_position().column);
        let before = self.text.get(line..start).unwrap_or_default();
        let start = if before.chars().all(|c| c.is_alphabetic() || c.is_whitespace()) {
            line
        } else {
            start
        };
        let end = body(whole, BODY_DEPTH).map_or(whole.end_byte(), |body| body.start_byte());
        let text = self.text.get(start..end.max(start)).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().take(LONGEST).collect();
        let text = words.join(" ");
        let text = text.trim_end_matches("=>").trim_end_matches([' ', '{', ';', ':', ',']);
        match cut_to_bytes(text, LONGEST) {
            whole if whole.len() == text.len() => whole.to_owned(),
            beginning => format!("{}…", beginning.trim_end()),
        }
    }

    /// The comments that stand directly before a definition.
    fn comments_before(&self, whole: Node<'t>) -> String {
        let mut node = outermost(whole);
        let mut found = Vec::new();
        while let Some(before) = node.prev_sibling() {
            let is_near = before.end_position().row + 1 >= node.start_position().row;
            // What a line ends with is about that line.
            let begins_line = before
                .prev_sibling()
                .is_none_or(|other| other.end_position().row < before.start_position().row);
            if !before.kind().contains("comment") || !is_near || !begins_line {
                break;
            }
            found.push(readable(self.of(before)));
            node = before;
        }
        found.reverse();
        found.join("\n").trim().to_owned()
    }
}

/// The statement that a definition begins: `export class` of its class.
fn outermost(mut node: Node<'_>) -> Node<'_> {
    while let Some(parent) = node.parent() {
        let is_around = parent.start_position() != node.start_position() && !parent.kind().starts_with("export");
        if is_around || parent.parent().is_none() || parent.kind().ends_with("body") || parent.kind() == "block" {
            break;
        }
        node = parent;
    }
    node
}

/// The body of a definition, or of what it gives a name to.
fn body(node: Node<'_>, depth: usize) -> Option<Node<'_>> {
    if let Some(body) = node.child_by_field_name("body") {
        return Some(body);
    }
    let mut cursor = node.walk();
    let inner: Vec<Node<'_>> = node.named_children(&mut cursor).take(8).collect();
    inner.into_iter().filter(|_| depth > 0).find_map(|child| body(child, depth - 1))
}

/// A comment or a text without its marks.
fn readable(text: &str) -> String {
    let text = text
        .trim()
        .trim_start_matches("/**")
        .trim_start_matches("/*")
        .trim_end_matches("*/");
    let line = |line: &str| {
        let line = line.trim();
        let plain = line
            .trim_start_matches("///")
            .trim_start_matches("//")
            .trim_start_matches(['*', '#']);
        plain.trim().to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The line of the first error in a tree.
fn first_error(root: Node<'_>) -> u32 {
    let mut node = root;
    loop {
        let mut cursor = node.walk();
        let inner = node
            .children(&mut cursor)
            .find(|child| child.has_error() || child.is_error() || child.is_missing());
        match inner {
            Some(child) if !child.is_missing() => node = child,
            Some(child) => return number(child.start_position().row),
            None => return number(node.start_position().row),
        }
    }
}

/// The beginning of a text, at most so many bytes.
fn cut_to_bytes(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// What is counted from 0, from 1.
fn number(from_zero: usize) -> u32 {
    u32::try_from(from_zero).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests;
