//! Files that a query names and that contain no type: `README.md`, `cortex.toml`, `build/ci.yml:10-20`, and lines outside of types in other files.
//! The rules for sources of files apply: none from outside of the workspace, of git or of the store, no binary ones; none that no model may see. A
//! named file that is not shown gets a reason.

use super::forms::fence_text;
use super::mentioned::{AMBIGUOUS, Mention, MentionedPart, ending_with, too_many};
use super::named_words::{self, Lines};
use super::withheld_files::WithheldFiles;
use crate::editable_paths::{self, Refused};
use crate::symbols::file::{ENDINGS, FileRequest, lines};
use engine::seams::world::World;
use std::cell::LazyCell;
use std::path::Path;

/// Access to the files of a workspace.
#[derive(Clone, Copy)]
pub struct WorkspaceFiles<'p> {
    pub root: &'p Path,
    pub store: Option<&'p Path>,
    pub world: &'p dyn World,
    /// Files that no model sees.
    pub withheld: &'p WithheldFiles,
    /// Returns the paths of all sources; called only to find a name without a path.
    pub sources: &'p dyn Fn() -> Vec<String>,
}

/// A file to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Name of the file in the query.
    pub mention: String,
    pub path: String,
    /// Notes on the file's lines: requested lines that do not exist.
    pub notes: Vec<String>,
    /// Number of the first line of `text`.
    first: usize,
    text: String,
}

/// The part of a file that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    pub text: String,
    /// Length of the text in tokens.
    pub tokens: usize,
    /// First and last of the lines that are left out after the text.
    pub left_out: Option<(usize, usize)>,
}

/// Finds the files of mentions. Drops mentions that turn out to name no file.
pub fn attach(mentions: &mut Vec<Mention>, place: WorkspaceFiles<'_>) -> Vec<Attached> {
    let sources = LazyCell::new(place.sources);
    let mut found: Vec<Attached> = Vec::new();
    mentions.retain_mut(|mention| {
        for (path, lines) in std::mem::take(&mut mention.outside) {
            let is_all = mention.wanted == MentionedPart::Lines(lines);
            let read = read_lines(&path, &path, Some(lines), place);
            // Next to types, a line of brackets carries no information.
            if is_all || read.as_ref().is_ok_and(|file| file.text.contains(char::is_alphanumeric)) {
                add_file(mention, read, &mut found);
            }
        }
        let MentionedPart::File(lines) = mention.wanted else { return true };
        let (written, _) = named_words::split_lines_suffix(&mention.text);
        // An address counts as a mention only if its file exists here.
        let is_address = written.contains("://");
        let written = named_words::local(written).replace('\\', "/");
        let plain = paths(&written, place, &sources);
        let decoded = || paths(&named_words::decode_path(&written)?, place, &sources).ok();
        match plain.or_else(|why| decoded().ok_or(why)) {
            Err(why) => mention.not_shown = why.filter(|_| !is_address),
            Ok(paths) => {
                for path in paths {
                    add_file(mention, read_lines(&written, &path, lines, place), &mut found);
                    mention.files.push(path);
                }
            }
        }
        !mention.files.is_empty() || mention.not_shown.is_some()
    });
    found
}

/// Adds a file that was read for a mention, unless it is there already; or notes why it is not shown.
fn add_file(mention: &mut Mention, read: Result<Attached, String>, found: &mut Vec<Attached>) {
    match read {
        Ok(file) if !found.iter().any(|known| known.path == file.path && known.text == file.text) => found.push(Attached {
            mention: mention.text.clone(),
            ..file
        }),
        Ok(_) => {}
        Err(why) => mention.not_shown = Some(why),
    }
}

