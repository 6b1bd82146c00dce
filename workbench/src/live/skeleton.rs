//! The outline of a document of any language, by its indentation: lines that are followed by deeper ones, and headings of Markdown.

use crate::code_text::lines::{body, split};

/// Deepest level of indentation in an outline.
const DEEPEST: usize = 3;

/// Returns the outline's lines, each with its number from 1; at most `most`, the outer ones first.
pub fn skeleton(text: &str, most: usize) -> Vec<(usize, &str)> {
    let lines: Vec<(usize, usize, &str)> = (1..)
        .zip(split(text).map(body))
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| (number, depth(line), line))
        .collect();
    let mut levels: Vec<usize> = Vec::new();
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for (at, (number, depth, line)) in lines.iter().enumerate() {
        while levels.last().is_some_and(|level| level >= depth) {
            levels.pop();
        }
        levels.push(*depth);
        let words = line.trim();
        // A separate brace belongs to the line before it.
        let behind = lines[at + 1..].iter().find(|(_, _, line)| !matches!(line.trim(), "{" | "("));
        let opens = behind.is_some_and(|(_, behind, _)| behind > depth);
        let says = words.chars().any(char::is_alphanumeric) && !words.starts_with("//") && !words.starts_with('*');
        let heading = words.starts_with('#') && words.trim_start_matches('#').starts_with(' ');
        if says && (opens || heading) && levels.len() <= DEEPEST {
            found.push((levels.len(), *number, line));
        }
    }
    for deepest in (1..=DEEPEST).rev() {
        if found.len() <= most {
            break;
        }
        found.retain(|(level, ..)| *level < deepest || deepest == 1);
    }
    found.truncate(most);
    found.into_iter().map(|(_, number, line)| (number, line)).collect()
}

/// Returns the indentation of a line; a tab counts as four.
fn depth(line: &str) -> usize {
    let blank = line.chars().take_while(|c| c.is_whitespace());
    blank.map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_that_others_belong_to_form_the_skeleton() {
        let text = "using A;\nnamespace B\n{\n    /// <summary>Says.</summary>\n    class C\n    {\n        int d;\n        void E()\n        {\n            if (x)\n            {\n                y();\n            }\n        }\n    }\n}\n";
        let found: Vec<String> = skeleton(text, 10)
            .into_iter()
            .map(|(number, line)| format!("{number}{line}"))
            .collect();
        assert_eq!(found, ["2namespace B", "5    class C", "8        void E()"]);
        assert_eq!(skeleton(text, 2).len(), 2, "the outer ones");
        let numbers = |text| skeleton(text, 10).into_iter().map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!(numbers("# One\ntext\n## Two\n#no\n"), [1, 3]);
        assert_eq!(numbers("a\rb\r\n# One\rtext\n## Two\n"), [3, 5], "CR ends a line, too");
        assert_eq!(numbers("def f():\n\treturn 1\n\nx = 1\n"), [1]);
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_text(text in "[ab#{ \t\r\n]{0,60}", most in 0_usize..5) {
            let lines: Vec<&str> = split(&text).map(body).collect();
            let found = skeleton(&text, most);
            prop_assert!(found.len() <= most && found.is_sorted());
            prop_assert!(found.iter().all(|(number, line)| lines[number - 1] == *line));
        }
    }
}
