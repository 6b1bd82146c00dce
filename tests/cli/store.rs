//! Stores in every bad state: damage is reported, set aside and rebuilt.

use crate::bench::Bench;
use engine::graph::pages::each_result;
use engine::store::disk::{DiskOptions, DiskStore};
use engine::store::records::NewResult;
use engine::store::views::ViewRecord;
use engine::store::{Commit, Inventory, Part, Store, ViewId};
use engine::values::digest::{ActionKey, Digest};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

pub fn built() -> Bench {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    bench
}

/// Returns a bench with random documents, whose outputs fill a disk.
pub fn noisy() -> Bench {
    let bench = Bench::documents();
    let manifest = fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write("cortex.toml", &manifest.replace("\"wc\", \"-w\"", "\"cat\""));
    fs::create_dir(bench.beside("small")).expect("folder");
    bench
}

/// Whether file modes restrict this user; otherwise a test by modes proves nothing.
pub fn modes_bind(bench: &Bench) -> bool {
    let probe = bench.beside("probe");
    fs::create_dir(&probe).expect("folder");
    fs::set_permissions(&probe, Permissions::from_mode(0o500)).expect("modes");
    fs::write(probe.join("x"), "").is_err()
}

#[test]
fn damaged_stores_are_set_aside_and_rebuilt() {
    for (name, damage) in [
        ("garbage", vec![7_u8; 40_000]),
        ("empty", Vec::new()),
        ("cut", Vec::from(&b"redb"[..])),
    ] {
        let bench = built();
        fs::write(bench.store().join("store.redb"), damage).expect("damage");
        let ran = bench.run(&["build", "//index:total"]);
        assert_eq!(ran.code, 0, "{name} {ran:?}");
        assert!(ran.err.contains("set aside"), "{name} {ran:?}");
        let aside = fs::read_dir(bench.store())
            .expect("store")
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().contains("damaged"))
            .count();
        assert_eq!(aside, 1, "{name}");
        assert_eq!(bench.run(&["build", "//index:total"]).err.matches("up to date").count(), 1);
    }
}

#[test]
fn a_truncated_store_is_rebuilt() {
    let bench = built();
    let path = bench.store().join("store.redb");
    let bytes = fs::read(&path).expect("store");
    fs::write(&path, &bytes[..bytes.len() / 2]).expect("cut");
    let first = bench.run(&["build", "//index:total"]);
    let second = bench.run(&["build", "//index:total"]);
    assert!(first.code == 0 || second.code == 0, "{first:?} {second:?}");
    assert!(first.err.contains("damaged") || first.err.contains("set aside"), "{first:?}");
}

#[test]
fn a_store_that_lost_the_end_of_its_last_page_keeps_the_rest() {
    let bench = built();
    let path = bench.store().join("store.redb");
    let whole = fs::read(&path).expect("store");
    fs::write(&path, &whole[..whole.len() - 1]).expect("cut");
    let looked = bench.run(&["log"]);
    assert!(looked.code == 3 && looked.err.contains("nothing was changed"), "{looked:?}");
    assert_eq!(fs::read(&path).expect("store").len(), whole.len() - 1);
    let ran = bench.run(&["build", "//index:total"]);
    assert!(
        ran.code == 0 && ran.err.contains("up to date") && ran.err.contains("was truncated"),
        "{ran:?}"
    );
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
    assert!(bench.run(&["log"]).out.contains("build"));
}

#[test]
fn a_deleted_store_costs_only_time() {
    let bench = built();
    fs::remove_dir_all(bench.store()).expect("removed");
    let ran = bench.run(&["build", "//index:total"]);
    assert!(ran.code == 0 && ran.err.contains("3 ran"), "{ran:?}");
}

#[test]
fn a_store_that_cannot_be_made_is_told() {
    let bench = Bench::documents();
    fs::write(bench.beside("file"), "").expect("file");
    let inside = bench.beside("file").join("store");
    let ran = bench.run(&["build", "//index:total", "--store", inside.to_str().expect("text")]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.err.contains("help:") && ran.err.contains("--no-store"), "{ran:?}");
    assert_eq!(bench.run(&["build", "//index:total", "--no-store"]).code, 0);
}

#[test]
fn a_workspace_that_cannot_be_written_still_builds() {
    let bench = Bench::documents();
    if !modes_bind(&bench) {
        // The superuser can write everywhere: a file in place of the folder has the same effect.
        fs::write(bench.root().join(".cortex"), "").expect("file");
    } else {
        fs::set_permissions(bench.root(), Permissions::from_mode(0o500)).expect("modes");
    }
    let ran = bench.run(&["build", "//index:total"]);
    fs::set_permissions(bench.root(), Permissions::from_mode(0o700)).expect("modes");
    assert!(ran.code != 0 && ran.code != 10 && ran.err.contains("E_LAYOUT"), "{ran:?}");
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
}

