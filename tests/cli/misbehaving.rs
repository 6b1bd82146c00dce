//! Misbehaving programs at every sandbox level: each is reported in one sentence with a next step, blocks no other target, and stores nothing.

use crate::bench::Bench;
use crate::sandbox::{Way, confined, processes_with, program, through, ways};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A misbehaving program.
struct Case {
    /// Keys of its producer.
    keys: String,
    /// Alternative messages, one of which must occur; a level that forbids an action fails earlier.
    told: &'static [&'static str],
}

/// Returns a case with a shell line and its declared outputs.
fn line(line: &str, makes: &str, told: &'static [&'static str]) -> Case {
    let keys = format!("shell = '''{line}'''\n{}", outputs(makes));
    Case { keys, told }
}

fn outputs(path: &str) -> String {
    match path {
        "" => String::new(),
        path => format!("outputs = {{ o = \"{path}\" }}"),
    }
}

fn keys(keys: &str, told: &'static [&'static str]) -> Case {
    let keys = keys.to_owned();
    Case { keys, told }
}

/// Returns a workspace with all cases, and a good program.
fn workspace(way: Way, cases: &[Case]) -> Bench {
    let bench = Bench::empty();
    let mut manifest = "[workspace]\nname = \"bench\"\nrulesets = []\n".to_owned();
    let good = keys("shell = \"wc -w < {in.text}\"", &[]);
    for (at, case) in cases.iter().chain([&good]).enumerate() {
        manifest.push_str(&format!(
            "\n[producer.p{at}]\nuses = \"command\"\nsandbox = \"{}\"\n{}\n\n[[rule]]\ntarget = \"//a:c{at}\"\nproducer = \"p{at}\"\n\
             inputs = {{ text = \"//files/a.txt:bytes\" }}\n",
            way.sandbox, case.keys
        ));
    }
    bench.write("a.txt", "one two three\n");
    let folder = bench.beside("").to_string_lossy().into_owned();
    bench.write("cortex.toml", &manifest.replace("BESIDE/", &folder));
    bench
}

/// Builds all of them twice, and checks that each is reported both times and only the good one has an output.
fn told(way: Way, bench: &Bench, cases: &[Case]) {
    for round in 0..2 {
        let built = way.run(bench, &["build", "--json", "//..."]);
        assert_eq!(built.code, 1, "{way:?}: {built:?}");
        let report = built.json();
        let errors = report["failures"].as_array().expect("a list");
        for (at, case) in cases.iter().enumerate() {
            let label = format!("//a:c{at}");
            let own: Vec<_> = errors.iter().filter(|error| error["label"] == *label).collect();
            let [error] = own[..] else {
                panic!("{way:?} {}: {own:?} in {built:?}", case.keys)
            };
            let message = error["message"].as_str().expect("a sentence");
            assert!(
                case.told.iter().any(|told| message.contains(told)),
                "{way:?} {}: {error}",
                case.keys
            );
            assert!(
                !message.contains('\n') && error["hint"].is_string(),
                "{way:?} {}: {error}",
                case.keys
            );
        }
        let ran = report["tally"]["ran"].as_u64();
        assert_eq!((errors.len(), ran), (cases.len(), Some(1 - round)), "{way:?}: {built:?}");
    }
    let good = format!("//a:c{}", cases.len());
    assert_eq!(way.run(bench, &["show", &good]).out, "3\n", "{way:?}");
}

#[test]
fn every_level_refuses_what_cannot_be_an_output() {
    let socket = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"out\")'";
    let cases = [
        line("true", "out", &["was not made, although the program ended well"]),
        line("exit 0", "out/", &["was not made, although the program ended well"]),
        line("ln -s /etc/hostname out", "out", &["'out' is a symbolic link"]),
        line("mkdir out; ln -s /etc out/etc", "out/", &["'out/etc' is a symbolic link"]),
        line(
            "mkdir out; touch out/a; mv out away; ln -s BESIDE/ out",
            "out/",
            &["'out' is a symbolic link"],
        ),
        line("ln -s BESIDE/ sub", "sub/ws/a.txt", &["is behind a symbolic link"]),
        line("mkfifo out", "out", &["is a pipe"]),
        line("mknod out c 1 3", "out", &["is a device", "failed: exit status: 1"]),
        line(socket, "out", &["is a socket", "failed: exit status: 1"]),
        line("mkdir out; touch out/$(printf '\\377')", "out/", &["has a name that is not UTF-8"]),
        line(
            "mkdir out; touch \"$(printf 'out/a\\nb')\"",
            "out/",
            &["cannot be the name of a file"],
        ),
        line("truncate -s 300M out", "out", &["has more than 256 MiB"]),
        line("mkdir out", "out", &["is a folder"]),
        line("echo > out", "out/", &["is a file"]),
    ];
    for way in ways() {
        told(way, &workspace(way, &cases), &cases);
    }
}

