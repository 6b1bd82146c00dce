//! `cortex help`: the help of a command, a page of the book, or what a code means.

use super::{pages, show};
use crate::cli::{Cli, HelpArgs};
use crate::context::{Context, Failed, Outcome};
use crate::exit::Code;
use crate::render::codes;
use clap::CommandFactory;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use std::io::Write as _;

macro_rules! book {
    ($($topic:literal),* $(,)?) => {
        /// The pages of the book by topic.
        pub const BOOK: &[(&str, &str)] = &[$(($topic, include_str!(concat!("../../docs/", $topic, ".md")))),*];
    };
}

book![
    "agents",
    "architecture",
    "ci",
    "commands",
    "contexts",
    "csharp",
    "editing",
    "errors",
    "glossary",
    "growth",
    "history",
    "install",
    "invariants",
    "labels",
    "limits",
    "manifest",
    "measurements",
    "methods",
    "packs",
    "programs",
    "questions",
    "reference",
    "remote",
    "security",
    "services",
    "store",
    "summaries",
    "tour",
    "watching",
    "worktrees",
];

/// Runs it.
pub fn run(context: &Context, args: &HelpArgs) -> Outcome {
    pages::text_only(context, "help pages are text")?;
    if let [topic] = &args.topic[..]
        && let Some(code) = ErrorCode::parse(topic)
    {
        return show::written(write!(context.stdout(), "{}", codes::entry(code)));
    }
    let mut command = Cli::command();
    command.build();
    let text = match page(&args.topic) {
        Some(page) if command_of(&mut command, &args.topic).is_none() => on_terminal(context, page),
        _ => match command_of(&mut command, &args.topic) {
            Some(found) => {
                let help = found.render_long_help();
                let mut text = match context.out.is_coloured() {
                    true => help.ansi().to_string(),
                    false => help.to_string(),
                };
                if args.topic.is_empty() {
                    text.push_str(&topics());
                }
                text
            }
            None => return Err(unknown(&command, &args.topic)),
        },
    };
    show::written(write!(context.stdout(), "{text}"))
}

/// A page in lines that fit the terminal, if standard output is one.
fn on_terminal(context: &Context, page: &str) -> String {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => crate::render::page::page(page, usize::from(size.ws_col), context.out),
        _ => page.to_owned(),
    }
}

fn page(topic: &[String]) -> Option<&'static str> {
    let [topic] = topic else { return None };
    let name = topic.strip_suffix(".md").unwrap_or(topic);
    BOOK.iter().find(|(known, _)| *known == name).map(|(_, page)| *page)
}

/// The command of these words; without any the program itself.
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

fn unknown(command: &clap::Command, words: &[String]) -> Failed {
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
        None => "`cortex help` lists commands and topics".to_owned(),
    };
    let why = Diagnostic::error(ErrorCode::E_NO_COMMAND, "there is no such command or topic").found(wanted);
    Failed::new(Code::Usage, why.hint(hint))
}

#[cfg(test)]
mod tests {
    use super::BOOK;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_page_of_the_book_is_a_topic() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let files = std::fs::read_dir(folder).expect("docs").map(|entry| entry.expect("entry").path());
        let pages = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
        let names: BTreeSet<String> = pages
            .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
            .collect();
        let topics: BTreeSet<String> = BOOK.iter().map(|(topic, _)| (*topic).to_owned()).collect();
        let others: BTreeSet<String> = names.difference(&topics).cloned().collect();
        assert_eq!(others, BTreeSet::from(["README".to_owned(), "SUMMARY".to_owned()]));
    }
}
