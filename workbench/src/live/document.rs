//! Renders the document itself: all of it, its changes, or a window of it with an outline.
//!
//! A window consists of whole blocks, and the end of a block depends only on the text and the room: a cursor that moves within its block leaves the
//! window unchanged, byte by byte.

use super::markdown_line::beginning;
use super::render::{Live, RenderedDocument};
use super::skeleton::skeleton;
use crate::budget::{Budget, estimate_bytes, tokens};
use crate::code_text::lines::{body, split};
use crate::context::forms::fence_text;
use engine::values::quantity::plural;
use std::ops::Range;

/// Limit of lines of an outline.
const OUTLINE: usize = 120;
/// An outline gets at most this fraction of the room.
const OUTLINE_PART: usize = 4;
/// Least number of blocks of a window, if a line of [`LINE`] bytes fits into each.
const BLOCKS: usize = 8;
/// Bytes of a line up to which it is not split into blocks.
const LINE: usize = 120;
/// Number of blocks before the focus, where there are as many.
const BEFORE: usize = 2;
/// Tokens for the title without its path, the fences and the words around a window.
const AROUND: usize = 48;
/// Least bytes of a line that are worth showing.
const LEAST: usize = 8;

/// The rendered document.
pub(super) struct Body {
    pub(super) text: String,
    pub(super) shown: RenderedDocument,
    /// First and last line that are shown.
    pub(super) lines: Option<(usize, usize)>,
    /// Descriptions of omitted parts.
    pub(super) cut: Vec<String>,
}

impl Live<'_> {
    fn title(&self, version: u64) -> String {
        let (path, all) = (beginning(self.path), split(self.text).count());
        format!("## Current Document\n\n{path}, version {version}, {}", plural(all, "line"))
    }

    /// Renders the document in a share of the budget: the changes since the reader's version, or else all of it, or else a window.
    pub(super) fn document(&self, budget: &Budget, share: usize) -> Body {
        let fits = |text: &str| tokens(text) <= share && budget.cost(text) <= share;
        let made = |text: String, shown, lines| Body {
            text,
            shown,
            lines,
            cut: Vec::new(),
        };
        let mut cut = Vec::new();
        if let Some((since, change)) = &self.since {
            let title = self.title(self.version);
            if change.patch.is_empty() {
                return made(format!("{title}: as in version {since}.\n\n"), RenderedDocument::Unchanged, None);
            }
            let text = format!("{title}. Since version {since}:\n{}\n", fence_text("diff", &change.patch));
            if fits(&text) {
                return made(text, RenderedDocument::Delta, change.lines);
            }
            let longer = match change.patch.len() > self.text.len() {
                true => ", which is longer than the document",
                false => "",
            };
            cut.push(format!("the difference to version {since}{longer}"));
        }
        if tokens(self.text) <= share {
            let all = split(self.text).count();
            let text = format!("{}:\n{}\n", self.title(self.made), fence_text("", self.text));
            if fits(&text) {
                return Body {
                    cut,
                    ..made(text, RenderedDocument::Whole, (all > 0).then_some((1, all)))
                };
            }
        }
        let mut room = share;
        loop {
            let mut window = self.window(room);
            if window.lines.is_none() || fits(&window.text) {
                window.cut.splice(0..0, cut);
                return window;
            }
            room = room / 8 * 7;
        }
    }

    /// Renders a window of about `room` tokens around the focus, and an outline.
    fn window(&self, room: usize) -> Body {
        let title = self.title(self.made);
        let outline = self.outline(room / OUTLINE_PART);
        let room = estimate_bytes(room.saturating_sub(tokens(self.path) + tokens(&outline) + AROUND));
        let at = byte_at(self.text, self.focus());
        let shown = match room < LEAST {
            true => 0..0,
            false => blocks_around(&blocks(self.text, (room / BLOCKS).max(room.min(LINE))), at, room),
        };
        if shown.is_empty() {
            return Body {
                text: format!("{title}. No line of it fits the budget.\n\n{outline}"),
                shown: RenderedDocument::Window,
                lines: None,
                cut: vec!["all lines of the document".to_owned()],
            };
        }
        let (what, lines, cut) = describe_range(self.text, &shown);
        Body {
            text: format!("{title}. {what}:\n{}\n{outline}", fence_text("", &self.text[shown])),
            shown: RenderedDocument::Window,
            lines: Some(lines),
            cut,
        }
    }

    /// Renders an outline of at most `most` tokens.
    fn outline(&self, most: usize) -> String {
        let mut kept = String::new();
        for (number, line) in skeleton(self.text, OUTLINE) {
            let line = format!("{number:>6} {line}\n");
            if tokens(&kept) + tokens(&line) > most {
                break;
            }
            kept.push_str(&line);
        }
        match kept.is_empty() {
            true => kept,
            false => format!("Outline:\n{}\n", fence_text("", &kept)),
        }
    }

    /// Returns the line and column of the focus: the cursor's, else those of the changes since the reader's version, else of the last change.
    fn focus(&self) -> (usize, usize) {
        if let Some(line) = self.editor.line {
            return (line, self.editor.column.unwrap_or(1));
        }
        let since = self.since.as_ref().map(|(_, change)| change);
        let changed = since
            .or(self.changed)
            .and_then(|change| Some((change.lines?.0, change.column.unwrap_or(1))));
        changed.unwrap_or((1, 1))
    }
}

/// Returns the byte offset of a line and column, or the nearest one inside the text.
fn byte_at(text: &str, (number, column): (usize, usize)) -> usize {
    let mut begin = 0;
    for (at, line) in (1..).zip(split(text)) {
        if at == number {
            let characters = body(line).char_indices();
            return begin + characters.map(|(at, _)| at).nth(column.max(1) - 1).unwrap_or(body(line).len());
        }
        begin += line.len();
    }
    begin
}

