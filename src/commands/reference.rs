//! Reference page of the commands, generated from the flags.

use crate::cli::Cli;
use clap::{Arg, Command, CommandFactory};
use std::fmt::Write as _;

/// Text above the commands.
const HEAD: &str = "# Commands

Made from the flags of the program (`cortex dev commands`); a test keeps it so. `cortex help COMMAND` prints the same.
[Exit codes and JSON](reference.md) are the same for all.

";

pub fn reference_page() -> String {
    let mut command = Cli::command();
    command.build();
    let mut text = HEAD.to_owned();
    text.push_str("## Flags of every command\n\n");
    // `build` has also added these to each command.
    let global: Vec<&Arg> = command.get_arguments().filter(|arg| is_shown(arg)).collect();
    for arg in &global {
        let _ = writeln!(text, "{}", item(arg));
    }
    let names: Vec<&str> = global.iter().map(|arg| arg.get_id().as_str()).collect();
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        describe(sub, sub.get_name(), &names, &mut text);
    }
    text
}

fn describe(command: &Command, name: &str, global: &[&str], text: &mut String) {
    let depth = name.split(' ').count() + 1;
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(|about| sentences(&about.to_string())).unwrap_or_default();
    let _ = write!(text, "\n{} {name}\n\n{about}\n", "#".repeat(depth));
    let own = |arg: &&Arg| is_shown(arg) && !global.contains(&arg.get_id().as_str());
    let items: Vec<String> = command.get_arguments().filter(own).map(item).collect();
    if !items.is_empty() {
        let _ = write!(text, "\n{}\n", items.join("\n"));
    }
    let below = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
    for sub in below {
        describe(sub, &format!("{name} {}", sub.get_name()), global, text);
    }
}

fn is_shown(arg: &Arg) -> bool {
    !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version")
}

/// Describes a flag or argument with its default. A default that depends on the number of processors is left out.
fn item(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let help = help.map(|help| sentences(&help.to_string())).unwrap_or_default();
    let defaults: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    let is_told = arg.get_action().takes_values() && !defaults.is_empty() && arg.get_id() != "jobs";
    let default = if is_told {
        format!(" Default: `{}`.", defaults.join(" "))
    } else {
        String::new()
    };
    format!("- `{}`: {help}{default}", arg.to_string().replace('`', "'"))
}

/// Joins help text to one line.
fn sentences(help: &str) -> String {
    let words: Vec<&str> = help.split_whitespace().collect();
    let text = words.join(" ");
    match text.ends_with(['.', '?', ':']) {
        true => text,
        false => format!("{text}."),
    }
}
