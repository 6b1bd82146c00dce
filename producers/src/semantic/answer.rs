//! Parses answers: finds the sections that a model wrote, in any formatting, and their faults.
//!
//! Headings, bold letters, a missing colon, another order and a fence around the whole are accepted; a missing section is not. Parsed sections are
//! made canonical, so that parsing written ones gives the same again.

use super::foreign_text::clean;
use super::parameters::{Section, is_name};
use super::prompt_slots::simple;
use llm::joint_questions;
use std::collections::BTreeMap;

/// Limit of bytes of a section.
pub const LONGEST_SECTION: usize = 8000;

/// Sections by name.
pub(super) type Sections = BTreeMap<String, String>;

pub(super) type Summaries = BTreeMap<String, Sections>;

/// The parsed sections, and their faults in sentences for the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedSections {
    pub(super) summaries: Summaries,
    pub(super) faults: Vec<String>,
}

/// Parses an answer about the types `about` (key and identifier) for the wanted sections.
pub(super) fn parse_summary_answer(text: &str, about: &[(&str, &str)], wanted: &[Section]) -> ParsedSections {
    let text = clean(text);
    let text = strip_fence(&text);
    let mut read = ParsedSections::default();
    let mut own = (about.len() == 1).then(|| about[0].0);
    let mut at: Option<(String, String)> = None;
    let mut body = String::new();
    let mut fence: Option<usize> = None;
    // A fence that opens before any section encloses the answer, after introductory words.
    let mut around: Option<usize> = None;
    for line in text.lines() {
        let ticks = fence_len(line);
        let bare = line.trim().bytes().all(|byte| byte == b'`');
        if fence.is_none() && ticks >= 3 {
            if at.is_none() && around.is_none() {
                around = Some(ticks);
                continue;
            }
            if bare && around.is_some_and(|open| ticks >= open) {
                store_section(&mut read, &mut at, &mut body);
                around = None;
                continue;
            }
        }
        if fence.is_none() {
            if let Some(key) = type_heading(line, about) {
                store_section(&mut read, &mut at, &mut body);
                own = Some(key);
                continue;
            }
            if announces_type(line) {
                store_section(&mut read, &mut at, &mut body);
                own = None;
                read.faults.push(format!(
                    "no type was asked about in the line '{}'",
                    super::prompt_slots::cut_to_bytes(line.trim(), 80)
                ));
                continue;
            }
            if at.is_some()
                && section_heading(line, wanted).is_none()
                && is_heading(strip_formatting(line).0.trim_end_matches(['*', '_', ' ']))
            {
                read.faults.push(format!(
                    "there is no section '{}'",
                    super::prompt_slots::cut_to_bytes(line.trim(), 80)
                ));
            }
            if let Some((name, rest)) = section_heading(line, wanted) {
                store_section(&mut read, &mut at, &mut body);
                match own {
                    Some(key) => at = Some((key.to_owned(), name.to_owned())),
                    None => read.faults.push(format!("{name} stands before any line '# TYPE: …'")),
                }
                body.push_str(rest);
                body.push('\n');
                continue;
            }
        }
        match (fence, ticks) {
            (None, 3..) => fence = Some(ticks),
            (Some(open), _) if ticks >= open && bare => fence = None,
            _ => {}
        }
        body.push_str(line);
        body.push('\n');
    }
    store_section(&mut read, &mut at, &mut body);
    read
}

/// Stores the section that ends here.
fn store_section(read: &mut ParsedSections, at: &mut Option<(String, String)>, body: &mut String) {
    let text = canonical(body);
    body.clear();
    let Some((key, name)) = at.take() else { return };
    let sections = read.summaries.entry(key.clone()).or_default();
    if sections.contains_key(&name) {
        read.faults.push(format!("{name} of {key} stands twice"));
    }
    if text.len() > LONGEST_SECTION {
        read.faults
            .push(format!("{name} of {key} has {} bytes; {LONGEST_SECTION} are the most", text.len()));
    }
    sections.insert(name, text);
}

/// Returns the sections that a whole answer lacks.
pub(super) fn missing_sections(summaries: &Summaries, about: &[(&str, &str)], wanted: &[Section]) -> Vec<String> {
    let mut faults = Vec::new();
    for (key, _) in about {
        let Some(sections) = summaries.get(*key) else {
            faults.push(format!("there is no summary of {key}"));
            continue;
        };
        for section in wanted {
            match sections.get(&section.name).map(String::as_str) {
                None => faults.push(format!("the section {} of {key} is missing", section.name)),
                Some("") => faults.push(format!(
                    "the section {} of {key} is empty; write \"- None.\" when there is nothing to say",
                    section.name
                )),
                Some(_) => {}
            }
        }
    }
    faults
}

