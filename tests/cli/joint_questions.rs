//! Several questions to a model that are asked as one.

use crate::money::{ALL, FULL, PAIR, calls, manifest, workspace, write_model_file};

#[test]
fn one_call_buys_the_answers_to_all_questions_that_are_asked_as_one() {
    let bench = workspace(&PAIR);
    manifest(&bench, "", "params.together = 8");
    write_model_file(&bench, "full", &format!("# ANSWER 1\n{FULL}\n# ANSWER 2\n{FULL}"));
    let built = bench.run(&["build", "--max-calls", "1", ALL]);
    assert_eq!((built.code, calls(&bench)), (0, 1), "{built:?}");
    let cost = bench.run(&["cost", "--json"]).json();
    assert_eq!(
        (&cost["spent"]["spent"]["calls"], &cost["spent"]["times"]),
        (&1.into(), &2.into()),
        "{cost}"
    );
    // The way of asking is not part of the key.
    manifest(&bench, "", "");
    assert_eq!((bench.run(&["build", ALL]).code, calls(&bench)), (0, 0));
}

#[test]
fn patches_of_a_build_are_asked_as_one_and_first_answers_alone() {
    let reader = |name: &str, call: &str| {
        format!(
            "public class {name} {{ public int Run({} of) {{ return of.{call}(); }} }}",
            &call[3..]
        )
    };
    let (c, d) = (reader("C", "GetA"), reader("D", "PutB"));
    let types = [
        ("A", "public class A { public int GetA() { return 1; } }"),
        ("B", "public class B { public int PutB() { return 2; } }"),
        ("C", &c),
        ("D", &d),
    ];
    let bench = workspace(&types);
    let expected = || {
        let stderr = bench.run(&["build", "--dry-run", ALL]).err;
        stderr
            .lines()
            .find_map(|line| Some(line.trim().strip_prefix("asks")?.split(", about").next()?.trim().to_owned()))
    };
    assert_eq!(expected().as_deref(), Some("2 new answers: 2 calls"));
    assert_eq!((bench.run(&["build", ALL]).code, calls(&bench)), (0, 4));
    write_model_file(&bench, "full", "# ANSWER 1\nNO CHANGE\n# ANSWER 2\nNO CHANGE\n");
    bench.change("A.cs", "return 1", "return 3");
    bench.change("B.cs", "return 2", "return 4");
    assert_eq!(expected().as_deref(), Some("2 patches: 1 call"));
    assert_eq!((bench.run(&["build", ALL]).code, calls(&bench)), (0, 1));
    // A model that cannot answer in parts is asked in vain once, not once per joinable question.
    write_model_file(&bench, "full", "LIMITATIONS:\n- It counts nothing.\n");
    bench.change("A.cs", "int GetA() { return 3; }", "long GetA() { return 5; }");
    bench.change("B.cs", "int PutB() { return 4; }", "long PutB() { return 6; }");
    bench.change("C.cs", "return of.GetA()", "return 1 + (int)of.GetA()");
    bench.change("D.cs", "return of.PutB()", "return 1 + (int)of.PutB()");
    assert_eq!((bench.run(&["build", ALL]).code, calls(&bench)), (0, 5));
}

#[test]
fn a_build_that_is_stopped_in_a_question_for_many_can_go_on() {
    let bench = workspace(&PAIR);
    manifest(&bench, "", "params.together = 8");
    write_model_file(&bench, "full", &format!("# ANSWER 1\n{FULL}\n# ANSWER 2\n{FULL}"));
    write_model_file(&bench, "act", "kill -INT $PPID; exec sleep 600");
    let stopped = bench.run(&["build", ALL]);
    assert_eq!((stopped.code, calls(&bench)), (130, 1), "{stopped:?}");
    write_model_file(&bench, "act", "");
    assert_eq!((bench.run(&["build", ALL]).code, calls(&bench)), (0, 1));
}

#[test]
fn a_fresh_clone_that_starts_with_an_edit_asks_as_the_machine_that_asked_first() {
    let share = tempfile::tempdir().expect("a folder");
    let remote = format!("[remote]\nendpoint = \"dir:{}\"\nwrite = \"always\"\n", share.path().display());
    let edited = PAIR.map(|(name, code)| (name, code.replace("return ", "return 10 + ")));
    let first = workspace(&PAIR);
    manifest(&first, &remote, "");
    assert_eq!((first.run(&["build", ALL]).code, calls(&first)), (0, 2));
    let clone = workspace(&edited.each_ref().map(|(name, code)| (*name, code.as_str())));
    // One model for both: its command is part of the key.
    let text = std::fs::read_to_string(first.root().join("cortex.toml")).expect("a manifest");
    clone.write("cortex.toml", &text);
    write_model_file(&first, "full", "# ANSWER 1\nNO CHANGE\n# ANSWER 2\nNO CHANGE\n");
    let planned = clone.run(&["build", "--dry-run", ALL]).err;
    assert!(planned.contains("2 patches: 1 call"), "{planned}");
    assert_eq!((clone.run(&["build", ALL]).code, calls(&first)), (0, 1));
    for (name, code) in &edited {
        first.write(&format!("{name}.cs"), &format!("namespace N;\n{code}\n"));
    }
    let planned = first.run(&["build", "--dry-run", ALL]).err;
    assert!(planned.contains("no model would be called"), "the clone's answers serve: {planned}");
    assert_eq!((first.run(&["build", ALL]).code, calls(&first)), (0, 0));
}

#[test]
fn a_cache_lets_readers_be_asked_about_with_what_they_read() {
    let share = tempfile::tempdir().expect("a folder");
    let remote = format!("[remote]\nendpoint = \"dir:{}\"\nwrite = \"always\"\n", share.path().display());
    let code = |number: u32| {
        [
            ("A", format!("public class A {{ public int GetA() {{ return {number}; }} }}")),
            (
                "B",
                format!("public class B {{ public int Run(A of) {{ return {number} + of.GetA(); }} }}"),
            ),
        ]
    };
    let types = |number: u32| workspace(&code(number).each_ref().map(|(name, code)| (*name, code.as_str())));
    let first = types(1);
    manifest(&first, &remote, "");
    assert_eq!((first.run(&["build", ALL]).code, calls(&first)), (0, 2));
    write_model_file(&first, "full", "# ANSWER 1\nNO CHANGE\n# ANSWER 2\nNO CHANGE\n");
    for (name, code) in code(3) {
        first.write(&format!("{name}.cs"), &format!("namespace N;\n{code}\n"));
    }
    assert_eq!((first.run(&["build", ALL]).code, calls(&first)), (0, 1));
    // The cache has the answers for another machine.
    let other = types(3);
    let text = std::fs::read_to_string(first.root().join("cortex.toml")).expect("a manifest");
    other.write("cortex.toml", &text);
    assert_eq!((other.run(&["build", ALL]).code, calls(&first)), (0, 0));
}
