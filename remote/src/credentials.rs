//! Credentials: a token from a variable, a file or a helper, other headers, certificates. Read before the first request, sent in headers, and
//! removed from every text that returns.

use engine::manifest::remote::{Credential, RemoteDef};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tonic::metadata::{Ascii, MetadataKey, MetadataValue};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// Returns the value of an environment variable.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Time-out of a credential helper.
const PATIENCE: Duration = Duration::from_secs(10);
/// Limit of a helper's answer, a token or a certificate, in bytes.
const LONGEST: u64 = 1 << 20;

/// Headers of each request, and the secrets that must never be shown.
#[derive(Default)]
pub(crate) struct Credentials {
    pub headers: Vec<(MetadataKey<Ascii>, MetadataValue<Ascii>)>,
    secrets: Vec<String>,
}

impl Credentials {
    /// Reads the credentials. Errors: a sentence on what cannot be read, without what was read.
    pub(crate) async fn from_definition(def: &RemoteDef, folder: &Path, variables: &Variables) -> Result<Self, String> {
        let mut found = Self::default();
        match &def.credential {
            None => {}
            Some(Credential::Env(name)) => {
                let token = variables(name).filter(|token| !token.trim().is_empty());
                let token = token.ok_or_else(|| format!("the variable {name}, which is to hold its token, is not set"))?;
                found.bearer(token.trim())?;
            }
            Some(Credential::File(path)) => {
                let token = read_file(folder, path)?;
                let token = String::from_utf8(token).map_err(|_| format!("the token in {path} is not text"))?;
                found.bearer(token.trim())?;
            }
            Some(Credential::Helper(argv)) => found.read_from_helper(def, folder, argv).await?,
        }
        for (name, value) in &def.headers {
            let filled = replace_variables(value, variables)?;
            if filled != *value {
                found.secrets.push(filled.clone());
            }
            found.add_header(name, &filled)?;
        }
        // An unencrypted connection would show the secret to others.
        if !found.secrets.is_empty() && !is_private(&def.endpoint) {
            return Err("a token, or a variable in a header, is sent over grpcs:// only, or to this machine".to_owned());
        }
        Ok(found)
    }

    fn bearer(&mut self, token: &str) -> Result<(), String> {
        self.secrets.push(token.to_owned());
        self.add_header("authorization", &format!("Bearer {token}"))
    }

    fn add_header(&mut self, name: &str, value: &str) -> Result<(), String> {
        let name =
            MetadataKey::from_bytes(name.to_ascii_lowercase().as_bytes()).map_err(|_| "the name of a header cannot be sent".to_owned())?;
        let mut value = MetadataValue::try_from(value).map_err(|_| format!("the value of the header {name} cannot be sent"))?;
        value.set_sensitive(true);
        self.headers.push((name, value));
        Ok(())
    }

    /// Asks a credential helper as Bazel does: `get`, an address on standard input, headers as JSON on standard output.
    async fn read_from_helper(&mut self, def: &RemoteDef, folder: &Path, argv: &[String]) -> Result<(), String> {
        let [program, rest @ ..] = argv else { return Ok(()) };
        let trouble = |why: &str| format!("the credential helper {program} {why}");
        let mut child = tokio::process::Command::new(program)
            .args(rest)
            .arg("get")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| trouble(&format!("cannot be started: {error}")))?;
        let question = serde_json::json!({ "uri": address(&def.endpoint) }).to_string();
        if let Some(mut input) = child.stdin.take() {
            // A helper may answer without reading the request.
            let _ = input.write_all(question.as_bytes()).await;
        }
        let answer = tokio::time::timeout(PATIENCE, child.wait_with_output())
            .await
            .map_err(|_| trouble("did not answer in time"))?
            .map_err(|error| trouble(&format!("cannot be heard: {error}")))?;
        if !answer.status.success() {
            return Err(trouble("failed"));
        }
        let answer: HelperAnswer = serde_json::from_slice(&answer.stdout).map_err(|_| trouble("did not answer with JSON of headers"))?;
        for (name, values) in answer.headers {
            for value in values {
                self.secrets.push(value.strip_prefix("Bearer ").unwrap_or(&value).to_owned());
                self.add_header(&name, &value)?;
            }
        }
        Ok(())
    }

    /// Replaces the secrets of at least four bytes in a returned text.
    pub(crate) fn clean(&self, text: &str) -> String {
        let secrets = self.secrets.iter().filter(|secret| secret.len() >= 4);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "…"))
    }
}

#[derive(serde::Deserialize)]
struct HelperAnswer {
    headers: std::collections::BTreeMap<String, Vec<String>>,
}

/// Builds the TLS configuration. Errors: a sentence, when a file cannot be read.
pub(crate) fn tls(def: &RemoteDef, folder: &Path) -> Result<ClientTlsConfig, String> {
    let mut config = ClientTlsConfig::new();
    config = match &def.tls.ca {
        Some(path) => config.ca_certificate(Certificate::from_pem(read_file(folder, path)?)),
        None => config.with_native_roots(),
    };
    if let (Some(cert), Some(key)) = (&def.tls.cert, &def.tls.key) {
        config = config.identity(Identity::from_pem(read_file(folder, cert)?, read_file(folder, key)?));
    }
    Ok(config)
}

