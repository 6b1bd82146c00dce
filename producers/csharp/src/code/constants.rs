//! Constant expressions of the type `int`: those that only literals make up become literals when they are parsed.

use super::ast::{Expression, Link, Literal, Name, Operator, TypeRef};
use super::cursor::Cursor;
use super::integer_range::IntegerRange;
use super::primary::{integer_value, literal_number};
use crate::keywords::is_reserved;

/// Maximum nesting of an evaluated expression.
const DEEPEST: u32 = 32;

impl Expression {
    /// Returns the range of the value of a constant of the type `int`, as far as it does not depend on names.
    pub fn integer_range(&self) -> Option<IntegerRange> {
        match self {
            Self::Literal(Literal::Integer(range), _) => Some(*range),
            Self::Default(TypeRef::Predefined(word), _) if word == "int" => Some(IntegerRange::SByte),
            // The size of a predefined type is at most 16.
            Self::Unary(sign, inner) if sign.text == "sizeof" => {
                matches!(**inner, Self::Default(TypeRef::Predefined(_), _)).then_some(IntegerRange::SByte)
            }
            Self::Unary(sign, inner) if matches!(sign.text.as_str(), "checked" | "unchecked") => inner.integer_range(),
            Self::Chain(inner, links) if links.is_empty() => inner.integer_range(),
            _ => None,
        }
    }

    /// Returns the names that lead to a member, as in `A.B.C`.
    pub fn member_path(&self) -> Option<Vec<&Name>> {
        let Self::Chain(root, links) = self else { return None };
        let Self::Name(first) = &**root else { return None };
        let others = links.iter().map(|link| match link {
            Link::Member(name) => Some(name),
            _ => None,
        });
        std::iter::once(Some(first)).chain(others).collect()
    }
}

/// The value of a constant expression; smaller integers and characters count as `int`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    Int(i32),
    Long(i64),
    /// A `bool`.
    Bool(bool),
}

impl Constant {
    /// Returns the value as a `long`.
    pub fn to_long(self) -> i64 {
        match self {
            Self::Int(value) => value.into(),
            Self::Long(value) => value,
            Self::Bool(value) => value.into(),
        }
    }

    /// Returns the range of the value of an `int` or `long`.
    pub fn to_range(self) -> Option<IntegerRange> {
        Some(match self {
            Self::Int(value) => IntegerRange::of_value(value.into()),
            Self::Long(value) if value < 0 => IntegerRange::NegativeLong,
            Self::Long(_) => IntegerRange::Long,
            Self::Bool(_) => return None,
        })
    }

    /// Returns the constant as a value of a type; `None` if it does not fit.
    pub fn cast(self, word: &str) -> Option<Self> {
        if matches!(self, Self::Bool(_)) {
            return (word == "bool").then_some(self);
        }
        let value = self.to_long();
        let does_fit = match word {
            "long" => return Some(Self::Long(value)),
            "int" => true,
            "short" => i16::try_from(value).is_ok(),
            "sbyte" => i8::try_from(value).is_ok(),
            "byte" => u8::try_from(value).is_ok(),
            "ushort" | "char" => u16::try_from(value).is_ok(),
            _ => false,
        };
        i32::try_from(value).ok().filter(|_| does_fit).map(Self::Int)
    }

    /// Returns the result of an operator.
    fn operate(self, sign: &str, right: Self) -> Option<Self> {
        let (first, second) = (self.to_long(), right.to_long());
        let value = match (sign, self, right) {
            ("==", ..) => return Some(Self::Bool(first == second)),
            ("!=", ..) => return Some(Self::Bool(first != second)),
            ("&&" | "&", Self::Bool(one), Self::Bool(other)) => return Some(Self::Bool(one && other)),
            ("||" | "|", Self::Bool(one), Self::Bool(other)) => return Some(Self::Bool(one || other)),
            (_, Self::Bool(_), _) | (_, _, Self::Bool(_)) => return None,
            ("<", ..) => return Some(Self::Bool(first < second)),
            ("<=", ..) => return Some(Self::Bool(first <= second)),
            (">", ..) => return Some(Self::Bool(first > second)),
            (">=", ..) => return Some(Self::Bool(first >= second)),
            // The lower five or six bits of the right operand count.
            ("<<" | ">>", Self::Int(value), Self::Int(count)) => {
                let count = count.cast_unsigned();
                let shifted = if sign == ">>" {
                    value.wrapping_shr(count)
                } else {
                    value.wrapping_shl(count)
                };
                return Some(Self::Int(shifted));
            }
            ("<<", _, Self::Int(count)) => first.wrapping_shl(count.cast_unsigned()),
            (">>", _, Self::Int(count)) => first.wrapping_shr(count.cast_unsigned()),
            ("|", ..) => first | second,
            ("^", ..) => first ^ second,
            ("&", ..) => first & second,
            ("+", ..) => first.checked_add(second)?,
            ("-", ..) => first.checked_sub(second)?,
            ("*", ..) => first.checked_mul(second)?,
            ("/", ..) => first.checked_div(second)?,
            ("%", ..) => first.checked_rem(second)?,
            _ => return None,
        };
        match (self, right) {
            (Self::Int(_), Self::Int(_)) => i32::try_from(value).ok().map(Self::Int),
            _ => Some(Self::Long(value)),
        }
    }
}

