//! A rename causes no question to a model if the code differs only in names.

use crate::desk::samples::{CLOCK, LABEL, PAIR, STORE, edited, pair, store};
use crate::desk::{Asked, Desk, types, whole};
use engine::seams::producer::Failure;

const ALL: &str = "//types/...:semantic";

/// Returns a complete answer that contains names in several ways.
fn wordy(asked: &Asked) -> Result<String, Failure> {
    Ok(whole(asked).replace(
        "- The lifecycle of N.Store in few words.",
        "- `Store` takes an IClock [Store.Put, N.Store]; N.Store.Get throws.\n- Store things sparingly. Store is sealed [Trim].",
    ))
}

fn built(files: &[(&str, &str)]) -> Desk {
    let desk = Desk::new("", files);
    desk.answers(wordy);
    desk.build(ALL);
    desk
}

fn desk() -> Desk {
    built(&[("src/Clock.cs", CLOCK), ("src/Store.cs", STORE)])
}

/// Returns the text of a summary after its head.
fn sections(desk: &Desk, label: &str) -> String {
    let text = desk.text(label).0;
    text[text.find("\nROLE:").expect("a role")..].to_owned()
}

#[test]
fn a_renamed_type_asks_nothing() {
    let desk = desk();
    desk.rename("N.Store", "N.Vault");
    desk.put("src/Store.cs", &STORE.replace("Store", "Vault"));
    let built = desk.build(ALL);
    assert_eq!((built.failures(), types(&built)), (vec![], vec![]));
    let now = "//types/N.Vault:semantic";
    assert_eq!(
        (desk.note(now, "mode").as_str(), desk.note(now, "why").as_str()),
        ("carried", "it was renamed")
    );
    let text = sections(&desk, now);
    assert!(
        text.contains(
            "- `Vault` takes an IClock [Vault.Put, N.Vault]; N.Vault.Get throws.\n- Store things sparingly. Vault is sealed [Trim].\n"
        ),
        "{text}"
    );
    assert!(text.starts_with("\nROLE:\n- The role of N.Vault in few words."), "{text}");
    // A later edit is a patch of the renamed summary.
    desk.put("src/Store.cs", &edited(&STORE.replace("Store", "Vault"), "Trim(16)", "Trim(32)"));
    desk.answers(|asked| {
        assert!(
            asked.is_patch() && asked.user.contains("- The role of N.Vault in few words."),
            "{}",
            asked.user
        );
        Ok("NO CHANGE".to_owned())
    });
    assert_eq!(types(&desk.build(ALL)), ["N.Vault"]);
}

#[test]
fn without_a_hint_a_renamed_type_is_another() {
    let desk = desk();
    desk.put("src/Store.cs", &STORE.replace("Store", "Vault"));
    assert_eq!(types(&desk.build(ALL)), ["N.Vault"]);
    assert_eq!(desk.note("//types/N.Vault:semantic", "why"), "there is no earlier answer");
}

#[test]
fn a_renamed_dependency_asks_nothing() {
    let desk = desk();
    desk.rename("N.IClock", "N.ITimer");
    desk.put("src/Clock.cs", &CLOCK.replace("IClock", "ITimer"));
    desk.put("src/Store.cs", &STORE.replace("IClock", "ITimer"));
    let built = desk.build(ALL);
    assert_eq!((built.failures(), types(&built)), (vec![], vec![]));
    assert_eq!(desk.note(LABEL, "why"), "renamed: ITimer");
    let text = sections(&desk, LABEL);
    assert!(text.contains("takes an ITimer [") && !text.contains("IClock"), "{text}");
}

#[test]
fn another_namespace_asks_nothing() {
    let files = [("src/Clock.cs", CLOCK), ("src/Store.cs", STORE), ("src/Pair.cs", PAIR)];
    let desk = built(&files);
    for name in ["IClock", "Store", "A", "B"] {
        desk.rename(&format!("N.{name}"), &format!("M.Deep.{name}"));
    }
    for (path, text) in files {
        desk.put(path, &edited(text, "namespace N;", "namespace M.Deep;"));
    }
    let built = desk.build(ALL);
    assert_eq!((built.failures(), types(&built)), (vec![], vec![]));
    let text = sections(&desk, "//types/M.Deep.Store:semantic");
    assert!(text.contains("[Store.Put, M.Deep.Store]; M.Deep.Store.Get throws."), "{text}");
    assert!(sections(&desk, "//types/M.Deep.B:semantic").contains("The role of M.Deep.B in few words."));
    // Renamed back: the earlier answer is found under its key.
    for (path, text) in files {
        desk.put(path, text);
    }
    assert_eq!(types(&desk.build(ALL)), [""; 0]);
}

