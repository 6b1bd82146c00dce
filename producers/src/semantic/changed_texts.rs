//! The changes between the inputs of an earlier answer and the present ones: a unified diff of every text, the members in it, and the changed share.

use super::churn_guard::is_odd;
use super::code_lines::shorten_literals;
use super::declared_code::DeclaredChanges;
use super::evidence::simple_member_name;
use super::member_relations::{changed_members, changed_parameters, former_signatures, members_with_words, sharing_members};
use super::prompt_slots::{Slot, SlotKind, simple};
use super::prose::is_word;
use super::split_off::SplitOff;
use super::test_methods::is_test;
use rustc_hash::FxHashMap;
use similar::{Change, ChangeTag, TextDiff};
use std::collections::{BTreeMap, BTreeSet};

/// Limit of bytes of the diff of one text.
const LONGEST: usize = 60_000;

/// Limit of lines for a comparison by lines, which could take long; longer texts count as wholly changed.
const MOST_LINES: usize = 20_000;

/// If several declarations of a type, and more than one in so many, changed, the purpose of the type may have changed.
const REDEFINING: usize = 5;

/// The difference between two sets of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChangedTexts {
    /// The difference of every changed text.
    pub(super) diffs: Vec<TextDifference>,
    /// Members that were added, changed or removed, as `Type.member (what)`.
    pub(super) members: Vec<String>,
    /// Simple names of those members.
    pub(super) names: BTreeSet<String>,
    /// Those names, and names of changed declarations of dependencies.
    pub(super) moved: BTreeSet<String>,
    /// Names of members of the subject whose code names one of these, themselves included.
    pub(super) near: BTreeSet<String>,
    /// Names of members of the subject whose code reaches one of these, however far, themselves included.
    pub(super) reached: BTreeSet<String>,
    /// Words on changed lines of the code, declarations or documentation of the subject.
    pub(super) touched: BTreeSet<String>,
    /// Dependencies with a change in their shown parts.
    pub(super) dependencies: BTreeSet<String>,
    /// Types whose code, declarations or documentation changed.
    pub(super) types: BTreeSet<String>,
    /// Types whose declarations changed.
    pub(super) declared: BTreeSet<String>,
    /// Types with so many changed declarations that their purpose may have changed.
    pub(super) redefined: BTreeSet<String>,
    /// Types that the earlier answer is not about.
    pub(super) new_types: BTreeSet<String>,
    /// Types with a new member that is no test.
    pub(super) extended: BTreeSet<String>,
    /// Names of members of these types that share a member with a new one: what is denied of them may have become true.
    pub(super) sharing: BTreeSet<String>,
    /// Types with a changed text that belongs to no named member: a head, documentation of the type, an operator, an indexer, or everything.
    pub(super) whole: BTreeSet<String>,
    /// Types of whose head only the parameters changed, with the names of these.
    pub(super) parameters: BTreeMap<String, BTreeSet<String>>,
    /// Types with a changed constructor.
    pub(super) constructed: BTreeSet<String>,
    /// Whether the code, declarations or documentation of the subject changed.
    pub(super) own: bool,
    /// Whether a used declaration of a dependency changed or was removed.
    pub(super) used: bool,
    /// Whether code changed that belongs to no member: that of a member alone, a body without members.
    pub(super) code: bool,
    /// Changed share of the text, from 0 to 1.
    pub(super) share: f64,
    /// Of a group, the changes as each of its known types sees them: to it, the others are dependencies.
    pub(super) by_type: BTreeMap<String, ChangedTexts>,
    /// If the earlier answer is about a type from which the subject was split off.
    pub(super) split_off: Option<Box<SplitOff>>,
}

/// The difference of one text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextDifference {
    pub(super) kind: SlotKind,
    /// The type that the text belongs to.
    pub(super) key: String,
    /// Its changed lines.
    pub(super) lines: String,
    /// Whether it is a text of a dependency that had none before.
    pub(super) is_of_new_dependency: bool,
}

