//! Terms with a server: its capabilities, and which of them are used.

use crate::names::Function;
use bazel_remote_apis::build::bazel::remote::execution::v2::{ServerCapabilities, compressor, digest_function};
use serde::Serialize;

/// Limit of a message that every server accepts, in bytes.
const MESSAGE: usize = 4 << 20;
/// Limit of an answer, in bytes.
pub(crate) const LONGEST_ANSWER: usize = 16 << 20;
/// Bytes of a batch besides its blobs.
const MARGIN: usize = 64 << 10;
/// Bytes of a batch besides the data, per blob.
pub(crate) const OVERHEAD: usize = 100;

/// Terms agreed with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AgreedCapabilities {
    /// Hash function of its blob names.
    #[serde(serialize_with = "in_words")]
    pub function: Function,
    /// Whether single blobs may be sent and read with zstd compression.
    pub zstd: bool,
    /// Whether blobs in a sent batch may be compressed.
    pub zstd_batches: bool,
    /// Limit of a batch, in bytes.
    pub batch: usize,
    /// Limit of a blob, in bytes; `None` if the server does not state one.
    pub largest: Option<u64>,
    /// Whether the server says that it stores results.
    pub takes_results: bool,
    /// Whether the server says that it executes actions.
    pub executes: bool,
}

fn in_words<S: serde::Serializer>(function: &Function, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match function {
        Function::Blake3 => "blake3",
        Function::Sha256 => "sha256",
    })
}

impl Default for AgreedCapabilities {
    /// Returns the terms of a server that states nothing.
    fn default() -> Self {
        Self {
            function: Function::Sha256,
            zstd: false,
            zstd_batches: false,
            batch: MESSAGE - MARGIN,
            largest: None,
            takes_results: true,
            executes: false,
        }
    }
}

impl AgreedCapabilities {
    /// Returns the terms of a folder or a bucket.
    pub(crate) fn of_objects() -> Self {
        Self {
            function: Function::Blake3,
            ..Self::default()
        }
    }

    /// Derives the terms from a server's capabilities.
    ///
    /// # Errors
    /// A sentence, when the server names blobs by no supported function.
    pub(crate) fn from_capabilities(capabilities: &ServerCapabilities) -> Result<Self, String> {
        let Some(cache) = &capabilities.cache_capabilities else {
            return Err("it reports that it is not a cache".to_owned());
        };
        let offers = |function: digest_function::Value| cache.digest_functions.contains(&(function as i32));
        let function = if offers(digest_function::Value::Blake3) {
            Function::Blake3
        } else if offers(digest_function::Value::Sha256) || cache.digest_functions.is_empty() {
            Function::Sha256
        } else {
            return Err("it names blobs neither by BLAKE3 nor by SHA-256".to_owned());
        };
        let zstd = compressor::Value::Zstd as i32;
        let limit = usize::try_from(cache.max_batch_total_size_bytes).ok().filter(|limit| *limit > 0);
        let updates = cache.action_cache_update_capabilities.as_ref();
        Ok(Self {
            function,
            zstd: cache.supported_compressors.contains(&zstd),
            zstd_batches: cache.supported_batch_update_compressors.contains(&zstd),
            batch: limit.unwrap_or(MESSAGE).min(MESSAGE - MARGIN),
            largest: u64::try_from(cache.max_cas_blob_size_bytes).ok().filter(|largest| *largest > 0),
            takes_results: updates.is_none_or(|updates| updates.update_enabled),
            executes: capabilities
                .execution_capabilities
                .as_ref()
                .is_some_and(|execution| execution.exec_enabled),
        })
    }

    /// Returns whether a blob fits in a batch.
    pub(crate) fn is_small(&self, len: u64) -> bool {
        usize::try_from(len).is_ok_and(|len| len.saturating_add(OVERHEAD) <= self.batch)
    }

    /// Splits things of these lengths into batches, in their order. No batch exceeds the limit, unless a single thing does.
    pub(crate) fn batches<T>(&self, things: impl IntoIterator<Item = (u64, T)>) -> Vec<Vec<T>> {
        let mut batches: Vec<Vec<T>> = Vec::new();
        let mut filled = usize::MAX;
        for (len, thing) in things {
            let needs = usize::try_from(len).unwrap_or(usize::MAX).saturating_add(OVERHEAD);
            if filled.saturating_add(needs) > self.batch {
                batches.push(Vec::new());
                filled = 0;
            }
            filled = filled.saturating_add(needs);
            batches.last_mut().expect("invariant: one was just begun").push(thing);
        }
        batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bazel_remote_apis::build::bazel::remote::execution::v2::{ActionCacheUpdateCapabilities, CacheCapabilities};
    use proptest::prelude::*;

    fn terms(change: impl FnOnce(&mut CacheCapabilities)) -> Result<AgreedCapabilities, String> {
        let mut cache = CacheCapabilities {
            digest_functions: vec![digest_function::Value::Sha256 as i32],
            ..CacheCapabilities::default()
        };
        change(&mut cache);
        AgreedCapabilities::from_capabilities(&ServerCapabilities {
            cache_capabilities: Some(cache),
            ..ServerCapabilities::default()
        })
    }

    #[test]
    fn the_best_common_capabilities_are_used() {
        assert_eq!(terms(|_| {}), Ok(AgreedCapabilities::default()));
        let both = vec![digest_function::Value::Sha256 as i32, digest_function::Value::Blake3 as i32];
        assert_eq!(terms(|cache| cache.digest_functions = both).unwrap().function, Function::Blake3);
        assert!(terms(|cache| cache.digest_functions = vec![digest_function::Value::Md5 as i32]).is_err());
        assert!(AgreedCapabilities::from_capabilities(&ServerCapabilities::default()).is_err());
        for (limit, batch) in [(0, 4_128_768), (65_536, 65_536), (4_193_280, 4_128_768), (-1, 4_128_768)] {
            assert_eq!(terms(|cache| cache.max_batch_total_size_bytes = limit).unwrap().batch, batch);
        }
        let read_only = ActionCacheUpdateCapabilities { update_enabled: false };
        assert!(
            !terms(|cache| cache.action_cache_update_capabilities = Some(read_only))
                .unwrap()
                .takes_results
        );
        let zstd = terms(|cache| cache.supported_compressors = vec![compressor::Value::Zstd as i32]).unwrap();
        assert!(zstd.zstd && !zstd.zstd_batches);
    }

    proptest! {
        #[test]
        fn batches_keep_order_and_limit(lens in proptest::collection::vec(0_u64..90_000, 0..60)) {
            let terms = AgreedCapabilities { batch: 65_536, ..AgreedCapabilities::default() };
            let batches = terms.batches(lens.iter().map(|len| (*len, *len)));
            prop_assert_eq!(batches.concat(), lens);
            for batch in batches {
                let bytes: u64 = batch.iter().map(|len| len + OVERHEAD as u64).sum();
                prop_assert!(!batch.is_empty() && (bytes <= 65_536 || batch.len() == 1));
            }
        }
    }
}