/// Resolves a path to existing files, by the whole path or by its end. The error is the reason, if the text can only be a file's path.
fn paths(
    written: &str,
    place: WorkspaceFiles<'_>,
    sources: &LazyCell<Vec<String>, impl FnOnce() -> Vec<String>>,
) -> Result<Vec<String>, Option<String>> {
    let asked = FileRequest {
        path: written.to_owned(),
        lines: None,
    };
    // A text that only looks like a path, such as a server's route, is not a mention.
    let is_there = editable_paths::size(place.root, written).is_some();
    match asked.path_in_workspace(place.root, place.store) {
        Ok((path, is_there)) if is_there || place.world.read(&path).is_ok() => return Ok(vec![path]),
        Err(refused @ (Refused::Git(_) | Refused::Own(_) | Refused::Store(_))) => return Err(Some(refused.to_string())),
        Err(refused @ Refused::Outside(_)) if written.starts_with("..") || is_there && named_words::ending(written).is_none() => {
            return Err(Some(refused.to_string()));
        }
        _ if named_words::ending(written).is_none() => return Err(None),
        _ => {}
    }
    let known: Vec<&str> = sources.iter().map(String::as_str).collect();
    let found = ending_with(written, &known);
    if found.len() > AMBIGUOUS {
        return Err(Some(too_many(found.len(), "files")));
    }
    if !found.is_empty() {
        return Ok(found.into_iter().map(str::to_owned).collect());
    }
    let place_of = |tail: &str| {
        let asked = FileRequest {
            path: tail.to_owned(),
            lines: None,
        };
        let (path, is_there) = asked.path_in_workspace(place.root, place.store).ok()?;
        is_there.then_some(path)
    };
    if let Some(path) = tails(written).skip(1).find_map(place_of) {
        return Ok(vec![path]);
    }
    let ending = named_words::ending(written).unwrap_or_default().to_lowercase();
    let is_usual = |path: &&str| named_words::ending(path).is_some_and(|own| own.to_lowercase() == ending);
    let is_file = is_there || written.contains('/') || ENDINGS.contains(&ending.as_str()) || known.iter().any(is_usual);
    Err(is_file.then(|| match asked.path_in_workspace(place.root, place.store) {
        Err(refused) => refused.to_string(),
        Ok(_) if written.contains('/') => "there is no such file in the workspace".to_owned(),
        Ok(_) => "there is no such file in the root, and no source has this name".to_owned(),
    }))
}

/// Returns a path, and its rests without its first folders: it may come from another machine, or from a diff with `a/` before it, or begin at the
/// root of the repository, as `/README.md` of a link does.
pub fn tails(path: &str) -> impl Iterator<Item = &str> {
    let is_of_root = ["a/", "b/", "/"].iter().any(|root| path.starts_with(root));
    let cut = path.match_indices('/').map(|(at, _)| &path[at + 1..]).enumerate();
    let cut = cut.filter(move |(at, tail)| tail.contains('/') || *at == 0 && is_of_root);
    std::iter::once(path).chain(cut.map(|(_, tail)| tail))
}

/// Reads the requested lines of a file, or returns why they are not shown.
fn read_lines(written: &str, path: &str, wanted: Option<Lines>, place: WorkspaceFiles<'_>) -> Result<Attached, String> {
    if let Some(glob) = [path, written].into_iter().find_map(|path| place.withheld.by(path)) {
        return Err(format!("{path} is hidden from models by {glob}"));
    }
    let asked = FileRequest {
        path: path.to_owned(),
        lines: wanted.map(|(from, to)| (from, (to < u64::MAX).then_some(to))),
    };
    let source = lines(place.world, place.root, path, &asked, usize::MAX);
    let known = format!("{path} is not shown: ");
    let source = source.map_err(|why| why.message.strip_prefix(&known).unwrap_or(&why.message).to_owned())?;
    match source.parts.first() {
        Some(part) => Ok(Attached {
            mention: String::new(),
            path: path.to_owned(),
            first: part.start as usize,
            text: source.readable(),
            notes: source.notes,
        }),
        None => Err(source.notes.join("; ")),
    }
}

impl Attached {
    /// Creates a file with a text.
    #[cfg(test)]
    pub fn from_text(path: &str, text: &str) -> Self {
        Self {
            mention: path.to_owned(),
            path: path.to_owned(),
            notes: Vec::new(),
            first: 1,
            text: text.to_owned(),
        }
    }

    /// Returns the bytes of the shown lines.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// Returns all lines of the file, or as many of the first ones as fit into `most` tokens; `None` if not even one fits.
    pub fn fitted(&self, most: usize, count: &dyn Fn(&str) -> usize) -> Option<Fitted> {
        let ends = self.ends();
        let (mut best, mut over) = (None, ends.len() + 1);
        let mut least = 0;
        let mut next = ends.len();
        while least + 1 < over && next > 0 {
            match self.of_lines(next, &ends, most, count) {
                Some(fits) => (best, least) = (Some(fits), next),
                None => over = next,
            }
            next = usize::midpoint(least, over);
        }
        best
    }

