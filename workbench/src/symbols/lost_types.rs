//! Finds declarations that an edit breaks: names of unknown types, missing implementations of bases' members, and duplicate members.

use super::edit_distance::Word;
use super::index::{Symbols, is_within, simple_name};
use super::lost_names::{EditedFile, last_name};
use super::lost_usings::{GlobalUsings, RemovedUsings, missing_usings};
use super::outputs::{Outputs, SymbolError, file_label, read_one, type_label};
use super::unimplemented::missing_members;
use crate::code_text::declared::{declared_names, list_declarations, parse_code};
use crate::code_text::lines::line_and_column;
use engine::seams::world::World;
use producers::csharp::deps::{Dependencies, dotnet};
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::model::Member;
use producers::csharp::syntax;
use producers::csharp::types::symbol_of;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the files that import namespaces which neither the workspace nor .NET declares: a package may declare any name there.
pub(super) fn files_with_packages(symbols: &Symbols, files: &[EditedFile], globals: &GlobalUsings) -> BTreeSet<String> {
    let namespaces = symbols.namespaces();
    let is_known = |target: &str| {
        let target = target.trim_start_matches("global::");
        let is_type = || symbols.find(target).is_some() || dotnet::known(target).is_some();
        dotnet::has_namespace(target) || namespaces.iter().any(|one| is_within(one, target)) || is_type()
    };
    let opens = |file: &&EditedFile| {
        let own = parse_code(&file.after, &BTreeSet::new()).usings;
        let own = own.iter().any(|one| one.alias.is_none() && !is_known(&one.target));
        own || globals.of_file(&file.path).any(|target| !is_known(target))
    };
    files.iter().filter(opens).map(|file| file.path.clone()).collect()
}

/// Endings of code files beside a markup file, from which a generator creates the other part of their types.
const OF_MARKUP: [&str; 5] = [".xaml.cs", ".axaml.cs", ".razor.cs", ".cshtml.cs", ".paml.cs"];

/// Whether a source generator may declare a part of a type: its only declaration is `partial` and has an attribute, a partial member without a body,
/// or a markup file.
pub(super) fn may_be_generated<O: Outputs>(outputs: &mut O, symbols: &Symbols, key: &str) -> Result<bool, O::Error> {
    let files = symbols.find(key).map(|at| symbols.type_row(at)).transpose()?.map(|row| row.files);
    let Some([file]) = files.as_deref() else { return Ok(false) };
    let Some(bytes) = read_one(outputs, file_label(file, "syntax"))? else {
        return Ok(false);
    };
    let tree = syntax::decode(&bytes).map_err(|_| SymbolError::damaged())?;
    let parts: Vec<_> = tree.types.iter().filter(|decl| decl.has_symbol(symbol_of(key))).collect();
    let is_partial = |modifiers: &[String]| modifiers.iter().any(|modifier| modifier == "partial");
    Ok(match parts.as_slice() {
        [one] => {
            let asks = |member: &Member| !member.attributes.is_empty() || is_partial(&member.modifiers) && member.body.is_empty();
            let is_of_markup = OF_MARKUP.iter().any(|ending| file.ends_with(ending));
            is_partial(&one.modifiers) && (is_of_markup || !one.attributes.is_empty() || one.members.iter().any(asks))
        }
        _ => false,
    })
}

