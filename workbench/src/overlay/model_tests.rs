//! Compares overlays with a naive model: any sequence of opening, putting, dropping, patching, merging, discarding, edits of the workspace and kills
//! on a real disk gives the documents and files of the model, and no overlay shows the documents of another.

use super::build::documents;
use super::merge::merge;
use super::patch::apply;
use super::put::{Put, write_document, write_over};
use super::record::{discard, open_or_continue};
use crate::code_text::merge::{AdjacentChanges, join};
use crate::edit::files::Files;
use crate::edit::overlay_record::list_overlays;
use crate::edit::perform::recover;
use crate::edit::test_folder::Real;
use crate::kill_points;
use engine::values::digest::Digest;
use proptest::prelude::*;
use std::collections::BTreeMap;

const PATHS: [&str; 4] = ["a.cs", "b.cs", "src/c.cs", "src/d.cs"];
const NAMES: [&str; 3] = ["one", "two", "three"];

type Text = Option<String>;

#[derive(Clone, Debug)]
enum Step {
    Open(usize),
    /// Puts a text; the flag tells whether its base is the present file.
    Put(usize, usize, Text, bool),
    Drop(usize, usize),
    /// Puts a line before the first one by a patch.
    Patch(usize, usize, String),
    Edit(usize, Text),
    Merge(usize),
    Discard(usize),
}

fn text() -> impl Strategy<Value = Text> {
    // Distinct lines at each position, so that some merges are clean.
    let line = |names: &'static str| prop::sample::select(vec![format!("{names}\n"), format!("{names}!\n"), String::new()]);
    let lines = (line("first"), line("second"), line("third"), line("fourth"));
    let text = lines.prop_map(|(a, b, c, d)| format!("{a}-\n{b}-\n{c}-\n{d}"));
    prop::option::weighted(0.85, text)
}

fn any_step() -> impl Strategy<Value = Step> {
    let (name, path) = (0..NAMES.len(), 0..PATHS.len());
    prop_oneof![
        2 => name.clone().prop_map(Step::Open),
        6 => (name.clone(), path.clone(), text(), any::<bool>()).prop_map(|(name, path, text, onto)| Step::Put(name, path, text, onto)),
        1 => (name.clone(), path.clone()).prop_map(|(name, path)| Step::Drop(name, path)),
        2 => (name.clone(), path.clone(), "[xyz]{1,3}").prop_map(|(name, path, line)| Step::Patch(name, path, line)),
        3 => (path, text()).prop_map(|(path, text)| Step::Edit(path, text)),
        2 => name.clone().prop_map(Step::Merge),
        1 => name.prop_map(Step::Discard),
    ]
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    files: BTreeMap<String, String>,
    overlays: BTreeMap<String, BTreeMap<String, (Text, Text)>>,
    /// The files when each was opened.
    opened: BTreeMap<String, BTreeMap<String, Digest>>,
}

fn joined(base: &str, ours: &str, theirs: &str) -> Option<String> {
    join(base, ours, theirs, AdjacentChanges::Conflict).ok().map(|joined| joined.text)
}

fn digest(text: &String) -> Digest {
    Digest::of(text.as_bytes())
}

/// The base of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Opening,
    Shown,
    Now,
}

impl Model {
    /// Returns the text of a path in an overlay.
    fn text_in_overlay(&self, name: &str, path: &str) -> Text {
        let document = self.overlays.get(name).and_then(|documents| documents.get(path));
        document.map_or_else(|| self.files.get(path).cloned(), |(_, now)| now.clone())
    }

    fn set(&mut self, path: &str, text: &Text) {
        match text {
            Some(text) => drop(self.files.insert(path.to_owned(), text.clone())),
            None => drop(self.files.remove(path)),
        }
    }

