//! MSBuild conditions: `'$(A)' == 'b' and Exists('c')`.
//!
//! Two numbers are compared as numbers, all other operands as text, ignoring case. An invalid condition is false, with a diagnostic.

use super::expression::string::{parse_decimal, version};
use super::expression::{Scope, closing, unescape};
use super::xml::Element;
use engine::values::codes::ErrorCode;
use std::cmp::Ordering;

/// Maximum nesting of parentheses and `!`.
const DEEPEST: u32 = 64;

impl Scope<'_> {
    /// Whether an element has no condition, or a true one.
    pub fn condition_is_true(&self, element: &Element) -> bool {
        element.attribute("Condition").is_none_or(|condition| is_true(self, condition))
    }
}

/// Whether a condition holds; an empty condition does.
pub fn is_true(scope: &Scope<'_>, condition: &str) -> bool {
    if condition.trim().is_empty() {
        return true;
    }
    let mut reader = Reader {
        scope,
        rest: condition,
        depth: 0,
        skip: false,
    };
    let answer = reader.either().and_then(|truth| match reader.rest.trim_start() {
        "" => Ok(truth),
        rest => Err(format!(
            "'{}' follows a complete condition",
            rest.chars().take(20).collect::<String>()
        )),
    });
    answer.unwrap_or_else(|why| {
        scope.report.warn(
            ErrorCode::CS_PROJECT_CONDITION,
            scope.spot,
            format!("the condition cannot be evaluated ({why}) and counts as false"),
            condition,
        );
        false
    })
}

fn truth(text: &str) -> Option<bool> {
    let is = |words: [&str; 6]| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word));
    if is(["true", "on", "yes", "!false", "!off", "!no"]) {
        Some(true)
    } else if is(["false", "off", "no", "!true", "!on", "!yes"]) {
        Some(false)
    } else {
        None
    }
}

struct Reader<'s, 't> {
    scope: &'s Scope<'s>,
    rest: &'t str,
    depth: u32,
    /// Whether the result is already decided, so this part is parsed but not evaluated.
    skip: bool,
}

