//! The commands: those here serve, ask the person, print pages of the program, or run a method of `methods::catalog`; the others are in
//! `methods::commands`.

mod completions_and_man;
mod dev;
mod help;
#[cfg(feature = "http")]
mod http_setup;
mod mcp;
mod mcp_install;
mod method;
mod produce_shard;
mod reference;
#[cfg(feature = "remote")]
mod remote_ping;
mod serve;

use crate::cli::{Cli, Command, RemoteCommand};
use crate::command_context::CommandContext;
use crate::exit::exit_code;
use crate::signals;
use ::serve::watching::{self, WatchArgs};
use methods::code::Code;
use methods::commands::{build, edit_output, first_screen, regenerate, remote_stats, show, warm};
use methods::desk::automatic_gc;
use methods::failed::Outcome;
use std::io::Write;
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
        return report_outcome(&context, context.print_answer(first_screen::run_next(&context)));
    };
    let knows_overlays = matches!(command, Command::Build(_) | Command::Show(_) | Command::Method(_));
    let outcome = match command {
        _ if context.overlay().is_some() && !knows_overlays => Err(method::not_within()),
        _ if context.global.output.drawing().is_some() && !matches!(command, Command::Method(_)) => Err(method::not_drawn()),
        Command::Method(call) => method::run_method(&context, call),
        Command::Build(args) => context.print_answer(build::run_build(&context, args)),
        Command::Show(args) => context.print_answer(show::run_show(&context, args)),
        Command::Regenerate(args) => context.print_answer(regenerate::run_regenerate(&context, args)),
        Command::EditOutput(args) => run_edit_output(&context, args),
        Command::Watch(args) => run_watch(&context, args),
        Command::Serve(args) => serve::run_serve(&context, args),
        Command::Mcp(args) => mcp::run_mcp(&context, args),
        Command::Chat(args) => crate::chat::run_chat(&context, args),
        Command::Warm(args) => context.print_answer(warm::run_warm(&context, args)),
        Command::Remote(args) => run_remote(&context, &args.command),
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

/// Runs `cortex edit-output` with the editor that VISUAL or EDITOR names.
fn run_edit_output(context: &CommandContext, args: &edit_output::EditOutputArgs) -> Outcome {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let editor = ["VISUAL", "EDITOR"].iter().find_map(set);
    let edited = edit_output::run_edit_output(context, args, editor.as_deref())?;
    if let Some(line) = edited.line {
        note_line!("{line}");
    }
    Ok(edited.code)
}

/// Runs `cortex watch` until a signal. Its text is written at once, because a program may wait for each line.
fn run_watch(context: &CommandContext, args: &WatchArgs) -> Outcome {
    let mut print = |text: &str| {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    };
    watching::run_watch(context, args, &mut print, |stop| signals::on_signal(stop, || {}))
}

/// Runs `cortex remote`.
fn run_remote(context: &CommandContext, command: &RemoteCommand) -> Outcome {
    match command {
        #[cfg(feature = "remote")]
        RemoteCommand::Ping => remote_ping::run_ping(context),
        #[cfg(not(feature = "remote"))]
        RemoteCommand::Ping => Err(methods::commands::sharing::left_out()),
        RemoteCommand::Stats { since } => context.print_answer(remote_stats::remote_stats(context, *since)),
    }
}
