//! Bundles that continue earlier ones: new results are sent, known ones are kept, and other jobs that warm or remove do no harm.

use super::liar::{Running, sha256, start};
use super::{client, def, offer, offer_after, outputs_of, result, results_of};
use engine::seams::remote::{RemoteCache, SharedResult};
use engine::values::digest::Digest;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type ResultsByNumber = BTreeMap<u32, (SharedResult, Arc<[u8]>)>;

/// Builds results by number; their outputs differ, and some are shared.
fn numbered_results(numbers: impl IntoIterator<Item = u32>) -> ResultsByNumber {
    let one = |number: u32| {
        let (result, blobs) = result(&number.to_string(), &[format!("output {}", number / 2 * 2).as_bytes()]);
        (number, (result, blobs[0].clone()))
    };
    numbers.into_iter().map(one).collect()
}

fn results(made: &ResultsByNumber) -> Vec<SharedResult> {
    made.values().map(|(result, _)| result.clone()).collect()
}

fn warm(server: &Running, names: &[&str], near: &[&str], made: &ResultsByNumber) -> (bool, u64) {
    let (one, _) = client(def(&server.endpoint()));
    let load = |digest: &Digest| {
        made.values()
            .find(|(_, blob)| Digest::of(blob) == *digest)
            .map(|(_, blob)| blob.clone())
    };
    let whole = offer_after(&one, names, near, &results(made), &load);
    (whole, one.finish(None).bytes_up)
}

/// Returns whether a reader of a bundle gets all of these results and outputs.
fn serves(server: &Running, name: &str, made: &ResultsByNumber) -> bool {
    let (other, _) = client(def(&server.endpoint()));
    let found = results_of(&other, name).unwrap_or_default();
    let outputs = outputs_of(&other, name);
    made.values()
        .all(|(result, blob)| found.contains(result) && outputs.get(&Digest::of(blob)) == Some(blob))
}

#[test]
fn only_new_results_are_sent() {
    let server = start(sha256());
    let first = numbered_results(0..3_000);
    let (whole, all) = warm(&server, &["one", "latest"], &[], &first);
    assert!(whole && serves(&server, "one", &first));
    let second = numbered_results((0..3_000).filter(|number| number % 100 != 7).chain(10_000..10_020));
    let (whole, new) = warm(&server, &["two", "latest"], &["latest"], &second);
    assert!(whole && serves(&server, "two", &second) && serves(&server, "latest", &second) && serves(&server, "one", &first));
    assert!(new * 10 < all, "{new} of {all}");
    // Warming again sends only about a pointer.
    let (whole, again) = warm(&server, &["two", "latest"], &["latest"], &second);
    assert!(whole && again <= new, "{again} after {new}");
    // A volume that is mostly unused is not kept.
    let third = numbered_results(0..100);
    assert!(warm(&server, &["three"], &["latest"], &third).0);
    let (other, _) = client(def(&server.endpoint()));
    assert_eq!(results_of(&other, "three").map(|found| found.len()), Some(100));
}

#[test]
fn a_job_with_fewer_patterns_takes_nothing_from_the_bundle_of_its_tree() {
    let server = start(sha256());
    let all = numbered_results(0..3_000);
    assert!(warm(&server, &["one"], &[], &all).0);
    assert!(warm(&server, &["one"], &[], &numbered_results(2_990..3_010)).0);
    assert!(serves(&server, "one", &numbered_results(0..3_010)));
}

#[test]
fn many_small_volumes_are_put_together() {
    let server = start(sha256());
    let volumes = |name: &str| {
        let bundle = client(def(&server.endpoint())).0.find_bundle(&[Digest::of(name.as_bytes())]);
        bundle.map_or(0, |bundle| bundle.volumes.len())
    };
    let mut most = 0;
    for step in 1..40 {
        let now = numbered_results(0..step * 3);
        assert!(warm(&server, &["latest"], &[], &now).0 && serves(&server, "latest", &now));
        most = most.max(volumes("latest"));
    }
    assert!((2..=18).contains(&most), "{most}");
}

/// Part of an earlier job's volumes was removed, by a rule of the storage or by hand.
#[test]
fn results_that_the_cache_lost_are_sent_again() {
    let first = numbered_results(0..3_000);
    for keep in 0..6_u8 {
        let server = start(sha256());
        assert!(warm(&server, &["one"], &[], &first).0);
        server.shelf.lock().unwrap().blobs.retain(|hash, _| hash.as_bytes()[3] % 6 == keep);
        let (other, _) = client(def(&server.endpoint()));
        for found in results_of(&other, "one").unwrap_or_default() {
            assert!(first.values().any(|(result, _)| *result == found));
        }
        assert!(warm(&server, &["two"], &["one"], &first).0 && serves(&server, "two", &first));
    }
}

