//! Finds the places where types and members are declared: file, line and column of the name.

use super::index::{Symbols, simple_name};
use super::outputs::Outputs;
use super::overloads::short_of;
use super::resolve::Candidate;
use super::source::{FileRange, Source, sources};
use crate::code_text::lines::line_start;
use producers::csharp::declared_names::name_in_declaration;
use producers::csharp::preprocess::blanked;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct SourceLocation {
    /// Path of the file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl std::fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Returns the main declaration of each symbol, in their order; `None` for a symbol that no present file declares.
pub fn declarations<O: Outputs>(outputs: &mut O, symbols: &[&Candidate]) -> Result<Vec<Option<SourceLocation>>, O::Error> {
    let found = sources(outputs, symbols, usize::MAX)?.into_iter().zip(symbols);
    Ok(found
        .map(|(source, symbol)| main_part(&source, symbol).map(|part| name_location(part, symbol)))
        .collect())
}

/// As [`declarations`], for the symbols of these paths.
pub fn declarations_of_paths<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    paths: &[&str],
) -> Result<Vec<Option<SourceLocation>>, O::Error> {
    let mut candidates = Vec::with_capacity(paths.len());
    for path in paths {
        let key = Candidate::from_path(path, &[]).key().to_owned();
        let files = match symbols.find(&key) {
            Some(at) => symbols.type_row(at)?.files,
            None => Vec::new(),
        };
        candidates.push(Candidate::from_path(path, &files));
    }
    declarations(outputs, &candidates.iter().collect::<Vec<_>>())
}

/// As [`declarations`], with the line of each declaration.
pub fn declaration_lines<O: Outputs>(outputs: &mut O, symbols: &[&Candidate]) -> Result<Vec<Option<(SourceLocation, String)>>, O::Error> {
    let found = sources(outputs, symbols, usize::MAX)?;
    let of = |(source, symbol): (&Source, &&Candidate)| {
        let part = main_part(source, symbol)?;
        let place = name_location(part, symbol);
        let line = part.text.lines().nth(place.line.saturating_sub(part.start) as usize);
        Some((place, line.unwrap_or_default().to_owned()))
    };
    Ok(found.iter().zip(symbols).map(of).collect())
}

/// Returns the places of all declarations of symbols, with the symbols' paths.
pub fn all_declarations<O: Outputs>(outputs: &mut O, symbols: &[&Candidate]) -> Result<Vec<(String, SourceLocation)>, O::Error> {
    let found = declared_parts(outputs, symbols)?.into_iter().zip(symbols);
    let of = |(parts, symbol): (Vec<(SourceLocation, FileRange)>, &&Candidate)| {
        let path = symbol.path.clone();
        parts.into_iter().map(move |(location, _)| (path.clone(), location))
    };
    Ok(found.flat_map(of).collect())
}

/// Returns all declarations of each symbol, in the symbols' order: the place of the name, and the source of the declaration.
pub fn declared_parts<O: Outputs>(outputs: &mut O, symbols: &[&Candidate]) -> Result<Vec<Vec<(SourceLocation, FileRange)>>, O::Error> {
    let found = sources(outputs, symbols, usize::MAX)?.into_iter().zip(symbols);
    let of = |(source, symbol): (Source, &&Candidate)| {
        let parts = source.parts.into_iter().map(|part| (name_location(&part, symbol), part));
        parts.collect()
    };
    Ok(found.map(of).collect())
}

/// Returns the place of the name in a declaration.
fn name_location(part: &FileRange, symbol: &Candidate) -> SourceLocation {
    let compiled = blanked(&part.text, &part.excluded);
    let text = compiled.trim_start_matches('\u{feff}');
    let start = text.char_indices().nth(part.start_column as usize - 1).map_or(0, |(byte, _)| byte);
    let name = match symbol.member_name() {
        None => simple_name(symbol.key()),
        Some(".ctor" | ".cctor") => simple_name(symbol.key()),
        // A finalizer is written with the name of its type; a method may also be called `Finalize`.
        Some("Finalize") if text[start..].contains('~') => simple_name(symbol.key()),
        Some(name) => match short_of(name).unwrap_or(name) {
            "this[]" => "this",
            short => short,
        },
    };
    let at = start + name_in_declaration(&text[start..], name, symbol.member().is_none()).unwrap_or(0);
    let before = &text[..at];
    let breaks = before.matches('\n').count() + before.replace("\r\n", "\n").matches('\r').count();
    let line = line_start(text, at);
    let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    SourceLocation {
        file: part.file.clone(),
        line: part.start.saturating_add(small(breaks)),
        column: small(before[line..].chars().count()).saturating_add(1),
    }
}

/// Returns the main part of a source: the one in the file with the type's name (`Form1.cs` rather than `Form1.Designer.cs`), or else the first.
fn main_part<'s>(source: &'s Source, symbol: &Candidate) -> Option<&'s FileRange> {
    let file = format!("{}.cs", simple_name(symbol.key()));
    let is_main = |part: &&FileRange| part.file.rsplit('/').next() == Some(&file);
    source.parts.iter().find(is_main).or(source.parts.first())
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn a_partial_type_is_declared_where_its_file_bears_its_name() {
        let mut sample = Sample::from_files(&[
            ("Form.Designer.cs", "namespace N; partial class Form { void Init() { } }"),
            ("Form.cs", "namespace N;\npartial class Form { }"),
            ("a.cs", "partial class Pen { }"),
            ("b.cs", "partial class Pen { }"),
        ]);
        let (form, pen) = ("N.Form", "Pen");
        let of = |path: &str, files: &[&str]| Candidate::from_path(path, &files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>());
        let symbols = [
            of(form, &["Form.Designer.cs", "Form.cs"]),
            of(pen, &["a.cs", "b.cs"]),
            of("N.Form#Init()", &["Form.Designer.cs", "Form.cs"]),
        ];
        let found = declarations(&mut sample, &symbols.iter().collect::<Vec<_>>()).expect("declarations");
        let found: Vec<String> = found.into_iter().flatten().map(|at| at.to_string()).collect();
        assert_eq!(found, ["Form.cs:2:15", "a.cs:1:15", "Form.Designer.cs:1:40"]);
    }
}
