//! `command`: a program whose output is what it prints, or the files and folders that `outputs` names: one file is the output itself, a
//! folder or several of them are a tree ([`engine::values::tree`]).
//!
//! `argv` names it (no shell), or `shell` holds a line for `sh`. In an argument, `{in.ROLE}` stands for the name of a file holding that
//! input, `{label}` for the node's label; an argument that is just `{in.ROLE}` becomes as many arguments as a list role has inputs. The
//! program runs in an empty folder of its own with `PATH`, `LC_ALL=C.UTF-8`, `TZ=UTC` and `env` as its whole environment, confined as
//! `sandbox` says (see the crate of that name). How it was confined is noted with the result (`sandbox`) and not in its key.

mod collect;
mod find;
mod params;
mod run;
mod scratch;
mod stage;
#[cfg(test)]
mod tests;
mod tools;
mod trust;

use engine::seams::producer::{Bound, Failure, Inputs, Output, ParamError, Params, Pool, Producer, ProducerId, Sees};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use params::{Bounds, Wanted};
use rustix::process::Signal;
use sandbox::{Confined, Level, Spec, WORK};
use scratch::Scratch;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::Arc;

pub(crate) use trust::untrusted;
pub use trust::{All, Nothing, Trust, definition, run, sent};

/// Runs programs.
pub struct CommandProducer {
    /// Knows which of them may be run.
    pub trust: Arc<dyn Trust>,
}

impl Producer for CommandProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new("command", 3)
    }

    fn pool(&self, _: &Params) -> Pool {
        Pool::Slow
    }

    fn bind(&self, params: &Params, _: &BTreeMap<String, Params>) -> Bound {
        params::bind(params)
    }

    fn sees(&self, params: &Params) -> Sees {
        let argv = params::texts(params, "argv").unwrap_or_default();
        let shell = params.get("shell").and_then(serde_json::Value::as_str);
        let label = argv.iter().map(String::as_str).chain(shell).any(|text| text.contains("{label}"));
        Sees { vars: false, label }
    }

    fn outputs(&self, params: &Params) -> Vec<String> {
        match params::outputs(params) {
            several if several.len() > 1 => several.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        match params::check(params) {
            errors if errors.is_empty() => Ok(()),
            errors => Err(errors),
        }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        if !self.trust.trusts(&definition(inputs.params, inputs.settings)) {
            return Err(untrusted());
        }
        tools::check(inputs.params)?;
        let bounds = Bounds::of(inputs.settings);
        let level = level(bounds.sandbox)?;
        let mut scratch = Scratch::take().map_err(|error| io("a folder for it cannot be made", &error))?;
        let staged = stage::stage(&mut scratch, inputs)?;
        let program = staged.argv.first().cloned().unwrap_or_default();
        let spec = spec(level, &bounds, &staged, &scratch, inputs);
        let started = Confined::start(&spec).map_err(run::Stop::Ended);
        let heard = started
            .and_then(|started| run::hear(started, &scratch, &bounds, inputs.cancel))
            .map_err(|stop| stop.failure(&program, &bounds))?;
        let touched = touched(scratch.path(), &staged.files);
        let made = match heard.status.success() && touched.is_none() {
            true => made(&scratch, inputs.params, heard.stdout),
            false => Ok(Output::default()),
        };
        scratch.give_back();
        let said = String::from_utf8_lossy(&heard.stderr).into_owned();
        let said: String = said.trim().chars().take(2_000).collect();
        if !heard.status.success() {
            let why = Diagnostic::error("E_COMMAND", format!("'{program}' failed: {}", heard.status));
            let why = if said.is_empty() { why } else { why.found(said) };
            let hint = match heard.status.signal() {
                Some(signal) if signal == Signal::XCPU.as_raw() => "it took more processor time than `cpu` allows: give the producer more",
                _ => "run it by hand on the same inputs; what it reads beside them stands in `readable`",
            };
            return Err(Failure::Permanent(Box::new(why.hint(hint))));
        }
        if let Some(name) = touched {
            let why = Diagnostic::error("E_COMMAND", format!("'{program}' changed or removed its input '{name}'"));
            return Err(Failure::Permanent(Box::new(why.hint("have it write to a file of another name"))));
        }
        let mut output = made?;
        output.notes.insert("sandbox".to_owned(), level.to_string());
        if !said.is_empty() {
            output
                .diagnostics
                .push(Diagnostic::warning("W_STDERR", format!("'{program}' wrote to standard error")).found(said));
        }
        Ok(output)
    }
}

