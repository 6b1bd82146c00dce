//! Indents inserted declarations like the surrounding code.

use crate::code_text::lines::{body, split};
use producers::csharp::lexer::lex;

/// Replaces the common indentation of a text with `indent`. Lines within strings and directives stay unchanged.
pub(super) fn set_indent(text: &str, indent: &str) -> String {
    let lines: Vec<&str> = split(text).collect();
    let fixed = fixed_lines(text, &lines);
    let own: Vec<usize> = (0..lines.len())
        .filter(|at| !fixed[*at] && !body(lines[*at]).trim().is_empty())
        .collect();
    let common = |own: &[usize]| {
        let spaces = own.iter().map(|at| leading(lines[*at]));
        spaces
            .reduce(|one, other| &one[..common_indent(one, other)])
            .unwrap_or_default()
            .to_owned()
    };
    let Some((first, rest)) = own.split_first() else {
        return text.to_owned();
    };
    // Often only the first line lacks its indentation, because it was copied without the white space before it.
    let is_first_alone = leading(lines[*first]).is_empty() && !rest.is_empty() && !indent.is_empty() && common(rest).starts_with(indent);
    let (before, moved) = match is_first_alone {
        true => (String::new(), std::slice::from_ref(first)),
        false => (common(&own), own.as_slice()),
    };
    let line = |(at, line): (usize, &&str)| match moved.contains(&at) {
        true => format!("{indent}{}", &line[before.len()..]),
        false => (*line).to_owned(),
    };
    lines.iter().enumerate().map(line).collect()
}

/// Returns one level of indentation of a text: a tab, or the fewest spaces that a line of code begins with.
pub(super) fn unit(text: &str) -> String {
    let code = split(text).filter(|line| !body(line).trim().is_empty() && !line.trim_start().starts_with('*'));
    let leads: Vec<&str> = code.map(leading).filter(|lead| !lead.is_empty()).collect();
    let spaces = leads.iter().filter(|lead| lead.starts_with(' ')).map(|lead| lead.len()).min();
    match (leads.iter().any(|lead| lead.starts_with('\t')), spaces) {
        (true, _) => "\t".to_owned(),
        (false, Some(count)) if (2..=8).contains(&count) => " ".repeat(count),
        (false, _) => "    ".to_owned(),
    }
}

/// Returns which lines begin inside a multi-line token or are directives.
fn fixed_lines(text: &str, lines: &[&str]) -> Vec<bool> {
    let lexed = lex(text);
    let tokens = lexed.tokens.iter().map(|token| (token.start as usize, token.end as usize));
    let mut long = tokens.filter(|(start, end)| text[*start..*end].contains(['\n', '\r'])).peekable();
    let mut at = 0;
    let mut fixed = Vec::with_capacity(lines.len());
    for line in lines {
        while long.next_if(|(_, end)| *end <= at).is_some() {}
        let is_within = long.peek().is_some_and(|(start, _)| *start < at);
        fixed.push(is_within || line.trim_start().starts_with('#'));
        at += line.len();
    }
    fixed
}

fn leading(line: &str) -> &str {
    let line = body(line);
    &line[..line.len() - line.trim_start().len()]
}

fn common_indent(one: &str, other: &str) -> usize {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    same.map(|(c, _)| c.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::super::symbol::{HeadPolicy, SymbolEdit, Where, edit_symbol};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn inserted_text_is_indented_like_its_neighbours() {
        let text = "class A\n{\n    int B;\n\n    int C()\n    {\n        return 1;\n    }\n}\n";
        let insert = |symbol: &str, at: Where, new: &str| {
            let request = SymbolEdit {
                symbol: symbol.to_owned(),
                at,
                new: new.to_owned(),
                head: HeadPolicy::default(),
                defines: Some(BTreeSet::new()),
            };
            edit_symbol(text, &request).expect("edited").0
        };
        let new = "int D()\n{\n    return 2;\n}";
        let made = "    int D()\n    {\n        return 2;\n    }\n";
        let (behind_b, behind_c) = ("    int B;\n\n", "        return 1;\n    }\n");
        assert_eq!(
            insert("A.B", Where::After, new),
            text.replace(behind_b, &format!("{behind_b}{made}\n"))
        );
        assert_eq!(
            insert("A.C", Where::Before, new),
            text.replace(behind_b, &format!("{behind_b}{made}\n"))
        );
        assert_eq!(
            insert("A.C", Where::After, new),
            text.replace(behind_c, &format!("{behind_c}\n{made}"))
        );
        assert_eq!(
            insert("A.B", Where::Before, "int D;"),
            text.replace("    int B", "    int D;\n\n    int B")
        );
    }

    #[test]
    fn lines_move_together() {
        for (text, made) in [
            ("int A;", "    int A;"),
            (
                "        int A()\n        {\n            B();\n        }\n",
                "    int A()\n    {\n        B();\n    }\n",
            ),
            ("int A()\n    {\n        B();\n    }", "    int A()\n    {\n        B();\n    }"),
            ("int A()\n{\n\tB();\n\n}\n", "    int A()\n    {\n    \tB();\n\n    }\n"),
            ("#if X\nint A;\n#endif\n", "#if X\n    int A;\n#endif\n"),
            ("string A = @\"\n x\n\";\r\nint B;", "    string A = @\"\n x\n\";\r\n    int B;"),
            ("\n\n", "\n\n"),
        ] {
            assert_eq!(set_indent(text, "    "), made);
        }
        assert_eq!(set_indent("    int A;\n      int B;", ""), "int A;\n  int B;");
    }

    proptest! {
        #[test]
        fn once_is_enough_and_nothing_else_changes(text in "([ \t]{0,3}(a|\\{|\\}|;|//x|#if|@\"|\")?[ ]?(\n|\r\n)){0,8}", indent in "[ \t]{0,3}") {
            let made = set_indent(&text, &indent);
            prop_assert_eq!(split(&made).count(), split(&text).count());
            for (one, other) in split(&text).zip(split(&made)) {
                prop_assert_eq!(one.trim_start_matches([' ', '\t']), other.trim_start_matches([' ', '\t']));
            }
            prop_assert_eq!(set_indent(&made, &indent), made);
        }
    }
}
