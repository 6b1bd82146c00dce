//! Where knowledge of symbols comes from: outputs of targets, read by label. Who keeps the workspace open answers; tests answer from memory.

use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::label::{escape, escape_joined};
use std::sync::Arc;

/// The output of one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Label of the target.
    pub label: String,
    /// Its bytes; `None` when it could not be made, which whoever read it has been told.
    pub bytes: Option<Arc<[u8]>>,
}

/// Gives the outputs of targets, brought up to date first. Each request is a build: what is needed together is asked for together. To ask for
/// the same again costs nothing.
pub trait Outputs {
    /// Why nothing can be read.
    type Error: From<SymbolError>;

    /// The outputs of the targets that labels or patterns mean, in the order of the labels; a pattern may mean several targets or none.
    ///
    /// # Errors
    /// When a label means nothing or the store breaks. A target that fails is an output without bytes.
    fn read(&mut self, labels: &[String]) -> Result<Vec<Output>, Self::Error>;
}

/// What kind of trouble a symbol makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// What was asked cannot be read or is over a limit.
    Asked,
    /// Nothing has that name.
    NotFound,
    /// Several have that name.
    Ambiguous,
    /// An output is not what its producer writes.
    Damaged,
}

/// Why there is no answer about a symbol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .diagnostic.message)]
pub struct SymbolError {
    /// Its kind.
    pub trouble: Trouble,
    /// What a person is told.
    pub diagnostic: Box<Diagnostic>,
}

impl SymbolError {
    /// An error of that kind.
    pub fn new(trouble: Trouble, diagnostic: Diagnostic) -> Self {
        Self {
            trouble,
            diagnostic: Box::new(diagnostic),
        }
    }

    /// An output is not what its producer writes.
    pub fn damaged() -> Self {
        let why = Diagnostic::error(ErrorCode::E_OUTPUT, "an output is not what its producer writes");
        Self::new(Trouble::Damaged, why)
    }

    /// With the label that it is about.
    #[must_use]
    pub fn at_label(mut self, label: &str) -> Self {
        self.diagnostic = Box::new(self.diagnostic.label(label));
        self
    }
}

/// The label of a type's target.
pub fn type_label(key: &str, target: &str) -> String {
    format!("//types/{}:{target}", escape(key))
}

/// The label of a target of a member that its type knows under a key.
pub fn member_label(key: &str, member: &str, target: &str) -> String {
    format!("//types/{}#{}:{target}", escape(key), escape_joined(member))
}

/// The label of a file's target.
pub fn file_label(file: &str, target: &str) -> String {
    format!("//files/{}:{target}", escape(file))
}

/// The bytes of one target; `None` when it could not be made.
///
/// # Errors
/// As [`Outputs::read`].
pub fn read_one<O: Outputs>(outputs: &mut O, label: String) -> Result<Option<Arc<[u8]>>, O::Error> {
    let mut read = outputs.read(&[label])?;
    Ok(read.pop().and_then(|output| output.bytes))
}
