//! `tags`: the definitions and uses in one file, found by the grammar and the query of its language in one parse.
//!
//! A definition is reported with its declaration in one line, without the body, and its documentation: the text that the query captures as such,
//! or the comments directly before it. Edits of bodies change nothing but positions.

use super::grammar::{Language, language};
use super::model::{Definition, FileSymbols, TagUse};
use super::surroundings::{Comment, Outermost, Surroundings};
use engine::seams::producer::{Failure, Inputs, Output, Params, Producer, ProducerId, Sees};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::table::Table;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use tree_sitter::{Node, QueryCursor, StreamingIterator};

/// Longest file that is parsed, in bytes: longer files are generated bundles.
const LARGEST: usize = 4 << 20;
/// Limit of definitions of a file.
const MOST_DEFINITIONS: usize = 20_000;
/// Limit of uses of a file.
const MOST_USES: usize = 200_000;
/// Limit of bytes of a declaration.
const LONGEST: usize = 200;
/// Limit of bytes of text from which a declaration is read.
const LONGEST_READ: usize = 4_000;
/// Limit of bytes of documentation.
const LONGEST_DOC: usize = 4_000;
/// Steps from a definition down to its body.
const BODY_DEPTH: usize = 3;
/// Limit of comments that document one definition.
const MOST_COMMENTS: usize = 200;
/// Limit of enclosing definitions in a path; a definition that is nested deeper is listed beside them.
const DEEPEST: usize = 32;

/// Name of the source of the facts: see [`FileSymbols::source`].
pub const SOURCE: &str = "tree-sitter";

/// The producer `tags`.
#[derive(Debug)]
pub struct Tags;

impl Producer for Tags {
    fn id(&self) -> ProducerId {
        ProducerId::new("tags", 2)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn reads_at_most(&self) -> usize {
        LARGEST
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let row = &inputs.single("language")?.bytes;
        let name = Table::open(row).and_then(|table| table.rows().next());
        let name = name.map_or_else(String::new, |(_, name)| String::from_utf8_lossy(name).into_owned());
        let language = language(&name).ok_or_else(|| Failure::permanent(format!("there is no grammar of '{name}'")))?;
        let file = inputs.var("file").unwrap_or_default();
        let bytes = &inputs.single("bytes")?.bytes;
        let partial = |message: String, line: u32, hint: &str| {
            Diagnostic::warning(ErrorCode::W_PARSE_PARTIAL, message)
                .at(file, line, 0)
                .hint(hint)
        };
        let unread = |mut remarks: Vec<Diagnostic>, why: Diagnostic| {
            let symbols = FileSymbols {
                unread: why.message.clone(),
                ..empty(language)
            };
            remarks.push(why);
            Ok(output_of_symbols(&symbols, remarks))
        };
        if bytes.len() > LARGEST {
            let why = format!("the file is larger than {} MiB and was not parsed", LARGEST >> 20);
            return unread(Vec::new(), partial(why, 0, "leave it out of the source set"));
        }
        let (text, undecoded) = text::decode(bytes, file);
        // A text that was decoded in another encoding counts as read.
        let why = undecoded
            .as_ref()
            .filter(|_| text.is_empty())
            .map(|why| why.message.clone())
            .unwrap_or_default();
        let mut diagnostics: Vec<Diagnostic> = undecoded.into_iter().collect();
        let Some(mut read) = parse_tags(language, file, &text) else {
            let why = partial("the file took too long to parse".to_owned(), 0, "leave it out of the source set");
            return unread(diagnostics, why);
        };
        read.symbols.unread = why;
        if let Some(line) = read.symbols.error {
            diagnostics.push(partial("some text could not be parsed".to_owned(), line, "correct the line"));
        }
        if read.is_cut {
            diagnostics.push(partial(
                "the file defines or names more than is kept of one file".to_owned(),
                0,
                "split it",
            ));
        }
        Ok(output_of_symbols(&read.symbols, diagnostics))
    }
}

fn output_of_symbols(symbols: &FileSymbols, diagnostics: Vec<Diagnostic>) -> Output {
    Output {
        diagnostics,
        ..Output::new(symbols.to_json())
    }
}

fn empty(language: &Language) -> FileSymbols {
    FileSymbols {
        language: language.name.to_owned(),
        source: SOURCE.to_owned(),
        ..FileSymbols::default()
    }
}

/// The result of reading a text.
pub struct ReadTags {
    /// The definitions and uses.
    pub symbols: FileSymbols,
    /// Whether entries were left out because of a limit.
    pub is_cut: bool,
}

/// Reads a text; `None` when it could not be parsed within its budget.
pub fn parse_tags(language: &Language, file: &str, text: &str) -> Option<ReadTags> {
    let dialect = language.dialect(file);
    let tree = dialect.parse_tree(text)?;
    let query = language.query(dialect);
    let names = query.capture_names();
    let root = tree.root_node();
    let mut found = TagsByPlace::new(text);
    let mut cursor = QueryCursor::new();
    let mut matches = cursor.matches(query, root, text.as_bytes());
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
                found.define(kind, one.pattern_index, capture.node, captured("name"), captured("owner"));
            } else if let Some(kind) = name.strip_prefix("reference.") {
                found.refer(kind, one.pattern_index, capture.node);
            } else if name == "documented"
                && let Some(doc) = captured("doc")
            {
                found.docs.insert(
                    capture.node.id(),
                    without_comment_marks(text.get(doc.byte_range()).unwrap_or_default()),
                );
            }
        }
    }
    let error = root.has_error().then(|| first_error(root));
    let mut read = found.into_read(language, root);
    read.symbols.error = error;
    Some(read)
}

