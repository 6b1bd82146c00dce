//! Questions to a language model and the use of its answers, from C# text to files, through the real rules and the real engine.

use crate::desk::samples::{CLOCK, LABEL, PAIR, STORE, edited, error, pair, store};
use crate::desk::{Asked, Desk, manifest, types, whole};
use engine::seams::producer::Failure;
use engine::values::diagnostic::Diagnostic;

#[test]
fn a_type_is_asked_about_once_after_what_it_depends_on() {
    let desk = store("");
    desk.answers(|asked| Ok(whole(asked).replace("The role of N.Store", "Guards N.Store with [_gate] and [Nothing]; \u{1b}[31mred")));
    let built = desk.build("//types/...:semantic");
    assert_eq!(built.failures(), [""; 0]);
    assert_eq!(types(&built), ["N.IClock", "N.Store"]);
    let asked = &built.asked[1];
    let used = "Used types:\n```cs\n// IClock: The role of N.IClock in few words.\npublic interface IClock\nlong Now { get; }\n```";
    assert!(asked.user.contains(used), "{}", asked.user);
    assert!(!asked.whole.contains("DOCWORD"), "documentation is no input");
    let (text, asked) = desk.text(LABEL);
    assert_eq!(asked.len(), 0, "what was answered is not asked again");
    let id = text.lines().next().and_then(|line| line.rsplit(' ').next()).expect("an id");
    assert!(text.starts_with(&format!("# Semantic: N.Store {id}\nStructureHash: ")), "{text}");
    assert!(
        text.contains("\nSource: oracle-1\n\nROLE:\n- Guards N.Store with [_gate] and; red in few words.\n\nLIFECYCLE:\n"),
        "{text}"
    );
    let notes = desk.last(LABEL).record.notes;
    assert_eq!(
        (notes["mode"].as_str(), notes["chain"].as_str(), notes["evidence"].as_str()),
        ("full", "0", "1 kept, 1 dropped")
    );
    assert_eq!(notes["why"], "there is no earlier answer");
    assert_eq!(desk.codes(LABEL), ["N_EVIDENCE"]);
    let role = desk.text("//types/N.Store:role").0;
    assert!(role.starts_with("- Guards N.Store") && !role.contains("LIFECYCLE"), "{role}");
    // Only dependencies count: a new type, a comment or documentation causes no question.
    desk.put("src/More.cs", "namespace N; public class More { }");
    desk.put("src/Store.cs", &edited(STORE, "DOCWORD", "Other words"));
    assert_eq!(desk.text(LABEL).1.len(), 0);
}

#[test]
fn a_changed_body_is_a_patch_of_what_it_changes() {
    let desk = store("");
    desk.build(LABEL);
    desk.put("src/Store.cs", &edited(STORE, "Trim(16)", "Trim(32)"));
    desk.answers(|asked| {
        assert!(asked.is_patch());
        Ok("LIMITATIONS:\n- Keeps at most 32 things [Trim].\n\nROLE:\n- The role of N.Store in few words!".to_owned())
    });
    let (text, asked) = desk.text(LABEL);
    let user = &asked[0].user;
    assert!(user.contains("\n@@ Put\n") && user.contains("\n-Trim(16);\n+Trim(32);\n"), "{user}");
    assert!(
        user.contains("Earlier answer about N.Store:\n```\nROLE:\n- The role of N.Store"),
        "{user}"
    );
    assert!(
        !user.contains("throw new ArgumentNullException"),
        "only what moved is shown: {user}"
    );
    assert!(text.contains("LIMITATIONS:\n- Keeps at most 32 things [Trim].\n"), "{text}");
    assert!(
        text.contains("ROLE:\n- The role of N.Store in few words.\n"),
        "mere rewording is refused: {text}"
    );
    let notes = desk.last(LABEL).record.notes;
    assert_eq!((notes["mode"].as_str(), notes["chain"].as_str()), ("patch", "1"));
    assert_eq!(
        (notes["why"].as_str(), notes["kept"].as_str()),
        ("members changed: Store.Put(string) (changed)", "ROLE: it only words the same anew")
    );
    // "No change" is an answer, too.
    desk.put("src/Store.cs", &edited(STORE, "Trim(16)", "Trim(33)"));
    desk.answers(|_| Ok("NO CHANGE".to_owned()));
    let (again, asked) = desk.text(LABEL);
    assert_eq!((asked.len(), desk.note(LABEL, "chain").as_str()), (1, "1"));
    assert!(again.contains("LIMITATIONS:\n- Keeps at most 32 things [Trim].\n"));
    assert_ne!(again, text, "the head has the new hash");
}

