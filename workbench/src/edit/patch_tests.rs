//! Patches as git makes them: what it says of two trees makes the one of the other.

use super::memory::Memory;
use super::order::Order;
use super::session_tests::Coder;
use super::state::Status;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Names that git quotes, and others.
const NAMES: [&str; 9] = [
    "a.cs",
    "\u{e4}/\u{65e5}\u{672c}.cs",
    "with \"quote\".txt",
    "x y.cs",
    "back\\slash.cs",
    "b/a",
    "notes ",
    "notes",
    " in front/ and behind ",
];

/// Texts of files by their paths.
type Tree = BTreeMap<&'static str, String>;

/// What git answers in a folder, whatever its user has set.
fn git(folder: &Path, args: &[&str]) -> String {
    let run = Command::new("git")
        .args(["-c", "core.autocrlf=false"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", folder)
        .output()
        .expect("git");
    assert!(run.status.success(), "{args:?}: {run:?}");
    String::from_utf8(run.stdout).expect("UTF-8")
}

/// What git says that differs between two trees.
fn difference(old: &Tree, new: &Tree, options: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path();
    git(root, &["init", "--quiet"]);
    let stage = |tree: &Tree| {
        for (path, text) in tree {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
            fs::write(path, text).expect("file");
        }
        git(root, &["add", "--all"]);
        git(root, &["write-tree"]).trim().to_owned()
    };
    let before = stage(old);
    for path in old.keys() {
        fs::remove_file(root.join(path)).expect("file");
    }
    let after = stage(new);
    let mut args = vec!["diff"];
    args.extend(options);
    args.extend([before.as_str(), after.as_str()]);
    git(root, &args)
}

/// The tree after a patch of the other one.
fn patched(old: &Tree, patch: &str) -> Result<Tree, String> {
    let mut coder = Coder {
        files: Memory::default(),
        session: None,
        now: 1000,
    };
    for (path, text) in old {
        coder.files.write(path, text.as_str());
    }
    let done = coder.ask(Order::Patch(patch.to_owned()));
    if done.status != Status::Success {
        return Err(done.summary);
    }
    let text = |path: &'static str| Some((path, String::from_utf8(coder.files.file(path)?).expect("UTF-8")));
    Ok(NAMES.into_iter().filter_map(text).collect())
}

fn tree() -> impl Strategy<Value = Tree> {
    let text = prop_oneof![Just(String::new()), "((-- |\\+\\+ )?[ab]{0,2}\n){0,9}[ab]{0,2}"];
    proptest::collection::btree_map(proptest::sample::select(NAMES.to_vec()), text, 0..4)
}

#[test]
fn empty_files_quoted_paths_and_moves_are_as_git_writes_them() {
    let of = |files: &[(&'static str, &str)]| files.iter().map(|(path, text)| (*path, (*text).to_owned())).collect::<Tree>();
    for (old, new, says) in [
        (of(&[]), of(&[("a.cs", "")]), "new file mode 100644\nindex 0000000..e69de29"),
        (of(&[("a.cs", "")]), of(&[]), "deleted file mode 100644\nindex e69de29"),
        (of(&[("a.cs", "")]), of(&[("a.cs", "x\r\n")]), "@@ -0,0 +1 @@\n+x\r\n"),
        (of(&[("a.cs", "x")]), of(&[("a.cs", "")]), "@@ -1 +0,0 @@\n-x\n\\ No newline"),
        (of(&[]), of(&[(NAMES[1], "x\r\ny\n")]), "+++ \"b/\\303\\244/\\346"),
        (of(&[(NAMES[2], "")]), of(&[]), "diff --git \"a/with \\\"quote\\\".txt\" \"b/with"),
        (of(&[(NAMES[3], "x\n")]), of(&[(NAMES[4], "x\n")]), "rename to \"back\\\\slash.cs\""),
        (of(&[(NAMES[3], "")]), of(&[]), "diff --git a/x y.cs b/x y.cs"),
        (
            of(&[("notes ", "x\n"), ("notes", "y\n")]),
            of(&[("notes", "y\n"), ("a.cs", "x\n")]),
            "rename from notes \nrename to a.cs",
        ),
        (
            of(&[("notes ", ""), ("notes", "")]),
            of(&[("notes", "")]),
            "diff --git a/notes  b/notes \ndeleted",
        ),
        (
            of(&[("notes ", "x\n"), ("notes", "x\n")]),
            of(&[("notes ", "y\n"), ("notes", "x\n")]),
            "+++ b/notes \t\n",
        ),
        (of(&[]), of(&[(NAMES[8], "x\n")]), "+++ b/ in front/ and behind \t\n"),
    ] {
        let patch = difference(&old, &new, &[]);
        assert!(patch.contains(says), "{patch}");
        assert_eq!(patched(&old, &patch), Ok(new), "{patch}");
    }
    // A file that is not empty any more is not removed as one that is.
    let gone = difference(&of(&[("a.cs", "")]), &of(&[]), &[]);
    let kept = patched(&of(&[("a.cs", "x")]), &gone).expect_err("refused");
    assert!(kept.contains("not all of its lines"), "{kept}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]
    #[test]
    fn what_git_says_of_two_trees_makes_one_of_the_other(
        old in tree(),
        new in tree(),
        crlf in (any::<bool>(), any::<bool>()),
        options in proptest::sample::select(vec![vec![], vec!["--no-renames"], vec!["-U0"], vec!["--full-index", "-U1"]])
    ) {
        let ends = |tree: Tree, crlf: bool| -> Tree {
            let ended = |text: String| if crlf { text.replace('\n', "\r\n") } else { text };
            tree.into_iter().map(|(path, text)| (path, ended(text))).collect()
        };
        let (old, new) = (ends(old, crlf.0), ends(new, crlf.1));
        if old != new {
            let patch = difference(&old, &new, &options);
            prop_assert_eq!(patched(&old, &patch), Ok(new), "{}", patch);
        }
    }
}