/// A definition as captured: the pattern's number, its kind, its whole node, its name, and the node of its owner if it is assigned to one.
struct CapturedDefinition<'t> {
    pattern: usize,
    kind: String,
    whole: Node<'t>,
    name: Node<'t>,
    owner: Option<Node<'t>>,
}

/// The tags found so far, by position, each with the number of its pattern; the lowest number wins.
struct TagsByPlace<'t> {
    text: &'t str,
    definitions: BTreeMap<(usize, usize), CapturedDefinition<'t>>,
    uses: BTreeMap<usize, (usize, String, Node<'t>)>,
    docs: HashMap<usize, String>,
    comments: Vec<Comment>,
    is_cut: bool,
}

impl<'t> TagsByPlace<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            definitions: BTreeMap::new(),
            uses: BTreeMap::new(),
            docs: HashMap::new(),
            comments: Vec::new(),
            is_cut: false,
        }
    }
}

impl<'t> TagsByPlace<'t> {
    fn define(&mut self, kind: &str, pattern: usize, whole: Node<'t>, name: Option<Node<'t>>, owner: Option<Node<'t>>) {
        let Some(name) = name else { return };
        let key = (name.start_byte(), name.end_byte());
        if self.definitions.len() >= MOST_DEFINITIONS {
            self.is_cut = true;
        } else if self.definitions.get(&key).is_none_or(|known| pattern < known.pattern) {
            let kind = kind.replace('_', " ");
            let found = CapturedDefinition {
                pattern,
                kind,
                whole,
                name,
                owner,
            };
            self.definitions.insert(key, found);
        }
    }

    fn refer(&mut self, kind: &str, pattern: usize, name: Node<'t>) {
        if self.uses.len() >= MOST_USES {
            self.is_cut = true;
        } else if self.uses.get(&name.start_byte()).is_none_or(|(known, ..)| pattern < *known) {
            self.uses.insert(name.start_byte(), (pattern, kind.to_owned(), name));
        }
    }

