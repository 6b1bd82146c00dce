//! Words of the command line in messages, as a client of the tools can use them: `cortex overlay open NAME` is the tool `overlay` with op = "open",
//! and `--onto-now` is `ontoNow`. Commands that are no tool stay as they are.

use engine::values::diagnostic::Diagnostic;
use methods::catalog::reference::{argument_names, camel};
use methods::catalog::{METHODS, MethodEntry};
use serde_json::Value;

/// Begins a command in a message.
const COMMAND: &str = "`cortex ";

/// Begins a command in a message that has no marks around it; it ends with a quote.
const BARE: &str = "cortex build '";

/// Methods whose texts contain no code of the workspace: in code, words stay as they are. A question of `work next` shows code.
const WITHOUT_CODE: [&str; 7] = ["status", "doctor", "history", "query", "cost", "invalidate", "work submit"];

/// Begins the lines below a fact of `explain`, such as the changed lines of a file.
const BELOW_FACT: &str = "             ";

/// Rewrites the message and the hint of a diagnostic.
pub fn rewrite_diagnostic(entry: &MethodEntry, diagnostic: &mut Diagnostic) {
    diagnostic.message = rewrite_words(entry, &diagnostic.message);
    diagnostic.hint = diagnostic.hint.as_ref().map(|hint| rewrite_words(entry, hint));
}

/// Rewrites the text of an answer, except what may be code.
pub fn rewrite_text(entry: &MethodEntry, text: String) -> String {
    let rewrite_fact = |line: &str| match line.starts_with(BELOW_FACT) {
        true => line.to_owned(),
        false => rewrite_words(entry, line),
    };
    match entry.name {
        "explain" => text.split_inclusive('\n').map(rewrite_fact).collect(),
        name if WITHOUT_CODE.contains(&name) => rewrite_words(entry, &text),
        _ => text,
    }
}

/// Rewrites the notes of all states in an answer.
pub fn rewrite_notes(entry: &MethodEntry, answer: &mut Value) {
    match answer {
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), &mut *field) {
                    ("state", Value::Object(state)) => rewrite_texts(entry, state.get_mut("notes")),
                    _ => rewrite_notes(entry, field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite_notes(entry, item)),
        _ => {}
    }
}

fn rewrite_texts(entry: &MethodEntry, texts: Option<&mut Value>) {
    for text in texts.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::String(text) = text {
            *text = rewrite_words(entry, text);
        }
    }
}

/// Rewrites the commands and options in a message about a call of a method.
fn rewrite_words(entry: &MethodEntry, text: &str) -> String {
    let mut rewritten = String::with_capacity(text.len());
    let marked = mark_bare_commands(text);
    let mut rest = marked.as_str();
    while let Some(start) = rest.find(COMMAND) {
        let line = &rest[start + COMMAND.len()..];
        let Some(end) = end_of_code(line) else { break };
        rewritten.push_str(&with_arguments(entry, &rest[..start]));
        let command = format!("{COMMAND}{}`", &line[..end]);
        rewritten.push_str(&call_of_line(&line[..end]).unwrap_or(command));
        rest = &line[end + 1..];
    }
    rewritten + &with_arguments(entry, rest)
}

/// Puts marks around the bare commands of a text.
fn mark_bare_commands(text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BARE) {
        let (before, command) = rest.split_at(at);
        let Some(length) = command[BARE.len()..].find('\'') else { break };
        let (command, after) = command.split_at(BARE.len() + length + 1);
        marked.push_str(before);
        marked.push_str(&match before.ends_with('`') {
            true => command.to_owned(),
            false => format!("`{command}`"),
        });
        rest = after;
    }
    marked + rest
}

/// Returns where code ends: at a mark that is not that of type parameters (``Map`1``).
fn end_of_code(text: &str) -> Option<usize> {
    let is_end = |at: &usize| !text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    text.match_indices('`').map(|(at, _)| at).find(is_end)
}