/// Returns the value of a constant expression, as far as literals and the constants that `named` knows make it up.
pub fn constant_value(text: &str, named: &mut dyn FnMut(&str) -> Option<Constant>) -> Option<Constant> {
    let cursor = Cursor::new(text, None, 0);
    let mut evaluation = Evaluation {
        cursor: &cursor,
        at: 0,
        end: cursor.end,
        named,
    };
    let value = evaluation.conditional(DEEPEST);
    value.filter(|_| evaluation.at == cursor.end)
}

impl Cursor<'_> {
    /// Returns a literal for the parsed expression between the token `start` and the present one, if `int` literals make it up.
    pub(super) fn folded(&self, start: usize, value: Expression) -> Expression {
        if !matches!(value, Expression::Operation(Operator::Arithmetic, ..)) {
            return value;
        }
        let mut evaluation = Evaluation {
            cursor: self,
            at: start,
            end: self.at,
            named: &mut |_| None,
        };
        let number = evaluation.value(0, DEEPEST).filter(|_| evaluation.at == self.at);
        let range = number
            .filter(|number| matches!(number, Constant::Int(_)))
            .and_then(Constant::to_range);
        match (range, value.first_place()) {
            (Some(range), Some(place)) => Expression::Literal(Literal::Integer(range), place),
            _ => value,
        }
    }
}

/// The evaluation of the tokens up to `end`.
struct Evaluation<'c, 't, 'n> {
    cursor: &'c Cursor<'t>,
    at: usize,
    end: usize,
    /// Returns the value of a constant by its path.
    named: &'n mut dyn FnMut(&str) -> Option<Constant>,
}

