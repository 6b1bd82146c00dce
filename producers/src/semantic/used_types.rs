//! Describes the types that the subject of a prompt uses: their roles, within a budget that is spent on the most used types first, and the
//! declarations that the subject names.

use super::prompt_slots::{Slot, SlotKind, simple};
use super::splice;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of roles after which only the first sentence of each is shown.
const WHOLE_ROLES: usize = 300;

/// Bytes of all roles that are shown.
const ALL_ROLES: usize = 900;

/// Describes the types that the subject of these texts uses; `None` if there are none. `name` returns the name of a type in the prompt.
pub(super) fn describe_used_types<'s>(slots: &'s [Slot], name: impl Fn(&'s str) -> &'s str) -> Option<String> {
    let roles = roles_within_budget(slots);
    let dependencies = slots.iter().filter(|slot| !slot.kind.is_own());
    let keys: BTreeSet<&str> = dependencies.map(|slot| slot.key.as_str()).collect();
    let mut shown = String::new();
    for key in keys {
        let role = roles.get(key).map(String::as_str);
        let declarations = slots.iter().filter(|slot| slot.kind == SlotKind::Signatures && slot.key == key);
        let declarations: String = declarations.map(Slot::joined_text).collect();
        // A line with the name begins every entry, so that joint questions can share it.
        if role.is_some() || !declarations.is_empty() {
            let title = format!("// {}: {}", name(key), role.unwrap_or_default());
            shown.push_str(&format!("{}\n{declarations}", title.trim_end()));
        }
    }
    (!shown.is_empty()).then_some(shown)
}

/// Returns the roles that are shown, by key of the type.
fn roles_within_budget(slots: &[Slot]) -> BTreeMap<&str, String> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    let own: Vec<String> = slots.iter().filter(|slot| slot.kind.is_own()).map(Slot::joined_text).collect();
    let words = own.iter().flat_map(|text| text.split(|c: char| !(c.is_alphanumeric() || c == '_')));
    words.for_each(|word| *uses.entry(word).or_default() += 1);
    let mut roles: Vec<&Slot> = slots.iter().filter(|slot| slot.kind == SlotKind::Role).collect();
    roles.sort_by_key(|slot| (Reverse(uses.get(simple(&slot.key))), &slot.key));
    let mut spent = 0;
    let mut shown = BTreeMap::new();
    for slot in roles {
        let text = slot.joined_text();
        let claims = splice::claims(text.trim()).into_iter().map(sentence);
        let most = if spent < WHOLE_ROLES { usize::MAX } else { 1 };
        let role = claims.take(most).collect::<Vec<_>>().join(" ");
        spent += role.len();
        if spent > ALL_ROLES {
            break;
        }
        shown.insert(slot.key.as_str(), role);
    }
    shown
}

/// Returns a claim as one line without its mark and its evidence, which is about code that is not shown.
fn sentence(claim: &str) -> String {
    let claim = claim.strip_prefix("- ").unwrap_or(claim).trim_end_matches('.');
    let bare = claim.strip_suffix(']').and_then(|rest| rest.rsplit_once(" ["));
    let bare = bare.map_or(claim, |(bare, _)| bare);
    format!("{}.", bare.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(kind: SlotKind, key: &str, text: &str) -> Slot {
        Slot::new(kind, key, vec![(String::new(), text.to_owned())])
    }

    #[test]
    fn the_most_used_types_are_described_whole_and_others_briefly() {
        let long = format!("- Is used {}. [A, B].\n- Locks [_gate].", "often ".repeat(30));
        let uses = |name: &str, times: usize| format!("{name}; ").repeat(times);
        let mut slots = vec![slot(
            SlotKind::Code,
            "N.A",
            &[uses("Often", 9), uses("Twice", 2), uses("Thrice", 3)].concat(),
        )];
        for name in ["Never", "Often", "Once", "Thrice", "Twice", "Zero"] {
            slots.push(slot(
                SlotKind::Role,
                &format!("N.{name}"),
                &long.replace("used", &format!("{name} used")),
            ));
        }
        slots.push(slot(SlotKind::Signatures, "N.Never", "class Never"));
        let shown = describe_used_types(&slots, simple).expect("types");
        let lines: Vec<(&str, bool)> = shown
            .lines()
            .map(|line| (line.split(':').next().unwrap_or_default(), line.ends_with("Locks.")))
            .collect();
        let expected = [
            ("// Never", false),
            ("class Never", false),
            ("// Often", true),
            ("// Thrice", true),
            ("// Twice", false),
        ];
        assert_eq!(lines, expected, "{shown}");
        assert!(!shown.contains("[A, B]"), "{shown}");
        assert_eq!(describe_used_types(&slots[..1], simple), None);
    }

    #[test]
    fn a_claim_is_a_sentence_on_one_line() {
        for (claim, expected) in [
            ("- Keeps nodes [Get, _nodes].", "Keeps nodes."),
            ("- Keeps nodes [Get]", "Keeps nodes."),
            ("- Keeps\n  nodes.", "Keeps nodes."),
            ("Keeps int[].", "Keeps int[]."),
        ] {
            assert_eq!(sentence(claim), expected, "{claim}");
        }
    }
}
