//! First use: no command, the default set, names in place of labels, lists, help topics.

use crate::bench::Bench;

#[test]
fn without_a_command_the_program_says_what_comes_next() {
    let bench = Bench::empty();
    insta::assert_snapshot!(bench.run(&[]).all(), @"
    exit 0
    There is no workspace here: no cortex.toml in this folder or in one above it.

    next  cortex init       write one for the code in this folder
          cortex help tour  see what cortex does, in twenty minutes
          cortex help       list all commands and topics
    ");
    let bench = Bench::memotree();
    insta::assert_snapshot!(bench.shell("unset CORTEX_TRUST; cortex").all(), @"
    exit 0
    memotree: 59 source files, nothing built yet.

    next  cortex trust --list  list 3 commands, keys or addresses that need trust; `cortex trust` trusts them
          cortex build         build outlines and the index
          cortex status        show the state of all targets
          cortex help agents   connect a coding agent
          cortex help          list all commands and topics
    ");
    assert_eq!(bench.run(&["build"]).code, 0);
    bench.write("src/MemoTree.Core/New.cs", "namespace MemoTree.Core; class New;");
    let stale = bench.run(&["--json"]).json();
    let state = stale["state"].as_str().expect("a sentence");
    assert!(
        state.starts_with("memotree: 60 source files, 1 changed since the build of "),
        "{state}"
    );
    let commands: Vec<&str> = stale["next"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| step["command"].as_str())
        .collect();
    assert_eq!(
        commands[..4],
        [
            "cortex build",
            "cortex outline Node",
            "cortex usages Node",
            "cortex context build --query Node --budget 2000"
        ]
    );
}

#[test]
fn a_build_without_a_pattern_builds_the_default_set_and_proposes_questions_once() {
    let bench = Bench::memotree();
    let first = bench.run(&["build"]);
    assert!(first.code == 0 && first.err.lines().count() <= 15, "{}", first.all());
    assert!(
        first.err.starts_with("68 targets: ") && first.err.contains("\ntry   cortex outline Node "),
        "{}",
        first.err
    );
    let again = bench.run(&["build"]).all();
    assert_eq!(again, "exit 0\n68 targets: all up to date (TIME)\n");
    // The manifest's own default; the same request under another manifest is a different one.
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    let manifest = manifest.replace(
        "rulesets =",
        "default = [\"//types/...:outline\", \"-//types/*Node*:outline\"]\nrulesets =",
    );
    bench.write("cortex.toml", &manifest);
    let chosen = bench.run(&["build"]);
    assert!(
        chosen.code == 0 && !chosen.err.contains("68 targets") && !chosen.err.contains("try "),
        "{}",
        chosen.all()
    );
    // Without a ruleset that defines a default, everything.
    let plain = Bench::documents();
    assert!(
        plain.run(&["build"]).err.contains("\n4 targets: "),
        "{}",
        plain.run(&["build"]).all()
    );
}

#[test]
fn names_are_taken_where_labels_are() {
    let bench = Bench::memotree();
    // Nothing is built: it is not yet known whether a type has this name.
    let code = bench.run(&["show", "NodeStore.Get:code"]);
    assert!(
        code.code == 0 && code.out.starts_with("public Node Get(NodeId id)"),
        "{}",
        code.all()
    );
    assert_eq!(bench.run(&["build"]).code, 0);
    let shown = |name: &str| bench.run(&["show", name]).all();
    assert_eq!(shown("NodeStore"), shown("//types/NodeStore:outline"));
    assert_eq!(shown("NodeStore:semantic"), shown("//types/NodeStore:semantic"));
    assert_eq!(shown("NodeStore.Get"), shown("//types/NodeStore#Get:outline"));
    assert_eq!(shown("NodeStore.Get:code"), shown("//types/NodeStore#Get:code"));
    // Of two types of one name, the one without type parameters, as the methods about symbols decide.
    let both = "namespace Twins;\npublic class Builder { }\npublic class Builder<T> { }\n";
    bench.write("src/MemoTree.Core/Builder.cs", both);
    for (name, is) in [
        ("Builder", "Twins.Builder "),
        ("Builder<T>", "Twins.Builder`1 "),
        ("Builder`1", "Twins.Builder`1 "),
    ] {
        assert!(shown(name).contains(&format!("# {is}")), "{name}: {}", shown(name));
    }
    for command in ["ls", "explain", "history", "build"] {
        let ran = bench.run(&[command, "Builder"]);
        assert!(ran.code == 0 && !ran.out.contains("Builder`1:"), "{command}: {ran:?}");
    }
    let label = "//types/MemoTree.Core.NodeId:outline";
    let first = |args: &[&str]| bench.run(args).out.lines().next().unwrap_or_default().to_owned();
    assert_eq!(first(&["explain", "NodeId"]), format!("{label} current"));
    assert_eq!(first(&["history", "NodeId"]), label);
    assert_eq!(first(&["explain", "NodeId"]), format!("{label} current"));
    assert!(bench.run(&["build", "NodeId", "NodeStore:deps"]).err.starts_with("2 targets: "));
    assert_eq!(bench.run(&["query", "stale(NodeStore + NodeId:deps)"]).code, 0);
    let file = "src/MemoTree.Core/NodeId.cs";
    assert_eq!(first(&["explain", file]), format!("//files/{file}:bytes source"));
    assert!(bench.run(&["ls", file]).out.contains(&format!("//files/{file}:syntax\n")));
    let wrong = bench.run(&["show", "NodeStore:outlin"]);
    assert!(
        wrong.code == 2 && wrong.err.contains("did you mean //types/MemoTree.Core.NodeStore:outline?"),
        "{}",
        wrong.all()
    );
}

#[test]
fn targets_are_listed_and_files_are_deleted() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build"]).code, 0);
    let kinds = bench.run(&["ls"]).out;
    let outlines = kinds
        .lines()
        .find(|line| line.starts_with("//types/{type}:outline "))
        .expect("outlines");
    let words: Vec<&str> = outlines.split_whitespace().collect();
    assert_eq!(words[1..], ["67", ".cortex/out/types/{id}.outline.md"]);
    let of_type = bench.run(&["ls", "NodeId"]).out;
    assert!(of_type.contains("//types/MemoTree.Core.NodeId:semantic\n"), "{of_type}");
    assert_eq!(bench.run(&["ls", "NodeId:impl"]).out, "//types/MemoTree.Core.NodeId:impl\n");
    let out = bench.root().join(".cortex/out");
    assert!(out.is_dir());
    let deleted = bench.run(&["clean", "--json"]).json();
    // Files of former names are beside the outputs.
    assert!(deleted["files"].as_u64() >= Some(68), "{deleted}");
    assert!(!out.exists());
    insta::assert_snapshot!(bench.run(&["build"]).all(), @"
    exit 0
    68 targets: 68 files written (TIME)
    ");
}

#[test]
fn the_reference_of_commands_is_the_programs() {
    let bench = Bench::empty();
    let page = bench.run(&["dev", "commands"]);
    let written = include_str!("../../docs/commands.md");
    assert!(
        bench.as_shown(&page.out) == bench.as_shown(written),
        "write it anew: cortex dev commands > docs/commands.md"
    );
}

#[test]
fn help_has_the_pages_of_the_book() {
    let bench = Bench::empty();
    assert!(bench.run(&["help", "labels"]).out.starts_with("# Labels, patterns and queries\n"));
    assert_eq!(
        bench.run(&["help", "store", "verify"]).out,
        bench.run(&["store", "verify", "--help"]).out
    );
    let all = bench.run(&["help"]);
    assert!(
        all.code == 0 && all.out.contains("\nTopics (`cortex help TOPIC`):\n  agents "),
        "{}",
        all.out
    );
    assert!(all.out.lines().all(|line| line.chars().count() <= 80), "{}", all.out);
    for (name, count) in [("build", 1), ("usages", 1), ("help", 1)] {
        let lines = all.out.lines().filter(|line| line.starts_with(&format!("  {name} ")));
        assert_eq!(lines.count(), count, "{name}: {}", all.out);
    }
    insta::assert_snapshot!(bench.run(&["help", "lables"]).all(), @"
    exit 2
    error[E_NO_COMMAND]: there is no such command or topic
      found: lables
      help: did you mean labels?
    ");
}

#[test]
fn init_says_what_it_found() {
    let bench = Bench::empty();
    for path in ["src/A.cs", "third_party/x/B.cs", "third_party/x/C.g.cs"] {
        bench.write(path, &format!("// {path}\nclass A;"));
    }
    bench.write("tests/A.Tests/D.cs", "// src/A.cs\nclass A;");
    insta::assert_snapshot!(bench.run(&["init"]).all(), @"
    exit 0
    wrote cortex.toml for 'ws' (named after the folder: no solution or project here)
    found  4 C# files, 0 projects, 1 in folders of tests, 1 generated, 1 with the bytes of another file
    maybe  exclude third_party/** (2 files): cortex.toml has the line to uncomment
    next   cortex build
    ");
    let within = bench.run(&["-C", "src", "init"]);
    assert!(within.code == 2 && within.err.contains("is in the workspace of"), "{within:?}");
    assert_eq!(bench.run(&["-C", "src", "init", "--force"]).code, 0);
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    assert!(
        manifest.contains("\n# exclude = [\"**/bin/**\", \"**/obj/**\", \"**/*.verified.cs\", \"**/*.received.cs\", \"third_party/**\"]\n"),
        "{manifest}"
    );
}
