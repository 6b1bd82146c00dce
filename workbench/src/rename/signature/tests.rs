//! Other parameters in small workspaces: everything follows, or nothing changes.

use super::*;
use crate::rename::{ReferenceTexts, SourceFile, verify};
use crate::symbols::samples::Sample;
use engine::files::memory::MemoryWorld;

const SHOP: &str = "namespace N;

public interface IShop
{
    /// <param name=\"count\">How many; see <see cref=\"Price(int, string)\"/>.</param>
    int Price(int count, string name = \"\");
}

public partial class Shop : IShop
{
    public Shop(int size) { Size = size; }
    public int Size;
    public virtual int Price(int count, string name) => Size * count + name.Length;
    public int Twice() => Price(Price(1, \"a\"), \"b\") + Price(name: \"x\", count: 2);
    public static int Sum(params int[] all) => all.Length;
    partial void Half(int one);
}
public partial class Shop { partial void Half(int one) { } }
";
const USERS: &str = "namespace U;\r\nusing N;\r\npublic static class More { public static int Take(this Shop shop, int most, bool deep = false) => most; }\r\nclass Market : Shop {\r\n    public Market() : base(1) { }\r\n    public override int Price(int number, string name) => base.Price(number, name);\r\n}\r\nclass Go {\r\n    Shop shop = new Shop(2); IShop other; Shop third = new(3);\r\n    int Sum() => other.Price(1) + shop.Price(2, \"y\") + shop.Take(3) + More.Take(shop, 4, true);\r\n    int All() => Shop.Sum(1, 2) + Shop.Sum();\r\n    string S() => nameof(Shop.Price) + $\"{shop.Price(4, \"z\")}\";\r\n}\r\n";

/// Changes parameters and verifies the result. Returns the new texts and the notes, or the obstacles.
fn changed(users: &str, symbol: &str, list: &str) -> Result<(String, String, Vec<String>), Vec<String>> {
    changed_beside(users, symbol, list, &BTreeSet::new())
}

/// Other parameters where some files could not be read as a whole.
fn changed_beside(users: &str, symbol: &str, list: &str, flawed: &BTreeSet<String>) -> Result<(String, String, Vec<String>), Vec<String>> {
    let files = [("src/shop.cs", SHOP), ("src/users.cs", users)];
    let mut sample = Sample::from_files(&files);
    let symbols = sample.names();
    let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
    let candidate = found.candidate().expect("one").clone();
    let world = MemoryWorld::new();
    files.iter().for_each(|(path, text)| world.write_source(path, text.as_bytes()));
    let sources: Vec<SourceFile> = files.iter().map(|(path, _)| ((*path).to_owned(), None)).collect();
    let request = RenameRequest {
        candidate: &candidate,
        new: list,
        leave_possible: false,
        in_strings: false,
        gaps: &BTreeSet::new(),
        flawed,
        sources: &sources,
        references: &ReferenceTexts::default(),
    };
    let answer = |way: Obstacles| way.0.into_iter().collect::<Vec<_>>();
    let plan = change_signature(&mut sample, &symbols, &world, request)
        .expect("outputs")
        .map_err(answer)?;
    let text = |(path, text): &(&str, &str)| {
        let file = plan.files.iter().find(|file| file.path == *path);
        file.and_then(|file| file.after.as_deref()).unwrap_or(text).to_owned()
    };
    let after: Vec<String> = files.iter().map(text).collect();
    let mut sample = Sample::from_files(&[("src/shop.cs", &after[0]), ("src/users.cs", &after[1])]);
    let symbols = sample.names();
    verify(&mut sample, &symbols, &plan, &BTreeSet::new())
        .expect("outputs")
        .map_err(answer)?;
    let [shop, users] = <[String; 2]>::try_from(after).expect("two files");
    Ok((shop, users, plan.left))
}

#[test]
fn callers_overrides_and_documentation_follow() {
    let (shop, users, left) = changed(USERS, "N.Shop#Price", "bool deep := true, count -> amount, name").expect("nothing is in the way");
    for line in [
        "/// <param name=\"amount\">How many; see <see cref=\"Price(bool, int, string)\"/>.</param>",
        "int Price(bool deep, int amount, string name = \"\");",
        "public virtual int Price(bool deep, int amount, string name) => Size * amount + name.Length;",
        "Price(true, Price(true, 1, \"a\"), \"b\") + Price(true, amount: 2, name: \"x\")",
    ] {
        assert!(shop.contains(line), "{line} is not in\n{shop}");
    }
    for line in [
        "public override int Price(bool deep, int number, string name) => base.Price(true, number, name);",
        "other.Price(true, 1) + shop.Price(true, 2, \"y\")",
        "nameof(Shop.Price) + $\"{shop.Price(true, 4, \"z\")}\"",
    ] {
        assert!(users.contains(line), "{line} is not in\n{users}");
    }
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn constructors_extensions_and_parts_follow() {
    let (shop, users, _) = changed(USERS, "N.Shop#Shop(int)", "size, string label := \"none\"").expect("nothing is in the way");
    assert!(shop.contains("public Shop(int size, string label) {"), "{shop}");
    for line in ["base(1, \"none\")", "new Shop(2, \"none\")", "new(3, \"none\")"] {
        assert!(users.contains(line), "{line} is not in\n{users}");
    }
    let (_, users, left) = changed(USERS, "U.More#Take", "shop, int least := 0, most").expect("nothing is in the way");
    assert!(users.contains("shop.Take(0, 3) + More.Take(shop, 0, 4)"), "{users}");
    assert_eq!(left, ["src/users.cs:10: `true` is no longer passed"]);
    let (shop, ..) = changed(USERS, "N.Shop#Half", "one -> two").expect("nothing is in the way");
    assert!(shop.matches("partial void Half(int two)").count() == 2, "{shop}");
}

#[test]
fn uses_that_cannot_follow_a_signature_are_reported_with_their_place() {
    let users = format!("{USERS}class Late {{ System.Func<int, string, int> F(N.Shop s) => s.Price; int G() => lost.Price(1, \"\"); }}\n");
    for (users, symbol, list, why) in [
        (
            users.as_str(),
            "N.Shop#Price",
            "name, count",
            "src/users.cs:14:61: it is named here without a call",
        ),
        (users.as_str(), "N.Shop#Price", "name, count", "possible use"),
        (USERS, "N.Shop#Price", "count", "its body uses the removed name"),
        (USERS, "N.Shop#Sum", "", "params"),
        (USERS, "N.Shop#Size", "", "has no parameters"),
        (USERS, "N.Shop#Price", "count, name", "already"),
        (USERS, "N.Shop#Price", "count, name, int more", "nothing to pass"),
    ] {
        let message = changed(users, symbol, list).expect_err(list);
        assert!(
            message.iter().any(|message| message.contains(why)),
            "{list}: {why} is not in {message:#?}"
        );
    }
}

#[test]
fn a_new_name_of_a_parameter_leaves_possible_calls_that_do_not_write_it() {
    let users = |call: &str| format!("class Late {{ int G() => Lost.Find().Price({call}); }}\n");
    assert!(changed(&users("1, \"\""), "N.Shop#Price", "count -> amount, name").is_ok());
    let told = changed(&users("count: 1, name: \"\""), "N.Shop#Price", "count -> amount, name").expect_err("a named argument");
    assert!(told.iter().any(|one| one.contains("possible use")), "{told:?}");
}

#[test]
fn a_file_that_could_not_be_read_as_a_whole_is_in_the_way() {
    let flawed = BTreeSet::from(["src/users.cs".to_owned()]);
    let message = changed_beside("class Late { void Half( }\n", "N.Shop#Half", "one -> two", &flawed).expect_err("a flawed file");
    assert_eq!(
        message,
        ["src/users.cs has syntax errors, so it may contain uses that cortex does not see"]
    );
    assert!(changed_beside("class Late { void Other( }\n", "N.Shop#Half", "one -> two", &flawed).is_ok());
}

#[test]
fn conversion_operators_stay() {
    let users = "public struct St { public St(int a, int b) { }\n public static implicit operator St(int a) => new St(a, 1);\n public static explicit operator int(St of) => 1; }\n";
    let (_, users, _) = changed(users, "St#.ctor", "b, a").expect("nothing is in the way");
    for line in [
        "public St(int b, int a)",
        "operator St(int a) => new St(1, a)",
        "operator int(St of)",
    ] {
        assert!(users.contains(line), "{line} is not in\n{users}");
    }
    let users = "public struct St { public St(int a) { } public static implicit operator St(int a) => new St(a); }\nclass Other { public static explicit operator St(Other of) => new(1); }\n";
    let (_, users, _) = changed(users, "St#.ctor", "a, int b := 0").expect("nothing is in the way");
    for line in ["operator St(int a) => new St(a, 0)", "operator St(Other of) => new(1, 0)"] {
        assert!(users.contains(line), "{line} is not in\n{users}");
    }
}

#[test]
fn constructors_beside_a_primary_one_stay() {
    for kind in ["class", "record", "struct"] {
        let users = format!(
            "public {kind} Both(int p) {{ public int P = p; public Both(string s, int q) : this(q) {{ }}\n static Both A() => new(1); }}\n"
        );
        let message = changed(&users, "Both#.ctor(string,int)", "q, s").expect_err("a primary constructor");
        assert!(
            message
                .iter()
                .any(|one| one.starts_with("src/users.cs:1:") && one.contains("primary constructor")),
            "{message:?}"
        );
    }
}

#[test]
fn a_type_that_is_made_as_a_type_argument_keeps_its_empty_constructor() {
    let users = "class Made { public Made() { } }\nclass Maker<T> where T : new() { }\nclass Uses {\n Maker<Made> one; System.Collections.Generic.Dictionary<string, Made> two;\n Made three = new Made(); bool Is(int a, int b) => a < b;\n}\n";
    let message = changed(users, "Made#.ctor()", "int size = 1").expect_err("a type argument");
    assert_eq!(message.len(), 2, "{message:?}");
    assert!(
        message[1].starts_with("src/users.cs:4:8: Made is a type argument here"),
        "{message:?}"
    );
    let fine = users.replace("Maker<Made> one; System.Collections.Generic.Dictionary<string, Made> two;", "");
    assert!(changed(&fine, "Made#.ctor()", "int size = 1").is_ok());
}

#[test]
fn members_of_the_same_name_are_no_obstacle() {
    // A member that hides the other is another one.
    let users = "class Base { public int Go(int a, int b) => a; }\nclass Heir : Base { public new int Go(int a, int b) => b;\n int X(Base o, Heir h) => o.Go(1, 2) + h.Go(3, 4); }\n";
    let (_, after, _) = changed(users, "Base#Go", "b, a").expect("nothing is in the way");
    assert_eq!(
        after,
        users
            .replace("public int Go(int a, int b)", "public int Go(int b, int a)")
            .replace("o.Go(1, 2)", "o.Go(2, 1)")
    );
    let (_, after, _) = changed(users, "Heir#Go", "b, a").expect("nothing is in the way");
    assert_eq!(
        after,
        users
            .replace("public new int Go(int a, int b)", "public new int Go(int b, int a)")
            .replace("h.Go(3, 4)", "h.Go(4, 3)")
    );
    // A method may have the name of a type, or of a type parameter.
    let users = "class Item { }\nclass Box<T> { public Item Item(int a, int b) => new Item(); public T T(int a, int b) => default;\n object X(Box<Item> x) => x.Item(1, 2) ?? Item(3, 4) ?? (object)x.T(5, 6); }\n";
    let (_, after, _) = changed(users, "Box`1#Item", "b, a").expect("nothing is in the way");
    assert!(
        after.contains("x.Item(2, 1) ?? Item(4, 3)") && after.contains("new Item()"),
        "{after}"
    );
    let (_, after, _) = changed(users, "Box`1#T", "b, a").expect("nothing is in the way");
    assert!(after.contains("x.T(6, 5)") && after.contains("public T T(int b, int a)"), "{after}");
}

#[test]
fn attributes_set_properties_beside_their_arguments() {
    let users = "class MarkAttribute : System.Attribute { public MarkAttribute(int a, string b = \"\") { } public int P; }\n[Mark(1, P = 3)] class One { [N.Mark(2, \"x\", P = 4), U.Mark(5)] int x; }\n";
    let users = users.replace("N.Mark", "Mark").replace("U.Mark", "Mark");
    let (_, after, _) = changed(&users, "MarkAttribute#.ctor", "bool deep := true, a, b").expect("nothing is in the way");
    for line in ["[Mark(true, 1, P = 3)]", "[Mark(true, 2, \"x\", P = 4), Mark(true, 5)]"] {
        assert!(after.contains(line), "{line} is not in\n{after}");
    }
}

#[test]
fn members_of_extension_blocks_are_refused_truly() {
    let users = "static class Ext { extension(N.Shop shop) { public int Most(int a, int b) => a; } }\nclass Use { int X(N.Shop s) => s.Most(1, 2); }\n";
    let message = changed(users, "Ext#Most", "b, a").expect_err("an extension block");
    assert!(message.iter().any(|one| one.contains("is in an `extension` block")), "{message:?}");
}

#[test]
fn names_in_attributes_follow() {
    let users = "class C {\n int b = 1;\n [return: A(nameof(b))]\n [A(nameof(b), nameof(a))]\n int M([A(nameof(b))] int a, int b) => a + b;\n int N() => M(1, 2);\n}\n";
    let (_, after, _) = changed(users, "C#M", "a, b -> count").expect("nothing is in the way");
    for line in [
        " int b = 1;",
        "[return: A(nameof(count))]",
        "[A(nameof(count), nameof(a))]",
        "int M([A(nameof(count))] int a, int count) => a + count;",
    ] {
        assert!(after.contains(line), "{line} is not in\n{after}");
    }
    let body = users.replace("a + b", "b");
    let message = changed(&body, "C#M", "b").expect_err("a name that goes");
    assert!(
        message.iter().any(|one| one.contains("attribute names the removed a")),
        "{message:?}"
    );
}
