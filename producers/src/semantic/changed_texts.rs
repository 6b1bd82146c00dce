//! The changes between the inputs of an earlier answer and the present ones: a unified diff of every text, the members in it, and the changed share.

use super::evidence::simple_member_name;
use super::slots::{Kind, Slot, simple};
use rustc_hash::FxHashMap;
use similar::{ChangeTag, TextDiff};
use std::collections::{BTreeMap, BTreeSet};

/// Limit of bytes of the diff of one text.
const LONGEST: usize = 60_000;

/// Limit of lines for a comparison by lines, which could take long; longer texts count as wholly changed.
const MOST_LINES: usize = 20_000;

/// The difference between two sets of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChangedTexts {
    /// Title and unified diff of every changed text.
    pub(super) diffs: Vec<(String, String)>,
    /// Members that were added, changed or removed, as `Type.member (what)`.
    pub(super) members: Vec<String>,
    /// Simple names of those members.
    pub(super) names: BTreeSet<String>,
    /// Names of members of the subject whose code reaches those members or changed dependencies, themselves included.
    pub(super) reached: BTreeSet<String>,
    /// Words on changed lines of the code, declarations or documentation of the subject.
    pub(super) touched: BTreeSet<String>,
    /// Dependencies with a change in their shown parts.
    pub(super) dependencies: BTreeSet<String>,
    /// Simple names of those dependencies, and of their members that changed.
    pub(super) dependency_words: BTreeSet<String>,
    /// Types whose code, declarations or documentation changed.
    pub(super) types: BTreeSet<String>,
    /// Types whose declarations changed.
    pub(super) declared: BTreeSet<String>,
    /// Whether the code, declarations or documentation of the subject changed.
    pub(super) own: bool,
    /// Whether a used declaration of a dependency changed or was removed.
    pub(super) used: bool,
    /// Whether code changed that belongs to no member: that of a member alone, a body without members.
    pub(super) code: bool,
    /// Whether a text changed that belongs to no named member: a head, documentation of the whole, or everything.
    pub(super) whole: bool,
    /// Changed share of the text, from 0 to 1.
    pub(super) share: f64,
}

impl ChangedTexts {
    /// Whether nothing changed.
    pub(super) fn is_empty(&self) -> bool {
        self.diffs.is_empty()
    }
}

/// Returns the earlier and the present text of each kind and type, in order.
pub(super) fn pairs<'s>(then: &'s [Slot], now: &'s [Slot]) -> BTreeMap<(Kind, &'s str), [Option<&'s Slot>; 2]> {
    let mut pairs: BTreeMap<(Kind, &str), [Option<&Slot>; 2]> = BTreeMap::new();
    for (side, slots) in [then, now].into_iter().enumerate() {
        for slot in slots {
            pairs.entry((slot.kind, &slot.key)).or_default()[side] = Some(slot);
        }
    }
    pairs
}

/// Compares the earlier texts with the present ones.
pub(super) fn compare_slots(then: &[Slot], now: &[Slot]) -> ChangedTexts {
    let mut changes = ChangedTexts::default();
    let (mut changed, mut whole) = (0_usize, 0_usize);
    let mut members: BTreeMap<String, &str> = BTreeMap::new();
    for ((kind, key), [old, new]) in pairs(then, now) {
        let [old_text, new_text] = [old, new].map(|slot| slot.map(Slot::text).unwrap_or_default());
        whole += old_text.len() + new_text.len();
        if old_text == new_text {
            continue;
        }
        let bytes = changed_bytes(&old_text, &new_text);
        changed += bytes;
        if bytes == old_text.len() + new_text.len() && old.is_some() && new.is_some() && bytes > LONGEST {
            changes
                .diffs
                .push((format!("{} of {key}", kind.title()), "everything is different".to_owned()));
            changes.own |= kind.is_own();
            changes.whole |= kind.is_own();
            changes.used |= !kind.is_own();
            if kind.is_own() {
                changes.types.insert(key.to_owned());
                changes.declared.insert(key.to_owned());
            }
            continue;
        }
        let shown = difference(old, new, &old_text, &new_text);
        changes
            .diffs
            .push((format!("{} of {key}", kind.title()), super::slots::cut_to_bytes(&shown, LONGEST)));
        if kind.is_own() {
            changes.own = true;
            let lines = shown.lines().filter(|line| line.starts_with(['+', '-']));
            let words = lines.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_')));
            changes.touched.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
            changes.types.insert(key.to_owned());
            if kind == Kind::Structure {
                changes.declared.insert(key.to_owned());
            }
            if unnamed(old) != unnamed(new) {
                changes.whole = true;
                changes.code |= kind == Kind::Code;
            }
            for (name, what) in changed_members(old, new) {
                changes.names.insert(name.split('(').next().unwrap_or(&name).to_owned());
                members.entry(format!("{}.{name}", simple(key))).or_insert(what);
            }
        } else {
            changes.dependencies.insert(key.to_owned());
            changes.dependency_words.insert(simple(key).to_owned());
            let members = changed_members(old, new)
                .into_iter()
                .map(|(name, _)| simple_member_name(&name).to_owned());
            changes.dependency_words.extend(members);
            let is_there = |piece: &(String, String)| new.is_some_and(|new| new.pieces.contains(piece));
            changes.used |= kind == Kind::Signatures && old.is_some_and(|old| !old.pieces.iter().all(is_there));
        }
    }
    let roots: BTreeSet<String> = changes.names.union(&changes.dependency_words).cloned().collect();
    if !roots.is_empty() {
        changes.reached = reaching(&roots, now.iter().chain(then).filter(|slot| slot.kind == Kind::Code));
    }
    changes.members = members.into_iter().map(|(name, what)| format!("{name} ({what})")).collect();
    changes.share = if whole == 0 { 0.0 } else { changed as f64 / whole as f64 };
    changes
}

