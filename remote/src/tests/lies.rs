//! Servers that lie: each wrong answer is a counted miss, and all returned bytes have the requested digest.

use super::liar::{Habit, Running, sha256, start};
use super::{client, def, lookup_of, noise, offer, outputs_of, result, results_of};
use bazel_remote_apis::build::bazel::remote::execution::v2::CacheCapabilities;
use engine::manifest::remote::{RemoteDef, SigningKey};
use engine::seams::remote::{BlobRef, Offered, RemoteCache, SharedResult, WrongRemoteAnswer};
use engine::values::digest::Digest;
use proptest::prelude::*;
use std::sync::Arc;

/// A server, one of its results, and the blobs of that result.
type Filled = (Running, SharedResult, Vec<Arc<[u8]>>);

/// Starts a server with two results; returns the first one.
fn filled() -> Filled {
    let server = start(CacheCapabilities {
        max_batch_total_size_bytes: 65_536,
        ..sha256()
    });
    let (one, _) = client(def(&server.endpoint()));
    // The second blob is too large for a batch.
    let (made, blobs) = result("a", &[b"abc", &noise(200_000), &noise(300)]);
    one.offer(made.clone(), blobs.clone());
    let (second, more) = result("b", &[b"other"]);
    one.offer(second.clone(), more.clone());
    offer(&one, "tree", std::slice::from_ref(&second), &|_| Some(more[0].clone()));
    assert_eq!(one.finish(None).stored, 3);
    (server, made, blobs)
}

#[test]
fn a_lie_about_a_result_is_a_miss() {
    let (server, made, _) = filled();
    for (habit, lie) in [
        (Habit::NoOutputs, WrongRemoteAnswer::MissingOutput),
        (Habit::NoRecord, WrongRemoteAnswer::MissingOutput),
        (Habit::OtherKey, WrongRemoteAnswer::OtherKey),
        (Habit::Garbage, WrongRemoteAnswer::Undecodable),
        (Habit::Failed, WrongRemoteAnswer::Failed),
        (Habit::WrongBytes, WrongRemoteAnswer::WrongBytes),
        (Habit::CutBytes, WrongRemoteAnswer::WrongBytes),
        (Habit::Forgets, WrongRemoteAnswer::MissingBlob),
        (Habit::SaysNothingOfBlobs, WrongRemoteAnswer::MissingBlob),
    ] {
        server.habit(habit);
        let (other, _) = client(def(&server.endpoint()));
        assert_eq!(other.find(&[lookup_of(&made)]), [None], "{habit:?}");
        let summary = other.finish(None);
        assert_eq!(summary.lies.into_iter().collect::<Vec<_>>(), [(lie, 1)], "{habit:?}");
        assert_eq!((summary.hits, summary.misses, summary.reads_off), (0, 1, None), "{habit:?}");
    }
    server.habit(Habit::Honest);
    assert_eq!(client(def(&server.endpoint())).0.find(&[lookup_of(&made)]), [Some(made)]);
}

#[test]
fn a_lie_about_a_blob_is_a_miss() {
    for (habit, lie) in [
        (Habit::WrongBytes, WrongRemoteAnswer::WrongBytes),
        (Habit::CutBytes, WrongRemoteAnswer::WrongBytes),
        (Habit::Forgets, WrongRemoteAnswer::MissingBlob),
    ] {
        let (server, made, blobs) = filled();
        let (other, _) = client(def(&server.endpoint()));
        assert!(other.find(&[lookup_of(&made)])[0].is_some());
        server.habit(habit);
        let blob_refs: Vec<BlobRef> = made.outputs.iter().map(|output| output.blob).collect();
        assert_eq!(other.fetch(&blob_refs), [None, None, None], "{habit:?}");
        assert_eq!(other.finish(None).lies.get(&lie), Some(&3), "{habit:?}");
        server.habit(Habit::Honest);
        assert_eq!(other.fetch(&blob_refs), blobs.into_iter().map(Some).collect::<Vec<_>>());
    }
}

