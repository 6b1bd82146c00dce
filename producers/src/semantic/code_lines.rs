//! Canonical code, which has few line ends, in lines: so that a difference shows the statement that moved and not the whole body.

use super::tokens::{TokenKind, tokens};

/// The code with a line end behind every `{`, `}` and `;` that is not inside parentheses, brackets or a literal.
pub(super) fn code_lines(code: &str) -> String {
    let mut out = String::with_capacity(code.len() + 16);
    let (mut depth, mut done, mut broken) = (0_usize, 0, false);
    let tokens = tokens(code);
    for (at, token) in tokens.iter().enumerate() {
        let gap = &code[done..token.start];
        if broken {
            out.push('\n');
        } else {
            out.push_str(gap);
        }
        out.push_str(token.text);
        done = token.end();
        broken = false;
        if token.kind != TokenKind::Mark {
            continue;
        }
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "{" | "}" | ";" if depth == 0 => {
                let next = tokens.get(at + 1);
                broken = next.is_some_and(|next| !(token.text == "}" && (next.is(";") || next.is(",") || next.is(")") || next.is("."))));
            }
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
    }

    proptest! {
        #[test]
        fn nothing_but_white_space_moves(code in "([a-z ;{}()\"\n]|\\[|\\])*") {
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(bare(&code_lines(&code)), bare(&code));
        }
    }
}
