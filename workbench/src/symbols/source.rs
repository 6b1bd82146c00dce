//! Source text of types and members, exactly as in their files, with places.
//!
//! Lines are those of the file itself (`//files/P:bytes`), with their line ends and, before the first, a byte order mark. `//files/P:syntax` gives
//! the exact span of a declaration, including its documentation and attributes. Longer texts are cut, with a note about the omitted lines.

use super::outputs::{Outputs, SymbolError, file_label, read_one};
use super::resolve::Candidate;
use crate::code_text::encoding::decode;
use crate::code_text::lines::split as lines;
use producers::csharp::ids::member_key;
use producers::csharp::model::{Span, Syntax};
use producers::csharp::syntax;
use producers::csharp::types::symbol_of;
use producers::csharp::usages::Place;
use producers::text::{decode_keeping_line_ends, encoding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The byte order mark.
const MARK: char = '\u{feff}';

/// Default number of lines of one symbol.
pub const USUAL_LINES: usize = 400;

/// A range of a file. Columns count characters (Unicode code points) from 1, like the places of usages and errors; a byte order mark does not count,
/// a tab counts as one.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRange {
    /// Path of the file.
    pub file: String,
    /// First line of the symbol, from 1.
    pub start: u32,
    /// Column of its first character in the line `start`.
    pub start_column: u32,
    /// Last shown line, from 1.
    pub end: u32,
    /// Column after its last shown character in the line `end`.
    pub end_column: u32,
    /// The unchanged lines from `start` to `end`, with their line ends; the first line of a file with its byte order mark, if it has one. They are
    /// whole lines, even if the first or last contains other code; only a line that is too long for an answer ends at `end_column`.
    pub text: String,
    /// Encoding of the file, if it is not UTF-8: the text is decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// First and last omitted line after these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<(u32, u32)>,
    /// Byte ranges of the lines of `text` that `#if` excludes.
    #[serde(skip)]
    pub excluded: Vec<(usize, usize)>,
}

impl FileRange {
    /// Formats `FILE:START-END`.
    pub fn file_and_lines(&self) -> String {
        format!("{}:{}-{}", self.file, self.start, self.end)
    }

    /// Returns the lines with their numbers for display: a line feed after each, no byte order mark.
    pub fn numbered(&self) -> String {
        let width = self.end.to_string().len();
        let lines = (self.start..).zip(lines(self.text.trim_start_matches(MARK)));
        let lines = lines.map(|(number, line)| format!("{number:>width$}  {}\n", line.trim_end_matches(['\r', '\n'])));
        lines.collect()
    }
}

/// The source of one symbol.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Path of the symbol.
    pub path: String,
    /// Its parts, by file and line; several for a partial type or member.
    pub parts: Vec<FileRange>,
    /// Notes on gaps: omitted lines, unreadable files, declarations that were not found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Source {
    /// Joins the parts, without byte order marks and with line feeds as line ends.
    pub fn readable(&self) -> String {
        let text = |text: &str| text.trim_start_matches(MARK).replace("\r\n", "\n").replace('\r', "\n");
        let parts: Vec<String> = self.parts.iter().map(|part| text(&part.text)).collect();
        parts.join("\n")
    }
}

/// Reads the sources of symbols in their order, `most` lines of each.
pub fn sources<O: Outputs>(outputs: &mut O, symbols: &[&Candidate], most: usize) -> Result<Vec<Source>, O::Error> {
    let files: BTreeSet<&String> = symbols.iter().flat_map(|symbol| &symbol.files).collect();
    let known = files_of(outputs, &files)?;
    Ok(symbols.iter().map(|symbol| source(symbol, &known, most)).collect())
}

/// Reads the sources of types in their order, each with the sources of its own members in file order. Several fields of one declaration share one
/// entry, under the first.
pub fn sources_with_members<O: Outputs>(outputs: &mut O, types: &[&Candidate]) -> Result<Vec<(Source, Vec<Source>)>, O::Error> {
    let files: BTreeSet<&String> = types.iter().flat_map(|symbol| &symbol.files).collect();
    let known = files_of(outputs, &files)?;
    let with_members = |symbol: &&Candidate| (source(symbol, &known, usize::MAX), members(symbol, &known));
    Ok(types.iter().map(with_members).collect())
}

