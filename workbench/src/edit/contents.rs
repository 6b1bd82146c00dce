//! Contents of files and buffers, each stored once under the digest of its bytes, for edit sessions, overlays and journals of
//! live contexts. A content is written before the
//! record that names it.

use super::files::Files;
use engine::values::digest::Digest;
use std::io;

/// Folder of the contents.
pub(super) const FOLDER: &str = "texts";

/// Content of a file or a buffer as the digest of its bytes; `None` for no file.
pub type Content = Option<String>;

pub fn content(bytes: Option<&[u8]>) -> Content {
    bytes.map(|bytes| Digest::of(bytes).to_string())
}

/// Returns the name of the note with the bytes of a content.
pub(super) fn note_name(content: &str) -> String {
    format!("{FOLDER}/{content}")
}

pub fn write_content(files: &impl Files, content: &Content, bytes: &[u8]) -> io::Result<()> {
    match content {
        Some(content) => files.write_note(&note_name(content), bytes),
        None => Ok(()),
    }
}

/// Reads stored bytes; `None` when they are missing or damaged.
pub fn read_kept_content(files: &impl Files, content: &str) -> io::Result<Option<Vec<u8>>> {
    if content.is_empty() || !content.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let bytes = files.read_note(&note_name(content))?;
    Ok(bytes.filter(|bytes| Digest::of(bytes).to_string() == content))
}
