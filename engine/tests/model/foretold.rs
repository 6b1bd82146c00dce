//! Predictions of a dry run: the following build must not contradict them.

use super::naive::Naive;
use crate::toys::bench::{Bench, Built, Entry, How};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::collections::BTreeSet;

/// Runs a dry run, and checks that it runs and changes nothing.
pub fn foretell(bench: &Bench, patterns: &[&str], how: &How) -> Result<Built, TestCaseError> {
    let seen = || (bench.known(patterns), bench.session().marked().len(), bench.world.outputs());
    let before = seen();
    let dry = How {
        dry_run: true,
        ..how.clone()
    };
    let foretold = bench.build_as(patterns, &dry);
    let acts = |entry: &&Entry| matches!(entry, Entry::Started(_) | Entry::Ran(..) | Entry::Exported(_));
    prop_assert_eq!(foretold.log.iter().find(acts), None, "in a dry run");
    prop_assert_eq!(seen(), before, "after a dry run");
    Ok(foretold)
}

/// Checks a dry run against the complete build after it: a target predicted to run does, under its own label or another one with its key, and one
/// predicted to have no output has none.
pub fn comes_true(foretold: &Built, built: &Built, naive: &mut Naive<'_>) -> Result<(), TestCaseError> {
    let (refused, really) = (&foretold.report.refused, &built.report.refused);
    prop_assert!(refused.is_empty() || !really.is_empty(), "a dry run refused {:?}", refused);
    if !really.is_empty() {
        return Ok(());
    }
    if !naive.cyclic {
        let failed = built.failures();
        for why in foretold.failures() {
            prop_assert!(failed.contains(&why), "a dry run said {:?} fails, of {:?}", why, failed);
        }
    }
    let label = |entry: &Entry| match entry {
        Entry::Started(label) | Entry::Failed(label) => Some(label.clone()),
        _ => None,
    };
    let begun: BTreeSet<String> = built.log.iter().filter_map(label).collect();
    let mut tuple = |label: &str| naive.eval(label).map(|made| made.tuple.clone());
    let keys: BTreeSet<String> = built.ran().into_iter().filter_map(&mut tuple).collect();
    for label in foretold.report.outlook.iter().flat_map(|outlook| &outlook.will_run) {
        let came = begun.contains(&**label) || tuple(label).is_some_and(|key| keys.contains(&key));
        prop_assert!(came, "{} did not run, as a dry run said", label);
    }
    Ok(())
}
