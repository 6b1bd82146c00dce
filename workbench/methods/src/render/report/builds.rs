//! The builds: a chart of hits, runs and cost per build, and a table of the same.

use super::html::Html;
use super::{write_label, write_section};
use crate::render::money::amount;
use crate::render::{duration, format_count, moment};
use engine::store::builds::{BuildRecord, Outcome};
use workbench::report::Report;
use workbench::report::timeline;

/// Height of the chart's half above the line, and of the half below.
const HALF: u32 = 84;
/// Height of the cost chart.
const MONEY: u32 = 56;
/// Space left of the first build, for the scale.
const LEFT: u32 = 56;
/// Limit of nodes listed as the slowest of a build.
const SLOWEST: usize = 8;

pub fn write_builds(html: &mut Html, report: &Report) {
    let note = match report.builds.len() {
        0 => "",
        _ => {
            "Each build that ran a producer or used the cache. Above the line: outputs that producers computed. Below it: cached and unchanged outputs. The scale is in powers of ten."
        }
    };
    write_section(html, "builds", "Builds", note, |html| {
        if report.builds.is_empty() {
            return html.write_line(
                "p",
                &[("class", "empty")],
                "The log of builds is empty: no build of this checkout has run or reused anything yet.",
            );
        }
        html.element(
            "div",
            &[
                ("class", "scroll"),
                ("tabindex", "0"),
                ("role", "group"),
                ("aria-label", "Chart of builds"),
            ],
            |html| {
                chart(html, report);
            },
        );
        html.element("ul", &[("class", "legend")], |html| {
            let has_answers = report.builds.iter().any(timeline::used_models);
            let failed = report.builds.iter().any(|build| build.counts.failed > 0);
            let parts = [
                ("k-ran", "ran", true),
                ("k-hit", "cached or unchanged", true),
                ("k-failed", "failed", failed),
            ];
            for (class, word, shown) in parts
                .into_iter()
                .chain([("k-full", "new answers", has_answers), ("k-patch", "patches", has_answers)])
            {
                if shown {
                    html.element("li", &[], |html| {
                        html.write_line("span", &[("class", &format!("key {class}"))], word)
                    });
                }
            }
        });
        let has_answers = report.builds.iter().any(timeline::used_models);
        html.write_line(
            "p",
            &[("class", "note columns-are")],
            &format!("{COLUMNS}{}", if has_answers { PAID_COLUMNS } else { "" }),
        );
        build_table(html, report);
    });
}

/// Legend of the table's columns.
const COLUMNS: &str = "Ran: outputs that producers computed. Cached: results stored under their keys. Unchanged: outputs whose keys are as before. Saved: time that \
                       computing the cached results took.";
const PAID_COLUMNS: &str = " Answers: whole answers of models. Patches: changes to earlier answers.";

/// Returns a height on a logarithmic scale, so that builds of ten and of a hundred thousand are both visible.
fn height(number: u64, most: u64) -> u32 {
    if number == 0 {
        return 0;
    }
    let log = |number: u64| ((number + 1) as f64).log10();
    (log(number) / log(most.max(9)) * f64::from(HALF)).round().max(2.0) as u32
}

/// Measures of the chart of builds.
struct Chart<'a> {
    report: &'a Report,
    /// The largest number of results made or found by a build.
    most: u64,
    /// The largest number of answers in a build.
    most_answers: u64,
    /// Whether a build called a model.
    has_answers: bool,
    /// Width of a build with its gap, and of its bar.
    step: u32,
    bar: u32,
    width: u32,
    middle: u32,
    money: u32,
    bottom: u32,
}

fn coordinate(value: u32) -> String {
    value.to_string()
}

fn chart(html: &mut Html, report: &Report) {
    let builds = &report.builds;
    let most = builds.iter().map(|build| build.counts.ran.max(build.counts.hits()));
    let has_answers = builds.iter().any(timeline::used_models);
    let step = (1_080 / u32::try_from(builds.len()).unwrap_or(1).max(1)).clamp(16, 44);
    let money = 2 * HALF + 60;
    let chart = Chart {
        report,
        most: most.max().unwrap_or(0),
        most_answers: builds.iter().map(|build| build.answers.sum()).max().unwrap_or(0).max(1),
        has_answers,
        step,
        bar: step - (step / 4).max(3),
        width: LEFT + step * u32::try_from(builds.len()).unwrap_or(0) + 12,
        middle: HALF + 14,
        money,
        bottom: if has_answers { money + MONEY + 8 } else { 2 * HALF + 46 },
    };
    chart.write_chart(html);
}

