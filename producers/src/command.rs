//! `command`: a program whose standard output is the output blob.
//!
//! Parameters: `argv` (no shell unless it names one), `timeout` in seconds (default 600). In an argument, `{in.ROLE}` stands for the name of
//! a file holding that input, `{label}` for the node's label; an argument that is just `{in.ROLE}` becomes as many arguments as a list
//! role has inputs. The program runs in an empty folder of its own with only `PATH` from the environment, `LC_ALL=C.UTF-8` and `TZ=UTC`.
//! It is not confined: what it reads beyond its inputs is on its own honour.

use crate::scratch::Scratch;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Pool, Producer, ProducerId, Registry, Sees};
use engine::values::diagnostic::Diagnostic;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Runs programs.
pub struct CommandProducer;

/// Adds `command`.
pub fn register(registry: &mut Registry) {
    registry.add(CommandProducer);
}

/// A program may say this much on standard output.
const MAX_OUTPUT: usize = 256 << 20;
/// This much of what it says on standard error is kept.
const MAX_STDERR: usize = 64 << 10;
const DEFAULT_TIMEOUT: u64 = 600;

impl Producer for CommandProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new("command", 1)
    }

    fn pool(&self, _: &Params) -> Pool {
        Pool::Slow
    }

    fn sees(&self, params: &Params) -> Sees {
        let label = strings(params, "argv").is_some_and(|argv| argv.iter().any(|argument| argument.contains("{label}")));
        Sees { vars: false, label }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        let mut errors = Vec::new();
        let mut wrong = |param: &str, message: &str, hint: &str| {
            errors.push(ParamError {
                param: param.into(),
                message: message.into(),
                hint: Some(hint.into()),
                unknown: false,
            });
        };
        match strings(params, "argv") {
            Some(argv) if argv.first().is_some_and(|program| !program.is_empty()) => {}
            _ => wrong(
                "argv",
                "'argv' must be a list of texts that begins with a program",
                "write argv = [\"wc\", \"-w\", \"{in.text}\"]",
            ),
        }
        if params
            .get("timeout")
            .is_some_and(|timeout| timeout.as_u64().is_none_or(|seconds| seconds == 0))
        {
            wrong("timeout", "'timeout' must be a whole number of seconds", "write timeout = 600");
        }
        // Switches belong to the rules: an input's `if` names one.
        let known = |name: &str, value: &serde_json::Value| matches!(name, "argv" | "timeout") || value.is_boolean();
        for (name, _) in params.iter().filter(|(name, value)| !known(name, value)) {
            let error = ParamError::unknown(name, &["argv", "timeout"]);
            let switches = "it has argv, timeout, and switches (true or false) for the `if` of inputs";
            let hint = error
                .hint
                .filter(|hint| hint.starts_with("did"))
                .unwrap_or_else(|| switches.to_owned());
            errors.push(ParamError { hint: Some(hint), ..error });
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "PATH is the one variable that programs get: without it none is found"
    )]
    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let mut scratch = Scratch::take().map_err(|error| io("a folder for it cannot be made", &error))?;
        let argv = stage(&mut scratch, inputs)?;
        let (program, arguments) = argv.split_first().ok_or_else(|| Failure::permanent("'argv' is empty"))?;
        let seconds = inputs
            .params
            .get("timeout")
            .and_then(serde_json::Value::as_u64)
            .unwrap_or(DEFAULT_TIMEOUT);
        let mut child = Command::new(find(program).as_deref().unwrap_or(Path::new(program)))
            .arg0(program)
            .args(arguments)
            .current_dir(scratch.path())
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| not_started(program, &error))?;
        // A wait that no clock can express is a wait without end.
        let deadline = Instant::now().checked_add(Duration::from_secs(seconds));
        let heard =
            listen(&mut child, inputs, deadline).and_then(|heard| ended(&mut child, inputs, deadline).map(|status| (heard, status)));
        if heard.is_err() {
            end(&mut child);
        }
        let ((stdout, stderr), status) = heard.map_err(|stop| stop.failure(program, seconds))?;
        scratch.give_back();
        let said = String::from_utf8_lossy(&stderr).into_owned();
        if !status.success() {
            let why = Diagnostic::error("E_COMMAND", format!("'{program}' failed: {status}"));
            let why = if said.trim().is_empty() {
                why
            } else {
                why.found(said.trim().chars().take(2_000).collect::<String>())
            };
            return Err(Failure::Permanent(Box::new(why.hint("run it by hand on the same inputs"))));
        }
        let mut output = Output::new(stdout);
        if !said.trim().is_empty() {
            output.diagnostics.push(
                Diagnostic::warning("W_STDERR", format!("'{program}' wrote to standard error"))
                    .found(said.trim().chars().take(2_000).collect::<String>()),
            );
        }
        Ok(output)
    }
}

