//! One test per kind of error, and all of them at once.

use super::{errors_text, load_text};
use crate::values::diagnostic::{Diagnostic, Excerpt};

/// Checks a manifest in one string; the offending text is between `‹` and `›`.
pub(super) fn check(marked: &str, code: &str, hint: &str) -> Diagnostic {
    let text = marked.replace(['‹', '›'], "");
    let start = marked.find('‹').expect("a marked place");
    let before = &marked[..start];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let marked_len = marked[start..].split_once('›').map_or(0, |(inner, _)| inner.chars().count() - 1);
    let errors = load_text(&text).expect_err(marked);
    let found: Vec<String> = errors
        .iter()
        .map(|error| format!("{} {}", error.code, error.place.clone().unwrap_or_default()))
        .collect();
    let wanted = format!("{code} cortex.toml:{line}:{column}");
    assert_eq!(found, [wanted], "{marked}\n{}", errors_text(&errors));
    let error = errors.into_iter().next().expect("one");
    assert!(
        error.hint.as_deref().unwrap_or_default().contains(hint),
        "{marked}\nhint: {:?}",
        error.hint
    );
    let excerpt = error.excerpt.clone().expect("an excerpt");
    assert_eq!(excerpt.len as usize, marked_len.max(1), "{marked}\n{excerpt:?}");
    error
}

/// Wraps the text in a rule with a valid producer.
fn in_rule(marked: &str) -> String {
    format!("[producer.p]\nuses = \"command\"\nargv = []\non = 1\n[[rule]]\nproducer = \"p\"\n{marked}\n")
}

#[test]
fn keys() {
    let error = check("[workspace]\n‹nmae› = \"x\"\n", "E_UNKNOWN_KEY", "did you mean 'name'?");
    assert_eq!(error.candidates, ["name"]);
    assert_eq!(
        error.excerpt,
        Some(Excerpt {
            text: "nmae = \"x\"".into(),
            start: 0,
            len: 4
        })
    );
    check("[‹producers›.p]\nuses = \"text\"\n", "E_UNKNOWN_KEY", "did you mean 'producer'?");
    check(
        "‹zebra› = 1\n",
        "E_UNKNOWN_KEY",
        "its keys are workspace, sources, producer, rule, model",
    );
    check(
        "[sources.a]\ninclude = [\"**\"]\n‹exlude› = []\n",
        "E_UNKNOWN_KEY",
        "did you mean 'exclude'?",
    );
    check(
        "[producer.p]\nuses = \"text\"\n‹param›.x = 1\n",
        "E_UNKNOWN_KEY",
        "did you mean 'params'?",
    );
    check("[model.m]\napi = \"extractive\"\n‹modle› = 1\n", "E_UNKNOWN_KEY", "its keys are");
    check(
        &in_rule("target = \"//a:b\"\n‹input› = {}"),
        "E_UNKNOWN_KEY",
        "did you mean 'inputs'?",
    );
    check(
        &in_rule("target = \"//a:b\"\ninputs = { x = { node = \"//files/a:bytes\", ‹digset› = true } }"),
        "E_UNKNOWN_KEY",
        "did you mean 'digest'?",
    );
    check(
        &in_rule("target = \"//a:b\"\ninputs = { x = { table = \"//files/a:bytes\", each = [\"a\"], ‹digest› = true } }"),
        "E_UNKNOWN_KEY",
        "its keys are table, each, row, field, asked, if",
    );
    check(
        &in_rule("target = \"//{a}:b\"\neach = { a = { each = \"//files/x:bytes\", ‹rows› = \"k\" } }"),
        "E_UNKNOWN_KEY",
        "did you mean 'row'?",
    );
}

#[test]
fn rows_that_are_asked_for() {
    check(
        &in_rule("target = \"//a:b\"\ninputs = { x = { table = \"//files/a:bytes\", asked = true, ‹each› = [\"a\"] } }"),
        "E_UNKNOWN_KEY",
        "its keys are table, asked, if",
    );
    let (list, rows) = (
        "l = { each = [\"a\"], target = \"//files/{item}:bytes\" }",
        "x = { table = \"//files/a:bytes\", asked = true }",
    );
    let rule = in_rule(&format!("target = \"//a:b\"\ninputs = {{ {list}, {rows} }}"));
    check(&rule.replace("[[rule]]", "‹[[rule]]›"), "E_TYPE", "single nodes");
}

