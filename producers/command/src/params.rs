//! Parameters of a program in a manifest: those in the key, and those that only bound its run.

use super::tools;
use engine::seams::producer::{Bound, ParamError, Params};
use engine::values::quantity;
use sandbox::Limits;
use serde_json::Value;
use std::time::Duration;

/// Default time limit in seconds.
const DEFAULT_TIMEOUT: u64 = 600;

/// Parameters that can change an output; they are in the key.
const IN_KEY: [&str; 5] = ["argv", "env", "outputs", "shell", "tools"];
/// Parameters that bound a run.
const BOUNDS: [&str; 8] = ["cpu", "disk", "file_size", "memory", "processes", "readable", "sandbox", "timeout"];

/// The requested confinement of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confinement {
    /// Fully confined, or not run at all.
    Strict,
    /// Confined as far as this machine allows.
    BestEffort,
    /// Not confined.
    Off,
}

/// The bounds of a program's run.
pub(super) struct Bounds {
    pub(super) timeout: Duration,
    pub(super) sandbox: Confinement,
    pub(super) readable: Vec<String>,
    pub(super) limits: Limits,
    /// Limit of bytes in its folder.
    pub(super) disk: u64,
}

impl Bounds {
    pub(super) fn from_settings(settings: &Params) -> Self {
        let number = |name: &str| settings.get(name).and_then(Value::as_u64);
        Self {
            timeout: Duration::from_secs(number("timeout").unwrap_or(DEFAULT_TIMEOUT)),
            sandbox: match settings.get("sandbox").and_then(Value::as_str) {
                Some("strict") => Confinement::Strict,
                Some("off") => Confinement::Off,
                _ => Confinement::BestEffort,
            },
            readable: texts(settings, "readable").unwrap_or_default(),
            limits: Limits {
                memory: size_setting(settings, "memory"),
                cpu: number("cpu"),
                file: Some(size_setting(settings, "file_size").unwrap_or(1 << 30)),
                processes: number("processes"),
            },
            disk: size_setting(settings, "disk").unwrap_or(4 << 30),
        }
    }
}

fn size_setting(settings: &Params, name: &str) -> Option<u64> {
    quantity::parse_bytes(settings.get(name)?.as_str()?).ok()
}

/// Returns a parameter that is a list of texts.
pub(super) fn texts(params: &Params, name: &str) -> Option<Vec<String>> {
    let list = params.get(name)?.as_array()?;
    list.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

/// Returns the variables that a program gets in addition to the fixed ones.
pub(super) fn environment(params: &Params) -> Vec<(String, String)> {
    let table = params.get("env").and_then(Value::as_object);
    let pairs = table.into_iter().flatten();
    pairs
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// Separates the parameters in the key from the others.
pub(super) fn bind_command_params(params: &Params) -> Bound {
    let (settings, params) = params.clone().into_iter().partition(|(name, _)| BOUNDS.contains(&name.as_str()));
    Bound { params, settings }
}

/// Returns the files and folders (with a `/` at the end) that a program writes, by output name; none if its output is its standard output.
pub(super) fn outputs_of_program(params: &Params) -> Vec<(String, String)> {
    let table = params.get("outputs").and_then(Value::as_object);
    let pairs = table.into_iter().flatten();
    pairs
        .filter_map(|(name, path)| Some((name.clone(), path.as_str()?.to_owned())))
        .collect()
}

/// Returns why an output's name or path is invalid.
fn wrong_output(name: &str, path: &Value) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(plain) {
        return Some(format!("{name:?} cannot be the name of an output: letters, digits, - and _ can"));
    }
    let Some(path) = path.as_str() else {
        return Some(format!("the path of the output '{name}' must be a text"));
    };
    let inside = path.strip_suffix('/').unwrap_or(path).split('/');
    let mut outside = inside.filter(|part| matches!(*part, "" | "." | "..") || part.chars().any(char::is_control));
    let first = outside.next();
    first.map(|_| format!("the path of the output '{name}' must be one below the folder that the program starts in"))
}

/// Whether a strict sandbox has its own content at a path, so that the two levels would read different files.
fn is_own(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    matches!(parts[..], [] | ["dev" | "etc" | "proc" | "tmp"] | ["sys", ..])
}

/// Faults of parameters found so far.
#[derive(Default)]
struct Faults(Vec<ParamError>);

impl Faults {
    fn add_fault(&mut self, param: &str, message: String, hint: &str) {
        self.0.push(ParamError {
            param: param.into(),
            message,
            hint: Some(hint.into()),
            unknown: false,
        });
    }
}

/// Returns all faults of the parameters.
pub(super) fn check_command_params(params: &Params) -> Vec<ParamError> {
    let mut faults = Faults::default();
    check_program(params, &mut faults);
    check_limits(params, &mut faults);
    check_sandbox(params, &mut faults);
    check_environment(params, &mut faults);
    if let Some(why) = params.get("tools").and_then(tools::declaration_error) {
        faults.add_fault(
            "tools",
            why,
            "write tools = { dot = \"12.1\" }, or the digest that `b3sum` prints: \"blake3:…\"",
        );
    }
    check_outputs(params, &mut faults);
    check_names(params, &mut faults);
    faults.0
}

/// Whether a text contains a NUL, at which the system would end it.
fn has_nul(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains('\0'))
}

