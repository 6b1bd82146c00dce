//! Parser of patches in the two forms that models write: unified diffs, and `*** Begin Patch`. Errors name the line.

use super::unified;
use crate::code_text::lines::{body, line_end, split};

/// Change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    pub path: String,
    /// New path, if the file is moved.
    pub to: Option<String>,
    pub kind: PatchOperation,
    pub executable: bool,
    /// Number of the mail in a series of mails.
    pub mail: usize,
}

impl FilePatch {
    /// Whether the change removes the file's old path.
    pub(super) fn removes_old_path(&self) -> bool {
        matches!(self.kind, PatchOperation::Delete(_)) || self.to.is_some()
    }
}

/// Kind of a file's change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchOperation {
    /// Create the file with this text.
    Add(String),
    /// Delete the file; its hunks, if any, must cover all lines.
    Delete(Vec<Hunk>),
    Update(Vec<Hunk>),
}

/// Lines removed and added at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Number of the hunk's line in the patch, for messages.
    pub at: usize,
    /// Start line in the old file, from 1, if the patch has it.
    pub line: Option<usize>,
    /// Context lines above the hunk, each below the previous one; the hunk is searched after the last.
    pub below: Vec<String>,
    /// Lines of the hunk: ` `, `-` or `+`, and the text.
    pub lines: Vec<(char, String)>,
    /// Line ends in the patch, one per line; empty at the end of the patch.
    pub ends: Vec<String>,
    /// Whether the hunk is at the end of the file.
    pub last: bool,
    /// Whether the last old line has no end.
    pub was_open: bool,
    /// Whether the last new line has no end.
    pub open: bool,
    /// End of the hunk's new lines for a file without line ends, if the patch defines it.
    pub end: Option<&'static str>,
}

impl Hunk {
    /// Adds a line.
    pub(super) fn push(&mut self, sign: char, text: &str, end: &str) {
        self.lines.push((sign, text.to_owned()));
        self.ends.push(end.to_owned());
    }

    /// Returns the old lines of the hunk with their ends.
    pub(super) fn old(&self) -> impl Iterator<Item = (&str, &str)> {
        self.with_sign(|sign| sign != '+')
    }

    fn with_sign(&self, is_meant: impl Fn(char) -> bool) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.lines.iter().zip(&self.ends).filter(move |((sign, _), _)| is_meant(*sign));
        lines.map(|((_, text), end)| (text.as_str(), end.as_str()))
    }

    /// Whether the hunk's lines have several kinds of ends: then the patch's ends were not normalized and count.
    pub(super) fn tells_ends(&self) -> bool {
        let mut ends = self.ends.iter().filter(|end| !end.is_empty());
        ends.next().is_some_and(|first| ends.any(|end| end != first))
    }

    /// Whether the hunk removes a line and adds it again with another end.
    pub(super) fn turns_ends(&self) -> bool {
        let differs = |one: &str, other: &str| one != other && !one.is_empty() && !other.is_empty();
        let comes = |(text, end): (&str, &str)| {
            self.with_sign(|sign| sign == '+')
                .any(|(new, other)| new == text && differs(end, other))
        };
        self.with_sign(|sign| sign == '-').any(comes)
    }
}

/// Reads a patch. Fails when the patch is malformed, with the error and its line.
pub fn parse(text: &str) -> Result<Vec<FilePatch>, String> {
    // In a patch with LF, a carriage return within a line belongs to the line.
    let whole: Vec<&str> = match text.contains('\n') {
        true => text.split_inclusive('\n').collect(),
        false => split(text).collect(),
    };
    let lines: Vec<&str> = whole.iter().map(|line| body(line)).collect();
    let mut said = (0..lines.len()).filter(|at| !lines[*at].trim().is_empty());
    let first = said.next().ok_or("the patch is empty")?;
    let is_begin = |at: &usize| lines[*at].trim() == "*** Begin Patch";
    let files = match closing(lines[first]).zip(said.next().filter(is_begin)) {
        Some((closing, begin)) => {
            let last = said
                .next_back()
                .filter(|last| lines[*last].trim() == closing)
                .unwrap_or(lines.len());
            sections(&lines[..last], &whole, begin + 1)?
        }
        None if is_begin(&first) => sections(&lines, &whole, first + 1)?,
        None => unified::parse_patches(&lines, &whole)?,
    };
    if files.is_empty() {
        return Err("the patch has no file: begin with `*** Begin Patch`, or with `--- a/path` and `+++ b/path`".to_owned());
    }
    Ok(files)
}

