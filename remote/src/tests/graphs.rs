//! Graphs of bundles: what changed is sent, pieces that are gone or damaged give no graph.

use super::liar::{Habit, Running, sha256, start};
use super::{client, def};
use engine::seams::remote::{BundleOffer, GraphRow, RemoteCache};
use engine::values::digest::Digest;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Contents of a graph: bodies by table and key.
type Rows = BTreeMap<(u8, Vec<u8>), Vec<u8>>;

fn rows_of(graph: &Rows) -> Vec<GraphRow> {
    let row = |((table, key), body): (&(u8, Vec<u8>), &Vec<u8>)| GraphRow {
        table: *table,
        key: key.clone(),
        body: body.clone(),
    };
    graph.iter().map(row).collect()
}

/// Offers a bundle of nothing but a graph, continuing that of `near`; returns whether all of it is there, and the bytes sent.
fn warm(server: &Running, name: &str, near: &str, graph: &Rows) -> (bool, u64) {
    let (one, _) = client(def(&server.endpoint()));
    let whole = one.offer_bundle(&BundleOffer {
        names: &[Digest::of(name.as_bytes())],
        near: &[Digest::of(near.as_bytes())],
        results: &[],
        graph: &rows_of(graph),
        load: &|_| None,
    });
    (whole, one.finish(None).bytes_up)
}

fn graph_at(server: &Running, name: &str) -> Option<Vec<GraphRow>> {
    let (other, _) = client(def(&server.endpoint()));
    let bundle = other.find_bundle(&[Digest::of(name.as_bytes())])?;
    other.read_graph(&bundle.graph?, &|_| true)
}

/// A graph of many rows that do not compress.
fn large() -> Rows {
    let row = |number: u32| {
        let body: Vec<u8> = (0..20_u32)
            .flat_map(|part| Digest::of(&[number.to_le_bytes(), part.to_le_bytes()].concat()).0)
            .collect();
        ((1, number.to_be_bytes().to_vec()), body)
    };
    (0..10_000).map(row).collect()
}

#[test]
fn rows_that_changed_are_sent() {
    let server = start(sha256());
    let mut graph = large();
    let (whole, all) = warm(&server, "one", "none", &graph);
    assert!(whole && all > 6_000_000, "{all}");
    assert_eq!(graph_at(&server, "one"), Some(rows_of(&graph)));
    for number in [7_u32, 7_000] {
        graph.insert((1, number.to_be_bytes().to_vec()), b"changed".to_vec());
    }
    graph.remove(&(1, 9_u32.to_be_bytes().to_vec()));
    let (whole, changed) = warm(&server, "two", "one", &graph);
    assert!(whole && changed < 10_000, "{changed}");
    assert_eq!(graph_at(&server, "two"), Some(rows_of(&graph)));
    // If most rows changed, the job sends the whole graph, so that readers fetch no outdated rows.
    for (_, body) in graph.iter_mut().take(6_000) {
        body.rotate_left(1);
    }
    assert!(warm(&server, "three", "two", &graph).1 > 6_000_000);
    assert_eq!(graph_at(&server, "three"), Some(rows_of(&graph)));
    assert_eq!(graph_at(&server, "none"), None);
}

#[test]
fn a_graph_comes_whole_or_not_at_all() {
    for habit in [Habit::WrongBytes, Habit::CutBytes, Habit::Forgets] {
        let server = start(sha256());
        let graph = large();
        assert!(warm(&server, "one", "none", &graph).0);
        let (other, _) = client(def(&server.endpoint()));
        let bundle = other.find_bundle(&[Digest::of(b"one")]).expect("a bundle");
        server.shelf.lock().unwrap().habit = habit;
        assert_eq!(other.read_graph(&bundle.graph.expect("a graph"), &|_| true), None, "{habit:?}");
        // The next job sends what is gone.
        server.shelf.lock().unwrap().habit = Habit::Honest;
        server.shelf.lock().unwrap().blobs.retain(|hash, _| hash.as_bytes()[2] % 2 == 0);
        assert!(warm(&server, "two", "one", &graph).0);
        assert_eq!(graph_at(&server, "two"), Some(rows_of(&graph)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_graph_is_what_the_last_job_offered(
        graphs in vec(btree_map((0_u8..3, vec(any::<u8>(), 0..2)), vec(any::<u8>(), 0..5), 1..20), 1..8),
    ) {
        let server = start(sha256());
        for graph in &graphs {
            prop_assert!(warm(&server, "latest", "latest", graph).0);
            prop_assert_eq!(graph_at(&server, "latest"), Some(rows_of(graph)));
        }
    }
}
