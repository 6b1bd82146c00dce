//! The commands, one file each.

mod build;
mod init;
mod show;

use crate::cli::{Cli, Command};
use crate::context::Context;
use std::process::ExitCode;

/// Runs the command and prints why it failed, if it did.
pub fn run(cli: Cli) -> ExitCode {
    let context = Context::new(cli.global);
    let outcome = match &cli.command {
        Command::Init(args) => init::run(&context, args),
        Command::Build(args) => build::run(&context, args),
        Command::Show(args) => show::run(&context, args),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(failed) => {
            context.say(&failed.diagnostics);
            failed.code.into()
        }
    }
}
