//! Graphs of other machines: a checkout that continues from one, whatever is wrong with it, has the outputs of a build from nothing.

use super::machines::{MANIFEST, UNREAD, machine, machine_of, warm};
use crate::toys::bench::Bench;
use crate::toys::board::{Board, Pen};
use engine::seams::remote::GraphRow;
use engine::store::Store;

/// The graph comes from elsewhere: whatever is wrong with it, outputs are those of a build from nothing.
#[test]
fn a_damaged_graph_of_another_machine_costs_time_only() {
    let pen = Pen::default();
    let patterns = ["//...", "-//all:summary"];
    let edited = |machine: Bench| {
        machine.put("2.txt", "@other\nmoved\n");
        machine
    };
    let clean = edited(machine(None, &pen)).build(&patterns).outputs();
    let board = Board::default();
    warm(&machine(Some(&board), &pen), &board);
    let graphs = board.pinned().graphs.clone();
    let rows = graphs.values().map(Vec::len).max().unwrap_or_default();
    assert!(rows >= 4, "a head and three tables");
    let damages: [fn(&mut Vec<GraphRow>, usize); 4] = [
        |graph, row| drop(graph.remove(row)),
        |graph, row| graph[row].body.clear(),
        |graph, row| {
            let body = &mut graph[row].body;
            body.truncate(body.len() / 2);
        },
        // In a row of nodes this is the end of the last one's output.
        |graph, row| graph[row].body.last_mut().into_iter().for_each(|byte| *byte ^= 1),
    ];
    for row in 0..rows {
        for (number, damage) in damages.iter().enumerate() {
            let damaged = graphs.iter().map(|(name, graph)| {
                let mut graph = graph.clone();
                damage(&mut graph, row);
                (*name, graph)
            });
            board.pinned().graphs = damaged.collect();
            let built = edited(machine(Some(&board), &pen)).build(&patterns);
            assert_eq!(
                (built.outputs(), built.failures()),
                (clean.clone(), vec![]),
                "row {row}, damage {number}"
            );
        }
    }
}

/// Another version of a producer, or another rule, has another graph.
#[test]
fn a_graph_of_other_rules_is_not_used() {
    let (board, pen) = (Board::default(), Pen::default());
    warm(&machine(Some(&board), &pen), &board);
    let text = MANIFEST.replace("[\"*.txt\"]", "[\"*.txt\", \"*.md\"]");
    let (other, plain) = (machine_of(&text, Some(&board), &pen), machine_of(&text, None, &pen));
    let built = other.build(&["//...", "-//all:summary"]);
    assert!(
        built.report.tally.cached > 0 && built.report.brought.is_near,
        "{:?}",
        built.report.tally
    );
    assert_eq!(built.outputs(), plain.build(&["//...", "-//all:summary"]).outputs());
}

/// A result that a bundle cannot have (corrected by a person, made by an unconfined program) is made here, whatever the graph says.
#[test]
fn a_graph_proves_no_missing_result() {
    let (board, pen) = (Board::default(), Pen::default());
    let text = MANIFEST.replace("{ uses = \"press\" }", "{ uses = \"loose\" }");
    warm(&machine_of(&text, Some(&board), &pen), &board);
    let other = machine_of(&text, Some(&board), &pen);
    assert_eq!(other.build_as(&["//all:folder"], &UNREAD).ran(), ["//all:folder"]);
    // History begins with what came.
    let label = "//lines/0.txt:strip";
    assert_eq!(other.store.history(other.engine().view, label).expect("a store").len(), 1);
}
