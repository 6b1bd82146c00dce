//! `cortex`: the command line. Parses flags, calls the workbench, prints. Nothing below this crate prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cli;
mod commands;
mod context;
mod desk;
mod exit;
mod failed;
mod mcp;
mod methods;
mod render;
mod service;
mod sharing;
mod worker;

use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = sandbox::enter(std::env::args_os()) {
        return code.into();
    }
    exit::quiet_pipes();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match cli::Cli::try_parse_from(cli::guarded(arguments.iter().cloned())) {
        Ok(cli) => commands::run(cli),
        Err(error) => {
            // Help and version are answers, everything else is a mistake.
            let code = if error.use_stderr() { exit::Code::Usage } else { exit::Code::Ok };
            // No command at all is answered with the help, as other programs do.
            let bare = error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
            if error.use_stderr() && cli::wants_json(&arguments) {
                eprintln!("{}", render::diagnostic::json(&cli::mistake(&error)));
            } else if error.use_stderr() && !bare {
                let style = render::Style::stderr(cli::When::Auto);
                eprintln!("{}", render::diagnostic::text(&cli::mistake(&error), style));
            } else {
                let _ = error.print();
            }
            code.into()
        }
    }
}