/// Returns a command line as the call of a tool: `` `edit` with op = "diff", path = "a.cs" ``. `None` if no tool does it.
fn call_of_line(line: &str) -> Option<String> {
    let words = words_of_method(words_of_line(line));
    let is_named = |entry: &&MethodEntry| {
        let name: Vec<&str> = entry.name.split(' ').collect();
        words.starts_with(&name)
    };
    let entry = METHODS.iter().filter(is_named).max_by_key(|entry| entry.name.len())?;
    let (tool, op) = match (entry.operation_of(), entry.tool) {
        (Some(tool), _) => (tool.to_owned(), Some(entry.group_and_word().1)),
        (None, methods::catalog::AsTool::Own) => (super::definitions::tool_name(entry), None),
        (None, _) => return None,
    };
    let mut arguments: Vec<String> = op.map(|op| format!("op = \"{op}\"")).into_iter().collect();
    let mut positions = positional_names(entry).into_iter();
    // Position of the last positional argument: a path in a message has no quotes, and may contain spaces.
    let mut last: Option<usize> = None;
    let mut words = words.into_iter().skip(entry.name.split(' ').count()).peekable();
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some(option) => {
                let value = words.next_if(|next| !next.starts_with('-'));
                let value = value.map_or_else(|| "true".to_owned(), |value| format!("\"{value}\""));
                arguments.push(format!("{} = {value}", camel(&option.replace('-', "_"))));
            }
            None => match (positions.next(), last) {
                (Some(name), _) => {
                    last = Some(arguments.len());
                    arguments.push(format!("{name} = \"{word}\""));
                }
                (None, Some(at)) => {
                    arguments[at].pop();
                    arguments[at].push_str(&format!(" {word}\""));
                }
                (None, None) => {}
            },
        }
    }
    Some(match arguments.is_empty() {
        true => format!("`{tool}`"),
        false => format!("`{tool}` with {}", arguments.join(", ")),
    })
}

/// Returns the words of a command line; of a command that prints or builds one output, those of the method that returns it.
fn words_of_method(words: Vec<&str>) -> Vec<&str> {
    let is_label = |word: &str| word.starts_with("//") && !word.contains("...") && !word.contains(['*', ' ']);
    match *words.as_slice() {
        ["show"] => vec!["node", "get"],
        ["show" | "build", label] if is_label(label) => vec!["node", "get", label],
        _ => words,
    }
}