/// Reads a file relative to the workspace.
pub(crate) fn read_file(folder: &Path, path: &str) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let full: PathBuf = folder.join(path);
    let mut bytes = Vec::new();
    let read = std::fs::File::open(full).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
    read.map_err(|error| format!("{path} cannot be read: {error}"))?;
    Ok(bytes)
}

/// Replaces the variables in a text by their values.
fn replace_variables(text: &str, variables: &Variables) -> Result<String, String> {
    let mut pieces = text.split('$');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = match piece.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(found) => found,
            None => piece.split_at(piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len())),
        };
        if name.is_empty() {
            filled.push('$');
        } else {
            filled += &variables(name).ok_or_else(|| format!("the variable {name}, which a header names, is not set"))?;
        }
        filled += rest;
    }
    Ok(filled)
}

/// Returns whether a connection is encrypted, or stays on this machine.
fn is_private(endpoint: &str) -> bool {
    let host = endpoint.strip_prefix("grpc://").map(|rest| rest.trim_end_matches('/'));
    host.is_none_or(|host| {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
        name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

/// Returns the address in the form that helpers expect.
pub(crate) fn address(endpoint: &str) -> String {
    match endpoint.split_once("://") {
        Some(("grpcs", rest)) => format!("https://{rest}"),
        Some(("grpc", rest)) => format!("http://{rest}"),
        _ => endpoint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn def(endpoint: &str, credential: Option<Credential>) -> RemoteDef {
        RemoteDef {
            endpoint: endpoint.to_owned(),
            credential,
            ..RemoteDef::default()
        }
    }

    fn variables() -> Variables {
        Arc::new(|name| (name == "TOKEN").then(|| " hush-hush\n".to_owned()))
    }

    fn sent(credentials: &Credentials) -> Vec<(String, String)> {
        let text = |(name, value): &(MetadataKey<Ascii>, MetadataValue<Ascii>)| (name.to_string(), value.to_str().unwrap().to_owned());
        credentials.headers.iter().map(text).collect()
    }

    async fn read(def: &RemoteDef, folder: &Path) -> Result<Credentials, String> {
        Credentials::from_definition(def, folder, &variables()).await
    }

    #[tokio::test]
    async fn a_token_from_a_variable_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "from-a-file\n").unwrap();
        for (credential, token) in [
            (Credential::Env("TOKEN".into()), "hush-hush"),
            (Credential::File("token".into()), "from-a-file"),
        ] {
            let found = read(&def("grpcs://cache", Some(credential)), folder.path()).await.unwrap();
            assert_eq!(sent(&found), [("authorization".to_owned(), format!("Bearer {token}"))]);
            assert_eq!(found.clean(&format!("no: {token}!")), "no: …!");
        }
        for credential in [Credential::Env("NONE".into()), Credential::File("none".into())] {
            assert!(read(&def("grpcs://cache", Some(credential)), folder.path()).await.is_err());
        }
    }

    #[tokio::test]
    async fn a_token_is_not_sent_in_the_clear() {
        for (endpoint, sent) in [
            ("grpc://cache.example:1", false),
            ("grpc://10.0.0.1:1", false),
            ("grpc://127.0.0.1:1", true),
            ("grpc://[::1]:1", true),
            ("grpc://localhost", true),
            ("grpcs://cache.example", true),
            ("unix:run/cache", true),
        ] {
            let found = read(&def(endpoint, Some(Credential::Env("TOKEN".into()))), Path::new(".")).await;
            assert_eq!(found.is_ok(), sent, "{endpoint}");
        }
    }

    #[tokio::test]
    async fn a_helper_is_asked_as_bazel_asks_one() {
        let helper = |script: &str| Some(Credential::Helper(vec!["sh".into(), "-c".into(), script.into()]));
        let script = r#"read -r q; test "$q" = '{"uri":"https://cache"}' && test "$0" = get && echo '{"headers":{"Authorization":["Bearer from-a-helper"]}}'"#;
        let found = read(&def("grpcs://cache", helper(script)), Path::new(".")).await.unwrap();
        assert_eq!(sent(&found), [("authorization".to_owned(), "Bearer from-a-helper".to_owned())]);
        assert_eq!(found.clean("from-a-helper"), "…");
        for script in ["exit 1", "echo no"] {
            assert!(read(&def("grpcs://cache", helper(script)), Path::new(".")).await.is_err());
        }
    }

    #[tokio::test]
    async fn headers_name_variables() {
        let variables: Variables = Arc::new(|name| (name == "GATEWAY_KEY").then(|| "hush".to_owned()));
        let with = |value: &str| RemoteDef {
            headers: [("x-key".to_owned(), value.to_owned())].into(),
            ..def("grpcs://cache", None)
        };
        let read = async |def: &RemoteDef| Credentials::from_definition(def, Path::new("."), &variables).await;
        for value in ["a $GATEWAY_KEY-b", "a ${GATEWAY_KEY}-b"] {
            let found = read(&with(value)).await.unwrap();
            assert_eq!(sent(&found), [("x-key".to_owned(), "a hush-b".to_owned())]);
        }
        assert!(read(&with("$NONE")).await.is_err());
        let clear = |value: &str| RemoteDef {
            endpoint: "grpc://cache".to_owned(),
            ..with(value)
        };
        assert!(read(&clear("$GATEWAY_KEY")).await.is_err(), "in the clear");
        assert!(read(&clear("docs")).await.is_ok());
    }
}
