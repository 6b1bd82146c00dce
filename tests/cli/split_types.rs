//! Types that are split into two: the new one is asked about as a change of the earlier one.

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