/// Splits a command line into words; quotes hold a word together.
fn words_of_line(line: &str) -> Vec<&str> {
    let (mut words, mut rest) = (Vec::new(), line.trim_start());
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('\'').and_then(|text| text.split_once('\''));
        let (word, after) = quoted.unwrap_or_else(|| rest.split_once(char::is_whitespace).unwrap_or((rest, "")));
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// Returns the names of the arguments that a command line takes by position.
fn positional_names(entry: &MethodEntry) -> Vec<String> {
    if entry.name == "edit" {
        return vec!["op".to_owned(), "path".to_owned()];
    }
    let command = (entry.arguments_of)(clap::Command::new(entry.name));
    command
        .get_positionals()
        .map(|argument| camel(argument.get_id().as_str()))
        .collect()
}

/// Replaces options outside of code by the arguments of the method: `--onto-now (ontoNow)`, `--all`.
fn with_arguments(entry: &MethodEntry, text: &str) -> String {
    let mut rewritten = String::with_capacity(text.len());
    let mut rest = text;
    let mut known: Option<Vec<String>> = None;
    while let Some(at) = rest.find("--") {
        let (before, option) = rest.split_at(at);
        let end = option[2..]
            .find(|c: char| !(c.is_ascii_lowercase() || c == '-'))
            .map_or(option.len(), |length| length + 2);
        let name = camel(&option[2..end].replace('-', "_"));
        let is_word = before.is_empty() || before.ends_with([' ', '(']);
        let again = format!(" ({name})");
        rewritten.push_str(before);
        let is_known = |known: &mut Option<Vec<String>>| known.get_or_insert_with(|| argument_names(entry)).contains(&name);
        if name.is_empty() || !is_word {
            rewritten.push_str(&option[..end]);
            rest = &option[end..];
        } else if let Some(after) = option[end..].strip_prefix(again.as_str()) {
            rewritten.push_str(&format!("`{name}`"));
            rest = after;
        } else {
            match is_known(&mut known) {
                true => rewritten.push_str(&format!("`{name}`")),
                false => rewritten.push_str(&option[..end]),
            }
            rest = &option[end..];
        }
    }
    rewritten + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use methods::catalog::find_method;
    use serde_json::json;

    fn rewritten(method: &str, text: &str) -> String {
        rewrite_words(find_method(method).expect("a method"), text)
    }

    #[test]
    fn commands_become_calls_of_tools() {
        for (text, expected) in [
            (
                "`cortex overlay open NAME` opens one, `cortex overlay list` names those that there are",
                "`overlay` with op = \"open\", name = \"NAME\" opens one, `overlay` with op = \"list\" names those that there are",
            ),
            ("`cortex edit list` edit sessions", "`edit` with op = \"list\" edit sessions"),
            (
                "`cortex edit diff a.cs --session e1`",
                "`edit` with op = \"diff\", path = \"a.cs\", session = \"e1\"",
            ),
            (
                "`cortex edit commit My App/a.cs --session e1`",
                "`edit` with op = \"commit\", path = \"My App/a.cs\", session = \"e1\"",
            ),
            (
                "search by name (`cortex grep 'Gone'`)",
                "search by name (`search` with op = \"grep\", pattern = \"Gone\")",
            ),
            (
                "`cortex outline N.A` lists its members",
                "`outline` with symbols = \"N.A\" lists its members",
            ),
            ("see `cortex doctor`", "see `status` with op = \"doctor\""),
            (
                "`cortex outline N.Map`2` lists the members of N.Map`2",
                "`outline` with symbols = \"N.Map`2\" lists the members of N.Map`2",
            ),
            (
                "`cortex show '//a:b'` prints it",
                "`node` with op = \"get\", label = \"//a:b\" prints it",
            ),
            ("cortex build '//a:b'", "`node` with op = \"get\", label = \"//a:b\""),
            // No tool.
            ("build some: cortex build '//...'", "build some: `cortex build '//...'`"),
            ("`cortex show --raw`", "`cortex show --raw`"),
            ("`cortex trust` allows it", "`cortex trust` allows it"),
            ("`class A` and `x--`", "`class A` and `x--`"),
        ] {
            assert_eq!(rewritten("usages", text), expected);
        }
    }

    #[test]
    fn options_become_arguments() {
        for (method, text, expected) in [
            (
                "overlay put",
                "put it with --onto-now (ontoNow) to create the file again",
                "put it with `ontoNow` to create the file again",
            ),
            ("implementations", "12 more at 2 steps: --all", "12 more at 2 steps: `all`"),
            ("usages", "12 more at 2 steps: --all", "12 more at 2 steps: --all"),
            ("usages", "i-- > 0", "i-- > 0"),
        ] {
            assert_eq!(rewritten(method, text), expected);
        }
    }

    #[test]
    fn texts_without_code_name_tools() {
        let text = |method: &str| rewrite_text(find_method(method).expect("a method"), "odd; `cortex doctor` explains".to_owned());
        assert_eq!(text("status"), "odd; `status` with op = \"doctor\" explains");
        for method in ["source", "work next"] {
            assert_eq!(text(method), "odd; `cortex doctor` explains");
        }
        let explain = find_method("explain").expect("a method");
        let explained = rewrite_text(explain, "  `cortex doctor`\n             + // `cortex doctor`\n".to_owned());
        assert_eq!(explained, "  `status` with op = \"doctor\"\n             + // `cortex doctor`\n");
        for method in WITHOUT_CODE {
            assert!(find_method(method).is_some(), "{method}");
        }
    }

    #[test]
    fn only_notes_of_an_answer_are_rewritten() {
        let mut answer = json!({
            "text": "see `cortex doctor`",
            "state": {"complete": true, "notes": ["see `cortex doctor`"]},
            "more": [{"state": {"notes": ["3 more: --all"]}}],
        });
        rewrite_notes(find_method("implementations").expect("a method"), &mut answer);
        let expected = json!({
            "text": "see `cortex doctor`",
            "state": {"complete": true, "notes": ["see `status` with op = \"doctor\""]},
            "more": [{"state": {"notes": ["3 more: `all`"]}}],
        });
        assert_eq!(answer, expected);
    }
}
