//! Completeness of the book: links of the pages lead to existing files and headings, and every page is listed.

use super::sources::root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Pages outside of `docs/` that have and receive links.
const BESIDE: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "store-layout.md"];

fn read(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// Returns the pages of the book.
fn book() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root().join("docs"))
        .expect("docs")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    pages
}

/// Returns the lines outside of code fences.
fn prose(text: &str) -> Vec<&str> {
    let mut fence: Option<usize> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let ticks = line.trim_start().chars().take_while(|c| *c == '`').count();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            None => lines.push(line),
            Some(open) if ticks >= open && line.trim().len() == ticks => fence = None,
            Some(_) => {}
        }
    }
    lines
}

/// Returns the targets of a page's links, except those in code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        let line = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        let mut rest = line.as_str();
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            let end = rest.find(')').unwrap_or(rest.len());
            found.push(rest[..end].to_owned());
        }
    }
    found
}

/// Returns the anchors of a page's headings, as Markdown renderers generate them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    headings
        .map(|heading| {
            let heading = heading.trim_start_matches('#').trim();
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().to_lowercase().replace(' ', "-")
        })
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    let mut count = 0;
    for page in book().into_iter().chain(BESIDE.map(|name| root().join(name))) {
        let text = read(&page);
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            count += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().expect("a folder").join(path),
            };
            let whole = target.exists() && (anchor.is_empty() || anchors(&read(&target)).contains(anchor));
            if !whole {
                broken.push(format!("{}: {link}", page.strip_prefix(root()).expect("below").display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(count > 100, "only {count} links were found");
}

#[test]
fn every_page_is_listed() {
    let listed: BTreeSet<String> = links(&read(&root().join("docs/SUMMARY.md"))).into_iter().collect();
    let pages: BTreeSet<String> = book()
        .iter()
        .map(|page| page.file_name().expect("a name").to_string_lossy().into_owned())
        .filter(|name| name != "SUMMARY.md")
        .collect();
    assert_eq!(listed, pages);
}

#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(
        lines <= 250,
        "README.md has {lines} lines: move what is not for a newcomer to docs/"
    );
}

/// `scripts/session_svg.py` draws the recording from the README's session.
#[test]
fn the_recording_shows_the_session_of_the_readme() {
    let readme = read(&root().join("README.md"));
    let recording = read(&root().join("docs/session.svg"));
    let session = readme.split_once("```console\n").and_then(|(_, rest)| rest.split_once("\n```"));
    let (session, _) = session.expect("a session");
    for line in session.lines() {
        let beginning: String = line.chars().take(99).collect();
        let escaped = beginning.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let escaped = escaped.replace('"', "&quot;").replace('\'', "&#x27;");
        assert!(
            recording.contains(&format!(">{escaped}")),
            "draw it anew by scripts/session_svg.py: {line}"
        );
    }
}
