//! Deletes an unused type or member: returns the texts without it, or the obstacles.

use super::family::{Family, NAMED};
use super::places::{ChangedPlaces, FileTexts};
use super::{Obstacles, Planning, RenameRequest, Rewritten, SYNTAX_ERRORS, SourceFile, Spot, directives, unread_uses, with_files};
use crate::code_text::lines::line_and_column;
use crate::edit::removal::{remove_declaration, without_empty_namespace};
use crate::edit::symbol::Refused;
use crate::symbols::contents::Layout;
use crate::symbols::impact::runs_by_attribute;
use crate::symbols::index::{Symbols, is_within, namespace};
use crate::symbols::locations::all_declarations;
use crate::symbols::meaning::Candidate;
use crate::symbols::outputs::{Outputs, SymbolError, file_label, type_label};
use crate::symbols::resolve::{Options, resolve};
use crate::symbols::usages::{Subject, UseDoubt, usages};
use engine::seams::world::World;
use engine::values::table::Table;
use producers::csharp::attributes::attribute_path;
use producers::csharp::defines;
use producers::csharp::deps::{Dependencies, dotnet};
use producers::csharp::lexer::lex;
use producers::csharp::members::MemberRow;
use producers::csharp::types::symbol_of;
use producers::csharp::usages::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Words of the obstacle of a certain use, and of a possible one.
const USED: &str = ": it is used here: ";
const POSSIBLY_USED: &str = ": possible use, ";
const RELATED: &str = " overrides or implements it, or it that one";

/// Returns what to do about the obstacles of a deletion: the cause that must be removed first decides.
pub fn advice_of_deletion(way: &Obstacles) -> &'static str {
    let is_any = |words: &str| way.0.iter().any(|one| one.contains(words));
    if is_any(SYNTAX_ERRORS) {
        "nothing was changed; mend the files with syntax errors first, because their uses are not all known"
    } else if is_any(USED) {
        "nothing was changed; it is in use: first change or delete the code that uses it"
    } else if is_any(RELATED) {
        "nothing was changed; first delete the related members, or delete it together with them by `replace`"
    } else if is_any(POSSIBLY_USED) {
        "nothing was changed; the listed code may use it: change that code, or delete the declaration by `replace` if the code means something else"
    } else {
        "nothing was changed; a use without the name cannot be excluded: delete the declaration by `replace` if there is none"
    }
}

/// Plans the deletion of a symbol; ignores the new name of `request`.
///
/// # Errors
/// Outer: when outputs cannot be read; inner: the obstacles.
pub fn delete<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    world: &dyn World,
    request: RenameRequest<'_>,
) -> Result<Result<Vec<Rewritten>, Obstacles>, O::Error> {
    let (candidate, key) = (request.candidate, request.candidate.key());
    let mut way = Obstacles::default();
    check(symbols, candidate, &mut way);
    if !way.0.is_empty() {
        return Ok(Err(way));
    }
    check_attributes(outputs, candidate, &mut way)?;
    let family = Family::from_symbol(outputs, symbols, candidate, &mut way)?;
    let others: Vec<Candidate> = family
        .paths
        .iter()
        .filter(|path| **path != candidate.path)
        .map(|path| with_files(symbols, path))
        .collect();
    for (path, at) in all_declarations(outputs, &others.iter().collect::<Vec<_>>())? {
        way.add_obstacle(format!("{}:{}:{}: {path}{RELATED}", at.file, at.line, at.column));
    }
    for place in unread_uses(world, candidate, &family) {
        way.add_obstacle(place);
    }
    let mut texts = FileTexts::new(world);
    let gone = sources_without_symbol(outputs, symbols, request, &mut texts, &mut way)?;
    let mut outside = BTreeSet::new();
    for place in remaining_uses(outputs, symbols, request, &mut outside, &mut way)? {
        let spot = (place.file.clone(), place.line, place.column);
        let is_gone = |at: usize| {
            gone.get(&place.file)
                .is_some_and(|(_, _, ranges)| ranges.iter().any(|range| range.contains(&at)))
        };
        if !texts.identifier_at(&spot).is_some_and(|(at, _)| is_gone(at)) {
            way.add_obstacle(format!("{}:{}:{}{USED}{}", place.file, place.line, place.column, place.text));
        }
    }
    let mut planning = Planning {
        outputs,
        symbols,
        request,
        family: &family,
        texts,
        change: ChangedPlaces::default(),
        way,
    };
    directives::rename_in_directives(&mut planning, &outside)?;
    let Planning {
        mut texts,
        change,
        mut way,
        ..
    } = planning;
    for (file, at) in change.places() {
        let (line, column) = line_and_column(texts.text_of(file).unwrap_or_default(), at);
        way.add_obstacle(format!("{file}:{line}:{column}: a using directive names it"));
    }
    if candidate.member().is_none() {
        keep_namespaces(symbols, key, request.sources, &mut texts, &mut way);
    }
    let files = gone
        .into_iter()
        .map(|(path, (before, after, _))| without_file_if_empty(path, before, after));
    Ok(way.result(files.collect()))
}

