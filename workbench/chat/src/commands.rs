//! Commands of a conversation: lines that begin with `/`. Their answers are Markdown, like those of models.

use crate::conversation::ChatConversation;
use crate::tools;
use engine::seams::producer::Cancel;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use methods::code::Code;
use methods::failed::Failed;
use methods::render::money;
use serde_json::{Value, json};
use workbench::chat::transcript::Exchange;

/// Commands: name, arguments, description.
pub const COMMANDS: [(&str, &str, &str); 12] = [
    (
        "/pin",
        "NAME…",
        "show types, members or files in every context; without a name list them",
    ),
    ("/unpin", "NAME…", "show them no longer; without a name none is pinned"),
    ("/context", "", "print the context of the last question"),
    ("/why", "", "say why each part of it is there, and what was left out"),
    ("/diff", "", "print the change that is proposed"),
    ("/edit", "accept|drop", "save the proposed change, or drop it"),
    ("/undo", "", "take the change back that was accepted last"),
    ("/again", "", "continue the last answer where it was interrupted"),
    ("/cost", "", "say what this conversation cost"),
    ("/model", "NAME", "have another model answer; without a name list them"),
    ("/help", "", "print this"),
    ("/quit", "", "leave; `cortex chat --continue` continues it later"),
];

/// Returns whether a line is a command; a question that begins with a path is not.
pub fn is_command(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    word.len() > 1 && word.starts_with('/') && !word[1..].contains('/')
}

/// Runs the command of a line. Fails when no such command exists, or it fails.
pub fn obey(conversation: &mut ChatConversation, line: &str, cancel: &Cancel) -> Result<String, Failed> {
    let mut words = line.split_whitespace();
    let command = words.next().unwrap_or_default();
    let names: Vec<&str> = words.collect();
    match command {
        "/pin" => pin(conversation, &names),
        "/unpin" => unpin(conversation, &names),
        "/context" => Ok(last(conversation, |last| last.context.clone())),
        "/why" => Ok(last(conversation, |last| format!("```\n{}\n```", last.reasons))),
        "/diff" => Ok(format_proposal(conversation, cancel)),
        "/edit" => edit(conversation, names.first().copied(), cancel),
        "/undo" => undo(conversation, cancel),
        "/cost" => Ok(cost(conversation)),
        "/model" => model(conversation, names.first().copied()),
        "/help" => Ok(help()),
        other => Err(unknown_command(other)),
    }
}

fn unknown_command(command: &str) -> Failed {
    let near = nearest(command, COMMANDS.iter().map(|(name, ..)| *name), 1);
    let why = Diagnostic::error(ErrorCode::E_PARAM, format!("there is no command '{command}'"));
    Failed::new(
        Code::Usage,
        why.hint(
            near.first()
                .map_or("/help lists them".to_owned(), |near| format!("did you mean {near}?")),
        ),
    )
}

fn help() -> String {
    let mut text = String::new();
    for (name, arguments, does) in COMMANDS {
        let call = [name, arguments].join(" ");
        text.push_str(&format!("- `{}` {does}\n", call.trim_end()));
    }
    text + "\n`@path` names a file, `#Name` a type or member; Tab completes both. Enter asks, Alt-Enter or Ctrl-J begins a line. Ctrl-C ends an answer, Ctrl-D leaves."
}

/// Formats a part of the last question.
fn last(conversation: &ChatConversation, what: fn(&Exchange) -> String) -> String {
    match conversation.transcript.exchanges.last() {
        None => "nothing was asked yet".to_owned(),
        Some(last) if last.context.is_empty() => "nothing was found for the last question".to_owned(),
        Some(last) => what(last),
    }
}

fn pin(conversation: &mut ChatConversation, names: &[&str]) -> Result<String, Failed> {
    for name in names {
        let name = name.trim_start_matches(['@', '#']).replace('`', "");
        if !name.is_empty() && !conversation.transcript.pins.contains(&name) {
            conversation.transcript.pins.push(name);
        }
    }
    list_pins(conversation)
}

fn unpin(conversation: &mut ChatConversation, names: &[&str]) -> Result<String, Failed> {
    let names: Vec<&str> = names.iter().map(|name| name.trim_start_matches(['@', '#'])).collect();
    conversation
        .transcript
        .pins
        .retain(|pin| !names.is_empty() && !names.contains(&pin.as_str()));
    list_pins(conversation)
}

/// Lists the pins, and saves them if the conversation already has a file.
fn list_pins(conversation: &ChatConversation) -> Result<String, Failed> {
    if !conversation.transcript.id.is_empty() {
        conversation.save_transcript()?;
    }
    Ok(match conversation.transcript.pins.as_slice() {
        [] => "nothing is pinned".to_owned(),
        pins => format!("pinned: `{}`", pins.join("`, `")),
    })
}

