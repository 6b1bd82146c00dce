//! The commands, one file each.

mod build;
mod dev;
mod explain;
mod facts;
mod gc;
mod init;
mod last_good;
mod outline;
mod outputs;
mod pages;
mod query;
mod rules;
mod show;
mod status;
mod usages;

use crate::cli::{Cli, Command};
use crate::context::Context;
use std::process::ExitCode;

/// Runs the command and prints why it failed, if it did.
pub fn run(cli: Cli) -> ExitCode {
    let mut context = Context::new(cli.global);
    if let Err(failed) = context.enter() {
        context.say(&failed.diagnostics);
        return failed.code.into();
    }
    let outcome = match &cli.command {
        Command::Init(args) => init::run(&context, args),
        Command::Build(args) => build::run(&context, args),
        Command::Show(args) => show::run(&context, args),
        Command::Outline(args) => outline::run(&context, args),
        Command::Usages(args) => usages::run(&context, args),
        Command::Query(args) => query::run(&context, args),
        Command::Explain(args) => explain::run(&context, args),
        Command::Status(_) => status::run(&context),
        Command::Gc(args) => gc::run(&context, args),
        Command::Rules(args) => rules::run(&context, args),
        Command::Completions(args) => pages::completions(&context, args),
        Command::Man(args) => pages::man(&context, args),
        Command::Dev(args) => dev::run(&context, &args.command),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(failed) => {
            context.say(&failed.diagnostics);
            failed.code.into()
        }
    }
}
