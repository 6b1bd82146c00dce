//! Maps C# operators and conversions to names of symbols: `T.operator +(T a, T b)` is `T#op_Addition(T,T)`.

/// Operators, each with the name of its member, of one operand and of two (C# specification, "Operators"; ECMA-335 I.10.3).
pub(crate) const OPERATORS: [(&str, Option<&str>, Option<&str>); 34] = [
    ("+", Some("UnaryPlus"), Some("Addition")),
    ("-", Some("UnaryNegation"), Some("Subtraction")),
    ("!", Some("LogicalNot"), None),
    ("~", Some("OnesComplement"), None),
    ("++", Some("Increment"), None),
    ("--", Some("Decrement"), None),
    ("true", Some("True"), None),
    ("false", Some("False"), None),
    ("*", None, Some("Multiply")),
    ("/", None, Some("Division")),
    ("%", None, Some("Modulus")),
    ("&", None, Some("BitwiseAnd")),
    ("|", None, Some("BitwiseOr")),
    ("^", None, Some("ExclusiveOr")),
    ("<<", None, Some("LeftShift")),
    (">>", None, Some("RightShift")),
    (">>>", None, Some("UnsignedRightShift")),
    ("==", None, Some("Equality")),
    ("!=", None, Some("Inequality")),
    ("<", None, Some("LessThan")),
    (">", None, Some("GreaterThan")),
    ("<=", None, Some("LessThanOrEqual")),
    (">=", None, Some("GreaterThanOrEqual")),
    ("+=", None, Some("AdditionAssignment")),
    ("-=", None, Some("SubtractionAssignment")),
    ("*=", None, Some("MultiplicationAssignment")),
    ("/=", None, Some("DivisionAssignment")),
    ("%=", None, Some("ModulusAssignment")),
    ("&=", None, Some("BitwiseAndAssignment")),
    ("|=", None, Some("BitwiseOrAssignment")),
    ("^=", None, Some("ExclusiveOrAssignment")),
    ("<<=", None, Some("LeftShiftAssignment")),
    (">>=", None, Some("RightShiftAssignment")),
    (">>>=", None, Some("UnsignedRightShiftAssignment")),
];

/// Returns the member name of an operator; without parameters, the binary form if it exists.
pub(crate) fn member_of(sign: &str, is_unary: bool) -> Option<&'static str> {
    let (_, one, two) = OPERATORS.iter().find(|(known, ..)| *known == sign)?;
    if is_unary { one.or(*two) } else { two.or(*one) }
}

/// Returns the symbol name for a declaration of an operator or conversion: `T.operator ==(T left, T right)`, `T#operator checked +`,
/// `T.implicit operator int(T value)`.
pub(super) fn symbol(text: &str) -> Option<String> {
    const WORD: &str = "operator";
    let at = text.match_indices(WORD).map(|(at, _)| at).find(|at| {
        let is_apart = |c: char| !c.is_alphanumeric() && c != '_';
        text[..*at].ends_with(['.', '#', ' ']) && text[at + WORD.len()..].starts_with(is_apart)
    })?;
    let (before, behind) = (text[..at].trim_end(), text[at + WORD.len()..].trim());
    let (name, parameters) = split_parameters(behind);
    let types = parameters.map(|list| list.iter().map(|one| type_of_parameter(one)).collect::<Vec<_>>());
    let conversion = ["implicit", "explicit"]
        .into_iter()
        .find_map(|kind| Some((kind, before.strip_suffix(kind)?)));
    let (owner, member) = match conversion {
        Some(("implicit", owner)) => (owner, "Implicit".to_owned()),
        Some((_, owner)) => (owner, format!("{}Explicit", split_checked(name).1)),
        None => {
            let (sign, checked) = split_checked(name);
            let is_unary = types.as_ref().is_some_and(|types| types.len() == 1);
            // `operator ++()` without a parameter changes its own value.
            let changes = matches!(sign, "++" | "--") && types.as_ref().is_some_and(Vec::is_empty);
            let ending = if changes { "Assignment" } else { "" };
            (before, format!("{checked}{}{ending}", member_of(sign, is_unary)?))
        }
    };
    let owner = owner.strip_suffix(['.', '#'])?;
    let listed = types.map_or_else(String::new, |types| format!("({})", types.join(",")));
    Some(format!("{owner}#op_{member}{listed}"))
}

