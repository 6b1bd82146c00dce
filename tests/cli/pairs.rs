//! Every pair of long store commands at the same time, in two checkouts that share a store: all of them end. The store is large enough that each
//! takes several steps and releases the store between them.

use crate::bench::{Bench, Ran};
use engine::store::disk::{DiskOptions, DiskStore};
use engine::store::records::{ActionRecord, Class, NewResult};
use engine::store::{Commit, Store, ViewId};
use engine::values::digest::{ActionKey, Digest};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Results in the store besides those of the checkouts: more than a collection or a verification reads in one step.
const RESULTS: u64 = 9_000;

/// Upper bound of any pair; only a deadlock reaches it.
const LIMIT: Duration = Duration::from_secs(300);

/// Two checkouts over a store, and a file of results.
struct Shared {
    bench: Bench,
    other: PathBuf,
    edits: u32,
}

/// A command that runs.
struct Running {
    what: &'static str,
    child: Child,
}

const COMMANDS: [&str; 9] = ["gc", "build", "verify", "repair", "import", "migrate", "warm", "watch", "serve"];

impl Shared {
    fn new() -> Self {
        let bench = Bench::documents();
        let remote = "\n[remote]\nendpoint = \"grpc://127.0.0.1:1\"\nwrite = \"always\"\n";
        let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
        bench.write("cortex.toml", &(manifest + remote));
        let other = bench.beside("other");
        std::fs::create_dir_all(other.join("docs")).expect("folders");
        for file in ["cortex.toml", "docs/a.md", "docs/b.md"] {
            std::fs::copy(bench.root().join(file), other.join(file)).expect("copied");
        }
        assert_eq!(bench.run(&["build", "//docs/...", "--offline"]).code, 0);
        let exported = bench.beside("results");
        let export = bench.run(&["store", "export", "//docs/...", "-o", exported.to_str().expect("text")]);
        assert_eq!(export.code, 0, "{export:?}");
        let (disk, _) = DiskStore::open(&bench.store(), DiskOptions::default()).expect("the store");
        let results = (0..RESULTS).map(result).collect();
        let commit = Commit {
            results,
            ..Commit::default()
        };
        disk.commit(ViewId(1), commit).expect("filed");
        Self { bench, other, edits: 0 }
    }

    /// Starts a command in a folder; returns once watch or serve is ready.
    fn begin(&mut self, folder: &Path, what: &'static str) -> Running {
        let results = self.bench.beside("results");
        let args: &[&str] = match what {
            "gc" => &["gc"],
            "build" => &["build", "//docs/...", "--offline"],
            "verify" => &["store", "verify"],
            "repair" => &["store", "verify", "--repair"],
            "import" => &["store", "import", results.to_str().expect("text")],
            "migrate" => &["store", "migrate"],
            "warm" => &["warm", "//docs/..."],
            "watch" => &["watch", "//docs/...", "--offline"],
            _ => &["serve"],
        };
        // Work for the commands that build.
        self.edits += 1;
        std::fs::write(folder.join("docs/a.md"), format!("{}\n", "word ".repeat(self.edits as usize))).expect("written");
        let mut command: Command = self.bench.command(args);
        command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running {
            what,
            child: command.spawn().expect("it starts"),
        }
    }

    /// Waits for the end of a command; sends a signal to one that would not end.
    fn end(&self, running: Running) -> Ran {
        let Running { what, mut child } = running;
        let (send, ended) = mpsc::channel();
        std::thread::spawn(move || {
            if matches!(what, "watch" | "serve") {
                read_line(child.stdout.as_mut().expect("piped"));
                let pid = child.id().to_string();
                assert!(Command::new("kill").arg(pid).status().expect("kill").success());
            }
            send.send(child.wait_with_output().expect("an end"))
        });
        let output = ended.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("{what} does not end"));
        self.bench.ran(output)
    }
}

/// Reads a line, or the rest of the input.
fn read_line(from: &mut impl Read) {
    let mut byte = [0];
    while from.read(&mut byte).expect("readable") == 1 && byte[0] != b'\n' {}
}

fn result(number: u64) -> NewResult {
    let output: Arc<[u8]> = format!("result {number} ").repeat(4).into_bytes().into();
    NewResult {
        key: ActionKey(Digest::of(&number.to_be_bytes())),
        record: ActionRecord {
            output: Digest::of(&output),
            len: output.len() as u64,
            label: format!("//old/{number}:x"),
            producer: "old@1".to_owned(),
            // Recent enough to stay: every collection reads all of them.
            made_at: u64::MAX,
            took_us: 1,
            inputs: Vec::new(),
            diagnostics: Vec::new(),
            class: Class::Cheap,
            spent: None,
            notes: Default::default(),
            parts: Vec::new(),
            memo: Default::default(),
        },
        blob: Some(output),
        parts: Vec::new(),
    }
}

#[test]
fn any_two_long_commands_at_once_end() {
    let mut shared = Shared::new();
    let (one, other) = (shared.bench.root(), shared.other.clone());
    for (at, first) in COMMANDS.into_iter().enumerate() {
        for second in &COMMANDS[at..] {
            let running = [shared.begin(&one, first), shared.begin(&other, second)];
            for running in running {
                let what = running.what;
                let ran = shared.end(running);
                let pair = format!("{what} of {first} and {second}: {ran:?}");
                let is_second = ran.code == 4 && ran.err.contains("another collection of this store is running, pid ");
                match what {
                    "gc" => assert!(ran.code == 0 || is_second && first == *second, "{pair}"),
                    "watch" | "serve" => assert!([0, 143].contains(&ran.code), "{pair}"),
                    // The cache does not exist.
                    "warm" => assert_eq!(ran.code, 7, "{pair}"),
                    _ => assert_eq!(ran.code, 0, "{pair}"),
                }
            }
        }
    }
}

#[test]
fn the_second_collection_ends_at_once_and_names_the_first() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    let (disk, _) = DiskStore::open(&bench.store(), DiskOptions::default()).expect("the store");
    let collecting = disk.begin_collection().expect("alone");
    // With the store open or closed, the command does not even wait for it.
    for is_open in [true, false] {
        if !is_open {
            disk.release();
        }
        for args in [&["gc"][..], &["gc", "--no-wait"], &["gc", "--lock-timeout", "600"]] {
            let ran = bench.run(args);
            assert_eq!(ran.code, 4, "{ran:?}");
            let text = format!("another collection of this store is running, pid {} (", std::process::id());
            assert!(ran.err.contains("error[E_BUSY]") && ran.err.contains(&text), "{ran:?}");
        }
    }
    drop((collecting, disk));
    assert_eq!(bench.run(&["gc", "--no-wait"]).code, 0);
}
