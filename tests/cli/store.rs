//! Stores in every bad state: damage is told, set aside and rebuilt; what cannot be written is an error with a next step.

use crate::bench::Bench;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

fn built() -> Bench {
    let bench = Bench::documents();
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    bench
}

/// Whether this user may write where the modes forbid it: then a test by modes can show nothing.
fn modes_bind(bench: &Bench) -> bool {
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
        // The superuser writes everywhere: a file where the folder should be has the same effect.
        fs::write(bench.root().join(".cortex"), "").expect("file");
    } else {
        fs::set_permissions(bench.root(), Permissions::from_mode(0o500)).expect("modes");
    }
    let ran = bench.run(&["build", "//index:total"]);
    fs::set_permissions(bench.root(), Permissions::from_mode(0o700)).expect("modes");
    assert!(ran.code != 0 && ran.code != 10 && ran.err.contains("E_LAYOUT"), "{ran:?}");
    assert_eq!(bench.run(&["build", "//docs/..."]).code, 0);
}

#[test]
fn a_full_disk_is_told_and_the_store_survives() {
    let bench = Bench::documents();
    let small = bench.beside("small");
    fs::create_dir(&small).expect("folder");
    let mount = |args: &[&str]| {
        std::process::Command::new("mount")
            .args(args)
            .arg(&small)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=3m", "tmpfs"]) {
        eprintln!("no small file system can be mounted here; nothing to see");
        return;
    }
    let store = small.join("store");
    let store = store.to_str().expect("text").to_owned();
    let first = bench.run(&["build", "//docs/...", "--store", &store]);
    let filled = fs::write(small.join("filler"), vec![1_u8; 8 << 20]);
    bench.write("docs/big.md", &"word ".repeat(100));
    let full = bench.run(&["build", "//docs/...", "--store", &store]);
    let _ = fs::remove_file(small.join("filler"));
    let after = bench.run(&["build", "//docs/...", "--store", &store]);
    let unmounted = std::process::Command::new("umount").arg(&small).status();
    assert!(filled.is_err() && unmounted.is_ok());
    assert_eq!(first.code, 0, "{first:?}");
    assert!(full.code == 5 && full.err.contains("E_NO_SPACE") || full.code == 0, "{full:?}");
    assert_eq!(after.code, 0, "{after:?}");
}
