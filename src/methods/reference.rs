//! The table told: as a listing for programs, and as the reference page.

use super::{Effect, Entry, METHODS};
use serde_json::{Value, json};

/// The names of a method's arguments, in the order of its help.
pub fn arguments(entry: &Entry) -> Vec<String> {
    let command = (entry.command)(clap::Command::new(entry.name));
    command.get_arguments().map(|argument| camel(argument.get_id().as_str())).collect()
}

/// What a method is for, in the words of its help.
pub fn about(entry: &Entry) -> String {
    let command = (entry.command)(clap::Command::new(entry.name));
    let about = command.get_long_about().or(command.get_about());
    about.map(ToString::to_string).unwrap_or_default()
}

/// All methods with their schemas, for a client that wants to know what there is.
pub fn listing() -> Value {
    let line = |entry: &Entry| {
        json!({
            "name": entry.name.replace(' ', "."),
            "also": entry.also,
            "about": about(entry),
            "readOnly": matches!(entry.effect, Effect::Looks | Effect::Reads),
            "arguments": (entry.arguments)(),
            "answer": (entry.answers)(),
        })
    };
    json!({"methods": METHODS.iter().map(line).collect::<Vec<_>>()})
}

fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        name.push_str(&first.to_uppercase());
        name.push_str(rest);
    }
    name
}
