//! Parses the new parameters of a member: `count, old -> new, bool exact = false, int depth := 0`.

use super::arguments::label_of;
use super::checks::parses;
use crate::code_text::lists::{List, ListKind, has_line_comment, list_at, trim_item};
use producers::csharp::lexer::{Kind, lex};
use producers::csharp::members::ParameterRow;
use producers::csharp::model::Tier;
use producers::csharp::parse;
use std::collections::BTreeSet;

/// A parameter of the new signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WantedParameter {
    /// An existing parameter.
    Kept {
        /// Old number of the parameter, from 0.
        from: usize,
        /// New name of the parameter, if it changes.
        renamed: Option<String>,
    },
    /// An additional parameter.
    Added(Added),
}

/// An additional parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Added {
    /// Declaration of the parameter, with its default value.
    pub(super) text: String,
    /// Name of the parameter.
    pub(super) name: String,
    /// Type of the parameter, as in keys of members.
    pub(super) kind: String,
    /// The argument that callers pass; `None` if they use the default value.
    pub(super) argument: Option<String>,
    /// Whether the parameter has a default value.
    pub(super) is_optional: bool,
}

/// Parses a list of new parameters for a member with the parameters `own`.
///
/// # Errors
/// The invalid part of the list, with the reason.
pub(super) fn parse_wanted(list: &str, own: &[ParameterRow]) -> Result<Vec<WantedParameter>, String> {
    let is_whole = |text: &str| list_at(text, 0, ListKind::Parameters).is_some_and(|whole| whole.inside.end + 1 == text.len());
    let request = list.trim();
    let inside = 0..request.len();
    if has_line_comment(
        request,
        &List {
            inside,
            pieces: Vec::new(),
        },
    ) {
        return Err(format!("'{request}' has a comment in it: give the parameters without it"));
    }
    let bracketed = match request.starts_with('(') && is_whole(request) {
        true => request.to_owned(),
        false => format!("({request})"),
    };
    let Some(list) = list_at(&bracketed, 0, ListKind::Parameters).filter(|_| is_whole(&bracketed)) else {
        return Err(format!("'{request}' is not a list of parameters: its brackets do not match"));
    };
    let mut wanted = Vec::new();
    for piece in &list.pieces {
        wanted.push(read_one(&bracketed[trim_item(&bracketed, piece)], own)?);
    }
    check_order(&wanted, own)?;
    Ok(wanted)
}

fn read_one(piece: &str, own: &[ParameterRow]) -> Result<WantedParameter, String> {
    let number = |name: &str| own.iter().position(|one| one.name == name.trim_start_matches('@'));
    if let Some((old, new)) = piece.split_once("->")
        && let Some(from) = number(old.trim())
    {
        let new = new.trim();
        if !is_name(new) {
            return Err(format!("C# does not allow the name '{new}' for a parameter"));
        }
        return Ok(WantedParameter::Kept {
            from,
            renamed: (own[from].name != new).then(|| new.to_owned()),
        });
    }
    if let Some(from) = number(piece) {
        return Ok(WantedParameter::Kept { from, renamed: None });
    }
    let (declared, argument) = match piece.split_once(":=") {
        Some((declared, argument)) => (declared.trim(), Some(argument.trim().to_owned())),
        None => (piece, None),
    };
    let source = format!("class C__ {{ void M__({declared}) {{ }} }}");
    let (read, _) = parse::read(&source, &BTreeSet::new(), "");
    let member = read.types.first().and_then(|decl| decl.members.first());
    let is_declared = lex(declared).tokens.len() > 1;
    let (Tier::Whole, true, Some([kind])) = (read.tier, is_declared, member.map(|member| member.parameters.as_slice())) else {
        return Err(format!(
            "'{piece}' is neither an existing parameter ({}) nor the declaration of one",
            own.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
        ));
    };
    let name = parameter_name(declared).unwrap_or_default().to_owned();
    if let Some(from) = number(&name) {
        let plain = |kind: &str| kind.replace(' ', "");
        return match plain(kind) == plain(&own[from].kind) && argument.is_none() {
            true => Ok(WantedParameter::Kept { from, renamed: None }),
            false => Err(format!(
                "{name} stays {}: its type is not changed here; write its name alone",
                own[from].kind
            )),
        };
    }
    check_added(piece, declared, kind, argument.as_deref())?;
    let is_optional = default_begins(declared).is_some();
    if argument.is_none() && !is_optional {
        return Err(format!(
            "callers have nothing to pass for {name}: give it a default value (`{declared} = …`) or an argument (`{declared} := …`)"
        ));
    }
    if declared
        .split_whitespace()
        .any(|word| matches!(word, "this" | "params" | "out" | "ref"))
    {
        return Err(format!(
            "a new parameter that is this, params, ref or out is not added here: {declared}"
        ));
    }
    Ok(WantedParameter::Added(Added {
        text: declared.to_owned(),
        name,
        kind: kind.clone(),
        argument,
        is_optional,
    }))
}

