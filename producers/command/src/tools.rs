//! Tools that a manifest declares: programs by name, each with its version or its digest. The key includes them, so that another tool gives another
//! result; a digest is also compared with the program's file before a program runs.

use super::find::{find_program, path_of_programs, runs};
use engine::seams::producer::{Failure, Params};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use os::info::{FileInfo, Time};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Prefix of a digest.
const DIGEST: &str = "blake3:";

fn declared_tools(params: &Params) -> impl Iterator<Item = (&String, &str)> {
    let table = params.get("tools").and_then(Value::as_object);
    table.into_iter().flatten().filter_map(|(name, is)| Some((name, is.as_str()?)))
}

/// Returns why a declaration is invalid.
pub(super) fn declaration_error(tools: &Value) -> Option<String> {
    let Some(tools) = tools.as_object() else {
        return Some("'tools' must be a table of texts".to_owned());
    };
    tools.iter().find_map(|(name, is)| match is.as_str() {
        None | Some("") => Some(format!("the version of the tool '{name}' must be a text")),
        Some(_) if name.contains('/') && !name.starts_with('/') => Some(format!(
            "the tool '{name}' must be a name, which is looked for in PATH, or an absolute path"
        )),
        Some(is) => {
            let digest = is.strip_prefix(DIGEST)?;
            let why = format!("the digest of the tool '{name}' must be {DIGEST} and 64 hexadecimal digits");
            Digest::parse(digest).is_none().then_some(why)
        }
    })
}

/// Checks that the tools exist and are as declared. Fails when a tool is not found, or differs.
pub(super) fn check_tools(params: &Params) -> Result<(), Failure> {
    for (name, is) in declared_tools(params) {
        let Some(file) = find_program(name, Path::new("/")) else {
            let why = tool_error(
                name,
                "is not in the folders of PATH",
                "install it, or remove it from `tools` if nothing runs it",
            );
            return Err(tool_failure(why.found(format!("PATH={}", path_of_programs()))));
        };
        let at = |why: Diagnostic| tool_failure(why.found(file.display().to_string()));
        if let Err((what, hint)) = runs(&file) {
            return Err(at(tool_error(name, &format!("cannot be run: {what}"), hint)));
        }
        let Some(digest) = is.strip_prefix(DIGEST).and_then(Digest::parse) else {
            continue;
        };
        let found = digest_of(&file).map_err(|error| {
            let hint = "make it readable, or declare its version instead of its digest";
            at(tool_error(name, &format!("cannot be read: {error}"), hint))
        })?;
        if found != digest {
            let hint = "install the declared tool, or declare this one, which rebuilds its outputs";
            return Err(at(tool_error(
                name,
                &format!("is {DIGEST}{found}, not what `tools` declares"),
                hint,
            )));
        }
    }
    Ok(())
}

fn tool_error(name: &str, what: &str, hint: &str) -> Diagnostic {
    Diagnostic::error(ErrorCode::E_TOOL, format!("the tool '{name}' {what}")).hint(hint)
}

fn tool_failure(why: Diagnostic) -> Failure {
    Failure::Permanent(Box::new(why))
}

/// State of a file when it was hashed: device and inode, length, and time of its last change of any kind.
type Stamp = ((u64, u64), u64, Time);

/// Returns the digest of a file. Does not read an unchanged file again: many targets have the same tool.
fn digest_of(file: &Path) -> io::Result<Digest> {
    static HASHED: Mutex<BTreeMap<Stamp, Digest>> = Mutex::new(BTreeMap::new());
    let known = || HASHED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut opened = File::open(file)?;
    let is = FileInfo::from_handle(&opened)?;
    let stamp = (is.identity(), is.size, is.changed);
    if let Some(digest) = known().get(&stamp) {
        return Ok(*digest);
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(&mut opened)?;
    let digest = Digest(*hasher.finalize().as_bytes());
    known().insert(stamp, digest);
    Ok(digest)
}
