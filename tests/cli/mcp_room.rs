//! Answers of `cortex mcp` above the client's limit: their statements match their contents.

use crate::bench::Bench;
use crate::mcp::{Client, text};
use serde_json::{Value, json};

/// Returns a workspace of many similar types.
fn crowd() -> Bench {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"w\"\nrulesets = [\"csharp\"]\n");
    for number in 0..90 {
        let members = (0..12).map(|at| {
            format!(
                "    /// <summary>Pours the water of pump {at} into the next valve.</summary>\n    public int Pour{at}(int litres, string reason)\n                     {{\n        return litres * {at} + reason.Length + {number};\n    }}\n"
            )
        });
        let members: String = members.collect();
        bench.write(
            &format!("src/Pump{number}.cs"),
            &format!("namespace Water.Works;\n\npublic class Pump{number}\n{{\n{members}}}\n"),
        );
    }
    bench
}

fn data(result: &Value) -> &Value {
    &result["structuredContent"]
}

#[test]
fn a_context_is_composed_for_the_room_of_its_answer() {
    let bench = crowd();
    let mut client = Client::structured(&bench, false);
    let mut shown = Vec::new();
    for budget in [2_000, 4_000, 8_000, 20_000] {
        let arguments = json!({"op": "build", "query": "pump water into a valve", "budget": budget, "conversation": "new", "why": true});
        let result = client.call("context", arguments);
        let data = data(&result);
        let items = data["items"].as_array().expect("a list");
        let context = data["contextText"].as_str().expect("a text");
        let (lines, shown_types): (Vec<&Value>, Vec<&Value>) = items.iter().partition(|item| item["form"] == "line");
        for item in &shown_types {
            let head = format!("## {}\n", item["path"].as_str().expect("a path"));
            assert!(context.contains(&head), "{budget}: {head}");
        }
        let heads = shown_types.len() + usize::from(!lines.is_empty());
        assert_eq!(context.matches("\n## ").count(), heads, "{budget}: {context}");
        assert_eq!(context.matches("\n- ").count(), lines.len(), "{budget}");
        assert!(
            !context.contains("[… ") && data["leftOut"][0].is_object() == (data["leftOutTotal"] != 0),
            "{budget}: {}",
            text(&result)
        );
        assert!(data["tokens"].as_u64() <= data["budget"].as_u64(), "{budget}");
        let cut = format!("the budget is cut from {budget} to {} tokens", data["budget"]);
        assert_eq!(result.to_string().contains(&cut), data["budget"] != budget, "{}", text(&result));
        // The whole answer is within the budget; hardly a token is shorter than two bytes.
        assert!(data.to_string().len() < 6 * budget, "{budget}: {} bytes", data.to_string().len());
        // The types recorded as shown are those in the text, not merely named ones.
        let kept = std::fs::read(bench.root().join(".cortex/conversations.json")).expect("a file");
        let kept: Value = serde_json::from_slice(&kept).expect("JSON");
        let last = kept["open"].as_array().and_then(|open| open.last()).expect("a conversation");
        assert_eq!(
            last["rounds"][0]["new"].as_array().map(Vec::len),
            Some(shown_types.len()),
            "{budget}"
        );
        shown.push(data["tokens"].as_u64().expect("tokens"));
    }
    assert!(
        shown.is_sorted() && shown[0] > 100 && shown[3] > 3_500,
        "a larger budget shows no less: {shown:?}"
    );
}

#[test]
fn a_source_that_is_cut_says_where_to_go_on() {
    let bench = crowd();
    let lines: String = (1..=60_000).map(|line| format!("line {line}\n")).collect();
    bench.write("data.txt", &lines);
    bench.write("short.txt", "one\n");
    bench.write("wide.js", &"x = y; ".repeat(100_000));
    let mut client = Client::structured(&bench, false);
    let result = client.call("source", json!({"symbols": ["data.txt", "short.txt"], "lines": 100_000}));
    let part = &data(&result)["sources"][0]["parts"][0];
    let end = part["end"].as_u64().expect("a line");
    assert!((700..20_000).contains(&end), "{end}");
    let actual = part["text"].as_str().expect("a text");
    assert!(lines.starts_with(actual) && actual.lines().count() as u64 == end, "{end}");
    assert_eq!(part["leftOut"], json!([end + 1, 60_000]));
    let rest = format!("data.txt:{}-60000", end + 1);
    assert!(result.to_string().contains(&format!("{rest} continues")), "{result}");
    let next = client.call("source", json!({"symbols": [rest], "lines": 100_000}));
    assert_eq!(data(&next)["sources"][0]["parts"][0]["start"], end + 1);
    // A line that is too long is shown up to the limit.
    let wide = client.call("source", json!({"symbols": ["wide.js"]}));
    let part = &data(&wide)["sources"][0]["parts"][0];
    let count = part["text"].as_str().map_or(0, str::len);
    assert!(count > 5_000 && part["endColumn"] == count + 1 && part["end"] == 1, "{count}");
    let note = format!("of line 1 the first {count} of 700000 characters are shown");
    assert!(text(&wide).contains(&note), "{count}");
    // As text it is cut to the budget including line numbers.
    let mut client = Client::start(&bench, false);
    let shown = text(&client.call("source", json!({"symbols": ["data.txt", "short.txt"], "lines": 100_000})));
    let numbered = shown
        .lines()
        .filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    let count = numbered.count() - 1;
    assert!(
        count > 700 && shown.contains(&format!("// data.txt:1-{count}\n")) && shown.contains("// short.txt:1-1\n1  one\n"),
        "{count}"
    );
    assert!(shown.contains(&format!("data.txt:{}-60000 continues", count + 1)), "{count}");
}