/// Returns the line that closes a wrapper around a patch: a code fence, or a shell's here-document.
fn closing(line: &str) -> Option<&str> {
    let line = line.trim();
    let mark = line
        .strip_prefix("apply_patch")
        .and_then(|rest| rest.trim_start().strip_prefix("<<"));
    match mark {
        Some(mark) => Some(mark.trim_start_matches('-').trim_matches(['\'', '"', ' '])),
        None => line.starts_with("```").then_some("```"),
    }
}

fn sections(lines: &[&str], whole: &[&str], from: usize) -> Result<Vec<FilePatch>, String> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut ended = false;
    for (at, line) in lines.iter().enumerate().skip(from) {
        let number = at + 1;
        if ended {
            if line.trim().is_empty() {
                continue;
            }
            return Err(format!("line {number} of the patch: there is text after `*** End Patch`"));
        }
        let mut begin = |path: &str, kind| {
            files.push(FilePatch {
                path: path.trim().to_owned(),
                to: None,
                kind,
                executable: false,
                mail: 0,
            });
        };
        if line.trim_end() == "*** End Patch" {
            ended = true;
        } else if let Some(path) = line.strip_prefix("*** Add File: ") {
            begin(path, PatchOperation::Add(String::new()));
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            begin(path, PatchOperation::Delete(Vec::new()));
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            begin(path, PatchOperation::Update(Vec::new()));
        } else {
            let file = files
                .last_mut()
                .ok_or_else(|| format!("line {number} of the patch: no file is named before it"))?;
            if let Some(path) = line.strip_prefix("*** Move to: ") {
                file.to = Some(path.trim().to_owned());
                continue;
            }
            match &mut file.kind {
                PatchOperation::Delete(_) if line.trim().is_empty() => {}
                PatchOperation::Delete(_) => return Err(format!("line {number} of the patch: a deleted file has no lines")),
                PatchOperation::Add(text) => match line.strip_prefix('+') {
                    Some(added) => text.extend([added, "\n"]),
                    None => return Err(format!("line {number} of the patch: lines of a new file begin with +")),
                },
                PatchOperation::Update(hunks) => update(hunks, line, line_end(whole[at]), number)?,
            }
        }
    }
    if !ended {
        return Err("the patch has no `*** End Patch`: it was cut short".to_owned());
    }
    for file in &mut files {
        if let PatchOperation::Update(hunks) = &mut file.kind {
            hunks.retain(|hunk| !(hunk.lines.is_empty() && hunk.below.is_empty()));
            if hunks.iter().any(|hunk| hunk.lines.is_empty()) || hunks.is_empty() && file.to.is_none() {
                return Err(format!("the patch has no lines for {}", file.path));
            }
        }
    }
    Ok(files)
}

fn update(hunks: &mut Vec<Hunk>, line: &str, ended: &str, number: usize) -> Result<(), String> {
    if line.trim_end() == "*** End of File" {
        if let Some(hunk) = hunks.last_mut() {
            hunk.last = true;
        }
        return Ok(());
    }
    if let Some(below) = line.strip_prefix("@@") {
        let below = below.trim();
        let below = below.strip_suffix("@@").unwrap_or(below).trim();
        open_hunk(hunks, number, |last| last.lines.is_empty())
            .below
            .extend((!below.is_empty()).then(|| below.to_owned()));
        return Ok(());
    }
    let hunk = open_hunk(hunks, number, |_| true);
    match line.chars().next() {
        None => hunk.push(' ', "", ended),
        Some(sign @ (' ' | '-' | '+')) => hunk.push(sign, &line[1..], ended),
        Some(_) => return Err(format!("line {number} of the patch begins with none of space, - and +")),
    }
    Ok(())
}