/// Adds obstacles for symbols that are used without their names.
fn check(symbols: &Symbols, candidate: &Candidate, way: &mut Obstacles) {
    let key = candidate.key();
    way.refuse_inherited(candidate);
    if candidate.member().is_some() && !NAMED.contains(&candidate.kind.as_str()) {
        way.add_obstacle(format!("a {} is used without a name, and not every use is found", candidate.kind));
    }
    if symbols.is_generated(key) {
        way.add_obstacle(format!("{key} is generated"));
    }
    let begins = match candidate.member_name() {
        Some(name) => name == MAIN,
        None => symbols.declares(key, MAIN),
    };
    if begins {
        way.add_obstacle(format!("{}: it may be the entry point of a program", candidate.path));
    }
}

/// Adds obstacles for members that something outside of the workspace finds by their attributes: tests, and members with an attribute that
/// neither the workspace nor .NET declares, because a package or a source generator may use them.
fn check_attributes<O: Outputs>(outputs: &mut O, candidate: &Candidate, way: &mut Obstacles) -> Result<(), O::Error> {
    let label = type_label(candidate.key(), "api-deps");
    let mut foreign = BTreeSet::new();
    for output in outputs.read(&[label])? {
        let Some(bytes) = output.bytes else { continue };
        let damaged = || SymbolError::damaged().at_label(&output.label);
        let dependencies: Dependencies = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        foreign.extend(dependencies.external.into_iter().filter(|name| dotnet::known(name).is_none()));
    }
    let label = type_label(candidate.key(), "members");
    for output in outputs.read(&[label])? {
        let Some(bytes) = output.bytes else { continue };
        let damaged = || SymbolError::damaged().at_label(&output.label);
        let table = Table::open(&bytes).ok_or_else(damaged)?;
        for (key, row) in table
            .rows()
            .filter(|(key, _)| candidate.member().is_none_or(|member| member == *key))
        {
            let row: MemberRow = serde_json::from_slice(row).map_err(|_| damaged())?;
            if let Some(attribute) = row.attributes.iter().find(|one| runs_by_attribute(one)) {
                way.add_obstacle(format!(
                    "{}: {}#{key} is run by its attribute [{attribute}]",
                    row.file,
                    symbol_of(candidate.key())
                ));
            } else if let Some(attribute) = row.attributes.iter().find(|one| foreign.contains(attribute_path(one))) {
                way.add_obstacle(format!(
                    "{}: {}#{key} may be used because of its attribute [{attribute}], which the workspace does not declare",
                    row.file,
                    symbol_of(candidate.key())
                ));
            }
        }
    }
    Ok(())
}

/// Returns the change of a file without the deleted parts; deletes the file if only using directives, comments and empty namespaces remain.
fn without_file_if_empty(path: String, before: String, after: String) -> Rewritten {
    Rewritten {
        after: Some(after).filter(|after| !declares_nothing(after)),
        ..Rewritten::of(path, before, String::new())
    }
}

/// Whether a text contains nothing but using directives that are not global, comments, and empty namespaces.
fn declares_nothing(text: &str) -> bool {
    if text.lines().any(|line| line.trim_start().starts_with('#')) {
        return false;
    }
    let tokens = lex(text).tokens;
    let words: Vec<&str> = tokens.iter().map(|token| token.text(text)).collect();
    let mut at = 0;
    while at < words.len() {
        let end = words[at..]
            .iter()
            .position(|word| matches!(*word, ";" | "{" | "}"))
            .map(|end| at + end);
        let ended = end.map(|end| words[end]);
        match (words[at], ended) {
            ("}", _) => {}
            ("using", Some(";")) | ("namespace", Some(";" | "{")) => {}
            _ => return false,
        }
        at = end.unwrap_or(at) + 1;
    }
    true
}

/// Name of a program's entry point.
const MAIN: &str = "Main";

/// A text before and after, with its deleted ranges.
type Gone = (String, String, Vec<Range<usize>>);

