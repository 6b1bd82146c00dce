//! What is remembered of one document. Every state in which it was found is a version with a number, who made it and what that changed; tries that
//! failed are versions without a change. Anchors are versions to compare with later: one every 30 minutes, and those that were given a name.
//!
//! Pure: moments, in seconds since 1970, and texts are given.

use super::difference::Difference;
use super::editor::Editor;
use engine::values::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Versions that are remembered.
const VERSIONS: usize = 64;
/// Anchors of the file that came by time, those of it with names, and those of each session.
pub const ANCHORS: usize = 16;
/// Seconds from one anchor to the next.
pub const BETWEEN: u64 = 30 * 60;
/// Who moved a document that nobody says to have moved.
pub(super) const SOMEBODY: &str = "somebody else";
/// Plans that are remembered.
const PLANS: usize = 8;
/// Lines of a patch that are remembered.
pub const PATCH: usize = 200;

/// A state of a document, or a try that failed to change it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Version {
    /// Its number, from 1.
    pub number: u64,
    /// When it was found, in seconds since 1970.
    pub at: u64,
    /// Who made it: agent, person, tool, or a name.
    pub author: String,
    /// What it was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Why the try failed, if it did; the document is that of the version before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The operation of an edit session that made it or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<String>,
    /// Whether its text is that of the version before, and was only saved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same: bool,
    /// Digest of its text.
    pub digest: String,
    /// What it changed.
    #[serde(flatten)]
    pub change: Difference,
}

/// A version to compare with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Its name; none for one that came by time.
    pub name: Option<String>,
    /// The edit session whose version it is; none for one of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its number.
    pub version: u64,
    /// When it was set.
    pub at: u64,
    /// Digest of its text.
    pub digest: String,
}

/// What somebody meant to do, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Plan {
    /// What was meant.
    pub plan: String,
    /// What came of it, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The version of then.
    pub version: u64,
    /// The edit session that it is about, whose version that is; none for the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// All that is remembered of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Journal {
    /// Its path below the workspace's root.
    pub path: String,
    /// Numbers given so far.
    pub given: u64,
    /// Of each edit session the last operation that was told: none up to it is told again, also when its version is forgotten.
    pub told: BTreeMap<String, u64>,
    /// Versions, oldest first.
    pub versions: Vec<Version>,
    /// Anchors, oldest first.
    pub anchors: Vec<Anchor>,
    /// Plans, oldest first.
    pub plans: Vec<Plan>,
    /// The editor, as it was told last.
    pub editor: Editor,
}

/// Digest of a text, as versions have it.
pub fn digest(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

/// The session of an operation and its number there: its name is both.
pub(super) fn operation(edit: &str) -> (&str, u64) {
    let (session, number) = edit.rsplit_once('-').unwrap_or((edit, ""));
    (session, number.parse().unwrap_or(0))
}

/// What is said of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Who made it.
    pub author: String,
    /// What for.
    pub what: Option<String>,
    /// Why it failed, if it did.
    pub failed: Option<String>,
    /// The operation of an edit session that it is.
    pub edit: Option<String>,
}

impl Journal {
    /// The last version in which the document is as it was found last.
    pub fn current(&self) -> Option<&Version> {
        self.versions.last()
    }

    /// The digest of the text of a version of the file, if it is remembered, or an anchor has it.
    pub fn version(&self, number: u64) -> Option<&str> {
        let version = self.versions.iter().find(|version| version.number == number);
        version.map_or_else(|| self.anchored(number, None), |version| Some(&version.digest))
    }

    /// The digest of the text of a version, of a session or of the file, that an anchor has.
    pub fn anchored(&self, number: u64, session: Option<&str>) -> Option<&str> {
        let mut anchors = self.anchors_of(session);
        anchors.find(|anchor| anchor.version == number).map(|anchor| anchor.digest.as_str())
    }

    /// The numbers of versions before `first`, of a session or of the file, that anchors have.
    pub fn anchored_before(&self, first: u64, session: Option<&str>) -> BTreeSet<u64> {
        let numbers = self.anchors_of(session).map(|anchor| anchor.version);
        numbers.filter(|number| *number < first).collect()
    }

