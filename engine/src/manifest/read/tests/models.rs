//! Errors in `[model.NAME]`: each at its place, with the correction; no message ever shows a key.

use super::errors::check;
use super::load_text;

#[test]
fn models() {
    check("[model.m]\napi = ‹\"opneai\"›\n", "E_MODEL", "did you mean 'openai'?");
    check("[model.‹extractive›]\napi = \"command\"\ncommand = []\n", "E_MODEL", "another name");
    check(
        "[model.m]\napi = \"openai\"\nname = \"x\"\nbase_url = ‹\"ftp://x\"›\n",
        "E_MODEL",
        "http://",
    );
    check("[model.m]\napi = \"extractive\"\ncommand = ‹[\"x\"]›\n", "E_MODEL", "remove it");
    for (marked, code, hint) in [
        (
            "price = { ‹inputs› = 1, input = 1, output = 2 }",
            "E_UNKNOWN_KEY",
            "did you mean 'input'?",
        ),
        ("price = ‹{ input = 1 }›", "E_MISSING", "for a million tokens"),
        ("price = { input = ‹-1›, output = 2 }", "E_MODEL", "write price = "),
        ("price = { input = 1, output = ‹\"2\"› }", "E_MODEL", "write price = "),
        ("price = { input = 1, output = 2, currency = ‹\"euro\"› }", "E_MODEL", "USD"),
        ("price = ‹3›", "E_TYPE", "a table"),
        ("params = { ‹temperature› = 1 }", "E_MODEL", "own table"),
        ("params.‹stream› = true", "E_MODEL", "remove it"),
        ("headers = { ‹Host› = \"x\" }", "E_MODEL", "write headers = "),
        ("headers = { x-team = ‹3› }", "E_TYPE", "a string"),
        ("stream = ‹\"no\"›", "E_TYPE", "true or false"),
        ("record = ‹\"x.jsonl\"›", "E_MODEL", "remove it"),
        ("api_key_env = \"K\"\napi_key_command = ‹[\"pass\"]›", "E_MODEL", "one of the two"),
    ] {
        check(&format!("[model.m]\napi = \"extractive\"\n{marked}\n"), code, hint);
    }
    for path in ["/x", "../x", "a/../x", ""] {
        check(
            &format!("[model.m]\napi = \"replay\"\nrecording = ‹\"{path}\"›\n"),
            "E_MODEL",
            "relative path",
        );
    }
    check("‹store› = \"/var/x\"\n", "E_PERSONAL", "--store");
    check("[workspace]\n‹remote› = \"x\"\n", "E_PERSONAL", "your own configuration");
}

#[test]
fn keys_are_refused_and_never_shown() {
    for marked in [
        "[model.m]\napi = \"extractive\"\napi_key = ‹\"hunter2hunter2\"›\n",
        "[model.m]\napi = \"extractive\"\nToken = ‹'hunter2hunter2'›\n",
        "[model.m]\napi = \"extractive\"\nsecret = ‹[\"hunter2hunter2\"]›\n",
        "[model.m]\napi = \"extractive\"\nname = ‹\"sk-hunter2hunter2\"›\n",
        "[model.m]\napi = \"extractive\"\napi_key_env = ‹\"hunter2-hunter2\"›\n",
        "[model.m]\napi = \"extractive\"\nbase_url = ‹\"http://u:hunter2@x/v1\"›\n",
        "[producer.p]\nuses = \"text\"\nparams.a.b = [‹\"sk-hunter2hunter2\"›]\n",
        "model = { m = { api = \"extractive\", api_key = ‹\"hunter2hunter2\"› } }\n",
        "[model.m]\napi = \"extractive\"\nheaders = { x-api-key = ‹\"hunter2hunter2\"› }\n",
        "[model.m]\napi = \"extractive\"\nheaders.authorization = ‹\"Basic hunter2hunter2\"›\n",
        "[model.m]\napi = \"extractive\"\nparams = { user = ‹\"sk-hunter2hunter2\"› }\n",
    ] {
        let error = check(marked, "E_SECRET", "environment variable");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
    for broken in [
        "[model.m]\napi_key = \"hunter2hunter2\n",
        "[model.m]\nkey = hunter2hunter2\n",
        "model = { m = { api_key = \"hunter2hunter2\", = } }",
    ] {
        let errors = load_text(broken).expect_err(broken);
        assert!(!format!("{errors:?}").contains("hunter2"), "{errors:?}");
    }
}

#[test]
fn numbers_of_models_have_ranges() {
    for (key, bad, good) in [
        ("timeout_seconds", "-5", "0.5"),
        ("timeout_seconds", "0", "86400"),
        ("max_tokens", "-1", "1"),
        ("max_tokens", "1.5", "4096"),
        ("context_tokens", "0", "200000"),
        ("retries", "0", "20"),
        ("retries", "21", "1"),
        ("requests_per_minute", "0", "1"),
        ("tokens_per_minute", "-1", "1000000"),
        ("temperature", "99.0", "0.7"),
        ("temperature", "-0.1", "0"),
    ] {
        let model = |value: &str| format!("[model.m]\napi = \"extractive\"\n{key} = {value}\n");
        check(&model(&format!("‹{bad}›")), "E_MODEL", &format!("write {key} = "));
        assert!(load_text(&model(good)).is_ok(), "{key} = {good}");
    }
}