/// The output of a program that ended well: what it printed, the one file, the one folder, or a tree of all that `outputs` names.
fn made(scratch: &Scratch, params: &Params, stdout: Vec<u8>) -> Result<Output, Failure> {
    let outputs = params::outputs(params);
    let mut files = collect::Made::new();
    match outputs.as_slice() {
        [] => return Ok(Output::new(stdout)),
        [(_, path)] => collect::collect(scratch.path(), "", path, &mut files)?,
        several => {
            for (name, path) in several {
                collect::collect(scratch.path(), name, path, &mut files)?;
            }
        }
    }
    if let Some(file) = files.remove("") {
        return Ok(Output::new(file.bytes.to_vec()));
    }
    Output::tree(&files).map_err(|error| {
        let why = Diagnostic::error("E_OUTPUT", format!("what it made cannot be an output: {error}"));
        Failure::Permanent(Box::new(why.hint("name its files otherwise")))
    })
}

/// The level that is wanted, or the best there is.
fn level(wanted: Wanted) -> Result<Level, Failure> {
    match wanted {
        Wanted::Off => Ok(Level::None),
        Wanted::BestEffort => Ok(sandbox::levels().best),
        Wanted::Strict => match sandbox::levels().why_not(Level::Strict) {
            None => Ok(Level::Strict),
            Some(why) => Err(unavailable(why.to_owned())),
        },
    }
}

fn unavailable(why: String) -> Failure {
    let error = Diagnostic::error("E_SANDBOX", "the sandbox that this program is to run in cannot be had here").found(why);
    Failure::Permanent(Box::new(error.hint("allow user namespaces, or write sandbox = \"best-effort\"")))
}

fn spec(level: Level, bounds: &Bounds, staged: &stage::Staged, scratch: &Scratch, inputs: &Inputs<'_>) -> Spec {
    let folder = scratch.path();
    let program = find::find(staged.argv.first().map_or("", String::as_str), folder);
    let home = if level == Level::Strict {
        WORK.into()
    } else {
        folder.to_string_lossy().into_owned()
    };
    let mut env = vec![("LC_ALL".to_owned(), "C.UTF-8".to_owned()), ("TZ".to_owned(), "UTC".to_owned())];
    env.extend(find::path().map(|path| ("PATH".to_owned(), path)));
    if level != Level::Strict {
        // Where it may write is nowhere else.
        env.push(("TMPDIR".to_owned(), home));
    }
    let shell = inputs.params.get("shell").and_then(serde_json::Value::as_str);
    // Only who names the label sees it: then it is in the key.
    if shell.is_some_and(|text| text.contains("{label}")) {
        env.push((stage::LABEL.to_owned(), inputs.label.to_owned()));
    }
    env.extend(params::environment(inputs.params));
    let mut readable: Vec<_> = bounds.readable.iter().map(Into::into).collect();
    if program.is_absolute() && !program.starts_with(folder) {
        readable.extend(program.canonicalize().ok());
        readable.push(program.clone());
    }
    let program = match (level, program.strip_prefix(folder)) {
        (Level::Strict, Ok(inside)) => Path::new(WORK).join(inside),
        _ => program,
    };
    Spec {
        level,
        program,
        argv: staged.argv.clone(),
        env,
        folder: folder.to_owned(),
        readable,
        limits: bounds.limits,
    }
}

/// The first input that is not as it was staged.
fn touched(folder: &Path, files: &[(String, Digest)]) -> Option<String> {
    let same = |name: &str, digest: &Digest| {
        let file = folder.join(name);
        let plain = file.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        plain && std::fs::read(&file).is_ok_and(|bytes| Digest::of(&bytes) == *digest)
    };
    files
        .iter()
        .find(|(name, digest)| !same(name, digest))
        .map(|(name, _)| name.clone())
}

fn io(what: &str, error: &std::io::Error) -> Failure {
    Failure::Transient(Box::new(
        Diagnostic::error("E_COMMAND", format!("{what}: {error}")).hint("look at the disk and the limits of this user"),
    ))
}
