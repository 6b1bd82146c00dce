//! Methods as commands: help and flags are generated from the table.

use super::edit_line::{edit_command, edit_from_line};
use super::file_argument::{FILE, file_argument};
use clap::{ArgMatches, Command, FromArgMatches, Subcommand};
use methods::catalog::{METHODS, MethodEntry};
use serde_json::Value;
use std::path::PathBuf;

/// The method whose operations are commands of their own.
const EDIT: &str = "edit";

/// A method with its arguments from the command line.
#[derive(Clone, Debug)]
pub struct Call {
    /// Index of the method in the table.
    at: usize,
    /// Arguments of the command line.
    pub arguments: Value,
    /// File from which one of the arguments is read.
    pub file: Option<PathBuf>,
}

impl Call {
    pub fn entry(&self) -> &'static MethodEntry {
        &METHODS[self.at]
    }
}

impl Subcommand for Call {
    fn augment_subcommands(mut command: Command) -> Command {
        for entry in METHODS {
            let (group, own) = entry.group_and_word();
            let method = match entry.name {
                EDIT => edit_command(entry),
                _ => (entry.arguments_of)(Command::new(own)).args(entry.from_file.map(file_argument)),
            };
            command = match group {
                None => command.subcommand(method),
                Some(group) if command.find_subcommand(group).is_some() => command.mut_subcommand(group, |group| group.subcommand(method)),
                Some(group) => command.subcommand(
                    Command::new(group)
                        .about(describe_group(group))
                        .subcommand_required(!lists_alone(group))
                        .subcommand(method),
                ),
            };
        }
        command
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        METHODS.iter().any(|entry| entry.name.split(' ').next() == Some(name))
    }
}

impl FromArgMatches for Call {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let (name, matches) = match METHODS.iter().any(|entry| entry.name == name) {
            true => (name.to_owned(), matches),
            false => {
                let alone = lists_alone(name).then_some(("list", matches));
                let (own, matches) = matches.subcommand().or(alone).ok_or_else(missing)?;
                (format!("{name} {own}"), matches)
            }
        };
        let at = METHODS.iter().position(|entry| entry.name == name).ok_or_else(missing)?;
        Ok(Self {
            at,
            arguments: match METHODS[at].name {
                EDIT => edit_from_line(&METHODS[at], matches)?,
                _ => (METHODS[at].parse)(matches)?,
            },
            file: METHODS[at].from_file.and_then(|_| {
                let own = matches.subcommand().map_or(matches, |(_, own)| own);
                own.get_one::<PathBuf>(FILE).cloned()
            }),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns whether the name of a group, without a word, lists.
fn lists_alone(group: &str) -> bool {
    group == "rules"
}

/// Returns the description of a group of methods.
fn describe_group(group: &str) -> &'static str {
    match group {
        "context" => "Show the code for a task, or the present state of one document",
        "node" => "Print the output of any target of the graph",
        "overlay" => "Try edits beside the workspace: build with them, compare, merge or drop them",
        "pack" => "Bundle what is known of chosen types in one text",
        "rules" => "List or print the built-in rulesets",
        "export" => "Write an index of the code for other programs",
        "store" => "Verify, count, export and migrate the store",
        "window" => "Manage the text of this checkout for models",
        "work" => "Answer as the language model: take prompts, submit summaries",
        _ => "",
    }
}