#[test]
fn an_answer_from_a_cache_is_patched_as_one_that_was_asked_for_here() {
    let desk = store("");
    desk.build(LABEL);
    let other = desk.machine(
        &[LABEL, "//types/N.IClock:semantic"],
        &[("src/Clock.cs", CLOCK), ("src/Store.cs", STORE)],
    );
    let patches = |desk: &Desk| {
        desk.answers(|_| Ok("NO CHANGE".to_owned()));
        desk.put("src/Store.cs", &edited(STORE, "Trim(16)", "Trim(32)"));
        desk.build(LABEL).asked.iter().map(|asked| asked.whole.clone()).collect::<Vec<_>>()
    };
    assert_eq!(types(&other.build(LABEL)), [""; 0], "it has the answers");
    let asked = patches(&other);
    assert!(asked.len() == 1 && asked[0].contains("\n-Trim(16);\n+Trim(32);\n"), "{asked:?}");
    assert_eq!(asked, patches(&desk), "the very question");
    assert!(desk.note(LABEL, "why").starts_with("members changed: Store.Put(string) (changed)"));
}

#[test]
fn a_change_that_a_reader_does_not_use_waits_for_its_next_edit() {
    let desk = store("");
    desk.answers(|asked| Ok(whole(asked).replace("The limitations of N.Store", "Trusts IClock")));
    desk.build(LABEL);
    let role = |words: &'static str| move |asked: &Asked| Ok(whole(asked).replace("- The role of N.IClock in few words.", words));
    desk.answers(role("- Tells N.IClock apart."));
    let fresh = "//types/N.IClock:semantic";
    let built = desk.build_as(fresh, |options| options.fresh = [fresh.to_owned()].into_iter().collect());
    assert_eq!((types(&built), types(&desk.build(LABEL))), (vec!["N.IClock".to_owned()], vec![]));
    assert_eq!(desk.note(LABEL, "why"), "nothing that it uses changed, only N.IClock");
    // The next question is based on the state of the last answer.
    desk.put("src/Store.cs", &edited(STORE, "Trim(16)", "Trim(32)"));
    desk.answers(|_| Ok("NO CHANGE".to_owned()));
    let built = desk.build(LABEL);
    let user = &built.asked[0].user;
    assert!(
        user.contains("Role of IClock:\n```diff\n@@\n+- Tells N.IClock apart.\n") && user.contains("+Trim(32);"),
        "{user}"
    );
}

