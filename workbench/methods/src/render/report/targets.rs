//! The largest targets by several measures, and the table of all targets: its first rows as HTML, all as data for the script's search.

use super::html::{Html, visible};
use super::{prose, state_name, write_label, write_section, write_state};
use crate::render::money::amount;
use crate::render::{duration, format_count, format_size};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use workbench::report::{DrawnState, Report, ReportTarget};

/// Length of each list of the largest.
const TOP: usize = 12;
/// Number of table rows that are visible without a script.
const ROWS: usize = 150;
/// Limit of rows for the script: they keep the page at some hundred KiB.
const DATA: usize = 10_000;

/// Columns of the table: name, class, meaning.
const COLUMNS: [(&str, &str, &str); 8] = [
    ("State", "words", "its state"),
    ("Target", "words", "its label"),
    ("Made by", "words by", "the producer of its last output, and that one's version"),
    ("Versions", "number", "the outputs that it has had"),
    ("Took", "number", "time of its last run"),
    ("Size", "number size", "length of its last output"),
    ("Reads", "number reads", "its inputs"),
    ("Read by", "number reads", "its readers"),
];

/// Writes the slowest, the largest, the most often changed and the most expensive targets.
pub fn tops(html: &mut Html, report: &Report) {
    write_section(html, "tops", "Largest", "By their last result.", |html| {
        html.element("div", &[("class", "tops")], |html| {
            write_ranking(html, report, "Slowest", &|target| target.took_us, &duration);
            write_ranking(html, report, "Biggest", &|target| target.len, &format_size);
            write_ranking(html, report, "Moved most often", &|target| Some(target.moved as u64), &|times| {
                format!("{} ×", format_count(times))
            });
            let dearest: BTreeMap<&str, u64> = report
                .spending
                .targets
                .iter()
                .filter_map(|(label, sum)| Some((label.as_str(), sum.spent.micros?)))
                .collect();
            let currency = report.currency.as_deref().unwrap_or_default();
            write_ranking(html, report, "Dearest", &|target| dearest.get(&*target.label).copied(), &|micros| {
                format!("{} {currency}", amount(micros))
            });
        });
    });
}

fn write_ranking(
    html: &mut Html,
    report: &Report,
    title: &str,
    of: &dyn Fn(&ReportTarget) -> Option<u64>,
    format_value: &dyn Fn(u64) -> String,
) {
    let mut all: Vec<(u64, &ReportTarget)> = report
        .targets
        .iter()
        .filter_map(|target| Some((of(target).filter(|value| *value > 0)?, target)))
        .collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.label.cmp(&b.1.label)));
    let Some(&(most, _)) = all.first() else { return };
    html.element("div", &[], |html| {
        html.write_line("h3", &[], title);
        html.element("ol", &[("class", "bars")], |html| {
            for (value, target) in all.iter().take(TOP) {
                html.element("li", &[], |html| {
                    write_label(html, &target.label);
                    html.write_line("span", &[("class", "value")], &format_value(*value));
                    let width = (u128::from(*value) * 1_000 / u128::from(most)).max(4).to_string();
                    html.element(
                        "svg",
                        &[("viewBox", "0 0 1000 4"), ("preserveAspectRatio", "none"), ("aria-hidden", "true")],
                        |html| {
                            html.void("rect", &[("class", "track"), ("width", "1000"), ("height", "4")]);
                            html.void("rect", &[("class", "bar"), ("width", &width), ("height", "4")]);
                        },
                    );
                });
            }
        });
        html.element("p", &[("class", "scale-of"), ("aria-hidden", "true")], |html| {
            html.write_line("span", &[], "0");
            html.write_line("span", &[], &format_value(most));
        });
    });
}

fn most_urgent_first(report: &Report) -> Vec<&ReportTarget> {
    let mut targets: Vec<&ReportTarget> = report.targets.iter().collect();
    targets.sort_by(|a, b| {
        let key = |target: &ReportTarget| (target.state, std::cmp::Reverse((target.versions, target.took_us)));
        key(a).cmp(&key(b)).then_with(|| a.label.cmp(&b.label))
    });
    targets
}

/// Writes the table: its first rows, and placeholders that the script fills.
pub fn write_targets(html: &mut Html, report: &Report) {
    write_section(html, "targets", "Targets", "", |html| {
        html.element("div", &[("class", "find"), ("id", "find"), ("hidden", "")], |html| {
            html.element("label", &[("for", "search")], |html| html.write_text("Search"));
            html.void(
                "input",
                &[
                    ("id", "search"),
                    ("type", "search"),
                    ("autocomplete", "off"),
                    ("spellcheck", "false"),
                    ("placeholder", "words in a label, in any order"),
                ],
            );
            html.element(
                "div",
                &[("class", "chips"), ("role", "group"), ("aria-label", "States shown")],
                |html| {
                    for (one, number) in report.states() {
                        let (word, class) = state_name(one);
                        html.element(
                            "button",
                            &[
                                ("type", "button"),
                                ("class", "chip"),
                                ("aria-pressed", "true"),
                                ("data-state", class),
                            ],
                            |html| {
                                html.write_line("span", &[("class", &format!("state s-{class}"))], word);
                                html.write_text(" ");
                                html.write_text(&format_count(number as u64));
                            },
                        );
                    }
                },
            );
        });
        let ordered = most_urgent_first(report);
        let shown = format!(
            "{} of {} nodes, the most urgent first.",
            format_count(ordered.len().min(ROWS) as u64),
            format_count(ordered.len() as u64)
        );
        html.write_line("p", &[("class", "note"), ("id", "shown"), ("role", "status")], &shown);
        if let Some(left_out) = ordered.get(DATA..).filter(|left_out| !left_out.is_empty()) {
            let words = format!(
                "The page has the {} most urgent nodes. {} others are omitted; `cortex query` and `cortex explain` show them.",
                format_count(DATA as u64),
                format_count(left_out.len() as u64)
            );
            html.element("p", &[("class", "note"), ("id", "left-out")], |html| prose(html, &words));
        }
        let says = COLUMNS.map(|(name, _, hint)| format!("{name}: {hint}"));
        html.write_line("p", &[("class", "note")], &format!("{}.", says[2..].join(". ")));
        html.element("div", &[("class", "scroll")], |html| {
            html.element("table", &[("class", "targets")], |html| {
                html.element("thead", &[], |html| {
                    html.element("tr", &[], |html| {
                        for (name, class, hint) in COLUMNS {
                            html.write_line("th", &[("scope", "col"), ("class", class), ("title", hint)], name);
                        }
                    });
                });
                html.element("tbody", &[("id", "rows")], |html| {
                    for target in ordered.iter().take(ROWS) {
                        html.newline();
                        html.element("tr", &[], |html| target_row(html, target));
                    }
                });
            });
        });
        html.write_line("button", &[("type", "button"), ("id", "more"), ("hidden", "")], "Show more");
    });
}

