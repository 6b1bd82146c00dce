//! The graph near a target as a drawing, the reasons for the target's state, and a list of the drawn nodes.

use super::html::Html;
use super::layout::{HEIGHT, WIDTH, layout};
use super::{state_name, write_label, write_section, write_state};
use crate::render::result_facts::describe_move;
use crate::render::{duration, format_count, format_size, moment, plural};
use engine::build::explain::Explanation;
use engine::build::explanation_chain::Step;
use engine::build::input_changes::InputChange;
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthChar;
use workbench::report::{CauseStep, Drawn, DrawnState, FocusGraph, Report};

/// Limit of changes and steps listed.
const SHOWN: usize = 12;
/// Limit of steps listed for a node other than the report's target.
const STEPS: usize = 6;
/// Number of columns of text that fit in a node.
const COLUMNS: usize = 22;

pub fn write_graph(html: &mut Html, report: &Report) {
    let Some(near) = &report.near else {
        let why = match report.lineages.first() {
            Some(_) => "This target is no longer in the graph. Its versions are below.",
            None => "There is no graph yet near which anything could be drawn.",
        };
        return write_section(html, "near", "Graph", "", |html| html.write_line("p", &[("class", "empty")], why));
    };
    let note = "Its inputs are to its left, its readers to its right. `cortex report OUT.html --near LABEL` draws another.";
    write_section(html, "near", "Graph", note, |html| {
        html.element("p", &[("class", "focus")], |html| {
            write_label(html, &report.targets[near.nodes[0].target].label);
            html.write_text(" ");
            write_state(html, report.targets[near.nodes[0].target].state);
        });
        let area = [
            ("class", "scroll graph"),
            ("tabindex", "0"),
            ("role", "group"),
            ("aria-label", "Drawing of the graph; the list below has the same nodes"),
        ];
        html.element("div", &area, |html| drawing(html, near, report));
        legend(html, near, report);
        html.element("div", &[("class", "columns")], |html| {
            html.element("div", &[("class", "why")], |html| {
                html.write_line("h3", &[], "Why this state");
                write_reasons(html, &near.explanation);
            });
            html.element(
                "div",
                &[("class", "picked"), ("id", "picked"), ("aria-live", "polite"), ("hidden", "")],
                |_| {},
            );
        });
        listing(html, near, report);
    });
}

fn legend(html: &mut Html, near: &FocusGraph, report: &Report) {
    let states: BTreeSet<DrawnState> = near.nodes.iter().map(|node| report.targets[node.target].state).collect();
    html.element("ul", &[("class", "legend")], |html| {
        for one in states {
            html.element("li", &[], |html| write_state(html, one));
        }
        if near.way.len() > 1 {
            html.element("li", &[], |html| {
                html.write_line("span", &[("class", "key k-way")], "the path to the change")
            });
        }
    });
}

/// Returns the part of a text's end that fits in a node.
fn ending(text: &str) -> String {
    let text = super::html::visible(text);
    let mut columns = 0;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        columns += c.width().unwrap_or(0);
        if columns > COLUMNS {
            return format!("…{}", &text[start..]);
        }
        start = at;
    }
    text
}

fn drawing(html: &mut Html, near: &FocusGraph, report: &Report) {
    let drawn = layout(near.nodes.len(), &near.edges);
    let way: BTreeSet<(usize, usize)> = near.way.windows(2).map(|pair| (pair[1], pair[0])).collect();
    let (width, height) = (drawn.width.to_string(), drawn.height.to_string());
    let name = format!("{} nodes and what reads what among them", near.nodes.len());
    let attributes = [
        ("id", "drawing"),
        ("width", width.as_str()),
        ("height", height.as_str()),
        ("viewBox", &format!("0 0 {width} {height}")),
        ("role", "group"),
        ("aria-label", &name),
    ];
    html.element("svg", &attributes, |html| {
        // Edges of the reason chain are drawn above the others.
        let mut order: Vec<usize> = (0..near.edges.len()).collect();
        order.sort_by_key(|at| way.contains(&near.edges[*at]));
        for at in order {
            let (from, to) = near.edges[at];
            let class = if way.contains(&(from, to)) { "edge way" } else { "edge" };
            let (from, to) = (from.to_string(), to.to_string());
            html.void(
                "path",
                &[
                    ("class", class),
                    ("d", &svg_path(&drawn.edges[at])),
                    ("data-from", &from),
                    ("data-to", &to),
                ],
            );
        }
        for (at, (node, &(x, y))) in near.nodes.iter().zip(&drawn.nodes).enumerate() {
            html.newline();
            shape(html, at, node, (x, y), near, report);
        }
    });
}