#[test]
fn a_change_that_a_model_is_not_shown_causes_no_question() {
    let desk = store("");
    desk.build(LABEL);
    // A member of a dependency that Store does not use changes the key, but not the prompt.
    desk.put(
        "src/Clock.cs",
        &edited(CLOCK, "long Now { get; }", "long Now { get; } void Unused();"),
    );
    desk.answers(|asked| {
        if asked.types() == ["N.IClock"] {
            Ok("NO CHANGE".to_owned())
        } else {
            Err(error("E_ASKED"))
        }
    });
    let built = desk.build(LABEL);
    assert_eq!((built.failures(), types(&built)), (vec![], vec!["N.IClock".to_owned()]));
    let last = desk.last(LABEL);
    assert_eq!(
        (
            last.record.notes["mode"].as_str(),
            last.record.spent.as_ref().is_none_or(|spent| spent.is_free())
        ),
        ("unchanged", true)
    );
    // A member that it uses causes a patch.
    desk.put("src/Clock.cs", &edited(CLOCK, "long Now", "ulong Now"));
    let no_change = |asked: &Asked| Ok(if asked.is_patch() { "NO CHANGE".to_owned() } else { whole(asked) });
    desk.answers(no_change);
    let built = desk.build(LABEL);
    assert_eq!(types(&built), ["N.IClock+N.Store"]);
    assert_eq!(
        desk.note(LABEL, "why"),
        "its dependencies changed: N.IClock; the model changes nothing"
    );
    // Without `structures` only roles count.
    let bare = store("params.structures = false");
    bare.build(LABEL);
    bare.put("src/Clock.cs", &edited(CLOCK, "long Now", "ulong Now"));
    bare.answers(no_change);
    assert_eq!(types(&bare.build(LABEL)), ["N.IClock"]);
}

