//! Written types in a form that is comparable with the compiler's names: simple names, keywords for built-in types, `T?` for `Nullable<T>`, aliases
//! replaced, uniform spacing.
//!
//! It does not resolve names: two types of one simple name look alike here. The edges tell which type is used.

use producers::csharp::lexer;
use std::collections::BTreeMap;

/// The target of each `using X = …`, in the form of [`simple`].
pub(super) type Aliases = BTreeMap<String, String>;

pub(super) fn canonical_tokens(text: &str) -> Vec<&str> {
    lexer::lex(text).tokens.iter().map(|token| token.text(text)).collect()
}

/// Returns a written type in comparable form.
pub(super) fn simple(words: &[&str], aliases: &Aliases) -> String {
    let mut out: Vec<&str> = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let word = words[at];
        let qualifies = matches!(words.get(at + 1), Some(&("." | "::")));
        match word {
            "." | "::" => {
                let from = name_start(&out, out.len());
                out.truncate(from);
            }
            ">" => close_type_arguments(&mut out),
            _ if is_name(word) => {
                let qualified = at > 0 && matches!(words[at - 1], "." | "::");
                let generic = words.get(at + 1) == Some(&"<");
                match aliases.get(without_at_sign(word)) {
                    Some(target) if !qualified && !qualifies && !generic => out.extend(self::canonical_tokens(target)),
                    _ => out.push(keyword(without_at_sign(word))),
                }
            }
            _ => out.push(word),
        }
        at += 1;
    }
    join_tokens(&out)
}

/// Returns the comparable form of a text.
pub(super) fn simple_text(text: &str, aliases: &Aliases) -> String {
    simple(&canonical_tokens(text), aliases)
}

/// Closes type arguments; writes `Nullable<T>` and `ValueTuple<…>` as the language does.
fn close_type_arguments(out: &mut Vec<&str>) {
    let Some(open) = mate_back(out, out.len()) else {
        out.push(">");
        return;
    };
    match open.checked_sub(1).map(|before| out[before]) {
        Some("Nullable") => {
            out.drain(open - 1..=open);
            out.push("?");
        }
        // The eighth is the rest, which a tuple's elements may not be known from.
        Some("ValueTuple") if (1..7).contains(&commas(&out[open + 1..])) => {
            out[open] = "(";
            out.remove(open - 1);
            out.push(")");
        }
        _ => out.push(">"),
    }
}

fn commas(words: &[&str]) -> usize {
    let mut depth = 0_i32;
    let mut found = 0;
    for word in words {
        match *word {
            "<" | "(" | "[" => depth += 1,
            ">" | ")" | "]" => depth -= 1,
            "," if depth == 0 => found += 1,
            _ => {}
        }
    }
    found
}

/// Returns the index of the `<` that is still open before `end`.
pub(super) fn mate_back(words: &[&str], end: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for at in (0..end).rev() {
        match words[at] {
            ">" => depth += 1,
            "<" if depth == 0 => return Some(at),
            "<" => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the start of the name that ends before `end`, with type arguments and without qualifiers.
fn name_start(words: &[&str], end: usize) -> usize {
    let Some(last) = end.checked_sub(1) else { return 0 };
    if words[last] == ">" {
        return mate_back(words, last).map_or(last, |open| open.saturating_sub(1));
    }
    last
}

/// Returns the start of the qualified name that ends before `end`.
pub(super) fn path_start(words: &[&str], end: usize) -> usize {
    let mut start = name_start(words, end);
    while start > 1 && matches!(words[start - 1], "." | "::") {
        start = name_start(words, start - 1);
    }
    start
}

/// Returns the closing bracket of the one at `open`.
pub(super) fn mate(words: &[&str], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, word) in words.iter().enumerate().skip(open) {
        match *word {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the parts between commas outside of brackets.
pub(super) fn split_at_commas<'w, 't>(words: &'w [&'t str]) -> Vec<&'w [&'t str]> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_i32);
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth -= 1,
            "," if depth == 0 => {
                parts.push(&words[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if start < words.len() {
        parts.push(&words[start..]);
    }
    parts
}

/// Whether a token is an identifier or keyword.
pub(super) fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '@')
}

/// Returns a name without its `@`.
pub(super) fn without_at_sign(word: &str) -> &str {
    word.strip_prefix('@').unwrap_or(word)
}

/// Returns the keyword for a built-in type.
pub(super) fn keyword(name: &str) -> &str {
    match name {
        "Boolean" => "bool",
        "Byte" => "byte",
        "SByte" => "sbyte",
        "Int16" => "short",
        "UInt16" => "ushort",
        "Int32" => "int",
        "UInt32" => "uint",
        "Int64" => "long",
        "UInt64" => "ulong",
        "IntPtr" => "nint",
        "UIntPtr" => "nuint",
        "Char" => "char",
        "Single" => "float",
        "Double" => "double",
        "Decimal" => "decimal",
        "String" => "string",
        "Object" => "object",
        other => other,
    }
}

/// Joins tokens without spaces except where a word follows a word or a closing bracket.
pub(super) fn join_tokens(words: &[&str]) -> String {
    let mut out = String::new();
    for word in words {
        let closes = out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '>' | ')' | ']' | '?' | '*'));
        if closes && is_name(word) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_types_in_comparable_form() {
        let aliases = Aliases::from([("Map".to_owned(), "Dictionary<int,string>".to_owned())]);
        for (written, expected) in [
            ("System.Collections.Generic.List<System.Int32>", "List<int>"),
            ("global::A.B<C.D>.E<F.G>?", "E<G>?"),
            ("Nullable<System.DateTime>[]", "DateTime?[]"),
            ("ValueTuple<int, List<string>>", "(int,List<string>)"),
            ("(int a, @string.B b)", "(int a,B b)"),
            ("Map", "Dictionary<int,string>"),
            ("Map.Entry", "Entry"),
            ("delegate* unmanaged[Cdecl]<int, void>", "delegate* unmanaged[Cdecl]<int,void>"),
            ("ref readonly Span<T>", "ref readonly Span<T>"),
        ] {
            assert_eq!(simple_text(written, &aliases), expected, "{written}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_form_and_it_is_stable(text in "[A-Za-z<>.,?\\[\\]() :*]{0,40}") {
            let once = simple_text(&text, &Aliases::new());
            proptest::prop_assert!(once.len() <= text.len() + text.len() / 2);
        }
    }
}
