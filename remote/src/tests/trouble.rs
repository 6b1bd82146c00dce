//! Servers that are busy, silent, gone, or refuse offers: no call fails, and the error is reported once.

use super::liar::{Habit, sha256, start};
use super::{client, client_within, def, lookup_of, noise, offer, result};
use bazel_remote_apis::build::bazel::remote::execution::v2::{ActionCacheUpdateCapabilities, CacheCapabilities};
use engine::manifest::remote::{Credential, RemoteDef, Tls};
use engine::seams::remote::{BlobRef, Offered, RemoteCache};
use engine::values::digest::Digest;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

#[test]
fn a_busy_server_is_asked_again() {
    let server = start(sha256());
    let (made, blobs) = result("a", &[b"abc"]);
    let (one, clock) = client(def(&server.endpoint()));
    server.habit(Habit::Busy(2));
    one.offer(made.clone(), blobs);
    let summary = one.finish(None);
    assert_eq!((summary.stored, clock.slept().len()), (1, 2));
    assert!(summary.trouble.is_some_and(|trouble| trouble.contains("busy")));
}

#[test]
fn a_silent_server_costs_one_deadline_and_is_then_left_alone() {
    let server = start(sha256());
    let (made, _) = result("a", &[b"abc"]);
    let (one, clock) = client_within(def(&server.endpoint()), Duration::from_millis(50));
    server.habit(Habit::Silent);
    assert_eq!(one.find(&[lookup_of(&made)]), [None]);
    assert!(!one.reads());
    let asked = server.calls("look up");
    assert_eq!(asked, 1);
    assert_eq!(one.find(&[lookup_of(&made), lookup_of(&made)]), [None, None]);
    assert_eq!(one.offer(made.clone(), vec![b"abc".as_slice().into()]), Offered::Off);
    assert_eq!(server.calls("look up"), asked, "nobody is asked");
    server.habit(Habit::Honest);
    clock.pass(Duration::from_secs(30));
    assert!(one.reads());
    assert_eq!(one.find(&[lookup_of(&made)]), [None]);
    assert_eq!(server.calls("look up"), asked + 1, "one finds out");
    let summary = one.finish(None);
    assert_eq!((summary.misses, summary.reads_off), (4, None));
    assert_eq!(
        summary.trouble.as_deref(),
        Some("looking up a result failed: the server did not answer in time")
    );
}

#[test]
fn an_unreachable_server_is_a_miss_and_no_error() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (made, blobs) = result("a", &[b"abc"]);
    let (one, _) = client(def(&format!("grpc://{gone}")));
    assert_eq!(one.find(&[lookup_of(&made)]), [None]);
    assert_eq!(one.fetch(&[BlobRef::of(b"abc")]), [None]);
    assert_eq!(one.offer(made, blobs), Offered::Off);
    assert!(one.ping().is_err());
    let summary = one.finish(None);
    assert_eq!((summary.hits, summary.misses, summary.stored), (0, 1, 0));
    assert!(summary.trouble.is_some());
}

#[test]
fn a_refused_write_turns_writing_off_and_reading_goes_on() {
    let server = start(sha256());
    let (made, blobs) = result("a", &[b"abc"]);
    let (one, _) = client(def(&server.endpoint()));
    one.offer(made.clone(), blobs.clone());
    one.finish(None);
    server.habit(Habit::RefusesWrites);
    let (other, _) = client(RemoteDef {
        credential: Some(Credential::Env("TOKEN".to_owned())),
        ..def(&server.endpoint())
    });
    let (second, more) = result("b", &[b"other"]);
    assert_eq!(other.offer(second.clone(), more.clone()), Offered::Queued);
    let summary = other.finish(None);
    assert_eq!((summary.stored, summary.not_stored), (0, 1));
    assert_eq!(
        summary.writes_off.as_deref(),
        Some("… may not write (Unauthenticated)"),
        "and no token is told"
    );
    let asked = server.calls("send");
    assert_eq!(other.offer(second, more), Offered::Off);
    assert_eq!(server.calls("send"), asked, "not asked again");
    assert_eq!(other.find(&[lookup_of(&made)]), [Some(made)]);
}

#[test]
fn a_server_that_takes_no_results_is_offered_none() {
    let server = start(CacheCapabilities {
        action_cache_update_capabilities: Some(ActionCacheUpdateCapabilities { update_enabled: false }),
        ..sha256()
    });
    let (one, _) = client(def(&server.endpoint()));
    let (made, blobs) = result("a", &[b"abc"]);
    one.offer(made.clone(), blobs.clone());
    let summary = one.finish(None);
    assert_eq!((summary.not_stored, server.calls("send")), (1, 0));
    assert!(!one.writes());
}

#[test]
fn a_server_that_refuses_to_overwrite_still_takes_new_results() {
    let server = start(sha256());
    let (made, blobs) = result("a", &[b"abc"]);
    let (one, _) = client(def(&server.endpoint()));
    one.offer(made.clone(), blobs.clone());
    one.finish(None);
    server.habit(Habit::WriteOnce);
    let (other, _) = client(def(&server.endpoint()));
    other.offer(made, blobs);
    let (second, more) = result("b", &[b"other"]);
    other.offer(second, more);
    let summary = other.finish(None);
    assert_eq!((summary.stored, summary.not_stored, summary.writes_off), (1, 1, None));
    assert_eq!(server.calls("file"), 3, "not asked again");
}

