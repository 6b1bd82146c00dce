//! What travels along with a result: its record and small outputs stand in its metadata, so that a hit is one question also where the server does
//! not inline files. The blobs are sent as ever: a server that drops metadata loses nothing, and what came along is believed by its digest.

use crate::names::{Function, Name};
use bazel_remote_apis::build::bazel::remote::execution::v2::{ActionResult, ExecutedActionMetadata};
use bazel_remote_apis::google::protobuf::Any;
use prost::Message;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

/// What an entry is: bytes, whose digest says which.
const TYPE: &str = "type.googleapis.com/google.protobuf.BytesValue";
/// Larger blobs do not travel along, in bytes.
const LARGEST: usize = 16 << 10;
/// Nor more than this with one result, in bytes: servers keep results in memory.
const TOGETHER: usize = 64 << 10;
/// What came along and was not asked for is forgotten when there is more of it, in bytes.
const WAITING: usize = 32 << 20;

/// The metadata of a result with those of its blobs, in their order, that travel along.
pub(crate) fn packed<'b>(blobs: impl Iterator<Item = &'b [u8]>) -> ExecutedActionMetadata {
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

/// What came along with a result, of the files that it names.
pub(crate) fn unpacked(function: Function, result: &ActionResult) -> HashMap<Name, Vec<u8>> {
    let named: BTreeSet<Name> = result
        .output_files
        .iter()
        .filter_map(|file| Name::of(file.digest.as_ref()?))
        .collect();
    let entries = result.execution_metadata.iter().flat_map(|metadata| &metadata.auxiliary_metadata);
    entries
        .filter(|entry| entry.type_url == TYPE)
        .filter_map(|entry| Vec::<u8>::decode(&entry.value[..]).ok())
        .map(|blob| (function.name(&blob), blob))
        .filter(|(name, _)| named.contains(name))
        .collect()
}

/// Blobs that came along and wait to be asked for.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<HashMap<Name, Vec<u8>>>);

impl Waiting {
    /// Keeps blobs.
    pub fn keep_blobs(&self, blobs: HashMap<Name, Vec<u8>>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(blobs);
        if waiting.values().map(Vec::len).sum::<usize>() > WAITING {
            waiting.clear();
        }
    }

    /// Takes those of the names that are there.
    pub fn take(&self, names: &BTreeSet<Name>) -> HashMap<Name, Vec<u8>> {
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
            digest: Some(FUNCTION.name(blob).as_message()),
            ..OutputFile::default()
        };
        ActionResult {
            output_files: named.iter().map(file).collect(),
            execution_metadata: Some(packed(along.iter().copied())),
            ..ActionResult::default()
        }
    }

    fn came(named: &[&[u8]], along: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut came: Vec<Vec<u8>> = unpacked(FUNCTION, &result(named, along)).into_values().collect();
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
    fn what_the_result_does_not_name_is_not_believed() {
        assert_eq!(came(&[b"a"], &[b"a", b"x"]), [b"a"]);
        let mut lying = result(&[b"a"], &[b"a"]);
        let metadata = lying.execution_metadata.as_mut().expect("metadata");
        metadata.auxiliary_metadata[0].value = vec![0xff; 9];
        assert!(unpacked(FUNCTION, &lying).is_empty());
        metadata_of(&mut lying).type_url = "type.googleapis.com/other".to_owned();
        assert!(unpacked(FUNCTION, &lying).is_empty());
    }

    fn metadata_of(result: &mut ActionResult) -> &mut Any {
        &mut result.execution_metadata.as_mut().expect("metadata").auxiliary_metadata[0]
    }

    #[test]
    fn what_waits_is_had_once() {
        let waiting = Waiting::default();
        let name = FUNCTION.name(b"a");
        waiting.keep_blobs(HashMap::from([(name, b"a".to_vec())]));
        assert_eq!(waiting.take(&BTreeSet::from([name])).len(), 1);
        assert_eq!(waiting.take(&BTreeSet::from([name])).len(), 0);
    }
}
