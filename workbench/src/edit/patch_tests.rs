//! Patches that git writes: the difference of two trees turns the first into the second.

use super::memory::Memory;
use super::order::Order;
use super::session_tests::Coder;
use super::state::Status;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Names that git quotes, and plain ones.
const NAMES: [&str; 9] = [
    "a.cs", "\u{e4}/\u{65e5}\u{672c}.cs", "with \"quote\".txt", "x y.cs", "back\\slash.cs", "b/a", "notes ", "notes",
    " in front/ and behind ",
];

/// Texts of files by their paths.
type Tree = BTreeMap<&'static str, String>;

/// Runs git in a folder, independent of the user's settings.
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

/// Returns git's diff of two trees.
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

/// Applies a patch to a tree with `git apply`; `None` if it refuses.
fn applied(old: &Tree, patch: &str) -> Option<Tree> {
    let folder = tempfile::tempdir().expect("folder");
    let (root, file) = (folder.path().join("tree"), folder.path().join("patch"));
    for (path, text) in old {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        fs::write(path, text).expect("file");
    }
    fs::write(&file, patch).expect("file");
    let mut apply = Command::new("git");
    let run = apply
        .arg("apply")
        .arg(&file)
        .current_dir(&root)
        .env("HOME", folder.path())
        .output()
        .expect("git");
    let text = |path: &'static str| Some((path, fs::read_to_string(root.join(path)).ok()?));
    run.status.success().then(|| NAMES.into_iter().filter_map(text).collect())
}

/// Applies a patch to a tree with cortex.
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

/// Formats a patch as `git format-patch` does, with diff-like lines in the message.
fn mailed(patch: &str) -> String {
    let name = "0123456789".repeat(4);
    format!(
        "From {name} Mon Sep 17 00:00:00 2001\nFrom: A <a@b.example>\nSubject: [PATCH] Binary files\n\nBinary files a/x and b/x differ\n--- a/x\ndiff --git a/x b/x\n\ncopy from x\n@@ -1 +1 @@\n---\n a.cs | 2 +-\n\n{patch}-- \n2.43.0\n\n"
    )
}

/// Returns a text long enough for git to detect a move.
fn long(of: usize) -> String {
    (0..40).map(|line| format!("text {of}, line {line} of it\n")).collect()
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
    // The patch deletes an empty file; a file with content is refused.
    let gone = difference(&of(&[("a.cs", "")]), &of(&[]), &[]);
    let kept = patched(&of(&[("a.cs", "x")]), &gone).expect_err("refused");
    assert!(kept.contains("not all of its lines"), "{kept}");
}

