//! A farm: a worker's output returns unchanged, and on any error the work is returned.

use super::liar::{Running, sha256, start};
use super::worker::Work;
use super::{client, def, noise};
use crate::{Client, Workers};
use bazel_remote_apis::build::bazel::remote::execution::v2::platform::Property;
use bazel_remote_apis::build::bazel::remote::execution::v2::{CacheCapabilities, compressor, digest_function};
use engine::manifest::remote::{Credential, RemoteDef};
use engine::seams::farm::{Farm, ShardOutcome};
use engine::seams::producer::Cancel;
use engine::seams::remote::RemoteCache;
use std::time::Duration;
use tempfile::TempDir;

/// A server with such workers, and its client.
struct Field {
    server: Running,
    client: Client,
    workers: Workers,
    _folder: TempDir,
}

fn field_of(cache: CacheCapabilities, work: Work) -> Field {
    let server = start(cache);
    server.shelf.lock().unwrap().work = work;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program"), "a program").unwrap();
    let (client, _) = client(RemoteDef {
        credential: Some(Credential::Env("TOKEN".to_owned())),
        platform: [("os", "linux"), ("arch", "x86")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..def(&server.endpoint())
    });
    Field {
        workers: client.workers(Ok(folder.path().join("program"))),
        server,
        client,
        _folder: folder,
    }
}

fn field(work: Work) -> Field {
    field_of(sha256(), work)
}

fn backwards(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().rev().copied().collect()
}

#[test]
fn the_output_of_a_worker_is_returned() {
    let both = [digest_function::Value::Sha256, digest_function::Value::Blake3].map(|function| function as i32);
    let other = CacheCapabilities {
        digest_functions: both.to_vec(),
        supported_compressors: vec![compressor::Value::Zstd as i32],
        max_batch_total_size_bytes: 65_536,
        ..CacheCapabilities::default()
    };
    for kind in [sha256(), other] {
        let field = field_of(kind, Work::Backwards);
        for shard in [b"a shard".to_vec(), noise(200_000), noise(5 << 20)] {
            assert!(field.workers.is_open());
            assert_eq!(field.workers.work(shard.clone(), &Cancel::default()), Some(backwards(&shard)));
            field.workers.note(&ShardOutcome {
                made: 3,
                unmade: 1,
                took: Duration::from_micros(7),
                wrong: None,
            });
        }
        let summary = field.client.finish(None);
        assert_eq!(
            (summary.shards, summary.executed, summary.executed_us, summary.unmade),
            (3, 9, 21, 3)
        );
        assert_eq!((summary.execute_off, summary.execute_trouble, summary.trouble), (None, None, None));
        // Sorted, as the protocol demands.
        let property = |name: &str, value: &str| Property {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let platform = field.server.shelf.lock().unwrap().platform.clone().unwrap();
        assert_eq!(platform.properties, [property("arch", "x86"), property("os", "linux")]);
    }
}

#[test]
fn whatever_goes_wrong_the_work_comes_back_with_one_reason() {
    for (work, reason) in [
        (Work::FailsWithin, "a disk is full (Internal)"),
        (Work::Fails, "a disk is full (Internal)"),
        (Work::Exits(3), "the worker ended with exit code 3"),
        (Work::WritesNothing, "the worker wrote nothing"),
        (Work::Loses, "the output of the worker is missing"),
        (Work::Spoils, "the downloaded output of a worker does not have its digest"),
        (Work::Mumbles, "its answer cannot be read"),
        (Work::SaysNothing, "it did not say what became of the work"),
        (Work::HangsUp, "the call ended before the work did"),
    ] {
        let field = field(work);
        for _ in 0..3 {
            assert!(field.workers.is_open(), "{work:?}");
            assert_eq!(field.workers.work(b"a shard".to_vec(), &Cancel::default()), None, "{work:?}");
            field.workers.note(&ShardOutcome {
                unmade: 1,
                ..ShardOutcome::default()
            });
        }
        // Three failures in a row are enough.
        assert!(!field.workers.is_open(), "{work:?}");
        let summary = field.client.finish(None);
        assert_eq!((summary.execute_off.as_deref(), summary.executed), (Some(reason), 0), "{work:?}");
        assert!(field.client.reads(), "{work:?}: the cache is still there");
    }
}

#[test]
fn a_shard_that_is_made_in_between_starts_the_count_anew() {
    let field = field(Work::Backwards);
    for made in [0, 0, 1, 0, 0] {
        field.workers.note(&ShardOutcome {
            made,
            ..ShardOutcome::default()
        });
        assert!(field.workers.is_open());
    }
    field.workers.note(&ShardOutcome {
        wrong: Some("of other targets".to_owned()),
        ..ShardOutcome::default()
    });
    assert!(!field.workers.is_open());
    assert_eq!(field.client.finish(None).execute_off.as_deref(), Some("of other targets"));
}

#[test]
fn a_client_without_rights_to_execute_asks_once_and_shows_no_token() {
    for (work, reason, asked) in [
        (Work::Refuses, "… may not execute (PermissionDenied)", 1),
        (Work::None, "it says that it executes nothing", 0),
    ] {
        let field = field(work);
        assert_eq!(field.workers.work(b"a shard".to_vec(), &Cancel::default()), None);
        assert!(!field.workers.is_open());
        assert_eq!(field.client.finish(None).execute_off.as_deref(), Some(reason));
        assert_eq!(field.server.calls("execute"), asked);
    }
}

#[test]
fn a_cancelled_shard_waits_no_longer() {
    let field = field(Work::Silent);
    let given_up = Cancel::default();
    given_up.cancel();
    assert_eq!(field.workers.work(b"a shard".to_vec(), &given_up), None);
    let trouble = field.client.finish(None).execute_trouble;
    assert_eq!(trouble.as_deref(), Some("a worker did not answer in time"));
}

#[test]
fn without_a_program_nothing_is_sent() {
    let server = start(sha256());
    let (client, _) = client(def(&server.endpoint()));
    let workers = client.workers(Err("there is none".to_owned()));
    assert!(!workers.is_open());
    assert_eq!(workers.work(b"a shard".to_vec(), &Cancel::default()), None);
    assert_eq!(client.finish(None).execute_off.as_deref(), Some("there is none"));
    assert_eq!(server.calls("execute"), 0);
}
