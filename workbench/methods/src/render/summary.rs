//! The last line of a build, and its JSON form.

use super::money::spent;
use super::{Style, diagnostic, duration, format_count, printable};
use crate::render::plural;
use engine::build::outlook::{Gate, RunForecast};
use engine::build::request::Report;
use engine::build::{Priced, Tally};
use engine::seams::joint;
use engine::seams::paid::Spent;
use std::collections::BTreeMap;
use std::time::Duration;

/// Returns what to run next for answers that come later.
fn next_steps(tally: &Tally, style: Style) -> String {
    let next = match tally.deferred {
        0 => String::new(),
        _ => format!(
            "\n  {} run the same command again once the batch is answered (within a day): it reads the answers and asks the questions that wait for them",
            style.dim("next    ")
        ),
    };
    match tally.awaited {
        0 => next,
        _ => format!(
            "{next}\n  {} `cortex work next` gives a question, `cortex work submit` takes its answer",
            style.dim("next    ")
        ),
    }
}

/// `12 targets: 3 ran, 9 up to date, 2 files written (0.1 s)`.
pub fn format_summary(report: &Report, targets: u64, dry_run: bool, took: Duration, style: Style) -> String {
    let tally = &report.tally;
    let parts = count_parts(report, dry_run);
    let known = if report.unknown.is_empty() { "" } else { " known so far" };
    let head = format!("{}{known}{}:", plural(targets, "target"), in_all(tally, targets));
    let head = if !report.failures.is_empty() || report.cancelled {
        style.red(&head)
    } else {
        style.green(&head)
    };
    let saved = if tally.saved_us > 0 {
        format!(", {} saved", duration(tally.saved_us))
    } else {
        String::new()
    };
    let money = match tally.spent.calls {
        0 => String::new(),
        _ => format!("\n  {} {}", style.dim("asked   "), spent(&tally.spent)),
    };
    let next = next_steps(tally, style);
    let took = duration(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    let interrupted = if report.cancelled {
        format!("{} ", style.red("interrupted;"))
    } else {
        String::new()
    };
    format!(
        "{interrupted}{head} {} {}{money}{next}",
        parts.join(", "),
        style.dim(&format!("({took}{saved})"))
    )
}

/// Counts the targets of a build by what happened to them: `3 ran`, `9 up to date`.
fn count_parts(report: &Report, dry_run: bool) -> Vec<String> {
    let tally = &report.tally;
    let mut parts = Vec::new();
    let mut part = |number: usize, what: &str| {
        if number > 0 {
            parts.push(format!("{} {what}", format_count(number as u64)));
        }
    };
    if dry_run {
        part(tally.would_run, "will run");
        part(tally.may_run, if tally.would_run > 0 { "more may run" } else { "may run" });
    } else {
        part(tally.ran, &format!("ran{}", sandbox_counts(&tally.confined)));
    }
    part(tally.rebuilt, "rebuilt");
    part(tally.adopted, "taken over from the remote cache");
    part(tally.cached, "cached");
    part(tally.deferred, "handed over in a batch, answers come later");
    part(tally.awaited, "wait for an agent");
    part(tally.limited, "blocked: see above");
    part(tally.failed, "failed");
    part(tally.skipped, "skipped");
    part(report.not_laid_out, "not laid out");
    part(report.written, if report.written == 1 { "file written" } else { "files written" });
    if report.cancelled {
        if parts.is_empty() {
            parts.push("0 built".to_owned());
        }
        parts.push(format!("{} left", format_count(report.left as u64)));
    } else if !report.plans.is_empty() {
        let number = |certain: bool| {
            report
                .plans
                .iter()
                .filter(|priced| priced.certain == certain && asks(priced))
                .count() as u64
        };
        parts.push(format!("{} to ask a model for", format_count(number(true))));
        if number(false) > 0 {
            parts.push(format!("{} more depend on what it says", format_count(number(false))));
        }
    } else if parts.is_empty() {
        parts.push("all up to date".to_owned());
    }
    parts
}

/// ` asked for, 177 in all`: added if some targets were not built and the following counts include more targets than were requested.
fn in_all(tally: &Tally, targets: u64) -> String {
    let unmade = tally.deferred + tally.awaited + tally.limited + tally.failed + tally.skipped;
    let all = (tally.ran + tally.cached + unmade) as u64;
    match unmade > 0 && all > targets {
        true => format!(" requested, {} in all", format_count(all)),
        false => String::new(),
    }
}

/// ` (2 in a strict sandbox, 1 without a sandbox)`: sandbox levels of the programs that ran.
fn sandbox_counts(levels: &BTreeMap<String, usize>) -> String {
    let of = |(level, number): (&String, &usize)| match level.as_str() {
        "none" => format!("{} without a sandbox", format_count(*number as u64)),
        level => format!("{} in a {level} sandbox", format_count(*number as u64)),
    };
    match levels.is_empty() {
        true => String::new(),
        false => format!(" ({})", levels.iter().rev().map(of).collect::<Vec<_>>().join(", ")),
    }
}

/// Formats the number of warnings that this build did not repeat; `None` if there are none.
pub fn format_earlier_warnings(report: &Report, style: Style) -> Option<String> {
    let number = report.earlier_warnings;
    let (text, them) = match number {
        0 => return None,
        1 => ("1 earlier warning remains".to_owned(), "it"),
        _ => (format!("{} earlier warnings remain", format_count(number)), "them"),
    };
    Some(format!("{}; `cortex status` lists {them}", style.yellow(&text)))
}

/// Limit of labels listed; the true count is always shown.
const SHOWN: usize = 5;

/// Formats the outlook of a dry run: the targets that certainly run, and the gate that most of the rest waits for.
/// `names_all` names the flag that lists all targets.
pub fn outlook(outlook: &RunForecast, names_all: &str, style: Style) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| text.push_str(&format!("\n  {} {value}", style.dim(&format!("{name:<8}"))));
    for (at, label) in outlook.will_run.iter().take(SHOWN).enumerate() {
        line(if at == 0 { "will run" } else { "" }, &style.cyan(&printable(label)));
    }
    if outlook.will_run.len() > SHOWN {
        line(
            "",
            &style.dim(&format!(
                "… {} in all, {names_all} names them",
                format_count(outlook.will_run.len() as u64)
            )),
        );
    }
    if let Some(gate) = outlook
        .gates
        .last()
        .filter(|gate| gate.labels.iter().any(|label| !outlook.will_run.contains(label)))
    {
        let all = if gate.behind == outlook.may_run {
            "all others".to_owned()
        } else {
            format!("{} of the others", format_count(gate.behind as u64))
        };
        line("may run", &format!("{all}, only if {}", self::gate(gate, style)));
    }
    text
}

