//! The arguments of a call, put in the order of other parameters.

use super::wanted::Wanted;
use crate::rename::lists::{List, has_line_comment, rewritten, trimmed};
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::members::ParameterRow;
use std::collections::{BTreeMap, BTreeSet};

/// How the parameters of a member change, for those who call it.
pub(super) struct Reordering<'w> {
    /// The parameters before, as the member that was named declares them.
    pub(super) own: &'w [ParameterRow],
    /// The parameters afterwards.
    pub(super) wanted: &'w [Wanted],
    /// The names that the declarations of the member give each parameter before.
    pub(super) names: &'w [BTreeSet<String>],
}

/// The arguments of one call afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// What stands between the brackets; nothing where it stays as it is.
    pub(super) text: Option<String>,
    /// Arguments that are passed no more.
    pub(super) dropped: Vec<String>,
}

/// What a call passes for the parameters, by their numbers.
struct Supplied {
    by_number: BTreeMap<usize, (String, Option<String>)>,
    /// What is passed for `params`, one by one.
    more: Vec<String>,
    all: Vec<String>,
}

impl Reordering<'_> {
    /// The arguments of a call, of an extension method perhaps without the value that it is called on.
    ///
    /// # Errors
    /// Why they cannot be put in order.
    pub(super) fn passed(&self, text: &str, list: &List, is_on_value: bool) -> Result<Passed, String> {
        let supplied = self.supplied(text, list, is_on_value)?;
        let mut dropped = Vec::new();
        let is_kept = |number: usize| {
            self.wanted
                .iter()
                .any(|one| matches!(one, Wanted::Kept { from, .. } if *from == number))
        };
        for (number, (argument, _)) in &supplied.by_number {
            if !is_kept(*number) {
                if argument.starts_with("out ") {
                    return Err(format!(
                        "`{argument}` is passed for a parameter that goes, and gives a variable its value"
                    ));
                }
                dropped.push(argument.clone());
            }
        }
        let entries = self.entries(&supplied, is_on_value)?;
        if entries == supplied.all {
            return Ok(Passed::default());
        }
        if has_line_comment(text, list) {
            return Err("there are comments among its arguments".to_owned());
        }
        Ok(Passed {
            text: Some(rewritten(text, list, &entries)),
            dropped,
        })
    }

    fn supplied(&self, text: &str, list: &List, is_on_value: bool) -> Result<Supplied, String> {
        let first = usize::from(is_on_value);
        let variadic = self.own.iter().position(|one| one.params);
        let mut supplied = Supplied {
            by_number: BTreeMap::new(),
            more: Vec::new(),
            all: Vec::new(),
        };
        for (at, piece) in list.pieces.iter().enumerate() {
            let argument = &text[trimmed(text, piece)];
            supplied.all.push(argument.to_owned());
            let number = match label_of(argument) {
                Some((name, value)) => {
                    let number = self.number_of(name)?;
                    supplied.by_number.insert(number, (value.to_owned(), Some(name.to_owned())));
                    continue;
                }
                None => at + first,
            };
            match variadic {
                Some(variadic) if number >= variadic => supplied.more.push(argument.to_owned()),
                _ if number < self.own.len() => drop(supplied.by_number.insert(number, (argument.to_owned(), None))),
                _ => return Err("it passes more arguments than there are parameters".to_owned()),
            }
        }
        if let (Some(variadic), true) = (variadic, !supplied.more.is_empty()) {
            let stays = matches!(self.wanted.last(), Some(Wanted::Kept { from, .. }) if *from == variadic);
            if !stays {
                return Err(format!("it passes arguments for {}, which goes (params)", self.own[variadic].name));
            }
        }
        Ok(supplied)
    }

    /// The parameter of a name, which must be the same in all declarations.
    fn number_of(&self, name: &str) -> Result<usize, String> {
        let found: Vec<usize> = (0..self.names.len()).filter(|at| self.names[*at].contains(name)).collect();
        match found.as_slice() {
            [one] => Ok(*one),
            _ => Err(format!("the declarations do not agree which parameter `{name}:` is")),
        }
    }

    fn entries(&self, supplied: &Supplied, is_on_value: bool) -> Result<Vec<String>, String> {
        let mut entries = Vec::new();
        let mut in_order = true;
        for one in self.wanted.iter().skip(usize::from(is_on_value)) {
            let (argument, name, is_labelled) = match one {
                Wanted::Added(added) => (added.argument.as_deref(), Ok(added.name.clone()), false),
                Wanted::Kept { from, .. } if self.own[*from].params && !supplied.more.is_empty() => {
                    if !in_order {
                        return Err(format!("it passes arguments one by one for {} (params)", self.own[*from].name));
                    }
                    entries.extend(supplied.more.iter().cloned());
                    continue;
                }
                Wanted::Kept { from, renamed } => {
                    let given = supplied.by_number.get(from);
                    let label = given.and_then(|(_, label)| label.as_deref());
                    let name = match label {
                        // Every declaration that calls it so gets the new name.
                        Some(label) if *label == self.own[*from].name => Ok(renamed.clone().unwrap_or_else(|| label.to_owned())),
                        Some(label) => Ok(label.to_owned()),
                        None => self.name_afterwards(*from, renamed.as_deref()),
                    };
                    (given.map(|(text, _)| text.as_str()), name, label.is_some())
                }
            };
            match argument {
                None => in_order = false,
                Some(argument) if in_order && !is_labelled => entries.push(argument.to_owned()),
                Some(argument) => {
                    in_order = false;
                    entries.push(format!("{}: {argument}", name?));
                }
            }
        }
        Ok(entries)
    }

    /// The name that calls can use for a parameter afterwards.
    fn name_afterwards(&self, from: usize, renamed: Option<&str>) -> Result<String, String> {
        let own = &self.own[from].name;
        let names: BTreeSet<&str> = self.names[from]
            .iter()
            .map(|name| if name == own { renamed.unwrap_or(name) } else { name.as_str() })
            .collect();
        match names.first() {
            Some(name) if names.len() == 1 => Ok((*name).to_owned()),
            _ => Err(format!(
                "an argument for {own} needs its name, and the declarations do not agree about it"
            )),
        }
    }
}

