//! Freshness and completeness of an answer: the `state` block of every answer.
//!
//! An incomplete answer names its gaps: a list cut by a limit, targets that could not be built, files that do not parse or have no output. An empty
//! answer gives the reason.

use crate::health::Health;
use crate::last_good::files_with_errors;
use crate::symbols::unread_files::UnreadUses;
use engine::build::session::Session;
use engine::store::StoreError;
use engine::values::diagnostic::SourceLocation;
use engine::values::label::{escape, halves};
use producers::csharp::types::symbol_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most files that a note names; it counts the rest.
const NAMED: usize = 3;

/// How an answer relates to the sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub enum Freshness {
    /// Brought up to date for this answer.
    #[default]
    #[serde(rename = "current")]
    Current,
    /// As of its last build; the sources may have changed since.
    #[serde(rename = "stale")]
    Stale,
    /// As it was when the sources last parsed.
    #[serde(rename = "last good")]
    LastGood,
}

/// The state of an answer. `complete` is false when anything may be missing; the notes say what.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AnswerState {
    /// How it relates to the sources.
    pub freshness: Freshness,
    /// Whether nothing is missing.
    pub complete: bool,
    /// Notes, one sentence each.
    pub notes: Vec<String>,
}

/// Reason why a list is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// No symbol has the name.
    Unknown,
    /// This number of symbols have the name, but the filters exclude all.
    Filtered(usize),
    /// This number of symbols are similar in meaning, but the filters exclude all.
    FilteredByMeaning(usize),
    /// The subject has no entries: a type without users, for example.
    None,
}

/// A file that does not parse or has no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Place of the error; line 0 for the whole file.
    pub place: SourceLocation,
    /// Message of the error.
    pub why: String,
}

/// Files of the workspace whose declarations could not all be read, by path.
pub type Flaws = BTreeMap<String, Flaw>;

/// Collects the flaws; reads the store only.
pub fn flaws(session: &Session) -> Result<Flaws, StoreError> {
    let places = files_with_errors(session)?;
    if places.is_empty() {
        return Ok(Flaws::new());
    }
    let mut remarks = session.remarks()?;
    let flaw = |(file, place): (String, SourceLocation)| {
        let remark = remarks.remove(&format!("//files/{}:syntax", escape(&file)));
        let said = remark
            .into_iter()
            .flat_map(|remark| remark.diagnostics)
            .find(|said| said.place.is_some());
        let why = said.map_or_else(|| "it does not parse".to_owned(), |said| said.message);
        (file, Flaw { place, why })
    };
    Ok(places.into_iter().map(flaw).collect())
}

impl Default for AnswerState {
    fn default() -> Self {
        Self {
            freshness: Freshness::Current,
            complete: true,
            notes: Vec::new(),
        }
    }
}

impl AnswerState {
    /// Marks an answer that was not brought up to date, with the reason.
    #[must_use]
    pub fn as_of(mut self, freshness: Freshness, why: impl Into<String>) -> Self {
        self.freshness = freshness;
        self.notes.push(why.into());
        self
    }

    /// Notes that only `shown` of `total` entries are in the answer; `more` says how to get the others.
    #[must_use]
    pub fn cut(mut self, shown: usize, total: usize, more: &str) -> Self {
        if shown < total {
            self.complete = false;
            self.notes.push(format!("{shown} of {total} are shown: {more}"));
        }
        self
    }

    /// Notes a page of a list: `shown` of `total` entries after the first `start`; `more` says how to get the next ones.
    #[must_use]
    pub fn page(mut self, start: usize, shown: usize, total: usize, more: &str) -> Self {
        if start == 0 || total == 0 {
            return self.cut(shown, total, more);
        }
        self.complete = false;
        self.notes.push(match start + shown {
            _ if start >= total => format!("there are {total}, and none after the first {start}"),
            end if end < total => format!("{} to {end} of {total} are shown: {more}", start + 1),
            end => format!("{} to {end} of {total} are shown", start + 1),
        });
        self
    }

    /// Notes that unread files have lines that may use the subject.
    #[must_use]
    pub fn beside_unread(mut self, found: &UnreadUses) -> Self {
        if let Some(note) = found.describe_unread() {
            self.complete = false;
            self.notes.push(note);
        }
        self
    }

    /// Notes that a symbol was found by its type's former name; a member keeps its own name.
    #[must_use]
    pub fn with_former_name(mut self, former: Option<&str>, path: &str) -> Self {
        if let Some(former) = former {
            let now = halves(path).map_or(path, |(key, _)| key);
            self.notes.push(match symbol_of(former) == symbol_of(now) {
                // The mark after `@` was added or removed with another type of the name.
                true => format!("this type is now written {now}"),
                false => format!("the type {former} was renamed to {now}"),
            });
        }
        self
    }

    /// Notes that members have the name by which a type was found, too: `owners` are the types that declare one.
    #[must_use]
    pub fn beside_members(mut self, name: &str, owners: &[&str]) -> Self {
        if let Some(first) = owners.first() {
            let (first, others) = (symbol_of(first), more(owners.len() - 1));
            self.notes.push(format!(
                "this is the type; a member of that name is another symbol: {first}#{name}{others}"
            ));
        }
        self
    }

