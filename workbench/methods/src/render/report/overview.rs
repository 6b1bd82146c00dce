//! Header of the page, and overview of the workspace's state.

use super::html::Html;
use super::{prose, state_name, write_label};
use crate::render::money::amount;
use crate::render::{duration, format_count, moment, plural};
use workbench::report::{DrawnState, Report};

/// Limit of failures listed; the table has all.
const FAILURES: usize = 12;
/// Limit of changed files listed.
const CHANGED: usize = 8;

/// Writes the name of the workspace, a description of the page, and links to the sections.
pub fn header(html: &mut Html, report: &Report) {
    html.element("header", &[], |html| {
        html.element("div", &[("class", "name")], |html| {
            html.write_line("h1", &[], &report.name);
            let last = report.builds.last().map_or_else(
                || "never built here".to_owned(),
                |build| format!("as of build {}, {}", format_count(build.number), moment(build.at)),
            );
            html.write_line("p", &[], &format!("cortex report, {last}"));
        });
        html.element("nav", &[("aria-label", "Sections")], |html| {
            for (place, name) in [
                ("builds", "Builds"),
                ("near", "Graph"),
                ("versions", "Versions"),
                ("tops", "Largest"),
                ("targets", "Targets"),
            ] {
                html.link(place, &[], |html| html.write_text(name));
            }
        });
    });
}

/// Writes the state of the workspace in numbers, and what is wrong.
pub fn overview(html: &mut Html, report: &Report) {
    html.element("section", &[("id", "overview"), ("aria-label", "Overview")], |html| {
        let figures = figures(report);
        html.element("dl", &[("class", "figures")], |html| {
            for (name, value, note) in &figures {
                html.element("div", &[], |html| {
                    html.write_line("dt", &[], name);
                    html.write_line("dd", &[], value);
                    if !note.is_empty() {
                        html.write_line("dd", &[("class", "note")], note);
                    }
                });
            }
        });
        states(html, report);
        write_changes(html, report);
        failures(html, report);
    });
}

fn figures(report: &Report) -> Vec<(&'static str, String, String)> {
    let made = |state: &DrawnState| !matches!(state, DrawnState::Source | DrawnState::Moved);
    let targets: usize = report
        .states()
        .iter()
        .filter(|(state, _)| made(state))
        .map(|(_, number)| number)
        .sum();
    let mut figures = vec![(
        "Targets",
        format_count(targets as u64),
        format!("of {} source files", format_count(report.files as u64)),
    )];
    // The first build of a checkout runs everything, so it says nothing about hits.
    let later: Vec<_> = report.builds.iter().filter(|build| build.number > 1).collect();
    let sum = |of: fn(&engine::store::builds::Counts) -> u64| -> u64 { later.iter().map(|build| of(&build.counts)).sum() };
    let (ran, found) = (sum(|counts| counts.ran), sum(|counts| counts.hits()));
    if let Some(rate) = (found * 1_000).checked_div(ran + found).filter(|_| found > 0) {
        let rate = format!("{}.{} %", rate / 10, rate % 10);
        let note = match later.len() {
            1 => "checked and not rebuilt, in one build".to_owned(),
            number => format!("checked and not rebuilt, last {} builds", format_count(number as u64)),
        };
        figures.push(("Hits", rate, note));
    }
    let saved: u64 = report.builds.iter().map(|build| build.saved_us).sum();
    if saved >= 1_000_000 {
        figures.push(("Time saved", duration(saved), "by results found under their keys".to_owned()));
    }
    let spent = &report.spending.spent;
    if spent.times > 0 {
        let currency = report.currency.as_deref().unwrap_or_default();
        let cost = spent
            .spent
            .micros
            .map_or_else(|| "no price".to_owned(), |micros| format!("{} {currency}", amount(micros)));
        let tokens = format!(
            "{} calls, {} tokens in, {} out",
            format_count(u64::from(spent.spent.calls)),
            format_count(spent.spent.input_tokens),
            format_count(spent.spent.output_tokens)
        );
        figures.push(("Spent on models", cost, tokens));
    }
    figures
}

