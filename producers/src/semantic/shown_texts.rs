//! The texts that a model was shown, stored with its answer: the next question is asked as a difference from them, on any machine.

use super::prompt_slots::{Slot, SlotKind};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Limit of bytes of the record; a longer one is not stored, and the stored inputs are compared instead.
const LONGEST: usize = 512 * 1024;

/// Texts by kind, type and member.
type Stored = Vec<(SlotKind, String, Vec<(String, String)>)>;

/// Encodes the texts; empty above the limit.
pub(super) fn encode_slots(slots: &[Slot]) -> Arc<[u8]> {
    let all: Stored = slots
        .iter()
        .map(|slot| (slot.kind, slot.key.clone(), slot.pieces.clone()))
        .collect();
    let bytes = engine::values::json::encode(&all);
    if bytes.len() > LONGEST { Arc::default() } else { bytes.into() }
}

/// Decodes texts, without those of the types `withheld` and the declarations of `hidden` ones. They may come from another machine, and from a version
/// with other rules for secrets: they are cleaned again. `None` when there are none.
pub(super) fn decode_slots(
    bytes: &[u8],
    key: impl Fn(&str) -> String,
    withheld: &BTreeSet<&str>,
    hidden: &BTreeSet<String>,
) -> Option<Vec<Slot>> {
    let stored: Stored = serde_json::from_slice(bytes).ok()?;
    let slots = stored.into_iter().map(|(kind, old, pieces)| Slot::new(kind, &key(&old), pieces));
    let may_be_shown = |slot: &Slot| match slot.kind {
        SlotKind::Role => true,
        SlotKind::Signatures => !hidden.contains(&slot.key) && !withheld.contains(slot.key.as_str()),
        SlotKind::Structure | SlotKind::Code | SlotKind::Docs => !withheld.contains(slot.key.as_str()),
    };
    Some(slots.filter(|slot| !slot.pieces.is_empty() && may_be_shown(slot)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slot(kind: SlotKind, key: &str, text: &str) -> Slot {
        Slot::new(kind, key, vec![("M()".to_owned(), text.to_owned())])
    }

    proptest! {
        #[test]
        fn written_slots_are_read_back(texts in proptest::collection::vec("[a-z {};\n]{1,40}", 1..5)) {
            let slots: Vec<Slot> = texts.iter().enumerate().map(|(at, text)| slot(SlotKind::Code, &format!("N.T{at}"), text)).collect();
            let read = decode_slots(&encode_slots(&slots), str::to_owned, &BTreeSet::new(), &BTreeSet::new());
            prop_assert_eq!(read, Some(slots));
        }

        #[test]
        fn any_bytes_are_read_or_not(bytes: Vec<u8>) {
            decode_slots(&bytes, str::to_owned, &BTreeSet::new(), &BTreeSet::new());
        }
    }

    #[test]
    fn texts_that_are_secret_now_are_not_shown() {
        let slots = [
            slot(SlotKind::Signatures, "N.Old", "int Size"),
            slot(SlotKind::Role, "N.Old", "Keeps."),
            slot(SlotKind::Code, "N.Mine", "int x"),
        ];
        let key = |key: &str| key.replace("Old", "New");
        let read = |withheld: &[&str], hidden: &[&str]| {
            let hidden = hidden.iter().map(|key| (*key).to_owned()).collect();
            let slots = decode_slots(&encode_slots(&slots), key, &withheld.iter().copied().collect(), &hidden).expect("ours");
            slots.into_iter().map(|slot| (slot.kind, slot.key)).collect::<Vec<_>>()
        };
        let role = (SlotKind::Role, "N.New".to_owned());
        assert_eq!(read(&["N.Mine"], &["N.New"]), std::slice::from_ref(&role));
        assert_eq!(read(&[], &["N.New"]), [role, (SlotKind::Code, "N.Mine".to_owned())]);
        let text = "password = \"hunter2hunter2\"";
        let leaked = serde_json::to_vec(&vec![(SlotKind::Code, "N.A", vec![("", text)])]).expect("json");
        let read = super::decode_slots(&leaked, str::to_owned, &BTreeSet::new(), &BTreeSet::new()).expect("ours");
        assert!(!read[0].joined_text().contains("hunter2"), "{}", read[0].joined_text());
    }

    #[test]
    fn too_much_is_not_filed() {
        assert!(encode_slots(&[slot(SlotKind::Code, "N.A", &"x ".repeat(LONGEST))]).is_empty());
    }
}
