//! Rearranges the arguments of a call for changed parameters.

use super::wanted::WantedParameter;
use crate::code_text::lists::{List, ListItem, code, rewrite_list};
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::members::ParameterRow;
use std::collections::{BTreeMap, BTreeSet};

/// The change of a member's parameters, for the rearrangement of calls.
pub(super) struct Reordering<'w> {
    /// Old parameters, as the requested member declares them.
    pub(super) own: &'w [ParameterRow],
    /// New parameters.
    pub(super) wanted: &'w [WantedParameter],
    /// For each old parameter, its names in all declarations of the member.
    pub(super) names: &'w [BTreeSet<String>],
    /// Whether the call is an attribute, which may also set properties.
    pub(super) is_attribute: bool,
}

/// The new arguments of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// New text between the brackets; `None` if unchanged.
    pub(super) text: Option<String>,
    /// Arguments that are no longer passed.
    pub(super) dropped: Vec<String>,
}

/// The arguments of a call by the numbers of their parameters.
struct Supplied {
    by_number: BTreeMap<usize, Argument>,
    /// Arguments for `params`, one by one.
    more: Vec<(usize, String)>,
    /// Properties that an attribute sets: `P = 3`.
    set: Vec<(usize, String)>,
    all: Vec<String>,
}

/// An argument: its number in the call, its value, and its name if written.
struct Argument {
    at: usize,
    value: String,
    label: Option<String>,
}

/// A new argument: its number in the old call, its value, and the name that it can be passed with.
struct Passing {
    from: Option<usize>,
    value: String,
    name: Result<String, String>,
    is_named: bool,
}

