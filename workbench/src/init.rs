//! Creates a manifest for a folder: named after its solution or project, with the C# ruleset if there is C#.

use crate::code_survey::{CodeSurvey, survey};
use crate::location::{MANIFEST, find_root};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Longest name of a workspace, in characters; the reader of manifests refuses longer ones.
const LONGEST_NAME: usize = 100;

/// The new manifest's facts.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Initialised {
    /// The written file.
    pub written: String,
    /// The workspace's name.
    pub name: String,
    /// The source of the name, for people.
    pub basis: String,
    /// Survey of the folder's code.
    #[serde(flatten)]
    pub code: CodeSurvey,
}

/// The reason why no manifest was written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("{0} already exists")]
    Exists(PathBuf),
    /// The folder is inside a workspace.
    #[error("this folder is in the workspace of {0}")]
    Within(PathBuf),
    /// Reading or writing failed.
    #[error("{path} cannot be {what}: {reason}")]
    Io {
        path: PathBuf,
        /// `read`, `written`.
        what: &'static str,
        reason: String,
    },
}

/// Surveys `folder` and writes its `cortex.toml`. Fails when there is a manifest already, or one of a workspace around it (unless `force`),
/// or the folder cannot be read or written.
pub fn init(folder: &Path, force: bool) -> Result<Initialised, InitError> {
    let path = folder.join(MANIFEST);
    let io = |what: &'static str| {
        let path = path.clone();
        move |error: std::io::Error| InitError::Io {
            path,
            what,
            reason: error.to_string(),
        }
    };
    if path.exists() && !force {
        return Err(InitError::Exists(path));
    }
    let root = folder.canonicalize().map_err(io("written"))?;
    if let Some(above) = root.parent().and_then(find_root).filter(|_| !force) {
        return Err(InitError::Within(above.join(MANIFEST)));
    }
    let (basis, stem) = basis(&root);
    let name = stem
        .or_else(|| root.file_name().map(|name| name.to_string_lossy().into_owned()))
        .and_then(|name| valid_name(&name))
        .unwrap_or_else(|| "workspace".to_owned());
    let code = survey(&root);
    write_manifest(&root.join(MANIFEST), &manifest_for(&name, &code)).map_err(io("written"))?;
    Ok(Initialised {
        written: MANIFEST.to_owned(),
        name,
        basis,
        code,
    })
}

/// Replaces a manifest atomically and keeps its permissions.
pub fn write_manifest(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    let permissions = match path.metadata() {
        Ok(before) => before.permissions(),
        Err(_) => os::modes::permissions(0o644),
    };
    file.as_file().set_permissions(permissions)?;
    file.persist(path).map_err(|error| error.error).map(drop)
}

/// Returns the solution or project that names the workspace: the first by name, solutions before projects.
fn basis(root: &Path) -> (String, Option<String>) {
    let mut names: Vec<PathBuf> = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| PathBuf::from(entry.file_name()))
        .collect();
    names.sort();
    for extension in ["slnx", "sln", "csproj"] {
        if let Some(found) = names
            .iter()
            .find(|name| name.extension().is_some_and(|known| known.eq_ignore_ascii_case(extension)))
        {
            return (
                found.display().to_string(),
                found.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
            );
        }
    }
    ("named after the folder: no solution or project here".to_owned(), None)
}

/// Returns the name in a form valid for a manifest: on one line and not too long. `None` when nothing is left.
fn valid_name(name: &str) -> Option<String> {
    let plain = name.chars().map(|c| if c.is_control() { ' ' } else { c });
    let words: String = plain.take(LONGEST_NAME).collect();
    let name = words.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

fn manifest_for(name: &str, code: &CodeSurvey) -> String {
    let name = toml_text(name);
    let csharp = code.files > 0;
    let rulesets = if csharp {
        "rulesets = [\"csharp\"]                 # `cortex rules show csharp` prints it"
    } else {
        "rulesets = []                         # no C# was found here; with some: rulesets = [\"csharp\"]"
    };
    // The folders that were found, or an example.
    let foreign: Vec<String> = code.foreign.iter().map(|one| toml_text(&format!("{}/**", one.folder))).collect();
    let proposed = match foreign.is_empty() {
        true => "\"third_party/**\"".to_owned(),
        false => foreign.join(", "),
    };
    let sources = if csharp {
        format!(
            "# Leave code out like this (given keys replace the ruleset's):\n\
             # [sources.csharp]\n\
             # exclude = [\"**/bin/**\", \"**/obj/**\", \"**/*.verified.cs\", \"**/*.received.cs\", {proposed}]\n\n"
        )
    } else {
        String::new()
    };
    format!(
        r#"# A cortex workspace. cortex.toml.example in the cortex repository documents every key.
[workspace]
name = {name}
{rulesets}

{sources}# Your own targets:
# [producer.wordcount]
# uses = "command"
# argv = ["wc", "-w", "{{in.text}}"]
#
# [[rule]]
# target   = "//docs/{{doc}}:words"
# each     = {{ doc = "glob:docs/**/*.md" }}
# producer = "wordcount"
# inputs   = {{ text = "//files/{{doc}}:bytes" }}
"#
    )
}

fn toml_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
