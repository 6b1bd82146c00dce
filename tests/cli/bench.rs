//! Test bench: a workspace and a store in a temporary folder, and runs of the program in it.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A temporary workspace.
pub struct Bench {
    folder: tempfile::TempDir,
}

/// Result of a run.
#[derive(Debug)]
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Two documents, a rule over each, a rule that reads all, and a failing one.
const MANIFEST: &str = r#"[workspace]
name = "bench"
rulesets = []

[producer.count]
uses = "command"
argv = ["wc", "-w", "{in.text}"]
sandbox = "off"

[producer.join]
uses = "command"
argv = ["cat", "{in.words}"]
sandbox = "off"

[producer.fail]
uses = "command"
argv = ["sh", "-c", "printf 'no \\033[31mluck\\n' >&2; exit 3"]
sandbox = "off"

[[rule]]
target = "//docs/{doc}:words"
each = { doc = "glob:docs/*.md" }
producer = "count"
inputs = { text = "//files/{doc}:bytes" }

[[rule]]
target = "//index:total"
producer = "join"
out = "total.txt"
inputs = { words = { each = "glob:docs/*.md", target = "//docs/{item}:words" } }

[[rule]]
target = "//index:broken"
producer = "fail"
inputs = { text = "//files/docs/a.md:bytes" }
"#;

impl Bench {
    /// Returns a bench with an empty folder.
    pub fn empty() -> Self {
        let bench = Self {
            folder: tempfile::tempdir().expect("folder"),
        };
        std::fs::create_dir(bench.root()).expect("folder");
        bench
    }

    /// Returns a bench with the workspace of [`MANIFEST`].
    pub fn documents() -> Self {
        let bench = Self::empty();
        bench.write("cortex.toml", MANIFEST);
        bench.write("docs/a.md", "one two three\n");
        bench.write("docs/b.md", "four five\n");
        bench
    }

    /// Returns a bench with a copy of the C# fixture.
    pub fn memotree() -> Self {
        let bench = Self::empty();
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/memotree"), &bench.root());
        bench
    }

    /// Returns the fixture with a target that blocks until a pipe is written to, and the pipe.
    pub fn waits() -> (Self, PathBuf) {
        let bench = Self::memotree();
        let pipe = bench.beside("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let manifest = std::fs::read_to_string(bench.root().join("cortex.toml")).expect("a manifest");
        let rule = format!(
            "\n[producer.wait]\nuses = \"command\"\nargv = [\"cat\", \"{}\", \"{{in.text}}\"]\nsandbox = \"off\"\n\n\
             [[rule]]\ntarget = \"//index:waits\"\nproducer = \"wait\"\ninputs = {{ text = \"//files/cortex.toml:bytes\" }}\n",
            pipe.display()
        );
        bench.write("cortex.toml", &format!("{manifest}{rule}"));
        (bench, pipe)
    }

    /// Locks a file as a build that never ends does.
    pub fn lock(&self, path: &Path) -> File {
        let mut lock = File::options().write(true).open(path).expect("a lock");
        lock.lock().expect("locked");
        let text = format!("pid {} (cortex build) since 1", std::process::id());
        std::io::Write::write_all(&mut lock, format!("{text:<120}").as_bytes()).expect("a text");
        lock
    }

    /// Locks the checkout, which was built before.
    pub fn lock_checkout(&self) -> File {
        let locks = std::fs::read_dir(self.store().join("views")).expect("checkouts");
        let locks = locks.map(|entry| entry.expect("a file").path());
        let own = |path: &PathBuf| path.extension().is_some_and(|end| end == "lock") && !path.to_string_lossy().ends_with(".watch.lock");
        // Its other lock files have the numbers that follow.
        self.lock(&locks.filter(own).min().expect("a checkout"))
    }

    /// Opens a pipe for writing once another process reads it; `reader` must not end before.
    pub fn write_end(pipe: &Path, reader: &mut Child) -> File {
        let no_wait = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        loop {
            match File::options().write(true).custom_flags(no_wait).open(pipe) {
                Ok(end) => return end,
                Err(error) => assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::NXIO.raw_os_error()), "{error}"),
            }
            let ended = reader.try_wait().expect("a child");
            assert!(ended.is_none(), "it ended before it read the pipe: {ended:?}");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// Returns the workspace's folder.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    /// Returns the store's folder.
    pub fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// Returns a path beside the workspace.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the workspace.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, text).expect("file");
    }