#[test]
fn programs_that_fail_are_told_at_every_level() {
    let never = "exec >&- 2>&-; while :; do :; done";
    let cases = [
        line("exit 255", "", &["failed: exit status: 255"]),
        line("kill -SEGV $$", "", &["failed: signal: 11"]),
        line("kill -KILL $$", "", &["failed: signal: 9"]),
        line("kill -KILL 0", "", &["failed: signal: 9"]),
        line("rm {in.text}; exit 3", "", &["failed: exit status: 3"]),
        line("mkdir deep; chmod 000 deep .; exit 4", "", &["failed: exit status: 4"]),
        keys("argv = [\"sleep\", \"100\"]\ntimeout = 1", &["did not end within 1 s"]),
        keys(&format!("shell = \"{never}\"\ntimeout = 1"), &["did not end within 1 s"]),
        keys("shell = \"kill -STOP $$\"\ntimeout = 1", &["did not end within 1 s"]),
    ];
    for way in ways() {
        told(way, &workspace(way, &cases), &cases);
    }
}

#[test]
fn programs_that_cannot_be_started_are_told_at_every_level() {
    const LOST: &str = "the interpreter '/no/such/interpreter' that its first line names is not there";
    const NO_PROGRAM: &str = "it is neither a program of this machine nor a script";
    let (long, zeros) = ("x".repeat(200_000), "0".repeat(64));
    let cases = [
        keys(
            "argv = [\"no-such-program\"]",
            &["there is no program of this name in the folders of PATH"],
        ),
        keys("argv = [\"/no/such/program\"]", &["it is not there"]),
        keys("argv = [\"BESIDE/went\"]", &["it is not there"]),
        keys("argv = [\"./wc.sh\"]", &["it is not in the folder that the command starts in"]),
        keys("argv = [\"/usr\"]", &["it is a folder"]),
        keys("argv = [\"BESIDE/pipe\"]", &["it is not a file"]),
        keys("argv = [\"BESIDE/plain\"]", &["its file may not be executed"]),
        keys("argv = [\"./{in.text}\"]", &["its file may not be executed"]),
        keys("argv = [\"BESIDE/lost\"]", &[LOST]),
        keys("argv = [\"BESIDE/zeros\"]", &[NO_PROGRAM]),
        keys("argv = [\"BESIDE/bare\"]", &[NO_PROGRAM]),
        keys(&format!("argv = [\"true\", \"{long}\"]"), &["its arguments are too long"]),
        keys(
            "argv = [\"true\"]\ntools = { no-such-tool = \"1.0\" }",
            &["the tool 'no-such-tool' is not in the folders of PATH"],
        ),
        keys(
            "argv = [\"true\"]\ntools = { \"/no/such/tool\" = \"1.0\" }",
            &["the tool '/no/such/tool' cannot be run: it is not there"],
        ),
        keys(
            &format!("argv = [\"true\"]\ntools = {{ \"BESIDE/pipe\" = \"blake3:{zeros}\" }}"),
            &["cannot be run: it is not a file"],
        ),
        keys(
            &format!("argv = [\"true\"]\ntools = {{ true = \"blake3:{zeros}\" }}"),
            &["the tool 'true' is blake3:"],
        ),
    ];
    let files = [
        ("went", ""),
        ("plain", "#!/bin/sh\n"),
        ("lost", "#!/no/such/interpreter -x\n"),
        ("zeros", "\0\0"),
        ("bare", "echo bare\n"),
    ];
    for way in ways() {
        let bench = workspace(way, &cases);
        for (name, text) in files {
            std::fs::write(bench.beside(name), text).expect("written");
            let mode = if name == "plain" { 0o644 } else { 0o755 };
            std::fs::set_permissions(bench.beside(name), PermissionsExt::from_mode(mode)).expect("changed");
        }
        let made = Command::new("mkfifo").arg(bench.beside("pipe")).status();
        assert!(made.expect("mkfifo starts").success());
        // The program was trusted, and then deleted.
        way.run(&bench, &["trust"]);
        std::fs::remove_file(bench.beside("went")).expect("removed");
        told(way, &bench, &cases);
    }
}

