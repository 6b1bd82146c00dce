//! Edits that change how code is laid out: parameters of members, files of types, directives; at once, in sessions, and as dry runs.

use crate::bench::Bench;
use std::fs;

const SHOP: &str = "using System.Linq;\nusing System;\n\nnamespace Trade;\n\n/// <summary>Sells.</summary>\npublic interface IShop\n{\n    int Price(int count);\n}\n\npublic class Shop : IShop\n{\n    public int Price(int count) => count;\n    int Half() => Price(2) / 2;\n}\n";
const USER: &str = "namespace Trade;\n\npublic class Buyer\n{\n    int Pay(IShop shop) => shop.Price(1);\n}\n";

const SHOP_FILE: &str = "src/MemoTree.Core/Shop.cs";
const USER_FILE: &str = "src/MemoTree.Core/Buyer.cs";

fn shop() -> Bench {
    let bench = Bench::memotree();
    bench.write(SHOP_FILE, SHOP);
    bench.write(USER_FILE, USER);
    bench
}

/// Returns the text of a file of the workspace; `None` if there is none.
pub fn read(bench: &Bench, path: &str) -> Option<String> {
    fs::read_to_string(bench.root().join(path)).ok()
}

/// Runs a command, which must succeed; returns what it prints.
pub fn run_successfully(bench: &Bench, words: &[&str]) -> String {
    let run = bench.run(words);
    assert!(run.code == 0, "{words:?}: {}{}", run.out, run.err);
    run.out
}

const DEEP: &[&str] = &[
    "edit",
    "change_signature",
    "--symbol",
    "Trade.IShop#Price",
    "--new-text",
    "bool deep := true, count -> amount",
];

#[test]
fn a_signature_changes_everywhere_or_nowhere() {
    let bench = shop();
    let dry = run_successfully(&bench, &[DEEP, &["--dry-run"]].concat());
    assert!(
        dry.contains("+    int Price(bool deep, int amount);") && dry.contains("a dry run, nothing was changed"),
        "{dry}"
    );
    assert_eq!(read(&bench, SHOP_FILE).as_deref(), Some(SHOP));
    let actual = run_successfully(&bench, DEEP);
    assert!(actual.starts_with("changed 4 places in 2 files"), "{actual}");
    let after = read(&bench, SHOP_FILE).expect("a file");
    assert!(
        after.contains("public int Price(bool deep, int amount) => amount;") && after.contains("Price(true, 2) / 2"),
        "{after}"
    );
    assert!(read(&bench, USER_FILE).expect("a file").contains("shop.Price(true, 1)"));
    run_successfully(&bench, &["edit", "undo"]);
    assert_eq!(
        (read(&bench, SHOP_FILE).as_deref(), read(&bench, USER_FILE).as_deref()),
        (Some(SHOP), Some(USER))
    );
    bench.write(
        USER_FILE,
        &USER.replace("shop.Price(1)", "new System.Func<int, int>(shop.Price)(1)"),
    );
    let refused = bench.run(DEEP);
    assert!(
        refused.code == 2 && refused.err.contains("src/MemoTree.Core/Buyer.cs:5:") && refused.err.contains("named here without a call"),
        "{}{}",
        refused.out,
        refused.err
    );
    let unknown = bench.run(&[
        "edit", "change_signature", "--symbol", "Trade.Shop#Half", "--new-text", "Nowhere place = null",
    ]);
    assert!(
        unknown.code == 2 && unknown.err.contains("Nowhere would refer to nothing"),
        "{}{}",
        unknown.out,
        unknown.err
    );
    bench.write(USER_FILE, USER);
    let passed = [
        "edit",
        "change_signature",
        "--symbol",
        "Trade.IShop#Price",
        "--new-text",
        "count, int deep := nothingHere",
    ];
    let passed = bench.run(&passed);
    assert!(
        passed.code == 2 && passed.err.contains("nothingHere is not defined at"),
        "{}{}",
        passed.out,
        passed.err
    );
    assert_eq!(read(&bench, SHOP_FILE).as_deref(), Some(SHOP));
}