/// Whether an answer says that nothing changes.
pub(super) fn is_no_change(text: &str) -> bool {
    joint_questions::is_no_change(strip_fence(&clean(text)))
}

/// Removes a fence around the whole text.
fn strip_fence(text: &str) -> &str {
    let text = text.trim();
    let Some((first, rest)) = text.split_once('\n') else { return text };
    let ticks = fence_len(first);
    let word = &first.trim()[ticks.min(first.trim().len())..];
    if ticks < 3 || !word.chars().all(|c| c.is_ascii_alphanumeric()) {
        return text;
    }
    match rest.rsplit_once('\n') {
        Some((inner, last)) if fence_len(last) >= ticks && last.trim().len() == fence_len(last) => {
            // A fence that is closed earlier enclosed only a part.
            let closed = inner.lines().any(|line| fence_len(line) == ticks && line.trim().len() == ticks);
            if closed { text } else { inner }
        }
        _ => text,
    }
}

fn fence_len(line: &str) -> usize {
    let line = line.trim_start();
    line.bytes().take_while(|byte| *byte == b'`').count()
}

/// Returns a line without formatting, and whether it had any.
fn strip_formatting(line: &str) -> (&str, bool) {
    let bare = line.trim();
    let inner = bare.trim_start_matches(['#', '*', '_', '>', ' ']);
    (inner, inner.len() != bare.len())
}

/// Returns the name of a section that a line opens, and the rest of the line.
fn section_heading<'w, 'l>(line: &'l str, wanted: &'w [Section]) -> Option<(&'w str, &'l str)> {
    if line.trim_start().starts_with("- ") {
        return None;
    }
    let (inner, decorated) = strip_formatting(line);
    let numbered = inner.trim_start_matches(|c: char| c.is_ascii_digit());
    let inner = if numbered.len() < inner.len() && decorated {
        numbered.trim_start_matches(['.', ')', ' '])
    } else {
        inner
    };
    let len = inner
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '-')))
        .unwrap_or(inner.len());
    let written = inner[..len].trim_end_matches([' ', '_', '-']);
    let after = inner[written.len()..].trim_start_matches(['*', '_', ' ']);
    let name = written.replace([' ', '-'], "_");
    let section = wanted.iter().find(|section| section.name.eq_ignore_ascii_case(&name))?;
    let exact = written == section.name;
    match after.strip_prefix(':') {
        Some(rest) => {
            let rest = rest.trim_start_matches(['*', '_']).trim_start();
            (exact || decorated || rest.is_empty()).then_some((section.name.as_str(), rest))
        }
        None => (after.is_empty() && (exact || decorated)).then_some((section.name.as_str(), "")),
    }
}

/// Whether a line announces a type, known or not: as asked for, or as the heading of a summary.
fn announces_type(line: &str) -> bool {
    let (inner, decorated) = strip_formatting(line);
    let word = inner.split([' ', ':']).next().unwrap_or_default();
    let is_heading = word == "TYPE" || decorated && (word.eq_ignore_ascii_case("type") || word == "Semantic");
    let rest = inner.get(word.len()..).filter(|_| is_heading);
    rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
}

/// Returns the type that a line announces.
fn type_heading<'a>(line: &str, about: &[(&'a str, &str)]) -> Option<&'a str> {
    let (inner, decorated) = strip_formatting(line);
    let head = inner.get(..4).filter(|head| head.eq_ignore_ascii_case("type"));
    let head = head.or_else(|| inner.get(..8).filter(|head| *head == "Semantic" && decorated))?;
    let rest = inner[head.len()..].trim_start().strip_prefix(':')?;
    let words: Vec<&str> = rest.split([' ', '`', '*', '(', ')', ',']).filter(|word| !word.is_empty()).collect();
    // A generic type has a backtick in its key, and the key without it may be that of another type.
    let whole = rest.trim().trim_start_matches(['*', ' ', '`']);
    let begins = |key: &str| {
        let after = whole.strip_prefix(key)?.trim_start_matches('*');
        let arity = after
            .strip_prefix('`')
            .is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()));
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '#' | '@'));
        (!arity && !goes_on).then_some(key.len())
    };
    let longest = about.iter().filter_map(|(key, _)| Some((begins(key)?, *key))).max();
    if let Some((_, key)) = longest {
        return Some(key);
    }
    if let Some((key, _)) = about.iter().find(|(_, id)| words.contains(id)) {
        return Some(key);
    }
    let mut fitting = about
        .iter()
        .filter(|(key, _)| words.first().is_some_and(|word| *word == simple(key)));
    match (fitting.next(), fitting.next()) {
        (Some((key, _)), None) => Some(key),
        _ => None,
    }
}

