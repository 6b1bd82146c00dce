//! Corrections by hand: the sections of a summary that a person changed, its notes, and the new text.
//!
//! Sections are those of the seed's summaries (000 §3.5): a line of capitals and underscores with a colon, and the text up to the next one. The text
//! before the first one, the head, belongs to cortex: a person's changes of it are ignored. A text whose sections could not be read back is refused,
//! so that no words are lost later.

use engine::seams::paid::Notes;
use engine::store::corrections::Words;
use engine::values::digest::Digest;
use producers::semantic::LONGEST_SECTION;
use std::collections::BTreeSet;

/// Limit of bytes of a corrected output.
pub const LONGEST: usize = 1 << 20;

/// The note that lists corrected sections.
pub const CORRECTED: &str = "corrected";

/// The reason why a text cannot replace an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The text is too long.
    Long,
    /// The text contains control characters; the first is in this line.
    Control(usize),
    /// A line inside a section would be parsed as a heading.
    Heading(usize),
    /// Sections that the output has are missing.
    Missing(Vec<String>),
    /// The text has sections that the output does not have.
    Unknown(Vec<String>),
    /// A section appears twice.
    Twice(String),
    /// A section is empty.
    Empty(String),
    /// A section is longer than [`LONGEST_SECTION`].
    LongSection(String, usize),
}

/// A parsed summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    head: String,
    /// Names and texts, in order.
    pub list: Vec<(String, String)>,
}

impl Sections {
    pub fn from_text(text: &str) -> Self {
        let mut read = Self::default();
        for line in text.lines() {
            if let Some(name) = line.strip_suffix(':').filter(|name| is_section(name)) {
                read.list.push((name.to_owned(), String::new()));
            } else {
                let place = read.list.last_mut().map_or(&mut read.head, |(_, text)| text);
                place.push_str(line);
                place.push('\n');
            }
        }
        for (_, text) in &mut read.list {
            let (start, end) = (text.len() - text.trim_start_matches('\n').len(), text.trim_end().len());
            *text = text.get(start..end).unwrap_or_default().to_owned();
        }
        read
    }

    pub fn section_text(&self, name: &str) -> Option<&str> {
        self.list.iter().find(|(found, _)| found == name).map(|(_, text)| text.as_str())
    }

    pub fn summary_file(&self) -> String {
        let mut text = format!("{}\n", self.head.trim_end());
        for (name, body) in &self.list {
            text.push_str(&format!("\n{name}:\n{body}\n"));
        }
        text
    }

    pub fn words_of_sections<'n>(&self, names: impl Iterator<Item = &'n str>) -> Words {
        names
            .filter_map(|name| Some((name.to_owned(), self.section_text(name)?.to_owned())))
            .collect()
    }
}

fn is_section(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.len() > 1 && name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(plain)
}

/// Returns the corrected sections that notes list.
pub fn corrected_sections(notes: &Notes) -> impl Iterator<Item = &str> {
    let names = notes.get(CORRECTED).into_iter().flat_map(|names| names.split(','));
    names.filter(|name| !name.is_empty())
}

/// Returns the summary that replaces `old` when a person writes `new`: the old head and order of sections, with the new texts. Fails when
/// `new` cannot replace it.
pub fn compose_correction(old: &str, new: &str) -> Result<Sections, Refused> {
    if new.len() > LONGEST {
        return Err(Refused::Long);
    }
    let lines = || new.lines().enumerate();
    if let Some((line, _)) = lines().find(|(_, line)| line.chars().any(|c| c.is_control() && c != '\t')) {
        return Err(Refused::Control(line + 1));
    }
    let first = lines().find(|(_, line)| line.strip_suffix(':').is_some_and(is_section));
    let inside = lines().skip(first.map_or(0, |(at, _)| at));
    if let Some((line, _)) = inside.into_iter().find(|(_, line)| line.starts_with('#')) {
        return Err(Refused::Heading(line + 1));
    }
    let (had, has) = (Sections::from_text(old), Sections::from_text(new));
    let lacks = |these: &Sections, those: &Sections| -> Vec<String> {
        let names = these.list.iter().filter(|(name, _)| those.section_text(name).is_none());
        names.map(|(name, _)| name.clone()).collect()
    };
    let (missing, unknown) = (lacks(&had, &has), lacks(&has, &had));
    if !missing.is_empty() {
        return Err(Refused::Missing(missing));
    }
    if !unknown.is_empty() {
        return Err(Refused::Unknown(unknown));
    }
    let mut seen = BTreeSet::new();
    for (name, text) in &has.list {
        if !seen.insert(name) {
            return Err(Refused::Twice(name.clone()));
        }
        if text.is_empty() {
            return Err(Refused::Empty(name.clone()));
        }
        if text.len() > LONGEST_SECTION {
            return Err(Refused::LongSection(name.clone(), text.len()));
        }
    }
    let list = had
        .list
        .iter()
        .filter_map(|(name, _)| Some((name.clone(), has.section_text(name)?.to_owned())));
    Ok(Sections {
        list: list.collect(),
        head: had.head.clone(),
    })
}

