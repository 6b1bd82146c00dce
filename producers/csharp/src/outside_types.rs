//! Names outside of every type that may mean a type or a member: in attributes of assemblies and modules, and in using directives for types. No
//! producer binds them.

use super::brackets::{self, NO_MATE};
use super::keywords::is_reserved;
use super::lexer::{Kind, Token, lex};
use std::ops::Range;

/// Returns the bytes of such names in a text as compiled, in order.
pub fn names_outside_types(compiled: &str) -> Vec<Range<usize>> {
    if !["assembly", "module", "using"].iter().any(|word| compiled.contains(word)) {
        return Vec::new();
    }
    let tokens = lex(compiled).tokens;
    let (mates, _) = brackets::mates(compiled, &tokens);
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token| token.text(compiled));
    let is_word = |at: usize| tokens.get(at).is_some_and(|token| token.kind == Kind::Word);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let (first, end) = match text(at) {
            "[" if matches!(text(at + 1), "assembly" | "module") && text(at + 2) == ":" && mates[at] != NO_MATE => {
                (at + 3, mates[at] as usize)
            }
            "using" => {
                let first = at + 1 + usize::from(text(at + 1) == "unsafe");
                let is_of_type = match text(first) {
                    "static" => true,
                    _ => is_word(first) && text(first + 1) == "=",
                };
                let end = (first..tokens.len())
                    .find(|at| matches!(text(*at), ";" | "{" | "}"))
                    .unwrap_or(tokens.len());
                (if is_of_type { first + 1 } else { end }, end)
            }
            _ => (at, at),
        };
        let names = (first..end).filter(|at| is_word(*at) && !is_reserved(text(*at)));
        found.extend(names.map(|at| tokens[at].start as usize..tokens[at].end as usize));
        at = end.max(at + 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_assemblies_and_directives_for_types_are_found() {
        let text = "using A.B; using static A.C; using D = A.E<F>; [assembly: G(typeof(H), I.J)] [module: K] [L(M)] class N { void O() { using var p = q; using (r) { } } }";
        let names: Vec<&str> = names_outside_types(text).into_iter().map(|bytes| &text[bytes]).collect();
        assert_eq!(names, ["A", "C", "A", "E", "F", "G", "H", "I", "J", "K"]);
    }
}
