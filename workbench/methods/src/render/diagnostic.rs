//! Diagnostics as text and as JSON (DECISIONS: errors, everywhere the same).

use super::{Style, printable};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Excerpt, Severity};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use unicode_width::UnicodeWidthStr;

/// Limit of candidates shown; the true count is always shown.
const SHOWN: usize = 5;
/// Limit of characters shown per line of a found value; JSON has all of it.
const FOUND: usize = 120;
/// Limit of lines shown of a found value, for example of a program's output.
const LINES: usize = 20;
/// Number of characters of a line shown on either side of a mistake.
const AROUND: usize = 100;

/// Formats diagnostics as text. Equal texts of several targets appear once.
pub fn texts(diagnostics: &[Diagnostic], style: Style) -> Vec<String> {
    let mut printed = HashSet::new();
    let texts = diagnostics.iter().map(|one| format_diagnostic(one, style));
    texts.filter(|text| printed.insert(text.clone())).collect()
}

/// Limit of notes and warnings about code shown per kind.
const OF_A_KIND: usize = 3;

/// Limit of lines that notes and warnings about code take in total, without the line that counts the others.
const MOST_LINES: usize = 8;

/// Whether a diagnostic is a note or a warning about code. A command shows only some of these.
fn is_counted(one: &Diagnostic) -> bool {
    one.severity != Severity::Error && one.code.starts_with("CS-")
}

/// The lines that notes and warnings about code take.
struct Room<'d> {
    /// Kinds without a shown diagnostic yet. Each of them has one line reserved.
    waiting: BTreeSet<&'d str>,
    /// Number shown of each kind.
    shown: BTreeMap<&'d str, usize>,
    /// Number of each kind that is not shown.
    more: BTreeMap<&'d str, usize>,
    /// Number of lines taken.
    lines: usize,
    /// Whether a shown one lacks its facts.
    is_cut: bool,
}

impl<'d> Room<'d> {
    fn new(diagnostics: &'d [Diagnostic]) -> Self {
        Self {
            waiting: diagnostics
                .iter()
                .filter(|one| is_counted(one))
                .map(|one| one.code.as_str())
                .collect(),
            shown: BTreeMap::new(),
            more: BTreeMap::new(),
            lines: 0,
            is_cut: false,
        }
    }

    /// Returns the text of a diagnostic if it is shown: without its facts, if they would take the room of another kind.
    fn admit(&mut self, one: &'d Diagnostic, text: String, style: Style) -> Option<String> {
        let is_first = self.waiting.remove(one.code.as_str());
        let room = MOST_LINES.saturating_sub(self.lines);
        let of_kind = self.shown.entry(&one.code).or_default();
        let fits = |text: &String, reserved: usize| text.lines().count() + reserved <= room;
        let shown = if *of_kind < OF_A_KIND && fits(&text, self.waiting.len()) {
            Some(text)
        } else if is_first {
            let head = Diagnostic {
                place: one.place.clone(),
                label: one.label.clone(),
                ..Diagnostic::new(one.severity, one.code.as_str(), one.message.as_str())
            };
            self.is_cut = true;
            Some(format_diagnostic(&head, style)).filter(|head| fits(head, 0))
        } else {
            None
        };
        match &shown {
            Some(text) => {
                *of_kind += 1;
                self.lines += text.lines().count();
            }
            None => *self.more.entry(&one.code).or_default() += 1,
        }
        shown
    }

    /// Returns the line about what is not shown.
    fn rest(&self) -> Option<String> {
        let counts: Vec<String> = self.more.iter().map(|(code, count)| format!("{count} {code}")).collect();
        match counts.is_empty() {
            false => Some(format!(
                "… more of these: {}; `cortex status --notes` prints all",
                counts.join(", ")
            )),
            true => self.is_cut.then(|| "… `cortex status --notes` prints all of these".to_owned()),
        }
    }
}