    /// Replaces a text in a file of the workspace, which must contain it.
    pub fn change(&self, path: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.root().join(path)).expect("file");
        assert!(text.contains(from), "{path} does not hold {from}");
        self.write(path, &text.replace(from, to));
    }

    /// Returns the program as a command in the workspace.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.prepared(env!("CARGO_BIN_EXE_cortex"));
        command.args(args);
        command
    }

    /// Runs a shell line in which `cortex` is the program; errors are merged into the output.
    pub fn shell(&self, line: &str) -> Ran {
        let program = Path::new(env!("CARGO_BIN_EXE_cortex"));
        let mut path = program.parent().expect("a folder").as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = self.prepared("sh");
        command.args(["-c", &format!("exec 2>&1; {line}")]).env("PATH", path);
        self.ran(command.output().expect("sh starts"))
    }

    /// Returns a program as a command in the workspace, without settings of this machine.
    fn prepared(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("CORTEX_STORE", self.store())
            .env("HOME", self.folder.path())
            .env("CORTEX_TRUST", "all")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.ran(self.command(args).output().expect("the program starts"))
    }

    /// Converts a finished run to text, with variable parts replaced.
    pub fn ran(&self, output: Output) -> Ran {
        let text = |bytes: Vec<u8>| self.filtered(&String::from_utf8(bytes).expect("text"));
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Filters a text as [`Ran::all`] does.
    pub fn as_shown(&self, text: &str) -> String {
        times(&self.filtered(text))
    }

    /// Replaces folders, durations, times and digests with words.
    fn filtered(&self, text: &str) -> String {
        let text = text.replace(&*self.folder.path().to_string_lossy(), "TEMP");
        text.split_inclusive(['\n', ' ', '(', ')', ',', '"'])
            .map(|piece| self.word(piece))
            .collect()
    }

    fn word(&self, piece: &str) -> String {
        let end = piece.trim_end_matches(['\n', ' ', '(', ')', ',', '"']);
        let tail = &piece[end.len()..];
        let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if matches!(end.len(), 12 | 64) && hex(end) && end.bytes().any(|byte| byte.is_ascii_digit()) {
            return format!("DIGEST{tail}");
        }
        let moment = end.len() == 10 && end.starts_with("20") && end.as_bytes()[4] == b'-'
            || end.len() == 5 && end.as_bytes()[2] == b':' && end.starts_with(|c: char| c.is_ascii_digit());
        if moment {
            return format!("WHEN{tail}");
        }
        piece.to_owned()
    }
}

impl Ran {
    /// Joins code, output and errors to one text.
    pub fn all(&self) -> String {
        let timeless = times(&format!("{}{}", self.out, self.err));
        format!("exit {}\n{timeless}", self.code)
    }

    /// Parses standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Replaces durations (`12 ms`, `1.4 s`, `340 µs`) with TIME.
fn times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        let len = rest[at..]
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len() - at);
        let after = &rest[at + len..];
        let unit = [" µs", " ms", " s"].into_iter().find(|unit| {
            after
                .strip_prefix(unit)
                .is_some_and(|tail| !tail.starts_with(char::is_alphanumeric))
        });
        match unit {
            Some(unit) => {
                out.push_str("TIME");
                rest = &after[unit.len()..];
            }
            None => {
                out.push_str(&rest[at..at + len]);
                rest = after;
            }
        }
    }
    out + rest
}

/// Runs git in a folder, with a neutral identity and without settings of this machine.
pub fn git(folder: &Path, args: &[&str]) {
    let ran = Command::new("git")
        .args([
            "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main",
        ])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git starts");
    assert!(ran.status.success(), "{args:?} {}", String::from_utf8_lossy(&ran.stderr));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("folder");
    for entry in std::fs::read_dir(from).expect("folder") {
        let entry = entry.expect("entry");
        let target = to.join(entry.file_name());
        if entry.file_name() == ".cortex" {
            continue;
        }
        if entry.file_type().expect("type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copy");
        }
    }
}
