//! `[remote]`: its meaning and its errors.

use super::errors::check;
use super::{errors_text, load_text};
use crate::manifest::remote::{Credential, RemoteDef, SigningKey, Tls, Write};
use crate::seams::remote::Prefer;

const KEY: &str = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8";

fn remote(text: &str) -> Option<RemoteDef> {
    let loaded = load_text(text).unwrap_or_else(|errors| panic!("{}", errors_text(&errors)));
    loaded.manifest.remote
}

#[test]
fn absent_keys_have_defaults() {
    assert_eq!(remote(""), None);
    let least = RemoteDef {
        endpoint: "grpc://127.0.0.1:9092".to_owned(),
        read: true,
        ..RemoteDef::default()
    };
    assert_eq!(least.write, Write::Ci);
    assert_eq!(remote("[remote]\nendpoint = \"grpc://127.0.0.1:9092\"\n"), Some(least));
}

#[test]
fn all_remote_keys_are_read() {
    let all = "[remote]\nendpoint = \"grpcs://[::1]:443/\"\ninstance = \"a/b\"\nread = false\nwrite = \"always\"\nrequired = true\n\
               salt = \"2\"\ntoken_file = \"t\"\ntls = { ca = \"a\", cert = \"c\", key = \"k\" }\n\
               headers = { X-Team = \"docs\", x-api-key = \"$KEY\" }\n\
               prefer = \"make\"\nexecute = true\nworker = \"bin/w\"\nplatform = { OSFamily = \"linux\" }\nsigning_key_file = \"s\"\ntrusted_keys = [\"{KEY}\"]\n";
    let text = |text: &str| Some(text.to_owned());
    let expected = RemoteDef {
        endpoint: "grpcs://[::1]:443/".to_owned(),
        instance: "a/b".to_owned(),
        read: false,
        write: Write::Always,
        prefer: Prefer::Make,
        required: true,
        salt: "2".to_owned(),
        credential: Some(Credential::File("t".to_owned())),
        tls: Tls {
            ca: text("a"),
            cert: text("c"),
            key: text("k"),
        },
        headers: [("x-team", "docs"), ("x-api-key", "$KEY")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        upload_inputs: true,
        execute: true,
        worker: text("bin/w"),
        platform: [("OSFamily".to_owned(), "linux".to_owned())].into(),
        signing_key: Some(SigningKey::File("s".to_owned())),
        trusted_keys: vec![KEY.to_owned()],
    };
    assert_eq!(remote(&all.replace("{KEY}", KEY)), Some(expected));
    let folder = remote("[remote]\nendpoint = \"dir:/mnt/team\"\n").map(|def| (def.endpoint, def.prefer));
    assert_eq!(folder, Some(("dir:/mnt/team".to_owned(), Prefer::Auto)));
    let env = remote("[remote]\nendpoint = \"unix:run/cache\"\ntoken_env = \"T\"\n").and_then(|def| def.credential);
    assert_eq!(env, Some(Credential::Env("T".to_owned())));
    let helper = remote("[remote]\nendpoint = \"grpcs://cache\"\ncredential_helper = [\"h\", \"-q\"]\n").and_then(|def| def.credential);
    assert_eq!(helper, Some(Credential::Helper(vec!["h".to_owned(), "-q".to_owned()])));
}

#[test]
fn wrong_remote_values_are_errors() {
    for (marked, code, hint) in [
        (
            "[remote]\nendpoint = \"grpc://h\"\n‹wirte› = \"ci\"\n",
            "E_UNKNOWN_KEY",
            "did you mean 'write'?",
        ),
        ("‹[remote]›\nread = true\n", "E_MISSING", "grpcs://"),
        ("‹remote› = \"grpc://h\"\n", "E_PERSONAL", "your own configuration"),
        ("[remote]\nendpoint = ‹\"http://h\"›\n", "E_REMOTE", "grpcs://"),
        ("[remote]\nendpoint = ‹\"grpc://h:0\"›\n", "E_REMOTE", "grpcs://"),
        ("[remote]\nendpoint = ‹\"s3://ab\"›\n", "E_REMOTE", "s3://"),
        ("[remote]\nendpoint = ‹\"s3://Team_Cache\"›\n", "E_REMOTE", "s3://"),
        ("[remote]\nendpoint = ‹\"s3://team-cache/../up\"›\n", "E_REMOTE", "s3://"),
        ("[remote]\nendpoint = ‹\"grpc://h/path\"›\n", "E_REMOTE", "grpcs://"),
        ("[remote]\nendpoint = ‹\"unix:\"›\n", "E_REMOTE", "unix:PATH"),
        ("[remote]\nendpoint = ‹\"dir:/\"›\n", "E_REMOTE", "dir:PATH"),
        ("[remote]\nendpoint = ‹7›\n", "E_TYPE", "a string"),
        (
            "[remote]\nendpoint = \"dir:x\"\nprefer = ‹\"mak\"›\n",
            "E_REMOTE",
            "did you mean 'make'?",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\nwrite = ‹\"allways\"›\n",
            "E_REMOTE",
            "did you mean 'always'?",
        ),
        ("[remote]\nendpoint = \"grpc://h\"\nread = ‹\"yes\"›\n", "E_TYPE", "true or false"),
        (
            "[remote]\nendpoint = \"grpc://h\"\ninstance = ‹\"a/blobs\"›\n",
            "E_REMOTE",
            "configuration",
        ),
        ("[remote]\nendpoint = \"grpc://h\"\nsalt = ‹\"a\\nb\"›\n", "E_REMOTE", "short"),
        ("[remote]\nendpoint = \"grpc://h\"\ntoken = ‹\"abc\"›\n", "E_SECRET", "variable"),
        ("[remote]\nendpoint = ‹\"grpc://me:pass@h\"›\n", "E_SECRET", "variable"),
        (
            "[remote]\nendpoint = \"grpc://h\"\ntoken_env = ‹\"not a name\"›\n",
            "E_SECRET",
            "variable",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\ntoken_env = \"A\"\ntoken_file = ‹\"b\"›\n",
            "E_REMOTE",
            "remove one",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\ncredential_helper = ‹[]›\n",
            "E_REMOTE",
            "my-helper",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\ntls = ‹{ ca = \"a\" }›\n",
            "E_REMOTE",
            "grpcs://",
        ),
        (
            "[remote]\nendpoint = \"grpcs://h\"\ntls = ‹{ cert = \"a\" }›\n",
            "E_MISSING",
            "goes with its key",
        ),
        (
            "[remote]\nendpoint = \"grpcs://h\"\ntls = { ‹crt› = \"a\" }\n",
            "E_UNKNOWN_KEY",
            "did you mean 'cert'?",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\nheaders = { ‹grpc-x› = \"a\" }\n",
            "E_REMOTE",
            "x-team",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\ntrusted_keys = [‹\"03a1\"›]\n",
            "E_REMOTE",
            "remote ping",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\ntrusted_keys = ‹[]›\n",
            "E_REMOTE",
            "remove `trusted_keys`",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\nsigning_key_env = \"A\"\nsigning_key_file = ‹\"b\"›\n",
            "E_REMOTE",
            "remove one",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\nsigning_key_env = ‹\"not a name\"›\n",
            "E_SECRET",
            "variable",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\nexecute = true\nupload_inputs = ‹false›\n",
            "E_REMOTE",
            "remove 'upload_inputs'",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\nworker = ‹\"w\"›\n",
            "E_REMOTE",
            "execute = true",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\nplatform = ‹{ a = \"b\" }›\n",
            "E_REMOTE",
            "execute = true",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\nexecute = true\nworker = ‹\"\"›\n",
            "E_REMOTE",
            "tools/cortex-static",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\nexecute = true\nplatform = { a = ‹1› }\n",
            "E_TYPE",
            "a string",
        ),
        (
            "[remote]\nendpoint = \"grpc://h\"\nheaders = { x-api-key = ‹\"abc\"› }\n",
            "E_SECRET",
            "variable",
        ),
    ] {
        check(marked, code, hint);
    }
}

#[test]
fn no_token_is_shown() {
    for text in [
        "[remote]\nendpoint = \"grpc://h\"\ntoken = \"hush-hush\"\nzebra = 1\n",
        "[remote]\nendpoint = \"grpc://me:hush-hush@h\"\n",
        "[remote]\nendpoint = \"grpc://h\"\nheaders = { authorization = \"Bearer hush-hush\" }\n",
        "[remote]\nendpoint = \"grpc://h\"\ntoken_env = \"hush-hush\"\n",
    ] {
        let errors = load_text(text).expect_err("a token");
        assert!(!format!("{errors:?}").contains("hush-hush"), "{errors:?}");
    }
}
