//! Programs with forbidden actions, at every sandbox level of this machine.

use crate::bench::{Bench, Ran};
use std::net::TcpListener;
use std::process::{Command, Stdio};

/// A sandbox level, and the way to it.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Value in the manifest.
    pub sandbox: &'static str,
    /// Level reported for the result.
    pub level: &'static str,
    /// Whether namespaces are disabled on the machine.
    pub bare: bool,
}

impl Way {
    /// Runs the program on this machine, or without namespaces.
    pub fn run(self, bench: &Bench, args: &[&str]) -> Ran {
        bench.ran(self.command(bench, args).output().expect("runs"))
    }

    /// Returns the command of such a run.
    pub fn command(self, bench: &Bench, args: &[&str]) -> Command {
        let own = bench.command(args);
        if !self.bare {
            return own;
        }
        // The limit applies to the new namespace only.
        let line = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
        through(&["unshare", "-Ur", "sh", "-c", line], &own)
    }

    /// Builds the one target.
    pub fn build(self, bench: &Bench) -> Ran {
        self.run(bench, &["build", "//a:b"])
    }

    /// Returns the output that `show` prints for the target.
    pub fn shown(self, bench: &Bench) -> String {
        self.run(bench, &["show", "//a:b"]).out
    }
}

/// Wraps a command in a program that runs it.
pub fn through(before: &[&str], own: &Command) -> Command {
    let mut command = Command::new(before[0]);
    command.args(&before[1..]).arg(own.get_program()).args(own.get_args());
    command.env_clear().stdin(Stdio::null());
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = own.get_current_dir() {
        command.current_dir(folder);
    }
    command
}

/// Returns every level of this machine.
pub fn ways() -> Vec<Way> {
    let way = |sandbox, level, bare| Way { sandbox, level, bare };
    let off = way("off", "none", false);
    match best().as_str() {
        "none" => vec![off],
        "landlock" => vec![off, way("best-effort", "landlock", false)],
        _ => vec![off, way("best-effort", "landlock", true), way("strict", "strict", false)],
    }
}

fn best() -> String {
    let found = Bench::empty().run(&["dev", "sandbox"]).json();
    found["best"].as_str().expect("a level").to_owned()
}

#[test]
fn a_machine_that_can_make_namespaces_confines_strictly() {
    let can = Command::new("unshare").args(["-Urmpf", "--mount-proc", "true"]).output();
    let can = can.is_ok_and(|output| output.status.success());
    assert_eq!(best() == "strict", can);
}

/// Returns the levels that confine programs.
pub fn confined() -> Vec<Way> {
    let ways: Vec<Way> = ways().into_iter().skip(1).collect();
    assert!(
        !ways.is_empty(),
        "this machine can confine nothing: neither user namespaces nor Landlock"
    );
    ways
}

/// Returns a workspace with one program, a shell line, over one document.
pub fn program(way: Way, line: &str, more: &str) -> Bench {
    let sandbox = way.sandbox;
    let bench = Bench::empty();
    let manifest = format!(
        "[workspace]\nname = \"bench\"\nrulesets = []\n\n[producer.program]\nuses = \"command\"\nshell = '''{line}'''\nsandbox = \"{sandbox}\"\n{more}\n\n\
         [[rule]]\ntarget = \"//a:b\"\nproducer = \"program\"\ninputs = {{ text = \"//files/a.txt:bytes\" }}\n"
    );
    bench.write("cortex.toml", &manifest);
    bench.write("a.txt", "one two three\n");
    bench
}