#[test]
fn edits_of_symbols_go_on_in_a_session() {
    let bench = shop();
    let opened = run_successfully(&bench, &["edit", "open", USER_FILE, "--json"]);
    let opened: serde_json::Value = serde_json::from_str(&opened).expect("JSON");
    let session = opened["session"].as_str().expect("a handle").to_owned();
    let within = |words: &[&str]| run_successfully(&bench, &[words, &["--session", &session]].concat());
    within(DEEP);
    // The next edit starts from the unsaved texts of the session.
    within(&[
        "edit", "change_signature", "--symbol", "Trade.IShop#Price", "--new-text", "amount, deep",
    ]);
    within(&[
        "edit",
        "add_member",
        "--symbol",
        "Trade.Shop",
        "--new-text",
        "int Twice() => Price(2, false);",
    ]);
    within(&["edit", "add_using", USER_FILE, "--new-text", "System.Text"]);
    within(&["rename", "Trade.Buyer", "Client"]);
    let refused = bench.run(&["edit", "safe_delete", "--symbol", "Trade.IShop", "--session", &session]);
    assert!(
        refused.code == 2 && refused.err.contains("it is used here"),
        "{}{}",
        refused.out,
        refused.err
    );
    assert_eq!(
        (read(&bench, SHOP_FILE).as_deref(), read(&bench, USER_FILE).as_deref()),
        (Some(SHOP), Some(USER))
    );
    within(&["edit", "commit"]);
    let (shop, user) = (read(&bench, SHOP_FILE).expect("a file"), read(&bench, USER_FILE).expect("a file"));
    assert!(
        shop.contains("Price(int amount, bool deep) => amount;") && shop.contains("int Twice()"),
        "{shop}"
    );
    assert_eq!(
        user,
        USER.replace("shop.Price(1)", "shop.Price(1, true)")
            .replace("Buyer", "Client")
            .replacen("namespace", "using System.Text;\n\nnamespace", 1)
    );
}

#[test]
fn a_type_gets_a_file_of_its_own() {
    let bench = shop();
    let target = "src/MemoTree.Core/IShop.cs";
    let actual = run_successfully(&bench, &["edit", "move_type", "--symbol", "Trade.IShop"]);
    assert!(actual.contains("moved Trade.IShop to src/MemoTree.Core/IShop.cs"), "{actual}");
    let own = "using System.Linq;\nusing System;\n\nnamespace Trade;\n\n/// <summary>Sells.</summary>\npublic interface IShop\n{\n    int Price(int count);\n}\n";
    assert_eq!(read(&bench, target).as_deref(), Some(own));
    let again = bench.run(&["edit", "move_type", "--symbol", "Trade.IShop"]);
    assert!(again.code == 2 && again.err.contains("has the file to itself"), "{}", again.err);
    run_successfully(&bench, &["edit", "organize_usings", target]);
    assert_eq!(
        read(&bench, target),
        Some(own.replace("using System.Linq;\nusing System;", "using System;\nusing System.Linq;"))
    );
    run_successfully(&bench, &["edit", "undo"]);
    run_successfully(&bench, &["edit", "undo"]);
    assert_eq!((read(&bench, SHOP_FILE).as_deref(), read(&bench, target)), (Some(SHOP), None));
    let there = bench.run(&["edit", "move_type", "--symbol", "Trade.IShop", "--new-text", USER_FILE]);
    assert!(there.code == 2 && there.err.contains("exists already"), "{}", there.err);
}

#[test]
fn a_generic_type_moves_beside_the_file_of_its_namesake() {
    let bench = Bench::memotree();
    let (own, other) = ("src/MemoTree.Core/Pair.cs", "src/MemoTree.Core/Other.cs");
    bench.write(own, "namespace Trade;\n\npublic class Pair { }\n");
    bench.write(other, "namespace Trade;\n\npublic class Other { }\n\npublic class Pair<T> { }\n");
    run_successfully(&bench, &["edit", "move_type", "--symbol", "Trade.Pair`1"]);
    let moved = read(&bench, "src/MemoTree.Core/Pair`1.cs");
    assert_eq!(moved.as_deref(), Some("namespace Trade;\n\npublic class Pair<T> { }\n"));
}

