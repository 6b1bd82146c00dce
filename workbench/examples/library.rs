//! Asks a workspace for a target, as a program would: `cargo run -p workbench --example library -- fixtures/memotree //types/NodeStore:outline`.
//! With a third argument it goes on, and gives the output again whenever the sources change.

use std::io::Write;
use std::path::Path;
use workbench::library::{Library, LibraryError};
use workbench::location::StoreChoice;

fn main() -> Result<(), LibraryError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, label) = match arguments.as_slice() {
        [folder, label, ..] => (folder.as_str(), label.as_str()),
        _ => ("fixtures/memotree", "//types/NodeStore:outline"),
    };
    let store = std::env::temp_dir().join("cortex-example-store");
    let library = Library::open(Path::new(folder), StoreChoice::Folder(store))?;
    let mut out = std::io::stdout();
    let mut show = || -> Result<(), LibraryError> {
        let output = library.build_output(label)?;
        let _ = writeln!(
            out,
            "{} is {}, {}\n{}",
            output.label,
            library.state_of_label(label)?.as_str(),
            output.digest,
            String::from_utf8_lossy(&output.bytes)
        );
        Ok(())
    };
    show()?;
    if arguments.len() > 2 {
        for _paths in library.watch()? {
            show()?;
        }
    }
    Ok(())
}