impl ChangedTexts {
    /// Whether nothing changed.
    pub(super) fn is_empty(&self) -> bool {
        self.diffs.is_empty()
    }

    /// Adds the difference of a text of the subject.
    fn add_own(&mut self, kind: SlotKind, key: &str, [old, new]: [Option<&Slot>; 2]) {
        self.own = true;
        self.types.insert(key.to_owned());
        if kind == SlotKind::Structure {
            self.declared.insert(key.to_owned());
            let most = [old, new].into_iter().flatten().map(|slot| slot.pieces.len()).max();
            let [before, after] = [old, new].map(|slot| slot.map(Slot::text_by_member).unwrap_or_default());
            // A new signature is one change, of the removed and the added one.
            let count = changed_members(old, new).len() - former_signatures(&before, &after).len();
            if count > 1 && count * REDEFINING > most.unwrap_or(0) {
                self.redefined.insert(key.to_owned());
            }
        }
        if self.new_types.contains(key) {
            return;
        }
        let heads = [old, new].map(|slot| text_of_no_member(slot).unwrap_or_default());
        if heads[0] != heads[1] {
            match changed_parameters(heads, simple(key)).filter(|_| kind == SlotKind::Structure) {
                Some(parameters) => {
                    self.parameters.insert(key.to_owned(), parameters);
                    self.constructed.insert(key.to_owned());
                }
                None => drop(self.whole.insert(key.to_owned())),
            }
            self.code |= kind == SlotKind::Code;
        }
        for (name, what) in changed_members(old, new) {
            match simple_member_name(&name) {
                ".ctor" => drop(self.constructed.insert(key.to_owned())),
                simple if is_odd(simple) => drop(self.whole.insert(key.to_owned())),
                _ if what == "added" && !is_test(&new.map(|new| new.text_of_member(&name)).unwrap_or_default()) => {
                    self.extended.insert(key.to_owned());
                }
                _ => {}
            }
        }
    }
}

/// Returns the earlier and the present text of each kind and type, in order.
pub(super) fn pairs<'s>(then: &'s [Slot], now: &'s [Slot]) -> BTreeMap<(SlotKind, &'s str), [Option<&'s Slot>; 2]> {
    let mut pairs: BTreeMap<(SlotKind, &str), [Option<&Slot>; 2]> = BTreeMap::new();
    for (side, slots) in [then, now].into_iter().enumerate() {
        for slot in slots {
            pairs.entry((slot.kind, &slot.key)).or_default()[side] = Some(slot);
        }
    }
    pairs
}

/// Compares the earlier texts with the present ones.
pub(super) fn compare_slots(then: &[Slot], now: &[Slot]) -> ChangedTexts {
    let mut changes = compare_texts(then, now);
    let own = now.iter().filter(|slot| slot.kind == SlotKind::Structure);
    let types: BTreeSet<&str> = own.map(|slot| slot.key.as_str()).collect();
    if types.len() > 1 {
        let differs: BTreeSet<(SlotKind, &str)> = changes.diffs.iter().map(|diff| (diff.kind, diff.key.as_str())).collect();
        let known = types.into_iter().filter(|key| !changes.new_types.contains(*key));
        let by_type = known.map(|key| {
            let is_seen = |slot: &&Slot| slot.key == key || differs.contains(&(slot.kind, &slot.key));
            let [then, now] = [then, now].map(|slots| {
                let seen: Vec<Slot> = slots.iter().filter(is_seen).cloned().collect();
                declarations_of_others(&seen, &BTreeSet::from([key]))
            });
            (key.to_owned(), compare_texts(&then, &now))
        });
        changes.by_type = by_type.collect();
    }
    changes
}

/// Returns texts in which the types of a group that are not meant are dependencies: their declarations.
pub(super) fn declarations_of_others(slots: &[Slot], about: &BTreeSet<&str>) -> Vec<Slot> {
    let keep = |slot: &Slot| -> Option<Slot> {
        if !slot.kind.is_own() || about.contains(slot.key.as_str()) {
            return Some(slot.clone());
        }
        (slot.kind == SlotKind::Structure).then(|| Slot {
            kind: SlotKind::Signatures,
            ..slot.clone()
        })
    };
    slots.iter().filter_map(keep).collect()
}

