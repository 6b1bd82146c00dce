//! Layout of a text and its cursor in rows of a width. Pure: a function of the text, the byte of its cursor and the width.
//!
//! A row ends after white space or a wide character where possible, so that words stay whole, also those read from right to left. Each cluster
//! is in one row. A full row at the end of a line is followed by an empty one, so that the cursor always has a cell.

use super::cells::{Cluster, clusters};

/// A row: a part of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenRow {
    /// Byte where the row begins.
    pub start: usize,
    /// Byte after the row's last cluster.
    pub end: usize,
}

/// A text in rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Rows, at least one.
    pub rows: Vec<ScreenRow>,
    /// Row of the cursor, and its cell in that row.
    pub cursor: (usize, usize),
}

/// Lays out a text in rows of `width` cells, with the cursor before the byte `cursor`.
pub fn layout(text: &str, cursor: usize, width: usize) -> Layout {
    let width = width.max(1);
    let mut rows = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        wrap(line, start, width, &mut rows);
        start += line.len() + 1;
    }
    let row = rows.iter().rposition(|row| row.start <= cursor).unwrap_or(0);
    let column = text.get(rows[row].start..cursor).unwrap_or_default();
    let column = clusters(column).map(|cluster| cluster.cells(width)).sum();
    Layout {
        rows,
        cursor: (row, column),
    }
}

/// Adds the rows of a line that begins at byte `start`.
fn wrap(line: &str, start: usize, width: usize, rows: &mut Vec<ScreenRow>) {
    let (mut begin, mut width_used) = (0, 0);
    // Last possible end of the row, and the cells up to it.
    let mut possible = (0, 0);
    for cluster in clusters(line) {
        let takes = cluster.cells(width);
        if width_used + takes > width {
            let (end, cells) = if possible.0 > begin {
                possible
            } else {
                (cluster.start, width_used)
            };
            rows.push(ScreenRow {
                start: start + begin,
                end: start + end,
            });
            (begin, width_used) = (end, width_used - cells);
        }
        // The part carried over may still leave too little room.
        if width_used + takes > width {
            rows.push(ScreenRow {
                start: start + begin,
                end: start + cluster.start,
            });
            (begin, width_used) = (cluster.start, 0);
        }
        width_used += takes;
        if cluster.may_end_row() {
            possible = (cluster.end(), cells_since(line, begin, cluster.end(), width));
        }
    }
    rows.push(ScreenRow {
        start: start + begin,
        end: start + line.len(),
    });
    if width_used >= width {
        rows.push(ScreenRow {
            start: start + line.len(),
            end: start + line.len(),
        });
    }
}

fn cells_since(line: &str, begin: usize, end: usize, width: usize) -> usize {
    clusters(&line[begin..end]).map(|cluster| cluster.cells(width)).sum()
}

impl Layout {
    /// Returns the first byte of a row, at or after the cell `column`, where the cursor may be.
    pub fn byte_at_cell(&self, text: &str, row: usize, column: usize, width: usize) -> usize {
        let row = self.rows[row.min(self.rows.len() - 1)];
        let mut width_used = 0;
        let mut last = row.start;
        for cluster in self.clusters(text, row) {
            if width_used >= column {
                return cluster.start + row.start;
            }
            width_used += cluster.cells(width);
            last = cluster.start + row.start;
        }
        // After the last cluster of a wrapped row, the cursor would be in the next row.
        let goes_on = self.rows.iter().any(|other| other.start == row.end && other.start > row.start);
        if goes_on { last } else { row.end }
    }

    /// Returns the clusters of a row; their bytes count from its beginning.
    pub fn clusters<'t>(&self, text: &'t str, row: ScreenRow) -> impl DoubleEndedIterator<Item = Cluster<'t>> {
        clusters(&text[row.start..row.end])
    }
}

/// Returns the first of `height` rows to show of `total`: the cursor's row is at two thirds, as far as there are rows.
pub fn first_shown(total: usize, cursor: usize, height: usize) -> usize {
    let height = height.max(1);
    cursor.saturating_sub(height * 2 / 3).min(total.saturating_sub(height))
}

#[cfg(test)]
pub use tests::texts as tests_texts;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(text: &str, width: usize) -> Vec<&str> {
        let made = layout(text, 0, width);
        made.rows.iter().map(|row| &text[row.start..row.end]).collect()
    }

    fn at(text: &str, cursor: usize, width: usize) -> (usize, usize) {
        layout(text, cursor, width).cursor
    }

    #[test]
    fn words_stay_whole_and_wide_characters_are_not_cut() {
        assert_eq!(rows("one two three", 8), ["one two ", "three"]);
        assert_eq!(rows("one two three", 4), ["one ", "two ", "thre", "e"]);
        assert_eq!(rows("中文字", 5), ["中文", "字"]);
        assert_eq!(rows("שלום עולם", 6), ["שלום ", "עולם"]);
        assert_eq!(rows("abcd", 4), ["abcd", ""]);
        assert_eq!(rows("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(rows("", 4), [""]);
        assert_eq!(rows("中", 1), ["中", ""]);
    }

    #[test]
    fn the_cursor_stands_where_the_text_says() {
        assert_eq!(at("one two three", 8, 8), (1, 0));
        assert_eq!(at("abcd", 4, 4), (1, 0));
        assert_eq!(at("ab\ncd", 2, 9), (0, 2));
        assert_eq!(at("ab\ncd", 3, 9), (1, 0));
        assert_eq!(at("中a", 3, 9), (0, 2));
        assert_eq!(at("a\n", 2, 9), (1, 0));
    }

    #[test]
    fn the_cursor_is_shown_at_two_thirds() {
        assert_eq!([0, 5, 6, 7, 20, 29].map(|cursor| first_shown(30, cursor, 9)), [0, 0, 0, 1, 14, 21]);
        assert_eq!(first_shown(3, 2, 9), 0);
        assert_eq!(first_shown(3, 2, 0), 2);
    }

    /// Generates texts with all difficult widths.
    pub fn texts() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            prop::sample::select(vec![
                "a", "bc", " ", "\n", "\t", "中", "文字", "e\u{301}", "\u{301}", "👩‍👧", "❤\u{fe0f}", "🇫🇷", "한", "שלום", "\u{200b}",
                "\u{1b}", "가",
            ]),
            0..30,
        )
        .prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn rows_hold_the_text_and_the_cursor_is_in_its_cell(text in texts(), width in 1_usize..=200) {
            let made = layout(&text, 0, width);
            let mut at = 0;
            for row in &made.rows {
                // Two rows are separated by nothing or by a line end.
                prop_assert!(row.start == at || (row.start == at + 1 && text.as_bytes()[at] == b'\n'), "{:?}", made.rows);
                at = row.end;
                let taken: usize = made.clusters(&text, *row).map(|cluster| cluster.cells(width)).sum();
                prop_assert!(taken <= width);
            }
            prop_assert_eq!(at, text.len());
            let mut before = None;
            let stops = clusters(&text).map(|cluster| cluster.start).chain([text.len()]);
            for stop in stops {
                let (row, column) = layout(&text, stop, width).cursor;
                prop_assert!(column < width && row < made.rows.len());
                prop_assert!(before < Some((row, column)), "the cursor goes on");
                before = Some((row, column));
                prop_assert_eq!(made.byte_at_cell(&text, row, column, width), stop);
            }
        }
    }
}
