//! `command`: a program whose output is what it prints, or the files and folders that `outputs` names: one file is the output itself, a
//! folder or several of them are a tree ([`engine::values::tree`]).
//!
//! `argv` names it (no shell), or `shell` is a line for `sh`. In an argument, `{in.ROLE}` becomes the name of the file with that input, `{label}` the
//! node's label; if it or `CORTEX_LABEL` is used, the variable `CORTEX_LABEL` contains the label too. An argument that is just `{in.ROLE}` becomes
//! one argument per input of a list role. The program runs in its own empty folder with `PATH`, `LC_ALL=C.UTF-8`, `TZ=UTC` and `env` as its whole
//! environment, confined as `sandbox` says (see the crate of that name). Its confinement is noted with the result (`sandbox`) and not in its key.

mod collect;
mod disk_usage;
mod find;
mod input_check;
mod params;
mod run;
mod scratch;
mod scratch_root;
mod stage;
mod start_failure;
#[cfg(test)]
mod tests;
mod tools;
mod trust;

use engine::seams::producer::{Bound, Failure, Inputs, Output, ParamError, Params, Pool, Producer, ProducerId, Sees};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use os::errors::SystemError;
use os::processes::{Killed, killed_by};
use params::{Bounds, Confinement};
use sandbox::{Confined, Level, Spec, WORK};
use scratch::Scratch;
use start_failure::Attempt;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;

pub use trust::{All, Nothing, Trust, digest_of_program, program_params, settings_to_approve, untrusted_failure};

/// Runs programs.
pub struct CommandProducer {
    /// Decides which programs may run.
    pub trust: Arc<dyn Trust>,
}

/// Whether the arguments or the shell line refer to the label, as `{label}` or by its variable.
fn names_label(params: &Params) -> bool {
    let argv = params::texts(params, "argv").unwrap_or_default();
    let shell = params.get("shell").and_then(serde_json::Value::as_str);
    let mut texts = argv.iter().map(String::as_str).chain(shell);
    texts.any(|text| text.contains("{label}") || text.contains(stage::LABEL))
}

impl Producer for CommandProducer {
    fn id(&self) -> ProducerId {
        ProducerId::new("command", 4)
    }

    fn pool(&self, _: &Params) -> Pool {
        Pool::Slow
    }

    fn bind(&self, params: &Params, _: &BTreeMap<String, Params>) -> Bound {
        params::bind_command_params(params)
    }

    fn sees(&self, params: &Params) -> Sees {
        Sees {
            vars: false,
            label: names_label(params),
        }
    }

    fn outputs(&self, params: &Params) -> Vec<String> {
        match params::outputs_of_program(params) {
            several if several.len() > 1 => several.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        }
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        match params::check_command_params(params) {
            errors if errors.is_empty() => Ok(()),
            errors => Err(errors),
        }
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        if !self.trust.trusts(&digest_of_program(inputs.params, inputs.settings)) {
            return Err(untrusted_failure(inputs.params));
        }
        tools::check_tools(inputs.params)?;
        let bounds = Bounds::from_settings(inputs.settings);
        let mut scratch = Scratch::of_this_thread()?;
        let level = level(bounds.sandbox, scratch.path())?;
        let ready = stage::stage(&mut scratch, inputs)?;
        let program = ready.argv.first().cloned().unwrap_or_default();
        let attempt = Attempt {
            program: &program,
            file: find::find_program(&program, scratch.path()),
            bounds: &bounds,
        };
        let Some(file) = &attempt.file else {
            return Err(attempt.not_started(&SystemError::NOT_FOUND.into()));
        };
        let spec = spec(level, &bounds, &ready.argv, file, &scratch, inputs);
        let started = Confined::start(&spec).map_err(run::Stop::Ended);
        let heard = started
            .and_then(|started| run::hear(started, scratch.path(), &bounds, inputs.cancel))
            .map_err(|stop| stop.failure(&attempt))?;
        let spoilt = input_check::spoilt(scratch.path(), &ready.inputs, scratch.modes()).map_err(|error| {
            io(
                &format!("what '{program}' did to its inputs cannot be seen"),
                scratch.path(),
                &error,
            )
        })?;
        let made = match heard.status.success() && spoilt.is_none() {
            true => made(&scratch, inputs.params, heard.stdout),
            false => Ok(Output::default()),
        };
        scratch.give_back();
        let said = String::from_utf8_lossy(&heard.stderr).into_owned();
        let said: String = said.trim().chars().take(2_000).collect();
        if !heard.status.success() {
            let why = Diagnostic::error(ErrorCode::E_COMMAND, format!("'{program}' failed: {}", heard.status));
            let why = if said.is_empty() { why } else { why.found(said) };
            return Err(Failure::Permanent(Box::new(why.hint(hint_for_status(heard.status)))));
        }
        if let Some(what) = spoilt {
            let why = Diagnostic::error(ErrorCode::E_COMMAND, format!("'{program}' {what}"));
            let hint = "write to files and folders of other names: a program must not change its inputs";
            return Err(Failure::Permanent(Box::new(why.hint(hint))));
        }
        let mut output = made?;
        output.notes.insert("sandbox".to_owned(), level.to_string());
        if !said.is_empty() {
            output
                .diagnostics
                .push(Diagnostic::warning(ErrorCode::W_STDERR, format!("'{program}' wrote to standard error")).found(said));
        }
        Ok(output)
    }
}