#[test]
fn a_tool_that_is_missing_is_named_with_where_it_was_looked_for() {
    let bench = program(ways()[0], "true", "tools = { no-such-tool = \"1.0\" }");
    let mut command = bench.command(&["build", "//a:b"]);
    let built = bench.ran(command.env("PATH", "/usr/bin:.:/bin").output().expect("runs"));
    let actual = "error[E_TOOL] //a:b: the tool 'no-such-tool' is not in the folders of PATH\n  found: PATH=/usr/bin:.:/bin\n  \
                help: install it, or remove it from `tools` if nothing runs it\n";
    assert!(built.code == 1 && built.err.starts_with(actual), "{built:?}");
    bench.change("cortex.toml", "no-such-tool", "\"bin/tool\"");
    let refused = bench.run(&["build", "//a:b"]);
    assert!(refused.code == 2 && refused.err.contains("or an absolute path"), "{refused:?}");
    // The manifest alone defines the version.
    bench.change("cortex.toml", "\"bin/tool\"", "sh");
    assert_eq!(bench.run(&["build", "//a:b"]).code, 0);
}

#[test]
fn a_text_that_the_system_would_cut_is_refused() {
    for key in [
        "shell = \"echo a\\u0000b\"",
        "argv = [\"echo\", \"a\\u0000b\"]",
        "argv = [\"env\"]\nenv = { A = \"a\\u0000b\" }",
    ] {
        let refused = workspace(ways()[0], &[keys(key, &[])]).run(&["build", "//..."]);
        assert!(refused.code == 2 && refused.err.contains("E_PARAM"), "{key}: {refused:?}");
    }
}

#[test]
fn no_level_waits_for_processes_that_a_program_leaves() {
    for (at, way) in ways().into_iter().enumerate() {
        // Of the processes that keep its streams open, some stay in its group and some do not.
        let mark = format!("25.{}{at}", std::process::id());
        let line = format!("sleep {mark} & setsid sleep {mark} & (sleep 19; echo late) & echo early");
        assert_eq!(way.shown(&program(way, &line, "timeout = 18")), "early\n", "{way:?}");
    }
}

#[test]
fn whatever_a_program_does_to_stay_it_ends() {
    let stays = [
        "nohup sleep MARK >/dev/null 2>&1 & echo done",
        "( ( setsid sleep MARK >/dev/null 2>&1 & ) & ) & echo done",
        "(trap '' TERM INT HUP QUIT; setsid sleep MARK; sleep MARK) >/dev/null 2>&1 & echo done",
        "setsid sh -c 'setsid sh -c \"setsid sleep MARK & exit\" & exit' >/dev/null 2>&1; echo done",
    ];
    for (at, way) in confined().into_iter().enumerate() {
        for (number, line) in stays.iter().enumerate() {
            let mark = format!("303.{}{at}{number}", std::process::id());
            assert_eq!(
                way.shown(&program(way, &line.replace("MARK", &mark), "")),
                "done\n",
                "{way:?} {line}"
            );
            assert_eq!(processes_with(&mark), 0, "{way:?} {line}");
        }
        let mark = format!("304.{}{at}", std::process::id());
        let never = format!("trap '' TERM INT HUP QUIT; setsid sleep {mark} & while :; do sleep {mark}; done");
        let ran = way.build(&program(way, &never, "timeout = 1"));
        assert!(ran.code == 1 && ran.err.contains("did not end within 1 s"), "{way:?}: {ran:?}");
        assert_eq!(processes_with(&mark), 0, "{way:?}");
        // The program cannot kill a process above it without killing itself.
        let ends = format!("setsid sleep {mark} & kill -KILL $PPID 2>/dev/null; kill -KILL 0");
        let ran = way.build(&program(way, &ends, ""));
        assert!(ran.code == 1 && ran.err.contains("failed: signal: 9"), "{way:?}: {ran:?}");
        assert_eq!(processes_with(&mark), 0, "{way:?}");
    }
}

