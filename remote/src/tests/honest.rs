//! Servers that behave: offered results are found again, byte by byte.

use super::liar::{Liar, Shelf, router, sha256, start};
use super::{client, def, lookup_of, noise, offer, outputs_of, result, results_of};
use bazel_remote_apis::build::bazel::remote::execution::v2::{CacheCapabilities, RequestMetadata, compressor, digest_function};
use engine::manifest::remote::{Credential, RemoteDef};
use engine::seams::remote::{BlobRef, Offered, RemoteCache, Wanted};
use engine::values::digest::Digest;
use prost::Message;
use std::sync::{Arc, Mutex};

/// Returns servers with different capabilities.
fn kinds() -> Vec<CacheCapabilities> {
    let both = [digest_function::Value::Sha256, digest_function::Value::Blake3].map(|function| function as i32);
    let zstd = vec![compressor::Value::Zstd as i32];
    vec![
        sha256(),
        CacheCapabilities {
            max_batch_total_size_bytes: 65_536,
            ..sha256()
        },
        CacheCapabilities {
            digest_functions: both.to_vec(),
            supported_compressors: zstd.clone(),
            supported_batch_update_compressors: zstd.clone(),
            max_batch_total_size_bytes: 65_536,
            ..CacheCapabilities::default()
        },
        CacheCapabilities {
            supported_compressors: zstd,
            ..sha256()
        },
    ]
}

#[test]
fn results_offered_by_one_client_are_found_by_another() {
    for kind in kinds() {
        let limit = usize::try_from(kind.max_batch_total_size_bytes).unwrap();
        let server = start(kind);
        let large = noise(5 << 20);
        let mut made: Vec<_> = (0..200).map(|n| result(&format!("small {n}"), &[&noise(n * 11)])).collect();
        made.push(result("large", &[&large, &[b'x'; 100_000], b""]));
        let (one, _) = client(def(&server.endpoint()));
        for (result, blobs) in &made {
            assert_eq!(one.offer(result.clone(), blobs.clone()), Offered::Queued);
        }
        let summary = one.finish(None);
        assert_eq!((summary.stored, summary.not_stored, summary.trouble), (201, 0, None));
        assert!(limit == 0 || server.shelf.lock().unwrap().largest_batch <= limit);

        let (other, _) = client(def(&server.endpoint()));
        let mut lookups: Vec<Wanted> = made.iter().map(|(result, _)| lookup_of(result)).collect();
        lookups.push(lookup_of(&result("no machine built this", &[b""]).0));
        let found = other.find(&lookups);
        let expected: Vec<_> = made.iter().map(|(result, _)| Some(result.clone())).chain([None]).collect();
        assert_eq!(found, expected);
        let blobs: Vec<BlobRef> = made
            .iter()
            .flat_map(|(result, _)| &result.outputs)
            .map(|output| output.blob)
            .collect();
        let bytes: Vec<_> = made.iter().flat_map(|(_, blobs)| blobs).cloned().map(Some).collect();
        assert!(other.fetch(&blobs) == bytes, "every byte");
        let summary = other.finish(None);
        assert_eq!((summary.hits, summary.misses, summary.lies.len()), (201, 1, 0));
    }
}

#[test]
fn a_small_result_is_one_question() {
    // Reads after looking up the record, fetching the small blobs, and the large one.
    for (keeps_metadata, read) in [(true, [0, 0, 1]), (false, [1, 2, 3])] {
        let server = start(sha256());
        server.shelf.lock().unwrap().keeps_metadata = keeps_metadata;
        let large = noise(100_000);
        let (made, blobs) = result("a", &[b"abc", &large, b"", b"defg"]);
        let (one, _) = client(def(&server.endpoint()));
        one.offer(made.clone(), blobs.clone());
        assert_eq!(one.finish(None).stored, 1);

        let (other, _) = client(def(&server.endpoint()));
        assert_eq!(other.find(&[lookup_of(&made)]), [Some(made.clone())]);
        let small = [made.outputs[0].blob, made.outputs[3].blob];
        assert_eq!((server.calls("look up"), server.calls("read")), (1, read[0]));
        let came = other.fetch(&small);
        assert!(came[0].as_ref() == Some(&blobs[0]) && came[1].as_ref() == Some(&blobs[3]));
        assert_eq!(server.calls("read"), read[1]);
        // The large blob always needs a request.
        assert!(other.fetch(&[made.outputs[1].blob])[0].as_ref() == Some(&blobs[1]));
        assert_eq!(server.calls("read"), read[2]);
        let summary = other.finish(None);
        assert!(summary.blobs_down >= 3 && summary.bytes_down >= 100_007, "{summary:?}");
    }
}

