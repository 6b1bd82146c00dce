//! Code with declarations: a prompt declares a member where it shows its code, and not once more among the declarations.

use super::evidence::simple_member_name;
use super::prompt_slots::{Slot, SlotKind};
use std::collections::BTreeMap;

/// Modifiers that code has before the name of a member, because its declaration lacks them.
const MODIFIERS: [&str; 3] = ["async", "extern", "unsafe"];

/// Accessors in a declaration that code with accessors repeats.
const PLAIN_ACCESSORS: [&str; 5] = ["get; }", "get; set; }", "get; init; }", "set; }", "init; }"];

/// Returns the code of a member with its declaration in place of its name; `None` if the code does not begin with the name. Constructors keep
/// theirs: evidence distinguishes them from their type by it.
fn declare_code(declaration: &str, member: &str, code: &str) -> Option<String> {
    if simple_member_name(member) == ".ctor" {
        return None;
    }
    let (mut modifiers, mut rest) = (String::new(), code);
    while let Some((word, more)) = rest.split_once(' ').filter(|(word, _)| MODIFIERS.contains(word)) {
        modifiers.push_str(&format!("{word} "));
        rest = more;
    }
    let has_place = modifiers.is_empty() || ["public ", "protected "].iter().any(|word| declaration.starts_with(word));
    let short = format!("{}(…)", member.split('(').next().unwrap_or(member));
    let body = rest.strip_prefix(member).or_else(|| rest.strip_prefix(&short))?;
    if !has_place || !(body.is_empty() || body.starts_with(' ')) {
        return None;
    }
    let has_accessors = [" =>", " get ", " init ", " set "].iter().any(|start| body.starts_with(start));
    let bare = declaration
        .rsplit_once(" { ")
        .filter(|(_, accessors)| has_accessors && PLAIN_ACCESSORS.contains(accessors));
    Some(format!("{modifiers}{}{body}", bare.map_or(declaration, |(bare, _)| bare)))
}

fn only_piece<'s>(slot: &'s Slot, member: &str) -> Option<&'s str> {
    let mut pieces = slot.pieces.iter().filter(|(name, _)| name == member).map(|(_, text)| text.as_str());
    let piece = pieces.next().filter(|_| !member.is_empty());
    piece.filter(|_| pieces.next().is_none())
}

/// Returns the texts with declarations in the code, and without those that moved there.
pub(super) fn declare_members_in_code(slots: &[Slot]) -> Vec<Slot> {
    let mut slots = slots.to_vec();
    for at in 0..slots.len() {
        let of_type = |slot: &Slot, kind: SlotKind| slot.kind == kind && slot.key == slots[at].key;
        let Some(code) = slots
            .iter()
            .position(|slot| of_type(slot, SlotKind::Code))
            .filter(|_| slots[at].kind == SlotKind::Structure)
        else {
            continue;
        };
        let moved: BTreeMap<String, String> = slots[code]
            .pieces
            .iter()
            .filter_map(|(name, _)| {
                let (declaration, text) = (only_piece(&slots[at], name)?, only_piece(&slots[code], name)?);
                Some((name.clone(), declare_code(declaration, name, text)?))
            })
            .collect();
        slots[at].pieces.retain(|(name, _)| !moved.contains_key(name));
        for (name, text) in &mut slots[code].pieces {
            if let Some(declared) = moved.get(name) {
                text.clone_from(declared);
            }
        }
    }
    slots
}

/// Members of a type that were added or removed together with their code.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DeclaredChanges {
    /// Code of added members, with their declarations.
    pub(super) added: BTreeMap<String, String>,
    /// Code of removed members, with their declarations.
    pub(super) removed: BTreeMap<String, String>,
}

impl DeclaredChanges {
    /// Compares the earlier and the present declarations and code of a type.
    pub(super) fn compare(declarations: [Option<&Slot>; 2], code: [Option<&Slot>; 2]) -> Self {
        let ([Some(old_structure), Some(structure)], [old_code, code]) = (declarations, code) else {
            return Self::default();
        };
        let has = |slot: Option<&Slot>, member: &str| slot.is_some_and(|slot| slot.pieces.iter().any(|(name, _)| name == member));
        let added = structure.pieces.iter().filter_map(|(name, _)| {
            let is_new = !has(Some(old_structure), name) && !has(old_code, name);
            let (declaration, text) = (only_piece(structure, name)?, only_piece(code?, name)?);
            Some((name.clone(), declare_code(declaration, name, text).filter(|_| is_new)?))
        });
        let removed = old_structure.pieces.iter().filter_map(|(name, declaration)| {
            let is_gone = !has(Some(structure), name) && !has(code, name) && simple_member_name(name) != ".ctor";
            let text = old_code
                .filter(|_| is_gone && has(old_code, name) && !name.is_empty())?
                .text_of_member(name);
            let declared = declare_code(declaration, name, &text).unwrap_or(text);
            Some((name.clone(), declared))
        });
        Self {
            added: added.collect(),
            removed: removed.collect(),
        }
    }

