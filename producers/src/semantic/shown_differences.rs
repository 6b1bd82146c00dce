//! What a patch shows of the differences: those that matter to a claim or to the changed code, and removed lines only where a claim may rest on them.

use super::answer::Summaries;
use super::changed_texts::{ChangedTexts, TextDifference, names_any};
use super::churn_guard::is_odd;
use super::evidence::simple_member_name;
use super::parameters::ROLE;
use super::prompt_slots::{SlotKind, simple};
use super::splice;
use super::subject::type_key;
use std::collections::BTreeSet;

/// Whether a patch shows a difference: none of declarations that the code shows; that of a dependency's ROLE, or of a new dependency, only where the
/// changed code or a shown claim names it.
pub(super) fn is_worth_showing(diff: &TextDifference, changes: &ChangedTexts, previous: &str) -> bool {
    let is_in_passing = diff.kind == SlotKind::Role || diff.kind == SlotKind::Signatures && !diff.lines.contains("\n-");
    let name = simple(&diff.key);
    !diff.lines.is_empty() && (!is_in_passing || changes.touched.contains(name) || names_any(previous, &BTreeSet::from([name.to_owned()])))
}

/// Returns the lines of a difference that a patch of these claims shows. Removed lines of a ROLE are left out, and those of members that no claim
/// mentions.
pub(super) fn shown_lines(diff: &TextDifference, claims: &Summaries) -> String {
    if !matches!(diff.kind, SlotKind::Role | SlotKind::Code) {
        return diff.lines.clone();
    }
    let own = claims.iter().filter(|(key, _)| type_key(key) == diff.key);
    let texts = own.flat_map(|(_, sections)| sections.iter().filter(|(name, _)| *name != ROLE));
    let claims: Vec<&str> = texts.flat_map(|(_, text)| splice::claims(text)).collect();
    let is_needed = |title: &str| diff.kind == SlotKind::Code && is_spoken_of(title, simple(&diff.key), &claims);
    // A hunk without a title is of the member before it.
    let mut members: Vec<Vec<&str>> = Vec::new();
    for line in diff.lines.split_inclusive('\n') {
        match members.last_mut().filter(|_| !line.starts_with("@@ ")) {
            Some(member) => member.push(line),
            None => members.push(vec![line]),
        }
    }
    let shown = members.into_iter().map(|lines| {
        let adds = lines.iter().any(|line| line.starts_with('+'));
        if adds && !is_needed(lines[0].trim_start_matches('@').trim()) {
            without_removed_lines(&lines)
        } else {
            lines.concat()
        }
    });
    shown.collect()
}

/// Whether one of these claims may rest on a member: it names the member, or it is about the whole type.
fn is_spoken_of(title: &str, simple_type: &str, claims: &[&str]) -> bool {
    let name = simple_member_name(title);
    let names = BTreeSet::from([name.to_owned(), simple_type.to_owned()]);
    is_odd(name) || claims.iter().any(|claim| !claim.contains(" [") || names_any(claim, &names))
}

/// Returns the hunks of a member that add lines, without those that they remove.
fn without_removed_lines(lines: &[&str]) -> String {
    let hunks = lines[1..].split(|line| *line == "@@\n");
    let adding = hunks.filter(|hunk| hunk.iter().any(|line| line.starts_with('+')));
    let kept = |hunk: &[&str]| -> String { hunk.iter().filter(|line| !line.starts_with('-')).copied().collect() };
    let texts: Vec<String> = adding.map(kept).collect();
    format!("{}{}", lines[0], texts.join("@@\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn lines_beside_claim(kind: SlotKind, lines: &str, claim: &str) -> String {
        let diff = TextDifference {
            kind,
            key: "N.A".to_owned(),
            lines: lines.to_owned(),
            is_of_new_dependency: false,
        };
        let sections = BTreeMap::from([("LIMITATIONS".to_owned(), claim.to_owned())]);
        shown_lines(&diff, &Summaries::from([("N.A".to_owned(), sections)]))
    }

    #[test]
    fn removed_lines_are_shown_where_a_claim_may_rest_on_them() {
        let lines = "@@ Get\n a;\n-b;\n@@\n c;\n-d;\n+e;\n@@ Put\n-f;\n";
        let code = |claim: &str| lines_beside_claim(SlotKind::Code, lines, claim);
        assert_eq!(code("- Puts [Put]."), "@@ Get\n c;\n+e;\n@@ Put\n-f;\n");
        for claim in [
            "- Gets [Get].", "- Puts what Get gives [Put].", "- Keeps all [A].", "- Has no evidence.",
        ] {
            assert_eq!(code(claim), lines, "{claim}");
        }
        let constructor = "@@ .ctor\n-a;\n+b;\n";
        assert_eq!(lines_beside_claim(SlotKind::Code, constructor, "- Puts [Put]."), constructor);
    }

    #[test]
    fn of_a_role_only_the_new_one_is_shown() {
        let lines = "@@\n-- Was.\n+- Is.\n";
        assert_eq!(lines_beside_claim(SlotKind::Role, lines, "- Keeps all [A]."), "@@\n+- Is.\n");
        assert_eq!(lines_beside_claim(SlotKind::Signatures, lines, "- Puts [Put]."), lines);
    }
}