#[test]
fn an_output_that_is_too_large_is_left_out_and_counted() {
    let server = start(sha256());
    let (one, _) = client(def(&server.endpoint()));
    let large: Arc<[u8]> = vec![0; 128 << 20].into();
    let made = [result("large", &[&large]), result("small", &[b"small"])];
    let load = |digest: &Digest| {
        let blobs = made.iter().flat_map(|(_, blobs)| blobs);
        blobs.into_iter().find(|blob| Digest::of(blob) == *digest).cloned()
    };
    assert!(offer(&one, "tree", &made.clone().map(|(result, _)| result), &load));
    assert_eq!(one.finish(None).too_large, 1);
    let (other, _) = client(def(&server.endpoint()));
    assert_eq!(outputs_of(&other, "tree").into_keys().collect::<Vec<_>>(), [Digest::of(b"small")]);
}

#[test]
fn of_several_names_the_first_that_can_be_read_is_taken() {
    let server = start(sha256());
    let (older, newer) = (numbered_results(0..5), numbered_results(0..9));
    assert!(warm(&server, &["older"], &[], &older).0);
    let blobs = server.shelf.lock().unwrap().blobs.clone();
    assert!(warm(&server, &["newer"], &[], &newer).0);
    let find = |names: &[&str]| {
        let names: Vec<Digest> = names.iter().map(|name| Digest::of(name.as_bytes())).collect();
        client(def(&server.endpoint())).0.find_bundle(&names).map(|bundle| bundle.at)
    };
    assert_eq!(find(&["none", "newer", "older"]), Some(1));
    // The pointer leads to a tree that no longer exists.
    server.shelf.lock().unwrap().blobs = blobs;
    assert_eq!(find(&["none", "newer", "older"]), Some(2));
    assert_eq!(find(&["none", "newer"]), None);
}

#[test]
fn two_jobs_that_warm_at_once_do_no_harm() {
    let server = start(sha256());
    let trees: Vec<ResultsByNumber> = (0..4)
        .map(|job| numbered_results((0..500).filter(|number| number % 7 != job)))
        .collect();
    std::thread::scope(|scope| {
        for (job, tree) in trees.iter().enumerate() {
            let server = &server;
            scope.spawn(move || {
                let name = job.to_string();
                for _ in 0..3 {
                    assert!(warm(server, &[&name, "latest"], &["latest"], tree).0);
                }
            });
        }
    });
    for (job, tree) in trees.iter().enumerate() {
        assert!(serves(&server, &job.to_string(), tree));
    }
    assert!(trees.iter().any(|tree| serves(&server, "latest", tree)));
}

#[test]
fn a_bundle_of_a_newer_form_is_a_miss_that_is_told_once() {
    let server = start(sha256());
    let tree = numbered_results(0..5);
    assert!(warm(&server, &["one"], &[], &tree).0);
    let (other, _) = client(def(&server.endpoint()));
    let newer = crate::piece::compress(&[0xa3, 0, 3, 1, 0, 2, 0x80]);
    let name = Digest::of(b"two");
    let filed = crate::bundling::bundle_result(&name, &newer);
    other.offer(filed, vec![newer.into()]);
    other.finish(None);
    let (reader, _) = client(def(&server.endpoint()));
    assert_eq!(results_of(&reader, "two"), None);
    assert_eq!(reader.finish(None).lies.values().sum::<u64>(), 1);
    assert!(
        warm(&server, &["two"], &["one"], &tree).0 && serves(&server, "two", &tree),
        "whoever warms writes over it"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever the earlier trees were, and whatever was lost: a stored bundle serves all of its tree.
    #[test]
    fn a_bundle_serves_its_tree(trees in vec((btree_set(0_u32..40, 0..40), any::<u8>()), 1..6)) {
        let server = start(sha256());
        for (at, (numbers, lost)) in trees.iter().enumerate() {
            let tree = numbered_results(numbers.iter().copied());
            let name = at.to_string();
            prop_assert!(warm(&server, &[&name, "latest"], &["latest"], &tree).0);
            prop_assert!(serves(&server, &name, &tree));
            let all: BTreeSet<String> = server.shelf.lock().unwrap().blobs.keys().cloned().collect();
            let gone: Vec<&String> = all.iter().filter(|hash| hash.as_bytes()[5] % 16 == lost % 16).collect();
            server.shelf.lock().unwrap().blobs.retain(|hash, _| !gone.contains(&hash));
        }
        prop_assert!(offer(&client(def(&server.endpoint())).0, "none", &[], &|_| None), "of nothing there is a bundle, too");
    }
}
