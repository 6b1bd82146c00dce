//! Reads files by path, whole or by line range, in the form of symbol sources. A range outside the file is clamped, and the answer reports the
//! correction.

use super::source::{FileRange, Source};
use crate::code_text::encoding::{self, Form, LARGEST, Unreadable};
use crate::code_text::lines::{body, split};
use crate::editable_paths::{self, Guard, Refused};
use engine::seams::world::{World, WorldError};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::path::Path;

/// Extensions that mark a file rather than a symbol's name; the workspace's own files add theirs.
pub const ENDINGS: [&str; 24] = [
    "bat", "config", "cs", "csproj", "cshtml", "css", "csv", "htm", "html", "js", "json", "log", "md", "props", "ps1", "py", "resx", "sh",
    "sln", "slnx", "toml", "txt", "xml", "yml",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRequest {
    /// Path of the file, as the request gave it.
    pub path: String,
    /// First and last line, as the request gave them; the last is `None` for the rest of the file.
    pub lines: Option<(u64, Option<u64>)>,
}

impl FileRequest {
    /// Parses `PATH`, `PATH:LINE`, `PATH:FROM-TO` and `PATH:FROM-`.
    pub fn from_text(text: &str) -> Self {
        let whole = || Self {
            path: text.to_owned(),
            lines: None,
        };
        // A number too large to parse is past the end of every file.
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = |digits: &str| is_number(digits).then(|| digits.parse().unwrap_or(u64::MAX));
        let Some((path, range)) = text.rsplit_once(':') else {
            return whole();
        };
        let lines = match range.split_once('-') {
            None => number(range).map(|line| (line, Some(line))),
            Some((from, "")) => number(from).map(|from| (from, None)),
            Some((from, to)) => number(from).zip(number(to)).map(|(from, to)| (from, Some(to))),
        };
        match lines {
            Some(lines) if !path.is_empty() => Self {
                path: path.to_owned(),
                lines: Some(lines),
            },
            _ => whole(),
        }
    }

    /// Parses a text; a file of that exact name takes precedence over lines of another file.
    pub fn among(text: &str, root: &Path) -> Self {
        let asked = Self::from_text(text);
        match asked.lines.is_some() && editable_paths::size(root, text).is_some() {
            true => Self {
                path: text.to_owned(),
                lines: None,
            },
            false => asked,
        }
    }

    /// Whether the text can only be a path.
    pub fn is_path(&self) -> bool {
        !self.path.starts_with("//") && (self.path.contains('/') || self.path.starts_with('.'))
    }

    /// Returns the path below the workspace's root, and whether the file exists on disk. Fails when the path leads to something that must
    /// not be shown.
    pub fn path_in_workspace(&self, root: &Path, store: Option<&Path>) -> Result<(String, bool), Refused> {
        // A path below a missing folder may still refer to a file.
        let path = editable_paths::resolve(root, self.path.trim_end_matches('/'), &readable_files(store))?;
        let is_there = editable_paths::size(root, &path).is_some();
        Ok((path, is_there))
    }

    /// Clamps the requested range to a file of `last` lines; returns the range and the correction.
    fn clamp_lines(&self, last: usize) -> ((usize, usize), Option<String>) {
        let Some((from, to)) = self.lines else { return ((1, last), None) };
        let clip = |line: u64| usize::try_from(line).unwrap_or(usize::MAX).clamp(1, last);
        let end = to.unwrap_or(from.max(last as u64));
        let (first, behind) = (clip(from.min(end)), clip(from.max(end)));
        let corrected = (from, end) != (first as u64, behind as u64);
        let correction = corrected.then(|| {
            let number = |line: u64| match line {
                u64::MAX => format!("{line} or more"),
                line => line.to_string(),
            };
            let asked = match to {
                Some(to) if to == from => format!("line {} was requested", number(from)),
                Some(to) => format!("lines {}-{} were requested", number(from), number(to)),
                None => format!("the lines from {} on were requested", number(from)),
            };
            let lines = if last == 1 { "1 line".to_owned() } else { format!("{last} lines") };
            format!("{asked}; the file has {lines}, and {first}-{behind} are shown")
        });
        ((first, behind), correction)
    }
}

/// Guard of readable files: the same as for editing, but the manifest is allowed.
fn readable_files(store: Option<&Path>) -> Guard {
    Guard {
        store: store.map(Path::to_owned),
        manifest: true,
    }
}

/// Reads the requested lines of a file, at most `most`. Fails when the file cannot be read or is not text.
pub fn lines(world: &dyn World, root: &Path, path: &str, asked: &FileRequest, most: usize) -> Result<Source, Box<Diagnostic>> {
    let large = editable_paths::size(root, path).filter(|size| *size > LARGEST as u64);
    if let Some(bytes) = large {
        return Err(Box::new(no_text(path, &Unreadable::Large { bytes })));
    }
    let bytes = world.read(path).map_err(|error| {
        let (code, hint) = match error {
            WorldError::Removed { .. } => (ErrorCode::E_NO_FILE, "ask without the overlay for the file on the disk"),
            _ => (ErrorCode::E_READ, "check its permissions and the links on the way to it"),
        };
        Box::new(Diagnostic::error(code, error.to_string()).hint(hint))
    })?;
    let (text, encoding) = encoding::decode(&bytes).map_err(|why| Box::new(no_text(path, &why)))?;
    let mut found = Source {
        path: path.to_owned(),
        parts: Vec::new(),
        notes: Vec::new(),
    };
    let all: Vec<&str> = split(&text).collect();
    if all.is_empty() {
        found.notes.push(format!("{path} is empty"));
        return Ok(found);
    }
    let ((start, wanted), corrected) = asked.clamp_lines(all.len());
    found.notes.extend(corrected.map(|correction| format!("{path}: {correction}")));
    let end = wanted.min(start.saturating_add(most.max(1)) - 1);
    let line = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let left_out = (end < wanted).then(|| (line(end + 1), line(wanted)));
    if let Some((from, to)) = left_out {
        found.notes.push(format!("{path}: lines {from}-{to} are omitted"));
    }
    let mark = if encoding.mark && start == 1 { "\u{feff}" } else { "" };
    found.parts.push(FileRange {
        file: path.to_owned(),
        start: line(start),
        start_column: 1,
        end: line(end),
        end_column: line(body(all[end - 1]).chars().count()).saturating_add(1),
        text: format!("{mark}{}", all[start - 1..end].concat()),
        encoding: (encoding.form != Form::Utf8).then(|| encoding.form.to_string().to_lowercase()),
        left_out,
        excluded: Vec::new(),
    });
    Ok(found)
}

/// Explains why a file is not shown, with a hint.
pub fn no_text(path: &str, why: &Unreadable) -> Diagnostic {
    let (code, hint) = match why {
        Unreadable::Large { .. } => (
            ErrorCode::E_TOO_LARGE,
            "`cortex search` finds its declarations; other programs show its bytes",
        ),
        Unreadable::Binary { .. } => (
            ErrorCode::E_BINARY,
            "a program for files of its kind shows it; only text is shown here",
        ),
        _ => (
            ErrorCode::E_ENCODING,
            "convert a copy to UTF-8 (`iconv -f FROM -t UTF-8`) and read that",
        ),
    };
    Diagnostic::error(code, format!("{path} is not shown: {why}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_lines_suffix(text: &str) -> (String, Option<(u64, Option<u64>)>) {
        let FileRequest { path, lines } = FileRequest::from_text(text);
        (path, lines)
    }

    #[test]
    fn lines_stand_behind_a_colon() {
        assert_eq!(split_lines_suffix("src/A.cs"), ("src/A.cs".to_owned(), None));
        assert_eq!(split_lines_suffix("src/A.cs:7"), ("src/A.cs".to_owned(), Some((7, Some(7)))));
        assert_eq!(split_lines_suffix("src/A.cs:7-9"), ("src/A.cs".to_owned(), Some((7, Some(9)))));
        assert_eq!(split_lines_suffix("src/A.cs:7-"), ("src/A.cs".to_owned(), Some((7, None))));
        let long = "a:99999999999999999999";
        assert_eq!(split_lines_suffix(long), ("a".to_owned(), Some((u64::MAX, Some(u64::MAX)))));
        for plain in ["a:b", "a:7-b", "a:-7", "a:", ":7", "a:7-9-11", "a:+7", "a:7:"] {
            assert_eq!(split_lines_suffix(plain), (plain.to_owned(), None));
        }
    }

    #[test]
    fn a_file_of_that_very_name_comes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a:2", "a"] {
            std::fs::write(folder.path().join(name), "x").expect("written");
        }
        let among = |text: &str| FileRequest::among(text, folder.path());
        assert_eq!((among("a:2").path.as_str(), among("a:2").lines), ("a:2", None));
        assert_eq!(among("a:2-2"), FileRequest::from_text("a:2-2"));
        assert_eq!(among("a:2:3").lines, Some((3, Some(3))));
    }

    #[test]
    fn lines_that_are_not_there_are_corrected() {
        let within = |range: &str| FileRequest::from_text(&format!("f:{range}")).clamp_lines(10);
        for (range, lines) in [("1-10", (1, 10)), ("3", (3, 3)), ("3-5", (3, 5)), ("4-", (4, 10))] {
            assert_eq!(within(range), (lines, None), "{range}");
        }
        for (range, lines, correction) in [
            ("0-8", (1, 8), "lines 0-8 were requested; the file has 10 lines, and 1-8 are shown"),
            ("0", (1, 1), "line 0 was requested; the file has 10 lines, and 1-1 are shown"),
            (
                "0-",
                (1, 10),
                "the lines from 0 on were requested; the file has 10 lines, and 1-10 are shown",
            ),
            ("8-3", (3, 8), "lines 8-3 were requested; the file has 10 lines, and 3-8 are shown"),
            (
                "9-99",
                (9, 10),
                "lines 9-99 were requested; the file has 10 lines, and 9-10 are shown",
            ),
            (
                "40-99",
                (10, 10),
                "lines 40-99 were requested; the file has 10 lines, and 10-10 are shown",
            ),
            (
                "40-",
                (10, 10),
                "the lines from 40 on were requested; the file has 10 lines, and 10-10 are shown",
            ),
            (
                "18446744073709551615-18446744073709551615",
                (10, 10),
                "line 18446744073709551615 or more was requested; the file has 10 lines, and 10-10 are shown",
            ),
        ] {
            assert_eq!(within(range), (lines, Some(correction.to_owned())), "{range}");
        }
    }
}
