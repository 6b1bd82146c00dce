//! Carries an answer over a change of code that none of its sentences rests on: no model is asked.
//!
//! A sentence rests on the members that it names or gives as evidence, and on names and numbers of changed lines that it holds. The facts that the
//! built-in model reads from a body (what it throws and when, null results, catches, locks, waits) may be worth a sentence: where they changed, the
//! model is asked. What the next question shows is the difference from what the model saw last, carried changes included.

use super::answer::Summaries;
use super::churn_guard;
use super::evidence::{self, Names};
use super::facts::facts;
use super::moved::{self, Moved};
use super::parameters::ROLE;
use super::slots::{Kind, Slot};
use super::subject::type_key;
use super::tokens::{TokenKind, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// Which changes of code leave an answer as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Carry {
    /// None.
    Never,
    /// Changes of bodies that bring no name, number or text and take none away, where each section but ROLE gives evidence.
    #[default]
    Safe,
    /// Changes of bodies, and of used declarations of dependencies.
    Likely,
}

impl Carry {
    /// Reads the value of the parameter.
    pub(super) fn read(word: &str) -> Option<Self> {
        match word {
            "never" => Some(Self::Never),
            "safe" => Some(Self::Safe),
            "likely" => Some(Self::Likely),
            _ => None,
        }
    }
}

/// Returns why an answer stays true although code changed from `then` to `now`; `None` when a model must be asked.
pub(super) fn reason(carry: Carry, moved: &Moved, then: &[Slot], now: &[Slot], summaries: &Summaries) -> Option<String> {
    let is_bold = carry == Carry::Likely;
    if carry == Carry::Never || moved.whole || !moved.declared.is_empty() || (moved.used && !is_bold) {
        return None;
    }
    let changed = Changed::between(then, now);
    if changed.documentation || changed.members.iter().any(|name| churn_guard::is_odd(name)) {
        return None;
    }
    if changed.bodies.iter().any(|(old, new)| facts(old) != facts(new)) || (!is_bold && changed.names(0) != changed.names(1)) {
        return None;
    }
    let moved = Moved {
        names: changed.members,
        ..moved.clone()
    };
    let names = Names::of(now);
    let rests = |key: &str, section: &str, text: &str| {
        let key = type_key(key);
        let says_nothing = text.trim() == "- None.";
        let is_bare = section != ROLE && !says_nothing && evidence::check(text, key, &names).kept.is_empty();
        (is_bare && !is_bold) || churn_guard::rests_on_moved(text, key, &moved, &names) || holds_touched(text, &moved.touched)
    };
    let all = summaries
        .iter()
        .flat_map(|(key, sections)| sections.iter().map(move |(section, text)| (key, section, text)));
    if all.into_iter().any(|(key, section, text)| rests(key, section, text)) {
        return None;
    }
    let what = moved.members.iter().chain(&moved.dependencies);
    Some(format!(
        "no sentence rests on what moved: {}",
        super::decide::join_names(what.map(String::as_str))
    ))
}

/// The texts that differ between two prompts.
#[derive(Default)]
struct Changed {
    /// Members of the types themselves, and of dependencies.
    members: BTreeSet<String>,
    /// Code of each changed member, before and after.
    bodies: Vec<(String, String)>,
    /// Whether documentation differs.
    documentation: bool,
    /// The code, before and after.
    code: [Vec<String>; 2],
}

impl Changed {
    fn between(then: &[Slot], now: &[Slot]) -> Self {
        let mut changed = Self::default();
        let by = |slots: &[Slot]| -> BTreeMap<(Kind, String), Slot> {
            slots.iter().map(|slot| ((slot.kind, slot.key.clone()), slot.clone())).collect()
        };
        let (then, now) = (by(then), by(now));
        let places: BTreeSet<&(Kind, String)> = then.keys().chain(now.keys()).collect();
        for place in places {
            let sides = [then.get(place), now.get(place)];
            let [old, new] = sides;
            if old == new {
                continue;
            }
            changed.documentation |= place.0 == Kind::Docs;
            for (name, _) in moved::changes(old, new) {
                if place.0 == Kind::Code {
                    let [old, new] = sides.map(|slot| slot.map(|slot| slot.text_of(&name)).unwrap_or_default());
                    changed.bodies.push((old, new));
                }
                changed.members.insert(name.split('(').next().unwrap_or(&name).to_owned());
            }
            if place.0 == Kind::Code {
                let texts = sides.map(|slot| slot.map(Slot::text).unwrap_or_default());
                changed.code.iter_mut().zip(texts).for_each(|(all, text)| all.push(text));
            }
        }
        changed
    }