#[test]
fn every_level_accepts_odd_but_valid_outputs() {
    let odd = [
        ("ln {in.text} out", "out", "one two three\n"),
        ("echo x > out; chmod 000 out", "out", "x\n"),
        ("head -c 50000000 /dev/zero >&2; echo said", "", "said\n"),
        ("touch $(printf '\\377'); mkfifo pipe; ln -s / link; echo end", "", "end\n"),
        ("exec >&- 2>&-; echo x > out", "out", "x\n"),
        ("true", "", ""),
    ];
    for way in ways() {
        for (line, makes, shown) in odd {
            assert_eq!(way.shown(&program(way, line, &outputs(makes))), shown, "{way:?} {line}");
        }
    }
}

#[test]
fn an_output_without_permissions_is_read_by_its_owner() {
    for way in ways() {
        let line = "mkdir -p out/deep; echo x > out/deep/a; chmod 000 out/deep/a out/deep out";
        let bench = program(way, line, &outputs("out/"));
        let place = bench.beside("made");
        let own = way.command(&bench, &["show", "//a:b", "--into", &place.to_string_lossy()]);
        // The superuser has access to everything, so drop that capability.
        let powerless = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"];
        let mut command = match rustix::process::geteuid().is_root() && !way.bare {
            true => through(&powerless, &own),
            false => own,
        };
        let ran = bench.ran(command.output().expect("runs"));
        let made = std::fs::read_to_string(place.join("deep/a"));
        assert_eq!(made.ok().as_deref(), Some("x\n"), "{way:?}: {ran:?}");
    }
}

#[test]
fn the_clock_is_told_by_making_again_at_every_level() {
    for way in ways() {
        let bench = program(way, "date +%N", "");
        let ran = way.run(&bench, &["build", "--rebuild", "//a:b"]);
        let stderr = ran.err.contains("error[E_NOT_REPRODUCIBLE] //a:b");
        assert!(ran.code == 8 && stderr, "{way:?}: {ran:?}");
    }
}

/// Adds rules that read the output of `//a:b`.
fn reader(bench: &Bench, way: Way, line: &str, inputs: &str) {
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    let reader = format!(
        "[producer.reads]\nuses = \"command\"\nshell = '''{line}'''\nsandbox = \"{}\"\n[[rule]]\ntarget = \"//a:reads\"\nproducer = \"reads\"\n\
         inputs = {{ {inputs} }}\n",
        way.sandbox
    );
    bench.write("cortex.toml", &format!("{manifest}\n{reader}"));
}

#[test]
fn a_tree_that_is_an_input_stays_as_it_is() {
    let spoils = [
        ("touch {in.pages}/new", "added 'new' to its input 'pages'"),
        ("mkdir {in.pages}/deep/new", "added 'deep/new' to its input 'pages'"),
        ("chmod +x {in.pages}/a", "changed the mode of its input 'pages/a'"),
        ("rm -r {in.pages}/deep", "removed its input 'pages/deep'"),
    ];
    for way in ways() {
        for (line, what) in spoils {
            let makes = "mkdir -p pages/deep; echo a > pages/a; echo b > pages/deep/b";
            let bench = program(way, makes, &outputs("pages/"));
            reader(&bench, way, line, "pages = \"//a:b\"");
            let ran = way.run(&bench, &["build", "//a:reads"]);
            let stderr = ran.err.contains(&format!("'sh' {what}"));
            assert!(ran.code == 1 && stderr, "{way:?} {line}: {ran:?}");
        }
    }
}

#[test]
fn a_list_may_be_empty() {
    let bench = program(ways()[0], "true", "");
    let none = "texts = { each = \"glob:no/such/*\", target = \"//files/{item}:bytes\" }";
    reader(&bench, ways()[0], "cat /dev/null {in.texts}; echo end", none);
    let shown = bench.run(&["show", "//a:reads"]);
    assert_eq!(shown.out, "end\n", "{shown:?}");
}

#[test]
fn how_a_result_was_confined_is_told() {
    for way in ways() {
        let bench = program(way, "cat {in.text}", "");
        assert_eq!(way.build(&bench).code, 0);
        let said = match way.level {
            "none" => "ran without a sandbox".to_owned(),
            level => format!("ran under {level}"),
        };
        for command in ["explain", "history"] {
            let ran = way.run(&bench, &[command, "//a:b"]);
            assert!(ran.out.contains(&said), "{way:?}: {ran:?}");
        }
        let explained = way.run(&bench, &["explain", "--json", "//a:b"]).json();
        assert_eq!(explained["made"]["sandbox"], way.level);
        let history = way.run(&bench, &["history", "--json", "//a:b"]).json();
        assert_eq!(history["versions"][0]["notes"]["sandbox"], way.level);
    }
}