/// Formats diagnostics as text. Of notes and warnings about code, shows the first of each kind, and one line with the numbers of the rest.
pub fn brief_texts(diagnostics: &[Diagnostic], style: Style) -> Vec<String> {
    let mut printed = HashSet::new();
    let mut room = Room::new(diagnostics);
    let alike = how_many_alike(diagnostics);
    let mut of_likeness: HashMap<Likeness<'_>, usize> = HashMap::new();
    let mut texts = Vec::new();
    for one in diagnostics {
        let mut text = format_diagnostic(one, style);
        if !printed.insert(text.clone()) {
            continue;
        }
        let count = alike.get(&compared_fields(one)).copied().unwrap_or(1);
        if count > 1 {
            let met = of_likeness.entry(compared_fields(one)).and_modify(|met| *met += 1).or_insert(1);
            let is_last = *met == count.min(OF_A_KIND);
            if *met > OF_A_KIND {
                continue;
            }
            if !is_last {
                // The hint that all share is below the last.
                text = self::format_diagnostic(&Diagnostic { hint: None, ..one.clone() }, style);
            } else if count > OF_A_KIND {
                let rest = format!("… and {} more like it; --output json lists all", count - OF_A_KIND);
                text.push_str(&format!("\n  {}", style.dim(&rest)));
            }
        }
        match is_counted(one) {
            true => texts.extend(room.admit(one, text, style)),
            false => texts.push(text),
        }
    }
    texts.extend(room.rest().map(|rest| style.dim(&rest)));
    texts
}

/// Code, message and hint, which errors of several targets may share.
type Likeness<'d> = (&'d str, &'d str, Option<&'d str>);

fn compared_fields(one: &Diagnostic) -> Likeness<'_> {
    (&one.code, &one.message, one.hint.as_deref())
}

/// Counts the different targets and found values per likeness, among errors without a place.
fn how_many_alike(diagnostics: &[Diagnostic]) -> HashMap<Likeness<'_>, usize> {
    let errors = diagnostics
        .iter()
        .filter(|one| one.severity == Severity::Error && one.place.is_none());
    let apart: HashSet<(Likeness<'_>, [Option<&str>; 2])> = errors
        .map(|one| (compared_fields(one), [one.label.as_deref(), one.found.as_deref()]))
        .collect();
    let mut alike = HashMap::new();
    apart.into_iter().for_each(|(likeness, _)| *alike.entry(likeness).or_default() += 1);
    alike
}

/// Formats a diagnostic: `error[E_CODE] place: sentence`, the source line, then the facts and the next step.
pub fn format_diagnostic(diagnostic: &Diagnostic, style: Style) -> String {
    let kind = format!("{}[{}]", severity_word(diagnostic.severity), diagnostic.code);
    let kind = match diagnostic.severity {
        Severity::Error => style.red(&kind),
        Severity::Warning => style.yellow(&kind),
        Severity::Note => style.bold(&kind),
    };
    let place = diagnostic
        .place
        .as_ref()
        .map(ToString::to_string)
        .or_else(|| diagnostic.label.clone());
    let place = place
        // A place is one line, but a file name may contain a line break.
        .map(|place| format!(" {}", style.cyan(&printable(&place.replace('\n', "\\n")))))
        .unwrap_or_default();
    let mut text = style.fitted(&format!("{kind}{place}: {}", style.bold(&printable(&diagnostic.message))), 2);
    if let Some(excerpt) = &diagnostic.excerpt {
        let line = diagnostic.place.as_ref().map_or(0, |place| place.line);
        underline(&mut text, line, excerpt, style);
    }
    let fact = |name: &str, value: &str| {
        let value = value.replace('\n', "\n         ");
        format!("\n  {} {value}", style.dim(&format!("{name}:")))
    };
    if let Some(found) = &diagnostic.found {
        text.push_str(&fact("found", &escape_and_cut(found)));
    }
    if diagnostic.candidates.len() > 1 {
        // One per line, to copy.
        let shown = diagnostic.candidates.iter().take(SHOWN);
        let mut lines: Vec<String> = shown.map(|one| printable(&one.replace('\n', "\\n"))).collect();
        if diagnostic.candidates.len() > SHOWN {
            lines.push(format!("… {} in all", diagnostic.candidates.len()));
        }
        text.push_str(&format!("\n  {}\n    {}", style.dim("could be:"), lines.join("\n    ")));
    }
    if let Some(hint) = &diagnostic.hint {
        let hint = fact("help", &printable(hint));
        let lines = hint.split('\n').map(|line| style.fitted(line, 8));
        text.push_str(&lines.collect::<Vec<_>>().join("\n"));
    }
    text
}

