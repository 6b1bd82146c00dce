//! Draws the bottom of the terminal, and only its changed lines. Finished output scrolls away above and belongs to the terminal.
//!
//! All moves are relative to the first drawn line, so the position on the screen need not be known. No line is wider than the terminal.

use super::cells::cells;
use std::fmt::Write as _;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawnLine {
    /// Bytes, with colour sequences.
    pub drawn: String,
    pub cells: usize,
}

impl DrawnLine {
    /// Creates a line without colours.
    pub fn plain(text: String) -> Self {
        Self {
            cells: cells(&text),
            drawn: text,
        }
    }
}

/// Contents of the terminal's bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Lines, at least one.
    pub lines: Vec<DrawnLine>,
    /// Row and column of the cursor.
    pub cursor: (usize, usize),
}

/// Remembers the last frame, to draw only changes.
#[derive(Debug, Default)]
pub struct Painter {
    shown: Frame,
}

impl Painter {
    /// Returns the bytes that draw a frame, after lines that stay above it.
    pub fn paint(&mut self, above: &[DrawnLine], frame: Frame) -> String {
        let mut out = String::new();
        if above.is_empty() && frame == self.shown {
            return out;
        }
        out.push_str("\x1b[?25l");
        let mut at = self.shown.cursor.0;
        let mut known = self.shown.lines.len();
        if !above.is_empty() {
            move_to_row(&mut out, at, 0);
            out.push_str("\r\x1b[J");
            for line in above {
                let _ = write!(out, "{}\r\n", line.drawn);
            }
            (at, known) = (0, 0);
        }
        for (row, line) in frame.lines.iter().enumerate() {
            let is_known = row < known;
            if is_known && self.shown.lines[row] == *line {
                continue;
            }
            match row >= known && row > 0 {
                // A line feed scrolls the terminal to create a new line.
                true => {
                    move_to_row(&mut out, at, row - 1);
                    out.push_str("\r\n");
                }
                false => move_to_row(&mut out, at, row),
            }
            // Erase first: after a full row, the cursor is still in the row's last cell.
            let _ = write!(out, "\r\x1b[K{}", line.drawn);
            at = row;
        }
        if known > frame.lines.len() {
            move_to_row(&mut out, at, frame.lines.len());
            out.push_str("\r\x1b[J");
            at = frame.lines.len();
        }
        move_to_row(&mut out, at, frame.cursor.0);
        out.push('\r');
        if frame.cursor.1 > 0 {
            let _ = write!(out, "\x1b[{}C", frame.cursor.1);
        }
        out.push_str("\x1b[?25h");
        self.shown = frame;
        out
    }

    /// Returns the bytes that erase the frame, in a terminal now `width` columns wide, which may have wrapped wider lines.
    pub fn clear(&mut self, width: usize) -> String {
        let width = width.max(1);
        let above: usize = self.shown.lines[..self.shown.cursor.0.min(self.shown.lines.len())]
            .iter()
            .map(|line| line.cells.div_ceil(width).max(1))
            .sum();
        let mut out = String::new();
        move_to_row(&mut out, above + self.shown.cursor.1 / width, 0);
        out.push_str("\r\x1b[J");
        self.shown = Frame::default();
        out
    }
}

/// Moves the cursor from one row to another.
fn move_to_row(out: &mut String, from: usize, to: usize) {
    let _ = match (from.checked_sub(to), to.checked_sub(from)) {
        (Some(up @ 1..), _) => write!(out, "\x1b[{up}A"),
        (_, Some(down @ 1..)) => write!(out, "\x1b[{down}B"),
        _ => Ok(()),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(lines: &[&str], cursor: (usize, usize)) -> Frame {
        Frame {
            lines: lines.iter().map(|line| DrawnLine::plain((*line).to_owned())).collect(),
            cursor,
        }
    }

    fn screen(parser: &vt100::Parser) -> Vec<String> {
        let (_, columns) = parser.screen().size();
        let mut rows: Vec<String> = parser.screen().rows(0, columns).collect();
        rows.iter_mut().for_each(|row| row.truncate(row.trim_end().len()));
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    #[test]
    fn only_what_changed_is_drawn() {
        let mut painter = Painter::default();
        painter.paint(&[], frame(&["one", "two", "three"], (2, 0)));
        let sent = painter.paint(&[], frame(&["one", "TWO", "three"], (1, 2)));
        assert!(sent.contains("TWO") && !sent.contains("one") && !sent.contains("three"), "{sent:?}");
        assert_eq!(painter.paint(&[], frame(&["one", "TWO", "three"], (1, 2))), "");
    }

    proptest! {
        #[test]
        fn a_screen_shows_the_last_frame_below_what_stays(
            frames in proptest::collection::vec((proptest::collection::vec("[a-c]{0,6}", 1..6), proptest::collection::vec("[x-z]{1,4}", 0..3), any::<prop::sample::Index>()), 1..8),
        ) {
            let mut parser = vt100::Parser::new(60, 20, 0);
            let mut painter = Painter::default();
            let mut stays: Vec<String> = Vec::new();
            for (lines, above, row) in frames {
                let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
                let cursor = row.index(texts.len());
                let column = texts[cursor].len();
                stays.extend(above.iter().cloned());
                let above: Vec<DrawnLine> = above.into_iter().map(DrawnLine::plain).collect();
                parser.process(painter.paint(&above, frame(&texts, (cursor, column))).as_bytes());
                let mut expected = stays.clone();
                expected.extend(lines.iter().cloned());
                while expected.last().is_some_and(String::is_empty) {
                    expected.pop();
                }
                prop_assert_eq!(screen(&parser), expected);
                let at = parser.screen().cursor_position();
                prop_assert_eq!((usize::from(at.0), usize::from(at.1)), (stays.len() + cursor, column));
            }
            parser.process(painter.clear(20).as_bytes());
            prop_assert_eq!(screen(&parser), stays);
        }
    }
}