/// Whether a source generator may declare a part of a type, or of one of its bases.
pub(super) fn may_have_generated_members<O: Outputs>(outputs: &mut O, symbols: &Symbols, key: &str) -> Result<bool, O::Error> {
    for key in std::iter::once(key.to_owned()).chain(symbols.bases(key)) {
        if may_be_generated(outputs, symbols, &key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Describes names of unknown types in the new texts: where the file imports no packages, or a type with a similar name exists.
pub(super) fn unknown_types<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    touched: &BTreeSet<String>,
    files: &[EditedFile],
    with_packages: &BTreeSet<String>,
    usings: (&GlobalUsings, &RemovedUsings),
) -> Result<BTreeSet<String>, O::Error> {
    let labels: Vec<String> = touched.iter().map(|key| type_label(key, "deps")).collect();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for output in outputs.read(&labels)? {
        let Some(bytes) = output.bytes else { continue };
        let deps: Dependencies = serde_json::from_slice(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
        names.extend(deps.external);
    }
    let mut messages = missing_usings(symbols, files, &names, usings);
    for name in names.into_iter().filter(|name| dotnet::get(name).is_none()) {
        let last = last_name(&name);
        // A package, or an unknown part of .NET, may declare a fully qualified name.
        let is_foreign = name.rsplit_once('.').is_some_and(|(around, _)| {
            let is_own = |space: &String| super::index::is_within(space, around);
            let is_type = || symbols.find(around).is_some() || dotnet::known(around).is_some();
            !dotnet::has_namespace(around) && !symbols.namespaces().iter().any(is_own) && !is_type()
        });
        for file in files.iter().filter(|file| file.gains(last)) {
            let near = nearest_type(symbols, last);
            if near.is_none() && (is_foreign || with_packages.contains(&file.path)) {
                continue;
            }
            let places = new_places(file, last, |before| name.contains('.') || !before.ends_with(['.', ':'])).join(", ");
            let is_told = messages.iter().any(|told| told.starts_with(&format!("{last} needs `using ")));
            // A newer .NET may declare the attribute.
            if is_told || places.is_empty() || near.is_none() && is_attribute(file, last) {
                continue;
            }
            let meant = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
            messages.insert(format!("{name} is not a known type at {places}{meant}"));
        }
    }
    Ok(messages)
}

/// Whether a word is written as an attribute: directly after `[`.
fn is_attribute(file: &EditedFile, word: &str) -> bool {
    let short = word.strip_suffix("Attribute").unwrap_or(word);
    file.after.contains(&format!("[{short}"))
}

/// Returns the places of a word on lines that the edit wrote, after text that `may_follow` accepts.
pub(super) fn new_places(file: &EditedFile, word: &str, may_follow: impl Fn(&str) -> bool) -> Vec<String> {
    let was: BTreeSet<&str> = file.before.lines().collect();
    let lines: Vec<&str> = file.after.lines().collect();
    list_places(file, word, may_follow, |line| {
        lines.get(line - 1).is_none_or(|line| !was.contains(line))
    })
}

/// Returns the first places of a word after an edit, on chosen lines, after text that `may_follow` accepts.
pub(super) fn list_places(
    file: &EditedFile,
    word: &str,
    may_follow: impl Fn(&str) -> bool,
    is_chosen: impl Fn(usize) -> bool,
) -> Vec<String> {
    let tokens = lex(&file.after).tokens;
    let own = tokens
        .iter()
        .filter(|token| token.kind == Kind::Word && token.text(&file.after) == word)
        .filter(|token| may_follow(file.after[..token.start as usize].trim_end()));
    let places = own.map(|token| line_and_column(&file.after, token.start as usize));
    places
        .filter(|(line, _)| is_chosen(*line))
        .take(5)
        .map(|(line, column)| format!("{}:{line}:{column}", file.path))
        .collect()
}

/// Returns a type of the workspace with a similar name.
fn nearest_type(symbols: &Symbols, name: &str) -> Option<String> {
    let wanted = Word::new(name);
    let near = symbols
        .keys()
        .filter_map(|key| Some((wanted.edits(simple_name(key))?, simple_name(key))));
    near.filter(|(_, near)| *near != name).min().map(|(_, near)| near.to_owned())
}

/// Describes members that types fail to implement since the edit: it added the member or the base, or removed the implementation.
pub(super) fn newly_unimplemented<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    disk: &dyn World,
    touched: &BTreeSet<String>,
    files: &[EditedFile],
) -> Result<BTreeSet<String>, O::Error> {
    let all = |text: fn(&EditedFile) -> &str| -> BTreeSet<String> { files.iter().flat_map(|file| declared_names(text(file))).collect() };
    let (before, after) = (all(|file| &file.before), all(|file| &file.after));
    let bases = |text: &str| -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for decl in parse_code(text, &BTreeSet::new()).types {
            found.entry(decl.symbol()).or_default().extend(decl.bases);
        }
        found
    };
    let mut changed: BTreeSet<String> = BTreeSet::new();
    for file in files {
        let was = bases(&file.before);
        let grown = bases(&file.after)
            .into_iter()
            .filter(|(of, now)| was.get(of).is_none_or(|was| !now.is_subset(was)));
        changed.extend(grown.map(|(of, _)| of));
    }
    if before == after && changed.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut looked: BTreeSet<String> = touched.clone();
    for key in touched {
        let of = super::meaning::Candidate::from_path(key, &[]);
        looked.extend(
            super::hierarchy::implementations(outputs, symbols, &of, true)?
                .into_iter()
                .map(|one| one.path),
        );
    }
    let mut messages = BTreeSet::new();
    for key in looked.iter().take(super::lost_names::MOST_READERS) {
        let is_class = symbols
            .find(key)
            .is_some_and(|at| !matches!(symbols.brief(at).kind, "interface" | "enum" | "delegate"));
        if !is_class || may_be_generated(outputs, symbols, key)? {
            continue;
        }
        let own = symbol_of(key);
        for one in missing_members(outputs, symbols, disk, key)?.members {
            let asked = symbol_of(one.path.split('#').next().unwrap_or_default());
            let member = one.path.split_once('#').map_or("", |(_, member)| member);
            let simple = member.split(['`', '(']).next().unwrap_or(member);
            let is_of = |name: &&String| {
                let (of, member) = name.split_once('#').unwrap_or((name, ""));
                let member = member.split(['`', '(']).next().unwrap_or(member);
                of == own && (member == simple || member.ends_with(&format!(".{simple}")))
            };
            let came = after.contains(&format!("{asked}#{member}")) && !before.contains(&format!("{asked}#{member}"));
            let went = before.difference(&after).any(|name| is_of(&name));
            if came || went || changed.contains(own) {
                messages.insert(format!("{own} lacks {}", one.path));
            }
        }
    }
    Ok(messages)
}

/// Describes members and types that a file declares twice since the edit.
pub(super) fn duplicates(files: &[EditedFile]) -> BTreeSet<String> {
    let twice = |text: &str| -> BTreeMap<String, u32> {
        let all = list_declarations(text, &parse_code(text, &BTreeSet::new()));
        let mut found = BTreeMap::new();
        for (at, one) in all.iter().enumerate() {
            if all[..at].iter().any(|other| other.clashes(one)) {
                found.insert(one.is.name.clone(), one.line);
            }
        }
        found
    };
    let mut messages = BTreeSet::new();
    for file in files {
        let was = twice(&file.before);
        let new = twice(&file.after).into_iter().filter(|(name, _)| !was.contains_key(name));
        messages.extend(new.map(|(name, line)| format!("{name} is declared again at {}:{line}", file.path)));
    }
    messages
}