#[test]
fn files_swap_their_names() {
    let (one, other) = (long(1), long(2));
    let of = |files: &[(&'static str, &String)]| files.iter().map(|(path, text)| (*path, (*text).clone())).collect::<Tree>();
    let old = of(&[("a.cs", &one), ("b/a", &other)]);
    for new in [of(&[("a.cs", &other), ("b/a", &one)]), of(&[("b/a", &one), ("notes", &other)])] {
        for options in [&["-B", "-M"][..], &["-B", "-M", "--no-prefix"]] {
            let patch = difference(&old, &new, options);
            assert!(
                patch.contains("rename from b/a\n") && patch.contains("rename from a.cs\n"),
                "{patch}"
            );
            assert_eq!(patched(&old, &patch), Ok(new.clone()), "{patch}");
        }
    }
    let mut coder = Coder {
        files: Memory::default(),
        session: None,
        now: 1000,
    };
    coder.files.write("a.cs", one.as_str());
    coder.files.write("b/a", other.as_str());
    coder.files.allow("b/a", 0o755);
    let swap = difference(&old, &of(&[("a.cs", &other), ("b/a", &one)]), &["-B", "-M"]);
    let refused = coder.ask(Order::Patch(swap.clone()));
    assert_eq!(
        refused.summary,
        "a.cs takes the name of b/a, which has other permissions; nothing was changed"
    );
    coder.files.allow("b/a", 0o644);
    assert_eq!(coder.ask(Order::Patch(swap)).status, Status::Success);
    coder.ask(Order::Undo);
    assert_eq!(coder.files.file("a.cs"), Some(one.into_bytes()));
}

#[test]
fn two_files_do_not_get_one_name() {
    let old = Tree::from([("a.cs", "a\n".to_owned()), ("notes", "n\n".to_owned())]);
    let section = |lines: &str| patched(&old, &format!("*** Begin Patch\n{lines}*** End Patch\n"));
    for (lines, why) in [
        (
            "*** Update File: a.cs\n*** Move to: b/a\n*** Add File: b/a\n+x\n",
            "b/a already exists",
        ),
        (
            "*** Update File: a.cs\n*** Move to: b/a\n*** Delete File: a.cs\n",
            "a.cs no longer exists where the patch names it again",
        ),
        (
            "*** Update File: a.cs\n*** Move to: b/a\n*** Update File: notes\n*** Move to: b/a\n",
            "b/a already exists",
        ),
        (
            "*** Delete File: a.cs\n*** Update File: a.cs\n-a\n+b\n",
            "a.cs no longer exists where the patch names it again",
        ),
    ] {
        assert!(section(lines).is_err_and(|message| message.starts_with(why)), "{why}");
    }
    assert!(section("*** Update File: a.cs\n*** Move to: notes\n").is_err_and(|why| why.contains("notes already exists")));
    let made = section("*** Delete File: a.cs\n*** Add File: a.cs\n+x\n*** Delete File: notes\n");
    assert_eq!(made, Ok(Tree::from([("a.cs", "x\n".to_owned())])));
}

#[test]
fn text_of_a_mail_is_no_patch() {
    let (old, new) = (Tree::from([("a.cs", "a\n".to_owned())]), Tree::from([("a.cs", "b\n".to_owned())]));
    let mail = mailed(&difference(&old, &new, &[]));
    assert_eq!(patched(&old, &mail), Ok(new.clone()));
    assert_eq!(patched(&old, mail.split_once('\n').expect("lines").1), Ok(new.clone()));
    // Two mails of a series; the first one has no patch.
    let cover = mailed("");
    assert_eq!(patched(&old, &format!("{cover}{mail}")), Ok(new.clone()));
    let other = mailed(&difference(&Tree::new(), &Tree::from([("notes", String::new())]), &[]));
    let both = Tree::from([("a.cs", "b\n".to_owned()), ("notes", String::new())]);
    assert_eq!(patched(&old, &format!("{other}{mail}")), Ok(both));
    assert!(patched(&old, &cover).is_err_and(|why| why.contains("the patch has no file")));
    // Other text before a patch is parsed as what it is, and refused if it is not a patch.
    assert!(patched(&old, &format!("Binary files x and y differ\n{}", difference(&old, &new, &[]))).is_err());
}

#[test]
fn a_file_that_is_named_once_more_is_changed_once_more() {
    let old = Tree::from([("a.cs", "1\n2\n3\n".to_owned()), ("notes", "n\n".to_owned())]);
    let change = |old: &str, new: &str| format!("--- a/a.cs\n+++ b/a.cs\n@@ -1,3 +1,3 @@\n-{old}\n+{new}\n 2\n 3\n");
    let notes = "--- a/notes\n+++ b/notes\n@@ -1 +1 @@\n-n\n+m\n";
    let (one, two) = (change("1", "x"), change("x", "y"));
    let changed = |text: &str| Tree::from([("a.cs", format!("{text}\n2\n3\n")), ("notes", "n\n".to_owned())]);
    assert_eq!(patched(&old, &format!("{one}{two}")), Ok(changed("y")));
    assert_eq!(applied(&old, &format!("{one}{two}")), Some(changed("y")));
    assert!(patched(&old, &format!("{two}{one}")).is_err_and(|why| why.starts_with("a.cs: the hunk at line 3 of the patch fits nowhere")));
    assert!(patched(&old, &format!("{one}{notes}{one}")).is_err_and(|why| why.contains("the hunk at line 15 of the patch")));
    let sections = "*** Begin Patch\n*** Update File: a.cs\n-1\n+x\n*** Update File: notes\n*** Move to: b/a\n*** Update File: a.cs\n-x\n+y\n*** Update File: b/a\n-n\n+m\n*** End Patch\n";
    let made = Tree::from([("a.cs", "y\n2\n3\n".to_owned()), ("b/a", "m\n".to_owned())]);
    assert_eq!(patched(&old, sections), Ok(made));
}

#[test]
fn files_added_and_deleted_within_a_series_are_not_touched() {
    let (one, other) = (long(1), long(2));
    let of = |files: &[(&'static str, &String)]| files.iter().map(|(path, text)| (*path, (*text).clone())).collect::<Tree>();
    let trees = [
        of(&[("a.cs", &one)]),
        of(&[("a.cs", &one), ("notes", &other)]),
        of(&[("b/a", &one), ("x y.cs", &other)]),
        of(&[("a.cs", &one), ("b/a", &other)]),
        of(&[("a.cs", &one)]),
    ];
    let mails: String = trees
        .windows(2)
        .map(|both| mailed(&difference(&both[0], &both[1], &["-M"])))
        .collect();
    let mut coder = Coder {
        files: Memory::default(),
        session: None,
        now: 1000,
    };
    coder.files.write("a.cs", one.as_str());
    assert_eq!(coder.ask(Order::Patch(mails)).status, Status::NoOp);
    let mails: String = trees[..4]
        .windows(2)
        .map(|both| mailed(&difference(&both[0], &both[1], &["-M"])))
        .collect();
    let done = coder.ask(Order::Patch(mails.clone()));
    assert_eq!(
        (done.status, done.path.as_deref(), done.files),
        (Status::Success, Some("b/a"), Vec::new())
    );
    assert_eq!(coder.files.file("b/a"), Some(other.into_bytes()));
    coder.files.write("notes", "another program's\n");
    coder.files.remove("b/a");
    let refused = coder.ask(Order::Patch(mails));
    assert!(refused.summary.starts_with("notes already exists"), "{refused:?}");
}

#[test]
fn byte_order_marks_stay_come_and_go_as_git_says() {
    let (plain, marked) = ("a\nb\nc\n", "\u{feff}a\nb\nc\n");
    let of = |text: &str| Tree::from([("a.cs", text.to_owned())]);
    for (old, new) in [
        (marked, "\u{feff}x\nb\nc\n"),
        (marked, plain),
        (plain, marked),
        (marked, "\u{feff}a\nb\nx\n"),
        (marked, "\u{feff}new\na\nb\nc\n"),
        (marked, "new\n"),
    ] {
        let patch = difference(&of(old), &of(new), &[]);
        assert_eq!(patched(&of(old), &patch), Ok(of(new)), "{patch}");
        let moved = Tree::from([("notes", new.to_owned())]);
        let patch = difference(&of(old), &moved, &["--no-renames"]);
        assert_eq!(patched(&of(old), &patch), Ok(moved), "{patch}");
    }
    // A patch that omits the byte order mark keeps it.
    let patch = "--- a/a.cs\n+++ b/a.cs\n@@ -1,2 +1,2 @@\n-a\n+x\n b\n";
    assert_eq!(patched(&of(marked), patch), Ok(of("\u{feff}x\nb\nc\n")));
    assert!(patched(&of(plain), &difference(&of(marked), &of("\u{feff}x\n"), &[])).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]
    #[test]
    fn diffs_of_git_turn_one_tree_into_the_other(
        old in tree(),
        new in tree(),
        crlf in (any::<bool>(), any::<bool>()),
        options in proptest::sample::select(vec![
            vec![], vec!["--no-renames"], vec!["-U0"], vec!["--full-index", "-U1"], vec!["--no-prefix"], vec!["--src-prefix=c/", "--dst-prefix=i/"],
            vec!["--src-prefix=i/", "--dst-prefix=w/", "--no-renames"]
        ]),
        turned: bool,
        is_mail: bool
    ) {
        let ends = |tree: Tree, crlf: bool| -> Tree {
            let ended = |text: String| if crlf { text.replace('\n', "\r\n") } else { text };
            tree.into_iter().map(|(path, text)| (path, ended(text))).collect()
        };
        let (old, new) = (ends(old, crlf.0), ends(new, crlf.1));
        if old != new {
            let patch = match turned {
                true => difference(&new, &old, &[&options[..], &["-R"]].concat()),
                false => difference(&old, &new, &options),
            };
            let patch = if is_mail { mailed(&patch) } else { patch };
            prop_assert_eq!(patched(&old, &patch), Ok(new), "{}", patch);
        }
    }

    #[test]
    fn a_series_of_mails_is_applied_one_after_the_other(
        trees in proptest::collection::vec(tree(), 2..4),
        options in proptest::sample::select(vec![vec![], vec!["--no-renames"], vec!["-U0"]])
    ) {
        let (first, last) = (&trees[0], &trees[trees.len() - 1]);
        if first != last {
            let mails: String = trees.windows(2).map(|both| mailed(&difference(&both[0], &both[1], &options))).collect();
            prop_assert_eq!(patched(first, &mails), Ok(last.clone()), "{}", mails);
        }
    }

    #[test]
    fn files_take_the_names_that_others_leave(names in Just(NAMES[..6].to_vec()).prop_shuffle(), edited in proptest::collection::vec(any::<bool>(), 4)) {
        let old: Tree = (0..4).map(|of| (NAMES[of], long(of))).collect();
        let new: Tree = (0..4).map(|of| (names[of], long(of) + if edited[of] { "more\n" } else { "" })).collect();
        if old != new {
            let patch = difference(&old, &new, &["-B", "-M"]);
            let done = patched(&old, &patch);
            // Diffs with copies, and those of git's own that `git apply` refuses, must be refused.
            match applied(&old, &patch) {
                Some(tree) if !patch.contains("\ncopy from ") => prop_assert_eq!(done, Ok(tree), "{}", patch),
                _ => prop_assert!(done.is_err(), "{}", patch),
            }
        }
    }
}
