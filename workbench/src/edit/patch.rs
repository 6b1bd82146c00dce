//! Patches in the two forms that models write, read: unified diffs, and `*** Begin Patch`. What is not of the form is told with its line.

use super::lines::{body, split};
use super::miss;

/// What is to become of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// Its path as the patch has it.
    pub path: String,
    /// Where it goes, if it is moved.
    pub to: Option<String>,
    /// What is done.
    pub kind: Kind,
    /// Whether a file that is made can be run.
    pub executable: bool,
}

/// What is done with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is made, with these lines.
    Add(Vec<String>, bool),
    /// It is taken away; where there are hunks, they take all of its lines.
    Delete(Vec<Hunk>),
    /// It is changed.
    Update(Vec<Hunk>),
}

/// Lines that go and come at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Line of the patch, for what is said of it.
    pub at: usize,
    /// The line at which it begins in the old file, from 1, where the patch tells it.
    pub line: Option<usize>,
    /// A line above, from which on it is looked for.
    pub below: Option<String>,
    /// Its lines: ` `, `-` or `+`, and the text.
    pub lines: Vec<(char, String)>,
    /// Whether it stands at the end of the file.
    pub last: bool,
    /// Whether the last new line has no end.
    pub open: bool,
}

/// Reads a patch.
///
/// # Errors
/// What is wrong with it, and at which of its lines.
pub fn parse(text: &str) -> Result<Vec<FilePatch>, String> {
    let lines: Vec<&str> = split(text).map(body).collect();
    let first = lines.iter().position(|line| !line.trim().is_empty()).ok_or("the patch is empty")?;
    let files = match lines[first].trim() == "*** Begin Patch" {
        true => sections(&lines, first + 1)?,
        false => unified(&lines)?,
    };
    if files.is_empty() {
        return Err("the patch has no file: begin with `*** Begin Patch`, or with `--- a/path` and `+++ b/path`".to_owned());
    }
    for (at, file) in files.iter().enumerate() {
        if files[..at].iter().any(|other| other.path == file.path) {
            return Err(format!("{} stands in the patch twice", file.path));
        }
    }
    Ok(files)
}

fn sections(lines: &[&str], from: usize) -> Result<Vec<FilePatch>, String> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut ended = false;
    for (at, line) in lines.iter().enumerate().skip(from) {
        let number = at + 1;
        if ended {
            if line.trim().is_empty() {
                continue;
            }
            return Err(format!("line {number} of the patch: something stands behind `*** End Patch`"));
        }
        let mut begin = |path: &str, kind| {
            files.push(FilePatch {
                path: path.trim().to_owned(),
                to: None,
                kind,
                executable: false,
            });
        };
        if line.trim_end() == "*** End Patch" {
            ended = true;
        } else if let Some(path) = line.strip_prefix("*** Add File: ") {
            begin(path, Kind::Add(Vec::new(), false));
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            begin(path, Kind::Delete(Vec::new()));
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            begin(path, Kind::Update(Vec::new()));
        } else {
            let file = files
                .last_mut()
                .ok_or_else(|| format!("line {number} of the patch: no file is named before it"))?;
            if let Some(path) = line.strip_prefix("*** Move to: ") {
                file.to = Some(path.trim().to_owned());
                continue;
            }
            match &mut file.kind {
                Kind::Delete(_) if line.trim().is_empty() => {}
                Kind::Delete(_) => return Err(format!("line {number} of the patch: a file that goes has no lines")),
                Kind::Add(text, _) => match line.strip_prefix('+') {
                    Some(added) => text.push(added.to_owned()),
                    None => return Err(format!("line {number} of the patch: lines of a new file begin with +")),
                },
                Kind::Update(hunks) => update(hunks, line, number)?,
            }
        }
    }
    if !ended {
        return Err("the patch has no `*** End Patch`: it was cut short".to_owned());
    }
    for file in &mut files {
        if let Kind::Update(hunks) = &mut file.kind {
            hunks.retain(|hunk| !hunk.lines.is_empty() || hunk.below.is_some());
            if hunks.iter().any(|hunk| hunk.lines.is_empty()) || hunks.is_empty() && file.to.is_none() {
                return Err(format!("the patch has no lines for {}", file.path));
            }
        }
    }
    Ok(files)
}

