//! `cortex completions` and `cortex man`: generated from the flags.

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::command_context::CommandContext;
use crate::completion;
use clap::CommandFactory;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use methods::code::Code;
use methods::failed::{Failed, Outcome, outcome_of_write};
use std::io::Write;

/// Refuses `--output json` for a command without a JSON form.
pub(super) fn text_only(context: &CommandContext, what: &str) -> Result<(), Failed> {
    if !context.prints_json() {
        return Ok(());
    }
    let why = Diagnostic::error(ErrorCode::E_NO_JSON, format!("{what} and have no JSON form"));
    Err(Failed::new(Code::Usage, why.hint("omit --output json")))
}

pub fn completions(context: &CommandContext, args: &CompletionsArgs) -> Outcome {
    text_only(context, "completions are a script for a shell")?;
    let text = completion::registration(args.shell);
    outcome_of_write(text.and_then(|text| context.stdout().write_all(&text)))
}

/// Prints a manual page.
pub fn man(context: &CommandContext, args: &ManArgs) -> Outcome {
    text_only(context, "manual pages are roff")?;
    let mut command = Cli::command();
    command.build();
    if let Some(name) = &args.command {
        let names: Vec<&str> = command
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        let Some(found) = command.find_subcommand(name) else {
            let near = nearest(name, names.iter().copied(), 1);
            let hint = near.first().map_or_else(
                || format!("there are: {}", names.join(", ")),
                |near| format!("did you mean {near}?"),
            );
            return Err(Failed::new(
                Code::Usage,
                Diagnostic::error(ErrorCode::E_NO_COMMAND, "there is no such command")
                    .found(name)
                    .hint(hint),
            ));
        };
        command = found.clone();
    }
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut text);
    outcome_of_write(rendered.and_then(|()| context.stdout().write_all(&text)))
}
