//! Names mentioned by a declaration: gathered during the walk, then cleaned of locals and type parameters, sorted, made unique.

use super::header::plain;
use super::tokens::Tokens;
use crate::csharp::keywords::{is_infix, is_reserved};
use crate::csharp::lexer::Kind;
use crate::csharp::model::{NamePlace, NameUse};
use std::borrow::Cow;
use std::ops::Range;

/// What one declaration mentions, as it stands in the text.
#[derive(Default)]
pub(crate) struct Mentions<'t> {
    names: Vec<Mention<'t>>,
    locals: Vec<&'t str>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mention<'t> {
    path: Cow<'t, str>,
    arity: u32,
    place: NamePlace,
    certain: bool,
}

impl<'t> Mentions<'t> {
    /// Notes a name. Words that never name a declared type are passed over.
    pub(crate) fn add(&mut self, path: Cow<'t, str>, arity: u32, place: NamePlace, certain: bool) {
        if !(path.is_empty() || arity == 0 && is_builtin(&path)) {
            self.names.push(Mention {
                path,
                arity,
                place,
                certain,
            });
        }
    }

    /// Notes a local, a parameter or a local type parameter: an uncertain name that begins with it is no type.
    pub(crate) fn local(&mut self, name: &'t str) {
        self.locals.push(plain(name));
    }

    /// Sorted and unique. `in_scope` are the type parameters of the declaration and of the types around it.
    pub(crate) fn finish(&self, shared: Option<&Self>, in_scope: &[&str]) -> Vec<NameUse> {
        let mut locals = self.locals.clone();
        locals.sort_unstable();
        let mut names: Vec<&Mention<'t>> = self
            .names
            .iter()
            .chain(shared.into_iter().flat_map(|shared| &shared.names))
            .filter(|mention| {
                let root = mention.path.split('.').next().unwrap_or_default();
                let simple = mention.arity == 0 && root.len() == mention.path.len();
                if mention.certain {
                    !(simple && in_scope.contains(&root))
                } else {
                    !in_scope.contains(&root) && locals.binary_search(&root).is_err()
                }
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
            .into_iter()
            .map(|mention| NameUse {
                path: mention.path.clone().into_owned(),
                arity: mention.arity,
                place: mention.place,
                certain: mention.certain,
            })
            .collect()
    }

    /// Notes the names of a token range by their neighbours alone, for code that has no tree.
    pub(crate) fn add_tokens(&mut self, tokens: &Tokens<'t>, range: Range<usize>, place: NamePlace) {
        let mut at = range.start;
        while at < range.end {
            if !starts_name(tokens, at, range.start) {
                at += 1;
                continue;
            }
            let before = if at > range.start { tokens.text(at - 1) } else { "" };
            let Some(path) = tokens.path(at, range.end) else {
                at += 1;
                continue;
            };
            let after = if path.end < range.end { tokens.text(path.end) } else { "" };
            let declares = tokens.is_word(path.end) && path.end < range.end && !is_infix(after)
                || matches!(after, "[" | "?") && declares_after_mark(tokens, path.end, range.end);
            let wanted = matches!(before, "new" | "is" | "as" | "typeof")
                || before == "("
                    && at >= range.start + 2
                    && matches!(tokens.text(at - 2), "typeof" | "sizeof" | "default" | "catch" | "nameof");
            let in_arguments = tokens.is_angle(at - usize::from(at > range.start)) || path.end < range.end && tokens.is_angle(path.end);
            if declares || wanted || in_arguments || place == NamePlace::Signature {
                if declares && tokens.is_word(path.end) {
                    self.local(tokens.text(path.end));
                }
                self.add(path.text, path.arity, place, true);
            } else if path.segments > 1 || after == "." && path.arity > 0 {
                let called = after == "(";
                let arity = if called { 0 } else { path.arity };
                let text = if called { without_last(path.text) } else { path.text };
                self.add(text, arity, place, arity > 0);
            } else if matches!(before, "or" | "not" | "and" | "case") {
                self.add(path.text, path.arity, place, false);
            }
            // Type arguments hold names of their own, so only the first token is passed.
            at += 1;
        }
    }
}

fn declares_after_mark(tokens: &Tokens<'_>, mark: usize, limit: usize) -> bool {
    let after = if tokens.is(mark, "?") { mark + 1 } else { tokens.step(mark) };
    let empty = tokens.is(mark, "?") || after == mark + 2;
    empty
        && after < limit
        && tokens.is_word(after)
        && !is_infix(tokens.text(after))
        && matches!(tokens.text(after + 1), "=" | ";" | ")" | "," | "in")
}

/// Whether a path may begin at this token: a word that is no keyword and not a member of something.
fn starts_name(tokens: &Tokens<'_>, at: usize, start: usize) -> bool {
    let word = tokens.text(at);
    tokens.all[at].kind == Kind::Word && !is_keyword(word) && !(at > start && matches!(tokens.text(at - 1), "." | "?." | "::" | "->"))
}

/// The path without its last segment: what a called method is a member of.
pub(crate) fn without_last(path: Cow<'_, str>) -> Cow<'_, str> {
    let Some(dot) = path.rfind('.') else { return Cow::Borrowed("") };
    match path {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..dot]),
        Cow::Owned(mut text) => {
            text.truncate(dot);
            Cow::Owned(text)
        }
    }
}

/// Words of the grammar that stand where a type stands but name no declared one.
fn is_builtin(word: &str) -> bool {
    matches!(
        word,
        "var"
            | "dynamic"
            | "nint"
            | "nuint"
            | "notnull"
            | "unmanaged"
            | "_"
            | "nameof"
            | "value"
            | "field"
            | "await"
            | "managed"
            | "Cdecl"
            | "Stdcall"
            | "allows"
            | "default"
    )
}

fn is_keyword(word: &str) -> bool {
    is_reserved(word) || matches!(word, "await" | "async") || is_infix(word) || is_builtin(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_segment() {
        assert_eq!(without_last(Cow::Borrowed("A.B.C")), "A.B");
        assert_eq!(without_last(Cow::Borrowed("A")), "");
    }
}