/// Returns the last hunk if it continues; otherwise adds one at a line of the patch.
fn open_hunk(hunks: &mut Vec<Hunk>, number: usize, goes_on: impl Fn(&Hunk) -> bool) -> &mut Hunk {
    if !hunks.last().is_some_and(goes_on) {
        hunks.push(Hunk {
            at: number,
            ..Hunk::default()
        });
    }
    hunks.last_mut().expect("invariant: one was just made")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_make_change_move_and_remove() {
        let files = parse(
            "*** Begin Patch\n*** Add File: n.cs\n+a\n+\n*** Delete File: o.cs\n*** Update File: p.cs\n*** Move to: q.cs\n*** End Patch",
        )
        .expect("a patch");
        assert_eq!(
            files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
            ["n.cs", "o.cs", "p.cs"]
        );
        assert_eq!(
            (&files[0].kind, files[2].to.as_deref()),
            (&PatchOperation::Add("a\n\n".to_owned()), Some("q.cs"))
        );
    }

    #[test]
    fn text_around_a_patch_is_no_part_of_it() {
        let patch = "*** Begin Patch\n*** Delete File: o.cs\n*** End Patch";
        for (begin, end) in [
            ("apply_patch <<'EOF'", "EOF"),
            ("apply_patch << \"END\"", "END\n\n"),
            ("```diff", "```\n"),
            ("```", "```"),
        ] {
            assert_eq!(parse(&format!("\n{begin}\n{patch}\n{end}")), parse(patch), "{begin}");
        }
        for (begin, end) in [("apply_patch <<'EOF'", "END"), ("apply_patch", "EOF"), ("```", "~~~")] {
            assert!(parse(&format!("{begin}\n{patch}\n{end}")).is_err(), "{begin}");
        }
    }

    #[test]
    fn malformed_patches_are_refused() {
        for (text, why) in [
            ("", "the patch is empty"),
            ("hello\n", "the patch has no file"),
            ("*** Begin Patch\n*** Add File: a\n+x\n", "the patch has no `*** End Patch`"),
            (
                "*** Begin Patch\n+x\n*** End Patch",
                "line 2 of the patch: no file is named before it",
            ),
            (
                "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
                "line 3 of the patch: lines of a new file begin with +",
            ),
            ("*** Begin Patch\n*** End Patch\nx", "line 3 of the patch: there is text after"),
            ("--- a/x\n@@ -1 +1 @@\n", "line 2 of the patch: `+++` is missing"),
            ("--- a/x\n+++ b/x\n", "line 3 of the patch: a hunk is missing"),
            (
                "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..7898192\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
                "line 1 of the patch: the lines of this file are missing",
            ),
            ("diff --git a/e b/e\n", "line 1 of the patch: the lines of this file are missing"),
            (
                "diff --git a/e b/f\nsimilarity index 90%\nrename from e\nrename to f\nindex 1..2 100644\n",
                "line 1 of the patch: the lines of this file are missing",
            ),
            (
                "diff --git a/e b/f\nnew file mode 100644\n",
                "line 1 of the patch: it does not name one file two times",
            ),
            (
                "diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
                "line 3 of the patch: binary files, copies by git, and changes of modes are not applied",
            ),
            ("--- \"a/caf\\303\\2\n+++ b/c\n", "line 1 of the patch: `\"a/caf"),
            ("--- a/c\n+++ \"b/caf\\351\"\n", "line 2 of the patch: `\"b/caf"),
            ("--- a/c\n+++ b\\c\n", "line 2 of the patch: `b\\c` is not a path as git writes it"),
            (
                "diff --git a/l b/l\nnew file mode 120000\nindex 0..e\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../out\n",
                "line 2 of the patch: l is a symbolic link, and only regular files can be created, changed and removed",
            ),
            (
                "diff --git a/l b/l\nindex 1..2 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a\n+b\n",
                "line 2 of the patch: l is a symbolic link",
            ),
            (
                "diff --git a/m b/m\ndeleted file mode 160000\n--- a/m\n+++ /dev/null\n@@ -1 +0,0 @@\n-Subproject commit 1\n",
                "line 2 of the patch: m is not a regular file",
            ),
            ("--- a/x\n+++ b/x\n@@ what @@\n", "line 3 of the patch is not a hunk header"),
            (
                "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n",
                "the hunk at line 3 of the patch is cut short",
            ),
            ("@@ -1 +1 @@\n-a\n+b\n", "line 1 of the patch: no file is named before it"),
        ] {
            let message = parse(text).expect_err("refused");
            assert!(message.starts_with(why), "{message}");
        }
    }

    #[test]
    fn unified_diffs_make_and_remove_files() {
        let files = parse("diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n").expect("a patch");
        assert_eq!(files[0].kind, PatchOperation::Add("a\nb".to_owned()));
        assert_eq!(files[1].path.as_str(), "o");
        assert!(
            matches!(&files[1].kind, PatchOperation::Delete(hunks) if hunks.len() == 1),
            "{:?}",
            files[1]
        );
    }
}
