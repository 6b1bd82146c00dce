//! Carries an answer over a change of code that none of its sentences rests on: no model is asked.
//!
//! A change is safe if it renames locals and parameters and does nothing else. A change of bodies is likely to leave an answer true if no sentence
//! rests on it: on members that changed or whose code reaches them, or on names and numbers of changed lines. Facts that the built-in model reads
//! from a body (its exceptions and their conditions, null results, catches, locks, waits) may deserve a sentence: if they changed, the model is
//! asked. The next question shows the difference from the texts that the model saw last, with all carried changes. Changes that no claim speaks of at
//! all are in [`super::unspoken_changes`].

use super::answer::Summaries;
use super::body_facts::facts;
use super::changed_texts::{self, ChangedTexts};
use super::churn_guard;
use super::evidence::{self, EvidenceNames};
use super::member_relations::changed_members;
use super::parameters::ROLE;
use super::prompt_slots::{Slot, SlotKind, simple};
use super::subject::type_key;
use super::tokens::{Token, TokenKind, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// Keywords before values: a word after one of them is no declaration.
const BEFORE_VALUES: [&str; 26] = [
    "and", "as", "await", "base", "by", "case", "do", "else", "equals", "goto", "in", "is", "nameof", "new", "not", "on", "or", "orderby",
    "out", "ref", "return", "select", "this", "throw", "when", "where",
];

/// The changes of code over which an answer is carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Carry {
    /// No changes.
    Never,
    /// Renames of locals and parameters that no sentence contains, and changes that no claim speaks of ([`super::unspoken_changes`]).
    #[default]
    Safe,
    /// Also larger changes of bodies, and changes over sentences without evidence that mention nothing of them.
    Likely,
}

impl Carry {
    /// Reads the value of the parameter.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        match word {
            "never" => Some(Self::Never),
            "safe" => Some(Self::Safe),
            "likely" => Some(Self::Likely),
            _ => None,
        }
    }
}

/// Returns why an answer remains true although code changed from `then` to `now`; `None` if a model must be asked.
pub(super) fn reason(carry: Carry, changes: &ChangedTexts, then: &[Slot], now: &[Slot], summaries: &Summaries) -> Option<String> {
    if carry == Carry::Never || !changes.whole.is_empty() || !changes.declared.is_empty() {
        return None;
    }
    let changed = Changed::between(then, now);
    let locals: Option<BTreeSet<&str>> = match changes.used || changed.documentation {
        true => None,
        false => changed
            .bodies
            .iter()
            .try_fold(BTreeSet::new(), |all, (old, new)| Some(&all | &renamed_locals(old, new)?)),
    };
    let texts = || summaries.values().flat_map(BTreeMap::values);
    if let Some(locals) = locals {
        let holds = |text: &String| identifiers_in(text).any(|word| locals.contains(word));
        let what = if changed.bodies.is_empty() {
            "the order of members"
        } else {
            "names of locals"
        };
        return (!texts().any(holds)).then(|| format!("only {what} changed"));
    }
    if carry != Carry::Likely || changed.documentation || changed.members.iter().any(|name| churn_guard::is_odd(name)) {
        return None;
    }
    if changed.bodies.iter().any(|(old, new)| facts(old) != facts(new)) {
        return None;
    }
    let changes = ChangedTexts {
        names: changed.members,
        ..changes.clone()
    };
    let names = EvidenceNames::from_slots(now);
    let rests = |key: &str, section: &str, text: &str| {
        let key = type_key(key);
        // Statements about the type as a whole may rest on any of its members.
        let is_about_all = section != ROLE && changes.own && evidence::check_evidence(text, key, &names).valid.contains(simple(key));
        is_about_all
            || churn_guard::rests_on_changes(text, key, &changes, &names)
            || identifiers_in(text).any(|word| is_identifier(word) && changes.touched.contains(word))
    };
    let mut all = summaries
        .iter()
        .flat_map(|(key, sections)| sections.iter().map(move |(section, text)| (key, section, text)));
    if all.any(|(key, section, text)| rests(key, section, text)) {
        return None;
    }
    let what = changes.members.iter().chain(&changes.dependencies);
    Some(format!(
        "no sentence rests on the change: {}",
        super::answer_plan::join_names(what.map(String::as_str))
    ))
}

/// The texts that differ between two prompts.
#[derive(Default)]
struct Changed {
    /// Members of the types themselves, and of dependencies.
    members: BTreeSet<String>,
    /// Code of each changed member, before and after.
    bodies: Vec<(String, String)>,
    documentation: bool,
}

impl Changed {
    fn between(then: &[Slot], now: &[Slot]) -> Self {
        let mut changed = Self::default();
        for ((kind, _), sides) in changed_texts::pairs(then, now) {
            let [old, new] = sides;
            if old == new {
                continue;
            }
            changed.documentation |= kind == SlotKind::Docs;
            for (name, _) in changed_members(old, new) {
                if kind == SlotKind::Code {
                    let [old, new] = sides.map(|slot| slot.map(|slot| slot.text_of_member(&name)).unwrap_or_default());
                    changed.bodies.push((old, new));
                }
                changed.members.insert(name.split('(').next().unwrap_or(&name).to_owned());
            }
        }
        changed
    }
}

