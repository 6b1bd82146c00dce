//! Breaks canonical code, which has few line ends, into lines: so that a diff shows the changed statement and not the whole body.

use super::tokens::{Token, TokenKind, tokens};
use engine::values::digest::Digest;
use std::collections::BTreeSet;

/// Limit of bytes of a list in braces that is not broken at its commas, and usual length of a line of a longer one.
const LONGEST: usize = 100;

/// Limit of bytes of a literal in code that is shown for the first time.
const LONGEST_LITERAL: usize = 240;

/// Bytes that are shown of a longer one.
const SHOWN_OF_LITERAL: usize = 160;

/// Returns the code with long literals cut; interpolated ones are kept whole, because they contain code.
pub(super) fn shorten_literals(code: &str) -> String {
    if code.len() <= LONGEST_LITERAL {
        return code.to_owned();
    }
    let mut out = String::with_capacity(code.len());
    let mut done = 0;
    for token in tokens(code) {
        if token.kind != TokenKind::Text || token.text.len() <= LONGEST_LITERAL || token.text.starts_with('$') {
            continue;
        }
        let end = (0..=SHOWN_OF_LITERAL)
            .rev()
            .find(|at| token.text.is_char_boundary(*at))
            .unwrap_or(0);
        let closing: usize = token.text.chars().rev().take_while(|c| *c == '"').count();
        out.push_str(&code[done..token.start]);
        out.push_str(&format!("{}…{}", &token.text[..end], "\"".repeat(closing)));
        done = token.end();
    }
    out.push_str(&code[done..]);
    out
}

/// An open bracket.
struct Open {
    /// Whether its content is broken into lines.
    is_block: bool,
    /// Whether it is a list that is broken at commas.
    is_long: bool,
    /// Beginning of the present item of a list, in the output.
    item: usize,
}

/// Returns the code with a line end after every `{`, `}` and `;` of a block, also inside of parentheses, and after some commas of long braced lists.
pub(super) fn code_lines(code: &str) -> String {
    let mut out = String::with_capacity(code.len() + 16);
    let mut open: Vec<Open> = Vec::new();
    let (mut done, mut broken, mut line) = (0, false, 0);
    let tokens = tokens(code);
    let long = long_lists(&tokens);
    for (at, token) in tokens.iter().enumerate() {
        if broken {
            out.push('\n');
            line = out.len();
        } else {
            out.push_str(&code[done..token.start]);
        }
        out.push_str(token.text);
        done = token.end();
        broken = false;
        if token.kind != TokenKind::Mark {
            continue;
        }
        let breaks = open.last().is_none_or(|open| open.is_block);
        let next = tokens.get(at + 1);
        let bracket = |is_block: bool| Open {
            is_block,
            is_long: is_block && long.contains(&at),
            item: out.len(),
        };
        match token.text {
            "(" | "[" => open.push(bracket(false)),
            ")" | "]" => drop(open.pop()),
            "{" => {
                let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                let is_block = breaks || before.is_some_and(|before| before.is("=>") || before.is(")"));
                open.push(bracket(is_block));
                broken = is_block && next.is_some();
            }
            "}" => {
                let is_block = open.pop().is_none_or(|open| open.is_block);
                broken = is_block && next.is_some_and(|next| !(next.is(";") || next.is(",") || next.is(")") || next.is(".")));
            }
            ";" => broken = breaks && next.is_some(),
            "," => {
                if let Some(list) = open.last_mut().filter(|list| list.is_long) {
                    broken = ends_line(out[list.item..].trim(), out.len() - line);
                    list.item = out.len();
                }
            }
            _ => {}
        }
    }
    out.push_str(code[done..].trim_end());
    out
}

/// Whether to break after this item. Only its own text decides, so an insertion moves no other break.
fn ends_line(item: &str, len: usize) -> bool {
    let items_in_line = (LONGEST / (item.len() + 1)).max(1);
    usize::from(Digest::of(item.as_bytes()).0[0]).is_multiple_of(items_in_line) || len > 4 * LONGEST
}

/// Returns the opening braces, as indexes of tokens, of content that is longer than a line.
fn long_lists(tokens: &[Token<'_>]) -> BTreeSet<usize> {
    let (mut open, mut long) = (Vec::new(), BTreeSet::new());
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == TokenKind::Mark) {
        match token.text {
            "{" => open.push(at),
            "}" => long.extend(open.pop().filter(|&start| token.start - tokens[start].start > LONGEST)),
            _ => {}
        }
    }
    long
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn statements_stand_on_lines_of_their_own() {
        assert_eq!(
            code_lines("{ for (int i = 0; i < n; i++) { Add(\"a;{b\"); } return; }"),
            "{\nfor (int i = 0; i < n; i++) {\nAdd(\"a;{b\");\n}\nreturn;\n}"
        );
        assert_eq!(
            code_lines("get => x\nset => y = new() { A = 1 };"),
            "get => x\nset => y = new() {\nA = 1 };"
        );
        assert_eq!(
            code_lines("{ Run(x => { A(new() { B = 1, C = 2 }); D(); }, 1); }"),
            "{\nRun(x => {\nA(new() {\nB = 1, C = 2 });\nD();\n}, 1);\n}"
        );
        assert_eq!(code_lines("x = { Name, Name, Name }").lines().count(), 2);
    }

    #[test]
    fn long_literals_are_cut_where_they_hold_no_code() {
        let long = "ü".repeat(200);
        let cut = shorten_literals(&format!(
            "A = \"{long}\"; B = \"\"\"\n{long}\n\"\"\"; C = $\"{long}\"; D = \"short\";"
        ));
        assert!(
            cut.len() < 1_200 && cut.contains("…\"; B = \"\"\"\n") && cut.contains("…\"\"\"; C = $\""),
            "{cut}"
        );
        assert!(cut.contains(&format!("$\"{long}\"; D = \"short\";")), "{cut}");
        let short = "A = \"short\"; ".repeat(40);
        assert_eq!(shorten_literals(&short), short);
    }

    #[test]
    fn an_item_more_in_a_long_list_is_a_line_more_or_another_one() {
        let items: Vec<String> = (0..200).map(|number| format!("Item{}", number * 7919)).collect();
        let lines = |items: &[String]| -> Vec<String> {
            let broken = code_lines(&format!("x = {{ {} }}", items.join(", ")));
            broken.lines().map(str::to_owned).collect()
        };
        let before = lines(&items);
        assert!(
            before.len() > 10 && before.iter().all(|line| line.len() < 5 * LONGEST),
            "{before:#?}"
        );
        for at in [0, 57, 199] {
            let mut more = items.clone();
            more.insert(at, "Inserted".to_owned());
            let after = lines(&more);
            let kept = after.iter().filter(|line| before.contains(line)).count();
            assert!(after.len() - kept <= 2, "{at}: {after:#?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_white_space_moves(code in "([a-z ;{}()\"\n]|\\[|\\])*") {
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(bare(&code_lines(&code)), bare(&code));
        }
    }
}
