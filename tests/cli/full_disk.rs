//! Stores on a full or read-only disk: an error with a next step, and no loss.

use crate::bench::{Bench, Ran};
use crate::store::{built, modes_bind, noisy};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// Whether this user may create namespaces and mount in them.
fn can_mount() -> bool {
    let tried = Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        .output();
    tried.is_ok_and(|output| output.status.success())
}

/// Runs a shell script: `$1` is the program, `$2` the folder beside the workspace.
fn script(bench: &Bench, before: &[&str], script: &str) -> Ran {
    let program = bench.command(&[]);
    let mut command = Command::new(before[0]);
    command
        .args(&before[1..])
        .args(["sh", "-c", script, "sh"])
        .args([program.get_program(), bench.beside("small").as_os_str()])
        .current_dir(bench.root())
        .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null());
    bench.ran(command.output().expect("a shell"))
}

/// Builds with new documents until the disk is full, then frees space by a collection.
const FILL: &str = r#"
say() { echo "= $1 $2"; }
noise() { for name in a b c d; do head -c 50000 /dev/urandom | base64 -w0 > docs/$name.md; done; }
build() { "$cortex" build //docs/... //index:total; }
noise; build; say first $?
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
    noise; build; code=$?
    [ $code = 0 ] || break
done
say full $code
"$cortex" store verify; say verify $?
"$cortex" gc --older-than 0 --keep-versions 0; say gc $?
"$cortex" store verify; say verified $?
build; say after $?
cat docs/a.md docs/b.md docs/c.md docs/d.md | cmp - .cortex/out/total.txt; say same $?
"#;

/// Checks the results of the script, at whatever size the disk was full.
fn is_full_and_then_well(ran: &Ran) {
    assert_eq!(ran.code, 0, "{ran:?}");
    let said: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("= ")).collect();
    let wanted = [
        "= first 0", "= full 5", "= verify 0", "= gc 0", "= verified 0", "= after 0", "= same 0",
    ];
    assert_eq!(said, wanted, "{ran:?}");
    assert!(ran.err.contains("E_NO_SPACE") && ran.err.contains("help:"), "{ran:?}");
}

#[test]
fn a_full_disk_is_told_and_collecting_makes_room() {
    if !can_mount() {
        eprintln!("no small file system can be mounted here; the limits of files are tried instead, in another test");
        return;
    }
    for size in ["2m", "3m"] {
        let bench = noisy();
        // The workspace itself is on another disk.
        let mount = format!("cortex=$1; mount -t tmpfs -o size={size} tmpfs \"$2\" || exit 9; export CORTEX_STORE=\"$2/store\"\n");
        let ran = script(&bench, &["unshare", "-rm"], &(mount + FILL));
        is_full_and_then_well(&ran);
    }
}

/// Fills the disk to the last byte, with no free page in the store's file, because it was compacted by copying. Only the reserve is left.
const NOT_A_BYTE: &str = r#"
say() { echo "= $1 $2"; }
noise() { for name in a b c d; do head -c 100000 /dev/urandom | base64 -w0 > docs/$name.md; done; }
build() { "$cortex" build //docs/... //index:total; }
left() { df --output=avail -B1 "$small" | tail -n 1 | tr -d " "; }
there() { [ -e "$small/store/store.reserve" ] && echo there || echo gone; }
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do noise; build || exit 9; done
"$cortex" gc --older-than 0 --keep-versions 10 || exit 9
noise; build || exit 9; "$cortex" gc --older-than 0 --keep-versions 8 || exit 9
say reserve "$(there)"
cat /dev/zero > "$small/ballast"
say left "$(left)"
noise; build; say full $?
"$cortex" gc --older-than 0 --keep-versions 0; say gc $?
say reserve "$(there)"
"$cortex" store verify; say verified $?
build; say after $?
cat docs/a.md docs/b.md docs/c.md docs/d.md | cmp - .cortex/out/total.txt; say same $?
rm "$small/ballast"
for round in 1 2 3 4 5 6; do noise; build || exit 9; done
say reserve "$(there)"
"#;

#[test]
fn a_collection_begins_where_not_a_byte_is_free() {
    if !can_mount() {
        eprintln!("no small file system can be mounted here; nothing to see");
        return;
    }
    let bench = noisy();
    let mount = "cortex=$1; small=$2; mount -t tmpfs -o size=40m tmpfs \"$2\" || exit 9; export CORTEX_STORE=\"$2/store\"\n";
    let ran = script(&bench, &["unshare", "-rm"], &(mount.to_owned() + NOT_A_BYTE));
    assert_eq!(ran.code, 0, "{ran:?}");
    let said: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("= ")).collect();
    let wanted = [
        "= reserve there", "= left 0", "= full 5", "= gc 0", "= reserve gone", "= verified 0", "= after 0", "= same 0", "= reserve there",
    ];
    assert_eq!(said, wanted, "{ran:?}");
}