fn update(hunks: &mut Vec<Hunk>, line: &str, number: usize) -> Result<(), String> {
    let fresh = |below: Option<String>| Hunk {
        at: number,
        below,
        ..Hunk::default()
    };
    if line.trim_end() == "*** End of File" {
        if let Some(hunk) = hunks.last_mut() {
            hunk.last = true;
        }
        return Ok(());
    }
    if let Some(below) = line.strip_prefix("@@") {
        let below = below.trim();
        let below = below.strip_suffix("@@").unwrap_or(below).trim();
        hunks.push(fresh((!below.is_empty()).then(|| below.to_owned())));
        return Ok(());
    }
    if hunks.is_empty() {
        hunks.push(fresh(None));
    }
    let hunk = hunks.last_mut().expect("invariant: one was just made");
    match line.chars().next() {
        None => hunk.lines.push((' ', String::new())),
        Some(sign @ (' ' | '-' | '+')) => hunk.lines.push((sign, line[1..].to_owned())),
        Some(_) => return Err(format!("line {number} of the patch begins with none of space, - and +")),
    }
    Ok(())
}

fn unified(lines: &[&str]) -> Result<Vec<FilePatch>, String> {
    let mut files = Vec::new();
    let mut at = 0;
    // Where git began to tell of a file of which no line was met yet.
    let mut bare: Option<usize> = None;
    // What git says the next file is, and at which line.
    let mut what: Option<(Mode, usize)> = None;
    let unmet = |bare: Option<usize>| match bare {
        Some(line) => Err(format!(
            "line {} of the patch: this file has no lines in it, and empty files are not made or moved",
            line + 1
        )),
        None => Ok(()),
    };
    while at < lines.len() {
        let Some(old) = lines[at].strip_prefix("--- ") else {
            if lines[at].starts_with("diff --git ") {
                what = None;
                unmet(bare.replace(at))?;
            } else if let Some(mode) = mode(lines[at]) {
                what = Some((mode, at));
            }
            // What git writes between files, and prose.
            if lines[at].starts_with("@@ ") {
                return Err(format!("line {} of the patch: no file is named before it", at + 1));
            }
            let unfit = ["Binary files ", "GIT binary patch", "rename from ", "copy from ", "old mode "];
            if unfit.iter().any(|begin| lines[at].starts_with(begin)) {
                return Err(format!(
                    "line {} of the patch: binary files, renames and copies by git, and changes of modes are not applied",
                    at + 1
                ));
            }
            at += 1;
            continue;
        };
        let new = lines.get(at + 1).and_then(|line| line.strip_prefix("+++ "));
        let new = new.ok_or_else(|| format!("line {} of the patch: `+++` is missing", at + 2))?;
        at += 2;
        bare = None;
        let (old, new) = (name(old, at)?, name(new, at)?);
        let executable = match what.take() {
            Some((mode @ (Mode::Link | Mode::Other), line)) => {
                let path = new.or(old).unwrap_or_default();
                let is = if mode == Mode::Link { "a symbolic link" } else { "no regular file" };
                return Err(format!(
                    "line {} of the patch: {path} is {is}, and only regular files are made, changed and removed",
                    line + 1
                ));
            }
            what => matches!(what, Some((Mode::Executable, _))),
        };
        let mut hunks = Vec::new();
        while let Some(head) = lines.get(at).and_then(|line| line.strip_prefix("@@ ")) {
            let (hunk, next) = hunk(lines, at, head)?;
            hunks.push(hunk);
            at = next;
        }
        if hunks.is_empty() {
            return Err(format!("line {} of the patch: a hunk is missing", at + 1));
        }
        files.push(match (old, new) {
            (None, Some(path)) => {
                let added = hunks.iter().flat_map(|hunk| &hunk.lines);
                if hunks.iter().flat_map(|hunk| &hunk.lines).any(|(sign, _)| *sign != '+') {
                    return Err(format!("{path} is new, and the patch has old lines of it"));
                }
                let open = hunks.last().is_some_and(|hunk| hunk.open);
                FilePatch {
                    path,
                    to: None,
                    kind: Kind::Add(added.map(|(_, line)| line.clone()).collect(), open),
                    executable,
                }
            }
            (Some(path), None) => FilePatch {
                path,
                to: None,
                kind: Kind::Delete(hunks),
                executable: false,
            },
            (Some(path), Some(to)) => FilePatch {
                to: (to != path).then_some(to),
                path,
                kind: Kind::Update(hunks),
                executable: false,
            },
            (None, None) => return Err(format!("line {at} of the patch: no file is named")),
        });
    }
    unmet(bare)?;
    Ok(files)
}

/// What git says that a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    Executable,
    Link,
    /// A submodule, or what git does not write.
    Other,
}

