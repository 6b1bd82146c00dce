//! Data tables: the meaning of their rows, their errors, and rows from a separate text.

use super::errors::check;
use super::{errors_text, registry};
use crate::manifest::model::Manifest;
use crate::manifest::read::{ManifestSource, load};
use crate::values::diagnostic::Diagnostic;
use serde_json::{Value, json};

const DECLARED: &str = "[tables]\npack = { filter = \"string\", budget = \"integer?\", docs = \"boolean?\" }\ntags = \"strings\"\n";

fn load_both(main: &str, data: &str) -> Result<Manifest, Vec<Diagnostic>> {
    let source = |name: &str, text| ManifestSource { name: name.into(), text };
    let (main, data) = (source("cortex.toml", main), source("more.toml", data));
    load(&main, Some(&data), &|_| None, &[], &registry()).map(|loaded| loaded.manifest)
}

/// Returns the rows of a table.
fn rows(manifest: &Manifest, table: &str) -> Value {
    Value::Object(manifest.table(table).expect("a table").clone())
}

fn good(main: &str, data: &str) -> Manifest {
    load_both(&format!("{DECLARED}{main}"), data).unwrap_or_else(|errors| panic!("{}", errors_text(&errors)))
}

#[test]
fn rows_are_parameters_of_the_node_of_their_table() {
    let manifest = good(
        "[pack.core]\nfilter = \"type:A\"\nbudget = 0x10\n[tags]\nteam = [\"A.*\"]\n",
        "[pack.\"a/b\"]\nfilter = \"\"\ndocs = false\n",
    );
    assert_eq!(
        rows(&manifest, "pack"),
        json!({"a/b": {"docs": false, "filter": ""}, "core": {"budget": 16, "filter": "type:A"}})
    );
    assert_eq!(rows(&manifest, "tags"), json!({"team": ["A.*"]}));
    assert_eq!(rows(&good("", ""), "pack"), json!({}));
    assert_eq!((manifest.table("other"), manifest.producers[0].uses.as_str()), (None, "table"));
}

#[test]
fn changed_rows_change_only_the_rule_of_their_table() {
    let digests = |main: &str| -> Vec<_> { good(main, "").rules.iter().map(|rule| rule.digest).collect() };
    let (none, one) = (digests(""), digests("[pack.core]\nfilter = \"x\"\n"));
    assert_ne!(none[0], one[0]);
    assert_eq!(none[1..], one[1..]);
    assert_eq!(one, digests("[pack]\n# said otherwise\ncore = { filter = 'x' }\n"));
}

#[test]
fn wrong_rows_are_errors() {
    for (marked, code, hint) in [
        (
            "[pack.core]\nfilter = \"x\"\n‹budgte› = 1\n",
            "E_UNKNOWN_KEY",
            "did you mean 'budget'?",
        ),
        ("[pack.core]\nfilter = ‹3›\n", "E_TYPE", "write a string"),
        ("[pack.core]\nfilter = \"x\"\nbudget = ‹\"3\"›\n", "E_TYPE", "a whole number"),
        ("[pack.core]\nfilter = \"x\"\nbudget = ‹-3›\n", "E_TYPE", "such as 8000"),
        ("[pack.core]\nfilter = \"x\"\ndocs = ‹1›\n", "E_TYPE", "true or false"),
        ("‹[pack.core]›\nbudget = 1\n", "E_MISSING", "write filter = a string"),
        ("[pack]\ncore = ‹\"x\"›\n", "E_TYPE", "write a table"),
        ("[tags]\nteam = ‹\"x\"›\n", "E_TYPE", "an array of strings"),
        ("[tags]\nteam = [\"x\", ‹1›]\n", "E_TYPE", "a string"),
        ("[tags]\n‹\"a b\"› = []\n", "E_NAME", "letters, digits"),
        ("[tags]\n‹\"a//b\"› = []\n", "E_NAME", "team/core"),
        ("[tags]\n‹\"..\"› = []\n", "E_NAME", "team/core"),
        ("[‹packs›.core]\nfilter = \"x\"\n", "E_UNKNOWN_KEY", "did you mean 'pack'?"),
        (
            "[tags]\nteam = [‹\"sk-abcdefghijklmnopqrst\"›]\n",
            "E_SECRET",
            "environment variable",
        ),
        (
            "[[rule]]\ntarget = ‹\"//manifest/pack:table\"›\nproducer = \"table pack\"\n",
            "E_DUPLICATE",
            "cortex.toml:2:1",
        ),
    ] {
        check(&format!("{DECLARED}{marked}"), code, hint);
    }
}

