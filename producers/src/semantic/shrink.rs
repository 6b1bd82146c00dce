//! Shrinks prompts that do not fit, the least important parts first; the declarations of the types themselves always stay.
//!
//! First drops the declarations of dependencies, then documentation, then all but the first line of dependencies' roles, then the roles of all
//! dependencies but those that the type's own head names. Then a group is split into parts. Then drops bodies: the longest eighth, a quarter, half,
//! all.

use super::prompt_slots::{Slot, SlotKind, simple};
use std::collections::BTreeSet;

/// The last step.
pub(super) const LAST: usize = 8;

/// The last step before a group is split.
pub(super) const BEFORE_SPLIT: usize = 4;

/// The replacement of a body.
const LEFT_OUT: &str = "/* body left out */";

/// Describes the parts that a step leaves out.
pub(super) fn describe_step(step: usize) -> &'static str {
    match step {
        0 => "nothing",
        1 => "declarations of dependencies",
        2 => "declarations of dependencies, documentation",
        3 => "declarations of dependencies, documentation, all but the first lines of roles",
        4 => "declarations of dependencies, documentation, most roles",
        5 => "the longest bodies and most of what is around the type",
        6 => "a quarter of the bodies and most of what is around the type",
        7 => "half of the bodies and most of what is around the type",
        _ => "all bodies and most of what is around the type",
    }
}

/// Returns the texts after so many steps.
pub(super) fn shrunk(slots: &[Slot], step: usize) -> Vec<Slot> {
    let mut slots = slots.to_vec();
    if step >= 1 {
        slots.retain(|slot| slot.kind != SlotKind::Signatures);
    }
    if step >= 2 {
        slots.retain(|slot| slot.kind != SlotKind::Docs);
    }
    if step >= 3 {
        let roles = slots.iter_mut().filter(|slot| slot.kind == SlotKind::Role);
        for (_, text) in roles.flat_map(|slot| &mut slot.pieces) {
            let end = text.find('\n').unwrap_or(text.len());
            text.truncate(end);
        }
    }
    if step >= 4 {
        let heads = slots
            .iter()
            .filter(|slot| slot.kind == SlotKind::Structure)
            .filter_map(|slot| slot.pieces.first());
        let near: BTreeSet<String> = heads
            .flat_map(|(_, head)| head.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_owned))
            .collect();
        slots.retain(|slot| slot.kind != SlotKind::Role || near.contains(simple(&slot.key)));
    }
    let without = match step {
        0..=4 => return slots,
        5 => 8,
        6 => 4,
        7 => 2,
        _ => 1,
    };
    let code = |slot: &Slot| slot.kind == SlotKind::Code;
    let mut lens: Vec<usize> = slots
        .iter()
        .filter(|slot| code(slot))
        .flat_map(|slot| slot.pieces.iter().map(|(_, text)| text.len()))
        .collect();
    lens.sort_unstable_by(|a, b| b.cmp(a));
    let limit = lens.get(lens.len().div_ceil(without).saturating_sub(1)).copied().unwrap_or(0);
    for (_, text) in slots.iter_mut().filter(|slot| code(slot)).flat_map(|slot| &mut slot.pieces) {
        if text.len() >= limit.max(LEFT_OUT.len() * 2) {
            *text = headless(text);
        }
    }
    slots
}

/// Returns a member without its body.
fn headless(text: &str) -> String {
    let end = [" {", " =>", " = ", "\n"]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min()
        .unwrap_or(0);
    format!("{} {LEFT_OUT}", text[..end].trim_end()).trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_shows_less_and_declarations_stay() {
        let slot = |kind, key: &str, pieces: &[(&str, String)]| Slot {
            kind,
            key: key.into(),
            pieces: pieces.iter().map(|(name, text)| ((*name).into(), text.clone())).collect(),
        };
        let body = |len: usize| format!("M{len}() {{\n{}\n}}", "x;".repeat(len));
        let members: Vec<(String, String)> = (1..=16).map(|len| (format!("M{len}()"), body(len * 40))).collect();
        let mut code = slot(SlotKind::Code, "N.A", &[]);
        code.pieces = members;
        let slots = [
            slot(
                SlotKind::Structure,
                "N.A",
                &[("", "class A : Near".into()), ("M", "void M()".into())],
            ),
            code,
            slot(SlotKind::Docs, "N.A", &[("", "docs".into())]),
            slot(SlotKind::Role, "N.Near", &[("", "one\ntwo".into())]),
            slot(SlotKind::Role, "N.Far", &[("", "one".into())]),
            slot(SlotKind::Signatures, "N.Near", &[("", "class Near".into())]),
        ];
        let len = |step: usize| shrunk(&slots, step).iter().map(|slot| slot.joined_text().len()).sum::<usize>();
        for step in 1..=LAST {
            assert!(len(step) < len(step - 1), "{step}");
            let left = shrunk(&slots, step);
            assert_eq!(left[0], slots[0]);
            assert!(left.iter().any(|slot| slot.key == "N.Near" && slot.kind == SlotKind::Role));
        }
        let last = shrunk(&slots, LAST);
        assert_eq!(last[1].pieces[3].1, "M160() /* body left out */");
        let first = shrunk(&slots, 5);
        let left_out = first[1].pieces.iter().filter(|(_, text)| text.contains(LEFT_OUT)).count();
        assert_eq!(left_out, 2, "the longest eighth of sixteen");
    }
}
