//! Determines which overloads a call may refer to, by the number, names and types of its arguments.
//!
//! An overload is excluded only if the compiler excludes it, too. The types of literals are certain, so C#'s own rules apply: which conversions
//! exist, and which of two is better. Other arguments count only if they have exactly the type of a parameter, or if a simple type meets a type of
//! .NET that never converts to or from it. Several remaining overloads are all reported; nothing is guessed.

use super::number_conversions;
use super::overloads::{Overload, arity, comparable_type, parameter_types, without_words};
use producers::csharp::code::ast::Passing;
use producers::csharp::code::integer_range::IntegerRange;
use producers::csharp::deps::flow::widens;
use producers::csharp::deps::resolve::predefined;
use producers::csharp::members::ParameterRow;
use producers::csharp::usages::{Call, TARGET_TYPED_NEW};
use std::cmp::Ordering;

/// Returns the overloads that a call may refer to, in their order.
pub fn possible_overloads<'o>(overloads: &'o [Overload], call: &Call) -> Vec<&'o Overload> {
    possible_of(overloads.iter().map(|one| (one, false)), call)
}

/// As [`possible_overloads`]; each overload has a flag whether the calling code certainly sees it.
pub fn possible_of<'o>(overloads: impl Iterator<Item = (&'o Overload, bool)>, call: &Call) -> Vec<&'o Overload> {
    let fitting: Vec<(&Overload, bool, AssignedCall<'_>)> = overloads
        .filter_map(|(one, is_seen)| Some((one, is_seen, assign_arguments(one, call)?)))
        .collect();
    // C# counts an override as a member of the base: it is not called where another member of its own type fits.
    let is_declared = |(one, ..): &(&Overload, bool, AssignedCall<'_>)| {
        let takes_over = |(other, is_seen, by): &(&Overload, bool, AssignedCall<'_>)| {
            !other.is_override && is_comparable(other, one, *is_seen) && fits_surely(by, call)
        };
        !one.is_override || !fitting.iter().any(takes_over)
    };
    let declared: Vec<bool> = fitting.iter().map(is_declared).collect();
    let mut declared = declared.into_iter();
    let fitting: Vec<(&Overload, bool, AssignedCall<'_>)> = fitting.into_iter().filter(|_| declared.next() == Some(true)).collect();
    let is_plainer = |one: &AssignedCall<'_>, other: &AssignedCall<'_>| one.is_plain && !other.is_plain && one.kinds == other.kinds;
    let is_left = |(one, _, assigned): &(&Overload, bool, AssignedCall<'_>)| {
        !fitting.iter().any(|(other, is_seen, by)| match other.priority.cmp(&one.priority) {
            Ordering::Less => false,
            Ordering::Equal => is_plainer(by, assigned) || is_comparable(other, one, *is_seen) && is_better(by, assigned, call),
            Ordering::Greater => is_comparable(other, one, *is_seen) && fits_surely(by, call),
        })
    };
    fitting.iter().filter(|found| is_left(found)).map(|(one, ..)| *one).collect()
}

/// Whether `one` can be called wherever `other` can, and competes with it before type inference.
fn is_comparable(one: &Overload, other: &Overload, is_seen: bool) -> bool {
    let is_seen = is_seen || one.accessibility == "public" || one.accessibility == other.accessibility;
    is_seen && one.is_static == other.is_static && arity(&one.key) == 0
}

/// Whether each argument has exactly the type of its parameter, or is a literal that converts to it.
fn fits_surely(assigned: &AssignedCall<'_>, call: &Call) -> bool {
    let fits = |(at, argument): (usize, &String)| {
        let is_bound = !argument.is_empty() && assigned.bound[at] == Some(argument);
        let kind = without_words(assigned.kinds[at]);
        let converts = |range| is_own(argument, kind) || predefined(kind).key().is_some_and(|key| surely_converts(argument, range, key));
        is_bound || call.range_of(at).is_some_and(converts)
    };
    call.arguments.iter().enumerate().all(fits)
}

/// Whether C# prefers `one` for all arguments whose parameter types differ between the two overloads.
fn is_better<'o>(one: &AssignedCall<'o>, other: &AssignedCall<'o>, call: &Call) -> bool {
    let kind = |of: &AssignedCall<'o>, at: usize| without_words(of.kinds[at]);
    let is_same = |at: &usize| kind(one, *at) == kind(other, *at) || one.bound[*at].is_some() && one.bound[*at] == other.bound[*at];
    let mut differing = (0..call.arguments.len()).filter(|at| !is_same(at)).peekable();
    if differing.peek().is_none() {
        return one.is_plain >= other.is_plain && takes_values(one, other);
    }
    differing.all(|at| match call.range_of(at) {
        Some(range) => prefers(&call.arguments[at], range, kind(one, at), kind(other, at)),
        // `new(…)` becomes either type; a by-value parameter is preferred over `in`.
        None if call.arguments[at] == TARGET_TYPED_NEW => !is_passed(one.kinds[at]) && is_passed(other.kinds[at]),
        None => is_identical(one, other, at, &call.arguments[at]),
    })
}

