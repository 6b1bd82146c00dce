//! The report as one self-contained page of HTML: it needs no network and no script to read, and its policy allows only what is compiled in.
//! It shows the time of the last build, not its own: equal store and sources give an equal page.

mod builds;
mod diff;
pub mod graph;
mod html;
pub mod layout;
mod lineage;
mod overview;
mod targets;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use html::Html;
use ring::digest::{SHA256, digest};
use workbench::report::{DrawnState, Report};

/// Style of the report and the live page: colours, marks of states, tables and drawings.
pub const STYLE: &str = include_str!("style.css");
/// Script that both pages share.
pub const COMMON: &str = include_str!("common.js");
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("common.js"),
    include_str!("script.js"),
    "})();\n"
);

pub fn report_page(report: &Report) -> String {
    let mut html = Html::default();
    html.doctype();
    html.element("html", &[("lang", "en")], |html| {
        html.element("head", &[], |html| write_head(html, report));
        html.element("body", &[], |html| write_report(html, report));
    });
    html.newline();
    html.into_html()
}

/// Returns the page's policy: its own style and script, by digest. It fetches and sends nothing, and no frame may show it.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        source_of(STYLE),
        source_of(SCRIPT)
    )
}

/// Returns the policy source of a style or script: its digest.
pub fn source_of(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(digest(&SHA256, text.as_bytes())))
}

fn write_head(html: &mut Html, report: &Report) {
    html.void("meta", &[("charset", "utf-8")]);
    html.void("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy())]);
    html.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
    html.void("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    html.void("meta", &[("name", "referrer"), ("content", "no-referrer")]);
    html.write_line("title", &[], &format!("{} – cortex report", report.name));
    html.style(STYLE);
}

fn write_report(html: &mut Html, report: &Report) {
    html.link("main", &[("class", "skip")], |html| html.write_text("To the report"));
    overview::header(html, report);
    html.element("main", &[("id", "main")], |html| {
        overview::overview(html, report);
        builds::write_builds(html, report);
        graph::write_graph(html, report);
        lineage::write_lineage(html, report);
        targets::tops(html, report);
        targets::write_targets(html, report);
    });
    html.element("footer", &[], |html| {
        html.write_text("Made by cortex. Times are UTC. The page holds everything it shows and asks nothing of any network.");
    });
    html.data("targets-data", &targets::data(report));
    html.script(SCRIPT);
}

fn write_section(html: &mut Html, id: &'static str, title: &str, note: &str, inner: impl FnOnce(&mut Html)) {
    html.newline();
    let heading = format!("{id}-heading");
    html.element("section", &[("id", id), ("aria-labelledby", &heading)], |html| {
        html.element("div", &[("class", "title")], |html| {
            html.write_line("h2", &[("id", &heading)], title);
            if !note.is_empty() {
                html.element("p", &[("class", "note")], |html| prose(html, note));
            }
        });
        inner(html);
    });
}

/// Writes text that is compiled in, with commands in backticks.
fn prose(html: &mut Html, words: &str) {
    for (at, part) in words.split('`').enumerate() {
        if at % 2 == 1 {
            html.write_line("code", &[], part);
        } else {
            html.write_text(part);
        }
    }
}

/// Writes a label: marks where it may break, and its target, which is the most important part.
fn write_label(html: &mut Html, label: &str) {
    html.element("code", &[("class", "label")], |html| match label.rsplit_once(':') {
        Some((package, target)) => {
            html.write_text(package);
            html.void("wbr", &[]);
            html.write_line("b", &[], &format!(":{target}"));
        }
        None => html.write_text(label),
    });
}

/// Returns the state of a node as a word, and as a class for the style.
fn state_name(state: DrawnState) -> (&'static str, &'static str) {
    match state {
        DrawnState::Pending => ("pending", "failed"),
        DrawnState::Stale => ("stale", "stale"),
        DrawnState::MaybeStale => ("maybe stale", "open"),
        DrawnState::None => ("not made", "none"),
        DrawnState::Moved => ("changed source", "moved"),
        DrawnState::Current => ("current", "current"),
        DrawnState::Source => ("source", "source"),
    }
}

/// Writes the state of a node as a mark with its word.
fn write_state(html: &mut Html, state: DrawnState) {
    let (word, class) = state_name(state);
    html.write_line("span", &[("class", &format!("state s-{class}"))], word);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_style_and_script_by_their_digests() {
        let known = STANDARD.encode(digest(&SHA256, b"abc"));
        assert_eq!(known, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        let policy = policy();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(
            !policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'),
            "{policy}"
        );
    }

    #[test]
    fn style_and_script_fetch_and_write_nothing() {
        for word in [
            "url(", "@import", "http", "style=", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "fetch(",
            "XMLHttp", "import(",
        ] {
            assert!(!STYLE.contains(word) && !SCRIPT.contains(word), "{word}");
        }
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
    }
}
