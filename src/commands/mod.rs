//! The commands, one file each.

pub mod build;
mod check;
mod clean;
mod dev;
mod edit_output;
#[cfg(feature = "http")]
mod entrance;
mod export;
mod facts;
mod fmt;
pub mod gc;
pub mod help;
mod init;
pub mod last_good;
mod log;
mod ls;
mod mcp;
mod mcp_install;
pub mod names;
mod next;
pub mod outputs;
mod pages;
mod pin;
mod produce_shard;
mod prompt;
mod reference;
mod regenerate;
pub mod remote_cache;
mod replaceable;
mod report;
mod rules;
mod serve;
pub mod show;
mod store;
mod trust;
mod unpack;
mod warm;
mod watch;

use crate::cli::{Cli, Command};
use crate::context::{Context, Outcome};
use crate::exit::Code;
use std::process::ExitCode;

/// Runs the command and reports its failure, if it fails.
pub fn run(cli: Cli) -> ExitCode {
    let mut context = Context::new(cli.global);
    if let Err(failed) = context.change_directory() {
        context.say_why(&failed);
        return failed.code.into();
    }
    let Some(command) = &cli.command else {
        return report_outcome(&context, next::run(&context));
    };
    let knows_overlays = matches!(command, Command::Build(_) | Command::Show(_) | Command::Method(_));
    let outcome = match command {
        _ if context.overlay().is_some() && !knows_overlays => Err(crate::methods::command::not_within()),
        _ if context.global.output.drawing().is_some() && !matches!(command, Command::Method(_)) => {
            Err(crate::methods::command::not_drawn())
        }
        Command::Method(call) => crate::methods::command::run(&context, call),
        Command::Init(args) => init::run(&context, args),
        Command::Build(args) => build::run(&context, args),
        Command::Show(args) => show::run(&context, args),
        Command::Log(args) => log::run(&context, args),
        Command::Prompt(args) => prompt::run(&context, args),
        Command::Regenerate(args) => regenerate::run(&context, args),
        Command::EditOutput(args) => edit_output::run(&context, args),
        Command::Watch(args) => watch::run(&context, args),
        Command::Serve(args) => serve::run(&context, args),
        Command::Mcp(args) => mcp::run(&context, args),
        Command::Chat(args) => crate::chat::run(&context, args),
        Command::Gc(args) => gc::run(&context, args),
        Command::Report(args) => report::run(&context, args),
        Command::Export(args) => export::run(&context, &args.command),
        Command::Warm(args) => warm::run(&context, args),
        Command::Remote(args) => remote_cache::run(&context, &args.command),
        Command::Store(args) => store::run(&context, &args.command),
        Command::PinVersion(args) => pin::pin(&context, args),
        Command::Trust(args) => trust::run(&context, args),
        Command::UnpinVersion(args) => pin::unpin(&context, args),
        Command::Rules(args) => rules::run(&context, args),
        Command::Ls(args) => ls::run(&context, args),
        Command::Check(args) => check::run(&context, args),
        Command::Fmt(args) => fmt::run(&context, args),
        Command::Clean => clean::run(&context),
        Command::Help(args) => help::run(&context, args),
        Command::Completions(args) => pages::completions(&context, args),
        Command::Man(args) => pages::man(&context, args),
        Command::ProduceShard(args) => produce_shard::run(args),
        Command::Dev(args) => dev::run(&context, &args.command),
    };
    // After a signal, skip automatic gc.
    let code = outcome.as_ref().map_or_else(|failed| failed.code, |code| *code);
    if !matches!(code, Code::Interrupted | Code::Terminated | Code::HungUp) {
        gc::keep_within(&context, &context.locks_held());
    }
    report_outcome(&context, outcome)
}

/// Reports the failure of a command, if it failed, and returns its exit code.
fn report_outcome(context: &Context, outcome: Outcome) -> ExitCode {
    context.say_damage();
    match outcome {
        Ok(code) => code.into(),
        Err(failed) => {
            context.say_why(&failed);
            failed.code.into()
        }
    }
}
