//! Constant expressions of the type `int`: those that only literals make up become literals when they are parsed.

use super::ast::{Expression, Link, Literal, Name, Operator, TypeRef};
use super::cursor::Cursor;
use super::integer_range::IntegerRange;
use super::primary::{integer_value, literal_number};

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
        };
        let number = evaluation.value(0, DEEPEST).filter(|_| evaluation.at == self.at);
        match (number, value.first_place()) {
            (Some(number), Some(place)) => Expression::Literal(Literal::Integer(IntegerRange::of_value(number.into())), place),
            _ => value,
        }
    }
}

/// The evaluation of the tokens up to `end`.
struct Evaluation<'c, 't> {
    cursor: &'c Cursor<'t>,
    at: usize,
    end: usize,
}

impl<'t> Evaluation<'_, 't> {
    fn text_of_token(&self, at: usize) -> &'t str {
        if at < self.end { self.cursor.text_at(at) } else { "" }
    }

    /// Evaluates operands and the operators that bind tighter than `floor`; `None` if a part is no `int` literal, or a value does not fit.
    fn value(&mut self, floor: u8, depth: u32) -> Option<i32> {
        let mut left = self.operand(depth)?;
        loop {
            let sign = self.text_of_token(self.at);
            let is_shift = sign == ">" && self.text_of_token(self.at + 1) == ">" && self.text_of_token(self.at + 2) != ">";
            let (level, length) = match sign {
                "|" => (4, 1),
                "^" => (5, 1),
                "&" => (6, 1),
                "<<" => (9, 1),
                ">" if is_shift => (9, 2),
                "+" | "-" => (10, 1),
                "*" | "/" | "%" => (11, 1),
                _ => return Some(left),
            };
            if level <= floor {
                return Some(left);
            }
            self.at += length;
            let right = self.value(level, depth.checked_sub(1)?)?;
            left = match sign {
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                // The lower five bits of the right operand count.
                "<<" => left.wrapping_shl(right.cast_unsigned()),
                ">" => left.wrapping_shr(right.cast_unsigned()),
                "+" => left.checked_add(right)?,
                "-" => left.checked_sub(right)?,
                "*" => left.checked_mul(right)?,
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
    }

    fn operand(&mut self, depth: u32) -> Option<i32> {
        let depth = depth.checked_sub(1)?;
        let at = self.at;
        self.at += 1;
        match self.text_of_token(at) {
            "(" => {
                let inner = self.value(0, depth)?;
                self.at += 1;
                (self.text_of_token(self.at - 1) == ")").then_some(inner)
            }
            "-" if self.text_of_token(self.at) == "2147483648" => {
                self.at += 1;
                Some(i32::MIN)
            }
            "-" => self.operand(depth)?.checked_neg(),
            "+" => self.operand(depth),
            "~" => self.operand(depth).map(|value| !value),
            number if number.starts_with(|c: char| c.is_ascii_digit()) => match literal_number(number) {
                Literal::Integer(_) => i32::try_from(integer_value(&number.replace('_', ""))?).ok(),
                _ => None,
            },
            _ => None,
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
        ] {
            assert_eq!(range_of(text), Some(IntegerRange::of_value(value)), "{text}");
        }
        for text in [
            "1 + a",
            "2147483647 + 1",
            "1 / 0",
            "1L + 2",
            "1 + 2.0",
            "1 + 'a'",
            "default(long)",
            "sizeof(A)",
            "a",
            "1 == 2",
            "0xFFFFFFFF + 0",
        ] {
            assert_eq!(range_of(text), None, "{text}");
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
