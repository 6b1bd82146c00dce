//! Prepares a program's run: its inputs as files of its folder, and its arguments.

use super::params::texts;
use super::scratch::Scratch;
use engine::seams::producer::{Failure, Input, Inputs};
use engine::values::table::readable_blob;
use engine::values::tree::File;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The variable with the label for a shell line: in the line itself a name could be parsed as more of it.
pub(super) const LABEL: &str = "CORTEX_LABEL";
const LABEL_OF_SHELL: &str = "${CORTEX_LABEL}";

/// The staged form of an input.
pub(super) enum Staged<'i> {
    /// A file with these bytes.
    File(Cow<'i, [u8]>),
    Tree {
        /// Its files, by their paths in it.
        files: &'i BTreeMap<String, File>,
        /// The folders in it, outer ones first.
        folders: BTreeSet<&'i str>,
    },
}

/// A program with its staged inputs.
pub(super) struct Ready<'i> {
    /// The program and its arguments.
    pub(super) argv: Vec<String>,
    /// The inputs, by their names in the folder.
    pub(super) inputs: Vec<(String, Staged<'i>)>,
}

/// Writes the inputs into the folder and fills in the arguments.
pub(super) fn stage<'i>(scratch: &mut Scratch, inputs: &Inputs<'i>) -> Result<Ready<'i>, Failure> {
    let mut roles: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut staged = Vec::new();
    let folder = scratch.path().to_owned();
    let failed = |error: std::io::Error| super::io("an input cannot be staged", &folder, &error);
    for (role, list) in inputs.roles {
        let names = roles.entry(role).or_default();
        for (number, input) in list.iter().enumerate() {
            let name = if input.item.is_empty() {
                role.to_string()
            } else {
                format!("{role}.{number}")
            };
            staged.push((name.clone(), stage_input(scratch, &name, input).map_err(failed)?));
            names.push(name);
        }
    }
    scratch.remove_leftover_files().map_err(failed)?;
    let argv = match inputs.params.get("shell").and_then(serde_json::Value::as_str) {
        Some(text) => vec!["sh".to_owned(), "-c".to_owned(), fill(text, &roles, LABEL_OF_SHELL)],
        None => program_arguments(&roles, inputs),
    };
    Ok(Ready { argv, inputs: staged })
}

pub(super) fn stage_input<'i>(scratch: &mut Scratch, name: &str, input: &'i Input) -> std::io::Result<Staged<'i>> {
    let Some(files) = &input.tree else {
        let bytes = readable_blob(&input.bytes);
        scratch.write_input(name, &bytes)?;
        return Ok(Staged::File(bytes));
    };
    let above = |path: &'i str| path.match_indices('/').map(|(at, _)| &path[..at]);
    let folders: BTreeSet<&str> = files.keys().flat_map(|path| above(path)).collect();
    scratch.create_folder(name)?;
    for path in &folders {
        scratch.create_folder(&format!("{name}/{path}"))?;
    }
    for (path, file) in &**files {
        scratch.write_new(&format!("{name}/{path}"), &file.bytes, file.program)?;
    }
    Ok(Staged::Tree { files, folders })
}

/// Returns the arguments. An input that is named and missing (the manifest has it) is an empty list, or switched off.
fn program_arguments(roles: &BTreeMap<&str, Vec<String>>, inputs: &Inputs<'_>) -> Vec<String> {
    let mut argv = Vec::new();
    for argument in texts(inputs.params, "argv").unwrap_or_default() {
        let whole = argument
            .strip_prefix("{in.")
            .and_then(|rest| rest.strip_suffix('}'))
            .filter(|role| !role.contains(['{', '}']));
        match whole {
            Some(role) => argv.extend(roles.get(role).cloned().unwrap_or_default()),
            None => argv.push(fill(&argument, roles, inputs.label)),
        }
    }
    argv
}

fn fill(text: &str, roles: &BTreeMap<&str, Vec<String>>, label: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    // Substitute from left to right, so that substituted text is not scanned again.
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
                filled.push_str(&roles.get(role).map_or_else(String::new, |names| names.join(" ")));
                rest = after;
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}