/// Whether `one` takes by value what `other` takes by `in`, and not the other way round: then C# prefers it, if the types are the same.
fn takes_values(one: &AssignedCall<'_>, other: &AssignedCall<'_>) -> bool {
    let pairs = one.kinds.iter().zip(&other.kinds);
    let mut differing = pairs.filter(|(own, others)| is_passed(own) != is_passed(others)).peekable();
    differing.peek().is_some() && differing.all(|(own, _)| !is_passed(own))
}

/// Whether an argument has exactly the type of `one`'s parameter and not that of `other`'s. Always false for numbers: the types that operators give
/// them are not computed.
fn is_identical(one: &AssignedCall<'_>, other: &AssignedCall<'_>, at: usize, argument: &str) -> bool {
    let (Some(own), Some(others)) = (one.bound[at], other.bound[at]) else {
        return false;
    };
    // A generic type without its type arguments is only partly known.
    let is_whole = !argument.is_empty() && (argument.contains('{') || !argument.contains('`'));
    // An interpolated string prefers a handler.
    let may_be_nearer = others == argument || others.contains("InterpolatedStringHandler");
    // An open type may turn out to be the same; then the overload without default values is preferred.
    let may_be_same = others.contains(['?', '!']) && !one.is_plain;
    is_whole && simple(argument) != Some(NUMBER) && own == argument && !may_be_nearer && !may_be_same
}

/// Whether a parameter is passed by reference.
fn is_passed(written: &str) -> bool {
    without_words(written).len() != written.len()
}

/// Whether a literal of a type prefers parameter `one` over `other`: its own type before all others, then the type that converts to the other and not
/// back, or is signed where the other is unsigned.
fn prefers(literal: &str, range: IntegerRange, one: &str, other: &str) -> bool {
    if is_own(literal, one) {
        return !is_own(literal, other);
    }
    match (predefined(one).key(), predefined(other).key()) {
        // Every number also converts to `object`.
        (Some(one), Some(other)) => {
            surely_converts(literal, range, one) && (other == "~System.Object" || number_conversions::is_nearer(one, other))
        }
        _ => false,
    }
}

/// Whether a literal certainly converts to another type: the value of one of the type `long` is not known.
fn surely_converts(literal: &str, range: IntegerRange, key: &str) -> bool {
    literal != "~System.Int64" && number_conversions::converts_literal(literal, range, key) || widens(literal, key)
}

/// Whether a parameter has exactly the type of the literal.
fn is_own(literal: &str, written: &str) -> bool {
    let plain = written.strip_suffix('?').filter(|plain| *plain == "string").unwrap_or(written);
    predefined(plain).key() == Some(literal)
}

/// Whether a call may refer to an overload, regardless of other overloads. `receiver`: whether the value that it is called on may be the first
/// argument.
pub fn can_mean(overload: &Overload, call: &Call, receiver: bool) -> bool {
    let extended = || Call {
        extension: true,
        ..call.clone()
    };
    assign_arguments(overload, call).is_some() || receiver && assign_arguments(overload, &extended()).is_some()
}

