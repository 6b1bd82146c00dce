//! A folder as a cache: the same guarantees as with a server, while other programs write, cut, change and remove its files.

use super::liar::{sha256, start};
use super::{client, def, lookup_of, noise, offer_after, outputs_of, result, results_of};
use crate::Client;
use engine::manifest::remote::RemoteDef;
use engine::seams::remote::{BlobRef, RemoteCache, SharedResult};
use engine::values::digest::Digest;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn shared(folder: &Path) -> RemoteDef {
    def(&format!("dir:{}", folder.display()))
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect();
    files.sort();
    files
}

/// A way to damage a file: its name, and the function that does it.
type Way<'a> = (&'a str, &'a dyn Fn(&Path));

pub(super) fn some() -> Vec<(SharedResult, Vec<Arc<[u8]>>)> {
    let large = noise(5 << 20);
    let mut made: Vec<_> = (0..50).map(|number| result(&format!("{number}"), &[&noise(number * 11)])).collect();
    made.push(result("large", &[&large, &[b'x'; 100_000], b""]));
    made
}

pub(super) fn fill(client: &Client, made: &[(SharedResult, Vec<Arc<[u8]>>)]) {
    for (result, blobs) in made {
        client.offer(result.clone(), blobs.clone());
    }
    let results: Vec<SharedResult> = made.iter().map(|(result, _)| result.clone()).collect();
    let load = |digest: &Digest| {
        made.iter()
            .flat_map(|(_, blobs)| blobs)
            .find(|blob| Digest::of(blob) == *digest)
            .cloned()
    };
    assert!(offer_after(client, &["tree"], &[], &results, &load));
    client.finish(None);
}

/// Returns whether all of it is found undamaged; asserts that nothing else is.
pub(super) fn is_found(client: &Client, made: &[(SharedResult, Vec<Arc<[u8]>>)]) -> bool {
    let lookups: Vec<_> = made.iter().map(|(result, _)| lookup_of(result)).collect();
    let mut all = true;
    for (found, (result, blobs)) in client.find(&lookups).into_iter().zip(made) {
        all &= found.is_some();
        assert!(found.is_none_or(|found| found == *result));
        let blob_refs: Vec<BlobRef> = result.outputs.iter().map(|output| output.blob).collect();
        for (came, blob) in client.fetch(&blob_refs).into_iter().zip(blobs) {
            all &= came.is_some();
            assert!(came.is_none_or(|came| came == *blob));
        }
    }
    let found = results_of(client, "tree").unwrap_or_default();
    assert!(found.iter().all(|found| made.iter().any(|(result, _)| result == found)));
    let outputs = outputs_of(client, "tree");
    let blobs: Vec<&Arc<[u8]>> = made.iter().flat_map(|(_, blobs)| blobs).collect();
    assert!(outputs.values().all(|output| blobs.contains(&output)));
    all && found.len() == made.len() && blobs.iter().all(|blob| outputs.contains_key(&Digest::of(blob)))
}

#[test]
fn results_stored_by_one_machine_are_found_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let made = some();
    let path = folder.path().join("cache");
    let (one, _) = client(shared(&path));
    fill(&one, &made);
    let summary = one.finish(None);
    assert_eq!((summary.stored, summary.not_stored, summary.trouble), (52, 0, None));
    let (other, _) = client(shared(&path));
    assert!(is_found(&other, &made));
    let summary = other.finish(None);
    assert_eq!(
        (summary.hits, summary.misses, summary.lies.len(), summary.broken.len()),
        (53, 0, 0, 0)
    );
    assert!(other.ping().is_ok_and(|ping| ping.terms.takes_results && !ping.terms.executes));
    // Clients with another instance or another salt see none of it.
    let apart = RemoteDef {
        instance: "a/b".to_owned(),
        ..shared(&path)
    };
    assert!(!is_found(&client(apart).0, &made));
    assert!(!is_found(
        &client(RemoteDef {
            salt: "2".to_owned(),
            ..shared(&path)
        })
        .0,
        &made
    ));
    // Existing files are not written again.
    let before: Vec<_> = files(&path)
        .iter()
        .map(|file| (file.clone(), fs::metadata(file).unwrap().modified().unwrap()))
        .collect();
    let (again, _) = client(shared(&path));
    fill(&again, &made);
    assert_eq!(again.finish(None).blobs_up, 0);
    let blobs = before
        .iter()
        .filter(|(file, _)| file.components().any(|part| part.as_os_str() == "blobs"));
    for (file, moment) in blobs {
        assert_eq!(fs::metadata(file).unwrap().modified().unwrap(), *moment, "{file:?}");
    }
}

