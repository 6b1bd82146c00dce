//! Names in code that `#if` excludes: nothing binds them. By the number of their arguments some calls cannot mean a method; all others may, each with
//! its place.

use super::lists::{Of, list_at};
use super::places::Texts;
use crate::edit::lines::line_and_column;
use crate::symbols::outputs::{Outputs, SymbolError, file_label};
use producers::csharp::defines;
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::members::ParameterRow;
use producers::csharp::preprocess::blank;
use producers::csharp::variants::Uncompiled;
use std::collections::BTreeSet;

/// The words of a sentence about code that is not searched.
pub(super) const SENTENCE: &str = "in code that #if excludes";

/// Places in excluded code that may mean a symbol of a name; of a method with these parameters.
pub(super) fn excluded_uses<O: Outputs>(
    outputs: &mut O,
    texts: &mut Texts<'_>,
    word: &str,
    own: Option<&[ParameterRow]>,
) -> Result<BTreeSet<String>, O::Error> {
    let mut files = Vec::new();
    for output in outputs.read(&["//files/...:variants".to_owned()])? {
        let Some(bytes) = output.bytes else { continue };
        let said: Uncompiled = serde_json::from_slice(&bytes).map_err(|_| SymbolError::damaged().at_label(&output.label))?;
        let file = output
            .label
            .strip_prefix("//files/")
            .and_then(|rest| rest.strip_suffix(":variants"));
        files.extend(file.filter(|_| said.words.contains(word)).map(engine::values::label::unescape));
    }
    let labels: Vec<String> = files.iter().map(|file| file_label(file, "defines")).collect();
    let mut found = BTreeSet::new();
    for (file, output) in files.iter().zip(outputs.read(&labels)?) {
        let known = output.bytes.and_then(|bytes| defines::read(&bytes).ok());
        let (Some(known), Some(text)) = (known, texts.read(file)) else {
            found.insert(format!("{file}: it names {word} {SENTENCE}"));
            continue;
        };
        let compiled = blank(text, &known.own.into_iter().collect());
        for at in excluded_places(text, &compiled, word, own) {
            let (line, column) = line_and_column(text, at);
            let shown = text.lines().nth(line - 1).unwrap_or_default().trim();
            found.insert(format!("{file}:{line}:{column}: possible use {SENTENCE}: {shown}"));
        }
    }
    Ok(found)
}

/// Where excluded code writes a name and may mean it.
fn excluded_places(text: &str, compiled: &str, word: &str, method: Option<&[ParameterRow]>) -> Vec<usize> {
    let tokens = lex(text).tokens;
    let own = method.unwrap_or_default();
    let required = own.iter().filter(|one| !one.optional && !one.params).count();
    let receiver = usize::from(own.first().is_some_and(|one| one.this));
    let most = if own.iter().any(|one| one.params) { usize::MAX } else { own.len() };
    let may_be = |at: usize| {
        let next = tokens.get(at + 1).filter(|next| next.text(text) == "(");
        match next.and_then(|next| list_at(text, next.start as usize, Of::Arguments)) {
            Some(_) if method.is_none() => true,
            Some(list) => (required.saturating_sub(receiver)..=most).contains(&list.pieces.len()),
            None => true,
        }
    };
    let is_excluded = |at: usize| {
        let range = tokens[at].start as usize..tokens[at].end as usize;
        compiled.get(range.clone()) != text.get(range)
    };
    (0..tokens.len())
        .filter(|at| tokens[*at].kind == Kind::Word && tokens[*at].text(text) == word && is_excluded(*at) && may_be(*at))
        .map(|at| tokens[at].start as usize)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excluded_calls_are_told_by_their_arguments() {
        let row = |name: &str, optional: bool| ParameterRow {
            kind: "int".to_owned(),
            name: name.to_owned(),
            optional,
            params: false,
            this: false,
        };
        let own = [row("a", false), row("b", true)];
        let text = "class C {\n#if X\n int A => M(1, 2, 3) + N(1);\n int B => M() + M(1);\n#else\n int D => M(1);\n#endif\n}\n";
        let compiled = blank(text, &BTreeSet::new());
        let found = excluded_places(text, &compiled, "M", Some(&own));
        assert_eq!(excluded_places(text, &compiled, "M", None).len(), 3);
        assert_eq!(found, [text.find("M(1);\n#else").expect("a call")]);
        assert_eq!(
            excluded_places(text, &blank(text, &BTreeSet::from(["X".to_owned()])), "M", Some(&own)).len(),
            1
        );
    }
}
