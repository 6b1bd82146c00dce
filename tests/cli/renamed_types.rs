//! What a model is asked about types that were split, and about members of renamed types.

use crate::money::{ALL, FULL, calls, manifest, workspace, write_model_file};

#[test]
fn a_type_that_was_split_off_is_patched_from_the_earlier_summary() {
    let checks = "Check(key, 3); ".repeat(12);
    let get = format!("public string Get(string key) {{ if (key == null) {{ return \"\"; }} {checks} return key; }}");
    let check = "public void Check(string key, int size) { if (key.Length < size) { throw new System.ArgumentException(key); } }";
    let trim = "int all; public void Trim(int most) { while (all > most) { all--; } }";
    let bench = workspace(&[("Store", &format!("public class Store {{ {trim} {get} {check} }}"))]);
    manifest(&bench, "", "params.together = 1");
    write_model_file(
        &bench,
        "full",
        &FULL.replace(
            "EDGE_CASES:\n- None.",
            "EDGE_CASES:\n- Throws for short keys [Check].\n- Stops [Trim].",
        ),
    );
    assert_eq!((bench.run(&["build", ALL]).code, calls(&bench)), (0, 1));
    bench.write("Store.cs", &format!("namespace N;\npublic class Store {{ {trim} }}\n"));
    bench.write("Keys.cs", &format!("namespace N;\npublic class Keys {{ {get} {check} }}\n"));
    write_model_file(&bench, "full", FULL);
    let prompt = bench.run(&["prompt", "//types/N.Keys:semantic"]).out;
    assert!(
        prompt.contains("The earlier answer is about Store. Keys was split off from it, with Check, Get.")
            && !prompt.contains("Stops [Trim]"),
        "{prompt}"
    );
    let planned = bench.run(&["build", "--dry-run", ALL]).err;
    assert!(!planned.contains("new answer"), "{planned}");
    let built = bench.run(&["build", ALL]);
    assert_eq!((built.code, calls(&bench)), (0, 2), "{built:?}");
    let history = bench.run(&["history", "//types/N.Keys:semantic"]).out;
    assert!(
        history.contains("patch of ") && history.contains("(it was split off from N.Store)"),
        "{history}"
    );
}

#[test]
fn a_removed_type_is_the_origin_of_a_member_that_changed_on_the_way() {
    let checks = "Check(key, 3); ".repeat(80);
    let get = format!("public string Get(string key) {{ if (key == null) {{ return \"\"; }} {checks} return key; }}");
    let check = "public void Check(string key, int size) { if (key.Length < size) { throw new System.ArgumentException(key); } }";
    let trim = "int all; public void Trim(int most) { while (all > most) { all--; } }";
    let bench = workspace(&[("Store", &format!("public class Store {{ {trim} {get} {check} }}"))]);
    manifest(&bench, "", "params.together = 1");
    write_model_file(
        &bench,
        "full",
        &FULL.replace("EDGE_CASES:\n- None.", "EDGE_CASES:\n- Takes no key [Get]."),
    );
    assert_eq!((bench.run(&["build", ALL]).code, calls(&bench)), (0, 1));
    std::fs::remove_file(bench.root().join("Store.cs")).expect("a source");
    let check = check.replace("< size", "<= size");
    bench.write("Keys.cs", &format!("namespace N;\npublic class Keys {{ {get} {check} }}\n"));
    bench.write("Sizes.cs", &format!("namespace N;\npublic class Sizes {{ {trim} }}\n"));
    let prompt = bench.run(&["prompt", "//types/N.Keys:semantic"]).out;
    assert!(prompt.contains("Keys was split off from it, with Check, Get."), "{prompt}");
}

#[test]
fn summaries_of_members_alone_survive_a_rename_of_their_type() {
    let gate = "public class Gate { public int Wait(int n) { while (n > 0) { n -= 2; } return n; } public int Copy(Gate other) { return other.Wait(1) + Wait(2); } }";
    let store = "public class Store { public int Get(Gate gate, int n) { if (n < 0) { return -1; } return gate.Wait(n) + 1; } }";
    let bench = workspace(&[("Gate", gate), ("Store", store)]);
    let all = "//types/...#*:semantic";
    write_model_file(&bench, "full", &FULL.replace("- Holds.", "- Uses Gate [Wait]."));
    assert_eq!((bench.run(&["build", all]).code, calls(&bench)), (0, 3));
    for file in ["Gate.cs", "Store.cs"] {
        let text = std::fs::read_to_string(bench.root().join(file)).expect("a source");
        bench.write(file, &text.replace("Gate", "Door"));
    }
    let built = bench.run(&["build", all]);
    assert_eq!((built.code, calls(&bench)), (0, 0), "{built:?}");
    for label in ["//types/N.Door#Copy(Door):semantic", "//types/N.Store#Get(Door,int):semantic"] {
        let shown = bench.run(&["show", label]).out;
        assert!(shown.contains("- Uses Door [Wait]."), "{label}: {shown}");
    }
}

#[test]
fn a_rename_of_a_member_without_code_asks_nothing() {
    let gate = "public class Gate : IGate { public void Wait(int n) { while (n > 0) { n -= 2; n--; } System.Console.WriteLine(n); } public int Mode { get; set; } }";
    let store = "public class Store { readonly IGate gate; public string Title { get; set; } public int Get(int n) { gate.Wait(n); return n + 1; } }";
    let bench = workspace(&[
        ("IGate", "public interface IGate { void Wait(int n); int Mode { get; } }"),
        ("Gate", gate),
        ("Store", store),
        (
            "User",
            "public class User { readonly Store store; public string Go() { return store.Title + store.Get(1); } }",
        ),
    ]);
    write_model_file(&bench, "full", &FULL.replace("- Holds.", "- Holds Title and Mode [Title, Mode]."));
    assert_eq!((bench.run(&["build", ALL]).code, calls(&bench)), (0, 4));
    let rename = |pairs: &[(&str, &str)]| {
        for name in ["IGate", "Gate", "Store", "User"] {
            let file = format!("{name}.cs");
            let text = std::fs::read_to_string(bench.root().join(&file)).expect("a source");
            bench.write(&file, &pairs.iter().fold(text, |text, (from, to)| text.replace(from, to)));
        }
        let built = bench.run(&["build", ALL]);
        assert_eq!((built.code, calls(&bench)), (0, 0), "{pairs:?}: {built:?}");
    };
    rename(&[("Title", "Caption")]);
    for label in ["//types/N.Store:semantic", "//types/N.User:semantic"] {
        let shown = bench.run(&["show", label]).out;
        assert!(shown.contains("- Holds Caption and Mode [Caption]."), "{label}: {shown}");
    }
    rename(&[("Wait", "Pause"), ("Mode", "State")]);
    let shown = bench.run(&["show", "//types/N.IGate:semantic"]).out;
    assert!(shown.contains("- Holds Title and State [State]."), "{shown}");
}