/// Returns the old and new names of locals and parameters whose renames are the only difference between two texts of a member; `None` if there is
/// another difference.
fn renamed_locals<'t>(old: &'t str, new: &'t str) -> Option<BTreeSet<&'t str>> {
    let (before, after) = (tokens(old), tokens(new));
    if before.len() != after.len() {
        return None;
    }
    let (mut to, mut from) = (BTreeMap::new(), BTreeMap::new());
    for (old, new) in before.iter().zip(&after) {
        let is_word = old.kind == TokenKind::Word && new.kind == TokenKind::Word;
        let is_equal = old.kind == new.kind && old.text == new.text;
        if !(is_equal || is_word)
            || *to.entry(old.text).or_insert(new.text) != new.text
            || *from.entry(new.text).or_insert(old.text) != old.text
        {
            return None;
        }
    }
    let renamed: Vec<(&str, &str)> = to.into_iter().filter(|(old, new)| old != new).collect();
    let is_local = renamed
        .iter()
        .all(|(old_name, new_name)| declares_local(old, old_name) && declares_local(new, new_name));
    is_local.then(|| renamed.into_iter().flat_map(|(old, new)| [old, new]).collect())
}

/// Whether a text declares a local or a parameter of this name, and uses the name for nothing else: not after a dot, and not before `(`, `<` or `:`.
fn declares_local(text: &str, name: &str) -> bool {
    let tokens = tokens(text);
    let is_type = |at: usize| tokens[at].kind == TokenKind::Word && !BEFORE_VALUES.iter().any(|word| tokens[at].is(word));
    let mut is_declared = false;
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.text == name) {
        let next = tokens.get(at + 1);
        let next_is = |marks: &[&str]| next.is_some_and(|next| marks.iter().any(|mark| next.is(mark)));
        let after_dot = at > 0 && (tokens[at - 1].is(".") || tokens[at - 1].is("?."));
        if after_dot || next_is(&["(", "<", ":"]) || token.kind != TokenKind::Word {
            return false;
        }
        // After `>` or `]`, a name is a declaration only if `=` or `in` follows: `a > b;` is a comparison.
        let of_brackets = at > 0 && (tokens[at - 1].is(">") || tokens[at - 1].is("]")) && next_is(&["=", "in"]);
        is_declared |= of_brackets || at > 0 && is_type(at - 1) && next_is(&["=", ";", "in", ",", ")"]);
        is_declared |= next_is(&["=>"]) && begins_lambda(&tokens, at);
    }
    is_declared
}

