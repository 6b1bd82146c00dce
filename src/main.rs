//! `cortex`: the command line. Parses flags, calls the workbench, prints. Nothing below this crate prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cli;
mod commands;
mod context;
mod exit;
mod render;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::quiet_pipes();
    match cli::Cli::try_parse_from(cli::guarded(std::env::args_os())) {
        Ok(cli) => commands::run(cli),
        Err(error) => {
            // Help and version are answers, everything else is a mistake.
            let code = if error.use_stderr() { exit::Code::Usage } else { exit::Code::Ok };
            let _ = error.print();
            code.into()
        }
    }
}
