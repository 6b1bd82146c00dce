//! Text made from values: for people, coloured and as wide as a [`Style`] says, and as HTML. It knows no terminal.

pub mod builds;
pub mod codes;
pub mod diagnostic;
pub mod line_diff;
pub mod money;
pub mod page;
pub mod report;
pub mod result_facts;
pub mod store_maintenance;
pub mod summary;

use engine::values::visible::is_invisible;
use std::time::{Duration, UNIX_EPOCH};
use unicode_width::UnicodeWidthStr;

/// Style of an output: whether it is coloured, and the width of its lines on a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    coloured: bool,
    columns: Option<usize>,
}

impl Style {
    /// Creates the style of an output; `columns` is the width of its terminal, if it is one.
    pub fn new(coloured: bool, columns: Option<usize>) -> Self {
        Self { coloured, columns }
    }

    pub fn is_coloured(self) -> bool {
        self.coloured
    }

    /// Returns a style without colours and width.
    pub fn plain() -> Self {
        Self {
            coloured: false,
            columns: None,
        }
    }

    /// Breaks a line between words if it is wider than the terminal; the following lines are indented by `indent` columns.
    pub fn fitted(self, line: &str, indent: usize) -> String {
        match self.columns {
            Some(columns) if visible_width(line) > columns => page::break_line(line, indent, columns),
            _ => line.to_owned(),
        }
    }

    fn paint(self, style: anstyle::Style, text: &str) -> String {
        if self.coloured {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    pub fn bold(self, text: &str) -> String {
        self.paint(anstyle::Style::new().bold(), text)
    }

    /// Dims secondary text.
    pub fn dim(self, text: &str) -> String {
        self.paint(anstyle::Style::new().dimmed(), text)
    }

    pub fn red(self, text: &str) -> String {
        self.paint(anstyle::AnsiColor::Red.on_default().bold(), text)
    }

    /// Colours warnings and stale targets.
    pub fn yellow(self, text: &str) -> String {
        self.paint(anstyle::AnsiColor::Yellow.on_default().bold(), text)
    }

    pub fn green(self, text: &str) -> String {
        self.paint(anstyle::AnsiColor::Green.on_default().bold(), text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.paint(anstyle::AnsiColor::Cyan.on_default(), text)
    }
}

/// Returns the columns that a text takes, without colour sequences.
pub fn visible_width(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().map_or(0, UnicodeWidthStr::width);
    let behind = |part: &str| part.split_once('m').map_or(0, |(_, shown)| shown.width());
    first + parts.map(behind).sum::<usize>()
}

/// Escapes text from sources, stores or programs for printing: all invisible characters but line ends and tabs.
pub fn printable(text: &str) -> String {
    let safe = |c: char| !is_invisible(c) || matches!(c, '\n' | '\t');
    if text.chars().all(safe) {
        return text.to_owned();
    }
    let mut printed = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        // A lone carriage return would let the line be overwritten.
        let ends_a_line = c == '\r' && characters.peek() == Some(&'\n');
        if safe(c) || ends_a_line {
            printed.push(c)
        } else {
            printed.extend(c.escape_default())
        }
    }
    printed
}

/// Escapes text for one line: also line ends and tabs.
pub fn on_one_line(text: &str) -> String {
    printable(text).replace('\r', "\\r").replace('\n', "\\n").replace('\t', "\\t")
}

/// Formats a duration for people: `340 µs`, `12 ms`, `1.4 s`, `3 min 20 s`.
pub fn duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{} ms", micros / 1_000),
        1_000_000..100_000_000 => format!("{}.{} s", micros / 1_000_000, micros / 100_000 % 10),
        _ => format!("{} min {} s", micros / 60_000_000, micros / 1_000_000 % 60),
    }
}

/// Formats a point in time for people, in UTC: `2026-11-21 12:04 UTC`.
pub fn moment(secs: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_secs(secs);
    let text = humantime::format_rfc3339_seconds(at).to_string();
    // `2026-11-21T21:40:00Z`, without its seconds.
    format!("{} {} UTC", &text[..10], &text[11..16])
}

/// Formats a size for people: `12 bytes`, `3.4 KiB`, `1.0 GiB`.
pub fn format_size(bytes: u64) -> String {
    match bytes {
        1 => return "1 byte".to_owned(),
        0..1_024 => return format!("{bytes} bytes"),
        _ => {}
    }
    let (mut tenths, mut unit) = (bytes.saturating_mul(10) / 1_024, 0);
    while tenths >= 10_240 && unit < 3 {
        tenths /= 1_024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, ["KiB", "MiB", "GiB", "TiB"][unit])
}

/// Formats a number of things: `1 file`, `12,345 files`.
pub fn plural(number: u64, what: &str) -> String {
    format!("{} {what}{}", format_count(number), if number == 1 { "" } else { "s" })
}

/// Formats a number with separated thousands: `12,345`.
pub fn format_count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(format_count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [1, 12, 3_500, 1 << 30].map(format_size),
            ["1 byte", "12 bytes", "3.4 KiB", "1.0 GiB"]
        );
        assert_eq!(
            [0, 951_782_400, 1_795_262_640].map(moment),
            ["1970-01-01 00:00 UTC", "2000-02-29 00:00 UTC", "2026-11-21 12:04 UTC"]
        );
        assert_eq!(
            [5, 12_345, 1_450_000, 200_000_000].map(duration),
            ["5 µs", "12 ms", "1.4 s", "3 min 20 s"]
        );
    }

    #[test]
    fn control_characters_are_shown_not_sent() {
        assert_eq!(printable("a\u{1b}[31mb\tc\n"), "a\\u{1b}[31mb\tc\n");
        assert_eq!(printable("a\u{202e}b\u{200b}c\u{feff}é"), "a\\u{202e}b\\u{200b}c\\u{feff}é");
        assert_eq!(on_one_line("a\nb\tc\r"), "a\\nb\\tc\\r");
    }
}