/// Returns the hunks between two texts of one kind and type. The head of a hunk names the member of its first changed line.
fn difference(old: Option<&Slot>, new: Option<&Slot>, old_text: &str, new_text: &str) -> String {
    let diff = TextDiff::from_lines(old_text, new_text);
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(1).iter_hunks() {
        let mut changed = hunk.iter_changes().filter(|change| change.tag() != ChangeTag::Equal);
        let member = changed.next().and_then(|change| match (change.new_index(), change.old_index()) {
            (Some(line), _) => new?.member_at(line),
            (None, line) => old?.member_at(line?),
        });
        text.push_str(format!("@@ {}", member.unwrap_or_default()).trim_end());
        text.push('\n');
        hunk.iter_changes()
            .for_each(|change| text.push_str(&format!("{}{}", change.tag(), change.value())));
    }
    text
}

/// Whether a text has one of these words.
pub(super) fn names_any(text: &str, words: &BTreeSet<String>) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| words.contains(word))
}

/// Returns the names of members whose code names one of `names`, or a member that does, however far; with `names`.
fn reaching<'s>(names: &BTreeSet<String>, code: impl Iterator<Item = &'s Slot>) -> BTreeSet<String> {
    let simple_name = |name: &str| simple_member_name(name).to_owned();
    let words_of = |text: &'s str| -> BTreeSet<&'s str> { text.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect() };
    let mut rest: Vec<(String, BTreeSet<&str>)> = code
        .flat_map(|slot| &slot.pieces)
        .map(|(name, text)| (simple_name(name), words_of(text)))
        .collect();
    let mut reached: BTreeSet<String> = names.iter().map(|name| simple_name(name)).collect();
    loop {
        let (found, others): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|(_, words)| reached.iter().any(|name| words.contains(name.as_str())));
        if found.is_empty() {
            return reached;
        }
        reached.extend(found.into_iter().map(|(name, _)| name));
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
fn unnamed(slot: Option<&Slot>) -> Option<&str> {
    let pieces = &slot?.pieces;
    pieces.iter().find(|(name, _)| name.is_empty()).map(|(_, text)| text.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(kind: Kind, key: &str, pieces: &[(&str, &str)]) -> Slot {
        Slot {
            kind,
            key: key.into(),
            pieces: pieces.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
        }
    }

    #[test]
    fn members_that_use_a_changed_dependency_are_reached() {
        let code = slot(
            Kind::Code,
            "N.Use",
            &[
                ("Go()", "Go() { d.Of(4); }"),
                ("All()", "All() { Go(); }"),
                ("Else()", "Else() { }"),
            ],
        );
        let dependency = |text: &str| slot(Kind::Signatures, "N.Dep", &[("", "class Dep"), ("Of(int)", text)]);
        let changes = super::compare_slots(
            &[code.clone(), dependency("string Of(int)")],
            &[code, dependency("string? Of(int)")],
        );
        assert!(changes.used && !changes.own);
        let reached: Vec<&str> = changes.reached.iter().map(String::as_str).collect();
        assert_eq!(reached, ["All", "Dep", "Go", "Of"]);
    }

    #[test]
    fn what_moved_is_named() {
        let then = [
            slot(
                Kind::Code,
                "N.A",
                &[("M()", "M() { a; }"), ("Gone", "int Gone"), ("Same", "int Same")],
            ),
            slot(Kind::Role, "N.D", &[("", "old role")]),
        ];
        let now = [
            slot(
                Kind::Code,
                "N.A",
                &[("M()", "M() { b; }"), ("Same", "int Same"), ("New", "int New")],
            ),
            slot(Kind::Role, "N.D", &[("", "new role")]),
        ];
        let changes = super::compare_slots(&then, &now);
        assert_eq!(changes.members, ["A.Gone (removed)", "A.M() (changed)", "A.New (added)"]);
        assert_eq!(
            changes.diffs.iter().map(|(title, _)| title.as_str()).collect::<Vec<_>>(),
            ["Code of N.A", "Role of N.D"]
        );
        assert!(
            changes.diffs[0].1.contains("-M() { a; }\n") && changes.diffs[0].1.contains("+M() { b; }\n"),
            "{}",
            changes.diffs[0].1
        );
        assert!(changes.own && changes.dependencies.contains("N.D") && changes.share > 0.5 && changes.share <= 1.0);
        assert!(super::compare_slots(&now, &now).is_empty());
        let only_role = super::compare_slots(&now, &[now[0].clone(), then[1].clone()]);
        assert!(!only_role.own && only_role.members.is_empty());
    }
}