/// C# keywords that are not types.
const RESERVED: &str = "abstract as base break case catch checked class const continue default delegate do else enum event explicit extern false \
    finally fixed for foreach goto if implicit interface internal is lock namespace new null operator override private protected \
    public return sealed sizeof stackalloc static struct switch throw true try typeof unchecked unsafe using virtual volatile while";

/// Checks that C# parses an additional parameter as intended.
fn check_added(piece: &str, declared: &str, kind: &str, argument: Option<&str>) -> Result<(), String> {
    let head = declared[..default_begins(declared).unwrap_or(declared.len())].trim_end();
    let written = lex(head).tokens.last().map_or("", |token| token.text(head));
    if !is_name(written) {
        return Err(format!("C# does not allow the name '{written}' for a parameter: {piece}"));
    }
    let is_reserved = |word: &str| RESERVED.split_whitespace().any(|one| one == word);
    let has_reserved = lex(kind).tokens.iter().any(|token| is_reserved(token.text(kind)));
    if has_reserved || matches!(kind.trim_end_matches('?'), "void" | "var") {
        return Err(format!("'{kind}' is not a type that a parameter can have: {piece}"));
    }
    match argument {
        Some(argument) if !is_expression(argument) => Err(format!(
            "'{argument}' is not one expression that callers can pass, write it behind `:=`: {piece}"
        )),
        _ => Ok(()),
    }
}

/// Whether a text is exactly one expression.
fn is_expression(text: &str) -> bool {
    let call = format!("({text})");
    let is_one = list_at(&call, 0, ListKind::Arguments).is_some_and(|list| list.inside.end == text.len() + 1 && list.pieces.len() == 1);
    let is_some = !lex(text).tokens.is_empty() && label_of(text).is_none();
    is_one && is_some && !ends_statement(text) && parses(&format!("class C__ {{ object M__() {{ return ({text}); }} }}"), &BTreeSet::new())
}

/// Whether a text contains a `;` outside of braces.
fn ends_statement(text: &str) -> bool {
    let mut depth = 0_usize;
    lex(text).tokens.iter().any(|token| {
        match token.text(text) {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            word => return word == ";" && depth == 0,
        }
        false
    })
}

/// Checks that C# allows the order of parameters.
fn check_order(wanted: &[WantedParameter], own: &[ParameterRow]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut optional: Option<String> = None;
    for (at, one) in wanted.iter().enumerate() {
        let (name, is_optional, is_params, is_receiver) = match one {
            WantedParameter::Kept { from, renamed } => {
                let row = &own[*from];
                let name = renamed.clone().unwrap_or_else(|| row.name.clone());
                (name, row.optional, row.params, row.this)
            }
            WantedParameter::Added(added) => (added.name.clone(), added.is_optional, false, false),
        };
        if !seen.insert(name.clone()) {
            return Err(format!("two parameters would be called {name}"));
        }
        if is_receiver && at > 0 {
            return Err(format!(
                "{name} is the receiver of the extension method, and must stay the first parameter"
            ));
        }
        if is_params && at + 1 < wanted.len() {
            return Err(format!("{name} takes any number of arguments (params), and stays the last"));
        }
        if let (Some(before), false, false) = (&optional, is_optional, is_params) {
            return Err(format!("{name} has no default value and would follow {before}, which has one"));
        }
        if is_optional {
            optional = Some(name);
        }
    }
    let is_kept = |at: usize| {
        wanted
            .iter()
            .any(|one| matches!(one, WantedParameter::Kept { from, .. } if *from == at))
    };
    match own.first() {
        Some(receiver) if receiver.this && !is_kept(0) => Err(format!(
            "{} is the receiver of the extension method, and cannot be removed",
            receiver.name
        )),
        _ => Ok(()),
    }
}

fn is_name(text: &str) -> bool {
    let source = format!("class C__ {{ int {text}; }}");
    let (read, _) = parse::read(&source, &BTreeSet::new(), "");
    let members = read.types.iter().flat_map(|decl| &decl.members);
    read.tier == Tier::Whole && lex(text).tokens.len() == 1 && members.map(|member| member.name.as_str()).eq([text.trim_start_matches('@')])
}

