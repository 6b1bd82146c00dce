//! What `[remote]` says: the cache that machines share, and how one is let in. Secrets are never here, only where they are.

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
    /// Whether results are looked up (default true).
    pub read: bool,
    /// Who offers results.
    pub write: Write,
    /// Whether outputs that are read are fetched or made.
    pub prefer: Prefer,
    /// Whether a build without the cache fails.
    pub required: bool,
    /// Goes into every key that the cache sees: another salt disowns what was filed under the one before.
    pub salt: String,
    /// How the cache is told who asks.
    pub credential: Option<Credential>,
    /// For `grpcs://`.
    pub tls: Tls,
    /// Further headers; `$NAME` or `${NAME}` in a value is a variable of the environment.
    pub headers: BTreeMap<String, String>,
    /// Whether source code may be sent.
    pub upload_inputs: bool,
    /// Whether the server's workers compute for this machine.
    pub execute: bool,
    /// The program that they run, by its path; `None` for the one beside this program.
    pub worker: Option<String>,
    /// What the server chooses workers by.
    pub platform: BTreeMap<String, String>,
    /// What signs results that are offered.
    pub signing_key: Option<SigningKey>,
    /// Public keys (Ed25519, hexadecimal), one of which is to have signed what is found; anybody when there is none.
    pub trusted_keys: Vec<String>,
}

/// Where a key comes from that signs: Ed25519, PKCS#8 in PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SigningKey {
    /// The variable of this name holds it.
    Env(String),
    /// The file holds it.
    File(String),
}

/// Who offers results to a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Write {
    /// Nobody.
    Never,
    /// Builds in continuous integration: where the variable `CI` is set.
    #[default]
    Ci,
    /// Every build.
    Always,
}

/// What becomes of an output that is read, and lies in the cache and not here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prefer {
    /// It is fetched where that takes less time than making it and its neighbours.
    #[default]
    Auto,
    /// It is fetched.
    Fetch,
    /// It is made, unless it is dear.
    Make,
}

/// Where a token comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    /// The variable of this name holds it.
    Env(String),
    /// The file holds it.
    File(String),
    /// A program prints headers as JSON, as Bazel's credential helpers do.
    Helper(Vec<String>),
}

/// Files in PEM; paths are relative to the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tls {
    /// Who is trusted to vouch for the server, in the place of those whom the system trusts.
    pub ca: Option<String>,
    /// Who this is, with the key.
    pub cert: Option<String>,
    /// The key of the certificate.
    pub key: Option<String>,
}
