//! Numeric types, and the implicit conversions between them.

use super::{Flow, Local};
use crate::code::ast::{Expression, Link, Literal, Name, Operator};
use crate::code::integer_range::IntegerRange;
use crate::deps::resolve::{Meaning, predefined};
use crate::deps::shape::Shape;
use crate::deps::world::Candidate;
use crate::mention_model::Place;

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

/// Whether every value of a numeric type converts implicitly to another one; both are keys, such as `~System.Int32`.
pub fn widens(from: &str, to: &str) -> bool {
    let found = WIDENINGS.iter().find(|(number, _)| *number == from);
    found.is_some_and(|(_, wider)| wider.contains(&to.trim_start_matches("~System.")))
}

/// Signed integer types, and the unsigned ones over which each is the better target (C# specification, Better conversion target).
const SIGNED: [(&str, &[&str]); 4] = [
    ("~System.SByte", &["Byte", "UInt16", "UInt32", "UInt64"]),
    ("~System.Int16", &["UInt16", "UInt32", "UInt64"]),
    ("~System.Int32", &["UInt32", "UInt64"]),
    ("~System.Int64", &["UInt64"]),
];

/// Whether a signed integer type is a better target than an unsigned one; both are keys, such as `~System.Int32`.
pub fn is_signed_over(one: &str, other: &str) -> bool {
    let found = SIGNED.iter().find(|(signed, _)| *signed == one);
    found.is_some_and(|(_, unsigned)| unsigned.contains(&other.trim_start_matches("~System.")))
}

/// Returns the numeric types to which values of a numeric type convert implicitly, nearest first; none for other types.
pub(super) fn wider(of: &Shape) -> impl Iterator<Item = Shape> {
    let names = of.key().and_then(|key| WIDENINGS.iter().find(|(number, _)| *number == key));
    let names = names.map_or(&[][..], |(_, wider)| *wider);
    names.iter().map(|name| Shape::of_key(&format!("~System.{name}")))
}

/// What is known of an operand as a constant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Constancy {
    /// It is none.
    Variable,
    /// It is one, and not negative.
    NotNegative,
    /// It may be one.
    Open,
}

/// Returns the result of an operator of the language on numbers (C# specification, Numeric promotions). `None`: a type is no number;
/// unknown: the value of a constant decides.
pub(super) fn arithmetic(sign: &str, operands: [(&Shape, Constancy); 2]) -> Option<Shape> {
    let number = |shape: &Shape| Some(WIDENINGS.iter().find(|(number, _)| Some(*number) == shape.without_null().key())?.0);
    let [left, right] = [number(operands[0].0)?, number(operands[1].0)?];
    let has = |name: &str| [left, right].contains(&name);
    let is_signed = |number: &str| matches!(number, "~System.SByte" | "~System.Int16" | "~System.Int32");
    // A constant `int` that is not negative converts to `uint`.
    let with_uint = || match [(left, operands[0].1), (right, operands[1].1)]
        .into_iter()
        .find(|(number, _)| is_signed(number))
    {
        None | Some(("~System.Int32", Constancy::NotNegative)) => Some("~System.UInt32"),
        Some((_, Constancy::Open)) => None,
        Some(_) => Some("~System.Int64"),
    };
    let wide = [
        "~System.Decimal", "~System.Double", "~System.Single", "~System.UInt64", "~System.Int64",
    ];
    let result = match sign {
        "<<" | ">>" | ">>>" => Some(promoted("~", left)),
        _ => match wide.into_iter().find(|name| has(name)) {
            Some(wide) => Some(wide),
            None if has("~System.UInt32") => with_uint(),
            None => Some("~System.Int32"),
        },
    };
    let result = result.map_or(Shape::Unknown, Shape::of_key);
    let is_lifted = operands.iter().any(|(shape, _)| shape.is_nullable());
    Some(if is_lifted && result.is_known() {
        Shape::nullable(result)
    } else {
        result
    })
}

/// Returns the type of a number after a sign: small ones become `int`.
fn promoted<'n>(sign: &str, number: &'n str) -> &'n str {
    match number {
        "~System.UInt32" if sign == "-" => "~System.Int64",
        "~System.SByte" | "~System.Byte" | "~System.Int16" | "~System.UInt16" | "~System.Char" => "~System.Int32",
        number => number,
    }
}

/// Returns the type of a value after an operator sign of the language: `+`, `-` or `~`.
pub(super) fn signed(sign: &str, shape: &Shape) -> Shape {
    match shape.without_null().key() {
        Some(key) if numeric(key) && matches!(sign, "+" | "-" | "~") => {
            let result = Shape::of_key(promoted(sign, key));
            if shape.is_nullable() { Shape::nullable(result) } else { result }
        }
        _ => shape.clone(),
    }
}

