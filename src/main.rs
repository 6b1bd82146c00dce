//! `cortex`: the command line. Parses flags, calls the workbench, prints. Nothing below this crate prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cli;
mod commands;
mod context;
mod exit;
mod render;

use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    exit::quiet_pipes();
    match cli::Cli::try_parse_from(std::env::args_os().flat_map(apart)) {
        Ok(cli) => commands::run(cli),
        Err(error) => {
            // Help and version are answers, everything else is a mistake.
            let code = if error.use_stderr() { exit::Code::Usage } else { exit::Code::Ok };
            let _ = error.print();
            code.into()
        }
    }
}

/// `-j2` as `-j 2`: patterns may begin with a hyphen, so the parser would take it for one.
fn apart(argument: OsString) -> Vec<OsString> {
    match argument.to_str().and_then(|text| text.strip_prefix("-j")) {
        Some(count) if !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()) => vec!["-j".into(), count.into()],
        _ => vec![argument],
    }
}
