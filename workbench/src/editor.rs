//! Runs the user's editor, and reads files that the user names.

use std::io::Read;
use std::path::Path;
use std::process::Command;

/// Reason why no text was read.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// Neither VISUAL nor EDITOR names an editor.
    #[error("no editor is set")]
    None,
    #[error("the editor ended with {0}")]
    Ended(std::process::ExitStatus),
    /// The editor cannot be started.
    #[error("the editor cannot be started: {0}")]
    NotStarted(std::io::Error),
    /// A file cannot be read.
    #[error("{path} cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
    /// No temporary file can be created for the copy.
    #[error("no temporary file can be created: {0}")]
    NoPlace(std::io::Error),
}

/// Reads the text of a file, or of standard input for `-`, with LF line ends; at most `most` bytes. Fails when it cannot be read or is not
/// UTF-8.
pub fn read_edited_file(file: &Path, most: u64) -> Result<String, EditError> {
    decode_document(read_bytes(file, most)?, file)
}

/// Converts the bytes of a file to a text with LF line ends. Fails when they are not UTF-8.
pub fn decode_document(bytes: Vec<u8>, file: &Path) -> Result<String, EditError> {
    exact(bytes, file).map(|text| text.replace("\r\n", "\n"))
}

/// Converts the bytes of a file to a text with its line ends. Fails when they are not UTF-8.
pub fn exact(bytes: Vec<u8>, file: &Path) -> Result<String, EditError> {
    String::from_utf8(bytes).map_err(|_| EditError::Unreadable {
        path: file.display().to_string(),
        reason: "it is not UTF-8 text".to_owned(),
    })
}

/// Reads the bytes of a file, or of standard input for `-`; at most `most` of them.
pub fn read_bytes(file: &Path, most: u64) -> Result<Vec<u8>, EditError> {
    let mut bytes = Vec::new();
    let done = if file == Path::new("-") {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|opened| opened.take(most).read_to_end(&mut bytes))
    };
    done.map_err(|error| EditError::Unreadable {
        path: file.display().to_string(),
        reason: error.to_string(),
    })?;
    Ok(bytes)
}

/// Opens the user's editor (a shell command) on a copy of a text and returns the saved text, at most `most` bytes. Fails when there is no
/// editor, or it fails.
pub fn edit(editor: Option<&str>, old: &str, most: u64) -> Result<String, EditError> {
    let editor = editor.ok_or(EditError::None)?;
    let folder = tempfile::tempdir().map_err(EditError::NoPlace)?;
    let file = folder.path().join("output.md");
    std::fs::write(&file, old).map_err(EditError::NoPlace)?;
    // As in git, the value may contain arguments.
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(&file);
    let status = shell.status().map_err(EditError::NotStarted)?;
    if !status.success() {
        return Err(EditError::Ended(status));
    }
    read_edited_file(&file, most)
}
