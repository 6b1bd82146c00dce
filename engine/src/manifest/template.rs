//! Templates: texts with `{variables}`, in labels, paths and keys.

use crate::values::label::{JOIN, halves};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Piece {
    /// Literal text.
    Text(Box<str>),
    /// `{name}`.
    Var(Box<str>),
}

/// A parsed template. `{{` and `}}` are literal braces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Template {
    /// The pieces in order; never two texts in a row.
    pub pieces: Vec<Piece>,
}

/// Reason why a text is no template: message and byte offset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    pub message: String,
    /// Byte offset into the text.
    pub at: usize,
}

impl Template {
    /// Parses `text {var} text`. Errors: an unclosed brace or a variable that is not `[a-z][a-z0-9_]*`.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(brace) = rest.find(['{', '}']) {
            let at = text.len() - rest.len() + brace;
            plain.push_str(&rest[..brace]);
            let tail = &rest[brace..];
            if tail.starts_with("{{") || tail.starts_with("}}") {
                plain.push_str(&tail[..1]);
                rest = &tail[2..];
                continue;
            }
            let name = tail.strip_prefix('{').and_then(|inner| inner.split_once('}')).map(|(name, _)| name);
            let Some(name) = name else {
                return Err(TemplateError {
                    message: "a brace has no partner".into(),
                    at,
                });
            };
            if !is_variable(name) {
                return Err(TemplateError {
                    message: format!("'{{{name}}}' is not a variable"),
                    at,
                });
            }
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain).into()));
            }
            pieces.push(Piece::Var(name.into()));
            rest = &tail[name.len() + 2..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain.into()));
        }
        Ok(Self { pieces })
    }

    /// Iterates over the variables, in order, repeats included.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Var(name) => Some(&**name),
            Piece::Text(_) => None,
        })
    }

    /// Returns the text if there is no variable.
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Fills in variables. Errors: the first variable for which `value` returns `None`.
    pub fn fill<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Result<String, String> {
        let mut filled = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Var(name) => filled.push_str(value(name).ok_or_else(|| name.to_string())?),
            }
        }
        Ok(filled)
    }

    /// Returns the value with which a template of at most one variable equals `text` (`""` without a variable). For a template of two
    /// variables joined by `#`, returns both values with the `#`.
    pub fn capture<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self.pieces.as_slice() {
            [Piece::Var(_)] => Some(text),
            [Piece::Text(all)] => (**all == *text).then_some(""),
            [Piece::Text(head), Piece::Var(_)] => text.strip_prefix(&**head),
            [Piece::Var(_), Piece::Text(tail)] => text.strip_suffix(&**tail),
            [Piece::Text(head), Piece::Var(_), Piece::Text(tail)] => text.strip_prefix(&**head)?.strip_suffix(&**tail),
            [
                Piece::Text(head),
                Piece::Var(_),
                Piece::Text(join),
                Piece::Var(_),
                Piece::Text(tail),
            ] if **join == *JOIN => text
                .strip_prefix(&**head)?
                .strip_suffix(&**tail)
                .filter(|value| halves(value).is_some()),
            _ => None,
        }
        .filter(|value| !value.is_empty() || self.variables().next().is_none())
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Variables and their values.
pub type Vars = std::collections::BTreeMap<Arc<str>, Arc<str>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_and_capture_are_inverse() {
        let template = Template::parse("//types/{type}:outline").expect("well-formed");
        let label = template.fill(|_| Some("A.B")).expect("filled");
        assert_eq!(label, "//types/A.B:outline");
        assert_eq!(template.capture(&label), Some("A.B"));
        assert_eq!(template.capture("//types/:outline"), None);
        assert_eq!(template.capture("//types/A:impl"), None);
    }

    #[test]
    fn two_values_are_joined_by_the_last_mark() {
        let template = Template::parse("//types/{type}#{member}:code").expect("well-formed");
        assert_eq!(template.capture("//types/A.B#M(int):code"), Some("A.B#M(int)"));
        assert_eq!(halves("A@src/C#/x#M"), Some(("A@src/C#/x", "M")));
        for other in [
            "//types/A.B:code", "//types/A#:code", "//types/#M:code", "//types/A@C#/x.csproj:code",
        ] {
            assert_eq!(template.capture(other), None, "{other}");
        }
    }

    #[test]
    fn braces() {
        assert_eq!(Template::parse("{{x}}").expect("escaped").literal(), Some("{x}"));
        assert_eq!(Template::parse("a{").expect_err("unclosed").at, 1);
        assert_eq!(Template::parse("a{B}").expect_err("upper case").at, 1);
    }
}
