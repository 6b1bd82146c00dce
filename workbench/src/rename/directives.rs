//! Names outside of every type: in using directives and in attributes of the assembly.

use super::family::Family;
use super::places::FileTexts;
use super::{Obstacles, Planning, RenameRequest, Spot};
use crate::symbols::index::Symbols;
use crate::symbols::outputs::Outputs;
use crate::symbols::resolve::{Options, resolve};
use engine::values::label::halves;
use producers::csharp::lexer::{Kind, Token, lex};
use producers::csharp::types::symbol_of;
use std::collections::BTreeSet;

/// Adds obstacles for files with syntax errors that contain the name: they may contain unknown uses.
pub(super) fn refuse_flawed(request: RenameRequest<'_>, name: &str, texts: &mut FileTexts<'_>, way: &mut Obstacles) {
    let sources = request.sources.iter().map(|(file, _)| file);
    let flawed = sources.filter(|file| file.ends_with(".cs") && request.flawed.contains(*file));
    for file in flawed {
        if texts.read_text(file).is_some_and(|text| text.contains(name)) {
            way.refuse_syntax_errors(file);
        }
    }
}

/// Renames the type in using directives; any other use outside of types is an obstacle.
pub(super) fn rename_in_directives<O: Outputs>(planning: &mut Planning<'_, O>, outside: &BTreeSet<Spot>) -> Result<(), O::Error> {
    let Planning {
        outputs,
        symbols,
        family,
        request,
        texts,
        change,
        way,
    } = planning;
    let outputs = &mut **outputs;
    refuse_flawed(*request, &family.old, texts, way);
    let mut possible: Vec<String> = Vec::new();
    let mut lexed: Option<(&str, String, Vec<Token>)> = None;
    for spot in outside {
        let (file, line, _) = spot;
        let Some((start, word)) = texts.identifier_at(spot).filter(|(start, _)| !change.has(file, *start)) else {
            continue;
        };
        if lexed.as_ref().is_none_or(|(of, ..)| of != file) {
            let text = texts.text_of(file).unwrap_or_default().to_owned();
            let tokens = lex(&text).tokens;
            lexed = Some((file, text, tokens));
        }
        let Some((_, text, tokens)) = &lexed else { continue };
        let at = tokens.partition_point(|token| (token.end as usize) <= start);
        let path = (at < tokens.len()).then(|| path_in_using(text, tokens, at)).flatten();
        // Only attributes may omit the ending `Attribute`.
        if path.is_some() && word != family.old {
            continue;
        }
        match path {
            Some(path) if family.is_type => match names_family(outputs, symbols, family, &path)? {
                Some(true) => change.add_place(file, start, false),
                Some(false) => {}
                None => possible.push(format!(
                    "{file}:{line}: possible use: cortex does not know what this using directive names"
                )),
            },
            Some(_) => {}
            None => possible.push(format!("{file}:{line}: possible use: {word} is outside of every type")),
        }
    }
    match request.leave_possible {
        true => change.left.extend(possible),
        false => possible.into_iter().for_each(|place| way.add_obstacle(place)),
    }
    Ok(())
}

/// Returns the dotted name up to a word in a using directive, after its alias.
fn path_in_using(text: &str, tokens: &[Token], at: usize) -> Option<String> {
    let word = |at: usize| tokens[at].text(text);
    let begin = (0..=at).rev().take_while(|at| !matches!(word(*at), ";" | "{" | "}")).last()?;
    let mut first = begin + usize::from(word(begin) == "global");
    if word(first) != "using" {
        return None;
    }
    first += 1;
    while matches!(word(first), "static" | "unsafe") {
        first += 1;
    }
    if at == first && word(first + 1) == "=" {
        return Some(ALIAS.to_owned());
    }
    // The dotted name that ends there, including one inside type arguments.
    let is_part = |at: &usize| tokens[*at].kind == Kind::Word || matches!(word(*at), "." | "::");
    let start = (first..=at).rev().take_while(is_part).last()?;
    let path: String = (start..=at).map(word).collect();
    Some(path.strip_prefix("global::").unwrap_or(&path).replace('@', ""))
}

/// Placeholder path for the alias name that a directive declares.
const ALIAS: &str = "=";

/// Whether a dotted name refers to the type; `None` if undecided.
fn names_family<O: Outputs>(outputs: &mut O, symbols: &Symbols, family: &Family, path: &str) -> Result<Option<bool>, O::Error> {
    let key = family.paths.first().map(String::as_str).unwrap_or_default();
    let plain = |key: &str| symbol_of(key).split('`').next().unwrap_or_default().replace('+', ".");
    if path == ALIAS {
        return Ok(Some(false));
    }
    // A name after type arguments, such as `Outer<int>.Widget`, is not resolved.
    if path.starts_with('.') {
        return Ok(None);
    }
    if plain(key) == path {
        return Ok(Some(true));
    }
    // The name is a namespace, or the full name of another type.
    if symbols.namespaces().iter().any(|one| one == path) || symbols.keys().any(|other| plain(other) == path) {
        return Ok(Some(false));
    }
    let found = resolve(symbols, outputs, path, &Options::default())?;
    Ok(match found.candidate() {
        Ok(one) if one.path == key => None,
        Ok(_) => Some(false),
        Err(_) if found.candidates.iter().any(|one| halves(&one.path).is_none() && one.path == key) => None,
        Err(_) => Some(false),
    })
}