/// Whether no overload accepts a call. `excluded` takes an argument's type and a parameter's bound type, and returns whether no such value can be
/// passed.
pub(super) fn none_takes(overloads: &[Overload], call: &Call, excluded: &dyn Fn(&str, &str) -> bool) -> bool {
    let is_excluded = |assigned: &AssignedCall<'_>, at: usize| {
        let argument = call.arguments[at].as_str();
        let is_known = !argument.is_empty() && argument != TARGET_TYPED_NEW && !is_passed(assigned.kinds[at]);
        is_known && assigned.bound[at].is_some_and(|bound| excluded(argument, bound))
    };
    let takes = |assigned: AssignedCall<'_>| !(0..call.arguments.len()).any(|at| is_excluded(&assigned, at));
    !overloads.iter().any(|one| assign_arguments(one, call).is_some_and(takes))
}

/// The arguments of a call, assigned to the parameters of an overload.
struct AssignedCall<'p> {
    /// Written type of the parameter for each argument.
    kinds: Vec<&'p str>,
    /// Bound type of that parameter, if known.
    bound: Vec<Option<&'p str>>,
    /// Whether the call uses neither default values nor a `params` parameter.
    is_plain: bool,
}

fn assign_arguments<'o>(overload: &'o Overload, call: &Call) -> Option<AssignedCall<'o>> {
    if call.types > 0 && call.types != arity(&overload.key) {
        return None;
    }
    let (mut parameters, mut types): (&[ParameterRow], &[String]) = (&overload.parameters, &overload.bound);
    if call.extension {
        parameters = parameters.split_first().filter(|(first, _)| first.this)?.1;
        types = types.get(1..).unwrap_or_default();
    }
    let positional = call.arguments.len().checked_sub(call.names.len())?;
    let many = parameters.last().is_some_and(|last| last.params);
    if positional > parameters.len() && !many {
        return None;
    }
    let mut taken = vec![false; parameters.len()];
    let (mut kinds, mut bound, mut is_plain) = (Vec::with_capacity(call.arguments.len()), Vec::new(), true);
    for (at, argument) in call.arguments.iter().enumerate() {
        let place = match at.checked_sub(positional) {
            None => at.min(parameters.len().checked_sub(1)?),
            Some(named) => {
                let name = call.names[named].trim_start_matches('@');
                parameters
                    .iter()
                    .position(|parameter| parameter.name.trim_start_matches('@') == name)?
            }
        };
        let parameter = &parameters[place];
        if !Passing::of_written(&parameter.kind).takes(call.passed.get(at).copied().unwrap_or_default()) {
            return None;
        }
        is_plain &= !parameter.params;
        let kind = match parameter.params {
            true => element(&parameter.kind),
            false => parameter.kind.as_str(),
        };
        let range = call.range_of(at);
        if !(converts(argument, kind, range) || parameter.params && converts(argument, &parameter.kind, range)) {
            return None;
        }
        if !parameter.params && types.get(place).is_some_and(|bound| never_becomes(argument, bound)) {
            return None;
        }
        taken[place] = true;
        kinds.push(kind);
        bound.push(types.get(place).map(|of| if parameter.params { element(of) } else { of }));
    }
    let mut left = parameters.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(left, _)| left);
    if !left.all(|left| left.optional || left.params) {
        return None;
    }
    is_plain &= taken.iter().all(|taken| *taken);
    Some(AssignedCall { kinds, bound, is_plain })
}

/// Returns the element type of a `params` parameter.
fn element(kind: &str) -> &str {
    kind.trim_end_matches('?').strip_suffix("[]").unwrap_or("")
}

/// Whether a value of a simple type can be passed to a parameter. True if either is unknown. `literal`: the range of a literal.
fn converts(argument: &str, parameter: &str, literal: Option<IntegerRange>) -> bool {
    let written = without_marks(parameter);
    let Some(from) = simple(argument) else {
        let to = predefined(written);
        // No value of a .NET type converts to `string` implicitly; an `object` may be anything (`dynamic`).
        let is_text = to.key() == Some("~System.String") && argument.starts_with("~System.") && argument != "~System.Object";
        let is_simple = to.key().is_some_and(|key| simple(key).is_some());
        return !(is_text || is_simple && (argument.ends_with("[]") || is_foreign(argument)));
    };
    let to = predefined(written);
    match to.key().map(|key| (key, simple(key))) {
        Some((key, Some(NUMBER))) if from == NUMBER => {
            literal.is_none_or(|range| number_conversions::converts_literal(argument, range, key))
        }
        Some((_, Some(to))) => from == to,
        _ => !written.ends_with(']'),
    }
}

