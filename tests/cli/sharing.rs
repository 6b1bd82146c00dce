//! Many processes, one store: which process waits for which, for how long, and with which message; and that nothing is done or paid for twice.
//!
//! Programs are stopped at gates (named pipes), so that each test knows the progress of the others.

use crate::bench::{Bench, Ran, git};
use crate::money::FULL;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Upper bound of any step; only a defect reaches it.
const LIMIT: Duration = Duration::from_secs(300);

/// Returns the result of `wait`, which must arrive within [`LIMIT`].
fn within<T: Send + 'static>(what: &str, wait: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, came) = mpsc::channel();
    std::thread::spawn(move || send.send(wait()));
    came.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("{what} never came"))
}

/// Two pipes: a program signals its start on the first, and waits at the second.
struct Gate {
    began: PathBuf,
    open: PathBuf,
}

impl Gate {
    fn new(bench: &Bench, name: &str) -> Self {
        let gate = Self {
            began: bench.beside(&format!("{name}.began")),
            open: bench.beside(&format!("{name}.open")),
        };
        let made = Command::new("mkfifo").args([&gate.began, &gate.open]).status().expect("mkfifo");
        assert!(made.success());
        gate
    }

    /// Returns the shell commands that signal the start and wait.
    fn script(&self) -> String {
        format!("echo x > '{}'; cat '{}' > /dev/null", self.began.display(), self.open.display())
    }

    fn wait_for_begin(&self) {
        let began = self.began.clone();
        within("the beginning", move || fs::read(began)).expect("a pipe");
    }

    fn open(&self) {
        let open = self.open.clone();
        within("whoever waits at the gate", move || fs::write(open, "")).expect("a pipe");
    }

    /// Opens the gate for all later programs.
    fn stays_open(&self) {
        let open = self.open.clone();
        std::thread::spawn(move || while fs::write(&open, "").is_ok() {});
    }
}

/// A running command.
struct Running {
    child: Child,
    stderr: Option<BufReader<std::process::ChildStderr>>,
    heard: String,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let stderr = child.stderr.take().map(BufReader::new);
        Self {
            child,
            stderr,
            heard: String::new(),
        }
    }

    /// Waits until a line of standard error contains `words`; returns the line.
    fn hear(&mut self, words: &'static str) -> String {
        let mut stderr = self.stderr.take().expect("it still talks");
        let (stderr, heard) = within(words, move || {
            let mut heard = String::new();
            while stderr.read_line(&mut heard).expect("text") > 0 && !heard.contains(words) {}
            (stderr, heard)
        });
        self.stderr = Some(stderr);
        assert!(heard.contains(words), "{heard}");
        self.heard.push_str(&heard);
        heard.lines().last().unwrap_or_default().to_owned()
    }

    fn end(mut self, bench: &Bench) -> Ran {
        let mut stderr = self.stderr.take().expect("it still talks");
        let rest = within("the end", move || {
            let mut rest = String::new();
            stderr.read_to_string(&mut rest).expect("text");
            rest
        });
        let output = self.child.wait_with_output().expect("an end");
        let mut ran = bench.ran(output);
        ran.err = self.heard + &rest;
        ran
    }
}

/// Returns a manifest whose rule runs the shell `script` on each document.
fn manifest(script: &str) -> String {
    let argv = serde_json::json!(["sh", "-c", script, "sh", "{in.text}"]);
    format!(
        "[workspace]\nname = \"shared\"\nrulesets = []\n\n[producer.count]\nuses = \"command\"\nargv = {argv}\nsandbox = \"off\"\n\n[[rule]]\n\
         target = \"//docs/{{doc}}:words\"\neach = {{ doc = \"glob:docs/*.md\" }}\nproducer = \"count\"\nout = \"{{doc}}.txt\"\n\
         inputs = {{ text = \"//files/{{doc}}:bytes\" }}\n"
    )
}

const ALL: &str = "//docs/...";

/// Returns a bench with two documents; the program of the one that begins with `gate` stops at the gate.
fn gated() -> (Bench, Gate) {
    let bench = Bench::empty();
    let gate = Gate::new(&bench, "gate");
    let script = format!("case \"$(cat \"$1\")\" in gate*) {};; esac; wc -w < \"$1\"", gate.script());
    bench.write("cortex.toml", &manifest(&script));
    bench.write("docs/a.md", "gate one\n");
    bench.write("docs/b.md", "two\n");
    (bench, gate)
}

