//! Listing: an observer that collects a build's entry for the log of builds.

use super::request::{Report, Request};
use crate::planning::rules::RuleIndex;
use crate::seams::annotate::Annotate;
use crate::seams::paid::Spent;
use crate::seams::world::Change;
use crate::store::builds::{BuildRecord, ChangedFile, Counts, FAILED, FailedTarget, Gone, OfProducer, Outcome, Slow};
use crate::values::event::{Event, FinishedJob, Observer, Phase};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of slowest nodes listed.
const SLOWEST: usize = 32;

/// Number of changed files that are compared with the revision before all others.
const COMPARED: usize = 8;

/// Maximum length of the listed patterns, in characters.
const PATTERNS: usize = 400;

/// An observer in front of another one.
pub(super) struct Listing<'a> {
    rules: &'a RuleIndex,
    observer: &'a dyn Observer,
    events: Mutex<ListedEvents>,
}

/// Events collected so far.
#[derive(Default)]
pub(super) struct ListedEvents {
    slowest: Vec<Slow>,
    producers: BTreeMap<String, OfProducer>,
    failures: BTreeSet<FailedTarget>,
    /// Some files that the build found changed.
    compared: Vec<String>,
    /// All files that it found changed, unless it plans everything anew.
    changed: Option<Vec<ChangedFile>>,
}

impl<'a> Listing<'a> {
    /// Creates an observer that forwards everything to `observer`. `changes`: what the build found changed. `is_redefined`: whether it plans
    /// everything anew.
    pub(super) fn new(rules: &'a RuleIndex, observer: &'a dyn Observer, changes: &[Change], is_redefined: bool) -> Self {
        let changed = if is_redefined { None } else { ChangedFile::from_changes(changes) };
        let events = ListedEvents {
            compared: changes.iter().take(COMPARED).map(|change| change.path.clone()).collect(),
            changed,
            ..ListedEvents::default()
        };
        Self {
            rules,
            observer,
            events: Mutex::new(events),
        }
    }

