//! Templates of prompts: a text with `{{variables}}` in up to three parts, checked before any question.
//!
//! A line `%% system`, `%% full` or `%% patch` begins a part; a text without such lines is the part `full`. Parts missing in a user's template are
//! taken from the built-in one. `\{{` escapes two braces. Inserted values are not expanded again, so that no source text can be a variable.

use engine::seams::producer::Failure;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use engine::values::suggest::nearest;
use std::collections::BTreeMap;

/// The built-in template.
pub(super) const BUILT_IN: &str = include_str!("../../prompts/semantic.md");

/// Its name in messages.
const BUILT_IN_NAME: &str = "prompts/semantic.md";

/// Limit of bytes of a template.
const LONGEST: usize = 64 * 1024;

/// Variables with the same value in every prompt; the part `system` may use no others.
const STABLE: [&str; 3] = ["evidence", "sections", "subject"];
/// Further variables of the part `full`.
const FULL: [&str; 5] = ["dependencies", "docs", "impl", "structure", "types"];
/// Further variables of the part `patch`.
const PATCH: [&str; 8] = [
    "changed_members", "dependencies", "diff", "docs", "impl", "previous", "structure", "types",
];

/// A piece of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    Variable(String),
}

/// A checked template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    system: Vec<TemplatePiece>,
    full: Vec<TemplatePiece>,
    patch: Vec<TemplatePiece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplatePart {
    System,
    Full,
    Patch,
}

impl TemplatePart {
    const ALL: [Self; 3] = [Self::System, Self::Full, Self::Patch];

    fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Full => "full",
            Self::Patch => "patch",
        }
    }

    fn known(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::System => &[],
            Self::Full => &FULL,
            Self::Patch => &PATCH,
        };
        let mut known: Vec<&str> = STABLE.iter().chain(own).copied().collect();
        known.sort_unstable();
        known
    }
}

/// A parsed part: its pieces and the line of its beginning.
type Written = (Vec<TemplatePiece>, u32);

impl Template {
    pub(super) fn built_in() -> Result<Self, Failure> {
        Self::from_bytes(BUILT_IN_NAME, BUILT_IN.as_bytes())
    }

    /// Reads and checks a template. Errors: a permanent failure with the position of the first fault.
    pub(super) fn from_bytes(path: &str, bytes: &[u8]) -> Result<Self, Failure> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            template_error(
                path,
                line_of(bytes, error.valid_up_to()),
                1,
                "this is not UTF-8 text",
                None,
                "save it as UTF-8",
            )
        })?;
        if text.len() > LONGEST {
            return Err(template_error(
                path,
                1,
                1,
                &format!("a template has at most {} KiB", LONGEST >> 10),
                None,
                "shorten it",
            ));
        }
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let mut parts = parse_parts(path, &text)?;
        let built_in = if path == BUILT_IN_NAME && text == BUILT_IN {
            None
        } else {
            Some(Self::built_in()?)
        };
        let of = |name: &'static str| {
            let written: Option<Written> = parts.remove(name);
            written
        };
        let [system, full, patch] = ["system", "full", "patch"].map(of);
        let lines = [&system, &full, &patch].map(|part| part.as_ref().map(|(_, line)| *line));
        let pieces = |own: Option<Written>, theirs: fn(&Self) -> &Vec<TemplatePiece>| match (own, &built_in) {
            (Some((pieces, _)), _) => pieces,
            (None, Some(built_in)) => theirs(built_in).clone(),
            (None, None) => Vec::new(),
        };
        let template = Self {
            system: pieces(system, |built_in| &built_in.system),
            full: pieces(full, |built_in| &built_in.full),
            patch: pieces(patch, |built_in| &built_in.patch),
        };
        for (part, line, needed) in [
            (
                TemplatePart::Full,
                lines[1].or(lines[0]),
                ["structure", "impl", "sections"].as_slice(),
            ),
            (
                TemplatePart::Patch,
                lines[2].or(lines[0]),
                ["previous", "diff", "sections"].as_slice(),
            ),
        ] {
            if let Some(name) = needed.iter().find(|name| !template.uses(part, name)) {
                let message = format!(
                    "the part '{}' does not use {{{{{name}}}}}, without which there is nothing to answer",
                    part.name()
                );
                let hint = match *name {
                    "sections" => "write {{sections}} under %% system, or here".to_owned(),
                    name => format!("write {{{{{name}}}}} where it belongs"),
                };
                return Err(template_error(path, line.unwrap_or(1), 1, &message, None, &hint));
            }
        }
        Ok(template)
    }

    fn pieces(&self, part: TemplatePart) -> &[TemplatePiece] {
        match part {
            TemplatePart::System => &self.system,
            TemplatePart::Full => &self.full,
            TemplatePart::Patch => &self.patch,
        }
    }

    /// Whether a part, or the system part before it, uses a variable.
    pub(super) fn uses(&self, part: TemplatePart, name: &str) -> bool {
        self.pieces(part)
            .iter()
            .chain(&self.system)
            .any(|piece| *piece == TemplatePiece::Variable(name.to_owned()))
    }

    /// Returns a part with its variables filled in, and successive empty lines reduced to one.
    pub(super) fn fill(&self, part: TemplatePart, values: &BTreeMap<&str, String>) -> String {
        let mut text = String::new();
        for piece in self.pieces(part) {
            match piece {
                TemplatePiece::Text(plain) => push_plain(&mut text, plain),
                TemplatePiece::Variable(name) => text.push_str(values.get(name.as_str()).map_or("", String::as_str)),
            }
        }
        text.trim().to_owned()
    }
}