/// Returns the offset of the `=` before a parameter's default value.
pub(super) fn default_begins(declared: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for token in lex(declared).tokens {
        match token.text(declared) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "=" if depth == 0 => return Some(token.start as usize),
            _ => {}
        }
    }
    None
}

/// Returns the name in a parameter's declaration.
pub(super) fn parameter_name(declared: &str) -> Option<&str> {
    let head = &declared[..default_begins(declared).unwrap_or(declared.len())];
    let tokens = lex(head).tokens;
    let name = tokens.last().filter(|token| token.kind == Kind::Word)?;
    Some(name.text(head).trim_start_matches('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Vec<ParameterRow> {
        let row = |kind: &str, name: &str| ParameterRow {
            kind: kind.to_owned(),
            name: name.to_owned(),
            optional: name == "last",
            params: false,
            this: false,
        };
        vec![row("int", "count"), row("List<int>", "all"), row("bool", "last")]
    }

    #[test]
    fn parameters_are_kept_renamed_and_added() {
        let kept = |from, renamed: Option<&str>| WantedParameter::Kept {
            from,
            renamed: renamed.map(str::to_owned),
        };
        assert_eq!(parse_wanted("all, count", &own()), Ok(vec![kept(1, None), kept(0, None)]));
        assert_eq!(parse_wanted("", &own()), Ok(Vec::new()));
        assert_eq!(
            parse_wanted("(count -> size, List<int> all)", &own()),
            Ok(vec![kept(0, Some("size")), kept(1, None)])
        );
        for good in [
            "(int a, int b) pair := (1, 2)",
            "int? x := null",
            "int*[] x := null",
            "string s := \"a)\"",
            "int value := F(x => x, [1])",
            "int @class = 1",
            "in int x := 1",
        ] {
            assert!(parse_wanted(good, &own()).is_ok(), "{good}: {:?}", parse_wanted(good, &own()));
        }
        let Ok(found) = parse_wanted("count, Dictionary<int, string> map := new()", &own()) else {
            panic!("refused")
        };
        let WantedParameter::Added(added) = &found[1] else {
            panic!("{found:?}")
        };
        assert_eq!((added.name.as_str(), added.argument.as_deref()), ("map", Some("new()")));
        assert_eq!(added.kind, "Dictionary<int, string>");
    }

    #[test]
    fn invalid_parameter_lists_are_refused() {
        for (list, why) in [
            ("nope", "neither an existing parameter"),
            ("count -> class", "does not allow"),
            ("string count", "its type is not changed"),
            ("int depth", "nothing to pass"),
            ("last, count", "follow last"),
            ("count, count", "two parameters"),
            ("count -> all, all", "two parameters"),
            ("count,,", "neither"),
            ("int class := 1", "the name 'class'"),
            ("int int := 1", "the name 'int'"),
            ("int x := ", "'' is not one expression"),
            ("int x := /* none */", "is not one expression"),
            ("int x := a: 1", "is not one expression"),
            ("int x := 1 2", "is not one expression"),
            ("int x := 1; return 2", "is not one expression"),
            ("count, int y := 1; }", "brackets do not match"),
            ("int x := 5)", "brackets do not match"),
            ("(int x := 5))", "brackets do not match"),
            ("int x := 5 // five", "a comment"),
            ("int x = ", "neither"),
            ("int x = 1 2", "neither"),
            ("int x = 1; int y", "neither"),
            ("class x := 1", "'class' is not a type"),
            ("List<return> x := 1", "is not a type"),
            ("void v := 1", "'void' is not a type"),
            ("var v := 1", "'var' is not a type"),
        ] {
            let refused = parse_wanted(list, &own()).expect_err(list);
            assert!(refused.contains(why), "{list}: {refused}");
        }
        let reserved = "abstract as base bool break byte case catch char checked class const continue decimal default delegate do double else enum \
            event explicit extern false finally fixed float for foreach goto if implicit in int interface internal is lock long namespace new null \
            object operator out override params private protected public readonly ref return sbyte sealed short sizeof stackalloc static string \
            struct switch this throw true try typeof uint ulong unchecked unsafe ushort using virtual void volatile while";
        for word in reserved.split_whitespace() {
            assert!(parse_wanted(&format!("int {word} := 1"), &own()).is_err(), "{word}");
            assert!(parse_wanted(&format!("count -> {word}"), &own()).is_err(), "{word}");
        }
    }
}
