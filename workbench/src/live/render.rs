//! The live context as sections of Markdown, in an order that never changes, within a budget of tokens.
//!
//! What does not fit is cut in this order: recent differences but the last, oldest first; the anchor's difference; plans but the last; the last
//! difference, if it alone takes more than half of the budget; then the document is shown as a window around the cursor or the last change with an outline, and the window gets smaller, at last a part of one line.
//! What was cut is said.
//!
//! Caches of models know a text by its beginning: what comes later, a try that failed or a cursor that moved, leaves the bytes before it as they
//! are.

use super::difference::Difference;
use super::editor::Editor;
use super::journal::{Plan, Version};
use super::skeleton::skeleton;
use crate::context::forms::fence;
use crate::edit::lines::{body, split};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Recent differences that are shown.
pub const RECENT: usize = 5;
/// Lines of an outline.
const OUTLINE: usize = 120;
/// Tokens of an outline are a part of the budget like this one, at most.
const OUTLINE_PART: usize = 4;
/// The room of a window is a multiple of such a part of the budget: it stays the same when what stands below gets a word more.
const ROOM_PART: usize = 32;
/// Tokens for the fences and the words around a window.
const AROUND: usize = 24;

/// What is known of a document, to be shown.
#[derive(Clone, Debug)]
pub struct Live<'l> {
    /// Its path.
    pub path: &'l str,
    /// Its text.
    pub text: &'l str,
    /// The number of its version.
    pub version: u64,
    /// The number of the version that its text came with: tries that failed since left it.
    pub made: u64,
    /// The version that the reader has, with what was changed since; then the text itself is not shown.
    pub since: Option<(u64, Difference)>,
    /// Versions, newest first.
    pub recent: Vec<&'l Version>,
    /// The anchor: what it is called, its number, and what was changed since.
    pub anchor: Option<(String, u64, Difference)>,
    /// The editor.
    pub editor: &'l Editor,
    /// Plans, newest first.
    pub plans: Vec<&'l Plan>,
    /// A moment in words.
    pub moment: fn(u64) -> String,
}

/// A section.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Section {
    /// Its kind; always `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its Markdown.
    pub text: String,
}

/// How the document itself is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shown {
    /// All of it.
    Whole,
    /// Some lines of it, and an outline.
    Window,
    /// What was changed since the version that the reader has.
    Delta,
    /// It is as the reader has it.
    Unchanged,
}

/// The sections.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// In their order.
    pub sections: Vec<Section>,
    /// How the document is shown.
    pub shown: Shown,
    /// First and last line that are shown of it.
    pub lines: Option<(usize, usize)>,
    /// What was cut.
    pub cut: Vec<String>,
    /// About how many tokens they are.
    pub tokens: usize,
}

/// About how many tokens a text is: 3.3 bytes each.
pub fn tokens(text: &str) -> usize {
    text.len().saturating_mul(10).div_ceil(33)
}

/// The document as it is shown.
struct Body {
    text: String,
    shown: Shown,
    /// First and last line that are shown.
    lines: Option<(usize, usize)>,
}

