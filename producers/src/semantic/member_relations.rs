//! Members that belong together in a change: those with a new signature and their former names, and those that share members with new ones.

use super::evidence::simple_member_name;
use super::prompt_slots::Slot;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the members whose signatures changed, each with its former name: the only added one of a simple name, and the only removed one.
pub(super) fn former_signatures<'n>(before: &[(&'n str, String)], after: &[(&'n str, String)]) -> BTreeMap<&'n str, &'n str> {
    let only_in = |texts: &[(&'n str, String)], others: &[(&'n str, String)], simple: &str| -> Option<&'n str> {
        let names = texts
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| simple_member_name(name) == simple);
        let mut names = names.filter(|name| others.iter().all(|(other, _)| other != name));
        let only = names.next();
        only.filter(|_| names.next().is_none())
    };
    let names = after.iter().map(|(name, _)| *name).filter(|name| !name.is_empty());
    let changed = names.filter_map(|name| {
        let simple = simple_member_name(name);
        let is_added = only_in(after, before, simple) == Some(name);
        is_added.then(|| Some((name, only_in(before, after, simple)?))).flatten()
    });
    changed.collect()
}

/// Returns the names of new members of types, of the members that these name, and of all that name one of both.
pub(super) fn sharing_members(types: &BTreeSet<String>, then: &[Slot], now: &[Slot]) -> BTreeSet<String> {
    let mut sharing = BTreeSet::new();
    for key in types {
        let pieces_in = |slots: &[Slot]| -> Vec<(String, String)> {
            let own = slots.iter().filter(|slot| slot.kind.is_own() && slot.key == *key);
            let pieces = own.flat_map(|slot| &slot.pieces).filter(|(name, _)| !name.is_empty());
            pieces.cloned().collect()
        };
        let (before, after) = (pieces_in(then), pieces_in(now));
        let members: BTreeSet<&str> = after.iter().map(|(name, _)| simple_member_name(name)).collect();
        let old: BTreeSet<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
        let new = after.iter().filter(|(name, _)| !old.contains(name.as_str()));
        let used: BTreeSet<&str> = new.flat_map(|(name, text)| named_members(&members, name, text)).collect();
        let sharers = after
            .iter()
            .filter(|(name, text)| !named_members(&members, name, text).is_disjoint(&used));
        sharing.extend(sharers.map(|(name, _)| simple_member_name(name).to_owned()));
    }
    sharing
}

/// Returns the members that the text of a member names, itself included.
fn named_members<'m>(members: &BTreeSet<&'m str>, name: &str, text: &str) -> BTreeSet<&'m str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let words = words.chain([simple_member_name(name)]);
    words.filter_map(|word| members.get(word).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::changed_texts::compare_slots;
    use crate::semantic::prompt_slots::SlotKind;

    fn slot(kind: SlotKind, key: &str, pieces: &[(&str, &str)]) -> Slot {
        let pieces = pieces.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Slot::new(kind, key, pieces.collect())
    }

    #[test]
    fn a_new_member_may_refute_what_is_denied_of_members_around_it() {
        let old = [
            ("_all", "List<int> _all"),
            ("Put()", "Put() { _all.Add(1); }"),
            ("Else()", "Else() { Other(); }"),
        ];
        let then = [slot(SlotKind::Code, "N.A", &old)];
        let new = [&old[..], &[("Clear()", "Clear() { _all = new(); }")]].concat();
        let changes = compare_slots(&then, &[slot(SlotKind::Code, "N.A", &new)]);
        let sharing: Vec<&str> = changes.sharing.iter().map(String::as_str).collect();
        assert_eq!(sharing, ["Clear", "Put", "_all"]);
    }

    #[test]
    fn a_changed_signature_is_a_change_of_one_member() {
        let texts = |parameter: &str, body: &str| {
            let declaration = format!("public int Of({parameter} a)");
            let key = format!("Of({parameter})");
            let code = format!("{key} {{\na;\n{body};\n}}");
            [
                slot(SlotKind::Structure, "N.A", &[("", "class A"), (&key, &declaration)]),
                slot(SlotKind::Code, "N.A", &[(&key, &code)]),
            ]
        };
        let lines = |then: &[Slot], now: &[Slot]| -> Vec<String> {
            let changes = compare_slots(then, now);
            changes.diffs.into_iter().map(|diff| diff.lines).collect()
        };
        assert_eq!(
            lines(&texts("int", "b"), &texts("long", "c")),
            ["", "@@ Of\n-public int Of(int a) {\n+public int Of(long a) {\n a;\n-b;\n+c;\n"]
        );
        // Code does not show parameters that are long.
        let short = |parameter: &str| {
            let [structure, mut code] = texts(parameter, "b");
            code.pieces[0].1 = "Of(…) {\na;\n}".to_owned();
            [structure, code]
        };
        assert_eq!(
            lines(&short("string"), &short("string?")),
            ["@@\n-public int Of(string a)\n+public int Of(string? a)\n"]
        );
    }
}