fn compare_texts(then: &[Slot], now: &[Slot]) -> ChangedTexts {
    let types_of = |slots: &[Slot]| -> BTreeSet<String> {
        let own = slots.iter().filter(|slot| slot.kind == SlotKind::Structure);
        own.map(|slot| slot.key.clone()).collect()
    };
    let mut changes = ChangedTexts {
        new_types: &types_of(now) - &types_of(then),
        ..ChangedTexts::default()
    };
    let (mut changed, mut all) = (0_usize, 0_usize);
    let mut members: BTreeMap<String, &str> = BTreeMap::new();
    let mut used = BTreeSet::new();
    let pairs = pairs(then, now);
    for (&(kind, key), &[old, new]) in &pairs {
        let [old_text, new_text] = [old, new].map(|slot| slot.map(Slot::joined_text).unwrap_or_default());
        all += old_text.len() + new_text.len();
        if old_text == new_text {
            continue;
        }
        let bytes = changed_bytes(&old_text, &new_text);
        changed += bytes;
        let difference = |lines: &str| TextDifference {
            kind,
            key: key.to_owned(),
            lines: super::prompt_slots::cut_to_bytes(lines, LONGEST),
            is_of_new_dependency: !kind.is_own() && old.is_none(),
        };
        if bytes == old_text.len() + new_text.len() && old.is_some() && new.is_some() && bytes > LONGEST {
            changes.diffs.push(difference("everything is different"));
            changes.used |= !kind.is_own();
            if kind.is_own() {
                changes.add_own(kind, key, [old, new]);
                changes.whole.insert(key.to_owned());
                changes.declared.insert(key.to_owned());
            }
            continue;
        }
        let is_new = kind.is_own() && changes.new_types.contains(key);
        changes.diffs.push(difference(&if is_new {
            shorten_literals(&new_text)
        } else {
            changed_lines(old, new, &changes_declared_in_code(&pairs, key))
        }));
        if is_new {
            changes.add_own(kind, key, [old, new]);
            members.insert(simple(key).to_owned(), "added");
        } else if kind.is_own() {
            changes.add_own(kind, key, [old, new]);
            changes.touched.extend(touched_words(old, new));
            for (name, what) in changed_members(old, new) {
                changes.names.insert(name.split('(').next().unwrap_or(&name).to_owned());
                members.entry(format!("{}.{name}", simple(key))).or_insert(what);
            }
        } else {
            changes.dependencies.insert(key.to_owned());
            let is_there = |piece: &(String, String)| new.is_some_and(|new| new.pieces.contains(piece));
            changes.used |= kind == SlotKind::Signatures && old.is_some_and(|old| !old.pieces.iter().all(is_there));
            if kind == SlotKind::Signatures {
                used.extend(moved_names(key, [old, new]));
            }
        }
    }
    changes.sharing = sharing_members(&changes.extended, then, now);
    let mut roots = changes.names.clone();
    roots.extend(assigned_by_constructors(&changes.constructed, then, now));
    roots.extend(members_with_words(&changes.parameters, then, now));
    let own: Vec<&Slot> = now.iter().chain(then).filter(|slot| slot.kind.is_own()).collect();
    let namesakes = find_namesakes(&own, &used, &changes.names);
    roots.extend(used);
    if !roots.is_empty() {
        let code = own.iter().copied().filter(|slot| slot.kind == SlotKind::Code);
        (changes.near, changes.reached) = reaching(&roots, namesakes, &changes.constructed, code);
    }
    changes.moved = roots;
    changes.members = members.into_iter().map(|(name, what)| format!("{name} ({what})")).collect();
    changes.share = if all == 0 { 0.0 } else { changed as f64 / all as f64 };
    changes
}