#[test]
fn a_blob_that_no_result_names_is_not_requested() {
    let (server, _, _) = filled();
    let (other, _) = client(def(&server.endpoint()));
    let before = server.calls("read");
    assert_eq!(other.fetch(&[BlobRef::of(b"abc")]), [None]);
    assert_eq!(server.calls("read"), before, "its name is not known");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_a_server_answers_what_is_handed_out_was_asked_for(seed in any::<u64>()) {
        use std::sync::LazyLock;
        static FILLED: LazyLock<Filled> = LazyLock::new(filled);
        let (server, made, _) = &*FILLED;
        server.habit(Habit::Honest);
        let (other, _) = client(def(&server.endpoint()));
        // Names are learned while the server is honest, so that blobs are requested.
        other.find(&[lookup_of(made)]);
        server.habit(Habit::Anything(seed));
        for _ in 0..4 {
            if let Some(found) = other.find(&[lookup_of(made)]).pop().flatten() {
                prop_assert_eq!(&found, made);
            }
            let blob_refs: Vec<BlobRef> = made.outputs.iter().map(|output| output.blob).collect();
            for (blob, expected) in other.fetch(&blob_refs).into_iter().zip(&blob_refs) {
                prop_assert!(blob.is_none_or(|blob| BlobRef::of(&blob) == *expected));
            }
            for found in results_of(&other, "tree").into_iter().flatten() {
                prop_assert_eq!(found.producer, "toy@1");
            }
            for (digest, blob) in outputs_of(&other, "tree") {
                prop_assert_eq!((digest, &*blob), (Digest::of(b"other"), &b"other"[..]));
            }
        }
    }
}

#[test]
fn a_client_that_requires_signatures_finds_only_signed_results() {
    let public = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8".to_owned();
    let server = start(sha256());
    let signing = RemoteDef {
        signing_key: Some(SigningKey::Env("KEY".to_owned())),
        ..def(&server.endpoint())
    };
    let (signed, blobs) = result("signed", &[b"abc"]);
    let (one, _) = client(signing.clone());
    assert_eq!(one.ping().unwrap().signs_as, Some(public.clone()));
    one.offer(signed.clone(), blobs.clone());
    offer(&one, "tree", std::slice::from_ref(&signed), &|_| Some(blobs[0].clone()));
    assert_eq!(one.finish(None).stored, 2);
    let (plain, blobs) = result("plain", &[b"other"]);
    let (other, _) = client(def(&server.endpoint()));
    other.offer(plain.clone(), blobs.clone());
    offer(&other, "other tree", std::slice::from_ref(&plain), &|_| Some(blobs[0].clone()));
    assert_eq!(other.finish(None).stored, 2);

    let asked = [lookup_of(&signed), lookup_of(&plain)];
    let insists = |keys: &[&str]| {
        client(RemoteDef {
            trusted_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            ..def(&server.endpoint())
        })
        .0
    };
    let careful = insists(&[&"11".repeat(32), &public]);
    assert_eq!(careful.find(&asked), [Some(signed.clone()), None]);
    assert_eq!(results_of(&careful, "tree"), Some(vec![signed.clone()]));
    assert_eq!(results_of(&careful, "other tree"), None);
    assert_eq!(
        careful.finish(None).lies.into_iter().collect::<Vec<_>>(),
        [(WrongRemoteAnswer::Untrusted, 2)]
    );
    assert_eq!(insists(&[&"11".repeat(32)]).find(&asked), [None, None]);
    assert_eq!(insists(&[]).find(&asked), [Some(signed.clone()), Some(plain)]);
    // A client that signs uses no unsigned result: its own signature would cover it.
    assert_eq!(client(signing).0.find(&asked), [Some(signed.clone()), None]);

    // A client without its signing key stores nothing, but still reads.
    let (mute, _) = client(RemoteDef {
        signing_key: Some(SigningKey::File("none".to_owned())),
        ..def(&server.endpoint())
    });
    assert_eq!(mute.find(&asked[..1]), [Some(signed.clone())]);
    assert_eq!(mute.offer(signed, vec![b"abc".as_slice().into()]), Offered::Off);
    assert!(mute.finish(None).writes_off.is_some_and(|why| why.contains("none cannot be read")));
}
