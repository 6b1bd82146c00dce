//! Collects the names that a declaration mentions during the walk. Then removes parameters and type parameters, sorts the names, and
//! removes duplicates.

use super::header::without_at_sign;
use super::tokens::Tokens;
use crate::keywords::{is_infix, is_reserved};
use crate::lexer::Kind;
use crate::model::{NamePlace, NameUse};
use std::borrow::Cow;
use std::ops::Range;

/// The names mentioned in one declaration, as written.
#[derive(Default)]
pub(crate) struct Mentions<'t> {
    names: Vec<Mention<'t>>,
    parameters: Vec<&'t str>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mention<'t> {
    path: Cow<'t, str>,
    arity: u32,
    place: NamePlace,
    certain: bool,
}

impl<'t> Mentions<'t> {
    /// Adds a name. Ignores words that never name a declared type.
    pub(crate) fn add_name(&mut self, path: Cow<'t, str>, arity: u32, place: NamePlace, certain: bool) {
        if !(path.is_empty() || arity == 0 && is_builtin(&path)) {
            self.names.push(Mention {
                path,
                arity,
                place,
                certain,
            });
        }
    }

    /// Adds a parameter: an uncertain name that begins with it is no type.
    pub(crate) fn add_parameter_name(&mut self, name: &'t str) {
        self.parameters.push(without_at_sign(name));
    }

    /// Returns the names, sorted and distinct. `in_scope` are the type parameters of the declaration and of its enclosing types.
    pub(crate) fn sorted_uses(&self, in_scope: &[&str]) -> Vec<NameUse> {
        let mut names: Vec<&Mention<'t>> = self
            .names
            .iter()
            .filter(|mention| {
                let root = mention.path.split('.').next().unwrap_or_default();
                let simple = mention.arity == 0 && root.len() == mention.path.len();
                if mention.certain {
                    !(simple && in_scope.contains(&root))
                } else {
                    !in_scope.contains(&root) && !self.parameters.contains(&root)
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

    /// Adds the names in a written type.
    pub(crate) fn add_tokens(&mut self, tokens: &Tokens<'t>, range: Range<usize>) {
        for at in range.clone() {
            // Type arguments contain names of their own, so only a path's first token is skipped.
            if starts_name(tokens, at, range.start)
                && let Some(path) = tokens.path_at(at, range.end)
            {
                self.add_name(path.text, path.arity, NamePlace::Signature, true);
            }
        }
    }
}

/// Whether a path may begin at this token: a word that is neither a keyword nor a member access.
fn starts_name(tokens: &Tokens<'_>, at: usize, start: usize) -> bool {
    let word = tokens.text(at);
    tokens.all[at].kind == Kind::Word && !is_keyword(word) && !(at > start && matches!(tokens.text(at - 1), "." | "?." | "::" | "->"))
}

/// Words that the grammar accepts as types but that name no declared type.
#[rustfmt::skip]
fn is_builtin(word: &str) -> bool {
    matches!(
        word,
        "var" | "dynamic" | "nint" | "nuint" | "notnull" | "unmanaged" | "nameof" | "value" | "field" | "await"
        | "managed" | "Cdecl" | "Stdcall" | "allows" | "default"
    )
}

fn is_keyword(word: &str) -> bool {
    is_reserved(word) || matches!(word, "await" | "async") || is_infix(word) || is_builtin(word)
}