impl<'a> Flow<'_, 'a> {
    /// Returns the result of an operator of the language on numbers, each with the operands that make it up; `None` if a type is no number.
    pub(super) fn arithmetic_of(&self, sign: &str, [left, right]: [(&Shape, &[Expression]); 2]) -> Option<Shape> {
        // Only beside a `uint` does it matter whether an operand is a constant.
        let is_uint = |shape: &Shape| *shape.without_null() == predefined("uint");
        let has_uint = is_uint(left.0) || is_uint(right.0);
        let constancy = |operands: &[Expression]| match has_uint {
            true => self.constancy(operands),
            false => Constancy::Open,
        };
        arithmetic(sign, [left, right].map(|(shape, operands)| (shape, constancy(operands))))
    }

    /// Returns what is known of operands that other operators join, as a constant.
    fn constancy(&self, operands: &[Expression]) -> Constancy {
        let range = match operands {
            [only] => self.range_of(only),
            _ => None,
        };
        let is_long = matches!(operands, [Expression::Literal(Literal::Long, _)]);
        match operands {
            // It does not convert to `uint`.
            _ if range.is_some_and(IntegerRange::is_negative) => Constancy::Variable,
            _ if range.is_some() || is_long => Constancy::NotNegative,
            all if all.iter().any(|operand| self.is_variable(operand)) => Constancy::Variable,
            _ => Constancy::Open,
        }
    }

    /// Returns the result of `+`, `-` and the like on enums of the workspace: the difference of two is a number.
    pub(super) fn enum_arithmetic(&self, sign: &str, left: &Shape, right: &Shape) -> Option<Shape> {
        let is_enum = |shape: &Shape| self.world.kind(shape.without_null().key().unwrap_or_default()) == 'e';
        let result = match (is_enum(left), is_enum(right)) {
            (true, true) if sign == "-" => self.world.underlying(left.without_null()),
            (true, _) => left.without_null().clone(),
            (false, true) => right.without_null().clone(),
            (false, false) => return None,
        };
        let is_lifted = left.is_nullable() || right.is_nullable();
        Some(if is_lifted && result.is_known() {
            Shape::nullable(result)
        } else {
            result
        })
    }

    /// Whether a number of one numeric type certainly does not convert to another implicitly: as no constant, or as a constant of a wrong value.
    pub(super) fn narrows(&self, value: &Expression, from: &Shape, to: &Shape) -> bool {
        let (from, to) = (from.without_null(), to.without_null());
        if !is_narrowing(from, to) {
            return false;
        }
        let is_of = |shape: &Shape, name: &str| predefined(name) == *shape;
        let range = self.range_of(value);
        let converts_constant = match range {
            Some(range) => to.key().is_some_and(|key| range.converts_to(key)),
            None => is_of(from, "long") && is_of(to, "ulong"),
        };
        let is_known = range.is_some() || matches!(value, Expression::Literal(..));
        self.is_variable(value) || is_known && !converts_constant
    }

    /// Returns the range of the value of a constant of the type `int` or `long`.
    pub(super) fn range_of(&self, value: &Expression) -> Option<IntegerRange> {
        let members = match value {
            Expression::Name(name) if self.find_local(&name.word.text).is_some() => {
                return self.locals.range_of_constant(&name.word.text);
            }
            Expression::Name(name) => {
                let around = self.around.iter().chain(&self.statics);
                around.map(|own| self.seen(own, &name.word.text)).find(|found| !found.is_empty())?
            }
            Expression::Unary(sign, inner) if matches!(sign.text.as_str(), "checked" | "unchecked") => return self.range_of(inner),
            Expression::Chain(inner, links) if links.is_empty() => return self.range_of(inner),
            value => match value.member_path() {
                Some(path) => self.members_of_type(&path)?,
                None => return value.integer_range(),
            },
        };
        self.world.range_of_constant(members.first()?)
    }

    /// Returns the members of a type that the names before the last one mean; `None` if they may mean a value.
    fn members_of_type(&self, path: &[&Name]) -> Option<Vec<Candidate<'a>>> {
        let (member, names) = path.split_last()?;
        let names: Vec<Name> = names.iter().map(|name| (*name).clone()).collect();
        let (first, last) = (&names.first()?.word.text, names.last()?);
        let Meaning::Type(key, 0) = self.resolver.meaning(&names, last.args.len() as u32, Place::Body) else {
            return None;
        };
        // A value may have the name of its type.
        let is_other = |one: &Candidate<'_>| one.is_method() || one.result().key() != Some(&key);
        let around = self.around.iter().map(|own| self.seen(own, first));
        let value = around.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
        let is_value = self.find_local(first).is_some() || value.iter().any(is_other);
        (!is_value).then(|| self.seen(&Shape::of_key(&key), &member.word.text))
    }

    /// Whether an expression is certainly no constant, and converts only to types to which the type inferred for it converts.
    pub(super) fn is_variable(&self, value: &Expression) -> bool {
        match value {
            Expression::Name(name) => self.names_variable(&name.word.text),
            Expression::Chain(root, links) => self.is_variable_chain(root, links),
            Expression::Cast(_, inner, _) => self.is_variable(inner),
            Expression::Await(..) | Expression::Operation(Operator::Coalesce, ..) => true,
            Expression::Unary(sign, inner) => match sign.text.as_str() {
                "++" | "--" => true,
                "+" | "-" | "~" | "checked" | "unchecked" => self.is_variable(inner),
                _ => false,
            },
            Expression::Operation(Operator::Arithmetic, operands, _) => operands.iter().any(|operand| self.is_variable(operand)),
            Expression::Conditional(condition, yes, no) => match (&**yes, &**no) {
                (Expression::Literal(..), Expression::Literal(..)) => !matches!(**condition, Expression::Literal(..)),
                (yes, no) => self.is_variable(yes) || self.is_variable(no),
            },
            _ => false,
        }
    }

    /// Whether a simple name refers to a local, parameter, field or property that is certainly no constant.
    fn names_variable(&self, name: &str) -> bool {
        match self.find_local(name) {
            Some(Local::Value(_)) => !self.locals.is_constant(name),
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