/// Escapes a found value, then cuts it, so that no escape is longer than the rest of its line.
fn escape_and_cut(value: &str) -> String {
    let cut = |line: &str| {
        // Escapes only lengthen, so no more of the value than this is shown.
        let head: String = line.chars().take(FOUND + 1).collect();
        let line = printable(&head);
        match line.char_indices().nth(FOUND) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    };
    let mut lines: Vec<String> = value.lines().take(LINES).map(cut).collect();
    if value.lines().nth(LINES).is_some() {
        lines.push("…".to_owned());
    }
    lines.join("\n")
}

fn underline(text: &mut String, line: u32, excerpt: &Excerpt, style: Style) {
    // A text without lines, such as a pattern, has no line number.
    let number = if line > 0 { line.to_string() } else { String::new() };
    let gap = " ".repeat(number.len());
    let excerpt = &cut_excerpt(excerpt);
    let shown = printable(&excerpt.text).replace(['\t', '\n'], " ");
    let width = |from: u32, count: u32| shown.chars().skip(from as usize).take(count as usize).collect::<String>().width();
    let carets = "^".repeat(width(excerpt.start, excerpt.len).max(1));
    let bar = style.dim("|");
    text.push_str(&format!(
        "\n {gap} {bar}\n {} {bar} {shown}\n {gap} {bar} {}{}",
        style.dim(&number),
        " ".repeat(width(0, excerpt.start)),
        style.red(&carets)
    ));
}

/// Cuts an excerpt around the start of its mistake, because an argument may have any length.
fn cut_excerpt(excerpt: &Excerpt) -> Excerpt {
    let first = (excerpt.start as usize).saturating_sub(AROUND);
    let lead = if first > 0 { "…" } else { "" };
    let mut rest = excerpt.text.chars().skip(first);
    let middle: String = rest.by_ref().take(2 * AROUND).collect();
    let tail = if rest.next().is_some() { "…" } else { "" };
    let start = excerpt.start as usize - first + lead.chars().count();
    let len = (excerpt.len as usize).min((2 * AROUND + lead.chars().count()).saturating_sub(start).max(1));
    let small = |number: usize| u32::try_from(number).expect("invariant: a cut excerpt is short");
    Excerpt {
        text: format!("{lead}{middle}{tail}"),
        start: small(start),
        len: small(len),
    }
}

/// Formats a diagnostic as JSON: one object, with the fields of its code (seed 000 §16), the same for all readers.
pub fn diagnostic_json(diagnostic: &Diagnostic) -> Value {
    let mut value = serde_json::json!({
        "severity": severity_word(diagnostic.severity),
        "code": diagnostic.code,
        "message": diagnostic.message,
    });
    let mut set = |name: &str, field: Value| {
        if !field.is_null() {
            value[name] = field;
        }
    };
    set("label", diagnostic.label.clone().into());
    if let Some(place) = &diagnostic.place {
        set("file", place.file.clone().into());
        set("line", if place.line > 0 { place.line.into() } else { Value::Null });
        set("column", if place.column > 0 { place.column.into() } else { Value::Null });
    }
    set("found", diagnostic.found.clone().into());
    set("hint", diagnostic.hint.clone().into());
    if !diagnostic.candidates.is_empty() {
        set("candidates", diagnostic.candidates.clone().into());
    }
    let candidates = || Value::from(diagnostic.candidates.clone());
    match ErrorCode::parse(&diagnostic.code) {
        Some(ErrorCode::SymbolNotFound) | Some(ErrorCode::E_NO_TARGET) => set("suggestions", candidates()),
        Some(ErrorCode::AccessDenied) => set("publicAlternatives", candidates()),
        Some(ErrorCode::AmbiguousSymbol) | Some(ErrorCode::E_AMBIGUOUS) => set("candidates", candidates()),
        // In the host's form: `42 % done`.
        Some(ErrorCode::Busy) => set("progress", diagnostic.found.as_deref().and_then(percent).unwrap_or(0).into()),
        Some(ErrorCode::InternalError) => set("traceId", diagnostic.found.clone().into()),
        // Without a known character, the whole filter is wrong.
        Some(ErrorCode::InvalidFilter) => set("position", diagnostic.place.as_ref().map_or(1, |place| place.column.max(1)).into()),
        _ => {}
    }
    value
}

