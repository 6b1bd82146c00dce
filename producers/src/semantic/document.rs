//! Summaries as files, in the seed's format (000 §3.5): head lines, then the sections in order. A group has one file, with a heading `##` for each
//! type. Reading a written file gives the same summaries.

use super::answer::{Sections, Summaries, canonical};
use super::parameters::Section;
use csharp::ids::short_hash;
use engine::values::digest::Digest;
use std::collections::BTreeMap;

/// The head of a type's summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SummaryHead {
    /// Key in `//index:types`; with `#` and the member's key for a member.
    pub(super) key: String,
    pub(super) id: String,
    pub(super) structure: Digest,
    pub(super) code: Digest,
    /// Identifiers of the types that its structure names.
    pub(super) dependencies: Vec<String>,
}

pub(super) fn write_summary(head: &SummaryHead, source: &str, sections: &Sections, wanted: &[Section]) -> String {
    format!("# Semantic: {}", part(head, source, sections, wanted))
}

/// Returns the summaries of a group, after its identifier and source.
pub(super) fn write_group(id: &str, heads: &[SummaryHead], source: &str, summaries: &Summaries, wanted: &[Section]) -> String {
    let ids: Vec<&str> = heads.iter().map(|head| head.id.as_str()).collect();
    let mut text = format!("# Semantic: {id}\nTypes: {}\nSource: {source}\n", ids.join(","));
    let none = Sections::new();
    for head in heads {
        text.push_str("\n## ");
        text.push_str(&part(head, source, summaries.get(&head.key).unwrap_or(&none), wanted));
    }
    text
}

fn part(head: &SummaryHead, source: &str, sections: &Sections, wanted: &[Section]) -> String {
    let dependencies = if head.dependencies.is_empty() {
        "none".to_owned()
    } else {
        head.dependencies.join(", ")
    };
    let mut text = format!(
        "{} {}\nStructureHash: {}\nImplHash: {}\nDependencies: {dependencies}\nSource: {source}\n",
        head.key,
        head.id,
        short_hash(&head.structure),
        short_hash(&head.code)
    );
    for section in wanted {
        let body = sections.get(&section.name).map_or("", String::as_str);
        text.push_str(&format!("\n{}:\n{body}\n", section.name));
    }
    text
}

/// Returns the part of a group's file about a type, as a file of its own.
pub(super) fn part_of(group: &str, id: &str) -> Option<String> {
    let mut part: Option<String> = None;
    for line in group.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            if part.is_some() {
                break;
            }
            if heading.rsplit(' ').next() == Some(id) {
                part = Some(format!("# Semantic: {heading}\n"));
            }
        } else if let Some(text) = &mut part {
            text.push_str(line);
            text.push('\n');
        }
    }
    part.map(|text| format!("{}\n", text.trim_end()))
}

/// Returns the part of a summary of one type or of a group that is about a type, under a heading `##`, with the identifier in it.
pub(super) fn part_under_heading(text: &str, is_about: impl Fn(&str) -> bool) -> Option<(String, &str)> {
    let headings = text
        .lines()
        .filter_map(|line| line.strip_prefix("# Semantic: ").or_else(|| line.strip_prefix("## ")));
    let mut named = headings.filter_map(|heading| heading.rsplit_once(' '));
    let (_, id) = named.find(|(key, _)| is_about(key))?;
    let part = part_of(text, id).unwrap_or_else(|| text.to_owned());
    Some((part.replacen("# Semantic: ", "## ", 1), id))
}

/// Returns the same types with their identifiers in an earlier summary, where they may have other names.
pub(super) fn heads_then(text: &str, heads: &[SummaryHead], now: impl Fn(&str) -> String) -> Vec<SummaryHead> {
    let headings = text
        .lines()
        .filter_map(|line| line.strip_prefix("# Semantic: ").or_else(|| line.strip_prefix("## ")));
    let named = headings.filter_map(|heading| heading.rsplit_once(' '));
    let ids: BTreeMap<String, &str> = named.map(|(key, id)| (now(key), id)).collect();
    let then = |head: &SummaryHead| SummaryHead {
        id: ids.get(&head.key).map_or_else(|| head.id.clone(), |id| (*id).to_owned()),
        ..head.clone()
    };
    heads.iter().map(then).collect()
}

/// Returns the sections of a summary, or of every type of a group's, by key; missing ones are left out.
pub(super) fn parse_sections(text: &str, heads: &[SummaryHead], wanted: &[Section]) -> Summaries {
    let mut summaries = Summaries::new();
    let mut own: Option<&str> = None;
    let mut at: Option<&str> = None;
    let mut body = String::new();
    let mut file = |own: Option<&str>, at: &mut Option<&str>, body: &mut String| {
        let text = canonical(body);
        body.clear();
        if let (Some(own), Some(name)) = (own, at.take()) {
            summaries.entry(own.to_owned()).or_default().insert(name.to_owned(), text);
        }
    };
    for line in text.lines() {
        let heading = line.strip_prefix("# Semantic: ").or_else(|| line.strip_prefix("## "));
        let section = line
            .strip_suffix(':')
            .and_then(|name| wanted.iter().find(|section| section.name == name));
        if let Some(heading) = heading {
            file(own, &mut at, &mut body);
            let id = heading.rsplit(' ').next();
            own = heads.iter().find(|head| id == Some(&head.id)).map(|head| head.key.as_str());
        } else if let Some(section) = section {
            file(own, &mut at, &mut body);
            at = Some(&section.name);
        } else {
            body.push_str(line);
            body.push('\n');
        }
    }
    file(own, &mut at, &mut body);
    summaries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::answer;
    use proptest::prelude::*;

    fn sample_sections() -> Vec<Section> {
        ["ROLE", "LIFECYCLE", "X_1"]
            .map(|name| Section {
                name: name.into(),
                about: String::new(),
            })
            .to_vec()
    }

    fn head(key: &str, id: &str) -> SummaryHead {
        SummaryHead {
            key: key.into(),
            id: id.into(),
            structure: Digest([1; 32]),
            code: Digest([2; 32]),
            dependencies: vec![],
        }
    }

    proptest! {
        /// Any parsed answer of a model is read back from the file unchanged.
        #[test]
        fn a_parsed_answer_is_read_back_from_its_file(text in "((ROLE|LIFECYCLE|X_1|OTHER):?\n|# TYPE: N\\.B\n|# Semantic: N\\.A T_1\n|## N\\.B T_2\n|```\n|- [a-z ]{0,6}\n|\n|Source: x\n){0,14}") {
            let heads = [head("N.A", "T_1"), head("N.B", "T_2")];
            let about = [("N.A", "T_1"), ("N.B", "T_2")];
            let wanted = sample_sections();
            let mut summaries = answer::parse_summary_answer(&format!("# TYPE: N.A\n{text}"), &about, &wanted).summaries;
            for head in &heads {
                let sections = summaries.entry(head.key.clone()).or_default();
                for section in &wanted {
                    sections.entry(section.name.clone()).or_default();
                }
            }
            let group = write_group("G_1", &heads, "m", &summaries, &wanted);
            prop_assert_eq!(&parse_sections(&group, &heads, &wanted), &summaries, "{}", group);
            for head in &heads {
                let part = part_of(&group, &head.id).expect("a part");
                prop_assert_eq!(&part, &write_summary(head, "m", &summaries[&head.key], &wanted).trim_end().to_owned().add("\n"));
            }
        }
    }

    use std::ops::Add;
}
