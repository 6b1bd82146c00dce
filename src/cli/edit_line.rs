//! The operations of `edit` as commands.

use super::file_argument::{FILE, file_argument};
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};
use methods::catalog::edit_operations::{ALWAYS, EditOperation, OPERATIONS, PATH};
use methods::catalog::{FileForm, MethodEntry};
use serde_json::Value;

/// Destination of a file on a command line.
const TO: &str = "to";

/// Argument of programs for the operation, which on a command line is the command.
const OP: &str = "op";

/// Builds `cortex edit` with a subcommand per operation.
pub fn edit_command(entry: &MethodEntry) -> Command {
    let whole = (entry.arguments_of)(Command::new(entry.name));
    let about = whole.get_about().cloned().unwrap_or_default();
    let long = whole.get_long_about().cloned().unwrap_or_default();
    let command = Command::new(entry.name)
        .about(about)
        .long_about(long)
        .subcommand_required(true)
        .subcommand_value_name("OPERATION")
        .subcommand_help_heading("Operations")
        .override_usage("cortex edit OPERATION [PATH] [OPTIONS], as `cortex edit replace PATH --old-text TEXT --new-text TEXT`");
    let operations = OPERATIONS.iter().map(|operation| operation_command(operation, &whole));
    command.subcommands(operations)
}

/// Returns the arguments of a command line in the form of programs.
pub fn edit_from_line(entry: &MethodEntry, matches: &ArgMatches) -> Result<Value, clap::Error> {
    let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
    let (name, own) = matches.subcommand().ok_or_else(missing)?;
    let mut arguments = (entry.parse)(own)?;
    arguments[OP] = name.into();
    if let Some(path) = own.get_one::<String>(PATH) {
        arguments["path"] = path.as_str().into();
    }
    if let Some(to) = own.try_get_one::<String>(TO).ok().flatten() {
        arguments["newText"] = to.as_str().into();
    }
    Ok(arguments)
}

/// Returns whether the new text is a destination, which follows PATH.
fn has_target(operation: &EditOperation) -> bool {
    matches!(operation.name, "move" | "rename_file")
}

fn has_path_as_text(operation: &EditOperation) -> bool {
    has_target(operation) || matches!(operation.name, "persist_as" | "move_type")
}

/// Returns the command of an operation, with the arguments of `whole` that it takes.
fn operation_command(operation: &EditOperation, whole: &Command) -> Command {
    let needed = |id: &str| operation.needs.contains(&id);
    let shown = |id: &str| needed(id) || operation.takes.contains(&id) || ALWAYS.contains(&id);
    let has_target = has_target(operation);
    let arguments = whole.get_arguments().filter(|argument| argument.get_id() != OP).map(|argument| {
        let id = argument.get_id().as_str();
        let argument = argument.clone().hide(!shown(id) || (id == "new_text" && has_target));
        match needed(id) {
            true if id == "new_text" && has_target => argument,
            true if id == "new_text" => argument.required_unless_present(FILE),
            true if id == "old_text" => argument.required_unless_present("selector"),
            needed => argument.required(needed),
        }
    });
    let path = Arg::new(PATH)
        .value_name("PATH")
        .conflicts_with("path")
        .help("The file, from the workspace's root; also --path PATH");
    let path = match needed(PATH) {
        true => path.required_unless_present_any(["path", "session"]),
        false => path,
    };
    let to = has_target.then(|| {
        Arg::new(TO)
            .value_name(if operation.name == "move" { "TO" } else { "NAME" })
            .conflicts_with("new_text")
            .required_unless_present("new_text")
            .help("Where it goes; also --new-text")
    });
    Command::new(operation.name)
        .about(operation.about)
        .override_usage(format!("cortex edit {} {}", operation.name, operation.form).trim_end().to_owned())
        .after_help(format!("Example:\n  cortex edit {}", operation.example))
        .arg(path)
        .args(to)
        .args(arguments)
        .arg(file_argument(("new_text", FileForm::Instead)).hide(!shown("new_text") || has_path_as_text(operation)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use methods::catalog::find_method;

    fn edit() -> &'static MethodEntry {
        find_method("edit").expect("a method")
    }

    /// Meaning of a line of words, or its error.
    fn parse_edit(words: &str) -> Result<Value, String> {
        let given = words.split(' ').filter(|word| !word.is_empty());
        let matches = edit_command(edit()).try_get_matches_from(["edit"].into_iter().chain(given));
        edit_from_line(edit(), &matches.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
    }

    #[test]
    fn every_operation_has_an_example_that_works() {
        for operation in OPERATIONS {
            let words = operation.example.replace("'", "").replace("\"a\", \"newText\": \"b\"", "");
            let edit = parse_edit(words.split(" --").next().unwrap_or_default());
            let Err(missing) = edit else { continue };
            // The message about a missing argument shows the form that works.
            let form = format!("cortex edit {} {}", operation.name, operation.form);
            assert!(missing.contains(&form), "{missing}");
        }
        edit_command(edit()).debug_assert();
    }

    #[test]
    fn a_file_is_named_by_its_place_or_by_a_flag() {
        for words in ["open a.cs", "open --path a.cs"] {
            let edit = parse_edit(words).expect("a line that works");
            assert_eq!((&edit["op"], &edit["path"]), (&"open".into(), &"a.cs".into()), "{words}");
        }
        assert!(parse_edit("commit --session s --manifest").is_ok_and(|edit| edit["manifest"] == true));
        let edit = parse_edit("replace_selection --session s --selection-id 2").expect("a line that works");
        assert_eq!((&edit["op"], &edit["selectionId"]), (&"replace_selection".into(), &2.into()));
        let edit = parse_edit("move a.cs b/a.cs").expect("a line that works");
        assert_eq!((&edit["path"], &edit["newText"]), (&"a.cs".into(), &"b/a.cs".into()));
        assert!(parse_edit("replace a.cs --old-text a --file b").is_ok());
        for (words, says) in [
            ("replace --old-text a --new-text b", "<PATH>"),
            ("replace a.cs --new-text b", "--old-text <TEXT>"),
            ("open a.cs --path b.cs", "cannot be used with"),
            ("commit", "--session <HANDLE>"),
            ("a.cs", "cortex edit replace PATH --old-text TEXT"),
            ("replace-selection", "replace_selection"),
        ] {
            let why = parse_edit(words).expect_err("refused");
            assert!(why.contains(says), "{words}: {why}");
        }
    }
}
