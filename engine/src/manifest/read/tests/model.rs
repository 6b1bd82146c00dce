//! Models of well-formed manifests.

use super::{CSHARP, EXAMPLE, errors_text, load_text};
use crate::manifest::model::{InputFrom, Manifest, Rule, SetSpec};
use crate::manifest::template::Template;
use serde_json::json;

fn good(text: &str) -> Manifest {
    match load_text(text) {
        Ok(loaded) => loaded.manifest,
        Err(errors) => panic!("{}", errors_text(&errors)),
    }
}

fn template(text: &str) -> Template {
    Template::parse(text).expect(text)
}

fn rule<'m>(manifest: &'m Manifest, target: &str) -> &'m Rule {
    manifest.rules.iter().find(|rule| rule.target == template(target)).expect(target)
}

/// Counts the rules of the ruleset for C#, including those of its data tables.
fn all_rules() -> usize {
    CSHARP.matches("\n[[rule]]").count() + ["language", "pack", "tags"].len()
}

fn roles(rule: &Rule) -> Vec<&str> {
    rule.inputs.iter().map(|input| &*input.role).collect()
}

#[test]
fn the_default_set_is_that_of_the_manifest_or_of_its_ruleset_or_everything() {
    let default = |text| load_text(text).expect("well-formed").manifest.default;
    assert_eq!(default("[workspace]\nname = \"a\""), ["//..."]);
    assert_eq!(
        default("[workspace]\nrulesets = [\"csharp\"]"),
        ["//types/...:outline", "//index:json"]
    );
    assert_eq!(
        default("[workspace]\nrulesets = [\"csharp\"]\ndefault = [\"//index:json\"]"),
        ["//index:json"]
    );
}

#[test]
fn the_csharp_ruleset_loads_alone() {
    let loaded = load_text("[workspace]\nrulesets = [\"csharp\"]").expect("well-formed");
    assert_eq!(loaded.warnings, []);
    let manifest = loaded.manifest;
    let off = CSHARP.matches("\nif ").count();
    assert_eq!((manifest.name.as_str(), manifest.rules.len()), ("workspace", all_rules() - off));
    let semantic = rule(&manifest, "//types/{type}:semantic");
    assert_eq!(roles(semantic), ["deps", "impl", "structure", "type", "xmldoc"]);
    assert_eq!(manifest.producers[semantic.producer as usize].uses, "semantic");
    let complete = rule(&manifest, "//types/{type}:complete");
    let each = SetSpec::Node {
        label: template("//index:types"),
        row: Some(template("{type}")),
        field: Some("files".into()),
    };
    assert_eq!(
        complete.inputs[0].from,
        InputFrom::Rows {
            each,
            table: template("//files/{item}:syntax"),
            keys: SetSpec::Node {
                label: template("//index:types"),
                row: Some(template("{type}")),
                field: Some("symbol".into()),
            },
        }
    );
    let deps = rule(&manifest, "//types/{type}:deps");
    let keys = SetSpec::Node {
        label: template("//types/{type}:mentions"),
        row: None,
        field: Some("keys".into()),
    };
    let symbols = deps.inputs.iter().find(|input| &*input.role == "symbols").expect("declared");
    assert_eq!(
        symbols.from,
        InputFrom::Slice {
            node: template("//index:symbols"),
            keys
        }
    );
    assert_eq!(
        rule(&manifest, "//chunks/{chunk}:index-entries")
            .inputs
            .iter()
            .filter(|input| input.digest_only)
            .count(),
        3
    );
}