/// Counts the processes with a word in their command line.
pub fn processes_with(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("processes");
    let lines = entries.filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

#[test]
fn every_level_makes_the_same_output_under_the_same_key() {
    for way in ways() {
        let bench = program(way, "wc -w < {in.text}; ls; echo {label}; umask", "");
        let ran = way.build(&bench);
        let shown = match way.level {
            "none" => "1 ran (1 without a sandbox)".to_owned(),
            level => format!("1 ran (1 in a {level} sandbox)"),
        };
        assert!(ran.code == 0 && ran.err.contains(&shown), "{way:?}: {ran:?}");
        assert_eq!(way.shown(&bench), "3\ntext\n//a:b\n0022\n");
        // Neither the level nor a bound is part of a key.
        let other = if way.sandbox == "off" { "best-effort" } else { "off" };
        bench.change("cortex.toml", &format!("\"{}\"", way.sandbox), &format!("\"{other}\"\ntimeout = 5"));
        let again = way.build(&bench);
        assert!(again.err.contains("up to date"), "{way:?}: {again:?}");
    }
}

#[test]
fn a_program_reads_declared_paths_only() {
    for way in confined() {
        let bench = program(way, "cat SECRET 2>/dev/null || echo nothing", "");
        let secret = bench.beside("secret");
        std::fs::write(&secret, "the secret").expect("written");
        bench.change("cortex.toml", "SECRET", &secret.to_string_lossy());
        assert_eq!(way.shown(&bench), "nothing\n", "{way:?}");
        bench.change(
            "cortex.toml",
            "sandbox =",
            &format!("readable = [\"{}\"]\nsandbox =", secret.display()),
        );
        bench.write("a.txt", "a bound alone makes nothing stale");
        assert_eq!(way.shown(&bench), "the secret", "{way:?}");
        // The same holds for a link.
        let link = bench.beside("link");
        std::os::unix::fs::symlink(&secret, &link).expect("linked");
        let (secret, link) = (secret.display().to_string(), link.display().to_string());
        bench.change("cortex.toml", &secret, &link);
        assert_eq!(way.shown(&bench), "the secret", "{way:?}");
    }
}

#[test]
fn system_folders_of_a_strict_sandbox_cannot_be_declared_readable() {
    for path in ["/", "/etc", "/etc/", "/dev", "/proc", "/tmp", "/sys/devices"] {
        let bench = program(ways()[0], "true", &format!("readable = [\"{path}\"]"));
        let refused = bench.run(&["build", "//a:b"]);
        let stderr = refused.err.contains(&format!("'readable' cannot have {path}: "));
        assert!(refused.code == 2 && stderr, "{path}: {refused:?}");
    }
}

#[test]
fn nothing_is_written_outside_the_folder() {
    for way in confined() {
        let bench = program(way, "echo x > OUTSIDE && exit 0; echo refused", "");
        let outside = bench.beside("outside");
        bench.change("cortex.toml", "OUTSIDE", &outside.to_string_lossy());
        assert_eq!(way.shown(&bench), "refused\n", "{way:?}");
        assert!(!outside.exists(), "{way:?}");
    }
}

#[test]
fn no_one_is_called() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("bound").port();
    let line = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo open || echo closed");
    for way in ways() {
        let expected = if way.level == "none" { "open\n" } else { "closed\n" };
        assert_eq!(way.shown(&program(way, &line, "")), expected, "{way:?}");
    }
}

#[test]
fn nothing_goes_on_when_the_program_has_ended() {
    for (at, way) in confined().into_iter().enumerate() {
        let mark = format!("300.{}{at}", std::process::id());
        let line = format!("(setsid sh -c 'setsid sleep {mark} & sleep {mark}' >/dev/null 2>&1 &); setsid sleep {mark} & echo done");
        assert_eq!(way.shown(&program(way, &line, "")), "done\n", "{way:?}");
        assert_eq!(processes_with(&mark), 0, "{way:?}");

        let never = program(way, &format!("setsid sleep {mark} & setsid sleep {mark}"), "timeout = 1");
        let ran = way.build(&never);
        assert!(ran.code == 1 && ran.err.contains("did not end within 1 s"), "{way:?}: {ran:?}");
        assert_eq!(processes_with(&mark), 0, "{way:?}");
    }
}