#[test]
fn the_default_set_has_well_formed_patterns() {
    check("[workspace]\ndefault = [\"//a:b\", ‹\"a:b\"›]\n", "E_LABEL", "//package:target");
    check("[workspace]\ndefault = ‹[]›\n", "E_LABEL", "default = [");
    check("[workspace]\ndefault = ‹\"//a:b\"›\n", "E_TYPE", "an array of strings");
}

#[test]
fn types() {
    check("[workspace]\nname = ‹3›\n", "E_TYPE", "write a string");
    let bounds = check("[prompt_window]\nmax_chars = ‹999›\n", "E_TYPE", "write a whole number from 1000");
    assert!(bounds.message.ends_with("to 10000000, not 999"), "{}", bounds.message);
    check("[workspace]\nrulesets = ‹\"csharp\"›\n", "E_TYPE", "write an array of strings");
    check("[sources.a]\ninclude = [\"**\", ‹1›]\n", "E_TYPE", "write a string");
    check(
        "[sources.a]\ninclude = [\"**\"]\ngitignore = ‹\"no\"›\n",
        "E_TYPE",
        "write true or false",
    );
    check(
        "[‹rule›]\ntarget = \"//a:b\"\n".replace("[‹rule›]", "‹[rule]›").as_str(),
        "E_TYPE",
        "[[rule]]",
    );
    check(
        "‹model› = 1\n".replace("‹model› = 1", "model = ‹1›").as_str(),
        "E_TYPE",
        "write a table",
    );
    check(
        "[producer.p]\nuses = \"text\"\nparams.day = ‹2026-01-01›\n",
        "E_TYPE",
        "as a string",
    );
    check(
        "[producer.p]\nuses = \"text\"\nparams.big = ‹99999999999999999999›\n",
        "E_TYPE",
        "as a string",
    );
    check("[producer.p]\nuses = \"text\"\nparams.x = [1, ‹nan›]\n", "E_TYPE", "as a string");
    check(
        &in_rule("target = \"//a:b\"\ninputs = { x = { node = \"//files/a:bytes\", if = ‹\"on\"› } }"),
        "E_TYPE",
        "true or false",
    );
    check(
        "[model.m]\napi = \"extractive\"\nmax_tokens = ‹\"many\"›\n",
        "E_TYPE",
        "write a number",
    );
}

#[test]
fn missing_keys() {
    check("[sources.‹a›]\nexclude = []\n", "E_MISSING", "include = [");
    check("[producer.‹p›]\nkeep = true\n", "E_MISSING", "uses = ");
    check("‹[model.m]›\nname = \"x\"\n", "E_MISSING", "api = \"openai\"");
    check("[model.‹m›]\napi = \"anthropic\"\n", "E_MISSING", "name = ");
    check(
        "[producer.p]\nuses = \"text\"\n‹[[rule]]›\nproducer = \"p\"\n",
        "E_MISSING",
        "target = ",
    );
    check("‹[[rule]]›\ntarget = \"//a:b\"\n", "E_MISSING", "producer = ");
    check(
        &in_rule("target = \"//a:b\"\ninputs = { x = ‹{ digest = true }› }"),
        "E_MISSING",
        "node = ",
    );
    check(
        &in_rule("target = \"//a:b\"\ninputs = { x = ‹{ each = [\"a\"] }› }"),
        "E_MISSING",
        "{item}",
    );
    check(
        &in_rule("target = \"//a:b\"\ninputs = { x = ‹{ table = \"//files/a:bytes\" }› }"),
        "E_MISSING",
        "sources:NAME",
    );
    check(&in_rule("target = \"//a:b\"\nout = ‹{}›"), "E_MISSING", "path = ");
}

#[test]
fn names() {
    check("[producer.‹\"a b\"›]\nuses = \"text\"\n", "E_NAME", "letters");
    check("[workspace]\nname = ‹\"\"›\n", "E_NAME", "100 characters");
    check(
        &in_rule("target = \"//a:b\"\ninputs = { ‹1x› = \"//files/a:bytes\" }"),
        "E_NAME",
        "beginning with a letter",
    );
}

