//! `scip/file`: the facts of an index about one file, as far as they still hold: every position is compared with the present text.
//!
//! The file may have changed since the index was written. A definition whose name is not at its indexed position is searched on other lines, at the
//! same column; later positions are expected to have moved as far. Definitions that are not found are counted and left out; so are uses that do not
//! cover a word.

use super::kind;
use super::messages::{Document, MultiLineRange, Occurrence, SingleLineRange, SymbolInformation, columns, role};
use super::wire::Parts;
use crate::languages::grammar::of_file;
use crate::languages::model::{Definition, FileSymbols, TagUse};
use crate::scip_symbol::{Descriptor, Suffix, descriptors, is_constructor, name_in_code};
use engine::seams::producer::{Failure, Inputs, Output, Params, Producer, ProducerId, Sees};
use engine::values::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// Limit of bytes of a declaration.
const LONGEST: usize = 400;
/// Limit of bytes of documentation.
const LONGEST_DOC: usize = 4_000;
/// Lines up and down in which a definition is searched.
const FURTHEST: i32 = 200;
/// Limit of lines that are searched for moved definitions of one file.
const MOST_LOOKS: usize = 1_000_000;
/// Limit of bytes of a line: longer lines are generated.
const LONGEST_LINE: usize = 5_000;

/// The producer `scip/file`.
#[derive(Debug)]
pub struct FileOf;

impl Producer for FileOf {
    fn id(&self) -> ProducerId {
        ProducerId::new("scip/file", 2)
    }

    fn sees(&self, _: &Params) -> Sees {
        Sees { vars: true, label: false }
    }

    fn reads_at_most(&self) -> usize {
        text::LARGEST
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let file = inputs.var("file").unwrap_or_default();
        let foreign = || Failure::permanent("the input is no output of scip/merge");
        let row = &inputs.single("row")?.bytes;
        let (_, row) = Table::open(row).and_then(|table| table.rows().next()).ok_or_else(foreign)?;
        let parts = Parts::from_bytes(row)?;
        let document = parts.documents().next().ok_or_else(foreign)??;
        let (text, unread) = text::decode(&inputs.single("bytes")?.bytes, file);
        let tool = parts.metadata.tool_info.unwrap_or_default();
        let source: Vec<String> = [&tool.name, &tool.version]
            .into_iter()
            .map(|word| one_line(word))
            .filter(|word| !word.is_empty())
            .collect();
        Ok(Output {
            diagnostics: unread.into_iter().collect(),
            ..Output::new(facts_of_document(&document, file, &source.join(" "), &text).to_json())
        })
    }
}

/// Reads the facts of a document that match a text.
fn facts_of_document(document: &Document, file: &str, source: &str, text: &str) -> FileSymbols {
    let renamed = Renamed::from_text(text);
    let text = Text {
        lines: text.split('\n').collect(),
        encoding: document.position_encoding,
    };
    let described: BTreeMap<&str, &SymbolInformation> = document.symbols.iter().map(|one| (one.symbol.as_str(), one)).collect();
    let mut symbols = FileSymbols {
        language: match document.language.as_str() {
            "" => of_ending(file).to_owned(),
            named => one_line(named).to_lowercase(),
        },
        source: source.to_owned(),
        ..FileSymbols::default()
    };
    let mut places: Vec<(Range, &Occurrence, Vec<Descriptor>)> = Vec::new();
    for one in &document.occurrences {
        let way = descriptors(&one.symbol).filter(|way| is_looked_for(way, file));
        let range = range(&one.range, one.single_line_range, one.multi_line_range);
        places.extend(range.zip(way).map(|(range, way)| (range, one, way)));
    }
    places.sort_by_key(|(range, ..)| *range);
    let mut moves = Moves::default();
    for (range, one, way) in places.iter().filter(|(_, one, _)| is_definition(one)) {
        let information = described.get(one.symbol.as_str()).copied();
        let Some(place) = moves.find_definition(&text, *range, &names_of(way, information)) else {
            symbols.moved += 1;
            continue;
        };
        symbols.shifted += usize::from(moves.by != 0);
        symbols
            .definitions
            .push(definition_at(one, &place, way, information, (&text, moves.by, file)));
    }
    for (range, one, way) in places.iter().filter(|(_, one, _)| !is_definition(one)) {
        let by = moves.line_shift(range.0);
        let is_named = |place: &FileWord<'_>| renamed.can_refer_to(place.word, way);
        let Some(place) = text.word_behind(*range, by).filter(is_named) else {
            continue;
        };
        let kind = match one.symbol_roles {
            roles if roles & role::WRITE != 0 => "write",
            roles if roles & role::READ != 0 => "read",
            _ => "name",
        };
        let places = symbols.uses.entry(one.symbol.clone()).or_default();
        places.push(TagUse(place.line, place.column, kind.to_owned()));
    }
    symbols
        .definitions
        .sort_by(|one, other| (one.line, one.column, &one.symbol).cmp(&(other.line, other.column, &other.symbol)));
    symbols
        .definitions
        .dedup_by(|one, other| (one.line, one.column, &one.path) == (other.line, other.column, &other.path));
    symbols.uses.values_mut().for_each(|places| {
        places.sort();
        places.dedup();
    });
    symbols
}