/// `the output of //files/A.cs:names changes (3 of 4 earlier runs gave the same output)`.
pub fn gate(gate: &Gate, style: Style) -> String {
    let first = style.cyan(&printable(gate.labels.first().map_or("", |label| label)));
    let who = match gate.labels.len() {
        0 | 1 => format!("the output of {first} changes"),
        number => format!("the output of {first}, or of another of {}, changes", format_count(number as u64)),
    };
    let before = match gate.remade {
        0 => String::new(),
        1 if gate.same == 1 => style.dim(" (its last run gave the same output)"),
        remade => style.dim(&format!(" ({} of {remade} earlier runs gave the same output)", gate.same)),
    };
    format!("{who}{before}")
}

/// Returns whether a model is called for it: not if another answer covers it, if its answer is still valid, or if it is never sent.
fn asks(priced: &Priced) -> bool {
    priced.plan.cost.calls > 0
}

/// Returns the expected cost of the questions that are certain, or that may follow. Which of them share one call is unknown.
pub fn expected_cost(plans: &[Priced], certain: bool) -> Spent {
    let plans = plans.iter().filter(|priced| priced.certain == certain).map(|priced| &priced.plan);
    if certain {
        return joint::cost(plans);
    }
    let mut all = Spent::default();
    plans.for_each(|plan| all.add(&plan.cost));
    all
}

/// Formats the model calls that would follow and their price, after a build of all unpaid targets.
pub fn prices(plans: &[Priced], answered: usize, currency: Option<&str>, style: Style) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        text.push_str(&format!("\n  {} {value}", style.dim(&format!("{name:<8}"))));
    };
    if answered > 0 {
        let one = if answered == 1 {
            "answer is stored and costs"
        } else {
            "answers are stored and cost"
        };
        line("cached", &format!("{} {one} nothing", format_count(answered as u64)));
    }
    let pending = plans.iter().filter(|priced| priced.plan.mode == "pending").count() as u64;
    if pending > 0 {
        line(
            "pending",
            &format!("{} handed over in a batch: nothing more is paid", format_count(pending)),
        );
    }
    if plans.iter().all(|priced| priced.plan.cost.calls == 0) {
        line("asks", "nothing: no model would be called");
        return text.trim_start_matches('\n').to_owned();
    }
    for (certain, name) in [(true, "asks"), (false, "may ask")] {
        let mut modes: BTreeMap<&str, usize> = BTreeMap::new();
        let asks_model =
            |priced: &&Priced| priced.certain == certain && (asks(priced) || matches!(priced.plan.mode.as_str(), "unchanged" | "carried"));
        for priced in plans.iter().filter(asks_model) {
            *modes.entry(priced.plan.mode.as_str()).or_default() += 1;
        }
        let all = expected_cost(plans, certain);
        if modes.is_empty() {
            continue;
        }
        let of = |mode: &str, one: &str, many: &str| {
            let number = modes.get(mode).copied()?;
            Some(format!("{} {}", format_count(number as u64), if number == 1 { one } else { many }))
        };
        let kinds = [
            of("full", "new answer", "new answers"),
            of("patch", "patch", "patches"),
            of("unchanged", "answer that still holds", "answers that still hold"),
            of("carried", "answer carried over", "answers carried over"),
        ];
        let kinds: Vec<String> = kinds.into_iter().flatten().collect();
        let currency = all.micros.and(currency).map_or(String::new(), |currency| format!(" {currency}"));
        line(name, &format!("{}: {}{currency}", kinds.join(", "), spent(&all)));
    }
    line(
        "",
        &style.dim("to estimate this, all free targets were built; tokens of answers are a guess"),
    );
    text.trim_start_matches('\n').to_owned()
}

