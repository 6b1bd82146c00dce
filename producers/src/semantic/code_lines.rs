//! Breaks canonical code, which has few line ends, into lines: so that a diff shows the changed statement and not the whole body.

use super::tokens::{TokenKind, tokens};

/// Limit of bytes of a list in braces that is not broken at its commas.
const LONGEST: usize = 100;

/// Returns the code with a line end after every `{`, `}` and `;` of a block, also inside of parentheses, and after commas of long braced lists.
pub(super) fn code_lines(code: &str) -> String {
    let mut out = String::with_capacity(code.len() + 16);
    // Whether the content of each open bracket is broken into lines.
    let mut open: Vec<bool> = Vec::new();
    let (mut done, mut broken, mut line) = (0, false, 0);
    let tokens = tokens(code);
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
        let breaks = open.last().copied().unwrap_or(true);
        let next = tokens.get(at + 1);
        match token.text {
            "(" | "[" => open.push(false),
            ")" | "]" => drop(open.pop()),
            "{" => {
                let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                let is_block = breaks || before.is_some_and(|before| before.is("=>") || before.is(")"));
                open.push(is_block);
                broken = is_block && next.is_some();
            }
            "}" => {
                let is_block = open.pop().unwrap_or(true);
                broken = is_block && next.is_some_and(|next| !(next.is(";") || next.is(",") || next.is(")") || next.is(".")));
            }
            ";" => broken = breaks && next.is_some(),
            "," => broken = breaks && !open.is_empty() && out.len() - line > LONGEST,
            _ => {}
        }
    }
    out.push_str(code[done..].trim_end());
    out
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
        let list = |names: &str| format!("x = {{ {} }}", format!("{names}, ").repeat(3));
        let broken = code_lines(&list(&"Name, ".repeat(10)));
        assert!(
            broken.lines().count() > 2 && broken.lines().all(|line| line.len() < 120),
            "{broken}"
        );
        assert_eq!(code_lines(&list("Name")).lines().count(), 2);
    }

    proptest! {
        #[test]
        fn nothing_but_white_space_moves(code in "([a-z ;{}()\"\n]|\\[|\\])*") {
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(bare(&code_lines(&code)), bare(&code));
        }
    }
}
