//! Servers with wrong contents: results built here are sent again although the server has them; contents that stay wrong are reported.

use super::liar::{Habit, Running, sha256, start};
use super::{client, def, noise, offer, outputs_of, result, results_of};
use crate::names::Function;
use crate::volume;
use bazel_remote_apis::build::bazel::remote::execution::v2::CacheCapabilities;
use engine::seams::remote::{BlobRef, RemoteCache, SharedResult, Volume};
use engine::values::digest::Digest;
use std::sync::Arc;

/// Starts a server with a result whose second blob is too large for a batch.
fn filled() -> (Running, SharedResult, Vec<Arc<[u8]>>) {
    let server = start(CacheCapabilities {
        max_batch_total_size_bytes: 65_536,
        ..sha256()
    });
    let (made, blobs) = result("a", &[b"abc", &noise(200_000)]);
    let (one, _) = client(def(&server.endpoint()));
    one.offer(made.clone(), blobs.clone());
    assert_eq!(one.finish(None).stored, 1);
    (server, made, blobs)
}

fn name(bytes: &[u8]) -> String {
    Function::Sha256.name_of_bytes(bytes).as_message().hash
}

fn blobs_of(result: &SharedResult) -> Vec<BlobRef> {
    result.outputs.iter().map(|output| output.blob).collect()
}

#[test]
fn wrong_bytes_are_sent_again() {
    for cut in [false, true] {
        let (server, made, blobs) = filled();
        for blob in server
            .shelf
            .lock()
            .unwrap()
            .blobs
            .values_mut()
            .filter(|blob| blob.len() == 3 || blob.len() == 200_000)
        {
            match cut {
                true => drop(blob.pop()),
                false => blob[0] ^= 1,
            }
        }
        let (one, _) = client(def(&server.endpoint()));
        assert!(one.find(&[made.lookup()])[0].is_some());
        assert_eq!(one.fetch(&blobs_of(&made)), [None, None]);
        one.refuse(&made.key);
        assert!(one.is_spoiled(&made.key));
        one.offer(made.clone(), blobs.clone());
        let summary = one.finish(None);
        assert_eq!(
            (summary.hits, summary.misses, summary.stored),
            (0, 1, 1),
            "what was refused is no hit"
        );
        // Two blobs and the result.
        assert_eq!((summary.healed, summary.broken.len()), (3, 0), "{summary:?}");
        assert!(!one.is_spoiled(&made.key));
        let (other, _) = client(def(&server.endpoint()));
        assert!(other.find(&[made.lookup()])[0].is_some());
        assert_eq!(other.fetch(&blobs_of(&made)), blobs.into_iter().map(Some).collect::<Vec<_>>());
    }
}

#[test]
fn a_blob_that_a_server_keeps_wrong_is_reported_once() {
    let (server, made, blobs) = filled();
    server.habit(Habit::Keeps);
    server.shelf.lock().unwrap().blobs.insert(name(b"abc"), b"abd".to_vec());
    let (one, _) = client(def(&server.endpoint()));
    assert!(one.find(&[made.lookup()])[0].is_some());
    assert_eq!(one.fetch(&blobs_of(&made)[..1]), [None]);
    one.refuse(&made.key);
    for _ in 0..2 {
        one.offer(made.clone(), blobs.clone());
    }
    let summary = one.finish(None);
    assert_eq!(summary.broken.into_iter().collect::<Vec<_>>(), [format!("{}/3", name(b"abc"))]);
    assert_eq!(summary.lies.values().sum::<u64>(), 1);
}

/// Makes each result of a server name another existing blob as its output.
fn misname(server: &Running, bytes: &[u8]) {
    let mut shelf = server.shelf.lock().unwrap();
    let files = shelf.results.values_mut().flat_map(|result| &mut result.output_files);
    for file in files.filter(|file| file.path == "output0") {
        file.digest = Some(Function::Sha256.name_of_bytes(bytes).as_message());
    }
}

#[test]
fn a_wrong_result_is_filed_again() {
    let (server, made, blobs) = filled();
    misname(&server, &blobs[1]);
    let (one, _) = client(def(&server.endpoint()));
    assert_eq!(one.find(&[made.lookup()]), [None]);
    assert!(one.is_spoiled(&made.key), "so that whoever makes it offers it");
    one.offer(made.clone(), blobs.clone());
    let summary = one.finish(None);
    assert_eq!((summary.stored, summary.healed, summary.broken.len()), (1, 1, 0));
    assert_eq!(client(def(&server.endpoint())).0.find(&[made.lookup()]), [Some(made.clone())]);
    // A server that never overwrites results keeps the wrong one.
    server
        .shelf
        .lock()
        .unwrap()
        .results
        .values_mut()
        .for_each(|result| result.exit_code = 1);
    server.habit(Habit::WriteOnce);
    let (two, _) = client(def(&server.endpoint()));
    assert_eq!(two.find(&[made.lookup()]), [None]);
    two.offer(made.clone(), blobs);
    assert_eq!(
        two.finish(None).broken.into_iter().collect::<Vec<_>>(),
        [format!("result of {}", made.key.0)]
    );
}