/// The name of an argument that is written with one, and its value.
pub(super) fn label_of(argument: &str) -> Option<(&str, &str)> {
    let tokens = lex(argument).tokens;
    let [name, colon, ..] = tokens.as_slice() else { return None };
    let is_label = name.kind == Kind::Word && colon.text(argument) == ":";
    is_label.then(|| {
        (
            name.text(argument).trim_start_matches('@'),
            argument[colon.end as usize..].trim_start(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::wanted::read;
    use super::*;
    use crate::rename::lists::{Of, list_at};

    /// The arguments of a call of `M(int a, string b = "", params int[] more)` with other parameters.
    fn passed(wanted: &str, call: &str) -> Result<String, String> {
        let row = |kind: &str, name: &str| ParameterRow {
            kind: kind.to_owned(),
            name: name.to_owned(),
            optional: name == "b" && !wanted.starts_with("b,"),
            params: name == "more",
            this: false,
        };
        let own = [row("int", "a"), row("string", "b"), row("int[]", "more")];
        let wanted = read(wanted, &own)?;
        let names: Vec<BTreeSet<String>> = own.iter().map(|one| BTreeSet::from([one.name.clone()])).collect();
        let reordering = Reordering {
            own: &own,
            wanted: &wanted,
            names: &names,
        };
        let list = list_at(call, 0, Of::Arguments).expect("a list");
        let made = reordering.passed(call, &list, false)?;
        Ok(format!("({})", made.text.unwrap_or_else(|| call[list.inside.clone()].to_owned())))
    }

    #[test]
    fn arguments_follow_parameters() {
        for (wanted, call, made) in [
            ("b, a", "(1, x)", "(x, 1)"),
            ("a", "(1, F(2, 3))", "(1)"),
            ("a, bool c := true, b, more", "(1, x, 7, 8)", "(1, true, x, 7, 8)"),
            ("a, bool c = true, b", "(1, x)", "(1, b: x)"),
            ("a -> x, b", "(b: y, a: 1)", "(x: 1, b: y)"),
            ("a -> x, b", "(1, y)", "(1, y)"),
            ("a, bool c = true, b, more", "(1)", "(1)"),
            ("bool c := 1 > 0, a, b", "(\n    1,\n    x\n)", "(\n    1 > 0,\n    1,\n    x\n)"),
        ] {
            assert_eq!(passed(wanted, call).as_deref(), Ok(made), "{wanted} {call}");
        }
    }

    #[test]
    fn what_cannot_follow_is_told() {
        for (wanted, call, why) in [
            ("a, b", "(1, x, 3)", "which goes (params)"),
            ("a, bool c = true, b, more", "(1, x, 3)", "one by one"),
            ("b, more", "(out var a)", "gives a variable"),
            ("b, a", "(1, // one\n x)", "comments"),
            ("a, b", "(z: 1)", "do not agree"),
        ] {
            let refused = passed(wanted, call).expect_err(call);
            assert!(refused.contains(why), "{call}: {refused}");
        }
    }
}
