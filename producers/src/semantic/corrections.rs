//! A person's corrections: the sections of a summary that a person wrote, from the last result or another checkout. Every later answer keeps them
//! word for word, and reports those that it cannot keep.

use super::answer::{Summaries, canonical};
use super::document::{self, SummaryHead};
use super::parameters::Section;
use super::renames::Renames;
use engine::seams::paid::Notes;
use engine::seams::producer::Inputs;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use std::collections::{BTreeMap, BTreeSet};

/// The note that lists corrected sections: `ROLE`, in groups `T_ab12cd34/ROLE`.
pub(super) const NOTE: &str = "corrected";

/// A person's corrections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PersonsCorrections {
    /// The texts, by key of the type and name of the section.
    words: BTreeMap<(String, String), String>,
    /// The same sections as the note names them.
    names: BTreeSet<String>,
    /// Sections whose type or name no longer exists.
    lost: BTreeSet<String>,
    /// Sections that were corrected in another checkout, whose code differs.
    elsewhere: BTreeSet<String>,
}

impl PersonsCorrections {
    /// Reads the corrections: those of the last result, overridden by the newest ones.
    pub(super) fn from_inputs(inputs: &Inputs<'_>, heads: &[SummaryHead], wanted: &[Section]) -> Self {
        let mut theirs = Self::default();
        if let Some(previous) = &inputs.previous {
            let text = String::from_utf8_lossy(&previous.output);
            let renames = Renames::from_former(inputs.former);
            let heads_then = document::heads_then(&text, heads, |key| renames.present_key(key));
            let then = document::parse_sections(&text, &heads_then, wanted);
            for name in section_names(&previous.notes) {
                let text = type_and_section(name, &heads_then).and_then(|(key, section)| then.get(key)?.get(section).cloned());
                theirs.set_section(&name_now(name, &heads_then, heads), text, heads, wanted);
            }
        }
        if let Some(correction) = &inputs.correction {
            for (name, text) in &correction.words {
                theirs.set_section(name, Some(canonical(text)), heads, wanted);
            }
            let elsewhere = correction.elsewhere.iter().filter(|name| !theirs.names.contains(*name));
            theirs.elsewhere = elsewhere.cloned().collect();
        }
        theirs
    }

    fn set_section(&mut self, name: &str, text: Option<String>, heads: &[SummaryHead], wanted: &[Section]) {
        let place = type_and_section(name, heads).filter(|(_, name)| wanted.iter().any(|section| section.name == *name));
        match (place, text.filter(|text| !text.is_empty())) {
            (Some((key, section)), Some(text)) => {
                self.words.insert((key.to_owned(), section.to_owned()), text);
                self.names.insert(name.to_owned());
                self.lost.remove(name);
            }
            _ => {
                self.lost.insert(name.to_owned());
            }
        }
    }

    /// Whether there are no corrections.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the sections, by key of the type.
    pub(super) fn places(&self) -> BTreeSet<(String, String)> {
        self.words.keys().cloned().collect()
    }

    pub(super) fn insert_into(&self, summaries: &mut Summaries) {
        for ((key, name), text) in &self.words {
            summaries.entry(key.clone()).or_default().insert(name.clone(), text.clone());
        }
    }

    /// Notes the corrected sections, and warns that the code changed since (`moved`) and of sections that were dropped.
    pub(super) fn report_sections(&self, has_changed: bool, notes: &mut Notes, diagnostics: &mut Vec<Diagnostic>) {
        let list = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let mut warn = |message: String, hint: &str| diagnostics.push(Diagnostic::warning(ErrorCode::W_CORRECTED, message).hint(hint));
        if !self.is_empty() {
            notes.insert(NOTE.to_owned(), self.names.iter().map(String::as_str).collect::<Vec<_>>().join(","));
            if has_changed {
                warn(
                    format!("a person wrote {}, and the code changed since", list(&self.names)),
                    "review it: 'cortex diff LABEL' shows the change, 'cortex edit-output LABEL' changes the text",
                );
            }
        }
        if !self.lost.is_empty() {
            warn(
                format!(
                    "a person wrote {}, which is no longer a section of it, so it is left out",
                    list(&self.lost)
                ),
                "'cortex history LABEL' lists the version that has it; 'cortex edit-output LABEL' puts it elsewhere",
            );
        }
        if !self.elsewhere.is_empty() {
            warn(
                format!(
                    "a person wrote {} in another checkout, for other code; it was not taken over",
                    list(&self.elsewhere)
                ),
                "'cortex edit-output LABEL' corrects it here too; with --release the other correction is dropped",
            );
        }
    }
}

pub(super) fn section_names(notes: &Notes) -> impl Iterator<Item = &str> {
    let names = notes.get(NOTE).into_iter().flat_map(|names| names.split(','));
    names.filter(|name| !name.is_empty())
}

/// Returns the name of a section with the present identifier of its type.
fn name_now(name: &str, then: &[SummaryHead], now: &[SummaryHead]) -> String {
    let same = |(id, section): (&str, &str)| {
        let at = then.iter().position(|head| head.id == id)?;
        Some(format!("{}/{section}", now[at].id))
    };
    name.rsplit_once('/').and_then(same).unwrap_or_else(|| name.to_owned())
}

/// Resolves a name to its type and section.
fn type_and_section<'n>(name: &'n str, heads: &'n [SummaryHead]) -> Option<(&'n str, &'n str)> {
    let (id, section) = name.rsplit_once('/').map_or((None, name), |(id, name)| (Some(id), name));
    let head = heads.iter().find(|head| id.is_none_or(|id| id == head.id || id == head.key))?;
    Some((&head.key, section))
}
