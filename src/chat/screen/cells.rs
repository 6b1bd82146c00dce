//! Width of a text in terminal cells. The unit is a cluster (a letter with its accents, an emoji of several characters): it is drawn in one
//! place, and the cursor passes it in one step.

use engine::values::visible::is_invisible;
use methods::render::printable;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Cells of a tab.
const TAB: usize = 4;
/// Replaces characters that are invisible, or that would control the terminal.
const HIDDEN: &str = "·";
/// Replaces a cluster that is wider than the row.
const TOO_WIDE: &str = "…";

/// A cluster and its position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster<'t> {
    /// Byte where the cluster begins.
    pub start: usize,
    /// Characters of the cluster.
    pub text: &'t str,
}

impl<'t> Cluster<'t> {
    /// Returns the byte after the cluster.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Returns the cluster's cells in a row of at most `most`.
    pub fn cells(&self, most: usize) -> usize {
        let cells = match self.text {
            "\t" => TAB,
            text if is_hidden(text) => 1,
            text => text.width().max(1),
        };
        cells.min(most.max(1))
    }

    /// Returns the cluster's drawn form in a row of at most `most` cells: exactly [`Self::cells`] wide in a terminal that supports clusters.
    pub fn drawn(&self, most: usize) -> Cow<'t, str> {
        let text = self.text;
        let cells = self.cells(most);
        if text == "\t" {
            return " ".repeat(cells).into();
        }
        if is_hidden(text) {
            return HIDDEN.into();
        }
        match text.width() {
            // A mark without a base letter.
            0 => format!("◌{text}").into(),
            width if width > cells => TOO_WIDE.into(),
            // A terminal that draws the parts side by side would exceed the row.
            _ if widest(text) > most => text.chars().next().map_or(HIDDEN.into(), |first| first.to_string().into()),
            _ => text.into(),
        }
    }

    /// Returns whether terminals disagree about the cluster's cells, so that the next cluster needs an explicit position.
    pub fn is_doubtful(&self) -> bool {
        widest(self.text) != self.text.width() || self.text.chars().any(|c| c == '\u{fe0f}')
    }

    /// Returns whether a row may end after the cluster.
    pub fn may_end_row(&self) -> bool {
        self.text.chars().all(char::is_whitespace) || self.text.width() > 1
    }
}

/// Returns the cells in a terminal that does not support clusters.
fn widest(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(1)).sum()
}

fn is_hidden(text: &str) -> bool {
    // Characters that join or vary others in a cluster are invisible, but belong to it.
    let mut characters = text.chars();
    characters.next().is_some_and(is_invisible) || text.chars().any(char::is_control)
}

pub fn clusters(line: &str) -> impl DoubleEndedIterator<Item = Cluster<'_>> {
    line.grapheme_indices(true).map(|(start, text)| Cluster { start, text })
}

pub fn cells(line: &str) -> usize {
    clusters(line).map(|cluster| cluster.cells(usize::MAX)).sum()
}

/// Returns text that is safe to draw: keeps the joiners of emoji, and escapes all other invisible characters.
pub fn printable_clusters(text: &str) -> String {
    clusters(text)
        .map(|cluster| match cluster.text.width() == 2 && !is_hidden(cluster.text) {
            true => cluster.text.to_owned(),
            false => printable(cluster.text),
        })
        .collect()
}

/// Returns the part of a line that fits in `most` cells, with a mark if it was cut.
pub fn fit_to_cells(line: &str, most: usize) -> String {
    if cells(line) <= most {
        return clusters(line).map(|cluster| cluster.drawn(usize::MAX)).collect();
    }
    let (mut kept, mut width_used) = (String::new(), 0);
    for cluster in clusters(line) {
        let takes = cluster.cells(usize::MAX);
        if width_used + takes + 1 > most {
            break;
        }
        kept.push_str(&cluster.drawn(usize::MAX));
        width_used += takes;
    }
    if most > 0 {
        kept.push_str(TOO_WIDE);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_that_terminals_draw() {
        for (text, expected) in [
            ("a", 1),
            ("中", 2),
            ("e\u{301}", 1),
            ("\u{301}", 1),
            ("👩‍👧", 2),
            ("❤\u{fe0f}", 2),
            ("\t", 4),
            ("\u{1b}", 1),
            ("\u{202e}", 1),
            ("שלום", 4),
            ("한", 2),
        ] {
            assert_eq!(cells(text), expected, "{text:?}");
        }
        let drawn = |text: &str, most| clusters(text).map(|one| one.drawn(most).into_owned()).collect::<Vec<_>>().concat();
        assert_eq!(drawn("中", 1), "…");
        assert_eq!(drawn("\t\u{1b}[", 9), "    ·[");
        assert_eq!(drawn("👩‍👧", 3), "👩");
        assert_eq!(fit_to_cells("中文字", 4), "中…");
        assert_eq!(fit_to_cells("中文", 4), "中文");
        assert_eq!(fit_to_cells("ab", 0), "");
    }
}
