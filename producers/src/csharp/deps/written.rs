//! Compares written types with bound types, for readers that must match the two.

use super::resolve::predefined;
use super::shape::Shape;
use crate::csharp::code::ast::TypeRef;
use crate::csharp::code::type_ref;
use crate::csharp::types::symbol_of;

/// Whether a parameter's written type, without modifiers such as `ref`, may refer to `shape`. An alias with another name matches none.
pub fn may_refer_to(written: &str, shape: &Shape) -> bool {
    type_ref(written).is_some_and(|written| agrees(&written, shape))
}

fn agrees(written: &TypeRef, shape: &Shape) -> bool {
    match (written, shape) {
        (TypeRef::Named(segments), Shape::Named(key, args)) => segments.last().is_some_and(|last| {
            // Arguments of enclosing types come first.
            let Some(around) = args.len().checked_sub(last.args.len()) else {
                return false;
            };
            simple_name(key) == last.word.text && last.args.iter().zip(&args[around..]).all(|(written, arg)| agrees(written, arg))
        }),
        (TypeRef::Named(segments), Shape::Own(_) | Shape::Method(_)) => matches!(segments.as_slice(), [only] if only.args.is_empty()),
        (TypeRef::Predefined(word), shape) => *shape == predefined(word),
        (TypeRef::Array(element) | TypeRef::Pointer(element), Shape::Array(of)) => agrees(element, of),
        (TypeRef::Nullable(inner), shape) => agrees(inner, shape.without_null()),
        (TypeRef::Tuple(parts), Shape::Tuple(of)) => {
            parts.len() == of.len() && parts.iter().zip(of.iter()).all(|((_, written), (_, part))| agrees(written, part))
        }
        (TypeRef::Function(_), Shape::Unknown) => true,
        _ => false,
    }
}

/// Returns the last name in a key, without its marks.
fn simple_name(key: &str) -> &str {
    let symbol = symbol_of(key.trim_start_matches(['~', '^']));
    let last = symbol.rsplit(['.', '+']).next().unwrap_or(symbol);
    last.split('`').next().unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_types_and_what_they_were_bound_to() {
        for (written, bound, expected) in [
            ("CancellationToken", "~System.Threading.CancellationToken", true),
            ("System.Threading.CancellationToken", "~System.Threading.CancellationToken", true),
            ("Token", "~System.Threading.CancellationToken", false),
            ("string?", "~System.String", true),
            ("int?", "~System.Nullable`1{~System.Int32}", true),
            ("int", "~System.Nullable`1{~System.Int32}", false),
            ("Foo<int>.Bar", "N.Foo`1+Bar{~System.Int32}", true),
            ("List<Foo>[]", "~System.Collections.Generic.List`1{^Foo}[]", true),
            ("List<Foo>[]", "~System.Collections.Generic.List`1{^Bar}[]", false),
            ("T", "!0", true),
            ("T[]", "!!1[]", true),
            ("(int a, Foo)", "(a:~System.Int32,^Foo)", true),
            ("Foo", "N.Foo@src/a.csproj", true),
        ] {
            assert_eq!(may_refer_to(written, &Shape::read(bound, false)), expected, "{written} {bound}");
        }
    }
}