    fn into_read(mut self, language: &Language, root: Node<'t>) -> ReadTags {
        let mut symbols = empty(language);
        symbols.doc = cut_to_bytes(self.docs.get(&root.id()).map_or("", String::as_str), LONGEST_DOC).to_owned();
        for (start, _) in self.definitions.keys() {
            self.uses.remove(start);
        }
        let found: Vec<CapturedDefinition<'t>> = std::mem::take(&mut self.definitions).into_values().collect();
        let Surroundings { comments, outermost } = Surroundings::from_tree(root, found.iter().map(|one| one.whole.id()).collect());
        self.comments = comments;
        let mut columns = Columns::new(self.text);
        let mut closed = Vec::with_capacity(found.len());
        for one in found {
            let Some(outer) = outermost.get(&one.whole.id()) else { continue };
            let (line, column) = columns.line_and_column(one.name);
            let doc = self
                .docs
                .get(&one.whole.id())
                .cloned()
                .unwrap_or_else(|| self.comments_before(outer));
            let definition = Definition {
                line,
                column,
                doc: cut_to_bytes(&doc, LONGEST_DOC).to_owned(),
                start: from_zero_based(outer.row),
                end: from_zero_based(one.whole.end_position().row),
                kind: one.kind,
                name: self.text_at(one.name).to_owned(),
                path: one.owner.map(|owner| self.text_at(owner).to_owned()).unwrap_or_default(),
                signature: self.signature(one.whole, outer),
                ..Definition::default()
            };
            closed.push((one.whole.byte_range(), definition));
        }
        symbols.definitions = nest_definitions(closed);
        let mut columns = Columns::new(self.text);
        for (_, kind, name) in std::mem::take(&mut self.uses).into_values() {
            let (line, column) = columns.line_and_column(name);
            let places = symbols.uses.entry(self.text_at(name).to_owned()).or_default();
            places.push(TagUse(line, column, kind));
        }
        ReadTags {
            symbols,
            is_cut: self.is_cut,
        }
    }

    fn text_at(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Returns the declaration in one line: the text before the body, with the words before it on its line, without comments.
    fn signature(&self, whole: Node<'t>, outer: &Outermost) -> String {
        let (start, line) = (whole.start_byte(), whole.start_byte() - whole.start_position().column);
        let before = self.text.get(line..start).unwrap_or_default();
        let before = match &outer.declares {
            Some(words) => words.clone(),
            None if before.chars().all(|c| c.is_alphabetic() || c.is_whitespace()) => line..start,
            None => start..start,
        };
        let end = body_of_definition(whole, BODY_DEPTH).map_or(whole.end_byte(), |body| body.start_byte());
        let text = self.without_comments(before) + &self.without_comments(start..end.max(start));
        let words: Vec<&str> = text.split_whitespace().take(LONGEST).collect();
        let text = words.join(" ");
        let text = text.trim_end_matches("=>").trim_end_matches([' ', '{', ';', ':', ',', '=']);
        match cut_to_bytes(text, LONGEST) {
            whole if whole.len() == text.len() => whole.to_owned(),
            beginning => format!("{}…", beginning.trim_end()),
        }
    }

    /// Returns the beginning of a range of the text, without its comments.
    fn without_comments(&self, of: Range<usize>) -> String {
        let end = self.text.floor_char_boundary(of.end.min(of.start + LONGEST_READ));
        let (mut text, mut at) = (String::new(), of.start);
        let first = self.comments.partition_point(|comment| comment.bytes.start < of.start);
        for comment in self.comments[first..].iter().take_while(|comment| comment.bytes.start < end) {
            text.push_str(self.text.get(at..comment.bytes.start).unwrap_or_default());
            text.push(' ');
            at = comment.bytes.end;
        }
        text + self.text.get(at..end).unwrap_or_default()
    }

    /// Returns the text of the comments directly before a definition.
    fn comments_before(&self, outer: &Outermost) -> String {
        let (mut start, mut row) = (outer.start, outer.row);
        let mut found = Vec::new();
        let before = self.comments.partition_point(|comment| comment.bytes.end <= start);
        for comment in self.comments[..before].iter().rev().take(MOST_COMMENTS) {
            let is_blank = |stretch: Range<usize>| self.text.get(stretch).is_some_and(|text| text.trim_start().is_empty());
            let is_near = comment.last_row + 1 >= row && is_blank(comment.bytes.end..start);
            // A comment at the end of a line of code is about that line.
            if !is_near || !is_blank(comment.bytes.start - comment.column..comment.bytes.start) {
                break;
            }
            found.push(without_comment_marks(self.text.get(comment.bytes.clone()).unwrap_or_default()));
            (start, row) = (comment.bytes.start, comment.first_row);
        }
        found.reverse();
        found.join("\n").trim().to_owned()
    }
}

/// Sorts definitions by position and sets their paths by the enclosing ones; of several definitions of a field the first stays.
fn nest_definitions(mut definitions_by_range: Vec<(Range<usize>, Definition)>) -> Vec<Definition> {
    definitions_by_range.sort_by_key(|(whole, one)| (whole.start, Reverse(whole.end), one.line, one.column));
    let mut around: Vec<(Range<usize>, String, bool)> = Vec::new();
    let mut fields = HashSet::new();
    let mut definitions = Vec::with_capacity(definitions_by_range.len());
    for (whole, mut one) in definitions_by_range {
        // Definitions of one statement are siblings.
        let encloses = |outer: &Range<usize>| outer.end >= whole.end && *outer != whole;
        while around.last().is_some_and(|(outer, ..)| !encloses(outer)) {
            around.pop();
        }
        let is_field = one.kind == "field";
        // A field that a method defines belongs to the class.
        let holder = match around.iter().rfind(|(.., is_class)| is_field && *is_class) {
            Some((_, path, _)) => path.as_str(),
            None if one.path.is_empty() => around.last().map_or("", |(_, path, _)| path),
            None => one.path.as_str(),
        };
        one.path = match holder {
            "" => one.name.clone(),
            holder => format!("{holder}.{}", one.name),
        };
        if is_field && !fields.insert(one.path.clone()) {
            continue;
        }
        if around.len() < DEEPEST {
            around.push((whole, one.path.clone(), one.kind == "class"));
        }
        definitions.push(one);
    }
    definitions
}

/// A position counter: lines and columns in characters, from 1; nodes must be passed in the order of their positions.
struct Columns<'t> {
    text: &'t str,
    line: usize,
    at: usize,
    count: usize,
}