impl Live<'_> {
    /// The sections within a budget.
    pub fn render(&self, budget: usize) -> Rendered {
        let mut shown = self.clone();
        let mut cut = Vec::new();
        let mut document = self.document();
        loop {
            let sections = shown.sections(&document.text);
            let total: usize = sections.iter().map(|section| tokens(&section.text)).sum();
            let done = |cut| Rendered {
                sections,
                shown: document.shown,
                lines: document.lines,
                cut,
                tokens: total,
            };
            if total <= budget {
                return done(cut);
            }
            let room = budget.saturating_sub(total - tokens(&document.text));
            if shown.recent.len() > 1 {
                let oldest = shown.recent.pop();
                cut.extend(oldest.map(|one| format!("the difference of version {}", one.number)));
            } else if let Some((name, ..)) = shown.anchor.take() {
                cut.push(format!("the difference to {name}"));
            } else if shown.plans.len() > 1 {
                shown.plans.pop();
                cut.push("an earlier plan".to_owned());
            } else if shown.recent.first().is_some_and(|last| tokens(&last.change.patch) > budget / 2) {
                shown.recent.clear();
                cut.push("the last difference".to_owned());
            } else if let Some((since, change)) = shown.since.take_if(|_| document.shown == Shown::Delta) {
                // The document may be shorter than how it came to be so.
                if change.patch.len() > self.text.len() {
                    cut.push(format!("the difference to version {since}, which is longer than the document"));
                    document = shown.document();
                } else {
                    document = self.window(room, room_step(budget), &mut cut);
                }
            } else if document.shown == Shown::Whole {
                document = self.window(room, room_step(budget), &mut cut);
            } else if shown.recent.pop().is_some() {
                cut.push("the last difference".to_owned());
            } else {
                return done(cut);
            }
        }
    }

    fn sections(&self, document: &str) -> Vec<Section> {
        let section = |text: String| Section {
            kind: "text".to_owned(),
            text,
        };
        let mut recent = String::from("## Recent Diffs (new→old)\n\n");
        for version in &self.recent {
            let when = (self.moment)(version.at);
            let what = version.what.as_ref().map(|what| format!(", {}", line(what))).unwrap_or_default();
            recent.push_str(&format!(
                "- Version {}: {} by {}{what}\n",
                version.number,
                when,
                line(&version.author)
            ));
            match &version.failed {
                Some(why) => recent.push_str(&format!("  FAILED, nothing was changed: {}\n", line(why))),
                None if version.same => recent.push_str("  saved, the text is as before\n"),
                None if version.change.patch.is_empty() => recent.push_str("  first seen\n"),
                None => recent.push_str(&fenced("diff", &version.change.patch)),
            }
        }
        let anchor = match &self.anchor {
            None => String::new(),
            Some((name, number, change)) if change.patch.is_empty() => {
                format!("## Anchor Diff\n\nNothing differs from {} (version {number}).\n\n", line(name))
            }
            Some((name, number, change)) => format!(
                "## Anchor Diff\n\nSince {} (version {number}):\n{}\n",
                line(name),
                fenced("diff", &change.patch)
            ),
        };
        let mut editor = format!("## Editor State\n\n- File: {}\n", line(self.path));
        if let Some(at) = self.editor.line {
            let column = self.editor.column.map(|column| format!(", column {column}")).unwrap_or_default();
            editor.push_str(&format!("- Cursor: line {at}{column}\n"));
        }
        if let Some(selection) = &self.editor.selection {
            editor.push_str(&format!("- Selection: {}\n", line(selection)));
        }
        let mut plans = String::new();
        for plan in &self.plans {
            let result = plan.result.as_ref().map_or("not known yet".to_owned(), |result| line(result));
            plans.push_str(&format!(
                "- At version {}: {}\n  Result: {result}\n",
                plan.version,
                line(&plan.plan)
            ));
        }
        let plans = if plans.is_empty() {
            plans
        } else {
            format!("## Plan Hints\n\n{plans}\n")
        };
        let title = "# Live Context\n\n".to_owned();
        let all = [
            title,
            document.to_owned(),
            format!("{recent}\n"),
            anchor,
            format!("{editor}\n"),
            plans,
        ];
        all.into_iter().filter(|text| !text.is_empty()).map(section).collect()
    }

    fn title(&self, version: u64) -> String {
        let (path, all) = (beginning(self.path), split(self.text).count());
        let plural = if all == 1 { "" } else { "s" };
        format!("## Current Document\n\n{path}, version {version}, {all} line{plural}")
    }

    /// The document: what was changed since the reader's version, or all of it.
    fn document(&self) -> Body {
        let (text, shown, lines) = match &self.since {
            Some((since, change)) if change.patch.is_empty() => {
                let title = self.title(self.version);
                (format!("{title}: as in version {since}.\n\n"), Shown::Unchanged, None)
            }
            Some((since, change)) => {
                let (title, patch) = (self.title(self.version), fenced("diff", &change.patch));
                (format!("{title}. Since version {since}:\n{patch}\n"), Shown::Delta, change.lines)
            }
            None => {
                let (title, all) = (self.title(self.made), split(self.text).count());
                let text = format!("{title}:\n{}\n", fenced("", self.text));
                (text, Shown::Whole, (all > 0).then_some((1, all)))
            }
        };
        Body { text, shown, lines }
    }

    /// The document in so many tokens: a window around the line that matters most, or the part of that line that fits, and an outline.
    fn window(&self, room: usize, step: usize, cut: &mut Vec<String>) -> Body {
        let room = room - room % step;
        let title = self.title(self.made);
        let outline: String = skeleton(self.text, OUTLINE)
            .into_iter()
            .map(|(number, line)| format!("{number:>6} {line}\n"))
            .collect();
        let mut kept: String = String::new();
        for line in outline.split_inclusive('\n') {
            if tokens(&kept) + tokens(line) > room / OUTLINE_PART {
                break;
            }
            kept.push_str(line);
        }
        let outline = if kept.is_empty() {
            kept
        } else {
            format!("Outline:\n{}\n", fenced("", &kept))
        };
        let lines: Vec<&str> = split(self.text).collect();
        let at = self.middle().clamp(1, lines.len().max(1));
        let room = room.saturating_sub(tokens(&title) + tokens(&outline) + AROUND);
        let (first, last) = window(&lines, at, room);
        if first <= last || lines.len() > 1 {
            cut.push("lines of the document outside of the window".to_owned());
        }
        let (what, shown) = if first <= last {
            (format!("Lines {first} to {last}"), lines[first - 1..last].concat())
        } else {
            let whole = lines.get(at - 1).map_or("", |line| body(line));
            let column = self.editor.column.filter(|_| self.editor.line == Some(at)).unwrap_or(1);
            let (from, part) = part(whole, column, room);
            if part.is_empty() {
                cut.push("all lines of the document".to_owned());
                let text = format!("{title}. No line of it fits the budget.\n\n{outline}");
                return Body {
                    text,
                    shown: Shown::Window,
                    lines: None,
                };
            }
            cut.push(format!("the rest of line {at}"));
            let (to, all) = (from + part.chars().count() - 1, whole.chars().count());
            (format!("Line {at}, characters {from} to {to} of {all}"), part.to_owned())
        };
        Body {
            text: format!("{title}. {what}:\n{}\n{outline}", fenced("", &shown)),
            shown: Shown::Window,
            lines: Some((first.min(at), last.max(at))),
        }
    }

    /// The line that matters most: the cursor's, else the last change's, else the first.
    fn middle(&self) -> usize {
        let changed = self.recent.iter().find_map(|version| version.change.lines).map(|(first, _)| first);
        self.editor.line.or(changed).unwrap_or(1)
    }
}