/// Flips a bit in every used page, one page at a time. The choice of bits is fixed and excludes those that would form a ring of pages
/// (store-layout.md).
#[test]
fn a_flipped_bit_in_any_page_never_gives_wrong_bytes() {
    let bench = noisy();
    for name in ["a", "b"] {
        let noise: String = (0..100_u8)
            .map(|n| blake3::hash(&[n, name.as_bytes()[0]]).to_hex().to_string())
            .collect();
        bench.write(&format!("docs/{name}.md"), &noise);
        assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    }
    let total = || fs::read(bench.root().join(".cortex/out/total.txt")).expect("laid out");
    let (right, path) = (total(), bench.store().join("store.redb"));
    let whole = fs::read(&path).expect("store");
    let commands: [&[&str]; 5] = [
        &["store", "verify"],
        &["show", "//index:total"],
        &["store", "verify", "--repair"],
        &["gc", "--older-than", "0", "--keep-versions", "0"],
        &["build", "//docs/...", "//index:total"],
    ];
    let mut flips = 0;
    for (page, bytes) in whole.chunks(4096).enumerate() {
        let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
        if used.is_empty() {
            continue;
        }
        let drawn = *blake3::hash(&page.to_be_bytes()).as_bytes();
        let at = page * 4096 + used[usize::from(u16::from_be_bytes([drawn[0], drawn[1]])) % used.len()];
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (drawn[2] % 8);
        fs::remove_dir_all(bench.store()).expect("removed");
        fs::create_dir(bench.store()).expect("folder");
        fs::write(&path, damaged).expect("store");
        let ran = bench.run(commands[flips % commands.len()]);
        assert!([0, 3].contains(&ran.code) && !ran.err.contains("panicked"), "byte {at} {ran:?}");
        if commands[flips % commands.len()][0] == "show" && ran.code == 0 {
            assert!(right.starts_with(ran.out.trim_end().as_bytes()), "byte {at} {ran:?}");
        }
        let build = || bench.run(&["build", "//docs/...", "//index:total"]);
        let mut ran = build();
        if ran.code == 3 {
            assert!(ran.err.contains("help:"), "byte {at} {ran:?}");
            ran = build();
        }
        assert!(ran.code == 0 && !ran.err.contains("panicked"), "byte {at} {ran:?}");
        assert!(total() == right, "byte {at}");
        flips += 1;
    }
    assert!(flips > 20, "{flips}");
}

/// Replaces a page of the file with another page, zeros or noise, or cuts the file there.
#[test]
fn pages_that_are_swapped_zeroed_or_cut_off_leave_a_store_that_goes_on() {
    let bench = noisy();
    for name in ["a", "b"] {
        let noise: String = (0..100_u8)
            .map(|n| blake3::hash(&[n, name.as_bytes()[0]]).to_hex().to_string())
            .collect();
        bench.write(&format!("docs/{name}.md"), &noise);
        assert_eq!(bench.run(&["build", "//docs/...", "//index:total"]).code, 0);
    }
    let total = || fs::read(bench.root().join(".cortex/out/total.txt")).expect("laid out");
    let (right, path) = (total(), bench.store().join("store.redb"));
    let whole = fs::read(&path).expect("store");
    let pages = whole.len() / 4096;
    let used: Vec<usize> = (0..pages)
        .filter(|page| whole[page * 4096..][..4096].iter().any(|byte| *byte != 0))
        .collect();
    let page = |number: usize| number * 4096..(number + 1) * 4096;
    let commands: [&[&str]; 4] = [
        &["store", "verify"],
        &["store", "verify", "--repair"],
        &["gc", "--older-than", "0", "--keep-versions", "0"],
        &["build", "//docs/...", "//index:total"],
    ];
    for case in 0..60_u64 {
        let drawn = *blake3::hash(&case.to_be_bytes()).as_bytes();
        let draw = |at: usize, end: usize| usize::from(u16::from_be_bytes([drawn[at], drawn[at + 1]])) % end;
        let (one, other) = (used[draw(0, used.len())], used[draw(2, used.len())]);
        let mut damaged = whole.clone();
        match case % 4 {
            0 | 1 => {
                damaged[page(one)].copy_from_slice(&whole[page(other)]);
                damaged[page(other)].copy_from_slice(&whole[page(one)]);
            }
            2 => damaged[page(one)].fill(if drawn[4].is_multiple_of(2) { 0 } else { drawn[5] }),
            _ => damaged.truncate(one * 4096 + draw(4, 4096)),
        }
        fs::remove_dir_all(bench.store()).expect("removed");
        fs::create_dir(bench.store()).expect("folder");
        fs::write(&path, damaged).expect("store");
        let what = format!("case {case}: pages {one} and {other} of {pages}");
        // After any of them, the next command works or names the one command that repairs the store.
        for args in [commands[draw(6, commands.len())], commands[draw(8, commands.len())]] {
            let ran = bench.run(args);
            assert!(
                [0, 3].contains(&ran.code) && !ran.err.contains("panicked"),
                "{what} {args:?} {ran:?}"
            );
            assert!(ran.code == 0 || ran.err.contains("help:"), "{what} {args:?} {ran:?}");
        }
        let build = || bench.run(&["build", "//docs/...", "//index:total"]);
        let mut ran = build();
        if ran.code == 3 {
            assert!(ran.err.contains("help:"), "{what} {ran:?}");
            ran = build();
        }
        assert!(ran.code == 0 && !ran.err.contains("panicked"), "{what} {ran:?}");
        assert!(total() == right, "{what}");
    }
}