#[test]
fn a_renamed_type_of_a_group_asks_nothing() {
    let desk = pair("", "");
    desk.build(ALL);
    desk.rename("N.A", "N.First");
    let text = PAIR.replace("class A", "class First").replace("public A ", "public First ");
    desk.put("src/Pair.cs", &text);
    let built = desk.build(ALL);
    assert_eq!((built.failures(), types(&built)), (vec![], vec![]));
    assert!(sections(&desk, "//types/N.First:semantic").contains("The role of N.First in few words."));
}

#[test]
fn changes_besides_a_rename_are_a_patch_without_the_names() {
    let desk = desk();
    desk.rename("N.Store", "N.Vault");
    desk.put("src/Store.cs", &edited(&STORE.replace("Store", "Vault"), "Trim(16)", "Trim(32)"));
    desk.answers(|_| Ok("NO CHANGE".to_owned()));
    let built = desk.build(ALL);
    assert_eq!(types(&built), ["N.Vault"]);
    let user = &built.asked[0].user;
    assert!(built.asked[0].is_patch() && user.contains("\n-Trim(16);\n+Trim(32);\n"), "{user}");
    assert!(
        !user.contains("-Store(IClock clock)") && user.contains("- `Vault` takes an IClock"),
        "{user}"
    );
}

#[test]
fn a_renamed_member_asks_nothing() {
    let desk = desk();
    desk.put("src/Store.cs", &STORE.replace("Trim", "Shrink"));
    assert_eq!(types(&desk.build(ALL)), [""; 0]);
    assert_eq!(desk.note(LABEL, "why"), "renamed: Shrink");
    assert!(sections(&desk, LABEL).contains("Store is sealed [Shrink]."));
    // A member with no other content cannot be matched, and one whose code changed as well is a different member.
    desk.answers(|_| Ok("NO CHANGE".to_owned()));
    desk.put(
        "src/Store.cs",
        &STORE.replace("Trim", "Shrink").replace("public int Count", "public int Size"),
    );
    assert_eq!(types(&desk.build(ALL)), ["N.Store"]);
    desk.put(
        "src/Store.cs",
        &STORE
            .replace("Trim", "Cut")
            .replace("_count--", "_count -= 1")
            .replace("public int Count", "public int Size"),
    );
    assert_eq!(types(&desk.build(ALL)), ["N.Store"]);
}

#[test]
fn a_name_that_the_answer_explains_is_asked_about() {
    let desk = store("");
    desk.answers(|asked| {
        Ok(whole(asked).replace(
            "- The limitations of N.Store in few words.",
            "- Trim never trims, whatever its name suggests [Trim].",
        ))
    });
    desk.build(ALL);
    desk.put("src/Store.cs", &STORE.replace("Trim", "Shrink"));
    let built = desk.build(ALL);
    assert_eq!((types(&built), built.asked[0].is_patch()), (vec!["N.Store".to_owned()], true));
}

#[test]
fn another_type_in_its_place_is_no_rename() {
    // Store reads another clock with equal content: only the hint distinguishes the two.
    let two = format!("{CLOCK}{}", CLOCK.replace("namespace N;\n", "").replace("IClock", "IWatch"));
    let desk = built(&[("src/Clock.cs", &two), ("src/Store.cs", STORE)]);
    desk.put("src/Store.cs", &STORE.replace("IClock", "IWatch"));
    desk.answers(|_| Ok("NO CHANGE".to_owned()));
    assert_eq!(types(&desk.build(ALL)), ["N.Store"]);
}

#[test]
fn new_names_of_locals_ask_nothing_and_are_in_the_next_question() {
    let calls = |params: &str| {
        let desk = store(params);
        desk.answers(|asked| Ok(whole(asked).replace(" in few words.", " in few words [Get].")));
        desk.build(LABEL);
        let other = edited(STORE, "int most) { while (_count > most", "int limit) { while (_count > limit");
        desk.put("src/Store.cs", &other);
        desk.answers(|_| Ok("NO CHANGE".to_owned()));
        let first = desk.build(LABEL).asked.len();
        let note = desk.note(LABEL, "why");
        let much = "_last = _clock.Now; ".repeat(10);
        desk.put("src/Store.cs", &edited(&other, "Trim(16);", &much));
        let then: Vec<String> = desk.build(LABEL).asked.iter().map(|asked| asked.user.clone()).collect();
        (first, note, then)
    };
    let (first, note, then) = calls("");
    assert_eq!((first, note.as_str()), (0, "only names of locals changed"));
    assert!(
        then.len() == 1 && then[0].contains("+_last = _clock.Now;\n+_last") && then[0].contains("+while (_count > limit) {"),
        "{then:?}"
    );
    assert_eq!(calls("params.carry = \"never\"").0, 1);
    assert_eq!(calls("params.carry = \"likely\"").2.len(), 0);
}
