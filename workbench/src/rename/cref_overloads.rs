//! Overloads that a reference in documentation selects by its parameters: `Go(Stream, List{T})`.

use crate::symbols::index::Symbols;
use crate::symbols::outputs::Outputs;
use crate::symbols::resolve::{How, Options, Resolution, resolve};

/// Most overloads of one name that a reference is compared with.
const MOST_OVERLOADS: usize = 500;

/// Resolves a name to the overloads with these parameters; to all overloads if none is known to have them.
pub(super) fn overloads_of<O: Outputs>(outputs: &mut O, symbols: &Symbols, name: &str, parameters: &str) -> Result<Resolution, O::Error> {
    let options = Options {
        most: MOST_OVERLOADS,
        ..Options::default()
    };
    if !parameters.is_empty() {
        let found = resolve(symbols, outputs, &format!("{name}{parameters}"), &options)?;
        if found.how.is_some_and(|how| how != How::Fuzzy) {
            return Ok(found);
        }
    }
    resolve(symbols, outputs, name, &options)
}

/// Returns the parameters after a name in a reference, `(A, B<T>)`, with type arguments as in code; empty without parameters.
pub(super) fn parameters_behind(rest: &str) -> String {
    let rest = match rest.starts_with('{') {
        true => &rest[end_of_type_arguments(rest)..],
        false => rest,
    };
    match rest.rfind(')') {
        Some(end) if rest.starts_with('(') => rest[..=end].replace('{', "<").replace('}', ">"),
        _ => String::new(),
    }
}

/// Returns the offset after the brace that closes the first one, or the end.
fn end_of_type_arguments(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text.len()
}