/// Returns an edge as SVG path data: straight through layers, curved between them.
pub fn svg_path(points: &[(i32, i32)]) -> String {
    let mut path = String::new();
    for (at, &(x, y)) in points.iter().enumerate() {
        match at {
            0 => path.push_str(&format!("M{x} {y}")),
            _ if at % 2 == 1 => {
                let before = points[at - 1];
                let half = (before.0 + x) / 2;
                path.push_str(&format!("C{half} {} {half} {y} {x} {y}", before.1));
            }
            _ => path.push_str(&format!("H{x}")),
        }
    }
    path
}

fn shape(html: &mut Html, at: usize, node: &Drawn, (x, y): (i32, i32), near: &FocusGraph, report: &Report) {
    let target = &report.targets[node.target];
    let (word, class) = state_name(target.state);
    let on_way = if near.way.contains(&at) && near.way.len() > 1 {
        " on-way"
    } else {
        ""
    };
    let class = format!("node n-{class}{}{on_way}", if at == 0 { " middle" } else { "" });
    let number = at.to_string();
    let name = format!("{}, {word}", target.label);
    html.link(
        &format!("node-{at}"),
        &[("class", &class), ("data-node", &number), ("aria-label", &name)],
        |html| {
            html.write_line("title", &[], &name);
            let text = |value: i32| value.to_string();
            let (left, top) = (text(x), text(y));
            html.void(
                "rect",
                &[
                    ("class", "box"),
                    ("x", &left),
                    ("y", &top),
                    ("width", &text(WIDTH)),
                    ("height", &text(HEIGHT)),
                    ("rx", "6"),
                ],
            );
            html.void(
                "rect",
                &[
                    ("class", "stripe"),
                    ("x", &left),
                    ("y", &text(y + 8)),
                    ("width", "3"),
                    ("height", &text(HEIGHT - 16)),
                    ("rx", "1.5"),
                ],
            );
            let (package, name) = target.label.rsplit_once(':').unwrap_or(("", &target.label));
            html.write_line(
                "text",
                &[("class", "what"), ("x", &text(x + 12)), ("y", &text(y + 16))],
                &ending(name),
            );
            html.write_line(
                "text",
                &[("class", "of"), ("x", &text(x + 12)), ("y", &text(y + 31))],
                &ending(package),
            );
            if node.more_inputs > 0 {
                let place = [("class", "more"), ("x", &text(x - 5)), ("y", &text(y + 36)), ("text-anchor", "end")];
                html.write_line("text", &place, &format!("+{}", format_count(node.more_inputs as u64)));
            }
            if node.more_readers > 0 {
                let place = [("class", "more"), ("x", &text(x + WIDTH + 5)), ("y", &text(y + 36))];
                html.write_line("text", &place, &format!("+{}", format_count(node.more_readers as u64)));
            }
        },
    );
}

/// Writes the reason chain, as in `cortex explain`.
fn write_reasons(html: &mut Html, explanation: &Explanation) {
    html.element("dl", &[("class", "facts")], |html| {
        if let Some(failure) = &explanation.failure {
            fact(html, "Failed", |html| {
                html.write_text(&format!("{}: {}", failure.code, failure.message))
            });
        }
        write_input_changes(html, "Moved", &explanation.changes);
        if !explanation.chain.is_empty() {
            fact(html, "Because", |html| steps(html, &explanation.chain));
        }
        if let Some(record) = &explanation.record {
            fact(html, "Made", |html| {
                html.write_text(&format!(
                    "{} by {} in {}, {}",
                    moment(record.made_at),
                    record.producer,
                    duration(record.took_us),
                    format_size(record.len)
                ));
            });
        }
        write_input_changes(html, "Last ran", &explanation.last_changes);
        if !explanation.last_redefined.is_empty() {
            fact(html, "Last ran", |html| {
                for redefined in explanation.last_redefined.iter().take(SHOWN) {
                    html.write_line("p", &[], &format!("with the same inputs: {redefined}"));
                }
            });
        }
        if !explanation.last_chain.is_empty() {
            fact(html, "Because", |html| {
                html.element("ol", &[("class", "chain")], |html| {
                    for one in explanation.last_chain.iter().take(SHOWN) {
                        html.element("li", &[], |html| write_move(html, one));
                    }
                });
            });
        }
        if let Some(before) = &explanation.producer_before {
            fact(html, "And", |html| html.write_text(&format!("{before} became another version")));
        }
        if explanation.leaf {
            fact(html, "It is", |html| {
                html.write_text("a source: a fact of the workspace that no producer makes")
            });
        } else if explanation.versions <= 1 {
            fact(html, "Last ran", |html| html.write_text("for the first time in this checkout"));
        } else {
            fact(html, "Versions", |html| html.write_text(&format_count(explanation.versions as u64)));
        }
    });
}

fn fact(html: &mut Html, name: &str, inner: impl FnOnce(&mut Html)) {
    html.element("div", &[], |html| {
        html.write_line("dt", &[], name);
        html.element("dd", &[], inner);
    });
}

