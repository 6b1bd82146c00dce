//! The library API from a client's point of view.

use engine::build::query::NodeState;
use std::path::Path;
use workbench::library::{Library, LibraryError};
use workbench::location::StoreChoice;

const MANIFEST: &str = "[workspace]\nname = \"l\"\nrulesets = [\"csharp\"]\n";

fn write(root: &Path, name: &str, text: &str) {
    std::fs::write(root.join(name), text).expect("a file");
}

fn library(folder: &Path) -> Library {
    let root = folder.join("ws");
    std::fs::create_dir(&root).expect("a folder");
    write(&root, "cortex.toml", MANIFEST);
    write(&root, "A.cs", "namespace N;\npublic class A { public int Get() => 1; }\n");
    Library::open(&root, StoreChoice::Folder(folder.join("store"))).expect("a workspace")
}

#[test]
fn a_program_gets_targets_and_hears_of_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library(folder.path());
    let label = "//types/N.A:outline";
    let first = library.build_output("//types/A:outline").expect("an output");
    assert_eq!(first.label, label);
    assert!(String::from_utf8_lossy(&first.bytes).contains("Get()"));
    assert_eq!(library.state_of_label(label).expect("a state"), NodeState::Current);
    let mut changes = library.watch().expect("a watch");
    write(
        &folder.path().join("ws"),
        "A.cs",
        "namespace N;\npublic class A { public int Put() => 1; }\n",
    );
    assert_eq!(changes.next().expect("a batch"), ["A.cs"]);
    assert_eq!(library.state_of_label(label).expect("a state"), NodeState::MaybeStale);
    assert!(library.why(label).expect("an explanation").chain.last().is_some());
    assert_eq!(library.last(label).expect("a store").expect("an output"), first);
    let now = library.build_output(label).expect("an output");
    assert!(String::from_utf8_lossy(&now.bytes).contains("Put()"));
    let read = library.query(&format!("deps({label})")).expect("labels");
    assert!(read.contains(&"//types/N.A:complete".to_owned()), "{read:?}");
}

#[test]
fn invalid_labels_and_queries_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library(folder.path());
    for wrong in ["//types/N.B:outline", "no label", "//types/N.A:nothing"] {
        assert!(
            matches!(library.build_output(wrong), Err(LibraryError::Refused(why)) if !why.is_empty()),
            "{wrong}"
        );
    }
    assert!(matches!(library.query("deps("), Err(LibraryError::Refused(_))));
    let nowhere = Library::open(Path::new("/nowhere"), StoreChoice::None);
    assert!(matches!(nowhere, Err(LibraryError::Workspace(_))));
}
