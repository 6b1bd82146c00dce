//! The facts about one-feature files against what the C# compiler says of them (`fixtures/csharp/facts`, made by `scripts/oracle.sh
//! golden`; files named `.hand.jsonl` are of C# 13 and 14, which that compiler does not read, and are written by hand).
//!
//! Differences that are known stand in the snapshot, line by line, so that whoever mends one has to take it out.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/csharp");

/// All files in a folder of the fixtures, sorted.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(Path::new(FIXTURES).join(folder)).expect("folder");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("entry").path()).collect();
    found.sort();
    found
}

fn name(file: &Path) -> String {
    let name = file.file_name().expect("a file").to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Every fixture as a project of its own, and the facts of that workspace by fixture.
fn ours() -> BTreeMap<String, Vec<Value>> {
    let temp = tempfile::tempdir().expect("folder");
    std::fs::write(
        temp.path().join("cortex.toml"),
        "[workspace]\nname = \"facts\"\nrulesets = [\"csharp\"]\n",
    )
    .expect("written");
    for file in files("features")
        .into_iter()
        .chain(files("rules"))
        .filter(|file| file.extension().is_some_and(|end| end == "cs"))
    {
        let folder = temp.path().join(name(&file));
        std::fs::create_dir(&folder).expect("each fixture has a name of its own");
        std::fs::copy(&file, folder.join("a.cs")).expect("copied");
        let project = "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><TargetFramework>net8.0</TargetFramework><ImplicitUsings>enable</ImplicitUsings></PropertyGroup></Project>";
        std::fs::write(folder.join(format!("{}.csproj", name(&file))), project).expect("written");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_cortex"))
        .args(["dev", "facts", "--no-store"])
        .current_dir(temp.path())
        .env_clear()
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).expect("text").lines() {
        let record: Value = serde_json::from_str(line).expect("JSON lines");
        let project = record["p"]
            .as_str()
            .expect("a project")
            .split('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        found.entry(project).or_default().push(record);
    }
    found
}

/// What is compared: a record in one line of words, an edge as the pair and its place.
fn words(record: &Value) -> Option<String> {
    let text = |field: &str| record[field].as_str().unwrap_or_default().to_owned();
    let list = |field: &str| {
        let words = record[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        words.collect::<Vec<_>>().join(" ")
    };
    match record["k"].as_str()? {
        "type" => {
            let of = |field: &str| {
                Some(list(field))
                    .filter(|words| !words.is_empty())
                    .map_or_else(String::new, |words| format!(" {field}[{words}]"))
            };
            Some(format!(
                "{} {} {} {}{}{}{}",
                text("id"),
                text("acc"),
                text("kind"),
                text("head"),
                of("mods"),
                of("bases"),
                of("marks")
            ))
        }
        "member" => Some(format!("{} {}: {} [{}]", text("type"), text("kind"), text("sig"), list("marks"))),
        "edge" => Some(format!("{} {} → {}", text("cat"), text("from"), text("to"))),
        _ => None,
    }
}

#[test]
fn facts_are_the_compilers() {
    let ours = ours();
    let golden: BTreeMap<String, PathBuf> = files("facts").into_iter().map(|file| (name(&file), file)).collect();
    let unmatched: Vec<&String> = ours.keys().filter(|name| !golden.contains_key(*name)).collect();
    assert!(unmatched.is_empty(), "fixtures without golden files: {unmatched:?}");
    let mut differences = Vec::new();
    let mut compared = 0;
    for (name, file) in &golden {
        let text = std::fs::read_to_string(file).expect("text");
        let expected: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON lines")).collect();
        let expected: BTreeSet<String> = expected.iter().filter_map(words).collect();
        let found: BTreeSet<String> = ours.get(name).into_iter().flatten().filter_map(words).collect();
        compared += expected.len();
        let pair = |words: &str| words.split_once(' ').map(|(_, pair)| pair.to_owned());
        let pairs: BTreeSet<String> = expected.iter().filter_map(|words| pair(words)).collect();
        // What the compiler infers and we read, or the other way round, is the same pair.
        let same = |words: &&String| words.starts_with("body ") && pair(words).is_some_and(|pair| pairs.contains(&pair));
        let got = |words: &&String| {
            words
                .strip_prefix("inferred ")
                .is_some_and(|pair| found.contains(&format!("body {pair}")))
        };
        differences.extend(
            expected
                .difference(&found)
                .filter(|words| !got(words))
                .map(|words| format!("{name} - {words}")),
        );
        differences.extend(
            found
                .difference(&expected)
                .filter(|words| !same(words))
                .map(|words| format!("{name} + {words}")),
        );
    }
    assert!(compared > 300, "only {compared} facts were compared");
    insta::assert_snapshot!(differences.join("\n"));
}
