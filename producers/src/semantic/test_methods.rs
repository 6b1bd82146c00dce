//! Test methods: a model is shown their declarations and not their bodies. The name of a test says what it checks; no summary says how.

use super::prompt_slots::{Slot, SlotKind};
use super::tokens::{partners, tokens};
use csharp::attributes::{attribute_name, attribute_path, is_of_test};
use std::collections::BTreeSet;

/// The line among the declarations of a type that says what is left out.
const MARK: &str = "// bodies of tests are left out";

/// Whether a declaration, with its attributes, is that of a test.
pub(super) fn is_test(declaration: &str) -> bool {
    brief_declaration(declaration).is_some()
}

/// Leaves out the bodies of tests, the arguments of their attributes, and attributes that repeat.
pub(super) fn leave_out_bodies(slots: &mut Vec<Slot>) {
    let mut tests = BTreeSet::new();
    for slot in slots.iter_mut().filter(|slot| slot.kind == SlotKind::Structure) {
        let mut has_tests = false;
        for (name, text) in slot.pieces.iter_mut().filter(|(name, _)| name.ends_with(')')) {
            if let Some(brief) = brief_declaration(text) {
                *text = brief;
                tests.insert((slot.key.clone(), name.clone()));
                has_tests = true;
            }
        }
        if has_tests && !slot.pieces.iter().any(|(_, text)| text == MARK) {
            slot.pieces.push((String::new(), MARK.to_owned()));
        }
    }
    for slot in slots.iter_mut().filter(|slot| slot.kind == SlotKind::Code) {
        slot.pieces.retain(|(name, _)| !tests.contains(&(slot.key.clone(), name.clone())));
    }
    slots.retain(|slot| !slot.pieces.is_empty());
}

/// Returns the declaration of a test with the names of its attributes, each once; `None` if it declares no test.
fn brief_declaration(text: &str) -> Option<String> {
    let condition = text
        .strip_prefix("/* ")
        .and_then(|rest| rest.find("*/ "))
        .map_or("", |end| &text[..end + 6]);
    let text = &text[condition.len()..];
    let tokens = tokens(text);
    let partners = partners(&tokens);
    let (mut names, mut at): (Vec<&str>, usize) = (Vec::new(), 0);
    while tokens.get(at).is_some_and(|token| token.is("[")) {
        let end = partners[at];
        let name = attribute_path(&text[tokens[at].start..tokens.get(end)?.start]);
        if !names.contains(&name) {
            names.push(name);
        }
        at = end + 1;
    }
    let declaration = &text[tokens.get(at)?.start..];
    let is_test = names.iter().any(|name| is_of_test(attribute_name(name)));
    let attributes: String = names.iter().map(|name| format!("[{name}] ")).collect();
    is_test.then(|| format!("{condition}{attributes}{declaration}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_test_only_names_of_attributes_are_shown() {
        for (text, expected) in [
            ("[Fact] public void A()", Some("[Fact] public void A()")),
            (
                "[InlineData(1, \"]\")] [InlineData(2, new[] { 3 })] [Theory] public void A(int x)",
                Some("[InlineData] [Theory] public void A(int x)"),
            ),
            (
                "/* #if NET */ [Xunit.Fact(Skip = \"a\")] public void A()",
                Some("/* #if NET */ [Xunit.Fact] public void A()"),
            ),
            ("[Obsolete] public void A()", None),
            ("public int[] Fact()", None),
            ("[Fact", None),
            ("", None),
        ] {
            let brief = brief_declaration(text);
            assert_eq!(brief.as_deref(), expected, "{text}");
            assert_eq!(brief.as_deref().and_then(brief_declaration), brief, "again");
        }
    }

    #[test]
    fn bodies_of_tests_are_left_out_and_others_stay() {
        let slot = |kind, pieces: &[(&str, &str)]| {
            let pieces = pieces.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            Slot::new(kind, "N.A", pieces.collect())
        };
        let structure = |mark: &[(&str, &str)]| {
            let pieces = [
                ("", "class A"),
                ("Check()", "[Fact] public void Check()"),
                ("Of()", "public int Of()"),
            ];
            slot(SlotKind::Structure, &[&pieces[..], mark].concat())
        };
        let of = ("Of()", "Of() => 1");
        let mut slots = vec![structure(&[]), slot(SlotKind::Code, &[("Check()", "Check() { }"), of])];
        leave_out_bodies(&mut slots);
        let expected = vec![structure(&[("", MARK)]), slot(SlotKind::Code, &[of])];
        assert_eq!(slots, expected);
        leave_out_bodies(&mut slots);
        assert_eq!(slots, expected, "again");
        let mut slots = vec![structure(&[]), slot(SlotKind::Code, &[("Check()", "Check() { }")])];
        leave_out_bodies(&mut slots);
        assert_eq!(slots.len(), 1, "there is no other code");
    }
}
