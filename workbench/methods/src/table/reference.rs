//! The table of methods as a listing for programs, and as the reference page.

use super::within::ARGUMENT;
use super::{AsTool, Effect, Entry, METHODS};
use serde_json::{Value, json};

/// Returns the names of a method's arguments, in the order of its help.
pub fn argument_names(entry: &Entry) -> Vec<String> {
    let command = (entry.arguments_of)(clap::Command::new(entry.name));
    let schema = (entry.arguments)();
    let names = command.get_arguments().map(|argument| camel(argument.get_id().as_str()));
    // Skips flags that exist only on the command line; the argument of all methods is last.
    let names = names.chain(entry.within.then(|| ARGUMENT.to_owned()));
    names.filter(|name| schema.as_value()["properties"].get(name).is_some()).collect()
}

/// Returns a method's description from its help.
pub fn about(entry: &Entry) -> String {
    let command = (entry.arguments_of)(clap::Command::new(entry.name));
    let about = command.get_long_about().or(command.get_about());
    about.map(ToString::to_string).unwrap_or_default()
}

/// Returns all methods with their schemas.
pub fn listing() -> Value {
    let line = |entry: &Entry| {
        json!({
            "name": entry.name.replace(' ', "."),
            "also": entry.also,
            "about": about(entry),
            "readOnly": entry.is_read_only(),
            "arguments": (entry.arguments)(),
            "answer": (entry.answers)(),
        })
    };
    json!({"methods": METHODS.iter().map(line).collect::<Vec<_>>()})
}

/// Returns the reference page.
pub fn methods_page() -> String {
    let mut page = String::from(PREFACE);
    METHODS.iter().for_each(|entry| page.push_str(&section_of_method(entry)));
    page
}

/// Returns the page's section on one method.
pub fn section_of_method(entry: &Entry) -> String {
    let mut section = format!("\n## {}\n\n", entry.name);
    section.push_str(&about(entry));
    let also: Vec<String> = entry.also.iter().map(|name| format!("`{name}`")).collect();
    let also = if also.is_empty() {
        String::new()
    } else {
        format!(", {}", also.join(", "))
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
        Effect::Looks => "reads; the same for the same sources",
        Effect::Reads => "reads",
        Effect::Sets => "changes what is remembered of the checkout; twice is the same as once",
        Effect::Acts => "acts anew each time",
        Effect::Writes => "changes files of the workspace",
    };
    let asks = if entry.asks {
        "; may have a model asked, which may cost money"
    } else {
        ""
    };
    section.push_str(&format!(
        "\n\n`cortex {}` · JSON-RPC `{}`{also}{tool} · {effect}{asks}\n",
        entry.name,
        entry.name.replace(' ', ".")
    ));
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

Made from the program's table of methods (`cortex dev methods`); a test keeps it so. Every method is a command (`--json` prints its answer), a method of
`cortex serve` (JSON-RPC 2.0) and, where it says so, a tool of `cortex mcp`. Arguments are named as below; JSON-RPC also takes them in this order.

An answer about the code has a `state`: how fresh it is (`current`, `stale`, `last good`), whether it is `complete`, and `notes`, which say what is
missing and why an empty answer is empty. Answers that only tell what was done or how things go (`context live`, `context end`, `context conversations`, `edit`, `rename`, `overlay …`, `pack remove`,
`window set`, `operation`, `status`, `doctor`, `work submit`), and those about targets (`node …`, `explain`, `query`, `history`, `diff`, `cost`,
`invalidate`), have none.

An error has a `code`, a `message`, and where they apply `hint`, `found`, `label`, `file`, `line`, `column`. Codes of their own have more:
`SymbolNotFound` `suggestions`, `AmbiguousSymbol` `candidates`, `AccessDenied` `publicAlternatives`, `Busy` `progress` in percent, `InvalidFilter`
`position` and `hint`, `InternalError` `traceId`. `AccessDenied` is what leads out of the workspace or cannot be read. By JSON-RPC they are the `data` of
an error: -32602 for arguments, -32001 when busy, -32800 when taken back, -32603 for a bug, -32000 for all others; `exitCode` is what the command would
have ended with. What was said beside an answer is in its `diagnostics`.

`ping`, `methods` (this page as JSON), `cortex.about` and `cortex.stop` are the service's own. `$/cancelRequest` takes a request back; with a `progressToken`
`$/progress` tells how far a build has come. Methods that look or read do not wait for a build, here or in another process. Any other request with a
token waits for its turn. Without a token it is answered `Busy` once a build has run for two seconds (`progress` is 0 where another process builds: it
is not known), and the client asks again. A second request of an id that is being answered is refused
under the id `null`. `StreamOp` answers with `token`, `values` and `finished`; `$/enumerator/next` and `$/enumerator/abort` go on and end it (as
StreamJsonRpc has it), or a `partialResultToken` has `$/progress` tell the values. Several requests in one message are refused, a message is 4 MiB long at
most (a longer one is refused once it is), and 1,024 clients (fewer where fewer files may be open) with 1,024 requests each are served at once; who comes
then is told so, and may ask the service's own methods all the same.

Where a number limits a list, 0 lists none, and what there is is counted. Where there is a `cursor` or an `offset`, it goes on behind what was shown.
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
        let last = |name: &str| argument_names(crate::table::find_method(name).expect("a method")).pop();
        assert_eq!(last("context build").as_deref(), Some("overlay"));
        for entry in METHODS {
            let is_last = argument_names(entry).last().is_some_and(|last| last == ARGUMENT);
            assert_eq!(is_last, entry.within, "{}", entry.name);
        }
    }
}
