//! Renames: puts an earlier answer and its texts into present names, so that a change of names only asks no model.
//!
//! Renamed types, and renamed members of other types, are a hint of the workspace ([`engine::seams::paid::FormerNames`]). Texts count as equal only if
//! every word is equal, or an old name with its new one in its place. A member of the subject counts as renamed if one was removed, one was added, and
//! their code is equal, or without code their declarations.

use super::answer::Summaries;
use super::prompt_slots::{Slot, SlotKind, simple};
use super::prose::{explains, is_verb, is_word, mentions};
use super::replaced_words::{ReplacedWords, token};
use super::subject::type_key;
use csharp::renamed_members::uses_follow;
use csharp::types::without_arities;
use engine::seams::paid::FormerNames;
use std::collections::{BTreeMap, BTreeSet};

/// Least number of words in the code of a member that is recognised under another name even if no other member uses it.
const FEWEST_WORDS: usize = 6;

/// Limit of pieces of two texts that are compared: the time grows with their square.
const MOST_PIECES: usize = 4_000;

/// Limit of pairs of removed and added members.
const MOST_PAIRS: usize = 2_500;

/// New words by old word; the flag tells whether the old word is a name by itself (a part of a namespace is not).
pub(super) type Words = BTreeMap<String, BTreeMap<String, bool>>;

/// Former names of types.
#[derive(Clone, Debug, Default)]
pub(super) struct Renames {
    /// Former key to present key.
    keys: BTreeMap<String, String>,
    words: Words,
    /// Whole names with dots: former to present.
    dotted: BTreeMap<String, String>,
    /// Renamed members by present key of their type: former and present key in it.
    members: BTreeMap<String, Vec<(String, String)>>,
}

/// Earlier texts under present names.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    /// The texts; one that differs in names only is the present text.
    pub(super) slots: Vec<Slot>,
    /// Old words that are replaced throughout, with their new ones.
    pub(super) words: BTreeMap<String, String>,
    /// Old words that also stayed somewhere.
    also_stayed: BTreeSet<String>,
}

impl Renames {
    /// Reads the hint.
    pub(super) fn from_former(former: &FormerNames) -> Self {
        let mut renames = Self::default();
        for (new, names) in former {
            for old in names.iter().filter(|name| !name.is_origin) {
                match (new.split_once('#'), old.item.split_once('#')) {
                    (Some((of, new)), Some((_, old))) => {
                        let members = renames.members.entry(of.to_owned()).or_default();
                        members.push((old.to_owned(), new.to_owned()));
                    }
                    _ => renames.add_rename(&old.item, new),
                }
            }
        }
        renames
    }

    pub(super) fn add_rename(&mut self, old: &str, new: &str) {
        self.keys.insert(old.to_owned(), new.to_owned());
        let [from, to] = [old, new].map(|key| type_key(key).split('@').next().unwrap_or(key).replace('+', "."));
        let [from_bare, to_bare] = [&from, &to].map(|key| without_arities(key));
        let (from_parts, to_parts): (Vec<&str>, Vec<&str>) = (from_bare.split('.').collect(), to_bare.split('.').collect());
        if from_parts.len() == to_parts.len() {
            from_parts
                .iter()
                .zip(&to_parts)
                .for_each(|(old, new)| self.add_word(old, new, false));
        }
        self.add_word(simple(old), simple(new), true);
        if let (Some(old), Some(new)) = (simple(old).strip_suffix("Attribute"), simple(new).strip_suffix("Attribute")) {
            self.add_word(old, new, true);
        }
        let dotted = [(from_bare, &to_bare), (from, &to_bare), (old.to_owned(), &to_bare)];
        let whole = dotted.into_iter().filter(|(old, new)| old.contains(['.', '+']) && old != *new);
        self.dotted.extend(whole.map(|(old, new)| (old, new.clone())));
    }

    fn add_word(&mut self, old: &str, new: &str, is_name: bool) {
        if old != new && !old.is_empty() && !new.is_empty() {
            let known = self.words.entry(old.to_owned()).or_default().entry(new.to_owned()).or_default();
            *known |= is_name;
        }
    }

