//! Deleted types and members: every command that names one reports since when and why, and suggests only commands that work.

use crate::bench::Bench;

const BOX: &str = "namespace N;\npublic class Box\n{\n    public void Put(int a) { }\n    public int Count() => 1;\n}\n";

fn boxed() -> Bench {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"n\"\nrulesets = [\"csharp\"]\n");
    bench.write("Box.cs", BOX);
    bench.write("Other.cs", "namespace N;\npublic interface IOther { string Say(); }\n");
    assert_eq!(bench.run(&["build", "//types/...:outline", "//types/Box#*:code"]).code, 0);
    bench
}

/// Returns the note about a deleted symbol, with its hint.
fn note(bench: &Bench, args: &[&str]) -> String {
    let ran = bench.run(args);
    assert_eq!(ran.code, 2, "{args:?} {ran:?}");
    let mut lines = ran.err.lines().skip_while(|line| !line.contains("N_GONE"));
    let (first, hint) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let hint = if hint.starts_with("  help: `cortex history") { hint } else { "" };
    format!("{first}{hint}")
}

#[test]
fn a_member_that_is_gone_was_there() {
    let bench = boxed();
    bench.write("Box.cs", &BOX.replace("    public void Put(int a) { }\n", ""));
    let actual = "note[N_GONE]: N.Box#Put(int) is gone since build 2, WHEN WHEN UTC: Box.cs was changed";
    let kept = "  help: `cortex history '//types/N.Box#Put(int):code'` lists its versions";
    assert_eq!(note(&bench, &["show", "//types/Box#Put:code"]), format!("{actual}{kept}"));
    // Its outline was never built, so no kept version of it is mentioned.
    for args in [&["source", "Box#Put"][..], &["usages", "Box.Put"], &["outline", "N.Box.Put"]] {
        assert_eq!(note(&bench, args), actual, "{args:?}");
    }
    let never = bench.run(&["source", "Box#Take"]);
    assert!(never.code == 2 && !never.err.contains("N_GONE"), "{never:?}");
}

/// Parameters are known only for members that were requested; names for all.
#[test]
fn a_member_that_was_never_requested_is_reported_as_removed() {
    let bench = boxed();
    bench.write("Other.cs", "namespace N;\npublic interface IOther { string Say(); int Hear(); }\n");
    assert_eq!(bench.run(&["source", "IOther"]).code, 0);
    bench.write("Other.cs", "namespace N;\npublic interface IOther { string Say(); }\n");
    let actual = note(&bench, &["source", "IOther.Hear"]);
    assert!(
        actual.starts_with("note[N_GONE]: N.IOther#Hear is gone since build ") && actual.ends_with(": Other.cs was changed"),
        "{actual}"
    );
}

#[test]
fn all_methods_report_a_removed_type() {
    let bench = boxed();
    std::fs::remove_file(bench.root().join("Box.cs")).expect("removed");
    // Before a build detects the deletion: the old output is shown, without a hint to refresh it.
    let stale = bench.run(&["show", "--allow-stale", "//types/Box:outline"]);
    assert!(stale.code == 0 && stale.out.starts_with("# N.Box "), "{stale:?}");
    assert!(
        stale.err.contains("it is out of date: Box.cs was removed\n") && !stale.err.contains("--refresh"),
        "{stale:?}"
    );
    let actual = "note[N_GONE]: N.Box is gone since build 2, WHEN WHEN UTC: Box.cs was removed";
    let kept = "  help: `cortex history '//types/N.Box:outline'` lists its versions";
    for args in [
        &["show", "//types/Box:outline"][..],
        &["show", "--allow-stale", "//types/Box:outline"],
        &["source", "Box"],
        &["usages", "N.Box"],
        &["deps", "Box"],
        &["rdeps", "Box"],
        &["outline", "Box"],
    ] {
        assert_eq!(note(&bench, args), format!("{actual}{kept}"), "{args:?}");
    }
    assert_eq!(bench.run(&["history", "//types/N.Box:outline"]).code, 0, "as was promised");
    // After a collection, the log still knows it.
    assert_eq!(bench.run(&["build", "//types/...:outline"]).code, 0);
    assert_eq!(bench.run(&["gc", "--older-than", "0", "--keep-versions", "0"]).code, 0);
    for args in [
        &["show", "--allow-stale", "//types/Box:outline"][..],
        &["explain", "//types/N.Box:outline"],
        &["source", "Box"],
    ] {
        assert_eq!(
            note(&bench, args),
            "note[N_GONE]: N.Box is gone since build 2, WHEN WHEN UTC",
            "{args:?}"
        );
    }
    let whole = bench.run(&["history", "//types/N.Box:outline"]);
    assert!(whole.code == 2 && whole.err.contains("N_GONE"), "{whole:?}");
}

/// Returns the lines that explain why a target last ran or is stale, to the end of the chain.
fn why(bench: &Bench, label: &str) -> Vec<String> {
    let stdout = bench.run(&["explain", label]).out;
    let of_way = |line: &&str| line.starts_with("  because ") || line.starts_with("             ");
    let way = stdout.lines().skip_while(|line| !line.starts_with("  because ")).take_while(of_way);
    way.map(|line| line.trim().trim_start_matches("because").trim().to_owned())
        .collect()
}

#[test]
fn ways_lead_to_files_that_went_and_came_back() {
    let bench = boxed();
    bench.write(
        "User.cs",
        "namespace N;\npublic class User { public int Use(Box box) => box.Count(); }\n",
    );
    let all = ["build", "//types/...:deps", "//index:types", "//index:members", "//index:graph"];
    let build = || assert_eq!(bench.run(&all).code, 0);
    build();
    std::fs::remove_file(bench.root().join("Box.cs")).expect("removed");
    let set = why(&bench, "//index:files");
    assert_eq!(
        set.last().map(String::as_str),
        Some("//sources/csharp:files: Box.cs was removed"),
        "{set:?}"
    );
    build();
    for label in ["//index:types", "//index:members", "//index:graph", "//types/N.User:deps"] {
        let way = why(&bench, label);
        let last = way.last().map(String::as_str).unwrap_or_default();
        assert_eq!(last, "//files/Box.cs:bytes DIGEST → gone", "{label} {way:?}");
    }
    bench.write("Box.cs", BOX);
    build();
    bench.write("Box.cs", &BOX.replace("Put", "Lay"));
    build();
    std::fs::remove_file(bench.root().join("Box.cs")).expect("removed");
    build();
    bench.write("Box.cs", &BOX.replace("Put", "Set"));
    bench.write("New.cs", "namespace N;\npublic class New { }\n");
    let set = why(&bench, "//index:files");
    assert_eq!(
        set.last().map(String::as_str),
        Some("//sources/csharp:files: Box.cs was added, New.cs was added"),
        "{set:?}"
    );
    build();
    for label in ["//index:types", "//index:members", "//index:graph", "//types/N.User:deps"] {
        let way = why(&bench, label);
        let last = way.last().map(String::as_str).unwrap_or_default();
        assert!(
            last.starts_with("//files/Box.cs:bytes ") || last == "//files/New.cs:bytes new: DIGEST",
            "{label} {way:?}"
        );
    }
}