#[test]
fn wrong_table_declarations_are_errors() {
    for (marked, code, hint) in [
        ("[tables]\n‹rule› = \"string\"\n", "E_NAME", "another name"),
        ("[tables]\n‹cache› = \"string\"\n", "E_NAME", "another name"),
        ("[tables]\n‹\"a/b\"› = \"string\"\n", "E_NAME", "without '/'"),
        (
            "[tables]\nfrom = \"path\"\n[from]\na = ‹\"a/../b\"›\n",
            "E_PATH",
            "without '.' and '..'",
        ),
        (
            "[tables]\nfrom = \"path\"\n[from]\na = ‹1›\n",
            "E_TYPE",
            "a path from the workspace's root",
        ),
        ("[tables]\nteam = ‹\"strnig\"›\n", "E_TYPE", "did you mean 'string'?"),
        (
            "[tables]\nteam = { a = ‹\"date\"› }\n",
            "E_TYPE",
            "write one of string, path, strings, integer, boolean",
        ),
        ("[tables]\nteam = ‹1›\n", "E_TYPE", "write a table"),
        ("tables = ‹1›\n", "E_TYPE", "write a table"),
    ] {
        check(marked, code, hint);
    }
}

#[test]
fn a_text_of_rows_may_only_add_rows() {
    let messages = |data: &str| {
        let main = format!("{DECLARED}[pack.core]\nfilter = \"x\"\n");
        errors_text(&load_both(&main, data).expect_err("errors"))
    };
    insta::assert_snapshot!(messages("[pack.core]\nfilter = \"y\"\n"), @"E_DUPLICATE more.toml:1:7: there is a row of this name already [core]");
    insta::assert_snapshot!(messages("[workspace]\nname = \"x\"\n"), @"E_UNKNOWN_KEY more.toml:1:2: a file of rows has no key of this name [workspace]");
    insta::assert_snapshot!(messages("[pack.more]\nfilter = \n"), @"E_SYNTAX more.toml:2:10: string values must be quoted, expected literal string []");
    insta::assert_snapshot!(messages("[pack.more]\nfilter = 1\n"), @"E_TYPE more.toml:2:10: 'filter' is a string, not a number [1]");
}

#[test]
fn rulesets_may_share_tables_and_optional_targets() {
    let read = |rulesets: &str| {
        let text = format!("[workspace]\nrulesets = {rulesets}\n");
        let main = ManifestSource {
            name: "cortex.toml".into(),
            text: &text,
        };
        let rulesets = |name: &str| match name {
            "reads" => Some(
                "[tables]\nkind = { old = \"boolean?\" }\n[producer.p]\nuses = \"command\"\nargv = [\"x\"]\n[[rule]]\ntarget = \"//a:b\"\nproducer = \"p\"\n\
                 [rule.inputs]\nmade = { each = \"//manifest/kind:table\", target = \"//kinds/{item}:made\", optional = true }\n",
            ),
            "makes" => Some(
                "[tables]\nkind = { old = \"boolean?\" }\n[kind.one]\n[producer.q]\nuses = \"command\"\nargv = [\"y\"]\n[[rule]]\ntarget = \"//kinds/one:made\"\nproducer = \"q\"\n",
            ),
            "builds on" => Some("[workspace]\nrulesets = [\"makes\", \"reads\"]\n"),
            "other" => Some("[tables]\nkind = { old = \"boolean\" }\n"),
            _ => None,
        };
        load(&main, None, &rulesets, &["reads", "makes", "other", "builds on"], &registry())
            .map(|loaded| rows(&loaded.manifest, "kind"))
            .map_err(|errors| errors_text(&errors))
    };
    assert_eq!(read("[\"reads\"]"), Ok(json!({})));
    assert_eq!(read("[\"builds on\", \"makes\", \"reads\"]"), Ok(json!({"one": {}})));
    assert_eq!(read("[\"reads\", \"makes\"]"), Ok(json!({"one": {}})));
    let otherwise = read("[\"reads\", \"other\"]").expect_err("declared otherwise");
    assert!(
        otherwise.starts_with("E_DUPLICATE ruleset other:2:1: this table is declared twice"),
        "{otherwise}"
    );
}