/// Formats the proposed change.
fn format_proposal(conversation: &ChatConversation, cancel: &Cancel) -> String {
    match conversation.proposal(cancel) {
        Some(diff) => format!("```diff\n{diff}\n```"),
        None => "nothing is proposed".to_owned(),
    }
}

fn edit(conversation: &mut ChatConversation, what: Option<&str>, cancel: &Cancel) -> Result<String, Failed> {
    let Some(session) = conversation.transcript.proposal.clone() else {
        return Ok("nothing is proposed".to_owned());
    };
    let op = match what {
        Some("accept") => "commit",
        Some("drop") => "discard",
        _ => {
            return Ok(format!(
                "{}\n\n`/edit accept` saves it, `/edit drop` drops it",
                format_proposal(conversation, cancel)
            ));
        }
    };
    let answer: Value = conversation.call_method("edit", json!({"op": op, "session": session}), cancel)?;
    let text = answer["summary"].as_str().unwrap_or_default().to_owned();
    let went = matches!(answer["status"].as_str(), Some("Success" | "NoOp"));
    if !went {
        return Ok(format!(
            "nothing was saved: {text}; `/diff` shows the change, `/edit drop` drops it, and the model can propose it again"
        ));
    }
    conversation.transcript.proposal = None;
    let message = match op {
        "commit" => {
            conversation.transcript.accepted.push(session);
            format!("saved: {text}; `/undo` undoes it")
        }
        _ => {
            // An edit session that is not closed expires.
            let _ = conversation.call_method("edit", json!({"op": "close", "session": session}), cancel);
            "dropped".to_owned()
        }
    };
    conversation.save_transcript()?;
    Ok(message)
}

/// Limit of edits that one `/undo` reverts.
const MOST_EDITS: usize = 200;

/// Reverts the last accepted change: undoes each of its edits, then saves.
fn undo(conversation: &mut ChatConversation, cancel: &Cancel) -> Result<String, Failed> {
    let Some(session) = conversation.transcript.accepted.last().cloned() else {
        return Ok("nothing was accepted in this conversation; `cortex edit undo` undoes the last edit of the checkout".to_owned());
    };
    let ask = |conversation: &ChatConversation, op: &str| conversation.call_method("edit", json!({"op": op, "session": session}), cancel);
    let mut last = ask(conversation, "undo")?;
    for _ in 0..MOST_EDITS {
        if last["status"] != "Success" {
            break;
        }
        last = ask(conversation, "undo")?;
    }
    // All edits are undone when there is no further one.
    let is_whole = last["status"] == "NoMatch";
    let saved = if is_whole { ask(conversation, "commit")? } else { last };
    let text = saved["summary"].as_str().unwrap_or_default();
    if !is_whole || !matches!(saved["status"].as_str(), Some("Success" | "NoOp")) {
        // The files have changed since, so the change can never be reverted.
        let _ = ask(conversation, "discard");
        forget_accepted(conversation, &session, cancel)?;
        return Ok(format!(
            "nothing was undone: {text}; the change stays, and the next `/undo` undoes the one before it"
        ));
    }
    forget_accepted(conversation, &session, cancel)?;
    Ok(format!("undone: {text}"))
}

/// Ends the edit session of the last accepted change.
fn forget_accepted(conversation: &mut ChatConversation, session: &str, cancel: &Cancel) -> Result<(), Failed> {
    // An edit session that is not closed expires.
    let _ = conversation.call_method("edit", json!({"op": "close", "session": session}), cancel);
    conversation.transcript.accepted.pop();
    conversation.save_transcript()
}

fn cost(conversation: &ChatConversation) -> String {
    let mut lines = vec![
        format!("- this run: {}", money::spent(&conversation.used)),
        format!("- this conversation: {}", money::spent(&conversation.transcript.spent)),
    ];
    if let Some(most) = conversation.limits.max_cost {
        lines.push(format!("- at most: {}", money::amount(most)));
    }
    if let Some(most) = conversation.limits.max_calls {
        lines.push(format!("- at most: {most} calls"));
    }
    if let Some(most) = conversation.limits.max_tokens {
        lines.push(format!("- at most: {most} tokens"));
    }
    lines.push("- `cortex cost` has all of this checkout".to_owned());
    lines.join("\n")
}

fn model(conversation: &mut ChatConversation, name: Option<&str>) -> Result<String, Failed> {
    if let Some(name) = name {
        conversation.choose_model(name)?;
        return Ok(format!("`{name}` answers from now on"));
    }
    Ok(match (&conversation.model, conversation.models.as_slice()) {
        (Some(model), models) => format!("`{model}` answers; there are: {}", models.join(", ")),
        (None, _) => conversation.no_model(),
    })
}

pub fn failure_markdown(failed: &Failed) -> String {
    tools::describe_failure(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_no_command() {
        assert!(is_command("/pin A") && is_command("/help"));
        assert!(!is_command("/src/a.cs is what?") && !is_command("/") && !is_command("what /help"));
    }
}
