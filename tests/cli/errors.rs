//! Mistakes in flags, manifests and the workspace: code, message and next step.

use crate::bench::Bench;

#[test]
fn no_manifest() {
    insta::assert_snapshot!(Bench::empty().run(&["build", "//..."]).all(), @"
    exit 2
    error[E_NO_WORKSPACE]: there is no cortex.toml in TEMP/ws or any folder above it
      help: go to a workspace, name one with -C DIR, or make one with `cortex init`
    ");
}

#[test]
fn a_broken_manifest_is_told_all_at_once() {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write(
        "cortex.toml",
        &manifest
            .replace("producer = \"count\"", "producer = \"cuont\"")
            .replace("out = ", "uot = "),
    );
    insta::assert_snapshot!(bench.run(&["build", "//..."]).all(), @r#"
    exit 2
    error[E_UNKNOWN_PRODUCER] cortex.toml:23:12: there is no producer of this name
        |
     23 | producer = "cuont"
        |            ^^^^^^^
      found: "cuont"
      help: did you mean 'count'?
    error[E_UNKNOWN_KEY] cortex.toml:29:1: a rule has no key of this name
        |
     29 | uot = "total.txt"
        | ^^^
      found: uot
      help: did you mean 'out'?
    "#);
    bench.write("cortex.toml", "[workspace\n");
    assert_eq!(bench.run(&["status"]).code, 2);
    std::fs::write(bench.root().join("cortex.toml"), b"\n\xff\n").expect("file");
    insta::assert_snapshot!(bench.run(&["status"]).all(), @"
    exit 2
    error[E_ENCODING] cortex.toml:2: the manifest is not UTF-8 text
      help: save it as UTF-8
    ");
}

#[test]
fn bad_patterns_and_queries() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["build", "docs/a.md", "//a//b:c"]).all(), @"
    exit 2
    error[E_LABEL]: a pattern begins with '//'
      |
      | docs/a.md
      | ^
      help: write //package:target, such as //types/...:outline
    error[E_LABEL]: a package has an empty segment
      |
      | //a//b:c
      |     ^
      help: write //family/name:target with single slashes
    ");
    insta::assert_snapshot!(bench.run(&["query", "deps(//index:total"]).all(), @"
    exit 2
    error[E_QUERY] query:1:19: a closing parenthesis was expected here
       |
     1 | deps(//index:total
       |                   ^
      help: close the parenthesis with ')'
    ");
    insta::assert_snapshot!(bench.run(&["query", "dops(//index:total)"]).all(), @"
    exit 2
    error[E_QUERY] query:1:1: there is no function 'dops'
       |
     1 | dops(//index:total)
       | ^^^^
      help: did you mean deps?
    ");
    let deep = "(".repeat(50_000);
    assert_eq!(bench.run(&["query", &deep]).code, 2);
    assert_eq!(bench.run(&["query", "//index:totla"]).code, 2);
    assert_eq!(bench.run(&["show"]).code, 2);
    assert_eq!(bench.run(&["biuld"]).code, 2);
    assert_eq!(bench.run(&["man", "biuld"]).code, 2);
}

#[test]
fn init_does_not_replace_a_manifest() {
    let bench = Bench::empty();
    assert_eq!(bench.run(&["init"]).code, 0);
    insta::assert_snapshot!(bench.run(&["init"]).all(), @"
    exit 2
    error[E_EXISTS]: ./cortex.toml already exists
      help: edit it, or replace it with --force
    ");
    assert_eq!(bench.run(&["init", "--force"]).code, 0);
    assert_eq!(bench.run(&["status"]).code, 0);
}

#[test]
fn mistakes_are_told_to_machines_too() {
    let bench = Bench::documents();
    let result_of = |args: &[&str]| {
        let ran = bench.run(args);
        assert_eq!(ran.code, 2, "{}", ran.all());
        let first: serde_json::Value = serde_json::from_str(ran.err.lines().next().unwrap_or_default()).expect("an object a line");
        first["code"].as_str().expect("a code").to_owned()
    };
    assert_eq!(result_of(&["bogus", "--output", "json"]), "E_USAGE");
    assert_eq!(result_of(&["--output=json", "show"]), "E_USAGE");
    assert_eq!(result_of(&["show", "//index:totla", "--output", "json"]), "E_NO_TARGET");
    assert_eq!(result_of(&["outline", "Nobody", "--output", "json"]), "SymbolNotFound");
    assert_eq!(result_of(&["bogus", "--json"]), "E_USAGE");
    assert_eq!(result_of(&["show", "//index:totla", "--json"]), "E_NO_TARGET");
    assert_eq!(result_of(&["outline", "Nobody", "--json"]), "SymbolNotFound");
    let built = bench.run(&["build", "//index:totla", "--json"]);
    assert_eq!(
        (built.code, &built.json()["refused"][0]["suggestions"][0]),
        (2, &"//index:total".into())
    );
}

/// Seed 000 §16, with the same fields as `cortex serve`.
#[test]
fn codes_have_their_fields_on_the_command_line_too() {
    let bench = Bench::memotree();
    let result_of = |args: &[&str]| {
        let ran = bench.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, 2, "{}", ran.all());
        let lines = ran.err.lines().map(|line| serde_json::from_str(line).expect("an object a line"));
        let all: Vec<serde_json::Value> = lines.collect();
        all.into_iter().find(|one| one["severity"] == "error").expect("an error")
    };
    let missing = result_of(&["outline", "NodeStroe"]);
    assert_eq!(
        (&missing["code"], &missing["suggestions"][0]),
        (&"SymbolNotFound".into(), &"MemoTree.Core.NodeStore".into())
    );
    let denied = result_of(&["outline", "../x"]);
    assert_eq!(
        (&denied["code"], &denied["publicAlternatives"]),
        (&"AccessDenied".into(), &serde_json::json!([]))
    );
    // Files inside with the same name as the denied one are offered.
    for asked in [&["source", "../old/NodeId.cs"][..], &["context", "live", "../old/NodeId.cs"]] {
        let denied = result_of(asked);
        assert_eq!(
            (&denied["code"], &denied["publicAlternatives"]),
            (&"AccessDenied".into(), &serde_json::json!(["src/MemoTree.Core/NodeId.cs"])),
            "{denied}"
        );
    }
    let filter = result_of(&["pack", "build", "mine", "--filter", "type:A & b"]);
    assert_eq!((&filter["code"], &filter["position"]), (&"InvalidFilter".into(), &8.into()));
    assert!(filter["hint"].is_string(), "{filter}");
    let several = result_of(&["rdeps", "Entry"]);
    assert_eq!(
        (&several["code"], several["candidates"].as_array().map(Vec::len)),
        (&"AmbiguousSymbol".into(), Some(2)),
        "{several}"
    );
}

#[test]
fn a_mistake_in_a_long_argument_is_shown_cut() {
    let bench = Bench::documents();
    for argument in [format!("{}|", "a + ".repeat(5_000)), "(".repeat(20_000)] {
        let ran = bench.run(&["query", &argument]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.lines().all(|line| line.chars().count() < 300), "{}", ran.err);
    }
}

#[test]
fn jobs_are_a_number_that_a_machine_can_have() {
    let bench = Bench::documents();
    for wrong in ["0", "many", "513", "99999999", "99999999999999999999999"] {
        let ran = bench.run(&["build", &format!("-j{wrong}"), "//..."]);
        assert_eq!(ran.code, 2, "-j{wrong}: {}", ran.all());
        assert!(ran.err.contains("--jobs"), "{}", ran.err);
    }
    assert_eq!(bench.run(&["build", "-j1", "--dry-run", "//..."]).code, 0);
}

#[test]
fn mistakes_in_the_flags_have_the_form_of_all_others() {
    let bench = Bench::documents();
    insta::assert_snapshot!(bench.run(&["biuld"]).all(), @"
    exit 2
    error[E_USAGE]: unrecognized subcommand 'biuld'
      help: a similar subcommand exists: 'build'
    ");
    for (word, command) in [
        ("subtypes", "implementations"),
        ("supertypes", "hierarchy"),
        ("references", "usages"),
        ("definition", "source"),
    ] {
        let ran = bench.run(&[word, "T"]);
        assert!(
            ran.code == 2 && ran.err.contains(&format!("`cortex {command} SYMBOL`")),
            "{}",
            ran.all()
        );
    }
    for (args, command) in [
        (&["edit", "rename"][..], "`cortex rename SYMBOL NEW`"),
        (&["safe_delete", "T"], "`cortex edit`"),
    ] {
        let ran = bench.run(args);
        assert!(ran.code == 2 && ran.err.contains(command), "{}", ran.all());
    }
    insta::assert_snapshot!(bench.run(&["show"]).all(), @"
    exit 2
    error[E_USAGE]: the following required arguments were not provided: <LABEL>
      help: write cortex show <LABEL>
    ");
    insta::assert_snapshot!(bench.run(&["build", "//...", "--jobs", "0"]).all(), @"
    exit 2
    error[E_USAGE]: invalid value '0' for '--jobs <N>': 0 is not in 1..=512
      help: `cortex help` lists the commands, `cortex help COMMAND` their flags
    ");
}

#[test]
fn init_without_csharp_says_so() {
    let bench = Bench::empty();
    insta::assert_snapshot!(bench.run(&["init"]).all(), @r#"
    exit 0
    wrote cortex.toml for 'ws' (named after the folder: no solution or project here)
    no C# files were found, so no targets exist yet; next: write rules of your own (the file ends with an example), or add rulesets = ["csharp"] once there is C#
    "#);
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    assert!(!manifest.contains("sources.csharp"), "{manifest}");
}

#[test]
fn errors_alike_are_counted_and_their_hint_stands_once() {
    let bench = Bench::documents();
    for name in 1..=5 {
        bench.write(&format!("docs/{name}.txt"), "x\n");
    }
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    let rule = "\n[producer.bad]\nuses = \"command\"\nargv = [\"sh\", \"-c\", \"exit 3\"]\nsandbox = \"off\"\n[producer.idle]\nuses = \"command\"\nargv = [\"ls\"]\n\n\
                [[rule]]\ntarget = \"//bad/{doc}:x\"\neach = { doc = \"glob:docs/*.txt\" }\nproducer = \"bad\"\ninputs = { text = \"//files/{doc}:bytes\" }\n";
    bench.write("cortex.toml", &(manifest + rule));
    let ran = bench.run(&["build", "//bad/..."]);
    let count = |what: &str| ran.err.matches(what).count();
    assert_eq!((count("error[E_COMMAND]"), count("run it by hand")), (3, 1), "{ran:?}");
    assert!(ran.err.contains("… and 2 more like it"), "{ran:?}");
    // Only commands that check the manifest report unused entries.
    assert_eq!(count("W_UNUSED"), 1, "{ran:?}");
    for (args, told) in [
        (["show", "//docs/a.md:words"], false),
        (["status", "--notes"], false),
        (["doctor", "--json"], true),
    ] {
        assert_eq!(bench.run(&args).err.contains("W_UNUSED"), told, "{args:?}");
    }
}

#[test]
fn mistakes_in_flags_are_told_in_plain_words() {
    let bench = Bench::empty();
    for (args, told) in [
        (&["search", "x", "--limit", "y"][..], "a whole number is expected"),
        (&["search", "pipeline", "provider"], "quote an argument of several words"),
        (&["overlay", "put", "o", "a.cs", "class A { }"], "give the text with --from FILE"),
        (&["build", "--limit", "5"], "help: write cortex build [OPTIONS] [PATTERN]..."),
    ] {
        let ran = bench.run(args);
        assert!(ran.code == 2 && ran.err.contains(told), "{args:?}: {ran:?}");
    }
}

/// Many files may fail for one reason: it is reported once, with their number.
#[test]
fn one_cause_is_one_error() {
    let bench = Bench::documents();
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    let laid = manifest.replace("//docs/{doc}:words\"", "//docs/{doc}:words\"\nout = \"{doc}.txt\"");
    bench.write("cortex.toml", &laid);
    assert_eq!(bench.run(&["status"]).code, 0);
    std::fs::create_dir_all(bench.root().join(".cortex")).expect("folder");
    std::fs::write(bench.root().join(".cortex/out"), "in the way").expect("file");
    let ran = bench.run(&["build", "//docs/...", "//index:total", "--output", "json"]);
    let report = ran.json();
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!((ran.code, &report["not_laid_out"]), (1, &3.into()), "{report}");
    let message = report["failures"][0]["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("; so it is with 2 other files"), "{message}");
}

#[test]
fn a_place_is_printed_on_one_line() {
    let bench = Bench::documents();
    bench.write("docs/two\nlines.md", "x\n");
    let ran = bench.run(&["build", "//docs/..."]);
    assert!(ran.err.contains("warning[W_SOURCE_NAME] docs/two\\nlines.md: "), "{ran:?}");
}

#[test]
fn relative_paths_are_meant_from_the_folder_of_c() {
    let bench = Bench::documents();
    let from_beside = |args: &[&str], store: &str| {
        let mut command = bench.command(args);
        command.current_dir(bench.beside("")).env("CORTEX_STORE", store);
        bench.ran(command.output().expect("the program starts"))
    };
    let flags = ["-C", "ws", "build", "//index:total", "--store", "kept", "--events", "events.jsonl"];
    assert_eq!(from_beside(&flags, "").code, 0);
    assert!(bench.root().join("kept").is_dir() && bench.root().join("events.jsonl").is_file());
    assert!(!bench.beside("kept").exists() && !bench.beside("events.jsonl").exists());
    assert_eq!(from_beside(&["-C", "ws", "build", "//index:total"], "named").code, 0);
    assert!(bench.root().join("named").is_dir() && !bench.beside("named").exists());
    // An empty variable counts as unset: the store is in the user's cache folder.
    assert_eq!(from_beside(&["-C", "ws", "build", "//index:total"], "").code, 0);
    assert!(bench.beside(".cache/cortex/stores").is_dir());
}

#[test]
fn a_folder_that_is_not_there_is_called_so() {
    insta::assert_snapshot!(Bench::empty().run(&["-C", "nowhere", "init"]).all(), @"
    exit 5
    error[E_READ]: nowhere does not exist
      help: make the folder, or check the path given with -C
    ");
}

#[test]
fn init_writes_a_name_that_is_accepted() {
    for (folder, name) in [
        ("a\tb".to_owned(), "a b".to_owned()),
        ("é".repeat(120), "é".repeat(100)),
        ("\n".to_owned(), "workspace".to_owned()),
    ] {
        let bench = Bench::empty();
        // The folder's name has the greatest length in bytes of a file system.
        std::fs::create_dir(bench.root().join(&folder)).expect("folder");
        let made = bench.run(&["-C", &folder, "init", "--output", "json"]);
        assert_eq!((made.code, made.json()["name"].as_str()), (0, Some(name.as_str())), "{made:?}");
        let status = bench.run(&["-C", &folder, "status"]);
        assert_eq!(status.code, 0, "{status:?}");
    }
}

#[test]
fn of_many_errors_the_first_are_told() {
    let bench = Bench::empty();
    let rules = |count: usize| -> String {
        let rule = |n: usize| format!("[[rule]]\ntarget = \"//n/{n}:x\"\nproducer = \"nobody\"\n");
        (0..count).map(rule).collect()
    };
    for (count, last) in [
        (20, None),
        (21, Some("error[E_MORE]: 1 more error is not shown\n")),
        (300, Some("error[E_MORE]: 280 more errors are not shown\n")),
        (700, Some("error[E_MORE]: at least 481 more errors are not shown\n")),
    ] {
        bench.write("cortex.toml", &rules(count));
        let ran = bench.run(&["build", "//..."]);
        assert_eq!((ran.code, ran.err.matches("nobody").count() >= 20), (2, true), "{count} {ran:?}");
        assert_eq!(
            ran.err.matches("error[").count(),
            count.min(20) + usize::from(last.is_some()),
            "{count} {ran:?}"
        );
        assert!(last.is_none_or(|last| ran.err.contains(last)), "{count} {ran:?}");
        let json = bench.run(&["--output", "json", "build", "//..."]);
        assert_eq!(json.err.lines().count(), count.min(501), "{count}");
    }
}

#[test]
fn an_answer_is_printed_even_if_it_cannot_be_laid_out() {
    let bench = Bench::memotree();
    bench.write(".cortex/out/types", "in the way");
    bench.write(".cortex/out/prompt_window.md/x", "in the way");
    for (args, text) in [
        (&["outline", "NodeId"][..], "# MemoTree.Core.NodeId "),
        (&["semantic", "NodeId"], "# Semantic: MemoTree.Core.NodeId "),
    ] {
        let ran = bench.run(args);
        assert!(
            ran.code == 1 && ran.out.starts_with(text) && ran.err.contains("E_LAYOUT"),
            "{ran:?}"
        );
    }
    assert_eq!(bench.run(&["window", "pin", "NodeId"]).code, 0);
    let ran = bench.run(&["window", "show"]);
    assert!(
        ran.code == 5 && ran.out.contains("MemoTree.Core.NodeId") && ran.err.contains("error[E_WRITE]"),
        "{ran:?}"
    );
}

/// Any obstacle in place of a folder that cortex writes to is named, whatever was to be read or written below it.
#[test]
fn an_obstacle_in_place_of_the_folder_is_named() {
    let bench = Bench::documents();
    let (folder, elsewhere) = (bench.root().join(".cortex"), bench.beside("elsewhere"));
    std::fs::write(&folder, "a file").expect("file");
    let ran = bench.run(&["build", "//index:total"]).err;
    assert!(
        ran.contains("'.cortex/out/total.txt' cannot be written: .cortex is not a folder\n  help: remove the obstacle"),
        "{ran}"
    );
    let pack = ["pack", "build", "x", "--filter", "namespace:A"];
    let hint = "  help: remove .cortex, or move it away; cortex creates its own entry again\n";
    let ran = bench.run(&pack).all();
    assert_eq!(ran, format!("exit 2\nerror[E_PATH] .cortex: it is not a folder\n{hint}"));
    std::fs::remove_file(&folder).expect("removed");
    std::fs::create_dir(&elsewhere).expect("folder");
    std::os::unix::fs::symlink(&elsewhere, &folder).expect("link");
    for args in [&["build", "//index:total"][..], &["status"], &pack] {
        let ran = bench.run(args).all();
        assert_eq!(
            ran,
            format!("exit 2\nerror[E_PATH] .cortex: it is a link, and links are not followed here\n{hint}"),
            "{args:?}"
        );
    }
    let ran = bench.run(&["window", "show"]).err;
    let actual = "the window cannot be read or written: .cortex is a link, and links are not followed here\n";
    assert!(ran.contains(&format!("{actual}{hint}")), "{ran}");
    assert_eq!(std::fs::read_dir(&elsewhere).expect("folder").count(), 0);
    std::fs::remove_file(&folder).expect("removed");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
}
