//! Maintenance of a store: garbage collection, verification, pins.

use crate::bench::Bench;
use engine::graph::pages::short_hash;
use engine::store::disk::{DiskOptions, DiskStore};
use engine::store::{Part, Store};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Returns a workspace whose documents have several built versions.
pub fn aged() -> Bench {
    let bench = Bench::documents();
    for words in 1..=6 {
        bench.write("docs/a.md", &"word ".repeat(words));
        assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    }
    bench
}

fn gc(bench: &Bench, args: &[&str]) -> Value {
    let args = [&["gc", "--json"], args].concat();
    let ran = bench.run(&args);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

#[test]
fn gc_removes_old_results_that_nothing_refers_to() {
    let bench = aged();
    // All results are recent.
    let actual = gc(&bench, &[]);
    assert_eq!(
        (&actual["removed"]["actions"], &actual["kept_young"]["actions"]),
        (&0.into(), &6.into()),
        "{actual}"
    );
    // Two documents and the sum; three versions of a.md and of the sum are kept, and one of b.md.
    let dry = gc(&bench, &["--older-than", "0", "--dry-run"]);
    assert_eq!((&dry["removed"]["actions"], &dry["before"]), (&6.into(), &dry["after"]), "{dry}");
    let actual = gc(&bench, &["--older-than", "0"]);
    assert_eq!(actual["removed"]["actions"], dry["removed"]["actions"]);
    assert_eq!(actual["removed"]["blobs"], dry["removed"]["blobs"]);
    assert_eq!(
        (&actual["after"]["actions"], &actual["after"]["blobs"]),
        (&7.into(), &7.into()),
        "{actual}"
    );
    // A second run finds nothing, and the build has nothing to do.
    assert_eq!(gc(&bench, &["--older-than", "0"])["removed"]["actions"], 0);
    let ran = bench.run(&["build", "//docs/...", "//index:total"]);
    assert!(ran.code == 0 && ran.err.contains("up to date"), "{ran:?}");
    // Kept results are found again; collected ones are built again.
    bench.write("docs/a.md", &"word ".repeat(5));
    assert!(bench.run(&["build", "//docs/..."]).err.contains("1 cached"));
    bench.write("docs/a.md", "word ");
    let ran = bench.run(&["build", "//docs/..."]);
    assert!(ran.err.contains("1 ran"), "{ran:?}");
    let history = bench.run(&["history", "//docs/docs/a.md:words"]);
    assert_eq!(history.code, 0, "{history:?}");
}

#[test]
fn fewer_versions_may_be_kept() {
    let bench = aged();
    gc(&bench, &["--older-than", "0", "--keep-versions", "0"]);
    let actual = gc(&bench, &["--older-than", "0", "--keep-versions", "0"]);
    assert_eq!(
        (&actual["after"]["actions"], &actual["removed"]["blobs"]),
        (&3.into(), &0.into()),
        "{actual}"
    );
    let ran = bench.run(&["show", "//index:total"]);
    assert!(ran.code == 0 && ran.out.contains('6'), "{ran:?}");
}

#[test]
fn checkouts_that_share_a_store_keep_what_is_theirs() {
    let bench = aged();
    let other = bench.beside("other");
    fs::create_dir_all(other.join("docs")).expect("folders");
    fs::copy(bench.root().join("cortex.toml"), other.join("cortex.toml")).expect("manifest");
    fs::write(other.join("docs/z.md"), "one two").expect("document");
    let other_dir = other.to_str().expect("text").to_owned();
    assert_eq!(bench.run(&["-C", &other_dir, "build", "//docs/..."]).code, 0);
    let actual = gc(&bench, &["--older-than", "0"]);
    assert_eq!(
        (&actual["checkouts"], &actual["after"]["actions"]),
        (&2.into(), &8.into()),
        "{actual}"
    );
    assert!(bench.run(&["-C", &other_dir, "build", "//docs/..."]).err.contains("up to date"));
    // A missing checkout is kept for a while, unless the command says otherwise.
    let away = bench.beside("away");
    fs::rename(&other, &away).expect("moved");
    let actual = gc(&bench, &["--older-than", "0"]);
    assert_eq!(
        (&actual["removed"]["actions"], actual["vanished"].as_array().map(Vec::len)),
        (&0.into(), Some(1)),
        "{actual}"
    );
    let actual = gc(&bench, &["--older-than", "0", "--forget-checkouts", "--dry-run"]);
    assert_eq!(
        (&actual["removed"]["actions"], actual["forgotten"].as_array().map(Vec::len)),
        (&1.into(), Some(1)),
        "{actual}"
    );
    let actual = gc(&bench, &["--older-than", "0", "--forget-checkouts"]);
    assert_eq!(
        (&actual["removed"]["actions"], &actual["checkouts"]),
        (&1.into(), &1.into()),
        "{actual}"
    );
    fs::rename(&away, &other).expect("moved back");
    assert!(bench.run(&["-C", &other_dir, "build", "//docs/..."]).err.contains("1 ran"));
}

#[test]
fn gc_reports_in_sentences_what_it_removed() {
    let bench = aged();
    let text = bench.run(&["gc", "--dry-run", "--older-than", "0"]).out;
    assert!(text.starts_with("The store holds 13 results and 12 outputs in "), "{text}");
    assert!(
        text.contains(" of 1 checkout.\nA collection would remove 6 results and 5 outputs, "),
        "{text}"
    );
    assert!(text.ends_with(" as stored. Nothing was removed.\n"), "{text}");
    let text = bench.run(&["gc", "--older-than", "0"]).out;
    assert!(text.contains("\nRemoved 6 results and 5 outputs, "), "{text}");
    let text = bench.run(&["gc"]).out;
    assert!(
        text.contains("held 7 results") && text.contains("\nNothing is garbage.\n"),
        "{text}"
    );
}

#[test]
fn a_size_that_cannot_be_reached_is_an_error_with_a_way_out() {
    let bench = aged();
    let ran = bench.run(&["gc", "--max-size", "1 kB"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("E_MAX_SIZE") && ran.err.contains("--older-than"), "{ran:?}");
    assert!(
        ran.err
            .contains("; the rest is in use, and needs a larger --max-size, or fewer --keep-versions\n"),
        "{ran:?}"
    );
    let ran = bench.run(&["gc", "--max-size", "1 GB", "--older-than", "0"]);
    assert!(ran.code == 0 && ran.out.contains("Nothing is garbage"), "{ran:?}");
    assert_eq!(bench.run(&["gc", "--max-size", "lots"]).code, 2);
    assert_eq!(bench.run(&["gc", "--older-than", "7"]).code, 2);
}

#[test]
fn a_store_shrinks_to_a_size() {
    let bench = Bench::documents();
    // Documents with random outputs: a store of some megabytes.
    let manifest = fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write("cortex.toml", &manifest.replace("\"wc\", \"-w\"", "\"cat\""));
    for round in 0..24_u32 {
        let noise: String = (0..8_000_u32)
            .map(|n| blake3::hash(&[round.to_be_bytes(), n.to_be_bytes()].concat()).to_hex().to_string())
            .collect();
        bench.write("docs/a.md", &noise);
        assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    }
    let before = fs::metadata(bench.store().join("store.redb")).expect("store").len();
    let actual = gc(&bench, &["--older-than", "0", "--max-size", "5 MB"]);
    let after = fs::metadata(bench.store().join("store.redb")).expect("store");
    let (on_disk, after) = (after.blocks() * 512, after.len());
    assert!(before > 6_000_000 && after <= 5_000_000, "{before} {after} {actual}");
    assert_eq!(actual["after"]["file_bytes"].as_u64(), Some(after.min(on_disk)));
    assert_eq!(actual["reached"], true);
    // No more was collected than necessary, and present results stay.
    assert!(after > 2_000_000, "{after}");
    assert!(bench.run(&["build", "//docs/..."]).err.contains("up to date"));
}

#[test]
fn gc_needs_a_store_and_touches_nothing_else() {
    let bench = aged();
    for command in [&["gc"][..], &["store", "stats"]] {
        let ran = bench.run(&[&["--no-store"], command].concat());
        assert!(
            ran.code == 2 && ran.err.contains("is about a store, and --no-store asks for none\n"),
            "{ran:?}"
        );
    }
    let folder = bench.beside("photos");
    fs::create_dir(&folder).expect("folder");
    fs::write(folder.join("cat.jpg"), "meow").expect("file");
    let ran = bench.run(&["gc", "--store", folder.to_str().expect("text")]);
    assert!(
        ran.code == 2 && ran.err.contains("E_NO_STORE") && ran.err.contains("help:"),
        "{ran:?}"
    );
    assert_eq!(fs::read_dir(&folder).expect("folder").count(), 1);
    let missing = bench.beside("missing");
    let ran = bench.run(&["gc", "--store", missing.to_str().expect("text")]);
    assert!(ran.code == 2 && !missing.exists(), "{ran:?}");
    // With `--store`, no workspace is needed; otherwise it is.
    let store = bench.store();
    let ran = bench.run(&["-C", folder.to_str().expect("text"), "gc", "--store", store.to_str().expect("text")]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut command = bench.command(&["-C", folder.to_str().expect("text"), "gc"]);
    let ran = bench.ran(command.env_remove("CORTEX_STORE").output().expect("it runs"));
    assert!(ran.code == 2 && ran.err.contains("E_NO_WORKSPACE"), "{ran:?}");
}

#[test]
fn a_pinned_version_stays_whatever_comes() {
    let bench = aged();
    assert_eq!(
        bench
            .run(&["pin-version", "//docs/docs/a.md:words", "1", "--note", "before the cut"])
            .code,
        0
    );
    let actual = gc(&bench, &["--older-than", "0"]);
    // As without the pin, plus one version of a.md.
    assert_eq!(actual["after"]["actions"], 8, "{actual}");
    for words in 7..=26 {
        bench.write("docs/a.md", &"word ".repeat(words));
        assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    }
    let history = bench.run(&["history", "//docs/docs/a.md:words"]).out;
    assert!(
        history.contains("    1  ") && history.contains("pinned: before the cut"),
        "{history}"
    );
    let versions = bench.run(&["history", "//docs/docs/a.md:words", "--json"]).json();
    assert_eq!(versions["versions"].as_array().map(Vec::len), Some(17), "{versions}");
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
    // A note of several lines stays on its version's line.
    let note = "before\nthe\tcut \u{1b}[2J";
    assert_eq!(bench.run(&["pin-version", "//docs/docs/a.md:words", "1", "--note", note]).code, 0);
    let lined = bench.run(&["history", "//docs/docs/a.md:words"]).out;
    assert_eq!(lined.lines().count(), history.lines().count(), "{lined}");
    assert!(lined.contains("pinned: before\\nthe\\tcut \\u{1b}[2J\n"), "{lined}");
    let diff = bench.run(&["diff", "//docs/docs/a.md:words", "1", "26"]);
    assert!(diff.code == 0 && diff.out.contains("-1 "), "{diff:?}");
    // Without the pin, it is collected like the others of its age.
    assert_eq!(bench.run(&["unpin-version", "//docs/docs/a.md:words"]).code, 0);
    let versions = bench.run(&["history", "//docs/docs/a.md:words", "--json"]).json();
    assert_eq!(versions["versions"].as_array().map(Vec::len), Some(16), "{versions}");
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
    for (args, code) in [
        (vec!["unpin-version", "//docs/docs/a.md:words"], "E_NO_VERSION"),
        (vec!["pin-version", "//docs/docs/a.md:words", "2"], "E_NO_VERSION"),
        (vec!["pin-version", "//index:broken"], "E_NO_VERSION"),
    ] {
        let ran = bench.run(&args);
        assert!(ran.code == 2 && ran.err.contains(code) && ran.err.contains("help:"), "{ran:?}");
    }
}

/// Flips a bit at every occurrence of these bytes in the database.
fn flip(bench: &Bench, bytes: &[u8]) {
    let path = bench.store().join("store.redb");
    let mut file = fs::read(&path).expect("store");
    let places: Vec<usize> = file
        .windows(bytes.len())
        .enumerate()
        .filter(|(_, window)| *window == bytes)
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty(), "it is not in the store");
    places.into_iter().for_each(|at| file[at] ^= 4);
    fs::write(&path, file).expect("store");
}

#[test]
fn damage_is_found_told_by_label_and_dropped() {
    let bench = Bench::documents();
    let manifest = fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write("cortex.toml", &manifest.replace("\"wc\", \"-w\"", "\"cat\""));
    bench.write("docs/a.md", "the quick brown fox jumps\n");
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    let sound = bench.run(&["store", "verify"]);
    assert!(sound.code == 0 && sound.out.contains("The store is sound."), "{sound:?}");
    flip(&bench, b"quick brown fox");
    let found = bench.run(&["store", "verify", "--json"]);
    assert_eq!(found.code, 3, "{found:?}");
    let json = found.json();
    // Other results in the same block are lost, too.
    let harm = json["damaged"].as_array().into_iter().flatten();
    let labels: Vec<&Value> = harm.flat_map(|harm| harm["labels"].as_array().into_iter().flatten()).collect();
    assert!(labels.contains(&&"//docs/docs/a.md:words".into()), "{json}");
    assert!(found.err.contains("--repair"), "{found:?}");
    let mended = bench.run(&["store", "verify", "--repair"]);
    assert!(mended.code == 0 && mended.out.contains("//docs/docs/a.md:words"), "{mended:?}");
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
    let shown = bench.run(&["show", "//docs/docs/a.md:words"]);
    assert!(shown.code == 0 && shown.out.contains("quick brown fox"), "{shown:?}");
}

/// Flips a bit of every result record compressed with a dictionary, after its codec and a length of at most two bytes; returns their number.
fn flip_records(bench: &Bench) -> usize {
    let path = bench.store().join("store.redb");
    let mut file = fs::read(&path).expect("store");
    let is_record = |window: &[u8]| window[..3] == [2, 0, 0] && window[5..] == [0x28, 0xb5, 0x2f, 0xfd];
    let places: Vec<usize> = (0..file.len() - 20).filter(|at| is_record(&file[*at..at + 9])).collect();
    places.iter().for_each(|at| file[at + 16] ^= 4);
    fs::write(&path, file).expect("store");
    places.len()
}

/// Returns a workspace with at least two damaged result records. A record's compression depends on the measured duration, so workspaces are created
/// until enough records are compressed.
fn with_damaged_records(make: impl Fn() -> Bench) -> Bench {
    let mut made = (0..50).map(|_| make());
    made.find(|bench| flip_records(bench) >= 2).expect("records that are compressed")
}

/// Damage is in a row of some table, but is reported by labels.
#[test]
fn damaged_rows_are_named_by_the_labels_that_they_are_about() {
    let result_of = |bench: &Bench| -> String {
        let text = bench.run(&["store", "verify"]).out;
        assert!(!text.contains("collected"), "what is damaged was not collected: {text}");
        text
    };
    let fresh = |pattern: &str| {
        let bench = Bench::documents();
        assert_eq!(bench.run(&["build", pattern]).code, 0);
        bench
    };
    // A result: by its node, or by its version.
    let words = "//docs/docs/a.md:words";
    let bench = with_damaged_records(|| fresh("//docs/..."));
    let found = result_of(&bench);
    assert!(
        found.contains("\n  //docs/docs/a.md:words: the packed ActionRecord in actions.1 "),
        "{found}"
    );
    let json = bench.run(&["store", "verify", "--json"]).json();
    let mut harm = json["damaged"].as_array().expect("a list").iter();
    assert!(harm.any(|harm| harm["labels"] == serde_json::json!([words])), "{json}");
    bench.write("docs/a.md", "other words\n");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    let found = result_of(&bench);
    assert!(
        found.contains("\n  //docs/docs/a.md:words: the packed ActionRecord in actions.1 "),
        "{found}"
    );
    assert_eq!(bench.run(&["store", "verify", "--repair"]).code, 0);
    // A page of the graph: by the links beside it, and vice versa.
    for table in ["nodes.2", "links.1"] {
        let bench = fresh("//index:total");
        let bytes = match table {
            // The page is compressed: its length, then zstd's magic bytes.
            "nodes.2" => {
                let (disk, _) = DiskStore::open(&bench.store(), DiskOptions::default()).expect("store");
                let view = disk.views_with_rows().expect("views")[0];
                let page = disk.row(view, Part::Nodes, &0_u32.to_be_bytes()).expect("read").expect("a page");
                let length = u32::try_from(page.len()).expect("short").to_be_bytes();
                [&length[..], &[0x28, 0xb5, 0x2f, 0xfd]].concat()
            }
            _ => [&[3], &short_hash(words).to_le_bytes()[..]].concat(),
        };
        flip(&bench, &bytes);
        let json = bench.run(&["store", "verify", "--json"]).json();
        let of_page = json["damaged"].as_array().into_iter().flatten();
        let of_page = of_page.filter(|harm| harm["what"].as_str().is_some_and(|what| what.contains(table)));
        let labels: Vec<&str> = of_page
            .flat_map(|harm| harm["labels"].as_array().into_iter().flatten())
            .filter_map(Value::as_str)
            .collect();
        let made = [words, "//docs/docs/b.md:words", "//index:total"];
        assert!(made.iter().all(|label| labels.contains(label)), "{table} {json}");
    }
    // Rows keyed by a label, and rows without one.
    let bench = fresh("//index:total");
    assert_eq!(bench.run(&["pin-version", "//index:total"]).code, 0);
    flip(&bench, b"//index:total\x01\x01");
    flip(&bench, b"build //index:total");
    let found = result_of(&bench);
    assert!(found.contains("\n  //index:total: the packed row in pins.1 "), "{found}");
    assert!(found.contains("\n  of no label: the packed row in builds.1 "), "{found}");
    // A result to which nothing refers any more.
    let bench = with_damaged_records(|| {
        let bench = fresh("//docs/...");
        fs::remove_file(bench.root().join("docs/b.md")).expect("there");
        assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
        bench
    });
    let found = result_of(&bench);
    assert!(found.contains("\n  of no label: the packed ActionRecord in actions.1 "), "{found}");
}

/// Versions of targets deleted long ago are collected completely; those of others and pinned ones stay.
#[test]
fn versions_of_what_is_long_gone_go() {
    let bench = aged();
    bench.write("docs/c.md", "one\n");
    assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    assert_eq!(bench.run(&["pin-version", "//docs/docs/c.md:words", "1"]).code, 0);
    for name in ["b", "c"] {
        fs::remove_file(bench.root().join(format!("docs/{name}.md"))).expect("removed");
    }
    let before = gc(&bench, &["--older-than", "0"]);
    assert_eq!(before["removed"]["versions"], 0, "they are in the graph: {before}");
    assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    let young = gc(&bench, &[]);
    assert_eq!(young["removed"]["versions"], 0, "{young}");
    let dry = gc(&bench, &["--older-than", "0", "--dry-run"]);
    let actual = gc(&bench, &["--older-than", "0"]);
    assert_eq!(
        (&dry["removed"]["versions"], &actual["removed"]["versions"]),
        (&1.into(), &1.into()),
        "{actual}"
    );
    let versions = |actual: &Value, when: &str| actual[when]["history_versions"].as_u64();
    assert_eq!(
        versions(&actual, "before"),
        versions(&actual, "after").map(|after| after + 1),
        "{actual}"
    );
    assert_eq!(gc(&bench, &["--older-than", "0"])["removed"]["versions"], 0);
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
    assert_eq!(bench.run(&["history", "//docs/docs/c.md:words"]).code, 0, "it is pinned");
    // The log knows that it existed, and the message promises no more.
    let gone = bench.run(&["history", "//docs/docs/b.md:words"]);
    let line = "note[N_GONE] //docs/docs/b.md:words: it is gone since build 8, WHEN WHEN UTC\n";
    assert!(
        gone.code == 2 && gone.err.contains(line) && !gone.err.contains("lists what is kept"),
        "{gone:?}"
    );
    // A recreated target starts a new history; the pinned one continues.
    bench.write("docs/b.md", "four five\n");
    bench.write("docs/c.md", "two words\n");
    assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    let newest = |label: &str| bench.run(&["history", "--json", label]).json()["versions"].as_array().map(Vec::len);
    assert_eq!(
        (newest("//docs/docs/b.md:words"), newest("//docs/docs/c.md:words")),
        (Some(1), Some(2))
    );
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
}

#[test]
fn maintenance_fails_on_an_irreparable_store() {
    let bench = aged();
    fs::write(bench.store().join("store.redb"), "garbage").expect("damage");
    for args in [&["store", "verify"][..], &["store", "stats"], &["gc"], &["status"], &["log"]] {
        let ran = bench.run(args);
        assert!(
            ran.code == 3 && ran.err.contains("E_STORE_DAMAGED") && ran.err.contains("nothing was changed"),
            "{ran:?}"
        );
        assert_eq!(fs::read(bench.store().join("store.redb")).expect("it stays"), b"garbage");
    }
    // `--repair` sets the store aside, as a build does.
    let mended = bench.run(&["store", "verify", "--repair"]);
    assert!(
        mended.code == 0 && mended.err.contains("set aside as store.redb.damaged-1"),
        "{mended:?}"
    );
    assert_eq!(fs::read(bench.store().join("store.redb.damaged-1")).expect("it stays"), b"garbage");
    assert!(mended.err.contains("History, the log of builds, pins"), "{mended:?}");
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    // It is reported as long as it exists.
    let files = |args: &[&str], at: &str| bench.run(args).json().pointer(at).cloned();
    let (stats, gc, status) = (&["store", "stats"][..], &["gc"][..], &["status"][..]);
    for (args, at) in [(stats, "/usage"), (gc, "/after"), (status, "/store")] {
        let args = [&["--output", "json"], args].concat();
        assert_eq!(files(&args, &format!("{at}/set_aside_files")), Some(1.into()), "{args:?}");
        assert_eq!(files(&args, &format!("{at}/set_aside_bytes")), Some(7.into()), "{args:?}");
    }
    for args in [stats, gc, status] {
        let stdout = bench.run(args).out;
        assert!(stdout.contains("7 bytes") && stdout.contains("store.redb.damaged-*"), "{stdout}");
    }
    fs::remove_file(bench.store().join("store.redb.damaged-1")).expect("removed");
    assert!(!bench.run(stats).out.contains("Set aside"));
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
}

#[test]
fn a_store_is_counted() {
    let bench = aged();
    let json = bench.run(&["store", "stats", "--json"]).json();
    assert_eq!(
        (&json["families"]["//docs"]["actions"], &json["families"]["//index"]["actions"]),
        (&7.into(), &6.into()),
        "{json}"
    );
    assert_eq!(json["depths"], serde_json::json!({"1": 1, "6": 2}), "{json}");
    assert_eq!(json["checkouts"][0]["there"], true, "{json}");
    // The first build ran three targets, each of the others two.
    assert_eq!(json["builds"], serde_json::json!({"builds": 6, "hits": 0, "ran": 13}), "{json}");
    let text = bench.run(&["store", "stats"]);
    assert!(
        text.code == 0 && text.out.contains("by family") && text.out.contains("checkouts"),
        "{text:?}"
    );
    bench.write("docs/a.md", "word ");
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
    let text = bench.run(&["store", "stats"]).out;
    assert!(
        text.contains("\nhit rate: 7.1 % in 7 builds (1 cached or unchanged, 13 ran)\n"),
        "{text}"
    );
    let migrated = bench.run(&["store", "migrate"]);
    assert!(migrated.code == 0 && migrated.out.contains("format 3"), "{migrated:?}");
}

/// Adds and removes random documents; the store is collected once, and not again within the hour.
fn grows_and_is_collected_once(bench: &Bench, command: &[&str]) {
    let mut found = Vec::new();
    for round in 0..16_u32 {
        let noise: String = (0..8_000_u32)
            .map(|n| blake3::hash(&[round.to_be_bytes(), n.to_be_bytes()].concat()).to_hex().to_string())
            .collect();
        bench.write("docs/a.md", &noise);
        let ran = bench.run(command);
        assert_eq!(ran.code, 0, "{ran:?}");
        found.extend(ran.err.lines().find(|line| line.contains("the store grew beyond")).map(|_| round));
    }
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_build_keeps_the_store_within_its_size() {
    let bench = Bench::documents();
    let manifest = fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    let manifest = manifest.replace("\"wc\", \"-w\"", "\"cat\"");
    bench.write(
        "cortex.toml",
        &format!("{manifest}\n[store]\nmax_size = \"2 MB\"\nolder_than = \"0\"\nkeep_versions = 1\n"),
    );
    // This applies to every command that builds.
    for command in [&["build", "//docs/..."][..], &["show", "//docs/docs/a.md:words"]] {
        let _ = fs::remove_dir_all(bench.store());
        grows_and_is_collected_once(&bench, command);
    }
    for (text, code) in [
        ("max_size = 7", "E_TYPE"),
        ("max_size = \"lots\"", "E_VALUE"),
        ("path = \"/x\"", "E_PERSONAL"),
        ("keep_versions = 99", "E_TYPE"),
        ("maxsize = \"1 GB\"", "E_UNKNOWN_KEY"),
    ] {
        bench.write("cortex.toml", &format!("{manifest}\n[store]\n{text}\n"));
        let ran = bench.run(&["build", "//docs/..."]);
        assert!(ran.code == 2 && ran.err.contains(code), "{text} {ran:?}");
    }
}
