//! Attributes inside a header: on parameters, type parameters and accessors.

use crate::csharp::lexer::{Token, lex};

/// Returns the attributes of parameters, type parameters and accessors in a header, each as `Name(args)` with its optional target.
pub fn attributes_in_header(header: &str) -> Vec<String> {
    if !header.contains('[') {
        return Vec::new();
    }
    let tokens = lex(header).tokens;
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token| token.text(header));
    let before = |at: usize, by: usize| at.checked_sub(by).map_or("", text);
    let mut found = Vec::new();
    // For each open bracket, whether it opens an attribute list.
    let mut open: Vec<bool> = Vec::new();
    let mut begin = 0;
    let mut ended_at = None;
    for (at, token) in tokens.iter().enumerate() {
        let is_in_list = open.last() == Some(&true);
        match text(at) {
            "[" => {
                let begins_parameter = match before(at, 1) {
                    "(" | "," | "<" | "{" | "}" | ";" => true,
                    "[" => before(at, 2) == "this",
                    _ => false,
                };
                let is_list =
                    !open.contains(&true) && !open.is_empty() && (begins_parameter || ended_at.is_some() && ended_at == at.checked_sub(1));
                open.push(is_list);
                begin = if is_list { token.end } else { begin };
            }
            "(" | "<" | "{" => open.push(false),
            close @ ("]" | ")" | "}" | ">") => {
                // Comparison operators are no brackets.
                if close == "]" && is_in_list {
                    push_attribute(&header[begin as usize..token.start as usize], &mut found);
                    ended_at = Some(at);
                }
                open.pop();
            }
            "," if is_in_list => {
                push_attribute(&header[begin as usize..token.start as usize], &mut found);
                begin = token.end;
            }
            _ => {}
        }
    }
    found
}

fn push_attribute(text: &str, found: &mut Vec<String>) {
    let text = text.trim();
    if !text.is_empty() {
        found.push(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_parameters_and_type_parameters_are_found() {
        for (header, expected) in [
            (
                "void M<[A(K.Go)] T>([B(1, \"]\")] int a, [C] [D(2), E] int[] b)",
                vec!["A(K.Go)", "B(1, \"]\")", "C", "D(2)", "E"],
            ),
            ("int this[[A(1)] int at, int[,] more]", vec!["A(1)"]),
            ("class C<[A] T>([param: B(2)] int[] c) : D<int[]>", vec!["A", "param: B(2)"]),
            ("int P { [A(1)] get; [B] [C(2)] set; }", vec!["A(1)", "B", "C(2)"]),
            ("int[] M(int[] a, List<int[]> b)", vec![]),
        ] {
            assert_eq!(attributes_in_header(header), expected, "{header}");
        }
    }
}