#[test]
fn a_real_model_switches_on_rules_and_inputs() {
    let asking = "[workspace]\nrulesets = [\"csharp\"]\n[model.m]\napi = \"replay\"\nrecording = \"r.jsonl\"\n[producer.semantic]\nparams.model = \"m\"\n";
    let manifest = good(asking);
    assert_eq!(manifest.rules.len(), all_rules());
    let group = rule(&manifest, "//groups/{group}:semantic");
    assert_eq!(
        roles(group),
        ["dependencies", "deps", "impl", "places", "roles", "structure", "type"]
    );
    let semantic = rule(&manifest, "//types/{type}:semantic");
    assert_eq!(
        roles(semantic),
        [
            "dependencies", "deps", "group", "grouped", "impl", "places", "roles", "structure", "type"
        ]
    );
    let manifest = good(&format!("{asking}params.structures = false\nparams.template = \"a/p {{1}}.md\"\n"));
    let semantic = rule(&manifest, "//types/{type}:semantic");
    assert_eq!(
        roles(semantic),
        ["deps", "group", "grouped", "impl", "roles", "structure", "template", "type"]
    );
    let template = semantic.inputs.iter().find(|input| &*input.role == "template").expect("declared");
    let InputFrom::One(label) = &template.from else {
        panic!("{template:?}")
    };
    assert_eq!(
        label
            .literal()
            .map(|label| label.starts_with("//files/a/p") && label.ends_with(".md:bytes")),
        Some(true),
        "{label:?}"
    );
}

#[test]
fn readers_of_a_switched_off_rule_are_errors() {
    let text = "[workspace]\nrulesets = [\"csharp\"]\n[producer.c]\nuses = \"command\"\nargv = [\"x\", \"{in.x}\"]\n[[rule]]\ntarget = \"//mine/{g}:y\"\neach = { g = \"//index:groups\" }\nproducer = \"c\"\ninputs = { x = \"//groups/{g}:semantic\" }\n";
    let errors = load_text(text).expect_err("nothing makes it");
    assert_eq!(
        errors_text(&errors),
        "E_UNKNOWN_LABEL cortex.toml:10:16: the rule that declares this is turned off [//groups/{g}:semantic]\n"
    );
}

#[test]
fn a_parameter_that_names_no_file_is_an_error() {
    let asking = |template: &str| {
        format!(
            "[workspace]\nrulesets = [\"csharp\"]\n[model.m]\napi = \"replay\"\nrecording = \"r.jsonl\"\n[producer.semantic]\nparams.model = \"m\"\nparams.template = {template}\n"
        )
    };
    for (template, code) in [
        ("\"/etc/passwd\"", "E_PATH"),
        ("\"../x\"", "E_PATH"),
        ("\"\"", "E_PATH"),
        ("7", "E_TYPE"),
    ] {
        let errors = load_text(&asking(template)).expect_err(template);
        assert!(
            errors.iter().any(|error| error.code == code),
            "{template}: {}",
            errors_text(&errors)
        );
    }
    let typo = "[[rule]]\ntarget = \"//a:b\"\nproducer = \"semantic\"\ninputs = { x = { param = \"templat\" } }\n";
    let errors = load_text(&format!("{}{typo}", asking("\"a.md\""))).expect_err("a typo");
    assert!(
        errors[0].hint.as_deref().is_some_and(|hint| hint.contains("template")),
        "{errors:?}"
    );
}