impl<'t> Evaluation<'_, 't, '_> {
    fn text_of_token(&self, at: usize) -> &'t str {
        if at < self.end { self.cursor.text_at(at) } else { "" }
    }

    /// Evaluates an expression that may be conditional.
    fn conditional(&mut self, depth: u32) -> Option<Constant> {
        let value = self.value(0, depth)?;
        if self.text_of_token(self.at) != "?" {
            return Some(value);
        }
        let depth = depth.checked_sub(1)?;
        self.at += 1;
        let yes = self.conditional(depth)?;
        self.at += 1;
        if self.text_of_token(self.at - 1) != ":" {
            return None;
        }
        let no = self.conditional(depth)?;
        let Constant::Bool(is_met) = value else { return None };
        let chosen = if is_met { yes } else { no };
        match (yes, no) {
            (Constant::Long(_), _) | (_, Constant::Long(_)) => chosen.cast("long"),
            _ => Some(chosen),
        }
    }

    /// Evaluates operands and the operators that bind tighter than `floor`; `None` if a part is no such constant, or a value does not fit.
    fn value(&mut self, floor: u8, depth: u32) -> Option<Constant> {
        let mut left = self.operand(depth)?;
        loop {
            let sign = self.text_of_token(self.at);
            let next = self.text_of_token(self.at + 1);
            let (sign, length) = match sign {
                ">" if next == ">" && self.text_of_token(self.at + 2) != ">" => (">>", 2),
                ">" if next == "=" => (">=", 2),
                sign => (sign, 1),
            };
            let level = match sign {
                "||" => 2,
                "&&" => 3,
                "|" => 4,
                "^" => 5,
                "&" => 6,
                "==" | "!=" => 7,
                "<" | "<=" | ">" | ">=" => 8,
                "<<" | ">>" => 9,
                "+" | "-" => 10,
                "*" | "/" | "%" => 11,
                _ => return Some(left),
            };
            if level <= floor {
                return Some(left);
            }
            self.at += length;
            let right = self.value(level, depth.checked_sub(1)?)?;
            left = left.operate(sign, right)?;
        }
    }

    fn operand(&mut self, depth: u32) -> Option<Constant> {
        let depth = depth.checked_sub(1)?;
        let at = self.at;
        self.at += 1;
        let text = self.text_of_token(at);
        match text {
            "(" if self.text_of_token(at + 2) == ")" && is_reserved(self.text_of_token(at + 1)) => {
                self.at = at + 3;
                self.operand(depth)?.cast(self.text_of_token(at + 1))
            }
            "(" => {
                let inner = self.conditional(depth)?;
                self.at += 1;
                (self.text_of_token(self.at - 1) == ")").then_some(inner)
            }
            "-" if self.text_of_token(self.at) == "2147483648" => {
                self.at += 1;
                Some(Constant::Int(i32::MIN))
            }
            "-" => Constant::Int(0).operate("-", self.operand(depth)?),
            "+" => self.operand(depth),
            "!" => match self.operand(depth)? {
                Constant::Bool(value) => Some(Constant::Bool(!value)),
                _ => None,
            },
            "true" => Some(Constant::Bool(true)),
            "false" => Some(Constant::Bool(false)),
            "~" => Constant::Int(-1).operate("^", self.operand(depth)?),
            number if number.starts_with(|c: char| c.is_ascii_digit()) => {
                let value = i64::try_from(integer_value(&number.replace('_', ""))?).ok()?;
                match literal_number(number) {
                    Literal::Integer(_) => i32::try_from(value).ok().map(Constant::Int),
                    Literal::Long => Some(Constant::Long(value)),
                    _ => None,
                }
            }
            letter if letter.starts_with('\'') => match letter[1..].encode_utf16().collect::<Vec<_>>()[..] {
                [unit, _] => Some(Constant::Int(unit.into())),
                _ => None,
            },
            _ if self.cursor.is_word_at(at) => self.constant_named(text),
            _ => None,
        }
    }

    /// Returns the value of the constant whose path begins with `first`, before the present token.
    fn constant_named(&mut self, first: &str) -> Option<Constant> {
        let mut path = first.to_owned();
        while self.text_of_token(self.at) == "." {
            path.push('.');
            path.push_str(self.text_of_token(self.at + 1));
            self.at += 2;
        }
        match path.as_str() {
            "int.MaxValue" => Some(Constant::Int(i32::MAX)),
            "int.MinValue" => Some(Constant::Int(i32::MIN)),
            "long.MaxValue" => Some(Constant::Long(i64::MAX)),
            "long.MinValue" => Some(Constant::Long(i64::MIN)),
            "short.MaxValue" => Some(Constant::Int(i16::MAX.into())),
            "short.MinValue" => Some(Constant::Int(i16::MIN.into())),
            "ushort.MaxValue" | "char.MaxValue" => Some(Constant::Int(u16::MAX.into())),
            "byte.MaxValue" => Some(Constant::Int(u8::MAX.into())),
            path => (self.named)(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ast::Statement;
    use super::super::body;
    use super::*;

    fn range_of(text: &str) -> Option<IntegerRange> {
        match body(&format!("= {text}"), false).as_slice() {
            [Statement::Return(value)] => value.integer_range(),
            _ => None,
        }
    }

    #[test]
    fn constants_of_literals_are_evaluated() {
        for (text, value) in [
            ("1 + 2 * 3", 7),
            ("(1 << 8) - 1", 255),
            ("1 << 8", 256),
            ("60 * 60 * 24", 86_400),
            ("-5 + 2", -3),
            ("-2147483648 + 2147483647", -1),
            ("5 - (2 - 130)", 133),
            ("10 - 3 - 4", 3),
            ("~0 & 0xFF", 255),
            ("0xF0 | 0b1111", 255),
            ("-(100) - 100", -200),
            ("1_000 % 7 >> 1", 3),
            ("(3)", 3),
            ("default(int)", 0),
            ("sizeof(long)", 8),
            ("unchecked(200)", 200),
            ("(byte)200 + 'a'", 297),
            ("byte.MaxValue + 1", 256),
        ] {
            assert_eq!(range_of(text), Some(IntegerRange::of_value(value)), "{text}");
        }
        for text in [
            "1 + a", "2147483647 + 1", "1 / 0", "1L + 2", "1 + 2.0", "1 + '\\n'", "(byte)256 + 0", "1 + a.B", "default(long)", "sizeof(A)",
            "a", "1 == 2", "0xFFFFFFFF + 0",
        ] {
            assert_eq!(range_of(text), None, "{text}");
        }
    }

    #[test]
    fn initializers_depend_on_other_constants() {
        let mut named = |path: &str| match path {
            "A" => Some(Constant::Int(127)),
            "B.C" => Some(Constant::Long(-1)),
            _ => None,
        };
        for (text, value) in [
            ("A + 1", Some(Constant::Int(128))),
            ("A", Some(Constant::Int(127))),
            ("-A << 1", Some(Constant::Int(-254))),
            ("A + B.C", Some(Constant::Long(126))),
            ("~B.C", Some(Constant::Long(0))),
            ("(int)B.C", Some(Constant::Int(-1))),
            ("(A)", Some(Constant::Int(127))),
            ("1L << 40", Some(Constant::Long(1 << 40))),
            ("D", None),
            ("A()", None),
            ("A == 1", Some(Constant::Bool(false))),
            ("A ? 1 : 2", None),
            ("A > 100 ? A : 1", Some(Constant::Int(127))),
            ("(A >= 128 || !true) ? 1L : B.C == -1 ? 2 : 3", Some(Constant::Long(2))),
            ("A < 1 && D ? 1 : 2", None),
            ("1 + A != 128", Some(Constant::Bool(false))),
            ("true + 1", None),
            ("-true", None),
            ("", None),
        ] {
            assert_eq!(constant_value(text, &mut named), value, "{text}");
        }
    }

    #[test]
    fn deep_and_long_expressions_are_not_evaluated_forever() {
        let deep = format!("{}1 + 1{}", "(".repeat(5_000), ")".repeat(5_000));
        assert_eq!(range_of(&deep), None);
        let long = format!("1{}", " + 0".repeat(20_000));
        assert_eq!(range_of(&long), Some(IntegerRange::SByte));
    }
}