/// Splits a text into blocks of at most `most` bytes: groups of whole lines, and parts of longer lines.
fn blocks(text: &str, most: usize) -> Vec<Range<usize>> {
    let most = most.max(4);
    let mut blocks = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for line in split(text) {
        if end + line.len() - begin > most && begin < end {
            blocks.push(begin..end);
            begin = end;
        }
        let behind = end + line.len();
        // The end of a line stays with its last part.
        while end + body(&text[end..behind]).len() - begin > most {
            let part = text.floor_char_boundary(begin + most);
            blocks.push(begin..part);
            (begin, end) = (part, part);
        }
        end = behind;
    }
    if begin < end {
        blocks.push(begin..end);
    }
    blocks
}

/// Returns a range of blocks around a byte within `room` bytes: a few before it, then those after it, then more before it.
fn blocks_around(blocks: &[Range<usize>], at: usize, room: usize) -> Range<usize> {
    let Some(most) = blocks.len().checked_sub(1) else {
        return 0..0;
    };
    let middle = blocks.partition_point(|block| block.end <= at).min(most);
    let (mut first, mut last) = (middle.saturating_sub(BEFORE), middle);
    let long = |first: usize, last: usize| blocks[last].end - blocks[first].start;
    while first < middle && long(first, middle) > room {
        first += 1;
    }
    while last < most && long(first, last + 1) <= room {
        last += 1;
    }
    while first > 0 && long(first - 1, last) <= room {
        first -= 1;
    }
    blocks[first].start..blocks[last].end
}

/// Describes a shown range of a text: a sentence, its first and last line, and the cuts.
fn describe_range(text: &str, shown: &Range<usize>) -> (String, (usize, usize), Vec<String>) {
    let mut cut = Vec::new();
    let (mut begin, mut first, mut last) = (0, 1, 1);
    // First and last shown character of a partly shown line, and its number of characters.
    let (mut from, mut to) = (None, None);
    let mut all = 0;
    for (number, line) in (1..).zip(split(text)) {
        let end = begin + line.len();
        let characters = |text: &str| body(text).chars().count();
        if (begin..end).contains(&shown.start) {
            first = number;
            from = (begin < shown.start).then(|| (characters(&text[begin..shown.start]) + 1, characters(line)));
        }
        if begin < shown.end && shown.end <= end {
            last = number;
            to = (shown.end < end).then(|| (characters(&text[begin..shown.end]), characters(line)));
        }
        all = number;
        begin = end;
    }
    if first > 1 || last < all {
        cut.push("lines of the document outside of the window".to_owned());
    }
    let mut partial: Vec<usize> = from.map(|_| first).into_iter().chain(to.map(|_| last)).collect();
    partial.dedup();
    cut.extend(partial.iter().map(|number| format!("the rest of line {number}")));
    let what = match from.or(to) {
        Some((_, all)) if first == last => {
            let (from, to) = (from.map_or(1, |(from, _)| from), to.map_or(all, |(to, _)| to));
            format!("Line {first}, characters {from} to {to} of {all}")
        }
        _ => {
            let from = from.map(|(from, all)| format!(", line {first} from character {from} of {all}"));
            let to = to.map(|(to, all)| format!(", line {last} to character {to} of {all}"));
            format!("Lines {first} to {last}{}{}", from.unwrap_or_default(), to.unwrap_or_default())
        }
    };
    (what, (first, last), cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cursor_that_moves_within_its_block_leaves_the_window() {
        let text: String = (1..=1000).map(|number| format!("line {number}\n")).collect();
        let blocks = blocks(&text, 200);
        let windows: Vec<Range<usize>> = (1..=1000)
            .map(|line| blocks_around(&blocks, byte_at(&text, (line, 3)), 1600))
            .collect();
        for (line, window) in (1..).zip(&windows) {
            assert!(text[window.clone()].contains(&format!("line {line}\n")), "{line}");
            assert!((1200..=1600).contains(&window.len()), "{line}: {}", window.len());
        }
        let mut steps = windows;
        steps.dedup();
        assert!(steps.len() <= blocks.len(), "{} of {}", steps.len(), blocks.len());
    }

    proptest! {
        #[test]
        fn blocks_are_the_text(text in "([aé]{0,20}(\r\n|\r|\n)?){0,20}", most in 0_usize..40, at in 0_usize..200) {
            let blocks = blocks(&text, most);
            let joined: String = blocks.iter().map(|block| &text[block.clone()]).collect();
            prop_assert_eq!(&joined, &text);
            prop_assert!(blocks.iter().all(|block| !block.is_empty() && block.len() <= most.max(4) + 2));
            let at = at.min(text.len());
            let shown = blocks_around(&blocks, at, 8 * (most.max(4) + 2));
            prop_assert!(text.is_empty() || shown.contains(&at) || at == text.len() && shown.end == at);
            if !shown.is_empty() {
                let (_, (first, last), cut) = describe_range(&text, &shown);
                prop_assert!(1 <= first && first <= last && last <= split(&text).count());
                prop_assert_eq!(cut.is_empty(), shown == (0..text.len()));
            }
        }

        #[test]
        fn places_are_those_of_lines_and_columns(text in "[aé\r\n]{0,12}", at in 0_usize..12) {
            let at = text.floor_char_boundary(at.min(text.len()));
            let before = &text[..at];
            let number = split(before).filter(|line| body(line) != *line).count() + 1;
            let column = before.chars().rev().take_while(|c| !matches!(c, '\r' | '\n')).count() + 1;
            prop_assume!(!(before.ends_with('\r') && text[at..].starts_with('\n')));
            prop_assert_eq!(byte_at(&text, (number, column)), at);
        }
    }
}