fn target_row(html: &mut Html, target: &ReportTarget) {
    html.element("td", &[], |html| write_state(html, target.state));
    html.element("td", &[("class", "of")], |html| write_label(html, &target.label));
    html.write_line("td", &[("class", "by")], target.producer.as_deref().unwrap_or("·"));
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "·".to_owned());
    html.write_line(
        "td",
        &[("class", "number")],
        &or_none(Some(target.versions as u64).filter(|versions| *versions > 0).map(format_count)),
    );
    html.write_line("td", &[("class", "number")], &or_none(target.took_us.map(duration)));
    html.write_line("td", &[("class", "number size")], &or_none(target.len.map(format_size)));
    html.write_line("td", &[("class", "number reads")], &format_count(target.inputs as u64));
    html.write_line("td", &[("class", "number reads")], &format_count(target.readers as u64));
}

/// Returns the most urgent targets as data, sorted by label. A label is the number of UTF-16 units shared with the one before, and the rest.
pub fn data(report: &Report) -> Value {
    let mut targets = most_urgent_first(report);
    targets.truncate(DATA);
    targets.sort_by(|a, b| a.label.cmp(&b.label));
    let mut producers: BTreeMap<&str, usize> = BTreeMap::new();
    for producer in targets.iter().filter_map(|target| target.producer.as_deref()) {
        let next = producers.len();
        producers.entry(producer).or_insert(next);
    }
    let mut names: Vec<(&&str, &usize)> = producers.iter().collect();
    names.sort_by_key(|(_, number)| **number);
    let mut before = String::new();
    let mut rows = Vec::with_capacity(targets.len());
    for target in targets {
        let label = visible(&target.label);
        let same = before.chars().zip(label.chars()).take_while(|(a, b)| a == b);
        let (bytes, units) = same.fold((0, 0), |(bytes, units), (c, _)| (bytes + c.len_utf8(), units + c.len_utf16()));
        let state = DrawnState::ALL.iter().position(|state| *state == target.state);
        let producer = target.producer.as_deref().map(|producer| producers[producer]);
        rows.push(json!([
            units,
            &label[bytes..],
            state,
            producer,
            target.versions,
            target.took_us,
            target.len,
            target.inputs,
            target.readers
        ]));
        before = label;
    }
    let states: Vec<[&str; 2]> = DrawnState::ALL
        .into_iter()
        .map(|state| [state_name(state).0, state_name(state).1])
        .collect();
    let names: Vec<String> = names.into_iter().map(|(name, _)| visible(name)).collect();
    json!({"states": states, "producers": names, "rows": rows})
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use workbench::spending::Spending;

    fn report(targets: usize) -> Report {
        let target = |at: usize| ReportTarget {
            label: Arc::from(format!("//n/{at:06}:x")),
            state: if at == targets - 1 {
                DrawnState::Pending
            } else {
                DrawnState::Current
            },
            producer: None,
            len: None,
            took_us: None,
            made_at: None,
            spent: None,
            versions: 1,
            moved: 0,
            inputs: 0,
            readers: 0,
            each: true,
        };
        Report {
            name: "n".to_owned(),
            files: 0,
            changed: Vec::new(),
            redefined: false,
            targets: (0..targets).map(target).collect(),
            failures: Vec::new(),
            builds: Vec::new(),
            spending: Spending::default(),
            currency: None,
            near: None,
            lineages: Vec::new(),
        }
    }

    fn section(report: &Report) -> String {
        let mut html = Html::default();
        write_targets(&mut html, report);
        html.into_html()
    }

    #[test]
    fn of_many_targets_those_that_press_most_are_there_and_the_others_counted() {
        let many = report(DATA + 7);
        let rows = data(&many)["rows"].as_array().cloned().unwrap_or_default();
        assert_eq!(rows.len(), DATA);
        let last = format!("{:06}:x", DATA + 6);
        let is_last = |row: &Value| row[1].as_str().is_some_and(|label| last.ends_with(label));
        assert!(rows.last().is_some_and(|row| is_last(row) && row[2] == 0), "what failed is there");
        assert!(section(&many).contains("10,000 most urgent nodes. 7 others are omitted; <code>cortex query</code>"));
        assert!(!section(&report(DATA)).contains("omitted"));
    }
}