/// Writes a bar of the targets' states, with a legend.
fn states(html: &mut Html, report: &Report) {
    let states = report.states();
    let shown: Vec<(DrawnState, u64)> = DrawnState::ALL
        .into_iter()
        .filter(|state| !matches!(state, DrawnState::Source))
        .filter_map(|state| Some((state, *states.get(&state)? as u64)))
        .collect();
    let all: u64 = shown.iter().map(|(_, number)| number).sum();
    if all == 0 {
        return html.element("p", &[("class", "empty")], |html| {
            prose(
                html,
                "Nothing was built in this checkout yet: run `cortex build '//...'` and make the report again.",
            );
        });
    }
    html.element(
        "svg",
        &[
            ("class", "standing"),
            ("viewBox", "0 0 1000 10"),
            ("preserveAspectRatio", "none"),
            ("aria-hidden", "true"),
        ],
        |html| {
            let mut x = 0;
            for (state, number) in &shown {
                // A minimum width keeps small parts visible.
                let width = (number * 1_000 / all).max(4);
                let (_, class) = state_name(*state);
                html.void(
                    "rect",
                    &[
                        ("class", &format!("f-{class}")),
                        ("x", &x.to_string()),
                        ("y", "0"),
                        ("width", &width.to_string()),
                        ("height", "10"),
                    ],
                );
                x += width;
            }
        },
    );
    html.element("p", &[("class", "scale-of"), ("aria-hidden", "true")], |html| {
        html.write_line("span", &[], "0");
        html.write_line("span", &[], &format!("{} targets", format_count(all)));
    });
    html.element("ul", &[("class", "legend")], |html| {
        for (state, number) in &shown {
            html.element("li", &[], |html| {
                super::write_state(html, *state);
                html.write_text(" ");
                html.write_line("b", &[], &format_count(*number));
                let tenths = number * 1_000 / all;
                html.write_line("span", &[("class", "note")], &format!(" {}.{} %", tenths / 10, tenths % 10));
            });
        }
    });
}

fn write_changes(html: &mut Html, report: &Report) {
    if report.redefined {
        html.write_line(
            "p",
            &[("class", "note")],
            "The manifest, a ruleset or a producer's version changed since the last build.",
        );
    }
    if report.changed.is_empty() {
        return;
    }
    html.element("p", &[("class", "changed")], |html| {
        let number = report.changed.len();
        html.write_text(&format!("{} changed since the last build: ", plural(number as u64, "source file")));
        for (at, path) in report.changed.iter().take(CHANGED).enumerate() {
            html.write_text(if at == 0 { "" } else { ", " });
            html.write_line("code", &[], path);
        }
        html.write_text(if number > CHANGED { " …" } else { "" });
    });
}

fn failures(html: &mut Html, report: &Report) {
    if report.failures.is_empty() {
        return;
    }
    html.element("div", &[("class", "failures")], |html| {
        let number = report.failures.len();
        html.write_line(
            "h3",
            &[],
            &if number == 1 {
                "One target failed".to_owned()
            } else {
                format!("{} targets failed", format_count(number as u64))
            },
        );
        html.element("ul", &[], |html| {
            for failure in report.failures.iter().take(FAILURES) {
                html.element("li", &[], |html| {
                    if let Some(of) = &failure.label {
                        write_label(html, of);
                    }
                    html.write_line("p", &[], &format!("{}: {}", failure.code, failure.message));
                    if let Some(found) = &failure.found {
                        html.element("pre", &[], |html| html.write_lines(found));
                    }
                });
            }
        });
        if number > FAILURES {
            html.write_line(
                "p",
                &[("class", "note")],
                &format!("{} more in the table below.", format_count((number - FAILURES) as u64)),
            );
        }
    });
}
