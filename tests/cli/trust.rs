//! Untrusted programs are not run.

use crate::bench::{Bench, Ran};

/// Runs without the variable that trusts everything.
pub fn run(bench: &Bench, args: &[&str]) -> Ran {
    let mut command = bench.command(args);
    bench.ran(command.env_remove("CORTEX_TRUST").output().expect("runs"))
}

#[test]
fn programs_wait_until_someone_has_looked_at_them() {
    let bench = Bench::documents();
    let refused = run(&bench, &["build", "//docs/..."]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let actual = "commands that this workspace runs, or addresses that it sends keys to, are not trusted yet";
    assert_eq!(refused.err.matches(actual).count(), 1, "{refused:?}");
    assert!(
        refused.err.contains("cortex trust --list") && refused.err.contains("found: wc -w"),
        "{refused:?}"
    );

    let listed = run(&bench, &["trust", "--list"]);
    assert_eq!(
        listed.out,
        "waits    producer.count  wc -w {in.text}  sandbox=\"off\"\nwaits    producer.fail   sh -c 'printf '\\''no \\033[31mluck\\n'\\'' >&2; exit 3'  sandbox=\"off\"\nwaits    producer.join   cat {in.words}  sandbox=\"off\"\n"
    );
    assert_eq!(run(&bench, &["build", "//docs/..."]).code, 1, "looking is not trusting");

    let trusted = run(&bench, &["trust"]);
    assert_eq!(trusted.out.matches("trusted").count(), 3, "{trusted:?}");
    assert_eq!(run(&bench, &["build", "//docs/..."]).code, 0);

    // Another argument is another program; the others stay trusted.
    let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("manifest");
    bench.write("cortex.toml", &manifest.replace("\"-w\"", "\"-c\""));
    assert_eq!(run(&bench, &["build", "//docs/..."]).code, 1);
    let listed = run(&bench, &["trust", "--list", "--output", "json"]).json();
    let states: Vec<_> = listed["programs"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["trusted"].as_bool())
        .collect();
    assert_eq!(states, [Some(false), Some(true), Some(true)]);
    // So is a relaxed bound.
    bench.write(
        "cortex.toml",
        &manifest.replacen("sandbox = \"off\"", "sandbox = \"off\"\ntimeout = 1000", 1),
    );
    bench.write("docs/a.md", "moved");
    assert_eq!(run(&bench, &["build", "//docs/..."]).code, 1);
    bench.write("cortex.toml", &manifest);
    assert_eq!(run(&bench, &["build", "//docs/..."]).code, 0);

    assert_eq!(run(&bench, &["trust", "--revoke"]).code, 0);
    bench.write("docs/a.md", "moved again");
    assert_eq!(run(&bench, &["build", "//docs/..."]).code, 1);
}

#[test]
fn a_checkout_brings_no_trust_of_its_own() {
    let bench = Bench::documents();
    assert_eq!(run(&bench, &["trust"]).code, 0);
    // The same definitions in another repository are untrusted.
    let other = bench.beside("other");
    std::fs::create_dir_all(other.join("docs")).expect("folders");
    for file in ["cortex.toml", "docs/a.md"] {
        std::fs::copy(bench.root().join(file), other.join(file)).expect("copied");
    }
    let other = other.to_string_lossy().into_owned();
    assert_eq!(run(&bench, &["-C", &other, "--no-store", "build", "//docs/..."]).code, 1);
    // A list behind a link is neither read nor written.
    let state = bench.beside(".local/state/cortex");
    std::fs::remove_dir_all(&state).expect("removed");
    let elsewhere = bench.beside("elsewhere");
    std::fs::create_dir(&elsewhere).expect("folder");
    std::fs::create_dir_all(&state).expect("folder");
    std::os::unix::fs::symlink(&elsewhere, state.join("trusted")).expect("linked");
    assert_eq!(run(&bench, &["trust"]).code, 5);
    assert_eq!(std::fs::read_dir(&elsewhere).expect("readable").count(), 0);
}

#[test]
fn looking_runs_nothing() {
    let bench = Bench::empty();
    bench.write(
        "cortex.toml",
        "[workspace]\nname = \"x\"\nrulesets = []\n[producer.p]\nuses = \"command\"\nshell = \"touch MARK; echo x\"\nsandbox = \"off\"\n[[rule]]\ntarget = \"//a:b\"\nproducer = \"p\"\n",
    );
    let mark = bench.beside("mark");
    bench.change("cortex.toml", "MARK", &mark.to_string_lossy());
    for args in [
        &["query", "deps(//...)"][..],
        &["status"],
        &["trust", "--list"],
        &["trust"],
        &["explain", "//a:b"],
        &["log"],
        &["gc", "--dry-run"],
        &["build", "--dry-run", "//..."],
    ] {
        bench.run(args);
        assert!(!mark.exists(), "{args:?}");
    }
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    assert!(mark.exists());
}

#[test]
fn a_remote_cache_is_not_used_before_someone_has_looked() {
    let bench = Bench::empty();
    let mark = bench.beside("mark");
    let manifest = |remote: &str| {
        format!(
            "[workspace]\nname = \"x\"\nrulesets = [\"csharp\"]\n[remote]\nendpoint = \"grpc://127.0.0.1:9\"\nwrite = \"always\"\n{remote}\n"
        )
    };
    bench.write("A.cs", "class A {}\n");
    let helper = format!("credential_helper = [\"sh\", \"-c\", \"touch {}\"]", mark.display());
    for remote in [
        "",
        "instance = \"main\"",
        "headers = { x-team = \"docs\" }",
        "headers = { x-team = \"$HOME\" }",
        "token_env = \"HOME\"",
        "token_file = \"/etc/hostname\"",
        &helper,
    ] {
        bench.write("cortex.toml", &manifest(remote));
        let built = run(&bench, &["build", "//..."]);
        assert_eq!(built.code, 0, "{remote}: {built:?}");
        assert_eq!(built.err.matches("W_UNTRUSTED").count(), 1, "{remote}: {built:?}");
        assert_eq!(run(&bench, &["remote", "stats"]).out, "No remote cache was used.\n", "{remote}");
        let warmed = run(&bench, &["warm", "//..."]);
        assert_eq!((warmed.code, warmed.err.contains("E_UNTRUSTED")), (7, true), "{remote}: {warmed:?}");
        let asked = run(&bench, &["remote", "ping"]);
        assert_eq!((asked.code, asked.err.contains("E_UNTRUSTED")), (7, true), "{remote}: {asked:?}");
        assert!(!mark.exists());
        let listed = run(&bench, &["trust", "--list"]);
        assert!(listed.out.contains("waits    remote"), "{remote}: {listed:?}");
        bench.write("cortex.toml", &manifest(&format!("{remote}\nrequired = true")));
        bench.write("A.cs", &format!("// {remote}\nclass A {{}}\n"));
        assert_eq!(run(&bench, &["build", "//..."]).code, 7, "{remote}");
    }
    assert_eq!(run(&bench, &["trust"]).code, 0);
    run(&bench, &["remote", "ping"]);
    assert!(mark.exists(), "it was asked");
    // Each part of the destination belongs to the trusted definition; the reading and writing options do not.
    let waits = |remote: &str, port: u16| {
        bench.write("cortex.toml", &manifest(remote).replace(":9\"", &format!(":{port}\"")));
        run(&bench, &["trust", "--list"]).out.contains("waits    remote")
    };
    assert!(waits("", 9));
    assert_eq!(run(&bench, &["trust"]).code, 0);
    assert!(
        !waits("", 9)
            && !waits("read = false", 9)
            && waits("", 10)
            && waits("instance = \"b\"", 9)
            && waits("headers = { x-a = \"b\" }", 9)
    );
}

#[test]
fn workers_are_given_nothing_before_someone_has_looked() {
    let bench = Bench::empty();
    bench.write("A.cs", "class A {}\n");
    let manifest = |more: &str| {
        format!(
            "[workspace]\nname = \"x\"\nrulesets = [\"csharp\"]\n[remote]\nendpoint = \"grpc://127.0.0.1:9\"\nread = false\nexecute = true\n{more}\n"
        )
    };
    bench.write("cortex.toml", &manifest("worker = \"w\""));
    let built = run(&bench, &["build", "//..."]);
    assert_eq!((built.code, built.err.matches("W_UNTRUSTED").count()), (0, 1), "{built:?}");
    let listed = run(&bench, &["trust", "--list"]);
    let place = "sends  endpoint=\"grpc://127.0.0.1:9\"  instance=\"\"";
    let rows = format!("waits    remote          {place}\nwaits    remote.execute  {place}  upload_inputs=true  worker=\"w\"\n");
    assert_eq!(listed.out, rows);
    run(&bench, &["trust"]);
    bench.write("A.cs", "class A { int a; }\n");
    let built = run(&bench, &["build", "//..."]);
    // The worker program does not exist: one warning, and everything runs locally.
    assert_eq!((built.code, built.err.matches("W_WORKERS").count()), (0, 1), "{built:?}");
    assert!(built.err.contains("there is no program for workers at"), "{built:?}");
    let asked = run(&bench, &["remote", "ping"]);
    assert_eq!((asked.code, asked.err.contains("E_WORKERS")), (7, true), "{asked:?}");
    // Another program is another definition.
    bench.write("cortex.toml", &manifest("worker = \"v\""));
    assert!(run(&bench, &["build", "//..."]).err.contains("W_UNTRUSTED"));
}

#[test]
fn a_worker_makes_what_a_shard_asks_for_and_nothing_of_anything_else() {
    let bench = Bench::empty();
    bench.write("in", "no shard");
    let refused = run(&bench, &["produce-shard", "in", "out"]);
    assert_eq!((refused.code, refused.err.contains("E_SHARD")), (2, true), "{refused:?}");
    let missing = run(&bench, &["produce-shard", "none", "out"]);
    assert_eq!((missing.code, missing.err.contains("E_IO")), (5, true), "{missing:?}");
    assert!(!bench.root().join("out").exists());
}
