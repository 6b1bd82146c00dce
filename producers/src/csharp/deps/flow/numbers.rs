//! Numeric types, and the implicit conversions between them.

use super::{Flow, Local};
use crate::csharp::code::ast::{Expression, Link, Literal, Operator};
use crate::csharp::deps::resolve::predefined;
use crate::csharp::deps::shape::Shape;

/// Integer types to which a constant `int` converts if its value is in their range (C# specification, Implicit constant expression conversions).
const OF_CONSTANTS: [&str; 6] = ["sbyte", "byte", "short", "ushort", "uint", "ulong"];

/// Whether a key is that of a numeric type, `char` included.
pub(super) fn numeric(key: &str) -> bool {
    WIDENINGS.iter().any(|(number, _)| *number == key)
}

/// Numeric types, each with those to which its values convert implicitly (C# specification, Implicit numeric conversions).
const WIDENINGS: [(&str, &[&str]); 12] = [
    ("~System.Int32", &["Int64", "Single", "Double", "Decimal"]),
    ("~System.Int64", &["Single", "Double", "Decimal"]),
    ("~System.Double", &[]),
    ("~System.Single", &["Double"]),
    ("~System.Decimal", &[]),
    (
        "~System.Byte",
        &[
            "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Single", "Double", "Decimal",
        ],
    ),
    ("~System.Int16", &["Int32", "Int64", "Single", "Double", "Decimal"]),
    ("~System.UInt32", &["Int64", "UInt64", "Single", "Double", "Decimal"]),
    ("~System.UInt64", &["Single", "Double", "Decimal"]),
    (
        "~System.UInt16",
        &["Int32", "UInt32", "Int64", "UInt64", "Single", "Double", "Decimal"],
    ),
    ("~System.SByte", &["Int16", "Int32", "Int64", "Single", "Double", "Decimal"]),
    (
        "~System.Char",
        &["UInt16", "Int32", "UInt32", "Int64", "UInt64", "Single", "Double", "Decimal"],
    ),
];

/// Whether a variable of one numeric type does not convert to another one implicitly; a constant may.
pub(super) fn is_narrowing(from: &Shape, to: &Shape) -> bool {
    let Some((from, to)) = from.key().zip(to.key()).filter(|(from, to)| from != to && numeric(to)) else {
        return false;
    };
    let widened = WIDENINGS.iter().find(|(number, _)| *number == from);
    let name = to.trim_start_matches("~System.");
    widened.is_some_and(|(_, wider)| !wider.contains(&name))
}

/// Returns the numeric types to which values of a numeric type convert implicitly, nearest first; none for other types.
pub(super) fn wider(of: &Shape) -> impl Iterator<Item = Shape> {
    let names = of.key().and_then(|key| WIDENINGS.iter().find(|(number, _)| *number == key));
    let names = names.map_or(&[][..], |(_, wider)| *wider);
    names.iter().map(|name| Shape::of_key(&format!("~System.{name}")))
}

impl Flow<'_, '_> {
    /// Whether a number of one numeric type certainly does not convert to another implicitly: as no constant, or as a literal of a wrong type.
    pub(super) fn narrows(&self, value: &Expression, from: &Shape, to: &Shape) -> bool {
        let (from, to) = (from.without_null(), to.without_null());
        if !is_narrowing(from, to) {
            return false;
        }
        let is_of = |shape: &Shape, names: &[&str]| names.iter().any(|name| predefined(name) == *shape);
        // A literal does not tell its sign.
        let converts_constant = match is_of(from, &["int"]) {
            true => is_of(to, &OF_CONSTANTS),
            false => is_of(from, &["long"]) && is_of(to, &["ulong"]),
        };
        self.is_variable(value) || matches!(value, Expression::Literal(..)) && !converts_constant
    }

    /// Whether an expression is certainly no constant, and converts only to types to which the type inferred for it converts.
    pub(super) fn is_variable(&self, value: &Expression) -> bool {
        match value {
            Expression::Name(name) => self.names_variable(&name.word.text),
            Expression::Chain(root, links) => self.is_variable_chain(root, links),
            Expression::Cast(_, inner, _) => self.is_variable(inner),
            Expression::Await(..) => true,
            Expression::Unary(sign, inner) => match sign.text.as_str() {
                "++" | "--" => true,
                "+" | "-" | "~" | "checked" | "unchecked" => self.is_variable(inner),
                _ => false,
            },
            // The operator widens the first operand, unless that is a constant.
            Expression::Operation(Operator::Arithmetic, operands, _) => operands.first().is_some_and(|first| self.is_variable(first)),
            Expression::Conditional(condition, yes, no) => match (&**yes, &**no) {
                (Expression::Literal(Literal::Integer, _), Expression::Literal(Literal::Integer, _)) => {
                    !matches!(**condition, Expression::Literal(..))
                }
                (yes, no) => self.is_variable(yes) && self.is_variable(no),
            },
            _ => false,
        }
    }

    /// Whether a simple name refers to a local, parameter, field or property that is certainly no constant.
    fn names_variable(&self, name: &str) -> bool {
        match self.find_local(name) {
            Some(Local::Value(_)) => !self.locals.may_be_constant(name),
            Some(Local::Function(_)) => false,
            None => {
                let mut around = self.around.iter().map(|own| self.seen(own, name));
                let found = around.find(|found| !found.is_empty()).unwrap_or_default();
                found
                    .first()
                    .is_some_and(|one| !one.is_method() && !one.outside && !one.is_constant())
            }
        }
    }

    /// Whether a chain is certainly no constant: a call, an element, or a member of a value.
    fn is_variable_chain(&self, root: &Expression, links: &[Link]) -> bool {
        let is_called = |link: &Link| matches!(link, Link::Call(_) | Link::Index(..));
        if links.is_empty() || links.iter().any(is_called) {
            return !links.is_empty() || self.is_variable(root);
        }
        match root {
            Expression::This(_) | Expression::Base(_) => true,
            // A value may have the name of its type, whose constant the code then may name.
            Expression::Name(name) => match self.find_local(&name.word.text) {
                Some(Local::Value(shape)) => shape.key().is_some_and(|key| !key.ends_with(&name.word.text)),
                _ => false,
            },
            _ => false,
        }
    }
}
