//! The folder for temporary files, in which programs run: missing, full, and after a kill.

use crate::bench::{Bench, Ran};
use crate::sandbox::{Way, program, through, ways};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Runs with another folder for temporary files.
fn within(way: Way, bench: &Bench, folder: &OsStr, args: &[&str]) -> Ran {
    bench.ran(way.command(bench, args).env("TMPDIR", folder).output().expect("runs"))
}

/// Appends a text to the manifest of a workspace.
fn add(bench: &Bench, text: &str) {
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    bench.write("cortex.toml", &format!("{manifest}\n{text}"));
}

#[test]
fn a_folder_for_temporary_files_that_cannot_be_used_is_named() {
    for way in ways() {
        let bench = program(way, "wc -w < {in.text}", "");
        let another = "[[rule]]\ntarget = \"//a:c\"\nproducer = \"program\"\ninputs = { text = \"//files/cortex.toml:bytes\" }\n";
        add(&bench, another);
        for folder in ["/no/such/folder", "/etc/passwd", "/proc"] {
            let built = within(way, &bench, folder.as_ref(), &["build", "//..."]);
            let actual = format!("programs run in folders below {folder} (TMPDIR), where none can be made: ");
            assert_eq!((built.code, built.err.matches(&actual).count()), (5, 1), "{way:?}: {built:?}");
            let actual = built.err.contains("error[E_TMPDIR]") && built.err.contains("help: make that a folder");
            assert!(actual, "{way:?}: {built:?}");
        }
        let odd = bench.beside("").join(OsStr::from_bytes(b"\xff"));
        std::fs::create_dir(&odd).expect("made");
        let built = within(way, &bench, odd.as_os_str(), &["build", "//..."]);
        assert!(built.code == 5 && built.err.contains("its name is not UTF-8"), "{way:?}: {built:?}");
        // An empty variable counts as unset.
        let built = within(way, &bench, OsStr::new(""), &["build", "//..."]);
        assert_eq!(built.code, 0, "{way:?}: {built:?}");
    }
}

/// Runs with a separate file system for temporary files.
fn mounted(way: Way, bench: &Bench, options: &str, args: &[&str]) -> Ran {
    let folder = bench.beside("mounted");
    std::fs::create_dir_all(&folder).expect("made");
    let own = way.command(bench, args);
    let line = format!("mount -t tmpfs -o {options} none \"$TMPDIR\" && exec \"$0\" \"$@\"");
    let mut command = through(&["unshare", "-Urm", "sh", "-c", &line], &own);
    bench.ran(command.env("TMPDIR", folder).output().expect("runs"))
}

#[test]
fn a_full_folder_for_temporary_files_is_told_and_one_that_lets_nothing_run_is_enough() {
    for way in ways() {
        let bench = program(way, "wc -c < {in.text}", "");
        let ran = mounted(way, &bench, "size=1m,noexec", &["show", "//a:b"]);
        assert_eq!(ran.out, "14\n", "{way:?}: {ran:?}");
        bench.write("a.txt", &"many words\n".repeat(50_000));
        let ran = mounted(way, &bench, "size=256k", &["build", "//a:b"]);
        let stderr = ran.err.contains("an input cannot be staged: No space left on device") && ran.err.contains("set TMPDIR to one");
        assert!(ran.code == 1 && stderr, "{way:?}: {ran:?}");
        let ran = mounted(way, &bench, "nr_inodes=2", &["build", "//a:b"]);
        assert!(ran.code == 5 && ran.err.contains("E_TMPDIR"), "{way:?}: {ran:?}");
        bench.change("cortex.toml", "wc -c < {in.text}", "head -c 3000000 /dev/zero > made");
        let ran = mounted(way, &bench, "size=1m", &["build", "//a:b"]);
        assert!(ran.code == 1 && ran.err.contains("No space left on device"), "{way:?}: {ran:?}");
        // Nothing of it was stored.
        let ran = mounted(way, &bench, "size=8m", &["build", "//a:b"]);
        assert!(ran.code == 0 && ran.err.contains("1 ran"), "{way:?}: {ran:?}");
    }
}

/// Returns the entries of a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// Adds a program that waits until a pipe is written to; returns the pipe.
fn waiting(way: Way, bench: &Bench, name: &str) -> PathBuf {
    let pipe = bench.beside(name);
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let rule = format!(
        "[producer.{name}]\nuses = \"command\"\nargv = [\"cat\", \"{0}\"]\nsandbox = \"{1}\"\nreadable = [\"{0}\"]\n\
         [[rule]]\ntarget = \"//a:{name}\"\nproducer = \"{name}\"\n",
        pipe.display(),
        way.sandbox
    );
    add(bench, &rule);
    pipe
}

/// Starts a build of such a program with its own store, and waits for the program's folder; returns both.
fn start(way: Way, bench: &Bench, temp: &Path, name: &str) -> (Child, PathBuf) {
    let before = entries(temp);
    let store = bench.beside(&format!("store of {name}")).to_string_lossy().into_owned();
    let mut command = way.command(bench, &["--store", &store, "build", &format!("//a:{name}")]);
    command.env("TMPDIR", temp).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("starts");
    loop {
        let new = entries(temp).into_iter().find(|folder| !before.contains(folder));
        match new {
            Some(new) if entries(&new).len() == 2 => return (child, new),
            _ => std::thread::yield_now(),
        }
    }
}

#[test]
fn the_next_build_removes_folders_of_killed_builds_but_not_of_running_ones() {
    for way in ways() {
        let bench = program(way, "cat {in.text}", "");
        let temp = bench.beside("temp");
        std::fs::create_dir(&temp).expect("made");
        let [lives, goes] = ["lives", "goes"].map(|name| waiting(way, &bench, name));
        let (mut living, own) = start(way, &bench, &temp, "lives");
        let (mut killed, left) = start(way, &bench, &temp, "goes");
        killed.kill().expect("killed");
        killed.wait().expect("reaped");
        assert!(left.exists());
        let built = within(way, &bench, temp.as_os_str(), &["build", "//a:b"]);
        assert_eq!(built.code, 0, "{way:?}: {built:?}");
        assert_eq!(entries(&temp), [own], "{way:?}");
        std::fs::write(&lives, "written").expect("written");
        assert!(living.wait().expect("reaped").success(), "{way:?}");
        assert_eq!(entries(&temp), [] as [PathBuf; 0], "{way:?}");
        // Without a sandbox, its program continues until the pipe is opened for writing and closed.
        drop(OpenOptions::new().read(true).write(true).open(goes).expect("opened"));
    }
}