/// Returns the language of a file by its extension, where the index names none.
fn of_ending(file: &str) -> &str {
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    of_file(file).map_or(ending, |language| language.name)
}

fn is_definition(one: &Occurrence) -> bool {
    one.symbol_roles & role::DEFINITION != 0
}

/// Returns the words that may write a definition; `None` for `<constructor>` and the like, which keywords of the language write.
fn names_of<'n>(way: &'n [Descriptor], information: Option<&'n SymbolInformation>) -> Option<[&'n str; 2]> {
    let name = name_in_code(way.last()?);
    let shown = information.map_or(name, |information| information.display_name.as_str());
    (!name.starts_with('<')).then_some([name, shown])
}

/// Words that may refer to any type or value.
const STAND_INS: [&str; 6] = ["this", "self", "Self", "cls", "super", "default"];

/// Names that imports of a file give to symbols: `limit as lim`, and `import Client from`, which chooses any name.
struct Renamed<'t> {
    from: BTreeSet<(&'t str, &'t str)>,
    imported: BTreeSet<&'t str>,
}

impl<'t> Renamed<'t> {
    fn from_text(text: &'t str) -> Self {
        let (mut from, mut imported) = (BTreeSet::new(), BTreeSet::new());
        let mut last = ["", ""];
        for word in text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()) {
            match last {
                [name, "as"] => _ = from.insert((word, name)),
                [_, "import"] | ["import", "type"] => _ = imported.insert(word),
                _ => {}
            }
            last = [last[1], word];
        }
        Self { from, imported }
    }

    /// Whether a word can refer to a symbol: by its name, by that of the type that it constructs, or by a name of an import.
    fn can_refer_to(&self, word: &str, way: &[Descriptor]) -> bool {
        let Some((last, before)) = way.split_last() else { return false };
        let made = before.last().filter(|_| is_constructor(last)).map(|made| made.name.as_str());
        let is_name = |word: &str| word == name_in_code(last) || made == Some(word);
        let is_renamed = || {
            self.from
                .range((word, "")..)
                .take_while(|(new, _)| *new == word)
                .any(|(_, old)| is_name(old))
        };
        is_name(word) || STAND_INS.contains(&word) || self.imported.contains(word) || is_renamed()
    }
}

/// Distances by which the positions of an index have moved.
#[derive(Default)]
struct Moves {
    /// Lines that the last found definition has moved.
    by: i32,
    /// Lines of the index with definitions, each with how far it has moved.
    known: Vec<(i32, i32)>,
    looks: usize,
}

impl Moves {
    /// Finds a definition: as far from its position as the one before, or on the nearest line that has its name at its column.
    fn find_definition<'t>(&mut self, text: &Text<'t>, range: Range, names: &Option<[&str; 2]>) -> Option<FileWord<'t>> {
        let Some(names) = names else {
            return text.word_behind(range, self.by);
        };
        let expected = self.by;
        for distance in 0..=FURTHEST {
            for by in [expected + distance, expected - distance] {
                self.looks += 1;
                if let Some(place) = text.word_behind(range, by).filter(|place| names.contains(&place.word)) {
                    self.by = by;
                    self.known.push((range.0, by));
                    return Some(place);
                }
            }
            if self.looks > MOST_LOOKS {
                break;
            }
        }
        None
    }

    /// Returns how far a line of the index has moved: as the definition before it.
    fn line_shift(&self, line: i32) -> i32 {
        let next = self.known.partition_point(|(known, _)| *known <= line);
        self.known.get(next.saturating_sub(1)).map_or(0, |(_, by)| *by)
    }
}

/// A word of a file: line and column in characters, from 1.
struct FileWord<'t> {
    line: u32,
    column: u32,
    word: &'t str,
}

/// The text of a file, with the index's unit of columns.
struct Text<'t> {
    lines: Vec<&'t str>,
    encoding: i32,
}