#[test]
fn commands_that_read_do_not_wait_for_a_build() {
    let (bench, gate) = gated();
    let build = Running::start(bench.command(&["build", ALL]));
    gate.wait_for_begin();
    for args in [
        &["status"][..],
        &["query", "//docs/..."],
        &["explain", "//docs/docs%2Fa.md:words"],
        &["history", "//docs/docs%2Fb.md:words"],
        &["cost"],
        &["gc", "--dry-run"],
    ] {
        let start = Instant::now();
        let ran = bench.run(args);
        assert!(ran.code != 4, "{args:?} {ran:?}");
        // The build yields after some hundredths of a second; the bound allows for a busy machine.
        assert!(start.elapsed() < LIMIT, "{args:?} {:?}", start.elapsed());
    }
    assert_eq!(bench.run(&["status"]).code, 0);
    gate.open();
    let built = build.end(&bench);
    assert!(built.code == 0 && built.err.contains("2 ran"), "{built:?}");
    assert_eq!(
        fs::read_to_string(bench.root().join(".cortex/out/docs/a.md.txt")).expect("laid out"),
        "2\n"
    );
}

#[test]
fn the_second_build_of_a_checkout_waits_for_what_the_first_makes_and_says_so() {
    let (bench, gate) = gated();
    let first = Running::start(bench.command(&["build", ALL]));
    let pid = first.child.id();
    gate.wait_for_begin();
    for refused in [
        bench.run(&["build", "--no-wait", ALL]),
        bench.run(&["build", "//docs/docs/a.md:words", "--lock-timeout", "0"]),
    ] {
        assert_eq!(refused.code, 4, "{refused:?}");
        assert!(
            refused.err.contains("E_BUSY") && refused.err.contains(&format!("pid {pid} (cortex build")),
            "{refused:?}"
        );
    }
    let mut second = Running::start(bench.command(&["build", ALL]));
    let line = second.hear("waiting for a result");
    let who = format!("waiting for a result that is being made already, by pid {pid} (cortex build, ");
    assert!(line.starts_with(&who) && line.ends_with(" s)"), "{line}");
    gate.open();
    let (first, second) = (first.end(&bench), second.end(&bench));
    assert!(first.code == 0 && first.err.contains("2 ran"), "{first:?}");
    assert!(second.code == 0 && second.err.contains("2 cached"), "{second:?}");
    assert_eq!(second.err.matches("waiting for a result").count(), 1, "{second:?}");
    let again = bench.run(&["build", ALL]);
    assert!(again.code == 0 && again.err.contains("up to date"), "{again:?}");
}

#[test]
fn a_checkout_is_free_while_a_program_runs() {
    let (bench, gate) = gated();
    let first = Running::start(bench.command(&["build", ALL]));
    gate.wait_for_begin();
    bench.write("docs/c.md", "one two three\n");
    let beside = bench.run(&["build", "//docs/docs/c.md:words", "--lock-timeout", "60"]);
    assert_eq!(beside.code, 0, "{beside:?}");
    gate.open();
    let first = first.end(&bench);
    assert!(first.code == 0 && first.err.contains("2 ran"), "{first:?}");
    for (name, words) in [("a", "2\n"), ("b", "1\n"), ("c", "3\n")] {
        let laid_out = fs::read_to_string(bench.root().join(format!(".cortex/out/docs/{name}.md.txt")));
        assert_eq!(laid_out.expect("laid out"), words, "{name}");
    }
    let again = bench.run(&["build", ALL]);
    assert!(again.code == 0 && again.err.contains("up to date"), "{again:?}");
}

