//! Adds default values of parameters and values of constants to the signatures that readers see.
//!
//! Signatures omit values because values are implementation (seed 000 §3.3): a body begins with a line `name = value` per parameter with a
//! default value; the body of a constant or enum member is its value.

use super::hashes::one_line;
use super::lexer::{Kind, lex};
use super::model::{Member, MemberKind};

/// Maximum characters of a value shown in full.
const LONGEST: usize = 80;

/// Returns the default values at the head of a body: parameter name and value.
fn pairs(body: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    body.lines()
        .map_while(move |line| line.split_once(" = ").filter(|(name, _)| is_name(name)))
}

/// Splits a body into the lines of default values at its head and its code.
pub(super) fn split_defaults(body: &str) -> (&str, &str) {
    let tokens = lex(body).tokens;
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text(body));
    // A literal in a default value may have several lines, but no token of it begins one.
    let begins_line = |at: usize| at == 0 || body[tokens[at - 1].end as usize..tokens[at].start as usize].contains('\n');
    let is_default = |at: usize| tokens[at].kind == Kind::Word && text(at + 1) == "=";
    let code = (0..tokens.len()).find(|at| begins_line(*at) && !is_default(*at));
    let (defaults, code) = body.split_at(code.map_or(body.len(), |at| tokens[at].start as usize));
    (defaults.trim_end(), code)
}

/// Counts the default values at the head of a body.
pub(super) fn count_defaults(body: &str) -> u32 {
    pairs(body).count() as u32
}

/// Returns the signature with the default values from the head of `body`.
pub(super) fn with_defaults(signature: &str, body: &str) -> String {
    let mut text = signature.to_owned();
    let mut end = text.len();
    // From last to first: a tuple before the list may have elements with the same names.
    for (name, value) in pairs(body).collect::<Vec<_>>().into_iter().rev() {
        if let Some(at) = parameter_end(&text[..end], name) {
            text.insert_str(at, &format!(" = {}", display_value(value)));
            end = at - name.len();
        }
    }
    text
}

/// Returns the end of the last parameter with this name.
fn parameter_end(signature: &str, name: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut found = None;
    for (at, c) in signature.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ',' | ')' | ']' => {
                let before = &signature[..at];
                let is_named = before.strip_suffix(name).is_some_and(|before| before.ends_with([' ', '@']));
                if depth == 1 && is_named {
                    found = Some(at);
                }
                depth = depth.saturating_sub(usize::from(c != ','));
            }
            _ => {}
        }
    }
    found
}

/// Returns a member's signature with its default values or its value. `ordinal` is the value of an enum member without a written one.
pub(super) fn with_values(signature: &str, member: &Member, ordinal: Option<i128>) -> String {
    match member.kind {
        MemberKind::Constant | MemberKind::EnumMember if !member.body.is_empty() => {
            format!("{signature} = {}", display_value(&member.body))
        }
        MemberKind::EnumMember => ordinal.map_or_else(|| signature.to_owned(), |ordinal| format!("{signature} = {ordinal}")),
        MemberKind::Method | MemberKind::Constructor | MemberKind::Indexer => with_defaults(signature, &member.body),
        _ => signature.to_owned(),
    }
}

/// Returns the implied values of enum members, as long as the preceding values are plain numbers; `None` for all other members.
pub(super) fn ordinals<'m>(members: impl Iterator<Item = &'m Member>) -> Vec<Option<i128>> {
    let mut next = Some(0_i128);
    members
        .map(|member| {
            if member.kind != MemberKind::EnumMember {
                return None;
            }
            // After a conditionally compiled member, the next value is undecided.
            let value = match (member.condition.is_empty(), member.has_value) {
                (false, _) => None,
                (true, true) => parse_number(&member.body),
                (true, false) => next,
            };
            next = value.and_then(|value| value.checked_add(1));
            value.filter(|_| !member.has_value)
        })
        .collect()
}

fn parse_number(text: &str) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits.trim_start()));
    let digits = digits.replace('_', "").to_ascii_lowercase();
    let digits = digits.trim_end_matches(['u', 'l']);
    let value = match (digits.strip_prefix("0x"), digits.strip_prefix("0b")) {
        (Some(hex), _) => i128::from_str_radix(hex, 16).ok()?,
        (_, Some(bits)) => i128::from_str_radix(bits, 2).ok()?,
        _ => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// Returns a value on one line, truncated if long.
fn display_value(value: &str) -> String {
    let line = one_line(value);
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::member;

    #[test]
    fn defaults_stand_behind_their_parameters() {
        for (signature, body, expected) in [
            ("void A(int a, string b)", "b = null\n{ }", "void A(int a, string b = null)"),
            ("void A(int a, int b)", "a = 1\nb = 2", "void A(int a = 1, int b = 2)"),
            ("(int a, int b) A(int a)", "a = 1\n=> (a, a)", "(int a, int b) A(int a = 1)"),
            ("void A((int a, int b) a)", "a = default", "void A((int a, int b) a = default)"),
            (
                "void A([X(a, 1)] int a, T<a> b)",
                "a = 1\nb = default",
                "void A([X(a, 1)] int a = 1, T<a> b = default)",
            ),
            (
                "int this[int at, int by] { get; }",
                "by = 1\n=> at",
                "int this[int at, int by = 1] { get; }",
            ),
            ("void A(int @in) where T : new()", "in = 3", "void A(int @in = 3) where T : new()"),
            ("void A(int a)", "{ a = 3; }", "void A(int a)"),
        ] {
            assert_eq!(with_defaults(signature, body), expected);
        }
        let long = with_defaults("void A(string a)", &format!("a = \"{}\"", "x".repeat(200)));
        assert_eq!(long.chars().count(), "void A(string a = )".len() + LONGEST + 1);
    }

    #[test]
    fn default_values_are_split_from_code() {
        for (body, expected) in [
            ("", ("", "")),
            ("a = 3", ("a = 3", "")),
            ("=> a = b", ("", "=> a = b")),
            ("{ a = 3; }", ("", "{ a = 3; }")),
            ("a = 1\nb = c ? 2 : 3\n: base(a) { }", ("a = 1\nb = c ? 2 : 3", ": base(a) { }")),
            ("a = 1\nget => a\nset { }", ("a = 1", "get => a\nset { }")),
            ("a = @\"b\nc = d\"\n=> @\"e\nf\"", ("a = @\"b\nc = d\"", "=> @\"e\nf\"")),
        ] {
            assert_eq!(split_defaults(body), expected, "{body}");
        }
    }

    #[test]
    fn ordinals_follow_numbers_that_are_known() {
        let of = |values: &[&str]| {
            let members: Vec<Member> = values
                .iter()
                .map(|value| Member {
                    has_value: !value.is_empty() && *value != "#if",
                    condition: if *value == "#if" { "X".to_owned() } else { String::new() },
                    ..member(MemberKind::EnumMember, "A", "A", value.trim_start_matches("#if"))
                })
                .collect();
            ordinals(members.iter())
        };
        assert_eq!(
            of(&["", "", "0x10", "", "-3", ""]),
            [Some(0), Some(1), None, Some(17), None, Some(-2)]
        );
        assert_eq!(of(&["1 << 2", "", "5", "#if", ""]), [None, None, None, None, None]);
        assert_eq!(of(&["1_000UL", ""]), [None, Some(1001)]);
    }
}