/// Returns the declaring files without the symbol.
fn sources_without_symbol<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    request: RenameRequest<'_>,
    texts: &mut FileTexts<'_>,
    way: &mut Obstacles,
) -> Result<BTreeMap<String, Gone>, O::Error> {
    let candidate = request.candidate;
    let name = match candidate.member() {
        None => symbol_of(candidate.key()).to_owned(),
        Some(member) => format!("{}#{member}", symbol_of(candidate.key())),
    };
    let files = match symbols.find(candidate.key()) {
        Some(at) => symbols.type_row(at)?.files,
        None => Vec::new(),
    };
    let labels: Vec<String> = files.iter().map(|file| file_label(file, "defines")).collect();
    let mut gone = BTreeMap::new();
    let layout = Layout::from_outputs(outputs)?;
    for (file, output) in files.into_iter().zip(outputs.read(&labels)?) {
        let known = output.bytes.and_then(|bytes| defines::read(&bytes).ok());
        let (Some(known), Some(text)) = (known, texts.read_text(&file)) else {
            way.add_obstacle(format!("{file}: it cannot be read as text"));
            continue;
        };
        match remove_declaration(text, &name, &known.own.into_iter().collect()) {
            Ok(None) => continue,
            Ok(Some(without)) => {
                let mut after = without.text;
                // Each deletion shifts the offsets after it.
                let before = |at: usize| without.ranges[..at].iter().map(Range::len).sum::<usize>();
                for at in (0..without.ranges.len()).rev() {
                    after = without_empty_namespace(&after, without.ranges[at].start - before(at));
                }
                gone.insert(file.clone(), (text.to_owned(), after, without.ranges));
            }
            Err(Refused { why, .. }) => way.add_obstacle(format!("{file}: {why}")),
        }
        request.check_file(&file, texts.text_of(&file).unwrap_or_default(), &layout, way);
    }
    if gone.is_empty() && way.0.is_empty() {
        way.add_obstacle("the present files do not declare it");
    }
    Ok(gone)
}

/// Returns the certain uses of the symbol and, for a type, of its members, in code and documentation. A possible use is an obstacle, unless it is
/// `outside` of every type.
fn remaining_uses<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    request: RenameRequest<'_>,
    outside: &mut BTreeSet<Spot>,
    way: &mut Obstacles,
) -> Result<BTreeSet<Place>, O::Error> {
    let path = &request.candidate.path;
    let found = resolve(symbols, outputs, path, &Options::default())?;
    let Ok(subject) = Subject::from_resolution(&found) else {
        way.add_obstacle(format!("{path}: its uses cannot be distinguished from those of others"));
        return Ok(BTreeSet::new());
    };
    let found = usages(outputs, symbols, &subject, request.gaps)?;
    for label in found.unread {
        way.add_obstacle(format!("{label} could not be built, and may use it"));
    }
    found.unseen.into_iter().for_each(|why| way.add_obstacle(why));
    let mut certain = found.certain;
    for (place, why) in found.possible {
        if why == UseDoubt::OutsideTypes {
            outside.insert((place.file, place.line, place.column));
            continue;
        }
        way.add_obstacle(format!(
            "{}:{}:{}{POSSIBLY_USED}{why}: {}",
            place.file, place.line, place.column, place.text
        ));
    }
    if request.candidate.member().is_some() {
        return Ok(certain);
    }
    // Code uses nested types and extension methods without the type's name.
    let (member, nested) = (format!("{path}#"), format!("{}+", symbol_of(path)));
    for output in outputs.read(&["//types/...:usages".to_owned()])? {
        let Some(bytes) = output.bytes else { continue };
        let damaged = || SymbolError::damaged().at_label(&output.label);
        let table = Table::open(&bytes).ok_or_else(damaged)?;
        for (_, value) in table.rows().filter(|(row, _)| row.starts_with(&member) || row.starts_with(&nested)) {
            let places: Vec<Place> = serde_json::from_slice(value).map_err(|_| damaged())?;
            certain.extend(places);
        }
    }
    Ok(certain)
}

/// Adds obstacles for the using directives of a namespace that would lose its last type.
fn keep_namespaces(symbols: &Symbols, key: &str, sources: &[SourceFile], texts: &mut FileTexts<'_>, way: &mut Obstacles) {
    let (own, nested) = (namespace(key), format!("{}+", symbol_of(key)));
    let mut outer = own;
    while !outer.is_empty() {
        let stays = symbols
            .keys()
            .any(|other| other != key && !symbol_of(other).starts_with(&nested) && is_within(namespace(other), outer));
        if stays || dotnet::has_namespace(outer) {
            return;
        }
        for (file, _) in sources.iter().filter(|(file, _)| file.ends_with(".cs")) {
            let Some(text) = texts.read_text(file).filter(|text| text.contains(outer)) else {
                continue;
            };
            for (number, line) in (1..).zip(text.lines()) {
                let words: Vec<&str> = line.trim().trim_start_matches("global ").split([' ', ';']).collect();
                if words.first() == Some(&"using") && words.contains(&outer) {
                    way.add_obstacle(format!(
                        "{file}:{number}:1: a using directive names {outer}, which would no longer have a type"
                    ));
                }
            }
        }
        outer = outer.rsplit_once('.').map_or("", |(outer, _)| outer);
    }
}