    /// Notes types that a name could mean, too, and that the answer is not about.
    pub fn note_namesakes(&mut self, others: &[&str]) {
        if !others.is_empty() {
            let shown = others[..others.len().min(NAMED)].join(", ");
            let others = more(others.len().saturating_sub(NAMED));
            self.notes.push(format!("other types have this name, too: {shown}{others}"));
        }
    }

    /// Notes targets that could not be built, so that their contents are missing.
    #[must_use]
    pub fn unread(mut self, labels: &[String]) -> Self {
        if let Some(first) = labels.first() {
            self.complete = false;
            let others = more(labels.len() - 1);
            self.notes
                .push(format!("{first}{others} could not be built; the answer lacks its facts"));
        }
        self
    }

    /// Notes lines of a source that are cut or missing.
    #[must_use]
    pub fn lacking(mut self, notes: &[String]) -> Self {
        self.complete &= notes.is_empty();
        self.notes.extend_from_slice(notes);
        self
    }

    /// Notes the flaws of the files that declare the answer's symbols.
    #[must_use]
    pub fn of_files<'f>(self, flaws: &Flaws, files: impl Iterator<Item = &'f String>) -> Self {
        let mut mine: Vec<(&String, &Flaw)> = files.filter_map(|file| flaws.get_key_value(file)).collect();
        mine.sort_by_key(|(file, _)| *file);
        mine.dedup_by_key(|(file, _)| *file);
        self.flawed(&mine, "declarations of it may be missing here")
    }

    /// Notes the flaws of every file of the workspace: a list may lack the declarations of unreadable ones.
    #[must_use]
    pub fn of_workspace(self, flaws: &Flaws) -> Self {
        let all: Vec<(&String, &Flaw)> = flaws.iter().collect();
        self.flawed(&all, "what it declares may be missing here")
    }

    fn flawed(mut self, flaws: &[(&String, &Flaw)], so: &str) -> Self {
        self.complete &= flaws.is_empty();
        for (_, flaw) in flaws.iter().take(NAMED) {
            // The note about missing declarations appears once.
            let why = flaw.why.split_once("; declarations").map_or(flaw.why.as_str(), |(why, _)| why);
            self.notes.push(format!("{}: {why}; {so}", flaw.place));
        }
        match flaws.len().saturating_sub(NAMED) {
            0 => {}
            1 => self.notes.push("1 more file could not be read as a whole".to_owned()),
            more => self.notes.push(format!("{more} more files could not be read as a whole")),
        }
        self
    }

    /// Notes projects that could not be evaluated fully: uses across their references may be missing.
    #[must_use]
    pub fn of_projects(mut self, health: &Health) -> Self {
        if let Some(line) = health.line() {
            self.complete = false;
            self.notes
                .push(format!("{line}; uses across their references may be missing (see `cortex doctor`)"));
        }
        self
    }

    /// Notes why a list is empty.
    #[must_use]
    pub fn empty(mut self, why: Empty) -> Self {
        let said = match why {
            Empty::Unknown => "no type or member has this name; cortex does not index files outside the manifest's source sets".to_owned(),
            Empty::Filtered(count) => format!("{count} have this name, but the filters exclude all of them"),
            Empty::FilteredByMeaning(count) => format!("{count} are near in meaning, but the filters exclude all of them"),
            Empty::None => "nothing was found".to_owned(),
        };
        self.notes.push(said);
        self
    }
}

fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        others => format!(" (and {others} more)"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::outputs::Outputs;
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn files_that_do_not_parse_are_told_where_they_matter() {
        let mut sample = Sample::from_files(&[
            ("good.cs", "class Good { void M() { } }"),
            ("bad.cs", "class Bad { void M( { } class }"),
            ("none.cs", "\0\u{1}class None { }"),
        ]);
        sample.read(&["//...".to_owned()]).expect("built");
        let flaws = flaws(sample.session()).expect("flaws");
        assert_eq!(flaws.keys().collect::<Vec<_>>(), ["bad.cs", "none.cs"]);
        let of = |file: &str| AnswerState::default().of_files(&flaws, [file.to_owned()].iter());
        assert_eq!(of("good.cs"), AnswerState::default());
        let bad = of("bad.cs");
        assert!(!bad.complete && bad.notes.len() == 1, "{bad:?}");
        assert!(
            bad.notes[0].starts_with("bad.cs:1") && bad.notes[0].ends_with("not be parsed; declarations of it may be missing here"),
            "{bad:?}"
        );
        let all = AnswerState::default().of_workspace(&flaws);
        assert_eq!((all.complete, all.notes.len()), (false, 2));
        assert_ne!(flaws["bad.cs"].why, flaws["none.cs"].why);
    }

    #[test]
    fn a_file_that_is_gone_has_no_flaws() {
        let sample = Sample::from_files(&[("good.cs", "class Good { }"), ("bad.cs", "class Bad { void M( { } class }")]);
        let built = |mut sample: Sample| {
            sample.read(&["//...".to_owned()]).expect("built");
            sample
        };
        let sample = built(sample);
        assert_eq!(flaws(sample.session()).expect("flaws").len(), 1);
        let sample = sample.without("bad.cs");
        assert_eq!(flaws(sample.session()).expect("flaws"), Flaws::new());
        assert_eq!(flaws(built(sample).session()).expect("flaws"), Flaws::new());
    }

    const PROJECT: &str =
        r#"<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup></Project>"#;

    #[test]
    fn projects_that_lost_references_are_told() {
        let lost = PROJECT.replace(
            "</Project>",
            r#"<ItemGroup><ProjectReference Include="../Gone/Gone.csproj" /></ItemGroup></Project>"#,
        );
        let partial = PROJECT.replace(
            "</Project>",
            r#"<Import Project="$(_UnknownDirectory)/a.props" Condition="'$(_UnknownDirectory)' != ''" /></Project>"#,
        );
        let health = |files: &[(&str, &str)]| {
            let mut sample = Sample::from_files(files);
            sample.read(&["//index:types".to_owned()]).expect("built");
            Health::from_session(sample.session()).expect("health")
        };
        let mixed = PROJECT.replace(
            "</Project>",
            r#"<ItemGroup><ProjectReference Include="../F/F.fsproj" /><ProjectReference Include="../W/W.esproj" /></ItemGroup></Project>"#,
        );
        let whole = health(&[("A/A.csproj", PROJECT), ("B/B.csproj", PROJECT)]);
        assert_eq!(
            (&whole, AnswerState::default().of_projects(&whole)),
            (&Health::default(), AnswerState::default())
        );
        let found = health(&[("A/A.csproj", PROJECT), ("B/B.csproj", &lost), ("C/C.csproj", &partial)]);
        assert_eq!(found.lost.iter().collect::<Vec<_>>(), ["B/B.csproj"]);
        assert_eq!(found.partial.iter().collect::<Vec<_>>(), ["C/C.csproj"], "{:?}", found.said);
        let other = health(&[("A/A.csproj", PROJECT), ("D/D.csproj", &mixed)]);
        assert_eq!((other.gaps().len(), other.said.len()), (1, 1), "{:?}", other.said);
        assert_eq!(
            other.line().as_deref(),
            Some("1 of 2 projects reference projects of other languages")
        );
        let state = AnswerState::default().of_projects(&found);
        assert!(!state.complete);
        assert_eq!(
            state.notes,
            [
                "1 of 3 projects lost references, and 1 more could not be evaluated as a whole; uses across their references may be missing (see `cortex doctor`)"
            ]
        );
    }

    #[test]
    fn pages_say_where_they_stand() {
        let note = |start, shown| AnswerState::default().page(start, shown, 50, "ask on").notes.join("; ");
        assert_eq!(AnswerState::default().page(0, 50, 50, "ask on"), AnswerState::default());
        assert_eq!(AnswerState::default().page(7, 0, 0, "ask on"), AnswerState::default());
        assert_eq!(note(0, 20), "20 of 50 are shown: ask on");
        assert_eq!(note(20, 20), "21 to 40 of 50 are shown: ask on");
        assert_eq!(note(40, 10), "41 to 50 of 50 are shown");
        assert_eq!(note(60, 0), "there are 50, and none after the first 60");
        assert!(!AnswerState::default().page(40, 10, 50, "").complete);
    }

    #[test]
    fn hidden_namesakes_are_named() {
        let mut state = AnswerState::default();
        state.note_namesakes(&[]);
        state.note_namesakes(&["N.A"]);
        state.note_namesakes(&["N.A", "N.B", "N.C", "N.D", "N.E"]);
        assert!(state.complete);
        assert_eq!(
            state.notes,
            [
                "other types have this name, too: N.A",
                "other types have this name, too: N.A, N.B, N.C (and 2 more)"
            ]
        );
    }

    #[test]
    fn missing_parts_of_an_answer_are_counted() {
        let state = AnswerState::default()
            .cut(20, 20, "")
            .unread(&[])
            .lacking(&[])
            .with_former_name(None, "A");
        assert_eq!(state, AnswerState::default());
        let labels = ["//types/A:deps".to_owned(), "//types/B:deps".to_owned()];
        let state = AnswerState::default()
            .cut(20, 21, "ask with the cursor")
            .unread(&labels)
            .empty(Empty::Filtered(4))
            .with_former_name(Some("Old"), "N.New")
            .with_former_name(Some("Old"), "N.New#Member(int)")
            .as_of(Freshness::LastGood, "a.cs does not parse");
        assert!(!state.complete);
        assert_eq!(
            serde_json::to_value(&state).expect("JSON"),
            serde_json::json!({"freshness": "last good", "complete": false, "notes": [
                "20 of 21 are shown: ask with the cursor",
                "//types/A:deps (and 1 more) could not be built; the answer lacks its facts",
                "4 have this name, but the filters exclude all of them",
                "the type Old was renamed to N.New",
                "the type Old was renamed to N.New",
                "a.cs does not parse",
            ]})
        );
        assert_ne!(
            AnswerState::default().empty(Empty::Unknown).notes,
            AnswerState::default().empty(Empty::None).notes
        );
    }
}