    /// Returns the present key of a type or of a member.
    pub(super) fn present_key(&self, key: &str) -> String {
        let of = type_key(key);
        let now = self.keys.get(of).map_or(of, String::as_str);
        match key.split_once('#') {
            Some((_, member)) => format!("{now}#{}", self.present_member(now, member)),
            None => now.to_owned(),
        }
    }

    /// Returns the present key of a member of a type, whose key is a present one.
    fn present_member(&self, of: &str, member: &str) -> String {
        let renamed = self.members.get(of).into_iter().flatten().find(|(old, _)| old == member);
        let with_types = || with_names_of_types(member, self.keys.iter().map(|(old, new)| (simple(old), simple(new))));
        renamed.map_or_else(with_types, |(_, new)| new.clone())
    }

    /// Returns the key of a member with the former names of renamed types.
    pub(super) fn former_member(&self, member: &str) -> String {
        with_names_of_types(member, self.keys.iter().map(|(old, new)| (simple(new), simple(old))))
    }

    /// Whether a key is a former one.
    pub(super) fn is_former(&self, key: &str) -> bool {
        self.present_key(key) != key
    }

    /// Puts the texts `then`, whose keys are present ones already, into present names. A name that the earlier answer explains stays a difference.
    pub(super) fn carry(&self, then: &[Slot], now: &[Slot], earlier: &Summaries) -> Carried {
        let mut words = self.words.clone();
        for (old, new) in self.own_members([then, now], &words, earlier) {
            words.entry(old).or_default().insert(new, true);
        }
        let mut used = BTreeSet::new();
        let of_members = now.iter().filter_map(|slot| Some((&slot.key, self.members.get(&slot.key)?)));
        for (of, (old, new)) in of_members.flat_map(|(of, pairs)| pairs.iter().map(move |pair| (of, pair))) {
            if !self.is_unambiguous(then, of, (old, new)) {
                continue;
            }
            let [old, new] = [old, new].map(|key| member_name(key).to_owned());
            used.insert(old.clone());
            words.entry(old).or_default().insert(new, true);
        }
        let mut carried = self.carry_words(&words, then, now);
        // Another type may still have a member of the old name: a sentence can be about either.
        let ambiguous = carried.also_stayed.intersection(&used);
        let explained = carried.words.keys().filter(|old| explains(earlier, old));
        let open: Vec<String> = explained.chain(ambiguous).cloned().collect();
        if !open.is_empty() {
            words.retain(|old, _| !open.contains(old));
            carried = self.carry_words(&words, then, now);
        }
        carried
    }

    fn carry_words(&self, words: &Words, then: &[Slot], now: &[Slot]) -> Carried {
        if words.is_empty() && self.dotted.is_empty() {
            return Carried {
                slots: then.to_vec(),
                ..Carried::default()
            };
        }
        let mut seen = ReplacedWords::default();
        let mut slots: Vec<Slot> = then.iter().map(|slot| self.slot(slot, now, words, &mut seen)).collect();
        let carried = seen.replaced_names(words);
        for slot in &mut slots {
            let same = now.iter().find(|other| (other.kind, &other.key) == (slot.kind, &slot.key));
            let pieces: BTreeSet<&(String, String)> = same.iter().flat_map(|same| &same.pieces).collect();
            for piece in slot.pieces.iter_mut().filter(|piece| !pieces.contains(&**piece)) {
                *piece = (self.renamed_text(&piece.0, &carried), self.renamed_text(&piece.1, &carried));
            }
        }
        Carried {
            slots,
            words: carried,
            also_stayed: seen.stayed,
        }
    }

    /// Replaces the pieces of a text that differ in names only by the present ones, in the present order if these are all.
    fn slot(&self, then: &Slot, now: &[Slot], words: &Words, seen: &mut ReplacedWords) -> Slot {
        let mut slot = then.clone();
        let Some(same) = now.iter().find(|other| (other.kind, &other.key) == (then.kind, &then.key)) else {
            return slot;
        };
        if then.pieces.len().max(same.pieces.len()) > MOST_PIECES {
            return slot;
        }
        let mut open: Vec<&(String, String)> = same.pieces.iter().collect();
        for piece in &mut slot.pieces {
            let fits = |other: &&(String, String)| {
                let mut found = ReplacedWords::default();
                let fits = found.same(&piece.0, &other.0, words, self) && found.same(&piece.1, &other.1, words, self);
                fits.then_some(found)
            };
            // Usually the piece of the same name fits.
            let named = open.iter().position(|other| other.0 == piece.0 && fits(other).is_some());
            if let Some(at) = named.or_else(|| open.iter().position(|other| fits(other).is_some())) {
                let other = open.remove(at);
                let mut found = fits(&other).unwrap_or_default();
                if then.kind == SlotKind::Role {
                    // Former names in other types' roles do not keep a name.
                    found.stayed.clear();
                }
                seen.extend(found);
                piece.clone_from(other);
            }
        }
        if open.is_empty() && slot.pieces.len() == same.pieces.len() {
            slot.pieces.clone_from(&same.pieces);
        }
        slot
    }