/// Checks `argv` and `shell`.
fn check_program(params: &Params, faults: &mut Faults) {
    let argv = texts(params, "argv").is_some_and(|argv| argv.first().is_some_and(|program| !program.is_empty()));
    let example = "write argv = [\"wc\", \"-w\", \"{in.text}\"]";
    match (params.get("argv"), params.get("shell")) {
        (Some(_), Some(_)) => faults.add_fault(
            "shell",
            "'shell' and 'argv' are both given".into(),
            "a program is named by one of them",
        ),
        (Some(_), None) if argv => {}
        (None, Some(text)) if text.as_str().is_some_and(|text| !text.trim().is_empty()) => {}
        (None, Some(_)) => faults.add_fault(
            "shell",
            "'shell' must be a text".into(),
            "write shell = \"sort {in.text} | uniq -c\"",
        ),
        _ => faults.add_fault("argv", "'argv' must be a list of texts that begins with a program".into(), example),
    }
    for name in ["argv", "shell"] {
        let Some(value) = params.get(name) else { continue };
        if has_nul(value) || value.as_array().is_some_and(|list| list.iter().any(has_nul)) {
            faults.add_fault(name, format!("'{name}' holds a NUL"), "no argument of a program can hold one");
        }
    }
}

/// Checks the limits of time, processes and sizes.
fn check_limits(params: &Params, faults: &mut Faults) {
    for name in ["cpu", "processes", "timeout"] {
        if params
            .get(name)
            .is_some_and(|value| value.as_u64().is_none_or(|number| number == 0))
        {
            let (what, example) = match name {
                "processes" => ("a whole number", "write processes = 64".to_owned()),
                _ => ("a whole number of seconds", format!("write {name} = 600")),
            };
            faults.add_fault(name, format!("'{name}' must be {what}"), &example);
        }
    }
    for name in ["disk", "file_size", "memory"] {
        let bytes = |value: &Value| {
            value
                .as_str()
                .and_then(|text| quantity::parse_bytes(text).ok())
                .filter(|bytes| *bytes > 0)
        };
        if params.get(name).is_some_and(|value| bytes(value).is_none()) {
            faults.add_fault(name, format!("'{name}' must be a size"), &format!("write {name} = \"2 GB\""));
        }
    }
}

/// Checks `sandbox` and `readable`.
fn check_sandbox(params: &Params, faults: &mut Faults) {
    let levels = ["strict", "best-effort", "off"];
    if params
        .get("sandbox")
        .is_some_and(|value| value.as_str().is_none_or(|level| !levels.contains(&level)))
    {
        faults.add_fault(
            "sandbox",
            "'sandbox' is strict, best-effort or off".into(),
            "write sandbox = \"strict\"",
        );
    }
    let absolute = |paths: &Vec<String>| {
        paths
            .iter()
            .all(|path| path.starts_with('/') && !path.split('/').any(|part| part == ".."))
    };
    if params.contains_key("readable") && !texts(params, "readable").as_ref().is_some_and(absolute) {
        let hint = "write readable = [\"/opt/tool\"]; files of the workspace are inputs of the rule";
        faults.add_fault("readable", "'readable' must be a list of absolute paths".into(), hint);
    }
    let own = texts(params, "readable").unwrap_or_default().into_iter().find(|path| is_own(path));
    if let Some(path) = own {
        let message = format!("'readable' cannot have {path}: a strict sandbox has its own there");
        faults.add_fault("readable", message, "name the files and folders in it that are read");
    }
}

fn check_environment(params: &Params, faults: &mut Faults) {
    if let Some(env) = params.get("env") {
        let named = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
        let whole = env.as_object().is_some_and(|table| {
            table
                .iter()
                .all(|(name, value)| named(name) && value.is_string() && !has_nul(value))
        });
        if !whole {
            faults.add_fault(
                "env",
                "'env' must be a table of texts".into(),
                "write env = { LANG = \"de_DE.UTF-8\" }",
            );
        }
    }
}

fn check_outputs(params: &Params, faults: &mut Faults) {
    if let Some(outputs) = params.get("outputs") {
        let hint = "write outputs = { chart = \"chart.svg\", pages = \"site/\" }; a / at the end says that it is a folder";
        match outputs.as_object().filter(|table| !table.is_empty()) {
            Some(table) => {
                for why in table.iter().filter_map(|(name, path)| wrong_output(name, path)) {
                    faults.add_fault("outputs", why, hint);
                }
            }
            None => faults.add_fault("outputs", "'outputs' must be a table of paths".into(), hint),
        }
    }
}

/// Reports unknown parameters. Switches belong to the rules: an input's `if` names one.
fn check_names(params: &Params, faults: &mut Faults) {
    let known = |name: &str| IN_KEY.contains(&name) || BOUNDS.contains(&name);
    for (name, _) in params.iter().filter(|(name, value)| !known(name) && !value.is_boolean()) {
        let names: Vec<&str> = IN_KEY.into_iter().chain(BOUNDS).collect();
        let error = ParamError::unknown_parameter(name, &names);
        let switches = format!("it has {}, and switches (true or false) for the `if` of inputs", names.join(", "));
        let hint = error.hint.filter(|hint| hint.starts_with("did")).unwrap_or(switches);
        faults.0.push(ParamError { hint: Some(hint), ..error });
    }
}
