//! Whether a program of a workspace may be run at all: someone has to have looked at it.

use engine::seams::producer::{Failure, Params};
use engine::values::diagnostic::Diagnostic;
use engine::values::digest::Digest;

/// Knows which programs were looked at.
pub trait Trust: Send + Sync {
    /// Whether a [definition] may be run.
    ///
    /// [definition]: definition
    fn trusts(&self, definition: &Digest) -> bool;
}

/// Trusts everything, for who runs nothing that another wrote.
pub struct All;

impl Trust for All {
    fn trusts(&self, _: &Digest) -> bool {
        true
    }
}

/// Trusts nothing: for who looks and runs nothing.
pub struct Nothing;

impl Trust for Nothing {
    fn trusts(&self, _: &Digest) -> bool {
        false
    }
}

/// The digest of how a program is run: its parameters and its bounds, as bound. Another argument, variable or bound is another definition.
pub fn definition(params: &Params, settings: &Params) -> Digest {
    let text = serde_json::json!([params, settings]).to_string();
    let mut hasher = blake3::Hasher::new_derive_key("cortex 2026-11 trusted program 1");
    hasher.update(text.as_bytes());
    Digest(*hasher.finalize().as_bytes())
}

/// The digest of a program of a model: what it is for (`command`, `api_key_command`), and its arguments.
pub fn definition_of(key: &str, argv: &[impl AsRef<str>]) -> Digest {
    let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
    let params = Params::from_iter([(key.to_owned(), serde_json::json!(argv))]);
    definition(&params, &Params::new())
}

/// What is told where a program is not run; once for all of them.
pub(crate) fn untrusted() -> Failure {
    let why = Diagnostic::error(
        "E_UNTRUSTED",
        "programs of this workspace are not run before someone has looked at them",
    );
    let hint = "`cortex trust --list` shows them, `cortex trust` lets them run";
    Failure::Limit(Box::new(why.hint(hint)))
}