#[test]
fn two_builds_that_want_the_same_run_each_program_once() {
    const MANY: usize = 24;
    let bench = Bench::empty();
    let calls = bench.beside("calls");
    let script = format!("echo x >> '{}'; wc -w < \"$1\"", calls.display());
    bench.write("cortex.toml", &manifest(&script));
    (0..MANY).for_each(|n| bench.write(&format!("docs/{n:02}.md"), &format!("word {n}\n")));
    git(&bench.root(), &["init", "-q"]);
    git(&bench.root(), &["add", "."]);
    git(&bench.root(), &["commit", "-q", "-m", "x"]);
    let folders = [bench.root(), worktree(&bench, "other")];
    let builds: Vec<Running> = folders
        .iter()
        .map(|folder| Running::start(at(&bench, folder, &["build", ALL])))
        .collect();
    for build in builds {
        let built = build.end(&bench);
        assert_eq!(built.code, 0, "{built:?}");
    }
    folders.iter().for_each(|folder| assert_eq!(tally(&bench, folder, ALL), (0, 0)));
    assert_eq!(fs::read_to_string(calls).expect("calls").lines().count(), MANY);
}

/// The disk is unmounted: a checkout is not forgotten while a process builds it, because the build may bring it back.
#[test]
fn a_checkout_that_is_being_built_is_not_forgotten() {
    let (bench, gate) = gated();
    bench.write("docs/a.md", "one\n");
    assert_eq!(bench.run(&["build", ALL]).code, 0);
    bench.write("docs/a.md", "gate one\n");
    let mut build = Running::start(bench.command(&["build", ALL]));
    gate.wait_for_begin();
    let store = bench.store();
    let (here, away) = (bench.root(), bench.beside("away"));
    let store = store.to_str().expect("text");
    fs::rename(&here, &away).expect("moved");
    let gc = |args: &[&str]| {
        let flags = ["gc", "--json", "--older-than", "0", "--forget-checkouts", "--store", store];
        let mut command = bench.command(&[&flags[..], args].concat());
        let ran = bench.ran(command.current_dir(bench.beside(".")).output().expect("it starts"));
        assert_eq!(ran.code, 0, "{ran:?}");
        let json = ran.json();
        let count = |what: &str| json[what].as_array().map_or(0, Vec::len);
        (count("vanished"), count("forgotten"))
    };
    assert_eq!(gc(&["--dry-run"]), (1, 0));
    assert_eq!(gc(&[]), (1, 0));
    build.child.kill().expect("killed");
    build.child.wait().expect("an end");
    assert_eq!(gc(&["--dry-run"]), (0, 1));
    // Its rows are complete, and the next build has only the edit to do.
    fs::rename(&away, &here).expect("moved back");
    bench.write("docs/a.md", "one\n");
    let ran = bench.run(&["build", ALL]);
    assert!(ran.code == 0 && ran.err.contains("up to date"), "{ran:?}");
    fs::rename(&here, &away).expect("moved");
    assert_eq!(gc(&[]), (0, 1));
    gate.open();
}

#[test]
fn a_process_that_holds_the_store_for_long_is_named() {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    // Another process holds the lock as a reader does, without end.
    let lock = fs::File::options()
        .write(true)
        .open(bench.store().join("store.lock"))
        .expect("a lock");
    lock.lock().expect("locked");
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970")
        .as_secs()
        - 12;
    fs::write(
        bench.store().join("store.lock"),
        format!("{:<120}", format!("pid 123 (cortex gc) since {since}")),
    )
    .expect("a text");
    let refused = bench.run(&["status", "--no-wait"]);
    assert!(
        refused.code == 4 && refused.err.contains("E_BUSY") && refused.err.contains("pid 123 (cortex gc"),
        "{refused:?}"
    );
    let mut waiting = Running::start(bench.command(&["status"]));
    let line = waiting.hear("waiting");
    assert!(
        line.starts_with("waiting for the store, held by pid 123 (cortex gc, 1") && line.ends_with(" s)"),
        "{line}"
    );
    drop(lock);
    assert_eq!(waiting.end(&bench).code, 0);
}

#[test]
fn a_killed_build_leaves_no_lock_behind() {
    let (bench, gate) = gated();
    let mut build = Running::start(bench.command(&["build", ALL]));
    gate.wait_for_begin();
    build.child.kill().expect("killed");
    build.child.wait().expect("an end");
    // Its program is still at the gate.
    gate.open();
    bench.write("docs/a.md", "no such\n");
    let again = bench.run(&["build", "--no-wait", ALL]);
    assert_eq!(again.code, 0, "{again:?}");
}

