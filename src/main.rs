//! `cortex`: the command line. Parses flags, calls the workbench, prints. No crate below prints.

/// Writes a line to standard error. A failed write (full disk, closed pipe) never ends the command.
macro_rules! note_line {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($words)*);
    }};
}

mod book;
mod chat;
mod cli;
mod command_context;
mod commands;
mod completion;
mod exit;
#[cfg(feature = "http")]
mod http;
mod mcp;
#[cfg(feature = "http")]
mod page;
#[cfg(feature = "remote")]
mod remote_client;
mod render;
mod service;
mod signals;
mod terminal;
#[cfg(feature = "remote")]
mod worker;

use clap::Parser;
use cli::When;
use exit::exit_code;
use methods::code::Code;
use methods::failed::Failed;
use methods::render::diagnostic;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use terminal::stderr_style;

/// A build allocates many small blobs of different sizes from several threads. glibc's allocator takes a quarter of the processor time for this,
/// mimalloc a few percent.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = sandbox::run_stage_if_requested(std::env::args_os()) {
        return code.into();
    }
    exit::quiet_expected_panics();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if completion::answer_completion(&arguments) {
        return ExitCode::SUCCESS;
    }
    match cli::Cli::try_parse_from(cli::guard_labels(arguments.iter().cloned())) {
        // The panic is already printed; only the exit code is left.
        Ok(cli) => catch_unwind(AssertUnwindSafe(|| commands::run_cli(cli))).unwrap_or_else(|_| {
            let why = Failed::bug(&"the command ended in the middle, see above");
            note_line!("{}", diagnostic::format_diagnostic(&why.diagnostics[0], stderr_style(When::Auto)));
            exit_code(why.code)
        }),
        Err(error) => {
            // Help and version are answers; everything else is a usage error.
            let code = if error.use_stderr() { Code::Usage } else { Code::Ok };
            // A call without a command gets the help, as in other programs.
            let bare = error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
            if error.use_stderr() && cli::wants_json(&arguments) {
                note_line!("{}", diagnostic::diagnostic_json(&cli::mistake(&error)));
            } else if error.use_stderr() && !bare {
                let style = stderr_style(When::Auto);
                note_line!("{}", diagnostic::format_diagnostic(&cli::mistake(&error), style));
            } else {
                let _ = error.print();
            }
            exit_code(code)
        }
    }
}
