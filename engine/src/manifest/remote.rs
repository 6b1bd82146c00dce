//! Definition of `[remote]`: the remote cache that machines share, and its credentials. It names where secrets are, never the secrets.

use crate::seams::remote::Prefer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[remote]`, as written and checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoteDef {
    /// `grpc://HOST:PORT`, `grpcs://HOST:PORT`, `unix:PATH`, `dir:PATH` for a folder that machines share, or `s3://BUCKET/PREFIX`.
    pub endpoint: String,
    /// The server's name for a set of results that trust each other; often empty.
    pub instance: String,
    /// Whether to look up results (default true).
    pub read: bool,
    /// Which builds offer results.
    pub write: Write,
    /// Whether to fetch an output that a build reads, or to build it.
    pub prefer: Prefer,
    /// Whether a build without the cache fails.
    pub required: bool,
    /// Part of every key that the cache sees: a new salt disowns all results stored under the former one.
    pub salt: String,
    /// How to authenticate at the cache.
    pub credential: Option<Credential>,
    /// TLS files for `grpcs://`.
    pub tls: Tls,
    /// Further headers; `$NAME` or `${NAME}` in a value is an environment variable.
    pub headers: BTreeMap<String, String>,
    /// Whether source code may be sent.
    pub upload_inputs: bool,
    /// Whether the server's workers run producers for this machine.
    pub execute: bool,
    /// Path of the program that they run; `None` for the one next to this program.
    pub worker: Option<String>,
    /// Properties by which the server chooses workers.
    pub platform: BTreeMap<String, String>,
    /// The key that signs offered results.
    pub signing_key: Option<SigningKey>,
    /// Public keys (Ed25519, hexadecimal). A found result must be signed by one of them; without any, all are accepted.
    pub trusted_keys: Vec<String>,
}

/// Source of a signing key: Ed25519, PKCS#8 in PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SigningKey {
    /// The environment variable with the key.
    Env(String),
    File(String),
}

/// Which builds offer results to a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Write {
    /// No build.
    Never,
    /// Builds in continuous integration: where the variable `CI` is set.
    #[default]
    Ci,
    Always,
}

/// Source of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    /// The environment variable with the token.
    Env(String),
    /// The file with the token.
    File(String),
    /// A program that prints headers as JSON, like Bazel's credential helpers.
    Helper(Vec<String>),
}

/// Files in PEM; paths are relative to the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tls {
    /// Certificates trusted to sign the server's, instead of the system's.
    pub ca: Option<String>,
    /// This client's certificate, with the key.
    pub cert: Option<String>,
    /// The key of the certificate.
    pub key: Option<String>,
}
