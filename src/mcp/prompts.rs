//! Prompts: how to start a task with the tools. A step is left out if its method is not in the table.

use rmcp::model::{JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serve::tools::definitions as tools;

/// Limit of an argument, in bytes.
const LONGEST: usize = 4096;

/// A prompt: arguments and texts.
struct Task {
    name: &'static str,
    about: &'static str,
    /// Arguments: name, description, whether it is required.
    arguments: &'static [(&'static str, &'static str, bool)],
    /// First paragraph. `{name}` is replaced by an argument.
    opening: &'static str,
    /// The tool of each step, and what to do with it. The prompt is offered only with its first tool.
    steps: &'static [(&'static str, &'static str)],
    /// Last paragraph.
    closing: &'static str,
}

const TASKS: &[Task] = &[
    Task {
        name: "explore_type",
        about: "Understand a type: its purpose, its parts, its users",
        arguments: &[("symbol", "A type by any unambiguous name", true)],
        opening: "Explain the type {symbol} of this C# workspace.",
        steps: &[
            ("outline", "read its declarations"),
            ("semantic", "read about its role and its limits, if there is a summary"),
            (
                "usages",
                "see its users; with `op` `deps` its dependencies, and read the outlines of the important ones",
            ),
            (
                "source",
                "read the source of only those members whose behaviour the outline leaves open",
            ),
        ],
        closing: "Then say: its purpose in one sentence, its main members, how it is used, and what is surprising. Name the answers that were incomplete or stale.",
    },
    Task {
        name: "change_type",
        about: "Change a type without breaking what uses it",
        arguments: &[
            ("symbol", "A type or member by any unambiguous name", true),
            ("change", "The wanted change", true),
        ],
        opening: "Change {symbol} of this C# workspace as follows:\n\n{change}",
        steps: &[
            ("outline", "read its declarations"),
            (
                "usages",
                "list every place that uses it, also those under 'possible'; with `op` `callers` and `implementations` its callers and heirs",
            ),
            ("source", "read the source that will change"),
            (
                "overlay",
                "try a change that reaches far before you save it: `put` the new text of each file, `diff` with targets shows which targets it would make stale, the tools that read take its name as `overlay`; then `merge` or `discard`",
            ),
        ],
        closing: "Say which places the change touches before you edit. Edit the files, then read the outline and the usages of the new sources. Finish when no place is left that the change breaks.",
    },
    Task {
        name: "summarise",
        about: "Write the summaries that are missing, as the language model of this workspace",
        arguments: &[("count", "Number of prompts [default: all]", false)],
        opening: "Write summaries of types of this C# workspace that have none, or an old one. How many: {count}.",
        steps: &[
            ("work_next", "take the next prompt"),
            (
                "work_submit",
                "submit the answer to it; if it is rejected, correct the reported faults and submit it again",
            ),
        ],
        closing: "Answer each prompt from its own text, in the form that it requests. Go on until nothing is pending or the number is reached.",
    },
];

fn offered_tasks() -> impl Iterator<Item = &'static Task> {
    TASKS.iter().filter(|task| tools::find_tool(task.steps[0].0).is_some())
}

pub fn definitions() -> Vec<Prompt> {
    let argument = |(name, about, needed): &(&str, &str, bool)| PromptArgument::new(*name).with_description(*about).with_required(*needed);
    offered_tasks()
        .map(|task| Prompt::new(task.name, Some(task.about), Some(task.arguments.iter().map(argument).collect())))
        .collect()
}

/// Builds the message that starts a task. Fails when no such prompt exists, or a required argument is missing.
pub fn message(name: &str, given: &JsonObject) -> Result<PromptMessage, String> {
    let names = || offered_tasks().map(|task| task.name).collect::<Vec<_>>().join(", ");
    let task = offered_tasks()
        .find(|task| task.name == name)
        .ok_or_else(|| format!("there is no such prompt; there are: {}", names()))?;
    let unknown = given.keys().find(|key| !task.arguments.iter().any(|(own, ..)| own == key));
    if unknown.is_some() {
        let own: Vec<&str> = task.arguments.iter().map(|(own, ..)| *own).collect();
        return Err(format!("'{}' takes: {}", task.name, own.join(", ")));
    }
    // Replace in one pass: arguments may contain braces.
    let mut opening = String::new();
    let mut rest = task.opening;
    while let Some((before, after)) = rest.split_once('{') {
        let (argument, after) = after.split_once('}').unwrap_or((after, ""));
        opening.push_str(before);
        opening.push_str(&argument_value(task, argument, given)?);
        rest = after;
    }
    opening.push_str(rest);
    let steps = task.steps.iter().filter(|(tool, _)| tools::find_tool(tool).is_some());
    let steps: Vec<String> = (1..)
        .zip(steps)
        .map(|(number, (tool, what))| format!("{number}. `{tool}`: {what}."))
        .collect();
    let text = format!("{opening}\n\nUse the tools of cortex:\n{}\n\n{}", steps.join("\n"), task.closing);
    Ok(PromptMessage::new_text(Role::User, text))
}

fn argument_value(task: &Task, argument: &str, given: &JsonObject) -> Result<String, String> {
    let needed = task.arguments.iter().any(|(own, _, needed)| *own == argument && *needed);
    match given.get(argument) {
        Some(serde_json::Value::String(text)) if text.len() > LONGEST => {
            Err(format!("'{argument}' has {} bytes; it may have {LONGEST}", text.len()))
        }
        Some(serde_json::Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
        None if !needed => Ok("all".to_owned()),
        None => Err(format!("'{}' needs '{argument}'", task.name)),
        Some(_) => Err(format!("'{argument}' is a text that is not empty")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn prompt_text(name: &str, given: serde_json::Value) -> Result<String, String> {
        let given = given.as_object().expect("an object").clone();
        message(name, &given).map(|message| message.content.as_text().expect("a text").text.clone())
    }

    #[test]
    fn arguments_stand_in_the_text_as_they_are() {
        let text = prompt_text("change_type", json!({"symbol": "N.{change}", "change": "Rename {symbol}."})).expect("a prompt");
        assert!(
            text.starts_with("Change N.{change} of this C# workspace as follows:\n\nRename {symbol}.\n\nUse the tools"),
            "{text}"
        );
        assert!(text.contains("1. `outline`: read its declarations.\n2. `usages`:"), "{text}");
    }

    #[test]
    fn wrong_arguments_of_a_prompt_are_named() {
        let wrong = |name, given| prompt_text(name, given).expect_err("refused");
        assert_eq!(wrong("explore_type", json!({})), "'explore_type' needs 'symbol'");
        assert_eq!(wrong("explore_type", json!({"symbol": 3})), "'symbol' is a text that is not empty");
        assert_eq!(
            wrong("explore_type", json!({"symbol": "A", "more": "x"})),
            "'explore_type' takes: symbol"
        );
        assert_eq!(
            wrong("explore_type", json!({"symbol": "A".repeat(100_000)})),
            "'symbol' has 100000 bytes; it may have 4096"
        );
        assert!(wrong("nothing", json!({})).starts_with("there is no such prompt; there are: explore_type, change_type"));
    }
}