/// Whether a name before `=>` is the parameter of a lambda: after `=` or in parentheses. In braces it may be a case of a switch.
fn begins_lambda(tokens: &[Token<'_>], at: usize) -> bool {
    let mut depth = 0_usize;
    let enclosing = tokens[..at].iter().rev().find(|token| {
        match token.text {
            ")" | "}" | "]" => depth += 1,
            "(" | "{" | "[" if depth == 0 => return true,
            "(" | "{" | "[" => depth -= 1,
            _ => {}
        }
        false
    });
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    let is_argument = enclosing.is_some_and(|open| open.is("(")) && before.is_some_and(|before| before.is("(") || before.is(","));
    is_argument || before.is_some_and(|before| before.is("="))
}

fn identifiers_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

fn is_identifier(word: &str) -> bool {
    word.starts_with(|c: char| c.is_uppercase() || c.is_numeric() || matches!(c, '_' | '@'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::changed_texts::compare_slots;

    const THEN: &str =
        "{\nvar size = Read(3);\nvar kept = size;\nLog(kept);\nif (size > Limit) {\nthrow new TooLong();\n}\nreturn size;\n}";

    fn code(load: &str) -> Slot {
        let pieces = [
            ("Load()", load),
            ("Save()", "{ Write(Limit); }"),
            ("Open()", "{ Start(); }"),
            ("Start()", "{ Load(); }"),
            (".ctor()", "{ }"),
        ];
        slot(SlotKind::Code, "N.Store", &pieces)
    }

    fn slot(kind: SlotKind, key: &str, pieces: &[(&str, &str)]) -> Slot {
        let pieces = pieces.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Slot::new(kind, key, pieces.collect())
    }

    fn sections_with(edge_cases: &str) -> Summaries {
        let sections = [("ROLE", "- Keeps things."), ("EDGE_CASES", edge_cases), ("LIMITATIONS", "- None.")];
        let sections = sections.map(|(name, text)| (name.to_owned(), text.to_owned()));
        Summaries::from([("N.Store".to_owned(), sections.into())])
    }

    /// Whether an answer is carried over a change when only safe changes are, and when likely ones are.
    fn carried(then: &[Slot], now: &[Slot], edge_cases: &str) -> (bool, bool) {
        let changes = compare_slots(then, now);
        let reason = |carry| reason(carry, &changes, then, now, &sections_with(edge_cases));
        assert_eq!(reason(Carry::Never), None);
        (reason(Carry::Safe).is_some(), reason(Carry::Likely).is_some())
    }

    #[test]
    fn new_names_of_locals_are_safe() {
        let text = "- Writes all at once [Save].";
        for (now, expected, why) in [
            (THEN.replace("kept", "held"), (true, true), "a local"),
            (THEN.replace("kept", "size2"), (true, true), "a local"),
            (THEN.replace("kept", "Limit"), (false, true), "a local that hides another name"),
            (THEN.replace("Log(kept);\n", ""), (false, true), "a call went"),
            (THEN.replace("Read(3)", "Read(4)"), (false, true), "a number"),
            (THEN.replace("Log", "log"), (false, true), "a call of another method"),
            (THEN.replace("return size", "return kept"), (false, true), "another local"),
            (THEN.replace("size > Limit", "size >= Limit"), (false, false), "when it throws"),
            (THEN.replace("return size", "return null"), (false, false), "a null result"),
        ] {
            assert_eq!(carried(&[code(THEN)], &[code(&now)], text), expected, "{why}");
        }
        let held = THEN.replace("kept", "held");
        assert_eq!(
            carried(&[code(THEN)], &[code(&held)], "- What is kept is written [Save]."),
            (false, false)
        );
    }

    #[test]
    fn parameters_of_lambdas_are_locals() {
        let renamed = |old, new| renamed_locals(old, new).map(|names| names.into_iter().collect::<Vec<_>>());
        assert_eq!(renamed("{ F(a, w => w.Go()); }", "{ F(a, x => x.Go()); }"), Some(vec!["w", "x"]));
        assert_eq!(
            renamed("{ Func<A, B> f = w => w.Go(); }", "{ Func<A, B> f = x => x.Go(); }"),
            Some(vec!["w", "x"])
        );
        let case = |name: &str| format!("{{ return a switch {{ C => 1, {name} => 2 }}; }}");
        assert_eq!(renamed(&case("D"), &case("E")), None, "a constant of a switch");
    }

    #[test]
    fn only_renamed_locals_are_recognized() {
        for (old, new) in [
            ("{ return a > size; }", "{ return a > count; }"),
            ("{ Get(out size); }", "{ Get(out count); }"),
            ("{ Foo size = new(); this.size = 1; }", "{ Foo count = new(); this.count = 1; }"),
            ("{ stop(); }", "{ halt(); }"),
            ("{ bool on = true; }", "{ bool on = false; }"),
            ("{ var a = b - c; }", "{ var a = b + c; }"),
            ("{ var a = x; var b = y; Use(a, b); }", "{ var b = x; var a = y; Use(a, b); }"),
            ("{ lock (a) { } F(b); }", "{ lock (b) { } F(a); }"),
            ("{ unchecked { } }", "{ checked { } }"),
        ] {
            assert_eq!(renamed_locals(old, new), None, "{old} | {new}");
        }
        let swapped = renamed_locals("{ var a = x; var b = y; Use(a, b); }", "{ var b = x; var a = y; Use(b, a); }");
        assert_eq!(swapped, Some(BTreeSet::from(["a", "b"])), "each is the other throughout");
        let list = renamed_locals(
            "{ List<int> all = []; foreach (int one in all) { } }",
            "{ List<int> some = []; foreach (int each in some) { } }",
        );
        assert_eq!(list.map(|names| names.len()), Some(4));
    }

    #[test]
    fn an_answer_is_carried_over_unless_a_sentence_rests_on_the_change() {
        let slower = THEN.replace("Read(3)", "Read(4)");
        for (text, expected) in [
            ("- Reads three times [Load].", false),
            ("- Load reads three times [Save].", false),
            ("- Reads three times.", true),
            ("- Writes 3 bytes [Save].", false),
            ("- Writes 5 bytes [Save].", true),
            ("- Calls Read first [Save].", false),
            ("- Keeps all that it reads [Store].", false),
            ("- Begins by loading [Open].", false),
        ] {
            assert_eq!(carried(&[code(THEN)], &[code(&slower)], text), (false, expected), "{text}");
        }
    }

    #[test]
    fn declarations_constructors_and_documentation_are_asked_about() {
        let text = "- Writes all at once [Save].";
        let constructor = |body| slot(SlotKind::Code, "N.Store", &[("Save()", "{ }"), (".ctor()", body)]);
        assert_eq!(
            carried(&[constructor("{ Begin(); }")], &[constructor("{ Begin(); Begin(); }")], text),
            (false, false)
        );
        for kind in [SlotKind::Structure, SlotKind::Docs] {
            let of = |text| slot(kind, "N.Store", &[("Save()", "{ }"), ("Load()", text)]);
            assert_eq!(carried(&[of("a")], &[of("b")], text), (false, false), "{kind:?}");
        }
        let used = |declaration| slot(SlotKind::Signatures, "N.Clock", &[("Now()", declaration)]);
        let (then, now) = ([code(THEN), used("long Now()")], [code(THEN), used("int Now()")]);
        assert_eq!(carried(&then, &now, text), (false, true));
        assert_eq!(carried(&then, &now, "- Asks Now [Save]."), (false, false));
        assert_eq!(carried(&then, &now, "- Asks a Clock [Save]."), (false, false));
    }
}