/// Replaces a file.
type Swap = fn(&Path);

/// Something else in place of one of the store's files.
#[test]
fn a_pipe_or_folder_in_place_of_a_store_file_fails_at_once() {
    let swaps: [(&str, Swap); 4] = [
        ("a named pipe", |path| {
            assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
        }),
        ("a device", |path| std::os::unix::fs::symlink("/dev/zero", path).expect("a link")),
        ("a folder", |path| fs::create_dir(path).expect("a folder")),
        ("a socket", |path| {
            drop(std::os::unix::net::UnixListener::bind(path).expect("a socket"))
        }),
    ];
    for (kind, swap) in swaps {
        for name in [
            "store.redb", "store-id", "store.lock", "store.collector", "store.waiting", "store.condemned", "store.redb.new",
        ] {
            let bench = built();
            let path = bench.store().join(name);
            let _ = fs::remove_file(&path);
            swap(&path);
            bench.write("docs/a.md", "one\n");
            for args in [
                &["status"][..],
                &["build", "//index:total"],
                &["gc"],
                &["store", "verify", "--repair"],
                &["show", "//index:total"],
            ] {
                let ran = bench.run(args);
                assert!([0, 3, 5].contains(&ran.code), "{name} is {kind}: {args:?} {ran:?}");
                if name == "store.redb" {
                    assert_eq!(ran.code, 5, "{kind}: {args:?} {ran:?}");
                    assert!(ran.err.contains(&format!("store.redb is {kind} and no file")), "{args:?} {ran:?}");
                }
                assert!(ran.code == 0 || ran.err.contains("help:"), "{name} is {kind}: {args:?} {ran:?}");
            }
        }
    }
}

/// Returns the row with a store's format, as in the store's documentation.
fn format_row(format: u32, oldest_reader: u32) -> Vec<u8> {
    let body = [format.to_be_bytes(), oldest_reader.to_be_bytes()].concat();
    let (key, table) = (&b"format"[..], &b"meta.1"[..]);
    let lengths = [&body[..], key, table].map(|part| (part.len() as u64).to_be_bytes()).concat();
    let check = blake3::hash(&[&body[..], key, table, &[1], &lengths].concat());
    [&[1][..], &check.as_bytes()[..8], &body].concat()
}

/// Returns all files below a folder, except the texts of locks, which name their last holder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else if path.extension().is_none_or(|extension| extension != "lock") {
            found.insert(path.clone(), fs::read(path).expect("a file"));
        }
    }
    found
}

#[test]
fn a_store_from_the_future_is_refused_and_stays_as_it_is() {
    let bench = built();
    let parcel = bench.beside("parcel");
    let parcel = parcel.to_str().expect("text");
    assert_eq!(bench.run(&["store", "export", "//index:total", "-o", parcel]).code, 0);
    let path = bench.store().join("store.redb");
    let mut bytes = fs::read(&path).expect("store");
    let (ours, future) = (format_row(3, 3), format_row(5, 4));
    let places: Vec<usize> = bytes
        .windows(ours.len())
        .enumerate()
        .filter(|(_, window)| *window == ours)
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty(), "the format is where the document says");
    for at in places {
        bytes[at..at + future.len()].copy_from_slice(&future);
    }
    fs::write(&path, bytes).expect("store");
    let before = contents(&bench.store());
    let file = bench.beside("file");
    let file = file.to_str().expect("text");
    for args in [
        &["build", "//index:total"][..],
        &["gc", "--older-than", "0"],
        &["store", "verify"],
        &["store", "verify", "--repair"],
        &["store", "stats"],
        &["store", "migrate"],
        &["store", "import", parcel],
        &["status"],
        &["show", "//index:total"],
        &["log"],
        &["report", file],
    ] {
        let ran = bench.run(args);
        assert_eq!(ran.code, 3, "{args:?} {ran:?}");
        assert!(
            ran.err.contains("error[E_STORE_NEWER]") && ran.err.contains("help: update cortex"),
            "{args:?} {ran:?}"
        );
        assert!(contents(&bench.store()) == before, "{args:?}");
    }
    for other in [&["--no-store"][..], &["--store", file]] {
        assert_eq!(bench.run(&[&["build", "//index:total"], other].concat()).code, 0, "{other:?}");
    }
    assert!(contents(&bench.store()) == before);
}