impl<'t> Text<'t> {
    /// Returns the word at a range moved by so many lines; `None` where it covers no word.
    fn word_behind(&self, (first, from, last, to): Range, by: i32) -> Option<FileWord<'t>> {
        let line = first.checked_add(by)?;
        let text = *self.lines.get(usize::try_from(line).ok()?)?;
        if text.len() > LONGEST_LINE {
            return None;
        }
        let (start, end) = (self.byte(text, from)?, self.byte(text, to)?);
        let word = text.get(start..end).filter(|word| first == last && !word.is_empty())?;
        // A use that begins or ends within a word is outdated.
        let is_cut = |outside: Option<char>, inside: Option<char>| outside.is_some_and(is_word) && inside.is_some_and(is_word);
        if is_cut(text[..start].chars().next_back(), word.chars().next()) || is_cut(text[end..].chars().next(), word.chars().next_back()) {
            return None;
        }
        Some(FileWord {
            line: u32::try_from(line).ok()? + 1,
            column: u32::try_from(text[..start].chars().count()).ok()? + 1,
            word,
        })
    }

    /// Returns the byte of a column. Indexers that do not declare their unit count UTF-16 units, as JavaScript does.
    fn byte(&self, line: &str, column: i32) -> Option<usize> {
        let column = usize::try_from(column).ok()?;
        if self.encoding == columns::UTF8 {
            return (column <= line.len()).then_some(column);
        }
        let mut units = 0;
        for (byte, c) in line.char_indices() {
            if units >= column {
                return (units == column).then_some(byte);
            }
            units += if self.encoding == columns::UTF32 { 1 } else { c.len_utf16() };
        }
        (units == column).then_some(line.len())
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// First line, column in it, last line, column in it; from 0.
type Range = (i32, i32, i32, i32);

fn range(old: &[i32], single: Option<SingleLineRange>, multi: Option<MultiLineRange>) -> Option<Range> {
    match (old, single, multi) {
        (&[line, from, to], ..) => Some((line, from, line, to)),
        (&[line, from, last, to], ..) => Some((line, from, last, to)),
        (_, Some(one), _) => Some((one.line, one.start_character, one.line, one.end_character)),
        (_, _, Some(one)) => Some((one.start_line, one.start_character, one.end_line, one.end_character)),
        _ => None,
    }
}

/// Whether the symbol can be searched for: not for files, parameters and the like.
fn is_looked_for(way: &[Descriptor], file: &str) -> bool {
    match way.last().map(|last| &last.suffix) {
        Some(Suffix::Type | Suffix::Term | Suffix::Method(_) | Suffix::Macro) => true,
        Some(Suffix::Namespace) => within_module(way, file) < way.len(),
        _ => false,
    }
}

/// Returns where the descriptors of a file's contents begin: after the namespace of the file, which has its name, or a dot in its own. For other
/// namespaces it is unknown whether they are in the file: all of them count as folders.
fn within_module(way: &[Descriptor], file: &str) -> usize {
    let base = file.rsplit('/').next().unwrap_or_default();
    let stem = base.split('.').next().unwrap_or_default();
    let is_file = |one: &Descriptor| one.name.contains('.') || one.name == base || one.name == stem;
    let of_file = way.iter().rposition(|one| one.suffix == Suffix::Namespace && is_file(one));
    of_file.map_or(way.len(), |at| at + 1)
}

/// Creates a definition found at a place, so many lines from its indexed position.
fn definition_at(
    one: &Occurrence,
    place: &FileWord<'_>,
    way: &[Descriptor],
    information: Option<&SymbolInformation>,
    (text, by, file): (&Text<'_>, i32, &str),
) -> Definition {
    let enclosing = range(
        &one.enclosing_range,
        one.single_line_enclosing_range,
        one.multi_line_enclosing_range,
    );
    let line = |number: i32| u32::try_from(number.checked_add(by)?).ok()?.checked_add(1);
    let lines = u32::try_from(text.lines.len()).unwrap_or(u32::MAX);
    let whole = enclosing.and_then(|(first, _, last, _)| Some((line(first)?, line(last)?)));
    let (start, end) = whole
        .filter(|(start, end)| (*start..=*end).contains(&place.line) && *end <= lines)
        .unwrap_or((place.line, place.line));
    let (signature, doc) = information.map(documentation).unwrap_or_default();
    let kind = kind_of(way, information, &signature);
    let related = information.into_iter().flat_map(|information| &information.relationships);
    let mut path: Vec<&str> = enclosing_names(&way[..way.len().saturating_sub(1)], within_module(way, file));
    path.push(place.word);
    Definition {
        line: place.line,
        column: place.column,
        start,
        end,
        kind: kind.to_owned(),
        name: place.word.to_owned(),
        path: path.join("."),
        relations: related.filter(|one| one.is_implementation).map(|one| one.symbol.clone()).collect(),
        signature: named_signature(&signature, place.word),
        doc,
        symbol: one.symbol.clone(),
    }
}

/// Returns a declaration for display. Editors write `(method) get(): void`, where the kind is removed, or the type of a value alone.
fn named_signature(signature: &str, name: &str) -> String {
    let plain = match signature.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((kind, rest)) if kind.chars().all(|c| c.is_alphabetic() || c == ' ') => rest,
        _ => signature,
    };
    match plain.is_empty() || plain.split(|c: char| !is_word(c)).any(|word| word == name) || !name.chars().all(is_word) {
        true => plain.to_owned(),
        false => format!("{name}: {plain}"),
    }
}

/// Returns the names around a definition within its file; those from `start` on are known to be in it. Leaves out other modules; an `impl` of Rust
/// counts as its type.
fn enclosing_names(way: &[Descriptor], start: usize) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_of_impl = false;
    for (at, one) in way.iter().enumerate() {
        match one.suffix {
            Suffix::Namespace if at >= start => names.push(one.name.as_str()),
            Suffix::Namespace | Suffix::Meta | Suffix::Parameter => {}
            Suffix::Type if one.name == "impl" => is_of_impl = true,
            Suffix::TypeParameter => {
                if std::mem::take(&mut is_of_impl) {
                    names.push(one.name.as_str());
                }
            }
            _ => names.push(one.name.as_str()),
        }
    }
    names
}

