//! Changes that no claim speaks of: a patch would show no claim and nothing that deserves a new one, so no model is asked.
//!
//! Such are removed members and documentation, added tests, changed declarations and roles of dependencies, and small changes of bodies with the
//! same facts (exceptions and their conditions, null results, catches, locks, waits). The next question shows them with the other changes.

use super::answer::Summaries;
use super::body_facts::facts;
use super::changed_texts::{ChangedTexts, TextDifference};
use super::churn_guard::is_odd;
use super::member_relations::changed_members;
use super::prompt::Material;
use super::prompt_slots::{Slot, SlotKind};
use super::splice;
use super::test_methods::is_test;
use std::collections::BTreeMap;

/// Changed share of the text above which bodies may deserve new claims.
const LARGE: f64 = 0.2;

/// Whether no claim rests on the changes since `then`, and none of them deserves a new one.
pub(super) fn are_unspoken(material: &Material<'_>, old: &Summaries, changes: &ChangedTexts, then: &[Slot]) -> bool {
    let is_harmless = |diff: &TextDifference| match diff.kind {
        SlotKind::Role | SlotKind::Signatures => true,
        SlotKind::Docs => diff.lines.lines().all(|line| line == "@@" || line.starts_with('-')),
        SlotKind::Structure => {
            let adds_test = |line: &str| line.strip_prefix('+').is_some_and(is_test);
            let mut lines = diff.lines.lines();
            lines.all(|line| line == "@@" || line.starts_with('-') || adds_test(line))
        }
        SlotKind::Code => keeps_facts(&diff.key, then, material.slots, changes.share),
    };
    // A difference without lines is one of spelling.
    let mut shown = changes.diffs.iter().filter(|diff| !diff.lines.is_empty());
    let shows_claim = || {
        let claims = splice::without_unshown(old, &material.unshown(old, changes));
        let mut sections = claims.values().flat_map(BTreeMap::values);
        sections.any(|text| !splice::claims(text).is_empty())
    };
    changes.new_types.is_empty() && shown.all(is_harmless) && !shows_claim()
}

/// Whether the code of a type only lost members, or also changed little and with the same facts.
fn keeps_facts(key: &str, then: &[Slot], now: &[Slot], share: f64) -> bool {
    let [old, new] = [then, now].map(|slots| slots.iter().find(|slot| slot.kind == SlotKind::Code && slot.key == key));
    let text = |slot: Option<&Slot>, name: &str| slot.map(|slot| slot.text_of_member(name)).unwrap_or_default();
    let has_same_facts = |name: &str| facts(&text(old, name)) == facts(&text(new, name));
    let mut members = changed_members(old, new).into_iter();
    let is_small = |name: &str, what: &str| what == "changed" && share <= LARGE && !is_odd(name) && has_same_facts(name);
    text(old, "") == text(new, "") && members.all(|(name, what)| what == "removed" || is_small(&name, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::changed_texts::compare_slots;
    use crate::semantic::document::SummaryHead;
    use crate::semantic::parameters::SummaryParameters;
    use crate::semantic::template::Template;
    use engine::seams::producer::Params;
    use engine::values::digest::Digest;

    fn slot(kind: SlotKind, key: &str, pieces: &[(&str, &str)]) -> Slot {
        let pieces = pieces.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Slot::new(kind, key, pieces.collect())
    }

    fn are_unspoken(then: &[Slot], now: &[Slot], claim: &str) -> bool {
        let head = SummaryHead {
            key: "N.A".into(),
            id: "T_1".into(),
            structure: Digest([0; 32]),
            code: Digest([0; 32]),
            dependencies: vec![],
        };
        let material = Material {
            template: &Template::built_in().expect("good"),
            parameters: &SummaryParameters::from_params(&Params::new(), &Params::new()),
            heads: &[head],
            slots: now,
        };
        let old = Summaries::from([("N.A".to_owned(), BTreeMap::from([("LIMITATIONS".to_owned(), claim.to_owned())]))]);
        super::are_unspoken(&material, &old, &compare_slots(then, now), then)
    }

    fn code(pieces: &[(&str, &str)]) -> [Slot; 1] {
        [slot(SlotKind::Code, "N.A", pieces)]
    }

    const GET: (&str, &str) = ("Get()", "Get() { a; }");
    const PUT: (&str, &str) = ("Put()", "Put() { x; }");

    #[test]
    fn removed_members_on_which_no_claim_rests_need_no_answer() {
        let removed = |claim: &str| are_unspoken(&code(&[GET, PUT]), &code(&[PUT]), claim);
        assert!(removed("- Puts [Put]."));
        assert!(!removed("- Puts what Get gives [Put]."), "it names what was removed");
        assert!(!removed("- Has no evidence."));
    }

    #[test]
    fn small_changes_of_bodies_with_the_same_facts_need_no_answer() {
        let lines = "a;\n".repeat(40);
        let long = format!("Get() {{\n{lines}}}");
        let changed = |put: &str, claim: &str| {
            let with = |put: &str| code(&[("Get()", &long), ("Put()", put)]);
            are_unspoken(&with("Put() {\nx;\n}"), &with(put), claim)
        };
        assert!(changed("Put() {\ny;\n}", "- Gets [Get]."));
        assert!(!changed("Put() {\ny;\n}", "- Puts [Put]."), "a claim rests on it");
        assert!(!changed("Put() {\nthrow new E();\n}", "- Gets [Get]."), "an exception");
        assert!(!changed(&format!("Put() {{\n{}}}", "y;\n".repeat(40)), "- Gets [Get]."), "too much");
        assert!(!are_unspoken(&code(&[GET]), &code(&[GET, PUT]), "- Gets [Get]."), "a new member");
    }

    #[test]
    fn readers_on_which_no_claim_rests_need_no_answer() {
        let used = |text: &str| slot(SlotKind::Signatures, "N.Clock", &[("", "class Clock"), ("Now", text)]);
        let own = slot(SlotKind::Code, "N.A", &[("Get()", "Get() { Clock.Now; }"), PUT]);
        let changed = |claim: &str| are_unspoken(&[own.clone(), used("int Now")], &[own.clone(), used("long Now")], claim);
        assert!(changed("- Puts [Put]."));
        assert!(!changed("- Gets [Get]."), "its code uses what changed");
    }

    #[test]
    fn added_tests_need_no_answer_until_they_are_many() {
        let tests = |count: usize, more: &[(&str, &str)]| {
            let names = (0..count).map(|number| format!("T{number}()"));
            let tests = names.map(|name| (name.clone(), format!("[Fact] public void {name}")));
            let more = more.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            [Slot::new(SlotKind::Structure, "N.A", more.chain(tests).collect())]
        };
        let few = tests(20, &[("", "class A")]);
        let added = |count: usize, claim: &str| are_unspoken(&few, &tests(count, &[("", "class A")]), claim);
        assert!(added(22, "- Never checks nulls [T3]."));
        assert!(!added(22, "- Never checks nulls [A]."), "it is about all tests");
        let is_redefined = |count: usize| !compare_slots(&few, &tests(count, &[("", "class A")])).redefined.is_empty();
        assert!(!is_redefined(22) && is_redefined(30), "the role is shown then");
        let member = tests(20, &[("", "class A"), ("Of()", "public int Of()")]);
        assert!(!are_unspoken(&few, &member, "- Checks [T3]."), "no test");
    }
}