/// Where `PATH` has the program. With a whole path a program is spawned; with a name it would be forked, which copies the page tables of
/// this process every time.
#[allow(clippy::disallowed_methods, reason = "programs are given PATH, and found by it")]
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return None;
    }
    let path = std::env::var_os("PATH")?;
    let runs = |file: &PathBuf| file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    std::env::split_paths(&path)
        .take_while(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(runs)
}

fn strings(params: &Params, name: &str) -> Option<Vec<String>> {
    params
        .get(name)?
        .as_array()?
        .iter()
        .map(|value| value.as_str().map(str::to_owned))
        .collect()
}

/// Writes the inputs into the folder and fills in the arguments.
fn stage(scratch: &mut Scratch, inputs: &Inputs<'_>) -> Result<Vec<String>, Failure> {
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (role, list) in inputs.roles {
        for (number, input) in list.iter().enumerate() {
            let name = if input.item.is_empty() {
                role.to_string()
            } else {
                format!("{role}.{number}")
            };
            scratch
                .put(&name, &input.bytes)
                .map_err(|error| io("an input cannot be staged", &error))?;
            files.entry(role).or_default().push(name);
        }
    }
    scratch.settle().map_err(|error| io("an input cannot be staged", &error))?;
    let mut argv = Vec::new();
    for argument in strings(inputs.params, "argv").unwrap_or_default() {
        let whole = argument
            .strip_prefix("{in.")
            .and_then(|rest| rest.strip_suffix('}'))
            .filter(|role| !role.contains(['{', '}']));
        match whole {
            Some(role) if inputs.roles.contains_key(role) => argv.extend(files.get(role).cloned().unwrap_or_default()),
            _ => argv.push(fill(&argument, &files, inputs)?),
        }
    }
    Ok(argv)
}

fn fill(argument: &str, files: &BTreeMap<&str, Vec<String>>, inputs: &Inputs<'_>) -> Result<String, Failure> {
    let mut filled = argument.replace("{label}", inputs.label);
    for (role, names) in files {
        filled = filled.replace(&format!("{{in.{role}}}"), &names.join(" "));
    }
    match filled.find("{in.").and_then(|at| filled[at..].split_once('}')) {
        Some((left, _)) => {
            let message = format!("the argument {argument:?} names the input {left}}}, which the rule does not give");
            let given: Vec<String> = files.keys().map(|role| format!("{{in.{role}}}")).collect();
            let hint = match given.as_slice() {
                [] => "give the rule this input".to_owned(),
                given => format!("give the rule this input, or name one it has: {}", given.join(", ")),
            };
            Err(Failure::Permanent(Box::new(Diagnostic::error("E_PRODUCER", message).hint(hint))))
        }
        None => Ok(filled),
    }
}

/// Why listening ended before the program did.
enum Stop {
    Cancelled,
    TimedOut,
    TooMuch,
    Broken(std::io::Error),
}

