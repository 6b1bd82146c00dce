//! Evidence: the members and lines that claims name in brackets, and the check that they exist.
//!
//! Forms: `[Get]`, `[Get(string), Count]`, `[NodeStore.Get]`, `[line 12]`: in brackets, not directly after a word (that would be code) and not before
//! a parenthesis (that would be a link), outside of backticks and fences. Evidence that names nothing is removed; its claim stays. Brackets with any
//! other content are prose.

use super::prompt_slots::{Slot, SlotKind, simple};
use std::collections::{BTreeMap, BTreeSet};

/// Names that evidence may use.
#[derive(Clone, Debug, Default)]
pub(super) struct EvidenceNames {
    /// Members of the types themselves and of the shown parts of their dependencies, by simple name.
    members: BTreeSet<String>,
    /// Types, by key and by simple name.
    types: BTreeSet<String>,
    /// Number of shown lines of code, by type.
    lines: BTreeMap<String, usize>,
}

impl EvidenceNames {
    /// Collects the names in the texts of a prompt.
    pub(super) fn from_slots(slots: &[Slot]) -> Self {
        let mut names = Self::default();
        for slot in slots {
            names.types.insert(slot.key.clone());
            names.types.insert(simple(&slot.key).to_owned());
            let members = slot
                .pieces
                .iter()
                .filter(|(name, _)| !name.is_empty() && slot.kind != SlotKind::Role);
            names.members.extend(members.map(|(name, _)| simple_member_name(name).to_owned()));
            if slot.kind == SlotKind::Code {
                names.lines.insert(slot.key.clone(), slot.joined_text().lines().count());
            }
            if let Some((_, text)) = slot.pieces.iter().find(|(name, _)| slot.kind == SlotKind::Code && name.is_empty()) {
                // For a single member, every word of its code counts.
                let words = text
                    .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .filter(|word| !word.is_empty());
                names.members.extend(words.map(str::to_owned));
            }
        }
        names.members.extend(names.types.iter().cloned());
        names
    }

    fn knows(&self, key: &str, item: &str) -> bool {
        if let Some((first, last)) = parse_line_range(item) {
            return first >= 1 && first <= last && self.lines.get(key).is_some_and(|most| last <= *most);
        }
        self.types.contains(item) || self.members.contains(simple_member_name(item))
    }
}

/// Returns the simple name of a member as written in evidence or in its key.
pub(super) fn simple_member_name(item: &str) -> &str {
    let item = item.trim_start_matches("new ").trim_start_matches(['+', '~']);
    let head = item.split(['(', '<', '[']).next().unwrap_or(item).trim();
    match head.rsplit(['.', '#', '+']).next() {
        Some("ctor" | "cctor") => ".ctor",
        Some(last) if !last.is_empty() => last.split('`').next().unwrap_or(last),
        _ => head,
    }
}

/// Parses `line 12`, `lines 12-15`, `L12`, `12`.
fn parse_line_range(item: &str) -> Option<(usize, usize)> {
    let bare = item
        .strip_prefix("lines")
        .or_else(|| item.strip_prefix("line"))
        .or_else(|| item.strip_prefix('L'))
        .unwrap_or(item)
        .trim();
    let (first, last) = bare.split_once(['-', '–']).unwrap_or((bare, bare));
    Some((first.trim().parse().ok()?, last.trim().trim_start_matches('L').parse().ok()?))
}

/// Whether evidence names lines.
pub(super) fn is_lines(item: &str) -> bool {
    parse_line_range(item).is_some()
}

/// A checked text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checked {
    /// The text without invalid evidence.
    pub(super) text: String,
    pub(super) valid: BTreeSet<String>,
    /// Number of dropped pieces of evidence.
    pub(super) dropped: usize,
    /// Number of kept pieces.
    pub(super) count: usize,
}

/// Checks the evidence in a section about the type `key`.
pub(super) fn check_evidence(text: &str, key: &str, names: &EvidenceNames) -> Checked {
    let mut checked = Checked::default();
    let mut fenced = false;
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            checked.text.push('\n');
        }
        let fence = line.trim_start().starts_with("```");
        if fenced || fence {
            fenced ^= fence;
            checked.text.push_str(line);
        } else {
            check_line(line, key, names, &mut checked);
        }
    }
    checked
}