/// Namespaces of .NET: no conversion leads from their types to a simple type, and none back, except from `string` to [`TEXT_BASES`].
const FOREIGN: [&str; 4] = ["~System.Collections.", "~System.IO.", "~System.Linq.", "~System.Threading."];

/// Beginnings of the types in [`FOREIGN`] that `string` implements.
const TEXT_BASES: [&str; 2] = ["~System.Collections.IEnumerable", "~System.Collections.Generic.IEnumerable`1"];

/// Whether a type lies in one of the namespaces [`FOREIGN`].
fn is_foreign(key: &str) -> bool {
    FOREIGN.iter().any(|namespace| key.starts_with(namespace))
}

/// Whether no value of a simple type can be passed to a parameter of the bound type, because C# and .NET have no such conversion.
fn never_becomes(argument: &str, bound: &str) -> bool {
    let is_base = || argument == "~System.String" && TEXT_BASES.iter().any(|base| bound.starts_with(base));
    simple(argument).is_some() && is_foreign(bound) && !is_base()
}

/// Returns a written type without passing mode and nullable mark.
fn without_marks(written: &str) -> &str {
    without_words(written).trim_end_matches('?')
}

/// Whether two types differ for all type arguments: both are predefined types of C#, or one is and the other is an array.
fn differ(one: &str, other: &str) -> bool {
    let known = |written: &str| predefined(without_marks(written)).key().map(str::to_owned);
    let is_array = |written: &str| without_marks(written).ends_with(']');
    match (known(one), known(other)) {
        (Some(one), Some(other)) => one != other,
        (Some(_), None) => is_array(other),
        (None, Some(_)) => is_array(one),
        (None, None) => false,
    }
}

/// The class of numbers and characters.
const NUMBER: u8 = 2;

/// Returns the class of a simple type; no conversions exist between classes.
pub(super) fn simple(key: &str) -> Option<u8> {
    Some(match key.strip_prefix("~System.")? {
        "String" => 0,
        "Boolean" => 1,
        "SByte" | "Byte" | "Int16" | "UInt16" | "Int32" | "UInt32" | "Int64" | "UInt64" | "Single" | "Double" | "Decimal" | "Char" => {
            NUMBER
        }
        _ => return None,
    })
}

/// Returns the overloads of another type that may override or implement `of`: the one with the same parameters; otherwise the most similar ones among
/// those with as many parameters that may become the same types, because type arguments may replace type parameters. All have the same number of type
/// parameters.
pub fn counterparts<'o>(of: &Overload, among: &'o [Overload]) -> Vec<&'o Overload> {
    let own = parameter_types(&of.key);
    let may_be_same = |other: &&Overload| {
        let others = parameter_types(&other.key);
        arity(&of.key) == arity(&other.key) && others.len() == own.len() && !own.iter().zip(others).any(|(own, other)| differ(own, other))
    };
    let mut found: Vec<&Overload> = among.iter().filter(may_be_same).collect();
    let same = |other: &&Overload| {
        parameter_types(&other.key)
            .into_iter()
            .map(comparable_type)
            .eq(own.iter().copied().map(comparable_type))
    };
    if found.iter().any(same) {
        found.retain(same);
    }
    let likeness = |other: &Overload| -> usize {
        let others = parameter_types(&other.key);
        own.iter().zip(others).map(|(own, other)| type_similarity(own, other)).sum()
    };
    let most = found.iter().map(|one| likeness(one)).max().unwrap_or_default();
    found.retain(|one| likeness(one) == most);
    found
}