#[test]
fn unknown_references_are_errors() {
    check(
        "[workspace]\nrulesets = [‹\"chsarp\"›]\n",
        "E_UNKNOWN_RULESET",
        "did you mean 'csharp'?",
    );
    check("[workspace]\nrulesets = [\"csharp\", ‹\"csharp\"›]\n", "E_DUPLICATE", "once");
    check(
        "[producer.p]\nuses = ‹\"csharp/outlin\"›\n",
        "E_UNKNOWN_PRODUCER",
        "did you mean 'csharp/outline'?",
    );
    check(
        "[producer.wordcount]\nuses = \"text\"\n[[rule]]\ntarget = \"//a:b\"\nproducer = ‹\"wordcont\"›\n",
        "E_UNKNOWN_PRODUCER",
        "did you mean 'wordcount'?",
    );
    check(
        "[producer.p]\nuses = \"text\"\nparams.model = ‹\"teams\"›\n[model.team]\napi = \"extractive\"\n",
        "E_UNKNOWN_MODEL",
        "did you mean 'team'?",
    );
    check(
        &format!(
            "[sources.docs]\ninclude = [\"**\"]\n{}",
            in_rule("target = \"//{a}:b\"\neach = { a = \"sources:‹doc›\" }")
        ),
        "E_UNKNOWN_SOURCES",
        "did you mean 'docs'?",
    );
    let error = check(
        "[workspace]\nrulesets = [\"csharp\"]\n[[rule]]\ntarget = \"//a:b\"\nproducer = \"text\"\ninputs = { x = ‹\"//types/A:outlin\"› }\n",
        "E_UNKNOWN_LABEL",
        "",
    );
    assert_eq!(error.found.as_deref(), Some("//types/A:outlin"));
    check(
        &in_rule("target = \"//reports/{x}:words\"\neach = { x = [\"a\"] }\ninputs = { x = ‹\"//reports/{x}:wrds\"› }"),
        "E_UNKNOWN_LABEL",
        "did you mean '//reports/{x}:words'?",
    );
    check(
        &in_rule("target = \"//reports/{x}:words\"\neach = { x = ‹\"//index:typos\"› }"),
        "E_UNKNOWN_LABEL",
        "write a rule",
    );
}

#[test]
fn labels_and_variables() {
    check(&in_rule("target = \"‹t›ypes/A:b\""), "E_LABEL", "//package:target");
    check(
        &in_rule("target = \"//types/{type}/‹/›x:b\"\neach = { type = [\"a\"] }"),
        "E_LABEL",
        "single slashes",
    );
    check(&in_rule("target = \"//types/é/A:b‹ ›c\""), "E_LABEL", "letters, digits");
    check(&in_rule("target = ‹\"//files/a.cs:bytes\"›"), "E_LABEL", "the file itself");
    check(&in_rule("target = \"//a/‹{›x:b\""), "E_TEMPLATE", "a variable is");
    check(&in_rule("target = \"//a/‹{Type}›:b\""), "E_TEMPLATE", "lower-case");
    check(&in_rule("target = \"//a/‹{type}›:b\""), "E_VARIABLE", "add each = { type =");
    check(
        &in_rule("target = \"//a/‹{tpye}›:b\"\neach = { type = [\"a\"] }"),
        "E_VARIABLE",
        "did you mean 'type'?",
    );
    check(
        &in_rule("target = \"//a/{type}/‹{type}›:b\"\neach = { type = [\"a\"] }"),
        "E_VARIABLE",
        "one variable once",
    );
    check(
        &in_rule("target = ‹\"//a:b\"›\neach = { type = [\"a\"] }"),
        "E_VARIABLE",
        "use {type} in the target",
    );
    check(
        &in_rule("target = \"//a/{x}#{y}:b\"\neach = { x = [\"a\"], y = \"//files/a.cs:bytes\", ‹z› = [\"b\"] }"),
        "E_VARIABLE",
        "two rules",
    );
    check(
        &in_rule("target = ‹\"//a/{x}:b\"›\neach = { x = [\"a\"], y = \"//files/a.cs:bytes\" }"),
        "E_VARIABLE",
        "write {x}#{y} in it",
    );
    check(
        &in_rule("target = \"//a/{x}#{y}:b\"\neach = { x = [\"a\"], y = ‹[\"b\"]› }"),
        "E_SET",
        "each = { type =",
    );
    check(
        &in_rule("target = \"//a/{item}:b\"\neach = { ‹item› = [\"a\"] }"),
        "E_VARIABLE",
        "'item' is reserved for",
    );
    check(&in_rule("target = \"//a:b\"\neach = ‹{}›"), "E_VARIABLE", "each = {");
    check(
        &in_rule("target = \"//a:b\"\ninputs = { x = \"//files/‹{doc}›:bytes\" }"),
        "E_VARIABLE",
        "no variable is bound",
    );
    check(
        &in_rule("target = \"//a:b\"\ninputs = { x = { each = [\"a\"], target = ‹\"//files/a:bytes\"› } }"),
        "E_VARIABLE",
        "use {item}",
    );
    check(
        &in_rule("target = \"//a/{x}:b\"\neach = { x = [\"‹{x}›\"] }"),
        "E_VARIABLE",
        "no variable is bound",
    );
    check(
        &in_rule("target = \"//a/{x}:b\"\neach = { x = [\"a\"] }\nout = { path = \"{x}\", ‹x› = [\"a\"] }"),
        "E_VARIABLE",
        "another name",
    );
}

