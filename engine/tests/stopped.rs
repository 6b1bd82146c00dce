//! Builds stopped at any moment: finished results are kept, nothing is checked twice, and the next build has the results of a clean one.

use crate::toys::bench::{Bench, How};
use crate::toys::shelf::Shelf;
use engine::build::finish::{Finish, OutputToFinish};
use engine::build::query::NodeStatus;
use engine::seams::producer::Cancel;
use engine::seams::world::{ExportOutcome, Exports, RowEdits, Rows, SetDef, Sources, Watched, World, WorldError};
use engine::values::digest::Digest;
use engine::values::event::{Event, Observer, Silent};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Documents, a table of them with targets over its rows, and output files.
const GRAPH: &str = r#"
[producer.clean]
uses = "strip"
[producer.index]
uses = "table"
[producer.links]
uses = "links"
[producer.row]
uses = "concat"
[producer.slow]
uses = "slow"

[[rule]]
target = "//doc/{d}:clean"
each = { d = "glob:docs/*.txt" }
producer = "clean"
inputs = { own = "//files/{d}:bytes" }
out = "{d}.clean"
[[rule]]
target = "//doc/{d}:mentions"
each = { d = "glob:docs/*.txt" }
producer = "links"
inputs = { own = "//doc/{d}:clean" }
[[rule]]
target = "//index:names"
producer = "index"
inputs = { all = { each = "glob:docs/*.txt", target = "//doc/{item}:clean" } }
out = "names"
[[rule]]
target = "//name/{n}:row"
each = { n = "//index:names" }
producer = "slow"
inputs = { row = { table = "//index:names", each = ["{n}"] } }
out = "names/{n}"
[[rule]]
target = "//doc/{d}:deps"
each = { d = "glob:docs/*.txt" }
producer = "row"
inputs = { rows = { table = "//index:names", each = "//doc/{d}:mentions" } }
"#;

fn begun(docs: usize) -> Bench {
    let mut bench = Bench::new(GRAPH);
    bench.jobs = 1;
    for doc in 0..docs {
        let next = (doc + 1) % docs;
        bench.put(&format!("docs/d{doc}.txt"), &format!("# {doc}\nn{doc}=v{doc}\n@n{next}\n"));
    }
    bench
}

/// Changes a document, adds one and deletes one.
fn edit(bench: &Bench) {
    bench.put("docs/d0.txt", "n0=other\n@n1\n");
    bench.put("docs/e.txt", "e=1\n@n0\n");
    bench.world.delete("docs/d2.txt");
}

#[test]
fn a_stopped_and_continued_build_equals_a_clean_build() {
    let clean = begun(4);
    edit(&clean);
    let expected = (clean.build(&["//..."]).outputs(), clean.world.outputs());
    for (from_nothing, settled) in [(false, usize::MAX), (false, 0), (true, usize::MAX), (true, 0)] {
        let mut look = 1 + u64::from(from_nothing);
        loop {
            let bench = begun(4);
            if !from_nothing {
                bench.build(&["//..."]);
            }
            edit(&bench);
            let stopped = bench.build_until(&["//..."], &Silent, &Cancel::after_checks(look), settled);
            let case = format!("stopped at look {look}, {settled} nodes settled, from nothing: {from_nothing}");
            assert!(stopped.refused.is_empty() && stopped.failures.is_empty(), "{case}: {stopped:?}");
            assert_eq!(bench.known(&["//..."]).is_some(), !stopped.cancelled, "{case}");
            let goes_on = bench.build(&["//..."]);
            assert!(goes_on.report.failures.is_empty(), "{case}: {goes_on:?}");
            assert_eq!((goes_on.outputs(), bench.world.outputs()), expected, "{case}");
            assert!(bench.known(&["//..."]).is_some(), "{case}");
            if !stopped.cancelled {
                assert!(look > 40, "it heeds a stop in many places, not in {look}");
                break;
            }
            look += if look < 60 { 2 } else { 11 };
        }
    }
}

