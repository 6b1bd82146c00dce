//! The journal of one document. Every state in which a look finds the document is a version: number, author, change. A failed try is a version
//! without a change. Anchors are versions for later comparison: one every 30 minutes, and those that have a name.
//!
//! Pure: the caller passes moments, in seconds since 1970, and texts.

use super::difference::Difference;
use super::editor::Editor;
use engine::values::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Limit of versions in a journal.
const VERSIONS: usize = 64;
/// Limit per kind of anchor: timed anchors of the file, named anchors of the file, anchors of each session.
pub const ANCHORS: usize = 16;
/// Seconds from one anchor to the next.
pub const BETWEEN: u64 = 30 * 60;
/// Author of a change that no edit session, overlay or caller claims.
pub(super) const SOMEBODY: &str = "another program";
/// Limit of plans in a journal.
const PLANS: usize = 8;
/// Limit of lines that a version keeps of its patch.
pub const PATCH: usize = 200;

/// A state of a document, or a failed try to change it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Version {
    /// Its number, from 1.
    pub number: u64,
    /// When it was found, in seconds since 1970.
    pub at: u64,
    /// Author: agent, person, tool, or a name.
    pub author: String,
    /// Purpose of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Why the try failed, if it did; the text is then that of the version before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Operation of an edit session that made the version or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<String>,
    /// Whether its text equals that of the version before: the document was only saved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same: bool,
    /// Digest of its text.
    pub digest: String,
    /// Its change against the version before.
    #[serde(flatten)]
    pub change: Difference,
}

/// A version to compare with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Name of the anchor; `None` for a timed anchor.
    pub name: Option<String>,
    /// Edit session of the version; `None` for a version of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Number of the version.
    pub version: u64,
    /// When it was set, in seconds since 1970.
    pub at: u64,
    /// Digest of the version's text.
    pub digest: String,
}

/// An intention with its result.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Plan {
    /// The intention.
    pub plan: String,
    /// The result, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The version at the time of the plan.
    pub version: u64,
    /// The edit session that the plan and its version belong to; `None` for the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Everything that is stored about a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Journal {
    /// Path of the document below the workspace's root.
    pub path: String,
    /// Number of the newest version.
    pub given: u64,
    /// The last recorded operation of each edit session: operations up to it are never recorded again, even after their versions are dropped.
    pub told: BTreeMap<String, u64>,
    /// Versions, oldest first.
    pub versions: Vec<Version>,
    /// Anchors, oldest first.
    pub anchors: Vec<Anchor>,
    /// Plans, oldest first.
    pub plans: Vec<Plan>,
    /// The last reported state of the editor.
    pub editor: Editor,
}

/// Returns the digest of a text in the form that versions store.
pub fn digest_of_text(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

/// Splits the name of an operation into its session and its number there.
pub(super) fn operation(edit: &str) -> (&str, u64) {
    let (session, number) = edit.rsplit_once('-').unwrap_or((edit, ""));
    (session, number.parse().unwrap_or(0))
}

/// Description of a change by its reporter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeReport {
    /// Author of the change.
    pub author: String,
    /// Purpose of the change.
    pub what: Option<String>,
    /// Reason why the try failed, if it did.
    pub failed: Option<String>,
    /// The operation of an edit session that made the change.
    pub edit: Option<String>,
}

impl Journal {
    /// Returns the newest version: the document as the last look found it.
    pub fn current(&self) -> Option<&Version> {
        self.versions.last()
    }

    /// Returns the text digest of a version of the file, from the versions or the anchors.
    pub fn version(&self, number: u64) -> Option<&str> {
        let version = self.versions.iter().find(|version| version.number == number);
        version.map_or_else(|| self.anchored(number, None), |version| Some(&version.digest))
    }

    /// Returns the text digest of a version of a session or of the file, if an anchor refers to it.
    pub fn anchored(&self, number: u64, session: Option<&str>) -> Option<&str> {
        let mut anchors = self.anchors_of(session);
        anchors.find(|anchor| anchor.version == number).map(|anchor| anchor.digest.as_str())
    }

    /// Returns the numbers of versions before `first`, of a session or of the file, that anchors refer to.
    pub fn anchored_before(&self, first: u64, session: Option<&str>) -> BTreeSet<u64> {
        let numbers = self.anchors_of(session).map(|anchor| anchor.version);
        numbers.filter(|number| *number < first).collect()
    }

