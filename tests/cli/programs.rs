//! Programs as producers: one output, several, folders; trees as inputs.

use crate::bench::Bench;
use std::os::unix::fs::PermissionsExt;

/// A program with a file and a folder as outputs, one that reads the folder, and one that reads a file of it.
const MANIFEST: &str = r#"[workspace]
name = "programs"
rulesets = []

[producer.site]
uses = "command"
shell = "mkdir -p out/pages/deep; wc -l < {in.text} > out/count; cp {in.text} out/pages/a.txt; echo same > out/pages/deep/b.txt; chmod +x out/pages/a.txt"
outputs = { count = "out/count", pages = "out/pages/" }

[producer.list]
uses = "command"
shell = "cd {in.pages} && find . -type f | sort | while read f; do test -x $f && echo \"$f x\" || echo $f; done"

[producer.deep]
uses = "tree/entry"
params.entry = "deep"

[producer.cat]
uses = "command"
argv = ["cat", "{in.deep}/b.txt"]

[producer.one]
uses = "command"
argv = ["sh", "-c", "echo one > one.txt; echo told"]
outputs = { one = "one.txt" }

[[rule]]
target = "//docs/{doc}:site"
each = { doc = "glob:docs/*.txt" }
producer = "site"
inputs = { text = "//files/{doc}:bytes" }

[[rule]]
target = "//docs/{doc}:list"
each = { doc = "glob:docs/*.txt" }
producer = "list"
inputs = { pages = "//docs/{doc}:site.pages" }

[[rule]]
target = "//docs/{doc}:deep"
each = { doc = "glob:docs/*.txt" }
producer = "deep"
inputs = { tree = "//docs/{doc}:site.pages" }

[[rule]]
target = "//docs/{doc}:cat"
each = { doc = "glob:docs/*.txt" }
producer = "cat"
inputs = { deep = "//docs/{doc}:deep" }

[[rule]]
target = "//one:one"
producer = "one"
"#;

fn bench() -> Bench {
    let bench = Bench::empty();
    bench.write("cortex.toml", MANIFEST);
    bench.write("docs/a.txt", "x\ny\n");
    bench
}

#[test]
fn several_outputs_are_a_tree_and_targets_of_their_own() {
    let bench = bench();
    let built = bench.run(&["build", "//..."]);
    assert_eq!(built.code, 0, "{built:?}");
    let show = |label: &str| bench.run(&["show", label]).out;
    assert_eq!(show("//docs/docs/a.txt:site.count"), "2\n");
    assert_eq!(show("//docs/docs/a.txt:list"), "./a.txt x\n./deep/b.txt\n");
    assert_eq!(show("//docs/docs/a.txt:cat"), "same\n");
    assert_eq!(show("//one:one"), "one\n");
    let tree = show("//docs/docs/a.txt:site");
    assert!(
        tree.starts_with("cortex tree 1\nfile ") && tree.contains(" count\nfolder ") && tree.ends_with(" pages\n"),
        "{tree}"
    );
    assert!(bench.run(&["build", "//..."]).err.contains("up to date"));
}

#[test]
fn the_files_of_a_tree_are_written_where_one_likes() {
    let bench = bench();
    let place = bench.root().join("made/here");
    let into = |label: &str| bench.run(&["show", label, "--into", place.to_str().expect("UTF-8")]);
    let one = into("//docs/docs/a.txt:list");
    assert!(one.code == 2 && one.err.contains("E_NO_TREE") && !place.exists(), "{one:?}");
    let made = into("//docs/docs/a.txt:site");
    assert!(made.code == 0 && made.out.ends_with("made/here: 3 files, 11 bytes\n"), "{made:?}");
    let read = |path: &str| std::fs::read_to_string(place.join(path)).expect("written");
    assert_eq!(
        [read("count"), read("pages/a.txt"), read("pages/deep/b.txt")],
        ["2\n", "x\ny\n", "same\n"]
    );
    let mode = |path: &str| std::fs::metadata(place.join(path)).expect("written").permissions().mode() & 0o777;
    assert_eq!([mode("pages/a.txt") & 0o111, mode("count") & 0o111], [0o111, 0]);
    // Existing files are not overwritten.
    let again = into("//docs/docs/a.txt:site");
    assert!(again.code == 2 && again.err.contains("already exists"), "{again:?}");
    let above = std::fs::read_dir(bench.root().join("made")).expect("a folder").count();
    assert_eq!(above, 1);
}

#[test]
fn a_reader_of_one_output_is_not_rebuilt_for_another() {
    let bench = bench();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    // The count is unchanged, the pages change, their folder stays.
    bench.write("docs/a.txt", "x\nz\n");
    let ran = bench.run(&["build", "-v", "//..."]);
    let lines: Vec<&str> = ran.err.lines().filter(|line| line.trim_start().starts_with("ran ")).collect();
    let names: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split_whitespace().nth(1)?.rsplit_once(':').map(|(_, name)| name))
        .collect();
    assert!(
        ["site", "site.count", "site.pages", "list", "deep"]
            .iter()
            .all(|name| names.contains(name)),
        "{names:?}"
    );
    assert!(!names.contains(&"cat"), "{names:?}");
}