#[test]
fn a_file_that_may_not_grow_is_told_and_the_store_survives() {
    let bench = noisy();
    let limited = format!("cortex=$1; trap '' XFSZ; ulimit -f 3000\n{FILL}");
    let ran = script(&bench, &["env"], &limited);
    is_full_and_then_well(&ran);
    // Without the limit, everything works.
    let ran = bench.run(&["build", "//docs/...", "//index:total"]);
    assert!(ran.code == 0 && ran.err.contains("up to date"), "{ran:?}");
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
}

/// Runs a shell script while the store is read-only; `None` if this user can always write.
fn on_a_store_that_may_not_be_written(bench: &Bench, each: &str) -> Option<Ran> {
    if can_mount() {
        let mount = "mount --bind \"$CORTEX_STORE\" \"$CORTEX_STORE\" && mount -o remount,bind,ro \"$CORTEX_STORE\" || exit 9\n";
        return Some(script(bench, &["unshare", "-rm"], &(mount.to_owned() + each)));
    }
    if !modes_bind(bench) {
        eprintln!("neither mounts nor modes keep this user from writing; nothing to see");
        return None;
    }
    let modes = |folder, file| {
        fs::set_permissions(bench.store(), Permissions::from_mode(folder)).expect("modes");
        fs::set_permissions(bench.store().join("store.redb"), Permissions::from_mode(file)).expect("modes");
    };
    modes(0o500, 0o400);
    let ran = script(bench, &["env"], each);
    modes(0o700, 0o600);
    Some(ran)
}

/// Questions about code by name build first: if nothing has to run, they are answered, with a note that nothing was stored.
#[test]
fn questions_are_answered_from_a_store_that_may_not_be_written() {
    let bench = Bench::memotree();
    assert_eq!(bench.run(&["build", "//..."]).code, 0);
    let questions = [
        "outline NodeStore", "resolve NodeStore", "search Node", "usages NodeStore", "semantic NodeStore", "source NodeStore",
        "deps NodeStore", "window show",
    ];
    let ask = |question: &str| bench.run(&question.split(' ').collect::<Vec<_>>()).out;
    let wanted: String = questions
        .iter()
        .map(|question| format!("{}= 0 {question}\n", ask(question)))
        .collect();
    let before = fs::read(bench.store().join("store.redb")).expect("store");
    let each: String = questions
        .iter()
        .map(|question| format!("\"$1\" {question} 2>err; echo \"= $? {question}\"; grep -q N_NOT_FILED err || echo \"= filed\"\n"))
        .collect();
    let each = format!("touch cortex.toml src/*/*.cs\n{each}echo 'class New {{ }}' > src/New.cs\n\"$1\" outline New; echo \"= $? new\"\n");
    let Some(ran) = on_a_store_that_may_not_be_written(&bench, &each) else {
        return;
    };
    assert_eq!(ran.out, wanted + "= 5 new\n", "{ran:?}");
    assert!(ran.err.contains("E_STORE_IO"), "{ran:?}");
    assert!(
        fs::read(bench.store().join("store.redb")).expect("store") == before,
        "it was written to"
    );
}