/// Returns the added and removed members of a type that its code declares, unless no difference of the code is shown.
fn changes_declared_in_code(pairs: &BTreeMap<(SlotKind, &str), [Option<&Slot>; 2]>, key: &str) -> DeclaredChanges {
    let pair = |kind: SlotKind| pairs.get(&(kind, key)).copied().unwrap_or_default();
    let code = pair(SlotKind::Code);
    let texts = code.map(|slot| slot.map(Slot::joined_text).unwrap_or_default());
    // A member whose signature alone changed may have the same code.
    if texts[0] == texts[1] || texts[0].len() + texts[1].len() > LONGEST {
        return DeclaredChanges::default();
    }
    DeclaredChanges::compare(pair(SlotKind::Structure), code)
}

/// Returns the names of a dependency's declarations that changed or were removed, because unchanged code may reach them.
fn moved_names(key: &str, [old, new]: [Option<&Slot>; 2]) -> BTreeSet<String> {
    let is_other = old.is_some() && text_of_no_member(old) != text_of_no_member(new);
    let members = changed_members(old, new).into_iter().filter(|(_, what)| *what != "added");
    let members = members.map(|(name, _)| simple_member_name(&name).to_owned());
    members.chain(is_other.then(|| simple(key).to_owned())).collect()
}

/// Returns the members that the changed lines of changed constructors of these types name: their values may have changed.
fn assigned_by_constructors(types: &BTreeSet<String>, then: &[Slot], now: &[Slot]) -> BTreeSet<String> {
    let mut assigned = BTreeSet::new();
    for ((kind, key), sides) in pairs(then, now) {
        if kind != SlotKind::Code || !types.contains(key) {
            continue;
        }
        let constructors = sides.map(|slot| slot.map(|slot| slot.only(|name| simple_member_name(name) == ".ctor")));
        let words = touched_words(constructors[0].as_ref(), constructors[1].as_ref());
        let of_type = then.iter().chain(now).filter(|slot| slot.kind.is_own() && slot.key == key);
        let members = of_type.flat_map(|slot| &slot.pieces).map(|(name, _)| simple_member_name(name));
        assigned.extend(members.filter(|name| words.contains(*name)).map(str::to_owned));
    }
    assigned
}

/// Returns the changed lines between two texts of one kind and type, member by member, each under a line that names the member. Of a removed member
/// only this line is shown, unless another one has its name. Declarations of members that were added or removed with their code are shown there.
fn changed_lines(old: Option<&Slot>, new: Option<&Slot>, declared: &DeclaredChanges) -> String {
    let kind = new.or(old).map_or(SlotKind::Code, |slot| slot.kind);
    let [before, after] = [old, new].map(|slot| slot.map(Slot::text_by_member).unwrap_or_default());
    let formers = former_signatures(&before, &after);
    let is_code = kind == SlotKind::Code;
    let is_only = |name: &str| {
        let simple = simple_member_name(name);
        let same = |(other, _): &&(&str, String)| simple_member_name(other) == simple;
        let is_it = |(other, _): &(&str, String)| *other == name || formers.get(name) == Some(other);
        before.iter().chain(&after).filter(same).all(is_it)
    };
    let text_in = |texts: &[(&str, String)], name: &str| texts.iter().find(|(other, _)| *other == name).map(|(_, text)| text.clone());
    let names = after.iter().map(|(name, _)| *name);
    let is_former = |name: &str| formers.values().any(|former| *former == name);
    let removed = before.iter().map(|(name, _)| *name);
    let removed = removed.filter(|name| text_in(&after, name).is_none() && !is_former(name));
    let declared_in = |texts: &BTreeMap<String, String>, name: &str| texts.get(name).filter(|_| is_code).map(|text| format!("{text}\n"));
    let mut shown = String::new();
    for name in names.chain(removed) {
        let (old, new) = match formers.get(name) {
            None => (text_in(&before, name), text_in(&after, name)),
            Some(former) => (
                declared_in(&declared.removed, former).or_else(|| text_in(&before, former)),
                declared_in(&declared.added, name).or_else(|| text_in(&after, name)),
            ),
        };
        if old == new || kind == SlotKind::Structure && declared.has(name) {
            continue;
        }
        let title = if is_only(name) { simple_member_name(name) } else { name };
        let head = |what: &str| format!("{}\n", format!("@@ {title}{what}").trim_end());
        match (old, new) {
            // A line of declarations names its member.
            (old, new) if !is_code => {
                if shown.is_empty() {
                    shown.push_str("@@\n");
                }
                shown.push_str(&hunks(&old.unwrap_or_default(), &new.unwrap_or_default(), "", ""));
            }
            (Some(_), None) if is_only(name) => shown.push_str(&head(" (removed)")),
            // The first line of the code names the member.
            (None, Some(new)) => {
                let new = declared_in(&declared.added, name).unwrap_or(new);
                shown.push_str(&hunks("", &shorten_literals(&new), "@@ (added)\n", ""));
            }
            (old, new) => shown.push_str(&hunks(&old.unwrap_or_default(), &new.unwrap_or_default(), &head(""), "@@\n")),
        }
    }
    match (shown.is_empty(), old, new) {
        // Only the order differs.
        (true, Some(old), Some(new)) if declared.is_empty() => hunks(&old.joined_text(), &new.joined_text(), "@@\n", "@@\n"),
        _ => shown,
    }
}