#[test]
fn a_file_that_would_be_empty_goes_with_its_type() {
    let bench = shop();
    let dry = run_successfully(&bench, &["edit", "safe_delete", "--symbol", "Trade.Buyer", "--dry-run"]);
    assert!(dry.contains("+++ /dev/null") && read(&bench, USER_FILE).is_some(), "{dry}");
    let actual = run_successfully(&bench, &["edit", "safe_delete", "--symbol", "Trade.Buyer"]);
    assert!(actual.contains("and src/MemoTree.Core/Buyer.cs, which would be empty"), "{actual}");
    assert_eq!(read(&bench, USER_FILE), None);
    run_successfully(&bench, &["edit", "undo"]);
    assert_eq!(read(&bench, USER_FILE).as_deref(), Some(USER));
}

#[test]
fn the_answer_to_an_edit_names_lost_names() {
    let bench = shop();
    let replace = |old: &str, new: &str| bench.run(&["edit", "replace", SHOP_FILE, "--old-text", old, "--new-text", new]);
    // Nothing was asked of the workspace yet, and an edit does not wait for all of it.
    let early = replace("=> count;", "=> coutn;");
    assert!(early.code == 0 && !early.out.contains("is not defined"), "{}", early.out);
    run_successfully(&bench, &["edit", "undo"]);
    run_successfully(&bench, &["outline", "Trade.Shop"]);
    let said = replace("=> count;", "=> Coun;");
    assert!(
        said.code == 0 && said.out.contains("Coun is not defined at src/MemoTree.Core/Shop.cs:14:36"),
        "{}{}",
        said.out,
        said.err
    );
    run_successfully(&bench, &["edit", "undo"]);
    let mut client = crate::mcp::Client::start(&bench, false);
    let call = serde_json::json!({"op": "replace", "path": SHOP_FILE, "oldText": "    int Price(int count);", "newText": "    int Cost(int count);"});
    let said = crate::mcp::text(&client.call("edit", call));
    assert!(
        said.contains("Price no longer exists, and is named at src/MemoTree.Core/Buyer.cs:5:33"),
        "{said}"
    );
    run_successfully(&bench, &["edit", "undo"]);
    let fine = replace("=> count;", "=> count + System.Math.Abs(Half());");
    assert!(fine.code == 0 && !fine.out.contains("mend"), "{}", fine.out);
    run_successfully(&bench, &["edit", "undo"]);
    // A package may declare the name: the edit is made.
    let warned = replace("=> count;", "=> count + Nope.Of(1);");
    let warning = "warning[W_UNDECLARED] src/MemoTree.Core/Shop.cs:14:";
    assert!(
        warned.code == 0 && warned.err.contains(warning) && warned.err.contains("Nope is declared nowhere in this workspace"),
        "{}{}",
        warned.out,
        warned.err
    );
}

#[test]
fn a_part_of_a_type_gets_a_file_and_comes_back() {
    let bench = Bench::memotree();
    let (one, two, target) = (
        "src/MemoTree.Core/Two.cs",
        "src/MemoTree.Core/Two.More.cs",
        "src/MemoTree.Core/parts/Two.B.cs",
    );
    bench.write(one, "namespace Trade;\n\npublic partial class Two { public int A; }\n");
    let more = "namespace Trade;\n\n// About B.\npublic partial class Two { public int B; }\n\npublic class Third { }\n";
    bench.write(two, more);
    let unclear = bench.run(&["edit", "move_type", "--symbol", "Trade.Two"]);
    assert!(
        unclear.code == 2 && unclear.err.contains("is declared in 2 files"),
        "{}",
        unclear.err
    );
    run_successfully(&bench, &["edit", "move_type", "--symbol", "Trade.Two", two, "--new-text", target]);
    assert_eq!(
        (read(&bench, target).as_deref(), read(&bench, two).as_deref()),
        (
            Some("namespace Trade;\n\n// About B.\npublic partial class Two { public int B; }\n"),
            Some("namespace Trade;\n\npublic class Third { }\n")
        )
    );
    run_successfully(&bench, &["edit", "undo"]);
    assert_eq!((read(&bench, target), read(&bench, two).as_deref()), (None, Some(more)));
    assert!(!bench.root().join("src/MemoTree.Core/parts").exists());
    run_successfully(&bench, &["edit", "redo"]);
    assert!(read(&bench, target).is_some());
}
