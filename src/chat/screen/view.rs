//! What of a conversation is at the bottom of the screen: the answer that still grows, what is going on, the question with its rows, and a line of hints.
//! Pure: a state and a size give a frame.

use super::cells::{cells, fitted};
use super::input::Input;
use super::layout::{Row, first_shown, layout};
use super::paint::{Frame, Line};
use crate::render::Style;

/// What stands before the first row of a question, and before the others.
const MARKS: [&str; 2] = ["› ", "  "];
/// A terminal that is narrower has no room for them.
const NARROW: usize = 8;

/// What there is to show.
pub struct View<'v> {
    /// The question.
    pub input: &'v Input,
    /// Lines of the answer that may still change.
    pub tail: &'v [Line],
    /// What is going on, if something is.
    pub doing: Option<&'v str>,
    /// The conversation and its model.
    pub title: &'v str,
    /// What keys do, or what a reference may become.
    pub hints: &'v str,
    /// How to colour it.
    pub style: Style,
}

/// Cells that a row of the question has.
pub fn text_width(columns: usize) -> usize {
    columns.max(1) - mark_width(columns)
}

fn mark_width(columns: usize) -> usize {
    if columns < NARROW { 0 } else { cells(MARKS[0]) }
}

impl View<'_> {
    /// The frame for a terminal of a size.
    pub fn frame(&self, columns: usize, rows: usize) -> Frame {
        let columns = columns.max(1);
        let width = text_width(columns);
        let made = layout(self.input.text(), self.input.cursor(), width);
        // Above and below it stand a line each; what goes on and the answer have the rest.
        let height = (rows.saturating_sub(4)).min(rows / 2).max(1).min(made.rows.len());
        let first = first_shown(made.rows.len(), made.cursor.0, height);
        let hidden_below = made.rows.len() - (first + height);
        let mut lines = Vec::new();
        if rows >= 4 {
            let left = rows - height - 2;
            let tail = &self.tail[self.tail.len().saturating_sub(left.saturating_sub(1))..];
            lines.extend(tail.iter().cloned());
            if let Some(doing) = self.doing.filter(|_| left > 0) {
                lines.push(self.dimmed(doing, columns));
            }
        }
        if rows >= 2 {
            lines.push(self.rule(first, columns));
        }
        let top = lines.len();
        for (at, row) in made.rows[first..first + height].iter().enumerate() {
            lines.push(self.row(*row, first + at, columns));
        }
        if rows >= 3 {
            let below = match hidden_below {
                0 => self.hints.to_owned(),
                more => format!("↓ {more} more  {}", self.hints),
            };
            lines.push(self.dimmed(&below, columns));
        }
        Frame {
            lines,
            cursor: (top + made.cursor.0 - first, mark_width(columns) + made.cursor.1),
        }
    }

    /// The line above the question, with how much of it is out of sight above.
    fn rule(&self, above: usize, columns: usize) -> Line {
        let title = match above {
            0 => format!("── {} ", self.title),
            more => format!("── ↑ {more} more · {} ", self.title),
        };
        // The last column is left free: a terminal that becomes narrower wraps less.
        let most = columns.saturating_sub(1);
        let title = fitted(&title, most);
        let text = format!("{title}{}", "─".repeat(most.saturating_sub(cells(&title))));
        self.dimmed(&text, columns)
    }

    fn row(&self, row: Row, at: usize, columns: usize) -> Line {
        let width = text_width(columns);
        let mark = MARKS[usize::from(at > 0)];
        let mut line = match mark_width(columns) {
            0 => Line::default(),
            cells => Line {
                drawn: self.style.bold(mark),
                cells,
            },
        };
        for cluster in super::cells::clusters(&self.input.text()[row.start..row.end]) {
            let room = width - (line.cells - mark_width(columns));
            line.drawn.push_str(&cluster.drawn(room));
            line.cells += cluster.cells(width);
            if cluster.is_doubtful() && line.cells < columns {
                // Wherever the terminal stands now, and whatever it drew beside: what follows stands in its cell.
                line.drawn.push_str(&format!("\r\x1b[{}C\x1b[K", line.cells));
            }
        }
        line
    }

    fn dimmed(&self, text: &str, columns: usize) -> Line {
        let text = fitted(text, columns);
        Line {
            cells: cells(&text),
            drawn: self.style.dim(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::clusters;
    use super::super::input::Action;
    use super::super::layout::tests_texts;
    use super::super::paint::Painter;
    use super::*;
    use proptest::prelude::*;

    fn view(input: &Input) -> View<'_> {
        View {
            input,
            tail: &[],
            doing: None,
            title: "c1",
            hints: "hints",
            style: Style::plain(),
        }
    }

    fn input(text: &str) -> Input {
        let mut input = Input::default();
        input.apply(&Action::Insert(text.to_owned()), 80);
        input
    }

    fn screen_rows(view: &View<'_>, columns: usize, rows: usize) -> Vec<String> {
        view.frame(columns, rows).lines.into_iter().map(|line| line.drawn).collect()
    }

    #[test]
    fn what_is_out_of_sight_is_marked() {
        let long = input("1\n2\n3\n4\n5\n6\n7\n8\n9\n10");
        assert_eq!(
            screen_rows(&view(&long), 20, 8),
            ["── ↑ 6 more · c1 ──", "  7", "  8", "  9", "  10", "hints"]
        );
        let mut up = long.clone();
        for _ in 0..5 {
            up.apply(&Action::Up, 18);
        }
        assert_eq!(
            screen_rows(&view(&up), 20, 8),
            ["── ↑ 2 more · c1 ──", "  3", "  4", "  5", "  6", "↓ 4 more  hints"]
        );
        assert_eq!(view(&up).frame(20, 8).cursor, (3, 3));
    }

    #[test]
    fn a_small_terminal_has_the_row_of_the_cursor() {
        for rows in 0..6 {
            let long = input("one\ntwo");
            let frame = view(&long).frame(5, rows);
            assert!(frame.lines.len() <= rows.max(1), "{rows}");
            assert_eq!(frame.lines[frame.cursor.0].drawn, "two", "{rows}");
        }
    }

    /// The bytes of the answer in a terminal, checked against what the text says of the cell of its cursor.
    fn check(text: &str, columns: usize) -> Result<(), TestCaseError> {
        let mut input = input(text);
        let stops: Vec<usize> = clusters(text).map(|cluster| cluster.start).chain([text.len()]).collect();
        input.apply(&Action::Start, 80);
        let mut painter = Painter::default();
        let rows = text.len() + 6;
        let size = [rows, columns].map(|cells| u16::try_from(cells).expect("small"));
        let mut parser = vt100::Parser::new(size[0], size[1], 0);
        for stop in stops {
            prop_assert_eq!(input.cursor(), stop);
            let frame = view(&input).frame(columns, 2 * rows);
            prop_assert!(frame.lines.iter().all(|line| line.cells <= columns), "{:?}", frame);
            let cursor = frame.cursor;
            parser.process(painter.paint(&[], frame).as_bytes());
            let screen = parser.screen();
            let at = screen.cursor_position();
            prop_assert_eq!((usize::from(at.0), usize::from(at.1)), cursor);
            // What stands in the cell is what stands behind the cursor in the text.
            let here = clusters(text)
                .find(|cluster| cluster.start == stop)
                .filter(|cluster| cluster.text != "\n");
            let cell = screen.cell(at.0, at.1).map(|cell| cell.contents().to_owned()).unwrap_or_default();
            let room = columns - cursor.1;
            let expected = here.map_or(String::new(), |cluster| cluster.drawn(room).into_owned());
            let first = |text: &str| text.trim().chars().next();
            prop_assert_eq!(first(&cell), first(&expected), "{:?} at {:?} of {}", text, cursor, columns);
            input.apply(&Action::Right, columns);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        // Each case draws the text once for each cell of the cursor.
        #[test]
        fn the_cell_of_the_cursor_holds_what_the_text_says(text in tests_texts(), columns in 1_usize..=200) {
            check(&text, columns)?;
        }
    }

    #[test]
    fn the_cursor_is_right_at_every_width() {
        for columns in 1..=200 {
            check("ab `c` 节点存 é e\u{301} 👩‍👧 ❤\u{fe0f} שלום\tx\n第二行", columns).expect("right");
        }
    }
}
