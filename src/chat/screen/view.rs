//! The bottom of a conversation's screen: the growing answer, the current work, the question in its rows, and a line of hints.
//! Pure: a state and a size give a frame.

use super::cells::{cells, fit_to_cells};
use super::input::Input;
use super::layout::{ScreenRow, first_shown, layout};
use super::paint::{DrawnLine, Frame};
use methods::render::Style;

/// Prefixes of the first row of a question, and of the others.
const MARKS: [&str; 2] = ["› ", "  "];
/// Width below which a terminal has no room for prefixes.
const NARROW: usize = 8;

/// State to show.
pub struct View<'v> {
    pub input: &'v Input,
    /// Rows of the answer that may still change.
    pub tail: &'v [DrawnLine],
    /// The current work, if any.
    pub doing: Option<&'v str>,
    /// The conversation and its model.
    pub title: &'v str,
    /// Keys, or candidates for a reference.
    pub hints: &'v str,
    pub style: Style,
}

/// Returns the cells of a question's row.
pub fn text_width(columns: usize) -> usize {
    columns.max(1) - mark_width(columns)
}

fn mark_width(columns: usize) -> usize {
    if columns < NARROW { 0 } else { cells(MARKS[0]) }
}

impl View<'_> {
    /// Builds the frame for a terminal of a size.
    pub fn frame(&self, columns: usize, rows: usize) -> Frame {
        let columns = columns.max(1);
        let width = text_width(columns);
        let made = layout(self.input.text(), self.input.cursor(), width);
        // One line stays free above and below; the current work and the answer get the rest.
        let height = (rows.saturating_sub(4)).min(rows / 2).max(1).min(made.rows.len());
        let first = first_shown(made.rows.len(), made.cursor.0, height);
        let hidden_below = made.rows.len() - (first + height);
        let mut lines = Vec::new();
        if rows >= 4 {
            let left = rows - height - 2;
            let tail = &self.tail[self.tail.len().saturating_sub(left.saturating_sub(1))..];
            lines.extend(tail.iter().cloned());
            if let Some(doing) = self.doing.filter(|_| left > 0) {
                lines.push(self.dim_line(doing, columns));
            }
        }
        if rows >= 2 {
            lines.push(self.rule(first, columns));
        }
        let top = lines.len();
        for (at, row) in made.rows[first..first + height].iter().enumerate() {
            lines.push(self.line_of_row(*row, first + at, columns));
        }
        if rows >= 3 {
            let below = match hidden_below {
                0 => self.hints.to_owned(),
                more => format!("↓ {more} more  {}", self.hints),
            };
            lines.push(self.dim_line(&below, columns));
        }
        Frame {
            lines,
            cursor: (top + made.cursor.0 - first, mark_width(columns) + made.cursor.1),
        }
    }

    /// Builds the line above the question, with the number of rows hidden above.
    fn rule(&self, above: usize, columns: usize) -> DrawnLine {
        let title = match above {
            0 => format!("── {} ", self.title),
            more => format!("── ↑ {more} more · {} ", self.title),
        };
        // The last column stays free: a terminal that becomes narrower then wraps less.
        let most = columns.saturating_sub(1);
        let title = fit_to_cells(&title, most);
        let text = format!("{title}{}", "─".repeat(most.saturating_sub(cells(&title))));
        self.dim_line(&text, columns)
    }

    fn line_of_row(&self, row: ScreenRow, at: usize, columns: usize) -> DrawnLine {
        let width = text_width(columns);
        let mark = MARKS[usize::from(at > 0)];
        let mut line = match mark_width(columns) {
            0 => DrawnLine::default(),
            cells => DrawnLine {
                drawn: self.style.bold(mark),
                cells,
            },
        };
        for cluster in super::cells::clusters(&self.input.text()[row.start..row.end]) {
            let room = width - (line.cells - mark_width(columns));
            line.drawn.push_str(&cluster.drawn(room));
            line.cells += cluster.cells(width);
            if cluster.is_doubtful() && line.cells < columns {
                // Set the column explicitly: the terminal may have drawn the cluster narrower or wider.
                line.drawn.push_str(&format!("\r\x1b[{}C\x1b[K", line.cells));
            }
        }
        line
    }

    fn dim_line(&self, text: &str, columns: usize) -> DrawnLine {
        let text = fit_to_cells(text, columns);
        DrawnLine {
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
    fn lines_out_of_sight_are_counted_above_and_below() {
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

    /// Draws an answer in an emulated terminal, and compares the cell of its cursor with the text.
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
            // The cell shows the cluster after the cursor.
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
        // Each case draws the text once per cursor position.
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
