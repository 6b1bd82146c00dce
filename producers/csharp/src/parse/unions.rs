//! Declarations without a grammar rule: unions of C# 15, shown to the grammar as structs, and text that the grammar mistakes for top-level
//! statements.

use super::header::type_parameters;
use super::shown::Edit;
use super::tokens::Tokens;
use std::ops::Range;

/// Shows `union Pet(Cat, Dog)` to the grammar as `struct Pet`.
pub(crate) fn unions(tokens: &Tokens<'_>, edits: &mut Vec<Edit>) {
    for at in 0..tokens.all.len() {
        if tokens.is(at, "union")
            && let Some(cases) = cases(tokens, at + 1)
        {
            edits.push(Edit {
                bytes: tokens.bytes_of_tokens(&(at..at + 1)),
                // One byte longer than `union`: without the blank it would join the next name.
                with: "struct ",
            });
            edits.push(Edit {
                bytes: tokens.bytes_of_tokens(&(cases.start - 1..cases.end + 1)),
                with: "",
            });
        }
    }
}

/// Returns the tokens of the case types of the union whose name is at `name`. They are types without names, unlike the parameters of a method
/// whose return type is named `union`.
pub(crate) fn cases(tokens: &Tokens<'_>, name: usize) -> Option<Range<usize>> {
    let before = name.checked_sub(2).map_or("", |before| tokens.text(before));
    let begins = matches!(
        before,
        "" | "{" | "}" | ";" | "]" | "public" | "internal" | "private" | "protected" | "file" | "partial" | "readonly" | "new" | "unsafe"
    );
    if !begins || !tokens.is(name.checked_sub(1)?, "union") || !tokens.is_word(name) {
        return None;
    }
    let (_, open) = type_parameters(tokens, name + 1, tokens.all.len().min(name + 1000));
    let close = tokens.is(open, "(").then(|| tokens.mate(open)).flatten()?;
    let ends = matches!(tokens.text(close + 1), "{" | ";" | ":" | "where");
    let parts = tokens.split_range(open + 1..close);
    let is_type = |part: &Range<usize>| {
        let last = part.end - 1;
        let named = last > part.start
            && tokens.is_word(last)
            && (tokens.is_word(last - 1) || matches!(tokens.text(last - 1), ">" | "]" | "?" | "*" | ")"));
        !named && (tokens.is_word(part.start) || tokens.is(part.start, "("))
    };
    (ends && !parts.is_empty() && parts.iter().all(is_type)).then_some(open + 1..close)
}

/// Whether a top-level statement in the grammar's tree can be one: no statement begins with a declaration's modifier or is a method without
/// a body.
pub(crate) fn may_be_statement(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    let mut first = range.start;
    while tokens.is(first, "[") {
        first = tokens.next_after_group(first);
    }
    let modifier = matches!(
        tokens.text(first),
        "public" | "private" | "protected" | "internal" | "abstract" | "sealed" | "virtual" | "override" | "readonly" | "partial" | "file"
    ) && tokens.is_word(first + 1);
    let extern_ = (first..range.end).take(3).any(|at| tokens.is(at, "extern"));
    // `union Pet(Cat a);`: two words and a list without a body.
    let header = tokens.is_word(first) && tokens.is_word(first + 1) && tokens.is(first + 2, "(");
    let bodiless = header && !is_before_value(tokens.text(first)) && tokens.mate(first + 2).is_some_and(|close| tokens.is(close + 1, ";"));
    !modifier && (extern_ || !bodiless)
}

/// Whether a call may follow this word of a statement.
fn is_before_value(word: &str) -> bool {
    matches!(
        word,
        "await" | "return" | "throw" | "new" | "else" | "do" | "goto" | "yield" | "ref"
    )
}