#[test]
fn a_tree_is_kept_handed_over_and_made_again_whole() {
    let bench = bench();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    // All garbage is collected, and nothing of the tree.
    bench.write("docs/a.txt", "x\nz\n");
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    assert_eq!(bench.run(&["gc", "--older-than", "0", "--keep-versions", "1"]).code, 0);
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
    // The reader is built again from the tree in the store.
    bench.change("cortex.toml", "| sort |", "| sort -r |");
    let again = bench.run(&["build", "-v", "//docs/...:list"]);
    assert!(
        again.code == 0 && !again.err.contains(":site (") && again.err.contains("1 ran"),
        "{again:?}"
    );
    // Another store imports it from a file.
    let parcel = bench.beside("parcel").to_string_lossy().into_owned();
    assert_eq!(bench.run(&["store", "export", "--out", &parcel, "//..."]).code, 0);
    let other = bench.beside("other").to_string_lossy().into_owned();
    assert_eq!(bench.run(&["--store", &other, "store", "import", &parcel]).code, 0);
    let built = bench.run(&["--store", &other, "build", "//..."]);
    assert!(built.code == 0 && !built.err.contains(" ran"), "{built:?}");
    bench.change("cortex.toml", "| sort -r |", "| sort |");
    let shown = bench.run(&["--store", &other, "show", "//docs/docs/a.txt:list"]);
    assert_eq!(shown.out, "./a.txt x\n./deep/b.txt\n", "{shown:?}");
}

#[test]
fn a_path_that_cannot_be_an_output_fails_its_target() {
    let cases = [
        ("true", "was not made, although the program ended well"),
        ("ln -s /etc/hostname out", "is a symbolic link"),
        ("mkfifo out", "is a pipe"),
        ("mkdir out", "is a folder"),
        ("mkdir sub; ln -s sub out2; echo > sub/x", "behind a symbolic link"),
    ];
    for (line, told) in cases {
        let path = if line.contains("out2") { "out2/x" } else { "out" };
        let bench = Bench::empty();
        let manifest = format!(
            "[workspace]\nname = \"x\"\nrulesets = []\n[producer.p]\nuses = \"command\"\nshell = '{line}'\noutputs = {{ o = \"{path}\" }}\n[[rule]]\ntarget = \"//a:b\"\nproducer = \"p\"\n"
        );
        bench.write("cortex.toml", &manifest);
        let ran = bench.run(&["build", "//a:b"]);
        assert!(ran.code == 1 && ran.err.contains(told), "{line}: {ran:?}");
        let folder = manifest
            .replace(&format!("\"{path}\""), "\"all/\"")
            .replace(line, &format!("mkdir all; cd all; {line}"));
        bench.write("cortex.toml", &folder);
        let ran = bench.run(&["build", "//a:b"]);
        let expected = i32::from(line.contains("ln") || line.contains("mkfifo"));
        assert_eq!(ran.code, expected, "{line}: {ran:?}");
    }
    let bench = Bench::empty();
    for path in ["../x", "/x", "a//b", "", "."] {
        bench.write(
            "cortex.toml",
            &format!("[workspace]\nname = \"x\"\n[producer.p]\nuses = \"command\"\nargv = [\"true\"]\noutputs = {{ o = \"{path}\" }}\n[[rule]]\ntarget = \"//a:b\"\nproducer = \"p\"\n"),
        );
        let ran = bench.run(&["build", "//a:b"]);
        assert!(ran.code == 2 && ran.err.contains("cortex.toml:6:"), "{path}: {ran:?}");
    }
}

#[test]
fn a_program_receives_each_form_of_input() {
    let bench = bench();
    bench.write("docs/b.txt", "z\n");
    let rule = r#"
[sources.docs]
include = ["docs/*.txt"]

[tables]
team = { lead = "string" }

[team.core]
lead = "ann"

[producer.forms]
uses = "command"
shell = "ls -dF *; cat {in.paths} {in.rows} {in.index} {in.pages}/a.txt; echo {in.texts} {in.trees} {in.none}."

[[rule]]
target = "//one:forms"
producer = "forms"
[rule.inputs]
text = "//files/docs/a.txt:bytes"
pages = "//docs/docs/a.txt:site.pages"
texts = { each = "sources:docs", target = "//files/{item}:bytes" }
trees = { each = "sources:docs", target = "//docs/{item}:site.pages" }
none = { each = "glob:no/such/*", target = "//files/{item}:bytes" }
paths = "//sources/docs:files"
rows = { table = "//manifest/team:table", each = ["core"] }
index = { node = "//docs/docs/a.txt:site.count", digest = true }
"#;
    bench.write("cortex.toml", &format!("{MANIFEST}{rule}"));
    let shown = bench.run(&["show", "//one:forms"]);
    insta::assert_snapshot!(shown.out, @r#"
    index
    pages/
    paths
    rows
    text
    texts.0
    texts.1
    trees.0/
    trees.1/
    docs/a.txt
    docs/b.txt
    {
      "core": {
        "lead": "ann"
      }
    }
    x
    y
    texts.0 texts.1 trees.0 trees.1 .
    "#);
}