    /// Returns the names, numbers and texts of one side of the code. Words in lower case are keywords and locals.
    fn names(&self, side: usize) -> BTreeSet<&str> {
        let all = self.code[side].iter().flat_map(|text| tokens(text));
        all.filter(|token| token.kind == TokenKind::Text || (token.kind == TokenKind::Word && is_name(token.text)))
            .map(|token| token.text)
            .collect()
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_uppercase() || c.is_numeric() || matches!(c, '_' | '@'))
}

/// Whether a text holds a name or a number of changed lines.
fn holds_touched(text: &str, touched: &BTreeSet<String>) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| is_name(word) && touched.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::moved::compare_slots;

    const THEN: &str =
        "{\nvar size = Read(3);\nvar kept = size;\nLog(kept);\nif (size > Limit) {\nthrow new TooLong();\n}\nreturn size;\n}";

    fn code(load: &str) -> Slot {
        let pieces = [
            ("Load()", load),
            ("Save()", "{ Write(Limit); }"),
            ("Limit", "int Limit = 9"),
            (".ctor()", "{ }"),
        ];
        slot(Kind::Code, "N.Store", &pieces)
    }

    fn slot(kind: Kind, key: &str, pieces: &[(&str, &str)]) -> Slot {
        let pieces = pieces.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Slot::new(kind, key, pieces.collect())
    }

    fn said(edge_cases: &str) -> Summaries {
        let sections = [("ROLE", "- Keeps things."), ("EDGE_CASES", edge_cases), ("LIMITATIONS", "- None.")];
        let sections = sections.map(|(name, text)| (name.to_owned(), text.to_owned()));
        Summaries::from([("N.Store".to_owned(), sections.into())])
    }

    /// Whether an answer is carried over a change when only safe changes are, and when likely ones are.
    fn carried(then: &[Slot], now: &[Slot], edge_cases: &str) -> (bool, bool) {
        let moved = compare_slots(then, now);
        let reason = |carry| reason(carry, &moved, then, now, &said(edge_cases));
        assert_eq!(reason(Carry::Never), None);
        (reason(Carry::Safe).is_some(), reason(Carry::Likely).is_some())
    }

    #[test]
    fn a_body_that_no_sentence_rests_on_is_carried_over() {
        let elsewhere = "- Writes all at once [Save].";
        for (now, expected, why) in [
            (THEN.replace("kept", "held"), (true, true), "a local"),
            (THEN.replace("Log(kept);\n", ""), (false, true), "a name went"),
            (THEN.replace("Read(3)", "Read(4)"), (false, true), "a number"),
            (THEN.replace("size > Limit", "size >= Limit"), (false, false), "when it throws"),
            (THEN.replace("return size", "return null"), (false, false), "a null result"),
        ] {
            assert_eq!(carried(&[code(THEN)], &[code(&now)], elsewhere), expected, "{why}");
        }
    }

    #[test]
    fn what_a_sentence_rests_on_is_asked_about() {
        let renamed = THEN.replace("kept", "held");
        let slower = THEN.replace("Read(3)", "Read(4)");
        for (now, text, expected) in [
            (&renamed, "- Reads three times [Load].", (false, false)),
            (&renamed, "- Load reads three times [Save].", (false, false)),
            (&renamed, "- Holds what was read [Log].", (false, false)),
            (&renamed, "- Throws beyond it [Limit].", (true, true)),
            (&renamed, "- Reads three times.", (false, true)),
            (&slower, "- Writes 3 bytes [Save].", (false, false)),
            (&slower, "- Writes 5 bytes [Save].", (false, true)),
            (&slower, "- Calls Read first [Save].", (false, false)),
        ] {
            assert_eq!(carried(&[code(THEN)], &[code(now)], text), expected, "{text}");
        }
    }

    #[test]
    fn declarations_constructors_and_documentation_are_asked_about() {
        let text = "- Writes all at once [Save].";
        let constructor = |body| slot(Kind::Code, "N.Store", &[("Save()", "{ }"), (".ctor()", body)]);
        assert_eq!(
            carried(&[constructor("{ Begin(); }")], &[constructor("{ Begin(); Begin(); }")], text),
            (false, false)
        );
        for kind in [Kind::Structure, Kind::Docs] {
            let of = |text| slot(kind, "N.Store", &[("Save()", "{ }"), ("Load()", text)]);
            assert_eq!(carried(&[of("a")], &[of("b")], text), (false, false), "{kind:?}");
        }
        let used = |declaration| slot(Kind::Signatures, "N.Clock", &[("Now()", declaration)]);
        let (then, now) = ([code(THEN), used("long Now()")], [code(THEN), used("int Now()")]);
        assert_eq!(carried(&then, &now, text), (false, true));
        assert_eq!(carried(&then, &now, "- Asks Now [Save]."), (false, false));
        assert_eq!(carried(&then, &now, "- Asks a Clock [Save]."), (false, false));
    }
}