impl Stop {
    fn failure(self, program: &str, seconds: u64) -> Failure {
        let permanent = |message: String, hint: &str| Failure::Permanent(Box::new(Diagnostic::error("E_COMMAND", message).hint(hint)));
        match self {
            Self::Cancelled => Failure::Cancelled,
            Self::TimedOut => Failure::Transient(Box::new(
                Diagnostic::error("E_TIMEOUT", format!("'{program}' did not end within {seconds} s"))
                    .hint("give the producer a larger `timeout`"),
            )),
            Self::TooMuch => permanent(
                format!("'{program}' wrote more than {} MiB", MAX_OUTPUT >> 20),
                "write less, or several outputs",
            ),
            Self::Broken(error) => io("its output cannot be read", &error),
        }
    }
}

/// Reads both streams to their ends, looking up now and then to see whether to stop.
fn listen(child: &mut Child, inputs: &Inputs<'_>, deadline: Option<Instant>) -> Result<(Vec<u8>, Vec<u8>), Stop> {
    let mut streams = [child.stdout.take().map(Stream::Out), child.stderr.take().map(Stream::Err)];
    let mut texts = [Vec::new(), Vec::new()];
    let mut buffer = [0; 64 << 10];
    while streams.iter().any(Option::is_some) {
        told_to_stop(inputs, deadline)?;
        let open: Vec<usize> = (0..2).filter(|&at| streams[at].is_some()).collect();
        let ready: Vec<usize> = {
            let mut fds: Vec<PollFd<'_>> = open
                .iter()
                .filter_map(|&at| streams[at].as_ref())
                .map(|stream| match stream {
                    Stream::Out(out) => PollFd::from_borrowed_fd(out.as_fd(), PollFlags::IN),
                    Stream::Err(err) => PollFd::from_borrowed_fd(err.as_fd(), PollFlags::IN),
                })
                .collect();
            match poll(&mut fds, Some(&LOOK_UP)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(Stop::Broken(error.into())),
            }
            open.iter()
                .zip(&fds)
                .filter(|(_, fd)| !fd.revents().is_empty())
                .map(|(&at, _)| at)
                .collect()
        };
        for at in ready {
            let read = match &mut streams[at] {
                Some(Stream::Out(out)) => out.read(&mut buffer),
                Some(Stream::Err(err)) => err.read(&mut buffer),
                None => continue,
            };
            match read {
                Ok(0) => streams[at] = None,
                Ok(len) => texts[at].extend_from_slice(&buffer[..len]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Broken(error)),
            }
        }
        if texts[0].len() > MAX_OUTPUT {
            return Err(Stop::TooMuch);
        }
        texts[1].truncate(MAX_STDERR);
    }
    let [stdout, stderr] = texts;
    Ok((stdout, stderr))
}

enum Stream {
    Out(std::process::ChildStdout),
    Err(std::process::ChildStderr),
}

/// How long a wait lasts before it is seen whether to stop.
const LOOK_UP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

fn told_to_stop(inputs: &Inputs<'_>, deadline: Option<Instant>) -> Result<(), Stop> {
    if inputs.cancel.is_cancelled() {
        return Err(Stop::Cancelled);
    }
    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Err(Stop::TimedOut);
    }
    Ok(())
}

/// Waits for the program's end, and ends what it leaves running: that would go on in the folder of the next. A program may close its
/// streams long before it ends.
fn ended(child: &mut Child, inputs: &Inputs<'_>, deadline: Option<Instant>) -> Result<ExitStatus, Stop> {
    if let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Not yet reaped, so that its number still means its own process group.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while let Ok(None) | Err(Errno::INTR) = waitid(WaitId::Pid(id), look) {
            told_to_stop(inputs, deadline)?;
            await_end(id);
        }
        let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
    }
    child.wait().map_err(Stop::Broken)
}

/// Returns when the program has ended, or after a while.
#[cfg(target_os = "linux")]
fn await_end(id: Pid) {
    match rustix::process::pidfd_open(id, rustix::process::PidfdFlags::empty()) {
        // Either outcome is looked into by the caller.
        Ok(program) => drop(poll(&mut [PollFd::new(&program, PollFlags::IN)], Some(&LOOK_UP))),
        Err(_) => std::thread::sleep(Duration::from_millis(1)),
    }
}

