//! Before a program runs: its inputs as files of its folder, and its arguments.

use super::params::texts;
use super::scratch::Scratch;
use engine::seams::producer::{Failure, Inputs};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::table::readable;
use std::collections::BTreeMap;

/// The variable that holds the label for a line of a shell: in the line itself a name could be read as more of it.
pub(super) const LABEL: &str = "CORTEX_LABEL";
const LABEL_OF_SHELL: &str = "${CORTEX_LABEL}";

/// What was staged: a file for each input, a folder for each tree.
pub(super) struct Staged {
    /// The program and its arguments.
    pub(super) argv: Vec<String>,
    /// Names of the files, and what they held.
    pub(super) files: Vec<(String, Digest)>,
}

/// Writes the inputs into the folder and fills in the arguments.
pub(super) fn stage(scratch: &mut Scratch, inputs: &Inputs<'_>) -> Result<Staged, Failure> {
    let mut roles: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut files = Vec::new();
    for (role, list) in inputs.roles {
        for (number, input) in list.iter().enumerate() {
            let name = if input.item.is_empty() {
                role.to_string()
            } else {
                format!("{role}.{number}")
            };
            let staged = |error: std::io::Error| super::io("an input cannot be staged", &error);
            match &input.tree {
                None => {
                    let bytes = readable(&input.bytes);
                    scratch.put(&name, &bytes).map_err(staged)?;
                    files.push((name.clone(), Digest::of(&bytes)));
                }
                Some(tree) => {
                    scratch.folder(&name).map_err(staged)?;
                    for (path, file) in &**tree {
                        let path = format!("{name}/{path}");
                        scratch.put_below(&path, &file.bytes, file.program).map_err(staged)?;
                        files.push((path, Digest::of(&file.bytes)));
                    }
                }
            }
            roles.entry(role).or_default().push(name);
        }
    }
    scratch.settle().map_err(|error| super::io("an input cannot be staged", &error))?;
    let argv = match inputs.params.get("shell").and_then(serde_json::Value::as_str) {
        Some(text) => vec!["sh".to_owned(), "-c".to_owned(), fill(text, &roles, LABEL_OF_SHELL)?],
        None => arguments(&roles, inputs)?,
    };
    Ok(Staged { argv, files })
}

fn arguments(roles: &BTreeMap<&str, Vec<String>>, inputs: &Inputs<'_>) -> Result<Vec<String>, Failure> {
    let mut argv = Vec::new();
    for argument in texts(inputs.params, "argv").unwrap_or_default() {
        let whole = argument
            .strip_prefix("{in.")
            .and_then(|rest| rest.strip_suffix('}'))
            .filter(|role| !role.contains(['{', '}']));
        match whole {
            Some(role) if inputs.roles.contains_key(role) => argv.extend(roles.get(role).cloned().unwrap_or_default()),
            _ => argv.push(fill(&argument, roles, inputs.label)?),
        }
    }
    Ok(argv)
}

fn fill(text: &str, roles: &BTreeMap<&str, Vec<String>>, label: &str) -> Result<String, Failure> {
    let mut filled = String::new();
    let mut rest = text;
    // From left to right, so that what is filled in is not looked at again.
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{label}") {
            filled.push_str(label);
            rest = after;
            continue;
        }
        match rest.strip_prefix("{in.").and_then(|role| role.split_once('}')) {
            Some((role, after)) => {
                let names = roles.get(role).ok_or_else(|| not_given(text, role, roles))?;
                filled.push_str(&names.join(" "));
                rest = after;
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    Ok(filled + rest)
}

fn not_given(text: &str, role: &str, roles: &BTreeMap<&str, Vec<String>>) -> Failure {
    let message = format!("the argument {text:?} names the input {{in.{role}}}, which the rule does not give");
    let given: Vec<String> = roles.keys().map(|role| format!("{{in.{role}}}")).collect();
    let hint = match given.as_slice() {
        [] => "give the rule this input".to_owned(),
        given => format!("give the rule this input, or name one it has: {}", given.join(", ")),
    };
    Failure::Permanent(Box::new(Diagnostic::error("E_PRODUCER", message).hint(hint)))
}