#[test]
fn whatever_becomes_of_its_files_nothing_wrong_is_found_and_a_writer_mends_it() {
    let made = some();
    let ways: [Way<'_>; 6] = [
        ("cut", &|file| fs::write(file, &fs::read(file).unwrap()[1..]).unwrap()),
        ("empty", &|file| fs::write(file, b"").unwrap()),
        ("longer", &|file| {
            fs::write(file, [&fs::read(file).unwrap()[..], b"x"].concat()).unwrap()
        }),
        ("changed", &|file| {
            let mut bytes = fs::read(file).unwrap();
            bytes.iter_mut().for_each(|byte| *byte ^= 1);
            fs::write(file, bytes).unwrap();
        }),
        ("gone", &|file| fs::remove_file(file).unwrap()),
        ("a link", &|file| {
            fs::remove_file(file).unwrap();
            symlink("/etc/passwd", file).unwrap();
        }),
    ];
    for (way, spoil) in ways {
        for part in 0..3 {
            let folder = tempfile::tempdir().unwrap();
            fill(&client(shared(folder.path())).0, &made);
            let spoiled = files(folder.path()).into_iter().enumerate().filter(|(at, _)| at % 3 == part);
            spoiled.for_each(|(_, file)| spoil(&file));
            let (reader, _) = client(shared(folder.path()));
            assert!(!is_found(&reader, &made), "{way}");
            assert_eq!(reader.finish(None).reads_off, None, "{way}");
            let (writer, _) = client(shared(folder.path()));
            is_found(&writer, &made);
            fill(&writer, &made);
            assert!(writer.finish(None).broken.is_empty(), "{way}");
            assert!(is_found(&client(shared(folder.path())).0, &made), "{way} {part}");
        }
    }
}

#[test]
fn parallel_writers_leave_whole_files() {
    let folder = tempfile::tempdir().unwrap();
    let made = some();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| fill(&client(shared(folder.path())).0, &made));
        }
    });
    assert!(is_found(&client(shared(folder.path())).0, &made));
    let left = files(folder.path())
        .into_iter()
        .filter(|file| file.file_name().unwrap().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0, "no temporary file is left");
}

#[test]
fn a_folder_that_cannot_be_used_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let (made, blobs) = result("a", &[b"abc"]);
    let refused = |def: RemoteDef, writes: bool| {
        let usage = crate::CacheUse { read: true, write: writes };
        let client = Client::new(def, usage, super::around(std::time::Duration::from_secs(5))).unwrap();
        assert_eq!(client.find(&[lookup_of(&made)]), [None]);
        client.offer(made.clone(), blobs.clone());
        client.finish(None)
    };
    let missing = refused(shared(&folder.path().join("none")), false);
    assert!(
        missing.reads_off.is_some_and(|why| why.ends_with("none does not exist")),
        "it is not made to be read"
    );
    assert!(
        refused(shared(&folder.path().join("none/deep")), true)
            .reads_off
            .is_some_and(|why| why.ends_with("none does not exist"))
    );
    fs::write(folder.path().join("file"), b"").unwrap();
    assert!(
        refused(shared(&folder.path().join("file")), true)
            .reads_off
            .is_some_and(|why| why.contains("a file"))
    );
    let climbing = RemoteDef {
        instance: "../up".to_owned(),
        ..shared(folder.path())
    };
    assert!(refused(climbing, true).reads_off.is_some_and(|why| why.contains("instance")));
    // After a lasting write error, nothing more is written.
    let path = folder.path().join("full");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("blobs"), b"no folder").unwrap();
    let summary = refused(shared(&path), true);
    assert_eq!((summary.stored, summary.not_stored), (0, 1), "{summary:?}");
    assert!(summary.writes_off.is_some() || summary.trouble.is_some());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn addresses_of_one_cache_are_not_requested_from_another() {
    let (folder, server) = (tempfile::tempdir().unwrap(), start(sha256()));
    let made = some();
    fill(&client(shared(folder.path())).0, &made);
    let (one, _) = client(shared(folder.path()));
    let bundle = one.find_bundle(&[Digest::of(b"tree")]).unwrap();
    let addresses: Vec<&[u8]> = bundle.volumes.iter().map(|volume| &volume.address[..]).collect();
    // An address of one cache is unknown to another, which does not request it.
    let (other, _) = client(def(&server.endpoint()));
    assert!(other.read_volumes(&addresses).iter().all(Option::is_none));
    assert!(other.read_outputs(&addresses).iter().all(Vec::is_empty));
    assert!(other.finish(None).lies.is_empty());
    let other_folder = tempfile::tempdir().unwrap();
    let (empty, _) = client(shared(other_folder.path()));
    assert!(empty.read_outputs(&addresses).iter().all(Vec::is_empty));
    assert!(empty.finish(None).lies.is_empty());
}
