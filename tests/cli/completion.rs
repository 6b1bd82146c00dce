//! Shell completions.

use crate::bench::Bench;
use std::process::Command;

/// Returns the candidates for the last word.
fn complete(bench: &Bench, words: &[&str]) -> Vec<String> {
    let mut command = bench.command(&["--"]);
    command.arg("cortex").args(words).env("COMPLETE", "fish");
    let ran = command.output().expect("it starts");
    assert!(ran.status.success(), "{ran:?}");
    let text = String::from_utf8(ran.stdout).expect("text");
    text.lines()
        .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn labels_targets_names_and_flags_are_completed() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build"]).code, 0);
    assert_eq!(complete(&bench, &["build", "//ty"]), ["//types/"]);
    let packages = complete(&bench, &["show", "//types/MemoTree.Core.NodeStoreO"]);
    assert!(
        packages
            .iter()
            .all(|label| label.starts_with("//types/MemoTree.Core.NodeStoreOptions:")),
        "{packages:?}"
    );
    let targets = complete(&bench, &["explain", "//types/MemoTree.Core.NodeStore:outl"]);
    assert_eq!(targets[0], "//types/MemoTree.Core.NodeStore:outline");
    assert_eq!(complete(&bench, &["usages", "NodeSt"]), ["NodeStore", "NodeStoreOptions"]);
    assert_eq!(complete(&bench, &["usages", "NodeStore.Ge"]), ["NodeStore.Get"]);
    assert!(complete(&bench, &["usages", "NodeStore."]).contains(&"NodeStore.Count".to_owned()));
    assert_eq!(complete(&bench, &["help", "lab"]), ["labels"]);
    assert_eq!(complete(&bench, &["show", "NodeStore:sem"]), ["NodeStore:semantic"]);
    assert_eq!(complete(&bench, &["build", "--keep"]), ["--keep-going"]);
    assert_eq!(complete(&bench, &["-C", "/nowhere/at/all", "show", "//ty"]), Vec::<String>::new());
}

/// Bash splits words at colons.
#[test]
fn bash_is_told_what_follows_the_colon() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build"]).code, 0);
    let script = bench.run(&["completions", "bash"]).out;
    let asked = "COMP_WORDS=(cortex show //types/MemoTree.Core.NodeStore : outl); COMP_CWORD=4; _cortex_complete cortex outl; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let program = bench.command(&[]);
    let mut bash = Command::new("bash");
    bash.current_dir(bench.root()).args(["--norc", "-c", &format!("{script}\n{asked}")]);
    for (name, value) in program.get_envs() {
        value.map(|value| bash.env(name, value));
    }
    let folder = std::path::Path::new(program.get_program()).parent().expect("a folder");
    let path =
        std::env::join_paths(std::iter::once(folder.to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").expect("PATH"))));
    let ran = bash.env("PATH", path.expect("a path")).output().expect("bash");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(text.lines().collect::<Vec<_>>(), ["outline", "outline-info"], "{ran:?}");
}

#[test]
fn every_shell_has_a_script() {
    let bench = Bench::memotree();
    for shell in ["bash", "elvish", "fish", "nushell", "powershell", "zsh"] {
        let ran = bench.run(&["completions", shell]);
        assert!(
            ran.code == 0 && ran.out.contains("cortex") && ran.out.contains("COMPLETE"),
            "{shell}: {ran:?}"
        );
    }
}
