//! Compares the documents of an overlay with their bases and with the present workspace.

use super::OverlayError;
use super::merge::{Outcome, outcome, read_target_file};
use super::record::overlay_or_session;
use super::texts;
use crate::code_text::encoding::{Form, Unreadable, decode};
use crate::code_text::merge::unified_for_git;
use crate::edit::files::Files;
use engine::values::digest::Digest;

/// A compared document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    pub path: String,
    /// Kind of the change: whether the overlay changes, adds or removes the file.
    pub kind: OverlayChange,
    /// A unified diff from the base to the document; a sentence if either is not text.
    pub diff: String,
    /// Change of the file since the document was first put.
    pub since: Since,
    /// Reason why the document cannot be merged, if something blocks it.
    pub blocked: Option<String>,
}

/// The change of a file by an overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlayChange {
    /// The overlay changes the text.
    Changed,
    /// The overlay adds the file.
    Added,
    /// The overlay removes the file.
    Removed,
    /// The overlay leaves the file unchanged.
    Same,
}

/// The change of a document's file meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The file is unchanged.
    Same,
    /// The file changed, and a merge joins both changes.
    Moved,
    /// The file changed, and a merge would conflict.
    Conflict,
    /// Another entry replaced the file, and a merge would be refused.
    Blocked,
}

/// Compares the documents of an overlay, in order of their paths. Fails when there is no such overlay, or its texts are missing.
pub fn compare<F: Files>(files: &F, name: &str, now: u64) -> Result<Vec<Compared>, OverlayError> {
    overlay_or_session(files, name, now)?;
    let _alone = files.lock_for_editing()?;
    let overlay = overlay_or_session(files, name, now)?;
    let mut compared = Vec::new();
    for (path, document) in &overlay.documents {
        let (base, is) = (
            texts::read_overlay_text(files, document.base.as_ref())?,
            texts::read_overlay_text(files, document.now.as_ref())?,
        );
        let kind = match (&base, &is) {
            (base, is) if base == is => OverlayChange::Same,
            (None, _) => OverlayChange::Added,
            (_, None) => OverlayChange::Removed,
            _ => OverlayChange::Changed,
        };
        let theirs = read_target_file(files, path);
        let since = match &theirs {
            Ok(found) if found.as_ref().map(|found| Digest::of(&found.bytes)) == document.base => Since::Same,
            Ok(found) => {
                let theirs = found.as_ref().map(|found| found.bytes.as_slice());
                match outcome(files, path, document, theirs)? {
                    Outcome::Clash(_) => Since::Conflict,
                    Outcome::Leave | Outcome::Become(..) => Since::Moved,
                }
            }
            Err(_) => Since::Blocked,
        };
        compared.push(Compared {
            path: path.clone(),
            kind,
            diff: differing(path, document.mode, base.as_deref(), is.as_deref()),
            since,
            blocked: theirs.err(),
        });
    }
    Ok(compared)
}

/// Returns a diff in the form of git: a byte order mark is part of the first line; an empty file shows only as added or removed.
fn differing(path: &str, mode: Option<u32>, base: Option<&[u8]>, is: Option<&[u8]>) -> String {
    let text = |bytes: Option<&[u8]>| {
        let (text, encoding) = decode(bytes.unwrap_or_default())?;
        let mark = if encoding.mark && encoding.form == Form::Utf8 {
            "\u{feff}"
        } else {
            ""
        };
        Ok::<_, Unreadable>((format!("{mark}{text}"), encoding.form))
    };
    let name = |bytes: Option<&[u8]>, side: &str| bytes.map_or("/dev/null".to_owned(), |_| quoted_name(&format!("{side}/{path}")));
    let (Ok((old, was)), Ok((new, form))) = (text(base), text(is)) else {
        return format!("{path}: its base is not text\n");
    };
    let diff = unified_for_git(&old, &new, &name(base, "a"), &name(is, "b"));
    let empty = match (base, is) {
        (None, Some(_)) => "new file mode",
        (Some(_), None) => "deleted file mode",
        _ => "",
    };
    let has_both = !base.unwrap_or_default().is_empty() && !is.unwrap_or_default().is_empty();
    match (diff.is_empty(), empty.is_empty()) {
        (false, _) if has_both && was != form => format!("{path}: it was {was}, and is {form}\n{diff}"),
        (true, false) => {
            let mode = mode.unwrap_or(0o644) & 0o111;
            let mode = if mode == 0 { "100644" } else { "100755" };
            let [one, other] = ["a", "b"].map(|side| quoted_name(&format!("{side}/{path}")));
            format!("diff --git {one} {other}\n{empty} {mode}\n")
        }
        (true, true) if base != is => format!("{path}: it was {was}, and is {form}, with the same text\n"),
        _ => diff,
    }
}

/// Returns a name in the form of git: in quotes if it has special characters.
fn quoted_name(name: &str) -> String {
    match name.contains(['"', '\\']) {
        true => format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
        false => name.to_owned(),
    }
}