/// Appends text of the template; an empty variable does not enlarge a gap.
fn push_plain(text: &mut String, plain: &str) {
    if text.ends_with("\n\n") || text.is_empty() {
        text.push_str(plain.trim_start_matches('\n'));
    } else {
        text.push_str(plain);
    }
}

fn line_of(bytes: &[u8], at: usize) -> u32 {
    let lines = bytes[..at].iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(lines + 1).unwrap_or(u32::MAX)
}

fn template_error(path: &str, line: u32, column: u32, message: &str, found: Option<&str>, hint: &str) -> Failure {
    let mut diagnostic = Diagnostic::error(ErrorCode::E_TEMPLATE, message).at(path, line, column).hint(hint);
    diagnostic.found = found.map(str::to_owned);
    Failure::Permanent(Box::new(diagnostic))
}

fn parse_parts(path: &str, text: &str) -> Result<BTreeMap<&'static str, Written>, Failure> {
    let mut parts: BTreeMap<&'static str, Written> = BTreeMap::new();
    let mut at = TemplatePart::Full;
    let marked = text.lines().any(|line| line.starts_with("%% "));
    if !marked {
        parts.insert(at.name(), (Vec::new(), 1));
    }
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if let Some(name) = line.strip_prefix("%% ") {
            let name = name.trim();
            at = TemplatePart::ALL.into_iter().find(|part| part.name() == name).ok_or_else(|| {
                template_error(
                    path,
                    number,
                    4,
                    "there is no part of this name",
                    Some(name),
                    "a part is one of system, full, patch",
                )
            })?;
            if parts.insert(at.name(), (Vec::new(), number)).is_some() {
                return Err(template_error(
                    path,
                    number,
                    4,
                    "this part occurs twice",
                    Some(name),
                    "join the two",
                ));
            }
            continue;
        }
        let Some((pieces, _)) = parts.get_mut(at.name()) else {
            if line.trim().is_empty() {
                continue;
            }
            return Err(template_error(
                path,
                number,
                1,
                "this precedes the first part",
                None,
                "begin with a line %% system, %% full or %% patch",
            ));
        };
        pieces_of(path, number, line, at, pieces)?;
    }
    Ok(parts)
}

