//! Cases of the output files, one test each.

use super::{later, now, set_mtime};
use crate::files::exports::Exports;
use crate::seams::world::{ExportOutcome, WorldError};
use crate::values::digest::Digest;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

struct Bench {
    dir: tempfile::TempDir,
    exports: Exports,
}

impl Bench {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            exports: Exports::default(),
        }
    }

    fn out(&self, path: &str) -> PathBuf {
        self.dir.path().join(".cortex/out").join(path)
    }

    fn try_write(&self, node: u32, path: &str, text: &str) -> Result<ExportOutcome, WorldError> {
        self.exports
            .write(self.dir.path(), node, path, Digest::of(text.as_bytes()), text.as_bytes(), later())
    }

    fn write(&self, node: u32, path: &str, text: &str) -> ExportOutcome {
        self.try_write(node, path, text).unwrap()
    }

    fn verify(&self, nodes: &[u32]) -> Vec<u32> {
        self.exports.damaged_exports(self.dir.path(), nodes, later())
    }

    /// Reloads the state as a new process would.
    fn reload(&mut self) {
        let rows = self.exports.take_dirty_rows();
        self.exports = Exports::from_rows(rows.into_iter().filter_map(|(key, row)| row.map(|row| (key, row))).collect());
    }
}

#[test]
fn written_outputs_verify() {
    let mut bench = Bench::new();
    for node in 0..600 {
        assert_eq!(
            bench.write(node, &format!("types/{}/{node}.md", node % 3), &node.to_string()),
            ExportOutcome::Written
        );
    }
    assert_eq!(fs::read_to_string(bench.out("types/1/400.md")).unwrap(), "400");
    assert_eq!(
        fs::metadata(bench.out("types/1/400.md")).unwrap().permissions().mode() & 0o400,
        0o400
    );
    assert_eq!(fs::read_to_string(bench.dir.path().join(".cortex/.gitignore")).unwrap(), "*\n");
    assert_eq!(fs::read_dir(bench.out("types/1")).unwrap().count(), 200, "no temporary files stay");
    bench.reload();
    let all: Vec<u32> = (0..601).collect();
    assert_eq!(bench.verify(&all), [600]);
    assert!(bench.exports.take_dirty_rows().is_empty());
    assert_eq!(bench.write(5, "types/2/5.md", "5"), ExportOutcome::AlreadyPresent);
    assert!(bench.exports.take_dirty_rows().is_empty());
    assert_eq!(bench.write(5, "types/2/5.md", "five"), ExportOutcome::Written);
    assert_eq!(bench.exports.take_dirty_rows().len(), 1, "one page of nodes");
}

#[test]
fn edited_deleted_and_replaced_files_are_restored() {
    let mut bench = Bench::new();
    for (node, path) in [
        (1, "a/edited"),
        (2, "a/deleted"),
        (3, "a/touched"),
        (4, "a/directory"),
        (5, "a/link"),
        (6, "gone/x"),
        (7, "ok"),
    ] {
        bench.write(node, path, path);
    }
    bench.reload();
    let time = fs::metadata(bench.out("a/edited")).unwrap().modified().unwrap();
    fs::write(bench.out("a/edited"), "a/EDITED").unwrap();
    set_mtime(&bench.out("a/edited"), time);
    fs::remove_file(bench.out("a/deleted")).unwrap();
    set_mtime(&bench.out("a/touched"), std::time::UNIX_EPOCH);
    fs::remove_file(bench.out("a/directory")).unwrap();
    fs::create_dir(bench.out("a/directory")).unwrap();
    fs::rename(bench.out("a/link"), bench.out("a/target")).unwrap();
    symlink("target", bench.out("a/link")).unwrap();
    fs::remove_dir_all(bench.out("gone")).unwrap();
    assert_eq!(bench.verify(&[7, 6, 5, 4, 3, 2, 1]), [1, 2, 4, 5, 6]);
    assert_eq!(
        bench.exports.take_dirty_rows().len(),
        1,
        "the touched file is remembered with its new stamp"
    );

    for (node, path) in [(1, "a/edited"), (2, "a/deleted"), (5, "a/link"), (6, "gone/x")] {
        assert_eq!(bench.write(node, path, path), ExportOutcome::Written);
    }
    let error = bench.try_write(4, "a/directory", "a/directory").unwrap_err();
    assert!(
        matches!(&error, WorldError::Io { path, .. } if path == ".cortex/out/a/directory"),
        "{error}"
    );
    fs::remove_dir(bench.out("a/directory")).unwrap();
    bench.write(4, "a/directory", "a/directory");
    assert!(bench.verify(&[1, 2, 3, 4, 5, 6, 7]).is_empty());
    assert_eq!(
        fs::read_to_string(bench.out("a/target")).unwrap(),
        "a/link",
        "what the link led to is untouched"
    );
}

