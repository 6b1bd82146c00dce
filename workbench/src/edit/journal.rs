//! The journal of one document, as a fold over the log of drafts. Every state that a look finds or a session saves is a version: number, author,
//! content. A failed try is a version with the content of the one before. Anchors are versions for later comparison: one every 30 minutes, and those
//! that have a name.

use super::contents::Content;
use super::difference::Difference;
use super::draft_log::Step;
use super::editor::Editor;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Limit of versions in a journal.
const VERSIONS: usize = 64;
/// Limit per kind of anchor: timed anchors of the file, named anchors of the file, anchors of each session.
pub const ANCHORS: usize = 16;
/// Seconds from one anchor to the next.
pub const BETWEEN: u64 = 30 * 60;
/// Author of edits in sessions and overlays.
const AGENT: &str = "agent";
/// Author of a file's change unless another one is reported.
pub const PERSON: &str = "person";
/// Author of a change that no edit session, overlay or caller claims.
pub(crate) const SOMEBODY: &str = "another program";
/// Limit of plans in a journal.
const PLANS: usize = 8;
/// Limit of lines that a version keeps of its patch.
pub const PATCH: usize = 200;

/// A state of a document, or a failed try to change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Its number, from 1.
    pub number: u64,
    /// When it was found, in seconds since 1970.
    pub at: u64,
    /// Who made it, and why. If the try failed, the content is that of the version before.
    #[serde(flatten)]
    pub report: ChangeReport,
    pub digest: String,
    /// Whether its text equals that of the version before: the document was only saved. [`Journal::compute_changes`] computes it.
    #[serde(skip)]
    pub same: bool,
    /// Its change against the version before. [`Journal::compute_changes`] computes it.
    #[serde(skip)]
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
    pub version: u64,
    /// When it was set, in seconds since 1970.
    pub at: u64,
    /// Digest of the version's content.
    pub digest: String,
}

/// An intention with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
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

/// What the log says about a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Journal {
    /// Path of the document below the workspace's root.
    pub path: String,
    /// Number of the newest version.
    pub given: u64,
    /// Number and content before the first version, for a document of a session.
    #[serde(skip)]
    pub begin: Option<(u64, String)>,
    /// Versions, oldest first.
    pub versions: Vec<Version>,
    /// Anchors, oldest first.
    pub anchors: Vec<Anchor>,
    /// Plans, oldest first.
    pub plans: Vec<Plan>,
    /// The last reported state of the editor.
    pub editor: Editor,
}

/// Description of a change by its reporter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeReport {
    /// Author of the change: agent, person, tool, or a name.
    pub author: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Reason why the try failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl ChangeReport {
    /// Returns the report of an author who says no more.
    pub fn by(author: &str) -> Self {
        Self {
            author: author.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the report of an agent's operation, which may have failed.
    pub fn by_agent(operation: &str, failed: Option<String>) -> Self {
        Self {
            what: Some(operation.to_owned()),
            failed,
            ..Self::by(AGENT)
        }
    }
}

/// What a call of `context live` finds and reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Look {
    pub path: String,
    /// Time of the call, in seconds since 1970.
    pub at: u64,
    pub found: Content,
    /// Report about the change of the file since the last look.
    pub report: ChangeReport,
    /// Number and content of the shown version of an edit session; `None` for the file.
    pub shown: Option<(u64, String)>,
    pub session: Option<String>,
    pub plan: Option<String>,
    /// Result of the last plan.
    pub result: Option<String>,
    /// Name of an anchor to set at the shown version.
    pub anchor: Option<String>,
    pub editor: Option<Editor>,
}

/// Effects of a look that its answer reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookEffects {
    /// Whether the file, or a failed try, added a version.
    pub is_version: bool,
    /// Whether an earlier plan matches a given result.
    pub has_cause: bool,
    /// An anchor dropped in favour of a new one.
    pub forgotten: Option<Anchor>,
}

impl Journal {
    /// Returns the newest version: the document as the last look found it.
    pub fn current(&self) -> Option<&Version> {
        self.versions.last()
    }

