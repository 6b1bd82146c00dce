//! Names in code that binding left undecided. Each may refer to a member of that name.
//!
//! Binding records every name that it resolves, even if the name is no member ([`Flow`](super::deps::flow::Flow) records locals, types and
//! members of .NET). The other names are in code that binding could not read, or follow values of unknown type.

use super::deps::flow::{Use, UseKind};
use super::keywords::{is_infix, is_predefined, is_reserved};
use super::lexer::Kind;
use super::token_places::AlignedText;
use rustc_hash::FxHashSet;

/// Returns the names of `laid`, from the token `first` on, that no use decides, each with its byte in the file. `locals` are the names that
/// the code itself declares.
pub(super) fn undecided<'t>(laid: &'t AlignedText<'_>, uses: &[Use], locals: &FxHashSet<String>, first: usize) -> Vec<(&'t str, u32)> {
    let text = |at: usize| laid.tokens.get(at).map_or("", |token| token.text(laid.body));
    let is_word = |at: usize| laid.tokens.get(at).is_some_and(|token| token.kind == Kind::Word);
    // Binding records a conversion at the first token of its value, but does not decide the name there.
    let uses = || uses.iter().filter(|used| used.kind != UseKind::Convert);
    let places: FxHashSet<u32> = uses().map(|used| used.place).collect();
    let mut decided = vec![false; laid.tokens.len()];
    for used in uses() {
        let mut at = laid.token_at(used.place);
        if at >= decided.len() {
            continue;
        }
        decided[at] = true;
        // Namespaces and types precede the name of a type.
        while used.member.is_none() && at >= 2 && matches!(text(at - 1), "." | "::") && is_word(at - 2) {
            at -= 2;
            decided[at] = true;
        }
    }
    // The enclosing opening brackets, by token.
    let mut around: Vec<usize> = Vec::new();
    let mut found = Vec::new();
    for (at, is_decided) in decided.iter().enumerate() {
        let word = text(at);
        match word {
            "(" | "[" | "{" => around.push(at),
            ")" | "]" | "}" => _ = around.pop(),
            _ => {}
        }
        if let Some(there) = laid.of_file[at].filter(|_| at >= first && laid.tokens[at].kind == Kind::Text) {
            found.extend(
                in_text(word, laid.tokens[at].start, &places, locals)
                    .into_iter()
                    .map(|(name, by)| (name, there.start + by)),
            );
            continue;
        }
        let Some(there) = laid.of_file[at].filter(|_| at >= first && !is_decided && is_word(at) && !is_reserved(word)) else {
            continue;
        };
        let name = word.strip_prefix('@').unwrap_or(word);
        let before = at.checked_sub(1).map_or("", text);
        let is_member = match before {
            "." | "?." | "->" => true,
            _ if locals.contains(name) || is_contextual(name) => false,
            // This name is declared here: its type precedes it.
            ">" | "]" | "goto" | "::" => false,
            _ if at > 0 && is_word(at - 1) && (!is_reserved(before) || is_predefined(before)) && !is_infix(before) => {
                matches!(before, "await" | "yield" | "when" | "and" | "or" | "not")
            }
            _ => match (text(at + 1), around.last().copied()) {
                // This is the name of an argument, a label, or a member of an anonymous type.
                (":", Some(open)) => text(open) == "{" && !matches!(before, ";" | "}"),
                (":", None) => false,
                ("=", Some(open)) => !(text(open) == "{" && open > 0 && text(open - 1) == "new"),
                ("::", _) => false,
                _ => true,
            },
        };
        if is_member {
            found.push((name, there.start));
        }
    }
    found
}

/// Returns the undecided names in the values of an interpolated text that begins at `start`, each with its byte in the text.
fn in_text<'t>(text: &'t str, start: u32, places: &FxHashSet<u32>, locals: &FxHashSet<String>) -> Vec<(&'t str, u32)> {
    let is_interpolated = text.trim_start_matches('@').starts_with('$');
    let (mut depth, mut at, mut found) = (0_usize, 0, Vec::new());
    while is_interpolated && at < text.len() {
        let rest = &text[at..];
        let c = rest.chars().next().unwrap_or(' ');
        match c {
            '{' if depth == 0 && rest.starts_with("{{") && !text.starts_with("$$") => at += 1,
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth > 0 && (c.is_alphabetic() || c == '_') => {
                let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let (word, before) = (&rest[..length], text[..at].trim_end().chars().next_back().unwrap_or(' '));
                let is_decided = places.contains(&(start + at as u32));
                // After a colon comes a format, after a quote text.
                let is_value =
                    before == '.' || !(locals.contains(word) || is_contextual(word) || matches!(before, ':' | '"' | '\'' | '\\'));
                if is_value && !is_decided && !is_reserved(word) {
                    found.push((word, at as u32));
                }
                at += length;
                continue;
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    found
}

/// Whether an unresolved name is undefined, because its place requires a value or a member. A name that may begin the name of an unknown
/// type, that names an argument, or that is a word of the language, is not undefined.
pub(super) fn means_nothing(laid: &AlignedText<'_>, place: u32, name: &str) -> bool {
    let at = laid.token_at(place);
    let text = |at: Option<usize>| at.and_then(|at| laid.tokens.get(at)).map_or("", |token| token.text(laid.body));
    let (before, next) = (text(at.checked_sub(1)), text(Some(at + 1)));
    if matches!(before, "." | "?.") {
        return true;
    }
    let may_be_type =
        name.starts_with(char::is_uppercase) && (matches!(before, "is" | "as" | "case" | "or" | "and" | "not") || is_of_nameof(&text, at));
    let begins_type = matches!(next, "." | "?." | "<" | "!" | "[" | "?") && name.starts_with(char::is_uppercase);
    !may_be_type
        && !begins_type
        && !matches!(next, "::" | ":" | "=>")
        && !matches!(name, "nameof" | "value" | "args")
        && !is_contextual(name)
}

/// Whether a token follows `nameof(`.
fn is_of_nameof<'t>(text: &impl Fn(Option<usize>) -> &'t str, at: usize) -> bool {
    text(at.checked_sub(1)) == "(" && text(at.checked_sub(2)) == "nameof"
}

/// Whether a word has a special meaning in some places. Assumes that no member in unreadable code has such a name.
#[rustfmt::skip]
fn is_contextual(word: &str) -> bool {
    is_infix(word)
        || matches!(
            word,
            "_" | "add" | "async" | "await" | "dynamic" | "field" | "get" | "global" | "init" | "nameof" | "not"
            | "notnull" | "nint" | "nuint" | "remove" | "scoped" | "set" | "unmanaged" | "value" | "var" | "yield"
        )
}
