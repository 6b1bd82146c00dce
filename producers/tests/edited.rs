//! Targets that run again after an edit of one type among many in one file.

use crate::desk::Desk;
use std::fmt::Write;

/// Targets that people request; `:complete` is neither requested nor stored, so it is not built here either.
const ASKED: [&str; 5] = ["outline", "usages", "deps", "members", "impl"];

/// Returns a file of types that refer to each other; `body` is in the method of type `edited`, `above` before all of them.
fn generated(types: usize, edited: usize, body: &str, above: &str) -> String {
    let mut text = format!("{above}namespace N;\n");
    for at in 0..types {
        let body = if at == edited { body } else { "x = 1;" };
        let _ = writeln!(
            text,
            "public class T{at} {{\n  int x;\n  T{} Next() => null;\n  void Run() {{ {body} Next(); }}\n}}",
            (at + 1) % types
        );
    }
    text
}

fn desk(text: &str) -> Desk {
    let desk = Desk::with("[workspace]\nrulesets = [\"csharp\"]\n", &[("a.cs", text)]);
    build(&desk);
    desk
}

/// Builds all requested targets; returns the labels that ran.
fn build(desk: &Desk) -> Vec<String> {
    let mut ran = Vec::new();
    for target in ASKED {
        let built = desk.build(&format!("//types/...:{target}"));
        assert!(built.report.failures.is_empty(), "{:#?}", built.report.failures);
        ran.extend(built.ran);
    }
    ran.sort();
    ran
}

fn ran(desk: &Desk, text: &str) -> Vec<String> {
    desk.put("a.cs", text);
    build(desk)
}

#[test]
fn an_edited_body_runs_its_own_type_only() {
    let few = ran(&desk(&generated(20, 7, "x = 1;", "")), &generated(20, 7, "x = 2; x = 3;", ""));
    let many = ran(&desk(&generated(200, 7, "x = 1;", "")), &generated(200, 7, "x = 2; x = 3;", ""));
    assert_eq!(few, many);
    let others: Vec<&String> = many
        .iter()
        .filter(|label| label.starts_with("//types/") && !label.contains("N.T7:"))
        .collect();
    assert!(others.is_empty() && many.len() < 25, "{many:#?}");
}

#[test]
fn builds_after_edits_equal_a_build_from_nothing() {
    let first = generated(12, 3, "x = 1;", "");
    let edited = desk(&first);
    let texts = [
        generated(12, 3, "x = 2;", ""),
        generated(12, 5, "foo();\n bar();", "// a line\n\n"),
        generated(11, 0, "Next().Run();", ""),
        "namespace N { partial class T1 { class In { } int a; } partial class T1 { int b; T2 c; } class T2 { } }".to_owned(),
    ];
    for text in texts {
        edited.put("a.cs", &text);
        edited.put("b.cs", "namespace N; partial class T1 { T2 other; }");
        for type_name in ["T1", "T2"] {
            for target in ["outline", "usages", "deps", "members"] {
                let label = format!("//types/N.{type_name}:{target}");
                let fresh = Desk::with("[workspace]\nrulesets = [\"csharp\"]\n", &[("a.cs", &text)]);
                fresh.put("b.cs", "namespace N; partial class T1 { T2 other; }");
                assert_eq!(
                    edited.build(&label).report.outputs,
                    fresh.build(&label).report.outputs,
                    "{label} of {text}"
                );
            }
        }
    }
}

#[test]
fn a_part_that_moves_to_another_file_is_found_there() {
    let desk = desk("public partial class A { public int x; }");
    desk.put("b.cs", "public partial class A { public void F() { } }");
    let both = desk.text("//types/A:outline").0;
    assert!(both.contains("int x") && both.contains("F()"), "{both}");
    desk.put("a.cs", "class B { }");
    let built = desk.build("//types/A:usages");
    assert!(built.report.failures.is_empty(), "{:#?}", built.report.failures);
}