impl Reordering<'_> {
    /// Rearranges the arguments of a call; `is_on_value`: whether an extension method is called on its first argument.
    ///
    /// # Errors
    /// The reason why they cannot be rearranged.
    pub(super) fn passed(&self, text: &str, list: &List, is_on_value: bool) -> Result<Passed, String> {
        let supplied = self.supplied(text, list, is_on_value)?;
        let mut dropped = Vec::new();
        let is_kept = |number: usize| {
            self.wanted
                .iter()
                .any(|one| matches!(one, WantedParameter::Kept { from, .. } if *from == number))
        };
        for (number, Argument { value, .. }) in &supplied.by_number {
            if !is_kept(*number) {
                if value.starts_with("out ") {
                    return Err(format!("`{value}` is passed for a removed parameter, and assigns a variable"));
                }
                dropped.push(value.clone());
            }
        }
        let entries = self.entries(&supplied, is_on_value)?;
        if entries.iter().map(|(_, entry)| entry).eq(&supplied.all) {
            return Ok(Passed::default());
        }
        Ok(Passed {
            text: Some(rewrite_list(text, list, &entries)),
            dropped,
        })
    }

    fn supplied(&self, text: &str, list: &List, is_on_value: bool) -> Result<Supplied, String> {
        let first = usize::from(is_on_value);
        let variadic = self.own.iter().position(|one| one.params);
        let mut supplied = Supplied {
            by_number: BTreeMap::new(),
            more: Vec::new(),
            set: Vec::new(),
            all: Vec::new(),
        };
        for (at, piece) in list.pieces.iter().enumerate() {
            let argument = &text[code(text, piece)];
            supplied.all.push(argument.to_owned());
            if self.is_attribute && sets_property(argument) {
                supplied.set.push((at, argument.to_owned()));
                continue;
            }
            let given = |value: &str, label: Option<&str>| Argument {
                at,
                value: value.to_owned(),
                label: label.map(str::to_owned),
            };
            let number = match label_of(argument) {
                Some((name, value)) => {
                    supplied.by_number.insert(self.number_of(name)?, given(value, Some(name)));
                    continue;
                }
                None => at + first,
            };
            match variadic {
                Some(variadic) if number >= variadic => supplied.more.push((at, argument.to_owned())),
                _ if number < self.own.len() => drop(supplied.by_number.insert(number, given(argument, None))),
                _ => return Err("it passes more arguments than there are parameters".to_owned()),
            }
        }
        if let (Some(variadic), true) = (variadic, !supplied.more.is_empty()) {
            let stays = matches!(self.wanted.last(), Some(WantedParameter::Kept { from, .. }) if *from == variadic);
            if !stays {
                return Err(format!("it passes arguments for the removed {} (params)", self.own[variadic].name));
            }
        }
        Ok(supplied)
    }

    /// Returns the number of the parameter with a name, if all declarations agree.
    fn number_of(&self, name: &str) -> Result<usize, String> {
        let found: Vec<usize> = (0..self.names.len()).filter(|at| self.names[*at].contains(name)).collect();
        match found.as_slice() {
            [one] => Ok(*one),
            _ => Err(format!("the declarations do not agree which parameter `{name}:` is")),
        }
    }

    fn entries(&self, supplied: &Supplied, is_on_value: bool) -> Result<Vec<ListItem>, String> {
        let mut passing: Vec<Passing> = Vec::new();
        let mut in_order = true;
        for one in self.wanted.iter().skip(usize::from(is_on_value)) {
            let (from, value, name, is_labelled) = match one {
                WantedParameter::Added(added) => (None, added.argument.as_deref(), Ok(added.name.clone()), false),
                WantedParameter::Kept { from, .. } if self.own[*from].params && !supplied.more.is_empty() => {
                    if !in_order {
                        return Err(format!("it passes arguments one by one for {} (params)", self.own[*from].name));
                    }
                    let name = || Err(format!("it passes arguments one by one for {} (params)", self.own[*from].name));
                    passing.extend(supplied.more.iter().map(|(at, value)| Passing {
                        from: Some(*at),
                        value: value.clone(),
                        name: name(),
                        is_named: false,
                    }));
                    continue;
                }
                WantedParameter::Kept { from, renamed } => {
                    let given = supplied.by_number.get(from);
                    let label = given.and_then(|given| given.label.as_deref());
                    let name = match label {
                        // Every declaration with this name gets the new one.
                        Some(label) if *label == self.own[*from].name => Ok(renamed.clone().unwrap_or_else(|| label.to_owned())),
                        Some(label) => Ok(label.to_owned()),
                        None => self.name_afterwards(*from, renamed.as_deref()),
                    };
                    (
                        given.map(|given| given.at),
                        given.map(|given| given.value.as_str()),
                        name,
                        label.is_some(),
                    )
                }
            };
            let Some(value) = value else {
                in_order = false;
                continue;
            };
            in_order &= !is_labelled;
            passing.push(Passing {
                from,
                value: value.to_owned(),
                name,
                is_named: !in_order,
            });
        }
        // C# evaluates arguments in textual order. If that order matters, keep the arguments in place and add names.
        if changes_evaluation(&passing) {
            passing.sort_by_key(|one| one.from.unwrap_or(usize::MAX));
            passing.iter_mut().for_each(|one| one.is_named = true);
        }
        let mut entries = Vec::new();
        for Passing {
            from,
            value,
            name,
            is_named,
        } in passing
        {
            entries.push((from, if is_named { format!("{}: {value}", name?) } else { value }));
        }
        entries.extend(supplied.set.iter().map(|(at, text)| (Some(*at), text.clone())));
        Ok(entries)
    }

    /// Returns the name that calls can use for a parameter after the change.
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

/// Whether the new order of arguments changes their evaluation in an observable way.
fn changes_evaluation(passing: &[Passing]) -> bool {
    let order: Vec<(usize, Effect)> = passing.iter().filter_map(|one| Some((one.from?, effect_of(&one.value)))).collect();
    let matters = |one: Effect, other: Effect| one.max(other) == Effect::Acts && one.min(other) != Effect::Nothing;
    (1..order.len()).any(|at| {
        order[..at]
            .iter()
            .any(|before| before.0 > order[at].0 && matters(before.1, order[at].1))
    })
}

/// The possible effect of evaluating an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// No effect: the value is the same at any time.
    Nothing,
    /// The value depends on earlier side effects.
    Reads,
    /// The evaluation may have side effects.
    Acts,
}

