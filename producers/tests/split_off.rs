//! The first question about a type that was split off from another one is a patch of the answer about that one.

use crate::desk::samples::LABEL;
use crate::desk::{Asked, Desk, types, whole};

const PART: &str = "//types/N.Keys:semantic";

/// Returns the members that move.
fn members_to_move() -> String {
    let checks = "Check(key, 3); ".repeat(12);
    format!(
        "public string Get(string key) {{ if (key == null) {{ throw new ArgumentNullException(nameof(key)); }} {checks} return key; }} \
         public void Check(string key, int size) {{ if (key.Length < size) {{ throw new ArgumentException(key); }} }}"
    )
}

fn store(more: &str) -> String {
    format!(
        "namespace N;\npublic sealed class Store {{ int _count; public void Trim(int most) {{ while (_count > most) {{ _count--; }} }} {more} }}\n"
    )
}

/// Returns a workspace whose type was split after the answer about it, with a later answer about the rest.
fn split() -> Desk {
    let desk = Desk::new("", &[("src/Store.cs", &store(&members_to_move()))]);
    desk.answers(|asked| {
        let text = whole(asked).replace(
            "- The edge_cases of N.Store in few words.",
            "- Throws without a key [Store.Get].\n- Stops at its limit [Trim].\n- Store throws for short keys [Check].",
        );
        Ok(text.replace(
            "- The recommendations of N.Store in few words.",
            "- Give keys of three letters [Check].",
        ))
    });
    desk.build(LABEL);
    desk.split_off("N.Store", "N.Keys");
    desk.put("src/Store.cs", &store(""));
    let keys = format!(
        "namespace N;\npublic sealed class Keys {{ {} public int Size {{ get; set; }} }}\n",
        members_to_move()
    );
    desk.put("src/Keys.cs", &keys);
    desk.answers(|_| Ok("NO CHANGE".to_owned()));
    desk.build(LABEL);
    desk
}

#[test]
fn a_type_that_was_split_off_is_a_patch_of_the_earlier_answer() {
    let desk = split();
    desk.answers(|_| {
        let sections = ["ROLE:\n- Checks keys.", "LIFECYCLE:\n- None.", "LIMITATIONS:\n- None."];
        Ok(format!(
            "{}\n\nEDGE_CASES:\n- Throws for short keys [Check].\n",
            sections.join("\n\n")
        ))
    });
    let built = desk.build(PART);
    assert_eq!((built.failures(), types(&built)), (vec![], vec!["N.Keys".to_owned()]));
    let user = &built.asked[0].user;
    for part in [
        "Earlier answer about N.Keys:",
        "- The role of N.Store in few words.",
        "- Store throws for short keys [Check].",
        "Other claims stay: EDGE_CASES 1, RECOMMENDATIONS 1",
        "The earlier answer is about Store. Keys was split off from it, with Check, Get.",
        "Write in any case: EDGE_CASES, LIFECYCLE, LIMITATIONS, ROLE",
        "+public int Size",
    ] {
        assert!(user.contains(part), "{part}: {user}");
    }
    assert!(!user.contains("limit [Trim]") && !user.contains("key.Length"), "{user}");
    assert_eq!(
        (desk.note(PART, "mode").as_str(), desk.note(PART, "why").as_str()),
        ("patch", "it was split off from N.Store")
    );
    let text = desk.text(PART).0;
    assert!(
        text.contains("EDGE_CASES:\n- Throws without a key [Keys.Get].\n- Throws for short keys [Check].\n"),
        "{text}"
    );
    assert!(
        text.contains("- Give keys of three letters [Check].") && !text.contains("Store"),
        "{text}"
    );
}

#[test]
fn a_patch_without_the_role_of_a_new_type_is_refused() {
    let desk = split();
    desk.answers(|asked: &Asked| Ok(if asked.is_patch() { "NO CHANGE".to_owned() } else { whole(asked) }));
    let built = desk.build(PART);
    assert_eq!((built.failures(), built.asked.len()), (vec![], 3), "a repair, and a whole answer");
    assert_eq!(desk.note(PART, "mode"), "full");
    let text = desk.text(PART).0;
    assert!(
        text.contains("The role of N.Keys in few words.") && !text.contains("Store"),
        "nothing is taken over: {text}"
    );
}