impl<'t> Reader<'_, 't> {
    /// Evaluates the operands of `or`; after a true one, the rest is parsed but not evaluated.
    fn either(&mut self) -> Result<bool, String> {
        let outer = self.skip;
        let mut all = self.both()?;
        while self.take_keyword("or") {
            self.skip = outer || all;
            let right = self.both()?;
            self.skip = outer;
            all = all || right;
        }
        Ok(all)
    }

    fn both(&mut self) -> Result<bool, String> {
        let outer = self.skip;
        let mut all = self.parse_comparison()?;
        while self.take_keyword("and") {
            self.skip = outer || !all;
            let right = self.parse_comparison()?;
            self.skip = outer;
            all = all && right;
        }
        Ok(all)
    }

    fn parse_comparison(&mut self) -> Result<bool, String> {
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        self.depth += 1;
        let answer = self.one_inside();
        self.depth -= 1;
        answer
    }

    fn one_inside(&mut self) -> Result<bool, String> {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix('!').filter(|rest| !rest.starts_with('=')) {
            self.rest = rest;
            return self.parse_comparison().map(|truth| !truth);
        }
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let inner = self.either()?;
            self.rest = self.rest.trim_start();
            self.rest = self.rest.strip_prefix(')').ok_or("a parenthesis is not closed")?;
            return Ok(inner);
        }
        if let Some((name, arguments)) = self.parse_call()? {
            if self.skip {
                return Ok(false);
            }
            self.scope.note_unset(arguments);
            let argument = unescape(&self.scope.expand(arguments.trim().trim_matches('\'')));
            return match name.to_ascii_lowercase().as_str() {
                "exists" => Ok(argument.split(';').any(|path| self.scope.exists(path))),
                "hastrailingslash" => Ok(argument.trim().ends_with(['/', '\\'])),
                _ => Err(format!("there is no function {name}")),
            };
        }
        let left = self.operand()?;
        self.rest = self.rest.trim_start();
        let operator = ["==", "!=", "<=", ">=", "<", ">"]
            .into_iter()
            .find(|operator| self.rest.starts_with(operator));
        let Some(operator) = operator else {
            if self.skip {
                return Ok(false);
            }
            return truth(&left).ok_or_else(|| format!("'{}' is neither true nor false", left.chars().take(40).collect::<String>()));
        };
        self.rest = &self.rest[operator.len()..];
        let right = self.operand()?;
        if self.skip { Ok(false) } else { compare(&left, operator, &right) }
    }

    /// Consumes an operator word.
    fn take_keyword(&mut self, word: &str) -> bool {
        let rest = self.rest.trim_start();
        let found = rest
            .get(..word.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(word) && !rest[word.len()..].starts_with(|c: char| c.is_ascii_alphanumeric()));
        if found {
            self.rest = &rest[word.len()..];
        }
        found
    }

    /// Parses a call `Name(…)`.
    fn parse_call(&mut self) -> Result<Option<(&'t str, &'t str)>, String> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let Some(inner) = rest.trim_start().strip_prefix('(').filter(|_| !name.is_empty()) else {
            return Ok(None);
        };
        let close = closing(inner).ok_or("a parenthesis is not closed")?;
        self.rest = &inner[close + 1..];
        Ok(Some((name, &inner[..close])))
    }

    /// Parses and expands a quoted text, a property or a bare word.
    fn operand(&mut self) -> Result<String, String> {
        self.rest = self.rest.trim_start();
        let text = self.rest;
        let written = if let Some(inner) = text.strip_prefix('\'') {
            let end = quoted_end(inner).ok_or("a quote is not closed")?;
            self.rest = &inner[end + 1..];
            &inner[..end]
        } else if text.starts_with("$(") || text.starts_with("@(") || text.starts_with("%(") {
            let end = closing(&text[2..]).ok_or("a parenthesis is not closed")? + 3;
            self.rest = &text[end..];
            &text[..end]
        } else {
            let end = text
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+')))
                .unwrap_or(text.len());
            if end == 0 {
                return Err("an operand is missing".to_owned());
            }
            self.rest = &text[end..];
            &text[..end]
        };
        if self.skip {
            return Ok(String::new());
        }
        if written.contains("@(") || written.contains("%(") {
            return Err(format!("'{}' refers to items", written.chars().take(40).collect::<String>()));
        }
        self.scope.note_unset(written);
        Ok(unescape(&self.scope.expand(written)))
    }
}

/// Returns the end of a quoted text: the next quote outside `$(…)`.
fn quoted_end(text: &str) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with('\'') {
            return Some(at);
        }
        if let Some(inner) = rest.strip_prefix("$(") {
            at += 2 + closing(inner)? + 1;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

fn compare(left: &str, operator: &str, right: &str) -> Result<bool, String> {
    let equal = || match (parse_decimal(left), parse_decimal(right)) {
        (Some(a), Some(b)) => a.total_cmp(&b) == Ordering::Equal,
        _ => match (truth(left), truth(right)) {
            (Some(a), Some(b)) => a == b,
            _ => left.to_lowercase() == right.to_lowercase(),
        },
    };
    let order = || match (parse_decimal(left), parse_decimal(right)) {
        (Some(a), Some(b)) => Ok(a.total_cmp(&b)),
        _ => match (version(left), version(right)) {
            (Some(a), Some(b)) => Ok(a.cmp(&b)),
            _ => Err(format!("'{operator}' needs numbers")),
        },
    };
    Ok(match operator {
        "==" => equal(),
        "!=" => !equal(),
        "<" => order()?.is_lt(),
        ">" => order()?.is_gt(),
        "<=" => order()?.is_le(),
        _ => order()?.is_ge(),
    })
}