/// Stops after so many events, and records the number of reads by then.
struct StopAfter<'a> {
    events: AtomicUsize,
    most: usize,
    cancel: Cancel,
    shelf: &'a Shelf,
    reads: AtomicUsize,
}

impl Observer for StopAfter<'_> {
    fn event(&self, event: &Event<'_>) {
        if matches!(event, Event::Ran { .. }) && self.events.fetch_add(1, Ordering::Relaxed) + 1 == self.most {
            self.reads.store(self.shelf.reads(), Ordering::Relaxed);
            self.cancel.cancel();
        }
    }
}

#[test]
fn a_stopped_build_reads_little_more() {
    let reads_after = |docs: usize, warm: bool| {
        let mut bench = begun(docs);
        if warm {
            bench.build(&["//..."]);
            // Everything has to be planned again.
            bench.redefine(&format!("{GRAPH}\n[producer.more]\nuses = \"concat\"\n"));
            for doc in 0..docs {
                bench.put(&format!("docs/d{doc}.txt"), &format!("n{doc}=w{doc}\n"));
            }
        }
        let stop = StopAfter {
            events: AtomicUsize::new(0),
            most: 20,
            cancel: Cancel::default(),
            shelf: &bench.store,
            reads: AtomicUsize::new(0),
        };
        let report = bench.build_until(&["//..."], &stop, &stop.cancel, 100);
        assert!(report.cancelled && report.left > 0, "{report:?}");
        bench.store.reads() - stop.reads.load(Ordering::Relaxed)
    };
    for warm in [false, true] {
        let (few, many) = (reads_after(60, warm), reads_after(1_200, warm));
        assert!(
            many <= few.max(40),
            "{few} reads of 60 documents, {many} of 1,200; built before: {warm}"
        );
    }
}

#[test]
fn a_session_continues_after_a_stop_that_committed_only_results() {
    let clean = begun(6);
    let expected = clean.build(&["//..."]).outputs();
    let bench = begun(6);
    let mut session = bench.session();
    let mut request = bench.request(&["//..."], &How::default());
    request.options.settled_on_stop = 0;
    let stopped = session.build(&request, &Silent, &Cancel::after_checks(60)).expect("a report");
    assert!(stopped.cancelled && stopped.tally.ran > 0, "{stopped:?}");
    let built = session.build(&request, &Silent, &Cancel::default()).expect("a report");
    assert_eq!(built.roots.len(), built.outputs.len());
    assert!(built.tally.cached >= stopped.tally.ran, "what had finished was kept: {built:?}");
    assert_eq!(bench.build(&["//..."]).outputs(), expected);
}

/// Output files that show the states of other targets; the build is killed while one is written.
struct Shown {
    dies: bool,
}

impl Finish for Shown {
    fn labels(&self) -> &[&str] {
        &["//index:names"]
    }

    fn shows(&self, label: &str) -> bool {
        label == "//doc/docs/d0.txt:deps"
    }

    fn name_sources(&self) -> &[&str] {
        &["//doc/docs/d1.txt:clean"]
    }

    fn finish(&self, output: &OutputToFinish<'_>, states: &mut dyn FnMut(&[String]) -> Vec<NodeStatus>) -> Option<Vec<u8>> {
        assert!(!self.dies, "killed after the commit");
        let state = states(&["//doc/docs/d0.txt:deps".to_owned()]);
        Some([output.blob, format!("{state:?}").as_bytes()].concat())
    }
}

#[test]
fn the_next_command_lays_out_the_files_of_a_killed_build() {
    let mut bench = begun(3);
    bench.finish = Arc::new(Shown { dies: false });
    bench.build(&["//..."]);
    let shown = bench.world.outputs()["names"].clone();
    bench.session().finish_names().expect("a store");
    assert!(bench.known(&["//..."]).is_some());
    bench.put("docs/d0.txt", "n0=other\n");
    bench.finish = Arc::new(Shown { dies: true });
    let killed = catch_unwind(AssertUnwindSafe(|| bench.build(&["//..."])));
    assert!(killed.is_err(), "it died between the commit and the file");
    bench.finish = Arc::new(Shown { dies: false });
    assert_eq!(bench.world.outputs()["names"], shown, "the file is as before");
    assert!(bench.known(&["//..."]).is_none(), "not all is up to date");
    let part = bench.build(&["//doc/docs/d1.txt:clean"]);
    assert_eq!((part.ran().len(), part.report.written), (0, 1), "any build finishes it: {part:?}");
    let clean = Bench {
        finish: bench.finish.clone(),
        ..begun(3)
    };
    clean.put("docs/d0.txt", "n0=other\n");
    clean.build(&["//..."]);
    assert_eq!(bench.world.outputs(), clean.world.outputs());
    assert!(bench.known(&["//..."]).is_some(), "now it is");
}