#[test]
fn racy_outputs_are_read_again() {
    let bench = Bench::new();
    let text = b"text";
    bench
        .exports
        .write(bench.dir.path(), 1, "a", Digest::of(text), text, now())
        .unwrap();
    bench.exports.take_dirty_rows();
    assert!(bench.exports.damaged_exports(bench.dir.path(), &[1], now()).is_empty());
    assert!(bench.exports.take_dirty_rows().is_empty());
    assert!(bench.verify(&[1]).is_empty());
    assert_eq!(bench.exports.take_dirty_rows().len(), 1, "the stamp has settled");
    assert!(bench.verify(&[1]).is_empty() && bench.exports.take_dirty_rows().is_empty());
}

#[test]
fn writes_stay_in_the_output_folder() {
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    for path in ["../x", "/x", "a/../../x", "", "a//b", "./a"] {
        assert!(matches!(bench.try_write(1, path, "x"), Err(WorldError::Leaves { .. })), "{path}");
    }
    bench.write(1, "a/x", "x");
    fs::remove_dir_all(bench.out("a")).unwrap();
    symlink(outside.path(), bench.out("a")).unwrap();
    assert_eq!(bench.verify(&[1]), [1]);
    assert!(bench.try_write(1, "a/x", "x").is_err());
    fs::write(outside.path().join("x"), "x").unwrap();
    bench.exports.remove_export(bench.dir.path(), 1).unwrap();
    assert!(outside.path().join("x").exists(), "nor removed");

    let other = Bench::new();
    symlink(outside.path(), other.dir.path().join(".cortex")).unwrap();
    assert!(other.try_write(1, "a", "x").is_err());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a_path_has_one_owner() {
    let mut bench = Bench::new();
    bench.write(300, "a", "x");
    bench.reload();
    assert_eq!(
        bench.try_write(2, "a", "x"),
        Err(WorldError::Claimed {
            path: "a".into(),
            first: 300,
            second: 2
        })
    );
    bench.write(300, "b", "x");
    assert!(!bench.out("a").exists(), "a node has one file");
    bench.write(2, "a", "y");
    bench.exports.remove_export(bench.dir.path(), 300).unwrap();
    bench.exports.remove_export(bench.dir.path(), 300).unwrap();
    assert!(!bench.out("b").exists());
    assert_eq!(
        (bench.exports.path_of_node(300), bench.exports.path_of_node(2)),
        (None, Some("a".into()))
    );
    let rows = bench.exports.take_dirty_rows();
    assert_eq!(
        rows.iter().map(|(_, row)| row.is_some()).collect::<Vec<_>>(),
        [true, false],
        "an empty page goes"
    );
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_that_names_the_file() {
    let bench = Bench::new();
    fs::create_dir_all(bench.out("")).unwrap();
    fs::write(bench.out("ro"), "a file where a directory should be").unwrap();
    let error = bench.try_write(1, "ro/x", "x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "'.cortex/out/ro/x' cannot be written: .cortex/out/ro is not a folder"
    );
    std::os::unix::fs::symlink("ro", bench.out("link")).unwrap();
    let error = bench.try_write(1, "link/x", "x").unwrap_err().to_string();
    assert!(
        error.ends_with(": .cortex/out/link is a link, and links are not followed here"),
        "{error}"
    );
    fs::create_dir(bench.out("locked")).unwrap();
    fs::set_permissions(bench.out("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(bench.out("locked/probe"), "").is_err() {
        assert!(matches!(
            bench.try_write(1, "locked/x", "x"),
            Err(WorldError::Io { what: "written", .. })
        ));
    } else {
        assert_eq!(bench.write(1, "locked/x", "x"), ExportOutcome::Written, "root may write anywhere");
    }
}

#[test]
fn damaged_pages_are_left_out() {
    let bench = Bench::new();
    bench.write(1, "a", "x");
    bench.write(300, "b", "x");
    let rows: Vec<(Vec<u8>, Vec<u8>)> = bench
        .exports
        .take_dirty_rows()
        .into_iter()
        .map(|(key, row)| (key, row.unwrap()))
        .collect();
    for cut in 0..rows[0].1.len() {
        let mut damaged = rows.clone();
        damaged[0].1.truncate(cut);
        let exports = Exports::from_rows(damaged);
        assert_eq!(exports.damaged_exports(bench.dir.path(), &[1, 300], later()), [1]);
        if cut == 0 {
            let again = exports.write(bench.dir.path(), 1, "a", Digest::of(b"x"), b"x", later());
            assert_eq!(
                again,
                Ok(ExportOutcome::AlreadyPresent),
                "the file is there; only its record was lost"
            );
        }
    }
    let swapped = vec![(rows[0].0.clone(), rows[1].1.clone()), (b"?".to_vec(), rows[0].1.clone())];
    assert_eq!(
        Exports::from_rows(swapped).damaged_exports(bench.dir.path(), &[1, 300], later()),
        [1, 300]
    );
}
