//! Members in a change: those that changed, those with a new signature and their former names, those that share members with new ones, and parameters.

use super::changed_texts::names_any;
use super::evidence::simple_member_name;
use super::prompt_slots::Slot;
use super::prose::is_word;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the members whose signatures changed, each with its former name: the only added one of a simple name, and the only removed one.
pub(super) fn former_signatures<'n>(before: &[(&'n str, String)], after: &[(&'n str, String)]) -> BTreeMap<&'n str, &'n str> {
    let only_in = |texts: &[(&'n str, String)], others: &[(&'n str, String)]| {
        let others: BTreeSet<&str> = others.iter().map(|(name, _)| *name).collect();
        let mut only: BTreeMap<&'n str, Option<&'n str>> = BTreeMap::new();
        let names = texts.iter().map(|(name, _)| *name);
        for name in names.filter(|name| !name.is_empty() && !others.contains(name)) {
            only.entry(simple_member_name(name))
                .and_modify(|one| *one = None)
                .or_insert(Some(name));
        }
        only
    };
    let (added, removed) = (only_in(after, before), only_in(before, after));
    let pairs = added
        .into_iter()
        .filter_map(|(simple, name)| Some((name?, (*removed.get(simple)?)?)));
    pairs.collect()
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
    let words = text.split(|c| !is_word(c));
    let words = words.chain([simple_member_name(name)]);
    words.filter_map(|word| members.get(word).copied()).collect()
}

/// Returns the changed members, each with a word for the change.
pub(super) fn changed_members(old: Option<&Slot>, new: Option<&Slot>) -> Vec<(String, &'static str)> {
    let pieces = |slot: Option<&Slot>| -> BTreeMap<String, String> {
        let mut pieces: BTreeMap<String, String> = BTreeMap::new();
        for (name, text) in slot.into_iter().flat_map(|slot| &slot.pieces).filter(|(name, _)| !name.is_empty()) {
            pieces.entry(name.clone()).or_default().push_str(text);
        }
        pieces
    };
    let (old, new) = (pieces(old), pieces(new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let word = |name: &String| match (old.get(name), new.get(name)) {
        (None, _) => Some("added"),
        (_, None) => Some("removed"),
        (old, new) => (old != new).then_some("changed"),
    };
    names.into_iter().filter_map(|name| Some((name.clone(), word(name)?))).collect()
}

/// Returns the names of the parameters that differ between two heads of a type, if nothing else does.
pub(super) fn changed_parameters(heads: [&str; 2], name: &str) -> Option<BTreeSet<String>> {
    let [(old, before), (new, after)] = heads.map(|head| split_parameters(head, name));
    let differ = before.symmetric_difference(&after);
    let name_of = |parameter: &&str| {
        let bare = parameter.split(" = ").next()?.trim();
        bare.rsplit(' ').next().filter(|name| !name.is_empty()).map(str::to_owned)
    };
    (old == new).then(|| differ.filter_map(name_of).collect())
}

/// Splits the head of a type into the text around its parameters, and these.
fn split_parameters<'h>(head: &'h str, name: &str) -> (String, BTreeSet<&'h str>) {
    let whole = || (head.to_owned(), BTreeSet::new());
    let Some(at) = head.find(&format!(" {name}")).map(|at| at + 1 + name.len()) else {
        return whole();
    };
    let opening = match head[at..].chars().next() {
        Some('(') => Some(at),
        Some('<') => head[at..].find(">(").map(|end| at + end + 1),
        _ => None,
    };
    let Some(opening) = opening else { return whole() };
    let (mut depth, mut start) = (0_usize, opening + 1);
    let mut parameters = BTreeSet::new();
    for (place, sign) in head.char_indices().skip_while(|(place, _)| *place < opening) {
        match sign {
            '(' | '[' | '<' | '{' => depth += 1,
            ')' | ']' | '>' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 || sign == ',' && depth == 1 {
            parameters.insert(head[start..place].trim());
            start = place + 1;
        }
        if depth == 0 {
            return (format!("{}{}", &head[..opening], &head[start..]), parameters);
        }
    }
    whole()
}

/// Returns the names of the members of types whose texts have one of the words given with the type.
pub(super) fn members_with_words(words: &BTreeMap<String, BTreeSet<String>>, then: &[Slot], now: &[Slot]) -> BTreeSet<String> {
    let own = then.iter().chain(now).filter(|slot| slot.kind.is_own());
    let texts = own.filter_map(|slot| Some((words.get(&slot.key)?, &slot.pieces)));
    let members = texts.flat_map(|(words, pieces)| {
        let with = pieces.iter().filter(|(name, text)| !name.is_empty() && names_any(text, words));
        with.map(|(name, _)| simple_member_name(name).to_owned())
    });
    members.collect()
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

    #[test]
    fn only_parameters_of_a_head_may_differ() {
        let changed = |old: &str, new: &str| {
            let names = changed_parameters([old, new], "A");
            names.map(|names| names.into_iter().collect::<Vec<_>>().join(" "))
        };
        let head = |parameters: &str| format!("[X(1)] public class A<T>({parameters}) : B(x)");
        let wider = changed(
            &head("int a, Dictionary<int, string> b"),
            &head("int a, Dictionary<int, int> b, int c = 1"),
        );
        assert_eq!(wider.as_deref(), Some("b c"));
        assert_eq!(changed("class A", "class A(int a)").as_deref(), Some("a"));
        assert_eq!(changed("class A", "class A()").as_deref(), Some(""));
        assert_eq!(changed("class A(int a)", "class A(int a) : B"), None);
        assert_eq!(changed("class A", "struct A"), None);
    }
}
