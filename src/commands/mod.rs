//! The commands, one file each.

mod build;
mod check;
mod clean;
mod completions_and_man;
mod dev;
mod edit_output;
mod export;
mod facts;
mod first_screen;
mod fmt;
mod gc;
pub mod help;
#[cfg(feature = "http")]
mod http_setup;
mod init;
mod log;
mod ls;
mod mcp;
mod mcp_install;
mod method;
mod output_file;
mod pin;
mod produce_shard;
mod prompt;
mod reference;
mod regenerate;
pub mod remote_cache;
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
use crate::command_context::CommandContext;
use crate::exit::exit_code;
use methods::code::Code;
use methods::desk::automatic_gc;
use methods::failed::Outcome;
use std::process::ExitCode;

/// Runs the command and reports its failure, if it fails.
pub fn run_cli(cli: Cli) -> ExitCode {
    let mut global = cli.global;
    let entered = global.change_directory();
    let context = CommandContext::new(global);
    if let Err(failed) = entered {
        context.say_why(&failed);
        return exit_code(failed.code);
    }
    let Some(command) = &cli.command else {
        return report_outcome(&context, first_screen::run_next(&context));
    };
    let knows_overlays = matches!(command, Command::Build(_) | Command::Show(_) | Command::Method(_));
    let outcome = match command {
        _ if context.overlay().is_some() && !knows_overlays => Err(method::not_within()),
        _ if context.global.output.drawing().is_some() && !matches!(command, Command::Method(_)) => Err(method::not_drawn()),
        Command::Method(call) => method::run_method(&context, call),
        Command::Init(args) => init::run_init(&context, args),
        Command::Build(args) => build::run_build(&context, args),
        Command::Show(args) => show::run_show(&context, args),
        Command::Log(args) => log::run_log(&context, args),
        Command::Prompt(args) => prompt::run_prompt(&context, args),
        Command::Regenerate(args) => regenerate::run_regenerate(&context, args),
        Command::EditOutput(args) => edit_output::run_edit_output(&context, args),
        Command::Watch(args) => watch::run_watch(&context, args),
        Command::Serve(args) => serve::run_serve(&context, args),
        Command::Mcp(args) => mcp::run_mcp(&context, args),
        Command::Chat(args) => crate::chat::run_chat(&context, args),
        Command::Gc(args) => gc::run_gc(&context, args),
        Command::Report(args) => report::run_report(&context, args),
        Command::Export(args) => export::run_export(&context, &args.command),
        Command::Warm(args) => warm::run_warm(&context, args),
        Command::Remote(args) => remote_cache::run_remote_cache(&context, &args.command),
        Command::Store(args) => store::run_store(&context, &args.command),
        Command::PinVersion(args) => pin::pin(&context, args),
        Command::Trust(args) => trust::run_trust(&context, args),
        Command::UnpinVersion(args) => pin::unpin(&context, args),
        Command::Rules(args) => rules::run_rules(&context, args),
        Command::Ls(args) => ls::run_ls(&context, args),
        Command::Check(args) => check::run_check(&context, args),
        Command::Fmt(args) => fmt::run_fmt(&context, args),
        Command::Clean => clean::run_clean(&context),
        Command::Help(args) => help::run_help(&context, args),
        Command::Completions(args) => completions_and_man::completions(&context, args),
        Command::Man(args) => completions_and_man::man(&context, args),
        Command::ProduceShard(args) => produce_shard::run_produce_shard(args),
        Command::Dev(args) => dev::run_dev(&context, &args.command),
    };
    // After a signal, skip automatic gc.
    let code = outcome.as_ref().map_or_else(|failed| failed.code, |code| *code);
    if code != Code::Interrupted {
        automatic_gc::keep_within(&context, &context.acquired_locks());
    }
    report_outcome(&context, outcome)
}

/// Reports the failure of a command, if it failed, and returns its exit code.
fn report_outcome(context: &CommandContext, outcome: Outcome) -> ExitCode {
    context.say_damage();
    match outcome {
        Ok(code) => exit_code(code),
        Err(failed) => {
            context.say_why(&failed);
            exit_code(failed.code)
        }
    }
}