/// Of what the room of a window is a multiple.
fn room_step(budget: usize) -> usize {
    (budget / ROOM_PART).max(1)
}

/// The part of a line around a column that takes so many tokens, and the number of its first character. A third of it stands before the column.
fn part(line: &str, column: usize, room: usize) -> (usize, &str) {
    let most = room.saturating_mul(33) / 10;
    let cursor = line.char_indices().nth(column - 1).map_or(line.len(), |(at, _)| at);
    let first = cursor.saturating_sub(most / 3).min(line.len().saturating_sub(most));
    let first = line.ceil_char_boundary(first);
    let last = line.floor_char_boundary(first.saturating_add(most));
    (line[..first].chars().count() + 1, &line[first..last])
}

/// First and last of the lines around a line that take so many tokens together.
fn window(lines: &[&str], around: usize, room: usize) -> (usize, usize) {
    let cost = |at: usize| lines.get(at - 1).map(|line| tokens(line));
    let (mut first, mut last) = (around, around - 1);
    let mut used = 0;
    loop {
        let before = first.checked_sub(1).filter(|at| *at >= 1).and_then(cost);
        let behind = cost(last + 1);
        // Twice as much of what follows is shown as of what stands before.
        let forward = match (before, behind) {
            (None, None) => return (first, last),
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (Some(_), Some(_)) => last + 1 - around <= 2 * (around - first),
        };
        let next = if forward { behind } else { before }.unwrap_or_default();
        if used + next > room {
            return (first, last);
        }
        used += next;
        if forward { last += 1 } else { first -= 1 }
    }
}