#[test]
fn blobs_in_the_cache_are_not_sent_again() {
    let server = start(sha256());
    let (one, _) = client(def(&server.endpoint()));
    let (made, blobs) = result("a", &[b"abc"]);
    one.offer(made, blobs.clone());
    let first = one.finish(None);
    // Record, output, action, command; the empty root exists everywhere.
    assert_eq!(first.blobs_up, 4);
    let (other, _) = client(def(&server.endpoint()));
    other.offer(result("b", &[b"abc"]).0, blobs);
    assert_eq!(other.finish(None).blobs_up, 2, "another key is another action and another record");
}

#[test]
fn a_bundle_answers_for_many() {
    for kind in kinds() {
        let server = start(kind);
        let made: Vec<_> = (0..300).map(|n| result(&format!("{n}"), &[&noise(n)])).collect();
        let results: Vec<_> = made.iter().map(|(result, _)| result.clone()).collect();
        let load = |digest: &Digest| {
            let all = made.iter().flat_map(|(_, blobs)| blobs);
            all.filter(|blob| blob.len() != 7).find(|blob| Digest::of(blob) == *digest).cloned()
        };
        let (one, _) = client(def(&server.endpoint()));
        assert!(offer(&one, "tree", &results, &load));
        let sent = one.finish(None);
        assert!(offer(&one, "tree", &results, &load));
        let again = one.finish(None);
        assert_eq!(sent.blobs_up, again.blobs_up, "all of it is there");

        let (other, _) = client(def(&server.endpoint()));
        assert_eq!(results_of(&other, "another tree"), None);
        let before = server.calls("look up");
        assert_eq!(results_of(&other, "tree"), Some(results.clone()));
        assert_eq!(server.calls("look up"), before + 1);
        let found = outputs_of(&other, "tree");
        for (at, (result, blobs)) in made.iter().enumerate() {
            // The unavailable blob is listed only with its digest.
            let expected = (at != 7).then_some(&blobs[0]);
            assert_eq!(found.get(&result.outputs[0].blob.digest), expected, "{at}");
        }
        assert_eq!(other.finish(None).lies.len(), 0);
    }
}

#[test]
fn a_salt_is_another_cache() {
    let server = start(sha256());
    let salted = |salt: &str| RemoteDef {
        salt: salt.to_owned(),
        ..def(&server.endpoint())
    };
    let (made, blobs) = result("a", &[b"abc"]);
    let (one, _) = client(salted("1"));
    one.offer(made.clone(), blobs);
    one.finish(None);
    let find = |salt: &str| client(salted(salt)).0.find(&[lookup_of(&made)]).pop().flatten();
    assert_eq!((find("1"), find("2"), find("")), (Some(made.clone()), None, None));
}

#[test]
fn every_request_has_the_token_and_names_no_user_or_machine() {
    let server = start(sha256());
    let (one, _) = client(RemoteDef {
        credential: Some(Credential::Env("TOKEN".to_owned())),
        headers: [("x-team".to_owned(), "docs".to_owned())].into(),
        ..def(&server.endpoint())
    });
    one.find(&[lookup_of(&result("a", &[b""]).0)]);
    let headers = server.shelf.lock().unwrap().headers.clone();
    assert_eq!(headers.get("authorization").unwrap(), "Bearer hush-hush");
    assert_eq!(headers.get("x-team").unwrap(), "docs");
    let metadata = headers.get_bin("build.bazel.remote.execution.v2.requestmetadata-bin").unwrap();
    let metadata = RequestMetadata::decode(metadata.to_bytes().unwrap()).unwrap();
    let tool = metadata.tool_details.clone().unwrap();
    assert_eq!(tool.tool_name, "cortex");
    let expected = RequestMetadata {
        tool_details: Some(tool),
        tool_invocation_id: metadata.tool_invocation_id.clone(),
        ..RequestMetadata::default()
    };
    assert_eq!(metadata, expected);
}

#[test]
fn a_ping_says_what_was_agreed() {
    let server = start(kinds().remove(2));
    let (one, _) = client(def(&server.endpoint()));
    let ping = one.ping().unwrap();
    assert_eq!(
        (ping.terms.function, ping.terms.zstd, ping.terms.batch),
        (crate::Function::Blake3, true, 65_536)
    );
}

#[test]
fn a_socket_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.sock");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let shelf = Arc::new(Mutex::new(Shelf {
        cache: sha256(),
        ..Shelf::default()
    }));
    let listener = {
        let _inside = runtime.enter();
        tokio::net::UnixListener::bind(&path).unwrap()
    };
    let incoming = futures_util::stream::unfold(listener, |listener| async move {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    });
    runtime.spawn(router(Liar(shelf)).serve_with_incoming(Box::pin(incoming)));
    let (one, _) = client(def(&format!("unix:{}", path.display())));
    let (made, blobs) = result("a", &[b"abc"]);
    one.offer(made.clone(), blobs);
    assert_eq!(one.finish(None).stored, 1);
    assert_eq!(one.find(&[lookup_of(&made)]), [Some(made)]);
}
