//! Modifiers of parameters, and their text form in tables: words before the type (`in opt X`).

use crate::code::ast::Passing;

/// Modifiers of a parameter, as far as calls depend on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// How it takes its argument.
    pub passing: Passing,
    /// `params`.
    pub many: bool,
    /// Whether a call may omit its argument: it has a default value.
    pub optional: bool,
}

impl Modifiers {
    /// Reads the words before a type; returns the text of the type, too.
    pub fn split_from_type(text: &str) -> (Self, &str) {
        let (words, kind) = text.rsplit_once(' ').unwrap_or(("", text));
        let mut found = Self::default();
        for word in words.split(' ') {
            match word {
                "params" => found.many = true,
                "opt" => found.optional = true,
                word => found.passing = Passing::from_word(word).unwrap_or(found.passing),
            }
        }
        (found, kind)
    }

    /// Returns the words before the type, each with a space after it.
    pub fn written_before_type(self) -> String {
        let passing = match self.passing {
            Passing::Value => "",
            Passing::In => "in ",
            Passing::Ref => "ref ",
            Passing::Out => "out ",
        };
        let many = if self.many { "params " } else { "" };
        let optional = if self.optional { "opt " } else { "" };
        [passing, many, optional].concat()
    }
}
