//! Results in a file: export from a store and import into another one.

use crate::care::aged;
use std::fs;

#[test]
fn results_are_handed_on_in_a_file() {
    let bench = aged();
    let file = bench.beside("results");
    let file = file.to_str().expect("text");
    let ran = bench.run(&["store", "export", "//index:total", "-o", file]);
    assert!(ran.code == 0 && ran.out.starts_with("3 results of 1 target in "), "{ran:?}");
    let first = fs::read(file).expect("the file");
    assert_eq!(bench.run(&["store", "export", "//index:total", "-o", file]).code, 0);
    assert_eq!(fs::read(file).expect("the file"), first, "the same results, the same bytes");
    // Another store: everything is found.
    let other = bench.beside("other-store");
    let other = other.to_str().expect("text");
    let ran = bench.run(&["store", "import", file, "--store", other]);
    assert!(
        ran.code == 0 && ran.out.starts_with("3 results stored, 0 already present"),
        "{ran:?}"
    );
    let ran = bench.run(&["build", "//index:total", "--store", other]);
    assert!(ran.code == 0 && ran.err.contains("3 cached"), "{ran:?}");
    let ran = bench.run(&["store", "import", file, "--store", other]);
    assert!(ran.out.starts_with("0 results stored, 3 already present"), "{ran:?}");
    assert_eq!(bench.run(&["store", "verify", "--store", other]).code, 0);
    fs::write(file, &first[..first.len() / 2]).expect("cut");
    let ran = bench.run(&["store", "import", file, "--store", other]);
    assert!(ran.code == 2 && ran.err.contains("E_NOT_RESULTS"), "{ran:?}");
    assert!(ran.err.contains("results imported before the damage are sound"), "{ran:?}");
    let manifest = bench.root().join("cortex.toml");
    let ran = bench.run(&["store", "import", manifest.to_str().expect("text"), "--store", other]);
    assert!(
        ran.code == 2 && ran.err.contains("E_NOT_RESULTS") && ran.err.contains("nothing was imported"),
        "{ran:?}"
    );
    let new = bench.beside("no-store");
    let ran = bench.run(&["store", "import", "/nowhere/at/all", "--store", new.to_str().expect("text")]);
    assert!(
        ran.code == 5 && ran.err.contains("E_IO]: /nowhere/at/all cannot be read: there is no such file\n") && ran.err.contains("help:"),
        "{ran:?}"
    );
    assert!(!new.exists(), "nothing is made for a file that is not there");
    assert_eq!(bench.run(&["log", "-n", "0"]).code, 2);
    let ran = bench.run(&["store", "export", "//index:total", "-o", "/nowhere/at/all"]);
    assert!(
        ran.code == 5
            && ran
                .err
                .contains("E_IO]: /nowhere/at/all cannot be written: its folder does not exist\n"),
        "{ran:?}"
    );
    // `-` is not a file by mistake.
    for args in [
        &["store", "export", "//index:total", "-o", "-"][..],
        &["report", "-"],
        &["build", "//index:total", "--events", "-"],
        &["build", "//index:total", "--profile", "-"],
    ] {
        let ran = bench.run(args);
        assert!(
            ran.code == 2
                && ran
                    .err
                    .contains("standard output is not supported here; write ./- for a file of that name"),
            "{ran:?}"
        );
    }
    assert!(!bench.root().join("-").exists());
}