#[test]
fn the_example_documents_every_key_and_loads() {
    let loaded = match load_text(EXAMPLE) {
        Ok(loaded) => loaded,
        Err(errors) => panic!("{}", errors_text(&errors)),
    };
    assert_eq!(errors_text(&loaded.warnings), "");
    let manifest = loaded.manifest;
    assert_eq!(manifest.name, "memotree");
    assert_eq!(manifest.sources["csharp"].include, ["**/*.cs"]);
    assert_eq!(manifest.sources["csharp"].exclude, ["**/bin/**", "**/obj/**", "third_party/**"]);
    let by_name = |name: &str| manifest.producers.iter().find(|producer| producer.name == name).expect("defined");
    let semantic = json!({"asks": false, "docs": false, "model": "extractive", "structures": false, "template": null});
    assert_eq!(json!(by_name("semantic").params), semantic);
    assert_eq!(by_name("wordcount").params["argv"], json!(["wc", "-w", "{in.text}"]));
    // Each of several outputs is a target of its own.
    let counts = rule(&manifest, "//docs/{doc}:ranking.counts");
    assert_eq!(counts.each, rule(&manifest, "//docs/{doc}:ranking").each);
    assert_eq!(roles(counts), ["tree"]);
    assert_eq!(json!(by_name("ranking.counts").params), json!({"entry": "counts"}));
    assert!(!roles(rule(&manifest, "//types/{type}:semantic")).contains(&"xmldoc"));
    assert!(roles(rule(&manifest, "//types/{type}:report")).contains(&"strict"));
    let words = rule(&manifest, "//docs/{doc}:words");
    assert_eq!(words.each, Some(("doc".into(), SetSpec::Sources("notes".into()))));
    assert_eq!(manifest.models["team"]["api_key_env"], json!("TEAM_LLM_KEY"));
    for key in [
        "name", "rulesets", "default", "include", "exclude", "gitignore", "uses", "params", "keep", "argv", "target", "each", "producer",
        "inputs", "out", "path", "row", "field", "table", "node", "digest", "optional", "if", "api", "base_url", "api_key_env", "command",
        "recording", "timeout_seconds", "max_tokens", "context_tokens", "temperature",
    ] {
        assert!(
            EXAMPLE.contains(&format!("{key} ")) || EXAMPLE.contains(&format!("{key} =")),
            "{key} is not documented"
        );
    }
}

const BASE: &str = "[producer.p]\nuses = \"command\"\nargv = [\"x\"]\n[[rule]]\ntarget = \"//a:b\"\nproducer = \"p\"\ninputs = { f = \"//files/a:bytes\" }\n";

#[test]
fn a_rules_digest_depends_only_on_the_rule_and_its_producer() {
    let digest = |text: &str| good(text).rules[0].digest;
    let base = digest(BASE);
    assert_eq!(
        base,
        digest(&format!("# comment\n{BASE}[[rule]]\ntarget = \"//c:d\"\nproducer = \"p\"\n"))
    );
    assert_eq!(base, digest(&format!("[producer.a]\nuses = \"command\"\nargv = [\"y\"]\n{BASE}")));
    for (from, to) in [
        ("//a:b", "//a:c"),
        ("[\"x\"]", "[\"y\"]"),
        ("argv", "keep = false\nargv"),
        ("argv", "other = 1\nargv"),
        ("f = ", "g = "),
        ("\"//files/a:bytes\"", "{ node = \"//files/a:bytes\", digest = true }"),
        ("\"//files/a:bytes\"", "{ each = [\"a\"], target = \"//files/{item}:bytes\" }"),
        ("\"//files/a:bytes\"", "{ table = \"//files/a:bytes\", each = [\"a\"] }"),
        ("target", "out = \"a\"\ntarget"),
    ] {
        assert_ne!(base, digest(&BASE.replace(from, to)), "{from} → {to}");
    }
    assert_ne!(
        digest(&BASE.replace("argv", "n = { a = 1, b = 2 }\nargv")),
        digest(&BASE.replace("argv", "n = { a = 1 }\nb = 2\nargv"))
    );
}

#[test]
fn parameters_switch_inputs() {
    let with = |argv: &str| {
        let text = BASE
            .replace("argv", argv)
            .replace("\"//files/a:bytes\"", "{ node = \"//files/a:bytes\", if = \"on\" }");
        good(&text).rules[0].inputs.len()
    };
    assert_eq!((with("on = true\nargv"), with("on = false\nargv")), (1, 0));
}

#[test]
fn probable_mistakes_are_warnings() {
    let loaded = load_text("[producer.p]\nuses = \"command\"\nargv = []\n").expect("usable");
    assert_eq!(
        loaded.warnings.iter().map(|warning| warning.code.as_str()).collect::<Vec<_>>(),
        ["W_NO_RULES", "W_UNUSED"]
    );
}