#[test]
fn times_of_a_clock_that_was_set_back_keep_nothing_forever() {
    let bench = built();
    let later = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("a year after 1970")
        .as_secs()
        + 10 * 365 * 86_400;
    // A result, its use and a checkout dated ten years ahead.
    let (disk, _) = DiskStore::open(&bench.store(), DiskOptions::default()).expect("store");
    let (view, _) = *disk.views().expect("views").first().expect("one");
    let mut keys = Vec::new();
    for (_, page) in disk.rows(view, Part::Nodes).expect("nodes") {
        each_result(&page, |_, filed| keys.push(filed.key)).expect("a page");
    }
    let mut records = keys.iter().filter_map(|key| disk.action(key).expect("read"));
    let mut record = records.next().expect("a result");
    let (blob, other) = (&b"of later"[..], ActionKey(Digest::of(b"later")));
    (record.made_at, record.output, record.len) = (later, Digest::of(blob), blob.len() as u64);
    let results = vec![NewResult {
        key: other,
        record,
        blob: Some(blob.into()),
        parts: Vec::new(),
    }];
    let away = ViewRecord::renewed(None, &bench.beside("away"), later).expect("a row");
    let rows = vec![away];
    let used = vec![(other, later)];
    let commit = Commit {
        results,
        rows,
        used,
        ..Commit::default()
    };
    disk.commit(ViewId(7), commit).expect("written");
    drop(disk);
    for args in [
        &["build", "//index:total"][..],
        &["status"],
        &["log"],
        &["history", "//index:total"],
        &["explain", "//index:total"],
        &["store", "stats"],
        &["store", "verify"],
    ] {
        let ran = bench.run(args);
        assert!(ran.code == 0 && !ran.err.contains("panicked"), "{args:?} {ran:?}");
    }
    // Future times count as now: a minimum age keeps the result, and an explicit request collects it.
    let young = bench.run(&["gc", "--json"]).json();
    assert_eq!(young["removed"]["actions"], 0, "{young}");
    let actual = bench.run(&["gc", "--json", "--older-than", "0", "--forget-checkouts"]).json();
    assert_eq!(actual["removed"]["actions"], 1, "{actual}");
    assert_eq!(actual["forgotten"].as_array().map(Vec::len), Some(1), "{actual}");
    assert!(bench.run(&["build", "//index:total"]).err.contains("up to date"));
}

#[test]
fn no_other_file_is_written_over() {
    let bench = Bench::documents();
    bench.run(&["build", "//..."]);
    let manifest = std::fs::read(bench.root().join("cortex.toml")).expect("a manifest");
    for args in [
        &["report", "cortex.toml"][..],
        &["store", "export", "//docs/...", "-o", "cortex.toml"],
        &["build", "//docs/...", "--events", "cortex.toml"],
        &["build", "//docs/...", "--profile", "cortex.toml"],
    ] {
        let ran = bench.run(args);
        assert!(ran.code == 2 && ran.err.contains("E_EXISTS"), "{args:?}: {ran:?}");
        assert_eq!(std::fs::read(bench.root().join("cortex.toml")).expect("a manifest"), manifest);
    }
    for args in [
        &["report", "out"][..],
        &["store", "export", "//docs/docs/a.md:words", "-o", "out2"],
        &["build", "//docs/...", "--events", "out3"],
        &["build", "//docs/...", "--profile", "out4"],
    ] {
        assert_eq!((bench.run(args).code, bench.run(args).code), (0, 0), "{args:?} twice");
    }
    let nothing = bench.run(&["store", "export", "//docs/nothing:words", "-o", "out5"]);
    assert!(nothing.code == 2 && !bench.root().join("out5").exists(), "{nothing:?}");
}