/// Returns a repository with the store at its default place.
fn repository(files: usize, script: &str) -> Bench {
    let bench = Bench::empty();
    bench.write("cortex.toml", &manifest(script));
    for n in 0..files {
        bench.write(&format!("docs/{n}.md"), &format!("word {n}\n"));
    }
    git(&bench.root(), &["init", "-q"]);
    git(&bench.root(), &["add", "."]);
    git(&bench.root(), &["commit", "-q", "-m", "x"]);
    bench
}

fn worktree(bench: &Bench, name: &str) -> PathBuf {
    let folder = bench.beside(name);
    git(
        &bench.root(),
        &["worktree", "add", "-q", "--detach", folder.to_str().expect("text")],
    );
    folder
}

/// Returns the program as a command in a folder, with the store at its default place.
fn at(bench: &Bench, folder: &Path, args: &[&str]) -> Command {
    let mut command = bench.command(args);
    command.current_dir(folder).env_remove("CORTEX_STORE");
    command
}

/// Builds a pattern in a folder; returns the numbers of run and of cached targets.
fn tally(bench: &Bench, folder: &Path, pattern: &str) -> (u64, u64) {
    let ran = bench.ran(
        at(bench, folder, &["--output", "json", "build", pattern])
            .output()
            .expect("it starts"),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let tally = &ran.json()["tally"];
    let count = |name: &str| tally[name].as_u64().unwrap_or_else(|| panic!("{tally}"));
    (count("ran"), count("cached"))
}

#[test]
fn worktrees_share_a_store_and_each_costs_only_its_changes() {
    let bench = repository(6, "wc -w < \"$1\"");
    assert_eq!(tally(&bench, &bench.root(), ALL), (6, 0));
    for n in 0..50 {
        let folder = worktree(&bench, &format!("tree{n}"));
        fs::write(folder.join("docs/3.md"), format!("changed {n} {}\n", "x ".repeat(n))).expect("a file");
        assert_eq!(tally(&bench, &folder, ALL), (1, 5), "{n}");
        assert_eq!(
            fs::read_to_string(folder.join(".cortex/out/docs/3.md.txt")).expect("laid out"),
            format!("{}\n", n + 2)
        );
        assert_eq!(tally(&bench, &folder, ALL), (0, 0), "{n}");
    }
    let stores = bench.beside(".cache/cortex/stores");
    let stores: Vec<PathBuf> = fs::read_dir(stores)
        .expect("stores")
        .map(|entry| entry.expect("a folder").path())
        .collect();
    assert_eq!(stores.len(), 1, "{stores:?}");
    assert_eq!(fs::read_dir(stores[0].join("views")).expect("checkouts").count(), 51);
    assert_eq!(tally(&bench, &bench.root(), ALL), (0, 0));
}

#[test]
fn two_worktrees_are_built_at_once() {
    let bench = Bench::empty();
    let (one, other) = (Gate::new(&bench, "one"), Gate::new(&bench, "other"));
    let script = format!(
        "case \"$(cat \"$1\")\" in one*) {};; other*) {};; esac; wc -w < \"$1\"",
        one.script(),
        other.script()
    );
    bench.write("cortex.toml", &manifest(&script));
    (0..40).for_each(|n| bench.write(&format!("docs/{n}.md"), &format!("word {n}\n")));
    git(&bench.root(), &["init", "-q"]);
    git(&bench.root(), &["add", "."]);
    git(&bench.root(), &["commit", "-q", "-m", "x"]);
    let (left, right) = (worktree(&bench, "left"), worktree(&bench, "right"));
    fs::write(left.join("docs/1.md"), "one two three\n").expect("a file");
    fs::write(right.join("docs/1.md"), "other\n").expect("a file");
    let builds = [&left, &right].map(|folder| Running::start(at(&bench, folder, &["build", ALL])));
    // Both are running.
    one.wait_for_begin();
    other.wait_for_begin();
    one.open();
    other.open();
    for build in builds {
        let built = build.end(&bench);
        assert_eq!(built.code, 0, "{built:?}");
    }
    for (folder, words) in [(&left, "3\n"), (&right, "1\n")] {
        assert_eq!(tally(&bench, folder, ALL), (0, 0));
        for n in 0..40 {
            let laid_out = fs::read_to_string(folder.join(format!(".cortex/out/docs/{n}.md.txt"))).expect("laid out");
            assert_eq!(laid_out, if n == 1 { words } else { "2\n" }, "{n}");
        }
    }
}

/// Whether a process has a file below a folder of that name open.
fn has_open(pid: u32, folder: &str) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    open.flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|path| path.parent().is_some_and(|parent| parent.ends_with(folder)))
}

