//! A service answers from its cache, and never with an answer that an edit has invalidated.

use crate::bench::Bench;
use crate::serve::{Client, Service};
use serde_json::{Value, json};

#[test]
fn an_edit_is_in_the_next_answer() {
    let bench = Bench::memotree();
    let service = Service::start(&bench);
    let mut client = service.client();
    let ask = |client: &mut Client| {
        client.result("GetOutline", json!({"path": "Odd"}))["outlineText"]
            .as_str()
            .map(str::to_owned)
    };
    for round in 0..20 {
        bench.write(
            "src/MemoTree.Core/Odd.cs",
            &format!("namespace MemoTree.Core; public class Odd {{ public int F{round}; }}\n"),
        );
        let text = ask(&mut client).expect("an outline");
        assert!(text.contains(&format!("F{round}")), "{round}: {text}");
        assert_eq!(ask(&mut client), Some(text));
    }
    let figures = client.result("cortex.about", json!({}))["methods"]["outline"].clone();
    // The second answer of a round comes from memory, unless a lagging watch cannot rule out changes yet.
    let warm = figures["warm"].as_u64().expect("a number");
    assert!(figures["calls"] == 40 && (10..=20).contains(&warm), "{figures}");
    std::fs::remove_file(bench.root().join("src/MemoTree.Core/Odd.cs")).expect("removed");
    assert_eq!(
        client.ask("GetOutline", json!({"path": "Odd"}))["error"]["data"]["code"],
        "SymbolNotFound"
    );
    // The same holds for the manifest.
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    bench.write("cortex.toml", &format!("{manifest}\nodd = 1\n"));
    let refused = client.ask("GetOutline", json!({"path": "NodeId"}));
    assert_eq!(refused["error"]["data"]["file"], "cortex.toml", "{refused}");
    bench.write("cortex.toml", &manifest);
    assert_eq!(
        client.result("GetOutline", json!({"path": "NodeId"}))["resolved"]["path"],
        "MemoTree.Core.NodeId"
    );
}

#[test]
fn uses_that_an_edit_brings_or_takes_are_in_the_next_answer() {
    let bench = Bench::memotree();
    bench.write(
        "src/MemoTree.Core/Odd.cs",
        "namespace MemoTree.Core; public class Odd { public void Go() { } }\n",
    );
    let service = Service::start(&bench);
    let mut client = service.client();
    let lines = |client: &mut Client, symbol: &str| -> Vec<Value> {
        let answer = client.result("usages", json!({"symbol": symbol}));
        let rows = answer["certain"].as_array().expect("places").iter();
        rows.map(|row| row["line"].clone()).collect()
    };
    assert!(lines(&mut client, "Odd#Go").is_empty());
    for round in 1..6_usize {
        let call = "new Odd().Go();\n";
        bench.write(
            "src/MemoTree.Core/Even.cs",
            &format!(
                "namespace MemoTree.Core; class Even {{ void Call() {{\n{}}} }}\n",
                call.repeat(round)
            ),
        );
        let expected: Vec<Value> = (2..round + 2).map(Value::from).collect();
        assert_eq!(lines(&mut client, "Odd#Go"), expected, "round {round}");
        // Another declaration changes the tables of names, which are read again only where their digests differ.
        bench.write(
            "src/MemoTree.Core/Odd.cs",
            &format!("namespace MemoTree.Core; public class Odd {{ public void Go() {{ }} public void Also{round}() {{ }} }}\n"),
        );
        assert!(lines(&mut client, &format!("Odd#Also{round}")).is_empty());
        assert_eq!(lines(&mut client, "Odd#Go"), expected, "round {round}");
    }
    std::fs::remove_file(bench.root().join("src/MemoTree.Core/Even.cs")).expect("removed");
    assert!(lines(&mut client, "Odd#Go").is_empty());
}