fn write_input_changes(html: &mut Html, name: &str, moves: &[InputChange]) {
    if moves.is_empty() {
        return;
    }
    fact(html, name, |html| {
        html.element("ul", &[("class", "plain")], |html| {
            for one in moves.iter().take(SHOWN) {
                html.element("li", &[], |html| write_move(html, one));
            }
        });
        if moves.len() > SHOWN {
            html.write_line("p", &[("class", "note")], &format!("{} in all", format_count(moves.len() as u64)));
        }
    });
}

fn write_move(html: &mut Html, one: &InputChange) {
    write_label(html, &one.label);
    html.write_line("span", &[("class", "note")], &format!(" {}, {}", one.role, describe_move(&one.how)));
}

fn steps(html: &mut Html, chain: &[Step]) {
    html.element("ol", &[("class", "chain")], |html| {
        for step in chain.iter().take(SHOWN) {
            html.element("li", &[], |html| {
                write_label(html, &step.label);
                for redefined in step.redefined.iter().take(SHOWN) {
                    html.write_line("p", &[("class", "note")], &redefined.to_string());
                }
                match (&step.input, &step.reason) {
                    (Some(input), _) => html.write_line(
                        "span",
                        &[("class", "note")],
                        &format!(" {}, {}", input.role, describe_move(&input.how)),
                    ),
                    (None, Some(reason)) if step.redefined.is_empty() => html.write_line("p", &[("class", "reason")], &reason.to_string()),
                    _ => {}
                }
            });
        }
        if chain.len() > SHOWN {
            html.write_line(
                "li",
                &[("class", "note")],
                &format!("{} steps in all", format_count(chain.len() as u64)),
            );
        }
    });
}

/// Writes the list of drawn nodes, with details that do not fit in the drawing.
fn listing(html: &mut Html, near: &FocusGraph, report: &Report) {
    html.element("details", &[("class", "listing")], |html| {
        html.write_line("summary", &[], &format!("The {} nodes drawn", near.nodes.len()));
        html.element("ul", &[("class", "plain"), ("id", "nodes")], |html| {
            for (at, node) in near.nodes.iter().enumerate() {
                html.newline();
                html.element("li", &[("id", &format!("node-{at}"))], |html| node_entry(html, node, report));
            }
        });
    });
}

fn node_entry(html: &mut Html, node: &Drawn, report: &Report) {
    let target = &report.targets[node.target];
    html.element("p", &[], |html| {
        write_label(html, &target.label);
        html.write_text(" ");
        write_state(html, target.state);
    });
    let mut facts = vec![
        format!("reads {}", format_count(target.inputs as u64)),
        format!("read by {}", format_count(target.readers as u64)),
    ];
    if target.versions > 0 {
        facts.push(plural(target.versions as u64, "version"));
    }
    facts.extend(target.producer.as_ref().map(|producer| format!("made by {producer}")));
    facts.extend(target.took_us.map(|took| format!("in {}", duration(took))));
    facts.extend(target.len.map(format_size));
    html.write_line("p", &[("class", "note")], &facts.join(", "));
    if !node.because.is_empty() {
        write_causes(html, &node.because);
    }
}

fn write_causes(html: &mut Html, way: &[CauseStep]) {
    html.element("ol", &[("class", "chain")], |html| {
        let end = way.len() - 1;
        for (at, step) in way.iter().enumerate() {
            // The end of a long chain says most.
            if at >= STEPS - 1 && at != end {
                if at + 1 == end {
                    html.write_line("li", &[("class", "note")], &format!("{} steps more", end + 1 - STEPS));
                }
                continue;
            }
            html.element("li", &[], |html| {
                if at > 0 {
                    write_label(html, &step.label);
                }
                let words = match &step.reason {
                    Some(reason) => reason.to_string(),
                    None if at == 0 => "something that it reads may have changed:".to_owned(),
                    None => String::new(),
                };
                if !words.is_empty() {
                    html.write_line("p", &[("class", "reason")], &words);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_labels_of_nodes_are_cut_at_their_beginning() {
        assert_eq!(ending("//types/A"), "//types/A");
        let long = ending("//types/MemoTree.Core.Caching.LruCache`2+Entry");
        assert!(
            long.starts_with('…') && long.ends_with("LruCache`2+Entry") && long.chars().count() == COLUMNS + 1,
            "{long}"
        );
        assert_eq!(ending("\u{202e}evil"), "\\u{202e}evil");
        assert_eq!(ending(&"漢".repeat(40)).chars().count(), 12);
    }

    #[test]
    fn edges_pass_layers_straight() {
        assert_eq!(
            svg_path(&[(0, 1), (10, 5), (20, 5), (30, 9)]),
            "M0 1C5 1 5 5 10 5H20C25 5 25 9 30 9"
        );
    }
}
