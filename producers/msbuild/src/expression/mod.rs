//! Expands `$(…)`: properties, and the property functions that projects use.
//!
//! An unset property is empty, as in MSBuild. An unknown function is empty and reports a diagnostic. Limits on length and nesting of values
//! prevent exponential growth.

mod function;
mod regex;
pub(super) mod string;

use crate::path::{file_name, folder_of_path, rooted, stem_and_extension};
use crate::properties::{Properties, strip_prefix_ignoring_case};
use crate::report::{Report, Spot};
use crate::tree::Tree;
use crate::well_known_properties::is_inner;
use engine::values::codes::ErrorCode;

/// Maximum length of a property value.
const LONGEST: usize = 256 << 10;

/// Maximum nesting of `$(…)`.
const DEEPEST: u32 = 24;

/// The data that expansion may read.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'s> {
    pub properties: &'s Properties,
    /// Project files of the workspace.
    pub tree: &'s Tree<'s>,
    /// Place of the text; its file is `MSBuildThisFile`.
    pub spot: Spot<'s>,
    /// Receives diagnostics about text that cannot be evaluated.
    pub report: &'s Report,
    /// The operating system that conditions see: `linux`, `windows`, `osx`.
    pub os: &'s str,
    /// Folder, relative to the workspace, to which `Exists` paths are relative: the project's, or for imports that of the importing file.
    pub home: &'s str,
}

impl Scope<'_> {
    /// Returns the text with all `$(…)` replaced.
    pub fn expand(&self, text: &str) -> String {
        self.expand_at(text, 0)
    }

    pub(super) fn expand_at(&self, text: &str, depth: u32) -> String {
        if !text.contains("$(") {
            return text.to_owned();
        }
        if depth > DEEPEST {
            self.report.warn(
                ErrorCode::CS_PROJECT_LIMIT,
                self.spot,
                format!("expressions are nested more than {DEEPEST} deep"),
                text,
            );
            return String::new();
        }
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("$(") {
            expanded.push_str(&rest[..start]);
            let inner = &rest[start + 2..];
            let Some(end) = closing(inner) else {
                expanded.push_str(&rest[start..]);
                rest = "";
                break;
            };
            expanded.push_str(&self.evaluate_body(&inner[..end], depth));
            rest = &inner[end + 1..];
            if expanded.len() > LONGEST {
                self.report.warn(
                    ErrorCode::CS_PROJECT_LIMIT,
                    self.spot,
                    format!("a value is longer than {} KiB and counts as empty", LONGEST >> 10),
                    text,
                );
                return String::new();
            }
        }
        expanded.push_str(rest);
        expanded
    }

    /// Records the unset properties of build tools that a condition or an import reads.
    pub(super) fn note_unset(&self, text: &str) {
        for part in text.split("$(").skip(1) {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
            let name = &part[..end];
            if is_inner(name) && self.property(name).is_empty() && !self.properties.is_set(name) {
                self.report.unset(name, self.spot, text);
            }
        }
    }

    fn evaluate_body(&self, body: &str, depth: u32) -> String {
        let body = body.trim();
        if is_name(body) {
            return self.property(body);
        }
        // A machine's registry is no fact of the workspace.
        if body.starts_with("Registry:") {
            return String::new();
        }
        match function::evaluate(self, body, depth + 1) {
            Ok(value) => value.into_text(),
            Err(what) => {
                self.report.warn(
                    ErrorCode::CS_PROJECT_FUNCTION,
                    self.spot,
                    format!("{what} cannot be evaluated here and counts as empty"),
                    &format!("$({body})"),
                );
                String::new()
            }
        }
    }

    /// Returns the value of a property, including those of the present file.
    pub(super) fn property(&self, name: &str) -> String {
        let Some(rest) = strip_prefix_ignoring_case(name, "MSBuildThisFile") else {
            return self.properties.get(name).to_owned();
        };
        let path = rooted(self.spot.file);
        match rest.to_ascii_lowercase().as_str() {
            "" => file_name(&path).to_owned(),
            "directory" => format!("{}/", folder_of_path(&path)),
            "directorynoroot" => format!("{}/", folder_of_path(&path).trim_start_matches('/')),
            "name" => stem_and_extension(&path).0.to_owned(),
            "extension" => stem_and_extension(&path).1.to_owned(),
            "fullpath" => path,
            _ => self.properties.get(name).to_owned(),
        }
    }

    /// Whether a file or folder of the workspace exists. Reports paths that the set of project files cannot decide.
    pub(super) fn exists(&self, path: &str) -> bool {
        let path = unescape(path.trim());
        if path.is_empty() {
            return false;
        }
        let home = rooted(self.home);
        let absolute = crate::path::absolute(&home, &path);
        if self.tree.existing_file(&absolute).is_some() || self.tree.is_folder(&absolute) {
            return true;
        }
        // Assume that the build tools exist: old projects test for the file before they import it.
        if crate::path::file_name(&absolute).eq_ignore_ascii_case("Microsoft.Common.props") {
            return true;
        }
        match crate::path::in_workspace(&absolute) {
            Some(inside) if !decidable(inside) => {
                let message = "cannot tell whether this file exists: it is outside [sources.projects]; assuming it does not";
                self.report.add_note(ErrorCode::CS_PROJECT_EXISTS, self.spot, message, inside);
            }
            _ => {}
        }
        false
    }
}

/// Whether a path outside the set of project files is certainly absent. It is if the set lists all files of its kind, or if it is a build
/// product.
fn decidable(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let kinds = [
        ".csproj", ".props", ".targets", ".projitems", ".sln", ".slnx", ".slnf", ".proj", ".shproj", ".user",
    ];
    kinds.iter().any(|kind| lower.ends_with(kind))
        || lower
            .split('/')
            .any(|segment| matches!(segment, "bin" | "obj" | "artifacts" | "packages"))
}

/// Whether a text is a valid property name.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Returns the parenthesis that closes the one before the text, ignoring quoted parentheses.
pub fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_u32, None);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') if depth == 0 => return Some(at),
            (None, b')') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Decodes `%XX` escapes: `%3B` → `;`.
pub fn unescape(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        let code = rest
            .get(at + 1..at + 3)
            .filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if byte.is_ascii() => {
                plain.push(char::from(byte));
                rest = &rest[at + 3..];
            }
            _ => {
                plain.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}