/// Returns the hunks between two texts, where they have heads (the first one and the others) with the line before each change, which often is its
/// condition. The first line of a member is left out where the head names the member.
fn hunks(old: &str, new: &str, first: &str, other: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(usize::from(!first.is_empty())).iter_hunks() {
        text.push_str(if text.is_empty() { first } else { other });
        let changes: Vec<Change<&str>> = hunk.iter_changes().collect();
        let is_context = |at: usize, change: &Change<&str>| {
            let precedes = changes.get(at + 1).is_some_and(|next| next.tag() != ChangeTag::Equal);
            let is_named = change.old_index() == Some(0) && first.starts_with("@@ ");
            precedes && !is_named && change.value().contains(char::is_alphanumeric)
        };
        for (at, change) in changes.iter().enumerate() {
            if change.tag() != ChangeTag::Equal || is_context(at, change) {
                text.push_str(&format!("{}{}", change.tag(), change.value()));
            }
        }
    }
    text
}

/// Returns the words on lines that only one of two texts has, member by member.
fn touched_words(old: Option<&Slot>, new: Option<&Slot>) -> BTreeSet<String> {
    let [before, after] = [old, new].map(|slot| slot.map(Slot::text_by_member).unwrap_or_default());
    let mut words = BTreeSet::new();
    let names: BTreeSet<&str> = before.iter().chain(&after).map(|(name, _)| *name).collect();
    for name in names {
        let text = |texts: &[(&str, String)]| texts.iter().find(|(other, _)| *other == name).map(|(_, text)| text.clone());
        let [old, new] = [text(&before), text(&after)].map(Option::unwrap_or_default);
        let lines = hunks(&old, &new, "", "");
        let each = lines.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.extend(each.filter(|word| !word.is_empty()).map(str::to_owned));
    }
    words
}

/// Whether a text has one of these words.
pub(super) fn names_any(text: &str, words: &BTreeSet<String>) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| words.contains(word))
}

/// Returns the members of the subject with names of changed declarations of dependencies, unless they changed themselves: they are other members.
fn find_namesakes(own: &[&Slot], used: &BTreeSet<String>, changed: &BTreeSet<String>) -> BTreeSet<String> {
    let names = own.iter().flat_map(|slot| &slot.pieces).map(|(name, _)| simple_member_name(name));
    let has_changed = |name: &str| changed.iter().any(|changed| simple_member_name(changed) == name);
    let others = names.filter(|name| used.contains(*name) && !has_changed(name));
    others.map(str::to_owned).collect()
}

