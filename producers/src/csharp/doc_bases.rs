//! The types whose documentation a type inherits: its bases, if any of its comments says `<inheritdoc/>`, else none.
//!
//! Types that only stand in the arguments of a base are none of them, so that in code that compiles this relation has no cycles. It does
//! not know members: who reads the documentation finds the member that is meant.

use super::deps::Dependencies;
use super::mentions::{Mentions, Place};
use super::types::symbol_of;
use std::collections::BTreeSet;

/// Keys of `//index:types`, sorted.
pub fn doc_bases(mentions: &Mentions, deps: &Dependencies) -> Vec<String> {
    if !mentions.inherits_docs {
        return Vec::new();
    }
    let written: BTreeSet<String> = mentions.bases.iter().map(|base| simple(base)).collect();
    let is_base = |(key, places): (&String, &BTreeSet<Place>)| {
        let last = symbol_of(key).rsplit(['.', '+']).next().unwrap_or(key);
        (places.contains(&Place::Base) && *key != deps.own && written.contains(last)).then(|| key.clone())
    };
    deps.evidence.iter().filter_map(is_base).collect()
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
        let deps: Dependencies = serde_json::from_str(
            r#"{"ambiguous":[],"body":[],"doc_bases":[],"external":[],"ids":{},"structure":[],"type":"N.A",
            "evidence":{"N.A":["base"],"N.B":["base"],"N.Base`1":["base"],"N.I@P":["base","body"],"N.X":["signature"]}}"#,
        )
        .expect("dependencies");
        let mut mentions = Mentions {
            bases: vec!["Base<B>".into(), "I".into()],
            inherits_docs: true,
            ..Mentions::default()
        };
        assert_eq!(doc_bases(&mentions, &deps), ["N.Base`1", "N.I@P"]);
        mentions.inherits_docs = false;
        assert!(doc_bases(&mentions, &deps).is_empty());
    }
}