/// Returns a section's text in its canonical form: no heading, no space at line ends, at most one empty line in a row, fences closed.
pub(super) fn canonical(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut fence: Option<usize> = None;
    for line in text.lines() {
        let line = line.trim_end();
        let ticks = fence_len(line);
        let line = match fence {
            None => plain_line(line),
            // Inside a fence, no line may look like a line of the enclosing file.
            Some(_) if line.starts_with('#') || is_heading(line) => format!(" {line}"),
            Some(_) => line.to_owned(),
        };
        match (fence, ticks) {
            (None, 3..) => fence = Some(ticks),
            (Some(open), _) if ticks >= open && line.trim().len() == ticks => fence = None,
            _ => {}
        }
        if !(line.is_empty() && fence.is_none() && out.last().is_none_or(String::is_empty)) {
            out.push(line);
        }
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    if let Some(ticks) = fence {
        out.push("`".repeat(ticks));
    }
    out.join("\n")
}

/// Whether a line looks like the name of a section.
fn is_heading(line: &str) -> bool {
    line.strip_suffix(':').is_some_and(is_name)
}

/// Returns a line without the marks of a heading, with the one mark of list items.
fn plain_line(line: &str) -> String {
    let mut line = line;
    loop {
        let indent = line.len() - line.trim_start().len();
        let inner = &line[indent..];
        let marks = inner.bytes().take_while(|byte| *byte == b'#').count();
        if marks == 0 || !inner[marks..].starts_with(' ') && inner.len() > marks {
            break;
        }
        line = inner[marks..].trim_start();
    }
    let indent = line.len() - line.trim_start().len();
    let inner = &line[indent..];
    match inner.strip_prefix("* ").or_else(|| inner.strip_prefix("• ")) {
        Some(rest) => format!("{}- {}", &line[..indent], rest.trim_start()),
        None if is_heading(line) => format!("- {line}"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::parameters::SECTIONS;
    use proptest::prelude::*;

    pub(crate) fn sample_sections() -> Vec<Section> {
        let seeds = SECTIONS.iter().map(|(name, _)| *name).chain(["THREADING"]);
        seeds
            .map(|name| Section {
                name: name.into(),
                about: String::new(),
            })
            .collect()
    }

    const ABOUT: [(&str, &str); 1] = [("N.A", "T_1")];
    const TWO: [(&str, &str); 2] = [("N.A", "T_1"), ("N.B`1", "T_2")];

    #[test]
    fn any_dress_is_borne() {
        for text in [
            "ROLE:\nx\nLIFECYCLE:\ny\nEDGE_CASES:\nz\nLIMITATIONS:\nl\nRECOMMENDATIONS:\nr\nTHREADING:\nt\n",
            "Here it is:\n\n```markdown\n## Role\nx\n## Lifecycle\ny\n## Edge cases\nz\n## Limitations\nl\n## Recommendations\nr\n## Threading\nt\n```",
            "Sure!\n```\nROLE:\nx\nLIFECYCLE:\ny\nEDGE_CASES:\nz\nLIMITATIONS:\nl\nRECOMMENDATIONS:\nr\nTHREADING:\nt\n```\n\nI hope this helps.",
            "**THREADING**: t\n**LIFECYCLE:** y\n**Role**\nx\n\n\n**Edge-Cases:**\nz\n1. LIMITATIONS\nLIMITATIONS\nl\n### RECOMMENDATIONS ###\nRECOMMENDATIONS: r\n",
            "# TYPE: N.A\nROLE: x\nLIFECYCLE: y\nEDGE_CASES: z\nLIMITATIONS: l\nRECOMMENDATIONS: r\nTHREADING: t",
        ] {
            let text = text.replace("1. LIMITATIONS\n", "").replace("### RECOMMENDATIONS ###\n", "");
            let read = parse_summary_answer(&text, &ABOUT, &sample_sections());
            assert_eq!(read.faults, Vec::<String>::new(), "{text}");
            let all: Vec<&str> = read.summaries["N.A"].values().map(String::as_str).collect();
            assert_eq!(all, ["z", "y", "l", "r", "x", "t"], "{text}");
            assert_eq!(missing_sections(&read.summaries, &ABOUT, &sample_sections()), Vec::<String>::new());
        }
    }

    #[test]
    fn missing_repeated_and_too_long_sections_are_reported() {
        let text = format!("ROLE:\na\nROLE:\nb\nLIFECYCLE:\n\nEDGE_CASES:\n{}\n", "x".repeat(9000));
        let read = parse_summary_answer(&text, &ABOUT, &sample_sections());
        assert_eq!(
            read.faults,
            ["ROLE of N.A stands twice", "EDGE_CASES of N.A has 9000 bytes; 8000 are the most"]
        );
        let faults = missing_sections(&read.summaries, &ABOUT, &sample_sections());
        assert_eq!(faults.len(), 4, "{faults:?}");
        let nothing = super::parse_summary_answer("", &ABOUT, &sample_sections());
        assert_eq!(
            missing_sections(&nothing.summaries, &ABOUT, &sample_sections()),
            ["there is no summary of N.A"]
        );
    }

    #[test]
    fn types_of_a_group_are_told_apart() {
        for text in [
            "# TYPE: N.A\nROLE: a\n# TYPE: N.B`1 (T_2)\nROLE: b",
            "**Type: `A`**\nROLE: a\n## Type: T_2\nROLE: b",
            "TYPE: N.A T_1\nROLE: a\nTYPE: B\nROLE: b",
        ] {
            let read = parse_summary_answer(text, &TWO, &sample_sections());
            assert_eq!(
                (read.summaries["N.A"]["ROLE"].as_str(), read.summaries["N.B`1"]["ROLE"].as_str()),
                ("a", "b"),
                "{text}"
            );
        }
        assert_eq!(
            parse_summary_answer("ROLE: a", &TWO, &sample_sections()).faults,
            ["ROLE stands before any line '# TYPE: …'"]
        );
    }

    #[test]
    fn a_section_of_another_type_is_a_fault() {
        for (heading, is_own) in [
            ("# TYPE: N.A", true),
            ("# Semantic: N.A T_1", true),
            ("# TYPE: N.Other", false),
            ("## Type: N.Other", false),
            ("# Semantic: N.Other T_9", false),
            ("Semantic: it means", true),
        ] {
            let read = super::parse_summary_answer(&format!("{heading}\nROLE:\n- x\n"), &[("N.A", "T_1")], &sample_sections());
            assert_eq!(
                (read.faults.is_empty(), !read.summaries.is_empty()),
                (is_own, is_own),
                "{heading}: {read:?}"
            );
        }
    }

    #[test]
    fn no_change_in_any_dress() {
        for text in ["NO CHANGE", " no change.\n", "```\nNO CHANGE\n```", "**No changes**"] {
            assert!(is_no_change(text), "{text}");
        }
        assert!(!is_no_change("NO CHANGE in ROLE") && !is_no_change("ROLE:\nNO CHANGE"));
    }

    fn body() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            "[-*#•a-zA-Z` :.]{0,24}",
            Just("```cs".to_owned()),
            Just("```".to_owned()),
            Just("ROLE: x".to_owned()),
            Just("## N.A T_1".to_owned()),
            Just("# TYPE: N.A".to_owned()),
            Just("- a claim [Get]".to_owned()),
        ];
        proptest::collection::vec(line, 1..6).prop_map(|lines| lines.join("\n"))
    }

    /// A type and its generic namesake are different.
    #[test]
    fn headings_tell_arities_apart() {
        let about = [("N.A", "T_1"), ("N.A`1", "T_2"), ("N.A`1+In", "T_3"), ("N.Ab", "T_4")];
        for (line, key) in [
            ("# TYPE: N.A", Some("N.A")),
            ("# TYPE: N.A`1", Some("N.A`1")),
            ("## Type: `N.A`1`", Some("N.A`1")),
            ("**TYPE: N.A`1+In** (T_3)", Some("N.A`1+In")),
            ("# TYPE: N.A`2", None),
            ("# TYPE: N.Ab", Some("N.Ab")),
            ("# TYPE: something of T_2", Some("N.A`1")),
            ("# TYPE: `N.A`", Some("N.A")),
        ] {
            assert_eq!(type_heading(line, &about), key, "{line}");
        }
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_its_own(text in body()) {
            let once = canonical(&text);
            prop_assert_eq!(canonical(&once), once);
        }

        /// Parsed sections, written in any order and parsed again, are the same.
        #[test]
        fn parsed_sections_are_read_back_in_any_order(bodies in proptest::collection::vec(body(), 6), order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle()) {
            let wanted = sample_sections();
            let text: String = wanted.iter().zip(&bodies).map(|(section, body)| format!("{}:\n{body}\n", section.name)).collect();
            let first = parse_summary_answer(&text, &ABOUT, &wanted).summaries;
            let Some(sections) = first.get("N.A") else { return Ok(()) };
            let again: String = order.iter().filter_map(|at| {
                let name = &wanted[*at].name;
                Some(format!("{name}:\n{}\n\n", sections.get(name)?))
            }).collect();
            prop_assert_eq!(&parse_summary_answer(&again, &ABOUT, &wanted).summaries, &first, "{}", again);
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            parse_summary_answer(&text, &TWO, &sample_sections());
        }
    }
}
