//! The catalog of methods as a listing for programs, and as the reference page.

use super::overlay_argument::ARGUMENT;
use super::{AsTool, Effect, METHODS, MethodEntry};
use serde_json::{Value, json};

/// Returns the names of a method's arguments, in the order of its help.
pub fn argument_names(entry: &MethodEntry) -> Vec<String> {
    let command = (entry.arguments_of)(clap::Command::new(entry.name));
    let schema = (entry.arguments)();
    let names = command.get_arguments().map(|argument| camel(argument.get_id().as_str()));
    // Skips flags that exist only on the command line; the argument of all methods is last.
    let names = names.chain(entry.within.then(|| ARGUMENT.to_owned()));
    names.filter(|name| schema.as_value()["properties"].get(name).is_some()).collect()
}

/// Returns a method's description from its help.
pub fn method_description(entry: &MethodEntry) -> String {
    let command = (entry.arguments_of)(clap::Command::new(entry.name));
    let about = command.get_long_about().or(command.get_about());
    about.map(ToString::to_string).unwrap_or_default()
}

/// Returns all methods with their schemas.
pub fn listing() -> Value {
    let line = |entry: &MethodEntry| {
        json!({
            "name": entry.name.replace(' ', "."),
            "also": entry.also,
            "about": method_description(entry),
            "readOnly": entry.is_read_only(),
            "arguments": (entry.arguments)(),
            "answer": (entry.answers)(),
        })
    };
    json!({"methods": METHODS.iter().filter(|entry| entry.served).map(line).collect::<Vec<_>>()})
}

pub fn methods_page() -> String {
    let mut page = String::from(PREFACE);
    METHODS.iter().for_each(|entry| page.push_str(&section_of_method(entry)));
    page
}

/// Returns the page's section on one method.
pub fn section_of_method(entry: &MethodEntry) -> String {
    let mut section = format!("\n## {}\n\n", entry.name);
    section.push_str(&method_description(entry));
    let also: String = entry.also.iter().map(|name| format!(", `{name}`")).collect();
    let served = match entry.served {
        true => format!("JSON-RPC `{}`{also}", entry.name.replace(' ', ".")),
        false => "command line only".to_owned(),
    };
    let tool = match (entry.tool, entry.group_and_word()) {
        (AsTool::Own, _) => format!(" · tool `{}`", entry.name.replace(' ', "_")),
        (_, (_, own)) => match entry.operation_of() {
            Some(tool) if tool == own => format!(" · tool `{tool}`"),
            Some(tool) => format!(" · tool `{tool}` with `op` `{own}`"),
            None => String::new(),
        },
    };
    let effect = match entry.effect {
        Effect::Looks => "reads; equal sources give equal answers",
        Effect::Reads => "reads",
        Effect::Sets => "changes stored state of the checkout; idempotent",
        Effect::Acts => "acts on each call",
        Effect::Writes => "changes files of the workspace",
    };
    let asks = if entry.asks {
        "; may ask a model, which may cost money"
    } else {
        ""
    };
    section.push_str(&format!("\n\n`cortex {}` · {served}{tool} · {effect}{asks}\n", entry.name));
    let arguments = (entry.arguments)();
    section.push_str(&field_table("argument", arguments.as_value(), &self::argument_names(entry)));
    let answers = (entry.answers)();
    // One table for each form of the answer.
    let forms = answers.as_value()["anyOf"].as_array().map(Vec::as_slice);
    let forms = forms.unwrap_or(std::slice::from_ref(answers.as_value()));
    forms.iter().for_each(|form| section.push_str(&field_table("answer", form, &[])));
    section
}

const PREFACE: &str = "# Methods

`cortex dev methods` generates this page from the program's table of methods; a test compares them. Every method is a command (`--json` prints its answer),
unless noted a method of `cortex serve` (JSON-RPC 2.0), and, if noted, a tool of `cortex mcp`. Arguments have the names below; JSON-RPC also takes them in this order.