/// Returns the sources of the members of a type.
fn members(symbol: &Candidate, files: &BTreeMap<&str, File>) -> Vec<Source> {
    let own = symbol_of(symbol.key());
    let mut found: Vec<Source> = Vec::new();
    let mut at: BTreeMap<String, usize> = BTreeMap::new();
    for (name, file) in symbol.files.iter().filter_map(|name| Some((name, files.get(name.as_str())?))) {
        let lines: Vec<&str> = lines(&file.text).collect();
        let mut seen: BTreeSet<Span> = BTreeSet::new();
        let decls = file.tree.types.iter().filter(|decl| decl.symbol() == own);
        for member in decls
            .flat_map(|decl| &decl.members)
            .filter(|member| is_within_file(&member.span, &lines))
        {
            if !seen.insert(member.span) {
                continue;
            }
            let key = member_key(member);
            let at = *at.entry(key.clone()).or_insert_with(|| {
                found.push(Source {
                    path: format!("{}#{key}", symbol.key()),
                    parts: Vec::new(),
                    notes: Vec::new(),
                });
                found.len() - 1
            });
            found[at].parts.push(file.part(name, &lines, member.span, member.span.last));
        }
    }
    found
}

/// Reads those of the files that can be read.
fn files_of<'f, O: Outputs>(outputs: &mut O, files: &BTreeSet<&'f String>) -> Result<BTreeMap<&'f str, File>, O::Error> {
    let labels: Vec<String> = files
        .iter()
        .flat_map(|file| ["bytes", "syntax"].map(|target| file_label(file, target)))
        .collect();
    let mut read = BTreeMap::new();
    if !labels.is_empty() {
        for output in outputs.read(&labels)? {
            read.extend(output.bytes.map(|bytes| (output.label, bytes)));
        }
    }
    let mut known = BTreeMap::new();
    for &file in files {
        let (Some(bytes), Some(tree)) = (read.get(&file_label(file, "bytes")), read.get(&file_label(file, "syntax"))) else {
            continue;
        };
        let damaged = |_| SymbolError::damaged().at_label(&file_label(file, "syntax"));
        let tree = syntax::decode(tree).map_err(damaged)?;
        known.insert(file.as_str(), File::from_syntax(tree, bytes));
    }
    Ok(known)
}

/// The type and member around a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclosing {
    /// Namespace and path of the innermost type.
    pub symbol: String,
    /// Key of its member, if the place is in one.
    pub member: Option<String>,
}

/// Finds the type and member around each place, in order; `None` if a file cannot be read.
pub fn enclosing<O: Outputs>(outputs: &mut O, places: &[&Place]) -> Result<Vec<Option<Enclosing>>, O::Error> {
    let files: BTreeSet<&String> = places.iter().map(|place| &place.file).collect();
    let known = files_of(outputs, &files)?;
    let lines: BTreeMap<&str, Vec<&str>> = known.iter().map(|(file, known)| (*file, lines(&known.text).collect())).collect();
    let find = |place: &&Place| enclosing_member(&known.get(place.file.as_str())?.tree, lines.get(place.file.as_str())?, place);
    Ok(places.iter().map(find).collect())
}

/// Returns the symbols of the types around a line, and of the type declared next, since documentation precedes its subject.
pub fn enclosing_lines<O: Outputs>(outputs: &mut O, file: &str, line: u32) -> Result<Vec<String>, O::Error> {
    let label = file_label(file, "syntax");
    let Some(bytes) = read_one(outputs, label.clone())? else {
        return Ok(Vec::new());
    };
    let tree = syntax::decode(&bytes).map_err(|_| SymbolError::damaged().at_label(&label))?;
    let holding = tree.types.iter().filter(|decl| (decl.span.first..=decl.span.last).contains(&line));
    Ok(holding.map(|decl| decl.symbol()).collect())
}

/// Returns the innermost type and member around a place.
fn enclosing_member(tree: &Syntax, lines: &[&str], place: &Place) -> Option<Enclosing> {
    let line = lines.get(place.line.checked_sub(1)? as usize)?.trim_start_matches(MARK);
    let byte = line
        .char_indices()
        .nth(place.column.saturating_sub(1) as usize)
        .map_or(line.len(), |(at, _)| at);
    let at = (place.line, u32::try_from(byte).unwrap_or(u32::MAX));
    let holds = |span: &Span| (span.first, span.from) <= at && at < (span.last, span.to);
    let decl = tree.types.iter().rfind(|decl| holds(&decl.span))?;
    let member = decl.members.iter().find(|member| holds(&member.span));
    Some(Enclosing {
        symbol: decl.symbol(),
        member: member.map(member_key),
    })
}