/// Splits off `checked`; returns the rest and the prefix of the member's name.
fn split_checked(name: &str) -> (&str, &'static str) {
    match name.strip_prefix("checked ") {
        Some(rest) => (rest.trim_start(), "Checked"),
        None => (name, ""),
    }
}

/// Splits off the last parameter list. The target type of a conversion may be in parentheses, too.
fn split_parameters(text: &str) -> (&str, Option<Vec<&str>>) {
    let Some(inner) = text.strip_suffix(')') else { return (text, None) };
    let (mut depth, mut end, mut listed) = (0_usize, inner.len(), Vec::new());
    for (at, c) in inner.char_indices().rev() {
        match c {
            '(' if depth == 0 => {
                listed.push(inner[at + 1..end].trim());
                listed.reverse();
                listed.retain(|one| !one.is_empty());
                return (text[..at].trim_end(), Some(listed));
            }
            ')' | ']' | '>' => depth += 1,
            '(' | '[' | '<' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                listed.push(inner[at + 1..end].trim());
                end = at;
            }
            _ => {}
        }
    }
    (text, None)
}

/// Returns the type of a parameter that may have a name and a default value.
pub(crate) fn type_of_parameter(parameter: &str) -> &str {
    let parameter = parameter.split('=').next().unwrap_or(parameter).trim_end();
    let kind = parameter.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
    match kind.ends_with([' ', '>', ']', '?', '*', '&']) {
        true => kind.trim_end(),
        false => parameter,
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn operators_are_known_as_they_are_declared_and_printed() {
        for (text, expected) in [
            ("A.operator +", Some("A#op_Addition")),
            ("N.A#operator ==(A left, A right)", Some("N.A#op_Equality(A,A)")),
            ("A.operator -(A)", Some("A#op_UnaryNegation(A)")),
            ("A.operator -(A, A)", Some("A#op_Subtraction(A,A)")),
            ("A.operator checked +(A a, A b)", Some("A#op_CheckedAddition(A,A)")),
            ("A.operator true(A a)", Some("A#op_True(A)")),
            ("A.operator >(A<int, B> a, A b)", Some("A#op_GreaterThan(A<int, B>,A)")),
            ("A.implicit operator int(A a)", Some("A#op_Implicit(A)")),
            ("A.explicit operator checked int(A)", Some("A#op_CheckedExplicit(A)")),
            ("A.explicit operator (int, int)(A a)", Some("A#op_Explicit(A)")),
            ("A.explicit operator int", Some("A#op_Explicit")),
            ("A.operator ?", None),
            ("A.operators", None),
            ("operator +", None),
        ] {
            assert_eq!(symbol(text).as_deref(), expected, "{text}");
        }
        let text = "namespace N; public struct A { public static A operator +(A a, A b) => a; public static A operator -(A a) => a; public static implicit operator int(A a) => 1; }";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        let symbols = sample.names();
        for (text, expected) in [
            ("A.operator +(A a, A b)", "N.A#op_Addition(A,A)"),
            ("A.operator +", "N.A#op_Addition(A,A)"),
            ("N.A#operator -(A)", "N.A#op_UnaryNegation(A)"),
            ("A.implicit operator int(A a)", "N.A#op_Implicit(A)->int"),
        ] {
            let found = resolve(&symbols, &mut sample, text, &Options::default()).expect("a resolution");
            assert_eq!(found.candidate().expect("one").path, expected, "{text}");
        }
    }

    #[test]
    fn parameters_have_types_names_and_defaults() {
        for (parameter, expected) in [
            ("int", "int"),
            ("int id", "int"),
            ("int most=3", "int"),
            ("Action<T,int>callback", "Action<T,int>"),
            ("Action<T,int>", "Action<T,int>"),
            ("string?name", "string?"),
            ("object[]", "object[]"),
            ("object[]all", "object[]"),
            ("System.Int32 id", "System.Int32"),
            ("System.Int32", "System.Int32"),
        ] {
            assert_eq!(type_of_parameter(parameter), expected, "{parameter}");
        }
    }
}