impl Chart<'_> {
    fn write_chart(&self, html: &mut Html) {
        let (width, bottom) = (self.width, self.bottom);
        let attributes = [
            ("class", "chart"),
            ("width", &coordinate(width)),
            ("height", &coordinate(bottom)),
            ("viewBox", &format!("0 0 {width} {bottom}")),
            ("role", "img"),
            ("aria-label", "What each build ran and reused; the table below has the same numbers"),
        ];
        html.element("svg", &attributes, |html| {
            self.write_scale(html);
            self.write_axes(html);
            for (at, build) in self.report.builds.iter().enumerate() {
                self.write_build(html, at, build);
            }
        });
    }

    fn write_scale(&self, html: &mut Html) {
        let mut mark = 10;
        while mark <= self.most.max(9) {
            let up = height(mark, self.most);
            for y in [self.middle - up, self.middle + up] {
                html.void(
                    "line",
                    &[
                        ("class", "grid"),
                        ("x1", &coordinate(LEFT - 4)),
                        ("x2", &coordinate(self.width)),
                        ("y1", &coordinate(y)),
                        ("y2", &coordinate(y)),
                    ],
                );
                html.write_line(
                    "text",
                    &[
                        ("class", "scale"),
                        ("x", &coordinate(LEFT - 8)),
                        ("y", &coordinate(y + 4)),
                        ("text-anchor", "end"),
                    ],
                    &format_count(mark),
                );
            }
            mark = mark.saturating_mul(10);
        }
    }

    fn write_axes(&self, html: &mut Html) {
        html.void(
            "line",
            &[
                ("class", "axis"),
                ("x1", &coordinate(LEFT - 4)),
                ("x2", &coordinate(self.width)),
                ("y1", &coordinate(self.middle)),
                ("y2", &coordinate(self.middle)),
            ],
        );
        if self.has_answers {
            html.write_line(
                "text",
                &[
                    ("class", "scale"),
                    ("x", &coordinate(LEFT - 8)),
                    ("y", &coordinate(self.money + MONEY)),
                    ("text-anchor", "end"),
                ],
                "answers",
            );
        }
    }

    fn write_build(&self, html: &mut Html, at: usize, build: &BuildRecord) {
        let x = LEFT + self.step * u32::try_from(at).unwrap_or(0) + (self.step - self.bar) / 2;
        html.link(&format!("build-{}", build.number), &[("class", "build")], |html| {
            html.write_line("title", &[], &build_sentence(build, self.report));
            html.void(
                "rect",
                &[
                    ("class", "hover"),
                    ("x", &coordinate(x - (self.step - self.bar) / 2)),
                    ("y", "0"),
                    ("width", &coordinate(self.step)),
                    ("height", &coordinate(self.bottom)),
                ],
            );
            let mut rect = |class: &str, y: u32, height: u32| {
                if height > 0 {
                    html.void(
                        "rect",
                        &[
                            ("class", class),
                            ("x", &coordinate(x)),
                            ("y", &coordinate(y)),
                            ("width", &coordinate(self.bar)),
                            ("height", &coordinate(height)),
                            ("rx", "1.5"),
                        ],
                    );
                }
            };
            let made = height(build.counts.ran, self.most);
            rect("k-ran", self.middle - made, made);
            rect("k-hit", self.middle + 1, height(build.counts.hits(), self.most));
            if build.counts.failed > 0 {
                rect("k-failed", self.middle.saturating_sub(made + 7), 5);
            }
            if self.has_answers {
                let tall = |number: u64| {
                    u32::try_from(number * u64::from(MONEY) / self.most_answers)
                        .unwrap_or(0)
                        .max(u32::from(number > 0) * 2)
                };
                let (full, patched) = (
                    tall(build.answers.full + build.answers.rejected),
                    tall(build.answers.patches + build.answers.unchanged),
                );
                rect("k-full", self.money + MONEY - full, full);
                rect("k-patch", (self.money + MONEY).saturating_sub(full + patched), patched);
            }
            let every = (40 / self.step).max(1) as usize;
            if (self.report.builds.len() - 1 - at).is_multiple_of(every) {
                let place = [
                    ("class", "scale"),
                    ("x", &coordinate(x + self.bar / 2)),
                    ("y", &coordinate(2 * HALF + 38)),
                    ("text-anchor", "middle"),
                ];
                html.write_line("text", &place, &build.number.to_string());
            }
        });
    }
}

fn build_sentence(build: &BuildRecord, report: &Report) -> String {
    let mut text = format!(
        "Build {} · {} · {} · {} ran, {} cached, {} unchanged",
        build.number,
        moment(build.at),
        duration(build.took_us),
        format_count(build.counts.ran),
        format_count(build.counts.cached),
        format_count(build.counts.verified)
    );
    if build.counts.failed > 0 {
        text.push_str(&format!(", {} failed", format_count(build.counts.failed)));
    }
    if let Some(cost) = cost(build, report) {
        text.push_str(&format!(" · {cost}"));
    }
    text
}

fn cost(build: &BuildRecord, report: &Report) -> Option<String> {
    let spent = build.spent.as_ref().filter(|spent| spent.calls > 0)?;
    let currency = report.currency.as_deref().unwrap_or_default();
    Some(
        spent
            .micros
            .map_or_else(|| "no price".to_owned(), |micros| format!("{} {currency}", amount(micros))),
    )
}