fn check_line(line: &str, key: &str, names: &EvidenceNames, checked: &mut Checked) {
    let mut rest = line;
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        if c == '`' {
            let ticks = rest.bytes().take_while(|byte| *byte == b'`').count();
            let fence = &rest[..ticks];
            let len = rest[ticks..].find(fence).map_or(ticks, |end| 2 * ticks + end);
            checked.text.push_str(&rest[..len]);
            rest = &rest[len..];
            previous = '`';
            continue;
        }
        if c == '['
            && !(previous.is_alphanumeric() || matches!(previous, '_' | '`' | ']' | ')'))
            && let Some(len) = bracket(rest)
        {
            let inner = &rest[1..len - 1];
            let link = rest[len..].starts_with('(');
            if let Some(items) = items(inner).filter(|_| !link) {
                let (good, bad): (Vec<&str>, Vec<&str>) = items.iter().copied().partition(|item| names.knows(key, item));
                checked.dropped += bad.len();
                checked.count += good.len();
                checked.valid.extend(good.iter().map(|item| (*item).to_owned()));
                if good.is_empty() {
                    checked.text.truncate(checked.text.trim_end_matches(' ').len());
                } else if bad.is_empty() {
                    checked.text.push_str(&rest[..len]);
                } else {
                    checked.text.push_str(&format!("[{}]", good.join(", ")));
                }
                rest = &rest[len..];
                // After dropped evidence, the next bracket follows a space.
                previous = if good.is_empty() { ' ' } else { ']' };
                continue;
            }
        }
        checked.text.push(c);
        previous = c;
        rest = &rest[c.len_utf8()..];
    }
    let end = checked.text.trim_end_matches(' ').len();
    checked.text.truncate(end);
}

/// Returns the length of a bracket with its partner, within 200 bytes.
fn bracket(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().take(200) {
        match c {
            '[' => depth += 1,
            ']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the pieces of evidence in a bracket; `None` when it is prose.
fn items(inner: &str) -> Option<Vec<&str>> {
    let mut items = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            ',' | ';' if depth <= 0 => {
                items.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&inner[start..]);
    let items: Vec<&str> = items.into_iter().map(|item| item.trim().trim_matches('`')).collect();
    items
        .iter()
        .all(|item| is_dotted_name(item) || parse_line_range(item).is_some())
        .then_some(items)
}

fn is_dotted_name(item: &str) -> bool {
    let item = item.strip_prefix("new ").unwrap_or(item);
    let head = item.split(['(', '<', '[']).next().unwrap_or(item);
    let letters = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '#' | '+' | '~' | '`' | '@');
    !head.is_empty() && head.chars().all(letters) && head.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> EvidenceNames {
        let slot = |kind, key: &str, pieces: &[(&str, &str)]| Slot {
            kind,
            key: key.into(),
            pieces: pieces.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
        };
        EvidenceNames::from_slots(&[
            slot(
                SlotKind::Structure,
                "N.Store",
                &[("", "class Store"), ("Get(string)", "Node Get(string key)"), (".ctor()", "Store()")],
            ),
            slot(
                SlotKind::Code,
                "N.Store",
                &[("_gate", "object _gate"), ("Get(string)", "Get {\nx\n}")],
            ),
            slot(SlotKind::Role, "N.Node", &[("", "A node.")]),
        ])
    }

    #[test]
    fn evidence_of_nothing_is_dropped() {
        for (text, expected, dropped) in [
            ("- Throws [Get].", "- Throws [Get].", 0),
            ("- Throws [Get(string), Gone].", "- Throws [Get(string)].", 1),
            ("- Locks [_gate] and lies [Gone.Away].", "- Locks [_gate] and lies.", 1),
            (
                "- See [Store.Get] [N.Node] [new Store] [.ctor] [line 4]",
                "- See [Store.Get] [N.Node] [new Store] [.ctor] [line 4]",
                0,
            ),
            ("- [line 5] [lines 3-4] [L9]", "- [lines 3-4]", 2),
            (
                "- `a[Gone]` int[Gone] [a link](x) [see the text below]",
                "- `a[Gone]` int[Gone] [a link](x) [see the text below]",
                0,
            ),
            ("```\n[Gone]\n```", "```\n[Gone]\n```", 0),
        ] {
            let checked = check_evidence(text, "N.Store", &names());
            assert_eq!((checked.text.as_str(), checked.dropped), (expected, dropped), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_checked_text_has_nothing_more_to_drop(text in "([A-Za-z ,.`(\n]|\\[|\\]|\\[Get\\]|\\[Gone\\]|\\[line 2\\]|```){0,40}") {
            let first = check_evidence(&text, "N.Store", &names());
            let again = check_evidence(&first.text, "N.Store", &names());
            prop_assert!(!first.text.contains(" [Gone]") || again.dropped == 0);
        }

        #[test]
        fn any_text_is_checked(text in any::<String>()) {
            check_evidence(&text, "N.Store", &names());
        }
    }
}