/// Returns the names of members whose code names one of `names` or creates one of the types `constructed`, and of all members that reach one of these
/// at any distance. Both sets include `names`, except `namesakes` whose own code names none.
fn reaching<'s>(
    names: &BTreeSet<String>,
    mut namesakes: BTreeSet<String>,
    constructed: &BTreeSet<String>,
    code: impl Iterator<Item = &'s Slot>,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let simple_name = |name: &str| simple_member_name(name).to_owned();
    // The code of a member names it once itself.
    let words_of = |name: &str, text: &'s str| -> BTreeSet<&'s str> {
        let mut own = Some(simple_member_name(name));
        let words = text.split(|c| !is_word(c));
        words.filter(|word| own.take_if(|own| *own == *word).is_none()).collect()
    };
    let makes = |text: &str| constructed.iter().any(|key| text.contains(&format!("new {}", simple(key))));
    let pieces: Vec<&(String, String)> = code.flat_map(|slot| &slot.pieces).collect();
    let words = pieces.iter().map(|(name, text)| (simple_name(name), words_of(name, text)));
    let mut rest: Vec<(String, BTreeSet<&str>)> = words.collect();
    let mut reached: BTreeSet<String> = names.iter().map(|name| simple_name(name)).collect();
    let mut near = None;
    let mut found: Vec<String> = pieces
        .iter()
        .filter(|(_, text)| makes(text))
        .map(|(name, _)| simple_name(name))
        .collect();
    loop {
        let (more, others): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|(_, words)| reached.iter().any(|name| words.contains(name.as_str())));
        found.extend(more.into_iter().map(|(name, _)| name));
        namesakes.retain(|name| !found.contains(name));
        if found.is_empty() {
            let reached = &reached - &namesakes;
            return (near.unwrap_or_else(|| reached.clone()), reached);
        }
        reached.extend(found.drain(..));
        near.get_or_insert_with(|| &reached - &namesakes);
        rest = others;
    }
}

/// Counts the bytes of lines that only one of two texts has, in any position. Linear.
fn changed_bytes(old: &str, new: &str) -> usize {
    if old.lines().count().max(new.lines().count()) > MOST_LINES {
        return old.len() + new.len();
    }
    let mut counts: FxHashMap<&str, i64> = FxHashMap::default();
    old.split_inclusive('\n').for_each(|line| *counts.entry(line).or_default() += 1);
    new.split_inclusive('\n').for_each(|line| *counts.entry(line).or_default() -= 1);
    counts
        .iter()
        .map(|(line, count)| line.len() * usize::try_from(count.unsigned_abs()).unwrap_or(0))
        .sum()
}