/// Joins lines of [`prices`] to sentences.
pub fn as_sentences(lines: &str) -> String {
    let sentence = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let text = words.join(" ");
        let first = text.chars().next()?;
        Some(format!("{}{}.", first.to_uppercase(), &text[first.len_utf8()..]))
    };
    lines.lines().filter_map(sentence).collect::<Vec<_>>().join(" ")
}

/// Formats the report as one JSON document.
pub fn summary_json(report: &Report, targets: u64, took: Duration) -> serde_json::Value {
    let roots: Vec<serde_json::Value> = report
        .roots
        .iter()
        .map(|root| serde_json::json!({"label": &*root.label, "output": root.output.map(|digest| digest.to_string()), "how": root.how}))
        .collect();
    let plan = |priced: &Priced| {
        let plan = &priced.plan;
        serde_json::json!({"label": &*priced.label, "certain": priced.certain, "mode": plan.mode, "why": plan.why, "cost": plan.cost})
    };
    let plans: Vec<serde_json::Value> = report.plans.iter().map(plan).collect();
    let list = |diagnostics: &[engine::values::diagnostic::Diagnostic]| -> Vec<serde_json::Value> {
        diagnostics.iter().map(diagnostic::diagnostic_json).collect()
    };
    serde_json::json!({
        "targets": targets,
        "tally": report.tally,
        "written": report.written,
        "not_laid_out": report.not_laid_out,
        "standing_warnings": report.earlier_warnings,
        "cancelled": report.cancelled,
        "left": report.left,
        "took_us": u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        "roots": roots,
        "failures": list(&report.failures),
        "refused": list(&report.refused),
        "diagnostics": list(&report.diagnostics),
        "unknown": list(&report.unknown),
        "outlook": report.outlook,
        "plans": plans,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::seams::paid::Plan;

    #[test]
    fn it_is_told_what_names_the_targets_that_are_left_out() {
        let looked = RunForecast {
            will_run: (0..6).map(|at| format!("//a:{at}").into()).collect(),
            ..RunForecast::default()
        };
        let text = outlook(&looked, "--json", Style::plain());
        assert!(text.ends_with("… 6 in all, --json names them"), "{text}");
    }

    #[test]
    fn prices_are_told_in_sentences() {
        let plan = |certain, mode: &str| Priced {
            label: "//a:b".into(),
            certain,
            plan: Plan {
                mode: mode.to_owned(),
                why: String::new(),
                prompt: String::new(),
                cost: Spent {
                    calls: 1,
                    ..Spent::default()
                },
                joint: None,
            },
        };
        let sentences = as_sentences(&prices(&[plan(true, "full"), plan(false, "patch")], 0, None, Style::plain()));
        assert_eq!(
            sentences,
            "Asks 1 new answer: 1 call, 0 tokens in, 0 out. May ask 1 patch: 1 call, 0 tokens in, 0 out. \
             To estimate this, all free targets were built; tokens of answers are a guess."
        );
    }

    #[test]
    fn it_is_told_what_numbers_count_that_exceed_what_was_asked_for() {
        let line = |targets: u64, tally: Tally| {
            let report = Report {
                tally,
                ..Report::default()
            };
            format_summary(&report, targets, false, Duration::ZERO, Style::plain())
        };
        let blocked = Tally {
            ran: 6,
            limited: 18,
            skipped: 153,
            ..Tally::default()
        };
        let summary = line(16, blocked.clone());
        assert!(
            summary.starts_with("16 targets requested, 177 in all: 6 ran, 18 blocked: see above, 153 skipped ("),
            "{summary}"
        );
        assert!(line(200, blocked).starts_with("200 targets: 6 ran, "));
        let made = Tally {
            ran: 20,
            ..Tally::default()
        };
        assert!(line(16, made).starts_with("16 targets: 20 ran ("));
    }
}