    fn anchors_of<'j>(&'j self, session: Option<&str>) -> impl Iterator<Item = &'j Anchor> {
        self.anchors.iter().filter(move |anchor| anchor.session.as_deref() == session)
    }

    /// Records that the document was found as `text`; `before` is the text of the current version. If the text changed although the reported
    /// try failed, another author changed it: the change and the try each become a version. Returns whether a version was added.
    pub fn record_found(&mut self, text: &str, before: Option<&str>, now: u64, report: &ChangeReport) -> bool {
        let digest = digest_of_text(text);
        // Of two concurrent looks, the second would record the operation again.
        if report.edit.as_deref().is_some_and(|edit| self.knows(edit)) {
            return false;
        }
        self.know(report.edit.as_deref());
        let moved = self.current().is_none_or(|current| current.digest != digest);
        if !moved && report.failed.is_none() {
            return false;
        }
        let by = |author: &str, what: &Option<String>, failed: &Option<String>, change: Difference| Version {
            number: 0,
            at: now,
            author: author.to_owned(),
            what: what.clone(),
            failed: failed.clone(),
            edit: report.edit.clone(),
            same: false,
            digest: digest.clone(),
            change,
        };
        let change = before.map_or_else(Difference::default, |before| {
            Difference::between(before, text).with_line_limit(PATCH)
        });
        let (mover, why) = match report.failed {
            Some(_) => (SOMEBODY, &None),
            None => (report.author.as_str(), &report.what),
        };
        let moved = moved.then(|| by(mover, why, &None, change));
        let failed = report
            .failed
            .is_some()
            .then(|| by(&report.author, &report.what, &report.failed, Difference::default()));
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

    /// Whether an operation of an edit session is recorded.
    pub fn knows(&self, edit: &str) -> bool {
        let (session, number) = operation(edit);
        self.told.get(session).is_some_and(|last| number <= *last)
    }

    /// Marks an operation of an edit session as recorded, so that it is not recorded again.
    pub fn know(&mut self, edit: Option<&str>) {
        if let Some((session, number)) = edit.map(operation) {
            let last = self.told.entry(session.to_owned()).or_default();
            *last = number.max(*last);
        }
    }

    /// Whether the last version is the result of a save at a moment, recorded before its author was known.
    pub fn is_last(&self, before: Option<&str>, after: &str, at: u64) -> bool {
        let mut last = self.versions.iter().rev();
        let is_open =
            |last: &Version| at <= last.at && last.edit.is_none() && last.failed.is_none() && last.digest == digest_of_text(after);
        let follows = |one: &Version| before.is_some_and(|before| one.digest == digest_of_text(before));
        last.next().is_some_and(is_open) && last.next().is_none_or(follows)
    }

    /// Sets the author of the last version, which was recorded before its author was known.
    pub fn claim(&mut self, report: &ChangeReport) {
        self.know(report.edit.as_deref());
        if let Some(last) = self.versions.last_mut() {
            (last.edit, last.author, last.what) = (report.edit.clone(), report.author.clone(), report.what.clone());
        }
    }

    /// Adds an anchor; it replaces one with the same name in the same session or file. Returns the oldest anchor of its kind if the limit drops it.
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

    /// Whether the journal has entries of a session that is not in `sessions`.
    pub fn has_ended(&self, sessions: &BTreeSet<String>) -> bool {
        let anchors = self.anchors.iter().filter_map(|anchor| anchor.session.as_ref());
        let plans = self.plans.iter().filter_map(|plan| plan.session.as_ref());
        anchors
            .chain(plans)
            .chain(self.told.keys())
            .any(|session| !sessions.contains(session))
    }

    /// Drops the entries of sessions that are not in `sessions`: they have ended.
    pub fn drop_ended_sessions(&mut self, sessions: &BTreeSet<String>) {
        let lasts = |session: &Option<String>| session.as_ref().is_none_or(|session| sessions.contains(session));
        self.anchors.retain(|anchor| lasts(&anchor.session));
        self.plans.retain(|plan| lasts(&plan.session));
        self.told.retain(|session, _| sessions.contains(session));
    }

    /// Returns the anchor with a name in a session, or else that of the file.
    pub fn anchor(&self, name: &str, session: Option<&str>) -> Option<&Anchor> {
        let mut named = self.anchors.iter().filter(|anchor| anchor.name.as_deref() == Some(name));
        let own = named.clone().find(|anchor| anchor.session.as_deref() == session);
        own.or_else(|| named.find(|anchor| anchor.session.is_none()))
    }

    /// Returns the newest timed anchor of the file that is at least 30 minutes old, or else the oldest one.
    pub fn timed(&self, now: u64) -> Option<&Anchor> {
        let mut timed = self.anchors.iter().rev().filter(|anchor| anchor.name.is_none());
        let old = timed.clone().find(|anchor| now.saturating_sub(anchor.at) >= BETWEEN);
        old.or_else(|| timed.next_back())
    }

    /// Records the result of the last plan for a session or for the file, and the next plan at a version. Returns whether a plan existed that the
    /// result can belong to.
    pub fn record_plan(&mut self, session: Option<&str>, version: u64, plan: Option<&str>, result: Option<&str>) -> bool {
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

    /// Returns the digests of all texts that versions and anchors refer to.
    pub fn digests(&self) -> BTreeSet<&str> {
        let versions = self.versions.iter().map(|version| version.digest.as_str());
        versions.chain(self.anchors.iter().map(|anchor| anchor.digest.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(author: &str) -> ChangeReport {
        ChangeReport {
            author: author.to_owned(),
            ..ChangeReport::default()
        }
    }

    #[test]
    fn versions_name_the_author_of_each_change() {
        let mut journal = Journal::default();
        assert!(journal.record_found("a\n", None, 10, &by("person")));
        assert!(!journal.record_found("a\n", Some("a\n"), 20, &by("agent")), "nothing moved");
        assert!(journal.record_found("b\n", Some("a\n"), 30, &by("agent")));
        let failed = ChangeReport {
            failed: Some("no such line".to_owned()),
            ..by("agent")
        };
        assert!(journal.record_found("b\n", Some("b\n"), 40, &failed));
        assert!(
            journal.record_found("c\n", Some("b\n"), 45, &failed),
            "another program wrote meanwhile"
        );
        let found: Vec<(u64, &str, bool, bool)> = journal
            .versions
            .iter()
            .map(|one| (one.number, one.author.as_str(), one.failed.is_some(), one.change.patch.is_empty()))
            .collect();
        assert_eq!(
            found,
            [
                (1, "person", false, true),
                (2, "agent", false, false),
                (3, "agent", true, true),
                (4, "another program", false, false),
                (5, "agent", true, true)
            ]
        );
        assert_eq!(journal.current().map(|one| one.digest.clone()), Some(digest_of_text("c\n")));
        for number in 0..200_u64 {
            journal.record_found(&number.to_string(), None, 50 + number, &by("tool"));
        }
        assert_eq!((journal.versions.len(), journal.given), (VERSIONS, 205));
        assert!(journal.version(2).is_none() && journal.version(205).is_some());
        let edit = ChangeReport {
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
        // An anchor outlives its version and keeps its text.
        assert_eq!(journal.version(6), Some(digest_of_text("5").as_str()));
        assert!(journal.digests().contains(digest_of_text("0").as_str()) && journal.version(7).is_none());
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
        // A session has its own limit of anchors, which are dropped with it.
        assert_eq!(version(&journal, "green", Some("s")), Some(101));
        let sessions = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<String>>();
        assert!(!journal.has_ended(&sessions(&["s"])) && journal.has_ended(&sessions(&["t"])));
        for number in 0..=ANCHORS {
            named(&mut journal, &format!("own {number}"), Some("s"));
        }
        assert_eq!(version(&journal, "24", None), Some(101));
        assert_eq!(journal.anchors.len(), 4 + 2 * ANCHORS);
        journal.drop_ended_sessions(&sessions(&["t"]));
        assert_eq!(journal.anchors.len(), 4 + ANCHORS);
    }

    #[test]
    fn plans_have_results() {
        let mut journal = Journal::default();
        assert!(!journal.record_plan(None, 1, None, Some("of nothing")));
        journal.record_plan(None, 1, Some("rename"), None);
        // One call reports the result of a plan and the next plan.
        assert!(journal.record_plan(None, 1, Some("test"), Some("done")));
        assert!(journal.record_plan(None, 1, None, Some("two fail")));
        journal.record_plan(None, 1, Some("mend"), None);
        let found: Vec<Option<&str>> = journal.plans.iter().map(|plan| plan.result.as_deref()).collect();
        assert_eq!(found, [Some("done"), Some("two fail"), None]);
        for _ in 0..20 {
            journal.record_plan(None, 1, Some("more"), None);
        }
        assert_eq!(journal.plans.len(), PLANS);
        journal.record_plan(Some("s"), 7, Some("less"), None);
        journal.record_plan(Some("s"), 8, None, Some("done"));
        let of_session = journal.plans.iter().filter(|plan| plan.session.is_some());
        let found: Vec<(u64, Option<&str>)> = of_session.map(|plan| (plan.version, plan.result.as_deref())).collect();
        assert_eq!((journal.plans.len(), found), (PLANS + 1, vec![(7, Some("done"))]));
    }
}