/// Returns the similarity of two parameter types: 2 or more as written, 1 for the same generic type with other arguments, else 0.
fn type_similarity(one: &str, other: &str) -> usize {
    let head = |written: &str| without_marks(written).split_once('<').map(|(head, _)| head.to_owned());
    match (head(one), head(other)) {
        // `int` and `int?` are two types, but `string` and `string?` are one.
        _ if comparable_type(one) == comparable_type(other) => 2 + usize::from(one.ends_with('?') == other.ends_with('?')),
        (Some(one), Some(other)) if one == other => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::overloads;
    use super::super::samples::Sample;
    use super::*;

    const TEXT: &str = "static class A {
static void M(int one) { }
static void M(string one) { }
static void M(string one, int two = 2) { }
static void M(int one, int two, params long[] more) { }
static void M<T>(T one, bool flag) { }
static void M(this A on, bool first, bool @last) { }
static void M(A on, string[] many, ref int there) { }
}";

    /// Returns the overloads that may be called with literals of these types, and with values of these types.
    fn of_literals(overloads: &str, arguments: &[&str]) -> [String; 2] {
        let text = format!("public class A {{ {overloads} }}");
        let mut sample = Sample::from_files(&[("a.cs", &text)]);
        let mut overloads = overloads::read_overloads(&mut sample, &["A"]).expect("members").remove(0);
        overloads::bind(&sample.names(), "A", &mut overloads).expect("declarations");
        let keys = |exact: Vec<usize>| {
            let call = Call {
                arguments: arguments
                    .iter()
                    .map(|name| predefined(name).key().unwrap_or(name).to_owned())
                    .collect(),
                exact,
                ..Call::default()
            };
            let found = possible_overloads(&overloads, &call);
            found.into_iter().map(|one| one.key.as_str()).collect::<Vec<_>>().join(" ")
        };
        [keys((0..arguments.len()).collect()), keys(Vec::new())]
    }

    #[test]
    fn literals_choose_as_the_language_does() {
        let numbers = "void F(int x) {} void F(long x) {} void F(double x) {} void F(object x) {}";
        let all = "F(double) F(int) F(long) F(object)";
        for (overloads, argument, literal) in [
            (numbers, "int", "F(int)"),
            (numbers, "long", "F(long)"),
            (numbers, "double", "F(double)"),
            (numbers, "uint", "F(long)"),
            (numbers, "ulong", "F(double)"),
            (numbers, "char", "F(int)"),
            (numbers, "float", "F(double)"),
            // Only boxing, or a user-defined conversion, applies.
            (numbers, "decimal", "F(object)"),
            ("void F(long x) {} void F(ulong x) {}", "uint", "F(long)"),
            // A small constant converts to every number.
            ("void F(byte x) {} void F(short x) {}", "int", "F(byte)"),
            ("void F(byte x) {} void F(sbyte x) {}", "int", "F(sbyte)"),
            ("void F(byte x) {} void F(long x) {}", "int", "F(byte)"),
            ("void F(long x) {} void F(ulong x) {}", "int", "F(long)"),
            // A method that is not generic is better than a generic one with equal parameters.
            ("void F<T>(T x) {} void F(int x) {}", "int", "F(int)"),
            ("void F<T>(T x) {} void F(int x) {}", "long", "F`1(T)"),
            ("void F<T>(T x) {} void F(object x) {}", "int", "F(object) F`1(T)"),
            ("void F(int x) {} void F(in int x) {}", "int", "F(int)"),
            // Nullable types, inaccessible overloads and values of other types decide nothing.
            ("void F(int? x) {} void F(long? x) {}", "int", "F(int?) F(long?)"),
            ("private void F(int x) {} public void F(long x) {}", "int", "F(int) F(long)"),
            ("public void F(int x) {} private void F(long x) {}", "int", "F(int)"),
            ("void F(int x) {} static void F(long x) {}", "int", "F(int) F(long)"),
            (
                "void F(int x) {} [System.Runtime.CompilerServices.OverloadResolutionPriority(1)] void F(long x) {}",
                "int",
                "F(long)",
            ),
            (
                "void F(int x) {} [OverloadResolutionPriority(1)] void F(Unknown x) {} [OverloadResolutionPriority(-1)] void F(object x) {}",
                "int",
                "F(Unknown) F(int)",
            ),
            ("void F(params int[] x) {} void F(long x) {}", "int", "F(int[])"),
        ] {
            assert_eq!(of_literals(overloads, &[argument])[0], literal, "{overloads} {argument}");
        }
        // Of a value the type is not as certain.
        assert_eq!(of_literals(numbers, &["long"])[1], all);
        let words = "void F(string x) {} void F(object x) {} void F(char x) {}";
        assert_eq!(of_literals(words, &["string"])[0], "F(string)");
        assert_eq!(of_literals(words, &["bool"])[0], "F(object)");
        // One argument speaks for the one, the other for the other.
        let crossed = "void F(int x, long y) {} void F(long x, int y) {} void F(long x, long y) {}";
        assert_eq!(of_literals(crossed, &["int", "int"])[0], "F(int,long) F(long,int)");
        assert_eq!(of_literals(crossed, &["int", "long"])[0], "F(int,long)");
    }

    #[test]
    fn the_value_of_a_literal_decides_its_conversions() {
        let text = "public class A { void F(sbyte x) {} void F(byte x) {} void F(ushort x) {} void F(double x) {} void F(decimal x) {} }";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        let mut overloads = overloads::read_overloads(&mut sample, &["A"]).expect("members").remove(0);
        overloads::bind(&sample.names(), "A", &mut overloads).expect("declarations");
        for (value, expected) in [
            (1, "F(sbyte)"),
            (-1, "F(sbyte)"),
            (200, "F(byte)"),
            (60_000, "F(ushort)"),
            // `double` and `decimal` do not convert to each other.
            (70_000, "F(decimal) F(double)"),
            (-200, "F(decimal) F(double)"),
        ] {
            let call = Call {
                arguments: vec!["~System.Int32".to_owned()],
                exact: vec![0],
                integers: vec![(0, IntegerRange::of_value(value))],
                ..Call::default()
            };
            let found = possible_overloads(&overloads, &call);
            let keys: Vec<&str> = found.into_iter().map(|one| one.key.as_str()).collect();
            assert_eq!(keys.join(" "), expected, "{value}");
        }
    }

    #[test]
    fn an_argument_of_exactly_the_type_of_a_parameter_decides() {
        let token = "~System.Threading.CancellationToken";
        let tokens = "void F(CancellationToken t = default) {} void F(string s, CancellationToken t = default) {} void F(bool b, CancellationToken t = default) {}";
        let written = "void F(System.Threading.CancellationToken t) {} void F(Unknown x) {} void F(object x) {}";
        let lists = "void F(List<int> x) {} void F(IEnumerable<int> x) {}";
        let keys = "void F(int x) {} void F(IEnumerable<int> x) {}";
        for (overloads, arguments, expected) in [
            (tokens, &[token][..], "F(CancellationToken)"),
            (tokens, &["string", token], "F(string,CancellationToken)"),
            (written, &[token], "F(System.Threading.CancellationToken)"),
            (written, &["^Unknown"], "F(Unknown)"),
            (written, &["^Other"], "F(System.Threading.CancellationToken) F(Unknown) F(object)"),
            (written, &[""], "F(System.Threading.CancellationToken) F(Unknown) F(object)"),
            (lists, &["~System.Collections.Generic.List`1{~System.Int32}"], "F(List<int>)"),
            (lists, &["~System.Collections.Generic.List`1"], "F(IEnumerable<int>) F(List<int>)"),
            ("void F(A x) {} void F(object x) {}", &["A"], "F(A)"),
            ("void F(A[] x) {} void F(object x) {}", &["A[]"], "F(A[])"),
            ("void F(A x) {} void F<T>(T x) {}", &["A"], "F(A)"),
            ("void F(A x, int n = 1) {} void F<T>(T x) {}", &["A"], "F(A,int) F`1(T)"),
            // One argument speaks for the one, the other for the other.
            (
                "void F(A x, object y) {} void F(object x, A y) {}",
                &["A", "A"],
                "F(A,object) F(object,A)",
            ),
            ("void F(A x, object y) {} void F(object x, object y) {}", &["A", ""], "F(A,object)"),
            // Numbers that operators make, what is passed by reference and interpolated text do not decide.
            ("void F(long x) {} void F(object x) {}", &["long"], "F(long) F(object)"),
            ("void F(A x) {} void F(in A x) {}", &["A"], "F(A)"),
            (
                "void F(string x) {} void F(LogInterpolatedStringHandler x) {}",
                &["string"],
                "F(LogInterpolatedStringHandler) F(string)",
            ),
            ("void F(string x) {} void F(object x) {}", &["string"], "F(string)"),
            // A number is no collection, and a collection is no number; a text enumerates characters.
            (keys, &["int"], "F(int)"),
            (keys, &["~System.Int32[]"], "F(IEnumerable<int>)"),
            (keys, &["~System.Collections.Generic.IEnumerable`1"], "F(IEnumerable<int>)"),
            (keys, &["~System.Collections.Generic.List`1{~System.Int32}"], "F(IEnumerable<int>)"),
            (keys, &[""], "F(IEnumerable<int>) F(int)"),
            (keys, &["~System.Object"], "F(IEnumerable<int>) F(int)"),
            ("void F(bool x) {} void F(Stream x) {}", &["~System.IO.MemoryStream"], "F(Stream)"),
            (
                "void F(IEnumerable<char> x) {} void F(List<char> x) {}",
                &["string"],
                "F(IEnumerable<char>)",
            ),
            // Of two types of one name it is not known which is which.
            (
                "void F(System.Threading.Timer x) {} void F(System.Timers.Timer x) {} void F(object x) {}",
                &["~System.Timers.Timer"],
                "F(System.Threading.Timer) F(System.Timers.Timer) F(object)",
            ),
        ] {
            assert_eq!(of_literals(overloads, arguments)[1], expected, "{overloads} {arguments:?}");
        }
    }

    fn left(arguments: &[&str], names: &[&str], types: usize, extension: bool) -> String {
        let mut sample = Sample::from_files(&[("a.cs", TEXT)]);
        let overloads = overloads::read_overloads(&mut sample, &["A"]).expect("members").remove(0);
        assert_eq!(overloads.len(), 7);
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        let call = Call {
            arguments: owned(arguments),
            names: owned(names),
            types,
            extension,
            ..Call::default()
        };
        let found = possible_overloads(&overloads, &call);
        assert!(found.iter().all(|one| can_mean(one, &call, false)));
        let keys: Vec<&str> = found.into_iter().map(|one| one.key.as_str()).collect();
        keys.join(" ")
    }

    #[test]
    fn calls_match_their_possible_overloads() {
        let (int, string, bool) = ("~System.Int32", "~System.String", "~System.Boolean");
        for (arguments, names, types, extension, expected) in [
            (&[int][..], &[][..], 0, false, "M(int)"),
            // One that takes no default value is better than one that does.
            (&[string], &[], 0, false, "M(string)"),
            (&[""], &[], 0, false, "M(int) M(string)"),
            (&["", ""], &[], 0, false, "M(int,int,long[]) M(string,int) M`1(T,bool)"),
            (&["", ""], &[], 1, false, "M`1(T,bool)"),
            (&[int, int], &[], 0, false, "M(int,int,long[])"),
            (&[string, int], &[], 0, false, "M(string,int)"),
            (&[int, int, int, int], &[], 0, false, "M(int,int,long[])"),
            (&[int, int, ""], &[], 0, false, "M(int,int,long[])"),
            (&["", "", ""], &[], 0, false, "M(A,bool,bool) M(int,int,long[])"),
            (&[bool, bool], &[], 0, true, "M(A,bool,bool)"),
            (&[bool, bool], &["last", "first"], 0, true, "M(A,bool,bool)"),
            (&["", ""], &["two"], 0, false, "M(int,int,long[]) M(string,int)"),
            (&[""], &["one"], 0, false, "M(int) M(string)"),
            (&["", ""], &["flag"], 0, false, "M`1(T,bool)"),
            (&["", ""], &["nope"], 0, false, ""),
            (&[], &[], 0, false, ""),
        ] {
            assert_eq!(
                left(arguments, names, types, extension),
                expected,
                "{arguments:?} {names:?} {types} {extension}"
            );
        }
    }

    #[test]
    fn the_receiver_of_an_extension_counts_as_an_argument() {
        let mut sample = Sample::from_files(&[("a.cs", TEXT)]);
        let overloads = overloads::read_overloads(&mut sample, &["A"]).expect("members").remove(0);
        let extension = overloads.iter().find(|one| one.key == "M(A,bool,bool)").expect("one");
        let call = Call {
            arguments: vec![String::new(); 2],
            ..Call::default()
        };
        assert!(can_mean(extension, &call, true) && !can_mean(extension, &call, false));
        assert_eq!(counterparts(extension, &overloads).len(), 1);
        assert!(counterparts(extension, &overloads[1..]).is_empty());
    }
}