/// A file with its text and declarations.
struct File {
    tree: Syntax,
    text: String,
    encoding: Option<String>,
    /// Reason when the text does not fit the encoding in which it is shown.
    flaw: Option<String>,
}

impl File {
    fn from_syntax(tree: Syntax, bytes: &[u8]) -> Self {
        let (text, _) = decode_keeping_line_ends(bytes, "");
        let (encoding, marked) = encoding(bytes);
        let flaw = (encoding == "windows-1252").then(|| decode(bytes).err()).flatten();
        Self {
            tree,
            text: if marked { format!("{MARK}{text}") } else { text.into_owned() },
            encoding: match flaw {
                Some(_) => Some("unknown".to_owned()),
                None => (encoding != "utf-8").then(|| encoding.to_owned()),
            },
            flaw: flaw.map(|why| why.to_string()),
        }
    }
}

impl File {
    /// Returns the part of a declaration from its first line to `shown`.
    fn part(&self, file: &str, lines: &[&str], span: Span, shown: u32) -> FileRange {
        let left_out = (shown < span.last).then_some((shown + 1, span.last));
        let end_column = match left_out {
            Some(_) => column(lines, shown, lines[shown as usize - 1].trim_start_matches(MARK).trim_end().len()),
            None => column(lines, span.last, span.to as usize),
        };
        let own = &lines[span.first as usize - 1..shown as usize];
        let (mut at, mut excluded) = (0, Vec::new());
        for (number, line) in (span.first..).zip(own) {
            if self.tree.excluded.binary_search(&number).is_ok() {
                excluded.push((at, at + line.len()));
            }
            at += line.len();
        }
        FileRange {
            file: file.to_owned(),
            start: span.first,
            start_column: column(lines, span.first, span.from as usize),
            end: shown,
            end_column,
            text: own.concat(),
            excluded,
            encoding: self.encoding.clone(),
            left_out,
        }
    }
}

fn source(symbol: &Candidate, files: &BTreeMap<&str, File>, most: usize) -> Source {
    let mut found = Source {
        path: symbol.path.clone(),
        parts: Vec::new(),
        notes: Vec::new(),
    };
    let mut left = most;
    for file in &symbol.files {
        let Some(known) = files.get(file.as_str()) else {
            found.notes.push(format!("{file} could not be read"));
            continue;
        };
        if let Some(flaw) = &known.flaw {
            let read = "it is shown decoded as windows-1252";
            found.notes.push(format!("{file}: {flaw}; {read}"));
        }
        let lines: Vec<&str> = lines(&known.text).collect();
        let mut spans = spans(&known.tree, symbol, &lines);
        spans.sort_unstable();
        // Several fields of one declaration share a span.
        spans.dedup();
        if spans.is_empty() {
            found.notes.push(format!("no declaration of it was found in the present {file}"));
        }
        for span in spans {
            let (start, end) = (span.first, span.last);
            let length = (end + 1 - start) as usize;
            if left == 0 {
                found.notes.push(format!("{file}: lines {start}-{end} are omitted"));
                continue;
            }
            let shown = end.min(start.saturating_add(u32::try_from(left).unwrap_or(u32::MAX).saturating_sub(1)));
            left = left.saturating_sub(length);
            if shown < end {
                found.notes.push(format!("{file}: lines {}-{end} are omitted", shown + 1));
            }
            found.parts.push(known.part(file, &lines, span, shown));
        }
    }
    found
}

/// Returns the column after the first `bytes` bytes of a line.
fn column(lines: &[&str], line: u32, bytes: usize) -> u32 {
    let line = lines[line as usize - 1].trim_start_matches(MARK);
    let before = line.get(..bytes).unwrap_or(line);
    u32::try_from(before.chars().count()).unwrap_or(u32::MAX).saturating_add(1)
}

/// Returns the spans of the symbol's declarations in a file.
fn spans(tree: &Syntax, symbol: &Candidate, lines: &[&str]) -> Vec<Span> {
    let own = symbol_of(symbol.key());
    let decls = tree.types.iter().filter(|decl| decl.symbol() == own);
    let written: Vec<Span> = match symbol.member() {
        None => decls.map(|decl| decl.span).collect(),
        // A path without parameters refers to every overload.
        Some(member) => decls
            .flat_map(|decl| &decl.members)
            .filter(|known| member_key(known) == member || known.name == member)
            .map(|known| known.span)
            .collect(),
    };
    written.into_iter().filter(|span| is_within_file(span, lines)).collect()
}