fn pieces_of(path: &str, number: u32, line: &str, part: TemplatePart, pieces: &mut Vec<TemplatePiece>) -> Result<(), Failure> {
    let mut rest = line;
    let mut plain = String::new();
    let column = |rest: &str| u32::try_from(line[..line.len() - rest.len()].chars().count() + 1).unwrap_or(u32::MAX);
    while let Some(brace) = rest.find("{{") {
        if rest[..brace].ends_with('\\') {
            plain.push_str(&rest[..brace - 1]);
            plain.push_str("{{");
            rest = &rest[brace + 2..];
            continue;
        }
        plain.push_str(&rest[..brace]);
        let tail = &rest[brace..];
        let Some(end) = tail.find("}}") else {
            let hint = "close it with }} on the same line; \\{{ writes the braces themselves";
            return Err(template_error(
                path,
                number,
                column(tail),
                "this variable is not closed",
                None,
                hint,
            ));
        };
        let name = tail[2..end].trim();
        let known = part.known();
        if !known.contains(&name) {
            let elsewhere = TemplatePart::ALL.into_iter().any(|part| part.known().contains(&name));
            let message = if elsewhere {
                format!("the part '{}' has no such variable", part.name())
            } else {
                "there is no such variable".to_owned()
            };
            let near = nearest(name, known.iter().copied(), 1);
            let known: Vec<String> = known.iter().map(|name| format!("{{{{{name}}}}}")).collect();
            let mut hint = format!("known in the part '{}': {}", part.name(), known.join(", "));
            if let Some(best) = near.first() {
                hint = format!("did you mean {{{{{best}}}}}? {hint}");
            }
            return Err(template_error(path, number, column(tail), &message, Some(&tail[..end + 2]), &hint));
        }
        if !plain.is_empty() {
            pieces.push(TemplatePiece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(TemplatePiece::Variable(name.to_owned()));
        rest = &tail[end + 2..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        // Merge texts: two text pieces never follow each other.
        match pieces.last_mut() {
            Some(TemplatePiece::Text(last)) => last.push_str(&plain),
            _ => pieces.push(TemplatePiece::Text(plain)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        match Template::from_bytes("prompts/mine.md", text.as_bytes()) {
            Err(Failure::Permanent(why)) => format!("{}: {} | {}", why.place.expect("a place"), why.message, why.hint.expect("a hint")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_built_in_template_is_good() {
        let template = Template::built_in().expect("good");
        assert!(TemplatePart::ALL.iter().all(|part| !template.pieces(*part).is_empty()));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        assert_eq!(
            error("Look:\n  {{strukture}} {{impl}}"),
            "prompts/mine.md:2:3: there is no such variable | did you mean {{structure}}? known in the part 'full': {{dependencies}}, {{docs}}, {{evidence}}, {{impl}}, {{sections}}, {{structure}}, {{subject}}, {{types}}"
        );
        assert!(error("%% system\n{{impl}}\n").starts_with("prompts/mine.md:2:1: the part 'system' has no such variable"));
        assert!(error("%% ful\n").starts_with("prompts/mine.md:1:4: there is no part of this name"));
        assert!(error("x\n%% full\n").starts_with("prompts/mine.md:1:1: this precedes the first part"));
        assert!(error("%% full\n{{structure}}\n").starts_with("prompts/mine.md:1:1: the part 'full' does not use {{impl}}"));
        assert!(
            error("%% system\nx\n%% full\n{{structure}}{{impl}}")
                .starts_with("prompts/mine.md:3:1: the part 'full' does not use {{sections}}")
        );
        assert!(error("a {{impl").starts_with("prompts/mine.md:1:3: this variable is not closed"));
        assert!(error("%% full\n%% full\n").starts_with("prompts/mine.md:2:4: this part occurs twice"));
    }

    #[test]
    fn values_of_variables_are_not_expanded_again() {
        let template = Template::from_bytes("t.md", b"a \\{{x}} {{ structure }}|{{impl}}").expect("good");
        let values = BTreeMap::from([("structure", "{{impl}}".to_owned()), ("impl", "{{structure}} %% system".to_owned())]);
        assert_eq!(
            template.fill(TemplatePart::Full, &values),
            "a {{x}} {{impl}}|{{structure}} %% system"
        );
        let built_in = Template::built_in().expect("good");
        assert_eq!(template.pieces(TemplatePart::Patch), built_in.pieces(TemplatePart::Patch));
    }
}