#[test]
fn sets_globs_and_paths() {
    check(
        &in_rule("target = \"//a/{x}:b\"\neach = { x = ‹\"docs/*.md\"› }"),
        "E_SET",
        "glob:PATTERN",
    );
    check(
        &in_rule("target = \"//a/{x}:b\"\neach = { x = { each = [\"a\"], row = ‹\"k\"› } }"),
        "E_SET",
        "name a node",
    );
    check("[sources.a]\ninclude = [\"‹/›etc/**\"]\n", "E_PATH", "remove the beginning");
    check("[sources.a]\ninclude = [\"a/‹..›/../b\"]\n", "E_PATH", "move the workspace up");
    check(
        "[sources.a]\ninclude = [‹\"a\\\\..\\u002F..\"›]\n"
            .replace("a\\\\..\\u002F..", "a\\u002F..")
            .as_str(),
        "E_PATH",
        "'..'",
    );
    check("[sources.a]\ninclude = [\"‹{a›\"]\n", "E_GLOB", "write a pattern");
    check("[sources.a]\ninclude = ‹[]›\n", "E_GLOB", "include = [");
    check(
        &format!("[sources.a]\ninclude = [\"{}‹{{›{}\"]\n", "{".repeat(16), "}".repeat(17)),
        "E_GLOB",
        "several globs",
    );
    check(
        &format!("[sources.a]\ninclude = [\"‹a›{}\"]\n", "a".repeat(1000)),
        "E_GLOB",
        "several globs",
    );
    check(
        &in_rule("target = \"//a/{x}:b\"\neach = { x = \"glob:‹/›a\" }"),
        "E_PATH",
        "remove the beginning",
    );
    check(&in_rule("target = \"//a:b\"\nout = \"‹/›tmp/a\""), "E_PATH", ".cortex/out/");
    check(
        &in_rule("target = \"//a/{x}:b\"\neach = { x = [\"a\"] }\nout = \"{x}/‹.›./a\""),
        "E_PATH",
        ".cortex/out/",
    );
    check(&in_rule("target = \"//a:b\"\nout = \"ab‹*›c\""), "E_PATH", "letters");
    check(
        &in_rule("target = \"//a/{x}:b\"\neach = { x = [\"a\"] }\nout = ‹\"a\"›"),
        "E_PATH",
        "use {x} in the path",
    );
}

const TWO: &str = "[producer.p]\nuses = \"text\"\n[[rule]]\nproducer = \"p\"\ntarget = \"//t/{x}:o\"\neach = { x = [\"a\"] }\nout = \"A/{x}\"\n[[rule]]\nproducer = \"p\"\n";