/// What a line of git's says that a file is or was, if it says so.
fn mode(line: &str) -> Option<Mode> {
    let told = ["new file mode ", "deleted file mode "]
        .iter()
        .find_map(|head| line.strip_prefix(head));
    // `index 1234567..89abcde 100644` where the mode stays.
    let told = told.or_else(|| line.strip_prefix("index ")?.split_once(' ').map(|(_, mode)| mode))?;
    Some(match told.trim() {
        "100644" => Mode::Plain,
        "100755" => Mode::Executable,
        "120000" => Mode::Link,
        _ => Mode::Other,
    })
}

/// A path as `---` and `+++` have it; `None` for `/dev/null`.
fn name(text: &str, number: usize) -> Result<Option<String>, String> {
    let path = text.split('\t').next().unwrap_or(text).trim();
    let path = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')).unwrap_or(path);
    if path.contains('\\') {
        return Err(format!(
            "line {number} of the patch: a path in git's quotes; make the patch with `git -c core.quotePath=false`"
        ));
    }
    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    Ok((path != "/dev/null").then(|| bare.to_owned()))
}

/// The hunk whose head stands at a line of the patch, and the line behind it. Its numbers say how many lines it has.
fn hunk(lines: &[&str], at: usize, head: &str) -> Result<(Hunk, usize), String> {
    let wrong = || {
        let found = miss::visible(lines[at]);
        format!(
            "line {} of the patch is no head of a hunk: it is `{found}`, and `@@ -12,3 +12,4 @@` would be one",
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
    // Where nothing is taken away, the number is that of the line before.
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
            // It is about the old text: the new one goes on.
            Some('\\') => {
                hunk.last = true;
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
        hunk.lines.push((sign, rest.to_owned()));
        next += 1;
    }
    if lines.get(next).is_some_and(|line| line.starts_with('\\')) {
        hunk.last = true;
        hunk.open = hunk.lines.last().is_some_and(|(sign, _)| *sign != '-');
        next += 1;
    }
    Ok((hunk, next))
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
            (&Kind::Add(vec!["a".to_owned(), String::new()], false), Some("q.cs"))
        );
    }

    #[test]
    fn what_is_no_patch_is_refused() {
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
            ("*** Begin Patch\n*** End Patch\nx", "line 3 of the patch: something stands behind"),
            ("--- a/x\n@@ -1 +1 @@\n", "line 2 of the patch: `+++` is missing"),
            ("--- a/x\n+++ b/x\n", "line 3 of the patch: a hunk is missing"),
            (
                "diff --git a/e b/e\nnew file mode 100644\nindex 0..e\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
                "line 1 of the patch: this file has no lines in it, and empty files are not made or moved",
            ),
            (
                "diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
                "line 3 of the patch: binary files, renames and copies by git, and changes of modes are not applied",
            ),
            (
                "--- \"a/caf\\303\\251\"\n+++ \"b/caf\\303\\251\"\n@@ -1 +1 @@\n-a\n+b\n",
                "line 2 of the patch: a path in git's quotes; make the patch with `git -c core.quotePath=false`",
            ),
            (
                "diff --git a/l b/l\nnew file mode 120000\nindex 0..e\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../out\n",
                "line 2 of the patch: l is a symbolic link, and only regular files are made, changed and removed",
            ),
            (
                "diff --git a/l b/l\nindex 1..2 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a\n+b\n",
                "line 2 of the patch: l is a symbolic link",
            ),
            (
                "diff --git a/m b/m\ndeleted file mode 160000\n--- a/m\n+++ /dev/null\n@@ -1 +0,0 @@\n-Subproject commit 1\n",
                "line 2 of the patch: m is no regular file",
            ),
            ("--- a/x\n+++ b/x\n@@ what @@\n", "line 3 of the patch is no head of a hunk"),
            (
                "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n",
                "the hunk at line 3 of the patch is cut short",
            ),
            (
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
                "x stands in the patch twice",
            ),
            ("@@ -1 +1 @@\n-a\n+b\n", "line 1 of the patch: no file is named before it"),
        ] {
            let told = parse(text).expect_err("refused");
            assert!(told.starts_with(why), "{told}");
        }
    }

    #[test]
    fn unified_diffs_make_and_remove_files() {
        let files = parse("diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n").expect("a patch");
        assert_eq!(files[0].kind, Kind::Add(vec!["a".to_owned(), "b".to_owned()], true));
        assert_eq!(files[1].path.as_str(), "o");
        assert!(matches!(&files[1].kind, Kind::Delete(hunks) if hunks.len() == 1), "{:?}", files[1]);
    }
}