#[test]
fn a_killed_build_leaves_no_program_behind() {
    for (at, way) in confined().into_iter().enumerate() {
        let mark = format!("301.{}{at}", std::process::id());
        let bench = program(way, &format!("setsid sleep {mark} & sleep {mark}"), "");
        let mut child = way.command(&bench, &["build", "//a:b"]).spawn().expect("starts");
        while processes_with(&mark) < 2 {
            std::thread::yield_now();
        }
        child.kill().expect("killed");
        child.wait().expect("reaped");
        while processes_with(&mark) > 0 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn limits_bound_the_resources_of_a_program() {
    let many = "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done";
    let bounded = [
        (
            "head -c 30000000 /dev/zero > big",
            "file_size = \"10 MB\"",
            "than `file_size` allows",
        ),
        (many, "disk = \"20 MB\"", "more than 19 MiB to its folder"),
        (
            "i=0; while :; do i=$((i+1)); : > f$i; done",
            "disk = \"5 MB\"",
            "more than 4 MiB to its folder",
        ),
        (
            "python3 -c 'x = bytearray(900000000)'",
            "memory = \"300 MB\"",
            "failed: exit status: 1",
        ),
        ("while :; do :; done", "cpu = 1", "failed: signal: "),
        ("yes", "", "more than 256 MiB to standard output"),
    ];
    for way in confined() {
        for (line, bound, told) in bounded {
            let ran = way.build(&program(way, line, bound));
            assert!(ran.code == 1 && ran.err.contains(told), "{way:?} {line}: {ran:?}");
        }
    }
}

#[test]
fn a_program_that_spoils_its_input_is_told() {
    let spoils = [
        ("rm {in.text}", "removed its input"),
        ("echo x >> {in.text}", "changed its input"),
        ("chmod +x {in.text}", "changed the mode of its input"),
        ("ln -sf /etc/hostname {in.text}", "put something else into the place of its input"),
        ("rm {in.text}; mkdir {in.text}", "put something else into the place of its input"),
    ];
    for way in ways() {
        for (line, stderr) in spoils {
            let ran = way.build(&program(way, line, ""));
            let stderr = ran.err.contains(&format!("'sh' {stderr} 'text'"));
            assert!(ran.code == 1 && stderr, "{way:?} {line}: {ran:?}");
        }
    }
}

#[test]
fn of_other_processes_a_program_learns_nothing() {
    for way in confined() {
        let names = "env | cut -d= -f1 | grep -vxE '_|PWD|OLDPWD|SHLVL|PATH|LC_ALL|TZ|TMPDIR|OWN'; echo $OWN";
        let spies = "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep CANARY; kill -0 1 2>/dev/null; true";
        let bench = program(way, &format!("{names}; {spies}"), "env = { OWN = \"own\" }");
        let mut command = way.command(&bench, &["show", "//a:b"]);
        let ran = bench.ran(command.env("CANARY", "c4n4ry").output().expect("runs"));
        assert_eq!(ran.out, "own\n", "{way:?}: {ran:?}");
    }
}

#[test]
fn a_strict_sandbox_that_cannot_be_had_is_an_error_of_its_own() {
    for way in ways().into_iter().filter(|way| way.level == "landlock") {
        let bench = program(way, "echo ran", "");
        bench.change("cortex.toml", "\"best-effort\"", "\"strict\"");
        let ran = way.build(&bench);
        assert_eq!(ran.code, 6, "{ran:?}");
        assert!(
            ran.err.contains("error[E_SANDBOX]") && ran.err.contains("is not available here"),
            "{ran:?}"
        );
    }
}

#[test]
fn settings_of_the_machine_are_kept() {
    // The script writes back the present value, so that a success does no harm.
    let setting = "/proc/sys/vm/swappiness";
    let shell = format!("v=$(cat {setting}); if (echo $v > {setting}) 2>/dev/null; then echo written; else echo kept; fi");
    for way in ways().into_iter().filter(|way| way.sandbox != "off") {
        let bench = program(way, &shell, "");
        assert_eq!(way.shown(&bench), "kept\n", "{way:?}");
    }
}

#[test]
fn a_rebuild_reports_outputs_that_differ() {
    let bench = program(ways()[0], "wc -w < {in.text}", "");
    let same = bench.run(&["build", "--rebuild", "//a:b"]);
    assert!(same.code == 0 && same.err.contains("1 rebuilt"), "{same:?}");
    let bench = program(ways()[0], "wc -w < {in.text}; cat /proc/sys/kernel/random/uuid", "");
    let made = bench.run(&["show", "//a:b"]).out;
    let other = bench.run(&["build", "--rebuild", "//..."]);
    assert_eq!(other.code, 8, "{other:?}");
    assert!(other.err.contains("error[E_NOT_REPRODUCIBLE] //a:b"), "{other:?}");
    // The old output stays, and a build has nothing to do.
    assert_eq!(bench.run(&["show", "//a:b"]).out, made);
    assert!(bench.run(&["build", "//..."]).err.contains("up to date"));
    // A failing target does not hide differing ones, and is reported once.
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    let bad = "[producer.bad]\nuses = \"command\"\nshell = \"exit 3\"\n[[rule]]\ntarget = \"//a:bad\"\nproducer = \"bad\"\n";
    bench.write("cortex.toml", &format!("{manifest}\n{bad}"));
    let other = bench.run(&["build", "--rebuild", "//..."]);
    assert_eq!((other.code, other.err.matches("exit status: 3").count()), (8, 1), "{other:?}");
    assert!(other.err.contains("error[E_NOT_REPRODUCIBLE] //a:b"), "{other:?}");
}

#[test]
fn open_files_of_the_caller_do_not_reach_a_program() {
    for way in ways() {
        let bench = program(way, "cat <&9 2>/dev/null; ls /proc/self/fd/8/ 2>/dev/null; echo end", "");
        let secret = bench.beside("secret");
        std::fs::write(&secret, "the secret").expect("written");
        let own = way.command(&bench, &["show", "//a:b"]);
        let line = format!("exec \"$0\" \"$@\" 8<{} 9<{}", bench.root().display(), secret.display());
        let ran = bench.ran(through(&["sh", "-c", &line], &own).output().expect("runs"));
        assert_eq!(ran.out, "end\n", "{way:?}: {ran:?}");
    }
}

#[test]
fn names_of_files_are_no_commands() {
    let bench = program(ways()[0], "echo \"made for {label}\"", "");
    bench.change(
        "cortex.toml",
        "target = \"//a:b\"",
        "target = \"//d/{doc}:b\"\neach = { doc = \"glob:docs/*\" }",
    );
    bench.write("docs/$(touch injected; echo owned).md", "x");
    bench.write("docs/\"; echo owned; \".md", "x");
    let built = bench.run(&["build", "//d/..."]);
    assert_eq!(built.code, 0, "{built:?}");
    let labels = bench.run(&["query", "//d/..."]).out;
    for label in labels.lines() {
        let shown = bench.run(&["show", label]).out;
        assert_eq!(shown, format!("made for {label}\n"));
    }
}

#[test]
fn a_program_cannot_loosen_what_binds_its_watcher() {
    for (at, way) in confined().into_iter().enumerate() {
        let mark = format!("302.{}{at}", std::process::id());
        let line = format!("prlimit --pid $PPID --nofile=0:0; (setsid sleep {mark} >/dev/null 2>&1 &); echo done");
        assert_eq!(way.shown(&program(way, &line, "timeout = 20")), "done\n", "{way:?}");
        assert_eq!(processes_with(&mark), 0, "{way:?}");
    }
}

#[test]
fn deep_and_many_folders_are_taken_away_and_collected() {
    let deep = "python3 -c 'import os\nfor i in range(12000): os.mkdir(\"d\"); os.chdir(\"d\")'; echo made";
    for way in ways() {
        assert_eq!(way.shown(&program(way, deep, "")), "made\n", "{way:?}");
    }
    let many = program(
        ways()[0],
        "mkdir o; for i in $(seq 300); do mkdir o/$i; echo $i > o/$i/f; done",
        "outputs = { o = \"o/\" }",
    );
    let built = many.run(&["build", "//a:b"]);
    assert_eq!(built.code, 0, "{built:?}");
}
