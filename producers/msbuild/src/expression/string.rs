//! Members of texts in property functions: those of `System.String` that projects use, and those of `System.Version`.

use super::function::Value;
use std::cmp::Ordering;

/// Maximum length of padded text.
const WIDEST: usize = 1000;

/// Evaluates `value.member` or `value.member(arguments)`. Errors: the name of an unknown member.
pub fn evaluate_member(value: Value, member: &str, arguments: Option<&[String]>) -> Result<Value, String> {
    let unknown = || Err(format!("the function {member}"));
    let lower = member.to_ascii_lowercase();
    let text = match value {
        Value::Text(text) => text,
        Value::List(list) => return list_member(&list, &lower, arguments).unwrap_or_else(unknown),
    };
    let Some(arguments) = arguments else {
        return property(text, &lower).map_or_else(unknown, Ok);
    };
    let first = arguments.first().map_or("", String::as_str);
    let second = arguments.get(1).map_or("", String::as_str);
    let ignores_case = arguments.last().is_some_and(|last| last.contains("IgnoreCase"));
    let (folded, sought) = if ignores_case {
        (text.to_lowercase(), first.to_lowercase())
    } else {
        (text.clone(), first.to_owned())
    };
    let cut = |from: usize, len: usize| -> String { text.chars().skip(from).take(len).collect() };
    let size = |text: &str| {
        text.trim()
            .parse::<usize>()
            .map_err(|_| format!("{member} of '{}'", text.chars().take(40).collect::<String>()))
    };
    let position = |at: Option<usize>| Value::Text(at.map_or(-1, |at| folded[..at].chars().count() as i64).to_string());
    let set: Vec<char> = first.chars().collect();
    let trimmed = |c: char| if set.is_empty() { c.is_whitespace() } else { set.contains(&c) };
    Ok(match lower.as_str() {
        "tolower" | "tolowerinvariant" => text.to_lowercase().into(),
        "toupper" | "toupperinvariant" => text.to_uppercase().into(),
        "trim" => text.trim_matches(trimmed).into(),
        "trimstart" => text.trim_start_matches(trimmed).into(),
        "trimend" => text.trim_end_matches(trimmed).into(),
        "startswith" => folded.starts_with(&sought).into(),
        "endswith" => folded.ends_with(&sought).into(),
        "contains" => folded.contains(&sought).into(),
        "equals" => (folded == sought).into(),
        "compareto" => order(text.as_str().cmp(first)),
        "replace" if first.is_empty() => return Err("Replace of nothing".to_owned()),
        "replace" => text.replace(first, second).into(),
        "indexof" => position(folded.find(&sought)),
        "lastindexof" => position(folded.rfind(&sought)),
        "indexofany" => position(folded.find(|c| set.contains(&c))),
        "substring" => substring(&text, size(first)?, if arguments.len() > 1 { Some(size(second)?) } else { None })?,
        "remove" => {
            let from = size(first)?;
            let len = if arguments.len() > 1 { size(second)? } else { usize::MAX };
            format!("{}{}", cut(0, from), cut(from.saturating_add(len), usize::MAX)).into()
        }
        "insert" => {
            let from = size(first)?;
            format!("{}{second}{}", cut(0, from), cut(from, usize::MAX)).into()
        }
        "padleft" | "padright" => pad(&text, size(first)?, second.chars().next().unwrap_or(' '), lower == "padleft"),
        "split" => split_text(&text, arguments),
        "tochararray" => Value::List(text.chars().map(String::from).collect()),
        "tostring" => match first.parse::<usize>() {
            // `Version.ToString(2)`.
            Ok(parts) => text.split('.').take(parts).collect::<Vec<_>>().join(".").into(),
            Err(_) => text.into(),
        },
        "get_length" => text.chars().count().to_string().into(),
        "get_chars" => cut(size(first)?, 1).into(),
        _ => return unknown(),
    })
}

