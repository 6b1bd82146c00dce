//! `[System.Text.RegularExpressions.Regex]::Member(…)` in project files.
//!
//! The patterns are those of .NET, with look-around and references to groups. A pattern that the engine here does not support is an error
//! that names the function.

use super::function::Value;
use fancy_regex::{Regex, RegexBuilder};

/// Maximum number of backtracking steps in one match: a project file is untrusted, and its pattern may need exponentially many.
const MOST_STEPS: usize = 100_000;

/// Evaluates a member; `None` if it is unknown or cannot be evaluated. A match is its text, empty without one.
pub fn evaluate_regex(member: &str, arguments: &[String]) -> Option<Value> {
    let [text, pattern, rest @ ..] = arguments else {
        return match (member, arguments) {
            ("escape", [text]) => Some(fancy_regex::escape(text).into_owned().into()),
            _ => None,
        };
    };
    let options = rest.get(usize::from(member == "replace"));
    let regex = compile(pattern, options.map_or("", String::as_str))?;
    Some(match member {
        "ismatch" => regex.is_match(text).ok()?.into(),
        "match" => regex.find(text).ok()?.map_or("", |found| found.as_str()).into(),
        "replace" => regex
            .try_replacen(text, 0, with_marked_groups(rest.first()?).as_str())
            .ok()?
            .into_owned()
            .into(),
        "split" => Value::List(
            regex
                .split(text)
                .map(|part| part.map(str::to_owned))
                .collect::<Result<_, _>>()
                .ok()?,
        ),
        _ => return None,
    })
}

/// Marks where the numbers of groups end in a replacement: `$1x` is group 1 in .NET, but a group `1x` here.
fn with_marked_groups(replacement: &str) -> String {
    let mut marked = String::new();
    let mut rest = replacement;
    while let Some((before, behind)) = rest.split_once('$') {
        let number = &behind[..behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len())];
        marked.push_str(before);
        marked.push_str(&if number.is_empty() {
            "$".to_owned()
        } else {
            format!("${{{number}}}")
        });
        rest = &behind[number.len()..];
    }
    marked + rest
}

/// Compiles a pattern with the names of options; `None` for an option that changes the meaning of patterns in another way.
fn compile(pattern: &str, options: &str) -> Option<Regex> {
    let mut builder = RegexBuilder::new(pattern);
    builder.backtrack_limit(MOST_STEPS);
    for option in options.split([',', '|']).map(str::trim).filter(|option| !option.is_empty()) {
        let name = option.rsplit('.').next().unwrap_or(option);
        match name.to_ascii_lowercase().as_str() {
            "none" | "compiled" | "cultureinvariant" => {}
            "ignorecase" => _ = builder.case_insensitive(true),
            "multiline" => _ = builder.multi_line(true),
            "singleline" => _ = builder.dot_matches_new_line(true),
            _ => return None,
        }
    }
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(member: &str, arguments: &[&str]) -> Option<String> {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        evaluate_regex(member, &arguments).map(Value::into_text)
    }

    #[test]
    fn patterns_of_dotnet_are_evaluated() {
        for (member, arguments, expected) in [
            ("ismatch", &["net8.0-android", "^net\\d+\\.\\d+(?!.*ios)"][..], "True"),
            ("ismatch", &["Core.Tests", "tests$"], "False"),
            (
                "ismatch",
                &["Core.Tests", "tests$", "System.Text.RegularExpressions.RegexOptions.IgnoreCase"],
                "True",
            ),
            ("match", &["v1.2.3-rc", "\\d+\\.\\d+"], "1.2"),
            ("match", &["none", "\\d+"], ""),
            ("replace", &["a.b.c", "(\\w)\\.(\\w)", "$2x$1"], "bxa.c"),
            ("replace", &["Abc", "a", "x", "IgnoreCase"], "xbc"),
            ("split", &["a, b,c", ",\\s*"], "a;b;c"),
            ("escape", &["a.b"], "a\\.b"),
        ] {
            assert_eq!(text(member, arguments).as_deref(), Some(expected), "{member} {arguments:?}");
        }
        for (member, arguments) in [
            ("ismatch", &["a", "("][..]),
            ("ismatch", &["a", "a", "RightToLeft"]),
            ("ismatch", &["a"]),
            ("matches", &["a", "a"]),
        ] {
            assert_eq!(text(member, arguments), None, "{member} {arguments:?}");
        }
    }

    #[test]
    fn a_pattern_that_tries_all_ways_ends() {
        assert_eq!(text("ismatch", &[&"a".repeat(40), "^(a|aa)+(?=b)$"]), None);
    }
}
