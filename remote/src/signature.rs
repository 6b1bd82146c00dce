//! Signatures of records: who files results signs them, and who reads them may insist on somebody they trust. A cache that anybody may write to
//! can then cost time only.

use crate::credentials::{Variables, read_file};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use engine::manifest::remote::{RemoteDef, SigningKey};
use engine::values::digest::Digest;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::path::Path;

/// What a signed text begins with, so that a signature is good for nothing else.
const DOMAIN: &[u8] = b"cortex record 1\0";
/// Bytes of a public key.
const PUBLIC: usize = 32;

/// A key that signs.
pub(crate) struct Signer(Ed25519KeyPair);

impl Signer {
    /// The key that a manifest names, if it names one.
    ///
    /// # Errors
    /// One sentence: what cannot be had, and never what was read.
    pub(crate) fn read(def: &RemoteDef, folder: &Path, variables: &Variables) -> Result<Option<Self>, String> {
        let pem = match &def.signing_key {
            None => return Ok(None),
            Some(SigningKey::Env(name)) => {
                variables(name).ok_or_else(|| format!("the variable {name}, which is to hold the key that signs, is not set"))?
            }
            Some(SigningKey::File(path)) => {
                String::from_utf8(read_file(folder, path)?).map_err(|_| format!("the key that signs, in {path}, is no text"))?
            }
        };
        let pair = der(&pem).and_then(|der| Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).ok());
        let pair = pair.ok_or("the key that signs is no Ed25519 key in PEM; `openssl genpkey -algorithm ed25519` makes one")?;
        Ok(Some(Self(pair)))
    }

    /// What others know it by, as `trusted_keys` has it.
    pub(crate) fn public(&self) -> String {
        Digest(self.key()).to_string()
    }

    /// The public key.
    pub(crate) fn key(&self) -> [u8; PUBLIC] {
        let mut key = [0; PUBLIC];
        key.copy_from_slice(self.0.public_key().as_ref());
        key
    }

    /// The signature of a text, behind its public key.
    pub(crate) fn sign(&self, text: &[u8]) -> Vec<u8> {
        let signature = self.0.sign(&[DOMAIN, text].concat());
        [self.0.public_key().as_ref(), signature.as_ref()].concat()
    }
}

/// Whether this is the signature of a text by one of these keys, or nobody insists on one.
pub(crate) fn is_trusted(text: &[u8], signature: Option<&[u8]>, trusted: &[[u8; PUBLIC]]) -> bool {
    let by_one = || {
        let (key, signature) = signature?.split_at_checked(PUBLIC)?;
        let known = trusted.iter().any(|trusted| trusted == key);
        let verified = UnparsedPublicKey::new(&ED25519, key).verify(&[DOMAIN, text].concat(), signature);
        Some(known && verified.is_ok())
    };
    trusted.is_empty() || by_one().unwrap_or_default()
}

/// The keys that a manifest trusts.
pub(crate) fn trusted(def: &RemoteDef) -> Vec<[u8; PUBLIC]> {
    // The manifest's reader refuses others.
    def.trusted_keys.iter().filter_map(|key| Some(Digest::parse(key)?.0)).collect()
}

/// The bytes of the first key in a text.
fn der(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let body: String = body.split_whitespace().collect();
    BASE64_STANDARD.decode(body).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Arc;

    /// Made by `openssl genpkey -algorithm ed25519`, for tests only.
    pub(crate) const PEM: &str =
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n-----END PRIVATE KEY-----\n";

    fn read(pem: &'static str) -> Result<Option<Signer>, String> {
        let def = RemoteDef {
            signing_key: Some(SigningKey::Env("KEY".to_owned())),
            ..RemoteDef::default()
        };
        let variables: Variables = Arc::new(move |name| (name == "KEY").then(|| pem.to_owned()));
        Signer::read(&def, Path::new("."), &variables)
    }

    #[test]
    fn only_what_was_signed_by_whom_one_trusts_is_good() {
        let signer = read(PEM).unwrap().unwrap();
        // As `openssl pkey -pubout` tells it.
        insta::assert_snapshot!(signer.public(), @"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8");
        let own = Digest::parse(&signer.public()).unwrap().0;
        let signature = signer.sign(b"text");
        assert!(is_trusted(b"text", Some(&signature), &[[1; 32], own]));
        assert!(!is_trusted(b"test", Some(&signature), &[own]), "another text");
        assert!(!is_trusted(b"text", Some(&signature), &[[1; 32]]), "nobody one trusts");
        assert!(!is_trusted(b"text", None, &[own]));
        assert!(is_trusted(b"text", None, &[]), "nobody insists");
        for at in 0..signature.len() {
            let mut spoiled = signature.clone();
            spoiled[at] ^= 1;
            assert!(!is_trusted(b"text", Some(&spoiled), &[own]), "{at}");
            assert!(!is_trusted(b"text", Some(&signature[..at]), &[own]), "{at}");
        }
    }

    #[test]
    fn a_key_that_is_none_is_told_and_not_shown() {
        for pem in ["", "hush-hush", "-----BEGIN PRIVATE KEY-----\nhush-hush\n-----END PRIVATE KEY-----"] {
            let why = read(pem).err().unwrap();
            assert!(why.contains("no Ed25519 key") && !why.contains("hush"), "{why}");
        }
    }
}
