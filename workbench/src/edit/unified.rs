//! Parser of unified diffs: plain ones, and those of git with extended headers and quoted paths. Unsupported changes are refused by name: binary
//! files, copies, links, and mode changes.

use super::match_failure;
use super::patch::{FilePatch, Hunk, PatchOperation};
use super::patch_names::{both_names, path, repeated_name};
use crate::code_text::lines::{Ends, body, line_end};

/// Git's names of the empty blob, by SHA-1 and by SHA-256.
const EMPTY: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// Git's extended header of a file.
#[derive(Default)]
struct GitHeader<'p> {
    /// The two names of the file, and their line in the patch.
    names: Option<(&'p str, usize)>,
    /// Mode of the file, and its line in the patch.
    mode: Option<(Mode, usize)>,
    /// Whether the file is created or deleted.
    change: Option<GitChange>,
    /// Names of the file's blobs.
    index: Option<(&'p str, &'p str)>,
    /// Paths of a move, from and to.
    moved: (Option<String>, Option<String>),
    /// Number of the mail in a series of mails.
    mail: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GitChange {
    Made,
    Removed,
}

/// File mode in git's notation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    Executable,
    Link,
    /// A submodule, or a mode that git does not write.
    Other,
}

impl Mode {
    fn from_text(text: &str) -> Self {
        match text.trim() {
            "100644" => Self::Plain,
            "100755" => Self::Executable,
            "120000" => Self::Link,
            _ => Self::Other,
        }
    }
}

/// Parses the lines of a patch, given without and with their ends. Fails when the patch is malformed, with the error and its line.
pub(super) fn parse_patches(lines: &[&str], whole: &[&str]) -> Result<Vec<FilePatch>, String> {
    let mut files = Vec::new();
    let mut head = GitHeader::default();
    let mut at = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(0);
    if lines.get(at).is_some_and(|line| begins_mail(line) || of_mail(line)) {
        at = behind_message(lines, at);
    }
    while at < lines.len() {
        if begins_mail(lines[at]) {
            files.extend(head.take().without_lines()?);
            head.mail += 1;
            at = behind_message(lines, at);
            continue;
        }
        if lines[at].starts_with("--- ") {
            let (file, next) = with_lines(lines, whole, at, &head.take())?;
            files.push(file);
            at = next;
            continue;
        }
        if let Some(names) = lines[at].strip_prefix("diff --git ") {
            files.extend(head.take().without_lines()?);
            head.names = Some((names, at + 1));
        } else {
            head.meets(lines[at], at + 1)?;
        }
        at += 1;
    }
    files.extend(head.without_lines()?);
    Ok(files)
}