/// Returns the piece that belongs to no member.
fn text_of_no_member(slot: Option<&Slot>) -> Option<&str> {
    let pieces = &slot?.pieces;
    pieces.iter().find(|(name, _)| name.is_empty()).map(|(_, text)| text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(kind: SlotKind, key: &str, pieces: &[(&str, &str)]) -> Slot {
        Slot {
            kind,
            key: key.into(),
            pieces: pieces.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
        }
    }

    #[test]
    fn members_that_use_a_changed_dependency_are_reached() {
        let code = slot(
            SlotKind::Code,
            "N.Use",
            &[
                ("Go()", "Go() { d.Of(4); }"),
                ("All()", "All() { Go(); }"),
                ("Else()", "Else() { }"),
            ],
        );
        let dependency = |text: &str| slot(SlotKind::Signatures, "N.Dep", &[("", "class Dep"), ("Of(int)", text)]);
        let changes = super::compare_slots(
            &[code.clone(), dependency("string Of(int)")],
            &[code, dependency("string? Of(int)")],
        );
        assert!(changes.used && !changes.own);
        let reached: Vec<&str> = changes.reached.iter().map(String::as_str).collect();
        assert_eq!(reached, ["All", "Go", "Of"]);
        let near: Vec<&str> = changes.near.iter().map(String::as_str).collect();
        assert_eq!(near, ["Go", "Of"], "what calls a caller is further away");
    }

    #[test]
    fn a_type_of_a_group_sees_the_declarations_of_the_others() {
        let texts = |source: &str, body: &str| {
            [
                slot(
                    SlotKind::Structure,
                    "N.A",
                    &[("", "class A"), ("Source", source), ("Build()", "void Build()")],
                ),
                slot(SlotKind::Code, "N.A", &[("Build()", body)]),
                slot(
                    SlotKind::Structure,
                    "N.B",
                    &[("", "record B(int Source)"), ("Source", "int Source")],
                ),
                slot(
                    SlotKind::Code,
                    "N.B",
                    &[("Build()", "Build() { }"), ("Use()", "Use() { a.Source(); }")],
                ),
            ]
        };
        let near = |now: [Slot; 4]| -> Vec<String> {
            let changes = super::compare_slots(&texts("int Source", "Build() { a; }"), &now);
            changes.by_type["N.B"].near.iter().cloned().collect()
        };
        assert!(near(texts("int Source", "Build() { b; }")).is_empty(), "a body of another type");
        assert_eq!(near(texts("long Source", "Build() { a; }")), ["Use"], "Source of B is another one");
    }

    #[test]
    fn a_hunk_shows_the_line_before_its_change() {
        let code = |text: &str| [slot(SlotKind::Code, "N.A", &[("M(int)", text)])];
        let lines = |then: &str, now: &str| super::compare_slots(&code(then), &code(now)).diffs[0].lines.clone();
        let then = "M(int) {\na;\nif (b) {\nc;\n}\nd;\n}";
        assert_eq!(lines(then, &then.replace("c;", "x;")), "@@ M\n if (b) {\n-c;\n+x;\n");
        assert_eq!(
            lines(then, &then.replace("a;", "x;")),
            "@@ M\n-a;\n+x;\n",
            "the head names the member"
        );
    }

    #[test]
    fn code_declares_members_that_were_added_or_removed() {
        let texts = |name: &str| {
            let (declaration, code) = (format!("public void {name}()"), format!("{name}() {{\n}}"));
            let key = format!("{name}()");
            [
                slot(SlotKind::Structure, "N.A", &[("", "class A"), (&key, &declaration), ("E", "int E")]),
                slot(SlotKind::Code, "N.A", &[(&key, &code)]),
            ]
        };
        let changes = super::compare_slots(&texts("Old"), &texts("New"));
        let lines: Vec<&str> = changes.diffs.iter().map(|diff| diff.lines.as_str()).collect();
        assert_eq!(lines, ["", "@@ (added)\n+public void New() {\n+}\n@@ Old (removed)\n"]);
        assert!(changes.declared.contains("N.A") && changes.touched.contains("Old"));
    }

    #[test]
    fn changed_members_are_named() {
        let then = [
            slot(
                SlotKind::Code,
                "N.A",
                &[("M()", "M() { a; }"), ("Gone", "int Gone"), ("Same", "int Same")],
            ),
            slot(SlotKind::Role, "N.D", &[("", "old role")]),
        ];
        let now = [
            slot(
                SlotKind::Code,
                "N.A",
                &[("M()", "M() { b; }"), ("Same", "int Same"), ("New", "int New")],
            ),
            slot(SlotKind::Role, "N.D", &[("", "new role")]),
        ];
        let changes = super::compare_slots(&then, &now);
        assert_eq!(changes.members, ["A.Gone (removed)", "A.M() (changed)", "A.New (added)"]);
        let diffs: Vec<(SlotKind, &str, &str)> = changes
            .diffs
            .iter()
            .map(|diff| (diff.kind, diff.key.as_str(), diff.lines.as_str()))
            .collect();
        let code = "@@ M\n-M() { a; }\n+M() { b; }\n@@ (added)\n+int New\n@@ Gone (removed)\n";
        let role = "@@\n-old role\n+new role\n";
        assert_eq!(diffs, [(SlotKind::Code, "N.A", code), (SlotKind::Role, "N.D", role)]);
        assert!(changes.own && changes.dependencies.contains("N.D") && changes.share > 0.5 && changes.share <= 1.0);
        assert!(super::compare_slots(&now, &now).is_empty());
        let only_role = super::compare_slots(&now, &[now[0].clone(), then[1].clone()]);
        assert!(!only_role.own && only_role.members.is_empty());
    }
}