    /// Returns the renamed members: one was removed, and one was added, with equal code; or with equal declarations and no code, if code of the type uses
    /// both names in the same places, or no sentence mentions the old one.
    fn own_members(&self, [then, now]: [&[Slot]; 2], words: &Words, earlier: &Summaries) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for before in then.iter().filter(|slot| matches!(slot.kind, SlotKind::Structure | SlotKind::Code)) {
            let Some(after) = now.iter().find(|slot| (slot.kind, &slot.key) == (before.kind, &before.key)) else {
                continue;
            };
            if before.pieces.len().max(after.pieces.len()) > MOST_PIECES {
                continue;
            }
            let code = [then, now].map(|slots| code_pieces(slots, &before.key));
            let is_declared = before.kind == SlotKind::Structure;
            let missing = |these: &Slot, others: &Slot, code: &[(String, String)]| -> Vec<(String, String)> {
                let has = |pieces: &[(String, String)], name: &str| pieces.iter().any(|(other, _)| other == name);
                let is_open = |name: &str| !(name.is_empty() || has(&others.pieces, name) || is_declared && has(code, name));
                let missing = these.pieces.iter().filter(|(name, _)| is_open(name));
                missing.cloned().collect()
            };
            let (gone, come) = (missing(before, after, code[0]), missing(after, before, code[1]));
            if gone.len() * come.len() > MOST_PAIRS {
                continue;
            }
            let same = |(gone, old): &(String, String), (come, new): &(String, String)| {
                let pair = [gone, come].map(|name| member_name(name).to_owned());
                let known = |name: &str| !name.is_empty() && name.chars().all(is_word);
                let is_long = || old.split(|c| !is_word(c)).filter(|word| !word.is_empty()).count() >= FEWEST_WORDS;
                if pair[0] == pair[1] || !known(&pair[0]) || !known(&pair[1]) {
                    return None;
                }
                let mut words = words.clone();
                words.entry(pair[0].clone()).or_default().insert(pair[1].clone(), true);
                let is_same = |then: &str, now: &str| ReplacedWords::default().same(then, now, &words, self);
                let is_shown = || match is_declared {
                    true => !mentions(earlier, &pair[0]),
                    false => is_long(),
                };
                let is_used = || uses_follow(code, [&pair[0], &pair[1]]);
                (is_same(gone, come) && is_same(old, new) && (is_shown() || is_used())).then_some(pair)
            };
            let pairs: Vec<[String; 2]> = gone
                .iter()
                .flat_map(|gone| come.iter().filter_map(move |come| same(gone, come)))
                .collect();
            let only = |pair: &&[String; 2]| pairs.iter().filter(|other| other[0] == pair[0] || other[1] == pair[1]).count() == 1;
            found.extend(pairs.iter().filter(only).map(|[old, new]| (old.clone(), new.clone())));
        }
        found
    }

    /// Whether the former name of a member of a type is the name of no other member that is shown and was not renamed likewise, and its new name that of
    /// none.
    fn is_unambiguous(&self, then: &[Slot], of: &str, (old, new): (&str, &str)) -> bool {
        let declares = |slot: &&Slot| matches!(slot.kind, SlotKind::Structure | SlotKind::Code | SlotKind::Signatures);
        let mut members = then
            .iter()
            .filter(declares)
            .flat_map(|slot| slot.pieces.iter().map(move |(key, _)| (slot.key.as_str(), key.as_str())));
        let is_renamed = |owner: &str, key: &str| {
            let now = self.present_member(owner, key);
            (owner == of && key == old) || now != key && member_name(&now) == member_name(new)
        };
        let is_other = |(owner, key): (&str, &str)| {
            let name = member_name(key);
            name == member_name(new) || name == member_name(old) && !is_renamed(owner, key)
        };
        !members.any(is_other)
    }

    /// Rewrites an earlier answer with present names. Sections written by a person remain unchanged.
    pub(super) fn summaries(
        &self,
        earlier: &Summaries,
        words: &BTreeMap<String, String>,
        theirs: &BTreeSet<(String, String)>,
    ) -> Summaries {
        let mut earlier = earlier.clone();
        for (key, sections) in &mut earlier {
            for (name, text) in sections {
                if !theirs.contains(&(key.clone(), name.clone())) {
                    *text = self.renamed_text(text, words);
                }
            }
        }
        earlier
    }

    pub(super) fn renamed_text(&self, text: &str, words: &BTreeMap<String, String>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(token) = token(rest) {
            if let Some((len, now)) = self.whole_name(&out, rest) {
                out.push_str(now);
                rest = &rest[len..];
                continue;
            }
            rest = &rest[token.len()..];
            match words.get(token) {
                Some(new) if !is_verb(&out, token, rest) => out.push_str(new),
                _ => out.push_str(token),
            }
        }
        out
    }

    /// Finds a former name with its namespace at the beginning of `rest`, after `before`: its length, and the present name.
    pub(super) fn whole_name(&self, before: &str, rest: &str) -> Option<(usize, &str)> {
        let is_part = |c: char| is_word(c) || matches!(c, '.' | '+' | '`');
        if self.dotted.is_empty() || !rest.starts_with(is_word) || before.ends_with(is_part) {
            return None;
        }
        let chain = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let ends = chain.char_indices().filter(|(_, c)| !is_word(*c)).map(|(at, _)| at);
        let mut ends: Vec<usize> = ends.chain([chain.len()]).collect();
        ends.reverse();
        ends.into_iter()
            .find_map(|end| Some((end, self.dotted.get(&chain[..end])?.as_str())))
    }
}

