//! The live context as sections of Markdown, in an order that never changes, within a budget of tokens.
//!
//! What does not fit is cut in this order: recent differences but the last, oldest first; the anchor's difference; plans but the last; then the
//! document is shown as a window around the cursor or the last change with an outline, and the window gets smaller. What was cut is said.

use super::difference::Difference;
use super::journal::{Editor, Plan, Version};
use super::skeleton::skeleton;
use crate::context::forms::fence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Recent differences that are shown.
pub const RECENT: usize = 5;
/// Lines of an outline.
const OUTLINE: usize = 120;
/// Tokens of an outline are a part of the budget like this one, at most.
const OUTLINE_PART: usize = 4;

/// What is known of a document, to be shown.
#[derive(Clone, Debug)]
pub struct Live<'l> {
    /// Its path.
    pub path: &'l str,
    /// Its text.
    pub text: &'l str,
    /// The number of its version.
    pub version: u64,
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

impl Live<'_> {
    /// The sections within a budget.
    pub fn render(&self, budget: usize) -> Rendered {
        let mut shown = self.clone();
        let mut cut = Vec::new();
        let (mut document, mut form, mut lines) = self.document(None);
        loop {
            let sections = shown.sections(&document);
            let total: usize = sections.iter().map(|section| tokens(&section.text)).sum();
            if total <= budget {
                return Rendered {
                    sections,
                    shown: form,
                    lines,
                    cut,
                    tokens: total,
                };
            }
            let without = total - tokens(&document);
            if shown.recent.len() > 1 {
                let oldest = shown.recent.pop();
                cut.extend(oldest.map(|one| format!("the difference of version {}", one.number)));
            } else if let Some((name, ..)) = shown.anchor.take() {
                cut.push(format!("the difference to {name}"));
            } else if shown.plans.len() > 1 {
                shown.plans.pop();
                cut.push("an earlier plan".to_owned());
            } else if form == Shown::Whole || form == Shown::Delta {
                let room = budget.saturating_sub(without);
                (document, form, lines) = self.document(Some(room));
                cut.push("lines of the document outside of the window".to_owned());
            } else if shown.recent.pop().is_some() {
                cut.push("the last difference".to_owned());
            } else {
                return Rendered {
                    sections,
                    shown: form,
                    lines,
                    cut,
                    tokens: total,
                };
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
                None if version.change.patch.is_empty() => recent.push_str("  first seen\n"),
                None => recent.push_str(&fenced("diff", &version.change.patch)),
            }
        }
        let anchor = match &self.anchor {
            None => String::new(),
            Some((name, number, change)) if change.patch.is_empty() => {
                format!("## Anchor Diff\n\nNothing differs from {name} (version {number}).\n\n")
            }
            Some((name, number, change)) => format!(
                "## Anchor Diff\n\nSince {name} (version {number}):\n{}\n",
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

    /// The document: what was changed since the reader's version, or all of it, or in so many tokens a window with an outline.
    fn document(&self, room: Option<usize>) -> (String, Shown, Option<(usize, usize)>) {
        let all = self.text.lines().count();
        let title = format!("## Current Document\n\n{}, version {}, {all} lines", line(self.path), self.version);
        let Some(room) = room else {
            return match &self.since {
                Some((since, change)) if change.patch.is_empty() => {
                    (format!("{title}: as in version {since}.\n\n"), Shown::Unchanged, None)
                }
                Some((since, change)) => {
                    let text = format!("{title}. Since version {since}:\n{}\n", fenced("diff", &change.patch));
                    (text, Shown::Delta, change.lines)
                }
                None => {
                    let lines = (all > 0).then_some((1, all));
                    (format!("{title}:\n{}\n", fenced("", self.text)), Shown::Whole, lines)
                }
            };
        };
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
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        let around = self.middle().clamp(1, all.max(1));
        // Some room is for the fences and the words around the window.
        let (first, last) = window(&lines, around, room.saturating_sub(tokens(&title) + tokens(&outline) + 24));
        let shown = lines.get(first - 1..last).unwrap_or_default().concat();
        let text = format!("{title}. Lines {first} to {last}:\n{}\n{outline}", fenced("", &shown));
        (text, Shown::Window, (last >= first).then_some((first, last)))
    }

    /// The line that matters most: the cursor's, else the last change's, else the first.
    fn middle(&self) -> usize {
        let changed = self.recent.iter().find_map(|version| version.change.lines).map(|(first, _)| first);
        self.editor.line.or(changed).unwrap_or(1)
    }
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

    proptest! {
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
