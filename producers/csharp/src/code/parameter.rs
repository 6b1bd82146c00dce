//! Parameters of lambdas.

use super::ast::{Parameter, Passing, TypeRef};

impl Parameter {
    /// Returns the parameter that stands for the missing list of `delegate { … }`, which accepts any parameters.
    pub fn any_list() -> Self {
        Self {
            many: true,
            ..Self::plain(String::new(), None)
        }
    }

    /// Whether it stands for the missing list of `delegate { … }`.
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
