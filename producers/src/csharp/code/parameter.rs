//! Parameters of lambdas.

use super::ast::{Parameter, Passing, TypeRef};

impl Parameter {
    /// Returns what `delegate { … }` has in place of a list: it takes any parameters.
    pub fn any_list() -> Self {
        Self {
            many: true,
            ..Self::plain(String::new(), None)
        }
    }

    /// Whether it is what `delegate { … }` has in place of a list.
    pub fn is_any_list(&self) -> bool {
        self.many && self.name.is_empty()
    }

    /// Returns a parameter without modifiers.
    pub fn plain(name: String, kind: Option<TypeRef>) -> Self {
        Self {
            name,
            kind,
            passing: Passing::Value,
            many: false,
            default: None,
            receiver: false,
            attributes: Vec::new(),
        }
    }
}
