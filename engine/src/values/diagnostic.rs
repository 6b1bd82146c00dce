//! Diagnostics: messages to people, as values. Text is formatted at the rim.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
#[cbor(index_only)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information only.
    #[n(0)]
    Note,
    /// A part was left out or guessed; the result is usable.
    #[n(1)]
    Warning,
    /// There is no result.
    #[n(2)]
    Error,
}

/// A place in a text file. Lines and columns count from 1; columns count characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
pub struct SourceLocation {
    /// Path relative to the workspace, with `/`.
    #[n(0)]
    pub file: String,
    /// Line, from 1; 0 for the whole file.
    #[n(1)]
    pub line: u32,
    /// Column in characters, from 1; 0 for the whole line.
    #[n(2)]
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
        }
        Ok(())
    }
}

/// The offending line with the part to underline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
pub struct Excerpt {
    /// The text of the line, without its line end, cut to a limited length.
    #[n(0)]
    pub text: String,
    /// First underlined character of `text`, from 0.
    #[n(1)]
    pub start: u32,
    /// Number of underlined characters, at least 1.
    #[n(2)]
    pub len: u32,
}

/// One message: a sentence, the facts, a hint (shared shape of errors and warnings).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
#[cbor(map)]
pub struct Diagnostic {
    #[n(0)]
    pub severity: Severity,
    /// A stable code such as `E_LABEL` or `CS-PARSE-PARTIAL`.
    #[n(1)]
    pub code: String,
    /// One sentence, without a full stop at its end.
    #[n(2)]
    pub message: String,
    /// The label that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[n(3)]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[n(4)]
    pub place: Option<SourceLocation>,
    /// The line of that place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[n(5)]
    pub excerpt: Option<Excerpt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[n(6)]
    pub found: Option<String>,
    /// The next command or edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[n(7)]
    pub hint: Option<String>,
    /// Possible intended values, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[n(8)]
    pub candidates: Vec<String>,
}

impl Diagnostic {
    /// Creates a message with only its sentence.
    pub fn new(severity: Severity, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity,
            code: code.into(),
            message: message.into(),
            label: None,
            place: None,
            excerpt: None,
            found: None,
            hint: None,
            candidates: Vec::new(),
        }
    }

    pub fn error(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    pub fn warning(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// Adds the label that it is about.
    #[must_use]
    pub fn label(mut self, label: impl fmt::Display) -> Self {
        self.label = Some(label.to_string());
        self
    }

    /// Adds the file that it is about (`line` and `column` 0 for the whole file).
    #[must_use]
    pub fn at(mut self, file: impl Into<String>, line: u32, column: u32) -> Self {
        self.place = Some(SourceLocation {
            file: file.into(),
            line,
            column,
        });
        self
    }

    /// Adds the offending value.
    #[must_use]
    pub fn found(mut self, found: impl Into<String>) -> Self {
        self.found = Some(found.into());
        self
    }

    /// Adds the next command or edit.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds possible intended values.
    #[must_use]
    pub fn candidates(mut self, candidates: Vec<String>) -> Self {
        self.candidates = candidates;
        self
    }
}
