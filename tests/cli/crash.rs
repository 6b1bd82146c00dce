//! Crash tests: commands are killed (`SIGKILL`) at random points while they build, collect, import and repair. The store then opens and is sound,
//! promises of ended commands hold, and the next build's outputs equal those of a clean one.
//!
//! The moments are spread over the measured length of a whole run and depend on a seed, which a failure reports. Each run of the tests draws others;
//! that no point of a commit loses data is tested at every point in process (`engine/src/store/disk/tests/faults.rs`).

use crate::bench::Bench;
use engine::graph::pages::each_result;
use engine::store::disk::{DiskOptions, DiskStore};
use engine::store::pins::Pin;
use engine::store::{Part, Store};
use engine::values::digest::{ActionKey, Digest};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Results that must exist, with their outputs.
type Promised = Vec<(ActionKey, Digest)>;

const DOCUMENTS: usize = 4;

/// A workspace, a random sequence, and the number of killed runs.
struct Mill {
    bench: Bench,
    seed: u64,
    drawn: u64,
    killed: usize,
}

impl Mill {
    fn new() -> Self {
        let seed = std::env::var("CORTEX_CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
        let bench = Bench::documents();
        let manifest = fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
        bench.write("cortex.toml", &manifest.replace("\"wc\", \"-w\"", "\"cat\""));
        Self {
            bench,
            seed: seed.unwrap_or_else(|| RandomState::new().hash_one(0)),
            drawn: 0,
            killed: 0,
        }
    }

    /// Returns a number below `end`.
    fn draw(&mut self, end: u64) -> u64 {
        self.drawn += 1;
        let hash = blake3::hash(&[self.seed.to_be_bytes(), self.drawn.to_be_bytes()].concat());
        u64::from_be_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes")) % end
    }

    /// Rewrites a document with random printable bytes, so that it stays long when stored.
    fn edit(&mut self, document: usize, len: usize) {
        let seed = self.draw(u64::MAX);
        let mut noise = vec![0; len];
        blake3::Hasher::new().update(&seed.to_be_bytes()).finalize_xof().fill(&mut noise);
        let text: String = noise.into_iter().map(|byte| char::from(33 + byte % 94)).collect();
        self.bench.write(&format!("docs/{}.md", char::from(b'a' + document as u8)), &text);
    }

    fn build(&self) {
        let ran = self.bench.run(&["build", "//docs/...", "//index:total"]);
        assert_eq!(ran.code, 0, "{ran:?} seed {}", self.seed);
    }

    /// Copies the present store under another name.
    fn keep(&self, name: &str) -> PathBuf {
        let kept = self.bench.beside(name);
        fs::create_dir_all(&kept).expect("folder");
        for name in ["store.redb", "store-id"] {
            fs::copy(self.bench.store().join(name), kept.join(name)).expect("copy");
        }
        kept
    }

    /// Replaces the store with a copy.
    fn put_back(&self, kept: &Path) {
        let _ = fs::remove_dir_all(self.bench.store());
        fs::create_dir(self.bench.store()).expect("folder");
        for name in ["store.redb", "store-id"] {
            fs::copy(kept.join(name), self.bench.store().join(name)).expect("copy");
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bench.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    /// Returns the duration of a whole run, the shortest of a few.
    fn measure(&mut self, args: &[&str], mut prepare: impl FnMut(&mut Self)) -> Duration {
        let times = (0..3).map(|_| {
            prepare(self);
            let start = Instant::now();
            let ended = self.command(args).output().expect("it starts");
            assert!(ended.status.success(), "{ended:?}");
            start.elapsed()
        });
        times.min().expect("three runs")
    }

    /// Runs a command and kills it within about its length; returns whether it ended before.
    fn kill(&mut self, args: &[&str], length: Duration) -> bool {
        let ended = self.stop(args, length, "KILL");
        self.killed += usize::from(!ended);
        ended
    }

    /// As [`Self::kill`], with any signal.
    fn stop(&mut self, args: &[&str], length: Duration, signal: &str) -> bool {
        let length = u64::try_from(length.as_micros()).expect("a short run");
        let after = Duration::from_micros(length / 20 + self.draw(length));
        let mut child = self.command(args).spawn().expect("it starts");
        let mut out = child.stdout.take().expect("a pipe");
        let (send, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = out.read_to_end(&mut Vec::new());
            let _ = send.send(());
        });
        let ended = ended.recv_timeout(after).is_ok();
        if !ended {
            let pid = child.id().to_string();
            let sent = Command::new("kill").args(["-s", signal, &pid]).status().expect("kill");
            assert!(sent.success(), "it is not waited for yet, so its number is still its own");
        }
        child.wait().expect("an end");
        ended
    }

    /// Opens the present store.
    fn opened(&self) -> DiskStore {
        let opened = DiskStore::open(&self.bench.store(), DiskOptions::default());
        let (disk, notices) = opened.unwrap_or_else(|error| panic!("{error}, seed {}", self.seed));
        assert!(notices.is_empty(), "{notices:?}, seed {}", self.seed);
        disk
    }

    /// Returns the results that the store promises the checkout: those of the graph and pinned ones.
    fn promised(&self) -> Promised {
        let disk = self.opened();
        let mut promised: Promised = outputs(&disk).into_values().collect();
        for view in disk.views_with_rows().expect("views") {
            let pins = disk.rows(view, Part::Pins).expect("pins");
            promised.extend(pins.iter().filter_map(Pin::from_row).map(|pin| (pin.key, pin.output)));
        }
        assert!(promised.len() > DOCUMENTS, "{promised:?}");
        promised
    }

    /// Opens the store and checks everything in it; returns the sentences about damage.
    fn check(&self, promised: &Promised) -> Vec<String> {
        let disk = self.opened();
        let (found, _) = workbench::store_maintenance::verify_store(&disk, false).expect("it can be read");
        for (key, output) in promised {
            let record = disk.action(key).expect("it can be read");
            assert_eq!(record.map(|record| record.output), Some(*output), "lost, seed {}", self.seed);
            let blob = disk.blob(output).expect("it can be read");
            assert!(blob.is_some_and(|blob| Digest::of(&blob) == *output), "lost, seed {}", self.seed);
        }
        found.damage.into_iter().map(|harm| harm.what).collect()
    }

    fn check_sound(&self, promised: &Promised) {
        let harm = self.check(promised);
        assert!(harm.is_empty(), "{harm:?} seed {}", self.seed);
    }

    /// Completes the build and compares it with a clean build of the same files in another folder with another store.
    fn compare_with_a_clean_build(&self) {
        self.build();
        let (clean, store) = (self.bench.beside("clean"), self.bench.beside("clean-store"));
        for folder in [&clean, &store] {
            let _ = fs::remove_dir_all(folder);
        }
        fs::create_dir_all(clean.join("docs")).expect("folders");
        fs::copy(self.bench.root().join("cortex.toml"), clean.join("cortex.toml")).expect("copy");
        for entry in fs::read_dir(self.bench.root().join("docs")).expect("documents").flatten() {
            fs::copy(entry.path(), clean.join("docs").join(entry.file_name())).expect("copy");
        }
        let mut command = self.bench.command(&["build", "//docs/...", "//index:total"]);
        let ran = self
            .bench
            .ran(command.current_dir(&clean).env("CORTEX_STORE", &store).output().expect("it starts"));
        assert_eq!(ran.code, 0, "{ran:?}");
        let (disk, _) = DiskStore::open(&store, DiskOptions::default()).expect("the clean store");
        assert_eq!(outputs(&self.opened()), outputs(&disk), "seed {}", self.seed);
        let total = |root: &Path| fs::read(root.join(".cortex/out/total.txt")).expect("laid out");
        assert!(total(&self.bench.root()) == total(&clean), "seed {}", self.seed);
    }
}

/// Returns every target with its result, if the store keeps results of it: sources are read from their files.
fn outputs(disk: &DiskStore) -> BTreeMap<String, (ActionKey, Digest)> {
    let mut outputs = BTreeMap::new();
    for view in disk.views_with_rows().expect("views") {
        for (_, page) in disk.rows(view, Part::Nodes).expect("nodes") {
            each_result(&page, |label, filed| {
                outputs.insert(label.to_owned(), (filed.key, filed.output));
            })
            .expect("a page");
        }
    }
    outputs.retain(|_, (key, _)| disk.action(key).expect("it can be read").is_some());
    outputs
}

/// Repeats `life` until so many runs were killed; reports their number.
fn until_killed(mill: &mut Mill, times: usize, mut life: impl FnMut(&mut Mill, usize)) {
    let mut lives = 0;
    while mill.killed < times {
        life(mill, lives);
        lives += 1;
        assert!(lives < times * 8, "hardly any of {lives} lives ended early");
    }
}

#[test]
fn killed_while_building() {
    let mut mill = Mill::new();
    (0..DOCUMENTS).for_each(|document| mill.edit(document, 20_000));
    mill.build();
    let kept = mill.keep("kept");
    let first = mill.promised();
    let mut promised = first.clone();
    let args = ["build", "//docs/...", "//index:total"];
    let length = mill.measure(&args, |mill| (0..DOCUMENTS).for_each(|document| mill.edit(document, 20_000)));
    until_killed(&mut mill, 30, |mill, life| {
        if mill.draw(3) == 0 {
            mill.put_back(&kept);
            promised.clone_from(&first);
        }
        for document in 0..DOCUMENTS {
            if mill.draw(2) == 0 {
                mill.edit(document, 20_000);
            }
        }
        if mill.kill(&args, length) {
            promised.extend(mill.promised());
        }
        mill.check_sound(&promised);
        if life % 8 == 7 {
            mill.compare_with_a_clean_build();
            promised.extend(mill.promised());
        }
    });
}

/// Returns a store of some megabytes, mostly garbage.
fn aged(mill: &mut Mill) -> PathBuf {
    for _ in 0..6 {
        (0..DOCUMENTS).for_each(|document| mill.edit(document, 90_000));
        mill.build();
    }
    assert_eq!(mill.bench.run(&["pin-version", "//docs/docs/a.md:words", "1"]).code, 0);
    mill.keep("kept")
}

#[test]
fn killed_while_collecting() {
    let mut mill = Mill::new();
    let kept = aged(&mut mill);
    let promised = mill.promised();
    let args = ["gc", "--older-than", "0", "--keep-versions", "1"];
    let length = mill.measure(&args, |mill| mill.put_back(&kept));
    let full = fs::metadata(kept.join("store.redb")).expect("store").len();
    assert!(
        fs::metadata(mill.bench.store().join("store.redb")).expect("store").len() < full,
        "it was compacted"
    );
    until_killed(&mut mill, 30, |mill, life| {
        if mill.draw(2) == 0 {
            mill.put_back(&kept);
        }
        mill.kill(&args, length);
        mill.check_sound(&promised);
        if life % 12 == 11 {
            let ran = mill.bench.run(&args);
            assert_eq!(ran.code, 0, "{ran:?}");
            mill.check_sound(&promised);
            assert!(
                !mill.bench.store().join("store.redb.new").exists(),
                "what a killed one left is removed"
            );
            mill.compare_with_a_clean_build();
        }
    });
}

#[test]
fn killed_while_taking_in() {
    let mut mill = Mill::new();
    aged(&mut mill);
    let file = mill.bench.beside("results");
    let file = file.to_str().expect("text").to_owned();
    assert_eq!(mill.bench.run(&["store", "export", "//...", "-o", &file]).code, 0);
    let texts: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(mill.bench.root().join("docs"))
        .expect("documents")
        .flatten()
        .map(|entry| (entry.path(), fs::read(entry.path()).expect("document")))
        .collect();
    let exported = outputs(&mill.opened());
    fs::remove_dir_all(mill.bench.store()).expect("removed");
    (0..DOCUMENTS).for_each(|document| mill.edit(document, 9_000));
    mill.build();
    let kept = mill.keep("young");
    let promised = mill.promised();
    let args = ["store", "import", &file];
    let length = mill.measure(&args, |mill| mill.put_back(&kept));
    until_killed(&mut mill, 25, |mill, life| {
        if mill.draw(3) > 0 {
            mill.put_back(&kept);
        }
        let mut promised = promised.clone();
        if mill.kill(&args, length) {
            promised.extend(exported.values());
        }
        mill.check_sound(&promised);
        if life % 12 == 11 {
            let ran = mill.bench.run(&args);
            assert_eq!(ran.code, 0, "{ran:?}");
            promised.extend(exported.values());
            mill.check_sound(&promised);
        }
    });
    texts.iter().for_each(|(path, text)| fs::write(path, text).expect("document"));
    assert_eq!(mill.bench.run(&args).code, 0);
    mill.compare_with_a_clean_build();
}

#[test]
fn killed_while_repairing() {
    let mut mill = Mill::new();
    (0..DOCUMENTS).for_each(|document| mill.edit(document, 20_000));
    mill.build();
    for document in 0..24 {
        mill.bench.write(
            &format!("docs/damaged-{document}.md"),
            &format!("the quick brown fox {document} jumps\n"),
        );
        // A result stored alone is stored uncompressed.
        mill.build();
    }
    let path = mill.bench.store().join("store.redb");
    let mut bytes = fs::read(&path).expect("store");
    for document in 0..24 {
        let text = format!("quick brown fox {document} ");
        // Pages of earlier commits may contain it, too.
        let windows = bytes.windows(text.len()).enumerate();
        let found: Vec<usize> = windows.filter(|(_, window)| *window == text.as_bytes()).map(|(at, _)| at).collect();
        assert!(!found.is_empty(), "it is in the store as it is");
        found.into_iter().for_each(|at| bytes[at] ^= 4);
    }
    fs::write(&path, bytes).expect("store");
    let kept = mill.keep("damaged");
    let damaged = mill.check(&Promised::new());
    assert!(damaged.len() >= 24, "{damaged:?}");
    let args = ["store", "verify", "--repair"];
    let length = mill.measure(&args, |mill| mill.put_back(&kept));
    mill.check_sound(&Promised::new());
    // Blobs present after a repair were not damaged, and stay.
    let disk = mill.opened();
    let promised: Promised = outputs(&disk)
        .into_values()
        .filter(|(_, output)| disk.has_blob(output).expect("it can be read"))
        .collect();
    drop(disk);
    assert!(promised.len() > DOCUMENTS);
    until_killed(&mut mill, 20, |mill, life| {
        if mill.draw(3) > 0 {
            mill.put_back(&kept);
        }
        mill.kill(&args, length);
        let harm = mill.check(&promised);
        assert!(harm.iter().all(|what| damaged.contains(what)), "{harm:?} seed {}", mill.seed);
        if life % 12 == 11 {
            let ran = mill.bench.run(&args);
            assert_eq!(ran.code, 0, "{ran:?}");
            mill.check_sound(&promised);
            mill.compare_with_a_clean_build();
        }
    });
}

/// A store that is set aside is salvaged, whenever the salvaging process is killed.
#[test]
fn killed_while_taking_over() {
    let mut mill = Mill::new();
    aged(&mut mill);
    let kept = mill.keep("aged");
    let promised = mill.promised();
    let condemn = |mill: &Mill| {
        mill.put_back(&kept);
        fs::write(mill.bench.store().join("store.condemned"), "its pages contradict each other").expect("file");
    };
    let args = ["store", "verify", "--repair"];
    let length = mill.measure(&args, |mill| condemn(mill));
    until_killed(&mut mill, 15, |mill, _| {
        if mill.draw(3) > 0 {
            condemn(mill);
        }
        mill.kill(&args, length);
        // The next command does it, or continues.
        let ran = mill.bench.run(&args);
        assert_eq!(ran.code, 0, "{ran:?} seed {}", mill.seed);
        mill.check_sound(&promised);
    });
    mill.compare_with_a_clean_build();
}

#[test]
fn interrupted_while_collecting() {
    let mut mill = Mill::new();
    let kept = aged(&mut mill);
    let promised = mill.promised();
    let args = ["gc", "--older-than", "0", "--keep-versions", "1"];
    let length = mill.measure(&args, |mill| mill.put_back(&kept));
    for _ in 0..12 {
        mill.put_back(&kept);
        mill.stop(&args, length, "INT");
        mill.check_sound(&promised);
    }
    assert_eq!(mill.bench.run(&args).code, 0);
    mill.check_sound(&promised);
    mill.compare_with_a_clean_build();
}

#[test]
fn collecting_beside_a_build_takes_nothing_that_it_needs() {
    let mut mill = Mill::new();
    (0..DOCUMENTS).for_each(|document| mill.edit(document, 40_000));
    mill.build();
    let done = AtomicBool::new(false);
    for round in 0..3 {
        done.store(false, Relaxed);
        let collections = std::thread::scope(|scope| {
            let collector = mill.command(&["gc", "--older-than", "0", "--keep-versions", "0"]);
            let collections = scope.spawn(|| collect_until(collector, &done));
            for _ in 0..6 {
                // Contents that existed before, too: a found result is one that a collection would take.
                for document in 0..DOCUMENTS {
                    if mill.draw(3) > 0 {
                        let text = format!("{} ", mill.draw(3)).repeat(20_000);
                        mill.bench.write(&format!("docs/{}.md", char::from(b'a' + document as u8)), &text);
                    }
                }
                let ran = mill.bench.run(&["build", "//docs/...", "//index:total"]);
                assert_eq!(ran.code, 0, "{ran:?} seed {}", mill.seed);
                let shown = mill.bench.run(&["show", "//index:total"]);
                assert_eq!(shown.code, 0, "{shown:?} seed {}", mill.seed);
            }
            done.store(true, Relaxed);
            collections.join().expect("no collection failed")
        });
        assert!(collections > 0, "round {round}");
        mill.compare_with_a_clean_build();
        let promised = mill.promised();
        mill.check_sound(&promised);
    }
}

/// Collects repeatedly; returns the number of runs.
fn collect_until(mut command: Command, done: &AtomicBool) -> usize {
    let mut times = 0;
    while !done.load(Relaxed) {
        let ran = command.stderr(Stdio::piped()).output().expect("it starts");
        assert!(ran.status.success(), "{ran:?}");
        times += 1;
    }
    times
}