/// Returns a repository with one type, and a model that stops at a gate and counts its calls.
fn paid() -> (Bench, Gate) {
    let bench = Bench::empty();
    let gate = Gate::new(&bench, "gate");
    fs::create_dir(bench.beside("model")).expect("a folder");
    fs::write(bench.beside("model/full"), FULL).expect("a file");
    let script = format!("cat > /dev/null; printf x >> \"$0/calls\"; {}; cat \"$0/full\"", gate.script());
    let argv = serde_json::json!(["sh", "-c", script, bench.beside("model")]);
    bench.write(
        "cortex.toml",
        &format!(
            "[workspace]\nname = \"p\"\nrulesets = [\"csharp\"]\n\n[model.sim]\napi = \"command\"\nname = \"sim\"\ncommand = {argv}\n\n\
             [producer.semantic]\nparams.model = \"sim\"\n"
        ),
    );
    bench.write("A.cs", "namespace N;\npublic class A { public int Get() { return 1; } }\n");
    git(&bench.root(), &["init", "-q"]);
    git(&bench.root(), &["add", "."]);
    git(&bench.root(), &["commit", "-q", "-m", "x"]);
    (bench, gate)
}

const SUMMARY: &str = "//types/N.A:semantic";

fn wait_until(what: &'static str, holds: impl Fn() -> bool + Send + 'static) {
    within(what, move || {
        while !holds() {
            std::thread::yield_now();
        }
    });
}

#[test]
fn two_processes_pay_once_for_one_answer() {
    let (bench, gate) = paid();
    let other = worktree(&bench, "other");
    let first = Running::start(at(&bench, &bench.root(), &["build", SUMMARY]));
    gate.wait_for_begin();
    let mut second = Running::start(at(&bench, &other, &["build", SUMMARY]));
    let pid = second.child.id();
    wait_until("the second at the lock of the answer", move || has_open(pid, "flights"));
    let line = second.hear("waiting for a result");
    let who = format!(
        "waiting for a result that is being made already, by pid {} (cortex build, ",
        first.child.id()
    );
    assert!(line.starts_with(&who) && line.ends_with(" s)"), "{line}");
    // A reader waits for neither.
    assert_eq!(bench.ran(at(&bench, &other, &["status"]).output().expect("it starts")).code, 0);
    gate.open();
    let (first, second) = (first.end(&bench), second.end(&bench));
    assert_eq!((first.code, second.code), (0, 0), "{first:?} {second:?}");
    assert_eq!(fs::read(bench.beside("model/calls")).expect("calls"), b"x", "{second:?}");
    assert_eq!(second.err.matches("waiting for a result").count(), 1, "{second:?}");
    let cost = |folder: &Path| {
        bench
            .ran(at(&bench, folder, &["cost", "--json"]).output().expect("it starts"))
            .json()
    };
    let (paid, saved) = (cost(&bench.root()), cost(&other));
    assert_eq!(paid["spent"]["spent"]["calls"], 1, "{paid}");
    assert_eq!(saved["spent"]["spent"]["calls"], 0, "{saved}");
    assert_eq!(tally(&bench, &other, SUMMARY), (0, 0));
    let stores = fs::read_dir(bench.beside(".cache/cortex/stores")).expect("stores");
    for store in stores.flatten() {
        assert_eq!(
            fs::read_dir(store.path().join("flights")).expect("flights").count(),
            0,
            "no file stays"
        );
    }
}

