//! What the cache calls a blob: by blake3, as we do, or by SHA-256. Then a table says which is which, filled by what was found and sent.

use bazel_remote_apis::build::bazel::remote::execution::v2::{Digest as Named, digest_function};
use engine::seams::remote::BlobRef;
use engine::values::digest::Digest;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How a server computes digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// As we do.
    Blake3,
    /// As most do.
    Sha256,
}

/// A blob as the server names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name {
    /// Its digest by the server's function.
    pub hash: [u8; 32],
    /// Its length in bytes.
    pub len: u64,
}

impl Function {
    /// The name of these bytes.
    pub(crate) fn name(self, bytes: &[u8]) -> Name {
        let hash = match self {
            Self::Blake3 => Digest::of(bytes).0,
            Self::Sha256 => {
                let mut hash = [0; 32];
                hash.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
                hash
            }
        };
        Name {
            hash,
            len: bytes.len() as u64,
        }
    }

    /// Its number in the protocol.
    pub(crate) fn number(self) -> i32 {
        match self {
            Self::Blake3 => digest_function::Value::Blake3 as i32,
            Self::Sha256 => digest_function::Value::Sha256 as i32,
        }
    }

    /// What paths of blobs begin with behind `blobs/`; the protocol leaves it out for SHA-256.
    pub(crate) fn segment(self) -> &'static str {
        match self {
            Self::Blake3 => "blake3/",
            Self::Sha256 => "",
        }
    }
}

impl Name {
    /// As messages carry it.
    pub(crate) fn as_message(&self) -> Named {
        Named {
            hash: Digest(self.hash).to_string(),
            size_bytes: i64::try_from(self.len).unwrap_or(i64::MAX),
        }
    }

    /// What a message names; `None` when it is no digest of 32 bytes.
    pub(crate) fn of(named: &Named) -> Option<Self> {
        Some(Self {
            hash: Digest::parse(&named.hash)?.0,
            len: u64::try_from(named.size_bytes).ok()?,
        })
    }
}

/// The server's names of blobs that we know by blake3.
#[derive(Default)]
pub(crate) struct Names {
    known: Mutex<HashMap<Digest, [u8; 32]>>,
}

impl Names {
    /// The server's name of a blob; `None` when only its bytes could tell.
    pub(crate) fn get(&self, function: Function, blob: &BlobRef) -> Option<Name> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&blob.digest).copied();
        let hash = match (function, known) {
            (Function::Blake3, _) => Some(blob.digest.0),
            (Function::Sha256, known) => known,
        };
        hash.map(|hash| Name { hash, len: blob.len })
    }

    /// Forgets a name under which other bytes came: who knows the bytes knows a better one.
    pub(crate) fn forget(&self, digest: &Digest) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(digest);
    }

    /// Remembers a name. Somebody may lie about it: then the bytes that come under it are found to be wrong.
    pub(crate) fn learn(&self, digest: Digest, name: &Name) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, name.hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_either_function() {
        let (blake3, sha256) = (Function::Blake3.name(b"abc"), Function::Sha256.name(b"abc"));
        assert_eq!(blake3.hash, Digest::of(b"abc").0);
        insta::assert_snapshot!(sha256.as_message().hash, @"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!((Name::of(&sha256.as_message()), sha256.len), (Some(sha256), 3));
        assert_eq!(
            Name::of(&Named {
                hash: "abc".into(),
                size_bytes: 3
            }),
            None
        );
        assert_eq!(
            Name::of(&Named {
                size_bytes: -1,
                ..sha256.as_message()
            }),
            None
        );
    }

    #[test]
    fn a_table_is_needed_for_sha256_only() {
        let names = Names::default();
        let blob = BlobRef::of(b"abc");
        assert_eq!(names.get(Function::Blake3, &blob), Some(Function::Blake3.name(b"abc")));
        assert_eq!(names.get(Function::Sha256, &blob), None);
        names.learn(blob.digest, &Function::Sha256.name(b"abc"));
        assert_eq!(names.get(Function::Sha256, &blob), Some(Function::Sha256.name(b"abc")));
    }
}