    /// Returns the content of a version of the file or of a session, from the versions or the anchors. Of a session it is the content after the
    /// operation of that number.
    pub fn version(&self, number: u64, session: Option<&str>) -> Option<&str> {
        let own = match self.versions.partition_point(|version| version.number <= number) {
            0 => self.begin.as_ref().filter(|(begin, _)| *begin <= number).map(|(_, digest)| digest),
            behind => Some(&self.versions[behind - 1].digest),
        };
        let anchored = || {
            self.anchors_of(session)
                .find(|anchor| anchor.version == number)
                .map(|anchor| &anchor.digest)
        };
        own.filter(|_| number <= self.given).or_else(anchored).map(String::as_str)
    }

    /// Returns the journal with the versions of a session, beside the anchors, plans and editor of the file.
    #[must_use]
    pub fn with_versions_of(self, session: &Self) -> Self {
        Self {
            given: session.given,
            begin: session.begin.clone(),
            versions: session.versions.clone(),
            ..self
        }
    }

    /// Returns the numbers of versions before `first`, of a session or of the file, that anchors refer to.
    pub fn anchored_before(&self, first: u64, session: Option<&str>) -> BTreeSet<u64> {
        let numbers = self.anchors_of(session).map(|anchor| anchor.version);
        numbers.filter(|number| *number < first).collect()
    }