    /// Puts a document. Returns whether that is possible.
    fn put_document(&mut self, name: &str, path: &str, now: &Text, of: Of) -> bool {
        let file = self.files.get(path).cloned();
        let Some(documents) = self.overlays.get_mut(name) else {
            return false;
        };
        let known = documents.get(path).cloned().filter(|_| of != Of::Now);
        let is_unmoved = known.is_some() || of != Of::Opening || self.opened[name].get(path) == file.as_ref().map(digest).as_ref();
        let base = known.as_ref().map_or(file, |(base, _)| base.clone());
        let is_there = documents.get(path).is_some_and(|(_, now)| now.is_some());
        if !is_unmoved || now.is_none() && base.is_none() && !is_there {
            return false;
        }
        match (&base, now) {
            (None, None) => drop(documents.remove(path)),
            _ => drop(documents.insert(path.to_owned(), (base, now.clone()))),
        }
        true
    }

    /// Returns the files after a merge; `None` where it conflicts.
    fn merged(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let mut files = self.files.clone();
        for (path, (base, ours)) in &self.overlays[name] {
            let theirs = files.get(path).cloned();
            let becomes = match () {
                () if ours == base || theirs == *ours => theirs,
                () if theirs == *base => ours.clone(),
                () => Some(joined(base.as_ref()?, ours.as_ref()?, &theirs?)?),
            };
            match becomes {
                Some(text) => drop(files.insert(path.clone(), text)),
                None => drop(files.remove(path)),
            }
        }
        Some(files)
    }

    fn end_overlay(&mut self, name: &str) -> bool {
        self.opened.remove(name);
        self.overlays.remove(name).is_some()
    }

    /// Returns the model after a step, and whether the step is possible.
    fn apply_step(&self, step: &Step) -> (Self, bool) {
        let mut next = self.clone();
        let done = match step {
            Step::Open(name) => {
                let name = NAMES[*name].to_owned();
                let files = self.files.iter().map(|(path, text)| (path.clone(), digest(text)));
                next.opened.entry(name.clone()).or_insert_with(|| files.collect());
                next.overlays.entry(name).or_default();
                true
            }
            Step::Put(name, path, text, onto_now) => {
                let of = if *onto_now { Of::Now } else { Of::Opening };
                next.put_document(NAMES[*name], PATHS[*path], text, of)
            }
            Step::Drop(name, path) => match next.overlays.get_mut(NAMES[*name]) {
                Some(documents) => {
                    documents.remove(PATHS[*path]);
                    true
                }
                None => false,
            },
            Step::Patch(name, path, line) => match next.text_in_overlay(NAMES[*name], PATHS[*path]) {
                Some(text) => next.put_document(NAMES[*name], PATHS[*path], &Some(format!("{line}\n{text}")), Of::Shown),
                None => false,
            },
            Step::Edit(path, text) => {
                next.set(PATHS[*path], text);
                true
            }
            Step::Merge(name) => match next
                .overlays
                .contains_key(NAMES[*name])
                .then(|| next.merged(NAMES[*name]))
                .flatten()
            {
                Some(files) => {
                    next.files = files;
                    next.end_overlay(NAMES[*name])
                }
                None => false,
            },
            Step::Discard(name) => next.end_overlay(NAMES[*name]),
        };
        (if done { next } else { self.clone() }, done)
    }
}

/// Runs a step. Returns whether it was possible.
fn perform(files: &Real, model: &Model, step: &Step, now: u64) -> bool {
    match step {
        Step::Open(name) => open_or_continue(&files.disk, NAMES[*name], None, now).is_ok(),
        Step::Put(name, path, text, onto_now) => {
            let what = text.clone().map_or(Put::Delete, |text| Put::Bytes(text.into_bytes()));
            write_over(&files.disk, NAMES[*name], PATHS[*path], &what, *onto_now, now).is_ok()
        }
        Step::Drop(name, path) => write_document(&files.disk, NAMES[*name], PATHS[*path], &Put::Drop, now).is_ok(),
        Step::Patch(name, path, line) => {
            let path = PATHS[*path];
            let first = model.text_in_overlay(NAMES[*name], path);
            let first = first.as_deref().and_then(|text| text.lines().next()).unwrap_or("nothing");
            let patch = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n+{line}\n {first}\n");
            apply(&files.disk, NAMES[*name], &patch, now).is_ok()
        }
        Step::Edit(path, text) => {
            match text {
                Some(text) => files.write(PATHS[*path], text.as_bytes()),
                None => files.remove(PATHS[*path]),
            }
            true
        }
        Step::Merge(name) => merge(&files.disk, NAMES[*name], now).is_ok_and(|merged| merged.conflicts.is_empty()),
        Step::Discard(name) => discard(&files.disk, NAMES[*name], now).is_ok(),
    }
}

