//! Answers to questions: three sections of text as a structure. Evidence that names nothing shown is dropped.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A structured answer; the JSON content of `//investigations/ID:answer`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    pub question: String,
    /// The author: a model's name, or `extractive`.
    pub source: String,
    /// The answer in a few sentences.
    pub conclusion: String,
    /// The evidence of the conclusion.
    pub evidence: Vec<Evidence>,
    /// Ways through the code, each a chain of types or members.
    pub paths: Vec<String>,
    /// Number of pieces of evidence that were dropped because they named nothing that was shown.
    pub dropped: usize,
    /// Types of the scope that did not fit into the budget.
    pub left_out: Vec<String>,
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The symbol path of the type.
    #[serde(rename = "type")]
    pub key: String,
    /// The member, if one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    pub text: String,
}

/// The reason why a text is not an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// A section is missing or empty.
    #[error("the section {0} is missing or empty")]
    Missing(&'static str),
}

/// The words that the model was shown of each type, by symbol path.
pub(super) type WordsByType<'s> = BTreeMap<&'s str, BTreeSet<&'s str>>;

/// Longest text of a section in characters.
const LONGEST: usize = 20_000;
/// Most entries of a list.
const MOST: usize = 60;

/// Parses an answer. Drops evidence and paths that name types or members not in `shown`.
pub(super) fn parse_findings(text: &str, question: &str, source: &str, shown: &WordsByType<'_>) -> Result<Findings, Unanswered> {
    let sections = split_into_sections(text);
    let section = |name: &'static str| sections.iter().find(|(found, _)| *found == name).map(|(_, text)| text.as_str());
    let conclusion = section("CONCLUSION").map(str::trim).filter(|text| !text.is_empty());
    let mut findings = Findings {
        question: question.to_owned(),
        source: source.to_owned(),
        conclusion: conclusion.ok_or(Unanswered::Missing("CONCLUSION"))?.chars().take(LONGEST).collect(),
        ..Findings::default()
    };
    for line in items(section("EVIDENCE").ok_or(Unanswered::Missing("EVIDENCE"))?) {
        match evidence(line, shown) {
            Some(found) => findings.evidence.push(found),
            None => findings.dropped += 1,
        }
    }
    let none = |line: &str| matches!(line.trim_end_matches('.').to_ascii_lowercase().as_str(), "none" | "n/a" | "-");
    let paths = items(section("PATHS").unwrap_or_default()).filter(|line| !none(line));
    for line in paths {
        if is_path(line, shown) {
            findings.paths.push(line.chars().take(LONGEST).collect());
        } else {
            findings.dropped += 1;
        }
    }
    Ok(findings)
}

/// Whether a line is a chain of names, at least one of them shown, and none of a member that a shown type does not have. Steps may be outside of the
/// scope, for instance in the class library.
fn is_path(line: &str, shown: &WordsByType<'_>) -> bool {
    let steps = line
        .split(['→', '⇒', '⟶'])
        .flat_map(|part| part.split("->"))
        .flat_map(|part| part.split("=>"));
    let named = |step: &str| step.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '@')) && !step.contains(['/', '\\']);
    let mut known = 0;
    for step in steps.map(|step| step.trim().trim_matches(['`', '[', ']', '.'])) {
        if !named(step) {
            return false;
        }
        match of_shown(step, shown) {
            Some((key, member)) if was_shown(shown, key, member) => known += 1,
            Some(_) => return false,
            None => {}
        }
    }
    known > 0
}

fn was_shown(shown: &WordsByType<'_>, key: &str, member: Option<&str>) -> bool {
    let Some(member) = member else { return true };
    let name = member.split(['(', '<', '[', ' ']).next().unwrap_or(member);
    let constructor = matches!(name, "ctor" | "");
    constructor || shown.get(key).is_some_and(|words| words.contains(name))
}