#[test]
fn a_bundle_that_was_stored_before_stays() {
    let server = start(sha256());
    server.habit(Habit::WriteOnce);
    let made: Vec<_> = (0..5).map(|n| result(&format!("{n}"), &[format!("blob {n}").as_bytes()])).collect();
    let results: Vec<_> = made.iter().map(|(result, _)| result.clone()).collect();
    let load = |digest: &Digest| {
        made.iter()
            .flat_map(|(_, blobs)| blobs)
            .find(|blob| Digest::of(blob) == *digest)
            .cloned()
    };
    for (results, there) in [
        (&results[..4], true),
        (&results[..4], true),
        (&results[1..3], true),
        (&results[..], false),
    ] {
        let (one, _) = client(def(&server.endpoint()));
        assert_eq!(offer(&one, "tree", results, &load), there, "{}", results.len());
        assert_eq!(one.finish(None).trouble.is_none(), there);
    }
}

#[test]
fn an_immediate_finish_drops_waiting_uploads() {
    let server = start(sha256());
    let (one, _) = client(def(&server.endpoint()));
    server.habit(Habit::Silent);
    let (made, blobs) = result("a", &[b"abc"]);
    one.offer(made.clone(), blobs.clone());
    let summary = one.finish(Some(Duration::ZERO));
    assert_eq!((summary.stored, summary.not_stored), (0, 1));
    server.habit(Habit::Honest);
    assert_eq!(one.offer(made, blobs), Offered::Queued, "another run");
    assert_eq!(one.finish(None).stored, 1);
}

#[test]
fn of_too_much_that_waits_the_rest_is_left_out() {
    let server = start(sha256());
    server.habit(Habit::Silent);
    let (one, _) = client(def(&server.endpoint()));
    let (made, _) = result("a", &[b"abc"]);
    let large: std::sync::Arc<[u8]> = vec![0; 40 << 20].into();
    assert_eq!(one.offer(made.clone(), vec![large.clone()]), Offered::Queued);
    assert_eq!(one.offer(made, vec![large]), Offered::LeftOut);
    assert_eq!(one.finish(Some(Duration::ZERO)).not_stored, 2);
}

#[test]
fn a_cache_that_cannot_be_used_is_told_once_and_not_asked() {
    let server = start(sha256());
    let (made, _) = result("a", &[b"abc"]);
    let endpoint = server.endpoint();
    let no_token = RemoteDef {
        credential: Some(Credential::Env("NONE".to_owned())),
        ..def(&endpoint)
    };
    let no_certificate = RemoteDef {
        endpoint: endpoint.replace("grpc:", "grpcs:"),
        tls: Tls {
            ca: Some("no-such-file.pem".to_owned()),
            ..Tls::default()
        },
        ..RemoteDef::default()
    };
    for (def, why) in [(no_token, "NONE"), (no_certificate, "no-such-file.pem")] {
        let (one, _) = client(RemoteDef { read: true, ..def });
        assert_eq!(one.find(&[lookup_of(&made)]), [None]);
        assert!(!one.reads() && !one.writes());
        let summary = one.finish(None);
        assert!(summary.reads_off.is_some_and(|told| told.contains(why)));
    }
    assert_eq!(server.calls("capabilities"), 0);
    let strange = start(CacheCapabilities {
        digest_functions: vec![3],
        ..CacheCapabilities::default()
    });
    let (one, _) = client(def(&strange.endpoint()));
    assert!(one.ping().is_err_and(|why| why.contains("BLAKE3")));
}

/// Starts a proxy that closes the first `times` connections after so many bytes of answers.
fn cutter(server: SocketAddr, after: usize, times: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().flatten().enumerate() {
            let server = TcpStream::connect(server).unwrap();
            let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
            std::thread::spawn(move || {
                let (mut from_server, mut to_client) = (server, client);
                let (mut passed, mut bytes) = (0, vec![0; 16 << 10]);
                while let Ok(read @ 1..) = from_server.read(&mut bytes) {
                    passed += read;
                    if (number < times && passed > after) || to_client.write_all(&bytes[..read]).is_err() {
                        break;
                    }
                }
                let _ = (to_client.shutdown(Shutdown::Both), from_server.shutdown(Shutdown::Both));
            });
        }
    });
    address
}

#[test]
fn a_line_that_breaks_in_the_middle_is_tried_again() {
    let server = start(sha256());
    let (made, blobs) = result("a", &[&noise(5 << 20)]);
    let (one, _) = client(def(&server.endpoint()));
    one.offer(made.clone(), blobs.clone());
    assert_eq!(one.finish(None).stored, 1);
    for (times, found) in [(1, true), (usize::MAX, false)] {
        let (other, _) = client(def(&format!("grpc://{}", cutter(server.address, 1 << 20, times))));
        assert_eq!(other.find(&[lookup_of(&made)]), [Some(made.clone())]);
        assert_eq!(other.fetch(&[made.outputs[0].blob]), [found.then(|| blobs[0].clone())]);
        let summary = other.finish(None);
        assert!(summary.trouble.is_some_and(|trouble| trouble.starts_with("reading a blob failed")));
        assert!(summary.lies.is_empty());
    }
}