#[test]
fn a_file_with_states_is_left_alone_if_no_change_reaches_it_or_them() {
    let mut bench = begun(3);
    bench.finish = Arc::new(Shown { dies: false });
    bench.build(&["//..."]);
    let shown = bench.world.outputs()["names"].clone();
    bench.finish = Arc::new(Shown { dies: true });
    bench.put("docs/d0.txt", "# another comment\nn0=v0\n@n1\n");
    assert_eq!(bench.build(&["//..."]).ran(), ["//doc/docs/d0.txt:clean"]);
    assert_eq!(bench.world.outputs()["names"], shown);
    bench.finish = Arc::new(Shown { dies: false });
    bench.world.tamper("names", Some(b"other".to_vec()));
    bench.put("docs/d0.txt", "# one more\nn0=v0\n@n1\n");
    assert_eq!(bench.build(&["//..."]).ran(), ["//doc/docs/d0.txt:clean"]);
    assert_eq!(bench.world.outputs()["names"], shown, "a changed file is written again");
}

/// Records the labels whose state may differ from the one in the last file, if that is given.
#[derive(Default)]
struct Recorded(Mutex<Vec<Option<Vec<String>>>>);

impl Finish for Recorded {
    fn labels(&self) -> &[&str] {
        &["//index:names"]
    }

    fn shows(&self, label: &str) -> bool {
        label.ends_with(":deps")
    }

    fn finish(&self, output: &OutputToFinish<'_>, _: &mut dyn FnMut(&[String]) -> Vec<NodeStatus>) -> Option<Vec<u8>> {
        let changed = output.last.as_ref().map(|last| {
            assert!(last.bytes.ends_with(b"!"), "as written before");
            last.changed.iter().map(ToString::to_string).collect()
        });
        self.0.lock().expect("no panic").push(changed);
        Some([output.blob, b"!"].concat())
    }
}

#[test]
fn a_file_with_states_is_completed_from_the_last_one() {
    let mut bench = begun(3);
    let recorded = Arc::new(Recorded::default());
    bench.finish = recorded.clone();
    let take = || std::mem::take(&mut *recorded.0.lock().expect("no panic"));
    bench.build(&["//..."]);
    assert_eq!(take(), [None], "there was none");
    bench.put("docs/d0.txt", "n0=other\n");
    bench.build(&["//..."]);
    assert_eq!(take(), [Some(vec![])]);
    bench.put("docs/d3.txt", "n3=v3\n");
    bench.build(&["//..."]);
    assert_eq!(take(), [Some(vec!["//doc/docs/d3.txt:deps".to_owned()])]);
    bench.world.tamper("names", Some(b"other".to_vec()));
    bench.put("docs/d0.txt", "n0=again\n");
    bench.build(&["//..."]);
    assert_eq!(take(), [None], "the file is another one");
    bench.put("docs/d0.txt", "n0=more\n");
    bench.build(&["//doc/docs/d0.txt:clean"]);
    assert!(take().is_empty(), "the index may be stale");
    bench.build(&["//..."]);
    assert_eq!(take(), [None], "other builds were between");
}