/// Splits a text into sections: a line begins one with its name in capitals, perhaps as a heading or in bold, with or without a colon and text.
fn split_into_sections(text: &str) -> Vec<(&'static str, String)> {
    let mut sections: Vec<(&'static str, String)> = Vec::new();
    for line in text.lines() {
        let clean: String = line.chars().filter(|c| !c.is_control() || *c == '\t').collect();
        let bare = clean.trim().trim_start_matches(['#', '*', ' ']);
        let named = ["CONCLUSION", "EVIDENCE", "PATHS"].into_iter().find_map(|name| {
            let rest = bare.strip_prefix(name)?;
            let rest = rest.trim_start_matches('*');
            let rest = match rest.strip_prefix(':') {
                Some(rest) => rest,
                None if rest.trim().is_empty() => "",
                None => return None,
            };
            Some((name, rest.trim_start_matches('*').trim().to_owned()))
        });
        if let Some((name, rest)) = named
            && sections.iter().all(|(known, _)| *known != name)
        {
            sections.push((name, format!("{rest}\n")));
        } else if let Some((_, section)) = sections.last_mut() {
            section.push_str(&clean);
            section.push('\n');
        }
    }
    sections
}

/// Returns the entries of a list, without their marks.
fn items(section: &str) -> impl Iterator<Item = &str> {
    let lines = section.lines().map(|line| line.trim().trim_start_matches(['-', '*', '•']).trim());
    lines.filter(|line| !line.is_empty()).take(MOST)
}

/// Parses `[Type.Member] text` or `[Type] text`; `None` when it names a type that was not shown, or a member that was not shown of it.
fn evidence(line: &str, shown: &WordsByType<'_>) -> Option<Evidence> {
    let (named, text) = line.strip_prefix('[')?.split_once(']')?;
    let named = named.trim().trim_matches('`');
    let (key, member) = of_shown(named, shown).filter(|(key, member)| was_shown(shown, key, *member))?;
    let text: String = text
        .trim()
        .trim_start_matches([':', '—', '-'])
        .trim()
        .chars()
        .take(LONGEST)
        .collect();
    (!text.is_empty()).then(|| Evidence {
        key: key.to_owned(),
        member: member.map(str::to_owned),
        text,
    })
}

/// Resolves a name to a type: its whole path, or a unique suffix of it; the rest is a member.
fn of_shown<'s, 'n>(named: &'n str, shown: &WordsByType<'s>) -> Option<(&'s str, Option<&'n str>)> {
    let find = |name: &str| -> Option<&'s str> {
        if let Some((key, _)) = shown.get_key_value(name) {
            return Some(key);
        }
        let ends = |key: &&&'s str| key.strip_suffix(name).is_some_and(|before| before.ends_with(['.', '+']));
        let mut found = shown.keys().filter(ends);
        found.next().filter(|_| found.next().is_none()).copied()
    };
    if let Some(key) = find(named) {
        return Some((key, None));
    }
    let cut = named.find('(').map_or(named, |at| &named[..at]);
    let at = cut.rfind(['.', '#'])?;
    Some((find(&named[..at])?, Some(&named[at + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case_of_two_types() -> WordsByType<'static> {
        let of = |key, words: &[&'static str]| (key, words.iter().copied().collect());
        BTreeMap::from([of("N.Store", &["Get", "int"]), of("N.Store+Entry", &[]), of("M.Codec", &["Decode"])])
    }

    #[test]
    fn members_and_paths_of_nothing_are_dropped() {
        let text = "CONCLUSION: yes\nEVIDENCE:\n- [N.Store.Nope] x\n- [Store.Get] y\n- [N.Store.ctor] z\nPATHS:\n- /etc/passwd\n- Store.Get -> File.Read\n- Store.Nope → Codec.Decode\n- Only words\n- Gone.Type → Other\n";
        let found = parse_findings(text, "q", "m", &case_of_two_types()).expect("an answer");
        let members: Vec<Option<&str>> = found.evidence.iter().map(|one| one.member.as_deref()).collect();
        assert_eq!(members, [Some("Get"), Some("ctor")]);
        assert_eq!((found.paths, found.dropped), (vec!["Store.Get -> File.Read".to_owned()], 5));
    }

    #[test]
    fn an_answer_is_read_and_evidence_that_names_nothing_is_dropped() {
        let text = "Sure!\n## CONCLUSION:\nIt is cached.\nTwice.\n**EVIDENCE**:\n- [N.Store.Get(int)] looks into the cache\n- [Store+Entry]: holds it\n- [Gone.Type] nothing\n- no brackets\nPATHS:\n- Store.Get → Codec.Decode\n";
        let found = parse_findings(text, "q?", "m", &case_of_two_types()).expect("an answer");
        assert_eq!(found.conclusion, "It is cached.\nTwice.");
        let evidence: Vec<(&str, Option<&str>)> = found.evidence.iter().map(|one| (one.key.as_str(), one.member.as_deref())).collect();
        assert_eq!(evidence, [("N.Store", Some("Get(int)")), ("N.Store+Entry", None)]);
        assert_eq!(
            (found.dropped, found.paths.as_slice()),
            (2, &["Store.Get → Codec.Decode".to_owned()][..])
        );
    }

    #[test]
    fn text_without_a_section_is_no_answer() {
        assert_eq!(
            parse_findings("EVIDENCE:\n- x", "q", "m", &case_of_two_types()),
            Err(Unanswered::Missing("CONCLUSION"))
        );
        assert_eq!(
            parse_findings("CONCLUSION: yes", "q", "m", &case_of_two_types()),
            Err(Unanswered::Missing("EVIDENCE"))
        );
        let empty = parse_findings("CONCLUSION: yes\nEVIDENCE:\nPATHS:\nNone.", "q", "m", &case_of_two_types()).expect("an answer");
        assert_eq!((empty.conclusion.as_str(), empty.evidence.len(), empty.paths.len()), ("yes", 0, 0));
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_panic(text in "[\\PC\n:#*\\[\\]-]{0,200}") {
            let _ = parse_findings(&text, "q", "m", &case_of_two_types());
        }
    }
}