    fn anchors_of<'j>(&'j self, session: Option<&str>) -> impl Iterator<Item = &'j Anchor> {
        self.anchors.iter().filter(move |anchor| anchor.session.as_deref() == session)
    }

    /// The document was found as `text`; `before` is the text of the current version. Where it moved although what is told of failed, somebody else
    /// moved it, and both are versions. Whether there is a version more.
    pub fn record_found(&mut self, text: &str, before: Option<&str>, now: u64, said: &Said) -> bool {
        let digest = digest(text);
        // Of two who look at once the second would tell it once more.
        if said.edit.as_deref().is_some_and(|edit| self.knows(edit)) {
            return false;
        }
        self.know(said.edit.as_deref());
        let moved = self.current().is_none_or(|current| current.digest != digest);
        if !moved && said.failed.is_none() {
            return false;
        }
        let by = |author: &str, what: &Option<String>, failed: &Option<String>, change: Difference| Version {
            number: 0,
            at: now,
            author: author.to_owned(),
            what: what.clone(),
            failed: failed.clone(),
            edit: said.edit.clone(),
            same: false,
            digest: digest.clone(),
            change,
        };
        let change = before.map_or_else(Difference::default, |before| Difference::of(before, text).with_line_limit(PATCH));
        let (mover, why) = match said.failed {
            Some(_) => (SOMEBODY, &None),
            None => (said.author.as_str(), &said.what),
        };
        let moved = moved.then(|| by(mover, why, &None, change));
        let failed = said
            .failed
            .is_some()
            .then(|| by(&said.author, &said.what, &said.failed, Difference::default()));
        for version in moved.into_iter().chain(failed) {
            self.given += 1;
            self.versions.push(Version {
                number: self.given,
                ..version
            });
        }
        let forgotten = self.versions.len().saturating_sub(VERSIONS);
        self.versions.drain(..forgotten);
        let due = self
            .anchors
            .iter()
            .rev()
            .find(|anchor| anchor.name.is_none())
            .is_none_or(|last| now.saturating_sub(last.at) >= BETWEEN);
        if due && let Some(current) = self.current() {
            let anchor = Anchor {
                name: None,
                session: None,
                version: current.number,
                at: now,
                digest: current.digest.clone(),
            };
            self.set_anchor(anchor);
        }
        true
    }

    /// Whether an operation of an edit session was told.
    pub fn knows(&self, edit: &str) -> bool {
        let (session, number) = operation(edit);
        self.told.get(session).is_some_and(|last| number <= *last)
    }

    /// An operation of an edit session is told, or never will be.
    pub fn know(&mut self, edit: Option<&str>) {
        if let Some((session, number)) = edit.map(operation) {
            let last = self.told.entry(session.to_owned()).or_default();
            *last = number.max(*last);
        }
    }

    /// Whether the last version is what came of a save at a moment, and was found before anybody knew whose work it is.
    pub fn is_last(&self, before: Option<&str>, after: &str, at: u64) -> bool {
        let mut last = self.versions.iter().rev();
        let is_open = |last: &Version| at <= last.at && last.edit.is_none() && last.failed.is_none() && last.digest == digest(after);
        let follows = |one: &Version| before.is_some_and(|before| one.digest == digest(before));
        last.next().is_some_and(is_open) && last.next().is_none_or(follows)
    }

    /// The last version was seen before it was known whose work it is.
    pub fn claim(&mut self, said: &Said) {
        self.know(said.edit.as_deref());
        if let Some(last) = self.versions.last_mut() {
            (last.edit, last.author, last.what) = (said.edit.clone(), said.author.clone(), said.what.clone());
        }
    }

    /// A version is one to compare with; a name means one of each session and one of the file. The one that is forgotten for it, where there are too
    /// many.
    pub fn set_anchor(&mut self, anchor: Anchor) -> Option<Anchor> {
        if anchor.name.is_some() {
            self.anchors
                .retain(|known| (&known.name, &known.session) != (&anchor.name, &anchor.session));
        }
        let kind = |anchor: &Anchor| (anchor.name.is_some(), anchor.session.clone());
        let own = kind(&anchor);
        self.anchors.push(anchor);
        let mut of_its_kind = (0..self.anchors.len()).filter(|at| kind(&self.anchors[*at]) == own);
        let oldest = of_its_kind.next()?;
        (of_its_kind.count() >= ANCHORS).then(|| self.anchors.remove(oldest))
    }

    /// Whether something is remembered of a session that is not among these.
    pub fn has_ended(&self, sessions: &BTreeSet<String>) -> bool {
        let anchors = self.anchors.iter().filter_map(|anchor| anchor.session.as_ref());
        let plans = self.plans.iter().filter_map(|plan| plan.session.as_ref());
        anchors
            .chain(plans)
            .chain(self.told.keys())
            .any(|session| !sessions.contains(session))
    }

    /// Forgets what belongs to sessions that are not among these: they have ended.
    pub fn forget(&mut self, sessions: &BTreeSet<String>) {
        let lasts = |session: &Option<String>| session.as_ref().is_none_or(|session| sessions.contains(session));
        self.anchors.retain(|anchor| lasts(&anchor.session));
        self.plans.retain(|plan| lasts(&plan.session));
        self.told.retain(|session, _| sessions.contains(session));
    }

    /// The anchor of a name that was set in a session; where that has none, of the file.
    pub fn anchor(&self, name: &str, session: Option<&str>) -> Option<&Anchor> {
        let mut named = self.anchors.iter().filter(|anchor| anchor.name.as_deref() == Some(name));
        let own = named.clone().find(|anchor| anchor.session.as_deref() == session);
        own.or_else(|| named.find(|anchor| anchor.session.is_none()))
    }

    /// Of the file's anchors that came by time the newest that is 30 minutes old; the oldest of them when none is.
    pub fn timed(&self, now: u64) -> Option<&Anchor> {
        let mut timed = self.anchors.iter().rev().filter(|anchor| anchor.name.is_none());
        let old = timed.clone().find(|anchor| now.saturating_sub(anchor.at) >= BETWEEN);
        old.or_else(|| timed.next_back())
    }

    /// Somebody says what came of what he meant to do last, with a session or with the file, and what he means to do next with a version of it.
    /// Whether there was something that this can have come of.
    pub fn plan(&mut self, session: Option<&str>, version: u64, plan: Option<&str>, result: Option<&str>) -> bool {
        let last = self.plans.iter_mut().rev().find(|plan| plan.session.as_deref() == session);
        let has_cause = last.is_some();
        if let (Some(result), Some(last)) = (result, last) {
            last.result = Some(result.to_owned());
        }
        if let Some(plan) = plan {
            self.plans.push(Plan {
                plan: plan.to_owned(),
                result: None,
                version,
                session: session.map(str::to_owned),
            });
        }
        let own = (0..self.plans.len()).filter(|at| self.plans[*at].session.as_deref() == session);
        let own: Vec<usize> = own.collect();
        if own.len() > PLANS {
            self.plans.remove(own[0]);
        }
        has_cause
    }

    /// Digests of all texts that are needed: those of versions and anchors.
    pub fn digests(&self) -> BTreeSet<&str> {
        let versions = self.versions.iter().map(|version| version.digest.as_str());
        versions.chain(self.anchors.iter().map(|anchor| anchor.digest.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(author: &str) -> Said {
        Said {
            author: author.to_owned(),
            ..Said::default()
        }
    }

    #[test]
    fn versions_tell_who_changed_what() {
        let mut journal = Journal::default();
        assert!(journal.record_found("a\n", None, 10, &by("person")));
        assert!(!journal.record_found("a\n", Some("a\n"), 20, &by("agent")), "nothing moved");
        assert!(journal.record_found("b\n", Some("a\n"), 30, &by("agent")));
        let failed = Said {
            failed: Some("no such line".to_owned()),
            ..by("agent")
        };
        assert!(journal.record_found("b\n", Some("b\n"), 40, &failed));
        assert!(
            journal.record_found("c\n", Some("b\n"), 45, &failed),
            "somebody else wrote meanwhile"
        );
        let told: Vec<(u64, &str, bool, bool)> = journal
            .versions
            .iter()
            .map(|one| (one.number, one.author.as_str(), one.failed.is_some(), one.change.patch.is_empty()))
            .collect();
        assert_eq!(
            told,
            [
                (1, "person", false, true),
                (2, "agent", false, false),
                (3, "agent", true, true),
                (4, "somebody else", false, false),
                (5, "agent", true, true)
            ]
        );
        assert_eq!(journal.current().map(|one| one.digest.clone()), Some(digest("c\n")));
        for number in 0..200_u64 {
            journal.record_found(&number.to_string(), None, 50 + number, &by("tool"));
        }
        assert_eq!((journal.versions.len(), journal.given), (VERSIONS, 205));
        assert!(journal.version(2).is_none() && journal.version(205).is_some());
        let edit = Said {
            edit: Some("s-3".to_owned()),
            ..failed
        };
        assert!(
            journal.record_found("199", None, 300, &edit) && !journal.record_found("199", None, 301, &edit),
            "told once"
        );
    }

    #[test]
    fn anchors_come_every_thirty_minutes_and_by_name() {
        let mut journal = Journal::default();
        let named = |journal: &mut Journal, name: &str, session: Option<&str>| {
            let current = journal.current().expect("a version").clone();
            journal.set_anchor(Anchor {
                name: Some(name.to_owned()),
                session: session.map(str::to_owned),
                version: current.number,
                at: current.at,
                digest: current.digest,
            })
        };
        for minute in 0..=100 {
            journal.record_found(&minute.to_string(), None, minute * 60, &by("person"));
            if minute == 5 {
                assert_eq!(named(&mut journal, "green", None), None);
            }
        }
        let at = |minute: u64| journal.timed(minute * 60).map(|anchor| anchor.version);
        assert_eq!(journal.anchors.iter().filter(|anchor| anchor.name.is_none()).count(), 4);
        // Anchors of the minutes 0, 30, 60 and 90 are versions 1, 31, 61 and 91.
        assert_eq!((at(100), at(120), at(10)), (Some(61), Some(91), Some(1)));
        // An anchor outlives its version, and has its text.
        assert_eq!(journal.version(6), Some(digest("5").as_str()));
        assert!(journal.digests().contains(digest("0").as_str()) && journal.version(7).is_none());
        let version = |journal: &Journal, name: &str, session: Option<&str>| journal.anchor(name, session).map(|anchor| anchor.version);
        named(&mut journal, "green", Some("s"));
        let green = |session| version(&journal, "green", session);
        assert_eq!((green(None), green(Some("s")), green(Some("t"))), (Some(6), Some(101), Some(6)));
        named(&mut journal, "green", None);
        assert_eq!(version(&journal, "green", None), Some(101), "a name means one");
        let forgotten: Vec<Anchor> = (0..40)
            .filter_map(|number| named(&mut journal, &number.to_string(), None))
            .collect();
        assert_eq!((journal.anchors.len(), forgotten.len()), (4 + ANCHORS + 1, 25));
        assert_eq!(forgotten.last().and_then(|anchor| anchor.name.as_deref()), Some("23"));
        assert_eq!((version(&journal, "23", None), version(&journal, "24", None)), (None, Some(101)));
        // A session has as many of its own, which go with it.
        assert_eq!(version(&journal, "green", Some("s")), Some(101));
        let sessions = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<String>>();
        assert!(!journal.has_ended(&sessions(&["s"])) && journal.has_ended(&sessions(&["t"])));
        for number in 0..=ANCHORS {
            named(&mut journal, &format!("own {number}"), Some("s"));
        }
        assert_eq!(version(&journal, "24", None), Some(101));
        assert_eq!(journal.anchors.len(), 4 + 2 * ANCHORS);
        journal.forget(&sessions(&["t"]));
        assert_eq!(journal.anchors.len(), 4 + ANCHORS);
    }

    #[test]
    fn plans_have_results() {
        let mut journal = Journal::default();
        assert!(!journal.plan(None, 1, None, Some("of nothing")));
        journal.plan(None, 1, Some("rename"), None);
        // What came of one is told with what is meant next.
        assert!(journal.plan(None, 1, Some("test"), Some("done")));
        assert!(journal.plan(None, 1, None, Some("two fail")));
        journal.plan(None, 1, Some("mend"), None);
        let told: Vec<Option<&str>> = journal.plans.iter().map(|plan| plan.result.as_deref()).collect();
        assert_eq!(told, [Some("done"), Some("two fail"), None]);
        for _ in 0..20 {
            journal.plan(None, 1, Some("more"), None);
        }
        assert_eq!(journal.plans.len(), PLANS);
        journal.plan(Some("s"), 7, Some("less"), None);
        journal.plan(Some("s"), 8, None, Some("done"));
        let of_session = journal.plans.iter().filter(|plan| plan.session.is_some());
        let told: Vec<(u64, Option<&str>)> = of_session.map(|plan| (plan.version, plan.result.as_deref())).collect();
        assert_eq!((journal.plans.len(), told), (PLANS + 1, vec![(7, Some("done"))]));
    }
}