#[test]
fn files_with_states_are_rewritten_only_for_changed_states() {
    let mut bench = begun(3);
    bench.finish = Arc::new(Shown { dies: false });
    let shown = |bench: &Bench| String::from_utf8_lossy(&bench.world.outputs()["names"]).into_owned();
    bench.build(&["//index:names"]);
    assert!(shown(&bench).contains("None"), "{}", shown(&bench));
    bench.finish = Arc::new(Shown { dies: true });
    let other = bench.build(&["//doc/docs/d1.txt:deps"]);
    assert_eq!(other.ran().len(), 2, "it ran, and the file was not looked at: {other:?}");
    bench.finish = Arc::new(Shown { dies: false });
    let own = bench.build(&["//doc/docs/d0.txt:deps"]);
    assert_eq!((own.report.written, shown(&bench).contains("Current")), (1, true), "{own:?}");
    bench.put("docs/d0.txt", "n0=other\n@n2\n");
    bench.build(&["//index:names"]);
    assert!(!shown(&bench).contains("Current"), "it is stale: {}", shown(&bench));
    bench.build(&["//doc/docs/d0.txt:deps"]);
    assert!(shown(&bench).contains("Current"), "{}", shown(&bench));
    // It turns stale, and current again, without another output of anything.
    let mut session = bench.session();
    let mentions = session.graph.find("//doc/docs/d0.txt:mentions").expect("a node");
    let patterns = bench.request(&["//doc/docs/d0.txt:mentions"], &How::default()).patterns;
    session.invalidate(&patterns, &[mentions]).expect("a store");
    drop(session);
    bench.build(&["//doc/docs/d2.txt:deps"]);
    assert!(!shown(&bench).contains("Current"), "{}", shown(&bench));
    bench.build(&["//doc/docs/d0.txt:deps"]);
    assert!(shown(&bench).contains("Current"), "{}", shown(&bench));
}

/// An output file about a document, and about the documents that it names.
const CHOSEN: &str = r#"
[producer.clean]
uses = "strip"
[producer.links]
uses = "links"
[producer.names]
uses = "concat"

[[rule]]
target = "//doc/{d}:clean"
each = { d = "glob:docs/*" }
producer = "clean"
inputs = { own = "//files/{d}:bytes" }
[[rule]]
target = "//doc/{d}:links"
each = { d = "glob:docs/*" }
producer = "links"
inputs = { own = "//doc/{d}:clean" }
[[rule]]
target = "//index:names"
producer = "names"
inputs = { own = "//doc/docs/a:clean", more = { each = "//doc/docs/a:links", target = "//doc/{item}:clean" } }
out = "names"
"#;

/// Its earlier input is stale and no longer an input.
#[test]
fn files_with_states_are_written_despite_stale_inputs() {
    let bench = || Bench {
        finish: Arc::new(Shown { dies: false }),
        ..Bench::new(CHOSEN)
    };
    let put = |bench: &Bench, named: &str, b: &str| {
        for (file, text) in [("a", format!("@docs/{named}\n")), ("b", format!("{b}\n")), ("c", "c\n".to_owned())] {
            bench.put(&format!("docs/{file}"), &text);
        }
    };
    let built = bench();
    put(&built, "b", "b");
    built.build(&["//index:names"]);
    put(&built, "c", "other");
    built.build(&["//index:names"]);
    let clean = bench();
    put(&clean, "c", "other");
    clean.build(&["//index:names"]);
    assert_eq!(built.world.outputs(), clean.world.outputs());
}

#[test]
fn consequences_of_names_stay_pending_until_marked_done() {
    let mut bench = begun(3);
    bench.finish = Arc::new(Shown { dies: false });
    bench.build(&["//..."]);
    assert!(bench.known(&["//..."]).is_none(), "names moved, and nobody followed them");
    bench.build(&["//..."]);
    assert!(bench.known(&["//..."]).is_none());
    bench.session().finish_names().expect("a store");
    assert!(bench.known(&["//..."]).is_some());
    bench.put("docs/d0.txt", "n0=other\n");
    bench.build(&["//..."]);
    assert!(bench.known(&["//..."]).is_some(), "no name moved");
    bench.put("docs/d1.txt", "n1=other\n");
    bench.build(&["//..."]);
    assert!(bench.known(&["//..."]).is_none());
}