#[cfg(not(target_os = "linux"))]
fn await_end(_: Pid) {
    std::thread::sleep(Duration::from_millis(1));
}

/// Ends the program and everything it started in its process group.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended by itself in the meantime.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

fn not_started(program: &str, error: &std::io::Error) -> Failure {
    let why = Diagnostic::error("E_COMMAND", format!("'{program}' cannot be started: {error}"));
    Failure::Permanent(Box::new(why.hint("install it, or write its full path in `argv`")))
}

fn io(what: &str, error: &std::io::Error) -> Failure {
    Failure::Transient(Box::new(
        Diagnostic::error("E_COMMAND", format!("{what}: {error}")).hint("look at the disk and the limits of this user"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::manifest::template::Vars;
    use engine::seams::producer::{Cancel, Input};
    use std::sync::Arc;

    fn run(argv: &[&str], timeout: u64, inputs: &[(&str, &str, &str)], cancel: &Cancel) -> Result<Output, Failure> {
        let params: Params = serde_json::json!({"argv": argv, "timeout": timeout})
            .as_object()
            .cloned()
            .expect("object");
        CommandProducer.check(&params).expect("good parameters");
        let mut roles: BTreeMap<Arc<str>, Vec<Input>> = BTreeMap::new();
        for (role, item, text) in inputs {
            let input = Input::of(item, text.as_bytes());
            roles.entry((*role).into()).or_default().push(input);
        }
        CommandProducer.produce(&Inputs::bare("//a:b", &params, &roles, &Vars::new(), cancel))
    }

    #[test]
    fn inputs_are_files_and_standard_output_is_the_output() {
        let output = run(
            &["sh", "-c", "cat {in.a}; echo {label} $HOME; ls; pwd | grep -c cortex-"],
            10,
            &[("a", "", "hello\n")],
            &Cancel::default(),
        );
        assert_eq!(
            String::from_utf8(output.expect("runs").bytes).expect("text"),
            "hello\n//a:b\na\n1\n"
        );
        let output = run(
            &["cat", "{in.list}"],
            10,
            &[("list", "x", "1"), ("list", "y", "2")],
            &Cancel::default(),
        );
        assert_eq!(output.expect("runs").bytes, b"12");
    }

    #[test]
    fn failures_say_what_happened() {
        let message = |failure: Result<Output, Failure>| match failure {
            Err(Failure::Permanent(why) | Failure::Transient(why)) => format!("{} {}", why.message, why.found.unwrap_or_default()),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            message(run(&["sh", "-c", "echo no >&2; exit 3"], 10, &[], &Cancel::default())),
            "'sh' failed: exit status: 3 no"
        );
        assert!(message(run(&["/no/such/program"], 10, &[], &Cancel::default())).contains("cannot be started"));
        assert!(message(run(&["cat", "{in.b}"], 10, &[], &Cancel::default())).contains("{in.b}"));
        assert!(message(run(&["sh", "-c", "sleep 100 & sleep 100"], 1, &[], &Cancel::default())).contains("within 1 s"));
    }

    #[test]
    fn a_program_that_closes_its_streams_and_runs_on_is_ended_in_time() {
        let closes = ["sh", "-c", "exec >&- 2>&-; sleep 100"];
        let Err(Failure::Permanent(why) | Failure::Transient(why)) = run(&closes, 1, &[], &Cancel::default()) else {
            panic!("it did not fail");
        };
        assert!(why.message.contains("within 1 s"), "{why:?}");
        let ends = ["sh", "-c", "echo early; exec >&- 2>&-; sleep 0.2; exit 0"];
        assert_eq!(run(&ends, u64::MAX, &[], &Cancel::default()).expect("it ends").bytes, b"early\n");
    }

    #[test]
    fn a_cancelled_program_is_ended() {
        let cancel = Cancel::default();
        cancel.cancel();
        assert_eq!(run(&["sleep", "100"], 200, &[], &cancel), Err(Failure::Cancelled));
    }
}