    /// Whether code shows this change of a declaration.
    pub(super) fn has(&self, member: &str) -> bool {
        self.added.contains_key(member) || self.removed.contains_key(member)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(kind: SlotKind, pieces: &[(&str, &str)]) -> Slot {
        let pieces = pieces.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Slot::new(kind, "N.A", pieces.collect())
    }

    #[test]
    fn a_declaration_takes_the_place_of_the_name() {
        for (declaration, member, code, expected) in [
            (
                "public void Go(int a)",
                "Go(int)",
                "Go(int) {\n}",
                Some("public void Go(int a) {\n}"),
            ),
            (
                "public void Go(string a)",
                "Go(string)",
                "Go(…) => a()",
                Some("public void Go(string a) => a()"),
            ),
            ("public Task Go()", "Go()", "async Go() {\n}", Some("async public Task Go() {\n}")),
            ("[Fact] public Task Go()", "Go()", "async Go() {\n}", None),
            ("public int Size { get; }", "Size", "Size => 1", Some("public int Size => 1")),
            ("public int Size { get; }", "Size", "Size = 1", Some("public int Size { get; } = 1")),
            (
                "public int Size { get; set; }",
                "Size",
                "Size get {\n}",
                Some("public int Size get {\n}"),
            ),
            (
                "public int Size { get; protected set; }",
                "Size",
                "Size get {\n}",
                Some("public int Size { get; protected set; } get {\n}"),
            ),
            ("public A(int a)", ".ctor(int)", ".ctor(int) {\n}", None),
            ("public int Size", "Size", "Sizes = 1", None),
        ] {
            assert_eq!(declare_code(declaration, member, code).as_deref(), expected, "{code}");
        }
    }

    #[test]
    fn declarations_move_into_the_code_that_is_shown() {
        let slots = [
            slot(
                SlotKind::Structure,
                &[("", "class A"), ("Go()", "public void Go()"), ("Size", "public int Size { get; }")],
            ),
            slot(SlotKind::Code, &[("_at", "int _at"), ("Go()", "Go() {\n}")]),
        ];
        let shown = declare_members_in_code(&slots);
        assert_eq!(shown[0].joined_text(), "class A\npublic int Size { get; }\n");
        assert_eq!(shown[1].joined_text(), "int _at\npublic void Go() {\n}\n");
        assert_eq!(declare_members_in_code(&slots[..1]), &slots[..1], "without code nothing moves");
        // Parts of one member stay as they are.
        let parts = [
            slots[0].clone(),
            slot(SlotKind::Code, &[("Go()", "Go() {\n}"), ("Go()", "Go() {\nx;\n}")]),
        ];
        assert_eq!(declare_members_in_code(&parts), parts);
    }

    #[test]
    fn added_and_removed_members_are_declared_in_their_code() {
        let structure = |pieces: &[(&str, &str)]| slot(SlotKind::Structure, pieces);
        let code = |pieces: &[(&str, &str)]| slot(SlotKind::Code, pieces);
        let then = (
            structure(&[("Old()", "public void Old()"), ("Bare()", "void Bare()"), (".ctor()", "public A()")]),
            code(&[("Old()", "Old() {\n}"), (".ctor()", ".ctor() {\n}")]),
        );
        let now = (structure(&[("New()", "public void New()")]), code(&[("New()", "New() {\n}")]));
        let changes = DeclaredChanges::compare([Some(&then.0), Some(&now.0)], [Some(&then.1), Some(&now.1)]);
        let added = [("New()".to_owned(), "public void New() {\n}".to_owned())];
        assert_eq!(changes.added, BTreeMap::from(added));
        let removed = [("Old()".to_owned(), "public void Old() {\n}".to_owned())];
        assert_eq!(changes.removed, BTreeMap::from(removed));
        assert!(changes.has("New()") && changes.has("Old()") && !changes.has("Bare()") && !changes.is_empty());
        let same = DeclaredChanges::compare([Some(&now.0), Some(&now.0)], [Some(&now.1), Some(&now.1)]);
        assert!(same.is_empty());
        assert!(DeclaredChanges::compare([None, Some(&now.0)], [None, Some(&now.1)]).is_empty());
    }
}
