//! Obstacles of changed parameters besides the uses: texts that would no longer parse, and constructors that are called without their names.

use super::declarations::parameters_behind;
use super::with_files;
use crate::code_text::lists::{tokens_behind, type_arguments_end};
use crate::rename::places::FileTexts;
use crate::rename::{Obstacles, RenameRequest, Rewritten, Spot};
use crate::symbols::index::{Symbols, simple_name};
use crate::symbols::locations::all_declarations;
use crate::symbols::meaning::Candidate;
use crate::symbols::outputs::{Outputs, file_label};
use crate::symbols::overloads;
use crate::symbols::resolve::{Options, resolve};
use crate::symbols::usages::{Subject, usages};
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::model::Tier;
use producers::csharp::{defines, parse};
use std::collections::BTreeSet;

/// Adds obstacles for changed files that would no longer parse.
pub(super) fn check_texts<O: Outputs>(outputs: &mut O, files: &[Rewritten], way: &mut Obstacles) -> Result<(), O::Error> {
    let labels: Vec<String> = files.iter().map(|file| file_label(&file.path, "defines")).collect();
    for (file, output) in files.iter().zip(outputs.read(&labels)?) {
        let known = output.bytes.and_then(|bytes| defines::read(&bytes).ok());
        let defines: BTreeSet<String> = known.map(|known| known.own.into_iter().collect()).unwrap_or_default();
        let (before, after) = (
            file.before.as_deref().unwrap_or_default(),
            file.after.as_deref().unwrap_or_default(),
        );
        if !parses(before, &defines) || parses(after, &defines) {
            continue;
        }
        let changed = after.lines().zip(before.lines()).position(|(new, old)| new != old);
        let line = changed.unwrap_or_default();
        let shown = after.lines().nth(line).unwrap_or_default().trim();
        way.add_obstacle(format!(
            "{}:{}: the file would no longer parse; its first changed line would be: {shown}",
            file.path,
            line + 1
        ));
    }
    Ok(())
}

/// Adds an obstacle for a member of an `extension` block: its receiver is not among its own parameters.
pub(super) fn check_block<O: Outputs>(
    outputs: &mut O,
    candidate: &Candidate,
    known: usize,
    texts: &mut FileTexts<'_>,
    way: &mut Obstacles,
) -> Result<(), O::Error> {
    for (path, at) in all_declarations(outputs, &[candidate])? {
        let found = texts.identifier_at(&(at.file.clone(), at.line, at.column));
        let list = found.and_then(|(name, _)| parameters_behind(texts.text_of(&at.file)?, name));
        if list.is_some_and(|list| list.pieces.len() + 1 == known) {
            way.add_obstacle(format!(
                "{at}: {path} is in an `extension` block, whose parameters cannot be changed here"
            ));
        }
    }
    Ok(())
}

/// Adds an obstacle for a constructor of a type with a primary constructor: their calls cannot be distinguished.
pub(super) fn check_primary<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    candidate: &Candidate,
    texts: &mut FileTexts<'_>,
    way: &mut Obstacles,
) -> Result<(), O::Error> {
    let key = candidate.key();
    let spots = |found: Vec<(String, crate::symbols::locations::SourceLocation)>| -> Vec<Spot> {
        found.into_iter().map(|(_, at)| (at.file, at.line, at.column)).collect()
    };
    let own = spots(all_declarations(outputs, &[&with_files(symbols, &candidate.path)])?);
    let parts = spots(all_declarations(outputs, &[&with_files(symbols, key)])?);
    let rows = overloads::read_overloads(outputs, &[key])?.into_iter().flatten();
    let count = rows.filter(|one| one.kind == candidate.kind).count();
    for spot in parts {
        let Some((at, _)) = texts.identifier_at(&spot) else { continue };
        let is_primary = texts.text_of(&spot.0).and_then(|text| parameters_behind(text, at)).is_some();
        if is_primary && (count > 1 || !own.contains(&spot)) {
            way.add_obstacle(format!(
                "{}:{}:{}: {key} has a primary constructor here, and its calls cannot be distinguished from those of others",
                spot.0, spot.1, spot.2
            ));
        }
    }
    Ok(())
}

/// Adds obstacles where the type of a parameterless constructor that gets parameters is a type argument: `where T : new()` requires that constructor.
pub(super) fn check_type_arguments<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    request: RenameRequest<'_>,
    texts: &mut FileTexts<'_>,
    way: &mut Obstacles,
) -> Result<(), O::Error> {
    let key = request.candidate.key();
    let found = resolve(symbols, outputs, key, &Options::default())?;
    let Ok(subject) = Subject::from_resolution(&found) else {
        way.add_obstacle(format!("cortex cannot distinguish the uses of {key} from those of another type"));
        return Ok(());
    };
    let name = simple_name(key);
    let found = usages(outputs, symbols, &subject, request.gaps)?.in_code();
    for place in found.certain.iter().chain(found.possible.keys()) {
        let spot: Spot = (place.file.clone(), place.line, place.column);
        let Some((at, _)) = texts.identifier_at(&spot) else { continue };
        if texts.text_of(&place.file).is_some_and(|text| is_type_argument(text, at)) {
            way.add_obstacle(format!(
                "{}:{}:{}: {name} is a type argument here, and `new()` may ask for its constructor without parameters: {}",
                place.file, place.line, place.column, place.text
            ));
        }
    }
    Ok(())
}

/// Whether the type name at an offset is a type argument.
fn is_type_argument(text: &str, at: usize) -> bool {
    let (rest, tokens) = tokens_behind(text, at);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(rest));
    let mut next = 1;
    while matches!(word(next), "." | "::") {
        next += 2;
    }
    if word(next) == "<" {
        next = type_arguments_end(rest, &tokens, next, true).map_or(next, |end| end + 1);
    }
    next += usize::from(word(next) == "?");
    if !matches!(word(next), ">" | ",") {
        return false;
    }
    let mut depth = 0_usize;
    for token in lex(&text[..at]).tokens.iter().rev() {
        match token.text(text) {
            "<" if depth == 0 => return true,
            "<" => depth -= 1,
            ">" => depth += 1,
            "," | "." | "::" | "?" | "[" | "]" => {}
            _ if token.kind == Kind::Word => {}
            _ => return false,
        }
    }
    false
}

/// Whether a text parses without errors.
pub(super) fn parses(text: &str, defines: &BTreeSet<String>) -> bool {
    matches!(parse::read(text, defines, "").0.tier, Tier::Whole | Tier::Repaired)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::samples::Sample;

    #[test]
    fn texts_that_would_parse_no_more_are_refused() {
        let (good, bad) = ("class C {\n int M(int a) => a;\n}\n", "class C {\n int M(int a => a;\n}\n");
        let mut sample = Sample::from_files(&[("src/c.cs", good)]);
        for (before, after, found) in [(good, bad, 1), (good, good, 0), (bad, bad, 0)] {
            let files = [Rewritten::of("src/c.cs", before, after.to_owned())];
            let mut way = Obstacles::default();
            check_texts(&mut sample, &files, &mut way).expect("outputs");
            assert_eq!(way.0.len(), found, "{way:?}");
            assert!(way.0.iter().all(|one| one.starts_with("src/c.cs:2: ")), "{way:?}");
        }
    }
}