#[test]
fn a_checkout_is_free_while_a_model_is_waited_for() {
    let (bench, gate) = paid();
    let first = Running::start(bench.command(&["build", SUMMARY]));
    gate.wait_for_begin();
    bench.write("B.cs", "namespace N;\npublic class B { public A Other() { return null; } }\n");
    let meanwhile: [&[&str]; 6] = [
        &["build", "B:outline"],
        &["build", "//index:json"],
        &["build", "--dry-run", "//..."],
        &["node", "get", "//types/N.B:xmldoc", "--freshness", "strong"],
        &["prompt", "B:semantic"],
        &["invalidate", "B:impl"],
    ];
    for args in meanwhile {
        let ran = bench.run(&[args, &["--lock-timeout", "60"]].concat());
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    }
    gate.open();
    let first = first.end(&bench);
    assert_eq!(first.code, 0, "{first:?}");
    // The answered summary is in place, beside the other build's outputs.
    let laid_out = fs::read_dir(bench.root().join(".cortex/out/types")).expect("a folder");
    let mut names = laid_out.map(|file| file.expect("a file").file_name().into_string().expect("text"));
    assert!(names.any(|name| name.ends_with(".semantic.md")));
    let state = |name: &str| bench.run(&["semantic", name, "--json"]).json()["semanticState"].clone();
    assert_eq!((state("A"), state("B")), ("cached".into(), "none".into()));
    let again = bench.run(&["build", SUMMARY, "B:outline"]);
    assert!(again.code == 0 && again.err.contains("all up to date"), "{again:?}");
    assert_eq!(fs::read(bench.beside("model/calls")).expect("calls"), b"x");
    assert_eq!(bench.run(&["cost", "--json"]).json()["spent"]["spent"]["calls"], 1);
}

#[test]
fn a_process_that_waits_for_an_answer_asks_when_the_other_is_killed() {
    let (bench, gate) = paid();
    let other = worktree(&bench, "other");
    let mut first = Running::start(at(&bench, &bench.root(), &["build", SUMMARY]));
    gate.wait_for_begin();
    let second = Running::start(at(&bench, &other, &["build", SUMMARY]));
    let pid = second.child.id();
    wait_until("the second at the lock of the answer", move || has_open(pid, "flights"));
    first.child.kill().expect("killed");
    first.child.wait().expect("an end");
    // The first model process still runs; the second build asks another one.
    gate.open();
    gate.wait_for_begin();
    assert_eq!(fs::read(bench.beside("model/calls")).expect("calls"), b"xx");
    // The first model may still be at the gate, and would pass in place of the second.
    gate.stays_open();
    let second = second.end(&bench);
    assert_eq!(second.code, 0, "{second:?}");
}

#[test]
fn a_checkout_with_two_stores_is_told_and_nothing_is_lost() {
    let bench = Bench::documents();
    bench.write(".cortex/out/mine.txt", "a person's\n");
    let (a, b) = (bench.beside("a"), bench.beside("b"));
    let (a, b) = (a.to_str().expect("text"), b.to_str().expect("text"));
    let build = |store: &str| bench.run(&["build", "//index:total", "--store", store]);
    let total = || fs::read_to_string(bench.root().join(".cortex/out/total.txt")).expect("laid out");
    let result_of = |ran: &Ran| {
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.err.contains("W_OTHER_STORE")
    };
    assert!(!result_of(&build(a)) && !result_of(&build(a)));
    let before = total();
    assert!(result_of(&build(b)), "another store laid the files out");
    assert!(!result_of(&build(b)));
    assert_eq!(total(), before);
    bench.write("docs/a.md", "one\n");
    assert!(!result_of(&build(b)));
    let after = total();
    assert_ne!(after, before);
    // The first store does not know the second one's files: it checks, and writes its own.
    bench.write("docs/a.md", "one two three\n");
    assert!(result_of(&build(a)));
    assert_eq!(total(), before);
    assert_eq!(
        fs::read_to_string(bench.root().join(".cortex/out/mine.txt")).expect("still there"),
        "a person's\n"
    );
    // A read-only command reports and changes nothing.
    let looked = bench.run(&["status", "--store", b]);
    assert!(!result_of(&looked));
    assert!(!result_of(&build(a)));
    // With equal files in both, nothing has to be written, and it is reported once.
    assert!(result_of(&build(b)) && result_of(&build(a)));
    assert!(!result_of(&build(a)), "nothing was to be done the time before");
    // A recreated store is not another store.
    fs::remove_dir_all(a).expect("removed");
    assert!(!result_of(&build(a)) && !result_of(&build(a)));
}