/// Whether a line begins a mail of `git format-patch`.
fn begins_mail(line: &str) -> bool {
    let name = line.strip_prefix("From ").and_then(|rest| rest.split(' ').next());
    name.is_some_and(|name| matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether a line is a header of such a mail.
fn of_mail(line: &str) -> bool {
    ["From: ", "Subject: ", "Date: "].iter().any(|begin| line.starts_with(begin))
}

/// Returns the line after the message of a mail that begins at `at`. The message is free text; as in git, a diff needs more than one header line.
fn behind_message(lines: &[&str], at: usize) -> usize {
    let heads = [
        "index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity ", "dissimilarity ", "rename ", "copy ",
        "--- ",
    ];
    let has = |at: usize, begin: &str| lines.get(at).is_some_and(|line| line.starts_with(begin));
    let begins = |at: &usize| match has(*at, "diff --git ") {
        true => heads.iter().any(|begin| has(at + 1, begin)),
        false => has(*at, "--- ") && has(at + 1, "+++ ") && has(at + 2, "@@ -"),
    };
    (at + 1..lines.len()).find(begins).unwrap_or(lines.len())
}

impl<'p> GitHeader<'p> {
    /// Takes the finished header; the next one is in the same mail.
    fn take(&mut self) -> Self {
        let next = Self {
            mail: self.mail,
            ..Self::default()
        };
        std::mem::replace(self, next)
    }

    /// Parses a header line of git, or skips prose.
    fn meets(&mut self, line: &'p str, number: usize) -> Result<(), String> {
        if line.starts_with("@@ ") {
            return Err(format!("line {number} of the patch: no file is named before it"));
        }
        let unfit = ["Binary files ", "GIT binary patch", "copy from ", "old mode "];
        if unfit.iter().any(|begin| line.starts_with(begin)) {
            return Err(format!(
                "line {number} of the patch: binary files, copies by git, and changes of modes are not applied"
            ));
        }
        if let Some(mode) = line.strip_prefix("new file mode ") {
            self.change = Some(GitChange::Made);
            self.mode = Some((Mode::from_text(mode), number));
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            self.change = Some(GitChange::Removed);
            self.mode = Some((Mode::from_text(mode), number));
        } else if let Some(index) = line.strip_prefix("index ") {
            // `index 1234567..89abcde 100644` if the mode stays.
            let (blobs, mode) = index.split_once(' ').map_or((index, None), |(blobs, mode)| (blobs, Some(mode)));
            if let Some(blobs) = blobs.split_once("..") {
                self.index = Some(blobs);
                self.mode = mode.map(|mode| (Mode::from_text(mode), number)).or(self.mode);
            }
        } else if let Some(from) = line.strip_prefix("rename from ") {
            self.moved.0 = Some(path(from, number)?);
        } else if let Some(to) = line.strip_prefix("rename to ") {
            self.moved.1 = Some(path(to, number)?);
        }
        Ok(())
    }

    /// Returns the change of a file without hunks: an empty file, or a pure move.
    fn without_lines(self) -> Result<Option<FilePatch>, String> {
        let Some((names, number)) = self.names else { return Ok(None) };
        let is_empty = |blob: &str| EMPTY.iter().any(|empty| empty.starts_with(blob));
        let is_whole = match (self.change, self.index) {
            (_, None) => true,
            (Some(GitChange::Made), Some((_, blob))) | (Some(GitChange::Removed), Some((blob, _))) => is_empty(blob),
            (None, Some(_)) => false,
        };
        let lost = || Err(format!("line {number} of the patch: the lines of this file are missing"));
        if !is_whole {
            return lost();
        }
        let (path, to, kind) = match (self.change, &self.moved) {
            (None, (Some(from), Some(to))) => (from.clone(), Some(to.clone()), PatchOperation::Update(Vec::new())),
            (None, _) => return lost(),
            (Some(GitChange::Made), _) => (repeated_name(names, number)?, None, PatchOperation::Add(String::new())),
            (Some(GitChange::Removed), _) => {
                // An empty hunk that must cover the file: it matches only an empty one.
                let nothing = Hunk {
                    at: number,
                    line: Some(1),
                    ..Hunk::default()
                };
                (repeated_name(names, number)?, None, PatchOperation::Delete(vec![nothing]))
            }
        };
        let executable = self.is_executable(&path)?;
        Ok(Some(FilePatch {
            path,
            to,
            kind,
            executable,
            mail: self.mail,
        }))
    }

    /// Whether the file is executable; refuses irregular files.
    fn is_executable(&self, path: &str) -> Result<bool, String> {
        match self.mode {
            Some((mode @ (Mode::Link | Mode::Other), number)) => {
                let is = if mode == Mode::Link {
                    "a symbolic link"
                } else {
                    "not a regular file"
                };
                Err(format!(
                    "line {number} of the patch: {path} is {is}, and only regular files can be created, changed and removed"
                ))
            }
            mode => Ok(self.change == Some(GitChange::Made) && matches!(mode, Some((Mode::Executable, _)))),
        }
    }
}

/// Parses a file from its `---` line on; returns it with the line after its last hunk.
fn with_lines(lines: &[&str], whole: &[&str], at: usize, head: &GitHeader<'_>) -> Result<(FilePatch, usize), String> {
    let old = lines[at].strip_prefix("--- ").unwrap_or_default();
    let new = lines.get(at + 1).and_then(|line| line.strip_prefix("+++ "));
    let new = new.ok_or_else(|| format!("line {} of the patch: `+++` is missing", at + 2))?;
    let git_names = head.names.map(|(git_names, _)| git_names);
    let (old, new) = match &head.moved {
        // Paths of a move have no prefixes.
        (Some(from), Some(to)) => (Some(from.clone()), Some(to.clone())),
        _ => both_names(old, new, git_names, at + 1)?,
    };
    // A patch that itself uses CRLF everywhere does not define the file's line ends.
    let tells = whole[at + 1].ends_with('\n') && !whole[at + 1].ends_with("\r\n");
    let first = at + 2;
    let mut at = first;
    let mut hunks = Vec::new();
    while let Some(ranges) = lines.get(at).and_then(|line| line.strip_prefix("@@ ")) {
        let (mut hunk, next) = hunk(lines, whole, at, ranges)?;
        hunk.end = Some(Ends::from_text(&join_added_lines(&whole[at..next], tells)).most_frequent());
        hunks.push(hunk);
        at = next;
    }
    let Some(last) = hunks.last() else {
        return Err(format!("line {} of the patch: a hunk is missing", at + 1));
    };
    let is_open = last.open;
    let (path, to, kind) = match (old, new) {
        (None, Some(path)) => {
            if hunks.iter().flat_map(|hunk| &hunk.lines).any(|(sign, _)| *sign != '+') {
                return Err(format!("{path} is new, and the patch has old lines of it"));
            }
            let mut text = join_added_lines(&whole[first..at], tells);
            if is_open {
                text.truncate(text.strip_suffix('\n').map_or(text.len(), str::len));
            }
            (path, None, PatchOperation::Add(text))
        }
        (Some(path), None) => (path, None, PatchOperation::Delete(hunks)),
        (Some(path), Some(to)) => (path.clone(), (to != path).then_some(to), PatchOperation::Update(hunks)),
        (None, None) => return Err(format!("line {first} of the patch: no file is named")),
    };
    let executable = head.is_executable(to.as_ref().unwrap_or(&path))?;
    Ok((
        FilePatch {
            path,
            to,
            kind,
            executable,
            mail: head.mail,
        },
        at,
    ))
}

/// Joins the added lines of hunks, with their own ends if the patch `tells` them, else with LF.
fn join_added_lines(whole: &[&str], tells: bool) -> String {
    let lines = whole.iter().filter_map(|line| line.strip_prefix('+'));
    let ended = lines.flat_map(|line| match tells && line.ends_with('\n') {
        true => [line, ""],
        false => [body(line), "\n"],
    });
    ended.collect()
}

/// Parses the hunk at a line of the patch; returns it with the next line. Its header gives the number of its lines.
fn hunk(lines: &[&str], whole: &[&str], at: usize, head: &str) -> Result<(Hunk, usize), String> {
    let wrong = || {
        let found = match_failure::visible(lines[at]);
        format!(
            "line {} of the patch is not a hunk header: it is `{found}`, and `@@ -12,3 +12,4 @@` would be one",
            at + 1
        )
    };
    let ranges = head.split(" @@").next().ok_or_else(wrong)?;
    let (old, new) = ranges.split_once(' ').ok_or_else(wrong)?;
    let numbers = |range: &str, sign: char| -> Option<(usize, usize)> {
        let range = range.strip_prefix(sign)?;
        match range.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((range.parse().ok()?, 1)),
        }
    };
    let (start, mut olds) = numbers(old, '-').ok_or_else(wrong)?;
    let (_, mut news) = numbers(new.trim_end(), '+').ok_or_else(wrong)?;
    // For a pure insertion, the number is that of the line before.
    let line = if olds == 0 { start + 1 } else { start };
    let mut hunk = Hunk {
        at: at + 1,
        line: Some(line),
        ..Hunk::default()
    };
    let mut next = at + 1;
    while olds > 0 || news > 0 {
        let text = lines
            .get(next)
            .ok_or_else(|| format!("the hunk at line {} of the patch is cut short", at + 1))?;
        let (sign, rest) = match text.chars().next() {
            None => (' ', ""),
            Some(sign @ (' ' | '-' | '+')) => (sign, &text[1..]),
            // The marker applies to one of the two texts: the other one continues.
            Some('\\') => {
                opened(&mut hunk, next + 1, olds, news)?;
                next += 1;
                continue;
            }
            Some(_) => return Err(format!("line {} of the patch begins with none of space, - and +", next + 1)),
        };
        let short = || {
            format!(
                "the hunk at line {} of the patch has other numbers of lines than its head says",
                at + 1
            )
        };
        if sign != '+' {
            olds = olds.checked_sub(1).ok_or_else(short)?;
        }
        if sign != '-' {
            news = news.checked_sub(1).ok_or_else(short)?;
        }
        hunk.push(sign, rest, line_end(whole[next]));
        next += 1;
    }
    if lines.get(next).is_some_and(|line| line.starts_with('\\')) {
        opened(&mut hunk, next + 1, olds, news)?;
        next += 1;
    }
    Ok((hunk, next))
}

/// Applies the marker that the previous line has no line end. That line must be the last of the old text, the new text or both; `olds` and `news`
/// are their numbers of remaining lines.
fn opened(hunk: &mut Hunk, number: usize, olds: usize, news: usize) -> Result<(), String> {
    let sign = hunk.lines.last().map(|(sign, _)| *sign);
    let (is_old, is_new) = (matches!(sign, Some(' ' | '-')), matches!(sign, Some(' ' | '+')));
    if !(is_old || is_new) || is_old && olds > 0 || is_new && news > 0 {
        return Err(format!(
            "line {number} of the patch says that a line has no end, which only the last one of a file can be without"
        ));
    }
    hunk.last = true;
    hunk.was_open |= is_old;
    hunk.open |= is_new;
    Ok(())
}
