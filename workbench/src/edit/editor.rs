//! The state of an editor in a document: its cursor and selection, by lines and characters from 1.

use crate::code_text::lines::{body, split};
use serde::{Deserialize, Serialize};

/// The state of an editor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Editor {
    /// Line of the cursor, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Its column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// Its selection: `LINE:COLUMN-LINE:COLUMN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<String>,
}

/// A line, and a column of it if one is named.
type LineColumn = (usize, Option<usize>);

/// Parses a place such as `12` or `12:5`.
pub fn parse_place(text: &str) -> Option<LineColumn> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
    match text.split_once(':') {
        None => Some((number(text)?, None)),
        Some((line, column)) => Some((number(line)?, Some(number(column)?))),
    }
}

/// Parses a range such as `12:5-14:1`, whose start must not be after its end.
pub fn range(text: &str) -> Option<(LineColumn, LineColumn)> {
    let (from, to) = text
        .split_once('-')
        .and_then(|(from, to)| Some((parse_place(from)?, parse_place(to)?)))?;
    let is_in_order = (from.0, from.1.unwrap_or(1)) <= (to.0, to.1.unwrap_or(usize::MAX));
    is_in_order.then_some((from, to))
}

impl Editor {
    /// Returns the state within the bounds of a text, and the corrections in sentences. A line begins after the last line end, and a column exists
    /// after the last character of a line.
    pub fn clamp_to_text(&self, text: &str) -> (Self, Vec<String>) {
        let lines: Vec<&str> = split(text).collect();
        let ends = lines.last().is_none_or(|last| body(last) != *last);
        let last = lines.len() + usize::from(ends);
        let fitted = |(line, column): LineColumn| {
            let line = line.min(last);
            let behind = 1 + lines.get(line - 1).map_or(0, |line| body(line).chars().count());
            (line, column.map(|column| column.min(behind)))
        };
        let mut editor = self.clone();
        let mut notes = Vec::new();
        if let Some(line) = self.line {
            let given = (line.max(1), self.column.map(|column| column.max(1)));
            let (line, column) = fitted(given);
            if (line, column) != given {
                let (given, fitted) = (place_text(given), place_text((line, column)));
                notes.push(format!("the cursor cannot be at {given}: {fitted} is used, the end of the text"));
            }
            (editor.line, editor.column) = (Some(line), column);
        }
        if let Some((from, to)) = self.selection.as_deref().and_then(range) {
            let (first, end) = (fitted(from), fitted(to));
            if (first, end) != (from, to) {
                let fitted = format!("{}-{}", place_text(first), place_text(end));
                notes.push(format!(
                    "{}-{} is not in the text: {fitted} is selected",
                    place_text(from),
                    place_text(to)
                ));
                editor.selection = Some(fitted);
            }
        }
        (editor, notes)
    }
}

fn place_text((line, column): LineColumn) -> String {
    column.map_or_else(|| line.to_string(), |column| format!("{line}:{column}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn positions_outside_of_the_text_are_corrected_and_reported() {
        let at = |line, column: Option<usize>, selection: Option<&str>| Editor {
            line: Some(line),
            column,
            selection: selection.map(str::to_owned),
        };
        let text = "ab\r\né\n";
        for (found, fitted, notes) in [
            (at(1, Some(3), None), at(1, Some(3), None), 0),
            (at(1, Some(4), None), at(1, Some(3), None), 1),
            (at(2, Some(2), Some("1:1-2:2")), at(2, Some(2), Some("1:1-2:2")), 0),
            (at(3, Some(1), None), at(3, Some(1), None), 0),
            (at(9, None, Some("1-9:9")), at(3, None, Some("1-3:1")), 2),
        ] {
            let (made, said) = found.clamp_to_text(text);
            assert_eq!((&made, said.len()), (&fitted, notes), "{found:?}: {said:?}");
        }
        assert_eq!(
            at(9, Some(9), None).clamp_to_text("a").1,
            ["the cursor cannot be at 9:9: 1:2 is used, the end of the text"]
        );
        assert_eq!(at(2, Some(2), None).clamp_to_text("").0, at(1, Some(1), None));
    }

    proptest! {
        #[test]
        fn corrected_once_is_right(text in "[aé\r\n]{0,12}", line in 1_usize..20, column in 1_usize..20) {
            let found = Editor { line: Some(line), column: Some(column), selection: Some(format!("{line}:{column}-20:20")) };
            let (fitted, _) = found.clamp_to_text(&text);
            prop_assert!(fitted.selection.as_deref().and_then(range).is_some(), "{:?}", fitted);
            prop_assert_eq!(fitted.clamp_to_text(&text), (fitted.clone(), Vec::new()));
        }
    }
}