An answer about the code has a `state`: its freshness (`current`, `stale`, `last good`), whether it is `complete`, and `notes`, which say what is missing and why
an empty answer is empty. These answers have none: reports of an action or its progress (`context live`, `context end`, `context conversations`, `edit`,
`rename`, `overlay …`, `pack remove`, `window set`, `operation`, `status`, `doctor`, `work submit`), and answers about the manifest, targets, files and the store
(`init`, `check`, `fmt`, `rules …`, `node …`, `explain`, `query`, `ls`, `history`, `diff`, `cost`, `prompt`, `log`, `invalidate`, `pin-version`, `unpin-version`, `trust`,
`report`, `export …`, `clean`, `gc`, `store …`).

An error has a `code`, a `message`, and if applicable `hint`, `found`, `label`, `file`, `line`, `column`. Some codes have more fields: `SymbolNotFound`
`suggestions`, `AmbiguousSymbol` `candidates`, `AccessDenied` `publicAlternatives`, `Busy` `progress` in percent, `InvalidFilter` `position` and `hint`,
`InternalError` `traceId`. `AccessDenied` is the code of a path that leads out of the workspace or cannot be read. In JSON-RPC these fields are the `data` of an
error: -32602 for arguments, -32001 if busy, -32800 if cancelled, -32603 for a bug, -32000 for all others; `exitCode` is the exit code of the command. Diagnostics
beside an answer are in its `diagnostics`.

`ping`, `methods` (this page as JSON), `cortex.about` and `cortex.stop` are methods of the service only. `$/cancelRequest` cancels a request; with a `progressToken`,
`$/progress` reports the progress of a build. Methods that read do not wait for a build, in this process or another. Any other request with a token waits for its
turn. Without a token its answer is `Busy` once a build has run for two seconds (`progress` is 0 if another process builds: it is not known), and the client
retries. A second request with the id of a running one is refused under the id `null`. `StreamOp` answers with `token`, `values` and `finished`;
`$/enumerator/next` and `$/enumerator/abort` continue and end it (as in StreamJsonRpc), or with a `partialResultToken`, `$/progress` reports the values. A message
with several requests is refused, and so is one above 4 MiB. Up to 1,024 clients (fewer if the process may open fewer files) with 1,024 requests each are served
at once; further ones get an error, and can still call the service's own methods.

If a number limits a list, 0 lists nothing and still counts. With a `cursor` or an `offset`, the list continues after the shown items.
";

/// Formats the fields of an object as a table.
fn field_table(what: &str, schema: &Value, order: &[String]) -> String {
    let Some(fields) = schema["properties"].as_object().filter(|fields| !fields.is_empty()) else {
        return String::new();
    };
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|required| required.iter().any(|one| one == name))
    };
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort_by_key(|name| order.iter().position(|other| other == *name).unwrap_or(usize::MAX));
    let mut text = format!("\n| {what} | form | |\n|---|---|---|\n");
    for name in names {
        let field = &fields[name];
        let form = match (field["type"].as_str(), field["items"]["type"].as_str()) {
            (Some("array"), Some(items)) => format!("{items}s"),
            (Some(form), _) => form.to_owned(),
            _ => "any".to_owned(),
        };
        let about = field["description"]
            .as_str()
            .unwrap_or_default()
            .replace('\n', " ")
            .replace('|', "\\|");
        let must = if what == "argument" && required(name) { "**needed.** " } else { "" };
        text.push_str(&format!("| `{name}` | {form} | {must}{about} |\n"));
    }
    text
}

/// Converts an argument's name to the form of the command line.
pub fn snake(camel: &str) -> String {
    let mut name = String::new();
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

/// Converts an argument's name to the form of programs.
pub fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        name.push_str(&first.to_uppercase());
        name.push_str(rest);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_by_position_end_with_the_overlay() {
        let last = |name: &str| argument_names(crate::catalog::find_method(name).expect("a method")).pop();
        assert_eq!(last("context build").as_deref(), Some("overlay"));
        for entry in METHODS {
            let is_last = argument_names(entry).last().is_some_and(|last| last == ARGUMENT);
            assert_eq!(is_last, entry.within, "{}", entry.name);
        }
    }
}