impl<'t> Columns<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            line: 0,
            at: 0,
            count: 0,
        }
    }

    fn line_and_column(&mut self, node: Node<'_>) -> (u32, u32) {
        let (start, at) = (node.start_position(), node.start_byte());
        let line = at.saturating_sub(start.column);
        if line != self.line || at < self.at {
            (self.line, self.at, self.count) = (line, line, 0);
        }
        self.count += self.text.get(self.at..at).unwrap_or_default().chars().count();
        self.at = at;
        (from_zero_based(start.row), from_zero_based(self.count))
    }
}

/// Returns the body of a definition, or of the value that it names. The contents of an object or dictionary are its body.
fn body_of_definition(node: Node<'_>, depth: usize) -> Option<Node<'_>> {
    match node.kind() {
        "object" | "dictionary" => return Some(node),
        "array" | "list" => return None,
        _ => {}
    }
    if let Some(body) = node.child_by_field_name("body") {
        return Some(body);
    }
    let mut cursor = node.walk();
    let inner: Vec<Node<'_>> = node.named_children(&mut cursor).take(8).collect();
    inner
        .into_iter()
        .filter(|_| depth > 0)
        .find_map(|child| body_of_definition(child, depth - 1))
}

/// Removes the comment or quote marks from a text.
fn without_comment_marks(text: &str) -> String {
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

/// Returns the line of the first error in a tree.
fn first_error(root: Node<'_>) -> u32 {
    let mut node = root;
    loop {
        let mut cursor = node.walk();
        let inner = node
            .children(&mut cursor)
            .find(|child| child.has_error() || child.is_error() || child.is_missing());
        match inner {
            Some(child) if !child.is_missing() => node = child,
            Some(child) => return from_zero_based(child.start_position().row),
            None => return from_zero_based(node.start_position().row),
        }
    }
}

/// Returns the beginning of a text, at most `most` bytes.
fn cut_to_bytes(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Converts a number that counts from 0 to one that counts from 1.
fn from_zero_based(from_zero: usize) -> u32 {
    u32::try_from(from_zero).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests;
