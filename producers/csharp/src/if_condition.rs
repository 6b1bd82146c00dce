//! Conditions of `#if` and `#elif`: their value under a set of symbols, and the symbols they name.

use std::collections::BTreeSet;

/// Deepest nesting of `!` and parentheses in a condition; deeper conditions are false.
const CONDITION_DEPTH: u32 = 64;

/// Returns the symbols that a condition names.
pub(crate) fn symbols_of_condition(condition: &str) -> impl Iterator<Item = &str> {
    condition
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !matches!(*word, "" | "true" | "false"))
}

/// Evaluates a condition; `None` if the text is no condition.
pub(crate) fn evaluate(text: &str, defined: &BTreeSet<&str>) -> Option<bool> {
    let mut condition = Condition {
        text,
        at: 0,
        defined,
        sound: true,
    };
    let value = condition.or(0);
    condition.blanks();
    (condition.sound && condition.at == text.len()).then_some(value)
}

struct Condition<'t, 'd> {
    text: &'t str,
    at: usize,
    defined: &'d BTreeSet<&'t str>,
    sound: bool,
}

impl Condition<'_, '_> {
    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn accept(&mut self, operator: &str) -> bool {
        self.blanks();
        let found = self.text[self.at..].starts_with(operator);
        if found {
            self.at += operator.len();
        }
        found
    }

    fn or(&mut self, depth: u32) -> bool {
        let mut value = self.and(depth);
        while self.accept("||") {
            value |= self.and(depth);
        }
        value
    }

    fn and(&mut self, depth: u32) -> bool {
        let mut value = self.equality(depth);
        while self.accept("&&") {
            value &= self.equality(depth);
        }
        value
    }

    fn equality(&mut self, depth: u32) -> bool {
        let mut value = self.unary(depth);
        loop {
            if self.accept("==") {
                value = value == self.unary(depth);
            } else if self.accept("!=") {
                value = value != self.unary(depth);
            } else {
                return value;
            }
        }
    }

    fn unary(&mut self, depth: u32) -> bool {
        if depth > CONDITION_DEPTH {
            self.sound = false;
            return false;
        }
        if self.accept("!") {
            return !self.unary(depth + 1);
        }
        if self.accept("(") {
            let value = self.or(depth + 1);
            self.sound &= self.accept(")");
            return value;
        }
        self.blanks();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += end;
        match &rest[..end] {
            "" => {
                self.sound = false;
                false
            }
            "true" => true,
            "false" => false,
            symbol => self.defined.contains(symbol),
        }
    }
}