/// Evaluates a member of a list; `None` if it is unknown.
fn list_member(list: &[String], lower: &str, arguments: Option<&[String]>) -> Option<Result<Value, String>> {
    match (lower, arguments) {
        ("length" | "count", None) => Some(Ok(list.len().to_string().into())),
        ("getvalue", Some([index])) => {
            let found = index.parse().ok().and_then(|index: usize| list.get(index));
            Some(Ok(found.cloned().unwrap_or_default().into()))
        }
        _ => None,
    }
}

/// Evaluates a property of a text; `None` if it is unknown.
fn property(text: String, lower: &str) -> Option<Value> {
    Some(match lower {
        "length" => text.chars().count().to_string().into(),
        // The result of `[System.IO.Directory]::GetParent` is a path here.
        "fullname" | "value" => text.into(),
        "major" | "minor" | "build" | "revision" => {
            let at = ["major", "minor", "build", "revision"]
                .iter()
                .position(|part| *part == lower)
                .unwrap_or_default();
            text.split('.').nth(at).unwrap_or("-1").to_owned().into()
        }
        _ => return None,
    })
}

/// Returns `len` characters from `from`, or all from there.
fn substring(text: &str, from: usize, len: Option<usize>) -> Result<Value, String> {
    let whole = text.chars().count();
    let len = len.unwrap_or_else(|| whole.saturating_sub(from));
    if from.saturating_add(len) > whole {
        return Err("Substring beyond the end".to_owned());
    }
    Ok(text.chars().skip(from).take(len).collect::<String>().into())
}

/// Pads a text to a width, on the left or on the right.
fn pad(text: &str, width: usize, with: char, on_left: bool) -> Value {
    let missing = width.min(WIDEST).saturating_sub(text.chars().count());
    let padding: String = std::iter::repeat_n(with, missing).collect();
    if on_left {
        format!("{padding}{text}").into()
    } else {
        format!("{text}{padding}").into()
    }
}

/// Splits a text at the arguments that are one character; at blanks without arguments.
fn split_text(text: &str, arguments: &[String]) -> Value {
    let set: Vec<char> = if arguments.is_empty() {
        vec![' ']
    } else {
        arguments
            .iter()
            .filter_map(|argument| argument.chars().next().filter(|_| argument.chars().count() == 1))
            .collect()
    };
    Value::List(text.split(|c| set.contains(&c)).map(str::to_owned).collect())
}

/// Returns -1, 0 or 1.
pub fn order(order: Ordering) -> Value {
    Value::Text((order as i8).to_string())
}

/// Replaces `{0}`, `{1}` … by the arguments.
pub fn format(pattern: &str, arguments: &[String]) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        text.push_str(before);
        let placeholder = from.get(..3).filter(|three| three.ends_with('}'));
        let number = placeholder.and_then(|three| three[1..2].parse::<usize>().ok());
        match number.and_then(|number| arguments.get(number)) {
            Some(argument) => {
                text.push_str(argument);
                rest = &from[3..];
            }
            None => {
                text.push('{');
                rest = &from[1..];
            }
        }
    }
    text + rest
}

/// Parses a version as `[MSBuild]::Version…` does: without a leading `v` and the text after `-` or `+`; missing parts are 0.
pub fn version(text: &str) -> Option<[u32; 4]> {
    let text = text.trim().trim_start_matches(['v', 'V']);
    let text = text.split(['-', '+']).next().unwrap_or(text);
    let mut version = [0; 4];
    for (at, part) in text.split('.').enumerate() {
        *version.get_mut(at)? = part.parse().ok()?;
    }
    Some(version)
}

/// Parses a number in a condition: decimal or `0x…`.
pub fn parse_decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(digits, 16).ok().map(f64::from);
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
    (plain && !text.is_empty()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn arguments_are_not_expanded_again() {
        let arguments = ["{1}", "b"].map(str::to_owned);
        assert_eq!(format("é{1}{0}{2}{ {é}{1", &arguments), "éb{1}{2}{ {é}{1");
    }
}