/// A block that no line of its text ends.
fn fenced(language: &str, text: &str) -> String {
    let fence = fence(text);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// A text at the beginning of a line of Markdown, where it opens neither a block nor a heading.
fn beginning(text: &str) -> String {
    let text = line(text);
    let opens = text.starts_with(['`', '~', '#', '>', '-', '+', '*', '=', '|', '<']);
    if opens { format!("\\{text}") } else { text }
}

/// A text in one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn version(number: u64, author: &str, failed: Option<&str>, patch: &str) -> Version {
        Version {
            number,
            at: number,
            author: author.to_owned(),
            what: Some("tidy\nup".to_owned()),
            edit: None,
            failed: failed.map(str::to_owned),
            same: false,
            digest: String::new(),
            change: Difference {
                patch: patch.to_owned(),
                lines: Some((2, 2)),
            },
        }
    }

    fn live<'l>(text: &'l str, recent: Vec<&'l Version>, editor: &'l Editor) -> Live<'l> {
        Live {
            path: "src/A.cs",
            text,
            version: 3,
            made: 3,
            since: None,
            recent,
            anchor: None,
            editor,
            plans: Vec::new(),
            moment: |at| format!("moment {at}"),
        }
    }

    fn joined(rendered: &Rendered) -> String {
        rendered.sections.iter().map(|section| section.text.as_str()).collect()
    }

    #[test]
    fn sections_in_their_order() {
        let (agent, person) = (
            version(3, "agent", Some("no such line"), ""),
            version(2, "person", None, "@@ -1 +1 @@\n-a\n+```\n"),
        );
        let editor = Editor {
            line: Some(2),
            column: Some(5),
            selection: Some("2:1-2:5".to_owned()),
        };
        let plan = Plan {
            plan: "rename".to_owned(),
            session: None,
            result: None,
            version: 2,
        };
        let mut live = live("a\n```\nb", vec![&agent, &person], &editor);
        live.plans = vec![&plan];
        live.anchor = Some(("anchor 'green'".to_owned(), 1, Difference::of("a\n", "a\nb\n")));
        let made = live.render(10_000);
        assert_eq!((made.shown, made.lines, made.cut.len()), (Shown::Whole, Some((1, 3)), 0));
        insta::assert_snapshot!(joined(&made), @r"
        # Live Context

        ## Current Document

        src/A.cs, version 3, 3 lines:
        ````
        a
        ```
        b
        ````

        ## Recent Diffs (new→old)

        - Version 3: moment 3 by agent, tidy up
          FAILED, nothing was changed: no such line
        - Version 2: moment 2 by person, tidy up
        ````diff
        @@ -1 +1 @@
        -a
        +```
        ````

        ## Anchor Diff

        Since anchor 'green' (version 1):
        ```diff
        @@ -1 +1,2 @@
         a
        +b
        ```

        ## Editor State

        - File: src/A.cs
        - Cursor: line 2, column 5
        - Selection: 2:1-2:5

        ## Plan Hints

        - At version 2: rename
          Result: not known yet
        ");
        // Nothing that is told opens a block or a section.
        (live.path, live.anchor) = ("```x.txt", Some(("x\n\n## Plan Hints".to_owned(), 1, Difference::default())));
        let told = joined(&live.render(10_000));
        assert!(
            told.contains("\n\\```x.txt, version") && told.contains("from x ## Plan Hints (version 1)"),
            "{told}"
        );
        live.since = Some((3, Difference::default()));
        assert_eq!(live.render(10_000).shown, Shown::Unchanged);
        live.since = Some((1, Difference::of("x\n", "y\n")));
        let delta = live.render(10_000);
        assert!(delta.shown == Shown::Delta && joined(&delta).contains("Since version 1:\n```diff\n@@ -1 +1 @@\n-x\n+y\n```\n"));
    }

    #[test]
    fn what_does_not_fit_is_cut_in_order() {
        let text: String = (1..=400).map(|number| format!("line {number}\n")).collect();
        let versions: Vec<Version> = (1..=3).map(|number| version(number, "tool", None, &"+x\n".repeat(30))).collect();
        let editor = Editor {
            line: Some(200),
            ..Editor::default()
        };
        let mut live = live(&text, versions.iter().rev().collect(), &editor);
        live.anchor = Some(("the version of before".to_owned(), 1, Difference::of("", &"y\n".repeat(100))));
        let whole = live.render(100_000);
        let mut before = whole.tokens + 1;
        let mut steps = Vec::new();
        while before > 150 {
            let made = live.render(before - 1);
            if steps.last() != Some(&made.cut) {
                steps.push(made.cut.clone());
            }
            assert!(made.tokens < before, "{before}");
            if let (Shown::Window, Some((first, last))) = (made.shown, made.lines) {
                assert!(first <= 200 && 200 <= last, "{first} {last}");
                assert!(joined(&made).contains("line 200\n"));
            }
            before = made.tokens;
        }
        let last = steps.last().expect("steps").join("; ");
        assert_eq!(
            last,
            "the difference of version 1; the difference of version 2; the difference to the version of before; lines of the document outside of the window"
        );
        assert!(steps.windows(2).all(|two| two[1].starts_with(&two[0])), "{steps:?}");
    }

    #[test]
    fn a_line_longer_than_the_budget_is_cut_inside() {
        let text = format!("a\n{}END\r\nb\n", "é".repeat(5000));
        for (column, from, last) in [(1, 1, false), (2500, 2000, false), (5003, 4000, true)] {
            let editor = Editor {
                line: Some(2),
                column: Some(column),
                ..Editor::default()
            };
            let made = live(&text, Vec::new(), &editor).render(400);
            let told = joined(&made);
            assert!(made.tokens <= 400 && made.tokens > 300, "{}", made.tokens);
            assert_eq!((made.shown, made.lines), (Shown::Window, Some((2, 2))));
            assert_eq!(made.cut, ["lines of the document outside of the window", "the rest of line 2"]);
            let numbers = told
                .split("Line 2, characters ")
                .nth(1)
                .and_then(|behind| behind.split(" of 5003:\n").next());
            let (first, end) = numbers.and_then(|told| told.split_once(" to ")).expect("numbers");
            let (first, end): (usize, usize) = (first.parse().expect("a number"), end.parse().expect("a number"));
            assert!(first >= from && first <= column && column <= end, "{first} {column} {end}");
            assert_eq!(
                (told.contains("END\n```"), told.matches('é').count()),
                (last, end.min(5000) + 1 - first)
            );
        }
        let editor = Editor::default();
        let made = live(&text, Vec::new(), &editor).render(1);
        assert!(joined(&made).contains("No line of it fits the budget."), "{made:?}");
    }

    #[test]
    fn what_comes_later_leaves_the_beginning_as_it_is() {
        let text: String = (1..=400).map(|number| format!("line {number}\n")).collect();
        let (made, failed) = (version(3, "agent", None, "+x\n"), version(4, "agent", Some("no such line"), ""));
        let editors = [(200, 1), (200, 17)].map(|(line, column)| Editor {
            line: Some(line),
            column: Some(column),
            ..Editor::default()
        });
        for budget in [100_000, 600] {
            let before = live(&text, vec![&made], &editors[0]).render(budget);
            let document = |of: &Rendered| of.sections[1].text.clone();
            let later = Live {
                version: 4,
                ..live(&text, vec![&failed, &made], &editors[0])
            };
            assert_eq!(
                document(&later.render(100_000)),
                document(&live(&text, vec![&made], &editors[0]).render(100_000))
            );
            let moved = live(&text, vec![&made], &editors[1]).render(budget);
            assert_eq!(before.sections[..3], moved.sections[..3], "the cursor stands below");
        }
    }

    #[test]
    fn a_document_that_is_shorter_than_its_difference_is_shown() {
        let (editor, old) = (Editor::default(), "old line\n".repeat(200));
        let mut live = live("new\n", Vec::new(), &editor);
        live.since = Some((1, Difference::of(&old, "new\n")));
        assert_eq!(live.render(10_000).shown, Shown::Delta);
        let made = live.render(200);
        assert!(made.shown == Shown::Whole && joined(&made).contains("```\nnew\n```"), "{made:?}");
        assert_eq!(made.cut, ["the difference to version 1, which is longer than the document"]);
    }

    proptest! {
        #[test]
        fn parts_of_lines_are_parts(text in "[aé漢😀]{0,40}", column in 1_usize..60, room in 0_usize..40) {
            let (from, part) = part(&text, column, room);
            prop_assert!(tokens(part) <= room, "{}", part);
            let same: String = text.chars().skip(from - 1).take(part.chars().count()).collect();
            prop_assert_eq!(part, same);
        }

        #[test]
        fn any_document_can_be_shown(text in "[a`#{\n ]{0,80}", line in 0_usize..200, budget in 0_usize..400) {
            let editor = Editor { line: Some(line), ..Editor::default() };
            let made = live(&text, Vec::new(), &editor).render(budget);
            if made.shown == Shown::Whole {
                let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
                let fence = "`".repeat(3.max(longest + 1));
                let block = format!("{fence}\n{text}");
                prop_assert!(joined(&made).contains(&block));
            }
        }
    }
}
