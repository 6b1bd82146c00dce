//! Names outside of every type: using directives, attributes of the assembly, top-level statements.

use super::family::Family;
use super::places::Texts;
use super::{Obstacles, Planning, RenameRequest};
use crate::edit::lines::{fit, line_and_column};
use crate::symbols::index::Symbols;
use crate::symbols::outputs::{Outputs, SymbolError, file_label};
use crate::symbols::resolve::{Options, resolve};
use engine::values::label::halves;
use producers::csharp::lexer::{Kind, Token, lex};
use producers::csharp::model::Syntax;
use producers::csharp::syntax;
use producers::csharp::types::symbol_of;

/// Refuses files that name the symbol and could not be fully parsed: they may contain uses that cortex does not see.
pub(super) fn refuse_flawed(request: RenameRequest<'_>, name: &str, texts: &mut Texts<'_>, way: &mut Obstacles) {
    let naming = texts.read_naming(request.sources, name).into_iter();
    for file in naming.filter(|file| request.flawed.contains(file)) {
        way.add_obstacle(format!("{file}: it names {name} and could not be read as a whole"));
    }
}

/// Changes the using directives that name the type; any other such use blocks the rename.
pub(super) fn rename_in_directives<O: Outputs>(planning: &mut Planning<'_, O>) -> Result<(), O::Error> {
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
    let mut possible: Vec<String> = Vec::new();
    let naming = texts.read_naming(request.sources, &family.old);
    if naming.is_empty() {
        return Ok(());
    }
    refuse_flawed(*request, &family.old, texts, way);
    let labels: Vec<String> = naming.iter().map(|file| file_label(file, "syntax")).collect();
    for (file, output) in naming.iter().zip(outputs.read(&labels)?) {
        let Some(bytes) = output.bytes else { continue };
        let tree = syntax::decode(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
        let text = texts.text_of(file).unwrap_or_default().to_owned();
        let tokens = lex(&text).tokens;
        for at in outside(&text, &tokens, &tree, &family.old) {
            let start = tokens[at].start as usize + usize::from(tokens[at].text(&text).starts_with('@'));
            if change.has(file, start) {
                continue;
            }
            let line = line_and_column(&text, start).0;
            match path_in_using(&text, &tokens, at) {
                Some(path) if family.is_type => match names_family(outputs, symbols, family, &path)? {
                    Some(true) => change.add_place(file, start, false),
                    Some(false) => {}
                    None => possible.push(format!(
                        "{file}:{line}: possible use: cortex does not know what this using directive names"
                    )),
                },
                Some(_) => {}
                None => possible.push(format!("{file}:{line}: possible use: {} is outside of every type", family.old)),
            }
        }
    }
    match request.leave_possible {
        true => change.left.extend(possible),
        false => possible.into_iter().for_each(|place| way.add_obstacle(place)),
    }
    Ok(())
}

/// Returns the occurrences of a name outside of every type.
fn outside(text: &str, tokens: &[Token], tree: &Syntax, name: &str) -> Vec<usize> {
    let is_name = |token: &Token| token.kind == Kind::Word && token.text(text).trim_start_matches('@') == name;
    // Line numbers of the tree do not depend on the kind of line ends.
    let is_outside = |token: &Token| {
        let before = fit(&text[..token.start as usize], "\n");
        let line = u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX);
        let column = u32::try_from(before.len() - before.rfind('\n').map_or(0, |end| end + 1)).unwrap_or(u32::MAX);
        let at = (line, column);
        !tree
            .types
            .iter()
            .any(|decl| (decl.span.first, decl.span.from) <= at && at < (decl.span.last, decl.span.to))
    };
    let found = tokens.iter().enumerate().filter(|(_, token)| is_name(token) && is_outside(token));
    found.map(|(at, _)| at).collect()
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
    // The dotted name that ends there, also within type arguments.
    let is_part = |at: &usize| tokens[*at].kind == Kind::Word || matches!(word(*at), "." | "::");
    let start = (first..=at).rev().take_while(is_part).last()?;
    let path: String = (start..=at).map(word).collect();
    Some(path.strip_prefix("global::").unwrap_or(&path).replace('@', ""))
}

/// Placeholder path for the alias name that a directive declares.
const ALIAS: &str = "=";

/// Whether a dotted name refers to the type; `None` if that is undecided.
fn names_family<O: Outputs>(outputs: &mut O, symbols: &Symbols, family: &Family, path: &str) -> Result<Option<bool>, O::Error> {
    let key = family.paths.first().map(String::as_str).unwrap_or_default();
    let plain = |key: &str| symbol_of(key).split('`').next().unwrap_or_default().replace('+', ".");
    if path == ALIAS {
        return Ok(Some(false));
    }
    if plain(key) == path {
        return Ok(Some(true));
    }
    // A namespace, or another type by its whole name.
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