    fn anchors_of<'j>(&'j self, session: Option<&str>) -> impl Iterator<Item = &'j Anchor> {
        self.anchors.iter().filter(move |anchor| anchor.session.as_deref() == session)
    }

    pub fn record_look(&mut self, look: &Look) -> LookEffects {
        let mut effects = LookEffects::default();
        if let Some(found) = &look.found {
            effects.is_version = self.record_found(found, look.at, &look.report);
        }
        let session = look.session.as_deref();
        let version = look.shown.as_ref().map_or(self.given, |(number, _)| *number);
        effects.has_cause = self.record_plan(session, version, look.plan.as_deref(), look.result.as_deref());
        let current = || self.current().map(|current| (current.number, current.digest.clone()));
        if let (Some(name), Some((version, digest))) = (&look.anchor, look.shown.clone().or_else(current)) {
            effects.forgotten = self.set_anchor(Anchor {
                name: Some(name.clone()),
                session: look.session.clone(),
                version,
                at: look.at,
                digest,
            });
        }
        if let Some(editor) = &look.editor {
            self.editor.clone_from(editor);
        }
        effects
    }

    /// Records a step of a session. A save is a version by the agent; what it wrote over, if no look found it, is a person's. A failed try leaves the
    /// document unchanged. Other steps are of the session alone.
    pub fn record_step(&mut self, step: &Step) {
        let report = ChangeReport::by_agent(&step.operation, step.failed.clone());
        let current = self.current().map(|current| current.digest.clone());
        match (&step.failed, &step.to, current) {
            (Some(_), _, Some(current)) => {
                self.record_found(&current, step.at, &report);
            }
            (None, Some(to), _) if step.saved => {
                if let Some(over) = &step.over {
                    self.record_found(over, step.at, &ChangeReport::by(PERSON));
                }
                self.record_found(to, step.at, &report);
            }
            _ => {}
        }
    }

    /// Records a step as a version of its session. A foreign write between two operations is a version, too.
    pub(super) fn record_own_step(&mut self, step: &Step) {
        let [from, to] = [&step.from, &step.to].map(|content| content.clone().unwrap_or_default());
        self.given = step.number;
        if self.current().is_some_and(|current| current.digest != from) {
            self.add_version(&from, step.at, ChangeReport::by(SOMEBODY));
        }
        let report = match step.foreign {
            true => ChangeReport::by(SOMEBODY),
            false => ChangeReport::by_agent(&step.operation, step.failed.clone()),
        };
        self.add_version(&to, step.at, report);
    }

    /// Adds a version with the last given number.
    fn add_version(&mut self, digest: &str, at: u64, report: ChangeReport) {
        self.versions.push(Version {
            number: self.given,
            at,
            report,
            digest: digest.to_owned(),
            same: false,
            change: Difference::default(),
        });
    }

    /// Records that the document was found with a content. If it changed although the reported try failed, another author changed it: the change and
    /// the try each become a version. Returns whether a version was added.
    fn record_found(&mut self, digest: &str, now: u64, report: &ChangeReport) -> bool {
        let is_changed = self.current().is_none_or(|current| current.digest != digest);
        let is_failed = report.failed.is_some();
        let by_another = (is_changed && is_failed).then(|| ChangeReport::by(SOMEBODY));
        let own = (is_changed || is_failed).then(|| report.clone());
        if own.is_none() {
            return false;
        }
        for report in by_another.into_iter().chain(own) {
            self.given += 1;
            self.add_version(digest, now, report);
        }
        let forgotten = self.versions.len().saturating_sub(VERSIONS);
        self.versions.drain(..forgotten);
        let mut timed = self.anchors.iter().rev().filter(|anchor| anchor.name.is_none());
        let is_due = timed.next().is_none_or(|last| now.saturating_sub(last.at) >= BETWEEN);
        if is_due {
            self.set_anchor(Anchor {
                name: None,
                session: None,
                version: self.given,
                at: now,
                digest: digest.to_owned(),
            });
        }
        true
    }

    /// Computes the changes of the newest versions: of `most`, and back to the last that changes lines.
    pub fn compute_changes(&mut self, most: usize, text_of: impl Fn(&str) -> Option<String>) {
        let begin = self.begin.as_ref().map(|(_, digest)| digest.clone());
        let mut after = self.current().and_then(|current| text_of(&current.digest));
        let (all, mut is_found) = (self.versions.len(), false);
        for at in (0..all).rev() {
            if is_found && all - at > most {
                return;
            }
            let before = at.checked_sub(1).map(|before| self.versions[before].digest.clone());
            let (Some(before), version) = (before.or_else(|| begin.clone()), &mut self.versions[at]) else {
                return;
            };
            if version.digest == before {
                version.same = version.report.failed.is_none();
                continue;
            }
            let text = text_of(&before);
            if let (Some(before), Some(after)) = (&text, &after) {
                version.change = Difference::between(before, after).with_line_limit(PATCH);
                version.same = before == after;
            }
            is_found |= version.change.lines.is_some();
            after = text;
        }
    }

    /// Adds an anchor; it replaces one with the same name in the same session or file. Returns the oldest anchor of its kind if the limit drops it.
    fn set_anchor(&mut self, anchor: Anchor) -> Option<Anchor> {
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

    /// Drops the entries of sessions that are not in `sessions`: they have ended.
    pub fn drop_ended_sessions(&mut self, sessions: &BTreeSet<String>) {
        let lasts = |session: &Option<String>| session.as_ref().is_none_or(|session| sessions.contains(session));
        self.anchors.retain(|anchor| lasts(&anchor.session));
        self.plans.retain(|plan| lasts(&plan.session));
    }

    /// Returns the anchor with a name in a session, or else that of the file.
    pub fn anchor(&self, name: &str, session: Option<&str>) -> Option<&Anchor> {
        let mut named = self.anchors.iter().filter(|anchor| anchor.name.as_deref() == Some(name));
        let own = named.clone().find(|anchor| anchor.session.as_deref() == session);
        own.or_else(|| named.find(|anchor| anchor.session.is_none()))
    }

    /// Returns the number of the newest version of a session that is at least 30 minutes old, or else of its beginning.
    pub fn early_version(&self, now: u64) -> Option<u64> {
        let (begin, _) = self.begin.as_ref()?;
        let old = self.versions.iter().rev().find(|version| now.saturating_sub(version.at) >= BETWEEN);
        Some(old.map_or(*begin, |version| version.number))
    }

    /// Returns the newest timed anchor of the file that is at least 30 minutes old, or else the oldest one.
    pub fn timed(&self, now: u64) -> Option<&Anchor> {
        let mut timed = self.anchors.iter().rev().filter(|anchor| anchor.name.is_none());
        let old = timed.clone().find(|anchor| now.saturating_sub(anchor.at) >= BETWEEN);
        old.or_else(|| timed.next_back())
    }

    /// Records the result of the last plan for a session or for the file, and the next plan at a version. Returns whether a plan existed that the
    /// result can belong to.
    fn record_plan(&mut self, session: Option<&str>, version: u64, plan: Option<&str>, result: Option<&str>) -> bool {
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

    /// Returns the digests of all contents that versions and anchors refer to.
    pub fn digests(&self) -> BTreeSet<&str> {
        let versions = self.versions.iter().map(|version| version.digest.as_str());
        versions.chain(self.anchors.iter().map(|anchor| anchor.digest.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_name_the_author_of_each_change() {
        let mut journal = Journal::default();
        assert!(journal.record_found("a", 10, &ChangeReport::by("person")));
        assert!(!journal.record_found("a", 20, &ChangeReport::by("agent")), "nothing changed");
        assert!(journal.record_found("b", 30, &ChangeReport::by("agent")));
        let failed = ChangeReport {
            failed: Some("no such line".to_owned()),
            ..ChangeReport::by("agent")
        };
        assert!(journal.record_found("b", 40, &failed));
        assert!(journal.record_found("c", 45, &failed), "another program wrote meanwhile");
        // Two contents may have one text.
        assert!(journal.record_found("C", 46, &ChangeReport::by("tool")));
        journal.compute_changes(usize::MAX, |digest| Some(format!("{}\n", digest.to_lowercase())));
        let versions = journal.versions.iter();
        let found: Vec<(u64, &str, bool, &str, bool)> = versions
            .map(|one| {
                let patch = one.change.patch.split_once('\n').map_or("", |(_, lines)| lines);
                (one.number, one.report.author.as_str(), one.report.failed.is_some(), patch, one.same)
            })
            .collect();
        assert_eq!(
            found,
            [
                (1, "person", false, "", false),
                (2, "agent", false, "-a\n+b\n", false),
                (3, "agent", true, "", false),
                (4, "another program", false, "-b\n+c\n", false),
                (5, "agent", true, "", false),
                (6, "tool", false, "", true)
            ]
        );
        assert_eq!(journal.current().map(|one| one.digest.as_str()), Some("C"));
        for number in 0..200_u64 {
            journal.record_found(&number.to_string(), 50 + number, &ChangeReport::by("tool"));
        }
        assert_eq!((journal.versions.len(), journal.given), (VERSIONS, 206));
        assert!(journal.version(2, None).is_none() && journal.version(206, None).is_some());
        // Only the newest versions are compared, and those back to the last with a change.
        let failed_last = journal.record_found("199", 300, &failed);
        journal.compute_changes(1, |digest| Some(digest.to_owned()));
        let compared: Vec<u64> = journal
            .versions
            .iter()
            .filter(|one| !one.change.patch.is_empty())
            .map(|one| one.number)
            .collect();
        assert_eq!((failed_last, compared), (true, vec![206]));
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
            journal.record_found(&minute.to_string(), minute * 60, &ChangeReport::by("person"));
            if minute == 5 {
                assert_eq!(named(&mut journal, "green", None), None);
            }
        }
        let at = |minute: u64| journal.timed(minute * 60).map(|anchor| anchor.version);
        assert_eq!(journal.anchors.iter().filter(|anchor| anchor.name.is_none()).count(), 4);
        // Anchors of the minutes 0, 30, 60 and 90 are versions 1, 31, 61 and 91.
        assert_eq!((at(100), at(120), at(10)), (Some(61), Some(91), Some(1)));
        // An anchor outlives its version and keeps its text.
        assert_eq!(journal.version(6, None), Some("5"));
        assert!(journal.digests().contains("0") && journal.version(7, None).is_none());
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
