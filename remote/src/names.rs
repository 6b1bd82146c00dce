//! The cache's names of blobs: by BLAKE3, as in the engine, or by SHA-256. Then a table maps between them, filled from results found and sent.

use bazel_remote_apis::build::bazel::remote::execution::v2::{Digest as Named, digest_function};
use engine::seams::remote::BlobRef;
use engine::values::digest::Digest;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Hash function of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// BLAKE3, as in the engine.
    Blake3,
    /// SHA-256, as on most servers.
    Sha256,
}

/// Name of a blob on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlobName {
    /// Digest by the server's function.
    pub hash: [u8; 32],
    /// Length in bytes.
    pub len: u64,
}

impl Function {
    pub(crate) fn name_of_bytes(self, bytes: &[u8]) -> BlobName {
        let hash = match self {
            Self::Blake3 => Digest::of(bytes).0,
            Self::Sha256 => {
                let mut hash = [0; 32];
                hash.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
                hash
            }
        };
        BlobName {
            hash,
            len: bytes.len() as u64,
        }
    }

    /// Returns the function's number in the protocol.
    pub(crate) fn protocol_number(self) -> i32 {
        match self {
            Self::Blake3 => digest_function::Value::Blake3 as i32,
            Self::Sha256 => digest_function::Value::Sha256 as i32,
        }
    }

    /// Returns the function's path segment after `blobs/`; the protocol omits it for SHA-256.
    pub(crate) fn segment(self) -> &'static str {
        match self {
            Self::Blake3 => "blake3/",
            Self::Sha256 => "",
        }
    }
}

impl BlobName {
    pub(crate) fn as_message(&self) -> Named {
        Named {
            hash: Digest(self.hash).to_string(),
            size_bytes: i64::try_from(self.len).unwrap_or(i64::MAX),
        }
    }

    /// Converts a message to a name; `None` if it is not a digest of 32 bytes.
    pub(crate) fn from_message(named: &Named) -> Option<Self> {
        Some(Self {
            hash: Digest::parse(&named.hash)?.0,
            len: u64::try_from(named.size_bytes).ok()?,
        })
    }
}

/// The server's names of blobs, by their BLAKE3 digests.
#[derive(Default)]
pub(crate) struct ServerNames {
    known: Mutex<HashMap<Digest, [u8; 32]>>,
}

impl ServerNames {
    /// Returns the server's name of a blob; `None` if only its bytes could give it.
    pub(crate) fn get(&self, function: Function, blob: &BlobRef) -> Option<BlobName> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&blob.digest).copied();
        let hash = match (function, known) {
            (Function::Blake3, _) => Some(blob.digest.0),
            (Function::Sha256, known) => known,
        };
        hash.map(|hash| BlobName { hash, len: blob.len })
    }

    /// Forgets a name with wrong bytes: a later holder of the bytes computes the right one.
    pub(crate) fn forget_name(&self, digest: &Digest) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(digest);
    }

    /// Stores a name. If it is wrong, the bytes read under it fail the check of their digest.
    pub(crate) fn learn(&self, digest: Digest, name: &BlobName) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, name.hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_either_function() {
        let (blake3, sha256) = (Function::Blake3.name_of_bytes(b"abc"), Function::Sha256.name_of_bytes(b"abc"));
        assert_eq!(blake3.hash, Digest::of(b"abc").0);
        insta::assert_snapshot!(sha256.as_message().hash, @"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!((BlobName::from_message(&sha256.as_message()), sha256.len), (Some(sha256), 3));
        assert_eq!(
            BlobName::from_message(&Named {
                hash: "abc".into(),
                size_bytes: 3
            }),
            None
        );
        assert_eq!(
            BlobName::from_message(&Named {
                size_bytes: -1,
                ..sha256.as_message()
            }),
            None
        );
    }

    #[test]
    fn a_table_is_needed_for_sha256_only() {
        let names = ServerNames::default();
        let blob = BlobRef::of(b"abc");
        assert_eq!(names.get(Function::Blake3, &blob), Some(Function::Blake3.name_of_bytes(b"abc")));
        assert_eq!(names.get(Function::Sha256, &blob), None);
        names.learn(blob.digest, &Function::Sha256.name_of_bytes(b"abc"));
        assert_eq!(names.get(Function::Sha256, &blob), Some(Function::Sha256.name_of_bytes(b"abc")));
    }
}