/// Whether the lines of a declaration exist in the file.
fn is_within_file(span: &Span, lines: &[&str]) -> bool {
    let last = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    span.first >= 1 && span.first <= span.last && span.last <= last
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;
    use super::*;

    fn sources_of(paths: &[&str], most: usize) -> Vec<Source> {
        let mut sample = Sample::default();
        let symbols = sample.names();
        let found: Vec<Candidate> = paths
            .iter()
            .map(|path| {
                let found = resolve(&symbols, &mut sample, path, &Options::default()).expect("an answer");
                found.candidates[0].clone()
            })
            .collect();
        let before = sample.asked.len();
        let shown = sources(&mut sample, &found.iter().collect::<Vec<_>>(), most).expect("sources");
        // Each file is read once, however many symbols it declares.
        let asked: BTreeSet<&String> = sample.asked[before..].iter().collect();
        assert_eq!(asked.len(), sample.asked.len() - before);
        shown
    }

    #[test]
    fn types_with_all_parts_and_members() {
        let shown = sources_of(&["Box.Store", "Box.Store#Get(int)", "Box.Store#Count", "Box.Store#Cache"], 100);
        let places: Vec<Vec<(&str, u32, u32)>> = shown
            .iter()
            .map(|one| one.parts.iter().map(|part| (part.file.as_str(), part.start, part.end)).collect())
            .collect();
        assert_eq!(
            places,
            [
                vec![("src/Store.cs", 3, 25), ("src/Stores.cs", 5, 9)],
                vec![("src/Store.cs", 6, 12)],
                vec![("src/Stores.cs", 8, 8)],
                vec![("src/Store.cs", 18, 18)],
            ]
        );
        insta::assert_snapshot!(shown[1].parts[0].numbered(), @r#"
         6      /// <summary>A thing.</summary>
         7      /// <param name="id">Which.</param>
         8      [System.Obsolete]
         9      public string Get(int id)
        10      {
        11          return Cache[id];
        12      }
        "#);
        assert!(shown.iter().all(|one| one.notes.is_empty()));
    }

    #[test]
    fn members_with_all_parts() {
        let mut sample = Sample::from_files(&[
            ("b.cs", "partial class A {\n  partial void M() { }\n  partial int P => 1;\n}\n"),
            (
                "a.cs",
                "partial class A {\n  /// <summary>M.</summary>\n  partial void M();\n  partial int P { get; }\n}\npartial class A { partial void N(); partial void N() { } }",
            ),
        ]);
        let symbols = sample.names();
        let mut places = |path: &str| {
            let found = resolve(&symbols, &mut sample, path, &Options::default())
                .expect("an answer")
                .candidates
                .remove(0);
            let shown = sources(&mut sample, &[&found], 9).expect("sources").remove(0);
            let places: Vec<String> = shown.parts.iter().map(FileRange::file_and_lines).collect();
            (found.files.join(" "), places.join(" "))
        };
        let both = |files: &str, places: &str| (files.to_owned(), places.to_owned());
        assert_eq!(places("A.M"), both("a.cs b.cs", "a.cs:2-3 b.cs:2-2"));
        assert_eq!(places("A.P"), both("a.cs b.cs", "a.cs:4-4 b.cs:3-3"));
        assert_eq!(places("A.N"), both("a.cs", "a.cs:6-6 a.cs:6-6"));
    }

    #[test]
    fn line_ends_and_marks_stay() {
        let text = "\u{feff}class A {\r\n  /// <summary/>\r  int Größe; \r\n}\n";
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut sample = Sample::of_bytes(&[
            ("a.cs", text.as_bytes()),
            ("b.cs", &utf16),
            ("c.cs", b"class C { string \xe9; }"),
            ("d.cs", b"class D { string \xe9; } // \xc3\xa9"),
        ]);
        let symbols = sample.names();
        let mut part = |path: &str, at: usize| {
            let found = resolve(&symbols, &mut sample, path, &Options::default()).expect("an answer");
            sources(&mut sample, &[found.candidates.first().expect("one")], 9).expect("sources")[0].parts[at].clone()
        };
        let whole = part("A", 0);
        assert_eq!((whole.text.as_str(), whole.encoding), (text, None));
        assert_eq!((whole.start, whole.start_column, whole.end, whole.end_column), (1, 1, 4, 2));
        let member = part("A.Größe", 0);
        assert_eq!(member.text, "  /// <summary/>\r  int Größe; \r\n");
        assert_eq!((member.start, member.start_column, member.end, member.end_column), (2, 3, 3, 13));
        assert_eq!(member.numbered(), "2    /// <summary/>\n3    int Größe; \n");
        // The same type in another encoding, and one in an unknown encoding.
        let wide = part("A", 1);
        assert_eq!((wide.text.as_str(), wide.encoding.as_deref()), (text, Some("utf-16le")));
        let odd = part("C", 0);
        assert_eq!(
            (odd.text.as_str(), odd.encoding.as_deref()),
            ("class C { string é; }", Some("windows-1252"))
        );
        let found = resolve(&symbols, &mut sample, "D", &Options::default()).expect("an answer");
        let broken = sources(&mut sample, &[found.candidates.first().expect("one")], 9).expect("sources");
        assert_eq!(broken[0].parts[0].encoding.as_deref(), Some("unknown"));
        assert!(broken[0].notes[0].starts_with("d.cs: it is UTF-8 but for byte 17"), "{broken:?}");
    }

    #[test]
    fn columns_are_of_the_symbol_also_where_it_shares_its_lines() {
        let text = "\u{feff}/// <summary>😀</summary>\r\nclass A{/*é*/void F(){} void G(){}} class B { int X, Y = 1; /// <summary>d</summary>\r\n\t[System.Obsolete] int Z { get; } }";
        let mut sample = Sample::of_bytes(&[("a.cs", text.as_bytes())]);
        let symbols = sample.names();
        let mut cut = |path: &str| {
            let found = resolve(&symbols, &mut sample, path, &Options::default()).expect("an answer");
            let source = sources(&mut sample, &[found.candidates.first().expect("one")], 9)
                .expect("sources")
                .remove(0);
            let [part] = source.parts.as_slice() else { panic!("{source:?}") };
            let lines: Vec<&str> = lines(&part.text).collect();
            let mut text = String::new();
            for (number, line) in (part.start..).zip(lines) {
                let line: Vec<char> = line.trim_start_matches(MARK).chars().collect();
                let from = if number == part.start { part.start_column as usize - 1 } else { 0 };
                let to = if number == part.end {
                    part.end_column as usize - 1
                } else {
                    line.len()
                };
                text.extend(&line[from..to]);
            }
            text
        };
        assert_eq!(cut("A"), "/// <summary>😀</summary>\r\nclass A{/*é*/void F(){} void G(){}}");
        assert_eq!((cut("A.F").as_str(), cut("A.G").as_str()), ("void F(){}", "void G(){}"));
        assert_eq!((cut("B.X").as_str(), cut("B.Y").as_str()), ("int X, Y = 1;", "int X, Y = 1;"));
        assert_eq!(cut("B.Z"), "/// <summary>d</summary>\r\n\t[System.Obsolete] int Z { get; }");
        assert!(cut("B").starts_with("class B { int X") && cut("B").ends_with("get; } }"));
    }

    #[test]
    fn long_ones_say_what_is_left_out() {
        let cut = |most| {
            let one = sources_of(&["Box.Store"], most).remove(0);
            (one.parts.iter().map(|part| (part.start, part.end)).collect::<Vec<_>>(), one.notes)
        };
        let left_out = |file: &str, lines: &str| format!("src/{file}: lines {lines} are omitted");
        assert_eq!(cut(25), (vec![(3, 25), (5, 6)], vec![left_out("Stores.cs", "7-9")]));
        assert_eq!(
            cut(4),
            (vec![(3, 6)], vec![left_out("Store.cs", "7-25"), left_out("Stores.cs", "5-9")])
        );
        assert_eq!(cut(28).1, Vec::<String>::new());
    }

    #[test]
    fn a_missing_declaration_is_reported() {
        let mut sample = Sample::default();
        let gone = Candidate {
            path: "Box.Store#Gone()".to_owned(),
            kind: "method".to_owned(),
            accessibility: "public".to_owned(),
            files: vec!["src/Store.cs".to_owned()],
            type_id: String::new(),
            member_id: None,
            inherited_by: None,
        };
        let found = sources(&mut sample, &[&gone], 9).expect("sources").remove(0);
        assert_eq!(
            (found.parts.len(), found.notes.as_slice()),
            (0, &["no declaration of it was found in the present src/Store.cs".to_owned()][..])
        );
    }
}
