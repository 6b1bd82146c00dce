//! The sessions of the README and of the tour are real: their commands run in order in the fixture and print the shown text.
//!
//! Blocks marked `console by-hand` need more than a test has (a model, or a person who stops a watch) and are skipped.

use crate::bench::{Bench, git};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const README: &str = include_str!("../../README.md");
const TOUR: &str = include_str!("../../docs/tour.md");

/// A command and its shown output.
struct Step<'r> {
    line: usize,
    command: &'r str,
    shown: Vec<&'r str>,
}

/// Returns the steps of a page, in order.
fn steps(page: &'static str) -> Vec<Step<'static>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut fence = None;
    for (line, text) in (1..).zip(page.lines()) {
        match fence {
            None if text.starts_with("```") => {
                let ticks = text.find(|c| c != '`').unwrap_or(text.len());
                fence = Some((&text[..ticks], &text[ticks..] == "console"));
            }
            Some((ticks, _)) if text == ticks => fence = None,
            Some((_, true)) => match (text.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step {
                    line,
                    command,
                    shown: Vec::new(),
                }),
                (None, Some(step)) => step.shown.push(text),
                (None, None) => panic!("line {line}: no command stands above '{text}'"),
            },
            _ => {}
        }
    }
    steps
}

/// Returns the shown lines that the output lacks, and the output lines not shown, unless `…` stands for them.
fn objections(shown: &str, printed: &str) -> Vec<String> {
    // Workers end in any order, so a line may be anywhere.
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for line in printed.lines() {
        *left.entry(line).or_default() += 1;
    }
    let mut found = Vec::new();
    let mut cut = false;
    for line in shown.lines() {
        let beginning = line.strip_suffix('…');
        if beginning.is_some_and(|beginning| beginning.trim().is_empty()) {
            cut = true;
            continue;
        }
        let is_it = |printed: &str| match beginning {
            Some(beginning) => printed.starts_with(beginning),
            None => printed == line,
        };
        match left.iter_mut().find(|(printed, count)| **count > 0 && is_it(printed)) {
            Some((_, count)) => *count -= 1,
            None => found.push(format!("not printed: {line}")),
        }
    }
    if !cut {
        let more = left.into_iter().filter(|(_, count)| *count > 0);
        found.extend(more.map(|(line, _)| format!("not shown: {line}")));
    }
    found
}

#[test]
fn the_tour_is_what_a_reader_sees() {
    let bench = cloned_yesterday();
    let steps = steps(TOUR);
    assert!(steps.len() > 20, "{}", steps.len());
    follow(&bench, "docs/tour.md", &steps);
}

#[test]
fn the_session_of_the_readme_is_what_a_reader_sees() {
    let bench = cloned_yesterday();
    // The reader's repository has no manifest.
    std::fs::remove_file(bench.root().join("cortex.toml")).expect("a manifest");
    let steps = steps(README);
    assert!(steps.len() > 6, "{}", steps.len());
    follow(&bench, "README.md", &steps);
}

/// Returns the fixture as in a clone from yesterday: time stamps of the last two seconds are not trusted.
fn cloned_yesterday() -> Bench {
    let bench = Bench::memotree();
    let yesterday = SystemTime::now() - Duration::from_secs(86_400);
    for path in walk(&bench.root()) {
        let file = std::fs::File::options().write(true).open(path).expect("file");
        file.set_modified(yesterday).expect("stamp");
    }
    git(&bench.root(), &["init", "-q"]);
    git(&bench.root(), &["add", "-A"]);
    git(&bench.root(), &["commit", "-q", "-m", "fixture"]);
    bench
}

/// Runs the steps in order and compares their output.
fn follow(bench: &Bench, page: &str, steps: &[Step<'_>]) {
    let mut wrong = Vec::new();
    for step in steps {
        // Programs are trusted only where the page says so.
        let printed = bench.shell(&format!("unset CORTEX_TRUST; {}", step.command)).all();
        // The sandbox level differs from machine to machine.
        let printed = ["in a landlock sandbox", "without a sandbox"]
            .iter()
            .fold(printed, |text, level| text.replace(level, "in a strict sandbox"));
        let printed = printed.split_once('\n').map_or("", |(_, printed)| printed);
        let shown = bench.as_shown(&step.shown.join("\n"));
        let found = objections(&shown, printed);
        if !found.is_empty() {
            let found = found.join("\n");
            wrong.push(format!("{page}:{}: $ {}\n{found}\n-- printed:\n{printed}", step.line, step.command));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns all files below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path());
    entries
        .flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] })
        .collect()
}