#[test]
fn duplicate_targets_are_errors() {
    check(
        &format!("{TWO}target = ‹\"//t/{{x}}:o\"›\neach = {{ x = [\"b\"] }}\n"),
        "E_DUPLICATE",
        "cortex.toml:5:10",
    );
    check(
        &format!("{TWO}target = ‹\"//t/{{y}}:o\"›\neach = {{ y = [\"b\"] }}\n"),
        "E_DUPLICATE",
        "cortex.toml:5:10",
    );
    check(&format!("{TWO}target = ‹\"//t/b:o\"›\n"), "E_DUPLICATE", "cortex.toml:5:10");
    for overlapping in ["//{y}:o", "//t/b/{y}:o", "//t/{y}c:o"] {
        check(
            &format!("{TWO}target = ‹\"{overlapping}\"›\neach = {{ y = [\"b\"] }}\n"),
            "E_DUPLICATE",
            "cortex.toml:5:10",
        );
    }
    check(
        &format!("{TWO}target = \"//u/{{x}}:o\"\neach = {{ x = [\"b\"] }}\nout = ‹\"a/{{x}}\"›\n"),
        "E_DUPLICATE",
        "cortex.toml:7:7",
    );
    check("[workspace]\nname = \"a\"\n‹name› = \"b\"\n", "E_DUPLICATE", "once");
}

#[test]
fn cycles_are_shown_as_a_path() {
    let rule = |target: &str, rest: &str| format!("[[rule]]\nproducer = \"p\"\ntarget = \"{target}\"\n{rest}\n");
    let head = "[producer.p]\nuses = \"text\"\n";
    let error = check(
        &format!(
            "{head}{}{}{}",
            rule("//a:x", "inputs.i = ‹\"//b:x\"›"),
            rule("//b:x", "inputs.i = \"//c:x\""),
            rule("//c:x", "inputs.i = \"//a:x\"")
        ),
        "E_CYCLE",
        "remove one",
    );
    assert_eq!(error.message, "these targets need each other: //a:x → //b:x → //c:x → //a:x");
    check(&format!("{head}{}", rule("//a:x", "inputs.i = ‹\"//a:x\"›")), "E_CYCLE", "");
    let each = "each = { t = [\"q\"] }\n";
    let error = check(
        &format!(
            "{head}{}{}",
            rule("//t/{t}:a", &format!("{each}inputs.i = ‹\"//t/{{t}}:b\"›")),
            rule("//t/{t}:b", &format!("{each}inputs.i = \"//t/{{t}}:a\""))
        ),
        "E_CYCLE",
        "",
    );
    assert_eq!(error.message, "these targets need each other: //t/{t}:a → //t/{t}:b → //t/{t}:a");
    // The set depends on nodes that run over the set.
    check(
        &format!(
            "{head}{}{}",
            rule("//i:t", "inputs.i = { each = [\"k\"], target = ‹\"//t/{item}:a\"› }"),
            rule("//t/{t}:a", "each = { t = \"//i:t\" }")
        ),
        "E_CYCLE",
        "",
    );
    let long: String = (0..5000)
        .map(|n| rule(&format!("//n/{n}:x"), &format!("inputs.i = \"//n/{}:x\"", (n + 1) % 5000)))
        .collect();
    let errors = load_text(&format!("{head}{long}")).expect_err("a cycle");
    assert!(
        errors.len() == 1 && errors[0].message.contains("… 4993 more …"),
        "{}",
        errors[0].message
    );
    // Only a build determines which types a type needs.
    let some = format!(
        "{head}{}",
        rule(
            "//t/{t}:a",
            "each = { t = [\"q\"] }\ninputs.i = { each = \"//files/x:bytes\", target = \"//t/{item}:a\" }"
        )
    );
    assert!(load_text(&some).is_ok());
}

#[test]
fn producers_check_their_parameters() {
    let error = check("[producer.p]\nuses = \"command\"\nargv = ‹[1]›\n", "E_PARAM", "write argv = [");
    assert_eq!(error.message, "'argv' is a list of strings");
    check("[producer.‹p›]\nuses = \"command\"\n", "E_PARAM", "write argv = [");
    check(
        "[producer.p]\nuses = \"command\"\nparams = { argv = [] }\n‹argv› = []\n",
        "E_DUPLICATE",
        "under 'params'",
    );
}

