//! Fits sources into the budget of an answer: long parts lose their last lines, and a note gives the range to read next.

use super::source::{FileRange, Source};
use crate::budget::Room;
use crate::code_text::lines::{body, split};

/// Approximate cost of the note on a cut part.
const NOTE: usize = 150;
/// Most bytes per token in practice; a text above this bound is over the budget without counting.
const BYTES: usize = 8;

/// Cuts parts until all fit. Each part has an equal share of the budget; unused shares go to longer parts.
pub fn fit(sources: &mut [Source], room: Room) {
    let whole = |part: &FileRange| cost(&part.text, part, room);
    let mut parts: Vec<(usize, usize, usize)> = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        parts.extend(source.parts.iter().enumerate().map(|(place, part)| (part.text.len(), at, place)));
    }
    let all = sources.iter().flat_map(|source| &source.parts).map(whole);
    if all.fold(0, usize::saturating_add) <= room.most {
        return;
    }
    parts.sort_unstable();
    let mut left = room.most.saturating_sub(NOTE * parts.len());
    for (before, (_, at, place)) in parts.iter().enumerate() {
        let share = left / (parts.len() - before);
        let source = &mut sources[*at];
        let part = &mut source.parts[*place];
        if whole(part) > share {
            cut_part(part, &mut source.notes, share, room);
        }
        left = left.saturating_sub(whole(part));
    }
}

/// Returns the cost of a text of a part, including its line numbers.
fn cost(text: &str, part: &FileRange, room: Room) -> usize {
    if text.len() / BYTES > room.most {
        return usize::MAX;
    }
    let shown = FileRange {
        text: text.to_owned(),
        ..part.clone()
    };
    (room.taken)(&shown.numbered())
}

/// Keeps as many leading lines as fit, or else the beginning of the first line.
fn cut_part(part: &mut FileRange, notes: &mut Vec<String>, share: usize, room: Room) {
    let lines: Vec<&str> = split(&part.text).collect();
    let fits = |text: &str| cost(text, part, room) <= share;
    let kept = most(lines.len(), |count| fits(&lines[..count].concat()));
    let wanted = part.left_out.map_or(part.end, |(_, last)| last);
    let before = part
        .left_out
        .map(|(from, to)| format!("{}: lines {from}-{to} are omitted", part.file));
    notes.retain(|note| Some(note) != before.as_ref());
    let first = body(lines.first().copied().unwrap_or_default());
    let (text, end) = if kept > 0 {
        let kept = u32::try_from(kept).unwrap_or(u32::MAX);
        (lines[..kept as usize].concat(), part.start.saturating_add(kept - 1))
    } else {
        let ends: Vec<usize> = first.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
        let shown = most(ends.len(), |count| fits(&first[..ends[count - 1]]));
        let text = &first[..shown.checked_sub(1).map_or(0, |last| ends[last])];
        let columns = text.trim_start_matches('\u{feff}').chars().count();
        notes.push(format!(
            "{}: of line {} the first {columns} of {} characters are shown: an answer here has no room for more of it",
            part.file,
            part.start,
            first.trim_start_matches('\u{feff}').chars().count()
        ));
        (text.to_owned(), part.start)
    };
    let last = split(&text).last().map_or("", body).trim_start_matches('\u{feff}');
    part.end_column = u32::try_from(last.chars().count()).unwrap_or(u32::MAX).saturating_add(1);
    part.left_out = (end < wanted).then(|| (end + 1, wanted));
    if let Some((from, to)) = part.left_out {
        let file = &part.file;
        notes.push(format!(
            "{file}: lines {from}-{to} do not fit into this answer: {file}:{from}-{to} continues"
        ));
    }
    (part.text, part.end) = (text, end);
}

/// Finds by bisection the largest number from 1 to `last` that fits; 0 when not even 1 fits. `fits` must be monotonic.
fn most(last: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut least, mut over) = (0, last + 1);
    while least + 1 < over {
        let next = usize::midpoint(least, over);
        if fits(next) {
            least = next;
        } else {
            over = next;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(file: &str, start: u32, text: &str, left_out: Option<(u32, u32)>) -> FileRange {
        let lines = u32::try_from(split(text).count()).expect("few");
        FileRange {
            file: file.to_owned(),
            start,
            start_column: 1,
            end: start + lines - 1,
            end_column: 1,
            text: text.to_owned(),
            encoding: None,
            left_out,
            excluded: Vec::new(),
        }
    }

    fn source(part: FileRange) -> Source {
        let notes = part
            .left_out
            .map(|(from, to)| format!("{}: lines {from}-{to} are omitted", part.file));
        Source {
            path: part.file.clone(),
            parts: vec![part],
            notes: notes.into_iter().collect(),
        }
    }

    fn room(most: usize) -> Room {
        Room {
            most,
            taken: str::len,
            sends_data: false,
        }
    }

    #[test]
    fn long_parts_lose_their_last_lines() {
        let long: String = (7..507).map(|line| format!("line {line}\r\n")).collect();
        let mut sources = [
            source(part("a.txt", 7, &long, Some((507, 600)))),
            source(part("b.txt", 1, "one\n", None)),
        ];
        let before = sources.clone();
        fit(&mut sources, room(100_000));
        assert_eq!(sources, before, "there is room for all");
        fit(&mut sources, room(1_000));
        assert_eq!(sources[1], before[1], "what is short stays whole");
        let [cut] = sources[0].parts.as_slice() else {
            panic!("{sources:?}")
        };
        let lines = (cut.end + 1 - cut.start) as usize;
        assert!(
            lines > 20 && long.starts_with(&cut.text) && split(&cut.text).count() == lines,
            "{cut:?}"
        );
        assert_eq!(cut.left_out, Some((cut.end + 1, 600)));
        assert_eq!(cut.end_column as usize, format!("line {}", cut.end).len() + 1);
        let from = cut.end + 1;
        let note = format!("a.txt: lines {from}-600 do not fit into this answer: a.txt:{from}-600 continues");
        assert_eq!(sources[0].notes, [note]);
    }

    #[test]
    fn of_a_line_that_does_not_fit_the_beginning_is_shown() {
        let mut sources = [source(part("a.js", 1, &format!("\u{feff}{}\nb\n", "é".repeat(5_000)), None))];
        fit(&mut sources, room(1_000));
        let cut = &sources[0].parts[0];
        let shown = cut.text.chars().count() - 1;
        assert!((300..500).contains(&shown), "{shown}");
        assert_eq!((cut.end, cut.end_column as usize, cut.left_out), (1, shown + 1, Some((2, 2))));
        assert_eq!(
            sources[0].notes[0],
            format!("a.js: of line 1 the first {shown} of 5000 characters are shown: an answer here has no room for more of it")
        );
    }

    proptest! {
        #[test]
        fn they_fit(texts in proptest::collection::vec("([a-zé]{0,30}(\n|\r\n|\r)){1,20}", 1..5), most in 0_usize..2_000) {
            let mut sources: Vec<Source> = texts.iter().map(|text| source(part("a", 1, text, None))).collect();
            fit(&mut sources, room(most));
            let taken: usize = sources.iter().map(|one| cost(&one.parts[0].text, &one.parts[0], room(usize::MAX))).sum();
            // Even a text without any budget keeps a number of tokens.
            prop_assert!(taken <= most.max(4 * texts.len()), "{sources:?}");
            for (one, text) in sources.iter().zip(&texts) {
                prop_assert!(text.starts_with(&one.parts[0].text));
                prop_assert_eq!(one.notes.is_empty(), one.parts[0].text == *text);
            }
        }
    }
}
