//! Inlining: the metadata of a result carries its record and small outputs, so that a hit needs one request, also from servers that do not
//! inline files. The blobs are sent as well: a server may drop the metadata, and inlined blobs are accepted only by their digest.

use crate::names::{BlobName, Function};
use bazel_remote_apis::build::bazel::remote::execution::v2::{ActionResult, ExecutedActionMetadata};
use bazel_remote_apis::google::protobuf::Any;
use prost::Message;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

/// Type of an entry: bytes, which their digest identifies.
const TYPE: &str = "type.googleapis.com/google.protobuf.BytesValue";
/// Limit of an inlined blob, in bytes.
const LARGEST: usize = 16 << 10;
/// Limit of inlined bytes per result, because servers keep results in memory.
const TOGETHER: usize = 64 << 10;
/// Limit of inlined blobs cached for later requests, in bytes; beyond it, all are dropped.
const WAITING: usize = 32 << 20;

/// Builds metadata with those blobs of a result, in their order, that fit.
pub(crate) fn pack_blobs<'b>(blobs: impl Iterator<Item = &'b [u8]>) -> ExecutedActionMetadata {
    let mut together = 0;
    let fits = |blob: &&[u8]| {
        let fits = !blob.is_empty() && blob.len() <= LARGEST && together + blob.len() <= TOGETHER;
        together += if fits { blob.len() } else { 0 };
        fits
    };
    let entry = |blob: &[u8]| Any {
        type_url: TYPE.to_owned(),
        value: blob.to_vec().encode_to_vec(),
    };
    ExecutedActionMetadata {
        auxiliary_metadata: blobs.filter(fits).map(entry).collect(),
        ..ExecutedActionMetadata::default()
    }
}

/// Returns the inlined blobs of a result that its files name.
pub(crate) fn unpack_blobs(function: Function, result: &ActionResult) -> HashMap<BlobName, Vec<u8>> {
    let named: BTreeSet<BlobName> = result
        .output_files
        .iter()
        .filter_map(|file| BlobName::from_message(file.digest.as_ref()?))
        .collect();
    let entries = result.execution_metadata.iter().flat_map(|metadata| &metadata.auxiliary_metadata);
    entries
        .filter(|entry| entry.type_url == TYPE)
        .filter_map(|entry| Vec::<u8>::decode(&entry.value[..]).ok())
        .map(|blob| (function.name_of_bytes(&blob), blob))
        .filter(|(name, _)| named.contains(name))
        .collect()
}

/// Inlined blobs that wait for a request.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<HashMap<BlobName, Vec<u8>>>);

impl Waiting {
    pub fn keep_blobs(&self, blobs: HashMap<BlobName, Vec<u8>>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(blobs);
        if waiting.values().map(Vec::len).sum::<usize>() > WAITING {
            waiting.clear();
        }
    }

    /// Removes and returns those of the blobs that are cached.
    pub fn take_blobs(&self, names: &BTreeSet<BlobName>) -> HashMap<BlobName, Vec<u8>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.iter().filter_map(|name| waiting.remove_entry(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bazel_remote_apis::build::bazel::remote::execution::v2::OutputFile;

    const FUNCTION: Function = Function::Sha256;

    fn result(named: &[&[u8]], along: &[&[u8]]) -> ActionResult {
        let file = |blob: &&[u8]| OutputFile {
            digest: Some(FUNCTION.name_of_bytes(blob).as_message()),
            ..OutputFile::default()
        };
        ActionResult {
            output_files: named.iter().map(file).collect(),
            execution_metadata: Some(pack_blobs(along.iter().copied())),
            ..ActionResult::default()
        }
    }

    fn came(named: &[&[u8]], along: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut came: Vec<Vec<u8>> = unpack_blobs(FUNCTION, &result(named, along)).into_values().collect();
        came.sort_unstable();
        came
    }

    #[test]
    fn small_blobs_travel_along() {
        let (large, medium) = (vec![1; LARGEST + 1], vec![2; LARGEST]);
        assert_eq!(came(&[b"a", b"b"], &[b"a", b"b"]), [b"a", b"b"]);
        assert_eq!(came(&[b"a", &large], &[b"a", &large]), [b"a"]);
        let many: Vec<Vec<u8>> = (0..9).map(|number| [vec![number], medium[1..].to_vec()].concat()).collect();
        let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
        assert_eq!(came(&many, &many).len(), TOGETHER / LARGEST);
    }

    #[test]
    fn inline_blobs_that_the_result_does_not_name_are_ignored() {
        assert_eq!(came(&[b"a"], &[b"a", b"x"]), [b"a"]);
        let mut lying = result(&[b"a"], &[b"a"]);
        let metadata = lying.execution_metadata.as_mut().expect("metadata");
        metadata.auxiliary_metadata[0].value = vec![0xff; 9];
        assert!(unpack_blobs(FUNCTION, &lying).is_empty());
        metadata_of(&mut lying).type_url = "type.googleapis.com/other".to_owned();
        assert!(unpack_blobs(FUNCTION, &lying).is_empty());
    }

    fn metadata_of(result: &mut ActionResult) -> &mut Any {
        &mut result.execution_metadata.as_mut().expect("metadata").auxiliary_metadata[0]
    }

    #[test]
    fn waiting_blobs_are_taken_once() {
        let waiting = Waiting::default();
        let name = FUNCTION.name_of_bytes(b"a");
        waiting.keep_blobs(HashMap::from([(name, b"a".to_vec())]));
        assert_eq!(waiting.take_blobs(&BTreeSet::from([name])).len(), 1);
        assert_eq!(waiting.take_blobs(&BTreeSet::from([name])).len(), 0);
    }
}
