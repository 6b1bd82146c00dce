//! `csharp/doc-bases`: the types whose documentation a type inherits: its bases, if any of its comments says `<inheritdoc/>`, else none.
//!
//! One key of `//index:types` a line. Types that only stand in the arguments of a base are none of them, so that in code that compiles
//! this relation has no cycles. It does not know members: who reads the documentation finds the member that is meant.

use super::complete;
use super::structure::check_flags;
use super::types::symbol_of;
use engine::seams::producer::{Failure, Inputs, Output, ParamError, Params, Producer, ProducerId};
use serde_json::Value;
use std::collections::BTreeSet;

/// What the documentation of a type says that inherits some.
const MARK: &[u8] = b"<inheritdoc";

/// The producer `csharp/doc-bases`.
#[derive(Debug)]
pub struct DocBases;

impl Producer for DocBases {
    fn id(&self) -> ProducerId {
        ProducerId::new("csharp/doc-bases", 1)
    }

    fn check(&self, params: &Params) -> Result<(), Vec<ParamError>> {
        check_flags(params, &[])
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let complete = inputs.one("complete")?;
        // Most types inherit none: the blob is not even decoded.
        if !complete.bytes.windows(MARK.len()).any(|window| window == MARK) {
            return Ok(Output::default());
        }
        let whole = complete::read(complete)?;
        let mut docs = std::iter::once(&whole.doc).chain(whole.members.iter().map(|placed| &placed.member.doc));
        if !docs.any(|xml| xml.as_bytes().windows(MARK.len()).any(|window| window == MARK)) {
            return Ok(Output::default());
        }
        let deps: Value = serde_json::from_slice(&inputs.one("deps")?.bytes)
            .map_err(|error| Failure::permanent(format!("dependencies cannot be read: {error}")))?;
        let written: BTreeSet<String> = whole.bases.iter().map(|base| simple(base)).collect();
        let own = deps["type"].as_str().unwrap_or_default();
        let mut lines = String::new();
        for (key, places) in deps["evidence"].as_object().into_iter().flatten() {
            let is_base = places.as_array().is_some_and(|places| places.iter().any(|place| place == "base"));
            let last = symbol_of(key).rsplit(['.', '+']).next().unwrap_or(key);
            if is_base && key != own && written.contains(last) {
                lines.push_str(key);
                lines.push('\n');
            }
        }
        Ok(Output::new(lines))
    }
}

/// The last segment of a written type as symbols write it: `A.B<C, D[]>` → ``B`2``.
fn simple(written: &str) -> String {
    let mut depth = 0_usize;
    let mut name = String::new();
    let mut arity = 0;
    for c in written.chars() {
        match c {
            '<' | '(' | '[' => {
                depth += 1;
                if depth == 1 && c == '<' {
                    arity = 1;
                }
            }
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 1 => arity += 1,
            '.' | ':' if depth == 0 => {
                name.clear();
                arity = 0;
            }
            _ if depth == 0 && !c.is_whitespace() && c != '@' => name.push(c),
            _ => {}
        }
    }
    if arity > 0 { format!("{name}`{arity}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{World, blob, decl, file, run};
    use super::*;

    #[test]
    fn written_bases_as_symbols_write_them() {
        for (written, expected) in [
            ("A", "A"),
            ("N.A<B<C, D>, (E, F)>", "A`2"),
            ("global::N.Outer<T>.Inner", "Inner"),
            ("@class<T[,]>", "class`1"),
        ] {
            assert_eq!(simple(written), expected);
        }
    }

    #[test]
    fn arguments_of_bases_are_no_bases() {
        let deps =
            r#"{"type":"N.A","evidence":{"N.A":["base"],"N.B":["base"],"N.Base`1":["base"],"N.I@P":["base","body"],"N.X":["signature"]}}"#;
        let of = |docs: &str| {
            let mut a = decl("N", "A");
            a.bases = vec!["Base<B>".into(), "I".into()];
            a.doc = docs.into();
            let complete = World::new(&[("a.cs", file(vec![a]))], &[]).output("complete", "N.A").bytes;
            let roles = vec![("complete", vec![blob("", complete)]), ("deps", vec![blob("", deps)])];
            String::from_utf8(run(&DocBases, "N.A", "{}", roles).expect("bases").bytes).expect("text")
        };
        assert_eq!(of("<inheritdoc/>"), "N.Base`1\nN.I@P\n");
        assert_eq!(of("<summary/>"), "");
    }
}