/// Returns the notes of an output in which a person replaced `old`, whose notes were `before`, by `new`.
pub fn notes_of_correction(old: &str, new: &Sections, before: &Notes) -> Notes {
    let had = Sections::from_text(old);
    let mut names: BTreeSet<&str> = corrected_sections(before).collect();
    let changed = new.list.iter().filter(|(name, text)| had.section_text(name) != Some(text));
    names.extend(changed.map(|(name, _)| name.as_str()));
    let mut notes = before.clone();
    notes.insert("mode".to_owned(), "edited".to_owned());
    notes.insert("base".to_owned(), Digest::of(old.as_bytes()).to_string());
    notes.insert("why".to_owned(), "corrected by hand".to_owned());
    notes.insert(CORRECTED.to_owned(), names.into_iter().collect::<Vec<_>>().join(","));
    notes
}

/// Returns the notes of an output whose corrections are released.
pub fn release_corrections(before: &Notes) -> Notes {
    let mut notes = before.clone();
    notes.remove(CORRECTED);
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# Semantic: A T_1\nImplHash: x\n\nROLE:\n- Does it.\n\nEDGE_CASES:\nNone.\n";

    #[test]
    fn sections_that_a_person_changed_stay_marked() {
        let new = compose_correction(OLD, &OLD.replace("Does it.", "Does it well.")).expect("a correction");
        let first = notes_of_correction(OLD, &new, &Notes::new());
        assert_eq!(first[CORRECTED], "ROLE");
        let old = new.summary_file();
        assert_eq!(old, OLD.replace("Does it.", "Does it well."));
        let newer = compose_correction(&old, &old.replace("None.", "Many: see\nmore.")).expect("a correction");
        let second = notes_of_correction(&old, &newer, &first);
        assert_eq!(second[CORRECTED], "EDGE_CASES,ROLE");
        assert_eq!(second["base"], Digest::of(old.as_bytes()).to_string());
        assert_eq!(
            newer.words_of_sections(corrected_sections(&second))["EDGE_CASES"],
            "Many: see\nmore."
        );
        assert_eq!(release_corrections(&second).get(CORRECTED), None);
    }

    #[test]
    fn the_head_is_not_a_persons_to_change() {
        for head in ["", "# Semantic: B T_2\nImplHash: y\n", "nonsense\n"] {
            let text = format!("{head}ROLE:\n- Mine.\n\n\nEDGE_CASES:\r\nNone.\n\n");
            let new = compose_correction(OLD, &text).expect("a correction");
            assert_eq!(new.summary_file(), OLD.replace("Does it.", "Mine."), "{head}");
        }
        // Sections in another order return to their places.
        let text = "EDGE_CASES:\nNone.\nROLE:\n- Does it.";
        assert_eq!(compose_correction(OLD, text).expect("the same").summary_file(), OLD);
    }

    #[test]
    fn invalid_corrections_are_refused() {
        let refused = |text: &str| compose_correction(OLD, text).expect_err(text);
        assert_eq!(refused("ROLE:\nx\n"), Refused::Missing(vec!["EDGE_CASES".to_owned()]));
        assert_eq!(refused("a\nb\u{1b}[2J"), Refused::Control(2));
        assert_eq!(refused(&"x".repeat(LONGEST + 1)), Refused::Long);
        assert_eq!(
            refused(&format!("{OLD}\nMYOWN:\n- x\n")),
            Refused::Unknown(vec!["MYOWN".to_owned()])
        );
        assert_eq!(refused(&format!("{OLD}\nROLE:\n- x\n")), Refused::Twice("ROLE".to_owned()));
        assert_eq!(refused(&OLD.replace("- Does it.", "")), Refused::Empty("ROLE".to_owned()));
        assert_eq!(refused(&OLD.replace("- Does it.", "- Does it.\n## More")), Refused::Heading(6));
        let long = OLD.replace("Does it.", &"x".repeat(LONGEST_SECTION));
        assert_eq!(refused(&long), Refused::LongSection("ROLE".to_owned(), LONGEST_SECTION + 2));
    }
}