fn effect_of(value: &str) -> Effect {
    let tokens: Vec<_> = lex(value).tokens.into_iter().filter(|token| token.kind != Kind::Unknown).collect();
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(value));
    let is_lambda = word(0) == "static" || word(0) == "delegate" || tokens.iter().any(|token| token.text(value) == "=>");
    let is_constant = matches!(word(0), "nameof" | "typeof" | "default" | "sizeof");
    if is_lambda || is_constant && !tokens.iter().any(|token| token.text(value) == "+") {
        return Effect::Nothing;
    }
    let acts = (0..tokens.len()).any(|at| {
        let is_called = word(at) == "(" && at > 0 && (tokens[at - 1].kind == Kind::Word || matches!(word(at - 1), ">" | ")" | "]"));
        let is_string = tokens[at].kind == Kind::Text && word(at).contains('{') && word(at).trim_start_matches('@').starts_with('$');
        is_called
            || is_string
            || matches!(word(at), "++" | "--" | "new" | "await" | "out" | "ref" | "switch")
            || word(at).ends_with('=') && !matches!(word(at), "==" | "!=" | "<=" | ">=")
    });
    let is_word = |at: usize| tokens[at].kind == Kind::Word && !matches!(word(at), "true" | "false" | "null");
    match (acts, (0..tokens.len()).any(is_word)) {
        (true, _) => Effect::Acts,
        (false, true) => Effect::Reads,
        (false, false) => Effect::Nothing,
    }
}

/// Whether an argument of an attribute sets a property: `P = 3`.
fn sets_property(argument: &str) -> bool {
    let tokens = lex(argument).tokens;
    matches!(tokens.as_slice(), [name, equals, ..] if name.kind == Kind::Word && equals.text(argument) == "=")
}

/// Splits a named argument into name and value.
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
    use super::super::wanted::parse_wanted;
    use super::*;
    use crate::code_text::lists::{ListKind, list_at};

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
        let wanted = parse_wanted(wanted, &own)?;
        let names: Vec<BTreeSet<String>> = own.iter().map(|one| BTreeSet::from([one.name.clone()])).collect();
        let reordering = Reordering {
            own: &own,
            wanted: &wanted,
            names: &names,
            is_attribute: call.contains(" = "),
        };
        let list = list_at(call, 0, ListKind::Arguments).expect("a list");
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
            ("b, a", "(1, // one\n x)", "(x,\n 1 // one\n)"),
            ("b, a", "(F(), G())", "(a: F(), b: G())"),
            ("b, a", "(i++, i)", "(a: i++, b: i)"),
            ("b, a", "(i, x.P)", "(x.P, i)"),
            ("b, a", "(F(), \"x\")", "(\"x\", F())"),
            ("b, a", "(F(), () => G())", "(() => G(), F())"),
            ("b, bool c := true, a", "(out var x, x + 1)", "(a: out var x, b: x + 1, c: true)"),
            ("a, bool c := true, b", "(F(), G())", "(F(), true, G())"),
            ("b, a", "(1, x, P = 3)", "(x, 1, P = 3)"),
            ("bool c := 1 > 0, a, b", "(\n    1,\n    x\n)", "(\n    1 > 0,\n    1,\n    x\n)"),
        ] {
            assert_eq!(passed(wanted, call).as_deref(), Ok(made), "{wanted} {call}");
        }
    }

    #[test]
    fn calls_that_cannot_follow_a_signature_are_refused() {
        for (wanted, call, why) in [
            ("a, b", "(1, x, 3)", "the removed more (params)"),
            ("a, bool c = true, b, more", "(1, x, 3)", "one by one"),
            ("b, more", "(out var a)", "assigns a variable"),
            ("b, a, more", "(F(), G(), 3)", "one by one"),
            ("a, b", "(z: 1)", "do not agree"),
        ] {
            let refused = passed(wanted, call).expect_err(call);
            assert!(refused.contains(why), "{call}: {refused}");
        }
    }
}