#[test]
fn unwritable_files_with_states_are_retried_by_every_build() {
    let mut bench = begun(3);
    bench.finish = Arc::new(Shown { dies: false });
    bench.build(&["//..."]);
    bench.build(&["//doc/...:deps"]);
    bench.session().finish_names().expect("a store");
    bench.put("docs/d0.txt", "n0=other\n");
    bench.world.fail_writes("names", true);
    assert!(!bench.build(&["//..."]).report.failures.is_empty());
    assert!(
        !bench.build(&["//doc/...:deps"]).report.failures.is_empty(),
        "another request tells of it, too"
    );
    bench.world.fail_writes("names", false);
    assert!(bench.known(&["//doc/...:deps"]).is_none() && bench.known(&["//..."]).is_none());
    assert!(bench.build(&["//doc/...:deps"]).report.failures.is_empty());
    assert!(bench.build(&["//..."]).report.failures.is_empty());
    assert!(bench.known(&["//doc/...:deps"]).is_some() && bench.known(&["//..."]).is_some());
}

/// A watched world, with the number of checked output files.
struct WatchedWorld {
    below: engine::files::memory::MemoryWorld,
    outputs_changed: AtomicBool,
    looks: Arc<AtomicUsize>,
}

struct CountedExports {
    below: Box<dyn Exports>,
    looks: Arc<AtomicUsize>,
}

impl World for WatchedWorld {
    fn now_nanos(&self) -> i64 {
        self.below.now_nanos()
    }

    fn watched(&self, _: &[SetDef], since: Option<&[u8]>) -> Option<Watched> {
        Some(Watched {
            token: b"now".to_vec(),
            changed: None,
            outputs_changed: since.is_none() || self.outputs_changed.load(Ordering::Relaxed),
        })
    }

    fn sources(&self, rows: Rows) -> Box<dyn Sources> {
        self.below.sources(rows)
    }

    fn exports(&self, rows: Rows) -> Box<dyn Exports> {
        Box::new(CountedExports {
            below: self.below.exports(rows),
            looks: self.looks.clone(),
        })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, WorldError> {
        self.below.read(path)
    }
}

impl Exports for CountedExports {
    fn verify(&self, nodes: &[u32]) -> Vec<u32> {
        self.looks.fetch_add(nodes.len(), Ordering::Relaxed);
        self.below.verify(nodes)
    }

    fn write(&self, node: u32, path: &str, digest: Digest, bytes: &[u8]) -> Result<ExportOutcome, WorldError> {
        self.below.write(node, path, digest, bytes)
    }

    fn remove(&self, node: u32) -> Result<(), WorldError> {
        self.below.remove(node)
    }

    fn path(&self, node: u32) -> Option<String> {
        self.below.path(node)
    }

    fn digest(&self, node: u32) -> Option<Digest> {
        self.below.digest(node)
    }

    fn take_dirty_rows(&self) -> RowEdits {
        self.below.take_dirty_rows()
    }
}

#[test]
fn watched_files_of_unchanged_outputs_are_not_checked() {
    let mut bench = begun(30);
    let looks = Arc::new(AtomicUsize::new(0));
    let watched = Arc::new(WatchedWorld {
        below: bench.world.clone(),
        outputs_changed: AtomicBool::new(false),
        looks: looks.clone(),
    });
    bench.other_world = Some(watched.clone());
    bench.build(&["//..."]);
    bench.put("docs/d3.txt", "n3=v3\n@n5\n");
    looks.store(0, Ordering::Relaxed);
    assert!(bench.build(&["//..."]).report.written > 0);
    assert!(looks.load(Ordering::Relaxed) < 10, "{looks:?} of over 60 files were looked at");
    watched.outputs_changed.store(true, Ordering::Relaxed);
    bench.world.tamper("docs/d7.txt.clean", None);
    bench.put("docs/d3.txt", "n3=v3\n@n6\n");
    looks.store(0, Ordering::Relaxed);
    bench.build(&["//..."]);
    assert!(looks.load(Ordering::Relaxed) > 50, "{looks:?}");
    assert!(
        bench.world.outputs().contains_key("docs/d7.txt.clean"),
        "{:?}",
        bench.world.outputs().keys()
    );
}
