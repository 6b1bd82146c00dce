//! Corrections by hand: which sections of an output a person changed, and what is noted with it.
//!
//! Sections are those of the seed's summaries (000 §3.5): a line of capitals and underscores with a colon, and what follows up to the
//! next. Under a heading `## NAME` (summaries of several types) a section is `NAME/SECTION`.

use engine::seams::paid::Notes;
use engine::values::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};

/// Longest corrected output in bytes.
pub const LONGEST: usize = 1 << 20;

/// The note that lists sections a person wrote.
pub const CORRECTED: &str = "corrected";

/// Why a text cannot take an output's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is too long.
    Long,
    /// It holds control characters; the line of the first.
    Control(usize),
    /// Sections that the output has are missing.
    Missing(Vec<String>),
}

/// The sections of an output by name, in order of their names.
pub fn sections(text: &str) -> BTreeMap<String, String> {
    let mut sections: BTreeMap<String, String> = BTreeMap::new();
    let (mut heading, mut at): (String, Option<String>) = (String::new(), None);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            heading = format!("{}/", name.split_whitespace().last().unwrap_or_default());
            at = None;
        } else if let Some(name) = line.strip_suffix(':').filter(|name| is_section(name)) {
            let name = format!("{heading}{name}");
            sections.entry(name.clone()).or_default();
            at = Some(name);
        } else if let Some(section) = at.as_ref().and_then(|name| sections.get_mut(name)) {
            section.push_str(line);
            section.push('\n');
        }
    }
    sections.values_mut().for_each(|text| *text = text.trim().to_owned());
    sections
}

fn is_section(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.len() > 1 && name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(plain)
}

/// The notes of an output in which a person put `new` in the place of `old`, which had `before` as its notes.
///
/// # Errors
/// When `new` cannot take its place.
pub fn notes(old: &str, new: &str, before: &Notes) -> Result<Notes, Refused> {
    if new.len() > LONGEST {
        return Err(Refused::Long);
    }
    if let Some(line) = new.lines().position(|line| line.chars().any(|c| c.is_control() && c != '\t')) {
        return Err(Refused::Control(line + 1));
    }
    let (had, has) = (sections(old), sections(new));
    let missing: Vec<String> = had.keys().filter(|name| !has.contains_key(*name)).cloned().collect();
    if !missing.is_empty() {
        return Err(Refused::Missing(missing));
    }
    let mut corrected: BTreeSet<&str> = before
        .get(CORRECTED)
        .map(|names| names.split(',').filter(|name| !name.is_empty()).collect())
        .unwrap_or_default();
    let changed = has.iter().filter(|(name, text)| had.get(*name) != Some(text));
    corrected.extend(changed.map(|(name, _)| name.as_str()));
    let mut notes = before.clone();
    notes.insert("mode".to_owned(), "edited".to_owned());
    notes.insert("base".to_owned(), Digest::of(old.as_bytes()).to_string());
    notes.insert("why".to_owned(), "corrected by hand".to_owned());
    notes.insert(CORRECTED.to_owned(), corrected.into_iter().collect::<Vec<_>>().join(","));
    Ok(notes)
}

/// The notes of an output whose corrections are let go.
pub fn released(before: &Notes) -> Notes {
    let mut notes = before.clone();
    notes.remove(CORRECTED);
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# Semantic: A T_1\nImplHash: x\n\nROLE:\n- Does it.\n\nEDGE_CASES:\nNone.\n";

    #[test]
    fn what_a_person_changed_is_marked_and_stays_marked() {
        let new = OLD.replace("Does it.", "Does it well.");
        let first = notes(OLD, &new, &Notes::new()).expect("a correction");
        assert_eq!(first[CORRECTED], "ROLE");
        let newer = new.replace("None.", "Many: see\nmore.");
        let second = notes(&new, &newer, &first).expect("a correction");
        assert_eq!(second[CORRECTED], "EDGE_CASES,ROLE");
        assert_eq!(second["base"], Digest::of(new.as_bytes()).to_string());
        assert_eq!(released(&second).get(CORRECTED), None);
    }

    #[test]
    fn sections_of_several_types_are_apart() {
        let text = "Types: T_1, T_2\n\n## N.A T_1\nROLE:\n- a\n\n## N.B T_2\nROLE:\n- b\n";
        let found = sections(text);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["T_1/ROLE", "T_2/ROLE"]);
        assert_eq!(found["T_2/ROLE"], "- b");
    }

    #[test]
    fn what_cannot_stand_is_refused() {
        assert_eq!(
            notes(OLD, "ROLE:\nx\n", &Notes::new()),
            Err(Refused::Missing(vec!["EDGE_CASES".to_owned()]))
        );
        assert_eq!(notes(OLD, "a\nb\u{1b}[2J", &Notes::new()), Err(Refused::Control(2)));
        assert_eq!(notes(OLD, &"x".repeat(LONGEST + 1), &Notes::new()), Err(Refused::Long));
    }
}