fn kind_of(way: &[Descriptor], information: Option<&SymbolInformation>, signature: &str) -> &'static str {
    const WORDS: [&str; 10] = [
        "class", "interface", "enum", "struct", "trait", "function", "method", "property", "constructor", "constant",
    ];
    let declared = information.and_then(|information| kind::kind_name(information.kind));
    let (last, is_term) = (way.last(), way.last().is_some_and(|last| last.suffix == Suffix::Term));
    // The word for the kind is before the name, after decorators and the like.
    let before = last
        .and_then(|last| signature.split_once(name_in_code(last)))
        .map_or(signature, |(before, _)| before);
    let mut words = before.split(|c: char| !is_word(c));
    let inferred = match words.rfind(|word| WORDS.contains(word)) {
        Some("enum") if is_term => Some("enum member"),
        inferred => inferred.and_then(|inferred| WORDS.into_iter().find(|word| *word == inferred)),
    };
    let is_member = way.len() > 1 && way[way.len() - 2].suffix == Suffix::Type;
    declared.or(inferred).unwrap_or(match (last.map(|last| &last.suffix), is_member) {
        (Some(Suffix::Namespace), _) => "namespace",
        (Some(Suffix::Type), _) => "type",
        (Some(Suffix::Method(_)), true) => "method",
        (Some(Suffix::Method(_)), false) => "function",
        (Some(Suffix::Macro), _) => "macro",
        (_, true) => "field",
        (_, false) => "variable",
    })
}

/// Returns the declaration in one line, and the documentation without it: most indexers write the declaration as its first block of code.
fn documentation(information: &SymbolInformation) -> (String, String) {
    let mut signature = information
        .signature_documentation
        .as_ref()
        .map(|one| one.text.clone())
        .unwrap_or_default();
    let mut docs = Vec::new();
    for text in &information.documentation {
        let block = text.trim().strip_prefix("```").and_then(|rest| rest.split_once('\n'));
        match block.and_then(|(_, rest)| rest.split_once("```")) {
            Some((code, behind)) if signature.is_empty() => {
                signature = code.to_owned();
                docs.push(behind.trim().to_owned());
            }
            _ => docs.push(text.trim().to_owned()),
        }
    }
    let words: Vec<&str> = signature.split_whitespace().take(LONGEST).collect();
    docs.retain(|doc| !doc.is_empty());
    (one_line(&words.join(" ")), cut_to_bytes(docs.join("\n\n"), LONGEST_DOC))
}

fn cut_to_bytes(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

/// Returns a text on one line, without control characters of terminals.
fn one_line(text: &str) -> String {
    cut_to_bytes(text.chars().filter(|c| !c.is_control()).collect(), LONGEST)
}

#[cfg(test)]
mod tests;
