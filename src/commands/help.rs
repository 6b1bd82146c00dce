//! `cortex help`: the help of a command, a page of the book, or the meaning of a code.

use super::completions_and_man;
use crate::book::BOOK;
use crate::cli::{Cli, HelpArgs};
use crate::command_context::CommandContext;
use clap::CommandFactory;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use methods::code::Code;
use methods::failed::{Failed, Outcome, outcome_of_write};
use methods::render::Style;
use methods::render::codes;
use std::io::Write as _;

/// Groups of commands by purpose.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Begin",
        &["init", "build", "show", "ls", "status", "doctor", "check", "fmt", "trust"],
    ),
    (
        "Ask about code",
        &[
            "resolve", "search", "grep", "duplicates", "outline", "source", "usages", "implementations", "hierarchy", "callers", "callees",
            "deps", "rdeps", "impact", "chat", "context", "pack", "window",
        ],
    ),
    (
        "Find out why",
        &[
            "explain", "log", "history", "diff", "query", "report", "node", "invalidate", "pin-version", "unpin-version",
        ],
    ),
    ("Edit", &["edit", "rename", "overlay"]),
    (
        "Summaries by models",
        &[
            "semantic", "investigate", "operation", "work", "prompt", "regenerate", "edit-output", "cost",
        ],
    ),
    ("Services and sharing", &["mcp", "serve", "watch", "warm", "remote", "export"]),
    ("Care", &["gc", "store", "clean", "rules", "completions", "man", "help"]),
];

/// Limit of a line in the list of commands.
const LINE: usize = 80;

/// Runs `cortex help`.
pub fn run_help(context: &CommandContext, args: &HelpArgs) -> Outcome {
    completions_and_man::text_only(context, "help pages are text")?;
    if let [topic] = &args.topic[..]
        && let Some(code) = ErrorCode::parse(topic)
    {
        return outcome_of_write(write!(context.stdout(), "{}", codes::entry(code)));
    }
    let mut command = Cli::command();
    command.build();
    let text = match command_of(&mut command, &args.topic) {
        Some(_) if args.topic.is_empty() => overview(&command, context.out),
        Some(found) => {
            let help = found.render_long_help();
            match context.out.is_coloured() {
                true => help.ansi().to_string(),
                false => help.to_string(),
            }
        }
        None => match help_page(&args.topic) {
            Some(page) => on_terminal(context, page),
            None => return Err(unknown_topic(&command, &args.topic)),
        },
    };
    outcome_of_write(write!(context.stdout(), "{text}"))
}

/// Lists all commands by purpose, and the topics.
fn overview(command: &clap::Command, style: Style) -> String {
    let shown: Vec<&clap::Command> = command.get_subcommands().filter(|one| !one.is_hide_set()).collect();
    let width = shown.iter().map(|one| one.get_name().len()).max().unwrap_or(0);
    let line = |one: &clap::Command| {
        let about = one.get_about().map(ToString::to_string).unwrap_or_default();
        let cut = beginning(&about, LINE.saturating_sub(width + 4));
        format!("  {:width$}  {cut}\n", one.get_name())
    };
    let mut text = "Usage: cortex [OPTIONS] [COMMAND]\n".to_owned();
    for (title, names) in GROUPS {
        text.push_str(&format!("\n{}\n", style.bold(title)));
        let of_group = names.iter().filter_map(|name| shown.iter().find(|one| one.get_name() == *name));
        text.extend(of_group.map(|one| line(one)));
    }
    let is_grouped = |one: &clap::Command| GROUPS.iter().any(|(_, names)| names.contains(&one.get_name()));
    let others: String = shown.iter().filter(|one| !is_grouped(one)).map(|one| line(one)).collect();
    if !others.is_empty() {
        text.push_str(&format!("\n{}\n{others}", style.bold("More")));
    }
    text.push_str("\n`cortex help COMMAND` describes a command, `cortex --help` the options.\n");
    text + &topics()
}

/// Returns the start of a sentence: its first clause, cut at a comma if it does not fit.
fn beginning(about: &str, room: usize) -> String {
    let ends = [". ", ": ", "; "].iter().filter_map(|end| about.find(end)).min();
    let part = &about[..ends.unwrap_or(about.len())];
    if part.chars().count() <= room {
        return part.to_owned();
    }
    let cut: String = part.chars().take(room.saturating_sub(1)).collect();
    match cut.rfind(", ") {
        Some(comma) => cut[..comma].to_owned(),
        None => format!("{}…", cut.trim_end()),
    }
}

/// Wraps a page to the width of the terminal; leaves it unchanged if standard output is not a terminal.
fn on_terminal(context: &CommandContext, page: &str) -> String {
    match os::terminals::terminal_size(std::io::stdout()) {
        Some((columns @ 1.., _)) => methods::render::page::format_page(page, columns, context.out),
        _ => page.to_owned(),
    }
}

fn help_page(topic: &[String]) -> Option<&'static str> {
    let [topic] = topic else { return None };
    let name = topic.strip_suffix(".md").unwrap_or(topic);
    BOOK.iter().find(|(known, _)| *known == name).map(|(_, page)| *page)
}

/// Returns the command of these words; without words, the program itself.
fn command_of<'c>(command: &'c mut clap::Command, words: &[String]) -> Option<&'c mut clap::Command> {
    words.iter().try_fold(command, |command, word| command.find_subcommand_mut(word))
}

fn topics() -> String {
    let names: Vec<&str> = BOOK.iter().map(|(topic, _)| *topic).collect();
    let mut lines = vec!["\nTopics (`cortex help TOPIC`):".to_owned(), String::from(" ")];
    for name in names {
        if lines.last().is_some_and(|line| line.len() + name.len() > 78) {
            lines.push(String::from(" "));
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(name);
        }
    }
    format!("{}\n", lines.join("\n"))
}

fn unknown_topic(command: &clap::Command, words: &[String]) -> Failed {
    let wanted = words.join(" ");
    let commands = command
        .get_subcommands()
        .filter(|one| !one.is_hide_set())
        .map(clap::Command::get_name);
    let topics = BOOK.iter().map(|(topic, _)| *topic);
    let codes = ErrorCode::ALL.iter().map(|code| code.as_str());
    let known: Vec<&str> = commands.chain(topics).chain(codes).collect();
    let hint = match nearest(&wanted, known.iter().copied(), 1).first() {
        Some(near) => format!("did you mean {near}?"),
        None => "`cortex help` lists commands and topics, `cortex help errors` the codes".to_owned(),
    };
    let why = Diagnostic::error(ErrorCode::E_NO_COMMAND, "there is no such command or topic").found(wanted);
    Failed::new(Code::Usage, why.hint(hint))
}
