//! Versions of targets: the changes of each version's output and inputs from the version before, side by side.

use super::html::Html;
use super::{diff, write_label, write_section};
use crate::render::builds::revision;
use crate::render::money::{format_notes, spent};
use crate::render::result_facts::sandbox_note;
use crate::render::{duration, format_count, moment, plural};
use workbench::report::Report;
use workbench::report::lineage::{Lineage, VersionDifference};
use workbench::versions::Version;

/// Limit of lines in a diff of outputs.
const OUTPUT_LINES: usize = 160;
/// Limit of lines in the diff of a source file.
const FILE_LINES: usize = 80;
/// Limit of lines in the diff of an input.
const INPUT_LINES: usize = 40;

pub fn write_lineage(html: &mut Html, report: &Report) {
    let note =
        "Versions of an output beside the versions of its inputs. The target of the graph first, then the targets that changed most often.";
    write_section(html, "versions", "Versions", note, |html| {
        if report.lineages.is_empty() {
            return html.write_line("p", &[("class", "empty")], "There are no versions yet.");
        }
        for (at, lineage) in report.lineages.iter().enumerate() {
            html.newline();
            let attributes: &[(&'static str, &str)] = if at == 0 {
                &[("class", "lineage"), ("open", "")]
            } else {
                &[("class", "lineage")]
            };
            html.element("details", attributes, |html| {
                html.element("summary", &[], |html| {
                    write_label(html, &lineage.label);
                    let all = lineage.versions.len() + lineage.older;
                    html.write_line("span", &[("class", "note")], &format!(" {}", plural(all as u64, "version")));
                });
                write_target(html, lineage);
            });
        }
    });
}

fn write_target(html: &mut Html, lineage: &Lineage) {
    html.element("ol", &[("class", "versions")], |html| {
        for (at, version) in lineage.versions.iter().enumerate() {
            html.newline();
            html.element("li", &[], |html| {
                heading(html, version);
                match lineage.changes.get(at) {
                    Some(change) => write_sides(html, change, at == 0),
                    None if version.number == 1 => html.write_line("p", &[("class", "note")], "The first."),
                    None => html.write_line("p", &[("class", "note")], "Earlier versions are no longer in the store."),
                }
            });
        }
    });
    if lineage.older > 0 {
        html.write_line(
            "p",
            &[("class", "note")],
            &format!("{} older ones are in `cortex history`.", format_count(lineage.older as u64)),
        );
    }
}

fn heading(html: &mut Html, version: &Version) {
    html.element("h3", &[], |html| {
        html.write_line("span", &[("class", "version")], &format!("Version {}", version.number));
        if version.present {
            html.write_line("span", &[("class", "state s-current")], "present");
        }
    });
    let mut facts = vec![moment(version.at)];
    facts.extend(version.build.map(|build| format!("build {build}")));
    facts.extend(version.revision.as_ref().map(|known| format!("commit {}", revision(known))));
    facts.extend(version.former.as_ref().map(|former| format!("as {former}")));
    facts.extend(version.pin.as_ref().map(|_| "pinned".to_owned()));
    if version.collected {
        facts.push("its output was collected".to_owned());
    }
    if let Some(record) = &version.record {
        facts.push(record.producer.clone());
        facts.extend(format_notes(&record.notes));
        facts.extend(sandbox_note(record.notes.get("sandbox").map(String::as_str)));
        facts.extend(record.spent.as_ref().map(spent));
        facts.push(duration(record.took_us));
    }
    html.write_line("p", &[("class", "note")], &facts.join(", "));
}

fn write_sides(html: &mut Html, change: &VersionDifference, open: bool) {
    let attributes: &[(&'static str, &str)] = if open { &[("open", "")] } else { &[] };
    html.element("details", attributes, |html| {
        html.write_line("summary", &[], &format!("Changes since version {}", change.numbers.0));
        html.element("div", &[("class", "sides")], |html| {
            html.element("div", &[], |html| {
                html.write_line("h4", &[], "Output");
                diff::difference(html, &change.outputs.0, &change.outputs.1, OUTPUT_LINES);
            });
            html.element("div", &[], |html| {
                html.write_line("h4", &[], "Inputs");
                made_of(html, change);
            });
        });
    });
}

fn made_of(html: &mut Html, change: &VersionDifference) {
    let Some(inputs) = &change.inputs else {
        return html.write_line("p", &[("class", "note")], "What one of them had as inputs is no longer recorded.");
    };
    if inputs.is_empty() {
        return html.write_line("p", &[("class", "note")], "Both have the same inputs.");
    }
    for file in &change.files {
        html.element("p", &[("class", "input")], |html| {
            html.write_line("code", &[], &file.path);
            let what = match (file.before, file.after) {
                (false, _) => " read for the first time",
                (_, false) => " no longer read",
                _ => "",
            };
            html.write_line("span", &[("class", "note")], what);
        });
        match &file.bytes {
            Some((before, after)) => diff::write_diff(html, before, after, FILE_LINES),
            None if file.before && file.after => {
                html.write_line("p", &[("class", "note")], "It changed; its former text is no longer available.")
            }
            None => {}
        }
    }
    if change.more_files > 0 {
        html.write_line(
            "p",
            &[("class", "note")],
            &format!("{} source files more.", format_count(change.more_files as u64)),
        );
    }
    html.element("details", if change.files.is_empty() { &[("open", "")] } else { &[] }, |html| {
        let all = inputs.len() + change.more_inputs;
        html.write_line(
            "summary",
            &[],
            &if all == 1 {
                "The changed input".to_owned()
            } else {
                format!("The {} changed inputs", format_count(all as u64))
            },
        );
        for (input, before, after) in inputs {
            html.element("p", &[("class", "input")], |html| {
                write_label(html, &input.label);
                let what = match (&input.from, &input.to) {
                    (Some(from), Some(to)) => format!(" {}, {} → {}", input.role, from.short(), to.short()),
                    (None, _) => format!(" {}, new", input.role),
                    (_, None) => format!(" {}, gone", input.role),
                };
                html.write_line("span", &[("class", "note")], &what);
            });
            if before.is_some() && after.is_some() {
                diff::difference(html, before, after, INPUT_LINES);
            }
        }
        if change.more_inputs > 0 {
            html.write_line(
                "p",
                &[("class", "note")],
                &format!("{} more.", format_count(change.more_inputs as u64)),
            );
        }
    });
}