#[test]
fn the_ways_back_to_a_whole_answer() {
    let small = |from: &str, to: &str| edited(STORE, from, to);
    let full = |desk: &Desk| {
        desk.answers(|asked| {
            Ok(if asked.is_patch() {
                "EDGE_CASES:\n- Something about [Put] number 7.".to_owned()
            } else {
                whole(asked)
            })
        });
        desk.build(LABEL);
        (desk.note(LABEL, "mode"), desk.note(LABEL, "why"))
    };
    let case = |params: &str| {
        let desk = store(params);
        desk.build(LABEL);
        desk
    };
    let desk = case("params.max_patches = 1");
    desk.put("src/Store.cs", &small("Trim(16)", "Trim(17)"));
    assert_eq!(full(&desk).0, "patch");
    desk.put("src/Store.cs", &small("Trim(16)", "Trim(18)"));
    assert_eq!(full(&desk), ("full".into(), "1 patches in a row are the most (max_patches)".into()));
    assert_eq!(desk.note(LABEL, "chain"), "0");

    let desk = case("params.max_diff = 0.01");
    desk.put("src/Store.cs", &small("Trim(16)", "Trim(17)"));
    let (mode, why) = full(&desk);
    assert!(mode == "full" && why.ends_with("more than 1 % (max_diff)"), "{why}");

    let desk = case("");
    desk.put("src/Store.cs", &small("Trim(16)", "Trim(17)"));
    desk.answers(|asked| {
        Ok(if asked.is_patch() {
            "I think it is fine.".to_owned()
        } else {
            whole(asked)
        })
    });
    let built = desk.build(LABEL);
    assert_eq!(built.asked.iter().map(|asked| asked.attempt).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(
        desk.note(LABEL, "why"),
        "the patch could not be put in: it has no section, or an empty one"
    );
    assert_eq!(desk.last(LABEL).record.spent.expect("money").calls, 3);

    // A corrected answer is a patch.
    for bad in ["ROLE:\n- A.\nROLE:\n- B.", "EDGE_CASES:\n- Eight [Put].\nNOTES:\n- More.", ""] {
        let desk = case("");
        desk.put("src/Store.cs", &small("Trim(16)", "Trim(17)"));
        desk.answers(move |asked| {
            Ok(match asked.attempt {
                0 => bad.to_owned(),
                _ => "EDGE_CASES:\n- Seventeen [Put].".to_owned(),
            })
        });
        let (text, asked) = desk.text(LABEL);
        assert_eq!(
            (asked.len(), desk.note(LABEL, "mode"), desk.note(LABEL, "repaired")),
            (2, "patch".into(), "1".into()),
            "{bad}"
        );
        assert!(asked[1].user.contains("only the sections that change") && text.contains("- Seventeen [Put].") && !text.contains("NOTES"));
    }

    // If little of the old code is left, a new answer is cheaper.
    let long = |word: &str| STORE.replace("Trim(16);", &format!("Use(\"{}\");", format!("{word} and more; ").repeat(300)));
    let desk = store("");
    desk.put("src/Store.cs", &long("this"));
    desk.build(LABEL);
    desk.put("src/Store.cs", &long("that"));
    assert_eq!(full(&desk), ("full".into(), "a patch would be dearer than a new answer".into()));
    // Sections that are only reworded keep the old words, for the sake of their readers.
    desk.put("src/Store.cs", &long("these"));
    desk.answers(|asked| {
        Ok(whole(asked)
            .replace("in few words", "in a few words")
            .replace("The edge_cases", "Throws [Put]. The edge_cases"))
    });
    let text = desk.text(LABEL).0;
    assert!(
        text.contains("- The role of N.Store in few words.") && text.contains("- Throws [Put]. The edge_cases of N.Store in a few"),
        "{text}"
    );
    assert_eq!(desk.note(LABEL, "mode"), "full");

    let mut desk = case("");
    desk.redefine(&manifest(
        "params.sections = [{ name = \"THREADING\", about = \"which threads\" }]",
        "",
    ));
    desk.answers(|asked| {
        assert!(asked.system.contains("- THREADING: which threads"));
        Ok(format!("{}THREADING:\n- None.\n", whole(asked)))
    });
    let (text, asked) = desk.text(LABEL);
    assert!(!asked.is_empty() && text.ends_with("\nTHREADING:\n- None.\n"), "{text}");
    assert_eq!(desk.note(LABEL, "why"), "the model, the template or the sections changed");

    let desk = case("");
    let built = desk.build_as(LABEL, |options| options.fresh = [LABEL.to_owned()].into_iter().collect());
    assert_eq!(
        (types(&built), desk.note(LABEL, "why")),
        (vec!["N.Store".to_owned()], "a new answer was requested".into())
    );
}

#[test]
fn one_repair_and_then_it_is_rejected() {
    let desk = store("");
    desk.answers(|asked| {
        Ok(if asked.attempt == 0 {
            "ROLE: only this".to_owned()
        } else {
            whole(asked)
        })
    });
    let built = desk.build("//types/N.IClock:semantic");
    assert_eq!((built.failures(), built.asked.len()), (vec![], 2));
    assert!(
        built.asked[1].user.contains("- the section LIFECYCLE of N.IClock is missing"),
        "{}",
        built.asked[1].user
    );
    assert!(built.asked[1].whole.contains("ROLE: only this"));
    assert_eq!(desk.note("//types/N.IClock:semantic", "repaired"), "1");

    let desk = store("");
    desk.answers(|_| Ok("Dolor\u{1b}[2J sit.".to_owned()));
    let built = desk.build("//types/N.IClock:semantic");
    assert_eq!((built.failures(), built.asked.len()), (vec!["E_ANSWER"], 2));
    assert_eq!(built.report.tally.spent.calls, 2, "what was spent in vain is told");
    // Cut off twice; a limit after some spending.
    let desk = store("params.max_tokens = 64");
    desk.answers(|asked| Ok(whole(asked).replace("words", &"word ".repeat(200))));
    let built = desk.build("//types/N.IClock:semantic");
    assert_eq!(built.failures(), ["E_ANSWER"]);
    assert!(built.asked[1].user.contains("- it was cut off at 64 tokens; be briefer"));
    let desk = store("");
    desk.answers(|asked| {
        if asked.attempt == 0 {
            Ok(String::new())
        } else {
            Err(Failure::Limit(Box::new(Diagnostic::error("E_LIMIT", "no more"))))
        }
    });
    let built = desk.build("//types/N.IClock:semantic");
    assert_eq!((built.failures(), built.report.tally.spent.calls), (vec!["E_LIMIT"], 1));
    // However often a limit comes between, the target is not given up.
    for _ in 0..4 {
        assert_eq!(desk.build("//types/N.IClock:semantic").failures(), ["E_LIMIT"]);
    }
    desk.answers(|asked| Ok(whole(asked)));
    assert_eq!(desk.build("//types/N.IClock:semantic").failures(), [""; 0]);
}

#[test]
fn a_group_is_asked_about_as_one() {
    let desk = pair("", "");
    let built = desk.build("//types/...:role");
    assert_eq!(
        (built.failures(), types(&built)),
        (vec![], vec!["N.IClock".to_owned(), "N.A+N.B".to_owned()])
    );
    let user = &built.asked[1].user;
    assert!(
        user.contains("// IClock: The role of N.IClock") && user.contains("OfA()") && user.contains("OfB()"),
        "{user}"
    );
    let group = built
        .ran
        .iter()
        .find(|label| label.starts_with("//groups/"))
        .expect("a group")
        .clone();
    let (text, _) = desk.text(&group);
    let id = group.trim_start_matches("//groups/").trim_end_matches(":semantic");
    assert!(
        text.starts_with(&format!("# Semantic: {id}\nTypes: T_")) && text.contains("\n## N.A T_") && text.contains("\n## N.B T_"),
        "{text}"
    );
    let (part, asked) = desk.text("//types/N.B:semantic");
    assert!(
        part.starts_with("# Semantic: N.B T_") && part.contains("The role of N.B") && !part.contains("N.A in few"),
        "{part}"
    );
    assert_eq!((asked.len(), desk.note("//types/N.B:semantic", "mode").as_str()), (0, "part"));
    assert!(desk.text("//types/N.A:role").0.contains("The role of N.A"));
    // A changed body in one type is a patch of the group; the other type's part stays.
    desk.put("src/Pair.cs", &edited(PAIR, "return 1;", "return 2;"));
    desk.answers(|_| Ok("EDGE_CASES:\n- Gives 2 [OfB].\n".to_owned()));
    let built = desk.build("//types/...:role");
    assert_eq!(types(&built), ["B"], "the other type's summary is not shown");
    assert!(desk.text("//types/N.B:semantic").0.contains("EDGE_CASES:\n- Gives 2 [OfB].\n"));
    assert!(desk.text("//types/N.A:semantic").0.contains("The edge_cases of N.A"));
    assert!(!built.ran.contains(&"//types/N.A:role".to_owned()) || built.asked.len() == 1);
    // The group splits: its types are separate, with their earlier summaries.
    desk.put("src/Pair.cs", &edited(PAIR, "public A Other { get; } ", ""));
    desk.answers(|asked| Ok(whole(asked)));
    let built = desk.build("//types/...:role");
    assert_eq!(types(&built), ["N.B"]);
    let mode = |label: &str| desk.note(label, "mode");
    assert_eq!(
        (mode("//types/N.B:semantic"), mode("//types/N.A:semantic")),
        ("patch".into(), "unchanged".into())
    );
}

#[test]
fn a_group_that_gains_or_loses_types_is_patched() {
    let desk = pair("", "");
    desk.build("//types/...:role");
    let third = "public class C { public A Other { get; } public int OfC() { return 3; } }\n";
    desk.put(
        "src/Pair.cs",
        &(edited(PAIR, "public int OfB()", "public C More { get; } public int OfB()") + third),
    );
    desk.answers(|asked| {
        let none = "Earlier answer about C, none: write every section";
        assert!(asked.is_patch() && asked.user.contains(none), "{}", asked.user);
        assert!(
            !asked.user.contains("OfA()") && asked.user.contains("\nOfC() {\n"),
            "{}",
            asked.user
        );
        assert!(asked.user.contains("\n+public C More { get; }\n"), "{}", asked.user);
        let sections = ["ROLE", "LIFECYCLE", "EDGE_CASES", "LIMITATIONS", "RECOMMENDATIONS"];
        let whole: String = sections.iter().map(|name| format!("{name}:\n- Of a third [OfC].\n")).collect();
        Ok(format!("# TYPE: B\nRECOMMENDATIONS:\n- Ask for More [More].\n# TYPE: C\n{whole}"))
    });
    let built = desk.build("//types/...:role");
    assert_eq!((built.failures(), types(&built)), (vec![], vec!["B+C".to_owned()]));
    let text = |name: &str| desk.text(&format!("//types/N.{name}:semantic")).0;
    assert!(text("A").contains("The edge_cases of N.A"), "{}", text("A"));
    assert!(text("B").contains("RECOMMENDATIONS:\n- Ask for More [More].\n") && text("B").contains("The role of N.B"));
    assert!(text("C").contains("ROLE:\n- Of a third [OfC].\n"), "{}", text("C"));
    // An answer without the sections of the new type is repaired.
    let fourth = "public class D { public A Other { get; } public int OfD() { return 4; } }\n";
    desk.put("src/More.cs", &format!("namespace N;\n{fourth}"));
    let now = edited(
        PAIR,
        "public int OfB()",
        "public C More { get; } public D Most { get; } public int OfB()",
    ) + third;
    desk.put("src/Pair.cs", &now);
    let mut answers = vec!["NO CHANGE".to_owned()];
    desk.answers(move |asked| {
        let all = whole(asked);
        let of_fourth = all.find("# TYPE: D").map_or(String::new(), |at| all[at..].to_owned());
        Ok(answers.pop().unwrap_or(of_fourth))
    });
    let built = desk.build("//types/...:role");
    assert_eq!((built.failures(), built.asked.len()), (vec![], 2), "{}", built.asked[0].user);
    assert!(text("D").contains("The role of D"), "{}", text("D"));
    // Two types leave: nothing is new, and B alone changed.
    desk.put("src/More.cs", "namespace N;\n");
    desk.put("src/Pair.cs", PAIR);
    desk.answers(|_| Ok("NO CHANGE".to_owned()));
    let built = desk.build("//types/...:role");
    assert_eq!(built.failures(), [""; 0]);
    assert!(
        built.asked.iter().all(|asked| asked.is_patch() && asked.types() == ["B"]),
        "{:?}",
        types(&built)
    );
}

#[test]
fn the_built_in_model_knows_no_group_and_no_graph() {
    let desk = Desk::with(
        "[workspace]\nrulesets = [\"csharp\"]\n",
        &[("src/Clock.cs", CLOCK), ("src/Pair.cs", PAIR), ("src/Store.cs", STORE)],
    );
    let built = desk.build("//types/...:semantic");
    assert_eq!((built.failures(), built.asked.len()), (vec![], 0));
    assert!(
        !built
            .ran
            .iter()
            .any(|label| label.starts_with("//index:g") || label.starts_with("//groups")),
        "{:?}",
        built.ran
    );
    let (text, _) = desk.text(LABEL);
    assert!(
        text.contains("DOCWORD") && text.contains("Source: extracted from code, no model"),
        "{text}"
    );
    assert!(desk.build("//...").ran.iter().all(|label| !label.starts_with("//groups")));
}

#[test]
fn a_section_that_rests_on_nothing_that_moved_stays() {
    let desk = store("");
    desk.answers(|asked| Ok(whole(asked).replace("The lifecycle of N.Store", "Begins empty [Get]; lifecycle of N.Store")));
    desk.build(LABEL);
    desk.put("src/Store.cs", &edited(STORE, "_count > most", "_count >= most"));
    desk.answers(|_| Ok("LIFECYCLE:\n- Something else [Get].\nEDGE_CASES:\n- Keeps one less [Trim].\n".to_owned()));
    let (text, _) = desk.text(LABEL);
    assert!(
        text.contains("Begins empty [Get]") && text.contains("- Keeps one less [Trim]."),
        "{text}"
    );
    assert_eq!(desk.note(LABEL, "kept"), "LIFECYCLE: it rests on nothing that changed");
}