/// A blob under a wrong name is not itself wrong: the next client with the bytes computes its name.
#[test]
fn a_wrong_name_is_forgotten() {
    let (server, made, blobs) = filled();
    let (other, more) = result("b", &[b"abd"]);
    let (one, _) = client(def(&server.endpoint()));
    one.offer(other, more);
    one.finish(None);
    misname(&server, b"abd");
    let (two, _) = client(def(&server.endpoint()));
    assert!(two.find(&[made.lookup()])[0].is_some());
    assert_eq!(two.fetch(&blobs_of(&made)[..1]), [None]);
    two.refuse(&made.key);
    two.offer(made.clone(), blobs.clone());
    assert_eq!(two.finish(None).healed, 1);
    let (three, _) = client(def(&server.endpoint()));
    assert_eq!(three.find(&[made.lookup()]), [Some(made.clone())]);
    assert_eq!(three.fetch(&blobs_of(&made)[..1]), [Some(blobs[0].clone())]);
}

/// Encodes the volume of a bundle of one result, as in `filled`: its piece with records, and its piece with outputs.
fn pieces(made: &SharedResult, blobs: &[Arc<[u8]>]) -> [Vec<u8>; 2] {
    let volume = Volume {
        results: vec![made.clone()],
        outputs: made.outputs.iter().map(|output| output.blob.digest).collect(),
    };
    [volume::encode_records(&volume, 0), volume::encode_outputs(blobs, 0)]
}

#[test]
fn a_bundle_is_filed_only_when_every_byte_of_it_is_there() {
    let file = |server: &Running, made: &SharedResult, blobs: &[Arc<[u8]>]| {
        let (one, _) = client(def(&server.endpoint()));
        let load = |digest: &Digest| blobs.iter().find(|blob| Digest::of(blob) == *digest).cloned();
        let whole = offer(&one, "tree", std::slice::from_ref(made), &load);
        (whole, one.finish(None))
    };
    let sound = |server: &Running, made: &SharedResult, blobs: &[Arc<[u8]>]| {
        let (other, _) = client(def(&server.endpoint()));
        assert_eq!(results_of(&other, "tree"), Some(vec![made.clone()]));
        assert!(outputs_of(&other, "tree").into_values().eq(sorted(blobs)));
        assert_eq!(other.finish(None).lies.len(), 0, "no one looks for what is wrong");
    };
    for at in [0, 1] {
        // A client that has the bytes sends a wrong piece again, even if it read nothing of it before.
        let (server, made, blobs) = filled();
        assert!(file(&server, &made, &blobs).0);
        let piece = pieces(&made, &blobs)[at].clone();
        let spoiled = [b"X", &piece[1..]].concat();
        assert!(
            server.shelf.lock().unwrap().blobs.insert(name(&piece), spoiled.clone()).is_some(),
            "it is there"
        );
        let (whole, summary) = file(&server, &made, &blobs);
        assert!(whole && summary.healed == 1 && summary.broken.is_empty(), "{summary:?}");
        assert_eq!(server.shelf.lock().unwrap().blobs[&name(&piece)], piece);
        // A piece that stays wrong is reported, and stored under another name, so warming succeeds.
        server.shelf.lock().unwrap().blobs.insert(name(&piece), spoiled);
        server.habit(Habit::Keeps);
        let (whole, summary) = file(&server, &made, &blobs);
        assert!(whole, "{summary:?}");
        assert_eq!(
            summary.broken.into_iter().collect::<Vec<_>>(),
            [format!("{}/{}", name(&piece), piece.len())]
        );
        sound(&server, &made, &blobs);
        // The next client finds nothing wrong.
        let (whole, summary) = file(&server, &made, &blobs);
        assert!(whole && summary.broken.is_empty() && summary.lies.is_empty(), "{summary:?}");
        sound(&server, &made, &blobs);
    }
    for habit in [Habit::WrongBytes, Habit::CutBytes, Habit::Forgets, Habit::NoRecord, Habit::Failed] {
        let (server, made, blobs) = filled();
        server.habit(habit);
        let (whole, summary) = file(&server, &made, &blobs);
        assert!(!whole && !summary.broken.is_empty(), "{habit:?} {summary:?}");
    }
}

/// Sorts blobs by digest.
fn sorted(blobs: &[Arc<[u8]>]) -> Vec<Arc<[u8]>> {
    let mut blobs = blobs.to_vec();
    blobs.sort_by_key(|blob| Digest::of(blob));
    blobs
}

/// An answer is stored only if the key has no result just before, after all its blobs were sent; and never without that check.
#[test]
fn a_result_is_looked_up_just_before_it_is_stored() {
    let server = start(sha256());
    let (made, blobs) = result("a", &[b"abc"]);
    let (one, _) = client(def(&server.endpoint()));
    let mut told = Vec::new();
    let mut may_store = |found: Option<SharedResult>| {
        let sent = server.shelf.lock().unwrap().blobs.contains_key(&name(b"abc"));
        told.push((found.is_none(), sent));
        found.is_none()
    };
    one.store_result(made.clone(), blobs.clone(), &mut may_store);
    assert_eq!((server.calls("look up"), server.calls("file")), (1, 1));
    one.store_result(made.clone(), blobs.clone(), &mut may_store);
    assert_eq!((server.calls("look up"), server.calls("file")), (2, 1));
    assert_eq!(told, [(true, true), (false, true)]);
    let summary = one.finish(None);
    assert_eq!((summary.stored, summary.not_stored, summary.hits, summary.misses), (1, 0, 0, 0));
    // If the server does not say what it has, nothing is written.
    server.habit(Habit::Mute);
    let (other, more) = result("b", &[b"abc"]);
    one.store_result(other, more, &mut |_| panic!("the server did not answer"));
    assert_eq!((server.calls("file"), one.finish(None).not_stored), (1, 1));
}