/// Reads the actual state into a model.
fn seen(files: &Real, now: u64) -> Model {
    let mut model = Model::default();
    for path in PATHS {
        if let Some(bytes) = files.file(path) {
            model.files.insert(path.to_owned(), String::from_utf8(bytes).expect("text"));
        }
    }
    for listed in list_overlays(&files.disk).expect("a list") {
        let texts = documents(&files.disk, &listed.name, now).expect("documents");
        let overlay = listed.overlay.expect("a sound record");
        let own = texts.into_iter().map(|(path, bytes)| {
            let now = bytes.map(|bytes| String::from_utf8(bytes.to_vec()).expect("text"));
            let base = overlay.documents[&path].base;
            let base = super::texts::read_overlay_text(&files.disk, base.as_ref()).expect("a text");
            (path, (base.map(|bytes| String::from_utf8(bytes).expect("text")), now))
        });
        model.overlays.insert(listed.name.clone(), own.collect());
        let opened = overlay.opened_on.expect("noted");
        let was = PATHS
            .iter()
            .filter_map(|path| Some(((*path).to_owned(), opened.digest_at_opening(&files.disk, path).expect("a list")?)));
        model.opened.insert(listed.name, was.collect());
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn overlays_are_what_the_model_has(steps in prop::collection::vec(any_step(), 1..40)) {
        let (files, mut model) = (Real::new(), Model::default());
        for (now, step) in (1_000..).zip(&steps) {
            let (next, done) = model.apply_step(step);
            prop_assert_eq!(perform(&files, &model, step, now), done, "{:?} of {:?}", step, model);
            model = next;
            prop_assert_eq!(&seen(&files, now), &model, "after {:?}", step);
        }
        // Texts that no overlay and no session of a merge needs are removed.
        for (session, _) in files.disk.notes("sessions").expect("a list") {
            files.disk.drop_note(&format!("sessions/{session}")).expect("dropped");
        }
        let texts: std::collections::BTreeSet<&String> =
            model.overlays.values().flat_map(BTreeMap::values).flat_map(|(base, now)| base.iter().chain(now)).collect();
        open_or_continue(&files.disk, "last", None, 2_000).expect("open");
        let opened = list_overlays(&files.disk).expect("a list").into_iter().filter_map(|listed| listed.overlay?.opened_on);
        let trees: std::collections::BTreeSet<Digest> = opened.map(|opened| opened.tree).collect();
        prop_assert_eq!(files.count_notes("texts"), texts.len() + trees.len());
    }

    #[test]
    fn a_kill_leaves_what_was_or_what_is_to_be(
        steps in prop::collection::vec(any_step(), 1..25),
        last in any_step(),
        after in 0_usize..60,
    ) {
        let (files, mut model) = (Real::new(), Model::default());
        for (now, step) in (1_000..).zip(&steps) {
            perform(&files, &model, step, now);
            model = model.apply_step(step).0;
        }
        let (next, _) = model.apply_step(&last);
        kill_points::kill_after(Some(after));
        perform(&files, &model, &last, 2_000);
        kill_points::kill_after(None);
        let found = seen(&files, 2_001);
        for path in PATHS {
            let file = found.files.get(path);
            prop_assert!(file == model.files.get(path) || file == next.files.get(path), "{} is {:?}", path, file);
        }
        if let Step::Merge(name) = last && found.overlays.contains_key(NAMES[name]) {
            // The next try completes it, or refuses it as before.
            prop_assert_eq!(merge(&files.disk, NAMES[name], 2_002).is_ok_and(|merged| merged.conflicts.is_empty()), model.apply_step(&last).1);
            prop_assert_eq!(&seen(&files, 2_003), &next);
        } else {
            prop_assert!(found == model || found == next, "{:?}", found);
        }
    }

}

proptest! {
    // Few, because each case is killed at every step; how texts are merged has tests of its own.
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn a_merge_that_is_cut_short_is_brought_to_its_end(
        sides in prop::collection::vec(("([ab]\n){0,5}", "([ab]\n){0,5}", "([ab]\n){0,5}"), 6..18),
    ) {
        let clean = sides.iter().filter_map(|(base, ours, theirs)| Some((base, ours, theirs, joined(base, ours, theirs)?)));
        let sides: Vec<_> = clean.take(PATHS.len()).collect();
        for after in 0.. {
            let files = Real::new();
            open_or_continue(&files.disk, "o", None, 1_000).expect("open");
            for (path, (base, ours, theirs, _)) in PATHS.iter().zip(&sides) {
                files.write(path, base.as_bytes());
                write_over(&files.disk, "o", path, &Put::Bytes(ours.as_bytes().to_vec()), true, 1_000).expect("put");
                files.write(path, theirs.as_bytes());
            }
            kill_points::kill_after(Some(after));
            let is_whole = merge(&files.disk, "o", 1_000).is_ok();
            kill_points::kill_after(None);
            if !is_whole && list_overlays(&files.disk).expect("a list").len() == 1 {
                let merged = merge(&files.disk, "o", 1_001).expect("answered");
                prop_assert_eq!(&merged.conflicts, &[], "after {} steps", after);
            }
            for (path, (.., text)) in PATHS.iter().zip(&sides) {
                prop_assert_eq!(&files.text(path), text, "after {} steps", after);
            }
            prop_assert_eq!(list_overlays(&files.disk).expect("a list"), []);
            if is_whole {
                break;
            }
        }
    }
}

/// Any edit or gc finishes an interrupted merge; if it wrote nothing, no session stays.
#[test]
fn a_merge_that_is_cut_short_is_completed_by_the_next_edit() {
    let mut seen = [0; 3];
    for after in 0.. {
        let files = Real::new();
        open_or_continue(&files.disk, "o", None, 1_000).expect("open");
        for path in &PATHS[..3] {
            files.write(path, "old");
            write_over(&files.disk, "o", path, &Put::Bytes(b"new".to_vec()), true, 1_000).expect("put");
        }
        kill_points::kill_after(Some(after));
        let is_whole = merge(&files.disk, "o", 1_000).is_ok();
        kill_points::kill_after(None);
        let notes = recover(&files.disk, 1_001).expect("recovered");
        let texts: Vec<String> = PATHS[..3].iter().map(|path| files.text(path)).collect();
        let state = match texts.join(" ").as_str() {
            "old old old" => 0,
            "new new new" if notes.is_empty() => 1,
            "new new new" => 2,
            other => panic!("{other} after {after} steps"),
        };
        seen[state] += 1;
        assert!(
            notes.iter().all(|note| note.contains("(overlay o: ") && note.contains("completed")),
            "{notes:?}"
        );
        assert_eq!((files.count_notes("saving"), files.count_notes("sessions")), (0, state.min(1)));
        if list_overlays(&files.disk).expect("a list").len() == 1 {
            assert_eq!(merge(&files.disk, "o", 1_002).expect("merged").conflicts, []);
        }
        assert_eq!(files.text(PATHS[0]), "new", "after {after} steps");
        if is_whole {
            break;
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}
