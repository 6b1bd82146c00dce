//! `cortex check` and `cortex fmt`.

use crate::bench::Bench;
use std::fs;

#[test]
fn a_manifest_is_checked_and_formatted() {
    let bench = Bench::documents();
    let path = bench.root().join("cortex.toml");
    assert_eq!(bench.run(&["fmt"]).code, 0);
    let formatted = fs::read_to_string(&path).expect("a manifest");
    assert_eq!(bench.run(&["fmt", "--check"]).out, "cortex.toml is formatted\n");
    let loose = formatted.replace(" = ", "   =  ");
    assert_ne!(loose, formatted);
    fs::write(&path, &loose).expect("written");
    let ran = bench.run(&["fmt", "--check"]);
    assert!(ran.code == 1 && ran.out.contains("run cortex fmt"), "{ran:?}");
    assert_eq!(fs::read_to_string(&path).expect("a manifest"), loose, "--check writes nothing");
    assert_eq!(bench.run(&["fmt"]).out, "formatted cortex.toml\n");
    assert_eq!(fs::read_to_string(&path).expect("a manifest"), formatted);

    assert!(bench.run(&["check"]).out.starts_with("cortex.toml is valid: "));
    let broken = format!("{formatted}\n[store]\nmax_seize = \"2 GB\"\n");
    fs::write(&path, &broken).expect("written");
    for command in ["check", "fmt"] {
        let ran = bench.run(&[command]);
        assert!(ran.code == 2 && ran.err.contains("did you mean 'max_size'?"), "{command}: {ran:?}");
    }
    assert_eq!(
        fs::read_to_string(&path).expect("a manifest"),
        broken,
        "what cannot be used is not touched"
    );
    let schema = bench.run(&["check", "--schema"]).json();
    assert!(schema["properties"]["rule"].is_object());
}

#[test]
fn a_ruleset_brings_those_that_it_builds_on() {
    let bench = Bench::empty();
    bench.write("cortex.toml", "[workspace]\nname = \"p\"\nrulesets = [\"embeddings\"]\n");
    bench.write("a.cs", "class A {}\n");
    assert_eq!(bench.run(&["check"]).code, 0);
    assert_eq!(bench.run(&["build", "//index:vectors"]).code, 0);
}