    pub(super) fn into_events(self) -> ListedEvents {
        self.events.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ListedEvents {
    fn add_event(&mut self, rules: &RuleIndex, event: &Event<'_>) {
        let (label, ran, cached, failed, took) = match event {
            Event::Ran { label, took, .. } => (*label, 1, 0, 0, *took),
            Event::Hit { label, .. } => (*label, 0, 1, 0, Duration::ZERO),
            Event::Failed { label, why } => {
                self.failures.insert(FailedTarget::from_diagnostic(label, why));
                if self.failures.len() > FAILED {
                    self.failures.pop_last();
                }
                (*label, 0, 0, 1, Duration::ZERO)
            }
            _ => return,
        };
        let Some(found) = rules.find(label) else { return };
        let uses = &rules.manifest().producers[rules.rule(found.rule).producer as usize].uses;
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let known = self.producers.contains_key(uses);
        if !known {
            let uses = uses.clone();
            self.producers.insert(
                uses.clone(),
                OfProducer {
                    uses,
                    ..OfProducer::default()
                },
            );
        }
        if let Some(of) = self.producers.get_mut(uses) {
            of.ran += ran;
            of.cached += cached;
            of.failed += failed;
            of.took_us = of.took_us.saturating_add(took_us);
        }
        if ran > 0 {
            self.note_slow(label, took_us);
        }
    }

    fn note_slow(&mut self, label: &str, took_us: u64) {
        let at = self.slowest.partition_point(|slow| slow.took_us >= took_us);
        if at < SLOWEST {
            self.slowest.truncate(SLOWEST - 1);
            let (label, how) = (label.to_owned(), "ran".to_owned());
            self.slowest.insert(at, Slow { label, took_us, how });
        }
    }

    /// Returns the entry, not yet numbered; `None` if the build neither built, found nor lost a result and asked no model. `gone`: labels of the
    /// targets that it removed.
    pub(super) fn record(
        self,
        request: &Request,
        report: &Report,
        began: (u64, Instant),
        annotate: &dyn Annotate,
        gone: Vec<String>,
    ) -> Option<BuildRecord> {
        let tally = &report.tally;
        if tally.ran + tally.cached + tally.failed == 0 && tally.spent.calls == 0 && gone.is_empty() {
            return None;
        }
        Some(self.full_record(request, report, began, annotate, gone))
    }

    /// Returns the entry unconditionally.
    pub(super) fn full_record(
        self,
        request: &Request,
        report: &Report,
        began: (u64, Instant),
        annotate: &dyn Annotate,
        gone: Vec<String>,
    ) -> BuildRecord {
        let tally = &report.tally;
        let spent = |spent: &Spent| (spent.calls > 0).then(|| spent.clone());
        let outcome = match report {
            report if report.cancelled => Outcome::Cancelled,
            report if !report.failures.is_empty() || !report.refused.is_empty() || tally.limited > 0 => Outcome::Failed,
            _ => Outcome::Ok,
        };
        let revision = annotate.revision(&self.compared);
        let (commit, dirty) = revision.map_or((None, None), |found| (Some(found.commit), found.dirty));
        let patterns: Vec<String> = request.patterns.patterns().iter().map(ToString::to_string).collect();
        let patterns = shortened(&patterns.join(" "));
        BuildRecord {
            number: 0,
            at: began.0,
            took_us: u64::try_from(began.1.elapsed().as_micros()).unwrap_or(u64::MAX),
            command: format!("{} {patterns}", annotate.command()).trim().to_owned(),
            counts: Counts {
                targets: report.targets as u64,
                ran: tally.ran as u64,
                cached: tally.cached as u64,
                verified: tally.verified as u64,
                failed: tally.failed as u64,
                skipped: tally.skipped as u64,
            },
            spent: spent(&tally.spent),
            commit,
            dirty,
            outcome,
            slowest: self.slowest,
            producers: self.producers.into_values().collect(),
            saved: spent(&tally.saved),
            saved_us: tally.saved_us,
            answers: tally.answers,
            gone: Gone::from_labels(gone),
            failures: self.failures.into_iter().collect(),
            changed: self.changed,
        }
    }
}

fn shortened(patterns: &str) -> String {
    match patterns.char_indices().nth(PATTERNS) {
        Some((end, _)) => format!("{}…", &patterns[..end]),
        None => patterns.to_owned(),
    }
}

/// Merges the entries of a build and its continuation.
pub(super) fn merge_records(before: BuildRecord, later: BuildRecord) -> BuildRecord {
    let took_us = later.at.saturating_sub(before.at) * 1_000_000 + later.took_us;
    let mut joined = BuildRecord {
        took_us: took_us.max(before.took_us.saturating_add(later.took_us)),
        saved_us: before.saved_us.saturating_add(later.saved_us),
        outcome: match later.outcome {
            Outcome::Ok => before.outcome,
            worse => worse,
        },
        ..before
    };
    if let (Some(start), Some(more), false) = (joined.command.find("//"), later.command.find("//"), joined.command.ends_with('…')) {
        let patterns = format!("{} {}", &joined.command[start..], &later.command[more..]);
        joined.command.truncate(start);
        joined.command.push_str(&shortened(&patterns));
    }
    joined.counts.add(&later.counts);
    joined.answers.add_all(&later.answers);
    for (own, more) in [(&mut joined.spent, later.spent), (&mut joined.saved, later.saved)] {
        match (own, more) {
            (Some(own), Some(more)) => own.add(&more),
            (own, more) => *own = own.take().or(more),
        }
    }
    joined.slowest.extend(later.slowest);
    joined.slowest.sort_by_key(|slow| Reverse(slow.took_us));
    joined.slowest.truncate(SLOWEST);
    for more in later.producers {
        match joined.producers.binary_search_by(|of| of.uses.cmp(&more.uses)) {
            Ok(at) => joined.producers[at].add(&more),
            Err(at) => joined.producers.insert(at, more),
        }
    }
    let gone = joined.gone.count + later.gone.count;
    joined.gone = Gone {
        count: gone,
        ..Gone::from_labels([joined.gone.labels, later.gone.labels].concat())
    };
    let failures: BTreeSet<FailedTarget> = joined.failures.into_iter().chain(later.failures).collect();
    joined.failures = failures.into_iter().take(FAILED).collect();
    joined
}

impl Observer for Listing<'_> {
    fn event(&self, event: &Event<'_>) {
        self.events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add_event(self.rules, event);
        self.observer.event(event);
    }

    fn job_finished(&self, job: &FinishedJob<'_>) {
        self.observer.job_finished(job);
    }

    fn phase(&self, phase: &Phase) {
        self.observer.phase(phase);
    }

    fn laying_out(&self, done: usize, files: usize) {
        self.observer.laying_out(done, files);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continued_build_is_logged_as_one_entry() {
        let of = |uses: &str, ran: u64| OfProducer {
            uses: uses.to_owned(),
            ran,
            ..OfProducer::default()
        };
        let build = |label: &str, took_us: u64, producers: Vec<OfProducer>| BuildRecord {
            at: 1_000,
            took_us,
            command: format!("impact {label}"),
            counts: Counts {
                targets: 1,
                ran: producers.iter().map(|of| of.ran).sum(),
                ..Counts::default()
            },
            slowest: vec![Slow {
                label: label.to_owned(),
                took_us,
                how: "ran".to_owned(),
            }],
            producers,
            gone: Gone::from_labels(vec![label.to_owned()]),
            ..BuildRecord::default()
        };
        let first = BuildRecord {
            number: 7,
            ..build("//a:b", 10, vec![of("b", 2)])
        };
        let second = BuildRecord {
            outcome: Outcome::Failed,
            spent: Some(Spent::default()),
            ..build("//c:d", 30, vec![of("a", 1), of("b", 3)])
        };
        let both = merge_records(first.clone(), second);
        assert_eq!((both.number, both.at, both.took_us, both.outcome), (7, 1_000, 40, Outcome::Failed));
        assert_eq!(
            (both.command.as_str(), both.counts.targets, both.counts.ran),
            ("impact //a:b //c:d", 2, 6)
        );
        assert_eq!(both.producers, [of("a", 1), of("b", 5)]);
        assert_eq!(both.slowest[0].label, "//c:d");
        assert_eq!((both.gone.count, both.spent.is_some()), (2, true));
        let long = merge_records(first, build(&format!("//{}", "x".repeat(PATTERNS)), 1, Vec::new()));
        assert_eq!(long.command.chars().count(), "impact ".len() + PATTERNS + 1);
        assert_eq!(merge_records(long.clone(), build("//y:z", 1, Vec::new())).command, long.command);
    }

    #[test]
    fn the_slowest_are_kept_in_order() {
        let mut events = ListedEvents::default();
        for took in (0..100).map(|n| n * 37 % 101) {
            events.note_slow("//a:b", took);
        }
        let kept: Vec<u64> = events.slowest.iter().map(|slow| slow.took_us).collect();
        let mut all: Vec<u64> = (0..100).map(|n| n * 37 % 101).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(kept, all[..SLOWEST]);
    }
}