/// Returns the output of a program that succeeded: its standard output, the one file, the one folder, or a tree of all `outputs`.
fn made(scratch: &Scratch, params: &Params, stdout: Vec<u8>) -> Result<Output, Failure> {
    let outputs = params::outputs_of_program(params);
    let mut made = collect::CollectedOutput::new();
    match outputs.as_slice() {
        [] => return Ok(Output::new(stdout)),
        [(_, path)] => made.collect_entry(scratch.path(), "", path)?,
        several => {
            for (name, path) in several {
                made.collect_entry(scratch.path(), name, path)?;
            }
        }
    }
    let mut files = made.files;
    if let Some(file) = files.remove("") {
        return Ok(Output::new(file.bytes.to_vec()));
    }
    Output::from_files(&files).map_err(|error| {
        let why = Diagnostic::error(ErrorCode::E_OUTPUT, format!("what it made cannot be an output: {error}"));
        Failure::Permanent(Box::new(why.hint("name its files otherwise")))
    })
}

/// Returns the requested level, or the best available one.
fn level(wanted: Confinement, folder: &Path) -> Result<Level, Failure> {
    match wanted {
        Confinement::Off => Ok(Level::None),
        Confinement::BestEffort => Ok(sandbox::supported_levels(folder).best),
        Confinement::Strict => match sandbox::supported_levels(folder).why_not(Level::Strict) {
            None => Ok(Level::Strict),
            Some(why) => Err(unavailable(why.to_owned())),
        },
    }
}

fn unavailable(why: String) -> Failure {
    let error = Diagnostic::error(ErrorCode::E_SANDBOX, "the requested sandbox is not available here").found(why);
    Failure::Permanent(Box::new(error.hint("allow user namespaces, or write sandbox = \"best-effort\"")))
}

fn spec(level: Level, bounds: &Bounds, argv: &[String], file: &Path, scratch: &Scratch, inputs: &Inputs<'_>) -> Spec {
    let folder = scratch.path();
    let home = if level == Level::Strict {
        WORK.into()
    } else {
        folder.to_string_lossy().into_owned()
    };
    let fixed = [("LC_ALL", "C.UTF-8"), ("TZ", "UTC"), ("PATH", &find::path_of_programs())];
    let mut env: Vec<_> = fixed.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    if level != Level::Strict {
        // The program may write nowhere else.
        env.push(("TMPDIR".to_owned(), home));
    }
    // Set the label only for programs that refer to it: then it is in the key.
    if names_label(inputs.params) {
        env.push((stage::LABEL.to_owned(), inputs.label.to_owned()));
    }
    env.extend(params::environment(inputs.params));
    // The target of a link is readable too.
    let readable = bounds.readable.iter().map(PathBuf::from);
    let mut readable: Vec<PathBuf> = readable
        .flat_map(|path| path.canonicalize().ok().into_iter().chain([path]))
        .collect();
    if !file.starts_with(folder) {
        readable.extend(file.canonicalize().ok());
        readable.push(file.to_owned());
    }
    let program = match (level, file.strip_prefix(folder)) {
        (Level::Strict, Ok(inside)) => Path::new(WORK).join(inside),
        _ => file.to_owned(),
    };
    Spec {
        level,
        program,
        argv: argv.to_owned(),
        env,
        folder: folder.to_owned(),
        readable,
        limits: bounds.limits,
    }
}

/// Returns advice about a program that failed.
fn hint_for_status(status: ExitStatus) -> &'static str {
    match killed_by(status) {
        Some(Killed::ProcessorTime) => "it took more processor time than `cpu` allows: give the producer more",
        Some(Killed::FileSize) => "it wrote a larger file than `file_size` allows: give the producer more",
        Some(Killed::AtOnce) => {
            "something else ended it, perhaps the system because memory ran out: build again, with fewer at once (`-j 1`)"
        }
        None => "run it by hand on the same inputs; list other folders that it reads in `readable`",
    }
}

/// Returns the failure of a disk operation in or at the scratch folder.
fn io(what: &str, folder: &Path, error: &io::Error) -> Failure {
    let why = Diagnostic::error(ErrorCode::E_COMMAND, format!("{what}: {error}")).found(folder.display().to_string());
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room in the folder for temporary files, or set TMPDIR to one that has some"
        }
        _ => "look at the folder for temporary files (TMPDIR) and at the limits of this user",
    };
    Failure::Transient(Box::new(why.hint(hint)))
}