    /// Returns the first line of the file alone, if it fits.
    pub fn least(&self, most: usize, count: &dyn Fn(&str) -> usize) -> Option<Fitted> {
        let ends = self.ends();
        ends.first().and_then(|_| self.of_lines(1, &ends, most, count))
    }

    /// Returns the byte after each line.
    fn ends(&self) -> Vec<usize> {
        let lines = self.text.split_inclusive('\n');
        let ends = lines.scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        ends.collect()
    }

    fn of_lines(&self, lines: usize, ends: &[usize], most: usize, count: &dyn Fn(&str) -> usize) -> Option<Fitted> {
        let text = self.section(&self.text[..ends[lines - 1]], lines, ends.len());
        // A token rarely has more than 16 bytes: do not count longer texts.
        let tokens = (text.len() / 16 <= most).then(|| count(&text)).filter(|tokens| *tokens <= most)?;
        let left_out = (lines < ends.len()).then(|| (self.first + lines, self.first + ends.len() - 1));
        Some(Fitted { text, tokens, left_out })
    }

    fn section(&self, text: &str, lines: usize, all: usize) -> String {
        let (path, first) = (&self.path, self.first);
        let rest = if lines < all {
            format!(", lines {}-{} are left out", first + lines, first + all - 1)
        } else {
            String::new()
        };
        let language = named_words::ending(path).unwrap_or_default();
        format!(
            "## {path}\n{path}:{first}-{}{rest}\n{}\n",
            first + lines - 1,
            fence_text(language, text)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::files::memory::MemoryWorld;
    use proptest::prelude::*;

    fn file(text: &str) -> Attached {
        Attached {
            first: 7,
            ..Attached::from_text("docs/a.md", text)
        }
    }

    fn mention(text: &str) -> Mention {
        Mention {
            text: text.to_owned(),
            wanted: MentionedPart::File(named_words::split_lines_suffix(text).1),
            ..Mention::default()
        }
    }

    #[test]
    fn named_files_are_found_or_the_reason_is_given() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let world = MemoryWorld::new();
        for (path, text) in [
            ("README.md", b"one\ntwo\n".as_slice()),
            ("docs/a/guide.md", b"g\n"),
            ("docs/a/my guide.md", b"m\n"),
            ("docs/a/only.md", b"o\n"),
            ("docs/.env", b"KEY=1\n"),
            ("own/x.txt", b"x\n"),
            ("logo.png", b"\x89PNG\0\0"),
            ("empty.txt", b""),
            (".git/config", b"c\n"),
        ] {
            let at = root.join(path);
            std::fs::create_dir_all(at.parent().expect("a folder")).expect("made");
            std::fs::write(at, text).expect("written");
            world.write_source(path, text);
        }
        let many: Vec<String> = (0..5).map(|at| format!("p{at}/notes.md")).collect();
        let sources = || {
            let mut all = vec![
                "docs/a/guide.md".to_owned(),
                "docs/a/my guide.md".to_owned(),
                "tools/x.awk".to_owned(),
            ];
            all.extend(many.clone());
            all
        };
        let place = WorkspaceFiles {
            root: &root,
            store: None,
            world: &world,
            withheld: &WithheldFiles::new(&root, &["own/**".to_owned()]),
            sources: &sources,
        };
        for (text, expected) in [
            ("README.md", "README.md:1-2"),
            ("README.md:2", "README.md:2-2"),
            ("/README.md:1", "README.md:1-1"),
            ("docs/a/my%20guide.md:1", "docs/a/my guide.md:1-1"),
            ("my guide.md", "docs/a/my guide.md:1-1"),
            (
                "README.md:2-9",
                "README.md:2-2 README.md: lines 2-9 were requested; the file has 2 lines, and 2-2 are shown",
            ),
            ("guide.md", "docs/a/guide.md:1-1"),
            ("docs\\a\\guide.md", "docs/a/guide.md:1-1"),
            ("a/README.md:1", "README.md:1-1"),
            ("b/.git/config.md", "b/.git/config.md belongs to git"),
            ("other/README.md", "there is no such file in the workspace"),
            ("/ci/1/docs/a/only.md", "docs/a/only.md:1-1"),
            ("/elsewhere/docs/a/guide.md", "docs/a/guide.md:1-1"),
            ("https://github.com/o/r/blob/main/docs/a/only.md#L1", "docs/a/only.md:1-1"),
            ("file:///ci/1/docs/a/only.md", "docs/a/only.md:1-1"),
            ("https://example.com/docs/gone.md", "no mention"),
            ("docs/.env", "docs/.env is hidden from models by **/.env"),
            ("own/x.txt", "own/x.txt is hidden from models by own/**"),
            (".git/config", ".git/config belongs to git"),
            ("../secret", "../secret leads out of the workspace"),
            ("/etc/hosts.txt", "/etc/hosts.txt leads out of the workspace"),
            ("empty.txt", "empty.txt is empty"),
            ("gone.md", "there is no such file in the root, and no source has this name"),
            ("gone.awk", "there is no such file in the root, and no source has this name"),
            ("docs/gone.x", "there is no such file in the workspace"),
            ("notes.md", "5 files have this name; write more of it"),
            ("and/or", "no mention"),
            ("docs/a", "no mention"),
            ("foo.bar", "no mention"),
        ] {
            let mut mentions = vec![mention(text)];
            let found = attach(&mut mentions, place);
            let answer = match (found.first(), mentions.first()) {
                (Some(one), Some(_)) => {
                    let last = one.first + one.text.lines().count() - 1;
                    format!("{}:{}-{last} {}", one.path, one.first, one.notes.join(" "))
                }
                (None, Some(one)) => one.not_shown.clone().expect("a reason"),
                (_, None) => "no mention".to_owned(),
            };
            assert_eq!(answer.trim_end(), expected, "{text}");
        }
        let lines = |lines: Lines, outside: Lines| Mention {
            text: "guide.md".to_owned(),
            wanted: MentionedPart::Lines(lines),
            outside: vec![("docs/a/guide.md".to_owned(), outside), ("own/x.txt".to_owned(), outside)],
            ..Mention::default()
        };
        let mut mentions = vec![lines((1, 1), (1, 1)), lines((1, 9), (2, 2))];
        assert_eq!(attach(&mut mentions, place).len(), 1, "lines in which no type stands");
        let why = mentions.iter().map(|one| one.not_shown.as_deref());
        assert_eq!(why.collect::<Vec<_>>(), [Some("own/x.txt is hidden from models by own/**"), None]);
        let mut mentions = vec![mention("logo.png"), mention("README.md"), mention("./README.md")];
        assert_eq!(attach(&mut mentions, place).len(), 1, "one file is shown once");
        let why = mentions[0].not_shown.clone().unwrap_or_default();
        assert!(why.starts_with("it is binary"), "{why}");
    }

    proptest! {
        #[test]
        fn as_many_lines_as_fit(lines in proptest::collection::vec("[a-z ]{0,30}", 1..30), most in 0_usize..60) {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let tokens = |text: &str| text.split_whitespace().count();
            let whole = file(&text).fitted(usize::MAX, &tokens).expect("it fits");
            prop_assert_eq!(whole.left_out, None);
            match file(&text).fitted(most, &tokens) {
                Some(fitted) => {
                    prop_assert!(fitted.tokens <= most && fitted.tokens == tokens(&fitted.text));
                    let shown = fitted.left_out.map_or(lines.len(), |(from, to)| {
                        assert_eq!(to, 6 + lines.len());
                        from - 7
                    });
                    let body = lines[..shown].iter().map(|line| format!("{line}\n")).collect::<String>();
                    prop_assert!(fitted.text.contains(&format!("```md\n{}```\n", body)), "{}", fitted.text);
                    if shown < lines.len() && shown + 1 < lines.len() {
                        let more = file(&text).section(&text[..body.len() + lines[shown].len() + 1], shown + 1, lines.len());
                        prop_assert!(tokens(&more) > most);
                    }
                }
                None => {
                    let first = file(&text).section(&text[..=lines[0].len()], 1, lines.len());
                    prop_assert!(whole.tokens > most && tokens(&first) > most, "{first}");
                }
            }
        }
    }
}