#[test]
fn a_store_that_may_not_be_written_can_be_looked_at_and_stays_as_it_is() {
    let bench = built();
    // Read-only commands do not need to write; commands that must store something fail.
    let commands = [
        ("build //index:total", 5),
        ("status", 0),
        ("show //index:total", 5),
        ("show --allow-stale //index:total", 0),
        ("explain //index:total", 0),
        ("history //index:total", 0),
        ("diff //docs/docs/b.md:words", 2),
        ("query deps(//index:total)", 0),
        ("gc --older-than 0", 5),
        ("pin-version //index:total", 5),
        ("store verify", 0),
        ("store stats", 0),
        ("log", 0),
    ];
    let each: String = commands
        .iter()
        .map(|(command, _)| {
            let quoted = command.replace('(', "'(").replace(')', ")'");
            format!("\"$1\" {quoted} >/dev/null; echo \"= $? {command}\"\n")
        })
        .collect();
    // Nothing changed yet: current outputs are shown.
    let fresh = "\"$1\" show //index:total | grep -q text; echo \"= $? show of what is current\"\n";
    let touched = "touch docs/a.md; \"$1\" build '//docs/...' //index:total 2>err; echo \"= $? build of what is current\"; grep -c -e N_NOT_FILED -e 'up to date' err\n";
    let each = fresh.to_owned() + touched + "echo changed > docs/a.md\n" + &each;
    let each = each + "\"$1\" build //index:total --no-store; echo \"= $? without\"\n";
    let read = |name: &str| fs::read(bench.store().join(name)).expect("store");
    let before = read("store.redb");
    let Some(ran) = on_a_store_that_may_not_be_written(&bench, &each) else {
        return;
    };
    assert_eq!(ran.code, 0, "{ran:?}");
    let said: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("= ")).collect();
    assert_eq!(said.len(), commands.len() + 3, "{ran:?}");
    let (current, said) = said.split_at(2);
    assert_eq!(current, ["= 0 show of what is current", "= 0 build of what is current"], "{ran:?}");
    assert!(ran.out.contains("= 0 build of what is current\n2\n"), "{ran:?}");
    let (without, with) = said.split_last().expect("lines");
    let wanted: Vec<String> = commands.iter().map(|(command, code)| format!("= {code} {command}")).collect();
    assert_eq!(with, wanted, "{ran:?}");
    assert_eq!(*without, "= 0 without", "{ran:?}");
    assert!(ran.err.contains("E_STORE_IO") && ran.err.contains("help:"), "{ran:?}");
    assert!(!ran.err.contains("set aside") && !ran.err.contains("panicked"), "{ran:?}");
    assert!(read("store.redb") == before, "it was written to");
    assert_eq!(bench.run(&["build", "//index:total"]).code, 0);
    assert_eq!(bench.run(&["store", "verify"]).code, 0);
}

/// A shared folder on a disk that is full: one warning, a build as without a cache, and nothing half-written is taken later.
#[test]
fn a_full_shared_folder_costs_time_only() {
    if !can_mount() {
        eprintln!("no small file system can be mounted here");
        return;
    }
    let bench = Bench::memotree();
    let manifest = fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
    fs::create_dir(bench.beside("small")).expect("a folder");
    let share = bench.beside("small").join("share");
    let remote = format!("\n[remote]\nendpoint = \"dir:{}\"\nwrite = \"always\"\n", share.display());
    bench.write("cortex.toml", &(manifest + &remote));
    let ran = script(
        &bench,
        &["unshare", "-rm"],
        r#"
mount -t tmpfs -o size=100k tmpfs "$2" || exit 9
"$1" warm //...; echo "= warm $?"
rm -rf .cortex
CORTEX_STORE="$(dirname "$2")/another" "$1" build //...; echo "= build $?"
find .cortex/out -type f | wc -l
"#,
    );
    let said: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("= ")).collect();
    assert_eq!((ran.code, &said[..]), (0, &["= warm 7", "= build 0"][..]), "{ran:?}");
    assert_eq!(ran.err.matches("W_REMOTE_WRITE").count(), 2, "once a command: {}", ran.err);
    assert!(ran.err.contains("No space left on device"), "{}", ran.err);
}
