//! Access to outputs of targets by label, the source of symbol knowledge. An open workspace implements it; tests implement it in memory.

use super::word_index::{WordIndex, WordSource};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;
use engine::values::label::{escape, escape_joined};
use std::sync::Arc;

/// The output of one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub label: String,
    /// Bytes of the output; `None` if the build of the target failed, which was already reported.
    pub bytes: Option<Arc<[u8]>>,
}

/// Labels of targets with the digests of their outputs, if they have any.
pub type ListedOutputs = Vec<(Arc<str>, Option<Digest>)>;

/// Reads outputs of targets and brings them up to date first. Each call is a build, so batch related labels. A repeated read costs nothing.
pub trait Outputs {
    /// Error of a failed read.
    type Error: From<SymbolError>;

    /// Returns the outputs of labels and patterns in label order; a pattern may match several targets or none. Fails when a label matches
    /// no target or the store fails. A target that fails is an output without bytes.
    fn read(&mut self, labels: &[String]) -> Result<Vec<Output>, Self::Error>;

    /// Returns the labels that patterns match, with the digests of their outputs; `None` for a failed target. Outputs need not be read for
    /// it. Fails as [`Self::read`] does.
    fn list_digests(&mut self, patterns: &[String]) -> Result<ListedOutputs, Self::Error> {
        let outputs = self.read(patterns)?.into_iter();
        Ok(outputs
            .map(|output| (output.label.into(), output.bytes.as_deref().map(Digest::of)))
            .collect())
    }

    /// Returns the words of all types or files. Callers with several questions cache the index. Errors: as [`Self::read`], and when an
    /// output is damaged.
    fn word_index(&mut self, source: WordSource) -> Result<Arc<WordIndex>, Self::Error> {
        let outputs = self.read(&[source.pattern()])?;
        Ok(Arc::new(WordIndex::from_outputs(source, outputs)?))
    }
}

/// Kind of a symbol error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The request is malformed or over a limit.
    Asked,
    /// No symbol has the name.
    NotFound,
    /// Several symbols have the name.
    Ambiguous,
    /// An output does not have its producer's format.
    Damaged,
}

/// Error of a symbol query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .diagnostic.message)]
pub struct SymbolError {
    pub trouble: Trouble,
    /// The message for the user.
    pub diagnostic: Box<Diagnostic>,
}

impl SymbolError {
    pub fn new(trouble: Trouble, diagnostic: Diagnostic) -> Self {
        Self {
            trouble,
            diagnostic: Box::new(diagnostic),
        }
    }

    /// Returns the error for an output without its producer's format.
    pub fn damaged() -> Self {
        let why = Diagnostic::error(ErrorCode::E_OUTPUT, "an output is not what its producer writes");
        Self::new(Trouble::Damaged, why)
    }

    /// Adds the label of the output concerned.
    #[must_use]
    pub fn at_label(mut self, label: &str) -> Self {
        self.diagnostic = Box::new(self.diagnostic.label(label));
        self
    }
}

/// Returns the label of a type's target.
pub fn type_label(key: &str, target: &str) -> String {
    format!("//types/{}:{target}", escape(key))
}

/// Returns the label of a member's target, by the member's key in its type.
pub fn member_label(key: &str, member: &str, target: &str) -> String {
    format!("//types/{}#{}:{target}", escape(key), escape_joined(member))
}

/// Returns the label of a file's target.
pub fn file_label(file: &str, target: &str) -> String {
    format!("//files/{}:{target}", escape(file))
}

/// Returns the bytes of one target; `None` when its build failed. Fails as [`Outputs::read`] does.
pub fn read_one<O: Outputs>(outputs: &mut O, label: String) -> Result<Option<Arc<[u8]>>, O::Error> {
    let mut read = outputs.read(&[label])?;
    Ok(read.pop().and_then(|output| output.bytes))
}