/// Parses the number before a percent sign.
fn percent(words: &str) -> Option<u64> {
    words.split_once(" %")?.0.parse().ok()
}

/// Parses the output of [`diagnostic_json`].
pub fn from_json(value: &Value) -> Diagnostic {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let number = |name: &str| value[name].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    let severity = match value["severity"].as_str() {
        Some("note") => Severity::Note,
        Some("warning") => Severity::Warning,
        _ => Severity::Error,
    };
    let mut diagnostic = Diagnostic::new(severity, text("code").unwrap_or_default(), text("message").unwrap_or_default());
    if let Some(file) = text("file") {
        diagnostic = diagnostic.at(file, number("line"), number("column"));
    }
    let candidates = value["candidates"].as_array().into_iter().flatten();
    Diagnostic {
        label: text("label"),
        found: text("found"),
        hint: text("hint"),
        candidates: candidates.filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        ..diagnostic
    }
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_diagnostics_of_two_targets_are_printed_once() {
        let said = |label: &str, line| Diagnostic::warning("W_X", "odd").label(label).at("a.cs", line, 1);
        let all = [said("//a:x", 1), said("//a:y", 1), said("//a:x", 2)];
        assert_eq!(texts(&all, Style::plain()).len(), 2);
    }

    #[test]
    fn notes_of_one_kind_are_counted_and_errors_are_all_shown() {
        let note = |line| Diagnostic::new(Severity::Note, "CS-X", "odd").at("a.cs", line, 1);
        let error = |line| Diagnostic::error("CS-Y", "bad").at("a.cs", line, 1);
        let mut all: Vec<Diagnostic> = (1..=5).map(note).collect();
        all.extend((1..=5).map(error));
        let texts = brief_texts(&all, Style::plain());
        assert_eq!((texts.len(), texts[0].as_str()), (9, "note[CS-X] a.cs:1:1: odd"));
        assert_eq!(texts[8], "… more of these: 2 CS-X; `cortex status --notes` prints all");
        all.truncate(3);
        assert_eq!(brief_texts(&all, Style::plain()).len(), 3);
        // Many kinds of several lines: one of each while there is room, and one line for the others.
        let kind = |number: u32, kinds: u32| {
            Diagnostic::warning(format!("CS-{}", number % kinds), "odd")
                .at("a.cs", number, 1)
                .found("x")
        };
        for (kinds, expected) in [(2, (5, 9)), (7, (8, 9)), (30, (9, 9))] {
            let all: Vec<Diagnostic> = (1..=210).map(|number| kind(number, kinds)).collect();
            let texts = brief_texts(&all, Style::plain());
            assert_eq!((texts.len(), texts.join("\n").lines().count()), expected, "{kinds} kinds");
        }
        // What is shown without its facts is announced.
        let long = Diagnostic::warning("CS-X", "odd").at("a.cs", 1, 1).found("x\n".repeat(9));
        let texts = brief_texts(&[long], Style::plain());
        assert_eq!(
            texts,
            ["warning[CS-X] a.cs:1:1: odd", "… `cortex status --notes` prints all of these"]
        );
    }

    #[test]
    fn candidates_stand_one_a_line() {
        let candidates = ["N.A@One", "N.A@Two"].map(str::to_owned).to_vec();
        let said = format_diagnostic(
            &Diagnostic::error("AmbiguousSymbol", "two")
                .found("A")
                .hint("choose")
                .candidates(candidates),
            Style::plain(),
        );
        assert_eq!(
            said,
            "error[AmbiguousSymbol]: two\n  found: A\n  could be:\n    N.A@One\n    N.A@Two\n  help: choose"
        );
    }

    #[test]
    fn a_found_value_is_cut_between_characters() {
        assert_eq!(escape_and_cut(&"ä".repeat(120)), "ä".repeat(120));
        assert_eq!(escape_and_cut(&"ä".repeat(121)), format!("{}…", "ä".repeat(120)));
        let escaped = escape_and_cut(&"\u{1b}".repeat(100_000));
        assert!(escaped.chars().count() == 121 && escaped.starts_with("\\u{1b}"), "{escaped}");
        assert_eq!(escape_and_cut(&"said\n".repeat(50)).lines().count(), 21);
    }
}