fn build_table(html: &mut Html, report: &Report) {
    let has_answers = report.builds.iter().any(timeline::used_models);
    let mut columns = vec![
        ("Build", false),
        ("When", false),
        ("Command", false),
        ("Ran", true),
        ("Cached", true),
        ("Unchanged", true),
        ("Failed", true),
        ("Took", true),
        ("Saved", true),
    ];
    if has_answers {
        columns.extend([
            ("Answers", true),
            ("Patches", true),
            ("Tokens in", true),
            ("Tokens out", true),
            ("Cost", true),
        ]);
    }
    columns.push(("Commit", false));
    html.element(
        "div",
        &[
            ("class", "scroll tall"),
            ("tabindex", "0"),
            ("role", "group"),
            ("aria-label", "Table of builds"),
        ],
        |html| {
            html.element("table", &[("class", "log")], |html| {
                html.element("thead", &[], |html| {
                    html.element("tr", &[], |html| {
                        for (name, number) in &columns {
                            html.write_line("th", &[("scope", "col"), ("class", if *number { "number" } else { "words" })], name);
                        }
                    });
                });
                html.element("tbody", &[], |html| {
                    for build in report.builds.iter().rev() {
                        html.newline();
                        html.element("tr", &[("id", &format!("build-{}", build.number))], |html| {
                            build_row(html, build, report, has_answers)
                        });
                    }
                });
            });
        },
    );
    let first = report.builds.first().map_or(1, |build| build.number);
    if first > 1 {
        html.write_line(
            "p",
            &[("class", "note")],
            &format!("Builds before {} are in `cortex log`.", format_count(first)),
        );
    }
}

fn build_row(html: &mut Html, build: &BuildRecord, report: &Report, has_answers: bool) {
    html.write_line("th", &[("scope", "row")], &build.number.to_string());
    html.write_line("td", &[("class", "when")], moment(build.at).trim_end_matches(" UTC"));
    html.element("td", &[("class", "command")], |html| {
        match build.outcome {
            Outcome::Ok => {}
            Outcome::Failed => html.write_line("span", &[("class", "state s-failed")], "failed"),
            Outcome::Cancelled => html.write_line("span", &[("class", "state s-stale")], "stopped"),
        }
        if build.slowest.is_empty() && build.producers.is_empty() {
            return html.write_line("code", &[], &build.command);
        }
        html.element("details", &[], |html| {
            html.element("summary", &[], |html| html.write_line("code", &[], &build.command));
            write_slowest(html, build);
        });
    });
    let number = |number: u64| if number == 0 { "·".to_owned() } else { format_count(number) };
    let mut cells = vec![
        number(build.counts.ran),
        number(build.counts.cached),
        number(build.counts.verified),
        number(build.counts.failed),
        duration(build.took_us),
        if build.saved_us == 0 {
            "·".to_owned()
        } else {
            duration(build.saved_us)
        },
    ];
    if has_answers {
        let spent = build.spent.clone().unwrap_or_default();
        cells.extend([
            number(build.answers.full + build.answers.rejected),
            number(build.answers.patches + build.answers.unchanged),
            number(spent.input_tokens),
            number(spent.output_tokens),
            cost(build, report).unwrap_or_else(|| "·".to_owned()),
        ]);
    }
    for cell in &cells {
        html.write_line("td", &[("class", "number")], cell);
    }
    html.element("td", &[("class", "when")], |html| {
        if let Some(commit) = &build.commit {
            html.write_line("code", &[], &commit.chars().take(10).collect::<String>());
            if build.dirty == Some(true) {
                html.write_line("span", &[("class", "note")], " with changes");
            }
        }
    });
}

/// Writes the slowest nodes of a build, and its results by producer.
fn write_slowest(html: &mut Html, build: &BuildRecord) {
    html.element("div", &[("class", "within")], |html| {
        if !build.slowest.is_empty() {
            html.write_line("h4", &[], "Took longest");
            html.element("ul", &[("class", "plain")], |html| {
                for slow in build.slowest.iter().take(SLOWEST) {
                    html.element("li", &[], |html| {
                        html.write_line("span", &[("class", "took")], &duration(slow.took_us));
                        write_label(html, &slow.label);
                    });
                }
            });
        }
        if !build.producers.is_empty() {
            html.write_line("h4", &[], "By producer");
            html.element("ul", &[("class", "plain")], |html| {
                let mut producers: Vec<_> = build.producers.iter().collect();
                producers.sort_by(|a, b| b.took_us.cmp(&a.took_us).then_with(|| a.uses.cmp(&b.uses)));
                for producer in producers.into_iter().take(SLOWEST) {
                    html.element("li", &[], |html| {
                        html.write_line("span", &[("class", "took")], &duration(producer.took_us));
                        html.write_line("code", &[], &producer.uses);
                        let mut what = format!(" {} ran, {} cached", format_count(producer.ran), format_count(producer.cached));
                        if producer.failed > 0 {
                            what.push_str(&format!(", {} failed", format_count(producer.failed)));
                        }
                        html.write_line("span", &[("class", "note")], &what);
                    });
                }
            });
        }
    });
}