/// Returns the code of a type by member.
fn code_pieces<'s>(slots: &'s [Slot], key: &str) -> &'s [(String, String)] {
    let code = slots.iter().find(|slot| slot.kind == SlotKind::Code && slot.key == key);
    code.map(|slot| &slot.pieces[..]).unwrap_or_default()
}

/// Returns the key of a member with other names of types in its parameters and before its name.
fn with_names_of_types<'n>(key: &str, pairs: impl Iterator<Item = (&'n str, &'n str)>) -> String {
    let names: BTreeMap<&str, &str> = pairs.collect();
    let end = key.find('(').unwrap_or(key.len());
    let start = key[..end].rfind('.').unwrap_or(0);
    let mut out = String::new();
    let mut at = 0;
    while let Some(word) = token(&key[at..]) {
        let is_name = (start..end).contains(&at);
        out.push_str(names.get(word).filter(|_| !is_name).unwrap_or(&word));
        at += word.len();
    }
    out
}

/// Returns the name in the key of a member.
fn member_name(key: &str) -> &str {
    key.split(['(', '<', '`']).next().unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::seams::paid::FormerName;
    use proptest::prelude::*;

    fn renames(pairs: &[(&str, &str)]) -> Renames {
        let mut former = FormerNames::new();
        for (old, new) in pairs {
            let name = FormerName {
                item: (*old).to_owned(),
                id: "T_1".to_owned(),
                is_origin: false,
            };
            former.entry((*new).to_owned()).or_default().push(name);
        }
        Renames::from_former(&former)
    }

    fn code(pieces: &[(&str, &str)]) -> Slot {
        code_of("N.User", pieces)
    }

    fn code_of(key: &str, pieces: &[(&str, &str)]) -> Slot {
        Slot {
            kind: SlotKind::Code,
            key: key.into(),
            pieces: pieces.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
        }
    }

    fn said(text: &str) -> Summaries {
        Summaries::from([("N.User".to_owned(), BTreeMap::from([("ROLE".to_owned(), text.to_owned())]))])
    }

    /// Returns whether the texts are equal, and the carried answer.
    fn carried(pairs: &[(&str, &str)], then: &[(&str, &str)], now: &[(&str, &str)], text: &str) -> (bool, String) {
        let (renames, now) = (renames(pairs), [code(now)]);
        let carried = renames.carry(&[code(then)], &now, &said(text));
        let said = renames.summaries(&said(text), &carried.words, &BTreeSet::new());
        (carried.slots == now, said["N.User"]["ROLE"].clone())
    }

    #[test]
    fn only_names_may_differ() {
        let pairs = [("A.Store", "B.Vault"), ("A.Node", "A.Leaf")];
        for (then, now, same) in [
            ("Store s = new Store();", "Vault s = new Vault();", true),
            // A property may keep the name of its type.
            ("Store Store; Node n;", "Vault Store; Leaf n;", true),
            ("A.Store s;", "B.Vault s;", true),
            ("Store s = 1;", "Vault s = 2;", false),
            ("Store s;", "Vault t;", false),
            ("Store s;", "Shelf s;", false),
            ("Vault s;", "Store s;", false),
            ("Store s;", "Vault s; ", false),
            ("Stores s;", "Vaults s;", false),
            ("Store s;", "Store s;", true),
        ] {
            assert_eq!(carried(&pairs, &[("M", then)], &[("M", now)], "").0, same, "{then} | {now}");
        }
    }

    #[test]
    fn words_of_an_answer_follow_what_the_code_shows() {
        let pairs = [("A.Store", "B.Vault"), ("A.Node", "A.Leaf")];
        let text = "- Store nodes in a Store. Store keeps `Node`, Stores and A.Store.Get [Store.Get].";
        let shown = |then: &str, now: &str| carried(&pairs, &[("M", then)], &[("M", now)], text).1;
        assert_eq!(
            shown("Store Node", "Vault Leaf"),
            "- Store nodes in a Vault. Vault keeps `Leaf`, Stores and B.Vault.Get [Vault.Get]."
        );
        // A word that stays somewhere keeps its meaning; one that the code does not show may have any.
        assert_eq!(
            shown("Store Node Node", "Vault Node Leaf"),
            "- Store nodes in a Vault. Vault keeps `Node`, Stores and B.Vault.Get [Vault.Get]."
        );
        assert_eq!(
            shown("x", "x"),
            "- Store nodes in a Store. Store keeps `Node`, Stores and B.Vault.Get [Store.Get]."
        );
    }

    #[test]
    fn names_may_change_places() {
        let pairs = [("N.A", "N.B"), ("N.B", "N.A")];
        let (same, text) = carried(
            &pairs,
            &[("M", "A a; B b;")],
            &[("M", "B a; A b;")],
            "- The A and the B [N.A, N.B].",
        );
        assert_eq!((same, text.as_str()), (true, "- The B and the A [N.B, N.A]."));
    }

    #[test]
    fn a_member_is_recognised_by_its_code_alone() {
        let body = "(int n) { for (;;) { total += n; } return total; }";
        let (old, new) = (format!("Sum{body}"), format!("Total{body}"));
        let calls = ("Use()", "Use() { Sum(1); }");
        let then = [("Sum(int)", old.as_str()), calls];
        let now = [("Total(int)", new.as_str()), ("Use()", "Use() { Total(1); }")];
        assert_eq!(carried(&[], &then, &now, "- Adds [Sum]."), (true, "- Adds [Total].".to_owned()));
        // A field, by the code that uses it.
        let field = |name: &str| (name.to_owned(), format!("int {name}"), format!("return {name};"));
        let [(old_name, old_field, old_use), (new_name, new_field, new_use)] = ["_sum", "_all"].map(field);
        let then_used = [(&*old_name, &*old_field), ("Get()", &*old_use)];
        let now_used = [(&*new_name, &*new_field), ("Get()", &*new_use)];
        assert_eq!(
            carried(&[], &then_used, &now_used, "- Keeps [_sum]."),
            (true, "- Keeps [_all].".to_owned())
        );
        // Two members with the same code, or too little of it.
        let twin = format!("Other{body}");
        let two = [("Sum(int)", old.as_str()), ("Other(int)", twin.as_str())];
        assert!(!carried(&[], &two, &now[..1], "").0);
        assert!(!carried(&[], &[("A", "int A")], &[("B", "int B")], "").0);
        assert!(!carried(&[], &then, &now, "- Sum does what its name says [Sum].").0);
    }

    #[test]
    fn a_declaration_without_code_is_renamed_if_its_use_shows_it_or_no_sentence_names_it() {
        let texts = |name: &str, used: &str| {
            let declared = Slot {
                kind: SlotKind::Structure,
                ..code(&[("", "class User"), (name, &format!("public int {name} {{ get; set; }}"))])
            };
            [declared, code(&[("Go()", used)])]
        };
        let is_carried = |used: [&str; 2], text: &str| {
            let (then, now) = (texts("Size", used[0]), texts("Width", used[1]));
            renames(&[]).carry(&then, &now, &said(text)).slots == now
        };
        assert!(is_carried(["x", "x"], "- Goes [Go]."));
        assert!(!is_carried(["x", "x"], "- Goes so far [Size]."));
        assert!(is_carried(["return Size;", "return Width;"], "- Goes so far [Size]."));
        assert!(!is_carried(["return Size;", "return Width;"], "- Size names how far [Size]."));
    }

    #[test]
    fn a_renamed_member_of_another_type_is_carried_over() {
        let used = |name: &str, code: &str| {
            let own = code_of("N.User", &[("Go()", code)]);
            let declaration = format!("int {name}(int n)");
            [
                own,
                Slot {
                    kind: SlotKind::Signatures,
                    ..code_of("N.Store", &[(&format!("{name}(int)"), &declaration)])
                },
            ]
        };
        let present = |key: &str| renames(&[("N.Store", "N.Vault")]).present_key(key);
        let renames = renames(&[("N.Store#Sum(int)", "N.Store#Total(int)")]);
        let carry = |then: &str, now: &str| renames.carry(&used("Sum", then), &used("Total", now), &said("Calls Sum."));
        let carried = carry("Go() { s.Sum(1); }", "Go() { s.Total(1); }");
        assert_eq!(carried.slots, used("Total", "Go() { s.Total(1); }"));
        assert_eq!(carried.words, BTreeMap::from([("Sum".to_owned(), "Total".to_owned())]));
        let other = "Go() { s.Total(1); o.Sum(2); }";
        assert_ne!(
            carry("Go() { s.Sum(1); o.Sum(2); }", other).slots,
            used("Total", other),
            "another type's Sum stays"
        );
        assert_ne!(
            carry("Go() { s.Sum(1); }", "Go() { s.Total(2); }").slots,
            used("Total", "Go() { s.Total(2); }")
        );
        assert_eq!(renames.present_key("N.Store#Sum(int)"), "N.Store#Total(int)");
        assert_eq!(present("N.Store#Store(Store,Node)"), "N.Vault#Store(Vault,Node)");
        assert_eq!(present("N.Node#Store.Get(N.Store[])"), "N.Node#Vault.Get(N.Vault[])");
        // Another dependency has a member of the old name, or of the new one: a call could have gone over to it.
        for other in ["Sum(int)", "Total(string)"] {
            let disk = Slot {
                kind: SlotKind::Signatures,
                ..code_of("N.Disk", &[(other, "int Of(int n)")])
            };
            let [then, now] = [("Sum", "Go() { s.Sum(1); }"), ("Total", "Go() { s.Total(1); }")]
                .map(|(name, code)| used(name, code).into_iter().chain([disk.clone()]).collect::<Vec<_>>());
            assert_ne!(renames.carry(&then, &now, &said("Calls Sum.")).slots, now, "{other}");
        }
    }

    proptest! {
        /// A rename and its reverse give the same text again.
        #[test]
        fn a_rename_and_its_reverse_are_nothing(text in "(Store|Node|A\\.Store|x|A|\\.| |;|\n|é){0,30}") {
            let there = renames(&[("A.Store", "B.Depot")]);
            let back = renames(&[("B.Depot", "A.Store")]);
            let words = |old: &str, new: &str| BTreeMap::from([(old.to_owned(), new.to_owned())]);
            let once = there.renamed_text(&text, &words("Store", "Depot"));
            prop_assert_eq!(back.renamed_text(&once, &words("Depot", "Store")), text);
        }

        #[test]
        fn any_texts_are_compared(then in any::<String>(), now in any::<String>()) {
            carried(&[("A.Store", "B.Vault")], &[("M", &then)], &[("M", &now)], &then);
        }
    }
}
