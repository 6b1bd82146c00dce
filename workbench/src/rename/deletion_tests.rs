//! Deletions in small workspaces: what nothing uses goes, and nothing else does.

use super::*;
use crate::symbols::resolve::{Options, resolve};
use crate::symbols::samples::Sample;
use engine::files::memory::MemoryWorld;

const SHOP: &str = "namespace N.Shops;\r\n\r\npublic interface ISell\r\n{\r\n\tint Price(int count);\r\n\tint Idle => 1;\r\n}\r\n\r\n/// <summary>See <see cref=\"Told\"/>.</summary>\r\npublic partial class Shop : ISell\r\n{\r\n\tpublic int Price(int count) => count;\r\n\tpublic int Price(string name) => Price(name.Length);\r\n\r\n\t/// <summary>Goes.</summary>\r\n\tint Unused(int depth) => depth == 0 ? 0 : Unused(depth - 1); // it\r\n\r\n\tpublic int Told;\r\n\tpublic override string ToString() => \"\";\r\n\tpartial void Half();\r\n\tstatic void Main() { }\r\n\tclass Inner { public static int Seen; }\r\n}\r\n";
const OTHERS: &str = "using N.Shops;\nnamespace U;\npartial class Alone { int A; }\nclass Go { int Sum(Shop shop) => shop.Price(1); int Half() => \"a\".Twice(); object Late() => Lost.Half(); }\nstatic class Extends { public static int Twice(this string text) => 2; }\n";
const PART: &str = "namespace N.Shops { partial class Shop { partial void Half() { } } }\nnamespace U { partial class Alone { Alone Next; } }\nnamespace Last.One { class Only { } }\n";
const LAST: &str = "using Last.One;\nenum E { A, B, C = 4 }\nnamespace Last { class Tests { [Xunit.Fact] public void Runs() { } void Plain() { } }\nclass Script { [JsFunction(Length = 1)] void Call() { } [System.Obsolete, Own] void Old() { } }\nclass OwnAttribute : System.Attribute { } }\n";

/// The texts without a symbol, or what is in the way.
fn deleted(symbol: &str) -> Result<Vec<Rewritten>, Vec<String>> {
    let files = [
        ("src/shop.cs", SHOP),
        ("src/others.cs", OTHERS),
        ("src/part.cs", PART),
        ("src/last.cs", LAST),
    ];
    let mut sample = Sample::from_files(&files);
    let symbols = sample.names();
    let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
    let candidate = found.candidate().expect("one").clone();
    let world = MemoryWorld::new();
    files.iter().for_each(|(path, text)| world.write_source(path, text.as_bytes()));
    let sources: Vec<SourceFile> = files.iter().map(|(path, _)| ((*path).to_owned(), None)).collect();
    let request = RenameRequest {
        candidate: &candidate,
        new: "",
        leave_possible: false,
        in_strings: false,
        gaps: &BTreeSet::new(),
        flawed: &BTreeSet::new(),
        sources: &sources,
        references: &ReferenceTexts::default(),
    };
    let planned = delete(&mut sample, &symbols, &world, request).expect("outputs");
    planned.map_err(|way| way.0.into_iter().collect())
}

#[test]
fn unused_symbols_are_deleted() {
    let files = deleted("Shop#Unused").expect("nothing is in the way");
    let gone = "\t/// <summary>Goes.</summary>\r\n\tint Unused(int depth) => depth == 0 ? 0 : Unused(depth - 1); // it\r\n\r\n";
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].after, Some(SHOP.replace(gone, "")));
    // All parts of a type, whose uses of itself are no others.
    let files = deleted("U.Alone").expect("nothing is in the way");
    let after: Vec<&str> = files.iter().map(|file| file.after.as_deref().unwrap_or_default()).collect();
    let others = OTHERS.replace("partial class Alone { int A; }\n", "");
    let part = PART.replace("namespace U { partial class Alone { Alone Next; } }\n", "");
    assert_eq!(after, [others.as_str(), part.as_str()]);
    assert_eq!(deleted("ISell#Idle").expect("nothing is in the way").len(), 1);
}

#[test]
fn tests_are_used_by_what_runs_them() {
    for (symbol, message) in [
        ("Tests#Runs", "src/last.cs: Last.Tests#Runs() is run by its attribute [Xunit.Fact]"),
        ("Last.Tests", "src/last.cs: Last.Tests#Runs() is run by its attribute [Xunit.Fact]"),
    ] {
        let told_now = deleted(symbol).expect_err(symbol);
        assert!(told_now.iter().any(|one| one == message), "{symbol}: {told_now:?}");
    }
    assert!(deleted("Tests#Plain").is_ok());
}

#[test]
fn symbols_that_an_unknown_attribute_may_use_stay() {
    let told = deleted("Script#Call").expect_err("a generator may call it");
    let message = "src/last.cs: Last.Script#Call() may be used because of its attribute [JsFunction(Length = 1)], which the workspace does not declare";
    assert_eq!(told, [message]);
    assert!(deleted("Script#Old").is_ok(), ".NET declares Obsolete, the workspace Own");
}

#[test]
fn used_symbols_stay_and_each_use_is_reported() {
    for (symbol, ways) in [
        ("Shop#Price(string)", &[][..]),
        (
            "Shop#Price(int)",
            &[
                "src/shop.cs:5:6: N.Shops.ISell#Price(int) overrides or implements it, or it that one",
                "src/shop.cs:13:35: it is used here: public int Price(string name) => Price(name.Length);",
                "src/others.cs:4:39: it is used here",
            ],
        ),
        ("Shop#Told", &["src/shop.cs:9:29: it is used here"]),
        ("Shop#ToString", &["N.Shops.Shop#ToString(): "]),
        ("Shop#Main", &["it may be the entry point of a program"]),
        ("N.Shops.Shop", &["it may be the entry point of a program"]),
        ("U.Extends", &["src/others.cs:4:67: it is used here"]),
        ("Last.One.Only", &["src/last.cs:1:1: a using directive names Last.One"]),
        ("E#A", &["src/last.cs: without E#A E#B and what follows it would have other values"]),
    ] {
        match deleted(symbol) {
            Ok(_) => assert!(ways.is_empty(), "{symbol} went"),
            Err(message) => {
                assert!(!ways.is_empty(), "{symbol}: {message:?}");
                for way in ways {
                    assert!(
                        message.iter().any(|message| message.contains(way)),
                        "{symbol}: {way} is not in {message:#?}"
                    );
                }
            }
        }
    }
}

#[test]
fn advice_is_about_the_cause() {
    let advice = |symbol: &str| {
        let way = deleted(symbol).expect_err(symbol);
        advice_of_deletion(&Obstacles(way.into_iter().collect()))
    };
    assert!(advice("Shop#Told").contains("it is in use"));
    let possible = Obstacles(BTreeSet::from([
        "a.cs:1:1: possible use, the type of the value is unknown: x.M()".to_owned()
    ]));
    assert!(advice_of_deletion(&possible).contains("may use it"));
    assert!(advice("Tests#Runs").contains("without the name"));
    let related = Obstacles(BTreeSet::from([
        "a.cs:1:1: N.I#M() overrides or implements it, or it that one".to_owned()
    ]));
    assert!(advice_of_deletion(&related).contains("related members"));
    let mut flawed = related;
    flawed.refuse_syntax_errors("a.cs");
    assert!(advice_of_deletion(&flawed).contains("syntax errors"));
}