#[test]
fn all_syntax_errors_are_reported_without_consequences() {
    let errors = load_text("[workspace]\nname = \"a\nrulesets = [\"csharp\"]\n[producer.p]\nuses = text\n[[rule]]\nproducer = \"q\"\n")
        .expect_err("broken");
    let places: Vec<String> = errors
        .iter()
        .map(|error| format!("{} {}", error.code, error.place.clone().unwrap_or_default()))
        .collect();
    assert_eq!(
        places,
        [
            "E_SYNTAX cortex.toml:2:10",
            "E_SYNTAX cortex.toml:5:8",
            "E_UNKNOWN_PRODUCER cortex.toml:7:12"
        ],
        "{}",
        errors_text(&errors)
    );
}

#[test]
fn every_kind_of_error_at_once() {
    let text = include_str!("every_error.toml");
    let errors = load_text(text).expect_err("everything is wrong");
    insta::assert_snapshot!(errors_text(&errors));
    for (at, error) in errors.iter().enumerate() {
        assert!(error.hint.is_some() && error.excerpt.is_some(), "{error:?}");
        assert!(at == 0 || errors[at - 1].place <= error.place);
    }
}

#[test]
fn items_that_give_no_label() {
    for item in ["", "../z", "/abs", "a//b", "."] {
        check(
            &in_rule(&format!(
                "target = \"//x/{{x}}:b\"\neach = {{ x = [\"ok\", ‹\"{item}\"›, \"a/b\"] }}"
            )),
            "E_SET",
            "a relative path",
        );
    }
    assert!(load_text(&in_rule("target = \"//x/{x}:b\"\neach = { x = [\"a*b\", \"a b\", \"é/..z\"] }").replace("on = 1\n", "")).is_ok());
}

#[test]
fn a_switch_names_a_parameter() {
    let rule = "[producer.p]\nuses = \"command\"\nargv = []\nstrict = true\n[[rule]]\nproducer = \"p\"\ntarget = \"//a:b\"\n";
    check(
        &format!("{rule}inputs = {{ x = {{ node = \"//files/a:bytes\", if = ‹\"foo\"› }} }}\n"),
        "E_PARAM",
        "true or false",
    );
    check(
        &format!("{rule}inputs = {{ x = {{ node = \"//files/a:bytes\", if = ‹\"strcit\"› }} }}\n"),
        "E_PARAM",
        "did you mean 'strict'?",
    );
}

#[test]
fn arguments_name_inputs_of_the_rule() {
    let with = |argv: &str, inputs: &str| {
        format!("[producer.p]\nuses = \"command\"\nargv = [{argv}]\n[[rule]]\nproducer = \"p\"\ntarget = \"//a:b\"\n{inputs}\n")
    };
    let text = "inputs = { text = \"//files/a:bytes\" }";
    let error = check(&with("\"cat\", ‹\"{in.nothere}\"›", text), "E_PARAM", "it has text");
    assert_eq!(error.message, "the rule at cortex.toml:6:10 has no input 'nothere'");
    check(&with("\"cat\", ‹\"-f={in.txet}\"›", text), "E_PARAM", "did you mean 'text'?");
    check(&with("\"cat\", ‹\"{in.text}\"›", ""), "E_PARAM", "it has none");
    assert!(load_text(&with("\"cat\", \"{in.text}{label}\"", text)).is_ok());
    let shell = with("", text).replace("argv = []", "shell = ‹\"cat {in.text} {in.nothere}\"›");
    check(&shell, "E_PARAM", "it has text");
}

#[test]
fn unknown_producers_are_reported_once() {
    check(
        "[producer.p]\nuses = ‹\"comand\"›\nargv = [\"wc\"]\n",
        "E_UNKNOWN_PRODUCER",
        "did you mean 'command'?",
    );
    check("[producer.‹p›]\nargv = [\"wc\"]\n", "E_MISSING", "uses = ");
    check(
        "[producer.p]\nuses = \"semantic\"\nparams.‹modle› = \"team\"\n",
        "E_PARAM",
        "did you mean 'model'?",
    );
    check(
        "[producer.p]\nuses = \"semantic\"\nparams.model = ‹\"nope\"›\n",
        "E_UNKNOWN_MODEL",
        "write model = \"extractive\"",
    );
}
