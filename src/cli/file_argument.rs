//! The flag of a command line for a file that holds an argument.

use clap::Arg;
use methods::catalog::FileForm;
use std::path::PathBuf;

/// Name of the flag for a file with an argument.
pub const FILE: &str = "file";

/// Returns that flag, in place of an argument.
pub(super) fn file_argument((argument, form): (&'static str, FileForm)) -> Arg {
    let file = Arg::new(FILE).value_name("FILE").value_parser(clap::value_parser!(PathBuf));
    let named = argument.to_uppercase();
    match form {
        FileForm::Instead => file
            .long(FILE)
            .conflicts_with(argument)
            .help(format!("Read {named} from a file, - for standard input")),
        FileForm::InPlace => file
            .required(true)
            .help(format!("The file of the {argument}, - for standard input")),
        FileForm::AsItIs => file
            .long("from")
            .help(format!("The file that holds the {argument}, - for standard input")),
    }
}
